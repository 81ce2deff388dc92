/*
 * Ops whose time goes into many products, squares and exponentials: affine, tables, kernels,
 * distances, squared_error, logsumexp. Section 7, and 7.6 to 7.8, of FORMAT.md.
 */
#include "em_ops.h"
#include "em_rows.h"
#include "em_wide.h"

/* ---- affine, section 7.6 -------------------------------------------------------------------- */

#if EM_HAS(AFFINE)
EM_TABLES(affine) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    const int f32 = em_is_f32(c->x.dtype);
    const uint32_t rows = t[1].count;
    if (rows < 1 || t[1].dtype != (f32 ? EM_F32 : EM_I32) ||
        !em_has_type(&t[0], f32 ? EM_F32 : EM_I16, (uint64_t)rows * c->x.length)) {
        return EM_E_TABLE;
    }
    const void *weight = em_data_of(&c->r->m, c->node, 0);
    const void *bias = em_data_of(&c->r->m, c->node, 1);
    c->result.length = rows;
    if (f32) {
        const int finite = em_all_finite((const em_u32 *)weight, t[0].count) &
                           em_all_finite((const em_u32 *)bias, rows);
        return finite ? EM_OK : EM_E_VALUE;
    }
    const uint32_t sum = c->x.bits + em_width(em_largest_i16((const em_i16 *)weight, t[0].count)) +
                         em_width(c->x.length);
    const uint32_t offset = em_width(em_largest_magnitude((const em_i32 *)bias, rows));
    c->result.bits = em_larger(sum, offset) + 1;
    return EM_OK;
}

EM_WORK(affine) { return em_table_at(m, node->first_table)->count; }

/* Row by row; `dtype` is a constant at each call. */
EM_INLINE void affine_wide(uint32_t dtype, em_value x, const em_i16 *weight, const em_i32 *bias,
                           uint32_t rows, em_i32 *out) {
    for (uint32_t k = 0; k < rows; k++) {
        const em_i16 *w = weight + (size_t)k * x.length;
        int32_t sum = bias[k];
        for (uint32_t i = 0; i < x.length; i++) {
            sum += em_int_of(dtype, x.data, i) * w[i];
        }
        out[k] = sum;
    }
}

#define AFFINE_PART 128u

/* The same for up to 16 bits, products side by side: some elements of x at a time, for every row.
 */
