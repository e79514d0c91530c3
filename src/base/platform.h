/* base/platform.h: every call to the operating system is made here (platform_posix.c,
 * program_posix.c). */
#ifndef MICA_BASE_PLATFORM_H
#define MICA_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Threads. Mutex and condition are statically zero-initialisable. */
typedef struct mica_mutex {
    _Alignas(8) unsigned char bytes[64];
} mica_mutex;
typedef struct mica_condition {
    _Alignas(8) unsigned char bytes[64];
} mica_condition;
typedef struct mica_thread mica_thread;

void mica_mutex_lock(mica_mutex *mutex);
void mica_mutex_unlock(mica_mutex *mutex);
void mica_condition_wait(mica_condition *condition, mica_mutex *mutex);
/* false when the time ran out. */
bool mica_condition_wait_for(mica_condition *condition, mica_mutex *mutex, double seconds);
void mica_condition_signal(mica_condition *condition);
void mica_condition_broadcast(mica_condition *condition);
MICA_MUST_CHECK mica_status mica_thread_start(void (*body)(void *context), void *context,
                                              const char *name, mica_thread **out_thread);
void mica_thread_join(mica_thread *thread); /* and frees it */
void mica_thread_yield(void);
bool mica_thread_is_first(void);  /* the one that main runs in, which signals are handled by */
const void *mica_thread_id(void); /* not NULL; no other thread that lives now has the same */
/* The processor that runs this thread, or -1 where it cannot be known. */
int32_t mica_processor(void);
/* Moves this thread to another of its processors, if it has one; it may come back later. */
void mica_leave_processor(int32_t processor);
void mica_sleep(double seconds);

/* Asks that a block of memory, aligned to 2 MB, be made of large pages; a wish, nothing more. */
void mica_prefer_large_pages(void *block, size_t bytes);

/* Bytes that a block of malloc's has room for. */
size_t mica_block_bytes(void *block);
/* Unpredictable bytes. */
MICA_MUST_CHECK mica_status mica_random_bytes(void *bytes, size_t n);

double mica_clock_seconds(void);        /* monotonic */
double mica_clock_coarse_seconds(void); /* the same, to some milliseconds, and quicker */
double mica_clock_since_1970(void);     /* what the machine's clock shows */
/* The machine's name; "localhost" where it has none or it does not fit. */
void mica_machine_name(char *name, size_t capacity);
int32_t mica_machine_threads(void); /* those this process may run on */
uint64_t mica_machine_memory(void); /* bytes that this process may use at most; 0 when unknown */
/* Bytes that this process can still take before the system, its control group or its limits have
 * none; UINT64_MAX when unknown. Some files are read for it. */
uint64_t mica_memory_left(void);
/* A result of so many bytes is best written past the caches (ir/scalar_stream.h): they cannot hold
 * it until somebody reads it. */
bool mica_machine_streams(size_t bytes);
/* For tests: above so many bytes from now on; 0: what the machine's caches hold. */
void mica_machine_stream_above(size_t bytes);
const char *mica_machine_description(void); /* the processor's name */
/* NULL when not set, and always in a program that runs with other rights than its caller's (setuid,
 * capabilities): its environment is the caller's, and names programs, libraries and folders. */
const char *mica_environment(const char *name);
bool mica_machine_is_privileged(void); /* whether this is such a program */

/* true in a child that was forked after mica_fork_watch was first called. */
bool mica_fork_happened(void);
void mica_fork_watch(void);

/* Shared libraries. */
typedef struct mica_library mica_library;
MICA_MUST_CHECK mica_status mica_library_open(const char *name, mica_library **out_library);
/* The same for a library that loads others, which look for its functions; NULL: what the program
 * has loaded so. */
MICA_MUST_CHECK mica_status mica_library_open_global(const char *name, mica_library **out_library);
/* Loads the very file whose bytes `is_accepted` said yes to: a regular one (a link is not followed)
 * of this user or of root, which no other user may write to. FAILED_PRECONDITION when it is
 * another, or was not accepted. */
