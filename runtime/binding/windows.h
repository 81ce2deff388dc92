/* Private: the methods that keep a window of images, in a buffer of the caller's. */
#ifndef EDGEMON_WINDOWS_H
#define EDGEMON_WINDOWS_H

#include "buffers.h"

/* An aligned buffer of u64 for a head and more; 0, or -1 with a Python error and nothing held. */
int acquire_state(PyObject *object, Py_buffer *state);

/* The window whose records lie in `state`; 0, or -1 with a Python error if they do not. */
int window_in(const Py_buffer *state, em_window *window);

PyObject *monitor_window_start(PyObject *op, PyObject *state);
PyObject *monitor_window_update(PyObject *op, PyObject *args);
PyObject *monitor_window_next(PyObject *op, PyObject *state);
PyObject *monitor_window_write(PyObject *op, PyObject *args);

#endif /* EDGEMON_WINDOWS_H */
