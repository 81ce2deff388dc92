/*
 * Validation of the nodes: each input, result and table is what the op prescribes, and no integer
 * can wrap. Evaluation runs without checks because of what is proved here.
 */
#include "em_open.h"

#define EM_MAX_TREE_NODES 65536u

/* ---- what each op prescribes -------------------------------------------------------------- */

static int is_int(uint32_t dtype) {
    return dtype == EM_I8 || dtype == EM_U8 || dtype == EM_I16 || dtype == EM_I32;
}

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

/* Inputs and tables of each op. */
static const struct {
    uint8_t inputs, tables;
} OPS[EM_OP_COUNT] = {
    [EM_OP_ARGMAX] = {1, 0},    [EM_OP_MAX] = {1, 0},       [EM_OP_SUB] = {2, 0},
    [EM_OP_LUT] = {1, 2},       [EM_OP_SUM] = {1, 0},       [EM_OP_TO_F32] = {1, 2},
    [EM_OP_EXP] = {1, 0},       [EM_OP_LOG] = {1, 0},       [EM_OP_ADD] = {2, 0},
    [EM_OP_MUL] = {2, 0},       [EM_OP_DIV] = {2, 0},       [EM_OP_BOXES] = {2, 4},
    [EM_OP_TREES] = {1, 3},     [EM_OP_OMIT] = {2, 0},      [EM_OP_EXCEEDS] = {1, 1},
    [EM_OP_GATHER] = {1, 1},    [EM_OP_REDUCE] = {1, 1},    [EM_OP_AFFINE] = {1, 2},
    [EM_OP_SELECT] = {2, 0},    [EM_OP_TABLES] = {1, 4},    [EM_OP_KERNELS] = {1, 4},
    [EM_OP_DISTANCES] = {1, 1}, [EM_OP_LOGSUMEXP] = {1, 1}, [EM_OP_CONCAT] = {2, 0},
    [EM_OP_HAMMING] = {2, 4},   [EM_OP_CLIP] = {1, 1},
};

/* The number of classes that a class node chooses from; 0 for every other value. */
static uint32_t classes_of(const em_monitor *m, uint32_t id) {
    if (id < m->n_taps) {
        return 0;
    }
    const em_node *node = em_node_at(m, id - m->n_taps);
    if (node->op == EM_OP_EXCEEDS) {
        return 2;
    }
    return node->op == EM_OP_ARGMAX ? em_facts_of(m, node->x).length : 0;
}

static int is_argmax(const em_monitor *m, uint32_t id) {
    return id >= m->n_taps && em_node_at(m, id - m->n_taps)->op == EM_OP_ARGMAX;
}

static em_status check_lut(const em_reader *r, const em_node *node, em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (t[0].dtype != EM_I32 || t[0].count < 1 || t[0].count > 65536 ||
        !em_has_type(&t[1], EM_I32, 1)) {
        return EM_E_TABLE;
    }
    const em_i32 *entries = (const em_i32 *)em_data_of(&r->m, node, 0);
    result->bits = em_width(em_largest_magnitude(entries, t[0].count));
    return EM_OK;
}

static em_status check_to_f32(const em_reader *r, const em_node *node, em_facts x) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (!em_has_type(&t[0], EM_F32, 1) || !em_has_type(&t[1], EM_I32, 1)) {
        return EM_E_TABLE;
    }
    if (x.dtype == EM_F32 && *(const em_i32 *)em_data_of(&r->m, node, 1) != 0) {
        return EM_E_VALUE;
    }
    const float scale = *(const em_f32 *)em_data_of(&r->m, node, 0);
    return scale > 0.0f && scale <= FLT_MAX ? EM_OK : EM_E_VALUE;
}

