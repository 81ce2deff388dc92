// The command line.
#ifndef PIPELINE_OPTIONS_HPP
#define PIPELINE_OPTIONS_HPP

#include "classifier.hpp"
#include "policy.hpp"

namespace pipeline {

inline constexpr const char *USAGE =
    "usage: pipeline BUNDLE FRAMES [--fps 30] [--log FILE] [--alarms 3] [--window 10] "
    "[--recover 10] [--hold 5] [--warm-up 100] [--threads 1] [--tflite-lib FILE] "
    "[--onnxruntime-lib FILE] [--reports FILE] [--report-every 1000] [--device 0]\n";

struct Options {
    std::filesystem::path bundle, frames, log; // log: empty for standard output
    std::filesystem::path reports;             // empty: none
    std::uint64_t device = 0;                  // that the reports come from
    std::size_t report_every = 1000;           // frames
    double fps = 30.0;                         // 0: as fast as it goes
    int threads = 1;
    std::size_t warm_up = 100;
    PolicyLimits policy;
    Libraries libraries;
};

// Throws Refused.
Options parse(int argc, char **argv);

} // namespace pipeline

#endif // PIPELINE_OPTIONS_HPP
