/* io/shared_library.h: libraries that are found at run time: the one that a variable of the
 * environment names, else one of the system's, else one that a Python package carries. */
#ifndef MICA_IO_SHARED_LIBRARY_H
#define MICA_IO_SHARED_LIBRARY_H

#include "base/platform.h"
#include "base/status.h"

typedef struct io_shared_library {
    const char *name;           /* "libpng", of messages */
    const char *variable;       /* "MICA_LIBPNG": a library, or "off" */
    const char *purpose;        /* "PNG pictures need libpng" */
    const char *advice;         /* "install ..." */
    const char *const *names;   /* of the system's, up to NULL */
    const char *package_prefix; /* "libpng", of files in pillow.libs; NULL: no package has it */
    const char *const *symbols; /* up to NULL */
    bool (*is_usable)(void);    /* asked when the table is filled, or NULL */
    void *table;                /* a struct of pointers to functions, in the order of the symbols */
    mica_mutex lock;
    bool was_sought, is_found;
} io_shared_library;

/* UNSUPPORTED, with the reason, where there is none. It stays loaded when it has every function. */
MICA_MUST_CHECK mica_status io_shared_library_find(io_shared_library *library);

#endif
