/*
 * Watching in the field: what a device counts of its images, and the report that it sends home
 * (docs/fleet.md). Whole numbers only, so that the same images give the same bytes everywhere.
 */
#include "em_open.h"

#define CLIPPED_ABOVE 164u /* the exponent field of 2^37, whose steps take 62 bits */
#define DRIFT_FIELDS offsetof(em_drift, sums) /* as they lie in the report too */

_Static_assert(sizeof(em_window_report) == offsetof(em_window_report, drift_images) + DRIFT_FIELDS,
               "the head of a report ends with the first fields of the drift test's memory");
_Static_assert(sizeof(em_window_report) == 112, "the head of a report has no padding");
_Static_assert(sizeof(em_window_monitor) == 24, "a monitor's record has no padding");
_Static_assert(sizeof(em_window_class) == 8, "a class's record has no padding");

static void clear_counts(em_window *w) {
    em_window_report *r = &w->report;
    memset(&r->images, 0, sizeof *r - offsetof(em_window_report, images));
    r->flags &= EM_WINDOW_DRIFT;
    if (r->n_monitors > 0) {
        memset(w->monitors, 0, sizeof *w->monitors * r->n_monitors);
    }
    if (r->n_classes > 0) {
        memset(w->classes, 0, sizeof *w->classes * r->n_classes);
    }
}

static uint32_t records_of(const void *array, size_t length, uint32_t wanted) {
    return array == NULL ? 0 : length < wanted ? (uint32_t)length : wanted;
}

EM_API em_status em_window_start(const em_monitor *m, em_window *window,
                                 em_window_monitor *monitors, size_t n_monitors,
                                 em_window_class *classes, size_t n_classes) {
    if (m == NULL || m->file == NULL || window == NULL) {
        return EM_E_NULL;
    }
    memset(window, 0, sizeof *window);
    window->monitors = monitors;
    window->classes = classes;
    em_window_report *r = &window->report;
    memcpy(r->magic, "EMWR", sizeof r->magic);
    r->version = EM_WINDOW_VERSION;
    r->head_size = sizeof *r;
    r->monitor_size = sizeof *monitors;
    r->class_size = sizeof *classes;
    r->n_monitors = records_of(monitors, n_monitors, m->n_monitors);
    r->n_classes = records_of(classes, n_classes, m->n_classes);
    r->size = (uint32_t)EM_WINDOW_BYTES(r->n_monitors, r->n_classes);
    r->artifact = em_header_of(m)->crc;
    r->flags = m->drift != 0 ? EM_WINDOW_DRIFT : 0;
    for (uint32_t i = 0; i < m->n_monitors; i++) {
        const uint32_t dtype = em_node_at(m, em_monitor_at(m, i)->score - m->n_taps)->dtype;
        r->float_scores |= (uint32_t)(dtype == EM_F32) << i;
    }
    clear_counts(window);
    return EM_OK;
}

/* ---- scores -------------------------------------------------------------------------------- */

