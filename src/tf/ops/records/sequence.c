/* The steps of a tf.train.SequenceExample as messages of their own. */
#include <string.h>

#include "base/strings.h"
#include "mica/records.h"
#include "tf/strings.h"

typedef struct step {
    size_t offset, length;
} step;

typedef struct splitting {
    const char *key;
    size_t key_length;
    mica_text bytes; /* of all messages */
    step *steps;
    int64_t n, capacity;
    bool failed;
} splitting;

static size_t varint_bytes(uint64_t value) {
    size_t n = 1;
    for (; value >= 128; value >>= 7) n++;
    return n;
}

static void put_varint(mica_text *to, uint64_t value) {
    for (; value >= 128; value >>= 7) mica_text_append_char(to, (char)(value | 128));
    mica_text_append_char(to, (char)value);
}

/* The header of a field with so many bytes. */
static void put_part(mica_text *to, uint32_t field, size_t n) {
    put_varint(to, field << 3 | 2);
    put_varint(to, n);
}

static size_t part_bytes(size_t n) {
    return 1 + varint_bytes(n) + n;
}

/* An Example message with one feature, that of the step: features = 1 {entry = 1 {key = 1,
 * feature = 2}}. */
static void add_step(void *context, const void *feature, size_t size) {
    splitting *s = context;
    if (s->n == s->capacity) {
        int64_t capacity = s->capacity ? 2 * s->capacity : 64;
        step *grown = mica_realloc(s->steps, (size_t)capacity * sizeof *grown);
        s->failed |= !grown;
        if (!grown) return;
        s->steps = grown;
        s->capacity = capacity;
    }
    size_t entry = part_bytes(s->key_length) + part_bytes(size), before = s->bytes.length;
    put_part(&s->bytes, 1, part_bytes(entry));
    put_part(&s->bytes, 1, entry);
    put_part(&s->bytes, 1, s->key_length);
    mica_text_append_bytes(&s->bytes, s->key, s->key_length);
    put_part(&s->bytes, 2, size);
    mica_text_append_bytes(&s->bytes, feature, size);
    s->steps[s->n++] = (step){before, s->bytes.length - before};
}

static mica_status split(mica_tf_host *c, splitting *s, int64_t *lengths, int64_t n) {
    bool is_required = mica_tf_host_attr(c, "required")->as.integer != 0;
    for (int64_t i = 0; i < n; i++) {
        size_t size;
        bool found;
        int64_t before = s->n;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &size);
        mica_status status =
            mica_sequence_visit(bytes, size, s->key, s->key_length, add_step, s, &found);
        if (status) {
            mica_status_release(status);
            return MICA_INVALID("[SequenceSteps] Could not parse sequence example input %lld: its "
                                "%zu bytes are no tf.train.SequenceExample message",
                                (long long)i, size);
        }
        if (s->failed || s->bytes.failed) return MICA_NO_MEMORY();
        if (!found && is_required)
            return MICA_INVALID("[SequenceSteps] Index: %lld, Feature list '%.*s' is required but "
                                "could not be found. With allow_missing it has no steps",
                                (long long)i, (int)(s->key_length < 200 ? s->key_length : 200),
                                s->key);
        lengths[i] = s->n - before;
    }
    return NULL;
}

static mica_status give_steps(mica_tf_host *c, splitting *s) {
    const char **texts = mica_calloc((size_t)s->n + 1, sizeof *texts);
    size_t *sizes = mica_calloc((size_t)s->n + 1, sizeof *sizes);
    mica_status status = texts && sizes ? NULL : MICA_NO_MEMORY();
    for (int64_t i = 0; !status && i < s->n; i++) {
        texts[i] = mica_text_data(&s->bytes) + s->steps[i].offset;
        sizes[i] = s->steps[i].length;
    }
    if (!status) status = mica_tf_strings_create(MICA_INTS(s->n), texts, sizes, &c->outputs[0]);
    mica_free(texts);
    mica_free(sizes);
    return status;
}

mica_status tf_host_sequence_steps(mica_tf_host *c) {
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    if (mica_tf_strings_count(c->inputs[1]) != 1)
        return MICA_INVALID("[SequenceSteps] there are %lld keys, not one",
                            (long long)mica_tf_strings_count(c->inputs[1]));
    splitting s = {0};
    s.key = mica_tf_strings_get(c->inputs[1], 0, &s.key_length);
    mica_text_init(&s.bytes);
    int64_t *lengths = mica_calloc((size_t)n + 1, sizeof *lengths);
    mica_status status = lengths ? split(c, &s, lengths, n) : MICA_NO_MEMORY();
    if (!status) status = give_steps(c, &s);
    if (!status) status = mica_tf_give_numbers(c, 1, MICA_DTYPE_i64, MICA_INTS(n), lengths);
    mica_text_deinit(&s.bytes);
    mica_free(s.steps);
    mica_free(lengths);
    return status;
}
