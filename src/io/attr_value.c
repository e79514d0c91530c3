#include "io/attr_value.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static mica_status damaged(const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[attr_value] %s", what);
}

/* ---- shapes -----------------------------------------------------------------------------------*/

mica_status io_read_shape(io_range message, mica_tf_shape *out_shape) {
    *out_shape = (mica_tf_shape){0};
    io_field field;
    while (io_take_field(&message, &field)) {
        if (field.number == 3 && field.wire == IO_VARINT && field.value) {
            out_shape->rank = -1;
            return NULL;
        }
        if (field.number != 2 || field.wire != IO_LENGTH) continue;
        int64_t size = (int64_t)io_find_number(field.part, 1);
        if (out_shape->rank == MICA_MAX_RANK)
            return MICA_INVALID("[shape] the rank is above %d, the highest that is possible",
                                MICA_MAX_RANK);
        if (size < -1) return damaged("a size is negative");
        out_shape->dims[out_shape->rank++] = size;
    }
    return message.n ? damaged("a shape is cut off") : NULL;
}

io_shape_chars io_shape_text(const mica_tf_shape *shape) {
    io_shape_chars text = {"<unknown>"};
    size_t room = sizeof text.chars, at = 0;
    if (shape->rank < 0) return text;
    text.chars[at++] = '[';
    for (int32_t i = 0; i < shape->rank && at + 24 < room; i++) {
        const char *comma = i ? "," : "";
        int n = shape->dims[i] < 0 ? snprintf(text.chars + at, room - at, "%s?", comma)
                                   : snprintf(text.chars + at, room - at, "%s%lld", comma,
                                              (long long)shape->dims[i]);
        at += (size_t)n;
    }
    text.chars[at++] = ']';
    text.chars[at] = 0;
    return text;
}

/* ---- tensors ----------------------------------------------------------------------------------*/

/* The field that has the elements of a dtype, and how many numbers an element is. */
static uint64_t field_of(mica_tf_dtype dtype, int32_t *out_numbers) {
    *out_numbers = dtype == MICA_TF_complex64 || dtype == MICA_TF_complex128 ? 2 : 1;
    switch (dtype) {
    case MICA_TF_float32: return 5;
    case MICA_TF_float64: return 6;
    case MICA_TF_string: return 8;
    case MICA_TF_complex64: return 9;
    case MICA_TF_int64: return 10;
    case MICA_TF_bool: return 11;
    case MICA_TF_complex128: return 12;
    case MICA_TF_bfloat16:
    case MICA_TF_float16: return 13;
    case MICA_TF_uint32: return 16;
    case MICA_TF_uint64: return 17;
    default: return 7; /* the smaller integers */
    }
}

typedef struct numbers {
    uint8_t *data;
    int64_t n, capacity;
    size_t width; /* bytes of a number */
    bool is_bool;
} numbers;

static bool put(numbers *to, uint64_t value) {
    if (to->n == to->capacity) return false;
    if (to->is_bool) value = value != 0;
    uint8_t *at = to->data + (size_t)to->n++ * to->width;
    if (to->width == 1)
        *at = (uint8_t)value;
    else if (to->width == 2)
        memcpy(at, &(uint16_t){(uint16_t)value}, 2);
    else if (to->width == 4)
        memcpy(at, &(uint32_t){(uint32_t)value}, 4);
    else
        memcpy(at, &value, 8);
    return true;
}

/* One number, or many in one field. */
static bool put_field(numbers *to, const io_field *field, int wire) {
    if (field->wire == wire) return put(to, field->value);
    if (field->wire != IO_LENGTH) return false;
    io_range rest = field->part;
    while (rest.n) {
        uint64_t value;
        uint32_t low, high = 0;
        if (wire == IO_VARINT) {
            if (!io_take_varint(&rest, &value)) return false;
        } else {
            if (!io_take_u32(&rest, &low)) return false;
            if (wire == IO_EIGHT_BYTES && !io_take_u32(&rest, &high)) return false;
            value = (uint64_t)high << 32 | low;
        }
        if (!put(to, value)) return false;
    }
    return true;
}

static int wire_of(mica_tf_dtype dtype) {
    if (dtype == MICA_TF_float32 || dtype == MICA_TF_complex64) return IO_FOUR_BYTES;
    if (dtype == MICA_TF_float64 || dtype == MICA_TF_complex128) return IO_EIGHT_BYTES;
    return IO_VARINT;
}

