/* device/fake/fake.h: a CPU in disguise, to prove the asynchronous interface without a GPU.
 *
 * Its memory lies in an address space of its own: arithmetic on addresses works, using one as a
 * pointer crashes. Each stream has a worker thread that runs what was queued, late and at times of
 * its own choosing, so completion across streams comes in any order. Kernels are the CPU's.
 *
 * A recording is a list of commands with their addresses and one more command that runs them all.
 * It is refused when memory that it names was given back since, even if the same address was given
 * out again: a runtime that replays must know its addresses.
 *
 * A launch whose operands are not aligned as runtime/device.h promises is an error.
 *
 * Tests make it fail: at the n-th call of the vtable that returns a status, or while it executes
 * the n-th command, which poisons the stream like a fault on a real device. */
#ifndef MICA_DEVICE_FAKE_H
#define MICA_DEVICE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/platform.h"
#include "device/cpu/kernels.h"

/* ---- for tests --------------------------------------------------------------------------------*/

/* The n-th call from now (1 is the next) fails: allocate with OUT_OF_MEMORY, others with
 * DEVICE_ERROR. 0 switches it off. */
void mica_fake_fail_call(int64_t n);
/* The n-th command executed from now fails. 0 switches it off. */
void mica_fake_fail_command(int64_t n);
/* Random pauses before commands, on by default. The same seed gives the same pauses. */
void mica_fake_set_delays(bool on, uint64_t seed);
int64_t mica_fake_calls(void);    /* so far */
int64_t mica_fake_commands(void); /* so far */
int64_t mica_fake_captures(void); /* recordings made so far */
int64_t mica_fake_replays(void);  /* so far */

/* ---- between the files of the device ----------------------------------------------------------*/

/* Counts a call; the failure it shall answer, or NULL. */
MICA_MUST_CHECK mica_status fake_count_call(const char *name);
/* Counts a command; true when it shall fail. */
bool fake_count_command(void);
/* Pauses a while, or not. */
void fake_delay(uint64_t *random);
uint64_t fake_seed(void);
void fake_count_capture(void);
void fake_count_replay(void);

enum { FAKE_SLOTS = 1 << 16, FAKE_SLOT_BITS = 36 };

typedef struct fake_device {
    mica_device base;
    mica_mutex lock; /* memory: next_slot; and events */
    mica_condition events_changed;
    void **blocks;         /* per slot; atomic */
    uint32_t *generations; /* per slot: times that its memory was given back; atomic */
    int32_t next_slot;
} fake_device;

/* The host memory behind an address; NULL when nothing is allocated there. */
void *fake_translate(fake_device *device, mica_address address);
/* How often the memory behind the address was given back. */
uint32_t fake_generation(fake_device *device, mica_address address);

typedef struct fake_kernel {
    mica_kernel base;
    mica_kernel *cpu;
    int32_t n_operands, n_results;
    size_t alignments[]; /* that operands and results are promised to have (runtime/device.h) */
} fake_kernel;

struct mica_device_event {
    fake_device *device;
    int64_t recorded, finished; /* under the device's lock */
    mica_status error;          /* that poisoned the stream it was last recorded on */
};

mica_status fake_stream_create(mica_device *device, mica_device_stream **out_stream);
void fake_stream_destroy(mica_device_stream *stream);
mica_status fake_upload(mica_device_stream *stream, mica_address target, const void *source,
                        size_t bytes);
mica_status fake_download(mica_device_stream *stream, void *target, mica_address source,
                          size_t bytes);
mica_status fake_copy(mica_device_stream *stream, mica_address target, mica_address source,
                      size_t bytes);
mica_status fake_zero(mica_device_stream *stream, mica_address target, size_t bytes);
mica_status fake_event_record(mica_device_stream *stream, mica_device_event *event);
mica_status fake_stream_wait(mica_device_stream *stream, mica_device_event *event);
mica_status fake_capture_begin(mica_device_stream *stream);
mica_status fake_capture_end(mica_device_stream *stream, mica_recording **out_recording);
mica_status fake_replay(mica_device_stream *stream, mica_recording *recording);
void fake_recording_destroy(mica_recording *recording);
mica_status fake_launch(mica_device_stream *stream, const mica_kernel *kernel,
                        const mica_address *operands, const mica_address *results,
                        mica_address scratch);

#endif
