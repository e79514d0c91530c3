/* The gradient of a convolution by its 3 x 3 kernel, by Winograd's F(3x3, 2x2); see winograd.h.
 *
 * A chunk of tiles at a time, the input's places and those of the results' gradient are taken to
 * points; then products at each point are added to m[point][input][output], from which the taps
 * come at the end. With few channels, threads take groups of tiles, each with sums of its own,
 * which are added in order; with many, all work on one chunk: first its tiles, then its points. How
 * it is cut depends on the sizes alone. */
#include <string.h>

#include "device/cpu/winograd.h"

#define GROUP_BYTES                                                                                \
    ((int64_t)512 << 10)               /* of points of a group's chunk, and the most of its sums */
#define CHUNK_BYTES ((int64_t)2 << 20) /* of points when all work on one chunk */
#define MOST_GROUPS 16
#define PIECE_ROWS 96  /* input channels of a piece of the products */
#define PIECE_TILES 16 /* of a piece of the transforms */

typedef struct taps_kernel {
    cpu_kernel base;
    mica_cpu_gemm gemm;
    winograd_image x, dy;
    int64_t low[2], tile_rows, tile_columns, tiles;
    int64_t out_row, out_column, out_input;     /* steps of the result */
    int64_t groups, group_tiles, chunk, panels; /* chunk: tiles; panels: of output channels */
    int64_t v_row, v_step, d_step, m_step;
    int64_t slots, slot_floats, m_at, zeros_at; /* of scratch, in floats */
} taps_kernel;

typedef struct taps_run {
    const taps_kernel *kernel;
    const float *x, *dy;
    float *y;
    float *slots, *m, *zeros;
    int64_t next; /* atomic: the group that is taken next */
    bool beyond;  /* atomic: something is not finite */
    const cpu_finish *finish;
} taps_run;

/* A chunk of tiles, their points, and what their products are added to. */
typedef struct taps_chunk {
    const taps_run *run;
    int64_t first, n;
    float *v, *d, *m;
    bool is_first; /* sums are stored, not added */
} taps_chunk;

/* Piece: some tiles of a chunk to points. */
static void transform_tiles(void *context, int64_t begin, int64_t end) {
    const taps_chunk *chunk = context;
    const taps_run *run = chunk->run;
    const taps_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    int64_t width = k->gemm.columns, outputs = k->dy.channels;
    for (int64_t i = begin; i < end; i++) {
        const float *at[16];
        int64_t tile = chunk->first + i, line = tile / k->tile_columns;
        int64_t batch = line / k->tile_rows, row = line % k->tile_rows * 2;
        int64_t column = tile % k->tile_columns * 2;
        mica_cpu_winograd_places(&k->x, run->x, run->zeros, batch, row - k->low[0],
                                 column - k->low[1], 4, at);
        winograd->input(at, k->x.channels, chunk->v + i * k->v_row, k->v_step);
        mica_cpu_winograd_places(&k->dy, run->dy, run->zeros, batch, row, column, 2, at);
        for (int64_t panel = 0; panel < k->panels; panel++) {
            float *to = chunk->d + (panel * k->chunk + i) * width;
            int64_t n = cpu_min(width, outputs - panel * width);
            winograd->spread(at, n, to, k->d_step);
            for (int64_t point = 0; n < width && point < 16; point++)
                memset(to + point * k->d_step + n, 0, sizeof *to * (size_t)(width - n));
            for (int32_t j = 0; j < 4; j++) at[j] += width;
        }
    }
}

