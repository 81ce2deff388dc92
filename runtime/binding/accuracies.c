/* The table of accuracy: its description, images and labels counted, the estimate. */
#include "accuracies.h"

#include "monitor_object.h"

#include <string.h>

const column accuracy_words = {"accuracy state", "LQ", sizeof(uint64_t),
                               sizeof(em_accuracy) / sizeof(uint64_t)};
static const column drift_words = {"drift state", "IL", sizeof(uint32_t),
                                   sizeof(em_drift) / sizeof(uint32_t)};

PyObject *monitor_get_accuracy(PyObject *op, void *Py_UNUSED(closure)) {
    em_accuracy_info info;
    if (em_describe_accuracy(&((MonitorObject *)op)->monitor, &info) != EM_OK) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(IIIIII)", (unsigned)info.monitor, (unsigned)info.steps,
                         (unsigned)info.window, (unsigned)info.least, (unsigned)info.rows,
                         (unsigned)info.variance);
}

/* The state of a drift test, if it is not None: 1, 0, or -1 with a Python error. */
static int acquire_drift(PyObject *object, Py_buffer *out) {
    if (object == Py_None) {
        return 0;
    }
    return acquire_column(&drift_words, object, 1, out) < 0 ? -1 : 1;
}

static void count_rows(const em_monitor *m, const Py_buffer *columns, Py_buffer *drifts,
                       size_t rows) {
    em_result result;
    em_accuracy accuracy;
    em_drift drift;
    memset(&result, 0, sizeof result);
    result.n_monitors = (uint32_t)em_monitor_count(m);
    memcpy(&accuracy, columns[0].buf, sizeof accuracy);
    if (drifts != NULL) {
        memcpy(&drift, drifts->buf, sizeof drift);
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t k = 0; k < result.n_monitors; k++) {
            const size_t at = row * result.n_monitors + k;
            result.verdicts[k] = (em_verdict)((const uint8_t *)columns[1].buf)[at];
            result.scores[k].i = ((const int64_t *)columns[2].buf)[at];
        }
        if (drifts != NULL) {
            em_drift_update(m, &drift, &result);
        }
        em_accuracy_update(m, &accuracy, drifts == NULL ? NULL : &drift, &result);
    }
    memcpy(columns[0].buf, &accuracy, sizeof accuracy);
    if (drifts != NULL) {
        memcpy(drifts->buf, &drift, sizeof drift);
    }
}

PyObject *monitor_accuracy_update(PyObject *op, PyObject *args) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    const size_t n = em_monitor_count(m);
    const column wanted[] = {accuracy_words, {"verdicts", "B", 1, n}, {"scores", "lq", 8, n}};
    PyObject *objects[3], *drift_object;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "OOnOO:accuracy_update", &objects[0], &drift_object, &rows,
                          &objects[1], &objects[2])) {
        return NULL;
    }
    if (rows < 0) {
        return PyErr_Format(PyExc_ValueError, "rows is %zd; it cannot be negative", rows);
    }
    Py_buffer columns[3], drifts;
    const int with_drift = acquire_drift(drift_object, &drifts);
    if (with_drift < 0) {
        return NULL;
    }
    int held = 0;
    while (held < 3 && acquire_column(&wanted[held], objects[held], held == 0 ? 1 : rows,
                                      &columns[held]) == 0) {
        held++;
    }
    if (held == 3) {
        count_rows(m, columns, with_drift ? &drifts : NULL, (size_t)rows);
    }
    release_columns(columns, held);
    release_columns(&drifts, with_drift);
    if (held < 3) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *monitor_accuracy_label(PyObject *Py_UNUSED(op), PyObject *args) {
    PyObject *object;
    unsigned short probability; /* "H" checks no range: the caller does */
    int right;
    if (!PyArg_ParseTuple(args, "OHp:accuracy_label", &object, &probability, &right)) {
        return NULL;
    }
    Py_buffer state;
    if (acquire_column(&accuracy_words, object, 1, &state) < 0) {
        return NULL;
    }
    em_accuracy accuracy;
    memcpy(&accuracy, state.buf, sizeof accuracy);
    em_accuracy_label(&accuracy, probability, right);
    memcpy(state.buf, &accuracy, sizeof accuracy);
    PyBuffer_Release(&state);
    Py_RETURN_NONE;
}

PyObject *monitor_accuracy_estimate(PyObject *op, PyObject *args) {
    PyObject *object, *drift_object;
    if (!PyArg_ParseTuple(args, "OO:accuracy_estimate", &object, &drift_object)) {
        return NULL;
    }
    Py_buffer state, drifts;
    const int with_drift = acquire_drift(drift_object, &drifts);
    if (with_drift < 0) {
        return NULL;
    }
    em_drift drift;
    if (with_drift) {
        memcpy(&drift, drifts.buf, sizeof drift);
        PyBuffer_Release(&drifts);
    }
    if (acquire_column(&accuracy_words, object, 1, &state) < 0) {
        return NULL;
    }
    em_accuracy accuracy;
    memcpy(&accuracy, state.buf, sizeof accuracy);
    PyBuffer_Release(&state);
    em_estimate found;
    const em_status status = em_accuracy_estimate(&((MonitorObject *)op)->monitor, &accuracy,
                                                  with_drift ? &drift : NULL, &found);
    if (status != EM_OK) { /* no table */
        Py_RETURN_NONE;
    }
    return PyBytes_FromStringAndSize((const char *)&found, sizeof found);
}
