#include "guarded_model.hpp"

#include "names.hpp"
#include "refused.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pipeline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double NOTHING = std::numeric_limits<double>::quiet_NaN();
constexpr const char *ALL_AGREE = "all monitors agree";

constexpr std::size_t bytes_of(em_dtype dtype) noexcept {
    switch (dtype) {
    case EM_I8:
    case EM_U8:
        return 1;
    case EM_I16:
        return 2;
    case EM_I64:
        return 8;
    default:
        return 4;
    }
}

em_dtype dtype_of(const std::string &name) {
    return name == "int8"      ? EM_I8
           : name == "uint8"   ? EM_U8
           : name == "int16"   ? EM_I16
           : name == "float32" ? EM_F32
                               : em_dtype{};
}

std::vector<std::uint64_t> aligned(std::size_t bytes) {
    return std::vector<std::uint64_t>((bytes + 7) / 8);
}

} // namespace

GuardedModel::GuardedModel(const Bundle &bundle, Classifier &classifier)
    : bundle_(bundle), monitor_(bundle.monitor()), metadata_(bundle.metadata()),
      classifier_(classifier), taps_(monitor_.tap_count()), kept_(monitor_.tap_count()),
      workspace_(aligned(monitor_.workspace_size())), counted_monitors_(monitor_.monitor_count()),
      counted_classes_(em_class_count(&monitor_.c())) {
    const InputSpec &input = metadata_.input;
    if (classifier.input_bytes() != input.elements() * input.element_bytes() ||
        classifier.input_dtype() != input.dtype) {
        throw Refused(Exit::model, bundle.model_path().string() +
                                       ": its input is not the one that the bundle describes; "
                                       "compile the bundle again");
    }
    input_ = aligned(classifier.input_bytes());
    if (monitor_.reads_mirror()) {
        lines_ = lines_of(input, metadata_.preprocess);
    }
    for (std::size_t i = 0; i < monitor_.monitor_count(); i++) {
        em_monitor_info info;
        monitor_.describe_monitor(i, info);
        opinions_.push_back({info.name, EM_FAULT, NOTHING, monitor_.display(i, info.alarm_above),
                             info.dtype, em_number{}});
    }
    require_taps(classifier);
    em_window_start(&monitor_.c(), &window_, counted_monitors_.data(), counted_monitors_.size(),
                    counted_classes_.data(), counted_classes_.size());
}

// Each tap gets what the artifact wants, and none the tensor that another one names.
void GuardedModel::require_taps(Classifier &classifier) const {
    const std::string path = bundle_.model_path().string();
    std::vector<em_tap_info> wanted(taps_.size());
    for (std::size_t i = 0; i < taps_.size(); i++) {
        monitor_.describe_tap(i, wanted[i]);
    }
    for (std::size_t i = 0; i < taps_.size(); i++) {
        const em_tap_info &tap = wanted[i];
        const int position = metadata_.outputs[i];
        Output given{metadata_.input.name, dtype_of(metadata_.input.dtype),
                     static_cast<std::uint32_t>(metadata_.input.elements()), nullptr};
        if (position != INPUT) {
            if (position < 0 || static_cast<std::size_t>(position) >= classifier.output_count()) {
                throw Refused(Exit::model, path + ": lacks outputs; compile the bundle again");
            }
            given = classifier.output(static_cast<std::size_t>(position));
        }
        if (given.dtype != tap.dtype || given.length != tap.length) {
            throw Refused(Exit::model, path + ": its tensor '" + given.name +
                                           "' is not what the tap '" + tap.name +
                                           "' wants; compile the bundle again");
        }
        const bool exchanged = !is_stored(tap.name, given.name) &&
                               std::any_of(wanted.begin(), wanted.end(), [&](const em_tap_info &t) {
                                   return is_stored(t.name, given.name);
                               });
        if (exchanged) {
            throw Refused(Exit::bundle, std::string("the bundle's metadata is damaged: the tap '") +
                                            tap.name + "' is exchanged with '" + given.name +
                                            "'; compile it again");
        }
    }
}

