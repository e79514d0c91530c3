/* Cases of linear algebra. Matrices are far from singular (DOMINANT, or distinct values), so that
 * the reference, in f64, and a device differ by rounding alone. */
#include "harness.h"

#define COMPLEX "c64 c128"
#define REALS "f32 f64"

#define SOLVE(name_, a, b, left, lower, transpose, unit, more)                                     \
    {                                                                                              \
        .op = MICA_OP_triangular_solve, .name = name_, .n_operands = 2, .operands = {a, b},        \
        .attributes = {A_INT(left), A_INT(lower), A_INT(transpose), A_INT(unit)},                  \
        .absolute = 1e-5, .flags = ZEROS_ALIKE | (more)                                            \
    }
#define CHOLESKY(name_, a, more)                                                                   \
    {                                                                                              \
        .op = MICA_OP_cholesky, .name = name_, .n_operands = 1, .operands = {a}, .absolute = 1e-5, \
        .flags = ZEROS_ALIKE | (more)                                                              \
    }
#define LU(name_, a, more)                                                                         \
    {                                                                                              \
        .op = MICA_OP_lu, .name = name_, .n_operands = 1, .operands = {a}, .absolute = 2e-5,       \
        .flags = ZEROS_ALIKE | (more)                                                              \
    }
#define QR_OF(name_, a, full, dtypes_, more)                                                       \
    {                                                                                              \
        .op = MICA_OP_qr, .name = name_, .n_operands = 1, .operands = {a},                         \
        .attributes = {A_INT(full)}, .dtypes = dtypes_, .absolute = 2e-5,                          \
        .flags = ZEROS_ALIKE | (more)                                                              \
    }
#define QR(name_, a, full, more)                                                                   \
    {                                                                                              \
        .op = MICA_OP_qr, .name = name_, .n_operands = 1, .operands = {a},                         \
        .attributes = {A_INT(full)}, .absolute = 2e-5, .flags = ZEROS_ALIKE | (more)               \
    }
#define EIGH(name_, a, more)                                                                       \
    {                                                                                              \
        .op = MICA_OP_eigh, .name = name_, .n_operands = 1, .operands = {a}, .absolute = 1e-4,     \
        .flags = ZEROS_ALIKE | (more)                                                              \
    }
#define SVD_OF(name_, a, full, dtypes_, more)                                                      \
    {                                                                                              \
        .op = MICA_OP_svd, .name = name_, .n_operands = 1, .operands = {a},                        \
        .attributes = {A_INT(full)}, .dtypes = dtypes_, .absolute = 2e-5,                          \
        .flags = ZEROS_ALIKE | (more)                                                              \
    }
#define SVD(name_, a, full, more)                                                                  \
    {                                                                                              \
        .op = MICA_OP_svd, .name = name_, .n_operands = 1, .operands = {a},                        \
        .attributes = {A_INT(full)}, .absolute = 2e-5, .flags = ZEROS_ALIKE | (more)               \
    }
/* What is near to having equal values is far from linear: `noise_` is that of differences. */
#define EIG(name_, a, noise_, more)                                                                \
    {                                                                                              \
        .op = MICA_OP_eig, .name = name_, .n_operands = 1, .operands = {a}, .absolute = 1e-4,      \
        .noise = noise_, .flags = ZEROS_ALIKE | (more)                                             \
    }
#define FFT(name_, x, kind, dtypes_, ...)                                                          \
    {                                                                                              \
        .op = MICA_OP_fft, .name = name_, .n_operands = 1, .operands = {x},                        \
        .attributes = {A_STRING(kind), A_INTS(__VA_ARGS__)}, .dtypes = dtypes_, .absolute = 1e-5,  \
        .flags = ZEROS_ALIKE                                                                       \
    }
#define LARGE_FFT(name_, x, kind, dtypes_, ...)                                                    \
    {                                                                                              \
        .op = MICA_OP_fft, .name = name_, .n_operands = 1, .operands = {x},                        \
        .attributes = {A_STRING(kind), A_INTS(__VA_ARGS__)}, .dtypes = dtypes_, .absolute = 2e-4,  \
        .flags = ZEROS_ALIKE | LARGE | COARSE                                                      \
    }

/* Near a matrix whose first vector lies nearly along an axis while the others, a pair of
 * conjugates, are spread out: what counts as large differs from one to the other. */
