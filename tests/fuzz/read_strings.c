/* Tensors of strings in a bundle: the first byte says how many, the rest is the data. The sums are
 * made right where the lengths can be followed. */
#include <string.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "io/table.h"
#include "mica/io.h"

/* Puts the sum of the lengths behind them and returns the sum of all. */
static uint32_t mend_sums(uint8_t *bytes, size_t size, int n) {
    io_range rest = {bytes, size}, text;
    uint32_t crc = 0;
    uint64_t lengths[256];
    for (int i = 0; i < n; i++) {
        if (!io_take_varint(&rest, &lengths[i])) return 0;
        uint8_t word[8];
        for (int k = 0; k < 8; k++) word[k] = (uint8_t)(lengths[i] >> 8 * k);
        crc = io_crc(crc, word, lengths[i] <= UINT32_MAX ? 4 : 8);
    }
    if (rest.n < 4) return 0;
    uint8_t *stored = bytes + (size - rest.n);
    uint32_t masked = io_crc_mask(crc);
    for (int k = 0; k < 4; k++) stored[k] = (uint8_t)(masked >> 8 * k);
    crc = io_crc(crc, stored, 4);
    if (!io_take(&rest, 4, &text)) return 0;
    for (int i = 0; i < n; i++) {
        if (lengths[i] > rest.n || !io_take(&rest, (size_t)lengths[i], &text)) return 0;
        crc = io_crc(crc, text.data, text.n);
    }
    return crc;
}

static bool write_index(uint64_t n_strings, uint64_t size, uint32_t crc) {
    io_table_writer table;
    mica_text message, shape, dim;
    static const uint8_t header[] = {0x08, 1, 0x1a, 2, 0x08, 1};
    io_table_writer_init(&table);
    mica_text_init(&message);
    mica_text_init(&shape);
    mica_text_init(&dim);
    io_put_number(&dim, 1, n_strings);
    io_put_part(&shape, 2, dim.data, dim.length);
    io_put_number(&message, 1, MICA_TF_string);
    io_put_part(&message, 2, shape.data, shape.length);
    io_put_number(&message, 5, size);
    io_put_fixed32(&message, 6, io_crc_mask(crc));
    io_table_writer_add(&table, (io_range){NULL, 0}, (io_range){header, sizeof header});
    io_table_writer_add(&table, (io_range){(const uint8_t *)"s", 1},
                        (io_range){(const uint8_t *)message.data, message.length});
    bool is_written = !message.failed && read_done(io_table_writer_finish(&table));
    if (is_written) read_write_file(read_path(".index"), table.bytes.data, table.bytes.length);
    mica_text_deinit(&message);
    mica_text_deinit(&shape);
    mica_text_deinit(&dim);
    io_table_writer_deinit(&table);
    return is_written;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    if (size < 1) return 0;
    uint8_t *data = malloc(size);
    read_check(data != NULL);
    memcpy(data, bytes + 1, size - 1);
    bool is_written = write_index(bytes[0], size - 1, mend_sums(data, size - 1, bytes[0]));
    read_write_file(read_path(".data-00000-of-00001"), data, size - 1);
    mica_bundle *bundle = NULL;
    mica_tf_value strings = {0};
    bool is_open = is_written && read_done(mica_bundle_open(read_path(""), &bundle));
    mica_status status = is_open ? mica_bundle_read_strings(bundle, 0, &strings) : NULL;
    if (is_open && !status) {
        read_check(mica_tf_strings_count(strings) == bytes[0]);
        size_t total = 0, length;
        for (int i = 0; i < bytes[0]; i++) {
            const char *text = mica_tf_strings_get(strings, i, &length);
            for (size_t k = 0; k < length; k++) total += (unsigned char)text[k];
        }
        read_check(total <= 255 * size);
    }
    mica_status_release(status);
    mica_tf_value_release(strings);
    mica_bundle_release(bundle);
    free(data);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
