/* Random numbers that take as many draws as it needs: TensorFlow's own, element for element.
 *
 * Every element has blocks of its own, 256 from those of the one before (42 for binomial numbers of
 * few trials), so that it does not matter how many of them the others take. */
#include <math.h>
#include <string.h>

#include "tf/host_rules.h"
#include "tf/ops/random/generators.h"
#include "tf/shape_rules.h"

enum { BLOCKS_OF_ELEMENT = 256, BLOCKS_OF_FEW_TRIALS = 42 };

/* ---- shapes -----------------------------------------------------------------------------------*/

mica_status tf_shape_categorical(mica_tf_inference *c) {
    int64_t count;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 1, &count, &known));
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank != 2)
        return MICA_INVALID("[%s] logits should be a matrix, got shape %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[0]).chars);
    c->outputs[0] = mica_tf_unknown_of_rank(2);
    if (c->inputs[0].rank == 2) c->outputs[0].dims[0] = c->inputs[0].dims[0];
    if (known) c->outputs[0].dims[1] = count;
    return NULL;
}

/* The given shape, then that of the parameter. */
mica_status tf_shape_per_parameter(mica_tf_inference *c) {
    mica_tf_shape all;
    const mica_tf_shape *parameter = &c->inputs[1];
    MICA_TRY(tf_shape_random(c));
    all = c->outputs[0];
    if (all.rank < 0 || parameter->rank < 0 || all.rank + parameter->rank > MICA_MAX_RANK) {
        c->outputs[0] = mica_tf_unknown();
        return NULL;
    }
    for (int32_t i = 0; i < parameter->rank; i++) all.dims[all.rank + i] = parameter->dims[i];
    all.rank += parameter->rank;
    c->outputs[0] = all;
    return NULL;
}

/* The given shape; the seed is input 1. */
mica_status tf_shape_by_seed(mica_tf_inference *c) {
    MICA_TRY(mica_tf_check_seed(c, 1));
    return tf_shape_random(c);
}

/* ---- numbers of one element -------------------------------------------------------------------*/

typedef struct stream {
    mica_tf_generator generator;
    double uniforms[2], normals[2];
    int n_uniforms, n_normals; /* left; the last one is taken first */
} stream;

static stream stream_of(const uint32_t state[6], int64_t element, int blocks) {
    stream s = {.generator = mica_tf_generator_of(state)};
    mica_tf_counter_skip(s.generator.counter, (uint64_t)element * (uint64_t)blocks);
    return s;
}

static double next_double(mica_tf_generator *r) {
    uint32_t high = mica_tf_generator_word(r), low = mica_tf_generator_word(r);
    return mica_tf_words_double(high, low);
}

static double uniform(stream *s) {
    if (s->n_uniforms == 0) {
        for (int i = 0; i < 2; i++) s->uniforms[i] = next_double(&s->generator);
        s->n_uniforms = 2;
    }
    return s->uniforms[--s->n_uniforms];
}

static double normal(stream *s) {
    if (s->n_normals == 0) {
        mica_tf_normal_pair(&s->generator, true, s->normals);
        s->n_normals = 2;
    }
    return s->normals[--s->n_normals];
}

/* Marsaglia and Tsang. */
static double gamma_of(stream *s, double alpha) {
    if (!(alpha > 0)) return NAN;
    if (alpha == 1) return -log1p(-uniform(s));
    bool less = alpha < 1;
    double d = alpha + (less ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    for (;;) {
        double x = normal(s), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = uniform(s);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return less ? d * v * pow(uniform(s), 1 / alpha) : d * v;
    }
}

/* Knuth's product of uniform numbers. */
static double small_poisson(stream *s, double rate) {
    double least = exp(-rate), product = 1, x = 0;
    for (;; x++) {
        product *= uniform(s);
        if (product <= least) return x;
    }
}

/* Hormann's transformed rejection. */
static double large_poisson(stream *s, double rate) {
    double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), shifted = 0.5 - fabs(u);
        double k = floor((2 * a / shifted + b) * u + rate + 0.43);
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
        double found = log(v * inverse_alpha / (a / (shifted * shifted) + b));
        if (found <= -rate + k * log_rate - lgamma(k + 1)) return k;
    }
}

