/* ir/numbers.h: single elements of any dtype, as numbers and as text. */
#ifndef MICA_IR_NUMBERS_H
#define MICA_IR_NUMBERS_H

#include "ir/graph.h"

/* Stores value as one element, by the rules of `convert`: floats round to nearest even, integers
 * truncate and saturate, NaN gives 0. Of a complex dtype: the real part. */
void mica_number_store(mica_dtype dtype, double value, void *out_element);

/* f32 for c64, f64 for c128, else the dtype itself: what text shows one of. */
mica_dtype mica_number_part(mica_dtype dtype);

#define MICA_NUMBER_CHARS 40

/* The shortest text that mica_number_parse reads back as the same bits: "true", "-3", "0.1", "inf",
 * "nan". false when there is none, which happens to a NaN with a payload. Real dtypes only. The
 * decimal point is a point in every locale. */
bool mica_number_print(mica_dtype dtype, const void *element, char out_text[MICA_NUMBER_CHARS]);
/* false when the text is not a number or does not fit the dtype. */
bool mica_number_parse(mica_dtype dtype, const char *text, void *out_element);

/* Copies n elements between this machine's order of bytes and little-endian. */
void mica_number_little_endian(mica_dtype dtype, const void *from, void *to, size_t n);

#endif
