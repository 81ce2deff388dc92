// Stands in for the message std_msgs/Int32.
#ifndef STAND_IN_INT32_HPP
#define STAND_IN_INT32_HPP

#include <cstdint>

namespace std_msgs::msg {

struct Int32 {
    std::int32_t data;
};

} // namespace std_msgs::msg

#endif // STAND_IN_INT32_HPP
