/*
 * Validation of the nodes: each input, result and table is what the op prescribes, and no integer
 * can wrap. Evaluation runs without checks because of what is proved here.
 */
#include "em_ops.h"

static uint32_t tap_bits(uint32_t dtype) {
    return dtype == EM_I8 ? 7 : dtype == EM_U8 ? 8 : dtype == EM_I16 ? 15 : 0;
}

EM_INTERNAL em_facts em_facts_of(const em_monitor *m, uint32_t id) {
    em_facts f;
    if (id < m->n_taps) {
        const em_tap_record *tap = em_tap_at(m, id);
        f = (em_facts){tap->dtype, tap->length, tap_bits(tap->dtype)};
    } else {
        const em_node *node = em_node_at(m, id - m->n_taps);
        f = (em_facts){node->dtype, node->length, node->bits};
    }
    return f;
}

EM_INTERNAL uint32_t em_classes_of(const em_monitor *m, uint32_t id) {
    if (id < m->n_taps) {
        return 0;
    }
    const em_node *node = em_node_at(m, id - m->n_taps);
    if (node->op == EM_OP_EXCEEDS) {
        return 2;
    }
    return node->op == EM_OP_ARGMAX ? em_facts_of(m, node->x).length : 0;
}

/* N6, N7, A5: the next tables in turn, as many as the op has */
static em_status check_tables_taken(em_reader *r, const em_node *node, uint32_t count) {
    if (node->tables != count) {
        return EM_E_NODE; /* N7 */
    }
    if (count == 0) {
        return node->first_table == EM_NONE ? EM_OK : EM_E_NODE; /* N6 */
    }
    if (node->first_table > r->n_tables || count > r->n_tables - node->first_table) {
        return EM_E_NODE; /* N6 */
    }
    if (node->first_table != r->tables_taken) {
        return EM_E_TABLE; /* A5 */
    }
    r->tables_taken += count;
    return EM_OK;
}

static em_status check_result(em_reader *r, const em_candidate *c) {
    const em_node *node = c->node;
    const em_facts result = c->result;
    if (node->dtype != result.dtype || node->length != result.length ||
        result.length > EM_MAX_LENGTH) {
        return EM_E_NODE; /* N2, N3 */
    }
    const uint32_t bits = em_is_f32(result.dtype) ? 0 : result.bits;
    if (node->bits != bits || bits > (result.dtype == EM_I64 ? 62u : 30u)) {
        return EM_E_BITS; /* N8 */
    }
    if (node->offset != r->used) {
        return EM_E_NODE; /* N9 */
    }
    const uint32_t bytes =
        em_round_up(result.length * em_size_of(result.dtype), 8) + em_round_up(c->scratch, 8);
    if (bytes > EM_MAX_WORKSPACE - r->used) {
        return EM_E_NODE; /* P6 */
    }
    r->used += bytes;
    return node->reserved == 0 ? EM_OK : EM_E_RESERVED; /* N10 */
}

static em_status check_node(em_reader *r, uint32_t i) {
    const em_node *node = em_node_at(&r->m, i);
    const uint32_t id = r->m.n_taps + i;
    if (node->op == 0 || node->op >= EM_OP_COUNT) {
        return EM_E_NODE; /* N1 */
    }
    const em_arity arity = em_arity_of(node->op);
#ifdef EDGEMON_SOME_OPS
    if (arity.inputs == 0) {
        r->lacking = node->op;
        return EM_E_OP_LEFT_OUT;
    }
#endif
    if (!EM_FLOATS && node->dtype == EM_F32) {
        r->lacking = EM_OP_COUNT;
        return EM_E_OP_LEFT_OUT;
    }
    if (node->x >= id) {
        return EM_E_NODE; /* N4 */
    }
    if (arity.inputs == 2 ? node->y >= id : node->y != EM_NONE) {
        return EM_E_NODE; /* N5 */
    }
    em_candidate c = {.r = r, .node = node, .x = em_facts_of(&r->m, node->x)};
    c.y = arity.inputs == 2 ? em_facts_of(&r->m, node->y) : c.x;
    if (!em_check_types(&c)) {
        return EM_E_NODE;
    }
    em_status status = check_tables_taken(r, node, arity.tables);
    if (status == EM_OK) {
        status = em_check_tables(&c);
    }
    return status == EM_OK ? check_result(r, &c) : status;
}

EM_INTERNAL em_status em_check_nodes(em_reader *r) {
    for (uint32_t i = 0; i < r->m.n_nodes; i++) {
        const em_status status = check_node(r, i);
        if (status != EM_OK) {
            return status;
        }
    }
    if (r->tables_taken != r->n_tables) {
        return EM_E_TABLE; /* A5 */
    }
    if (r->m.workspace_size != r->used) {
        return EM_E_NODE; /* P6 */
    }
    if (r->m.predicted >= r->m.n_taps + r->m.n_nodes) {
        return EM_E_NODE; /* P5 */
    }
    r->m.n_classes = em_classes_of(&r->m, r->m.predicted);
    return r->m.n_classes > 0 ? EM_OK : EM_E_NODE; /* P5 */
}

/* Section 7.12 */
EM_INTERNAL uint64_t em_work_of(const em_monitor *m) {
    uint64_t work = 0; /* below 2^64: 1024 nodes of 2^30 at most */
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_tap_record *tap = em_tap_at(m, i);
        work += em_is_f32(tap->dtype) ? tap->length : 0; /* looked through for NaN and infinity */
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const em_node *node = em_node_at(m, i);
        work += em_work_of_node(m, node, em_facts_of(m, node->x).length);
    }
    return work;
}
