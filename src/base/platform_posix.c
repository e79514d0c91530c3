/* Linux and macOS. This file, program_posix.c and socket_posix.c are all that talks to the
 * operating system. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "base/platform.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#else
#include <malloc/malloc.h>
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
 * condition is never destroyed: neither system attaches anything to one without waiters. */
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

const void *mica_thread_id(void) {
    static _Thread_local char place;
    return &place;
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

bool mica_thread_is_first(void) {
#if defined(__linux__)
    return syscall(SYS_gettid) == getpid();
#else
    return pthread_main_np() != 0;
#endif
}

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

double mica_clock_coarse_seconds(void) {
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
    return mica_clock_seconds();
#endif
}

double mica_clock_since_1970(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void mica_machine_name(char *name, size_t capacity) {
    if (gethostname(name, capacity) != 0 || !memchr(name, 0, capacity) || !*name)
        snprintf(name, capacity, "localhost");
}

/* ---- memory and chance ------------------------------------------------------------------------*/

size_t mica_block_bytes(void *block) {
#if defined(__linux__)
    return malloc_usable_size(block);
#else
    return malloc_size(block);
#endif
}

mica_status mica_random_bytes(void *bytes, size_t n) {
#if defined(__linux__)
    for (size_t at = 0; at < n;) {
        ssize_t got = getrandom((char *)bytes + at, n - at, 0);
        if (got < 0 && errno != EINTR)
            return MICA_ERROR(MICA_INTERNAL, "[random] the system gives none: %s", strerror(errno));
        if (got > 0) at += (size_t)got;
    }
#else
    arc4random_buf(bytes, n);
#endif
    return NULL;
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

/* What the control group allows; 0 when there is no bound. */
static uint64_t quota_memory(void) {
    char text[64];
    unsigned long long bytes;
    if (!read_start("/sys/fs/cgroup/memory.max", text, sizeof text)) return 0;
    return sscanf(text, "%llu", &bytes) == 1 ? bytes : 0;
}

/* The number behind a name in a text such as /proc/meminfo; false when it is not there. */
static bool number_after(const char *text, const char *name, uint64_t *out) {
    const char *at = strstr(text, name);
    unsigned long long number;
    if (!at || sscanf(at + strlen(name), "%llu", &number) != 1) return false;
    *out = number;
    return true;
}

/* What the control group leaves; pages of files that it can give back count as left. */
static uint64_t quota_left(void) {
    char text[4096];
    uint64_t quota = quota_memory(), used, files = 0;
    if (!quota || !read_start("/sys/fs/cgroup/memory.current", text, sizeof text) ||
        !number_after(text, "", &used))
        return UINT64_MAX;
    if (read_start("/sys/fs/cgroup/memory.stat", text, sizeof text))
        (void)number_after(text, "\ninactive_file ", &files);
    used -= files < used ? files : used;
    return used < quota ? quota - used : 0;
}

/* What the limit of addresses leaves. */
static uint64_t addresses_left(void) {
    struct rlimit limit;
    char text[128];
    uint64_t pages;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        !read_start("/proc/self/statm", text, sizeof text) || !number_after(text, "", &pages))
        return UINT64_MAX;
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t mica_memory_left(void) {
    char text[1024];
    uint64_t left = UINT64_MAX, kib;
    if (read_start("/proc/meminfo", text, sizeof text) &&
        number_after(text, "\nMemAvailable:", &kib))
        left = kib * 1024;
    uint64_t quota = quota_left(), addresses = addresses_left();
    if (quota < left) left = quota;
    return addresses < left ? addresses : left;
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
static uint64_t quota_memory(void) {
    return 0;
}

uint64_t mica_memory_left(void) {
    return UINT64_MAX;
}

static int32_t allowed_threads(void) {
    return 0;
}
#endif

uint64_t mica_machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    uint64_t quota = quota_memory();
    return quota && (!all || quota < all) ? quota : all;
}

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

bool mica_machine_is_privileged(void) {
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return issetugid() != 0;
#endif
}

const char *mica_environment(const char *name) {
    return mica_machine_is_privileged() ? NULL : getenv(name);
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

static mica_status open_library(const char *name, int scope, mica_library **out_library) {
    *out_library = NULL;
    mica_library *library = mica_alloc(sizeof *library);
    if (!library) return mica_status_out_of_memory();
    library->handle = dlopen(name, RTLD_NOW | scope);
    if (!library->handle) {
        mica_free(library);
        const char *reason = dlerror();
        return MICA_ERROR(MICA_NOT_FOUND, "[library_open] cannot load '%s': %s", name ? name : "",
                          reason ? reason : "unknown reason");
    }
    *out_library = library;
    return NULL;
}

mica_status mica_library_open(const char *name, mica_library **out_library) {
    return open_library(name, RTLD_LOCAL, out_library);
}

mica_status mica_library_open_global(const char *name, mica_library **out_library) {
    return open_library(name, RTLD_GLOBAL, out_library);
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

static mica_code code_of(int error) {
    switch (error) {
    case ENOENT: return MICA_NOT_FOUND;
    case ENOMEM: return MICA_OUT_OF_MEMORY;
    case EEXIST: return MICA_FAILED_PRECONDITION;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE: return MICA_RESOURCE_EXHAUSTED;
    default: return MICA_INVALID_ARGUMENT;
    }
}

static mica_status file_error(const char *operation, const char *verb, const char *path) {
    int error = errno;
    return MICA_ERROR(code_of(error), "[%s] cannot %s '%s': %s", operation, verb, path,
                      strerror(error));
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

/* A URL is no name of a folder that ends with a colon. */
static mica_status check_local(const char *operation, const char *path) {
    size_t n = 0;
    while (isalnum((unsigned char)path[n]) || (n && path[n] && strchr("+-.", path[n]))) n++;
    if (n < 2 || !isalpha((unsigned char)path[0]) || strncmp(path + n, "://", 3) != 0) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[%s] File system scheme '%.*s' not implemented (file: '%s'): only files of "
                      "this machine are read and written. In Python the package fsspec copies "
                      "files from and to others: fsspec.filesystem(\"%.*s\").get(...)",
                      operation, (int)n, path, path, (int)n, path);
}

mica_status mica_file_read(const char *path, uint8_t **out_bytes, size_t *out_size) {
    *out_bytes = NULL;
    *out_size = 0;
    MICA_TRY(check_local("file_read", path));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return file_error("file_read", "open", path);
    struct stat about;
    mica_status status = fstat(file, &about) != 0 ? file_error("file_read", "inspect", path) : NULL;
    size_t guess = !status && about.st_size > 0 ? (size_t)about.st_size : 4095;
    if (!status) status = read_all(file, path, guess, out_bytes, out_size);
    close(file);
    return status;
}

static int open_folder_of(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n + 2 > sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, path, n);
    strcpy(folder + n, slash && n == 0 ? "/" : slash ? "" : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Its failure does not undo what was done in the folder, so it is not an error. */
void mica_folder_sync_of(const char *path) {
    int folder = open_folder_of(path);
    if (folder < 0) return;
    fsync(folder);
    close(folder);
}

struct mica_file {
    int number;
    bool is_written; /* and not yet known to be on the disk */
    int shown;       /* so much of the path is for messages: not what a name aside has more */
    char path[];
};

static mica_status fault_of(const mica_file *file, const char *operation, const char *verb) {
    int error = errno;
    return MICA_ERROR(code_of(error), "[%s] cannot %s '%.*s': %s", operation, verb, file->shown,
                      file->path, strerror(error));
}

static mica_status file_take(const char *path, int shown, int flags, mode_t mode,
                             mica_file **out_file) {
    *out_file = NULL;
    size_t length = strlen(path) + 1;
    bool is_written = (flags & O_ACCMODE) != O_RDONLY;
    MICA_TRY(check_local(is_written ? "file_create" : "file_open", path));
    mica_file *file = mica_alloc(sizeof *file + length);
    if (!file) return mica_status_out_of_memory();
    file->number = open(path, flags | O_CLOEXEC, mode);
    file->is_written = is_written;
    file->shown = shown;
    memcpy(file->path, path, length);
    if (file->number < 0) {
        mica_status status = is_written ? fault_of(file, "file_create", "create")
                                        : fault_of(file, "file_open", "open");
        mica_free(file);
        return status;
    }
    *out_file = file;
    return NULL;
}

mica_status mica_file_open(const char *path, mica_file **out_file) {
    return file_take(path, (int)strlen(path), O_RDONLY, 0, out_file);
}

/* false when another has the lock, or there are none on this file system. */
static bool lock_file(int number, bool wait) {
    int failed;
    do failed = flock(number, LOCK_EX | (wait ? 0 : LOCK_NB));
    while (failed && errno == EINTR);
    return !failed;
}

/* Between its making and its locking another process may take the file for one that was left
 * behind, and remove it; then it is made again. */
static mica_status create_locked(const char *path, int shown, mode_t mode, mica_file **out_file) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    for (;;) {
        struct stat about;
        MICA_TRY(file_take(path, shown, flags, mode, out_file));
        (void)lock_file((*out_file)->number, true);
        if (fstat((*out_file)->number, &about) != 0 || about.st_nlink > 0) return NULL;
        mica_status_release(mica_file_close(*out_file));
        *out_file = NULL;
    }
}

mica_status mica_file_create_new(const char *path, mica_file **out_file) {
    return create_locked(path, (int)strlen(path), 0666, out_file);
}

/* What takes the place of a file can be read by those who could read that. */
static void take_mode(int number, const char *of) {
    struct stat about;
    if (stat(of, &about) == 0) (void)!fchmod(number, about.st_mode & 0777);
}

void mica_file_take_mode(mica_file *file, const char *of) {
    take_mode(file->number, of);
}

#define ASIDE_ROOM 48 /* more than a path that the name aside takes */

static const char *name_in(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* `<path>.<process>-<number>.part`, where a long name is cut so that the folder takes it. Returns
 * how much of the path is in it. */
static int name_aside(const char *path, char *aside) {
    static int32_t counter;
    const char *name = name_in(path);
    size_t n = (size_t)(name - path) + (strlen(name) < 200 ? strlen(name) : 200);
    snprintf(aside, strlen(path) + ASIDE_ROOM, "%.*s.%ld-%d.part", (int)n, path, (long)getpid(),
             (int)__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    return (int)n;
}

/* Whether `name` is one that name_aside makes of a path that ends in `of`. */
static bool is_aside(const char *name, const char *of) {
    size_t n = strlen(of) < 200 ? strlen(of) : 200;
    if (strncmp(name, of, n) != 0 || name[n] != '.') return false;
    const char *at = name + n + 1;
    size_t process = strspn(at, "0123456789");
    if (process == 0 || at[process] != '-') return false;
    at += process + 1;
    size_t number = strspn(at, "0123456789");
    return number > 0 && !strcmp(at + number, ".part");
}

static mica_status create_aside(const char *path, mode_t mode, mica_file **out_file) {
    *out_file = NULL;
    char *aside = mica_alloc(strlen(path) + ASIDE_ROOM);
    mica_status status = aside ? NULL : mica_status_out_of_memory();
    for (int tries = 0; aside && !*out_file && tries < 100; tries++) {
        mica_status_release(status);
        int shown = name_aside(path, aside);
        status = create_locked(aside, shown, mode, out_file);
        if (status && mica_status_code(status) != MICA_FAILED_PRECONDITION) break;
    }
    mica_free(aside);
    return status;
}

mica_status mica_file_create_aside(const char *path, mica_file **out_file) {
    MICA_TRY(create_aside(path, 0666, out_file));
    take_mode((*out_file)->number, path);
    return NULL;
}

mica_status mica_file_sync(mica_file *file) {
    if (fsync(file->number) != 0) return fault_of(file, "file_sync", "write");
    file->is_written = false;
    return NULL;
}

mica_status mica_file_publish(mica_file *file, const char *to) {
    MICA_TRY(mica_file_sync(file));
    if (rename(file->path, to) != 0) return fault_of(file, "file_publish", "put in its place");
    mica_folder_sync_of(to);
    return NULL;
}

void mica_file_discard(mica_file *file) {
    if (!file) return;
    unlink(file->path);
    close(file->number);
    mica_free(file);
}

static mica_status write_and_publish(mica_file *file, const char *path, const void *bytes,
                                     size_t size) {
    mica_status status = mica_file_append(file, bytes, size);
    if (!status) status = mica_file_publish(file, path);
    if (!status) return mica_file_close(file);
    mica_file_discard(file);
    return status;
}

mica_status mica_file_write_atomic(const char *path, const void *bytes, size_t size) {
    mica_file *file;
    MICA_TRY(mica_file_create_aside(path, &file));
    return write_and_publish(file, path, bytes, size);
}

mica_status mica_file_write_private(const char *path, const void *bytes, size_t size) {
    mica_file *file;
    MICA_TRY(create_aside(path, 0600, &file));
    return write_and_publish(file, path, bytes, size);
}

/* Whether `path` is the file that is open, which no other process has locked. While its lock is
 * held, no other process removes it, so the name stays its own. */
static bool lock_unused(int number, const char *path) {
    struct stat here, there;
    return lock_file(number, false) && fstat(number, &here) == 0 && lstat(path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

bool mica_file_remove_unused(const char *path) {
    int number = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (number < 0) return false;
    bool is_removed = lock_unused(number, path) && unlink(path) == 0;
    close(number);
    return is_removed;
}

mica_status mica_file_size(const mica_file *file, uint64_t *out_size) {
    struct stat about;
    *out_size = 0;
    if (fstat(file->number, &about) != 0) return fault_of(file, "file_size", "inspect");
    *out_size = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return NULL;
}

mica_status mica_file_read_at(mica_file *file, uint64_t offset, void *bytes, size_t size) {
    uint8_t *at = bytes;
    while (size > 0) {
        ssize_t n = offset > INT64_MAX ? 0 : pread(file->number, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fault_of(file, "file_read", "read");
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
        if (n < 0) return fault_of(file, "file_append", "write");
        at += n;
        size -= (size_t)n;
    }
    return NULL;
}

mica_status mica_file_close(mica_file *file) {
    if (!file) return NULL;
    mica_status status = NULL;
    if (file->is_written && fsync(file->number) != 0)
        status = fault_of(file, "file_close", "write");
    if (close(file->number) != 0 && !status && file->is_written)
        status = fault_of(file, "file_close", "write");
    mica_free(file);
    return status;
}

void mica_file_remove(const char *path) {
    unlink(path);
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

/* ---- files that are loaded --------------------------------------------------------------------*/

/* Only this user and root can have written it. */
static bool is_ours(const struct stat *about) {
    return (about->st_uid == geteuid() || about->st_uid == 0) &&
           (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

mica_status mica_file_read_secret(const char *path, uint8_t **out_bytes, size_t *out_size) {
    struct stat about;
    *out_bytes = NULL;
    *out_size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return file_error("secret", "open", path);
    mica_status status = NULL;
    if (fstat(file, &about) != 0)
        status = file_error("secret", "describe", path);
    else if (!S_ISREG(about.st_mode) || !is_ours(&about) ||
             (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        status =
            MICA_ERROR(MICA_FAILED_PRECONDITION,
                       "[secret] '%s' has mode %03o and owner %lld: it must be a file that its "
                       "owner, this user or root, alone may read and write (chmod 600)",
                       path, (unsigned)about.st_mode & 0777, (long long)about.st_uid);
    else if (about.st_size > 1 << 16)
        status = MICA_ERROR(MICA_INVALID_ARGUMENT, "[secret] '%s' has %lld bytes, at most 65536",
                            path, (long long)about.st_size);
    if (!status) status = read_all(file, path, (size_t)about.st_size, out_bytes, out_size);
    close(file);
    return status;
}

#if defined(__linux__)
/* The loader takes a name that it has seen for the library that it has loaded, and numbers of files
 * are given out again; so each load spells the same folder in another way. */
static void *load_open_file(int file) {
    static uint32_t counter;
    uint32_t number = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
    char path[128] = "/proc/self/fd/";
    size_t n = strlen(path);
    for (int i = 0; i < 32; i++) {
        if (number >> i & 1) path[n++] = '.';
        path[n++] = '/';
    }
    snprintf(path + n, sizeof path - n, "%d", file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
#else
static void *load_open_file(int file) {
    (void)file;
    return NULL;
}
#endif

/* Where an open file has no name: by a copy in a folder that is this user's alone. */
static void *load_copy(const uint8_t *bytes, size_t size) {
    char folder[3072], path[3200];
    if (!mica_folder_make_temporary(folder, sizeof folder)) return NULL;
    snprintf(path, sizeof path, "%s/copy.so", folder);
    mica_status status = mica_file_write_private(path, bytes, size);
    void *handle = status ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mica_status_release(status);
    mica_file_remove(path);
    mica_folder_remove(folder);
    return handle;
}

static mica_status load_checked(int file, const char *path, mica_library_check *is_accepted,
                                void *context, mica_library *library) {
    struct stat about;
    if (fstat(file, &about) != 0) return file_error("library_open", "inspect", path);
    if (!S_ISREG(about.st_mode) || !is_ours(&about))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[library_open] '%s' is not loaded: it is not a regular file, or others "
                          "own it or may write to it",
                          path);
    uint8_t *bytes = NULL;
    size_t size = 0;
    MICA_TRY(read_all(file, path, (size_t)about.st_size, &bytes, &size));
    mica_status status = NULL;
    if (!is_accepted(context, bytes, size))
        status = MICA_ERROR(MICA_FAILED_PRECONDITION, "[library_open] '%s' is not whole", path);
    if (!status && !(library->handle = load_open_file(file)))
        library->handle = load_copy(bytes, size);
    if (!status && !library->handle) {
        const char *reason = dlerror();
        status = MICA_ERROR(MICA_NOT_FOUND, "[library_open] cannot load '%s': %s", path,
                            reason ? reason : "unknown reason");
    }
    mica_free(bytes);
    return status;
}

mica_status mica_library_open_checked(const char *path, mica_library_check *is_accepted,
                                      void *context, mica_library **out_library) {
    *out_library = NULL;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return file_error("library_open", "open", path);
    mica_library *library = mica_calloc(1, sizeof *library);
    mica_status status = library ? load_checked(file, path, is_accepted, context, library)
                                 : mica_status_out_of_memory();
    close(file);
    if (status)
        mica_free(library);
    else
        *out_library = library;
    return status;
}

/* ---- folders ----------------------------------------------------------------------------------*/

static bool is_private(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && is_ours(&about);
}

/* A folder and those above it; false, with errno, where one of them cannot be made. */
static bool make_folders(const char *path, mode_t mode) {
    char part[4096];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, mode) != 0 && errno != EEXIST) return false;
    }
    return true;
}

bool mica_folder_make_private(const char *path) {
    return make_folders(path, 0700) && is_private(path) && access(path, R_OK | X_OK) == 0;
}

mica_status mica_folder_make(const char *path) {
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return NULL;
    MICA_TRY(check_local("folder_make", path));
    if (!make_folders(path, 0777)) return file_error("folder_make", "make", path);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return NULL;
    errno = ENOTDIR;
    return file_error("folder_make", "make", path);
}

bool mica_folder_is_writable(const char *path) {
    return access(path, W_OK | X_OK) == 0;
}

bool mica_folder_make_temporary(char *path, size_t capacity) {
    const char *above = mica_environment("TMPDIR");
    int n = snprintf(path, capacity, "%s/mica-XXXXXX", above && *above ? above : "/tmp");
    return n > 0 && (size_t)n < capacity && mkdtemp(path);
}

void mica_folder_remove(const char *path) {
    rmdir(path);
}

mica_status mica_folder_create_aside(const char *path, mica_file **out_folder) {
    *out_folder = NULL;
    size_t room = strlen(path) + ASIDE_ROOM;
    mica_file *folder = mica_alloc(sizeof *folder + room);
    if (!folder) return mica_status_out_of_memory();
    *folder = (mica_file){.number = -1};
    for (int tries = 0; folder->number < 0 && tries < 100; tries++) {
        struct stat about;
        folder->shown = name_aside(path, folder->path);
        if (mkdir(folder->path, 0777) != 0) {
            if (errno == EEXIST) continue;
            break;
        }
        folder->number = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder->number < 0) break;
        (void)lock_file(folder->number, true);
        if (fstat(folder->number, &about) == 0 && about.st_nlink > 0) continue;
        close(folder->number); /* taken for one that was left behind */
        folder->number = -1;
    }
    if (folder->number < 0) {
        mica_status status = fault_of(folder, "folder_create", "create");
        mica_free(folder);
        return status;
    }
    take_mode(folder->number, path);
    *out_folder = folder;
    return NULL;
}

const char *mica_file_path(const mica_file *file) {
    return file->path;
}

static int exchange(const char *a, const char *b) {
#if defined(__linux__) && defined(RENAME_EXCHANGE)
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#elif defined(__APPLE__)
    return renamex_np(a, b, RENAME_SWAP);
#else
    (void)a, (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

mica_status mica_folder_exchange(const char *a, const char *b) {
    if (exchange(a, b) != 0) {
        int error = errno;
        bool is_absent = error == EINVAL || error == ENOSYS || error == ENOTSUP || error == EXDEV;
        return MICA_ERROR(is_absent ? MICA_UNSUPPORTED : code_of(error),
                          "[folder_exchange] cannot exchange '%s' and '%s': %s", a, b,
                          strerror(error));
    }
    mica_folder_sync_of(a);
    return NULL;
}

mica_status mica_folder_move(const char *from, const char *to) {
    if (rename(from, to) != 0) return file_error("folder_move", "put in its place", to);
    mica_folder_sync_of(to);
    return NULL;
}

/* The entries of an open folder, which is closed; it is known by its number, so that no one can put
 * a link in the place of a folder on the way down. */
static bool visit_at(int folder,
                     bool (*visit)(int folder, const char *name, bool is_folder, int other),
                     int other) {
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    bool is_good = entries;
    if (!entries && folder >= 0) close(folder);
    for (struct dirent *entry; is_good && (entry = readdir(entries));) {
        struct stat about;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        is_good = fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                  visit(folder, entry->d_name, S_ISDIR(about.st_mode), other);
    }
    int error = errno;
    if (entries) closedir(entries);
    errno = error;
    return is_good;
}

static int open_below(int folder, const char *name) {
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool remove_entry(int folder, const char *name, bool is_folder, int other) {
    if (is_folder) visit_at(open_below(folder, name), remove_entry, other);
    unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0);
    return true; /* what another has removed, or cannot be, does not stop the rest */
}

void mica_folder_remove_all(const char *path) {
    visit_at(open_below(AT_FDCWD, path), remove_entry, -1);
    rmdir(path);
}

static bool link_entry(int folder, const char *name, bool is_folder, int other) {
    if (!is_folder) return linkat(folder, name, other, name, 0) == 0;
    if (mkdirat(other, name, 0777) != 0) return false;
    int to = open_below(other, name);
    bool is_good = to >= 0 && visit_at(open_below(folder, name), link_entry, to);
    if (to >= 0) close(to);
    return is_good;
}

bool mica_folder_link(const char *from, const char *name, const char *to) {
    int folder = open_below(AT_FDCWD, from), other = open_below(AT_FDCWD, to);
    struct stat about;
    bool is_good = folder >= 0 && other >= 0 &&
                   fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                   link_entry(folder, name, S_ISDIR(about.st_mode), other);
    if (folder >= 0) close(folder);
    if (other >= 0) close(other);
    return is_good;
}

mica_status mica_folder_create(const char *path) {
    MICA_TRY(check_local("folder_create", path));
    return mkdir(path, 0777) == 0 ? NULL : file_error("folder_create", "create", path);
}

bool mica_folder_has(const char *path, const char *name) {
    int folder = open_below(AT_FDCWD, path);
    struct stat about;
    bool has = folder >= 0 && fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (folder >= 0) close(folder);
    return has;
}

/* Whether all that is left of one file is now in the other. */
static bool copy_bytes(int from, int to) {
    char bytes[1 << 14];
    for (;;) {
        ssize_t n = read(from, bytes, sizeof bytes), done = 0;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n == 0 && fsync(to) == 0;
        while (done < n) {
            ssize_t written = write(to, bytes + done, (size_t)(n - done));
            if (written < 0 && errno != EINTR) return false;
            if (written > 0) done += written;
        }
    }
}

/* errno says why it is false. */
static bool copy_file(int folder, const char *name, int other) {
    struct stat about;
    int error, from = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), to = -1;
    bool is_good = from >= 0 && fstat(from, &about) == 0;
    if (is_good && !S_ISREG(about.st_mode)) {
        errno = EINVAL;
        is_good = false;
    }
    if (is_good)
        to = openat(other, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    about.st_mode & 0777);
    is_good = is_good && to >= 0 && copy_bytes(from, to);
    error = errno;
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    errno = error;
    return is_good;
}

static bool copy_entry(int folder, const char *name, bool is_folder, int other) {
    if (!is_folder) return copy_file(folder, name, other);
    if (mkdirat(other, name, 0777) != 0) return false;
    int to = open_below(other, name), error;
    bool is_good = to >= 0 && visit_at(open_below(folder, name), copy_entry, to) && fsync(to) == 0;
    error = errno;
    if (to >= 0) close(to);
    errno = error;
    return is_good;
}

mica_status mica_folder_copy(const char *from, const char *name, const char *to) {
    int folder = open_below(AT_FDCWD, from), other = open_below(AT_FDCWD, to);
    struct stat about;
    bool is_good = folder >= 0 && other >= 0 &&
                   fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                   copy_entry(folder, name, S_ISDIR(about.st_mode), other);
    mica_status status = is_good ? NULL : file_error("folder_copy", "copy", name);
    if (folder >= 0) close(folder);
    if (other >= 0) close(other);
    return status;
}

void mica_folder_remove_asides(const char *path) {
    int folder = open_folder_of(path);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    if (!entries && folder >= 0) close(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct stat here, there;
        const char *name = entry->d_name;
        if (!is_aside(name, name_in(path))) continue;
        int number = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (number < 0) continue;
        if (lock_file(number, false) && fstat(number, &here) == 0 &&
            fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            here.st_ino == there.st_ino && here.st_uid == geteuid())
            remove_entry(folder, name, S_ISDIR(here.st_mode), -1);
        close(number);
    }
    if (entries) closedir(entries);
}

int32_t mica_folder_lock_of(const char *path, double seconds) {
    int folder = open_folder_of(path);
    double end = mica_clock_seconds() + seconds;
    while (folder >= 0 && !lock_file(folder, false)) {
        if (errno != EWOULDBLOCK || mica_clock_seconds() >= end) {
            close(folder);
            return -1;
        }
        mica_sleep(0.001);
    }
    return folder;
}

void mica_folder_unlock(int32_t lock) {
    if (lock >= 0) close(lock);
}

bool mica_folder_can_be_moved(const char *path) {
    char working[4096], whole[4096];
    struct stat here, above;
    size_t n;
    int folder;
    if (!realpath(path, whole) || !getcwd(working, sizeof working)) return false;
    n = strlen(whole);
    if (!strncmp(working, whole, n) && (working[n] == '/' || !working[n] || n == 1)) return false;
    if (lstat(path, &here) != 0 || !S_ISDIR(here.st_mode)) return false;
    folder = open_folder_of(whole);
    bool is_same = folder >= 0 && fstat(folder, &above) == 0 && above.st_dev == here.st_dev;
    if (folder >= 0) close(folder);
    return is_same;
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

/* ---- memory -----------------------------------------------------------------------------------*/

void mica_prefer_large_pages(void *block, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    (void)madvise(block, bytes & ~(((size_t)2 << 20) - 1), MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}

/* ---- patterns ---------------------------------------------------------------------------------*/

#ifndef GLOB_PERIOD
#define GLOB_PERIOD 0
#endif

mica_status mica_file_match(const char *pattern, void (*visit)(void *context, const char *path),
                            void *context) {
    glob_t found;
    int code = glob(pattern, GLOB_PERIOD | GLOB_NOSORT, NULL, &found);
    if (code == GLOB_NOSPACE) return mica_status_out_of_memory();
    for (size_t i = 0; code == 0 && i < found.gl_pathc; i++) {
        const char *name = name_in(found.gl_pathv[i]);
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) visit(context, found.gl_pathv[i]);
    }
    globfree(&found);
    return NULL;
}