static double poisson_of(stream *s, double rate) {
    if (!(rate >= 0) || isinf(rate)) return NAN;
    return rate < 10 ? small_poisson(s, rate) : large_poisson(s, rate);
}

/* Sums of geometric numbers. */
static double small_binomial(stream *s, double count, double probability) {
    double sum = 0;
    for (int64_t n = 0;; n++) {
        sum += ceil(log(uniform(s)) / log1p(-probability));
        if (sum > count) return (double)n;
    }
}

static double stirling_tail(double k) {
    static const double tails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                   0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                   0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                   0.00833056343336287};
    if (k <= 9) return tails[(int)k];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* Hormann's transformed rejection. */
static double large_binomial(stream *s, double count, double p) {
    double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, accepted = 0.92 - 4.2 / b;
    double r = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation, m = floor((count + 1) * p);
    for (;;) {
        double u = uniform(s) - 0.5, v = uniform(s), shifted = 0.5 - fabs(u);
        double k = floor((2 * a / shifted + b) * u + c);
        if (shifted >= 0.07 && v <= accepted) return k;
        if (k < 0 || k > count) continue;
        v = log(v * alpha / (a / (shifted * shifted) + b));
        double bound = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) +
                       (count + 1) * log((count - m + 1) / (count - k + 1)) +
                       (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                       stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
        if (v <= bound) return k;
    }
}

static double binomial_of(const uint32_t state[6], int64_t element, double count, double p) {
    if (isnan(p) || isnan(count)) return NAN;
    if (count <= 0 || p <= 0) return 0;
    if (p >= 1) return count;
    double q = p <= 0.5 ? p : 1 - p;
    bool few = count * q < 10;
    stream s = stream_of(state, element, few ? BLOCKS_OF_FEW_TRIALS : BLOCKS_OF_ELEMENT);
    double k = few ? small_binomial(&s, count, q) : large_binomial(&s, count, q);
    return p <= 0.5 ? k : count - k;
}

/* ---- tensors of them --------------------------------------------------------------------------*/

/* The elements of a tensor as doubles; free with mica_free. */
static mica_status read_doubles(mica_tf_host *c, int32_t i, double **out, int64_t *out_n) {
    mica_tensor *tensor = c->inputs[i].object, *wide = NULL;
    mica_attribute attribute = {.integer = MICA_DTYPE_f64};
    *out = NULL;
    MICA_TRY(mica_eager(c->device, MICA_OP_convert, &tensor, 1, &attribute, &wide));
    *out_n = mica_type_elements(mica_tensor_type(wide));
    *out = mica_alloc(((size_t)*out_n + 1) * sizeof **out);
    mica_status status =
        *out ? mica_tensor_to_host(wide, *out, (size_t)*out_n * sizeof **out) : MICA_NO_MEMORY();
    mica_tensor_release(wide);
    if (status) {
        mica_free(*out);
        *out = NULL;
    }
    return status;
}

