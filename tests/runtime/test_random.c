/* Random graphs with nested control flow, in exact arithmetic: every device and every choice of
 * passes gives the bits of the reference. */
#include "runtime_test.h"

static uint64_t random_state;

static uint32_t pick(uint32_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % n);
}

enum { MOST = 40, LENGTH = 3 };

static mica_type row_type(void) {
    return mica_type_make(MICA_DTYPE_i32, MICA_INTS(4));
}

/* Values of type i32[4] to draw from. */
typedef struct drawer {
    mica_graph *g;
    mica_value values[MOST];
    int n;
} drawer;

static mica_value draw(const drawer *d) {
    /* Late values more often, so that chains form. */
    int n = pick(2) ? d->n : (d->n + 1) / 2;
    return d->values[d->n - 1 - (int)pick((uint32_t)n)];
}

static void put(drawer *d, mica_value v) {
    if (d->n < MOST) d->values[d->n++] = v;
}

static void grow(drawer *d, int steps, int depth);

/* A region on n rows that gives m rows. */
static mica_graph *random_region(int n_in, int n_out, int depth) {
    drawer d = {.g = new_graph("region")};
    mica_type type = row_type();
    for (int i = 0; i < n_in; i++) put(&d, mica_parameter(d.g, &type));
    grow(&d, 3 + (int)pick(5), depth - 1);
    for (int i = 0; i < n_out; i++) mica_output(d.g, draw(&d));
    return d.g;
}

static mica_value some_predicate(drawer *d) {
    mica_value sum = mica_reduce(d->g, draw(d), "sum", MICA_INTS(0));
    return mica_compare(d->g, sum, mica_scalar(d->g, MICA_DTYPE_i32, (double)pick(9) - 4), "gt");
}

static void add_cond(drawer *d, int depth) {
    mica_graph *a = random_region(3, 2, depth), *b = random_region(3, 2, depth);
    mica_value arguments[3] = {draw(d), draw(d), draw(d)}, out[2];
    mica_cond(d->g, some_predicate(d), a, b, arguments, 3, out);
    put(d, out[0]);
    put(d, out[1]);
    mica_graph_release(a);
    mica_graph_release(b);
}

static void add_case(drawer *d, int depth) {
    mica_graph *branches[3];
    for (int i = 0; i < 3; i++) branches[i] = random_region(2, 1, depth);
    mica_value index = mica_reduce(d->g, draw(d), "max", MICA_INTS(0));
    mica_value arguments[2] = {draw(d), draw(d)}, out;
    mica_case(d->g, index, branches, 3, arguments, 2, &out);
    put(d, out);
    for (int i = 0; i < 3; i++) mica_graph_release(branches[i]);
}

/* consts: 1, carry: 2, xs: 1; body gives two carries and two ys */
static void add_scan(drawer *d, int depth) {
    mica_graph *g = d->g, *body = random_region(4, 4, depth);
    mica_value rows[LENGTH], operands[4] = {draw(d), draw(d), draw(d)}, out[4];
    for (int i = 0; i < LENGTH; i++) rows[i] = mica_reshape(g, draw(d), MICA_INTS(1, 4));
    operands[3] = mica_concat(g, rows, LENGTH, 0);
    mica_scan(g, body, operands, 4, 1, 2, LENGTH, pick(2), out);
    put(d, out[0]);
    put(d, out[1]);
    put(d, mica_reduce(g, out[2], "sum", MICA_INTS(0)));
    put(d, mica_reshape(g, mica_slice(g, out[3], MICA_INTS(1, 0), MICA_INTS(2, 4), MICA_INTS(1, 1)),
                        MICA_INTS(4)));
    mica_graph_release(body);
}

