#include "policy.hpp"

#include <limits>

namespace pipeline {

const char *text_of(Action action) noexcept {
    static const char *const TEXTS[] = {"use", "hold", "hand over"};
    return TEXTS[static_cast<std::size_t>(action)];
}

bool Policy::permits(const PolicyLimits &limits) noexcept {
    return limits.window >= 1 && limits.window <= LONGEST && limits.alarms >= 1 &&
           limits.alarms <= limits.window && limits.recover >= 1;
}

void Policy::count(bool alarm) noexcept {
    alarms_ <<= 1;
    alarms_[0] = alarm;
    for (std::size_t i = limits_.window; i < LONGEST; i++) {
        alarms_[i] = false;
    }
    good_in_a_row_ = alarm ? 0 : good_in_a_row_ + 1;
    if (good_in_a_row_ >= limits_.recover) {
        handed_over_ = false; // so many good frames outweigh older alarms in the window
        alarms_.reset();
    } else if (alarms_.count() >= limits_.alarms) {
        handed_over_ = true;
    }
}

Reaction Policy::trusted(std::int32_t answer) noexcept {
    count(false);
    last_good_ = answer;
    age_ = 0;
    if (handed_over()) {
        return {Action::hand_over, -1, 0};
    }
    return {Action::use, answer, 0};
}

Reaction Policy::alarmed() noexcept {
    count(true);
    if (age_ < std::numeric_limits<std::uint32_t>::max()) {
        age_++;
    }
    if (handed_over() || last_good_ < 0 || age_ > limits_.hold_most) {
        return {Action::hand_over, -1, 0};
    }
    return {Action::hold, last_good_, age_};
}

} // namespace pipeline
