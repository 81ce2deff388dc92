/* One bad file a rule of FORMAT.md: each breaks exactly one thing, under a correct checksum. */
#include "bad_files.h"
#include "check.h"
#include "sample.h"

#include <string.h>

/* Byte `offset` of the expected results of self-test vector i, which has 48 bytes of taps. */
#define EXPECTED(i, offset) (FIELD(SELF_TEST, 0, 16) + 112 * (i) + 48 + (offset))

static double not_a_number(void) {
    const uint64_t bits = 0x7FF8000000000000u;
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static double infinite(void) {
    const uint64_t bits = 0x7FF0000000000000u;
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

/* The sample again, with a first name of `length` characters. */
static void lengthen_names(artifact *a, uint32_t length) {
    static builder b;
    start_sample(&b);
    b.strings.size = 0;
    for (uint32_t i = 0; i < length; i++) {
        append(&b.strings, "n", 1);
    }
    append(&b.strings, "", 1);
    finish(&b, VALUE(N_ARGMAX), a);
}

/* ---- what breaks the sample, and the status that must come of it ---------------------------- */

/* The sample again, with a self-test section of 8 bytes. */
static void shorten_self_test(artifact *a) {
    static builder b;
    start_sample(&b);
    append(&b.self_test, "\1\0\0\0\0\0\0\0", 8);
    finish(&b, VALUE(N_ARGMAX), a);
}

/* The sample again, with a section of accuracy of 8 bytes. */
static void shorten_accuracy(artifact *a) {
    static builder b;
    start_sample(&b);
    append(&b.accuracy, "\1\0\0\0\0\0\0\0", 8);
    finish(&b, VALUE(N_ARGMAX), a);
}

/* The sample again, with a drift section of 8 bytes. */
static void shorten_drift(artifact *a) {
    static builder b;
    start_sample(&b);
    append(&b.drift, "\1\0\0\0\0\0\0\0", 8);
    finish(&b, VALUE(N_ARGMAX), a);
}

#define HEADER_CASES(X)                                                                            \
    X(H1_BAD_MAGIC, EM_E_MAGIC, set8(HEADER(0), 0x0E))                                             \
    X(H1_TEXT_MODE_COPY, EM_E_MAGIC, set8(HEADER(5), 0x0A))                                        \
    X(H2_MAJOR_0, EM_E_VERSION, set16(HEADER(8), 0))                                               \
    X(H2_MAJOR_2, EM_E_VERSION, set16(HEADER(8), 2))                                               \
    X(H3_BIG_ENDIAN, EM_E_ENDIAN, set32(HEADER(12), 0x04030201))                                   \
    X(H4_SIZE_TOO_LARGE, EM_E_SIZE, set32(HEADER(16), a->size + 16))                               \
    X(H4_SIZE_TOO_SMALL, EM_E_SIZE, set32(HEADER(16), a->size - 16))                               \
    X(H4_SIZE_HUGE, EM_E_SIZE, set32(HEADER(16), 0xFFFFFFF0))                                      \
    X(H4_SIZE_UNALIGNED, EM_E_SIZE, a->size += 8; set32(HEADER(16), a->size))                      \
    X(H5_NO_SECTIONS, EM_E_COUNT, set32(HEADER(20), 0))                                            \
    X(H5_33_SECTIONS, EM_E_COUNT, set32(HEADER(20), 33))                                           \
    X(H6_RESERVED, EM_E_RESERVED, set32(HEADER(24), 1))                                            \
    X(H7_WRONG_CRC, EM_E_CRC, set8(HEADER(28), HEADER(28)[0] ^ 1u))                                \
    X(S1_DUPLICATE_SECTION, EM_E_SECTION, set32(SECTION(TAPS, 0), PROGRAM))                        \
    X(S1_UNSORTED_SECTIONS, EM_E_SECTION, set32(SECTION(PROGRAM, 0), NODES))                       \
    X(S2_UNKNOWN_CRITICAL, EM_E_UNKNOWN, set32(SECTION(DATA, 0), 9))                               \
    X(S2_UNKNOWN_CRITICAL_0, EM_E_UNKNOWN, set32(SECTION(PROGRAM, 0), 0))                          \
    X(S3_FIRST_MISPLACED, EM_E_SECTION, set32(SECTION(PROGRAM, 4), 64))                            \
    X(S3_GAP, EM_E_SECTION, set32(SECTION(NODES, 4), get32(SECTION(NODES, 4)) + 16))               \
    X(S3_OVERLAP, EM_E_SECTION, set32(SECTION(NODES, 4), get32(SECTION(NODES, 4)) - 16))           \
    X(S3_SIZE_OVERFLOW, EM_E_SECTION, set32(SECTION(META, 8), 0xFFFFFFFF))                         \
    X(S3_BEYOND_FILE, EM_E_SECTION, set32(SECTION(ACCURACY, 8), 65))                               \
    X(S3_TRAILING_BYTES, EM_E_SECTION, a->size += 16; set32(HEADER(16), a->size))                  \
    X(S3_TABLE_BEYOND_FILE, EM_E_SECTION, a->size = 64; set32(HEADER(16), 64))                     \
    X(S4_PADDING, EM_E_RESERVED, set8(FIELD(STRINGS, 0, 13), 1))                                   \
    X(S4_PADDING_AT_END, EM_E_RESERVED, set8(HEADER(a->size - 1), 1))                              \
    X(S5_RESERVED, EM_E_RESERVED, set32(SECTION(MONITORS, 12), 1))                                 \
    X(S6_MISSING_SECTION, EM_E_SECTION, set32(SECTION(DATA, 0), 0x80000000))

#define PROGRAM_CASES(X)                                                                           \
    X(P_SECTION_SIZE, EM_E_SECTION, set32(SECTION(PROGRAM, 8), 31))                                \
    X(P1_NO_TAPS, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 0), 0))                                      \
    X(P1_33_TAPS, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 0), 33))                                     \
    X(P1_TAPS_SIZE, EM_E_SECTION, set32(FIELD(PROGRAM, 0, 0), 2))                                  \
    X(P2_NO_NODES, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 4), 0))                                     \
    X(P2_1025_NODES, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 4), 1025))                                \
    X(P2_NODES_SIZE, EM_E_SECTION, set32(FIELD(PROGRAM, 0, 4), N_NODES + 1))                       \
    X(P3_4097_TABLES, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 8), 4097))                               \
    X(P3_TABLES_SIZE, EM_E_SECTION, set32(FIELD(PROGRAM, 0, 8), N_TABLES - 1))                     \
    X(P4_NO_MONITORS, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 12), 0))                                 \
    X(P4_33_MONITORS, EM_E_COUNT, set32(FIELD(PROGRAM, 0, 12), 33))                                \
    X(P4_MONITORS_SIZE, EM_E_SECTION, set32(FIELD(PROGRAM, 0, 12), 4))                             \
    X(P5_PREDICTED_IS_TAP, EM_E_NODE, set32(FIELD(PROGRAM, 0, 16), LOGITS))                        \
    X(P5_PREDICTED_IS_MAX, EM_E_NODE, set32(FIELD(PROGRAM, 0, 16), VALUE(N_MAX)))                  \
    X(P5_PREDICTED_BEYOND, EM_E_NODE, set32(FIELD(PROGRAM, 0, 16), VALUE(N_NODES)))                \
    X(P5_PREDICTED_NONE, EM_E_NODE, set32(FIELD(PROGRAM, 0, 16), NONE))                            \
    X(P6_WORKSPACE_TOO_SMALL, EM_E_NODE, set32(FIELD(PROGRAM, 0, 20), 8))                          \
    X(P6_WORKSPACE_TOO_LARGE, EM_E_NODE, set32(FIELD(PROGRAM, 0, 20), 0xFFFFFFF8))                 \
    X(P7_RESERVED, EM_E_RESERVED, set32(FIELD(PROGRAM, 0, 24), 1))                                 \
    X(P7_RESERVED_2, EM_E_RESERVED, set32(FIELD(PROGRAM, 0, 28), 1))

