#include "codegen/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "mica/runtime.h"

#define PATH_BYTES 4096
#define MOST_ARGUMENTS 96
#define COMPILE_SECONDS 300.0
#define MOST_ENTRIES 1000
#define MOST_BYTES ((uint64_t)256 << 20)

#if defined(__x86_64__)
#define TARGET "x86-64"
#elif defined(__aarch64__)
#define TARGET "arm64"
#else
#define TARGET "other"
#endif

/* ---- the compiler -----------------------------------------------------------------------------*/

typedef struct compiler {
    char path[PATH_BYTES];
    char arguments[256]; /* before all others, separated by blanks */
    uint64_t size;       /* with the next one, changes with the program */
    int64_t changed;
} compiler;

static bool accept(compiler *c, const char *name, const char *arguments) {
    if (!mica_program_find(name, c->path, sizeof c->path) ||
        !mica_file_describe(c->path, &c->size, &c->changed))
        return false;
    snprintf(c->arguments, sizeof c->arguments, "%s", arguments);
    return true;
}

/* ziglang in the same site-packages as this library, or one or two folders above it. */
static bool find_zig(compiler *c) {
    char folder[PATH_BYTES], path[PATH_BYTES + 32];
    if (!mica_library_folder(folder, sizeof folder)) return false;
    for (int up = 0; up < 4; up++) {
        snprintf(path, sizeof path, "%s/ziglang/zig", folder);
        if (accept(c, path, "cc")) return true;
        char *slash = strrchr(folder, '/');
        if (!slash) break;
        *slash = 0;
    }
    return false;
}

/* With rights that its caller lacks, a process runs no program: that reads the caller's
 * environment too. */
static bool find_compiler(compiler *c) {
    if (mica_machine_is_privileged()) return false;
    const char *wanted = mica_environment("MICA_CC");
    if (wanted && *wanted) {
        char name[PATH_BYTES];
        size_t n = strcspn(wanted, " ");
        if (n >= sizeof name || !strcmp(wanted, "none")) return false;
        memcpy(name, wanted, n);
        name[n] = 0;
        return accept(c, name, wanted + n + (wanted[n] == ' '));
    }
    return accept(c, "cc", "") || accept(c, "gcc", "") || accept(c, "clang", "") || find_zig(c);
}

/* ---- the folder -------------------------------------------------------------------------------*/

static void warn(const char *folder, const char *why) {
    static int32_t warned;
    if (!mica_log_on(MICA_LOG_WARNING) || __atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED)) return;
    mica_log_write(MICA_LOG_WARNING, "compiled code is not kept in %s: %s", folder, why);
}

typedef enum folder_use { NO_FOLDER, READ_ONLY, READ_AND_WRITE } folder_use;

static folder_use find_folder(char *path, size_t capacity) {
    const char *own = mica_environment("MICA_CACHE"), *cache = mica_environment("XDG_CACHE_HOME");
    const char *home = mica_environment("HOME");
    if (own && !strcmp(own, "off")) return NO_FOLDER;
    int n = own && *own       ? snprintf(path, capacity, "%s", own)
            : cache && *cache ? snprintf(path, capacity, "%s/mica", cache)
            : home && *home   ? snprintf(path, capacity, "%s/.cache/mica", home)
                              : 0;
    if (n <= 0 || (size_t)n >= capacity) return NO_FOLDER;
    if (!mica_folder_make_private(path)) {
        warn(path, "it cannot be made, or others own it or may write to it");
        return NO_FOLDER;
    }
    if (mica_folder_is_writable(path)) return READ_AND_WRITE;
    warn(path, "it cannot be written to");
    return READ_ONLY;
}

typedef struct entry {
    char name[128];
    uint64_t bytes;
    int64_t changed;
} entry;

typedef struct pruning {
    const char *folder;
    entry *entries;
    size_t n, capacity;
    uint64_t bytes;
} pruning;

