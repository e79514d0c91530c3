/* tf.train.Example messages:
 *
 *     Example   features = 1 {feature = 1 {key = 1, value = 2 (Feature)}, ...}
 *     Feature   one of bytes_list = 1, float_list = 2, int64_list = 3, each {value = 1, ...};
 *               numbers are packed into one field, or each has its own
 *
 * A SequenceExample has its context where an Example has its features, and
 *
 *     feature_lists = 2 {feature_list = 1 {key = 1, value = 2 {feature = 1 (Feature), ...}}, ...}
 */
#include <string.h>

#include "base/status.h"
#include "io/wire.h"
#include "mica/records.h"

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

static const mica_tf_dtype dtypes[] = {MICA_TF_no_dtype, MICA_TF_string, MICA_TF_float32,
                                       MICA_TF_int64};

/* ---- lists ------------------------------------------------------------------------------------*/

static bool count_packed(mica_tf_dtype dtype, io_range packed, int64_t *count) {
    uint64_t value;
    if (dtype == MICA_TF_float32) {
        *count += (int64_t)(packed.n / 4);
        return packed.n % 4 == 0;
    }
    for (; io_take_varint(&packed, &value);) ++*count;
    return packed.n == 0;
}

/* false where the list is malformed. */
static bool count_values(mica_tf_dtype dtype, io_range list, int64_t *count) {
    int own = dtype == MICA_TF_float32 ? IO_FOUR_BYTES : IO_VARINT;
    io_field field;
    *count = 0;
    while (io_take_field(&list, &field)) {
        if (field.number != 1) continue;
        if (dtype == MICA_TF_string ? field.wire == IO_LENGTH : field.wire == own)
            ++*count;
        else if (field.wire != IO_LENGTH || !count_packed(dtype, field.part, count))
            return false;
    }
    return list.n == 0;
}

static io_range list_of(const mica_feature *f) {
    return (io_range){f->list, f->count > 0 ? f->size : 0};
}

static void put_number(const mica_feature *f, void *out, int64_t *at, uint64_t value) {
    uint32_t low = (uint32_t)value;
    if (*at >= f->count) return;
    if (f->dtype == MICA_TF_float32)
        memcpy((float *)out + *at, &low, sizeof low);
    else
        memcpy((int64_t *)out + *at, &value, sizeof value);
    ++*at;
}

void mica_feature_numbers(const mica_feature *f, void *out) {
    if (!f || !out || (f->dtype != MICA_TF_float32 && f->dtype != MICA_TF_int64)) return;
    io_range list = list_of(f);
    io_field field;
    int64_t at = 0;
    while (io_take_field(&list, &field)) {
        uint64_t value;
        uint32_t word;
        if (field.number != 1) continue;
        if (field.wire != IO_LENGTH)
            put_number(f, out, &at, field.value);
        else if (f->dtype == MICA_TF_float32)
            while (io_take_u32(&field.part, &word)) put_number(f, out, &at, word);
        else
            while (io_take_varint(&field.part, &value)) put_number(f, out, &at, value);
    }
}

void mica_feature_strings(const mica_feature *f, const char **texts, size_t *lengths) {
    if (!f || !texts || !lengths || f->dtype != MICA_TF_string) return;
    io_range list = list_of(f);
    io_field field;
    for (int64_t at = 0; at < f->count && io_take_field(&list, &field);) {
        if (field.number != 1) continue;
        texts[at] = (const char *)field.part.data;
        lengths[at++] = field.part.n;
    }
}

/* ---- features ---------------------------------------------------------------------------------*/

/* The list that comes last is the feature's. */
static bool take_feature(io_range message, mica_feature *feature) {
    io_field field;
    while (io_take_field(&message, &field)) {
        if (field.number < BYTES_LIST || field.number > INT64_LIST) continue;
        if (field.wire != IO_LENGTH) return false;
        feature->dtype = dtypes[field.number];
        feature->list = field.part.data;
        feature->size = field.part.n;
        if (!count_values(feature->dtype, field.part, &feature->count)) return false;
    }
    return message.n == 0;
}

static bool take_entry(io_range message, mica_feature *feature) {
    io_field field;
    *feature = (mica_feature){.key = ""};
    while (io_take_field(&message, &field)) {
        if (field.number != 1 && field.number != 2) continue;
        if (field.wire != IO_LENGTH) return false;
        if (field.number == 1) {
            feature->key = (const char *)field.part.data;
            feature->key_length = field.part.n;
        } else if (!take_feature(field.part, feature)) {
            return false;
        }
    }
    return message.n == 0;
}

static bool visit_features(io_range message, void (*visit)(void *, const mica_feature *),
                           void *context) {
    io_field field;
    while (io_take_field(&message, &field)) {
        mica_feature feature;
        if (field.number != 1) continue;
        if (field.wire != IO_LENGTH || !take_entry(field.part, &feature)) return false;
        visit(context, &feature);
    }
    return message.n == 0;
}

mica_status mica_example_visit(const void *bytes, size_t size,
                               void (*visit)(void *context, const mica_feature *feature),
                               void *context) {
    MICA_GIVEN(MICA_MANY(bytes, size), (const void *)(uintptr_t)visit);
    io_range message = {bytes, size};
    io_field field;
    bool is_whole = true;
    while (is_whole && io_take_field(&message, &field))
        if (field.number == 1)
            is_whole = field.wire == IO_LENGTH && visit_features(field.part, visit, context);
    if (is_whole && message.n == 0) return NULL;
    return MICA_INVALID("[example] these %zu bytes are no tf.train.Example message", size);
}

/* ---- sequences --------------------------------------------------------------------------------*/

/* The list that comes last under the key counts. */
static bool find_list(io_range lists, io_range key, io_range *found, bool *is_found) {
    io_field field, part;
    while (io_take_field(&lists, &field)) {
        if (field.number != 1) continue;
        io_range name = {(const uint8_t *)"", 0}, value = {(const uint8_t *)"", 0};
        if (field.wire != IO_LENGTH) return false;
        while (io_take_field(&field.part, &part)) {
            if (part.number != 1 && part.number != 2) continue;
            if (part.wire != IO_LENGTH) return false;
            *(part.number == 1 ? &name : &value) = part.part;
        }
        if (field.part.n) return false;
        if (!io_same(name, key)) continue;
        *found = value;
        *is_found = true;
    }
    return lists.n == 0;
}

static bool is_list(io_range list) {
    io_field field;
    while (io_take_field(&list, &field))
        if (field.number == 1 && field.wire != IO_LENGTH) return false;
    return list.n == 0;
}

mica_status mica_sequence_visit(const void *bytes, size_t size, const char *key, size_t key_length,
                                void (*visit)(void *context, const void *feature,
                                              size_t feature_size),
                                void *context, bool *out_found) {
    MICA_GIVEN(MICA_MANY(bytes, size), MICA_MANY(key, key_length), (const void *)(uintptr_t)visit,
               out_found);
    io_range message = {bytes, size}, wanted = {(const uint8_t *)key, key_length}, list = {0};
    io_field field;
    bool is_whole = true;
    *out_found = false;
    while (is_whole && io_take_field(&message, &field))
        if (field.number == 2)
            is_whole = field.wire == IO_LENGTH && find_list(field.part, wanted, &list, out_found);
    if (!is_whole || message.n || (*out_found && !is_list(list)))
        return MICA_INVALID("[example] these %zu bytes are no tf.train.SequenceExample message",
                            size);
    while (*out_found && io_take_field(&list, &field))
        if (field.number == 1) visit(context, field.part.data, field.part.n);
    return NULL;
}
