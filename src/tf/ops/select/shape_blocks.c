/* Shape functions of blocks that move between space, batch and channels, and of sequences. */
#include <string.h>

#include "tf/ops/select/blocks.h"
#include "tf/shape_rules.h"

typedef struct known_blocks {
    mica_tf_blocks b;
    bool knows_blocks, knows_pairs;
} known_blocks;

static mica_status read_block(mica_tf_inference *c, known_blocks *out) {
    out->b.n = 2;
    out->knows_blocks = true;
    if (c->n_inputs == 2) {
        out->b.block[0] = out->b.block[1] = mica_tf_inference_int(c, "block_size");
    } else {
        const mica_tf_shape *shape = &c->inputs[1];
        if (shape->rank >= 0 && shape->rank != 1)
            return MICA_INVALID("[%s] block_shape must be a vector: %s", c->info->name,
                                mica_tf_shape_text(shape).chars);
        out->knows_blocks = mica_tf_input_known(c, 1, out->b.block, &out->b.n);
        if (!out->knows_blocks) {
            int64_t n = shape->rank == 1 ? shape->dims[0] : -1;
            out->b.n = n > MICA_TF_BLOCK_AXES ? MICA_TF_BLOCK_AXES + 1 : (int32_t)n;
        }
    }
    if (out->b.n < 0 && c->graph)
        return MICA_INVALID("[%s] block_shape must have known size", c->info->name);
    if (out->b.n > MICA_TF_BLOCK_AXES)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] at most %d axes have blocks", c->info->name,
                          MICA_TF_BLOCK_AXES);
    for (int32_t i = 0; out->knows_blocks && i < out->b.n; i++)
        if (out->b.block[i] < (c->n_inputs == 2 ? 2 : 1))
            return MICA_INVALID("[%s] All values in block_shape must be positive, got value, %lld "
                                "at index %d.",
                                c->info->name, (long long)out->b.block[i], i);
    return NULL;
}

static mica_status read_pairs(mica_tf_inference *c, known_blocks *out) {
    int32_t n, last = c->n_inputs - 1;
    const mica_tf_shape *shape = &c->inputs[last];
    const mica_tf_shape wanted = {.rank = 2, .dims = {out->b.n < 0 ? -1 : out->b.n, 2}};
    mica_tf_shape both;
    if (!mica_tf_shape_merge(shape, &wanted, &both))
        return MICA_INVALID("[%s] %s should have shape %s instead of %s", c->info->name,
                            c->info->inputs[last].name, mica_tf_shape_text(&wanted).chars,
                            mica_tf_shape_text(shape).chars);
    out->knows_pairs = mica_tf_input_known(c, last, out->b.pairs, &n) && n == 2 * out->b.n;
    for (int32_t i = 0; out->knows_pairs && i < n; i++)
        if (out->b.pairs[i] < 0)
            return MICA_INVALID("[%s] %s must be non-negative", c->info->name,
                                c->info->inputs[last].name);
    return NULL;
}

static mica_status read_all(mica_tf_inference *c, known_blocks *out) {
    const mica_tf_shape *x = &c->inputs[0];
    MICA_TRY(read_block(c, out));
    MICA_TRY(read_pairs(c, out));
    int32_t least = out->b.n < 0 ? 1 : out->b.n + 1;
    if (x->rank >= 0 && (x->rank < least || (c->n_inputs == 2 && x->rank != 4)))
        return MICA_INVALID("[%s] input rank should be >= %d instead of %d", c->info->name,
                            c->n_inputs == 2 ? 4 : least, x->rank);
    c->outputs[0] = mica_tf_unknown_of_rank(x->rank);
    for (int32_t i = least; out->b.n >= 0 && i < x->rank; i++) c->outputs[0].dims[i] = x->dims[i];
    return NULL;
}

mica_status tf_shape_space_to_batch(mica_tf_inference *c) {
    known_blocks k;
    MICA_TRY(read_all(c, &k));
    const mica_tf_shape *x = &c->inputs[0];
    if (x->rank < 0 || !k.knows_blocks) return NULL;
    int64_t batch = x->dims[0], *dims = c->outputs[0].dims;
    for (int32_t i = 0; i < k.b.n; i++) {
        if (batch >= 0) batch = mica_tf_times(batch, k.b.block[i]);
        if (x->dims[i + 1] < 0 || !k.knows_pairs) continue;
        int64_t around = mica_tf_plus(k.b.pairs[2 * i], k.b.pairs[2 * i + 1]);
        int64_t padded = mica_tf_plus(x->dims[i + 1], around);
        if (padded % k.b.block[i])
            return MICA_INVALID("[%s] padded_shape[%d]=%lld is not divisible by "
                                "block_shape[%d]=%lld",
                                c->info->name, i, (long long)padded, i, (long long)k.b.block[i]);
        dims[i + 1] = padded / k.b.block[i];
    }
    dims[0] = batch;
    return NULL;
}

