/* The ops 15 to 26, and 29: by hand on good tables, and one bad file a rule. */
#include "bad_files.h"
#include "check.h"
#include "evaluated.h"

#include <string.h>

enum { CODES, REALS };
enum {
    N_GATHER,
    N_REDUCE,
    N_AFFINE,
    N_MAX,
    N_EXCEEDS,
    N_SELECT,
    N_CONCAT,
    N_AFFINE_F32,
    N_REDUCE_F32,
    N_TABLES,
    N_KERNELS,
    N_LOGSUMEXP,
    N_DISTANCES,
    N_EXCEEDS_F32,
    N_HAMMING,
    N_HAMMING_F32,
    N_HAMMING_NONE,
    N_CLIP,
    N_CLIP_F32,
    N_SQUARES,
    N_SQUARES_F32,
    N_GROUPED,
    N_GROUPED_F32
};
enum {
    T_INDEX,
    T_CHANNELS,
    T_WEIGHT,
    T_BIAS,
    T_THRESHOLD,
    T_WEIGHT_F32,
    T_BIAS_F32,
    T_CHANNELS_F32,
    T_ORIGIN,
    T_RATE,
    T_SHAPE,
    T_ENTRIES,
    T_KERNEL_SHAPE,
    T_CENTRES,
    T_SCALE,
    T_LOG_WEIGHT,
    T_GROUPS,
    T_CENTRES_F32,
    T_THRESHOLD_F32,
    T_BITS, /* of hamming: threshold, index, patterns, first */
    T_BITS_INDEX,
    T_PATTERNS,
    T_FIRST,
    T_BITS_F32,
    T_BITS_INDEX_F32,
    T_UPPER = T_BITS + 12,
    T_UPPER_F32,
    T_GROUPED
};

#define VALUE(node) (2u + (uint32_t)(node))

static const int8_t CODE[] = {-128, 5, 127, 0};
static const float REAL[] = {0.5f, -1.0f, 2.0f, 4.0f};

static builder b;

static void add_integer_nodes(void) {
    const uint32_t index[] = {3, 0}, channels[] = {2};
    const int16_t weight[] = {1, 2, 3, 4, -1, 0, 0, 1};
    const int32_t bias[] = {10, -20}, threshold[] = {126};
    add_table(&b, EM_U32, 2, index);
    add_node(&b, GATHER, EM_I32, 2, CODES, NONE, 7);
    add_table(&b, EM_U32, 1, channels);
    add_node(&b, REDUCE, EM_I32, 2, CODES, NONE, 8);
    add_table(&b, EM_I16, 8, weight);
    add_table(&b, EM_I32, 2, bias);
    add_node(&b, AFFINE, EM_I32, 2, CODES, NONE, 12);
    add_node(&b, MAX, EM_I32, 1, CODES, NONE, 7);
    add_table(&b, EM_I32, 1, threshold);
    add_node(&b, EXCEEDS, EM_I32, 1, VALUE(N_MAX), NONE, 0);
    add_node(&b, SELECT, EM_I32, 1, VALUE(N_AFFINE), VALUE(N_EXCEEDS), 12);
    add_node(&b, CONCAT, EM_I32, 6, CODES, VALUE(N_REDUCE), 8);
}

