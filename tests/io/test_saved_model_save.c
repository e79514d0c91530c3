/* SavedModels that are changed and saved again, without Python. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/platform.h"
#include "mica/mica.h"
#include "test.h"

#define MODELS "tests/tf/saved_models/"

static mica_device *device;
static mica_saved_model *model;
static char folder[256], path[300];

static bool begin(const char *of) {
    CHECK(mica_folder_make_temporary(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/model", folder);
    CHECK_OK(mica_device_open("cpu", &device));
    return test_ok(mica_saved_model_load(of, device, NULL, &model), __FILE__, __LINE__, of);
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

static const char *in(const char *where, const char *name) {
    static char paths[4][600];
    static int next;
    char *made = paths[next++ % 4];
    snprintf(made, sizeof paths[0], "%s/%s", where, name);
    return made;
}

static bool same_files(const char *a, const char *b) {
    uint8_t *bytes[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    CHECK_OK(mica_file_read(a, &bytes[0], &n[0]));
    CHECK_OK(mica_file_read(b, &bytes[1], &n[1]));
    bool is_same = n[0] == n[1] && n[0] > 0 && !memcmp(bytes[0], bytes[1], n[0]);
    mica_free(bytes[0]);
    mica_free(bytes[1]);
    return is_same;
}

static void count(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
}

static int entries(const char *of) {
    int n = 0;
    mica_folder_visit(of, count, &n);
    return n;
}

static void set_bias(float first, float second) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2));
    mica_tensor *tensor = NULL;
    REQUIRE_OK(mica_tensor_from_host(device, &type, (float[]){first, second}, &tensor));
    mica_tf_value value = mica_tf_value_of(tensor);
    CHECK_OK(mica_tf_variable_assign(mica_saved_model_variable(model, "b"), value));
    mica_tf_value_release(value);
}

/* What the dense model at `at` has as its bias and gives for zeros. */
static void check_bias(const char *at, float first, float second) {
    mica_saved_model *loaded = NULL;
    float got[2] = {0}, zeros[3] = {0};
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(1, 3));
    mica_tensor *tensor = NULL;
    mica_tf_value b = {0}, y = {0};
    REQUIRE_OK(mica_saved_model_load(at, device, NULL, &loaded));
    CHECK_OK(mica_tf_variable_read(mica_saved_model_variable(loaded, "b"), &b));
    CHECK_OK(mica_tensor_to_host(b.object, got, sizeof got));
    CHECK(got[0] == first && got[1] == second);
    CHECK_OK(mica_tensor_from_host(device, &type, zeros, &tensor));
    mica_tf_value x = mica_tf_value_of(tensor);
    CHECK_OK(mica_saved_model_run(loaded, "serving_default", &x, 1, &y, 1));
    CHECK_OK(mica_tensor_to_host(y.object, got, sizeof got));
    CHECK(got[0] == (first > 0 ? first : 0) && got[1] == (second > 0 ? second : 0));
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    mica_tf_value_release(b);
    mica_saved_model_release(loaded);
}

TEST(a_saved_model_has_the_values_of_now_and_the_file_of_then) {
    if (!begin(MODELS "dense")) return;
    CHECK(!mica_saved_model_variable(model, "c").object);
    set_bias(3, 4);
    REQUIRE_OK(mica_saved_model_save(model, path, NULL));
    CHECK(same_files(in(path, "saved_model.pb"), MODELS "dense/saved_model.pb"));
    CHECK(entries(path) == 2 && entries(in(path, "variables")) == 2 && entries(folder) == 1);
    check_bias(path, 3, 4);
    check_bias(MODELS "dense", 0.5f, -0.5f);
    finish();
}

TEST(what_did_not_change_is_saved_as_it_was) {
    static const char *const names[] = {"dense",   "control",   "text",  "words",
                                        "convnet", "recurrent", "tables"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *from = in(MODELS, names[i]);
        char index[600];
        snprintf(index, sizeof index, "%s/variables/variables", from);
        if (!begin(from)) return;
        CHECK_OK(mica_saved_model_save(model, path, NULL));
        mica_bundle *before = NULL, *after = NULL;
        CHECK_OK(mica_bundle_open(index, &before));
        CHECK_OK(mica_bundle_open(in(path, "variables/variables"), &after));
        REQUIRE(mica_bundle_count(after) == mica_bundle_count(before));
        for (int64_t k = 0; k < mica_bundle_count(after); k++) {
            const mica_bundle_entry *a = mica_bundle_entry_at(after, k);
            const mica_bundle_entry *b = mica_bundle_entry_at(before, k);
            uint8_t left[2000] = {0}, right[2000] = {0};
            CHECK(!strcmp(a->key, b->key) && a->dtype == b->dtype && a->size == b->size);
            if (a->dtype == MICA_TF_string || a->size > sizeof left) continue;
            CHECK_OK(mica_bundle_read(after, k, left));
            CHECK_OK(mica_bundle_read(before, k, right));
            CHECK(!memcmp(left, right, sizeof left));
        }
        mica_bundle_release(before);
        mica_bundle_release(after);
        finish();
    }
}

