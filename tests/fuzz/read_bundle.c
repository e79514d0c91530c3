/* Bundles: the first two bytes say how many of the next are the data file, the rest is the index.
 * The sums of the index's blocks are made right, so that what stands behind them is reached. */
#include <string.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "io/table.h"
#include "mica/io.h"

#define FOOTER 48
#define TRAILER 5

static void mend_sum(uint8_t *bytes, size_t n, uint64_t offset, uint64_t size) {
    if (n < TRAILER || size > n - TRAILER || offset > n - TRAILER - size) return;
    uint8_t *block = bytes + offset;
    block[size] = 0;
    uint32_t crc = io_crc_mask(io_crc(0, block, (size_t)size + 1));
    for (int i = 0; i < 4; i++) block[size + 1 + (uint64_t)i] = (uint8_t)(crc >> 8 * i);
}

/* The blocks that the index's pairs name, as far as they can be followed, then its own. */
static void mend_sums(uint8_t *bytes, size_t n) {
    uint64_t offset, size, shared, rest, length, at, extent;
    if (n < FOOTER) return;
    io_range footer = {bytes + n - FOOTER, FOOTER - 8}, value;
    if (!io_take_varint(&footer, &offset) || !io_take_varint(&footer, &size) ||
        !io_take_varint(&footer, &offset) || !io_take_varint(&footer, &size) || size > n ||
        offset > n - size)
        return;
    io_range block = {bytes + offset, (size_t)size};
    for (int i = 0; i < 100; i++) {
        if (!io_take_varint(&block, &shared) || !io_take_varint(&block, &rest) ||
            !io_take_varint(&block, &length) || rest > block.n ||
            !io_take(&block, (size_t)rest, &value) || length > block.n ||
            !io_take(&block, (size_t)length, &value))
            break;
        if (io_take_varint(&value, &at) && io_take_varint(&value, &extent))
            mend_sum(bytes, n, at, extent);
    }
    mend_sum(bytes, n, offset, size);
}

static void read_entries(mica_bundle *bundle) {
    for (int64_t i = 0; i < mica_bundle_count(bundle) && i < 200; i++) {
        const mica_bundle_entry *entry = mica_bundle_entry_at(bundle, i);
        read_check(mica_bundle_find(bundle, entry->key, entry->key_length) == i);
        mica_tf_value strings = {0};
        if (entry->dtype == MICA_TF_string) {
            mica_status_release(mica_bundle_read_strings(bundle, i, &strings));
            mica_tf_value_release(strings);
        } else if (entry->size < 100000) {
            uint8_t *bytes = malloc((size_t)entry->size + 1);
            read_check(bytes != NULL);
            mica_status_release(mica_bundle_read(bundle, i, bytes));
            free(bytes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    if (size < 2) return 0;
    size_t n_data = (size_t)bytes[0] | (size_t)bytes[1] << 8;
    if (n_data > size - 2) n_data = size - 2;
    size_t n = size - 2 - n_data;
    uint8_t *index = malloc(n + 1);
    read_check(index != NULL);
    memcpy(index, bytes + 2 + n_data, n);
    mend_sums(index, n);
    read_write_file(read_path(".data-00000-of-00001"), bytes + 2, n_data);
    read_write_file(read_path(".index"), index, n);
    mica_bundle *bundle = NULL;
    mica_status status = mica_bundle_open(read_path(""), &bundle);
    read_check((bundle == NULL) == (status != NULL));
    mica_status_release(status);
    if (bundle) read_entries(bundle);
    mica_bundle_release(bundle);
    free(index);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
