/* Host functions that make strings of strings. */
#include <string.h>

#include "tf/strings.h"

static bool is_characters(const mica_tf_host *c) {
    return !strcmp(mica_tf_host_attr(c, "unit")->as.string, "UTF8_CHAR");
}

/* ---- joining ----------------------------------------------------------------------------------*/

static mica_status joined(mica_tf_host *c, const mica_tf_shape *shape, const char *separator,
                          size_t n_separator) {
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    int64_t n = mica_tf_shape_elements(shape);
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < c->n_inputs; k++) {
            size_t length;
            bool is_one = mica_tf_strings_count(c->inputs[k]) == 1;
            const char *bytes = mica_tf_strings_get(c->inputs[k], is_one ? 0 : i, &length);
            if (k) mica_text_append_bytes(&w.bytes, separator, n_separator);
            mica_text_append_bytes(&w.bytes, bytes, length);
        }
        if (!mica_tf_writer_end(&w)) break;
    }
    return mica_tf_writer_finish(&w, mica_tf_dims(shape), &c->outputs[0]);
}

mica_status tf_host_string_join(mica_tf_host *c) {
    const mica_tf_attr *separator = mica_tf_host_attr(c, "separator");
    mica_tf_shape result = {.rank = 0};
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(c->inputs[i], &shape);
        if (shape.rank == 0) continue;
        if (result.rank && !mica_tf_shape_equal(&result, &shape))
            return MICA_INVALID("[StringJoin] Input shapes do not match: %s vs. %s",
                                mica_tf_shape_text(&result).chars,
                                mica_tf_shape_text(&shape).chars);
        result = shape;
    }
    return joined(c, &result, separator->as.string, (size_t)separator->n);
}

/* The place in a tensor of this shape of element i of what it is broadcast to. */
static int64_t place_of(const mica_tf_shape *shape, const mica_tf_shape *whole, int64_t i) {
    int64_t place = 0, step = 1;
    for (int32_t k = 1; k <= whole->rank; k++) {
        int64_t size = whole->dims[whole->rank - k], index = i % size;
        i /= size;
        if (k > shape->rank) continue;
        int64_t own = shape->dims[shape->rank - k];
        if (own > 1) place += index * step;
        step *= own;
    }
    return place;
}

/* x + y of strings. */
mica_status tf_host_add(mica_tf_host *c) {
    mica_tf_shape x, y, whole;
    mica_tf_value_shape(c->inputs[0], &x);
    mica_tf_value_shape(c->inputs[1], &y);
    if (!mica_tf_shape_broadcast(&x, &y, &whole))
        return MICA_INVALID("[%s] Incompatible shapes: %s vs. %s", c->info->name,
                            mica_tf_shape_text(&x).chars, mica_tf_shape_text(&y).chars);
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    int64_t n = mica_tf_shape_elements(&whole);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], place_of(&x, &whole, i), &length);
        mica_text_append_bytes(&w.bytes, bytes, length);
        bytes = mica_tf_strings_get(c->inputs[1], place_of(&y, &whole, i), &length);
        mica_text_append_bytes(&w.bytes, bytes, length);
        if (!mica_tf_writer_end(&w)) break;
    }
    return mica_tf_writer_finish(&w, mica_tf_dims(&whole), &c->outputs[0]);
}

/* Axes are joined in the order they are given, the first one first. */
typedef struct reduction {
    mica_tf_value strings;
    mica_tf_shape shape, result;
    int64_t steps[MICA_MAX_RANK]; /* of the input */
    int32_t axes[MICA_MAX_RANK], n_axes;
    bool is_reduced[MICA_MAX_RANK], keeps;
} reduction;

