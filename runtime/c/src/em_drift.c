/*
 * The drift test: FORMAT.md, section 13. Its record is validated here, and images are counted here.
 *
 * Every alternative to "the scores are distributed as in calibration" has a sum of log-likelihood
 * ratios that restarts at zero (Page 1954). Whole numbers only, so that all implementations agree.
 */
#include "em_open.h"

/* ---- the record ---------------------------------------------------------------------------- */

#define EM_MOST_BINS 32u

static const em_drift_record *record_at(const em_monitor *m) {
    return (const em_drift_record *)(const void *)(m->file + m->drift);
}

static const em_number *edges_of(const em_drift_record *d) {
    return (const em_number *)(const void *)(d + 1);
}

/* The increments of alternative k, one a bin. */
static const em_i32 *increments_of(const em_drift_record *d, uint32_t k) {
    const em_number *end = edges_of(d) + (d->bins - 1);
    return (const em_i32 *)(const void *)end + (size_t)k * d->bins;
}

static int has_floats(const em_monitor *m, uint32_t monitor) {
    return em_is_f32(em_node_at(m, em_monitor_at(m, monitor)->score - m->n_taps)->dtype);
}

/* ---- validation ---------------------------------------------------------------------------- */

EM_INTERNAL em_status em_check_edges(const em_monitor *m, uint32_t monitor, const em_number *edge,
                                     uint32_t count, em_status error) {
    const int floats = has_floats(m, monitor);
    for (uint32_t i = 0; i < count; i++) {
        if (floats) {
            const uint64_t bits = (uint64_t)edge[i].i;
            if (bits >> 32 != 0) {
                return EM_E_RESERVED; /* D6 */
            }
            if (!em_is_finite((uint32_t)bits) || (i > 0 && !(edge[i - 1].f < edge[i].f))) {
                return error; /* D6, D7 */
            }
        } else if (i > 0 && edge[i - 1].i >= edge[i].i) {
            return error; /* D7 */
        }
    }
    return EM_OK;
}

static int are_increments(const em_i32 *increment, uint32_t bins) {
    int in_range = 1, can_fall = 0;
    for (uint32_t i = 0; i < bins; i++) {
        in_range &= em_magnitude(increment[i]) <= EM_DRIFT_LARGEST;
        can_fall |= increment[i] < 0;
    }
    return in_range && can_fall;
}

EM_INTERNAL EM_APART em_status em_check_drift(const em_reader *r) {
    const em_section *s = &r->section[EM_S_DRIFT];
    if (s->offset == 0) {
        return EM_OK;
    }
    if (s->size < sizeof(em_drift_record)) {
        return EM_E_DRIFT; /* D8 */
    }
    const em_drift_record *d = record_at(&r->m);
    if (d->reserved[0] != 0 || d->reserved[1] != 0 || d->reserved[2] != 0) {
        return EM_E_RESERVED; /* D5 */
    }
    if (d->monitor >= r->m.n_monitors || d->bins < 2 || d->bins > EM_MOST_BINS ||
        d->alternatives < 1 || d->alternatives > EM_MAX_ALTERNATIVES || d->limit < 1 ||
        d->limit > EM_DRIFT_LARGEST) {
        return EM_E_DRIFT; /* D1 to D4 */
    }
    const uint32_t size =
        (uint32_t)sizeof(em_drift_record) + 8 * (d->bins - 1) + 4 * d->alternatives * d->bins;
    if (s->size != size) {
        return EM_E_DRIFT; /* D8 */
    }
    const em_status status =
        em_check_edges(&r->m, d->monitor, edges_of(d), d->bins - 1, EM_E_DRIFT);
    if (status != EM_OK) {
        return status;
    }
    for (uint32_t k = 0; k < d->alternatives; k++) {
        if (!are_increments(increments_of(d, k), d->bins)) {
            return EM_E_DRIFT; /* D9 */
        }
    }
    return EM_OK;
}

/* ---- the test ------------------------------------------------------------------------------ */

/* Looks at every edge: the time must not depend on the score. */
EM_INTERNAL uint32_t em_bin_of(const em_monitor *m, uint32_t monitor, const em_number *edge,
                               uint32_t count, em_number score) {
    const int floats = has_floats(m, monitor);
    uint32_t bin = 0;
    for (uint32_t i = 0; i < count; i++) {
        bin += floats ? score.f > edge[i].f : score.i > edge[i].i;
    }
    return bin;
}

EM_INTERNAL int em_is_score(const em_monitor *m, uint32_t monitor, em_number score) {
    return !has_floats(m, monitor) || em_is_finite(em_bits_of(score.f));
}

static int32_t clamped_sum(int32_t sum, int32_t increment, int32_t limit) {
    const int64_t next = (int64_t)sum + increment; /* whatever the caller's memory holds */
    return next < 0 ? 0 : next > limit ? limit : (int32_t)next;
}

static void add_image(const em_drift_record *d, uint32_t bin, em_drift *drift) {
    for (uint32_t k = 0; k < d->alternatives; k++) {
        const int32_t before = drift->sums[k];
        drift->sums[k] = clamped_sum(before, increments_of(d, k)[bin], d->limit);
        if (before <= 0) {
            drift->starts[k] = drift->images;
        }
        if (drift->sums[k] == d->limit && drift->flagged_at == 0) {
            drift->flagged_at = drift->images;
            drift->since = drift->starts[k];
            drift->alternative = k;
        }
    }
}

EM_API void em_drift_reset(em_drift *drift) {
    if (drift != NULL) {
        memset(drift, 0, sizeof *drift);
    }
}

EM_API em_status em_drift_update(const em_monitor *m, em_drift *drift, const em_result *result) {
    if (m == NULL || m->file == NULL || drift == NULL || result == NULL) {
        return EM_E_NULL;
    }
    if (result->n_monitors != m->n_monitors) {
        return EM_E_COUNT;
    }
    if (drift->images < UINT32_MAX) {
        drift->images++;
    }
    if (m->drift == 0) {
        return EM_OK;
    }
    const em_drift_record *d = record_at(m);
    const em_number score = result->scores[d->monitor];
    if (result->verdicts[d->monitor] == EM_FAULT || !em_is_score(m, d->monitor, score)) {
        drift->faults += drift->faults < UINT32_MAX;
    } else {
        add_image(d, em_bin_of(m, d->monitor, edges_of(d), d->bins - 1, score), drift);
    }
    return EM_OK;
}

EM_API em_status em_describe_drift(const em_monitor *m, em_drift_info *out) {
    if (m == NULL || m->file == NULL || out == NULL) {
        return EM_E_NULL;
    }
    if (m->drift == 0) {
        return EM_E_COUNT;
    }
    const em_drift_record *d = record_at(m);
    out->monitor = d->monitor;
    out->bins = d->bins;
    out->alternatives = d->alternatives;
    out->limit = d->limit;
    out->run_length = d->run_length;
    return EM_OK;
}
