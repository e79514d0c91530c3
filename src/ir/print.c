/* The printer. docs/graph_text.md describes the text; ir/parse.c reads it. Values are numbered in
 * the order of the text, parameters first, so a parsed graph prints as the text it came from. */
#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
#include "ir/graph.h"
#include "ir/graph_list.h"
#include "ir/numbers.h"
#include "ir/parse_names.h"
#include "ir/text.h"

/* Constants of more elements than this are written as bytes. */
#define MOST_NUMBERS 64

typedef struct printer {
    mica_text *text;
    mica_graph_list graphs;
    char **names;     /* one per graph */
    mica_names taken; /* those names: where in `last` theirs is */
    int32_t *last;    /* the last number that was added to a name */
    int32_t *numbers; /* of the graph being printed: node id -> number */
} printer;

static void print_string(mica_text *text, const char *string) {
    mica_text_append_char(text, '"');
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            mica_text_printf(text, "\\%c", c);
        else if (c == '\n')
            mica_text_append(text, "\\n");
        else if (c < 0x20 || c == 0x7f)
            mica_text_printf(text, "\\x%02x", c);
        else
            mica_text_append_char(text, (char)c);
    }
    mica_text_append_char(text, '"');
}

static void print_name(mica_text *text, const char *name) {
    mica_text_append_char(text, '@');
    if (mica_is_word(name))
        mica_text_append(text, name);
    else
        print_string(text, name);
}

static void print_type(mica_text *text, const mica_type *type) {
    mica_text_append(text, mica_type_text(type).chars);
}

static void print_ints(mica_text *text, mica_ints ints) {
    mica_text_append_char(text, '(');
    for (int32_t i = 0; i < ints.n; i++)
        mica_text_printf(text, i ? ",%" PRId64 : "%" PRId64, ints.data[i]);
    mica_text_append_char(text, ')');
}

/* ---- constants ------------------------------------------------------------------------------*/

/* Writes numbers, or nothing and false when one of them has no text. */
static bool print_numbers(mica_text *text, const mica_attr *attr) {
    mica_dtype part = mica_number_part(attr->as.data.type.dtype);
    size_t bytes = mica_dtype_bytes(part), n = mica_type_bytes(&attr->as.data.type) / bytes;
    size_t per_element = mica_dtype_bytes(attr->as.data.type.dtype) / bytes;
    const uint8_t *data = attr->as.data.bytes;
    char number[MICA_NUMBER_CHARS];
    if (n > MOST_NUMBERS * per_element) return false;
    for (size_t i = 0; i < n; i++)
        if (!mica_number_print(part, data + i * bytes, number)) return false;
    mica_text_append_char(text, '(');
    for (size_t i = 0; i < n; i++) {
        mica_number_print(part, data + i * bytes, number);
        mica_text_printf(text, "%s%s", !i ? "" : i % per_element ? " " : ", ", number);
    }
    mica_text_append_char(text, ')');
    return true;
}

static void print_bytes(mica_text *text, const mica_attr *attr) {
    static const char digits[] = "0123456789abcdef";
    mica_dtype dtype = attr->as.data.type.dtype;
    size_t element = mica_dtype_bytes(dtype), n = mica_type_bytes(&attr->as.data.type) / element;
    uint8_t little[16];
    char pair[2];
    mica_text_append(text, "hex \"");
    for (size_t i = 0; i < n && !mica_text_is_failed(text); i++) {
        mica_number_little_endian(dtype, (const uint8_t *)attr->as.data.bytes + i * element, little,
                                  1);
        for (size_t k = 0; k < element; k++) {
            pair[0] = digits[little[k] >> 4];
            pair[1] = digits[little[k] & 15];
            mica_text_append_bytes(text, pair, 2);
        }
    }
    mica_text_append_char(text, '"');
}

static void print_data(mica_text *text, const mica_attr *attr) {
    print_type(text, &attr->as.data.type);
    if (attr->as.data.type.kind != MICA_TENSOR) return;
    mica_text_append_char(text, ' ');
    if (!print_numbers(text, attr)) print_bytes(text, attr);
}

/* ---- nodes ----------------------------------------------------------------------------------*/

static void print_attr(mica_text *text, const mica_attr *attr) {
    switch (attr->kind) {
    case MICA_ATTR_INT: mica_text_printf(text, "%" PRId64, attr->as.integer); break;
    case MICA_ATTR_INTS: print_ints(text, attr->as.ints); break;
    case MICA_ATTR_STRING: print_string(text, attr->as.string); break;
    case MICA_ATTR_DTYPE:
        mica_text_append(text, mica_dtype_name((mica_dtype)attr->as.integer));
        break;
    case MICA_ATTR_DATA: print_data(text, attr); break;
    case MICA_ATTR_TYPES:
        mica_text_append_char(text, '(');
        for (int32_t i = 0; i < attr->as.types.n; i++) {
            if (i) mica_text_append(text, ", ");
            print_type(text, &attr->as.types.data[i]);
        }
        mica_text_append_char(text, ')');
        break;
    }
}

static void print_value(const printer *p, mica_value value) {
    mica_text_printf(p->text, "%%%d", p->numbers[value.node->id]);
    if (value.node->n_results != 1) mica_text_printf(p->text, ".%d", value.index);
}

