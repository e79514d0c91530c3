/* Files of a folder that goes with the process. */
#ifndef MICA_FUZZ_FILES_H
#define MICA_FUZZ_FILES_H

#include <stddef.h>

/* The path of the bundle under test, with an end; it lives until the next call. */
const char *read_path(const char *end);
void read_write_file(const char *path, const void *bytes, size_t n);

#endif
