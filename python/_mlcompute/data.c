/* What goes on outside one call: data that is bound, executions, notes. */
#include "../_mica/entry.h"
#include "binding.h"

/* ---- views of data ----------------------------------------------------------------------------*/

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    Handle *handle = (Handle *)self;
    if (handle->kind != KIND_tensor_data) {
        PyErr_SetString(PyExc_BufferError, "[buffer] only tensor data has bytes");
        view->obj = NULL;
        return -1;
    }
    mlc_tensor_data *data = handle->pointer;
    return PyBuffer_FillInfo(view, self, mlc_tensor_data_bytes(data),
                             (Py_ssize_t)mlc_tensor_data_length(data),
                             mlc_tensor_data_is_immutable(data), flags);
}

PyBufferProcs handle_buffer = {get_buffer, NULL};

/* Keeps the caller's memory until the library has let it go. */
typedef struct bound {
    Py_buffer view;
    PyObject *deallocator; /* called with the object that the memory is of; NULL */
} bound;

static void let_go(void *context, void *bytes, size_t length) {
    (void)bytes, (void)length;
    bound *memory = context;
    PyGILState_STATE state;
    if (!python_enter(&state)) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (memory->deallocator) {
        PyObject *object = memory->view.obj ? memory->view.obj : Py_None;
        PyObject *result = PyObject_CallOneArg(memory->deallocator, object);
        if (!result) PyErr_WriteUnraisable(memory->deallocator);
        Py_XDECREF(result);
        Py_DECREF(memory->deallocator);
    }
    PyBuffer_Release(&memory->view);
    PyMem_RawFree(memory);
    PyErr_Restore(type, value, traceback);
    python_leave(state);
}

static bool get_view(PyObject *object, bool immutable, Py_buffer *out) {
    int flags = PyBUF_ND | PyBUF_STRIDES | PyBUF_FORMAT;
    if (PyObject_GetBuffer(object, out, flags)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "[tensor_data] expected a buffer, such as a numpy array, got %s",
                     Py_TYPE(object)->tp_name);
        return false;
    }
    const char *wrong = NULL;
    if (!PyBuffer_IsContiguous(out, 'C'))
        wrong = "[tensor_data] the array must be C-contiguous (see numpy.ascontiguousarray)";
    else if (out->readonly && !immutable)
        wrong = "[tensor_data] the array is read-only: bind it as immutable data";
    if (!wrong) return true;
    PyErr_SetString(PyExc_ValueError, wrong);
    PyBuffer_Release(out);
    return false;
}

static PyObject *bind(PyObject *array, bool immutable, PyObject *deallocator) {
    bound *memory = PyMem_RawMalloc(sizeof *memory);
    if (!memory) return PyErr_NoMemory();
    if (!get_view(array, immutable, &memory->view)) {
        PyMem_RawFree(memory);
        return NULL;
    }
    memory->deallocator = deallocator && deallocator != Py_None ? Py_NewRef(deallocator) : NULL;
    mlc_tensor_data *data = NULL;
    void *bytes = memory->view.buf;
    size_t length = (size_t)memory->view.len;
    mica_status status =
        immutable ? mlc_tensor_data_create_immutable_with_deallocator(bytes, length, let_go, memory,
                                                                      &data)
                  : mlc_tensor_data_create_with_deallocator(bytes, length, let_go, memory, &data);
    if (!status) return make_tensor_data(data, true);
    Py_XDECREF(memory->deallocator);
    PyBuffer_Release(&memory->view);
    PyMem_RawFree(memory);
    return raise_status(status);
}

static PyObject *data_create(PyObject *Py_UNUSED(module), PyObject *array) {
    return bind(array, false, NULL);
}

static PyObject *data_create_immutable(PyObject *Py_UNUSED(module), PyObject *array) {
    return bind(array, true, NULL);
}

static PyObject *data_create_with_deallocator(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *array, *deallocator;
    if (!PyArg_ParseTuple(args, "OO:tensor_data", &array, &deallocator)) return NULL;
    if (!PyCallable_Check(deallocator)) {
        PyErr_SetString(PyExc_TypeError, "[tensor_data] the deallocator must be callable");
        return NULL;
    }
    return bind(array, false, deallocator);
}

/* ---- executions -------------------------------------------------------------------------------*/

/* The library and the call that starts an execution each hold one; both under Python's lock. */
struct completion {
    PyObject *callback;
    int references;
};

static void completion_release(completion *done) {
    if (--done->references > 0) return;
    Py_DECREF(done->callback);
    PyMem_RawFree(done);
}

