#include <stdio.h>
#include <string.h>

#include "device/fake/fake.h"

/* ---- failures and delays ----------------------------------------------------------------------*/

static struct {
    int64_t calls, commands;                 /* atomic */
    int64_t captures, replays;               /* atomic */
    int64_t calls_to_fail, commands_to_fail; /* atomic; 0: off */
    int32_t prompt;                          /* atomic; no delays */
    uint64_t seed;                           /* atomic */
} knobs = {.seed = 1};

void mica_fake_fail_call(int64_t n) {
    __atomic_store_n(&knobs.calls_to_fail, n, __ATOMIC_SEQ_CST);
}

void mica_fake_fail_command(int64_t n) {
    __atomic_store_n(&knobs.commands_to_fail, n, __ATOMIC_SEQ_CST);
}

void mica_fake_set_delays(bool on, uint64_t seed) {
    __atomic_store_n(&knobs.prompt, !on, __ATOMIC_SEQ_CST);
    __atomic_store_n(&knobs.seed, seed, __ATOMIC_SEQ_CST);
}

int64_t mica_fake_calls(void) {
    return __atomic_load_n(&knobs.calls, __ATOMIC_SEQ_CST);
}

int64_t mica_fake_commands(void) {
    return __atomic_load_n(&knobs.commands, __ATOMIC_SEQ_CST);
}

int64_t mica_fake_captures(void) {
    return __atomic_load_n(&knobs.captures, __ATOMIC_SEQ_CST);
}

int64_t mica_fake_replays(void) {
    return __atomic_load_n(&knobs.replays, __ATOMIC_SEQ_CST);
}

void fake_count_capture(void) {
    __atomic_fetch_add(&knobs.captures, 1, __ATOMIC_SEQ_CST);
}

void fake_count_replay(void) {
    __atomic_fetch_add(&knobs.replays, 1, __ATOMIC_SEQ_CST);
}

static bool count_down(int64_t *counter) {
    if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) <= 0) return false;
    return __atomic_sub_fetch(counter, 1, __ATOMIC_SEQ_CST) == 0;
}

mica_status fake_count_call(const char *name) {
    __atomic_fetch_add(&knobs.calls, 1, __ATOMIC_SEQ_CST);
    if (!count_down(&knobs.calls_to_fail)) return NULL;
    return MICA_ERROR(strcmp(name, "allocate") ? MICA_DEVICE_ERROR : MICA_OUT_OF_MEMORY,
                      "[fake] %s failed", name);
}

bool fake_count_command(void) {
    __atomic_fetch_add(&knobs.commands, 1, __ATOMIC_SEQ_CST);
    return count_down(&knobs.commands_to_fail);
}

uint64_t fake_seed(void) {
    return __atomic_add_fetch(&knobs.seed, 0x9e3779b97f4a7c15, __ATOMIC_SEQ_CST) | 1;
}

void fake_delay(uint64_t *random) {
    uint64_t x = *random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    *random = x;
    if (x % 32 == 0 && !__atomic_load_n(&knobs.prompt, __ATOMIC_RELAXED))
        mica_sleep(1e-6 * (double)(x >> 8 & 127));
}

/* ---- memory -----------------------------------------------------------------------------------*/

/* An address: bit 62, so that it is no pointer; the slot plus one; the offset in the block. */
#define ADDRESS_BIT (UINT64_C(1) << 62)

/* Of an address; negative: it is none. */
static int32_t slot_of(mica_address address) {
    uint64_t slot = (address & ~ADDRESS_BIT) >> FAKE_SLOT_BITS;
    return (address & ADDRESS_BIT) && slot >= 1 && slot <= FAKE_SLOTS ? (int32_t)slot - 1 : -1;
}

uint32_t fake_generation(fake_device *device, mica_address address) {
    int32_t slot = slot_of(address);
    return slot < 0 ? 0 : __atomic_load_n(&device->generations[slot], __ATOMIC_ACQUIRE);
}

void *fake_translate(fake_device *device, mica_address address) {
    int32_t slot = slot_of(address);
    if (slot < 0) return NULL;
    char *block = __atomic_load_n(&device->blocks[slot], __ATOMIC_ACQUIRE);
    return block ? block + (address & ((UINT64_C(1) << FAKE_SLOT_BITS) - 1)) : NULL;
}

static mica_status fake_allocate(mica_device *base, size_t bytes, mica_address *out_address) {
    fake_device *device = (fake_device *)base;
    MICA_TRY(fake_count_call("allocate"));
    if (bytes >> FAKE_SLOT_BITS) return MICA_NO_MEMORY();
    void *block = mica_alloc_aligned(bytes);
    if (!block) return MICA_NO_MEMORY();
    mica_mutex_lock(&device->lock);
    int32_t tried = 0;
    while (tried < FAKE_SLOTS && device->blocks[device->next_slot]) {
        device->next_slot = (device->next_slot + 1) % FAKE_SLOTS;
        tried++;
    }
    int32_t slot = tried < FAKE_SLOTS ? device->next_slot : -1;
    if (slot >= 0) {
        __atomic_store_n(&device->blocks[slot], block, __ATOMIC_RELEASE);
        device->next_slot = (slot + 1) % FAKE_SLOTS;
    }
    mica_mutex_unlock(&device->lock);
    if (slot < 0) {
        mica_free_aligned(block);
        return MICA_NO_MEMORY();
    }
    *out_address = ADDRESS_BIT | (mica_address)(slot + 1) << FAKE_SLOT_BITS;
    return NULL;
}

