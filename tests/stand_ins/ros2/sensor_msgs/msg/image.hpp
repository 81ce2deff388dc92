// Stands in for the message sensor_msgs/Image.
#ifndef STAND_IN_IMAGE_HPP
#define STAND_IN_IMAGE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sensor_msgs::msg {

struct Image {
    using ConstSharedPtr = std::shared_ptr<const Image>;
    std::uint32_t height, width;
    std::string encoding;
    std::uint8_t is_bigendian;
    std::uint32_t step;
    std::vector<std::uint8_t> data;
};

} // namespace sensor_msgs::msg

#endif // STAND_IN_IMAGE_HPP
