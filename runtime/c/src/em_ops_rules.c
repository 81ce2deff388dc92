/*
 * The ops that compare with what was learned: boxes, trees and patterns, sections 7.4, 7.5 and 7.9
 * of FORMAT.md.
 */
#include "em_math.h"
#include "em_ops.h"

/* ---- boxes, section 7.4: every box of the class, every dimension, no early exit ------------ */

/* How far x lies outside one box; `dtype` is a constant at each call. */
EM_INLINE int32_t outside_int(uint32_t dtype, const void *x, const void *lower, const void *upper,
                              const em_i32 *weight, size_t start, uint32_t dims) {
    int32_t worst = INT32_MIN;
    for (uint32_t d = 0; d < dims; d++) {
        const int32_t v = em_int_at(dtype, x, d);
        const int32_t below = em_int_at(dtype, lower, start + d) - v;
        const int32_t above = v - em_int_at(dtype, upper, start + d);
        const int32_t distance = (below > above ? below : above) * weight[d];
        worst = distance > worst ? distance : worst;
    }
    return worst;
}

EM_INLINE int32_t nearest_int(uint32_t dtype, em_value x, const void *lower, const void *upper,
                              const em_i32 *weight, uint32_t from, uint32_t to) {
    int32_t nearest = EM_FAR_INT;
    for (uint32_t b = from; b < to; b++) {
        const int32_t distance =
            outside_int(dtype, x.data, lower, upper, weight, (size_t)b * x.length, x.length);
        nearest = distance < nearest ? distance : nearest;
    }
    return nearest;
}

EM_INLINE float outside_dim_f32(float x, float lower, float upper, float weight) {
    const float below = lower - x;
    const float above = x - upper;
    return (below > above ? below : above) * weight;
}

/* The largest element does not depend on the order, so eight run side by side. */
#define EM_LANES 8

static float outside_f32(const em_f32 *x, const em_f32 *lower, const em_f32 *upper,
                         const em_f32 *weight, uint32_t dims) {
    float lane[EM_LANES];
    uint32_t d = 0;
    for (uint32_t l = 0; l < EM_LANES; l++) {
        lane[l] = outside_dim_f32(x[0], lower[0], upper[0], weight[0]);
    }
    for (; dims - d >= EM_LANES; d += EM_LANES) {
        for (uint32_t l = 0; l < EM_LANES; l++) {
            const uint32_t i = d + l;
            const float v = outside_dim_f32(x[i], lower[i], upper[i], weight[i]);
            lane[l] = v > lane[l] ? v : lane[l];
        }
    }
    float worst = lane[0];
    for (; d < dims; d++) {
        const float v = outside_dim_f32(x[d], lower[d], upper[d], weight[d]);
        worst = v > worst ? v : worst;
    }
    for (uint32_t l = 1; l < EM_LANES; l++) {
        worst = lane[l] > worst ? lane[l] : worst;
    }
    return worst;
}

static float nearest_f32(em_value x, const em_f32 *lower, const em_f32 *upper, const em_f32 *weight,
                         uint32_t from, uint32_t to) {
    float nearest = FLT_MAX;
    for (uint32_t b = from; b < to; b++) {
        const size_t start = (size_t)b * x.length;
        const float v =
            outside_f32((const em_f32 *)x.data, lower + start, upper + start, weight, x.length);
        nearest = v < nearest ? v : nearest;
    }
    return nearest + 0.0f; /* -0 becomes +0: which zero wins must not depend on the order */
}

/* An x with a NaN or an infinity is nowhere: comparisons alone would leave a NaN out. */
static float boxes_f32(em_value x, const em_f32 *lower, const em_f32 *upper, const em_f32 *weight,
                       uint32_t from, uint32_t to) {
    if (!em_all_finite((const em_u32 *)x.data, x.length)) {
        return em_float_of(EM_NAN);
    }
    return nearest_f32(x, lower, upper, weight, from, to);
}

static void run_boxes(const em_monitor *m, const em_node *node, em_value x, em_value y, void *out) {
    const void *lower = em_data_of(m, node, 0);
    const void *upper = em_data_of(m, node, 1);
    const void *weight = em_data_of(m, node, 2);
    const em_u32 *first = (const em_u32 *)em_data_of(m, node, 3) + *(const em_i32 *)y.data;
    const em_i32 *iw = (const em_i32 *)weight;
    switch (x.dtype) {
    case EM_I8:
        *(em_i32 *)out = nearest_int(EM_I8, x, lower, upper, iw, first[0], first[1]);
        break;
    case EM_U8:
        *(em_i32 *)out = nearest_int(EM_U8, x, lower, upper, iw, first[0], first[1]);
        break;
    case EM_I16:
        *(em_i32 *)out = nearest_int(EM_I16, x, lower, upper, iw, first[0], first[1]);
        break;
    default:
        *(em_f32 *)out = boxes_f32(x, (const em_f32 *)lower, (const em_f32 *)upper,
                                   (const em_f32 *)weight, first[0], first[1]);
        break;
    }
}

