/* Printing and parsing: every graph reads back as what was printed. */
#include "../test.h"
#include "base/platform.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"

/* Prints, parses, prints again; true when both texts are equal. */
static bool round_trips(const mica_graph *g) {
    char *first = NULL, *second = NULL;
    mica_graph *again = NULL;
    bool same = test_ok(mica_graph_print(g, &first), __FILE__, __LINE__, "print") &&
                test_ok(mica_graph_parse(first, &again), __FILE__, __LINE__, "parse") &&
                test_ok(mica_graph_verify(again), __FILE__, __LINE__, "verify") &&
                test_ok(mica_graph_print(again, &second), __FILE__, __LINE__, "print again") &&
                strcmp(first, second) == 0;
    mica_string_free(first);
    mica_string_free(second);
    mica_graph_release(again);
    return same;
}

TEST(every_op_is_in_the_test_graph) {
    mica_graph *g = every_op_graph();
    CHECK_OK(mica_graph_verify(g));
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        CHECK(every_op_count(g, (mica_op)op) > 0);
        if (every_op_count(g, (mica_op)op) == 0)
            printf("    add '%s' to tests/support/every_op.c\n", mica_op_name((mica_op)op));
    }
    mica_graph_release(g);
}

TEST(every_op_prints_and_parses_back) {
    mica_graph *g = every_op_graph();
    CHECK(round_trips(g));
    mica_graph_release(g);
}

/* The text of a graph with one constant; NULL after a report. */
static char *print_constant(mica_dtype dtype, int64_t n, const void *bytes) {
    mica_graph *g = NULL;
    char *text = NULL;
    if (!test_ok(mica_graph_create("c", &g), __FILE__, __LINE__, "create")) return NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    mica_output(g, mica_constant(g, (mica_data){&type, bytes}));
    (void)test_ok(mica_graph_print(g, &text), __FILE__, __LINE__, "print");
    mica_graph_release(g);
    return text;
}

/* Does a constant come back with the same bits? */
static bool bits_survive(mica_dtype dtype, int64_t n, const void *bytes) {
    char *text = print_constant(dtype, n, bytes);
    mica_graph *g = NULL;
    bool same = text && test_ok(mica_graph_parse(text, &g), __FILE__, __LINE__, "parse") &&
                memcmp(g->nodes[0]->attrs[0].as.data.bytes, bytes,
                       (size_t)n * mica_dtype_bytes(dtype)) == 0;
    mica_graph_release(g);
    mica_string_free(text);
    return same;
}

static bool contains(char *text, const char *part) {
    bool found = text && strstr(text, part);
    if (!found) printf("    no '%s' in:\n%s\n", part, text ? text : "(null)");
    mica_string_free(text);
    return found;
}

TEST(numbers_are_written_short_and_read_back_bit_by_bit) {
    float singles[] = {0.1f, -0.0f, 1.0f / 3, 16777216, 3.4028235e38f, 1e-45f, -1.5f, 100};
    CHECK(contains(print_constant(MICA_DTYPE_f32, 8, singles),
                   "(0.1, -0, 0.33333334, 16777216, 3.4028235e+38, 1e-45, -1.5, 100)"));
    CHECK(bits_survive(MICA_DTYPE_f32, 8, singles));
    uint32_t specials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000};
    CHECK(contains(print_constant(MICA_DTYPE_f32, 4, specials), "(inf, -inf, nan, -nan)"));
    CHECK(bits_survive(MICA_DTYPE_f32, 4, specials));
    uint64_t largest[] = {UINT64_MAX, 0};
    CHECK(contains(print_constant(MICA_DTYPE_u64, 2, largest), "(18446744073709551615, 0)"));
    CHECK(contains(print_constant(MICA_DTYPE_i64, 2, largest), "(-1, 0)"));
    uint8_t flags[] = {1, 0};
    CHECK(contains(print_constant(MICA_DTYPE_bool, 2, flags), "(true, false)"));
    CHECK(contains(print_constant(MICA_DTYPE_c64, 2, singles), "(0.1 -0, 0.33333334 16777216)"));
    CHECK(bits_survive(MICA_DTYPE_c64, 2, singles));
}

