/* The seed of the platform and the random initialisers: Philox 4x32-10 with the seed as its key.
 * The tensors made since the seed was set are numbered; tensor t draws from the counters t 2^64 on.
 */
#include <math.h>

#include "base/philox.h"
#include "mlc/objects.h"

static struct {
    mica_mutex mutex;
    uint64_t seed, next;
    bool is_set;
} platform;

void mlc_platform_set_rng_seed(uint64_t seed) {
    mica_mutex_lock(&platform.mutex);
    platform.seed = seed;
    platform.next = 0;
    platform.is_set = true;
    mica_mutex_unlock(&platform.mutex);
}

bool mlc_platform_rng_seed(uint64_t *out_seed) {
    if (!out_seed) return false;
    mica_mutex_lock(&platform.mutex);
    *out_seed = platform.seed;
    bool is_set = platform.is_set;
    mica_mutex_unlock(&platform.mutex);
    return is_set;
}

/* fan_in + fan_out: of matrices rows and columns, of kernels (out, in, ...) channels times the size
 * of the window, of vectors twice their size. */
static double fans(const mlc_tensor_descriptor *d) {
    const mica_type *type = &d->type;
    if (d->fan_in) return (double)d->fan_in + (double)d->fan_out;
    if (type->rank == 0) return 2;
    if (type->rank == 1) return 2 * (double)type->dims[0];
    double window = 1;
    for (int32_t i = 2; i < type->rank; i++) window *= (double)type->dims[i];
    return ((double)type->dims[0] + (double)type->dims[1]) * window;
}

static double unit(uint32_t bits) { /* [0, 1), 24 bits: exact as Float32 */
    return (double)(bits >> 8) * 0x1p-24;
}

/* Four numbers from four words; normal ones by Box and Muller. */
static void numbers(mlc_random_initializer_type type, double scale, const uint32_t bits[4],
                    double out[4]) {
    for (int i = 0; i < 4; i++) {
        if (type == MLC_RANDOM_INITIALIZER_UNIFORM)
            out[i] = unit(bits[i]);
        else if (type == MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM)
            out[i] = (2 * unit(bits[i]) - 1) * scale;
    }
    if (type != MLC_RANDOM_INITIALIZER_XAVIER) return;
    for (int i = 0; i < 4; i += 2) {
        double radius = scale * sqrt(-2 * log(1 - unit(bits[i])));
        double angle = 2 * 3.14159265358979323846 * unit(bits[i + 1]);
        out[i] = radius * cos(angle);
        out[i + 1] = radius * sin(angle);
    }
}

mica_status mlc_random_fill(const mlc_tensor_descriptor *d, mlc_random_initializer_type type,
                            void *bytes) {
    if (type != MLC_RANDOM_INITIALIZER_UNIFORM && type != MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM &&
        type != MLC_RANDOM_INITIALIZER_XAVIER)
        return MICA_INVALID("[tensor] %d is not a random initializer: Uniform 1, GlorotUniform 2, "
                            "Xavier 3",
                            (int)type);
    if (!mlc_data_type_is_float(d->data_type))
        return MICA_INVALID("[tensor] random initializers fill Float32 and Float16, not %s",
                            mlc_data_type_description(d->data_type));
    mica_mutex_lock(&platform.mutex);
    uint64_t seed = platform.seed, number = platform.next++;
    mica_mutex_unlock(&platform.mutex);
    bool is_glorot = type == MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM;
    double scale = sqrt((is_glorot ? 6 : 2) / fans(d));
    size_t n = (size_t)mica_type_elements(&d->type);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits[4];
        double values[4];
        mica_philox(seed, number, i / 4, bits);
        numbers(type, scale, bits, values);
        for (size_t k = 0; k < 4 && i + k < n; k++)
            mlc_set_element(d->data_type, bytes, i + k, values[k]);
    }
    return NULL;
}
