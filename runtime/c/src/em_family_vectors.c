/*
 * Ops that choose, move and add the elements of a vector: argmax, max, sum, omit, gather, select,
 * concat. Section 7 of FORMAT.md.
 */
#include "em_ops.h"
#include "em_sums.h"

/* ---- argmax, max ---------------------------------------------------------------------------- */

#if EM_HAS(ARGMAX) || EM_HAS(MAX)
EM_INLINE int32_t largest_int(uint32_t dtype, const void *x, uint32_t n) {
    int32_t top = em_int_of(dtype, x, 0);
    for (uint32_t i = 1; i < n; i++) {
        const int32_t v = em_int_of(dtype, x, i);
        top = v > top ? v : top;
    }
    return top;
}

/* The largest as a whole number, in the order of the elements. */
EM_SHARED int32_t largest(uint32_t dtype, const void *x, uint32_t n) {
    int32_t top = 0;
    if (em_is_f32(dtype)) {
        return em_largest_rank((const em_f32 *)x, n);
    }
    EM_OF_EACH_INT(dtype, type, top = largest_int(type, x, n));
    return top;
}
#endif

#if EM_HAS(ARGMAX)
EM_TYPES(argmax) {
    c->result = (em_facts){EM_I32, 1, em_width(c->x.length)};
    return em_is_number(c->x);
}

/* As EM_OF_INTS, of floats too. */
#define OF_NUMBERS(given, dtype, ...)                                                              \
    if (!EM_SMALL && em_is_f32(given)) {                                                           \
        const uint32_t dtype = EM_F32;                                                             \
        __VA_ARGS__;                                                                               \
    } else {                                                                                       \
        EM_OF_INTS(given, dtype, __VA_ARGS__);                                                     \
    }

/* Element i as a whole number, in the order of the elements. */
EM_SHARED int32_t order_at(uint32_t dtype, const void *x, size_t i) {
    return em_is_f32(dtype) ? em_rank_of(((const em_f32 *)x)[i]) : em_int_at(dtype, x, i);
}

/* Where the largest comes first; below n even if memory changed since that was found. */
EM_INLINE int32_t place_of(uint32_t dtype, const void *x, uint32_t n, int32_t top) {
    int32_t first = (int32_t)n - 1;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        const int32_t place = order_at(dtype, x, (size_t)i) == top ? i : first;
        first = place < first ? place : first;
    }
    return first;
}

/* The largest, then its place: two loops in which elements do not wait for one another. */
EM_RUN(argmax) {
    em_i32 *place = (em_i32 *)out;
    OF_NUMBERS(x.dtype, dtype,
               *place = place_of(dtype, x.data, x.length, largest(dtype, x.data, x.length)));
}
#endif

#if EM_HAS(MAX)
EM_TYPES(max) {
    c->result = (em_facts){em_word_of(c->x), 1, c->x.bits};
    return em_is_number(c->x);
}

EM_RUN(max) {
    em_i32 *top = (em_i32 *)out;
    *top = largest(x.dtype, x.data, x.length);
    if (em_is_f32(x.dtype)) {
        *(em_f32 *)out = em_of_rank(*top);
    }
}
#endif

/* ---- sum ------------------------------------------------------------------------------------ */

#if EM_HAS(SUM)
EM_TYPES(sum) {
    const uint32_t dtype = em_is_f32(c->x.dtype) ? EM_F32 : EM_I64;
    c->result = (em_facts){dtype, 1, c->x.bits + em_width(c->x.length)};
    return em_is_word(c->x);
}

static int64_t sum_i32(const em_i32 *x, uint32_t n) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

EM_RUN(sum) {
    if (em_is_f32(x.dtype)) {
        const em_terms terms = {.a = (const em_f32 *)x.data};
        *(em_f32 *)out = em_halving_sum(EM_PLAIN, &terms, x.length);
    } else {
        *(em_i64 *)out = sum_i32((const em_i32 *)x.data, x.length);
    }
}
#endif

