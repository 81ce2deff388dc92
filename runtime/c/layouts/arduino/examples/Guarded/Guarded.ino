// Says after each inference whether to rely on it. monitor.h is of `edgemon compile --c-header`: put
// it beside this sketch. The taps are the model's own output tensors, in TensorFlow Lite Micro:
//
//   TfLiteTensor *logits = interpreter.output(0);   the outputs are in the bundle's order
//   taps[0] = edgemon::tap(logits->data.int8, logits->bytes);
#include <edgemon.hpp>

#include "monitor.h"

static edgemon::Monitor monitor;
alignas(8) static uint8_t workspace[2048];

void setup() {
    Serial.begin(115200);
    const em_status status = monitor.open(edgemon_monitor, sizeof edgemon_monitor);
    const bool fits = monitor.workspace_size() <= sizeof workspace;
    if (status != EM_OK || !fits || monitor.self_test(workspace, sizeof workspace) != EM_OK) {
        Serial.println(status != EM_OK ? em_status_text(status) : "workspace or self-test");
        for (;;) {
            delay(1000); // not ready: nothing is trusted
        }
    }
    for (size_t i = 0; i < monitor.tap_count(); i++) {
        em_tap_info tap;
        monitor.describe_tap(i, tap);
        Serial.println(tap.name); // the tensor that taps[i] has to point to
    }
}

void loop() {
    static int8_t logits[10]; // stands for the interpreter's output
    static em_tap taps[EM_MAX_TAPS];
    taps[0] = edgemon::tap(logits, sizeof logits);
    const em_result result =
        monitor.evaluate(taps, monitor.tap_count(), workspace, sizeof workspace);
    Serial.println(em_verdict_text(result.verdict));
    delay(100);
}
