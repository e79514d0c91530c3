/* Transposing into memory that no cache holds: squares as wide as a cache line are transposed in
 * registers and written past the caches, line by line; see mica_cpu_transpose in device/cpu/isa.h.
 */
#include "device/cpu/isa.h"
#include "ir/scalar_stream.h"

#define LINE MICA_STREAM_LINE
#define AHEAD 2 /* squares between what is transposed and what is prefetched */

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(lanes, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(lanes, a, b, ...) __builtin_shuffle(a, b, (lanes){__VA_ARGS__})
#endif

/* Interleaving vectors of n lanes: their lower and their upper halves. */
#define LOW_2 0, 2
#define HIGH_2 1, 3
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* SQUARE_DEFINE: to[j][i] = from[i][j] for i, j < n; steps in bytes. Interleaving vectors i and
 * i + n / 2, log2(n) times, makes columns of n lines. STORE takes an address and a vector. */
#define SQUARE_DEFINE(name, type, n, LOW, HIGH, STORE)                                             \
    typedef type __attribute__((vector_size(n * sizeof(type)))) name##_lanes;                      \
    static inline void name(const char *from, int64_t from_step, char *to, int64_t to_step) {      \
        name##_lanes a[n], b[n];                                                                   \
        for (int i = 0; i < n; i++) __builtin_memcpy(&a[i], from + i * from_step, sizeof a[i]);    \
        for (int step = 1; step < n; step *= 2) {                                                  \
            for (int i = 0; i < n / 2; i++) {                                                      \
                b[2 * i] = SHUFFLE(name##_lanes, a[i], a[i + n / 2], LOW);                         \
                b[2 * i + 1] = SHUFFLE(name##_lanes, a[i], a[i + n / 2], HIGH);                    \
            }                                                                                      \
            for (int i = 0; i < n; i++) a[i] = b[i];                                               \
        }                                                                                          \
        for (int i = 0; i < n; i++) STORE(to + i * to_step, a[i]);                                 \
    }
#define STORE_PLAIN(to, lanes) __builtin_memcpy(to, &(lanes), sizeof(lanes))
#define STORE_LINE(to, lanes) MICA_STREAM_STORE(to, (mica_stream_lanes)(lanes))

/* A square of a line's width from smaller ones, put together in the nearest cache. */
#define LINE_SQUARE_DEFINE(name, small, bytes, n)                                                  \
    static inline void name(const char *from, int64_t from_step, char *to, int64_t to_step) {      \
        _Alignas(LINE) char square[LINE / bytes][LINE];                                            \
        for (int j = 0; j < LINE / bytes; j += n)                                                  \
            for (int i = 0; i < LINE / bytes; i += n)                                              \
                small(from + i * from_step + j * bytes, from_step, &square[j][i * bytes], LINE);   \
        for (int j = 0; j < LINE / bytes; j++)                                                     \
            mica_stream_lines(to + j * to_step, square[j], LINE);                                  \
    }

SQUARE_DEFINE(small_8, uint8_t, 16, LOW_16, HIGH_16, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_8, small_8, 1, 16)
SQUARE_DEFINE(small_16, uint16_t, 8, LOW_8, HIGH_8, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_16, small_16, 2, 8)
#if MICA_STREAM_BYTES == 64
SQUARE_DEFINE(square_32, uint32_t, 16, LOW_16, HIGH_16, STORE_LINE)
SQUARE_DEFINE(square_64, uint64_t, 8, LOW_8, HIGH_8, STORE_LINE)
#elif MICA_STREAM_BYTES == 32
SQUARE_DEFINE(small_32, uint32_t, 8, LOW_8, HIGH_8, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_32, small_32, 4, 8)
SQUARE_DEFINE(small_64, uint64_t, 4, LOW_4, HIGH_4, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_64, small_64, 8, 4)
#else
SQUARE_DEFINE(small_32, uint32_t, 4, LOW_4, HIGH_4, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_32, small_32, 4, 4)
SQUARE_DEFINE(small_64, uint64_t, 2, LOW_2, HIGH_2, STORE_PLAIN)
LINE_SQUARE_DEFINE(square_64, small_64, 8, 2)
#endif

#define TURN_DEFINE(w, bytes)                                                                      \
    static void transpose_##w(const void *x, int64_t x_step, void *y, int64_t y_step,              \
                              int64_t rows, int64_t columns) {                                     \
        for (int64_t j = 0; j < columns; j += LINE / bytes)                                        \
            for (int64_t i = 0; i < rows; i += LINE / bytes) {                                     \
                const char *from = (const char *)x + i * x_step + j * bytes;                       \
                for (int k = 0; k < LINE / bytes; k++)                                             \
                    __builtin_prefetch(from + k * x_step + AHEAD * LINE);                          \
                square_##w(from, x_step, (char *)y + j * y_step + i * bytes, y_step);              \
            }                                                                                      \
    }
TURN_DEFINE(8, 1)
TURN_DEFINE(16, 2)
TURN_DEFINE(32, 4)
TURN_DEFINE(64, 8)

const mica_cpu_transpose MICA_ISA_NAME(mica_cpu_transposes)[4] = {transpose_8, transpose_16,
                                                                  transpose_32, transpose_64};