/* Names that are longer than ours are not ours. */
static void weigh_entry(void *context, const char *name) {
    pruning *p = context;
    char path[PATH_BYTES];
    entry e = {0};
    int n = snprintf(path, sizeof path, "%s/%s", p->folder, name);
    if (strlen(name) >= sizeof e.name || n < 0 || (size_t)n >= sizeof path ||
        !mica_file_describe(path, &e.bytes, &e.changed))
        return;
    /* Of a writer that was killed; one that is at work holds a lock on it. */
    size_t length = strlen(name);
    if (length > 5 && !strcmp(name + length - 5, ".part") && mica_file_remove_unused(path)) return;
    if (p->n == p->capacity) {
        size_t more = p->capacity ? 2 * p->capacity : 256;
        entry *grown = mica_realloc(p->entries, sizeof *grown * more);
        if (!grown) return;
        p->entries = grown;
        p->capacity = more;
    }
    memcpy(e.name, name, strlen(name));
    p->bytes += e.bytes;
    p->entries[p->n++] = e;
}

static int is_older(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->changed < y->changed ? -1 : x->changed > y->changed;
}

static void prune(const char *folder) {
    pruning p = {.folder = folder};
    mica_folder_visit(folder, weigh_entry, &p);
    bool is_full = p.n > MOST_ENTRIES || p.bytes > MOST_BYTES;
    if (is_full) qsort(p.entries, p.n, sizeof *p.entries, is_older);
    for (size_t i = 0; is_full && i < p.n; i++) {
        if (p.n - i <= MOST_ENTRIES && p.bytes <= MOST_BYTES) break;
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, p.entries[i].name);
        mica_file_remove(path);
        p.bytes -= p.entries[i].bytes;
    }
    mica_free(p.entries);
}

/* ---- entries: the shared object, then the seal that says that it is whole ---------------------*/

#define NAME_BYTES (2 * MICA_SHA256_BYTES + sizeof ".so")
#define SEAL_BYTES (8 + MICA_SHA256_BYTES)

/* Of the name too: one entry cannot stand for another. */
static void make_seal(const char *name, const uint8_t *bytes, size_t size,
                      uint8_t seal[SEAL_BYTES]) {
    mica_sha256 sum;
    mica_sha256_init(&sum);
    mica_sha256_add_string(&sum, name);
    mica_sha256_add(&sum, bytes, size);
    memcpy(seal, "micaseal", 8);
    mica_sha256_finish(&sum, seal + 8);
}

/* A shared object that was cut short kills the process that loads it. */
static bool is_whole(void *context, const uint8_t *bytes, size_t size) {
    uint8_t seal[SEAL_BYTES];
    if (size <= sizeof seal) return false;
    make_seal(context, bytes, size - sizeof seal, seal);
    return !memcmp(bytes + size - sizeof seal, seal, sizeof seal);
}

static mica_status load_entry(const char *path, const char *name, mica_library **out_library) {
    return mica_library_open_checked(path, is_whole, (void *)(uintptr_t)name, out_library);
}

static mica_status put_seal(const char *from, const char *name, const char *to) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    MICA_TRY(mica_file_read(from, &bytes, &size));
    uint8_t *grown = mica_realloc(bytes, size + SEAL_BYTES);
    mica_status status = grown ? NULL : MICA_NO_MEMORY();
    if (grown) {
        bytes = grown;
        make_seal(name, bytes, size, bytes + size);
        status = mica_file_write_private(to, bytes, size + SEAL_BYTES);
    }
    mica_free(bytes);
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------*/

static int32_t cancelled; /* atomic */
static int64_t runs;      /* atomic */

void mica_toolchain_cancel(bool cancel) {
    __atomic_store_n(&cancelled, cancel, __ATOMIC_RELEASE);
}

int64_t mica_toolchain_runs(void) {
    return __atomic_load_n(&runs, __ATOMIC_RELAXED);
}

