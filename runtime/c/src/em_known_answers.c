/*
 * Known answers: does this build, on this machine, compute floats as section 7 of FORMAT.md says?
 *
 * A compiler that fuses, reassociates or divides by reciprocals, another rounding mode, or a
 * processor that takes denormals for zero changes the last bits of scores and nothing else, and
 * what changes nothing in the vectors of one artifact changes scores elsewhere. So em_open runs the
 * ops themselves, their very machine code, on numbers of this file: every form of the sums of every
 * float kernel, which a test counts in lines run. FORMAT.md section 7.11 states the numbers.
 */
#include "em_ops.h"

#if EM_FLOATS

/* Words: of either sign, 0.25 to 4, where fusing any op changes an answer. */
#if EM_SMALL
#define NUMBERS 76u
#else
#define NUMBERS 133u
#endif
#define LONGEST 40u /* of a result, in words */

/* Places in `words`. */
enum {
    SMALL = NUMBERS,
    MINUS_ZERO = NUMBERS + 2,
    THIRD = NUMBERS + 4,
    SHAPE = NUMBERS + 6,
    CODE_SCALE = NUMBERS + 8,
    WORDS
};

/* Places in `tables`; those of one op are consecutive. */
enum { OF_TO_F32 = 0, OF_AFFINE = 2, OF_DISTANCES = 4, OF_KERNELS = 5, OF_CLIP = 9, TABLES };

#define TABLE(dtype, word) {dtype, 0, sizeof(em_table) * TABLES + 4 * (word), 1, 0}

/* What stands in for a file: tables, and the words that they and the inputs are taken from. */
static const struct {
    em_table tables[TABLES];
    uint32_t words[WORDS];
} KNOWN = {
    .tables =
        {
            [OF_TO_F32] = TABLE(EM_F32, 7),
            TABLE(EM_I32, SHAPE),
            [OF_AFFINE] = TABLE(EM_F32, 2),
            TABLE(EM_F32, 30),
            [OF_DISTANCES] = TABLE(EM_F32, 3),
            [OF_KERNELS] = TABLE(EM_U32, SHAPE),
            TABLE(EM_I8, 0),
            TABLE(EM_F32, CODE_SCALE),
            TABLE(EM_F32, 50),
            [OF_CLIP] = TABLE(EM_F32, THIRD),
        },
    .words =
        {
            0x403EAF42, 0xBF5633EE, 0xBFCE483E, 0xBEF5A4B2, 0x3EDE9CF8, 0x3E920FB5, 0xC03B7214,
            0xC07158BA, 0x3E896158, 0xC010785D, 0x3FC96D25, 0x3F1F6E41, 0x3F56F93B, 0xC0625EC3,
            0x3FF1B992, 0x3E8DEDBC, 0x3F493A60, 0x4064D006, 0xBECD8706, 0xBF21179A, 0xBEE2CCBF,
            0xBEE9A995, 0xC03CE382, 0xC0150E92, 0x4040183C, 0xBF72745C, 0xC0735E25, 0x3F48EF78,
            0x3FCB6298, 0xC007ED79, 0xBEF6A43D, 0xC056CA3E, 0x4077A746, 0xBF38AD86, 0xBFC84183,
            0x40109638, 0x3F53FC24, 0x3F160647, 0xBFC6F600, 0x4035E983, 0x3ED53C44, 0x407272BA,
            0xBF4DE59B, 0xBFA40D6A, 0x3F99842A, 0x3E8B7370, 0x3F9EE7BF, 0x3F432AAD, 0xBFCAEA38,
            0x3FD7867C, 0xC00E8482, 0xBEC76DAB, 0xBF1AD349, 0x3F7F56C8, 0x3FDA384D, 0xBF7AAD90,
            0x3F0BBB5B, 0x3F828C89, 0x40649FDD, 0xC075CF1D, 0xC078A651, 0x3FAF0293, 0xBF721906,
            0x403BEF99, 0x3F5FB4B3, 0x4032C16B, 0xBE8B60B1, 0xBE9BD9C7, 0x3F219C30, 0xBFE2EFF8,
            0x3F0D746B, 0xBE91BB34, 0x400EB6F6, 0xBEBC0375, 0xC0176080, 0xC02599EF,
#if !EM_SMALL
            0xBFB51138, 0xC04084CD, 0x400972B4, 0x3EEEFE63, 0xBF1319E8, 0x40344B76, 0xBE81E1E0,
            0x401BF27B, 0xC011D7F3, 0x3F6A3920, 0x3F14465A, 0x3F0A7F06, 0x3F01BD6A, 0xBF5BD6DA,
            0x3F819FD6, 0xBF947750, 0xC07CD376, 0xC0101278, 0xBFB39BF0, 0xC0784866, 0x3EE8861A,
            0xBEC7955C, 0xBFAEDF53, 0x3E90959B, 0x3E8D4F65, 0xBF8564FD, 0xBF691A62, 0x404B7847,
            0xBFB72727, 0xBF851C0D, 0xBF7DCA58, 0x3EFE3E01, 0xBE84413A, 0x3EDA371F, 0x3FD9FDD7,
            0xBEDF3C75, 0x3F324C3E, 0x3E815507, 0xC01FCEB6, 0x3EC46D22, 0x3F066697, 0x4037B723,
            0x3F8385B3, 0x4027915A, 0xBFBC8EFC, 0xBFFA39AD, 0x3EA4F60D, 0xBF8F778E, 0x3F82C9CA,
            0x403330FF, 0xBF2E4148, 0x3FA80C7D, 0xBE96DA8E, 0xBF3B78B2, 0xBF1CBB19, 0x3EC21E83,
            0x4019D8D4,
#endif
            0x00C00000, 0x00012345, /* SMALL: 1.5 * 2^-126, and a denormal */
            0x80000000, EM_NAN,     /* MINUS_ZERO */
            0x3EAAAAAB, 0x4B800000, /* THIRD, and 2^24 */
            1,          12,         /* SHAPE: one class, twelve kernels */
            0x3C8B4397,             /* CODE_SCALE */
        },
};

