/* Shape kernels against index arithmetic, one element at a time. */
#include "base/platform.h"
#include "cpu_test.h"

typedef struct coordinates {
    int64_t at[MICA_MAX_RANK];
} coordinates;

static coordinates unravel(const mica_type *type, int64_t i) {
    coordinates c = {{0}};
    for (int32_t d = type->rank - 1; d >= 0; d--) {
        c.at[d] = i % type->dims[d];
        i /= type->dims[d];
    }
    return c;
}

static int64_t ravel(const mica_type *type, const coordinates *c) {
    int64_t i = 0;
    for (int32_t d = 0; d < type->rank; d++) i = i * type->dims[d] + c->at[d];
    return i;
}

/* Where element c of the result comes from: a place in operand 0, or -1 for the padding value. */
typedef int64_t (*source_rule)(const mica_node *n, const coordinates *c);

static int64_t broadcast_source(const mica_node *n, const coordinates *c) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints axes = mica_node_ints(n, "axes");
    coordinates from = {{0}};
    for (int32_t i = 0; i < x->rank; i++) from.at[i] = x->dims[i] == 1 ? 0 : c->at[axes.data[i]];
    return ravel(x, &from);
}
static int64_t transpose_source(const mica_node *n, const coordinates *c) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints permutation = mica_node_ints(n, "permutation");
    coordinates from = {{0}};
    for (int32_t i = 0; i < x->rank; i++) from.at[permutation.data[i]] = c->at[i];
    return ravel(x, &from);
}
static int64_t slice_source(const mica_node *n, const coordinates *c) {
    const mica_type *x = mica_operand_type(n, 0);
    coordinates from = {{0}};
    for (int32_t i = 0; i < x->rank; i++)
        from.at[i] =
            mica_node_ints(n, "start").data[i] + c->at[i] * mica_node_ints(n, "stride").data[i];
    return ravel(x, &from);
}
static int64_t reverse_source(const mica_node *n, const coordinates *c) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints axes = mica_node_ints(n, "axes");
    coordinates from = *c;
    for (int32_t i = 0; i < axes.n; i++)
        from.at[axes.data[i]] = x->dims[axes.data[i]] - 1 - c->at[axes.data[i]];
    return ravel(x, &from);
}
static int64_t reshape_source(const mica_node *n, const coordinates *c) {
    return ravel(&n->results[0], c);
}
static int64_t pad_source(const mica_node *n, const coordinates *c) {
    const mica_type *x = mica_operand_type(n, 0);
    coordinates from = {{0}};
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t step = mica_node_ints(n, "interior").data[i] + 1;
        int64_t place = c->at[i] - mica_node_ints(n, "low").data[i];
        if (place < 0 || place % step || place / step >= x->dims[i]) return -1;
        from.at[i] = place / step;
    }
    return ravel(x, &from);
}

/* Runs y everywhere and compares every element with its source. */
static void check_sources(mica_value y, const void *const *operands, source_rule rule) {
    const mica_type *type = mica_value_type(y);
    char *result = run_everywhere(y, operands);
    if (!result) return;
    size_t bytes = mica_dtype_bytes(type->dtype);
    for (int64_t i = 0; i < mica_type_elements(type); i++) {
        coordinates c = unravel(type, i);
        int64_t source = rule(y.node, &c);
        const char *from =
            source < 0 ? operands[1] : (const char *)operands[0] + source * (int64_t)bytes;
        test_checks++;
        if (memcmp(result + i * (int64_t)bytes, from, bytes)) {
            test_report(__FILE__, __LINE__, "%s: element %lld is wrong",
                        mica_op_describe(y.node->op)->name, (long long)i);
            break;
        }
    }
    free(result);
}

static const mica_dtype by_size[] = {MICA_DTYPE_u8,  MICA_DTYPE_f16, MICA_DTYPE_f32,
                                     MICA_DTYPE_f64, MICA_DTYPE_c64, MICA_DTYPE_c128};
#define FOR_SIZES(d) for (size_t d = 0; d < sizeof by_size / sizeof *by_size; d++)

#define ONE_OPERAND(dtype, shape, expression, rule)                                                \
    do {                                                                                           \
        mica_graph *g = new_graph();                                                               \
        mica_value x = new_parameter(g, dtype, shape);                                             \
        void *data = random_array(mica_value_type(x));                                             \
        const void *operands[] = {data};                                                           \
        mica_value y = (expression);                                                               \
        CHECK_OK(mica_graph_check(g));                                                             \
        check_sources(y, operands, rule);                                                          \
        free(data);                                                                                \
        mica_graph_release(g);                                                                     \
    } while (0)

