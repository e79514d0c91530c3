/* Winograd's convolution of 3 x 3 taps; see winograd.h.
 *
 * A thread takes a block of tiles at a time: to points, products, back to results, all in its part
 * of scratch, which stays in the second-level cache. The kernel is taken to points first, by all.
 */
#include "device/cpu/winograd.h"

#include <string.h>

#define BLOCK_BYTES ((int64_t)512 << 10) /* of a block's points, both sides */
#define FEWEST_TILES 48                  /* of a block, as long as there are as many */
#define KERNEL_CHUNK 16                  /* input channels whose taps are transformed together */
#define WIDEST 32                        /* columns of a panel */

typedef struct winograd_kernel {
    cpu_kernel base;
    mica_cpu_gemm gemm;
    winograd_image x, y;
    int64_t low[2], tile_rows, tile_columns, tiles;
    int64_t taps[9], w_input, w_output; /* where the kernel's elements are */
    int64_t blocks, unit;               /* blocks of whole units of tiles, nearly equal */
    int64_t block, panels;              /* tiles of the largest; panels of output channels */
    int64_t v_row, v_step, m_row, m_step;
    int64_t slots, slot_floats, zeros_at, slots_at; /* of scratch, in floats */
} winograd_kernel;

typedef struct winograd_run {
    const winograd_kernel *kernel;
    const float *x, *w;
    float *y;
    float *u, *zeros, *slots;
    int64_t next; /* atomic: the block that is taken next */
    const cpu_finish *finish;
} winograd_run;

/* ---- the kernel -------------------------------------------------------------------------------*/

/* Taps of n input channels from `first` on that lie as a panel wants them; those of the chunk that
 * follows are prefetched meanwhile. */
static void transform_lines(const winograd_run *run, int64_t panel, int64_t first, int64_t n) {
    const winograd_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    int64_t width = k->gemm.columns, inputs = k->x.channels, point = k->panels * inputs * width;
    for (int64_t i = first; i < first + n; i++) {
        const float *w = run->w + i * k->w_input + panel * width;
        for (int32_t t = 0; i + KERNEL_CHUNK < inputs && t < 9; t++)
            for (int64_t line = 0; line < width; line += 16)
                __builtin_prefetch(w + k->taps[t] + KERNEL_CHUNK * k->w_input + line);
        winograd->kernel(w, k->taps[1], width, run->u + (panel * inputs + i) * width, point);
    }
}

/* Piece: a panel of output channels by KERNEL_CHUNK input channels. */
static void transform_kernel(void *context, int64_t begin, int64_t end) {
    const winograd_run *run = context;
    const winograd_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    int64_t width = k->gemm.columns, inputs = k->x.channels;
    int64_t chunks = cpu_ceil_div(inputs, KERNEL_CHUNK), point = k->panels * inputs * width;
    bool is_line = k->w_output == 1 && k->taps[3] == 3 * k->taps[1];
    float taps[9][KERNEL_CHUNK * WIDEST];
    for (int64_t i = begin; i < end; i++) {
        int64_t panel = i / chunks, first = i % chunks * KERNEL_CHUNK;
        int64_t n = cpu_min(KERNEL_CHUNK, inputs - first), from = panel * width;
        int64_t offsets[WIDEST], steps[KERNEL_CHUNK], count = cpu_min(width, k->y.channels - from);
        if (is_line && count == width) {
            transform_lines(run, panel, first, n);
            continue;
        }
        for (int64_t j = 0; j < width; j++) offsets[j] = (from + j) * k->w_output;
        for (int64_t j = 0; j < n; j++) steps[j] = (first + j) * k->w_input;
        for (int32_t t = 0; t < 9; t++)
            k->gemm.pack(run->w + k->taps[t], offsets, count, steps, n, width, taps[t]);
        winograd->kernel(taps[0], KERNEL_CHUNK * WIDEST, n * width,
                         run->u + (panel * inputs + first) * width, point);
    }
}

/* ---- blocks -----------------------------------------------------------------------------------*/

typedef struct tile_place {
    int64_t batch, row, column; /* of the first result */
} tile_place;

static tile_place find_tile(const winograd_kernel *k, int64_t tile) {
    int64_t line = tile / k->tile_columns;
    return (tile_place){line / k->tile_rows, line % k->tile_rows * 2, tile % k->tile_columns * 2};
}

static int64_t result_at(const winograd_kernel *k, int64_t batch, int64_t row, int64_t column) {
    return batch * k->y.batch_step + row * k->y.row_step + column * k->y.column_step;
}

