/* Lowerings of a step of an optimizer on its variables: what training graphs hold. The formulas are
 * those of TensorFlow's kernels, in their order of operations. */
#include "tf/lower_rules.h"

/* The operands of a row by their place. Its variables come first. */
typedef struct step {
    mica_tf_lowering *c;
    mica_graph *g;
    int32_t n_variables;
    mica_value var; /* the first variable's value before */
} step;

static mica_tf_variable_slot *slot_at(const step *s, int32_t i) {
    int32_t k = s->c->variables[i];
    return k >= 0 ? &s->c->session->variables[k] : NULL;
}

static bool is_of(const step *s, int32_t i, const mica_type *type) {
    const mica_type *own = mica_tf_type(s->c, i);
    return !own || mica_type_equal(own, type);
}

/* All variables and the gradient have one shape, what remains is scalars; else the graph fails. */
static bool begin(step *s, mica_tf_lowering *c, int32_t n_variables, int32_t gradient) {
    *s = (step){.c = c, .g = c->g, .n_variables = n_variables};
    const mica_type *first = NULL;
    for (int32_t i = 0; i < n_variables; i++) {
        const mica_tf_variable_slot *slot = slot_at(s, i);
        const char *name = c->info->inputs[i].name;
        if (!slot) {
            MICA_TF_FAIL(c, "[%s] %s is not the handle of a variable", c->info->name, name);
            return false;
        }
        if (mica_value_is_null(slot->value)) {
            mica_graph_fail(c->g, MICA_ERROR(MICA_FAILED_PRECONDITION,
                                             "[%s] the variable %s has no value yet", c->info->name,
                                             name));
            return false;
        }
        const mica_type *type = mica_value_type(slot->value);
        if (!first) first = type;
        if (type && first && !mica_type_equal(type, first)) {
            mica_tf_shape x = mica_tf_shape_of(first), y = mica_tf_shape_of(type);
            MICA_TF_FAIL(c, "[%s] var and %s do not have the same dtype and shape: %s and %s",
                         c->info->name, name, mica_tf_shape_text(&x).chars,
                         mica_tf_shape_text(&y).chars);
            return false;
        }
    }
    s->var = slot_at(s, 0)->value;
    for (int32_t i = n_variables; first && i < c->n_inputs; i++) {
        const mica_type *type = mica_tf_type(c, i);
        if (!type) return false;
        mica_tf_shape shape = mica_tf_shape_of(type), whole = mica_tf_shape_of(first);
        if (i == gradient ? !is_of(s, i, first) : type->rank != 0) {
            const char *name = c->info->inputs[i].name;
            if (i == gradient)
                MICA_TF_FAIL(c, "[%s] var and %s do not have the same dtype and shape: %s and %s",
                             c->info->name, name, mica_tf_shape_text(&whole).chars,
                             mica_tf_shape_text(&shape).chars);
            else
                MICA_TF_FAIL(c, "[%s] %s is not a scalar: %s", c->info->name, name,
                             mica_tf_shape_text(&shape).chars);
            return false;
        }
    }
    return first != NULL;
}

/* A variable's value now, or an operand. */
static mica_value at(const step *s, int32_t i) {
    return i < s->n_variables ? slot_at(s, i)->value : s->c->inputs[i];
}

static mica_value put(const step *s, int32_t i, mica_value value) {
    mica_tf_variable_slot *slot = slot_at(s, i);
    slot->value = value;
    slot->written = true;
    return value;
}

static mica_value add(const step *s, mica_value x, mica_value y) {
    return mica_add(s->g, x, y);
}

static mica_value sub(const step *s, mica_value x, mica_value y) {
    return mica_sub(s->g, x, y);
}

static mica_value mul(const step *s, mica_value x, mica_value y) {
    return mica_mul(s->g, x, y);
}

static mica_value divide(const step *s, mica_value x, mica_value y) {
    return mica_div(s->g, x, y);
}

static mica_value square(const step *s, mica_value x) {
    return mica_mul(s->g, x, x);
}

static mica_value root(const step *s, mica_value x) {
    return mica_sqrt(s->g, x);
}

static mica_value one_minus(const step *s, mica_value x) {
    return sub(s, mica_full_like(s->g, x, 1.0), x);
}

static mica_value sign(const step *s, mica_value x) {
    return mica_sign(s->g, x);
}

