/* Three ways to compute, the same bits: built-in kernels, generated ones of one node each, and
 * generated ones of fused nodes. Cases of all dtypes, with their vjp, are put side by side into few
 * graphs, so that the C compiler runs few times. In builds with planted faults (base/plant.h) every
 * pass's fault has to show. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/passes.h"
#include "support/same_bits.h"

enum { MOST_CASES = 2000, MOST_PARTS = 400, MOST_VALUES = 4096, ELEMENTS = 67 };

static const op_case *cases[MOST_CASES];
static int32_t n_cases;

/* Parts are computations that share a graph and nothing else. */
static struct {
    mica_device *device;
    mica_graph *g;
    char titles[MOST_PARTS][120];
    int32_t n_parts, n_inputs, n_outputs;
    int32_t part_of[MOST_VALUES]; /* by output */
    mica_tensor *inputs[MOST_VALUES], *expected[MOST_VALUES], *got[MOST_VALUES];
} batch;

void check_modes(const op_case *c) {
    if (c->flags & OPAQUE) return; /* calls the host, which may count its calls */
    if (harness_quick && (c->flags & LARGE)) return;
    if (n_cases < MOST_CASES)
        cases[n_cases++] = c;
    else
        harness_fail("more than %d cases: raise MOST_CASES", MOST_CASES);
}

/* ---- a batch ----------------------------------------------------------------------------------*/

static void begin_batch(void) {
    batch.n_parts = batch.n_inputs = batch.n_outputs = 0;
    if (!harness_ok(mica_graph_create("modes", &batch.g), "modes")) exit(3);
}

static void end_batch(void) {
    for (int32_t i = 0; i < batch.n_inputs; i++) mica_tensor_release(batch.inputs[i]);
    for (int32_t i = 0; i < batch.n_outputs; i++) mica_tensor_release(batch.expected[i]);
    mica_graph_release(batch.g);
}

/* f on these inputs, which it uses up. */
static void add_part(const mica_graph *f, arrays *inputs, const char *title) {
    mica_value in[MOST_ARRAYS], out[MOST_ARRAYS];
    if (harness_ok(mica_graph_check(f), title)) {
        for (int32_t i = 0; i < inputs->n; i++) {
            const array *a = &inputs->items[i];
            in[i] = mica_parameter(batch.g, &a->type);
            harness_ok(mica_tensor_from_host(batch.device, &a->type, a->data,
                                             &batch.inputs[batch.n_inputs++]),
                       title);
        }
        mica_inline(batch.g, f, in, inputs->n, out);
        for (int32_t i = 0; i < f->n_outputs; i++) {
            if (mica_value_type(f->outputs[i])->kind != MICA_TENSOR) continue;
            mica_output(batch.g, out[i]);
            batch.part_of[batch.n_outputs++] = batch.n_parts;
        }
        snprintf(batch.titles[batch.n_parts++], sizeof *batch.titles, "%s", title);
        harness_count();
    }
    arrays_free(inputs);
}

static bool is_full(void) {
    return batch.n_parts + 2 > MOST_PARTS || batch.n_inputs + 2 * MOST_ARRAYS > MOST_VALUES ||
           batch.n_outputs + 2 * MOST_ARRAYS > MOST_VALUES;
}

static bool has_tensors_only(const mica_graph *f) {
    for (int32_t i = 0; i < f->n_parameters; i++)
        if (mica_value_type(f->parameters[i])->kind != MICA_TENSOR) return false;
    return f->n_parameters > 0;
}

/* Elementwise ops get one vector and a rest of elements, infinities and NaN among them. */
static void add_case(const op_case *c, mica_dtype dtype) {
    char title[120];
    op_case varied = *c;
    mica_op_class class = mica_op_class_of(c->op);
    mica_type types[MOST_OPERANDS];
    random_state r = case_random(c, "modes");
    case_types(c, dtype, types);
    if ((class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE) && !c->build &&
        !(c->flags & AS_GIVEN)) {
        varied.flags |= SPRINKLED;
        for (int32_t i = 0; i < c->n_operands; i++)
            types[i] = mica_type_make(types[i].dtype, MICA_INTS(ELEMENTS));
    }
    mica_graph *f = case_graph(c, dtype, types), *vjp = NULL;
    if (f && has_tensors_only(f)) {
        for (int32_t i = 0; i < c->n_operands; i++) types[i] = *mica_value_type(f->parameters[i]);
        arrays inputs = draw_operands(&varied, types, c->n_operands, &r);
        snprintf(title, sizeof title, "%s %s", case_title(c), mica_dtype_name(dtype));
        add_part(f, &inputs, title);
        mica_type type = mica_type_scalar(dtype);
        if (is_float(&type) && !(c->flags & LARGE)) vjp = vjp_graph(f);
    }
    if (vjp && vjp->n_parameters > c->n_operands && vjp->n_outputs > 0) {
        arrays inputs = draw_operands(&varied, types, c->n_operands, &r);
        for (int32_t i = c->n_operands; i < vjp->n_parameters; i++)
            inputs.items[inputs.n++] = draw_direction(mica_value_type(vjp->parameters[i]), &r);
        snprintf(title, sizeof title, "vjp of %s %s", case_title(c), mica_dtype_name(dtype));
        add_part(vjp, &inputs, title);
    }
    mica_graph_release(vjp);
    mica_graph_release(f);
}

