/* conv against plain loops in double, over a grid of parameters. */
#include "cpu_test.h"
#include "device/cpu/winograd.h"
#include "ir/conv_layout.h"

typedef struct conv_case {
    mica_dtype dtype;
    const char *layout;
    int32_t spatial;
    int64_t batch, channels, outputs; /* of the input; outputs of the kernel */
    int64_t input[3], taps[3], strides[3], low[3], high[3], lhs_dilation[3], rhs_dilation[3];
    int64_t groups, batch_groups;
    double around; /* magnitudes of products that rounding errors come from beside a result's own */
} conv_case;

static int64_t element_at(const mica_type *type, const int64_t *at) {
    int64_t i = 0;
    for (int32_t d = 0; d < type->rank; d++) i = i * type->dims[d] + at[d];
    return i;
}

/* The result at coordinates `at`, by definition; `size` receives the sum of magnitudes. */
static double plain_conv(const conv_case *c, const mica_conv_layout *l, const mica_type *x,
                         const void *x_data, const mica_type *y, const void *y_data,
                         const int64_t *at, double *size) {
    int64_t inputs = c->channels / c->groups,
            per_group = c->outputs / (c->groups * c->batch_groups);
    int64_t o = at[l->out_channel], group = o / per_group, n = at[l->out_batch];
    int64_t first = c->groups > 1 ? group * inputs : 0;
    if (c->batch_groups > 1) n += group * (c->batch / c->batch_groups);
    double sum = *size = 0;
    int64_t taps[3] = {1, 1, 1}, t[3];
    for (int32_t d = 0; d < c->spatial; d++) taps[d] = c->taps[d];
    for (t[0] = 0; t[0] < taps[0]; t[0]++)
        for (t[1] = 0; t[1] < taps[1]; t[1]++)
            for (t[2] = 0; t[2] < taps[2]; t[2]++) {
                int64_t from[5], tap[5];
                bool inside = true;
                for (int32_t d = 0; d < c->spatial; d++) {
                    int64_t p = at[l->out_spatial[d]] * c->strides[d] + t[d] * c->rhs_dilation[d] -
                                c->low[d];
                    inside &= p >= 0 && p % c->lhs_dilation[d] == 0 &&
                              p / c->lhs_dilation[d] < c->input[d];
                    from[l->lhs_spatial[d]] = p / c->lhs_dilation[d];
                    tap[l->rhs_spatial[d]] = t[d];
                }
                if (!inside) continue;
                for (int64_t i = 0; i < inputs; i++) {
                    from[l->lhs_batch] = n;
                    from[l->lhs_channel] = first + i;
                    tap[l->rhs_input] = i;
                    tap[l->rhs_output] = o;
                    double p = get_element(x_data, c->dtype, element_at(x, from)) *
                               get_element(y_data, c->dtype, element_at(y, tap));
                    sum += p;
                    *size += fabs(p);
                }
            }
    return sum;
}

