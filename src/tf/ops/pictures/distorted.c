/* Windows of pictures at random, of an area and a ratio of sides within ranges, that cover enough
 * of one of the boxes: TensorFlow's own, number for number. */
#include <math.h>
#include <string.h>

#include "tf/host_rules.h"
#include "tf/ops/random/generators.h"
#include "tf/shape_rules.h"
#include "tf/strings.h"

enum { MOST_ATTEMPTS = 10000000 };

mica_status tf_shape_distorted_box(mica_tf_inference *c) {
    const mica_tf_shape *size = &c->inputs[0], *boxes = &c->inputs[1];
    if (size->rank >= 0 && (size->rank != 1 || (size->dims[0] >= 0 && size->dims[0] != 3)))
        return MICA_INVALID("[%s] image_size must contain 3 elements, not the shape %s",
                            c->info->name, mica_tf_shape_text(size).chars);
    if (boxes->rank >= 0 && (boxes->rank != 3 || (boxes->dims[2] >= 0 && boxes->dims[2] != 4)))
        return MICA_INVALID("[%s] input boxes must be 3-dimensional [batch, num_boxes, coords], "
                            "not the shape %s",
                            c->info->name, mica_tf_shape_text(boxes).chars);
    if (c->inputs[2].rank > 0)
        return MICA_INVALID("[%s] min_object_covered must be 0-D, got shape %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[2]).chars);
    if (c->n_inputs > 3) MICA_TRY(mica_tf_check_seed(c, 3));
    c->outputs[0] = c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {3}};
    c->outputs[2] = (mica_tf_shape){.rank = 3, .dims = {1, 1, 4}};
    return NULL;
}

typedef struct box {
    int64_t left, top, right, bottom;
} box;

typedef struct sampling {
    int64_t height, width, attempts, n_boxes;
    const float *boxes; /* (top, left, bottom, right), from 0 to 1 */
    float ratio[2], area[2], covered;
    mica_tf_generator random;
} sampling;

/* To the nearest integer that a window can have. */
static int64_t rounded(double x) {
    return x > -1e9 && x < 1e9 ? lrint(x) : x > 0 ? 1000000000 : -1000000000;
}

/* Each number below n as likely as the others. */
static int64_t below(mica_tf_generator *r, uint32_t n) {
    if ((n & (n - 1)) == 0) return mica_tf_generator_word(r) & (n - 1);
    uint32_t rest = UINT32_MAX % n + 1, word;
    do word = mica_tf_generator_word(r);
    while (word < rest);
    return word % n;
}

static float unit_float(mica_tf_generator *r) {
    uint32_t bits = (mica_tf_generator_word(r) & 0x7fffff) | UINT32_C(127) << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0f;
}

/* The largest height whose width fits. */
static int64_t most_height(const sampling *s, float ratio) {
    int64_t most = rounded(sqrtf(s->area[1] * (float)s->width * (float)s->height / ratio));
    if (rounded((float)most * ratio) > s->width) {
        most = (int64_t)fmin(1e9, ((double)s->width + 0.5 - 1e-7f) / (double)ratio);
        if (rounded((float)most * ratio) > s->width) most--;
    }
    return most < s->height ? most : s->height;
}

static bool draw_window(sampling *s, float ratio, box *out) {
    if (s->area[1] <= 0 || !(ratio > 0) || s->width <= 0 || s->height <= 0 ||
        s->area[0] > s->area[1])
        return false;
    float least = s->area[0] * (float)s->width * (float)s->height;
    float largest = s->area[1] * (float)s->width * (float)s->height;
    int64_t height = rounded(sqrtf(least / ratio)), most = most_height(s, ratio);
    if (height > most) height = most;
    if (height < most) height += below(&s->random, (uint32_t)(most - height + 1));
    int64_t width = rounded((float)height * ratio);
    float area = (float)(width * height);
    if (area < least) {
        height++;
        width = rounded((float)height * ratio);
        area = (float)(width * height);
    }
    if (area > largest) {
        height--;
        width = rounded((float)height * ratio);
        area = (float)(width * height);
    }
    if (area < least || area > largest || width > s->width || height > s->height || width <= 0 ||
        height <= 0)
        return false;
    out->top = height < s->height ? below(&s->random, (uint32_t)(s->height - height)) : 0;
    out->left = width < s->width ? below(&s->random, (uint32_t)(s->width - width)) : 0;
    out->bottom = out->top + height;
    out->right = out->left + width;
    return true;
}

