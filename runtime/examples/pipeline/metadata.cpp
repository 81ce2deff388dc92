// What the metadata of an artifact says, held to the artifact: the twin of runtime/metadata.py.
#include "bundle.hpp"

#include "names.hpp"
#include "refused.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace pipeline {
namespace {

[[noreturn]] void damaged(const std::string &what) {
    throw Refused(Exit::bundle, "the bundle's metadata is damaged: " + what + "; compile it again");
}

nlohmann::json parsed(const char *text, std::size_t size) {
    std::vector<std::set<std::string>> keys; // of the objects that are open
    const auto once = [&](int, nlohmann::json::parse_event_t event, nlohmann::json &value) {
        using Event = nlohmann::json::parse_event_t;
        if (event == Event::object_start) {
            keys.emplace_back();
        } else if (event == Event::object_end) {
            keys.pop_back();
        } else if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
            damaged("a key is stated twice");
        }
        return true;
    };
    nlohmann::json found = nlohmann::json::parse(text, text + size, once, false);
    if (!found.is_object()) {
        damaged("an entry is missing or damaged");
    }
    return found;
}

// A label value for each class, no two alike.
void require_label_values(const nlohmann::json &found, std::size_t classes) {
    if (!found.contains("label_values")) {
        return;
    }
    const auto values = found.at("label_values").get<std::vector<std::int64_t>>();
    if (values.size() != classes ||
        std::set<std::int64_t>(values.begin(), values.end()).size() != classes) {
        damaged("it does not give each class a label value of its own");
    }
}

void require_monitors(const Metadata &metadata, const edgemon::Monitor &monitor) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < monitor.monitor_count(); i++) {
        em_monitor_info info;
        monitor.describe_monitor(i, info);
        names.emplace_back(info.name);
    }
    for (const auto &[name, rule] : metadata.rules) {
        const std::string &stated = name;
        if (std::count_if(names.begin(), names.end(),
                          [&](const std::string &n) { return is_stored(n, stated); }) != 1) {
            damaged("the artifact does not have one monitor '" + name + "'");
        }
    }
    for (const auto &[name, explanation] : metadata.explained) {
        for (const Term &term : explanation.terms()) {
            if (std::find(names.begin(), names.end(), term.monitor) == names.end()) {
                damaged("the artifact has no signal '" + term.monitor + "'");
            }
        }
    }
}

// Names in the artifact's order; taps of one tensor, and they alone, share an output.
void require_taps(const std::vector<std::pair<std::string, int>> &stated,
                  const edgemon::Monitor &monitor) {
    if (stated.size() != monitor.tap_count()) {
        damaged(std::to_string(stated.size()) + " taps, but the artifact has " +
                std::to_string(monitor.tap_count()));
    }
    std::map<std::string, int> outputs;
    std::set<int> positions;
    for (std::size_t i = 0; i < stated.size(); i++) {
        em_tap_info tap;
        monitor.describe_tap(i, tap);
        std::string tensor = stated[i].first;
        if (tap.view == EM_VIEW_ODIN || tap.view == EM_VIEW_COMPANION) {
            throw Refused(Exit::bundle, "the tap '" + tensor +
                                            "' needs a companion model, which this program does "
                                            "not run; take a bundle whose monitors need none");
        }
        const std::size_t plain = tensor.size() - std::min(tensor.size(), MIRRORED.size());
        if (tap.view == EM_VIEW_MIRROR && tensor.compare(plain, tensor.npos, MIRRORED) == 0) {
            tensor.resize(plain);
        }
        if (!is_stored(tap.name, tensor)) {
            damaged("the tap '" + tensor + "' stands where the artifact has '" + tap.name + "'");
        }
        if (outputs.emplace(tensor, stated[i].second).first->second != stated[i].second) {
            damaged("the tensor '" + tensor + "' is said to be two outputs of the model");
        }
        positions.insert(stated[i].second);
    }
    if (positions.size() != outputs.size()) {
        damaged("two taps are said to be the same output of the model");
    }
}

} // namespace

Metadata Metadata::of(const edgemon::Monitor &monitor) {
    std::size_t size = 0;
    const char *text = em_metadata(&monitor.c(), &size);
    const nlohmann::json found = parsed(text == nullptr ? "" : text, size);
    Metadata metadata;
    std::vector<std::pair<std::string, int>> taps;
    try {
        metadata.labels = found.at("labels").get<std::vector<std::string>>();
        for (const nlohmann::json &entry : found.at("monitors")) {
            const auto name = entry.at("name").get<std::string>();
            if (!metadata.rules.emplace(name, entry.at("rule").get<std::string>()).second) {
                damaged("the artifact does not have one monitor '" + name + "'");
            }
            if (entry.contains("terms")) {
                metadata.explained.emplace(name, Explanation::of(entry));
            }
        }
        for (const nlohmann::json &tap : found.at("taps")) {
            taps.emplace_back(tap.at("name").get<std::string>(), tap.at("output").get<int>());
            metadata.outputs.push_back(taps.back().second);
        }
        require_label_values(found, metadata.labels.size());
        metadata.kernels = found.at("kernels").get<std::string>();
        metadata.preprocess = Preprocess::of(found.at("preprocess"));
        metadata.input = InputSpec::of(found.at("input"));
    } catch (const nlohmann::json::exception &) {
        damaged("an entry is missing or damaged");
    } catch (const std::invalid_argument &) {
        damaged("an entry is missing or damaged");
    }
    if (metadata.labels.size() != em_class_count(&monitor.c())) {
        damaged(std::to_string(metadata.labels.size()) + " labels, but the model has " +
                std::to_string(em_class_count(&monitor.c())) + " classes");
    }
    require_monitors(metadata, monitor);
    require_taps(taps, monitor);
    return metadata;
}

} // namespace pipeline
