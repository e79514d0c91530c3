/* Device: a place where tensors live and graphs run; also a context that makes it the default. */
#include "extension.h"

#include <string.h>

/* What `with device:` put in force on this thread, innermost last. */
#define NESTED_DEVICES 32
static _Thread_local mica_device *nested[NESTED_DEVICES];
static _Thread_local int n_nested;
static mica_device *process_default; /* set or opened on first use; kept */

mica_device *device_default(void) {
    if (n_nested > 0) return nested[n_nested - 1];
    if (process_default) return process_default;
    mica_status status = mica_device_open("any", &process_default);
    if (status) raise_status(status);
    return process_default;
}

PyObject *device_object(mica_device *device) {
    DeviceObject *self = PyObject_New(DeviceObject, &Device_Type);
    if (!self) return NULL;
    mica_device_retain(device);
    self->device = device;
    return (PyObject *)self;
}

PyObject *device_open(PyObject *Py_UNUSED(module), PyObject *name) {
    if (Py_TYPE(name) == &Device_Type) {
        Py_INCREF(name);
        return name;
    }
    if (name == Py_None) {
        mica_device *device = device_default();
        return device ? device_object(device) : NULL;
    }
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!text) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "a device is a name such as 'cpu', not %R", name);
        return NULL;
    }
    mica_device *device = NULL;
    mica_status status = mica_device_open(text, &device);
    if (status) return raise_status(status);
    PyObject *object = device_object(device);
    mica_device_release(device);
    return object;
}

mica_device *device_from_object(PyObject *object) {
    if (!object || object == Py_None) return device_default();
    if (Py_TYPE(object) == &Device_Type) return ((DeviceObject *)object)->device;
    PyObject *opened = device_open(NULL, object);
    if (!opened) return NULL;
    mica_device *device = ((DeviceObject *)opened)->device;
    Py_DECREF(opened); /* the library keeps opened devices until mica_shutdown */
    return device;
}

PyObject *device_set_default(PyObject *Py_UNUSED(module), PyObject *name) {
    mica_device *device = NULL;
    if (name != Py_None) {
        device = device_from_object(name);
        if (!device) return NULL;
        mica_device_retain(device);
    }
    if (process_default) mica_device_release(process_default);
    process_default = device;
    Py_RETURN_NONE;
}

PyObject *device_list(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    PyObject *list = PyList_New(0);
    mica_device_info info = {.size = sizeof info};
    for (int32_t i = 0; list && mica_device_enumerate(i, &info); i++) {
        PyObject *row = Py_BuildValue(
            "{s:s,s:s,s:O,s:i}", "name", info.name, "description", info.description, "available",
            info.available ? Py_True : Py_False, "priority", (int)info.priority);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
        info.size = sizeof info;
    }
    return list;
}

static PyObject *device_enter(PyObject *self, PyObject *Py_UNUSED(unused)) {
    if (n_nested == NESTED_DEVICES) {
        PyErr_Format(PyExc_RuntimeError, "more than %d nested devices", NESTED_DEVICES);
        return NULL;
    }
    mica_device_retain(((DeviceObject *)self)->device);
    nested[n_nested++] = ((DeviceObject *)self)->device;
    Py_INCREF(self);
    return self;
}

static PyObject *device_exit(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    if (n_nested > 0) mica_device_release(nested[--n_nested]);
    Py_RETURN_FALSE;
}

static PyObject *device_wait(PyObject *self, PyObject *Py_UNUSED(unused)) {
    mica_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_device_wait(((DeviceObject *)self)->device);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *device_memory(PyObject *self, PyObject *Py_UNUSED(unused)) {
    size_t now, peak;
    mica_device_memory(((DeviceObject *)self)->device, &now, &peak);
    return Py_BuildValue("nn", (Py_ssize_t)now, (Py_ssize_t)peak);
}

static PyObject *device_memory_info(PyObject *self, PyObject *Py_UNUSED(unused)) {
    mica_memory_info info = {.size = sizeof info};
    mica_device_memory_info(((DeviceObject *)self)->device, &info);
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:L}", "now", (Py_ssize_t)info.now, "peak",
                         (Py_ssize_t)info.peak, "cached", (Py_ssize_t)info.cached, "limit",
                         (Py_ssize_t)info.limit, "blocks", (long long)info.blocks);
}

