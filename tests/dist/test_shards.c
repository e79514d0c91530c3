/* Graphs with collectives: over shards of one process, over ranks, and over both. */
#include "mica/mica.h"
#include "processes.h"

#define RETURN_IF(expr)                                                                            \
    do {                                                                                           \
        mica_status return_status = (expr);                                                        \
        if (return_status) return return_status;                                                   \
    } while (0)

enum { ROWS = 5, COLUMNS = 12, STEPS = 4 };

/* ---- what a shard does ------------------------------------------------------------------------*/

/* Every collective, some of what others gave, over values that differ and values that do not:
 * (x[ROWS,COLUMNS] of the shard, w[COLUMNS,COLUMNS] of all) -> one that is the same, one that
 * varies. */
static mica_graph *everything(int64_t shards) {
    mica_graph *g = NULL;
    mica_type rows = mica_type_make(MICA_DTYPE_f32, MICA_INTS(ROWS, COLUMNS));
    mica_type square = mica_type_make(MICA_DTYPE_f32, MICA_INTS(COLUMNS, COLUMNS));
    if (mica_graph_create("everything", &g)) return NULL;
    mica_value x = mica_parameter(g, &rows), w = mica_parameter(g, &square);
    mica_value place = mica_convert(g, mica_axis_index(g, "shards"), MICA_DTYPE_f32);
    mica_value h = mica_tanh(g, mica_add(g, mica_matmul(g, x, w),
                                         mica_mul(g, place, mica_scalar(g, MICA_DTYPE_f32, 0.1))));
    mica_value sum = mica_all_reduce(g, h, "sum", "shards");
    mica_value most = mica_all_reduce(g, mica_mul(g, h, sum), "max", "shards");
    int64_t sources[MOST_RANKS], targets[MOST_RANKS];
    int32_t n = 0;
    for (int64_t i = 0; i + 1 < shards; i++) sources[n] = i, targets[n++] = (i + 2) % shards;
    mica_value moved = mica_permute(g, mica_sub(g, h, most), "shards", shards,
                                    (mica_ints){sources, n}, (mica_ints){targets, n});
    mica_value part = mica_reduce_scatter(g, moved, "sum", "shards", shards, 1);
    mica_value all = mica_all_gather(g, mica_mul(g, part, part), "shards", shards, 1);
    mica_value one = mica_broadcast_from(g, mica_sin(g, h), "shards", shards, shards - 1);
    mica_value count = mica_all_reduce(g, mica_full_like(g, w, 1), "sum", "shards");
    mica_value same =
        mica_div(g, mica_add(g, all, one),
                 mica_slice(g, count, MICA_INTS(0, 0), MICA_INTS(ROWS, COLUMNS), MICA_INTS(1, 1)));
    mica_value own = mica_mul(g, mica_add(g, moved, same), h);
    mica_output(g, same);
    mica_output(g, mica_reduce(g, own, "sum", MICA_INTS(0)));
    return g;
}

/* A training step: each shard the gradient of its rows, summed over all. */
static mica_graph *training(int64_t shards) {
    mica_graph *g = NULL;
    mica_type rows = mica_type_make(MICA_DTYPE_f32, MICA_INTS(ROWS, COLUMNS));
    mica_type square = mica_type_make(MICA_DTYPE_f32, MICA_INTS(COLUMNS, COLUMNS));
    if (mica_graph_create("training", &g)) return NULL;
    mica_value x = mica_parameter(g, &rows), w = mica_parameter(g, &square), dw;
    mica_value h = mica_sin(g, mica_matmul(g, x, w));
    mica_value loss = mica_reduce(g, mica_mul(g, h, h), "sum", MICA_INTS(0, 1));
    mica_value total = mica_all_reduce(g, loss, "sum", "shards");
    mica_gradient(g, loss, &w, 1, &dw);
    dw = mica_all_reduce(g, dw, "sum", "shards");
    mica_value rate = mica_full_like(g, w, 0.01 / (double)shards);
    mica_output(g, mica_sub(g, w, mica_mul(g, rate, dw)));
    mica_output(g, total);
    return g;
}

static float input(int64_t i) {
    return (float)((i * 7919) % 1009) / 700.0f - 0.7f;
}

/* ---- a rank -----------------------------------------------------------------------------------*/

typedef struct setting {
    int64_t shards, ranks;
    mica_shard_mode mode;
    const char *device;
    mica_tier tier;
} setting;

