/* Strings as values: ops that make them, ops that move them, memory that runs out. */
#include "test.h"
#include "tf/ops/string/fingerprint.h"
#include "tf/tf.h"

static mica_device *device;

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value texts(mica_ints dims, const char *const *data) {
    size_t lengths[16];
    int64_t n = 1;
    mica_tf_value value;
    for (int32_t i = 0; i < dims.n; i++) n *= dims.data[i];
    for (int64_t i = 0; i < n; i++) lengths[i] = strlen(data[i]);
    CHECK_OK(mica_tf_strings_create(dims, data, lengths, &value));
    return value;
}

static bool is_text(mica_tf_value value, int64_t i, const char *expected) {
    size_t length;
    const char *bytes = mica_tf_strings_get(value, i, &length);
    return length == strlen(expected) && !memcmp(bytes, expected, length);
}

static mica_status run(mica_tf_op op, mica_tf_attr *attrs, const mica_tf_value *inputs, int32_t n,
                       mica_tf_value *outputs) {
    mica_tf_dtype dtypes[8];
    int32_t count;
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].has_default) attrs[i] = info->attrs[i].value;
    for (int32_t i = 0; i < n; i++) dtypes[i] = inputs[i].dtype;
    MICA_TRY(mica_tf_op_infer_types(op, dtypes, n, attrs));
    return mica_tf_eager(device, op, attrs, inputs, n, outputs, 8, &count, NULL);
}

TEST(strings_are_added_element_by_element) {
    begin();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    mica_tf_value inputs[2] = {texts(MICA_INTS(2, 1), (const char *[]){"a", "b"}),
                               texts(MICA_INTS(2), (const char *[]){"x", ""})};
    mica_tf_value sum[8];
    CHECK_OK(run(MICA_TF_AddV2, attrs, inputs, 2, sum));
    CHECK(mica_tf_strings_count(sum[0]) == 4);
    CHECK(is_text(sum[0], 0, "ax") && is_text(sum[0], 1, "a") && is_text(sum[0], 2, "bx"));
    for (int i = 0; i < 2; i++) mica_tf_value_release(inputs[i]);
    mica_tf_value_release(sum[0]);
    end();
}

TEST(ops_that_move_elements_move_strings) {
    begin();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    int32_t order[2] = {1, 0};
    mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(2));
    mica_tensor *perm = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, order, &perm));
    mica_tf_value inputs[2] = {texts(MICA_INTS(2, 2), (const char *[]){"a", "b", "", "a"}),
                               mica_tf_value_of(perm)};
    mica_tf_value out[8], equal[8];
    CHECK_OK(run(MICA_TF_Transpose, attrs, inputs, 2, out));
    CHECK(is_text(out[0], 1, "") && is_text(out[0], 2, "b"));
    mica_tf_value both[2] = {inputs[0], out[0]};
    CHECK_OK(run(MICA_TF_Equal, attrs, both, 2, equal));
    uint8_t flags[4];
    CHECK_OK(mica_tensor_to_host(equal[0].object, flags, sizeof flags));
    CHECK(flags[0] && !flags[1] && !flags[2] && flags[3]);
    mica_tf_value_release(inputs[0]);
    mica_tf_value_release(inputs[1]);
    mica_tf_value_release(out[0]);
    mica_tf_value_release(equal[0]);
    end();
}

TEST(ops_of_numbers_refuse_strings) {
    begin();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    mica_tf_value text = texts(MICA_INTS(1), (const char *[]){"a"}), out[8];
    mica_tf_value both[2] = {text, text};
    CHECK_FAILS(run(MICA_TF_Mul, attrs, both, 2, out), MICA_INVALID_ARGUMENT, "[Mul]");
    CHECK_FAILS(run(MICA_TF_StringToNumber, attrs, &text, 1, out), MICA_INVALID_ARGUMENT,
                "could not correctly convert string: a");
    mica_tf_value_release(text);
    end();
}

TEST(fingerprints_are_the_published_ones) {
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    char bytes[15];
    for (int i = 0; i < 15; i++) bytes[i] = (char)i;
    CHECK(mica_tf_siphash(key, bytes, 15) == UINT64_C(0xa129ca6149be45e5));
    CHECK(mica_tf_fingerprint("", 0) == UINT64_C(0x9ae16a3b2f90404f));
}

TEST(running_out_of_memory_leaves_nothing_behind) {
    begin();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    mica_tf_value inputs[2] = {texts(MICA_INTS(3), (const char *[]){"a b", "", "c d e"}),
                               texts(MICA_NO_INTS, (const char *[]){" "})};
    static const mica_tf_op ops[] = {MICA_TF_StringSplitV2, MICA_TF_Equal, MICA_TF_AddV2};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        bool done = false;
        for (int64_t n = 1; !done; n++) {
            mica_tf_value out[8] = {{0}};
            memset(attrs, 0, sizeof attrs);
            mica_memory_fail_nth(n, false);
            mica_status status = run(ops[k], attrs, inputs, 2, out);
            mica_memory_fail_nth(0, false);
            done = status == NULL;
            CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
            mica_status_release(status);
            for (int i = 0; done && i < 8; i++) mica_tf_value_release(out[i]);
            mica_tf_eager_clear();
        }
    }
    for (int i = 0; i < 2; i++) mica_tf_value_release(inputs[i]);
    end();
}

TEST(a_table_keeps_what_was_put_into_it_and_memory_may_run_out) {
    begin();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.integer = MICA_TF_string},
                                             {.as.integer = MICA_TF_string}};
    mica_tf_value handle[8] = {{0}}, out[8] = {{0}};
    CHECK_OK(run(MICA_TF_AnonymousMutableHashTable, attrs, NULL, 0, handle));
    mica_tf_value put[3] = {handle[0], texts(MICA_INTS(3), (const char *[]){"a", "", "a"}),
                            texts(MICA_INTS(3), (const char *[]){"x", "y", "z"})};
    mica_tf_value ask[3] = {handle[0], texts(MICA_INTS(2), (const char *[]){"a", "b"}),
                            texts(MICA_NO_INTS, (const char *[]){"none"})};
    for (int k = 0; k < 2; k++) {
        bool done = false;
        for (int64_t n = 1; !done; n++) {
            memset(attrs, 0, sizeof attrs);
            mica_memory_fail_nth(n, false);
            mica_status status = k ? run(MICA_TF_LookupTableFindV2, attrs, ask, 3, out)
                                   : run(MICA_TF_LookupTableInsertV2, attrs, put, 3, out);
            mica_memory_fail_nth(0, false);
            done = status == NULL;
            CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
            mica_status_release(status);
        }
    }
    CHECK(is_text(out[0], 0, "z") && is_text(out[0], 1, "none"));
    mica_tf_value_release(out[0]);
    for (int i = 1; i < 3; i++) {
        mica_tf_value_release(put[i]);
        mica_tf_value_release(ask[i]);
    }
    mica_tf_value_release(handle[0]);
    end();
}
