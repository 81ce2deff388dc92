#include "options.hpp"

#include "refused.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace pipeline {
namespace {

[[noreturn]] void wrong(const std::string &what) { throw Refused(Exit::usage, what); }

std::size_t number_of(const std::string &option, const std::string &text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > 1000000) {
        wrong(option + " needs a whole number up to 1000000, not '" + text + "'");
    }
    return value;
}

double rate_of(const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0.0) || value > 1e6) {
        wrong("--fps needs frames a second, 0 for as fast as it goes, not '" + text + "'");
    }
    return value;
}

void set(Options &options, const std::string &name, const std::string &value) {
    if (name == "--fps") {
        options.fps = rate_of(value);
    } else if (name == "--log") {
        options.log = value;
    } else if (name == "--reports") {
        options.reports = value;
    } else if (name == "--report-every") {
        options.report_every = number_of(name, value);
    } else if (name == "--device") {
        options.device = number_of(name, value);
    } else if (name == "--tflite-lib") {
        options.libraries.tflite = value;
    } else if (name == "--onnxruntime-lib") {
        options.libraries.onnxruntime = value;
    } else if (name == "--alarms") {
        options.policy.alarms = number_of(name, value);
    } else if (name == "--window") {
        options.policy.window = number_of(name, value);
    } else if (name == "--recover") {
        options.policy.recover = number_of(name, value);
    } else if (name == "--hold") {
        options.policy.hold_most = static_cast<std::uint32_t>(number_of(name, value));
    } else if (name == "--warm-up") {
        options.warm_up = number_of(name, value);
    } else if (name == "--threads") {
        options.threads = static_cast<int>(number_of(name, value));
    } else {
        wrong("there is no option " + name);
    }
}

} // namespace

Options parse(int argc, char **argv) {
    Options options;
    if (const char *path = std::getenv("EDGEMON_TFLITE_LIB")) {
        options.libraries.tflite = path;
    }
    if (const char *path = std::getenv("EDGEMON_ONNXRUNTIME_LIB")) {
        options.libraries.onnxruntime = path;
    }
    std::size_t named = 0;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument.compare(0, 2, "--") == 0) {
            if (i + 1 == argc) {
                wrong(argument + " needs a value");
            }
            set(options, argument, argv[++i]);
        } else if (named < 2) {
            (named++ == 0 ? options.bundle : options.frames) = argument;
        } else {
            wrong("one bundle and one folder of frames, not '" + argument + "' too");
        }
    }
    if (named < 2) {
        wrong("a bundle and a folder of frames are needed");
    }
    if (!Policy::permits(options.policy)) {
        wrong("--window is 1 to 64, --alarms 1 to that, and --recover at least 1");
    }
    if (options.threads < 1 || options.report_every < 1) {
        wrong("--threads and --report-every are at least 1");
    }
    return options;
}

} // namespace pipeline
