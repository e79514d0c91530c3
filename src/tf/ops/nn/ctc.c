/* CTCBeamSearchDecoder: the likeliest label sequences of connectionist temporal classification.
 *
 * Label sequences are nodes of a tree: a node is its parent's sequence with one more label. Of each
 * the search keeps log P(sequence, ends in a blank at t), log P(sequence, ends in its label at t)
 * and the sum, and of all nodes only the beam: the beam_width ones with the largest sums. A step
 * first moves the beam's nodes on by one time, then tries each of them with each label more. Nodes
 * that have left the beam stay in the tree, with probability 0, and may come back. */
#include <math.h>
#include <string.h>

#include "tf/host_rules.h"
#include "tf/strings.h"

typedef struct chances {
    double blank, label, total; /* logarithms */
} chances;

typedef struct node {
    int32_t parent, label, child, sibling; /* -1: none */
    chances now, before;
} node;

typedef struct beam {
    node *nodes; /* 0 is the empty sequence */
    int32_t n_nodes, node_capacity;
    int32_t *heap; /* the beam's nodes, the least likely one first */
    int32_t *branches;
    int64_t n, heap_capacity, width;
    int32_t *child_of; /* per label, of the node that is being expanded */
    double *row;       /* the logarithms of the probabilities at one time */
    int32_t n_classes;
} beam;

static const chances impossible = {-INFINITY, -INFINITY, -INFINITY};

static double log_sum(double a, double b) {
    double larger = a > b ? a : b, smaller = a > b ? b : a;
    return larger == -INFINITY ? larger : larger + log1p(exp(smaller - larger));
}

static void beam_deinit(beam *s) {
    mica_free(s->nodes);
    mica_free(s->heap);
    mica_free(s->branches);
    mica_free(s->child_of);
    mica_free(s->row);
}

/* ---- the heap ---------------------------------------------------------------------------------*/

/* Whether node a is to leave the beam before node b: of equals the later one. */
static bool is_worse(const beam *s, int32_t a, int32_t b) {
    double x = s->nodes[a].now.total, y = s->nodes[b].now.total;
    return x < y || (x == y && a > b);
}

static void sink(beam *s, int64_t at) {
    int32_t moved = s->heap[at];
    for (int64_t next; (next = 2 * at + 1) < s->n; at = next) {
        if (next + 1 < s->n && is_worse(s, s->heap[next + 1], s->heap[next])) next++;
        if (!is_worse(s, s->heap[next], moved)) break;
        s->heap[at] = s->heap[next];
    }
    s->heap[at] = moved;
}

static bool grow(int32_t **array, int64_t capacity) {
    int32_t *larger = mica_realloc(*array, (size_t)capacity * sizeof *larger);
    if (larger) *array = larger;
    return larger != NULL;
}

/* Puts a node in the beam; the least likely one leaves a full one. */
static mica_status push(beam *s, int32_t added) {
    if (s->n == s->width) {
        s->nodes[s->heap[0]].now = impossible;
        s->heap[0] = added;
        sink(s, 0);
        return NULL;
    }
    if (s->n == s->heap_capacity) {
        int64_t capacity = s->heap_capacity ? 2 * s->heap_capacity : 64;
        if (!grow(&s->heap, capacity) || !grow(&s->branches, capacity)) return MICA_NO_MEMORY();
        s->heap_capacity = capacity;
    }
    int64_t at = s->n++;
    for (int64_t above; at > 0 && is_worse(s, added, s->heap[above = (at - 1) / 2]); at = above)
        s->heap[at] = s->heap[above];
    s->heap[at] = added;
    return NULL;
}

/* Moves the beam to `branches`, the likeliest node first; returns how many there are. */
static int64_t drain(beam *s) {
    int64_t count = s->n;
    while (s->n > 0) {
        s->branches[s->n - 1] = s->heap[0];
        s->heap[0] = s->heap[--s->n];
        sink(s, 0);
    }
    return count;
}

/* ---- a step -----------------------------------------------------------------------------------*/