/* The last element again, up to the end; zeros when there is none. */
static mica_status repeat_last(io_values *values, numbers *to, int32_t per_element) {
    size_t element = to->width * (size_t)per_element, given = (size_t)to->n * to->width;
    size_t bytes = (size_t)to->capacity * to->width;
    if (to->n % per_element) return damaged("half of a complex number is missing");
    if (given == bytes) return NULL;
    values->repeated += bytes - given;
    if (given == 0)
        memset(to->data, 0, bytes);
    else
        for (size_t at = given; at < bytes; at += element)
            memcpy(to->data + at, to->data + given - element, element);
    return NULL;
}

static mica_status fill(io_values *values, io_range message, mica_tf_dtype dtype, numbers *to) {
    int32_t per_element;
    uint64_t number = field_of(dtype, &per_element);
    int wire = wire_of(dtype);
    io_range content;
    if (io_find_part(message, 4, &content) && content.n) {
        if (content.n != (size_t)to->capacity * to->width)
            return damaged("a tensor's bytes are not as many as its shape says");
        memcpy(to->data, content.data, content.n);
        return NULL;
    }
    io_field field;
    while (io_take_field(&message, &field))
        if (field.number == number && !put_field(to, &field, wire))
            return damaged("a tensor's elements are not of its dtype, or more than its shape says");
    return repeat_last(values, to, per_element);
}

static mica_status check_repeated(const io_values *values, uint64_t bytes, size_t spelled) {
    uint64_t left = values->repeated < IO_MOST_REPEATED ? IO_MOST_REPEATED - values->repeated : 0;
    if (bytes <= spelled || bytes - spelled <= left) return NULL;
    return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                      "[tensor] a constant of %llu bytes is made from %zu: at most %llu bytes of a "
                      "file may be repetitions",
                      (unsigned long long)bytes, spelled, (unsigned long long)IO_MOST_REPEATED);
}