static mica_status compile(mica_dist *dist, mica_device *device, mica_graph *shard,
                           const uint8_t *out_mapped, const setting *s, mica_executable **out) {
    mica_graph *own = NULL;
    const uint8_t mapped[] = {1, 0};
    mica_compile_options options = {
        .size = sizeof options, .tier = s->tier, .dist = dist, .axis = "shards"};
    mica_status status = mica_shard(shard, mapped, out_mapped, s->shards, s->shards / s->ranks,
                                    "shards", s->mode, &own);
    if (!status) status = mica_executable_create(device, own, &options, out);
    mica_graph_release(own);
    return status;
}

static mica_status run(mica_executable *exe, mica_tensor **inputs, mica_tensor **outputs) {
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = 2,
                          .outputs = outputs,
                          .n_outputs = 2,
                          .waits = true};
    return mica_executable_run(exe, &args, NULL);
}

/* x of this rank's shards, w. */
static mica_status make_inputs(mica_dist *dist, mica_device *device, const setting *s,
                               mica_tensor **inputs) {
    enum { PART = ROWS * COLUMNS };
    int64_t count = s->shards / s->ranks, first = mica_dist_rank(dist) * count;
    float x[MOST_RANKS * PART], w[COLUMNS * COLUMNS];
    for (int64_t i = 0; i < count * PART; i++) x[i] = input(first * PART + i);
    for (int64_t i = 0; i < COLUMNS * COLUMNS; i++) w[i] = input(i * 31 + 5);
    mica_type rows = mica_type_make(MICA_DTYPE_f32, MICA_INTS(count, ROWS, COLUMNS));
    mica_type square = mica_type_make(MICA_DTYPE_f32, MICA_INTS(COLUMNS, COLUMNS));
    RETURN_IF(mica_tensor_from_host(device, &rows, x, &inputs[0]));
    return mica_tensor_from_host(device, &square, w, &inputs[1]);
}

static mica_status read_numbers(mica_tensor *tensor, rank_report *report) {
    size_t n = (size_t)mica_type_elements(mica_tensor_type(tensor));
    mica_status status =
        mica_tensor_to_host(tensor, report->numbers + report->n, n * sizeof(float));
    report->n += (int32_t)n;
    return status;
}

/* Everything once, then some steps of training. */
static mica_status work(mica_dist *dist, rank_report *report, const void *context) {
    const setting *s = context;
    mica_device *device = NULL;
    mica_executable *exe = NULL, *step = NULL;
    mica_tensor *inputs[2] = {NULL}, *outputs[2] = {NULL};
    mica_graph *one = everything(s->shards), *two = training(s->shards);
    mica_status status = mica_device_open(s->device, &device);
    if (!status) status = make_inputs(dist, device, s, inputs);
    if (!status) status = compile(dist, device, one, (uint8_t[]){0, 1}, s, &exe);
    if (!status) status = compile(dist, device, two, (uint8_t[]){0, 0}, s, &step);
    if (!status) status = run(exe, inputs, outputs);
    for (int32_t i = 0; !status && i < 2; i++) status = read_numbers(outputs[i], report);
    for (int32_t k = 0; !status && k < STEPS; k++) {
        for (int32_t i = 0; i < 2; i++) mica_tensor_release(outputs[i]), outputs[i] = NULL;
        status = run(step, inputs, outputs);
        if (!status) status = read_numbers(outputs[1], report);
        if (status) break;
        mica_tensor_release(inputs[1]);
        inputs[1] = outputs[0];
        outputs[0] = NULL;
    }
    if (!status) status = read_numbers(inputs[1], report);
    for (int32_t i = 0; i < 2; i++) mica_tensor_release(inputs[i]), mica_tensor_release(outputs[i]);
    mica_executable_release(exe);
    mica_executable_release(step);
    mica_graph_release(one);
    mica_graph_release(two);
    mica_device_release(device);
    return status;
}

/* The same by mica_vmap, on the reference: an independent way. */
static mica_status work_by_vmap(mica_dist *dist, rank_report *report, const void *context) {
    const setting *s = context;
    const int32_t axes[] = {0, MICA_UNMAPPED}, out_axes[] = {MICA_UNMAPPED, 0};
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_tensor *inputs[2] = {NULL}, *outputs[2] = {NULL};
    mica_graph *one = everything(s->shards), *all = NULL;
    mica_status status = mica_device_open("ref", &device);
    if (!status) status = make_inputs(dist, device, s, inputs);
    if (!status) status = mica_vmap(one, axes, out_axes, s->shards, "shards", &all);
    if (!status) status = mica_executable_create(device, all, NULL, &exe);
    if (!status) status = run(exe, inputs, outputs);
    for (int32_t i = 0; !status && i < 2; i++) status = read_numbers(outputs[i], report);
    for (int32_t i = 0; i < 2; i++) mica_tensor_release(inputs[i]), mica_tensor_release(outputs[i]);
    mica_executable_release(exe);
    mica_graph_release(one);
    mica_graph_release(all);
    mica_device_release(device);
    return status;
}

