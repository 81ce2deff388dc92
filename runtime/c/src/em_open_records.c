/* Validation of the records but the nodes: names, taps, tables, monitors and self-test vectors. */
#include "em_open.h"

/* Doubles are looked at as bits: many processors compute with none. */
#define ONE UINT64_C(0x3FF0000000000000)
#define INFINITE UINT64_C(0x7FF0000000000000)

static uint64_t double_bits(const double *v) {
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    return bits;
}

/* Above 0, no infinity, no NaN. */
static int is_positive(const double *v) { return double_bits(v) - 1 < INFINITE - 1; }

static int is_tap_dtype(uint32_t dtype) {
    return dtype == EM_I8 || dtype == EM_U8 || dtype == EM_I16 || dtype == EM_F32;
}

/* ---- names and taps ----------------------------------------------------------------------- */

static em_status check_name(const em_reader *r, uint32_t offset) {
    const em_section *s = &r->section[EM_S_STRINGS];
    const uint8_t *strings = r->m.file + s->offset;
    if (offset >= s->size) {
        return EM_E_STRING; /* X1 */
    }
    for (uint32_t i = 0; i < 256; i++) { /* never beyond the section's last byte, a NUL: X3 */
        const uint8_t c = strings[offset + i];
        if (c == 0) {
            return EM_OK;
        }
        if (c < 0x20 || c > 0x7E) {
            return EM_E_STRING; /* X2 */
        }
    }
    return EM_E_STRING; /* X1 */
}

EM_INTERNAL em_status em_check_strings(const em_reader *r) {
    const em_section *s = &r->section[EM_S_STRINGS];
    return s->size > 0 && r->m.file[s->offset + s->size - 1] == 0 ? EM_OK : EM_E_STRING; /* X3 */
}

static int is_code(uint32_t dtype, int32_t v) {
    switch (dtype) {
    case EM_I8:
        return v >= -128 && v <= 127;
    case EM_U8:
        return v >= 0 && v <= 255;
    case EM_I16:
        return v >= -32768 && v <= 32767;
    default:
        return v == 0;
    }
}

static em_status check_tap(const em_reader *r, const em_tap_record *tap) {
    if (tap->reserved[0] != 0 || tap->reserved[1] != 0) {
        return EM_E_RESERVED; /* T7 */
    }
    if (!is_tap_dtype(tap->dtype)) {
        return EM_E_TAP; /* T2 */
    }
    if (tap->view > EM_VIEW_COMPANION) {
        return EM_E_TAP; /* T3 */
    }
    if (tap->length < 1 || tap->length > EM_MAX_LENGTH) {
        return EM_E_TAP; /* T4 */
    }
    if (!is_code(tap->dtype, tap->zero_point)) {
        return EM_E_TAP; /* T5 */
    }
    if (!is_positive(&tap->scale) || (tap->dtype == EM_F32 && double_bits(&tap->scale) != ONE)) {
        return EM_E_TAP; /* T6 */
    }
    return check_name(r, tap->name); /* T1 */
}

EM_INTERNAL em_status em_check_taps(em_reader *r) {
    for (uint32_t i = 0; i < r->m.n_taps; i++) {
        const em_tap_record *tap = em_tap_at(&r->m, i);
        const em_status status = check_tap(r, tap);
        if (status != EM_OK) {
            return status;
        }
        if (!EM_FLOATS && tap->dtype == EM_F32) {
            r->lacking = EM_OP_COUNT;
            return EM_E_OP_LEFT_OUT;
        }
    }
    return EM_OK;
}

/* ---- tables ------------------------------------------------------------------------------ */

EM_INTERNAL em_status em_check_data(const em_reader *r) {
    const uint32_t end = r->section[EM_S_DATA].offset + r->section[EM_S_DATA].size;
    uint32_t at = r->section[EM_S_DATA].offset; /* end of the table before */
    for (uint32_t i = 0; i < r->n_tables; i++) {
        const em_table *t = em_table_at(&r->m, i);
        if (t->dtype == EM_I64 || em_size_of(t->dtype) == 0) {
            return EM_E_TABLE; /* A1 */
        }
        if (t->reserved != 0 || t->reserved2 != 0) {
            return EM_E_RESERVED; /* A2 */
        }
        if (t->offset != em_round_up(at, 16) || t->offset > end ||
            t->count > (end - t->offset) / em_size_of(t->dtype)) {
            return EM_E_TABLE; /* A3 */
        }
        if (!em_is_zero(r->m.file + at, t->offset - at)) {
            return EM_E_RESERVED; /* A4 */
        }
        at = t->offset + t->count * em_size_of(t->dtype);
    }
    return at == end ? EM_OK : EM_E_TABLE; /* A3 */
}

