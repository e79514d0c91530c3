#include "io/zlib.h"

#include <string.h>

#include "base/memory.h"
#include "base/platform.h"

static struct {
    mica_mutex lock;
    bool was_sought, is_found;
    io_zlib table;
} state;

static const char *const symbols[] = {"zlibVersion", "inflateInit2_", "inflate", "inflateReset",
                                      "inflateEnd",  "deflateInit2_", "deflate", "deflateEnd"};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

/* The library stays loaded when it has every function. */
static bool take(const char *name) {
    mica_library *library;
    void *found[SYMBOLS];
    bool is_whole = true;
    mica_status status = mica_library_open(name, &library);
    mica_status_release(status);
    if (status) return false;
    for (int i = 0; i < SYMBOLS; i++)
        is_whole &= (found[i] = mica_library_symbol(library, symbols[i])) != NULL;
    _Static_assert(sizeof found == sizeof state.table, "one pointer per name");
    if (is_whole) {
        memcpy(&state.table, found, sizeof found);
        mica_library_keep(library);
    } else {
        mica_library_close(library);
    }
    return is_whole;
}

static void seek(void) {
    static const char *const names[] = {"libz.so.1", "libz.so", "libz.1.dylib", "libz-ng.so.2"};
    const char *named = mica_environment("MICA_ZLIB");
    if (named && *named) {
        state.is_found = strcmp(named, "off") != 0 && take(named);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !state.is_found; i++)
        state.is_found = take(names[i]);
}

mica_status io_zlib_find(const io_zlib **out_zlib) {
    mica_mutex_lock(&state.lock);
    if (!state.was_sought) seek();
    state.was_sought = true;
    mica_mutex_unlock(&state.lock);
    *out_zlib = state.is_found ? &state.table : NULL;
    if (state.is_found) return NULL;
    const char *named = mica_environment("MICA_ZLIB");
    if (named && *named)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[zlib] compressed files need zlib, and MICA_ZLIB is '%.900s'", named);
    return MICA_ERROR(MICA_UNSUPPORTED, "[zlib] compressed files need zlib, and libz.so.1 was not "
                                        "found: install it, or name it by MICA_ZLIB");
}

mica_status io_compression_parse(const char *compression, int *out_window) {
    *out_window = -1;
    if (!compression || !*compression) return NULL;
    if (!strcmp(compression, "ZLIB"))
        *out_window = 0;
    else if (!strcmp(compression, "GZIP"))
        *out_window = IO_ZLIB_GZIP_WINDOW;
    else
        return MICA_INVALID("[zlib] the compression '%.100s' is none of '', 'GZIP' and 'ZLIB'",
                            compression);
    return NULL;
}

static void *allocate(void *context, unsigned n, unsigned size) {
    (void)context;
    return mica_calloc(n, size);
}

static void release(void *context, void *block) {
    (void)context;
    mica_free(block);
}

void io_zlib_stream_init(io_zlib_stream *stream) {
    *stream = (io_zlib_stream){.allocate = allocate, .free = release};
}
