/* The table of TensorFlow's ops: every row can be read, and says what its op takes. */
#include "test.h"
#include "tf/tf.h"

TEST(every_row_can_be_read) {
    for (int i = 0; i < MICA_TF_OP_COUNT; i++) {
        const mica_tf_op_info *info = mica_tf_op_describe((mica_tf_op)i);
        if (info->n_inputs < 0 || info->n_outputs < 0)
            test_report(__FILE__, __LINE__, "the row of %s cannot be read", info->name);
        mica_tf_op op;
        CHECK(mica_tf_op_parse(info->name, &op) && op == (mica_tf_op)i);
    }
}

TEST(a_role_is_written_for_every_input) {
    for (int i = 0; i < MICA_TF_OP_COUNT; i++) {
        const mica_tf_op_info *info = mica_tf_op_describe((mica_tf_op)i);
        if ((int)strlen(info->roles) > info->n_inputs && info->n_inputs > 0)
            test_report(__FILE__, __LINE__, "%s has %d inputs and roles %s", info->name,
                        info->n_inputs, info->roles);
        for (const char *role = info->roles; *role; role++)
            CHECK(strchr("dz-solbh", *role) != NULL);
    }
}

TEST(dtypes_of_inputs_give_the_attributes) {
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    mica_tf_dtype floats[2] = {MICA_TF_float32, MICA_TF_float32};
    CHECK_OK(mica_tf_op_infer_types(MICA_TF_AddV2, floats, 2, attrs));
    CHECK(attrs[0].as.integer == MICA_TF_float32);
    mica_tf_dtype mixed[2] = {MICA_TF_float32, MICA_TF_int32};
    CHECK_FAILS(mica_tf_op_infer_types(MICA_TF_AddV2, mixed, 2, attrs), MICA_INVALID_ARGUMENT,
                "input #1(zero-based) was expected to be a float tensor but is a int32 tensor");
    CHECK_FAILS(mica_tf_op_infer_types(MICA_TF_AddV2, floats, 1, attrs), MICA_INVALID_ARGUMENT,
                "[AddV2] takes 2 inputs, 1 given");
    mica_tf_dtype strings[1] = {MICA_TF_string};
    CHECK_FAILS(mica_tf_op_infer_types(MICA_TF_Exp, strings, 1, attrs), MICA_INVALID_ARGUMENT,
                "[Exp]");
}

TEST(partial_shapes_broadcast_and_merge) {
    mica_tf_shape a = {.rank = 2, .dims = {-1, 3}}, b = {.rank = 1, .dims = {3}}, out;
    CHECK(mica_tf_shape_broadcast(&a, &b, &out) && out.rank == 2 && out.dims[0] == -1 &&
          out.dims[1] == 3);
    mica_tf_shape c = {.rank = 2, .dims = {4, -1}};
    CHECK(mica_tf_shape_merge(&a, &c, &out) && out.dims[0] == 4 && out.dims[1] == 3);
    mica_tf_shape d = {.rank = 1, .dims = {2}};
    CHECK(!mica_tf_shape_broadcast(&b, &d, &out));
    mica_tf_shape unknown = mica_tf_unknown();
    CHECK(mica_tf_shape_broadcast(&a, &unknown, &out) && out.rank == -1);
}
