/* Preparation(...): fills one array with what preprocess.to_input makes of an image, bit for bit.
 *
 * It knows contiguous images of uint8, float32 and float64 in the shape of the input or flat, and
 * says no to all others and to a number that is not finite: then preprocess.py decides. */
#include "preparations.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_AXES = 8, LEVELS = 256 };
enum { OUT, TABLE, MEAN, STD, BUFFERS };

typedef struct {
    PyObject_HEAD
    Py_buffer buffers[BUFFERS];
    int held;
    Py_ssize_t shape[MOST_AXES]; /* of an image, channels last */
    int axes;
    size_t pixels, channels; /* channels 1: all are treated alike and keep their places */
    bool reverse;            /* the order of channels? */
    bool planar;             /* does the input have its channels first? */
    char type;               /* of the input's elements, as buffers name it */
    float scale, offset;
    double step, zero; /* real = step * (code - zero); step 0: not quantised */
    double low, high;  /* codes */
} PreparationObject;

static void preparation_dealloc(PyObject *op) {
    PreparationObject *self = (PreparationObject *)op;
    PyTypeObject *type = Py_TYPE(op);
    release_columns(self->buffers, self->held);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(op);
    Py_DECREF(type);
}

/* The only type character of a buffer's format in native order; 0 otherwise. */
static char plain_type(const Py_buffer *buffer) {
    const char *format = buffer->format;
    return format != NULL && format[0] != '\0' && format[1] == '\0' ? format[0] : '\0';
}

/* The codes that the input can hold; false for a type that is not filled here. */
static bool limits_of(PreparationObject *self) {
    static const struct {
        char type;
        Py_ssize_t size;
        double low, high;
    } known[] = {{'b', 1, -128, 127}, {'B', 1, 0, 255}, {'h', 2, -32768, 32767}, {'f', 4, 0, 0}};
    self->type = plain_type(&self->buffers[OUT]);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (self->type == known[i].type && self->buffers[OUT].itemsize == known[i].size) {
            self->low = known[i].low;
            self->high = known[i].high;
            return true;
        }
    }
    return false;
}

static bool shape_of(PreparationObject *self, PyObject *shape) {
    const Py_ssize_t axes = PyTuple_Size(shape);
    if (axes < 1 || axes > MOST_AXES) {
        return false;
    }
    self->axes = (int)axes;
    size_t elements = 1;
    for (Py_ssize_t i = 0; i < axes; i++) {
        self->shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        if (self->shape[i] < 1 || self->shape[i] > PY_SSIZE_T_MAX / (Py_ssize_t)elements) {
            return false;
        }
        elements *= (size_t)self->shape[i];
    }
    self->channels = (size_t)self->buffers[MEAN].len / sizeof(float);
    if (self->channels != 1 && self->channels != (size_t)self->shape[axes - 1]) {
        return false;
    }
    self->pixels = elements / self->channels;
    return true;
}

static bool consistent(const PreparationObject *self) {
    const size_t item = (size_t)self->buffers[OUT].itemsize;
    const size_t floats = self->channels * sizeof(float);
    return (size_t)self->buffers[OUT].len == self->pixels * self->channels * item &&
           (uintptr_t)self->buffers[OUT].buf % item == 0 &&
           (size_t)self->buffers[TABLE].len == LEVELS * self->channels * item &&
           (uintptr_t)self->buffers[TABLE].buf % item == 0 &&
           (size_t)self->buffers[MEAN].len == floats && (size_t)self->buffers[STD].len == floats &&
           plain_type(&self->buffers[MEAN]) == 'f' && plain_type(&self->buffers[STD]) == 'f';
}

