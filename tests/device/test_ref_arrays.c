/* The reference's shape, contraction and reduction primitives, by hand-computed values. */
#include "device/ref/ref.h"
#include "test.h"

static mica_graph *graph_of(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

/* Runs a graph whose only output is `y`, and releases it. */
static void run(mica_graph *g, mica_value y, const void *const *inputs, void *out) {
    mica_output(g, y);
    CHECK_OK(mica_ref_evaluate(g, inputs, &out));
    mica_graph_release(g);
}

static bool equal(const float *a, const float *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

#define EXPECT(array, ...)                                                                         \
    CHECK(equal(array, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float)))

static const float six[6] = {1, 2, 3, 4, 5, 6};

TEST(pad_surrounds_interleaves_and_cuts) {
    float y[10], value = 9;
    mica_graph *g = graph_of("pad");
    mica_value x = parameter(g, MICA_DTYPE_f32, MICA_INTS(3));
    mica_value v = parameter(g, MICA_DTYPE_f32, MICA_NO_INTS);
    run(g, mica_pad(g, x, v, MICA_INTS(1), MICA_INTS(2), MICA_INTS(1)),
        (const void *[]){six, &value}, y);
    EXPECT(y, 9, 1, 9, 2, 9, 3, 9, 9);
    g = graph_of("cut");
    x = parameter(g, MICA_DTYPE_f32, MICA_INTS(5));
    v = parameter(g, MICA_DTYPE_f32, MICA_NO_INTS);
    run(g, mica_pad(g, x, v, MICA_INTS(-1), MICA_INTS(-2), MICA_INTS(0)),
        (const void *[]){six, &value}, y);
    EXPECT(y, 2, 3);
}

TEST(transpose_reverse_slice_and_concat_move_elements) {
    float y[9];
    const void *x_in = six;
    mica_graph *g = graph_of("transpose");
    run(g, mica_transpose(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)), MICA_INTS(1, 0)), &x_in,
        y);
    EXPECT(y, 1, 4, 2, 5, 3, 6);
    g = graph_of("reverse");
    run(g, mica_reverse(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)), MICA_INTS(1)), &x_in, y);
    EXPECT(y, 3, 2, 1, 6, 5, 4);
    g = graph_of("slice");
    run(g,
        mica_slice(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)), MICA_INTS(1, 0),
                   MICA_INTS(2, 3), MICA_INTS(1, 2)),
        &x_in, y);
    EXPECT(y, 4, 6);
    g = graph_of("concat");
    mica_value parts[2] = {parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)),
                           parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 1))};
    run(g, mica_concat(g, parts, 2, 1), (const void *[]){six, (float[]){7, 8}}, y);
    EXPECT(y, 1, 2, 3, 7, 4, 5, 6, 8);
}

TEST(broadcast_places_axes_and_stretches_ones) {
    float y[12];
    const void *x_in = six;
    mica_graph *g = graph_of("broadcast");
    run(g,
        mica_broadcast(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 1)), MICA_INTS(2, 2, 3),
                       MICA_INTS(1, 2)),
        &x_in, y);
    EXPECT(y, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
}

TEST(a_dynamic_slice_is_pushed_back_inside) {
    float y[6];
    mica_graph *g = graph_of("slice");
    mica_value x = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_value start = parameter(g, MICA_DTYPE_i32, MICA_INTS(2));
    run(g, mica_dynamic_slice(g, x, start, MICA_INTS(1, 2)),
        (const void *[]){six, (int32_t[]){-5, 2}}, y);
    EXPECT(y, 2, 3);
    g = graph_of("update");
    x = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_value update = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 2));
    start = parameter(g, MICA_DTYPE_u64, MICA_INTS(2));
    run(g, mica_dynamic_update_slice(g, x, update, start),
        (const void *[]){six, (float[]){8, 9}, (uint64_t[]){UINT64_MAX, 0}}, y);
    EXPECT(y, 1, 2, 3, 8, 9, 6);
}

TEST(iota_counts_along_its_axis) {
    float y[6];
    mica_graph *g = graph_of("iota");
    run(g, mica_iota(g, MICA_INTS(2, 3), 1, MICA_DTYPE_f32), NULL, y);
    EXPECT(y, 0, 1, 2, 0, 1, 2);
}

TEST(dot_contracts_and_batches) {
    float y[4];
    mica_graph *g = graph_of("dot");
    mica_value a = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_value b = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    run(g, mica_dot(g, a, b, MICA_INTS(1), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS),
        (const void *[]){six, six}, y);
    EXPECT(y, 14, 32, 32, 77);
    g = graph_of("batched");
    a = parameter(g, MICA_DTYPE_f32, MICA_INTS(3, 2));
    b = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    run(g, mica_dot(g, a, b, MICA_INTS(0), MICA_INTS(1), MICA_INTS(1), MICA_INTS(0)),
        (const void *[]){six, six}, y);
    EXPECT(y, 1 + 6 + 15, 8 + 20 + 36);
}

