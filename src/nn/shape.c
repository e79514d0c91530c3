/* Reshape, slice, split, gather and scatter along an axis. */
#include "nn/compose.h"

#include <string.h>

mica_value mica_nn_reshape(mica_graph *g, mica_value x, mica_ints shape) {
    if (!mica_nn_check(g, "reshape", &x, 1, 0, false)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    int64_t sizes[MICA_MAX_RANK], elements = mica_type_elements(&type), known = 1;
    int32_t open = -1;
    bool fits = shape.n >= 0 && shape.n <= MICA_MAX_RANK && (shape.n == 0 || shape.data);
    for (int32_t i = 0; fits && i < shape.n; i++) {
        sizes[i] = shape.data[i];
        if (sizes[i] == -1 && open < 0)
            open = i;
        else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known))
            fits = false;
    }
    if (fits && open >= 0) {
        fits = known > 0 && elements % known == 0;
        sizes[open] = fits ? elements / known : 0;
        known = elements;
    }
    if (!fits || known != elements) {
        MICA_NN_FAIL(g, "[reshape] %s has %lld elements and does not fit shape %s",
                     mica_nn_type_text(&type).chars, (long long)elements,
                     fits ? mica_nn_ints_text(shape).chars : "given");
        return MICA_NULL_VALUE;
    }
    return mica_reshape(g, x, (mica_ints){sizes, shape.n});
}

/* ---- slices and parts -------------------------------------------------------------------------*/

static int64_t inside(int64_t i, int64_t low, int64_t high) {
    return i < low ? low : i > high ? high : i;
}

/* One axis as a slice upwards: a downward one is reversed over afterwards. */
static void slice_axis(int64_t size, int64_t *start, int64_t *end, int64_t *stride) {
    /* a step beyond the end is as good as any other, and overflows nothing */
    *stride = inside(*stride, -size - 1, size + 1);
    if (*start < 0) *start += size;
    if (*end < 0) *end += size;
    if (*stride > 0) {
        *start = inside(*start, 0, size);
        *end = inside(*end, *start, size);
        return;
    }
    *start = inside(*start, -1, size - 1);
    *end = inside(*end, -1, *start);
    *stride = -*stride;
    int64_t count = (*start - *end + *stride - 1) / *stride; /* both ends are at most size apart */
    int64_t last = count ? *start - (count - 1) * *stride : 0;
    *end = count ? *start + 1 : 0;
    *start = last;
}

mica_value mica_nn_slice(mica_graph *g, mica_value x, mica_ints start, mica_ints end,
                         mica_ints stride) {
    if (!mica_nn_check(g, "slice", &x, 1, 0, false)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    int64_t starts[MICA_MAX_RANK], ends[MICA_MAX_RANK], strides[MICA_MAX_RANK];
    int64_t reversed[MICA_MAX_RANK];
    int32_t n_reversed = 0;
    if (!mica_nn_check_ints(g, "slice", "start", start, type.rank) ||
        !mica_nn_check_ints(g, "slice", "end", end, type.rank) ||
        (stride.n && !mica_nn_check_ints(g, "slice", "stride", stride, type.rank)))
        return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type.rank; i++) {
        starts[i] = start.data[i];
        ends[i] = end.data[i];
        strides[i] = stride.n ? stride.data[i] : 1;
        if (strides[i] == 0) {
            MICA_NN_FAIL(g, "[slice] a stride of %s is 0", mica_nn_ints_text(stride).chars);
            return MICA_NULL_VALUE;
        }
        if (strides[i] < 0) reversed[n_reversed++] = i;
        slice_axis(type.dims[i], &starts[i], &ends[i], &strides[i]);
    }
    x = mica_slice(g, x, (mica_ints){starts, type.rank}, (mica_ints){ends, type.rank},
                   (mica_ints){strides, type.rank});
    return n_reversed ? mica_reverse(g, x, (mica_ints){reversed, n_reversed}) : x;
}

int32_t mica_nn_split_sizes(int64_t extent, int32_t count, int64_t *out_sizes) {
    if (!out_sizes) return 0;
    if (count > extent) count = (int32_t)extent;
    for (int32_t i = 0; i < count; i++) out_sizes[i] = extent / count + (i < extent % count);
    return count < 0 ? 0 : count;
}

