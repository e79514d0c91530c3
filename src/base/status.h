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

MICA_MUST_CHECK mica_status mica_status_at(const char *file, int line, mica_code code,
                                           const char *format, ...) MICA_PRINTF(4, 5);
MICA_MUST_CHECK mica_status mica_status_pass(mica_status status, const char *file, int line);
MICA_MUST_CHECK mica_status mica_status_out_of_memory(void);
/* A second reference to the same status. */
MICA_MUST_CHECK mica_status mica_status_share(mica_status status);
/* Keeps the first of two statuses and releases the other. */
MICA_MUST_CHECK mica_status mica_status_join(mica_status first, mica_status second);

#endif
