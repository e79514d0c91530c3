/* ir/scalar_stream.h: stores that go past the caches, for results that no cache can hold: a line
 * that is written whole need not be read first, which is a third of what a copy moves. Included by
 * built-in kernels and pasted in front of generated code; the bytes are those of ordinary stores.
 *
 * Such stores are not in order with others: a thread that made some calls mica_stream_end before it
 * says that it is done. */
#ifndef MICA_IR_SCALAR_STREAM_H
#define MICA_IR_SCALAR_STREAM_H

#define MICA_STREAM_LINE 64

#if defined(__clang__)
#define MICA_STREAM_STORE(y, x) __builtin_nontemporal_store(x, (mica_stream_lanes *)(y))
#elif defined(__x86_64__) && defined(__AVX512F__)
#define MICA_STREAM_STORE(y, x) __builtin_ia32_movntps512((float *)(y), x)
#elif defined(__x86_64__) && defined(__AVX__)
#define MICA_STREAM_STORE(y, x) __builtin_ia32_movntps256((float *)(y), x)
#elif defined(__x86_64__)
#define MICA_STREAM_STORE(y, x) __builtin_ia32_movntps((float *)(y), x)
#else
#define MICA_STREAM_STORE(y, x) (*(mica_stream_lanes *)(y) = (x))
#endif
#if defined(__AVX512F__)
#define MICA_STREAM_BYTES 64
#elif defined(__AVX__)
#define MICA_STREAM_BYTES 32
#else
#define MICA_STREAM_BYTES 16
#endif
typedef float __attribute__((vector_size(MICA_STREAM_BYTES), may_alias)) mica_stream_lanes;

/* n bytes, whole lines; y is aligned to a line. */
static inline void mica_stream_lines(void *to, const void *from, int64_t n) {
    char *y = (char *)to;
    const char *x = (const char *)from;
    for (int64_t i = 0; i < n; i += MICA_STREAM_BYTES) {
        mica_stream_lanes lanes;
        __builtin_memcpy(&lanes, x + i, sizeof lanes);
        MICA_STREAM_STORE(y + i, lanes);
    }
}

static inline void mica_stream_end(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

#endif
