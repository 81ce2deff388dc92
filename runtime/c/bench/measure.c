/* The clock, and the samples. */
#define _POSIX_C_SOURCE 199309L

#include "measured.h"

#include <stdlib.h>
#include <time.h>

/* A sample takes so many steps of the clock at least, for an error of 2 %, and 10 us, beside which
 * a call of the clock is nothing. */
enum { STEPS = 50, NANOSECONDS = 10000 };

double clock_now(void) {
#ifdef CLOCK_MONOTONIC
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
#else
    return 1e9 / (double)CLOCKS_PER_SEC * (double)clock();
#endif
}

double clock_step(void) {
    static double smallest;
    if (smallest > 0) {
        return smallest;
    }
    for (int i = 0; smallest <= 0 || i < 20; i++) {
        const double start = clock_now();
        double end = start;
        while (end <= start) {
            end = clock_now();
        }
        if (smallest <= 0 || end - start < smallest) {
            smallest = end - start;
        }
        if (i == 0 && smallest > 1e6) {
            break; /* a hundredth of a second each: one is enough */
        }
    }
    return smallest;
}

em_status evaluate_row(const measured *a, const taps_file *file, uint32_t row, em_result *result) {
    em_tap taps[EM_MAX_TAPS];
    const size_t count = em_tap_count(&a->monitor), offset = row * file->row_bytes;
    for (size_t i = 0; i < count; i++) {
        taps[i] = a->taps[i];
        taps[i].data = (const uint8_t *)taps[i].data + offset;
    }
    return em_evaluate(&a->monitor, taps, count, a->workspace, a->workspace_bytes, result);
}

/* ns of so many passes over all rows. */
static double time_passes(const measured *a, const taps_file *file, uint32_t passes) {
    em_result result;
    const double start = clock_now();
    for (uint32_t pass = 0; pass < passes; pass++) {
        for (uint32_t row = 0; row < file->rows; row++) {
            evaluate_row(a, file, row, &result);
        }
    }
    return clock_now() - start;
}

static int order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void measure(measured *all, size_t count, const taps_file *file, size_t rounds) {
    const double steps = STEPS * clock_step();
    const double least = steps > NANOSECONDS ? steps : NANOSECONDS;
    for (size_t i = 0; i < count; i++) { /* warm, too */
        all[i].samples = need_memory(sizeof(double) * rounds);
        all[i].passes = 1;
        while (time_passes(&all[i], file, all[i].passes) < least && all[i].passes < 1u << 24) {
            all[i].passes *= 2;
        }
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t k = 0; k < count; k++) {
            measured *a = &all[round % 2 ? count - 1 - k : k];
            a->samples[round] =
                time_passes(a, file, a->passes) / ((double)a->passes * (double)file->rows);
        }
    }
    for (size_t i = 0; i < count; i++) {
        qsort(all[i].samples, rounds, sizeof(double), order);
    }
}