/* Keras stores each variable twice: for the graph, and for the objects that TensorFlow makes. */
TEST(both_copies_of_a_variable_get_its_value) {
    static const char *const keys[] = {"variables/7/.ATTRIBUTES/VARIABLE_VALUE",
                                       "_all_variables/3/.ATTRIBUTES/VARIABLE_VALUE"};
    if (!begin(MODELS "convnet")) return;
    CHECK(mica_saved_model_variable_count(model) == 16); /* of 24 in the file */
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_tensor *tensor = NULL;
    REQUIRE_OK(mica_tensor_from_host(device, &type, (float[]){1, 2, 3}, &tensor));
    mica_tf_value value = mica_tf_value_of(tensor);
    CHECK_OK(mica_tf_variable_assign(mica_saved_model_variable(model, "sequential/dense/bias_1"),
                                     value));
    mica_tf_value_release(value);
    REQUIRE_OK(mica_saved_model_save(model, path, NULL));
    mica_bundle *bundle = NULL;
    REQUIRE_OK(mica_bundle_open(in(path, "variables/variables"), &bundle));
    for (int i = 0; i < 2; i++) {
        float got[3] = {0};
        int64_t entry = mica_bundle_find(bundle, keys[i], strlen(keys[i]));
        REQUIRE(entry >= 0);
        CHECK_OK(mica_bundle_read(bundle, entry, got));
        CHECK(got[0] == 1 && got[1] == 2 && got[2] == 3);
    }
    mica_bundle_release(bundle);
    finish();
}

/* What a signature put into a table is saved with the model. */
TEST(a_table_that_grew_is_saved) {
    if (!begin(MODELS "tables")) return;
    const char *words[] = {"new", "one"};
    const size_t lengths[] = {3, 3};
    const int64_t numbers[] = {7, 8};
    mica_type two = mica_type_make(MICA_DTYPE_i64, MICA_INTS(2));
    mica_tensor *tensor = NULL;
    int64_t got[2] = {0};
    mica_tf_value inputs[2] = {{0}}, size = {0}, found = {0};
    REQUIRE_OK(mica_tensor_from_host(device, &two, numbers, &tensor));
    inputs[0] = mica_tf_value_of(tensor);
    CHECK_OK(mica_tf_strings_create(MICA_INTS(2), words, lengths, &inputs[1]));
    CHECK_OK(mica_saved_model_run(model, "find", &inputs[1], 1, &found, 1));
    CHECK_OK(mica_tensor_to_host(found.object, got, sizeof got));
    CHECK(got[0] == -1 && got[1] == 1);
    mica_tf_value_release(found);
    CHECK_OK(mica_saved_model_run(model, "put", inputs, 2, &size, 1));
    CHECK_OK(mica_saved_model_save(model, path, NULL));
    mica_saved_model_release(model);
    model = NULL;
    REQUIRE_OK(mica_saved_model_load(path, device, NULL, &model));
    CHECK_OK(mica_saved_model_run(model, "find", &inputs[1], 1, &found, 1));
    CHECK_OK(mica_tensor_to_host(found.object, got, sizeof got));
    CHECK(got[0] == 7 && got[1] == 8);
    mica_tf_value_release(found);
    mica_tf_value_release(size);
    mica_tf_value_release(inputs[0]);
    mica_tf_value_release(inputs[1]);
    finish();
}

TEST(assets_are_copied) {
    if (!begin(MODELS "text")) return;
    REQUIRE_OK(mica_saved_model_save(model, path, NULL));
    CHECK(same_files(in(path, "assets/words.txt"), MODELS "text/assets/words.txt"));
    mica_saved_model_release(model); /* from the copy, in place, and once more */
    model = NULL;
    REQUIRE_OK(mica_saved_model_load(path, device, NULL, &model));
    mica_status status = mica_saved_model_save(model, path, NULL);
    if (status && mica_status_code(status) == MICA_UNSUPPORTED) {
        mica_status_release(status);
        test_skip("folders cannot be exchanged here");
        finish();
        return;
    }
    CHECK_OK(status);
    CHECK_OK(mica_saved_model_save(model, path, NULL));
    CHECK(same_files(in(path, "assets/words.txt"), MODELS "text/assets/words.txt"));
    REQUIRE_OK(mica_file_replace(in(path, "saved_model.pb"), "other", 5));
    CHECK_FAILS(mica_saved_model_save(model, in(folder, "new"), NULL), MICA_FAILED_PRECONDITION,
                "another model has taken the place");
    CHECK(entries(folder) == 1);
    finish();
}

