#include "resize.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipeline {
namespace {

constexpr int FRACTION_BITS = 22;

// Of each output pixel the first source pixel, and the weights of `window` pixels from there.
struct Coefficients {
    std::size_t window;
    std::vector<std::size_t> first;
    std::vector<double> weights;
};

Coefficients coefficients(std::size_t old, std::size_t size) {
    const double scale = static_cast<double>(old) / static_cast<double>(size);
    const double reach = std::max(scale, 1.0);
    std::vector<std::int64_t> first(size), end(size);
    std::int64_t window = 0;
    for (std::size_t i = 0; i < size; i++) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        first[i] = std::max<std::int64_t>(static_cast<std::int64_t>(centre - reach + 0.5), 0);
        end[i] = std::min(static_cast<std::int64_t>(centre + reach + 0.5),
                          static_cast<std::int64_t>(old));
        window = std::max(window, end[i] - first[i]);
    }
    Coefficients found{static_cast<std::size_t>(window), {}, {}};
    for (std::size_t i = 0; i < size; i++) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        double total = 0.0;
        for (std::int64_t step = 0; step < window; step++) {
            const double distance =
                std::abs((static_cast<double>(first[i] + step) - centre + 0.5) * (1.0 / reach));
            const double weight = step < end[i] - first[i] ? std::max(1.0 - distance, 0.0) : 0.0;
            total = total + weight;
            found.weights.push_back(weight);
        }
        found.first.push_back(static_cast<std::size_t>(first[i]));
        for (std::size_t step = 0; step < found.window; step++) {
            found.weights[i * found.window + step] /= total;
        }
    }
    return found;
}

std::uint8_t blended(const std::uint8_t *line, std::size_t stride, std::size_t length,
                     const double *weights, std::size_t first, std::size_t window) {
    std::int64_t total = std::int64_t{1} << (FRACTION_BITS - 1);
    for (std::size_t step = 0; step < window; step++) {
        const double fixed = std::floor(weights[step] * (1 << FRACTION_BITS) + 0.5);
        const std::size_t at = std::min(first + step, length - 1);
        total += static_cast<std::int64_t>(fixed) * line[at * stride];
    }
    // The weights of a pixel sum to one within their rounding: 255 may be passed by a fraction.
    return static_cast<std::uint8_t>(std::min<std::int64_t>(total >> FRACTION_BITS, 255));
}

float blended(const float *line, std::size_t stride, std::size_t length, const double *weights,
              std::size_t first, std::size_t window) {
    double total = 0.0;
    for (std::size_t step = 0; step < window; step++) {
        const std::size_t at = std::min(first + step, length - 1);
        total = total + static_cast<double>(line[at * stride]) * weights[step];
    }
    return static_cast<float>(total);
}

// One pass along an axis. A line is every `inner`-th element, `outer` times `inner` lines in all.
template <typename T>
std::vector<T> pass(const std::vector<T> &pixels, const Shape &shape, std::size_t axis,
                    std::size_t size) {
    const Coefficients c = coefficients(shape[axis], size);
    const std::size_t old = shape[axis];
    std::size_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < shape.size(); i++) {
        (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
    }
    std::vector<T> result(outer * size * inner);
    for (std::size_t o = 0; o < outer; o++) {
        for (std::size_t i = 0; i < size; i++) {
            for (std::size_t k = 0; k < inner; k++) {
                result[(o * size + i) * inner + k] =
                    blended(pixels.data() + o * old * inner + k, inner, old,
                            c.weights.data() + i * c.window, c.first[i], c.window);
            }
        }
    }
    return result;
}

} // namespace

Image resize_bilinear(Image picture, std::size_t width, std::size_t height) {
    const auto removed = [](std::size_t old, std::size_t now) {
        return static_cast<std::int64_t>(old) - static_cast<std::int64_t>(now);
    };
    const std::int64_t rows = removed(picture.shape[0], height);
    const bool vertical_first = rows > 0 && rows > 2 * removed(picture.shape[1], width);
    for (const std::size_t axis :
         {std::size_t{vertical_first ? 0U : 1U}, std::size_t{vertical_first ? 1U : 0U}}) {
        const std::size_t size = axis == 0 ? height : width;
        if (picture.shape[axis] == size) {
            continue;
        }
        std::visit([&](auto &pixels) { pixels = pass(pixels, picture.shape, axis, size); },
                   picture.pixels);
        picture.shape[axis] = size;
    }
    return picture;
}

} // namespace pipeline
