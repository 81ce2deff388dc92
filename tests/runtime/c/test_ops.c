/* Each op on values that were computed by hand. */
#include "builder.h"
#include "check.h"

#include <string.h>

/* One evaluation of the program in `b`; afterwards the workspace holds every node's result. */
static uint64_t workspace[64];
static em_result result;

static float f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

#define NOT_A_NUMBER f32_of(0x7FC00000)
#define INFINITE f32_of(0x7F800000)
#define LARGEST f32_of(0x7F7FFFFF)

static em_status run(builder *b, const em_tap *taps) {
    static artifact a;
    static em_monitor m;
    const uint32_t predicted = add_node(b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    uint32_t width = 0;
    while (1u << width < taps[0].length) {
        width++;
    }
    set16(b->nodes.at + b->nodes.size - 10, width);
    add_monitor(b, predicted, (em_number){.i = 1000}, (em_number){.i = 1000});
    finish(b, predicted, &a);
    em_status status = em_open(&m, a.file, a.size);
    memset(workspace, 0x5A, sizeof workspace);
    if (status == EM_OK) {
        status = em_evaluate(&m, taps, b->n_taps, workspace, em_workspace_size(&m), &result);
    }
    return status;
}

/* Element i of the node's result; nodes are counted from 0. */
static const uint8_t *place(const builder *b, uint32_t node) {
    return (const uint8_t *)workspace + get32(b->nodes.at + 32 * node + 24);
}

static int32_t i32(const builder *b, uint32_t node, uint32_t i) {
    int32_t v;
    memcpy(&v, place(b, node) + 4 * i, 4);
    return v;
}

static int64_t i64(const builder *b, uint32_t node, uint32_t i) {
    int64_t v;
    memcpy(&v, place(b, node) + 8 * i, 8);
    return v;
}

static float f32(const builder *b, uint32_t node, uint32_t i) {
    float v;
    memcpy(&v, place(b, node) + 4 * i, 4);
    return v;
}

static builder b;

static void argmax_and_max(void) {
    const int8_t tie[] = {-128, 5, 5, -1};
    start(&b);
    add_tap(&b, EM_I8, 4);
    add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 2);
    add_node(&b, MAX, EM_I32, 1, 0, NONE, 7);
    EXPECT(run(&b, &(em_tap){tie, EM_I8, 4}), EM_OK);
    EXPECT(i32(&b, 0, 0), 1); /* the first on a tie */
    EXPECT(i32(&b, 1, 0), 5);
    EXPECT(result.predicted_class, 1);

    const uint8_t unsigned_codes[] = {3, 255, 128};
    start(&b);
    add_tap(&b, EM_U8, 3);
    add_node(&b, MAX, EM_I32, 1, 0, NONE, 8);
    EXPECT(run(&b, &(em_tap){unsigned_codes, EM_U8, 3}), EM_OK);
    EXPECT(i32(&b, 0, 0), 255);

    const int16_t words[] = {-32768, -32767};
    start(&b);
    add_tap(&b, EM_I16, 2);
    add_node(&b, MAX, EM_I32, 1, 0, NONE, 15);
    EXPECT(run(&b, &(em_tap){words, EM_I16, 2}), EM_OK);
    EXPECT(i32(&b, 0, 0), -32767);

    const float zeros[] = {-0.0f, -1.0f};
    start(&b);
    add_tap(&b, EM_F32, 2);
    add_node(&b, MAX, EM_F32, 1, 0, NONE, 0);
    EXPECT(run(&b, &(em_tap){zeros, EM_F32, 2}), EM_OK);
    EXPECT_F32(f32(&b, 0, 0), 0.0f); /* -0 becomes +0 */
}

static void largest_of_nan(void) {
    const float x[] = {1.0f, 0.0f, 3.0f}, y[] = {0.0f};
    start(&b);
    add_tap(&b, EM_F32, 3);
    add_tap(&b, EM_F32, 1);
    const uint32_t quotient = add_node(&b, DIV, EM_F32, 3, 0, 1, 0); /* inf, NaN, inf */
    add_node(&b, ARGMAX, EM_I32, 1, quotient, NONE, 2);
    add_node(&b, MAX, EM_F32, 1, quotient, NONE, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_F32, 3}, {y, EM_F32, 1}}), EM_OK);
    EXPECT_F32(f32(&b, 0, 0), INFINITE);
    EXPECT_F32(f32(&b, 0, 1), NOT_A_NUMBER);
    EXPECT(i32(&b, 1, 0), 1);
    EXPECT_F32(f32(&b, 2, 0), NOT_A_NUMBER);
}