static void add_float_nodes(void) {
    const float weight[] = {1, 1, 1, 1, 2, 0, 0, -1}, bias[] = {0.5f, 1};
    const float origin[] = {0, 0}, rate[] = {1, 1}, scale[] = {0.5f};
    const uint32_t channels[] = {2}, shape[] = {2, 3}, kernels[] = {2, 2}, groups[] = {2};
    const int16_t entries[] = {1, 2, 3, 10, 20, 30, -1, -2, -3, 100, 200, 300};
    const int8_t centres[] = {12, 0, -4, 2};
    const float log_weight[] = {0, 1, 2, 3}, points[] = {0, 0, 0, 0, 1, 1, 1, 1};
    const float threshold[] = {1.5f};
    add_table(&b, EM_F32, 8, weight);
    add_table(&b, EM_F32, 2, bias);
    add_node(&b, AFFINE, EM_F32, 2, REALS, NONE, 0);
    add_table(&b, EM_U32, 1, channels);
    add_node(&b, REDUCE, EM_F32, 2, REALS, NONE, 0);
    add_table(&b, EM_F32, 2, origin);
    add_table(&b, EM_F32, 2, rate);
    add_table(&b, EM_U32, 2, shape);
    add_table(&b, EM_I16, 12, entries);
    add_node(&b, DENSITY_TABLES, EM_I32, 2, VALUE(N_AFFINE_F32), NONE, 10);
    add_table(&b, EM_U32, 2, kernels);
    add_table(&b, EM_I8, 4, centres);
    add_table(&b, EM_F32, 1, scale);
    add_table(&b, EM_F32, 4, log_weight);
    add_node(&b, KERNELS, EM_F32, 4, VALUE(N_AFFINE_F32), NONE, 0);
    add_table(&b, EM_U32, 1, groups);
    add_node(&b, LOGSUMEXP, EM_F32, 2, VALUE(N_KERNELS), NONE, 0);
    add_table(&b, EM_F32, 8, points);
    add_node(&b, DISTANCES, EM_F32, 2, REALS, NONE, 0);
    add_table(&b, EM_F32, 1, threshold);
    add_node(&b, EXCEEDS, EM_I32, 1, VALUE(N_DISTANCES), NONE, 0);
}

/* Class 0 has no pattern; then two bits a class, of elements of its own. */
static void add_hamming_nodes(void) {
    const int32_t threshold[] = {0, 0, 0, 0};
    const uint32_t patterns[] = {0xF, 0x7}, first[] = {0, 0, 2};
    const float threshold_f32[] = {0, 0, 0, 5};
    const uint32_t index[] = {0, 1, 1, 2}, patterns_f32[] = {0, 1}, first_f32[] = {0, 1, 2};
    for (uint32_t i = 0; i < 3; i++) {
        const int with_index = i == 1;
        add_table(&b, with_index ? EM_F32 : EM_I32, 4,
                  with_index ? (const void *)threshold_f32 : threshold);
        add_table(&b, EM_U32, with_index ? 4 : 0, index);
        add_table(&b, EM_U32, 2, with_index ? patterns_f32 : patterns);
        add_table(&b, EM_U32, 3, with_index ? first_f32 : first);
        add_node(&b, HAMMING, EM_I32, 1, with_index ? REALS : CODES,
                 VALUE(i == 2 ? N_EXCEEDS_F32 : N_EXCEEDS), with_index ? 2 : 3);
    }
}

static void add_clip_nodes(void) {
    const int32_t upper[] = {4};
    const float upper_f32[] = {1.5f};
    add_table(&b, EM_I32, 1, upper);
    add_node(&b, CLIP, EM_I32, 4, CODES, NONE, 7);
    add_table(&b, EM_F32, 1, upper_f32);
    add_node(&b, CLIP, EM_F32, 4, REALS, NONE, 0);
}

static void add_squared_error_nodes(void) {
    add_node(&b, SQUARED_ERROR, EM_I64, 1, CODES, VALUE(N_CLIP), 18);
    add_node(&b, SQUARED_ERROR, EM_F32, 1, REALS, VALUE(N_CLIP_F32), 0);
}

/* One channel, two groups of two positions. */
static void add_grouped_nodes(void) {
    const uint32_t channels[] = {1, 2};
    add_table(&b, EM_U32, 2, channels);
    add_node(&b, REDUCE, EM_I32, 2, CODES, NONE, 8);
    add_table(&b, EM_U32, 2, channels);
    add_node(&b, REDUCE, EM_F32, 2, REALS, NONE, 0);
}

/* One node wants one number and gets two: set it right here, or leave it as a bad file. */
static void make(artifact *a) {
    start(&b);
    add_tap(&b, EM_I8, 4);
    add_tap(&b, EM_F32, 4);
    add_integer_nodes();
    add_float_nodes();
    add_hamming_nodes();
    add_clip_nodes();
    add_squared_error_nodes();
    add_grouped_nodes();
    add_monitor(&b, VALUE(N_SELECT), (em_number){.i = 100}, (em_number){.i = 100});
    finish(&b, VALUE(N_EXCEEDS), a);
    set32(FIELD(NODES, N_EXCEEDS_F32, 8), VALUE(N_MAX));
    set16(FIELD(TABLES, T_THRESHOLD_F32, 0), EM_I32);
    fix_crc(a);
}

