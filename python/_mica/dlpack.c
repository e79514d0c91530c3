/* DLPack, both ways. Tensors are exported as host memory: a view that stays open until the
 * consumer calls the deleter. Imported host memory is shared without a copy where the device can.
 *
 * The structures below are DLPack's published binary interface. */
#include "extension.h"

#include <string.h>

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };
enum { DL_FLOAT8_E4M3FN = 10, DL_FLOAT8_E5M2 = 12 };
enum { DL_FLAG_READ_ONLY = 1, DL_FLAG_COPIED = 2 };

typedef struct DLDevice {
    int32_t device_type, device_id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

static DLDataType dl_type(mica_dtype dtype) {
    static const uint8_t codes[] = {DL_BOOL, DL_INT, DL_UINT, DL_FLOAT, DL_COMPLEX, DL_FLOAT8_E5M2};
    uint8_t code = codes[mica_dtype_kind_of(dtype)];
    if (dtype == MICA_DTYPE_bf16) code = DL_BFLOAT;
    if (dtype == MICA_DTYPE_f8e4m3fn) code = DL_FLOAT8_E4M3FN;
    return (DLDataType){code, (uint8_t)(mica_dtype_bytes(dtype) * 8), 1};
}

static int dtype_from_dl(DLDataType type, mica_dtype *out_dtype) {
    for (int i = 0; i < MICA_DTYPE_COUNT; i++) {
        DLDataType own = dl_type((mica_dtype)i);
        if (own.code == type.code && own.bits == type.bits && type.lanes == 1) {
            *out_dtype = (mica_dtype)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "[from_dlpack] the element type (code %d, %d bits, %d lanes) is not supported",
                 type.code, type.bits, type.lanes);
    return -1;
}

/* ---- export
 * -------------------------------------------------------------------------------------*/

/* Lives as long as the consumer wants; knows no Python, so that any thread may delete it. */
typedef struct exported {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
    mica_tensor *tensor;
    int64_t shape[MICA_MAX_RANK], strides[MICA_MAX_RANK];
} exported;

static void exported_free(exported *e) {
    mica_status_release(mica_tensor_close_view(e->tensor));
    mica_tensor_release(e->tensor);
    PyMem_RawFree(e);
}
static void delete_plain(DLManagedTensor *self) {
    exported_free(self->manager_ctx);
}
static void delete_versioned(DLManagedTensorVersioned *self) {
    exported_free(self->manager_ctx);
}

static void capsule_plain_free(PyObject *capsule) {
    DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed)
        managed->deleter(managed);
    else
        PyErr_Clear(); /* consumed: renamed */
}

static void capsule_versioned_free(PyObject *capsule) {
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (managed)
        managed->deleter(managed);
    else
        PyErr_Clear();
}

static exported *export_view(mica_tensor *tensor) {
    const mica_type *type = mica_tensor_type(tensor);
    exported *e = PyMem_RawCalloc(1, sizeof *e);
    if (!e) {
        PyErr_NoMemory();
        return NULL;
    }
    void *data = NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_open_view(tensor, MICA_READ, &data);
    END_COMPUTING;
    if (status) {
        PyMem_RawFree(e);
        raise_status(status);
        return NULL;
    }
    mica_tensor_retain(tensor);
    e->tensor = tensor;
    int64_t step = 1;
    for (int32_t i = type->rank - 1; i >= 0; i--) {
        e->shape[i] = type->dims[i];
        e->strides[i] = step;
        step *= type->dims[i];
    }
    DLTensor view = {data, {DL_CPU, 0}, type->rank, dl_type(type->dtype), e->shape, e->strides, 0};
    e->plain = (DLManagedTensor){view, e, delete_plain};
    e->versioned = (DLManagedTensorVersioned){{1, 0}, e, delete_versioned, DL_FLAG_READ_ONLY, view};
    return e;
}

/* A second tensor with the same data. */
static mica_tensor *duplicate(mica_tensor *tensor) {
    void *data = NULL;
    mica_tensor *copy = NULL;
    mica_status status;
    BEGIN_COMPUTING;
    status = mica_tensor_open_view(tensor, MICA_READ, &data);
    if (!status) {
        status = mica_tensor_from_host(mica_tensor_device(tensor), mica_tensor_type(tensor), data,
                                       &copy);
        mica_status_release(mica_tensor_close_view(tensor));
    }
    END_COMPUTING;
    if (status) raise_status(status);
    return copy;
}

PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &dl_device, &copy))
        return NULL;
    int device_type = DL_CPU, device_id = 0, major = 0, minor = 0;
    if (dl_device != Py_None && !PyArg_ParseTuple(dl_device, "ii", &device_type, &device_id))
        return NULL;
    if (device_type != DL_CPU) {
        PyErr_Format(PyExc_BufferError,
                     "[dlpack] tensors are exported to the host only, not to "
                     "device type %d",
                     device_type);
        return NULL;
    }
    if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)) return NULL;
    mica_tensor *source = tensor_of(self);
    bool copied = copy == Py_True;
    if (copied && !(source = duplicate(source))) return NULL;
    exported *e = export_view(source);
    if (copied) mica_tensor_release(source);
    if (!e) return NULL;
    if (copied) e->versioned.flags = DL_FLAG_COPIED;
    PyObject *capsule =
        major >= 1 ? PyCapsule_New(&e->versioned, "dltensor_versioned", capsule_versioned_free)
                   : PyCapsule_New(&e->plain, "dltensor", capsule_plain_free);
    if (!capsule) exported_free(e);
    return capsule;
}

