/* Test only: nodes with large tables. */
#include "generate.h"

#include <string.h>

/* ---- affine, tables, kernels, distances, logsumexp ------------------------------------------ */

void add_affine(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, INT | REAL, 0), rows = 1 + choose(c, 6);
    if (i == NONE || !has_room(p, 4 * rows * (p->values[i].length + 1))) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t size = rows * x->length;
    if (x->dtype == EM_F32) {
        add_numbers(p, c, size, 0);
        add_numbers(p, c, rows, 0);
        add(p, op, EM_F32, rows, i, NONE, 0);
        return;
    }
    const uint32_t taken = x->bits + width(x->length) + 1;
    if (taken > 30) {
        return;
    }
    const uint32_t room = 30 - taken;
    const uint32_t weight = width(add_shorts(p, c, size, room < 15 ? room : 15));
    const uint32_t bias = width(add_ints(p, c, rows, 29));
    const uint32_t sums = x->bits + weight + width(x->length);
    add(p, op, EM_I32, rows, i, NONE, (sums > bias ? sums : bias) + 1);
}

void add_density_tables(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, REAL, 0);
    const uint32_t shape[] = {1 + choose(c, 4), 1 + choose(c, 9)};
    if (i == NONE ||
        !has_room(p, 8 * p->values[i].length + 2 * shape[0] * shape[1] * p->values[i].length)) {
        return;
    }
    const uint32_t d = p->values[i].length;
    add_numbers(p, c, d, 0);
    add_numbers(p, c, d, 1);
    add_words(p, shape, 2);
    const uint32_t largest = add_shorts(p, c, shape[0] * d * shape[1], 15);
    add(p, op, EM_I32, shape[0], i, NONE, width(largest) + width(d));
}

void add_kernels(program *p, choices *c, uint32_t op) {
    static int8_t centres[9000];
    const uint32_t i = pick(p, c, REAL, 0), each = 1 + choose(c, 3);
    if (i == NONE || !has_room(p, 4 * each * p->values[i].length)) {
        return;
    }
    const uint32_t n = p->values[i].length;
    const uint32_t shape[] = {choose_divisor(c, n), each};
    for (uint32_t k = 0; k < each * n; k++) {
        centres[k] = (int8_t)((int)choose(c, 256) - 128);
    }
    add_words(p, shape, 2);
    add_table(&p->b, EM_I8, each * n, centres);
    add_numbers(p, c, 1, 1);
    add_numbers(p, c, shape[0] * each, 0);
    add(p, op, EM_F32, shape[0] * each, i, NONE, 0);
}

void add_distances(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, REAL, 0), centres = 1 + choose(c, 4);
    if (i != NONE && has_room(p, 4 * centres * p->values[i].length)) {
        add_numbers(p, c, centres * p->values[i].length, 0);
        add(p, op, EM_F32, centres, i, NONE, 0);
    }
}

void add_logsumexp(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, REAL, 0);
    if (i != NONE && has_room(p, 64)) {
        const uint32_t groups = choose_divisor(c, p->values[i].length);
        add_words(p, &groups, 1);
        add(p, op, EM_F32, groups, i, NONE, 0);
    }
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* Two corners of each box, the lower one first, whichever was chosen first. */
static void add_corners(program *p, choices *c, em_dtype dtype, uint32_t count) {
    static uint8_t lower[4 * 1200], upper[4 * 1200];
    for (uint32_t i = 0; i < count; i++) {
        if (dtype == EM_F32) {
            float a = choose_number(c), b = choose_number(c);
            memcpy(lower + 4 * i, a <= b ? &a : &b, 4);
            memcpy(upper + 4 * i, a <= b ? &b : &a, 4);
        } else if (dtype == EM_I16) {
            int16_t a = (int16_t)choose(c, 65536), b = (int16_t)choose(c, 65536);
            memcpy(lower + 2 * i, a <= b ? &a : &b, 2);
            memcpy(upper + 2 * i, a <= b ? &b : &a, 2);
        } else {
            const uint8_t a = (uint8_t)choose(c, 256), b = (uint8_t)choose(c, 256);
            const int ordered = dtype == EM_U8 ? a <= b : (int8_t)a <= (int8_t)b;
            lower[i] = ordered ? a : b;
            upper[i] = ordered ? b : a;
        }
    }
    add_table(&p->b, dtype, count, lower);
    add_table(&p->b, dtype, count, upper);
}

void add_boxes(program *p, choices *c, uint32_t op) {
    const uint32_t i = pick(p, c, NARROW | REAL, 0), k = pick_class(p, c, 0);
    const uint32_t boxes = choose(c, 6);
    if (i == NONE || k == NONE || p->values[i].length * (boxes + 1) > 1000 ||
        !has_room(p, 8 * p->values[i].length * (boxes + 1) + 300)) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t n = x->length;
    add_corners(p, c, x->dtype, boxes * n);
    if (x->dtype == EM_F32) {
        add_numbers(p, c, n, 1);
    } else {
        int32_t weight[1000];
        for (uint32_t d = 0; d < n; d++) {
            const int32_t w = choose_int(c, 29 - x->bits);
            weight[d] = w < 0 ? -w : w > 0 ? w : 1;
        }
        add_table(&p->b, EM_I32, n, weight);
    }
    add_first(p, c, p->values[k].classes, boxes);
    add(p, op, wide(x), 1, i, k, 30);
}

/* ---- trees ---------------------------------------------------------------------------------- */

enum { MOST_NODES = 256 };

typedef struct forest {
    uint32_t nodes[2 * MOST_NODES];
    int32_t values[MOST_NODES];
    uint32_t n, largest;
} forest;