static void build_unlike_eig(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    static const double middle[9] = {-3, 2.4, 2.3, -0.7, 0.5, 2, 0.2, -2, 0.5};
    mica_type type = mica_type_make(MICA_DTYPE_f64, MICA_INTS(3, 3));
    mica_value x = mica_convert(g, mica_constant(g, (mica_data){&type, middle}), dtype);
    x = mica_add(g, x, mica_mul(g, operands[0], mica_full_like(g, operands[0], 0.2)));
    mica_node *n = mica_node_create(g, MICA_OP_eig, &x, 1, NULL, NULL, 0);
    mica_output(g, mica_node_result(n, 0));
    mica_output(g, mica_node_result(n, 1));
}
#define UNIT_RANGE(...) SHAPED(VARIES, -1, 1, __VA_ARGS__)

static const op_case cases[] = {
    SOLVE("left lower", OF(3, 3), OF(3, 2), 1, 1, 0, 0, DOMINANT),
    SOLVE("left upper", OF(3, 3), OF(3, 2), 1, 0, 0, 0, DOMINANT),
    SOLVE("left lower transposed", OF(3, 3), OF(3, 2), 1, 1, 1, 0, DOMINANT),
    SOLVE("left upper transposed", OF(3, 3), OF(3, 2), 1, 0, 1, 0, DOMINANT),
    SOLVE("right lower", OF(3, 3), OF(2, 3), 0, 1, 0, 0, DOMINANT),
    SOLVE("right upper", OF(3, 3), OF(2, 3), 0, 0, 0, 0, DOMINANT),
    SOLVE("right lower transposed", OF(3, 3), OF(2, 3), 0, 1, 1, 0, DOMINANT),
    SOLVE("right upper transposed", OF(3, 3), OF(2, 3), 0, 0, 1, 0, DOMINANT),
    SOLVE("unit lower", UNIT_RANGE(4, 4), OF(4, 2), 1, 1, 0, 1, DOMINANT),
    SOLVE("unit upper transposed", UNIT_RANGE(3, 3), OF(2, 3), 0, 0, 1, 1, DOMINANT),
    SOLVE("batched", UNIT_RANGE(2, 3, 2, 2), OF(2, 3, 2, 3), 1, 1, 0, 0, DOMINANT),
    SOLVE("batched from the right", OF(5, 3, 3), OF(5, 1, 3), 0, 0, 0, 0, DOMINANT),
    SOLVE("of one", SHAPED(VARIES, 0, 1, 1, 1), OF(1, 1), 1, 1, 0, 0, DOMINANT),
    SOLVE("of nothing", OF(0, 0), OF(0, 3), 1, 1, 0, 0, DOMINANT),
    SOLVE("for nothing", OF(3, 3), OF(3, 0), 1, 1, 0, 0, DOMINANT),
    SOLVE("large left", UNIT_RANGE(67, 67), OF(67, 131), 1, 1, 0, 0, DOMINANT | LARGE),
    SOLVE("large left transposed", UNIT_RANGE(67, 67), OF(67, 70), 1, 1, 1, 0, DOMINANT | LARGE),
    SOLVE("large right", UNIT_RANGE(67, 67), OF(53, 67), 0, 1, 0, 0, DOMINANT | LARGE),
    SOLVE("large right transposed", UNIT_RANGE(67, 67), OF(53, 67), 0, 1, 1, 0, DOMINANT | LARGE),

    SOLVE("blocks", UNIT_RANGE(2, 150, 150), OF(2, 150, 70), 1, 1, 0, 0, DOMINANT | LARGE | COARSE),
    SOLVE("blocks, upper", UNIT_RANGE(150, 150), OF(150, 70), 1, 0, 0, 0,
          DOMINANT | LARGE | COARSE),
    SOLVE("blocks, transposed", UNIT_RANGE(2, 150, 150), OF(2, 150, 9), 1, 0, 1, 0,
          DOMINANT | LARGE | COARSE),
    /* imaginary parts are not that small */
    {.op = MICA_OP_triangular_solve,
     .name = "blocks, unit",
     .n_operands = 2,
     .operands = {SHAPED(VARIES, -0.01, 0.01, 150, 150), OF(150, 33)},
     .attributes = {A_INT(1), A_INT(1), A_INT(1), A_INT(1)},
     .dtypes = REALS,
     .absolute = 1e-5,
     .flags = ZEROS_ALIKE | LARGE | COARSE},
    SOLVE("blocks from the right", UNIT_RANGE(2, 150, 150), OF(2, 70, 150), 0, 1, 0, 0,
          DOMINANT | LARGE | COARSE),
    SOLVE("blocks from the right, upper", UNIT_RANGE(150, 150), OF(70, 150), 0, 0, 0, 0,
          DOMINANT | LARGE | COARSE),
    SOLVE("blocks from the right, transposed", UNIT_RANGE(2, 150, 150), OF(2, 8, 150), 0, 1, 1, 0,
          DOMINANT | LARGE | COARSE),

    CHOLESKY("plain", UNIT_RANGE(3, 3), DOMINANT),
    CHOLESKY("of four", UNIT_RANGE(4, 4), DOMINANT),
    CHOLESKY("batched", UNIT_RANGE(2, 3, 2, 2), DOMINANT),
    CHOLESKY("of one", UNIT_RANGE(1, 1), DOMINANT),
    CHOLESKY("of nothing", UNIT_RANGE(2, 0, 0), DOMINANT),
    CHOLESKY("large", UNIT_RANGE(131, 131), DOMINANT | LARGE),
    CHOLESKY("of indefinite matrices", UNIT_RANGE(20, 3, 3), COARSE | LARGE),

    LU("plain", UNIT_RANGE(3, 3), DOMINANT),
    LU("with pivots", UNIT_RANGE(3, 3), 0),
    LU("tall", UNIT_RANGE(4, 2), 0),
    LU("wide", UNIT_RANGE(2, 4), 0),
    LU("batched", UNIT_RANGE(2, 3, 2, 2), DOMINANT),
    LU("of one", UNIT_RANGE(1, 1), DOMINANT),
    LU("of nothing", UNIT_RANGE(2, 0, 0), 0),
    LU("large", UNIT_RANGE(67, 67), LARGE | COARSE),
    LU("large and tall", UNIT_RANGE(131, 40), LARGE | COARSE),
    LU("large and wide", UNIT_RANGE(30, 131), LARGE | COARSE),

    QR("plain", UNIT_RANGE(3, 3), 0, DOMINANT),
    QR("tall", UNIT_RANGE(4, 2), 0, DOMINANT),
    QR("tall and full", UNIT_RANGE(4, 2), 1, DOMINANT),
    QR("wide", UNIT_RANGE(2, 4), 0, DOMINANT),
    QR("wide and full", UNIT_RANGE(2, 3), 1, DOMINANT),
    QR("batched", UNIT_RANGE(2, 2, 3, 2), 0, DOMINANT),
    /* where a complex one becomes real, q jumps */
    QR_OF("of one", UNIT_RANGE(1, 1), 0, REALS, DOMINANT),
    QR_OF("of one complex number", UNIT_RANGE(1, 1), 0, COMPLEX, 0),
    QR("of nothing", UNIT_RANGE(2, 0, 0), 0, 0),
    QR("large", UNIT_RANGE(131, 67), 0, LARGE | COARSE),
    QR("large and full", UNIT_RANGE(70, 66), 1, LARGE | COARSE),
    QR("large and wide", UNIT_RANGE(40, 131), 0, LARGE | COARSE),
    QR("of special values", UNIT_RANGE(9, 2, 3), 0, SPRINKLED | LARGE),

    EIGH("plain", UNIT_RANGE(3, 3), 0),
    EIGH("of two", UNIT_RANGE(2, 2), 0),
    EIGH("batched", UNIT_RANGE(2, 2, 2, 2), 0),
    EIGH("of one", UNIT_RANGE(1, 1), 0),
    EIGH("of nothing", UNIT_RANGE(2, 0, 0), 0),
    EIGH("large", UNIT_RANGE(67, 67), LARGE | COARSE),
    EIGH("of special values", UNIT_RANGE(9, 2, 2), SPRINKLED | LARGE),

    SVD("plain", UNIT_RANGE(3, 3), 0, DOMINANT),
    SVD("tall", UNIT_RANGE(4, 2), 0, DOMINANT),
    SVD("tall and full", UNIT_RANGE(3, 2), 1, DOMINANT),
    SVD("wide", UNIT_RANGE(2, 3), 0, DOMINANT),
    SVD("wide and full", UNIT_RANGE(2, 3), 1, DOMINANT),
    SVD("batched", UNIT_RANGE(2, 2, 2, 2), 0, DOMINANT),
    SVD("of one", UNIT_RANGE(1, 1), 0, DOMINANT),
    SVD("of nothing", UNIT_RANGE(2, 0, 0), 0, 0),
    SVD("large", UNIT_RANGE(40, 23), 0, LARGE | COARSE),
    SVD("large, wide and full", UNIT_RANGE(17, 33), 1, LARGE | COARSE),
    SVD("large, tall and full", UNIT_RANGE(30, 11), 1, LARGE | COARSE),
    /* a value of 0 leaves the phase of its complex row of vh open */
    SVD_OF("of special values", UNIT_RANGE(9, 2, 2), 0, REALS, SPRINKLED | LARGE),
    SVD_OF("of complex special values", UNIT_RANGE(9, 3, 3), 0, COMPLEX, SPRINKLED | LARGE),

    EIG("plain", UNIT_RANGE(3, 3), 0, 0),
    EIG("of two", UNIT_RANGE(2, 2), 0, 0),
    EIG("of four", UNIT_RANGE(4, 4), 0, 0),
    {.op = MICA_OP_eig,
     .name = "of unlike vectors",
     .n_operands = 1,
     .operands = {UNIT_RANGE(3, 3)},
     .build = build_unlike_eig,
     .absolute = 1e-4,
     .flags = ZEROS_ALIKE},
    EIG("batched", UNIT_RANGE(2, 2, 2, 2), 2e-5, 0),
    EIG("of one", UNIT_RANGE(1, 1), 0, 0),
    EIG("of nothing", UNIT_RANGE(2, 0, 0), 0, 0),
    EIG("large", UNIT_RANGE(20, 20), 0, LARGE | COARSE),
    EIG("of special values", UNIT_RANGE(9, 2, 2), 0, SPRINKLED | LARGE),

    FFT("of six", OF(2, 6), "fft", COMPLEX, 6),
    FFT("back", OF(2, 5), "ifft", COMPLEX, 5),
    FFT("of one", OF(3, 1), "fft", COMPLEX, 1),
    FFT("of no lines", OF(0, 4), "fft", COMPLEX, 4),
    FFT("two axes", OF(2, 3, 4), "fft", COMPLEX, 3, 4),
    FFT("three axes, back", OF(2, 3, 2), "ifft", COMPLEX, 2, 3, 2),
    FFT("of real numbers", OF(2, 6), "rfft", REALS, 6),
    FFT("of an odd number", OF(2, 5), "rfft", REALS, 5),
    FFT("of one real number", OF(3, 1), "rfft", REALS, 1),
    FFT("of two real numbers", OF(3, 2), "rfft", REALS, 2),
    FFT("of real numbers, two axes", OF(2, 3, 4), "rfft", REALS, 3, 4),
    FFT("of real numbers, three axes", OF(2, 2, 3), "rfft", REALS, 2, 2, 3),
    FFT("to real numbers", OF(2, 4), "irfft", COMPLEX, 6),
    FFT("to an odd number", OF(2, 3), "irfft", COMPLEX, 5),
    FFT("to one real number", OF(3, 1), "irfft", COMPLEX, 1),
    FFT("to two real numbers", OF(3, 2), "irfft", COMPLEX, 2),
    FFT("to real numbers, two axes", OF(2, 3, 3), "irfft", COMPLEX, 3, 4),
    FFT("to real numbers, three axes", OF(2, 2, 2), "irfft", COMPLEX, 2, 2, 3),
    LARGE_FFT("many lines", OF(37, 60), "fft", COMPLEX, 60),
    LARGE_FFT("a long line", OF(4096), "ifft", COMPLEX, 4096),
    LARGE_FFT("long lines", OF(9, 2310), "fft", COMPLEX, 2310),
    LARGE_FFT("large primes", OF(3, 7, 131), "fft", COMPLEX, 7, 131),
    LARGE_FFT("a large prime", OF(1009), "ifft", COMPLEX, 1009),
    LARGE_FFT("an image", OF(64, 96), "fft", COMPLEX, 64, 96),
    LARGE_FFT("a block", OF(2, 31, 10, 27), "ifft", COMPLEX, 31, 10, 27),
    LARGE_FFT("a long real line", OF(3000), "rfft", REALS, 3000),
    LARGE_FFT("many real lines", OF(40, 250), "rfft", REALS, 250),
    LARGE_FFT("many odd lines", OF(20, 49, 35), "rfft", REALS, 49, 35),
    LARGE_FFT("to a long real line", OF(1501), "irfft", COMPLEX, 3000),
    LARGE_FFT("to an image", OF(3, 30, 33), "irfft", COMPLEX, 30, 64),
    LARGE_FFT("to an odd image", OF(3, 30, 28), "irfft", COMPLEX, 30, 55),
};
const case_table linalg_cases = {cases, sizeof cases / sizeof *cases};
