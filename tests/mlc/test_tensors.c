/* Devices, the platform, descriptors of tensors, tensor data, tensors and parameters. */
#include "mlc_test.h"

static bool ints_are(mica_ints list, mica_ints expected) {
    return list.n == expected.n &&
           memcmp(list.data, expected.data, (size_t)list.n * sizeof *list.data) == 0;
}

/* ---- devices ----------------------------------------------------------------------------------*/

static int notes;
static char last_note[256];
static void count_note(void *context, const char *text) {
    (void)context;
    notes++;
    snprintf(last_note, sizeof last_note, "%s", text);
}

TEST(a_gpu_that_is_not_there_is_the_cpu_with_one_note) {
    mlc_device *a = NULL, *b = NULL;
    notes = 0;
    mlc_set_note_handler(count_note, NULL);
    REQUIRE_OK(mlc_device_gpu(&a));
    REQUIRE_OK(mlc_device_with_type(MLC_DEVICE_TYPE_GPU, &b));
    CHECK(mlc_device_type_of(a) == MLC_DEVICE_TYPE_GPU);
    CHECK(mlc_device_actual_type(a) == MLC_DEVICE_TYPE_CPU || notes == 0);
    CHECK(notes <= 1);
    CHECK(notes == 0 || strstr(last_note, "CPU"));
    mlc_device_release(a);
    mlc_device_release(b);
    mlc_set_note_handler(NULL, NULL);
}

TEST(the_neural_engine_falls_back_with_a_note) {
    mlc_device *device = NULL;
    notes = 0;
    mlc_set_note_handler(count_note, NULL);
    REQUIRE_OK(mlc_device_ane(&device));
    CHECK(mlc_device_type_of(device) == MLC_DEVICE_TYPE_ANE);
    CHECK(mlc_device_actual_type(device) != MLC_DEVICE_TYPE_ANE);
    CHECK(notes == 1);
    mlc_device_release(device);
    mlc_set_note_handler(NULL, NULL);
}

TEST(devices_are_made_by_type_and_by_name) {
    mlc_device *device = NULL;
    REQUIRE_OK(mlc_device_with_type(MLC_DEVICE_TYPE_ANY, &device));
    CHECK(mlc_device_type_of(device) == MLC_DEVICE_TYPE_ANY);
    CHECK(mlc_device_actual_type(device) != MLC_DEVICE_TYPE_ANY);
    mlc_device_release(device);
    notes = 0;
    mlc_set_note_handler(count_note, NULL);
    REQUIRE_OK(mlc_device_with_type_and_count(MLC_DEVICE_TYPE_CPU, true, &device));
    CHECK(notes == 1);
    CHECK(mlc_device_type_of(device) == MLC_DEVICE_TYPE_CPU);
    mlc_device_retain(device);
    mlc_device_release(device);
    CHECK(strstr(mica_device_name(mlc_device_mica_device(device)), "cpu"));
    mlc_device_release(device);
    mlc_set_note_handler(NULL, NULL);
    REQUIRE_OK(mlc_device_named("ref", &device));
    CHECK(strstr(mica_device_name(mlc_device_mica_device(device)), "ref"));
    mlc_device_release(device);
    CHECK_FAILS(mlc_device_with_type((mlc_device_type)9, &device), MICA_INVALID_ARGUMENT, "9");
    CHECK_FAILS(mlc_device_named("abacus", &device), MICA_NOT_FOUND, "abacus");
}

/* ---- descriptors ------------------------------------------------------------------------------*/

TEST(a_descriptor_knows_its_shape_strides_and_bytes) {
    mlc_tensor_descriptor *d = NULL;
    REQUIRE_OK(mlc_tensor_descriptor_create(MICA_INTS(2, 3, 4), MLC_DATA_TYPE_INT64, &d));
    CHECK(mlc_tensor_descriptor_data_type(d) == MLC_DATA_TYPE_INT64);
    CHECK(mlc_tensor_descriptor_dimension_count(d) == 3);
    CHECK(ints_are(mlc_tensor_descriptor_shape(d), MICA_INTS(2, 3, 4)));
    CHECK(ints_are(mlc_tensor_descriptor_stride(d), MICA_INTS(96, 32, 8)));
    CHECK(mlc_tensor_descriptor_bytes(d) == 192);
    CHECK(mlc_tensor_descriptor_sequence_lengths(d).n == 0);
    CHECK(!mlc_tensor_descriptor_sorted_sequences(d));
    mlc_tensor_descriptor_retain(d);
    mlc_tensor_descriptor_release(d);
    mlc_tensor_descriptor_release(d);
    CHECK(mlc_tensor_descriptor_max_dimensions() >= 4);
    CHECK_FAILS(mlc_tensor_descriptor_create(MICA_INTS(2, 0), F32, &d), MICA_INVALID_ARGUMENT,
                "(2,0)");
    CHECK_FAILS(mlc_tensor_descriptor_create(MICA_INTS(2), (mlc_data_type)2, &d),
                MICA_INVALID_ARGUMENT, "2 is not a data type");
}