/* One tree from node f->n on, in breadth-first order. Returns its depth. */
static uint32_t add_tree(forest *f, choices *c, const value *x) {
    uint32_t unclaimed = f->n + 1, level_end = unclaimed, depth = 0, deepest = choose(c, 5);
    for (; f->n < unclaimed; f->n++) {
        if (f->n == level_end) {
            depth++;
            level_end = unclaimed;
        }
        uint32_t *node = f->nodes + 2 * f->n;
        const int inner = depth < deepest && unclaimed + 2 <= MOST_NODES && choose(c, 4) > 0;
        f->values[f->n] = inner ? 0 : choose_int(c, 20);
        if (inner) {
            const float number = choose_number(c);
            const int32_t code = choose_int(c, 8);
            memcpy(node, x->dtype == EM_F32 ? (const void *)&number : &code, 4);
            node[1] = choose(c, x->length) + (unclaimed << 16);
            unclaimed += 2;
        } else {
            const int32_t v = f->values[f->n];
            const uint32_t size = v < 0 ? (uint32_t)-v : (uint32_t)v;
            node[0] = x->dtype == EM_F32 ? 0x7F7FFFFF : 0x7FFFFFFF;
            node[1] = f->n << 16;
            f->largest = size > f->largest ? size : f->largest;
        }
    }
    return depth;
}

void add_trees(program *p, choices *c, uint32_t op) {
    static forest f;
    uint32_t roots[2 * 10];
    const uint32_t i = pick(p, c, INT | REAL, 0), wanted = 1 + choose(c, 10);
    if (i == NONE || !has_room(p, 12 * MOST_NODES + 100)) {
        return;
    }
    f.n = f.largest = 0;
    uint32_t trees = 0;
    for (; trees < wanted && f.n < MOST_NODES; trees++) {
        roots[2 * trees] = f.n;
        roots[2 * trees + 1] = add_tree(&f, c, &p->values[i]);
    }
    add_words(p, f.nodes, 2 * f.n);
    add_table(&p->b, EM_I32, f.n, f.values);
    add_words(p, roots, 2 * trees);
    add(p, op, EM_I32, 1, i, NONE, width(f.largest) + width(trees));
}

/* Trees of one height, whose tests and exits are anything that the format permits. */
void add_perfect_trees(program *p, choices *c, uint32_t op) {
    static uint32_t keys[64 * 6];
    static int16_t features[64 * 6], exits[64 * 6], values[9 * 4];
    const uint32_t i = pick(p, c, INT | REAL, 0), trees = 1 + choose(c, 6);
    const uint32_t shape[] = {1 + choose(c, 6), 1 + choose(c, 4)}, leaves = 1 + choose(c, 9);
    const uint32_t tests = trees * ((1u << shape[0]) - 1), ends = trees << shape[0];
    if (i == NONE || !has_room(p, 4 * p->values[i].length + 8 * ends + 500)) {
        return;
    }
    const value *x = &p->values[i];
    for (uint32_t k = 0; k < tests; k++) {
        const float number = choose_number(c) + 0.0f; /* no -0 */
        uint32_t bits = (uint32_t)choose_int(c, 8);
        if (x->dtype == EM_F32) {
            memcpy(&bits, &number, 4);
            bits = bits == 0x80000000 ? 0 : bits;
        }
        keys[k] = x->dtype == EM_F32 && bits >> 31 ? ~bits : bits ^ 0x80000000;
        features[k] = (int16_t)choose(c, x->length < 0x7FFF ? x->length : 0x7FFF);
    }
    for (uint32_t k = 0; k < ends; k++) {
        exits[k] = (int16_t)choose(c, leaves);
    }
    uint32_t largest = 0;
    for (uint32_t k = 0; k < leaves * shape[1]; k++) {
        const int32_t v = choose_int(c, 14);
        const uint32_t size = v < 0 ? (uint32_t)-v : (uint32_t)v;
        values[k] = (int16_t)v;
        largest = size > largest ? size : largest;
    }
    add_words(p, shape, 2);
    add_words(p, keys, tests);
    add_table(&p->b, EM_I16, tests, features);
    add_table(&p->b, EM_I16, ends, exits);
    add_table(&p->b, EM_I16, leaves * shape[1], values);
    add(p, op, EM_I32, shape[1], i, NONE, width(largest) + width(trees));
}

/* ---- hamming -------------------------------------------------------------------------------- */

void add_hamming(program *p, choices *c, uint32_t op) {
    static uint32_t words[3000];
    const uint32_t i = pick(p, c, INT | REAL, 0), k = pick_class(p, c, 0);
    if (i == NONE || k == NONE || p->values[i].length > 2048) {
        return;
    }
    const value *x = &p->values[i];
    const uint32_t classes = p->values[k].classes, patterns = choose(c, 6);
    const uint32_t chosen = choose(c, 2) ? 1 + choose(c, 40) : 0;
    const uint32_t bits = chosen > 0 ? chosen : x->length, each = (bits + 31) / 32;
    if (!has_room(p, 4 * (x->length + classes * (chosen + 1) + patterns * each) + 100)) {
        return;
    }
    add_like(p, c, x, x->length, 30);
    for (uint32_t j = 0; j < classes * chosen; j++) {
        words[j] = choose(c, x->length);
    }
    add_words(p, words, classes * chosen);
    for (uint32_t j = 0; j < patterns * each; j++) {
        const uint32_t unused = j % each == each - 1 && bits % 32 ? 32 - bits % 32 : 0;
        words[j] = choose_bits(c) & (0xFFFFFFFFu >> unused);
    }
    add_words(p, words, patterns * each);
    add_first(p, c, classes, patterns);
    add(p, op, EM_I32, 1, i, k, width(bits + 1));
}
