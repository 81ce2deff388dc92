/* Test only: nodes that move, add and compare numbers. */
#include "generate.h"

static uint32_t more_bits(const value *x, const value *y) {
    return (x->bits > y->bits ? x->bits : y->bits) + 1;
}

/* A second input of x's kind: floats with floats, integers (narrow ones too, if they may be). */
static uint32_t kinds_beside(const value *x, uint32_t integers) {
    return x->dtype == EM_F32 ? (uint32_t)REAL : integers;
}

static void add_of_one(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, GENERATORS[op].kinds, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    if (op == ARGMAX) {
        add(p, op, EM_I32, 1, i, NONE, width(x->length));
    } else if (op == MAX) {
        add(p, op, wide(x), 1, i, NONE, x->bits);
    } else if (op == SUM) {
        add(p, op, x->dtype == EM_F32 ? EM_F32 : EM_I64, 1, i, NONE, x->bits + width(x->length));
    } else {
        if (op == TO_F32) {
            const int32_t zero = x->dtype == EM_F32 ? 0 : choose_int(c, 30);
            add_numbers(p, c, 1, 1);
            add_table(&p->b, EM_I32, 1, &zero);
        }
        add(p, op, EM_F32, x->length, i, NONE, 0);
    }
}

static void add_of_two(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, GENERATORS[op].kinds, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t length = op == SUB || op == DIV ? 1 : op == CONCAT ? 0 : x->length;
    const uint32_t k = pick(p, c, kinds_beside(x, op == ADD ? WORD | LONG : INT), length);
    if (k == NONE) {
        return;
    }
    const value *y = &p->values[k];
    if (op == CONCAT) {
        if (x->length + y->length > LONGEST) {
            return;
        }
        const uint32_t bits = x->bits > y->bits ? x->bits : y->bits;
        add(p, op, wide(x), x->length + y->length, i, k, bits);
    } else if (op == ADD && x->dtype != EM_F32) {
        if (more_bits(x, y) > 62) {
            return;
        }
        add(p, op, EM_I64, x->length, i, k, more_bits(x, y));
    } else if (op != SUB || more_bits(x, y) <= 30) {
        add(p, op, wide(x), x->length, i, k, more_bits(x, y));
    }
}

static void add_lut(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, WORD, 0);
    if (i != NONE) {
        const uint32_t largest = add_ints(p, c, 1 + choose(c, 12), 30);
        add_ints(p, c, 1, 30);
        add(p, op, EM_I32, p->values[i].length, i, NONE, width(largest));
    }
}

static void add_exceeds(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 1);
    if (i != NONE) {
        add_like(p, c, &p->values[i], 1, 30);
        add(p, op, EM_I32, 1, i, NONE, 0);
    }
}

static void add_clip(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i != NONE) {
        const value *x = &p->values[i];
        const uint32_t w = width(add_like(p, c, x, 1, 30));
        add(p, op, wide(x), x->length, i, NONE, x->bits > w ? x->bits : w);
    }
}

static void add_squared_error(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t k = pick(p, c, kinds_beside(x, INT), x->length);
    const uint32_t bits = k == NONE ? 0 : 2 * more_bits(x, &p->values[k]) + width(x->length);
    if (k != NONE && (x->dtype == EM_F32 || bits <= 62)) {
        add(p, op, x->dtype == EM_F32 ? EM_F32 : EM_I64, 1, i, k, bits);
    }
}

static void add_omit(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, WORD | REAL, 0);
    const uint32_t k = i == NONE ? NONE : pick_class(p, c, p->values[i].length);
    if (k != NONE && p->values[k].is_argmax) {
        const value *x = &p->values[i];
        add(p, op, x->dtype, x->length, i, k, x->bits);
    }
}

static void add_select(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, WORD | REAL, 0), k = pick_class(p, c, 0);
    if (i != NONE && k != NONE && p->values[i].length % p->values[k].classes == 0) {
        const value *x = &p->values[i];
        add(p, op, x->dtype, x->length / p->values[k].classes, i, k, x->bits);
    }
}

static void add_gather(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0), n = 1 + choose(c, 40);
    uint32_t index[40];
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    for (uint32_t k = 0; k < n; k++) {
        index[k] = choose(c, x->length);
    }
    add_words(p, index, n);
    add(p, op, wide(x), n, i, NONE, x->bits);
}

static void add_deviation(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t channels = choose_divisor(c, x->length);
    const uint32_t sums = x->bits + width(x->length / channels) + 1;
    if (x->dtype == EM_F32 || (2 * sums <= 62 && x->bits < 30)) {
        add_words(p, &channels, 1);
        add(p, op, wide(x), channels, i, NONE, x->bits + 1);
    }
}

static void add_reduce(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t channels = choose_divisor(c, x->length);
    const uint32_t in_groups = choose(c, 2), all = x->length / channels;
    const uint32_t positions = in_groups ? choose_divisor(c, all) : all;
    const uint32_t bits = x->bits + width(positions);
    if (x->dtype == EM_F32 || bits <= 30) {
        add_words(p, (uint32_t[]){channels, positions}, 1 + in_groups);
        add(p, op, wide(x), x->length / positions, i, NONE, bits);
    }
}

/* Kinds of the first input, and what adds a node. */
const generator GENERATORS[OPS] = {
    [ARGMAX] = {INT | REAL, add_of_one},
    [MAX] = {INT | REAL, add_of_one},
    [SUB] = {INT | REAL, add_of_two},
    [LUT] = {WORD, add_lut},
    [SUM] = {WORD | REAL, add_of_one},
    [TO_F32] = {INT | LONG | REAL, add_of_one},
    [EXP] = {REAL, add_of_one},
    [LOG] = {REAL, add_of_one},
    [ADD] = {WORD | LONG | REAL, add_of_two},
    [MUL] = {REAL, add_of_two},
    [DIV] = {REAL, add_of_two},
    [BOXES] = {NARROW | REAL, add_boxes},
    [TREES] = {INT | REAL, add_trees},
    [EARLY_TREES] = {INT | REAL, add_trees},
    [PERFECT_TREES] = {INT | REAL, add_perfect_trees},
    [OMIT] = {WORD | REAL, add_omit},
    [EXCEEDS] = {INT | REAL, add_exceeds},
    [GATHER] = {INT | REAL, add_gather},
    [REDUCE] = {INT | REAL, add_reduce},
    [AFFINE] = {INT | REAL, add_affine},
    [SELECT] = {WORD | REAL, add_select},
    [DENSITY_TABLES] = {REAL, add_density_tables},
    [KERNELS] = {REAL, add_kernels},
    [DISTANCES] = {REAL, add_distances},
    [LOGSUMEXP] = {REAL, add_logsumexp},
    [CONCAT] = {INT | REAL, add_of_two},
    [HAMMING] = {INT | REAL, add_hamming},
    [CLIP] = {INT | REAL, add_clip},
    [SQUARED_ERROR] = {INT | REAL, add_squared_error},
    [DEVIATION] = {INT | REAL, add_deviation},
};