static PyObject *preparation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape",  "out",  "table", "mean",    "std",    "scale",
                            "offset", "step", "zero",  "reverse", "planar", NULL};
    PyObject *shape, *objects[BUFFERS];
    int reverse, planar;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PreparationObject *self = (PreparationObject *)allocate(type, 0);
    if (self == NULL) {
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOffddpp:Preparation", names, &PyTuple_Type,
                                     &shape, &objects[OUT], &objects[TABLE], &objects[MEAN],
                                     &objects[STD], &self->scale, &self->offset, &self->step,
                                     &self->zero, &reverse, &planar)) {
        Py_DECREF(self);
        return NULL;
    }
    self->reverse = reverse != 0;
    self->planar = planar != 0;
    for (; self->held < BUFFERS; self->held++) {
        const int writable = self->held == OUT ? PyBUF_WRITABLE : 0;
        if (PyObject_GetBuffer(objects[self->held], &self->buffers[self->held],
                               PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    if (!shape_of(self, shape) || !limits_of(self) || !consistent(self)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "a preparation's arrays do not fit its shape");
        }
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Is it an image in the input's shape, or a vector of as many values? */
static bool is_image(const PreparationObject *self, const Py_buffer *image) {
    if (image->ndim == 1 && (size_t)image->shape[0] == self->pixels * self->channels) {
        return true;
    }
    return image->ndim == self->axes &&
           memcmp(image->shape, self->shape, (size_t)self->axes * sizeof *self->shape) == 0;
}

static size_t target(const PreparationObject *self, size_t pixel, size_t channel) {
    return self->planar ? channel * self->pixels + pixel : pixel * self->channels + channel;
}

static size_t source(const PreparationObject *self, size_t pixel, size_t channel) {
    return pixel * self->channels + (self->reverse ? self->channels - 1 - channel : channel);
}

#define LOOK_UP(type)                                                                              \
    static void look_up_##type(const PreparationObject *self, const uint8_t *image) {              \
        type *out = self->buffers[OUT].buf;                                                        \
        const type *table = self->buffers[TABLE].buf;                                              \
        const size_t channels = self->channels;                                                    \
        if (channels == 1) {                                                                       \
            for (size_t p = 0; p < self->pixels; p++) {                                            \
                out[p] = table[image[p]];                                                          \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t c = 0; c < channels; c++) {                                                    \
            const uint8_t *from = image + source(self, 0, c);                                      \
            type *to = out + target(self, 0, c);                                                   \
            const size_t stride = self->planar ? 1 : channels;                                     \
            for (size_t p = 0; p < self->pixels; p++) {                                            \
                to[p * stride] = table[c * LEVELS + from[p * channels]];                           \
            }                                                                                      \
        }                                                                                          \
    }

LOOK_UP(uint8_t)
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)

enum { BLOCK = 128 }; /* values of one channel at a time */

/* The steps of Preprocess.apply on n values of a channel, in place; each is the identity where it
 * is not declared. False at a number that does not stay finite. */
static bool apply(const PreparationObject *self, float *v, size_t n, size_t channel) {
    const float scale = self->scale, offset = self->offset;
    const float mean = ((const float *)self->buffers[MEAN].buf)[channel];
    const float std = ((const float *)self->buffers[STD].buf)[channel];
    unsigned other = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = (v[i] * scale + offset - mean) / std;
        other |= !(v[i] >= -FLT_MAX) | !(v[i] <= FLT_MAX);
    }
    return other == 0;
}

/* round(v / step + zero), half to even, saturated: rounded by the addition of 1.5 * 2^52, which is
 * exact below 2^51, and the limits are whole numbers. */
static void encode(const PreparationObject *self, const float *v, int32_t *codes, size_t n) {
    const double half = 6755399441055744.0, low = self->low, high = self->high;
    const double step = self->step != 0.0 ? self->step : 1.0;
    const double zero = self->step != 0.0 ? self->zero : 0.0;
    for (size_t i = 0; i < n; i++) {
        double code = (double)v[i] / step + zero;
        code = code < low ? low : code;
        code = code > high ? high : code;
        codes[i] = (int32_t)((code + half) - half);
    }
}