/* x and y start at these words; `length` is that of the result. `answer`: the hash of what
 * compiler/program/reference.py gives. */
typedef struct step_record {
    uint8_t op, dtype, x, x_length, y, y_length, length, first_table;
    uint32_t answer;
} step_record;

#define STEPS_LIST(X)                                                                              \
    X(SUM, EM_F32, 0, 5, 0, 1, 1, 0, 0x59A3089F)                                                   \
    X(SUM, EM_F32, 0, 24, 0, 1, 1, 0, 0xBDD6E2CB)                                                  \
    X(SUM, EM_F32, 0, 70, 0, 1, 1, 0, 0x0FC7424F)                                                  \
    X(REDUCE, EM_F32, 0, 72, 0, 1, 3, 0, 0x1112EC05)                                               \
    X(DEVIATION, EM_F32, 0, 72, 0, 1, 3, 0, 0xF82F1A77)                                            \
    X(REDUCE, EM_F32, 1, 70, 0, 1, 1, 0, 0x46828BE6)                                               \
    X(DEVIATION, EM_F32, 1, 70, 0, 1, 1, 0, 0xA5FA9AEE)                                            \
    X(AFFINE, EM_F32, 0, 5, 0, 1, 12, OF_AFFINE, 0xDFE791DD)                                       \
    X(AFFINE, EM_F32, 0, 24, 0, 1, 3, OF_AFFINE, 0xD97EF1BD)                                       \
    X(AFFINE, EM_F32, 0, 70, 0, 1, 1, OF_AFFINE, 0xEAEDC4C1)                                       \
    X(DISTANCES, EM_F32, 0, 5, 0, 1, 12, OF_DISTANCES, 0x1AFB4FF8)                                 \
    X(DISTANCES, EM_F32, 0, 24, 0, 1, 3, OF_DISTANCES, 0xFCCFEAAA)                                 \
    X(DISTANCES, EM_F32, 0, 70, 0, 1, 1, OF_DISTANCES, 0x13572329)                                 \
    X(SQUARED_ERROR, EM_F32, 0, 5, 3, 5, 1, 0, 0x66958D2B)                                         \
    X(SQUARED_ERROR, EM_F32, 0, 24, 3, 24, 1, 0, 0xFF79A87E)                                       \
    X(SQUARED_ERROR, EM_F32, 0, 70, 3, 70, 1, 0, 0x13572329)                                       \
    X(KERNELS, EM_F32, 1, 5, 0, 1, 12, OF_KERNELS, 0x3A38B389)                                     \
    X(KERNELS, EM_F32, 1, 24, 0, 1, 3, OF_KERNELS, 0xCF597E2C)                                     \
    X(KERNELS, EM_F32, 1, 70, 0, 1, 1, OF_KERNELS, 0x475586B4)                                     \
    X(LOGSUMEXP, EM_F32, 0, 24, 0, 1, 3, 0, 0xD7B96D04)                                            \
    X(LOGSUMEXP, EM_F32, 0, 70, 0, 1, 1, 0, 0x642BB4AB)                                            \
    X(EXP, EM_F32, 0, 40, 0, 1, 40, 0, 0x1FD60B39)                                                 \
    X(LOG, EM_F32, 36, 40, 0, 1, 40, 0, 0x07A4BEE2)                                                \
    X(ADD, EM_F32, 0, 24, 7, 24, 24, 0, 0xA01DCE61)                                                \
    X(SUB, EM_F32, 0, 24, 10, 1, 24, 0, 0x77F67A73)                                                \
    X(MUL, EM_F32, 0, 24, 9, 24, 24, 0, 0x35FD9DD6)                                                \
    X(DIV, EM_F32, 0, 24, 3, 1, 24, 0, 0xD7BE86B6)                                                 \
    X(TO_F32, EM_F32, 0, 24, 0, 1, 24, OF_TO_F32, 0x1F63DF40)                                      \
    X(TO_F32, EM_I32, 0, 24, 0, 1, 24, OF_TO_F32, 0xDD25AB04)                                      \
    X(MUL, EM_F32, SMALL, 2, THIRD, 2, 2, 0, 0x1C79674D)                                           \
    X(MAX, EM_F32, MINUS_ZERO, 1, 0, 1, 1, 0, 0x050C5D1F)                                          \
    X(ARGMAX, EM_F32, MINUS_ZERO, 2, 0, 1, 1, 0, 0x040C5B8C)                                       \
    X(CLIP, EM_F32, MINUS_ZERO, 2, 0, 1, 2, OF_CLIP, 0xEEB697CD)

