/* Kernels as C: pieces that several of them have. */
#include "device/cpu/write_c.h"

mica_status mica_cpu_kernel_write(const mica_kernel *kernel, const mica_node *node,
                                  mica_kernel_text *out) {
    const cpu_kernel *self = (const cpu_kernel *)kernel;
    out->scratch_bytes = 0;
    if (!self->write)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] this kernel cannot be written as C",
                          mica_op_describe(node->op)->name);
    return self->write(self, node, out);
}

mica_status mica_cpu_write_float(const mica_node *node, mica_dtype dtype, const char **out_type) {
    *out_type = dtype == MICA_DTYPE_f32 ? "float" : "double";
    if (dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_f64) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] can be written as C for f32 and f64, not for %s",
                      mica_op_describe(node->op)->name, mica_dtype_name(dtype));
}

static void write_numbers(mica_text *text, const char *name, int32_t n, const int64_t *numbers) {
    mica_text_printf(text, ", .%s = {", name);
    for (int32_t i = 0; i < n; i++)
        mica_text_printf(text, "%s%lld", i ? ", " : "", (long long)numbers[i]);
    mica_text_append_char(text, '}');
}

void mica_cpu_write_space(mica_text *text, const char *name, int32_t rank, int64_t n,
                          const int64_t *sizes, const int64_t *strides) {
    mica_text_printf(text, "    .%s = {.rank = %d, .n = %lld", name, rank, (long long)n);
    if (rank) write_numbers(text, "sizes", rank, sizes);
    if (rank) write_numbers(text, "strides", rank, strides);
    mica_text_append(text, "},\n");
}

void mica_cpu_write_copy(mica_kernel_text *out, int32_t index, const cpu_copy *copy,
                         const char *source, int64_t source_offset, const char *target,
                         int64_t target_offset) {
    if (copy->n == 0) return;
    mica_text_printf(out->constants, "static const struct { mica_space from, to; } copy%d_%d = {\n",
                     out->number, index);
    mica_cpu_write_space(out->constants, "from", copy->rank, copy->n, copy->sizes, copy->x_strides);
    mica_cpu_write_space(out->constants, "to", copy->rank, copy->n, copy->sizes, copy->y_strides);
    mica_text_append(out->constants, "};\n");
    mica_text_printf(out->body,
                     "    mica_host_copy(&copy%d_%d.from, &copy%d_%d.to, %d, (const char *)%s + "
                     "%lld, (char *)%s + %lld);\n",
                     out->number, index, out->number, index, copy->bytes, source,
                     (long long)(source_offset * copy->bytes), target,
                     (long long)(target_offset * copy->bytes));
}

mica_status mica_cpu_write_contraction(mica_kernel_text *out, int32_t index, const mica_node *node,
                                       const cpu_contract *k, const char *x, int64_t x_offset,
                                       const char *y, int64_t y_offset, int64_t c_offset,
                                       size_t sums_offset) {
    mica_dtype dtype = node->results[0].dtype;
    const char *type, *name = mica_dtype_name(dtype);
    MICA_TRY(mica_cpu_write_float(node, dtype, &type));
    int64_t blocks = cpu_ceil_div(k->x_k.n, CPU_TILE_K), group = blocks;
    if (k->mode == CONTRACT_SPLIT) {
        group = k->group_blocks;
        size_t bytes = sums_offset + (size_t)(k->c_m.n * k->c_n.n) * mica_dtype_bytes(dtype);
        if (bytes > out->scratch_bytes) out->scratch_bytes = bytes;
    }
    mica_text_printf(out->constants, "static const mica_host_contraction contraction%d_%d = {\n",
                     out->number, index);
#define SPACE(name)                                                                                \
    mica_cpu_write_space(out->constants, #name, k->name.rank, k->name.n, k->name.sizes,            \
                         k->name.strides)
    SPACE(x_batch), SPACE(x_m), SPACE(x_k), SPACE(y_batch), SPACE(y_k), SPACE(y_n);
    SPACE(c_batch), SPACE(c_m), SPACE(c_n);
#undef SPACE
    mica_text_printf(out->constants, "    .group_blocks = %lld};\n", (long long)group);
    mica_text_printf(
        out->body,
        "    mica_contract_%s(&contraction%d_%d, (const %s *)%s + %lld, (const %s *)%s "
        "+ %lld, (%s *)y[0] + %lld, (%s *)((char *)scratch + %zu));\n",
        name, out->number, index, type, k->exchanged ? y : x,
        (long long)(k->exchanged ? y_offset : x_offset), type, k->exchanged ? x : y,
        (long long)(k->exchanged ? x_offset : y_offset), type, (long long)c_offset, type,
        sums_offset);
    return NULL;
}