TEST(a_nan_with_a_payload_is_written_as_bytes) {
    uint32_t payload[] = {0x7fc00001, 0x3f800000};
    CHECK(contains(print_constant(MICA_DTYPE_f32, 2, payload), "hex \"0100c07f0000803f\""));
    CHECK(bits_survive(MICA_DTYPE_f32, 2, payload));
}

TEST(every_half_and_every_bfloat_reads_back) {
    for (uint32_t first = 0; first < 65536; first += 64) {
        uint16_t bits[64];
        for (uint32_t i = 0; i < 64; i++) bits[i] = (uint16_t)(first + i);
        CHECK(bits_survive(MICA_DTYPE_f16, 64, bits));
        CHECK(bits_survive(MICA_DTYPE_bf16, 64, bits));
    }
}

TEST(random_floats_and_doubles_read_back) {
    uint64_t bits[32], state = 1;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 32; i++)
            bits[i] = state = state * 6364136223846793005u + 1442695040888963407u;
        CHECK(bits_survive(MICA_DTYPE_f32, 64, bits));
        CHECK(bits_survive(MICA_DTYPE_f64, 32, bits));
        CHECK(bits_survive(MICA_DTYPE_c128, 16, bits));
    }
}

TEST(parameters_made_late_print_first) {
    mica_graph *g = NULL;
    REQUIRE_OK(mica_graph_create("late", &g));
    mica_type type = mica_type_scalar(MICA_DTYPE_f32);
    mica_value one = mica_scalar(g, MICA_DTYPE_f32, 1);
    mica_output(g, mica_sub(g, one, mica_parameter(g, &type)));
    CHECK(round_trips(g));
    char *text = NULL;
    CHECK_OK(mica_graph_print(g, &text));
    CHECK(text && strcmp(text, "mica graph 1\n\n"
                               "graph @late(%0: f32[]) {\n"
                               "    %1 = constant() {value = f32[] (1)} : f32[]\n"
                               "    %2 = sub(%1, %0) : f32[]\n"
                               "    return %2\n"
                               "}\n") == 0);
    mica_string_free(text);
    mica_graph_release(g);
}

TEST(text_by_hand_may_use_names_comments_and_no_types) {
    mica_graph *g = NULL;
    REQUIRE_OK(mica_graph_parse("# a comment\n"
                                "mica graph 1\n"
                                "graph @main(%weights: f32[2,3], %x: f32[3]) { # another\n"
                                "    %y = dot(%weights, %x) {rhs_contract = (0), lhs_contract = "
                                "(1), lhs_batch = (), rhs_batch = ()}\n"
                                "    return %y, %y.0\n"
                                "}",
                                &g));
    CHECK(g->n_outputs == 2);
    CHECK(strcmp(mica_type_text(mica_value_type(g->outputs[1])).chars, "f32[2]") == 0);
    CHECK(round_trips(g));
    mica_graph_release(g);
}

TEST(shared_regions_stay_shared) {
    mica_graph *g = NULL;
    REQUIRE_OK(mica_graph_parse("mica graph 1\n"
                                "graph @f(%x: f32[]) { return %x }\n"
                                "graph @main(%p: bool[], %x: f32[]) {\n"
                                "    %y = cond(%p, %x) @f @f\n"
                                "    %z = remat(%y) @f\n"
                                "    return %z\n"
                                "}",
                                &g));
    CHECK(g->nodes[2]->regions[0] == g->nodes[2]->regions[1]);
    CHECK(g->nodes[2]->regions[0] == g->nodes[3]->regions[0]);
    CHECK(g->n_held == 1);
    CHECK(round_trips(g));
    mica_graph_release(g);
}

