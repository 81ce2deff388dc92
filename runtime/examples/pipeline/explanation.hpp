// Why a monitor alarms, in words: the twin of runtime/explanation.py and of a session's reasons.
#ifndef PIPELINE_EXPLANATION_HPP
#define PIPELINE_EXPLANATION_HPP

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace pipeline {

using Scores = std::map<std::string, double>; // as they are shown, by monitor

// The k-th value above knots[k - 1] and up to knots[k].
struct Steps {
    std::vector<double> knots, values;

    double at(double score) const;
};

// What one signal adds to a fusion; 99 % of correct held-out rows score at most `usual`.
struct Term {
    std::string monitor, what;
    Steps nats;
    double usual;
    bool learned;
};

class Explanation {
  public:
    // Of the metadata's `terms` and `stack` of a monitor. Throws nlohmann's exceptions, and
    // std::invalid_argument.
    static Explanation of(const nlohmann::json &monitor);

    const std::vector<Term> &terms() const noexcept { return terms_; }

    // The most surprising signal, and how it compares with correct rows.
    std::string sentence(const Scores &scores) const;

  private:
    Scores surprises(const Scores &scores) const;

    std::vector<Term> terms_;
    std::optional<Steps> stack_;
};

// printf's %.<digits>g or %.<digits>f, with "nan" and "inf" as Python writes them.
std::string shown(double value, char form, int digits);

// The rule with {score} and {threshold} replaced, nothing else.
std::string rule_sentence(std::string rule, double score, double threshold);

} // namespace pipeline

#endif // PIPELINE_EXPLANATION_HPP
