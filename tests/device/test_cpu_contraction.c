/* Contractions with what follows them: the bits of the nodes one by one. */
#include "cpu_test.h"
#include "device/cpu/winograd.h"
#include "ir/contraction.h"

/* All values of a body, node by node; the caller frees them. */
static void **run_nodes(const mica_graph *body, void *const *operands) {
    void **values = calloc((size_t)body->n_nodes, sizeof *values);
    for (int32_t i = 0, parameter = 0; i < body->n_nodes; i++) {
        const mica_node *n = body->nodes[i];
        size_t bytes = mica_type_bytes(&n->results[0]);
        const void *of[8] = {NULL};
        for (int32_t k = 0; k < n->n_operands; k++) of[k] = values[n->operands[k].node->id];
        if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_constant) {
            values[i] = calloc(1, bytes + 16);
            memcpy(values[i],
                   n->op == MICA_OP_constant ? n->attrs[0].as.data.bytes : operands[parameter++],
                   bytes);
        } else {
            values[i] = run_once((mica_value){(mica_node *)n, 0}, of, -1, 0);
        }
    }
    return values;
}

/* The kernel of a call, its results among guards. */
static void run_call(const mica_node *call, void *const *operands, void **want) {
    mica_kernel *kernel = NULL;
    if (!test_ok(mica_cpu_kernel_create(call, &kernel), __FILE__, __LINE__, "kernel_create"))
        return;
    void *results[MICA_CONTRACTION_RESULTS] = {NULL};
    for (int32_t i = 0; i < call->n_results; i++) {
        size_t bytes = mica_type_bytes(&call->results[i]);
        results[i] = aligned_alloc(64, (bytes + 191) / 64 * 64);
        memset(results[i], 0xAB, bytes + 64);
    }
    void *scratch = aligned_alloc(64, (kernel->scratch_bytes + 127) / 64 * 64);
    mica_cpu_kernel_run(kernel, (const void *const *)operands, results, scratch);
    for (int32_t i = 0; i < call->n_results; i++) {
        size_t bytes = mica_type_bytes(&call->results[i]);
        CHECK(same_bits(&call->results[i], want[i], results[i]));
        CHECK(((unsigned char *)results[i])[bytes] == 0xAB);
        free(results[i]);
    }
    free(scratch);
    mica_cpu_kernel_destroy(kernel);
}

/* Takes the body. */
static void check_body(mica_graph *body) {
    CHECK_OK(mica_graph_check(body));
    mica_graph *g = new_graph();
    mica_value in[8], out[MICA_CONTRACTION_RESULTS];
    void *operands[8], *want[MICA_CONTRACTION_RESULTS];
    for (int32_t i = 0; i < body->n_parameters; i++) {
        in[i] = mica_parameter(g, mica_value_type(body->parameters[i]));
        operands[i] = random_array(mica_value_type(in[i]));
    }
    mica_call(g, MICA_CONTRACTION, "", body, NULL, NULL, in, body->n_parameters, out);
    CHECK_OK(mica_graph_check(g));
    void **values = run_nodes(body, operands);
    for (int32_t i = 0; i < body->n_outputs; i++) want[i] = values[body->outputs[i].node->id];
    for (int isa = 0; isa < 3 && out[0].node; isa++) {
        if (!mica_cpu_isa_force(cpu_test_isas[isa])) continue;
        for (int t = 0; t < 2; t++) {
            CHECK_OK(mica_pool_set_threads(cpu_test_threads[t]));
            run_call(out[0].node, operands, want);
        }
    }
    mica_cpu_isa_force(NULL);
    CHECK_OK(mica_pool_set_threads(0));
    for (int32_t i = 0; i < body->n_nodes; i++) free(values[i]);
    free(values);
    for (int32_t i = 0; i < body->n_parameters; i++) free(operands[i]);
    mica_graph_release(body);
    mica_graph_release(g);
}

static mica_value scalar(mica_graph *g, mica_value like, double value) {
    mica_type type = *mica_value_type(like);
    return mica_broadcast(g, mica_scalar(g, type.dtype, value), (mica_ints){type.dims, type.rank},
                          MICA_NO_INTS);
}

