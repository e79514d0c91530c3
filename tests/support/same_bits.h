/* tests/support/same_bits.h: results that must agree to the bit, but for the bits of a NaN. */
#ifndef MICA_TESTS_SUPPORT_SAME_BITS_H
#define MICA_TESTS_SUPPORT_SAME_BITS_H

#include "mica/mica.h"

bool same_data(const mica_type *type, const uint8_t *a, const uint8_t *b);
/* false too when one cannot be read or is not there */
bool same_tensor(mica_tensor *a, mica_tensor *b);

#endif
