/* Ops on each of their data types, against loops that are written plainly: lengths are beyond what
 * the kernels take at a time. */
#include "check.h"
#include "evaluated.h"

#include <string.h>

enum { CHANNELS = 49, POSITIONS = 260, LENGTH = CHANNELS * POSITIONS, INPUTS = 150, ROWS = 3 };

static builder b;

/* Of a map: more than are added at a time; i32, whose copy needs an index, has fewer. */
static uint32_t positions_of(em_dtype dtype) { return dtype == EM_I32 ? 120 : POSITIONS; }

/* Element i of an integer tap: the lowest code, the highest, and others. */
static int32_t code(em_dtype dtype, uint32_t i) {
    const int32_t lowest = dtype == EM_I8 ? -128 : dtype == EM_U8 ? 0 : -32768;
    const int32_t highest = dtype == EM_I8 ? 127 : dtype == EM_U8 ? 255 : 32767;
    return i % 3 == 0 ? highest : i % 7 == 0 ? lowest : (int32_t)(i * 37 % 100);
}

static uint32_t bits_of(em_dtype dtype) { return dtype == EM_I8 ? 7 : dtype == EM_U8 ? 8 : 15; }

static em_tap integer_tap(em_dtype dtype, uint32_t n) {
    static int16_t words[LENGTH];
    static uint8_t narrow[LENGTH];
    for (uint32_t i = 0; i < n; i++) {
        words[i] = (int16_t)code(dtype, i);
        narrow[i] = (uint8_t)code(dtype, i);
    }
    return (em_tap){dtype == EM_I16 ? (const void *)words : narrow, dtype, n};
}

/* The value that an op on `dtype` reads: the tap, or of i32 a copy of an i16 tap. */
static uint32_t add_input(em_dtype dtype, uint32_t n) {
    static uint32_t index[LENGTH];
    start(&b);
    add_tap(&b, dtype == EM_I32 ? EM_I16 : dtype, n);
    if (dtype != EM_I32) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        index[i] = i;
    }
    add_table(&b, EM_U32, n, index);
    return add_node(&b, GATHER, EM_I32, n, 0, NONE, 15);
}

/* One group of all positions (the table then has one entry), or groups of so many. */
static void reduce(em_dtype dtype, uint32_t positions) {
    const em_dtype tap = dtype == EM_I32 ? EM_I16 : dtype;
    const uint32_t x = add_input(dtype, CHANNELS * positions_of(dtype));
    const uint32_t groups = positions_of(dtype) / positions;
    add_table(&b, EM_U32, groups == 1 ? 1 : 2, (uint32_t[]){CHANNELS, positions});
    uint32_t width = 0;
    while (1u << width < positions) {
        width++;
    }
    const uint32_t node =
        add_node(&b, REDUCE, EM_I32, groups * CHANNELS, x, NONE, bits_of(tap) + width) - 1;
    const em_tap given = integer_tap(tap, CHANNELS * positions_of(dtype));
    EXPECT(run(&b, &given), EM_OK);
    for (uint32_t k = 0; k < groups * CHANNELS; k++) {
        const uint32_t g = k / CHANNELS, c = k % CHANNELS;
        int32_t sum = 0;
        for (uint32_t p = 0; p < positions; p++) {
            sum += code(tap, (g * positions + p) * CHANNELS + c);
        }
        EXPECT(i32(&b, node, k), sum);
    }
}

/* In half codes, rounded down. */
static void deviation(em_dtype dtype) {
    const em_dtype tap = dtype == EM_I32 ? EM_I16 : dtype;
    const uint32_t channels = CHANNELS, positions = positions_of(dtype);
    const uint32_t x = add_input(dtype, channels * positions);
    add_table(&b, EM_U32, 1, &channels);
    const uint32_t node = add_node(&b, DEVIATION, EM_I32, CHANNELS, x, NONE, bits_of(tap) + 1) - 1;
    const em_tap given = integer_tap(tap, channels * positions);
    EXPECT(run(&b, &given), EM_OK);
    for (uint32_t c = 0; c < CHANNELS; c++) {
        int64_t sum = 0, squares = 0, root = 0;
        for (uint32_t p = 0; p < positions; p++) {
            const int64_t v = code(tap, p * CHANNELS + c);
            sum += v;
            squares += v * v;
        }
        const int64_t quarters =
            4 * (positions * squares - sum * sum) / ((int64_t)positions * positions);
        while ((root + 1) * (root + 1) <= quarters) {
            root++;
        }
        EXPECT(i32(&b, node, c), root);
    }
}

/* Weights of 6 bits: with 15 bits of x, and 8 of as many terms, the sums have 30. */
static void affine(em_dtype dtype) {
    static int16_t weight[ROWS * INPUTS];
    const int32_t bias[ROWS] = {5, -(1 << 20), 1 << 20};
    const em_dtype tap = dtype == EM_I32 ? EM_I16 : dtype;
    for (uint32_t i = 0; i < ROWS * INPUTS; i++) {
        weight[i] = (int16_t)(i % 129 == 0 ? -64 : (int)(i * 11 % 127) - 63);
    }
    const uint32_t x = add_input(dtype, INPUTS);
    add_table(&b, EM_I16, ROWS * INPUTS, weight);
    add_table(&b, EM_I32, ROWS, bias);
    const uint32_t sums = bits_of(tap) + 6 + 8;
    const uint32_t node =
        add_node(&b, AFFINE, EM_I32, ROWS, x, NONE, (sums > 20 ? sums : 20) + 1) - 1;
    const em_tap given = integer_tap(tap, INPUTS);
    EXPECT(run(&b, &given), EM_OK);
    for (uint32_t k = 0; k < ROWS; k++) {
        int64_t sum = bias[k];
        for (uint32_t i = 0; i < INPUTS; i++) {
            sum += (int64_t)weight[k * INPUTS + i] * code(tap, i);
        }
        EXPECT(i32(&b, node, k), sum);
    }
}

static void floats_are_moved_as_they_are(void) {
    const float x[] = {-0.0f, 1.5f, LARGEST, 1e-45f}, y[] = {-2.0f, 0.0f};
    const uint32_t index[] = {3, 0, 2, 2};
    start(&b);
    add_tap(&b, EM_F32, 4);
    add_tap(&b, EM_F32, 2);
    add_table(&b, EM_U32, 4, index);
    add_node(&b, GATHER, EM_F32, 4, 0, NONE, 0);
    add_node(&b, CONCAT, EM_F32, 6, 0, 1, 0);
    EXPECT(run(&b, (em_tap[]){{x, EM_F32, 4}, {y, EM_F32, 2}}), EM_OK);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_F32(f32(&b, 0, i), x[index[i]]);
        EXPECT_F32(f32(&b, 1, i), x[i]);
    }
    EXPECT_F32(f32(&b, 1, 4), -2.0f);
    EXPECT_F32(f32(&b, 1, 5), 0.0f);
}

void test_dtypes(void) {
    static const em_dtype dtypes[] = {EM_I8, EM_U8, EM_I16, EM_I32};
    for (uint32_t i = 0; i < 4; i++) {
        reduce(dtypes[i], positions_of(dtypes[i]));
        reduce(dtypes[i], 20);
        reduce(dtypes[i], 1);
        deviation(dtypes[i]);
        affine(dtypes[i]);
    }
    floats_are_moved_as_they_are();
}
