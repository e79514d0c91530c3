/* Ops that only move or compare elements, on strings: each distinct string gets a number, the op
 * runs on the numbers, and results of dtype string are read back from them. The empty string is 0,
 * so zeros that an op fills in are empty strings. */
#include <string.h>

#include "base/hash.h"
#include "tf/host_rules.h"

typedef struct numbering {
    const char **data; /* by number; 0 is empty */
    size_t *lengths;
    int64_t *slots; /* numbers by hash; 0: free */
    int64_t n, mask;
    void *room;
} numbering;

static mica_status begin(numbering *s, int64_t most) {
    int64_t n_slots = 16;
    while (n_slots < 2 * most) n_slots *= 2;
    size_t strings = (size_t)most + 1;
    s->room = mica_calloc(1, strings * (sizeof *s->data + sizeof *s->lengths) +
                                 (size_t)n_slots * sizeof *s->slots);
    if (!s->room) return MICA_NO_MEMORY();
    s->slots = s->room;
    s->data = (const char **)(s->slots + n_slots);
    s->lengths = (size_t *)(s->data + strings);
    s->data[0] = "";
    s->n = 1;
    s->mask = n_slots - 1;
    return NULL;
}

static int64_t number_of(numbering *s, const char *bytes, size_t length) {
    if (length == 0) return 0;
    int64_t at = (int64_t)(mica_hash_bytes(MICA_HASH_SEED, bytes, length) & (uint64_t)s->mask);
    for (;; at = (at + 1) & s->mask) {
        int64_t known = s->slots[at];
        if (!known) break;
        if (s->lengths[known] == length && !memcmp(s->data[known], bytes, length)) return known;
    }
    s->data[s->n] = bytes;
    s->lengths[s->n] = length;
    return s->slots[at] = s->n++;
}

static mica_status to_numbers(numbering *s, mica_device *device, mica_tf_value strings,
                              mica_tf_value *out) {
    mica_tf_shape shape;
    mica_tf_value_shape(strings, &shape);
    mica_type type = mica_type_make(MICA_DTYPE_i64, (mica_ints){shape.dims, shape.rank});
    int64_t n = mica_tf_strings_count(strings);
    int64_t *numbers = mica_alloc((size_t)n * sizeof *numbers + 8);
    if (!numbers) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int64_t i = 0; i < n && !status; i++) {
        if (mica_tf_is_interrupted(i)) status = mica_interrupt_status();
        size_t length;
        const char *bytes = mica_tf_strings_get(strings, i, &length);
        numbers[i] = number_of(s, bytes, length);
    }
    mica_tensor *tensor = NULL;
    if (!status) status = mica_tensor_from_host(device, &type, numbers, &tensor);
    mica_free(numbers);
    if (!status) *out = mica_tf_value_of(tensor);
    return status;
}

static mica_status from_numbers(const numbering *s, mica_tf_value numbers, mica_tf_value *out) {
    mica_tf_shape shape;
    const void *open;
    mica_tf_value_shape(numbers, &shape);
    int64_t n = mica_tf_shape_elements(&shape);
    const char **data = mica_alloc(((size_t)n + 1) * (sizeof *data + sizeof(size_t)));
    if (!data) return MICA_NO_MEMORY();
    size_t *lengths = (size_t *)(data + n + 1);
    mica_status status = mica_tf_open(numbers, &open);
    if (!status) {
        for (int64_t i = 0; i < n && !status; i++) {
            if (mica_tf_is_interrupted(i)) status = mica_interrupt_status();
            int64_t number = ((const int64_t *)open)[i];
            data[i] = s->data[number];
            lengths[i] = s->lengths[number];
        }
        mica_tf_close(numbers);
        if (!status)
            status =
                mica_tf_strings_create((mica_ints){shape.dims, shape.rank}, data, lengths, out);
    }
    mica_free(data);
    return status;
}

/* The op with int64 where its attributes say string. */
static mica_status run_on_numbers(mica_tf_host *c, const mica_tf_value *inputs) {
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_op op;
    int32_t n = 0;
    if (!mica_tf_op_parse(c->info->name, &op))
        return MICA_INVALID("[%s] is not an op", c->info->name);
    memcpy(attrs, c->attrs, (size_t)c->info->n_attrs * sizeof *attrs);
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (c->info->attrs[i].kind == MICA_TF_TYPE && attrs[i].as.integer == MICA_TF_string)
            attrs[i].as.integer = MICA_TF_int64;
    return mica_tf_eager(c->device, op, attrs, inputs, c->n_inputs, c->outputs, c->n_outputs, &n,
                         NULL);
}

static mica_status move(mica_tf_host *c, numbering *s, mica_tf_value *inputs) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (c->inputs[i].dtype == MICA_TF_string) {
            MICA_TRY(to_numbers(s, c->device, c->inputs[i], &inputs[i]));
        } else {
            inputs[i] = c->inputs[i];
            mica_tf_value_retain(inputs[i]);
        }
    }
    MICA_TRY(run_on_numbers(c, inputs));
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (c->output_dtypes[i] != MICA_TF_string) continue;
        mica_tf_value numbers = c->outputs[i];
        mica_status status = from_numbers(s, numbers, &c->outputs[i]);
        mica_tf_value_release(numbers);
        MICA_TRY(status);
    }
    return NULL;
}

mica_status mica_tf_move_strings(mica_tf_host *c) {
    numbering s = {0};
    int64_t most = 0;
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].dtype == MICA_TF_string) most += mica_tf_strings_count(c->inputs[i]);
    mica_tf_value *inputs = mica_calloc((size_t)c->n_inputs + 1, sizeof *inputs);
    if (!inputs) return MICA_NO_MEMORY();
    mica_status status = begin(&s, most);
    if (!status) status = move(c, &s, inputs);
    for (int32_t i = 0; i < c->n_inputs; i++) mica_tf_value_release(inputs[i]);
    mica_free(inputs);
    mica_free(s.room);
    return status;
}
