/* Private: sums of floats, of products and of squares, in the order of FORMAT.md, section 7.1. */
#ifndef EM_SUMS_H
#define EM_SUMS_H

#include "em_math.h"

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
    EM_STRIDED_SQUARE,
    EM_PRODUCT,
    EM_SQUARE,
    EM_SQUARE_OF_CODE,
    EM_EXP_BELOW
} em_term;

EM_INLINE float em_term_at(em_term term, const em_terms *t, size_t i) {
    const int apart = term == EM_STRIDED || term == EM_STRIDED_SQUARE;
    float u = t->a[apart ? i * t->stride : i];
    switch (term) {
    case EM_PLAIN:
    case EM_STRIDED:
        break;
    case EM_STRIDED_SQUARE:
        u = u - t->scale;
        u = u * u;
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

#define EM_SUM_LEVELS 17u /* n <= 2^20 in eights */

#define EM_LEAF_OF(term)                                                                           \
    case term:                                                                                     \
        do {                                                                                       \
            *v++ = em_term_at(term, &own, at);                                                     \
            at += apart;                                                                           \
        } while (at < end);                                                                        \
        break;

/* The terms at `at`, which is below n, `at + apart` and so on, `room` at most, then zeros. */
EM_INLINE void em_leaf(em_term term, const em_terms *t, size_t at, size_t apart, size_t n, float *v,
                       uint32_t room) {
    em_terms own = *t; /* stores to v cannot change it */
    size_t past = at + room * apart;
    size_t end = past < n ? past : n;
    if (term == EM_STRIDED || term == EM_STRIDED_SQUARE) { /* by places, not by terms */
        at *= own.stride;
        apart *= own.stride;
        end *= own.stride;
        past *= own.stride;
        own.stride = 1;
    }
    switch (term) {
        EM_LEAF_OF(EM_PRODUCT)
        EM_LEAF_OF(EM_SQUARE)
        EM_LEAF_OF(EM_SQUARE_OF_CODE)
        EM_LEAF_OF(EM_EXP_BELOW)
        EM_LEAF_OF(EM_STRIDED_SQUARE)
    case EM_STRIDED:
        EM_LEAF_OF(EM_PLAIN)
    }
    for (; at < past; at += apart) {
        *v++ = 0.0f;
    }
}

/* The halvings are a balanced binary tree whose leaves come in bit-reversed order: `pending` holds
 * the subtrees that wait for their siblings. A leaf is the last three halvings' eight terms, or
 * all terms where they are fewer. */
EM_ONCE float em_halving_sum(em_term term, const em_terms *t, uint32_t n) {
    float pending[EM_SUM_LEVELS + 8], *v = pending; /* and a leaf's terms, at v */
    const uint32_t room = n > 4 ? 8 : n > 2 ? 4 : n;
    uint32_t leaves = 1, reversed = 0;
    while (leaves * 8 < n) {
        leaves *= 2;
    }
    for (uint32_t j = 0; j < leaves; j++) {
        em_leaf(term, t, reversed, leaves, n, v, room);
        if (n > 4) {
            v[0] = v[0] + v[4];
            v[1] = v[1] + v[5];
            v[2] = v[2] + v[6];
            v[3] = v[3] + v[7];
        }
        if (n > 2) {
            v[0] = v[0] + v[2];
            v[1] = v[1] + v[3];
        }
        if (n > 1) {
            v[0] = v[0] + v[1];
        }
        for (uint32_t k = j; k & 1; k >>= 1) {
            v--;
            v[0] = v[0] + v[1];
        }
        v++;
        reversed = em_next_reversed(reversed, leaves);
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
 * The first four are below n, whole; of the others, what is behind the last of n terms is zero. */
EM_INLINE void em_sum_of_rows(em_term term, const em_terms *t, size_t first, size_t apart, size_t n,
                              float *sum) {
    float v[EM_SUM_ROWS / 2];
    const size_t behind = first + 4 * apart;
    if (behind + 3 * apart + EM_SUM_LANES <= n) {
        for (size_t r = 0; r < 4; r++) {
            for (size_t l = 0; l < EM_SUM_LANES; l++) {
                const float lower = em_term_at(term, t, first + r * apart + l);
                v[r * EM_SUM_LANES + l] = lower + em_term_at(term, t, behind + r * apart + l);
            }
        }
    } else {
        float upper[EM_SUM_ROWS / 2];
        for (size_t r = 0; r < 4; r++) {
            const size_t at = behind + r * apart;
            em_row_of_terms(term, t, at < n ? at : n, n, upper + r * EM_SUM_LANES);
        }
        for (size_t r = 0; r < 4; r++) {
            for (size_t l = 0; l < EM_SUM_LANES; l++) {
                const float lower = em_term_at(term, t, first + r * apart + l);
                v[r * EM_SUM_LANES + l] = lower + upper[r * EM_SUM_LANES + l];
            }
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
        const uint32_t at = half + k;
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

/* Before a loop over few lanes: it shall become vectors, not as many statements. */
#if defined(__GNUC__) && !defined(__clang__)
#define EM_ROLLED _Pragma("GCC unroll 1")
#else
#define EM_ROLLED
#endif

/* After leaf `j` of a balanced binary tree, which is the last of `waiting` rows of `lanes` sums:
 * adds up the subtrees that are complete. Returns how many rows wait then. */
EM_INLINE uint32_t em_add_complete(float *pending, uint32_t lanes, uint32_t waiting, uint32_t j) {
    for (; j & 1; j >>= 1) {
        float *sum = pending + (size_t)(waiting - 2) * lanes;
        EM_ROLLED
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
    uint32_t j = 0;
    do {
        em_sum_of_rows(term, t, reversed * EM_SUM_LANES, groups * EM_SUM_LANES, n,
                       pending + waiting * EM_SUM_LANES);
        waiting = em_add_complete(pending, EM_SUM_LANES, waiting + 1, j);
        reversed = em_next_reversed(reversed, groups);
    } while (++j < groups);
    return em_sum_of_lanes(pending);
}

#endif

#endif /* EM_SUMS_H */
