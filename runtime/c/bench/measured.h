/* What edgemon-bench knows of an artifact, and the two ways to print it. */
#ifndef MEASURED_H
#define MEASURED_H

#include "taps_file.h"

typedef struct measured {
    const char *path, *name;
    em_monitor monitor;
    em_tap taps[EM_MAX_TAPS]; /* of the first row */
    void *workspace;
    size_t artifact_bytes, workspace_bytes;
    uint32_t artifact_crc, results_crc, expected_crc;
    int stated;      /* is expected_crc? */
    uint32_t faults; /* rows with one: no evaluation is as short */
    double open_ns, first_ns, self_test_ns;
    uint32_t passes; /* over all rows, that make a sample */
    double *samples; /* of each round, ns an evaluation; in order once they are measured */
} measured;

/* Nanoseconds since some time; from clock() where the system has no monotonic clock. */
double clock_now(void);

/* The smallest step of clock_now that was seen, ns. */
double clock_step(void);

/* Ends the program where there is none. */
void *need_memory(size_t size);

em_status evaluate_row(const measured *a, const taps_file *file, uint32_t row, em_result *result);

/* Fills the samples of all artifacts, in interleaved rounds. */
void measure(measured *all, size_t count, const taps_file *file, size_t rounds);

const char *dtype_name(em_dtype dtype);

typedef void print_form(const measured *all, size_t count, const taps_file *file, size_t rounds);
print_form print_json, print_table;

#endif /* MEASURED_H */
