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
};
const case_table linalg_cases = {cases, sizeof cases / sizeof *cases};
