#include "test.h"

#include <stdarg.h>

test_case *test_first, **test_last = &test_first;
int test_failures, test_checks;
static int skipped;

/* A program that needs to tidy up before memory is counted defines this (mica_shutdown). */
__attribute__((weak)) void mica_shutdown(void);

void test_report(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    test_failures++;
    printf("    %s:%d: ", file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void test_skip(const char *reason) {
    skipped++;
    printf("    skipped: %s\n", reason);
}

bool test_ok(mica_status status, const char *file, int line, const char *text) {
    test_checks++;
    if (!status) return true;
    test_report(file, line, "%s: %s", text, mica_status_trace(status));
    mica_status_release(status);
    return false;
}

bool test_fails(mica_status status, mica_code code, const char *part, const char *file, int line) {
    test_checks++;
    bool right = status && mica_status_code(status) == code &&
                 strstr(mica_status_message(status), part) != NULL;
    if (!right)
        test_report(file, line, "expected %s with '%s', got %s: %s", mica_code_name(code), part,
                    mica_code_name(mica_status_code(status)), mica_status_message(status));
    mica_status_release(status);
    return right;
}

/* Arguments select tests by a part of their name. */
int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    setenv("MICA_TIER", "built-in", 0); /* no thread in the background but where a test asks */
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (test_case *t = test_first; t; t = t->next) {
        bool selected = argc < 2;
        for (int i = 1; i < argc; i++) selected |= strstr(t->name, argv[i]) != NULL;
        if (!selected) continue;
        int before = test_failures, checks = test_checks, skips = skipped;
        t->run();
        if (test_checks == checks && skipped == skips)
            test_report(t->name, 0, "the test checks nothing");
        if (test_failures == before)
            passed++;
        else
            failed++, printf("FAILED %s\n", t->name);
    }
    if (mica_shutdown) mica_shutdown();
    if (mica_memory_live_blocks() != 0) {
        printf("FAILED: %lld blocks of memory were not freed\n",
               (long long)mica_memory_live_blocks());
        failed++;
    }
    printf("%d passed, %d failed, %d skipped\n", passed - skipped > 0 ? passed - skipped : 0,
           failed, skipped);
    return failed != 0;
}