static em_status run_on(const artifact *a, const float *real) {
    const em_tap taps[] = {{CODE, EM_I8, 4}, {real, EM_F32, 4}};
    return run_file(a, taps, 2);
}

static void results_by_hand(void) {
    static artifact a;
    make(&a);
    EXPECT(run_on(&a, REAL), EM_OK);
    EXPECT(i32(&b, N_GATHER, 0), 0);
    EXPECT(i32(&b, N_GATHER, 1), -128);
    EXPECT(i32(&b, N_REDUCE, 0), -1);
    EXPECT(i32(&b, N_REDUCE, 1), 5);
    EXPECT(i32(&b, N_AFFINE, 0), 273);
    EXPECT(i32(&b, N_AFFINE, 1), 108);
    EXPECT(i32(&b, N_EXCEEDS, 0), 1);
    EXPECT(i32(&b, N_SELECT, 0), 108);
    EXPECT(i32(&b, N_CONCAT, 0), -128);
    EXPECT(i32(&b, N_CONCAT, 3), 0);
    EXPECT(i32(&b, N_CONCAT, 5), 5);
    EXPECT_F32(f32(&b, N_AFFINE_F32, 0), 6.0f);
    EXPECT_F32(f32(&b, N_AFFINE_F32, 1), -2.0f);
    EXPECT_F32(f32(&b, N_REDUCE_F32, 0), 1.25f);
    EXPECT_F32(f32(&b, N_REDUCE_F32, 1), 1.5f);
    EXPECT(i32(&b, N_TABLES, 0), 3 + 10);
    EXPECT(i32(&b, N_TABLES, 1), -3 + 100);
    EXPECT_F32(f32(&b, N_KERNELS, 0), 0.0f);
    EXPECT_F32(f32(&b, N_KERNELS, 1), -17.0f);
    EXPECT_F32(f32(&b, N_KERNELS, 2), 2.0f);
    EXPECT_F32(f32(&b, N_KERNELS, 3), -1.5f);
    EXPECT_F32(f32(&b, N_LOGSUMEXP, 0), 0.0f);
    EXPECT((int)(f32(&b, N_LOGSUMEXP, 1) * 10000), 20297); /* 2 + ln(1 + e^-3.5) */
    EXPECT_F32(f32(&b, N_DISTANCES, 0), 21.25f);
    EXPECT_F32(f32(&b, N_DISTANCES, 1), 14.25f);
    EXPECT(i32(&b, N_EXCEEDS_F32, 0), 0);
    EXPECT(i32(&b, N_HAMMING, 0), 1);
    EXPECT(i32(&b, N_HAMMING_F32, 0), 2);
    EXPECT(i32(&b, N_HAMMING_NONE, 0), 5);
    EXPECT(i32(&b, N_CLIP, 0), -128);
    EXPECT(i32(&b, N_CLIP, 1), 4);
    EXPECT(i32(&b, N_CLIP, 2), 4);
    EXPECT_F32(f32(&b, N_CLIP_F32, 0), 0.5f);
    EXPECT_F32(f32(&b, N_CLIP_F32, 3), 1.5f);
    EXPECT(i64(&b, N_SQUARES, 0), 15130);
    EXPECT_F32(f32(&b, N_SQUARES_F32, 0), 6.5f);
    EXPECT(i32(&b, N_GROUPED, 0), -123);
    EXPECT(i32(&b, N_GROUPED, 1), 127);
    EXPECT_F32(f32(&b, N_GROUPED_F32, 0), -0.25f);
    EXPECT_F32(f32(&b, N_GROUPED_F32, 1), 3.0f);
    EXPECT(result.predicted_class, 1);
    EXPECT(result.verdict, EM_ALARM);
}

