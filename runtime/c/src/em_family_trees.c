/* The ops trees and early_trees, section 7.5 of FORMAT.md: leaves lead to themselves. */
#include "em_ops.h"

#if EM_HAS(TREES) || EM_HAS(EARLY_TREES)
#define MAX_TREE_NODES 65536u

EM_TYPES(trees) {
    c->result = (em_facts){EM_I32, 1, 0};
    return em_is_number(c->x);
}

/* R2, R3 */
static int is_tree_node(em_tree_node node, int leaf, uint32_t value, em_facts x) {
    const uint32_t feature = node.child & 0xFFFF;
    if (leaf) {
        const uint32_t highest = em_is_f32(x.dtype) ? UINT32_C(0x7F7FFFFF) : UINT32_C(0x7FFFFFFF);
        return feature == 0 && node.threshold == highest;
    }
    return feature < x.length && value == 0 &&
           (!em_is_f32(x.dtype) || em_is_finite(node.threshold));
}

/*
 * One tree from its root at `at` on. Children must be the next nodes that nobody has claimed yet
 * (R1): then every node has one parent before it, which excludes cycles, sharing and orphans.
 * Returns the node after the tree, or 0 for an invalid one.
 */
static uint32_t check_tree(const em_tree_node *nodes, const em_i32 *values, uint32_t n,
                           uint32_t outputs, uint32_t at, uint32_t depth, em_facts x) {
    uint32_t unclaimed = at + 1;
    uint32_t level_end = unclaimed; /* where the nodes of the present depth end */
    uint32_t deepest = 0;
    for (uint32_t i = at; i < unclaimed; i++) {
        if (i == level_end) {
            deepest++;
            level_end = unclaimed;
        }
        const uint32_t left = nodes[i].child >> 16;
        const int leaf = left == i;
        const uint32_t value = em_largest_magnitude(values + (size_t)i * outputs, outputs);
        if (!is_tree_node(nodes[i], leaf, value, x)) {
            return 0;
        }
        if (!leaf) {
            if (left != unclaimed || n - unclaimed < 2) {
                return 0; /* R1 */
            }
            unclaimed += 2;
        }
    }
    return deepest == depth ? unclaimed : 0; /* R4 */
}

EM_TABLES(trees) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    const uint32_t n = t[0].count / 2, trees = t[2].count / 2;
    if (n < 1 || n > MAX_TREE_NODES || trees < 1 || !em_has_type(&t[0], EM_U32, (uint64_t)n * 2) ||
        t[1].count < n || !em_has_type(&t[1], EM_I32, t[1].count - t[1].count % n) ||
        !em_has_type(&t[2], EM_U32, (uint64_t)trees * 2)) {
        return EM_E_TABLE;
    }
    const uint32_t outputs = t[1].count / n;
    const em_tree_node *nodes = (const em_tree_node *)em_data_of(&c->r->m, c->node, 0);
    const em_i32 *values = (const em_i32 *)em_data_of(&c->r->m, c->node, 1);
    const em_tree_root *roots = (const em_tree_root *)em_data_of(&c->r->m, c->node, 2);
    uint32_t end = 0; /* of the tree before */
    for (uint32_t i = 0; i < trees; i++) {
        if (roots[i].node != end || end >= n) {
            return EM_E_TREE; /* R1 */
        }
        end = check_tree(nodes, values, n, outputs, end, roots[i].depth, c->x);
        if (end == 0) {
            return EM_E_TREE;
        }
    }
    if (end != n) {
        return EM_E_TREE; /* R1 */
    }
    c->result.length = outputs;
    c->result.bits = em_width(em_largest_magnitude(values, t[1].count)) + em_width(trees);
    return EM_OK;
}

EM_WORK(trees) {
    const uint32_t trees = em_table_at(m, node->first_table + 2)->count / 2;
    const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
    uint64_t work = (uint64_t)trees * node->length;
    for (uint32_t i = 0; i < trees; i++) {
        work += roots[i].depth;
    }
    return work;
}

/* A forest that runs; `outputs` sums. */
typedef struct forest {
    const em_tree_node *nodes;
    const em_i32 *values;
    const em_tree_root *roots;
    uint32_t trees, outputs;
    em_i32 *sums;
} forest;

static forest forest_of(const em_monitor *m, const em_node *node, void *out) {
    const forest f = {.nodes = (const em_tree_node *)em_data_of(m, node, 0),
                      .values = (const em_i32 *)em_data_of(m, node, 1),
                      .roots = (const em_tree_root *)em_data_of(m, node, 2),
                      .trees = em_table_at(m, node->first_table + 2)->count / 2,
                      .outputs = node->length,
                      .sums = (em_i32 *)out};
    memset(out, 0, node->length * sizeof *f.sums);
    return f;
}

