// Images as a camera or a file gives them, and their files.
#ifndef PIPELINE_IMAGE_HPP
#define PIPELINE_IMAGE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pipeline {

using Shape = std::vector<std::size_t>;

// Row by row, channels last. What is not uint8 is float32, in which all else is prepared.
struct Image {
    Shape shape; // (height, width), (height, width, channels), or of no picture
    std::variant<std::vector<std::uint8_t>, std::vector<float>> pixels;

    std::size_t size() const noexcept;
};

std::size_t elements_of(const Shape &shape) noexcept;

// Binary PGM and PPM (P5, P6; 8 bits), and .npy of numbers in C order. Throws BadFrame with a
// sentence that begins with `name`.
Image decode(std::string_view content, const std::string &name);

} // namespace pipeline

#endif // PIPELINE_IMAGE_HPP
