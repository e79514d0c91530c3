/* Linux and macOS. The only file of the library that talks to the operating system. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "base/platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/memory.h"

/* ---- mutex ------------------------------------------------------------------------------------*/

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(mica_mutex), "a mutex fits");
_Static_assert(_Alignof(pthread_mutex_t) <= _Alignof(mica_mutex), "a mutex is aligned");

/* Zero bytes are an initialised mutex on Linux. On macOS the static initialiser is a signature
 * followed by zeros, so the first user writes the signature; one that is there stays. */
static pthread_mutex_t *native_mutex(mica_mutex *mutex) {
    pthread_mutex_t *native = (pthread_mutex_t *)(void *)mutex->bytes;
#if defined(__APPLE__)
    if (__atomic_load_n(&native->__sig, __ATOMIC_ACQUIRE) == 0) {
        const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;
        long nothing = 0;
        __atomic_compare_exchange_n(&native->__sig, &nothing, initial.__sig, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
#endif
    return native;
}

void mica_mutex_lock(mica_mutex *mutex) {
    pthread_mutex_lock(native_mutex(mutex));
}

void mica_mutex_unlock(mica_mutex *mutex) {
    pthread_mutex_unlock(native_mutex(mutex));
}

/* ---- condition --------------------------------------------------------------------------------*/

/* The first user initialises it, because waiting by the monotonic clock has to be asked for. A
 * condition is never destroyed: neither system attaches anything to one that nobody waits on. */
typedef struct condition_layout {
    pthread_cond_t native;
    int32_t state; /* 0 as found, 1 being initialised, 2 ready */
} condition_layout;

_Static_assert(sizeof(condition_layout) <= sizeof(mica_condition), "a condition fits");
_Static_assert(_Alignof(condition_layout) <= _Alignof(mica_condition), "a condition is aligned");

static void initialise_condition(pthread_cond_t *native) {
#if defined(__APPLE__)
    pthread_cond_init(native, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(native, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}

static pthread_cond_t *native_condition(mica_condition *condition) {
    condition_layout *layout = (condition_layout *)(void *)condition->bytes;
    if (__atomic_load_n(&layout->state, __ATOMIC_ACQUIRE) == 2) return &layout->native;
    int32_t nothing = 0;
    if (__atomic_compare_exchange_n(&layout->state, &nothing, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        initialise_condition(&layout->native);
        __atomic_store_n(&layout->state, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&layout->state, __ATOMIC_ACQUIRE) != 2) sched_yield();
    return &layout->native;
}

void mica_condition_wait(mica_condition *condition, mica_mutex *mutex) {
    pthread_cond_wait(native_condition(condition), native_mutex(mutex));
}

bool mica_condition_wait_for(mica_condition *condition, mica_mutex *mutex, double seconds) {
    if (!(seconds > 0)) seconds = 0;
    if (seconds > 1e9) seconds = 1e9;
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
#if defined(__APPLE__)
    int error =
        pthread_cond_timedwait_relative_np(native_condition(condition), native_mutex(mutex), &time);
#else
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += time.tv_sec;
    until.tv_nsec += time.tv_nsec;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    int error = pthread_cond_timedwait(native_condition(condition), native_mutex(mutex), &until);
#endif
    return error != ETIMEDOUT;
}

void mica_condition_signal(mica_condition *condition) {
    pthread_cond_signal(native_condition(condition));
}

void mica_condition_broadcast(mica_condition *condition) {
    pthread_cond_broadcast(native_condition(condition));
}

/* ---- threads ----------------------------------------------------------------------------------*/

struct mica_thread {
    pthread_t native;
    pid_t process; /* that it lives in: a forked child has the struct, but not the thread */
    void (*body)(void *context);
    void *context;
    char name[16];
};

static void *thread_main(void *argument) {
    mica_thread *thread = argument;
#if defined(__APPLE__)
    pthread_setname_np(thread->name);
#else
    pthread_setname_np(pthread_self(), thread->name);
#endif
    thread->body(thread->context);
    return NULL;
}

/* Signals that are sent to the process are left to the program's own threads. */
static void block_signals(sigset_t *out_before) {
    static const int synchronous[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                      SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++)
        sigdelset(&blocked, synchronous[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, out_before);
}

/* Kernels keep panels on the stack, and not every C library gives threads a large one. */
#define LEAST_STACK ((size_t)2 << 20)

mica_status mica_thread_start(void (*body)(void *context), void *context, const char *name,
                              mica_thread **out_thread) {
    *out_thread = NULL;
    mica_thread *thread = mica_calloc(1, sizeof *thread);
    if (!thread) return mica_status_out_of_memory();
    thread->process = getpid();
    thread->body = body;
    thread->context = context;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    sigset_t before;
    block_signals(&before);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        size_t stack = 0;
        if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < LEAST_STACK)
            (void)pthread_attr_setstacksize(&attributes, LEAST_STACK);
        error = pthread_create(&thread->native, &attributes, thread_main, thread);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        mica_free(thread);
        return MICA_ERROR(error == EAGAIN ? MICA_OUT_OF_MEMORY : MICA_INTERNAL,
                          "[thread_start] cannot start the thread '%s': %s", name, strerror(error));
    }
    *out_thread = thread;
    return NULL;
}

void mica_thread_join(mica_thread *thread) {
    if (!thread) return;
    if (thread->process == getpid()) pthread_join(thread->native, NULL);
    mica_free(thread);
}

void mica_thread_yield(void) {
    sched_yield();
}

#if defined(__linux__)
int32_t mica_processor(void) {
    return sched_getcpu();
}

/* By a mask without the processor, and then the old one again. */
void mica_leave_processor(int32_t processor) {
    unsigned long mask[1024] = {0}, others[1024];
    cpu_set_t *set = (cpu_set_t *)(void *)mask, *rest = (cpu_set_t *)(void *)others;
    if (processor < 0 || sched_getaffinity(0, sizeof mask, set) != 0) return;
    memcpy(others, mask, sizeof others);
    CPU_CLR_S((size_t)processor, sizeof others, rest);
    if (CPU_COUNT_S(sizeof others, rest) == 0) return;
    if (sched_setaffinity(0, sizeof others, rest) == 0) sched_setaffinity(0, sizeof mask, set);
}
#else
int32_t mica_processor(void) {
    return -1;
}

void mica_leave_processor(int32_t processor) {
    (void)processor;
}
#endif

/* ---- time -------------------------------------------------------------------------------------*/

void mica_sleep(double seconds) {
    if (!(seconds > 0)) return;
    if (seconds > 1e9) seconds = 1e9;
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

double mica_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the machine ------------------------------------------------------------------------------*/

#if defined(__linux__)
/* Reads the start of a small file such as those in /proc; false when it cannot. */
static bool read_start(const char *path, char *text, size_t capacity) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t n = 0;
    while (n + 1 < capacity) {
        ssize_t got = read(file, text + n, capacity - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(file);
    text[n] = 0;
    return n > 0;
}

/* The whole processors that the control group's quota allows; 0 when there is none. */
static int32_t quota_threads(void) {
    char text[64];
    long long quota, period;
    if (!read_start("/sys/fs/cgroup/cpu.max", text, sizeof text)) return 0;
    if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
    return (int32_t)((quota + period - 1) / period);
}

static int32_t allowed_threads(void) {
    unsigned long mask[1024] = {0}; /* 65,536 processors: more than Linux can be built for */
    cpu_set_t *set = (cpu_set_t *)(void *)mask;
    bool told = sched_getaffinity(0, sizeof mask, set) == 0;
    int32_t n = told ? CPU_COUNT_S(sizeof mask, set) : 0;
    int32_t quota = quota_threads();
    return quota && (!n || quota < n) ? quota : n;
}
#else
static int32_t allowed_threads(void) {
    return 0;
}
#endif

int32_t mica_machine_threads(void) {
    int32_t n = allowed_threads();
    if (n <= 0) n = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

/* The last cache, as far as the system knows it; one of those in use today where it does not. */
#define LEAST_CACHE ((size_t)8 << 20)
#define MOST_CACHE ((size_t)32 << 20)

static size_t cache_bytes(void) {
    long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    if (bytes <= 0 || (size_t)bytes > MOST_CACHE) return MOST_CACHE;
    return (size_t)bytes < LEAST_CACHE ? LEAST_CACHE : (size_t)bytes;
}

static size_t streamed_above; /* atomic; 0: the caches have not been asked for yet */

void mica_machine_stream_above(size_t bytes) {
    __atomic_store_n(&streamed_above, bytes, __ATOMIC_RELAXED);
}

bool mica_machine_streams(size_t bytes) {
    size_t limit = __atomic_load_n(&streamed_above, __ATOMIC_RELAXED);
    if (!limit) mica_machine_stream_above(limit = cache_bytes());
    return bytes > limit;
}

static char machine_description[96];

static void describe_machine(void) {
    char *text = machine_description;
    size_t capacity = sizeof machine_description;
#if defined(__APPLE__)
    size_t length = capacity;
    if (sysctlbyname("machdep.cpu.brand_string", text, &length, NULL, 0) == 0 && *text) return;
#else
    static char information[4096];
    const char *name = NULL;
    if (read_start("/proc/cpuinfo", information, sizeof information))
        name = strstr(information, "model name");
    if (name) name = strchr(name, ':');
    if (name) {
        snprintf(text, capacity, "%.*s", (int)strcspn(name + 2, "\n"), name + 2);
        return;
    }
#endif
#if defined(__aarch64__)
    snprintf(text, capacity, "arm64 processor");
#elif defined(__x86_64__)
    snprintf(text, capacity, "x86-64 processor");
#else
    snprintf(text, capacity, "processor");
#endif
}

const char *mica_machine_description(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe_machine);
    return machine_description;
}

const char *mica_environment(const char *name) {
    return getenv(name);
}

#if defined(__x86_64__)
enum { HAS_AVX2_FMA = 1, HAS_AVX512 = 2 };

/* What the processor has and the operating system saves across context switches. */
static int instruction_sets(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    bool saves_registers = c & bit_OSXSAVE, avx = c & bit_AVX, fma = c & bit_FMA;
    if (!saves_registers || !avx || !fma) return 0;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    int sets = b & bit_AVX2 ? HAS_AVX2_FMA : 0;
    if (sets && (b & avx512) == avx512 && (low & 0xe6) == 0xe6) sets |= HAS_AVX512;
    return sets;
}

bool mica_machine_has_avx2_fma(void) {
    return instruction_sets() & HAS_AVX2_FMA;
}

bool mica_machine_has_avx512(void) {
    return instruction_sets() & HAS_AVX512;
}
#else
bool mica_machine_has_avx2_fma(void) {
    return false;
}

bool mica_machine_has_avx512(void) {
    return false;
}
#endif

/* ---- fork -------------------------------------------------------------------------------------*/

static bool is_forked_child;

static void after_fork_in_child(void) {
    __atomic_store_n(&is_forked_child, true, __ATOMIC_RELAXED);
}

static void register_fork_handler(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

bool mica_fork_happened(void) {
    return __atomic_load_n(&is_forked_child, __ATOMIC_RELAXED);
}

void mica_fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handler);
}

/* ---- shared libraries -------------------------------------------------------------------------*/

struct mica_library {
    void *handle;
};

mica_status mica_library_open(const char *name, mica_library **out_library) {
    *out_library = NULL;
    mica_library *library = mica_alloc(sizeof *library);
    if (!library) return mica_status_out_of_memory();
    library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        mica_free(library);
        const char *reason = dlerror();
        return MICA_ERROR(MICA_NOT_FOUND, "[library_open] cannot load '%s': %s", name,
                          reason ? reason : "unknown reason");
    }
    *out_library = library;
    return NULL;
}

void *mica_library_symbol(mica_library *library, const char *name) {
    return dlsym(library->handle, name);
}

void mica_library_close(mica_library *library) {
    if (!library) return;
    dlclose(library->handle);
    mica_free(library);
}

void mica_library_keep(mica_library *library) {
    mica_free(library);
}

bool mica_library_folder(char *path, size_t capacity) {
    Dl_info info;
    static const char anchor = 0;
    if (!dladdr(&anchor, &info) || !info.dli_fname) return false;
    const char *end = strrchr(info.dli_fname, '/');
    size_t length = end ? (size_t)(end - info.dli_fname) : 0;
    if (!end || length >= capacity) return false;
    memcpy(path, info.dli_fname, length);
    path[length] = 0;
    return true;
}

bool mica_library_of(const void *function, char *path, size_t capacity) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)function, &info) || !info.dli_fname) return false;
    int n = snprintf(path, capacity, "%s", info.dli_fname);
    return n > 0 && (size_t)n < capacity;
}