EM_INLINE void affine_narrow(uint32_t dtype, em_value x, const em_i16 *weight, const em_i32 *bias,
                             uint32_t rows, em_i32 *out) {
    memcpy(out, bias, (size_t)rows * sizeof *out);
    for (uint32_t first = 0; first < x.length; first += AFFINE_PART) {
        const uint32_t left = x.length - first;
        const uint32_t n = left < AFFINE_PART ? left : AFFINE_PART;
        const uint8_t *from = (const uint8_t *)x.data + (size_t)first * em_size_of(dtype);
        int16_t part[AFFINE_PART];
        for (uint32_t i = 0; i < n; i++) { /* first + i might wrap, and be no vector */
            part[i] = (int16_t)em_int_of(dtype, from, i);
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

EM_INLINE em_terms products_of(em_value x, const void *weight) {
    const em_terms terms = {.a = (const em_f32 *)x.data, .b = (const em_f32 *)weight};
    return terms;
}

#if !EM_SMALL
EM_TWICE(affine_short, 8) {
    const em_terms t = products_of(x, em_data_of(m, node, 0));
    em_sums_of_short(EM_PRODUCT, t, x.length, node->length, 0, (em_f32 *)out);
}

EM_TWICE(affine_long, 8) {
    const em_terms t = products_of(x, em_data_of(m, node, 0));
    em_sums_of_long(EM_PRODUCT, t, x.length, node->length, (em_f32 *)out);
}
#endif

EM_INLINE void affine_f32(const em_monitor *m, const em_node *node, em_value x, em_f32 *out) {
    const em_f32 *bias = (const em_f32 *)em_data_of(m, node, 1);
#if EM_SMALL
    em_terms t = products_of(x, em_data_of(m, node, 0));
    em_sums_of_rows(EM_PRODUCT, &t, x.length, node->length, out);
#else
    if (x.length <= EM_CHUNK) {
        affine_short(m, node, x, x, out);
    } else if (x.length <= EM_LONG) {
        affine_long(m, node, x, x, out);
    } else {
        const em_terms t = products_of(x, em_data_of(m, node, 0));
        em_sums_of_longest(EM_PRODUCT, t, x.length, node->length, out);
    }
#endif
    for (uint32_t k = 0; k < node->length; k++) {
        out[k] = out[k] + bias[k];
    }
}

/* Of a node: its bits are proven. */
EM_INLINE int fits_16(const em_monitor *m, uint32_t id) {
    return id >= m->n_taps && em_node_at(m, id - m->n_taps)->bits < 15;
}

EM_TWICE(affine_ints, 16) {
    const em_i16 *w = (const em_i16 *)em_data_of(m, node, 0);
    const em_i32 *b = (const em_i32 *)em_data_of(m, node, 1);
    em_i32 *sum = (em_i32 *)out;
    if (EM_SMALL || (x.dtype == EM_I32 && !fits_16(m, node->x))) {
        EM_OF_EACH_INT(x.dtype, dtype, affine_wide(dtype, x, w, b, node->length, sum));
    } else {
        EM_OF_EACH_INT(x.dtype, dtype, affine_narrow(dtype, x, w, b, node->length, sum));
    }
}

EM_RUN(affine) {
    if (em_is_f32(x.dtype)) {
        affine_f32(m, node, x, (em_f32 *)out);
    } else {
        affine_ints(m, node, x, y, out);
    }
}
#endif

/* ---- tables, section 7.7 -------------------------------------------------------------------- */

#if EM_HAS(TABLES)
EM_TYPES(tables) {
    c->result = (em_facts){EM_I32, c->node->length, 0};
    return em_is_f32(c->x.dtype);
}

EM_TABLES(tables) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (!em_has_type(&t[0], EM_F32, c->x.length) || !em_has_type(&t[1], EM_F32, c->x.length) ||
        !em_has_type(&t[2], EM_U32, 2) || t[3].dtype != EM_I16) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&c->r->m, c->node, 2);
    if (shape[0] < 1 || shape[1] < 1 || shape[1] > 65536 || t[3].count % shape[1] != 0 ||
        t[3].count / shape[1] != (uint64_t)shape[0] * c->x.length) {
        return EM_E_TABLE;
    }
    if (!em_all_finite((const em_u32 *)em_data_of(&c->r->m, c->node, 0), c->x.length) ||
        !em_all_positive((const em_f32 *)em_data_of(&c->r->m, c->node, 1), c->x.length)) {
        return EM_E_VALUE;
    }
    const em_i16 *entries = (const em_i16 *)em_data_of(&c->r->m, c->node, 3);
    c->result.length = shape[0];
    c->result.bits = em_width(em_largest_i16(entries, t[3].count)) + em_width(c->x.length);
    return EM_OK;
}

EM_WORK(tables) { return (uint64_t)node->length * n; }

EM_RUN(tables) {
    const em_f32 *v = (const em_f32 *)x.data;
    const em_f32 *origin = (const em_f32 *)em_data_of(m, node, 0);
    const em_f32 *rate = (const em_f32 *)em_data_of(m, node, 1);
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, 2);
    const em_i16 *entries = (const em_i16 *)em_data_of(m, node, 3);
    const uint32_t classes = shape[0], bins = shape[1];
    const float last = (float)(bins - 1);
    em_i32 *sum = (em_i32 *)out;
    memset(sum, 0, (size_t)classes * sizeof *sum);
    for (uint32_t i = 0; i < x.length; i++) {
        const float above = v[i] - origin[i];
        float t = above * rate[i];
        t = t > 0.0f ? t : 0.0f; /* also of a NaN */
        t = t < last ? t : last;
        const em_i16 *entry = entries + (size_t)i * bins + (uint32_t)(int32_t)t;
        for (uint32_t c = 0; c < classes; c++) {
            sum[c] += entry[(size_t)c * x.length * bins];
        }
    }
}
#endif

/* ---- squares -------------------------------------------------------------------------------- */

#if EM_HAS(DISTANCES) || EM_HAS(SQUARED_ERROR) || EM_HAS(KERNELS)
EM_INLINE em_terms squares_of(em_value x, em_value y) {
    const em_terms terms = {.a = (const em_f32 *)x.data, .b = (const em_f32 *)y.data};
    return terms;
}

#if !EM_SMALL
/* y may be longer than the points. */
EM_TWICE(distances_short, 8) {
    const size_t room = y.length - (size_t)node->length * x.length;
    em_sums_of_short(EM_SQUARE, squares_of(x, y), x.length, node->length, room, (em_f32 *)out);
}

EM_TWICE(distances_long, 8) {
    em_sums_of_long(EM_SQUARE, squares_of(x, y), x.length, node->length, (em_f32 *)out);
}
#endif

/* Of x from each of some points, which y holds one behind the other. */
EM_SHARED void distances_f32(const em_node *node, em_value x, em_value y, em_f32 *out) {
#if EM_SMALL
    em_terms t = squares_of(x, y);
    em_sums_of_rows(EM_SQUARE, &t, x.length, node->length, out);
#else
    if (x.length <= EM_CHUNK) {
        distances_short(NULL, node, x, y, out);
    } else if (x.length <= EM_LONG) {
        distances_long(NULL, node, x, y, out);
    } else {
        em_sums_of_longest(EM_SQUARE, squares_of(x, y), x.length, node->length, out);
    }
#endif
}
#endif

