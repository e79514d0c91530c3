/* What no golden value shows: randomness, values that are not finite, shapes, composites as nodes.
 */
#include "mica/nn.h"
#include "support/golden_runs.h"
#include "test.h"

static const double nan_value = NAN, infinite = INFINITY;

/* A graph under test: parameters are added with their numbers, then it is run once. */
typedef struct sheet {
    mica_graph *g;
    program p;
    double *inputs[8];
    int32_t n_inputs;
    double *outputs[8];
} sheet;

static void sheet_begin(sheet *s) {
    *s = (sheet){0};
    CHECK_OK(mica_graph_create("sheet", &s->g));
}

static mica_value sheet_input(sheet *s, mica_dtype dtype, mica_ints shape, double *numbers) {
    mica_type type = mica_type_make(dtype, shape);
    s->inputs[s->n_inputs++] = numbers;
    return mica_parameter(s->g, &type);
}

static bool sheet_run(sheet *s) {
    if (!test_ok(program_create(&s->p, s->g, "cpu"), __FILE__, __LINE__, "compile")) return false;
    program_alloc(&s->p, s->outputs);
    return test_ok(program_run(&s->p, s->inputs, s->outputs), __FILE__, __LINE__, "run");
}

static void sheet_end(sheet *s) {
    program_free(&s->p, s->outputs);
    program_deinit(&s->p);
    mica_graph_release(s->g);
}

#define F32(...) MICA_DTYPE_f32, MICA_INTS(__VA_ARGS__)

/* ---- randomness -------------------------------------------------------------------------------*/

enum { MANY = 4000 };

static void ones(double *numbers, int64_t n) {
    for (int64_t i = 0; i < n; i++) numbers[i] = 1;
}

TEST(dropout_keeps_its_share_and_the_gradient_has_the_same_mask) {
    static double x[MANY], ct[MANY];
    double key[2] = {123, 456}, sum = 0;
    sheet s;
    ones(x, MANY);
    ones(ct, MANY);
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(MANY), x), vct = sheet_input(&s, F32(MANY), ct), dx;
    mica_value vk = sheet_input(&s, MICA_DTYPE_u32, MICA_INTS(2), key);
    mica_value y = mica_nn_dropout(s.g, vx, 0.25, vk, 0);
    mica_vjp(s.g, &y, &vct, 1, &vx, 1, &dx);
    mica_output(s.g, y);
    mica_output(s.g, dx);
    mica_output(s.g, mica_nn_dropout(s.g, vx, 0.25, vk, 1));
    if (sheet_run(&s)) {
        int same = 0;
        for (int32_t i = 0; i < MANY; i++) {
            double kept = s.outputs[0][i];
            CHECK(kept == 0 || fabs(kept - 4.0 / 3) < 1e-6);
            CHECK(s.outputs[1][i] == kept);
            same += s.outputs[2][i] == kept;
            sum += kept;
        }
        CHECK_NEAR(sum / MANY, 1, 0.03);
        /* two streams are independent: they agree with probability 3/4^2 + 1/4^2 */
        CHECK_NEAR((double)same / MANY, 0.625, 0.04);
    }
    sheet_end(&s);
}

TEST(dropout_of_nothing_is_the_input_and_of_everything_is_zero) {
    double x[3] = {1, 2, 3}, key[2] = {1, 2};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(3), x);
    mica_value vk = sheet_input(&s, MICA_DTYPE_u32, MICA_INTS(2), key);
    mica_output(s.g, mica_nn_dropout(s.g, vx, 0, MICA_NULL_VALUE, 0));
    mica_output(s.g, mica_nn_dropout(s.g, vx, 1, vk, 0));
    if (sheet_run(&s))
        for (int32_t i = 0; i < 3; i++) {
            CHECK(s.outputs[0][i] == x[i]);
            CHECK(s.outputs[1][i] == 0);
        }
    sheet_end(&s);
}