/* B1, B2: finite corners, none below its partner */
static em_status check_corners(uint32_t dtype, const void *lower, const void *upper, uint32_t n) {
    if (dtype == EM_F32 &&
        (!em_all_finite((const em_u32 *)lower, n) || !em_all_finite((const em_u32 *)upper, n))) {
        return EM_E_BOX;
    }
    int ordered = 1;
    for (uint32_t i = 0; i < n; i++) {
        ordered &= dtype == EM_F32 ? ((const em_f32 *)lower)[i] <= ((const em_f32 *)upper)[i]
                                   : em_int_at(dtype, lower, i) <= em_int_at(dtype, upper, i);
    }
    return ordered ? EM_OK : EM_E_BOX;
}

/* B3, B5 */
static em_status check_weights(em_facts x, const void *weight) {
    const uint32_t dtype = x.dtype, n = x.length;
    for (uint32_t i = 0; i < n; i++) {
        const float f = ((const em_f32 *)weight)[i];
        const int positive =
            dtype == EM_F32 ? f > 0.0f && f <= FLT_MAX : ((const em_i32 *)weight)[i] > 0;
        if (!positive) {
            return EM_E_BOX;
        }
    }
    if (dtype == EM_F32) {
        return EM_OK;
    }
    const uint32_t weight_bits = em_width(em_largest_magnitude((const em_i32 *)weight, n));
    return weight_bits + x.bits + 1 <= 30 ? EM_OK : EM_E_BITS;
}

static em_status check_boxes(const em_reader *r, const em_node *node, em_facts x) {
    const uint32_t classes = classes_of(&r->m, node->y);
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (t[0].dtype != x.dtype || t[0].count % x.length != 0 ||
        !em_has_type(&t[1], x.dtype, t[0].count) ||
        !em_has_type(&t[2], x.dtype == EM_F32 ? EM_F32 : EM_I32, x.length) ||
        !em_has_type(&t[3], EM_U32, (uint64_t)classes + 1)) {
        return EM_E_TABLE;
    }
    em_status status =
        check_corners(x.dtype, em_data_of(&r->m, node, 0), em_data_of(&r->m, node, 1), t[0].count);
    if (status == EM_OK) {
        status = check_weights(x, em_data_of(&r->m, node, 2));
    }
    if (status == EM_OK) {
        const em_u32 *first = (const em_u32 *)em_data_of(&r->m, node, 3);
        status = em_shared_out(first, classes, t[0].count / x.length) ? EM_OK : EM_E_BOX; /* B4 */
    }
    return status;
}

