/* dot against plain loops in double. */
#include "cpu_test.h"
#include "device/cpu/contract.h"

/* Offset of an operand's element given its batch, contracted and free digits. */
static int64_t place(const mica_type *type, mica_ints batch, mica_ints contract, int64_t b,
                     int64_t k, int64_t free_index, const int64_t *batch_dims,
                     const int64_t *contract_dims) {
    int64_t at[MICA_MAX_RANK];
    uint32_t taken = 0;
    for (int32_t i = batch.n - 1; i >= 0; i--) {
        at[batch.data[i]] = b % batch_dims[i];
        b /= batch_dims[i];
        taken |= 1u << batch.data[i];
    }
    for (int32_t i = contract.n - 1; i >= 0; i--) {
        at[contract.data[i]] = k % contract_dims[i];
        k /= contract_dims[i];
        taken |= 1u << contract.data[i];
    }
    for (int32_t i = type->rank - 1; i >= 0; i--) {
        if (taken >> i & 1) continue;
        at[i] = free_index % type->dims[i];
        free_index /= type->dims[i];
    }
    int64_t offset = 0;
    for (int32_t i = 0; i < type->rank; i++) offset = offset * type->dims[i] + at[i];
    return offset;
}

static void check_dot(mica_dtype dtype, mica_ints x_dims, mica_ints y_dims, mica_ints x_contract,
                      mica_ints y_contract, mica_ints x_batch, mica_ints y_batch) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, x_dims), y = new_parameter(g, dtype, y_dims);
    mica_value z = mica_dot(g, x, y, x_contract, y_contract, x_batch, y_batch);
    CHECK_OK(mica_graph_check(g));
    void *data[2] = {random_array(mica_value_type(x)), random_array(mica_value_type(y))};
    void *result = run_everywhere(z, (const void *const *)data);
    int64_t batches = 1, sum = 1, batch_dims[8], sum_dims[8];
    for (int32_t i = 0; i < x_batch.n; i++) batches *= batch_dims[i] = x_dims.data[x_batch.data[i]];
    for (int32_t i = 0; i < x_contract.n; i++) sum *= sum_dims[i] = x_dims.data[x_contract.data[i]];
    const mica_type *xt = mica_value_type(x), *yt = mica_value_type(y);
    int64_t m = 1, n = 1, all = mica_type_elements(mica_value_type(z));
    if (all) {
        m = sum ? mica_type_elements(xt) / batches / sum : x_dims.data[0];
        n = all / batches / m;
    }
    double epsilon = dtype_epsilon(dtype), working = epsilon > 0x1p-24 ? 0x1p-24 : epsilon;
    /* A sample of the elements when there are many. */
    int64_t step = 1 + all * sum / 4000000;
    for (int64_t i = 0; result && i < all; i += step) {
        double want = 0, size = 0;
        for (int64_t k = 0; k < sum; k++) {
            int64_t b = i / m / n;
            double p =
                get_element(data[0], dtype,
                            place(xt, x_batch, x_contract, b, k, i / n % m, batch_dims, sum_dims));
            double q = get_element(
                data[1], dtype, place(yt, y_batch, y_contract, b, k, i % n, batch_dims, sum_dims));
            want += p * q;
            size += fabs(p * q);
        }
        double got = get_element(result, dtype, i);
        bool right =
            epsilon ? fabs(got - want) <= working * size * 24 + epsilon * fabs(want) * 1.01 : true;
        if (!epsilon) {
            int64_t wide = (int64_t)want;
            size_t bytes = mica_dtype_bytes(dtype);
            right = !memcmp(&wide, (char *)result + (size_t)i * bytes, bytes);
        }
        test_checks++;
        if (!right) {
            test_report(__FILE__, __LINE__,
                        "%s element %lld of %lldx%lldx%lldx%lld: %.9g, not %.9g",
                        mica_dtype_name(dtype), (long long)i, (long long)batches, (long long)m,
                        (long long)n, (long long)sum, got, want);
            break;
        }
    }
    free(result);
    free(data[0]);
    free(data[1]);
    mica_graph_release(g);
}

#define NONE MICA_NO_INTS
#define ONE(i) MICA_INTS(i)

