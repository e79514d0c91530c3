/* Plans of convolutions by cuDNN: graphs of one operation. The library proposes engines, best
 * first; the plan is the first that works with memory under a bound, is deterministic (unless
 * MICA_FAST=1), adds in f32 or better and does not round its operands (f32 to tf32: MICA_TF32=1).
 * All is decided when the plan is made, so a launch can be recorded. */
#include "device/cuda/dnn.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "device/cuda/dnn_api.h"

enum {
    MOST_WORKSPACE = 512 << 20,
    MOST_ENGINES = 24, /* that are asked for, of a mode */
    MOST_NOTES = 16,
    MOST_OBJECTS = 8,
    ID_X = 1,
    ID_W,
    ID_Y,
};

struct cuda_dnn_plan {
    cuda_dnn_plan *next; /* of the device */
    int32_t references, n_objects;
    cuda_dnn_conv conv;
    cudnnObject objects[MOST_OBJECTS]; /* all that it is made of */
    cudnnObject plan;
    int64_t workspace_bytes;
};

struct cuda_dnn {
    const mica_cuda_dnn_api *api;
    mica_mutex mutex; /* of what follows */
    cudnnHandle_t handle;
    cuda_dnn_plan *plans; /* a list */
};

/* ---- the library ------------------------------------------------------------------------------*/

/* With the device's mutex held. */
static mica_status start_dnn(cuda_device *device) {
    const mica_cuda_dnn_api *api = NULL;
    MICA_TRY(mica_cuda_load_dnn(&api));
    struct cuda_dnn *dnn = mica_calloc(1, sizeof *dnn);
    if (!dnn) return MICA_NO_MEMORY();
    dnn->api = api;
    int result = -1;
    if (cuda_enter(device) == CUDA_SUCCESS) {
        result = api->create(&dnn->handle);
        cuda_leave(device);
    }
    if (result != CUDNN_SUCCESS) {
        mica_free(dnn);
        return MICA_ERROR(MICA_DEVICE_ERROR, "cuDNN does not start: status %d", result);
    }
    device->dnn = dnn;
    return NULL;
}

/* The library is looked for once; what is missing stands in the log. */
static mica_status open_dnn(cuda_device *device) {
    mica_status status = NULL;
    mica_mutex_lock(&device->mutex);
    if (!device->looked_for_dnn) {
        status = start_dnn(device);
        device->looked_for_dnn = !status || mica_status_code(status) != MICA_OUT_OF_MEMORY;
        if (status && device->looked_for_dnn) {
            mica_log_write(MICA_LOG_DEVICE, "%s convolves without cuDNN: %s", device->base.name,
                           mica_status_message(status));
            mica_status_release(status);
            status = NULL;
        }
    }
    mica_mutex_unlock(&device->mutex);
    return status;
}

void cuda_dnn_close(cuda_device *device) {
    struct cuda_dnn *dnn = device->dnn;
    if (!dnn) return;
    if (cuda_enter(device) == CUDA_SUCCESS) {
        dnn->api->destroy(dnn->handle);
        cuda_leave(device);
    }
    mica_free(dnn);
}

/* ---- objects ----------------------------------------------------------------------------------*/

/* Makes the objects of a plan; after a failure nothing more is done. */
typedef struct maker {
    const mica_cuda_dnn_api *api;
    cuda_dnn_plan *plan;
    bool failed;
} maker;

static cudnnObject begin(maker *m, int what) {
    cudnnObject object = NULL;
    m->failed = m->failed || m->api->object_create(what, &object) != CUDNN_SUCCESS;
    if (m->failed) return NULL;
    m->plan->objects[m->plan->n_objects++] = object;
    return object;
}

static void set(maker *m, cudnnObject object, int attribute, int of, int64_t n,
                const void *elements) {
    m->failed = m->failed || m->api->set(object, attribute, of, n, elements) != CUDNN_SUCCESS;
}

static void finish(maker *m, cudnnObject object) {
    m->failed = m->failed || m->api->finalize(object) != CUDNN_SUCCESS;
}

static void destroy_object(const mica_cuda_dnn_api *api, cudnnObject object) {
    if (object) api->object_destroy(object);
}

static void destroy_objects(const mica_cuda_dnn_api *api, cuda_dnn_plan *plan) {
    while (plan->n_objects > 0) destroy_object(api, plan->objects[--plan->n_objects]);
}

