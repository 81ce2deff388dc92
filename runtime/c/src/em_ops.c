/*
 * The arithmetic of the ops, section 7 of FORMAT.md.
 *
 * Integers cannot wrap: em_open has proved a bound of every result (rule N8). Floats are one
 * binary32 operation a statement, so that nothing is left to the compiler's taste; build with
 * -ffp-contract=off, for gcc does not know the pragma of em_math.h. em_known_answers.c finds a
 * build that fuses nevertheless.
 */
#include "em_math.h"
#include "em_ops.h"

/* ---- argmax, max ------------------------------------------------------------------------- */

static uint32_t largest_f32(const em_f32 *x, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        const float a = x[best], b = x[i];
        const int first_nan = (b != b) & (a == a); /* a NaN counts as the largest */
        best = ((b > a) | first_nan) ? i : best;
    }
    return best;
}

static uint32_t largest_int(uint32_t dtype, const void *x, uint32_t n) {
    uint32_t best = 0;
    int32_t top = em_int_at(dtype, x, 0);
    for (uint32_t i = 1; i < n; i++) {
        const int32_t v = em_int_at(dtype, x, i);
        best = v > top ? i : best; /* strict: the first on a tie */
        top = v > top ? v : top;
    }
    return best;
}

static uint32_t largest(em_value x) {
    return x.dtype == EM_F32 ? largest_f32((const em_f32 *)x.data, x.length)
                             : largest_int(x.dtype, x.data, x.length);
}

static void run_argmax(em_value x, void *out) { *(em_i32 *)out = (int32_t)largest(x); }

static void run_max(em_value x, void *out) {
    const uint32_t i = largest(x);
    if (x.dtype == EM_F32) {
        *(em_f32 *)out = ((const em_f32 *)x.data)[i] + 0.0f; /* -0 becomes +0 */
    } else {
        *(em_i32 *)out = em_int_at(x.dtype, x.data, i);
    }
}

/* ---- element by element ------------------------------------------------------------------ */

static void run_sub(em_value x, em_value y, void *out) {
    if (x.dtype == EM_F32) {
        const float b = *(const em_f32 *)y.data;
        for (uint32_t i = 0; i < x.length; i++) {
            ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] - b;
        }
    } else {
        const int32_t b = em_int_at(y.dtype, y.data, 0);
        for (uint32_t i = 0; i < x.length; i++) {
            ((em_i32 *)out)[i] = em_int_at(x.dtype, x.data, i) - b;
        }
    }
}

static int64_t wide_int_at(em_value x, uint32_t i) {
    return x.dtype == EM_I64 ? ((const em_i64 *)x.data)[i] : em_int_at(x.dtype, x.data, i);
}

static void run_add(em_value x, em_value y, void *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        if (x.dtype == EM_F32) {
            ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] + ((const em_f32 *)y.data)[i];
        } else {
            ((em_i64 *)out)[i] = wide_int_at(x, i) + wide_int_at(y, i);
        }
    }
}

static void run_mul(em_value x, em_value y, em_f32 *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        out[i] = ((const em_f32 *)x.data)[i] * ((const em_f32 *)y.data)[i];
    }
}

static void run_div(em_value x, em_value y, em_f32 *out) {
    const float b = *(const em_f32 *)y.data;
    for (uint32_t i = 0; i < x.length; i++) {
        out[i] = ((const em_f32 *)x.data)[i] / b;
    }
}

static void run_lut(const em_i32 *x, uint32_t n, const em_i32 *entries, uint32_t m, int32_t base,
                    em_i32 *out) {
    const int64_t last = (int64_t)m - 1;
    for (uint32_t i = 0; i < n; i++) {
        int64_t k = (int64_t)x[i] - base;
        k = k < 0 ? 0 : k;
        k = k > last ? last : k;
        out[i] = entries[k];
    }
}

static void run_to_f32(em_value x, float scale, int32_t zero, em_f32 *out) {
    if (x.dtype == EM_F32) {
        for (uint32_t i = 0; i < x.length; i++) {
            out[i] = ((const em_f32 *)x.data)[i] * scale;
        }
        return;
    }
    for (uint32_t i = 0; i < x.length; i++) {
        const float v = (float)(wide_int_at(x, i) - zero); /* to nearest even */
        out[i] = v * scale;
    }
}

