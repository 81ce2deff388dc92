/* Private: the methods that go through the rows of a batch. */
#ifndef EDGEMON_BATCHES_H
#define EDGEMON_BATCHES_H

#include "buffers.h"

PyObject *monitor_evaluate(PyObject *op, PyObject *args, PyObject *kwargs);
PyObject *monitor_drift_update(PyObject *op, PyObject *args);
PyObject *monitor_nanoseconds(PyObject *op, PyObject *args, PyObject *kwargs);

#endif /* EDGEMON_BATCHES_H */