// The mirrored image goes first, so that the outputs in the model's own memory are its answer to
// the image itself.
void GuardedModel::read_taps(const std::vector<std::uint8_t> &input) {
    const auto bind = [&](em_view view, const std::vector<std::uint8_t> &ran) {
        for (std::size_t i = 0; i < taps_.size(); i++) {
            em_tap_info info;
            monitor_.describe_tap(i, info);
            if (info.view != view) {
                continue;
            }
            const int position = metadata_.outputs[i];
            const std::size_t bytes = info.length * bytes_of(info.dtype);
            const void *data = ran.data();
            if (position != INPUT) {
                data = classifier_.output(static_cast<std::size_t>(position)).data;
            }
            if (position == INPUT || view == EM_VIEW_MIRROR) {
                kept_[i].resize((bytes + 7) / 8);
                std::memcpy(kept_[i].data(), data, bytes);
                data = kept_[i].data();
            }
            taps_[i] = {data, info.dtype, info.length};
        }
    };
    if (lines_) {
        const std::vector<std::uint8_t> turned = mirrored(input, metadata_.input, *lines_);
        classifier_.invoke(turned);
        bind(EM_VIEW_MIRROR, turned);
    }
    classifier_.invoke(input);
    bind(EM_VIEW_PLAIN, input);
}

Answer GuardedModel::evaluate(Image frame) {
    const Clock::time_point start = Clock::now();
    try {
        const std::vector<std::uint8_t> input =
            to_input(std::move(frame), metadata_.preprocess, metadata_.input);
        const Clock::time_point ready = Clock::now();
        read_taps(input);
        const Clock::time_point ran = Clock::now();
        const em_result result = monitor_.evaluate(taps_.data(), taps_.size(), workspace_.data(),
                                                   monitor_.workspace_size());
        count(result);
        const Clock::time_point judged = Clock::now();
        Answer answer = answer_of(result);
        answer.took = {ready - start, ran - ready, judged - ran};
        return answer;
    } catch (const NotFinite &error) {
        em_result none{};
        none.verdict = EM_FAULT;
        none.reason = EM_E_TAP_VALUE;
        none.predicted_class = -1;
        none.n_monitors = static_cast<std::uint32_t>(monitor_.monitor_count());
        std::fill_n(none.verdicts, none.n_monitors, EM_FAULT);
        count(none);
        return fault(error.what());
    } catch (const BadFrame &error) {
        return fault(error.what());
    } catch (const InferenceFailed &error) {
        return fault(error.what());
    }
}

void GuardedModel::count(const em_result &result) {
    monitor_.update(drift_, result);
    monitor_.update(window_, result);
}

std::vector<std::uint8_t> GuardedModel::report(std::uint64_t device, std::uint64_t started,
                                               std::uint64_t ended) {
    window_.report.device = device;
    window_.report.started = started;
    window_.report.ended = ended;
    std::vector<std::uint8_t> bytes(
        EM_WINDOW_BYTES(counted_monitors_.size(), counted_classes_.size()));
    bytes.resize(em_window_write(&window_, &drift_, bytes.data(), bytes.size()));
    em_window_next(&window_);
    return bytes;
}

Answer GuardedModel::fault(const std::string &reason) const {
    return {EM_FAULT, -1, "", reason, NOTHING, opinions_, {}};
}

Answer GuardedModel::answer_of(const em_result &result) const {
    std::vector<Opinion> opinions = opinions_;
    for (std::size_t i = 0; i < opinions.size(); i++) {
        opinions[i].verdict = result.verdicts[i];
        opinions[i].raw = result.scores[i];
        opinions[i].score = monitor_.display(i, result.scores[i]);
    }
    const bool known = result.predicted_class >= 0;
    const auto found = std::find_if(opinions.begin(), opinions.end(),
                                    [&](const Opinion &o) { return o.verdict == result.verdict; });
    const Opinion &decisive = found == opinions.end() ? opinions.front() : *found;
    std::string reason = ALL_AGREE;
    if (result.reason != EM_OK) {
        reason = em_status_text(result.reason);
    } else if (result.verdict != EM_TRUST) {
        reason = reason_of(decisive, opinions);
    }
    return {result.verdict,
            result.predicted_class,
            known ? metadata_.labels[static_cast<std::size_t>(result.predicted_class)] : "",
            reason,
            known ? decisive.score : NOTHING,
            opinions,
            {}};
}

std::string GuardedModel::reason_of(const Opinion &decisive,
                                    const std::vector<Opinion> &opinions) const {
    const auto fusion = metadata_.explained.find(decisive.name);
    if (fusion != metadata_.explained.end()) {
        Scores scores;
        for (const Opinion &opinion : opinions) {
            scores[opinion.name] = opinion.score;
        }
        return decisive.name + ": " + fusion->second.sentence(scores);
    }
    const auto rule = metadata_.rules.find(decisive.name);
    const std::string text =
        rule == metadata_.rules.end() ? "score {score}, above {threshold}" : rule->second;
    return decisive.name + ": " + rule_sentence(text, decisive.score, decisive.threshold);
}

} // namespace pipeline
