// The policy: what the vehicle does after each sequence of verdicts.
#include "policy.hpp"

#include <cstdio>
#include <string>

namespace {

using pipeline::Action;
using pipeline::Policy;
using pipeline::PolicyLimits;
using pipeline::Reaction;

int failed = 0;

void expect(bool holds, const std::string &what) {
    if (!holds) {
        std::printf("FAILED: %s\n", what.c_str());
        failed++;
    }
}

// Frames as letters: t is trusted, anything else is not. Actions as letters: use, hold, over.
std::string actions(Policy &policy, const std::string &frames) {
    std::string found;
    for (const char frame : frames) {
        const Reaction r = frame == 't' ? policy.trusted(7) : policy.alarmed();
        found += "uho"[static_cast<int>(r.action)];
        expect((r.action == Action::hand_over) == (r.answer < 0), "an answer unless handed over");
    }
    return found;
}

void table(const PolicyLimits &limits, const std::string &frames, const std::string &expected) {
    Policy policy(limits);
    const std::string found = actions(policy, frames);
    expect(found == expected, frames + ": " + found + ", not " + expected);
}

} // namespace

int main() {
    const PolicyLimits limits{3, 5, 4, 2}; // k, n, recover, hold_most
    table(limits, "tttt", "uuuu");
    table(limits, "tatat", "uhuhu");         // two alarms in five: the last answer is held
    table(limits, "taatt", "uhhuu");         // held for two frames, then answers again
    table(limits, "tatatat", "uhuhuoo");     // the third alarm in five hands over
    table(limits, "taaattttt", "uhhoooouu"); // four good frames in a row take back
    table(limits, "taaatttatttt",
          "uhhooooooo"
          "ou");                           // a new alarm counts them anew
    table(limits, "attt", "ouuu");         // nothing to hold yet
    table({5, 5, 4, 2}, "taaat", "uhhou"); // too old to hold; not handed over for good
    table({1, 1, 1, 9}, "tatat", "uouou"); // one alarm is enough, one good frame too
    table({64, 64, 64, 9}, std::string(63, 'a') + "t", std::string(63, 'o') + "u");
    table({2, 64, 1, 9}, "ta" + std::string(70, 't') + "ta", "uh" + std::string(71, 'u') + "h");

    Policy policy(limits);
    Reaction r = policy.trusted(3);
    expect(r.answer == 3 && r.age == 0, "the answer itself");
    r = policy.alarmed();
    expect(r.action == Action::hold && r.answer == 3 && r.age == 1, "the last good answer");
    policy.give_up();
    expect(actions(policy, "tttttttttt") == "oooooooooo", "what was given up stays given up");

    expect(Policy::permits(limits), "limits that can be kept");
    for (const PolicyLimits &bad :
         {PolicyLimits{0, 5, 4, 2}, PolicyLimits{6, 5, 4, 2}, PolicyLimits{3, 65, 4, 2},
          PolicyLimits{3, 5, 0, 2}, PolicyLimits{0, 0, 4, 2}}) {
        expect(!Policy::permits(bad), "limits that cannot be kept");
    }
    if (failed == 0) {
        std::puts("ok");
    }
    return failed == 0 ? 0 : 1;
}