/* Products at all points: m[point][tile][output] = sum over inputs of v[point][tile][input] u. */
static void multiply(const winograd_kernel *k, const float *v, const float *u, float *m,
                     int64_t tiles) {
    const mica_cpu_gemm *gemm = &k->gemm;
    int64_t width = gemm->columns, inputs = k->x.channels;
    int64_t x_steps[CPU_TILE_K], y_steps[CPU_TILE_K], rows[CONTRACT_TILE];
    for (int64_t i = 0; i < CPU_TILE_K; i++) x_steps[i] = i, y_steps[i] = i * width;
    for (int64_t i = 0; i < gemm->rows; i++) rows[i] = i * k->m_row;
    for (int32_t point = 0; point < 16; point++)
        for (int64_t first = 0; first < inputs; first += CPU_TILE_K)
            for (int64_t panel = 0; panel < k->panels; panel++) {
                const float *right = u + ((point * k->panels + panel) * inputs + first) * width;
                int64_t n_k = cpu_min(CPU_TILE_K, inputs - first);
                for (int64_t i = 0; i < tiles;) {
                    int32_t height = mica_cpu_contract_height(gemm, tiles - i, true);
                    gemm->tile_at[height](v + point * k->v_step + i * k->v_row + first, k->v_row,
                                          x_steps, right, y_steps, n_k,
                                          m + point * k->m_step + i * k->m_row + panel * width,
                                          rows, first == 0);
                    i += gemm->heights[height];
                }
            }
}

/* The results of a tile by definition. */
static void convolve_tile(const winograd_run *run, const tile_place *t) {
    const winograd_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    const float *at[16];
    mica_cpu_winograd_places(&k->x, run->x, run->zeros, t->batch, t->row - k->low[0],
                             t->column - k->low[1], 4, at);
    for (int32_t i = 0; i < 4; i++) {
        int64_t row = t->row + i / 2, column = t->column + i % 2;
        if (row >= k->y.height || column >= k->y.width) continue;
        float *y = run->y + result_at(k, t->batch, row, column);
        memset(y, 0, sizeof *y * (size_t)k->y.channels);
        for (int32_t tap = 0; tap < 9; tap++) {
            const float *x = at[4 * (i / 2 + tap / 3) + i % 2 + tap % 3];
            for (int64_t c = 0; c < k->x.channels; c++)
                winograd->add_scaled(y, x[c], run->w + k->taps[tap] + c * k->w_input, k->w_output,
                                     k->y.channels);
        }
    }
}

static void take_back(const winograd_run *run, const float *m, int64_t first, int64_t tiles) {
    const winograd_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    for (int64_t i = 0; i < tiles; i++) {
        tile_place t = find_tile(k, first + i);
        float *at[4] = {NULL, NULL, NULL, NULL};
        for (int32_t j = 0; j < 4; j++)
            if (t.row + j / 2 < k->y.height && t.column + j % 2 < k->y.width)
                at[j] = run->y + result_at(k, t.batch, t.row + j / 2, t.column + j % 2);
        if (!winograd->output(m + i * k->m_row, k->m_step, k->y.channels, at))
            convolve_tile(run, &t);
    }
}

/* Tells of the results of the tiles, which are lines within rows of places. */
static void finish_tiles(const winograd_run *run, int64_t first, int64_t tiles) {
    const winograd_kernel *k = run->kernel;
    for (int64_t i = 0, n; i < tiles; i += n) {
        tile_place t = find_tile(k, first + i);
        n = cpu_min(tiles - i, k->tile_columns - t.column / 2);
        int64_t places = cpu_min(2 * n, k->y.width - t.column);
        for (int64_t row = t.row; row < cpu_min(t.row + 2, k->y.height); row++) {
            int64_t lines = k->y.column_step == k->y.channels ? 1 : places;
            for (int64_t j = 0; j < lines; j++)
                run->finish->line(run->finish->context, result_at(k, t.batch, row, t.column + j),
                                  places / lines * k->y.channels);
        }
    }
}

static void run_block(const winograd_run *run, int64_t first, int64_t tiles, float *slot) {
    const winograd_kernel *k = run->kernel;
    const mica_cpu_winograd *winograd = mica_cpu_isa_current()->winograd;
    float *v = slot, *m = slot + 16 * k->v_step;
    for (int64_t i = 0; i < tiles; i++) {
        const float *at[16];
        tile_place t = find_tile(k, first + i);
        mica_cpu_winograd_places(&k->x, run->x, run->zeros, t.batch, t.row - k->low[0],
                                 t.column - k->low[1], 4, at);
        winograd->input(at, k->x.channels, v + i * k->v_row, k->v_step);
    }
    multiply(k, v, run->u, m, tiles);
    take_back(run, m, first, tiles);
    if (run->finish) finish_tiles(run, first, tiles);
}