static mica_status read_numbers(io_values *values, io_range message, mica_tf_dtype dtype,
                                const mica_tf_shape *shape, mica_tf_value *out_value) {
    mica_type type =
        mica_type_make(mica_tf_dtype_core(dtype), (mica_ints){shape->dims, shape->rank});
    int32_t per_element;
    (void)field_of(dtype, &per_element);
    mica_tensor *tensor = NULL;
    void *data;
    MICA_TRY(check_repeated(values, mica_type_bytes(&type), message.n));
    MICA_TRY(mica_tensor_create(values->device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &data);
    if (!status) {
        numbers to = {.data = data,
                      .capacity = mica_type_elements(&type) * per_element,
                      .width = mica_dtype_bytes(type.dtype) / (size_t)per_element,
                      .is_bool = dtype == MICA_TF_bool};
        status = fill(values, message, dtype, &to);
        status = mica_status_join(status, mica_tensor_close_view(tensor));
    }
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    *out_value = mica_tf_value_of(tensor);
    return NULL;
}

/* Strings as tensor_content: the lengths of all, then the bytes of all. */
static mica_status read_packed_strings(io_range content, const mica_tf_shape *shape, uint64_t n,
                                       mica_tf_value *out_value) {
    if (n > content.n) return damaged("a tensor has fewer strings than its shape says");
    const char **data = mica_calloc((size_t)n + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)n + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    for (uint64_t i = 0; !status && i < n; i++) {
        uint64_t length;
        if (!io_take_varint(&content, &length)) status = damaged("lengths of strings are cut off");
        if (!status) lengths[i] = (size_t)length;
    }
    for (uint64_t i = 0; !status && i < n; i++) {
        io_range text;
        if (!io_take(&content, lengths[i], &text)) status = damaged("strings are cut off");
        if (!status) data[i] = (const char *)text.data;
    }
    if (!status)
        status =
            mica_tf_strings_create((mica_ints){shape->dims, shape->rank}, data, lengths, out_value);
    mica_free(data);
    mica_free(lengths);
    return status;
}

static mica_status read_strings(io_values *values, io_range message, const mica_tf_shape *shape,
                                int64_t n, mica_tf_value *out_value) {
    int64_t given = io_count_parts(message, 8), i = 0;
    io_range last;
    if (given < 0 || given > n) return damaged("a tensor has more strings than its shape says");
    io_find_part(message, 8, &last);
    uint64_t each = sizeof(char *) + sizeof(size_t) + last.n, more = (uint64_t)(n - given), bytes;
    if (__builtin_mul_overflow(more, each, &bytes)) bytes = UINT64_MAX;
    MICA_TRY(check_repeated(values, bytes, 0));
    values->repeated += bytes;
    const char **data = mica_calloc((size_t)n + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)n + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    if (!status) {
        io_field field;
        while (io_take_field(&message, &field)) {
            if (field.number != 8 || field.wire != IO_LENGTH) continue;
            data[i] = (const char *)field.part.data;
            lengths[i++] = field.part.n;
        }
        for (; i < n; i++) data[i] = given ? (const char *)last.data : "", lengths[i] = last.n;
        status =
            mica_tf_strings_create((mica_ints){shape->dims, shape->rank}, data, lengths, out_value);
    }
    mica_free(data);
    mica_free(lengths);
    return status;
}

mica_status io_read_tensor(io_values *values, io_range message, mica_tf_value *out_value) {
    *out_value = (mica_tf_value){MICA_TF_no_dtype, NULL};
    uint64_t number = io_find_number(message, 1), n = 1;
    mica_tf_dtype dtype = number < 128 ? (mica_tf_dtype)number : MICA_TF_no_dtype;
    mica_tf_shape shape;
    io_range part;
    bool is_string = dtype == MICA_TF_string;
    if (!mica_tf_dtype_name(dtype) || (!is_string && mica_tf_dtype_core(dtype) == MICA_DTYPE_COUNT))
        return MICA_ERROR(MICA_UNSUPPORTED, "[tensor] constants of TensorFlow's dtype %llu",
                          (unsigned long long)number);
    io_find_part(message, 2, &part);
    MICA_TRY(io_read_shape(part, &shape));
    if (shape.rank < 0) return damaged("a constant has no shape");
    for (int32_t i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)shape.dims[i], &n) ||
            n > INT64_MAX / 64)
            return damaged("a constant has an impossible shape");
    if (is_string && io_find_part(message, 4, &part) && part.n)
        return read_packed_strings(part, &shape, n, out_value);
    if (is_string) return read_strings(values, message, &shape, (int64_t)n, out_value);
    return read_numbers(values, message, dtype, &shape, out_value);
}

/* ---- attributes -------------------------------------------------------------------------------*/

/* The numbers of a list: of this field, in one piece or one by one. */
static mica_status read_numbers_of_list(mica_arena *arena, io_range list, uint64_t number, int wire,
                                        mica_tf_attr *out) {
    /* No number takes less than a byte. */
    uint8_t *data = mica_arena_alloc(arena, (list.n + 1) * sizeof(int64_t));
    numbers to = {.data = data, .capacity = (int64_t)list.n, .width = 8};
    if (!data) return MICA_NO_MEMORY();
    io_field field;
    while (io_take_field(&list, &field))
        if (field.number == number && !put_field(&to, &field, wire))
            return damaged("a list has elements of another kind");
    if (to.n > INT32_MAX) return damaged("a list is too long");
    out->n = (int32_t)to.n;
    out->as.ints = (const int64_t *)data;
    return NULL;
}

static double real_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static mica_status read_reals(mica_arena *arena, io_range list, mica_tf_attr *out) {
    MICA_TRY(read_numbers_of_list(arena, list, 4, IO_FOUR_BYTES, out));
    double *reals = mica_arena_alloc(arena, (size_t)out->n * sizeof *reals);
    if (!reals) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < out->n; i++) reals[i] = real_of((uint64_t)out->as.ints[i]);
    out->as.reals = reals;
    return NULL;
}

static mica_status read_shapes(mica_arena *arena, io_range list, mica_tf_attr *out) {
    int64_t n = io_count_parts(list, 7);
    if (n < 0 || n > 1 << 20) return damaged("a list of shapes is cut off, or too long");
    mica_tf_shape *shapes = mica_arena_alloc(arena, (size_t)n * sizeof *shapes);
    if (!shapes) return MICA_NO_MEMORY();
    out->n = (int32_t)n;
    out->as.shapes = shapes;
    io_field field;
    while (io_take_field(&list, &field))
        if (field.number == 7 && field.wire == IO_LENGTH)
            MICA_TRY(io_read_shape(field.part, shapes++));
    return NULL;
}

