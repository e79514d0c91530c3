#include "ir/parse_names.h"

#include <string.h>

#include "base/hash.h"

static mica_name *slot_of(const mica_names *names, const char *name, size_t length) {
    size_t i = mica_hash_bytes(MICA_HASH_SEED, name, length) & (names->n_slots - 1);
    while (names->slots[i].named &&
           (names->slots[i].length != length || memcmp(names->slots[i].name, name, length) != 0))
        i = (i + 1) & (names->n_slots - 1);
    return &names->slots[i];
}

void *mica_names_find(const mica_names *names, const char *name, size_t length) {
    return names->n_slots ? slot_of(names, name, length)->named : NULL;
}

static mica_status grow(mica_names *names) {
    mica_names grown = {.n = names->n, .n_slots = names->n_slots ? names->n_slots * 2 : 64};
    grown.slots = mica_calloc(grown.n_slots, sizeof *grown.slots);
    if (!grown.slots) return MICA_NO_MEMORY();
    for (size_t i = 0; i < names->n_slots; i++) {
        const mica_name *old = &names->slots[i];
        if (old->named) *slot_of(&grown, old->name, old->length) = *old;
    }
    mica_free(names->slots);
    *names = grown;
    return NULL;
}

mica_status mica_names_add(mica_names *names, const char *name, size_t length, void *named) {
    if (2 * (names->n + 1) > names->n_slots) MICA_TRY(grow(names));
    *slot_of(names, name, length) = (mica_name){name, length, named};
    names->n++;
    return NULL;
}

void mica_names_clear(mica_names *names) {
    if (names->n_slots) memset(names->slots, 0, names->n_slots * sizeof *names->slots);
    names->n = 0;
}

void mica_names_deinit(mica_names *names) {
    mica_free(names->slots);
    *names = (mica_names){0};
}
