/* Attention as models write it, softmax(scale q k^T + mask) v with products over any order of axes,
 * becomes mica.attention; its derivative, mica.attention.back (attention_calls.c).
 *
 * The search begins at a softmax along the last axis. Below it stand the scores: a product q k^T,
 * maybe scaled by a number, with a bias added, with scores of hidden keys selected away. Above it
 * stands the product with v. When there is a derivative by it, the softmax has two more users: its
 * own derivative, which gives ds, and the product p^T dy; ds goes back through mask and scale to
 * the products with k and q. Nothing else may use what is in between, since it will not exist.
 *
 * The letters of axes: scores have batch axes in some order, T (queries) and S (keys, the last
 * one); `order` lists them as (batch..., T, S), which is the order of the composites' operands. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "compile/attention.h"
#include "compile/rewrite.h"

enum { MOST_USERS = 4, MOST_MASKS = 4, DEEPEST = 12 };

/* A dot, maybe transposed: of which axes of its operands each axis of the result is, or -1. */
typedef struct product {
    const mica_node *dot;
    mica_value result;
    int32_t rank;
    int64_t axis[2][MICA_MAX_RANK], summed[2];
} product;

/* An operand, with its axes in the order of the composites. */
typedef struct part {
    mica_value value;
    int64_t axes[MICA_MAX_RANK];
} part;

/* A result, and where its axes are in the composite's. */
typedef struct result {
    mica_value value;
    int64_t permutation[MICA_MAX_RANK];
} result;

/* Something to be stretched to the scores: a value as a tensor of their rank. */
typedef struct stretched {
    mica_value value;
    int64_t dims[MICA_MAX_RANK];
} stretched;

typedef struct attention {
    const mica_graph *g;
    const mica_node *softmax, *back;
    const char *miss;
    int32_t rank;
    int64_t order[MICA_MAX_RANK], dims[MICA_MAX_RANK]; /* of the scores, dims as they are */
    part q, k, v, dy;
    result y, dq, dk, dv;
    mica_value choice, scale; /* of the select and of the product with it; null: there is none */
    stretched mask[MOST_MASKS], bias;
    int32_t n_masks;
    bool has_bias;
    mica_attention_settings settings;
    mica_value made[4 + 2], made_back[3]; /* operands and results in the new graph */
    int32_t first_back;                   /* the node before which the derivative is needed */
} attention;

static bool miss(attention *a, const char *why) {
    if (!a->miss) a->miss = why;
    return false;
}

/* ---- users ------------------------------------------------------------------------------------*/

/* Nodes that use a value, once per operand; more than MOST_USERS when the graph returns it. */
static int32_t users_of(const mica_graph *g, mica_value v, const mica_node **out) {
    int32_t n = 0;
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (mica_value_same(g->outputs[i], v)) return MOST_USERS + 1;
    for (int32_t i = v.node->id + 1; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++)
            if (mica_value_same(g->nodes[i]->operands[k], v)) {
                if (n == MOST_USERS) return n + 1;
                out[n++] = g->nodes[i];
            }
    return n;
}

static const mica_node *only_user(const mica_graph *g, mica_value v) {
    const mica_node *users[MOST_USERS];
    return users_of(g, v, users) == 1 ? users[0] : NULL;
}

static bool is_used_times(const mica_graph *g, mica_value v, int32_t times) {
    const mica_node *users[MOST_USERS];
    return users_of(g, v, users) == times;
}

static mica_value first_result(const mica_node *n) {
    return mica_node_result(n, 0);
}

static const mica_node *node_if(mica_value v, mica_op op) {
    return v.node->op == op ? v.node : NULL;
}

/* ---- products ---------------------------------------------------------------------------------*/

