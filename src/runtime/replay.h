/* runtime/replay.h: programs that are recorded once and replayed.
 *
 * Beside the host a launch costs more than many kernels take. A device that can record
 * (runtime/device.h) is given the commands of a program once; later runs are one command. What was
 * recorded names addresses, so the runtime keeps them where they are:
 *
 *   the arena       is the device's, shared by all runs in stream order, and held by recordings
 *   donated state   is updated in place: its output has the input's memory, in every step
 *   other inputs    are bound as long as they are at the same place; one that changes has a slot
 *                   from then on, memory of the recording that it is copied to before the replay
 *   other outputs   small ones have a slot and are copied from it; a large one is given the same
 *                   memory again while it is free, else it gets a slot, too
 *
 * The first run of a program walks its commands, which shows what changes from run to run; the
 * second is recorded. When bound memory is no longer what it was (somebody else held the state,
 * which therefore moved), the run is recorded anew. Recordings that are not replayed are made ever
 * more rarely. Memory is compared by the number it got when it came from the device: an address
 * that was given back and handed out again is another one.
 *
 * A command whose course the host decides (cond, case, while, lists, kernels that wait) is not
 * recorded: the outermost list of commands is cut there into pieces, and what is between them is
 * walked. A scan is recorded unrolled. Programs with callbacks, and those that are checked against
 * `ref`, are walked.
 *
 * Recording is never necessary: when a part of it fails, the run is walked. A recording lives while
 * a run that replayed it is in flight; when the device is out of memory all of them are dropped,
 * and their memory with them.
 *
 * The owner of the stream alone records and replays; the device's replay_lock guards what others
 * look at: which recording a program has, and the list of all.
 */
#ifndef MICA_RUNTIME_REPLAY_H
#define MICA_RUNTIME_REPLAY_H

#include "runtime/executable.h"

/* Sets program->replay when it can be recorded; the device is known and the plan is made. */
MICA_MUST_CHECK mica_status mica_replay_create(mica_program *program, int32_t n_inputs,
                                               int32_t n_outputs);
void mica_replay_destroy(mica_program *program); /* no run of it is under way */

/* The memory that output i would best get, by its serial number; 0: any. */
uint64_t mica_replay_wish(mica_program *program, int32_t i);
/* The owner: all commands of a run, replayed, recorded and replayed, or walked. */
MICA_MUST_CHECK mica_status mica_replay_execute(mica_run *run, mica_device_stream *handle);

void mica_recorded_release(mica_recorded *recorded); /* NULL is allowed */
/* Forgets all recordings of a device; those in flight are gone when their runs have ended. */
void mica_replay_drop_all(mica_device *device);

#endif
