/* The kernels of gather and scatter against plain loops: every thread count gives the same bits,
 * with collisions, with rows that pieces cut, and in place. */
#include "cpu_test.h"

static int32_t *random_indices(int64_t n, int64_t low, int64_t high) {
    int32_t *indices = calloc((size_t)n + 1, sizeof *indices);
    for (int64_t i = 0; i < n; i++)
        indices[i] = (int32_t)(low + (int64_t)(random_bits() % (uint64_t)(high - low)));
    return indices;
}

/* Rows (or columns) of a matrix, taken and added back. */
static void check_lines(bool columns, int64_t lines, int64_t length, int64_t n) {
    mica_graph *g = new_graph();
    int64_t rows = columns ? length : lines, width = columns ? lines : length;
    mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(rows, width));
    mica_value u =
        new_parameter(g, MICA_DTYPE_f32, columns ? MICA_INTS(length, n) : MICA_INTS(n, length));
    mica_value at = new_parameter(g, MICA_DTYPE_i32, MICA_INTS(n));
    mica_ints window = MICA_INTS(columns ? 0 : 1), dropped = MICA_INTS(columns ? 1 : 0);
    float *data = random_array(mica_value_type(x)), *updates = random_array(mica_value_type(u));
    int32_t *indices = random_indices(n, -2, lines + 2);
    const void *read[] = {data, indices}, *write[] = {data, indices, updates};
    float *taken = run_everywhere(
        mica_gather(g, x, at, window, dropped, MICA_NO_INTS, MICA_NO_INTS, dropped, 1,
                    columns ? MICA_INTS(length, 1) : MICA_INTS(1, length), "fill"),
        read);
    float *added = run_everywhere(mica_scatter(g, x, at, u, "add", window, dropped, MICA_NO_INTS,
                                               MICA_NO_INTS, dropped, 1, "fill"),
                                  write);
    int64_t wrong = 0;
    float *sums = calloc((size_t)(rows * width) + 1, sizeof *sums);
    memcpy(sums, data, (size_t)(rows * width) * sizeof *sums);
    for (int64_t i = 0; taken && i < n; i++)
        for (int64_t j = 0; j < length; j++) {
            int64_t line = indices[i], from = columns ? j * width + line : line * width + j;
            int64_t to = columns ? j * n + i : i * length + j;
            bool inside = line >= 0 && line < lines;
            wrong += taken[to] != (inside ? data[from] : 0);
            if (inside) sums[from] += updates[to];
        }
    for (int64_t i = 0; added && i < rows * width; i++) wrong += added[i] != sums[i];
    CHECK(wrong == 0);
    free(taken);
    free(added);
    free(sums);
    free(indices);
    free(data);
    free(updates);
    mica_graph_release(g);
}

TEST(rows_are_taken_and_added_in_order) {
    check_lines(false, 30, 64, 900);
    check_lines(false, 7, 1, 50000);
    check_lines(false, 5000, 3, 20000);
    check_lines(false, 3, 20000, 5);
}

TEST(columns_are_taken_and_added_in_order) {
    check_lines(true, 30, 64, 900);
    check_lines(true, 7, 5, 9000);
    check_lines(true, 1, 40000, 2);
}

/* The last of several windows stays, also where they overlap by half. */
TEST(overlapping_blocks_are_put_in_one_after_the_other) {
    enum { N = 3000, SIZE = 200, BLOCK = 16 };
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, MICA_DTYPE_i64, MICA_INTS(SIZE));
    mica_value u = new_parameter(g, MICA_DTYPE_i64, MICA_INTS(BLOCK, N));
    mica_value at = new_parameter(g, MICA_DTYPE_i32, MICA_INTS(N, 1));
    int64_t *data = random_array(mica_value_type(x)), *updates = random_array(mica_value_type(u));
    for (int64_t i = 0; i < BLOCK * N; i++) updates[i] = i;
    int32_t *indices = random_indices(N, -5, SIZE + 5);
    const void *write[] = {data, indices, updates};
    int64_t *put = run_everywhere(mica_scatter(g, x, at, u, "set", MICA_INTS(0), MICA_NO_INTS,
                                               MICA_NO_INTS, MICA_NO_INTS, MICA_INTS(0), 1, "clip"),
                                  write);
    for (int64_t i = 0; i < N; i++) {
        int64_t start = indices[i] < 0 ? 0 : indices[i];
        if (start > SIZE - BLOCK) start = SIZE - BLOCK;
        for (int64_t j = 0; j < BLOCK; j++) data[start + j] = updates[j * N + i];
    }
    CHECK(put && !memcmp(put, data, SIZE * sizeof *data));
    free(put);
    free(indices);
    free(data);
    free(updates);
    mica_graph_release(g);
}

/* Elements, by one index each, of which some are outside. */
static void check_elements(mica_dtype dtype, mica_dtype index, const char *mode) {
    enum { N = 40000, SIZE = 3000 };
    size_t bytes = mica_dtype_bytes(dtype), index_bytes = mica_dtype_bytes(index);
    bool fill = !strcmp(mode, "fill");
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, MICA_INTS(SIZE)),
               at = new_parameter(g, index, MICA_INTS(N));
    char *data = random_array(mica_value_type(x)), *indices = calloc(N, index_bytes);
    int64_t *places = calloc(N, sizeof *places), wrong = 0;
    for (int64_t i = 0; i < N; i++) {
        places[i] = (int64_t)(random_bits() % (SIZE + 20)) - 10;
        memcpy(indices + i * (int64_t)index_bytes, &places[i], index_bytes); /* little end first */
    }
    const void *read[] = {data, indices};
    char *taken = run_everywhere(mica_gather(g, x, at, MICA_NO_INTS, MICA_INTS(0), MICA_NO_INTS,
                                             MICA_NO_INTS, MICA_INTS(0), 1, MICA_INTS(1), mode),
                                 read);
    static const char zeros[16];
    for (int64_t i = 0; taken && i < N; i++) {
        int64_t last = SIZE - 1, place = places[i] < 0 ? 0 : places[i] > last ? last : places[i];
        bool outside = fill && place != places[i];
        wrong += memcmp(taken + i * (int64_t)bytes, outside ? zeros : data + place * (int64_t)bytes,
                        bytes) != 0;
    }
    CHECK(taken && wrong == 0);
    free(taken);
    free(places);
    free(indices);
    free(data);
    mica_graph_release(g);
}

TEST(elements_are_taken_by_one_index_each) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_i16,
                                        MICA_DTYPE_c128};
    for (int i = 0; i < 4; i++) {
        check_elements(dtypes[i], MICA_DTYPE_i32, "clip");
        check_elements(dtypes[i], MICA_DTYPE_i64, "clip");
        check_elements(dtypes[i], MICA_DTYPE_i32, "fill");
        check_elements(dtypes[i], MICA_DTYPE_i64, "fill");
        check_elements(dtypes[i], MICA_DTYPE_i16, "fill");
    }
}