static void integers(void) {
    const int8_t x[] = {-128, 0, 127}, y[] = {127};
    const int32_t entries[] = {10, -20, 40}, base[] = {-128};
    const float scale[] = {0.25f};
    const int32_t zero[] = {-6};
    start(&b);
    add_tap(&b, EM_I8, 3);
    add_tap(&b, EM_I8, 1);
    const uint32_t sub = add_node(&b, SUB, EM_I32, 3, 0, 1, 8);
    add_table(&b, EM_I32, 3, entries);
    add_table(&b, EM_I32, 1, base);
    const uint32_t lut = add_node(&b, LUT, EM_I32, 3, sub, NONE, 6);
    const uint32_t sum = add_node(&b, SUM, EM_I64, 1, lut, NONE, 8);
    const uint32_t twice = add_node(&b, ADD, EM_I64, 1, sum, sum, 9);
    add_node(&b, ADD, EM_I64, 3, sub, lut, 9);
    add_table(&b, EM_F32, 1, scale);
    add_table(&b, EM_I32, 1, zero);
    add_node(&b, TO_F32, EM_F32, 1, twice, NONE, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_I8, 3}, {y, EM_I8, 1}}), EM_OK);
    EXPECT(i32(&b, 0, 0), -255);
    EXPECT(i32(&b, 0, 1), -127);
    EXPECT(i32(&b, 0, 2), 0);
    EXPECT(i32(&b, 1, 0), 10);  /* below the base: the first entry */
    EXPECT(i32(&b, 1, 1), -20); /* one above the base */
    EXPECT(i32(&b, 1, 2), 40);  /* beyond the end: the last entry */
    EXPECT(i64(&b, 2, 0), 30);
    EXPECT(i64(&b, 3, 0), 60);
    EXPECT(i64(&b, 4, 0), -245);
    EXPECT_F32(f32(&b, 5, 0), 16.5f); /* (60 - -6) / 4 */
}

static void lut_with_extreme_base(void) {
    const uint8_t x[] = {0, 255};
    const int32_t entries[] = {1, 2}, lowest[] = {INT32_MIN}, highest[] = {INT32_MAX};
    start(&b);
    add_tap(&b, EM_U8, 2);
    const uint32_t top = add_node(&b, MAX, EM_I32, 1, 0, NONE, 8);
    add_table(&b, EM_I32, 2, entries);
    add_table(&b, EM_I32, 1, lowest);
    add_node(&b, LUT, EM_I32, 1, top, NONE, 1);
    add_table(&b, EM_I32, 2, entries);
    add_table(&b, EM_I32, 1, highest);
    add_node(&b, LUT, EM_I32, 1, top, NONE, 1);
    EXPECT(run(&b, &(em_tap){x, EM_U8, 2}), EM_OK);
    EXPECT(i32(&b, 1, 0), 2); /* 255 + 2^31 does not wrap */
    EXPECT(i32(&b, 2, 0), 1);
}

static void to_f32_scales_floats(void) {
    const float x[] = {3.0f, -0.5f}, scale[] = {0.25f};
    const int32_t zero[] = {0};
    start(&b);
    add_tap(&b, EM_F32, 2);
    add_table(&b, EM_F32, 1, scale);
    add_table(&b, EM_I32, 1, zero);
    add_node(&b, TO_F32, EM_F32, 2, 0, NONE, 0);
    EXPECT(run(&b, &(em_tap){x, EM_F32, 2}), EM_OK);
    EXPECT_F32(f32(&b, 0, 0), 0.75f);
    EXPECT_F32(f32(&b, 0, 1), -0.125f);
}

static void to_f32_rounds_to_even(void) {
    /* 2^24 + 1 and 2^24 + 3 lie halfway between floats. */
    const int8_t x[] = {0, 1};
    const int32_t entries[] = {16777217, 16777219}, base[] = {0};
    const float one[] = {1.0f};
    start(&b);
    add_tap(&b, EM_I8, 2);
    add_tap(&b, EM_I8, 1);
    const uint32_t codes = add_node(&b, SUB, EM_I32, 2, 0, 1, 8);
    add_table(&b, EM_I32, 2, entries);
    add_table(&b, EM_I32, 1, base);
    const uint32_t large = add_node(&b, LUT, EM_I32, 2, codes, NONE, 25);
    add_table(&b, EM_F32, 1, one);
    add_table(&b, EM_I32, 1, base);
    add_node(&b, TO_F32, EM_F32, 2, large, NONE, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_I8, 2}, {x, EM_I8, 1}}), EM_OK);
    EXPECT_F32(f32(&b, 2, 0), 16777216.0f);
    EXPECT_F32(f32(&b, 2, 1), 16777220.0f);
}