static PyObject *device_memory_reset(PyObject *self, PyObject *Py_UNUSED(unused)) {
    mica_device_memory_reset(((DeviceObject *)self)->device);
    Py_RETURN_NONE;
}

static PyObject *device_limit_memory(PyObject *self, PyObject *bytes) {
    size_t limit = bytes == Py_None ? 0 : PyLong_AsSize_t(bytes);
    if (PyErr_Occurred()) return NULL;
    mica_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_device_set_memory_limit(((DeviceObject *)self)->device, limit);
    Py_END_ALLOW_THREADS;
    if (status) return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *device_get_name(PyObject *self, void *Py_UNUSED(unused)) {
    return PyUnicode_FromString(mica_device_name(((DeviceObject *)self)->device));
}

static PyObject *device_get_description(PyObject *self, void *Py_UNUSED(unused)) {
    return PyUnicode_FromString(mica_device_description(((DeviceObject *)self)->device));
}

static PyObject *device_repr(PyObject *self) {
    return PyUnicode_FromFormat("<Device %s>", mica_device_name(((DeviceObject *)self)->device));
}

static Py_hash_t device_hash(PyObject *self) {
    return (Py_hash_t)((uintptr_t)((DeviceObject *)self)->device >> 4);
}

static PyObject *device_compare(PyObject *self, PyObject *other, int operation) {
    if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    bool same;
    if (Py_TYPE(other) == &Device_Type) {
        same = ((DeviceObject *)self)->device == ((DeviceObject *)other)->device;
    } else if (PyUnicode_Check(other)) { /* "cpu" names "cpu:0" too */
        const char *text = PyUnicode_AsUTF8(other);
        if (!text) return NULL;
        const char *name = mica_device_name(((DeviceObject *)self)->device);
        size_t n = strlen(text);
        same = !strcmp(text, name) || (!strncmp(text, name, n) && !strcmp(name + n, ":0"));
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static void device_dealloc(PyObject *self) {
    mica_device_release(((DeviceObject *)self)->device);
    PyObject_Free(self);
}

static PyMethodDef device_methods[] = {
    {"__enter__", device_enter, METH_NOARGS, NULL},
    {"__exit__", device_exit, METH_VARARGS, NULL},
    {"wait", device_wait, METH_NOARGS, "wait()\n\nWaits for all the work given to the device."},
    {"memory", device_memory, METH_NOARGS,
     "memory()\n\nBytes in use now, and the most that there were: (now, peak)."},
    {"memory_info", device_memory_info, METH_NOARGS,
     "memory_info()\n\nBytes in use now, the most since the last reset, those kept for reuse, and "
     "the "
     "limit (0: none)."},
    {"memory_reset", device_memory_reset, METH_NOARGS,
     "memory_reset()\n\nThe peak is what is in use now."},
    {"limit_memory", device_limit_memory, METH_O,
     "limit_memory(bytes)\n\nThe most that the device may hold; None: what there is."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef device_getters[] = {
    {"name", device_get_name, NULL, "Its name, such as \"cpu:0\".", NULL},
    {"description", device_get_description, NULL, "What it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Device_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica.Device",
    .tp_basicsize = sizeof(DeviceObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A device. `with device:` makes it the default for new tensors.",
    .tp_dealloc = device_dealloc,
    .tp_repr = device_repr,
    .tp_hash = device_hash,
    .tp_richcompare = device_compare,
    .tp_methods = device_methods,
    .tp_getset = device_getters,
};