static mica_status read_reduction(const mica_tf_host *c, reduction *r) {
    int64_t axes[MICA_MAX_RANK], step = 1;
    r->strings = c->inputs[0];
    r->keeps = mica_tf_host_attr(c, "keep_dims")->as.integer != 0;
    mica_tf_value_shape(r->strings, &r->shape);
    MICA_TRY(mica_tf_tensor_ints(c->inputs[1].object, axes, MICA_MAX_RANK, &r->n_axes));
    for (int32_t i = 0; i < r->n_axes; i++) {
        MICA_TRY(mica_tf_axis(c->info->name, axes[i], r->shape.rank, &r->axes[i]));
        if (r->is_reduced[r->axes[i]])
            return MICA_INVALID("[ReduceJoin] Duplicate reduction dimension %d", r->axes[i]);
        r->is_reduced[r->axes[i]] = true;
    }
    for (int32_t i = r->shape.rank; i-- > 0; step *= r->shape.dims[i]) r->steps[i] = step;
    r->result.rank = 0;
    for (int32_t i = 0; i < r->shape.rank; i++)
        if (!r->is_reduced[i] || r->keeps)
            r->result.dims[r->result.rank++] = r->is_reduced[i] ? 1 : r->shape.dims[i];
    return NULL;
}

/* The place in the input of the first string of result i. */
static int64_t first_of(const reduction *r, int64_t i) {
    int64_t first = 0;
    for (int32_t k = r->shape.rank; k-- > 0;) {
        if (r->is_reduced[k]) continue;
        first += i % r->shape.dims[k] * r->steps[k];
        i /= r->shape.dims[k];
    }
    return first;
}

mica_status tf_host_reduce_join(mica_tf_host *c) {
    const mica_tf_attr *separator = mica_tf_host_attr(c, "separator");
    reduction r = {.n_axes = 0};
    MICA_TRY(read_reduction(c, &r));
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    int64_t n = mica_tf_shape_elements(&r.result), inner = 1;
    for (int32_t i = 0; i < r.n_axes; i++) inner *= r.shape.dims[r.axes[i]];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < inner; k++) {
            int64_t place = first_of(&r, i), rest = k;
            for (int32_t a = 0; a < r.n_axes; a++) {
                int64_t size = r.shape.dims[r.axes[a]];
                place += rest % size * r.steps[r.axes[a]];
                rest /= size;
            }
            size_t length;
            const char *bytes = mica_tf_strings_get(r.strings, place, &length);
            if (k) mica_text_append_bytes(&w.bytes, separator->as.string, (size_t)separator->n);
            mica_text_append_bytes(&w.bytes, bytes, length);
        }
        if (!mica_tf_writer_end(&w)) break;
    }
    return mica_tf_writer_finish(&w, mica_tf_dims(&r.result), &c->outputs[0]);
}

/* ---- one string each --------------------------------------------------------------------------*/

typedef void (*one_string)(mica_text *out, const char *bytes, size_t n);

static mica_status map_strings(mica_tf_host *c, one_string write) {
    mica_tf_shape shape;
    mica_tf_writer w;
    mica_tf_value_shape(c->inputs[0], &shape);
    mica_tf_writer_init(&w);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        write(&w.bytes, bytes, length);
        if (!mica_tf_writer_end(&w)) break;
    }
    return mica_tf_writer_finish(&w, mica_tf_dims(&shape), &c->outputs[0]);
}

static void write_lower(mica_text *out, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool is_large = bytes[i] >= 'A' && bytes[i] <= 'Z';
        mica_text_append_char(out, (char)(bytes[i] + (is_large ? 'a' - 'A' : 0)));
    }
}

static void write_upper(mica_text *out, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool is_small = bytes[i] >= 'a' && bytes[i] <= 'z';
        mica_text_append_char(out, (char)(bytes[i] - (is_small ? 'a' - 'A' : 0)));
    }
}

static void write_stripped(mica_text *out, const char *bytes, size_t n) {
    size_t begin = 0;
    while (begin < n && mica_tf_is_space(bytes[begin])) begin++;
    while (n > begin && mica_tf_is_space(bytes[n - 1])) n--;
    mica_text_append_bytes(out, bytes + begin, n - begin);
}

