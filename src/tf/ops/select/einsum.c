/* Einsum: sums of products. Operands are brought to their labels' diagonals and sums one by one,
 * then contracted pair by pair from the left. */
#include <string.h>

#include "tf/lower_rules.h"
#include "tf/ops/select/einsum.h"
#include "tf/shape_rules.h"

/* ---- equations --------------------------------------------------------------------------------*/

/* Reads the labels of one operand up to the end of its part; `ellipsis` is the number of axes that
 * an ellipsis stands for, or -1: whatever is left of the rank. */
static mica_status read_labels(const char *text, size_t length, int32_t rank, int32_t ellipsis,
                               mica_tf_labels *out) {
    int32_t letters = 0;
    bool has_ellipsis = false;
    *out = (mica_tf_labels){0};
    for (size_t i = 0; i < length; i++) {
        char letter = text[i];
        if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) letters++;
        if (letter == '.') has_ellipsis = true;
    }
    if (has_ellipsis && ellipsis < 0) ellipsis = rank - letters;
    if (rank >= 0 && letters + (has_ellipsis ? ellipsis : 0) != rank)
        return MICA_INVALID("[Einsum] '%.*s' does not name the axes of a tensor of rank %d",
                            (int)length, text, rank);
    for (size_t i = 0; i < length; i++) {
        char letter = text[i];
        if (letter == ' ') continue;
        if (letter == '.') {
            if (i + 2 >= length || text[i + 1] != '.' || text[i + 2] != '.')
                return MICA_INVALID("[Einsum] an ellipsis is three dots: '%.*s'", (int)length,
                                    text);
            for (int32_t k = 0; k < ellipsis && out->rank < MICA_MAX_RANK; k++)
                out->axes[out->rank++] = (uint8_t)(MICA_TF_ELLIPSIS_LABEL + ellipsis - 1 - k);
            i += 2;
            continue;
        }
        if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
            return MICA_INVALID("[Einsum] '%c' is no label", letter);
        if (out->rank >= MICA_MAX_RANK) return MICA_INVALID("[Einsum] the rank is too high");
        out->axes[out->rank++] = (uint8_t)letter;
    }
    return NULL;
}

static int32_t count_label(const mica_tf_labels *labels, uint8_t label) {
    int32_t count = 0;
    for (int32_t i = 0; i < labels->rank; i++) count += labels->axes[i] == label;
    return count;
}

/* Without an arrow: the ellipsis, then the labels that occur once, by the alphabet. */
static mica_status implicit_result(mica_tf_equation *e, int32_t ellipsis) {
    for (int32_t k = ellipsis; k-- > 0;)
        e->result.axes[e->result.rank++] = (uint8_t)(MICA_TF_ELLIPSIS_LABEL + k);
    for (int32_t label = 'A'; label <= 'z'; label++) {
        int32_t count = 0;
        for (int32_t i = 0; i < e->n; i++) count += count_label(&e->operands[i], (uint8_t)label);
        if (count != 1) continue;
        if (e->result.rank >= MICA_MAX_RANK) return MICA_INVALID("[Einsum] the rank is too high");
        e->result.axes[e->result.rank++] = (uint8_t)label;
    }
    return NULL;
}

mica_status mica_tf_equation_read(const char *text, const int32_t *ranks, int32_t n,
                                  mica_tf_equation *out) {
    *out = (mica_tf_equation){.n = n};
    const char *arrow = strstr(text, "->");
    const char *end = arrow ? arrow : text + strlen(text), *at = text;
    int32_t ellipsis = 0;
    if (n > MICA_TF_EINSUM_OPERANDS) return MICA_INVALID("[Einsum] more than 16 operands");
    for (int32_t i = 0; i < n; i++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (!comma != (i + 1 == n))
            return MICA_INVALID("[Einsum] '%s' is not about %d operands", text, n);
        MICA_TRY(read_labels(at, (size_t)(stop - at), ranks[i], -1, &out->operands[i]));
        int32_t own = 0;
        for (int32_t k = 0; k < out->operands[i].rank; k++)
            own += out->operands[i].axes[k] >= MICA_TF_ELLIPSIS_LABEL;
        ellipsis = own > ellipsis ? own : ellipsis;
        at = stop + 1;
    }
    if (!arrow) return implicit_result(out, ellipsis);
    MICA_TRY(read_labels(arrow + 2, strlen(arrow + 2), -1, ellipsis, &out->result));
    for (int32_t i = 0; i < out->result.rank; i++) {
        int32_t count = 0;
        for (int32_t k = 0; k < n; k++)
            count += count_label(&out->operands[k], out->result.axes[i]);
        if (count == 0 || count_label(&out->result, out->result.axes[i]) != 1)
            return MICA_INVALID(
                "[Einsum] the result of '%s' has a label that is not once in it and "
                "in an operand",
                text);
    }
    return NULL;
}