static bool read_dot(const mica_node *dot, product *p) {
    static const char *const contracts[] = {"lhs_contract", "rhs_contract"};
    static const char *const batches[] = {"lhs_batch", "rhs_batch"};
    mica_ints contract[2], batch[2];
    *p = (product){.dot = dot, .result = first_result(dot), .rank = dot->results[0].rank};
    int32_t at = 0;
    for (int32_t side = 0; side < 2; side++) {
        contract[side] = mica_node_ints(dot, contracts[side]);
        batch[side] = mica_node_ints(dot, batches[side]);
        if (contract[side].n != 1) return false;
        p->summed[side] = contract[side].data[0];
    }
    for (; at < batch[0].n; at++)
        for (int32_t side = 0; side < 2; side++) p->axis[side][at] = batch[side].data[at];
    for (int32_t side = 0; side < 2; side++)
        for (int32_t i = 0; i < mica_operand_type(dot, side)->rank; i++) {
            bool is_free = i != p->summed[side];
            for (int32_t k = 0; k < batch[side].n; k++) is_free &= batch[side].data[k] != i;
            if (!is_free) continue;
            p->axis[side][at] = i;
            p->axis[1 - side][at++] = -1;
        }
    return true;
}

static void transpose_product(product *p, const mica_node *transpose) {
    product before = *p;
    mica_ints permutation = mica_node_ints(transpose, "permutation");
    for (int32_t i = 0; i < p->rank; i++)
        for (int32_t side = 0; side < 2; side++)
            p->axis[side][i] = before.axis[side][permutation.data[i]];
    p->result = first_result(transpose);
}

/* The product that a value is, which nothing else uses on the way. */
static bool product_below(attention *a, mica_value v, product *p) {
    const mica_node *transpose = node_if(v, MICA_OP_transpose);
    const mica_node *dot = node_if(transpose ? transpose->operands[0] : v, MICA_OP_dot);
    if (!dot || !read_dot(dot, p)) return false;
    if (transpose && !is_used_times(a->g, first_result(dot), 1)) return false;
    if (transpose) transpose_product(p, transpose);
    return true;
}

/* The product that a node begins, with the transposition behind it. */
static bool product_above(attention *a, const mica_node *dot, product *p) {
    if (dot->op != MICA_OP_dot || !read_dot(dot, p)) return false;
    const mica_node *user = only_user(a->g, first_result(dot));
    if (user && user->op == MICA_OP_transpose) transpose_product(p, user);
    return true;
}

/* Of a product in the layout of the scores: its operand with axis T and the one with axis S, as
 * (batch..., T, summed) and (batch..., S, summed). */
static bool read_outer(attention *a, const product *p, part *with_queries, part *with_keys) {
    int32_t last = a->rank - 1, n = 0, queries = -1;
    if (p->rank != a->rank) return false;
    int32_t keys = p->axis[0][last] < 0 ? 1 : 0;
    if (p->axis[keys][last] < 0 || p->axis[1 - keys][last] >= 0) return false;
    for (int32_t i = 0; i < last; i++) {
        bool both = p->axis[0][i] >= 0 && p->axis[1][i] >= 0;
        if (both)
            a->order[n++] = i;
        else if (queries >= 0 || p->axis[1 - keys][i] < 0)
            return false;
        else
            queries = i;
    }
    if (queries < 0) return false;
    a->order[n++] = queries;
    a->order[n] = last;
    for (int32_t i = 0; i < last - 1; i++) {
        with_queries->axes[i] = p->axis[1 - keys][a->order[i]];
        with_keys->axes[i] = p->axis[keys][a->order[i]];
    }
    with_queries->axes[last - 1] = p->axis[1 - keys][queries];
    with_keys->axes[last - 1] = p->axis[keys][last];
    with_queries->axes[last] = p->summed[1 - keys];
    with_keys->axes[last] = p->summed[keys];
    with_queries->value = p->dot->operands[1 - keys];
    with_keys->value = p->dot->operands[keys];
    return true;
}

/* Of a product of `of`, in the layout of the scores, over its axis T or S: the other operand as
 * (batch..., summed, free), and the result from (batch..., the axis that stays, free). */
