/* Linear algebra with and without a LAPACK: the choice, the bits, the failures. */
#include "cpu_test.h"
#include "device/cpu/lapack.h"
#include "mica/runtime.h"

/* The LAPACK of the tests' numpy when it is there, else the system's. */
static void look_again(const char *setting) {
    char folder[64];
    if (setting)
        setenv("MICA_LAPACK", setting, 1);
    else
        unsetenv("MICA_LAPACK");
    for (int minor = 10; minor < 20; minor++) {
        FILE *file;
        snprintf(folder, sizeof folder, ".venv/lib/python3.%d/site-packages/numpy/version.py",
                 minor);
        if (!(file = fopen(folder, "r"))) continue;
        fclose(file);
        *strstr(folder, "/numpy") = 0;
        CHECK_OK(mica_packages_add(folder));
    }
    mica_cpu_lapack_forget();
}

TEST(lapack_can_be_switched_off) {
    char text[200];
    look_again("off");
    CHECK(!mica_lapack_describe(text, sizeof text));
    CHECK(strstr(text, "MICA_LAPACK") != NULL);
    look_again(NULL);
}

TEST(a_wrong_name_is_told_and_the_built_in_versions_serve) {
    char text[200];
    look_again("libno_such_lapack.so.7");
    CHECK(!mica_lapack_describe(text, sizeof text));
    CHECK(strstr(text, "libno_such_lapack.so.7") != NULL);
    look_again("libm.so.6"); /* a library, but no LAPACK */
    CHECK(!mica_lapack_describe(text, sizeof text));
    look_again(NULL);
}

TEST(a_folder_of_packages_needs_a_name) {
    char long_name[2000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    (void)test_fails(mica_packages_add(NULL), MICA_INVALID_ARGUMENT, "[packages_add]", __FILE__,
                     __LINE__);
    (void)test_fails(mica_packages_add(long_name), MICA_INVALID_ARGUMENT, "too long", __FILE__,
                     __LINE__);
}

TEST(running_out_of_memory_while_looking_is_a_status_and_the_next_look_succeeds) {
    const cpu_lapack *lapack;
    char before[200], after[200];
    bool there = mica_lapack_describe(before, sizeof before);
    look_again(NULL);
    mica_memory_fail_nth(1, true);
    mica_status status = mica_cpu_lapack(&lapack);
    mica_memory_fail_nth(0, false);
    (void)test_fails(status, MICA_OUT_OF_MEMORY, "", __FILE__, __LINE__);
    CHECK(mica_lapack_describe(after, sizeof after) == there);
    if (there) CHECK(!strcmp(before, after));
}

/* A batch of matrices with one that is not finite: the first result has the same bits for every
 * number of threads. */
static void check_bits(const char *op, int64_t m, int64_t n, mica_dtype dtype) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, MICA_INTS(5, m, n)), out[3] = {MICA_NULL_VALUE};
    void *data = random_array(mica_value_type(x));
    for (int64_t i = 0; i < 5 * m; i++) {
        int64_t at = i * n + i % m % n;
        set_element(data, dtype, at, 3 + (double)m + get_element(data, dtype, at));
    }
    set_element(data, dtype, 2 * m * n, NAN);
    if (!strcmp(op, "cholesky"))
        out[0] = mica_cholesky(g, x);
    else if (!strcmp(op, "lu"))
        mica_lu(g, x, out);
    else if (!strcmp(op, "qr"))
        mica_qr(g, x, false, out);
    else if (!strcmp(op, "eigh"))
        mica_eigh(g, x, out);
    else
        mica_svd(g, x, true, out);
    mica_kernel *kernel = NULL;
    REQUIRE_OK(mica_cpu_kernel_create(out[0].node, &kernel));
    void *scratch = aligned_alloc(64, (kernel->scratch_bytes + 127) / 64 * 64);
    void *results[2][3] = {{NULL}};
    for (int t = 0; t < 3; t++) {
        void **into = results[t > 0];
        for (int32_t i = 0; i < out[0].node->n_results; i++) {
            const mica_type *type = &out[0].node->results[i];
            free(into[i]);
            into[i] = calloc(mica_type_bytes(type) + 1, 1);
        }
        CHECK_OK(mica_pool_set_threads(cpu_test_threads[t]));
        mica_cpu_kernel_run(kernel, (const void *[]){data}, into, scratch);
        for (int32_t i = 0; i < out[0].node->n_results && t > 0; i++)
            CHECK(same_bits(&out[0].node->results[i], results[0][i], into[i]));
    }
    CHECK(isfinite(get_element(results[0][0], dtype, 0)));
    for (int i = 0; i < 6; i++) free(results[i / 3][i % 3]);
    free(scratch);
    free(data);
    mica_cpu_kernel_destroy(kernel);
    mica_graph_release(g);
    mica_pool_shutdown();
}

TEST(a_batch_has_the_same_bits_for_any_number_of_threads) {
    static const char *const ops[] = {"cholesky", "lu", "qr", "eigh", "svd"};
    look_again(NULL);
    for (int i = 0; i < 5; i++)
        for (int f64 = 0; f64 < 2; f64++) {
            mica_dtype dtype = f64 ? MICA_DTYPE_f64 : MICA_DTYPE_f32;
            check_bits(ops[i], 65, 65, dtype);
            if (i == 0 || i == 3) continue;
            check_bits(ops[i], 70, 51, dtype);
            check_bits(ops[i], 49, 90, dtype);
        }
}
