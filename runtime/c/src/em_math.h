/* Private: sums, exponentials and logarithms of floats, each operation in a fixed order. */
#ifndef EM_MATH_H
#define EM_MATH_H

#include "em_layout.h"
#include "em_op_list.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* ---- exp, log ---------------------------------------------------------------------------- */

/* p = p * x + c as two operations. */
EM_INLINE float em_horner(float p, float x, float c) {
    const float product = p * x;
    return product + c;
}

/* Section 7.2 */
EM_SHARED float em_exp(float x) {
    const float log2_e = em_float_of(UINT32_C(0x3FB8AA3B));
    const float ln2_high = em_float_of(UINT32_C(0x3F318000));
    const float ln2_low = em_float_of(UINT32_C(0xB95E8083));

    x = x < -86.0f ? -86.0f : x; /* a NaN passes ... */
    x = x > 86.0f ? 86.0f : x;
    const float scaled = x * log2_e;
    const float t = scaled + 0.5f;
    int32_t k = (int32_t)(t == t ? t : 0.0f); /* ... but is not converted, and comes out below */
    k -= (float)k > t;                        /* truncated; now floored */

    const float kf = (float)k;
    const float k_high = kf * ln2_high;
    const float k_low = kf * ln2_low;
    float r = x - k_high;
    r = r - k_low;
    float p = (float)(1.0 / 5040.0);
    p = em_horner(p, r, (float)(1.0 / 720.0));
    p = em_horner(p, r, (float)(1.0 / 120.0));
    p = em_horner(p, r, (float)(1.0 / 24.0));
    p = em_horner(p, r, (float)(1.0 / 6.0));
    p = em_horner(p, r, 0.5f);
    p = em_horner(p, r, 1.0f);
    p = em_horner(p, r, 1.0f);
    return p * em_float_of((uint32_t)(k + 127) << 23);
}

/* Section 7.3 */
EM_SHARED float em_log(float x) {
    const float ln2 = em_float_of(UINT32_C(0x3F317218));

    x = x < FLT_MIN ? FLT_MIN : x; /* 2^-126 */
    const uint32_t bits = em_bits_of(x);
    const float k = (float)((int32_t)(bits >> 23) - 127);
    const float m = em_float_of((bits & UINT32_C(0x007FFFFF)) | UINT32_C(0x3F800000));
    const float above = m - 1.0f;
    const float below = m + 1.0f;
    const float s = above / below;
    const float t = s * s;
    float p = (float)(2.0 / 13.0);
    p = em_horner(p, t, (float)(2.0 / 11.0));
    p = em_horner(p, t, (float)(2.0 / 9.0));
    p = em_horner(p, t, (float)(2.0 / 7.0));
    p = em_horner(p, t, (float)(2.0 / 5.0));
    p = em_horner(p, t, (float)(2.0 / 3.0));
    p = em_horner(p, t, 2.0f);
    const float mantissa = s * p;
    const float exponent = k * ln2;
    const float result = mantissa + exponent;
    return em_is_finite(bits) ? result : x - x; /* of no number: NaN */
}

/* ---- the halving sum, section 7.1 --------------------------------------------------------- */

/* What the terms of a sum are made of; each kind of term takes what it needs. */
typedef struct em_terms {
    const em_f32 *a;
    const em_f32 *b;
    const int8_t *codes;
    float scale;
    size_t stride;
} em_terms;

/* What the terms are; a constant at each call. */
typedef enum em_term {
    EM_PLAIN,
    EM_STRIDED,
    EM_PRODUCT,
    EM_SQUARE,
    EM_SQUARE_OF_CODE,
    EM_EXP_BELOW
} em_term;

EM_INLINE float em_term_at(em_term term, const em_terms *t, size_t i) {
    float u = t->a[term == EM_STRIDED ? i * t->stride : i];
    switch (term) {
    case EM_PLAIN:
    case EM_STRIDED:
        break;
    case EM_PRODUCT:
        u = u * t->b[i];
        break;
    case EM_SQUARE:
        u = u - t->b[i];
        u = u * u;
        break;
    case EM_SQUARE_OF_CODE: {
        const float v = (float)t->codes[i] * t->scale;
        u = u - v;
        u = u * u;
        break;
    }
    case EM_EXP_BELOW:
#if EM_HAS(LOGSUMEXP)
        u = em_exp(u - t->scale);
#endif
        break;
    }
    return u;
}

/* Adds 1 to a counter below `length`, a power of two, whose bits are mirrored. */
EM_INLINE uint32_t em_next_reversed(uint32_t reversed, uint32_t length) {
    uint32_t bit = length >> 1;
    while (reversed & bit) {
        reversed ^= bit;
        bit >>= 1;
    }
    return reversed | bit;
}

#if EM_SMALL

#define EM_SUM_LEVELS 21u /* n <= 2^20 */

/* The halvings are a balanced binary tree whose leaves come in bit-reversed order: `pending` holds
 * the subtrees that wait for their siblings. */
EM_ONCE float em_halving_sum(em_term term, const em_terms *t, uint32_t n) {
    float pending[EM_SUM_LEVELS];
    uint32_t waiting = 0, length = 1, reversed = 0;
    while (length < n) {
        length *= 2;
    }
    for (uint32_t j = 0; j < length; j++) {
        float sum = reversed < n ? em_term_at(term, t, reversed) : 0.0f;
        for (uint32_t k = j; k & 1; k >>= 1) {
            sum = pending[--waiting] + sum;
        }
        pending[waiting++] = sum;
        reversed = em_next_reversed(reversed, length);
    }
    return pending[0];
}