static mica_status add_node(beam *s, int32_t parent, int32_t label, int32_t *out) {
    if (s->n_nodes == s->node_capacity) {
        int32_t capacity = s->node_capacity ? 2 * s->node_capacity : 64;
        if (s->node_capacity > INT32_MAX / 2)
            return MICA_INVALID("[CTCBeamSearchDecoder] the search has more than 2^30 label "
                                "sequences: use a smaller beam_width");
        node *larger = mica_realloc(s->nodes, (size_t)capacity * sizeof *larger);
        if (!larger) return MICA_NO_MEMORY();
        s->nodes = larger;
        s->node_capacity = capacity;
    }
    int32_t sibling = parent < 0 ? -1 : s->nodes[parent].child;
    s->nodes[s->n_nodes] = (node){parent, label, -1, sibling, impossible, impossible};
    if (parent >= 0) s->nodes[parent].child = s->n_nodes;
    *out = s->n_nodes++;
    return NULL;
}

static bool is_candidate(const beam *s, double total) {
    return total > -INFINITY && (s->n < s->width || total > s->nodes[s->heap[0]].now.total);
}

/* The node's sequence at the next time: it goes on with a blank or its last label again, or its
 * parent's has just got the label. */
static void move_on(beam *s, int32_t at) {
    node *x = &s->nodes[at];
    if (x->parent >= 0) {
        const node *parent = &s->nodes[x->parent];
        if (parent->now.total > -INFINITY) {
            bool repeats = x->label == parent->label;
            double arriving = repeats ? parent->before.blank : parent->before.total;
            x->now.label = log_sum(x->now.label, arriving);
        }
        x->now.label += s->row[x->label];
    }
    x->now.blank = x->before.total + s->row[s->n_classes - 1];
    x->now.total = log_sum(x->now.blank, x->now.label);
}

static mica_status expand(beam *s, int32_t at) {
    if (!is_candidate(s, s->nodes[at].before.total)) return NULL;
    for (int32_t i = 0; i < s->n_classes; i++) s->child_of[i] = -1;
    for (int32_t child = s->nodes[at].child; child >= 0; child = s->nodes[child].sibling)
        s->child_of[s->nodes[child].label] = child;
    for (int32_t label = 0; label < s->n_classes - 1; label++) {
        int32_t child = s->child_of[label];
        if (child >= 0 && s->nodes[child].now.total > -INFINITY) continue; /* in the beam */
        const node *x = &s->nodes[at];
        double from = label == x->label ? x->before.blank : x->before.total;
        double total = from + s->row[label];
        if (!is_candidate(s, total)) {
            /* A node that has left the beam at this time is not expanded when its turn comes. */
            if (child >= 0) s->nodes[child].before = impossible;
            continue;
        }
        if (child < 0) MICA_TRY(add_node(s, at, label, &child));
        s->nodes[child].now = (chances){-INFINITY, total, total};
        MICA_TRY(push(s, child));
    }
    return NULL;
}

static mica_status step(beam *s) {
    int64_t count = drain(s);
    for (int64_t i = 0; i < count; i++)
        s->nodes[s->branches[i]].before = s->nodes[s->branches[i]].now;
    for (int64_t i = 0; i < count; i++) {
        move_on(s, s->branches[i]);
        MICA_TRY(push(s, s->branches[i]));
    }
    for (int64_t i = 0; i < count; i++) MICA_TRY(expand(s, s->branches[i]));
    return NULL;
}

/* ---- the op -----------------------------------------------------------------------------------*/

typedef struct paths {
    int64_t *labels; /* of one place, behind those of the rows before */
    int64_t n, capacity, longest;
    int64_t *ends; /* per row */
} paths;

typedef struct decoder {
    const void *inputs; /* (time, batch, classes) */
    bool is_wide;
    int64_t time, batch;
    bool merges;
    int64_t n_paths;
    paths *paths;
    double *scores; /* (batch, n_paths) */
} decoder;

