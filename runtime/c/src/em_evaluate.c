/*
 * Evaluation and everything else that works on a validated file. No check of the file here:
 * em_open has made them all. What arrives at run time, taps and workspace, is checked every time.
 */
#include "em_ops.h"

/* ---- the inputs of one evaluation ---------------------------------------------------------- */

static int is_open(const em_monitor *m) { return m != NULL && m->file != NULL; }

static em_status check_workspace(const em_monitor *m, const void *workspace, size_t size) {
    if (workspace == NULL) {
        return EM_E_NULL;
    }
    if ((uintptr_t)workspace % 8 != 0) {
        return EM_E_ALIGN;
    }
    return size < m->workspace_size ? EM_E_WORKSPACE : EM_OK;
}

static em_status check_taps_given(const em_monitor *m, const em_tap *taps, size_t n_taps) {
    if (taps == NULL) {
        return EM_E_NULL;
    }
    if (n_taps != m->n_taps) {
        return EM_E_TAP_COUNT;
    }
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_tap_record *want = em_tap_at(m, i);
        if (taps[i].data == NULL) {
            return EM_E_NULL;
        }
        if ((uint32_t)taps[i].dtype != want->dtype) {
            return EM_E_TAP_TYPE;
        }
        if (taps[i].length != want->length) {
            return EM_E_TAP_LENGTH;
        }
        if ((uintptr_t)taps[i].data % em_size_of(want->dtype) != 0) {
            return EM_E_ALIGN;
        }
    }
    return EM_OK;
}

/* ---- evaluation ---------------------------------------------------------------------------- */

/* Distrust is the initial state: trust has to be computed. */
static void distrust(em_result *out, uint32_t n_monitors, em_status reason) {
    memset(out, 0, sizeof *out);
    out->verdict = EM_FAULT;
    out->reason = reason;
    out->predicted_class = -1;
    out->n_monitors = n_monitors;
    for (uint32_t i = 0; i < EM_MAX_MONITORS; i++) {
        out->verdicts[i] = EM_FAULT;
    }
}

/* The inputs of an evaluation. */
typedef struct em_inputs {
    const em_tap *taps;    /* NULL: those of `vector` */
    const uint8_t *vector; /* of the self-test: one tap after the other, at multiples of 16 bytes */
} em_inputs;

/* Where a self-test vector has tap `id`; of n_taps where it has what it expects. */
static const uint8_t *place_in(const em_monitor *m, const uint8_t *vector, uint32_t id) {
    for (uint32_t i = 0; i < id; i++) {
        const em_tap_record *tap = em_tap_at(m, i);
        vector += em_round_up(tap->length * em_size_of(tap->dtype), 16);
    }
    return vector;
}

EM_INLINE em_value value_of(const em_monitor *m, const em_inputs *in, const uint8_t *workspace,
                            uint32_t id) {
    em_value v;
    if (id < m->n_taps) {
        const em_tap_record *tap = em_tap_at(m, id);
        const void *data = in->taps != NULL ? in->taps[id].data : place_in(m, in->vector, id);
        v = (em_value){data, tap->dtype, tap->length};
    } else {
        const em_node *node = em_node_at(m, id - m->n_taps);
        v = (em_value){workspace + node->offset, node->dtype, node->length};
    }
    return v;
}

/* Only now: the time does not depend on what is wrong with a tap of another type or length. */
static int are_finite(const em_monitor *m, const em_inputs *in) {
    int finite = 1;
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_value tap = value_of(m, in, NULL, i);
        finite &= !em_is_f32(tap.dtype) || em_all_finite((const em_u32 *)tap.data, tap.length);
    }
    return finite;
}

/* A float result with a NaN or an infinity becomes zeros: no node reads one (section 7.10).
 * Returns whether it had one. */
static int clear_unless_finite(const em_node *node, void *result) {
    const em_u32 *bits = (const em_u32 *)result;
    if (!em_is_f32(node->dtype) ||
        (node->length == 1 ? em_is_finite(bits[0]) /* no loop to set up */
                           : em_all_finite(bits, node->length))) {
        return 0;
    }
    memset(result, 0, (size_t)node->length * 4);
    return 1;
}

/* Runs every node. EM_E_SCORE where a result was not finite. */
static em_status run_program(const em_monitor *m, const em_inputs *in, uint8_t *workspace,
                             int32_t *predicted_class) {
    int cleared = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const em_node *node = em_node_at(m, i);
        const em_value x = value_of(m, in, workspace, node->x);
        const em_value y = node->y == EM_NONE ? x : value_of(m, in, workspace, node->y);
        em_run_node(m, node, x, y, workspace + node->offset);
        cleared |= clear_unless_finite(node, workspace + node->offset);
    }
    *predicted_class = *(const em_i32 *)value_of(m, in, workspace, m->predicted).data;
    return cleared ? EM_E_SCORE : EM_OK;
}

