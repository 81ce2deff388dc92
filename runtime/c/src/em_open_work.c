/* The work of an evaluation, section 7.12 of FORMAT.md, of nodes that have been validated. */
#include "em_open.h"

#define TRANSCENDENTAL 16u /* operations of an exponential or a logarithm, and some */

/* Of things that classes share out: the most that one class has. */
static uint64_t largest_share(const em_u32 *first, uint32_t classes) {
    uint32_t most = 0;
    for (uint32_t c = 0; c < classes; c++) {
        most = em_larger(most, first[c + 1] - first[c]);
    }
    return most;
}

static uint64_t work_of_boxes(const em_monitor *m, const em_node *node, uint32_t n) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint64_t most = largest_share((const em_u32 *)em_data_of(m, node, 3), t[3].count - 1);
    return most > 0 ? 2 * most * n : n;
}

static uint64_t work_of_trees(const em_monitor *m, const em_node *node) {
    const uint32_t trees = em_table_at(m, node->first_table + 2)->count / 2;
    const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
    uint64_t work = trees;
    for (uint32_t i = 0; i < trees; i++) {
        work += roots[i].depth;
    }
    return work;
}

static uint64_t work_of_hamming(const em_monitor *m, const em_node *node, uint32_t n) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint32_t classes = t[3].count - 1;
    const uint32_t bits = t[1].count > 0 ? t[1].count / classes : n;
    const uint64_t most = largest_share((const em_u32 *)em_data_of(m, node, 3), classes);
    return bits + most * ((bits + 31) / 32);
}

static uint64_t work_of_node(const em_monitor *m, const em_node *node) {
    const uint32_t n = em_facts_of(m, node->x).length;
    switch (node->op) {
    case EM_OP_BOXES:
        return work_of_boxes(m, node, n);
    case EM_OP_TREES:
        return work_of_trees(m, node);
    case EM_OP_HAMMING:
        return work_of_hamming(m, node, n);
    case EM_OP_AFFINE:
    case EM_OP_DISTANCES:
        return em_table_at(m, node->first_table)->count;
    case EM_OP_KERNELS:
        return em_table_at(m, node->first_table + 1)->count;
    case EM_OP_EXP:
    case EM_OP_LOG:
        return TRANSCENDENTAL * (uint64_t)n;
    case EM_OP_LOGSUMEXP:
        return TRANSCENDENTAL * ((uint64_t)n + node->length);
    case EM_OP_TABLES:
        return (uint64_t)node->length * n;
    default:
        return em_larger(n, node->length);
    }
}

EM_INTERNAL uint64_t em_work_of(const em_monitor *m) {
    uint64_t work = 0; /* below 2^64: 1024 nodes of 2^30 at most */
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_tap_record *tap = em_tap_at(m, i);
        work += tap->dtype == EM_F32 ? tap->length : 0; /* looked through for NaN and infinity */
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        work += work_of_node(m, em_node_at(m, i));
    }
    return work;
}
