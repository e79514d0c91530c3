/* Host functions of sets: each row along the last axis is one. The elements of both operands are
 * sorted by row and value; what stands in a row of each is seen on the way. */
#include <string.h>

#include "tf/ops/sparse/sparse.h"

/* ---- elements ---------------------------------------------------------------------------------*/

typedef struct item {
    int64_t row, i; /* the element's number in its column */
    int32_t side;
} item;

typedef struct sets {
    tf_column columns[2];
    item *items, *sorted;
    int64_t n;
    int64_t groups[TF_SPARSE_MOST_AXES]; /* the sizes without the last one */
    int32_t rank;                        /* of groups */
} sets;

static int compare_values(const sets *s, const item *a, const item *b) {
    const tf_column *x = &s->columns[a->side], *y = &s->columns[b->side];
    if (x->data) {
        int64_t p = tf_column_int(x, a->i), q = tf_column_int(y, b->i);
        return (p > q) - (p < q);
    }
    size_t n, m;
    const void *p = tf_column_at(x, a->i, &n), *q = tf_column_at(y, b->i, &m);
    size_t both = n < m ? n : m;
    int order = both ? memcmp(p, q, both) : 0;
    return order ? order : (n > m) - (n < m);
}

static int compare_items(const sets *s, const item *a, const item *b) {
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return compare_values(s, a, b);
}

static mica_status sort_items(sets *s) {
    item *room = mica_alloc((size_t)s->n * sizeof *room + 8), *from = s->items, *to = room;
    if (!room) return MICA_NO_MEMORY();
    bool is_ended = false;
    for (int64_t width = 1; width < s->n && !is_ended; width *= 2) {
        for (int64_t low = 0; low < s->n && !is_ended; low += 2 * width) {
            int64_t middle = low + width < s->n ? low + width : s->n;
            int64_t high = middle + width < s->n ? middle + width : s->n, i = low, k = middle;
            for (int64_t at = low; at < high; at++) {
                bool second = i >= middle || (k < high && compare_items(s, &from[k], &from[i]) < 0);
                to[at] = second ? from[k++] : from[i++];
                if ((is_ended = mica_tf_is_interrupted(at))) break;
            }
        }
        item *next = from;
        from = to;
        to = next;
    }
    s->sorted = from;
    if (from == room) {
        memcpy(s->items, room, (size_t)s->n * sizeof *room);
        s->sorted = s->items;
    }
    mica_free(room);
    return is_ended ? mica_interrupt_status() : NULL;
}

/* ---- operands ---------------------------------------------------------------------------------*/

static mica_status grow(sets *s, int64_t more) {
    item *items = mica_realloc(s->items, (size_t)(s->n + more) * sizeof *items + 8);
    if (!items) return MICA_NO_MEMORY();
    s->items = items;
    return NULL;
}

static mica_status set_groups(const mica_tf_host *c, sets *s, const int64_t *sizes, int32_t rank,
                              bool first) {
    if (rank < 2)
        return MICA_INVALID("[%s] Invalid rank %d: sets have an axis of their own beside that of "
                            "their elements",
                            c->info->name, rank);
    bool same = first || s->rank == rank - 1;
    for (int32_t k = 0; k < rank - 1 && same && !first; k++) same = s->groups[k] == sizes[k];
    if (!same)
        return MICA_INVALID("[%s] Mismatched shapes %s vs %s", c->info->name,
                            tf_sizes_text(s->groups, s->rank).chars,
                            tf_sizes_text(sizes, rank - 1).chars);
    int64_t all = 1;
    s->rank = rank - 1;
    for (int32_t k = 0; k < s->rank; k++) {
        s->groups[k] = sizes[k];
        all = mica_tf_times(all, sizes[k]);
    }
    if (all >= 0 && all < INT64_MAX / 2) return NULL;
    return MICA_INVALID("[%s] there are too many sets in shape %s", c->info->name,
                        tf_sizes_text(sizes, rank).chars);
}

