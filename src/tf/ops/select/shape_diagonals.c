/* Shape functions of diagonals of matrices. */
#include <string.h>

#include "tf/ops/select/diagonals.h"
#include "tf/shape_rules.h"

int32_t mica_tf_band_operand(const mica_tf_op_info *info) {
    for (int32_t i = 0; i < info->n_inputs; i++)
        if (strcmp(info->inputs[i].name, "k") == 0) return i;
    return -1;
}

/* Ops without `align` have everything at the left. */
mica_tf_band mica_tf_band_make(const mica_tf_op_info *info, const mica_tf_attr *attrs, int64_t low,
                               int64_t high) {
    mica_tf_band b = {.low = low, .high = high, .left_above = true, .left_below = true};
    for (int32_t i = 0; i < info->n_attrs; i++) {
        if (strcmp(info->attrs[i].name, "align") != 0) continue;
        b.left_above = strncmp(attrs[i].as.string, "LEFT_", 5) == 0;
        b.left_below = strstr(attrs[i].as.string, "_LEFT") != NULL;
    }
    return b;
}

void mica_tf_band_of_matrix(mica_tf_band *b, int64_t rows, int64_t columns) {
    b->rows = rows;
    b->columns = columns;
    b->longest = -1;
    if (rows < 0 || columns < 0) return;
    int64_t down = rows + (b->high < 0 ? b->high : 0), across = columns - (b->low > 0 ? b->low : 0);
    b->longest = down < across ? down : across;
    if (b->longest < 0) b->longest = 0;
}

/* out_known: the operand k is. */
static mica_status read_band(mica_tf_inference *c, mica_tf_band *out, bool *out_known) {
    int64_t k[MICA_MAX_RANK * 4] = {0};
    int32_t n = 1, operand = mica_tf_band_operand(c->info);
    *out_known = false;
    if (operand >= 0) {
        const mica_tf_shape *shape = &c->inputs[operand];
        if (shape->rank > 1 || (shape->rank == 1 && (shape->dims[0] == 0 || shape->dims[0] > 2)))
            return MICA_INVALID("[%s] diag_index must be a scalar or have one or two elements: %s",
                                c->info->name, mica_tf_shape_text(shape).chars);
        if (!mica_tf_input_known(c, operand, k, &n)) return NULL;
    }
    *out_known = true;
    *out = mica_tf_band_make(c->info, c->attrs, k[0], n == 2 ? k[1] : k[0]);
    if (out->low > out->high)
        return MICA_INVALID("[%s] lower_diag_index must not be larger than upper_diag_index: %lld "
                            "> %lld",
                            c->info->name, (long long)out->low, (long long)out->high);
    return NULL;
}

static mica_status check_index(const mica_tf_inference *c, const char *what, int64_t d,
                               int64_t rows, int64_t columns) {
    if (d == 0 || ((rows < 0 || d > -rows) && (columns < 0 || d < columns))) return NULL;
    return MICA_INVALID("[%s] %s is out of bound: %lld. It must be between %lld and %lld",
                        c->info->name, what, (long long)d, (long long)-rows, (long long)columns);
}

static mica_status check_matrix(const mica_tf_inference *c, const mica_tf_shape *x,
                                const mica_tf_band *b) {
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    MICA_TRY(check_index(c, "lower_diag_index", b->low, rows, columns));
    return check_index(c, "upper_diag_index", b->high, rows, columns);
}

static mica_status check_rank(const mica_tf_inference *c, const mica_tf_shape *x, int32_t least) {
    if (x->rank < 0 || x->rank >= least) return NULL;
    return MICA_INVALID("[%s] input must be at least %d-dim, received shape: %s", c->info->name,
                        least, mica_tf_shape_text(x).chars);
}

/* The shape of the band's diagonals: the batch, the diagonals if there are several, the longest. */
static mica_tf_shape band_shape(const mica_tf_shape *matrix, const mica_tf_band *b) {
    mica_tf_shape shape = *matrix;
    shape.rank -= 2;
    if (b->high != b->low)
        shape.dims[shape.rank++] = mica_tf_plus(mica_tf_plus(b->high, -(b->low + 1)), 2);
    shape.dims[shape.rank++] = b->longest;
    return shape;
}

