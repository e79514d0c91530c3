/* Wrong operands and attributes. A node of the case is made again with one thing changed. What
 * comes back is either an error that sticks, begins with "[op]" and is INVALID_ARGUMENT, or, where
 * the change happens to be legal, a graph that verifies, and that runs alike everywhere. */
#include "harness.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INTS = 24 };

/* A node taken apart, ready to be changed. */
typedef struct parts {
    mica_value operands[MOST_OPERANDS + 4];
    int32_t n_operands;
    mica_attr attributes[8];
    int32_t n_attributes;
    mica_graph *regions[8];
    int32_t n_regions;
    int64_t ints[MOST_INTS];
    mica_type data_type;
} parts;

typedef struct attempt {
    const op_case *c;
    mica_graph *g;
    parts p;
    bool must_fail;
    const char *what;
} attempt;

static const mica_node *find_node(const mica_graph *g, mica_op op) {
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == op) return g->nodes[i];
    return NULL;
}

static parts take_apart(const mica_node *n) {
    parts p = {.n_operands = n->n_operands, .n_attributes = n->n_attrs, .n_regions = n->n_regions};
    for (int32_t i = 0; i < n->n_operands; i++) p.operands[i] = n->operands[i];
    for (int32_t i = 0; i < n->n_attrs; i++) p.attributes[i] = n->attrs[i];
    for (int32_t i = 0; i < n->n_regions; i++) p.regions[i] = n->regions[i];
    return p;
}

/* The case without vmap around it, so that its own node is there. */
static bool begin(attempt *a, const op_case *c) {
    op_case bare = *c;
    mica_type types[MOST_OPERANDS];
    bare.flags &= ~(uint32_t)NAMED_AXIS;
    *a = (attempt){.c = c};
    case_types(c, first_dtype(c), types);
    a->g = case_graph(&bare, first_dtype(c), types);
    const mica_node *n = find_node(a->g, c->op);
    if (!harness_ok(mica_graph_check(a->g), case_title(c)) || !n || n->n_operands > MOST_OPERANDS ||
        n->n_regions > 8) {
        if (!n) harness_fail("%s: the case's graph does not hold the op", case_title(c));
        mica_graph_release(a->g);
        return false;
    }
    a->p = take_apart(n);
    return true;
}

/* Small enough to run, and sure to end. */
static bool is_runnable(const attempt *a, const mica_node *n) {
    mica_op_class class = mica_op_class_of(a->c->op);
    if (class == MICA_CLASS_CONTROL || class == MICA_CLASS_HOST || class == MICA_CLASS_COLLECTIVE)
        return false;
    if (a->c->flags & LARGE) return false;
    for (int32_t i = 0; i < n->n_results; i++)
        if (mica_type_elements(&n->results[i]) > 5000) return false;
    return true;
}

static void run_legal(const attempt *a, const mica_node *n) {
    arrays inputs = {.n = a->g->n_parameters};
    random_state r = {1};
    mica_graph *g = NULL;
    mica_value parameters[MOST_ARRAYS], operands[MOST_OPERANDS + 4];
    if (!harness_ok(mica_graph_create("legal", &g), a->what)) return;
    for (int32_t i = 0; i < inputs.n; i++) {
        const mica_type *type = mica_value_type(a->g->parameters[i]);
        inputs.items[i] = draw_direction(type, &r);
        parameters[i] = mica_parameter(g, type);
    }
    for (int32_t i = 0; i < n->n_operands; i++)
        for (int32_t k = 0; k < inputs.n; k++)
            if (mica_value_same(n->operands[i], a->g->parameters[k])) operands[i] = parameters[k];
    mica_node *copy = mica_node_clone(g, n, operands);
    for (int32_t i = 0; copy && i < copy->n_results; i++) mica_output(g, mica_node_result(copy, i));
    arrays out = run_reference(g, &inputs, a->what);
    tolerance allowed = {.ulps = 64, .of_largest = 1e-5};
    if (out.n > 0) check_on_devices(a->c, n->results[0].dtype, g, &inputs, &out, &allowed, a->what);
    arrays_free(&out);
    arrays_free(&inputs);
    mica_graph_release(g);
}

static bool operands_are_parameters(const attempt *a) {
    for (int32_t i = 0; i < a->p.n_operands; i++)
        if (!a->p.operands[i].node || a->p.operands[i].node->op != MICA_OP_PARAMETER) return false;
    return true;
}

