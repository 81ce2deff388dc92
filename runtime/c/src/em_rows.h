/*
 * Private: the halving sums of a vector's terms with each row of a matrix, in the order of
 * FORMAT.md, section 7.1. In the fast form the last two halvings are those of four rows side by
 * side.
 */
#ifndef EM_ROWS_H
#define EM_ROWS_H

#include "em_sums.h"

/* The next row. */
EM_INLINE void em_next_row(em_term term, em_terms *t, uint32_t n) {
    if (term == EM_SQUARE_OF_CODE) {
        t->codes += n;
    } else {
        t->b += n;
    }
}

#if EM_SMALL

/* Leaves t behind the last row. */
EM_INLINE void em_sums_of_rows(em_term term, em_terms *t, uint32_t n, uint32_t rows, em_f32 *out) {
    for (uint32_t k = 0; k < rows; k++) {
        out[k] = em_halving_sum(term, t, n);
        em_next_row(term, t, n);
    }
}

#else

#define EM_ROWS 4u        /* at a time, whose last halvings are made side by side */
#define EM_CHUNK 64u      /* terms of rows for which there are forms of their own */
#define EM_LEAF 64u       /* terms side by side of longer rows, */
#define EM_LONG 2048u     /* up to as many, */
#define EM_SMALL_LEAF 16u /* else fewer */
#define EM_PENDING 320u   /* 5 leaves; 17 small ones: of 2^20 terms in pairs, and one to be added */

EM_INLINE float em_two_terms(em_term term, const em_terms *t, size_t i, size_t k) {
    const float lower = em_term_at(term, t, i);
    return lower + em_term_at(term, t, k);
}

/* All halvings but the last two of 16, 32 or 64 terms, a constant: four sums. */
EM_INLINE void em_four_of(em_term term, uint32_t n, const em_terms *t, float *four) {
    float lane[EM_SUM_LANES];
    EM_ROLLED
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        const size_t half = n / 2;
        float even = em_two_terms(term, t, l, l + half);
        if (n > 16) {
            float odd = em_two_terms(term, t, l + 8, l + 8 + half);
            if (n > 32) {
                even = even + em_two_terms(term, t, l + 16, l + 16 + half);
                odd = odd + em_two_terms(term, t, l + 24, l + 24 + half);
            }
            even = even + odd;
        }
        lane[l] = even;
    }
    EM_ROLLED
    for (size_t l = 0; l < 4; l++) {
        four[l] = lane[l] + lane[l + 4];
    }
}

/* The same of 64 squares of codes: loops as long as a vector of bytes. */
EM_INLINE void em_four_of_codes(const em_terms *t, float *four) {
    float v[EM_CHUNK / 2];
    for (size_t k = 0; k < EM_CHUNK / 2; k++) {
        v[k] = em_two_terms(EM_SQUARE_OF_CODE, t, k, k + EM_CHUNK / 2);
    }
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        const float even = v[l] + v[l + 16], odd = v[l + 8] + v[l + 24];
        v[l] = even + odd;
    }
    EM_ROLLED
    for (size_t l = 0; l < 4; l++) {
        four[l] = v[l] + v[l + 4];
    }
}

/* The first halving of a leaf: of its terms and those half of all behind them, or zeros. */
EM_INLINE void em_halve_leaf(em_term term, uint32_t lanes, const em_terms *t, size_t lower,
                             size_t upper, uint32_t n, float *sum) {
    const size_t behind = upper < n ? n - upper : 0, both = behind < lanes ? behind : lanes;
    EM_ROLLED
    for (size_t k = 0; k < both; k++) {
        sum[k] = em_two_terms(term, t, lower + k, upper + k);
    }
    EM_ROLLED
    for (size_t k = both; k < lanes; k++) {
        sum[k] = em_term_at(term, t, lower + k) + 0.0f;
    }
}

/* The same of more than 64 terms: a balanced binary tree of leaves, whose size is a constant. */
EM_INLINE void em_four_of_leaves(em_term term, uint32_t lanes, const em_terms *t, uint32_t n,
                                 float *four) {
    float pending[EM_PENDING];
    uint32_t waiting = 0, leaves = 1, reversed = 0;
    while (2 * lanes * leaves < n) {
        leaves *= 2;
    }
    for (uint32_t j = 0; j < leaves; j++) {
        const size_t lower = (size_t)lanes * reversed, upper = lower + (size_t)lanes * leaves;
        float *sum = pending + (size_t)waiting * lanes;
        em_halve_leaf(term, lanes, t, lower, upper, n, sum);
        waiting = em_add_complete(pending, lanes, waiting + 1, j);
        reversed = em_next_reversed(reversed, leaves);
    }
    const em_terms sums = {.a = (const em_f32 *)pending};
    em_four_of(EM_PLAIN, lanes, &sums, four);
}

