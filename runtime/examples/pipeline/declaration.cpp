// What the metadata declares of preprocessing and of the model's input.
#include "preprocess.hpp"

#include "refused.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace pipeline {
namespace {

constexpr const char *DAMAGED =
    "the bundle's metadata is damaged: an entry is missing or damaged; compile it again";

} // namespace

Preprocess Preprocess::of(const nlohmann::json &found) {
    Preprocess p;
    try {
        p.scale = found.at("scale").get<double>();
        p.offset = found.at("offset").get<double>();
        p.mean = found.at("mean").get<std::vector<double>>();
        p.deviation = found.at("std").get<std::vector<double>>();
        if (!found.at("resize").is_null()) {
            const auto size = found.at("resize").get<std::array<std::size_t, 2>>();
            if (size[0] < 1 || size[1] < 1 || size[0] > 4096 || size[1] > 4096) {
                throw Refused(Exit::bundle, DAMAGED);
            }
            p.resize = {size[0], size[1]};
        }
        p.channels = found.at("channels").get<std::string>();
        p.layout = found.value("layout", "auto");
    } catch (const nlohmann::json::exception &) {
        throw Refused(Exit::bundle, DAMAGED);
    }
    const auto known = [](const std::string &text, std::initializer_list<const char *> of) {
        return std::find(of.begin(), of.end(), text) != of.end();
    };
    if (!known(p.channels, {"asis", "rgb", "bgr", "gray"}) ||
        !known(p.layout, {"auto", "nhwc", "nchw"}) ||
        std::count(p.deviation.begin(), p.deviation.end(), 0.0) > 0) {
        throw Refused(Exit::bundle, DAMAGED);
    }
    return p;
}

InputSpec InputSpec::of(const nlohmann::json &found) {
    InputSpec spec;
    try {
        spec.name = found.at("name").get<std::string>();
        spec.shape = found.at("shape").get<Shape>();
        spec.dtype = found.at("dtype").get<std::string>();
        spec.scale = found.at("scale").get<double>();
        spec.zero_point = found.at("zero_point").get<std::int64_t>();
        spec.layout = found.value("layout", "nhwc");
    } catch (const nlohmann::json::exception &) {
        throw Refused(Exit::bundle, DAMAGED);
    }
    if (spec.element_bytes() == 0) { // said before the first frame
        throw Refused(Exit::bundle,
                      "the model's input is " + spec.dtype + ", which this pipeline cannot fill");
    }
    return spec;
}

} // namespace pipeline