/* i32 and f32 alike: four zero bytes are 0 in both. */
static void run_omit(em_value x, em_value y, void *out) {
    memcpy(out, x.data, (size_t)x.length * 4);
    ((em_i32 *)out)[*(const em_i32 *)y.data] = 0;
}

static void run_exceeds(em_value x, const void *threshold, em_i32 *out) {
    *out = x.dtype == EM_F32 ? *(const em_f32 *)x.data > *(const em_f32 *)threshold
                             : em_int_at(x.dtype, x.data, 0) > *(const em_i32 *)threshold;
}

static void run_clip(em_value x, const void *upper, void *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        if (x.dtype == EM_F32) {
            const float v = ((const em_f32 *)x.data)[i], most = *(const em_f32 *)upper;
            ((em_f32 *)out)[i] = v > most ? most : v; /* a NaN stays */
        } else {
            const int32_t v = em_int_at(x.dtype, x.data, i), most = *(const em_i32 *)upper;
            ((em_i32 *)out)[i] = v > most ? most : v;
        }
    }
}

static void run_gather(em_value x, const em_u32 *index, uint32_t n, void *out) {
    for (uint32_t i = 0; i < n; i++) {
        if (x.dtype == EM_F32) {
            ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[index[i]];
        } else {
            ((em_i32 *)out)[i] = em_int_at(x.dtype, x.data, index[i]);
        }
    }
}

/* The elements of x, then those of y; integers become i32. */
static void run_concat(em_value x, em_value y, void *out) {
    if (x.dtype == EM_F32) {
        memcpy(out, x.data, (size_t)x.length * 4);
        memcpy((em_f32 *)out + x.length, y.data, (size_t)y.length * 4);
        return;
    }
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_i32 *)out)[i] = em_int_at(x.dtype, x.data, i);
    }
    for (uint32_t i = 0; i < y.length; i++) {
        ((em_i32 *)out)[x.length + i] = em_int_at(y.dtype, y.data, i);
    }
}

/* The part of x that belongs to class `y`; i32 and f32 alike. */
static void run_select(em_value x, em_value y, uint32_t n, void *out) {
    const uint32_t at = (uint32_t) * (const em_i32 *)y.data * n;
    memcpy(out, (const em_u32 *)x.data + at, (size_t)n * 4);
}

/* ---- sum --------------------------------------------------------------------------------- */

static int64_t sum_i32(const em_i32 *x, uint32_t n) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

static void run_sum(em_value x, void *out) {
    if (x.dtype == EM_F32) {
        const em_terms terms = {.a = (const em_f32 *)x.data};
        *(em_f32 *)out = em_halving_sum(em_term_plain, &terms, x.length);
    } else {
        *(em_i64 *)out = sum_i32((const em_i32 *)x.data, x.length);
    }
}

#define REDUCE_LANES 16u
#define REDUCE_STEPS 128u /* as many bytes of either sign add up in 16 bits */

/* Sixteen channels of bytes side by side, over all positions: in 16 bits, now and then in 32. */
EM_INLINE void reduce_bytes(uint32_t dtype, em_value x, uint32_t channels, uint32_t first,
                            em_i32 *out) {
    int32_t sum[REDUCE_LANES] = {0};
    for (uint32_t at = first; at < x.length;) {
        const uint32_t left = (x.length - at + channels - 1) / channels;
        const uint32_t steps = left < REDUCE_STEPS ? left : REDUCE_STEPS;
        int16_t part[REDUCE_LANES] = {0};
        for (uint32_t i = 0; i < steps; i++, at += channels) {
            const int8_t *s = (const int8_t *)x.data + at;
            const uint8_t *u = (const uint8_t *)x.data + at;
            for (uint32_t l = 0; l < REDUCE_LANES; l++) {
                part[l] = (int16_t)(part[l] + (dtype == EM_I8 ? s[l] : u[l]));
            }
        }
        for (uint32_t l = 0; l < REDUCE_LANES; l++) {
            sum[l] += part[l];
        }
    }
    memcpy(out + first, sum, sizeof sum);
}

EM_INLINE void reduce_int(uint32_t dtype, em_value x, uint32_t channels, em_i32 *out) {
    uint32_t c = 0;
    if (dtype == EM_I8 || dtype == EM_U8) {
        for (; c + REDUCE_LANES <= channels; c += REDUCE_LANES) {
            reduce_bytes(dtype, x, channels, c, out);
        }
    }
    for (; c < channels; c++) {
        int32_t sum = 0;
        for (uint32_t at = c; at < x.length; at += channels) {
            sum += em_int_at(dtype, x.data, at);
        }
        out[c] = sum;
    }
}

