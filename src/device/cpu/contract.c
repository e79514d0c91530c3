/* Packed, cache-blocked contraction; see contract.h. */
#include "device/cpu/contract.h"

#include <string.h>

/* Packed panels that live on a piece's stack: x's in the second-level cache, y's beside it. */
#define X_PANEL_BYTES (96 * 1024)
#define Y_PANEL_BYTES (128 * 1024)
#define SPLIT_LIMIT ((int64_t)16 << 20) /* bytes of partial sums */
#define FEW_PIECES 6
#define TILE_CELLS 512 /* the most accumulators a tile has */

typedef struct contract_run {
    const cpu_contract *contract;
    const char *x, *y;
    char *c;                                 /* of the compute type */
    char *scratch;                           /* packed y, or partial sums */
    int64_t batch, first_n, n, first_k, n_k; /* shared: the part of y that is packed now */
    int64_t pieces_m, pieces_n;
} contract_run;

/* ---- planning
 * ----------------------------------------------------------------------------------*/

static void exchange(cpu_contract *k) {
    cpu_space space;
#define EXCHANGE(a, b) (space = k->a, k->a = k->b, k->b = space)
    EXCHANGE(x_batch, y_batch);
    EXCHANGE(x_m, y_n);
    EXCHANGE(x_k, y_k);
    EXCHANGE(c_m, c_n);
#undef EXCHANGE
    k->exchanged = !k->exchanged;
}

static bool is_contiguous(const cpu_space *space) {
    return space->rank > 0 && space->strides[space->rank - 1] == 1;
}

static int64_t round_up(int64_t n, int64_t to) {
    return cpu_ceil_div(n, to) * to;
}

/* Work of one orientation on a tile, in multiply-adds; cells that are not neighbours in c cost more
 * to store. */
static double tile_cost(const mica_cpu_gemm *gemm, int64_t n_k, int64_t m, int64_t n,
                        bool stores_lines) {
    double cells = (double)round_up(m, gemm->rows) * (double)round_up(n, gemm->columns);
    double blocks = (double)cpu_ceil_div(n_k, CPU_TILE_K);
    bool is_whole = stores_lines && n % gemm->columns == 0;
    return cells * (double)n_k + (is_whole ? 0 : 24.0 * blocks * (double)m * (double)n);
}

/* Chooses the tile, and whether x and y change places. The first is best when costs are close. */
static void choose_tile(cpu_contract *k, const mica_cpu_gemm *const *tiles, int32_t n_tiles) {
    int64_t m = k->c_m.n, n = k->c_n.n;
    bool by_n = n == 1 || is_contiguous(&k->c_n), by_m = m == 1 || is_contiguous(&k->c_m);
    double best = 0;
    bool exchanges = false;
    for (int32_t i = 0; i < 2 * n_tiles; i++) {
        const mica_cpu_gemm *tile = tiles[i / 2];
        double cost =
            i % 2 ? tile_cost(tile, k->x_k.n, n, m, by_m) : tile_cost(tile, k->x_k.n, m, n, by_n);
        if (i > 0 && cost >= 0.95 * best) continue;
        best = cost;
        k->gemm = *tile;
        exchanges = i % 2;
    }
    if (exchanges) exchange(k);
}

static int64_t shared_limit = (int64_t)24 << 20; /* bytes of y packed at a time */

void mica_cpu_contract_share(int64_t bytes) {
    shared_limit = bytes > 0 ? bytes : (int64_t)24 << 20;
}

