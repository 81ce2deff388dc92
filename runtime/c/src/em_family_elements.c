/*
 * Ops element by element: sub, lut, to_f32, exp, log, add, mul, div, exceeds, clip. Section 7 of
 * FORMAT.md.
 *
 * Integers cannot wrap: em_open has proved a bound of every result (rule N8). Floats are one
 * binary32 operation a statement, so that nothing is left to the compiler's taste; build with
 * -ffp-contract=off, for gcc does not know the pragma of em_math.h. em_known_answers.c finds a
 * build that fuses nevertheless.
 */
#include "em_math.h"
#include "em_ops.h"

/* ---- arithmetic of two values --------------------------------------------------------------- */

#if EM_HAS(SUB)
EM_TYPES(sub) {
    c->result = (em_facts){em_word_of(c->x), c->x.length, em_larger(c->x.bits, c->y.bits) + 1};
    return c->y.length == 1 &&
           (em_is_f32(c->x.dtype) ? em_is_f32(c->y.dtype) : em_is_int(c->x) && em_is_int(c->y));
}

EM_INLINE void sub_int(uint32_t dtype, em_value x, int32_t b, em_i32 *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        out[i] = em_int_at(dtype, x.data, i) - b;
    }
}

EM_RUN(sub) {
    if (em_is_f32(x.dtype)) {
        const float b = *(const em_f32 *)y.data;
        for (uint32_t i = 0; i < x.length; i++) {
            ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] - b;
        }
    } else {
        const int32_t b = em_int_at(y.dtype, y.data, 0);
        EM_OF_INTS(x.dtype, dtype, sub_int(dtype, x, b, (em_i32 *)out));
    }
}
#endif

EM_INLINE int64_t wide_int_at(em_value x, uint32_t i) {
    return x.dtype == EM_I64 ? ((const em_i64 *)x.data)[i] : em_int_at(x.dtype, x.data, i);
}

#if EM_HAS(ADD)
static int is_wide_int(em_facts x) { return x.dtype == EM_I32 || x.dtype == EM_I64; }

EM_TYPES(add) {
    const int f32 = em_is_f32(c->x.dtype);
    c->result = (em_facts){f32 ? EM_F32 : EM_I64, c->x.length, em_larger(c->x.bits, c->y.bits) + 1};
    return c->x.length == c->y.length &&
           (f32 ? em_is_f32(c->y.dtype) : is_wide_int(c->x) && is_wide_int(c->y));
}

EM_RUN(add) {
    if (em_is_f32(x.dtype)) {
        for (uint32_t i = 0; i < x.length; i++) {
            ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] + ((const em_f32 *)y.data)[i];
        }
        return;
    }
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_i64 *)out)[i] = wide_int_at(x, i) + wide_int_at(y, i);
    }
}
#endif

#if EM_HAS(MUL)
EM_TYPES(mul) {
    c->result = (em_facts){EM_F32, c->x.length, 0};
    return em_is_f32(c->x.dtype) && em_is_f32(c->y.dtype) && c->x.length == c->y.length;
}

EM_RUN(mul) {
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] * ((const em_f32 *)y.data)[i];
    }
}
#endif

#if EM_HAS(DIV)
EM_TYPES(div) {
    c->result = (em_facts){EM_F32, c->x.length, 0};
    return em_is_f32(c->x.dtype) && em_is_f32(c->y.dtype) && c->y.length == 1;
}

EM_RUN(div) {
    const float b = *(const em_f32 *)y.data;
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_f32 *)out)[i] = ((const em_f32 *)x.data)[i] / b;
    }
}
#endif

/* ---- lut, to_f32 ---------------------------------------------------------------------------- */

#if EM_HAS(LUT)
EM_TYPES(lut) {
    c->result = (em_facts){EM_I32, c->x.length, 0};
    return c->x.dtype == EM_I32;
}

EM_TABLES(lut) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (t[0].dtype != EM_I32 || t[0].count < 1 || t[0].count > 65536 ||
        !em_has_type(&t[1], EM_I32, 1)) {
        return EM_E_TABLE;
    }
    const em_i32 *entries = (const em_i32 *)em_data_of(&c->r->m, c->node, 0);
    c->result.bits = em_width(em_largest_magnitude(entries, t[0].count));
    return EM_OK;
}

EM_RUN(lut) {
    const em_i32 *entries = (const em_i32 *)em_data_of(m, node, 0);
    const int32_t base = *(const em_i32 *)em_data_of(m, node, 1);
    const int64_t last = (int64_t)em_table_at(m, node->first_table)->count - 1;
    for (uint32_t i = 0; i < x.length; i++) {
        int64_t k = (int64_t)((const em_i32 *)x.data)[i] - base;
        k = k < 0 ? 0 : k;
        k = k > last ? last : k;
        ((em_i32 *)out)[i] = entries[k];
    }
}
#endif