static int data_type_of(int64_t dtype) {
    switch (dtype) {
    case MICA_DTYPE_f64: return CUDNN_F64;
    case MICA_DTYPE_f16: return CUDNN_F16;
    case MICA_DTYPE_bf16: return CUDNN_BF16;
    default: return CUDNN_F32;
    }
}

static cudnnObject make_tensor(maker *m, int64_t id, const cuda_dnn_tensor *tensor) {
    int64_t axes = m->plan->conv.spatial + 2;
    int type = data_type_of(m->plan->conv.dtype);
    cudnnObject object = begin(m, CUDNN_TENSOR);
    set(m, object, CUDNN_TENSOR_DATA_TYPE, CUDNN_OF_DATA_TYPE, 1, &type);
    set(m, object, CUDNN_TENSOR_SIZES, CUDNN_OF_INT64, axes, tensor->sizes);
    set(m, object, CUDNN_TENSOR_STRIDES, CUDNN_OF_INT64, axes, tensor->strides);
    set(m, object, CUDNN_TENSOR_ID, CUDNN_OF_INT64, 1, &id);
    set(m, object, CUDNN_TENSOR_ALIGNMENT, CUDNN_OF_INT64, 1, &tensor->alignment);
    finish(m, object);
    return object;
}

static cudnnObject make_convolution(maker *m) {
    const cuda_dnn_conv *c = &m->plan->conv;
    int type = c->dtype == MICA_DTYPE_f64 ? CUDNN_F64 : CUDNN_F32, mode = CUDNN_CROSS_CORRELATION;
    cudnnObject object = begin(m, CUDNN_CONVOLUTION);
    set(m, object, CUDNN_CONVOLUTION_COMPUTES_IN, CUDNN_OF_DATA_TYPE, 1, &type);
    set(m, object, CUDNN_CONVOLUTION_MODE, CUDNN_OF_CONVOLUTION_MODE, 1, &mode);
    set(m, object, CUDNN_CONVOLUTION_SPATIAL, CUDNN_OF_INT64, 1, &c->spatial);
    set(m, object, CUDNN_CONVOLUTION_LOW, CUDNN_OF_INT64, c->spatial, c->low);
    set(m, object, CUDNN_CONVOLUTION_HIGH, CUDNN_OF_INT64, c->spatial, c->high);
    set(m, object, CUDNN_CONVOLUTION_STRIDES, CUDNN_OF_INT64, c->spatial, c->strides);
    set(m, object, CUDNN_CONVOLUTION_DILATIONS, CUDNN_OF_INT64, c->spatial, c->dilations);
    finish(m, object);
    return object;
}

/* The graph of the one operation. */
static cudnnObject make_graph(maker *m, cudnnHandle_t handle) {
    static const struct {
        int what, first; /* its attributes follow each other */
    } kinds[] = {
        [CUDA_DNN_FORWARD] = {CUDNN_OPERATION_FORWARD, CUDNN_FORWARD_ALPHA},
        [CUDA_DNN_INPUT_GRADIENT] = {CUDNN_OPERATION_INPUT_GRADIENT, CUDNN_INPUT_GRADIENT_ALPHA},
        [CUDA_DNN_FILTER_GRADIENT] = {CUDNN_OPERATION_FILTER_GRADIENT, CUDNN_FILTER_GRADIENT_ALPHA},
    };
    const cuda_dnn_conv *c = &m->plan->conv;
    const double factors[2] = {1, 0};
    const float factors_f32[2] = {1, 0};
    bool is_f64 = c->dtype == MICA_DTYPE_f64;
    int of = is_f64 ? CUDNN_OF_DOUBLE : CUDNN_OF_FLOAT, first = kinds[c->kind].first;
    cudnnObject x = make_tensor(m, ID_X, &c->x), w = make_tensor(m, ID_W, &c->w);
    cudnnObject y = make_tensor(m, ID_Y, &c->y), convolution = make_convolution(m);
    cudnnObject operation = begin(m, kinds[c->kind].what);
    for (int i = 0; i < 2; i++)
        set(m, operation, first + i, of, 1,
            is_f64 ? (const void *)&factors[i] : (const void *)&factors_f32[i]);
    set(m, operation, first + 2, CUDNN_OF_OBJECT, 1, &convolution);
    set(m, operation, first + 3, CUDNN_OF_OBJECT, 1, &w);
    set(m, operation, first + 4, CUDNN_OF_OBJECT, 1, &x);
    set(m, operation, first + 5, CUDNN_OF_OBJECT, 1, &y);
    finish(m, operation);
    cudnnObject graph = begin(m, CUDNN_OPERATION_GRAPH);
    set(m, graph, CUDNN_GRAPH_HANDLE, CUDNN_OF_HANDLE, 1, &handle);
    set(m, graph, CUDNN_GRAPH_OPERATIONS, CUDNN_OF_OBJECT, 1, &operation);
    finish(m, graph);
    return graph;
}

