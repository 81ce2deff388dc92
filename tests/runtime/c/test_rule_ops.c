/* Boxes and trees, on values that were computed by hand. */
#include "check.h"
#include "evaluated.h"

#include <string.h>

static builder b;

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

void test_rule_ops(void) {
    int_boxes();
    long_int_boxes();
    float_boxes();
    extreme_float_boxes();
    threshold_between_integers();
    forests();
}
