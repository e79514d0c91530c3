#include "runtime/list.h"

typedef struct block {
    struct block *next;
    mica_buffer *buffer;
    int64_t n;
    mica_element elements[];
} block;

typedef struct mica_list_space {
    struct mica_list_space *next;
    size_t bytes; /* of an element */
    int64_t n_elements;
    mica_element *free;
    block *blocks;
} mica_list_space;

enum { MOST_BLOCK_BYTES = 16 << 20, FIRST_ELEMENTS = 8 };

void mica_lists_mark(mica_lists *lists, uint64_t ticket) {
    for (mica_list_space *space = lists->spaces; space; space = space->next)
        for (block *b = space->blocks; b; b = b->next)
            __atomic_store_n(&b->buffer->ticket, ticket, __ATOMIC_RELAXED);
}

void mica_lists_deinit(mica_lists *lists) {
    while (lists->spaces) {
        mica_list_space *space = lists->spaces;
        lists->spaces = space->next;
        while (space->blocks) {
            block *b = space->blocks;
            space->blocks = b->next;
            mica_buffer_release(b->buffer);
            mica_free(b);
        }
        mica_free(space);
    }
    mica_free(lists->tops);
    lists->tops = NULL;
}

static mica_list_space *space_for(mica_lists *lists, size_t bytes) {
    for (mica_list_space *s = lists->spaces; s; s = s->next)
        if (s->bytes == bytes) return s;
    mica_list_space *s = mica_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->bytes = bytes;
    s->next = lists->spaces;
    return lists->spaces = s;
}

static mica_status add_block(mica_lists *lists, mica_list_space *space, int64_t n) {
    size_t stride = (space->bytes + 63) / 64 * 64;
    if (stride && n > (int64_t)(MOST_BLOCK_BYTES / stride))
        n = (int64_t)(MOST_BLOCK_BYTES / stride);
    if (n < 1) n = 1;
    block *b = mica_alloc(sizeof *b + (size_t)n * sizeof *b->elements);
    if (!b) return MICA_NO_MEMORY();
    mica_status status = mica_buffer_create_in_order(lists->device, stride * (size_t)n, &b->buffer);
    if (status) {
        mica_free(b);
        return status;
    }
    mica_buffer_set_role(b->buffer, MICA_HOLDS_LIST);
    b->n = n;
    b->next = space->blocks;
    space->blocks = b;
    space->n_elements += n;
    for (int64_t i = n - 1; i >= 0; i--) {
        b->elements[i] = (mica_element){.space = space,
                                        .address = b->buffer->address + (mica_address)i * stride,
                                        .below = space->free};
        space->free = &b->elements[i];
    }
    return NULL;
}

static mica_status reserve(mica_lists *lists, size_t bytes, int64_t n) {
    mica_list_space *space = space_for(lists, bytes);
    if (!space) return MICA_NO_MEMORY();
    while (space->n_elements < n) MICA_TRY(add_block(lists, space, n - space->n_elements));
    return NULL;
}

mica_status mica_lists_init(mica_lists *lists, mica_device *device, int32_t n,
                            const mica_list_rooms *rooms) {
    *lists = (mica_lists){.device = device, .n = n};
    if (!n) return NULL;
    lists->tops = mica_calloc((size_t)n, sizeof *lists->tops);
    if (!lists->tops) return MICA_NO_MEMORY();
    mica_mutex *lock = &device->runtime->lock;
    mica_mutex_lock(lock);
    mica_list_rooms needed = *rooms;
    mica_mutex_unlock(lock);
    for (int32_t i = 0; i < MICA_LIST_ROOMS; i++)
        if (needed.rooms[i].n) MICA_TRY(reserve(lists, needed.rooms[i].bytes, needed.rooms[i].n));
    return NULL;
}

void mica_lists_remember(const mica_lists *lists, mica_list_rooms *rooms) {
    mica_mutex *lock = &lists->device->runtime->lock;
    mica_mutex_lock(lock);
    for (const mica_list_space *s = lists->spaces; s; s = s->next)
        for (int32_t i = 0; i < MICA_LIST_ROOMS; i++) {
            if (rooms->rooms[i].n && rooms->rooms[i].bytes != s->bytes) continue;
            rooms->rooms[i].bytes = s->bytes;
            if (rooms->rooms[i].n < s->n_elements) rooms->rooms[i].n = s->n_elements;
            break;
        }
    mica_mutex_unlock(lock);
}

/* Frees an element and those below it that only it held. */
static void release(mica_element *e) {
    while (e && --e->references == 0) {
        mica_element *below = e->below;
        e->below = e->space->free;
        e->space->free = e;
        e = below;
    }
}

static void set(mica_lists *lists, int32_t list, mica_element *top) {
    if (top) top->references++;
    mica_element *old = lists->tops[list];
    lists->tops[list] = top;
    release(old);
}

mica_status mica_list_grow(mica_lists *lists, int32_t below, int32_t result, size_t bytes,
                           mica_address *out_address) {
    mica_list_space *space = space_for(lists, bytes);
    if (!space) return MICA_NO_MEMORY();
    if (!space->free)
        MICA_TRY(add_block(lists, space, space->n_elements ? space->n_elements : FIRST_ELEMENTS));
    mica_element *e = space->free;
    space->free = e->below;
    e->below = lists->tops[below];
    if (e->below) e->below->references++;
    e->references = 0;
    set(lists, result, e);
    *out_address = e->address;
    return NULL;
}

mica_address mica_list_shrink(mica_lists *lists, int32_t list, int32_t result) {
    mica_element *e = lists->tops[list];
    mica_address address = e ? e->address : 0;
    set(lists, result, e ? e->below : NULL);
    return address;
}

void mica_list_assign(mica_lists *lists, int32_t target, int32_t source) {
    set(lists, target, lists->tops[source]);
}

void mica_list_clear(mica_lists *lists, int32_t list) {
    set(lists, list, NULL);
}
