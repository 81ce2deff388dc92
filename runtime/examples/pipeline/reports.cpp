#include "reports.hpp"

#include "refused.hpp"

#include <ctime>

namespace pipeline {
namespace {

// s since 1970; 0 without a clock.
std::uint64_t now() {
    const std::time_t time = std::time(nullptr);
    return time > 0 ? static_cast<std::uint64_t>(time) : 0;
}

} // namespace

Reports::Reports(const Options &options)
    : device_(options.device), started_(now()), every_(options.report_every) {
    if (!options.reports.empty()) {
        file_.open(options.reports, std::ios::binary | std::ios::app);
        if (!file_) {
            throw Refused(Exit::usage, options.reports.string() + ": cannot be written");
        }
    }
}

void Reports::frame(GuardedModel &model) {
    if (++frames_ == every_) {
        write(model);
    }
}

void Reports::finish(GuardedModel &model) {
    if (frames_ > 0) {
        write(model);
    }
}

void Reports::write(GuardedModel &model) {
    frames_ = 0;
    if (!file_.is_open()) {
        return;
    }
    const std::uint64_t ended = now();
    const std::vector<std::uint8_t> bytes = model.report(device_, started_, ended);
    file_.write(reinterpret_cast<const char *>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    file_.flush();
    started_ = ended;
}

} // namespace pipeline
