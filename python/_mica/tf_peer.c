/* What tf.distribute needs of C: doors, greetings and frames (mica/peer.h). */
#include "entry.h"
#include "tf_extension.h"

#include <mica/peer.h>

#define DOOR "mica.door"

/* ---- doors ------------------------------------------------------------------------------------*/

static void release_door(PyObject *capsule) {
    mica_door_release(PyCapsule_GetPointer(capsule, DOOR));
}

static PyObject *door(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    mica_door *made = NULL;
    mica_status status = mica_door_create(&made);
    if (status) return tf_raise(status);
    PyObject *capsule = PyCapsule_New(made, DOOR, release_door);
    if (!capsule) mica_door_release(made);
    return capsule;
}

/* peer_limits(door): {name: value}, and whether there is a secret as "secret". */
static PyObject *limits(PyObject *Py_UNUSED(module), PyObject *capsule) {
    const mica_door *d = PyCapsule_GetPointer(capsule, DOOR);
    if (!d) return NULL;
    const mica_door_bounds *l = mica_door_limits(d);
    return Py_BuildValue("{s:O,s:i,s:i,s:i,s:K,s:K,s:d}", "secret",
                         mica_door_has_secret(d) ? Py_True : Py_False, "connections",
                         l->connections, "arrays", l->arrays, "variables", l->variables, "body",
                         (unsigned long long)l->body, "memory", (unsigned long long)l->memory,
                         "greeting_seconds", l->greeting_seconds);
}

/* peer_guard(door): this thread's allocations keep to the door's limit from now on. */
static PyObject *guard(PyObject *Py_UNUSED(module), PyObject *capsule) {
    const mica_door *d = PyCapsule_GetPointer(capsule, DOOR);
    if (!d) return NULL;
    mica_door_guard(d);
    Py_RETURN_NONE;
}

/* ---- waiting ----------------------------------------------------------------------------------*/

/* Signals are handled, and may raise, while the thread that handles them waits. */
static bool check_signals(void *context) {
    (void)context;
    PyGILState_STATE state;
    if (!python_enter(&state)) return false;
    bool goes_on = PyErr_CheckSignals() == 0;
    python_leave(state);
    return goes_on;
}

/* An exception that a signal's handler has raised stands; the status goes. */
static PyObject *raise_peer(mica_status status) {
    if (mica_status_code(status) != MICA_CANCELLED || !PyErr_Occurred()) return tf_raise(status);
    mica_status_release(status);
    return NULL;
}

static bool peer_of(PyObject *capsule, int socket, int is_main, mica_peer *out) {
    *out = (mica_peer){.door = PyCapsule_GetPointer(capsule, DOOR), .socket = socket};
    if (is_main) out->keep_waiting = check_signals;
    return out->door != NULL;
}

/* ---- greetings and frames ---------------------------------------------------------------------*/

/* peer_greet(door, socket, is_main, is_server, purpose) */
static PyObject *greet(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    int socket, is_main, is_server;
    const char *purpose;
    mica_peer peer;
    if (!PyArg_ParseTuple(args, "Oipps:peer_greet", &capsule, &socket, &is_main, &is_server,
                          &purpose) ||
        !peer_of(capsule, socket, is_main, &peer))
        return NULL;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_peer_greet(&peer, is_server, purpose);
    Py_END_ALLOW_THREADS;
    if (status) return raise_peer(status);
    Py_RETURN_NONE;
}

/* Bytes of C as an object with a buffer, which owns them. */
typedef struct Received {
    PyObject_HEAD uint8_t *bytes;
    Py_ssize_t n;
} Received;

static int received_buffer(PyObject *self, Py_buffer *view, int flags) {
    Received *r = (Received *)self;
    static char nothing[1];
    return PyBuffer_FillInfo(view, self, r->bytes ? (void *)r->bytes : (void *)nothing, r->n, 1,
                             flags);
}