static bool read_inner(const attention *a, const product *p, mica_value of, bool over_queries,
                       part *other, result *out) {
    int32_t last = a->rank - 1, side = mica_value_same(p->dot->operands[0], of) ? 0 : 1;
    int64_t summed = a->order[over_queries ? last - 1 : last];
    if (p->rank != a->rank || mica_value_same(p->dot->operands[0], p->dot->operands[1]) ||
        p->summed[side] != summed)
        return false;
    for (int32_t i = 0; i <= last; i++) {
        int64_t own = p->axis[side][i], theirs = p->axis[1 - side][i];
        int32_t place = last;
        for (int32_t k = 0; own >= 0 && k <= last; k++)
            if (a->order[k] == own) place = k;
        bool is_batch = own >= 0 && place < last - 1;
        if (is_batch != (own >= 0 && theirs >= 0)) return false;
        if (own < 0) other->axes[last] = theirs;
        if (is_batch) other->axes[place] = theirs;
        out->permutation[i] = own < 0 ? last : is_batch ? place : last - 1;
    }
    other->axes[last - 1] = p->summed[1 - side];
    other->value = p->dot->operands[1 - side];
    out->value = p->result;
    return true;
}

static bool same_part(const attention *a, const part *x, const part *y) {
    return mica_value_same(x->value, y->value) &&
           memcmp(x->axes, y->axes, (size_t)a->rank * sizeof *x->axes) == 0;
}

/* ---- numbers ----------------------------------------------------------------------------------*/

/* A number that is known now, computed as the graph would. */
static bool known_number(mica_value v, const mica_value *argument, float given, float *out,
                         int depth) {
    const mica_node *n = v.node;
    const mica_type *type = mica_value_type(v);
    float x[2] = {0, 0};
    if (argument && mica_value_same(v, *argument)) {
        *out = given;
        return true;
    }
    if (depth > DEEPEST) return false;
    if (n->op == MICA_OP_broadcast || (n->op == MICA_OP_reshape && mica_type_elements(type) == 1))
        return known_number(n->operands[0], argument, given, out, depth + 1);
    if (n->op == MICA_OP_slice && mica_type_elements(type) == 1 &&
        n->operands[0].node->op == MICA_OP_constant && type->rank == 1) {
        const mica_attr *data = &n->operands[0].node->attrs[0];
        if (data->as.data.type.dtype != MICA_DTYPE_i32) return false;
        *out = (float)((const int32_t *)data->as.data.bytes)[mica_node_ints(n, "start").data[0]];
        return true;
    }
    if (n->op == MICA_OP_constant && mica_type_elements(type) == 1) {
        const void *bytes = n->attrs[0].as.data.bytes;
        if (type->dtype == MICA_DTYPE_f32) *out = *(const float *)bytes;
        if (type->dtype == MICA_DTYPE_i32) *out = (float)*(const int32_t *)bytes;
        return type->dtype == MICA_DTYPE_f32 || type->dtype == MICA_DTYPE_i32;
    }
    if (type->rank != 0 || n->n_operands > 2) return false;
    for (int32_t i = 0; i < n->n_operands; i++)
        if (!known_number(n->operands[i], argument, given, &x[i], depth + 1)) return false;
    if (n->op == MICA_OP_call && n->n_operands == 1 && n->n_results == 1) {
        const mica_graph *body = n->regions[0];
        return known_number(body->outputs[0], &body->parameters[0], x[0], out, depth + 1);
    }
    switch (n->op) {
    case MICA_OP_convert: *out = x[0]; return type->dtype == MICA_DTYPE_f32;
    case MICA_OP_sqrt: *out = sqrtf(x[0]); return true;
    case MICA_OP_mul: *out = x[0] * x[1]; return true;
    case MICA_OP_div: *out = x[0] / x[1]; return true;
    default: return false;
    }
}

/* A bool of which all elements are the same. */
static bool is_all(mica_value v, bool wanted) {
    while (v.node->op == MICA_OP_broadcast || v.node->op == MICA_OP_reshape)
        v = v.node->operands[0];
    const mica_type *type = mica_value_type(v);
    return v.node->op == MICA_OP_constant && mica_type_elements(type) == 1 &&
           type->dtype == MICA_DTYPE_bool &&
           (*(const uint8_t *)v.node->attrs[0].as.data.bytes != 0) == wanted;
}

static bool is_zero(mica_value v) {
    float number;
    return known_number(v, NULL, 0, &number, 0) && number == 0;
}

/* ---- scores -----------------------------------------------------------------------------------*/

static bool is_ascending(mica_ints axes) {
    for (int32_t i = 1; i < axes.n; i++)
        if (axes.data[i] <= axes.data[i - 1]) return false;
    return true;
}

