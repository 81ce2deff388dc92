/*
 * edgemon.runtime._native - the C runtime for Python (stable ABI, Python 3.11 and later).
 *
 * One call evaluates a whole batch without the GIL. Numbers cross as buffers, never as Python
 * objects; monitor.py gives them their NumPy shape.
 */
#include "accuracies.h"
#include "batches.h"
#include "monitor_object.h"
#include "preparations.h"
#include "streams.h"
#include "windows.h"

#include <float.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------------------------- */

void raise_status(PyObject *error, em_status status) {
    PyObject *args = Py_BuildValue("(is)", (int)status, em_status_text(status));
    if (args != NULL) {
        PyErr_SetObject(error, args);
        Py_DECREF(args);
    }
}

PyObject *error_of(PyTypeObject *type) {
    const module_state *state = PyType_GetModuleState(type);
    return state == NULL ? NULL : state->error;
}

/* ---- Monitor(artifact) --------------------------------------------------------------------- */

static void monitor_dealloc(PyObject *op) {
    MonitorObject *self = (MonitorObject *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyMem_Free(self->artifact);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(op);
    Py_DECREF(type);
}

static PyObject *monitor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"artifact", NULL};
    Py_buffer bytes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*:Monitor", names, &bytes)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    MonitorObject *self = (MonitorObject *)allocate(type, 0);
    if (self == NULL) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    const size_t size = (size_t)bytes.len;
    self->artifact = PyMem_Malloc(size > 0 ? size : 1); /* aligned to 8 at least */
    if (self->artifact == NULL) {
        PyBuffer_Release(&bytes);
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (size > 0) {
        memcpy(self->artifact, bytes.buf, size);
    }
    PyBuffer_Release(&bytes);
    em_status status;
    Py_BEGIN_ALLOW_THREADS
    status = em_open(&self->monitor, self->artifact, size);
    Py_END_ALLOW_THREADS
    if (status != EM_OK) {
        PyObject *error = error_of(type);
        if (error != NULL) {
            raise_status(error, status);
        }
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* ---- attributes ---------------------------------------------------------------------------- */

static PyObject *get_workspace_size(PyObject *op, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(em_workspace_size(&((MonitorObject *)op)->monitor));
}

static PyObject *get_work(PyObject *op, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(em_work(&((MonitorObject *)op)->monitor));
}

static PyObject *get_self_tests(PyObject *op, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(em_self_test_count(&((MonitorObject *)op)->monitor));
}

static PyObject *get_struct_size(PyObject *Py_UNUSED(op), void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(sizeof(em_monitor));
}

static PyObject *get_classes(PyObject *op, void *Py_UNUSED(closure)) {
    return PyLong_FromSize_t(em_class_count(&((MonitorObject *)op)->monitor));
}

static PyObject *get_metadata(PyObject *op, void *Py_UNUSED(closure)) {
    size_t size = 0;
    const char *text = em_metadata(&((MonitorObject *)op)->monitor, &size);
    return PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
}

/* A raw number as Python shows it: an int, or a float for EM_F32. */
static PyObject *number_of(em_dtype dtype, em_number n) {
    return dtype == EM_F32 ? PyFloat_FromDouble((double)n.f) : PyLong_FromLongLong(n.i);
}

static PyObject *describe_tap(const em_monitor *m, size_t i) {
    em_tap_info info;
    em_describe_tap(m, i, &info);
    return Py_BuildValue("(siIdii)", info.name, (int)info.dtype, (unsigned)info.length, info.scale,
                         (int)info.zero_point, (int)info.view);
}

static PyObject *describe_monitor(const em_monitor *m, size_t i) {
    em_monitor_info info;
    em_describe_monitor(m, i, &info);
    return Py_BuildValue("(siNN)", info.name, (int)info.dtype,
                         number_of(info.dtype, info.alarm_above),
                         number_of(info.dtype, info.uncertain_above));
}

static PyObject *describe_companion(const em_monitor *m, size_t i) {
    em_companion_info info;
    em_describe_companion(m, i, &info);
    return Py_BuildValue("(iIy#)", (int)info.view, (unsigned)info.size, (const char *)info.sha256,
                         (Py_ssize_t)32);
}

static PyObject *describe_all(const em_monitor *m, size_t count,
                              PyObject *(*describe)(const em_monitor *, size_t)) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = describe(m, i);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *get_taps(PyObject *op, void *Py_UNUSED(closure)) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    return describe_all(m, em_tap_count(m), describe_tap);
}

static PyObject *get_companions(PyObject *op, void *Py_UNUSED(closure)) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    return describe_all(m, em_companion_count(m), describe_companion);
}

