// A classifier and its monitor as a ROS 2 component: images in, answers and verdicts out.
#include "guarded_model.hpp"
#include "policy.hpp"
#include "refused.hpp"

#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <diagnostic_msgs/msg/key_value.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_components/register_node_macro.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/int32.hpp>

namespace edgemon_ros2 {

using diagnostic_msgs::msg::DiagnosticStatus;
using diagnostic_msgs::msg::KeyValue;
using sensor_msgs::msg::Image;

namespace {

// What the model was trained on: colours as red, green, blue. Throws BadFrame.
pipeline::Image image_of(const Image &message) {
    const bool mono = message.encoding == "mono8", blue_first = message.encoding == "bgr8";
    if (!mono && !blue_first && message.encoding != "rgb8") {
        throw pipeline::BadFrame("images of encoding " + message.encoding +
                                 " are not known; publish rgb8, bgr8 or mono8");
    }
    const std::size_t channels = mono ? 1 : 3, line = message.width * channels;
    if (message.step < line || message.data.size() / std::max(message.step, 1U) < message.height) {
        throw pipeline::BadFrame("an image is shorter than its height and step say");
    }
    std::vector<std::uint8_t> pixels(message.height * line);
    for (std::size_t row = 0; row < message.height; row++) {
        for (std::size_t i = 0; i < line; i++) {
            const std::size_t from = blue_first ? i / 3 * 3 + 2 - i % 3 : i;
            pixels[row * line + i] = message.data[row * message.step + from];
        }
    }
    pipeline::Shape shape{message.height, message.width};
    if (!mono) {
        shape.push_back(channels);
    }
    return {shape, std::move(pixels)};
}

unsigned char level_of(em_verdict verdict) noexcept {
    return verdict == EM_TRUST
               ? DiagnosticStatus::OK
               : (verdict == EM_FAULT ? DiagnosticStatus::ERROR : DiagnosticStatus::WARN);
}

KeyValue pair(const std::string &key, const std::string &value) {
    KeyValue found;
    found.key = key;
    found.value = value;
    return found;
}

} // namespace

class GuardedClassifier : public rclcpp::Node {
  public:
    // Throws pipeline::Refused for a bundle, model or library that cannot be used: the container
    // reports it in one line, and the component is not loaded.
    explicit GuardedClassifier(const rclcpp::NodeOptions &options)
        : Node("guarded_classifier", options), bundle_(declare_parameter("bundle", std::string())),
          classifier_(
              pipeline::open_classifier(bundle_.model_path(), bundle_.model(), libraries(), 1)),
          model_(bundle_, *classifier_), policy_(limits()) {
        verdicts_ = create_publisher<DiagnosticStatus>("verdict", rclcpp::QoS(10));
        answers_ = create_publisher<std_msgs::msg::Int32>("answer", rclcpp::QoS(10));
        images_ = create_subscription<Image>(
            "image", rclcpp::SensorDataQoS(),
            [this](const Image::ConstSharedPtr &message) { take(*message); });
        const auto deadline = declare_parameter("deadline_ms", std::int64_t{100});
        watch_ = create_wall_timer(std::chrono::milliseconds(deadline), [this] { miss(); });
        check_ = create_wall_timer(std::chrono::seconds(1), [this] { check(); });
        const std::string caution = classifier_->caution(bundle_.metadata().kernels);
        if (!caution.empty()) {
            RCLCPP_WARN(get_logger(), "%s", caution.c_str());
        }
    }

  private:
    pipeline::Libraries libraries() {
        pipeline::Libraries found;
        found.tflite = declare_parameter("tflite_library", found.tflite);
        found.onnxruntime = declare_parameter("onnxruntime_library", found.onnxruntime);
        return found;
    }
    pipeline::PolicyLimits limits() {
        pipeline::PolicyLimits found;
        const auto count = [this](const char *name, std::size_t otherwise) {
            const std::int64_t value =
                declare_parameter(name, static_cast<std::int64_t>(otherwise));
            return static_cast<std::size_t>(std::max<std::int64_t>(value, 0));
        };
        found.alarms = count("alarms", found.alarms);
        found.window = count("window", found.window);
        found.recover = count("recover", found.recover);
        found.hold_most = static_cast<std::uint32_t>(count("hold", found.hold_most));
        if (!pipeline::Policy::permits(found)) {
            throw pipeline::Refused(pipeline::Exit::usage,
                                    "window is 1 to 64, alarms 1 to that, recover at least 1");
        }
        return found;
    }

    void take(const Image &message) {
        watch_->reset();
        pipeline::Answer answer = model_.fault("");
        try {
            answer = model_.evaluate(image_of(message));
        } catch (const pipeline::BadFrame &error) {
            answer.reason = error.what();
        }
        react(answer);
    }
    void miss() { react(model_.fault("no image within the deadline")); }
    void check() {
        const em_status status = bundle_.monitor().check();
        if (status != EM_OK) {
            policy_.give_up();
            RCLCPP_ERROR(get_logger(), "handed over for good: %s", em_status_text(status));
        }
    }

    void react(const pipeline::Answer &answer) {
        const pipeline::Reaction reaction =
            answer.verdict == EM_TRUST ? policy_.trusted(answer.predicted) : policy_.alarmed();
        DiagnosticStatus status;
        status.level = level_of(answer.verdict);
        status.name = get_name();
        status.message = answer.reason;
        status.values = {pair("verdict", em_verdict_text(answer.verdict)),
                         pair("class", std::to_string(answer.predicted)),
                         pair("label", answer.label),
                         pair("score", std::to_string(answer.score)),
                         pair("action", pipeline::text_of(reaction.action)),
                         pair("drift flagged at", std::to_string(model_.drift().flagged_at))};
        verdicts_->publish(status);
        if (reaction.action != pipeline::Action::hand_over) {
            std_msgs::msg::Int32 number;
            number.data = reaction.answer;
            answers_->publish(number);
        }
    }

    pipeline::Bundle bundle_;
    std::unique_ptr<pipeline::Classifier> classifier_;
    pipeline::GuardedModel model_;
    pipeline::Policy policy_;
    rclcpp::Publisher<DiagnosticStatus>::SharedPtr verdicts_;
    rclcpp::Publisher<std_msgs::msg::Int32>::SharedPtr answers_;
    rclcpp::Subscription<Image>::SharedPtr images_;
    rclcpp::TimerBase::SharedPtr watch_, check_;
};

} // namespace edgemon_ros2

RCLCPP_COMPONENTS_REGISTER_NODE(edgemon_ros2::GuardedClassifier)