/* false, and the end of the test: this system cannot put a folder in the place of another. */
static bool save_in_place(void) {
    CHECK_OK(mica_saved_model_save(model, path, NULL));
    CHECK_OK(mica_file_replace(in(path, "notes"), "notes", 5));
    CHECK_OK(mica_file_replace(in(path, "fingerprint.pb"), "stale", 5));
    mica_status status = mica_saved_model_save(model, path, NULL);
    if (!status) return true;
    if (mica_status_code(status) == MICA_UNSUPPORTED) {
        mica_status_release(status);
        test_skip("folders cannot be exchanged here");
    } else {
        CHECK_OK(status);
    }
    finish();
    return false;
}

TEST(a_saved_model_takes_the_place_of_the_old_one) {
    if (!begin(MODELS "dense") || !save_in_place()) return;
    CHECK(!mica_folder_has(path, "fingerprint.pb") && mica_folder_has(path, "notes"));
    mica_saved_model *held = model; /* whose files are no longer there */
    model = NULL;
    REQUIRE_OK(mica_saved_model_load(path, device, NULL, &model));
    set_bias(5, 6);
    CHECK_OK(mica_saved_model_save(model, path, NULL));
    set_bias(7, 8);
    CHECK_OK(mica_saved_model_save(model, path, NULL));
    check_bias(path, 7, 8);
    CHECK_OK(mica_saved_model_save(held, path, NULL));
    check_bias(path, 0.5f, -0.5f);
    mica_saved_model_save_options options = {sizeof options, true};
    CHECK_FAILS(mica_saved_model_save(model, path, &options), MICA_FAILED_PRECONDITION,
                "something in it already");
    CHECK_OK(mica_saved_model_save(model, in(folder, "new"), &options));
    check_bias(in(folder, "new"), 7, 8);
    options.size = 4;
    CHECK_FAILS(mica_saved_model_save(model, path, &options), MICA_INVALID_ARGUMENT, "size");
    mica_saved_model_release(held);
    finish();
}

TEST(a_full_disk_or_no_folder_leaves_the_old_one) {
    if (!begin(MODELS "dense") || !save_in_place()) return;
    set_bias(3, 4);
    struct rlimit before, little = {10000, 10000};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    CHECK_FAILS(mica_saved_model_save(model, path, NULL), MICA_RESOURCE_EXHAUSTED, "cannot write");
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(entries(folder) == 1);
    check_bias(path, 0.5f, -0.5f);
    CHECK_FAILS(mica_saved_model_save(model, in(path, "notes/model"), NULL), MICA_INVALID_ARGUMENT,
                "notes");
    CHECK_FAILS(mica_saved_model_save(model, in(folder, "a/b/c"), NULL), MICA_NOT_FOUND, "a/b/c");
    finish();
}

TEST(an_asset_that_cannot_be_copied_leaves_nothing) {
    if (!begin(MODELS "text")) return;
    REQUIRE_OK(mica_saved_model_save(model, path, NULL));
    mica_saved_model_release(model);
    model = NULL;
    REQUIRE_OK(mica_saved_model_load(path, device, NULL, &model));
    REQUIRE(symlink("/etc/passwd", in(path, "assets/other")) == 0);
    mica_status status = mica_saved_model_save(model, in(folder, "new"), NULL);
    CHECK_FAILS(status, MICA_INVALID_ARGUMENT, "cannot copy 'assets'");
    CHECK(entries(folder) == 1);
    finish();
}

TEST(running_out_of_memory_leaves_the_old_one) {
    if (!begin(MODELS "text") || !save_in_place()) return;
    bool done = false;
    int64_t n = 1;
    for (; n < 2000 && !done; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = mica_saved_model_save(model, path, NULL);
        mica_memory_fail_nth(0, false);
        done = !status;
        CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        CHECK(entries(folder) == 1 && mica_folder_has(path, "assets"));
        mica_saved_model *loaded = NULL;
        CHECK_OK(mica_saved_model_load(path, device, NULL, &loaded));
        mica_saved_model_release(loaded);
    }
    CHECK(done && n > 20);
    finish();
}
