#include "camera.hpp"

#include "refused.hpp"

#include <charconv>
#include <fstream>

namespace pipeline {
namespace {

constexpr std::uint64_t MOST_FRAMES = std::uint64_t{1} << 32;
constexpr std::uint64_t MOST_MISSING = 100; // to a frame that is there: else a number is a date
constexpr std::uintmax_t MOST_BYTES = std::uintmax_t{1} << 31;

// The last number in a name; false if it has none.
bool number_in(const std::string &stem, std::uint64_t &number) {
    const std::size_t end = stem.find_last_of("0123456789");
    if (end == std::string::npos) {
        return false;
    }
    const std::size_t before = stem.find_last_not_of("0123456789", end);
    const char *first = stem.data() + (before == std::string::npos ? 0 : before + 1);
    return std::from_chars(first, stem.data() + end + 1, number).ec == std::errc() &&
           number < MOST_FRAMES;
}

} // namespace

FolderCamera::FolderCamera(const std::filesystem::path &folder) : folder_(folder) {
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string kind = entry.path().extension().string();
        std::uint64_t number = 0;
        if ((kind != ".ppm" && kind != ".pgm" && kind != ".npy") ||
            !number_in(entry.path().stem().string(), number)) {
            continue;
        }
        if (!files_.emplace(number, entry.path()).second) {
            throw Refused(Exit::no_frames, folder.string() + ": two files are frame " +
                                               std::to_string(number) + "; remove one");
        }
    }
    if (error || files_.empty()) {
        throw Refused(Exit::no_frames, folder.string() +
                                           ": no frames; give a folder of frame-000001.ppm "
                                           "(or .pgm, .npy) and so on");
    }
    if (last() - first() > MOST_MISSING * files_.size() + MOST_MISSING) {
        throw Refused(Exit::no_frames, folder.string() + ": has " + std::to_string(files_.size()) +
                                           " frames, numbered from " + std::to_string(first()) +
                                           " to " + std::to_string(last()) +
                                           "; remove what is no frame");
    }
}

Image FolderCamera::frame(std::uint64_t number) {
    const auto found = files_.find(number);
    if (found == files_.end()) {
        throw BadFrame("frame " + std::to_string(number) + " is missing");
    }
    std::ifstream file(found->second, std::ios::binary | std::ios::ate);
    const std::string name = found->second.filename().string();
    if (!file) {
        throw BadFrame("frame " + std::to_string(number) + " is missing");
    }
    const std::streamoff size = file.tellg();
    if (size < 0 || static_cast<std::uintmax_t>(size) > MOST_BYTES) {
        throw BadFrame(name + ": larger than a frame may be");
    }
    content_.resize(static_cast<std::size_t>(size));
    file.seekg(0);
    file.read(content_.data(), size);
    if (!file) {
        throw BadFrame(name + ": cannot be read");
    }
    return decode(content_, name);
}

} // namespace pipeline
