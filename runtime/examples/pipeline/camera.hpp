// A folder of numbered frames, read as a camera would give them.
#ifndef PIPELINE_CAMERA_HPP
#define PIPELINE_CAMERA_HPP

#include "image.hpp"

#include <cstdint>
#include <filesystem>
#include <map>

namespace pipeline {

class FolderCamera {
  public:
    // Frames are files *.ppm, *.pgm and *.npy; the last number in a name is the frame's. Throws
    // Refused if there is none, if two frames have one number, or hardly any number is there.
    explicit FolderCamera(const std::filesystem::path &folder);

    std::uint64_t first() const noexcept { return files_.begin()->first; }
    std::uint64_t last() const noexcept { return files_.rbegin()->first; }

    // Throws BadFrame if the frame of this number is missing or damaged.
    Image frame(std::uint64_t number);

  private:
    std::filesystem::path folder_;
    std::map<std::uint64_t, std::filesystem::path> files_;
    std::string content_; // of the last file; its memory is used again
};

} // namespace pipeline

#endif // PIPELINE_CAMERA_HPP