static void finish(attempt *a) {
    char tag[64], title[200];
    snprintf(tag, sizeof tag, "[%s]", mica_op_name(a->c->op));
    snprintf(title, sizeof title, "errors of %s, %s", case_title(a->c), a->what);
    const mica_node *n = mica_node_create(a->g, a->c->op, a->p.operands, a->p.n_operands,
                                          a->p.attributes, a->p.regions, a->p.n_regions);
    mica_status status = mica_graph_check(a->g);
    harness_count();
    if (status) {
        if (strncmp(mica_status_message(status), tag, strlen(tag)) != 0)
            harness_fail("%s: the message is '%s'", title, mica_status_message(status));
        if (mica_status_code(status) != MICA_INVALID_ARGUMENT)
            harness_fail("%s: the code is %s", title, mica_code_name(mica_status_code(status)));
        if (n) harness_fail("%s: an error and a node", title);
        mica_status_release(status);
    } else if (!n)
        harness_fail("%s: neither an error nor a node", title);
    else if (a->must_fail)
        harness_fail("%s: no error", title);
    else if (harness_ok(mica_graph_verify(a->g), title)) {
        a->what = title;
        if (is_runnable(a, n) && operands_are_parameters(a)) run_legal(a, n);
    }
    mica_graph_release(a->g);
}

/* ---- operands ---------------------------------------------------------------------------------*/

static void wrong_arity(const op_case *c) {
    attempt a;
    bool fixed = mica_op_describe(c->op)->arity >= 0;
    if (!begin(&a, c)) return;
    a.what = "one operand too many";
    mica_type type = mica_type_scalar(MICA_DTYPE_f32);
    a.p.operands[a.p.n_operands++] = mica_parameter(a.g, &type);
    a.must_fail = fixed;
    finish(&a);
    if (!begin(&a, c)) return;
    a.what = "one operand too few";
    a.must_fail = fixed && a.p.n_operands > 0;
    if (a.p.n_operands > 0) a.p.n_operands--;
    finish(&a);
}

static void null_operands(const op_case *c) {
    for (int32_t i = 0; i < MOST_OPERANDS; i++) {
        attempt a;
        if (!begin(&a, c)) return;
        if (i >= a.p.n_operands) {
            mica_graph_release(a.g);
            return;
        }
        a.what = "a null operand";
        a.must_fail = true;
        a.p.operands[i] = MICA_NULL_VALUE;
        finish(&a);
    }
}

/* Other types in the place of an operand: each dtype, one more axis, one less, another size. */
static bool change_type(mica_type *type, int32_t change) {
    if (change < MICA_DTYPE_COUNT)
        type->dtype = (mica_dtype)change;
    else if (change == MICA_DTYPE_COUNT)
        type->dims[type->rank++] = 2;
    else if (change == MICA_DTYPE_COUNT + 1 && type->rank > 0)
        type->dims[--type->rank] = 0;
    else if (change == MICA_DTYPE_COUNT + 2 && type->rank > 0)
        type->dims[0] += 5;
    else if (change == MICA_DTYPE_COUNT + 3 && type->rank > 0)
        type->dims[type->rank - 1] = 0;
    else if (change == MICA_DTYPE_COUNT + 4)
        *type = mica_type_token();
    else if (change == MICA_DTYPE_COUNT + 5)
        *type = mica_type_list_of(type);
    else
        return false;
    return true;
}

/* Operands of elementwise ops have one type, arguments those of the regions' parameters; and but
 * for barrier, a tensor, a list and a token are never alike. */
static bool must_fail_with(const attempt *a, const mica_type *was, const mica_type *type) {
    mica_op_class class = mica_op_class_of(a->c->op);
    if (mica_type_equal(was, type)) return false;
    if (was->kind != type->kind) return a->c->op != MICA_OP_barrier;
    if (class < MICA_CLASS_CONTROL && !mica_dtype_in_set(type->dtype, mica_op_dtype_set(a->c->op)))
        return true;
    bool elementwise = class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
    return a->p.n_regions > 0 || (elementwise && a->p.n_operands > 1);
}

/* Lists and tokens only become something else. */
static bool change_kind(mica_type *type, int32_t change) {
    if (change == 0)
        *type = type->kind == MICA_LIST ? mica_type_token() : mica_type_scalar(MICA_DTYPE_f32);
    else if (change == 1 && type->kind == MICA_LIST)
        type->kind = MICA_TENSOR;
    else
        return false;
    return true;
}