/* Piece: a point, and PIECE_ROWS input channels. */
static void multiply_points(void *context, int64_t begin, int64_t end) {
    const taps_chunk *chunk = context;
    const taps_kernel *k = chunk->run->kernel;
    const mica_cpu_gemm *gemm = &k->gemm;
    int64_t width = gemm->columns, m_row = k->panels * width;
    int64_t parts = cpu_ceil_div(k->x.channels, PIECE_ROWS);
    int64_t x_steps[CPU_TILE_K], y_steps[CPU_TILE_K], rows[CONTRACT_TILE];
    for (int64_t i = 0; i < CPU_TILE_K; i++) x_steps[i] = i * k->v_row, y_steps[i] = i * width;
    for (int64_t i = 0; i < gemm->rows; i++) rows[i] = i * m_row;
    for (int64_t i = begin; i < end; i++) {
        int64_t point = i / parts, from = i % parts * PIECE_ROWS;
        int64_t limit = cpu_min(k->x.channels, from + PIECE_ROWS);
        for (int64_t first = 0; first < chunk->n; first += CPU_TILE_K)
            for (int64_t panel = 0; panel < k->panels; panel++) {
                int64_t n_k = cpu_min(CPU_TILE_K, chunk->n - first);
                const float *left = chunk->v + point * k->v_step + first * k->v_row;
                const float *right =
                    chunk->d + point * k->d_step + (panel * k->chunk + first) * width;
                float *sums = chunk->m + point * k->m_step + panel * width;
                for (int64_t row = from; row < limit;) {
                    int32_t height = mica_cpu_contract_height(gemm, limit - row, true);
                    gemm->tile_at[height](left + row, 1, x_steps, right, y_steps, n_k,
                                          sums + row * m_row, rows, chunk->is_first && first == 0);
                    row += gemm->heights[height];
                }
            }
    }
}

static int64_t count_products(const taps_kernel *k) {
    return 16 * cpu_ceil_div(k->x.channels, PIECE_ROWS);
}

static taps_chunk make_chunk(const taps_run *run, int64_t group, int64_t slot) {
    const taps_kernel *k = run->kernel;
    float *v = run->slots + slot * k->slot_floats;
    return (taps_chunk){.run = run,
                        .first = group * k->group_tiles,
                        .v = v,
                        .d = v + 16 * k->v_step,
                        .m = run->m + group * 16 * k->m_step,
                        .is_first = true};
}

/* Piece: a part of scratch, with which groups are computed until none is left. */
static void run_groups(void *context, int64_t begin, int64_t end) {
    taps_run *run = context;
    const taps_kernel *k = run->kernel;
    for (int64_t i = begin; i < end; i++)
        for (;;) {
            int64_t group = __atomic_fetch_add(&run->next, 1, __ATOMIC_RELAXED);
            if (group >= k->groups) break;
            taps_chunk chunk = make_chunk(run, group, i);
            int64_t limit = cpu_min(k->tiles, chunk.first + k->group_tiles);
            for (; chunk.first < limit; chunk.first += k->chunk) {
                chunk.n = cpu_min(k->chunk, limit - chunk.first);
                transform_tiles(&chunk, 0, chunk.n);
                multiply_points(&chunk, 0, count_products(k));
                chunk.is_first = false;
            }
        }
}

static void run_together(taps_run *run) {
    const taps_kernel *k = run->kernel;
    taps_chunk chunk = make_chunk(run, 0, 0);
    for (; chunk.first < k->tiles; chunk.first += k->chunk) {
        chunk.n = cpu_min(k->chunk, k->tiles - chunk.first);
        mica_parallel_for(chunk.n, PIECE_TILES, transform_tiles, &chunk);
        mica_parallel_for(count_products(k), 1, multiply_points, &chunk);
        chunk.is_first = false;
    }
}

static int64_t tap_at(const taps_kernel *k, int32_t tap, int64_t input) {
    return tap / 3 * k->out_row + tap % 3 * k->out_column + input * k->out_input;
}

/* Piece: an input channel, whose groups' sums are added first. */
static void take_back(void *context, int64_t begin, int64_t end) {
    taps_run *run = context;
    const taps_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    int64_t m_row = k->panels * k->gemm.columns;
    for (int64_t i = begin; i < end; i++) {
        float *at[9], *sums = run->m + i * m_row;
        for (int64_t group = 1; group < k->groups; group++)
            for (int64_t point = 0; point < 16; point++)
                winograd->add_scaled(sums + point * k->m_step, 1,
                                     sums + (group * 16 + point) * k->m_step, 1, m_row);
        for (int32_t tap = 0; tap < 9; tap++) at[tap] = run->y + tap_at(k, tap, i);
        if (!winograd->taps(sums, k->m_step, k->dy.channels, at))
            __atomic_store_n(&run->beyond, true, __ATOMIC_RELAXED);
    }
}