static void floats(void) {
    const float x[] = {1.5f, -2.0f, 0.1f}, y[] = {0.5f}, z[] = {2.0f, 3.0f, 0.2f};
    start(&b);
    add_tap(&b, EM_F32, 3);
    add_tap(&b, EM_F32, 1);
    add_tap(&b, EM_F32, 3);
    add_node(&b, SUB, EM_F32, 3, 0, 1, 0);
    add_node(&b, ADD, EM_F32, 3, 0, 2, 0);
    add_node(&b, MUL, EM_F32, 3, 0, 2, 0);
    add_node(&b, DIV, EM_F32, 3, 0, 1, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_F32, 3}, {y, EM_F32, 1}, {z, EM_F32, 3}}), EM_OK);
    EXPECT_F32(f32(&b, 0, 0), 1.0f);
    EXPECT_F32(f32(&b, 0, 1), -2.5f);
    EXPECT_F32(f32(&b, 1, 1), 1.0f);
    EXPECT_F32(f32(&b, 1, 2), f32_of(0x3E99999A)); /* 0.1f + 0.2f, rounded once */
    EXPECT_F32(f32(&b, 2, 1), -6.0f);
    EXPECT_F32(f32(&b, 2, 2), f32_of(0x3CA3D70B)); /* 0.1f * 0.2f, rounded once */
    EXPECT_F32(f32(&b, 3, 0), 3.0f);
}

/* Section 7.1 to the letter, on a copy. */
static float halving_sum(const float *x, uint32_t n) {
    float copy[64] = {0};
    uint32_t p = 1;
    memcpy(copy, x, n * sizeof *x);
    while (p < n) {
        p *= 2;
    }
    while (p > 1) {
        p /= 2;
        for (uint32_t i = 0; i < p; i++) {
            copy[i] = copy[i] + copy[i + p];
        }
    }
    return copy[0];
}

static void float_sums(void) {
    const float order[] = {1e8f, 1.0f, -1e8f}; /* from the left this gives 0 */
    start(&b);
    add_tap(&b, EM_F32, 3);
    add_node(&b, SUM, EM_F32, 1, 0, NONE, 0);
    EXPECT(run(&b, &(em_tap){order, EM_F32, 3}), EM_OK);
    EXPECT_F32(f32(&b, 0, 0), 1.0f);

    float x[33];
    uint32_t state = 1;
    for (uint32_t i = 0; i < 33; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state * 1e-5f;
    }
    for (uint32_t n = 1; n <= 33; n++) {
        start(&b);
        add_tap(&b, EM_F32, n);
        add_node(&b, SUM, EM_F32, 1, 0, NONE, 0);
        EXPECT(run(&b, &(em_tap){x, EM_F32, n}), EM_OK);
        EXPECT_F32(f32(&b, 0, 0), halving_sum(x, n));
    }
}