static void check_matmul(mica_dtype dtype, int64_t m, int64_t k, int64_t n) {
    check_dot(dtype, MICA_INTS(m, k), MICA_INTS(k, n), ONE(1), ONE(0), NONE, NONE);
}

TEST(products_of_odd_sizes_in_every_dtype) {
    static const int64_t sizes[][3] = {{1, 1, 1},    {2, 3, 4},    {13, 7, 33},  {12, 16, 32},
                                       {25, 40, 65}, {1, 300, 50}, {50, 300, 1}, {7, 1, 5}};
    for (mica_dtype d = MICA_DTYPE_i8; d <= MICA_DTYPE_f64; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_matmul(d, sizes[i][0], sizes[i][1], sizes[i][2]);
}

TEST(large_products_are_right_in_every_mode) {
    check_matmul(MICA_DTYPE_f32, 200, 520, 70); /* shared */
    check_matmul(MICA_DTYPE_f32, 20, 300, 200); /* local */
    check_matmul(MICA_DTYPE_f32, 300, 300, 10); /* exchanged */
    check_matmul(MICA_DTYPE_f32, 25, 9000, 32); /* split */
    check_matmul(MICA_DTYPE_f64, 150, 300, 40);
    check_matmul(MICA_DTYPE_f64, 15, 1200, 20);
    check_matmul(MICA_DTYPE_bf16, 200, 300, 40);
    check_matmul(MICA_DTYPE_f16, 15, 1200, 20);
    check_matmul(MICA_DTYPE_i16, 210, 300, 40);
    check_matmul(MICA_DTYPE_i64, 20, 1200, 40);
}

/* m x k by k x n in near sums over several blocks of k, and in c, block by block. */
static void check_far(mica_dtype dtype, int64_t m, int64_t k, int64_t n) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, MICA_INTS(m, k));
    mica_value y = new_parameter(g, dtype, MICA_INTS(k, n));
    mica_value z = mica_dot(g, x, y, ONE(1), ONE(0), NONE, NONE);
    const void *data[2] = {random_array(mica_value_type(x)), random_array(mica_value_type(y))};
    void *results[3];
    for (int i = 0; i < 3; i++) {
        mica_cpu_contract_share((int64_t)i << 20);
        results[i] = run_everywhere(z, data);
        CHECK(results[0] && results[i] && same_bits(mica_value_type(z), results[0], results[i]));
    }
    mica_cpu_contract_share(0);
    for (int i = 0; i < 3; i++) free(results[i]);
    free((void *)data[0]);
    free((void *)data[1]);
    mica_graph_release(g);
}

TEST(sums_of_several_blocks_of_k_are_those_of_one_after_the_other) {
    check_far(MICA_DTYPE_f32, 131, 1300, 69);
    check_far(MICA_DTYPE_f32, 140, 2300, 96);
    check_far(MICA_DTYPE_f64, 90, 600, 70);
    check_far(MICA_DTYPE_bf16, 200, 520, 64);
    check_far(MICA_DTYPE_i32, 140, 600, 80);
    check_far(MICA_DTYPE_c64, 140, 520, 70);
}

TEST(operands_that_are_read_as_they_lie_give_the_same) {
    static const int64_t rows[] = {1, 3, 4, 8, 15, 48, 64, 65, 516}, columns[] = {16, 32, 69, 256};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++) {
            int64_t m = rows[i], n = columns[j], k = 300 + (int64_t)i;
            check_matmul(MICA_DTYPE_f32, m, k, n);
            check_dot(j % 2 ? MICA_DTYPE_f32 : MICA_DTYPE_f64, MICA_INTS(k, m), MICA_INTS(k, n),
                      ONE(0), ONE(0), NONE, NONE);
        }
}

TEST(a_long_sum_of_few_elements_is_cut_by_shape_alone) {
    check_matmul(MICA_DTYPE_f32, 40, 9000, 24);
    check_matmul(MICA_DTYPE_f64, 5, 8200, 70);
    check_matmul(MICA_DTYPE_f16, 13, 8193, 9);
    check_matmul(MICA_DTYPE_i8, 9, 10000, 33);
}