#define TAP_CASES(X)                                                                               \
    X(T1_NAME_BEYOND, EM_E_STRING, set32(FIELD(TAPS, 1, 0), 12))                                   \
    X(T2_DTYPE_I32, EM_E_TAP, set16(FIELD(TAPS, 1, 4), EM_I32))                                    \
    X(T2_DTYPE_0, EM_E_TAP, set16(FIELD(TAPS, 1, 4), 0))                                           \
    X(T3_VIEW_4, EM_E_TAP, set16(FIELD(TAPS, 1, 6), 4))                                            \
    X(T3_VIEW_HIGH_BYTE, EM_E_TAP, set16(FIELD(TAPS, 1, 6), 0x0100))                               \
    X(T4_LENGTH_0, EM_E_TAP, set32(FIELD(TAPS, 1, 8), 0))                                          \
    X(T4_LENGTH_TOO_LARGE, EM_E_TAP, set32(FIELD(TAPS, 1, 8), (1u << 20) + 1))                     \
    X(T5_ZERO_POINT_I8, EM_E_TAP, set32(FIELD(TAPS, LOGITS, 12), 128))                             \
    X(T5_ZERO_POINT_U8, EM_E_TAP, set32(FIELD(TAPS, PIXELS, 12), 0xFFFFFFFF))                      \
    X(T5_ZERO_POINT_F32, EM_E_TAP, set32(FIELD(TAPS, FEATURES, 12), 1))                            \
    X(T6_SCALE_0, EM_E_TAP, set_f64(FIELD(TAPS, LOGITS, 16), 0.0))                                 \
    X(T6_SCALE_NEGATIVE, EM_E_TAP, set_f64(FIELD(TAPS, LOGITS, 16), -1.0))                         \
    X(T6_SCALE_NAN, EM_E_TAP, set_f64(FIELD(TAPS, LOGITS, 16), not_a_number()))                    \
    X(T6_SCALE_INFINITE, EM_E_TAP, set_f64(FIELD(TAPS, LOGITS, 16), infinite()))                   \
    X(T6_SCALE_OF_F32, EM_E_TAP, set_f64(FIELD(TAPS, FEATURES, 16), 2.0))                          \
    X(T7_RESERVED, EM_E_RESERVED, set32(FIELD(TAPS, 2, 24), 1))                                    \
    X(T7_RESERVED_2, EM_E_RESERVED, set32(FIELD(TAPS, 2, 28), 1))