TEST(attention_and_lstm_drop_out_with_their_key) {
    static double x[2 * 3 * 4], w[8][16], key[2] = {7, 8};
    sheet s;
    ones(x, 24);
    for (int32_t i = 0; i < 4; i++)
        for (int32_t k = 0; k < 16; k++) w[i][k] = (k * 7 % 5 - 2) * 0.25;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 3, 4), x), vw = sheet_input(&s, F32(4, 4), w[0]);
    mica_value vk = sheet_input(&s, MICA_DTYPE_u32, MICA_INTS(2), key);
    mica_value list[8] = {vw, vw, vw, vw, vw, vw, vw, vw}, out[3];
    mica_nn_lstm_options o = MICA_NN_LSTM_OPTIONS;
    o.hidden_size = 4;
    o.layer_count = 2;
    mica_nn_lstm_weights weights = {.size = sizeof weights, .input = list, .hidden = list};
    mica_value none = MICA_NULL_VALUE;
    for (int32_t i = 0; i < 2; i++) {
        o.dropout = i ? 0.5 : 0;
        mica_nn_lstm(s.g, vx, &weights, none, none, none, i ? vk : none, &o, out);
        mica_output(s.g, out[0]);
        mica_output(s.g, mica_nn_attention(s.g, vx, vx, vx, none, 1, o.dropout, i ? vk : none));
    }
    if (sheet_run(&s))
        for (int32_t i = 0; i < 2; i++) {
            bool differs = false;
            for (int32_t k = 0; k < 24; k++) differs |= s.outputs[i][k] != s.outputs[i + 2][k];
            CHECK(differs);
        }
    sheet_end(&s);
}

TEST(a_stopped_gradient_is_zero_in_both_modes) {
    double x[2] = {3, 4};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2), x), dy = MICA_NULL_VALUE, dx = MICA_NULL_VALUE;
    mica_value y = mica_mul(s.g, vx, mica_nn_stop_gradient(s.g, vx));
    mica_jvp(s.g, &y, 1, &vx, &vx, 1, &dy);
    mica_vjp(s.g, &y, &vx, 1, &vx, 1, &dx);
    mica_output(s.g, y);
    mica_output(s.g, dy);
    mica_output(s.g, dx);
    if (sheet_run(&s))
        for (int32_t i = 0; i < 2; i++)
            for (int32_t k = 0; k < 3; k++) CHECK(s.outputs[k][i] == x[i] * x[i]);
    sheet_end(&s);
}

/* ---- values that are not finite ---------------------------------------------------------------*/

TEST(activations_of_huge_and_missing_numbers_have_right_values_and_finite_slopes) {
    double x[3] = {-1e4, 1e4, nan_value};
    for (int kind = 0; kind < MICA_NN_ACTIVATION_COUNT; kind++) {
        sheet s;
        sheet_begin(&s);
        mica_value vx = sheet_input(&s, F32(3), x), dx;
        mica_nn_activation f = mica_nn_activation_make((mica_nn_activation_kind)kind);
        mica_value y = mica_nn_activate(s.g, vx, f);
        mica_gradient(s.g, mica_sum(s.g, y, MICA_INTS(0)), &vx, 1, &dx);
        mica_output(s.g, y);
        mica_output(s.g, dx);
        if (sheet_run(&s)) {
            for (int32_t i = 0; i < 2; i++) {
                CHECK(isfinite(s.outputs[0][i]));
                CHECK(isfinite(s.outputs[1][i]));
            }
            CHECK(isnan(s.outputs[0][2]));
        }
        if (test_failures) printf("    (kind %d)\n", kind);
        sheet_end(&s);
    }
}

TEST(softmax_of_huge_logits_is_finite) {
    double x[4] = {1e30, -1e30, 1e30, 0};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(1, 4), x), dx;
    mica_value y = mica_nn_softmax(s.g, vx, -1), l = mica_nn_log_softmax(s.g, vx, 1);
    mica_gradient(s.g, mica_sum(s.g, mica_mul(s.g, y, y), MICA_INTS(0, 1)), &vx, 1, &dx);
    mica_output(s.g, y);
    mica_output(s.g, l);
    mica_output(s.g, dx);
    if (sheet_run(&s)) {
        CHECK(s.outputs[0][0] == 0.5 && s.outputs[0][1] == 0);
        CHECK_NEAR(s.outputs[1][0], -0.69314718, 1e-6);
        for (int32_t i = 0; i < 4; i++) CHECK(isfinite(s.outputs[2][i]));
    }
    sheet_end(&s);
}

