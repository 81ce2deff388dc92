/* Each op on values that were computed by hand. */
#include "check.h"
#include "evaluated.h"

#include <string.h>

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

/* Results of 30 bits less zero points that 32 bits have room for, and one that they have not. */
static void to_f32_of_the_largest(void) {
    const int8_t x[] = {0, 1};
    const int32_t entries[] = {-1073741824, 1073741824}, base[] = {0};
    const int32_t zero[] = {-1073741823, 1073741823, 1073741824, INT32_MIN};
    const float expected[][2] = {{-1.0f, 2147483648.0f},
                                 {-2147483648.0f, 1.0f},
                                 {-2147483648.0f, 0.0f},
                                 {1073741824.0f, 3221225472.0f}};
    const float one[] = {1.0f};
    start(&b);
    add_tap(&b, EM_I8, 2);
    add_tap(&b, EM_I8, 1);
    const uint32_t codes = add_node(&b, SUB, EM_I32, 2, 0, 1, 8);
    add_table(&b, EM_I32, 2, entries);
    add_table(&b, EM_I32, 1, base);
    const uint32_t largest = add_node(&b, LUT, EM_I32, 2, codes, NONE, 30);
    for (uint32_t i = 0; i < 4; i++) {
        add_table(&b, EM_F32, 1, one);
        add_table(&b, EM_I32, 1, &zero[i]);
        add_node(&b, TO_F32, EM_F32, 2, largest, NONE, 0);
    }
    EXPECT(run(&b, (em_tap[]){{x, EM_I8, 2}, {x, EM_I8, 1}}), EM_OK);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_F32(f32(&b, 2 + i, 0), expected[i][0]);
        EXPECT_F32(f32(&b, 2 + i, 1), expected[i][1]);
    }
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

void test_ops(void) {
    argmax_and_max();
    integers();
    lut_with_extreme_base();
    to_f32_scales_floats();
    to_f32_rounds_to_even();
    to_f32_of_the_largest();
    floats();
    float_sums();
    exp_and_log();
    omit();
}
