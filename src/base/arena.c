#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_CHUNK 4096
#define LARGEST_CHUNK (1 << 20)

struct mica_arena_chunk {
    struct mica_arena_chunk *next;
    size_t used, capacity;
    _Alignas(16) unsigned char bytes[];
};

void mica_arena_init(mica_arena *arena) {
    arena->chunks = NULL;
}

void mica_arena_deinit(mica_arena *arena) {
    struct mica_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct mica_arena_chunk *next = chunk->next;
        mica_free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}

static struct mica_arena_chunk *grow(mica_arena *arena, size_t bytes) {
    size_t capacity = arena->chunks ? arena->chunks->capacity * 2 : FIRST_CHUNK;
    if (capacity > LARGEST_CHUNK) capacity = LARGEST_CHUNK;
    if (capacity < bytes) capacity = bytes;
    struct mica_arena_chunk *chunk = mica_alloc(sizeof *chunk + capacity);
    if (!chunk) return NULL;
    *chunk = (struct mica_arena_chunk){.next = arena->chunks, .capacity = capacity};
    arena->chunks = chunk;
    return chunk;
}

void *mica_arena_alloc(mica_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX - 64 - sizeof(struct mica_arena_chunk)) return NULL;
    if (mica_memory_arena_must_fail()) return NULL;
    bytes = (bytes + 15) / 16 * 16;
    struct mica_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->capacity - chunk->used < bytes) {
        chunk = grow(arena, bytes);
        if (!chunk) return NULL;
    }
    void *block = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memset(block, 0, bytes);
}

void *mica_arena_copy(mica_arena *arena, const void *data, size_t bytes) {
    void *copy = mica_arena_alloc(arena, bytes);
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

char *mica_arena_strdup(mica_arena *arena, const char *text) {
    return mica_arena_copy(arena, text, strlen(text) + 1);
}
