/* Private: what the files of the validation share. */
#ifndef EM_OPEN_H
#define EM_OPEN_H

#include "em_layout.h"
#include "em_op_list.h"

#define EM_MAX_LENGTH (UINT32_C(1) << 20) /* of a tap or a result */

#define EM_MAX_WORKSPACE (UINT32_C(1) << 24)

/* The sections in the order of their kinds. */
enum {
    EM_S_PROGRAM,
    EM_S_TAPS,
    EM_S_NODES,
    EM_S_TABLES,
    EM_S_MONITORS,
    EM_S_STRINGS,
    EM_S_DATA,
    EM_S_COMPANIONS,
    EM_S_SELF_TEST,
    EM_S_META,
    EM_S_DRIFT,
    EM_S_ACCURACY,
    EM_S_SECTIONS
};

/* The file while it is being validated: `m` is filled as far as the checks have come. */
typedef struct em_reader {
    em_monitor m;
    em_section section[EM_S_SECTIONS]; /* offset 0: absent */
    uint32_t n_tables;
    uint32_t tables_taken; /* by the nodes so far */
    uint32_t used;         /* bytes of workspace so far, a multiple of 8 */
    uint32_t lacking; /* the op for which the status is EM_E_OP_LEFT_OUT; EM_OP_COUNT: floats */
} em_reader;

/* What is known of a value, or what an op prescribes for its result. */
typedef struct em_facts {
    uint32_t dtype, length, bits;
} em_facts;

EM_INTERNAL em_facts em_facts_of(const em_monitor *m, uint32_t id);

/* The number of classes that a class node chooses from; 0 for every other value. */
EM_INTERNAL uint32_t em_classes_of(const em_monitor *m, uint32_t id);

/* Every node in turn: N1 to N10, A5, P5, P6, and what its op prescribes. In em_open_nodes.c. */
EM_INTERNAL em_status em_check_nodes(em_reader *r);

/* Element operations of an evaluation, when the nodes have been checked. In em_open_nodes.c. */
EM_INTERNAL uint64_t em_work_of(const em_monitor *m);

/* The other records: sections 5 and 8 to 11. In em_open_records.c. */
EM_INTERNAL em_status em_check_strings(const em_reader *r);
EM_INTERNAL em_status em_check_taps(em_reader *r);
EM_INTERNAL em_status em_check_data(const em_reader *r);
EM_INTERNAL em_status em_check_monitors(const em_reader *r);
EM_INTERNAL em_status em_check_self_test(const em_reader *r);

/* The section DRIFT, if there is one: section 13. In em_drift.c. */
EM_INTERNAL em_status em_check_drift(const em_reader *r);

/* The section ACCURACY, if there is one: section 15. In em_accuracy.c. */
EM_INTERNAL em_status em_check_accuracy(const em_reader *r);

/* The section COMPANIONS, and what views need of it: section 16. In em_companions.c. */
#define EM_KIND_COMPANIONS 8u
EM_INTERNAL em_status em_check_companions(const em_reader *r);

/* Edges between bins of a monitor's raw scores, in em_drift.c. Are they valid (D6, D7)? Else
 * `error`, or EM_E_RESERVED. How many does a score exceed? Is a score a number? */
EM_INTERNAL em_status em_check_edges(const em_monitor *m, uint32_t monitor, const em_number *edge,
                                     uint32_t count, em_status error);
EM_INTERNAL uint32_t em_bin_of(const em_monitor *m, uint32_t monitor, const em_number *edge,
                               uint32_t count, em_number score);
EM_INTERNAL int em_is_score(const em_monitor *m, uint32_t monitor, em_number score);

/* ---- small proofs ---- */

EM_SHARED int em_is_zero(const uint8_t *bytes, uint32_t n) {
    uint32_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

/* The smallest w with n <= 2^w. */
EM_SHARED uint32_t em_width(uint32_t n) {
    uint32_t w = 0;
    while ((UINT64_C(1) << w) < n) {
        w++;
    }
    return w;
}

EM_INLINE uint32_t em_larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

EM_INLINE uint32_t em_magnitude(int32_t v) { return v < 0 ? 0u - (uint32_t)v : (uint32_t)v; }

EM_SHARED uint32_t em_largest_magnitude(const em_i32 *v, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = em_larger(largest, em_magnitude(v[i]));
    }
    return largest;
}

EM_SHARED uint32_t em_largest_i16(const em_i16 *v, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = em_larger(largest, em_magnitude(v[i]));
    }
    return largest;
}

EM_SHARED int em_all_positive(const em_f32 *v, uint32_t n) {
    int positive = 1;
    for (uint32_t i = 0; i < n; i++) {
        positive &= v[i] > 0.0f && v[i] <= FLT_MAX;
    }
    return positive;
}

EM_SHARED int em_all_below(const em_u32 *index, uint32_t count, uint32_t n) {
    int below = 1;
    for (uint32_t i = 0; i < count; i++) {
        below &= index[i] < n;
    }
    return below;
}

/* Do the classes share out `count` things, class c having first[c] .. first[c + 1] - 1? */
EM_SHARED int em_shared_out(const em_u32 *first, uint32_t classes, uint32_t count) {
    int rising = first[0] == 0 && first[classes] == count;
    for (uint32_t c = 0; c < classes; c++) {
        rising &= first[c] <= first[c + 1];
    }
    return rising;
}

EM_INLINE int em_has_type(const em_table *t, uint32_t dtype, uint64_t count) {
    return t->dtype == dtype && t->count == count;
}

/* A first table of one u32 that divides the length of x. Returns it, or 0. */
EM_SHARED uint32_t em_divisor_of(const em_reader *r, const em_node *node, em_facts x) {
    if (!em_has_type(em_table_at(&r->m, node->first_table), EM_U32, 1)) {
        return 0;
    }
    const uint32_t d = *(const em_u32 *)em_data_of(&r->m, node, 0);
    return d > 0 && x.length % d == 0 ? d : 0;
}

/* Of things that classes share out: the most that one class has. */
EM_SHARED uint64_t em_largest_share(const em_u32 *first, uint32_t classes) {
    uint32_t most = 0;
    for (uint32_t c = 0; c < classes; c++) {
        most = em_larger(most, first[c + 1] - first[c]);
    }
    return most;
}

/* ---- kinds of data types ---- */

EM_INLINE int em_is_int(em_facts x) {
    return x.dtype == EM_I8 || x.dtype == EM_U8 || x.dtype == EM_I16 || x.dtype == EM_I32;
}

EM_INLINE int em_is_number(em_facts x) { return em_is_f32(x.dtype) || em_is_int(x); }

/* An i32 or an f32. */
EM_INLINE int em_is_word(em_facts x) { return em_is_f32(x.dtype) || x.dtype == EM_I32; }

/* The word that holds x's numbers: integers of all sizes become i32. */
EM_INLINE uint32_t em_word_of(em_facts x) { return em_is_f32(x.dtype) ? EM_F32 : EM_I32; }

#endif /* EM_OPEN_H */
