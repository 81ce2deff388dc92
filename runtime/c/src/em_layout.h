/*
 * Private: the records of FORMAT.md as C structs, and how memory is read.
 *
 * The file is used in place. Its sections start at multiples of 16 and em_open insists on a base
 * that is a multiple of 8, so every record and every table is aligned for its type.
 */
#ifndef EM_LAYOUT_H
#define EM_LAYOUT_H

#include "edgemon/edgemon.h"

#include <float.h>
#include <limits.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||           \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "edgemon promises exact float results: build it without -ffast-math"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "edgemon needs single-precision arithmetic: on 32-bit x86 use -msse2 -mfpmath=sse"
#endif
#if INT_MAX < 0x7FFFFFFF
#error "edgemon needs an int of 32 bits or more: products of 16 bits are computed in it"
#endif

/* Functions that the library's own files share; static in the amalgamation. */
#ifndef EM_INTERNAL
#if defined(__GNUC__)
#define EM_INTERNAL __attribute__((visibility("hidden")))
#else
#define EM_INTERNAL
#endif
#endif

/*
 * Two forms of the kernels, with the same results in every bit. The fast one is made for vector
 * units: kernels once for each data type, sums eight lanes side by side. The small one is for a
 * processor without: every kernel once, sums one term after the other, a third of the code and of
 * the stack. Define EDGEMON_SMALL as 0 or 1 to choose.
 */
#ifdef EDGEMON_SMALL
#define EM_SMALL EDGEMON_SMALL
#elif defined(__OPTIMIZE_SIZE__) && !defined(__SSE2__) && !defined(__ARM_NEON)
#define EM_SMALL 1
#else
#define EM_SMALL 0
#endif

/* A build with some ops (em_op_list.h) has floats if EDGEMON_FLOATS is defined as 1. One without
 * has no float operation, and refuses artifacts with a float tap or result. */
#if defined(EDGEMON_SOME_OPS) && !defined(EDGEMON_FLOATS)
#define EM_FLOATS 0
#else
#define EM_FLOATS 1
#endif

/* EM_INLINE: what must be inlined, since an argument that is a constant at each call makes a kernel
 * of its own. EM_SHARED: the same in the fast form, but one function for all in the small one.
 * Where ops are left out, some are unused. */
#if defined(__GNUC__)
#define EM_UNUSED __attribute__((unused))
#define EM_INLINE static inline __attribute__((always_inline, unused))
#define EM_ONCE static __attribute__((noinline, unused))
#define EM_APART __attribute__((noinline)) /* smaller so, as gcc 13 measures it */
#else
#define EM_UNUSED
#define EM_INLINE static inline
#define EM_ONCE static
#define EM_APART
#endif

#if EM_SMALL
#define EM_SHARED EM_ONCE
#else
#define EM_SHARED EM_INLINE
#endif

/* The file, the workspace and the taps are bytes to the compiler: no typed access to them may be
 * reordered on the ground that types differ. */
#if defined(__GNUC__)
#define EM_ALIAS __attribute__((may_alias))
#else
#define EM_ALIAS
#endif

typedef int16_t EM_ALIAS em_i16;
typedef uint16_t EM_ALIAS em_u16;
typedef int32_t EM_ALIAS em_i32;
typedef uint32_t EM_ALIAS em_u32;
typedef int64_t EM_ALIAS em_i64;
typedef float EM_ALIAS em_f32;

#define EM_NONE UINT32_C(0xFFFFFFFF)
#define EM_NAN UINT32_C(0x7FC00000)         /* the bits of one */
#define EM_DRIFT_LARGEST (INT32_C(1) << 24) /* of increments and limits, section 13 */
#define EM_FAR_INT (INT32_C(1) << 30)       /* distance of a class without a box, section 7.4 */

#define EM_PATTERN_BITS 2048u /* at most, section 7.9 */

/* Section 2 */
typedef struct EM_ALIAS em_header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t canary;
    uint32_t size;
    uint32_t sections;
    uint32_t reserved;
    uint32_t crc;
    uint8_t model_sha256[32];
} em_header;

/* Section 3 */
typedef struct EM_ALIAS em_section {
    uint32_t kind;
    uint32_t offset;
    uint32_t size;
    uint32_t reserved;
} em_section;

/* Section 4 */
typedef struct EM_ALIAS em_program {
    uint32_t taps, nodes, tables, monitors;
    uint32_t predicted;
    uint32_t workspace;
    uint32_t reserved[2];
} em_program;

