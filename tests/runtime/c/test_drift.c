/* The drift test: bins and their edges, sums by hand, faults, limits, memory in any state. */
#include "check.h"
#include "sample.h"

#include <string.h>

static artifact a;
static em_monitor m;
static em_drift drift;
static em_result r;

static void set_up(void) {
    sample(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    em_drift_reset(&drift);
    memset(&r, 0, sizeof r);
    r.n_monitors = N_MONITORS;
}

static void see(float score) {
    r.scores[M_ENTROPY].i = 0;
    r.scores[M_ENTROPY].f = score;
    EXPECT(em_drift_update(&m, &drift, &r), EM_OK);
}

/* The sum of the first alternative after one image, from a start that nothing can bring to 0. */
static int32_t first_sum(float score) {
    em_drift_reset(&drift);
    drift.sums[0] = 50000;
    see(score);
    return drift.sums[0];
}

static void edges(void) {
    set_up();
    EXPECT(first_sum(-1e30f), 10000);
    EXPECT(first_sum(1.0f), 10000); /* a score on an edge is below it, as on a threshold */
    EXPECT(first_sum(1.0000001f), 30000);
    EXPECT(first_sum(4.0f), 30000);
    EXPECT(first_sum(5.0f), 80000);
    EXPECT(first_sum(6.0f), 80000);
    EXPECT(first_sum(6.0000005f), 150000);
    EXPECT(first_sum(3e38f), 150000);
}

static void sums(void) {
    set_up();
    see(5.0f); /* 30000, and the other alternative stays at 0 */
    EXPECT(drift.sums[0], 30000);
    EXPECT(drift.sums[1], 0);
    see(0.0f); /* falls below 0: restarts */
    EXPECT(drift.sums[0], 0);
    EXPECT(drift.sums[1], 60000);
    see(7.0f);
    EXPECT(drift.sums[0], 100000);
    EXPECT(drift.starts[0], 3);
    EXPECT(drift.starts[1], 2);
    EXPECT(drift.sums[1], 50000);
    EXPECT(drift.flagged_at, 0);
    see(7.0f); /* exactly the limit */
    EXPECT(drift.sums[0], DRIFT_LIMIT);
    EXPECT(drift.flagged_at, 4);
    EXPECT(drift.since, 3);
    EXPECT(drift.alternative, 0);
    see(7.0f); /* no further than the limit */
    EXPECT(drift.sums[0], DRIFT_LIMIT);
    for (int i = 0; i < 20; i++) {
        see(0.0f); /* the first sum falls, the flag stays with what raised it */
    }
    EXPECT(drift.sums[0], 0);
    EXPECT(drift.sums[1], DRIFT_LIMIT);
    EXPECT(drift.flagged_at, 4);
    EXPECT(drift.alternative, 0);
    EXPECT(drift.images, 25);
    EXPECT(drift.sums[DRIFT_ALTERNATIVES], 0); /* what is not in use is not touched */
    em_drift_reset(&drift);
    EXPECT(drift.images + drift.flagged_at + drift.since, 0);
}

static void faults(void) {
    set_up();
    see(7.0f);
    r.verdicts[M_ENTROPY] = EM_FAULT;
    see(0.0f);
    EXPECT(drift.images, 2);
    EXPECT(drift.faults, 1);
    EXPECT(drift.sums[0], 100000);
    r.verdicts[M_ENTROPY] = EM_TRUST;
    float nan;
    memcpy(&nan, &(uint32_t){0x7FC00000}, 4);
    see(nan);
    EXPECT(drift.faults, 2);
    EXPECT(drift.sums[0], 100000);
    r.verdicts[M_BOX] = EM_FAULT; /* of a monitor that is not watched */
    see(7.0f);
    EXPECT(drift.faults, 2);
    EXPECT(drift.flagged_at, 4);
    EXPECT(drift.since, 1);
}

static void integers(void) {
    static builder b;
    const em_number low[DRIFT_BINS - 1] = {{INT64_MIN}, {-5}, {INT64_MAX}};
    start_sample(&b);
    add_drift(&b, M_VOTES, low);
    finish(&b, VALUE(N_ARGMAX), &a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    static const int64_t scores[] = {INT64_MIN, INT64_MIN + 1, -5, -4, INT64_MAX};
    static const int32_t expected[] = {10000, 30000, 30000, 80000, 80000};
    for (size_t i = 0; i < 5; i++) {
        em_drift_reset(&drift);
        drift.sums[0] = 50000;
        r.scores[M_VOTES].i = scores[i];
        EXPECT(em_drift_update(&m, &drift, &r), EM_OK);
        EXPECT(drift.sums[0], expected[i]);
    }
}

/* Whatever the caller's memory holds: no overflow, and sums are soon within their range. */
static void any_memory(void) {
    set_up();
    memset(&drift, 0xFF, sizeof drift); /* sums of -1, counters at their end */
    see(7.0f);
    EXPECT(drift.images, UINT32_MAX);
    EXPECT(drift.sums[0], 99999);
    for (int k = 0; k < DRIFT_ALTERNATIVES; k++) {
        drift.sums[k] = k == 0 ? INT32_MAX : INT32_MIN;
    }
    r.verdicts[M_ENTROPY] = EM_FAULT;
    see(0.0f);
    EXPECT(drift.faults, UINT32_MAX);
    r.verdicts[M_ENTROPY] = EM_TRUST;
    see(7.0f);
    EXPECT(drift.sums[0], DRIFT_LIMIT);
    EXPECT(drift.sums[1], 0);
}

static void descriptions(void) {
    em_drift_info info;
    set_up();
    EXPECT(em_describe_drift(&m, &info), EM_OK);
    EXPECT(info.monitor, M_ENTROPY);
    EXPECT(info.bins, DRIFT_BINS);
    EXPECT(info.alternatives, DRIFT_ALTERNATIVES);
    EXPECT(info.limit, DRIFT_LIMIT);
    EXPECT(info.run_length, 500);
    EXPECT(em_describe_drift(&m, NULL), EM_E_NULL);
    EXPECT(em_describe_drift(NULL, &info), EM_E_NULL);
    EXPECT(em_drift_update(NULL, &drift, &r), EM_E_NULL);
    EXPECT(em_drift_update(&m, NULL, &r), EM_E_NULL);
    EXPECT(em_drift_update(&m, &drift, NULL), EM_E_NULL);
    r.n_monitors = N_MONITORS - 1;
    EXPECT(em_drift_update(&m, &drift, &r), EM_E_COUNT);
    EXPECT(drift.images, 0);
    em_drift_reset(NULL);
}

/* Without the section: images are counted, and the flag never rises. */
static void without(void) {
    static builder b;
    em_drift_info info;
    set_up();
    start_sample(&b);
    finish(&b, VALUE(N_ARGMAX), &a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_describe_drift(&m, &info), EM_E_COUNT);
    for (int i = 0; i < 100; i++) {
        see(7.0f);
    }
    EXPECT(drift.images, 100);
    EXPECT(drift.flagged_at, 0);
    memset(&m, 0, sizeof m);
    EXPECT(em_drift_update(&m, &drift, &r), EM_E_NULL);
    EXPECT(em_describe_drift(&m, &info), EM_E_NULL);
}

void test_drift(void) {
    edges();
    sums();
    faults();
    integers();
    any_memory();
    descriptions();
    without();
}
