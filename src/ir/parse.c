/* The parser of printed graphs. Nodes go through mica_node_create, so whatever is wrong with them
 * is found by the shape rules; errors name the line and the column. It needs no recursion. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/numbers.h"
#include "ir/parse_names.h"
#include "ir/text.h"

typedef struct parser {
    const char *text, *at;
    const char *token;   /* where the thing being read begins, for messages */
    mica_graph **graphs; /* those read so far, one reference each */
    int32_t n_graphs, graphs_capacity;
    mica_names names;   /* of graphs */
    mica_names values;  /* of the graph being read */
    mica_arena scratch; /* of the node being read */
} parser;

static mica_status fail(const parser *p, const char *format, ...) MICA_PRINTF(2, 3);

static mica_status fail(const parser *p, const char *format, ...) {
    int line = 1, column = 1;
    for (const char *c = p->text; c < p->token; c++) {
        column++;
        if (*c == '\n') line++, column = 1;
    }
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return MICA_INVALID("[parse] line %d, column %d: %s", line, column, message);
}

/* An error from elsewhere, told with its place in the text. */
static mica_status placed(parser *p, mica_status status, const char *token) {
    if (!status || mica_status_code(status) == MICA_OUT_OF_MEMORY) return status;
    p->token = token;
    mica_status told = fail(p, "%s", mica_status_message(status));
    mica_status_release(status);
    return told;
}

static mica_status sticky(parser *p, const mica_graph *g, const char *token) {
    return placed(p, mica_graph_check(g), token);
}

/* ---- words ----------------------------------------------------------------------------------*/

static void skip_space(parser *p) {
    for (;; p->at++) {
        if (*p->at == '#')
            while (*p->at && *p->at != '\n') p->at++;
        if (*p->at != ' ' && *p->at != '\n' && *p->at != '\t' && *p->at != '\r') break;
    }
    p->token = p->at;
}

static char peek(parser *p) {
    skip_space(p);
    return *p->at;
}

/* true and past it when the next character is c. */
static bool accept(parser *p, char c) {
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static mica_status expect(parser *p, char c) {
    if (accept(p, c)) return NULL;
    return *p->at ? fail(p, "expected '%c', not '%c'", c, *p->at)
                  : fail(p, "expected '%c', not the end", c);
}

typedef struct word {
    char chars[80];
} word;

static mica_status read_word(parser *p, const char *what, word *out) {
    size_t n = 0;
    skip_space(p);
    while (mica_is_word_char(p->at[n])) n++;
    if (n == 0) return fail(p, "expected %s", what);
    if (n >= sizeof out->chars) return fail(p, "%s is too long", what);
    memcpy(out->chars, p->at, n);
    out->chars[n] = 0;
    p->at += n;
    return NULL;
}

static mica_status expect_word(parser *p, const char *expected) {
    word w;
    MICA_TRY(read_word(p, expected, &w));
    return strcmp(w.chars, expected) == 0 ? NULL
                                          : fail(p, "expected '%s', not '%s'", expected, w.chars);
}

static mica_status read_int(parser *p, int64_t *out) {
    word w;
    MICA_TRY(read_word(p, "an integer", &w));
    if (mica_number_parse(MICA_DTYPE_i64, w.chars, out)) return NULL;
    return fail(p, "'%s' is not a 64-bit integer", w.chars);
}

/* The next element of a list in the scratch arena, which doubles when it is full. */
static void *push(parser *p, void **array, int32_t n, size_t element) {
    if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
        void *grown = mica_arena_alloc(&p->scratch, (size_t)(n ? 2 * (size_t)n : 8) * element);
        if (!grown) return NULL;
        if (n) memcpy(grown, *array, (size_t)n * element);
        *array = grown;
    }
    return (char *)*array + (size_t)n * element;
}

#define PUSH(p, array, n) push((p), (void **)&(array), (n), sizeof *(array))

/* Items between brackets, separated by commas: true while there is one more to read. */
static mica_status next_item(parser *p, char close, int32_t n_read, bool *out_more) {
    if (accept(p, close)) {
        *out_more = false;
        return NULL;
    }
    *out_more = true;
    return n_read ? expect(p, ',') : NULL;
}

