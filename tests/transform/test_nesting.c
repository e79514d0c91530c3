/* Random programs of two numbers, with regions in regions: scan, while with a trip count that
 * depends on the data, cond, case, call, call with a vjp, custom gradient, remat. For each: the
 * gradient against differences, all second derivatives against each other and differences, vmap of
 * it all against a loop, gradient of vmap. */
#include "calculus.h"
#include "mica/mica.h"

static uint32_t seed;
static uint32_t pick(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 10) % n;
}

/* (w, x) -> y, bounded */
static mica_graph *random_function(int depth);

static mica_value smooth(mica_graph *g, mica_value w, mica_value x) {
    switch (pick(5)) {
    case 0: return mica_sin(g, mica_add(g, mica_mul(g, w, x), number(g, 0.3)));
    case 1: return mica_tanh(g, mica_sub(g, mica_mul(g, x, x), w));
    case 2: return mica_mul(g, mica_logistic(g, w), mica_cos(g, x));
    case 3: return mica_mul(g, mica_sin(g, w), x);
    default: return mica_add(g, mica_mul(g, number(g, 0.5), x), mica_tanh(g, w));
    }
}

/* n steps of a body from x; sometimes with the steps stacked, and an xs that depends on w */
static mica_value random_scan(mica_graph *g, mica_value w, mica_value x, int depth) {
    mica_graph *inner = random_function(depth), *step = new_graph("step");
    mica_value p[] = {scalar_parameter(step), scalar_parameter(step)}, s = scalar_parameter(step),
               y;
    mica_inline(step, inner, p, 2, &y);
    y = mica_add(step, y, mica_mul(step, number(step, 0.1), s));
    mica_output(step, y);
    mica_output(step, mica_mul(step, y, s));
    mica_value xs = mica_mul(g, mica_iota(g, MICA_INTS(3), 0, MICA_DTYPE_f64),
                             mica_broadcast_to(g, mica_sin(g, w), MICA_INTS(3)));
    mica_value operands[] = {w, x, xs}, out[2];
    mica_scan(g, step, operands, 3, 1, 1, 3, pick(2), out);
    mica_graph_release(inner);
    mica_graph_release(step);
    if (pick(2)) return out[0];
    return mica_add(g, out[0], mica_sum(g, out[1], MICA_INTS(0)));
}

/* 1 + floor(3 logistic(5 x)) steps */
static mica_value random_while(mica_graph *g, mica_value w, mica_value x, int depth) {
    mica_graph *inner = random_function(depth), *body = new_graph("body");
    mica_graph *condition = new_graph("condition");
    scalar_parameter(condition);
    mica_value limit = scalar_parameter(condition);
    scalar_parameter(condition);
    mica_output(condition, mica_compare(condition, scalar_parameter(condition), limit, "lt"));
    mica_value p[] = {scalar_parameter(body), MICA_NULL_VALUE}, y;
    scalar_parameter(body);
    p[1] = scalar_parameter(body);
    mica_value i = scalar_parameter(body);
    mica_inline(body, inner, p, 2, &y);
    mica_output(body, y);
    mica_output(body, mica_add(body, i, number(body, 1)));
    mica_value steps = mica_mul(g, number(g, 3), mica_logistic(g, mica_mul(g, number(g, 5), x)));
    mica_value operands[] = {w, mica_floor(g, mica_add(g, steps, number(g, 1))), x, number(g, 0)};
    mica_value out[2];
    mica_while(g, condition, body, operands, 4, 2, out);
    mica_graph_release(inner);
    mica_graph_release(body);
    mica_graph_release(condition);
    return out[0];
}

static mica_value random_branches(mica_graph *g, mica_value w, mica_value x, int depth) {
    mica_graph *regions[] = {random_function(depth), random_function(depth),
                             random_function(depth)};
    mica_value p[] = {w, x}, y;
    if (pick(2)) {
        mica_cond(g, mica_compare(g, x, number(g, 0.1), "gt"), regions[0], regions[1], p, 2, &y);
    } else {
        mica_value index = mica_convert(g, mica_mul(g, number(g, 4), x), MICA_DTYPE_i32);
        mica_case(g, index, regions, 3, p, 2, &y);
    }
    for (int i = 0; i < 3; i++) mica_graph_release(regions[i]);
    return y;
}

/* (w, x, y, dy) -> (dw, dx), made of f itself, so that it is right */
static mica_graph *vjp_of(const mica_graph *f) {
    mica_graph *g = new_graph("vjp");
    mica_value p[] = {scalar_parameter(g), scalar_parameter(g)}, y, d[2];
    scalar_parameter(g);
    mica_value dy = scalar_parameter(g);
    mica_inline(g, f, p, 2, &y);
    mica_vjp(g, &y, &dy, 1, p, 2, d);
    for (int i = 0; i < 2; i++) mica_output(g, mica_value_is_null(d[i]) ? number(g, 0) : d[i]);
    return g;
}

