/* Contractions without columns: batches of a matrix and a vector. Tiles would have nothing to use
 * twice; but where batches, or rows, are neighbours in memory, their sums fill the lanes of
 * vectors. Depthwise convolutions are such contractions: channels are batches. */
#include "device/cpu/contract.h"

#define LEAST_LANES 8
#define BLOCK_ROWS 64
#define BLOCK_LANES 256
#define PIECE_WORK 200000.0 /* products that are worth another thread */

/* Lanes are the batches, or the innermost rows of m that are neighbours in x and c. */
typedef struct lanes_run {
    const cpu_contract *contract;
    const char *x, *y;
    char *c;
    const cpu_finish *finish;
    bool by_batch;
    int64_t n_rows, n_lanes, rows_per_batch, lane_blocks;
} lanes_run;

static bool batches_are_lanes(const cpu_contract *k) {
    const cpu_space *spaces[] = {&k->x_batch, &k->y_batch, &k->c_batch};
    for (int i = 0; i < 3; i++)
        if (spaces[i]->rank != 1 || spaces[i]->strides[0] != 1) return false;
    return k->c_batch.n >= LEAST_LANES;
}

static bool rows_are_lanes(const cpu_contract *k) {
    int32_t x = k->x_m.rank - 1, c = k->c_m.rank - 1;
    if (x < 0 || c < 0 || k->x_m.strides[x] != 1 || k->c_m.strides[c] != 1) return false;
    return k->x_m.sizes[x] >= LEAST_LANES && k->c_m.sizes[c] % k->x_m.sizes[x] == 0;
}

bool mica_cpu_contract_plan_lanes(cpu_contract *k) {
    if (k->c_batch.n < 2 || k->c_m.n == 0 || k->c_n.n == 0 || k->x_k.n == 0) return false;
    if (k->c_n.n > 1 && k->c_m.n > 1) return false;
    bool exchanges = k->c_n.n > 1;
    if (exchanges) mica_cpu_contract_exchange(k);
    if (batches_are_lanes(k) || rows_are_lanes(k)) {
        k->mode = CONTRACT_LANES;
        return true;
    }
    if (exchanges) mica_cpu_contract_exchange(k);
    return false;
}

/* Where rows first .. first + n - 1 begin in x, y and c. */
static void find_rows(const lanes_run *run, int64_t first, int64_t n, int64_t *x, int64_t *y,
                      int64_t *c) {
    const cpu_contract *k = run->contract;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = first + i, m = row, batch = 0;
        if (!run->by_batch) {
            batch = row / run->rows_per_batch;
            m = row % run->rows_per_batch * run->n_lanes;
        }
        x[i] = mica_cpu_space_position(&k->x_m, m) + mica_cpu_space_position(&k->x_batch, batch);
        y[i] = mica_cpu_space_position(&k->y_batch, batch);
        c[i] = mica_cpu_space_position(&k->c_m, m) + mica_cpu_space_position(&k->c_batch, batch);
    }
}

static void run_pieces(void *context, int64_t begin, int64_t end) {
    const lanes_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t x_rows[BLOCK_ROWS], y_rows[BLOCK_ROWS], c_rows[BLOCK_ROWS];
    int64_t x_steps[CPU_TILE_K], y_steps[CPU_TILE_K], bytes = k->gemm.bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / run->lane_blocks * BLOCK_ROWS, lane = i % run->lane_blocks * BLOCK_LANES;
        mica_cpu_lanes a = {.x = run->x + lane * bytes,
                            .y = run->y + (run->by_batch ? lane * bytes : 0),
                            .c = run->c + lane * bytes,
                            .x_rows = x_rows,
                            .y_rows = y_rows,
                            .c_rows = c_rows,
                            .x_steps = x_steps,
                            .y_steps = y_steps,
                            .y_has_lanes = run->by_batch};
        a.n_rows = cpu_min(BLOCK_ROWS, run->n_rows - row);
        a.n_lanes = cpu_min(BLOCK_LANES, run->n_lanes - lane);
        find_rows(run, row, a.n_rows, x_rows, y_rows, c_rows);
        for (int64_t first_k = 0; first_k < k->x_k.n; first_k += CPU_TILE_K) {
            a.n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
            a.first = first_k == 0;
            mica_cpu_space_positions(&k->x_k, first_k, a.n_k, x_steps);
            mica_cpu_space_positions(&k->y_k, first_k, a.n_k, y_steps);
            k->gemm.lanes(&a);
        }
        for (int64_t r = 0; run->finish && r < a.n_rows; r++)
            run->finish->line(run->finish->context, c_rows[r] + lane, a.n_lanes);
    }
}

void mica_cpu_contract_run_lanes(const cpu_contract *k, const char *x, const char *y, char *c,
                                 const cpu_finish *finish) {
    lanes_run run = {k, x, y, c, finish, batches_are_lanes(k), 0, 0, 0, 0};
    run.n_lanes = run.by_batch ? k->c_batch.n : k->x_m.sizes[k->x_m.rank - 1];
    run.rows_per_batch = run.by_batch ? 0 : k->c_m.n / run.n_lanes;
    run.n_rows = run.by_batch ? k->c_m.n : k->c_batch.n * run.rows_per_batch;
    run.lane_blocks = cpu_ceil_div(run.n_lanes, BLOCK_LANES);
    int64_t pieces = cpu_ceil_div(run.n_rows, BLOCK_ROWS) * run.lane_blocks;
    double work = (double)run.n_rows * (double)run.n_lanes * (double)k->x_k.n / (double)pieces;
    mica_parallel_for(pieces, work > PIECE_WORK ? 1 : (int64_t)(PIECE_WORK / work) + 1, run_pieces,
                      &run);
}
