/* Files of named arrays: arrays_load and arrays_save. */
#include <mica/arrays.h>

#include "extension.h"

static PyObject *tensor_of_array(const mica_array *array, mica_device *device) {
    mica_tensor *tensor = NULL;
    mica_status status = mica_tensor_from_host(device, &array->type, array->data, &tensor);
    return status ? raise_status(status) : tensor_take(tensor);
}

/* arrays_load(path) -> [(name, tensor), ...] on the default device, in the order of the file */
static PyObject *arrays_load(PyObject *Py_UNUSED(module), PyObject *path) {
    PyObject *encoded;
    mica_arrays *arrays = NULL;
    mica_status status;
    mica_device *device = device_default();
    if (!device || !PyUnicode_FSConverter(path, &encoded)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = mica_arrays_open(PyBytes_AS_STRING(encoded), &arrays);
    Py_END_ALLOW_THREADS;
    Py_DECREF(encoded);
    if (status) return raise_file_status(status);
    PyObject *list = PyList_New((Py_ssize_t)mica_arrays_count(arrays));
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        const mica_array *array = mica_arrays_at(arrays, i);
        PyObject *tensor = tensor_of_array(array, device);
        PyObject *name =
            tensor ? PyUnicode_DecodeUTF8(array->name, (Py_ssize_t)strlen(array->name), NULL)
                   : NULL;
        if (name)
            PyList_SET_ITEM(list, i, Py_BuildValue("NN", name, tensor));
        else
            Py_CLEAR(list);
        if (!name) Py_XDECREF(tensor);
    }
    mica_arrays_release(arrays);
    return list;
}

/* Copies on the host, and names that live as long as the dict. */
static int fill(PyObject *dict, mica_array *arrays) {
    PyObject *name, *value;
    int64_t n = 0;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &name, &value); n++) {
        mica_array *array = &arrays[n];
        if (!is_tensor(value)) {
            PyErr_Format(PyExc_TypeError, "[save] %R is no Tensor but %.200s", name,
                         Py_TYPE(value)->tp_name);
            return -1;
        }
        mica_tensor *tensor = tensor_of(value);
        array->name = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (!array->name) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "[save] %R is no name", name);
            return -1;
        }
        array->type = *mica_tensor_type(tensor);
        size_t bytes = mica_type_bytes(&array->type);
        void *data = PyMem_Malloc(bytes + 1);
        if (!data) {
            PyErr_NoMemory();
            return -1;
        }
        array->data = data;
        mica_status status = mica_tensor_to_host(tensor, data, bytes);
        if (status) {
            raise_status(status);
            return -1;
        }
    }
    return 0;
}

/* arrays_save(path, {name: tensor}) */
static PyObject *arrays_save(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path, *dict, *result = NULL;
    if (!PyArg_ParseTuple(args, "O&O!:arrays_save", PyUnicode_FSConverter, &path, &PyDict_Type,
                          &dict))
        return NULL;
    Py_ssize_t n = PyDict_GET_SIZE(dict);
    mica_array *arrays = PyMem_Calloc((size_t)n + 1, sizeof *arrays);
    if (!arrays) PyErr_NoMemory();
    if (arrays && fill(dict, arrays) == 0) {
        mica_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = mica_arrays_save(PyBytes_AS_STRING(path), arrays, n);
        Py_END_ALLOW_THREADS;
        result = status ? raise_file_status(status) : Py_NewRef(Py_None);
    }
    for (Py_ssize_t i = 0; arrays && i < n; i++) PyMem_Free((void *)(uintptr_t)arrays[i].data);
    PyMem_Free(arrays);
    Py_DECREF(path);
    return result;
}

PyMethodDef arrays_methods[] = {
    {"arrays_load", arrays_load, METH_O, NULL},
    {"arrays_save", arrays_save, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
