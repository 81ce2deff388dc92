/*
 * A monitored classifier under Zephyr. model_run stands for your interpreter: it runs the model on
 * the next frame and says where the outputs lie that em_describe_tap names.
 */
#include <edgemon.h>
#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>

#include "monitor.h" /* edgemon_monitor[], of edgemon compile --c-header */

LOG_MODULE_REGISTER(guarded, LOG_LEVEL_INF);

#define FRAME_MS 33
#define CHECK_MS 1000

int model_run(em_tap *taps, size_t n_taps); /* 0: an inference was made */

static em_monitor monitor;
static em_drift drift;
static uint64_t workspace[512];
static atomic_t usable; /* cleared for good when memory has changed */

static void check(struct k_work *work);
static K_WORK_DELAYABLE_DEFINE(check_work, check);

/* Low priority: the system's work queue runs when no frame is due. */
static void check(struct k_work *work) {
    ARG_UNUSED(work);
    const em_status status = em_check(&monitor);
    if (status != EM_OK) {
        atomic_set(&usable, 0);
        LOG_ERR("handed over: %s", em_status_text(status));
        return;
    }
    k_work_reschedule(&check_work, K_MSEC(CHECK_MS));
}

static em_status start(void) {
    const em_status status = em_open(&monitor, edgemon_monitor, sizeof edgemon_monitor);
    if (status != EM_OK) {
        return status;
    }
    if (em_workspace_size(&monitor) > sizeof workspace) {
        return EM_E_WORKSPACE;
    }
    return em_self_test(&monitor, workspace, sizeof workspace);
}

int main(void) {
    const em_status status = start();
    if (status != EM_OK) {
        LOG_ERR("not ready, nothing is trusted: %s", em_status_text(status));
        return 0;
    }
    atomic_set(&usable, 1);
    em_drift_reset(&drift);
    k_work_reschedule(&check_work, K_MSEC(CHECK_MS));
    while (atomic_get(&usable) != 0) {
        static em_tap taps[EM_MAX_TAPS];
        static em_result result;
        if (model_run(taps, em_tap_count(&monitor)) == 0) {
            em_evaluate(&monitor, taps, em_tap_count(&monitor), workspace, sizeof workspace,
                        &result);
            em_drift_update(&monitor, &drift, &result);
            if (result.verdict != EM_TRUST) {
                LOG_WRN("class %d: %s, %s", (int)result.predicted_class,
                        em_verdict_text(result.verdict), em_status_text(result.reason));
            }
            if (drift.flagged_at != 0 && drift.flagged_at == drift.images) {
                LOG_WRN("images are no longer those of calibration, since %u",
                        (unsigned)drift.since);
            }
        } else {
            LOG_WRN("no inference: a frame without a verdict");
        }
        k_msleep(FRAME_MS);
    }
    return 0;
}
