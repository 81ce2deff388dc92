#include "builder.h"

#include <stdlib.h>
#include <string.h>

uint32_t size_of(em_dtype dtype) {
    static const uint32_t sizes[] = {0, 1, 1, 2, 4, 8, 4, 4};
    return sizes[dtype];
}

void set8(uint8_t *at, uint32_t v) { at[0] = (uint8_t)v; }

void set16(uint8_t *at, uint32_t v) {
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

void set32(uint8_t *at, uint32_t v) {
    set16(at, v & 0xFFFF);
    set16(at + 2, v >> 16);
}

void set_f64(uint8_t *at, double v) { memcpy(at, &v, 8); }

uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void append(bytes *part, const void *data, uint32_t size) {
    if (size > sizeof part->at - part->size) {
        abort(); /* a test asks for more than a test file holds */
    }
    if (size > 0) {
        memcpy(part->at + part->size, data, size);
    }
    part->size += size;
}

void pad(bytes *part) {
    while (part->size % 16 != 0) {
        append(part, "", 1);
    }
}

static void append32(bytes *part, uint32_t v) {
    uint8_t raw[4];
    set32(raw, v);
    append(part, raw, 4);
}

static void append16(bytes *part, uint32_t v) {
    uint8_t raw[2];
    set16(raw, v);
    append(part, raw, 2);
}

static void append_f64(bytes *part, double v) { append(part, &v, 8); }

void start(builder *b) {
    bytes *parts[] = {&b->taps, &b->nodes,     &b->tables, &b->monitors, &b->strings,   &b->data,
                      &b->meta, &b->self_test, &b->drift,  &b->accuracy, &b->companions};
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        parts[i]->size = 0; /* what lies behind is never read */
    }
    b->n_taps = b->n_nodes = b->n_tables = b->n_monitors = 0;
    b->tables_taken = b->workspace = 0;
    append(&b->strings, "tap\0monitor", 12);
}

uint32_t add_tap(builder *b, em_dtype dtype, uint32_t length) {
    append32(&b->taps, 0); /* name */
    append16(&b->taps, dtype);
    append16(&b->taps, 0);
    append32(&b->taps, length);
    append32(&b->taps, 0); /* zero point */
    append_f64(&b->taps, 1.0);
    append32(&b->taps, 0);
    append32(&b->taps, 0);
    return b->n_taps++;
}

/* The offset counts from the start of DATA until finish() knows where that is. */
uint32_t add_table(builder *b, em_dtype dtype, uint32_t count, const void *content) {
    pad(&b->data);
    append16(&b->tables, dtype);
    append16(&b->tables, 0);
    append32(&b->tables, b->data.size);
    append32(&b->tables, count);
    append32(&b->tables, 0);
    append(&b->data, content, count * size_of(dtype));
    return b->n_tables++;
}

/* Of a tap or of a node's result. */
static uint32_t length_of(const builder *b, uint32_t id) {
    return id < b->n_taps ? get32(b->taps.at + 32 * id + 8)
                          : get32(b->nodes.at + 32 * (id - b->n_taps) + 4);
}

uint32_t add_node(builder *b, uint32_t op, em_dtype dtype, uint32_t length, uint32_t x, uint32_t y,
                  uint32_t bits) {
    const uint32_t taken = b->n_tables - b->tables_taken;
    append16(&b->nodes, op);
    append16(&b->nodes, dtype);
    append32(&b->nodes, length);
    append32(&b->nodes, x);
    append32(&b->nodes, y);
    append32(&b->nodes, taken > 0 ? b->tables_taken : NONE);
    append16(&b->nodes, taken);
    append16(&b->nodes, bits);
    append32(&b->nodes, b->workspace);
    append32(&b->nodes, 0);
    b->tables_taken = b->n_tables;
    b->workspace += (length * size_of(dtype) + 7) / 8 * 8;
    b->workspace += op == PERFECT_TREES ? (4 * length_of(b, x) + 7) / 8 * 8 : 0;
    return b->n_taps + b->n_nodes++;
}

void add_monitor(builder *b, uint32_t score, em_number alarm, em_number uncertain) {
    append32(&b->monitors, 4); /* name */
    append32(&b->monitors, score);
    append(&b->monitors, &alarm, 8);
    append(&b->monitors, &uncertain, 8);
    append32(&b->monitors, 0);
    append32(&b->monitors, 0);
    append_f64(&b->monitors, 1.0);
    append32(&b->monitors, 0);
    append32(&b->monitors, 0);
    b->n_monitors++;
}

