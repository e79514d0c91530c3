/* device/cpu/number.h: arithmetic of complex numbers in f64. */
#ifndef MICA_DEVICE_CPU_NUMBER_H
#define MICA_DEVICE_CPU_NUMBER_H

#include <math.h>

#include "device/cpu/linalg.h"

static inline cpu_number plus(cpu_number a, cpu_number b) {
    return (cpu_number){a.re + b.re, a.im + b.im};
}
static inline cpu_number minus(cpu_number a, cpu_number b) {
    return (cpu_number){a.re - b.re, a.im - b.im};
}
static inline cpu_number times(cpu_number a, cpu_number b) {
    return (cpu_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/* conj(a) b */
static inline cpu_number conj_times(cpu_number a, cpu_number b) {
    return (cpu_number){a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
static inline cpu_number scaled(cpu_number a, double factor) {
    return (cpu_number){a.re * factor, a.im * factor};
}
static inline double square(cpu_number a) {
    return a.re * a.re + a.im * a.im;
}
static inline double magnitude(cpu_number a) {
    return hypot(a.re, a.im);
}
/* |re| + |im|, which is as good as the magnitude where only its size counts */
static inline double size_of(cpu_number a) {
    return fabs(a.re) + fabs(a.im);
}
static inline cpu_number divided(cpu_number a, cpu_number b) {
    double unit = mica_cpu_linalg_unit(fmax(fabs(b.re), fabs(b.im)));
    b = scaled(b, unit);
    return scaled(conj_times(b, a), unit / square(b));
}
static inline cpu_number root_of(cpu_number a) {
    double length = magnitude(a);
    if (length == 0) return a;
    double re = sqrt(0.5 * (length + fabs(a.re))), im = 0.5 * a.im / re;
    return a.re >= 0 ? (cpu_number){re, im} : (cpu_number){fabs(im), copysign(re, a.im)};
}
/* The first element of at least 7/10 of the largest magnitude; -1 when all are 0. */
static inline int64_t leading_place(const cpu_number *x, int64_t step, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, magnitude(x[i * step]));
    for (int64_t i = 0; largest > 0 && i < n; i++)
        if (magnitude(x[i * step]) >= 0.7 * largest) return i;
    return -1;
}

#endif