static em_status run_if_finite(const em_monitor *m, const em_inputs *in, uint8_t *workspace,
                               int32_t *predicted_class) {
    *predicted_class = -1;
    return are_finite(m, in) ? run_program(m, in, workspace, predicted_class) : EM_E_TAP_VALUE;
}

static em_verdict verdict_of(int alarm, int uncertain) {
    return alarm ? EM_ALARM : uncertain ? EM_UNCERTAIN : EM_TRUST;
}

/* Section 10, after a program that ran. Only a score that is at most the threshold is trusted,
 * which no NaN is. */
static em_verdict judge(const em_monitor *m, const em_inputs *in, const uint8_t *workspace,
                        uint32_t monitor, em_number *score) {
    const em_monitor_record *mon = em_monitor_at(m, monitor);
    const em_value raw = value_of(m, in, workspace, mon->score);
    if (em_is_f32(raw.dtype)) {
        const float f = *(const em_f32 *)raw.data;
        score->f = f;
        return verdict_of(!(f <= mon->alarm_above.f), !(f <= mon->uncertain_above.f));
    }
    score->i = raw.dtype == EM_I64 ? *(const em_i64 *)raw.data : *(const em_i32 *)raw.data;
    return verdict_of(score->i > mon->alarm_above.i, score->i > mon->uncertain_above.i);
}

/* Replaces distrust, if the program ran. */
static void conclude(const em_monitor *m, const em_inputs *in, const uint8_t *workspace,
                     em_status reason, em_result *out) {
    out->reason = reason;
    if (reason != EM_OK) {
        return;
    }
    out->verdict = EM_TRUST;
    for (uint32_t i = 0; i < m->n_monitors; i++) {
        out->verdicts[i] = judge(m, in, workspace, i, &out->scores[i]);
        if (out->verdicts[i] > out->verdict) {
            out->verdict = out->verdicts[i];
            out->monitor = i;
        }
    }
}

EM_UNUSED EM_INTERNAL void em_evaluate_checked(const em_monitor *m, const em_tap *taps,
                                               uint8_t *workspace, em_result *out) {
    const em_inputs in = {taps, NULL};
    distrust(out, m->n_monitors, EM_E_SCORE);
    conclude(m, &in, workspace, run_program(m, &in, workspace, &out->predicted_class), out);
}

EM_API em_status em_evaluate(const em_monitor *m, const em_tap *taps, size_t n_taps,
                             void *workspace, size_t workspace_size, em_result *out) {
    if (out == NULL) {
        return EM_E_NULL;
    }
    if (!is_open(m)) {
        distrust(out, 0, EM_E_NULL);
        return EM_E_NULL;
    }
    em_status status = check_workspace(m, workspace, workspace_size);
    if (status == EM_OK) {
        status = check_taps_given(m, taps, n_taps);
    }
    distrust(out, m->n_monitors, status);
    if (status == EM_OK) {
        const em_inputs in = {taps, NULL};
        uint8_t *bytes = (uint8_t *)workspace;
        conclude(m, &in, bytes, run_if_finite(m, &in, bytes, &out->predicted_class), out);
    }
    return out->reason;
}

/* ---- self-test, section 11 ------------------------------------------------------------------ */

/* Does an evaluation of the vector give what the file says? Without an em_result, which may be most
 * of a small stack. */
static int passes(const em_monitor *m, const uint8_t *vector, uint8_t *workspace) {
    const em_inputs in = {NULL, vector};
    const uint8_t *expected = place_in(m, vector, m->n_taps);
    const em_expected *want = (const em_expected *)(const void *)expected;
    const uint8_t *scores = expected + sizeof *want;
    const em_u32 *verdicts = (const em_u32 *)(const void *)(scores + 8 * m->n_monitors);
    int32_t predicted_class;
    const em_status reason = run_if_finite(m, &in, workspace, &predicted_class);
    em_verdict worst = reason == EM_OK ? EM_TRUST : EM_FAULT;
    int equal = predicted_class == want->predicted_class && (int32_t)reason == want->reason;
    for (uint32_t i = 0; i < m->n_monitors; i++) {
        em_verdict verdict = EM_FAULT;
        em_number score = {0};
        if (reason == EM_OK) {
            verdict = judge(m, &in, workspace, i, &score);
        }
        worst = verdict > worst ? verdict : worst;
        equal &= (uint32_t)verdict == verdicts[i] && memcmp(&score, scores + 8 * i, 8) == 0;
    }
    return equal && (uint32_t)worst == want->verdict;
}

