/* Private: the Python object of an artifact, and what its methods share. */
#ifndef EDGEMON_MONITOR_OBJECT_H
#define EDGEMON_MONITOR_OBJECT_H

#include "buffers.h"

typedef struct {
    PyObject *error;
    PyObject *monitor_type;
} module_state;

typedef struct {
    PyObject_HEAD
    em_monitor monitor;
    void *artifact; /* our own copy: aligned, and nobody can change it */
} MonitorObject;

/* The class _native.Error of the type's module; NULL with a Python error. */
PyObject *error_of(PyTypeObject *type);

/* Raises _native.Error(status, text). */
void raise_status(PyObject *error, em_status status);

/* Scratch memory for one call: calls may run side by side in threads. Never NULL for size 0. */
void *new_workspace(const em_monitor *m);

#endif /* EDGEMON_MONITOR_OBJECT_H */
