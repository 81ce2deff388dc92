#include "image.hpp"

#include "refused.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>

namespace pipeline {
namespace {

constexpr std::size_t LARGEST_SIDE = 16384; // as the compiler reads image files
constexpr std::size_t MOST_ELEMENTS = 3 * LARGEST_SIDE * LARGEST_SIDE;
constexpr std::string_view NPY_MAGIC("\x93NUMPY", 6);

// ---- PGM and PPM ---------------------------------------------------------------------------

// The next number of a header; `at` is left behind it. Comments go from # to the end of the line.
std::size_t header_number(std::string_view text, std::size_t &at, const std::string &name) {
    while (at < text.size() &&
           (std::isspace(static_cast<unsigned char>(text[at])) || text[at] == '#')) {
        at = text[at] == '#' ? std::min(text.find('\n', at), text.size()) : at + 1;
    }
    std::size_t value = 0;
    const char *end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data() + at, end, value);
    if (error != std::errc()) {
        throw BadFrame(name + ": its header is damaged");
    }
    at = static_cast<std::size_t>(behind - text.data());
    return value;
}

Image decode_netpbm(std::string_view text, const std::string &name) {
    const std::size_t channels = text[1] == '6' ? 3 : 1;
    std::size_t at = 2;
    const std::size_t width = header_number(text, at, name);
    const std::size_t height = header_number(text, at, name);
    const std::size_t most = header_number(text, at, name);
    if (width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE || most != 255) {
        throw BadFrame(name + ": needs 1 to 16384 pixels a side, of values up to 255");
    }
    const std::size_t size = width * height * channels;
    if (at >= text.size() || text.size() - at - 1 < size) {
        throw BadFrame(name + ": ends before its last pixel");
    }
    const auto *first = reinterpret_cast<const std::uint8_t *>(text.data()) + at + 1;
    Shape shape{height, width};
    if (channels == 3) {
        shape.push_back(channels);
    }
    return {shape, std::vector<std::uint8_t>(first, first + size)};
}

// ---- .npy ----------------------------------------------------------------------------------

template <typename T> std::vector<float> as_floats(const char *data, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++) {
        T value;
        std::memcpy(&value, data + i * sizeof value, sizeof value);
        values[i] = static_cast<float>(value);
    }
    return values;
}

struct NumberType {
    std::string_view name;
    std::size_t bytes;
    std::vector<float> (*read)(const char *, std::size_t);
};

constexpr std::array<NumberType, 11> TYPES{{
    {"|u1", 1, as_floats<std::uint8_t>},
    {"|b1", 1, as_floats<std::uint8_t>},
    {"|i1", 1, as_floats<std::int8_t>},
    {"<u2", 2, as_floats<std::uint16_t>},
    {"<i2", 2, as_floats<std::int16_t>},
    {"<u4", 4, as_floats<std::uint32_t>},
    {"<i4", 4, as_floats<std::int32_t>},
    {"<u8", 8, as_floats<std::uint64_t>},
    {"<i8", 8, as_floats<std::int64_t>},
    {"<f4", 4, as_floats<float>},
    {"<f8", 8, as_floats<double>},
}};

// What stands behind a key of the header, up to `end`.
std::string_view entry(std::string_view header, std::string_view key, char end) {
    const std::size_t at = header.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::size_t first = at + key.size();
    return header.substr(first, header.find(end, first) - first);
}

Shape shape_of(std::string_view text, const std::string &name) {
    Shape shape;
    std::size_t at = 0, elements = 1;
    while ((at = text.find_first_of("0123456789", at)) != std::string_view::npos) {
        std::size_t n = 0;
        const auto found = std::from_chars(text.data() + at, text.data() + text.size(), n);
        at = static_cast<std::size_t>(found.ptr - text.data());
        if (found.ec != std::errc() || (n > 0 && elements > MOST_ELEMENTS / n)) {
            throw BadFrame(name + ": too large for an image");
        }
        elements *= n;
        shape.push_back(n);
    }
    return shape;
}

Image decode_npy(std::string_view text, const std::string &name) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const bool wide = text.size() > 8 && byte(6) >= 2;
    const std::size_t behind = wide ? 12 : 10;
    if (text.size() < behind) {
        throw BadFrame(name + ": its header is damaged");
    }
    std::size_t length = byte(8) | std::size_t{byte(9)} << 8;
    if (wide) {
        length |= std::size_t{byte(10)} << 16 | std::size_t{byte(11)} << 24;
    }
    const std::string_view header = text.substr(behind, length);
    const std::string_view type = entry(header, "'descr': '", '\'');
    if (entry(header, "'fortran_order': ", ',') != "False") {
        throw BadFrame(name + ": not in C order; write np.ascontiguousarray(image)");
    }
    const Shape shape = shape_of(entry(header, "'shape': (", ')'), name);
    const std::size_t count = elements_of(shape), at = behind + header.size();
    for (const NumberType &known : TYPES) {
        if (known.name != type) {
            continue;
        }
        if ((text.size() - at) / known.bytes < count) {
            throw BadFrame(name + ": ends before its last pixel");
        }
        const char *data = text.data() + at;
        if (type == "|u1") {
            const auto *first = reinterpret_cast<const std::uint8_t *>(data);
            return {shape, std::vector<std::uint8_t>(first, first + count)};
        }
        return {shape, known.read(data, count)};
    }
    throw BadFrame(name + ": holds no numbers of this machine's byte order");
}

} // namespace

std::size_t elements_of(const Shape &shape) noexcept {
    std::size_t elements = 1;
    for (const std::size_t n : shape) {
        elements *= n;
    }
    return elements;
}

std::size_t Image::size() const noexcept {
    return std::visit([](const auto &values) { return values.size(); }, pixels);
}

Image decode(std::string_view content, const std::string &name) {
    if (content.substr(0, NPY_MAGIC.size()) == NPY_MAGIC) {
        return decode_npy(content, name);
    }
    if (content.substr(0, 2) == "P5" || content.substr(0, 2) == "P6") {
        return decode_netpbm(content, name);
    }
    throw BadFrame(name + ": neither a binary PGM or PPM nor a .npy");
}

} // namespace pipeline
