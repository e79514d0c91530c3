#include "io/table.h"

#include <string.h>

#include "base/memory.h"

#define FOOTER_SIZE 48
#define TRAILER_SIZE 5 /* the kind of compression and a sum */
#define MAGIC UINT64_C(0xdb4775248b80fb57)
#define BLOCK_SIZE 262144
#define MOST_OF_A_KEY 65536
/* Writers write every 16th key whole, so keys in sum are at most 16 times as long as what is stored
 * of them. A table whose keys share more is one that unpacks to much more than its size. */
#define MOST_PER_BYTE 16

/* ---- reading ----------------------------------------------------------------------------------*/

typedef struct reader {
    io_range bytes;
    const char *path;
    uint64_t n_keys; /* bytes of all keys so far */
} reader;

static mica_status damaged(const reader *r, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[table] %s is damaged: %s", r->path, what);
}

static bool take_handle(io_range *from, uint64_t *offset, uint64_t *size) {
    return io_take_varint(from, offset) && io_take_varint(from, size);
}

/* The block's pairs and places, when its sum is right. */
static mica_status find_block(const reader *r, uint64_t offset, uint64_t size, io_range *out) {
    uint64_t n = r->bytes.n;
    if (n < TRAILER_SIZE || size > n - TRAILER_SIZE || offset > n - TRAILER_SIZE - size)
        return damaged(r, "a block is outside of it");
    const uint8_t *block = r->bytes.data + offset;
    if (io_crc_mask(io_crc(0, block, (size_t)size + 1)) != io_read_u32(block + size + 1))
        return damaged(r, "the checksum of a block is wrong");
    if (block[size] != 0)
        return MICA_ERROR(MICA_UNSUPPORTED, "[table] %s has compressed blocks (kind %d)", r->path,
                          block[size]);
    *out = (io_range){block, (size_t)size};
    return NULL;
}

/* Takes the places of whole keys off the end: they are for searching. */
static mica_status drop_places(const reader *r, io_range *block) {
    if (block->n < 4) return damaged(r, "a block is too short");
    uint64_t n = io_read_u32(block->data + block->n - 4);
    if (n > (block->n - 4) / 4) return damaged(r, "a block has no room for its restarts");
    block->n -= 4 + 4 * (size_t)n;
    return NULL;
}

static mica_status visit_pairs(reader *r, io_range block, io_visit visit, void *context) {
    MICA_TRY(drop_places(r, &block));
    mica_text key;
    mica_text_init(&key);
    mica_status status = NULL;
    while (!status && block.n > 0) {
        uint64_t shared, rest, length;
        io_range tail, value;
        if (!io_take_varint(&block, &shared) || !io_take_varint(&block, &rest) ||
            !io_take_varint(&block, &length) || shared > key.length || rest > block.n ||
            shared + rest > MOST_OF_A_KEY || !io_take(&block, (size_t)rest, &tail) ||
            length > block.n || !io_take(&block, (size_t)length, &value)) {
            status = damaged(r, "a pair of a block is cut off");
            break;
        }
        r->n_keys += shared + rest;
        if (r->n_keys / MOST_PER_BYTE > r->bytes.n) {
            status = damaged(r, "its keys are much longer than the file");
            break;
        }
        key.length = (size_t)shared;
        if (tail.n > 0) mica_text_append_bytes(&key, tail.data, tail.n);
        if (mica_text_is_failed(&key))
            status = MICA_NO_MEMORY();
        else
            status = visit(context, (io_range){(uint8_t *)mica_text_data(&key), key.length}, value);
    }
    mica_text_deinit(&key);
    return status;
}

typedef struct index_visit {
    reader *r;
    io_visit visit;
    void *context;
} index_visit;

static mica_status visit_block(void *context, io_range key, io_range value) {
    const index_visit *v = context;
    uint64_t offset, size;
    io_range block;
    (void)key;
    if (!take_handle(&value, &offset, &size)) return damaged(v->r, "a block's place is cut off");
    MICA_TRY(find_block(v->r, offset, size, &block));
    return visit_pairs(v->r, block, v->visit, v->context);
}