/* ---- engines ----------------------------------------------------------------------------------*/

typedef struct engine_notes {
    int64_t number, n;
    int32_t notes[MOST_NOTES];
    bool compiles; /* its kernels, when the plan is made */
} engine_notes;

static bool has_note(const engine_notes *of, int32_t note) {
    for (int64_t i = 0; i < of->n && i < MOST_NOTES; i++)
        if (of->notes[i] == note) return true;
    return false;
}

static bool read_notes(const mica_cuda_dnn_api *api, cudnnObject config, engine_notes *out) {
    int32_t behavior[MOST_NOTES];
    int64_t n = 0;
    cudnnObject engine = NULL;
    *out = (engine_notes){.number = -1};
    if (api->object_create(CUDNN_ENGINE, &engine) != CUDNN_SUCCESS) return false;
    bool known =
        api->get(config, CUDNN_CONFIG_ENGINE, CUDNN_OF_OBJECT, 1, &n, &engine) == CUDNN_SUCCESS &&
        api->get(engine, CUDNN_ENGINE_NUMBER, CUDNN_OF_INT64, 1, &n, &out->number) ==
            CUDNN_SUCCESS &&
        api->get(engine, CUDNN_ENGINE_NUMERICAL_NOTES, CUDNN_OF_NUMERICAL_NOTE, MOST_NOTES, &out->n,
                 out->notes) == CUDNN_SUCCESS &&
        api->get(engine, CUDNN_ENGINE_BEHAVIOR_NOTES, CUDNN_OF_BEHAVIOR_NOTE, MOST_NOTES, &n,
                 behavior) == CUDNN_SUCCESS;
    for (int64_t i = 0; known && i < n && i < MOST_NOTES; i++)
        out->compiles = out->compiles || behavior[i] == CUDNN_NOTE_COMPILES;
    api->object_destroy(engine);
    return known;
}

static bool is_allowed(const cuda_dnn_conv *conv, const engine_notes *engine) {
    bool rounds = conv->dtype == MICA_DTYPE_f32 && !conv->is_tf32;
    return (conv->is_fast || !has_note(engine, CUDNN_NOTE_NONDETERMINISTIC)) &&
           !has_note(engine, CUDNN_NOTE_DOWN_CONVERTS) &&
           !has_note(engine, CUDNN_NOTE_REDUCED_PRECISION) &&
           !(rounds && has_note(engine, CUDNN_NOTE_TENSOR_CORE));
}

static void log_plan(const cuda_device *device, const cuda_dnn_plan *plan,
                     const engine_notes *engine) {
    static const char *const kinds[] = {"forward", "input gradient", "filter gradient"};
    const cuda_dnn_conv *c = &plan->conv;
    char notes[100] = "";
    size_t length = 0;
    for (int64_t i = 0; i < engine->n && i < MOST_NOTES && length < sizeof notes - 8; i++)
        length += (size_t)snprintf(notes + length, sizeof notes - length, " %d", engine->notes[i]);
    const int64_t *x = c->x.sizes, *w = c->w.sizes;
    mica_log_write(MICA_LOG_DEVICE,
                   "%s %s %s of (%lld,%lld,%lld,%lld) with (%lld,%lld,%lld,%lld), strides %lld "
                   "%lld: cuDNN's engine %lld (notes%s%s), %lld bytes",
                   device->base.name, mica_dtype_name((mica_dtype)c->dtype), kinds[c->kind],
                   (long long)x[0], (long long)x[1], (long long)x[2], (long long)x[3],
                   (long long)w[0], (long long)w[1], (long long)w[2], (long long)w[3],
                   (long long)c->strides[0], (long long)c->strides[1], (long long)engine->number,
                   notes, engine->compiles ? ", compiled" : "", (long long)plan->workspace_bytes);
}