/* ---- shape ------------------------------------------------------------------------------------*/

mica_status tf_shape_einsum(mica_tf_inference *c) {
    int32_t ranks[MICA_TF_EINSUM_OPERANDS];
    mica_tf_equation e;
    int64_t sizes[256];
    for (int32_t i = 0; i < 256; i++) sizes[i] = -1;
    if (c->n_inputs > MICA_TF_EINSUM_OPERANDS)
        return MICA_INVALID("[Einsum] more than 16 operands");
    const char *text = mica_tf_attr_find(c->info, c->attrs, "equation")->as.string;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (c->inputs[i].rank < 0 && strchr(text, '.')) return NULL;
        ranks[i] = c->inputs[i].rank; /* without an ellipsis the labels say it */
    }
    MICA_TRY(mica_tf_equation_read(text, ranks, c->n_inputs, &e));
    for (int32_t i = 0; i < e.n; i++)
        for (int32_t k = 0; k < e.operands[i].rank && c->inputs[i].rank >= 0; k++) {
            int64_t size = c->inputs[i].dims[k], *known = &sizes[e.operands[i].axes[k]];
            if (size < 0) continue;
            bool stretches =
                e.operands[i].axes[k] >= MICA_TF_ELLIPSIS_LABEL && (*known == 1 || size == 1);
            if (*known >= 0 && *known != size && !stretches)
                return MICA_INVALID("[Einsum] Expected dimension %lld at axis %d of the input "
                                    "shaped %s but got dimension %lld",
                                    (long long)*known, k, mica_tf_shape_text(&c->inputs[i]).chars,
                                    (long long)size);
            if (*known < 0 || *known == 1) *known = size;
        }
    c->outputs[0] = (mica_tf_shape){.rank = e.result.rank};
    for (int32_t i = 0; i < e.result.rank; i++) c->outputs[0].dims[i] = sizes[e.result.axes[i]];
    return NULL;
}

/* ---- lowering ---------------------------------------------------------------------------------*/

typedef struct term {
    mica_value value;
    mica_tf_labels labels;
} term;

static void remove_axis(mica_tf_labels *labels, int32_t axis) {
    labels->rank--;
    for (int32_t i = axis; i < labels->rank; i++) labels->axes[i] = labels->axes[i + 1];
}

/* Elements off the diagonal of axes j < k are taken as zero and axis k is summed. */
static void take_diagonal(mica_graph *g, term *t, int32_t j, int32_t k) {
    mica_type type = *mica_value_type(t->value);
    mica_ints dims = {type.dims, type.rank};
    mica_value same = mica_compare(g, mica_iota(g, dims, j, MICA_DTYPE_i64),
                                   mica_iota(g, dims, k, MICA_DTYPE_i64), "eq");
    t->value = mica_select(g, same, t->value, mica_zeros_like(g, t->value));
    t->value = mica_reduce(g, t->value, "sum", MICA_INTS(k));
    remove_axis(&t->labels, k);
}

static bool is_used(const mica_tf_equation *e, int32_t first, uint8_t label) {
    if (count_label(&e->result, label)) return true;
    for (int32_t i = first; i < e->n; i++)
        if (count_label(&e->operands[i], label)) return true;
    return false;
}

/* Repeated labels become diagonals, labels that nothing else uses are summed. `next` is the first
 * operand that is still to come; `other` is being contracted with this one, or NULL. */
