/* Running a contraction; see contract.h. contract_plan.c says how it is cut. */
#include "device/cpu/contract.h"

#include <string.h>

typedef struct contract_run {
    const cpu_contract *contract;
    const char *x, *y;
    char *c;                                 /* of the compute type */
    char *scratch;                           /* packed y, or partial sums */
    int64_t batch, first_n, n, first_k, n_k; /* shared: the part of y that is packed now */
    const cpu_finish *finish;                /* or NULL */
} contract_run;

/* ---- one piece --------------------------------------------------------------------------------*/

/* Where a piece works: rows, columns and blocks of k within one batch. */
typedef struct contract_block {
    int64_t m, n_m, n, n_n, k, n_k;
    const char *packed;       /* y, packed; NULL: the piece packs it */
    int64_t packed_panels;    /* panels per block of k in `packed` */
    char *c;                  /* the batch's */
    bool first;               /* the first block is stored, not added */
    const cpu_finish *finish; /* told of the piece's lines at its end; NULL: none */
} contract_block;

/* The rows of a piece, cut into tiles. */
typedef struct contract_rows {
    int64_t x[CONTRACT_ROWS], c[CONTRACT_ROWS]; /* where they begin */
    int32_t n_tiles;
    struct {
        int32_t first, n, height; /* height: an index of gemm.heights */
    } tiles[CONTRACT_ROWS];
} contract_rows;

/* How the tiles of one block of k are reached. */
typedef struct contract_step {
    int64_t n_k;
    bool first;
    const char *x;          /* in place, or panels */
    const int64_t *x_steps; /* of x in place */
    const char *y;          /* in place, or a panel */
    const int64_t *y_steps;
    bool y_is_panel;
    const char *next; /* the panel of y that follows, or NULL */
} contract_step;

static void cut_rows(const cpu_contract *k, const contract_block *at, contract_rows *rows) {
    mica_cpu_space_positions(&k->x_m, at->m, at->n_m, rows->x);
    mica_cpu_space_positions(&k->c_m, at->m, at->n_m, rows->c);
    int64_t run = k->x_in_place ? k->x_m.sizes[k->x_m.rank - 1] : 0;
    rows->n_tiles = 0;
    for (int64_t i = 0, n; i < at->n_m; i += n) {
        int64_t left = at->n_m - i;
        if (k->x_in_place) left = cpu_min(left, run - (at->m + i) % run);
        int32_t height = mica_cpu_contract_height(&k->gemm, left, k->x_in_place);
        n = cpu_min(left, k->gemm.heights[height]);
        rows->tiles[rows->n_tiles].first = (int32_t)i;
        rows->tiles[rows->n_tiles].n = (int32_t)n;
        rows->tiles[rows->n_tiles++].height = height;
    }
}

#define PACK_PANELS 8 /* of y that are packed together */
#define PACK_STEPS 32 /* of k that neighbouring panels are packed for, so that they share lines */

/* gcc drops calls of what only fetches, as they have no effect; this is one that costs nothing. */
#define NON_EMPTY __asm__ volatile("")

/* Prefetches the rows of a tile, which are lines along k. */
static void fetch_rows(const cpu_contract *k, const char *x, const int64_t *rows, int64_t n,
                       const int64_t *steps, int64_t n_k) {
    NON_EMPTY;
    int64_t bytes = n_k * k->x_bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t line = 0; line < bytes; line += 64)
            __builtin_prefetch(x + (rows[i] + steps[0]) * k->x_bytes + line);
}

/* Panels one after the other, each as wide as its tile is high. */
static void pack_x(const cpu_contract *k, const char *x, const contract_rows *rows,
                   const int64_t *steps, int64_t n_k, char *panels) {
    mica_cpu_pack pack = k->complex_pack && k->exchanged ? k->complex_pack : k->gemm.pack;
    int64_t chunk = mica_cpu_contract_is_line(&k->x_m) ? PACK_STEPS : n_k;
    bool is_line = chunk == n_k && steps[n_k - 1] == steps[0] + n_k - 1;
    for (int64_t from = 0; from < n_k; from += chunk)
        for (int32_t i = 0; i < rows->n_tiles; i++) {
            int64_t first = rows->tiles[i].first, width = k->gemm.heights[rows->tiles[i].height];
            if (is_line && i + 1 < rows->n_tiles)
                fetch_rows(k, x, rows->x + rows->tiles[i + 1].first, rows->tiles[i + 1].n, steps,
                           n_k);
            pack(x, rows->x + first, rows->tiles[i].n, steps + from, cpu_min(chunk, n_k - from),
                 width, panels + (first * n_k + from * width) * k->gemm.bytes);
        }
}

