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

#define WHOLE UINT32_C(0x4B400000) /* 1.5 * 2^23 */

/* Section 7.2 */
EM_SHARED float em_exp(float x) {
    const float log2_e = em_float_of(UINT32_C(0x3FB8AA3B));
    const float ln2_high = em_float_of(UINT32_C(0x3F318000));
    const float ln2_low = em_float_of(UINT32_C(0xB95E8083));
    const float whole = em_float_of(WHOLE);

    /* To 86 at most, of either sign; a NaN passes, and comes out. Compared as whole numbers, for a
     * comparison of floats may raise a flag, and then compilers leave loops as they are. */
    const uint32_t given = em_bits_of(x), sign = given & UINT32_C(0x80000000);
    const int32_t magnitude = (int32_t)(given ^ sign);
    const int far = (magnitude > INT32_C(0x42AC0000)) & (magnitude <= INT32_C(0x7F800000));
    x = em_float_of((far ? UINT32_C(0x42AC0000) : (uint32_t)magnitude) | sign);
    const float scaled = x * log2_e;
    const float t = scaled + 0.5f;
    /* The floor of t without a conversion, which a NaN must not meet: the bits of 1.5 * 2^23 and a
     * whole number count with that number. */
    const float apart = t + whole;
    const float nearest = apart - whole;
    const float rest = t - nearest; /* exact */
    const int32_t above = (int32_t)(em_bits_of(rest) >> 31);
    const int32_t k = (int32_t)em_bits_of(apart) - (int32_t)WHOLE - above;

    const float kf = nearest - (float)above;
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

    /* To 2^-126 at least, as whole numbers; a NaN passes. */
    const uint32_t given = em_bits_of(x);
    const int small = ((int32_t)given < INT32_C(0x00800000)) &
                      ((int32_t)(given & UINT32_C(0x7FFFFFFF)) <= INT32_C(0x7F800000));
    const uint32_t bits = small ? UINT32_C(0x00800000) : given;
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
    return em_float_of(em_is_finite(bits) ? em_bits_of(result) : EM_NAN);
}

/* ---- the largest -------------------------------------------------------------------------- */

/* Whole numbers in the order of floats: zeros of either sign are one, and a NaN is the largest. */
EM_INLINE int32_t em_rank_of(float x) {
    const uint32_t bits = em_bits_of(x);
    const int32_t magnitude = (int32_t)(bits & UINT32_C(0x7FFFFFFF));
    const int32_t sign = -(int32_t)(bits >> 31); /* all ones, or none */
    const int32_t none = -(int32_t)(magnitude > INT32_C(0x7F800000));
    return (((magnitude ^ sign) - sign) & ~none) | (none & INT32_MAX);
}

/* The number of a rank, which is no number where that is. */
EM_INLINE float em_of_rank(int32_t rank) {
    return em_float_of(rank < 0 ? UINT32_C(0x80000000) | (uint32_t)-rank : (uint32_t)rank);
}

EM_SHARED int32_t em_largest_rank(const em_f32 *x, uint32_t n) {
    int32_t top = em_rank_of(x[0]);
    for (uint32_t i = 1; i < n; i++) {
        const int32_t rank = em_rank_of(x[i]);
        top = rank > top ? rank : top;
    }
    return top;
}

/* ---- the halving sum, section 7.1 --------------------------------------------------------- */

/* What the terms of a sum are made of; each kind of term takes what it needs. */
typedef struct em_terms {
    const em_f32 *a;
    const em_f32 *b;
    const int8_t *codes;
    float scale;
    size_t stride;
    size_t room; /* of short sums: how many terms can be read, whatever lies behind the last */
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

/* The last three halvings. */
EM_INLINE float em_sum_of_lanes(const float *lane) {
    const float a = lane[0] + lane[4], b = lane[1] + lane[5];
    const float c = lane[2] + lane[6], d = lane[3] + lane[7];
    const float even = a + c, odd = b + d;
    return even + odd;
}

#define EM_SUM_SHORT 32u
#define EM_SUM_ROWS 64u /* terms of eight rows */

/* Of eight terms from `at` on those below n, then zeros; all eight can be read. */
EM_INLINE void em_kept_row(em_term term, const em_terms *t, size_t at, size_t n, float *row) {
    const uint32_t left = (uint32_t)(n - at);
    for (uint32_t l = 0; l < EM_SUM_LANES; l++) {
        const uint32_t kept = l < left ? UINT32_MAX : 0;
        row[l] = em_float_of(em_bits_of(em_term_at(term, t, at + l)) & kept);
    }
}

/* The same where nothing behind the last term may be read. */
EM_INLINE void em_ended_row(em_term term, const em_terms *t, size_t at, size_t n, float *row) {
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        row[l] = 0.0f;
    }
    for (size_t l = 0; l < n - at; l++) {
        row[l] = em_term_at(term, t, at + l);
    }
}

