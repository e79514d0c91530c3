/* ir/scalar_reduce.h: the order of a reduction. Part of ir/scalar.h, and of an op's meaning.
 *
 * A row is cut into blocks of MICA_REDUCE_BLOCK neighbours. Element i of a block goes to lane
 * i mod MICA_REDUCE_LANES; the lanes are combined l + 8 into l, then l + 4, l + 2, l + 1. Blocks,
 * or (by columns) groups of MICA_REDUCE_ROWS rows added one after the other, are parts; parts are
 * combined by a binary tree: two parts make a pair, two pairs a quad, and so on; what is left over
 * is combined at the end, smallest first. */
#ifndef MICA_IR_SCALAR_REDUCE_H
#define MICA_IR_SCALAR_REDUCE_H

#define MICA_REDUCE_LANES 16
#define MICA_REDUCE_BLOCK 512
#define MICA_REDUCE_ROWS 64
#define MICA_REDUCE_LEVELS 48 /* of the tree: more than there can be parts */
#define MICA_REDUCE_WIDTH 64  /* of the largest and smallest, whose order changes nothing */

/* The lanes stay in registers: the compiler sees fixed loops of 16 and vectorises them. What is
 * left of a row is filled up with the identity, which changes no lane. `compute` has at least 32
 * bits, so that 16 lanes fill a vector of any kind: gcc 12 goes wrong when they fill half of one.
 */
#define MICA_REDUCE_EACH for (int l = 0; l < MICA_REDUCE_LANES; l++)
#define MICA_REDUCE_ONE(name, compute, OP, IDENTITY)                                               \
    static inline compute name(const compute *restrict row, int64_t n) {                           \
        compute lanes[MICA_REDUCE_LANES], rest[MICA_REDUCE_LANES], eight[8], four[4];              \
        int64_t i = 0;                                                                             \
        MICA_REDUCE_EACH lanes[l] = IDENTITY;                                                      \
        for (; i + MICA_REDUCE_LANES <= n; i += MICA_REDUCE_LANES)                                 \
            MICA_REDUCE_EACH lanes[l] = OP(lanes[l], row[i + l]);                                  \
        MICA_REDUCE_EACH rest[l] = IDENTITY;                                                       \
        for (int64_t l = 0; l < n - i; l++) rest[l] = row[i + l];                                  \
        MICA_REDUCE_EACH rest[l] = OP(lanes[l], rest[l]);                                          \
        for (int l = 0; l < 8; l++) eight[l] = OP(rest[l], rest[l + 8]);                           \
        for (int l = 0; l < 4; l++) four[l] = OP(eight[l], eight[l + 4]);                          \
        compute even = OP(four[0], four[2]), odd = OP(four[1], four[3]);                           \
        return OP(even, odd);                                                                      \
    }

#define MICA_REDUCE_FOLD(width, BETTER)                                                            \
    for (int l = 0; l < width; l++) {                                                              \
        lanes[l] = lanes[l + width] BETTER lanes[l] ? lanes[l + width] : lanes[l];                 \
        marks[l] = marks[l + width] > marks[l] ? marks[l + width] : marks[l];                      \
    }
/* The larger (BETTER >) or smaller of floats: comparisons alone, and marks of the magnitudes' bits,
 * which show NaN. Equal zeros of both signs: `merged` is the bits of both, joined by SIGN. */
#define MICA_REDUCE_BEST(name, compute, word, bits, from_bits, BETTER, SIGN, IDENTITY, infinite,   \
                         nan)                                                                      \
    static inline compute name(const compute *restrict row, int64_t n) {                           \
        const word magnitude = (word) ~(word)0 >> 1;                                               \
        compute lanes[MICA_REDUCE_WIDTH];                                                          \
        word marks[MICA_REDUCE_WIDTH], mark = 0;                                                   \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < MICA_REDUCE_WIDTH; l++) lanes[l] = IDENTITY, marks[l] = 0;             \
        for (; i + MICA_REDUCE_WIDTH <= n; i += MICA_REDUCE_WIDTH)                                 \
            for (int l = 0; l < MICA_REDUCE_WIDTH; l++) {                                          \
                compute v = row[i + l];                                                            \
                word m = bits(v) & magnitude;                                                      \
                lanes[l] = v BETTER lanes[l] ? v : lanes[l];                                       \
                marks[l] = m > marks[l] ? m : marks[l];                                            \
            }                                                                                      \
        for (int l = 0; i + l < n; l++) {                                                          \
            compute v = row[i + l];                                                                \
            word m = bits(v) & magnitude;                                                          \
            lanes[l] = v BETTER lanes[l] ? v : lanes[l];                                           \
            marks[l] = m > marks[l] ? m : marks[l];                                                \
        }                                                                                          \
        MICA_REDUCE_FOLD(32, BETTER)                                                               \
        MICA_REDUCE_FOLD(16, BETTER)                                                               \
        MICA_REDUCE_FOLD(8, BETTER)                                                                \
        compute best = lanes[0];                                                                   \
        mark = marks[0];                                                                           \
        for (int l = 1; l < 8; l++) {                                                              \
            best = lanes[l] BETTER best ? lanes[l] : best;                                         \
            mark = marks[l] > mark ? marks[l] : mark;                                              \
        }                                                                                          \
        if (mark > infinite) return nan;                                                           \
        if (best != 0) return best;                                                                \
        word merged = bits(best);                                                                  \
        for (i = 0; i < n; i++)                                                                    \
            if (row[i] == 0) merged = merged SIGN bits(row[i]);                                    \
        return from_bits(merged);                                                                  \
    }

#endif