#define NODE_CASES(X)                                                                              \
    X(N1_OP_0, EM_E_NODE, set16(FIELD(NODES, N_MAX, 0), 0))                                        \
    X(N1_OP_UNKNOWN, EM_E_NODE, set16(FIELD(NODES, N_MAX, 0), OPS))                                \
    X(N2_DTYPE, EM_E_NODE, set16(FIELD(NODES, N_MAX, 2), EM_F32))                                  \
    X(N2_DTYPE_UNKNOWN, EM_E_NODE, set16(FIELD(NODES, N_MAX, 2), 77))                              \
    X(N3_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_SUB, 4), 3))                                      \
    X(N4_INPUT_IS_ITSELF, EM_E_NODE, set32(FIELD(NODES, N_LUT, 8), VALUE(N_LUT)))                  \
    X(N4_INPUT_IS_LATER, EM_E_NODE, set32(FIELD(NODES, N_LUT, 8), VALUE(N_NODES)))                 \
    X(N4_INPUT_NONE, EM_E_NODE, set32(FIELD(NODES, N_LUT, 8), NONE))                               \
    X(N5_INPUT_IS_ITSELF, EM_E_NODE, set32(FIELD(NODES, N_SUB, 12), VALUE(N_SUB)))                 \
    X(N5_INPUT_MISSING, EM_E_NODE, set32(FIELD(NODES, N_SUB, 12), NONE))                           \
    X(N5_INPUT_UNWANTED, EM_E_NODE, set32(FIELD(NODES, N_LUT, 12), 0))                             \
    X(N6_TABLE_MISSING, EM_E_NODE, set32(FIELD(NODES, N_LUT, 16), NONE))                           \
    X(N6_TABLE_UNWANTED, EM_E_NODE, set32(FIELD(NODES, N_MAX, 16), 0))                             \
    X(N6_TABLES_BEYOND, EM_E_NODE, set32(FIELD(NODES, N_LUT, 16), N_TABLES - 1))                   \
    X(N6_TABLES_OVERFLOW, EM_E_NODE, set32(FIELD(NODES, N_LUT, 16), 0xFFFFFFFE))                   \
    X(N7_TABLE_COUNT, EM_E_NODE, set16(FIELD(NODES, N_LUT, 20), 1))                                \
    X(N7_TABLES_OF_NONE, EM_E_NODE, set16(FIELD(NODES, N_MAX, 20), 1))                             \
    X(N8_WRONG_BITS, EM_E_BITS, set16(FIELD(NODES, N_SUB, 22), 7))                                 \
    X(N8_GENEROUS_BITS, EM_E_BITS, set16(FIELD(NODES, N_SUB, 22), 9))                              \
    X(N8_BITS_OF_FLOAT, EM_E_BITS, set16(FIELD(NODES, N_EXP, 22), 1))                              \
    X(N8_BITS_OF_LUT, EM_E_BITS, set32(CONTENT(T_ENTRIES, 4), 5))                                  \
    X(N8_BITS_OF_LUT_MIN, EM_E_BITS, set32(CONTENT(T_ENTRIES, 4), 0x80000000))                     \
    X(N8_BITS_OF_TREES, EM_E_BITS, set32(CONTENT(T_VALUES, 4), 0xFFFFFFF7))                        \
    X(N9_OFFSET, EM_E_NODE, set32(FIELD(NODES, N_LUT, 24), 0))                                     \
    X(N9_OFFSET_BEYOND, EM_E_NODE, set32(FIELD(NODES, N_LUT, 24), 0xFFFFFFF8))                     \
    X(N10_RESERVED, EM_E_RESERVED, set32(FIELD(NODES, N_LUT, 28), 1))