static mica_status read_ints(parser *p, char open, char close, mica_ints *out) {
    int64_t *data = NULL;
    int32_t n = 0;
    bool more;
    MICA_TRY(expect(p, open));
    for (;; n++) {
        MICA_TRY(next_item(p, close, n, &more));
        if (!more) break;
        int64_t *next = PUSH(p, data, n);
        if (!next) return MICA_NO_MEMORY();
        MICA_TRY(read_int(p, next));
    }
    *out = (mica_ints){data, n};
    return NULL;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

static mica_status read_escape(parser *p, char *out) {
    char c = *p->at++;
    if (c == 'n')
        *out = '\n';
    else if (c == '"' || c == '\\')
        *out = c;
    else if (c == 'x' && hex_digit(p->at[0]) >= 0 && hex_digit(p->at[1]) >= 0) {
        *out = (char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
        p->at += 2;
        if (*out == 0) return fail(p, "a string cannot hold \\x00");
    } else {
        p->token = p->at - 1;
        return fail(p, "there is no such escape");
    }
    return NULL;
}

/* A string in quotes, in the scratch arena. */
static mica_status read_string(parser *p, char **out) {
    MICA_TRY(expect(p, '"'));
    size_t length = 0;
    const char *end = p->at;
    for (; *end && *end != '"'; end++, length++)
        if (*end == '\\' && end[1]) end++;
    if (!*end) return fail(p, "the string does not end");
    char *string = mica_arena_alloc(&p->scratch, length + 1);
    if (!string) return MICA_NO_MEMORY();
    for (size_t n = 0; *p->at != '"'; n++) {
        if (*p->at != '\\') {
            string[n] = *p->at++;
            continue;
        }
        p->at++;
        MICA_TRY(read_escape(p, &string[n]));
    }
    p->at++;
    *out = string;
    return NULL;
}

/* ---- types and constants --------------------------------------------------------------------*/

static mica_status read_dtype(parser *p, const char *name, mica_dtype *out) {
    return mica_dtype_parse(name, out) ? NULL : fail(p, "there is no dtype '%s'", name);
}

static mica_status read_tensor_type(parser *p, const char *dtype_name, mica_type *out) {
    mica_dtype dtype;
    mica_ints dims;
    MICA_TRY(read_dtype(p, dtype_name, &dtype));
    const char *start = p->token;
    MICA_TRY(read_ints(p, '[', ']', &dims));
    *out = mica_type_make(dtype, dims);
    p->token = start;
    if (dims.n > MICA_MAX_RANK) return fail(p, "%d axes; the limit is %d", dims.n, MICA_MAX_RANK);
    return out->rank < 0 ? fail(p, "negative size in %s", mica_ints_text(dims).chars) : NULL;
}

static mica_status read_type(parser *p, mica_type *out) {
    word w;
    MICA_TRY(read_word(p, "a type", &w));
    if (strcmp(w.chars, "token") == 0) {
        *out = mica_type_token();
        return NULL;
    }
    if (strcmp(w.chars, "list") != 0) return read_tensor_type(p, w.chars, out);
    mica_type element;
    MICA_TRY(expect(p, '('));
    MICA_TRY(read_word(p, "a dtype", &w));
    MICA_TRY(read_tensor_type(p, w.chars, &element));
    MICA_TRY(expect(p, ')'));
    *out = mica_type_list_of(&element);
    return NULL;
}

static mica_status read_types(parser *p, mica_types *out) {
    mica_type *data = NULL;
    int32_t n = 0;
    bool more;
    MICA_TRY(expect(p, '('));
    for (;; n++) {
        MICA_TRY(next_item(p, ')', n, &more));
        if (!more) break;
        mica_type *next = PUSH(p, data, n);
        if (!next) return MICA_NO_MEMORY();
        MICA_TRY(read_type(p, next));
    }
    *out = (mica_types){data, n};
    return NULL;
}

/* hex "00ff..": the bytes, little-endian. */
static mica_status read_bytes(parser *p, const mica_type *type, uint8_t *out) {
    size_t bytes = mica_type_bytes(type), element = mica_dtype_bytes(type->dtype);
    MICA_TRY(expect(p, '"'));
    uint8_t little[16];
    for (size_t i = 0; i < bytes; i++) {
        int high = hex_digit(p->at[0]), low = high < 0 ? -1 : hex_digit(p->at[1]);
        if (low < 0) {
            p->token = p->at;
            return fail(p, "expected %zu bytes in hexadecimal, found %zu", bytes, i);
        }
        little[i % element] = (uint8_t)(high * 16 + low);
        if ((i + 1) % element == 0)
            mica_number_little_endian(type->dtype, little, out + i + 1 - element, 1);
        p->at += 2;
    }
    p->token = p->at;
    return *p->at++ == '"' ? NULL : fail(p, "more than %zu bytes", bytes);
}

static mica_status read_numbers(parser *p, const mica_type *type, uint8_t *out) {
    mica_dtype part = mica_number_part(type->dtype);
    size_t bytes = mica_dtype_bytes(part), n = mica_type_bytes(type) / bytes;
    size_t per_element = mica_dtype_bytes(type->dtype) / bytes;
    MICA_TRY(expect(p, '('));
    for (size_t i = 0; i < n; i++) {
        word w;
        if (i && i % per_element == 0) MICA_TRY(expect(p, ','));
        MICA_TRY(read_word(p, "a number", &w));
        if (!mica_number_parse(part, w.chars, out + i * bytes))
            return fail(p, "'%s' is not a number of type %s", w.chars, mica_dtype_name(part));
    }
    return expect(p, ')');
}

/* The text must be long enough for the constant before memory is asked for: a digit per part. */
static mica_status read_data(parser *p, mica_attr *attr) {
    mica_type *type = &attr->as.data.type;
    MICA_TRY(read_type(p, type));
    attr->as.data.bytes = NULL;
    if (type->kind != MICA_TENSOR) return NULL;
    const char *start = p->token;
    mica_status status = mica_type_check(type, "constant");
    if (status) return placed(p, status, start);
    if (strnlen(p->at, (size_t)mica_type_elements(type)) < (size_t)mica_type_elements(type))
        return fail(p, "the text ends before the constant of type %s", mica_type_text(type).chars);
    uint8_t *bytes = mica_arena_alloc(&p->scratch, mica_type_bytes(type));
    if (!bytes) return MICA_NO_MEMORY();
    attr->as.data.bytes = bytes;
    if (peek(p) == '(') return read_numbers(p, type, bytes);
    MICA_TRY(expect_word(p, "hex"));
    return read_bytes(p, type, bytes);
}

/* ---- nodes ----------------------------------------------------------------------------------*/

static mica_status read_attr(parser *p, mica_attr *attr) {
    word w;
    mica_dtype dtype;
    char *string;
    switch (attr->kind) {
    case MICA_ATTR_INT: return read_int(p, &attr->as.integer);
    case MICA_ATTR_INTS: return read_ints(p, '(', ')', &attr->as.ints);
    case MICA_ATTR_STRING:
        MICA_TRY(read_string(p, &string));
        attr->as.string = string;
        return NULL;
    case MICA_ATTR_DTYPE:
        MICA_TRY(read_word(p, "a dtype", &w));
        MICA_TRY(read_dtype(p, w.chars, &dtype));
        attr->as.integer = (int64_t)dtype;
        return NULL;
    case MICA_ATTR_DATA: return read_data(p, attr);
    case MICA_ATTR_TYPES: return read_types(p, &attr->as.types);
    }
    return NULL;
}

static int32_t attribute_place(const mica_op_info *info, const char *name) {
    for (int32_t i = 0; i < info->n_attributes; i++)
        if (strcmp(info->attribute_names[i], name) == 0) return i;
    return -1;
}

/* {name = value, ...}: every attribute of the row, in any order. */
static mica_status read_attrs(parser *p, mica_op op, mica_attr *attrs) {
    const mica_op_info *info = mica_op_describe(op);
    uint32_t seen = 0;
    bool more = accept(p, '{');
    for (int32_t n = 0; more; n++) {
        word name;
        MICA_TRY(next_item(p, '}', n, &more));
        if (!more) break;
        MICA_TRY(read_word(p, "the name of an attribute", &name));
        int32_t i = attribute_place(info, name.chars);
        if (i < 0) return fail(p, "%s has no attribute '%s'", info->name, name.chars);
        if (seen & 1u << i) return fail(p, "attribute '%s' comes twice", name.chars);
        seen |= 1u << i;
        MICA_TRY(expect(p, '='));
        attrs[i].kind = mica_op_attr_kind(op, i);
        MICA_TRY(read_attr(p, &attrs[i]));
    }
    for (int32_t i = 0; i < info->n_attributes; i++)
        if (!(seen & 1u << i))
            return fail(p, "%s needs its attribute '%s'", info->name, info->attribute_names[i]);
    return NULL;
}

/* %name; the text keeps the characters. */
static mica_status read_value_name(parser *p, const char **out_name, size_t *out_length) {
    MICA_TRY(expect(p, '%'));
    size_t n = 0;
    while (mica_is_word_char(p->at[n]) && p->at[n] != '.') n++;
    if (n == 0) return fail(p, "expected the name of a value after %%");
    *out_name = p->at;
    *out_length = n;
    p->at += n;
    return NULL;
}

/* %name or %name.index */
static mica_status read_value(parser *p, mica_value *out) {
    const char *name;
    size_t length;
    MICA_TRY(read_value_name(p, &name, &length));
    mica_node *node = mica_names_find(&p->values, name, length);
    if (!node)
        return fail(p, "there is no value %%%.*s yet", (int)(length < 60 ? length : 60), name);
    int32_t index = 0;
    if (*p->at == '.') {
        for (p->at++; *p->at >= '0' && *p->at <= '9' && index < node->n_results; p->at++)
            index = index * 10 + (*p->at - '0');
    }
    if (index >= node->n_results)
        return fail(p, "a %s with %d results has no result %d", mica_op_name(node->op),
                    node->n_results, index);
    *out = (mica_value){node, index};
    return NULL;
}

static mica_status read_operands(parser *p, mica_value **out, int32_t *out_n) {
    mica_value *data = NULL;
    int32_t n = 0;
    bool more;
    MICA_TRY(expect(p, '('));
    for (;; n++) {
        MICA_TRY(next_item(p, ')', n, &more));
        if (!more) break;
        mica_value *next = PUSH(p, data, n);
        if (!next) return MICA_NO_MEMORY();
        MICA_TRY(read_value(p, next));
    }
    *out = data;
    *out_n = n;
    return NULL;
}

/* @word or @"any name", in the scratch arena. */
static mica_status read_graph_name(parser *p, char **out) {
    MICA_TRY(expect(p, '@'));
    if (*p->at == '"') return read_string(p, out);
    size_t n = 0;
    while (mica_is_word_char(p->at[n])) n++;
    if (n == 0) return fail(p, "expected the name of a graph after @");
    char *name = mica_arena_alloc(&p->scratch, n + 1);
    if (!name) return MICA_NO_MEMORY();
    memcpy(name, p->at, n);
    p->at += n;
    *out = name;
    return NULL;
}

static mica_graph *find_graph(const parser *p, const char *name) {
    return mica_names_find(&p->names, name, strlen(name));
}

static mica_status read_regions(parser *p, mica_graph ***out, int32_t *out_n) {
    mica_graph **data = NULL;
    int32_t n = 0;
    for (; peek(p) == '@'; n++) {
        char *name;
        mica_graph **next = PUSH(p, data, n);
        if (!next) return MICA_NO_MEMORY();
        MICA_TRY(read_graph_name(p, &name));
        *next = find_graph(p, name);
        if (!*next) return fail(p, "there is no graph '%s' above", name);
    }
    *out = data;
    *out_n = n;
    return NULL;
}

/* The types after the colon, where there are any, must be those that were inferred. */
static mica_status check_types(parser *p, const mica_node *n) {
    mica_types types;
    if (!accept(p, ':')) return NULL;
    if (peek(p) == '(') {
        MICA_TRY(read_types(p, &types));
    } else {
        mica_type *one = mica_arena_alloc(&p->scratch, sizeof *one);
        if (!one) return MICA_NO_MEMORY();
        MICA_TRY(read_type(p, one));
        types = (mica_types){one, 1};
    }
    if (types.n != n->n_results)
        return fail(p, "%s has %d results, not %d", mica_op_name(n->op), n->n_results, types.n);
    for (int32_t i = 0; i < types.n; i++)
        if (!mica_type_equal(&types.data[i], &n->results[i]))
            return fail(p, "result %d of %s is %s, not %s", i, mica_op_name(n->op),
                        mica_type_text(&n->results[i]).chars, mica_type_text(&types.data[i]).chars);
    return NULL;
}

static mica_status define(parser *p, const char *name, size_t length, mica_node *node) {
    if (mica_names_find(&p->values, name, length))
        return fail(p, "value %%%.*s comes twice", (int)(length < 60 ? length : 60), name);
    return mica_names_add(&p->values, name, length, node);
}

/* op(operands) @regions {attributes} */
static mica_status read_application(parser *p, mica_graph *g, mica_node **out_node) {
    word name;
    mica_op op;
    mica_value *operands = NULL;
    mica_graph **regions = NULL;
    mica_attr attrs[8];
    int32_t n_operands = 0, n_regions = 0;
    MICA_TRY(read_word(p, "an op", &name));
    const char *start = p->token;
    if (!mica_op_parse(name.chars, &op)) return fail(p, "there is no op '%s'", name.chars);
    MICA_TRY(read_operands(p, &operands, &n_operands));
    MICA_TRY(read_regions(p, &regions, &n_regions));
    MICA_TRY(read_attrs(p, op, attrs));
    *out_node = mica_node_create(g, op, operands, n_operands, attrs, regions, n_regions);
    return *out_node ? NULL : sticky(p, g, start);
}

static mica_status read_node(parser *p, mica_graph *g) {
    const char *name;
    size_t length;
    int64_t n_results = -1;
    MICA_TRY(read_value_name(p, &name, &length));
    const char *start = p->token;
    if (accept(p, ':')) MICA_TRY(read_int(p, &n_results));
    MICA_TRY(expect(p, '='));
    mica_node *node;
    MICA_TRY(read_application(p, g, &node));
    MICA_TRY(check_types(p, node));
    p->token = start;
    if (n_results >= 0 && n_results != node->n_results)
        return fail(p, "%s has %d results, not %" PRId64, mica_op_name(node->op), node->n_results,
                    n_results);
    return define(p, name, length, node);
}

/* ---- graphs ---------------------------------------------------------------------------------*/

static mica_status read_parameters(parser *p, mica_graph *g) {
    bool more;
    MICA_TRY(expect(p, '('));
    for (int32_t n = 0;; n++) {
        const char *name;
        size_t length;
        mica_type type;
        MICA_TRY(next_item(p, ')', n, &more));
        if (!more) return NULL;
        MICA_TRY(read_value_name(p, &name, &length));
        const char *start = p->token;
        MICA_TRY(expect(p, ':'));
        MICA_TRY(read_type(p, &type));
        mica_value value = mica_parameter(g, &type);
        if (mica_value_is_null(value)) return sticky(p, g, start);
        p->token = start;
        MICA_TRY(define(p, name, length, value.node));
    }
}

static mica_status read_outputs(parser *p, mica_graph *g) {
    MICA_TRY(expect_word(p, "return"));
    for (bool more = peek(p) == '%'; more; more = accept(p, ',')) {
        mica_value value;
        MICA_TRY(read_value(p, &value));
        mica_output(g, value);
        if (g->error) return mica_graph_check(g);
    }
    return expect(p, '}');
}

static mica_status read_body(parser *p, mica_graph *g) {
    MICA_TRY(read_parameters(p, g));
    MICA_TRY(expect(p, '{'));
    while (peek(p) == '%') {
        mica_status status = read_node(p, g);
        mica_arena_deinit(&p->scratch);
        MICA_TRY(status);
    }
    return read_outputs(p, g);
}

static mica_status read_graph(parser *p) {
    char *name;
    MICA_TRY(expect_word(p, "graph"));
    MICA_TRY(read_graph_name(p, &name));
    if (find_graph(p, name)) return fail(p, "graph '%s' comes twice", name);
    if (p->n_graphs == p->graphs_capacity) {
        int32_t capacity = p->graphs_capacity ? p->graphs_capacity * 2 : 8;
        mica_graph **grown = mica_realloc(p->graphs, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        p->graphs = grown;
        p->graphs_capacity = capacity;
    }
    mica_graph *g;
    MICA_TRY(mica_graph_create(name, &g));
    mica_names_clear(&p->values);
    mica_status status = read_body(p, g);
    if (!status) status = mica_names_add(&p->names, g->name, strlen(g->name), g);
    mica_arena_deinit(&p->scratch);
    if (status)
        mica_graph_release(g);
    else
        p->graphs[p->n_graphs++] = g;
    return status;
}

static mica_status read_file(parser *p) {
    int64_t version;
    MICA_TRY(expect_word(p, "mica"));
    MICA_TRY(expect_word(p, "graph"));
    MICA_TRY(read_int(p, &version));
    if (version != MICA_GRAPH_FORMAT_VERSION)
        return fail(p, "version %" PRId64 "; this library reads version %d", version,
                    MICA_GRAPH_FORMAT_VERSION);
    do MICA_TRY(read_graph(p));
    while (peek(p));
    return NULL;
}

mica_status mica_graph_parse(const char *text, mica_graph **out_graph) {
    MICA_GIVEN(out_graph);
    *out_graph = NULL;
    if (!text) return MICA_INVALID("[parse] the text is null");
    parser p = {.text = text, .at = text, .token = text};
    mica_arena_init(&p.scratch);
    mica_status status = read_file(&p);
    if (!status) {
        *out_graph = p.graphs[p.n_graphs - 1];
        mica_graph_retain(*out_graph);
    }
    for (int32_t i = 0; i < p.n_graphs; i++) mica_graph_release(p.graphs[i]);
    mica_free(p.graphs);
    mica_names_deinit(&p.names);
    mica_names_deinit(&p.values);
    mica_arena_deinit(&p.scratch);
    return status;
}