/* Bits from the formulas of sections 7.2 and 7.3, evaluated in NumPy float32. */
static void exp_and_log(void) {
    const float x[] = {0.0f, 1.0f, -1.0f, 86.0f, 1000.0f, -1000.0f, 0.3f, -10.7f};
    const uint32_t exps[] = {0x3F800000, 0x402DF854, 0x3EBC5AB2, 0x7D86876D,
                             0x7D86876D, 0x01739362, 0x3FACC82C, 0x37BD1EE5};
    start(&b);
    add_tap(&b, EM_F32, 8);
    add_node(&b, EXP, EM_F32, 8, 0, NONE, 0);
    EXPECT(run(&b, &(em_tap){x, EM_F32, 8}), EM_OK);
    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_F32(f32(&b, 0, i), f32_of(exps[i]));
    }

    const float y[] = {1.0f, 2.0f, 0.5f, 10.0f, 0.0f, -5.0f, 1e-40f, 0.3f};
    const uint32_t logs[] = {0x00000000, 0x3F317218, 0xBF317218, 0x40135D8E,
                             0xC2AEAC50, 0xC2AEAC50, 0xC2AEAC50, 0xBF9A1BC8};
    start(&b);
    add_tap(&b, EM_F32, 8);
    add_node(&b, LOG, EM_F32, 8, 0, NONE, 0);
    EXPECT(run(&b, &(em_tap){y, EM_F32, 8}), EM_OK);
    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_F32(f32(&b, 0, i), f32_of(logs[i]));
    }

    const float z[] = {1.0f, 0.0f, -1.0f}, zero[] = {0.0f}; /* inf, NaN, -inf */
    start(&b);
    add_tap(&b, EM_F32, 3);
    add_tap(&b, EM_F32, 1);
    const uint32_t quotient = add_node(&b, DIV, EM_F32, 3, 0, 1, 0);
    add_node(&b, EXP, EM_F32, 3, quotient, NONE, 0);
    add_node(&b, LOG, EM_F32, 3, quotient, NONE, 0);
    EXPECT(run(&b, (em_tap[]){{z, EM_F32, 3}, {zero, EM_F32, 1}}), EM_OK);
    EXPECT_F32(f32(&b, 1, 0), f32_of(exps[4]));
    EXPECT_F32(f32(&b, 1, 1), NOT_A_NUMBER);
    EXPECT_F32(f32(&b, 1, 2), f32_of(exps[5]));
    EXPECT_F32(f32(&b, 2, 0), NOT_A_NUMBER);
    EXPECT_F32(f32(&b, 2, 1), NOT_A_NUMBER);
    EXPECT_F32(f32(&b, 2, 2), f32_of(logs[4]));
}

/* Class 0: boxes [0,10]x[0,10] and [20,30]x[0,10]; class 1: none; weights 1 and 3. */
static int32_t box_score(em_dtype dtype, const void *logits, const void *point) {
    const int8_t narrow_lower[] = {0, 0, 20, 0}, narrow_upper[] = {10, 10, 30, 10};
    const int16_t wide_lower[] = {0, 0, 20, 0}, wide_upper[] = {10, 10, 30, 10};
    const int32_t weight[] = {1, 3};
    const uint32_t first[] = {0, 2, 2};
    start(&b);
    add_tap(&b, EM_I8, 2);
    add_tap(&b, dtype, 2);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 1);
    add_table(&b, dtype, 4, dtype == EM_I16 ? (const void *)wide_lower : narrow_lower);
    add_table(&b, dtype, 4, dtype == EM_I16 ? (const void *)wide_upper : narrow_upper);
    add_table(&b, EM_I32, 2, weight);
    add_table(&b, EM_U32, 3, first);
    add_node(&b, BOXES, EM_I32, 1, 1, predicted, 30);
    EXPECT(run(&b, (em_tap[]){{logits, EM_I8, 2}, {point, dtype, 2}}), EM_OK);
    return i32(&b, 1, 0);
}

#define POINT(type, x, y) ((const type[]){(type)(x), (type)(y)})

static void int_boxes(void) {
    const int8_t class_0[] = {1, 0}, class_1[] = {0, 1};
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, 5, 5)), -5); /* inside: the nearest face */
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, 10, 5)), 0); /* on a face */
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, 14, 5)),
           4); /* 4 from one box, 6 from the other */
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, 17, 5)), 3);
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, 5, 12)), 6); /* weighted */
    EXPECT(box_score(EM_I8, class_0, POINT(int8_t, -128, -128)), 384);
    EXPECT(box_score(EM_I8, class_1, POINT(int8_t, 5, 5)), 1 << 30); /* a class without a box */
    EXPECT(box_score(EM_U8, class_0, POINT(uint8_t, 255, 5)), 225);
    EXPECT(box_score(EM_I16, class_0, POINT(int16_t, -32768, 32767)), 3 * 32757);
}

static void omit(void) {
    const int8_t x[] = {3, 9, 9};
    const float y[] = {1.5f, -2.5f, 3.5f};
    start(&b);
    add_tap(&b, EM_I8, 3);
    add_tap(&b, EM_F32, 3);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 2);
    const uint32_t codes = add_node(&b, SUB, EM_I32, 3, 0, 2, 8);
    add_node(&b, OMIT, EM_I32, 3, codes, predicted, 8);
    add_node(&b, OMIT, EM_F32, 3, 1, predicted, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_I8, 3}, {y, EM_F32, 3}, {x, EM_I8, 1}}), EM_OK);
    EXPECT(i32(&b, 1, 1), 6);
    EXPECT(i32(&b, 2, 0), 0);
    EXPECT(i32(&b, 2, 1), 0);
    EXPECT(i32(&b, 2, 2), 6);
    EXPECT_F32(f32(&b, 3, 0), 1.5f);
    EXPECT_F32(f32(&b, 3, 1), 0.0f);
    EXPECT_F32(f32(&b, 3, 2), 3.5f);
}

