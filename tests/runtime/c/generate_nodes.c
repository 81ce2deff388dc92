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
    const uint32_t kinds = op == ARGMAX || op == MAX ? INT | REAL
                           : op == SUM               ? WORD | REAL
                           : op == EXP || op == LOG  ? (uint32_t)REAL
                                                     : INT | LONG | REAL;
    const uint32_t i = pick(p, c, kinds, 0);
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
    const uint32_t kinds = op == SUB || op == CONCAT ? INT | REAL
                           : op == ADD               ? WORD | LONG | REAL
                                                     : (uint32_t)REAL;
    const uint32_t i = pick(p, c, kinds, 0);
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

static void add_lut(program *p, choices *c) {
    const uint32_t i = pick(p, c, WORD, 0);
    if (i != NONE) {
        const uint32_t largest = add_ints(p, c, 1 + choose(c, 12), 30);
        add_ints(p, c, 1, 30);
        add(p, LUT, EM_I32, p->values[i].length, i, NONE, width(largest));
    }
}

static void add_exceeds(program *p, choices *c) {
    const uint32_t i = pick(p, c, INT | REAL, 1);
    if (i != NONE) {
        add_like(p, c, &p->values[i], 1, 30);
        add(p, EXCEEDS, EM_I32, 1, i, NONE, 0);
    }
}

static void add_clip(program *p, choices *c) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i != NONE) {
        const value *x = &p->values[i];
        const uint32_t w = width(add_like(p, c, x, 1, 30));
        add(p, CLIP, wide(x), x->length, i, NONE, x->bits > w ? x->bits : w);
    }
}

static void add_omit(program *p, choices *c) {
    const uint32_t i = pick(p, c, WORD | REAL, 0);
    const uint32_t k = i == NONE ? NONE : pick_class(p, c, p->values[i].length);
    if (k != NONE && p->values[k].is_argmax) {
        const value *x = &p->values[i];
        add(p, OMIT, x->dtype, x->length, i, k, x->bits);
    }
}

static void add_select(program *p, choices *c) {
    const uint32_t i = pick(p, c, WORD | REAL, 0), k = pick_class(p, c, 0);
    if (i != NONE && k != NONE && p->values[i].length % p->values[k].classes == 0) {
        const value *x = &p->values[i];
        add(p, SELECT, x->dtype, x->length / p->values[k].classes, i, k, x->bits);
    }
}

static void add_gather(program *p, choices *c) {
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
    add(p, GATHER, wide(x), n, i, NONE, x->bits);
}

static void add_reduce(program *p, choices *c) {
    const uint32_t i = pick(p, c, INT | REAL, 0);
    if (i == NONE) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t channels = choose_divisor(c, x->length);
    const uint32_t bits = x->bits + width(x->length / channels);
    if (x->dtype == EM_F32 || bits <= 30) {
        add_words(p, &channels, 1);
        add(p, REDUCE, wide(x), channels, i, NONE, bits);
    }
}

void add_plain(program *p, choices *c, uint32_t op) {
    if (!has_room(p, 256)) {
        return;
    }
    switch (op) {
    case LUT:
        add_lut(p, c);
        break;
    case OMIT:
        add_omit(p, c);
        break;
    case EXCEEDS:
        add_exceeds(p, c);
        break;
    case GATHER:
        add_gather(p, c);
        break;
    case REDUCE:
        add_reduce(p, c);
        break;
    case SELECT:
        add_select(p, c);
        break;
    case CLIP:
        add_clip(p, c);
        break;
    case SUB:
    case ADD:
    case MUL:
    case DIV:
    case CONCAT:
        add_of_two(p, c, op);
        break;
    default: /* argmax, max, sum, to_f32, exp, log */
        add_of_one(p, c, op);
        break;
    }
}