TEST(a_matrix_by_a_vector_is_right_however_it_lies) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_i32,
                                        MICA_DTYPE_i64, MICA_DTYPE_bf16};
    static const int64_t sizes[][2] = {{3, 2}, {7, 63}, {130, 65}, {65, 300}, {1100, 259}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int64_t n = sizes[i][0], k = sizes[i][1];
            check_dot(dtypes[d], MICA_INTS(n, k), MICA_INTS(k), ONE(1), ONE(0), NONE, NONE);
            check_dot(dtypes[d], MICA_INTS(k, n), MICA_INTS(k), ONE(0), ONE(0), NONE, NONE);
            check_dot(dtypes[d], MICA_INTS(k), MICA_INTS(k, n), ONE(0), ONE(0), NONE, NONE);
            check_dot(dtypes[d], MICA_INTS(k), MICA_INTS(n, k), ONE(0), ONE(1), NONE, NONE);
        }
}

/* The matrix is (n, k) when by_rows, else (k, n). */
static void check_complex_vector(mica_dtype dtype, bool by_rows, int64_t n, int64_t k) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, by_rows ? MICA_INTS(n, k) : MICA_INTS(k, n));
    mica_value y = new_parameter(g, dtype, MICA_INTS(k));
    mica_value z = mica_dot(g, x, y, ONE(by_rows), ONE(0), NONE, NONE);
    CHECK_OK(mica_graph_check(g));
    mica_dtype real = dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32 : MICA_DTYPE_f64;
    const mica_type *types[2] = {mica_value_type(x), mica_value_type(y)};
    void *data[2];
    for (int i = 0; i < 2; i++) {
        int64_t parts = 2 * mica_type_elements(types[i]);
        data[i] = malloc((size_t)parts * mica_dtype_bytes(real));
        for (int64_t j = 0; j < parts; j++) set_element(data[i], real, j, 2 * random_unit() - 1);
    }
    void *result = run_everywhere(z, (const void *const *)data);
    for (int64_t i = 0; result && i < n; i++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t at = by_rows ? i * k + j : j * n + i;
            double a = get_element(data[0], real, 2 * at);
            double b = get_element(data[0], real, 2 * at + 1);
            double c = get_element(data[1], real, 2 * j);
            double d = get_element(data[1], real, 2 * j + 1);
            re += a * c - b * d, im += a * d + b * c;
        }
        double bound = (double)k * (real == MICA_DTYPE_f32 ? 0x1p-23 : 0x1p-51);
        CHECK(fabs(get_element(result, real, 2 * i) - re) <= bound);
        CHECK(fabs(get_element(result, real, 2 * i + 1) - im) <= bound);
    }
    free(result);
    free(data[0]);
    free(data[1]);
    mica_graph_release(g);
}

TEST(a_complex_matrix_by_a_vector_is_right_however_it_lies) {
    static const int64_t sizes[][2] = {{3, 2}, {7, 31}, {130, 17}, {65, 300}, {1100, 518}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int by_rows = 0; by_rows < 2; by_rows++) {
            check_complex_vector(MICA_DTYPE_c64, by_rows, sizes[i][0], sizes[i][1]);
            check_complex_vector(MICA_DTYPE_c128, by_rows, sizes[i][0], sizes[i][1]);
        }
}

TEST(both_operands_may_be_transposed) {
    check_dot(MICA_DTYPE_f32, MICA_INTS(70, 50), MICA_INTS(70, 90), ONE(0), ONE(0), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(50, 70), MICA_INTS(90, 70), ONE(1), ONE(1), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(70, 50), MICA_INTS(90, 70), ONE(0), ONE(1), NONE, NONE);
    check_dot(MICA_DTYPE_f64, MICA_INTS(70, 50), MICA_INTS(90, 70), ONE(0), ONE(1), NONE, NONE);
}