static void reduce_f32(em_value x, uint32_t channels, em_f32 *out) {
    const uint32_t positions = x.length / channels;
    const float share = (float)(1.0 / (double)positions);
    for (uint32_t c = 0; c < channels; c++) {
        const em_terms terms = {.a = (const em_f32 *)x.data + c, .stride = channels};
        const float sum = em_halving_sum(em_term_strided, &terms, positions);
        out[c] = sum * share;
    }
}

/* Of each channel over its positions; of floats the mean. */
static void run_reduce(em_value x, uint32_t channels, void *out) {
    switch (x.dtype) {
    case EM_I8:
        reduce_int(EM_I8, x, channels, (em_i32 *)out);
        break;
    case EM_U8:
        reduce_int(EM_U8, x, channels, (em_i32 *)out);
        break;
    case EM_I16:
        reduce_int(EM_I16, x, channels, (em_i32 *)out);
        break;
    case EM_I32:
        reduce_int(EM_I32, x, channels, (em_i32 *)out);
        break;
    default:
        reduce_f32(x, channels, (em_f32 *)out);
        break;
    }
}

/* ---- exp, log ---------------------------------------------------------------------------- */

static void run_exp(const em_f32 *x, uint32_t n, em_f32 *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = em_exp(x[i]);
    }
}

static void run_log(const em_f32 *x, uint32_t n, em_f32 *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = em_log(x[i]);
    }
}

/* ------------------------------------------------------------------------------------------ */

EM_INTERNAL void em_run_node(const em_monitor *m, const em_node *node, em_value x, em_value y,
                             void *out) {
    switch (node->op) {
    case EM_OP_ARGMAX:
        run_argmax(x, out);
        break;
    case EM_OP_MAX:
        run_max(x, out);
        break;
    case EM_OP_SUB:
        run_sub(x, y, out);
        break;
    case EM_OP_LUT:
        run_lut((const em_i32 *)x.data, x.length, (const em_i32 *)em_data_of(m, node, 0),
                em_table_at(m, node->first_table)->count, *(const em_i32 *)em_data_of(m, node, 1),
                (em_i32 *)out);
        break;
    case EM_OP_SUM:
        run_sum(x, out);
        break;
    case EM_OP_TO_F32:
        run_to_f32(x, *(const em_f32 *)em_data_of(m, node, 0),
                   *(const em_i32 *)em_data_of(m, node, 1), (em_f32 *)out);
        break;
    case EM_OP_EXP:
        run_exp((const em_f32 *)x.data, x.length, (em_f32 *)out);
        break;
    case EM_OP_LOG:
        run_log((const em_f32 *)x.data, x.length, (em_f32 *)out);
        break;
    case EM_OP_ADD:
        run_add(x, y, out);
        break;
    case EM_OP_MUL:
        run_mul(x, y, (em_f32 *)out);
        break;
    case EM_OP_DIV:
        run_div(x, y, (em_f32 *)out);
        break;
    case EM_OP_OMIT:
        run_omit(x, y, out);
        break;
    case EM_OP_EXCEEDS:
        run_exceeds(x, em_data_of(m, node, 0), (em_i32 *)out);
        break;
    case EM_OP_GATHER:
        run_gather(x, (const em_u32 *)em_data_of(m, node, 0), node->length, out);
        break;
    case EM_OP_REDUCE:
        run_reduce(x, node->length, out);
        break;
    case EM_OP_SELECT:
        run_select(x, y, node->length, out);
        break;
    case EM_OP_CONCAT:
        run_concat(x, y, out);
        break;
    case EM_OP_CLIP:
        run_clip(x, em_data_of(m, node, 0), out);
        break;
    case EM_OP_AFFINE:
    case EM_OP_TABLES:
    case EM_OP_KERNELS:
    case EM_OP_DISTANCES:
    case EM_OP_LOGSUMEXP:
        em_run_dense(m, node, x, out);
        break;
    default: /* boxes, trees, hamming: em_open admits no other, N1 */
        em_run_rules(m, node, x, y, out);
        break;
    }
}