typedef bool mica_library_check(void *context, const uint8_t *bytes, size_t size);
MICA_MUST_CHECK mica_status mica_library_open_checked(const char *path,
                                                      mica_library_check *is_accepted,
                                                      void *context, mica_library **out_library);
void *mica_library_symbol(mica_library *library, const char *name); /* NULL when it is not there */
void mica_library_close(mica_library *library);
/* Lets go of the object; the library stays loaded until the process ends. */
void mica_library_keep(mica_library *library);
/* The folder this library (or the program it is part of) was loaded from; false when unknown. */
bool mica_library_folder(char *path, size_t capacity);
/* The file that a loaded function came from; false when unknown. */
bool mica_library_of(const void *function, char *path, size_t capacity);
/* The first name in a folder, in the order of strcmp, that begins with `prefix`; false when there
 * is none, or it does not fit. */
bool mica_folder_find(const char *folder, const char *prefix, char *name, size_t capacity);

/* Standard error, for the log only. */
void mica_write_error_line(const char *text);

/* x86-64 instruction sets that kernels are built for; false elsewhere. */
bool mica_machine_has_avx2_fma(void);
bool mica_machine_has_avx512(void);

/* Whole files. A writer makes a file under a name aside, `<path>.<process>-<number>.part`, and
 * gives it its name at the end: who reads finds the old file or the new one. Files that are being
 * written are locked; one aside that is not was left by a process that ended. A disk or a quota
 * that is full is RESOURCE_EXHAUSTED. */
MICA_MUST_CHECK mica_status mica_file_read(const char *path, uint8_t **out_bytes, size_t *out_size);
/* One that this user or root owns and no other user may read; FAILED_PRECONDITION when it is
 * another. */
MICA_MUST_CHECK mica_status mica_file_read_secret(const char *path, uint8_t **out_bytes,
                                                  size_t *out_size);
MICA_MUST_CHECK mica_status mica_file_write_atomic(const char *path, const void *bytes,
                                                   size_t size);
/* The same, of a file that this user alone may read and write. */
MICA_MUST_CHECK mica_status mica_file_write_private(const char *path, const void *bytes,
                                                    size_t size);
/* A file that is read piece by piece, or written from its beginning to its end. */
typedef struct mica_file mica_file;
MICA_MUST_CHECK mica_status mica_file_open(const char *path, mica_file **out_file);
/* FAILED_PRECONDITION when there is one of this name, or a link. */
MICA_MUST_CHECK mica_status mica_file_create_new(const char *path, mica_file **out_file);
/* With the mode of the file at `path`, if there is one. */
MICA_MUST_CHECK mica_status mica_file_create_aside(const char *path, mica_file **out_file);
void mica_file_take_mode(mica_file *file, const char *of); /* of another file, if it is there */
MICA_MUST_CHECK mica_status mica_file_size(const mica_file *file, uint64_t *out_size);
/* DATA_LOSS when the file ends before. */
MICA_MUST_CHECK mica_status mica_file_read_at(mica_file *file, uint64_t offset, void *bytes,
                                              size_t size);
MICA_MUST_CHECK mica_status mica_file_append(mica_file *file, const void *bytes, size_t size);
/* All that was appended is on the disk. */
MICA_MUST_CHECK mica_status mica_file_sync(mica_file *file);
/* Synchronises the file and gives it the name `to`, in the same folder, in one step. It stays open,
 * and locked, until it is closed. */
MICA_MUST_CHECK mica_status mica_file_publish(mica_file *file, const char *to);
/* Of a file that was written, whether all of it is on the disk. Frees it; NULL is fine. */
MICA_MUST_CHECK mica_status mica_file_close(mica_file *file);
/* Removes a file that was not published, and frees it; NULL is fine. */
void mica_file_discard(mica_file *file);
const char *mica_file_path(const mica_file *file); /* that it was made or opened with */
void mica_file_remove(const char *path);           /* when it is there */
/* Unless somebody is writing it; whether it was removed. */
bool mica_file_remove_unused(const char *path);
/* Makes the file the latest changed one. */
void mica_file_touch(const char *path);
/* false when there is no such file. */
bool mica_file_describe(const char *path, uint64_t *out_size, int64_t *out_changed);

