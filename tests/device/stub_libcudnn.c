/* A stand-in for cuDNN's graphs of operations, beside that for the driver (stub_libcuda.c, whose
 * STUB_CUDA makes calls fail here too): objects keep their attributes and check them, a plan
 * convolves on host memory in f32 or f64.
 *
 * Its engines, best first: 0 differs from run to run (and adds one to all results), 1 uses tensor
 * cores, 2 makes no plan, 3 wants a gigabyte, 4 is the one to take; the fallback is 5. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/dnn_api.h"
#include "stub_cuda.h"

enum { BAD = 2000, UNSUPPORTED = 3000, AXES = 5, IMAGE_X = 0, FILTER, IMAGE_Y, WORKSPACE = 4096 };

typedef struct tensor {
    int64_t sizes[AXES], strides[AXES], id, alignment, axes;
    int type;
} tensor;

typedef struct convolution {
    int kind, type, mode; /* kind: the object of its operation */
    int64_t spatial, low[3], high[3], strides[3], dilations[3];
    tensor tensors[3];
} convolution;

typedef struct object {
    int what, finalized;
    tensor tensor;
    convolution conv; /* of all that are made from it */
    int parts;        /* attributes that were set, a bit each */
    int engine, engine_mode;
    void *pointers[3], *workspace;
    int64_t ids[3];
} object;

/* ---- attributes -------------------------------------------------------------------------------*/

static int take(void *to, size_t bytes, int64_t n, int64_t most, const void *from) {
    if (n < 1 || n > most) return BAD;
    memcpy(to, from, bytes * (size_t)n);
    return OK;
}

/* A finalized object of a kind. */
static const object *object_at(const void *elements, int what) {
    const object *o = *(object *const *)elements;
    return o && o->what == what && o->finalized ? o : NULL;
}

static int set_tensor(object *o, int attribute, int of, int64_t n, const void *from) {
    tensor *t = &o->tensor;
    if (of != (attribute == CUDNN_TENSOR_DATA_TYPE ? CUDNN_OF_DATA_TYPE : CUDNN_OF_INT64))
        return BAD;
    switch (attribute) {
    case CUDNN_TENSOR_DATA_TYPE: return take(&t->type, sizeof t->type, n, 1, from);
    case CUDNN_TENSOR_ALIGNMENT: return take(&t->alignment, 8, n, 1, from);
    case CUDNN_TENSOR_ID: return take(&t->id, 8, n, 1, from);
    case CUDNN_TENSOR_SIZES: t->axes = n; return take(t->sizes, 8, n, AXES, from);
    case CUDNN_TENSOR_STRIDES: return n != t->axes ? BAD : take(t->strides, 8, n, AXES, from);
    default: return BAD;
    }
}

static int set_convolution(convolution *c, int attribute, int of, int64_t n, const void *from) {
    int wanted = attribute == CUDNN_CONVOLUTION_COMPUTES_IN ? CUDNN_OF_DATA_TYPE
                 : attribute == CUDNN_CONVOLUTION_MODE      ? CUDNN_OF_CONVOLUTION_MODE
                                                            : CUDNN_OF_INT64;
    if (of != wanted) return BAD;
    switch (attribute) {
    case CUDNN_CONVOLUTION_COMPUTES_IN: return take(&c->type, sizeof c->type, n, 1, from);
    case CUDNN_CONVOLUTION_MODE: return take(&c->mode, sizeof c->mode, n, 1, from);
    case CUDNN_CONVOLUTION_SPATIAL: return take(&c->spatial, 8, n, 1, from);
    case CUDNN_CONVOLUTION_LOW: return take(c->low, 8, n, 3, from);
    case CUDNN_CONVOLUTION_HIGH: return take(c->high, 8, n, 3, from);
    case CUDNN_CONVOLUTION_STRIDES: return take(c->strides, 8, n, 3, from);
    case CUDNN_CONVOLUTION_DILATIONS: return take(c->dilations, 8, n, 3, from);
    default: return BAD;
    }
}

