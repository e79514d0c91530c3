/* Named arrays in files: every format gives back what was saved, and damaged files are told. */
#include <unistd.h>

#include "base/platform.h"
#include "mica/mica.h"
#include "test.h"

static char folder[256], path[300];

static const char *in(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void begin(void) {
    REQUIRE(mica_folder_make_temporary(folder, sizeof folder));
}

static void finish(void) {
    mica_folder_remove_all(folder);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t wholes[2] = {-1, INT64_MAX};

static void three(mica_array out[3]) {
    out[0] = (mica_array){"w", mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3)), numbers};
    out[1] = (mica_array){"layers.0.\"\\\n\xC3\xA9", mica_type_make(MICA_DTYPE_i64, MICA_INTS(2)),
                          wholes};
    out[2] = (mica_array){"empty", mica_type_make(MICA_DTYPE_u8, MICA_INTS(0, 4)), NULL};
}

TEST(arrays_come_back_from_safetensors_and_npz) {
    static const char *const names[] = {"a.safetensors", "a.npz"};
    begin();
    for (int f = 0; f < 2; f++) {
        mica_array given[3];
        mica_arrays *arrays = NULL;
        three(given);
        CHECK_OK(mica_arrays_save(in(names[f]), given, 3));
        CHECK_OK(mica_arrays_open(in(names[f]), &arrays));
        CHECK(mica_arrays_count(arrays) == 3);
        for (int i = 0; i < 3; i++) {
            const mica_array *found =
                mica_arrays_at(arrays, mica_arrays_find(arrays, given[i].name));
            REQUIRE(found != NULL);
            CHECK(mica_type_equal(&found->type, &given[i].type));
            CHECK(!given[i].data ||
                  !memcmp(found->data, given[i].data, mica_type_bytes(&found->type)));
        }
        CHECK(mica_arrays_find(arrays, "x") == -1 && mica_arrays_at(arrays, 3) == NULL);
        mica_arrays_release(arrays);
    }
    finish();
}

TEST(an_npy_file_has_one_array) {
    begin();
    mica_array given[3];
    mica_arrays *arrays = NULL;
    three(given);
    CHECK_FAILS(mica_arrays_save(in("a.npy"), given, 2), MICA_INVALID_ARGUMENT, "one array");
    CHECK(access(path, F_OK) != 0);
    CHECK_OK(mica_arrays_save(in("a.npy"), given, 1));
    CHECK_OK(mica_arrays_open(in("a.npy"), &arrays));
    CHECK(mica_arrays_count(arrays) == 1 && !*mica_arrays_at(arrays, 0)->name);
    CHECK(!memcmp(mica_arrays_at(arrays, 0)->data, numbers, sizeof numbers));
    mica_arrays_release(arrays);
    finish();
}

TEST(what_cannot_be_saved_leaves_the_old_file) {
    begin();
    mica_array given[3], bad[2];
    mica_arrays *arrays = NULL;
    three(given);
    CHECK_OK(mica_arrays_save(in("a.npz"), given, 3));
    bad[0] = bad[1] = given[0];
    CHECK_FAILS(mica_arrays_save(in("a.npz"), bad, 2), MICA_INVALID_ARGUMENT, "name");
    bad[1].name = NULL;
    CHECK_FAILS(mica_arrays_save(in("a.npz"), bad, 2), MICA_INVALID_ARGUMENT, "name");
    static const char *const names[] = {"\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80",
                                        "\xF4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bad[0].name = names[i];
        CHECK_FAILS(mica_arrays_save(in("a.npz"), bad, 1), MICA_INVALID_ARGUMENT, "no UTF-8");
    }
    bad[0].name = "w";
    bad[0].type.dtype = MICA_DTYPE_bf16;
    CHECK_FAILS(mica_arrays_save(in("a.npz"), bad, 1), MICA_UNSUPPORTED, "bf16");
    CHECK_FAILS(mica_arrays_save(in("a.bin"), given, 3), MICA_INVALID_ARGUMENT, "ends with none");
    bad[0].type = mica_type_make(MICA_DTYPE_c128, MICA_INTS(1));
    CHECK_FAILS(mica_arrays_save(in("a.safetensors"), bad, 1), MICA_UNSUPPORTED, "c128");
    bad[0].type = mica_type_token();
    CHECK_FAILS(mica_arrays_save(in("a.npz"), bad, 1), MICA_INVALID_ARGUMENT, "no type");
    CHECK_OK(mica_arrays_open(in("a.npz"), &arrays));
    CHECK(mica_arrays_count(arrays) == 3);
    mica_arrays_release(arrays);
    finish();
}

