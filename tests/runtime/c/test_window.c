/* The window: counts by hand, exact sums, records that are fewer or more, reports byte by byte. */
#include "check.h"
#include "sample.h"

#include <string.h>

enum { CLASSES = 4 };

static artifact a;
static em_monitor m;
static em_result r;
static em_window window;
static em_window_monitor monitors[N_MONITORS + 1];
static em_window_class classes[CLASSES + 1];

static void watch(size_t n_monitors, size_t n_classes) {
    sample(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_window_start(&m, &window, monitors, n_monitors, classes, n_classes), EM_OK);
    memset(&r, 0, sizeof r);
    r.n_monitors = N_MONITORS;
}

static void see(em_verdict verdict, em_status reason, int32_t predicted) {
    r.verdict = verdict;
    r.reason = reason;
    r.predicted_class = predicted;
    for (int k = 0; k < N_MONITORS; k++) {
        r.verdicts[k] = verdict;
    }
    EXPECT(em_window_update(&m, &window, &r), EM_OK);
}

static void counts(void) {
    watch(N_MONITORS + 1, CLASSES + 1); /* more than the artifact has */
    const em_window_report *w = &window.report;
    EXPECT(w->n_monitors, N_MONITORS);
    EXPECT(w->n_classes, CLASSES);
    EXPECT(w->float_scores, 1u << M_ENTROPY);
    see(EM_TRUST, EM_OK, 0);
    see(EM_TRUST, EM_OK, 3);
    see(EM_UNCERTAIN, EM_OK, 3);
    see(EM_ALARM, EM_OK, 3);
    r.verdicts[M_BOX] = EM_TRUST; /* of one monitor alone */
    EXPECT(em_window_update(&m, &window, &r), EM_OK);
    see(EM_FAULT, EM_E_TAP_VALUE, -1);
    see(EM_FAULT, EM_E_SCORE, 2);
    see(EM_FAULT, EM_E_TAP_LENGTH, -1);
    see(EM_FAULT, EM_E_WORKSPACE, -1);
    see(EM_TRUST, EM_OK, CLASSES);
    EXPECT(w->images, 10);
    EXPECT(w->uncertains, 1);
    EXPECT(w->alarms, 2);
    EXPECT(w->value_faults, 1);
    EXPECT(w->score_faults, 1);
    EXPECT(w->other_faults, 2);
    EXPECT(w->other_images, 1);
    EXPECT(monitors[M_BOX].alarms, 1);
    EXPECT(monitors[M_VOTES].alarms, 2);
    EXPECT(monitors[M_VOTES].uncertains, 1);
    EXPECT(monitors[M_VOTES].scored, 6);
    EXPECT(classes[0].images, 1);
    EXPECT(classes[2].images, 1);
    EXPECT(classes[2].alarms, 0);
    EXPECT(classes[3].images, 4);
    EXPECT(classes[3].alarms, 3);
}

