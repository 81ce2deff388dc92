/*
 * edgemon for C++17: a thin, header-only wrapper. No exceptions, no heap, nothing to release.
 *
 *   edgemon::Monitor monitor;
 *   if (monitor.open(artifact, size) != EM_OK) ...
 *   alignas(8) std::uint8_t workspace[1024];
 *   const std::array taps{edgemon::tap(logits, 10)};
 *   const em_result r = monitor.evaluate(taps, workspace, sizeof workspace);
 *   if (r.verdict != EM_TRUST) ...
 */
#ifndef EDGEMON_HPP
#define EDGEMON_HPP

#include "edgemon.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace edgemon {

/* A tensor as a tap; the data type follows from the pointer. */
inline em_tap tap(const std::int8_t *data, std::uint32_t length) noexcept {
    return {data, EM_I8, length};
}
inline em_tap tap(const std::uint8_t *data, std::uint32_t length) noexcept {
    return {data, EM_U8, length};
}
inline em_tap tap(const std::int16_t *data, std::uint32_t length) noexcept {
    return {data, EM_I16, length};
}
inline em_tap tap(const float *data, std::uint32_t length) noexcept {
    return {data, EM_F32, length};
}

/* An artifact in memory that outlives this object. */
class Monitor {
  public:
    em_status open(const void *artifact, std::size_t size) noexcept {
        return em_open(&monitor_, artifact, size);
    }
    em_status open(const void *artifact, std::size_t size, const em_limits &limits) noexcept {
        return em_open_limited(&monitor_, artifact, size, &limits);
    }
    em_status open_signed(const void *artifact, std::size_t size,
                          const std::array<std::uint8_t, 64> &signature, em_verify verify,
                          void *context = nullptr, const em_limits *limits = nullptr) noexcept {
        return em_open_signed(&monitor_, artifact, size, limits, signature.data(), verify, context);
    }
    em_status bind_model(const std::array<std::uint8_t, 32> &sha256) const noexcept {
        return em_bind_model(&monitor_, sha256.data());
    }
    em_status self_test(void *workspace, std::size_t size) const noexcept {
        return em_self_test(&monitor_, workspace, size);
    }
    em_status check() const noexcept { return em_check(&monitor_); }

    /* The status is in the result's `reason`. */
    em_result evaluate(const em_tap *taps, std::size_t n_taps, void *workspace,
                       std::size_t workspace_size) const noexcept {
        em_result result;
        em_evaluate(&monitor_, taps, n_taps, workspace, workspace_size, &result);
        return result;
    }
    /* Of anything that lies in one piece: std::array, std::vector, std::span, or one's own. */
    template <typename Taps>
    auto evaluate(const Taps &taps, void *workspace, std::size_t workspace_size) const noexcept
        -> decltype(static_cast<const em_tap *>(taps.data()), taps.size(), em_result{}) {
        return evaluate(static_cast<const em_tap *>(taps.data()), taps.size(), workspace,
                        workspace_size);
    }

    /* Counts one image; `drift` starts as `em_drift drift{};` and its flagged_at tells. */
    em_status update(em_drift &drift, const em_result &result) const noexcept {
        return em_drift_update(&monitor_, &drift, &result);
    }
    em_status describe_drift(em_drift_info &out) const noexcept {
        return em_describe_drift(&monitor_, &out);
    }

    /* How accurate is the model now? Counts one image, after the drift test; `accuracy` starts as
     * `em_accuracy accuracy{};`. Without a table em_estimate's `valid` is 0. */
    em_status update(em_accuracy &accuracy, const em_drift &drift,
                     const em_result &result) const noexcept {
        return em_accuracy_update(&monitor_, &accuracy, &drift, &result);
    }
    em_estimate estimate(const em_accuracy &accuracy, const em_drift &drift) const noexcept {
        em_estimate found;
        em_accuracy_estimate(&monitor_, &accuracy, &drift, &found);
        return found;
    }
    em_status probability(const em_result &result, std::uint16_t &out) const noexcept {
        return em_accuracy_probability(&monitor_, &result, &out);
    }

    /* What is counted of the images, and sent home: see em_window in edgemon.h. */
    template <std::size_t M, std::size_t C>
    em_status start(em_window &window, std::array<em_window_monitor, M> &monitors,
                    std::array<em_window_class, C> &classes) const noexcept {
        return em_window_start(&monitor_, &window, monitors.data(), M, classes.data(), C);
    }
    em_status update(em_window &window, const em_result &result) const noexcept {
        return em_window_update(&monitor_, &window, &result);
    }

    std::uint64_t work() const noexcept { return em_work(&monitor_); }
    std::size_t workspace_size() const noexcept { return em_workspace_size(&monitor_); }
    std::size_t tap_count() const noexcept { return em_tap_count(&monitor_); }
    std::size_t monitor_count() const noexcept { return em_monitor_count(&monitor_); }
    em_status describe_tap(std::size_t index, em_tap_info &out) const noexcept {
        return em_describe_tap(&monitor_, index, &out);
    }
    /* Does a tap want the mirrored image's inference, the second for each image? */
    bool reads_mirror() const noexcept {
        bool found = false;
        for (std::size_t i = 0; i < tap_count(); i++) {
            em_tap_info info;
            found = found || (describe_tap(i, info) == EM_OK && info.view == EM_VIEW_MIRROR);
        }
        return found;
    }
    std::size_t companion_count() const noexcept { return em_companion_count(&monitor_); }
    em_status describe_companion(std::size_t index, em_companion_info &out) const noexcept {
        return em_describe_companion(&monitor_, index, &out);
    }
    em_status describe_monitor(std::size_t index, em_monitor_info &out) const noexcept {
        return em_describe_monitor(&monitor_, index, &out);
    }
    double display(std::size_t index, em_number raw) const noexcept {
        return em_display(&monitor_, index, raw);
    }
    const em_monitor &c() const noexcept { return monitor_; }

  private:
    em_monitor monitor_{};
};

} // namespace edgemon

#endif // EDGEMON_HPP
