/* The op trees, section 7.5 of FORMAT.md: a fixed number of steps; leaves lead to themselves. */
#include "em_ops.h"

#if EM_HAS(TREES)
#define MAX_TREE_NODES 65536u

EM_TYPES(trees) {
    c->result = (em_facts){EM_I32, 1, 0};
    return em_is_number(c->x);
}

/* R2, R3 */
static int is_tree_node(em_tree_node node, int leaf, int32_t value, em_facts x) {
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
static uint32_t check_tree(const em_tree_node *nodes, const em_i32 *values, uint32_t n, uint32_t at,
                           uint32_t depth, em_facts x) {
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
        if (!is_tree_node(nodes[i], leaf, values[i], x)) {
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
    const uint32_t n = t[1].count, trees = t[2].count / 2;
    if (n < 1 || n > MAX_TREE_NODES || trees < 1 || !em_has_type(&t[0], EM_U32, (uint64_t)n * 2) ||
        t[1].dtype != EM_I32 || !em_has_type(&t[2], EM_U32, (uint64_t)trees * 2)) {
        return EM_E_TABLE;
    }
    const em_tree_node *nodes = (const em_tree_node *)em_data_of(&c->r->m, c->node, 0);
    const em_i32 *values = (const em_i32 *)em_data_of(&c->r->m, c->node, 1);
    const em_tree_root *roots = (const em_tree_root *)em_data_of(&c->r->m, c->node, 2);
    uint32_t end = 0; /* of the tree before */
    for (uint32_t i = 0; i < trees; i++) {
        if (roots[i].node != end || end >= n) {
            return EM_E_TREE; /* R1 */
        }
        end = check_tree(nodes, values, n, end, roots[i].depth, c->x);
        if (end == 0) {
            return EM_E_TREE;
        }
    }
    if (end != n) {
        return EM_E_TREE; /* R1 */
    }
    c->result.bits = em_width(em_largest_magnitude(values, n)) + em_width(trees);
    return EM_OK;
}

EM_WORK(trees) {
    const uint32_t trees = em_table_at(m, node->first_table + 2)->count / 2;
    const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
    uint64_t work = trees;
    for (uint32_t i = 0; i < trees; i++) {
        work += roots[i].depth;
    }
    return work;
}

/* One step without a branch; `dtype` is a constant at each call. No integer exceeds the threshold
 * of a leaf. An infinity exceeds every number, so a float is compared with none there. */
EM_INLINE uint32_t step(uint32_t dtype, const void *x, const em_tree_node *nodes, uint32_t at) {
    const em_tree_node node = nodes[at];
    const uint32_t feature = node.child & 0xFFFF, left = node.child >> 16;
    if (em_is_f32(dtype)) {
        const float threshold = em_float_of(left == at ? EM_NAN : node.threshold);
        return left + (uint32_t)(((const em_f32 *)x)[feature] > threshold);
    }
    return left + (uint32_t)(em_int_at(dtype, x, feature) > (int32_t)node.threshold);
}

/* Four trees at a time: a step waits for memory, and the other three fill the wait. */
EM_INLINE int32_t sum_of_trees(uint32_t dtype, const void *x, const em_tree_node *nodes,
                               const em_i32 *values, const em_tree_root *roots, uint32_t trees) {
    int32_t sum = 0;
    uint32_t t = 0;
    for (; !EM_SMALL && trees - t >= 4; t += 4) {
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
        sum += values[a] + values[b] + values[c] + values[d];
    }
    for (; t < trees; t++) {
        uint32_t at = roots[t].node;
        for (uint32_t depth = roots[t].depth; depth > 0; depth--) {
            at = step(dtype, x, nodes, at);
        }
        sum += values[at];
    }
    return sum;
}

EM_RUN(trees) {
    const em_tree_node *nodes = (const em_tree_node *)em_data_of(m, node, 0);
    const em_i32 *values = (const em_i32 *)em_data_of(m, node, 1);
    const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
    em_i32 *sum = (em_i32 *)out;
    const uint32_t trees = em_table_at(m, node->first_table + 2)->count / 2;
    if (EM_SMALL || em_is_f32(x.dtype)) {
        *sum = sum_of_trees(EM_SMALL ? x.dtype : EM_F32, x.data, nodes, values, roots, trees);
    } else {
        EM_OF_INTS(x.dtype, dtype, *sum = sum_of_trees(dtype, x.data, nodes, values, roots, trees));
    }
}
#endif
