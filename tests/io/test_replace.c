/* Files and folders take the place of others in one step, or not at all. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/platform.h"
#include "mica/mica.h"
#include "test.h"

static char folder[256], path[300];

static void begin(void) {
    REQUIRE(mica_folder_make_temporary(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/model", folder);
}

static const char *in(const char *where, const char *name) {
    static char paths[4][600];
    static int next;
    char *made = paths[next++ % 4];
    snprintf(made, sizeof paths[0], "%s/%s", where, name);
    return made;
}

static void finish(void) {
    mica_folder_remove_all(folder);
    CHECK(access(folder, F_OK) != 0);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static bool has(const char *file, const char *text) {
    uint8_t *bytes;
    size_t n;
    mica_status status = mica_file_read(file, &bytes, &n);
    bool is_equal = !status && n == strlen(text) && !memcmp(bytes, text, n);
    mica_status_release(status);
    mica_free(bytes);
    return is_equal;
}

static void count(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
}

static int entries(const char *of) {
    int n = 0;
    mica_folder_visit(of, count, &n);
    return n;
}

TEST(a_file_takes_the_place_of_another) {
    begin();
    REQUIRE_OK(mica_file_replace(path, "old", 3));
    REQUIRE(chmod(path, 0640) == 0);
    REQUIRE_OK(mica_file_write_atomic(in(folder, "model.77-1.part"), "half", 4)); /* left behind */
    REQUIRE_OK(mica_file_write_atomic(in(folder, "model.part"), "other", 5)); /* somebody else's */
    REQUIRE_OK(mica_file_replace(path, "new", 3));
    struct stat about;
    CHECK(has(path, "new") && stat(path, &about) == 0 && (about.st_mode & 0777) == 0640);
    CHECK(entries(folder) == 2 && has(in(folder, "model.part"), "other"));
    CHECK_FAILS(mica_file_replace(in(path, "below"), "x", 1), MICA_INVALID_ARGUMENT, "below");
    finish();
}

TEST(a_link_is_replaced_and_not_written_through) {
    begin();
    REQUIRE_OK(mica_file_replace(in(folder, "other"), "other", 5));
    REQUIRE(symlink(in(folder, "other"), path) == 0);
    REQUIRE_OK(mica_file_replace(path, "new", 3));
    CHECK(has(path, "new") && has(in(folder, "other"), "other"));
    finish();
}

TEST(a_file_that_is_too_large_for_the_disk_leaves_the_old_one) {
    begin();
    static uint8_t zeros[100000];
    REQUIRE_OK(mica_file_replace(path, "old", 3));
    struct rlimit before, little = {50000, 50000};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    CHECK_FAILS(mica_file_replace(path, zeros, sizeof zeros), MICA_RESOURCE_EXHAUSTED, "model'");
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(has(path, "old") && entries(folder) == 1);
    finish();
}

static const char *const names[] = {"program", "values"};

static mica_status write_model(const char *text) {
    mica_folder_writer *writer;
    MICA_TRY(mica_folder_writer_create(path, names, 2, &writer));
    const char *aside = mica_folder_writer_path(writer);
    mica_status status = mica_file_replace(in(aside, "program"), text, strlen(text));
    if (!status) status = mica_file_replace(in(aside, "values"), text, strlen(text));
    if (!status) status = mica_folder_writer_finish(writer);
    mica_folder_writer_release(writer);
    return status;
}

/* Folders are exchanged by one call, which qemu-user and some file systems lack: there the old one
 * stays, and the writer says so. */
static bool begin_with_an_old_folder(void) {
    begin();
    if (!test_ok(write_model("old"), __FILE__, __LINE__, "the old folder")) return false;
    mica_status status = write_model("old");
    if (!status) return true;
    bool is_unsupported = mica_status_code(status) == MICA_UNSUPPORTED;
    CHECK(has(in(path, "program"), "old") && has(in(path, "values"), "old"));
    if (!is_unsupported) CHECK_OK(status);
    if (is_unsupported) mica_status_release(status);
    finish();
    if (is_unsupported) test_skip("folders cannot be exchanged here");
    return false;
}

TEST(a_folder_takes_the_place_of_another_and_keeps_what_is_not_its_own) {
    if (!begin_with_an_old_folder()) return;
    REQUIRE(chmod(path, 0750) == 0);
    REQUIRE_OK(mica_file_replace(in(path, "notes"), "notes", 5));
    REQUIRE(mkdir(in(path, "extra"), 0777) == 0);
    REQUIRE_OK(mica_file_replace(in(path, "extra/deep"), "deep", 4));
    REQUIRE_OK(mica_file_replace(in(path, "values"), "changed", 7));
    REQUIRE_OK(write_model("new"));
    struct stat about;
    CHECK(has(in(path, "program"), "new") && has(in(path, "values"), "new"));
    CHECK(has(in(path, "notes"), "notes") && has(in(path, "extra/deep"), "deep"));
    CHECK(entries(path) == 4 && entries(folder) == 1);
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0750);
    finish();
}

TEST(a_folder_that_is_not_finished_changes_nothing) {
    if (!begin_with_an_old_folder()) return;
    mica_folder_writer *writer;
    REQUIRE_OK(mica_folder_writer_create(path, names, 2, &writer));
    REQUIRE_OK(mica_file_replace(in(mica_folder_writer_path(writer), "program"), "new", 3));
    CHECK(entries(folder) == 2);
    mica_folder_writer_release(writer);
    CHECK(entries(folder) == 1 && has(in(path, "program"), "old"));
    finish();
}

TEST(a_folder_that_a_killed_writer_left_goes_with_the_next) {
    if (!begin_with_an_old_folder()) return;
    mica_folder_remove_all(path);
    REQUIRE(mkdir(in(folder, "model.77-3.part"), 0777) == 0);
    REQUIRE_OK(mica_file_replace(in(folder, "model.77-3.part/program"), "half", 4));
    mica_folder_writer *other; /* one that is at work stays */
    REQUIRE_OK(mica_folder_writer_create(path, names, 2, &other));
    REQUIRE_OK(write_model("new"));
    CHECK(entries(folder) == 2 && has(in(path, "program"), "new"));
    REQUIRE_OK(mica_file_replace(in(mica_folder_writer_path(other), "program"), "newer", 5));
    REQUIRE_OK(mica_folder_writer_finish(other));
    mica_folder_writer_release(other);
    CHECK(entries(folder) == 1 && has(in(path, "program"), "newer") && entries(path) == 1);
    finish();
}

TEST(the_folder_that_a_process_works_in_is_not_exchanged) {
    begin();
    char before[1024];
    REQUIRE(getcwd(before, sizeof before));
    REQUIRE_OK(write_model("old"));
    REQUIRE(chdir(path) == 0);
    CHECK_FAILS(write_model("new"), MICA_UNSUPPORTED, "cannot be exchanged");
    REQUIRE(chdir(before) == 0);
    CHECK(has(in(path, "program"), "old") && entries(folder) == 1);
    finish();
}

TEST(running_out_of_memory_leaves_the_old_one) {
    if (!begin_with_an_old_folder()) return;
    for (int64_t n = 1; n < 200; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = write_model("new");
        mica_memory_fail_nth(0, false);
        bool done = !status;
        CHECK(done || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        CHECK(has(in(path, "program"), done ? "new" : "old"));
        if (done) break;
    }
    finish();
}