static PyObject *get_monitors(PyObject *op, void *Py_UNUSED(closure)) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    return describe_all(m, em_monitor_count(m), describe_monitor);
}

static PyObject *get_drift(PyObject *op, void *Py_UNUSED(closure)) {
    em_drift_info info;
    if (em_describe_drift(&((MonitorObject *)op)->monitor, &info) != EM_OK) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(IIIiI)", (unsigned)info.monitor, (unsigned)info.bins,
                         (unsigned)info.alternatives, (int)info.limit, (unsigned)info.run_length);
}

/* ---- small methods ------------------------------------------------------------------------- */

static PyObject *monitor_bind_model(PyObject *op, PyObject *arg) {
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(arg, &bytes, &size) < 0) {
        return NULL;
    }
    if (size != 32) {
        return PyErr_Format(PyExc_ValueError, "a SHA-256 has 32 bytes, not %zd", size);
    }
    return PyLong_FromLong(em_bind_model(&((MonitorObject *)op)->monitor, (const uint8_t *)bytes));
}

static PyObject *monitor_check(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    em_status status;
    Py_BEGIN_ALLOW_THREADS
    status = em_check(&((MonitorObject *)op)->monitor);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(status);
}

void *new_workspace(const em_monitor *m) {
    void *workspace = PyMem_Malloc(em_workspace_size(m) + 8);
    if (workspace == NULL) {
        PyErr_NoMemory();
    }
    return workspace;
}

static PyObject *monitor_self_test(PyObject *op, PyObject *Py_UNUSED(ignored)) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    void *workspace = new_workspace(m);
    if (workspace == NULL) {
        return NULL;
    }
    em_status status;
    Py_BEGIN_ALLOW_THREADS
    status = em_self_test(m, workspace, em_workspace_size(m));
    Py_END_ALLOW_THREADS
    PyMem_Free(workspace);
    return PyLong_FromLong(status);
}

static PyObject *monitor_display(PyObject *op, PyObject *args) {
    const em_monitor *m = &((MonitorObject *)op)->monitor;
    Py_ssize_t index;
    PyObject *raw;
    if (!PyArg_ParseTuple(args, "nO:display", &index, &raw)) {
        return NULL;
    }
    em_monitor_info info;
    if (index < 0 || em_describe_monitor(m, (size_t)index, &info) != EM_OK) {
        return PyErr_Format(PyExc_IndexError, "there is no monitor %zd; the artifact has %zu",
                            index, em_monitor_count(m));
    }
    em_number n = {0};
    if (info.dtype == EM_F32) {
        const double value = PyFloat_AsDouble(raw);
        if (!PyErr_Occurred() && !(value >= -FLT_MAX && value <= FLT_MAX)) {
            PyErr_SetString(PyExc_ValueError, "a raw score is a finite float32");
        }
        n.f = PyErr_Occurred() ? 0.0f : (float)value;
    } else {
        n.i = PyLong_AsLongLong(raw);
    }
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(em_display(m, (size_t)index, n));
}

/* ---- the type and the module --------------------------------------------------------------- */

