/* base/arena.h: memory that is freed all at once. Blocks never move. */
#ifndef MICA_BASE_ARENA_H
#define MICA_BASE_ARENA_H

#include <stddef.h>

typedef struct mica_arena {
    struct mica_arena_chunk *chunks; /* newest first */
} mica_arena;

void mica_arena_init(mica_arena *arena);
void mica_arena_deinit(mica_arena *arena);
/* Zeroed; NULL when out of memory; aligned to 16. A size of 0 gives a valid pointer. */
void *mica_arena_alloc(mica_arena *arena, size_t bytes);
void *mica_arena_copy(mica_arena *arena, const void *data, size_t bytes);
char *mica_arena_strdup(mica_arena *arena, const char *text);

#endif
