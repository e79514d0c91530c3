/* GIF. The pictures are as large as the largest of the frames; a frame covers what the frames
 * before it have left, except where it is transparent, whatever it says of its disposal: what
 * TensorFlow makes of a file. A file that ends early, or is damaged, has the frames up to there. */
#include <string.h>

#include "io/pictures.h"

enum {
    CODES = 4096,
    MOST_BITS = 12,
    NO_CODE = CODES,
    /* One byte has at most 8/3 codes of at most 4,096 pixels each. */
    MOST_PIXELS_A_BYTE = 10923,
};

typedef struct frame {
    int64_t left, top, width, height;
    const uint8_t *colours; /* NULL: there are none */
    int n_colours, transparent;
    uint8_t *indices;
} frame;

typedef struct gif {
    const uint8_t *start, *data, *end;
    size_t size;
    const uint8_t *colours;
    int n_colours, transparent; /* of the next frame; -1: none */
    frame *frames;
    int64_t n, capacity, bytes;
} gif;

static size_t left(const gif *g) {
    return (size_t)(g->end - g->data);
}

static const uint8_t *take(gif *g, size_t n) {
    if (left(g) < n) return NULL;
    g->data += n;
    return g->data - n;
}

/* A block of up to 255 bytes; NULL at the end of the sequence (with *out_n 0) or of the file. */
static const uint8_t *take_block(gif *g, size_t *out_n) {
    const uint8_t *length = take(g, 1);
    *out_n = length ? *length : 0;
    return *out_n ? take(g, *out_n) : NULL;
}

static bool read_colours(gif *g, int packed, const uint8_t **out_colours, int *out_n) {
    if (!(packed & 0x80)) return true;
    *out_n = 2 << (packed & 7);
    *out_colours = take(g, 3 * (size_t)*out_n);
    return *out_colours != NULL;
}

/* ---- pixels -----------------------------------------------------------------------------------*/

typedef struct codes {
    gif *g;
    const uint8_t *block;
    size_t n_block;
    uint32_t bits;
    int n_bits, size; /* size: bits of the next code */
    int clear, next;  /* next: the code that is made next */
    uint16_t prefix[CODES];
    uint8_t last[CODES], stack[CODES];
} codes;

static int next_code(codes *c) {
    while (c->n_bits < c->size) {
        if (c->n_block == 0) c->block = take_block(c->g, &c->n_block);
        if (!c->block) return -1;
        c->bits |= (uint32_t)*c->block++ << c->n_bits;
        c->n_bits += 8;
        c->n_block--;
    }
    int code = (int)(c->bits & ((1u << c->size) - 1));
    c->bits >>= c->size;
    c->n_bits -= c->size;
    return code;
}

static void restart(codes *c) {
    c->next = c->clear + 2;
    c->size = 1;
    while ((1 << c->size) <= c->clear) c->size++;
}

/* The pixels that a code stands for, the last one first, on the stack. */
static int unfold(codes *c, int code) {
    int n = 0;
    while (code >= c->clear + 2 && n < CODES - 1) {
        c->stack[n++] = c->last[code];
        code = c->prefix[code];
    }
    c->stack[n++] = (uint8_t)code;
    return n;
}

static void remember(codes *c, int before, uint8_t first) {
    if (before == NO_CODE || c->next >= CODES) return;
    c->prefix[c->next] = (uint16_t)before;
    c->last[c->next] = first;
    c->next++;
    if (c->next == 1 << c->size && c->size < MOST_BITS) c->size++;
}

/* false: the data end early or are damaged. */
static bool read_pixels(codes *c, uint8_t *to, int64_t n) {
    int before = NO_CODE;
    int64_t at = 0;
    restart(c);
    while (at < n) {
        int code = next_code(c);
        if (code < 0 || code == c->clear + 1) return false;
        if (code == c->clear) {
            restart(c);
            before = NO_CODE;
            continue;
        }
        bool is_new = code == c->next && before != NO_CODE;
        if ((code >= c->next && !is_new) || (before == NO_CODE && code > c->clear)) return false;
        int count = unfold(c, is_new ? before : code);
        uint8_t first = c->stack[count - 1];
        for (int i = count; i-- > 0 && at < n;) to[at++] = c->stack[i];
        if (is_new && at < n) to[at++] = first;
        remember(c, before, first);
        before = code;
    }
    return true;
}

/* Whether the sequence has its end. */
static bool skip_blocks(gif *g) {
    size_t n;
    while (take_block(g, &n)) continue;
    return n == 0 && g->data > g->start && g->data[-1] == 0;
}

/* Rows come in four passes. */
static mica_status deinterlace(frame *f) {
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    size_t row = (size_t)f->width;
    uint8_t *sorted = mica_calloc((size_t)f->height, row), *from = f->indices;
    if (!sorted) return MICA_NO_MEMORY();
    for (int pass = 0; pass < 4; pass++)
        for (int64_t y = starts[pass]; y < f->height; y += steps[pass], from += row)
            memcpy(sorted + (size_t)y * row, from, row);
    mica_free(f->indices);
    f->indices = sorted;
    return NULL;
}

/* ---- frames -----------------------------------------------------------------------------------*/

