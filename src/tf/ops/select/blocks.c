/* Lowerings that move blocks between space, batch and channels, and read sequences backwards. */
#include <string.h>

#include "tf/lower_rules.h"
#include "tf/ops/select/blocks.h"

static mica_value reshaped(mica_graph *g, mica_value x, const int64_t *dims, int32_t rank) {
    return mica_reshape(g, x, (mica_ints){dims, rank});
}

/* ---- space and batch --------------------------------------------------------------------------*/

/* The sizes behind the batch and the axes of space as one. */
static int64_t inner_size(const mica_type *type, int32_t n) {
    int64_t size = 1;
    for (int32_t i = n + 1; i < type->rank; i++) size *= type->dims[i];
    return size;
}

/* The blocks and pairs of numbers of the operands, or of the attribute block_size. */
static bool read_blocks(mica_tf_lowering *c, mica_tf_blocks *out) {
    int32_t n_pairs;
    out->n = 2;
    if (c->n_inputs == 2) {
        out->block[0] = out->block[1] = mica_tf_lowering_int(c, "block_size");
    } else if (!mica_tf_constant_ints(c, 1, out->block, &out->n)) {
        return false;
    }
    return mica_tf_constant_ints(c, c->n_inputs - 1, out->pairs, &n_pairs);
}

void tf_lower_space_to_batch(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_blocks b;
    mica_tf_shape shape;
    mica_type type = *mica_tf_type(c, 0);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, none[MICA_MAX_RANK] = {0};
    int64_t dims[MICA_MAX_RANK], order[MICA_MAX_RANK];
    if (!read_blocks(c, &b) || !mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < b.n; i++) low[i + 1] = b.pairs[2 * i], high[i + 1] = b.pairs[2 * i + 1];
    mica_value x =
        mica_pad(g, c->inputs[0], mica_scalar(g, type.dtype, 0), (mica_ints){low, type.rank},
                 (mica_ints){high, type.rank}, (mica_ints){none, type.rank});
    dims[0] = type.dims[0];
    for (int32_t i = 0; i < b.n; i++) {
        dims[2 * i + 1] = (type.dims[i + 1] + low[i + 1] + high[i + 1]) / b.block[i];
        dims[2 * i + 2] = b.block[i];
        order[i] = 2 * i + 2;
        order[b.n + 1 + i] = 2 * i + 1;
    }
    order[b.n] = 0;
    order[2 * b.n + 1] = 2 * b.n + 1;
    dims[2 * b.n + 1] = inner_size(&type, b.n);
    x = mica_transpose(g, reshaped(g, x, dims, 2 * b.n + 2), (mica_ints){order, 2 * b.n + 2});
    c->outputs[0] = reshaped(g, x, shape.dims, shape.rank);
}

void tf_lower_batch_to_space(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_blocks b;
    mica_tf_shape shape;
    mica_type type = *mica_tf_type(c, 0);
    int64_t dims[MICA_MAX_RANK], order[MICA_MAX_RANK], count = 1;
    if (!read_blocks(c, &b) || !mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < b.n; i++) {
        dims[i] = b.block[i];
        dims[b.n + 1 + i] = type.dims[i + 1];
        order[2 * i + 1] = b.n + 1 + i;
        order[2 * i + 2] = i;
        count *= b.block[i];
    }
    dims[b.n] = type.dims[0] / count;
    dims[2 * b.n + 1] = inner_size(&type, b.n);
    order[0] = b.n;
    order[2 * b.n + 1] = 2 * b.n + 1;
    mica_value x = reshaped(g, c->inputs[0], dims, 2 * b.n + 2);
    x = mica_transpose(g, x, (mica_ints){order, 2 * b.n + 2});
    int64_t begin[MICA_MAX_RANK] = {0}, end[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    type.dims[0] /= count;
    for (int32_t i = 0; i < b.n; i++) type.dims[i + 1] *= b.block[i];
    x = reshaped(g, x, type.dims, type.rank);
    for (int32_t i = 0; i < type.rank; i++) {
        bool cut = i >= 1 && i <= b.n;
        begin[i] = cut ? b.pairs[2 * (i - 1)] : 0;
        end[i] = type.dims[i] - (cut ? b.pairs[2 * (i - 1) + 1] : 0);
        stride[i] = 1;
    }
    c->outputs[0] = mica_slice(g, x, (mica_ints){begin, type.rank}, (mica_ints){end, type.rank},
                               (mica_ints){stride, type.rank});
}

/* ---- space and depth --------------------------------------------------------------------------*/

static void rearrange(mica_tf_lowering *c, const int64_t dims[6], const int64_t order[6]) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value x = reshaped(c->g, c->inputs[0], dims, 6);
    x = mica_transpose(c->g, x, (mica_ints){order, 6});
    c->outputs[0] = reshaped(c->g, x, shape.dims, shape.rank);
}