TEST(descriptors_of_images_weights_and_biases_have_their_layouts) {
    mlc_tensor_descriptor *d = NULL;
    REQUIRE_OK(mlc_tensor_descriptor_image(4, 3, 2, 5, MLC_DATA_TYPE_INVALID, &d));
    CHECK(ints_are(mlc_tensor_descriptor_shape(d), MICA_INTS(5, 2, 3, 4)));
    CHECK(mlc_tensor_descriptor_data_type(d) == F32);
    mlc_tensor_descriptor_release(d);
    REQUIRE_OK(mlc_tensor_descriptor_image(4, 3, 2, 5, MLC_DATA_TYPE_UINT8, &d));
    CHECK(mlc_tensor_descriptor_bytes(d) == 120);
    mlc_tensor_descriptor_release(d);
    REQUIRE_OK(mlc_tensor_descriptor_convolution_weights(3, 5, 2, 4, F32, &d));
    CHECK(ints_are(mlc_tensor_descriptor_shape(d), MICA_INTS(1, 8, 5, 3)));
    mlc_tensor_descriptor_release(d);
    REQUIRE_OK(mlc_tensor_descriptor_dense_weights(6, 7, F32, &d));
    CHECK(ints_are(mlc_tensor_descriptor_shape(d), MICA_INTS(1, 42, 1, 1)));
    mlc_tensor_descriptor_release(d);
    REQUIRE_OK(mlc_tensor_descriptor_biases(9, MLC_DATA_TYPE_FLOAT16, &d));
    CHECK(ints_are(mlc_tensor_descriptor_shape(d), MICA_INTS(1, 9, 1, 1)));
    CHECK(mlc_tensor_descriptor_bytes(d) == 18);
    mlc_tensor_descriptor_release(d);
}

TEST(sequences_have_lengths_and_batch_sizes_per_step) {
    mlc_tensor_descriptor *d = NULL;
    REQUIRE_OK(mlc_tensor_descriptor_with_sequences(MICA_INTS(3, 4, 2), MICA_INTS(4, 2, 1), true,
                                                    F32, &d));
    CHECK(ints_are(mlc_tensor_descriptor_sequence_lengths(d), MICA_INTS(4, 2, 1)));
    CHECK(mlc_tensor_descriptor_sorted_sequences(d));
    CHECK(ints_are(mlc_tensor_descriptor_batch_size_per_sequence_step(d), MICA_INTS(3, 2, 1, 1)));
    mlc_tensor_descriptor_release(d);
    CHECK_FAILS(
        mlc_tensor_descriptor_with_sequences(MICA_INTS(2, 4, 2), MICA_INTS(2, 4), true, F32, &d),
        MICA_INVALID_ARGUMENT, "not sorted");
    CHECK_FAILS(
        mlc_tensor_descriptor_with_sequences(MICA_INTS(2, 4, 2), MICA_INTS(2, 5), false, F32, &d),
        MICA_INVALID_ARGUMENT, "5");
}

/* ---- data -------------------------------------------------------------------------------------*/

static int deallocated;
static void count_deallocation(void *context, void *bytes, size_t length) {
    CHECK(context == &deallocated && bytes != NULL && length == 8);
    deallocated++;
}

