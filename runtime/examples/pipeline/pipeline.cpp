// Frames from a folder, as from a camera, through model and monitor at a fixed rate; what the
// vehicle does with each answer; a log of JSON lines. See README.md.
#include "camera.hpp"
#include "journal.hpp"
#include "options.hpp"
#include "refused.hpp"
#include "reports.hpp"

#include <csignal>
#include <iostream>
#include <thread>

namespace pipeline {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopped = 0; // by SIGINT or SIGTERM: the frame at hand is the last one

void stop(int) { stopped = 1; }

struct Closer {
    void operator()(std::FILE *file) const noexcept { std::fclose(file); }
};

Answer answer_to(FolderCamera &camera, std::uint64_t number, GuardedModel &model) {
    try {
        return model.evaluate(camera.frame(number));
    } catch (const BadFrame &error) {
        return model.fault(error.what());
    }
}

Exit run(const Options &options) {
    const Bundle bundle(options.bundle);
    const std::unique_ptr<Classifier> classifier =
        open_classifier(bundle.model_path(), bundle.model(), options.libraries, options.threads);
    GuardedModel model(bundle, *classifier);
    FolderCamera camera(options.frames);
    Policy policy(options.policy);
    Reports reports(options);

    std::unique_ptr<std::FILE, Closer> opened;
    if (!options.log.empty()) {
        opened.reset(std::fopen(options.log.c_str(), "w"));
        if (opened == nullptr) {
            throw Refused(Exit::usage, options.log.string() + ": cannot be written");
        }
    }
    const auto frames = static_cast<std::size_t>(camera.last() - camera.first() + 1);
    Journal journal(opened ? opened.get() : stdout, frames, options.warm_up);
    journal.start(bundle, *classifier, options.fps);

    const auto period = options.fps > 0.0 ? std::chrono::duration_cast<Clock::duration>(
                                                std::chrono::duration<double>(1.0 / options.fps))
                                          : Clock::duration::zero();
    const auto check_every = static_cast<std::uint64_t>(std::max(options.fps, 1.0)); // a second
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    Exit ending = Exit::done;
    Clock::time_point due = Clock::now();
    for (std::uint64_t number = camera.first(); number <= camera.last() && stopped == 0;
         number++, due += period) {
        std::this_thread::sleep_until(due);
        const Clock::time_point start = Clock::now();
        const Answer answer = answer_to(camera, number, model);
        const Reaction reaction =
            answer.verdict == EM_TRUST ? policy.trusted(answer.predicted) : policy.alarmed();
        const Clock::time_point decided = Clock::now();
        const bool late = options.fps > 0.0 && decided > due + period;
        journal.frame(number, answer, reaction, model.drift().flagged_at, decided - start, late);
        reports.frame(model);
        if (ending == Exit::done && (number - camera.first()) % check_every == 0) {
            const em_status status = bundle.monitor().check(); // in idle time
            if (status != EM_OK) {
                policy.give_up();
                journal.memory_changed(number, status);
                ending = Exit::memory_changed;
            }
        }
    }
    reports.finish(model);
    journal.finish(model.drift());
    return ending;
}

// Texts of a bundle stand in sentences: none may steer the terminal.
int said(std::string sentence, Exit code) {
    for (char &c : sentence) {
        const auto byte = static_cast<unsigned char>(c);
        c = byte < 0x20 || byte == 0x7F ? '?' : c;
    }
    std::cerr << "pipeline: " << sentence << "\n" << (code == Exit::usage ? USAGE : "");
    return static_cast<int>(code);
}

} // namespace
} // namespace pipeline

int main(int argc, char **argv) {
    try {
        return static_cast<int>(pipeline::run(pipeline::parse(argc, argv)));
    } catch (const pipeline::Refused &error) {
        return pipeline::said(error.what(), error.code());
    } catch (const std::exception &error) { // such as no memory
        return pipeline::said(error.what(), pipeline::Exit::other);
    }
}
