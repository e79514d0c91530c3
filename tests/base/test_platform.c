#include "test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform.h"

typedef struct shared_counter {
    mica_mutex mutex;
    mica_condition changed;
    int value;
} shared_counter;

static void count_up(void *context) {
    shared_counter *counter = context;
    for (int i = 0; i < 1000; i++) {
        mica_mutex_lock(&counter->mutex);
        counter->value++;
        mica_condition_signal(&counter->changed);
        mica_mutex_unlock(&counter->mutex);
    }
}

TEST(a_zeroed_mutex_and_condition_work) {
    static shared_counter counter;
    mica_thread *threads[4];
    for (int i = 0; i < 4; i++)
        REQUIRE_OK(mica_thread_start(count_up, &counter, "count", &threads[i]));
    mica_mutex_lock(&counter.mutex);
    while (counter.value < 4000) mica_condition_wait(&counter.changed, &counter.mutex);
    mica_mutex_unlock(&counter.mutex);
    for (int i = 0; i < 4; i++) mica_thread_join(threads[i]);
    CHECK(counter.value == 4000);
}

TEST(a_wait_with_a_limit_ends) {
    shared_counter counter = {0};
    mica_mutex_lock(&counter.mutex);
    double start = mica_clock_seconds();
    CHECK(!mica_condition_wait_for(&counter.changed, &counter.mutex, 0.02));
    double seconds = mica_clock_seconds() - start;
    CHECK(seconds >= 0.019 && seconds < 5);
    CHECK(!mica_condition_wait_for(&counter.changed, &counter.mutex, 0));
    CHECK(!mica_condition_wait_for(&counter.changed, &counter.mutex, -1));
    CHECK(!mica_condition_wait_for(&counter.changed, &counter.mutex, NAN));
    mica_mutex_unlock(&counter.mutex);
}

static void signal_later(void *context) {
    shared_counter *counter = context;
    mica_sleep(0.01);
    mica_mutex_lock(&counter->mutex);
    counter->value = 1;
    mica_condition_broadcast(&counter->changed);
    mica_mutex_unlock(&counter->mutex);
}

TEST(a_wait_with_a_limit_is_woken_before_it) {
    shared_counter counter = {0};
    mica_thread *thread;
    REQUIRE_OK(mica_thread_start(signal_later, &counter, "signal", &thread));
    mica_mutex_lock(&counter.mutex);
    bool in_time = true;
    while (counter.value == 0 && in_time)
        in_time = mica_condition_wait_for(&counter.changed, &counter.mutex, 30);
    mica_mutex_unlock(&counter.mutex);
    CHECK(in_time && counter.value == 1);
    mica_thread_join(thread);
}

TEST(a_thread_without_memory_is_a_status) {
    mica_thread *thread = (mica_thread *)&thread;
    mica_memory_fail_nth(1, true);
    mica_status status = mica_thread_start(count_up, NULL, "never", &thread);
    mica_memory_fail_nth(0, false);
    CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "out of memory");
    CHECK(thread == NULL);
}

TEST(the_clock_goes_forward_and_sleep_takes_its_time) {
    double start = mica_clock_seconds();
    mica_sleep(0.01);
    mica_sleep(-1);
    mica_thread_yield();
    CHECK(mica_clock_seconds() - start >= 0.0099);
}

