#include "io/names.h"

#include <string.h>

#include "base/hash.h"

typedef struct io_name {
    io_range name;
    int32_t number;
    bool is_used;
} io_name;

mica_status io_names_init(io_names *names, mica_arena *arena, int64_t n) {
    size_t n_slots = 4;
    while (n_slots < 2 * (size_t)n) n_slots *= 2;
    names->slots = mica_arena_alloc(arena, n_slots * sizeof *names->slots);
    names->n_slots = n_slots;
    return names->slots ? NULL : MICA_NO_MEMORY();
}

static io_name *slot_of(const io_names *names, io_range name) {
    size_t mask = names->n_slots - 1;
    size_t at = (size_t)mica_hash_bytes(MICA_HASH_SEED, name.data, name.n) & mask;
    while (names->slots[at].is_used && !io_same(names->slots[at].name, name)) at = (at + 1) & mask;
    return &names->slots[at];
}

bool io_names_add(io_names *names, io_range name, int32_t number) {
    io_name *slot = slot_of(names, name);
    if (slot->is_used) return false;
    *slot = (io_name){name, number, true};
    return true;
}

int32_t io_names_find(const io_names *names, io_range name) {
    const io_name *slot = slot_of(names, name);
    return slot->is_used ? slot->number : -1;
}