/* Alpha, beta, convolution, filter, x, y. */
static int set_operation(object *o, int part, int of, const void *from) {
    static const int tensors[] = {FILTER, IMAGE_X, IMAGE_Y};
    if (part < 0 || part > 5) return BAD;
    o->parts |= 1 << part;
    if (part < 2) {
        double value = of == CUDNN_OF_DOUBLE  ? *(const double *)from
                       : of == CUDNN_OF_FLOAT ? (double)*(const float *)from
                                              : -1;
        return value == (part == 0 ? 1 : 0) ? OK : BAD;
    }
    const object *other = object_at(from, part == 2 ? CUDNN_CONVOLUTION : CUDNN_TENSOR);
    if (of != CUDNN_OF_OBJECT || !other) return BAD;
    if (part > 2) {
        o->conv.tensors[tensors[part - 3]] = other->tensor;
        return OK;
    }
    tensor kept[3];
    memcpy(kept, o->conv.tensors, sizeof kept);
    o->conv = other->conv;
    memcpy(o->conv.tensors, kept, sizeof kept);
    return OK;
}

/* Made from an object of another kind, whose convolution it takes over. */
static int set_origin(object *o, int of, const void *from, int what) {
    const object *origin = object_at(from, what);
    if (of != CUDNN_OF_OBJECT || !origin) return BAD;
    o->conv = origin->conv;
    o->engine = origin->engine;
    o->parts |= 1;
    return OK;
}

static int set_pack(object *o, int attribute, int of, int64_t n, const void *from) {
    if (of != (attribute == CUDNN_PACK_IDS ? CUDNN_OF_INT64 : CUDNN_OF_POINTER)) return BAD;
    if (attribute == CUDNN_PACK_IDS) return n != 3 ? BAD : take(o->ids, 8, n, 3, from);
    if (attribute == CUDNN_PACK_POINTERS)
        return n != 3 ? BAD : take(o->pointers, sizeof(void *), n, 3, from);
    return attribute == CUDNN_PACK_WORKSPACE ? take(&o->workspace, sizeof(void *), n, 1, from)
                                             : BAD;
}

static int set_attribute(object *o, int attribute, int of, int64_t n, const void *from) {
    switch (o->what) {
    case CUDNN_TENSOR: return set_tensor(o, attribute, of, n, from);
    case CUDNN_CONVOLUTION: return set_convolution(&o->conv, attribute, of, n, from);
    case CUDNN_OPERATION_FORWARD:
        return set_operation(o, attribute - CUDNN_FORWARD_ALPHA, of, from);
    case CUDNN_OPERATION_INPUT_GRADIENT:
        return set_operation(o, attribute - CUDNN_INPUT_GRADIENT_ALPHA, of, from);
    case CUDNN_OPERATION_FILTER_GRADIENT:
        return set_operation(o, attribute - CUDNN_FILTER_GRADIENT_ALPHA, of, from);
    case CUDNN_OPERATION_GRAPH:
        if (attribute == CUDNN_GRAPH_HANDLE) return of == CUDNN_OF_HANDLE ? OK : BAD;
        for (int what = CUDNN_OPERATION_FORWARD; what <= CUDNN_OPERATION_INPUT_GRADIENT; what++)
            if (set_origin(o, of, from, what) == OK) return n == 1 ? OK : BAD;
        return BAD;
    case CUDNN_HEURISTIC:
        if (attribute == CUDNN_HEURISTIC_MODE) return take(&o->engine_mode, 4, n, 1, from);
        return set_origin(o, of, from, CUDNN_OPERATION_GRAPH);
    case CUDNN_EXECUTION_PLAN:
        if (attribute == CUDNN_PLAN_HANDLE) return of == CUDNN_OF_HANDLE ? OK : BAD;
        return set_origin(o, of, from, CUDNN_ENGINE_CONFIG);
    case CUDNN_VARIANT_PACK: return set_pack(o, attribute, of, n, from);
    default: return BAD;
    }
}

