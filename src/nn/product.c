/* Matrix products: matmul, fully connected, gram matrix. */
#include "nn/compose.h"

mica_value mica_nn_matmul(mica_graph *g, mica_value x, mica_value y, double alpha,
                          bool transposes_x, bool transposes_y) {
    if (!mica_nn_check(g, "matmul", (const mica_value[]){x, y}, 2, 0, false))
        return MICA_NULL_VALUE;
    mica_type tx = mica_nn_type(x), ty = mica_nn_type(y);
    if ((transposes_x && tx.rank < 2) || (transposes_y && ty.rank < 2)) {
        MICA_NN_FAIL(g, "[matmul] a vector cannot be transposed: %s x %s",
                     mica_nn_type_text(&tx).chars, mica_nn_type_text(&ty).chars);
        return MICA_NULL_VALUE;
    }
    if (transposes_x) x = mica_nn_transpose_matrix(g, x);
    if (transposes_y) y = mica_nn_transpose_matrix(g, y);
    return mica_nn_scale(g, mica_matmul(g, x, y), alpha);
}

mica_value mica_nn_fully_connected(mica_graph *g, mica_value x, mica_value weights,
                                   mica_value bias) {
    const char *where = "fully_connected";
    if (!mica_nn_check(g, where, (const mica_value[]){x, weights, bias}, 3, 4, true))
        return MICA_NULL_VALUE;
    mica_type tx = mica_nn_type(x), tw = mica_nn_type(weights);
    int64_t inputs = tw.rank == 2 ? tw.dims[1] : -1;
    bool is_image = tx.rank == 4 && tx.dims[1] == inputs && tx.dims[2] == 1 && tx.dims[3] == 1;
    if (tw.rank != 2 || tx.rank < 1 || (!is_image && tx.dims[tx.rank - 1] != inputs)) {
        MICA_NN_FAIL(g, "[fully_connected] weights %s do not fit the input %s",
                     mica_nn_type_text(&tw).chars, mica_nn_type_text(&tx).chars);
        return MICA_NULL_VALUE;
    }
    if (is_image) x = mica_reshape(g, x, MICA_INTS(tx.dims[0], inputs));
    int64_t last = is_image ? 1 : tx.rank - 1;
    mica_value y =
        mica_dot(g, x, weights, MICA_INTS(last), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS);
    mica_type ty = mica_nn_type(y);
    if (ty.rank && !mica_value_is_null(bias))
        y = mica_add(g, y, mica_nn_along(g, where, "bias", bias, &ty, ty.rank - 1));
    return is_image ? mica_reshape(g, y, MICA_INTS(tx.dims[0], tw.dims[0], 1, 1)) : y;
}

mica_value mica_nn_gram_matrix(mica_graph *g, mica_value x, double scale) {
    if (!mica_nn_check(g, "gram_matrix", &x, 1, 0, true)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    if (type.rank < 2) {
        MICA_NN_FAIL(g, "[gram_matrix] the input must be (N, C, ...), not %s",
                     mica_nn_type_text(&type).chars);
        return MICA_NULL_VALUE;
    }
    int64_t positions = 1;
    for (int32_t i = 2; i < type.rank; i++) positions *= type.dims[i];
    x = mica_reshape(g, x, MICA_INTS(type.dims[0], type.dims[1], positions));
    mica_value y = mica_dot(g, x, x, MICA_INTS(2), MICA_INTS(2), MICA_INTS(0), MICA_INTS(0));
    return mica_nn_scale(g, y, scale);
}