/* A plan with this configuration of an engine, which then belongs to it. */
static bool try_config(cuda_device *device, cuda_dnn_plan *plan, cudnnObject config) {
    struct cuda_dnn *dnn = device->dnn;
    const mica_cuda_dnn_api *api = dnn->api;
    maker m = {api, plan, false};
    engine_notes engine;
    int64_t n = 0;
    if (!read_notes(api, config, &engine) || !is_allowed(&plan->conv, &engine)) return false;
    cudnnObject object = begin(&m, CUDNN_EXECUTION_PLAN);
    set(&m, object, CUDNN_PLAN_HANDLE, CUDNN_OF_HANDLE, 1, &dnn->handle);
    set(&m, object, CUDNN_PLAN_CONFIG, CUDNN_OF_OBJECT, 1, &config);
    finish(&m, object);
    bool fits = !m.failed &&
                api->get(object, CUDNN_PLAN_WORKSPACE, CUDNN_OF_INT64, 1, &n,
                         &plan->workspace_bytes) == CUDNN_SUCCESS &&
                plan->workspace_bytes >= 0 && plan->workspace_bytes <= MOST_WORKSPACE;
    if (fits) {
        plan->plan = object;
        log_plan(device, plan, &engine);
    } else if (object) {
        plan->n_objects--;
        api->object_destroy(object);
    }
    return fits;
}

/* Takes the first configuration of a mode that fits; it is kept as the plan's, the others go. */
static bool try_configs(cuda_device *device, cuda_dnn_plan *plan, cudnnObject heuristic) {
    const mica_cuda_dnn_api *api = device->dnn->api;
    cudnnObject configs[MOST_ENGINES] = {NULL};
    int64_t n = 0;
    bool found = false, made = true;
    for (int i = 0; i < MOST_ENGINES && made; i++)
        made = api->object_create(CUDNN_ENGINE_CONFIG, &configs[i]) == CUDNN_SUCCESS;
    if (made && api->get(heuristic, CUDNN_HEURISTIC_RESULTS, CUDNN_OF_OBJECT, MOST_ENGINES, &n,
                         configs) == CUDNN_SUCCESS)
        for (int64_t i = 0; i < n && i < MOST_ENGINES && !found; i++) {
            found = try_config(device, plan, configs[i]);
            if (!found) continue;
            plan->objects[plan->n_objects++] = configs[i];
            configs[i] = NULL;
        }
    for (int i = 0; i < MOST_ENGINES; i++) destroy_object(api, configs[i]);
    return found;
}

static bool try_mode(cuda_device *device, cuda_dnn_plan *plan, cudnnObject graph, int mode) {
    const mica_cuda_dnn_api *api = device->dnn->api;
    cudnnObject heuristic = NULL;
    if (api->object_create(CUDNN_HEURISTIC, &heuristic) != CUDNN_SUCCESS) return false;
    bool found =
        api->set(heuristic, CUDNN_HEURISTIC_GRAPH, CUDNN_OF_OBJECT, 1, &graph) == CUDNN_SUCCESS &&
        api->set(heuristic, CUDNN_HEURISTIC_MODE, CUDNN_OF_HEURISTIC_MODE, 1, &mode) ==
            CUDNN_SUCCESS &&
        api->finalize(heuristic) == CUDNN_SUCCESS && try_configs(device, plan, heuristic);
    api->object_destroy(heuristic);
    return found;
}

/* ---- plans ------------------------------------------------------------------------------------*/

/* With the library's mutex held. */
static cuda_dnn_plan *find_plan(struct cuda_dnn *dnn, const cuda_dnn_conv *conv) {
    cuda_dnn_plan *plan = dnn->plans;
    while (plan && memcmp(&plan->conv, conv, sizeof *conv) != 0) plan = plan->next;
    return plan;
}