static void stretch(mica_value v, int32_t rank, stretched *out) {
    const mica_node *broadcast = node_if(v, MICA_OP_broadcast);
    if (broadcast && !is_ascending(mica_node_ints(broadcast, "axes"))) broadcast = NULL;
    *out = (stretched){.value = broadcast ? broadcast->operands[0] : v};
    const mica_type *type = mica_value_type(out->value);
    for (int32_t i = 0; i < rank; i++) out->dims[i] = broadcast ? 1 : type->dims[i];
    if (!broadcast) return;
    mica_ints axes = mica_node_ints(broadcast, "axes");
    for (int32_t i = 0; i < axes.n; i++) out->dims[axes.data[i]] = type->dims[i];
}

static bool is_iota(mica_value v, int64_t axis) {
    return v.node->op == MICA_OP_iota && mica_node_int(v.node, "axis") == axis;
}

static bool is_integer_zero(mica_value v) {
    while (v.node->op == MICA_OP_broadcast) v = v.node->operands[0];
    const mica_type *type = mica_value_type(v);
    return v.node->op == MICA_OP_constant && mica_type_elements(type) == 1 &&
           type->dtype == MICA_DTYPE_i64 && *(const int64_t *)v.node->attrs[0].as.data.bytes == 0;
}

/* A lower triangle (T, S): false where the row's number minus the column's is below zero. */
static bool is_causal(const attention *a, const stretched *mask) {
    mica_value v = mask->value;
    for (int32_t i = 0; i < a->rank - 2; i++)
        if (mask->dims[a->order[i]] != 1) return false;
    while (v.node->op == MICA_OP_reshape) v = v.node->operands[0];
    const mica_type *type = mica_value_type(v);
    const mica_node *select = node_if(v, MICA_OP_select);
    if (!select || type->rank != 2 || type->dims[0] != a->dims[a->order[a->rank - 2]] ||
        type->dims[1] != a->dims[a->rank - 1] || !is_all(select->operands[1], false) ||
        !is_all(select->operands[2], true))
        return false;
    const mica_node *compare = node_if(select->operands[0], MICA_OP_compare);
    if (!compare || strcmp(mica_node_string(compare, "direction"), "lt") != 0 ||
        !is_integer_zero(compare->operands[1]))
        return false;
    const mica_node *sub = node_if(compare->operands[0], MICA_OP_sub);
    return sub && is_iota(sub->operands[0], 0) && is_iota(sub->operands[1], 1);
}

/* The masks that all have to be true. */
static bool collect_masks(attention *a, mica_value v, int depth) {
    if (is_all(v, true)) return true;
    if (v.node->op == MICA_OP_and && depth < DEEPEST)
        return collect_masks(a, v.node->operands[0], depth + 1) &&
               collect_masks(a, v.node->operands[1], depth + 1);
    if (a->n_masks == MOST_MASKS) return miss(a, "the mask has too many parts");
    stretch(v, a->rank, &a->mask[a->n_masks++]);
    return true;
}

static bool read_masks(attention *a) {
    if (!collect_masks(a, a->choice, 0)) return false;
    a->settings.causal = a->n_masks == 1 && is_causal(a, &a->mask[0]);
    if (a->settings.causal) a->n_masks = 0;
    a->settings.has_never = a->n_masks > 0;
    return true;
}

static bool is_product(mica_value v) {
    const mica_node *transpose = node_if(v, MICA_OP_transpose);
    return node_if(transpose ? transpose->operands[0] : v, MICA_OP_dot) != NULL;
}

/* A product, maybe scaled: of the two that are added, the one that is no bias. */
static bool is_score(mica_value v) {
    const mica_node *mul = node_if(v, MICA_OP_mul);
    return is_product(v) || (mul && (is_product(mul->operands[0]) || is_product(mul->operands[1])));
}