TEST(tensor_data_is_a_view_and_is_deallocated_once) {
    float numbers[2] = {1, 2};
    mlc_tensor_data *data = NULL;
    REQUIRE_OK(mlc_tensor_data_create_with_deallocator(numbers, 8, count_deallocation, &deallocated,
                                                       &data));
    CHECK(mlc_tensor_data_bytes(data) == numbers && mlc_tensor_data_length(data) == 8);
    mlc_tensor *t = NULL;
    deallocated = 0;
    REQUIRE_OK(mlc_tensor_with_shape_data(MICA_INTS(2), data, F32, &t));
    CHECK(mlc_tensor_data_of(t) == data);
    mlc_tensor_data_retain(data);
    mlc_tensor_data_release(data);
    mlc_tensor_data_release(data);
    CHECK(deallocated == 0);
    mlc_tensor_release(t);
    CHECK(deallocated == 1);
    CHECK_FAILS(mlc_tensor_data_create(NULL, 4, &data), MICA_INVALID_ARGUMENT, "NULL");
}

TEST(immutable_data_is_not_written) {
    static const float numbers[2] = {1, 2};
    mlc_tensor_data *data = NULL;
    mlc_tensor *t = NULL;
    REQUIRE_OK(mlc_tensor_data_create_immutable(numbers, sizeof numbers, &data));
    CHECK(mlc_tensor_data_bytes(data) == (void *)numbers);
    REQUIRE_OK(mlc_tensor_with_shape_data(MICA_INTS(2), data, F32, &t));
    CHECK_OK(mlc_tensor_synchronize_data(t)); /* nothing to write */
    mlc_tensor_release(t);
    mlc_tensor_data_release(data);
}

/* ---- tensors ----------------------------------------------------------------------------------*/

static bool shape_is(mlc_tensor *t, mica_ints shape) {
    return ints_are(mlc_tensor_descriptor_shape(mlc_tensor_descriptor_of(t)), shape);
}

static float first_float(mlc_tensor *t) {
    mlc_tensor_data *data = mlc_tensor_data_of(t);
    return data ? *(float *)mlc_tensor_data_bytes(data) : NAN;
}

TEST(tensors_have_ids_labels_and_no_data_at_first) {
    mlc_tensor *a = NULL, *b = NULL, *c = NULL;
    mlc_tensor_descriptor *d = NULL;
    REQUIRE_OK(mlc_tensor_descriptor_create(MICA_INTS(2), F32, &d));
    REQUIRE_OK(mlc_tensor_create(d, &a));
    REQUIRE_OK(mlc_tensor_create(d, &b));
    CHECK(mlc_tensor_id(b) > mlc_tensor_id(a));
    CHECK(mlc_tensor_descriptor_of(a) == d);
    CHECK(mlc_tensor_data_of(a) == NULL && mlc_tensor_device(a) == NULL);
    CHECK(strncmp(mlc_tensor_label(a), "data", 4) == 0);
    REQUIRE_OK(mlc_tensor_set_label(a, "weights"));
    CHECK(strcmp(mlc_tensor_label(a), "weights") == 0);
    CHECK_FAILS(mlc_tensor_synchronize_data(a), MICA_FAILED_PRECONDITION, "[weights]");
    REQUIRE_OK(mlc_tensor_copy(a, &c));
    CHECK(strcmp(mlc_tensor_label(c), "weights") == 0 && mlc_tensor_id(c) != mlc_tensor_id(a));
    mlc_tensor_retain(a);
    mlc_tensor_release(a);
    mlc_tensor_release(a);
    mlc_tensor_release(b);
    mlc_tensor_release(c);
    mlc_tensor_descriptor_release(d);
}

