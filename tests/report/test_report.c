/* The page of a run: what is kept is bounded and counted, texts of any bytes are shown as texts,
 * and without memory the page is smaller or is none. */
#include <unistd.h>

#include "base/log.h"
#include "base/platform.h"
#include "base/pool.h"
#include "mica/runtime.h"
#include "report/parts.h"
#include "test.h"

static char path[64];

/* The copy that is measured has threads. */
static bool nothing_is_left(void) {
    mica_pool_shutdown();
    return mica_memory_live_blocks() == 0;
}

static void begin(void) {
    char folder[] = "/tmp/mica-report-XXXXXX";
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/page-%%p.html", folder);
    mica_report_finish(); /* the environment is read again */
    setenv("MICA_REPORT", path, 1);
    snprintf(path, sizeof path, "%s/page-%lld.html", folder, (long long)mica_process_id());
    CHECK(mica_report_is_on());
}

/* The page, which is removed; NULL: there is none. The caller frees it. */
static char *end(void) {
    mica_report_finish();
    unsetenv("MICA_REPORT");
    mica_report_finish();
    CHECK(!mica_report_is_on());
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file) {
        text = calloc(1, 64 << 20);
        size_t n = fread(text, 1, (64 << 20) - 1, file);
        CHECK(n > 0);
        fclose(file);
        unlink(path);
    }
    *strrchr(path, '/') = 0;
    CHECK(rmdir(path) == 0);
    CHECK(nothing_is_left());
    return text;
}

static bool has(const char *page, const char *part) {
    return page && strstr(page, part) != NULL;
}

/* ---- texts ------------------------------------------------------------------------------------*/