static mica_status only_ascii(const mica_tf_host *c) {
    const mica_tf_attr *encoding = mica_tf_host_attr(c, "encoding");
    if (encoding->n == 0) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] encoding '%s' is not known here", c->info->name,
                      encoding->as.string);
}

mica_status tf_host_string_lower(mica_tf_host *c) {
    MICA_TRY(only_ascii(c));
    return map_strings(c, write_lower);
}

mica_status tf_host_string_upper(mica_tf_host *c) {
    MICA_TRY(only_ascii(c));
    return map_strings(c, write_upper);
}

mica_status tf_host_string_strip(mica_tf_host *c) {
    return map_strings(c, write_stripped);
}

mica_status tf_host_string_length(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    bool characters = is_characters(c);
    int32_t *lengths = mica_alloc((size_t)n * sizeof *lengths + 4);
    if (!lengths) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        lengths[i] = (int32_t)(characters ? mica_tf_utf8_count(bytes, length) : length);
    }
    mica_status status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i32, mica_tf_dims(&shape), lengths);
    mica_free(lengths);
    return status;
}

/* ---- parts ------------------------------------------------------------------------------------*/

/* How many bytes `count` characters from s on have. */
static size_t skip(const char *s, size_t n, int64_t count) {
    size_t at = 0;
    for (; count > 0 && at < n; count--) at += mica_tf_utf8_next(s + at, n - at, NULL);
    return at;
}

static mica_status write_part(mica_text *out, const char *bytes, size_t n, int64_t pos, int64_t len,
                              bool characters, int64_t element) {
    int64_t units = (int64_t)(characters ? mica_tf_utf8_count(bytes, n) : n);
    if (pos < -units || pos > units || (characters && pos < 0 && len < 0))
        return MICA_INVALID("[Substr] pos %lld out of range for string at index %lld",
                            (long long)pos, (long long)element);
    if (pos < 0) pos += units;
    /* A negative length is a large one of bytes, and none of characters. */
    if (len < 0) len = characters ? 0 : units;
    if (len > units - pos) len = units - pos;
    size_t begin = characters ? skip(bytes, n, pos) : (size_t)pos;
    size_t length = characters ? skip(bytes + begin, n - begin, len) : (size_t)len;
    mica_text_append_bytes(out, bytes + begin, length);
    return NULL;
}