/* docs/graph_text.md shows a graph; it is the first indented block there. */
TEST(the_graph_in_the_documentation_is_printed_as_it_stands) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    char text[4000] = "", *printed = NULL;
    mica_graph *g = NULL;
    REQUIRE_OK(mica_file_read("docs/graph_text.md", &bytes, &size));
    char *page = calloc(size + 1, 1);
    memcpy(page, bytes, size);
    char *end = page ? strstr(page, "## The file") : NULL;
    if (end) *end = 0;
    for (char *line = strstr(page, "    mica graph 1"); line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "    ", 4) == 0)
            line += 4;
        else if (*line != '\n')
            break;
        strncat(text, line, strcspn(line, "\n"));
        strcat(text, "\n");
    }
    CHECK_OK(mica_graph_parse(text, &g));
    if (g) CHECK_OK(mica_graph_print(g, &printed));
    /* The block ends with the empty line before the next heading. */
    CHECK(printed && strncmp(printed, text, strlen(printed)) == 0);
    mica_string_free(printed);
    mica_graph_release(g);
    free(page);
    mica_free(bytes);
}

typedef struct bad_text {
    const char *text, *message;
} bad_text;

static const bad_text bad_texts[] = {
    {"", "line 1, column 1: expected mica"},
    {"mica graph", "line 1, column 11: expected an integer"},
    {"mica graph 2\n", "line 1, column 12: version 2; this library reads version 1"},
    {"mica graph 1\n", "line 2, column 1: expected graph"},
    {"mica graph 1\ngraph main() { return }", "line 2, column 7: expected '@', not 'm'"},
    {"mica graph 1\ngraph @f() { return", "column 20: expected '}', not the end"},
    {"mica graph 1\ngraph @f(%x f32[]) { return }", "column 13: expected ':', not 'f'"},
    {"mica graph 1\ngraph @f(%x: f31[]) { return }", "column 14: there is no dtype 'f31'"},
    {"mica graph 1\ngraph @f(%x: f32[-1]) { return }", "negative size in (-1)"},
    {"mica graph 1\ngraph @f(%x: f32[], %x: f32[]) { return }", "column 21: value %x comes twice"},
    {"mica graph 1\ngraph @f() { return %x }", "column 21: there is no value %x yet"},
    {"mica graph 1\ngraph @f() {\n    %y = sine(%x)\n return }",
     "line 3, column 10: there is no op 'sine'"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = sin(%x.1)\n return }",
     "a parameter with 1 results has no result 1"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = sin(%x) : f64[]\n return }",
     "result 0 of sin is f32[], not f64[]"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y:2 = sin(%x)\n return }",
     "line 3, column 2: sin has 1 results, not 2"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = sin(%x, %x)\n return }",
     "line 3, column 7: [sin] takes 1 operands, not 2"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = sin(%x) {a = 1}\n return }",
     "sin has no attribute 'a'"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = reshape(%x)\n return }",
     "reshape needs its attribute 'shape'"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = reshape(%x) {shape = (), shape = ()}\n return }",
     "attribute 'shape' comes twice"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = reshape(%x) {shape = (99999999999999999999)}\n "
     "return }",
     "'99999999999999999999' is not a 64-bit integer"},
    {"mica graph 1\ngraph @f(%x: f32[]) {\n %y = remat(%x) @g\n return }",
     "line 3, column 17: there is no graph 'g' above"},
    {"mica graph 1\ngraph @f() { return }\ngraph @f() { return }",
     "line 3, column 7: graph 'f' comes twice"},
    {"mica graph 1\ngraph @f() {\n %y = axis_index() {axis = \"a}\n return }",
     "line 3, column 28: the string does not end"},
    {"mica graph 1\ngraph @f() {\n %y = axis_index() {axis = \"a\\q\"}\n return }",
     "line 3, column 31: there is no such escape"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = f32[2] (1)}\n return }",
     "expected ',', not ')'"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = i8[1] (128)}\n return }",
     "'128' is not a number of type i8"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = u8[1] (-1)}\n return }",
     "'-1' is not a number of type u8"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = f32[1] (1e99)}\n return }",
     "'1e99' is not a number of type f32"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = f32[1] (0x1)}\n return }",
     "'0x1' is not a number of type f32"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = i8[2] hex \"00\"}\n return }",
     "expected 2 bytes in hexadecimal, found 1"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = i8[1] hex \"0000\"}\n return }",
     "more than 1 bytes"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = f32[1000000000000] (1)}\n return }",
     "the text ends before the constant"},
    {"mica graph 1\ngraph @f() {\n %y = constant() {value = list(token)}\n return }",
     "there is no dtype 'token'"},
    {"mica graph 1\ngraph @f() { return } x", "expected 'graph', not 'x'"},
};

