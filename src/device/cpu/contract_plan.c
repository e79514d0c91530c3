/* How a contraction is cut: tile, orientation, what is packed, and where its pieces end. */
#include "device/cpu/contract.h"

#define SHARED_BYTES ((int64_t)24 << 20) /* of y, packed at a time */
#define FEW_CELLS ((int64_t)256 << 10)   /* of c: then a long k is worth being split */
#define HEAVY 1e6                        /* products that are worth several threads */
#define LONG_BLOCKS 32                   /* of CPU_TILE_K */
#define MOST_GROUPS 16                   /* of k */
#define BLOCK_BYTES ((int64_t)192 << 10) /* of packed x in a piece, of one block of k */
#define DEEP_BYTES ((int64_t)384 << 10)  /* and of several, see CONTRACT_X_BYTES */
#define FAR_BYTES ((int64_t)2 << 20)     /* of c: then each block of k would find it far away */
#define STORE_COST 100.0                 /* of a cell of c that has no neighbour, in products */
#define LIES_COLUMNS 256                 /* packing x pays when more columns use it */
#define LIES_ROWS 64                     /* packing y pays when more rows use it */

void mica_cpu_contract_exchange(cpu_contract *k) {
    cpu_space space;
#define EXCHANGE(a, b) (space = k->a, k->a = k->b, k->b = space)
    EXCHANGE(x_batch, y_batch);
    EXCHANGE(x_m, y_n);
    EXCHANGE(x_k, y_k);
    EXCHANGE(c_m, c_n);
#undef EXCHANGE
    k->exchanged = !k->exchanged;
}

bool mica_cpu_contract_is_line(const cpu_space *space) {
    return space->rank > 0 && space->strides[space->rank - 1] == 1;
}

static int64_t round_up(int64_t n, int64_t to) {
    return cpu_ceil_div(n, to) * to;
}

/* ---- tiles ------------------------------------------------------------------------------------*/

/* A tile's work per column, in rows: a low one waits for its own results. */
static int64_t height_work(const mica_cpu_gemm *gemm, int32_t height) {
    return cpu_max(gemm->heights[height], cpu_ceil_div(gemm->rows, 3));
}

/* The highest tile that is full; rows that are packed may also leave a part of it empty. */
static int32_t full_height(const mica_cpu_gemm *gemm, int64_t rows, bool in_place) {
    int32_t i = 0;
    while (gemm->heights[i] > rows) i++;
    bool waits = gemm->heights[i] < rows && i > 0 && height_work(gemm, i) > gemm->heights[i];
    return !in_place && waits ? i - 1 : i;
}

/* The work of `rows` rows, from the highest tile on. */
static int64_t rows_work(const mica_cpu_gemm *gemm, int64_t rows, bool in_place) {
    int64_t work = rows / gemm->rows * gemm->rows;
    for (int64_t left = rows % gemm->rows; left > 0;) {
        int32_t height = full_height(gemm, left, in_place);
        work += height_work(gemm, height);
        left -= gemm->heights[height];
    }
    return work;
}

int32_t mica_cpu_contract_height(const mica_cpu_gemm *gemm, int64_t rows, bool in_place) {
    if (!gemm->tile_at[0] || rows >= 3 * gemm->rows) return 0;
    int32_t best = full_height(gemm, rows, in_place);
    int64_t least = INT64_MAX;
    for (int32_t i = best; i < CPU_TILE_HEIGHTS; i++) {
        int64_t work = height_work(gemm, i) + rows_work(gemm, rows - gemm->heights[i], in_place);
        if (gemm->heights[i] > rows) work = height_work(gemm, i);
        if (work >= least) continue;
        least = work;
        best = i;
    }
    return best;
}

/* The work of `rows` rows in the tiles that mica_cpu_contract_height gives. */
static double height_cost(const mica_cpu_gemm *gemm, int64_t rows, bool in_place) {
    int64_t whole = rows / gemm->rows > 3 ? (rows / gemm->rows - 3) * gemm->rows : 0, cost = whole;
    if (!gemm->tile_at[0]) return (double)round_up(rows, gemm->rows);
    for (int64_t i = whole; i < rows;) {
        int32_t height = mica_cpu_contract_height(gemm, rows - i, in_place);
        cost += height_work(gemm, height);
        i += gemm->heights[height];
    }
    return (double)cost;
}