EM_API em_status em_self_test(const em_monitor *m, void *workspace, size_t workspace_size) {
    if (!is_open(m)) {
        return EM_E_NULL;
    }
    em_status status = check_workspace(m, workspace, workspace_size);
    if (status == EM_OK) {
        status = em_check_arithmetic(); /* a thread may have its own rounding mode */
    }
    if (status != EM_OK || m->self_test == 0) {
        return status;
    }
    const uint8_t *bytes = m->file + m->self_test;
    const em_self_test_head head = *(const em_self_test_head *)(const void *)bytes;
    for (uint32_t i = 0; i < head.count; i++) {
        const uint8_t *vector = bytes + sizeof head + (size_t)i * head.stride;
        if (!passes(m, vector, (uint8_t *)workspace)) {
            return EM_E_SELF_TEST;
        }
    }
    return EM_OK;
}

/* ---- small services ------------------------------------------------------------------------- */

EM_API em_status em_check(const em_monitor *m) {
    if (!is_open(m)) {
        return EM_E_NULL;
    }
    return em_crc(m->file, m->size) == em_header_of(m)->crc ? EM_OK : EM_E_CRC;
}

EM_API em_status em_bind_model(const em_monitor *m, const uint8_t sha256[32]) {
    if (!is_open(m) || sha256 == NULL) {
        return EM_E_NULL;
    }
    return memcmp(em_header_of(m)->model_sha256, sha256, 32) == 0 ? EM_OK : EM_E_MODEL;
}

EM_API size_t em_workspace_size(const em_monitor *m) { return is_open(m) ? m->workspace_size : 0; }

EM_API uint64_t em_work(const em_monitor *m) { return is_open(m) ? m->work : 0; }

EM_API size_t em_self_test_count(const em_monitor *m) {
    if (!is_open(m) || m->self_test == 0) {
        return 0;
    }
    return ((const em_self_test_head *)(const void *)(m->file + m->self_test))->count;
}

EM_API size_t em_class_count(const em_monitor *m) { return is_open(m) ? m->n_classes : 0; }

EM_API size_t em_tap_count(const em_monitor *m) { return is_open(m) ? m->n_taps : 0; }

EM_API size_t em_monitor_count(const em_monitor *m) { return is_open(m) ? m->n_monitors : 0; }

static const char *name_at(const em_monitor *m, uint32_t offset) {
    return (const char *)(m->file + m->strings + offset);
}

EM_API em_status em_describe_tap(const em_monitor *m, size_t index, em_tap_info *out) {
    if (!is_open(m) || out == NULL) {
        return EM_E_NULL;
    }
    if (index >= m->n_taps) {
        return EM_E_COUNT;
    }
    const em_tap_record *tap = em_tap_at(m, index);
    out->name = name_at(m, tap->name);
    out->dtype = (em_dtype)tap->dtype;
    out->length = tap->length;
    out->scale = tap->scale;
    out->zero_point = tap->zero_point;
    out->view = (em_view)tap->view;
    return EM_OK;
}

EM_API em_status em_describe_monitor(const em_monitor *m, size_t index, em_monitor_info *out) {
    if (!is_open(m) || out == NULL) {
        return EM_E_NULL;
    }
    if (index >= m->n_monitors) {
        return EM_E_COUNT;
    }
    const em_monitor_record *mon = em_monitor_at(m, index);
    out->name = name_at(m, mon->name);
    out->dtype = (em_dtype)em_node_at(m, mon->score - m->n_taps)->dtype;
    out->alarm_above = mon->alarm_above;
    out->uncertain_above = mon->uncertain_above;
    return EM_OK;
}

EM_API const char *em_metadata(const em_monitor *m, size_t *size) {
    const int present = is_open(m) && m->meta != 0;
    if (size != NULL) {
        *size = present ? m->meta_size : 0;
    }
    return present ? (const char *)(m->file + m->meta) : NULL;
}

EM_API const char *em_version(void) { return EM_VERSION; }

EM_API const char *em_status_text(em_status status) {
    switch (status) {
#define EM_STATUS_CASE(name, value, text)                                                          \
    case name:                                                                                     \
        return text;
        EM_STATUS_LIST(EM_STATUS_CASE)
#undef EM_STATUS_CASE
    }
    return "unknown status";
}

EM_API const char *em_verdict_text(em_verdict verdict) {
    switch (verdict) {
    case EM_TRUST:
        return "trust";
    case EM_UNCERTAIN:
        return "uncertain";
    case EM_ALARM:
        return "alarm";
    case EM_FAULT:
        return "fault";
    }
    return "unknown verdict";
}
