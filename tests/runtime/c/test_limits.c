/* Rules of FORMAT.md that need a file of their own: what fits just so, and what does not. */
#include "check.h"
#include "sample.h"

static em_status open_built(builder *b, uint32_t predicted) {
    static artifact a;
    em_monitor m;
    add_monitor(b, predicted, (em_number){.i = 0}, (em_number){.i = 0});
    finish(b, predicted, &a);
    return open_exactly(a.file, a.size, &m);
}

/* A value of `bits`, then minus itself: one bit more. */
static em_status open_sub_of(uint32_t bits) {
    static builder b;
    const int32_t entries[] = {(int32_t)(1u << bits)}, base[] = {0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_I32, 1, entries);
    add_table(&b, EM_I32, 1, base);
    const uint32_t large = add_node(&b, LUT, EM_I32, 1, predicted, NONE, bits);
    add_node(&b, SUB, EM_I32, 1, large, large, bits + 1);
    return open_built(&b, predicted);
}

/* Adding up doubles: i64 holds 62 bits. */
static em_status open_add_chain(uint32_t adds) {
    static builder b;
    const int32_t entries[] = {1 << 30}, base[] = {0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_I32, 1, entries);
    add_table(&b, EM_I32, 1, base);
    uint32_t value = add_node(&b, LUT, EM_I32, 1, predicted, NONE, 30);
    for (uint32_t i = 1; i <= adds; i++) {
        value = add_node(&b, ADD, EM_I64, 1, value, value, 30 + i);
    }
    return open_built(&b, predicted);
}

/* An i16 box: distances need 16 bits. */
static em_status open_i16_box(int32_t weight) {
    static builder b;
    const int16_t lower[] = {-5}, upper[] = {5};
    const uint32_t first[] = {0, 1};
    start(&b);
    add_tap(&b, EM_I16, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_I16, 1, lower);
    add_table(&b, EM_I16, 1, upper);
    add_table(&b, EM_I32, 1, &weight);
    add_table(&b, EM_U32, 2, first);
    add_node(&b, BOXES, EM_I32, 1, 0, predicted, 30);
    return open_built(&b, predicted);
}

/* 8 MiB a node: beyond 512 of them, no 32-bit number can state the workspace. */
static em_status open_large_nodes(uint32_t nodes) {
    static builder b;
    start(&b);
    add_tap(&b, EM_I8, 1u << 20);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 20);
    const uint32_t wide = add_node(&b, SUB, EM_I32, 1u << 20, 0, predicted, 21);
    for (uint32_t i = 0; i < nodes; i++) {
        add_node(&b, ADD, EM_I64, 1u << 20, wide, wide, 22);
    }
    return open_built(&b, predicted);
}

static em_status open_lut(uint32_t entries) {
    static builder b;
    const int32_t none[] = {0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_I32, entries, none);
    add_table(&b, EM_I32, 1, none);
    add_node(&b, LUT, EM_I32, 1, predicted, NONE, 0);
    return open_built(&b, predicted);
}

/* The deviation of so many positions of one channel of 16 bits. */
static em_status open_deviation(uint32_t positions) {
    static builder b;
    const uint32_t channels = 1;
    start(&b);
    add_tap(&b, EM_I16, positions);
    const uint32_t predicted =
        add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, positions > 1u << 15 ? 16 : 15);
    add_table(&b, EM_U32, 1, &channels);
    add_node(&b, DEVIATION, EM_I32, 1, 0, NONE, 16);
    return open_built(&b, predicted);
}

/* The squared error of n numbers of 30 bits. */
static em_status open_squared_error(uint32_t n) {
    static builder b;
    const uint32_t index[] = {0, 0};
    const int32_t entries[] = {1 << 30}, base[] = {0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_U32, n, index);
    const uint32_t codes = add_node(&b, GATHER, EM_I32, n, 0, NONE, 7);
    add_table(&b, EM_I32, 1, entries);
    add_table(&b, EM_I32, 1, base);
    const uint32_t wide = add_node(&b, LUT, EM_I32, n, codes, NONE, 30);
    add_node(&b, SQUARED_ERROR, EM_I64, 1, wide, wide, 61 + n);
    return open_built(&b, predicted);
}

