/* Reads recorded taps, which come from elsewhere: nothing of the file is believed unchecked. */
#include "taps_file.h"

#include <string.h>

enum { HEAD = 32, TAP_RECORD = 16, EXPECTED_RECORD = 8, CHECKSUM = 4, VERSION = 1 };

static const uint8_t MAGIC[8] = {0x8E, 'E', 'M', 'T', 'A', 'P', '\r', '\n'};
static const uint8_t ELEMENT[] = {0, 1, 1, 2, 4, 8, 4, 4}; /* bytes, by em_dtype */

static uint32_t u32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t crc32_of(uint32_t crc, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/* The tap records, and that they make up a row. `names` lies before the rows. */
static const char *read_taps(taps_file *file, const uint8_t *records, const uint8_t *names,
                             uint32_t names_size) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < file->n_taps; i++) {
        const uint8_t *record = records + (size_t)i * TAP_RECORD;
        const uint32_t dtype = u32(record), length = u32(record + 4), view = u32(record + 8);
        const uint32_t name = u32(record + 12);
        if (dtype < EM_I8 || dtype > EM_U32 || length == 0 || view > EM_VIEW_COMPANION) {
            return "the data type, length or view of a tap is invalid";
        }
        if (name >= names_size || memchr(names + name, '\0', names_size - name) == NULL) {
            return "the name of a tap is invalid";
        }
        const uint64_t bytes = (uint64_t)length * ELEMENT[dtype];
        if (bytes > file->row_bytes || offset > file->row_bytes) {
            return "its taps do not make up a row";
        }
        file->taps[i] =
            (recorded_tap){(em_dtype)dtype, length,       view, (const char *)names + name,
                           (size_t)offset,  (size_t)bytes};
        offset += (bytes + 7) / 8 * 8;
    }
    return offset == file->row_bytes ? NULL : "its taps do not make up a row";
}

const char *taps_open(taps_file *file, const uint8_t *bytes, size_t size) {
    memset(file, 0, sizeof *file);
    if (size < sizeof MAGIC || memcmp(bytes, MAGIC, sizeof MAGIC) != 0) {
        return "not a file of recorded taps, or damaged by a text-mode copy; make one with "
               "edgemon target taps";
    }
    if (size < HEAD + CHECKSUM) {
        return "it ends too early: copy it again";
    }
    if (u32(bytes + 8) != VERSION) {
        return "written for another version of the format: write it again with the edgemon that "
               "this program is of";
    }
    const uint32_t rows = u32(bytes + 12), row_bytes = u32(bytes + 16), names = u32(bytes + 28);
    const uint32_t n_taps = u32(bytes + 20), n_expected = u32(bytes + 24);
    if (rows == 0 || n_taps == 0 || n_taps > EM_MAX_TAPS || names % 8 != 0) {
        return "it states no rows, or an impossible number of taps or size of names";
    }
    const uint64_t before =
        HEAD + (uint64_t)n_taps * TAP_RECORD + (uint64_t)n_expected * EXPECTED_RECORD + names;
    /* At most 2^64 - 2^33 + 1 for the rows, so that the product is no obstacle; the sum may be. */
    const uint64_t all_rows = (uint64_t)rows * row_bytes;
    if (all_rows > size || before > size || before + all_rows + CHECKSUM != size) {
        return "its size is not what its head states: copy it again";
    }
    if (crc32_of(0, bytes, size - CHECKSUM) != u32(bytes + size - CHECKSUM)) {
        return "checksum mismatch: it is damaged, copy it again";
    }
    file->rows = rows;
    file->row_bytes = row_bytes;
    file->n_taps = n_taps;
    file->n_expected = n_expected;
    file->expected = bytes + HEAD + (size_t)n_taps * TAP_RECORD;
    file->first_row = bytes + (size_t)before;
    return read_taps(file, bytes + HEAD, file->first_row - names, names);
}

const recorded_tap *taps_find(const taps_file *file, const em_tap_info *wanted) {
    for (uint32_t i = 0; i < file->n_taps; i++) {
        const recorded_tap *tap = &file->taps[i];
        if (tap->view == (uint32_t)wanted->view && strcmp(tap->name, wanted->name) == 0) {
            return tap;
        }
    }
    return NULL;
}

int taps_expected(const taps_file *file, uint32_t artifact_crc, uint32_t *results) {
    for (uint32_t i = 0; i < file->n_expected; i++) {
        const uint8_t *record = file->expected + (size_t)i * EXPECTED_RECORD;
        if (u32(record) == artifact_crc) {
            *results = u32(record + 4);
            return 1;
        }
    }
    return 0;
}

uint32_t taps_crc(const taps_file *file) {
    uint32_t crc = 0;
    for (uint32_t i = 0; i < file->n_taps; i++) {
        const uint8_t *at = file->first_row + file->taps[i].offset;
        for (uint32_t row = 0; row < file->rows; row++) {
            crc = crc32_of(crc, at + row * file->row_bytes, file->taps[i].bytes);
        }
    }
    return crc;
}

static size_t put(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> 8 * i & 0xFF);
    }
    return bytes;
}

uint32_t results_crc(uint32_t crc, const em_monitor *m, const em_result *result) {
    uint8_t bytes[9 + 9 * EM_MAX_MONITORS];
    size_t n = put(bytes, (uint64_t)result->reason, 4);
    n += put(bytes + n, (uint64_t)result->predicted_class, 4);
    n += put(bytes + n, (uint64_t)result->verdict, 1);
    for (uint32_t i = 0; i < result->n_monitors; i++) {
        em_monitor_info info;
        uint64_t bits = (uint64_t)result->scores[i].i;
        if (em_describe_monitor(m, i, &info) == EM_OK && info.dtype == EM_F32) {
            uint32_t of_float;
            memcpy(&of_float, &result->scores[i].f, sizeof of_float);
            bits = of_float;
        }
        n += put(bytes + n, (uint64_t)result->verdicts[i], 1);
        n += put(bytes + n, bits, 8);
    }
    return crc32_of(crc, bytes, n);
}
