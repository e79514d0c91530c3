/* Ranks of tf.distribute (mica/dist.h): sums of tensors and bytes of all ranks, without the
 * interpreter's lock. */
#include "entry.h"
#include "tf_extension.h"

#include <mica/dist.h>
#include <mica/peer.h>
#include <string.h>

#define RANKS "mica.dist"

enum { MOST_ADDRESSES = 4096 };

static void release_ranks(PyObject *capsule) {
    mica_dist *dist = PyCapsule_GetPointer(capsule, RANKS);
    Py_BEGIN_ALLOW_THREADS;
    mica_dist_release(dist);
    Py_END_ALLOW_THREADS;
}

static mica_dist *ranks_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, RANKS);
}

/* An exception that a signal's handler has raised stands; the status goes. */
static PyObject *raise_dist(mica_status status) {
    if (mica_status_code(status) != MICA_CANCELLED || PyErr_CheckSignals() == 0)
        return tf_raise(status);
    mica_status_release(status);
    return NULL;
}

/* ---- opening ----------------------------------------------------------------------------------*/

/* dist_open(addresses, rank, join_seconds, seconds): addresses may be empty, then it is what
 * started the process. */
static PyObject *dist_open(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *list;
    mica_dist_options options = {.size = sizeof options};
    mica_dist *dist = NULL;
    if (!PyArg_ParseTuple(args, "O!idd:dist_open", &PyTuple_Type, &list, &options.rank,
                          &options.join_seconds, &options.seconds))
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(list);
    if (n > MOST_ADDRESSES) {
        PyErr_Format(PyExc_ValueError, "%zd addresses: at most %d", n, MOST_ADDRESSES);
        return NULL;
    }
    const char **addresses = PyMem_Calloc((size_t)n + 1, sizeof *addresses);
    if (!addresses) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        addresses[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(list, i)); /* lives with the tuple */
        if (addresses[i]) continue;
        PyMem_Free(addresses);
        return NULL;
    }
    options.addresses = addresses;
    options.n_addresses = (int32_t)n;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_dist_open(&options, &dist);
    Py_END_ALLOW_THREADS;
    PyMem_Free(addresses);
    if (status) return raise_dist(status);
    PyObject *capsule = PyCapsule_New(dist, RANKS, release_ranks);
    if (!capsule) mica_dist_release(dist);
    return capsule;
}

/* dist_facts(ranks): the rank, how many there are, the engine. */
static PyObject *dist_facts(PyObject *Py_UNUSED(module), PyObject *capsule) {
    const mica_dist *dist = ranks_of(capsule);
    if (!dist) return NULL;
    return Py_BuildValue("(iis)", (int)mica_dist_rank(dist), (int)mica_dist_size(dist),
                         mica_dist_engine(dist));
}