#define OP_CASES(X)                                                                                \
    X(ARGMAX_OF_I64, EM_E_NODE, set16(FIELD(NODES, N_TO_F32, 0), ARGMAX))                          \
    X(MAX_OF_I64, EM_E_NODE, set16(FIELD(NODES, N_TO_F32, 0), MAX))                                \
    X(SUB_OF_INT_AND_FLOAT, EM_E_NODE, set32(FIELD(NODES, N_SUB, 8), FEATURES))                    \
    X(SUB_OF_VECTORS, EM_E_NODE, set32(FIELD(NODES, N_SUB, 12), LOGITS))                           \
    X(LUT_OF_TAP, EM_E_NODE, set32(FIELD(NODES, N_LUT, 8), LOGITS))                                \
    X(LUT_ENTRIES_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_ENTRIES, 0), EM_U32))                   \
    X(LUT_TWO_BASES, EM_E_TABLE, set32(FIELD(TABLES, T_BASE, 8), 2))                               \
    X(LUT_BASE_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_BASE, 0), EM_F32))                         \
    X(SUM_OF_TAP, EM_E_NODE, set32(FIELD(NODES, N_SUM, 8), LOGITS))                                \
    X(TO_F32_LENGTH, EM_E_NODE, set32(FIELD(NODES, N_TO_F32, 4), 2))                               \
    X(TO_F32_OF_FLOAT_WITH_ZERO, EM_E_VALUE, set32(FIELD(NODES, N_TO_F32, 8), FEATURES),           \
      set32(FIELD(NODES, N_TO_F32, 4), 3), set32(CONTENT(T_ZERO, 0), 1))                           \
    X(TO_F32_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_SCALE, 0), EM_I32))                          \
    X(TO_F32_ZERO_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_ZERO, 0), EM_F32))                      \
    X(TO_F32_SCALE_0, EM_E_VALUE, set32(CONTENT(T_SCALE, 0), 0))                                   \
    X(TO_F32_SCALE_NEGATIVE, EM_E_VALUE, set32(CONTENT(T_SCALE, 0), 0xBF800000))                   \
    X(TO_F32_SCALE_NAN, EM_E_VALUE, set32(CONTENT(T_SCALE, 0), F32_NAN))                           \
    X(TO_F32_SCALE_INFINITE, EM_E_VALUE, set32(CONTENT(T_SCALE, 0), F32_INF))                      \
    X(EXP_OF_INT, EM_E_NODE, set32(FIELD(NODES, N_EXP, 8), LOGITS))                                \
    X(LOG_OF_INT, EM_E_NODE, set32(FIELD(NODES, N_LOG, 8), LOGITS))                                \
    X(ADD_OF_LENGTHS, EM_E_NODE, set32(FIELD(NODES, N_ADD, 8), FEATURES))                          \
    X(ADD_OF_INT_AND_FLOAT, EM_E_NODE, set32(FIELD(NODES, N_ADD, 8), VALUE(N_SUM)))                \
    X(ADD_OF_FLOAT_AND_INT, EM_E_NODE, set32(FIELD(NODES, N_ADD, 12), VALUE(N_SUM)))               \
    X(MUL_OF_LENGTHS, EM_E_NODE, set32(FIELD(NODES, N_MUL, 12), VALUE(N_ADD)))                     \
    X(MUL_OF_INT, EM_E_NODE, set32(FIELD(NODES, N_MUL, 8), LOGITS))                                \
    X(DIV_BY_VECTOR, EM_E_NODE, set32(FIELD(NODES, N_DIV, 12), FEATURES))                          \
    X(DIV_BY_INT, EM_E_NODE, set32(FIELD(NODES, N_DIV, 12), VALUE(N_MAX)))

