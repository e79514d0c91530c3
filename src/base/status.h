/* base/status.h: making, passing on and adding to statuses. See mica/status.h for the contract. */
#ifndef MICA_BASE_STATUS_H
#define MICA_BASE_STATUS_H

#include "mica/status.h"

/* Returns from the calling function when expr is not OK, noting this source place on the way. */
#define MICA_TRY(expr)                                                                             \
    do {                                                                                           \
        mica_status mica_try_status = (expr);                                                      \
        if (__builtin_expect(mica_try_status != NULL, 0))                                          \
            return mica_status_pass(mica_try_status, __FILE__, __LINE__);                          \
    } while (0)

#define MICA_ERROR(code, ...) mica_status_at(__FILE__, __LINE__, code, __VA_ARGS__)
#define MICA_INVALID(...) MICA_ERROR(MICA_INVALID_ARGUMENT, __VA_ARGS__)
/* "[where] out of memory: <bytes> bytes"; needs no memory itself. */
#define MICA_NO_MEMORY() mica_status_out_of_memory()

/* The door of public functions: returns when one of the pointers is NULL, and names it. The array
 * of a list that may be empty is given as MICA_ARRAY(list), one of n elements as MICA_MANY(array,
 * n). */
#define MICA_GIVEN(...)                                                                            \
    do {                                                                                           \
        const void *const mica_given[] = {__VA_ARGS__};                                            \
        size_t mica_n_given = sizeof mica_given / sizeof *mica_given;                              \
        size_t mica_missing = mica_first_missing(mica_given, mica_n_given);                        \
        if (__builtin_expect(mica_missing < mica_n_given, 0))                                      \
            return mica_status_missing(__FILE__, __LINE__, __func__, #__VA_ARGS__, mica_missing);  \
    } while (0)
/* The same for builders of graphs, where the error sticks to the graph. */
#define MICA_GIVEN_TO(g, ...)                                                                      \
    do {                                                                                           \
        const void *const mica_given[] = {__VA_ARGS__};                                            \
        size_t mica_n_given = sizeof mica_given / sizeof *mica_given;                              \
        size_t mica_missing = mica_first_missing(mica_given, mica_n_given);                        \
        if (__builtin_expect(mica_missing < mica_n_given, 0)) {                                    \
            mica_graph_fail((g), mica_status_missing(__FILE__, __LINE__, __func__, #__VA_ARGS__,   \
                                                     mica_missing));                               \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define MICA_MANY(array, n) ((n) > 0 ? (const void *)(array) : (const void *)"")
#define MICA_ARRAY(list) ((list).n > 0 ? (const void *)(list).data : (const void *)&(list))

static inline size_t mica_first_missing(const void *const *pointers, size_t n) {
    size_t i = 0;
    while (i < n && pointers[i]) i++;
    return i;
}

/* "[function] name is NULL", the name being the i-th of a list with commas. */
MICA_MUST_CHECK mica_status mica_status_missing(const char *file, int line, const char *function,
                                                const char *names, size_t i);
MICA_MUST_CHECK mica_status mica_status_at(const char *file, int line, mica_code code,
                                           const char *format, ...) MICA_PRINTF(4, 5);
MICA_MUST_CHECK mica_status mica_status_pass(mica_status status, const char *file, int line);
MICA_MUST_CHECK mica_status mica_status_out_of_memory(void);
/* A second reference to the same status. */
MICA_MUST_CHECK mica_status mica_status_share(mica_status status);
/* Keeps the first of two statuses and releases the other. */
MICA_MUST_CHECK mica_status mica_status_join(mica_status first, mica_status second);

#endif