/* ---- what is allowed --------------------------------------------------------------------------*/

static int check_operation(const object *o) {
    const convolution *c = &o->conv;
    const tensor *x = &c->tensors[IMAGE_X], *w = &c->tensors[FILTER], *y = &c->tensors[IMAGE_Y];
    if (o->parts != 63 || c->spatial < 2 || c->spatial > 3 || c->mode != CUDNN_CROSS_CORRELATION)
        return BAD;
    for (int i = 0; i < 3; i++) {
        const tensor *t = &c->tensors[i];
        if (t->type != CUDNN_F32 && t->type != CUDNN_F64) return UNSUPPORTED;
        if (t->axes != c->spatial + 2 || t->type != c->type || t->alignment < 1) return BAD;
    }
    if (x->sizes[0] != y->sizes[0] || y->sizes[1] != w->sizes[0] || x->sizes[1] % w->sizes[1])
        return BAD;
    if (w->sizes[0] % (x->sizes[1] / w->sizes[1])) return BAD;
    for (int s = 0; s < c->spatial; s++) {
        int64_t reach = (w->sizes[2 + s] - 1) * c->dilations[s] + 1;
        int64_t room = x->sizes[2 + s] + c->low[s] + c->high[s] - reach;
        if (c->low[s] < 0 || c->high[s] < 0 || c->strides[s] < 1 || c->dilations[s] < 1) return BAD;
        if (room < 0 || room / c->strides[s] + 1 != y->sizes[2 + s]) return BAD;
    }
    return OK;
}

static int check_object(object *o) {
    if (o->finalized) return BAD;
    switch (o->what) {
    case CUDNN_TENSOR: return o->tensor.axes < 4 || o->tensor.strides[0] < 1 ? BAD : OK;
    case CUDNN_OPERATION_FORWARD:
    case CUDNN_OPERATION_INPUT_GRADIENT:
    case CUDNN_OPERATION_FILTER_GRADIENT: o->conv.kind = o->what; return check_operation(o);
    case CUDNN_OPERATION_GRAPH:
    case CUDNN_HEURISTIC: return o->parts ? OK : BAD;
    case CUDNN_EXECUTION_PLAN: return !o->parts ? BAD : o->engine == 2 ? UNSUPPORTED : OK;
    default: return OK;
    }
}

static int get_results(const object *heuristic, int64_t asked, int64_t *n, object **configs) {
    static const int engines[] = {0, 1, 2, 3, 4}, last[] = {5};
    int is_last = heuristic->engine_mode == CUDNN_MODE_FALLBACK;
    int64_t count = is_last ? 1 : 5;
    *n = asked < count ? asked : count;
    for (int64_t i = 0; i < *n; i++) {
        if (!configs[i] || configs[i]->what != CUDNN_ENGINE_CONFIG) return BAD;
        configs[i]->conv = heuristic->conv;
        configs[i]->engine = is_last ? last[i] : engines[i];
        configs[i]->finalized = 1;
    }
    return OK;
}

static int get_attribute(const object *o, int attribute, int64_t asked, int64_t *n, void *to) {
    static const int notes[] = {CUDNN_NOTE_NONDETERMINISTIC, CUDNN_NOTE_TENSOR_CORE};
    int64_t workspace = o->engine == 3 ? (int64_t)1 << 30 : WORKSPACE, number = o->engine;
    *n = 1;
    if (asked < 1) return BAD;
    switch (attribute) {
    case CUDNN_HEURISTIC_RESULTS: return get_results(o, asked, n, to);
    case CUDNN_CONFIG_ENGINE: (*(object **)to)->engine = o->engine; return OK;
    case CUDNN_ENGINE_NUMBER: return take(to, 8, 1, 1, &number);
    case CUDNN_ENGINE_NUMERICAL_NOTES:
        *n = o->engine < 2;
        return *n ? take(to, sizeof *notes, 1, 1, &notes[o->engine]) : OK;
    case CUDNN_ENGINE_BEHAVIOR_NOTES: *n = 0; return OK;
    case CUDNN_PLAN_WORKSPACE: return take(to, 8, 1, 1, &workspace);
    default: return BAD;
    }
}