/* `omit` of x by an argmax over LOGITS or over PIXELS. */
static em_status open_omit(em_dtype dtype, uint32_t x, uint32_t y) {
    static builder b;
    static artifact a;
    em_monitor m;
    start_sample(&b);
    add_node(&b, ARGMAX, EM_I32, 1, PIXELS, NONE, 1);
    add_node(&b, OMIT, dtype, dtype == EM_I64 ? 1 : 4, x, y, dtype == EM_I64 ? 4 : 8);
    finish(&b, VALUE(N_ARGMAX), &a);
    return open_exactly(a.file, a.size, &m);
}

static void omit(void) {
    EXPECT(open_omit(EM_I32, VALUE(N_SUB), VALUE(N_ARGMAX)), EM_OK);
    EXPECT(open_omit(EM_I32, VALUE(N_SUB), VALUE(N_NODES)), EM_E_NODE);  /* over another length */
    EXPECT(open_omit(EM_I32, VALUE(N_SUB), VALUE(N_MAX)), EM_E_NODE);    /* no argmax */
    EXPECT(open_omit(EM_I32, VALUE(N_SUB), LOGITS), EM_E_NODE);          /* a tap */
    EXPECT(open_omit(EM_I8, LOGITS, VALUE(N_ARGMAX)), EM_E_NODE);        /* of i8 */
    EXPECT(open_omit(EM_I64, VALUE(N_SUM), VALUE(N_ARGMAX)), EM_E_NODE); /* of i64 */
}

/* An op whose deciding table is empty. */
static em_status open_empty(uint32_t op, em_dtype dtype) {
    static builder b;
    start(&b);
    add_tap(&b, EM_F32, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    for (uint32_t i = 0; i < (op == 16 || op == 22 ? 1u : op == 18 ? 2u : 3u); i++) {
        add_table(&b, op == TREES && i == 1 ? EM_I32 : dtype, 0, NULL);
    }
    add_node(&b, op, op == TREES ? EM_I32 : EM_F32, 0, 0, NONE, 0);
    return open_built(&b, predicted);
}

/* No op but add and to_f32 takes an i64. */
static em_status open_on_i64(uint32_t op, uint32_t y) {
    static builder b;
    start(&b);
    add_tap(&b, EM_I8, 2);
    add_tap(&b, EM_F32, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 1);
    const uint32_t wide = add_node(&b, ADD, EM_I64, 1, predicted, predicted, 2);
    add_node(&b, op, EM_I32, 1, wide, y == 0 ? NONE : y == 1 ? predicted : wide, 3);
    return open_built(&b, predicted);
}

static em_status open_i16_tap(int32_t zero_point) {
    static builder b;
    start(&b);
    add_tap(&b, EM_I16, 1);
    set32(b.taps.at + 12, (uint32_t)zero_point);
    return open_built(&b, add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0));
}

/* Two vectors of the greatest length, one behind the other. */
static em_status open_long_concat(uint32_t length) {
    static builder b;
    start(&b);
    add_tap(&b, EM_I8, length);
    add_tap(&b, EM_I8, 1u << 19);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 1, NONE, 19);
    add_node(&b, CONCAT, EM_I32, length + (1u << 19), 0, 1, 7);
    return open_built(&b, predicted);
}

static em_status open_without_strings(void) {
    static builder b;
    start(&b);
    b.strings.size = 0;
    add_tap(&b, EM_I8, 1);
    return open_built(&b, add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0));
}

/* Tree 1 begins where the nodes end: tree 0 has them all. */
static em_status open_root_behind_the_nodes(uint32_t second) {
    static builder b;
    const uint32_t nodes[] = {10, 1u << 16, 0x7FFFFFFF, 1u << 16, 0x7FFFFFFF, 2u << 16};
    const int32_t values[] = {0, 1, 1};
    const uint32_t roots[] = {0, 1, second, 0};
    start(&b);
    add_tap(&b, EM_I8, 1);
    const uint32_t predicted = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 0);
    add_table(&b, EM_U32, 6, nodes);
    add_table(&b, EM_I32, 3, values);
    add_table(&b, EM_U32, 4, roots);
    add_node(&b, TREES, EM_I32, 1, 0, NONE, 1);
    return open_built(&b, predicted);
}

