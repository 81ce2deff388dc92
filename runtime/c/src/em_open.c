/*
 * Validation: one complete pass over an untrusted file, rule by rule of FORMAT.md.
 *
 * Every function checks what it is named after and cites the rules (H1, S3, ...). Later checks
 * rely on earlier ones, never the reverse; em_open at the end of this file shows the order.
 * The only shape of a bounds check is  offset <= length && count <= (length - offset) / size.
 */
#include "em_crc_table.h"
#include "em_ops.h"

#define EM_MAX_FILE (UINT32_C(1) << 28)
#define EM_OPTIONAL UINT32_C(0x80000000)

/* ---- header and sections ----------------------------------------------------------------- */

#ifndef EM_HAS_CRC_TABLE
static uint32_t crc_step(uint32_t crc, const uint8_t *bytes, uint32_t n) {
    static const uint32_t nibble[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    for (uint32_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return crc;
}
#else
/* Four bytes at a time. */
static uint32_t crc_step(uint32_t crc, const uint8_t *bytes, uint32_t n) {
    uint32_t i = 0;
    for (; n - i >= 4; i += 4) {
        const uint8_t *b = bytes + i;
        crc = em_crc_behind[3][(crc ^ b[0]) & 255] ^ em_crc_behind[2][((crc >> 8) ^ b[1]) & 255] ^
              em_crc_behind[1][((crc >> 16) ^ b[2]) & 255] ^ em_crc_behind[0][(crc >> 24) ^ b[3]];
    }
    for (; i < n; i++) {
        crc = (crc >> 8) ^ em_crc_behind[0][(crc ^ bytes[i]) & 255];
    }
    return crc;
}
#endif

EM_INTERNAL uint32_t em_crc(const uint8_t *file, uint32_t size) {
    uint32_t crc = crc_step(UINT32_C(0xFFFFFFFF), file, 28);
    crc = crc_step(crc, file + 32, size - 32);
    return ~crc;
}

static em_status check_header(const em_header *h, size_t size) {
    static const uint8_t magic[8] = {0x8E, 'E', 'M', 'O', 'N', '\r', '\n', 0x1A};
    if (memcmp(h->magic, magic, sizeof magic) != 0) {
        return EM_E_MAGIC; /* H1 */
    }
    if (h->canary != UINT32_C(0x01020304)) {
        return EM_E_ENDIAN; /* H3: before anything of more than a byte is believed */
    }
    if (h->major != EM_FORMAT_MAJOR) {
        return EM_E_VERSION; /* H2 */
    }
    if (h->size != size || h->size % 16 != 0) {
        return EM_E_SIZE; /* H4; em_open has seen to the largest size */
    }
    if (h->sections < 1 || h->sections > 32) {
        return EM_E_COUNT; /* H5 */
    }
    if (h->reserved != 0) {
        return EM_E_RESERVED; /* H6 */
    }
    if (h->crc != em_crc((const uint8_t *)h, h->size)) {
        return EM_E_CRC; /* H7 */
    }
    return EM_OK;
}

/* The place of a kind in em_reader.section, or EM_S_SECTIONS for an unknown kind. */
static uint32_t slot_of(uint32_t kind) {
    if (kind >= 1 && kind <= EM_KIND_COMPANIONS) {
        return kind - 1;
    }
    if (kind > EM_OPTIONAL && kind <= (EM_OPTIONAL | 4)) {
        return EM_S_SELF_TEST + (kind & 15) - 1;
    }
    return EM_S_SECTIONS;
}

static em_status check_sections(em_reader *r, uint32_t count) {
    const uint32_t size = r->m.size;
    if (count > (size - sizeof(em_header)) / sizeof(em_section)) {
        return EM_E_SECTION;
    }
    const em_section *table = (const em_section *)(const void *)(r->m.file + sizeof(em_header));
    uint32_t end = (uint32_t)(sizeof(em_header) + count * sizeof(em_section));
    for (uint32_t i = 0; i < count; i++) {
        const em_section s = table[i];
        if (i > 0 && s.kind <= table[i - 1].kind) {
            return EM_E_SECTION; /* S1 */
        }
        if (s.reserved != 0) {
            return EM_E_RESERVED; /* S5 */
        }
        if (s.offset != end || s.size > size - s.offset) { /* end <= size */
            return EM_E_SECTION;                           /* S3 */
        }
        end = em_round_up(s.offset + s.size, 16); /* <= size, itself a multiple of 16 */
        if (!em_is_zero(r->m.file + s.offset + s.size, end - (s.offset + s.size))) {
            return EM_E_RESERVED; /* S4 */
        }
        const uint32_t slot = slot_of(s.kind);
        if (slot < EM_S_SECTIONS) {
            r->section[slot] = s;
        } else if (!(s.kind & EM_OPTIONAL)) {
            return EM_E_UNKNOWN; /* S2 */
        }
    }
    if (end != size) {
        return EM_E_SECTION; /* S3 */
    }
    for (uint32_t slot = EM_S_PROGRAM; slot <= EM_S_DATA; slot++) {
        if (r->section[slot].offset == 0) {
            return EM_E_SECTION; /* S6 */
        }
    }
    return EM_OK;
}

/* ---- program ------------------------------------------------------------------------------ */

static em_status check_count(const em_section *s, uint32_t count, uint32_t low, uint32_t high,
                             size_t record) {
    if (count < low || count > high) {
        return EM_E_COUNT;
    }
    return s->size == count * record ? EM_OK : EM_E_SECTION;
}

static em_status check_program(em_reader *r) {
    const em_section *s = r->section;
    if (s[EM_S_PROGRAM].size != sizeof(em_program)) {
        return EM_E_SECTION;
    }
    const em_program *p = (const em_program *)(const void *)(r->m.file + s[EM_S_PROGRAM].offset);
    em_status status;
    if ((status = check_count(&s[EM_S_TAPS], p->taps, 1, EM_MAX_TAPS, sizeof(em_tap_record))) ||
        (status = check_count(&s[EM_S_NODES], p->nodes, 1, 1024, sizeof(em_node))) ||
        (status = check_count(&s[EM_S_TABLES], p->tables, 0, 4096, sizeof(em_table))) ||
        (status = check_count(&s[EM_S_MONITORS], p->monitors, 1, EM_MAX_MONITORS,
                              sizeof(em_monitor_record)))) {
        return status; /* P1 to P4 */
    }
    if (p->reserved[0] != 0 || p->reserved[1] != 0) {
        return EM_E_RESERVED; /* P7 */
    }
    r->m.taps = s[EM_S_TAPS].offset;
    r->m.nodes = s[EM_S_NODES].offset;
    r->m.tables = s[EM_S_TABLES].offset;
    r->m.monitors = s[EM_S_MONITORS].offset;
    r->m.strings = s[EM_S_STRINGS].offset;
    r->m.self_test = s[EM_S_SELF_TEST].offset;
    r->m.self_test_size = s[EM_S_SELF_TEST].size;
    r->m.meta = s[EM_S_META].offset;
    r->m.meta_size = s[EM_S_META].size;
    r->m.drift = s[EM_S_DRIFT].offset;
    r->m.accuracy = s[EM_S_ACCURACY].offset;
    r->m.n_taps = p->taps;
    r->m.n_nodes = p->nodes;
    r->m.n_monitors = p->monitors;
    r->m.predicted = p->predicted;      /* P5: check_nodes */
    r->m.workspace_size = p->workspace; /* P6: check_nodes */
    r->n_tables = p->tables;
    return EM_OK;
}

/* ------------------------------------------------------------------------------------------ */

static em_status check_file(em_reader *r) {
    const em_header *header = em_header_of(&r->m);
    em_status status;
    if ((status = check_header(header, r->m.size)) ||
        (status = check_sections(r, header->sections)) || (status = check_program(r)) ||
        (status = em_check_strings(r)) || (status = em_check_taps(r)) ||
        (status = em_check_companions(r)) || (status = em_check_data(r)) ||
        (status = em_check_nodes(r)) || (status = em_check_monitors(r)) ||
        (status = em_check_self_test(r)) || (status = em_check_drift(r))) {
        return status;
    }
    return em_check_accuracy(r);
}

/* *r comes as zeros. */
static em_status read_artifact(em_reader *r, const void *artifact, size_t size) {
    if (artifact == NULL) {
        return EM_E_NULL;
    }
    if ((uintptr_t)artifact % 8 != 0) {
        return EM_E_ALIGN;
    }
    if (size < sizeof(em_header) || size > EM_MAX_FILE) {
        return EM_E_SIZE; /* H4 */
    }
    r->m.file = (const uint8_t *)artifact;
    r->m.size = (uint32_t)size;
    if (em_header_of(&r->m)->canary == UINT32_C(0x04030201)) {
        return EM_E_ENDIAN; /* H3: known answers have bytes among them and would blame floats */
    }
    if (em_check_arithmetic() != EM_OK) {
        return EM_E_FLOAT; /* section 7.11 */
    }
    return check_file(r);
}

EM_API em_status em_open(em_monitor *m, const void *artifact, size_t size) {
    return em_open_limited(m, artifact, size, NULL);
}

EM_API em_status em_open_limited(em_monitor *m, const void *artifact, size_t size,
                                 const em_limits *limits) {
    if (m == NULL) {
        return EM_E_NULL;
    }
    memset(m, 0, sizeof *m);
    em_reader r;
    memset(&r, 0, sizeof r);
    const em_status status = read_artifact(&r, artifact, size);
    if (status != EM_OK) {
        return status;
    }
    r.m.work = em_work_of(&r.m);
    if (limits != NULL && (r.m.work > limits->work || r.m.workspace_size > limits->workspace)) {
        return EM_E_LIMIT;
    }
    *m = r.m;
    return EM_OK;
}

EM_API const char *em_missing_op(const void *artifact, size_t size) {
    em_reader r;
    memset(&r, 0, sizeof r);
    return read_artifact(&r, artifact, size) == EM_E_OP_LEFT_OUT ? em_lacking(r.lacking) : NULL;
}