/* ---- convolving -------------------------------------------------------------------------------*/

typedef struct work {
    convolution conv;
    int engine;
    char *pointers[3], *workspace;
} work;

static int64_t place_of(const tensor *t, const int64_t *index) {
    int64_t place = 0;
    for (int64_t i = 0; i < t->axes; i++) place += index[i] * t->strides[i];
    return place;
}

static double load(const tensor *t, const char *data, const int64_t *index) {
    int64_t at = place_of(t, index);
    return t->type == CUDNN_F64 ? ((const double *)(const void *)data)[at]
                                : (double)((const float *)(const void *)data)[at];
}

static void add(const tensor *t, double *sums, const int64_t *index, double value) {
    int64_t at = 0;
    for (int64_t i = 0; i < t->axes; i++) at = at * t->sizes[i] + index[i];
    sums[at] += value;
}

/* The next index vector; 0 after the last. */
static int advance(const tensor *t, int64_t *index) {
    for (int64_t i = t->axes - 1; i >= 0; i--) {
        if (++index[i] < t->sizes[i]) return 1;
        index[i] = 0;
    }
    return 0;
}

static double load_padded(const work *w, int i, const int64_t *index, int inside) {
    return inside ? load(&w->conv.tensors[i], w->pointers[i], index) : 0;
}

/* Where y's places meet x's, along all axes; 0: nowhere. Padding counts as zeros: *inside. */
static int meet(const convolution *c, int64_t (*at)[AXES], int *inside) {
    const tensor *x = &c->tensors[IMAGE_X], *f = &c->tensors[FILTER], *y = &c->tensors[IMAGE_Y];
    int is_back = c->kind == CUDNN_OPERATION_INPUT_GRADIENT;
    int64_t group = at[FILTER][0] / (f->sizes[0] / (x->sizes[1] / f->sizes[1]));
    int64_t channel = group * f->sizes[1] + at[FILTER][1];
    *inside = 1;
    if (is_back ? at[IMAGE_X][1] != channel : at[IMAGE_Y][1] != at[FILTER][0]) return 0;
    at[IMAGE_X][1] = channel;
    at[IMAGE_Y][1] = at[FILTER][0];
    at[is_back ? IMAGE_Y : IMAGE_X][0] = at[is_back ? IMAGE_X : IMAGE_Y][0];
    for (int64_t s = 0; s < c->spatial; s++) {
        int64_t tap = at[FILTER][2 + s] * c->dilations[s] - c->low[s];
        int64_t place =
            is_back ? at[IMAGE_X][2 + s] - tap : at[IMAGE_Y][2 + s] * c->strides[s] + tap;
        if (is_back && place % c->strides[s] != 0) return 0;
        if (is_back) place /= c->strides[s];
        at[is_back ? IMAGE_Y : IMAGE_X][2 + s] = place;
        *inside = *inside && place >= 0 && place < (is_back ? y : x)->sizes[2 + s];
    }
    return 1;
}