/* rate old + (1 - rate) new, as old + (new - old) (1 - rate) */
static mica_value decay(const step *s, mica_value old, mica_value value, mica_value rate) {
    return add(s, old, mul(s, sub(s, value, old), one_minus(s, rate)));
}

static bool flag(const step *s, const char *name) {
    return mica_tf_lowering_int(s->c, name) != 0;
}

static void take_from_var(const step *s, mica_value change) {
    put(s, 0, sub(s, s->var, change));
}

/* sign(x) max(|x| - l1, 0) where l1 > 0, else x. */
static mica_value shrink(const step *s, mica_value x, mica_value l1, mica_value threshold) {
    mica_value zero = mica_zeros_like(s->g, x);
    mica_value less = sub(s, mica_abs(s->g, x), threshold);
    mica_value shrunk = mul(s, sign(s, x), mica_max(s->g, less, zero));
    mica_value is_on = mica_compare(s->g, l1, mica_zeros_like(s->g, l1), "gt");
    return mica_select(s->g, is_on, shrunk, x);
}

/* ---- descent ----------------------------------------------------------------------------------*/

void tf_lower_apply_gradient_descent(mica_tf_lowering *c) {
    step s;
    if (begin(&s, c, 1, 2)) take_from_var(&s, mul(&s, at(&s, 2), at(&s, 1)));
}

/* The nearest point with less of l1 and l2, by a step of this length from x. */
static mica_value proximal(const step *s, mica_value x, mica_value rate, mica_value l1,
                           mica_value l2) {
    mica_value one = mica_full_like(s->g, l2, 1.0);
    mica_value shrunk = shrink(s, x, l1, mul(s, rate, l1));
    return divide(s, shrunk, add(s, one, mul(s, l2, rate)));
}

void tf_lower_apply_proximal_gradient_descent(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 1, 4)) return;
    mica_value rate = at(&s, 1), moved = sub(&s, s.var, mul(&s, at(&s, 4), rate));
    put(&s, 0, proximal(&s, moved, rate, at(&s, 2), at(&s, 3)));
}

void tf_lower_apply_momentum(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 3)) return;
    mica_value rate = at(&s, 2), gradient = at(&s, 3), momentum = at(&s, 4);
    mica_value accum = put(&s, 1, add(&s, mul(&s, at(&s, 1), momentum), gradient));
    mica_value change = mul(&s, accum, rate);
    if (flag(&s, "use_nesterov"))
        change = add(&s, mul(&s, gradient, rate), mul(&s, mul(&s, accum, momentum), rate));
    take_from_var(&s, change);
}

void tf_lower_apply_keras_momentum(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 3)) return;
    mica_value momentum = at(&s, 4), change = mul(&s, at(&s, 3), at(&s, 2));
    mica_value accum = put(&s, 1, sub(&s, mul(&s, at(&s, 1), momentum), change));
    if (flag(&s, "use_nesterov")) accum = sub(&s, mul(&s, accum, momentum), change);
    put(&s, 0, add(&s, s.var, accum));
}

/* ---- Adam and its kin -------------------------------------------------------------------------*/

static mica_value adam_rate(const step *s, mica_value rate, mica_value power1, mica_value power2) {
    return divide(s, mul(s, rate, root(s, one_minus(s, power2))), one_minus(s, power1));
}

void tf_lower_apply_adam(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 3, 9)) return;
    mica_value beta1 = at(&s, 6), epsilon = at(&s, 8), gradient = at(&s, 9);
    mica_value rate = adam_rate(&s, at(&s, 5), at(&s, 3), at(&s, 4));
    mica_value m = put(&s, 1, decay(&s, at(&s, 1), gradient, beta1));
    mica_value v = put(&s, 2, decay(&s, at(&s, 2), square(&s, gradient), at(&s, 7)));
    if (flag(&s, "use_nesterov"))
        m = add(&s, mul(&s, gradient, one_minus(&s, beta1)), mul(&s, m, beta1));
    take_from_var(&s, divide(&s, mul(&s, m, rate), add(&s, root(&s, v), epsilon)));
}

void tf_lower_apply_adam_with_amsgrad(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 4, 10)) return;
    mica_value gradient = at(&s, 10), rate = adam_rate(&s, at(&s, 6), at(&s, 4), at(&s, 5));
    mica_value m = put(&s, 1, decay(&s, at(&s, 1), gradient, at(&s, 7)));
    mica_value v = put(&s, 2, decay(&s, at(&s, 2), square(&s, gradient), at(&s, 8)));
    mica_value most = put(&s, 3, mica_max(s.g, at(&s, 3), v));
    take_from_var(&s, divide(&s, mul(&s, m, rate), add(&s, root(&s, most), at(&s, 9))));
}