TEST(broadcast_repeats_axes_of_every_kind) {
    FOR_SIZES(d) {
        mica_dtype t = by_size[d];
        ONE_OPERAND(t, MICA_NO_INTS, mica_broadcast(g, x, MICA_INTS(3, 5), MICA_NO_INTS),
                    broadcast_source);
        ONE_OPERAND(t, MICA_INTS(5), mica_broadcast(g, x, MICA_INTS(3, 5), MICA_INTS(1)),
                    broadcast_source);
        ONE_OPERAND(t, MICA_INTS(3), mica_broadcast(g, x, MICA_INTS(3, 5), MICA_INTS(0)),
                    broadcast_source);
        ONE_OPERAND(t, MICA_INTS(3, 1, 4),
                    mica_broadcast(g, x, MICA_INTS(2, 3, 7, 4), MICA_INTS(0 + 1, 2, 3)),
                    broadcast_source);
    }
    ONE_OPERAND(MICA_DTYPE_f32, MICA_NO_INTS, mica_broadcast(g, x, MICA_INTS(100003), MICA_NO_INTS),
                broadcast_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(1, 4),
                mica_broadcast(g, x, MICA_INTS(0, 4), MICA_INTS(0, 1)), broadcast_source);
}

TEST(transpose_handles_every_permutation_of_three_axes) {
    static const int64_t permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                               {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    FOR_SIZES(d)
    for (int p = 0; p < 6; p++)
        ONE_OPERAND(by_size[d], MICA_INTS(5, 37, 41),
                    mica_transpose(g, x, ((mica_ints){permutations[p], 3})), transpose_source);
}

TEST(transpose_handles_long_and_odd_shapes) {
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(2, 70001), mica_transpose(g, x, MICA_INTS(1, 0)),
                transpose_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(70001, 3), mica_transpose(g, x, MICA_INTS(1, 0)),
                transpose_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(512, 512), mica_transpose(g, x, MICA_INTS(1, 0)),
                transpose_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(0, 5), mica_transpose(g, x, MICA_INTS(1, 0)),
                transpose_source);
    ONE_OPERAND(MICA_DTYPE_f64, MICA_INTS(2, 3, 4, 5, 6),
                mica_transpose(g, x, MICA_INTS(4, 1, 3, 0, 2)), transpose_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_NO_INTS, mica_transpose(g, x, MICA_NO_INTS), transpose_source);
}

/* As if every result were larger than the caches: aligned lines go past them. */
TEST(what_is_written_past_the_caches_is_the_same) {
    mica_machine_stream_above(1);
    transpose_handles_every_permutation_of_three_axes();
    transpose_handles_long_and_odd_shapes();
    broadcast_repeats_axes_of_every_kind();
    FOR_SIZES(d) {
        mica_dtype t = by_size[d];
        ONE_OPERAND(t, MICA_INTS(192, 131), mica_transpose(g, x, MICA_INTS(1, 0)),
                    transpose_source);
        ONE_OPERAND(t, MICA_INTS(2, 64, 3, 80), mica_transpose(g, x, MICA_INTS(0, 3, 2, 1)),
                    transpose_source);
        ONE_OPERAND(t, MICA_INTS(3, 7, 5, 64), mica_transpose(g, x, MICA_INTS(2, 0, 1, 3)),
                    transpose_source);
        ONE_OPERAND(t, MICA_INTS(3), mica_broadcast(g, x, MICA_INTS(3, 192), MICA_INTS(0)),
                    broadcast_source);
        ONE_OPERAND(t, MICA_INTS(128), mica_broadcast(g, x, MICA_INTS(5, 128), MICA_INTS(1)),
                    broadcast_source);
        ONE_OPERAND(t, MICA_INTS(40, 192),
                    mica_slice(g, x, MICA_INTS(3, 64), MICA_INTS(40, 192), MICA_INTS(2, 1)),
                    slice_source);
    }
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(64, 2100), mica_transpose(g, x, MICA_INTS(1, 0)),
                transpose_source);
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(40000), mica_reshape(g, x, MICA_INTS(40, 1000)),
                reshape_source);
    mica_machine_stream_above(0);
}