/* Patterns of several words, up to the longest and one bit beyond it. */
static em_status run_long_pattern(uint32_t bits) {
    static const int32_t threshold[2049];
    static uint32_t patterns[2 * 65];
    static int8_t x[2049];
    static artifact a;
    const uint32_t first[] = {0, 0, 2}, words = (bits + 31) / 32;
    const int32_t never[] = {-1};
    for (uint32_t i = 0; i < bits; i++) {
        x[i] = 1;
    }
    memset(patterns, 0, sizeof patterns);
    patterns[words - 2] = 0xFFFFFFFF;
    patterns[words - 1] = 1;
    start(&b);
    add_tap(&b, EM_I8, bits);
    add_node(&b, MAX, EM_I32, 1, 0, NONE, 7);
    add_table(&b, EM_I32, 1, never);
    add_node(&b, EXCEEDS, EM_I32, 1, 1, NONE, 0);
    add_table(&b, EM_I32, bits, threshold);
    add_table(&b, EM_U32, 0, threshold);
    add_table(&b, EM_U32, 2 * words, patterns);
    add_table(&b, EM_U32, 3, first);
    add_node(&b, HAMMING, EM_I32, 1, 0, 2, bits < 2048 ? 11 : 12);
    add_monitor(&b, 3, (em_number){.i = 9}, (em_number){.i = 9});
    finish(&b, 2, &a);
    const em_tap tap = {x, EM_I8, bits};
    return run_file(&a, &tap, 1);
}

static void long_patterns(void) {
    EXPECT(run_long_pattern(2047), EM_OK);
    EXPECT(result.scores[0].i, 2047 - 33);
    EXPECT(run_long_pattern(2048), EM_OK);
    EXPECT(result.scores[0].i, 2048 - 33);
    EXPECT(run_long_pattern(2049), EM_E_TABLE);
}

/* A finite input whose weighted sum is infinite: a fault of every monitor, not a NaN somewhere. */
static void overflow_is_a_fault(void) {
    static artifact a;
    const float huge[] = {3e38f, 3e38f, 3e38f, -3e38f};
    make(&a);
    EXPECT(run_on(&a, huge), EM_E_SCORE);
    EXPECT(result.verdict, EM_FAULT);
    EXPECT(result.verdicts[0], EM_FAULT);
    EXPECT(result.scores[0].i, 0);
    EXPECT(result.predicted_class, 1);
    EXPECT_F32(f32(&b, N_AFFINE_F32, 0), 0.0f);
    EXPECT_F32(f32(&b, N_DISTANCES, 0), 0.0f);
}

static void unaligned_tap_is_a_fault(void) {
    static artifact a;
    static uint64_t room[3];
    make(&a);
    EXPECT(run_on(&a, (const float *)(const void *)((const uint8_t *)room + 1)), EM_E_ALIGN);
    EXPECT(result.verdict, EM_FAULT);
}