TEST(bytes_that_are_no_text_become_marks) {
    static const struct {
        const char *given, *shown;
    } cases[] = {{"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
                 {"\x01\x7f\n\t", "\uFFFD\uFFFD\n\t"},
                 {"\u00e4\u20ac\U0001F600", "\u00e4\u20ac\U0001F600"},
                 {"\x80", "\uFFFD"},
                 {"\xc1\x81", "\uFFFD\uFFFD"},
                 {"\xc3(", "\uFFFD("},
                 {"\xe0\x9f\x80", "\uFFFD\uFFFD\uFFFD"},
                 {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
                 {"\xe2\x82", "\uFFFD\uFFFD"},
                 {"\xf0\x8f\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
                 {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
                 {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
                 {"\xf8\x88", "\uFFFD\uFFFD"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mica_text text;
        mica_text_init(&text);
        report_escape(&text, cases[i].given);
        CHECK(!strcmp(mica_text_data(&text), cases[i].shown));
        mica_text_deinit(&text);
    }
}

/* ---- bounds -----------------------------------------------------------------------------------*/

static int32_t line_number;

static bool find_line(char *text, size_t capacity) {
    snprintf(text, capacity, "program<%d>.py:%d", line_number, line_number);
    return true;
}

static int64_t one_program(const char *name) {
    int64_t program = mica_report_begin(name, "cpu", "built-in");
    int32_t lines[6] = {1, 2, 3, 4, 5, 6};
    mica_report_kernel kernel = {"dot", "f32[2]", "cpu", 0, 1e9, 1e6, lines, 6};
    mica_report_source(0, "source of <a kernel>\n");
    mica_report_source(0, "again");
    mica_report_source(-1, "of none");
    mica_report_source(MICA_REPORT_KERNELS, "of none");
    int32_t number = mica_report_add_kernel(program, &kernel);
    for (int i = 0; i < 2 * MICA_REPORT_VALUES; i++)
        mica_report_add_value(program, "value", "f32[4]", i % 7 * 100.0, 0, i, 1);
    mica_report_made(program, 1000, 10);
    mica_report_launched(program, number, 0.001);
    mica_report_launched(program, number, 0);
    mica_report_launched(program, 77, 0.001);
    mica_report_ran(program, mica_clock_seconds(), 0.25);
    return program;
}

TEST(a_page_shows_what_was_said_and_counts_what_did_not_fit) {
    begin();
    mica_set_caller_line(find_line);
    char name[64];
    for (int i = 0; i < MICA_REPORT_PROGRAMS + 5; i++) {
        line_number = i;
        snprintf(name, sizeof name, "prog<%d>", i);
        int64_t program = one_program(name);
        CHECK((program != 0) == (i < MICA_REPORT_PROGRAMS));
    }
    for (line_number = 0; line_number < MICA_REPORT_LINES + 3; line_number++)
        (void)mica_report_line_of("model/layer/MatMul");
    CHECK(mica_report_line_of("MatMul") == 0); /* there is no room for another one */
    CHECK(mica_report_line_of("/MatMul") == 0);
    mica_set_caller_line(NULL);
    for (int i = 0; i < MICA_REPORT_ROWS + 7; i++) {
        snprintf(name, sizeof name, "Op%d", i);
        mica_report_host(name, "it is of strings & such", 0.5);
        mica_report_transfer(name, "host", "cuda", 100);
        mica_report_transfer(name, "host", "cuda", 100);
    }
    for (int i = 0; i < MICA_REPORT_DEVICES + 2; i++) {
        snprintf(name, sizeof name, "device%d", i);
        mica_report_memory(name, (size_t)(100 - i) << 20, 5);
        mica_report_memory(name, 5, 5);
        bool wants = mica_report_wants_holders(name, 100);
        CHECK(wants == (i < MICA_REPORT_DEVICES - 1)); /* the programs' device is one too */
        mica_report_holder holders[MICA_REPORT_HOLDERS + 1] = {{"a <tensor>", 50, 2, 1}};
        mica_report_holders(name, 100, holders, MICA_REPORT_HOLDERS + 1);
        CHECK(!mica_report_wants_holders(name, 101));
    }
    mica_report_ran(0, mica_clock_seconds() - 5, 3600); /* before it began, and long */
    char *page = end();
    CHECK(has(page, "prog&lt;0&gt;") && !has(page, "prog<0>"));
    CHECK(has(page, "program&lt;"));
    CHECK(has(page, "source of &lt;a kernel&gt;"));
    CHECK(has(page, "5 programs") && has(page, "21 rows were"));
    CHECK(has(page, "more took less time"));
    CHECK(has(page, "a &lt;tensor&gt;"));
    free(page);
}

TEST(graphs_and_notes_are_kept_up_to_their_bounds) {
    begin();
    int64_t program = mica_report_begin("passes", "cpu", "built-in");
    mica_log_write(MICA_LOG_PASS, "%s", "first\na graph\n");
    mica_log_write(MICA_LOG_PASS, "%s", "second\na graph\n"); /* changes nothing */
    char *large = malloc(MICA_REPORT_TEXT + 100);
    memset(large, 'x', MICA_REPORT_TEXT + 99);
    large[MICA_REPORT_TEXT + 99] = 0;
    memcpy(large, "large\nline\n", 11);
    mica_log_write(MICA_LOG_PASS, "%s", large);
    memset(large, 'n', 200);
    large[200] = '\n'; /* a pass of such a name is none of ours */
    mica_log_write(MICA_LOG_PASS, "%s", large);
    for (int i = 0; i < MICA_REPORT_PASSES + 2; i++)
        mica_log_write(MICA_LOG_PASS, "pass%d\ngraph %d\n", i, i);
    large[MICA_REPORT_NOTES] = 0;
    large[200] = 'n';
    mica_log_write(MICA_LOG_FUSE, "%s", "fused <these>");
    mica_log_write(MICA_LOG_FUSE, "%s", large);
    mica_report_made(program, 0, 0);
    mica_log_write(MICA_LOG_WARNING, "%s", "of no program");
    mica_report_made(program + (INT64_C(1) << 32), 0, 0); /* of another life */
    CHECK(mica_report_add_kernel(0, &(mica_report_kernel){.label = ""}) == -1);
    free(large);
    char *page = end();
    CHECK(has(page, "changes nothing"));
    CHECK(has(page, "the rest is left out"));
    CHECK(has(page, "fused &lt;these&gt;"));
    CHECK(has(page, "1 texts"));
    CHECK(has(page, "of no program"));
    free(page);
}

TEST(kernels_beyond_the_most_are_counted) {
    begin();
    int64_t program = mica_report_begin("many", "cpu", "built-in");
    mica_report_kernel kernel = {"add", "f32[2]", "cpu", -1, 8, 0, NULL, 0};
    for (int i = 0; i < MICA_REPORT_KERNELS + 3; i++)
        CHECK(mica_report_add_kernel(program, &kernel) == (i < MICA_REPORT_KERNELS ? i : -1));
    mica_report_made(program, 0, 0);
    char *page = end();
    CHECK(has(page, "1027"));
    free(page);
}

/* ---- failures ---------------------------------------------------------------------------------*/

TEST(nothing_is_written_of_a_process_that_ran_nothing) {
    begin();
    char *page = end();
    CHECK(page == NULL);
    free(page);
}

TEST(a_page_that_cannot_be_written_is_a_warning) {
    mica_report_finish();
    setenv("MICA_REPORT", "/proc/no/such/folder/page.html", 1);
    CHECK(mica_report_is_on());
    mica_report_host("Op", "why", 1);
    mica_report_finish();
    setenv("MICA_REPORT", "", 1); /* as if it were not set */
    CHECK(!mica_report_is_on());
    mica_report_finish();
    unsetenv("MICA_REPORT");
    CHECK(nothing_is_left());
}

TEST(a_page_without_memory_has_less_or_is_none) {
    for (int64_t n = 1, made = 0; made < 3 && n < 400; n++) {
        char folder[] = "/tmp/mica-report-XXXXXX";
        REQUIRE(mkdtemp(folder) != NULL);
        snprintf(path, sizeof path, "%s/page.html", folder);
        mica_report_finish();
        setenv("MICA_REPORT", path, 1);
        mica_set_caller_line(find_line);
        mica_memory_fail_nth(n, n % 2 == 0);
        int64_t before = mica_memory_total_allocations();
        (void)one_program("short");
        mica_log_write(MICA_LOG_PASS, "%s", "first\na graph\n");
        mica_report_host("Op", "why", 1);
        mica_report_finish();
        bool was_reached = mica_memory_total_allocations() - before >= n;
        mica_memory_fail_nth(0, false);
        mica_set_caller_line(NULL);
        unsetenv("MICA_REPORT");
        made += !was_reached && access(path, F_OK) == 0;
        unlink(path);
        rmdir(folder);
        CHECK(nothing_is_left());
    }
    mica_report_finish();
}