/* Work of one orientation on a tile, in multiply-adds; cells that are not neighbours in c cost more
 * to store. */
static double tile_cost(const mica_cpu_gemm *gemm, int64_t n_k, int64_t m, int64_t n,
                        bool stores_lines) {
    double cells = height_cost(gemm, m, false) * (double)round_up(n, gemm->columns);
    double stores = (double)cpu_ceil_div(n_k, CPU_TILE_K) * (double)m * (double)n;
    double each = !stores_lines ? STORE_COST : n % gemm->columns ? 8.0 : 0;
    return cells * (double)n_k + each * stores;
}

/* Chooses the tile, and whether x and y change places. The first is best when costs are close. */
static void choose_tile(cpu_contract *k, const mica_cpu_gemm *const *tiles, int32_t n_tiles) {
    int64_t m = k->c_m.n, n = k->c_n.n;
    bool by_n = n == 1 || mica_cpu_contract_is_line(&k->c_n),
         by_m = m == 1 || mica_cpu_contract_is_line(&k->c_m);
    double best = 0;
    bool exchanges = false;
    for (int32_t i = 0; i < 2 * n_tiles; i++) {
        const mica_cpu_gemm *tile = tiles[i / 2];
        double cost =
            i % 2 ? tile_cost(tile, k->x_k.n, n, m, by_m) : tile_cost(tile, k->x_k.n, m, n, by_n);
        if (i > 0 && cost >= 0.97 * best) continue;
        best = cost;
        k->gemm = *tile;
        exchanges = i % 2;
    }
    if (exchanges) mica_cpu_contract_exchange(k);
}

/* ---- what is packed ---------------------------------------------------------------------------*/

/* Rows that are neighbours along the innermost axis of m can be read as they lie when the tiles
 * fit between their ends and their lines do not fall on each other in a cache. */
static bool x_fits_in_place(const cpu_contract *k) {
    if (k->c_n.n > LIES_COLUMNS || k->x_m.rank == 0) return false;
    int32_t m = k->x_m.rank - 1, inner = k->x_k.rank - 1;
    int64_t run = k->x_m.sizes[m], stride = k->x_m.strides[m];
    if (height_cost(&k->gemm, run, true) > 1.1 * (double)run) return false;
    bool falls = inner >= 0 && k->x_k.strides[inner] * k->gemm.bytes % 2048 == 0;
    if (stride == 1) return !falls;
    bool k_is_line = inner >= 0 && k->x_k.strides[inner] == 1 && k->x_k.sizes[inner] >= 8;
    return k_is_line && stride * k->gemm.bytes % 2048 != 0;
}

static bool y_fits_in_place(const cpu_contract *k) {
    return k->c_m.n <= LIES_ROWS && k->y_n.rank == 1 && k->y_n.strides[0] == 1 &&
           k->c_n.n >= k->gemm.columns;
}

/* ---- pieces -----------------------------------------------------------------------------------*/

static int64_t shared_limit = SHARED_BYTES;

void mica_cpu_contract_share(int64_t bytes) {
    shared_limit = bytes > 0 ? bytes : SHARED_BYTES;
}

/* Pieces: as many rows as packed x may have, all columns; when there are few, as many for each
 * thread, or, of few rows, pieces of columns. */