static void choose_mode(cpu_contract *k) {
    int64_t bytes = k->gemm.bytes, m = k->c_m.n, n = k->c_n.n, batch = k->c_batch.n;
    int64_t panel = CPU_TILE_K * bytes;
    if (m == 0 || n == 0 || batch == 0 || k->x_k.n == 0) {
        k->mode = CONTRACT_ZERO;
        return;
    }
    k->blocks_k = cpu_ceil_div(k->x_k.n, CPU_TILE_K);
    k->block_m =
        cpu_min(X_PANEL_BYTES / panel / k->gemm.rows * k->gemm.rows, round_up(m, k->gemm.rows));
    k->block_n = cpu_min(Y_PANEL_BYTES / panel / k->gemm.columns * k->gemm.columns,
                         round_up(n, k->gemm.columns));
    int64_t pieces_m = cpu_ceil_div(m, k->block_m), pieces_n = cpu_ceil_div(n, k->block_n);
    k->mode = CONTRACT_LOCAL;
    if (batch * pieces_m * pieces_n < FEW_PIECES && k->blocks_k > 3 &&
        batch * m * n * bytes * k->blocks_k <= SPLIT_LIMIT) {
        k->mode = CONTRACT_SPLIT;
        k->scratch_bytes = (size_t)(batch * m * n * bytes * k->blocks_k);
    } else if (pieces_m > 2) {
        k->mode = CONTRACT_SHARED;
        int64_t columns = round_up(n, k->gemm.columns);
        k->shared_k = cpu_min(k->blocks_k, cpu_max(1, shared_limit / (panel * k->gemm.columns)));
        k->shared_n = cpu_min(columns, shared_limit / (panel * k->shared_k) / k->gemm.columns *
                                           k->gemm.columns);
        int64_t packed = panel * k->shared_k * k->shared_n;
        k->shared_batch = cpu_min(batch, cpu_max(1, shared_limit / packed));
        k->scratch_bytes = (size_t)(k->shared_batch * packed);
    }
}

/* From complex elements to their parts; see mica_cpu_pack for y. */
static void split_complex(cpu_contract *k) {
    cpu_space *const spaces[] = {&k->x_batch, &k->x_m,     &k->x_k, &k->y_batch, &k->y_k,
                                 &k->y_n,     &k->c_batch, &k->c_m, &k->c_n};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        for (int32_t axis = 0; axis < spaces[i]->rank; axis++) spaces[i]->strides[axis] *= 2;
    mica_cpu_space_add(&k->x_k, 2, 1);
    mica_cpu_space_add(&k->y_k, 2, 1);
    mica_cpu_space_add(&k->y_n, 2, 1);
    mica_cpu_space_add(&k->c_n, 2, 1);
}

bool mica_cpu_contract_init(cpu_contract *k, mica_dtype dtype) {
    const mica_cpu_isa *isa = mica_cpu_isa_current();
    if (dtype < MICA_DTYPE_i8) return false;
    if (dtype >= MICA_DTYPE_c64) {
        k->complex_pack = isa->pack_complex[dtype - MICA_DTYPE_c64];
        split_complex(k);
        dtype = dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32 : MICA_DTYPE_f64;
    }
    bool is_float = dtype >= MICA_DTYPE_f16;
    const mica_cpu_gemm *tiles[2];
    tiles[0] = is_float ? &isa->gemm_float[0][dtype - MICA_DTYPE_f16]
                        : &isa->gemm_int[dtype - MICA_DTYPE_i8];
    tiles[1] = is_float ? &isa->gemm_float[1][dtype - MICA_DTYPE_f16] : NULL;
    choose_tile(k, tiles, is_float ? 2 : 1);
    k->x_bytes = k->c_bytes = (int32_t)mica_dtype_bytes(dtype);
    k->narrow = k->c_bytes == k->gemm.bytes
                    ? NULL
                    : isa->elementwise->convert[is_float ? MICA_DTYPE_f32 : MICA_DTYPE_u32][dtype];
    choose_mode(k);
    k->wide_offset = cpu_align(k->scratch_bytes);
    if (k->narrow && k->mode != CONTRACT_ZERO)
        k->scratch_bytes =
            k->wide_offset + (size_t)(k->c_batch.n * k->c_m.n * k->c_n.n * k->gemm.bytes);
    return true;
}

/* ---- one piece
 * ---------------------------------------------------------------------------------*/

/* Where a piece works: rows, columns and blocks of k within one batch. */
typedef struct contract_block {
    int64_t batch, m, n_m, n, n_n, k, n_k;
    const char *packed;    /* y, packed; NULL: the piece packs it */
    int64_t packed_panels; /* panels per block of k in `packed` */
    char *c;               /* the batch's */
    bool first;            /* the first block is stored, not added */
} contract_block;