/* n panels of y for columns from first_n on, `stride` bytes from one to the next. */
static void pack_y(const cpu_contract *k, const char *y, int64_t first_n, int64_t n, int64_t n_k,
                   const int64_t *steps, char *panels, int64_t stride) {
    int64_t offsets[PACK_PANELS * CONTRACT_TILE], width = k->gemm.columns;
    int64_t columns = cpu_min(n * width, k->y_n.n - first_n);
    mica_cpu_space_positions(&k->y_n, first_n, columns, offsets);
    mica_cpu_pack pack = k->complex_pack && !k->exchanged ? k->complex_pack : k->gemm.pack;
    int64_t chunk = n > 1 && mica_cpu_contract_is_line(&k->y_n) ? PACK_STEPS : n_k;
    for (int64_t from = 0; from < n_k; from += chunk)
        for (int64_t i = 0; i < n; i++)
            pack(y, offsets + i * width, cpu_min(width, columns - i * width), steps + from,
                 cpu_min(chunk, n_k - from), width,
                 panels + i * stride + from * width * k->gemm.bytes);
}

/* true when `n` indices from `first` on are neighbours in memory. */
static bool is_one_line(const cpu_space *space, int64_t first, int64_t n) {
    int32_t last = space->rank - 1;
    return last >= 0 && space->strides[last] == 1 &&
           first % space->sizes[last] + n <= space->sizes[last];
}

static void multiply_tile(const cpu_contract *k, const contract_step *step, int32_t height,
                          const char *x, int64_t x_stride, char *c, const int64_t *rows, bool first,
                          int64_t tile, int64_t n_tiles) {
    const mica_cpu_gemm *gemm = &k->gemm;
    if (height == 0 && !k->x_in_place && step->y_is_panel) {
        int64_t ahead = step->n_k * gemm->columns * gemm->bytes / n_tiles;
        const char *next = step->next ? step->next + tile * ahead : step->y;
        gemm->tile(x, step->y, step->n_k, c, rows, first, next, step->next ? ahead / step->n_k : 0);
        return;
    }
    int64_t steps[CPU_TILE_K];
    const int64_t *x_steps = step->x_steps;
    if (!k->x_in_place) {
        for (int64_t i = 0; i < step->n_k; i++) steps[i] = i * gemm->heights[height];
        x_steps = steps;
    }
    gemm->tile_at[height](x, x_stride, x_steps, step->y, step->y_steps, step->n_k, c, rows, first);
}

/* All rows of the piece by the columns of one panel. */
static void multiply(const cpu_contract *k, const contract_step *step, const contract_block *at,
                     const contract_rows *rows, int64_t column) {
    const mica_cpu_gemm *gemm = &k->gemm;
    int64_t width = gemm->columns, columns[CONTRACT_TILE], inside[CONTRACT_TILE];
    int64_t n_columns = cpu_min(width, at->n + at->n_n - column);
    _Alignas(64) char tile[CONTRACT_TILE * CONTRACT_TILE * 8 / 4];
    mica_cpu_space_positions(&k->c_n, column, n_columns, columns);
    bool is_line = n_columns == width && is_one_line(&k->c_n, column, width);
    for (int64_t i = 0; i < gemm->rows; i++) inside[i] = i * width;
    int64_t x_stride = 1;
    if (k->x_in_place) x_stride = k->x_m.strides[k->x_m.rank - 1];
    for (int32_t i = 0; i < rows->n_tiles; i++) {
        int64_t row = rows->tiles[i].first, n_rows = rows->tiles[i].n;
        int32_t height = rows->tiles[i].height;
        int64_t x_at = k->x_in_place ? rows->x[row] : row * step->n_k;
        const char *x = step->x + x_at * gemm->bytes;
        bool is_whole = is_line && n_rows == gemm->heights[height];
        if (is_whole) {
            multiply_tile(k, step, height, x, x_stride, at->c + columns[0] * gemm->bytes,
                          rows->c + row, step->first, i, rows->n_tiles);
        } else {
            multiply_tile(k, step, height, x, x_stride, tile, inside, true, i, rows->n_tiles);
            gemm->scatter(tile, width, at->c, rows->c + row, n_rows, columns, n_columns,
                          step->first);
        }
    }
}

