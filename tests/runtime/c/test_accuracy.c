/* The estimate of accuracy: steps and their edges, the ring, labels by hand, flags, memory in any
 * state. That all numbers are those of the reference says tests/compiler/accuracy. */
#include "check.h"
#include "sample.h"

#include <string.h>

static artifact a;
static em_monitor m;
static em_accuracy acc;
static em_drift drift;
static em_result r;
static em_estimate e;

static void set_up(void) {
    sample(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    em_accuracy_reset(&acc);
    em_drift_reset(&drift);
    memset(&r, 0, sizeof r);
    r.n_monitors = N_MONITORS;
}

static void see(float score) {
    r.scores[M_ENTROPY].i = 0;
    r.scores[M_ENTROPY].f = score;
    EXPECT(em_accuracy_update(&m, &acc, &drift, &r), EM_OK);
}

static uint16_t probability(float score) {
    uint16_t p = 1;
    r.scores[M_ENTROPY].i = 0;
    r.scores[M_ENTROPY].f = score;
    EXPECT(em_accuracy_probability(&m, &r, &p), EM_OK);
    return p;
}

static const em_estimate *estimate(void) {
    EXPECT(em_accuracy_estimate(&m, &acc, &drift, &e), EM_OK);
    return &e;
}

static void steps(void) {
    set_up();
    EXPECT(probability(-1e30f), 65535);
    EXPECT(probability(1.0f), 65535); /* a score on an edge is below it, as on a threshold */
    EXPECT(probability(1.0000001f), 30000);
    EXPECT(probability(4.0f), 30000);
    EXPECT(probability(3e38f), 0);
    uint16_t p = 7;
    r.verdicts[M_BOX] = EM_FAULT; /* of a monitor that is not looked up */
    EXPECT(em_accuracy_probability(&m, &r, &p), EM_OK);
    r.verdicts[M_ENTROPY] = EM_FAULT;
    EXPECT(em_accuracy_probability(&m, &r, &p), EM_E_SCORE);
    EXPECT(p, 0);
    see(0.0f);
    memcpy(&r.scores[M_ENTROPY].f, &(uint32_t){0x7FC00000}, 4);
    r.verdicts[M_ENTROPY] = EM_TRUST;
    EXPECT(em_accuracy_update(&m, &acc, NULL, &r), EM_OK);
    EXPECT(estimate()->faults, 2);
    EXPECT(e.images, 0);
    EXPECT(e.valid, 0);
}

static void ring(void) {
    set_up();
    for (int i = 0; i < 64; i++) {
        see(7.0f);
    }
    EXPECT(estimate()->images, 64);
    EXPECT(e.estimate, 0);
    see(0.0f); /* begins the next block: the oldest eight are gone */
    EXPECT(estimate()->images, 57);
    EXPECT(e.sum, 65535);
    for (int i = 0; i < 63; i++) {
        see(0.0f);
    }
    EXPECT(estimate()->estimate, 65535);
    EXPECT(e.valid, 1);
    EXPECT(e.basis, EM_BASIS_CALIBRATION);
    EXPECT(e.high, 65535);
    /* 1.96 * sqrt(variance / rows) = 0.0196 of 1, rounded outwards */
    EXPECT(e.low >= 64240 && e.low <= 64252, 1);
}

/* 20 of 40 labels right, of images that had probability 1: residual -0.5. */
static void labels(void) {
    set_up();
    for (int i = 0; i < 64; i++) {
        see(0.0f);
    }
    for (int i = 0; i < 40; i++) {
        EXPECT(em_accuracy_label(&acc, 65535, i % 2), EM_OK);
        estimate();
        EXPECT(e.basis, i + 1 < 30 ? EM_BASIS_CALIBRATION : EM_BASIS_LABELS);
    }
    EXPECT(e.estimate, 32768);
    EXPECT(e.labels, 40);
    EXPECT(e.rights, 20);
    EXPECT(e.valid, 1);
    /* 1.96 * sqrt(0.25 / 37) = 0.161 */
    EXPECT(e.low > 0.335 * 65535 && e.low < 0.342 * 65535, 1);
    EXPECT(e.low + e.high, 65535);
    EXPECT(em_accuracy_label(NULL, 0, 1), EM_E_NULL);
}

static void flags(void) {
    set_up();
    for (int i = 0; i < 40; i++) {
        see(0.0f);
        em_accuracy_label(&acc, 65535, 1);
    }
    EXPECT(estimate()->valid, 1);
    drift.flagged_at = 41;
    EXPECT(estimate()->images, 0); /* before an image since then is counted */
    EXPECT(e.valid, 0);
    EXPECT(e.high, 65535);
    for (int i = 0; i < 40; i++) {
        see(2.0f);
    }
    EXPECT(estimate()->images, 40);
    EXPECT(e.labels, 0);
    EXPECT(e.valid, 0);
    EXPECT(e.low, 0);
    EXPECT(e.high, 65535);
    for (int i = 0; i < 30; i++) {
        EXPECT(estimate()->valid, 0);
        em_accuracy_label(&acc, 30000, i % 3 == 0);
    }
    EXPECT(estimate()->valid, 1);
    EXPECT(e.estimate > 21800 && e.estimate < 21900, 1); /* a third */
    drift.flagged_at = 0;                                /* somebody looked, and reset it */
    see(0.0f);
    EXPECT(estimate()->images, 1);
    EXPECT(e.labels, 0);
    drift.flagged_at = 7;
    EXPECT(em_accuracy_update(&m, &acc, NULL, &r), EM_OK); /* nothing is known of a flag */
    EXPECT(em_accuracy_estimate(&m, &acc, NULL, &e), EM_OK);
    EXPECT(e.images, 2);
}

static uint32_t images_of(const em_accuracy_class *c) { return c->images[0] + c->images[1]; }

static void see_class(int32_t predicted, em_accuracy_class *classes, size_t n) {
    r.predicted_class = predicted;
    see(2.0f);
    EXPECT(em_accuracy_update_class(&m, &acc, &r, classes, n), EM_OK);
}

static void classes(void) {
    em_accuracy_class own[2];
    set_up();
    memset(own, 0x5A, sizeof own); /* the first image clears them */
    for (int i = 0; i < 20; i++) {
        see_class(i % 4 == 3 ? -1 : i % 4, own, 2); /* class 2 has no record */
    }
    EXPECT(images_of(&own[0]), 5);
    EXPECT(images_of(&own[1]), 5);
    EXPECT(own[1].sums[0] + own[1].sums[1], 5 * 30000);
    for (int i = 0; i < 300; i++) { /* the last half of a window to a window */
        see_class(0, own, 2);
        EXPECT(i < 44 || (images_of(&own[0]) > 32 && images_of(&own[0]) <= 64), 1);
    }
    EXPECT(images_of(&own[1]), 0);
    drift.flagged_at = 9;
    see_class(1, own, 2);
    EXPECT(images_of(&own[0]), 0);
    EXPECT(images_of(&own[1]), 1);
    EXPECT(em_accuracy_update_class(&m, &acc, &r, NULL, 2), EM_E_NULL);
    r.n_monitors = N_MONITORS - 1;
    EXPECT(em_accuracy_update_class(&m, &acc, &r, own, 2), EM_E_COUNT);
}

/* Whatever the caller's memory holds: no overflow, and what comes out is a probability. */
static void any_memory(void) {
    em_accuracy_class own[2];
    set_up();
    for (uint32_t seed = 0; seed < 2000; seed++) {
        uint32_t x = seed;
        for (size_t i = 0; i < sizeof acc; i++) {
            x = x * 1664525u + 1013904223u;
            /* ones in many places: the extremes */
            ((uint8_t *)&acc)[i] = seed % 3 == 0 ? 0xFF : (uint8_t)(x >> 24);
        }
        drift.flagged_at = seed % 2 ? acc.flagged_at : 0;
        estimate();
        EXPECT(e.low <= e.estimate && e.estimate <= e.high, 1);
        EXPECT(e.labels <= 1u << 16 && e.rights <= e.labels && e.images <= 64, 1);
        em_accuracy_label(&acc, (uint16_t)x, seed % 5 != 0);
        see_class((int32_t)(seed % 3), own, 2);
        estimate();
        EXPECT(e.low <= e.estimate && e.estimate <= e.high, 1);
        EXPECT(acc.block < EM_ACCURACY_BLOCKS, 1);
    }
}

static void descriptions(void) {
    em_accuracy_info info;
    uint16_t p;
    set_up();
    EXPECT(em_describe_accuracy(&m, &info), EM_OK);
    EXPECT(info.monitor, M_ENTROPY);
    EXPECT(info.steps, ACCURACY_STEPS);
    EXPECT(info.window, 64);
    EXPECT(info.least, 30);
    EXPECT(info.rows, 1000);
    EXPECT(info.variance, 429483622);
    EXPECT(em_describe_accuracy(&m, NULL), EM_E_NULL);
    EXPECT(em_describe_accuracy(NULL, &info), EM_E_NULL);
    EXPECT(em_accuracy_update(NULL, &acc, NULL, &r), EM_E_NULL);
    EXPECT(em_accuracy_update(&m, NULL, NULL, &r), EM_E_NULL);
    EXPECT(em_accuracy_update(&m, &acc, NULL, NULL), EM_E_NULL);
    EXPECT(em_accuracy_probability(&m, &r, NULL), EM_E_NULL);
    EXPECT(em_accuracy_estimate(&m, NULL, NULL, &e), EM_E_NULL);
    EXPECT(em_accuracy_estimate(&m, &acc, NULL, NULL), EM_E_NULL);
    r.n_monitors = N_MONITORS - 1;
    EXPECT(em_accuracy_update(&m, &acc, NULL, &r), EM_E_COUNT);
    EXPECT(em_accuracy_probability(&m, &r, &p), EM_E_COUNT);
    EXPECT(acc.blocks[0].images + acc.blocks[0].faults, 0);
    em_accuracy_reset(NULL);
}

/* Without the section nothing is counted, and there is no estimate. */
static void without(void) {
    static builder b;
    em_accuracy_info info;
    em_accuracy_class own[1] = {{{0}, {0}}};
    uint16_t p;
    set_up();
    start_sample(&b);
    finish(&b, VALUE(N_ARGMAX), &a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_describe_accuracy(&m, &info), EM_E_COUNT);
    see(1.0f);
    see_class(0, own, 1);
    EXPECT(acc.blocks[0].images + own[0].images[0], 0);
    EXPECT(em_accuracy_probability(&m, &r, &p), EM_E_COUNT);
    EXPECT(em_accuracy_estimate(&m, &acc, NULL, &e), EM_E_COUNT);
    EXPECT(e.valid, 0);
    EXPECT(e.high, 65535);
}

void test_accuracy(void) {
    steps();
    ring();
    labels();
    flags();
    classes();
    any_memory();
    descriptions();
    without();
}