bool mica_folder_find(const char *folder, const char *prefix, char *name, size_t capacity) {
    DIR *entries = opendir(folder);
    if (!entries) return false;
    bool found = false;
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) || length >= capacity) continue;
        if (found && strcmp(entry->d_name, name) > 0) continue;
        memcpy(name, entry->d_name, length + 1);
        found = true;
    }
    closedir(entries);
    return found;
}

/* ---- files ------------------------------------------------------------------------------------*/

void mica_write_error_line(const char *text) {
    char newline = '\n';
    struct iovec parts[2] = {{(void *)(uintptr_t)text, strlen(text)}, {&newline, 1}};
    ssize_t written;
    do written = writev(STDERR_FILENO, parts, 2);
    while (written < 0 && errno == EINTR);
}

static mica_status file_error(const char *operation, const char *verb, const char *path) {
    int error = errno;
    mica_code code = error == ENOENT   ? MICA_NOT_FOUND
                     : error == ENOMEM ? MICA_OUT_OF_MEMORY
                                       : MICA_INVALID_ARGUMENT;
    return MICA_ERROR(code, "[%s] cannot %s '%s': %s", operation, verb, path, strerror(error));
}

/* Reads to the end, whatever the file's size was said to be. */
static mica_status read_all(int file, const char *path, size_t guess, uint8_t **out_bytes,
                            size_t *out_size) {
    size_t capacity = guess + 1, size = 0;
    uint8_t *bytes = mica_alloc(capacity);
    if (!bytes) return mica_status_out_of_memory();
    for (;;) {
        if (size == capacity) {
            uint8_t *grown = capacity > SIZE_MAX / 2 ? NULL : mica_realloc(bytes, capacity * 2);
            if (!grown) {
                mica_free(bytes);
                return mica_status_out_of_memory();
            }
            bytes = grown;
            capacity *= 2;
        }
        ssize_t got = read(file, bytes + size, capacity - size);
        if (got == 0) break;
        if (got > 0)
            size += (size_t)got;
        else if (errno != EINTR) {
            mica_status status = file_error("file_read", "read", path);
            mica_free(bytes);
            return status;
        }
    }
    *out_bytes = bytes;
    *out_size = size;
    return NULL;
}

