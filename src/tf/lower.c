/* The doors to a row's functions: every lowering and every host function is called here.
 *
 * While a graph is built the shape function has seen what was known then. Here all sizes are known,
 * and the values of shape operands, so it runs again, and refuses what it could not see. A lowering
 * or a host function may therefore index by whatever its shape function bounds. What it makes is
 * held to what was promised: whoever reads a result goes by its dtype and shape. */
#include "base/platform.h"
#include "report/report.h"
#include "tf/lower_rules.h"

enum { FEW = 16 };

/* ---- what the shape function says now ---------------------------------------------------------*/

typedef struct facts {
    mica_tf_shape few_shapes[FEW], *shapes; /* of inputs, then of outputs */
    mica_tf_value few_values[FEW], *values;
    mica_tf_dtype few_dtypes[FEW], *dtypes;
} facts;

static mica_status make_room(facts *f, int32_t n_inputs, int32_t n_outputs) {
    size_t n = (size_t)n_inputs + (size_t)n_outputs;
    f->shapes = f->few_shapes;
    f->values = f->few_values;
    f->dtypes = f->few_dtypes;
    if (n <= FEW) return NULL;
    f->shapes = mica_alloc(n * (sizeof *f->shapes + sizeof *f->values + sizeof *f->dtypes));
    if (!f->shapes) return MICA_NO_MEMORY();
    f->values = (mica_tf_value *)(f->shapes + n);
    f->dtypes = (mica_tf_dtype *)(f->values + n);
    return NULL;
}

static void free_room(facts *f) {
    if (f->shapes != f->few_shapes) mica_free(f->shapes);
}

static mica_status breaks_promise(const mica_tf_op_info *info, int32_t i, const char *given,
                                  const char *promised) {
    return MICA_ERROR(MICA_INTERNAL, "[%s] result %d is %s where %s was promised", info->name, i,
                      given, promised);
}

static mica_status check_shape(const mica_tf_op_info *info, int32_t i, const mica_tf_shape *given,
                               const mica_tf_shape *promised) {
    mica_tf_shape both;
    if (mica_tf_shape_merge(given, promised, &both)) return NULL;
    return breaks_promise(info, i, mica_tf_shape_text(given).chars,
                          mica_tf_shape_text(promised).chars);
}

static mica_status check_dtype(const mica_tf_op_info *info, int32_t i, mica_tf_dtype given,
                               mica_tf_dtype promised) {
    if (given == promised) return NULL;
    return MICA_INVALID("[%s] result %d is a %s where the attributes say %s", info->name, i,
                        mica_tf_dtype_text(given), mica_tf_dtype_text(promised));
}

/* ---- lowering ---------------------------------------------------------------------------------*/

static mica_status gather_facts(const mica_tf_lowering *c, facts *f) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const mica_type *type = mica_tf_type(c, i);
        if (!type) MICA_TRY(mica_tf_check_input(c->operation, i, MICA_TF_resource));
        f->shapes[i] = type ? mica_tf_shape_of(type) : (mica_tf_shape){.rank = 0};
        f->dtypes[i] = type ? mica_tf_dtype_of_core(type->dtype) : MICA_TF_resource;
        f->values[i] = (mica_tf_value){f->dtypes[i], c->constants ? c->constants[i] : NULL};
    }
    return NULL;
}

static mica_status infer_again(mica_tf_lowering *c, facts *f) {
    MICA_TRY(gather_facts(c, f));
    mica_tf_inference inference = {.info = c->info,
                                   .attrs = c->attrs,
                                   .n_inputs = c->n_inputs,
                                   .n_outputs = c->n_outputs,
                                   .dtypes = f->dtypes,
                                   .inputs = f->shapes,
                                   .outputs = f->shapes + c->n_inputs,
                                   .values = f->values};
    MICA_TRY(mica_tf_infer(&inference, c->operation->op));
    c->shapes = inference.outputs;
    return NULL;
}

static mica_status check_results(const mica_tf_lowering *c) {
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    int32_t n = mica_tf_output_dtypes(c->info, c->attrs, dtypes, MICA_TF_MAX_VALUES);
    for (int32_t i = 0; i < c->n_outputs && i < n; i++) {
        const mica_type *type = mica_value_type(c->outputs[i]);
        if (!type) continue; /* a handle, or an error that is known already */
        MICA_TRY(check_dtype(c->info, i, mica_tf_dtype_of_core(type->dtype), dtypes[i]));
        mica_tf_shape shape = mica_tf_shape_of(type);
        MICA_TRY(check_shape(c->info, i, &shape, &c->shapes[i]));
    }
    return NULL;
}

void mica_tf_lower(mica_tf_lowering *c) {
    mica_tf_lower_function lower = mica_tf_rows[c->operation->op].lower;
    facts f;
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = MICA_NULL_VALUE;
    mica_status status = lower ? make_room(&f, c->n_inputs, c->n_outputs)
                               : MICA_INVALID("[%s] runs on the host only", c->info->name);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    status = infer_again(c, &f);
    if (!status) {
        lower(c);
        mica_tf_lower_checks(c);
        status = check_results(c);
    }
    if (status)
        mica_graph_fail(c->g, status);
    else
        mica_tf_remember(c);
    c->shapes = NULL;
    free_room(&f);
}

