#include "names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace pipeline {
namespace {

constexpr std::size_t LONGEST = 255;
constexpr std::size_t UNIQUE_PART = LONGEST - 8; // what is kept of a name that got a number behind

// The next code point of a UTF-8 text that a parser of JSON has found valid.
std::uint32_t next_point(std::string_view text, std::size_t &at) {
    const auto byte = [&] { return static_cast<unsigned char>(text[at++]); };
    const unsigned char lead = byte();
    const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    std::uint32_t point = more == 0 ? lead : lead & (0x3FU >> more);
    for (int i = 0; i < more && at < text.size(); i++) {
        point = point << 6 | (byte() & 0x3FU);
    }
    return point;
}

// Printable ASCII: other characters are escaped, and what is too long is cut off.
std::string stored_name(std::string_view name) {
    std::string plain;
    for (std::size_t at = 0; at < name.size();) {
        const std::uint32_t point = next_point(name, at);
        if (point < 0x80) {
            plain += point >= 0x20 && point <= 0x7E ? static_cast<char>(point) : '?';
            continue;
        }
        std::array<char, 12> escaped{};
        const char *form = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
        std::snprintf(escaped.data(), escaped.size(), form, point);
        plain += escaped.data();
    }
    return plain.substr(0, LONGEST);
}

} // namespace

bool is_stored(std::string_view stored, std::string_view name) {
    const std::string plain = stored_name(name);
    if (stored == plain) {
        return true;
    }
    const std::size_t tilde = stored.rfind('~');
    if (tilde == std::string_view::npos ||
        stored.substr(0, tilde) != plain.substr(0, UNIQUE_PART)) {
        return false;
    }
    const std::string_view number = stored.substr(tilde + 1);
    return !number.empty() &&
           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace pipeline