/* The panel of y that begins at column j of the piece. */
static void take_y(const cpu_contract *k, const char *y, const contract_block *at, int64_t block,
                   int64_t j, char *local, const int64_t *lying, const int64_t *in_panel,
                   contract_step *step) {
    int64_t width = k->gemm.columns, panel = CPU_TILE_K * width * k->gemm.bytes;
    step->y_steps = in_panel;
    step->y_is_panel = true;
    step->next = NULL;
    if (at->packed) {
        step->y = at->packed + ((block - at->k) * at->packed_panels + j / width) * panel;
        step->next = step->y + panel; /* the last one's next is never read, only hoped for */
    } else if (k->y_in_place && j + width <= at->n_n) {
        step->y = y + (at->n + j) * k->gemm.bytes;
        step->y_steps = lying;
        step->y_is_panel = false;
    } else {
        pack_y(k, y, at->n + j, 1, step->n_k, lying, local, 0);
        step->y = local;
    }
}

/* ---- what is done -----------------------------------------------------------------------------*/

#define FINISH_COLUMNS 256

/* Lines of positions across[i] + along, for all i. */
static void finish_lines(const cpu_finish *finish, int64_t begin, const int64_t *across,
                         int64_t n_across, const int64_t *along, int64_t n_along) {
    for (int64_t j = 0, n; j < n_along; j += n) {
        for (n = 1; j + n < n_along && along[j + n] == along[j] + n;) n++;
        for (int64_t i = 0, lines; i < n_across; i += lines) {
            for (lines = 1; i + lines < n_across && across[i + lines] == across[i] + lines * n;)
                lines++; /* lines that follow each other are one */
            finish->line(finish->context, begin + across[i] + along[j], lines * n);
        }
    }
}

static void finish_block(const cpu_contract *k, const contract_block *at,
                         const contract_rows *rows) {
    const cpu_finish *finish = at->finish;
    int64_t begin = (at->c - (const char *)finish->result) / k->gemm.bytes;
    int64_t columns[FINISH_COLUMNS];
    for (int64_t j = 0; j < at->n_n; j += FINISH_COLUMNS) {
        int64_t n = cpu_min(FINISH_COLUMNS, at->n_n - j);
        mica_cpu_space_positions(&k->c_n, at->n + j, n, columns);
        if (mica_cpu_contract_is_line(&k->c_n) || !mica_cpu_contract_is_line(&k->c_m))
            finish_lines(finish, begin, rows->c, at->n_m, columns, n);
        else
            finish_lines(finish, begin, columns, n, rows->c, at->n_m);
    }
}

/* Prefetches the first columns of y in place, at the block of k that comes next. */
static void fetch_next_y(const cpu_contract *k, const char *y, const contract_block *at,
                         int64_t block) {
    int64_t first_k = (block + 1) * CPU_TILE_K, steps[CPU_TILE_K];
    int64_t n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
    mica_cpu_space_positions(&k->y_k, first_k, n_k, steps);
    for (int64_t i = 0; i < n_k; i++)
        for (int64_t line = 0; line < k->gemm.columns * k->gemm.bytes; line += 64)
            __builtin_prefetch(y + (at->n + steps[i]) * k->gemm.bytes + line, 0, 2);
}

/* Panels on the stack of a piece. */
typedef struct contract_room {
    _Alignas(64) char x[CONTRACT_X_BYTES];
    _Alignas(64) char y[CONTRACT_Y_BYTES]; /* one panel of y at a time, or sums */
} contract_room;

