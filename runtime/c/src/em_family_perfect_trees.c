/*
 * The op perfect_trees, section 7.13 of FORMAT.md. A tree of height h has 2^h - 1 tests and 2^h
 * exits: a walk is h steps to one of them, whatever x holds.
 */
#include "em_ops.h"

#if EM_HAS(PERFECT_TREES)
#define MAX_HEIGHT 12u
#define SIGN UINT32_C(0x80000000)

/* Tables, in their order. */
enum perfect_table { P_SHAPE, P_KEYS, P_FEATURES, P_EXITS, P_VALUES };

/* The order of keys, as unsigned numbers, is that of the numbers they are made from. */
EM_INLINE uint32_t key_of(int is_float, uint32_t word) {
    return is_float && (word & SIGN) != 0 ? ~word : word ^ SIGN;
}

/* Q4 */
static int is_float_key(uint32_t key) {
    const uint32_t bits = (key & SIGN) != 0 ? key ^ SIGN : ~key;
    return em_is_finite(bits) && bits != SIGN;
}

EM_TYPES(perfect_trees) {
    c->result = (em_facts){EM_I32, 1, 0};
    return em_is_number(c->x);
}

EM_TABLES(perfect_trees) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (!em_has_type(&t[P_SHAPE], EM_U32, 2)) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&c->r->m, c->node, P_SHAPE);
    const uint32_t height = shape[0], outputs = shape[1];
    if (height < 1 || height > MAX_HEIGHT || outputs < 1) {
        return EM_E_TREE; /* Q1 */
    }
    const uint32_t exits_each = UINT32_C(1) << height;
    const uint32_t trees = t[P_EXITS].count / exits_each, leaves = t[P_VALUES].count / outputs;
    const uint32_t tests = trees * (exits_each - 1);
    if (trees < 1 || leaves < 1 || !em_has_type(&t[P_KEYS], EM_U32, tests) ||
        !em_has_type(&t[P_FEATURES], EM_I16, tests) ||
        !em_has_type(&t[P_EXITS], EM_I16, (uint64_t)trees * exits_each) ||
        !em_has_type(&t[P_VALUES], EM_I16, (uint64_t)leaves * outputs)) {
        return EM_E_TABLE; /* Q2 */
    }
    const em_u32 *keys = (const em_u32 *)em_data_of(&c->r->m, c->node, P_KEYS);
    const em_i16 *features = (const em_i16 *)em_data_of(&c->r->m, c->node, P_FEATURES);
    const em_i16 *exits = (const em_i16 *)em_data_of(&c->r->m, c->node, P_EXITS);
    for (uint32_t i = 0; i < tests; i++) {
        if (features[i] < 0 || (uint32_t)features[i] >= c->x.length ||
            (em_is_f32(c->x.dtype) && !is_float_key(keys[i]))) {
            return EM_E_TREE; /* Q3, Q4 */
        }
    }
    for (uint32_t i = 0; i < trees * exits_each; i++) {
        if (exits[i] < 0 || (uint32_t)exits[i] >= leaves) {
            return EM_E_TREE; /* Q5 */
        }
    }
    const em_i16 *values = (const em_i16 *)em_data_of(&c->r->m, c->node, P_VALUES);
    c->result.length = outputs;
    c->result.bits = em_width(em_largest_i16(values, t[P_VALUES].count)) + em_width(trees);
    c->scratch = c->x.length * (uint32_t)sizeof(em_u32);
    return EM_OK;
}

EM_WORK(perfect_trees) {
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, P_SHAPE);
    const uint32_t trees = em_table_at(m, node->first_table + P_EXITS)->count >> shape[0];
    return (uint64_t)trees * (shape[0] + shape[1]) + n;
}

/* A forest that runs. */
typedef struct perfect {
    const em_u32 *keys, *x; /* of the tests, and of the input */
    const em_i16 *features, *exits, *values;
    uint32_t trees, outputs;
    em_i32 *sums;
} perfect;

/* Every tree; `height` and `several` are constants at the calls of the fast form. */
EM_INLINE void sum_perfect(const perfect *f, uint32_t height, int several) {
    const size_t exits_each = (size_t)1 << height;
    const em_u32 *keys = f->keys, *x = f->x;
    const em_i16 *features = f->features, *exits = f->exits, *values = f->values;
    int32_t sum = 0;
    for (uint32_t t = 0; t < f->trees; t++) {
        size_t at = 1;
        for (uint32_t k = 0; k < height; k++) {
            at = at + at + (size_t)(keys[at - 1] < x[features[at - 1]]);
        }
        const int32_t leaf = exits[at - exits_each];
        if (several) {
            for (uint32_t k = 0; k < f->outputs; k++) {
                f->sums[k] += values[(size_t)leaf * f->outputs + k];
            }
        } else {
            sum += values[leaf];
        }
        keys += exits_each - 1;
        features += exits_each - 1;
        exits += exits_each;
    }
    if (!several) {
        f->sums[0] = sum;
    }
}

/* em_int_at gives the words of floats, too. */
EM_INLINE void keys_of(int is_float, uint32_t dtype, em_value x, em_u32 *keys) {
    for (uint32_t i = 0; i < x.length; i++) {
        keys[i] = key_of(is_float, (uint32_t)em_int_at(dtype, x.data, i));
    }
}

EM_INLINE void make_keys(em_value x, em_u32 *keys) {
    if (EM_SMALL) {
        keys_of(em_is_f32(x.dtype), x.dtype, x, keys);
    } else if (em_is_f32(x.dtype)) {
        keys_of(1, EM_I32, x, keys);
    } else {
        EM_OF_INTS(x.dtype, dtype, keys_of(0, dtype, x, keys));
    }
}

EM_RUN(perfect_trees) {
    const em_u32 *shape = (const em_u32 *)em_data_of(m, node, P_SHAPE);
    em_u32 *made = (em_u32 *)(void *)((uint8_t *)out + em_round_up(node->length * 4, 8));
    make_keys(x, made);
    const perfect f = {.keys = (const em_u32 *)em_data_of(m, node, P_KEYS),
                       .x = made,
                       .features = (const em_i16 *)em_data_of(m, node, P_FEATURES),
                       .exits = (const em_i16 *)em_data_of(m, node, P_EXITS),
                       .values = (const em_i16 *)em_data_of(m, node, P_VALUES),
                       .trees = em_table_at(m, node->first_table + P_EXITS)->count >> shape[0],
                       .outputs = shape[1],
                       .sums = (em_i32 *)out};
    memset(out, 0, node->length * sizeof *f.sums);
#if !EM_SMALL
    if (f.outputs == 1) {
        switch (shape[0]) {
        case 3: /* of boosted trees */
            sum_perfect(&f, 3, 0);
            return;
        case 6: /* of forests */
            sum_perfect(&f, 6, 0);
            return;
        default:
            sum_perfect(&f, shape[0], 0);
            return;
        }
    }
#endif
    sum_perfect(&f, shape[0], 1);
}
#endif