static void wrong_types(const op_case *c) {
    for (int32_t i = 0; i < MOST_OPERANDS; i++)
        for (int32_t change = 0; change < MICA_DTYPE_COUNT + 6; change++) {
            attempt a;
            if (!begin(&a, c)) return;
            if (i >= a.p.n_operands) {
                mica_graph_release(a.g);
                return;
            }
            const mica_type was = *mica_value_type(a.p.operands[i]);
            mica_type type = was;
            if (!(was.kind == MICA_TENSOR ? change_type : change_kind)(&type, change)) {
                mica_graph_release(a.g);
                continue;
            }
            a.what = "an operand of another type";
            a.must_fail = must_fail_with(&a, &was, &type);
            a.p.operands[i] = mica_parameter(a.g, &type);
            finish(&a);
        }
}

/* Whether a reduction of the case's kind has no meaning for the dtype: an order of complex numbers,
 * arithmetic of bool, bits of what is no integer. */
static bool has_no_such_kind(const op_case *c, mica_dtype dtype) {
    const char *kind = NULL;
    for (int32_t i = 0; i < mica_op_describe(c->op)->n_attributes && !kind; i++)
        if (c->attributes[i].kind == MICA_ATTR_STRING &&
            !strcmp(mica_op_describe(c->op)->attribute_names[i], "kind"))
            kind = c->attributes[i].as.string;
    if (!kind) return false;
    bool order = !strcmp(kind, "min") || !strcmp(kind, "max");
    bool sum = !strcmp(kind, "add") || !strcmp(kind, "mul") || !strcmp(kind, "sum") ||
               !strcmp(kind, "prod");
    bool bits = !strcmp(kind, "and") || !strcmp(kind, "or");
    if (dtype == MICA_DTYPE_bool) return order || sum;
    if (dtype >= MICA_DTYPE_c64) return order || bits;
    return bits && dtype >= MICA_DTYPE_f16;
}

/* All operands in each dtype, those too that no case is run with. */
static void other_dtypes(const op_case *c) {
    if (c->build || c->flags & (LARGE | NAMED_AXIS)) return;
    for (mica_dtype dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
        attempt a;
        mica_type types[MOST_OPERANDS];
        char what[100];
        if (!begin(&a, c)) return;
        case_types(c, dtype, types);
        snprintf(what, sizeof what, "operands of %s", mica_dtype_name(dtype));
        a.what = what;
        a.must_fail = has_no_such_kind(c, dtype);
        for (int32_t i = 0; i < a.p.n_operands; i++)
            a.p.operands[i] = mica_parameter(a.g, &types[i]);
        finish(&a);
    }
}

/* ---- attributes -------------------------------------------------------------------------------*/

static const int64_t bad_ints[] = {-1, -2, 0, 1, 2, 17, 999, INT32_MAX, INT64_MAX, INT64_MIN};
enum { N_BAD_INTS = sizeof bad_ints / sizeof *bad_ints };

/* Variant v of an attribute; false when there are no more. */
static bool change_ints(parts *p, mica_attr *attribute, int32_t v) {
    int32_t n = attribute->as.ints.n;
    if (n > 18) return false;
    if (n) memcpy(p->ints, attribute->as.ints.data, (size_t)n * sizeof *p->ints);
    attribute->as.ints.data = p->ints;
    if (v < n * N_BAD_INTS)
        p->ints[v / N_BAD_INTS] = bad_ints[v % N_BAD_INTS];
    else if (v == n * N_BAD_INTS && n > 0)
        attribute->as.ints.n--;
    else if (v == n * N_BAD_INTS + 1)
        p->ints[attribute->as.ints.n++] = 0;
    else if (v == n * N_BAD_INTS + 2)
        p->ints[attribute->as.ints.n++] = INT64_MAX;
    else if (v == n * N_BAD_INTS + 3) {
        for (int32_t i = 0; i < 20; i++) p->ints[i] = 1;
        attribute->as.ints.n = 20;
    } else if (v == n * N_BAD_INTS + 4) {
        for (int32_t i = 0; i < n; i++) p->ints[i] = (int64_t)1 << 40;
    } else if (v == n * N_BAD_INTS + 5 && n > 1)
        p->ints[1] = p->ints[0];
    else
        return v <= n * N_BAD_INTS + 5;
    return true;
}

static bool change_string(mica_attr *attribute, int32_t v) {
    static const char *const texts[] = {"",          "nonsense",    "sum", "%s%s%n",
                                        "N01C,01IO", "N0C,0IO,N0C", "eq",  "N00C,00IO,N00C",
                                        "\xff\xfe",  "f32"};
    if (v >= (int32_t)(sizeof texts / sizeof *texts)) return false;
    attribute->as.string = texts[v];
    return true;
}

