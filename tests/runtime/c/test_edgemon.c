/*
 * Tests of the C runtime: `expression => expected`, on artifacts that are made in memory.
 * This file: opening, faults, verdicts, self-test, descriptions. test_signatures.c: opening what is
 * signed. test_ops.c, test_rule_ops.c, test_dense.c, test_dtypes.c: arithmetic. test_rules.c,
 * test_tree_rules.c, test_limits.c: bad files, one a rule. test_damage.c: damaged files.
 * test_drift.c: the drift test. test_window.c: counts and reports. test_values.c: NaN and infinity,
 * and files that use them.
 */
#include "check.h"
#include "sample.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned passed, failed;

static void count(int good) {
    passed += good != 0;
    failed += good == 0;
}

void expect_int(const char *file, int line, const char *what, int64_t got, int64_t want) {
    count(got == want);
    if (got != want) {
        printf("%s:%d: %s => %lld, expected %lld\n", file, line, what, (long long)got,
               (long long)want);
    }
}

void expect_f32(const char *file, int line, const char *what, float got, float want) {
    const int equal = memcmp(&got, &want, 4) == 0 || (got != got && want != want);
    count(equal);
    if (!equal) {
        printf("%s:%d: %s => %.9g, expected %.9g\n", file, line, what, (double)got, (double)want);
    }
}

static artifact a;
static em_monitor m;
static uint64_t workspace[64];
static em_tap taps[N_TAPS];
static em_result r;