/* A 0 follows the bytes. */
static mica_status read_text(mica_arena *arena, io_range part, mica_tf_attr *out) {
    if (part.n > INT32_MAX) return damaged("a string is too long");
    char *text = mica_arena_alloc(arena, part.n + 1);
    if (!text) return MICA_NO_MEMORY();
    if (part.n) memcpy(text, part.data, part.n);
    out->n = (int32_t)part.n;
    out->as.string = text;
    return NULL;
}

static mica_status read_texts(mica_arena *arena, io_range list, mica_tf_attr *out) {
    int64_t n = io_count_parts(list, 2), i = 0;
    if (n < 0 || n > INT32_MAX) return damaged("a list of strings is cut off");
    const char **strings = mica_arena_alloc(arena, (size_t)n * sizeof *strings);
    if (!strings) return MICA_NO_MEMORY();
    out->n = (int32_t)n;
    out->as.strings = strings;
    io_field field;
    while (io_take_field(&list, &field)) {
        if (field.number != 2 || field.wire != IO_LENGTH) continue;
        if (memchr(field.part.n ? (const char *)field.part.data : "", 0, field.part.n))
            return MICA_ERROR(MICA_UNSUPPORTED, "[attr_value] a list of strings with zeros inside");
        char *text = mica_arena_alloc(arena, field.part.n + 1);
        if (!text) return MICA_NO_MEMORY();
        if (field.part.n) memcpy(text, field.part.data, field.part.n);
        strings[i++] = text;
    }
    return NULL;
}

/* The only field of an AttrValue; false: it has none of this kind. */
static bool take_scalar(io_range message, uint64_t number, int wire, uint64_t *out) {
    io_field field;
    bool found = false;
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == wire) *out = field.value, found = true;
    return found;
}

mica_status io_read_attr(io_values *values, mica_arena *arena, io_range message,
                         mica_tf_attr_kind kind, mica_tf_attr *out) {
    io_range part = {NULL, 0};
    uint64_t bits = 0;
    bool found = false;
    *out = (mica_tf_attr){0};
    switch (kind) {
    case MICA_TF_INT: found = take_scalar(message, 3, IO_VARINT, &bits); break;
    case MICA_TF_FLOAT: found = take_scalar(message, 4, IO_FOUR_BYTES, &bits); break;
    case MICA_TF_BOOL: found = take_scalar(message, 5, IO_VARINT, &bits); break;
    case MICA_TF_TYPE: found = take_scalar(message, 6, IO_VARINT, &bits); break;
    case MICA_TF_STRING: found = io_find_part(message, 2, &part); break;
    case MICA_TF_SHAPE: found = io_find_part(message, 7, &part); break;
    case MICA_TF_TENSOR: found = io_find_part(message, 8, &part); break;
    default: found = io_find_part(message, 1, &part); break;
    }
    if (!found) return damaged("an attribute has a value of another kind");
    out->as.integer = (int64_t)bits;
    if (kind == MICA_TF_FLOAT) out->as.real = real_of(bits);
    if (kind == MICA_TF_BOOL) out->as.integer = bits != 0;
    switch (kind) {
    case MICA_TF_STRING: return read_text(arena, part, out);
    case MICA_TF_SHAPE: {
        mica_tf_shape *shape = mica_arena_alloc(arena, sizeof *shape);
        if (!shape) return MICA_NO_MEMORY();
        out->n = 1;
        out->as.shapes = shape;
        return io_read_shape(part, shape);
    }
    case MICA_TF_TENSOR: return io_read_tensor(values, part, &out->as.value);
    case MICA_TF_INTS: return read_numbers_of_list(arena, part, 3, IO_VARINT, out);
    case MICA_TF_TYPES: return read_numbers_of_list(arena, part, 6, IO_VARINT, out);
    case MICA_TF_FLOATS: return read_reals(arena, part, out);
    case MICA_TF_SHAPES: return read_shapes(arena, part, out);
    case MICA_TF_STRINGS: return read_texts(arena, part, out);
    default: return NULL;
    }
}
