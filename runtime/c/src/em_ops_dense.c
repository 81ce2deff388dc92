/*
 * The ops whose time goes into many products and squares: sections 7.6 to 7.8 of FORMAT.md,
 * distances and logsumexp.
 */
#include "em_math.h"
#include "em_ops.h"

/* ---- affine -------------------------------------------------------------------------------- */

#define AFFINE_PART 64u

/* Products of 16 bits side by side: some elements of x at a time, for every row of weights. */
EM_INLINE void affine_narrow(uint32_t dtype, em_value x, const em_i16 *weight, const em_i32 *bias,
                             uint32_t rows, em_i32 *out) {
    memcpy(out, bias, (size_t)rows * sizeof *out);
    for (uint32_t first = 0; first < x.length; first += AFFINE_PART) {
        const uint32_t left = x.length - first;
        const uint32_t n = left < AFFINE_PART ? left : AFFINE_PART;
        int16_t part[AFFINE_PART];
        for (uint32_t i = 0; i < n; i++) {
            part[i] = (int16_t)em_int_at(dtype, x.data, first + i);
        }
        for (uint32_t k = 0; k < rows; k++) {
            const em_i16 *w = weight + (size_t)k * x.length + first;
            int32_t sum = 0;
            for (uint32_t i = 0; i < n; i++) {
                sum += part[i] * w[i];
            }
            out[k] += sum;
        }
    }
}

static void affine_i32(em_value x, const em_i16 *weight, const em_i32 *bias, uint32_t rows,
                       em_i32 *out) {
    const em_i32 *v = (const em_i32 *)x.data;
    for (uint32_t k = 0; k < rows; k++) {
        const em_i16 *w = weight + (size_t)k * x.length;
        int32_t sum = bias[k];
        for (uint32_t i = 0; i < x.length; i++) {
            sum += v[i] * w[i];
        }
        out[k] = sum;
    }
}

static void affine_f32(em_value x, const em_f32 *weight, const em_f32 *bias, uint32_t rows,
                       em_f32 *out) {
    for (uint32_t k = 0; k < rows; k++) {
        const em_terms terms = {.a = (const em_f32 *)x.data, .b = weight + (size_t)k * x.length};
        out[k] = em_halving_sum(em_term_product, &terms, x.length) + bias[k];
    }
}

static void run_affine(const em_monitor *m, const em_node *node, em_value x, void *out) {
    const void *weight = em_data_of(m, node, 0);
    const void *bias = em_data_of(m, node, 1);
    const em_i16 *w = (const em_i16 *)weight;
    const em_i32 *b = (const em_i32 *)bias;
    switch (x.dtype) {
    case EM_I8:
        affine_narrow(EM_I8, x, w, b, node->length, (em_i32 *)out);
        break;
    case EM_U8:
        affine_narrow(EM_U8, x, w, b, node->length, (em_i32 *)out);
        break;
    case EM_I16:
        affine_narrow(EM_I16, x, w, b, node->length, (em_i32 *)out);
        break;
    case EM_I32:
        affine_i32(x, w, b, node->length, (em_i32 *)out);
        break;
    default:
        affine_f32(x, (const em_f32 *)weight, (const em_f32 *)bias, node->length, (em_f32 *)out);
        break;
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void run_tables(const em_monitor *m, const em_node *node, em_value x, em_i32 *out) {
    const em_f32 *v = (const em_f32 *)x.data;
    const em_f32 *origin = (const em_f32 *)em_data_of(m, node, 0);
    const em_f32 *rate = (const em_f32 *)em_data_of(m, node, 1);
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, 2);
    const em_i16 *entries = (const em_i16 *)em_data_of(m, node, 3);
    const uint32_t classes = shape[0], bins = shape[1];
    const float last = (float)(bins - 1);
    memset(out, 0, (size_t)classes * sizeof *out);
    for (uint32_t i = 0; i < x.length; i++) {
        const float above = v[i] - origin[i];
        float t = above * rate[i];
        t = t > 0.0f ? t : 0.0f; /* also of a NaN */
        t = t < last ? t : last;
        const em_i16 *entry = entries + (size_t)i * bins + (uint32_t)t;
        for (uint32_t c = 0; c < classes; c++) {
            out[c] += entry[(size_t)c * x.length * bins];
        }
    }
}

/* ---- kernels, distances, logsumexp ---------------------------------------------------------- */

static void run_kernels(const em_monitor *m, const em_node *node, em_value x, em_f32 *out) {
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, 0);
    const int8_t *centres = (const int8_t *)em_data_of(m, node, 1);
    const float scale = *(const em_f32 *)em_data_of(m, node, 2);
    const em_f32 *log_weight = (const em_f32 *)em_data_of(m, node, 3);
    const uint32_t kernels = shape[1], dims = x.length / shape[0];
    for (uint32_t i = 0; i < node->length; i++) {
        const em_terms terms = {.a = (const em_f32 *)x.data + (size_t)(i / kernels) * dims,
                                .codes = centres + (size_t)i * dims,
                                .scale = scale};
        const float half = em_halving_sum(em_term_square_of_code, &terms, dims) * 0.5f;
        out[i] = log_weight[i] - half;
    }
}

static void run_distances(em_value x, const em_f32 *centres, uint32_t n, em_f32 *out) {
    for (uint32_t i = 0; i < n; i++) {
        const em_terms terms = {.a = (const em_f32 *)x.data, .b = centres + (size_t)i * x.length};
        out[i] = em_halving_sum(em_term_square, &terms, x.length);
    }
}

EM_INLINE float term_exp(const em_terms *t, size_t i) {
    const float v = t->a[i] - t->scale;
    return em_exp(v);
}

static void run_logsumexp(em_value x, uint32_t groups, em_f32 *out) {
    const uint32_t size = x.length / groups;
    for (uint32_t c = 0; c < groups; c++) {
        const em_f32 *v = (const em_f32 *)x.data + (size_t)c * size;
        float top = v[0];
        for (uint32_t i = 1; i < size; i++) {
            top = v[i] > top || v[i] != v[i] ? v[i] : top; /* a NaN stays */
        }
        const em_terms terms = {.a = v, .scale = top};
        out[c] = top + em_log(em_halving_sum(term_exp, &terms, size));
    }
}

EM_INTERNAL void em_run_dense(const em_monitor *m, const em_node *node, em_value x, void *out) {
    switch (node->op) {
    case EM_OP_AFFINE:
        run_affine(m, node, x, out);
        break;
    case EM_OP_TABLES:
        run_tables(m, node, x, (em_i32 *)out);
        break;
    case EM_OP_KERNELS:
        run_kernels(m, node, x, (em_f32 *)out);
        break;
    case EM_OP_DISTANCES:
        run_distances(x, (const em_f32 *)em_data_of(m, node, 0), node->length, (em_f32 *)out);
        break;
    default: /* EM_OP_LOGSUMEXP */
        run_logsumexp(x, node->length, (em_f32 *)out);
        break;
    }
}