#define BOX_CASES(X)                                                                               \
    X(BOXES_OF_NODE, EM_E_NODE, set32(FIELD(NODES, N_BOXES, 8), VALUE(N_SUB)))                     \
    X(BOXES_CLASS_IS_MAX, EM_E_NODE, set32(FIELD(NODES, N_BOXES, 12), VALUE(N_MAX)))               \
    X(BOXES_CLASS_IS_TAP, EM_E_NODE, set32(FIELD(NODES, N_BOXES, 12), LOGITS))                     \
    X(BOXES_LOWER_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_LOWER, 0), EM_U8))                      \
    X(BOXES_UPPER_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_UPPER, 0), EM_U8))                      \
    X(BOXES_WEIGHT_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_WEIGHT, 0), EM_F32))                   \
    X(BOXES_FIRST_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_FIRST, 0), EM_I32))                     \
    X(BOXES_HALF_A_BOX, EM_E_TABLE, set32(FIELD(TABLES, T_LOWER_F32, 8), 2))                       \
    X(BOXES_ONE_UPPER_MORE, EM_E_TABLE, set32(FIELD(TABLES, T_UPPER, 8), 9))                       \
    X(BOXES_ONE_WEIGHT_MORE, EM_E_TABLE, set32(FIELD(TABLES, T_WEIGHT_F32, 8), 4))                 \
    X(BOXES_ONE_CLASS_LESS, EM_E_TABLE, set32(FIELD(TABLES, T_FIRST_F32, 8), 4))                   \
    X(B1_LOWER_NAN, EM_E_BOX, set32(CONTENT(T_LOWER_F32, 0), F32_NAN))                             \
    X(B1_LOWER_INFINITE, EM_E_BOX, set32(CONTENT(T_LOWER_F32, 0), 0xFF800000))                     \
    X(B2_UPPER_INFINITE, EM_E_BOX, set32(CONTENT(T_UPPER_F32, 8), F32_INF))                        \
    X(B2_CROSSED, EM_E_BOX, set8(CONTENT(T_LOWER, 0), 0))                                          \
    X(B2_CROSSED_F32, EM_E_BOX, set32(CONTENT(T_LOWER_F32, 0), F32_TWO))                           \
    X(B3_WEIGHT_0, EM_E_BOX, set32(CONTENT(T_WEIGHT, 0), 0))                                       \
    X(B3_WEIGHT_NEGATIVE, EM_E_BOX, set32(CONTENT(T_WEIGHT, 0), 0xFFFFFFFF))                       \
    X(B3_WEIGHT_0_F32, EM_E_BOX, set32(CONTENT(T_WEIGHT_F32, 0), 0))                               \
    X(B3_WEIGHT_NAN, EM_E_BOX, set32(CONTENT(T_WEIGHT_F32, 0), F32_NAN))                           \
    X(B3_WEIGHT_INFINITE, EM_E_BOX, set32(CONTENT(T_WEIGHT_F32, 0), F32_INF))                      \
    X(B4_FIRST_NOT_0, EM_E_BOX, set32(CONTENT(T_FIRST, 0), 1))                                     \
    X(B4_FALLS, EM_E_BOX, set32(CONTENT(T_FIRST, 4), 2))                                           \
    X(B4_LAST_TOO_LARGE, EM_E_BOX, set32(CONTENT(T_FIRST, 16), 3))                                 \
    X(B4_LAST_TOO_SMALL, EM_E_BOX, set32(CONTENT(T_FIRST, 16), 1))                                 \
    X(B5_WEIGHT_OVERFLOW, EM_E_BITS, set32(CONTENT(T_WEIGHT, 0), (1u << 22) + 1))

#define TABLE_CASES(X)                                                                             \
    X(A1_DTYPE_0, EM_E_TABLE, set16(FIELD(TABLES, T_LOWER, 0), 0))                                 \
    X(A1_DTYPE_I64, EM_E_TABLE, set16(FIELD(TABLES, T_ROOTS, 0), EM_I64))                          \
    X(A1_DTYPE_8, EM_E_TABLE, set16(FIELD(TABLES, T_LOWER, 0), 8))                                 \
    X(A2_RESERVED, EM_E_RESERVED, set16(FIELD(TABLES, T_LOWER, 2), 1))                             \
    X(A2_RESERVED_2, EM_E_RESERVED, set32(FIELD(TABLES, T_LOWER, 12), 1))                          \
    X(A3_FIRST_MISPLACED, EM_E_TABLE, set32(FIELD(TABLES, 0, 4), get32(FIELD(TABLES, 0, 4)) + 16)) \
    X(A3_GAP, EM_E_TABLE, set32(FIELD(TABLES, 1, 4), get32(FIELD(TABLES, 1, 4)) + 16))             \
    X(A3_OVERLAP, EM_E_TABLE, set32(FIELD(TABLES, 1, 4), get32(FIELD(TABLES, 0, 4))))              \
    X(A3_UNALIGNED, EM_E_TABLE, set32(FIELD(TABLES, 1, 4), get32(FIELD(TABLES, 1, 4)) + 4))        \
    X(A3_OFFSET_HUGE, EM_E_TABLE, set32(FIELD(TABLES, 1, 4), 0xFFFFFFF0))                          \
    X(A3_COUNT_BEYOND, EM_E_TABLE, set32(FIELD(TABLES, T_ROOTS, 8), 5))                            \
    X(A3_COUNT_OVERFLOW, EM_E_TABLE, set32(FIELD(TABLES, T_ROOTS, 8), 0x40000004))                 \
    X(A3_NOT_AT_END, EM_E_TABLE, set32(FIELD(TABLES, T_ROOTS, 8), 2))                              \
    X(A4_PADDING, EM_E_RESERVED, set8(CONTENT(T_BASE, 4), 1))                                      \
    X(A5_SKIPPED, EM_E_TABLE, set32(FIELD(NODES, N_LUT, 16), 1))                                   \
    X(A5_TAKEN_TWICE, EM_E_TABLE, set32(FIELD(NODES, N_BOXES_F32, 16), T_LOWER))