static double element(const decoder *d, int64_t i) {
    return d->is_wide ? ((const double *)d->inputs)[i] : (double)((const float *)d->inputs)[i];
}

static void read_row(const decoder *d, beam *s, int64_t t, int64_t b) {
    int64_t first = (t * d->batch + b) * s->n_classes;
    double largest = -INFINITY, sum = 0;
    for (int32_t i = 0; i < s->n_classes; i++) {
        s->row[i] = element(d, first + i);
        if (s->row[i] > largest) largest = s->row[i];
    }
    for (int32_t i = 0; i < s->n_classes; i++) sum += exp(s->row[i] - largest);
    for (int32_t i = 0; i < s->n_classes; i++) s->row[i] -= largest + log(sum);
}

static mica_status append_path(const decoder *d, const beam *s, int32_t at, paths *p, int64_t b) {
    int64_t length = 0, begin = p->n;
    for (int32_t x = at; s->nodes[x].parent >= 0; x = s->nodes[x].parent) length++;
    if (p->n + length > p->capacity) {
        int64_t capacity = 2 * (p->n + length);
        int64_t *larger = mica_realloc(p->labels, (size_t)capacity * sizeof *larger);
        if (!larger) return MICA_NO_MEMORY();
        p->labels = larger;
        p->capacity = capacity;
    }
    for (int32_t x = at; s->nodes[x].parent >= 0; x = s->nodes[x].parent)
        p->labels[begin + --length] = s->nodes[x].label;
    for (int32_t x = at; s->nodes[x].parent >= 0; x = s->nodes[x].parent) length++;
    for (int64_t i = begin; i < begin + length; i++)
        if (!d->merges || i == begin || p->labels[i] != p->labels[i - 1])
            p->labels[p->n++] = p->labels[i];
    p->ends[b] = p->n;
    if (p->n - begin > p->longest) p->longest = p->n - begin;
    return NULL;
}

static mica_status decode_row(const decoder *d, beam *s, int64_t b, int64_t length) {
    int32_t root;
    s->n = s->n_nodes = 0;
    MICA_TRY(add_node(s, -1, -1, &root));
    s->nodes[root].now = (chances){0, -INFINITY, 0};
    MICA_TRY(push(s, root));
    for (int64_t t = 0; t < length; t++) {
        MICA_TRY_UNINTERRUPTED();
        read_row(d, s, t, b);
        MICA_TRY(step(s));
    }
    if (d->n_paths > s->n)
        return MICA_INVALID("[CTCBeamSearchDecoder] Less leaves in the beam search than requested: "
                            "row %lld has %lld label sequences, top_paths is %lld",
                            (long long)b, (long long)s->n, (long long)d->n_paths);
    drain(s);
    for (int64_t i = 0; i < d->n_paths; i++) {
        MICA_TRY(append_path(d, s, s->branches[i], &d->paths[i], b));
        d->scores[b * d->n_paths + i] = s->nodes[s->branches[i]].now.total;
    }
    return NULL;
}

static mica_status give_path(mica_tf_host *c, const decoder *d, int32_t i) {
    const paths *p = &d->paths[i];
    int32_t n = (int32_t)d->n_paths;
    int64_t *places = mica_alloc((size_t)p->n * 2 * sizeof *places + 1), none = 0;
    if (!places) return MICA_NO_MEMORY();
    for (int64_t b = 0, at = 0; b < d->batch; b++)
        for (int64_t begin = at; at < p->ends[b]; at++) {
            places[2 * at] = b;
            places[2 * at + 1] = at - begin;
        }
    mica_status status = mica_tf_give_numbers(c, i, MICA_DTYPE_i64, MICA_INTS(p->n, 2), places);
    mica_free(places);
    MICA_TRY(status);
    const int64_t *labels = p->labels ? p->labels : &none;
    MICA_TRY(mica_tf_give_numbers(c, n + i, MICA_DTYPE_i64, MICA_INTS(p->n), labels));
    int64_t shape[2] = {d->batch, p->longest};
    return mica_tf_give_numbers(c, 2 * n + i, MICA_DTYPE_i64, MICA_INTS(2), shape);
}

