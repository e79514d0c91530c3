/* What TensorFlow refuses because of the values of integers: places beyond the end, division by
 * zero, negative powers. Looked at before an op runs by itself; lowered into a program, such places
 * read as zeros and are not written, and the quotients are what the processor gives. */
#include "tf/tf.h"

/* More than these are not looked at. */
enum { MOST_CHECKED = 1 << 20 };

typedef struct integers {
    const void *data;
    int64_t n;
    size_t size;
} integers;

static int64_t integer_at(const integers *x, int64_t i) {
    switch (x->size) {
    case 1: return ((const int8_t *)x->data)[i];
    case 2: return ((const int16_t *)x->data)[i];
    case 4: return ((const int32_t *)x->data)[i];
    default: return ((const int64_t *)x->data)[i];
    }
}

static mica_status check_gather(const mica_tf_op_info *info, const mica_tf_value *inputs,
                                const integers *indices) {
    const mica_type *x = mica_tensor_type(inputs[0].object);
    int64_t axis;
    int32_t count;
    MICA_TRY(mica_tf_tensor_ints(inputs[2].object, &axis, 1, &count));
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank) return NULL; /* the shape function's to say */
    for (int64_t i = 0; i < indices->n; i++) {
        int64_t index = integer_at(indices, i);
        if (index < 0 || index >= x->dims[axis])
            return MICA_INVALID("[%s] indices[%lld] = %lld is not in [0, %lld)", info->name,
                                (long long)i, (long long)index, (long long)x->dims[axis]);
    }
    return NULL;
}

/* Rows of coordinates into `x`. */
static mica_status check_coordinates(const mica_tf_op_info *info, const mica_tf_value *inputs,
                                     const integers *indices) {
    mica_tf_shape x = mica_tf_shape_of(mica_tensor_type(inputs[0].object));
    const mica_type *type = mica_tensor_type(inputs[1].object);
    int64_t width = type->rank ? type->dims[type->rank - 1] : 0;
    if (width > x.rank || width == 0) return NULL; /* the shape function's to say */
    for (int64_t i = 0; i < indices->n; i++) {
        int64_t index = integer_at(indices, i);
        if (index >= 0 && index < x.dims[i % width]) continue;
        mica_tf_shape row = {.rank = (int32_t)width};
        for (int32_t k = 0; k < row.rank; k++)
            row.dims[k] = integer_at(indices, i / width * width + k);
        return MICA_INVALID("[%s] indices[%lld] = %s does not index into param shape %s",
                            info->name, (long long)(i / width), mica_tf_shape_text(&row).chars,
                            mica_tf_shape_text(&x).chars);
    }
    return NULL;
}

static mica_status check_divisor(const mica_tf_op_info *info, const integers *divisor) {
    for (int64_t i = 0; i < divisor->n; i++)
        if (integer_at(divisor, i) == 0)
            return MICA_INVALID("[%s] Integer division by zero", info->name);
    return NULL;
}

static mica_status check_exponent(const mica_tf_op_info *info, const integers *exponent) {
    for (int64_t i = 0; i < exponent->n; i++)
        if (integer_at(exponent, i) < 0)
            return MICA_INVALID("[%s] Integers to negative integer powers are not allowed",
                                info->name);
    return NULL;
}

static mica_status check(mica_tf_op op, const mica_tf_op_info *info, const mica_tf_value *inputs,
                         const integers *second) {
    switch (op) {
    case MICA_TF_GatherV2: return check_gather(info, inputs, second);
    case MICA_TF_GatherNd:
    case MICA_TF_TensorScatterAdd:
    case MICA_TF_TensorScatterSub:
    case MICA_TF_TensorScatterMax:
    case MICA_TF_TensorScatterMin:
    case MICA_TF_TensorScatterUpdate: return check_coordinates(info, inputs, second);
    case MICA_TF_Pow: return check_exponent(info, second);
    default: return check_divisor(info, second);
    }
}

bool mica_tf_checks_values(mica_tf_op op) {
    switch (op) {
    case MICA_TF_GatherV2:
    case MICA_TF_GatherNd:
    case MICA_TF_TensorScatterAdd:
    case MICA_TF_TensorScatterSub:
    case MICA_TF_TensorScatterMax:
    case MICA_TF_TensorScatterMin:
    case MICA_TF_TensorScatterUpdate:
    case MICA_TF_FloorDiv:
    case MICA_TF_FloorMod:
    case MICA_TF_TruncateDiv:
    case MICA_TF_TruncateMod:
    case MICA_TF_Pow: return true;
    default: return false;
    }
}

mica_status mica_tf_check_values(mica_tf_op op, const mica_tf_op_info *info,
                                 const mica_tf_value *inputs) {
    const mica_type *type = mica_tensor_type(inputs[1].object);
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    integers second = {.n = mica_type_elements(type), .size = mica_dtype_bytes(type->dtype)};
    bool is_integer = kind == MICA_KIND_SIGNED ||
                      (kind == MICA_KIND_UNSIGNED && op != MICA_TF_Pow); /* 0 is 0 either way */
    if (!is_integer || second.n > MOST_CHECKED) return NULL;
    MICA_TRY(mica_tf_open(inputs[1], &second.data));
    mica_status status = check(op, info, inputs, &second);
    mica_tf_close(inputs[1]);
    return status;
}