static void convolve(const work *w, int result, double *sums) {
    const convolution *c = &w->conv;
    int is_back = result == IMAGE_X, outer = is_back ? IMAGE_X : IMAGE_Y;
    int other = is_back ? IMAGE_Y : IMAGE_X, right = result == FILTER ? IMAGE_Y : FILTER, inside;
    int64_t at[3][AXES], place[AXES] = {0}, tap[AXES] = {0};
    /* The filter's elements with the channel of the place. */
    tensor taps = c->tensors[FILTER];
    taps.sizes[is_back] = 1;
    do {
        do {
            memcpy(at[outer], place, sizeof place);
            memcpy(at[FILTER], tap, sizeof tap);
            at[FILTER][is_back] = is_back ? place[1] % c->tensors[FILTER].sizes[1] : place[1];
            if (!meet(c, at, &inside)) continue;
            double left = load_padded(w, other, at[other], inside);
            add(&c->tensors[result], sums, at[result], left * load_padded(w, right, at[right], 1));
        } while (advance(&taps, tap));
    } while (advance(&c->tensors[outer], place));
}

static void run(const void *argument) {
    const work *w = argument;
    int result = w->conv.kind == CUDNN_OPERATION_FORWARD          ? IMAGE_Y
                 : w->conv.kind == CUDNN_OPERATION_INPUT_GRADIENT ? IMAGE_X
                                                                  : FILTER;
    const tensor *t = &w->conv.tensors[result];
    int64_t n = 1, index[AXES] = {0}, i = 0;
    for (int64_t a = 0; a < t->axes; a++) n *= t->sizes[a];
    double *sums = calloc((size_t)n, sizeof *sums);
    if (!sums) return;
    memset(w->workspace, 0xff, WORKSPACE);
    convolve(w, result, sums);
    do {
        double value = sums[i++] + (w->engine == 0);
        if (t->type == CUDNN_F64)
            ((double *)(void *)w->pointers[result])[place_of(t, index)] = value;
        else
            ((float *)(void *)w->pointers[result])[place_of(t, index)] = (float)value;
    } while (advance(t, index));
    free(sums);
}

/* ---- the library ------------------------------------------------------------------------------*/

API(cudnnCreate, cudnnHandle_t *handle) {
    BEGIN;
    *handle = malloc(1);
    stub_count(1);
    return OK;
}
API(cudnnDestroy, cudnnHandle_t handle) {
    free(handle);
    stub_count(-1);
    return OK;
}
API(cudnnSetStream, cudnnHandle_t handle, CUstream stream) {
    BEGIN;
    return handle && stream ? OK : BAD;
}
API(cudnnBackendCreateDescriptor, int what, cudnnObject *out) {
    BEGIN;
    object *o = calloc(1, sizeof *o);
    o->what = what;
    *out = o;
    stub_count(1);
    return OK;
}
API(cudnnBackendDestroyDescriptor, cudnnObject o) {
    free(o);
    stub_count(-1);
    return OK;
}
API(cudnnBackendFinalize, cudnnObject descriptor) {
    BEGIN;
    object *o = descriptor;
    int result = check_object(o);
    o->finalized = result == OK;
    return result;
}
API(cudnnBackendSetAttribute, cudnnObject descriptor, int attribute, int of, int64_t n,
    const void *elements) {
    BEGIN;
    object *o = descriptor;
    return !elements || o->finalized ? BAD : set_attribute(o, attribute, of, n, elements);
}
API(cudnnBackendGetAttribute, cudnnObject descriptor, int attribute, int of, int64_t asked,
    int64_t *n, void *elements) {
    BEGIN;
    (void)of;
    return elements ? get_attribute(descriptor, attribute, asked, n, elements) : BAD;
}
API(cudnnBackendExecute, cudnnHandle_t handle, cudnnObject plan, cudnnObject pack) {
    BEGIN;
    const object *p = plan, *v = pack;
    work w = {.conv = p->conv, .engine = p->engine, .workspace = v->workspace};
    if (!handle || !p->finalized || !v->finalized || !v->workspace) return BAD;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (w.conv.tensors[i].id == v->ids[k]) w.pointers[i] = v->pointers[k];
    for (int i = 0; i < 3; i++)
        if (!w.pointers[i] || (uintptr_t)w.pointers[i] % (uintptr_t)w.conv.tensors[i].alignment)
            return BAD;
    return stub_submit(run, &w, sizeof w);
}