/* ---- rows of fewer than 64 terms, whose number is none of those above ---- */

/* The terms of a row that are no eight. Nothing is read behind the vector or the matrix. */
typedef struct em_ends {
    float a[EM_SUM_LANES], b[EM_SUM_LANES];
    uint32_t kept[EM_SUM_LANES];         /* all bits of a term, or none */
    float terms[EM_ROWS * EM_SUM_LANES]; /* of each row of a block */
} em_ends;

EM_INLINE void em_begin_ends(em_ends *e, const em_f32 *a, uint32_t n) {
    const uint32_t few = n % EM_SUM_LANES;
    for (uint32_t l = 0; l < EM_SUM_LANES; l++) {
        e->a[l] = 0.0f;
        e->b[l] = 0.0f;
        e->kept[l] = l < few ? UINT32_MAX : 0;
    }
    for (uint32_t l = 0; l < few; l++) {
        e->a[l] = a[n - few + l];
    }
}

/* Of rows from `b` on, where the matrix has `left` numbers. */
EM_INLINE void em_end_rows(em_term term, em_ends *e, const em_f32 *b, uint32_t n, uint32_t rows,
                           size_t left) {
    const uint32_t few = n % EM_SUM_LANES;
    em_terms t = {.a = (const em_f32 *)e->a, .b = b + (n - few)};
    EM_ROLLED
    for (uint32_t r = 0; r < rows; r++) {
        em_terms row = t;
        if (left < n - few + EM_SUM_LANES) {
            EM_ROLLED
            for (uint32_t l = 0; l < few; l++) {
                e->b[l] = t.b[l];
            }
            row.b = (const em_f32 *)e->b;
        }
        float *end = e->terms + (size_t)r * EM_SUM_LANES;
        EM_ROLLED
        for (size_t l = 0; l < EM_SUM_LANES; l++) {
            end[l] = em_float_of(em_bits_of(em_term_at(term, &row, l)) & e->kept[l]);
        }
        t.b += n;
        left -= n;
    }
}

/* The first halving of `half` eights, a constant: what is behind the last of n terms is zero. */
EM_INLINE void em_halve_some(em_term term, const em_terms *t, const float *zeros, const float *end,
                             uint32_t half, uint32_t n, float *v) {
    EM_ROLLED
    for (uint32_t r = 0; r < half; r++) {
        const uint32_t at = r * EM_SUM_LANES, behind = at + half * EM_SUM_LANES;
        if (behind + EM_SUM_LANES <= n) {
            EM_ROLLED
            for (size_t l = 0; l < EM_SUM_LANES; l++) {
                v[at + l] = em_two_terms(term, t, at + l, behind + l);
            }
        } else {
            const float *upper = behind < n ? end : zeros;
            EM_ROLLED
            for (size_t l = 0; l < EM_SUM_LANES; l++) {
                v[at + l] = em_term_at(term, t, at + l) + upper[l];
            }
        }
    }
}

/* `most`, a constant: n is up to as many, and above half of that. */
EM_INLINE void em_four_of_some(em_term term, uint32_t most, const em_terms *t, const float *zeros,
                               const float *end, uint32_t n, float *four) {
    float v[EM_CHUNK / 2];
    const float *lane = v;
    if (n == EM_SUM_LANES) {
        EM_ROLLED
        for (size_t l = 0; l < EM_SUM_LANES; l++) {
            v[l] = em_term_at(term, t, l);
        }
    } else if (most == EM_SUM_LANES) {
        lane = end;
    } else {
        em_halve_some(term, t, zeros, end, most / 2 / EM_SUM_LANES, n, v);
    }
    EM_ROLLED
    for (size_t l = 0; l < EM_SUM_LANES; l++) {
        if (most == 32) {
            v[l] = v[l] + v[l + 8];
        } else if (most == 64) {
            const float even = v[l] + v[l + 16], odd = v[l + 8] + v[l + 24];
            v[l] = even + odd;
        }
    }
    EM_ROLLED
    for (size_t l = 0; l < 4; l++) {
        four[l] = lane[l] + lane[l + 4];
    }
}

/* ---- rows ---- */

/* The last two halvings of as many rows, a constant at each call. */
EM_INLINE void em_sums_of_fours(const float *four, uint32_t rows, em_f32 *out) {
    EM_ROLLED
    for (size_t r = 0; r < rows; r++) {
        const float even = four[4 * r] + four[4 * r + 2], odd = four[4 * r + 1] + four[4 * r + 3];
        out[r] = even + odd;
    }
}

