#include "test.h"

static mica_status inner(int value) {
    if (value < 0) return MICA_INVALID("[inner] %d is negative", value);
    return NULL;
}

static mica_status outer(int value) {
    MICA_TRY(inner(value));
    return NULL;
}

TEST(no_status_means_all_went_well) {
    CHECK(outer(1) == NULL);
    CHECK(mica_status_code(NULL) == MICA_OK);
    CHECK(strcmp(mica_status_message(NULL), "") == 0);
    CHECK(strcmp(mica_status_trace(NULL), "") == 0);
    mica_status_release(NULL);
}

TEST(a_status_has_a_code_a_message_and_the_places_it_passed) {
    mica_status status = outer(-4);
    REQUIRE(status != NULL);
    CHECK(mica_status_code(status) == MICA_INVALID_ARGUMENT);
    CHECK(strcmp(mica_status_message(status), "[inner] -4 is negative") == 0);
    const char *trace = mica_status_trace(status);
    CHECK(strstr(trace, "[inner] -4 is negative\n    at test_status.c:") == trace);
    CHECK(strstr(strstr(trace, "test_status.c:") + 1, "test_status.c:") != NULL);
    mica_status_release(status);
}

TEST(a_shared_status_is_released_by_each_holder) {
    mica_status status = inner(-1), second = mica_status_share(status);
    mica_status_release(status);
    CHECK(strcmp(mica_status_message(second), "[inner] -1 is negative") == 0);
    mica_status_release(second);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(of_two_statuses_the_first_is_kept) {
    mica_status status = mica_status_join(inner(-1), inner(-2));
    CHECK(strcmp(mica_status_message(status), "[inner] -1 is negative") == 0);
    mica_status_release(status);
    status = mica_status_join(NULL, inner(-2));
    CHECK(strcmp(mica_status_message(status), "[inner] -2 is negative") == 0);
    mica_status_release(status);
    CHECK(mica_status_join(NULL, NULL) == NULL);
}

TEST(a_callback_can_make_a_status) {
    mica_status status = mica_status_create(MICA_CALLBACK_ERROR, "no %s today", "data");
    CHECK(mica_status_code(status) == MICA_CALLBACK_ERROR);
    CHECK(strcmp(mica_status_message(status), "no data today") == 0);
    CHECK(strcmp(mica_status_trace(status), "no data today") == 0);
    mica_status_release(status);
}

TEST(without_memory_for_its_message_a_status_says_out_of_memory) {
    mica_memory_fail_nth(1, true);
    mica_status status = outer(-4);
    mica_memory_fail_nth(0, false);
    CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
    CHECK(strcmp(mica_status_message(status), "out of memory") == 0);
    mica_status_release(status);
    mica_memory_fail_nth(2, true);
    status = outer(-4);
    mica_memory_fail_nth(0, false);
    CHECK(mica_status_code(status) == MICA_INVALID_ARGUMENT);
    CHECK(strcmp(mica_status_message(status), "[inner] -4 is negative") == 0);
    mica_status_release(status);
}

TEST(every_code_has_a_name) {
    for (int code = MICA_OK; code <= MICA_CANCELLED; code++)
        CHECK(strcmp(mica_code_name((mica_code)code), "unknown code") != 0);
    CHECK(strcmp(mica_code_name((mica_code)99), "unknown code") == 0);
}

typedef struct row {
    const int *data;
    int n;
} row;

static mica_status takes(const char *name, row list, const int *many, int n, int **out) {
    MICA_GIVEN(name, MICA_ARRAY(list), MICA_MANY(many, n), out);
    return NULL;
}

TEST(an_argument_that_is_missing_is_named) {
    int one = 1, *out = NULL;
    row full = {&one, 1}, none = {NULL, 0}, broken = {NULL, 1};
    CHECK_OK(takes("x", full, &one, 1, &out));
    CHECK_OK(takes("x", none, NULL, 0, &out));
    CHECK_FAILS(takes(NULL, full, &one, 1, &out), MICA_INVALID_ARGUMENT, "[takes] name is NULL");
    CHECK_FAILS(takes("x", broken, &one, 1, &out), MICA_INVALID_ARGUMENT, "[takes] list is NULL");
    CHECK_FAILS(takes("x", full, NULL, 1, &out), MICA_INVALID_ARGUMENT, "[takes] many is NULL");
    CHECK_FAILS(takes("x", full, &one, 1, NULL), MICA_INVALID_ARGUMENT, "[takes] out is NULL");
}
