/*
 * A whole firmware around one monitored model: artifact in flash, memory that is fixed when it is
 * built, and what to do on each verdict. What the product brings is in firmware.h.
 *
 *   power-on   em_open, em_bind_model, em_self_test: without all three nothing is trusted, ever
 *   each image model, em_evaluate, reaction; em_drift_update
 *   idle       em_check: is the artifact still what it was?
 *
 * Numbers to choose: WORKSPACE_BYTES (`edgemon target check` prints it; power-on refuses one that
 * is too small), the reactions below, and how often the checksum is recomputed.
 */
#include "firmware.h"

#include "edgemon.h"

#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES 4096
#endif

enum {
    ALARMS = 3,       /* so many alarms or faults */
    FRAMES = 8,       /* in so many frames: somebody else has to drive */
    CHECK_EVERY = 16, /* frames between two checksums */
};

static em_monitor monitor;
static em_drift drift;
static em_result result;
static em_tap taps[EM_MAX_TAPS];
_Alignas(8) static uint8_t workspace[WORKSPACE_BYTES];

/* ---- power-on ---------------------------------------------------------------------------------
 */

/* Returns what is wrong, EM_OK if the monitor may be used. */
static em_status power_on(void) {
    size_t size = 0;
    const uint8_t *artifact = artifact_in_flash(&size);
    em_status status = em_open(&monitor, artifact, size);
    if (status == EM_OK) {
        status = em_bind_model(&monitor, model_sha256());
    }
    if (status == EM_OK) {
        status =
            em_self_test(&monitor, workspace, sizeof workspace); /* and is there room for it? */
    }
    return status;
}

/* The tensors that the artifact reads, by its own names. Their memory stays where it is, so that
 * this is done once. Returns 0 if the model lacks one. */
static int wire_taps(void) {
    for (size_t i = 0; i < em_tap_count(&monitor); i++) {
        em_tap_info info;
        em_describe_tap(&monitor, i, &info);
        if (info.view != EM_VIEW_PLAIN) {
            return 0; /* more than one inference for each image: see evaluate.c */
        }
        taps[i] = (em_tap){model_tensor(info.name), info.dtype, info.length};
        if (taps[i].data == NULL) {
            return 0;
        }
    }
    return 1;
}

/* ---- reactions --------------------------------------------------------------------------------
 */

/* Of the last FRAMES images, whether each was an alarm or a fault: a bit each, the last lowest. */
static uint32_t bad_frames;

static int too_many_bad(int bad) {
    bad_frames = (bad_frames << 1 | (bad ? 1u : 0u)) & ((1u << FRAMES) - 1);
    int count = 0;
    for (uint32_t left = bad_frames; left != 0; left &= left - 1) {
        count++;
    }
    return count >= ALARMS;
}

static void react(void) {
    switch (result.verdict) {
    case EM_TRUST:
        act_on(result.predicted_class);
        break;
    case EM_UNCERTAIN: /* no reason to stop, none to act */
        hold_last();
        break;
    case EM_FAULT: /* not the image's fault: a tensor with a NaN, wiring, memory */
        say(em_status_text(result.reason));
        hold_last();
        break;
    default: /* EM_ALARM, and whatever a damaged memory may hold */
        hold_last();
    }
    if (too_many_bad(result.verdict != EM_TRUST && result.verdict != EM_UNCERTAIN)) {
        hand_over("too many alarms");
        bad_frames = 0;
    }
}

static void watch_for_drift(void) {
    const uint32_t before = drift.flagged_at;
    if (em_drift_update(&monitor, &drift, &result) == EM_OK && before == 0 && drift.flagged_at) {
        hand_over("the images are no longer those of calibration: promised rates do not hold");
    }
}

/* ---- the program ------------------------------------------------------------------------------
 */

static void evaluate_frame(void) {
    if (run_model() != 0) {
        result.verdict = EM_FAULT; /* what the last image gave is not this one's */
        result.reason = EM_E_NULL;
    } else {
        em_evaluate(&monitor, taps, em_tap_count(&monitor), workspace, sizeof workspace, &result);
        watch_for_drift();
    }
    react();
}

int main(void) {
    const em_status status = power_on();
    if (status != EM_OK) {
        hand_over(em_status_text(status));
        return 1;
    }
    if (!wire_taps()) {
        hand_over("the model lacks a tensor that the artifact reads");
        return 1;
    }
    say("ready");
    for (uint32_t frame = 1; next_frame(); frame++) {
        evaluate_frame();
        if (frame % CHECK_EVERY == 0 && em_check(&monitor) != EM_OK) { /* in idle time */
            hand_over("the artifact has changed in memory");
            return 1;
        }
    }
    return 0;
}