/* Sums of the rows of a block. */
EM_INLINE void em_sums_of_block(const float *four, uint32_t rows, em_f32 *out) {
    if (rows == EM_ROWS) {
        em_sums_of_fours(four, EM_ROWS, out);
    } else {
        EM_ROLLED
        for (uint32_t r = 0; r < rows; r++) {
            em_sums_of_fours(four + (size_t)4 * r, 1, out + r);
        }
    }
}

/* What `four` is for each row of a block, and then their sums. */
#define EM_OF_ROWS(four_of_row)                                                                    \
    EM_ROLLED                                                                                      \
    for (uint32_t r = 0; r < block; r++) {                                                         \
        float *four = fours + (size_t)4 * r;                                                       \
        four_of_row;                                                                               \
        em_next_row(term, &t, n);                                                                  \
    }

/* Of rows of up to 64 terms. `room`: how many numbers can be read behind the matrix. */
EM_INLINE void em_sums_of_short(em_term term, em_terms t, uint32_t n, uint32_t rows, size_t room,
                                em_f32 *out) {
    static const float zeros[EM_SUM_LANES] = {0};
    if (n <= 4) {
        for (uint32_t k = 0; k < rows; k++, t.b += n) {
            out[k] = em_shortest_sum(term, &t, n);
        }
        return;
    }
    em_ends e;
    float fours[4 * EM_ROWS];
    if (n % EM_SUM_LANES != 0) {
        em_begin_ends(&e, t.a, n);
    }
    for (uint32_t first = 0; first < rows; first += EM_ROWS) {
        const uint32_t left = rows - first, block = left < EM_ROWS ? left : EM_ROWS;
        if (n % EM_SUM_LANES != 0) {
            em_end_rows(term, &e, t.b, n, block, (size_t)left * n + room);
        }
        if (n == 32) {
            EM_OF_ROWS(em_four_of(term, 32, &t, four))
        } else if (n == 64) {
            EM_OF_ROWS(em_four_of(term, 64, &t, four))
        } else if (n > 32) {
            EM_OF_ROWS(em_four_of_some(term, 64, &t, zeros, e.terms + 8 * r, n, four))
        } else if (n > 16) {
            EM_OF_ROWS(em_four_of_some(term, 32, &t, zeros, e.terms + 8 * r, n, four))
        } else if (n > 8) {
            EM_OF_ROWS(em_four_of_some(term, 16, &t, zeros, e.terms + 8 * r, n, four))
        } else {
            EM_OF_ROWS(em_four_of_some(term, 8, &t, zeros, e.terms + 8 * r, n, four))
        }
        em_sums_of_block(fours, block, out + first);
    }
}

/* Of rows of more terms. */
EM_INLINE void em_sums_of_long(em_term term, em_terms t, uint32_t n, uint32_t rows, em_f32 *out) {
    float fours[4 * EM_ROWS];
    for (uint32_t first = 0; first < rows; first += EM_ROWS) {
        const uint32_t left = rows - first, block = left < EM_ROWS ? left : EM_ROWS;
        EM_OF_ROWS(em_four_of_leaves(term, EM_LEAF, &t, n, four))
        em_sums_of_block(fours, block, out + first);
    }
}

/* Of squares whose rows are 64 codes. */
EM_INLINE void em_sums_of_codes(em_terms t, uint32_t rows, em_f32 *out) {
    const em_term term = EM_SQUARE_OF_CODE;
    const uint32_t n = EM_CHUNK;
    float fours[4 * EM_ROWS];
    for (uint32_t first = 0; first < rows; first += EM_ROWS) {
        const uint32_t left = rows - first, block = left < EM_ROWS ? left : EM_ROWS;
        EM_OF_ROWS(em_four_of_codes(&t, four))
        em_sums_of_block(fours, block, out + first);
    }
}

/* Of rows of more than EM_LONG terms: once for all terms and processors, for its size. */
EM_ONCE void em_sums_of_longest(em_term term, em_terms t, uint32_t n, uint32_t rows, em_f32 *out) {
    for (uint32_t k = 0; k < rows; k++) {
        float four[4];
        if (term == EM_PRODUCT) {
            em_four_of_leaves(EM_PRODUCT, EM_SMALL_LEAF, &t, n, four);
        } else if (term == EM_SQUARE) {
            em_four_of_leaves(EM_SQUARE, EM_SMALL_LEAF, &t, n, four);
        } else {
            em_four_of_leaves(EM_SQUARE_OF_CODE, EM_SMALL_LEAF, &t, n, four);
        }
        em_sums_of_fours(four, 1, out + k);
        em_next_row(term, &t, n);
    }
}

#endif

#endif /* EM_ROWS_H */
