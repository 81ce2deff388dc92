/*
 * What is no number, and files that were made to misuse it: sections 7.5 and 7.10 of FORMAT.md.
 * Such a value arises inside a program (`run`), or a tap changes to it after its check
 * (`run_changed`): SEC2 and SEC4.
 */
#include "check.h"
#include "evaluated.h"

#include <string.h>

static builder b;

/* Bits of what is no number (quiet, signalling, negative, infinite), then of extreme numbers. */
static const uint32_t SPECIAL[] = {0x7FC00000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF,
                                   0x7F800000, 0xFF800000, 0x80000000, 0x00000001,
                                   0x80000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000};
enum { SPECIALS = sizeof SPECIAL / sizeof *SPECIAL, NO_NUMBERS = 6 };

static void expect_fault(em_status status) {
    EXPECT(status, EM_E_SCORE);
    EXPECT(result.verdict, EM_FAULT);
    EXPECT(result.verdicts[0], EM_FAULT);
    EXPECT(result.scores[0].i, 0);
}

/* ---- trees ---------------------------------------------------------------------------------- */

#define FLOAT_LEAF(i) 0x7F7FFFFFu, (i) << 16

/* Four trees, of depths 0, 0, 3 and 0: one walk of three steps for all. The last leaf is the last
 * node of the table, so that a step from it would lead out of it. */
static void add_deep_and_shallow(uint32_t x) {
    const uint32_t nodes[] = {FLOAT_LEAF(0),
                              FLOAT_LEAF(1),
                              0,
                              3u << 16,
                              0,
                              5u << 16,
                              FLOAT_LEAF(4),
                              0x7F7FFFFF,
                              7u << 16,
                              FLOAT_LEAF(6),
                              FLOAT_LEAF(7),
                              FLOAT_LEAF(8),
                              FLOAT_LEAF(9)};
    const int32_t values[] = {1, 10, 0, 0, 100, 0, 200, 300, 400, 1000};
    const uint32_t roots[] = {0, 0, 1, 0, 2, 3, 9, 0};
    add_table(&b, EM_U32, 20, nodes);
    add_table(&b, EM_I32, 10, values);
    add_table(&b, EM_U32, 8, roots);
    add_node(&b, TREES, EM_I32, 1, x, NONE, 12);
}

static void a_leaf_is_left_by_no_value(void) {
    for (uint32_t i = 0; i < SPECIALS; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            float x[] = {1.0f, 1.0f};
            x[k] = f32_of(SPECIAL[i]);
            start(&b);
            add_tap(&b, EM_F32, 2);
            add_deep_and_shallow(0);
            EXPECT(run_changed(&b, &(em_tap){x, EM_F32, 2}), EM_OK);
            /* Feature 0 decides: above 0 to the leaf of 100; a NaN goes left, to that of 300. */
            EXPECT(i32(&b, 0, 0), 1011 + (x[0] > 0.0f ? 100 : 300));
        }
    }
}

/* The file that led the runtime out of its tables, with the verdict trust: x * x is infinite. */
static void an_infinite_product_in_trees_is_a_fault(void) {
    const float x[] = {3e38f, -3e38f};
    start(&b);
    add_tap(&b, EM_F32, 2);
    const uint32_t square = add_node(&b, MUL, EM_F32, 2, 0, 0, 0);
    add_deep_and_shallow(square);
    expect_fault(run(&b, &(em_tap){x, EM_F32, 2}));
    EXPECT_F32(f32(&b, 0, 0), 0.0f);
    EXPECT(i32(&b, 1, 0), 1311); /* the zeros go left */
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* Tap 0 gives the one class; `boxes` boxes [-1, 1] in every dimension. */
static void add_boxes(uint32_t x, uint32_t dims, uint32_t boxes) {
    float lower[2 * 19], upper[2 * 19], weight[19];
    const uint32_t first[] = {0, boxes};
    for (uint32_t i = 0; i < 2 * dims; i++) {
        lower[i] = -1.0f;
        upper[i] = 1.0f;
        weight[i % dims] = 1.0f;
    }
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_F32, boxes * dims, lower);
    add_table(&b, EM_F32, boxes * dims, upper);
    add_table(&b, EM_F32, dims, weight);
    add_table(&b, EM_U32, 2, first);
    add_node(&b, BOXES, EM_F32, 1, x, predicted, 0);
}

static void no_position_hides_a_nan_from_boxes(void) {
    const float class_0[] = {0.0f};
    for (uint32_t boxes = 0; boxes < 3; boxes++) {
        for (uint32_t i = 0; i < SPECIALS; i++) {
            for (uint32_t k = 0; k < 19; k++) {
                float x[19] = {0};
                x[k] = f32_of(SPECIAL[i]);
                start(&b);
                add_tap(&b, EM_F32, 1);
                add_tap(&b, EM_F32, 19);
                add_boxes(1, 19, boxes);
                const em_status status =
                    run_changed(&b, (em_tap[]){{class_0, EM_F32, 1}, {x, EM_F32, 19}});
                if (i < NO_NUMBERS) {
                    expect_fault(status);
                } else {
                    EXPECT(status, EM_OK);
                }
            }
        }
    }
}

