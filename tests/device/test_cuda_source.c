/* What codegen writes for the cuda device compiles with the real NVRTC. Needs no GPU. */
#include "codegen/write.h"
#include "device/cuda/attention.h"
#include "device/cuda/steps.h"
#include "test.h"

static bool has_nvrtc(void) {
    const mica_cuda_nvrtc_api *nvrtc;
    mica_status status = mica_cuda_load_nvrtc(&nvrtc);
    if (!status) return true;
    test_skip(mica_status_message(status));
    mica_status_release(status);
    return false;
}

/* Every MAP op that the dtype has and the writer takes, as kernels k0, k1, ... of one text. */
static mica_status write_maps(mica_text *text, mica_dtype dtype, int32_t *out_n) {
    *out_n = 0;
    mica_write_prelude(text, MICA_DIALECT_CUDA);
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        const mica_op_info *info = mica_op_describe((mica_op)op);
        mica_graph *g = NULL;
        mica_nest *nest = NULL;
        mica_value operands[3];
        if (mica_op_class_of((mica_op)op) != MICA_CLASS_MAP || op == MICA_OP_igamma ||
            !mica_op_takes((mica_op)op, dtype))
            continue;
        MICA_TRY(mica_graph_create("map", &g));
        mica_type type = mica_type_make(dtype, MICA_INTS(16));
        for (int32_t i = 0; i < info->arity; i++) operands[i] = mica_parameter(g, &type);
        mica_node *node = mica_node_create(g, (mica_op)op, operands, info->arity, NULL, NULL, 0);
        if (node) mica_output(g, mica_node_result(node, 0));
        mica_status status = mica_graph_check(g);
        if (!status) status = mica_nest_create(g, &nest);
        if (!status) {
            mica_nest_prepare_gpu(nest);
            mica_text_printf(text, "#define ENTRY k%d\n", *out_n);
            mica_write_gpu_kernel(text, nest);
            mica_text_append(text, "#undef ENTRY\n");
            ++*out_n;
        }
        mica_nest_destroy(nest);
        mica_graph_release(g);
        if (status) return status;
    }
    return NULL;
}

static void check_dtype(mica_dtype dtype) {
    char *source = NULL, *image = NULL;
    size_t bytes = 0;
    int32_t n = 0;
    mica_text text;
    mica_text_init(&text);
    REQUIRE_OK(write_maps(&text, dtype, &n));
    REQUIRE_OK(mica_text_finish(&text, &source));
    CHECK(n > 5);
    mica_status compiled = mica_cuda_compile(source, 90, &image, &bytes);
    if (compiled) printf("%s", source);
    mica_free(source);
    REQUIRE_OK(compiled);
    CHECK(bytes > 0);
    mica_free(image);
}

TEST(every_map_row_compiles_for_a_gpu) {
    if (!has_nvrtc()) return;
    check_dtype(MICA_DTYPE_f32);
    check_dtype(MICA_DTYPE_bf16);
    check_dtype(MICA_DTYPE_i32);
    for (int dtype = 0; getenv("MICA_TEST_SOAK") && dtype < MICA_DTYPE_COUNT; dtype++)
        if (mica_dtype_kind_of((mica_dtype)dtype) != MICA_KIND_COMPLEX)
            check_dtype((mica_dtype)dtype);
}

static void check_family(cuda_family family, mica_dtype dtype) {
    char *source = NULL, *image = NULL;
    size_t bytes = 0;
    if (!cuda_family_has(family, dtype)) return;
    REQUIRE_OK(cuda_family_text(family, dtype, &source));
    mica_status compiled = mica_cuda_compile(source, 90, &image, &bytes);
    if (compiled) printf("%s", source);
    mica_free(source);
    REQUIRE_OK(compiled);
    CHECK(bytes > 0);
    mica_free(image);
}

TEST(every_template_compiles_for_a_gpu) {
    if (!has_nvrtc()) return;
    check_family(CUDA_MOVE, MICA_DTYPE_f32);
    check_family(CUDA_COUNTS, MICA_DTYPE_f32);
    bool all = getenv("MICA_TEST_SOAK") != NULL;
    for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
        bool some = dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_bf16 || dtype == MICA_DTYPE_i8;
        for (int family = CUDA_REDUCE; (all || some) && family <= CUDA_POOL; family++)
            check_family((cuda_family)family, (mica_dtype)dtype);
    }
}

static void check_attention(mica_dtype dtype, int32_t head, bool has_mask) {
    char *source = NULL, *image = NULL;
    size_t bytes = 0;
    REQUIRE_OK(cuda_attention_text(dtype, head, has_mask, &source));
    mica_status compiled = mica_cuda_compile(source, 90, &image, &bytes);
    mica_free(source);
    REQUIRE_OK(compiled);
    CHECK(bytes > 0);
    mica_free(image);
}

TEST(attention_compiles_for_a_gpu) {
    if (!has_nvrtc()) return;
    check_attention(MICA_DTYPE_bf16, 64, false);
    for (int32_t head = 16; getenv("MICA_TEST_SOAK") && head <= 128; head += 16) {
        check_attention(MICA_DTYPE_bf16, head, true);
        check_attention(MICA_DTYPE_f16, head, false);
    }
}

TEST(a_source_with_a_mistake_answers_the_compilers_words) {
    if (!has_nvrtc()) return;
    char *image = NULL;
    size_t bytes = 0;
    CHECK_FAILS(mica_cuda_compile("__global__ void f() { nothing(); }", 90, &image, &bytes),
                MICA_INTERNAL, "\"nothing\" is undefined");
    CHECK_FAILS(mica_cuda_compile("", 10, &image, &bytes), MICA_UNSUPPORTED,
                "cannot compile for compute capability 1.0");
    CHECK(image == NULL);
}
