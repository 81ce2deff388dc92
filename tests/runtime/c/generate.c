#include "generate.h"

#include <string.h>

enum { MOST_DATA = 9000 };

/* ---- what there is -------------------------------------------------------------------------- */

static uint32_t kind_of(em_dtype dtype) {
    switch (dtype) {
    case EM_F32:
        return REAL;
    case EM_I32:
        return WORD;
    case EM_I64:
        return LONG;
    default:
        return NARROW;
    }
}

uint32_t pick(const program *p, choices *c, uint32_t kinds, uint32_t length) {
    const uint32_t first = choose(c, p->n_values);
    for (uint32_t k = 0; k < p->n_values; k++) {
        const uint32_t i = (first + k) % p->n_values;
        const value *v = &p->values[i];
        if ((kind_of(v->dtype) & kinds) != 0 && (length == 0 || v->length == length)) {
            return i;
        }
    }
    return NONE;
}

uint32_t pick_class(const program *p, choices *c, uint32_t classes) {
    const uint32_t first = choose(c, p->n_values);
    for (uint32_t k = 0; k < p->n_values; k++) {
        const uint32_t i = (first + k) % p->n_values, found = p->values[i].classes;
        if (found > 0 && found <= 64 && (classes == 0 || found == classes)) {
            return i;
        }
    }
    return NONE;
}

int has_room(const program *p, uint32_t size) { return p->b.data.size + size <= MOST_DATA; }

/* ---- what is added -------------------------------------------------------------------------- */

void add(program *p, uint32_t op, em_dtype dtype, uint32_t length, uint32_t x, uint32_t y,
         uint32_t bits) {
    const int is_argmax = op == ARGMAX;
    const uint32_t classes = is_argmax ? p->values[x].length : op == EXCEEDS ? 2 : 0;
    p->reached[op][p->values[x].dtype]++;
    add_node(&p->b, op, dtype, length, x, y, dtype == EM_F32 ? 0 : bits);
    p->values[p->n_values++] =
        (value){dtype, length, dtype == EM_F32 ? 0 : bits, classes, (uint32_t)is_argmax};
}

em_dtype wide(const value *x) { return x->dtype == EM_F32 ? EM_F32 : EM_I32; }

uint32_t width(uint32_t n) {
    uint32_t w = 0;
    while (w < 32 && ((uint64_t)1 << w) < n) {
        w++;
    }
    return w;
}

uint32_t choose_divisor(choices *c, uint32_t n) {
    uint32_t d = 1 + choose(c, n);
    while (n % d != 0) {
        d--;
    }
    return d;
}

static uint32_t magnitude(int32_t v) { return v < 0 ? 0u - (uint32_t)v : (uint32_t)v; }

void add_numbers(program *p, choices *c, uint32_t count, int positive) {
    static float numbers[MOST_DATA / 4];
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = positive ? choose_positive(c) : choose_number(c);
    }
    add_table(&p->b, EM_F32, count, numbers);
}

uint32_t add_ints(program *p, choices *c, uint32_t count, uint32_t bits) {
    static int32_t ints[MOST_DATA / 4];
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        ints[i] = choose_int(c, bits);
        largest = magnitude(ints[i]) > largest ? magnitude(ints[i]) : largest;
    }
    add_table(&p->b, EM_I32, count, ints);
    return largest;
}

uint32_t add_shorts(program *p, choices *c, uint32_t count, uint32_t bits) {
    static int16_t shorts[MOST_DATA / 2];
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t v = choose_int(c, bits);
        shorts[i] = (int16_t)(v > INT16_MAX ? INT16_MAX : v);
        largest = magnitude(shorts[i]) > largest ? magnitude(shorts[i]) : largest;
    }
    add_table(&p->b, EM_I16, count, shorts);
    return largest;
}

void add_words(program *p, const uint32_t *words, uint32_t count) {
    add_table(&p->b, EM_U32, count, words);
}

uint32_t add_like(program *p, choices *c, const value *x, uint32_t count, uint32_t bits) {
    if (x->dtype == EM_F32) {
        add_numbers(p, c, count, 0);
        return 0;
    }
    return add_ints(p, c, count, bits);
}

void add_first(program *p, choices *c, uint32_t classes, uint32_t count) {
    uint32_t first[65] = {0};
    for (uint32_t i = 0; i < classes; i++) {
        const uint32_t left = count - first[i];
        first[i + 1] = i + 1 == classes ? count : first[i] + choose(c, left + 1);
    }
    add_words(p, first, classes + 1);
}

/* ---- a program ------------------------------------------------------------------------------ */

static void add_taps(program *p, choices *c) {
    static const em_dtype dtypes[] = {EM_F32, EM_I8, EM_U8, EM_I16};
    static const uint32_t lengths[] = {3,  1,  2,  4,  5,  8,   9,    16,
                                       17, 24, 33, 64, 65, 130, 2080, 4160};
    const uint32_t n = 1 + choose(c, MOST_TAPS);
    for (uint32_t i = 0; i < n; i++) {
        const em_dtype dtype = dtypes[choose(c, 4)];
        const uint32_t longest = choose(c, 8) == 0 ? 16 : 13;
        const uint32_t length = lengths[choose(c, longest)];
        const uint32_t bits = dtype == EM_I8 ? 7 : dtype == EM_U8 ? 8 : dtype == EM_I16 ? 15 : 0;
        add_tap(&p->b, dtype, length);
        p->values[p->n_values++] = (value){dtype, length, bits, 0, 0};
    }
}

static void add_nodes(program *p, choices *c) {
    const uint32_t wanted = 1 + choose(c, 24);
    for (uint32_t i = 0; i < wanted && p->n_values < MOST_VALUES; i++) {
        const uint32_t op = 1 + choose(c, OPS - 1);
        if (has_room(p, 256) && GENERATORS[op].add != NULL) {
            GENERATORS[op].add(p, c, op);
        }
    }
}

static em_number choose_threshold(choices *c, em_dtype dtype) {
    em_number n = {.i = 0};
    if (dtype == EM_F32) {
        n.f = choose_number(c);
    } else {
        n.i = choose_int(c, 30);
    }
    return n;
}

static void add_monitors(program *p, choices *c, uint32_t first) {
    const uint32_t wanted = 1 + choose(c, 3), n_taps = p->b.n_taps;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t score = pick(p, c, WORD | LONG | REAL, 1);
        score = score == NONE || score < n_taps ? first : score;
        const em_dtype dtype = p->values[score].dtype;
        const em_number threshold = choose_threshold(c, dtype);
        add_monitor(&p->b, score, threshold, threshold);
    }
}

void generate(program *p, choices *c, artifact *a) {
    start(&p->b);
    p->n_values = 0;
    add_taps(p, c);
    const uint32_t x = choose(c, p->b.n_taps), first = p->n_values;
    add(p, ARGMAX, EM_I32, 1, x, NONE, width(p->values[x].length));
    add_nodes(p, c);
    add_monitors(p, c, first);
    const uint32_t class = pick_class(p, c, 0);
    finish(&p->b, class == NONE ? first : class, a);
}
