/* Private: exponentials, logarithms and the order of floats, each operation in a fixed order. */
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

#endif /* EM_MATH_H */
