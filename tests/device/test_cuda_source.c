/* The CUDA source of every MAP row is written for every dtype and compiles. Needs NVRTC, no GPU. */
#include "device/cuda/cuda.h"
#include "test.h"

static bool is_map(mica_op op) {
    return strcmp(mica_op_describe(op)->op_class, "MAP") == 0;
}

/* Whether the row's dtypes column admits this dtype; complex has no kernels. */
static bool admits(mica_op op, mica_dtype dtype) {
    return mica_op_takes(op, dtype) && mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX;
}

TEST(the_source_of_a_map_row_calls_its_expression_for_the_dtype) {
    char *source = NULL;
    REQUIRE_OK(mica_cuda_write_map(MICA_OP_clamp, MICA_DTYPE_i16, &source));
    CHECK(strstr(source, "result[k] = mica_min_i16(mica_max_i16(a, b), c);") != NULL);
    mica_free(source);
    REQUIRE_OK(mica_cuda_write_map(MICA_OP_tanh, MICA_DTYPE_bf16, &source));
    CHECK(strstr(source, "float a = mica_convert_bf16_f32(x0[i]);") != NULL);
    CHECK(strstr(source, "result[k] = mica_convert_f32_bf16(mica_tanh_f32(a));") != NULL);
    mica_free(source);
}

TEST(rows_that_are_no_map_and_complex_dtypes_are_unsupported) {
    char *source = NULL;
    CHECK_FAILS(mica_cuda_write_map(MICA_OP_dot, MICA_DTYPE_f32, &source), MICA_UNSUPPORTED,
                "[dot] the cuda device runs element-by-element primitives only");
    CHECK_FAILS(mica_cuda_write_map(MICA_OP_add, MICA_DTYPE_c64, &source), MICA_UNSUPPORTED,
                "[add] the cuda device has no c64");
    CHECK(source == NULL);
}

TEST(every_map_row_compiles_for_a_gpu) {
    const mica_cuda_nvrtc_api *nvrtc;
    mica_status status = mica_cuda_load_nvrtc(&nvrtc);
    if (status) {
        test_skip(mica_status_message(status));
        mica_status_release(status);
        return;
    }
    int every = getenv("MICA_TEST_SOAK") ? 1 : getenv("MICA_TEST_QUICK") ? 16 : 4;
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        if (!is_map((mica_op)op)) continue;
        for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
            if (!admits((mica_op)op, (mica_dtype)dtype)) continue;
            bool always = dtype == MICA_DTYPE_f32 && every < 16;
            if (!always && (op * 7 + dtype) % every != 0) continue;
            char *source = NULL, *image = NULL;
            size_t bytes = 0;
            REQUIRE_OK(mica_cuda_write_map((mica_op)op, (mica_dtype)dtype, &source));
            mica_status compiled = mica_cuda_compile(source, 90, &image, &bytes);
            if (compiled) printf("%s", source);
            mica_free(source);
            REQUIRE_OK(compiled);
            CHECK(bytes > 0);
            mica_free(image);
        }
    }
}

TEST(a_source_with_a_mistake_answers_the_compilers_words) {
    const mica_cuda_nvrtc_api *nvrtc;
    mica_status status = mica_cuda_load_nvrtc(&nvrtc);
    if (status) {
        test_skip(mica_status_message(status));
        mica_status_release(status);
        return;
    }
    char *image = NULL;
    size_t bytes = 0;
    CHECK_FAILS(mica_cuda_compile("__global__ void f() { nothing(); }", 90, &image, &bytes),
                MICA_INTERNAL, "\"nothing\" is undefined");
    CHECK_FAILS(mica_cuda_compile("", 10, &image, &bytes), MICA_UNSUPPORTED,
                "cannot compile for compute capability 1.0");
    CHECK(image == NULL);
}