#define CASES(X)                                                                                   \
    X(GATHER_INDEX_BEYOND, EM_E_VALUE, set32(CONTENT(T_INDEX, 0), 4))                              \
    X(GATHER_INDEX_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_INDEX, 0), EM_I32))                    \
    X(GATHER_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_GATHER, 4), 1))                               \
    X(GATHER_BITS, EM_E_BITS, set16(FIELD(NODES, N_GATHER, 22), 6))                                \
    X(REDUCE_CHANNELS_0, EM_E_TABLE, set32(CONTENT(T_CHANNELS, 0), 0))                             \
    X(REDUCE_CHANNELS_3, EM_E_TABLE, set32(CONTENT(T_CHANNELS, 0), 3))                             \
    X(REDUCE_CHANNELS_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_CHANNELS, 0), EM_F32))              \
    X(REDUCE_BITS, EM_E_BITS, set16(FIELD(NODES, N_REDUCE, 22), 7))                                \
    X(GROUPED_CHANNELS_0, EM_E_TABLE, set32(CONTENT(T_GROUPED, 0), 0))                             \
    X(GROUPED_POSITIONS_0, EM_E_TABLE, set32(CONTENT(T_GROUPED, 4), 0))                            \
    X(GROUPED_POSITIONS_3, EM_E_TABLE, set32(CONTENT(T_GROUPED, 4), 3))                            \
    X(GROUPED_POSITIONS_5, EM_E_TABLE, set32(CONTENT(T_GROUPED, 4), 5))                            \
    X(GROUPED_BEYOND_32_BITS, EM_E_TABLE, set32(CONTENT(T_GROUPED, 0), 2),                         \
      set32(CONTENT(T_GROUPED, 4), 0x80000001))                                                    \
    X(GROUPED_COUNT, EM_E_TABLE, set32(FIELD(TABLES, T_GROUPED, 8), 3))                            \
    X(GROUPED_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_GROUPED, 0), EM_I32))                       \
    X(GROUPED_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_GROUPED, 4), 1))                             \
    X(GROUPED_BITS, EM_E_BITS, set16(FIELD(NODES, N_GROUPED, 22), 9))                              \
    X(AFFINE_WEIGHT_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_WEIGHT_F32, 0), EM_I32))              \
    X(AFFINE_BIAS_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_BIAS, 0), EM_F32))                      \
    X(AFFINE_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_AFFINE, 4), 1))                               \
    X(AFFINE_BITS, EM_E_BITS, set16(FIELD(NODES, N_AFFINE, 22), 11))                               \
    X(AFFINE_BIAS_OVERFLOW, EM_E_BITS, set32(CONTENT(T_BIAS, 0), 0x7FFFFFFF),                      \
      set16(FIELD(NODES, N_AFFINE, 22), 32))                                                       \
    X(AFFINE_BIAS_LOWEST, EM_E_BITS, set32(CONTENT(T_BIAS, 0), 0x80000000))                        \
    X(AFFINE_WEIGHT_LOWEST, EM_E_BITS, set16(CONTENT(T_WEIGHT, 0), 0x8000))                        \
    X(AFFINE_WEIGHT_NAN, EM_E_VALUE, set32(CONTENT(T_WEIGHT_F32, 4), F32_NAN))                     \
    X(AFFINE_BIAS_INFINITE, EM_E_VALUE, set32(CONTENT(T_BIAS_F32, 0), F32_INF))                    \
    X(EXCEEDS_TWO_NUMBERS, EM_E_NODE, set32(FIELD(NODES, N_EXCEEDS_F32, 8), VALUE(N_DISTANCES)))   \
    X(EXCEEDS_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_THRESHOLD, 0), EM_F32))                     \
    X(EXCEEDS_BITS, EM_E_BITS, set16(FIELD(NODES, N_EXCEEDS, 22), 1))                              \
    X(SELECT_BY_NO_CLASS, EM_E_NODE, set32(FIELD(NODES, N_SELECT, 12), VALUE(N_MAX)))              \
    X(SELECT_OF_CODES, EM_E_NODE, set32(FIELD(NODES, N_SELECT, 8), CODES))                         \
    X(SELECT_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_SELECT, 4), 2))                               \
    X(CONCAT_OF_KINDS, EM_E_NODE, set32(FIELD(NODES, N_CONCAT, 12), REALS))                        \
    X(CONCAT_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_CONCAT, 4), 5))                               \
    X(CONCAT_BITS, EM_E_BITS, set16(FIELD(NODES, N_CONCAT, 22), 7))                                \
    X(TABLES_OF_INTEGERS, EM_E_NODE, set32(FIELD(NODES, N_TABLES, 8), VALUE(N_AFFINE)))            \
    X(TABLES_ORIGIN_NAN, EM_E_VALUE, set32(CONTENT(T_ORIGIN, 0), F32_NAN))                         \
    X(TABLES_RATE_0, EM_E_VALUE, set32(CONTENT(T_RATE, 4), 0))                                     \
    X(TABLES_RATE_INFINITE, EM_E_VALUE, set32(CONTENT(T_RATE, 0), F32_INF))                        \
    X(TABLES_NO_CLASS, EM_E_TABLE, set32(CONTENT(T_SHAPE, 0), 0))                                  \
    X(TABLES_NO_BIN, EM_E_TABLE, set32(CONTENT(T_SHAPE, 4), 0))                                    \
    X(TABLES_CLASS_MORE, EM_E_TABLE, set32(CONTENT(T_SHAPE, 0), 3))                                \
    X(TABLES_WRAPPING_SHAPE, EM_E_TABLE, set32(CONTENT(T_SHAPE, 0), 0x80000002))                   \
    X(TABLES_ENTRY_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_ENTRIES, 0), EM_I8))                   \
    X(TABLES_BITS, EM_E_BITS, set16(CONTENT(T_ENTRIES, 0), 1000))                                  \
    X(TABLES_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_TABLES, 4), 3))                               \
    X(KERNELS_NO_CLASS, EM_E_TABLE, set32(CONTENT(T_KERNEL_SHAPE, 0), 0))                          \
    X(KERNELS_NO_KERNEL, EM_E_TABLE, set32(CONTENT(T_KERNEL_SHAPE, 4), 0))                         \
    X(KERNELS_CLASSES_3, EM_E_TABLE, set32(CONTENT(T_KERNEL_SHAPE, 0), 3))                         \
    X(KERNELS_WRAPPING_SHAPE, EM_E_TABLE, set32(CONTENT(T_KERNEL_SHAPE, 4), 0x80000002))           \
    X(KERNELS_CENTRE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_CENTRES, 0), EM_U8))                 \
    X(KERNELS_SCALE_0, EM_E_VALUE, set32(CONTENT(T_SCALE, 0), 0))                                  \
    X(KERNELS_WEIGHT_NAN, EM_E_VALUE, set32(CONTENT(T_LOG_WEIGHT, 4), F32_NAN))                    \
    X(KERNELS_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_KERNELS, 4), 2))                             \
    X(LOGSUMEXP_GROUPS_0, EM_E_TABLE, set32(CONTENT(T_GROUPS, 0), 0))                              \
    X(LOGSUMEXP_GROUPS_3, EM_E_TABLE, set32(CONTENT(T_GROUPS, 0), 3))                              \
    X(LOGSUMEXP_OF_INTEGERS, EM_E_NODE, set32(FIELD(NODES, N_LOGSUMEXP, 8), VALUE(N_AFFINE)))      \
    X(DISTANCES_HALF_A_CENTRE, EM_E_TABLE, memset(CONTENT(T_CENTRES_F32, 24), 0, 8),               \
      set32(FIELD(TABLES, T_CENTRES_F32, 8), 6))                                                   \
    X(DISTANCES_NAN, EM_E_VALUE, set32(CONTENT(T_CENTRES_F32, 8), F32_NAN))                        \
    X(DISTANCES_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_DISTANCES, 4), 1))                         \
    X(HAMMING_BY_NO_CLASS, EM_E_NODE, set32(FIELD(NODES, N_HAMMING, 12), VALUE(N_MAX)))            \
    X(HAMMING_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_HAMMING, 4), 2))                             \
    X(HAMMING_BITS, EM_E_BITS, set16(FIELD(NODES, N_HAMMING, 22), 2))                              \
    X(HAMMING_THRESHOLD_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_BITS, 0), EM_F32))                \
    X(HAMMING_THRESHOLD_NAN, EM_E_VALUE, set32(CONTENT(T_BITS_F32, 12), F32_NAN))                  \
    X(HAMMING_INDEX_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_BITS_INDEX, 0), EM_I32))              \
    X(HAMMING_INDEX_BEYOND, EM_E_VALUE, set32(CONTENT(T_BITS_INDEX_F32, 12), 4))                   \
    X(HAMMING_INDEX_UNSHARED, EM_E_TABLE, set32(CONTENT(T_BITS_INDEX_F32, 12), 0),                 \
      set32(FIELD(TABLES, T_BITS_INDEX_F32, 8), 3))                                                \
    X(HAMMING_INDEX_FOR_ONE, EM_E_TABLE, memset(CONTENT(T_BITS_INDEX_F32, 0), 0, 16),              \
      set32(FIELD(TABLES, T_BITS_INDEX_F32, 8), 1))                                                \
    X(HAMMING_PATTERN_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_PATTERNS, 0), EM_I32))              \
    X(HAMMING_PADDING, EM_E_VALUE, set32(CONTENT(T_PATTERNS, 4), 0x17))                            \
    X(HAMMING_FIRST_STARTS_AT_1, EM_E_VALUE, set32(CONTENT(T_FIRST, 0), 1))                        \
    X(HAMMING_FIRST_FALLS, EM_E_VALUE, set32(CONTENT(T_FIRST, 4), 3))                              \
    X(HAMMING_FIRST_ENDS_EARLY, EM_E_VALUE, set32(CONTENT(T_FIRST, 8), 1))                         \
    X(HAMMING_FIRST_COUNT, EM_E_TABLE, set32(CONTENT(T_FIRST, 8), 0),                              \
      set32(FIELD(TABLES, T_FIRST, 8), 2))                                                         \
    X(CLIP_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_CLIP, 4), 3))                                   \
    X(CLIP_BITS, EM_E_BITS, set32(CONTENT(T_UPPER, 0), 0xFFFFFF00))                                \
    X(CLIP_UPPER_LOWEST, EM_E_BITS, set32(CONTENT(T_UPPER, 0), 0x80000000),                        \
      set16(FIELD(NODES, N_CLIP, 22), 31))                                                         \
    X(CLIP_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_UPPER, 0), EM_F32))                            \
    X(CLIP_NAN, EM_E_VALUE, set32(CONTENT(T_UPPER_F32, 0), F32_NAN))                               \
    X(SQUARES_BITS, EM_E_BITS, set16(FIELD(NODES, N_SQUARES, 22), 17))                             \
    X(SQUARES_DTYPE, EM_E_NODE, set16(FIELD(NODES, N_SQUARES, 2), EM_I32))                         \
    X(SQUARES_OF_TWO_LENGTHS, EM_E_NODE, set32(FIELD(NODES, N_SQUARES, 12), VALUE(N_GATHER)))      \
    X(SQUARES_OF_INTEGERS_AND_FLOATS, EM_E_NODE, set32(FIELD(NODES, N_SQUARES, 12), REALS))        \
    X(SQUARES_OF_FLOATS_AND_INTEGERS, EM_E_NODE, set32(FIELD(NODES, N_SQUARES_F32, 12), CODES))    \
    X(TABLES_ORIGIN_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_ORIGIN, 0), EM_I32))                  \
    X(TABLES_RATE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_RATE, 0), EM_I32))                      \
    X(TABLES_SHAPE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_SHAPE, 0), EM_I32))                    \
    X(TABLES_BINS_65537, EM_E_TABLE, set32(CONTENT(T_SHAPE, 4), 65537))                            \
    X(TABLES_BINS_5, EM_E_TABLE, set32(CONTENT(T_SHAPE, 4), 5))                                    \
    X(KERNELS_SHAPE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_KERNEL_SHAPE, 0), EM_I32))            \
    X(KERNELS_SCALE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_SCALE, 0), EM_I32))                   \
    X(KERNELS_WEIGHT_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_LOG_WEIGHT, 0), EM_I32))             \
    X(DISTANCES_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_CENTRES_F32, 0), EM_I32))                 \
    X(TABLE_BEHIND_THE_END, EM_E_TABLE, set32(FIELD(TABLES, T_UPPER, 8), 5),                       \
      set32(FIELD(TABLES, T_UPPER_F32, 4), get32(FIELD(TABLES, T_UPPER_F32, 4)) + 16))             \
    X(PREDICTED_IS_NO_CLASS, EM_E_NODE, set32(FIELD(PROGRAM, 0, 16), VALUE(N_MAX)))

CASES(DEFINE_CASE)

static const bad_file BAD_FILES[] = {CASES(LIST_CASE)};

void test_dense(void) {
    results_by_hand();
    overflow_is_a_fault();
    unaligned_tap_is_a_fault();
    long_patterns();
    expect_refused(BAD_FILES, sizeof BAD_FILES / sizeof *BAD_FILES, make);
}
