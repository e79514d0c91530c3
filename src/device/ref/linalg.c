/* Triangular systems and the Cholesky factor, by their definitions, in f64. */
#include "device/ref/linalg.h"

#include <math.h>

mica_status ref_matrix_create(int64_t rows, int64_t columns, ref_matrix *out) {
    int64_t n = rows * columns;
    *out = (ref_matrix){rows, columns, mica_calloc((size_t)(n ? n : 1), sizeof(double))};
    return out->data ? NULL : MICA_NO_MEMORY();
}

void ref_matrix_free(ref_matrix *matrix) {
    mica_free(matrix->data);
    matrix->data = NULL;
}

int64_t ref_matrix_count(const mica_type *type) {
    int64_t count = 1;
    for (int32_t i = 0; i < type->rank - 2; i++) count *= type->dims[i];
    return count;
}

bool ref_is_complex(const ref_value *value) {
    return mica_dtype_kind_of(value->type.dtype) == MICA_KIND_COMPLEX;
}

mica_status ref_matrix_like(const ref_value *value, ref_matrix *out) {
    const mica_type *type = &value->type;
    return ref_matrix_create(type->dims[type->rank - 2], type->dims[type->rank - 1], out);
}

void ref_matrix_load(ref_matrix *matrix, const ref_value *value, int64_t b) {
    int64_t n = matrix->rows * matrix->columns;
    for (int64_t i = 0; i < n; i++)
        matrix->data[i] = ref_load(value->type.dtype, value->data, b * n + i).real;
}

void ref_matrix_store(const ref_matrix *matrix, ref_value *value, int64_t b) {
    int64_t n = matrix->rows * matrix->columns;
    for (int64_t i = 0; i < n; i++)
        ref_store(value->type.dtype, value->data, b * n + i, ref_from_double(matrix->data[i]));
}

/* ---- triangular_solve -------------------------------------------------------------------------*/

typedef struct solve_flags {
    bool left, lower, transpose, unit;
} solve_flags;

/* Element (i, j) of op(a): of the triangle, transposed when asked for. */
static double triangle_at(solve_flags flags, const ref_matrix *a, int64_t i, int64_t j) {
    if (flags.transpose) {
        int64_t k = i;
        i = j;
        j = k;
    }
    if (i == j && flags.unit) return 1;
    bool inside = flags.lower ? j <= i : j >= i;
    return inside ? AT(*a, i, j) : 0;
}

/* Unknown i of system s: one column of x from the left, one row from the right. */
static double *unknown(ref_matrix *x, bool left, int64_t s, int64_t i) {
    return left ? &AT(*x, i, s) : &AT(*x, s, i);
}

/* Substitution: the unknown whose row has no other comes first. */
static void solve_system(solve_flags flags, const ref_matrix *a, ref_matrix *x, int64_t s) {
    bool left = flags.left, lower = flags.lower != flags.transpose;
    bool first_to_last = lower == left;
    for (int64_t step = 0; step < a->rows; step++) {
        int64_t i = first_to_last ? step : a->rows - 1 - step;
        double rest = *unknown(x, left, s, i);
        for (int64_t before = 0; before < step; before++) {
            int64_t k = first_to_last ? before : a->rows - 1 - before;
            double factor = left ? triangle_at(flags, a, i, k) : triangle_at(flags, a, k, i);
            rest -= factor * *unknown(x, left, s, k);
        }
        *unknown(x, left, s, i) = rest / triangle_at(flags, a, i, i);
    }
}

mica_status ref_triangular_solve(const mica_node *n, ref_value *const *operands,
                                 ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_triangular_solve_complex(n, operands, results);
    solve_flags flags = {mica_node_int(n, "left") != 0, mica_node_int(n, "lower") != 0,
                         mica_node_int(n, "transpose") != 0, mica_node_int(n, "unit") != 0};
    ref_matrix a = {0}, x = {0};
    mica_status status = ref_matrix_like(operands[0], &a);
    if (!status) status = ref_matrix_like(operands[1], &x);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&a, operands[0], b);
        ref_matrix_load(&x, operands[1], b);
        int64_t systems = flags.left ? x.columns : x.rows;
        for (int64_t s = 0; s < systems; s++) solve_system(flags, &a, &x, s);
        ref_matrix_store(&x, results[0], b);
    }
    ref_matrix_free(&a);
    ref_matrix_free(&x);
    return status;
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

/* Column by column: a's lower triangle becomes the factor, its upper one zero. False when a is not
 * positive definite. */
static bool factor_symmetric(ref_matrix *a) {
    for (int64_t j = 0; j < a->rows; j++) {
        for (int64_t i = j; i < a->rows; i++) {
            double rest = AT(*a, i, j);
            for (int64_t k = 0; k < j; k++) rest -= AT(*a, i, k) * AT(*a, j, k);
            if (i == j && !(rest > 0)) return false;
            AT(*a, i, j) = i == j ? sqrt(rest) : rest / AT(*a, j, j);
        }
        for (int64_t i = 0; i < j; i++) AT(*a, i, j) = 0;
    }
    return true;
}

mica_status ref_cholesky(const mica_node *n, ref_value *const *operands, ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_cholesky_complex(n, operands, results);
    ref_matrix a;
    MICA_TRY(ref_matrix_like(operands[0], &a));
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&a, operands[0], b);
        if (!factor_symmetric(&a))
            for (int64_t i = 0; i < a.rows * a.columns; i++) a.data[i] = NAN;
        ref_matrix_store(&a, results[0], b);
    }
    ref_matrix_free(&a);
    return NULL;
}
