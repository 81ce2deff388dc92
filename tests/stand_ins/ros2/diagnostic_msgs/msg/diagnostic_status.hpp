// Stands in for the message diagnostic_msgs/DiagnosticStatus.
#ifndef STAND_IN_DIAGNOSTIC_STATUS_HPP
#define STAND_IN_DIAGNOSTIC_STATUS_HPP

#include <diagnostic_msgs/msg/key_value.hpp>

#include <vector>

namespace diagnostic_msgs::msg {

struct DiagnosticStatus {
    static constexpr unsigned char OK = 0, WARN = 1, ERROR = 2, STALE = 3;
    unsigned char level;
    std::string name, message, hardware_id;
    std::vector<KeyValue> values;
};

} // namespace diagnostic_msgs::msg

#endif // STAND_IN_DIAGNOSTIC_STATUS_HPP