static mica_status add_frame(gif *g, frame **out) {
    if (g->n == g->capacity) {
        int64_t capacity = g->capacity ? 2 * g->capacity : 8;
        frame *grown = mica_realloc(g->frames, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        g->frames = grown;
        g->capacity = capacity;
    }
    *out = &g->frames[g->n];
    **out =
        (frame){.colours = g->colours, .n_colours = g->n_colours, .transparent = g->transparent};
    return NULL;
}

static mica_status read_indices(gif *g, frame *f, int clear, bool *out_whole) {
    codes *c = mica_calloc(1, sizeof *c);
    if (!c) return MICA_NO_MEMORY();
    c->g = g;
    c->clear = clear;
    *out_whole = read_pixels(c, f->indices, f->width * f->height) && skip_blocks(g);
    mica_free(c);
    return NULL;
}

/* *out_more is false where the file is at its end, or damaged; such a frame is left out. */
static mica_status read_frame(gif *g, bool *out_more) {
    frame *f = NULL;
    *out_more = false;
    MICA_TRY(add_frame(g, &f));
    g->transparent = -1;
    const uint8_t *header = take(g, 9);
    if (!header) return NULL;
    f->left = io_little_u16(header);
    f->top = io_little_u16(header + 2);
    f->width = io_little_u16(header + 4);
    f->height = io_little_u16(header + 6);
    if (!read_colours(g, header[8], &f->colours, &f->n_colours)) return NULL;
    const uint8_t *bits = take(g, 1);
    int64_t pixels = f->width * f->height;
    if (!bits || *bits < 1 || *bits > 8 || pixels == 0) return NULL;
    if (pixels > (int64_t)left(g) * MOST_PIXELS_A_BYTE) return NULL;
    if (g->bytes + pixels > IO_MOST_PICTURE_BYTES)
        return MICA_INVALID("[gif] a frame of %lld x %lld is too much", (long long)f->width,
                            (long long)f->height);
    f->indices = mica_calloc((size_t)f->height, (size_t)f->width);
    mica_status status = f->indices ? read_indices(g, f, 1 << *bits, out_more) : MICA_NO_MEMORY();
    if (!status && *out_more && header[8] & 0x40) status = deinterlace(f);
    if (!status && *out_more)
        g->n++, g->bytes += pixels;
    else
        mica_free(f->indices);
    return status;
}

/* What a control block says of the next frame. */
static bool read_extension(gif *g) {
    size_t n;
    const uint8_t *label = take(g, 1);
    if (!label) return false;
    const uint8_t *block = take_block(g, &n);
    if (*label == 0xf9 && block && n == 4 && g->transparent < 0 && block[0] & 1)
        g->transparent = block[3];
    if (block) skip_blocks(g);
    return true;
}

static mica_status read_frames(gif *g) {
    bool more = true;
    const uint8_t *kind;
    while (more && (kind = take(g, 1)) && *kind != 0x3b) {
        if (*kind == 0x2c)
            MICA_TRY(read_frame(g, &more));
        else
            more = *kind == 0x21 && read_extension(g);
    }
    if (g->n > 0) return NULL;
    return MICA_INVALID("[gif] Invalid GIF data (size %zu): there is no whole frame in it",
                        g->size);
}

static mica_status open_file(gif *g) {
    const uint8_t *header = take(g, 13);
    if (header && read_colours(g, header[10], &g->colours, &g->n_colours)) return NULL;
    return MICA_INVALID("[gif] Invalid GIF data (size %zu), failed to open gif file: No screen "
                        "descriptor detected",
                        g->size);
}

/* ---- pictures ---------------------------------------------------------------------------------*/

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static mica_status paint(const frame *f, uint8_t *to, int64_t height, int64_t width) {
    if (!f->colours) return MICA_INVALID("[gif] missing color map for a frame");
    int64_t rows = smaller(f->height, height - f->top),
            columns = smaller(f->width, width - f->left);
    for (int64_t y = 0; y < rows; y++) {
        const uint8_t *from = f->indices + y * f->width;
        uint8_t *pixel = to + ((y + f->top) * width + f->left) * 3;
        for (int64_t x = 0; x < columns; x++, pixel += 3) {
            if (from[x] == f->transparent) continue;
            if (from[x] >= f->n_colours)
                return MICA_INVALID("[gif] found color index %d outside of color map range %d",
                                    from[x], f->n_colours);
            memcpy(pixel, f->colours + 3 * from[x], 3);
        }
    }
    return NULL;
}

static mica_status compose(const gif *g, bool only_first, mica_picture *out) {
    for (int64_t i = 0; i < g->n; i++) {
        if (g->frames[i].width > out->width) out->width = g->frames[i].width;
        if (g->frames[i].height > out->height) out->height = g->frames[i].height;
    }
    out->frames = only_first ? 1 : g->n;
    out->channels = 3;
    MICA_TRY(io_picture_allocate(out, "gif"));
    size_t bytes = (size_t)(out->width * out->height * 3);
    for (int64_t i = 0; i < out->frames; i++) {
        uint8_t *to = (uint8_t *)out->pixels + (size_t)i * bytes;
        if (i > 0) memcpy(to, to - bytes, bytes);
        MICA_TRY(paint(&g->frames[i], to, out->height, out->width));
    }
    return NULL;
}

mica_status io_gif_read(io_bytes file, const mica_picture_options *options, mica_picture *out) {
    if (options->channels != 0 && options->channels != 3)
        return MICA_INVALID("[gif] channels must be 0 or 3 for GIF, got %d", options->channels);
    gif g = {.start = file.data,
             .data = file.data,
             .end = file.data + file.size,
             .size = file.size,
             .transparent = -1};
    mica_status status = open_file(&g);
    if (!status) status = read_frames(&g);
    if (!status) status = compose(&g, options->only_first, out);
    for (int64_t i = 0; i < g.n; i++) mica_free(g.frames[i].indices);
    mica_free(g.frames);
    return status;
}