static mica_status add_dense(const mica_tf_host *c, int32_t i, int32_t side, sets *s) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[i], &shape);
    if (shape.rank < 2)
        return MICA_INVALID("[%s] Shape %s has rank %d < 2", c->info->name,
                            mica_tf_shape_text(&shape).chars, shape.rank);
    MICA_TRY(set_groups(c, s, shape.dims, shape.rank, side == 0));
    MICA_TRY(tf_column_open(c->inputs[i], &s->columns[side]));
    int64_t n = s->columns[side].n, width = shape.dims[shape.rank - 1];
    MICA_TRY(grow(s, n));
    for (int64_t k = 0; k < n; k++) s->items[s->n++] = (item){k / width, k, side};
    return NULL;
}

static mica_status check_order(const mica_tf_host *c, const tf_sparse *x) {
    for (int64_t i = 1; i < x->n; i++) {
        int order = tf_place_compare(tf_sparse_place(x, i - 1), tf_sparse_place(x, i), x->rank);
        if (order < 0) continue;
        return MICA_INVALID("[%s] indices[%lld] = %s is %s", c->info->name, (long long)i,
                            tf_sizes_text(tf_sparse_place(x, i), x->rank).chars,
                            order == 0 ? "repeated"
                                       : "out of order. Many sparse ops require sorted indices.\n"
                                         "  Use `tf.sparse.reorder` to create a correctly ordered "
                                         "copy.");
    }
    return NULL;
}

static mica_status take_items(const mica_tf_host *c, const tf_sparse *x, int32_t side, sets *s) {
    bool validate = mica_tf_host_attr(c, "validate_indices")->as.integer != 0;
    MICA_TRY(set_groups(c, s, x->shape, x->rank, side == 0));
    MICA_TRY(tf_sparse_check(c, x));
    if (validate) MICA_TRY(check_order(c, x));
    MICA_TRY(grow(s, x->n));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t row = 0;
        for (int32_t k = 0; k < s->rank; k++) row = row * s->groups[k] + tf_sparse_place(x, i)[k];
        s->items[s->n++] = (item){row, i, side};
    }
    return NULL;
}

static mica_status add_sparse(const mica_tf_host *c, int32_t first, int32_t side, sets *s) {
    tf_sparse x;
    MICA_TRY(tf_sparse_open(c, first, first + 1, first + 2, &x));
    mica_status status = take_items(c, &x, side, s);
    if (!status) {
        s->columns[side] = x.columns[2]; /* it stays open */
        x.columns[2] = (tf_column){0};
    }
    tf_sparse_close(&x);
    return status;
}

static void close_sets(sets *s) {
    tf_column_close(&s->columns[0]);
    tf_column_close(&s->columns[1]);
    mica_free(s->items);
    mica_free(s);
}

/* ---- operations -------------------------------------------------------------------------------*/

typedef enum operation { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION } operation;

static mica_status operation_of(const mica_tf_host *c, operation *out) {
    static const char *const names[] = {"a-b", "b-a", "intersection", "union"};
    const char *name = mica_tf_host_attr(c, "set_operation")->as.string;
    for (int32_t i = 0; name && i < 4; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (operation)i;
        return NULL;
    }
    return MICA_INVALID("[%s] Invalid set_operation %s.", c->info->name, name ? name : "");
}

static bool is_wanted(operation of, bool in_a, bool in_b) {
    switch (of) {
    case A_MINUS_B: return in_a && !in_b;
    case B_MINUS_A: return in_b && !in_a;
    case INTERSECTION: return in_a && in_b;
    default: return true;
    }
}

typedef struct chosen {
    int64_t *places;
    tf_pick *picks;
    int64_t n, longest;
} chosen;