TEST(batches_may_be_any_axes) {
    check_dot(MICA_DTYPE_f32, MICA_INTS(5, 6, 7), MICA_INTS(5, 7, 8), ONE(2), ONE(1), ONE(0),
              ONE(0));
    check_dot(MICA_DTYPE_f32, MICA_INTS(6, 5, 7), MICA_INTS(7, 8, 5), ONE(2), ONE(0), ONE(1),
              ONE(2));
    check_dot(MICA_DTYPE_f32, MICA_INTS(2, 3, 40, 30), MICA_INTS(3, 30, 2, 20), ONE(3), ONE(1),
              MICA_INTS(0, 1), MICA_INTS(2, 0));
    check_dot(MICA_DTYPE_f32, MICA_INTS(4, 200, 20), MICA_INTS(4, 20, 30), ONE(2), ONE(1), ONE(0),
              ONE(0));
    check_dot(MICA_DTYPE_i32, MICA_INTS(9), MICA_INTS(9), NONE, NONE, ONE(0), ONE(0));
}

TEST(several_axes_may_be_contracted) {
    check_dot(MICA_DTYPE_f32, MICA_INTS(4, 5, 6), MICA_INTS(6, 4, 7), MICA_INTS(0, 2),
              MICA_INTS(1, 0), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(5, 3, 2, 7), MICA_INTS(2, 8, 7, 3), MICA_INTS(3, 1, 2),
              MICA_INTS(2, 3, 0), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(4, 5), MICA_INTS(4, 5), MICA_INTS(0, 1), MICA_INTS(0, 1),
              NONE, NONE);
}

TEST(vectors_scalars_outer_products_and_nothing) {
    check_dot(MICA_DTYPE_f32, MICA_INTS(1000), MICA_INTS(1000), ONE(0), ONE(0), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(9), MICA_INTS(11), NONE, NONE, NONE, NONE);
    check_dot(MICA_DTYPE_f32, NONE, NONE, NONE, NONE, NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(3, 0), MICA_INTS(0, 4), ONE(1), ONE(0), NONE, NONE);
    check_dot(MICA_DTYPE_f32, MICA_INTS(0, 3), MICA_INTS(3, 4), ONE(1), ONE(0), NONE, NONE);
    check_dot(MICA_DTYPE_f16, MICA_INTS(3, 0), MICA_INTS(0, 4), ONE(1), ONE(0), NONE, NONE);
}

TEST(without_memory_a_kernel_is_a_status) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(4, 4)), y[16];
    mica_type vector = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    int n = 0;
    y[n++] = mica_dot(g, x, x, ONE(1), ONE(0), NONE, NONE);
    y[n++] = mica_dot(g, x, mica_parameter(g, &vector), ONE(1), ONE(0), NONE, NONE);
    y[n++] = mica_add(g, x, x);
    y[n++] = mica_reduce(g, x, "sum", ONE(0));
    y[n++] = mica_transpose(g, x, MICA_INTS(1, 0));
    y[n++] = mica_concat(g, (mica_value[]){x, x}, 2, 0);
    y[n++] = mica_iota(g, MICA_INTS(3), 0, MICA_DTYPE_f32);
    y[n++] = mica_argmax(g, x, 0, MICA_DTYPE_i32);
    y[n++] = mica_scalar(g, MICA_DTYPE_f32, 1);
    mica_value image = mica_reshape(g, x, MICA_INTS(1, 4, 4, 1));
    y[n++] = mica_conv(g, image, image, "N01C,I01O,N01C", MICA_INTS(1, 1), MICA_INTS(0, 0),
                       MICA_INTS(0, 0), MICA_INTS(1, 1), MICA_INTS(1, 1), 1, 1);
    CHECK_OK(mica_graph_check(g));
    for (int i = 0; i < n; i++) {
        int64_t before = mica_memory_live_blocks();
        mica_kernel *kernel = (mica_kernel *)g;
        REQUIRE(y[i].node);
        mica_memory_fail_nth(1, true);
        mica_status status = mica_cpu_kernel_create(y[i].node, &kernel);
        mica_memory_fail_nth(0, false);
        CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "");
        CHECK(kernel == NULL);
        CHECK(mica_memory_live_blocks() == before);
        REQUIRE_OK(mica_cpu_kernel_create(y[i].node, &kernel));
        mica_cpu_kernel_destroy(kernel);
    }
    mica_graph_release(g);
}
