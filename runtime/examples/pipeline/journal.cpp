#include "journal.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace pipeline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t MOST_TIMES = 1 << 20; // of a longer run, the last ones are summed up

double in_us(std::chrono::nanoseconds time) {
    return std::round(static_cast<double>(time.count()) / 100.0) / 10.0;
}

// The smallest value that so many per cent of all do not exceed. The values are sorted.
double percentile(const std::vector<double> &sorted, double percent) {
    const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

Json raw_of(const Opinion &opinion) {
    if (opinion.verdict == EM_FAULT) {
        return nullptr;
    }
    return opinion.dtype == EM_F32 ? Json(static_cast<double>(opinion.raw.f)) : Json(opinion.raw.i);
}

} // namespace

long resident_kb() {
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    long whole = 0, resident = 0;
    if (file == nullptr) {
        return 0;
    }
    const int found = std::fscanf(file, "%ld %ld", &whole, &resident);
    std::fclose(file);
    return found == 2 ? resident * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

Journal::Journal(std::FILE *file, std::size_t frames, std::size_t warm_up)
    : file_(file), warm_up_(warm_up), times_us_(std::min(frames, MOST_TIMES), 0.0) {
    resident_kb(); // what asking takes itself is taken now
}

void Journal::write(const Json &line) {
    const std::string text = line.dump(-1, ' ', true, Json::error_handler_t::replace);
    std::fprintf(file_, "%s\n", text.c_str());
    std::fflush(file_);
}

void Journal::start(const Bundle &bundle, const Classifier &classifier, double fps) {
    const std::string caution = classifier.caution(bundle.metadata().kernels);
    write({{"event", "start"},
           {"model", bundle.model_path().filename().string()},
           {"model_sha256", to_hex(bundle.model_sha256())},
           {"interpreter", classifier.backend()},
           {"calibrated_on", bundle.metadata().kernels},
           {"caution", caution.empty() ? Json(nullptr) : Json(caution)},
           {"fps", fps}});
    if (!caution.empty()) {
        std::fprintf(stderr, "pipeline: %s\n", caution.c_str());
    }
}

void Journal::frame(std::uint64_t number, const Answer &answer, const Reaction &reaction,
                    std::uint32_t drift_flagged_at, std::chrono::nanoseconds took, bool late) {
    Json raw = Json::object();
    for (const Opinion &opinion : answer.opinions) {
        raw[opinion.name] = raw_of(opinion);
    }
    write({{"event", "frame"},
           {"frame", number},
           {"verdict", em_verdict_text(answer.verdict)},
           {"class", answer.predicted},
           {"label", answer.label},
           {"score", answer.score},
           {"reason", answer.reason},
           {"raw_scores", raw},
           {"action", text_of(reaction.action)},
           {"answer", reaction.answer},
           {"answer_age", reaction.age},
           {"drift_flagged_at", drift_flagged_at},
           {"latency_us", in_us(took)},
           {"preprocess_us", in_us(answer.took.preprocess)},
           {"model_us", in_us(answer.took.model)},
           {"monitor_us", in_us(answer.took.monitor)},
           {"late", late}});
    times_us_[frames_ % times_us_.size()] = in_us(took);
    verdicts_[static_cast<std::size_t>(answer.verdict)]++;
    actions_[static_cast<std::size_t>(reaction.action)]++;
    late_ += late ? 1 : 0;
    frames_++;
    if (frames_ >= warm_up_) {
        const long now = resident_kb();
        warm_kb_ = warm_kb_ == 0 ? now : warm_kb_;
        most_kb_ = std::max(most_kb_, now);
    }
}

void Journal::memory_changed(std::uint64_t number, em_status status) {
    write({{"event", "memory changed"},
           {"frame", number},
           {"reason", em_status_text(status)},
           {"action", text_of(Action::hand_over)}});
}

void Journal::finish(const em_drift &drift) {
    Json verdicts = Json::object(), actions = Json::object();
    for (std::size_t i = 0; i < verdicts_.size(); i++) {
        verdicts[em_verdict_text(static_cast<em_verdict>(i))] = verdicts_[i];
    }
    for (std::size_t i = 0; i < actions_.size(); i++) {
        actions[text_of(static_cast<Action>(i))] = actions_[i];
    }
    times_us_.resize(std::min(frames_, times_us_.size()));
    std::sort(times_us_.begin(), times_us_.end());
    Json times = nullptr;
    if (!times_us_.empty()) {
        times = {{"p50", percentile(times_us_, 50)},
                 {"p99", percentile(times_us_, 99)},
                 {"max", times_us_.back()}};
    }
    Json memory = {{"warm", nullptr}, {"most", nullptr}, {"end", resident_kb()}};
    if (frames_ >= warm_up_) { // a shorter run says nothing about memory that stays the same
        memory["warm"] = warm_kb_;
        memory["most"] = most_kb_;
    }
    write({{"event", "summary"},
           {"frames", frames_},
           {"verdicts", verdicts},
           {"actions", actions},
           {"latency_us", times},
           {"late", late_},
           {"drift_flagged_at", drift.flagged_at},
           {"resident_kb", memory}});
}

} // namespace pipeline
