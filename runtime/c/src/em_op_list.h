/*
 * Private: the ops, FORMAT.md section 7. This is the only list of them in the runtime; what each
 * row stands for is made from it here, in em_ops.h and in em_ops.c.
 */
#ifndef EM_OP_LIST_H
#define EM_OP_LIST_H

/* Number, NAME, name, inputs, tables; the rules of its types, of its tables and of its work. */
#define EM_OP_LIST(X)                                                                              \
    X(1, ARGMAX, argmax, 1, 0, argmax, none, elements)                                             \
    X(2, MAX, max, 1, 0, max, none, elements)                                                      \
    X(3, SUB, sub, 2, 0, sub, none, elements)                                                      \
    X(4, LUT, lut, 1, 2, lut, lut, elements)                                                       \
    X(5, SUM, sum, 1, 0, sum, none, elements)                                                      \
    X(6, TO_F32, to_f32, 1, 2, to_f32, to_f32, elements)                                           \
    X(7, EXP, exp, 1, 0, reals, none, exp)                                                         \
    X(8, LOG, log, 1, 0, reals, none, log)                                                         \
    X(9, ADD, add, 2, 0, add, none, elements)                                                      \
    X(10, MUL, mul, 2, 0, mul, none, elements)                                                     \
    X(11, DIV, div, 2, 0, div, none, elements)                                                     \
    X(12, BOXES, boxes, 2, 4, boxes, boxes, boxes)                                                 \
    X(13, TREES, trees, 1, 3, trees, trees, trees)                                                 \
    X(14, OMIT, omit, 2, 0, omit, none, elements)                                                  \
    X(15, EXCEEDS, exceeds, 1, 1, exceeds, exceeds, elements)                                      \
    X(16, GATHER, gather, 1, 1, numbers, gather, elements)                                         \
    X(17, REDUCE, reduce, 1, 1, numbers, reduce, elements)                                         \
    X(18, AFFINE, affine, 1, 2, numbers, affine, affine)                                           \
    X(19, SELECT, select, 2, 0, select, none, elements)                                            \
    X(20, TABLES, tables, 1, 4, tables, tables, tables)                                            \
    X(21, KERNELS, kernels, 1, 4, reals, kernels, kernels)                                         \
    X(22, DISTANCES, distances, 1, 1, reals, distances, distances)                                 \
    X(23, LOGSUMEXP, logsumexp, 1, 1, reals, logsumexp, logsumexp)                                 \
    X(24, CONCAT, concat, 2, 0, concat, none, elements)                                            \
    X(25, HAMMING, hamming, 2, 4, hamming, hamming, hamming)                                       \
    X(26, CLIP, clip, 1, 1, numbers, clip, elements)                                               \
    X(27, PERFECT_TREES, perfect_trees, 1, 5, perfect_trees, perfect_trees, perfect_trees)         \
    X(28, EARLY_TREES, early_trees, 1, 3, trees, trees, trees)                                     \
    X(29, SQUARED_ERROR, squared_error, 2, 0, squared_error, none, elements)                       \
    X(30, DEVIATION, deviation, 1, 1, numbers, deviation, elements)

typedef enum em_op {
#define EM_OP_ENUM(number, NAME, ...) EM_OP_##NAME = number,
    EM_OP_LIST(EM_OP_ENUM)
#undef EM_OP_ENUM
        EM_OP_COUNT
} em_op;

/*
 * A build has all ops, or with EDGEMON_SOME_OPS defined those NAMEs for which EDGEMON_OP_NAME is
 * defined as 1: amalgamate.py and CMake define them for the artifacts that you name, and
 * EDGEMON_FLOATS as 1 if one of these has floats (EM_FLOATS in em_layout.h).
 *
 * #if EM_HAS(NAME)                 around the functions of an op
 * EM_IF(EDGEMON_OP_##NAME, ...)    the rest if the build has the op, else nothing
 * EM_UNLESS(EDGEMON_OP_##NAME, ...) the reverse
 */
#ifdef EDGEMON_SOME_OPS
#define EM_HAS(NAME) EDGEMON_OP_##NAME
#define EM_IF(macro, ...) EM_PASTE(EM_KEEP_, EM_CHOSEN(macro))(__VA_ARGS__)
#define EM_UNLESS(macro, ...) EM_PASTE(EM_DROP_, EM_CHOSEN(macro))(__VA_ARGS__)
#else
#define EM_HAS(NAME) 1
#define EM_IF(macro, ...) __VA_ARGS__
#define EM_UNLESS(macro, ...)
#endif

#define EM_KEEP_0(...)
#define EM_KEEP_1(...) __VA_ARGS__
#define EM_DROP_0(...) __VA_ARGS__
#define EM_DROP_1(...)
#define EM_PASTE(a, b) EM_PASTED(a, b)
#define EM_PASTED(a, b) a##b

/* 1 for a macro that is defined as 1, and 0 for one that is not defined. */
#define EM_CHOSEN(macro) EM_CHOSEN_IF(macro)
#define EM_CHOSEN_IF(value) EM_SECOND_OF(EM_COMMA_IF_##value, 0, 0)
#define EM_COMMA_IF_1 0, 1
#define EM_SECOND_OF(...) EM_SECOND(__VA_ARGS__)
#define EM_SECOND(first, second, ...) second

#endif /* EM_OP_LIST_H */
