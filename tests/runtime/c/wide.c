/* Test only: the kernels that exist twice, on numbers of every kind and on sizes around those of
 * their lanes. Prints a hash of the bits of each result: those of two builds must be the same. */
#include "em_ops.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST = 1 << 17, TABLES = 8, X_NODE = 1 << 10, FIRST = 1 << 11 };

static union {
    uint64_t align;
    uint8_t bytes[1 << 20];
} file;
static uint64_t x_room[MOST], y_room[MOST], result[MOST];
static em_monitor m;
static em_node node;
static uint32_t n_tables, used, state;

static uint32_t random_word(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int32_t random_int(uint32_t bits) {
    return (int32_t)(random_word() % (2u << bits)) - (1 << bits);
}

/* Of either sign, from 2^-10 to 2^10; now and then a zero of either sign, a denormal, or the
 * neighbour of a power of two. */
static float random_float(void) {
    const uint32_t word = random_word(), sign = (word & 1) << 31;
    switch (word / 2 % 16) {
    case 0:
        return em_float_of(sign);
    case 1:
        return em_float_of(sign | 0x00012345u);
    case 2:
        return em_float_of(sign | 0x3FFFFFFFu);
    default:
        return em_float_of(sign | ((117 + word / 32 % 20) << 23) | (random_word() & 0x7FFFFF));
    }
}

/* n elements. `kind` of bytes: all values in turn, random ones, the lowest, the highest, both in
 * turn. Of words: random ones of so many bits and those of the largest magnitude. */
static void fill(void *to, uint32_t dtype, uint32_t n, uint32_t kind, uint32_t bits) {
    const uint32_t lowest = dtype == EM_I8 ? 0x80 : 0, highest = dtype == EM_I8 ? 0x7F : 0xFF;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t codes[] = {i * 37, random_word(), lowest, highest,
                                  i / 3 % 2 ? lowest : highest};
        const int32_t most = (int32_t)((1u << bits) - 1);
        const int32_t word = kind < 2 ? random_int(bits) : kind == 2 ? -most : most;
        if (dtype == EM_I8 || dtype == EM_U8) {
            ((uint8_t *)to)[i] = (uint8_t)codes[kind];
        } else if (dtype == EM_I16) {
            ((em_i16 *)to)[i] = (em_i16)word;
        } else if (dtype == EM_I32 || dtype == EM_U32) {
            ((em_i32 *)to)[i] = word;
        } else {
            ((em_f32 *)to)[i] = random_float();
        }
    }
}

static void *add_table(uint32_t dtype, uint32_t count) {
    const em_table t = {(uint16_t)dtype, 0, used, count, 0};
    void *at = file.bytes + used;
    memcpy(file.bytes + sizeof t * n_tables++, &t, sizeof t);
    used += em_round_up(count * em_size_of(dtype), 16);
    return at;
}

static void begin(void) {
    memset(&node, 0, sizeof node);
    n_tables = 0;
    used = FIRST;
}

static void run(const char *name, uint32_t op, em_value x, em_value y, uint32_t length) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    node.op = (uint16_t)op;
    node.length = length;
    memset(result, 0x5A, sizeof result);
    em_run_node(&m, &node, x, y, result);
    for (uint32_t k = 0; k <= length; k++) { /* and what is behind */
        hash = (hash ^ ((const em_u32 *)(const void *)result)[k]) * UINT64_C(0x100000001B3);
    }
    printf("%s of %u, type %u, to %u: %016llx\n", name, x.length, x.dtype, length,
           (unsigned long long)hash);
}

/* Bytes begin at an odd address: taps may. */
static em_value input(uint64_t *room, uint32_t dtype, uint32_t n, uint32_t kind, uint32_t bits) {
    uint8_t *at = (uint8_t *)room + (em_size_of(dtype) == 1);
    fill(at, dtype, n, kind, bits);
    return (em_value){at, dtype, n};
}

static const uint32_t INTS[] = {EM_I8, EM_U8, EM_I16, EM_I32};

static void maps(uint32_t dtype, uint32_t channels, uint32_t positions, uint32_t kind) {
    const uint32_t shape[] = {channels, positions}, groups = kind == 0 ? 3 : 1;
    begin();
    em_u32 *table = (em_u32 *)add_table(EM_U32, groups == 1 ? 1 : 2);
    table[0] = shape[0];
    table[1] = shape[1];
    em_value x = input(x_room, dtype, groups * channels * positions, kind, 12);
    run("reduce", EM_OP_REDUCE, x, x, groups * channels);
    x.length = channels * positions;
    node.bits = (uint16_t)(dtype == EM_I8 ? 8 : dtype == EM_U8 ? 9 : 13);
    run("deviation", EM_OP_DEVIATION, x, x, channels);
}

