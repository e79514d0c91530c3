/* Hashes of bytes that TensorFlow's ops promise: the same on every machine, for ever. */
#ifndef MICA_TF_OPS_STRING_FINGERPRINT_H
#define MICA_TF_OPS_STRING_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* FarmHash's 64-bit fingerprint. */
uint64_t mica_tf_fingerprint(const char *bytes, size_t n);
/* SipHash-2-4 with a key of two words. */
uint64_t mica_tf_siphash(const uint64_t key[2], const char *bytes, size_t n);

#endif