mica_status mica_file_read(const char *path, uint8_t **out_bytes, size_t *out_size) {
    *out_bytes = NULL;
    *out_size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return file_error("file_read", "open", path);
    struct stat about;
    mica_status status = fstat(file, &about) != 0 ? file_error("file_read", "inspect", path) : NULL;
    size_t guess = !status && about.st_size > 0 ? (size_t)about.st_size : 4095;
    if (!status) status = read_all(file, path, guess, out_bytes, out_size);
    close(file);
    return status;
}

static mica_status write_all(int file, const char *path, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return file_error("file_write", "write", path);
        bytes += written;
        size -= (size_t)written;
    }
    return fsync(file) != 0 ? file_error("file_write", "write", path) : NULL;
}

/* Makes a rename durable. Its failure does not undo the rename, so it is not an error. */
static void sync_directory(const char *path, char *buffer) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    memcpy(buffer, path, n);
    strcpy(buffer + n, slash && n == 0 ? "/" : slash ? "" : ".");
    int directory = open(buffer, O_RDONLY | O_CLOEXEC);
    if (directory < 0) return;
    fsync(directory);
    close(directory);
}

mica_status mica_file_write_atomic(const char *path, const void *bytes, size_t size) {
    static int32_t counter;
    size_t capacity = strlen(path) + 48;
    char *aside = mica_alloc(capacity);
    if (!aside) return mica_status_out_of_memory();
    snprintf(aside, capacity, "%s.%ld-%d.part", path, (long)getpid(),
             (int)__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    int file = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    mica_status status = file < 0 ? file_error("file_write", "create", path) : NULL;
    if (!status) {
        status = write_all(file, path, bytes, size);
        if (close(file) != 0 && !status) status = file_error("file_write", "write", path);
        if (!status && rename(aside, path) != 0) status = file_error("file_write", "replace", path);
        if (status)
            unlink(aside);
        else
            sync_directory(path, aside);
    }
    mica_free(aside);
    return status;
}

struct mica_file {
    int number;
    bool is_written;
    char path[]; /* for messages */
};

static mica_status file_take(const char *path, bool is_written, mica_file **out_file) {
    *out_file = NULL;
    size_t length = strlen(path) + 1;
    mica_file *file = mica_alloc(sizeof *file + length);
    if (!file) return mica_status_out_of_memory();
    int flags = is_written ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC;
    file->number = open(path, flags, 0666);
    file->is_written = is_written;
    memcpy(file->path, path, length);
    if (file->number < 0) {
        mica_status status = is_written ? file_error("file_create", "create", path)
                                        : file_error("file_open", "open", path);
        mica_free(file);
        return status;
    }
    *out_file = file;
    return NULL;
}

mica_status mica_file_open(const char *path, mica_file **out_file) {
    return file_take(path, false, out_file);
}

mica_status mica_file_create(const char *path, mica_file **out_file) {
    return file_take(path, true, out_file);
}

mica_status mica_file_size(const mica_file *file, uint64_t *out_size) {
    struct stat about;
    *out_size = 0;
    if (fstat(file->number, &about) != 0) return file_error("file_size", "inspect", file->path);
    *out_size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return NULL;
}

mica_status mica_file_read_at(mica_file *file, uint64_t offset, void *bytes, size_t size) {
    uint8_t *at = bytes;
    while (size > 0) {
        ssize_t n = offset > INT64_MAX ? 0 : pread(file->number, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_error("file_read", "read", file->path);
        if (n == 0)
            return MICA_ERROR(MICA_DATA_LOSS, "[file_read] %s ends %zu bytes too early", file->path,
                              size);
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return NULL;
}

mica_status mica_file_append(mica_file *file, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t n = write(file->number, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_error("file_append", "write", file->path);
        at += n;
        size -= (size_t)n;
    }
    return NULL;
}

mica_status mica_file_close(mica_file *file) {
    if (!file) return NULL;
    mica_status status = NULL;
    if (file->is_written && fsync(file->number) != 0)
        status = file_error("file_close", "write", file->path);
    if (close(file->number) != 0 && !status && file->is_written)
        status = file_error("file_close", "write", file->path);
    mica_free(file);
    return status;
}

void mica_file_remove(const char *path) {
    unlink(path);
}

bool mica_file_rename(const char *from, const char *to) {
    return rename(from, to) == 0;
}

void mica_file_touch(const char *path) {
    utimensat(AT_FDCWD, path, NULL, 0);
}

bool mica_file_describe(const char *path, uint64_t *out_size, int64_t *out_changed) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    *out_size = (uint64_t)about.st_size;
    *out_changed = (int64_t)about.st_mtime;
    return true;
}

/* ---- folders ----------------------------------------------------------------------------------*/

static bool is_private(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool mica_folder_make_private(const char *path) {
    char part[4096];
    if (strlen(path) >= sizeof part) return false;
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST) return false;
    }
    return is_private(path) && access(path, R_OK | X_OK) == 0;
}

bool mica_folder_is_writable(const char *path) {
    return access(path, W_OK | X_OK) == 0;
}

bool mica_folder_make_temporary(char *path, size_t capacity) {
    const char *above = getenv("TMPDIR");
    int n = snprintf(path, capacity, "%s/mica-XXXXXX", above && *above ? above : "/tmp");
    return n > 0 && (size_t)n < capacity && mkdtemp(path);
}

void mica_folder_remove(const char *path) {
    rmdir(path);
}

void mica_folder_visit(const char *path, void (*visit)(void *context, const char *name),
                       void *context) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            visit(context, entry->d_name);
    closedir(folder);
}