static mica_value random_call(mica_graph *g, mica_value w, mica_value x, int depth) {
    mica_graph *f = random_function(depth), *vjp = NULL;
    mica_value p[] = {w, x}, y;
    switch (pick(4)) {
    case 0: mica_call(g, "f", "", f, NULL, NULL, p, 2, &y); break;
    case 1:
        vjp = vjp_of(f);
        mica_call(g, "f", "", f, "f_vjp", vjp, p, 2, &y);
        break;
    case 2:
        vjp = vjp_of(f);
        mica_custom_gradient(g, f, vjp, p, 2, &y);
        break;
    default: mica_remat(g, f, p, 2, &y); break;
    }
    mica_graph_release(f);
    mica_graph_release(vjp);
    return y;
}

static mica_graph *random_function(int depth) {
    mica_graph *g = new_graph("f");
    mica_value w = scalar_parameter(g), x = scalar_parameter(g);
    x = smooth(g, w, x);
    if (depth > 0) {
        switch (pick(4)) {
        case 0: x = random_scan(g, w, x, depth - 1); break;
        case 1: x = random_while(g, w, x, depth - 1); break;
        case 2: x = random_branches(g, w, x, depth - 1); break;
        default: x = random_call(g, w, x, depth - 1); break;
        }
        x = smooth(g, w, x);
    }
    mica_output(g, x);
    return g;
}

/* (w, x) -> y, dw, dx, and d2/dw2, d2/dwdx three ways each, and the tangent by w */
#define RESULTS 10
static mica_graph *derivatives_of(const mica_graph *f) {
    mica_graph *g = new_graph("derivatives");
    mica_value p[] = {scalar_parameter(g), scalar_parameter(g)}, y, d[2], dd[2];
    mica_value one = number(g, 1);
    mica_inline(g, f, p, 2, &y);
    mica_gradient(g, y, p, 2, d);
    mica_gradient(g, d[0], p, 2, dd);
    mica_value forward = tangent(g, y, p[0], one), forward_back[2];
    mica_value over = tangent(g, d[0], p[0], one), mixed = tangent(g, d[0], p[1], one);
    if (mica_value_is_null(forward)) forward = number(g, 0);
    mica_gradient(g, forward, p, 2, forward_back);
    mica_value out[RESULTS] = {y,       d[0], d[1],  dd[0],           dd[1],
                               forward, over, mixed, forward_back[0], forward_back[1]};
    for (int i = 0; i < RESULTS; i++)
        mica_output(g, mica_value_is_null(out[i]) ? number(g, 0) : out[i]);
    return g;
}

static bool run(const mica_graph *g, double w, double x, double *d) {
    const void *in[] = {&w, &x};
    void *out[RESULTS];
    for (int i = 0; i < RESULTS; i++) out[i] = &d[i];
    return test_ok(mica_ref_evaluate(g, in, out), __FILE__, __LINE__, "evaluate");
}

static void near(uint32_t program, const char *what, double got, double want, double tolerance) {
    test_checks++;
    if (fabs(got - want) <= tolerance * (1 + fabs(want))) return;
    test_report(__FILE__, __LINE__, "program %u, %s: %.12g, not %.12g", program, what, got, want);
}

static void check_at(const mica_graph *g, uint32_t program, double w, double x) {
    double d[RESULTS], above[RESULTS], below[RESULTS], h = 1e-6;
    if (!run(g, w, x, d)) return;
    near(program, "forward", d[5], d[1], 1e-11);
    near(program, "forward over reverse", d[6], d[3], 1e-10);
    near(program, "forward over reverse, mixed", d[7], d[4], 1e-10);
    near(program, "reverse over forward", d[8], d[3], 1e-10);
    near(program, "reverse over forward, mixed", d[9], d[4], 1e-10);
    run(g, w + h, x, above);
    run(g, w - h, x, below);
    near(program, "dw", d[1], (above[0] - below[0]) / (2 * h), 1e-6);
    near(program, "d2w", d[3], (above[1] - below[1]) / (2 * h), 1e-5);
    run(g, w, x + h, above);
    run(g, w, x - h, below);
    near(program, "dx", d[2], (above[0] - below[0]) / (2 * h), 1e-6);
    near(program, "dwdx", d[4], (above[1] - below[1]) / (2 * h), 1e-5);
}

#define BATCH 4
static const double ws[BATCH] = {0.71, -0.43, 0.29, 1.13},
                    points[BATCH] = {0.37, -0.61, 0.83, 0.05};

