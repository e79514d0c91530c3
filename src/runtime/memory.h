/* runtime/memory.h: what a device's memory is used for.
 *
 * Every buffer that came from the device is in a list of the device's, with the role it plays now
 * and the tensor that it holds. When memory runs out, and the pool has been emptied, recordings
 * have been dropped and runs in flight have ended, the status has a table of what holds most. */
#ifndef MICA_RUNTIME_MEMORY_H
#define MICA_RUNTIME_MEMORY_H

#include "report/report.h"
#include "runtime/buffer.h"

/* In the list, with a serial number, from now on; and out of it. The device's lock is held. */
void mica_memory_enlist(mica_buffer *buffer);
void mica_memory_strike(mica_buffer *buffer);

/* Counts bytes as in use, unless that would be more than the limit; and takes that back. */
bool mica_memory_reserve(mica_device *device, size_t bytes);
void mica_memory_unreserve(mica_device *device, size_t bytes);

/* For a report, with the lock held: what is in use has changed; what holds it, before it becomes
 * less. */
void mica_memory_record(mica_device_runtime *r);
void mica_memory_record_holders(mica_device_runtime *r);
static inline void mica_memory_note(mica_device_runtime *r) {
    if (mica_report_is_on()) mica_memory_record(r);
}
static inline void mica_memory_note_holders(mica_device_runtime *r) {
    if (mica_report_is_on()) mica_memory_record_holders(r);
}

/* OUT_OF_MEMORY with the table; takes `cause`, and returns it where there is no memory for more. */
MICA_MUST_CHECK mica_status mica_memory_exhausted(mica_device *device, size_t bytes,
                                                  mica_status cause);

#endif