/* ---- comparing --------------------------------------------------------------------------------*/

enum { SAME = ROWS * COLUMNS, REST = STEPS + COLUMNS * COLUMNS };

/* What varies, of all shards one after the other, stands between what is the same. */
static bool gather_reports(const rank_report *reports, const setting *s, rank_report *out) {
    int32_t own = (int32_t)(s->shards / s->ranks) * COLUMNS;
    *out = (rank_report){.n = 0};
    memcpy(out->numbers, reports[0].numbers, SAME * sizeof(float));
    out->n = SAME;
    for (int64_t r = 0; r < s->ranks; r++) {
        if (reports[r].n != SAME + own + REST) return false;
        if (memcmp(reports[r].numbers, reports[0].numbers, SAME * sizeof(float)) != 0) return false;
        if (memcmp(reports[r].numbers + SAME + own, reports[0].numbers + SAME + own,
                   REST * sizeof(float)) != 0)
            return false;
        memcpy(out->numbers + out->n, reports[r].numbers + SAME, (size_t)own * sizeof(float));
        out->n += own;
    }
    memcpy(out->numbers + out->n, reports[0].numbers + SAME + own, REST * sizeof(float));
    out->n += REST;
    return true;
}

static bool compute(const setting *s, rank_report *out) {
    static rank_report reports[MOST_RANKS];
    if (!run_processes(reports, (int32_t)s->ranks, work, s)) return false;
    bool is_alike = gather_reports(reports, s, out);
    CHECK(is_alike);
    return is_alike;
}

static bool are_near(const rank_report *a, const rank_report *b) {
    for (int32_t i = 0; i < a->n; i++)
        if (!(fabsf(a->numbers[i] - b->numbers[i]) <= 2e-4f * (1 + fabsf(b->numbers[i]))))
            return false;
    return a->n == b->n && a->n > 0;
}

static rank_report first, other;

TEST(no_bit_depends_on_how_many_ranks_share_the_shards) {
    setting s = {.shards = 4, .ranks = 1, .device = "cpu"};
    REQUIRE(compute(&s, &first));
    for (s.ranks = 2; s.ranks <= 4; s.ranks *= 2) {
        REQUIRE(compute(&s, &other));
        CHECK(other.n == first.n);
        CHECK(memcmp(other.numbers, first.numbers, (size_t)first.n * sizeof(float)) == 0);
    }
}

TEST(nor_where_the_shards_of_a_rank_are_no_power_of_two) {
    setting s = {.shards = 6, .ranks = 1, .device = "cpu"};
    REQUIRE(compute(&s, &first));
    for (s.ranks = 2; s.ranks <= 3; s.ranks++) {
        REQUIRE(compute(&s, &other));
        CHECK(memcmp(other.numbers, first.numbers, (size_t)first.n * sizeof(float)) == 0);
    }
}

TEST(generated_code_and_vmap_over_the_shards_agree) {
    setting s = {.shards = 4, .ranks = 2, .device = "cpu"};
    REQUIRE(compute(&s, &first));
    s.tier = MICA_TIER_COMPILED;
    REQUIRE(compute(&s, &other));
    CHECK(memcmp(other.numbers, first.numbers, (size_t)first.n * sizeof(float)) == 0);
    s.tier = MICA_TIER_BUILT_IN;
    s.mode = MICA_SHARD_VMAP;
    REQUIRE(compute(&s, &other));
    CHECK(are_near(&other, &first));
}

TEST(the_reference_and_a_device_beside_the_host_agree) {
    setting s = {.shards = 4, .ranks = 2, .device = "cpu"};
    REQUIRE(compute(&s, &first));
    s.device = "ref";
    REQUIRE(compute(&s, &other));
    CHECK(are_near(&other, &first));
    s.device = "fake";
    REQUIRE(compute(&s, &other));
    CHECK(are_near(&other, &first));
}

TEST(shards_give_what_vmap_over_the_axis_gives) {
    for (int64_t shards = 3; shards <= 4; shards++) {
        setting s = {.shards = shards, .ranks = 1, .device = "cpu"};
        REQUIRE(compute(&s, &first));
        REQUIRE(run_processes(&other, 1, work_by_vmap, &s));
        first.n = other.n;
        CHECK(other.n == SAME + shards * COLUMNS);
        CHECK(are_near(&other, &first));
    }
}