static void check_conv(const conv_case *c) {
    mica_conv_layout l;
    REQUIRE(mica_conv_layout_parse(c->layout, &l));
    int64_t x_dims[5], y_dims[5];
    x_dims[l.lhs_batch] = c->batch;
    x_dims[l.lhs_channel] = c->channels;
    y_dims[l.rhs_input] = c->channels / c->groups;
    y_dims[l.rhs_output] = c->outputs;
    for (int32_t d = 0; d < c->spatial; d++) {
        x_dims[l.lhs_spatial[d]] = c->input[d];
        y_dims[l.rhs_spatial[d]] = c->taps[d];
    }
    mica_graph *g = new_graph();
    int32_t s = c->spatial;
    mica_value x = new_parameter(g, c->dtype, (mica_ints){x_dims, s + 2});
    mica_value y = new_parameter(g, c->dtype, (mica_ints){y_dims, s + 2});
    mica_value z = mica_conv(g, x, y, c->layout, (mica_ints){c->strides, s}, (mica_ints){c->low, s},
                             (mica_ints){c->high, s}, (mica_ints){c->lhs_dilation, s},
                             (mica_ints){c->rhs_dilation, s}, c->groups, c->batch_groups);
    CHECK_OK(mica_graph_check(g));
    void *data[2] = {random_array(mica_value_type(x)), random_array(mica_value_type(y))};
    void *result = run_everywhere(z, (const void *const *)data);
    const mica_type *type = mica_value_type(z);
    double epsilon = dtype_epsilon(c->dtype), working = epsilon > 0x1p-24 ? 0x1p-24 : epsilon;
    int64_t n = result ? mica_type_elements(type) : 0, step = 1 + n / 20000;
    for (int64_t i = 0; i < n; i += step) {
        int64_t at[5], rest = i;
        for (int32_t d = type->rank - 1; d >= 0; d--) {
            at[d] = rest % type->dims[d];
            rest /= type->dims[d];
        }
        double size, want = plain_conv(c, &l, mica_value_type(x), data[0], mica_value_type(y),
                                       data[1], at, &size);
        double got = get_element(result, c->dtype, i);
        test_checks++;
        if (!(fabs(got - want) <=
              working * (size + c->around) * 24 + 1.01 * epsilon * fabs(want))) {
            test_report(__FILE__, __LINE__,
                        "%s %s: element %lld is %.9g, not %.9g (stride %lld low %lld high %lld "
                        "dilation %lld %lld groups %lld %lld)",
                        c->layout, mica_dtype_name(c->dtype), (long long)i, got, want,
                        (long long)c->strides[0], (long long)c->low[0], (long long)c->high[0],
                        (long long)c->lhs_dilation[0], (long long)c->rhs_dilation[0],
                        (long long)c->groups, (long long)c->batch_groups);
            break;
        }
    }
    free(result);
    free(data[0]);
    free(data[1]);
    mica_graph_release(g);
}

#define EACH(a)                                                                                    \
    { a, a, a }
static conv_case plain_case(void) {
    return (conv_case){.dtype = MICA_DTYPE_f32,
                       .layout = "N01C,01IO,N01C",
                       .spatial = 2,
                       .batch = 2,
                       .channels = 4,
                       .outputs = 6,
                       .input = {7, 9, 5},
                       .taps = {3, 2, 2},
                       .strides = EACH(1),
                       .low = EACH(0),
                       .high = EACH(0),
                       .lhs_dilation = EACH(1),
                       .rhs_dilation = EACH(1),
                       .groups = 1,
                       .batch_groups = 1};
}

TEST(a_grid_of_strides_paddings_and_dilations_in_two_dimensions) {
    static const int64_t pads[][2] = {{0, 0}, {1, 2}, {-1, 1}, {2, -2}, {-2, -1}, {3, 3}};
    for (int64_t stride = 1; stride <= 3; stride++)
        for (size_t p = 0; p < sizeof pads / sizeof *pads; p++)
            for (int64_t left = 1; left <= 2; left++)
                for (int64_t right = 1; right <= 3; right += 2) {
                    conv_case c = plain_case();
                    for (int d = 0; d < 2; d++) {
                        c.strides[d] = stride;
                        c.low[d] = pads[p][0];
                        c.high[d] = pads[p][1];
                        c.lhs_dilation[d] = left;
                        c.rhs_dilation[1 - d] = d ? right : 1;
                    }
                    check_conv(&c);
                }
}

TEST(every_phase_of_a_dilated_input_meets_its_own_taps) {
    for (int64_t dilation = 2; dilation <= 6; dilation++)
        for (int64_t stride = 1; stride <= 4; stride++)
            for (int64_t apart = 1; apart <= 4; apart++) {
                conv_case c = plain_case();
                c.dtype = stride == 3 ? MICA_DTYPE_f16 : MICA_DTYPE_f32;
                c.taps[0] = apart == 2 ? 5 : 3;
                c.lhs_dilation[0] = dilation, c.lhs_dilation[1] = 1 + apart / 2;
                c.strides[0] = stride, c.strides[1] = 1 + dilation % 2;
                c.rhs_dilation[0] = apart;
                c.low[0] = dilation - 3, c.high[0] = apart - 1;
                check_conv(&c);
            }
}

