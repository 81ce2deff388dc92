/* Private: numbers that cross as buffers, checked: taps of a batch, and columns of results. */
#ifndef EDGEMON_BUFFERS_H
#define EDGEMON_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "edgemon/edgemon.h"

/* The taps of a batch: `first` describes row 0, row r lies r * bytes[i] further. */
typedef struct {
    Py_buffer buffers[EM_MAX_TAPS];
    em_tap first[EM_MAX_TAPS];
    size_t bytes[EM_MAX_TAPS];
    size_t held;  /* buffers to release */
    size_t given; /* taps supplied, perhaps more than fit */
} batch;

/* 0, or -1 with a Python error and nothing held. */
int batch_acquire(batch *b, PyObject *taps, Py_ssize_t rows);

void batch_release(batch *b);

em_status evaluate_row(const em_monitor *m, const batch *b, size_t row, void *workspace,
                       em_result *result);

/* A column of results: what the caller must supply. */
typedef struct {
    const char *name;
    const char *formats; /* type characters that mean such an integer */
    Py_ssize_t itemsize;
    size_t per_row;
} column;

/* 0, or -1 with a Python error and nothing held. */
int acquire_column(const column *want, PyObject *object, Py_ssize_t rows, Py_buffer *out);

void release_columns(Py_buffer *columns, int held);

#endif /* EDGEMON_BUFFERS_H */
