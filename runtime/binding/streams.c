/* Stream(monitor, drift, window, accuracy): an image at a time, evaluated and counted in one call,
 * with a workspace that is kept. */
#include "streams.h"

#include "accuracies.h"
#include "monitor_object.h"
#include "windows.h"

#include <string.h>

typedef struct {
    PyObject_HEAD
    PyObject *monitor;
    void *workspace;
    int busy; /* is a call in the workspace? */
    int held; /* buffers to release */
    Py_buffer states[3];
} StreamObject;

enum { DRIFT, WINDOW, ACCURACY };

static void stream_dealloc(PyObject *op) {
    StreamObject *self = (StreamObject *)op;
    PyTypeObject *type = Py_TYPE(op);
    release_columns(self->states, self->held);
    PyMem_Free(self->workspace);
    Py_XDECREF(self->monitor);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(op);
    Py_DECREF(type);
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"monitor", "drift", "window", "accuracy", NULL};
    const column words = {"drift state", "IL", sizeof(uint32_t),
                          sizeof(em_drift) / sizeof(uint32_t)};
    const module_state *state = PyType_GetModuleState(type);
    PyObject *monitor, *drift, *window, *accuracy;
    if (state == NULL ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOO:Stream", names, state->monitor_type,
                                     &monitor, &drift, &window, &accuracy)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    StreamObject *self = (StreamObject *)allocate(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(monitor);
    self->monitor = monitor;
    self->workspace = new_workspace(&((MonitorObject *)monitor)->monitor);
    if (self->workspace != NULL && acquire_column(&words, drift, 1, &self->states[DRIFT]) == 0) {
        self->held = 1;
        em_window found;
        if (acquire_state(window, &self->states[WINDOW]) == 0) {
            self->held = 2;
            if (window_in(&self->states[WINDOW], &found) == 0 &&
                acquire_column(&accuracy_words, accuracy, 1, &self->states[ACCURACY]) == 0) {
                self->held = 3;
                return (PyObject *)self;
            }
        }
    }
    Py_DECREF(self);
    return NULL;
}

static int probability_of(const em_monitor *m, const em_result *r) {
    uint16_t probability;
    return em_accuracy_probability(m, r, &probability) == EM_OK ? probability : -1;
}

/* (verdict, reason, predicted, verdicts, scores as they are shown, probability or -1) */
static PyObject *tuple_of(const em_monitor *m, const em_result *r) {
    uint8_t verdicts[EM_MAX_MONITORS];
    const Py_ssize_t n = (Py_ssize_t)r->n_monitors;
    PyObject *shown = PyTuple_New(n);
    for (Py_ssize_t k = 0; shown != NULL && k < n; k++) {
        verdicts[k] = (uint8_t)r->verdicts[k];
        PyObject *score = PyFloat_FromDouble(em_display(m, (size_t)k, r->scores[k]));
        if (score == NULL || PyTuple_SetItem(shown, k, score) < 0) {
            Py_CLEAR(shown);
        }
    }
    return shown == NULL
               ? NULL
               : Py_BuildValue("(iiiy#Ni)", (int)r->verdict, (int)r->reason,
                               (int)r->predicted_class, verdicts, n, shown, probability_of(m, r));
}

static em_status count(StreamObject *self, const em_monitor *m, const em_result *result) {
    em_drift drift;
    memcpy(&drift, self->states[DRIFT].buf, sizeof drift);
    em_drift_update(m, &drift, result);
    memcpy(self->states[DRIFT].buf, &drift, sizeof drift);
    em_accuracy accuracy;
    memcpy(&accuracy, self->states[ACCURACY].buf, sizeof accuracy);
    em_accuracy_update(m, &accuracy, &drift, result);
    memcpy(self->states[ACCURACY].buf, &accuracy, sizeof accuracy);
    em_window window;
    if (window_in(&self->states[WINDOW], &window) < 0) {
        return EM_E_COUNT;
    }
    const em_status status = em_window_update(m, &window, result);
    memcpy(self->states[WINDOW].buf, &window.report, sizeof window.report);
    return status;
}

static PyObject *stream_evaluate(PyObject *op, PyObject *taps) {
    StreamObject *self = (StreamObject *)op;
    const em_monitor *m = &((MonitorObject *)self->monitor)->monitor;
    batch b;
    if (batch_acquire(&b, taps, 1) < 0) {
        return NULL;
    }
    /* Another thread's call is in the kept workspace while this one has the GIL: own memory. */
    void *workspace = self->busy ? new_workspace(m) : self->workspace;
    if (workspace == NULL) {
        batch_release(&b);
        return NULL;
    }
    const int kept = workspace == self->workspace;
    self->busy += kept;
    em_result result;
    Py_BEGIN_ALLOW_THREADS
    evaluate_row(m, &b, 0, workspace, &result);
    Py_END_ALLOW_THREADS
    self->busy -= kept;
    if (!kept) {
        PyMem_Free(workspace);
    }
    batch_release(&b);
    const em_status status = count(self, m, &result);
    if (status != EM_OK) {
        PyObject *error = PyErr_Occurred() ? NULL : error_of(Py_TYPE(op));
        if (error != NULL) {
            raise_status(error, status);
        }
        return NULL;
    }
    return tuple_of(m, &result);
}

static PyMethodDef stream_methods[] = {
    {"evaluate", stream_evaluate, METH_O,
     "Evaluate one image's taps and count it: (verdict, reason, predicted, verdicts, scores, "
     "probability)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_doc, "Stream(monitor, drift, window, accuracy): images, one at a time."},
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {0, NULL},
};

PyType_Spec stream_spec = {
    .name = "edgemon.runtime._native.Stream",
    .basicsize = sizeof(StreamObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stream_slots,
};