#define NAME_CASES(X)                                                                              \
    X(X1_OFFSET_HUGE, EM_E_STRING, set32(FIELD(TAPS, 0, 0), 0xFFFFFFFF))                           \
    X(X1_NUL_TOO_FAR, EM_E_STRING, lengthen_names(a, 256))                                         \
    X(X2_CONTROL, EM_E_STRING, set8(FIELD(STRINGS, 0, 1), 0x1F))                                   \
    X(X2_DELETE, EM_E_STRING, set8(FIELD(STRINGS, 0, 1), 0x7F))                                    \
    X(X2_NOT_ASCII, EM_E_STRING, set8(FIELD(STRINGS, 0, 1), 0xC3))                                 \
    X(X3_LAST_BYTE, EM_E_STRING, set8(FIELD(STRINGS, 0, 11), 'r'))                                 \
    X(M1_NAME_BEYOND, EM_E_STRING, set32(FIELD(MONITORS, 1, 0), 12))

#define MONITOR_CASES(X)                                                                           \
    X(M2_SCORE_IS_TAP, EM_E_MONITOR, set32(FIELD(MONITORS, 0, 4), LOGITS))                         \
    X(M2_SCORE_BEYOND, EM_E_MONITOR, set32(FIELD(MONITORS, 0, 4), VALUE(N_NODES)))                 \
    X(M2_SCORE_NONE, EM_E_MONITOR, set32(FIELD(MONITORS, 0, 4), NONE))                             \
    X(M2_SCORE_IS_VECTOR, EM_E_MONITOR, set32(FIELD(MONITORS, 0, 4), VALUE(N_SUB)))                \
    X(M3_ALARM_NAN, EM_E_MONITOR, set32(FIELD(MONITORS, M_ENTROPY, 8), F32_NAN))                   \
    X(M3_ALARM_INFINITE, EM_E_MONITOR, set32(FIELD(MONITORS, M_ENTROPY, 8), F32_INF))              \
    X(M3_ALARM_PADDING, EM_E_RESERVED, set32(FIELD(MONITORS, M_ENTROPY, 12), 1))                   \
    X(M4_UNCERTAIN_NAN, EM_E_MONITOR, set32(FIELD(MONITORS, M_ENTROPY, 16), F32_NAN))              \
    X(M4_UNCERTAIN_INFINITE, EM_E_MONITOR, set32(FIELD(MONITORS, M_ENTROPY, 16), 0xFF800000))      \
    X(M4_UNCERTAIN_PADDING, EM_E_RESERVED, set32(FIELD(MONITORS, M_ENTROPY, 20), 1))               \
    X(M4_ABOVE_ALARM, EM_E_MONITOR, set32(FIELD(MONITORS, M_VOTES, 16), 13))                       \
    X(M4_ABOVE_ALARM_F32, EM_E_MONITOR, set32(FIELD(MONITORS, M_ENTROPY, 16), 0x41000000))         \
    X(M5_DISPLAY, EM_E_MONITOR, set32(FIELD(MONITORS, 0, 24), 2))                                  \
    X(M6_RESERVED, EM_E_RESERVED, set32(FIELD(MONITORS, 0, 28), 1))                                \
    X(M7_SCALE_0, EM_E_MONITOR, set_f64(FIELD(MONITORS, 0, 32), 0.0))                              \
    X(M7_SCALE_NAN, EM_E_MONITOR, set_f64(FIELD(MONITORS, 0, 32), not_a_number()))                 \
    X(M7_SCALE_INFINITE, EM_E_MONITOR, set_f64(FIELD(MONITORS, 0, 32), infinite()))                \
    X(M8_RESERVED, EM_E_RESERVED, set32(FIELD(MONITORS, 0, 40), 1))                                \
    X(M8_RESERVED_2, EM_E_RESERVED, set32(FIELD(MONITORS, 0, 44), 1))