/* Piece: a tap of an input channel, by definition: rows of places, then their sum. */
static void convolve_taps(void *context, int64_t begin, int64_t end) {
    const taps_run *run = context;
    const taps_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    int64_t outputs = k->dy.channels;
    for (int64_t i = begin; i < end; i++) {
        int64_t tap = i % 9, input = i / 9;
        float *y = run->y + tap_at(k, (int32_t)tap, input);
        float *sum = run->m + i * outputs;
        memset(y, 0, sizeof *y * (size_t)outputs);
        for (int64_t line = 0; line < k->dy.batch * k->dy.height; line++) {
            int64_t batch = line / k->dy.height, row = line % k->dy.height;
            memset(sum, 0, sizeof *sum * (size_t)outputs);
            for (int64_t column = 0; column < k->dy.width; column++) {
                const float *x, *dy = run->dy + batch * k->dy.batch_step + row * k->dy.row_step +
                                      column * k->dy.column_step;
                mica_cpu_winograd_places(&k->x, run->x, run->zeros, batch,
                                         row + tap / 3 - k->low[0], column + tap % 3 - k->low[1], 1,
                                         &x);
                winograd->add_scaled(sum, x[input], dy, 1, outputs);
            }
            winograd->add_scaled(y, 1, sum, 1, outputs);
        }
    }
}

static void finish_taps(void *context, int64_t begin, int64_t end) {
    const taps_run *run = context;
    for (int64_t i = begin; i < end; i++)
        run->finish->line(run->finish->context, tap_at(run->kernel, (int32_t)(i % 9), i / 9),
                          run->kernel->dy.channels);
}

static void run_taps_finished(const cpu_kernel *kernel, const void *const *operands,
                              void *const *results, void *scratch, const cpu_finish *finish) {
    const taps_kernel *k = (const taps_kernel *)kernel;
    float *floats = scratch;
    taps_run run = {.kernel = k,
                    .x = operands[0],
                    .dy = operands[1],
                    .y = results[0],
                    .slots = floats,
                    .m = floats + k->m_at,
                    .zeros = floats + k->zeros_at,
                    .finish = finish};
    memset(run.zeros, 0, sizeof *floats * (size_t)cpu_max(k->x.channels, k->dy.channels));
    if (k->groups > 1)
        mica_parallel_for(k->slots, 1, run_groups, &run);
    else
        run_together(&run);
    mica_parallel_for(k->x.channels, 8, take_back, &run);
    if (run.beyond) mica_parallel_for(9 * k->x.channels, 1, convolve_taps, &run);
    if (finish) mica_parallel_for(9 * k->x.channels, 16, finish_taps, &run);
}

static void run_taps(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    run_taps_finished(kernel, operands, results, scratch, NULL);
}

/* ---- planning ---------------------------------------------------------------------------------*/

#define TAPS_COST 150.0 /* of taking a pair of channels from points to taps, in multiply-adds */

bool mica_cpu_fits_winograd_taps(const mica_node *node, const mica_conv_layout *l,
                                 const conv_axis *axes) {
    const mica_type *x = mica_operand_type(node, 0), *dy = mica_operand_type(node, 1);
    if (!mica_cpu_winograd_is_plain(node, l, axes)) return false;
    if (axes[0].result != 3 || axes[1].result != 3) return false;
    if (l->lhs_batch != x->rank - 1 || l->rhs_output != x->rank - 1 ||
        l->out_channel != x->rank - 1)
        return false;
    int64_t inputs = x->dims[l->lhs_batch], outputs = dy->dims[l->rhs_output];
    double batch = (double)x->dims[l->lhs_channel];
    double tiles =
        batch * (double)cpu_ceil_div(axes[0].taps, 2) * (double)cpu_ceil_div(axes[1].taps, 2);
    double plain = 9 * batch * (double)axes[0].taps * (double)axes[1].taps;
    return mica_cpu_winograd_pays(tiles, inputs, outputs, TAPS_COST, plain);
}