/* A fresh sample with good taps. */
static void set_up(void) {
    sample(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    memcpy(taps, sample_taps(0), sizeof taps);
}

static em_status evaluate(void) {
    memset(&r, 0x5A, sizeof r);
    return em_evaluate(&m, taps, N_TAPS, workspace, sizeof workspace, &r);
}

/* Whatever was wrong with the inputs, the whole result says so. */
static void expect_fault(em_status status, em_status reason) {
    EXPECT(status, reason);
    EXPECT(r.verdict, EM_FAULT);
    EXPECT(r.reason, reason);
    EXPECT(r.predicted_class, -1);
    EXPECT(r.monitor, 0);
    EXPECT(r.n_monitors, N_MONITORS);
    for (uint32_t i = 0; i < EM_MAX_MONITORS; i++) {
        EXPECT(r.verdicts[i], EM_FAULT);
        EXPECT(r.scores[i].i, 0);
    }
}

static void opening(void) {
    set_up();
    EXPECT(em_open(NULL, a.file, a.size), EM_E_NULL);
    EXPECT(em_open(&m, NULL, 0), EM_E_NULL);
    EXPECT(em_missing_op(NULL, 0) == NULL, 1);
    EXPECT(em_missing_op(a.file, a.size) == NULL, 1);
    EXPECT(em_open(&m, a.file + 4, a.size - 4), EM_E_ALIGN);
    EXPECT(em_open(&m, a.file, 0), EM_E_SIZE);
    EXPECT(em_open(&m, a.file, 63), EM_E_SIZE);
    EXPECT(em_open(&m, a.file, (size_t)1 << 29), EM_E_SIZE);
    EXPECT(em_workspace_size(&m), 0); /* zeroed by the failure */
}

static void unopened(void) {
    em_monitor closed;
    em_tap_info tap;
    em_monitor_info monitor;
    size_t size = 1;
    memset(&closed, 0, sizeof closed);
    EXPECT(em_check(&closed), EM_E_NULL);
    EXPECT(em_check(NULL), EM_E_NULL);
    EXPECT(em_self_test(&closed, workspace, sizeof workspace), EM_E_NULL);
    EXPECT(em_bind_model(&closed, (const uint8_t *)workspace), EM_E_NULL);
    EXPECT(em_describe_tap(&closed, 0, &tap), EM_E_NULL);
    EXPECT(em_describe_monitor(&closed, 0, &monitor), EM_E_NULL);
    EXPECT(em_tap_count(&closed), 0);
    EXPECT(em_class_count(&closed), 0);
    EXPECT(em_monitor_count(NULL), 0);
    EXPECT(em_metadata(&closed, &size) == NULL, 1);
    EXPECT(size, 0);
    EXPECT(em_display(&closed, 0, (em_number){.i = 1}) > 0.0, 0);
    EXPECT(em_evaluate(&closed, taps, N_TAPS, workspace, sizeof workspace, &r), EM_E_NULL);
    EXPECT(r.verdict, EM_FAULT);
    EXPECT(r.n_monitors, 0);
    EXPECT(em_evaluate(NULL, taps, N_TAPS, workspace, sizeof workspace, &r), EM_E_NULL);
    EXPECT(em_evaluate(&m, taps, N_TAPS, workspace, sizeof workspace, NULL), EM_E_NULL);
}

static void good_image(void) {
    set_up();
    EXPECT(evaluate(), EM_OK);
    EXPECT(r.predicted_class, 1);
    EXPECT(r.n_monitors, N_MONITORS);
    EXPECT(r.scores[M_BOX].i, -6); /* inside its box: 2 from the face of tap 2, of weight 3 */
    EXPECT(r.verdicts[M_BOX], EM_TRUST);
    EXPECT(r.scores[M_VOTES].i, 4); /* the largest logit at 0, all others below the base */
    EXPECT(r.verdicts[M_VOTES], EM_TRUST);
    EXPECT_F32(r.scores[M_ENTROPY].f > 4.0f && r.scores[M_ENTROPY].f < 6.0f ? 1.0f : 0.0f, 1.0f);
    EXPECT(r.scores[M_ENTROPY].i >> 32, 0);
    EXPECT(r.verdicts[M_ENTROPY], EM_UNCERTAIN);
    EXPECT(r.verdict, EM_UNCERTAIN);
    EXPECT(r.monitor, M_ENTROPY);
}

static em_verdict verdict_with(int32_t alarm, int32_t uncertain) {
    sample(&a); /* the box score is -6 */
    set32(field(&a, MONITORS, M_BOX, 8), (uint32_t)alarm);
    set32(field(&a, MONITORS, M_BOX, 12), alarm < 0 ? 0xFFFFFFFF : 0);
    set32(field(&a, MONITORS, M_BOX, 16), (uint32_t)uncertain);
    set32(field(&a, MONITORS, M_BOX, 20), uncertain < 0 ? 0xFFFFFFFF : 0);
    fix_crc(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(evaluate(), EM_OK);
    return r.verdicts[M_BOX];
}

static void thresholds(void) {
    set_up();
    EXPECT(verdict_with(0, 0), EM_TRUST);
    EXPECT(verdict_with(-6, -6), EM_TRUST); /* a tie does not alarm */
    EXPECT(verdict_with(-6, -7), EM_UNCERTAIN);
    EXPECT(verdict_with(-7, -7), EM_ALARM);
    EXPECT(r.verdict, EM_ALARM);
    EXPECT(r.monitor, M_BOX);
}

static void input_faults(void) {
    set_up();
    EXPECT(em_evaluate(&m, NULL, N_TAPS, workspace, sizeof workspace, &r), EM_E_NULL);
    expect_fault(r.reason, EM_E_NULL);
    expect_fault(em_evaluate(&m, taps, N_TAPS, NULL, sizeof workspace, &r), EM_E_NULL);
    expect_fault(em_evaluate(&m, taps, N_TAPS, (uint8_t *)workspace + 4, 500, &r), EM_E_ALIGN);
    expect_fault(em_evaluate(&m, taps, N_TAPS, workspace, em_workspace_size(&m) - 1, &r),
                 EM_E_WORKSPACE);
    expect_fault(em_evaluate(&m, taps, N_TAPS - 1, workspace, sizeof workspace, &r),
                 EM_E_TAP_COUNT);
    expect_fault(em_evaluate(&m, taps, N_TAPS + 1, workspace, sizeof workspace, &r),
                 EM_E_TAP_COUNT);
    taps[PIXELS].data = NULL;
    expect_fault(evaluate(), EM_E_NULL);
    set_up();
    taps[PIXELS].dtype = EM_I8;
    expect_fault(evaluate(), EM_E_TAP_TYPE);
    set_up();
    taps[PIXELS].length = 3;
    expect_fault(evaluate(), EM_E_TAP_LENGTH);
}

static void not_finite(void) {
    static const uint32_t bad[] = {0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 0x7F800001};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (size_t k = 0; k < 3; k++) {
            float x[3] = {0.0f, 0.0f, 0.0f};
            set_up();
            memcpy(&x[k], &bad[i], 4);
            taps[FEATURES].data = x;
            expect_fault(evaluate(), EM_E_TAP_VALUE);
        }
    }
}

/* The sum of log(exp(x)) is -2 and the votes give 4 * 0.5: a division by their sum, 0. It is a
 * fault of all monitors, those without the quotient too. */
static void score_fault(void) {
    float x[3] = {0.0f, 0.0f, -2.0f};
    set_up();
    taps[FEATURES].data = x;
    const em_status status = evaluate();
    EXPECT(status, EM_E_SCORE);
    EXPECT(r.reason, EM_E_SCORE);
    EXPECT(r.verdict, EM_FAULT);
    EXPECT(r.monitor, 0);
    EXPECT(r.predicted_class, 1);
    EXPECT(r.n_monitors, N_MONITORS);
    for (uint32_t i = 0; i < N_MONITORS; i++) {
        EXPECT(r.verdicts[i], EM_FAULT);
        EXPECT(r.scores[i].i, 0);
    }
}

/* The runtime touches em_workspace_size bytes and no more; sanitizers watch the block's ends. */
static void workspace_bounds(void) {
    set_up();
    void *exact = malloc(em_workspace_size(&m));
    EXPECT(em_evaluate(&m, taps, N_TAPS, exact, em_workspace_size(&m), &r), EM_OK);
    EXPECT(em_self_test(&m, exact, em_workspace_size(&m)), EM_OK);
    free(exact);
}

static em_status self_test_after(uint32_t offset, uint32_t mask) {
    sample(&a);
    uint8_t *byte = field(&a, SELF_TEST, 0, 16 + offset);
    *byte = (uint8_t)(*byte ^ mask);
    fix_crc(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    return em_self_test(&m, workspace, sizeof workspace);
}

static void self_test(void) {
    set_up();
    EXPECT(em_self_test(&m, workspace, sizeof workspace), EM_OK);
    EXPECT(em_self_test(&m, NULL, 0), EM_E_NULL);
    EXPECT(em_self_test(&m, (uint8_t *)workspace + 1, 400), EM_E_ALIGN);
    EXPECT(em_self_test(&m, workspace, 8), EM_E_WORKSPACE);
    for (uint32_t vector = 0; vector < N_VECTORS; vector++) {
        const uint32_t expected = 112 * vector + 48;
        EXPECT(self_test_after(expected, 1), EM_E_SELF_TEST);          /* verdict */
        EXPECT(self_test_after(expected + 4, 1), EM_E_SELF_TEST);      /* predicted class */
        EXPECT(self_test_after(expected + 8, 1), EM_E_SELF_TEST);      /* reason */
        EXPECT(self_test_after(expected + 16, 1), EM_E_SELF_TEST);     /* score 0 */
        EXPECT(self_test_after(expected + 24, 1), EM_E_SELF_TEST);     /* score 1, last bit */
        EXPECT(self_test_after(expected + 28, 1), EM_E_SELF_TEST);     /* above the float */
        EXPECT(self_test_after(expected + 40 + 8, 1), EM_E_SELF_TEST); /* verdict 2 */
    }
    EXPECT(self_test_after(1, 0x40), EM_E_SELF_TEST); /* a tap */

    static builder b;
    start_sample(&b);
    finish(&b, VALUE(N_ARGMAX), &a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_self_test(&m, workspace, sizeof workspace), EM_OK); /* none: nothing disagrees */
}

/* Another rounding mode is found, whatever the artifact; test_known_answers.py has the builds. */
static void arithmetic(void) {
    set_up();
    fesetround(FE_UPWARD);
    const em_status again = em_self_test(&m, workspace, sizeof workspace);
    const em_status opened = em_open(&m, a.file, a.size);
    fesetround(FE_TONEAREST);
    EXPECT(again, EM_E_FLOAT);
    EXPECT(opened, EM_E_FLOAT);
    EXPECT(m.file == NULL, 1);
    set_up();
}

static void limits(void) {
    set_up();
    const uint64_t work = em_work(&m);
    const size_t scratch = em_workspace_size(&m);
    EXPECT(work > N_NODES, 1);
    EXPECT(em_self_test_count(&m), N_VECTORS);
    const em_limits exact = {work, scratch}, idle = {work - 1, scratch},
                    tight = {work, scratch - 1};
    EXPECT(em_open_limited(&m, a.file, a.size, &idle), EM_E_LIMIT);
    EXPECT(m.file == NULL, 1);
    EXPECT(em_work(&m), 0);
    EXPECT(em_self_test_count(&m), 0);
    EXPECT(em_open_limited(&m, a.file, a.size, &tight), EM_E_LIMIT);
    EXPECT(em_open_limited(&m, a.file, a.size, &exact), EM_OK);
    EXPECT(em_work(&m), work);
    EXPECT(em_open_limited(&m, a.file, a.size, NULL), EM_OK);
    EXPECT(em_open_limited(NULL, a.file, a.size, &exact), EM_E_NULL);

    builder b;
    artifact bare;
    start_sample(&b);
    finish(&b, VALUE(N_ARGMAX), &bare);
    EXPECT(em_open(&m, bare.file, bare.size), EM_OK);
    EXPECT(em_self_test_count(&m), 0);
    EXPECT(em_work(&m), work);
}

static void memory_upset(void) {
    set_up();
    EXPECT(em_check(&m), EM_OK);
    a.file[a.size / 2] ^= 4;
    EXPECT(em_check(&m), EM_E_CRC);
}

static void model(void) {
    uint8_t sha256[32] = {0};
    sample(&a);
    for (uint32_t i = 0; i < 32; i++) {
        a.file[32 + i] = sha256[i] = (uint8_t)(i * 7 + 1);
    }
    fix_crc(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_bind_model(&m, sha256), EM_OK);
    sha256[31] ^= 1;
    EXPECT(em_bind_model(&m, sha256), EM_E_MODEL);
    EXPECT(em_bind_model(&m, NULL), EM_E_NULL);
}

static void descriptions(void) {
    em_tap_info tap;
    em_monitor_info monitor;
    size_t size = 0;
    sample(&a);
    set_f64(field(&a, TAPS, LOGITS, 16), 0.5);
    set32(field(&a, TAPS, LOGITS, 12), (uint32_t)-3);
    set16(field(&a, TAPS, FEATURES, 6), 1);
    fix_crc(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_tap_count(&m), N_TAPS);
    EXPECT(em_class_count(&m), 4);
    EXPECT(em_monitor_count(&m), N_MONITORS);
    EXPECT(em_workspace_size(&m), get32(field(&a, PROGRAM, 0, 20)));
    EXPECT(em_describe_tap(&m, LOGITS, &tap), EM_OK);
    EXPECT(strcmp(tap.name, "tap"), 0);
    EXPECT(tap.dtype, EM_I8);
    EXPECT(tap.length, 4);
    EXPECT(tap.scale * 4.0, 2);
    EXPECT(tap.zero_point, -3);
    EXPECT(tap.view, EM_VIEW_PLAIN);
    EXPECT(em_describe_tap(&m, FEATURES, &tap), EM_OK);
    EXPECT(tap.view, EM_VIEW_MIRROR);
    EXPECT(em_describe_tap(&m, N_TAPS, &tap), EM_E_COUNT);
    EXPECT(em_describe_tap(&m, 0, NULL), EM_E_NULL);
    EXPECT(em_describe_monitor(&m, M_ENTROPY, &monitor), EM_OK);
    EXPECT(strcmp(monitor.name, "monitor"), 0);
    EXPECT(monitor.dtype, EM_F32);
    EXPECT_F32(monitor.alarm_above.f, 6.0f);
    EXPECT_F32(monitor.uncertain_above.f, 4.0f);
    EXPECT(em_describe_monitor(&m, M_VOTES, &monitor), EM_OK);
    EXPECT(monitor.dtype, EM_I64);
    EXPECT(monitor.alarm_above.i, 12);
    EXPECT(em_describe_monitor(&m, N_MONITORS, &monitor), EM_E_COUNT);
    EXPECT(em_describe_monitor(&m, 0, NULL), EM_E_NULL);
    EXPECT(memcmp(em_metadata(&m, &size), "{\"edgemon\": 1}", 14), 0);
    EXPECT(size, 14);
    EXPECT(em_metadata(&m, NULL) != NULL, 1);
    static builder plain;
    start_sample(&plain);
    finish(&plain, VALUE(N_ARGMAX), &a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_metadata(&m, &size) == NULL, 1);
    EXPECT(size, 0);
    set_up();
}

static void display(void) {
    em_number f = {0};
    f.f = 3.0f;
    sample(&a);
    set_f64(field(&a, MONITORS, M_BOX, 32), 0.25);
    set32(field(&a, MONITORS, M_ENTROPY, 24), 1); /* odds */
    fix_crc(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_display(&m, M_BOX, (em_number){.i = -8}) * 100.0, -200);
    EXPECT(em_display(&m, M_ENTROPY, f) * 100.0, 75); /* odds 3 to 1 */
    EXPECT(em_display(&m, N_MONITORS, f) * 100.0, 0);
}

static void texts(void) {
    EXPECT(strcmp(em_version(), EM_VERSION), 0);
    EXPECT(strcmp(em_status_text(EM_OK), "ok"), 0);
    for (int i = 0; i >= EM_E_SIGNATURE; i--) {
        EXPECT(strcmp(em_status_text((em_status)i), "unknown status") != 0, 1);
    }
    EXPECT(strcmp(em_status_text((em_status)(EM_E_COMPANION - 1)), "unknown status"), 0);
    EXPECT(strcmp(em_verdict_text(EM_TRUST), "trust"), 0);
    EXPECT(strcmp(em_verdict_text(EM_UNCERTAIN), "uncertain"), 0);
    EXPECT(strcmp(em_verdict_text(EM_ALARM), "alarm"), 0);
    EXPECT(strcmp(em_verdict_text(EM_FAULT), "fault"), 0);
    EXPECT(strcmp(em_verdict_text((em_verdict)4), "unknown verdict"), 0);
}

/* Writes the sample to a file: a seed for the fuzzer, an input for the example. */
static int write_sample(const char *path) {
    sample(&a);
    FILE *file = fopen(path, "wb");
    const int good = file != NULL && fwrite(a.file, 1, a.size, file) == a.size;
    return file != NULL && fclose(file) == 0 && good ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2) {
        return write_sample(argv[1]);
    }
    opening();
    unopened();
    good_image();
    thresholds();
    input_faults();
    not_finite();
    score_fault();
    workspace_bounds();
    self_test();
    arithmetic();
    limits();
    memory_upset();
    model();
    descriptions();
    display();
    texts();
    test_signatures();
    test_ops();
    test_rule_ops();
    test_rules();
    test_tree_rules();
    test_limits();
    test_dtypes();
    test_values();
    test_generated();
    test_damage();
    test_dense();
    test_accuracy();
    test_companions();
    test_drift();
    test_window();
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
