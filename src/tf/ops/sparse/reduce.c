/* Host functions of sums and maxima over axes of sparse tensors: elements are grouped by the axes
 * that stay. */
#include <string.h>

#include "tf/ops/sparse/sparse.h"

typedef tf_number (*combine)(mica_dtype dtype, tf_number a, tf_number b);

static tf_number larger(mica_dtype dtype, tf_number a, tf_number b) {
    return tf_number_less(dtype, a, b) ? b : a;
}

/* Axes that stay, and the sizes of the result. */
typedef struct plan {
    int32_t axes[TF_SPARSE_MOST_AXES], n, rank;
    int64_t sizes[TF_SPARSE_MOST_AXES];
    int32_t at[TF_SPARSE_MOST_AXES]; /* where axis i that stays is in the result */
} plan;

static mica_status make_plan(const mica_tf_host *c, const tf_sparse *x, const tf_column *axes,
                             plan *p) {
    bool gone[TF_SPARSE_MOST_AXES] = {false};
    bool keeps = mica_tf_host_attr(c, "keep_dims")->as.integer != 0;
    p->n = p->rank = 0;
    for (int64_t i = 0; i < axes->n; i++) {
        int64_t axis = tf_column_int(axes, i);
        if (axis < -x->rank || axis >= x->rank)
            return MICA_INVALID("[%s] Invalid reduction dimension %lld, for input with %d "
                                "dimensions.",
                                c->info->name, (long long)axis, x->rank);
        gone[axis < 0 ? axis + x->rank : axis] = true;
    }
    for (int32_t i = 0; i < x->rank; i++) {
        if (!gone[i]) {
            p->at[p->n] = p->rank;
            p->axes[p->n++] = i;
        }
        if (!gone[i] || keeps) p->sizes[p->rank++] = gone[i] ? 1 : x->shape[i];
    }
    return NULL;
}

/* ---- sparse results ---------------------------------------------------------------------------*/

typedef struct groups {
    int64_t *places, *order, *kept; /* of all elements; of the result */
    char *values;
    int64_t n;
} groups;

static void find_groups(const tf_sparse *x, const plan *p, combine with, groups *f) {
    const tf_column *values = tf_sparse_values(x);
    tf_number value = {0, 0, 0};
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t *place = f->places + f->order[i] * p->n;
        tf_number one = tf_number_at(values, f->order[i]);
        bool is_new = i == 0 || tf_place_compare(place, f->places + f->order[i - 1] * p->n, p->n);
        value = is_new ? one : with(values->dtype, value, one);
        if (is_new) {
            int64_t *to = f->kept + f->n++ * p->rank;
            for (int32_t k = 0; k < p->rank; k++) to[k] = 0;
            for (int32_t k = 0; k < p->n; k++) to[p->at[k]] = place[k];
        }
        tf_number_store(values->dtype, value, f->values + (size_t)(f->n - 1) * values->size);
    }
}

static mica_status give_sparse(mica_tf_host *c, const tf_sparse *x, const plan *p, combine with) {
    const tf_column *values = tf_sparse_values(x);
    size_t n = (size_t)x->n;
    groups f = {0};
    f.places = mica_alloc(
        n * (((size_t)p->n + (size_t)p->rank + 1) * sizeof *f.places + values->size) + 16);
    if (!f.places) return MICA_NO_MEMORY();
    f.order = f.places + n * (size_t)p->n;
    f.kept = f.order + n;
    f.values = (char *)(f.kept + n * (size_t)p->rank);
    for (int64_t i = 0; i < x->n; i++)
        for (int32_t k = 0; k < p->n; k++)
            f.places[i * p->n + k] = tf_sparse_place(x, i)[p->axes[k]];
    mica_status status = tf_places_order(f.places, x->n, p->n, f.order);
    if (!status) {
        find_groups(x, p, with, &f);
        status = tf_give_places(c, 0, f.kept, f.n, p->rank);
    }
    if (!status) status = mica_tf_give_numbers(c, 1, values->dtype, MICA_INTS(f.n), f.values);
    if (!status) status = tf_give_vector(c, 2, p->sizes, p->rank);
    mica_free(f.places);
    return status;
}

/* ---- dense results ----------------------------------------------------------------------------*/

static mica_status fill_dense(const tf_sparse *x, const plan *p, combine with, char *data,
                              uint8_t *visited) {
    const tf_column *values = tf_sparse_values(x);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = 0;
        for (int32_t k = 0; k < p->n; k++)
            at = at * x->shape[p->axes[k]] + tf_sparse_place(x, i)[p->axes[k]];
        char *to = data + (size_t)at * values->size;
        tf_number value = tf_number_at(values, i);
        if (visited[at]) value = with(values->dtype, tf_number_load(values->dtype, to), value);
        tf_number_store(values->dtype, value, to);
        visited[at] = 1;
    }
    return NULL;
}

static mica_status give_dense(mica_tf_host *c, const tf_sparse *x, const plan *p, combine with) {
    const tf_column *values = tf_sparse_values(x);
    mica_tf_shape shape = {.rank = p->rank};
    void *data = NULL, *visited = NULL;
    if (p->rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] a dense tensor has at most %d axes, not %d", c->info->name,
                            MICA_MAX_RANK, p->rank);
    MICA_TRY(tf_sparse_check(c, x));
    for (int32_t k = 0; k < p->rank; k++) shape.dims[k] = p->sizes[k];
    int64_t n = mica_tf_shape_elements(&shape);
    mica_status status = tf_sparse_room(c, n, values->size, &data);
    if (!status) status = tf_sparse_room(c, n, 1, &visited);
    if (!status) status = fill_dense(x, p, with, data, visited);
    if (!status) status = mica_tf_give_numbers(c, 0, values->dtype, mica_tf_dims(&shape), data);
    mica_free(visited);
    mica_free(data);
    return status;
}

static mica_status reduce(mica_tf_host *c, combine with) {
    tf_sparse x;
    tf_column axes;
    plan *p = mica_alloc(sizeof *p);
    if (!p) return MICA_NO_MEMORY();
    mica_status status = tf_sparse_open(c, 0, 1, 2, &x);
    if (status) {
        mica_free(p);
        return status;
    }
    status = tf_column_open(c->inputs[3], &axes);
    if (!status) {
        status = make_plan(c, &x, &axes, p);
        if (!status)
            status = c->n_outputs == 1 ? give_dense(c, &x, p, with) : give_sparse(c, &x, p, with);
        tf_column_close(&axes);
    }
    tf_sparse_close(&x);
    mica_free(p);
    return status;
}

mica_status tf_host_sparse_reduce_max(mica_tf_host *c) {
    return reduce(c, larger);
}

mica_status tf_host_sparse_reduce_max_sparse(mica_tf_host *c) {
    return reduce(c, larger);
}

mica_status tf_host_sparse_reduce_sum_sparse(mica_tf_host *c) {
    return reduce(c, tf_number_add);
}
