// The C++17 wrapper, compiled with every warning; opens the artifact that is named.
#include "edgemon/edgemon.hpp"

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
    if (file == nullptr) {
        return 2;
    }
    std::vector<std::uint64_t> artifact(4096);
    const std::size_t size = std::fread(artifact.data(), 1, artifact.size() * 8, file);
    std::fclose(file);

    edgemon::Monitor monitor;
    if (monitor.open(artifact.data(), size) != EM_OK) {
        return 1;
    }
    std::vector<std::uint64_t> workspace(monitor.workspace_size() / 8);
    const std::int8_t logits[] = {-20, 30, 7, 12};
    const float features[] = {0.25f, -1.5f, 2.0f};
    const std::uint8_t pixels[] = {3, 11};
    const std::array<em_tap, 3> taps{edgemon::tap(logits, 4), edgemon::tap(features, 3),
                                     edgemon::tap(pixels, 2)};
    const em_result result = monitor.evaluate(taps, workspace.data(), workspace.size() * 8);
    const em_result fault = monitor.evaluate(taps.data(), 2, workspace.data(), 8);
    em_drift drift{};
    em_drift_info info;
    em_window window;
    std::array<em_window_monitor, 3> monitors;
    std::array<em_window_class, 4> classes;
    if (monitor.start(window, monitors, classes) != EM_OK ||
        monitor.update(window, result) != EM_OK || window.report.images != 1 ||
        classes[1].images != 1) {
        return 1;
    }
    em_accuracy accuracy{};
    std::uint16_t probability = 0;
    if (monitor.update(accuracy, drift, result) != EM_OK ||
        monitor.probability(result, probability) != EM_OK ||
        monitor.estimate(accuracy, drift).sum != probability || accuracy.blocks[0].images != 1) {
        return 1;
    }
    return monitor.update(drift, result) == EM_OK && drift.images == 1 &&
                   monitor.describe_drift(info) == EM_OK && info.bins == 4 &&
                   result.reason == EM_OK && result.predicted_class == 1 &&
                   fault.verdict == EM_FAULT && monitor.check() == EM_OK &&
                   monitor.self_test(workspace.data(), workspace.size() * 8) == EM_OK &&
                   monitor.tap_count() == 3 && !monitor.reads_mirror() &&
                   monitor.monitor_count() == 3
               ? 0
               : 1;
}