static void affine_of_ints(uint32_t dtype, uint32_t n, uint32_t rows, uint32_t bits) {
    em_node of_x;
    memset(&of_x, 0, sizeof of_x);
    of_x.bits = (uint16_t)bits; /* up to 14 are taken as 16 */
    memcpy(file.bytes + X_NODE, &of_x, sizeof of_x);
    for (uint32_t kind = 0; kind < 4; kind++) {
        begin();
        fill(add_table(EM_I16, rows * n), EM_I16, rows * n, kind, 28 - bits - 10);
        fill(add_table(EM_I32, rows), EM_I32, rows, kind, 20);
        const em_value x = input(x_room, dtype, n, kind, bits);
        run("affine", EM_OP_AFFINE, x, x, rows);
    }
}

static void of_floats(uint32_t n, uint32_t rows) {
    const em_value x = input(x_room, EM_F32, n, 0, 0), y = input(y_room, EM_F32, n, 0, 0);
    begin();
    fill(add_table(EM_F32, rows * n), EM_F32, rows * n, 0, 0);
    fill(add_table(EM_F32, rows), EM_F32, rows, 0, 0);
    run("affine", EM_OP_AFFINE, x, x, rows);
    run("distances", EM_OP_DISTANCES, x, x, rows);
    run("squared_error", EM_OP_SQUARED_ERROR, x, y, 1);
}

static void kernels(uint32_t n, uint32_t classes, uint32_t of_class) {
    const em_value x = input(x_room, EM_F32, n * classes, 0, 0);
    begin();
    em_u32 *shape = (em_u32 *)add_table(EM_U32, 2);
    shape[0] = classes;
    shape[1] = of_class;
    fill(add_table(EM_I8, classes * of_class * n), EM_I8, classes * of_class * n, 0, 0);
    *(em_f32 *)add_table(EM_F32, 1) = 0.017f;
    fill(add_table(EM_F32, classes * of_class), EM_F32, classes * of_class, 0, 0);
    run("kernels", EM_OP_KERNELS, x, x, classes * of_class);
}

int main(void) {
    static const uint32_t channels[] = {1, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100};
    static const uint32_t positions[] = {1, 2, 3, 4, 8, 64, 127, 128, 129, 255, 256, 257, 400};
    static const uint32_t sizes[] = {1,  7,  8,  9,  15, 16,  17,  31,  32,  33, 40,
                                     63, 64, 65, 70, 96, 127, 128, 255, 257, 512};
    static const uint32_t long_sizes[] = {1025, 1280, 2047, 2048, 2049, 2100, 3000, 5000};
    static const uint32_t some_rows[] = {2, 3, 4, 5, 6};
    static const uint32_t rows[] = {1, 7, 8, 9, 40};
    m.file = file.bytes;
    m.nodes = X_NODE;
    for (size_t c = 0; c < COUNT(channels); c++) {
        for (size_t p = 0; p < COUNT(positions); p++) {
            for (uint32_t i = 0; i < 4 * 5; i++) {
                maps(INTS[i % 4], channels[c], positions[p], i / 4);
            }
        }
    }
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t r = 0; r < COUNT(rows); r++) {
            affine_of_ints(EM_I8, sizes[i], rows[r], 7);
            affine_of_ints(EM_U8, sizes[i], rows[r], 8);
            affine_of_ints(EM_I16, sizes[i], rows[r], 14);
            affine_of_ints(EM_I32, sizes[i], rows[r], 14);
            affine_of_ints(EM_I32, sizes[i], rows[r], 16);
            of_floats(sizes[i], rows[r]);
            kernels(sizes[i], 1, rows[r]);
            kernels(sizes[i], 3, rows[r]);
        }
    }
    for (uint32_t n = 1; n <= 136; n++) { /* every end of a row, and of a block of rows */
        for (size_t r = 0; r < COUNT(some_rows); r++) {
            of_floats(n, some_rows[r]);
            kernels(n, 2, some_rows[r]);
        }
    }
    for (size_t i = 0; i < COUNT(long_sizes); i++) {
        of_floats(long_sizes[i], 5);
        kernels(long_sizes[i], 2, 5);
    }
    return 0;
}
