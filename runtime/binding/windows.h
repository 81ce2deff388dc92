/* Private: the methods that keep a window of images, in a buffer of the caller's. */
#ifndef EDGEMON_WINDOWS_H
#define EDGEMON_WINDOWS_H

#include "buffers.h"

PyObject *monitor_window_start(PyObject *op, PyObject *state);
PyObject *monitor_window_update(PyObject *op, PyObject *args);
PyObject *monitor_window_next(PyObject *op, PyObject *state);
PyObject *monitor_window_write(PyObject *op, PyObject *args);

#endif /* EDGEMON_WINDOWS_H */
