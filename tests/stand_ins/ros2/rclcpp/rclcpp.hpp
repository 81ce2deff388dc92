// Stands in for rclcpp, with the signatures of its reference, so that a component can be checked
// for its syntax.
#ifndef STAND_IN_RCLCPP_HPP
#define STAND_IN_RCLCPP_HPP

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace rclcpp {

class NodeOptions {};
class Logger {};

class QoS {
  public:
    explicit QoS(std::size_t depth);
};
class SensorDataQoS : public QoS {
  public:
    SensorDataQoS();
};

class TimerBase {
  public:
    using SharedPtr = std::shared_ptr<TimerBase>;
    void reset();
};

template <typename Message> class Publisher {
  public:
    using SharedPtr = std::shared_ptr<Publisher>;
    void publish(const Message &message);
};

template <typename Message> class Subscription {
  public:
    using SharedPtr = std::shared_ptr<Subscription>;
};

class Node {
  public:
    Node(const std::string &name, const NodeOptions &options);
    const char *get_name() const;
    Logger get_logger() const;

    template <typename Value> Value declare_parameter(const std::string &name, const Value &value);
    template <typename Message>
    std::shared_ptr<Publisher<Message>> create_publisher(const std::string &topic, const QoS &qos);
    template <typename Message, typename Callback>
    std::shared_ptr<Subscription<Message>> create_subscription(const std::string &, const QoS &,
                                                               Callback &&callback) {
        const std::function<void(std::shared_ptr<const Message>)> taken(callback);
        return nullptr;
    }
    template <typename Period, typename Callback>
    std::shared_ptr<TimerBase> create_wall_timer(Period, Callback callback) {
        const std::function<void()> taken(callback);
        return nullptr;
    }
};

void log(const Logger &logger, const char *format, ...) __attribute__((format(printf, 2, 3)));

} // namespace rclcpp

#define RCLCPP_WARN(...) rclcpp::log(__VA_ARGS__)
#define RCLCPP_ERROR(...) rclcpp::log(__VA_ARGS__)

#endif // STAND_IN_RCLCPP_HPP
