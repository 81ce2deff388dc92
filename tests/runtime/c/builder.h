/*
 * Test only: makes .emon files in memory, straight from the tables of FORMAT.md and, but for
 * the numbers of ops, without the runtime's private headers, so that the two can disagree.
 */
#ifndef BUILDER_H
#define BUILDER_H

#include "edgemon/edgemon.h"
#include "em_op_list.h"

#include <stdint.h>

#define NONE 0xFFFFFFFFu

/* The ops by their names, ARGMAX to the last; their numbers are below OPS. */
enum {
#define NAME_OP(number, NAME, ...) NAME = number,
    EM_OP_LIST(NAME_OP)
#undef NAME_OP
        OPS,
    DENSITY_TABLES = TABLES /* below, TABLES is a section */
};

/* Section kinds */
#define PROGRAM 1u
#define TAPS 2u
#define NODES 3u
#define TABLES 4u
#define MONITORS 5u
#define STRINGS 6u
#define DATA 7u
#define COMPANIONS 8u
#define SELF_TEST 0x80000001u
#define META 0x80000002u
#define DRIFT 0x80000003u
#define ACCURACY 0x80000004u

typedef struct bytes {
    uint8_t at[24576];
    uint32_t size;
} bytes;

/* The parts of a file in the making. */
typedef struct builder {
    bytes taps, nodes, tables, monitors, strings, data, companions, self_test, meta, drift,
        accuracy;
    uint32_t n_taps, n_nodes, n_tables, n_monitors;
    uint32_t tables_taken, workspace;
} builder;

/* A finished file, aligned to 8. */
typedef struct artifact {
    uint64_t aligned[4096];
    uint8_t *file;
    uint32_t size;
} artifact;

void start(builder *b);
uint32_t add_tap(builder *b, em_dtype dtype, uint32_t length);
uint32_t add_table(builder *b, em_dtype dtype, uint32_t count, const void *content);
/* Takes all tables that were added since the node before. */
uint32_t add_node(builder *b, uint32_t op, em_dtype dtype, uint32_t length, uint32_t x, uint32_t y,
                  uint32_t bits);
void add_monitor(builder *b, uint32_t score, em_number alarm, em_number uncertain);
void finish(builder *b, uint32_t predicted, artifact *a);

/* Appends to a part; zeros up to a multiple of 16. */
void append(bytes *part, const void *data, uint32_t size);
void pad(bytes *part);

/* Change a finished file: field at `offset` of record `i` in section `kind`. */
uint8_t *field(artifact *a, uint32_t kind, uint32_t i, uint32_t offset);
void set8(uint8_t *at, uint32_t v);
void set16(uint8_t *at, uint32_t v);
void set32(uint8_t *at, uint32_t v);
void set_f64(uint8_t *at, double v);
uint32_t get32(const uint8_t *at);
/* The record of a section in the section table. */
uint8_t *section(artifact *a, uint32_t kind);
void fix_crc(artifact *a);

uint32_t size_of(em_dtype dtype);

/* em_open on a block of exactly this size, so that a sanitizer sees every byte beyond. */
em_status open_exactly(const void *file, uint32_t size, em_monitor *m);

#endif /* BUILDER_H */