/* A counter, a list that grows, and two rows; then the list is taken apart by hand. */
static void add_while(drawer *d, int depth) {
    mica_graph *g = d->g, *condition = new_graph("condition"), *body = new_graph("body");
    mica_type scalar = mica_type_scalar(MICA_DTYPE_i32), row = row_type();
    mica_type list = mica_type_list_of(&row);
    mica_value p[5], i;
    mica_graph *regions[2] = {condition, body};
    for (int r = 0; r < 2; r++) {
        p[0] = mica_parameter(regions[r], &row);
        p[1] = mica_parameter(regions[r], &scalar);
        p[2] = mica_parameter(regions[r], &list);
        p[3] = mica_parameter(regions[r], &row);
        p[4] = mica_parameter(regions[r], &row);
        if (r == 0)
            mica_output(condition,
                        mica_compare(condition, p[1],
                                     mica_scalar(condition, MICA_DTYPE_i32, pick(4)), "lt"));
    }
    drawer inner = {.g = body};
    put(&inner, p[0]);
    put(&inner, p[3]);
    put(&inner, p[4]);
    grow(&inner, 2 + (int)pick(4), depth - 1);
    mica_output(body, mica_add(body, p[1], mica_scalar(body, MICA_DTYPE_i32, 1)));
    mica_output(body, mica_list_push(body, p[2], draw(&inner)));
    bool exchange = pick(4) == 0;
    mica_output(body, exchange ? p[4] : draw(&inner));
    mica_output(body, exchange ? p[3] : draw(&inner));
    mica_value operands[5] = {draw(d), mica_scalar(g, MICA_DTYPE_i32, 0),
                              mica_list_push(g, mica_list_empty(g, &row), draw(d)), draw(d),
                              draw(d)};
    mica_value out[4], rest, top;
    mica_while(g, condition, body, operands, 5, 1, out);
    put(d, out[2]);
    put(d, out[3]);
    mica_list_pop(g, out[1], &rest, &top);
    put(d, top);
    mica_list_pop(g, rest, &rest, &top);
    put(d, top);
    i = mica_broadcast_to(g, out[0], MICA_INTS(4));
    put(d, i);
    mica_graph_release(condition);
    mica_graph_release(body);
}

static void add_call(drawer *d, int depth) {
    mica_graph *body = random_region(2, 2, depth);
    mica_value arguments[2] = {draw(d), draw(d)}, out[2], fenced[2];
    mica_call(d->g, "random", "", body, "", NULL, arguments, 2, out);
    mica_barrier(d->g, out, 2, fenced);
    put(d, fenced[0]);
    put(d, fenced[1]);
    mica_graph_release(body);
}

static void grow(drawer *d, int steps, int depth) {
    mica_graph *g = d->g;
    for (int i = 0; i < steps && d->n < MOST - 6; i++) {
        switch (pick(depth > 0 ? 13 : 8)) {
        case 0: put(d, mica_add(g, draw(d), draw(d))); break;
        case 1: put(d, mica_sub(g, draw(d), draw(d))); break;
        case 2: put(d, mica_xor(g, draw(d), draw(d))); break;
        case 3: put(d, mica_reverse(g, draw(d), MICA_INTS(0))); break;
        case 4: put(d, mica_max(g, draw(d), mica_scalar(g, MICA_DTYPE_i32, 2))); break;
        case 5: put(d, mica_neg(g, draw(d))); break;
        case 6:
            put(d, mica_reshape(g,
                                mica_transpose(g, mica_reshape(g, draw(d), MICA_INTS(2, 2)),
                                               MICA_INTS(1, 0)),
                                MICA_INTS(4)));
            break;
        case 7: put(d, mica_select(g, some_predicate(d), draw(d), draw(d))); break;
        case 8: add_cond(d, depth); break;
        case 9: add_case(d, depth); break;
        case 10: add_scan(d, depth); break;
        case 11: add_while(d, depth); break;
        case 12: add_call(d, depth); break;
        }
    }
}

static void try_seed(uint64_t seed) {
    static const char *const passes[] = {NULL, "-plan", "-simplify,-schedule",
                                         "-inline,-simplify,-schedule"};
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    mica_graph *g = random_region(4, 5, 4);
    int32_t inputs[4][4];
    for (int i = 0; i < 16; i++) inputs[i / 4][i % 4] = (int32_t)pick(21) - 10;
    const void *pointers[] = {inputs[0], inputs[1], inputs[2], inputs[3]};
    static outcome expected, found;
    if (evaluate("ref", NULL, g, pointers, &expected))
        for (int i = 0; i < 5; i++) {
            const char *device = i == 4 ? "fake" : "cpu", *selection = passes[i % 4];
            test_checks++;
            if (!evaluate(device, selection, g, pointers, &found) ||
                memcmp(&expected, &found, sizeof found) != 0)
                test_report(__FILE__, __LINE__, "seed %llu: %s with '%s' differs from ref",
                            (unsigned long long)seed, device, selection ? selection : "");
        }
    mica_graph_release(g);
}

TEST(random_control_flow_agrees_with_the_reference) {
    const char *seeds = getenv("MICA_TEST_SEEDS"); /* more, for soak runs */
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 120;
    for (uint64_t seed = 1; seed <= n; seed++) try_seed(seed);
}