/* Section 5 */
typedef struct EM_ALIAS em_tap_record {
    uint32_t name;
    uint16_t dtype;
    uint16_t view; /* em_view */
    uint32_t length;
    int32_t zero_point;
    double scale;
    uint32_t reserved[2];
} em_tap_record;

/* Section 6 */
typedef struct EM_ALIAS em_node {
    uint16_t op;
    uint16_t dtype;
    uint32_t length;
    uint32_t x, y; /* value ids */
    uint32_t first_table;
    uint16_t tables;
    uint16_t bits;
    uint32_t offset; /* of the result, in the workspace */
    uint32_t reserved;
} em_node;

/* Section 8 */
typedef struct EM_ALIAS em_table {
    uint16_t dtype;
    uint16_t reserved;
    uint32_t offset;
    uint32_t count;
    uint32_t reserved2;
} em_table;

/* Section 10 */
typedef struct EM_ALIAS em_monitor_record {
    uint32_t name;
    uint32_t score; /* value id */
    em_number alarm_above;
    em_number uncertain_above;
    uint32_t display;
    uint32_t reserved;
    double display_scale;
    uint32_t reserved2[2];
} em_monitor_record;

/* Section 11: the section's head, and the head of what a vector expects */
typedef struct EM_ALIAS em_self_test_head {
    uint32_t count, stride;
    uint32_t reserved[2];
} em_self_test_head;

typedef struct EM_ALIAS em_expected {
    uint32_t verdict;
    int32_t predicted_class;
    int32_t reason;
    uint32_t reserved;
} em_expected;

/* Section 13; then the edges and the increments */
typedef struct EM_ALIAS em_drift_record {
    uint32_t monitor, bins, alternatives;
    int32_t limit;
    uint32_t run_length;
    uint32_t reserved[3];
} em_drift_record;

/* Section 15; then the edges and the probabilities */
typedef struct EM_ALIAS em_accuracy_record {
    uint32_t monitor, steps, window, least, rows, variance;
    uint32_t reserved[2];
} em_accuracy_record;

/* Section 16 */
typedef struct EM_ALIAS em_companion_record {
    uint32_t view; /* em_view */
    uint32_t size;
    uint32_t reserved[2];
    uint8_t sha256[32];
} em_companion_record;

/* Section 7.5 */
typedef struct EM_ALIAS em_tree_node {
    uint32_t threshold; /* an i32, or the bits of an f32 */
    uint32_t child;     /* feature + 65536 * left */
} em_tree_node;

typedef struct EM_ALIAS em_tree_root {
    uint32_t node, depth;
} em_tree_root;

_Static_assert(sizeof(em_header) == 64, "section 2");
_Static_assert(sizeof(em_section) == 16, "section 3");
_Static_assert(sizeof(em_program) == 32, "section 4");
_Static_assert(sizeof(em_tap_record) == 32, "section 5");
_Static_assert(sizeof(em_node) == 32, "section 6");
_Static_assert(sizeof(em_table) == 16, "section 8");
_Static_assert(sizeof(em_monitor_record) == 48, "section 10");
_Static_assert(sizeof(em_expected) == 16, "section 11");
_Static_assert(sizeof(em_drift_record) == 32, "section 13");
_Static_assert(sizeof(em_accuracy_record) == 32, "section 15");
_Static_assert(sizeof(em_companion_record) == 48, "section 16");

/* A vector that the program reads: a tap or the result of a node. */
typedef struct em_value {
    const void *data;
    uint32_t dtype;
    uint32_t length;
} em_value;

/* Bytes of one element; 0 for what is no data type. */
EM_INLINE uint32_t em_size_of(uint32_t dtype) {
    switch (dtype) {
    case EM_I8:
    case EM_U8:
        return 1;
    case EM_I16:
        return 2;
    case EM_I32:
    case EM_F32:
    case EM_U32:
        return 4;
    case EM_I64:
        return 8;
    default:
        return 0;
    }
}

EM_INLINE int em_is_f32(uint32_t dtype) { return EM_FLOATS && dtype == EM_F32; }

/* Element i of an i8, u8, i16 or i32 vector: with a type that is a constant at each call, and with
 * any. */