/* Whole leaves of eight rows, and channels side by side: forms that small builds do not have. */
#define STEPS_OF_LANES(X)                                                                          \
    X(SUM, EM_F32, 0, 64, 0, 1, 1, 0, 0x38EC6EE5)                                                  \
    X(REDUCE, EM_F32, 0, 72, 0, 1, 12, 0, 0xF881175C)                                              \
    X(DEVIATION, EM_F32, 0, 72, 0, 1, 12, 0, 0xFB91A75A)                                           \
    X(REDUCE, EM_F32, 2, 72, 0, 1, 9, 0, 0xB5B5E5F8)                                               \
    X(DEVIATION, EM_F32, 2, 72, 0, 1, 9, 0, 0xCE73521D)                                            \
    X(REDUCE, EM_F32, 0, 32, 0, 1, 4, 0, 0xE8A6D1B0)                                               \
    X(DEVIATION, EM_F32, 0, 32, 0, 1, 4, 0, 0x128D2BE3)                                            \
    X(REDUCE, EM_F32, 0, 64, 0, 1, 1, 0, 0x59EC6EE5)                                               \
    X(DEVIATION, EM_F32, 0, 64, 0, 1, 1, 0, 0x8727BA18)                                            \
    X(REDUCE, EM_F32, 3, 72, 0, 1, 8, 0, 0x30DB4325)                                               \
    X(DEVIATION, EM_F32, 3, 72, 0, 1, 8, 0, 0x33F8A7D8)                                            \
    X(LOGSUMEXP, EM_F32, 0, 72, 0, 1, 4, 0, 0x9243F0EA)                                            \
    X(AFFINE, EM_F32, 0, 64, 0, 1, 1, OF_AFFINE, 0x475E4DDC)                                       \
    X(DISTANCES, EM_F32, 0, 64, 0, 1, 1, OF_DISTANCES, 0x6FD5A8CD)                                 \
    X(SQUARED_ERROR, EM_F32, 0, 64, 3, 64, 1, 0, 0x6FD5A8CD)                                       \
    X(KERNELS, EM_F32, 1, 64, 0, 1, 1, OF_KERNELS, 0x825BD03F)                                     \
    X(KERNELS, EM_F32, 1, 64, 0, 1, 5, OF_KERNELS, 0x5CF8F7AE)                                     \
    X(SUM, EM_F32, 0, 1, 0, 1, 1, 0, 0x8FD58A85)                                                   \
    X(SUM, EM_F32, 0, 3, 0, 1, 1, 0, 0xA0208E41)                                                   \
    X(SUM, EM_F32, 0, 4, 0, 1, 1, 0, 0xF552CC5F)                                                   \
    X(SUM, EM_F32, 0, 12, 0, 1, 1, 0, 0x80124DCD)                                                  \
    X(SUM, EM_F32, 0, 24, 0, 1, 1, 0, 0xBDD6E2CB)                                                  \
    X(REDUCE, EM_F32, 0, 1, 0, 1, 1, 0, 0x8FD58A85)                                                \
    X(DEVIATION, EM_F32, 0, 1, 0, 1, 1, 0, 0x42F37D19)                                             \
    X(REDUCE, EM_F32, 0, 3, 0, 1, 1, 0, 0xA9DD0861)                                                \
    X(DEVIATION, EM_F32, 0, 3, 0, 1, 1, 0, 0x4B8E4611)                                             \
    X(REDUCE, EM_F32, 0, 4, 0, 1, 1, 0, 0x8852CC5F)                                                \
    X(DEVIATION, EM_F32, 0, 4, 0, 1, 1, 0, 0x98D2063D)                                             \
    X(REDUCE, EM_F32, 0, 12, 0, 1, 1, 0, 0x81093612)                                               \
    X(DEVIATION, EM_F32, 0, 12, 0, 1, 1, 0, 0x6579EFB2)                                            \
    X(REDUCE, EM_F32, 0, 24, 0, 1, 1, 0, 0x899232DA)                                               \
    X(DEVIATION, EM_F32, 0, 24, 0, 1, 1, 0, 0x3A88699E)                                            \
    X(REDUCE, EM_F32, 0, 60, 0, 1, 12, 0, 0x7C3AE826)                                              \
    X(DEVIATION, EM_F32, 0, 60, 0, 1, 12, 0, 0xEBB31BD8)                                           \
    X(REDUCE, EM_F32, 0, 5, 0, 1, 5, 0, 0x0721631F)                                                \
    X(DEVIATION, EM_F32, 0, 5, 0, 1, 5, 0, 0x0AD12B09)                                             \
    X(REDUCE, EM_F32, 0, 10, 0, 1, 5, 0, 0x5F1350A0)                                               \
    X(DEVIATION, EM_F32, 0, 10, 0, 1, 5, 0, 0x2561CEED)                                            \
    X(REDUCE, EM_F32, 0, 15, 0, 1, 5, 0, 0x1A825BFA)                                               \
    X(DEVIATION, EM_F32, 0, 15, 0, 1, 5, 0, 0x7EAF39CA)                                            \
    X(REDUCE, EM_F32, 0, 20, 0, 1, 5, 0, 0x90A930D8)                                               \
    X(DEVIATION, EM_F32, 0, 20, 0, 1, 5, 0, 0x0F1B453B)                                            \
    X(AFFINE, EM_F32, 0, 1, 0, 1, 12, OF_AFFINE, 0x26816695)                                       \
    X(AFFINE, EM_F32, 0, 3, 0, 1, 12, OF_AFFINE, 0x13AD32F1)                                       \
    X(AFFINE, EM_F32, 0, 4, 0, 1, 12, OF_AFFINE, 0xD2EB05B2)                                       \
    X(AFFINE, EM_F32, 0, 12, 0, 1, 4, OF_AFFINE, 0xD9B42A6F)                                       \
    X(AFFINE, EM_F32, 0, 32, 0, 1, 1, OF_AFFINE, 0x0C776371)                                       \
    X(AFFINE, EM_F32, 0, 24, 0, 1, 1, OF_AFFINE, 0x161468C9)                                       \
    X(DISTANCES, EM_F32, 0, 1, 0, 1, 12, OF_DISTANCES, 0x23413FBF)                                 \
    X(DISTANCES, EM_F32, 0, 3, 0, 1, 12, OF_DISTANCES, 0x707747C2)                                 \
    X(DISTANCES, EM_F32, 0, 4, 0, 1, 12, OF_DISTANCES, 0x38CACF00)                                 \
    X(DISTANCES, EM_F32, 0, 12, 0, 1, 4, OF_DISTANCES, 0x2D0FE326)                                 \
    X(DISTANCES, EM_F32, 0, 32, 0, 1, 1, OF_DISTANCES, 0x99996448)                                 \
    X(DISTANCES, EM_F32, 0, 24, 0, 1, 1, OF_DISTANCES, 0xFF79A87E)                                 \
    X(SQUARED_ERROR, EM_F32, 0, 1, 3, 1, 1, 0, 0xC786B45D)                                         \
    X(SQUARED_ERROR, EM_F32, 0, 3, 3, 3, 1, 0, 0xA407F9E8)                                         \
    X(SQUARED_ERROR, EM_F32, 0, 4, 3, 4, 1, 0, 0xFE3EAC3B)                                         \
    X(SQUARED_ERROR, EM_F32, 0, 12, 3, 12, 1, 0, 0x8856A783)                                       \
    X(SQUARED_ERROR, EM_F32, 0, 32, 3, 32, 1, 0, 0x99996448)                                       \
    X(KERNELS, EM_F32, 1, 1, 0, 1, 12, OF_KERNELS, 0xED01C8B1)                                     \
    X(KERNELS, EM_F32, 1, 3, 0, 1, 12, OF_KERNELS, 0x36FE3F5C)                                     \
    X(KERNELS, EM_F32, 1, 4, 0, 1, 12, OF_KERNELS, 0x7E73FA47)                                     \
    X(KERNELS, EM_F32, 1, 12, 0, 1, 4, OF_KERNELS, 0x7A06EFDE)                                     \
    X(KERNELS, EM_F32, 1, 32, 0, 1, 1, OF_KERNELS, 0xD2D005B7)                                     \
    X(KERNELS, EM_F32, 1, 24, 0, 1, 1, OF_KERNELS, 0x2019074C)                                     \
    X(LOGSUMEXP, EM_F32, 0, 12, 0, 1, 12, 0, 0x4AE8F419)                                           \
    X(LOGSUMEXP, EM_F32, 0, 36, 0, 1, 12, 0, 0x4073AF5C)                                           \
    X(LOGSUMEXP, EM_F32, 0, 16, 0, 1, 4, 0, 0xDA074A8F)                                            \
    X(LOGSUMEXP, EM_F32, 0, 24, 0, 1, 2, 0, 0x96802F5B)                                            \
    X(LOGSUMEXP, EM_F32, 0, 64, 0, 1, 1, 0, 0x57C84180)                                            \
    X(SUM, EM_F32, 0, 32, 0, 1, 1, 0, 0xF9974F55)                                                  \
    X(REDUCE, EM_F32, 0, 32, 0, 1, 1, 0, 0x30174F55)                                               \
    X(DEVIATION, EM_F32, 0, 32, 0, 1, 1, 0, 0x849E1898)                                            \
    X(LOGSUMEXP, EM_F32, 0, 64, 0, 1, 2, 0, 0x77810B16)                                            \
    X(AFFINE, EM_F32, 0, 8, 0, 1, 1, OF_AFFINE, 0x0F954DD8)                                        \
    X(AFFINE, EM_F32, 0, 44, 0, 1, 1, OF_AFFINE, 0x9475861F)                                       \
    X(AFFINE, EM_F32, 0, 128, 0, 1, 1, OF_AFFINE, 0xC5DF459E)                                      \
    X(AFFINE, EM_F32, 0, 130, 0, 1, 1, OF_AFFINE, 0x5373E57E)                                      \
    X(DISTANCES, EM_F32, 0, 8, 0, 1, 1, OF_DISTANCES, 0xA840B7D3)                                  \
    X(DISTANCES, EM_F32, 0, 44, 0, 1, 1, OF_DISTANCES, 0xBFB975E1)                                 \
    X(DISTANCES, EM_F32, 0, 128, 0, 1, 1, OF_DISTANCES, 0x1AB5BCA6)                                \
    X(DISTANCES, EM_F32, 0, 130, 0, 1, 1, OF_DISTANCES, 0x9C897751)                                \
    X(SQUARED_ERROR, EM_F32, 0, 8, 3, 8, 1, 0, 0xA840B7D3)                                         \
    X(SQUARED_ERROR, EM_F32, 0, 44, 3, 44, 1, 0, 0xBFB975E1)                                       \
    X(SQUARED_ERROR, EM_F32, 0, 128, 3, 128, 1, 0, 0x1AB5BCA6)                                     \
    X(SQUARED_ERROR, EM_F32, 0, 130, 3, 130, 1, 0, 0x9C897751)                                     \
    X(KERNELS, EM_F32, 1, 8, 0, 1, 1, OF_KERNELS, 0x0741BA5B)                                      \
    X(KERNELS, EM_F32, 1, 44, 0, 1, 1, OF_KERNELS, 0x4207DD37)                                     \
    X(KERNELS, EM_F32, 1, 128, 0, 1, 1, OF_KERNELS, 0x8F304F54)                                    \
    X(KERNELS, EM_F32, 1, 130, 0, 1, 1, OF_KERNELS, 0xF6F4BCE6)