/* Makes a folder (and those above it) that belongs to this user alone; false when it cannot, or
 * when it is there but others may write to it or own it. */
bool mica_folder_make_private(const char *path);
/* Makes a folder, and those above it, unless it is there. */
MICA_MUST_CHECK mica_status mica_folder_make(const char *path);
bool mica_folder_is_writable(const char *path);
/* A new, private, empty folder for temporary files; false when there is none to be had. */
bool mica_folder_make_temporary(char *path, size_t capacity);
void mica_folder_remove(const char *path);     /* an empty one */
void mica_folder_remove_all(const char *path); /* with what is in it; links are not followed */
/* The folder that `path` is in: what was made, renamed and removed there is on the disk. */
void mica_folder_sync_of(const char *path);
/* Its lock, or -1 where it cannot be had in this time, or there are no locks. */
int32_t mica_folder_lock_of(const char *path, double seconds);
void mica_folder_unlock(int32_t lock); /* -1 is fine */
/* What processes that ended have left of names aside of `path`. */
void mica_folder_remove_asides(const char *path);
/* A new folder beside `path`, locked as files are; closed as they are. */
MICA_MUST_CHECK mica_status mica_folder_create_aside(const char *path, mica_file **out_folder);
/* One step: each of two folders gets the other's name. UNSUPPORTED where the system cannot. */
MICA_MUST_CHECK mica_status mica_folder_exchange(const char *a, const char *b);
/* One step: takes the place of an empty folder, or of none. */
MICA_MUST_CHECK mica_status mica_folder_move(const char *from, const char *to);
/* Whether it is a folder that no file system begins with and this process does not work in. */
bool mica_folder_can_be_moved(const char *path);
/* Puts links to all files of `from/name` into `to/name`; false where they cannot be made. */
bool mica_folder_link(const char *from, const char *name, const char *to);
/* One step that fails where there is something of this name. */
MICA_MUST_CHECK mica_status mica_folder_create(const char *path);
/* Makes `to/name` a copy of the file or folder `from/name`, which is on the disk when this returns.
 * What is no file and no folder (a link, a device) is refused. */
MICA_MUST_CHECK mica_status mica_folder_copy(const char *from, const char *name, const char *to);
bool mica_folder_has(const char *path, const char *name); /* an entry of this name */
/* Calls `visit` with the name of every entry. */
void mica_folder_visit(const char *path, void (*visit)(void *context, const char *name),
                       void *context);

/* Calls `visit` with every path that a pattern of the shell (*, ?, [...]) names; a file whose name
 * begins with a dot is one as any other. */
MICA_MUST_CHECK mica_status mica_file_match(const char *pattern,
                                            void (*visit)(void *context, const char *path),
                                            void *context);

/* The path of a program by its name, as the PATH says. */
bool mica_program_find(const char *name, char *path, size_t capacity);
typedef struct mica_program_limits {
    double seconds;
    const int32_t
        *cancel;        /* NULL, or read again and again: the program is ended when it is not 0 */
    bool is_modest;     /* it makes way for others */
    const char *folder; /* NULL, or for its temporary files; removed when this process is killed */
} mica_program_limits;

/* Runs a program to its end, with nothing to read; what it writes goes to the file `output`, the
 * only one of this process that it has. A status when it could not be started, was ended by its
 * limits or did not succeed, whatever the process does with SIGCHLD. It does not outlive this
 * process, however that ends. */
MICA_MUST_CHECK mica_status mica_program_run(char *const *arguments, const char *output,
                                             const mica_program_limits *limits);
int64_t mica_process_id(void);

#endif