static void long_int_boxes(void) {
    int8_t x[67], lower[67], upper[67], logit[] = {0};
    int32_t weight[67];
    const uint32_t first[] = {0, 1};
    for (uint32_t d = 0; d < 67; d++) {
        for (uint32_t i = 0; i < 67; i++) {
            x[i] = 0;
            lower[i] = -100;
            upper[i] = 100;
            weight[i] = 1;
        }
        x[d] = (int8_t)(d % 2 ? 103 : -103);
        weight[d] = 7;
        start(&b);
        add_tap(&b, EM_I8, 1);
        add_tap(&b, EM_I8, 67);
        const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
        add_table(&b, EM_I8, 67, lower);
        add_table(&b, EM_I8, 67, upper);
        add_table(&b, EM_I32, 67, weight);
        add_table(&b, EM_U32, 2, first);
        add_node(&b, BOXES, EM_I32, 1, 1, predicted, 30);
        EXPECT(run(&b, (em_tap[]){{logit, EM_I8, 1}, {x, EM_I8, 67}}), EM_OK);
        EXPECT(i32(&b, 1, 0), 21); /* whichever dimension, the lanes find it */
    }
}

static void float_boxes(void) {
    float x[19] = {0}, lower[19], upper[19], weight[19];
    const float logit[] = {0.0f};
    const uint32_t first[] = {0, 1};
    for (uint32_t d = 0; d < 19; d++) {
        for (uint32_t i = 0; i < 19; i++) {
            x[i] = 0.0f;
            lower[i] = -1.0f;
            upper[i] = 1.0f;
            weight[i] = 1.0f;
        }
        x[d] = d % 2 ? 3.0f : -3.0f;
        weight[d] = 0.5f;
        start(&b);
        add_tap(&b, EM_F32, 1);
        add_tap(&b, EM_F32, 19);
        const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
        add_table(&b, EM_F32, 19, lower);
        add_table(&b, EM_F32, 19, upper);
        add_table(&b, EM_F32, 19, weight);
        add_table(&b, EM_U32, 2, first);
        add_node(&b, BOXES, EM_F32, 1, 1, predicted, 0);
        EXPECT(run(&b, (em_tap[]){{logit, EM_F32, 1}, {x, EM_F32, 19}}), EM_OK);
        EXPECT_F32(f32(&b, 1, 0), 1.0f);
    }
}

static float one_float_box(float x, float lower, float upper, float weight, uint32_t boxes) {
    const uint32_t first[] = {0, boxes};
    start(&b);
    add_tap(&b, EM_F32, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_F32, boxes, &lower);
    add_table(&b, EM_F32, boxes, &upper);
    add_table(&b, EM_F32, 1, &weight);
    add_table(&b, EM_U32, 2, first);
    add_node(&b, BOXES, EM_F32, 1, 0, predicted, 0);
    EXPECT(run(&b, &(em_tap){&x, EM_F32, 1}), EM_OK);
    return f32(&b, 1, 0);
}

static void extreme_float_boxes(void) {
    EXPECT_F32(one_float_box(-LARGEST, LARGEST, LARGEST, 1.0f, 1), LARGEST); /* not infinite */
    EXPECT_F32(one_float_box(0.0f, 1.0f, 1.0f, 1.0f, 0), LARGEST);           /* no box */
    EXPECT_F32(one_float_box(0.0f, -0.0f, 1.0f, 1.0f, 1), 0.0f);             /* not -0 */
    EXPECT_F32(one_float_box(2.0f, 0.0f, 0.5f, 4.0f, 1), 6.0f);
}

#define LEAF(i) 0x7FFFFFFFu, (i) << 16
#define FLOAT_LEAF(i) 0x7F7FFFFFu, (i) << 16

