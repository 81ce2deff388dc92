// SHA-256 (FIPS 180-4).
#ifndef PIPELINE_SHA256_HPP
#define PIPELINE_SHA256_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pipeline {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(const void *data, std::size_t size);

// 64 digits, small letters.
std::string to_hex(const Digest &digest);

} // namespace pipeline

#endif // PIPELINE_SHA256_HPP
