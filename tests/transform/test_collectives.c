/* Collectives: derivatives taken before the axis is bound are those taken after it; other axes;
 * operands that all participants share; errors. */
#include "calculus.h"

enum { WHO = 3, SIZE = 6, MOST = WHO * SIZE * WHO };

typedef mica_value (*collective)(mica_graph *g, mica_value x);

static mica_value gathered(mica_graph *g, mica_value x) {
    return mica_all_gather(g, x, "axis", WHO, 0);
}
static mica_value scattered_sum(mica_graph *g, mica_value x) {
    return mica_reduce_scatter(g, x, "sum", "axis", WHO, 0);
}
static mica_value scattered_max(mica_graph *g, mica_value x) {
    return mica_reduce_scatter(g, x, "max", "axis", WHO, 0);
}
static mica_value permuted(mica_graph *g, mica_value x) {
    return mica_permute(g, x, "axis", WHO, MICA_INTS(0, 2), MICA_INTS(2, 1));
}
static mica_value sent(mica_graph *g, mica_value x) {
    return mica_broadcast_from(g, x, "axis", WHO, 1);
}
static mica_value added(mica_graph *g, mica_value x) {
    return mica_all_reduce(g, x, "sum", "axis");
}
static const collective collectives[] = {gathered, scattered_sum, scattered_max,
                                         permuted, sent,          added};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

static mica_graph *over_axis(const mica_graph *f, const int32_t *in, const int32_t *out,
                             int64_t size, const char *axis) {
    mica_graph *g = NULL;
    CHECK_OK(mica_vmap(f, in, out, size, axis, &g));
    return g;
}

/* (x, ct) -> cotangent of x, tangent of the result along x. The result is op(x) x. */
static void add_derivatives(mica_graph *g, mica_value x, mica_value y, mica_value ct) {
    mica_value out;
    mica_vjp(g, &y, &ct, 1, &x, 1, &out);
    mica_output(g, out);
    mica_output(g, tangent(g, y, x, x));
}

static int64_t result_size(collective op) {
    mica_graph *g = new_graph("size");
    const mica_type *type = mica_value_type(op(g, vector_parameter(g, SIZE)));
    int64_t size = type ? type->dims[0] : 0;
    mica_graph_release(g);
    return size;
}

static mica_value curved(mica_graph *g, collective op, mica_value x) {
    return mica_sin(g, op(g, mica_mul(g, x, x)));
}

TEST(derivatives_commute_with_binding_the_axis) {
    const int32_t axes[] = {0, 0};
    for (int i = 0; i < COLLECTIVES; i++) {
        int64_t size = result_size(collectives[i]);
        mica_graph *before = new_graph("before"), *after = new_graph("after"), *f = new_graph("f");
        mica_value x = vector_parameter(before, SIZE), ct = vector_parameter(before, size);
        add_derivatives(before, x, curved(before, collectives[i], x), ct);
        mica_graph *one = over_axis(before, axes, axes, WHO, "axis");

        mica_output(f, curved(f, collectives[i], vector_parameter(f, SIZE)));
        mica_graph *bound = over_axis(f, axes, axes, WHO, "axis");
        mica_type wide = f64_type(MICA_INTS(WHO, SIZE)), result = f64_type(MICA_INTS(WHO, size));
        mica_value y, parameters[] = {mica_parameter(after, &wide), mica_parameter(after, &result)};
        mica_inline(after, bound, parameters, 1, &y);
        add_derivatives(after, parameters[0], y, parameters[1]);

        double at[WHO * SIZE], weights[MOST], got[2][MOST], want[2][MOST];
        for (int k = 0; k < WHO * SIZE; k++) at[k] = 0.3 + 0.07 * (k * 7 % 18);
        for (int k = 0; k < MOST; k++) weights[k] = 0.5 - 0.11 * (k % 13);
        const void *in[] = {at, weights};
        EVALUATE(one, in, ((void *[]){got[0], got[1]}));
        EVALUATE(after, in, ((void *[]){want[0], want[1]}));
        for (int k = 0; k < WHO * SIZE; k++) CHECK_NEAR(got[0][k], want[0][k], 1e-14);
        for (int k = 0; k < WHO * size; k++) CHECK_NEAR(got[1][k], want[1][k], 1e-14);
        mica_graph *graphs[] = {before, after, f, one, bound};
        for (int k = 0; k < 5; k++) mica_graph_release(graphs[k]);
    }
}

