/* Files of records: what was written is read, old files stay until new ones are whole, what is cut
 * off or damaged is refused with its place. */
#include <unistd.h>

#include "base/platform.h"
#include "io/records.h"
#include "io/wire.h"
#include "io/zlib.h"
#include "mica/mica.h"
#include "test.h"

static char folder[256];

static const char *path_of(const char *name) {
    static char path[400];
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

static const char *const records[] = {"first", "", "the third"};

static mica_status write_records(const char *path, const char *compression, bool is_finished) {
    mica_record_options options = {.size = sizeof options, .compression = compression, .level = -1};
    mica_record_writer *writer;
    MICA_TRY(mica_record_writer_create(path, &options, &writer));
    mica_status status = NULL;
    for (int i = 0; !status && i < 3; i++)
        status = mica_record_writer_append(writer, records[i], strlen(records[i]));
    if (!status && is_finished) status = mica_record_writer_finish(writer);
    mica_record_writer_release(writer);
    return status;
}

static mica_status count_records(const char *path, const char *compression, int *out_n) {
    mica_record_reader *reader;
    const uint8_t *bytes;
    size_t n;
    bool end = false;
    *out_n = 0;
    MICA_TRY(mica_record_reader_open(path, compression, 16, &reader));
    mica_status status = NULL;
    while (!status && !end) {
        status = mica_record_reader_next(reader, &bytes, &n, &end);
        if (status || end) break;
        const char *expected = records[*out_n % 3];
        CHECK(n == strlen(expected) && !memcmp(bytes, expected, n));
        ++*out_n;
    }
    mica_record_reader_release(reader);
    return status;
}

static bool has_zlib(void) {
    const io_zlib *zlib;
    mica_status status = io_zlib_find(&zlib);
    mica_status_release(status);
    return !status;
}

TEST(records_are_read_as_they_were_written) {
    static const char *const compressions[] = {"", "ZLIB", "GZIP"};
    begin();
    for (int i = 0; i < (has_zlib() ? 3 : 1); i++) {
        int n;
        CHECK_OK(write_records(path_of("records"), compressions[i], true));
        CHECK_OK(count_records(path_of("records"), compressions[i], &n));
        CHECK(n == 3);
    }
    mica_status status = write_records(path_of("records"), "LZ4", true);
    CHECK_FAILS(status, MICA_INVALID_ARGUMENT, "'LZ4'");
    finish();
}

TEST(the_old_file_stays_until_the_new_one_is_whole) {
    int n;
    uint64_t size;
    int64_t changed;
    begin();
    CHECK_OK(write_records(path_of("records"), "", true));
    mica_record_writer *writer;
    CHECK_OK(mica_record_writer_create(path_of("records"), NULL, &writer));
    CHECK_OK(mica_record_writer_append(writer, "first", 5));
    CHECK_OK(count_records(path_of("records"), "", &n));
    CHECK(n == 3);
    CHECK_OK(mica_record_writer_flush(writer));
    CHECK_OK(count_records(path_of("records"), "", &n));
    CHECK(n == 1);
    CHECK_OK(mica_record_writer_append(writer, "", 0));
    CHECK_OK(mica_record_writer_finish(writer));
    CHECK_FAILS(mica_record_writer_append(writer, "", 0), MICA_FAILED_PRECONDITION, "closed");
    mica_record_writer_release(writer);
    CHECK_OK(count_records(path_of("records"), "", &n));
    CHECK(n == 2);
    CHECK_OK(write_records(path_of("unfinished"), "", false));
    CHECK(!mica_file_describe(path_of("unfinished"), &size, &changed));
    finish();
}

TEST(a_damaged_record_is_data_loss_with_its_place) {
    uint8_t *bytes;
    size_t size;
    int n;
    begin();
    CHECK_OK(write_records(path_of("records"), "", true));
    CHECK_OK(mica_file_read(path_of("records"), &bytes, &size));
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 4;
        CHECK_OK(mica_file_write_atomic(path_of("damaged"), bytes, size));
        bytes[i] ^= 4;
        CHECK_FAILS(count_records(path_of("damaged"), "", &n), MICA_DATA_LOSS, "damaged: ");
        CHECK(n == (i < 21 ? 0 : i < 37 ? 1 : 2));
    }
    for (size_t i = 1; i < size; i++) {
        CHECK_OK(mica_file_write_atomic(path_of("cut"), bytes, i));
        mica_status status = count_records(path_of("cut"), "", &n);
        if (i == 21 || i == 37)
            CHECK_OK(status);
        else
            CHECK_FAILS(status, MICA_DATA_LOSS, i < 21 ? "record at offset 0" : "at offset");
    }
    mica_free(bytes);
    finish();
}