static void fake_deallocate(mica_device *base, mica_address address) {
    fake_device *device = (fake_device *)base;
    void *block = fake_translate(device, address);
    int32_t slot = slot_of(address);
    mica_mutex_lock(&device->lock);
    __atomic_fetch_add(&device->generations[slot], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&device->blocks[slot], NULL, __ATOMIC_RELEASE);
    mica_mutex_unlock(&device->lock);
    mica_free_aligned(block);
}

/* ---- events -----------------------------------------------------------------------------------*/

static mica_status fake_event_create(mica_device *base, mica_device_event **out_event) {
    *out_event = NULL;
    MICA_TRY(fake_count_call("event_create"));
    mica_device_event *event = *out_event = mica_calloc(1, sizeof *event);
    if (!event) return MICA_NO_MEMORY();
    event->device = (fake_device *)base;
    return NULL;
}

/* The device's lock is held. */
static void wait_until_finished(mica_device_event *event) {
    while (event->finished < event->recorded)
        mica_condition_wait(&event->device->events_changed, &event->device->lock);
}

static void fake_event_destroy(mica_device_event *event) {
    mica_mutex_lock(&event->device->lock);
    wait_until_finished(event);
    mica_mutex_unlock(&event->device->lock);
    mica_status_release(event->error);
    mica_free(event);
}

static bool fake_event_is_done(mica_device_event *event) {
    mica_mutex_lock(&event->device->lock);
    bool done = event->finished == event->recorded;
    mica_mutex_unlock(&event->device->lock);
    return done;
}

static mica_status fake_event_wait(mica_device_event *event) {
    MICA_TRY(fake_count_call("event_wait"));
    mica_mutex_lock(&event->device->lock);
    wait_until_finished(event);
    mica_status error = mica_status_share(event->error);
    mica_mutex_unlock(&event->device->lock);
    return error;
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static bool fake_claims(mica_device *device, const mica_node *call) {
    (void)device;
    return mica_cpu_claims(call);
}

static mica_status fake_kernel_create(mica_device *device, const mica_node *node,
                                      mica_kernel **out_kernel) {
    (void)device;
    *out_kernel = NULL;
    MICA_TRY(fake_count_call("kernel_create"));
    size_t n = (size_t)node->n_operands + (size_t)node->n_results;
    fake_kernel *kernel = mica_calloc(1, sizeof *kernel + n * sizeof *kernel->alignments);
    if (!kernel) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < (int32_t)n; i++) {
        const mica_type *type = i < node->n_operands ? mica_operand_type(node, i)
                                                     : &node->results[i - node->n_operands];
        kernel->alignments[i] = mica_alignment_of(mica_type_bytes(type));
    }
    mica_status status = mica_cpu_kernel_create(node, &kernel->cpu);
    if (status) {
        mica_free(kernel);
        return status;
    }
    kernel->base = *kernel->cpu;
    kernel->base.cannot_fail = false;
    kernel->n_operands = node->n_operands;
    kernel->n_results = node->n_results;
    *out_kernel = &kernel->base;
    return NULL;
}

static void fake_kernel_destroy(mica_device *device, mica_kernel *kernel) {
    (void)device;
    mica_cpu_kernel_destroy(((fake_kernel *)kernel)->cpu);
    mica_free(kernel);
}

/* ---- the device -------------------------------------------------------------------------------*/

static void fake_destroy(mica_device *base) {
    mica_free(((fake_device *)base)->blocks);
    mica_free(((fake_device *)base)->generations);
    mica_free(base);
}

static const mica_device_vtable fake_vtable = {
    .kind = "fake",
    .in_order = true,
    .may_donate = true,
    .destroy = fake_destroy,
    .allocate = fake_allocate,
    .deallocate = fake_deallocate,
    .stream_create = fake_stream_create,
    .stream_destroy = fake_stream_destroy,
    .upload = fake_upload,
    .download = fake_download,
    .copy = fake_copy,
    .zero = fake_zero,
    .event_create = fake_event_create,
    .event_destroy = fake_event_destroy,
    .event_record = fake_event_record,
    .event_is_done = fake_event_is_done,
    .event_wait = fake_event_wait,
    .stream_wait = fake_stream_wait,
    .kernel_create = fake_kernel_create,
    .claims = fake_claims,
    .computes_again = true,
    .kernel_destroy = fake_kernel_destroy,
    .launch = fake_launch,
    .capture_begin = fake_capture_begin,
    .capture_end = fake_capture_end,
    .replay = fake_replay,
    .recording_destroy = fake_recording_destroy,
};

static const char description[] = "a CPU in disguise, for tests: its own memory, late answers";

static int32_t fake_probe(char *out_description, size_t capacity) {
    snprintf(out_description, capacity, "%s", description);
    return 2;
}

static mica_status fake_open(int32_t ordinal, mica_device **out_device) {
    (void)ordinal;
    *out_device = NULL;
    fake_device *device = mica_calloc(1, sizeof *device);
    if (!device) return MICA_NO_MEMORY();
    device->blocks = mica_calloc(FAKE_SLOTS, sizeof *device->blocks);
    device->generations = mica_calloc(FAKE_SLOTS, sizeof *device->generations);
    if (!device->blocks || !device->generations) {
        fake_destroy(&device->base);
        return MICA_NO_MEMORY();
    }
    device->base.vtable = &fake_vtable;
    snprintf(device->base.description, sizeof device->base.description, "%s", description);
    *out_device = &device->base;
    return NULL;
}

extern const mica_driver mica_fake_driver;
const mica_driver mica_fake_driver = {
    .kind = "fake", .priority = -1, .probe = fake_probe, .open = fake_open};
