/* Private: the methods of an artifact's table of accuracy. */
#ifndef EDGEMON_ACCURACIES_H
#define EDGEMON_ACCURACIES_H

#include "buffers.h"

/* The C struct em_accuracy as u64 words: what a caller supplies. */
extern const column accuracy_words;

PyObject *monitor_get_accuracy(PyObject *op, void *closure);
PyObject *monitor_accuracy_update(PyObject *op, PyObject *args);
PyObject *monitor_accuracy_label(PyObject *op, PyObject *args);
PyObject *monitor_accuracy_estimate(PyObject *op, PyObject *args);

#endif /* EDGEMON_ACCURACIES_H */