/* ---- programs ---------------------------------------------------------------------------------*/

int64_t mica_process_id(void) {
    return (int64_t)getpid();
}

bool mica_program_find(const char *name, char *path, size_t capacity) {
    if (strchr(name, '/')) {
        int n = snprintf(path, capacity, "%s", name);
        return n > 0 && (size_t)n < capacity && access(name, X_OK) == 0;
    }
    for (const char *folders = getenv("PATH"); folders && *folders;) {
        size_t length = strcspn(folders, ":");
        int n = snprintf(path, capacity, "%.*s/%s", (int)length, folders, name);
        if (n > 0 && (size_t)n < capacity && access(path, X_OK) == 0) return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* The host may reap children itself; the program has then ended, how is not known. */
static mica_status wait_for_program(pid_t child, const char *name,
                                    const mica_program_limits *limits) {
    double end = mica_clock_seconds() + limits->seconds;
    for (double pause = 0.001;; pause = pause < 0.02 ? pause * 1.5 : pause) {
        int state = 0;
        pid_t got = waitpid(child, &state, WNOHANG);
        if (got == child) {
            if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return NULL;
            return MICA_ERROR(MICA_INTERNAL, "[program_run] '%s' failed (%s %d)", name,
                              WIFEXITED(state) ? "exit" : "signal",
                              WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
        }
        if (got < 0 && errno != EINTR) return NULL;
        bool is_cancelled = limits->cancel && __atomic_load_n(limits->cancel, __ATOMIC_ACQUIRE);
        if (is_cancelled || mica_clock_seconds() > end) {
            /* The group: a compiler's driver has children of its own. */
            if (kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
            waitpid(child, &state, 0);
            if (is_cancelled)
                return MICA_ERROR(MICA_FAILED_PRECONDITION, "[program_run] '%s' was ended", name);
            return MICA_ERROR(MICA_INTERNAL, "[program_run] '%s' took more than %.0f s", name,
                              limits->seconds);
        }
        mica_sleep(pause);
    }
}

/* The program holds no file of the host's: a lock on it would last as long as the program. What
 * lies above the limit (a debugger's own) cannot be closed, and is none of them. */
static int close_others(posix_spawn_file_actions_t *files) {
    struct rlimit limit;
    DIR *folder = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? opendir("/dev/fd") : NULL;
    int error = 0;
    for (struct dirent *entry; folder && !error && (entry = readdir(folder));) {
        char *end;
        long file = strtol(entry->d_name, &end, 10);
        if (*end || file <= 2 || file == dirfd(folder) || (rlim_t)file >= limit.rlim_cur) continue;
        error = posix_spawn_file_actions_addclose(files, (int)file);
    }
    if (folder) closedir(folder);
    return error;
}

mica_status mica_program_run(char *const *arguments, const char *output,
                             const mica_program_limits *limits) {
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    if (posix_spawn_file_actions_init(&files) != 0) return mica_status_out_of_memory();
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return mica_status_out_of_memory();
    }
    /* Threads of the library block signals; the program shall not. */
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (!error) error = close_others(&files);
    pid_t child = 0;
    if (!error) error = posix_spawn(&child, arguments[0], &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        return MICA_ERROR(MICA_INTERNAL, "[program_run] cannot start '%s': %s", arguments[0],
                          strerror(error));
    if (limits->is_modest) setpriority(PRIO_PROCESS, (id_t)child, 10);
    return wait_for_program(child, arguments[0], limits);
}

/* ---- memory -----------------------------------------------------------------------------------*/

void mica_prefer_large_pages(void *block, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    (void)madvise(block, bytes & ~(((size_t)2 << 20) - 1), MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}