static void print_results(mica_text *text, const mica_node *n) {
    mica_text_append(text, n->n_results == 1 ? " : " : " : (");
    for (int32_t i = 0; i < n->n_results; i++) {
        if (i) mica_text_append(text, ", ");
        print_type(text, &n->results[i]);
    }
    mica_text_append(text, n->n_results == 1 ? "\n" : ")\n");
}

static void print_node(const printer *p, const mica_node *n) {
    mica_text *text = p->text;
    const mica_op_info *info = mica_op_describe(n->op);
    mica_text_printf(text, "    %%%d", p->numbers[n->id]);
    if (n->n_results != 1) mica_text_printf(text, ":%d", n->n_results);
    mica_text_printf(text, " = %s(", info->name);
    for (int32_t i = 0; i < n->n_operands; i++) {
        if (i) mica_text_append(text, ", ");
        print_value(p, n->operands[i]);
    }
    mica_text_append_char(text, ')');
    for (int32_t i = 0; i < n->n_regions; i++) {
        mica_text_append_char(text, ' ');
        print_name(text, p->names[mica_graph_list_find(&p->graphs, n->regions[i])]);
    }
    for (int32_t i = 0; i < n->n_attrs; i++) {
        mica_text_printf(text, "%s%s = ", i ? ", " : " {", info->attribute_names[i]);
        print_attr(text, &n->attrs[i]);
    }
    if (n->n_attrs) mica_text_append_char(text, '}');
    print_results(text, n);
}

static mica_status print_graph(printer *p, int32_t i) {
    const mica_graph *g = p->graphs.graphs[i];
    p->numbers = mica_calloc((size_t)g->n_nodes, sizeof *p->numbers);
    if (!p->numbers) return MICA_NO_MEMORY();
    int32_t number = 0;
    mica_text_append(p->text, "\ngraph ");
    print_name(p->text, p->names[i]);
    mica_text_append_char(p->text, '(');
    for (int32_t k = 0; k < g->n_parameters; k++) {
        p->numbers[g->parameters[k].node->id] = number;
        mica_text_printf(p->text, "%s%%%d: ", k ? ", " : "", number++);
        print_type(p->text, mica_value_type(g->parameters[k]));
    }
    mica_text_append(p->text, ") {\n");
    for (int32_t k = 0; k < g->n_nodes; k++) {
        if (g->nodes[k]->op == MICA_OP_PARAMETER) continue;
        p->numbers[k] = number++;
        print_node(p, g->nodes[k]);
    }
    mica_text_append(p->text, "    return");
    for (int32_t k = 0; k < g->n_outputs; k++) {
        mica_text_append(p->text, k ? ", " : " ");
        print_value(p, g->outputs[k]);
    }
    mica_text_append(p->text, "\n}\n");
    mica_free(p->numbers);
    p->numbers = NULL;
    return NULL;
}

/* ---- names ----------------------------------------------------------------------------------*/

/* A graph keeps its name unless one before it has the same; then a number is added. */
static mica_status make_name(printer *p, int32_t i) {
    const char *wanted = p->graphs.graphs[i]->name;
    int32_t *last = mica_names_find(&p->taken, wanted, strlen(wanted));
    mica_text name;
    mica_text_init(&name);
    mica_text_append(&name, wanted);
    while (!mica_text_is_failed(&name) &&
           mica_names_find(&p->taken, mica_text_data(&name), name.length)) {
        mica_text_clear(&name);
        mica_text_printf(&name, "%s_%d", wanted, ++*last);
    }
    MICA_TRY(mica_text_finish(&name, &p->names[i]));
    return mica_names_add(&p->taken, p->names[i], strlen(p->names[i]), &p->last[i]);
}

static mica_status print_all(printer *p) {
    p->names = mica_calloc((size_t)p->graphs.n, sizeof *p->names);
    p->last = mica_calloc((size_t)p->graphs.n, sizeof *p->last);
    if (!p->names || !p->last) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < p->graphs.n; i++) MICA_TRY(make_name(p, i));
    mica_text_printf(p->text, "mica graph %d\n", MICA_GRAPH_FORMAT_VERSION);
    for (int32_t i = 0; i < p->graphs.n; i++) MICA_TRY(print_graph(p, i));
    return NULL;
}

mica_status mica_graph_print(const mica_graph *g, char **out_text) {
    MICA_GIVEN(out_text);
    *out_text = NULL;
    MICA_TRY(mica_graph_check(g));
    mica_text text;
    printer p = {.text = &text};
    MICA_TRY(mica_graph_list_collect(g, &p.graphs));
    mica_text_init(&text);
    mica_status status = print_all(&p);
    for (int32_t i = 0; p.names && i < p.graphs.n; i++) mica_free(p.names[i]);
    mica_free(p.names);
    mica_free(p.last);
    mica_names_deinit(&p.taken);
    mica_free(p.numbers);
    mica_graph_list_deinit(&p.graphs);
    if (!status) return mica_text_finish(&text, out_text);
    mica_text_deinit(&text);
    return status;
}

void mica_string_free(char *text) {
    mica_free(text);
}