static mica_value along(mica_graph *g, mica_value like, int64_t axis) {
    mica_type type = *mica_value_type(like);
    mica_value x = new_parameter(g, type.dtype, MICA_INTS(type.dims[axis]));
    return mica_broadcast(g, x, (mica_ints){type.dims, type.rank}, MICA_INTS(axis));
}

/* bias along an axis, tanh-gelu, a residual; with the sum before the activation as a result. */
static void add_layer(mica_graph *g, mica_value product, int64_t axis, bool keeps) {
    mica_value sum = mica_add(g, product, along(g, product, axis));
    mica_value cube = mica_mul(g, sum, mica_mul(g, sum, sum));
    mica_value inner = mica_add(g, sum, mica_mul(g, scalar(g, product, 0.044715), cube));
    mica_value half = mica_mul(g, scalar(g, product, 0.5), sum);
    mica_value gate = mica_tanh(g, mica_mul(g, scalar(g, product, 0.7978846), inner));
    mica_value y = mica_mul(g, half, mica_add(g, scalar(g, product, 1), gate));
    mica_type type = *mica_value_type(product);
    mica_value rest = new_parameter(g, type.dtype, (mica_ints){type.dims, type.rank});
    mica_output(g, mica_add(g, y, rest));
    if (keeps) mica_output(g, sum);
}

static mica_value product_of(mica_graph *g, mica_dtype dtype, int64_t m, int64_t k, int64_t n) {
    mica_value x = new_parameter(g, dtype, MICA_INTS(m, k));
    mica_value y = new_parameter(g, dtype, MICA_INTS(k, n));
    return mica_dot(g, x, y, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS);
}

TEST(a_product_with_bias_activation_and_residual_has_the_same_bits) {
    static const int64_t sizes[][3] = {{3, 5, 7},      {64, 128, 512}, {130, 300, 70},
                                       {400, 520, 90}, {9, 8500, 40},  {1, 64, 600}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int axis = 0; axis < 2; axis++) {
            mica_graph *g = new_graph();
            mica_dtype dtype = i == 2 ? MICA_DTYPE_f64 : MICA_DTYPE_f32;
            mica_value product = product_of(g, dtype, sizes[i][0], sizes[i][1], sizes[i][2]);
            add_layer(g, product, axis, i % 2);
            check_body(g);
        }
}

TEST(a_convolution_with_bias_and_activation_has_the_same_bits) {
    static const char *const layouts[] = {"N01C,01IO,N01C", "NC01,OI01,NC01", "NC01,01IO,N01C"};
    mica_ints one = MICA_INTS(1, 1);
    for (int i = 0; i < 3; i++) {
        mica_graph *g = new_graph();
        mica_value x =
            new_parameter(g, MICA_DTYPE_f32, i ? MICA_INTS(3, 20, 9, 9) : MICA_INTS(3, 9, 9, 20));
        mica_value w = new_parameter(g, MICA_DTYPE_f32,
                                     i == 1 ? MICA_INTS(40, 20, 3, 3) : MICA_INTS(3, 3, 20, 40));
        mica_value y = mica_conv(g, x, w, layouts[i], one, one, one, one, one, 1, 1);
        add_layer(g, y, i == 1 ? 1 : 3, true);
        check_body(g);
    }
}

TEST(a_convolution_with_fewer_products_tells_of_every_line_once) {
    mica_ints one = MICA_INTS(1, 1);
    mica_cpu_winograd_prefer(1);
    for (int i = 0; i < 4; i++) {
        mica_graph *g = new_graph();
        bool is_gradient = i == 2;
        mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(3, 9, 9, 20));
        mica_value w = new_parameter(
            g, MICA_DTYPE_f32, is_gradient ? MICA_INTS(3, 9, 9, 40) : MICA_INTS(3, 3, 20, 40));
        const char *layout = is_gradient ? "C01N,I01O,01NC"
                             : i == 3    ? "N01C,01IO,1N0C"
                                         : "N01C,01IO,N01C";
        mica_value y =
            mica_conv(g, x, w, layout, one, one, i ? one : MICA_INTS(30, 31), one, one, 1, 1);
        add_layer(g, y, 3, i == 1);
        check_body(g);
    }
    mica_cpu_winograd_prefer(0);
}