static mica_status make_plan(cuda_device *device, const cuda_dnn_conv *conv,
                             cuda_dnn_plan **out_plan) {
    struct cuda_dnn *dnn = device->dnn;
    cuda_dnn_plan *plan = mica_calloc(1, sizeof *plan);
    if (!plan) return MICA_NO_MEMORY();
    plan->conv = *conv;
    bool found = false;
    if (cuda_enter(device) == CUDA_SUCCESS) {
        maker m = {dnn->api, plan, false};
        cudnnObject graph = make_graph(&m, dnn->handle);
        found = !m.failed && (try_mode(device, plan, graph, CUDNN_MODE_A) ||
                              try_mode(device, plan, graph, CUDNN_MODE_FALLBACK));
        if (!found) destroy_objects(dnn->api, plan);
        cuda_leave(device);
    }
    if (found) {
        plan->next = dnn->plans;
        dnn->plans = *out_plan = plan;
    } else {
        mica_free(plan);
    }
    return NULL;
}

mica_status cuda_dnn_plan_get(cuda_device *device, const cuda_dnn_conv *conv,
                              cuda_dnn_plan **out_plan) {
    *out_plan = NULL;
    MICA_TRY(open_dnn(device));
    struct cuda_dnn *dnn = device->dnn;
    if (!dnn) return NULL;
    mica_mutex_lock(&dnn->mutex);
    mica_status status = NULL;
    *out_plan = find_plan(dnn, conv);
    if (!*out_plan) status = make_plan(device, conv, out_plan);
    if (*out_plan) (*out_plan)->references++;
    mica_mutex_unlock(&dnn->mutex);
    return status;
}

void cuda_dnn_plan_release(cuda_device *device, cuda_dnn_plan *plan) {
    struct cuda_dnn *dnn = device->dnn;
    if (!plan) return;
    mica_mutex_lock(&dnn->mutex);
    if (--plan->references == 0) {
        cuda_dnn_plan **at = &dnn->plans;
        while (*at != plan) at = &(*at)->next;
        *at = plan->next;
        if (cuda_enter(device) == CUDA_SUCCESS) {
            destroy_objects(dnn->api, plan);
            cuda_leave(device);
        }
        mica_free(plan);
    }
    mica_mutex_unlock(&dnn->mutex);
}

size_t cuda_dnn_workspace(const cuda_dnn_plan *plan) {
    return (size_t)plan->workspace_bytes;
}

/* ---- launches ---------------------------------------------------------------------------------*/

static int execute(struct cuda_dnn *dnn, const cuda_dnn_plan *plan, CUstream stream,
                   void *const pointers[3], void *workspace) {
    static const int64_t ids[3] = {ID_X, ID_W, ID_Y};
    const mica_cuda_dnn_api *api = dnn->api;
    cudnnObject pack = NULL;
    int result = api->set_stream(dnn->handle, stream);
    if (!result) result = api->object_create(CUDNN_VARIANT_PACK, &pack);
    if (!result) result = api->set(pack, CUDNN_PACK_IDS, CUDNN_OF_INT64, 3, ids);
    if (!result) result = api->set(pack, CUDNN_PACK_POINTERS, CUDNN_OF_POINTER, 3, pointers);
    if (!result) result = api->set(pack, CUDNN_PACK_WORKSPACE, CUDNN_OF_POINTER, 1, &workspace);
    if (!result) result = api->finalize(pack);
    if (!result) result = api->execute(dnn->handle, plan->plan, pack);
    destroy_object(api, pack);
    return result;
}

mica_status cuda_dnn_execute(const cuda_dnn_plan *plan, cuda_stream *stream, mica_address x,
                             mica_address w, mica_address y, mica_address workspace) {
    cuda_device *device = stream->device;
    struct cuda_dnn *dnn = device->dnn;
    void *const pointers[3] = {(void *)(uintptr_t)x, (void *)(uintptr_t)w, (void *)(uintptr_t)y};
    if (stream->poison) return cuda_error(device, stream->poison, "launch");
    CUresult entered = cuda_enter(device);
    if (entered != CUDA_SUCCESS) return cuda_error(device, entered, "launch");
    mica_mutex_lock(&dnn->mutex);
    int result = execute(dnn, plan, stream->handle, pointers,
                         plan->workspace_bytes ? (void *)(uintptr_t)workspace : NULL);
    mica_mutex_unlock(&dnn->mutex);
    cuda_leave(device);
    if (result == CUDNN_SUCCESS) return NULL;
    return MICA_ERROR(MICA_DEVICE_ERROR, "[conv] %s: cuDNN answers status %d", device->base.name,
                      result);
}
