#include "text/points.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct fold_range {
    uint32_t first, last;
    int32_t step, distance;
} fold_range;

#include "text/unicode.def"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- sets -------------------------------------------------------------------------------------*/

void text_points_deinit(text_points *points) {
    mica_free(points->ranges);
    *points = (text_points){0};
}

static void append(text_points *points, uint32_t low, uint32_t high) {
    if (points->n == points->capacity) {
        size_t capacity = points->capacity ? 2 * points->capacity : 8;
        text_range *ranges = mica_realloc(points->ranges, capacity * sizeof *ranges);
        if (!ranges) {
            points->is_failed = true;
            return;
        }
        points->ranges = ranges;
        points->capacity = capacity;
    }
    points->ranges[points->n++] = (text_range){low, high};
}

void text_points_add(text_points *points, uint32_t low, uint32_t high) {
    if (low > high || points->is_failed) return;
    /* What is added again and again does not pile up. */
    if (points->n > 2 * points->n_sorted + 4096) text_points_sort(points);
    append(points, low, high);
}

void text_points_add_all(text_points *points, const text_points *more) {
    points->is_failed |= more->is_failed;
    for (size_t i = 0; i < more->n; i++)
        text_points_add(points, more->ranges[i].low, more->ranges[i].high);
}

static int compare(const void *left, const void *right) {
    const text_range *x = left, *y = right;
    return (x->low > y->low) - (x->low < y->low);
}

void text_points_sort(text_points *points) {
    text_range *r = points->ranges;
    if (points->n > 1) qsort(r, points->n, sizeof *r, compare);
    size_t n = 0;
    for (size_t i = 0; i < points->n; i++) {
        if (n && r[i].low <= r[n - 1].high + 1) {
            if (r[i].high > r[n - 1].high) r[n - 1].high = r[i].high;
        } else {
            r[n++] = r[i];
        }
    }
    points->n = points->n_sorted = n;
}

void text_points_negate(text_points *points) {
    text_points_sort(points);
    text_points others = {.is_failed = points->is_failed};
    uint32_t next = 0;
    for (size_t i = 0; i < points->n; i++) {
        if (points->ranges[i].low > next) append(&others, next, points->ranges[i].low - 1);
        next = points->ranges[i].high + 1;
    }
    if (next <= TEXT_LAST_POINT) append(&others, next, TEXT_LAST_POINT);
    others.n_sorted = others.n;
    text_points_deinit(points);
    *points = others;
}

bool text_points_have(const text_points *points, uint32_t point) {
    size_t low = 0, high = points->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points->ranges[middle].high < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < points->n && points->ranges[low].low <= point;
}

/* ---- cases ------------------------------------------------------------------------------------*/

uint32_t text_next_case(uint32_t point) {
    for (size_t i = 0; i < COUNT(fold_ranges); i++) {
        const fold_range *f = &fold_ranges[i];
        if (f->first > point) break;
        if (point <= f->last && (point - f->first) % (uint32_t)f->step == 0)
            return point + (uint32_t)f->distance;
    }
    return point;
}

/* The next cases of the points of a range, through one row of the table. */
static void add_next_cases(text_points *out, text_range range, const fold_range *f) {
    uint32_t low = range.low > f->first ? range.low : f->first;
    uint32_t high = range.high < f->last ? range.high : f->last;
    uint32_t step = (uint32_t)f->step, by = (uint32_t)f->distance;
    low = f->first + (low - f->first + step - 1) / step * step;
    if (low > high) return;
    if (step == 1) {
        text_points_add(out, low + by, high + by);
        return;
    }
    for (uint32_t point = low; point <= high; point += step)
        text_points_add(out, point + by, point + by);
}

/* A circle has at most four points, so that three rounds reach all of it. */
void text_points_fold(text_points *points) {
    for (int round = 0; round < 3; round++) {
        text_points_sort(points);
        text_points found = {0};
        size_t f = 0;
        for (size_t i = 0; i < points->n; i++) {
            text_range range = points->ranges[i];
            /* Rows of step 2 overlap by one point each, so that the row before may still reach. */
            for (f = f > 2 ? f - 2 : 0; f < COUNT(fold_ranges); f++) {
                if (fold_ranges[f].first > range.high) break;
                if (fold_ranges[f].last >= range.low)
                    add_next_cases(&found, range, &fold_ranges[f]);
            }
        }
        text_points_add_all(points, &found);
        text_points_deinit(&found);
    }
    text_points_sort(points);
}

/* ---- names ------------------------------------------------------------------------------------*/

static void add_runs(text_points *points, const uint32_t *runs, size_t n, int shift,
                     bool (*is_meant)(uint32_t, const char *), const char *name) {
    uint32_t mask = (1u << shift) - 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t end = i + 1 < n ? runs[i + 1] >> shift : TEXT_LAST_POINT + 1;
        if (is_meant(runs[i] & mask, name)) text_points_add(points, runs[i] >> shift, end - 1);
    }
}

/* A category's first letter stands for all of its categories, without the points that are not
 * assigned. */
static bool is_category(uint32_t category, const char *name) {
    return category && !strncmp(category_names[category], name, strlen(name));
}

static bool is_script(uint32_t script, const char *name) {
    return script && !strcmp(script_names[script], name);
}

bool text_points_add_named(text_points *points, const char *name, size_t n) {
    char text[32];
    if (n == 0 || n >= sizeof text || memchr(name, 0, n)) return false;
    memcpy(text, name, n);
    text[n] = 0;
    if (!strcmp(text, "Any")) {
        text_points_add(points, 0, TEXT_LAST_POINT);
        return true;
    }
    for (uint32_t i = 0; i < COUNT(category_names); i++) {
        if (!is_category(i, text)) continue;
        add_runs(points, category_runs, COUNT(category_runs), 5, is_category, text);
        return true;
    }
    for (uint32_t i = 0; i < COUNT(script_names); i++) {
        if (!is_script(i, text)) continue;
        add_runs(points, script_runs, COUNT(script_runs), 8, is_script, text);
        return true;
    }
    return false;
}

/* ---- UTF-8 ------------------------------------------------------------------------------------*/

size_t text_utf8_next(const char *s, size_t n, uint32_t *out_point) {
    const uint8_t *b = (const uint8_t *)s;
    if (b[0] < 0x80) {
        *out_point = b[0];
        return 1;
    }
    size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || length > n) return 0;
    uint32_t point = b[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (b[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > TEXT_LAST_POINT) return 0;
    *out_point = point;
    return length;
}

size_t text_utf8_write(uint32_t point, uint8_t out[4]) {
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; point >>= 6) out[i] = (uint8_t)(0x80 | (point & 0x3f));
    out[0] = (uint8_t)(0xf00 >> length | point);
    return length;
}
