/* A loss curve as a PNG, with libc alone. */
#ifndef MNIST_PLOT_H
#define MNIST_PLOT_H

#include <stdbool.h>

/* Plots values[0..n) over 1..n, with their running mean on top, on a logarithmic scale. */
bool plot_losses(const char *path, const float *values, int n);

#endif
