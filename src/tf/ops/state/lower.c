/* Lowerings of variables: within a session a variable is the value it has at this point. */
#include "tf/lower_rules.h"

static mica_tf_variable_slot *slot_of(mica_tf_lowering *c) {
    int32_t i = c->variables[0];
    if (i >= 0) return &c->session->variables[i];
    MICA_TF_FAIL(c, "[%s] the handle is not a variable's", c->info->name);
    return NULL;
}

static mica_value current_value(mica_tf_lowering *c, mica_tf_variable_slot *slot) {
    if (mica_value_is_null(slot->value))
        mica_graph_fail(c->g, MICA_ERROR(MICA_FAILED_PRECONDITION,
                                         "[%s] the variable has no value yet", c->info->name));
    return slot->value;
}

void tf_lower_read_variable(mica_tf_lowering *c) {
    mica_tf_variable_slot *slot = slot_of(c);
    if (slot) c->outputs[0] = current_value(c, slot);
}

void tf_lower_assign_variable(mica_tf_lowering *c) {
    mica_tf_variable_slot *slot = slot_of(c);
    if (!slot) return;
    if (mica_value_is_null(c->inputs[1])) {
        MICA_TF_FAIL(c, "[%s] a handle is no value of a variable", c->info->name);
        return;
    }
    slot->value = c->inputs[1];
    slot->written = true;
}

static void update(mica_tf_lowering *c,
                   mica_value (*combine)(mica_graph *, mica_value, mica_value)) {
    mica_tf_variable_slot *slot = slot_of(c);
    if (!slot) return;
    mica_value before = current_value(c, slot);
    const mica_type *old = mica_value_type(before), *change = mica_tf_type(c, 1);
    if (old && change && change->rank && !mica_type_equal(old, change)) {
        mica_tf_shape x = mica_tf_shape_of(old), y = mica_tf_shape_of(change);
        MICA_TF_FAIL(c, "[%s] Shape of the variable %s and of the value %s differ", c->info->name,
                     mica_tf_shape_text(&x).chars, mica_tf_shape_text(&y).chars);
        return;
    }
    slot->value = combine(c->g, before, c->inputs[1]);
    slot->written = true;
}

void tf_lower_assign_add_variable(mica_tf_lowering *c) {
    update(c, mica_add);
}

void tf_lower_assign_sub_variable(mica_tf_lowering *c) {
    update(c, mica_sub);
}
