/*
 * Ops that find the nearest of what a class has learned: boxes and hamming. Sections 7.4 and 7.9 of
 * FORMAT.md.
 */
#include "em_math.h"
#include "em_ops.h"

/* ---- boxes: every box of the class, every dimension, no early exit -------------------------- */

#if EM_HAS(BOXES)
EM_TYPES(boxes) {
    c->result = (em_facts){em_word_of(c->x), 1, 30};
    return em_is_number(c->x) && c->x.dtype != EM_I32 && em_classes_of(&c->r->m, c->node->y) > 0;
}

/* B1, B2: finite corners, none below its partner */
static em_status check_corners(uint32_t dtype, const void *lower, const void *upper, uint32_t n) {
    if (em_is_f32(dtype) &&
        (!em_all_finite((const em_u32 *)lower, n) || !em_all_finite((const em_u32 *)upper, n))) {
        return EM_E_BOX;
    }
    int ordered = 1;
    for (uint32_t i = 0; i < n; i++) {
        ordered &= em_is_f32(dtype) ? ((const em_f32 *)lower)[i] <= ((const em_f32 *)upper)[i]
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
            em_is_f32(dtype) ? f > 0.0f && f <= FLT_MAX : ((const em_i32 *)weight)[i] > 0;
        if (!positive) {
            return EM_E_BOX;
        }
    }
    if (em_is_f32(dtype)) {
        return EM_OK;
    }
    const uint32_t weight_bits = em_width(em_largest_magnitude((const em_i32 *)weight, n));
    return weight_bits + x.bits + 1 <= 30 ? EM_OK : EM_E_BITS;
}

EM_TABLES(boxes) {
    const uint32_t classes = em_classes_of(&c->r->m, c->node->y);
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (t[0].dtype != c->x.dtype || t[0].count % c->x.length != 0 ||
        !em_has_type(&t[1], c->x.dtype, t[0].count) ||
        !em_has_type(&t[2], em_is_f32(c->x.dtype) ? EM_F32 : EM_I32, c->x.length) ||
        !em_has_type(&t[3], EM_U32, (uint64_t)classes + 1)) {
        return EM_E_TABLE;
    }
    em_status status = check_corners(c->x.dtype, em_data_of(&c->r->m, c->node, 0),
                                     em_data_of(&c->r->m, c->node, 1), t[0].count);
    if (status == EM_OK) {
        status = check_weights(c->x, em_data_of(&c->r->m, c->node, 2));
    }
    if (status == EM_OK) {
        const em_u32 *first = (const em_u32 *)em_data_of(&c->r->m, c->node, 3);
        status =
            em_shared_out(first, classes, t[0].count / c->x.length) ? EM_OK : EM_E_BOX; /* B4 */
    }
    return status;
}

EM_WORK(boxes) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint64_t most = em_largest_share((const em_u32 *)em_data_of(m, node, 3), t[3].count - 1);
    return most > 0 ? 2 * most * n : n;
}