static void run_flat(const cpu_contract *k, const char *x, const char *y, const contract_block *at,
                     const contract_rows *rows, contract_room *room) {
    int64_t width = k->gemm.columns, x_steps[CPU_TILE_K], y_steps[CPU_TILE_K];
    int64_t in_panel[CPU_TILE_K];
    for (int64_t i = 0; i < CPU_TILE_K; i++) in_panel[i] = i * width;
    for (int64_t block = at->k; block < at->k + at->n_k; block++) {
        int64_t first_k = block * CPU_TILE_K, n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
        contract_step step = {.n_k = n_k, .first = at->first && block == at->k};
        mica_cpu_space_positions(&k->x_k, first_k, n_k, x_steps);
        step.x = x, step.x_steps = x_steps;
        if (!k->x_in_place) {
            pack_x(k, x, rows, x_steps, n_k, room->x);
            step.x = room->x;
        }
        if (!at->packed) mica_cpu_space_positions(&k->y_k, first_k, n_k, y_steps);
        for (int64_t j = 0; j < at->n_n; j += width) {
            take_y(k, y, at, block, j, room->y, y_steps, in_panel, &step);
            if (k->y_in_place && j + width >= at->n_n && block + 1 < at->k + at->n_k)
                fetch_next_y(k, y, at, block);
            multiply(k, &step, at, rows, at->n + j);
        }
    }
}

/* ---- several blocks of k at a time ------------------------------------------------------------*/

/* The sums of a panel's columns lie side by side in a room of their own until all the blocks are
 * added, in the order of k as ever: rows of c that are a power of two apart fall on each other in
 * the caches, and c, once larger than these, would travel through memory for each block. */

/* Prefetches lines of c that will be written. */
static inline void fetch_cells(const char *c, const int64_t *rows, int64_t n, int64_t line,
                               int64_t bytes) {
    NON_EMPTY;
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = 0; at < line; at += 64) __builtin_prefetch(c + rows[i] * bytes + at, 1);
}

/* Not inlined into what lacks the instruction that fetches for writing. */
#if defined(__x86_64__)
#define FETCHES_TO_WRITE __attribute__((noinline, target("prfchw")))
#else
#define FETCHES_TO_WRITE
#endif

/* Packs x for all steps, tile by tile, so that lines along k are read in one go. */
static void pack_deep(const cpu_contract *k, const char *x, const contract_rows *rows,
                      int64_t first_k, int64_t depth, const contract_step *steps,
                      char *const *panels) {
    int64_t n_k = 0, x_steps[CONTRACT_DEPTH * CPU_TILE_K];
    for (int64_t d = 0; d < depth; d++) n_k += steps[d].n_k;
    mica_cpu_space_positions(&k->x_k, first_k, n_k, x_steps);
    mica_cpu_pack pack = k->complex_pack && k->exchanged ? k->complex_pack : k->gemm.pack;
    bool by_steps = mica_cpu_contract_is_line(&k->x_m);
    for (int64_t d = 0; by_steps && d < depth; d++)
        pack_x(k, x, rows, x_steps + d * CPU_TILE_K, steps[d].n_k, panels[d]);
    for (int32_t i = 0; !by_steps && i < rows->n_tiles; i++) {
        int64_t first = rows->tiles[i].first, width = k->gemm.heights[rows->tiles[i].height];
        for (int64_t d = 0; d < depth; d++)
            pack(x, rows->x + first, rows->tiles[i].n, x_steps + d * CPU_TILE_K, steps[d].n_k,
                 width, panels[d] + first * steps[d].n_k * k->gemm.bytes);
    }
}

