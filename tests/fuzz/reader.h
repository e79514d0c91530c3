/* Readers of files, given any bytes. Each read_*.c is one reader: libFuzzer calls it (make fuzz),
 * and corpus.c calls it with the files of tests/fuzz/corpus/<reader> (make test). Whatever the
 * bytes are, the answer is a result that holds together, or a status: read_check ends the process
 * where one does not. */
#ifndef MICA_FUZZ_READER_H
#define MICA_FUZZ_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define read_check(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Whether it succeeded, as it must where no allocation fails (corpus.c has some fail). */
static inline bool read_done(mica_status status) {
    bool is_done = status == NULL;
    read_check(is_done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
    mica_status_release(status);
    return is_done;
}

#endif
