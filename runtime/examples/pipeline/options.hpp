// The command line.
#ifndef PIPELINE_OPTIONS_HPP
#define PIPELINE_OPTIONS_HPP

#include "classifier.hpp"
#include "policy.hpp"

namespace pipeline {

struct Options {
    std::filesystem::path bundle, frames, log; // log: empty for standard output
    double fps = 30.0;                         // 0: as fast as it goes
    int threads = 1;
    std::size_t warm_up = 100;
    PolicyLimits policy;
    Libraries libraries;
};

// Throws Refused with the usage.
Options parse(int argc, char **argv);

} // namespace pipeline

#endif // PIPELINE_OPTIONS_HPP
