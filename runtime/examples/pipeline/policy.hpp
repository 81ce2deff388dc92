// What the vehicle does with an answer and its verdict. No heap; one for each stream of frames.
#ifndef PIPELINE_POLICY_HPP
#define PIPELINE_POLICY_HPP

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace pipeline {

enum class Action {
    use,      // act on this frame's answer
    hold,     // act on the last good answer
    hand_over // act on none: the driver, or the safe state
};

const char *text_of(Action action) noexcept;

struct Reaction {
    Action action;
    std::int32_t answer; // the class to act on; -1: none
    std::uint32_t age;   // of that answer, in frames
};

struct PolicyLimits {
    std::size_t alarms = 3;      // k: alarms in the window that hand over
    std::size_t window = 10;     // n: frames looked back on, 1 to Policy::LONGEST
    std::size_t recover = 10;    // good frames in a row that take back
    std::uint32_t hold_most = 5; // frames that an answer is held at most
};

// An alarm is any frame that is not trusted: alarm, uncertain, fault, or no frame at all. While
// there is no good answer to hold, and when the one there is has grown too old, the action is to
// hand over; k alarms in n frames hand over until `recover` trusted frames came in a row.
class Policy {
  public:
    static constexpr std::size_t LONGEST = 64;

    explicit Policy(const PolicyLimits &limits) noexcept : limits_(limits) {}

    // Are the limits ones that can be kept?
    static bool permits(const PolicyLimits &limits) noexcept;

    Reaction trusted(std::int32_t answer) noexcept;
    Reaction alarmed() noexcept;

    // For good: the artifact in memory has changed, so that no verdict counts any more.
    void give_up() noexcept { given_up_ = true; }
    bool handed_over() const noexcept { return handed_over_ || given_up_; }

  private:
    void count(bool alarm) noexcept;

    PolicyLimits limits_;
    std::bitset<LONGEST> alarms_; // of the last frames, the newest at 0
    std::size_t good_in_a_row_ = 0;
    std::int32_t last_good_ = -1;
    std::uint32_t age_ = 0;
    bool handed_over_ = false;
    bool given_up_ = false;
};

} // namespace pipeline

#endif // PIPELINE_POLICY_HPP
