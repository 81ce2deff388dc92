#include "preprocess.hpp"

#include "refused.hpp"
#include "resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace pipeline {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t LARGEST_SOURCE_SIDE = 16384;
constexpr double LARGEST_TOKEN = 1 << 24;

std::string shown(const Shape &shape) {
    std::string text = "(";
    for (const std::size_t n : shape) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    }
    return text + ")";
}

Shape long_axes(const Shape &shape) {
    Shape kept;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
                 [](std::size_t n) { return n != 1; });
    return kept;
}

// The shape of an image, channels last, for an input of this shape.
Shape image_shape(const Shape &shape, const std::string &layout) {
    if (layout == "nchw" && shape.size() == 3) {
        return {shape[1], shape[2], shape[0]};
    }
    return shape;
}

void require_picture(Image &image, const std::string &step) {
    while (image.shape.size() > 3 && image.shape[0] == 1) {
        image.shape.erase(image.shape.begin());
    }
    const std::size_t axes = image.shape.size();
    if (axes < 2 || axes > 3 || elements_of(image.shape) == 0) {
        throw BadFrame(step +
                       " needs an image of shape (height, width) or (height, width, "
                       "channels), not " +
                       shown(image.shape));
    }
}

void reverse_channels(Image &image) {
    if (image.shape.size() == 2) {
        return;
    }
    const std::size_t last = image.shape.back();
    const auto reverse = [&](auto &pixels) {
        for (auto at = pixels.begin(); at != pixels.end();
             at += static_cast<std::ptrdiff_t>(last)) {
            std::reverse(at, at + static_cast<std::ptrdiff_t>(last));
        }
    };
    std::visit(reverse, image.pixels);
}

// ITU-R 601 luma, (H, W).
void to_gray(Image &image) {
    if (image.shape.size() == 2) {
        return;
    }
    const std::size_t channels = image.shape[2];
    image.shape.pop_back();
    if (channels == 1) {
        return;
    }
    if (channels != 3) {
        throw BadFrame("channels=gray needs 3 channels, an image has " + std::to_string(channels));
    }
    if (const auto *v = std::get_if<Bytes>(&image.pixels)) {
        Bytes luma(v->size() / 3);
        for (std::size_t i = 0; i < luma.size(); i++) {
            const std::uint32_t r = (*v)[3 * i], g = (*v)[3 * i + 1], b = (*v)[3 * i + 2];
            luma[i] = static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
        }
        image.pixels = luma;
        return;
    }
    const auto &v = std::get<std::vector<float>>(image.pixels);
    std::vector<float> luma(v.size() / 3);
    for (std::size_t i = 0; i < luma.size(); i++) {
        luma[i] = 0.299F * v[3 * i] + 0.587F * v[3 * i + 1] + 0.114F * v[3 * i + 2];
    }
    image.pixels = luma;
}

std::vector<float> floats_of(Image &image) {
    if (auto *floats = std::get_if<std::vector<float>>(&image.pixels)) {
        return std::move(*floats);
    }
    const auto &bytes = std::get<Bytes>(image.pixels);
    return {bytes.begin(), bytes.end()};
}

template <typename Step>
void each_channel(std::vector<float> &v, const Shape &shape, const std::vector<double> &values,
                  const char *name, Step step) {
    if (values.empty()) {
        return;
    }
    if (values.size() != 1 && (shape.empty() || shape.back() != values.size())) {
        throw BadFrame(std::string(name) + " has " + std::to_string(values.size()) +
                       " values, but an image has the shape " + shown(shape));
    }
    for (std::size_t i = 0; i < v.size(); i++) {
        step(v[i], static_cast<float>(values[i % values.size()]));
    }
}

std::vector<float> applied(Image &image, const Preprocess &p) {
    if (p.resize) {
        require_picture(image, "resize");
        if (std::max(image.shape[0], image.shape[1]) > LARGEST_SOURCE_SIDE) {
            throw BadFrame("resize takes images of at most 16384 pixels a side, not " +
                           shown(image.shape));
        }
        image = resize_bilinear(std::move(image), p.resize->first, p.resize->second);
    }
    if (p.channels == "bgr") {
        require_picture(image, "channels=bgr");
        reverse_channels(image);
    } else if (p.channels == "gray") {
        require_picture(image, "channels=gray");
        to_gray(image);
    }
    std::vector<float> v = floats_of(image);
    if (p.scale != 1.0) {
        for (float &value : v) {
            value = value * static_cast<float>(p.scale);
        }
    }
    if (p.offset != 0.0) {
        for (float &value : v) {
            value = value + static_cast<float>(p.offset);
        }
    }
    each_channel(v, image.shape, p.mean, "mean", [](float &a, float b) { a = a - b; });
    each_channel(v, image.shape, p.deviation, "std", [](float &a, float b) { a = a / b; });
    return v;
}

