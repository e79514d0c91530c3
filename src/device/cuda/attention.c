/* mica.attention and mica.attention.back (nn/attend.c) of f16 and bf16 without the matrix of
 * scores (prelude/attention.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/write.h"
#include "compile/passes.h"
#include "device/cuda/attention.h"
#include "device/cuda/steps.h"

enum { Q, K, V, MASK, Y, LOGS, DY, DLOGS, OPERANDS, WIDEST = 128, MOST = 1 << 30 };

typedef struct found {
    mica_attention_arguments arguments;
    mica_dtype dtype;
    int32_t place[OPERANDS]; /* of each operand in the node's; -1: it is not there */
    int32_t head;            /* its size, padded */
    bool is_back, has_mask;
} found;

/* ---- claims -----------------------------------------------------------------------------------*/

static bool is_dense(const mica_type *type, mica_dtype dtype) {
    return type->kind == MICA_TENSOR && type->dtype == dtype && mica_type_elements(type) > 0;
}

/* As q, but for the size of the axis before the last. */
static bool is_like(const mica_type *x, const mica_type *q) {
    if (!is_dense(x, q->dtype) || x->rank != q->rank) return false;
    for (int32_t i = 0; i < q->rank; i++)
        if (i != q->rank - 2 && x->dims[i] != q->dims[i]) return false;
    return true;
}

/* A number for each query. */
static bool is_of_queries(const mica_type *x, const mica_type *q) {
    if (!is_dense(x, MICA_DTYPE_f32) || x->rank != q->rank - 1) return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != q->dims[i]) return false;
    return true;
}

/* A mask of bools that is stretched to (batch..., queries, keys). */
static bool find_mask(const mica_type *mask, const mica_type *q, mica_attention_arguments *a) {
    int64_t strides[MICA_MAX_RANK], full[MICA_MAX_RANK];
    int32_t before = q->rank - mask->rank;
    if (!is_dense(mask, MICA_DTYPE_bool) || before < 0) return false;
    cuda_strides(mask, strides);
    cuda_space_init(&a->mask_batch);
    for (int32_t i = 0; i < q->rank; i++) {
        int64_t size = i == q->rank - 1 ? a->keys : q->dims[i];
        int64_t own = i < before ? 1 : mask->dims[i - before];
        if (own != 1 && own != size) return false;
        full[i] = own == 1 ? 0 : strides[i - before];
        if (i < q->rank - 2) cuda_space_add(&a->mask_batch, size, full[i]);
    }
    a->mask_row = full[q->rank - 2];
    a->mask_key = full[q->rank - 1];
    return true;
}

static bool find_settings(const mica_node *call, mica_attention_arguments *a) {
    double scale;
    int causal, end = 0;
    const char *config = mica_node_string(call, "config");
    if (sscanf(config, "scale=%lf causal=%d%n", &scale, &causal, &end) != 2 || config[end])
        return false;
    a->scale = (float)scale;
    a->causal = causal;
    return a->scale > 0 && a->scale < INFINITY;
}

/* The blocks of a launch are counted with 31 bits. */
static bool is_countable(const mica_attention_arguments *a) {
    int64_t longest = a->queries > a->keys ? a->queries : a->keys;
    return longest < MOST && a->batch < MOST && a->batch * (longest / 16 + 1) < MOST;
}

static void find_places(found *f, int32_t n) {
    int32_t plain = f->is_back ? OPERANDS - 1 : MASK;
    f->has_mask = n == plain + 1;
    for (int32_t i = 0; i < OPERANDS; i++) {
        f->place[i] = i > MASK && !f->has_mask ? i - 1 : i;
        if (f->place[i] >= n || (i == MASK && !f->has_mask)) f->place[i] = -1;
    }
}

static bool find(const mica_node *call, bool is_back, found *f) {
    int32_t plain = is_back ? OPERANDS - 1 : MASK, n = call->n_operands;
    if (n != plain && n != plain + 1) return false;
    *f = (found){.is_back = is_back};
    find_places(f, n);
    const mica_type *q = mica_operand_type(call, Q), *k = mica_operand_type(call, K);
    if (q->kind != MICA_TENSOR || (q->dtype != MICA_DTYPE_f16 && q->dtype != MICA_DTYPE_bf16) ||
        q->rank < 2 || !is_like(q, q) || !is_like(k, q) ||
        !mica_type_equal(k, mica_operand_type(call, V)))
        return false;
    mica_attention_arguments *a = &f->arguments;
    f->dtype = q->dtype;
    a->queries = q->dims[q->rank - 2];
    a->keys = k->dims[q->rank - 2];
    a->size = q->dims[q->rank - 1];
    a->batch = mica_type_elements(q) / (a->queries * a->size);
    f->head = (int32_t)(a->size + 15) / 16 * 16;
    if (a->size > WIDEST || a->size % 8 != 0 || !is_countable(a) || !find_settings(call, a))
        return false;
    a->padded =
        (a->queries + MICA_ATTENTION_PADDING - 1) / MICA_ATTENTION_PADDING * MICA_ATTENTION_PADDING;
    if (f->has_mask && !find_mask(mica_operand_type(call, f->place[MASK]), q, a)) return false;
    if (!is_back) return true;
    return mica_type_equal(mica_operand_type(call, f->place[Y]), q) &&
           mica_type_equal(mica_operand_type(call, f->place[DY]), q) &&
           is_of_queries(mica_operand_type(call, f->place[LOGS]), q) &&
           is_of_queries(mica_operand_type(call, f->place[DLOGS]), q);
}

