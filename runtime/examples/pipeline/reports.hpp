// Reports of what was counted, one behind the other in a file, for `edgemon fleet`.
#ifndef PIPELINE_REPORTS_HPP
#define PIPELINE_REPORTS_HPP

#include "guarded_model.hpp"
#include "options.hpp"

#include <fstream>

namespace pipeline {

class Reports {
  public:
    // Appends to the file that the options name, if they name one. Throws Refused.
    explicit Reports(const Options &options);

    // After each frame: writes a report when it is time.
    void frame(GuardedModel &model);

    // At the end: what is left.
    void finish(GuardedModel &model);

  private:
    void write(GuardedModel &model);

    std::ofstream file_;
    std::uint64_t device_, started_;
    std::size_t every_, frames_ = 0;
};

} // namespace pipeline

#endif // PIPELINE_REPORTS_HPP