/* n values of a channel into every `stride`-th element from `to`. */
static void store(const PreparationObject *self, const float *v, size_t n, size_t to,
                  size_t stride) {
    void *out = self->buffers[OUT].buf;
    int32_t codes[BLOCK];
    if (self->type == 'f') {
        for (size_t i = 0; i < n; i++) {
            ((float *)out)[to + i * stride] = v[i];
        }
        return;
    }
    encode(self, v, codes, n);
    for (size_t i = 0; i < n; i++) {
        switch (self->type) {
        case 'b':
            ((int8_t *)out)[to + i * stride] = (int8_t)codes[i];
            break;
        case 'B':
            ((uint8_t *)out)[to + i * stride] = (uint8_t)codes[i];
            break;
        default:
            ((int16_t *)out)[to + i * stride] = (int16_t)codes[i];
        }
    }
}

#define PREPARE(name, type)                                                                        \
    static bool name(const PreparationObject *self, const type *image) {                           \
        float v[BLOCK];                                                                            \
        const size_t stride = self->planar ? 1 : self->channels;                                   \
        for (size_t c = 0; c < self->channels; c++) {                                              \
            for (size_t p = 0; p < self->pixels; p += BLOCK) {                                     \
                const size_t n = self->pixels - p < BLOCK ? self->pixels - p : BLOCK;              \
                const type *from = image + source(self, p, c);                                     \
                for (size_t i = 0; i < n; i++) {                                                   \
                    v[i] = (float)from[i * self->channels];                                        \
                }                                                                                  \
                if (!apply(self, v, n, c)) {                                                       \
                    return false;                                                                  \
                }                                                                                  \
                store(self, v, n, target(self, p, c), stride);                                     \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

PREPARE(prepare_floats, float)
PREPARE(prepare_doubles, double)

static bool fill(const PreparationObject *self, const Py_buffer *image) {
    if (!is_image(self, image)) {
        return false;
    }
    const char type = plain_type(image);
    if (type == 'B') {
        switch (self->buffers[OUT].itemsize) {
        case 1:
            look_up_uint8_t(self, image->buf);
            return true;
        case 2:
            look_up_uint16_t(self, image->buf);
            return true;
        default:
            look_up_uint32_t(self, image->buf);
            return true;
        }
    }
#if FLT_EVAL_METHOD == 0 /* else float arithmetic may be wider than NumPy's */
    const bool aligned = (uintptr_t)image->buf % (size_t)image->itemsize == 0;
    if (type == 'f' && image->itemsize == sizeof(float) && aligned) {
        return prepare_floats(self, image->buf);
    }
    if (type == 'd' && image->itemsize == sizeof(double) && aligned) {
        return prepare_doubles(self, image->buf);
    }
#endif
    return false;
}

static PyObject *preparation_fill(PyObject *op, PyObject *object) {
    Py_buffer image;
    if (PyObject_GetBuffer(object, &image, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError) &&
            !PyErr_ExceptionMatches(PyExc_BufferError)) {
            return NULL;
        }
        PyErr_Clear(); /* not contiguous, or a type without a format */
        Py_RETURN_FALSE;
    }
    const bool filled = fill((const PreparationObject *)op, &image);
    PyBuffer_Release(&image);
    return PyBool_FromLong(filled);
}

static PyMethodDef preparation_methods[] = {
    {"fill", preparation_fill, METH_O, "Fill `out` from an image; False: it is left to NumPy."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot preparation_slots[] = {
    {Py_tp_doc, "Preparation(...): an image into the classifier's input."},
    {Py_tp_new, preparation_new},
    {Py_tp_dealloc, preparation_dealloc},
    {Py_tp_methods, preparation_methods},
    {0, NULL},
};

PyType_Spec preparation_spec = {
    .name = "edgemon.runtime._native.Preparation",
    .basicsize = sizeof(PreparationObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = preparation_slots,
};