/* name: as it is before the call is claimed */
static bool find_named(const mica_node *call, const char *name, found *f) {
    if (!strcmp(name, "mica.attention"))
        return find(call, false, f) && is_of_queries(&call->results[1], mica_operand_type(call, Q));
    return !strcmp(name, "mica.attention.back") && find(call, true, f);
}

bool cuda_attention_claims(const cuda_device *device, const mica_node *call) {
    found f;
    return device->capability >= 80 && find_named(call, mica_node_string(call, "name"), &f);
}

bool cuda_attention_takes(const mica_node *node) {
    found f;
    return mica_node_is_claimed(node) &&
           find_named(node, mica_node_string(node, "name") + sizeof MICA_CLAIMED - 1, &f);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

typedef struct step {
    CUfunction function;
    int64_t blocks;
    int32_t shared_bytes;
} step;

typedef struct attention_kernel {
    cuda_kernel base;
    found found;
    step steps[3];
    int32_t n_steps;
} attention_kernel;

mica_status cuda_attention_text(mica_dtype dtype, int32_t head, bool has_mask, char **out_text) {
    const char *name = mica_dtype_name(dtype);
    mica_text text;
    mica_text_init(&text);
    mica_text_printf(&text,
                     "#define T %s\n#define LOAD(x) mica_convert_%s_f32(x)\n"
                     "#define STORE(x) mica_convert_f32_%s(x)\n"
                     "#define HEAD %d\n#define IS_BF16 %d\n#define MASKED %d\n"
                     "#include \"codegen/prelude/attention.h\"\n",
                     mica_storage_type(dtype), name, name, head, dtype == MICA_DTYPE_bf16,
                     has_mask);
    return mica_text_finish(&text, out_text);
}

static mica_status launch_attention(const cuda_kernel *kernel, cuda_stream *stream,
                                    const mica_address *operands, const mica_address *results,
                                    mica_address scratch) {
    const attention_kernel *k = (const attention_kernel *)kernel;
    mica_attention_arguments a = k->found.arguments;
    uint64_t *places[OPERANDS] = {&a.q, &a.k, &a.v, &a.mask, &a.y, &a.logs, &a.dy, &a.dlogs};
    uint64_t *made[] = {&a.y, &a.logs}, *made_back[] = {&a.dq, &a.dk, &a.dv};
    for (int32_t i = 0; i < OPERANDS; i++)
        if (k->found.place[i] >= 0) *places[i] = operands[k->found.place[i]];
    for (int32_t i = 0; i < (k->found.is_back ? 3 : 2); i++)
        *(k->found.is_back ? made_back : made)[i] = results[i];
    a.rows = scratch;
    for (int32_t i = 0; i < k->n_steps; i++)
        MICA_TRY(cuda_launch_shared(stream, k->steps[i].function, k->steps[i].blocks,
                                    MICA_ATTENTION_THREADS, k->steps[i].shared_bytes, &a));
    return NULL;
}

/* `rows` per block, of which a batch has n. */
static mica_status add_step(cuda_device *device, attention_kernel *k, const char *name, int64_t n,
                            int64_t rows, int32_t shared_bytes) {
    step *s = &k->steps[k->n_steps++];
    MICA_TRY(cuda_module_function(device, k->base.module, name, &s->function));
    s->blocks = k->found.arguments.batch * ((n + rows - 1) / rows);
    s->shared_bytes = shared_bytes;
    return shared_bytes ? cuda_function_shared(device, s->function, shared_bytes) : NULL;
}

static mica_status add_steps(cuda_device *device, attention_kernel *k) {
    const mica_attention_arguments *a = &k->found.arguments;
    int32_t head = k->found.head;
    char *text = NULL;
    MICA_TRY(cuda_attention_text(k->found.dtype, head, k->found.has_mask, &text));
    mica_status status = cuda_module_get(device, text, "attention", &k->base.module);
    mica_free(text);
    if (status) return status;
    if (!k->found.is_back)
        return add_step(device, k, "attention_forward", a->queries, MICA_ATTENTION_QUERIES(head),
                        MICA_ATTENTION_FORWARD_BYTES(head));
    k->base.base.scratch_bytes = (size_t)(a->batch * 2 * a->padded) * sizeof(float);
    MICA_TRY(add_step(device, k, "attention_rows", a->padded, MICA_ATTENTION_THREADS / 8, 0));
    MICA_TRY(add_step(device, k, "attention_keys", a->keys, MICA_ATTENTION_TILE,
                      MICA_ATTENTION_KEYS_BYTES(head)));
    return add_step(device, k, "attention_queries", a->queries, MICA_ATTENTION_QUERIES(head),
                    MICA_ATTENTION_QUERIES_BYTES(head));
}

mica_status cuda_attention_create(cuda_device *device, const mica_node *node,
                                  cuda_kernel **out_kernel) {
    attention_kernel *k;
    MICA_TRY(cuda_kernel_new(sizeof *k, &k));
    k->base.launch = launch_attention;
    (void)find_named(node, mica_node_string(node, "name") + sizeof MICA_CLAIMED - 1, &k->found);
    mica_status status = add_steps(device, k);
    *out_kernel = status ? NULL : &k->base;
    if (status) cuda_kernel_destroy(&device->base, &k->base.base);
    return status;
}
