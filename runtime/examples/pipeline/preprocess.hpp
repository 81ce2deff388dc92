// From an image to the model's input tensor, exactly as the bundle says: the twin of
// runtime/preprocess.py, bit for bit. Compile with -ffp-contract=off.
#ifndef PIPELINE_PREPROCESS_HPP
#define PIPELINE_PREPROCESS_HPP

#include "image.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>

namespace pipeline {

// Steps in this order: resize, channels, v * scale + offset, (v - mean) / std, in float32.
struct Preprocess {
    double scale = 1.0;
    double offset = 0.0;
    std::vector<double> mean, deviation;                       // none, one, or one a channel
    std::optional<std::pair<std::size_t, std::size_t>> resize; // width, height
    std::string channels = "asis";                             // "asis", "rgb", "bgr" or "gray"
    std::string layout = "auto";                               // "auto", "nhwc" or "nchw"

    // Throws Refused.
    static Preprocess of(const nlohmann::json &found);
};

// The model's input; `shape` without the batch axis, real = scale * (code - zero_point).
struct InputSpec {
    std::string name;
    Shape shape;
    std::string dtype;  // as NumPy names it
    double scale = 0.0; // 0: not quantised
    std::int64_t zero_point = 0;
    std::string layout = "nhwc";

    static InputSpec of(const nlohmann::json &found);
    std::size_t elements() const noexcept { return elements_of(shape); }
    std::size_t element_bytes() const noexcept;
};

// The frame has a NaN or an infinity: the verdict is a fault.
class NotFinite : public std::exception {
  public:
    const char *what() const noexcept override { return "an image has a NaN or an infinity"; }
};

// The input tensor's bytes, of one image. Throws BadFrame on a wrong shape, and NotFinite.
std::vector<std::uint8_t> to_input(Image image, const Preprocess &preprocess,
                                   const InputSpec &spec);

// "nhwc" or "nchw": what is declared, else what the model says.
const std::string &layout_of(const Preprocess &preprocess, const InputSpec &spec);

} // namespace pipeline

#endif // PIPELINE_PREPROCESS_HPP