TEST(every_way_to_make_a_tensor_gives_its_shape_and_data) {
    float numbers[24] = {5};
    mlc_tensor_data *data = data_of(numbers, sizeof numbers);
    mlc_tensor_descriptor *d = NULL;
    mlc_tensor *t = NULL;
    REQUIRE_OK(mlc_tensor_descriptor_create(MICA_INTS(4, 6), F32, &d));
    REQUIRE_OK(mlc_tensor_create_filled(d, 2.5, &t));
    CHECK(shape_is(t, MICA_INTS(4, 6)) && first_float(t) == 2.5f);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_create_with_data(d, data, &t));
    CHECK(mlc_tensor_data_of(t) == data);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_create_random(d, MLC_RANDOM_INITIALIZER_UNIFORM, &t));
    CHECK(first_float(t) >= 0 && first_float(t) < 1);
    mlc_tensor_release(t);
    mlc_tensor_descriptor_release(d);
    REQUIRE_OK(mlc_tensor_with_shape(MICA_INTS(4, 6), MLC_DATA_TYPE_INVALID, &t));
    CHECK(mlc_tensor_descriptor_data_type(mlc_tensor_descriptor_of(t)) == F32);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_with_shape_random(MICA_INTS(3), MLC_RANDOM_INITIALIZER_XAVIER,
                                            MLC_DATA_TYPE_FLOAT16, &t));
    CHECK(mlc_tensor_data_length(mlc_tensor_data_of(t)) == 6);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_with_shape_filled(MICA_INTS(3), -7, MLC_DATA_TYPE_INT8, &t));
    CHECK(*(int8_t *)mlc_tensor_data_bytes(mlc_tensor_data_of(t)) == -7);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_image(3, 4, 1, 2, &t));
    CHECK(shape_is(t, MICA_INTS(2, 1, 4, 3)) && !mlc_tensor_data_of(t));
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_image_filled(3, 4, 1, 2, 1.5, F32, &t));
    CHECK(shape_is(t, MICA_INTS(2, 1, 4, 3)) && first_float(t) == 1.5f);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_image_random(3, 4, 1, 2, MLC_RANDOM_INITIALIZER_UNIFORM, &t));
    CHECK(shape_is(t, MICA_INTS(2, 1, 4, 3)) && mlc_tensor_data_of(t));
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_image_data(3, 4, 1, 2, data, MLC_DATA_TYPE_INVALID, &t));
    CHECK(first_float(t) == 5);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_sequence(4, 3, 2, &t));
    CHECK(shape_is(t, MICA_INTS(2, 4, 3)));
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_sequence_random(4, 3, 2, MLC_RANDOM_INITIALIZER_UNIFORM, &t));
    CHECK(shape_is(t, MICA_INTS(2, 4, 3)) && mlc_tensor_data_of(t));
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_sequence_data(4, 3, 2, data, &t));
    CHECK(first_float(t) == 5);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_sequences_random(MICA_INTS(4, 1), true, 3, 2,
                                           MLC_RANDOM_INITIALIZER_UNIFORM, &t));
    CHECK(shape_is(t, MICA_INTS(2, 4, 3)));
    CHECK(mlc_tensor_descriptor_sorted_sequences(mlc_tensor_descriptor_of(t)));
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_sequences_data(MICA_INTS(1, 4), false, 3, 2, data, &t));
    CHECK(first_float(t) == 5);
    CHECK(!mlc_tensor_descriptor_sorted_sequences(mlc_tensor_descriptor_of(t)));
    mlc_tensor_release(t);
    CHECK_FAILS(mlc_tensor_with_shape_data(MICA_INTS(5), data, F32, &t), MICA_INVALID_ARGUMENT,
                "96 bytes");
    mlc_tensor_data_release(data);
}

/* ---- random numbers ---------------------------------------------------------------------------*/