/* w mapped or shared, x mapped */
static void check_batch(const mica_graph *g, uint32_t program, bool shared) {
    int32_t in_axes[] = {shared ? MICA_UNMAPPED : 0, 0}, out_axes[RESULTS] = {0};
    mica_graph *batched = NULL;
    CHECK_OK(mica_vmap(g, in_axes, out_axes, BATCH, NULL, &batched));
    double got[RESULTS][BATCH], want[RESULTS];
    const void *in[] = {ws, points};
    void *out[RESULTS];
    for (int i = 0; i < RESULTS; i++) out[i] = got[i];
    bool ran = batched && EVALUATE(batched, in, out);
    for (int b = 0; ran && b < BATCH; b++) {
        run(g, ws[shared ? 0 : b], points[b], want);
        for (int i = 0; i < RESULTS; i++)
            near(program, shared ? "vmap by x" : "vmap", got[i][b], want[i], 1e-11);
    }
    mica_graph_release(batched);
}

static void check_gradient_of_batch(const mica_graph *f, const mica_graph *derivatives,
                                    uint32_t program) {
    const int32_t in_axes[] = {MICA_UNMAPPED, 0}, out_axes[] = {0};
    mica_graph *batched = NULL, *g = new_graph("whole");
    CHECK_OK(mica_vmap(f, in_axes, out_axes, BATCH, NULL, &batched));
    mica_value p[] = {scalar_parameter(g), vector_parameter(g, BATCH)}, ys = MICA_NULL_VALUE, d[2];
    if (batched) mica_inline(g, batched, p, 2, &ys);
    mica_gradient(g, mica_sum(g, ys, MICA_INTS(0)), p, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    double dw = NAN, dx[BATCH], want[RESULTS], total = 0;
    const void *in[] = {ws, points};
    void *out[] = {&dw, dx};
    bool ran = batched && EVALUATE(g, in, out);
    for (int b = 0; ran && b < BATCH; b++) {
        run(derivatives, ws[0], points[b], want);
        total += want[1];
        near(program, "gradient of vmap by x", dx[b], want[2], 1e-11);
    }
    if (ran) near(program, "gradient of vmap by w", dw, total, 1e-11);
    mica_graph_release(g);
    mica_graph_release(batched);
}

TEST(random_nests_of_regions_have_right_derivatives) {
    uint32_t programs = getenv("MICA_TEST_SOAK") ? 1000 : 60;
    for (uint32_t program = 0; program < programs; program++) {
        seed = program * 2654435761u + 12345u;
        int before = test_failures;
        mica_graph *f = random_function(program % 4 + (program > 200));
        mica_graph *g = derivatives_of(f);
        CHECK_OK(mica_graph_verify(g));
        for (int b = 0; b < BATCH; b++) check_at(g, program, ws[b], points[b]);
        check_batch(g, program, false);
        check_batch(g, program, true);
        check_gradient_of_batch(f, g, program);
        mica_graph_release(g);
        mica_graph_release(f);
        if (test_failures > before + 3) break;
    }
}

/* ---- on a device with a planner
 * ----------------------------------------------------------------*/

static mica_status run_on(mica_device *device, const mica_graph *g, double w, double x, double *d) {
    mica_executable *executable = NULL;
    mica_tensor *in[2] = {NULL}, *out[RESULTS] = {NULL};
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f64);
    mica_status status = mica_executable_create(device, g, NULL, &executable);
    if (!status) status = mica_tensor_from_host(device, &scalar, &w, &in[0]);
    if (!status) status = mica_tensor_from_host(device, &scalar, &x, &in[1]);
    mica_run_args args = {
        .size = sizeof args, .inputs = in, .n_inputs = 2, .outputs = out, .n_outputs = RESULTS};
    if (!status) status = mica_executable_run(executable, &args, NULL);
    for (int i = 0; i < RESULTS && !status; i++)
        status = mica_tensor_to_host(out[i], &d[i], sizeof d[i]);
    for (int i = 0; i < RESULTS; i++) mica_tensor_release(out[i]);
    for (int i = 0; i < 2; i++) mica_tensor_release(in[i]);
    mica_executable_release(executable);
    return status;
}

TEST(nests_and_their_derivatives_run_on_cpu_as_on_the_reference) {
    mica_device *cpu = NULL;
    REQUIRE_OK(mica_device_open("cpu", &cpu));
    for (uint32_t program = 0; program < 40; program++) {
        seed = program * 2654435761u + 12345u;
        mica_graph *f = random_function(program % 4), *g = derivatives_of(f);
        double want[RESULTS], got[RESULTS];
        run(g, ws[0], points[0], want);
        if (test_ok(run_on(cpu, g, ws[0], points[0], got), __FILE__, __LINE__, "run"))
            for (int i = 0; i < RESULTS; i++) near(program, "cpu", got[i], want[i], 1e-11);
        mica_graph_release(g);
        mica_graph_release(f);
    }
    mica_device_release(cpu);
}
