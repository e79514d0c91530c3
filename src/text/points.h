/* text/points.h: sets of code points, and what Unicode says of them. */
#ifndef MICA_TEXT_POINTS_H
#define MICA_TEXT_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LAST_POINT 0x10ffffu

typedef struct text_range {
    uint32_t low, high;
} text_range;

/* Ranges in any order until text_points_sort. Running out of memory sticks. */
typedef struct text_points {
    text_range *ranges;
    size_t n, capacity, n_sorted;
    bool is_failed;
} text_points;

void text_points_deinit(text_points *points);
void text_points_add(text_points *points, uint32_t low, uint32_t high);
void text_points_add_all(text_points *points, const text_points *more);
/* In order, without overlaps or neighbours. */
void text_points_sort(text_points *points);
/* All other points; leaves them sorted. */
void text_points_negate(text_points *points);
/* The other cases of all letters too (simple folding); leaves them sorted. */
void text_points_fold(text_points *points);
/* Of sorted points. */
bool text_points_have(const text_points *points, uint32_t point);

/* The next point of the same letter, in a circle; the point itself where it has no case. */
uint32_t text_next_case(uint32_t point);

/* Adds the points of a general category ("Lu", "L", "Any") or a script ("Greek"); false where there
 * is none of this name. */
bool text_points_add_named(text_points *points, const char *name, size_t n);

/* The bytes of the character at s, n > 0, and its point; 0 where they are no UTF-8. Points that
 * encode half a pair of UTF-16 are taken. */
size_t text_utf8_next(const char *s, size_t n, uint32_t *out_point);
/* Writes at most 4 bytes; says how many. */
size_t text_utf8_write(uint32_t point, uint8_t out[4]);

#endif