EM_INLINE int32_t em_int_of(uint32_t dtype, const void *data, size_t i) {
    switch (dtype) {
    case EM_I8:
        return ((const int8_t *)data)[i];
    case EM_U8:
        return ((const uint8_t *)data)[i];
    case EM_I16:
        return ((const em_i16 *)data)[i];
    default:
        return ((const em_i32 *)data)[i];
    }
}

EM_SHARED int32_t em_int_at(uint32_t dtype, const void *data, size_t i) {
    return em_int_of(dtype, data, i);
}

EM_INLINE uint32_t em_round_up(uint32_t n, uint32_t to) { return (n + to - 1) & ~(to - 1); }

EM_INLINE uint32_t em_bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

EM_INLINE float em_float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Bit 31 if a float is a NaN or an infinity: an exponent of ones only carries into it. No compiler
 * option can optimise that away. */
EM_INLINE uint32_t em_carry_of(uint32_t bits) {
    return (bits & UINT32_C(0x7F800000)) + UINT32_C(0x00800000);
}

/* Of n floats: is none a NaN or an infinity? Looks at all, whatever it finds. */
EM_SHARED int em_all_finite(const em_u32 *bits, uint32_t n) {
    uint32_t carried = 0, i = 0;
#if !EM_SMALL && !defined(__OPTIMIZE_SIZE__)
    if (n >= 64) {
        uint32_t lane[16] = {0}; /* side by side: that pays where vectors are made */
        for (; n - i >= 16; i += 16) {
            for (uint32_t l = 0; l < 16; l++) {
                lane[l] |= em_carry_of(bits[l]);
            }
            bits += 16;
        }
        for (uint32_t l = 0; l < 16; l++) {
            carried |= lane[l];
        }
    }
#endif
    for (; i < n; i++) {
        carried |= em_carry_of(*bits++);
    }
    return carried >> 31 == 0;
}

EM_INLINE int em_is_finite(uint32_t bits) {
    return (bits & UINT32_C(0x7F800000)) != UINT32_C(0x7F800000);
}

EM_INLINE const em_header *em_header_of(const em_monitor *m) {
    return (const em_header *)(const void *)m->file;
}

EM_INLINE const em_tap_record *em_tap_at(const em_monitor *m, size_t i) {
    return (const em_tap_record *)(const void *)(m->file + m->taps) + i;
}

EM_INLINE const em_node *em_node_at(const em_monitor *m, size_t i) {
    return (const em_node *)(const void *)(m->file + m->nodes) + i;
}

EM_INLINE const em_table *em_table_at(const em_monitor *m, size_t i) {
    return (const em_table *)(const void *)(m->file + m->tables) + i;
}

EM_INLINE const em_monitor_record *em_monitor_at(const em_monitor *m, size_t i) {
    return (const em_monitor_record *)(const void *)(m->file + m->monitors) + i;
}

/* The content of the k-th table of a node. */
EM_INLINE const void *em_data_of(const em_monitor *m, const em_node *node, uint32_t k) {
    return m->file + em_table_at(m, node->first_table + k)->offset;
}

/* One kernel for every type of integer: `dtype` is a constant in `...`, in EM_OF_INTS in the fast
 * form alone. For short loops the small form has all of them, too: with em_int_of. */
#define EM_OF_EACH_INT(given, dtype, ...)                                                          \
    switch (given) {                                                                               \
        EM_OF_INT(EM_I8, dtype, __VA_ARGS__)                                                       \
        EM_OF_INT(EM_U8, dtype, __VA_ARGS__)                                                       \
        EM_OF_INT(EM_I16, dtype, __VA_ARGS__)                                                      \
        EM_OF_INT(EM_I32, dtype, __VA_ARGS__)                                                      \
    }
#define EM_OF_INT(value, dtype, ...)                                                               \
    case value: {                                                                                  \
        const uint32_t dtype = value;                                                              \
        __VA_ARGS__;                                                                               \
    } break;

#if EM_SMALL
#define EM_OF_INTS(given, dtype, ...)                                                              \
    do {                                                                                           \
        const uint32_t dtype = (given);                                                            \
        __VA_ARGS__;                                                                               \
    } while (0)
#else
#define EM_OF_INTS EM_OF_EACH_INT
#endif

/* The checksum of a whole file of `size` >= 64 bytes, rule H7. In em_open.c. */
EM_INTERNAL uint32_t em_crc(const uint8_t *file, uint32_t size);

#endif /* EM_LAYOUT_H */
