#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/mnist_data.h"

/* ---- reading ----------------------------------------------------------------------------------*/

static uint8_t *whole_file(const char *path, int64_t *out_n) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    long n = -1;
    if (fseek(file, 0, SEEK_END) == 0 && (n = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)n + 1);
    if (bytes && fread(bytes, 1, (size_t)n, file) != (size_t)n) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    *out_n = n;
    return bytes;
}

/* The text, ended with 0. */
static char *unpacked_text(const char *path) {
    int64_t n = 0;
    uint8_t *packed = whole_file(path, &n);
    uint8_t *bytes = packed ? gzip_unpack(packed, n, &n) : NULL;
    char *text = bytes ? realloc(bytes, (size_t)n + 1) : NULL;
    if (text) text[n] = 0;
    free(packed);
    return text;
}

static void copy_name(char *to, size_t capacity, const char *from) {
    snprintf(to, capacity, "%s", from);
}

static bool read_setting(golden_case *c, char *rest) {
    if (c->n_settings == GOLDEN_SETTINGS) return false;
    golden_setting *s = &c->settings[c->n_settings++];
    char *word = strtok(rest, " ");
    if (!word) return false;
    copy_name(s->name, sizeof s->name, word);
    for (s->n = 0; s->n < GOLDEN_VALUES && (word = strtok(NULL, " ")); s->n++)
        s->values[s->n] = strtod(word, NULL);
    return true;
}

static bool read_tensor(golden_case *c, char *rest) {
    golden_tensor *grown = realloc(c->tensors, (size_t)(c->n_tensors + 1) * sizeof *grown);
    if (!grown) return false;
    c->tensors = grown;
    golden_tensor *t = &grown[c->n_tensors];
    char *numbers = strchr(rest, ':');
    if (!numbers) return false;
    *numbers++ = 0;
    char *name = strtok(rest, " "), *dtype = strtok(NULL, " "), *dims = strtok(NULL, " ");
    int64_t sizes[MICA_MAX_RANK];
    int32_t rank = 0;
    for (char *at = dims; at && *at && rank < MICA_MAX_RANK; at += *at == ',')
        sizes[rank++] = strtoll(at, &at, 10);
    mica_dtype parsed;
    if (!name || !dtype || !mica_dtype_parse(dtype, &parsed)) return false;
    copy_name(t->name, sizeof t->name, name);
    t->type = mica_type_make(parsed, (mica_ints){sizes, rank});
    t->n = mica_type_elements(&t->type);
    t->data = malloc((size_t)(t->n + 1) * sizeof *t->data);
    if (!t->data) return false;
    c->n_tensors++;
    for (int64_t i = 0; i < t->n; i++) {
        char *end = numbers;
        t->data[i] = strtod(numbers, &end);
        if (end == numbers) return false;
        numbers = end;
    }
    return true;
}

static bool read_line(golden_values *f, char *line) {
    char *rest = strchr(line, ' ');
    if (rest) *rest++ = 0;
    if (!strcmp(line, "case") && rest) {
        golden_case *grown = realloc(f->cases, (size_t)(f->n + 1) * sizeof *grown);
        if (!grown) return false;
        f->cases = grown;
        grown[f->n] = (golden_case){0};
        copy_name(grown[f->n++].name, sizeof grown->name, rest);
        return true;
    }
    if (!strcmp(line, "end") || !*line) return true;
    if (!rest || f->n == 0) return false;
    golden_case *c = &f->cases[f->n - 1];
    if (!strcmp(line, "kind")) {
        copy_name(c->kind, sizeof c->kind, rest);
        return true;
    }
    if (!strcmp(line, "set")) return read_setting(c, rest);
    return !strcmp(line, "tensor") && read_tensor(c, rest);
}

bool golden_read(const char *path, golden_values *out) {
    *out = (golden_values){0};
    char *text = unpacked_text(path), *line = text;
    bool fine = text != NULL;
    while (fine && line && *line) {
        char *next = strchr(line, '\n');
        if (next) *next++ = 0;
        fine = read_line(out, line);
        line = next;
    }
    free(text);
    if (!fine) golden_free(out);
    return fine;
}

void golden_free(golden_values *f) {
    for (int32_t i = 0; i < f->n; i++) {
        for (int32_t k = 0; k < f->cases[i].n_tensors; k++) free(f->cases[i].tensors[k].data);
        free(f->cases[i].tensors);
    }
    free(f->cases);
    *f = (golden_values){0};
}

/* ---- looking up -------------------------------------------------------------------------------*/

bool golden_is_in(const golden_tensor *t, const char *group, const char **out_name) {
    size_t n = strlen(group);
    if (strncmp(t->name, group, n) != 0 || t->name[n] != '.') return false;
    if (out_name) *out_name = t->name + n + 1;
    return true;
}

const golden_tensor *golden_find(const golden_case *c, const char *group, const char *name) {
    const char *own;
    for (int32_t i = 0; i < c->n_tensors; i++)
        if (golden_is_in(&c->tensors[i], group, &own) && !strcmp(own, name)) return &c->tensors[i];
    return NULL;
}

static const golden_setting *setting(const golden_case *c, const char *name) {
    for (int32_t i = 0; i < c->n_settings; i++)
        if (!strcmp(c->settings[i].name, name)) return &c->settings[i];
    return NULL;
}

double golden_number(const golden_case *c, const char *name, double otherwise) {
    const golden_setting *s = setting(c, name);
    return s && s->n ? s->values[0] : otherwise;
}

void golden_ints(const golden_case *c, const char *name, int64_t *values, int32_t n) {
    const golden_setting *s = setting(c, name);
    for (int32_t i = 0; s && i < n && i < s->n; i++) values[i] = (int64_t)s->values[i];
}

mica_value golden_operand(const golden_operands *o, const char *name) {
    const golden_tensor *t = golden_find(o->c, "in", name);
    return t ? o->values[t - o->c->tensors] : MICA_NULL_VALUE;
}