static void pack_x(const cpu_contract *k, const char *x, const contract_block *at, int64_t first_k,
                   int64_t n_k, char *panels) {
    int64_t rows = k->gemm.rows, steps[CPU_TILE_K], offsets[64];
    mica_cpu_space_positions(&k->x_k, first_k, n_k, steps);
    for (int64_t i = 0; i < at->n_m; i += rows) {
        int64_t count = cpu_min(rows, at->n_m - i);
        mica_cpu_space_positions(&k->x_m, at->m + i, count, offsets);
        mica_cpu_pack pack = k->complex_pack && k->exchanged ? k->complex_pack : k->gemm.pack;
        pack(x, offsets, count, steps, n_k, rows, panels + i * n_k * k->gemm.bytes);
    }
}

static void pack_y_panel(const cpu_contract *k, const char *y, int64_t first_n, int64_t first_k,
                         int64_t n_k, const int64_t *steps, char *panel) {
    int64_t offsets[64], count = cpu_min(k->gemm.columns, k->y_n.n - first_n);
    (void)first_k;
    mica_cpu_space_positions(&k->y_n, first_n, count, offsets);
    mica_cpu_pack pack = k->complex_pack && !k->exchanged ? k->complex_pack : k->gemm.pack;
    pack(y, offsets, count, steps, n_k, k->gemm.columns, panel);
}

/* Stores or adds the part of a tile that lies inside c. */
static void scatter_tile(const cpu_contract *k, const char *tile, char *c, const int64_t *rows,
                         int64_t n_rows, const int64_t *columns, int64_t n_columns, bool first) {
    int64_t width = k->gemm.columns;
#define SCATTER(type)                                                                              \
    for (int64_t i = 0; i < n_rows; i++)                                                           \
        for (int64_t j = 0; j < n_columns; j++) {                                                  \
            type *cell = (type *)c + rows[i] + columns[j];                                         \
            type value = ((const type *)tile)[i * width + j];                                      \
            *cell = first ? value : *cell + value;                                                 \
        }
    if (k->c_bytes == 8 && !k->narrow) {
        if (k->gemm.is_float) {
            SCATTER(double)
        } else {
            SCATTER(uint64_t)
        }
    } else if (k->gemm.is_float) {
        SCATTER(float)
    } else {
        SCATTER(uint32_t)
    }
}

/* true when `n` indices from `first` on are neighbours in memory. */
static bool is_one_line(const cpu_space *space, int64_t first, int64_t n) {
    int32_t last = space->rank - 1;
    return last >= 0 && space->strides[last] == 1 &&
           first % space->sizes[last] + n <= space->sizes[last];
}

static void multiply(const cpu_contract *k, const char *x_panels, const char *y_panel,
                     const contract_block *at, int64_t column, int64_t n_k, bool first) {
    int64_t rows = k->gemm.rows, width = k->gemm.columns, columns[64], row_at[64];
    int64_t n_columns = cpu_min(width, at->n + at->n_n - column);
    _Alignas(64) char tile[TILE_CELLS * 8];
    mica_cpu_space_positions(&k->c_n, column, n_columns, columns);
    bool is_line = n_columns == width && is_one_line(&k->c_n, column, width);
    for (int64_t i = 0; i < at->n_m; i += rows) {
        int64_t n_rows = cpu_min(rows, at->n_m - i);
        const char *x_panel = x_panels + i * n_k * k->gemm.bytes;
        mica_cpu_space_positions(&k->c_m, at->m + i, n_rows, row_at);
        if (is_line && n_rows == rows) {
            k->gemm.tile_to(x_panel, y_panel, n_k, at->c + columns[0] * k->gemm.bytes, row_at,
                            first);
        } else {
            k->gemm.tile(x_panel, y_panel, n_k, tile);
            scatter_tile(k, tile, at->c, row_at, n_rows, columns, n_columns, first);
        }
    }
}

static void run_block(const cpu_contract *k, const char *x, const char *y,
                      const contract_block *at) {
    _Alignas(64) char x_panels[X_PANEL_BYTES];
    _Alignas(64) char y_local[Y_PANEL_BYTES / 4]; /* one panel of y at a time */
    int64_t width = k->gemm.columns, panel = CPU_TILE_K * width * k->gemm.bytes;
    for (int64_t block = at->k; block < at->k + at->n_k; block++) {
        int64_t first_k = block * CPU_TILE_K, n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
        bool first = at->first && block == at->k;
        int64_t steps[CPU_TILE_K];
        pack_x(k, x, at, first_k, n_k, x_panels);
        if (!at->packed) mica_cpu_space_positions(&k->y_k, first_k, n_k, steps);
        for (int64_t j = 0; j < at->n_n; j += width) {
            const char *y_panel = y_local;
            if (at->packed)
                y_panel = at->packed + ((block - at->k) * at->packed_panels + j / width) * panel;
            else
                pack_y_panel(k, y, at->n + j, first_k, n_k, steps, y_local);
            multiply(k, x_panels, y_panel, at, at->n + j, n_k, first);
        }
    }
}