TEST(every_layout_gives_the_same_values) {
    static const char *const layouts[] = {"N01C,01IO,N01C", "NC01,OI01,NC01", "C01N,I01O,01NC",
                                          "NC01,01IO,N01C", "01NC,O01I,C0N1", "N10C,10OI,N01C"};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        conv_case c = plain_case();
        c.layout = layouts[i];
        check_conv(&c);
        c.low[0] = c.high[1] = 2;
        c.strides[1] = 2;
        check_conv(&c);
    }
}

TEST(one_and_three_dimensions_work_alike) {
    conv_case c = plain_case();
    c.spatial = 1;
    c.layout = "N0C,0IO,N0C";
    c.input[0] = 50;
    c.taps[0] = 7;
    c.low[0] = 3;
    check_conv(&c);
    c.layout = "NC0,OI0,NC0";
    c.lhs_dilation[0] = 2;
    check_conv(&c);
    c = plain_case();
    c.spatial = 3;
    c.layout = "N012C,012IO,N012C";
    c.low[2] = c.high[0] = 1;
    check_conv(&c);
    c.layout = "NC012,OI012,NC012";
    c.strides[1] = 2;
    check_conv(&c);
}

TEST(groups_of_channels_and_of_the_batch) {
    for (int64_t groups = 2; groups <= 4; groups += 2) {
        conv_case c = plain_case();
        c.outputs = 8;
        c.groups = groups;
        c.low[0] = 1;
        check_conv(&c);
        c.layout = "NC01,OI01,NC01";
        check_conv(&c);
        c = plain_case();
        c.outputs = 8;
        c.batch = 4;
        c.batch_groups = groups;
        check_conv(&c);
        c.layout = "C01N,01IO,NC01";
        c.high[1] = 2;
        check_conv(&c);
    }
}

TEST(depthwise_layers_fill_lanes_with_channels_or_places) {
    static const char *const layouts[] = {"N01C,01IO,N01C", "NC01,OI01,NC01"};
    static const int64_t channels[] = {8, 19, 32, 300};
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
            conv_case c = plain_case();
            c.layout = layouts[i];
            c.dtype = j == 1 ? MICA_DTYPE_f64 : MICA_DTYPE_f32;
            c.channels = c.outputs = c.groups = channels[j];
            c.input[0] = 10, c.input[1] = 21;
            c.low[0] = c.high[1] = 1;
            check_conv(&c);
            conv_case weights = c; /* every channel's batch with its own kernel */
            weights.layout = i ? "CN01,IO01,CN01" : "C01N,I01O,01NC";
            weights.batch = weights.batch_groups = channels[j], weights.groups = 1;
            weights.channels = 2;
            weights.taps[0] = 8, weights.taps[1] = 20;
            check_conv(&weights);
        }
}

TEST(all_float_dtypes_convolve) {
    for (mica_dtype d = MICA_DTYPE_f16; d <= MICA_DTYPE_f64; d++) {
        conv_case c = plain_case();
        c.dtype = d;
        c.low[0] = c.low[1] = c.high[0] = 1;
        check_conv(&c);
        c.lhs_dilation[0] = 2;
        c.groups = 2;
        check_conv(&c);
    }
}

/* The three convolutions of a training step, in the layouts that transposition produces. */
TEST(forward_and_both_gradients_of_a_layer) {
    conv_case c = plain_case();
    c.batch = 4;
    c.channels = 5;
    c.outputs = 33;
    c.input[0] = c.input[1] = 14;
    c.taps[0] = c.taps[1] = 5;
    for (int d = 0; d < 2; d++) c.low[d] = c.high[d] = 2;
    check_conv(&c);
    conv_case input_gradient = c;
    input_gradient.layout = "N01C,01OI,N01C";
    input_gradient.channels = 33;
    input_gradient.outputs = 5;
    check_conv(&input_gradient);
    conv_case weight_gradient = c;
    weight_gradient.layout =
        "C01N,I01O,01NC"; /* the batch is summed over, channels take its place */
    weight_gradient.batch = 5;
    weight_gradient.channels = 4;
    weight_gradient.taps[0] = weight_gradient.taps[1] = 14;
    check_conv(&weight_gradient);
    weight_gradient.strides[0] = 1;
    weight_gradient.rhs_dilation[0] = weight_gradient.rhs_dilation[1] = 1;
    weight_gradient.batch = 1; /* the first layer: one channel, a long sum */
    weight_gradient.channels = 12;
    check_conv(&weight_gradient);
}