static mica_status compile_error(mica_status status, const char *output) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    mica_status_release(mica_file_read(output, &bytes, &size));
    int shown = size > 400 ? 400 : (int)size;
    mica_status told = MICA_ERROR(MICA_INTERNAL, "%s: %.*s", mica_status_message(status), shown,
                                  bytes ? (const char *)bytes : "");
    mica_status_release(status);
    mica_free(bytes);
    return told;
}

/* A compiler that knew libm's functions would compute constants with better ones. */
static const char *const common[] = {"-std=gnu11",
                                     "-O3",
                                     "-w",
                                     "-fPIC",
                                     "-shared",
                                     "-x",
                                     "c",
                                     "-ffp-contract=off",
                                     "-fno-math-errno",
                                     "-fno-trapping-math",
                                     "-fno-builtin-acos",
                                     "-fno-builtin-acosh",
                                     "-fno-builtin-asin",
                                     "-fno-builtin-asinh",
                                     "-fno-builtin-atan",
                                     "-fno-builtin-atan2",
                                     "-fno-builtin-atanh",
                                     "-fno-builtin-cbrt",
                                     "-fno-builtin-cos",
                                     "-fno-builtin-cosh",
                                     "-fno-builtin-erf",
                                     "-fno-builtin-erfc",
                                     "-fno-builtin-exp",
                                     "-fno-builtin-expm1",
                                     "-fno-builtin-lgamma_r",
                                     "-fno-builtin-log",
                                     "-fno-builtin-log1p",
                                     "-fno-builtin-pow",
                                     "-fno-builtin-sin",
                                     "-fno-builtin-sinh",
                                     "-fno-builtin-tan",
                                     "-fno-builtin-tanh"};

/* Words of `text`, which is cut at its blanks. */
static int add_words(char **arguments, int n, char *text) {
    for (char *word = text; *word && n < MOST_ARGUMENTS - 6;) {
        size_t length = strcspn(word, " ");
        char *next = word + length + (word[length] == ' ');
        word[length] = 0;
        if (length) arguments[n++] = word;
        word = next;
    }
    return n;
}

/* What the machine's own words are before the flags ("cc" of zig) or after them ("-O1"). */
static mica_status run_compiler(const compiler *c, const char *folder, const char *file,
                                const char *target, const char *output, const mica_source *source) {
    char own[sizeof c->arguments];
    char *arguments[MOST_ARGUMENTS];
    int n = 0;
    bool is_first = c->arguments[0] != '-';
    memcpy(own, c->arguments, sizeof own);
    arguments[n++] = (char *)(uintptr_t)c->path;
    if (is_first) n = add_words(arguments, n, own);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        arguments[n++] = (char *)(uintptr_t)common[i];
    for (int i = 0; source->flags[i] && n < MOST_ARGUMENTS - 6; i++)
        arguments[n++] = (char *)(uintptr_t)source->flags[i];
    if (!is_first) n = add_words(arguments, n, own);
    arguments[n++] = (char *)(uintptr_t)file;
    arguments[n++] = "-o";
    arguments[n++] = (char *)(uintptr_t)target;
    arguments[n++] = "-lm";
    arguments[n] = NULL;
    mica_program_limits limits = {COMPILE_SECONDS, &cancelled, source->in_background, folder};
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
    mica_status status = mica_program_run(arguments, output, &limits);
    return status ? compile_error(status, output) : NULL;
}

/* Compiles in a temporary folder; the sealed result becomes `target`. */
static mica_status compile_to(const compiler *c, const mica_source *source, const char *folder,
                              const char *name, const char *target) {
    char text[PATH_BYTES], object[PATH_BYTES], output[PATH_BYTES];
    snprintf(text, sizeof text, "%s/unit.c", folder);
    snprintf(object, sizeof object, "%s/unit.so", folder);
    snprintf(output, sizeof output, "%s/output.txt", folder);
    double start = mica_clock_seconds();
    mica_status status = mica_file_write_private(text, source->text, strlen(source->text));
    if (!status) status = run_compiler(c, folder, text, object, output, source);
    if (!status) status = put_seal(object, name, target);
    mica_log_write(MICA_LOG_PASS, "%s: %zu bytes of C in %.2f s", c->path, strlen(source->text),
                   mica_clock_seconds() - start);
    return status;
}