static int64_t first_tile(const winograd_kernel *k, int64_t block) {
    return block * cpu_ceil_div(k->tiles, k->unit) / k->blocks * k->unit;
}

/* Piece: a part of scratch, with which blocks are computed until none is left. */
static void run_slots(void *context, int64_t begin, int64_t end) {
    winograd_run *run = context;
    const winograd_kernel *k = run->kernel;
    for (int64_t i = begin; i < end; i++)
        for (;;) {
            int64_t block = __atomic_fetch_add(&run->next, 1, __ATOMIC_RELAXED);
            if (block >= k->blocks) break;
            int64_t first = first_tile(k, block), limit = first_tile(k, block + 1);
            run_block(run, first, cpu_min(limit, k->tiles) - first,
                      run->slots + i * k->slot_floats);
        }
}

static void run_winograd_finished(const cpu_kernel *kernel, const void *const *operands,
                                  void *const *results, void *scratch, const cpu_finish *finish) {
    const winograd_kernel *k = (const winograd_kernel *)kernel;
    float *floats = scratch;
    winograd_run run = {.kernel = k,
                        .x = operands[0],
                        .w = operands[1],
                        .y = results[0],
                        .u = floats,
                        .zeros = floats + k->zeros_at,
                        .slots = floats + k->slots_at,
                        .finish = finish};
    memset(run.zeros, 0, sizeof *floats * (size_t)k->x.channels);
    int64_t pieces = k->panels * cpu_ceil_div(k->x.channels, KERNEL_CHUNK);
    mica_parallel_for(pieces, cpu_max(1, pieces / 64), transform_kernel, &run);
    mica_parallel_for(k->slots, 1, run_slots, &run);
}

static void run_winograd(const cpu_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch) {
    run_winograd_finished(kernel, operands, results, scratch, NULL);
}

/* ---- both ways --------------------------------------------------------------------------------*/

winograd_image mica_cpu_winograd_image(const mica_type *type, int32_t batch, const int32_t *spatial,
                                       int32_t channel) {
    int64_t strides[MICA_MAX_RANK];
    mica_cpu_strides(type, strides);
    return (winograd_image){.batch = type->dims[batch],
                            .height = type->dims[spatial[0]],
                            .width = type->dims[spatial[1]],
                            .channels = type->dims[channel],
                            .batch_step = strides[batch],
                            .row_step = strides[spatial[0]],
                            .column_step = strides[spatial[1]]};
}

void mica_cpu_winograd_places(const winograd_image *image, const float *x, const float *zeros,
                              int64_t batch, int64_t row, int64_t column, int32_t size,
                              const float **at) {
    int64_t corner =
        batch * image->batch_step + row * image->row_step + column * image->column_step;
    bool is_inside =
        row >= 0 && column >= 0 && row + size <= image->height && column + size <= image->width;
    for (int32_t i = 0; i < size; i++)
        for (int32_t j = 0; j < size; j++) {
            bool is_there = is_inside || (row + i >= 0 && row + i < image->height &&
                                          column + j >= 0 && column + j < image->width);
            *at++ = is_there ? x + corner + i * image->row_step + j * image->column_step : zeros;
        }
}

bool mica_cpu_winograd_is_plain(const mica_node *node, const mica_conv_layout *l,
                                const conv_axis *axes) {
    const mica_type *x = mica_operand_type(node, 0);
    if (x->dtype != MICA_DTYPE_f32 || l->spatial != 2) return false;
    if (mica_node_int(node, "groups") != 1 || mica_node_int(node, "batch_groups") != 1)
        return false;
    const int64_t far = (int64_t)1 << 30; /* positions stay in range */
    for (int32_t i = 0; i < 2; i++)
        if (axes[i].stride != 1 || axes[i].lhs_dilation != 1 || axes[i].rhs_dilation != 1 ||
            axes[i].low > far || axes[i].low < -far)
            return false;
    return true;
}

static int preferred; /* atomic */

void mica_cpu_winograd_prefer(int preference) {
    __atomic_store_n(&preferred, preference, __ATOMIC_RELAXED);
}

static int64_t round_up(int64_t n, int64_t to) {
    return cpu_ceil_div(n, to) * to;
}

/* Transforms are counted in multiply-adds that take as long. */
bool mica_cpu_winograd_pays(double tiles, int64_t x, int64_t y, double more, double plain) {
    int preference = __atomic_load_n(&preferred, __ATOMIC_RELAXED);
    if (preference) return preference > 0;
    double pairs = (double)x * (double)y, columns = (double)round_up(y, 32);
    double transforms = 75 * (double)x + 60 * (double)y;
    return tiles * (17.5 * (double)x * columns + transforms) + more * pairs < 0.85 * plain * pairs;
}