TEST(empty_convolutions_are_empty_or_zero) {
    conv_case c = plain_case();
    c.batch = 0;
    check_conv(&c);
    c = plain_case();
    c.taps[0] = 20;
    check_conv(&c);
    c = plain_case();
    c.outputs = 0;
    check_conv(&c);
    c = plain_case();
    c.channels = 0;
    check_conv(&c);
    c = plain_case();
    c.input[0] = 0;
    c.low[0] = c.high[0] = 4;
    check_conv(&c);
    c = plain_case();
    c.low[0] = -20;
    c.high[0] = 20;
    check_conv(&c);
}

TEST(absurd_paddings_and_dilations_cost_no_memory) {
    for (mica_dtype d = MICA_DTYPE_f16; d <= MICA_DTYPE_f64; d++)
        for (int k = 0; k < 3; k++) {
            conv_case c = plain_case();
            c.dtype = d;
            c.low[0] = c.high[0] = k == 2 ? 1 : 1000000007;
            c.strides[0] = k == 0 ? 1000000007 : 500000000;
            if (k == 1) c.rhs_dilation[0] = 1000000000;
            if (k == 2) c.lhs_dilation[1] = c.rhs_dilation[1] = c.strides[1] = 1000003;
            c.groups = k == 1 ? 2 : 1;
            c.batch_groups = k == 0 ? 2 : 1;
            check_conv(&c);
        }
}

/* ---- Winograd's algorithm ----------------------------------------------------------------------
 */

static conv_case winograd_case(int64_t channels, int64_t outputs, int64_t height, int64_t width) {
    conv_case c = plain_case();
    c.channels = channels;
    c.outputs = outputs;
    c.input[0] = height, c.input[1] = width;
    c.taps[0] = c.taps[1] = 3;
    c.around = (double)channels;
    return c;
}

/* The same layer's gradient by its kernel. */
static conv_case winograd_taps_case(const conv_case *layer, const char *layout) {
    conv_case c = *layer;
    c.layout = layout;
    c.batch = layer->channels;
    c.channels = layer->batch;
    for (int d = 0; d < 2; d++) c.taps[d] = layer->input[d] + layer->low[d] + layer->high[d] - 2;
    return c;
}

TEST(fewer_products_give_the_same_values_for_any_sizes_and_paddings) {
    static const int64_t channels[][2] = {{1, 1}, {5, 17}, {16, 32}, {35, 70}};
    static const int64_t pads[][2] = {{0, 0}, {1, 1}, {2, 0}, {-1, 2}, {3, 4}};
    mica_cpu_winograd_prefer(1);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t p = 0; p < sizeof pads / sizeof *pads; p += getenv("MICA_TEST_QUICK") ? 3 : 1) {
            conv_case c = winograd_case(channels[i][0], channels[i][1], 5 + (int64_t)p, 8);
            c.low[0] = c.high[1] = pads[p][0];
            c.high[0] = c.low[1] = pads[p][1];
            check_conv(&c);
            conv_case taps = winograd_taps_case(&c, "C01N,I01O,01NC");
            check_conv(&taps);
            c.layout = p % 2 ? "0N1C,O1I0,10NC" : "N01C,01OI,N01C";
            check_conv(&c);
            taps.layout = p % 2 ? "0C1N,1I0O,N10C" : "C10N,I10O,0N1C";
            check_conv(&taps);
        }
    conv_case c = winograd_case(300, 40, 7, 8);
    check_conv(&c);
    c = winograd_case(24, 40, 40, 33);
    check_conv(&c);
    c.batch = 3;
    c.low[0] = c.high[0] = 1;
    conv_case taps = winograd_taps_case(&c, "C01N,I01O,01NC"); /* groups of tiles */
    check_conv(&taps);
    c = winograd_case(70, 130, 31, 40); /* one chunk after the other, of several blocks */
    c.low[0] = c.high[0] = 1;
    taps = winograd_taps_case(&c, "C01N,I01O,01NC");
    check_conv(&taps);
    mica_cpu_winograd_prefer(0);
}