/* ---- the modes --------------------------------------------------------------------------------*/

static mica_status run_batch(mica_tier tier, const char *passes, mica_tensor **out,
                             bool *out_generated) {
    mica_compile_options options = {.size = sizeof options, .passes = passes, .tier = tier};
    mica_executable *exe = NULL;
    MICA_TRY(mica_executable_create(batch.device, batch.g, &options, &exe));
    *out_generated = mica_executable_is_generated(exe);
    mica_run_args args = {.size = sizeof args,
                          .inputs = batch.inputs,
                          .n_inputs = batch.n_inputs,
                          .outputs = out,
                          .n_outputs = batch.n_outputs};
    mica_status status = mica_executable_run(exe, &args, NULL);
    if (!status) status = mica_device_wait(batch.device);
    mica_executable_release(exe);
    return status;
}

/* How many results differ from the expected ones; `mode` is named in reports, NULL: none. */
static int32_t count_differences(const char *mode) {
    int32_t differences = 0;
    for (int32_t i = 0; i < batch.n_outputs; i++) {
        bool same = same_tensor(batch.expected[i], batch.got[i]);
        differences += !same;
        if (!same && mode)
            harness_fail("%s: output %d has other bits than on built-in kernels, %s",
                         batch.titles[batch.part_of[i]], i, mode);
        mica_tensor_release(batch.got[i]);
        batch.got[i] = NULL;
    }
    return differences;
}

static void expect_same(const char *passes, const char *mode) {
    bool generated = false;
    if (harness_ok(run_batch(MICA_TIER_COMPILED, passes, batch.got, &generated), mode))
        count_differences(mode);
}

#ifdef MICA_PLANT
enum { MOST_FAULTS = 16 };
static bool noticed[MOST_FAULTS];

static const char *fault_name(int i) {
    int n = 0;
    while (mica_passes[n].name) n++;
    return i < n ? mica_passes[i].name : i == n ? "plan" : i == n + 1 ? "emit" : NULL;
}

/* An error, or other bits: either is noticed. */
static void plant_faults(void) {
    for (int i = 0; fault_name(i); i++) {
        bool generated;
        if (noticed[i]) continue;
        setenv("MICA_PLANT", fault_name(i), 1);
        mica_status status = run_batch(MICA_TIER_COMPILED, NULL, batch.got, &generated);
        noticed[i] = count_differences(NULL) > 0 || status;
        mica_status_release(status);
        unsetenv("MICA_PLANT");
    }
}

static void expect_all_noticed(void) {
    for (int i = 0; fault_name(i); i++)
        if (!noticed[i]) harness_fail("the fault in %s changed no result", fault_name(i));
}
#else
static void plant_faults(void) {}
static void expect_all_noticed(void) {}
#endif

static void run_modes(void) {
    bool generated;
    if (batch.n_outputs > 0 &&
        harness_ok(run_batch(MICA_TIER_BUILT_IN, NULL, batch.expected, &generated), "built-in")) {
        expect_same("-fuse", "compiled without fusion");
        expect_same(NULL, "compiled");
        plant_faults();
    }
}

static bool can_generate(void) {
    bool generated = false;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(8));
    begin_batch();
    mica_value x = mica_parameter(batch.g, &type);
    mica_output(batch.g, mica_add(batch.g, mica_mul(batch.g, x, x), x));
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_COMPILED};
    if (harness_ok(mica_executable_create(batch.device, batch.g, &options, &exe), "modes"))
        generated = mica_executable_is_generated(exe);
    mica_executable_release(exe);
    end_batch();
    return generated;
}

static bool is_wanted(const op_case *c, mica_dtype dtype) {
    if (!case_takes(c, dtype)) return false;
    bool usual = dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_i32 || dtype == MICA_DTYPE_c64;
    return usual || (!harness_quick && !(c->flags & LARGE));
}

void finish_modes(bool all) {
    if (n_cases == 0 || !harness_ok(mica_device_open("cpu", &batch.device), "modes")) return;
    const char *wanted = getenv("MICA_CC");
    setenv("MICA_CC", "cc -O1", 0); /* quick; test_modes.c has code as it is optimized always */
    if (!can_generate()) {
        printf("modes: no C compiler makes code for this machine\n");
        n_cases = 0;
        all = false;
    }
    begin_batch();
    for (int32_t i = 0; i < n_cases; i++)
        for (int d = 0; d < MICA_DTYPE_COUNT; d++) {
            if (!is_wanted(cases[i], (mica_dtype)d)) continue;
            add_case(cases[i], (mica_dtype)d);
            if (!is_full()) continue;
            run_modes();
            end_batch();
            begin_batch();
        }
    run_modes();
    end_batch();
    if (all) expect_all_noticed();
    if (!wanted) unsetenv("MICA_CC");
    mica_device_release(batch.device);
}