static void add_section(bytes *file, uint32_t *next, uint32_t kind, const bytes *part) {
    set32(file->at + *next, kind);
    set32(file->at + *next + 4, file->size);
    set32(file->at + *next + 8, part->size);
    *next += 16;
    append(file, part->at, part->size);
    pad(file);
}

void finish(builder *b, uint32_t predicted, artifact *a) {
    static const uint8_t magic[8] = {0x8E, 'E', 'M', 'O', 'N', '\r', '\n', 0x1A};
    static bytes program, file;
    const uint32_t sections = 7u + (b->self_test.size > 0) + (b->meta.size > 0) +
                              (b->drift.size > 0) + (b->accuracy.size > 0) +
                              (b->companions.size > 0);
    program.size = 0;
    append32(&program, b->n_taps);
    append32(&program, b->n_nodes);
    append32(&program, b->n_tables);
    append32(&program, b->n_monitors);
    append32(&program, predicted);
    append32(&program, b->workspace);
    append32(&program, 0);
    append32(&program, 0);

    file.size = 64 + 16 * sections;
    memset(file.at, 0, file.size);
    uint32_t next = 64;
    add_section(&file, &next, PROGRAM, &program);
    add_section(&file, &next, TAPS, &b->taps);
    add_section(&file, &next, NODES, &b->nodes);
    const uint32_t tables = file.size;
    add_section(&file, &next, TABLES, &b->tables);
    add_section(&file, &next, MONITORS, &b->monitors);
    add_section(&file, &next, STRINGS, &b->strings);
    for (uint32_t i = 0; i < b->n_tables; i++) {
        uint8_t *offset = file.at + tables + 16 * i + 4;
        set32(offset, get32(offset) + file.size);
    }
    add_section(&file, &next, DATA, &b->data);
    if (b->companions.size > 0) {
        add_section(&file, &next, COMPANIONS, &b->companions);
    }
    if (b->self_test.size > 0) {
        add_section(&file, &next, SELF_TEST, &b->self_test);
    }
    if (b->meta.size > 0) {
        add_section(&file, &next, META, &b->meta);
    }
    if (b->drift.size > 0) {
        add_section(&file, &next, DRIFT, &b->drift);
    }
    if (b->accuracy.size > 0) {
        add_section(&file, &next, ACCURACY, &b->accuracy);
    }
    memcpy(file.at, magic, 8);
    set16(file.at + 8, 1);
    set32(file.at + 12, 0x01020304);
    set32(file.at + 16, file.size);
    set32(file.at + 20, sections);

    a->file = (uint8_t *)a->aligned;
    a->size = file.size;
    memcpy(a->file, file.at, file.size);
    fix_crc(a);
}

uint8_t *section(artifact *a, uint32_t kind) {
    for (uint32_t i = 0; i < get32(a->file + 20); i++) {
        if (get32(a->file + 64 + 16 * i) == kind) {
            return a->file + 64 + 16 * i;
        }
    }
    abort();
}

uint8_t *field(artifact *a, uint32_t kind, uint32_t i, uint32_t offset) {
    static const uint32_t records[] = {0, 32, 32, 32, 16, 48, 1, 1};
    const uint32_t record = kind <= DATA ? records[kind] : 1;
    return a->file + get32(section(a, kind) + 4) + i * record + offset;
}

/* Eight steps of a bit each, as the polynomial is defined: of every byte once. */
static uint32_t crc(uint32_t state, const uint8_t *data, uint32_t size) {
    static uint32_t steps[256];
    for (uint32_t i = 0; i < 256 && steps[255] == 0; i++) {
        uint32_t s = i;
        for (int bit = 0; bit < 8; bit++) {
            s = (s >> 1) ^ (s & 1 ? 0xEDB88320u : 0u);
        }
        steps[i] = s;
    }
    for (uint32_t i = 0; i < size; i++) {
        state = (state >> 8) ^ steps[(state ^ data[i]) & 0xFF];
    }
    return state;
}

void fix_crc(artifact *a) {
    const uint32_t state = crc(0xFFFFFFFFu, a->file, 28);
    set32(a->file + 28, ~crc(state, a->file + 32, a->size - 32));
}

em_status open_exactly(const void *file, uint32_t size, em_monitor *m) {
    void *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, file, size);
    const em_status status = em_open(m, copy, size);
    free(copy);
    return status;
}
