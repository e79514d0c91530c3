#include "mnist_plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mnist_data.h"

enum { WIDTH = 900, HEIGHT = 540, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 50 };

typedef struct colour {
    uint8_t red, green, blue;
} colour;

typedef struct canvas {
    colour pixels[HEIGHT][WIDTH];
} canvas;

static const colour white = {255, 255, 255}, grey = {225, 225, 225}, black = {40, 40, 40},
                    pale = {170, 200, 235}, blue = {25, 90, 180};

static void dot(canvas *c, int x, int y, colour ink) {
    if (x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT) c->pixels[y][x] = ink;
}

static void line(canvas *c, double x0, double y0, double x1, double y1, int thick, colour ink) {
    int steps = (int)fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1;
    for (int i = 0; i <= steps; i++) {
        int x = (int)lround(x0 + (x1 - x0) * i / steps),
            y = (int)lround(y0 + (y1 - y0) * i / steps);
        for (int j = 0; j < thick * thick; j++) dot(c, x + j % thick, y + j / thick, ink);
    }
}

/* 3x5 glyphs, rows from the top, three bits each; drawn three times as large. */
static const struct glyph {
    char letter;
    uint16_t rows;
} glyphs[] = {
    {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
    {'6', 074757}, {'7', 071111}, {'8', 075757}, {'9', 075717}, {'.', 000002}, {'l', 022223},
    {'o', 007557}, {'s', 003616}, {'t', 027223}, {'e', 007747}, {'p', 007574},
};

static void text(canvas *c, int x, int y, const char *letters) {
    enum { SCALE = 3 };
    for (; *letters; letters++, x += 4 * SCALE)
        for (size_t i = 0; i < sizeof glyphs / sizeof glyphs[0]; i++) {
            if (glyphs[i].letter != *letters) continue;
            for (int p = 0; p < 15 * SCALE * SCALE; p++) {
                int column = p % (3 * SCALE), row = p / (3 * SCALE);
                if (glyphs[i].rows >> (14 - 3 * (row / SCALE) - column / SCALE) & 1)
                    dot(c, x + column, y + row, black);
            }
        }
}

static void put32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* length, type, data, checksum; `chunk` holds 4 free bytes, then type and data, then 4 free. */
static bool write_chunk(FILE *file, const char *type, uint8_t *chunk, size_t n) {
    put32(chunk, (uint32_t)n);
    memcpy(chunk + 4, type, 4);
    put32(chunk + 8 + n, gzip_checksum(chunk + 4, (int64_t)n + 4));
    return fwrite(chunk, 1, n + 12, file) == n + 12;
}

/* The pixels as a zlib stream of stored blocks, one per row: no compression needed. */
static size_t pack_pixels(const canvas *c, uint8_t *out) {
    enum { ROW = 1 + 3 * WIDTH };
    size_t n = 0;
    uint32_t a = 1, b = 0;
    out[n++] = 0x78;
    out[n++] = 0x01;
    for (int y = 0; y < HEIGHT; y++) {
        uint8_t head[5] = {y == HEIGHT - 1, ROW & 255, ROW >> 8, ~ROW & 255, ~ROW >> 8 & 255};
        memcpy(out + n, head, 5);
        out[n + 5] = 0;
        memcpy(out + n + 6, c->pixels[y], 3 * WIDTH);
        for (int i = 0; i < ROW; i++) {
            a = (a + out[n + 5 + i]) % 65521;
            b = (b + a) % 65521;
        }
        n += 5 + ROW;
    }
    put32(out + n, b << 16 | a);
    return n + 4;
}

static bool write_png(const char *path, const canvas *c) {
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[12 + 13] = {0};
    put32(header + 8, WIDTH);
    put32(header + 12, HEIGHT);
    header[16] = 8;
    header[17] = 2;
    uint8_t *data = malloc(12 + 6 + (size_t)HEIGHT * (6 + 3 * WIDTH));
    FILE *file = data ? fopen(path, "wb") : NULL;
    bool done = file && fwrite(signature, 1, 8, file) == 8 &&
                write_chunk(file, "IHDR", header, 13) &&
                write_chunk(file, "IDAT", data, pack_pixels(c, data + 8)) &&
                write_chunk(file, "IEND", header, 0);
    if (file && fclose(file) != 0) done = false;
    free(data);
    return done;
}

int plot_tick(int n) {
    int tick = 1;
    for (int i = 0; n / tick > 6; i++) tick = tick / (i % 3 == 1 ? 2 : 1) * (i % 3 == 1 ? 5 : 2);
    return tick;
}

void plot_average(const double *values, int n, double smoothing, double *out) {
    double sum = 0, weight = 0;
    for (int i = 0; i < n; i++) {
        sum = smoothing * sum + (1 - smoothing) * values[i];
        weight = smoothing * weight + (1 - smoothing);
        out[i] = sum / weight;
    }
}

static void draw_frame(canvas *c, double low, double high, int n) {
    int plot_width = WIDTH - LEFT - RIGHT, plot_height = HEIGHT - TOP - BOTTOM;
    for (double decade = floor(low); decade <= high; decade++)
        for (int m = 1; m < 10; m++) {
            double at = decade + log10(m);
            if (at < low || at > high) continue;
            double y = TOP + (high - at) / (high - low) * plot_height;
            line(c, LEFT, y, WIDTH - RIGHT, y, 1, grey);
            char label[16];
            snprintf(label, sizeof label, "%g", pow(10, decade) * m);
            if (m == 1 || m == 2 || m == 5)
                text(c, LEFT - 12 * (int)strlen(label) - 4, (int)y - 7, label);
        }
    for (int step = plot_tick(n), i = 0; i <= n; i += step) {
        int x = LEFT + (int)((int64_t)plot_width * i / n);
        char label[16];
        snprintf(label, sizeof label, "%d", i);
        line(c, x, TOP, x, HEIGHT - BOTTOM, 1, grey);
        text(c, x - 6 * (int)strlen(label), HEIGHT - BOTTOM + 8, label);
    }
    line(c, LEFT, TOP, LEFT, HEIGHT - BOTTOM, 1, black);
    line(c, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, 1, black);
    text(c, LEFT + 8, 8, "loss");
    text(c, WIDTH - RIGHT - 48, HEIGHT - 20, "step");
}

bool plot_losses(const char *path, const float *values, int n) {
    canvas *c = malloc(sizeof *c);
    double *curves = n > 0 ? malloc(2 * sizeof *curves * (size_t)n) : NULL;
    if (!c || !curves) {
        free(c);
        free(curves);
        return false;
    }
    double low = 1e30, high = -1e30;
    for (int i = 0; i < n; i++) {
        double v = log10(fmax(values[i], 1e-6));
        if (!isfinite(v)) continue;
        low = fmin(low, v);
        high = fmax(high, v);
    }
    if (high < low) low = high = 0;
    low = fmax(low, high - 4) - 0.05;
    high += 0.05;
    for (int i = 0; i < HEIGHT * WIDTH; i++) c->pixels[i / WIDTH][i % WIDTH] = white;
    draw_frame(c, low, high, n);
    for (int i = 0; i < n; i++) curves[i] = isfinite(values[i]) ? values[i] : pow(10, high);
    plot_average(curves, n, n > 200 ? 0.97 : 0.8, curves + n);
    for (int pass = 0; pass < 2; pass++) {
        double last_x = LEFT, last_y = 0;
        for (int i = 0; i < n; i++) {
            double v = fmin(fmax(log10(fmax(curves[pass * n + i], 1e-6)), low), high);
            double x = LEFT + (double)(WIDTH - LEFT - RIGHT) * (i + 1) / n;
            double y = TOP + (high - v) / (high - low) * (HEIGHT - TOP - BOTTOM);
            if (i > 0) line(c, last_x, last_y, x, y, 1 + pass, pass ? blue : pale);
            last_x = x;
            last_y = y;
        }
    }
    bool done = write_png(path, c);
    free(c);
    free(curves);
    return done;
}
