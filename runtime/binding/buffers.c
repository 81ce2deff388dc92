#include "buffers.h"

#include <string.h>

/* The type character of a buffer's elements in native order; 0 if it is no single one. */
static char type_of(const Py_buffer *buffer) {
    const char *format = buffer->format == NULL ? "B" : buffer->format;
    if (*format == '@' || *format == '=' || *format == '<') {
        format++;
    }
    return format[0] != '\0' && format[1] == '\0' ? format[0] : '\0';
}

/* ---- taps ---------------------------------------------------------------------------------- */

/* The data type of a buffer; 0 for one that no tap can have. */
static em_dtype dtype_of(const Py_buffer *buffer) {
    switch (type_of(buffer)) {
    case 'b':
        return EM_I8;
    case 'B':
        return EM_U8;
    case 'h':
        return buffer->itemsize == 2 ? EM_I16 : (em_dtype)0;
    case 'f':
        return buffer->itemsize == 4 ? EM_F32 : (em_dtype)0;
    default:
        return (em_dtype)0;
    }
}

void batch_release(batch *b) {
    for (size_t i = 0; i < b->held; i++) {
        PyBuffer_Release(&b->buffers[i]);
    }
    b->held = 0;
}

/* Describes buffer i so that em_evaluate finds any mismatch and reports it as a fault. */
static int batch_describe(batch *b, size_t i, size_t rows) {
    const Py_buffer *buffer = &b->buffers[i];
    const size_t itemsize = buffer->itemsize > 0 ? (size_t)buffer->itemsize : 1;
    const size_t count = (size_t)buffer->len / itemsize;
    if ((uintptr_t)buffer->buf % itemsize != 0) {
        PyErr_Format(PyExc_ValueError, "the buffer of tap %zu is not aligned for its elements", i);
        return -1;
    }
    size_t length = rows > 0 ? count / rows : 0;
    if (length > UINT32_MAX || (rows > 0 && count % rows != 0)) {
        length = UINT32_MAX; /* no tap has this length: a fault */
    }
    b->first[i].data = buffer->buf;
    b->first[i].dtype = dtype_of(buffer);
    b->first[i].length = (uint32_t)length;
    b->bytes[i] = length * itemsize;
    return 0;
}

int batch_acquire(batch *b, PyObject *taps, Py_ssize_t rows) {
    b->held = 0;
    if (rows < 0) {
        PyErr_Format(PyExc_ValueError, "rows is %zd; it cannot be negative", rows);
        return -1;
    }
    const Py_ssize_t given = PySequence_Size(taps);
    if (given < 0) {
        return -1;
    }
    b->given = (size_t)given;
    for (size_t i = 0; i < b->given && i < EM_MAX_TAPS; i++) {
        PyObject *item = PySequence_GetItem(taps, (Py_ssize_t)i);
        if (item == NULL) {
            batch_release(b);
            return -1;
        }
        const int got = PyObject_GetBuffer(item, &b->buffers[i], PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
        Py_DECREF(item);
        if (got < 0) {
            batch_release(b);
            return -1;
        }
        b->held++;
        if (batch_describe(b, i, (size_t)rows) < 0) {
            batch_release(b);
            return -1;
        }
    }
    return 0;
}

em_status evaluate_row(const em_monitor *m, const batch *b, size_t row, void *workspace,
                       em_result *result) {
    em_tap taps[EM_MAX_TAPS];
    for (size_t i = 0; i < b->held; i++) {
        taps[i] = b->first[i];
        /* Only a batch of the right lengths is moved along; a fault reads nothing. */
        taps[i].data = (const char *)b->first[i].data +
                       (b->first[i].length == UINT32_MAX ? 0 : row * b->bytes[i]);
    }
    return em_evaluate(m, taps, b->given, workspace, em_workspace_size(m), result);
}

/* ---- columns of results -------------------------------------------------------------------- */

int acquire_column(const column *want, PyObject *object, Py_ssize_t rows, Py_buffer *out) {
    if (PyObject_GetBuffer(object, out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) < 0) {
        return -1;
    }
    const char type = type_of(out);
    const size_t count = (size_t)rows * want->per_row;
    const int right_type =
        type != '\0' && strchr(want->formats, type) != NULL && out->itemsize == want->itemsize;
    if (!right_type || (uintptr_t)out->buf % (size_t)want->itemsize != 0) {
        PyErr_Format(PyExc_TypeError, "%s must be an aligned array of %zd-byte integers",
                     want->name, want->itemsize);
    } else if ((size_t)out->len / (size_t)want->itemsize != count) {
        PyErr_Format(PyExc_ValueError, "%s has %zu elements, but the batch needs %zu", want->name,
                     (size_t)out->len / (size_t)want->itemsize, count);
    } else {
        return 0;
    }
    PyBuffer_Release(out);
    return -1;
}

void release_columns(Py_buffer *columns, int held) {
    for (int i = 0; i < held; i++) {
        PyBuffer_Release(&columns[i]);
    }
}