static PyObject *exception_of(mica_status error) {
    if (!error) return Py_NewRef(Py_None);
    PyObject *type, *value, *traceback;
    raise_status(mica_status_create(mica_status_code(error), "%s", mica_status_message(error)));
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* The callback answers None, or what went wrong in it as a str. */
static mica_status completed(void *context, mlc_tensor *result, mica_status error, double seconds) {
    completion *done = context;
    mica_status status = NULL;
    PyGILState_STATE state;
    if (!python_enter(&state)) return NULL;
    PyObject *tensor = make_tensor(result, false), *exception = exception_of(error);
    PyObject *answer = tensor && exception ? PyObject_CallFunction(done->callback, "OOd", tensor,
                                                                   exception, seconds)
                                           : NULL;
    if (!answer) PyErr_WriteUnraisable(done->callback);
    if (answer && PyUnicode_Check(answer) && PyUnicode_AsUTF8(answer))
        status = mica_status_create(MICA_CALLBACK_ERROR, "%s", PyUnicode_AsUTF8(answer));
    Py_XDECREF(answer);
    Py_XDECREF(tensor);
    Py_XDECREF(exception);
    completion_release(done);
    python_leave(state);
    return status;
}

bool read_execution(call *c, PyObject *object, execution_holder *out) {
    PyObject *inputs, *labels, *weights, *outputs, *batch_size, *options, *callback;
    out->execution = mlc_execution_make(0);
    out->completion = NULL;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "[execution] expected a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(object, "OOOOOOO:execution", &inputs, &labels, &weights, &outputs,
                          &batch_size, &options, &callback))
        return false;
    mlc_execution *e = &out->execution;
    named_list lists[4];
    bool ok = read_named(c, inputs, "inputs_data", KIND_tensor_data, &lists[0]) &&
              read_named(c, labels, "loss_labels_data", KIND_tensor_data, &lists[1]) &&
              read_named(c, weights, "loss_label_weights_data", KIND_tensor_data, &lists[2]) &&
              read_named(c, outputs, "outputs_data", KIND_tensor_data, &lists[3]) &&
              read_int64(c, batch_size, "batch_size", &e->batch_size) &&
              read_flags(c, options, "options", execution_options_table, &e->options);
    if (!ok) return false;
    e->inputs = (mlc_named_data){lists[0].data, lists[0].n};
    e->loss_labels = (mlc_named_data){lists[1].data, lists[1].n};
    e->loss_label_weights = (mlc_named_data){lists[2].data, lists[2].n};
    e->outputs = (mlc_named_data){lists[3].data, lists[3].n};
    if (callback == Py_None) return true;
    if (!PyCallable_Check(callback)) {
        PyErr_SetString(PyExc_TypeError, "[execution] the completion handler must be callable");
        return false;
    }
    completion *done = PyMem_RawMalloc(sizeof *done);
    if (!done) {
        PyErr_NoMemory();
        return false;
    }
    *done = (completion){.callback = Py_NewRef(callback), .references = 2};
    out->completion = done;
    e->handler = completed;
    e->context = done;
    return true;
}

/* An execution that was refused has no end, so that the completion is released here. */
void execution_started(execution_holder *holder, mica_status status) {
    completion *done = holder->completion;
    if (!done) return;
    if (status && done->references == 2) done->references = 1;
    completion_release(done);
}

/* ---- notes ------------------------------------------------------------------------------------*/

static PyObject *note_handler;

static void note(void *Py_UNUSED(context), const char *text) {
    PyGILState_STATE state;
    if (!python_enter(&state)) return;
    if (note_handler) {
        PyObject *handler = Py_NewRef(note_handler);
        PyObject *result = PyObject_CallFunction(handler, "s", text);
        if (!result) PyErr_WriteUnraisable(handler);
        Py_XDECREF(result);
        Py_DECREF(handler);
    }
    python_leave(state);
}

static PyObject *set_note_handler(PyObject *Py_UNUSED(module), PyObject *handler) {
    Py_XSETREF(note_handler, handler == Py_None ? NULL : Py_NewRef(handler));
    mlc_set_note_handler(note_handler ? note : NULL, NULL);
    Py_RETURN_NONE;
}

/* write_unraisable(exception, where): errors without a caller go to sys.unraisablehook. */
static PyObject *write_unraisable(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *exception, *where;
    if (!PyArg_ParseTuple(args, "OO:write_unraisable", &exception, &where)) return NULL;
    if (!PyExceptionInstance_Check(exception)) {
        PyErr_SetString(PyExc_TypeError, "[write_unraisable] expected an exception");
        return NULL;
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exception)), Py_NewRef(exception),
                  PyException_GetTraceback(exception));
    PyErr_WriteUnraisable(where);
    Py_RETURN_NONE;
}

PyMethodDef data_methods[] = {
    {"mlc_tensor_data_create", data_create, METH_O, NULL},
    {"mlc_tensor_data_create_immutable", data_create_immutable, METH_O, NULL},
    {"mlc_tensor_data_create_with_deallocator", data_create_with_deallocator, METH_VARARGS, NULL},
    {"mlc_set_note_handler", set_note_handler, METH_O, NULL},
    {"write_unraisable", write_unraisable, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
