// Model and monitor together, a frame in, an answer and its verdict out: the twin of
// runtime/session.py, with the same verdicts and score bits.
#ifndef PIPELINE_GUARDED_MODEL_HPP
#define PIPELINE_GUARDED_MODEL_HPP

#include "bundle.hpp"
#include "classifier.hpp"
#include "mirror.hpp"

#include <chrono>
#include <optional>

namespace pipeline {

// One monitor's opinion; `score` and `threshold` in the unit that people are shown.
struct Opinion {
    std::string name;
    em_verdict verdict;
    double score, threshold;
    em_dtype dtype; // of the raw score
    em_number raw;
};

// Where the time of a frame went.
struct Durations {
    std::chrono::nanoseconds preprocess{0}, model{0}, monitor{0};
};

// `score` is that of the monitor that decided, NaN after a fault of the frame.
struct Answer {
    em_verdict verdict = EM_FAULT;
    std::int32_t predicted = -1;
    std::string label, reason;
    double score;
    std::vector<Opinion> opinions;
    Durations took;
};

class GuardedModel {
  public:
    // Throws Refused unless the model gives every tap what the artifact wants.
    GuardedModel(const Bundle &bundle, Classifier &classifier);

    // A frame that cannot be used gives a fault, with the reason; nothing is thrown.
    Answer evaluate(Image frame);

    // A fault without a frame.
    Answer fault(const std::string &reason) const;

    // Are the scores of all frames so far still distributed as in calibration? A frame of the
    // wrong shape is not counted, one with a NaN is.
    const em_drift &drift() const noexcept { return drift_; }

    // What was counted since the last report, as bytes to send home (docs/fleet.md); counting
    // begins anew. Times in s since 1970. The same frames are counted as for drift.
    std::vector<std::uint8_t> report(std::uint64_t device, std::uint64_t started,
                                     std::uint64_t ended);

  private:
    void require_taps(Classifier &classifier) const;
    void read_taps(const std::vector<std::uint8_t> &input);
    void count(const em_result &result);
    Answer answer_of(const em_result &result) const;
    std::string reason_of(const Opinion &decisive, const std::vector<Opinion> &opinions) const;

    const Bundle &bundle_;
    const edgemon::Monitor &monitor_;
    const Metadata &metadata_;
    Classifier &classifier_;
    std::vector<Opinion> opinions_; // with thresholds, without scores
    std::vector<em_tap> taps_;
    std::vector<std::vector<std::uint64_t>> kept_; // taps of the mirrored image, copied
    std::vector<std::uint64_t> workspace_, input_; // input_: where the input itself is a tap
    std::optional<Lines> lines_;                   // how to mirror, if any tap wants it
    em_drift drift_{};
    em_window window_{};
    std::vector<em_window_monitor> counted_monitors_;
    std::vector<em_window_class> counted_classes_;
};

} // namespace pipeline

#endif // PIPELINE_GUARDED_MODEL_HPP