/* ---- trees, section 7.5: a fixed number of steps; leaves lead to themselves ---------------- */

/* One step without a branch; `dtype` is a constant at each call. No integer exceeds the threshold
 * of a leaf. An infinity exceeds every number, so a float is compared with none there. */
EM_INLINE uint32_t step(uint32_t dtype, const void *x, const em_tree_node *nodes, uint32_t at) {
    const em_tree_node node = nodes[at];
    const uint32_t feature = node.child & 0xFFFF, left = node.child >> 16;
    if (dtype == EM_F32) {
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
    for (; trees - t >= 4; t += 4) {
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

static void run_trees(const em_monitor *m, const em_node *node, em_value x, em_i32 *out) {
    const em_tree_node *nodes = (const em_tree_node *)em_data_of(m, node, 0);
    const em_i32 *values = (const em_i32 *)em_data_of(m, node, 1);
    const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
    const uint32_t trees = em_table_at(m, node->first_table + 2)->count / 2;
    switch (x.dtype) {
    case EM_I8:
        *out = sum_of_trees(EM_I8, x.data, nodes, values, roots, trees);
        break;
    case EM_U8:
        *out = sum_of_trees(EM_U8, x.data, nodes, values, roots, trees);
        break;
    case EM_I16:
        *out = sum_of_trees(EM_I16, x.data, nodes, values, roots, trees);
        break;
    case EM_I32:
        *out = sum_of_trees(EM_I32, x.data, nodes, values, roots, trees);
        break;
    default:
        *out = sum_of_trees(EM_F32, x.data, nodes, values, roots, trees);
        break;
    }
}

/* ---- hamming, section 7.9: every pattern of the class, no early exit ------------------------ */

static int is_above(em_value x, const void *threshold, uint32_t i) {
    return x.dtype == EM_F32 ? ((const em_f32 *)x.data)[i] > ((const em_f32 *)threshold)[i]
                             : em_int_at(x.dtype, x.data, i) > ((const em_i32 *)threshold)[i];
}

static uint32_t count_bits(uint32_t v) {
    v = v - ((v >> 1) & UINT32_C(0x55555555));
    v = (v & UINT32_C(0x33333333)) + ((v >> 2) & UINT32_C(0x33333333));
    v = (v + (v >> 4)) & UINT32_C(0x0F0F0F0F);
    return (v * UINT32_C(0x01010101)) >> 24;
}

static void run_hamming(const em_monitor *m, const em_node *node, em_value x, em_value y,
                        em_i32 *out) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint32_t c = (uint32_t) * (const em_i32 *)y.data;
    const uint32_t classes = t[3].count - 1;
    const uint32_t bits = t[1].count > 0 ? t[1].count / classes : x.length;
    const uint32_t words = (bits + 31) / 32;
    const void *threshold = em_data_of(m, node, 0);
    const em_u32 *index = (const em_u32 *)em_data_of(m, node, 1);
    const em_u32 *patterns = (const em_u32 *)em_data_of(m, node, 2);
    const em_u32 *first = (const em_u32 *)em_data_of(m, node, 3) + c;
    uint32_t own[EM_PATTERN_BITS / 32] = {0};
    for (uint32_t i = 0; i < bits; i++) {
        const uint32_t k = t[1].count > 0 ? index[c * bits + i] : i;
        own[i / 32] |= (uint32_t)is_above(x, threshold, k) << (i % 32);
    }
    uint32_t nearest = bits + 1;
    for (uint32_t p = first[0]; p < first[1]; p++) {
        uint32_t apart = 0;
        for (uint32_t w = 0; w < words; w++) {
            apart += count_bits(own[w] ^ patterns[(size_t)p * words + w]);
        }
        nearest = apart < nearest ? apart : nearest;
    }
    *out = (int32_t)nearest;
}

EM_INTERNAL void em_run_rules(const em_monitor *m, const em_node *node, em_value x, em_value y,
                              void *out) {
    switch (node->op) {
    case EM_OP_BOXES:
        run_boxes(m, node, x, y, out);
        break;
    case EM_OP_HAMMING:
        run_hamming(m, node, x, y, (em_i32 *)out);
        break;
    default: /* EM_OP_TREES */
        run_trees(m, node, x, (em_i32 *)out);
        break;
    }
}
