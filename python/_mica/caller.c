/* The line of the caller's program that runs now, for reports and for the errors of runs
 * (mica_set_caller_line): the innermost Python frame that belongs to no framework. */
#include <stdio.h>
#include <string.h>

#include "extension.h"

static char own_folder[1024]; /* of this package, with a slash at its end */

static bool belongs_to_framework(const char *file) {
    static const char *const others[] = {"/site-packages/", "/dist-packages/", "/keras/src/"};
    if (!strncmp(file, "<frozen", 7) ||
        (own_folder[1] && !strncmp(file, own_folder, strlen(own_folder))))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(file, others[i])) return true;
    const char *name = strrchr(file, '/'); /* the standard library's machinery around calls */
    return name && (!strcmp(name, "/functools.py") || !strcmp(name, "/contextlib.py") ||
                    !strcmp(name, "/runpy.py"));
}

/* Functions of one module share the object that names its file, so that the answer is found again
 * by address; a name that is kept here stays alive. The interpreter's lock is held. */
static bool is_framework(PyObject *name, const char *file) {
    static struct {
        PyObject *name;
        bool answer;
    } known[256];
    size_t i = (size_t)((uintptr_t)name >> 4) % 256;
    if (known[i].name != name) {
        Py_INCREF(name);
        Py_XSETREF(known[i].name, name);
        known[i].answer = belongs_to_framework(file);
    }
    return known[i].answer;
}

static bool describe(PyFrameObject *frame, char *text, size_t capacity) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    bool found = file && !is_framework(code->co_filename, file);
    if (!file) PyErr_Clear();
    if (found) snprintf(text, capacity, "%s:%d", file, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return found;
}

/* Frames are objects that may be made here: the collector must not run, since finalizers call the
 * library. */
static bool find_line(char *text, size_t capacity) {
    if (!Py_IsInitialized() || !PyGILState_Check() || PyErr_Occurred()) return false;
    int collects = PyGC_Disable();
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool found = false;
    while (frame && !(found = describe(frame, text, capacity))) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    if (collects) PyGC_Enable();
    return found;
}

int watch_lines(void) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *package = modules ? PyDict_GetItemString(modules, "mica") : NULL; /* borrowed */
    PyObject *path = package ? PyObject_GetAttrString(package, "__path__") : NULL;
    PyObject *folder = path ? PySequence_GetItem(path, 0) : NULL;
    const char *text = folder ? PyUnicode_AsUTF8(folder) : NULL;
    if (!text) PyErr_Clear(); /* imported by itself: its frames are C, and none is left out */
    snprintf(own_folder, sizeof own_folder, "%s/", text ? text : "");
    Py_XDECREF(folder);
    Py_XDECREF(path);
    mica_set_caller_line(find_line);
    return 0;
}
