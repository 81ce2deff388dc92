/* Batches: evaluated, counted by the drift test, timed. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include "batches.h"

#include "monitor_object.h"

#include <string.h>
#include <time.h>

/* ---- evaluate ------------------------------------------------------------------------------ */

enum { VERDICT, REASON, PREDICTED, VERDICTS, SCORES, COLUMNS };

/* Row `row` of every column. */
static void store(const Py_buffer *columns, size_t row, size_t n_monitors, const em_result *r) {
    ((uint8_t *)columns[VERDICT].buf)[row] = (uint8_t)r->verdict;
    ((int32_t *)columns[REASON].buf)[row] = r->reason;
    ((int32_t *)columns[PREDICTED].buf)[row] = r->predicted_class;
    for (size_t k = 0; k < n_monitors; k++) {
        ((uint8_t *)columns[VERDICTS].buf)[row * n_monitors + k] = (uint8_t)r->verdicts[k];
        ((int64_t *)columns[SCORES].buf)[row * n_monitors + k] = r->scores[k].i;
    }
}

PyObject *monitor_evaluate(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"taps",      "rows",     "verdict", "reason",
                            "predicted", "verdicts", "scores",  NULL};
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    const size_t n = em_monitor_count(m);
    const column wanted[COLUMNS] = {
        {"verdict", "B", 1, 1},  {"reason", "il", 4, 1}, {"predicted", "il", 4, 1},
        {"verdicts", "B", 1, n}, {"scores", "lq", 8, n},
    };
    PyObject *taps, *objects[COLUMNS];
    Py_ssize_t rows;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnOOOOO:evaluate", names, &taps, &rows,
                                     &objects[VERDICT], &objects[REASON], &objects[PREDICTED],
                                     &objects[VERDICTS], &objects[SCORES])) {
        return NULL;
    }
    batch b;
    if (batch_acquire(&b, taps, rows) < 0) {
        return NULL;
    }
    Py_buffer columns[COLUMNS];
    int held = 0;
    while (held < COLUMNS &&
           acquire_column(&wanted[held], objects[held], rows, &columns[held]) == 0) {
        held++;
    }
    void *workspace = held == COLUMNS ? new_workspace(m) : NULL;
    if (workspace != NULL) {
        Py_BEGIN_ALLOW_THREADS
        for (size_t row = 0; row < (size_t)rows; row++) {
            em_result result;
            evaluate_row(m, &b, row, workspace, &result);
            store(columns, row, n, &result);
        }
        Py_END_ALLOW_THREADS
        PyMem_Free(workspace);
    }
    release_columns(columns, held);
    batch_release(&b);
    if (workspace == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- drift_update --------------------------------------------------------------------------- */

/* Row `row` of the columns of `evaluate`, as far as the drift test reads it. */
static void restore(const Py_buffer *verdicts, const Py_buffer *scores, size_t row, em_result *r) {
    for (size_t k = 0; k < r->n_monitors; k++) {
        const size_t at = row * r->n_monitors + k;
        r->verdicts[k] = (em_verdict)((const uint8_t *)verdicts->buf)[at];
        r->scores[k].i = ((const int64_t *)scores->buf)[at];
    }
}

PyObject *monitor_drift_update(PyObject *op, PyObject *args) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    const size_t n = em_monitor_count(m);
    const column wanted[] = {
        {"drift state", "IL", sizeof(uint32_t), sizeof(em_drift) / sizeof(uint32_t)},
        {"verdicts", "B", 1, n},
        {"scores", "lq", 8, n},
    };
    PyObject *objects[3];
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "OnOO:drift_update", &objects[0], &rows, &objects[1],
                          &objects[2])) {
        return NULL;
    }
    if (rows < 0) {
        return PyErr_Format(PyExc_ValueError, "rows is %zd; it cannot be negative", rows);
    }
    Py_buffer columns[3];
    int held = 0;
    while (held < 3 && acquire_column(&wanted[held], objects[held], held == 0 ? 1 : rows,
                                      &columns[held]) == 0) {
        held++;
    }
    if (held == 3) {
        em_result result;
        em_drift drift;
        memset(&result, 0, sizeof result);
        result.n_monitors = (uint32_t)n;
        memcpy(&drift, columns[0].buf, sizeof drift);
        for (size_t row = 0; row < (size_t)rows; row++) {
            restore(&columns[1], &columns[2], row, &result);
            em_drift_update(m, &drift, &result);
        }
        memcpy(columns[0].buf, &drift, sizeof drift);
    }
    release_columns(columns, held);
    if (held < 3) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- nanoseconds --------------------------------------------------------------------------- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time of one evaluation in ns, the mean over all rows. */
static double time_rows(const em_monitor *m, const batch *b, size_t rows, void *workspace) {
    em_result result;
    const double start = seconds_now();
    for (size_t row = 0; row < rows; row++) {
        evaluate_row(m, b, row, workspace, &result);
    }
    return 1e9 * (seconds_now() - start) / (double)rows;
}

PyObject *monitor_nanoseconds(PyObject *op, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"taps", "rows", "repeats", NULL};
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    PyObject *taps;
    Py_ssize_t rows, repeats;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn:nanoseconds", names, &taps, &rows,
                                     &repeats)) {
        return NULL;
    }
    if (rows < 1 || repeats < 0) {
        PyErr_SetString(PyExc_ValueError, "rows must be at least 1 and repeats at least 0");
        return NULL;
    }
    batch b;
    if (batch_acquire(&b, taps, rows) < 0) {
        return NULL;
    }
    void *workspace = new_workspace(m);
    PyObject *list = workspace == NULL ? NULL : PyList_New(0);
    if (list != NULL) {
        em_result result;
        const em_status status = evaluate_row(m, &b, 0, workspace, &result);
        if (status != EM_OK && status != EM_E_SCORE) { /* a refusal is fast, and no measurement */
            PyObject *error = error_of(Py_TYPE(op));
            if (error != NULL) {
                raise_status(error, status);
            }
            Py_CLEAR(list);
        }
    }
    for (Py_ssize_t i = 0; list != NULL && i < repeats; i++) {
        double ns;
        Py_BEGIN_ALLOW_THREADS
        ns = time_rows(m, &b, (size_t)rows, workspace);
        Py_END_ALLOW_THREADS
        PyObject *item = PyFloat_FromDouble(ns);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    PyMem_Free(workspace);
    batch_release(&b);
    return list;
}