static void score(em_number votes, uint32_t entropy_bits) {
    r.scores[M_VOTES] = votes;
    r.scores[M_ENTROPY].i = 0;
    memcpy(&r.scores[M_ENTROPY].f, &entropy_bits, 4);
    see(EM_TRUST, EM_OK, 0);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static void sums_of_integers(void) {
    watch(N_MONITORS, 0);
    const em_window_monitor *votes = &monitors[M_VOTES];
    const int64_t numbers[] = {-1,
                               INT64_MIN,
                               INT64_MIN,
                               INT64_MIN + 1,
                               5,
                               INT64_MAX,
                               INT64_MAX,
                               INT64_MAX,
                               -INT64_C(4294967296),
                               UINT32_MAX,
                               -INT64_C(4294967297)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        score((em_number){.i = numbers[i]}, 0);
    }
    /* -1 + 2 MIN + MIN + 1 + 5 + 3 MAX - 2^32 + 2^32 - 1 - 2^32 - 1 = -2^32 */
    EXPECT(votes->sum_high, -1);
    EXPECT(votes->sum_low, 0);
    EXPECT(votes->scored, 11);
    EXPECT(monitors[M_BOX].sum_high, 0);
    for (int i = 0; i < 3; i++) {
        score((em_number){.i = INT64_MAX}, 0);
    }
    EXPECT(votes->sum_high, 3 * INT64_C(2147483648) - 2); /* 3 * (2^63 - 1) - 2^32 */
    EXPECT(votes->sum_low, UINT32_MAX - 2);
}

/* The sum of one float score, in steps of 2^-24. */
static int64_t steps(uint32_t bits) {
    watch(N_MONITORS, 0);
    score((em_number){0}, bits);
    const em_window_monitor *entropy = &monitors[M_ENTROPY];
    return (int64_t)((uint64_t)entropy->sum_high << 32 | entropy->sum_low);
}

static void sums_of_floats(void) {
    EXPECT(steps(bits_of(1.0f)), 1 << 24);
    EXPECT(steps(bits_of(-1.5f)), -(3 << 23));
    EXPECT(steps(bits_of(0.0f)), 0);
    EXPECT(steps(0x80000000u), 0);
    EXPECT(steps(1), 0); /* denormal */
    EXPECT(steps(0x807FFFFFu), 0);
    EXPECT(steps(bits_of(0x1p-24f)), 1);
    EXPECT(steps(bits_of(0x1.fffffep-25f)), 0); /* toward zero */
    EXPECT(steps(bits_of(-0x1.fffffep-25f)), 0);
    EXPECT(steps(bits_of(0x1.fffffep-24f)), 1);
    EXPECT(steps(bits_of(-0x1.8p-23f)), -3);
    EXPECT(steps(bits_of(0x1.fffffep37f)), 0xFFFFFF * (INT64_C(1) << 38));
    EXPECT(window.report.flags & EM_WINDOW_CLIPPED, 0);
    EXPECT(steps(bits_of(0x1p38f)), INT64_C(1) << 62);
    EXPECT(window.report.flags & EM_WINDOW_CLIPPED, EM_WINDOW_CLIPPED);
    EXPECT(steps(bits_of(-3e38f)), -(INT64_C(1) << 62));
    EXPECT(steps(0x7F800000u), 0); /* what is no number is no score */
    EXPECT(monitors[M_ENTROPY].scored, 0);
    EXPECT(steps(0xFFC00000u), 0);
    EXPECT(window.report.flags & EM_WINDOW_CLIPPED, 0);
}

static void fewer_records(void) {
    watch(1, 2);
    see(EM_ALARM, EM_OK, 1);
    see(EM_ALARM, EM_OK, 2);
    EXPECT(window.report.n_monitors, 1);
    EXPECT(window.report.n_classes, 2);
    EXPECT(window.report.other_images, 1);
    EXPECT(classes[1].alarms, 1);
    EXPECT(em_window_start(&m, &window, NULL, 9, NULL, 9), EM_OK);
    see(EM_ALARM, EM_OK, 1);
    EXPECT(window.report.n_monitors + window.report.n_classes, 0);
    EXPECT(window.report.other_images, 1);
}

static void a_full_window_counts_no_more(void) {
    watch(N_MONITORS, CLASSES);
    window.report.images = UINT32_MAX - 1;
    see(EM_ALARM, EM_OK, 1);
    EXPECT(window.report.images, UINT32_MAX);
    EXPECT(window.report.flags & EM_WINDOW_FULL, 0);
    see(EM_ALARM, EM_OK, 1);
    EXPECT(window.report.flags & EM_WINDOW_FULL, EM_WINDOW_FULL);
    EXPECT(window.report.images, UINT32_MAX);
    EXPECT(window.report.alarms, 1);
    EXPECT(classes[1].images, 1);
}

static void next(void) {
    watch(N_MONITORS, CLASSES);
    window.report.device = 77;
    window.report.started = 1000;
    window.report.ended = 1600;
    window.report.flags |= EM_WINDOW_CLIPPED;
    see(EM_ALARM, EM_OK, 1);
    em_window_next(&window);
    const em_window_report *w = &window.report;
    EXPECT(w->sequence, 1);
    EXPECT(w->device, 77);
    EXPECT(w->started, 1600);
    EXPECT(w->images + w->alarms, 0);
    EXPECT(w->flags, EM_WINDOW_DRIFT);
    EXPECT(w->float_scores, 1u << M_ENTROPY);
    EXPECT(classes[1].images, 0);
    EXPECT(monitors[M_BOX].alarms, 0);
    em_window_next(NULL);
}

static uint32_t u32_at(const uint8_t *from, size_t at) {
    return from[at] | (uint32_t)from[at + 1] << 8 | (uint32_t)from[at + 2] << 16 |
           (uint32_t)from[at + 3] << 24;
}

static void report(void) {
    uint8_t out[EM_WINDOW_BYTES(N_MONITORS, CLASSES) + 1];
    const size_t size = EM_WINDOW_BYTES(N_MONITORS, CLASSES);
    watch(N_MONITORS, CLASSES);
    const em_drift drift = {
        .images = 9, .faults = 2, .flagged_at = 7, .since = 3, .alternative = 1};
    window.report.device = UINT64_C(0x1122334455667788);
    see(EM_ALARM, EM_OK, 1);
    memset(out, 0xA5, sizeof out);
    EXPECT(em_window_write(&window, &drift, out, size - 1), 0);
    EXPECT(out[0], 0xA5);
    EXPECT(em_window_write(&window, &drift, out, sizeof out), size);
    EXPECT(out[size], 0xA5);
    EXPECT(memcmp(out, "EMWR\x01\x00\x70\x00\x18\x00\x08\x00", 12), 0);
    EXPECT(u32_at(out, 12), size);
    EXPECT(u32_at(out, 16), N_MONITORS);
    EXPECT(u32_at(out, 20), CLASSES);
    EXPECT(u32_at(out, 24), u32_at((const uint8_t *)a.file, 28)); /* the artifact's checksum */
    EXPECT(u32_at(out, 28), EM_WINDOW_DRIFT);
    EXPECT(u32_at(out, 32), 0x55667788);
    EXPECT(u32_at(out, 36), 0x11223344);
    EXPECT(u32_at(out, 64), 1); /* images */
    EXPECT(u32_at(out, 72), 1); /* alarms */
    EXPECT(u32_at(out, 92), 9);
    EXPECT(u32_at(out, 96), 2);
    EXPECT(u32_at(out, 100), 7);
    EXPECT(u32_at(out, 104), 3);
    EXPECT(u32_at(out, 108), 1);
    EXPECT(u32_at(out, 112 + 16), 1); /* alarms of the first monitor */
    EXPECT(u32_at(out, 112 + 24 * N_MONITORS + 8), 1);
    EXPECT(em_window_write(&window, NULL, out, size), size);
    EXPECT(u32_at(out, 28), 0);
    EXPECT(u32_at(out, 100), 0);
    EXPECT(em_window_start(&m, &window, NULL, 0, NULL, 0), EM_OK);
    EXPECT(em_window_write(&window, NULL, out, sizeof out), 116);
}

/* Behind the head, so that a reader of version 1 passes over it. */
static void estimate(void) {
    uint8_t plain[EM_WINDOW_BYTES(N_MONITORS, CLASSES)];
    uint8_t out[sizeof plain + EM_WINDOW_ESTIMATE_BYTES];
    watch(N_MONITORS, CLASSES);
    see(EM_ALARM, EM_OK, 1);
    em_estimate found;
    memset(&found, 0x5A, sizeof found);
    const em_drift drift = {.images = 9, .flagged_at = 7};
    EXPECT(em_window_write(&window, &drift, plain, sizeof plain), sizeof plain);
    EXPECT(em_window_write_estimate(&window, &drift, &found, out, sizeof out - 1), 0);
    EXPECT(em_window_write_estimate(&window, &drift, &found, out, sizeof out), sizeof out);
    EXPECT(u32_at(out, 4), 2u | (112u + 56u) << 16);
    EXPECT(u32_at(out, 12), sizeof out);
    EXPECT(u32_at(out, 28), EM_WINDOW_DRIFT | EM_WINDOW_ACCURACY);
    EXPECT(memcmp(out + 32, plain + 32, 112 - 32), 0);
    EXPECT(memcmp(out + 112, &found, sizeof found), 0);
    EXPECT(memcmp(out + 168, plain + 112, sizeof plain - 112 - 4), 0);
    EXPECT(em_window_write_estimate(&window, &drift, NULL, out, sizeof out), sizeof plain);
    EXPECT(memcmp(out, plain, sizeof plain), 0);
}

static void refusals(void) {
    uint8_t out[EM_WINDOW_BYTES(N_MONITORS, CLASSES)];
    watch(N_MONITORS, CLASSES);
    EXPECT(em_window_update(NULL, &window, &r), EM_E_NULL);
    EXPECT(em_window_update(&m, NULL, &r), EM_E_NULL);
    EXPECT(em_window_update(&m, &window, NULL), EM_E_NULL);
    EXPECT(em_window_start(NULL, &window, NULL, 0, NULL, 0), EM_E_NULL);
    EXPECT(em_window_start(&m, NULL, NULL, 0, NULL, 0), EM_E_NULL);
    EXPECT(em_window_write(NULL, NULL, out, sizeof out), 0);
    EXPECT(em_window_write(&window, NULL, NULL, sizeof out), 0);
    r.n_monitors = N_MONITORS - 1;
    EXPECT(em_window_update(&m, &window, &r), EM_E_COUNT);
    r.n_monitors = N_MONITORS;
    window.report.artifact++; /* another artifact's */
    EXPECT(em_window_update(&m, &window, &r), EM_E_COUNT);
    EXPECT(window.report.images, 0);
    memset(&window, 0, sizeof window); /* never started */
    EXPECT(em_window_update(&m, &window, &r), EM_E_COUNT);
    EXPECT(em_window_write(&window, NULL, out, sizeof out), 0);
    em_window_next(&window);
    memset(&m, 0, sizeof m);
    EXPECT(em_window_start(&m, &window, NULL, 0, NULL, 0), EM_E_NULL);
    EXPECT(em_window_update(&m, &window, &r), EM_E_NULL);
}

void test_window(void) {
    counts();
    sums_of_integers();
    sums_of_floats();
    fewer_records();
    a_full_window_counts_no_more();
    next();
    report();
    estimate();
    refusals();
}