/* A finite float in steps of 2^-24. A denormal is far below a step. */
static int64_t steps_of(uint32_t bits, uint32_t *flags) {
    const uint32_t exponent = bits >> 23 & 255;
    uint64_t magnitude = (uint64_t)((bits & 0x7FFFFF) | 0x800000) << 38;
    if (exponent <= CLIPPED_ABOVE) {
        magnitude >>= exponent + 63 < CLIPPED_ABOVE ? 63 : CLIPPED_ABOVE - exponent;
    } else {
        magnitude = UINT64_C(1) << 62;
        *flags |= EM_WINDOW_CLIPPED;
    }
    return bits >> 31 ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* Adds to sum_high * 2^32 + sum_low, which 2^32 numbers of 64 bits cannot leave. */
static void add_score(em_window_monitor *to, int64_t score) {
    const uint64_t bits = (uint64_t)score;
    const uint64_t low = (uint64_t)to->sum_low + (uint32_t)bits;
    const uint64_t high = (bits >> 32) - ((bits >> 63) << 32);
    to->sum_low = (uint32_t)low;
    to->sum_high = (int64_t)((uint64_t)to->sum_high + high + (low >> 32));
    to->scored++;
}

static void count_monitors(em_window *w, const em_result *result) {
    for (uint32_t i = 0; i < w->report.n_monitors; i++) {
        em_window_monitor *own = &w->monitors[i];
        const uint32_t bits = em_bits_of(result->scores[i].f);
        const int is_float = (w->report.float_scores >> i & 1) != 0;
        own->alarms += result->verdicts[i] == EM_ALARM;
        own->uncertains += result->verdicts[i] == EM_UNCERTAIN;
        if (result->verdicts[i] != EM_FAULT && (!is_float || em_is_finite(bits))) {
            add_score(own, is_float ? steps_of(bits, &w->report.flags) : result->scores[i].i);
        }
    }
}

/* ---- images -------------------------------------------------------------------------------- */

static void count_verdict(em_window_report *r, const em_result *result) {
    if (result->verdict == EM_ALARM) {
        r->alarms++;
    } else if (result->verdict == EM_UNCERTAIN) {
        r->uncertains++;
    } else if (result->verdict == EM_TRUST) {
        return;
    } else if (result->reason == EM_E_TAP_VALUE) {
        r->value_faults++;
    } else if (result->reason == EM_E_SCORE) {
        r->score_faults++;
    } else {
        r->other_faults++;
    }
}

static void count_class(em_window *w, const em_result *result) {
    const uint32_t chosen = (uint32_t)result->predicted_class;
    if (chosen < w->report.n_classes) {
        w->classes[chosen].images++;
        w->classes[chosen].alarms += result->verdict == EM_ALARM || result->verdict == EM_UNCERTAIN;
    } else {
        w->report.other_images++;
    }
}

EM_API em_status em_window_update(const em_monitor *m, em_window *window, const em_result *result) {
    if (m == NULL || m->file == NULL || window == NULL || result == NULL) {
        return EM_E_NULL;
    }
    em_window_report *r = &window->report;
    if (r->version != EM_WINDOW_VERSION || r->artifact != em_header_of(m)->crc ||
        result->n_monitors != m->n_monitors) {
        return EM_E_COUNT;
    }
    if (r->images == UINT32_MAX) { /* no other count is larger */
        r->flags |= EM_WINDOW_FULL;
        return EM_OK;
    }
    r->images++;
    count_verdict(r, result);
    count_monitors(window, result);
    if (result->predicted_class >= 0) {
        count_class(window, result);
    }
    return EM_OK;
}

EM_API void em_window_next(em_window *window) {
    if (window != NULL) {
        window->report.sequence++;
        window->report.started = window->report.ended;
        clear_counts(window);
    }
}

/* ---- the report ---------------------------------------------------------------------------- */

/* As the artifact's checksum, without its table: reports are rare. */
static uint32_t report_crc(const uint8_t *bytes, size_t n) {
    uint32_t crc = UINT32_C(0xFFFFFFFF);
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

static uint8_t *append(uint8_t *at, const void *from, size_t size) {
    if (size > 0) {
        memcpy(at, from, size);
    }
    return at + size;
}

/* With an estimate the head is longer, and of version 2, which readers of version 1 read too. */
static void set_longer_head(uint8_t *out, const em_window_report *r) {
    em_window_report head;
    memcpy(&head, r, sizeof head);
    head.version = EM_WINDOW_VERSION + 1;
    head.head_size = (uint16_t)(sizeof head + sizeof(em_estimate));
    head.size += (uint32_t)sizeof(em_estimate);
    head.flags |= EM_WINDOW_ACCURACY;
    memcpy(out, &head, sizeof head);
}

static size_t write_report(const em_window *window, const em_drift *drift,
                           const em_estimate *estimate, void *out, size_t size) {
    if (window == NULL || out == NULL || window->report.version != EM_WINDOW_VERSION) {
        return 0;
    }
    const em_window_report *r = &window->report;
    const size_t whole = r->size + (estimate == NULL ? 0 : sizeof *estimate);
    if (size < whole) {
        return 0;
    }
    uint8_t *head = out;
    uint8_t *at = append(head, r, sizeof *r);
    if (estimate != NULL) {
        set_longer_head(head, r);
        at = append(at, estimate, sizeof *estimate);
    }
    if (drift == NULL) {
        head[offsetof(em_window_report, flags)] &= (uint8_t)~EM_WINDOW_DRIFT;
    } else if ((r->flags & EM_WINDOW_DRIFT) != 0) {
        memcpy(head + offsetof(em_window_report, drift_images), drift, DRIFT_FIELDS);
    }
    at = append(at, window->monitors, sizeof *window->monitors * r->n_monitors);
    at = append(at, window->classes, sizeof *window->classes * r->n_classes);
    const uint32_t crc = report_crc(head, (size_t)(at - head));
    memcpy(at, &crc, sizeof crc);
    return whole;
}

EM_API size_t em_window_write(const em_window *window, const em_drift *drift, void *out,
                              size_t size) {
    return write_report(window, drift, NULL, out, size);
}

EM_API size_t em_window_write_estimate(const em_window *window, const em_drift *drift,
                                       const em_estimate *estimate, void *out, size_t size) {
    return write_report(window, drift, estimate, out, size);
}