static void files_of_their_own(void) {
    static const uint32_t on_one[] = {ARGMAX, MAX,      LUT,    SUM,    EXP,    LOG,
                                      TREES,  EXCEEDS,  GATHER, REDUCE, AFFINE, DENSITY_TABLES,
                                      CLIP,   DEVIATION};
    static const uint32_t on_two[] = {SUB,    MUL,    DIV,     BOXES,        OMIT,
                                      SELECT, CONCAT, HAMMING, SQUARED_ERROR};
    for (uint32_t i = 0; i < sizeof on_one / sizeof *on_one; i++) {
        expect_int("open_on_i64", (int)on_one[i], "em_open", open_on_i64(on_one[i], 0), EM_E_NODE);
    }
    for (uint32_t i = 0; i < sizeof on_two / sizeof *on_two; i++) {
        expect_int("open_on_i64", (int)on_two[i], "em_open", open_on_i64(on_two[i], 1), EM_E_NODE);
    }
    EXPECT(open_on_i64(SUB, 2), EM_E_NODE);
    EXPECT(open_empty(16, EM_U32), EM_E_TABLE);
    EXPECT(open_empty(18, EM_F32), EM_E_TABLE);
    EXPECT(open_empty(22, EM_F32), EM_E_TABLE);
    EXPECT(open_empty(TREES, EM_U32), EM_E_TABLE);
    EXPECT(open_i16_tap(32767), EM_OK);
    EXPECT(open_i16_tap(-32768), EM_OK);
    EXPECT(open_i16_tap(32768), EM_E_TAP);
    EXPECT(open_i16_tap(-32769), EM_E_TAP);
    EXPECT(open_long_concat(1u << 19), EM_OK);
    EXPECT(open_long_concat((1u << 19) + 1), EM_E_NODE);
    EXPECT(open_without_strings(), EM_E_STRING);
    EXPECT(open_root_behind_the_nodes(3), EM_E_TREE);
    EXPECT(open_root_behind_the_nodes(2), EM_E_TREE);
}

static void limits(void) {
    EXPECT(open_sub_of(29), EM_OK);
    EXPECT(open_sub_of(30), EM_E_BITS); /* N8 */
    EXPECT(open_add_chain(32), EM_OK);
    EXPECT(open_add_chain(33), EM_E_BITS);   /* N8 */
    EXPECT(open_deviation(1u << 15), EM_OK); /* sums of squares of 62 bits */
    EXPECT(open_deviation((1u << 15) + 1), EM_E_BITS);
    EXPECT(open_squared_error(1), EM_OK);     /* 62 bits */
    EXPECT(open_squared_error(2), EM_E_BITS); /* N8 */
    EXPECT(open_i16_box(1 << 14), EM_OK);
    EXPECT(open_i16_box((1 << 14) + 1), EM_E_BITS); /* B5 */
    EXPECT(open_lut(1), EM_OK);
    EXPECT(open_lut(0), EM_E_TABLE);
    EXPECT(open_large_nodes(1), EM_OK);     /* 12 MiB of workspace */
    EXPECT(open_large_nodes(2), EM_E_NODE); /* P6: 20 MiB */
}

static void unused_table(void) {
    static builder b;
    static artifact a;
    em_monitor m;
    const int32_t entry[] = {0};
    start_sample(&b);
    add_table(&b, EM_I32, 1, entry);
    finish(&b, VALUE(N_ARGMAX), &a);
    EXPECT(open_exactly(a.file, a.size, &m), EM_E_TABLE); /* A5: a table that no node takes */
}

/* ---- what must be accepted --------------------------------------------------------------------
 */

void test_limits(void) {
    omit();
    limits();
    files_of_their_own();
    unused_table();
}