/* How far x lies outside one box; `dtype` is a constant at each call. */
EM_INLINE int32_t outside_int(uint32_t dtype, const void *x, const void *lower, const void *upper,
                              const em_i32 *weight, size_t start, uint32_t dims) {
    int32_t worst = INT32_MIN;
    for (uint32_t d = 0; d < dims; d++) {
        const int32_t v = em_int_of(dtype, x, d);
        const int32_t below = em_int_of(dtype, lower, start + d) - v;
        const int32_t above = v - em_int_of(dtype, upper, start + d);
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
#define EM_LANES (EM_SMALL ? 1 : 8)

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

EM_RUN(boxes) {
    const void *lower = em_data_of(m, node, 0);
    const void *upper = em_data_of(m, node, 1);
    const void *weight = em_data_of(m, node, 2);
    const em_u32 *first = (const em_u32 *)em_data_of(m, node, 3) + *(const em_i32 *)y.data;
    const em_i32 *iw = (const em_i32 *)weight;
    if (em_is_f32(x.dtype)) {
        *(em_f32 *)out = boxes_f32(x, (const em_f32 *)lower, (const em_f32 *)upper,
                                   (const em_f32 *)weight, first[0], first[1]);
    } else {
        EM_OF_EACH_INT(x.dtype, dtype,
                       *(em_i32 *)out =
                           nearest_int(dtype, x, lower, upper, iw, first[0], first[1]));
    }
}
#endif

/* ---- hamming: every pattern of the class, no early exit ------------------------------------- */

#if EM_HAS(HAMMING)
EM_TYPES(hamming) {
    c->result = (em_facts){EM_I32, 1, 0};
    return em_is_number(c->x) && em_classes_of(&c->r->m, c->node->y) > 0;
}

/* K3: nothing behind the last bit of any pattern */
static int clean_padding(const em_u32 *patterns, uint32_t count, uint32_t words, uint32_t bits) {
    const uint32_t unused = bits % 32 ? ~UINT32_C(0) << (bits % 32) : 0;
    uint32_t found = 0;
    for (uint32_t i = words - 1; i < count; i += words) {
        found |= patterns[i] & unused;
    }
    return found == 0;
}

EM_TABLES(hamming) {
    const uint32_t classes = em_classes_of(&c->r->m, c->node->y);
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    const uint32_t bits = t[1].count > 0 ? t[1].count / classes : c->x.length;
    const uint32_t words = (bits + 31) / 32;
    if (!em_has_type(&t[0], em_word_of(c->x), c->x.length) || t[1].dtype != EM_U32 ||
        t[1].count % classes != 0 || bits > EM_PATTERN_BITS || t[2].dtype != EM_U32 ||
        t[2].count % words != 0 || !em_has_type(&t[3], EM_U32, (uint64_t)classes + 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *threshold = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    const em_u32 *index = (const em_u32 *)em_data_of(&c->r->m, c->node, 1);
    const em_u32 *patterns = (const em_u32 *)em_data_of(&c->r->m, c->node, 2);
    const em_u32 *first = (const em_u32 *)em_data_of(&c->r->m, c->node, 3);
    c->result.bits = em_width(bits + 1);
    const int valid = (!em_is_f32(c->x.dtype) || em_all_finite(threshold, c->x.length)) &&
                      em_all_below(index, t[1].count, c->x.length) &&
                      clean_padding(patterns, t[2].count, words, bits) &&
                      em_shared_out(first, classes, t[2].count / words);
    return valid ? EM_OK : EM_E_VALUE; /* K1 to K4 */
}

EM_WORK(hamming) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint32_t classes = t[3].count - 1;
    const uint32_t bits = t[1].count > 0 ? t[1].count / classes : n;
    const uint64_t most = em_largest_share((const em_u32 *)em_data_of(m, node, 3), classes);
    return bits + most * ((bits + 31) / 32);
}

static int is_above(em_value x, const void *threshold, uint32_t i) {
    return em_is_f32(x.dtype) ? ((const em_f32 *)x.data)[i] > ((const em_f32 *)threshold)[i]
                              : em_int_at(x.dtype, x.data, i) > ((const em_i32 *)threshold)[i];
}

static uint32_t count_bits(uint32_t v) {
    v = v - ((v >> 1) & UINT32_C(0x55555555));
    v = (v & UINT32_C(0x33333333)) + ((v >> 2) & UINT32_C(0x33333333));
    v = (v + (v >> 4)) & UINT32_C(0x0F0F0F0F);
    return (v * UINT32_C(0x01010101)) >> 24;
}

/* A function of its own, lest every op has its pattern on the stack. */
EM_ONCE uint32_t nearest_pattern(const em_monitor *m, const em_node *node, em_value x, uint32_t c) {
    const em_table *t = em_table_at(m, node->first_table);
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
    return nearest;
}

EM_RUN(hamming) {
    const uint32_t c = (uint32_t) * (const em_i32 *)y.data;
    *(em_i32 *)out = (int32_t)nearest_pattern(m, node, x, c);
}
#endif