static mica_status give(mica_tf_host *c, const decoder *d) {
    for (int32_t i = 0; i < d->n_paths; i++) MICA_TRY(give_path(c, d, i));
    int64_t n = d->batch * d->n_paths;
    if (!d->is_wide)
        for (int64_t i = 0; i < n; i++) {
            float narrow = (float)d->scores[i];
            memcpy((char *)d->scores + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
        }
    return mica_tf_give_numbers(c, 3 * (int32_t)d->n_paths,
                                d->is_wide ? MICA_DTYPE_f64 : MICA_DTYPE_f32,
                                MICA_INTS(d->batch, d->n_paths), d->scores);
}

static mica_status search(mica_tf_host *c, decoder *d, beam *s, const int32_t *lengths) {
    for (int64_t b = 0; b < d->batch; b++)
        if (lengths[b] < 0 || lengths[b] > d->time)
            return MICA_INVALID("[CTCBeamSearchDecoder] sequence_length(%lld) is %d, must be from "
                                "0 to %lld",
                                (long long)b, lengths[b], (long long)d->time);
    for (int64_t b = 0; b < d->batch; b++) MICA_TRY(decode_row(d, s, b, lengths[b]));
    return give(c, d);
}

static mica_status run(mica_tf_host *c, decoder *d, beam *s) {
    s->child_of = mica_alloc((size_t)s->n_classes * sizeof *s->child_of);
    s->row = mica_alloc((size_t)s->n_classes * sizeof *s->row);
    d->scores = mica_calloc((size_t)(d->batch * d->n_paths) + 1, sizeof *d->scores);
    d->paths = mica_calloc((size_t)d->n_paths, sizeof *d->paths);
    if (!s->child_of || !s->row || !d->scores || !d->paths) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < d->n_paths; i++) {
        d->paths[i].ends = mica_alloc((size_t)d->batch * sizeof *d->paths[i].ends + 1);
        if (!d->paths[i].ends) return MICA_NO_MEMORY();
    }
    const void *lengths;
    MICA_TRY(mica_tf_open(c->inputs[0], &d->inputs));
    mica_status status = mica_tf_open(c->inputs[1], &lengths);
    if (!status) {
        status = search(c, d, s, lengths);
        mica_tf_close(c->inputs[1]);
    }
    mica_tf_close(c->inputs[0]);
    return status;
}

mica_status tf_host_ctc_beam_search(mica_tf_host *c) {
    mica_tf_shape inputs, lengths;
    mica_tf_value_shape(c->inputs[0], &inputs);
    mica_tf_value_shape(c->inputs[1], &lengths);
    beam s = {.width = mica_tf_host_attr(c, "beam_width")->as.integer};
    decoder d = {.is_wide = c->inputs[0].dtype == MICA_TF_float64,
                 .time = inputs.dims[0],
                 .batch = inputs.dims[1],
                 .merges = mica_tf_host_attr(c, "merge_repeated")->as.integer != 0,
                 .n_paths = mica_tf_host_attr(c, "top_paths")->as.integer};
    if (d.batch != lengths.dims[0])
        return MICA_INVALID("[CTCBeamSearchDecoder] len(sequence_length) != batch_size. "
                            "len(sequence_length): %lld batch_size: %lld",
                            (long long)lengths.dims[0], (long long)d.batch);
    if (inputs.dims[2] < 1 || inputs.dims[2] > INT32_MAX)
        return MICA_INVALID("[CTCBeamSearchDecoder] inputs have %lld classes: at least the blank "
                            "is needed",
                            (long long)inputs.dims[2]);
    s.n_classes = (int32_t)inputs.dims[2];
    mica_status status = run(c, &d, &s);
    for (int64_t i = 0; d.paths && i < d.n_paths; i++) {
        mica_free(d.paths[i].labels);
        mica_free(d.paths[i].ends);
    }
    mica_free(d.paths);
    mica_free(d.scores);
    beam_deinit(&s);
    return status;
}