void tf_lower_apply_ada_max(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 3, 8)) return;
    mica_value gradient = at(&s, 8), rate = divide(&s, at(&s, 4), one_minus(&s, at(&s, 3)));
    mica_value m = put(&s, 1, decay(&s, at(&s, 1), gradient, at(&s, 5)));
    mica_value decayed = mul(&s, at(&s, 6), at(&s, 2));
    mica_value v = put(&s, 2, mica_max(s.g, decayed, mica_abs(s.g, gradient)));
    take_from_var(&s, mul(&s, rate, divide(&s, m, add(&s, v, at(&s, 7)))));
}

/* ---- sums of squares --------------------------------------------------------------------------*/

void tf_lower_apply_adadelta(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 3, 6)) return;
    mica_value rate = at(&s, 3), rho = at(&s, 4), epsilon = at(&s, 5), gradient = at(&s, 6);
    mica_value rest = one_minus(&s, rho), updates = at(&s, 2);
    mica_value accum = add(&s, mul(&s, at(&s, 1), rho), mul(&s, square(&s, gradient), rest));
    put(&s, 1, accum);
    mica_value change =
        mul(&s, root(&s, add(&s, updates, epsilon)), mica_rsqrt(s.g, add(&s, accum, epsilon)));
    change = mul(&s, change, gradient);
    put(&s, 2, add(&s, mul(&s, updates, rho), mul(&s, square(&s, change), rest)));
    take_from_var(&s, mul(&s, change, rate));
}

/* The sum of squares, which grows unless the attribute says that it is kept. */
static mica_value grown_sum(const step *s, int32_t i, mica_value gradient) {
    mica_value accum = at(s, i);
    if (!flag(s, "update_slots")) return accum;
    return put(s, i, add(s, accum, square(s, gradient)));
}

void tf_lower_apply_adagrad(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 3)) return;
    mica_value gradient = at(&s, 3), accum = grown_sum(&s, 1, gradient);
    take_from_var(&s, mul(&s, mul(&s, gradient, at(&s, 2)), mica_rsqrt(s.g, accum)));
}

void tf_lower_apply_adagrad_v2(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 4)) return;
    mica_value gradient = at(&s, 4), accum = grown_sum(&s, 1, gradient);
    mica_value scale = add(&s, root(&s, accum), at(&s, 3));
    take_from_var(&s, divide(&s, mul(&s, gradient, at(&s, 2)), scale));
}

void tf_lower_apply_proximal_adagrad(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 5)) return;
    mica_value gradient = at(&s, 5);
    mica_value accum = put(&s, 1, add(&s, at(&s, 1), square(&s, gradient)));
    mica_value rate = mul(&s, at(&s, 2), mica_rsqrt(s.g, accum));
    mica_value moved = sub(&s, s.var, mul(&s, gradient, rate));
    put(&s, 0, proximal(&s, moved, rate, at(&s, 3), at(&s, 4)));
}

void tf_lower_apply_rms_prop(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 3, 7)) return;
    mica_value gradient = at(&s, 7);
    mica_value ms = put(&s, 1, decay(&s, at(&s, 1), square(&s, gradient), at(&s, 4)));
    mica_value change = divide(&s, mul(&s, gradient, at(&s, 3)), root(&s, add(&s, ms, at(&s, 6))));
    take_from_var(&s, put(&s, 2, add(&s, mul(&s, at(&s, 2), at(&s, 5)), change)));
}

void tf_lower_apply_centered_rms_prop(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 4, 8)) return;
    mica_value gradient = at(&s, 8), rho = at(&s, 5);
    mica_value ms = put(&s, 2, decay(&s, at(&s, 2), square(&s, gradient), rho));
    mica_value mg = put(&s, 1, decay(&s, at(&s, 1), gradient, rho));
    mica_value spread = add(&s, sub(&s, ms, square(&s, mg)), at(&s, 7));
    mica_value change = divide(&s, mul(&s, gradient, at(&s, 4)), root(&s, spread));
    take_from_var(&s, put(&s, 3, add(&s, mul(&s, at(&s, 3), at(&s, 6)), change)));
}

