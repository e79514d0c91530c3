/* Files in MNIST's format (IDX, plain or gzip'ed), read whole. */
#ifndef MNIST_DATA_H
#define MNIST_DATA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mnist_set {
    int64_t n, rows, columns, classes; /* classes: the largest label + 1 */
    uint8_t *images, *labels;
} mnist_set;

/* Reads <directory>/<prefix>-images-idx3-ubyte[.gz] and <prefix>-labels-idx1-ubyte[.gz]. On
 * failure writes a message and returns false. */
bool mnist_set_load(const char *directory, const char *prefix, mnist_set *out_set, char *message,
                    int capacity);
void mnist_set_free(mnist_set *set);

/* Unpacks a gzip file held in memory (RFC 1951, 1952); NULL when it is damaged. malloc'ed. */
uint8_t *gzip_unpack(const uint8_t *bytes, int64_t n, int64_t *out_n);
/* The checksum (CRC-32) that gzip and PNG files carry. */
uint32_t gzip_checksum(const uint8_t *bytes, int64_t n);

#endif
