/* ir/parse_names.h: values of a graph, or graphs of a file, by name. Names stay where they are. */
#ifndef MICA_IR_PARSE_NAMES_H
#define MICA_IR_PARSE_NAMES_H

#include "ir/graph.h"

typedef struct mica_name {
    const char *name;
    size_t length;
    void *named; /* NULL: a free slot */
} mica_name;

/* A hash table, at most half full; all zero is the empty one. */
typedef struct mica_names {
    mica_name *slots;
    size_t n, n_slots;
} mica_names;

void *mica_names_find(const mica_names *names, const char *name, size_t length);
MICA_MUST_CHECK mica_status mica_names_add(mica_names *names, const char *name, size_t length,
                                           void *named);
void mica_names_clear(mica_names *names);
void mica_names_deinit(mica_names *names);

#endif