/* From the softmax's operand down to the product of q and k. */
static bool read_scores(attention *a) {
    mica_value scores = a->softmax->operands[0];
    int32_t uses = a->back ? 2 : 1;
    float scale = 1;
    product p;
    const mica_node *select = node_if(scores, MICA_OP_select);
    if (!is_used_times(a->g, scores, uses)) return miss(a, "something else uses the scores");
    if (select) {
        if (!known_number(select->operands[2], NULL, 0, &a->settings.never, 0) ||
            !(a->settings.never < -1e30f && a->settings.never > -INFINITY))
            return miss(a, "hidden scores are not one large negative number");
        a->choice = select->operands[0];
        scores = select->operands[1];
        if (!is_used_times(a->g, scores, 1)) return miss(a, "something else uses the scores");
    }
    const mica_node *add = node_if(scores, MICA_OP_add);
    if (add) {
        int32_t side = is_score(add->operands[0]) ? 0 : 1;
        stretch(add->operands[1 - side], a->rank, &a->bias);
        a->has_bias = true;
        scores = add->operands[side];
    }
    const mica_node *mul = node_if(scores, MICA_OP_mul);
    for (int32_t i = 0; mul && i < 2; i++)
        if (known_number(mul->operands[1 - i], NULL, 0, &scale, 0)) {
            a->scale = mul->operands[1 - i];
            scores = mul->operands[i];
            break;
        }
    if (!product_below(a, scores, &p) || !read_outer(a, &p, &a->q, &a->k))
        return miss(a, "the scores are not a product of queries and keys, scaled and masked");
    if ((add && !is_used_times(a->g, first_result(add), select ? 1 : uses)) ||
        (a->scale.node && !is_used_times(a->g, first_result(mul), add || select ? 1 : uses)) ||
        !is_used_times(a->g, scores, a->scale.node || add || select ? 1 : uses))
        return miss(a, "something else uses the scores");
    a->settings.scale = (double)scale;
    if (select && a->has_bias) return miss(a, "there is a bias and a mask");
    return !select || read_masks(a);
}

/* ---- derivative -------------------------------------------------------------------------------*/

/* From the derivative of the softmax up to that of the product of q and k. */
static bool pass_masks(attention *a, mica_value *ds) {
    for (int32_t pass = 0; pass < 2; pass++) {
        if (pass == 0 ? !a->choice.node : !a->scale.node) continue;
        const mica_node *user = only_user(a->g, *ds);
        bool fits;
        if (!user) return miss(a, "something else uses the derivative of the scores");
        if (pass == 0)
            fits = user->op == MICA_OP_select && mica_value_same(user->operands[0], a->choice) &&
                   mica_value_same(user->operands[1], *ds) && is_zero(user->operands[2]);
        else
            fits = user->op == MICA_OP_mul && (mica_value_same(user->operands[0], a->scale) ||
                                               mica_value_same(user->operands[1], a->scale));
        if (!fits) return miss(a, "the derivative does not go back through mask and scale");
        *ds = first_result(user);
    }
    return true;
}

static bool read_derivative(attention *a) {
    mica_value ds = first_result(a->back), dp = a->back->operands[2];
    const mica_node *users[MOST_USERS];
    part other, own;
    product p;
    int64_t order[MICA_MAX_RANK];
    memcpy(order, a->order, sizeof order);
    if (!product_below(a, dp, &p) || !is_used_times(a->g, dp, 1) ||
        !read_outer(a, &p, &other, &own) ||
        memcmp(order, a->order, (size_t)a->rank * sizeof *order) != 0 ||
        !same_part(a, &own, &a->v) || (a->dv.value.node && !same_part(a, &other, &a->dy)))
        return miss(a, "the derivative by the softmax is not a product with the values");
    a->dy = other;
    if (!pass_masks(a, &ds)) return false;
    int32_t n = users_of(a->g, ds, users);
    if (n > 2) return miss(a, "something else uses the derivative of the scores");
    for (int32_t i = 0; i < n; i++) {
        if (!product_above(a, users[i], &p)) return miss(a, "the derivative is not of products");
        if (!a->dq.value.node && read_inner(a, &p, ds, false, &other, &a->dq) &&
            same_part(a, &other, &a->k))
            continue;
        if (!a->dk.value.node && read_inner(a, &p, ds, true, &other, &a->dk) &&
            same_part(a, &other, &a->q))
            continue;
        return miss(a, "the derivative does not go to queries and keys");
    }
    return true;
}