/* All n_m rows of the piece by the columns of one panel, which are a line in c. */
FETCHES_TO_WRITE static void multiply_deep(const cpu_contract *k, const contract_step *steps,
                                           int64_t depth, const contract_rows *rows, int64_t n_m,
                                           char *c, char *sums) {
    int64_t inside[CONTRACT_TILE], bytes = k->gemm.bytes, line = k->gemm.columns * bytes;
    bool adds = !steps[0].first;
    for (int64_t i = 0; i < k->gemm.rows; i++) inside[i] = i * k->gemm.columns;
    for (int64_t i = 0; adds && i < n_m; i++)
        memcpy(sums + i * line, c + rows->c[i] * bytes, (size_t)line);
    for (int64_t d = 0; d < depth; d++)
        for (int32_t i = 0; i < rows->n_tiles; i++) {
            int64_t row = rows->tiles[i].first, n = rows->tiles[i].n;
            int64_t from = n * d / depth, to = n * (d + 1) / depth;
            /* What is added to is here: then it is the next panel's that are wanted. */
            fetch_cells(c + (adds ? line : 0), rows->c + row + from, to - from, line, bytes);
            multiply_tile(k, &steps[d], rows->tiles[i].height,
                          steps[d].x + row * steps[d].n_k * bytes, 1, sums + row * line, inside,
                          steps[d].first, i, rows->n_tiles);
        }
    for (int64_t i = 0; i < n_m; i++) memcpy(c + rows->c[i] * bytes, sums + i * line, (size_t)line);
}

/* `depth` blocks at a time; their tiles have `height` rows, empty ones included. */
static void run_deep(const cpu_contract *k, const char *x, const contract_block *at,
                     const contract_rows *rows, int64_t height, int64_t most_depth,
                     contract_room *room) {
    int64_t width = k->gemm.columns, bytes = k->gemm.bytes, in_panel[CPU_TILE_K];
    for (int64_t i = 0; i < CPU_TILE_K; i++) in_panel[i] = i * width;
    for (int64_t block = at->k, depth; block < at->k + at->n_k; block += depth) {
        contract_step steps[CONTRACT_DEPTH];
        char *panels[CONTRACT_DEPTH];
        depth = cpu_min(most_depth, at->k + at->n_k - block);
        for (int64_t d = 0; d < depth; d++) {
            int64_t n_k = cpu_min(CPU_TILE_K, k->x_k.n - (block + d) * CPU_TILE_K);
            panels[d] = room->x + d * height * CPU_TILE_K * bytes;
            steps[d] = (contract_step){
                .n_k = n_k, .first = at->first && block + d == at->k, .x = panels[d]};
        }
        pack_deep(k, x, rows, block * CPU_TILE_K, depth, steps, panels);
        for (int64_t j = 0; j < at->n_n; j += width) {
            int64_t column = at->n + j;
            for (int64_t d = 0; d < depth; d++)
                take_y(k, NULL, at, block + d, j, NULL, NULL, in_panel, &steps[d]);
            char *c = at->c + mica_cpu_space_position(&k->c_n, column) * bytes;
            if (j + width <= at->n_n && is_one_line(&k->c_n, column, width))
                multiply_deep(k, steps, depth, rows, at->n_m, c, room->y);
            else
                for (int64_t d = 0; d < depth; d++) multiply(k, &steps[d], at, rows, column);
        }
    }
}

static void run_block(const cpu_contract *k, const char *x, const char *y,
                      const contract_block *at) {
    contract_room room;
    contract_rows rows;
    cut_rows(k, at, &rows);
    int32_t last = rows.n_tiles - 1;
    int64_t height = rows.tiles[last].first + k->gemm.heights[rows.tiles[last].height];
    int64_t depth = cpu_min(k->depth, CONTRACT_X_BYTES / (height * CPU_TILE_K * k->gemm.bytes));
    bool has_room = height * k->gemm.columns * k->gemm.bytes <= CONTRACT_Y_BYTES;
    if (at->packed && at->n_k > 1 && depth > 1 && has_room)
        run_deep(k, x, at, &rows, height, depth, &room);
    else
        run_flat(k, x, y, at, &rows, &room);
    if (at->finish) finish_block(k, at, &rows);
}

/* ---- modes ------------------------------------------------------------------------------------*/

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

/* Piece i of `pieces`, whole units of n indices. */
static int64_t cut_piece(int64_t n, int64_t unit, int64_t pieces, int64_t i, int64_t *out_n) {
    int64_t units = cpu_ceil_div(n, unit), first = i * units / pieces * unit;
    *out_n = cpu_min(n, (i + 1) * units / pieces * unit) - first;
    return first;
}
static void cut_block(const cpu_contract *k, int64_t piece, contract_block *at) {
    at->m = cut_piece(k->c_m.n, k->unit_m, k->pieces_m, piece, &at->n_m);
}

