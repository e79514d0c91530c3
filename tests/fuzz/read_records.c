/* TFRecord files. The first byte says how the rest is read: as it is, as ZLIB or as GZIP, and
 * whether the sums of records are made right first, so that what stands behind them is reached. */
#include <string.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "io/wire.h"
#include "mica/records.h"

static void mend_sum(uint8_t *bytes, size_t n) {
    uint32_t crc = io_crc_mask(io_crc(0, bytes, n));
    for (size_t i = 0; i < 4; i++) bytes[n + i] = (uint8_t)(crc >> 8 * i);
}

static void mend_sums(uint8_t *bytes, size_t n) {
    while (n >= 16) {
        size_t length = (size_t)io_read_u32(bytes);
        mend_sum(bytes, 8);
        if (io_read_u32(bytes + 4) || length > n - 16) return;
        mend_sum(bytes + 12, length);
        bytes += 16 + length;
        n -= 16 + length;
    }
}

static void read_records(const char *compression, size_t size) {
    mica_record_reader *reader = NULL;
    const uint8_t *record;
    size_t n;
    uint64_t sum = 0;
    bool end = false;
    mica_status status = mica_record_reader_open(read_path(""), compression, 16, &reader);
    for (int i = 0; !status && !end && i < 1000; i++) {
        status = mica_record_reader_next(reader, &record, &n, &end);
        if (status || end) break;
        read_check(n <= (size + 1) * 2000);
        for (size_t k = 0; k < n; k++) sum += record[k];
    }
    read_check(sum < UINT64_MAX);
    mica_status_release(status);
    mica_record_reader_release(reader);
}

static void read_lines(const char *compression) {
    mica_file_reader *reader = NULL;
    const uint8_t *line;
    size_t n;
    bool end = false;
    mica_status status = mica_file_reader_open(read_path(""), compression, 16, &reader);
    for (int i = 0; !status && !end && i < 1000; i++) {
        status = mica_file_reader_line(reader, &line, &n, &end);
        if (!status && n > 0) read_check(!memchr(line, '\n', n));
        if (!status && i % 3 == 0) status = mica_file_reader_skip(reader, 2);
    }
    mica_status_release(status);
    mica_file_reader_release(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char *const compressions[] = {"", "ZLIB", "GZIP", ""};
    int64_t blocks = mica_memory_live_blocks();
    if (size < 1) return 0;
    uint8_t *copy = malloc(size);
    read_check(copy != NULL);
    memcpy(copy, bytes + 1, size - 1);
    if ((bytes[0] & 3) == 0) mend_sums(copy, size - 1);
    read_write_file(read_path(""), copy, size - 1);
    read_records(compressions[bytes[0] & 3], size);
    read_lines(compressions[bytes[0] & 3]);
    free(copy);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