/* ---- kernels, section 7.8 ------------------------------------------------------------------- */

#if EM_HAS(KERNELS)
EM_TABLES(kernels) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (!em_has_type(&t[0], EM_U32, 2) || t[1].dtype != EM_I8 || !em_has_type(&t[2], EM_F32, 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    const uint64_t kernels = (uint64_t)shape[0] * shape[1];
    if (kernels < 1 || c->x.length % shape[0] != 0 ||
        t[1].count != (uint64_t)shape[1] * c->x.length || !em_has_type(&t[3], EM_F32, kernels)) {
        return EM_E_TABLE;
    }
    if (!em_all_positive((const em_f32 *)em_data_of(&c->r->m, c->node, 2), 1) ||
        !em_all_finite((const em_u32 *)em_data_of(&c->r->m, c->node, 3), t[3].count)) {
        return EM_E_VALUE;
    }
    c->result.length = t[3].count;
    return EM_OK;
}

EM_WORK(kernels) { return em_table_at(m, node->first_table + 1)->count; }

EM_INLINE em_terms codes_of(const em_monitor *m, const em_node *node, em_value x, em_value y) {
    const em_terms terms = {.a = (const em_f32 *)x.data,
                            .codes = (const int8_t *)y.data,
                            .scale = *(const em_f32 *)em_data_of(m, node, 2)};
    return terms;
}

#if !EM_SMALL
#define KERNEL_ROOM (EM_ROWS * 48u)

/* Of fewer than 64 dimensions: some of y's centres at a time become floats. */
EM_TWICE(kernels_short, 8) {
    float real[KERNEL_ROOM + EM_SUM_LANES]; /* that can be read behind the last */
    const em_terms t = codes_of(m, node, x, y);
    const uint32_t several = KERNEL_ROOM / x.length;
    const uint32_t most = several < EM_ROWS ? several : several / EM_ROWS * EM_ROWS;
    em_node block = *node;
    for (uint32_t first = 0; first < node->length; first += most) {
        const int8_t *codes = t.codes + (size_t)first * x.length;
        const uint32_t left = node->length - first;
        block.length = left < most ? left : most;
        const em_value points = {real, EM_F32, block.length * x.length + EM_SUM_LANES};
        for (uint32_t i = 0; i < points.length - EM_SUM_LANES; i++) {
            real[i] = (float)codes[i] * t.scale;
        }
        memset(real + points.length - EM_SUM_LANES, 0, EM_SUM_LANES * sizeof *real);
        distances_short(NULL, &block, x, points, (em_f32 *)out + first);
    }
}

EM_TWICE(kernels_long, 8) {
    const em_terms t = codes_of(m, node, x, y);
    if (x.length == EM_CHUNK) {
        em_sums_of_codes(t, node->length, (em_f32 *)out);
    } else {
        em_sums_of_long(EM_SQUARE_OF_CODE, t, x.length, node->length, (em_f32 *)out);
    }
}
#endif

/* Of x from the centres of one class, which y holds. */
EM_INLINE void kernels_of_class(const em_monitor *m, const em_node *node, em_value x, em_value y,
                                em_f32 *out) {
#if EM_SMALL
    em_terms t = codes_of(m, node, x, y);
    em_sums_of_rows(EM_SQUARE_OF_CODE, &t, x.length, node->length, out);
#else
    if (x.length < EM_CHUNK) {
        kernels_short(m, node, x, y, out);
    } else if (x.length <= EM_LONG) {
        kernels_long(m, node, x, y, out);
    } else {
        const em_terms t = codes_of(m, node, x, y);
        em_sums_of_longest(EM_SQUARE_OF_CODE, t, x.length, node->length, out);
    }
#endif
}

EM_RUN(kernels) {
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, 0);
    const int8_t *centres = (const int8_t *)em_data_of(m, node, 1);
    const em_f32 *log_weight = (const em_f32 *)em_data_of(m, node, 3);
    const uint32_t kernels = shape[1], dims = x.length / shape[0];
    em_f32 *result = (em_f32 *)out;
    em_value of_class = {x.data, x.dtype, dims};
    em_node class_node = *node;
    for (uint32_t first = 0; first < node->length; first += kernels) {
        const uint32_t left = node->length - first; /* known answers have fewer than a class */
        const em_value points = {centres + (size_t)first * dims, EM_I8, 0};
        class_node.length = left < kernels ? left : kernels;
        kernels_of_class(m, &class_node, of_class, points, result + first);
        of_class.data = (const em_f32 *)of_class.data + dims;
    }
    for (uint32_t i = 0; i < node->length; i++) {
        const float half = result[i] * 0.5f;
        result[i] = log_weight[i] - half;
    }
}
#endif

