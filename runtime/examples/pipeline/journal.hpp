// What the pipeline writes: a JSON line for every frame, and one that sums them up.
#ifndef PIPELINE_JOURNAL_HPP
#define PIPELINE_JOURNAL_HPP

#include "guarded_model.hpp"
#include "policy.hpp"

#include <cstdio>

namespace pipeline {

// Resident memory of this process in kB; 0 where the system does not say.
long resident_kb();

class Journal {
  public:
    // Memory for so many frames is taken here, so that none is while they pass.
    Journal(std::FILE *file, std::size_t frames, std::size_t warm_up);

    void start(const Bundle &bundle, const Classifier &classifier, double fps);
    void frame(std::uint64_t number, const Answer &answer, const Reaction &reaction,
               std::uint32_t drift_flagged_at, std::chrono::nanoseconds took, bool late);
    // The artifact in memory is no longer what was opened.
    void memory_changed(std::uint64_t number, em_status status);
    void finish(const em_drift &drift);

  private:
    void write(const nlohmann::ordered_json &line);

    std::FILE *file_;
    std::size_t warm_up_;          // frames before memory is looked at
    std::vector<double> times_us_; // of the frames, at most the last 2^20
    std::array<std::size_t, 4> verdicts_{};
    std::array<std::size_t, 3> actions_{};
    std::size_t frames_ = 0, late_ = 0;
    long warm_kb_ = 0, most_kb_ = 0;
};

} // namespace pipeline

#endif // PIPELINE_JOURNAL_HPP