static void received_dealloc(PyObject *self) {
    mica_bytes_free(((Received *)self)->bytes);
    Py_TYPE(self)->tp_free(self);
}

static PyBufferProcs received_procs = {.bf_getbuffer = received_buffer};
PyTypeObject TFReceived_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mica._mica.Received",
    .tp_basicsize = sizeof(Received),
    .tp_dealloc = received_dealloc,
    .tp_as_buffer = &received_procs,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

/* Takes the bytes, in any case. */
static PyObject *received(uint8_t *bytes, size_t n) {
    Received *r = PyObject_New(Received, &TFReceived_Type);
    if (!r) {
        mica_bytes_free(bytes);
        return NULL;
    }
    r->bytes = bytes;
    r->n = (Py_ssize_t)n;
    return (PyObject *)r;
}

/* peer_receive(door, socket, is_main, seconds, most_body): (the header's text, the body) */
static PyObject *receive(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    int socket, is_main;
    double seconds;
    unsigned long long most;
    mica_peer peer;
    mica_frame frame;
    if (!PyArg_ParseTuple(args, "OipdK:peer_receive", &capsule, &socket, &is_main, &seconds,
                          &most) ||
        !peer_of(capsule, socket, is_main, &peer))
        return NULL;
    mica_status status;
    mica_mark_caller_line();
    Py_BEGIN_ALLOW_THREADS;
    status = mica_peer_receive(&peer, seconds, most, &frame);
    Py_END_ALLOW_THREADS;
    if (status) return raise_peer(status);
    PyObject *header =
        PyBytes_FromStringAndSize((const char *)frame.header, (Py_ssize_t)frame.n_header);
    mica_bytes_free(frame.header);
    PyObject *body = received(frame.body, frame.n_body);
    if (header && body) return Py_BuildValue("(NN)", header, body);
    Py_XDECREF(header);
    Py_XDECREF(body);
    return NULL;
}

/* peer_send(door, socket, is_main, header, [bytes...]) */
static PyObject *send_frame(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule, *list;
    int socket, is_main;
    const char *header;
    Py_ssize_t n_header;
    mica_peer peer;
    if (!PyArg_ParseTuple(args, "Oipy#O!:peer_send", &capsule, &socket, &is_main, &header,
                          &n_header, &PyList_Type, &list) ||
        !peer_of(capsule, socket, is_main, &peer))
        return NULL;
    PyObject *parts = PyList_AsTuple(list); /* no other reference can change it */
    if (!parts) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(parts);
    const void **pointers = PyMem_Calloc((size_t)n + 1, sizeof *pointers);
    size_t *sizes = PyMem_Calloc((size_t)n + 1, sizeof *sizes);
    bool failed = !pointers || !sizes;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        PyObject *part = PyTuple_GET_ITEM(parts, i);
        failed = !PyBytes_Check(part);
        if (failed) {
            PyErr_SetString(PyExc_TypeError, "peer_send takes bytes");
            break;
        }
        pointers[i] = PyBytes_AS_STRING(part);
        sizes[i] = (size_t)PyBytes_GET_SIZE(part);
    }
    mica_status status = NULL;
    if (!failed) {
        mica_mark_caller_line();
        Py_BEGIN_ALLOW_THREADS;
        status = mica_peer_send(&peer, header, (size_t)n_header, pointers, sizes, (int32_t)n);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(pointers);
    PyMem_Free(sizes);
    Py_DECREF(parts);
    if (failed) return NULL;
    if (status) return raise_peer(status);
    Py_RETURN_NONE;
}

PyMethodDef tf_peer_functions[] = {
    {"peer_door", door, METH_NOARGS, NULL},
    {"peer_limits", limits, METH_O, NULL},
    {"peer_guard", guard, METH_O, NULL},
    {"peer_greet", greet, METH_VARARGS, NULL},
    {"peer_receive", receive, METH_VARARGS, NULL},
    {"peer_send", send_frame, METH_VARARGS, NULL},
    {0},
};
