/*
 * Validation of the tables of the newer ops: sections 7 (15 to 17, 22, 23, 26) and 7.6 to 7.9 of
 * FORMAT.md.
 */
#include "em_open.h"

static uint32_t largest_i16(const em_i16 *v, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = em_larger(largest, em_magnitude(v[i]));
    }
    return largest;
}

static int all_positive(const em_f32 *v, uint32_t n) {
    int positive = 1;
    for (uint32_t i = 0; i < n; i++) {
        positive &= v[i] > 0.0f && v[i] <= FLT_MAX;
    }
    return positive;
}

static int all_below(const em_u32 *index, uint32_t count, uint32_t n) {
    int below = 1;
    for (uint32_t i = 0; i < count; i++) {
        below &= index[i] < n;
    }
    return below;
}

/* A table of one u32 that divides the length of x. Returns it, or 0. */
static uint32_t divisor(const em_reader *r, const em_node *node, em_facts x) {
    if (!em_has_type(em_table_at(&r->m, node->first_table), EM_U32, 1)) {
        return 0;
    }
    const uint32_t d = *(const em_u32 *)em_data_of(&r->m, node, 0);
    return d > 0 && x.length % d == 0 ? d : 0;
}

/* A table of one number, of x's kind. */
static em_status check_bound(const em_reader *r, const em_node *node, em_facts x) {
    const uint32_t dtype = x.dtype == EM_F32 ? EM_F32 : EM_I32;
    if (!em_has_type(em_table_at(&r->m, node->first_table), dtype, 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *threshold = (const em_u32 *)em_data_of(&r->m, node, 0);
    return dtype == EM_I32 || em_all_finite(threshold, 1) ? EM_OK : EM_E_VALUE;
}

static em_status check_clip(const em_reader *r, const em_node *node, em_facts x, em_facts *result) {
    const em_status status = check_bound(r, node, x);
    if (status == EM_OK && x.dtype != EM_F32) {
        const em_i32 *upper = (const em_i32 *)em_data_of(&r->m, node, 0);
        result->bits = em_larger(x.bits, em_width(em_magnitude(*upper)));
    }
    return status;
}

static em_status check_gather(const em_reader *r, const em_node *node, em_facts x,
                              em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (t->count < 1 || t->dtype != EM_U32) {
        return EM_E_TABLE;
    }
    const em_u32 *index = (const em_u32 *)em_data_of(&r->m, node, 0);
    result->length = t->count;
    return all_below(index, t->count, x.length) ? EM_OK : EM_E_VALUE;
}

static em_status check_reduce(const em_reader *r, const em_node *node, em_facts x,
                              em_facts *result) {
    result->length = divisor(r, node, x);
    if (result->length == 0) {
        return EM_E_TABLE;
    }
    result->bits = x.bits + em_width(x.length / result->length);
    return EM_OK;
}

static em_status check_affine(const em_reader *r, const em_node *node, em_facts x,
                              em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    const int f32 = x.dtype == EM_F32;
    const uint32_t rows = t[1].count;
    if (rows < 1 || t[1].dtype != (f32 ? EM_F32 : EM_I32) ||
        !em_has_type(&t[0], f32 ? EM_F32 : EM_I16, (uint64_t)rows * x.length)) {
        return EM_E_TABLE;
    }
    const void *weight = em_data_of(&r->m, node, 0);
    const void *bias = em_data_of(&r->m, node, 1);
    result->length = rows;
    if (f32) {
        const int finite = em_all_finite((const em_u32 *)weight, t[0].count) &
                           em_all_finite((const em_u32 *)bias, rows);
        return finite ? EM_OK : EM_E_VALUE;
    }
    const uint32_t sum =
        x.bits + em_width(largest_i16((const em_i16 *)weight, t[0].count)) + em_width(x.length);
    const uint32_t offset = em_width(em_largest_magnitude((const em_i32 *)bias, rows));
    result->bits = em_larger(sum, offset) + 1;
    return EM_OK;
}

static em_status check_density_tables(const em_reader *r, const em_node *node, em_facts x,
                                      em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (!em_has_type(&t[0], EM_F32, x.length) || !em_has_type(&t[1], EM_F32, x.length) ||
        !em_has_type(&t[2], EM_U32, 2) || t[3].dtype != EM_I16) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&r->m, node, 2);
    if (shape[0] < 1 || shape[1] < 1 || shape[1] > 65536 || t[3].count % shape[1] != 0 ||
        t[3].count / shape[1] != (uint64_t)shape[0] * x.length) {
        return EM_E_TABLE;
    }
    if (!em_all_finite((const em_u32 *)em_data_of(&r->m, node, 0), x.length) ||
        !all_positive((const em_f32 *)em_data_of(&r->m, node, 1), x.length)) {
        return EM_E_VALUE;
    }
    const em_i16 *entries = (const em_i16 *)em_data_of(&r->m, node, 3);
    result->length = shape[0];
    result->bits = em_width(largest_i16(entries, t[3].count)) + em_width(x.length);
    return EM_OK;
}

static em_status check_kernels(const em_reader *r, const em_node *node, em_facts x,
                               em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (!em_has_type(&t[0], EM_U32, 2) || t[1].dtype != EM_I8 || !em_has_type(&t[2], EM_F32, 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&r->m, node, 0);
    const uint64_t kernels = (uint64_t)shape[0] * shape[1];
    if (kernels < 1 || x.length % shape[0] != 0 || t[1].count != (uint64_t)shape[1] * x.length ||
        !em_has_type(&t[3], EM_F32, kernels)) {
        return EM_E_TABLE;
    }
    if (!all_positive((const em_f32 *)em_data_of(&r->m, node, 2), 1) ||
        !em_all_finite((const em_u32 *)em_data_of(&r->m, node, 3), t[3].count)) {
        return EM_E_VALUE;
    }
    result->length = t[3].count;
    return EM_OK;
}

static em_status check_distances(const em_reader *r, const em_node *node, em_facts x,
                                 em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    if (t->dtype != EM_F32 || t->count < 1 || t->count % x.length != 0) {
        return EM_E_TABLE;
    }
    result->length = t->count / x.length;
    const em_u32 *centres = (const em_u32 *)em_data_of(&r->m, node, 0);
    return em_all_finite(centres, t->count) ? EM_OK : EM_E_VALUE;
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

EM_INTERNAL em_status em_check_hamming(const em_reader *r, const em_node *node, em_facts x,
                                       uint32_t classes, em_facts *result) {
    const em_table *t = em_table_at(&r->m, node->first_table);
    const uint32_t dtype = x.dtype == EM_F32 ? EM_F32 : EM_I32;
    const uint32_t bits = t[1].count > 0 ? t[1].count / classes : x.length;
    const uint32_t words = (bits + 31) / 32;
    if (!em_has_type(&t[0], dtype, x.length) || t[1].dtype != EM_U32 || t[1].count % classes != 0 ||
        bits > EM_PATTERN_BITS || t[2].dtype != EM_U32 || t[2].count % words != 0 ||
        !em_has_type(&t[3], EM_U32, (uint64_t)classes + 1)) {
        return EM_E_TABLE;
    }
    const em_u32 *threshold = (const em_u32 *)em_data_of(&r->m, node, 0);
    const em_u32 *index = (const em_u32 *)em_data_of(&r->m, node, 1);
    const em_u32 *patterns = (const em_u32 *)em_data_of(&r->m, node, 2);
    const em_u32 *first = (const em_u32 *)em_data_of(&r->m, node, 3);
    result->bits = em_width(bits + 1);
    const int valid = (dtype == EM_I32 || em_all_finite(threshold, x.length)) &&
                      all_below(index, t[1].count, x.length) &&
                      clean_padding(patterns, t[2].count, words, bits) &&
                      em_shared_out(first, classes, t[2].count / words);
    return valid ? EM_OK : EM_E_VALUE; /* K1 to K4 */
}

EM_INTERNAL em_status em_check_dense(const em_reader *r, const em_node *node, em_facts x,
                                     em_facts *result) {
    switch (node->op) {
    case EM_OP_EXCEEDS:
        return check_bound(r, node, x);
    case EM_OP_CLIP:
        return check_clip(r, node, x, result);
    case EM_OP_GATHER:
        return check_gather(r, node, x, result);
    case EM_OP_REDUCE:
        return check_reduce(r, node, x, result);
    case EM_OP_AFFINE:
        return check_affine(r, node, x, result);
    case EM_OP_TABLES:
        return check_density_tables(r, node, x, result);
    case EM_OP_KERNELS:
        return check_kernels(r, node, x, result);
    case EM_OP_DISTANCES:
        return check_distances(r, node, x, result);
    default: /* EM_OP_LOGSUMEXP */
        result->length = divisor(r, node, x);
        return result->length > 0 ? EM_OK : EM_E_TABLE;
    }
}