#define SELF_TEST_CASES(X)                                                                         \
    X(V1_COUNT_0, EM_E_SELF_TEST, set32(FIELD(SELF_TEST, 0, 0), 0))                                \
    X(V1_COUNT_65, EM_E_SELF_TEST, set32(FIELD(SELF_TEST, 0, 0), 65))                              \
    X(V1_COUNT_TOO_LARGE, EM_E_SELF_TEST, set32(FIELD(SELF_TEST, 0, 0), 3))                        \
    X(V1_NO_HEAD, EM_E_SELF_TEST, shorten_self_test(a))                                            \
    X(V1_STRIDE, EM_E_SELF_TEST, set32(FIELD(SELF_TEST, 0, 4), 128))                               \
    X(V1_SECTION_SIZE, EM_E_SELF_TEST,                                                             \
      set32(SECTION(SELF_TEST, 8), get32(SECTION(SELF_TEST, 8)) - 1))                              \
    X(V2_RESERVED, EM_E_RESERVED, set32(FIELD(SELF_TEST, 0, 8), 1))                                \
    X(V2_RESERVED_2, EM_E_RESERVED, set32(FIELD(SELF_TEST, 0, 12), 1))                             \
    X(V2_TAP_PADDING, EM_E_RESERVED, set8(FIELD(SELF_TEST, 0, 16 + 4), 1))                         \
    X(V2_EXPECTED_RESERVED, EM_E_RESERVED, set32(EXPECTED(1, 12), 1))                              \
    X(V2_EXPECTED_PADDING, EM_E_RESERVED, set8(EXPECTED(1, 16 + 24 + 12), 1))

/* Offset of edge i and of increment i of the drift test. */
#define EDGE(i) (32 + 8 * (i))
#define INCREMENT(i) (32 + 8 * (DRIFT_BINS - 1) + 4 * (i))

#define DRIFT_CASES(X)                                                                             \
    X(D1_MONITOR_BEYOND, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 0), N_MONITORS))                        \
    X(D1_MONITOR_HUGE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 0), 0xFFFFFFFF))                          \
    X(D2_ONE_BIN, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 4), 1))                                        \
    X(D2_NO_BIN, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 4), 0))                                         \
    X(D2_33_BINS, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 4), 33))                                       \
    X(D3_NO_ALTERNATIVE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 8), 0))                                 \
    X(D3_17_ALTERNATIVES, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 8), 17))                               \
    X(D4_LIMIT_0, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 12), 0))                                       \
    X(D4_LIMIT_NEGATIVE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 12), 0x80000000))                       \
    X(D4_LIMIT_TOO_LARGE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 12), (1u << 24) + 1))                  \
    X(D5_RESERVED, EM_E_RESERVED, set32(FIELD(DRIFT, 0, 20), 1))                                   \
    X(D5_RESERVED_2, EM_E_RESERVED, set32(FIELD(DRIFT, 0, 24), 1))                                 \
    X(D5_RESERVED_3, EM_E_RESERVED, set32(FIELD(DRIFT, 0, 28), 1))                                 \
    X(D6_EDGE_PADDING, EM_E_RESERVED, set32(FIELD(DRIFT, 0, EDGE(0) + 4), 1))                      \
    X(D6_EDGE_NAN, EM_E_DRIFT, set32(FIELD(DRIFT, 0, EDGE(0)), F32_NAN))                           \
    X(D6_EDGE_INFINITE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, EDGE(2)), F32_INF))                      \
    X(D7_EDGES_EQUAL, EM_E_DRIFT, set32(FIELD(DRIFT, 0, EDGE(1)), F32_ONE))                        \
    X(D7_EDGES_FALL, EM_E_DRIFT, set32(FIELD(DRIFT, 0, EDGE(2)), F32_TWO))                         \
    X(D7_INTEGERS_EQUAL, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 0), M_VOTES);                           \
      set32(FIELD(DRIFT, 0, EDGE(1)), F32_ONE))                                                    \
    X(D7_INTEGERS_FALL, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 0), M_BOX);                              \
      set32(FIELD(DRIFT, 0, EDGE(2) + 4), 0xFFFFFFFF))                                             \
    X(D8_NO_HEAD, EM_E_DRIFT, shorten_drift(a))                                                    \
    X(D8_TOO_SHORT, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 4), 5))                                      \
    X(D8_TOO_LONG, EM_E_DRIFT, set32(FIELD(DRIFT, 0, 8), 1))                                       \
    X(D9_TOO_LARGE, EM_E_DRIFT, set32(FIELD(DRIFT, 0, INCREMENT(3)), (1u << 24) + 1))              \
    X(D9_TOO_SMALL, EM_E_DRIFT, set32(FIELD(DRIFT, 0, INCREMENT(7)), 0x80000000))                  \
    X(D9_NEVER_FALLS, EM_E_DRIFT, set32(FIELD(DRIFT, 0, INCREMENT(0)), 0);                         \
      set32(FIELD(DRIFT, 0, INCREMENT(1)), 0))