/* ---- around the softmax -----------------------------------------------------------------------*/

static bool read_users(attention *a) {
    mica_value p = first_result(a->softmax);
    const mica_node *users[MOST_USERS];
    int32_t n = users_of(a->g, p, users);
    product x;
    if (n > 3) return miss(a, "something else uses the softmax");
    for (int32_t i = 0; i < n; i++) {
        const mica_node *user = users[i];
        if (user->op == MICA_OP_call && !strcmp(mica_node_string(user, "name"), "softmax.vjp") &&
            user->n_operands == 3 && mica_value_same(user->operands[1], p) &&
            mica_value_same(user->operands[0], a->softmax->operands[0]) && !a->back)
            a->back = user;
    }
    if (!read_scores(a)) return false;
    for (int32_t i = 0; i < n; i++) {
        if (users[i] == a->back) continue;
        if (!product_above(a, users[i], &x))
            return miss(a, "something stands between softmax and values, such as dropout");
        if (!a->y.value.node && read_inner(a, &x, p, false, &a->v, &a->y)) continue;
        if (!a->dv.value.node && read_inner(a, &x, p, true, &a->dy, &a->dv)) continue;
        return miss(a, "the softmax is not multiplied with values");
    }
    return a->y.value.node != NULL || miss(a, "the softmax is not multiplied with values");
}

static int32_t earliest(const attention *a) {
    const result *results[] = {&a->dq, &a->dk, &a->dv};
    int32_t first = a->g->n_nodes;
    for (int32_t i = 0; i < 3; i++)
        if (results[i]->value.node && results[i]->value.node->id < first)
            first = results[i]->value.node->id;
    return first;
}

static bool read_attention(attention *a) {
    const mica_type *type = &a->softmax->results[0];
    a->rank = type->rank;
    memcpy(a->dims, type->dims, sizeof a->dims);
    if (type->dtype != MICA_DTYPE_f32) return miss(a, "it is not of f32");
    if (!read_users(a)) return false;
    if (a->dv.value.node && !a->back) return miss(a, "a derivative is not that of attention");
    if (a->back && !read_derivative(a)) return false;
    a->first_back = earliest(a);
    return !a->back || a->y.value.node->id < a->first_back ||
           miss(a, "the derivative comes before the result");
}

static bool is_softmax(const mica_node *n) {
    char config[20];
    if (n->op != MICA_OP_call || strcmp(mica_node_string(n, "name"), "softmax") != 0) return false;
    snprintf(config, sizeof config, "axis=%d", (int)n->results[0].rank - 1);
    return n->results[0].rank >= 3 && !strcmp(mica_node_string(n, "config"), config);
}

bool mica_has_softmax(const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (is_softmax(g->nodes[i])) return true;
    return false;
}

/* ---- rewriting --------------------------------------------------------------------------------*/

static mica_value place(mica_rewrite *w, const attention *a, const part *x) {
    return mica_transpose(w->to, *mica_rewrite_slot(w, x->value), (mica_ints){x->axes, a->rank});
}

static mica_value place_stretched(mica_rewrite *w, const attention *a, const stretched *x) {
    mica_value v =
        mica_reshape(w->to, *mica_rewrite_slot(w, x->value), (mica_ints){x->dims, a->rank});
    return mica_transpose(w->to, v, (mica_ints){a->order, a->rank});
}

/* What is added, or where keys are hidden: not all of the masks are true. */
static mica_value make_mask(mica_rewrite *w, const attention *a) {
    if (a->has_bias) return place_stretched(w, a, &a->bias);
    if (!a->n_masks) return MICA_NULL_VALUE;
    mica_value mask = place_stretched(w, a, &a->mask[0]);
    for (int32_t i = 1; i < a->n_masks; i++)
        mask = mica_and(w->to, mask, place_stretched(w, a, &a->mask[i]));
    return mica_not(w->to, mask);
}

static void put_result(mica_rewrite *w, const attention *a, const result *r, mica_value made) {
    if (r->value.node)
        *mica_rewrite_slot(w, r->value) =
            mica_transpose(w->to, made, (mica_ints){r->permutation, a->rank});
}

