#include "harness.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- the op through its public builder --------------------------------------------------------*/

#define GET_INT(i) attributes[i].as.integer
#define GET_INTS(i) attributes[i].as.ints
#define GET_STRING(i) attributes[i].as.string
#define GET_DTYPE(i) (mica_dtype) attributes[i].as.integer
#define GET_DATA(i)                                                                                \
    (mica_data) {                                                                                  \
        &attributes[i].as.data.type, attributes[i].as.data.bytes                                   \
    }
#define PASS_A0()
#define PASS_A1(a, an) , GET_##a(0)
#define PASS_A2(a, an, b, bn) PASS_A1(a, an), GET_##b(1)
#define PASS_A3(a, an, b, bn, c, cn) PASS_A2(a, an, b, bn), GET_##c(2)
#define PASS_A4(a, an, b, bn, c, cn, d, dn) PASS_A3(a, an, b, bn, c, cn), GET_##d(3)
#define PASS_A5(a, an, b, bn, c, cn, d, dn, e, en) PASS_A4(a, an, b, bn, c, cn, d, dn), GET_##e(4)
#define PASS_A6(a, an, b, bn, c, cn, d, dn, e, en, f, fn)                                          \
    PASS_A5(a, an, b, bn, c, cn, d, dn, e, en), GET_##f(5)
#define PASS_A7(a, an, b, bn, c, cn, d, dn, e, en, f, fn, h, hn)                                   \
    PASS_A6(a, an, b, bn, c, cn, d, dn, e, en, f, fn), GET_##h(6)
#define PASS_A8(a, an, b, bn, c, cn, d, dn, e, en, f, fn, h, hn, k, kn)                            \
    PASS_A7(a, an, b, bn, c, cn, d, dn, e, en, f, fn, h, hn), GET_##k(7)
#define OPERANDS_0
#define OPERANDS_1 , operands[0]
#define OPERANDS_2 , operands[0], operands[1]
#define OPERANDS_3 , operands[0], operands[1], operands[2]
#define OPERANDS_N , operands, n
#define CASE(name, arity, attributes)                                                              \
    case MICA_OP_##name:                                                                           \
        return mica_##name(g OPERANDS_##arity PASS_##attributes);
#define CASE_MAP(...) CASE(__VA_ARGS__)
#define CASE_ELEMENTWISE(...) CASE(__VA_ARGS__)
#define CASE_SHAPE(...) CASE(__VA_ARGS__)
#define CASE_CONTRACTION(...) CASE(__VA_ARGS__)
#define CASE_REDUCTION(...) CASE(__VA_ARGS__)
#define CASE_RANDOM(...) CASE(__VA_ARGS__)
#define CASE_COLLECTIVE(...) CASE(__VA_ARGS__)
#define CASE_SEVERAL(name, arity, attributes)                                                      \
    case MICA_OP_##name:                                                                           \
        mica_##name(g OPERANDS_##arity PASS_##attributes, several);                                \
        return several[0];
#define CASE_CONTROL(name, arity, attributes)
#define CASE_HOST(name, arity, attributes)

mica_value build_op(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                    const mica_attr *attributes) {
    mica_value several[MOST_ARRAYS] = {MICA_NULL_VALUE};
    switch (op) {
#define MICA_OP(name, arity, class, dtypes, attributes, ...) CASE_##class(name, arity, attributes)
#include "mica/ops.def"
#undef MICA_OP
    default: (void)n, (void)several; return MICA_NULL_VALUE;
    }
}

/* ---- a case as a graph ------------------------------------------------------------------------*/

bool is_float(const mica_type *type) {
    return type->kind == MICA_TENSOR &&
           (mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT || is_complex(type->dtype));
}

bool is_complex(mica_dtype dtype) {
    return mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX;
}

