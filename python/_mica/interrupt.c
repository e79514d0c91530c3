/* Ctrl-C during a computation.
 *
 * Python's handler of a signal runs between two instructions of Python: not while C computes. So
 * where SIGINT means what it means by default, its action is put in front of Python's own: it sets
 * a flag, which C asks for in the middle of computations without Python's lock, and goes on to
 * Python's. A computation that is left answers MICA_CANCELLED, and when that is raised Python's
 * handler has its say, which is KeyboardInterrupt. A handler of the user's own takes the place of
 * both, and nothing is left for it.
 */
#include "extension.h"

#include <signal.h>

static volatile sig_atomic_t seen; /* a signal came; perhaps long ago */
static int32_t armed;              /* atomic: the main thread computes */
static unsigned long main_thread;
static struct sigaction pythons; /* what the action was before */
static PyObject *default_handler, *get_handler;

static void on_interrupt(int number) {
    seen = 1;
    pythons.sa_handler(number);
}

static bool is_interrupted(void) {
    return seen && __atomic_load_n(&armed, __ATOMIC_RELAXED);
}

/* Puts the action in front, where Python's handler is the default one. */
static void put_in_front(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
        now.sa_handler == on_interrupt || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
        return;
    PyObject *handler = PyObject_CallFunction(get_handler, "i", SIGINT);
    if (!handler) PyErr_Clear();
    bool is_default = handler == default_handler;
    Py_XDECREF(handler);
    if (!is_default) return;
    pythons = now;
    now.sa_handler = on_interrupt;
    sigaction(SIGINT, &now, NULL);
}

int watch_interrupts(void) {
    PyObject *module = PyImport_ImportModule("signal");
    default_handler = module ? PyObject_GetAttrString(module, "default_int_handler") : NULL;
    get_handler = module ? PyObject_GetAttrString(module, "getsignal") : NULL;
    Py_XDECREF(module);
    if (!default_handler || !get_handler) return -1;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(thread);
    if (!ident) return -1;
    main_thread = PyLong_AsUnsignedLong(ident);
    Py_DECREF(ident);
    if (PyErr_Occurred()) return -1;
    put_in_front();
    mica_set_interrupt_check(is_interrupted);
    return 0;
}

/* A signal that Python has handled already does not count any more; others may have set the action
 * anew since, as a notebook does for every cell. */
bool interrupt_begin(void) {
    static uint32_t count;
    if (PyThread_get_thread_ident() != main_thread) return false;
    if (count++ % 64 == 0) put_in_front();
    if (seen) {
        if (PyOS_InterruptOccurred())
            PyErr_SetInterrupt();
        else
            seen = 0;
    }
    __atomic_fetch_add(&armed, 1, __ATOMIC_RELAXED);
    return true;
}

void interrupt_end(bool began) {
    if (began) __atomic_fetch_sub(&armed, 1, __ATOMIC_RELAXED);
}

bool raise_interrupt(mica_status status) {
    if (mica_status_code(status) != MICA_CANCELLED || PyErr_CheckSignals() == 0) return false;
    seen = 0;
    mica_status_release(status);
    return true;
}