/* ---- planning ---------------------------------------------------------------------------------*/

#define KERNEL_COST 100.0 /* of taking the taps of two channels to points, in multiply-adds */

bool mica_cpu_fits_winograd(const mica_node *node, const mica_conv_layout *l,
                            const conv_axis *axes) {
    const mica_type *x = mica_operand_type(node, 0), *w = mica_operand_type(node, 1);
    if (!mica_cpu_winograd_is_plain(node, l, axes)) return false;
    if (axes[0].taps != 3 || axes[1].taps != 3) return false;
    if (l->lhs_channel != x->rank - 1 || l->out_channel != x->rank - 1) return false;
    int64_t inputs = w->dims[l->rhs_input], outputs = w->dims[l->rhs_output];
    double batch = (double)x->dims[l->lhs_batch];
    double tiles =
        batch * (double)cpu_ceil_div(axes[0].result, 2) * (double)cpu_ceil_div(axes[1].result, 2);
    double plain = 9 * batch * (double)axes[0].result * (double)axes[1].result;
    return mica_cpu_winograd_pays(tiles, inputs, outputs, KERNEL_COST, plain);
}

/* Tiles of a block: as many as the cache holds the points of; of few blocks every thread gets as
 * many. Large ones are full tiles of the contraction. */
static void plan_blocks(winograd_kernel *k) {
    int64_t threads = mica_pool_threads(), rows = k->gemm.rows;
    int64_t per_tile = 64 * (k->x.channels + k->y.channels);
    int64_t most = cpu_max(FEWEST_TILES, BLOCK_BYTES / per_tile) / rows * rows;
    k->blocks = cpu_ceil_div(k->tiles, most);
    if (k->blocks < 32 * threads) k->blocks = round_up(k->blocks, threads);
    k->unit = k->blocks < 8 * threads ? 4 : rows;
    int64_t units = cpu_ceil_div(k->tiles, k->unit);
    k->blocks = cpu_min(k->blocks, units);
    k->block = cpu_ceil_div(units, k->blocks) * k->unit;
    k->slots = cpu_min(threads, k->blocks);
}

static void plan_scratch(winograd_kernel *k) {
    k->v_row = round_up(k->x.channels, 16);
    k->v_step = k->block * k->v_row + 16; /* points do not fall on each other in a cache */
    k->m_row = k->panels * k->gemm.columns;
    k->m_step = k->block * k->m_row + 16;
    k->zeros_at = round_up(16 * k->panels * k->x.channels * k->gemm.columns, 16);
    k->slots_at = k->zeros_at + round_up(k->x.channels, 16);
    k->slot_floats = 16 * (k->v_step + k->m_step);
    k->base.head.scratch_bytes = sizeof(float) * (size_t)(k->slots_at + k->slots * k->slot_floats);
}

mica_status mica_cpu_create_winograd(const mica_node *node, const mica_conv_layout *l,
                                     const conv_axis *axes, cpu_kernel **out) {
    const mica_type *w = mica_operand_type(node, 1);
    int64_t strides[MICA_MAX_RANK];
    winograd_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_winograd, &k));
    k->base.run_finished = run_winograd_finished;
    k->x = mica_cpu_winograd_image(mica_operand_type(node, 0), l->lhs_batch, l->lhs_spatial,
                                   l->lhs_channel);
    k->y = mica_cpu_winograd_image(&node->results[0], l->out_batch, l->out_spatial, l->out_channel);
    mica_cpu_strides(w, strides);
    for (int32_t i = 0; i < 9; i++)
        k->taps[i] = i / 3 * strides[l->rhs_spatial[0]] + i % 3 * strides[l->rhs_spatial[1]];
    k->w_input = strides[l->rhs_input];
    k->w_output = strides[l->rhs_output];
    for (int32_t i = 0; i < 2; i++) k->low[i] = axes[i].low;
    k->tile_rows = cpu_ceil_div(k->y.height, 2);
    k->tile_columns = cpu_ceil_div(k->y.width, 2);
    k->tiles = k->y.batch * k->tile_rows * k->tile_columns;
    const mica_cpu_gemm(*gemms)[4] = mica_cpu_isa_current()->gemm_float;
    int32_t f32 = MICA_DTYPE_f32 - MICA_DTYPE_f16;
    k->gemm = gemms[k->y.channels <= gemms[1][f32].columns ? 1 : 0][f32];
    k->panels = cpu_ceil_div(k->y.channels, k->gemm.columns);
    plan_blocks(k);
    plan_scratch(k);
    *out = &k->base;
    return NULL;
}