TEST(the_machine_is_described) {
    CHECK(mica_machine_threads() >= 1);
    CHECK(strlen(mica_machine_description()) > 3);
    CHECK(strchr(mica_machine_description(), '\n') == NULL);
    CHECK(!mica_machine_has_avx512() || mica_machine_has_avx2_fma());
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
    CHECK(mica_machine_has_avx2_fma() ==
          (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
#endif
    setenv("MICA_TEST_VALUE", "here", 1);
    CHECK(strcmp(mica_environment("MICA_TEST_VALUE"), "here") == 0);
    unsetenv("MICA_TEST_VALUE");
    CHECK(mica_environment("MICA_TEST_VALUE") == NULL);
}

TEST(a_child_knows_that_it_was_forked) {
    mica_fork_watch();
    mica_fork_watch();
    CHECK(!mica_fork_happened());
    pid_t child = fork();
    if (child == 0) _exit(mica_fork_happened() ? 0 : 1);
    int result = -1;
    REQUIRE(waitpid(child, &result, 0) == child);
    CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    CHECK(!mica_fork_happened());
}

#if defined(__APPLE__)
#define MATH_LIBRARY "libm.dylib"
#else
#define MATH_LIBRARY "libm.so.6"
#endif

TEST(a_shared_library_gives_its_symbols) {
    mica_library *library = NULL;
    mica_status status = mica_library_open(MATH_LIBRARY, &library);
    if (status) {
        mica_status_release(status);
        test_skip("this system has no shared " MATH_LIBRARY);
        return;
    }
    double (*cosine)(double);
    *(void **)&cosine = mica_library_symbol(library, "cos");
    REQUIRE(cosine != NULL);
    CHECK(cosine(0) == 1);
    CHECK(mica_library_symbol(library, "no_such_function") == NULL);
    mica_library_close(library);
    mica_library_close(NULL);
}

TEST(a_missing_library_is_not_found) {
    mica_library *library = NULL;
    CHECK_FAILS(mica_library_open("libnosuchthing.so", &library), MICA_NOT_FOUND,
                "libnosuchthing.so");
    CHECK(library == NULL);
    for (int64_t n = 1; n <= 2; n++) {
        mica_memory_fail_nth(n, true);
        mica_status status = mica_library_open("libnosuchthing.so", &library);
        mica_memory_fail_nth(0, false);
        CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "out of memory");
        CHECK(library == NULL && mica_memory_live_blocks() == 0);
    }
}

/* A folder of our own, so that tests can run side by side. */
static const char *scratch(const char *name) {
    static char folder[64], path[128];
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.40s/mica-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(folder)) return "";
    }
    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    return path;
}

TEST(a_file_is_written_whole_and_read_back) {
    uint8_t bytes[10000], *read = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
    const char *path = scratch("data");
    for (size_t n = 0; n <= sizeof bytes; n += 2500) {
        REQUIRE_OK(mica_file_write_atomic(path, bytes, n));
        REQUIRE_OK(mica_file_read(path, &read, &size));
        CHECK(size == n && memcmp(read, bytes, n) == 0);
        mica_free(read);
    }
    unlink(path);
    rmdir(scratch(""));
}

TEST(a_file_that_cannot_be_read_is_a_status) {
    uint8_t *read = NULL;
    size_t size = 0;
    CHECK_FAILS(mica_file_read("/no/such/file", &read, &size), MICA_NOT_FOUND,
                "[file_read] cannot open '/no/such/file'");
    CHECK_FAILS(mica_file_read("/", &read, &size), MICA_INVALID_ARGUMENT, "[file_read] cannot");
    CHECK_FAILS(mica_file_write_atomic("/no/such/file", "", 0), MICA_NOT_FOUND,
                "[file_create] cannot create '/no/such/file'");
    CHECK(read == NULL && size == 0);
}

TEST(a_file_whose_size_is_not_told_is_read_to_its_end) {
    int ends[2];
    char path[64];
    REQUIRE(pipe(ends) == 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    char block[10000] = {1};
    REQUIRE(write(ends[1], block, sizeof block) == (ssize_t)sizeof block);
    close(ends[1]);
    uint8_t *read = NULL;
    size_t size = 0;
    CHECK_OK(mica_file_read(path, &read, &size));
    CHECK(size == sizeof block);
    mica_free(read);
    close(ends[0]);
}

TEST(files_without_memory_answer_out_of_memory_and_leave_the_old_one) {
    char old_path[128];
    snprintf(old_path, sizeof old_path, "%s", scratch("kept"));
    mkdir(scratch(""), 0777);
    REQUIRE_OK(mica_file_write_atomic(old_path, "old", 3));
    mica_memory_fail_nth(1, true);
    mica_status status = mica_file_write_atomic(old_path, "new", 3);
    mica_memory_fail_nth(0, false);
    CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "out of memory");
    uint8_t *read = NULL;
    size_t size = 0;
    mica_memory_fail_nth(1, true);
    status = mica_file_read(old_path, &read, &size);
    mica_memory_fail_nth(0, false);
    CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "out of memory");
    CHECK(read == NULL);
    REQUIRE_OK(mica_file_read(old_path, &read, &size));
    CHECK(size == 3 && memcmp(read, "old", 3) == 0);
    mica_free(read);
    unlink(old_path);
    rmdir(scratch(""));
}

