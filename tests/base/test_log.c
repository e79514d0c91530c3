#include "test.h"

#include "base/log.h"
#include "mica/runtime.h"

static char received[4096];

static void receive(void *context, const char *topic, const char *line) {
    CHECK(context == received);
    size_t n = strlen(received);
    snprintf(received + n, sizeof received - n, "<%s: %s>", topic, line);
}

static void ask(const char *topics) {
    if (topics)
        setenv("MICA_LOG", topics, 1);
    else
        unsetenv("MICA_LOG");
    mica_log_reset();
    received[0] = 0;
    mica_set_log(receive, received);
}

TEST(nothing_is_logged_unless_asked_for) {
    ask(NULL);
    for (int topic = 0; topic < MICA_LOG_TOPICS; topic++) {
        CHECK(!mica_log_on((mica_log_topic)topic));
        mica_log_write((mica_log_topic)topic, "nobody listens");
    }
    CHECK(strcmp(received, "") == 0);
}

TEST(the_topics_asked_for_reach_the_sink) {
    ask("run,memory");
    CHECK(mica_log_on(MICA_LOG_RUN) && mica_log_on(MICA_LOG_MEMORY) && !mica_log_on(MICA_LOG_PASS));
    mica_log_write(MICA_LOG_RUN, "run %d", 7);
    mica_log_write(MICA_LOG_PASS, "not this");
    mica_log_write(MICA_LOG_MEMORY, "%s", "4 bytes");
    CHECK(strcmp(received, "<run: run 7><memory: 4 bytes>") == 0);
    ask("all");
    CHECK(mica_log_on(MICA_LOG_PASS) && mica_log_on(MICA_LOG_EAGER));
    ask("runs,,pas,");
    CHECK(!mica_log_on(MICA_LOG_RUN) && !mica_log_on(MICA_LOG_PASS));
}

TEST(a_text_of_several_lines_arrives_line_by_line) {
    ask("pass");
    mica_log_write(MICA_LOG_PASS, "first\nsecond\n\nlast\n");
    CHECK(strcmp(received, "<pass: first><pass: second><pass: last>") == 0);
}

TEST(no_sink_means_no_lines) {
    ask("all");
    mica_set_log(NULL, NULL);
    mica_log_write(MICA_LOG_RUN, "into the void");
    CHECK(strcmp(received, "") == 0);
}

TEST(a_line_is_logged_shortened_when_memory_is_out) {
    ask("run");
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    mica_memory_fail_nth(1, true);
    mica_log_write(MICA_LOG_RUN, "%s", text);
    mica_memory_fail_nth(0, false);
    CHECK(strlen(received) == strlen("<run: >") + 255);
    ask(NULL);
}

TEST(the_library_tells_its_version) {
    int major, minor, patch;
    CHECK(sscanf(mica_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
}