/* Every prefix of a file, and every file with one byte changed, is read or told; nothing is lost.*/
static void damage(const char *name, const char *other) {
    uint8_t *bytes;
    size_t n;
    CHECK_OK(mica_file_read(in(name), &bytes, &n));
    for (size_t i = 0; i < 2 * n; i++) {
        mica_arrays *arrays = NULL;
        if (i >= n) bytes[i - n] ^= 0x11;
        CHECK_OK(mica_file_write_atomic(in(other), bytes, i < n ? i : n));
        mica_status status = mica_arrays_open(path, &arrays);
        CHECK(i >= n || status != NULL);
        mica_status_release(status);
        mica_arrays_release(arrays);
        if (i >= n) bytes[i - n] ^= 0x11;
    }
    mica_free(bytes);
}

TEST(damaged_files_are_told) {
    begin();
    mica_array given[3];
    three(given);
    given[1].name = "b";
    CHECK_OK(mica_arrays_save(in("a.npz"), given, 2));
    CHECK_OK(mica_arrays_save(in("a.safetensors"), given, 2));
    CHECK_OK(mica_arrays_save(in("a.npy"), given, 1));
    damage("a.npz", "b.npz");
    damage("a.safetensors", "b.safetensors");
    damage("a.npy", "b.npy");
    finish();
}

/* The header of an .npy file and no data. */
static void open_empty(const char *order, const char *shape, bool is_read) {
    uint8_t bytes[200] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    mica_arrays *arrays = NULL;
    int n = snprintf((char *)bytes + 10, sizeof bytes - 10,
                     "{'descr': '<f4', 'fortran_order': %s, 'shape': %s, }", order, shape);
    bytes[8] = (uint8_t)n;
    CHECK_OK(mica_file_write_atomic(in("x.npy"), bytes, (size_t)n + 10));
    mica_status status = mica_arrays_open(path, &arrays);
    CHECK(mica_status_code(status) == (is_read ? MICA_OK : MICA_DATA_LOSS));
    mica_status_release(status);
    mica_arrays_release(arrays);
}

TEST(empty_arrays_have_sizes_that_fit) {
    static const char *const orders[] = {"False", "True"};
    begin();
    for (int i = 0; i < 2; i++) {
        open_empty(orders[i], "(3, 0, 5)", true);
        open_empty(orders[i], "(4611686018427387904, 4, 0)", false);
        open_empty(orders[i], "(0, 4611686018427387904, 4)", false);
        open_empty(orders[i], "(9223372036854775807, 9223372036854775807, 0)", false);
        open_empty(orders[i], "(4611686018427387904, 4)", false);
    }
    finish();
}

static void open_text(const char *header, const char *data, size_t n, mica_code code) {
    uint8_t bytes[2000] = {0};
    size_t length = strlen(header);
    mica_arrays *arrays = NULL;
    bytes[0] = (uint8_t)length, bytes[1] = (uint8_t)(length >> 8);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, n);
    CHECK_OK(mica_file_write_atomic(in("x.safetensors"), bytes, 8 + length + n));
    mica_status status = mica_arrays_open(path, &arrays);
    if (mica_status_code(status) != code)
        printf("%s: %s\n", header, status ? mica_status_message(status) : "read");
    CHECK(mica_status_code(status) == code);
    mica_status_release(status);
    mica_arrays_release(arrays);
}

TEST(headers_of_safetensors_are_checked) {
    begin();
    open_text("{}", "", 0, MICA_OK);
    open_text(" { \"__metadata__\" : {\"a\":\"\\u00e9\\ud83d\\ude00\"} } ", "", 0, MICA_OK);
    open_text("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", "xy", 2, MICA_OK);
    open_text("{\"a\":{\"shape\":[],\"data_offsets\":[0,4],\"dtype\":\"F32\"}}", "abcd", 4,
              MICA_OK);
    open_text("{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,2]}}", "xy", 2,
              MICA_UNSUPPORTED);
    static const char *const wrong[] = {
        "[]",
        "{\"a\":{}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,3]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}} x",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807,4],\"data_offsets\":[0,2]}}",
        ("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}"),
        "{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"\\u0000\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"__metadata__\":{\"a\":1}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        open_text(wrong[i], "xy", 2, MICA_DATA_LOSS);
    finish();
}