static mica_value conv(mica_graph *g, mica_value x, mica_value k, const char *layout,
                       int64_t stride, int64_t low, int64_t high, int64_t lhs, int64_t rhs,
                       int64_t groups, int64_t batch_groups) {
    return mica_conv(g, x, k, layout, MICA_INTS(stride), MICA_INTS(low), MICA_INTS(high),
                     MICA_INTS(lhs), MICA_INTS(rhs), groups, batch_groups);
}

TEST(conv_slides_strides_pads_and_dilates) {
    float y[8], k[2] = {10, 1};
    mica_graph *g = graph_of("conv");
    mica_value x = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 4, 1));
    mica_value kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 1, 1));
    run(g, conv(g, x, kernel, "N0C,0IO,N0C", 1, 0, 0, 1, 1, 1, 1), (const void *[]){six, k}, y);
    EXPECT(y, 12, 23, 34);
    g = graph_of("strided");
    x = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 1, 4));
    kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 1, 2));
    run(g, conv(g, x, kernel, "NC0,OI0,NC0", 2, 1, 0, 1, 2, 1, 1), (const void *[]){six, k}, y);
    /* padded: 0 1 2 3 4; taps two apart: 0*10+2, 2*10+4 */
    EXPECT(y, 2, 24);
    g = graph_of("dilated");
    x = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 2, 1));
    kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 1, 1));
    run(g, conv(g, x, kernel, "N0C,0IO,N0C", 1, 1, 1, 2, 1, 1, 1), (const void *[]){six, k}, y);
    /* dilated and padded: 0 1 0 2 0 */
    EXPECT(y, 1, 10, 2, 20);
}

TEST(conv_splits_channels_and_batch_into_groups) {
    float y[4], k[2] = {10, 1};
    mica_graph *g = graph_of("groups");
    mica_value x = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 2, 2));
    mica_value kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 1, 2));
    run(g, conv(g, x, kernel, "N0C,0IO,N0C", 1, 0, 0, 1, 1, 2, 1), (const void *[]){six, k}, y);
    EXPECT(y, 10, 2, 30, 4);
    g = graph_of("batch_groups");
    x = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 2, 1));
    kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(1, 1, 2));
    run(g, conv(g, x, kernel, "N0C,0IO,N0C", 1, 0, 0, 1, 1, 1, 2), (const void *[]){six, k}, y);
    /* result channel 0 reads example 0, channel 1 reads example 1 */
    EXPECT(y, 10, 3, 20, 4);
}

TEST(reductions_run_over_the_given_axes) {
    float y[6];
    const void *x_in = six;
    mica_graph *g = graph_of("sum");
    run(g, mica_reduce(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)), "sum", MICA_INTS(0)),
        &x_in, y);
    EXPECT(y, 5, 7, 9);
    g = graph_of("prod");
    run(g, mica_reduce(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3)), "prod", MICA_INTS(0, 1)),
        &x_in, y);
    EXPECT(y, 720);
}

TEST(reductions_of_nothing_give_their_identities) {
    float y[2];
    int32_t i[2];
    uint8_t b[2];
    const char *kinds[4] = {"sum", "prod", "max", "min"};
    float identities[4] = {0, 1, -INFINITY, INFINITY};
    int32_t limits[4] = {0, 1, INT32_MIN, INT32_MAX};
    const void *nothing = NULL;
    for (int k = 0; k < 4; k++) {
        mica_graph *g = graph_of(kinds[k]);
        run(g,
            mica_reduce(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 0)), kinds[k], MICA_INTS(1)),
            &nothing, y);
        CHECK(y[0] == identities[k] && y[1] == identities[k]);
        g = graph_of(kinds[k]);
        run(g,
            mica_reduce(g, parameter(g, MICA_DTYPE_i32, MICA_INTS(2, 0)), kinds[k], MICA_INTS(1)),
            &nothing, i);
        CHECK(i[0] == limits[k]);
    }
    mica_graph *g = graph_of("and");
    run(g, mica_reduce(g, parameter(g, MICA_DTYPE_bool, MICA_INTS(0)), "and", MICA_INTS(0)),
        &nothing, b);
    CHECK(b[0] == 1);
    g = graph_of("or");
    run(g, mica_reduce(g, parameter(g, MICA_DTYPE_bool, MICA_INTS(0)), "or", MICA_INTS(0)),
        &nothing, b);
    CHECK(b[0] == 0);
}

TEST(max_and_min_over_an_axis_keep_nan) {
    float x[4] = {1, NAN, 2, -INFINITY}, y[2];
    const void *x_in = x;
    mica_graph *g = graph_of("max");
    run(g, mica_reduce(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 2)), "max", MICA_INTS(1)),
        &x_in, y);
    CHECK(isnan(y[0]) && y[1] == 2);
}

TEST(argmax_takes_the_first_of_equals_and_nan_before_all) {
    float x[8] = {1, 3, 3, 2, 5, NAN, NAN, 9};
    int32_t y[2];
    const void *x_in = x;
    mica_graph *g = graph_of("argmax");
    run(g, mica_argmax(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 4)), 1, MICA_DTYPE_i32), &x_in,
        y);
    CHECK(y[0] == 1 && y[1] == 1);
    g = graph_of("argmin");
    run(g, mica_argmin(g, parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 4)), 1, MICA_DTYPE_i32), &x_in,
        y);
    CHECK(y[0] == 0 && y[1] == 1);
}