/* Mapped over another axis first: every example has its own. */
TEST(collectives_over_another_axis_keep_their_dims) {
    const int32_t axes[] = {0}, last[] = {1};
    for (int i = 0; i < COLLECTIVES; i++) {
        int64_t size = result_size(collectives[i]);
        mica_graph *f = new_graph("f");
        mica_output(f, collectives[i](f, vector_parameter(f, SIZE)));
        mica_graph *inner = over_axis(f, axes, last, 2, "other");
        mica_graph *outer = over_axis(inner, axes, axes, WHO, "axis");
        mica_graph *plain = over_axis(f, axes, axes, WHO, "axis");
        double at[WHO * 2 * SIZE], one[WHO * SIZE], got[2 * MOST], want[MOST];
        for (int k = 0; k < WHO * 2 * SIZE; k++) at[k] = k * 11 % 36;
        EVALUATE_1(outer, at, got);
        for (int b = 0; b < 2; b++) {
            for (int w = 0; w < WHO; w++)
                for (int k = 0; k < SIZE; k++) one[w * SIZE + k] = at[(2 * w + b) * SIZE + k];
            EVALUATE_1(plain, one, want);
            for (int64_t k = 0; k < WHO * size; k++) CHECK_NEAR(got[2 * k + b], want[k], 0);
        }
        mica_graph *graphs[] = {f, inner, outer, plain};
        for (int k = 0; k < 4; k++) mica_graph_release(graphs[k]);
    }
}

/* What is the same for all participants is as if each had a copy. */
TEST(operands_that_participants_share) {
    const int32_t shared[] = {MICA_UNMAPPED}, mapped[] = {0};
    for (int i = 0; i < COLLECTIVES; i++) {
        int64_t size = result_size(collectives[i]);
        mica_graph *f = new_graph("f");
        mica_output(f, collectives[i](f, vector_parameter(f, SIZE)));
        mica_graph *a = over_axis(f, shared, mapped, WHO, "axis");
        mica_graph *b = over_axis(f, mapped, mapped, WHO, "axis");
        double at[WHO * SIZE], got[MOST], want[MOST];
        for (int k = 0; k < WHO * SIZE; k++) at[k] = k % SIZE + 1;
        EVALUATE_1(a, at, got);
        EVALUATE_1(b, at, want);
        for (int64_t k = 0; k < WHO * size; k++) CHECK_NEAR(got[k], want[k], 0);
        mica_graph_release(f);
        mica_graph_release(a);
        mica_graph_release(b);
    }
}

TEST(an_axis_of_another_size_is_refused) {
    const int32_t axes[] = {0};
    for (int i = 0; i < COLLECTIVES - 1; i++) {
        mica_graph *f = new_graph("f"), *g = NULL;
        mica_output(f, collectives[i](f, vector_parameter(f, SIZE)));
        CHECK_FAILS(mica_vmap(f, axes, axes, 4, "axis", &g), MICA_INVALID_ARGUMENT,
                    "axis 'axis' has 4 participants, not 3");
        double at[SIZE] = {0}, out[SIZE * WHO];
        const void *in[] = {at};
        void *results[] = {out};
        CHECK_FAILS(mica_ref_evaluate(f, in, results), MICA_INVALID_ARGUMENT,
                    "axis 'axis' is not bound");
        mica_graph_release(f);
    }
}
