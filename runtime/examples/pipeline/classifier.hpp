// A model to run: what every interpreter gives.
#ifndef PIPELINE_CLASSIFIER_HPP
#define PIPELINE_CLASSIFIER_HPP

#include <edgemon/edgemon.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pipeline {

// An output in the interpreter's own memory, which the next inference overwrites. `dtype` 0: one
// that no tap can have.
struct Output {
    std::string name;
    em_dtype dtype;
    std::uint32_t length;
    const void *data;
};

class InferenceFailed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Classifier {
  public:
    Classifier() = default;
    Classifier(const Classifier &) = delete;
    Classifier &operator=(const Classifier &) = delete;
    virtual ~Classifier() = default;

    virtual std::string backend() const = 0;      // such as "TensorFlow Lite 2.17.1"
    virtual std::size_t input_bytes() const = 0;  // of the whole tensor
    virtual std::string input_dtype() const = 0;  // as NumPy names it
    virtual std::size_t output_count() const = 0; // all of them named
    virtual Output output(std::size_t position) const = 0;

    // Why a few verdicts may differ from those of the workstation, where the bundle was calibrated
    // on kernels that this library does not take; "" where it takes them.
    virtual std::string caution(const std::string &kernels) const = 0;

    // Runs the model on one input tensor; throws InferenceFailed. What an earlier call left in a
    // model with a state is cleared: one image, one answer.
    virtual void invoke(const std::vector<std::uint8_t> &input) = 0;
};

// The shared libraries: their paths, where they are not where the loader looks. They come from
// EDGEMON_TFLITE_LIB and EDGEMON_ONNXRUNTIME_LIB unless the command line names them.
struct Libraries {
    std::string tflite = "libtensorflowlite_c.so";
    std::string onnxruntime = "libonnxruntime.so";
};

// By the model's content; `path` is for messages. Throws Refused. The content must stay.
std::unique_ptr<Classifier> open_classifier(const std::filesystem::path &path,
                                            const std::vector<std::uint8_t> &content,
                                            const Libraries &libraries, int threads);

std::unique_ptr<Classifier> open_tflite(const std::filesystem::path &path,
                                        const std::vector<std::uint8_t> &content,
                                        const std::string &library, int threads);
std::unique_ptr<Classifier> open_onnx(const std::filesystem::path &path,
                                      const std::vector<std::uint8_t> &content,
                                      const std::string &library, int threads);

} // namespace pipeline

#endif // PIPELINE_CLASSIFIER_HPP