static int64_t round_up(int64_t n, int64_t to) {
    return cpu_ceil_div(n, to) * to;
}

/* By sizes alone: columns count as if panels were 32 wide. */
static void plan_groups(taps_kernel *k) {
    int64_t inputs = round_up(k->x.channels, 16), outputs = round_up(k->dy.channels, 32);
    int64_t per_tile = 64 * (inputs + outputs);
    k->groups = 1;
    k->chunk = cpu_max(1, CHUNK_BYTES / per_tile / CPU_TILE_K) * CPU_TILE_K;
    if (64 * inputs * outputs <= GROUP_BYTES) {
        k->chunk = cpu_min(CPU_TILE_K, cpu_max(16, GROUP_BYTES / per_tile / 16 * 16));
        k->groups = cpu_min(MOST_GROUPS, cpu_ceil_div(k->tiles, 2 * k->chunk));
    }
    k->chunk = cpu_min(k->chunk, k->tiles);
    k->group_tiles = cpu_ceil_div(k->tiles, k->groups);
    k->groups = cpu_ceil_div(k->tiles, k->group_tiles);
    k->slots = cpu_min(k->groups, mica_pool_threads());
}

static void plan_scratch(taps_kernel *k) {
    int64_t width = k->gemm.columns, m_row = k->panels * width;
    k->v_row = round_up(k->x.channels, 16);
    k->v_step = k->chunk * k->v_row + 16; /* points do not fall on each other in a cache */
    k->d_step = k->chunk * m_row + 16;
    k->m_step = k->x.channels * m_row + 16;
    k->slot_floats = 16 * (k->v_step + k->d_step);
    k->m_at = k->slots * k->slot_floats;
    k->zeros_at = k->m_at + k->groups * 16 * k->m_step;
    int64_t zeros = round_up(cpu_max(k->x.channels, m_row), 16);
    k->base.head.scratch_bytes = sizeof(float) * (size_t)(k->zeros_at + zeros);
}

mica_status mica_cpu_create_winograd_taps(const mica_node *node, const mica_conv_layout *l,
                                          const conv_axis *axes, cpu_kernel **out) {
    const mica_type *result = &node->results[0];
    int64_t strides[MICA_MAX_RANK];
    taps_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_taps, &k));
    k->base.run_finished = run_taps_finished;
    k->x = mica_cpu_winograd_image(mica_operand_type(node, 0), l->lhs_channel, l->lhs_spatial,
                                   l->lhs_batch);
    k->dy = mica_cpu_winograd_image(mica_operand_type(node, 1), l->rhs_input, l->rhs_spatial,
                                    l->rhs_output);
    mica_cpu_strides(result, strides);
    k->out_row = strides[l->out_spatial[0]];
    k->out_column = strides[l->out_spatial[1]];
    k->out_input = strides[l->out_batch];
    for (int32_t i = 0; i < 2; i++) k->low[i] = axes[i].low;
    k->tile_rows = cpu_ceil_div(k->dy.height, 2);
    k->tile_columns = cpu_ceil_div(k->dy.width, 2);
    k->tiles = k->dy.batch * k->tile_rows * k->tile_columns;
    const mica_cpu_gemm(*gemms)[4] = mica_cpu_isa_current()->gemm_float;
    int32_t f32 = MICA_DTYPE_f32 - MICA_DTYPE_f16;
    k->gemm = gemms[k->dy.channels <= gemms[1][f32].columns ? 1 : 0][f32];
    k->panels = cpu_ceil_div(k->dy.channels, k->gemm.columns);
    plan_groups(k);
    plan_scratch(k);
    *out = &k->base;
    return NULL;
}