bool case_takes(const op_case *c, mica_dtype dtype) {
    bool computes = c->build && c->op != MICA_OP_constant; /* 8-bit floats only move */
    if (computes && mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT8) return false;
    if (!c->dtypes) return mica_dtype_in_set(dtype, mica_op_dtype_set(c->op));
    const char *name = mica_dtype_name(dtype);
    size_t length = strlen(name);
    for (const char *at = c->dtypes; (at = strstr(at, name)) != NULL; at += length)
        if ((at == c->dtypes || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

mica_dtype first_dtype(const op_case *c) {
    static const mica_dtype preferred[] = {MICA_DTYPE_f64, MICA_DTYPE_i32, MICA_DTYPE_u32,
                                           MICA_DTYPE_bool};
    for (size_t i = 0; i < sizeof preferred / sizeof *preferred; i++)
        if (case_takes(c, preferred[i])) return preferred[i];
    for (int d = 0; d < MICA_DTYPE_COUNT && !case_takes(c, MICA_DTYPE_f32); d++)
        if (case_takes(c, (mica_dtype)d)) return (mica_dtype)d;
    return MICA_DTYPE_f32;
}

void case_types(const op_case *c, mica_dtype dtype, mica_type *out_types) {
    for (int32_t i = 0; i < c->n_operands; i++) {
        const operand *o = &c->operands[i];
        out_types[i] =
            mica_type_make(o->dtype == VARIES ? dtype : o->dtype, (mica_ints){o->dims, o->rank});
    }
}

/* A node by its first result; null after an error, which sticks. */
static void output_results(mica_graph *g, mica_value first) {
    int32_t n = first.node ? first.node->n_results : 1;
    for (int32_t i = 0; i < n; i++)
        mica_output(g, first.node ? mica_node_result(first.node, i) : first);
}

static mica_graph *plain_graph(const op_case *c, mica_dtype dtype, const mica_type *types,
                               void (*build)(mica_graph *, const mica_value *, mica_dtype)) {
    mica_graph *g = NULL;
    mica_value parameters[MOST_OPERANDS];
    if (!harness_ok(mica_graph_create(case_title(c), &g), case_title(c))) exit(3);
    for (int32_t i = 0; i < c->n_operands; i++) parameters[i] = mica_parameter(g, &types[i]);
    if (build)
        build(g, parameters, dtype);
    else
        output_results(g, build_op(g, c->op, parameters, c->n_operands, c->attributes));
    return g;
}

mica_graph *batched_graph(mica_graph *g, const char *title) {
    mica_graph *out = NULL;
    int32_t axes[MOST_ARRAYS] = {0};
    harness_ok(mica_vmap(g, axes, axes, 3, "batch", &out), title);
    mica_graph_release(g);
    return out;
}

static mica_type with_axis(const mica_type *type, int64_t size) {
    mica_type out = *type;
    out.rank++;
    out.dims[0] = size;
    memcpy(out.dims + 1, type->dims, (size_t)type->rank * sizeof *type->dims);
    return out;
}

mica_graph *participant_graph(const op_case *c, mica_dtype dtype, const mica_type *types) {
    return plain_graph(c, dtype, types, c->build);
}

mica_graph *case_graph(const op_case *c, mica_dtype dtype, const mica_type *types) {
    mica_graph *g = participant_graph(c, dtype, types);
    return c->flags & NAMED_AXIS ? batched_graph(g, case_title(c)) : g;
}

mica_graph *expected_graph(const op_case *c, mica_dtype dtype, const mica_type *types) {
    mica_type wider[MOST_OPERANDS];
    for (int32_t i = 0; i < c->n_operands; i++) wider[i] = with_axis(&types[i], 3);
    return plain_graph(c, dtype, wider, c->expected);
}

/* ---- derivatives as graphs --------------------------------------------------------------------*/

int64_t harness_allocation_to_fail;

typedef struct inlined {
    mica_graph *g;
    mica_value inputs[MOST_ARRAYS], outputs[MOST_ARRAYS]; /* all of them */
    mica_value float_inputs[MOST_ARRAYS], float_outputs[MOST_ARRAYS];
    int32_t n_float_inputs, n_float_outputs;
} inlined;

static inlined inline_function(const mica_graph *f, const char *name) {
    inlined in = {0};
    if (!harness_ok(mica_graph_create(name, &in.g), name)) exit(3);
    if (harness_allocation_to_fail) mica_memory_fail_nth(harness_allocation_to_fail, false);
    for (int32_t i = 0; i < f->n_parameters; i++)
        in.inputs[i] = mica_parameter(in.g, mica_value_type(f->parameters[i]));
    mica_inline(in.g, f, in.inputs, f->n_parameters, in.outputs);
    for (int32_t i = 0; i < f->n_parameters; i++)
        if (is_float(mica_value_type(f->parameters[i])))
            in.float_inputs[in.n_float_inputs++] = in.inputs[i];
    for (int32_t i = 0; i < f->n_outputs; i++)
        if (is_float(mica_value_type(f->outputs[i])))
            in.float_outputs[in.n_float_outputs++] = in.outputs[i];
    return in;
}

static void output_or_zeros(mica_graph *g, mica_value value, mica_value like) {
    mica_output(g, mica_value_is_null(value) ? mica_zeros_like(g, like) : value);
}

mica_graph *jvp_graph(const mica_graph *f) {
    inlined in = inline_function(f, "jvp");
    mica_value tangents[MOST_ARRAYS], out[MOST_ARRAYS];
    for (int32_t i = 0; i < in.n_float_inputs; i++)
        tangents[i] = mica_parameter(in.g, mica_value_type(in.float_inputs[i]));
    mica_jvp(in.g, in.float_outputs, in.n_float_outputs, in.float_inputs, tangents,
             in.n_float_inputs, out);
    for (int32_t i = 0; i < in.n_float_outputs; i++)
        output_or_zeros(in.g, out[i], in.float_outputs[i]);
    return in.g;
}

mica_graph *vjp_graph(const mica_graph *f) {
    inlined in = inline_function(f, "vjp");
    mica_value cotangents[MOST_ARRAYS], out[MOST_ARRAYS];
    for (int32_t i = 0; i < in.n_float_outputs; i++)
        cotangents[i] = mica_parameter(in.g, mica_value_type(in.float_outputs[i]));
    mica_vjp(in.g, in.float_outputs, cotangents, in.n_float_outputs, in.float_inputs,
             in.n_float_inputs, out);
    for (int32_t i = 0; i < in.n_float_inputs; i++)
        output_or_zeros(in.g, out[i], in.float_inputs[i]);
    return in.g;
}

mica_graph *gradient_graph(const mica_graph *f) {
    static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    inlined in = inline_function(f, "gradient");
    mica_value out[MOST_ARRAYS], total = mica_scalar(in.g, MICA_DTYPE_f64, 0);
    for (int32_t i = 0; i < in.n_float_outputs; i++) {
        const mica_type *type = mica_value_type(in.float_outputs[i]);
        mica_value weighted = mica_mul(in.g, in.float_outputs[i], mica_parameter(in.g, type));
        total = mica_add(in.g, total,
                         mica_reduce(in.g, weighted, "sum", (mica_ints){axes, type->rank}));
    }
    mica_gradient(in.g, total, in.float_inputs, in.n_float_inputs, out);
    for (int32_t i = 0; i < in.n_float_inputs; i++) mica_output(in.g, out[i]);
    return in.g;
}

mica_graph *harness_region(const char *name) {
    mica_graph *g = NULL;
    if (!harness_ok(mica_graph_create(name, &g), name)) exit(3);
    return g;
}

mica_value harness_parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}
