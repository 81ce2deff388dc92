/* Windows: the caller's buffer holds the head and behind it the records, as a report does. */
#include "windows.h"

#include "monitor_object.h"

#include <string.h>

static em_window_monitor *monitors_in(const Py_buffer *state) {
    return (em_window_monitor *)(void *)((char *)state->buf + sizeof(em_window_report));
}

static em_window_class *classes_in(const Py_buffer *state, size_t n_monitors) {
    return (em_window_class *)(void *)(monitors_in(state) + n_monitors);
}

int acquire_state(PyObject *object, Py_buffer *state) {
    if (PyObject_GetBuffer(object, state, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        return -1;
    }
    if (state->itemsize == 8 && (uintptr_t)state->buf % 8 == 0 &&
        (size_t)state->len >= sizeof(em_window_report)) {
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "a window is an aligned array of u64, of its head at least");
    PyBuffer_Release(state);
    return -1;
}

int window_in(const Py_buffer *state, em_window *window) {
    memcpy(&window->report, state->buf, sizeof window->report);
    const size_t n = window->report.n_monitors;
    if ((size_t)state->len + 4 != EM_WINDOW_BYTES(n, window->report.n_classes) ||
        (size_t)state->len + 4 != window->report.size) {
        PyErr_SetString(PyExc_ValueError, "the window was not started in this buffer");
        return -1;
    }
    window->monitors = monitors_in(state);
    window->classes = classes_in(state, n);
    return 0;
}

/* Python's None, or a Python error for a status. */
static PyObject *none_or_error(PyObject *op, em_status status) {
    if (status == EM_OK) {
        Py_RETURN_NONE;
    }
    PyObject *error = error_of(Py_TYPE(op));
    if (error != NULL) {
        raise_status(error, status);
    }
    return NULL;
}

PyObject *monitor_window_start(PyObject *op, PyObject *object) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    const size_t n = em_monitor_count(m);
    Py_buffer state;
    if (acquire_state(object, &state) < 0) {
        return NULL;
    }
    const size_t before = EM_WINDOW_BYTES(n, 0) - 4;
    em_status status = EM_E_COUNT;
    if ((size_t)state.len >= before) {
        em_window window;
        status = em_window_start(m, &window, monitors_in(&state), n, classes_in(&state, n),
                                 ((size_t)state.len - before) / sizeof(em_window_class));
        memcpy(state.buf, &window.report, sizeof window.report);
    }
    PyBuffer_Release(&state);
    return none_or_error(op, status);
}

enum { VERDICT, REASON, PREDICTED, VERDICTS, SCORES, COLUMNS };

/* Row `row` of the columns of `evaluate`. */
static void restore_row(const Py_buffer *columns, size_t row, em_result *r) {
    r->verdict = (em_verdict)((const uint8_t *)columns[VERDICT].buf)[row];
    r->reason = (em_status)((const int32_t *)columns[REASON].buf)[row];
    r->predicted_class = ((const int32_t *)columns[PREDICTED].buf)[row];
    for (size_t k = 0; k < r->n_monitors; k++) {
        const size_t at = row * r->n_monitors + k;
        r->verdicts[k] = (em_verdict)((const uint8_t *)columns[VERDICTS].buf)[at];
        r->scores[k].i = ((const int64_t *)columns[SCORES].buf)[at];
    }
}

static em_status count_rows(const em_monitor *m, const Py_buffer *columns, size_t rows,
                            em_window *window) {
    em_result result;
    memset(&result, 0, sizeof result);
    result.n_monitors = (uint32_t)em_monitor_count(m);
    em_status status = EM_OK;
    for (size_t row = 0; row < rows && status == EM_OK; row++) {
        restore_row(columns, row, &result);
        status = em_window_update(m, window, &result);
    }
    return status;
}

PyObject *monitor_window_update(PyObject *op, PyObject *args) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    const size_t n = em_monitor_count(m);
    const column wanted[COLUMNS] = {
        {"verdict", "B", 1, 1},  {"reason", "il", 4, 1}, {"predicted", "il", 4, 1},
        {"verdicts", "B", 1, n}, {"scores", "lq", 8, n},
    };
    PyObject *object, *objects[COLUMNS];
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "OnOOOOO:window_update", &object, &rows, &objects[VERDICT],
                          &objects[REASON], &objects[PREDICTED], &objects[VERDICTS],
                          &objects[SCORES])) {
        return NULL;
    }
    if (rows < 0) {
        return PyErr_Format(PyExc_ValueError, "rows is %zd; it cannot be negative", rows);
    }
    Py_buffer state, columns[COLUMNS];
    if (acquire_state(object, &state) < 0) {
        return NULL;
    }
    int held = 0;
    while (held < COLUMNS &&
           acquire_column(&wanted[held], objects[held], rows, &columns[held]) == 0) {
        held++;
    }
    em_window window;
    PyObject *done = NULL;
    if (held == COLUMNS && window_in(&state, &window) == 0) {
        const em_status status = count_rows(m, columns, (size_t)rows, &window);
        memcpy(state.buf, &window.report, sizeof window.report);
        done = none_or_error(op, status);
    }
    release_columns(columns, held);
    PyBuffer_Release(&state);
    return done;
}

PyObject *monitor_window_next(PyObject *Py_UNUSED(op), PyObject *object) {
    Py_buffer state;
    if (acquire_state(object, &state) < 0) {
        return NULL;
    }
    em_window window;
    const int found = window_in(&state, &window);
    if (found == 0) {
        em_window_next(&window);
        memcpy(state.buf, &window.report, sizeof window.report);
    }
    PyBuffer_Release(&state);
    if (found < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The report, with the state of a drift test (em_drift as u32 words) and an estimate of accuracy
 * (em_estimate as bytes), unless these are None. */
PyObject *monitor_window_write(PyObject *Py_UNUSED(op), PyObject *args) {
    const column words = {"drift state", "IL", sizeof(uint32_t),
                          sizeof(em_drift) / sizeof(uint32_t)};
    PyObject *objects[2], *given = Py_None;
    if (!PyArg_ParseTuple(args, "OO|O:window_write", &objects[0], &objects[1], &given)) {
        return NULL;
    }
    em_estimate estimate;
    const int with_estimate = given != Py_None;
    if (with_estimate) {
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(given, &bytes, &size) < 0) {
            return NULL;
        }
        if (size != (Py_ssize_t)sizeof estimate) {
            return PyErr_Format(PyExc_ValueError, "an estimate has %zu bytes, not %zd",
                                sizeof estimate, size);
        }
        memcpy(&estimate, bytes, sizeof estimate);
    }
    Py_buffer state, drifts;
    em_drift drift;
    const int with_drift = objects[1] != Py_None;
    if (with_drift) {
        if (acquire_column(&words, objects[1], 1, &drifts) < 0) {
            return NULL;
        }
        memcpy(&drift, drifts.buf, sizeof drift);
        PyBuffer_Release(&drifts);
    }
    if (acquire_state(objects[0], &state) < 0) {
        return NULL;
    }
    em_window window;
    PyObject *report = NULL;
    if (window_in(&state, &window) == 0) {
        report = PyBytes_FromStringAndSize(
            NULL, (Py_ssize_t)(window.report.size + (with_estimate ? sizeof estimate : 0)));
    }
    if (report != NULL) {
        em_window_write_estimate(&window, with_drift ? &drift : NULL,
                                 with_estimate ? &estimate : NULL, PyBytes_AsString(report),
                                 window.report.size + sizeof estimate);
    }
    PyBuffer_Release(&state);
    return report;
}
