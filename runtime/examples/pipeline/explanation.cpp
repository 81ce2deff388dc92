#include "explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace pipeline {
namespace {

Steps steps_of(const nlohmann::json &found) {
    Steps steps{found.at("knots").get<std::vector<double>>(),
                found.at("values").get<std::vector<double>>()};
    if (steps.values.size() != steps.knots.size() + 1) {
        throw std::invalid_argument("terms");
    }
    return steps;
}

void replace(std::string &text, const std::string &what, const std::string &by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
}

} // namespace

double Steps::at(double score) const {
    const auto found = std::lower_bound(knots.begin(), knots.end(), score);
    const auto k = static_cast<std::size_t>(found - knots.begin());
    return values[std::min(k, values.size() - 1)];
}

Explanation Explanation::of(const nlohmann::json &monitor) {
    Explanation found;
    for (const nlohmann::json &term : monitor.at("terms")) {
        found.terms_.push_back({term.at("monitor").get<std::string>(),
                                term.at("what").get<std::string>(), steps_of(term),
                                term.at("usual").get<double>(), term.at("learned").get<bool>()});
    }
    if (found.terms_.empty()) {
        throw std::invalid_argument("terms");
    }
    if (monitor.contains("stack") && !monitor.at("stack").is_null()) {
        found.stack_ = steps_of(monitor.at("stack"));
    }
    return found;
}

Scores Explanation::surprises(const Scores &scores) const {
    Scores nats;
    double total = 0.0;
    for (const Term &term : terms_) {
        const auto score = scores.find(term.monitor);
        if (score != scores.end()) {
            nats[term.monitor] = term.nats.at(score->second);
            total += term.learned ? nats[term.monitor] : 0.0;
        }
    }
    if (stack_) { // its nats are shared out among its signals in proportion to their own
        const double share = total > 0.0 ? stack_->at(total) / total : 0.0;
        for (const Term &term : terms_) {
            if (term.learned && nats.count(term.monitor) > 0) {
                nats[term.monitor] *= share;
            }
        }
    }
    return nats;
}

std::string Explanation::sentence(const Scores &scores) const {
    const Scores nats = surprises(scores);
    const auto of = [&](const Term &term, double otherwise) {
        const auto found = nats.find(term.monitor);
        return found == nats.end() ? otherwise : found->second;
    };
    const Term &most =
        *std::max_element(terms_.begin(), terms_.end(),
                          [&](const Term &a, const Term &b) { return of(a, -1.0) < of(b, -1.0); });
    double others = 0.0;
    for (const Term &term : terms_) {
        others += nats.count(term.monitor) > 0 ? nats.at(term.monitor) : 0.0;
    }
    others -= of(most, 0.0);
    const auto score = scores.find(most.monitor);
    const double at =
        score == scores.end() ? std::numeric_limits<double>::quiet_NaN() : score->second;
    const std::string text = most.what + ": " + shown(at, 'g', 3) +
                             ", where 99 % of correct rows stay below " + shown(most.usual, 'g', 3);
    if (terms_.size() == 1) {
        return text;
    }
    return text + " (" + shown(of(most, 0.0), 'f', 1) + " nats; the other signals " +
           shown(others, 'f', 1) + ")";
}

std::string shown(double value, char form, int digits) {
    if (std::isnan(value)) {
        return "nan";
    }
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), form == 'f' ? "%.*f" : "%.*g", digits, value);
    return text.data();
}

std::string rule_sentence(std::string rule, double score, double threshold) {
    replace(rule, "{score}", shown(score, 'g', 3));
    replace(rule, "{threshold}", shown(threshold, 'g', 3));
    return rule;
}

} // namespace pipeline