TEST(the_product_itself_may_be_a_result_and_masks_may_be_operands) {
    mica_graph *g = new_graph();
    mica_value y = product_of(g, MICA_DTYPE_f32, 50, 40, 70);
    mica_value mask = new_parameter(g, MICA_DTYPE_bool, MICA_INTS(50, 70));
    mica_value zero = scalar(g, y, 0);
    mica_output(g, mica_select(g, mask, y, zero));
    mica_output(g, mica_compare(g, y, zero, "gt"));
    mica_output(g, y);
    check_body(g);
}

TEST(other_dtypes_and_one_element_are_finished_too) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_f16, MICA_DTYPE_bf16, MICA_DTYPE_i32,
                                        MICA_DTYPE_c64};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        mica_graph *g = new_graph();
        mica_value y = product_of(g, dtypes[i], 30, 40, 50);
        y = mica_mul(g, mica_add(g, y, along(g, y, 1)), y);
        mica_output(g, dtypes[i] == MICA_DTYPE_f16 ? mica_convert(g, y, MICA_DTYPE_f32) : y);
        check_body(g);
    }
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(9));
    mica_value y = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(9));
    mica_value z = mica_dot(g, x, y, MICA_INTS(0), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS);
    mica_output(g, mica_add(g, z, new_parameter(g, MICA_DTYPE_f32, MICA_NO_INTS)));
    check_body(g);
}

static void check_refused(mica_graph *body, const char *why) {
    const mica_node *product;
    mica_status status = mica_contraction_check(body, &product);
    CHECK(mica_status_code(status) == MICA_UNSUPPORTED);
    if (status) CHECK(strstr(mica_status_message(status), why));
    mica_status_release(status);
    mica_graph_release(body);
}

TEST(bodies_that_are_something_else_are_refused_with_a_reason) {
    mica_graph *g = new_graph();
    mica_output(g, mica_neg(g, new_parameter(g, MICA_DTYPE_f32, MICA_INTS(4))));
    check_refused(g, "no product");
    g = new_graph();
    mica_value y = product_of(g, MICA_DTYPE_f32, 4, 4, 4);
    mica_output(g, mica_add(g, y, product_of(g, MICA_DTYPE_f32, 4, 4, 4)));
    check_refused(g, "more than one product");
    g = new_graph();
    y = product_of(g, MICA_DTYPE_f32, 4, 5, 6);
    mica_output(g, mica_transpose(g, y, MICA_INTS(1, 0)));
    check_refused(g, "transpose");
}

TEST(without_memory_a_kernel_is_a_status) {
    mica_graph *body = new_graph(), *g = new_graph();
    mica_value in[4], out[1];
    add_layer(body, product_of(body, MICA_DTYPE_f32, 4, 5, 6), 1, false);
    CHECK_OK(mica_graph_check(body));
    for (int32_t i = 0; i < body->n_parameters; i++)
        in[i] = mica_parameter(g, mica_value_type(body->parameters[i]));
    mica_call(g, MICA_CONTRACTION, "", body, NULL, NULL, in, body->n_parameters, out);
    CHECK_OK(mica_graph_check(g));
    int64_t before = mica_memory_live_blocks();
    for (int64_t n = 1;; n++) {
        mica_kernel *kernel = NULL;
        mica_memory_fail_nth(n, false);
        mica_status status = mica_cpu_kernel_create(out[0].node, &kernel);
        mica_memory_fail_nth(0, false);
        if (!status) {
            mica_cpu_kernel_destroy(kernel);
            break;
        }
        CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        CHECK(!kernel);
        mica_status_release(status);
        CHECK(mica_memory_live_blocks() == before);
    }
    mica_graph_release(body);
    mica_graph_release(g);
}
