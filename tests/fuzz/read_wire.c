/* Fields of messages, inside each other: none is outside of what holds it, and numbers that are
 * written are read again. */
#include "fuzz/reader.h"
#include "io/wire.h"

static void read_message(io_range message, int depth) {
    io_field field;
    const uint8_t *end = message.data + message.n;
    while (io_take_field(&message, &field)) {
        read_check(message.data + message.n == end);
        if (field.wire == IO_LENGTH) {
            read_check(field.part.data >= message.data - field.part.n - 10);
            read_check(field.part.data + field.part.n == message.data);
            if (depth < 50) read_message(field.part, depth + 1);
        }
        if (field.wire != IO_VARINT) continue;
        mica_text text;
        mica_text_init(&text);
        io_put_varint(&text, field.value);
        io_range written = {(const uint8_t *)text.data, text.length};
        uint64_t value = ~field.value;
        bool is_read = io_take_varint(&written, &value) && value == field.value && written.n == 0;
        read_check(is_read || text.failed);
        mica_text_deinit(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    if (size > 0) read_message((io_range){bytes, size}, 0);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