mica_status tf_shape_matrix_diag_part(mica_tf_inference *c) {
    mica_tf_band b;
    bool known;
    mica_tf_shape x = c->inputs[0];
    MICA_TRY(check_rank(c, &x, 2));
    if (c->n_inputs > 2 && c->inputs[2].rank > 0)
        return MICA_INVALID("[%s] padding_value must be a scalar: %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[2]).chars);
    MICA_TRY(read_band(c, &b, &known));
    if (!known || x.rank < 0) return NULL;
    MICA_TRY(check_matrix(c, &x, &b));
    mica_tf_band_of_matrix(&b, x.dims[x.rank - 2], x.dims[x.rank - 1]);
    c->outputs[0] = band_shape(&x, &b);
    return NULL;
}

mica_status tf_shape_matrix_set_diag(mica_tf_inference *c) {
    mica_tf_band b;
    mica_tf_shape x = c->inputs[0], both;
    bool known;
    MICA_TRY(check_rank(c, &x, 2));
    MICA_TRY(check_rank(c, &c->inputs[1], 1));
    MICA_TRY(read_band(c, &b, &known));
    c->outputs[0] = x;
    if (!known || x.rank < 0) return NULL;
    MICA_TRY(check_matrix(c, &x, &b));
    mica_tf_band_of_matrix(&b, x.dims[x.rank - 2], x.dims[x.rank - 1]);
    mica_tf_shape wanted = band_shape(&x, &b);
    if (mica_tf_shape_merge(&wanted, &c->inputs[1], &both)) return NULL;
    return MICA_INVALID("[%s] the diagonals of matrices %s have the shape %s, not %s",
                        c->info->name, mica_tf_shape_text(&x).chars,
                        mica_tf_shape_text(&wanted).chars, mica_tf_shape_text(&c->inputs[1]).chars);
}

/* ---- matrices of diagonals --------------------------------------------------------------------*/

/* A size that was asked for, -1 when none was; *out_known is false where that is not known yet. */
static mica_status wanted_size(mica_tf_inference *c, int32_t i, int64_t *out, bool *out_known) {
    *out = -1;
    *out_known = true;
    if (c->n_inputs <= i) return NULL;
    MICA_TRY(mica_tf_input_number(c, i, out, out_known));
    if (*out_known && *out < -1)
        return MICA_INVALID("[%s] %s must be -1 or at least 0, not %lld", c->info->name,
                            c->info->inputs[i].name, (long long)*out);
    return NULL;
}

static mica_status choose_sizes(const mica_tf_inference *c, const mica_tf_band *b, int64_t *rows,
                                int64_t *columns) {
    int64_t least_rows = mica_tf_plus(b->longest, b->high < 0 ? -(b->high + 1) + 1 : 0);
    int64_t least_columns = mica_tf_plus(b->longest, b->low > 0 ? b->low : 0);
    if (*rows == -1 && *columns == -1)
        *rows = *columns = least_rows > least_columns ? least_rows : least_columns;
    if (*rows == -1) *rows = least_rows;
    if (*columns == -1) *columns = least_columns;
    if (*rows < least_rows)
        return MICA_INVALID("[%s] The number of rows is too small: %lld, at least %lld are needed",
                            c->info->name, (long long)*rows, (long long)least_rows);
    if (*columns < least_columns)
        return MICA_INVALID("[%s] The number of columns is too small: %lld, at least %lld are "
                            "needed",
                            c->info->name, (long long)*columns, (long long)least_columns);
    if (*rows != least_rows && *columns != least_columns)
        return MICA_INVALID("[%s] The number of rows or columns is not consistent with the "
                            "specified d_lower, d_upper, and diagonal.",
                            c->info->name);
    return NULL;
}

mica_status tf_shape_matrix_diag(mica_tf_inference *c) {
    mica_tf_band b;
    mica_tf_shape x = c->inputs[0];
    bool known, knows_rows, knows_columns;
    int64_t rows, columns;
    MICA_TRY(check_rank(c, &x, 1));
    if (c->n_inputs > 4 && c->inputs[4].rank > 0)
        return MICA_INVALID("[%s] padding_value must be a scalar: %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[4]).chars);
    MICA_TRY(read_band(c, &b, &known));
    MICA_TRY(wanted_size(c, 2, &rows, &knows_rows));
    MICA_TRY(wanted_size(c, 3, &columns, &knows_columns));
    if (!known || x.rank < 0) return NULL;
    b.longest = x.dims[x.rank - 1];
    if (b.high != b.low) {
        MICA_TRY(check_rank(c, &x, 2));
        int64_t given = x.dims[x.rank - 2];
        /* The span cannot overflow where it is equal to a size. */
        if (given >= 0 && mica_tf_plus(b.high, -(b.low + 1)) != given - 2)
            return MICA_INVALID("[%s] The number of diagonals provided in the input does not match "
                                "the lower_diag_index and upper_diag_index range.",
                                c->info->name);
        x.rank--;
    }
    x.rank--;
    if (x.rank + 2 > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the result would have rank %d: at most %d is possible",
                            c->info->name, x.rank + 2, MICA_MAX_RANK);
    bool sized = knows_rows && knows_columns && b.longest >= 0;
    if (sized) MICA_TRY(choose_sizes(c, &b, &rows, &columns));
    x.dims[x.rank++] = sized ? rows : -1;
    x.dims[x.rank++] = sized ? columns : -1;
    c->outputs[0] = x;
    return NULL;
}