TEST(slice_takes_strides_and_empty_ranges) {
    FOR_SIZES(d) {
        mica_dtype t = by_size[d];
        ONE_OPERAND(t, MICA_INTS(9, 13),
                    mica_slice(g, x, MICA_INTS(2, 1), MICA_INTS(9, 12), MICA_INTS(1, 1)),
                    slice_source);
        ONE_OPERAND(t, MICA_INTS(9, 13),
                    mica_slice(g, x, MICA_INTS(0, 3), MICA_INTS(9, 13), MICA_INTS(4, 3)),
                    slice_source);
        ONE_OPERAND(t, MICA_INTS(9, 13),
                    mica_slice(g, x, MICA_INTS(3, 3), MICA_INTS(3, 13), MICA_INTS(1, 1)),
                    slice_source);
        ONE_OPERAND(t, MICA_INTS(9),
                    mica_slice(g, x, MICA_INTS(8), MICA_INTS(9), MICA_INTS(INT64_MAX)),
                    slice_source);
    }
}

TEST(reverse_and_reshape_move_all_elements) {
    FOR_SIZES(d) {
        mica_dtype t = by_size[d];
        ONE_OPERAND(t, MICA_INTS(4, 5, 6), mica_reverse(g, x, MICA_INTS(0)), reverse_source);
        ONE_OPERAND(t, MICA_INTS(4, 5, 6), mica_reverse(g, x, MICA_INTS(2, 1)), reverse_source);
        ONE_OPERAND(t, MICA_INTS(4, 5, 6), mica_reverse(g, x, MICA_NO_INTS), reverse_source);
        ONE_OPERAND(t, MICA_INTS(0, 5), mica_reverse(g, x, MICA_INTS(0, 1)), reverse_source);
        ONE_OPERAND(t, MICA_INTS(4, 5, 6), mica_reshape(g, x, MICA_INTS(6, 20)), reshape_source);
    }
    ONE_OPERAND(MICA_DTYPE_f32, MICA_INTS(100, 1000), mica_reshape(g, x, MICA_INTS(100000)),
                reshape_source);
}

TEST(pad_surrounds_interleaves_and_cuts) {
    static const struct {
        int64_t low[2], high[2], interior[2];
    } cases[] = {{{1, 2}, {3, 0}, {0, 0}},    {{0, 0}, {0, 0}, {2, 1}},  {{-1, 2}, {2, -3}, {0, 0}},
                 {{-3, -4}, {-2, 1}, {1, 2}}, {{-9, 0}, {9, 0}, {0, 0}}, {{5, 0}, {-10, 0}, {0, 0}},
                 {{0, 0}, {0, 0}, {0, 0}},    {{2, 1}, {1, 2}, {3, 0}}};
    FOR_SIZES(d) for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mica_graph *g = new_graph();
        mica_value x = new_parameter(g, by_size[d], MICA_INTS(6, 7));
        mica_value value = new_parameter(g, by_size[d], MICA_NO_INTS);
        void *data[2] = {random_array(mica_value_type(x)), random_array(mica_value_type(value))};
        mica_value y = mica_pad(g, x, value, (mica_ints){cases[i].low, 2},
                                (mica_ints){cases[i].high, 2}, (mica_ints){cases[i].interior, 2});
        CHECK_OK(mica_graph_check(g));
        check_sources(y, (const void *const *)data, pad_source);
        free(data[0]);
        free(data[1]);
        mica_graph_release(g);
    }
}

TEST(concat_puts_operands_side_by_side) {
    for (int64_t axis = 0; axis < 3; axis++) FOR_SIZES(d) {
            mica_graph *g = new_graph();
            mica_value x[4];
            void *data[4];
            static const int64_t lengths[] = {3, 0, 1, 5};
            for (int i = 0; i < 4; i++) {
                int64_t dims[3] = {2, 4, 3};
                dims[axis] = lengths[i];
                x[i] = new_parameter(g, by_size[d], (mica_ints){dims, 3});
                data[i] = random_array(mica_value_type(x[i]));
            }
            mica_value y = mica_concat(g, x, 4, axis);
            char *result = run_everywhere(y, (const void *const *)data);
            const mica_type *type = mica_value_type(y);
            size_t bytes = mica_dtype_bytes(by_size[d]);
            for (int64_t i = 0; result && i < mica_type_elements(type); i++) {
                coordinates c = unravel(type, i);
                int part = 0;
                while (c.at[axis] >= lengths[part]) c.at[axis] -= lengths[part++];
                int64_t from = ravel(mica_value_type(x[part]), &c);
                CHECK(!memcmp(result + (size_t)i * bytes, (char *)data[part] + (size_t)from * bytes,
                              bytes));
            }
            free(result);
            for (int i = 0; i < 4; i++) free(data[i]);
            mica_graph_release(g);
        }
}

