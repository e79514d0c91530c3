/* Threads of the library enter the interpreter by one door, which closes when the interpreter ends:
 * a thread that asked for its lock after that would be ended in the middle of C. */
#ifndef MICA_PYTHON_ENTRY_H
#define MICA_PYTHON_ENTRY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Takes the interpreter's lock; false, and without it, when the interpreter ends. A thread that has
 * the lock enters always. */
bool python_enter(PyGILState_STATE *state);
void python_leave(PyGILState_STATE state);

/* Closes the door at exit, once those inside have left. -1 with a Python error set. */
int python_close_at_exit(void);

#endif