static int64_t int_at(const void *data, mica_tf_dtype dtype, int64_t i) {
    return dtype == MICA_TF_int32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

static mica_status write_parts(mica_tf_host *c, mica_tf_writer *w, const mica_tf_shape *whole) {
    mica_tf_shape text, place;
    const void *pos, *len;
    mica_tf_value_shape(c->inputs[0], &text);
    mica_tf_value_shape(c->inputs[1], &place);
    MICA_TRY(mica_tf_open(c->inputs[1], &pos));
    mica_status status = mica_tf_open(c->inputs[2], &len);
    if (status) {
        mica_tf_close(c->inputs[1]);
        return status;
    }
    bool characters = is_characters(c);
    int64_t n = mica_tf_shape_elements(whole);
    for (int64_t i = 0; i < n && !status; i++) {
        size_t length;
        int64_t at = place_of(&place, whole, i);
        const char *bytes = mica_tf_strings_get(c->inputs[0], place_of(&text, whole, i), &length);
        status = write_part(&w->bytes, bytes, length, int_at(pos, c->inputs[1].dtype, at),
                            int_at(len, c->inputs[1].dtype, at), characters, i);
        if (!mica_tf_writer_end(w)) break;
    }
    mica_tf_close(c->inputs[1]);
    mica_tf_close(c->inputs[2]);
    return status;
}

mica_status tf_host_substr(mica_tf_host *c) {
    mica_tf_shape text, place, whole;
    mica_tf_value_shape(c->inputs[0], &text);
    mica_tf_value_shape(c->inputs[1], &place);
    if (!mica_tf_shape_broadcast(&text, &place, &whole))
        return MICA_INVALID("[Substr] Incompatible shapes: %s vs. %s",
                            mica_tf_shape_text(&text).chars, mica_tf_shape_text(&place).chars);
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    mica_status status = write_parts(c, &w, &whole);
    if (!status) return mica_tf_writer_finish(&w, mica_tf_dims(&whole), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}

typedef struct parts {
    mica_tf_writer words;
    int64_t *places; /* pairs (row, number in the row) */
    int64_t capacity, row, in_row, longest;
    bool is_failed;
} parts;

static void add_part(parts *p, const char *bytes, size_t n) {
    if (p->words.n == p->capacity) {
        int64_t capacity = p->capacity ? 2 * p->capacity : 16;
        int64_t *places = mica_realloc(p->places, (size_t)capacity * 2 * sizeof *places);
        if (!places) {
            p->is_failed = true;
            return;
        }
        p->places = places;
        p->capacity = capacity;
    }
    p->places[2 * p->words.n] = p->row;
    p->places[2 * p->words.n + 1] = p->in_row++;
    if (p->in_row > p->longest) p->longest = p->in_row;
    mica_text_append_bytes(&p->words.bytes, bytes, n);
    (void)mica_tf_writer_end(&p->words);
}

/* What is left after the last split is a part, be it empty. */
static void split_words(parts *p, const char *s, size_t n, int64_t most) {
    if (most == 0) {
        add_part(p, s, n);
        return;
    }
    for (size_t at = 0, begin;;) {
        while (at < n && mica_tf_is_space(s[at])) at++;
        if (p->in_row == most) {
            add_part(p, s + at, n - at);
            return;
        }
        if (at == n) return;
        begin = at;
        while (at < n && !mica_tf_is_space(s[at])) at++;
        add_part(p, s + begin, at - begin);
    }
}

static void split_at(parts *p, const char *s, size_t n, const char *separator, size_t n_separator,
                     int64_t most) {
    size_t begin = 0, at = 0;
    while (at + n_separator <= n) {
        bool found = !memcmp(s + at, separator, n_separator) && (most < 0 || p->in_row < most);
        if (!found) {
            at++;
            continue;
        }
        add_part(p, s + begin, at - begin);
        begin = at += n_separator;
    }
    add_part(p, s + begin, n - begin);
}

static mica_status give_parts(mica_tf_host *c, parts *p, int64_t rows) {
    int64_t n = p->words.n, none[2] = {0}, shape[2] = {rows, p->longest};
    MICA_TRY(
        mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, MICA_INTS(n, 2), p->places ? p->places : none));
    MICA_TRY(mica_tf_give_numbers(c, 2, MICA_DTYPE_i64, MICA_INTS(2), shape));
    return mica_tf_writer_finish(&p->words, MICA_INTS(n), &c->outputs[1]);
}

mica_status tf_host_string_split(mica_tf_host *c) {
    int64_t most = mica_tf_host_attr(c, "maxsplit")->as.integer;
    size_t n_separator;
    const char *separator = mica_tf_strings_get(c->inputs[1], 0, &n_separator);
    parts p = {.capacity = 0};
    mica_tf_writer_init(&p.words);
    int64_t rows = mica_tf_strings_count(c->inputs[0]);
    for (p.row = 0; p.row < rows && !p.words.is_interrupted; p.row++) {
        size_t n;
        const char *bytes = mica_tf_strings_get(c->inputs[0], p.row, &n);
        p.in_row = 0;
        if (n_separator)
            split_at(&p, bytes, n, separator, n_separator, most);
        else
            split_words(&p, bytes, n, most);
    }
    mica_status status = p.words.is_interrupted ? mica_interrupt_status()
                         : p.is_failed          ? MICA_NO_MEMORY()
                                                : give_parts(c, &p, rows);
    if (status) mica_tf_writer_deinit(&p.words);
    mica_free(p.places);
    return status;
}