/* Walks over runs of equal elements of a row. */
static void choose(const sets *s, operation of, chosen *r) {
    int64_t row = -1, width = 0;
    for (int64_t i = 0, end; i < s->n; i = end) {
        const item *one = &s->sorted[i];
        bool in[2] = {false, false};
        for (end = i; end < s->n && compare_items(s, one, &s->sorted[end]) == 0; end++)
            in[s->sorted[end].side] = true;
        if (!is_wanted(of, in[0], in[1])) continue;
        if (one->row != row) width = 0;
        row = one->row;
        int64_t *place = r->places + r->n * (s->rank + 1), left = row;
        place[s->rank] = width++;
        for (int32_t k = s->rank; k-- > 0; left /= s->groups[k]) place[k] = left % s->groups[k];
        r->picks[r->n++] = (tf_pick){one->side, one->i};
        if (width > r->longest) r->longest = width;
    }
}

static mica_status operate(mica_tf_host *c, sets *s) {
    operation of = UNION;
    size_t n = (size_t)s->n;
    int64_t sizes[TF_SPARSE_MOST_AXES + 1];
    MICA_TRY(operation_of(c, &of));
    MICA_TRY(sort_items(s));
    chosen r = {0};
    r.picks = mica_alloc(n * (sizeof *r.picks + ((size_t)s->rank + 1) * sizeof *r.places) + 16);
    if (!r.picks) return MICA_NO_MEMORY();
    r.places = (int64_t *)(r.picks + n);
    choose(s, of, &r);
    memcpy(sizes, s->groups, (size_t)s->rank * sizeof *sizes);
    sizes[s->rank] = r.longest;
    mica_status status = tf_give_places(c, 0, r.places, r.n, s->rank + 1);
    if (!status) status = tf_give_picks(c, 1, s->columns, r.picks, MICA_INTS(r.n));
    if (!status) status = tf_give_vector(c, 2, sizes, s->rank + 1);
    mica_free(r.picks);
    return status;
}

static mica_status set_operation(mica_tf_host *c, bool sparse_a, bool sparse_b) {
    sets *s = mica_calloc(1, sizeof *s);
    if (!s) return MICA_NO_MEMORY();
    mica_status status = sparse_a ? add_sparse(c, 0, 0, s) : add_dense(c, 0, 0, s);
    int32_t second = sparse_a ? 3 : 1;
    if (!status) status = sparse_b ? add_sparse(c, second, 1, s) : add_dense(c, second, 1, s);
    if (!status) status = operate(c, s);
    close_sets(s);
    return status;
}

mica_status tf_host_set_dense_dense(mica_tf_host *c) {
    return set_operation(c, false, false);
}

mica_status tf_host_set_dense_sparse(mica_tf_host *c) {
    return set_operation(c, false, true);
}

mica_status tf_host_set_sparse_sparse(mica_tf_host *c) {
    return set_operation(c, true, true);
}

/* ---- sizes ------------------------------------------------------------------------------------*/

static mica_status give_sizes(mica_tf_host *c, sets *s) {
    mica_tf_shape shape = {.rank = s->rank};
    void *data;
    if (s->rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] a dense tensor has at most %d axes, not %d", c->info->name,
                            MICA_MAX_RANK, s->rank);
    for (int32_t k = 0; k < s->rank; k++) shape.dims[k] = s->groups[k];
    MICA_TRY(sort_items(s));
    MICA_TRY(tf_sparse_room(c, mica_tf_shape_elements(&shape), sizeof(int32_t), &data));
    int32_t *sizes = data;
    for (int64_t i = 0; i < s->n; i++)
        if (i == 0 || compare_items(s, &s->sorted[i - 1], &s->sorted[i]) != 0)
            sizes[s->sorted[i].row]++;
    mica_status status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i32, mica_tf_dims(&shape), data);
    mica_free(data);
    return status;
}

mica_status tf_host_set_size(mica_tf_host *c) {
    sets *s = mica_calloc(1, sizeof *s);
    if (!s) return MICA_NO_MEMORY();
    mica_status status = add_sparse(c, 0, 0, s);
    if (!status) status = give_sizes(c, s);
    close_sets(s);
    return status;
}