/* Runs a layer's forward convolution, or its gradient by the kernel, of given operands. */
static float *run_layer(const conv_case *c, const float *x, const float *y, int64_t *out_n) {
    mica_conv_layout l;
    if (!mica_conv_layout_parse(c->layout, &l)) return NULL;
    int64_t x_dims[5], y_dims[5];
    x_dims[l.lhs_batch] = c->batch, x_dims[l.lhs_channel] = c->channels;
    y_dims[l.rhs_input] = c->channels, y_dims[l.rhs_output] = c->outputs;
    for (int d = 0; d < 2; d++) {
        x_dims[l.lhs_spatial[d]] = c->input[d];
        y_dims[l.rhs_spatial[d]] = c->taps[d];
    }
    mica_graph *g = new_graph();
    mica_value left = new_parameter(g, c->dtype, (mica_ints){x_dims, 4});
    mica_value right = new_parameter(g, c->dtype, (mica_ints){y_dims, 4});
    mica_ints one = MICA_INTS(1, 1);
    mica_value z = mica_conv(g, left, right, c->layout, one, (mica_ints){c->low, 2},
                             (mica_ints){c->high, 2}, one, one, 1, 1);
    CHECK_OK(mica_graph_check(g));
    const void *data[2] = {x, y};
    float *result = run_everywhere(z, data);
    *out_n = mica_type_elements(mica_value_type(z));
    mica_graph_release(g);
    return result;
}

TEST(what_is_not_finite_stays_where_it_belongs) {
    static const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (int form = 0; form < 2; form++)
        for (int i = 0; i < 8; i++) {
            conv_case c = winograd_case(18, 34, 9, 7);
            c.low[0] = c.low[1] = c.high[1] = 1;
            int64_t sizes[2] = {2 * 9 * 7 * 18, 9 * 18 * 34}, n = 0;
            if (form) {
                c = winograd_taps_case(&c, "C01N,I01O,01NC");
                sizes[1] = 2 * c.taps[0] * c.taps[1] * 34;
            }
            float *data[2];
            for (int o = 0; o < 2; o++) {
                data[o] = malloc(sizeof(float) * (size_t)sizes[o]);
                for (int64_t j = 0; j < sizes[o]; j++) data[o][j] = (float)(2 * random_unit() - 1);
            }
            data[i / 4][sizes[i / 4] / 2 + 5] = odd[i % 4];
            mica_cpu_winograd_prefer(-1);
            float *want = run_layer(&c, data[0], data[1], &n);
            mica_cpu_winograd_prefer(1);
            float *got = run_layer(&c, data[0], data[1], &n);
            mica_cpu_winograd_prefer(0);
            for (int64_t j = 0; want && got && j < n; j++) {
                bool same = isfinite(want[j])
                                ? fabsf(got[j] - want[j]) <= 1e-4f + 1e-5f * fabsf(want[j])
                            : isnan(want[j]) ? isnan(got[j])
                                             : got[j] == want[j];
                test_checks++;
                if (!same)
                    test_report(__FILE__, __LINE__, "form %d %g: element %lld is %g, not %g", form,
                                (double)odd[i % 4], (long long)j, (double)got[j], (double)want[j]);
                if (!same) break;
            }
            free(want);
            free(got);
            free(data[0]);
            free(data[1]);
        }
}

TEST(whole_numbers_stay_exact_with_fewer_products) {
    conv_case c = winograd_case(40, 33, 10, 11);
    int64_t n = 0;
    float *x = malloc(sizeof *x * 2 * 10 * 11 * 40), *w = malloc(sizeof *w * 9 * 40 * 33);
    for (int64_t i = 0; i < 2 * 10 * 11 * 40; i++) x[i] = (float)(i * 7 % 23 - 11);
    for (int64_t i = 0; i < 9 * 40 * 33; i++) w[i] = (float)(i * 5 % 19 - 9);
    mica_cpu_winograd_prefer(-1);
    float *want = run_layer(&c, x, w, &n);
    mica_cpu_winograd_prefer(1);
    float *got = run_layer(&c, x, w, &n);
    mica_cpu_winograd_prefer(0);
    CHECK(want && got && !memcmp(want, got, sizeof *got * (size_t)n));
    free(x);
    free(w);
    free(want);
    free(got);
}
