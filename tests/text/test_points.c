/* Sets of code points, and the tables of Unicode. */
#include "test.h"
#include "text/points.h"

/* What TensorFlow's \p{...} matches: ranges, points, and a sum over both. */
static const struct {
    const char *name;
    size_t n_ranges;
    uint32_t n_points, sum;
} named[] = {
    {"Cc", 2, 65, 0x0000845f},          {"Cf", 21, 170, 0x478c2a55},
    {"Co", 3, 137468, 0x01fb7639},      {"L", 659, 136104, 0x24844215},
    {"Ll", 658, 2233, 0x7cb21ae7},      {"Lm", 71, 397, 0x1198a266},
    {"Lo", 510, 131612, 0xf5e709de},    {"Lt", 10, 31, 0xc28dedd5},
    {"Lu", 646, 1831, 0xcf719341},      {"M", 310, 2450, 0xa4873f5c},
    {"Mc", 182, 452, 0x6396ff6e},       {"Me", 5, 13, 0xe6b0fba8},
    {"Mn", 346, 1985, 0xc70e4547},      {"N", 137, 1831, 0x7885e09e},
    {"Nd", 64, 680, 0xc2e581e8},        {"Nl", 12, 236, 0xa80d6d00},
    {"No", 72, 915, 0xa7c699eb},        {"P", 191, 842, 0x3c4945ab},
    {"Pc", 6, 10, 0xa106f424},          {"Pd", 19, 26, 0xe2a174e7},
    {"Pe", 76, 77, 0xcc89f9a1},         {"Pf", 10, 10, 0xd8b7e100},
    {"Pi", 11, 12, 0x939fdfa1},         {"Po", 187, 628, 0x410b4519},
    {"Ps", 79, 79, 0x9c66cfe0},         {"S", 232, 7770, 0xefa43b72},
    {"Sc", 21, 63, 0x8057e70a},         {"Sk", 31, 125, 0x2e23271e},
    {"Sm", 64, 948, 0xf1d578b4},        {"So", 184, 6634, 0xebe62d32},
    {"Z", 8, 19, 0xc8b1680b},           {"Zl", 1, 1, 0x00040500},
    {"Zp", 1, 1, 0x00040520},           {"Zs", 7, 17, 0x204ae24a},
    {"Common", 173, 8301, 0xc5866c80},  {"Inherited", 29, 657, 0x1e58b9b4},
    {"Greek", 36, 518, 0x971bc702},     {"Han", 21, 98408, 0x523fa453},
    {"Latin", 39, 1481, 0x0a402702},    {"Kawi", 3, 86, 0x12ee2853},
    {"Nag_Mundari", 1, 42, 0x003c9a29}, {"Vithkuqi", 8, 70, 0x5fc957be},
};

TEST(categories_and_scripts_are_those_of_tensorflow) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        text_points points = {0};
        REQUIRE(text_points_add_named(&points, named[i].name, strlen(named[i].name)));
        text_points_sort(&points);
        uint32_t n = 0, sum = 0;
        for (size_t k = 0; k < points.n; k++) {
            text_range r = points.ranges[k];
            n += r.high - r.low + 1;
            sum = (sum * 31 + r.low) * 31 + r.high;
        }
        bool is_same =
            points.n == named[i].n_ranges && n == named[i].n_points && sum == named[i].sum;
        if (!is_same) test_report(__FILE__, __LINE__, "%s differs", named[i].name);
        text_points_deinit(&points);
    }
    text_points points = {0};
    CHECK(!text_points_add_named(&points, "Cn", 2) && !text_points_add_named(&points, "X", 1));
    CHECK(!text_points_add_named(&points, "", 0) && !text_points_add_named(&points, "Gree", 4));
    CHECK(points.n == 0);
}

TEST(the_cases_of_a_letter_make_a_circle) {
    int n = 0;
    for (uint32_t point = 0; point <= TEXT_LAST_POINT; point++) {
        uint32_t next = text_next_case(point);
        if (next == point) continue;
        n++;
        int steps = 1;
        for (; next != point && steps <= 4; steps++) next = text_next_case(next);
        if (next != point) test_report(__FILE__, __LINE__, "%x does not come back", point);
    }
    CHECK(n == 2878); /* as many letters as match others under (?i) in TensorFlow */
    CHECK(text_next_case('k') == 0x212a && text_next_case(0x212a) == 'K');
    CHECK(text_next_case(0xdf) == 0x1e9e && text_next_case('i') == 'I');
}

static uint32_t random_next(uint32_t *state) {
    return *state = *state * 1664525u + 1013904223u;
}

TEST(folding_a_set_adds_what_folding_each_point_adds) {
    uint32_t state = 7;
    for (int round = 0; round < 200; round++) {
        text_points set = {0}, each = {0};
        for (int i = 0; i < 3; i++) {
            uint32_t low = (random_next(&state) >> 8) % (round % 2 ? 0x600 : 0x20000);
            uint32_t high = low + (random_next(&state) >> 8) % 40;
            text_points_add(&set, low, high);
            for (uint32_t point = low; point <= high; point++) {
                text_points_add(&each, point, point);
                for (uint32_t c = text_next_case(point); c != point; c = text_next_case(c))
                    text_points_add(&each, c, c);
            }
        }
        text_points_fold(&set);
        text_points_sort(&each);
        REQUIRE(set.n == each.n);
        CHECK(!memcmp(set.ranges, each.ranges, set.n * sizeof *set.ranges));
        text_points_negate(&each);
        for (size_t i = 0; i < set.n; i++) {
            CHECK(text_points_have(&set, set.ranges[i].high));
            CHECK(!text_points_have(&each, set.ranges[i].low));
        }
        text_points_deinit(&set);
        text_points_deinit(&each);
    }
}

TEST(utf8_is_read_back_and_what_is_none_is_refused) {
    for (uint32_t point = 0; point <= TEXT_LAST_POINT; point += 61) {
        uint8_t bytes[4];
        uint32_t back = 0;
        size_t n = text_utf8_write(point, bytes);
        CHECK(text_utf8_next((const char *)bytes, n, &back) == n && back == point);
        CHECK(n == 1 || text_utf8_next((const char *)bytes, n - 1, &back) == 0);
    }
    static const char *const wrong[] = {"\x80", "\xc1\x81", "\xe0\x80\x80", "\xf4\x90\x80\x80",
                                        "\xff"};
    uint32_t point;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(text_utf8_next(wrong[i], strlen(wrong[i]), &point) == 0);
}
