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
    for (uint32_t i = 0; i < m->n_taps; i++) {
        if (taps[i].dtype == EM_F32 &&
            !em_all_finite((const em_u32 *)taps[i].data, taps[i].length)) {
            return EM_E_TAP_VALUE;
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

EM_INLINE em_value value_of(const em_monitor *m, const em_tap *taps, const uint8_t *workspace,
                            uint32_t id) {
    em_value v;
    if (id < m->n_taps) {
        v = (em_value){taps[id].data, (uint32_t)taps[id].dtype, taps[id].length};
    } else {
        const em_node *node = em_node_at(m, id - m->n_taps);
        v = (em_value){workspace + node->offset, node->dtype, node->length};
    }
    return v;
}

/* A float result with a NaN or an infinity becomes zeros: no node reads one (section 7.10).
 * Returns whether it had one. */
static int clear_unless_finite(const em_node *node, void *result) {
    const em_u32 *bits = (const em_u32 *)result;
    if (node->dtype != EM_F32 || (node->length == 1 ? em_is_finite(bits[0]) /* no loop to set up */
                                                    : em_all_finite(bits, node->length))) {
        return 0;
    }
    memset(result, 0, (size_t)node->length * 4);
    return 1;
}

/* Returns whether a result was not finite. */
static int run_program(const em_monitor *m, const em_tap *taps, uint8_t *workspace) {
    int cleared = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const em_node *node = em_node_at(m, i);
        const em_value x = value_of(m, taps, workspace, node->x);
        const em_value y = node->y == EM_NONE ? x : value_of(m, taps, workspace, node->y);
        em_run_node(m, node, x, y, workspace + node->offset);
        cleared |= clear_unless_finite(node, workspace + node->offset);
    }
    return cleared;
}

static em_verdict verdict_of(int alarm, int uncertain) {
    return alarm ? EM_ALARM : uncertain ? EM_UNCERTAIN : EM_TRUST;
}

/* Section 10. Only a score that is at most the threshold is trusted, which no NaN is. */
static em_verdict judge(const em_monitor_record *mon, em_value raw, em_number *score) {
    if (raw.dtype == EM_F32) {
        const float f = *(const em_f32 *)raw.data;
        score->f = f;
        return verdict_of(!(f <= mon->alarm_above.f), !(f <= mon->uncertain_above.f));
    }
    score->i = raw.dtype == EM_I64 ? *(const em_i64 *)raw.data : *(const em_i32 *)raw.data;
    return verdict_of(score->i > mon->alarm_above.i, score->i > mon->uncertain_above.i);
}

static void judge_all(const em_monitor *m, const em_tap *taps, const uint8_t *workspace,
                      em_result *out) {
    out->verdict = EM_TRUST;
    for (uint32_t i = 0; i < m->n_monitors; i++) {
        const em_monitor_record *mon = em_monitor_at(m, i);
        out->verdicts[i] = judge(mon, value_of(m, taps, workspace, mon->score), &out->scores[i]);
        if (out->verdicts[i] > out->verdict) {
            out->verdict = out->verdicts[i];
            out->monitor = i;
        }
    }
}

EM_INTERNAL void em_evaluate_checked(const em_monitor *m, const em_tap *taps, uint8_t *workspace,
                                     em_result *out) {
    distrust(out, m->n_monitors, EM_E_SCORE);
    const int cleared = run_program(m, taps, workspace);
    const em_value predicted = value_of(m, taps, workspace, m->predicted);
    out->predicted_class = *(const em_i32 *)predicted.data;
    if (!cleared) {
        out->reason = EM_OK;
        judge_all(m, taps, workspace, out);
    }
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
    if (status != EM_OK) {
        distrust(out, m->n_monitors, status);
        return status;
    }
    em_evaluate_checked(m, taps, (uint8_t *)workspace, out);
    return out->reason;
}

/* ---- self-test, section 11 ------------------------------------------------------------------ */

static int agrees(const em_result *got, const uint8_t *expected) {
    const em_expected *want = (const em_expected *)(const void *)expected;
    const uint32_t n = got->n_monitors;
    const uint8_t *scores = expected + sizeof *want;
    const em_u32 *verdicts = (const em_u32 *)(const void *)(scores + 8 * n);
    int equal = (uint32_t)got->verdict == want->verdict &&
                got->predicted_class == want->predicted_class &&
                (int32_t)got->reason == want->reason && memcmp(got->scores, scores, 8 * n) == 0;
    for (uint32_t i = 0; i < n; i++) {
        equal &= (uint32_t)got->verdicts[i] == verdicts[i];
    }
    return equal;
}

static em_status run_vector(const em_monitor *m, const uint8_t *vector, void *workspace,
                            size_t workspace_size) {
    em_tap taps[EM_MAX_TAPS];
    const uint8_t *at = vector;
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_tap_record *tap = em_tap_at(m, i);
        taps[i] = (em_tap){at, (em_dtype)tap->dtype, tap->length};
        at += em_round_up(tap->length * em_size_of(tap->dtype), 16);
    }
    em_result result;
    em_evaluate(m, taps, m->n_taps, workspace, workspace_size, &result);
    return agrees(&result, at) ? EM_OK : EM_E_SELF_TEST;
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
        status = run_vector(m, vector, workspace, workspace_size);
        if (status != EM_OK) {
            return status;
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

static em_dtype score_dtype(const em_monitor *m, const em_monitor_record *mon) {
    return (em_dtype)em_node_at(m, mon->score - m->n_taps)->dtype;
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
    out->dtype = score_dtype(m, mon);
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

EM_API double em_display(const em_monitor *m, size_t index, em_number raw) {
    if (!is_open(m) || index >= m->n_monitors) {
        return 0.0;
    }
    const em_monitor_record *mon = em_monitor_at(m, index);
    const double number = score_dtype(m, mon) == EM_F32 ? (double)raw.f : (double)raw.i;
    const double shown = number * mon->display_scale;
    return mon->display == 1 ? shown / (1.0 + shown) : shown;
}

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
