#include "mnist_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_file(const char *path, int64_t *out_n) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    long n = -1;
    if (fseek(file, 0, SEEK_END) == 0 && (n = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)n + 1);
    if (bytes && fread(bytes, 1, (size_t)n, file) != (size_t)n) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    *out_n = n;
    return bytes;
}

/* The file's bytes, unpacked; tries the plain name, then .gz. NULL with a message on failure. */
static uint8_t *read_idx(const char *directory, const char *prefix, const char *rest,
                         int64_t *out_n, char *message, int capacity) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s-%s", directory, prefix, rest);
    uint8_t *bytes = read_file(path, out_n);
    if (bytes) return bytes;
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, ".gz");
    bytes = read_file(path, out_n);
    if (!bytes) {
        snprintf(message, (size_t)capacity, "cannot read %s, with or without .gz", path);
        return NULL;
    }
    uint8_t *unpacked = gzip_unpack(bytes, *out_n, out_n);
    if (!unpacked) snprintf(message, (size_t)capacity, "%s is damaged", path);
    free(bytes);
    return unpacked;
}

static int64_t big_endian(const uint8_t *b) {
    return (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* Checks "0 0 8 rank, sizes, data" and moves the data to the front. */
static bool strip_header(uint8_t *bytes, int64_t n, int rank, int64_t *dims) {
    int64_t expected = 1, header = 4 + 4 * rank;
    if (n < header || bytes[0] || bytes[1] || bytes[2] != 8 || bytes[3] != rank) return false;
    for (int i = 0; i < rank; i++) {
        dims[i] = big_endian(bytes + 4 + 4 * i);
        if (dims[i] <= 0 || dims[i] > n || expected > n / dims[i]) return false;
        expected *= dims[i];
    }
    if (n - header != expected) return false;
    memmove(bytes, bytes + header, (size_t)expected);
    return true;
}

bool mnist_set_load(const char *directory, const char *prefix, mnist_set *out_set, char *message,
                    int capacity) {
    int64_t n_images = 0, n_labels = 0, image_dims[3], labels;
    *out_set = (mnist_set){0};
    out_set->images =
        read_idx(directory, prefix, "images-idx3-ubyte", &n_images, message, capacity);
    if (out_set->images)
        out_set->labels =
            read_idx(directory, prefix, "labels-idx1-ubyte", &n_labels, message, capacity);
    if (!out_set->images || !out_set->labels) {
        mnist_set_free(out_set);
        return false;
    }
    if (!strip_header(out_set->images, n_images, 3, image_dims) ||
        !strip_header(out_set->labels, n_labels, 1, &labels) || labels != image_dims[0]) {
        snprintf(message, (size_t)capacity,
                 "%s/%s-*: not images and labels in MNIST's format, of one number", directory,
                 prefix);
        mnist_set_free(out_set);
        return false;
    }
    out_set->n = labels;
    out_set->rows = image_dims[1];
    out_set->columns = image_dims[2];
    for (int64_t i = 0; i < labels; i++)
        if (out_set->labels[i] >= out_set->classes) out_set->classes = out_set->labels[i] + 1;
    return true;
}

void mnist_set_free(mnist_set *set) {
    free(set->images);
    free(set->labels);
    *set = (mnist_set){0};
}