TEST(sums_that_are_ready_together_are_one_collective) {
    const uint8_t mapped[] = {1, 0}, out_mapped[] = {0, 0};
    mica_graph *one = training(4), *own = NULL;
    char *text = NULL;
    int32_t n = 0;
    CHECK_OK(mica_shard(one, mapped, out_mapped, 4, 2, "shards", MICA_SHARD_SCAN, &own));
    CHECK_OK(mica_graph_print(own, &text));
    for (const char *at = text; at && (at = strstr(at, "all_reduce")); at++) n++;
    CHECK(n == 1);
    mica_string_free(text);
    mica_graph_release(one);
    mica_graph_release(own);
}

/* ---- what fails -------------------------------------------------------------------------------*/

/* Rank 1 gives up when the others compute; what they donated is still theirs. */
static mica_status one_gives_up(mica_dist *dist, rank_report *report, const void *context) {
    const setting *s = context;
    const uint8_t donate[] = {0, 1};
    float w[COLUMNS * COLUMNS] = {0};
    mica_device *device = NULL;
    mica_executable *step = NULL;
    mica_tensor *inputs[2] = {NULL}, *outputs[2] = {NULL};
    mica_graph *two = training(s->shards);
    mica_status status = mica_device_open(s->device, &device), failed = NULL;
    if (!status) status = make_inputs(dist, device, s, inputs);
    if (!status) status = compile(dist, device, two, (uint8_t[]){0, 0}, s, &step);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = 2,
                          .outputs = outputs,
                          .n_outputs = 2,
                          .donate = donate,
                          .waits = true};
    if (mica_dist_rank(dist) == 1) {
        mica_dist_abort(dist, "there is no more data");
    } else if (!status) {
        failed = mica_executable_run(step, &args, NULL);
        snprintf((char *)report->numbers, 200, "%s", mica_status_message(failed));
        status = mica_tensor_to_host(inputs[1], w, sizeof w);
        report->n = !failed || outputs[0] || w[3] != input(3 * 31 + 5);
    }
    mica_status_release(failed);
    for (int32_t i = 0; i < 2; i++) mica_tensor_release(inputs[i]), mica_tensor_release(outputs[i]);
    mica_executable_release(step);
    mica_graph_release(two);
    mica_device_release(device);
    return status;
}

TEST(a_collective_that_fails_is_a_status_and_nothing_is_lost) {
    static rank_report reports[2];
    for (int i = 0; i < 2; i++) {
        setting s = {.shards = 2, .ranks = 2, .device = i ? "ref" : "cpu"};
        REQUIRE(run_processes(reports, 2, one_gives_up, &s));
        CHECK(reports[0].n == 0);
        CHECK(strstr((const char *)reports[0].numbers, "there is no more data") != NULL);
    }
}

static mica_status wrong_graphs(mica_dist *dist, rank_report *report, const void *context) {
    (void)context;
    const uint8_t mapped[] = {1, 0}, out[] = {0, 1}, same[] = {0, 0};
    mica_graph *g = everything(4), *made = NULL;
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    RETURN_IF(mica_device_open("cpu", &device));
    mica_compile_options options = {.size = sizeof options, .dist = dist, .axis = "shards"};
    struct {
        mica_status status;
        const char *words;
    } calls[] = {
        {mica_shard(g, mapped, out, 4, 3, "shards", MICA_SHARD_SCAN, &made), "in equal parts"},
        {mica_shard(g, mapped, out, 8, 8, "shards", MICA_SHARD_SCAN, &made), "of 4 participants"},
        {mica_shard(g, mapped, same, 4, 4, "shards", MICA_SHARD_SCAN, &made), "output 1 varies"},
        {mica_executable_create(device, g, &options, &exe), "axis 'shards' has 1 ranks, not 4"},
        {mica_executable_create(device, g, NULL, &exe), "is not bound"},
    };
    options.axis = "others";
    mica_status bound = mica_executable_create(device, g, &options, &exe);
    report->n = !strstr(mica_status_message(bound), "the ranks are along 'others'");
    mica_status_release(bound);
    options.axis = "a#b";
    mica_status named = mica_executable_create(device, g, &options, &exe);
    report->n += !strstr(mica_status_message(named), "without '#'");
    mica_status_release(named);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        report->n += !strstr(mica_status_message(calls[i].status), calls[i].words);
        mica_status_release(calls[i].status);
    }
    mica_graph_release(g);
    mica_device_release(device);
    return NULL;
}

TEST(graphs_that_cannot_be_shared_are_refused) {
    static rank_report report;
    REQUIRE(run_processes(&report, 1, wrong_graphs, NULL));
    CHECK(report.n == 0);
}
