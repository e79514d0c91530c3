/* Stacks of frames of values: what a loop on the host keeps for its gradient.
 *
 * A stack is its last frame, which holds the stack below. Frames do not change, so pushing and
 * popping cost what the frame holds, whoever else holds the stack. */
#include <string.h>

#include "tf/host_rules.h"
#include "tf/shape_rules.h"

typedef struct frame {
    mica_tf_object object;
    struct frame *below; /* NULL: nothing is below */
    int32_t n;           /* -1: the empty stack */
    mica_tf_value values[];
} frame;

/* Not by recursion: a stack is as high as a loop is long. */
static void destroy_frame(mica_tf_object *object) {
    frame *f = (frame *)object;
    while (f) {
        frame *below = f->below;
        for (int32_t i = 0; i < f->n; i++) mica_tf_value_release(f->values[i]);
        mica_free(f);
        f = below && mica_refcount_release(&below->object.references) ? below : NULL;
    }
}

static const mica_tf_class stack_class = {"stack", destroy_frame, NULL};

static mica_status create_frame(int32_t n, mica_tf_value *out_value) {
    size_t count = n < 0 ? 0 : (size_t)n;
    frame *f = mica_calloc(1, sizeof *f + count * sizeof *f->values);
    *out_value = (mica_tf_value){MICA_TF_variant, f};
    if (!f) return MICA_NO_MEMORY();
    mica_refcount_init(&f->object.references);
    f->object.kind = &stack_class;
    f->n = n;
    return NULL;
}

static mica_status frame_of(const mica_tf_host *c, frame **out_frame) {
    mica_tf_object *object = c->inputs[0].object;
    *out_frame = (frame *)object;
    if (c->inputs[0].dtype == MICA_TF_variant && object && object->kind == &stack_class)
        return NULL;
    return MICA_INVALID("[%s] the input is no stack", c->info->name);
}

mica_status tf_host_stack_empty(mica_tf_host *c) {
    return create_frame(-1, &c->outputs[0]);
}

mica_status tf_host_stack_push(mica_tf_host *c) {
    frame *below;
    MICA_TRY(frame_of(c, &below));
    MICA_TRY(create_frame(c->n_inputs - 1, &c->outputs[0]));
    frame *top = c->outputs[0].object;
    mica_refcount_retain(&below->object.references);
    top->below = below;
    for (int32_t i = 0; i < top->n; i++) {
        top->values[i] = c->inputs[i + 1];
        mica_tf_value_retain(top->values[i]);
    }
    return NULL;
}

static mica_status pop(mica_tf_host *c, frame *top) {
    if (top->n != c->n_outputs - 1)
        return MICA_INVALID("[%s] a frame has %d values, not %d", c->info->name, top->n,
                            c->n_outputs - 1);
    for (int32_t i = 0; i < top->n; i++)
        if (top->values[i].dtype != c->output_dtypes[i + 1])
            return MICA_INVALID("[%s] value %d is %s, not %s", c->info->name, i,
                                mica_tf_dtype_name(top->values[i].dtype),
                                mica_tf_dtype_name(c->output_dtypes[i + 1]));
    c->outputs[0] = (mica_tf_value){MICA_TF_variant, top->below};
    mica_tf_value_retain(c->outputs[0]);
    for (int32_t i = 0; i < top->n; i++) {
        c->outputs[i + 1] = top->values[i];
        mica_tf_value_retain(c->outputs[i + 1]);
    }
    return NULL;
}

mica_status tf_host_stack_pop(mica_tf_host *c) {
    frame *top;
    MICA_TRY(frame_of(c, &top));
    if (top->n < 0) return MICA_INVALID("[%s] the stack is empty", c->info->name);
    return pop(c, top);
}

static mica_status zero_like(mica_tf_host *c, mica_tf_value like, mica_tf_value *out) {
    int32_t n;
    if (like.dtype == MICA_TF_variant) return create_frame(-1, out);
    return mica_tf_eager(c->device, MICA_TF_ZerosLike,
                         (mica_tf_attr[MICA_TF_MAX_ATTRS]){{.as.integer = like.dtype}}, &like, 1,
                         out, 1, &n, NULL);
}

mica_status tf_host_stack_pop_like(mica_tf_host *c) {
    frame *top;
    MICA_TRY(frame_of(c, &top));
    if (top->n >= 0) return pop(c, top);
    MICA_TRY(create_frame(-1, &c->outputs[0]));
    for (int32_t i = 1; i < c->n_outputs; i++) MICA_TRY(zero_like(c, c->inputs[i], &c->outputs[i]));
    return NULL;
}

mica_status tf_host_stack_has(mica_tf_host *c) {
    frame *top;
    mica_type type = mica_type_scalar(MICA_DTYPE_bool);
    mica_tensor *tensor = NULL;
    MICA_TRY(frame_of(c, &top));
    uint8_t has = top->n >= 0;
    MICA_TRY(mica_tensor_from_host(c->device, &type, &has, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_shape_stack_pop_like(mica_tf_inference *c) {
    c->outputs[0] = (mica_tf_shape){.rank = 0};
    for (int32_t i = 1; i < c->n_outputs; i++) c->outputs[i] = c->inputs[i];
    return NULL;
}