#else

#define EM_SUM_LANES 8u
#define EM_SUM_LEVELS 16u /* n <= 2^20 in 64s, and a leaf that is not yet added */

/* The last halvings of a vector of n elements, which has none above its own length. */
EM_INLINE float em_sum_of_lanes(float *lane, uint32_t n) {
    for (uint32_t half = EM_SUM_LANES / 2; half > 0; half /= 2) {
        if (half < n) {
            for (uint32_t l = 0; l < half; l++) {
                lane[l] = lane[l] + lane[l + half];
            }
        }
    }
    return lane[0];
}

#define EM_SUM_SHORT 32u
#define EM_SUM_ROWS 64u /* terms of eight rows */

/* Terms from `at` to n, eight at most, then zeros. */
EM_INLINE void em_row_of_terms(em_term term, const em_terms *t, size_t at, size_t n, float *row) {
    if (n - at >= EM_SUM_LANES) {
        for (size_t l = 0; l < EM_SUM_LANES; l++) {
            row[l] = em_term_at(term, t, at + l);
        }
        return;
    }
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        row[l] = 0.0f;
    }
    for (size_t l = 0; l < n - at; l++) {
        row[l] = em_term_at(term, t, at + l);
    }
}

/* Eight rows of eight terms, `apart` terms from one row to the next, after their three halvings.
 * Behind the last of n terms are zeros. */
EM_INLINE void em_sum_of_rows(em_term term, const em_terms *t, size_t first, size_t apart, size_t n,
                              float *sum) {
    float v[EM_SUM_ROWS];
    if (first + 7 * apart + EM_SUM_LANES <= n) {
        for (size_t r = 0; r < 4; r++) {
            const size_t at = first + r * apart;
            for (size_t l = 0; l < EM_SUM_LANES; l++) {
                const float upper = em_term_at(term, t, at + l);
                v[r * EM_SUM_LANES + l] = upper + em_term_at(term, t, at + 4 * apart + l);
            }
        }
    } else {
        for (size_t r = 0; r < 8; r++) {
            const size_t at = first + r * apart;
            em_row_of_terms(term, t, at < n ? at : n, n, v + r * EM_SUM_LANES);
        }
        for (size_t k = 0; k < 4 * EM_SUM_LANES; k++) {
            v[k] = v[k] + v[k + 4 * EM_SUM_LANES];
        }
    }
    for (size_t k = 0; k < 2 * EM_SUM_LANES; k++) {
        v[k] = v[k] + v[k + 2 * EM_SUM_LANES];
    }
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        sum[l] = v[l] + v[l + EM_SUM_LANES];
    }
}

/* Of up to EM_SUM_SHORT terms: all of them side by side, then halved, eight lanes at a time. */
EM_INLINE float em_short_sum(em_term term, const em_terms *t, uint32_t n) {
    float v[EM_SUM_SHORT];
    uint32_t length = EM_SUM_LANES;
    while (length < n) {
        length *= 2;
    }
    for (uint32_t first = 0; first < length; first += EM_SUM_LANES) {
        em_row_of_terms(term, t, first < n ? first : n, n, v + first);
    }
    for (uint32_t half = length / 2; half >= EM_SUM_LANES; half /= 2) {
        for (uint32_t k = 0; k < half; k += EM_SUM_LANES) {
            for (uint32_t l = 0; l < EM_SUM_LANES; l++) {
                v[k + l] = v[k + l] + v[half + k + l];
            }
        }
    }
    return em_sum_of_lanes(v, n);
}

/* After leaf `j` of a balanced binary tree, which is the last of `waiting` rows of `lanes` sums:
 * adds up the subtrees that are complete. Returns how many rows wait then. */
EM_INLINE uint32_t em_add_complete(float *pending, uint32_t lanes, uint32_t waiting, uint32_t j) {
    for (; j & 1; j >>= 1) {
        float *sum = pending + (size_t)(waiting - 2) * lanes;
        for (uint32_t l = 0; l < lanes; l++) {
            sum[l] = sum[l] + sum[lanes + l];
        }
        waiting--;
    }
    return waiting;
}

/*
 * The last halvings of the vector add lanes 4, 2 and 1 apart; all before them add whole rows of 8
 * lanes, the rows as a balanced binary tree whose leaves come in bit-reversed order. So rows are
 * added as they are read, eight at a time, and `pending` holds the subtrees that wait for their
 * siblings.
 */
EM_INLINE float em_halving_sum(em_term term, const em_terms *t, uint32_t n) {
    if (n <= EM_SUM_SHORT) {
        return em_short_sum(term, t, n);
    }
    float pending[EM_SUM_LEVELS * EM_SUM_LANES];
    uint32_t waiting = 0, groups = 1, reversed = 0; /* of eight rows */
    while (groups * EM_SUM_ROWS < n) {
        groups *= 2;
    }
    for (uint32_t j = 0; j < groups; j++) {
        em_sum_of_rows(term, t, reversed * EM_SUM_LANES, groups * EM_SUM_LANES, n,
                       pending + waiting * EM_SUM_LANES);
        waiting = em_add_complete(pending, EM_SUM_LANES, waiting + 1, j);
        reversed = em_next_reversed(reversed, groups);
    }
    return em_sum_of_lanes(pending, EM_SUM_LANES);
}

#endif

#endif /* EM_MATH_H */
