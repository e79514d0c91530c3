/* Bundles: what was written is read, what TensorFlow wrote is read, what is damaged is refused. */
#include <unistd.h>

#include "base/platform.h"
#include "io/table.h"
#include "mica/mica.h"
#include "test.h"

static char folder[256], prefix[300];

static void begin(void) {
    REQUIRE(mica_folder_make_temporary(folder, sizeof folder));
    snprintf(prefix, sizeof prefix, "%s/variables", folder);
}

static const char *file_of(const char *end) {
    static char path[400];
    snprintf(path, sizeof path, "%s%s", prefix, end);
    return path;
}

static void finish(void) {
    CHECK_OK(mica_bundle_remove(prefix));
    CHECK(rmdir(folder) == 0); /* nothing else was left behind */
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value texts(void) {
    mica_tf_value value = {0};
    char longest[300];
    memset(longest, 'x', sizeof longest);
    const char *data[3] = {"a", "", longest};
    const size_t lengths[3] = {1, 0, sizeof longest};
    CHECK_OK(mica_tf_strings_create(MICA_INTS(3, 1), data, lengths, &value));
    return value;
}

/* Two hundred numbers, strings, and an element of each dtype. */
static mica_status write_with(mica_tf_value strings) {
    mica_bundle_writer *writer = NULL;
    uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    mica_status status = mica_bundle_writer_create(prefix, &writer);
    for (int32_t i = 0; !status && i < 100; i++) {
        char key[64];
        float pair[2] = {(float)i, 0.5f};
        snprintf(key, sizeof key, "layer-%d/kernel/.ATTRIBUTES/VARIABLE_VALUE", i);
        status = mica_bundle_writer_add(writer, key, MICA_TF_float32, MICA_INTS(2, 1), pair, 8);
    }
    for (int32_t dtype = 1; !status && dtype < 24; dtype++) {
        const char *name = mica_tf_dtype_name((mica_tf_dtype)dtype);
        mica_dtype core = name ? mica_tf_dtype_core((mica_tf_dtype)dtype) : MICA_DTYPE_COUNT;
        if (core == MICA_DTYPE_COUNT) continue;
        mica_type type = mica_type_make(core, MICA_NO_INTS);
        status = mica_bundle_writer_add(writer, name, (mica_tf_dtype)dtype, MICA_NO_INTS, bytes,
                                        mica_type_bytes(&type));
    }
    if (!status) status = mica_bundle_writer_add_strings(writer, "texts", strings);
    if (!status)
        status = mica_bundle_writer_add(writer, "empty", MICA_TF_int64, MICA_INTS(0, 3), bytes, 0);
    if (!status) status = mica_bundle_writer_finish(writer);
    mica_bundle_writer_release(writer);
    return status;
}

static mica_status write_all(void) {
    mica_tf_value strings = texts();
    mica_status status = write_with(strings);
    mica_tf_value_release(strings);
    return status;
}

/* Reads every entry; the first status that is not OK. */
static mica_status read_all(void) {
    mica_bundle *bundle;
    MICA_TRY(mica_bundle_open(prefix, &bundle));
    mica_status status = NULL;
    for (int64_t i = 0; !status && i < mica_bundle_count(bundle); i++) {
        const mica_bundle_entry *entry = mica_bundle_entry_at(bundle, i);
        if (entry->dtype == MICA_TF_string) {
            mica_tf_value value;
            status = mica_bundle_read_strings(bundle, i, &value);
            if (!status) mica_tf_value_release(value);
        } else if (entry->size < 1000000) {
            uint8_t *bytes = mica_alloc((size_t)entry->size + 1);
            status = bytes ? mica_bundle_read(bundle, i, bytes) : MICA_NO_MEMORY();
            mica_free(bytes);
        }
    }
    mica_bundle_release(bundle);
    return status;
}

TEST(what_was_written_is_read) {
    begin();
    REQUIRE_OK(write_all());
    mica_bundle *bundle;
    REQUIRE_OK(mica_bundle_open(prefix, &bundle));
    CHECK(mica_bundle_count(bundle) == 100 + 15 + 2);
    const char *key = "layer-42/kernel/.ATTRIBUTES/VARIABLE_VALUE";
    int64_t i = mica_bundle_find(bundle, key, strlen(key));
    REQUIRE(i >= 0);
    const mica_bundle_entry *entry = mica_bundle_entry_at(bundle, i);
    CHECK(!strcmp(entry->key, key) && entry->dtype == MICA_TF_float32 && entry->rank == 2);
    CHECK(entry->dims[0] == 2 && entry->dims[1] == 1 && entry->size == 8);
    float pair[2];
    CHECK_OK(mica_bundle_read(bundle, i, pair));
    CHECK(pair[0] == 42 && pair[1] == 0.5f);
    mica_tf_value strings;
    i = mica_bundle_find(bundle, "texts", 5);
    REQUIRE_OK(mica_bundle_read_strings(bundle, i, &strings));
    size_t length;
    CHECK(!memcmp(mica_tf_strings_get(strings, 0, &length), "a", 1) && length == 1);
    (void)mica_tf_strings_get(strings, 2, &length);
    CHECK(length == 300 && mica_tf_strings_count(strings) == 3);
    mica_tf_value_release(strings);
    CHECK_FAILS(mica_bundle_read(bundle, i, pair), MICA_UNSUPPORTED, "'texts'");
    CHECK(mica_bundle_find(bundle, "text", 4) == -1);
    CHECK(!mica_bundle_entry_at(bundle, 1000));
    mica_bundle_release(bundle);
    CHECK_OK(read_all());
    finish();
}

TEST(what_cannot_be_written_is_refused) {
    begin();
    mica_bundle_writer *writer;
    float one = 1;
    CHECK_FAILS(mica_bundle_open(prefix, &(mica_bundle *){NULL}), MICA_NOT_FOUND, ".index");
    REQUIRE_OK(mica_bundle_writer_create(prefix, &writer));
    CHECK_OK(mica_bundle_writer_add(writer, "x", MICA_TF_float32, MICA_NO_INTS, &one, 4));
    CHECK_FAILS(mica_bundle_writer_add(writer, "x", MICA_TF_float32, MICA_NO_INTS, &one, 4),
                MICA_INVALID_ARGUMENT, "'x' is in");
    CHECK_FAILS(mica_bundle_writer_add(writer, "y", MICA_TF_float32, MICA_INTS(2), &one, 4),
                MICA_INVALID_ARGUMENT, "4 bytes");
    CHECK_FAILS(mica_bundle_writer_add(writer, "y", MICA_TF_string, MICA_NO_INTS, &one, 4),
                MICA_INVALID_ARGUMENT, "dtype string");
    CHECK_FAILS(mica_bundle_writer_add(writer, "", MICA_TF_float32, MICA_NO_INTS, &one, 4),
                MICA_INVALID_ARGUMENT, "needs a name");
    mica_bundle_writer_release(writer); /* and leaves nothing behind */
    CHECK_FAILS(mica_bundle_writer_create("/nowhere/at/all", &writer), MICA_NOT_FOUND, "nowhere");
    finish();
}

/* ---- damage -----------------------------------------------------------------------------------*/

static void put(const char *path, const uint8_t *bytes, size_t n) {
    mica_file_remove(path); /* a file that is cut to nothing is flushed when it is closed */
    FILE *file = fopen(path, "wb");
    REQUIRE(file);
    CHECK(fwrite(bytes, 1, n, file) == n);
    CHECK(fclose(file) == 0);
}

static void refuse_damage(const char *end, int64_t step) {
    uint8_t *bytes;
    size_t n;
    begin();
    REQUIRE_OK(write_all());
    REQUIRE_OK(mica_file_read(file_of(end), &bytes, &n));
    /* The empty block of metadata, its place and padding are not looked at. */
    bool is_index = !strcmp(end, ".index");
    io_range footer = {bytes + n - 48, 40};
    uint64_t first_unused = n;
    if (is_index) REQUIRE(io_take_varint(&footer, &first_unused));
    for (size_t i = 0; i < n; i += (size_t)step) {
        bytes[i] ^= (uint8_t)(1u << i % 8);
        put(file_of(end), bytes, n);
        mica_status status = read_all();
        mica_code code = status ? mica_status_code(status) : MICA_OK;
        bool unused = i >= first_unused && i < first_unused + 13;
        unused |= is_index && i >= n - 48 && i < n - 8;
        CHECK(code == MICA_DATA_LOSS || code == MICA_UNSUPPORTED || unused);
        mica_status_release(status);
        bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t length = 0; length < n; length += (size_t)step) {
        put(file_of(end), bytes, length);
        CHECK_FAILS(read_all(), MICA_DATA_LOSS, "");
    }
    put(file_of(end), bytes, n);
    CHECK_OK(read_all());
    mica_free(bytes);
    finish();
}

TEST(a_changed_or_cut_index_is_refused) {
    refuse_damage(".index", getenv("MICA_TEST_QUICK") ? 97 : 23);
}

TEST(changed_or_cut_data_are_refused) {
    refuse_damage(".data-00000-of-00001", getenv("MICA_TEST_QUICK") ? 41 : 11);
}

/* Damage that the sums do not show: they are made anew. */
TEST(an_index_of_nonsense_with_good_sums_is_refused_or_read_without_harm) {
    uint8_t *bytes;
    size_t n;
    begin();
    REQUIRE_OK(write_all());
    REQUIRE_OK(mica_file_read(file_of(".index"), &bytes, &n));
    io_range footer = {bytes + n - 48, 40};
    uint64_t meta, meta_size, index, index_size;
    REQUIRE(io_take_varint(&footer, &meta) && io_take_varint(&footer, &meta_size) &&
            io_take_varint(&footer, &index) && io_take_varint(&footer, &index_size));
    uint32_t random = 12345;
    int rounds = getenv("MICA_TEST_QUICK") ? 300 : 3000;
    for (int round = 0; round < rounds; round++) {
        uint8_t old[4];
        size_t places[4];
        for (int k = 0; k < 4; k++) {
            random = random * 1664525u + 1013904223u;
            places[k] = (random >> 4) % (size_t)(index + index_size);
            old[k] = bytes[places[k]];
            bytes[places[k]] = round % 3 ? (uint8_t)(random >> 24) : (uint8_t)(old[k] ^ 0x80);
        }
        uint64_t blocks[2][2] = {{0, meta - 5}, {index, index_size}};
        for (int k = 0; k < 2; k++) {
            uint8_t *block = bytes + blocks[k][0];
            size_t size = (size_t)blocks[k][1];
            block[size] = 0;
            uint32_t crc = io_crc_mask(io_crc(0, block, size + 1));
            for (int i = 0; i < 4; i++) block[size + 1 + (size_t)i] = (uint8_t)(crc >> 8 * i);
        }
        put(file_of(".index"), bytes, n);
        mica_status_release(read_all());
        for (int k = 3; k >= 0; k--) bytes[places[k]] = old[k];
    }
    mica_free(bytes);
    finish();
}

/* A table with one whole key of 60,000 bytes and many that share it: 6 bytes each. */
TEST(an_index_whose_keys_unpack_to_much_more_than_it_is_refused) {
    begin();
    io_table_writer table;
    io_table_writer_init(&table);
    table.block.interval = INT32_MAX; /* no key but the first is whole */
    static uint8_t key[60000];
    static const uint8_t header[] = {0x08, 1};
    memset(key, 'a', sizeof key);
    io_table_writer_add(&table, (io_range){NULL, 0}, (io_range){header, sizeof header});
    for (int i = 0; i < 20000; i++) {
        for (int k = 0; k < 3; k++) key[sizeof key - 1 - k] = (uint8_t)('a' + (i >> 5 * k) % 32);
        io_table_writer_add(&table, (io_range){key, sizeof key}, (io_range){NULL, 0});
    }
    REQUIRE_OK(io_table_writer_finish(&table));
    CHECK(table.bytes.length < 250000);
    REQUIRE_OK(mica_file_replace(file_of(".index"), table.bytes.data, table.bytes.length));
    io_table_writer_deinit(&table);
    CHECK_FAILS(read_all(), MICA_DATA_LOSS, "its keys are much longer than the file");
    finish();
}

TEST(running_out_of_memory_is_a_status) {
    begin();
    mica_tf_value strings = texts();
    for (int64_t n = 1; n < 100000; n = n < 60 ? n + 1 : n * 2) {
        mica_memory_fail_nth(n, false);
        mica_status status = write_with(strings);
        mica_memory_fail_nth(0, false);
        bool done = !status;
        CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        if (done) break;
    }
    mica_tf_value_release(strings);
    REQUIRE_OK(write_all());
    for (int64_t n = 1; n < 100000; n = n < 60 ? n + 1 : n * 2) {
        mica_memory_fail_nth(n, false);
        mica_status status = read_all();
        mica_memory_fail_nth(0, false);
        bool done = !status;
        CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        if (done) break;
    }
    finish();
}

TEST(a_sum_is_that_of_the_standard) {
    CHECK(io_crc(0, "123456789", 9) == 0xe3069283u);
    CHECK(io_crc(io_crc(0, "1234", 4), "56789", 5) == 0xe3069283u);
}

TEST(a_sum_by_the_instruction_is_that_of_the_tables) {
    enum { MOST = 40000 };
    uint8_t *bytes = mica_alloc(MOST);
    REQUIRE(bytes);
    for (uint32_t i = 0, x = 1; i < MOST; i++, x = x * 1664525u + 1013904223u)
        bytes[i] = (uint8_t)(x >> 24);
    for (size_t n = 0; n < MOST - 8; n = n < 20 ? n + 1 : n + 1237)
        for (size_t from = 0; from < 3; from++)
            CHECK(io_crc(7, bytes + from, n) == io_crc_by_tables(7, bytes + from, n));
    for (size_t n = 0; n < MOST; n = 3 * n + 1)
        CHECK(io_crc_join(io_crc(0, bytes, n), io_crc(0, bytes + n, MOST - n), MOST - n) ==
              io_crc(0, bytes, MOST));
    mica_free(bytes);
}

/* Made by tests/tf/saved_models/make.py. */
TEST(what_tensorflow_wrote_is_read) {
    mica_bundle *bundle;
    REQUIRE_OK(mica_bundle_open("tests/tf/saved_models/dense/variables/variables", &bundle));
    const char *key = "w/.ATTRIBUTES/VARIABLE_VALUE";
    int64_t i = mica_bundle_find(bundle, key, strlen(key));
    REQUIRE(i >= 0);
    float w[6];
    CHECK(mica_bundle_entry_at(bundle, i)->size == sizeof w);
    CHECK_OK(mica_bundle_read(bundle, i, w));
    for (int k = 0; k < 6; k++) CHECK(w[k] == (float)k);
    mica_tf_value graph;
    key = "_CHECKPOINTABLE_OBJECT_GRAPH";
    i = mica_bundle_find(bundle, key, strlen(key));
    REQUIRE_OK(mica_bundle_read_strings(bundle, i, &graph));
    CHECK(mica_tf_strings_count(graph) == 1);
    mica_tf_value_release(graph);
    mica_bundle_release(bundle);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

/* ---- replacing --------------------------------------------------------------------------------*/

static mica_status write_number(float value) {
    mica_bundle_writer *writer;
    MICA_TRY(mica_bundle_writer_create(prefix, &writer));
    mica_status status =
        mica_bundle_writer_add(writer, "x", MICA_TF_float32, MICA_NO_INTS, &value, 4);
    if (!status) status = mica_bundle_writer_finish(writer);
    mica_bundle_writer_release(writer);
    return status;
}

static float read_number(mica_bundle *bundle) {
    float value = -1;
    CHECK_OK(mica_bundle_read(bundle, 0, &value));
    return value;
}

static float number(void) {
    mica_bundle *bundle = NULL;
    CHECK_OK(mica_bundle_open(prefix, &bundle));
    float value = bundle ? read_number(bundle) : -1;
    mica_bundle_release(bundle);
    return value;
}

static bool is_there(const char *end) {
    return access(file_of(end), F_OK) == 0;
}

TEST(a_new_bundle_has_its_elements_in_a_file_that_the_old_one_does_not_use) {
    begin();
    for (int i = 1; i <= 4; i++) {
        REQUIRE_OK(write_number((float)i));
        CHECK(number() == (float)i);
        CHECK(is_there(".data-00000-of-00001") == (i % 2 == 1));
        CHECK(is_there(".data-00000-of-00002") == (i % 2 == 0));
    }
    finish();
}

TEST(who_reads_a_bundle_reads_it_to_its_end_while_it_is_replaced) {
    begin();
    mica_bundle *bundle;
    REQUIRE_OK(write_number(1));
    REQUIRE_OK(mica_bundle_open(prefix, &bundle));
    REQUIRE_OK(write_number(2));
    REQUIRE_OK(write_number(3));
    CHECK(read_number(bundle) == 1 && number() == 3);
    mica_bundle_release(bundle);
    finish();
}

TEST(of_several_writers_of_one_bundle_the_last_wins) {
    begin();
    mica_bundle_writer *writers[3];
    for (int i = 0; i < 3; i++) {
        float value = (float)i;
        REQUIRE_OK(mica_bundle_writer_create(prefix, &writers[i]));
        CHECK_OK(mica_bundle_writer_add(writers[i], "x", MICA_TF_float32, MICA_NO_INTS, &value, 4));
    }
    CHECK_OK(mica_bundle_writer_finish(writers[2]));
    CHECK(number() == 2);
    CHECK(is_there(".data-00000-of-00001") && is_there(".data-00000-of-00002")); /* being written */
    CHECK_OK(mica_bundle_writer_finish(writers[0]));
    CHECK(number() == 0);
    mica_bundle_writer_release(writers[2]);
    mica_bundle_writer_release(writers[1]); /* changes nothing */
    CHECK(number() == 0);
    mica_bundle_writer_release(writers[0]);
    REQUIRE_OK(write_number(5));
    CHECK(number() == 5);
    CHECK(!is_there(".data-00000-of-00001") && !is_there(".data-00000-of-00003"));
    finish();
}

TEST(what_a_killed_writer_left_is_not_used_and_goes_with_the_next) {
    begin();
    REQUIRE_OK(write_number(1));
    put(file_of(".data-00000-of-00002"), (const uint8_t *)"half", 4);
    put(file_of(".index.12345-1.part"), (const uint8_t *)"half", 4);
    REQUIRE(symlink("/nowhere", file_of(".data-00000-of-00003")) == 0);
    REQUIRE_OK(write_number(2));
    CHECK(number() == 2);
    CHECK(is_there(".data-00000-of-00004") && !is_there(".data-00000-of-00001"));
    CHECK(!is_there(".data-00000-of-00002") && !is_there(".index.12345-1.part"));
    CHECK(access("/nowhere", F_OK) != 0);
    mica_file_remove(file_of(".data-00000-of-00003"));
    finish();
}

TEST(many_keys_are_written_and_given_once) {
    begin();
    mica_bundle_writer *writer;
    REQUIRE_OK(mica_bundle_writer_create(prefix, &writer));
    float one = 1;
    for (int i = 0; i < 20000; i++) {
        char key[32];
        snprintf(key, sizeof key, "%d", i * 7919);
        REQUIRE_OK(mica_bundle_writer_add(writer, key, MICA_TF_float32, MICA_NO_INTS, &one, 4));
    }
    CHECK_FAILS(mica_bundle_writer_add(writer, "7919", MICA_TF_float32, MICA_NO_INTS, &one, 4),
                MICA_INVALID_ARGUMENT, "already");
    CHECK_OK(mica_bundle_writer_finish(writer));
    CHECK_FAILS(mica_bundle_writer_finish(writer), MICA_FAILED_PRECONDITION, "is finished");
    CHECK_FAILS(mica_bundle_writer_add(writer, "z", MICA_TF_float32, MICA_NO_INTS, &one, 4),
                MICA_FAILED_PRECONDITION, "after the end");
    mica_bundle_writer_release(writer);
    mica_bundle *bundle;
    REQUIRE_OK(mica_bundle_open(prefix, &bundle));
    CHECK(mica_bundle_count(bundle) == 20000);
    mica_bundle_release(bundle);
    finish();
}