/* Terms from `at` to n, eight at most, then zeros. */
EM_INLINE void em_row_of_terms(em_term term, const em_terms *t, size_t at, size_t n, float *row) {
    if (n - at >= EM_SUM_LANES) {
        for (size_t l = 0; l < EM_SUM_LANES; l++) {
            row[l] = em_term_at(term, t, at + l);
        }
    } else if (at + EM_SUM_LANES <= t->room) {
        em_kept_row(term, t, at, n, row);
    } else {
        em_ended_row(term, t, at, n, row);
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

/* Of up to four terms. */
EM_INLINE float em_shortest_sum(em_term term, const em_terms *t, uint32_t n) {
    float even = em_term_at(term, t, 0);
    if (n == 1) {
        return even;
    }
    float odd = em_term_at(term, t, 1);
    if (n > 2) {
        even = even + em_term_at(term, t, 2);
        odd = odd + (n == 4 ? em_term_at(term, t, 3) : 0.0f);
    }
    return even + odd;
}

/* The first halving of n terms, whose halves are whole rows or end within the second. */
EM_INLINE void em_first_halving(em_term term, const em_terms *t, uint32_t n, uint32_t half,
                                float *v) {
    float upper[EM_SUM_LANES];
    for (uint32_t k = 0; k < half; k += EM_SUM_LANES) {
        const size_t at = half + k;
        em_row_of_terms(term, t, k, n, v + k);
        em_row_of_terms(term, t, at < n ? at : n, n, upper);
        for (uint32_t l = 0; l < EM_SUM_LANES; l++) {
            v[k + l] = v[k + l] + upper[l];
        }
    }
}

/* Of up to EM_SUM_SHORT terms; the lengths of halves are constants. */
EM_INLINE float em_short_sum(em_term term, const em_terms *t, uint32_t n) {
    float v[EM_SUM_SHORT / 2];
    if (n <= EM_SUM_LANES / 2) {
        return em_shortest_sum(term, t, n);
    }
    if (n <= EM_SUM_LANES) {
        em_row_of_terms(term, t, 0, n, v);
    } else if (n <= 2 * EM_SUM_LANES) {
        em_first_halving(term, t, n, EM_SUM_LANES, v);
    } else {
        em_first_halving(term, t, n, 2 * EM_SUM_LANES, v);
        for (uint32_t l = 0; l < EM_SUM_LANES; l++) {
            v[l] = v[l] + v[EM_SUM_LANES + l];
        }
    }
    return em_sum_of_lanes(v);
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
    return em_sum_of_lanes(pending);
}

#endif

/* ---- a vector beside the rows of a matrix -----------------------------------------------------
 */

#if EM_SMALL
#define EM_ROOM 1u
#else
#define EM_ROOM EM_SUM_SHORT
#endif

/* What a vector is summed up with, row by row. A short vector and the last row are copied to where
 * whole lanes can be read; the other rows have the next one behind them. */
typedef struct em_rows {
    em_terms terms;
    const em_f32 *b;
    uint32_t copied; /* the row that is, or as many as there are */
    float x[EM_ROOM], last[EM_ROOM];
} em_rows;

/* Does a short sum of n terms look behind them? */
EM_INLINE int em_wants_room(uint32_t n) {
    return !EM_SMALL && n > 4 && n < EM_ROOM && n != 8 && n != 16;
}

EM_INLINE const em_f32 *em_with_room(const em_f32 *x, uint32_t n, float *room) {
    memset(room, 0, EM_ROOM * sizeof *room);
    for (uint32_t i = 0; i < n; i++) {
        room[i] = x[i];
    }
    return (const em_f32 *)(const void *)room;
}

EM_INLINE void em_begin_rows(em_rows *r, em_value x, const em_f32 *b, uint32_t rows) {
    const em_f32 *a = (const em_f32 *)x.data;
    const int wants = em_wants_room(x.length);
    r->b = b;
    r->copied = wants ? rows - 1 : rows;
    r->terms.a = wants ? em_with_room(a, x.length, r->x) : a;
    r->terms.room = EM_ROOM;
}

EM_INLINE const em_terms *em_row(em_rows *r, uint32_t n, uint32_t k) {
    const em_f32 *b = r->b + (size_t)k * n;
    r->terms.b = k == r->copied ? em_with_room(b, n, r->last) : b;
    return &r->terms;
}

#endif /* EM_MATH_H */