TEST(cross_entropy_ignores_impossible_classes_that_have_no_label) {
    double x[3] = {-infinite, 0, 0}, t[3] = {0, 1, 0};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(1, 3), x), vt = sheet_input(&s, F32(1, 3), t), dx;
    mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
    o.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
    mica_value loss = mica_nn_loss(s.g, vx, vt, MICA_NULL_VALUE, &o);
    mica_gradient(s.g, loss, &vx, 1, &dx);
    mica_output(s.g, loss);
    mica_output(s.g, dx);
    if (sheet_run(&s)) {
        CHECK_NEAR(s.outputs[0][0], 0.69314718, 1e-6);
        CHECK(s.outputs[1][0] == 0);
        CHECK_NEAR(s.outputs[1][1], -0.5, 1e-6);
    }
    sheet_end(&s);
}

TEST(the_largest_and_the_smallest_of_the_losses_can_be_asked_for) {
    double x[4] = {1, 2, 3, 4}, t[4] = {1, 4, 2.5, 4};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 2), x), vt = sheet_input(&s, F32(2, 2), t);
    mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
    o.kind = MICA_NN_MEAN_SQUARED_ERROR;
    o.reduction = MICA_NN_REDUCE_MAX;
    mica_output(s.g, mica_nn_loss(s.g, vx, vt, MICA_NULL_VALUE, &o));
    o.reduction = MICA_NN_REDUCE_MIN;
    mica_output(s.g, mica_nn_loss(s.g, vx, vt, MICA_NULL_VALUE, &o));
    if (sheet_run(&s)) {
        CHECK(s.outputs[0][0] == 4);
        CHECK(s.outputs[1][0] == 0);
    }
    sheet_end(&s);
}

TEST(weights_of_losses_may_leave_out_the_class_axis) {
    double x[24], t[8], w[8];
    sheet s;
    for (int32_t i = 0; i < 24; i++) x[i] = (i * 5 % 7) * 0.25;
    for (int32_t i = 0; i < 8; i++) t[i] = i % 3, w[i] = 1 + i;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 3, 2, 2), x), vw = sheet_input(&s, F32(2, 2, 2), w);
    mica_value vt = sheet_input(&s, MICA_DTYPE_i32, MICA_INTS(2, 2, 2), t);
    mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
    o.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
    o.reduction = MICA_NN_REDUCE_NONE;
    mica_output(s.g, mica_nn_loss(s.g, vx, vt, MICA_NULL_VALUE, &o));
    mica_output(s.g, mica_nn_loss(s.g, vx, vt, vw, &o));
    if (sheet_run(&s)) {
        CHECK(s.p.outputs[0].rank == 4 && s.p.outputs[0].dims[1] == 1);
        for (int32_t i = 0; i < 8; i++) CHECK_NEAR(s.outputs[1][i], s.outputs[0][i] * w[i], 1e-5);
    }
    sheet_end(&s);
}

TEST(products_and_quotients_without_nan_are_zero_at_zero_with_finite_slopes) {
    double x[4] = {nan_value, infinite, 6, -infinite}, y[4] = {0, 0, 3, 0};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(4), x), vy = sheet_input(&s, F32(4), y), d[2];
    mica_value product = mica_nn_arithmetic(s.g, MICA_NN_MULTIPLY_NO_NAN, vx, vy);
    mica_value quotient = mica_nn_arithmetic(s.g, MICA_NN_DIVIDE_NO_NAN, vx, vy);
    mica_gradient(s.g, mica_sum(s.g, quotient, MICA_INTS(0)), (mica_value[]){vx, vy}, 2, d);
    mica_output(s.g, product);
    mica_output(s.g, quotient);
    mica_output(s.g, d[0]);
    mica_output(s.g, d[1]);
    mica_gradient(s.g, mica_sum(s.g, product, MICA_INTS(0)), &vx, 1, d);
    mica_output(s.g, d[0]);
    static const double wanted[5][4] = {
        {0, 0, 18, 0}, {0, 0, 2, 0}, {0, 0, 1.0 / 3, 0}, {0, 0, -2.0 / 3, 0}, {0, 0, 3, 0}};
    if (sheet_run(&s))
        for (int32_t k = 0; k < 5; k++)
            for (int32_t i = 0; i < 4; i++) CHECK_NEAR(s.outputs[k][i], wanted[k][i], 1e-6);
    sheet_end(&s);
}