static void run_local_pieces(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i % k->pieces_n, m = i / k->pieces_n % k->pieces_m;
        int64_t batch = i / k->pieces_n / k->pieces_m;
        contract_block at = {.n_k = k->blocks_k, .first = true, .finish = run->finish};
        cut_block(k, m, &at);
        at.n = cut_piece(k->c_n.n, k->unit_n, k->pieces_n, n, &at.n_n);
        at.c = batch_of_c(run, batch);
        run_block(k, batch_of_x(run, batch), batch_of_y(run, batch), &at);
    }
}

static void run_local(contract_run *run) {
    const cpu_contract *k = run->contract;
    int64_t pieces = k->pieces_m * k->pieces_n;
    double work = (double)k->c_m.n * (double)k->c_n.n * (double)k->x_k.n / (double)pieces;
    int64_t grain = work > 65536 ? 1 : (int64_t)(65536 / cpu_max(1, (int64_t)work));
    mica_parallel_walk(pieces * k->c_batch.n, grain, run_local_pieces, run);
}

/* Packs panels of y: [batch][block of k][panel], PACK_PANELS at a time. */
static void pack_shared(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t width = k->gemm.columns, panels = cpu_ceil_div(run->n, width), steps[CPU_TILE_K];
    int64_t parts = cpu_ceil_div(panels, PACK_PANELS), stride = CPU_TILE_K * width * k->gemm.bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i % parts * PACK_PANELS, block = i / parts % run->n_k;
        int64_t batch = i / parts / run->n_k;
        int64_t first_k = (run->first_k + block) * CPU_TILE_K;
        int64_t n_k = cpu_min(CPU_TILE_K, k->x_k.n - first_k);
        mica_cpu_space_positions(&k->y_k, first_k, n_k, steps);
        pack_y(k, batch_of_y(run, run->batch + batch), run->first_n + panel * width,
               cpu_min(PACK_PANELS, panels - panel), n_k, steps,
               run->scratch + ((batch * run->n_k + block) * panels + panel) * stride, stride);
    }
}

static void run_shared_pieces(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t width = k->gemm.columns, panels = cpu_ceil_div(run->n, width);
    int64_t panel = CPU_TILE_K * width * k->gemm.bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / k->pieces_m;
        contract_block at = {.k = run->first_k, .n_k = run->n_k};
        cut_block(k, i % k->pieces_m, &at);
        at.n = run->first_n, at.n_n = run->n;
        at.c = batch_of_c(run, run->batch + batch);
        at.first = run->first_k == 0;
        if (run->first_k + run->n_k == k->blocks_k) at.finish = run->finish;
        at.packed = run->scratch + batch * run->n_k * panels * panel;
        at.packed_panels = panels;
        run_block(k, batch_of_x(run, run->batch + batch), NULL, &at);
    }
}

static void run_shared(contract_run *run) {
    const cpu_contract *k = run->contract;
    for (run->batch = 0; run->batch < k->c_batch.n; run->batch += k->shared_batch) {
        int64_t batches = cpu_min(k->shared_batch, k->c_batch.n - run->batch);
        for (run->first_n = 0; run->first_n < k->c_n.n; run->first_n += k->shared_n) {
            run->n = cpu_min(k->shared_n, k->c_n.n - run->first_n);
            for (run->first_k = 0; run->first_k < k->blocks_k; run->first_k += k->shared_k) {
                run->n_k = cpu_min(k->shared_k, k->blocks_k - run->first_k);
                int64_t panels = cpu_ceil_div(run->n, k->gemm.columns);
                mica_parallel_walk(cpu_ceil_div(panels, PACK_PANELS) * run->n_k * batches, 1,
                                   pack_shared, run);
                mica_parallel_walk(k->pieces_m * batches, 1, run_shared_pieces, run);
            }
        }
    }
}