/* dist_abort(ranks, why) */
static PyObject *dist_abort(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    const char *why;
    if (!PyArg_ParseTuple(args, "Os:dist_abort", &capsule, &why)) return NULL;
    mica_dist *dist = ranks_of(capsule);
    if (!dist) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    mica_dist_abort(dist, why);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* ---- sums -------------------------------------------------------------------------------------*/

/* Tensors of one dtype one after the other, so that one call sums them all. */
typedef struct bucket {
    mica_tensor **tensors; /* borrowed */
    Py_ssize_t n;
    mica_dtype dtype;
    int64_t count;
} bucket;

static mica_status sum_bucket(mica_dist *dist, const bucket *b, mica_tensor **out) {
    size_t each = mica_dtype_bytes(b->dtype), at = 0;
    uint8_t *bytes = PyMem_RawMalloc((size_t)b->count * each + 1);
    if (!bytes) return mica_status_create(MICA_OUT_OF_MEMORY, "[all_reduce] out of memory");
    mica_status status = NULL;
    for (Py_ssize_t i = 0; !status && i < b->n; i++) {
        size_t n = (size_t)mica_type_elements(mica_tensor_type(b->tensors[i])) * each;
        status = mica_tensor_to_host(b->tensors[i], bytes + at, n);
        at += n;
    }
    if (!status)
        status = mica_dist_all_reduce(dist, MICA_DIST_SUM, b->dtype, bytes, bytes, b->count);
    at = 0;
    for (Py_ssize_t i = 0; !status && i < b->n; i++) {
        const mica_type *type = mica_tensor_type(b->tensors[i]);
        status =
            mica_tensor_from_host(mica_tensor_device(b->tensors[i]), type, bytes + at, &out[i]);
        at += (size_t)mica_type_elements(type) * each;
    }
    PyMem_RawFree(bytes);
    return status;
}

static bool fill_bucket(PyObject *list, bucket *b) {
    for (Py_ssize_t i = 0; i < b->n; i++) {
        PyObject *item = PyTuple_GET_ITEM(list, i);
        TFTensor *tensor = (TFTensor *)item;
        bool is_number = tf_is_tensor(item) && tf_is_eager(tensor) &&
                         mica_tf_dtype_core(tensor->value.dtype) != MICA_DTYPE_COUNT;
        if (is_number) b->tensors[i] = tensor->value.object;
        const mica_type *type = is_number ? mica_tensor_type(b->tensors[i]) : NULL;
        if (!type || (i && type->dtype != b->dtype)) {
            PyErr_SetString(PyExc_TypeError, "dist_sum takes eager numbers of one dtype");
            return false;
        }
        b->dtype = type->dtype;
        b->count += mica_type_elements(type);
    }
    return true;
}

/* dist_sum(ranks, (tensor, ...)): the sums over the ranks; all have one dtype. */
static PyObject *dist_sum(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule, *list;
    if (!PyArg_ParseTuple(args, "OO!:dist_sum", &capsule, &PyTuple_Type, &list)) return NULL;
    mica_dist *dist = ranks_of(capsule);
    if (!dist) return NULL;
    bucket b = {.n = PyTuple_GET_SIZE(list)};
    b.tensors = PyMem_Calloc(2 * (size_t)b.n + 1, sizeof *b.tensors);
    if (!b.tensors) return PyErr_NoMemory();
    mica_tensor **sums = b.tensors + b.n;
    mica_status status = NULL;
    bool is_good = fill_bucket(list, &b);
    if (is_good && b.n) {
        mica_mark_caller_line();
        Py_BEGIN_ALLOW_THREADS;
        status = sum_bucket(dist, &b, sums);
        Py_END_ALLOW_THREADS;
    }
    PyObject *found = is_good && !status ? PyList_New(b.n) : NULL;
    for (Py_ssize_t i = 0; i < b.n; i++) {
        PyObject *sum = NULL;
        if (found && sums[i])
            sum = tf_eager_tensor(mica_tf_value_of(sums[i]));
        else
            mica_tensor_release(sums[i]);
        if (found && sum)
            PyList_SET_ITEM(found, i, sum);
        else
            Py_CLEAR(found);
    }
    PyMem_Free(b.tensors);
    return status ? raise_dist(status) : found;
}

/* ---- bytes ------------------------------------------------------------------------------------*/

/* What the ranks have, one after the other, and how much of it is whose. */
typedef struct parts {
    size_t *sizes;
    uint8_t *bytes;
} parts;

static mica_status gather(mica_dist *dist, const char *own, size_t n, uint64_t most, parts *p) {
    int32_t ranks = mica_dist_size(dist);
    uint64_t size = n, *all = PyMem_RawCalloc((size_t)ranks, sizeof *all);
    size_t total = 0;
    p->sizes = PyMem_RawCalloc((size_t)ranks, sizeof *p->sizes);
    mica_status status = NULL;
    if (!all || !p->sizes) status = mica_status_create(MICA_OUT_OF_MEMORY, "[gather] no memory");
    if (!status) status = mica_dist_all_gather(dist, &size, all, sizeof size);
    for (int32_t i = 0; !status && i < ranks; i++) {
        if (all[i] > most - total)
            status = mica_status_create(MICA_RESOURCE_EXHAUSTED,
                                        "[gather] the ranks bring more than %llu bytes together",
                                        (unsigned long long)most);
        p->sizes[i] = status ? 0 : (size_t)all[i];
        total += p->sizes[i];
    }
    if (!status) {
        p->bytes = PyMem_RawMalloc(total + 1);
        if (!p->bytes) mica_dist_abort(dist, "there is no memory for what the ranks bring");
        status = p->bytes ? mica_dist_all_gather_parts(dist, own, p->bytes, p->sizes)
                          : mica_status_create(MICA_OUT_OF_MEMORY, "[gather] no memory");
    }
    PyMem_RawFree(all);
    return status;
}

/* dist_gather(ranks, bytes, most): a list of the bytes of every rank. */
static PyObject *dist_gather(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    const char *own;
    Py_ssize_t n;
    unsigned long long most;
    parts p = {0};
    if (!PyArg_ParseTuple(args, "Oy#K:dist_gather", &capsule, &own, &n, &most)) return NULL;
    mica_dist *dist = ranks_of(capsule);
    if (!dist) return NULL;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = gather(dist, own, (size_t)n, most, &p);
    Py_END_ALLOW_THREADS;
    PyObject *found = status ? NULL : PyList_New(mica_dist_size(dist));
    size_t at = 0;
    for (int32_t i = 0; found && i < mica_dist_size(dist); i++) {
        PyObject *part =
            PyBytes_FromStringAndSize((const char *)p.bytes + at, (Py_ssize_t)p.sizes[i]);
        at += p.sizes[i];
        if (part)
            PyList_SET_ITEM(found, i, part);
        else
            Py_CLEAR(found);
    }
    PyMem_RawFree(p.sizes);
    PyMem_RawFree(p.bytes);
    return status ? raise_dist(status) : found;
}

/* dist_all_gather(ranks, bytes): the bytes of all ranks, which have as many, in a list. */
static PyObject *dist_all_gather(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    const char *own;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "Oy#:dist_all_gather", &capsule, &own, &n)) return NULL;
    mica_dist *dist = ranks_of(capsule);
    if (!dist) return NULL;
    Py_ssize_t ranks = mica_dist_size(dist);
    char *all = n <= PY_SSIZE_T_MAX / ranks - 1 ? PyMem_RawMalloc((size_t)(n * ranks + 1)) : NULL;
    if (!all) return PyErr_NoMemory();
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_dist_all_gather(dist, own, all, (size_t)n);
    Py_END_ALLOW_THREADS;
    PyObject *found = status ? NULL : PyList_New(ranks);
    for (Py_ssize_t i = 0; found && i < ranks; i++) {
        PyObject *part = PyBytes_FromStringAndSize(all + i * n, n);
        if (part)
            PyList_SET_ITEM(found, i, part);
        else
            Py_CLEAR(found);
    }
    PyMem_RawFree(all);
    return status ? raise_dist(status) : found;
}

PyMethodDef tf_dist_functions[] = {
    {"dist_open", dist_open, METH_VARARGS, NULL},
    {"dist_facts", dist_facts, METH_O, NULL},
    {"dist_abort", dist_abort, METH_VARARGS, NULL},
    {"dist_sum", dist_sum, METH_VARARGS, NULL},
    {"dist_gather", dist_gather, METH_VARARGS, NULL},
    {"dist_all_gather", dist_all_gather, METH_VARARGS, NULL},
    {0},
};
