/* The axis and the curve of the loss plot. */
#include <math.h>

#include "../../examples/mnist_plot.h"
#include "test.h"

static bool is_round(int tick) {
    while (tick % 10 == 0) tick /= 10;
    return tick == 1 || tick == 2 || tick == 5;
}

TEST(labels_stand_at_round_numbers_and_are_few) {
    for (int n = 1; n < 100000; n = n * 11 / 10 + 1) {
        int tick = plot_tick(n);
        CHECK(is_round(tick));
        CHECK(n / tick <= 6);
        CHECK(tick == 1 || n / tick >= 2);
    }
    CHECK(plot_tick(938) == 200);
    CHECK(plot_tick(6) == 1);
}

TEST(the_average_of_equal_values_is_that_value_from_the_start) {
    double values[50], out[50];
    for (int i = 0; i < 50; i++) values[i] = 3;
    plot_average(values, 50, 0.97, out);
    for (int i = 0; i < 50; i++) CHECK(fabs(out[i] - 3) < 1e-12);
}

/* Weights of the first three: 1, s, s^2 from the newest, over their sum. */
TEST(the_average_weighs_recent_values_more_and_is_corrected_for_its_start) {
    double values[3] = {10, 4, 1}, out[3], s = 0.9;
    plot_average(values, 3, s, out);
    CHECK(fabs(out[0] - 10) < 1e-12);
    CHECK(fabs(out[1] - (4 + s * 10) / (1 + s)) < 1e-12);
    CHECK(fabs(out[2] - (1 + s * 4 + s * s * 10) / (1 + s + s * s)) < 1e-12);
}
