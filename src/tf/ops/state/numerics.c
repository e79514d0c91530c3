/* CheckNumerics: which kinds of numbers that are not finite a tensor has, and the check of its
 * gradient. */
#include <stdint.h>
#include <string.h>

#include "base/strings.h"
#include "tf/derive_rules.h"
#include "tf/host_rules.h"

enum { MINUS_INF = 1, PLUS_INF = 2, NAN_BIT = 4 };

/* Where the exponent and the sign of a dtype's numbers are. */
typedef struct layout {
    int32_t bytes;
    uint64_t exponent, sign;
} layout;

static layout layout_of(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_f16: return (layout){2, 0x7c00, 0x8000};
    case MICA_DTYPE_bf16: return (layout){2, 0x7f80, 0x8000};
    case MICA_DTYPE_f32: return (layout){4, 0x7f800000, 0x80000000};
    case MICA_DTYPE_f64: return (layout){8, 0x7ff0000000000000, 0x8000000000000000};
    default: return (layout){0};
    }
}

static uint64_t bits_at(const void *data, int32_t bytes, int64_t i) {
    switch (bytes) {
    case 2: return ((const uint16_t *)data)[i];
    case 4: return ((const uint32_t *)data)[i];
    default: return ((const uint64_t *)data)[i];
    }
}

static uint32_t kinds_of(const layout *l, const void *data, int64_t n) {
    uint32_t kinds = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bits_at(data, l->bytes, i), size = bits & ~l->sign;
        if (size < l->exponent) continue;
        kinds |= size > l->exponent ? NAN_BIT : bits & l->sign ? MINUS_INF : PLUS_INF;
    }
    return kinds;
}

/* "A", "A and B", "A, B, and C" */
static void append_kinds(mica_text *text, uint32_t kinds, bool has_signs) {
    const char *names[3];
    int32_t n = 0;
    if (has_signs && (kinds & MINUS_INF)) names[n++] = "-Inf";
    if (has_signs && (kinds & PLUS_INF)) names[n++] = "+Inf";
    if (!has_signs && (kinds & (MINUS_INF | PLUS_INF))) names[n++] = "Inf";
    if (kinds & NAN_BIT) names[n++] = "NaN";
    for (int32_t i = 0; i < n; i++) {
        if (i) mica_text_append(text, n == 2 ? " and " : i + 1 < n ? ", " : ", and ");
        mica_text_append(text, names[i]);
    }
}

mica_status tf_host_check_numerics(mica_tf_host *c) {
    const mica_type *type = mica_tensor_type(mica_tf_tensor(c->inputs[0]));
    const char *message = mica_tf_host_attr(c, "message")->as.string;
    const layout l = layout_of(type->dtype);
    const void *data;
    if (!l.bytes) return MICA_INVALID("[%s] its elements are no real numbers", c->info->name);
    MICA_TRY(mica_tf_open(c->inputs[0], &data));
    uint32_t kinds = kinds_of(&l, data, mica_type_elements(type));
    mica_tf_close(c->inputs[0]);
    if (!kinds) {
        mica_tf_value_retain(c->inputs[0]);
        c->outputs[0] = c->inputs[0];
        return NULL;
    }
    mica_text text;
    mica_text_init(&text);
    append_kinds(&text, kinds, !strcmp(c->info->name, "CheckNumericsV2"));
    mica_status status = MICA_INVALID("[%s] %s : Tensor had %s values", c->info->name,
                                      message ? message : "", mica_text_data(&text));
    mica_text_deinit(&text);
    return status;
}

/* The cotangent, which is checked in its turn. TensorFlow's message has the first one as Python
 * writes bytes. */
mica_status tf_derive_check_numerics(mica_tf_walk *w, const mica_tf_step *step,
                                     void *const *given) {
    const mica_tf_operation *o = step->operation;
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    void *cotangent = given[0], *checked;
    mica_text message;
    if (w->kind->dense) MICA_TRY(w->kind->dense(w, given[0], &cotangent));
    mica_text_init(&message);
    mica_text_append(&message,
                     "Not a number (NaN) or infinity (Inf) values detected in gradient. b'");
    for (int32_t i = 0; i < o->info->n_attrs; i++) attrs[i] = o->attrs[i];
    mica_tf_attr *text = &attrs[mica_tf_attr_find(o->info, o->attrs, "message") - o->attrs];
    mica_text_append(&message, text->as.string ? text->as.string : "");
    mica_text_append(&message, "'");
    text->as.string = mica_text_data(&message);
    mica_status status = mica_text_is_failed(&message)
                             ? MICA_NO_MEMORY()
                             : w->kind->run(w, o->op, attrs, &cotangent, 1, &checked, 1);
    mica_text_deinit(&message);
    if (w->kind->dense && w->kind->release) w->kind->release(cotangent);
    if (status) return status;
    return mica_tf_walk_add(w, step->inputs[0], checked);
}
