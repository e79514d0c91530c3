/* tests/test.h: the test runner. A test is TEST(name_that_reads_as_a_sentence) { ... }; a file of
 * tests is a program. CHECK notes a failure and goes on; REQUIRE leaves the test. */
#ifndef MICA_TESTS_TEST_H
#define MICA_TESTS_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

extern test_case *test_first, **test_last;
extern int test_failures;
extern int test_checks;
void test_report(const char *file, int line, const char *format, ...) MICA_PRINTF(3, 4);
/* Says why a test cannot be run here, and counts it as skipped. */
void test_skip(const char *reason);
/* NULL and silence for OK; else reports the trace. Always releases. true when OK. */
bool test_ok(mica_status status, const char *file, int line, const char *text);
/* Reports unless the status has this code and its message contains `part`. Always releases. */
bool test_fails(mica_status status, mica_code code, const char *part, const char *file, int line);

#define TEST(test_name)                                                                            \
    static void test_name(void);                                                                   \
    static test_case test_name##_case = {#test_name, test_name, NULL};                             \
    __attribute__((constructor)) static void test_name##_register(void) {                          \
        *test_last = &test_name##_case;                                                            \
        test_last = &test_name##_case.next;                                                        \
    }                                                                                              \
    static void test_name(void)
#define CHECK(condition)                                                                           \
    (test_checks++, (condition) ? (void)0 : test_report(__FILE__, __LINE__, "%s", #condition))
#define CHECK_NEAR(a, b, tolerance)                                                                \
    do {                                                                                           \
        double near_a = (a), near_b = (b);                                                         \
        test_checks++;                                                                             \
        if (!(fabs(near_a - near_b) <= (tolerance)))                                               \
            test_report(__FILE__, __LINE__, "%s = %.17g, %s = %.17g", #a, near_a, #b, near_b);     \
    } while (0)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        test_checks++;                                                                             \
        if (!(condition)) {                                                                        \
            test_report(__FILE__, __LINE__, "%s", #condition);                                     \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define CHECK_OK(expr) (void)test_ok((expr), __FILE__, __LINE__, #expr)
#define REQUIRE_OK(expr)                                                                           \
    do {                                                                                           \
        if (!test_ok((expr), __FILE__, __LINE__, #expr)) return;                                   \
    } while (0)
#define CHECK_FAILS(expr, code, part) (void)test_fails((expr), (code), (part), __FILE__, __LINE__)

#endif