static const step_record STEPS[] = {
#define STEP(NAME, ...) EM_IF(EDGEMON_OP_##NAME, {EM_OP_##NAME, __VA_ARGS__}, )
    STEPS_LIST(STEP)
#if !EM_SMALL
        STEPS_OF_LANES(STEP)
#endif
#undef STEP
            {0} /* the last */
};

/* Which of its many bit patterns a NaN has is the processor's choice. */
static uint32_t without_payload(uint32_t word) {
    return (word & UINT32_C(0x7FFFFFFF)) > UINT32_C(0x7F800000) ? EM_NAN : word;
}

EM_INTERNAL em_status em_check_arithmetic(void) {
    /* Through a volatile pointer: no compiler may compute the answers instead of the device. */
    const void *volatile known = &KNOWN;
    em_monitor m;
    memset(&m, 0, sizeof m);
    m.file = (const uint8_t *)known;
    const em_u32 *words = (const em_u32 *)(const void *)(m.file + sizeof KNOWN.tables);
    uint32_t different = 0;
    for (const step_record *s = STEPS; s->op != 0; s++) {
        em_node node;
        memset(&node, 0, sizeof node);
        node.op = s->op;
        node.length = s->length;
        node.first_table = s->first_table;
        const em_value x = {words + s->x, s->dtype, s->x_length};
        const em_value y = {words + s->y, s->dtype, s->y_length};
        em_u32 result[LONGEST];
        em_run_node(&m, &node, x, y, result);
        uint32_t hash = UINT32_C(0x811C9DC5); /* FNV-1a over words */
        for (uint32_t k = 0; k < s->length; k++) {
            hash = (hash ^ without_payload(result[k])) * UINT32_C(0x01000193);
        }
        different |= hash ^ s->answer;
    }
    return different == 0 ? EM_OK : EM_E_FLOAT;
}
#else
EM_INTERNAL em_status em_check_arithmetic(void) { return EM_OK; }
#endif