/* ---- on the host ------------------------------------------------------------------------------*/

static mica_status infer_host(mica_tf_op op, const mica_tf_host *c, facts *f) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_tf_value_shape(c->inputs[i], &f->shapes[i]);
        f->dtypes[i] = c->inputs[i].dtype;
    }
    mica_tf_inference inference = {.info = c->info,
                                   .attrs = c->attrs,
                                   .n_inputs = c->n_inputs,
                                   .n_outputs = c->n_outputs,
                                   .dtypes = f->dtypes,
                                   .inputs = f->shapes,
                                   .outputs = f->shapes + c->n_inputs,
                                   .values = c->inputs};
    return mica_tf_infer(&inference, op);
}

static mica_status check_inputs(mica_tf_op op, const mica_tf_host *c) {
    mica_tf_operation borrowed = {.op = op, .info = c->info, .attrs = (mica_tf_attr *)c->attrs};
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!c->inputs[i].object)
            return MICA_INVALID("[%s] input %d has no value", c->info->name, i);
        if (!mica_tf_is_core(c->inputs[i].dtype))
            MICA_TRY(mica_tf_check_input(&borrowed, i, c->inputs[i].dtype));
    }
    return NULL;
}

static mica_status check_made(const mica_tf_host *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (!c->outputs[i].object)
            return MICA_ERROR(MICA_INTERNAL, "[%s] result %d was not made", c->info->name, i);
        MICA_TRY(check_dtype(c->info, i, c->outputs[i].dtype, c->output_dtypes[i]));
    }
    return NULL;
}

/* For a report. */
static const char *why_on_host(mica_tf_op op, const mica_tf_host *c) {
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (!mica_tf_is_core(c->inputs[i].dtype) && c->inputs[i].dtype != MICA_TF_resource)
            return "its input is text, a list or another value that no device holds";
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (!mica_tf_is_core(c->output_dtypes[i]) && c->output_dtypes[i] != MICA_TF_resource)
            return "its result is text, a list or another value that no device holds";
    if (mica_tf_rows[op].effect == MICA_TF_RANDOM)
        return "it draws random numbers, as many as it takes";
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (c->info->attrs[i].kind == MICA_TF_FUNCTION ||
            c->info->attrs[i].kind == MICA_TF_FUNCTIONS)
            return "something in its bodies runs on the host, or shapes change in them";
    if (mica_tf_rows[op].effect != MICA_TF_PURE) return "it has an effect outside of the program";
    if (op == MICA_TF_Const) return "it makes a constant";
    return "the size of its result depends on the values of its inputs";
}

mica_status mica_tf_run_host(mica_tf_op op, mica_tf_host *c) {
    mica_tf_host_function host = mica_tf_rows[op].host;
    facts f;
    if (!host)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] cannot be computed for these dtypes",
                          c->info->name);
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = (mica_tf_value){0};
    MICA_TRY(check_inputs(op, c));
    MICA_TRY(make_room(&f, c->n_inputs, c->n_outputs));
    mica_status status = infer_host(op, c, &f);
    free_room(&f);
    bool is_timed = mica_report_is_on() || mica_trace_is_on();
    double start = is_timed ? mica_clock_seconds() : 0;
    if (!status) status = host(c);
    double seconds = is_timed ? mica_clock_seconds() - start : 0;
    if (is_timed && mica_report_is_on())
        mica_report_host(c->info->name, why_on_host(op, c), seconds);
    if (is_timed && mica_trace_is_on()) mica_trace_add("host op", c->info->name, start, seconds);
    if (!status) status = check_made(c);
    for (int32_t i = 0; status && i < c->n_outputs; i++) {
        mica_tf_value_release(c->outputs[i]);
        c->outputs[i].object = NULL;
    }
    return status;
}

/* ---- helpers of lowerings ---------------------------------------------------------------------*/

int64_t mica_tf_lowering_int(const mica_tf_lowering *c, const char *name) {
    return mica_tf_attr_find(c->info, c->attrs, name)->as.integer;
}

const char *mica_tf_lowering_string(const mica_tf_lowering *c, const char *name) {
    return mica_tf_attr_find(c->info, c->attrs, name)->as.string;
}

bool mica_tf_constant_ints(mica_tf_lowering *c, int32_t i, int64_t *out, int32_t *out_n) {
    mica_status status =
        !c->constants || !c->constants[i]
            ? MICA_ERROR(MICA_UNSUPPORTED, "[%s] the value of input %d is not known", c->info->name,
                         i)
            : mica_tf_tensor_ints(c->constants[i], out, MICA_MAX_RANK * 4, out_n);
    if (status)
        mica_graph_fail(c->g, status);
    else
        mica_tf_as_known(out, *out_n);
    return status == NULL;
}

bool mica_tf_result_dims(mica_tf_lowering *c, mica_tf_shape *out) {
    if (mica_tf_shape_is_known(&c->shapes[0])) {
        *out = c->shapes[0];
        return true;
    }
    MICA_TF_FAIL(c,
                 "[%s] the result would have shape %s: a size must be one number, and must be >= 0",
                 c->info->name, mica_tf_shape_text(&c->shapes[0]).chars);
    return false;
}
