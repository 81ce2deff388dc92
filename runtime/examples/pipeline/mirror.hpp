// The left-right mirrored input, for artifacts with taps of a second inference.
#ifndef PIPELINE_MIRROR_HPP
#define PIPELINE_MIRROR_HPP

#include "preprocess.hpp"

namespace pipeline {

// Where mirroring left-right reverses an input: the number of elements a pixel has, and of pixels
// a line. Throws Refused for an input that has no left and right.
struct Lines {
    std::size_t pixel, width;
};
Lines lines_of(const InputSpec &spec, const Preprocess &preprocess);
std::vector<std::uint8_t> mirrored(const std::vector<std::uint8_t> &input, const InputSpec &spec,
                                   const Lines &lines);

} // namespace pipeline

#endif // PIPELINE_MIRROR_HPP
