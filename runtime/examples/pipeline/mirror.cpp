#include "mirror.hpp"

#include "refused.hpp"

#include <cstring>

namespace pipeline {

Lines lines_of(const InputSpec &spec, const Preprocess &preprocess) {
    const std::size_t axes = spec.shape.size();
    const bool first = layout_of(preprocess, spec) == "nchw" && axes == 3;
    const std::size_t axis = first ? 2 : 1;
    if (axes < 2 || axes > 3 || spec.shape[axis] == 1) {
        throw Refused(Exit::bundle, "the model's input has no left and right to mirror");
    }
    return {axes == 3 && !first ? spec.shape[2] : 1, spec.shape[axis]};
}

std::vector<std::uint8_t> mirrored(const std::vector<std::uint8_t> &input, const InputSpec &spec,
                                   const Lines &lines) {
    std::vector<std::uint8_t> result(input.size());
    const std::size_t pixel = lines.pixel * spec.element_bytes(), line = pixel * lines.width;
    for (std::size_t at = 0; at < input.size(); at += pixel) {
        const std::size_t column = at % line / pixel;
        std::memcpy(result.data() + (at - at % line) + (lines.width - 1 - column) * pixel,
                    input.data() + at, pixel);
    }
    return result;
}

} // namespace pipeline
