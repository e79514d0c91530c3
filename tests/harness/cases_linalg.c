/* Cases of linear algebra. Matrices are far from singular (DOMINANT, or distinct values), so that
 * the reference, in f64, and a device differ by rounding alone. */
#include "harness.h"

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
#define SVD(name_, a, full, more)                                                                  \
    {                                                                                              \
        .op = MICA_OP_svd, .name = name_, .n_operands = 1, .operands = {a},                        \
        .attributes = {A_INT(full)}, .absolute = 2e-5, .flags = ZEROS_ALIKE | (more)               \
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
    SOLVE("batched", OF(2, 3, 2, 2), OF(2, 3, 2, 3), 1, 1, 0, 0, DOMINANT),
    SOLVE("batched from the right", OF(5, 3, 3), OF(5, 1, 3), 0, 0, 0, 0, DOMINANT),
    SOLVE("of one", OF(1, 1), OF(1, 1), 1, 1, 0, 0, DOMINANT),
    SOLVE("of nothing", OF(0, 0), OF(0, 3), 1, 1, 0, 0, DOMINANT),
    SOLVE("for nothing", OF(3, 3), OF(3, 0), 1, 1, 0, 0, DOMINANT),
    SOLVE("large left", UNIT_RANGE(67, 67), OF(67, 131), 1, 1, 0, 0, DOMINANT | LARGE),
    SOLVE("large left transposed", UNIT_RANGE(67, 67), OF(67, 70), 1, 1, 1, 0, DOMINANT | LARGE),
    SOLVE("large right", UNIT_RANGE(67, 67), OF(53, 67), 0, 1, 0, 0, DOMINANT | LARGE),
    SOLVE("large right transposed", UNIT_RANGE(67, 67), OF(53, 67), 0, 1, 1, 0, DOMINANT | LARGE),

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
    QR("of one", UNIT_RANGE(1, 1), 0, DOMINANT),
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
    SVD("of special values", UNIT_RANGE(9, 2, 2), 0, SPRINKLED | LARGE),
};
const case_table linalg_cases = {cases, sizeof cases / sizeof *cases};
