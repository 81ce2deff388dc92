/* Times of the C runtime as a compiler makes it with the options that are asked about. */
#include "edgemon.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    em_monitor monitor;
    void *artifact, *workspace;
} opened;

void runtime_close(opened *o) {
    free(o->artifact);
    free(o->workspace);
    free(o);
}

/* NULL, and *status says why, for an artifact that is refused. */
opened *runtime_open(const void *artifact, size_t size, int *status) {
    opened *o = calloc(1, sizeof *o);
    o->artifact = malloc(size);
    memcpy(o->artifact, artifact, size);
    *status = (int)em_open(&o->monitor, o->artifact, size);
    o->workspace = malloc(em_workspace_size(&o->monitor) + 8);
    if (*status != EM_OK) {
        runtime_close(o);
        return NULL;
    }
    return o;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Mean ns of an evaluation over `passes` passes through the rows; the reason of the last one. */
double runtime_ns(const opened *o, const char *const *data, const int64_t *dtypes,
                  const int64_t *lengths, const int64_t *row_bytes, int64_t rows, int64_t passes,
                  int *reason) {
    em_tap taps[EM_MAX_TAPS];
    const size_t n = em_tap_count(&o->monitor);
    const size_t room = em_workspace_size(&o->monitor);
    em_result result;
    memset(taps, 0, sizeof taps);
    const double start = seconds_now();
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t row = 0; row < rows; row++) {
            for (size_t i = 0; i < n; i++) {
                taps[i].data = data[i] + row * row_bytes[i];
                taps[i].dtype = (em_dtype)dtypes[i];
                taps[i].length = (uint32_t)lengths[i];
            }
            em_evaluate(&o->monitor, taps, n, o->workspace, room, &result);
        }
    }
    *reason = (int)result.reason;
    return 1e9 * (seconds_now() - start) / (double)(passes * rows);
}