TEST(powers_of_two_have_whole_logarithms) {
    double x[4] = {1, 8, 0.25, 1048576}, p[4] = {0, 3, -2, 20};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(4), x), vp = sheet_input(&s, F32(4), p);
    mica_output(s.g, mica_nn_arithmetic(s.g, MICA_NN_LOG2, vx, MICA_NULL_VALUE));
    mica_output(s.g, mica_nn_arithmetic(s.g, MICA_NN_EXP2, vp, MICA_NULL_VALUE));
    if (sheet_run(&s))
        for (int32_t i = 0; i < 4; i++) {
            CHECK(s.outputs[0][i] == p[i]);
            CHECK(s.outputs[1][i] == x[i]);
        }
    sheet_end(&s);
}

TEST(a_query_that_may_attend_to_nothing_gives_zero_and_no_nan) {
    double q[8], mask[4] = {1, 1, 0, 1};
    sheet s;
    for (int32_t i = 0; i < 8; i++) q[i] = 0.5 * i;
    sheet_begin(&s);
    mica_value vq = sheet_input(&s, F32(1, 2, 4), q), dq;
    mica_value vm = sheet_input(&s, MICA_DTYPE_bool, MICA_INTS(2, 2), mask);
    mica_value y = mica_nn_attention(s.g, vq, vq, vq, vm, 0.5, 0, MICA_NULL_VALUE);
    mica_gradient(s.g, mica_sum(s.g, y, MICA_INTS(0, 1, 2)), &vq, 1, &dq);
    mica_output(s.g, y);
    mica_output(s.g, dq);
    if (sheet_run(&s))
        for (int32_t i = 0; i < 8; i++) {
            CHECK(s.outputs[0][i] == (i < 4 ? 0 : q[i - 4]));
            CHECK(isfinite(s.outputs[1][i]));
        }
    sheet_end(&s);
}

TEST(l2_pooling_of_zeros_has_no_infinite_slope) {
    double x[4] = {0, 0, 0, 0};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(1, 1, 2, 2), x), dx;
    mica_nn_pool2d_options o = MICA_NN_POOL2D_OPTIONS;
    o.kind = MICA_NN_POOL_L2;
    mica_value y = mica_nn_pool2d(s.g, vx, &o);
    mica_gradient(s.g, mica_sum(s.g, y, MICA_INTS(0, 1, 2, 3)), &vx, 1, &dx);
    mica_output(s.g, dx);
    if (sheet_run(&s))
        for (int32_t i = 0; i < 4; i++) CHECK(s.outputs[0][i] == 0);
    sheet_end(&s);
}

/* ---- shapes -----------------------------------------------------------------------------------*/

TEST(a_slice_goes_as_in_python) {
    double x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const struct {
        int64_t start, end, stride;
        int32_t n;
        double first, second;
    } cases[] = {{2, 8, 3, 2, 2, 5},    {-3, 10, 1, 3, 7, 8},   {0, -1, 4, 3, 0, 4},
                 {8, 2, -3, 2, 8, 5},   {-1, -20, -4, 3, 9, 5}, {4, 100, 1, 6, 4, 5},
                 {-100, 3, 1, 3, 0, 1}, {9, 0, -2, 5, 9, 7},    {6, 2, 1, 0, 0, 0},
                 {2, 6, -1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sheet s;
        sheet_begin(&s);
        mica_value vx = sheet_input(&s, F32(10), x);
        mica_value y = mica_nn_slice(s.g, vx, MICA_INTS(cases[i].start), MICA_INTS(cases[i].end),
                                     MICA_INTS(cases[i].stride));
        mica_output(s.g, y);
        if (sheet_run(&s)) {
            CHECK(mica_value_type(y)->dims[0] == cases[i].n);
            if (cases[i].n > 0) CHECK(s.outputs[0][0] == cases[i].first);
            if (cases[i].n > 1) CHECK(s.outputs[0][1] == cases[i].second);
        }
        sheet_end(&s);
    }
}

TEST(the_remainder_of_a_split_goes_to_the_first_parts) {
    int64_t sizes[8];
    CHECK(mica_nn_split_sizes(10, 4, sizes) == 4);
    CHECK(sizes[0] == 3 && sizes[1] == 3 && sizes[2] == 2 && sizes[3] == 2);
    CHECK(mica_nn_split_sizes(2, 5, sizes) == 2);
    CHECK(sizes[0] == 1 && sizes[1] == 1);
    CHECK(mica_nn_split_sizes(0, 5, sizes) == 0);
    CHECK(mica_nn_split_sizes(5, -1, sizes) == 0);
}

TEST(parts_of_a_split_lie_one_after_the_other) {
    double x[6] = {0, 1, 2, 3, 4, 5};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 3), x), parts[2];
    mica_nn_split(s.g, vx, -1, MICA_INTS(1, 2), parts);
    mica_output(s.g, parts[0]);
    mica_output(s.g, mica_nn_reshape(s.g, parts[1], MICA_INTS(-1, 4)));
    if (sheet_run(&s)) {
        CHECK(s.outputs[0][0] == 0 && s.outputs[0][1] == 3);
        CHECK(s.outputs[1][0] == 1 && s.outputs[1][2] == 4);
        CHECK(s.p.outputs[1].dims[0] == 1 && s.p.outputs[1].dims[1] == 4);
    }
    sheet_end(&s);
}

