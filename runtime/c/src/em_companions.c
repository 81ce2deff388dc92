/* Models beside the classifier, which some views of taps need: FORMAT.md, section 16. */
#include "em_open.h"

/* The records, and how many there are. Looked for in the section table anew: em_monitor has no
 * field of it, for hardly any artifact has companions. */
static const em_companion_record *companions_of(const em_monitor *m, uint32_t *count) {
    const em_header *header = em_header_of(m);
    const em_section *table = (const em_section *)(const void *)(m->file + sizeof(em_header));
    for (uint32_t i = 0; i < header->sections; i++) {
        if (table[i].kind == EM_KIND_COMPANIONS) {
            *count = table[i].size / (uint32_t)sizeof(em_companion_record);
            return (const em_companion_record *)(const void *)(m->file + table[i].offset);
        }
    }
    *count = 0;
    return NULL;
}

static int is_read(const em_monitor *m, uint32_t view) {
    for (uint32_t i = 0; i < m->n_taps; i++) {
        if (em_tap_at(m, i)->view == view) {
            return 1;
        }
    }
    return 0;
}

static em_status check_record(const em_monitor *m, const em_companion_record *record) {
    if (record->reserved[0] != 0 || record->reserved[1] != 0) {
        return EM_E_RESERVED; /* K5 */
    }
    if (record->size == 0) {
        return EM_E_COMPANION; /* K4 */
    }
    return is_read(m, record->view) ? EM_OK : EM_E_COMPANION; /* K3 */
}

EM_INTERNAL em_status em_check_companions(const em_reader *r) {
    const em_section *s = &r->section[EM_S_COMPANIONS];
    const em_companion_record *record =
        (const em_companion_record *)(const void *)(r->m.file + s->offset);
    const uint32_t count = s->offset == 0 ? 0 : s->size / (uint32_t)sizeof *record;
    uint32_t known = EM_VIEW_MIRROR; /* views up to this one have what they need */
    if (s->offset != 0 && (count == 0 || s->size % sizeof *record != 0)) {
        return EM_E_COMPANION; /* K1 */
    }
    for (uint32_t i = 0; i < count; i++) {
        if (record[i].view <= known || record[i].view > EM_VIEW_COMPANION) {
            return EM_E_COMPANION; /* K2 */
        }
        while (++known < record[i].view) {
            if (is_read(&r->m, known)) {
                return EM_E_COMPANION; /* T8 */
            }
        }
        const em_status status = check_record(&r->m, &record[i]);
        if (status != EM_OK) {
            return status;
        }
    }
    while (++known <= EM_VIEW_COMPANION) {
        if (is_read(&r->m, known)) {
            return EM_E_COMPANION; /* T8 */
        }
    }
    return EM_OK;
}

EM_API size_t em_companion_count(const em_monitor *m) {
    uint32_t count = 0;
    if (m != NULL && m->file != NULL) {
        (void)companions_of(m, &count);
    }
    return count;
}

EM_API em_status em_describe_companion(const em_monitor *m, size_t index, em_companion_info *out) {
    uint32_t count = 0;
    if (m == NULL || m->file == NULL || out == NULL) {
        return EM_E_NULL;
    }
    const em_companion_record *record = companions_of(m, &count);
    if (index >= count) {
        return EM_E_COUNT;
    }
    out->view = (em_view)record[index].view;
    out->size = record[index].size;
    out->sha256 = record[index].sha256;
    return EM_OK;
}

EM_API em_status em_bind_companion(const em_monitor *m, em_view view, const uint8_t sha256[32]) {
    uint32_t count = 0;
    if (m == NULL || m->file == NULL || sha256 == NULL) {
        return EM_E_NULL;
    }
    const em_companion_record *record = companions_of(m, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (record[i].view == (uint32_t)view) {
            return memcmp(record[i].sha256, sha256, 32) == 0 ? EM_OK : EM_E_COMPANION;
        }
    }
    return EM_E_COUNT;
}