static void make_name(const compiler *c, const mica_source *source, char name[NAME_BYTES]) {
    mica_sha256 sum;
    uint8_t digest[MICA_SHA256_BYTES];
    char version[64];
    snprintf(version, sizeof version, TARGET " %llu %lld", (unsigned long long)c->size,
             (long long)c->changed);
    mica_sha256_init(&sum);
    mica_sha256_add_string(&sum, version);
    mica_sha256_add_string(&sum, c->path);
    mica_sha256_add_string(&sum, c->arguments);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        mica_sha256_add_string(&sum, common[i]);
    for (int i = 0; source->flags[i]; i++) mica_sha256_add_string(&sum, source->flags[i]);
    mica_sha256_add_string(&sum, source->text);
    mica_sha256_finish(&sum, digest);
    for (int i = 0; i < MICA_SHA256_BYTES; i++) snprintf(name + 2 * i, 3, "%02x", digest[i]);
    memcpy(name + 2 * MICA_SHA256_BYTES, ".so", sizeof ".so");
}

/* Not a rename: the folder may be on another disk, and may be full. */
static void keep(const char *made, const char *kept, const char *folder) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    mica_status status = mica_file_read(made, &bytes, &size);
    if (!status) status = mica_file_write_private(kept, bytes, size);
    mica_free(bytes);
    if (status) warn(folder, mica_status_message(status));
    mica_status_release(status);
    prune(folder);
}

/* Of a compiler that was ended, files of its own are there too. */
static void remove_file_in(void *context, const char *name) {
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    if (n > 0 && (size_t)n < sizeof path) mica_file_remove(path);
}

static mica_status load_new(const compiler *c, const mica_source *source, const char *name,
                            const char *kept, const char *cache, mica_library **out_library) {
    char folder[PATH_BYTES - 64], target[PATH_BYTES];
    if (!mica_folder_make_temporary(folder, sizeof folder))
        return MICA_ERROR(MICA_UNSUPPORTED, "[toolchain] no folder for temporary files");
    snprintf(target, sizeof target, "%s/sealed.so", folder);
    mica_status status = compile_to(c, source, folder, name, target);
    if (!status && kept) keep(target, kept, cache);
    if (!status) status = load_entry(target, name, out_library);
    mica_folder_visit(folder, remove_file_in, folder);
    mica_folder_remove(folder);
    return status;
}

mica_status mica_toolchain_load(const mica_source *source, mica_library **out_library) {
    *out_library = NULL;
    compiler c;
    if (!find_compiler(&c))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[toolchain] no C compiler was found (MICA_CC, cc, gcc, "
                          "clang, ziglang)");
    char cache[PATH_BYTES - 128], name[NAME_BYTES], kept[PATH_BYTES];
    folder_use use = find_folder(cache, sizeof cache);
    make_name(&c, source, name);
    snprintf(kept, sizeof kept, "%s/%s", use == NO_FOLDER ? "" : cache, name);
    if (use != NO_FOLDER) {
        mica_status status = load_entry(kept, name, out_library);
        if (!status) {
            mica_file_touch(kept);
            return NULL;
        }
        mica_status_release(status);
    }
    return load_new(&c, source, name, use == READ_AND_WRITE ? kept : NULL, cache, out_library);
}

bool mica_compiler_describe(char *text, size_t capacity) {
    if (!text) return false;
    compiler c;
    bool found = find_compiler(&c);
    snprintf(text, capacity, "%s%s%s", found ? c.path : "no cc, gcc, clang or ziglang was found",
             found && c.arguments[0] ? " " : "", found ? c.arguments : "");
    const char *wanted = mica_environment("MICA_CC");
    if (!found && wanted && *wanted) snprintf(text, capacity, "MICA_CC is %s", wanted);
    return found;
}
