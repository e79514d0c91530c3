/* Suppression of boxes that overlap with better ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "tf/strings.h"

typedef struct candidate {
    int32_t box, begin; /* begin: the first of the selected that it has not been held against */
    float score;
} candidate;

typedef struct suppression {
    const float *boxes;    /* rows of (y1, x1, y2, x2), `stride` floats apart, or NULL: */
    const float *overlaps; /* n x n */
    int64_t n, stride;
    float iou_threshold, score_threshold, sigma;
    int64_t most;
    candidate *heap; /* the best first */
    int64_t n_heap;
    int32_t *selected;
    float *scores;
    int64_t n_selected;
} suppression;

/* Ties go to the box that comes first. */
static bool is_better(const candidate *a, const candidate *b) {
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void swap(candidate *a, candidate *b) {
    candidate kept = *a;
    *a = *b;
    *b = kept;
}

static void push(suppression *s, candidate c) {
    int64_t at = s->n_heap++;
    s->heap[at] = c;
    for (; at && is_better(&s->heap[at], &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&s->heap[at], &s->heap[(at - 1) / 2]);
}

static candidate pop(suppression *s) {
    candidate best = s->heap[0];
    s->heap[0] = s->heap[--s->n_heap];
    for (int64_t at = 0;;) {
        int64_t child = 2 * at + 1;
        if (child >= s->n_heap) break;
        if (child + 1 < s->n_heap && is_better(&s->heap[child + 1], &s->heap[child])) child++;
        if (!is_better(&s->heap[child], &s->heap[at])) break;
        swap(&s->heap[at], &s->heap[child]);
        at = child;
    }
    return best;
}

/* The area that two boxes share over the area that either covers. */
static float overlap(const suppression *s, int32_t i, int32_t k) {
    if (s->overlaps) return s->overlaps[(int64_t)i * s->n + k];
    const float *a = s->boxes + i * s->stride, *b = s->boxes + k * s->stride;
    float top_a = fminf(a[0], a[2]), low_a = fmaxf(a[0], a[2]);
    float left_a = fminf(a[1], a[3]), right_a = fmaxf(a[1], a[3]);
    float top_b = fminf(b[0], b[2]), low_b = fmaxf(b[0], b[2]);
    float left_b = fminf(b[1], b[3]), right_b = fmaxf(b[1], b[3]);
    float area_a = (low_a - top_a) * (right_a - left_a);
    float area_b = (low_b - top_b) * (right_b - left_b);
    if (area_a <= 0 || area_b <= 0) return 0;
    float height = fmaxf(fminf(low_a, low_b) - fmaxf(top_a, top_b), 0);
    float width = fmaxf(fminf(right_a, right_b) - fmaxf(left_a, left_b), 0);
    float both = height * width;
    return both / (area_a + area_b - both);
}

/* Whether a candidate is out for good; its score becomes what soft suppression leaves of it. */
static bool is_suppressed(const suppression *s, candidate *c) {
    for (int64_t k = s->n_selected; k-- > c->begin;) {
        float similar = overlap(s, c->box, s->selected[k]);
        if (s->sigma > 0)
            c->score *= expf(-0.5f / s->sigma * similar * similar);
        else if (similar > s->iou_threshold)
            return true;
        if (!(c->score > s->score_threshold))
            return true; /* NaN too: it would come back for ever */
    }
    return false;
}

/* `scores` are `stride` floats apart. */
static mica_status select_boxes(suppression *s, const float *scores, int64_t stride) {
    s->n_heap = s->n_selected = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (scores[i * stride] > s->score_threshold)
            push(s, (candidate){.box = (int32_t)i, .score = scores[i * stride]});
    while (s->n_heap && s->n_selected < s->most) {
        MICA_TRY_UNINTERRUPTED(); /* each is held against all before it */
        candidate c = pop(s);
        float before = c.score;
        if (is_suppressed(s, &c)) continue;
        c.begin = (int32_t)s->n_selected;
        if (c.score != before) {
            push(s, c);
            continue;
        }
        s->scores[s->n_selected] = c.score;
        s->selected[s->n_selected++] = c.box;
    }
    return NULL;
}

static mica_status begin(suppression *s) {
    size_t n = (size_t)s->n + 1;
    s->heap = mica_calloc(n, sizeof *s->heap + sizeof *s->selected + sizeof *s->scores);
    if (!s->heap) return MICA_NO_MEMORY();
    s->selected = (int32_t *)(s->heap + n);
    s->scores = (float *)(s->selected + n);
    if (s->most > s->n) s->most = s->n;
    return NULL;
}

static mica_status read_numbers(const mica_tf_host *c, int32_t first, int32_t n, double *out) {
    for (int32_t i = 0; i < n; i++)
        MICA_TRY(mica_tf_tensor_double(c->inputs[first + i].object, &out[i]));
    return NULL;
}

static mica_status check_inputs(const mica_tf_host *c, int64_t columns, int64_t *out_n) {
    mica_tf_shape boxes, scores;
    mica_tf_value_shape(c->inputs[0], &boxes);
    mica_tf_value_shape(c->inputs[1], &scores);
    if (boxes.rank != 2 || (boxes.dims[1] != columns && columns > 0) ||
        (columns < 0 && boxes.dims[1] != boxes.dims[0]))
        return MICA_INVALID("[%s] boxes must be of shape [n,4], overlaps of shape [n,n]: %s",
                            c->info->name, mica_tf_shape_text(&boxes).chars);
    if (scores.rank != 1 || scores.dims[0] != boxes.dims[0])
        return MICA_INVALID("[%s] scores has incompatible shape: %s vs. %s", c->info->name,
                            mica_tf_shape_text(&scores).chars, mica_tf_shape_text(&boxes).chars);
    *out_n = boxes.dims[0];
    return NULL;
}

/* Opens the first two inputs and runs. */
static mica_status run_one(mica_tf_host *c, suppression *s, bool has_overlaps) {
    const void *first, *scores;
    MICA_TRY(begin(s));
    MICA_TRY(mica_tf_open(c->inputs[0], &first));
    mica_status status = mica_tf_open(c->inputs[1], &scores);
    if (!status) {
        s->stride = 4;
        if (has_overlaps)
            s->overlaps = first;
        else
            s->boxes = first;
        status = select_boxes(s, scores, 1);
        mica_tf_close(c->inputs[1]);
    }
    mica_tf_close(c->inputs[0]);
    return status;
}

static mica_status give_selected(mica_tf_host *c, const suppression *s, int64_t size) {
    int32_t *padded = mica_calloc((size_t)size + 1, sizeof *padded);
    if (!padded) return MICA_NO_MEMORY();
    memcpy(padded, s->selected, (size_t)s->n_selected * sizeof *padded);
    mica_status status = mica_tf_give_numbers(c, 0, MICA_DTYPE_i32, MICA_INTS(size), padded);
    if (!status && c->n_outputs > 1) {
        memset(padded, 0, (size_t)size * sizeof *padded);
        memcpy(padded, s->scores, (size_t)s->n_selected * sizeof *padded);
        status = mica_tf_give_numbers(c, 1, MICA_DTYPE_f32, MICA_INTS(size), padded);
    }
    mica_free(padded);
    return status;
}

mica_status tf_host_non_max_suppression(mica_tf_host *c) {
    double numbers[4];
    suppression s = {.n = 0};
    MICA_TRY(check_inputs(c, 4, &s.n));
    MICA_TRY(read_numbers(c, 2, 4, numbers));
    if (numbers[0] < 0)
        return MICA_INVALID("[%s] max_output_size must be non-negative", c->info->name);
    if (numbers[1] < 0 || numbers[1] > 1)
        return MICA_INVALID("[%s] iou_threshold must be in [0, 1]", c->info->name);
    if (numbers[3] < 0)
        return MICA_INVALID("[%s] soft_nms_sigma must be non-negative", c->info->name);
    s.most = (int64_t)numbers[0];
    s.iou_threshold = (float)numbers[1];
    s.score_threshold = (float)numbers[2];
    s.sigma = (float)numbers[3];
    mica_status status = run_one(c, &s, false);
    bool pads = mica_tf_host_attr(c, "pad_to_max_output_size")->as.integer != 0;
    int32_t n = (int32_t)s.n_selected;
    if (!status) status = give_selected(c, &s, pads ? (int64_t)numbers[0] : s.n_selected);
    if (!status) status = mica_tf_give_numbers(c, 2, MICA_DTYPE_i32, MICA_NO_INTS, &n);
    mica_free(s.heap);
    return status;
}

mica_status tf_host_non_max_suppression_overlaps(mica_tf_host *c) {
    double numbers[3];
    suppression s = {.n = 0};
    MICA_TRY(check_inputs(c, -1, &s.n));
    MICA_TRY(read_numbers(c, 2, 3, numbers));
    s.most = numbers[0] < 0 ? 0 : (int64_t)numbers[0];
    s.iou_threshold = (float)numbers[1];
    s.score_threshold = (float)numbers[2];
    mica_status status = run_one(c, &s, true);
    if (!status) status = give_selected(c, &s, s.n_selected);
    mica_free(s.heap);
    return status;
}

/* ---- all classes of a batch -------------------------------------------------------------------*/

typedef struct detection {
    float score;
    int32_t box, class;
} detection;

static int by_score(const void *x, const void *y) {
    const detection *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->class != b->class ? (a->class < b->class ? -1 : 1)
                                : (a->box > b->box) - (a->box < b->box);
}

typedef struct batch {
    suppression one;
    const float *boxes, *scores;
    int64_t n, n_classes, q, size; /* q: 1 or a row of boxes for each class */
    bool clips;
    detection *found;
    float *out_boxes, *out_scores, *out_classes;
    int32_t *valid;
    void *room;
} batch;

static mica_status detect(batch *b, int64_t picture) {
    int64_t n = 0, boxes = b->one.n, classes = b->n_classes;
    const float *scores = b->scores + picture * boxes * classes;
    const float *rows = b->boxes + picture * boxes * b->q * 4;
    for (int64_t k = 0; k < classes; k++) {
        b->one.boxes = rows + (b->q > 1 ? k : 0) * 4;
        MICA_TRY(select_boxes(&b->one, scores + k, classes));
        for (int64_t i = 0; i < b->one.n_selected; i++)
            b->found[n++] = (detection){b->one.scores[i], b->one.selected[i], (int32_t)k};
    }
    qsort(b->found, (size_t)n, sizeof *b->found, by_score);
    if (n > b->size) n = b->size;
    for (int64_t i = 0; i < n; i++) {
        const detection *d = &b->found[i];
        int64_t at = picture * b->size + i, column = b->q > 1 ? d->class : 0;
        const float *box = rows + (d->box * b->q + column) * 4;
        for (int64_t k = 0; k < 4; k++)
            b->out_boxes[4 * at + k] = b->clips ? fminf(fmaxf(box[k], 0), 1) : box[k];
        b->out_scores[at] = d->score;
        b->out_classes[at] = (float)d->class;
    }
    b->valid[picture] = (int32_t)n;
    return NULL;
}

static mica_status make_room(batch *b) {
    size_t found = (size_t)(b->one.n * b->n_classes) + 1, places = (size_t)(b->n * b->size) + 1;
    MICA_TRY(begin(&b->one));
    b->room = mica_calloc(1, found * sizeof *b->found + places * 6 * sizeof(float) +
                                 ((size_t)b->n + 1) * sizeof *b->valid);
    if (!b->room) return MICA_NO_MEMORY();
    b->found = b->room;
    b->out_boxes = (float *)(b->found + found);
    b->out_scores = b->out_boxes + 4 * places;
    b->out_classes = b->out_scores + places;
    b->valid = (int32_t *)(b->out_classes + places);
    return NULL;
}

static mica_status read_batch(const mica_tf_host *c, batch *b) {
    double numbers[4];
    mica_tf_shape boxes, scores;
    mica_tf_value_shape(c->inputs[0], &boxes);
    mica_tf_value_shape(c->inputs[1], &scores);
    MICA_TRY(read_numbers(c, 2, 4, numbers));
    if (boxes.rank != 4 || scores.rank != 3 || boxes.dims[3] != 4 ||
        boxes.dims[0] != scores.dims[0] || boxes.dims[1] != scores.dims[1] ||
        (boxes.dims[2] != 1 && boxes.dims[2] != scores.dims[2]))
        return MICA_INVALID("[%s] boxes of shape %s and scores of shape %s do not fit",
                            c->info->name, mica_tf_shape_text(&boxes).chars,
                            mica_tf_shape_text(&scores).chars);
    if (numbers[0] <= 0 || numbers[1] <= 0)
        return MICA_INVALID("[%s] max_size_per_class and max_total_size must be positive",
                            c->info->name);
    if (!(numbers[2] >= 0 && numbers[2] <= 1))
        return MICA_INVALID("[%s] iou_threshold must be in [0, 1]", c->info->name);
    b->n = boxes.dims[0];
    b->q = boxes.dims[2];
    b->n_classes = scores.dims[2];
    b->size = (int64_t)numbers[1];
    int64_t of_classes = (int64_t)numbers[0] * b->n_classes;
    bool pads = mica_tf_host_attr(c, "pad_per_class")->as.integer != 0;
    if (pads && of_classes < b->size) b->size = of_classes;
    b->clips = mica_tf_host_attr(c, "clip_boxes")->as.integer != 0;
    b->one = (suppression){.n = boxes.dims[1],
                           .stride = b->q * 4,
                           .most = (int64_t)numbers[0],
                           .iou_threshold = (float)numbers[2],
                           .score_threshold = (float)numbers[3]};
    return make_room(b);
}

static mica_status give_batch(mica_tf_host *c, const batch *b) {
    MICA_TRY(mica_tf_give_numbers(c, 0, MICA_DTYPE_f32, MICA_INTS(b->n, b->size, 4), b->out_boxes));
    MICA_TRY(mica_tf_give_numbers(c, 1, MICA_DTYPE_f32, MICA_INTS(b->n, b->size), b->out_scores));
    MICA_TRY(mica_tf_give_numbers(c, 2, MICA_DTYPE_f32, MICA_INTS(b->n, b->size), b->out_classes));
    return mica_tf_give_numbers(c, 3, MICA_DTYPE_i32, MICA_INTS(b->n), b->valid);
}

mica_status tf_host_combined_suppression(mica_tf_host *c) {
    batch b = {.n = 0};
    const void *boxes = NULL, *scores = NULL;
    mica_status status = read_batch(c, &b);
    if (!status) status = mica_tf_open(c->inputs[0], &boxes);
    if (!status) {
        status = mica_tf_open(c->inputs[1], &scores);
        if (!status) {
            b.boxes = boxes;
            b.scores = scores;
            for (int64_t i = 0; i < b.n && !status; i++) status = detect(&b, i);
            mica_tf_close(c->inputs[1]);
        }
        mica_tf_close(c->inputs[0]);
    }
    if (!status) status = give_batch(c, &b);
    mica_free(b.one.heap);
    mica_free(b.room);
    return status;
}