static bool channels_first(const mica_tf_lowering *c) {
    return strcmp(mica_tf_lowering_string(c, "data_format"), "NCHW") == 0;
}

void tf_lower_space_to_depth(mica_tf_lowering *c) {
    const mica_type x = *mica_tf_type(c, 0);
    const int64_t b = mica_tf_lowering_int(c, "block_size"), *d = x.dims;
    if (channels_first(c)) {
        const int64_t dims[] = {d[0], d[1], d[2] / b, b, d[3] / b, b};
        rearrange(c, dims, (const int64_t[]){0, 3, 5, 1, 2, 4});
    } else {
        const int64_t dims[] = {d[0], d[1] / b, b, d[2] / b, b, d[3]};
        rearrange(c, dims, (const int64_t[]){0, 1, 3, 2, 4, 5});
    }
}

void tf_lower_depth_to_space(mica_tf_lowering *c) {
    const mica_type x = *mica_tf_type(c, 0);
    const int64_t b = mica_tf_lowering_int(c, "block_size"), *d = x.dims;
    if (channels_first(c)) {
        const int64_t dims[] = {d[0], b, b, d[1] / (b * b), d[2], d[3]};
        rearrange(c, dims, (const int64_t[]){0, 3, 4, 1, 5, 2});
    } else {
        const int64_t dims[] = {d[0], d[1], d[2], b, b, d[3] / (b * b)};
        rearrange(c, dims, (const int64_t[]){0, 1, 3, 2, 4, 5});
    }
}

/* ---- sequences --------------------------------------------------------------------------------*/

/* Batch and time come first, the place of each step is gathered, and the axes go back. */
void tf_lower_reverse_sequence(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    int64_t order[MICA_MAX_RANK], back[MICA_MAX_RANK], offset[MICA_MAX_RANK], sizes[MICA_MAX_RANK];
    const int64_t time = mica_tf_lowering_int(c, "seq_dim"),
                  batch = mica_tf_lowering_int(c, "batch_dim");
    int32_t n = 2;
    order[0] = batch;
    order[1] = time;
    for (int32_t i = 0; i < type.rank; i++)
        if (i != batch && i != time) order[n++] = i;
    for (int32_t i = 0; i < type.rank; i++) {
        back[order[i]] = i;
        sizes[i] = i < 2 ? 1 : type.dims[order[i]];
        if (i > 1) offset[i - 2] = i;
    }
    const int64_t table[2] = {type.dims[batch], type.dims[time]};
    mica_value x = mica_transpose(g, c->inputs[0], (mica_ints){order, type.rank});
    mica_value step = mica_iota(g, (mica_ints){table, 2}, 1, MICA_DTYPE_i64);
    mica_value lengths = mica_convert(g, c->inputs[1], MICA_DTYPE_i64);
    lengths = mica_broadcast(g, lengths, (mica_ints){table, 2}, MICA_INTS(0));
    mica_value last = mica_sub(g, lengths, mica_full_like(g, lengths, 1));
    mica_value places =
        mica_select(g, mica_compare(g, step, lengths, "lt"), mica_sub(g, last, step), step);
    x = mica_tf_with_room(c, x, sizes, 1);
    x = mica_gather(g, x, places, (mica_ints){offset, type.rank - 2}, MICA_INTS(1), MICA_INTS(0),
                    MICA_INTS(0), MICA_INTS(1), 2, (mica_ints){sizes, type.rank}, "fill");
    c->outputs[0] = mica_transpose(g, x, (mica_ints){back, type.rank});
}