static void simplify(mica_graph *g, const mica_tf_equation *e, term *t, int32_t next,
                     const mica_tf_labels *other) {
    for (int32_t j = 0; j < t->labels.rank; j++)
        for (int32_t k = t->labels.rank - 1; k > j; k--)
            if (t->labels.axes[j] == t->labels.axes[k] && mica_value_type(t->value))
                take_diagonal(g, t, j, k);
    for (int32_t k = t->labels.rank; k-- > 0;) {
        uint8_t label = t->labels.axes[k];
        if (is_used(e, next, label) || (other && count_label(other, label))) continue;
        t->value = mica_reduce(g, t->value, "sum", MICA_INTS(k));
        remove_axis(&t->labels, k);
    }
}

static int32_t place_of(const mica_tf_labels *labels, uint8_t label) {
    for (int32_t i = 0; i < labels->rank; i++)
        if (labels->axes[i] == label) return i;
    return -1;
}

/* A size of 1 beside a larger one of the same label: summed away, it multiplies all of the others.
 */
static void drop_ones(mica_graph *g, term *t, const term *other) {
    for (int32_t k = t->labels.rank; k-- > 0;) {
        int32_t at = place_of(&other->labels, t->labels.axes[k]);
        const mica_type *own = mica_value_type(t->value), *theirs = mica_value_type(other->value);
        if (t->labels.axes[k] < MICA_TF_ELLIPSIS_LABEL || at < 0 || !own || !theirs ||
            own->dims[k] != 1 || theirs->dims[at] == 1)
            continue;
        t->value = mica_reduce(g, t->value, "sum", MICA_INTS(k));
        remove_axis(&t->labels, k);
    }
}

static term contract(mica_graph *g, const mica_tf_equation *e, term a, term b, int32_t next) {
    int64_t contract_a[MICA_MAX_RANK], contract_b[MICA_MAX_RANK];
    int64_t batch_a[MICA_MAX_RANK], batch_b[MICA_MAX_RANK];
    int32_t n_contract = 0, n_batch = 0;
    term out = {.labels = {0}};
    drop_ones(g, &a, &b);
    drop_ones(g, &b, &a);
    for (int32_t i = 0; i < a.labels.rank; i++) {
        uint8_t label = a.labels.axes[i];
        int32_t k = place_of(&b.labels, label);
        if (k < 0) continue;
        if (is_used(e, next, label)) {
            out.labels.axes[out.labels.rank++] = label;
            batch_a[n_batch] = i;
            batch_b[n_batch++] = k;
        } else {
            contract_a[n_contract] = i;
            contract_b[n_contract++] = k;
        }
    }
    for (int32_t i = 0; i < a.labels.rank; i++)
        if (place_of(&b.labels, a.labels.axes[i]) < 0 && out.labels.rank < MICA_MAX_RANK)
            out.labels.axes[out.labels.rank++] = a.labels.axes[i];
    for (int32_t i = 0; i < b.labels.rank; i++)
        if (place_of(&a.labels, b.labels.axes[i]) < 0 && out.labels.rank < MICA_MAX_RANK)
            out.labels.axes[out.labels.rank++] = b.labels.axes[i];
    out.value = mica_dot(g, a.value, b.value, (mica_ints){contract_a, n_contract},
                         (mica_ints){contract_b, n_contract}, (mica_ints){batch_a, n_batch},
                         (mica_ints){batch_b, n_batch});
    return out;
}

void tf_lower_einsum(mica_tf_lowering *c) {
    int32_t ranks[MICA_TF_EINSUM_OPERANDS];
    mica_tf_equation e;
    for (int32_t i = 0; i < c->n_inputs; i++) ranks[i] = mica_tf_type(c, i)->rank;
    mica_status status =
        mica_tf_equation_read(mica_tf_lowering_string(c, "equation"), ranks, c->n_inputs, &e);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    term left = {c->inputs[0], e.operands[0]};
    simplify(c->g, &e, &left, 1, NULL);
    for (int32_t i = 1; i < e.n; i++) {
        term right = {c->inputs[i], e.operands[i]};
        simplify(c->g, &e, &right, i + 1, &left.labels);
        left = contract(c->g, &e, left, right, i + 1);
    }
    int64_t order[MICA_MAX_RANK];
    for (int32_t i = 0; i < e.result.rank; i++) order[i] = place_of(&left.labels, e.result.axes[i]);
    c->outputs[0] = mica_transpose(c->g, left.value, (mica_ints){order, e.result.rank});
}