/* Partial sums: [group of k][batch][m][n], where c's own strides do not matter. */
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
        int64_t m = i % k->pieces_m, batch = i / k->pieces_m % k->c_batch.n;
        int64_t group = i / k->pieces_m / k->c_batch.n;
        contract_block at = {.k = group * k->group_blocks, .first = true};
        at.n_k = cpu_min(k->group_blocks, k->blocks_k - at.k);
        cut_block(k, m, &at);
        at.n_n = k->c_n.n;
        at.c = run->scratch + (group * k->c_batch.n + batch) * size * k->gemm.bytes;
        run_block(&dense, batch_of_x(run, batch), batch_of_y(run, batch), &at);
    }
}

/* Adds the partial sums of rows of c in the order of k. */
static void add_split(void *context, int64_t begin, int64_t end) {
    const contract_run *run = context;
    const cpu_contract *k = run->contract;
    int64_t m = k->c_m.n, n = k->c_n.n, columns[256], width = 256;
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / m, row = mica_cpu_space_position(&k->c_m, i % m);
        char *c = batch_of_c(run, batch);
        for (int64_t j = 0; j < n; j += width) {
            int64_t count = cpu_min(width, n - j);
            mica_cpu_space_positions(&k->c_n, j, count, columns);
            for (int64_t group = 0; group < k->groups; group++) {
                int64_t from = ((group * k->c_batch.n + batch) * m + i % m) * n + j;
                k->gemm.scatter(run->scratch + from * k->gemm.bytes, 0, c, &row, 1, columns, count,
                                group == 0);
            }
            if (run->finish)
                finish_lines(run->finish, (c - run->c) / k->gemm.bytes, &row, 1, columns, count);
        }
    }
}

static void run_split(contract_run *run) {
    const cpu_contract *k = run->contract;
    mica_parallel_walk(k->pieces_m * k->c_batch.n * k->groups, 1, run_split_pieces, run);
    mica_parallel_walk(k->c_m.n * k->c_batch.n, cpu_max(1, 4096 / k->c_n.n), add_split, run);
}

/* ---- the whole --------------------------------------------------------------------------------*/

typedef struct whole_run {
    const cpu_contract *contract;
    const char *wide;
    char *c;
    const cpu_finish *finish;
} whole_run;

static void narrow_range(void *context, int64_t begin, int64_t end) {
    const whole_run *run = context;
    const void *x = run->wide + begin * run->contract->gemm.bytes;
    run->contract->narrow(&x, run->c + begin * run->contract->c_bytes, end - begin);
    if (run->finish) run->finish->line(run->finish->context, begin, end - begin);
}

static void finish_range(void *context, int64_t begin, int64_t end) {
    const whole_run *run = context;
    run->finish->line(run->finish->context, begin, end - begin);
}

void mica_cpu_contract_run(const cpu_contract *k, const void *x, const void *y, void *c,
                           void *scratch, const cpu_finish *finish) {
    int64_t parts = k->complex_pack ? 2 : 1, n = k->c_batch.n * k->c_m.n * k->c_n.n;
    whole_run whole = {k, NULL, c, finish};
    /* Complex numbers are told of when all are there: positions here are those of their parts. */
    bool is_late = finish && (k->mode == CONTRACT_ZERO || parts == 2);
    if (k->mode == CONTRACT_ZERO) memset(c, 0, (size_t)(n * k->c_bytes));
    char *wide = k->narrow ? (char *)scratch + k->wide_offset : c;
    contract_run run = {.contract = k,
                        .x = k->exchanged ? y : x,
                        .y = k->exchanged ? x : y,
                        .c = wide,
                        .scratch = scratch,
                        .finish = k->narrow || is_late ? NULL : finish};
    if (k->mode == CONTRACT_LOCAL) run_local(&run);
    if (k->mode == CONTRACT_SHARED) run_shared(&run);
    if (k->mode == CONTRACT_SPLIT) run_split(&run);
    if (k->mode == CONTRACT_LANES) mica_cpu_contract_run_lanes(k, run.x, run.y, c, finish);
    whole.wide = wide;
    if (k->narrow && k->mode != CONTRACT_ZERO)
        mica_parallel_walk(n, 65536, narrow_range, &whole);
    else if (is_late)
        mica_parallel_walk(n / parts, 65536, finish_range, &whole);
}