static bool is_made(attention *a, const mica_claimer *claimer, const mica_node *call) {
    if (call && claimer->claims(claimer->context, call)) return true;
    return miss(a, "the device does not compute it: dtype, sizes or mask");
}

/* y is there, with what the derivative needs of it. */
static void put_forward(mica_rewrite *w, const mica_claimer *claimer, attention *a) {
    mica_value operands[] = {place(w, a, &a->q), place(w, a, &a->k), place(w, a, &a->v),
                             make_mask(w, a)};
    mica_node *call = mica_attention_call(w->to, operands, &a->settings);
    if (!is_made(a, claimer, call)) return;
    memcpy(a->made, operands, sizeof operands);
    for (int32_t i = 0; i < 2; i++) a->made[4 + i] = mica_node_result(call, i);
    put_result(w, a, &a->y, a->made[4]);
}

static void put_back(mica_rewrite *w, const mica_claimer *claimer, attention *a) {
    mica_value operands[MICA_ATTENTION_OPERANDS];
    memcpy(operands, a->made, sizeof a->made);
    operands[6] = place(w, a, &a->dy);
    operands[7] = mica_zeros_like(w->to, operands[5]);
    mica_node *call = mica_attention_back_call(w->to, operands, &a->settings);
    if (!is_made(a, claimer, call)) return;
    for (int32_t i = 0; i < 3; i++) a->made_back[i] = mica_node_result(call, i);
}

static void put_node(mica_rewrite *w, const mica_claimer *claimer, attention *a,
                     const mica_node *n) {
    if (a->y.value.node == n) put_forward(w, claimer, a);
    if (!a->made[4].node || !a->back) return;
    if (a->first_back == n->id) put_back(w, claimer, a);
    if (!a->made_back[0].node) return;
    if (a->dq.value.node == n) put_result(w, a, &a->dq, a->made_back[0]);
    if (a->dk.value.node == n) put_result(w, a, &a->dk, a->made_back[1]);
    if (a->dv.value.node == n) put_result(w, a, &a->dv, a->made_back[2]);
}

static mica_status rewrite(const mica_graph *g, const mica_claimer *claimer, attention *found,
                           int32_t n_found, mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, g));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i]->op == MICA_OP_PARAMETER) continue;
        mica_rewrite_keep(&w, g->nodes[i], mica_rewrite_node(&w, g->nodes[i], NULL));
        if (w.to->error) break;
        for (int32_t k = 0; k < n_found; k++) put_node(&w, claimer, &found[k], g->nodes[i]);
    }
    return mica_rewrite_end(&w, out_graph);
}

/* Only what is near one is worth a line: a softmax of products, or one that is multiplied. */
static void report(const attention *a) {
    if (!mica_log_on(MICA_LOG_MATCH)) return;
    mica_label shape = mica_type_text(&a->softmax->results[0]);
    if (a->made[4].node)
        mica_log_write(MICA_LOG_MATCH, "softmax of %s becomes mica.attention%s%s", shape.chars,
                       a->made_back[0].node ? " and mica.attention.back" : "",
                       a->settings.causal ? ", causal"
                       : a->n_masks       ? ", masked"
                                          : "");
    if (a->miss)
        mica_log_write(MICA_LOG_MATCH, "softmax of %s: no attention: %s", shape.chars, a->miss);
}

mica_status mica_match_attention(const mica_graph *g, const mica_claimer *claimer,
                                 mica_graph **out_graph) {
    int32_t n = 0, n_found = 0;
    *out_graph = NULL;
    for (int32_t i = 0; i < g->n_nodes; i++) n += is_softmax(g->nodes[i]);
    attention *found = mica_calloc((size_t)n + 1, sizeof *found);
    if (!found) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (!is_softmax(g->nodes[i])) continue;
        attention *a = &found[n_found];
        *a = (attention){.g = g, .softmax = g->nodes[i]};
        a->settings.scale = 1;
        if (read_attention(a))
            n_found++;
        else
            report(a);
    }
    mica_status status = n_found ? rewrite(g, claimer, found, n_found, out_graph) : NULL;
    for (int32_t i = 0; !status && i < n_found; i++) report(&found[i]);
    mica_free(found);
    return status;
}
