/*
 * Private: kernels whose code exists twice on x86-64, for every such processor and for those with
 * AVX2, of which the machine takes one when it runs. Both are made of one source and have the same
 * results in every bit: AVX2 has no operation of floats that rounds otherwise (no fused one).
 * Define EDGEMON_WIDE as 0 to have the first alone, in half the code of these ops.
 */
#ifndef EM_WIDE_H
#define EM_WIDE_H

#include "em_ops.h"

#if defined(EDGEMON_WIDE) && !EDGEMON_WIDE
#define EM_WIDE 0
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__AVX2__) && !EM_SMALL &&               \
    !defined(__OPTIMIZE_SIZE__) && __STDC_HOSTED__
#define EM_WIDE 1 /* what the processor has is known to the compiler's own library */
#else
#define EM_WIDE 0
#endif

/* A function with the parameters of EM_RUN, for the inside of an op. What it calls is of both kinds
 * if it is EM_INLINE. An x of fewer elements than `least` has no use for wide vectors. */
#define EM_TWICE_OF(kind, name)                                                                    \
    kind void name(EM_UNUSED const em_monitor *m, EM_UNUSED const em_node *node,                   \
                   EM_UNUSED em_value x, EM_UNUSED em_value y, void *out)
#if EM_WIDE
#define EM_TWICE(name, least)                                                                      \
    EM_TWICE_OF(EM_INLINE, name##_source);                                                         \
    EM_TWICE_OF(EM_ONCE, name##_narrow) { name##_source(m, node, x, y, out); }                     \
    EM_TWICE_OF(__attribute__((target("avx2"))) EM_ONCE, name##_wide) {                            \
        name##_source(m, node, x, y, out);                                                         \
    }                                                                                              \
    EM_TWICE_OF(EM_INLINE, name) {                                                                 \
        if (x.length >= (least) && __builtin_cpu_supports("avx2")) {                               \
            name##_wide(m, node, x, y, out);                                                       \
        } else {                                                                                   \
            name##_narrow(m, node, x, y, out);                                                     \
        }                                                                                          \
    }                                                                                              \
    EM_TWICE_OF(EM_INLINE, name##_source)
#elif EM_SMALL
#define EM_TWICE(name, least) EM_TWICE_OF(EM_INLINE, name)
#else
#define EM_TWICE(name, least) EM_TWICE_OF(EM_ONCE, name)
#endif

#endif /* EM_WIDE_H */
