/*
 * libFuzzer: no file, however made, may lead the runtime to undefined behaviour.
 *
 * The checksum is no secret, so an attacker fixes it; the fuzzer does too, in a copy, or hardly
 * any input would get past it.
 */
#include "em_ops.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Deterministic tap data, with a NaN in every fourth image, and an infinity in some others. */
static void fill(uint8_t *bytes, size_t size, uint32_t seed) {
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    if (seed % 4 < 2 && size >= 4) {
        const uint32_t no_number = seed % 4 == 0 ? 0x7FC00000 : 0x7F800000;
        memcpy(bytes + (seed >> 8) % (size / 4) * 4, &no_number, 4);
    }
}

/* What a caller keeps of a stream of images. */
typedef struct stream {
    em_drift drift;
    em_accuracy accuracy;
    em_accuracy_class classes[4];
} stream;

static void evaluate(const em_monitor *m, void *workspace, stream *s, uint32_t seed) {
    em_tap taps[EM_MAX_TAPS];
    for (size_t i = 0; i < em_tap_count(m); i++) {
        em_tap_info info;
        em_describe_tap(m, i, &info);
        const size_t size = (size_t)info.length * em_size_of(info.dtype);
        uint8_t *bytes = malloc(size);
        fill(bytes, size, seed + (uint32_t)i);
        taps[i] = (em_tap){bytes, info.dtype, info.length};
    }
    em_result result;
    em_evaluate(m, taps, em_tap_count(m), workspace, em_workspace_size(m), &result);
    em_drift_update(m, &s->drift, &result);
    em_accuracy_update(m, &s->accuracy, seed % 2 ? &s->drift : NULL, &result);
    em_accuracy_update_class(m, &s->accuracy, &result, s->classes, 4);
    em_estimate estimate;
    em_accuracy_estimate(m, &s->accuracy, NULL, &estimate);
    em_accuracy_label(&s->accuracy, estimate.estimate, seed % 3 != 0);
    if (estimate.low > estimate.estimate || estimate.estimate > estimate.high) {
        abort();
    }
    em_evaluate_checked(m, taps, workspace, &result); /* if they changed to this after the check */
    for (size_t i = 0; i < result.n_monitors; i++) {
        em_display(m, i, result.scores[i]);
    }
    for (size_t i = 0; i < em_tap_count(m); i++) {
        free((void *)(uintptr_t)taps[i].data);
    }
}

/* Every byte of a name must be readable. */
static size_t describe(const em_monitor *m) {
    size_t read = 0;
    for (size_t i = 0; i < em_tap_count(m); i++) {
        em_tap_info info;
        em_describe_tap(m, i, &info);
        read += strlen(info.name);
    }
    for (size_t i = 0; i < em_monitor_count(m); i++) {
        em_monitor_info info;
        em_describe_monitor(m, i, &info);
        read += strlen(info.name);
    }
    em_drift_info info;
    read += em_describe_drift(m, &info) == EM_OK ? info.bins : 0;
    size_t size = 0;
    const char *meta = em_metadata(m, &size);
    for (size_t i = 0; i < size; i++) {
        read += (size_t)(meta[i] != 0);
    }
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *file = malloc(size > 0 ? size : 1);
    memcpy(file, data, size);
    if (size >= sizeof(em_header)) {
        ((em_header *)(void *)file)->crc = em_crc(file, (uint32_t)size);
    }
    em_monitor m;
    if (em_open(&m, file, size) == EM_OK && em_work(&m) <= (1u << 22)) { /* bounded time */
        void *workspace = malloc(em_workspace_size(&m));
        describe(&m);
        em_self_test(&m, workspace, em_workspace_size(&m));
        stream s;
        fill((uint8_t *)&s, sizeof s, (uint32_t)size); /* not even zeroed */
        for (uint32_t seed = 0; seed < 8; seed++) {
            evaluate(&m, workspace, &s, seed);
        }
        free(workspace);
    }
    free(file);
    return 0;
}