TEST(a_program_holds_none_of_the_files_that_are_open_here) {
    int ends[2];
    char check[128], output[128];
    char *arguments[] = {(char *)"/bin/sh", (char *)"-c", check, NULL};
    mica_program_limits limits = {.seconds = 60};
    snprintf(output, sizeof output, "%s", scratch("printed"));
    mkdir(scratch(""), 0777);
    REQUIRE(pipe(ends) == 0);
    snprintf(check, sizeof check, "[ -e /dev/fd/1 ] && [ ! -e /dev/fd/%d ] && [ ! -e /dev/fd/%d ]",
             ends[0], ends[1]);
    CHECK_OK(mica_program_run(arguments, output, &limits));
    close(ends[0]);
    close(ends[1]);
    unlink(output);
    rmdir(scratch(""));
}

TEST(a_program_that_fails_says_so) {
    char output[128];
    mica_program_limits limits = {.seconds = 60};
    snprintf(output, sizeof output, "%s", scratch("printed"));
    mkdir(scratch(""), 0777);
    char *fails[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exit 7", NULL};
    CHECK_FAILS(mica_program_run(fails, output, &limits), MICA_INTERNAL, "failed (exit 7)");
    char *killed[] = {(char *)"/bin/sh", (char *)"-c", (char *)"kill -9 $$", NULL};
    CHECK_FAILS(mica_program_run(killed, output, &limits), MICA_INTERNAL, "failed (signal 9)");
    char *missing[] = {(char *)"/no/such/program", NULL};
    CHECK_FAILS(mica_program_run(missing, output, &limits), MICA_INTERNAL, "/no/such/program");
    /* Words reach the program as they are. */
    char *words[] = {(char *)"/usr/bin/env", (char *)"test",
                     (char *)"a b$(c)'\"",   (char *)"=",
                     (char *)"a b$(c)'\"",   NULL};
    CHECK_OK(mica_program_run(words, output, &limits));
    int32_t cancel = 1;
    mica_program_limits ended = {.seconds = 60, .cancel = &cancel};
    char *sleeps[] = {(char *)"/bin/sh", (char *)"-c", (char *)"sleep 60", NULL};
    CHECK_FAILS(mica_program_run(sleeps, output, &ended), MICA_FAILED_PRECONDITION, "was ended");
    unlink(output);
    rmdir(scratch(""));
}

static bool accept_all(void *context, const uint8_t *bytes, size_t size) {
    (void)bytes, (void)size;
    return ++*(int *)context > 0;
}

TEST(a_file_that_is_not_ours_is_not_loaded) {
    char path[128];
    mica_library *library = NULL;
    int asked = 0;
    snprintf(path, sizeof path, "%s", scratch("code.so"));
    mkdir(scratch(""), 0777);
    REQUIRE_OK(mica_file_write_private(path, "no library", 10));
    struct stat about;
    CHECK(stat(path, &about) == 0 && (about.st_mode & 07777) == 0600);
    CHECK_FAILS(mica_library_open_checked(path, accept_all, &asked, &library), MICA_NOT_FOUND,
                "cannot load");
    CHECK(asked == 1);
    chmod(path, 0620);
    CHECK_FAILS(mica_library_open_checked(path, accept_all, &asked, &library),
                MICA_FAILED_PRECONDITION, "may write to it");
    unlink(path);
    REQUIRE(symlink("/etc/passwd", path) == 0);
    CHECK_FAILS(mica_library_open_checked(path, accept_all, &asked, &library),
                MICA_INVALID_ARGUMENT, "cannot open");
    unlink(path);
    REQUIRE(mkfifo(path, 0600) == 0);
    CHECK_FAILS(mica_library_open_checked(path, accept_all, &asked, &library),
                MICA_FAILED_PRECONDITION, "regular");
    CHECK(asked == 1);
    unlink(path);
    rmdir(scratch(""));
}
