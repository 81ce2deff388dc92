/* Test only: files that are bad in one thing each, and the status that must come of it. */
#ifndef BAD_FILES_H
#define BAD_FILES_H

#include "builder.h"

#include <stddef.h>

/* Where to damage the artifact `a`: byte `offset` of a record, of the header, of a section's record
 * in the section table, of a table's content. */
#define FIELD(kind, i, offset) field(a, (kind), (i), (offset))
#define HEADER(offset) (a->file + (offset))
#define SECTION(kind, offset) (section(a, (kind)) + (offset))
#define CONTENT(table, offset) (a->file + get32(FIELD(TABLES, (table), 4)) + (offset))
#define F32_ONE 0x3F800000u
#define F32_TWO 0x40000000u
#define F32_NAN 0x7FC00000u
#define F32_INF 0x7F800000u

typedef struct bad_file {
    const char *name;
    em_status status;
    void (*damage)(artifact *a);
} bad_file;

/* For a list of X(name, status, how to damage): a function for each, and its row. */
#define DEFINE_CASE(name, status, ...)                                                             \
    static void name(artifact *a) { __VA_ARGS__; }
#define LIST_CASE(name, status, ...) {#name, status, name},

/* Each file, damaged after `make`, is refused with its status, under a correct checksum unless that
 * is what is wrong, and leaves a monitor that cannot be used. */
void expect_refused(const bad_file *files, size_t n, void (*make)(artifact *a));

#endif /* BAD_FILES_H */