static bool change_data(parts *p, mica_attr *attribute, int32_t v) {
    mica_type types[] = {{.kind = MICA_TENSOR, .dtype = MICA_DTYPE_f32, .rank = -1},
                         {.kind = MICA_TENSOR, .dtype = MICA_DTYPE_COUNT, .rank = 0},
                         {.kind = MICA_TENSOR, .dtype = MICA_DTYPE_f32, .rank = 17},
                         {.kind = MICA_TENSOR, .dtype = MICA_DTYPE_f32, .rank = 1, .dims = {-3}},
                         {.kind = (mica_type_kind)9, .dtype = MICA_DTYPE_f32, .rank = 0},
                         {.kind = MICA_TENSOR,
                          .dtype = MICA_DTYPE_f64,
                          .rank = 3,
                          .dims = {INT64_MAX, INT64_MAX, 2}}};
    if (v >= (int32_t)(sizeof types / sizeof *types)) return false;
    p->data_type = types[v];
    attribute->as.data.type = p->data_type;
    return true;
}

static bool change_attribute(parts *p, int32_t k, int32_t v) {
    mica_attr *attribute = &p->attributes[k];
    switch (attribute->kind) {
    case MICA_ATTR_INT:
        if (v >= N_BAD_INTS) return false;
        attribute->as.integer = bad_ints[v];
        return true;
    case MICA_ATTR_DTYPE:
        if (v >= MICA_DTYPE_COUNT + 3) return false;
        attribute->as.integer = v == MICA_DTYPE_COUNT + 1   ? -1
                                : v == MICA_DTYPE_COUNT + 2 ? 1000
                                                            : v;
        return true;
    case MICA_ATTR_INTS: return change_ints(p, attribute, v);
    case MICA_ATTR_STRING: return change_string(attribute, v);
    case MICA_ATTR_DATA: return change_data(p, attribute, v);
    case MICA_ATTR_TYPES:
        if (v >= 2) return false;
        p->data_type = mica_type_scalar(MICA_DTYPE_f32);
        if (v == 0)
            p->data_type.rank = -1;
        else
            p->data_type.kind = MICA_TOKEN;
        attribute->as.types = (mica_types){&p->data_type, 1};
        return true;
    }
    return false;
}

static void wrong_attributes(const op_case *c) {
    for (int32_t k = 0; k < mica_op_describe(c->op)->n_attributes; k++)
        for (int32_t v = 0;; v++) {
            attempt a;
            if (!begin(&a, c)) return;
            if (!change_attribute(&a.p, k, v)) {
                mica_graph_release(a.g);
                break;
            }
            char what[100];
            snprintf(what, sizeof what, "attribute %s, change %d",
                     mica_op_describe(c->op)->attribute_names[k], v);
            a.what = what;
            mica_attr_kind kind = a.p.attributes[k].kind;
            a.must_fail = kind == MICA_ATTR_DATA || kind == MICA_ATTR_TYPES ||
                          (kind == MICA_ATTR_DTYPE && v >= MICA_DTYPE_COUNT);
            finish(&a);
        }
}

/* ---- regions ----------------------------------------------------------------------------------*/

static mica_graph *unrelated_region(void) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_i8, MICA_INTS(9));
    if (mica_graph_create("unrelated", &g)) exit(3);
    mica_output(g, mica_parameter(g, &type));
    return g;
}

static void wrong_regions(const op_case *c) {
    for (int32_t change = 0; change < 10; change++) {
        attempt a;
        if (!begin(&a, c)) return;
        mica_graph *other = unrelated_region();
        if (change == 0)
            a.p.regions[a.p.n_regions++ % 8] = other;
        else if (change == 1 && a.p.n_regions > 0)
            a.p.n_regions--;
        else if (change == 2 && a.p.n_regions > 0)
            a.p.n_regions = 0;
        else if (change >= 3 && change - 3 < a.p.n_regions)
            a.p.regions[change - 3] = other;
        else {
            mica_graph_release(other);
            mica_graph_release(a.g);
            continue;
        }
        a.what = "other regions";
        a.must_fail = change != 1; /* a composite's vjp may be left out */
        finish(&a);
        mica_graph_release(other);
    }
}

void check_errors(const op_case *c) {
    wrong_arity(c);
    null_operands(c);
    wrong_types(c);
    other_dtypes(c);
    wrong_attributes(c);
    wrong_regions(c);
}