static void statistics(mlc_tensor *t, size_t n, double *mean, double *deviation, double *largest) {
    const float *x = mlc_tensor_data_bytes(mlc_tensor_data_of(t));
    double sum = 0, squares = 0;
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
        *largest = fmax(*largest, fabs((double)x[i]));
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

TEST(glorot_and_xavier_look_at_fan_in_and_fan_out) {
    enum { IN = 20, OUT = 30, N = IN * OUT * 9 };
    mlc_tensor_descriptor *d = NULL;
    mlc_tensor *t = NULL;
    double mean, deviation, largest;
    REQUIRE_OK(mlc_tensor_descriptor_convolution_weights(3, 3, IN, OUT, F32, &d));
    REQUIRE_OK(mlc_tensor_create_random(d, MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM, &t));
    statistics(t, N, &mean, &deviation, &largest);
    double limit = sqrt(6.0 / ((IN + OUT) * 9));
    CHECK(largest <= limit && largest > 0.99 * limit);
    CHECK_NEAR(mean, 0, 0.03 * limit);
    CHECK_NEAR(deviation, limit / sqrt(3), 0.03 * limit);
    mlc_tensor_release(t);
    REQUIRE_OK(mlc_tensor_create_random(d, MLC_RANDOM_INITIALIZER_XAVIER, &t));
    statistics(t, N, &mean, &deviation, &largest);
    double sigma = sqrt(2.0 / ((IN + OUT) * 9));
    CHECK_NEAR(mean, 0, 0.05 * sigma);
    CHECK_NEAR(deviation, sigma, 0.05 * sigma);
    CHECK(largest > 3 * sigma);
    mlc_tensor_release(t);
    mlc_tensor_descriptor_release(d);
    CHECK_FAILS(mlc_tensor_with_shape_random(MICA_INTS(3), MLC_RANDOM_INITIALIZER_UNIFORM,
                                             MLC_DATA_TYPE_INT32, &t),
                MICA_INVALID_ARGUMENT, "Int32");
    CHECK_FAILS(mlc_tensor_with_shape_random(MICA_INTS(3), (mlc_random_initializer_type)7, F32, &t),
                MICA_INVALID_ARGUMENT, "7");
}

TEST(a_seed_starts_the_sequence_again) {
    float first[3][8];
    for (int i = 0; i < 3; i++) {
        uint64_t seed = 0;
        mlc_platform_set_rng_seed(i == 2 ? 43 : 42);
        CHECK(mlc_platform_rng_seed(&seed) && seed == (i == 2 ? 43u : 42u));
        for (int k = 0; k < 2; k++) { /* the second tensor is another one */
            mlc_tensor *t = NULL;
            float before[8];
            memcpy(before, first[i], sizeof before);
            REQUIRE_OK(mlc_tensor_with_shape_random(MICA_INTS(8), MLC_RANDOM_INITIALIZER_UNIFORM,
                                                    F32, &t));
            memcpy(first[i], mlc_tensor_data_bytes(mlc_tensor_data_of(t)), sizeof first[i]);
            if (k) CHECK(memcmp(before, first[i], sizeof before) != 0);
            mlc_tensor_release(t);
        }
    }
    CHECK(memcmp(first[0], first[1], sizeof first[0]) == 0);
    CHECK(memcmp(first[0], first[2], sizeof first[0]) != 0);
}

/* ---- to devices and back ----------------------------------------------------------------------*/

static void check_write(const char *device_name, bool is_host) {
    mlc_device *device = NULL;
    float numbers[3] = {1, 2, 3}, out[3] = {0};
    REQUIRE_OK(mlc_device_named(device_name, &device));
    mlc_tensor *t = empty(MICA_INTS(3));
    mlc_tensor_data *data = data_of(numbers, sizeof numbers);
    REQUIRE_OK(mlc_tensor_bind_and_write(t, data, device));
    CHECK(mlc_tensor_device(t) == device && mlc_tensor_data_of(t) == data);
    numbers[0] = 9; /* a view sees it, a copy does not */
    CHECK_OK(mlc_tensor_copy_data(t, out, sizeof out, true));
    CHECK(out[0] == (is_host ? 9 : 1) && out[2] == 3);
    CHECK_OK(mlc_tensor_copy_data(t, out, sizeof out, false));
    CHECK(out[0] == 9);
    CHECK_FAILS(mlc_tensor_copy_data(t, out, 8, true), MICA_INVALID_ARGUMENT, "8 bytes");
    CHECK_OK(mlc_tensor_synchronize_data(t));
    mlc_tensor_data *wrong = data_of(numbers, 8);
    CHECK_FAILS(mlc_tensor_bind_and_write(t, wrong, device), MICA_INVALID_ARGUMENT, "8 bytes");
    mlc_tensor_data_release(wrong);
    mlc_tensor_release(t);
    mlc_tensor_data_release(data);
    mlc_device_release(device);
}

TEST(bound_data_is_seen_by_the_device_without_a_copy) {
    check_write("cpu", true);
    check_write("fake", false);
}

TEST(not_a_number_is_found) {
    float numbers[3] = {1, INFINITY, 3};
    bool valid = true;
    mlc_tensor *t = viewing(MICA_INTS(3), numbers);
    REQUIRE_OK(mlc_tensor_has_valid_numerics(t, &valid));
    CHECK(!valid);
    numbers[1] = 2;
    REQUIRE_OK(mlc_tensor_has_valid_numerics(t, &valid));
    CHECK(valid);
    numbers[2] = NAN;
    mlc_device *device = cpu();
    REQUIRE_OK(mlc_tensor_bind_and_write(t, mlc_tensor_data_of(t), device));
    REQUIRE_OK(mlc_tensor_has_valid_numerics(t, &valid));
    CHECK(!valid);
    mlc_device_release(device);
    mlc_tensor_release(t);
}

TEST(tensors_are_quantized_and_back) {
    float numbers[4] = {-1, 0.26f, 0.5f, 100}, scales[2] = {0.5f, 0.25f};
    int32_t biases[2] = {1, 0};
    mlc_tensor *t = viewing(MICA_INTS(2, 2), numbers), *q = NULL, *back = NULL;
    REQUIRE_OK(mlc_tensor_quantize(t, MLC_DATA_TYPE_INT8, 0.5f, 3, &q));
    const int8_t *bytes = mlc_tensor_data_bytes(mlc_tensor_data_of(q));
    CHECK(bytes[0] == 1 && bytes[1] == 4 && bytes[2] == 4 && bytes[3] == 127);
    mlc_tensor *scale = filled(MICA_INTS(1), 0.5), *bias = filled(MICA_INTS(1), 3);
    REQUIRE_OK(mlc_tensor_dequantize(q, F32, scale, bias, &back));
    const float *floats = mlc_tensor_data_bytes(mlc_tensor_data_of(back));
    CHECK(floats[0] == -1 && floats[1] == 0.5f && floats[3] == 62);
    mlc_tensor_release(back);
    mlc_tensor_release(q);
    CHECK_FAILS(mlc_tensor_quantize(t, F32, 1, 0, &q), MICA_INVALID_ARGUMENT, "Float32");
    CHECK_FAILS(mlc_tensor_quantize(t, MLC_DATA_TYPE_INT8, 0, 0, &q), MICA_INVALID_ARGUMENT,
                "scale");
    mlc_tensor_release(scale);
    mlc_tensor_release(bias);

    mlc_tensor_data *bias_data = data_of(biases, sizeof biases);
    scale = viewing(MICA_INTS(2), scales);
    REQUIRE_OK(mlc_tensor_with_shape_data(MICA_INTS(2), bias_data, MLC_DATA_TYPE_INT32, &bias));
    REQUIRE_OK(mlc_tensor_quantize_axis(t, MLC_DATA_TYPE_INT32, scale, bias, 0, &q));
    const int32_t *words = mlc_tensor_data_bytes(mlc_tensor_data_of(q));
    CHECK(words[0] == -1 && words[1] == 2 && words[2] == 2 && words[3] == 400);
    REQUIRE_OK(mlc_tensor_dequantize_axis(q, F32, scale, bias, 0, &back));
    floats = mlc_tensor_data_bytes(mlc_tensor_data_of(back));
    CHECK(floats[0] == -1 && floats[2] == 0.5f && floats[3] == 100);
    mlc_tensor *none = NULL;
    CHECK_FAILS(mlc_tensor_dequantize_axis(q, F32, scale, bias, 2, &none), MICA_INVALID_ARGUMENT,
                "axis 2");
    mlc_tensor_release(back);
    mlc_tensor_release(q);
    mlc_tensor_release(t);
    mlc_tensor_release(scale);
    mlc_tensor_release(bias);
    mlc_tensor_data_release(bias_data);
}

TEST(a_parameter_holds_its_tensor_and_whether_it_is_trained) {
    mlc_tensor *t = filled(MICA_INTS(2), 1);
    mlc_tensor_parameter *p = NULL;
    float momentum[2] = {0};
    mlc_tensor_data *data = data_of(momentum, sizeof momentum);
    REQUIRE_OK(mlc_tensor_parameter_create(t, &p));
    CHECK(mlc_tensor_parameter_tensor(p) == t && mlc_tensor_parameter_is_updatable(p));
    mlc_tensor_parameter_set_is_updatable(p, false);
    CHECK(!mlc_tensor_parameter_is_updatable(p));
    mlc_tensor_parameter_retain(p);
    mlc_tensor_parameter_release(p);
    mlc_tensor_parameter_release(p);
    REQUIRE_OK(mlc_tensor_parameter_create_with_optimizer_data(t, MLC_DATA_LIST(data), &p));
    CHECK(mlc_tensor_optimizer_data(t).n == 1 && mlc_tensor_optimizer_data(t).data[0] == data);
    CHECK(mlc_tensor_optimizer_device_data(t).n == 0);
    mlc_tensor_parameter_release(p);
    mlc_tensor_data *wrong = data_of(momentum, 4);
    CHECK_FAILS(
        mlc_tensor_bind_optimizer_data(t, MLC_DATA_LIST(wrong), (mlc_device_data_list){NULL, 0}),
        MICA_INVALID_ARGUMENT, "4 bytes");
    CHECK_FAILS(mlc_tensor_synchronize_optimizer_data(t), MICA_FAILED_PRECONDITION, "optimizer");
    mlc_tensor_data_release(wrong);
    mlc_tensor_data_release(data);
    mlc_tensor_release(t);
}