/* The result: the shape of input 0, then (`more` given) that of another input. */
static mica_status result_type(mica_tf_host *c, int32_t more, mica_type *out) {
    int64_t dims[MICA_MAX_RANK];
    int32_t rank;
    MICA_TRY(mica_tf_tensor_ints(c->inputs[0].object, dims, MICA_MAX_RANK, &rank));
    mica_tf_shape rest = {.rank = 0};
    if (more >= 0) mica_tf_value_shape(c->inputs[more], &rest);
    if (rank + rest.rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the result's rank is too high", c->info->name);
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return MICA_INVALID("[%s] Dimension %lld must be >= 0", c->info->name,
                                (long long)dims[i]);
    for (int32_t i = 0; i < rest.rank; i++) dims[rank + i] = rest.dims[i];
    int64_t n;
    MICA_TRY(mica_tf_drawn(c->info->name, (mica_ints){dims, rank + rest.rank}, &n));
    *out = mica_type_make(mica_tf_dtype_core(c->output_dtypes[0]),
                          (mica_ints){dims, rank + rest.rank});
    return NULL;
}

typedef double (*draw)(stream *s, double parameter);

static mica_status do_not_fit(const mica_tf_host *c, int64_t n, int64_t total) {
    return MICA_INVALID("[%s] a result of %lld elements must have as many for each of the %lld "
                        "parameters",
                        c->info->name, (long long)total, (long long)n);
}

/* Element k of parameter j is drawn as number j samples + k, and stands at [k][j]. */
static mica_status fill(mica_tf_host *c, const mica_type *type, const uint32_t state[6],
                        int32_t parameter, draw one) {
    double *parameters;
    int64_t n, total = mica_type_elements(type);
    MICA_TRY(read_doubles(c, parameter, &parameters, &n));
    double *data = mica_alloc(((size_t)total + 1) * sizeof *data);
    bool fits = n ? total % n == 0 : total == 0;
    if (!data || !fits) {
        mica_free(parameters);
        mica_free(data);
        return fits ? MICA_NO_MEMORY() : do_not_fit(c, n, total);
    }
    int64_t samples = n ? total / n : 0;
    mica_status status = NULL;
    for (int64_t i = 0; i < samples * n && !status; i++) {
        if (mica_tf_is_interrupted(i)) status = mica_interrupt_status();
        stream s = stream_of(state, i, BLOCKS_OF_ELEMENT);
        data[i % samples * n + i / samples] = one(&s, parameters[i / samples]);
    }
    if (!status) status = mica_tf_give_doubles(c, type, data);
    mica_free(data);
    mica_free(parameters);
    return status;
}

static mica_status stateful(mica_tf_host *c, draw one) {
    mica_type type;
    uint32_t state[6];
    MICA_TRY(result_type(c, 1, &type));
    MICA_TRY(mica_tf_random_reserve(c->operation, c->is_eager, mica_type_elements(&type), state));
    return fill(c, &type, state, 1, one);
}

mica_status tf_host_random_gamma(mica_tf_host *c) {
    return stateful(c, gamma_of);
}

mica_status tf_host_random_poisson(mica_tf_host *c) {
    return stateful(c, poisson_of);
}

mica_status tf_host_stateless_gamma(mica_tf_host *c) {
    mica_type type;
    uint32_t state[6];
    MICA_TRY(result_type(c, -1, &type));
    MICA_TRY(mica_tf_key_counter_state(c, 1, state));
    return fill(c, &type, state, 4, gamma_of);
}

/* The result's shape has to end with that of a parameter. */
static mica_status check_end(mica_tf_host *c, const mica_type *type, int32_t parameter) {
    mica_tf_shape end;
    mica_tf_value_shape(c->inputs[parameter], &end);
    bool holds = end.rank <= type->rank;
    for (int32_t i = 0; holds && i < end.rank; i++)
        holds = end.dims[i] == type->dims[type->rank - end.rank + i];
    if (holds) return NULL;
    return MICA_INVALID("[%s] Shape passed in must end with broadcasted shape %s", c->info->name,
                        mica_tf_shape_text(&end).chars);
}

mica_status tf_host_stateless_poisson(mica_tf_host *c) {
    mica_type type;
    uint32_t state[6];
    MICA_TRY(result_type(c, -1, &type));
    MICA_TRY(check_end(c, &type, 2));
    MICA_TRY(mica_tf_seed_state(c, 1, state));
    return fill(c, &type, state, 2, poisson_of);
}

/* counts and probs have been broadcast to one shape, the end of the result's. */
mica_status tf_host_stateless_binomial(mica_tf_host *c) {
    mica_type type;
    uint32_t state[6];
    MICA_TRY(result_type(c, -1, &type));
    MICA_TRY(check_end(c, &type, 2));
    MICA_TRY(mica_tf_seed_state(c, 1, state));
    double *counts = NULL, *chances = NULL;
    int64_t n, n_chances, total = mica_type_elements(&type);
    double *data = mica_alloc(((size_t)total + 1) * sizeof *data);
    mica_status status = data ? read_doubles(c, 2, &counts, &n) : MICA_NO_MEMORY();
    if (!status) status = read_doubles(c, 3, &chances, &n_chances);
    if (!status && (n != n_chances || (n ? total % n != 0 : total != 0)))
        status = MICA_INVALID("[StatelessRandomBinomial] counts and probs do not fit the shape");
    for (int64_t i = 0; !status && n && i < total; i++) {
        int64_t samples = total / n;
        if (mica_tf_is_interrupted(i)) status = mica_interrupt_status();
        data[i % samples * n + i / samples] =
            binomial_of(state, i, counts[i / samples], chances[i / samples]);
    }
    if (!status) status = mica_tf_give_doubles(c, &type, data);
    mica_free(counts);
    mica_free(chances);
    mica_free(data);
    return status;
}

/* ---- classes ----------------------------------------------------------------------------------*/

/* Sums of e^(logit - largest), up to each class; what is not finite counts as nothing. */
static double sums_of(const double *logits, int64_t n, double *sums) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(logits[i]) && logits[i] > largest) largest = logits[i];
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(logits[i])) sum += exp(logits[i] - largest);
        sums[i] = sum;
    }
    return sum;
}