/* Offset of probability i of the table of accuracy; its edges lie as those of the drift test. */
#define STEP(i) (32 + 8 * (ACCURACY_STEPS - 1) + 2 * (i))

#define ACCURACY_CASES(X)                                                                          \
    X(E1_MONITOR_BEYOND, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 0), N_MONITORS))                  \
    X(E2_ONE_STEP, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 1))                                 \
    X(E2_NO_STEP, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 0))                                  \
    X(E2_65_STEPS, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 65))                                \
    X(E2_STEPS_HUGE, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 0xFFFFFFFF))                      \
    X(E3_WINDOW_63, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 8), 63))                               \
    X(E3_WINDOW_TOO_LARGE, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 8), (1u << 20) + 1))            \
    X(E4_LEAST_7, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 12), 7))                                 \
    X(E4_LEAST_TOO_LARGE, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 12), (1u << 16) + 1))            \
    X(E5_NO_ROWS, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 16), 0))                                 \
    X(E6_RESERVED, EM_E_RESERVED, set32(FIELD(ACCURACY, 0, 24), 1))                                \
    X(E6_RESERVED_2, EM_E_RESERVED, set32(FIELD(ACCURACY, 0, 28), 1))                              \
    X(E7_EDGE_PADDING, EM_E_RESERVED, set32(FIELD(ACCURACY, 0, EDGE(0) + 4), 1))                   \
    X(E7_EDGE_NAN, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, EDGE(0)), F32_NAN))                     \
    X(E7_EDGES_EQUAL, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, EDGE(1)), F32_ONE))                  \
    X(E7_INTEGERS_EQUAL, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 0), M_VOTES);                     \
      set32(FIELD(ACCURACY, 0, EDGE(1)), F32_ONE))                                                 \
    X(E8_RISES, EM_E_ACCURACY, set16(FIELD(ACCURACY, 0, STEP(0)), 29999))                          \
    X(E8_RISES_AT_END, EM_E_ACCURACY, set16(FIELD(ACCURACY, 0, STEP(2)), 30001))                   \
    X(E9_NO_HEAD, EM_E_ACCURACY, shorten_accuracy(a))                                              \
    X(E9_TOO_SHORT, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 4))                                \
    X(E9_TOO_LONG, EM_E_ACCURACY, set32(FIELD(ACCURACY, 0, 4), 2))

#define ALL_CASES(X)                                                                               \
    HEADER_CASES(X)                                                                                \
    PROGRAM_CASES(X)                                                                               \
    TAP_CASES(X)                                                                                   \
    NODE_CASES(X)                                                                                  \
    OP_CASES(X)                                                                                    \
    BOX_CASES(X)                                                                                   \
    TABLE_CASES(X)                                                                                 \
    NAME_CASES(X)                                                                                  \
    MONITOR_CASES(X)                                                                               \
    SELF_TEST_CASES(X)                                                                             \
    DRIFT_CASES(X)                                                                                 \
    ACCURACY_CASES(X)

ALL_CASES(DEFINE_CASE)

static const bad_file BAD_FILES[] = {ALL_CASES(LIST_CASE)};

static void accepted(void) {
    static artifact a;
    em_monitor m;
    sample(&a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_OK);

    set16(a.file + 10, 7); /* a later minor version */
    fix_crc(&a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_OK);

    set32(section(&a, ACCURACY), 0x80000005); /* S2: an optional section that we do not know */
    fix_crc(&a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_OK);

    lengthen_names(&a, 255);
    set32(field(&a, MONITORS, 0, 0), 255); /* the NUL itself: an empty name */
    fix_crc(&a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_OK);

    sample(&a);
    set32(field(&a, TAPS, LOGITS, 12), (uint32_t)-128);
    set32(field(&a, TAPS, PIXELS, 12), 255);
    set_f64(field(&a, TAPS, PIXELS, 16), 1e-300);
    fix_crc(&a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_OK);
}

void test_rules(void) {
    expect_refused(BAD_FILES, sizeof BAD_FILES / sizeof *BAD_FILES, sample);
    accepted();
}