PyObject *tensor_dlpack_device(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused)) {
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

/* ---- import
 * -------------------------------------------------------------------------------------*/

static void free_plain(void *context) {
    DLManagedTensor *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

static void free_versioned(void *context) {
    DLManagedTensorVersioned *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

static bool is_row_major(const DLTensor *t) {
    int64_t step = 1;
    for (int32_t i = t->ndim - 1; t->strides && i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != step) return false;
        step *= t->shape[i];
    }
    return true;
}

static void gather_rows(const DLTensor *t, size_t itemsize, int32_t axis, const char *from,
                        char **to) {
    if (axis == t->ndim) {
        memcpy(*to, from, itemsize);
        *to += itemsize;
        return;
    }
    for (int64_t i = 0; i < t->shape[axis]; i++)
        gather_rows(t, itemsize, axis + 1, from + i * t->strides[axis] * (int64_t)itemsize, to);
}

/* Shares or copies; `release` is called exactly once, here or later. */
static PyObject *import_tensor(const DLTensor *t, void (*release)(void *), void *context,
                               mica_device *device) {
    mica_dtype dtype;
    mica_tensor *tensor = NULL;
    mica_status status = NULL;
    if (t->device.device_type != DL_CPU && t->device.device_type != DL_CUDA_HOST) {
        PyErr_Format(PyExc_BufferError, "[from_dlpack] device type %d; only host memory is read",
                     t->device.device_type);
        release(context);
        return NULL;
    }
    if (t->ndim > MICA_MAX_RANK || dtype_from_dl(t->dtype, &dtype) < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "[from_dlpack] %d axes, at most %d are possible",
                         t->ndim, MICA_MAX_RANK);
        release(context);
        return NULL;
    }
    mica_type type = mica_type_make(dtype, (mica_ints){t->shape, t->ndim});
    char *data = (char *)t->data + t->byte_offset;
    if (is_row_major(t) && mica_type_bytes(&type) > 0) {
        Py_BEGIN_ALLOW_THREADS;
        status = mica_tensor_wrap(device, &type, data, release, context, &tensor);
        Py_END_ALLOW_THREADS;
        if (status) release(context); /* a refusal leaves the data with us */
    } else {
        size_t bytes = mica_type_bytes(&type);
        char *rows = PyMem_Malloc(bytes ? bytes : 1), *at = rows;
        if (rows && bytes) gather_rows(t, mica_dtype_bytes(dtype), 0, data, &at);
        if (rows) status = mica_tensor_from_host(device, &type, rows, &tensor);
        PyMem_Free(rows);
        release(context);
        if (!rows) return PyErr_NoMemory();
    }
    return status ? raise_status(status) : tensor_take(tensor);
}

static PyObject *import_capsule(PyObject *capsule, mica_device *device) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->version.major != 1) {
            PyErr_Format(PyExc_BufferError, "[from_dlpack] version %d of DLPack is not known",
                         (int)m->version.major);
            return NULL;
        }
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return import_tensor(&m->dl_tensor, free_versioned, m, device);
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        PyCapsule_SetName(capsule, "used_dltensor");
        return import_tensor(&m->dl_tensor, free_plain, m, device);
    }
    PyErr_SetString(PyExc_TypeError, "[from_dlpack] no DLPack capsule, or one already used");
    return NULL;
}

static PyObject *ask_for_capsule(PyObject *object) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = PyTuple_New(0), *version = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
    PyObject *capsule = NULL;
    if (method && none && version) capsule = PyObject_Call(method, none, version);
    if (method && none && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* a producer that knows no versions */
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(version);
    return capsule;
}

PyObject *from_dlpack(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs) {
    static char *names[] = {"x", "device", NULL};
    PyObject *object, *device_name = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:from_dlpack", names, &object, &device_name))
        return NULL;
    mica_device *device = device_from_object(device_name);
    if (!device) return NULL;
    if (PyCapsule_CheckExact(object)) return import_capsule(object, device);
    PyObject *capsule = ask_for_capsule(object);
    PyObject *result = capsule ? import_capsule(capsule, device) : NULL;
    Py_XDECREF(capsule);
    return result;
}
