/* Graphs as bytes: back and forth, cut, corrupted, hostile, and from an older version. */
#include "../test.h"
#include "base/platform.h"
#include "ir/bytes.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"

static const char *const small_text =
    "mica graph 1\n"
    "graph @body(%c: f32[], %x: f32[2]) {\n"
    "    %y = reduce(%x) {kind = \"sum\", axes = (0)}\n"
    "    return %y, %x\n"
    "}\n"
    "graph @main(%f: f32[], %xs: f32[3,2], %t: token, %l: list(i8[]), %p: bool[]) {\n"
    "    %r:2 = scan(%f, %xs) @body {consts = 0, carry = 1, length = 3, reverse = 1}\n"
    "    %s:2 = callback(%t, %r.1) {name = \"n\", function = 3, results = (bool[2])}\n"
    "    %h = constant() {value = i16[3] (1, -2, 300)}\n"
    "    %i = convert(%h) {dtype = f64}\n"
    "    return %s.1, %i, %l\n"
    "}\n";

static mica_graph *small_graph(void) {
    mica_graph *g = NULL;
    (void)test_ok(mica_graph_parse(small_text, &g), __FILE__, __LINE__, "parse");
    return g;
}

static void check_round_trip(const mica_graph *g) {
    uint8_t *bytes = NULL, *again = NULL;
    size_t size = 0, size_again = 0;
    mica_graph *read = NULL;
    REQUIRE_OK(mica_graph_serialize(g, &bytes, &size));
    CHECK_OK(mica_graph_deserialize(bytes, size, &read));
    if (read) {
        CHECK_OK(mica_graph_verify(read));
        CHECK(mica_graph_equal(g, read));
        CHECK(strcmp(g->name, read->name) == 0);
        CHECK_OK(mica_graph_serialize(read, &again, &size_again));
        CHECK(size == size_again && memcmp(bytes, again, size) == 0);
    }
    mica_bytes_free(bytes);
    mica_bytes_free(again);
    mica_graph_release(read);
}

TEST(every_op_serializes_and_comes_back) {
    mica_graph *g = every_op_graph();
    check_round_trip(g);
    mica_graph_release(g);
    g = small_graph();
    check_round_trip(g);
    mica_graph_release(g);
}

TEST(a_graph_cut_at_any_byte_is_a_loss_of_data) {
    mica_graph *g = every_op_graph(), *read;
    uint8_t *bytes = NULL;
    size_t size = 0;
    REQUIRE_OK(mica_graph_serialize(g, &bytes, &size));
    for (size_t n = 0; n < size; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* a block of its own, so that a sanitizer sees the end */
        memcpy(cut, bytes, n);
        CHECK_FAILS(mica_graph_deserialize(cut, n, &read), MICA_DATA_LOSS, "[deserialize]");
        if (n >= MICA_GRAPH_HEADER && n % 5 == 0) { /* and with a checksum that matches */
            mica_put_u64(cut + MICA_GRAPH_CHECKSUM_AT,
                         mica_checksum(cut + MICA_GRAPH_HEADER, n - MICA_GRAPH_HEADER));
            CHECK_FAILS(mica_graph_deserialize(cut, n, &read), MICA_DATA_LOSS, "[deserialize]");
        }
        free(cut);
    }
    mica_bytes_free(bytes);
    mica_graph_release(g);
}

TEST(a_changed_byte_is_found_by_the_checksum) {
    mica_graph *g = small_graph(), *read;
    uint8_t *bytes = NULL;
    size_t size = 0;
    REQUIRE_OK(mica_graph_serialize(g, &bytes, &size));
    for (size_t n = 0; n < size; n++) {
        bytes[n] ^= 0x10;
        CHECK_FAILS(mica_graph_deserialize(bytes, size, &read), MICA_DATA_LOSS, "[deserialize]");
        bytes[n] ^= 0x10;
    }
    mica_bytes_free(bytes);
    mica_graph_release(g);
}

/* Whoever makes the bytes can make the checksum too. */
TEST(hostile_bytes_give_a_graph_that_verifies_or_a_loss_of_data) {
    mica_graph *g = small_graph();
    uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t state = 3;
    int accepted = 0;
    REQUIRE_OK(mica_graph_serialize(g, &bytes, &size));
    uint8_t *hostile = malloc(size);
    for (int round = 0; round < 20000; round++) {
        memcpy(hostile, bytes, size);
        for (int k = 0; k <= round % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = MICA_GRAPH_HEADER + (state >> 33) % (size - MICA_GRAPH_HEADER);
            hostile[at] = round % 2 ? (uint8_t)(state >> 20) : (uint8_t)(hostile[at] + 1);
            if (round % 7 == 0) hostile[at] = 0xff;
        }
        mica_put_u64(hostile + MICA_GRAPH_CHECKSUM_AT,
                     mica_checksum(hostile + MICA_GRAPH_HEADER, size - MICA_GRAPH_HEADER));
        mica_graph *read = NULL;
        mica_status status = mica_graph_deserialize(hostile, size, &read);
        CHECK((read == NULL) == (status != NULL));
        CHECK(!status || mica_status_code(status) == MICA_DATA_LOSS);
        if (read) {
            accepted++;
            CHECK_OK(mica_graph_verify(read));
        }
        mica_status_release(status);
        mica_graph_release(read);
    }
    CHECK(accepted > 0);
    free(hostile);
    mica_bytes_free(bytes);
    mica_graph_release(g);
}

TEST(what_is_no_graph_is_said_to_be_none) {
    mica_graph *g = NULL;
    const uint8_t zeros[64] = {0};
    CHECK_FAILS(mica_graph_deserialize(zeros, 64, &g), MICA_DATA_LOSS, "this is no graph");
    CHECK_FAILS(mica_graph_deserialize(zeros, 0, &g), MICA_DATA_LOSS, "this is no graph");
    CHECK_FAILS(mica_graph_deserialize(NULL, 9, &g), MICA_INVALID_ARGUMENT, "null address");
    uint8_t newer[64] = MICA_GRAPH_MAGIC;
    newer[8] = MICA_GRAPH_FORMAT_VERSION + 1;
    CHECK_FAILS(mica_graph_deserialize(newer, 64, &g), MICA_DATA_LOSS, "version 2");
}

/* tests/ir/data/version_1.graph was written once and must be read for ever. Its text is beside
 * it; rows of the tables may move, but what is in the file keeps its meaning. */
TEST(a_graph_of_version_1_is_still_read) {
    uint8_t *bytes = NULL, *text = NULL;
    size_t size = 0, text_size = 0;
    mica_graph *read = NULL, *parsed = NULL;
    char *printed = NULL;
    REQUIRE_OK(mica_file_read("tests/ir/data/version_1.graph", &bytes, &size));
    CHECK_OK(mica_graph_deserialize(bytes, size, &read));
    CHECK_OK(mica_file_read("tests/ir/data/version_1.txt", &text, &text_size));
    if (read && text) {
        char *ended = calloc(text_size + 1, 1);
        memcpy(ended, text, text_size);
        CHECK_OK(mica_graph_parse(ended, &parsed));
        CHECK_OK(mica_graph_verify(read));
        CHECK_OK(mica_graph_print(read, &printed));
        CHECK(printed && strcmp(printed, ended) == 0);
        CHECK(parsed && mica_graph_node_count(parsed) == mica_graph_node_count(read));
        free(ended);
    }
    mica_free(bytes);
    mica_free(text);
    mica_string_free(printed);
    mica_graph_release(read);
    mica_graph_release(parsed);
}