EM_INLINE void add_leaf(const forest *f, uint32_t at) {
    const em_i32 *values = f->values + (size_t)at * f->outputs;
    for (uint32_t k = 0; k < f->outputs; k++) {
        f->sums[k] += values[k];
    }
}

/* Does x exceed the threshold of an inner node? `dtype` is a constant at each call. */
EM_INLINE uint32_t goes_right(uint32_t dtype, const void *x, const em_tree_node *node) {
    const uint32_t feature = node->child & 0xFFFF;
    if (em_is_f32(dtype)) {
        return (uint32_t)(((const em_f32 *)x)[feature] > em_float_of(node->threshold));
    }
    return (uint32_t)(em_int_at(dtype, x, feature) > (int32_t)node->threshold);
}
#endif

#if EM_HAS(TREES) || (EM_SMALL && EM_HAS(EARLY_TREES))
/* One step without a branch. No integer exceeds the threshold of a leaf. An infinity exceeds every
 * number, so a float is compared with none there. */
EM_INLINE uint32_t step(uint32_t dtype, const void *x, const em_tree_node *nodes, uint32_t at) {
    em_tree_node node = nodes[at];
    const uint32_t left = node.child >> 16;
    if (em_is_f32(dtype) && left == at) {
        node.threshold = EM_NAN;
    }
    return left + goes_right(dtype, x, &node);
}

/* Four trees at a time: a step waits for memory, and the other three fill the wait. The small form
 * takes one at a time, and leaves it at its leaf if `early`. */
EM_SHARED void sum_trees(uint32_t dtype, const void *x, const forest *f, EM_UNUSED int early) {
    const em_tree_node *nodes = f->nodes;
    const em_tree_root *roots = f->roots;
    uint32_t t = 0;
#if !EM_SMALL
    for (; f->trees - t >= 4; t += 4) {
        uint32_t a = roots[t].node, b = roots[t + 1].node;
        uint32_t c = roots[t + 2].node, d = roots[t + 3].node;
        uint32_t depth = 0;
        for (uint32_t k = t; k < t + 4; k++) {
            depth = roots[k].depth > depth ? roots[k].depth : depth;
        }
        for (; depth > 0; depth--) {
            a = step(dtype, x, nodes, a);
            b = step(dtype, x, nodes, b);
            c = step(dtype, x, nodes, c);
            d = step(dtype, x, nodes, d);
        }
        add_leaf(f, a);
        add_leaf(f, b);
        add_leaf(f, c);
        add_leaf(f, d);
    }
#endif
    for (; t < f->trees; t++) {
        uint32_t at = roots[t].node;
        for (uint32_t depth = roots[t].depth; depth > 0; depth--) {
            const uint32_t next = step(dtype, x, nodes, at);
            if (EM_SMALL && early && next == at) {
                break;
            }
            at = next;
        }
        add_leaf(f, at);
    }
}
#endif

#if EM_HAS(EARLY_TREES) && !EM_SMALL
/* Each tree as far as its leaf. Children lie behind their parents (R1), so every walk ends. */
EM_INLINE void sum_early(uint32_t dtype, const void *x, const forest *f) {
    const em_tree_node *nodes = f->nodes;
    int32_t sum = 0;
    for (uint32_t t = 0; t < f->trees; t++) {
        size_t at = f->roots[t].node;
        for (;;) {
            const em_tree_node *node = nodes + at;
            const size_t left = node->child >> 16;
            if (left == at) {
                break;
            }
            at = left + goes_right(dtype, x, node);
        }
        if (f->outputs == 1) {
            sum += f->values[at];
        } else {
            add_leaf(f, (uint32_t)at);
        }
    }
    f->sums[0] += sum;
}
#endif

#if EM_HAS(TREES)
EM_RUN(trees) {
    const forest f = forest_of(m, node, out);
    if (EM_SMALL || em_is_f32(x.dtype)) {
        sum_trees(EM_SMALL ? x.dtype : EM_F32, x.data, &f, 0);
    } else {
        EM_OF_INTS(x.dtype, dtype, sum_trees(dtype, x.data, &f, 0));
    }
}
#endif

#if EM_HAS(EARLY_TREES)
EM_RUN(early_trees) {
    const forest f = forest_of(m, node, out);
#if EM_SMALL
    sum_trees(x.dtype, x.data, &f, 1);
#else
    if (em_is_f32(x.dtype)) {
        sum_early(EM_F32, x.data, &f);
    } else {
        EM_OF_INTS(x.dtype, dtype, sum_early(dtype, x.data, &f));
    }
#endif
}
#endif