/* ---- signs ------------------------------------------------------------------------------------*/

/* sign_decay sign(gradient) sign(m), with m kept: operands m (1), beta and the gradient. */
static mica_value agreement(const step *s, int32_t sign_decay, int32_t beta, mica_value gradient) {
    mica_value decayed = mul(s, at(s, 1), at(s, beta));
    mica_value m = put(s, 1, add(s, decayed, mul(s, gradient, one_minus(s, at(s, beta)))));
    return mul(s, at(s, sign_decay), mul(s, sign(s, gradient), sign(s, m)));
}

void tf_lower_apply_add_sign(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 6)) return;
    mica_value gradient = at(&s, 6), scale = add(&s, at(&s, 3), agreement(&s, 4, 5, gradient));
    take_from_var(&s, mul(&s, mul(&s, at(&s, 2), scale), gradient));
}

void tf_lower_apply_power_sign(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 2, 6)) return;
    mica_value gradient = at(&s, 6), agreed = agreement(&s, 4, 5, gradient);
    mica_value scale = mica_exp(s.g, mul(&s, at(&s, 3), agreed));
    take_from_var(&s, mul(&s, mul(&s, at(&s, 2), scale), gradient));
}

/* ---- follow the regularized leader ------------------------------------------------------------*/

/* x^-power; the usual power is -1/2. */
static mica_value ftrl_power(const step *s, mica_value x, mica_value power) {
    mica_value half = mica_full_like(s->g, power, -0.5);
    mica_value is_usual = mica_compare(s->g, power, half, "eq");
    mica_value other = mica_pow(s->g, x, mica_neg(s->g, power));
    return mica_select(s->g, is_usual, root(s, x), other);
}

/* Operands: var, accum, linear, grad, lr, l1, l2, (l2_shrinkage,) lr_power. */
static void apply_ftrl(mica_tf_lowering *c, bool has_shrinkage) {
    step s;
    if (!begin(&s, c, 3, 3)) return;
    mica_value gradient = at(&s, 3), rate = at(&s, 4), l1 = at(&s, 5), l2 = at(&s, 6);
    mica_value power = at(&s, has_shrinkage ? 8 : 7), two = mica_full_like(s.g, l2, 2.0);
    mica_value accum = at(&s, 1), grown = add(&s, accum, square(&s, gradient)), pull = gradient;
    if (has_shrinkage) pull = add(&s, gradient, mul(&s, mul(&s, two, at(&s, 7)), s.var));
    bool is_scaled = flag(&s, "multiply_linear_by_lr");
    mica_value after = ftrl_power(&s, grown, power);
    mica_value moved = sub(&s, after, ftrl_power(&s, accum, power));
    if (is_scaled) {
        pull = mul(&s, pull, rate);
        l1 = mul(&s, l1, rate);
        l2 = mul(&s, l2, rate);
    } else {
        moved = divide(&s, moved, rate);
        after = divide(&s, after, rate);
    }
    mica_value linear = sub(&s, add(&s, at(&s, 2), pull), mul(&s, moved, s.var));
    put(&s, 2, linear);
    mica_value x = sub(&s, mul(&s, l1, sign(&s, linear)), linear);
    mica_value shrunk = divide(&s, x, add(&s, after, mul(&s, two, l2)));
    mica_value is_large = mica_compare(s.g, mica_abs(s.g, linear), l1, "gt");
    put(&s, 0, mica_select(s.g, is_large, shrunk, mica_zeros_like(s.g, shrunk)));
    put(&s, 1, grown);
}

void tf_lower_apply_ftrl(mica_tf_lowering *c) {
    apply_ftrl(c, false);
}

void tf_lower_apply_ftrl_v2(mica_tf_lowering *c) {
    apply_ftrl(c, true);
}

/* Dual averaging: operands var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1,
 * l2, global_step. */
void tf_lower_apply_adagrad_da(mica_tf_lowering *c) {
    step s;
    if (!begin(&s, c, 3, 3)) return;
    const mica_type *type = mica_value_type(s.var);
    if (!type) return;
    mica_value gradient = at(&s, 3), rate = at(&s, 4), l1 = at(&s, 5);
    mica_value count = mica_convert(s.g, at(&s, 7), type->dtype);
    mica_value sum = put(&s, 1, add(&s, at(&s, 1), gradient));
    mica_value squares = put(&s, 2, add(&s, at(&s, 2), square(&s, gradient)));
    mica_value x = mica_neg(s.g, mul(&s, rate, shrink(&s, sum, l1, mul(&s, count, l1))));
    mica_value y = add(&s, mul(&s, mul(&s, at(&s, 6), count), rate), root(&s, squares));
    put(&s, 0, divide(&s, x, y));
}