static void choose_pieces(cpu_contract *k) {
    int64_t rows = k->gemm.rows, panel = CPU_TILE_K * k->gemm.bytes, threads = mica_pool_threads();
    int64_t m = k->c_m.n, n = k->c_n.n, batch = k->c_batch.n;
    int64_t most = k->x_in_place ? CONTRACT_ROWS : BLOCK_BYTES / panel;
    if (k->x_in_place) rows = cpu_min(k->x_m.sizes[k->x_m.rank - 1], CONTRACT_ROWS);
    if (k->depth > 1) most = cpu_min(most, DEEP_BYTES / (panel * k->depth));
    most = cpu_min(most, CONTRACT_ROWS) / rows * rows;
    int64_t pieces = cpu_ceil_div(m, most), columns = cpu_ceil_div(n, k->gemm.columns);
    bool is_heavy = (double)batch * (double)m * (double)n * (double)k->x_k.n > HEAVY;
    int64_t pieces_n = 1;
    bool is_few = pieces * batch < 4 * threads || (batch == 1 && pieces < 16 * threads);
    if (is_heavy && is_few && pieces == 1 && columns >= 2 * threads)
        pieces_n = cpu_min(cpu_ceil_div(2 * threads, batch), columns);
    else if (is_heavy && is_few)
        pieces = cpu_max(pieces, cpu_min(round_up(pieces, threads), cpu_ceil_div(m, 2 * rows)));
    k->pieces_m = pieces, k->unit_m = rows;
    k->pieces_n = pieces_n, k->unit_n = k->gemm.columns;
}

static void plan_shared(cpu_contract *k) {
    int64_t columns = round_up(k->c_n.n, k->gemm.columns), panel = CPU_TILE_K * k->gemm.bytes;
    k->mode = CONTRACT_SHARED;
    k->shared_k = cpu_min(k->blocks_k, cpu_max(1, shared_limit / (panel * k->gemm.columns)));
    k->shared_n =
        cpu_min(columns, shared_limit / (panel * k->shared_k) / k->gemm.columns * k->gemm.columns);
    int64_t packed = panel * k->shared_k * k->shared_n;
    k->shared_batch = cpu_min(k->c_batch.n, cpu_max(1, shared_limit / packed));
    k->scratch_bytes = (size_t)(k->shared_batch * packed);
}

static void choose_mode(cpu_contract *k) {
    int64_t bytes = k->gemm.bytes, m = k->c_m.n, n = k->c_n.n, cells = k->c_batch.n * m * n;
    if (cells == 0 || k->x_k.n == 0) {
        k->mode = CONTRACT_ZERO;
        return;
    }
    k->blocks_k = cpu_ceil_div(k->x_k.n, CPU_TILE_K);
    k->group_blocks = k->blocks_k;
    if (k->blocks_k >= LONG_BLOCKS && cells <= FEW_CELLS)
        k->group_blocks = cpu_ceil_div(k->blocks_k, MOST_GROUPS);
    k->groups = cpu_ceil_div(k->blocks_k, k->group_blocks);
    k->depth = 1;
    bool is_far = m * n * bytes >= FAR_BYTES || shared_limit != SHARED_BYTES;
    if (!k->x_in_place && !k->y_in_place && k->groups == 1 && is_far)
        k->depth = cpu_ceil_div(k->blocks_k, cpu_ceil_div(k->blocks_k, CONTRACT_DEPTH));
    choose_pieces(k);
    k->mode = CONTRACT_LOCAL;
    if (k->groups > 1) {
        k->mode = CONTRACT_SPLIT;
        k->scratch_bytes = (size_t)(cells * bytes * k->groups);
    } else if (k->pieces_m > 1 && k->pieces_n == 1 && !k->y_in_place) {
        plan_shared(k);
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
    k->gemm = *tiles[0];
    k->x_bytes = k->c_bytes = (int32_t)mica_dtype_bytes(dtype);
    if (k->gemm.lanes && k->c_bytes == k->gemm.bytes && !k->complex_pack &&
        mica_cpu_contract_plan_lanes(k))
        return true;
    choose_tile(k, tiles, is_float ? 2 : 1);
    k->narrow = k->c_bytes == k->gemm.bytes
                    ? NULL
                    : isa->elementwise->convert[is_float ? MICA_DTYPE_f32 : MICA_DTYPE_u32][dtype];
    bool may_be_in_place = k->gemm.tile_at[0] && !k->narrow && !k->complex_pack;
    k->x_in_place = may_be_in_place && x_fits_in_place(k);
    k->y_in_place = may_be_in_place && y_fits_in_place(k);
    choose_mode(k);
    k->wide_offset = cpu_align(k->scratch_bytes);
    if (k->narrow && k->mode != CONTRACT_ZERO)
        k->scratch_bytes =
            k->wide_offset + (size_t)(k->c_batch.n * k->c_m.n * k->c_n.n * k->gemm.bytes);
    return true;
}
