// Stands in for the header of rclcpp_components: a component is made from its options.
#ifndef STAND_IN_REGISTER_NODE_MACRO_HPP
#define STAND_IN_REGISTER_NODE_MACRO_HPP

#include <rclcpp/rclcpp.hpp>

#include <type_traits>

#define RCLCPP_COMPONENTS_REGISTER_NODE(Component)                                                 \
    static_assert(std::is_constructible_v<Component, const rclcpp::NodeOptions &>, "");

#endif // STAND_IN_REGISTER_NODE_MACRO_HPP