/* The file whose boxes left out a NaN, infinity divided by infinity, in the second dimension. */
static void an_infinity_on_the_way_to_boxes_is_a_fault(void) {
    const float x[] = {1.0f, 3e38f}, class_0[] = {0.0f};
    start(&b);
    add_tap(&b, EM_F32, 1);
    add_tap(&b, EM_F32, 2);
    const uint32_t square = add_node(&b, MUL, EM_F32, 2, 1, 1, 0);
    const uint32_t top = add_node(&b, MAX, EM_F32, 1, square, NONE, 0);
    const uint32_t quotient = add_node(&b, DIV, EM_F32, 2, square, top, 0);
    add_boxes(quotient, 2, 1);
    expect_fault(run(&b, (em_tap[]){{class_0, EM_F32, 1}, {x, EM_F32, 2}}));
}

/* ---- every float result, wherever the value stands ------------------------------------------ */

/* An element-wise node of x and y; of one input where `inputs` is 1. */
static em_status run_float(uint32_t op, uint32_t inputs, const float *x, const float *y,
                           uint32_t y_length, int changed) {
    const em_tap taps[] = {{x, EM_F32, 5}, {y, EM_F32, y_length}};
    start(&b);
    add_tap(&b, EM_F32, 5);
    add_tap(&b, EM_F32, y_length);
    add_node(&b, op, EM_F32, op == MAX || op == SUM ? 1 : 5, 0, inputs == 2 ? 1 : NONE, 0);
    return changed ? run_changed(&b, taps) : run(&b, taps);
}

static void sums_and_products_that_overflow_are_faults(void) {
    const float huge[] = {1.0f, LARGEST, 1.0f, -LARGEST, LARGEST}, zero[5] = {0};
    const float low[] = {-LARGEST}, half[] = {0.5f};
    expect_fault(run_float(SUB, 2, huge, low, 1, 0));
    expect_fault(run_float(SUM, 1, (float[]){LARGEST, 0, 0, 0, LARGEST}, zero, 1, 0));
    expect_fault(run_float(ADD, 2, huge, huge, 5, 0));
    expect_fault(run_float(MUL, 2, huge, huge, 5, 0));
    expect_fault(run_float(DIV, 2, huge, half, 1, 0));
    expect_fault(run_float(DIV, 2, huge, zero, 1, 0));
    expect_fault(run_float(DIV, 2, zero, zero, 1, 0));
    EXPECT(run_float(EXP, 1, huge, zero, 1, 0), EM_OK);
    EXPECT(run_float(LOG, 1, huge, zero, 1, 0), EM_OK);
    EXPECT(run_float(MAX, 1, huge, zero, 1, 0), EM_OK);

    const int8_t code[] = {127};
    const float scale[] = {LARGEST};
    const int32_t none[] = {0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    add_table(&b, EM_F32, 1, scale);
    add_table(&b, EM_I32, 1, none);
    add_node(&b, TO_F32, EM_F32, 1, 0, NONE, 0);
    expect_fault(run(&b, &(em_tap){code, EM_I8, 1}));
}

static void a_changed_tap_is_a_fault_wherever_it_reaches_a_result(void) {
    const float one[5] = {1, 1, 1, 1, 1};
    for (uint32_t i = 0; i < NO_NUMBERS; i++) {
        const float v = f32_of(SPECIAL[i]);
        const int nan = v != v, low = v < 0.0f;
        for (uint32_t k = 0; k < 5; k++) {
            float x[5] = {1, 2, 3, 4, 5};
            x[k] = v;
            expect_fault(run_float(SUB, 2, x, one, 1, 1));
            expect_fault(run_float(SUM, 1, x, one, 1, 1));
            expect_fault(run_float(ADD, 2, x, one, 5, 1));
            expect_fault(run_float(ADD, 2, one, x, 5, 1));
            expect_fault(run_float(MUL, 2, x, one, 5, 1));
            expect_fault(run_float(DIV, 2, x, one, 1, 1));
            EXPECT(run_float(EXP, 1, x, one, 1, 1), nan ? EM_E_SCORE : EM_OK);
            EXPECT(run_float(LOG, 1, x, one, 1, 1), low ? EM_OK : EM_E_SCORE);
            EXPECT(run_float(MAX, 1, x, one, 1, 1), low ? EM_OK : EM_E_SCORE);
        }
    }
}

/* ---- omit ----------------------------------------------------------------------------------- */

/* Over two classes, but not the index of a largest element (FORMAT.md, section 7). */
static void omit_by_exceeds_is_refused(void) {
    const float threshold[] = {0.0f}, x[] = {1.0f, 2.0f};
    start(&b);
    add_tap(&b, EM_F32, 2);
    add_tap(&b, EM_F32, 1);
    add_table(&b, EM_F32, 1, threshold);
    const uint32_t class = add_node(&b, EXCEEDS, EM_I32, 1, 1, NONE, 0);
    add_node(&b, OMIT, EM_F32, 2, 0, class, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_F32, 2}, {x, EM_F32, 1}}), EM_E_NODE);
}

void test_values(void) {
    a_leaf_is_left_by_no_value();
    an_infinite_product_in_trees_is_a_fault();
    no_position_hides_a_nan_from_boxes();
    an_infinity_on_the_way_to_boxes_is_a_fault();
    sums_and_products_that_overflow_are_faults();
    a_changed_tap_is_a_fault_wherever_it_reaches_a_result();
    omit_by_exceeds_is_refused();
}