mica_status tf_shape_batch_to_space(mica_tf_inference *c) {
    known_blocks k;
    MICA_TRY(read_all(c, &k));
    const mica_tf_shape *x = &c->inputs[0];
    if (x->rank < 0 || !k.knows_blocks) return NULL;
    int64_t count = 1, *dims = c->outputs[0].dims;
    for (int32_t i = 0; i < k.b.n; i++) {
        count = mica_tf_times(count, k.b.block[i]);
        if (x->dims[i + 1] < 0 || !k.knows_pairs) continue;
        int64_t whole = mica_tf_times(x->dims[i + 1], k.b.block[i]);
        int64_t cut = mica_tf_plus(k.b.pairs[2 * i], k.b.pairs[2 * i + 1]);
        if (cut > whole)
            return MICA_INVALID("[%s] cropped_shape[%d]=%lld must be non-negative", c->info->name,
                                i, (long long)(whole - cut));
        dims[i + 1] = whole - cut;
    }
    if (x->dims[0] < 0) return NULL;
    if (x->dims[0] % count)
        return MICA_INVALID("[%s] Input batch dimension (%lld) is not divisible by product of "
                            "block sizes (%lld)",
                            c->info->name, (long long)x->dims[0], (long long)count);
    dims[0] = x->dims[0] / count;
    return NULL;
}

/* ---- space and depth --------------------------------------------------------------------------*/

/* The axes of height, width and channels; *out_block is the block's size. */
static mica_status read_depth(mica_tf_inference *c, int32_t axes[3], int64_t *out_block) {
    const char *format = mica_tf_attr_find(c->info, c->attrs, "data_format")->as.string;
    bool first = strcmp(format, "NCHW") == 0;
    if (!first && strcmp(format, "NHWC") != 0)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] data_format '%s' must be NHWC or NCHW",
                          c->info->name, format);
    for (int32_t i = 0; i < 3; i++) axes[i] = first ? (i + 1) % 3 + 1 : i + 1;
    *out_block = mica_tf_inference_int(c, "block_size");
    if (*out_block < 2 || *out_block > INT32_MAX)
        return MICA_INVALID("[%s] block_size must be at least 2, not %lld", c->info->name,
                            (long long)*out_block);
    c->outputs[0] = c->inputs[0].rank < 0 ? mica_tf_unknown_of_rank(4) : c->inputs[0];
    if (c->outputs[0].rank != 4)
        return MICA_INVALID("[%s] the input must have rank 4: %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[0]).chars);
    return NULL;
}

mica_status tf_shape_space_to_depth(mica_tf_inference *c) {
    int32_t axes[3];
    int64_t block;
    MICA_TRY(read_depth(c, axes, &block));
    int64_t *dims = c->outputs[0].dims;
    for (int32_t i = 0; i < 2; i++) {
        if (dims[axes[i]] < 0) continue;
        if (dims[axes[i]] % block)
            return MICA_INVALID("[%s] Image width %lld and height %lld should be divisible by "
                                "block_size: %lld",
                                c->info->name, (long long)c->inputs[0].dims[axes[1]],
                                (long long)c->inputs[0].dims[axes[0]], (long long)block);
        dims[axes[i]] /= block;
    }
    if (dims[axes[2]] >= 0)
        dims[axes[2]] = mica_tf_times(mica_tf_times(dims[axes[2]], block), block);
    return NULL;
}

mica_status tf_shape_depth_to_space(mica_tf_inference *c) {
    int32_t axes[3];
    int64_t block;
    MICA_TRY(read_depth(c, axes, &block));
    int64_t *dims = c->outputs[0].dims;
    for (int32_t i = 0; i < 2; i++)
        if (dims[axes[i]] >= 0) dims[axes[i]] = mica_tf_times(dims[axes[i]], block);
    if (dims[axes[2]] < 0) return NULL;
    if (dims[axes[2]] % (block * block))
        return MICA_INVALID("[%s] Input depth dimension %lld should be divisible by: %lld",
                            c->info->name, (long long)dims[axes[2]], (long long)(block * block));
    dims[axes[2]] /= block * block;
    return NULL;
}

/* ---- sequences --------------------------------------------------------------------------------*/

mica_status tf_shape_reverse_sequence(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *lengths = &c->inputs[1];
    int64_t time = mica_tf_inference_int(c, "seq_dim"),
            batch = mica_tf_inference_int(c, "batch_dim");
    c->outputs[0] = *x;
    if (lengths->rank >= 0 && lengths->rank != 1)
        return MICA_INVALID("[%s] seq_lens input must be 1-dim, not %d", c->info->name,
                            lengths->rank);
    if (batch == time)
        return MICA_INVALID("[%s] batch_dim == seq_dim == %lld", c->info->name, (long long)time);
    if (x->rank < 0) return NULL;
    if (batch < 0 || batch >= x->rank)
        return MICA_INVALID("[%s] batch_dim must be < input rank: %lld vs. %d", c->info->name,
                            (long long)batch, x->rank);
    if (time < 0 || time >= x->rank)
        return MICA_INVALID("[%s] seq_dim must be < input rank: %lld vs. %d", c->info->name,
                            (long long)time, x->rank);
    int64_t n = lengths->rank < 0 ? -1 : lengths->dims[0], *size = &c->outputs[0].dims[batch];
    if (n >= 0 && *size >= 0 && n != *size)
        return MICA_INVALID("[%s] Length of seq_lens != input.dims(%lld), (%lld vs. %lld)",
                            c->info->name, (long long)batch, (long long)n, (long long)*size);
    if (*size < 0) *size = n;
    return NULL;
}
