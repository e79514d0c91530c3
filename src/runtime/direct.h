/* runtime/direct.h: runs without the bookkeeping of a run.
 *
 * A program that is a few launches with one result, which cannot fail, is run by the calling thread
 * at once when the device computes on the host, the operands' data is there, the stream is idle and
 * no trace is on: nothing is allocated but the result, from the caches. */
#ifndef MICA_RUNTIME_DIRECT_H
#define MICA_RUNTIME_DIRECT_H

#include "report/report.h"
#include "runtime/executable.h"

/* Notes whether the executable is such a program; it never gets a second one then. */
void mica_direct_prepare(mica_executable *exe);

/* Makes the caller the owner of the stream when the operands are ready; false: run it otherwise. */
static inline bool mica_direct_begin(mica_device *device, mica_tensor *const *operands, int32_t n) {
    mica_stream *stream = &device->runtime->stream;
    if (!device->vtable->synchronous || stream->poisoned || mica_trace_is_on()) return false;
    for (int32_t i = 0; i < n; i++)
        if (__atomic_load_n(&operands[i]->ready, __ATOMIC_ACQUIRE) ||
            __atomic_load_n(&operands[i]->consumed, __ATOMIC_ACQUIRE))
            return false;
    return mica_stream_try_own(stream);
}
/* With the device's lock held: memory for the result; NULL: the caches have none. */
mica_tensor *mica_direct_take(const mica_executable *exe, mica_buffer **out_arena);
/* Launches, and gives the stream and the arena back. The result is released after an error. */
mica_status mica_direct_launch(const mica_executable *exe, mica_tensor *const *operands,
                               mica_tensor *result, mica_buffer *arena);

/* All of it: false when the executable has to be run otherwise. */
bool mica_direct_run(mica_executable *exe, mica_tensor *const *operands, mica_tensor **out_result,
                     mica_status *out_status);

#endif
