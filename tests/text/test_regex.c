/* Regular expressions: linear time, bounds, failures. What patterns mean is compared with
 * TensorFlow in tests/python/tf_ops/test_tf_regex.py. */
#include "test.h"
#include "text/regex.h"

static mica_status make(const char *pattern, const text_regex **out) {
    return text_regex_create(pattern, strlen(pattern), out);
}

/* Steps of a search in n letters a; -1 where that was not possible. */
static int64_t steps_of(const char *pattern, size_t n, int64_t *out_size) {
    const text_regex *regex;
    text_matcher m;
    text_span span;
    char *text = malloc(n + 1);
    if (!test_ok(make(pattern, &regex), __FILE__, __LINE__, pattern)) return -1;
    CHECK(text != NULL);
    memset(text, 'a', n);
    CHECK_OK(text_matcher_init(&m, regex, 0));
    CHECK(!text_regex_find(&m, text, n, 0, &span));
    int64_t steps = m.steps;
    CHECK(!text_regex_is_whole(&m, text, n));
    CHECK(m.steps - steps <= 2 * text_regex_size(regex) * (int64_t)(n + 2));
    *out_size = text_regex_size(regex);
    text_matcher_deinit(&m);
    text_regex_release(regex);
    free(text);
    return steps;
}

TEST(what_takes_exponential_time_to_backtrack_takes_linear_steps) {
    static const char *const patterns[] = {"(a*)*b",           "(a|a)*b",
                                           "(a|aa)+$b",        "(.*)(.*)(.*)(.*)b",
                                           "(a?){30}a{30}b",   "((a{0,3}){0,3}){0,3}b",
                                           "(?:(?:a*)*)*[bc]", "^(([a-z])+.)+[A-Z]([a-z])+$"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        int64_t size = 0, once = steps_of(patterns[i], 1000, &size);
        int64_t more = steps_of(patterns[i], 2000, &size) - once;
        CHECK(once <= 2 * size * 1002);
        CHECK(steps_of(patterns[i], 3000, &size) == once + 2 * more);
    }
    text_regex_forget();
}

static void check_replaced(const char *pattern, const char *rewrite, const char *text,
                           const char *expected) {
    const text_regex *regex;
    text_matcher m;
    mica_text out;
    REQUIRE_OK(make(pattern, &regex));
    mica_text_init(&out);
    CHECK_OK(text_matcher_init(&m, regex, text_rewrite_groups(rewrite, strlen(rewrite))));
    text_regex_replace(&m, text, strlen(text), rewrite, strlen(rewrite), true, &out);
    if (strcmp(mica_text_data(&out), expected) != 0)
        test_report(__FILE__, __LINE__, "%s: %s, not %s", pattern, mica_text_data(&out), expected);
    mica_text_deinit(&out);
    text_matcher_deinit(&m);
    text_regex_release(regex);
}

TEST(matches_are_replaced) {
    check_replaced("(\\w+) (\\w+)", "\\2 \\1", "hello big world", "big hello world");
    check_replaced("a*", "-", "baac", "-b-c-");
    check_replaced("(?i)stra\xc3\x9f\x65", "x", "STRA\xe1\xba\x9e\x45", "x");
    check_replaced(".", "x", "\xff\xc3\xa9", "\xffx");
    check_replaced("(a)|b", "[\\1]", "abc", "[a][]c");
    check_replaced("a", "\\1", "aa", "aa");
    text_regex_forget();
}

TEST(groups_say_where_they_are) {
    const text_regex *regex;
    text_matcher m;
    text_span spans[3];
    REQUIRE_OK(make("(a+)(b)?", &regex));
    CHECK(text_regex_groups(regex) == 2);
    CHECK_OK(text_matcher_init(&m, regex, 2));
    CHECK(text_regex_find(&m, "xaac", 4, 0, spans));
    CHECK(spans[0].begin == 1 && spans[0].end == 3 && spans[1].begin == 1 && spans[1].end == 3);
    CHECK(spans[2].begin == TEXT_NOWHERE && spans[2].end == TEXT_NOWHERE);
    CHECK(!text_regex_find(&m, "xaac", 4, 3, spans));
    text_matcher_deinit(&m);
    text_regex_release(regex);
    text_regex_forget();
}

TEST(what_is_too_large_or_too_deep_is_an_error) {
    const text_regex *regex;
    char deep[2 * 600 + 1];
    memset(deep, '(', 600);
    memset(deep + 600, ')', 600);
    deep[1200] = 0;
    CHECK_FAILS(make(deep, &regex), MICA_INVALID_ARGUMENT, "nested deeper than 500");
    CHECK(regex == NULL);
    CHECK_FAILS(make("[\\pL]{1000}", &regex), MICA_INVALID_ARGUMENT, "pattern too large");
    CHECK_FAILS(make("(?:(?:){10}|(?:){10}){100}((((a{10}){10}){10})b){1001}", &regex),
                MICA_INVALID_ARGUMENT, "invalid repetition size: {1001}");
    CHECK_FAILS(make("((a{10}){10}){11}", &regex), MICA_INVALID_ARGUMENT,
                "invalid repetition size: {11}");
    REQUIRE_OK(make("\\pL{300}", &regex));
    text_regex_release(regex);
    text_regex_forget();
}

TEST(few_patterns_are_kept) {
    const text_regex *regex, *again;
    char pattern[32];
    text_regex_forget();
    int64_t blocks = mica_memory_live_blocks();
    for (int i = 0; i < 500; i++) {
        snprintf(pattern, sizeof pattern, "a%d[bc]", i);
        REQUIRE_OK(make(pattern, &regex));
        text_regex_release(regex);
    }
    CHECK(mica_memory_live_blocks() <= blocks + 3 * 32);
    REQUIRE_OK(make(pattern, &regex));
    REQUIRE_OK(make(pattern, &again));
    CHECK(regex == again);
    text_regex_release(regex);
    text_regex_release(again);
    text_regex_forget();
    CHECK(mica_memory_live_blocks() == blocks);
}

TEST(an_allocation_that_fails_is_an_error) {
    static const char pattern[] = "(?P<\xc3\xa9>a[^b-d])|(?i)\xc3\xa9+\\pL{2,}$|[[:alpha:]]*?x{3}";
    const text_regex *regex;
    text_regex_forget();
    int64_t blocks = mica_memory_live_blocks();
    bool is_made = false;
    for (int64_t n = 1; !is_made && n < 1000; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = make(pattern, &regex);
        mica_memory_fail_nth(0, false);
        is_made = !status;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        if (is_made) text_regex_release(regex);
        text_regex_forget();
        CHECK(mica_memory_live_blocks() == blocks);
    }
    CHECK(is_made);
}