#if EM_HAS(TO_F32)
EM_TYPES(to_f32) {
    c->result = (em_facts){EM_F32, c->x.length, 0};
    return em_is_number(c->x) || c->x.dtype == EM_I64;
}

EM_TABLES(to_f32) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (!em_has_type(&t[0], EM_F32, 1) || !em_has_type(&t[1], EM_I32, 1)) {
        return EM_E_TABLE;
    }
    if (em_is_f32(c->x.dtype) && *(const em_i32 *)em_data_of(&c->r->m, c->node, 1) != 0) {
        return EM_E_VALUE;
    }
    return em_all_positive((const em_f32 *)em_data_of(&c->r->m, c->node, 0), 1) ? EM_OK
                                                                                : EM_E_VALUE;
}

/* Codes or an i32 result less a zero point, in 32 bits: rule N8 leaves results 30. */
EM_INLINE void real_of_codes(uint32_t dtype, em_value x, int32_t zero, float scale, em_f32 *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        const float v = (float)(em_int_at(dtype, x.data, i) - zero);
        out[i] = v * scale;
    }
}

EM_RUN(to_f32) {
    const float scale = *(const em_f32 *)em_data_of(m, node, 0);
    const int32_t zero = *(const em_i32 *)em_data_of(m, node, 1);
    em_f32 *real = (em_f32 *)out;
    if (em_is_f32(x.dtype)) {
        for (uint32_t i = 0; i < x.length; i++) {
            real[i] = ((const em_f32 *)x.data)[i] * scale;
        }
    } else if (x.dtype != EM_I64 && em_magnitude(zero) < UINT32_C(0x40000000)) {
        EM_OF_INTS(x.dtype, dtype, real_of_codes(dtype, x, zero, scale, real));
    } else {
        for (uint32_t i = 0; i < x.length; i++) {
            const float v = (float)(wide_int_at(x, i) - zero); /* to nearest even */
            real[i] = v * scale;
        }
    }
}
#endif

/* ---- exp, log ------------------------------------------------------------------------------- */

#if EM_HAS(EXP)
EM_WORK(exp) { return EM_TRANSCENDENTAL * n; }

EM_RUN(exp) {
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_f32 *)out)[i] = em_exp(((const em_f32 *)x.data)[i]);
    }
}
#endif

#if EM_HAS(LOG)
EM_WORK(log) { return EM_TRANSCENDENTAL * n; }

EM_RUN(log) {
    for (uint32_t i = 0; i < x.length; i++) {
        ((em_f32 *)out)[i] = em_log(((const em_f32 *)x.data)[i]);
    }
}
#endif

/* ---- exceeds, clip -------------------------------------------------------------------------- */

/* A table of one number, of x's kind. */
EM_INLINE em_status check_bound(const em_candidate *c) {
    if (!em_has_type(em_table_at(&c->r->m, c->node->first_table), em_word_of(c->x), 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *bound = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    return !em_is_f32(c->x.dtype) || em_is_finite(*bound) ? EM_OK : EM_E_VALUE;
}

#if EM_HAS(EXCEEDS)
EM_TYPES(exceeds) {
    c->result = (em_facts){EM_I32, 1, 0};
    return em_is_number(c->x) && c->x.length == 1;
}

EM_TABLES(exceeds) { return check_bound(c); }

EM_RUN(exceeds) {
    const void *threshold = em_data_of(m, node, 0);
    *(em_i32 *)out = em_is_f32(x.dtype)
                         ? *(const em_f32 *)x.data > *(const em_f32 *)threshold
                         : em_int_at(x.dtype, x.data, 0) > *(const em_i32 *)threshold;
}
#endif

#if EM_HAS(CLIP)
EM_TABLES(clip) {
    const em_status status = check_bound(c);
    if (status == EM_OK && !em_is_f32(c->x.dtype)) {
        const em_i32 *upper = (const em_i32 *)em_data_of(&c->r->m, c->node, 0);
        c->result.bits = em_larger(c->x.bits, em_width(em_magnitude(*upper)));
    }
    return status;
}

EM_INLINE void clip_int(uint32_t dtype, em_value x, int32_t most, em_i32 *out) {
    for (uint32_t i = 0; i < x.length; i++) {
        const int32_t v = em_int_at(dtype, x.data, i);
        out[i] = v > most ? most : v;
    }
}

EM_RUN(clip) {
    const void *upper = em_data_of(m, node, 0);
    if (em_is_f32(x.dtype)) {
        const float most = *(const em_f32 *)upper;
        for (uint32_t i = 0; i < x.length; i++) {
            const float v = ((const em_f32 *)x.data)[i];
            ((em_f32 *)out)[i] = v > most ? most : v; /* a NaN stays */
        }
    } else {
        const int32_t most = *(const em_i32 *)upper;
        EM_OF_INTS(x.dtype, dtype, clip_int(dtype, x, most, (em_i32 *)out));
    }
}
#endif