static float area_of(const box *b) {
    if (b->right <= b->left || b->bottom <= b->top) return 0;
    return (float)((b->right - b->left) * (b->bottom - b->top));
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static bool covers(const sampling *s, const box *window, const box *object) {
    box both = {larger(window->left, object->left), larger(window->top, object->top),
                smaller(window->right, object->right), smaller(window->bottom, object->bottom)};
    float area = area_of(object);
    return area >= 1 && area_of(&both) / area >= s->covered;
}

static bool covers_one(const sampling *s, const box *window) {
    const box whole = {0, 0, s->width, s->height};
    if (area_of(window) < 1) return false;
    if (s->n_boxes == 0) return covers(s, window, &whole);
    for (int64_t i = 0; i < s->n_boxes; i++) {
        const float *b = s->boxes + 4 * i;
        box object = {(int64_t)(b[1] * (float)s->width), (int64_t)(b[0] * (float)s->height),
                      (int64_t)(b[3] * (float)s->width), (int64_t)(b[2] * (float)s->height)};
        if (covers(s, window, &object)) return true;
    }
    return false;
}

static box sample(sampling *s) {
    box window;
    for (int64_t i = 0; i < s->attempts; i++) {
        float ratio = unit_float(&s->random) * (s->ratio[1] - s->ratio[0]) + s->ratio[0];
        if (draw_window(s, ratio, &window) && covers_one(s, &window)) return window;
    }
    return (box){0, 0, s->width, s->height};
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "narrow integers begin in place");

/* ---- operands ---------------------------------------------------------------------------------*/

static mica_status read_range(const mica_tf_host *c, const char *name, const float *usual,
                              float *out) {
    const mica_tf_attr *given = mica_tf_host_attr(c, name);
    memcpy(out, usual, 2 * sizeof *out);
    if (given->n == 0) return NULL;
    if (given->n != 2)
        return MICA_INVALID("[%s] %s must specify 2 dimensions, not %d", c->info->name, name,
                            given->n);
    for (int i = 0; i < 2; i++) {
        out[i] = (float)given->as.reals[i];
        if (!(out[i] > 0))
            return MICA_INVALID("[%s] %s must be non-negative: [%g, %g]", c->info->name, name,
                                given->as.reals[0], given->as.reals[1]);
    }
    return NULL;
}

static mica_status read_attributes(const mica_tf_host *c, sampling *s) {
    static const float ratio[2] = {0.75f, 1.33f}, area[2] = {0.05f, 1};
    MICA_TRY(read_range(c, "aspect_ratio_range", ratio, s->ratio));
    MICA_TRY(read_range(c, "area_range", area, s->area));
    if (s->area[0] > 1 || s->area[1] > 1)
        return MICA_INVALID("[%s] Area range must be less then or equal to 1.0: [%g, %g]",
                            c->info->name, (double)s->area[0], (double)s->area[1]);
    s->attempts = mica_tf_host_attr(c, "max_attempts")->as.integer;
    if (s->attempts < 1 || s->attempts > MOST_ATTEMPTS)
        return MICA_INVALID("[%s] Max attempts must be non-negative and at most %d: %lld",
                            c->info->name, MOST_ATTEMPTS, (long long)s->attempts);
    double covered;
    MICA_TRY(mica_tf_tensor_double(c->inputs[2].object, &covered));
    if (!(covered >= 0 && covered <= 1))
        return MICA_INVALID("[%s] Min object covered must be non-negative and at most 1: %g",
                            c->info->name, covered);
    s->covered = (float)covered;
    return NULL;
}

static mica_status read_sizes(const mica_tf_host *c, sampling *s) {
    int64_t size[3];
    int32_t n;
    MICA_TRY(mica_tf_tensor_ints(mica_tf_tensor(c->inputs[0]), size, 3, &n));
    s->height = size[0];
    s->width = size[1];
    if (s->height >= 0 && s->width >= 0 && s->height <= 1000000000 && s->width <= 1000000000)
        return NULL;
    return MICA_INVALID("[%s] image height and width must be 0 to 1000000000: %lld, %lld",
                        c->info->name, (long long)s->height, (long long)s->width);
}

static mica_status check_boxes(const mica_tf_host *c, const sampling *s) {
    if (s->n_boxes == 0 && !mica_tf_host_attr(c, "use_image_if_no_bounding_boxes")->as.integer)
        return MICA_INVALID("[%s] No bounding boxes provided as input. One must enable "
                            "use_image_if_no_bounding_boxes if you wish to not provide any "
                            "bounding boxes.",
                            c->info->name);
    for (int64_t i = 0; i < 4 * s->n_boxes; i++)
        if (!(s->boxes[i] >= 0 && s->boxes[i] <= 1))
            return MICA_INVALID("[%s] All bounding box coordinates must be in [0.0, 1.0]: %g",
                                c->info->name, (double)s->boxes[i]);
    return NULL;
}

/* Four words of 32 bits are reserved for each attempt. */
static mica_status read_generator(mica_tf_host *c, sampling *s) {
    uint32_t state[6];
    if (c->n_inputs > 3)
        MICA_TRY(mica_tf_seed_state(c, 3, state));
    else
        MICA_TRY(mica_tf_random_reserve(c->operation, c->is_eager, 4 * s->attempts, state));
    s->random = mica_tf_generator_of(state);
    return NULL;
}

/* The low bytes of each number, which come first. */
static mica_status give_ints(mica_tf_host *c, int32_t i, const int64_t *ints) {
    uint8_t room[3 * sizeof *ints];
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[i]);
    size_t size = mica_dtype_bytes(dtype);
    for (size_t k = 0; k < 3; k++) memcpy(room + k * size, &ints[k], size);
    return mica_tf_give_numbers(c, i, dtype, MICA_INTS(3), room);
}