mica_status io_table_read(io_range bytes, const char *path, io_visit visit, void *context) {
    reader r = {bytes, path, 0};
    index_visit each = {&r, visit, context};
    uint64_t offset, size;
    io_range block;
    if (bytes.n < FOOTER_SIZE) return damaged(&r, "it is too short");
    io_range footer = {bytes.data + bytes.n - FOOTER_SIZE, FOOTER_SIZE};
    uint64_t magic = io_read_u32(footer.data + FOOTER_SIZE - 8) |
                     (uint64_t)io_read_u32(footer.data + FOOTER_SIZE - 4) << 32;
    if (magic != MAGIC) return damaged(&r, "it does not end as a table does");
    footer.n -= 8;
    if (!take_handle(&footer, &offset, &size) || !take_handle(&footer, &offset, &size))
        return damaged(&r, "its footer is cut off");
    MICA_TRY(find_block(&r, offset, size, &block));
    return visit_pairs(&r, block, visit_block, &each);
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void block_init(io_table_block *block, int32_t interval) {
    *block = (io_table_block){.interval = interval};
    mica_text_init(&block->bytes);
    mica_text_init(&block->last);
    mica_text_init(&block->places);
}

static void block_deinit(io_table_block *block) {
    mica_text_deinit(&block->bytes);
    mica_text_deinit(&block->last);
    mica_text_deinit(&block->places);
}

static void block_clear(io_table_block *block) {
    mica_text_clear(&block->bytes);
    mica_text_clear(&block->last);
    mica_text_clear(&block->places);
    block->since = 0;
    block->n_places = 0;
    block->count = 0;
}

static void block_add(io_table_block *block, io_range key, io_range value) {
    size_t shared = 0;
    if (block->since == block->interval || block->count == 0) {
        io_put_u32(&block->places, (uint32_t)block->bytes.length);
        block->n_places++;
        block->since = 0;
    } else {
        while (shared < key.n && shared < block->last.length &&
               key.data[shared] == (uint8_t)block->last.data[shared])
            shared++;
    }
    io_put_varint(&block->bytes, shared);
    io_put_varint(&block->bytes, key.n - shared);
    io_put_varint(&block->bytes, value.n);
    if (key.n > shared) mica_text_append_bytes(&block->bytes, key.data + shared, key.n - shared);
    if (value.n > 0) mica_text_append_bytes(&block->bytes, value.data, value.n);
    mica_text_clear(&block->last);
    if (key.n > 0) mica_text_append_bytes(&block->last, key.data, key.n);
    block->since++;
    block->count++;
}

/* Appends the block with its trailer; its place goes to `handle`. */
static void write_block(mica_text *to, io_table_block *block, mica_text *handle) {
    uint64_t offset = to->length;
    if (block->count == 0) { /* an empty block has one place too */
        io_put_u32(&block->places, 0);
        block->n_places = 1;
    }
    io_put_u32(&block->places, block->n_places);
    if (block->bytes.length > 0) mica_text_append_bytes(to, block->bytes.data, block->bytes.length);
    if (block->places.length > 0)
        mica_text_append_bytes(to, block->places.data, block->places.length);
    uint64_t size = to->length - offset;
    mica_text_append_char(to, 0);
    if (!mica_text_is_failed(to))
        io_put_u32(to, io_crc_mask(io_crc(0, to->data + offset, (size_t)size + 1)));
    io_put_varint(handle, offset);
    io_put_varint(handle, size);
}

static void flush(io_table_writer *w) {
    if (w->block.count == 0) return;
    mica_text handle;
    mica_text_init(&handle);
    write_block(&w->bytes, &w->block, &handle);
    io_range last = {(const uint8_t *)w->block.last.data, w->block.last.length};
    block_add(&w->index, last, (io_range){(const uint8_t *)handle.data, handle.length});
    w->bytes.failed |= handle.failed;
    mica_text_deinit(&handle);
    block_clear(&w->block);
}

void io_table_writer_init(io_table_writer *w) {
    mica_text_init(&w->bytes);
    block_init(&w->block, 16);
    block_init(&w->index, 1);
}

void io_table_writer_deinit(io_table_writer *w) {
    mica_text_deinit(&w->bytes);
    block_deinit(&w->block);
    block_deinit(&w->index);
}

void io_table_writer_add(io_table_writer *w, io_range key, io_range value) {
    block_add(&w->block, key, value);
    if (w->block.bytes.length >= BLOCK_SIZE) flush(w);
}

static bool block_is_failed(const io_table_block *block) {
    return block->bytes.failed || block->last.failed || block->places.failed;
}

mica_status io_table_writer_finish(io_table_writer *w) {
    mica_text footer;
    io_table_block meta; /* nothing is kept there */
    mica_text_init(&footer);
    block_init(&meta, 1);
    flush(w);
    write_block(&w->bytes, &meta, &footer);
    write_block(&w->bytes, &w->index, &footer);
    while (footer.length < FOOTER_SIZE - 8 && !footer.failed) mica_text_append_char(&footer, 0);
    io_put_u64(&footer, MAGIC);
    if (!footer.failed) mica_text_append_bytes(&w->bytes, footer.data, footer.length);
    bool failed = footer.failed || w->bytes.failed || block_is_failed(&w->block) ||
                  block_is_failed(&w->index) || block_is_failed(&meta);
    mica_text_deinit(&footer);
    block_deinit(&meta);
    return failed ? MICA_NO_MEMORY() : NULL;
}