/* ---- monitors, self-test ------------------------------------------------------------------ */

static em_status check_thresholds(const em_monitor_record *mon, uint32_t dtype) {
    if (!em_is_f32(dtype)) {
        return mon->uncertain_above.i <= mon->alarm_above.i ? EM_OK : EM_E_MONITOR; /* M4 */
    }
    if ((uint64_t)mon->alarm_above.i >> 32 != 0 || (uint64_t)mon->uncertain_above.i >> 32 != 0) {
        return EM_E_RESERVED; /* M3, M4 */
    }
    if (!em_is_finite((uint32_t)mon->alarm_above.i) ||
        !em_is_finite((uint32_t)mon->uncertain_above.i)) {
        return EM_E_MONITOR; /* M3, M4 */
    }
    return mon->uncertain_above.f <= mon->alarm_above.f ? EM_OK : EM_E_MONITOR; /* M4 */
}

static em_status check_monitor(const em_reader *r, const em_monitor_record *mon) {
    if (mon->reserved != 0 || mon->reserved2[0] != 0 || mon->reserved2[1] != 0) {
        return EM_E_RESERVED; /* M6, M8 */
    }
    if (mon->score < r->m.n_taps || mon->score >= r->m.n_taps + r->m.n_nodes) {
        return EM_E_MONITOR; /* M2 */
    }
    const em_facts score = em_facts_of(&r->m, mon->score);
    if (score.length != 1) {
        return EM_E_MONITOR; /* M2; a node's dtype is i32, i64 or f32 */
    }
    if (mon->display > 1 || !is_positive(&mon->display_scale)) {
        return EM_E_MONITOR; /* M5, M7 */
    }
    const em_status status = check_thresholds(mon, score.dtype);
    return status == EM_OK ? check_name(r, mon->name) : status; /* M1 */
}

EM_INTERNAL em_status em_check_monitors(const em_reader *r) {
    for (uint32_t i = 0; i < r->m.n_monitors; i++) {
        const em_status status = check_monitor(r, em_monitor_at(&r->m, i));
        if (status != EM_OK) {
            return status;
        }
    }
    return EM_OK;
}

static uint64_t vector_taps_size(const em_monitor *m) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < m->n_taps; i++) {
        const em_tap_record *tap = em_tap_at(m, i);
        size += em_round_up(tap->length * em_size_of(tap->dtype), 16);
    }
    return size;
}

static int has_clean_padding(const em_reader *r, const uint8_t *vector, uint32_t stride) {
    int clean = 1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->m.n_taps; i++) {
        const em_tap_record *tap = em_tap_at(&r->m, i);
        const uint32_t end = at + tap->length * em_size_of(tap->dtype);
        const uint32_t next = em_round_up(end, 16);
        clean &= em_is_zero(vector + end, next - end);
        at = next;
    }
    const em_expected *expected = (const em_expected *)(const void *)(vector + at);
    at += (uint32_t)sizeof(em_expected) + 12 * r->m.n_monitors;
    return clean && expected->reserved == 0 && em_is_zero(vector + at, stride - at);
}

EM_INTERNAL em_status em_check_self_test(const em_reader *r) {
    const em_section *s = &r->section[EM_S_SELF_TEST];
    if (s->offset == 0) {
        return EM_OK;
    }
    if (s->size < sizeof(em_self_test_head)) {
        return EM_E_SELF_TEST; /* V1 */
    }
    const uint8_t *bytes = r->m.file + s->offset;
    const em_self_test_head *head = (const em_self_test_head *)(const void *)bytes;
    const uint64_t stride = vector_taps_size(&r->m) +
                            em_round_up((uint32_t)sizeof(em_expected) + 12 * r->m.n_monitors, 16);
    if (head->count < 1 || head->count > 64 || head->stride != stride ||
        s->size - sizeof(em_self_test_head) != head->count * stride) {
        return EM_E_SELF_TEST; /* V1 */
    }
    if (head->reserved[0] != 0 || head->reserved[1] != 0) {
        return EM_E_RESERVED; /* V2 */
    }
    for (uint32_t i = 0; i < head->count; i++) {
        const uint8_t *vector = bytes + sizeof(em_self_test_head) + i * (size_t)stride;
        if (!has_clean_padding(r, vector, head->stride)) {
            return EM_E_RESERVED; /* V2 */
        }
    }
    return EM_OK;
}