/* ---- omit, gather, select, concat ----------------------------------------------------------- */

#if EM_HAS(OMIT)
EM_TYPES(omit) {
    const uint32_t n_taps = c->r->m.n_taps;
    c->result = c->x;
    return em_is_word(c->x) && em_classes_of(&c->r->m, c->node->y) == c->x.length &&
           em_node_at(&c->r->m, c->node->y - n_taps)->op == EM_OP_ARGMAX;
}

/* i32 and f32 alike: four zero bytes are 0 in both. */
EM_RUN(omit) {
    memcpy(out, x.data, (size_t)x.length * 4);
    ((em_i32 *)out)[*(const em_i32 *)y.data] = 0;
}
#endif

#if EM_HAS(GATHER)
EM_TABLES(gather) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (t->count < 1 || t->dtype != EM_U32) {
        return EM_E_TABLE;
    }
    const em_u32 *index = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    c->result.length = t->count;
    return em_all_below(index, t->count, c->x.length) ? EM_OK : EM_E_VALUE;
}

EM_INLINE void gather_int(uint32_t dtype, const void *x, const em_u32 *index, uint32_t n,
                          em_i32 *out) {
    uint32_t i = 0;
    for (; !EM_SMALL && n - i >= 4; i += 4, index += 4, out += 4) { /* four before any is stored */
        const int32_t a = em_int_of(dtype, x, index[0]), b = em_int_of(dtype, x, index[1]);
        const int32_t c = em_int_of(dtype, x, index[2]), d = em_int_of(dtype, x, index[3]);
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = d;
    }
    for (; i < n; i++, index++, out++) {
        *out = em_int_of(dtype, x, *index);
    }
}

EM_RUN(gather) {
    const em_u32 *index = (const em_u32 *)em_data_of(m, node, 0);
    const uint32_t words = em_is_f32(x.dtype) ? EM_I32 : x.dtype; /* alike */
    EM_OF_EACH_INT(words, dtype, gather_int(dtype, x.data, index, node->length, (em_i32 *)out));
}
#endif

#if EM_HAS(SELECT)
EM_TYPES(select) {
    const uint32_t classes = em_classes_of(&c->r->m, c->node->y);
    const int fits = em_is_word(c->x) && classes > 0 && c->x.length % classes == 0;
    c->result = (em_facts){c->x.dtype, fits ? c->x.length / classes : 0, c->x.bits};
    return fits;
}

/* The part of x that belongs to class `y`; i32 and f32 alike. */
EM_RUN(select) {
    const uint32_t n = node->length;
    const uint32_t at = (uint32_t) * (const em_i32 *)y.data * n;
    memcpy(out, (const em_u32 *)x.data + at, (size_t)n * 4);
}
#endif

#if EM_HAS(CONCAT)
EM_TYPES(concat) {
    c->result =
        (em_facts){em_word_of(c->x), c->x.length + c->y.length, em_larger(c->x.bits, c->y.bits)};
    return em_is_f32(c->x.dtype) ? em_is_f32(c->y.dtype) : em_is_int(c->x) && em_is_int(c->y);
}

EM_INLINE void widen_int(uint32_t dtype, em_value x, em_i32 *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        out[i] = em_int_of(dtype, x.data, i);
    }
}

EM_SHARED void widen(em_value x, em_i32 *out) {
    EM_OF_EACH_INT(x.dtype, dtype, widen_int(dtype, x, out));
}

/* The elements of x, then those of y; integers become i32. */
EM_RUN(concat) {
    em_i32 *words = (em_i32 *)out;
    if (em_is_f32(x.dtype)) {
        memcpy(words, x.data, (size_t)x.length * 4);
        memcpy(words + x.length, y.data, (size_t)y.length * 4);
        return;
    }
    widen(x, words);
    widen(y, words + x.length);
}
#endif