/* The tree `x <= 1.5`, which on integers is `x <= 1`. */
static void threshold_between_integers(void) {
    const uint32_t nodes[] = {1, 1u << 16, LEAF(1u), LEAF(2u)}, roots[] = {0, 1};
    const int32_t values[] = {0, 0, 1}, expected[] = {0, 0, 1, 1};
    for (uint32_t i = 0; i < 4; i++) {
        const int8_t narrow = (int8_t)i;
        const int16_t wide = (int16_t)i;
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            const em_dtype dtype = is_wide ? EM_I16 : EM_I8;
            start(&b);
            add_tap(&b, dtype, 1);
            add_table(&b, EM_U32, 6, nodes);
            add_table(&b, EM_I32, 3, values);
            add_table(&b, EM_U32, 2, roots);
            add_node(&b, TREES, EM_I32, 1, 0, NONE, 0);
            EXPECT(run(&b, &(em_tap){is_wide ? (const void *)&wide : &narrow, dtype, 1}), EM_OK);
            EXPECT(i32(&b, 0, 0), expected[i]);
        }
    }
    const float y[] = {0.0f, 1.0f, 1.5f, 2.0f, -LARGEST, LARGEST};
    const uint32_t float_nodes[] = {0x3FC00000, 1u << 16, FLOAT_LEAF(1u), FLOAT_LEAF(2u)};
    const int32_t float_expected[] = {0, 0, 0, 1, 0, 1};
    for (uint32_t i = 0; i < 6; i++) {
        start(&b);
        add_tap(&b, EM_F32, 1);
        add_table(&b, EM_U32, 6, float_nodes);
        add_table(&b, EM_I32, 3, values);
        add_table(&b, EM_U32, 2, roots);
        add_node(&b, TREES, EM_I32, 1, 0, NONE, 0);
        EXPECT(run(&b, &(em_tap){&y[i], EM_F32, 1}), EM_OK);
        EXPECT(i32(&b, 0, 0), float_expected[i]);
    }
}

/* `count` trees of alternating depth 0 and 2 on x[0] and x[1]: tree t gives t + 1 times the number
 * of its leaf. Tests the four at a time, the rest, and unequal depths among the four. */
static int32_t forest(uint32_t count, uint8_t x0, uint8_t x1) {
    uint32_t nodes[2 * 64], roots[2 * 16], n = 0, largest = 0, bits = 0;
    int32_t values[64] = {0};
    for (uint32_t t = 0; t < count; t++) {
        roots[2 * t] = n;
        roots[2 * t + 1] = t % 2 ? 2 : 0;
        if (t % 2 == 0) {
            nodes[2 * n] = 0x7FFFFFFF;
            nodes[2 * n + 1] = n << 16;
            values[n] = 10;
            largest = largest > 10 ? largest : 10;
            n += 1;
            continue;
        }
        const uint32_t tree[] = {100,         (n + 1) << 16, 50,         1 + ((n + 3) << 16),
                                 LEAF(n + 2), LEAF(n + 3),   LEAF(n + 4)};
        memcpy(nodes + 2 * n, tree, sizeof tree);
        values[n + 2] = 1;
        values[n + 3] = 2 * (int32_t)(t + 1);
        values[n + 4] = 3 * (int32_t)(t + 1);
        largest = largest > 3 * (t + 1) ? largest : 3 * (t + 1);
        n += 5;
    }
    while (1u << bits < largest) {
        bits++;
    }
    uint32_t tree_bits = 0;
    while (1u << tree_bits < count) {
        tree_bits++;
    }
    const uint8_t x[] = {x0, x1};
    start(&b);
    add_tap(&b, EM_U8, 2);
    add_table(&b, EM_U32, 2 * n, nodes);
    add_table(&b, EM_I32, n, values);
    add_table(&b, EM_U32, 2 * count, roots);
    add_node(&b, TREES, EM_I32, 1, 0, NONE, bits + tree_bits);
    EXPECT(run(&b, &(em_tap){x, EM_U8, 2}), EM_OK);
    return i32(&b, 0, 0);
}

static void forests(void) {
    EXPECT(forest(1, 0, 0), 10);
    EXPECT(forest(2, 101, 0), 11);
    EXPECT(forest(2, 100, 50), 14);
    EXPECT(forest(2, 100, 51), 16);
    EXPECT(forest(6, 100, 51), 30 + 6 + 12 + 18);
    EXPECT(forest(8, 0, 0), 40 + 4 + 8 + 12 + 16);
    EXPECT(forest(9, 255, 0), 50 + 4);
}

void test_ops(void) {
    argmax_and_max();
    largest_of_nan();
    integers();
    lut_with_extreme_base();
    to_f32_scales_floats();
    to_f32_rounds_to_even();
    floats();
    float_sums();
    exp_and_log();
    int_boxes();
    long_int_boxes();
    float_boxes();
    omit();
    extreme_float_boxes();
    threshold_between_integers();
    forests();
}
