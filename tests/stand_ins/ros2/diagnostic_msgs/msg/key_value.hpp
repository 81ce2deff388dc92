// Stands in for the message diagnostic_msgs/KeyValue.
#ifndef STAND_IN_KEY_VALUE_HPP
#define STAND_IN_KEY_VALUE_HPP

#include <string>

namespace diagnostic_msgs::msg {

struct KeyValue {
    std::string key, value;
};

} // namespace diagnostic_msgs::msg

#endif // STAND_IN_KEY_VALUE_HPP