/* ---- distances, squared_error --------------------------------------------------------------- */

#if EM_HAS(DISTANCES)
EM_TABLES(distances) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (!em_is_f32(t->dtype) || t->count < 1 || t->count % c->x.length != 0) {
        return EM_E_TABLE;
    }
    c->result.length = t->count / c->x.length;
    const em_u32 *centres = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    return em_all_finite(centres, t->count) ? EM_OK : EM_E_VALUE;
}

EM_WORK(distances) { return em_table_at(m, node->first_table)->count; }

EM_RUN(distances) {
    const em_value points = {em_data_of(m, node, 0), EM_F32, x.length * node->length};
    distances_f32(node, x, points, (em_f32 *)out);
}
#endif

#if EM_HAS(SQUARED_ERROR)
EM_TYPES(squared_error) {
    const int f32 = em_is_f32(c->x.dtype);
    const uint32_t apart = em_larger(c->x.bits, c->y.bits) + 1;
    c->result = (em_facts){f32 ? EM_F32 : EM_I64, 1, 2 * apart + em_width(c->x.length)};
    return c->x.length == c->y.length &&
           (f32 ? em_is_f32(c->y.dtype) : em_is_int(c->x) && em_is_int(c->y));
}

#define SQUARES_PART (UINT32_C(1) << 15) /* of differences of bytes, which add up in 31 bits */

/* Of two vectors of one type of bytes: some at a time, then in 64 bits. */
EM_INLINE int64_t squares_of_bytes(uint32_t dtype, const void *x, const void *y, uint32_t n) {
    int64_t sum = 0;
    for (uint32_t first = 0; first < n; first += SQUARES_PART) {
        const uint32_t past = n - first < SQUARES_PART ? n : first + SQUARES_PART;
        int32_t part = 0;
        for (uint32_t i = first; i < past; i++) {
            const int16_t apart = (int16_t)(em_int_of(dtype, x, i) - em_int_of(dtype, y, i));
            const int32_t square = (int32_t)apart * apart;
            part += square;
        }
        sum += part;
    }
    return sum;
}

/* Of two vectors of 16 bits, whose differences' squares have 32. */
static int64_t squares_of_halfwords(const em_i16 *x, const em_i16 *y, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t apart = (uint32_t)(x[i] - y[i]);
        const uint32_t square = apart * apart; /* that of its magnitude */
        sum += square;
    }
    return (int64_t)sum;
}

static int64_t squares_of_ints(em_value x, em_value y) {
    int64_t sum = 0;
    if (!EM_SMALL && x.dtype == y.dtype) {
        switch (x.dtype) {
        case EM_I8:
            return squares_of_bytes(EM_I8, x.data, y.data, x.length);
        case EM_U8:
            return squares_of_bytes(EM_U8, x.data, y.data, x.length);
        case EM_I16:
            return squares_of_halfwords((const em_i16 *)x.data, (const em_i16 *)y.data, x.length);
        default:
            break;
        }
    }
    for (uint32_t i = 0; i < x.length; i++) {
        const int64_t apart =
            (int64_t)em_int_at(x.dtype, x.data, i) - em_int_at(y.dtype, y.data, i);
        sum += apart * apart;
    }
    return sum;
}

EM_RUN(squared_error) {
    if (em_is_f32(x.dtype)) {
        distances_f32(node, x, y, (em_f32 *)out);
    } else {
        *(em_i64 *)out = squares_of_ints(x, y);
    }
}
#endif

/* ---- logsumexp ------------------------------------------------------------------------------ */

#if EM_HAS(LOGSUMEXP)
EM_TABLES(logsumexp) {
    c->result.length = em_divisor_of(c->r, c->node, c->x);
    return c->result.length > 0 ? EM_OK : EM_E_TABLE;
}

EM_WORK(logsumexp) { return EM_TRANSCENDENTAL * ((uint64_t)n + node->length); }

EM_RUN(logsumexp) {
    const uint32_t size = x.length / node->length;
    for (uint32_t c = 0; c < node->length; c++) {
        const em_f32 *v = (const em_f32 *)x.data + (size_t)c * size;
        const float top = em_of_rank(em_largest_rank(v, size)); /* a NaN stays */
        const em_terms terms = {.a = v, .scale = top};
        ((em_f32 *)out)[c] = top + em_log(em_halving_sum(EM_EXP_BELOW, &terms, size));
    }
}
#endif
