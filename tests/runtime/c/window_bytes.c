/* Writes the report of a window that saw made-up results: the same bytes on every machine. */
#include "check.h"
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the sample checks of itself. */
void expect_int(const char *file, int line, const char *what, int64_t got, int64_t want) {
    if (got != want) {
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
        exit(2);
    }
}

static uint32_t drawn;

/* xorshift (Marsaglia 2003). */
static uint32_t draw(void) {
    drawn ^= drawn << 13;
    drawn ^= drawn >> 17;
    drawn ^= drawn << 5;
    return drawn;
}

int main(void) {
    static artifact a;
    static em_monitor m;
    static em_window window;
    static em_window_monitor monitors[N_MONITORS];
    static em_window_class classes[3];
    static em_drift drift;
    static em_result r;
    uint8_t out[EM_WINDOW_BYTES(N_MONITORS, 3)];
    sample(&a);
    if (em_open(&m, a.file, a.size) != EM_OK ||
        em_window_start(&m, &window, monitors, N_MONITORS, classes, 3) != EM_OK) {
        return 1;
    }
    drawn = 1;
    r.n_monitors = N_MONITORS;
    window.report.device = UINT64_C(0x0102030405060708);
    window.report.ended = 1764547200;
    for (int image = 0; image < 20000; image++) {
        r.verdict = (em_verdict)(draw() % 4);
        r.reason = (em_status)(-20 - (int)(draw() % 10));
        r.predicted_class = (int32_t)(draw() % 6) - 1;
        for (int k = 0; k < N_MONITORS; k++) {
            r.verdicts[k] = (em_verdict)(draw() % 4);
            const uint64_t high = draw();
            r.scores[k].i = (int64_t)(high << 32 | draw());
        }
        const uint32_t bits = draw();
        r.scores[M_ENTROPY].i = 0;
        memcpy(&r.scores[M_ENTROPY].f, &bits, sizeof bits); /* of any float, NaN too */
        if (em_window_update(&m, &window, &r) != EM_OK ||
            em_drift_update(&m, &drift, &r) != EM_OK) {
            return 1;
        }
    }
    const size_t size = em_window_write(&window, &drift, out, sizeof out);
    return size == sizeof out && fwrite(out, 1, size, stdout) == size ? 0 : 1;
}