TEST(the_parser_says_what_is_wrong_and_where) {
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        mica_graph *g = NULL;
        CHECK_FAILS(mica_graph_parse(bad_texts[i].text, &g), MICA_INVALID_ARGUMENT,
                    bad_texts[i].message);
        CHECK(g == NULL);
        mica_graph_release(g);
    }
    mica_graph *g = NULL;
    CHECK_FAILS(mica_graph_parse(NULL, &g), MICA_INVALID_ARGUMENT, "the text is null");
}

/* A graph with every kind of thing in it, but short, so that many variations can be tried. */
static const char *const small_text =
    "mica graph 1\n"
    "graph @body(%c: f32[], %x: f32[2]) {\n"
    "    %y = reduce(%x) {kind = \"sum\", axes = (0)} : f32[]\n"
    "    %z = constant() {value = c64[2] (1 -2, inf nan)}\n"
    "    return %y, %x\n"
    "}\n"
    "graph @\"main \\x09\"(%f: f32[], %xs: f32[3,2], %t: token, %l: list(i8[])) {\n"
    "    %r:2 = scan(%f, %xs) @body {consts = 0, carry = 1, length = 3, reverse = 1}\n"
    "    %s:2 = callback(%t, %r.1) {name = \"n\", function = 3, results = (bool[2])}\n"
    "    %h = constant() {value = i16[3] hex \"0102ff00aa55\"}\n"
    "    return %s.1, %h, %l\n"
    "}\n";

TEST(cut_texts_are_refused) {
    size_t length = strlen(small_text);
    char *cut = malloc(length + 1);
    for (size_t n = 0; n + 2 < length; n++) {
        memcpy(cut, small_text, n);
        cut[n] = 0;
        mica_graph *g = NULL;
        mica_status status = mica_graph_parse(cut, &g);
        /* After the first graph and before the second there is a whole text. */
        CHECK(status || n < strlen("mica graph 1\n") + 190);
        mica_status_release(status);
        mica_graph_release(g);
    }
    free(cut);
}

TEST(changed_texts_give_a_graph_that_verifies_or_a_status) {
    static const char alphabet[] = "%@(){}[],:=\"\\# \nabcfgx0123456789-.";
    size_t length = strlen(small_text);
    char *text = malloc(length + 1);
    uint64_t state = 7;
    int accepted = 0;
    for (int round = 0; round < 6000; round++) {
        memcpy(text, small_text, length + 1);
        for (int k = 0; k <= round % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % length] = alphabet[(state >> 20) % (sizeof alphabet - 1)];
        }
        mica_graph *g = NULL;
        mica_status status = mica_graph_parse(text, &g);
        CHECK((g != NULL) == (status == NULL));
        if (g) {
            accepted++;
            CHECK_OK(mica_graph_verify(g));
            CHECK(round_trips(g));
        }
        mica_status_release(status);
        mica_graph_release(g);
    }
    CHECK(accepted > 0);
    free(text);
}