/* ---- modes
 * -------------------------------------------------------------------------------------*/

static char *batch_of_c(const contract_run *run, int64_t batch) {
    const cpu_contract *k = run->contract;
    return run->c + mica_cpu_space_position(&k->c_batch, batch) * k->gemm.bytes;
}
static const char *batch_of_x(const contract_run *run, int64_t batch) {
    const cpu_contract *k = run->contract;
    return run->x + mica_cpu_space_position(&k->x_batch, batch) * k->x_bytes;
}
static const char *batch_of_y(const contract_run *run, int64_t batch) {
    const cpu_contract *k = run->contract;
    return run->y + mica_cpu_space_position(&k->y_batch, batch) * k->x_bytes;
}

static void run_local_pieces(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i % run->pieces_n, m = i / run->pieces_n % run->pieces_m;
        int64_t batch = i / run->pieces_n / run->pieces_m;
        contract_block at = {.batch = batch, .n_k = k->blocks_k, .first = true};
        at.m = m * k->block_m, at.n_m = cpu_min(k->block_m, k->c_m.n - at.m);
        at.n = n * k->block_n, at.n_n = cpu_min(k->block_n, k->c_n.n - at.n);
        at.c = batch_of_c(run, batch);
        run_block(k, batch_of_x(run, batch), batch_of_y(run, batch), &at);
    }
}

static void run_local(contract_run *run) {
    const cpu_contract *k = run->contract;
    run->pieces_m = cpu_ceil_div(k->c_m.n, k->block_m);
    run->pieces_n = cpu_ceil_div(k->c_n.n, k->block_n);
    double work = (double)k->block_m * (double)k->block_n * (double)k->x_k.n;
    int64_t grain = work > 65536 ? 1 : (int64_t)(65536 / cpu_max(1, (int64_t)work));
    mica_parallel_for(run->pieces_m * run->pieces_n * k->c_batch.n, grain, run_local_pieces, run);
}

/* Packs panels of y: [batch][block of k][panel]. */
static void pack_shared(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t width = k->gemm.columns, panels = cpu_ceil_div(run->n, width), steps[CPU_TILE_K];
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % panels, block = i / panels % run->n_k, batch = i / panels / run->n_k;
        int64_t first_k = (run->first_k + block) * CPU_TILE_K;
        int64_t n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
        mica_cpu_space_positions(&k->y_k, first_k, n_k, steps);
        pack_y_panel(k, batch_of_y(run, run->batch + batch), run->first_n + panel * width, first_k,
                     n_k, steps, run->scratch + i * CPU_TILE_K * width * k->gemm.bytes);
    }
}

static void run_shared_pieces(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t width = k->gemm.columns, panels = cpu_ceil_div(run->n, width);
    int64_t panel = CPU_TILE_K * width * k->gemm.bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / run->pieces_m;
        contract_block at = {.batch = run->batch + batch, .k = run->first_k, .n_k = run->n_k};
        at.m = i % run->pieces_m * k->block_m, at.n_m = cpu_min(k->block_m, k->c_m.n - at.m);
        at.n = run->first_n, at.n_n = run->n;
        at.c = batch_of_c(run, at.batch);
        at.first = run->first_k == 0;
        at.packed = run->scratch + batch * run->n_k * panels * panel;
        at.packed_panels = panels;
        run_block(k, batch_of_x(run, at.batch), NULL, &at);
    }
}