/* R2, R3 */
static int is_tree_node(em_tree_node node, int leaf, int32_t value, em_facts x) {
    const uint32_t feature = node.child & 0xFFFF;
    if (leaf) {
        const uint32_t highest = x.dtype == EM_F32 ? UINT32_C(0x7F7FFFFF) : UINT32_C(0x7FFFFFFF);
        return feature == 0 && node.threshold == highest;
    }
    return feature < x.length && value == 0 && (x.dtype != EM_F32 || em_is_finite(node.threshold));
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

static em_status check_trees(const em_reader *r, const em_node *node, em_facts x,
                             em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    const uint32_t n = t[1].count, trees = t[2].count / 2;
    if (n < 1 || n > EM_MAX_TREE_NODES || trees < 1 ||
        !em_has_type(&t[0], EM_U32, (uint64_t)n * 2) || t[1].dtype != EM_I32 ||
        !em_has_type(&t[2], EM_U32, (uint64_t)trees * 2)) {
        return EM_E_TABLE;
    }
    const em_tree_node *nodes = (const em_tree_node *)em_data_of(&r->m, node, 0);
    const em_i32 *values = (const em_i32 *)em_data_of(&r->m, node, 1);
    const em_tree_root *roots = (const em_tree_root *)em_data_of(&r->m, node, 2);
    uint32_t end = 0; /* of the tree before */
    for (uint32_t i = 0; i < trees; i++) {
        if (roots[i].node != end || end >= n) {
            return EM_E_TREE; /* R1 */
        }
        end = check_tree(nodes, values, n, end, roots[i].depth, x);
        if (end == 0) {
            return EM_E_TREE;
        }
    }
    if (end != n) {
        return EM_E_TREE; /* R1 */
    }
    result->bits = em_width(em_largest_magnitude(values, n)) + em_width(trees);
    return EM_OK;
}

/* Are the inputs what the op takes? Sets what it gives, apart from what its tables decide. */
static em_status check_op(const em_reader *r, const em_node *node, em_facts x, em_facts y,
                          em_facts *result) {
    const int f32 = x.dtype == EM_F32;
    const int wide = x.dtype == EM_I32 || x.dtype == EM_I64;
    const uint32_t more_bits = em_larger(x.bits, y.bits) + 1;
    int fits = 0;
    switch (node->op) {
    case EM_OP_ARGMAX:
        fits = f32 || is_int(x.dtype);
        *result = (em_facts){EM_I32, 1, em_width(x.length)};
        break;
    case EM_OP_MAX:
        fits = f32 || is_int(x.dtype);
        *result = (em_facts){f32 ? EM_F32 : EM_I32, 1, x.bits};
        break;
    case EM_OP_SUB:
        fits = y.length == 1 && (f32 ? y.dtype == EM_F32 : is_int(x.dtype) && is_int(y.dtype));
        *result = (em_facts){f32 ? EM_F32 : EM_I32, x.length, more_bits};
        break;
    case EM_OP_LUT:
        fits = x.dtype == EM_I32;
        *result = (em_facts){EM_I32, x.length, 0};
        break;
    case EM_OP_SUM:
        fits = f32 || x.dtype == EM_I32;
        *result = (em_facts){f32 ? EM_F32 : EM_I64, 1, x.bits + em_width(x.length)};
        break;
    case EM_OP_TO_F32:
        fits = f32 || is_int(x.dtype) || x.dtype == EM_I64;
        *result = (em_facts){EM_F32, x.length, 0};
        break;
    case EM_OP_EXP:
    case EM_OP_LOG:
        fits = f32;
        *result = (em_facts){EM_F32, x.length, 0};
        break;
    case EM_OP_ADD:
        fits = x.length == y.length &&
               (f32 ? y.dtype == EM_F32 : wide && (y.dtype == EM_I32 || y.dtype == EM_I64));
        *result = (em_facts){f32 ? EM_F32 : EM_I64, x.length, more_bits};
        break;
    case EM_OP_MUL:
        fits = f32 && y.dtype == EM_F32 && x.length == y.length;
        *result = (em_facts){EM_F32, x.length, 0};
        break;
    case EM_OP_DIV:
        fits = f32 && y.dtype == EM_F32 && y.length == 1;
        *result = (em_facts){EM_F32, x.length, 0};
        break;
    case EM_OP_BOXES:
        fits = (f32 || (is_int(x.dtype) && x.dtype != EM_I32)) && classes_of(&r->m, node->y) > 0;
        *result = (em_facts){f32 ? EM_F32 : EM_I32, 1, 30};
        break;
    case EM_OP_HAMMING:
        fits = (f32 || is_int(x.dtype)) && classes_of(&r->m, node->y) > 0;
        *result = (em_facts){EM_I32, 1, 0};
        break;
    case EM_OP_TREES:
        fits = f32 || is_int(x.dtype);
        *result = (em_facts){EM_I32, 1, 0};
        break;
    case EM_OP_OMIT:
        fits = (f32 || x.dtype == EM_I32) && is_argmax(&r->m, node->y) &&
               classes_of(&r->m, node->y) == x.length;
        *result = x;
        break;
    case EM_OP_EXCEEDS:
        fits = (f32 || is_int(x.dtype)) && x.length == 1;
        *result = (em_facts){EM_I32, 1, 0};
        break;
    case EM_OP_GATHER:
    case EM_OP_REDUCE:
    case EM_OP_AFFINE:
        fits = f32 || is_int(x.dtype);
        *result = (em_facts){f32 ? EM_F32 : EM_I32, node->length, x.bits};
        break;
    case EM_OP_CLIP:
        fits = f32 || is_int(x.dtype);
        *result = (em_facts){f32 ? EM_F32 : EM_I32, x.length, x.bits};
        break;
    case EM_OP_SELECT: {
        const uint32_t classes = classes_of(&r->m, node->y);
        fits = (f32 || x.dtype == EM_I32) && classes > 0 && x.length % classes == 0;
        *result = (em_facts){x.dtype, fits ? x.length / classes : 0, x.bits};
        break;
    }
    case EM_OP_CONCAT:
        fits = f32 ? y.dtype == EM_F32 : is_int(x.dtype) && is_int(y.dtype);
        *result = (em_facts){f32 ? EM_F32 : EM_I32, x.length + y.length, em_larger(x.bits, y.bits)};
        break;
    case EM_OP_TABLES:
        fits = f32;
        *result = (em_facts){EM_I32, node->length, 0};
        break;
    case EM_OP_KERNELS:
    case EM_OP_DISTANCES:
    case EM_OP_LOGSUMEXP:
        fits = f32;
        *result = (em_facts){EM_F32, node->length, 0};
        break;
    }
    return fits ? EM_OK : EM_E_NODE;
}

static em_status check_op_tables(const em_reader *r, const em_node *node, em_facts x,
                                 em_facts *result) {
    switch (node->op) {
    case EM_OP_LUT:
        return check_lut(r, node, result);
    case EM_OP_TO_F32:
        return check_to_f32(r, node, x);
    case EM_OP_BOXES:
        return check_boxes(r, node, x);
    case EM_OP_TREES:
        return check_trees(r, node, x, result);
    case EM_OP_HAMMING:
        return em_check_hamming(r, node, x, classes_of(&r->m, node->y), result);
    case EM_OP_EXCEEDS:
    case EM_OP_GATHER:
    case EM_OP_REDUCE:
    case EM_OP_AFFINE:
    case EM_OP_TABLES:
    case EM_OP_KERNELS:
    case EM_OP_DISTANCES:
    case EM_OP_LOGSUMEXP:
    case EM_OP_CLIP:
        return em_check_dense(r, node, x, result);
    default:
        return EM_OK;
    }
}

/* N6, N7, A5: the next tables in turn, as many as the op has */
static em_status check_tables_taken(em_reader *r, const em_node *node) {
    const uint32_t count = OPS[node->op].tables;
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

static em_status check_result(em_reader *r, const em_node *node, em_facts result) {
    if (node->dtype != result.dtype || node->length != result.length ||
        result.length > EM_MAX_LENGTH) {
        return EM_E_NODE; /* N2, N3 */
    }
    const uint32_t bits = result.dtype == EM_F32 ? 0 : result.bits;
    if (node->bits != bits || bits > (result.dtype == EM_I64 ? 62u : 30u)) {
        return EM_E_BITS; /* N8 */
    }
    if (node->offset != r->used) {
        return EM_E_NODE; /* N9 */
    }
    const uint32_t bytes = em_round_up(result.length * em_size_of(result.dtype), 8);
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
    const int binary = OPS[node->op].inputs == 2;
    if (node->x >= id) {
        return EM_E_NODE; /* N4 */
    }
    if (binary ? node->y >= id : node->y != EM_NONE) {
        return EM_E_NODE; /* N5 */
    }
    const em_facts x = em_facts_of(&r->m, node->x);
    const em_facts y = em_facts_of(&r->m, binary ? node->y : node->x);
    em_facts result = {0, 0, 0};
    em_status status = check_op(r, node, x, y, &result);
    if (status == EM_OK) {
        status = check_tables_taken(r, node);
    }
    if (status == EM_OK) {
        status = check_op_tables(r, node, x, &result);
    }
    return status == EM_OK ? check_result(r, node, result) : status;
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
    r->m.n_classes = classes_of(&r->m, r->m.predicted);
    return r->m.n_classes > 0 ? EM_OK : EM_E_NODE; /* P5 */
}