static mica_status give_window(mica_tf_host *c, const sampling *s, const box *w) {
    float height = (float)s->height, width = (float)s->width;
    float parts[4] = {(float)w->top / height, (float)w->left / width, (float)w->bottom / height,
                      (float)w->right / width};
    MICA_TRY(give_ints(c, 0, (int64_t[]){w->top, w->left, 0}));
    MICA_TRY(give_ints(c, 1, (int64_t[]){w->bottom - w->top, w->right - w->left, -1}));
    return mica_tf_give_numbers(c, 2, MICA_DTYPE_f32, MICA_INTS(1, 1, 4), parts);
}

mica_status tf_host_distorted_box(mica_tf_host *c) {
    sampling s = {.attempts = 0};
    mica_tf_shape boxes;
    const void *data = NULL;
    mica_tf_value_shape(c->inputs[1], &boxes);
    s.n_boxes = boxes.dims[0] * boxes.dims[1];
    MICA_TRY(read_attributes(c, &s));
    MICA_TRY(read_sizes(c, &s));
    MICA_TRY(mica_tf_open(c->inputs[1], &data));
    s.boxes = data;
    box window = {0, 0, 0, 0};
    mica_status status = check_boxes(c, &s);
    if (!status) status = read_generator(c, &s);
    if (!status) window = sample(&s);
    mica_tf_close(c->inputs[1]);
    return status ? status : give_window(c, &s, &window);
}