TEST(a_fully_connected_layer_takes_the_last_axis_unless_the_image_is_one_pixel) {
    double x[12], w[2] = {1, -1};
    sheet s;
    for (int32_t i = 0; i < 12; i++) x[i] = i;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 3, 2, 1), x), vw = sheet_input(&s, F32(2, 1), w);
    mica_output(s.g, mica_nn_fully_connected(s.g, vx, vw, MICA_NULL_VALUE));
    mica_value pixels = mica_nn_reshape(s.g, vx, MICA_INTS(12, 1, 1, 1));
    mica_output(s.g, mica_nn_fully_connected(s.g, pixels, vw, MICA_NULL_VALUE));
    if (sheet_run(&s)) {
        CHECK(s.p.outputs[0].dims[2] == 2 && s.p.outputs[0].dims[3] == 2);
        CHECK(s.p.outputs[1].dims[1] == 2 && s.p.outputs[1].dims[3] == 1);
        for (int32_t i = 0; i < 24; i++) {
            CHECK(s.outputs[0][i] == x[i / 2] * w[i % 2]);
            CHECK(s.outputs[1][i] == x[i / 2] * w[i % 2]);
        }
    }
    sheet_end(&s);
}

TEST(indices_out_of_range_gather_zero_and_scatter_nothing) {
    double x[3] = {1, 2, 3}, at[3] = {0, 7, -1};
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(3), x);
    mica_value vi = sheet_input(&s, MICA_DTYPE_i32, MICA_INTS(3), at);
    mica_output(s.g, mica_nn_gather(s.g, vx, vi, 0));
    mica_output(s.g, mica_nn_scatter(s.g, vx, vi, mica_full_like(s.g, vx, 9), 0, true));
    if (sheet_run(&s)) {
        CHECK(s.outputs[0][0] == 1 && s.outputs[0][1] == 0 && s.outputs[0][2] == 0);
        CHECK(s.outputs[1][0] == 10 && s.outputs[1][1] == 2 && s.outputs[1][2] == 3);
    }
    sheet_end(&s);
}