TEST(dynamic_slices_clamp_their_start) {
    static const int64_t starts[][2] = {{0, 0}, {2, 3}, {100, -100}, {-7, 100}, {4, 5}};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
        for (int wide = 0; wide < 2; wide++) {
            mica_graph *g = new_graph();
            mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(6, 9));
            mica_value u = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(3, 4));
            mica_value at = new_parameter(g, wide ? MICA_DTYPE_i64 : MICA_DTYPE_i8, MICA_INTS(2));
            float *large = random_array(mica_value_type(x));
            float *small = random_array(mica_value_type(u));
            int64_t start[2], from[2], limit[2] = {3, 5};
            for (int i = 0; i < 2; i++) {
                int64_t clamped = starts[s][i] < 0 ? 0 : starts[s][i];
                from[i] = clamped > limit[i] ? limit[i] : clamped;
                set_element(start, mica_value_type(at)->dtype, i, (double)starts[s][i]);
            }
            const void *read[] = {large, start}, *write[] = {large, small, start};
            float *cut = run_everywhere(mica_dynamic_slice(g, x, at, MICA_INTS(3, 4)), read);
            float *put = run_everywhere(mica_dynamic_update_slice(g, x, u, at), write);
            for (int64_t i = 0; cut && i < 12; i++)
                CHECK(cut[i] == large[(from[0] + i / 4) * 9 + from[1] + i % 4]);
            for (int64_t i = 0; put && i < 54; i++) {
                int64_t r = i / 9 - from[0], c = i % 9 - from[1];
                bool inside = r >= 0 && r < 3 && c >= 0 && c < 4;
                CHECK(put[i] == (inside ? small[r * 4 + c] : large[i]));
            }
            free(cut);
            free(put);
            free(large);
            free(small);
            mica_graph_release(g);
        }
}

TEST(iota_counts_along_its_axis_in_every_dtype) {
    for (mica_dtype d = MICA_DTYPE_i8; d <= MICA_DTYPE_f64; d++)
        for (int64_t axis = 0; axis < 3; axis++) {
            mica_graph *g = new_graph();
            mica_value y = mica_iota(g, MICA_INTS(3, 7, 5), axis, d);
            void *result = run_everywhere(y, NULL);
            for (int64_t i = 0; result && i < 105; i++) {
                coordinates c = unravel(mica_value_type(y), i);
                CHECK(get_element(result, d, i) == (double)c.at[axis]);
            }
            free(result);
            mica_graph_release(g);
        }
}

TEST(a_constant_is_its_bytes) {
    mica_graph *g = new_graph();
    mica_type type = mica_type_make(MICA_DTYPE_i16, MICA_INTS(3));
    int16_t values[] = {5, -6, 7};
    int16_t *y = run_everywhere(mica_constant(g, (mica_data){&type, values}), NULL);
    REQUIRE(y);
    CHECK(!memcmp(y, values, sizeof values));
    free(y);
    mica_graph_release(g);
}

TEST(what_has_no_kernel_is_said_to_be_unsupported) {
    mica_graph *g = new_graph();
    mica_kernel *kernel = NULL;
    mica_type element = mica_type_scalar(MICA_DTYPE_f32);
    mica_value list = mica_list_empty(g, &element), x = mica_parameter(g, &element), out[1];
    CHECK_FAILS(mica_cpu_kernel_create(list.node, &kernel), MICA_UNSUPPORTED, "[constant]");
    CHECK_FAILS(mica_cpu_kernel_create(x.node, &kernel), MICA_UNSUPPORTED, "[parameter]");
    mica_barrier(g, &x, 1, out);
    CHECK_FAILS(mica_cpu_kernel_create(out[0].node, &kernel), MICA_UNSUPPORTED, "[barrier]");
    CHECK(kernel == NULL);
    mica_graph_release(g);
}