static int64_t class_of(const double *sums, int64_t n, double at) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (at < sums[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static mica_status classes(mica_tf_host *c, int64_t samples, const uint32_t state[6]) {
    double *logits;
    int64_t n;
    MICA_TRY(read_doubles(c, 0, &logits, &n));
    const mica_type *given = mica_tensor_type(c->inputs[0].object);
    int64_t rows = given->dims[0], width = given->dims[1];
    mica_type type =
        mica_type_make(mica_tf_dtype_core(c->output_dtypes[0]), MICA_INTS(rows, samples));
    double *room = mica_alloc(((size_t)(rows * samples) + (size_t)width + 1) * sizeof *room);
    if (!room) {
        mica_free(logits);
        return MICA_NO_MEMORY();
    }
    double *sums = room + rows * samples;
    mica_tf_generator generator = mica_tf_generator_of(state);
    mica_status status = NULL;
    for (int64_t i = 0; i < rows && !status; i++) {
        double total = sums_of(logits + i * width, width, sums);
        if (mica_interrupt_poll()) status = mica_interrupt_status();
        for (int64_t k = 0; k < samples && !status; k++) {
            if (mica_tf_is_interrupted(k)) status = mica_interrupt_status();
            room[i * samples + k] = (double)class_of(sums, width, next_double(&generator) * total);
        }
    }
    if (!status) status = mica_tf_give_doubles(c, &type, room);
    mica_free(room);
    mica_free(logits);
    return status;
}

static mica_status sample_count(mica_tf_host *c, int64_t *out) {
    int32_t n;
    MICA_TRY(mica_tf_tensor_ints(c->inputs[1].object, out, 1, &n));
    if (*out < 0)
        return MICA_INVALID("[%s] num_samples should be nonnegative, got %lld", c->info->name,
                            (long long)*out);
    return NULL;
}

mica_status tf_host_multinomial(mica_tf_host *c) {
    int64_t samples = 0, rows = mica_tensor_type(c->inputs[0].object)->dims[0];
    uint32_t state[6];
    MICA_TRY(sample_count(c, &samples));
    int64_t reserved = rows * ((samples + 3) / 4 * 4) * 2;
    MICA_TRY(mica_tf_random_reserve(c->operation, c->is_eager, reserved, state));
    return classes(c, samples, state);
}

mica_status tf_host_stateless_multinomial(mica_tf_host *c) {
    int64_t samples = 0;
    uint32_t state[6];
    MICA_TRY(sample_count(c, &samples));
    MICA_TRY(mica_tf_seed_state(c, 2, state));
    return classes(c, samples, state);
}