TEST(small_float_dtypes_train_too) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_f16, MICA_DTYPE_bf16};
    for (int32_t k = 0; k < 2; k++) {
        double x[16], w[8], t[4] = {1, 0, 0, 1};
        sheet s;
        for (int32_t i = 0; i < 16; i++) x[i] = (i % 5 - 2) * 0.5;
        for (int32_t i = 0; i < 8; i++) w[i] = (i % 3 - 1) * 0.25;
        sheet_begin(&s);
        mica_value vx = sheet_input(&s, dtypes[k], MICA_INTS(2, 8), x);
        mica_value vw = sheet_input(&s, dtypes[k], MICA_INTS(2, 4), w);
        mica_value vt = sheet_input(&s, dtypes[k], MICA_INTS(2, 2), t), d, next[3];
        mica_value h = mica_nn_reshape(s.g, vx, MICA_INTS(2, 2, 2, 2));
        mica_nn_pool2d_options pool = MICA_NN_POOL2D_OPTIONS;
        pool.window[0] = pool.strides[0] = 1;
        h = mica_nn_reshape(s.g, mica_nn_pool2d(s.g, h, &pool), MICA_INTS(2, 4));
        h = mica_nn_layer_norm(s.g, h, MICA_NULL_VALUE, MICA_NULL_VALUE, MICA_INTS(4), 1e-3);
        h = mica_nn_fully_connected(s.g, mica_nn_gelu(s.g, h, true), vw, MICA_NULL_VALUE);
        mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
        o.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
        mica_value loss = mica_nn_loss(s.g, h, vt, MICA_NULL_VALUE, &o);
        mica_gradient(s.g, loss, &vw, 1, &d);
        mica_nn_optimizer adam = MICA_NN_OPTIMIZER;
        adam.kind = MICA_NN_ADAM;
        adam.epsilon = 1e-3;
        mica_value zeros = mica_zeros_like(s.g, vw), state[2] = {zeros, zeros};
        mica_nn_optimizer_update(s.g, &adam, mica_scalar(s.g, dtypes[k], 0.125),
                                 mica_scalar(s.g, MICA_DTYPE_i32, 1), vw, d, state, next);
        mica_output(s.g, mica_convert(s.g, loss, MICA_DTYPE_f32));
        mica_output(s.g, mica_convert(s.g, next[0], MICA_DTYPE_f32));
        if (sheet_run(&s)) {
            CHECK_NEAR(s.outputs[0][0], 0.693, 0.3);
            for (int32_t i = 0; i < 8; i++) CHECK_NEAR(s.outputs[1][i], w[i], 0.126);
        }
        sheet_end(&s);
    }
}

TEST(the_mean_of_more_numbers_than_f16_can_count_is_right) {
    enum { N = 70000 };
    double *x = malloc(N * sizeof *x);
    sheet s;
    for (int32_t i = 0; i < N; i++) x[i] = 2 + i % 2;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, MICA_DTYPE_f16, MICA_INTS(N), x);
    mica_nn_loss_options o = MICA_NN_LOSS_OPTIONS;
    mica_value mean = mica_nn_reduce(s.g, MICA_NN_REDUCE_MEAN, vx, MICA_INTS(0));
    mica_value loss = mica_nn_loss(s.g, vx, mica_zeros_like(s.g, vx), MICA_NULL_VALUE, &o);
    mica_output(s.g, mica_convert(s.g, mean, MICA_DTYPE_f32));
    mica_output(s.g, mica_convert(s.g, loss, MICA_DTYPE_f32));
    if (sheet_run(&s)) CHECK(s.outputs[0][0] == 2.5 && s.outputs[1][0] == 2.5);
    sheet_end(&s);
    free(x);
}

/* ---- composites as nodes ----------------------------------------------------------------------*/

TEST(composites_are_calls_with_names_and_survive_text_and_bytes) {
    double x[1];
    sheet s;
    sheet_begin(&s);
    mica_value vx = sheet_input(&s, F32(2, 4, 3), x), none = MICA_NULL_VALUE, dx;
    mica_nn_conv2d_options conv = MICA_NN_CONV2D_OPTIONS;
    mica_value image = mica_reshape(s.g, vx, MICA_INTS(1, 2, 4, 3));
    mica_value y = mica_nn_conv2d(s.g, image, image, none, &conv);
    y = mica_nn_layer_norm(s.g, vx, none, none, MICA_INTS(3), 1e-5);
    y = mica_nn_attention(s.g, y, y, y, none, 1, 0, none);
    y = mica_nn_gelu(s.g, mica_nn_softmax(s.g, y, -1), false);
    mica_gradient(s.g, mica_sum(s.g, y, MICA_INTS(0, 1, 2)), &vx, 1, &dx);
    mica_output(s.g, dx);
    char *text = NULL;
    mica_graph *parsed = NULL, *read = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    CHECK_OK(mica_graph_print(s.g, &text));
    static const char *const names[] = {"layer_norm", "attention", "softmax", "softmax.vjp",
                                        "gelu"};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        CHECK(strstr(text, names[i]) != NULL);
    if (text) CHECK_OK(mica_graph_parse(text, &parsed));
    CHECK_OK(mica_graph_serialize(s.g, &bytes, &n));
    if (bytes) CHECK_OK(mica_graph_deserialize(bytes, n, &read));
    if (parsed) CHECK_OK(mica_graph_verify(parsed));
    if (read) CHECK_OK(mica_graph_verify(read));
    mica_string_free(text);
    mica_bytes_free(bytes);
    mica_graph_release(parsed);
    mica_graph_release(read);
    sheet_end(&s);
}
