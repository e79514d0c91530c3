/* A loss curve as a PNG, with libc alone. */
#ifndef MNIST_PLOT_H
#define MNIST_PLOT_H

#include <stdbool.h>

/* Plots values[0..n) over 1..n, with their running mean on top, on a logarithmic scale. */
bool plot_losses(const char *path, const float *values, int n);

/* The round distance of at most seven labels of 0..n: 1, 2 or 5 times a power of ten. */
int plot_tick(int n);
/* The running mean of values up to each of them: older ones count `smoothing` times less each step,
 * and those before the first not at all. */
void plot_average(const double *values, int n, double smoothing, double *out);

#endif
