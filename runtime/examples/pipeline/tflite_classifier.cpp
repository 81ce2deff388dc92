#include "classifier.hpp"

#include "refused.hpp"
#include "tflite_c.hpp"

#include <array>
#include <cstdio>

namespace pipeline {
namespace {

struct NumberType {
    int type;
    const char *name;
    em_dtype dtype;
    std::size_t bytes;
};

constexpr std::array<NumberType, 7> TYPES{{
    {tflite::INT8, "int8", EM_I8, 1},
    {tflite::UINT8, "uint8", EM_U8, 1},
    {tflite::INT16, "int16", EM_I16, 2},
    {tflite::INT32, "int32", EM_I32, 4},
    {tflite::INT64, "int64", EM_I64, 8},
    {tflite::FLOAT32, "float32", EM_F32, 4},
    {tflite::FLOAT64, "float64", em_dtype{}, 8},
}};

const NumberType *number_type(int type) {
    for (const NumberType &known : TYPES) {
        if (known.type == type) {
            return &known;
        }
    }
    return nullptr;
}

// The interpreter's first message since the last call that succeeded.
class Messages {
  public:
    static void report(void *self, const char *format, std::va_list arguments) {
        std::string &first = static_cast<Messages *>(self)->first_;
        if (first.empty()) {
            std::array<char, 200> text{};
            std::vsnprintf(text.data(), text.size(), format, arguments);
            first = text.data();
        }
    }
    std::string taken() {
        std::string text = first_.empty() ? "no reason given" : first_;
        first_.clear();
        return text.substr(0, text.find('\n'));
    }

  private:
    std::string first_;
};

class TfliteClassifier final : public Classifier {
  public:
    TfliteClassifier(const std::filesystem::path &path, const std::vector<std::uint8_t> &content,
                     const std::string &library, int threads)
        : library_(library, "EDGEMON_TFLITE_LIB"), api_(library_), path_(path) {
        model_ = api_.model_create(content.data(), content.size(), Messages::report, &messages_);
        require(model_ != nullptr);
        tflite::Options *options = api_.options_create();
        api_.options_set_threads(options, threads);
        api_.options_set_reporter(options, Messages::report, &messages_);
        interpreter_ = api_.interpreter_create(model_, options);
        api_.options_delete(options);
        require(interpreter_ != nullptr && api_.allocate(interpreter_) == 0);
        if (api_.input_count(interpreter_) != 1) {
            throw Refused(Exit::model, path.string() + ": the model has " +
                                           std::to_string(api_.input_count(interpreter_)) +
                                           " inputs, not one");
        }
        input_ = api_.input(interpreter_, 0);
    }
    ~TfliteClassifier() override {
        if (interpreter_ != nullptr) {
            api_.interpreter_delete(interpreter_);
        }
        if (model_ != nullptr) {
            api_.model_delete(model_);
        }
    }

    std::string backend() const override {
        return std::string("TensorFlow Lite ") + api_.version();
    }
    std::size_t input_bytes() const override { return api_.byte_size(input_); }
    std::string input_dtype() const override {
        const NumberType *type = number_type(api_.type(input_));
        return type == nullptr ? "of an unknown type" : type->name;
    }
    std::size_t output_count() const override {
        return static_cast<std::size_t>(api_.output_count(interpreter_));
    }
    Output output(std::size_t position) const override {
        const tflite::Tensor *tensor =
            api_.output(interpreter_, static_cast<std::int32_t>(position));
        const NumberType *type = number_type(api_.type(tensor));
        const std::size_t bytes = type == nullptr ? 1 : type->bytes;
        return {api_.name(tensor), type == nullptr ? em_dtype{} : type->dtype,
                static_cast<std::uint32_t>(api_.byte_size(tensor) / bytes), api_.data(tensor)};
    }
    // By itself the C library runs floats on XNNPACK, and integers on its own kernels.
    std::string caution(const std::string &kernels) const override {
        const std::string taken = input_dtype().compare(0, 5, "float") == 0 ? "xnnpack" : "builtin";
        return kernels == taken ? ""
                                : "the bundle was calibrated on " + kernels +
                                      " kernels, and this library takes " + taken +
                                      " ones for such a model: a few verdicts may differ; compile "
                                      "with --certify-kernels " +
                                      kernels + "," + taken;
    }
    void invoke(const std::vector<std::uint8_t> &input) override {
        if (api_.reset_variables(interpreter_) != 0 ||
            api_.copy_from(input_, input.data(), input.size()) != 0 ||
            api_.invoke(interpreter_) != 0) {
            throw InferenceFailed("the model fails to run: " + messages_.taken());
        }
    }

  private:
    void require(bool done) {
        if (!done) {
            throw Refused(Exit::model,
                          path_.string() + ": the interpreter refuses it: " + messages_.taken());
        }
    }

    Library library_;
    tflite::Api api_;
    std::filesystem::path path_;
    Messages messages_;
    tflite::Model *model_ = nullptr;
    tflite::Interpreter *interpreter_ = nullptr;
    tflite::Tensor *input_ = nullptr;
};

} // namespace

std::unique_ptr<Classifier> open_tflite(const std::filesystem::path &path,
                                        const std::vector<std::uint8_t> &content,
                                        const std::string &library, int threads) {
    return std::make_unique<TfliteClassifier>(path, content, library, threads);
}

} // namespace pipeline