static void run_shared(contract_run *run) {
    const cpu_contract *k = run->contract;
    run->pieces_m = cpu_ceil_div(k->c_m.n, k->block_m);
    for (run->batch = 0; run->batch < k->c_batch.n; run->batch += k->shared_batch) {
        int64_t batches = cpu_min(k->shared_batch, k->c_batch.n - run->batch);
        for (run->first_n = 0; run->first_n < k->c_n.n; run->first_n += k->shared_n) {
            run->n = cpu_min(k->shared_n, k->c_n.n - run->first_n);
            for (run->first_k = 0; run->first_k < k->blocks_k; run->first_k += k->shared_k) {
                run->n_k = cpu_min(k->shared_k, k->blocks_k - run->first_k);
                int64_t panels = cpu_ceil_div(run->n, k->gemm.columns) * run->n_k * batches;
                mica_parallel_for(panels, 4, pack_shared, run);
                mica_parallel_for(run->pieces_m * batches, 1, run_shared_pieces, run);
            }
        }
    }
}

/* Partial sums: [block of k][batch][m][n], where c's own strides do not matter. */
static void run_split_pieces(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    cpu_contract dense = *k;
    mica_cpu_space_init(&dense.c_m);
    mica_cpu_space_add(&dense.c_m, k->c_m.n, k->c_n.n);
    mica_cpu_space_init(&dense.c_n);
    mica_cpu_space_add(&dense.c_n, k->c_n.n, 1);
    int64_t size = k->c_m.n * k->c_n.n;
    for (int64_t i = begin; i < end; i++) {
        int64_t m = i % run->pieces_m, batch = i / run->pieces_m % k->c_batch.n;
        int64_t block = i / run->pieces_m / k->c_batch.n;
        contract_block at = {.batch = batch, .k = block, .n_k = 1, .first = true};
        at.m = m * k->block_m, at.n_m = cpu_min(k->block_m, k->c_m.n - at.m);
        at.n_n = k->c_n.n;
        at.c = run->scratch + (block * k->c_batch.n + batch) * size * k->gemm.bytes;
        run_block(&dense, batch_of_x(run, batch), batch_of_y(run, batch), &at);
    }
}

/* Adds the partial sums of rows of c in the order of k. */
static void add_split(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t m = k->c_m.n, n = k->c_n.n, bytes = k->gemm.bytes, columns[64], width = 32;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / m, row = mica_cpu_space_position(&k->c_m, i % m);
        char *c = batch_of_c(run, batch);
        for (int64_t j = 0; j < n; j += width) {
            int64_t count = cpu_min(width, n - j);
            mica_cpu_space_positions(&k->c_n, j, count, columns);
            for (int64_t block = 0; block < k->blocks_k; block++) {
                int64_t from = ((block * k->c_batch.n + batch) * m + i % m) * n + j;
                scatter_tile(k, run->scratch + from * bytes, c, &row, 1, columns, count,
                             block == 0);
            }
        }
    }
}

static void run_split(contract_run *run) {
    const cpu_contract *k = run->contract;
    run->pieces_m = cpu_ceil_div(k->c_m.n, k->block_m);
    mica_parallel_for(run->pieces_m * k->c_batch.n * k->blocks_k, 1, run_split_pieces, run);
    mica_parallel_for(k->c_m.n * k->c_batch.n, 16, add_split, run);
}

/* ---- the whole
 * ---------------------------------------------------------------------------------*/

typedef struct narrow_run {
    const cpu_contract *contract;
    const char *wide;
    char *c;
} narrow_run;

static void narrow_range(void *context, int64_t begin, int64_t end) {
    const narrow_run *run = context;
    const void *x = run->wide + begin * run->contract->gemm.bytes;
    run->contract->narrow(&x, run->c + begin * run->contract->c_bytes, end - begin);
}

void mica_cpu_contract_run(const cpu_contract *k, const void *x, const void *y, void *c,
                           void *scratch) {
    int64_t n = k->c_batch.n * k->c_m.n * k->c_n.n;
    if (k->mode == CONTRACT_ZERO) {
        memset(c, 0, (size_t)(n * k->c_bytes));
        return;
    }
    char *wide = k->narrow ? (char *)scratch + k->wide_offset : c;
    contract_run run = {.contract = k,
                        .x = k->exchanged ? y : x,
                        .y = k->exchanged ? x : y,
                        .c = wide,
                        .scratch = scratch};
    if (k->mode == CONTRACT_LOCAL) run_local(&run);
    if (k->mode == CONTRACT_SHARED) run_shared(&run);
    if (k->mode == CONTRACT_SPLIT) run_split(&run);
    if (k->narrow) {
        narrow_run last = {k, wide, c};
        mica_parallel_for(n, 65536, narrow_range, &last);
    }
}
