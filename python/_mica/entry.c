#include "entry.h"

#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2000 }; /* milliseconds: a callback may wait for what never comes */

static int inside; /* atomic: threads that wait for the lock, or have it, by this door */
static int closed; /* atomic */
static pid_t process;

bool python_enter(PyGILState_STATE *state) {
    if (!Py_IsInitialized()) return false;
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&closed, __ATOMIC_SEQ_CST) && !PyGILState_Check()) {
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        return false;
    }
    *state = PyGILState_Ensure();
    return true;
}

void python_leave(PyGILState_STATE state) {
    PyGILState_Release(state);
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

/* In a child process no thread is inside: threads are not forked, their count is. */
static PyObject *close_door(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    __atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
    if (process == getpid()) {
        Py_BEGIN_ALLOW_THREADS const struct timespec millisecond = {0, 1000000};
        for (int i = 0; i < PATIENCE && __atomic_load_n(&inside, __ATOMIC_SEQ_CST) > 0; i++)
            nanosleep(&millisecond, NULL);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

int python_close_at_exit(void) {
    static PyMethodDef method = {"close_door", close_door, METH_NOARGS, NULL};
    process = getpid();
    PyObject *function = PyCFunction_New(&method, NULL);
    PyObject *module = function ? PyImport_ImportModule("atexit") : NULL;
    PyObject *done = module ? PyObject_CallMethod(module, "register", "O", function) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(module);
    Py_XDECREF(function);
    return done ? 0 : -1;
}