void mica_nn_split(mica_graph *g, mica_value x, int64_t axis, mica_ints sizes,
                   mica_value *out_parts) {
    MICA_GIVEN_TO(g, MICA_MANY(out_parts, sizes.n));
    for (int32_t i = 0; i < sizes.n; i++) out_parts[i] = MICA_NULL_VALUE;
    if (!mica_nn_check(g, "split", &x, 1, 0, false) ||
        !mica_nn_check_ints(g, "split", "the list of sizes", sizes, sizes.n))
        return;
    mica_type type = mica_nn_type(x);
    int32_t along = mica_nn_axis(g, "split", &type, axis);
    if (along < 0) return;
    int64_t total = 0, start = 0;
    bool fits = true;
    for (int32_t i = 0; i < sizes.n; i++)
        fits &= sizes.data[i] >= 0 && !__builtin_add_overflow(total, sizes.data[i], &total);
    if (!fits || total != type.dims[along]) {
        MICA_NN_FAIL(g, "[split] parts %s do not make up axis %d of %s",
                     mica_nn_ints_text(sizes).chars, (int)along, mica_nn_type_text(&type).chars);
        return;
    }
    for (int32_t i = 0; i < sizes.n; start += sizes.data[i++])
        out_parts[i] = mica_nn_part(g, x, along, start, start + sizes.data[i]);
}

/* ---- gather and scatter -----------------------------------------------------------------------
 * One index vector of length 1 per element of the result; all other axes go in step as batch
 * dims, after what indices do not reach is cut away. */

/* x cut to the sizes of indices along all axes but `axis`. */
static mica_value cut_to(mica_graph *g, mica_value x, const mica_type *indices, int32_t axis) {
    for (int32_t i = 0; i < indices->rank; i++)
        if (i != axis) x = mica_nn_part(g, x, i, 0, indices->dims[i]);
    return x;
}

static bool check_indices(mica_graph *g, const char *where, const char *what, const mica_type *x,
                          const mica_type *indices, int32_t axis) {
    bool fits = x->rank == indices->rank;
    for (int32_t i = 0; fits && i < x->rank; i++)
        fits = i == axis || indices->dims[i] <= x->dims[i];
    if (!fits)
        MICA_NN_FAIL(g, "[%s] indices %s do not fit %s %s", where, mica_nn_type_text(indices).chars,
                     what, mica_nn_type_text(x).chars);
    return fits;
}

/* The axes but one. */
static mica_ints others(int32_t rank, int32_t axis, int64_t *storage) {
    int32_t n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (i != axis) storage[n++] = i;
    return (mica_ints){storage, n};
}

mica_value mica_nn_gather(mica_graph *g, mica_value x, mica_value indices, int64_t axis) {
    if (!mica_nn_check(g, "gather", (const mica_value[]){x, indices}, 2, 0, false))
        return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x), index_type = mica_nn_type(indices);
    int32_t along = mica_nn_axis(g, "gather", &type, axis);
    if (along < 0 || !check_indices(g, "gather", "the input", &type, &index_type, along))
        return MICA_NULL_VALUE;
    int64_t ones[MICA_MAX_RANK], storage[MICA_MAX_RANK];
    for (int32_t i = 0; i < MICA_MAX_RANK; i++) ones[i] = 1;
    mica_ints batch = others(type.rank, along, storage);
    indices = mica_nn_indices(g, "gather", indices);
    return mica_gather(g, cut_to(g, x, &index_type, along), indices, MICA_NO_INTS, MICA_INTS(along),
                       batch, batch, MICA_INTS(along), type.rank, (mica_ints){ones, type.rank},
                       "fill");
}

/* x with the part at the low corner replaced. */
static mica_value put_back(mica_graph *g, mica_value x, mica_value part) {
    mica_type type = mica_nn_type(x), part_type = mica_nn_type(part);
    if (mica_type_equal(&type, &part_type)) return part;
    mica_type start_type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(type.rank));
    int32_t zeros[MICA_MAX_RANK] = {0};
    mica_value start = mica_constant(g, (mica_data){&start_type, zeros});
    return mica_dynamic_update_slice(g, x, part, start);
}

mica_value mica_nn_scatter(mica_graph *g, mica_value x, mica_value indices, mica_value updates,
                           int64_t axis, bool adds) {
    if (!mica_nn_check(g, "scatter", (const mica_value[]){x, indices, updates}, 3, 0, false))
        return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x), index_type = mica_nn_type(indices);
    mica_type update_type = mica_nn_type(updates);
    int32_t along = mica_nn_axis(g, "scatter", &type, axis);
    if (along < 0 || !check_indices(g, "scatter", "the input", &type, &index_type, along) ||
        !check_indices(g, "scatter", "the updates", &update_type, &index_type, -1))
        return MICA_NULL_VALUE;
    int64_t storage[MICA_MAX_RANK];
    mica_ints batch = others(type.rank, along, storage);
    indices = mica_nn_indices(g, "scatter", indices);
    updates = cut_to(g, updates, &index_type, -1);
    mica_value part = cut_to(g, x, &index_type, along);
    part = mica_scatter(g, part, indices, updates, adds ? "add" : "set", MICA_NO_INTS,
                        MICA_INTS(along), batch, batch, MICA_INTS(along), type.rank, "fill");
    return put_back(g, x, part);
}