static PyGetSetDef monitor_attributes[] = {
    {"workspace_size", get_workspace_size, NULL, "Scratch memory of an evaluation, bytes.", NULL},
    {"work", get_work, NULL, "Element operations of an evaluation.", NULL},
    {"self_tests", get_self_tests, NULL, "Number of self-test vectors.", NULL},
    {"classes", get_classes, NULL, "Number of classes.", NULL},
    {"struct_size", get_struct_size, NULL, "sizeof(em_monitor), bytes.", NULL},
    {"drift", get_drift, NULL, "(monitor, bins, alternatives, limit, run_length), or None.", NULL},
    {"accuracy", monitor_get_accuracy, NULL,
     "(monitor, steps, window, least, rows, variance), or None.", NULL},
    {"metadata", get_metadata, NULL, "The META section, JSON as bytes; empty if absent.", NULL},
    {"taps", get_taps, NULL, "[(name, dtype, length, scale, zero_point, view)]", NULL},
    {"companions", get_companions, NULL, "[(view, bytes, SHA-256)]", NULL},
    {"monitors", get_monitors, NULL, "[(name, dtype, alarm_above, uncertain_above)]", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Through void *: a method with keywords has another signature than PyMethodDef can say. */
#define KEYWORDS_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef monitor_methods[] = {
    {"bind_model", monitor_bind_model, METH_O, "Status: 0 if the model has this SHA-256."},
    {"self_test", monitor_self_test, METH_NOARGS, "Status: 0 if all vectors agree."},
    {"check", monitor_check, METH_NOARGS, "Status: 0 if the checksum still holds."},
    {"display", monitor_display, METH_VARARGS, "A raw score in the unit shown to people."},
    {"evaluate", KEYWORDS_METHOD(monitor_evaluate), METH_VARARGS | METH_KEYWORDS,
     "Evaluates `rows` images into the output arrays."},
    {"drift_update", monitor_drift_update, METH_VARARGS,
     "Count rows in the state of a drift test: (state u32[], rows, verdicts, scores)."},
    {"accuracy_update", monitor_accuracy_update, METH_VARARGS,
     "Count rows: (state u64[], state of the drift test u32[] or None, rows, verdicts, scores)."},
    {"accuracy_label", monitor_accuracy_label, METH_VARARGS,
     "Count a label: (state u64[], probability in 1/65535, right)."},
    {"accuracy_estimate", monitor_accuracy_estimate, METH_VARARGS,
     "The C struct em_estimate, or None: (state u64[], state of the drift test u32[] or None)."},
    {"window_start", monitor_window_start, METH_O, "Start a window in an array of u64."},
    {"window_update", monitor_window_update, METH_VARARGS,
     "Count rows in a window: (state u64[], rows, verdict, reason, predicted, verdicts, scores)."},
    {"window_next", monitor_window_next, METH_O, "The next window: its counts are 0."},
    {"window_write", monitor_window_write, METH_VARARGS,
     "The report of a window as bytes: (state u64[], state of the drift test u32[] or None)."},
    {"nanoseconds", KEYWORDS_METHOD(monitor_nanoseconds), METH_VARARGS | METH_KEYWORDS,
     "Mean time of an evaluation in ns, once a repeat."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot monitor_slots[] = {
    {Py_tp_doc, "Monitor(artifact): a validated artifact, ready to evaluate."},
    {Py_tp_new, monitor_new},
    {Py_tp_dealloc, monitor_dealloc},
    {Py_tp_getset, monitor_attributes},
    {Py_tp_methods, monitor_methods},
    {0, NULL},
};

static PyType_Spec monitor_spec = {
    .name = "edgemon.runtime._native.Monitor",
    .basicsize = sizeof(MonitorObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = monitor_slots,
};

static PyObject *status_text(PyObject *Py_UNUSED(module), PyObject *arg) {
    const long status = PyLong_AsLong(arg);
    if (status == -1 && PyErr_Occurred()) {
        return NULL;
    }
    /* Statuses are small; a number that is not would change when narrowed. */
    return PyUnicode_FromString(
        em_status_text((em_status)(status < -1000 || status > 0 ? -1000 : status)));
}

static PyMethodDef module_methods[] = {
    {"status_text", status_text, METH_O, "The sentence of a status code."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    const int added = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
    Py_XDECREF(type);
    return added;
}

static int module_exec(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    state->error = PyErr_NewExceptionWithDoc(
        "edgemon.runtime._native.Error", "Error(status, text): the C runtime refused.", NULL, NULL);
    if (state->error == NULL || PyModule_AddObjectRef(module, "Error", state->error) < 0) {
        return -1;
    }
    state->monitor_type = PyType_FromModuleAndSpec(module, &monitor_spec, NULL);
    if (state->monitor_type == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Monitor", state->monitor_type) < 0 ||
                   add_type(module, "Stream", &stream_spec) < 0 ||
                   add_type(module, "Preparation", &preparation_spec) < 0
               ? -1
               : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->monitor_type);
    return 0;
}

static int module_clear(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->monitor_type);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "edgemon.runtime._native",
    .m_doc = "The edgemon C runtime.",
    .m_size = sizeof(module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module_definition); }
