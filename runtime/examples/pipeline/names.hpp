// Names as an artifact stores them (FORMAT.md, section 9): the twin of runtime/names.py.
#ifndef PIPELINE_NAMES_HPP
#define PIPELINE_NAMES_HPP

#include <string>
#include <string_view>

namespace pipeline {

constexpr std::string_view MIRRORED = "@mirror"; // behind a tensor: as the mirrored image causes it

// Is this what an artifact stores of the name, which is UTF-8?
bool is_stored(std::string_view stored, std::string_view name);

} // namespace pipeline

#endif // PIPELINE_NAMES_HPP