template <typename T> Bytes bytes_of(const std::vector<T> &values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    return bytes;
}

// Rounded half to even, saturated.
template <typename T> Bytes codes_of(const std::vector<float> &v, const InputSpec &spec) {
    using Limits = std::numeric_limits<T>;
    constexpr bool TOKENS = sizeof(T) >= 4;
    std::vector<T> codes(v.size());
    for (std::size_t i = 0; i < v.size(); i++) {
        auto value = static_cast<double>(v[i]);
        if (spec.scale != 0.0) {
            value = value / spec.scale + static_cast<double>(spec.zero_point);
        }
        value = std::nearbyint(value);
        if (TOKENS && spec.scale == 0.0 && std::abs(value) > LARGEST_TOKEN) {
            throw BadFrame("the model's input takes whole numbers of at most 2^24");
        }
        const bool above = value >= static_cast<double>(Limits::max());
        const bool below = value <= static_cast<double>(Limits::min());
        codes[i] = above ? Limits::max() : below ? Limits::min() : static_cast<T>(value);
    }
    return bytes_of(codes);
}

struct Filler {
    const char *dtype;
    std::size_t bytes;
    Bytes (*fill)(const std::vector<float> &, const InputSpec &);
};

const Filler FILLERS[] = {
    {"float32", 4, [](const std::vector<float> &v, const InputSpec &) { return bytes_of(v); }},
    {"float64", 8,
     [](const std::vector<float> &v, const InputSpec &) {
         return bytes_of(std::vector<double>(v.begin(), v.end()));
     }},
    {"int8", 1, codes_of<std::int8_t>},
    {"uint8", 1, codes_of<std::uint8_t>},
    {"int16", 2, codes_of<std::int16_t>},
    {"int32", 4, codes_of<std::int32_t>},
    {"int64", 8, codes_of<std::int64_t>},
};

// nullptr for what InputSpec::of refuses.
const Filler *filler_of(const InputSpec &spec) noexcept {
    const auto known = [&](const Filler &filler) { return spec.dtype == filler.dtype; };
    const auto found = std::find_if(std::begin(FILLERS), std::end(FILLERS), known);
    return found == std::end(FILLERS) ? nullptr : found;
}

} // namespace

const std::string &layout_of(const Preprocess &preprocess, const InputSpec &spec) {
    return preprocess.layout == "auto" ? spec.layout : preprocess.layout;
}

std::size_t InputSpec::element_bytes() const noexcept {
    const Filler *filler = filler_of(*this);
    return filler == nullptr ? 0 : filler->bytes;
}

std::vector<std::uint8_t> to_input(Image image, const Preprocess &preprocess,
                                   const InputSpec &spec) {
    const std::string &layout = layout_of(preprocess, spec);
    const Shape needed = image_shape(spec.shape, layout);
    const std::size_t size = elements_of(needed);
    if (!preprocess.resize && long_axes(image.shape).size() == 1 && image.size() == size) {
        image.shape = needed; // a vector of as many values is an image, channels last
    }
    std::vector<float> v = applied(image, preprocess);
    if (long_axes(image.shape) != long_axes(needed)) {
        throw BadFrame("an image has the shape " + shown(image.shape) +
                       " after preprocessing, but the model's input needs " + shown(needed));
    }
    if (!std::all_of(v.begin(), v.end(), [](float value) { return std::isfinite(value); })) {
        throw NotFinite();
    }
    if (layout == "nchw" && needed.size() == 3) {
        std::vector<float> moved(v.size());
        const std::size_t plane = needed[0] * needed[1], channels = needed[2];
        for (std::size_t i = 0; i < v.size(); i++) {
            moved[(i % channels) * plane + i / channels] = v[i];
        }
        v = std::move(moved);
    }
    return filler_of(spec)->fill(v, spec);
}

} // namespace pipeline
