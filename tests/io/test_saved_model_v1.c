/* SavedModels of TensorFlow 1: graphs with variables by reference, and tables that the op of a
 * collection fills, also from assets. */
#include <unistd.h>

#include "base/platform.h"
#include "io/text_table.h"
#include "mica/mica.h"
#include "test.h"

#define MODEL "tests/tf/saved_models/version1"

static mica_device *device;
static mica_saved_model *model;
static char folder[256], path[300];

static bool begin(const char *of) {
    CHECK(mica_folder_make_temporary(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/model", folder);
    CHECK_OK(mica_device_open("cpu", &device));
    return !of || test_ok(mica_saved_model_load(of, device, NULL, &model), __FILE__, __LINE__, of);
}

static void finish(void) {
    mica_saved_model_release(model);
    mica_device_release(device);
    model = NULL;
    device = NULL;
    mica_folder_remove_all(folder);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value numbers(mica_ints dims, const float *data) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, dims);
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return tensor ? mica_tf_value_of(tensor) : (mica_tf_value){0};
}

static mica_tf_value words(const char *const *texts, int64_t n) {
    size_t lengths[8];
    mica_tf_value value = {0};
    for (int64_t i = 0; i < n; i++) lengths[i] = strlen(texts[i]);
    CHECK_OK(mica_tf_strings_create(MICA_INTS(n), texts, lengths, &value));
    return value;
}

static void check(const char *signature, mica_tf_value *inputs, int32_t n, float a, float b) {
    mica_tf_value y = {0};
    float got[2] = {0};
    REQUIRE_OK(mica_saved_model_run(model, signature, inputs, n, &y, 1));
    CHECK_OK(mica_tensor_to_host(y.object, got, sizeof got));
    CHECK_NEAR(got[0], a, 1e-5);
    CHECK_NEAR(got[1], b, 1e-5);
    mica_tf_value_release(y);
}

TEST(a_model_of_tensorflow_1_gives_what_it_gave_there) {
    if (!begin(MODEL)) return;
    CHECK(mica_saved_model_signature_count(model) == 4);
    CHECK(mica_saved_model_variable_count(model) == 4);
    mica_tf_value x = numbers(MICA_INTS(1, 3), (float[]){1, -1, 2});
    mica_tf_value keep = numbers(MICA_NO_INTS, (float[]){0.5f});
    check("serving_default", &x, 1, 10.077098f, 20.282503f);
    check("kept", (mica_tf_value[2]){keep, x}, 2, 10.288548f, 20);
    mica_tf_value_release(x);
    mica_tf_value_release(keep);
    finish();
}

TEST(a_signature_of_tensorflow_1_has_gradients) {
    if (!begin(MODEL)) return;
    mica_tf_graph *graph = NULL, *forward = NULL, *backward = NULL;
    int32_t captured[8], n = 0;
    uint8_t wanted[8] = {0, 1, 1, 1}, connected[8] = {0};
    REQUIRE_OK(mica_saved_model_graph(model, "serving_default", &graph, captured, &n));
    REQUIRE(n == 3 && mica_tf_graph_parameter_count(graph) == 4);
    REQUIRE_OK(mica_tf_graph_backward(graph, wanted, connected, &forward, &backward));
    CHECK(connected[1] == 1 && connected[2] == 1 && connected[3] == 1);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    mica_tf_graph_release(graph);
    finish();
}

TEST(tables_are_filled_from_constants_and_from_the_lines_of_an_asset) {
    if (!begin(MODEL)) return;
    float columns[4] = {0};
    int64_t lines[4] = {0}, pairs[4] = {0};
    mica_tf_value x = words((const char *[]){"cat", "sat", "dog,2.5", "cow"}, 4), y[3] = {{0}};
    CHECK_OK(mica_saved_model_run(model, "lookup", &x, 1, y, 3));
    REQUIRE(y[0].object && y[1].object && y[2].object);
    CHECK_OK(mica_tensor_to_host(y[0].object, columns, sizeof columns));
    CHECK_OK(mica_tensor_to_host(y[1].object, lines, sizeof lines));
    CHECK_OK(mica_tensor_to_host(y[2].object, pairs, sizeof pairs));
    CHECK(columns[0] == 1.5f && columns[1] == -1 && columns[2] == 0 && columns[3] == 0);
    CHECK(lines[0] == -1 && lines[1] == -1 && lines[2] == 1 && lines[3] == -1);
    CHECK(pairs[0] == 5 && pairs[1] == -1 && pairs[2] == -1 && pairs[3] == -1);
    for (int i = 0; i < 3; i++) mica_tf_value_release(y[i]);
    mica_tf_value_release(x);
    finish();
}

/* The signature adds 2 to a variable and gives it. */
static void check_count(int32_t wanted) {
    mica_tf_value x = words((const char *[]){"x"}, 1), n = {0};
    int32_t got = 0;
    REQUIRE_OK(mica_saved_model_run(model, "count", &x, 1, &n, 1));
    CHECK_OK(mica_tensor_to_host(n.object, &got, sizeof got));
    CHECK(got == wanted);
    mica_tf_value_release(n);
    mica_tf_value_release(x);
}

/* Of TensorFlow 2, which names the asset by a variable. */
TEST(a_table_of_tensorflow_2_is_filled_from_an_asset) {
    if (!begin("tests/tf/saved_models/lines")) return;
    int64_t got[3] = {0};
    mica_tf_value x = words((const char *[]){"dog", "cow", "cat"}, 3), y = {0};
    CHECK_OK(mica_saved_model_run(model, "serving_default", &x, 1, &y, 1));
    CHECK_OK(mica_tensor_to_host(y.object, got, sizeof got));
    CHECK(got[0] == 1 && got[1] == -1 && got[2] == 0);
    mica_tf_value_release(y);
    mica_tf_value_release(x);
    finish();
}

TEST(a_variable_by_reference_is_assigned_and_saved) {
    if (!begin(MODEL)) return;
    check_count(5);
    check_count(7);
    REQUIRE_OK(mica_saved_model_save(model, path, NULL));
    mica_tf_value local = mica_saved_model_variable(model, "local"), b = {0};
    CHECK_OK(mica_tf_variable_read(mica_saved_model_variable(model, "b"), &b));
    CHECK_OK(mica_tf_variable_assign(local, b)); /* its initial value is in the file alone */
    mica_tf_value_release(b);
    char other[400];
    snprintf(other, sizeof other, "%s-other", path);
    CHECK_FAILS(mica_saved_model_save(model, other, NULL), MICA_UNSUPPORTED,
                "no place for the value of the variable 'local'");
    CHECK(access(other, F_OK) != 0);
    mica_saved_model_release(model);
    model = NULL;
    REQUIRE_OK(mica_saved_model_load(path, device, NULL, &model));
    check_count(9);
    finish();
}

/* ---- texts ------------------------------------------------------------------------------------*/

static mica_status read_text(const char *text, const io_text_table *table, mica_tf_value *keys,
                             mica_tf_value *values) {
    CHECK_OK(mica_file_replace(path, text, strlen(text)));
    return io_read_text_table(device, path, table, keys, values);
}

TEST(a_text_is_lines_numbers_and_columns) {
    if (!begin(NULL)) return;
    mica_tf_value keys = {0}, values = {0};
    io_text_table table = {
        IO_TEXT_LINE, IO_TEXT_NUMBER, 10, 2, '\t', {MICA_TF_string, MICA_TF_int64}};
    int64_t got[2] = {0};
    size_t n;
    REQUIRE_OK(read_text("a\tb\r\n\nthird", &table, &keys, &values));
    CHECK(mica_tf_strings_count(keys) == 2); /* of three */
    CHECK(!memcmp(mica_tf_strings_get(keys, 0, &n), "a\tb", 3) && n == 3);
    (void)mica_tf_strings_get(keys, 1, &n);
    CHECK(n == 0);
    CHECK_OK(mica_tensor_to_host(values.object, got, sizeof got));
    CHECK(got[0] == 10 && got[1] == 11);
    mica_tf_value_release(keys);
    mica_tf_value_release(values);
    table = (io_text_table){1, 0, 0, 0, ' ', {MICA_TF_int64, MICA_TF_float64}};
    REQUIRE_OK(read_text("2.5 7\n1e3 -8 9", &table, &keys, &values));
    CHECK_OK(mica_tensor_to_host(keys.object, got, sizeof got));
    CHECK(got[0] == 7 && got[1] == -8);
    mica_tf_value_release(keys);
    mica_tf_value_release(values);
    REQUIRE_OK(read_text("", &table, &keys, &values));
    mica_tf_value_release(keys);
    mica_tf_value_release(values);
    finish();
}

TEST(a_text_that_does_not_fit_is_refused) {
    if (!begin(NULL)) return;
    mica_tf_value keys = {0}, values = {0};
    io_text_table table = {0, 1, 0, 0, ',', {MICA_TF_string, MICA_TF_int32}};
    CHECK_FAILS(read_text("a,1\nb\n", &table, &keys, &values), MICA_DATA_LOSS,
                "line 2 has no column 1");
    CHECK_FAILS(read_text("a,1\nb,two\n", &table, &keys, &values), MICA_DATA_LOSS,
                "'two' in line 2 is no int32");
    CHECK_FAILS(read_text("a,3000000000\n", &table, &keys, &values), MICA_DATA_LOSS, "no int32");
    CHECK_FAILS(read_text("a,\n", &table, &keys, &values), MICA_DATA_LOSS, "'' in line 1");
    table.dtypes[1] = MICA_TF_bool;
    CHECK_FAILS(read_text("a,1\n", &table, &keys, &values), MICA_UNSUPPORTED,
                "column 1 cannot be read as bool");
    table.key_column = -3;
    CHECK_FAILS(read_text("a,1\n", &table, &keys, &values), MICA_UNSUPPORTED, "column -3");
    CHECK(!keys.object && !values.object);
    finish();
}

/* The model with its asset at another place than the file says. */
static mica_status load_changed(const char *name, const char *by) {
    uint8_t *bytes = NULL;
    size_t size = 0, n = strlen(name);
    char file[400];
    CHECK_OK(mica_file_read(MODEL "/saved_model.pb", &bytes, &size));
    for (size_t i = 0; i + n < size; i++)
        if (!memcmp(bytes + i, name, n)) memcpy(bytes + i, by, n);
    CHECK_OK(mica_folder_create(path));
    CHECK_OK(mica_folder_copy(MODEL, "variables", path));
    snprintf(file, sizeof file, "%s/saved_model.pb", path);
    CHECK_OK(mica_file_replace(file, bytes, size));
    mica_free(bytes);
    return mica_saved_model_load(path, device, NULL, &model);
}

TEST(an_asset_stays_in_its_folder) {
    static const char *const names[] = {"../.bers.txt", "/umbers.txt", "nu//ers.txt", "numbers/.."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[12] = "numbers.txt";
        if (!begin(NULL)) return;
        memcpy(name, names[i], strlen(names[i]) < 11 ? strlen(names[i]) : 11);
        if (i == 3) memcpy(name, "number/../x", 11);
        CHECK_FAILS(load_changed("numbers.txt", name), MICA_DATA_LOSS, "is not in its folder");
        finish();
    }
    if (!begin(NULL)) return;
    CHECK_FAILS(load_changed("numbers.txt", "numbers.abc"), MICA_NOT_FOUND, "numbers.abc");
    finish();
}

TEST(loading_survives_the_failure_of_any_allocation) {
    if (!begin(NULL)) return;
    for (int64_t n = 1; n < 100000 && !model; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = mica_saved_model_load(MODEL, device, NULL, &model);
        mica_memory_fail_nth(0, false);
        CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
    }
    CHECK(model);
    finish();
}
