/* ir/numbers.h: single elements of any dtype, as numbers and as text. */
#ifndef MICA_IR_NUMBERS_H
#define MICA_IR_NUMBERS_H

#include "ir/graph.h"

/* Stores value as one element, by the rules of `convert`: floats round to nearest even, integers
 * truncate and saturate, NaN gives 0. Of a complex dtype: the real part. */
void mica_number_store(mica_dtype dtype, double value, void *out_element);
/* An f16 or bf16 from its bits, exactly; and the other way, rounding to nearest even. */
double mica_number_from_small(mica_dtype dtype, uint16_t bits);
uint16_t mica_number_to_small(mica_dtype dtype, double value);

#endif