TEST(a_length_that_the_file_does_not_have_costs_no_memory) {
    uint8_t header[12] = {0, 0, 0, 0, 0, 1};
    int n;
    begin();
    uint32_t sum = io_crc_mask(io_crc(0, header, 8));
    for (int i = 0; i < 4; i++) header[8 + i] = (uint8_t)(sum >> 8 * i);
    CHECK_OK(mica_file_write_atomic(path_of("records"), header, sizeof header));
    int64_t before = mica_memory_live_bytes();
    CHECK_FAILS(count_records(path_of("records"), "", &n), MICA_DATA_LOSS, "truncated record");
    CHECK(mica_memory_live_bytes() == before);
    finish();
}

TEST(an_allocation_that_fails_leaves_a_status_and_no_memory) {
    int n;
    begin();
    for (int64_t nth = 1; nth < 100; nth++) {
        mica_memory_fail_nth(nth, false);
        mica_status status = write_records(path_of("records"), has_zlib() ? "GZIP" : "", true);
        if (!status) status = count_records(path_of("records"), has_zlib() ? "GZIP" : "", &n);
        mica_memory_fail_nth(0, false);
        if (!status) break;
        CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
    }
    finish();
}

TEST(lines_and_pieces_of_a_file) {
    static const char text[] = "a\rb\r\nsecond\n\nlast";
    static const char *const lines[] = {"ab", "second", "", "last"};
    mica_file_reader *reader;
    const uint8_t *bytes;
    size_t n;
    bool end;
    begin();
    CHECK_OK(mica_file_write_atomic(path_of("text"), text, strlen(text)));
    CHECK_OK(mica_file_reader_open(path_of("text"), NULL, 1, &reader));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(mica_file_reader_line(reader, &bytes, &n, &end));
        CHECK(!end && n == strlen(lines[i]) && !memcmp(bytes, lines[i], n));
    }
    CHECK_OK(mica_file_reader_line(reader, &bytes, &n, &end));
    CHECK(end && mica_file_reader_offset(reader) == strlen(text));
    mica_file_reader_release(reader);
    CHECK_OK(mica_file_reader_open(path_of("text"), NULL, 0, &reader));
    CHECK_OK(mica_file_reader_skip(reader, 5));
    CHECK_OK(mica_file_reader_take(reader, 6, &bytes, &n));
    CHECK(n == 6 && !memcmp(bytes, "second", 6));
    CHECK_OK(mica_file_reader_take(reader, 100, &bytes, &n));
    CHECK(n == 6 && !memcmp(bytes, "\n\nlast", 6));
    mica_file_reader_release(reader);
    finish();
}

static char event_path[600];

static void note_event(void *context, const char *name) {
    (void)context;
    CHECK(!strncmp(name, "events.out.tfevents.", 20) && strstr(name, ".v2"));
    snprintf(event_path, sizeof event_path, "%s/logs/run/%s", folder, name);
}

/* The first event says the version; every tensor is one more. */
TEST(events_are_records_of_one_file) {
    mica_event_writer *writer;
    mica_tf_value strings;
    mica_record_reader *reader;
    const uint8_t *bytes;
    size_t n;
    bool end = false;
    int count = 0;
    begin();
    CHECK_OK(mica_event_writer_create(path_of("logs/run"), ".v2", 10, 100000, &writer));
    const char *texts[] = {"one", "two"};
    CHECK_OK(mica_tf_strings_create(MICA_INTS(2), texts, (const size_t[]){3, 3}, &strings));
    CHECK_OK(mica_event_writer_add_tensor(writer, 7, "words", 5, strings, "\n\0", 2));
    CHECK_FAILS(mica_event_writer_add_event(writer, "\xff", 1), MICA_INVALID_ARGUMENT, "message");
    CHECK_OK(mica_event_writer_flush(writer));
    mica_folder_visit(path_of("logs/run"), note_event, NULL);
    CHECK_OK(mica_record_reader_open(event_path, NULL, 0, &reader));
    for (;; count++) {
        CHECK_OK(mica_record_reader_next(reader, &bytes, &n, &end));
        if (end) break;
        CHECK(n > 9 && bytes[0] == 9);
        if (count == 1) CHECK(bytes[9] == 0x10 && bytes[10] == 7 && bytes[11] == 0x2a);
    }
    CHECK(count == 2);
    mica_record_reader_release(reader);
    CHECK_OK(mica_event_writer_finish(writer));
    CHECK_FAILS(mica_event_writer_flush(writer), MICA_FAILED_PRECONDITION, "closed");
    mica_event_writer_release(writer);
    mica_tf_value_release(strings);
    finish();
}