/* ---- slices -----------------------------------------------------------------------------------*/

/* The indices with one more axis, of places of length 1; the updates in their shape. */
static bool spread(const step *s, mica_value *indices, mica_value *updates) {
    mica_tf_lowering *c = s->c;
    const mica_type *x = mica_value_type(s->var), *places = mica_tf_type(c, 1);
    const mica_type *given = mica_tf_type(c, 2);
    int64_t whole[2 * MICA_MAX_RANK + 1], dims[MICA_MAX_RANK + 1];
    if (!x || !places || !given) return false;
    int32_t n = 0, rank = places->rank;
    for (int32_t i = 0; i < rank; i++) whole[n++] = dims[i] = places->dims[i];
    for (int32_t i = 1; i < x->rank; i++) whole[n++] = x->dims[i];
    bool fits = x->rank > 0 && rank < MICA_MAX_RANK && n <= MICA_MAX_RANK &&
                given->dtype == x->dtype && (given->rank == 0 || given->rank == n);
    for (int32_t i = 0; fits && i < given->rank; i++) fits = given->dims[i] == whole[i];
    if (!fits) {
        mica_tf_shape a = mica_tf_shape_of(x), b = mica_tf_shape_of(places);
        mica_tf_shape u = mica_tf_shape_of(given);
        MICA_TF_FAIL(c,
                     "[%s] Must have updates.shape = indices.shape + params.shape[1:] or "
                     "updates.shape = [], got updates.shape %s, indices.shape %s, params.shape %s",
                     c->info->name, mica_tf_shape_text(&u).chars, mica_tf_shape_text(&b).chars,
                     mica_tf_shape_text(&a).chars);
        return false;
    }
    dims[rank] = 1;
    *indices = mica_reshape(s->g, c->inputs[1], (mica_ints){dims, rank + 1});
    *updates = mica_broadcast_to(s->g, c->inputs[2], (mica_ints){whole, n});
    mica_tf_bounds bounds = {.op = c->operation->op, .width = 1, .high = {x->dims[0]}};
    mica_tf_lower_check(c, 1, &bounds);
    return true;
}

/* The product of the updates of each element; 1 where there is none. */
static mica_value product(const step *s, mica_value target, mica_value indices,
                          mica_value updates) {
    const mica_type *x = mica_value_type(target), *places = mica_value_type(indices);
    int64_t window[MICA_MAX_RANK], first = 0;
    if (!x || !places || mica_type_elements(x) == 0) return target;
    for (int32_t i = 1; i < x->rank; i++) window[i - 1] = places->rank - 2 + i;
    return mica_scatter(s->g, target, indices, updates, "mul", (mica_ints){window, x->rank - 1},
                        (mica_ints){&first, 1}, MICA_NO_INTS, MICA_NO_INTS, (mica_ints){&first, 1},
                        places->rank - 1, "fill");
}

static bool begin_slices(step *s, mica_tf_lowering *c, mica_value *indices, mica_value *updates) {
    *s = (step){.c = c, .g = c->g, .n_variables = 1};
    const mica_tf_variable_slot *slot = slot_at(s, 0);
    if (!slot || mica_value_is_null(slot->value)) {
        mica_graph_fail(c->g,
                        MICA_ERROR(MICA_FAILED_PRECONDITION,
                                   "[%s] resource is no variable that has a value", c->info->name));
        return false;
    }
    s->var = slot->value;
    return spread(s, indices, updates);
}

void tf_lower_resource_scatter_mul(mica_tf_lowering *c) {
    step s;
    mica_value indices, updates;
    if (begin_slices(&s, c, &indices, &updates)) put(&s, 0, product(&s, s.var, indices, updates));
}

void tf_lower_resource_scatter_div(mica_tf_lowering *c) {
    step s;
    mica_value indices, updates;
    if (!begin_slices(&s, c, &indices, &updates)) return;
    mica_value ones = mica_full_like(s.g, s.var, 1.0);
    put(&s, 0, divide(&s, s.var, product(&s, ones, indices, updates)));
}
