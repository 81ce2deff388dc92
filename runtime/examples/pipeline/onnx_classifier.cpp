#include "classifier.hpp"

#include "library.hpp"
#include "onnxruntime_c.hpp"
#include "refused.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace pipeline {
namespace {

struct NumberType {
    int type;
    const char *name;
    em_dtype dtype;
    std::size_t bytes;
};

constexpr std::array<NumberType, 8> TYPES{{
    {ort::INT8, "int8", EM_I8, 1},
    {ort::UINT8, "uint8", EM_U8, 1},
    {ort::INT16, "int16", EM_I16, 2},
    {ort::INT32, "int32", EM_I32, 4},
    {ort::INT64, "int64", EM_I64, 8},
    {ort::UINT32, "uint32", EM_U32, 4},
    {ort::FLOAT32, "float32", EM_F32, 4},
    {ort::FLOAT64, "float64", em_dtype{}, 8},
}};

const NumberType *number_type(int type) {
    const auto found = std::find_if(TYPES.begin(), TYPES.end(),
                                    [&](const NumberType &known) { return known.type == type; });
    return found == TYPES.end() ? nullptr : &*found;
}

ort::Api api_of(const Library &library, const std::string &path) {
    const ort::ApiBase *(*base)() = nullptr;
    library.find(base, "OrtGetApiBase");
    const ort::Entry *table = base()->get_api(1);
    if (table == nullptr) {
        throw Refused(Exit::interpreter, path + ": no longer offers version 1 of its C API");
    }
    return ort::Api(table);
}

// Inputs and outputs have memory of their own, which every inference reuses.
class OnnxClassifier final : public Classifier {
  public:
    OnnxClassifier(const std::filesystem::path &path, const std::vector<std::uint8_t> &content,
                   const std::string &library, int threads)
        : library_(library, "EDGEMON_ONNXRUNTIME_LIB"), api_(api_of(library_, library)),
          path_(path.string()) {
        const ort::ApiBase *(*base)() = nullptr;
        library_.find(base, "OrtGetApiBase");
        version_ = base()->version();
        require(api_.create_env(ort::LOG_FATAL, "edgemon", &env_));
        ort::SessionOptions *options = nullptr;
        require(api_.create_options(&options));
        require(api_.set_log_level(options, ort::LOG_FATAL));
        require(api_.set_intra_threads(options, threads));
        require(api_.set_inter_threads(options, 1));
        ort::Status *status =
            api_.create_session(env_, content.data(), content.size(), options, &session_);
        api_.release_options(options);
        require(status);
        open_input();
        open_outputs();
    }
    ~OnnxClassifier() override {
        for (ort::Value *value : outputs_) {
            api_.release_value(value);
        }
        api_.release_value(input_);
        api_.release_session(session_);
        api_.release_env(env_);
    }

    std::string backend() const override { return "ONNX Runtime " + version_; }
    std::size_t input_bytes() const override { return buffer_.size(); }
    std::string input_dtype() const override { return input_type_->name; }
    std::size_t output_count() const override { return outputs_.size(); }
    Output output(std::size_t position) const override { return found_[position]; }
    std::string caution(const std::string &) const override { return ""; }

    void invoke(const std::vector<std::uint8_t> &input) override {
        std::memcpy(buffer_.data(), input.data(), std::min(buffer_.size(), input.size()));
        const std::string reason = text_of(run());
        if (!reason.empty()) {
            throw InferenceFailed("the model fails to run: " + reason);
        }
    }

  private:
    // The message of a status, which is released; "" for success.
    std::string text_of(ort::Status *status) const {
        if (status == nullptr) {
            return "";
        }
        std::string text = api_.error_message(status);
        api_.release_status(status);
        return text.empty() ? "no reason given" : text.substr(0, text.find('\n')).substr(0, 200);
    }
    void require(ort::Status *status) const {
        const std::string reason = text_of(status);
        if (!reason.empty()) {
            throw Refused(Exit::model, path_ + ": ONNX Runtime refuses it: " + reason);
        }
    }
    ort::Status *run() {
        const char *input_name = input_name_.c_str();
        std::vector<const char *> names(names_.size());
        std::transform(names_.begin(), names_.end(), names.begin(),
                       [](const std::string &name) { return name.c_str(); });
        return api_.run(session_, nullptr, &input_name, &input_, 1, names.data(), names.size(),
                        outputs_.data());
    }
    std::string taken(char *name, ort::Allocator *allocator) const {
        std::string text = name;
        require(api_.free_memory(allocator, name));
        return text;
    }

    void open_input() {
        std::size_t count = 0, axes = 0;
        require(api_.input_count(session_, &count));
        if (count != 1) {
            throw Refused(Exit::model,
                          path_ + ": the model has " + std::to_string(count) + " inputs, not one");
        }
        ort::Allocator *allocator = nullptr;
        char *name = nullptr;
        require(api_.default_allocator(&allocator));
        require(api_.input_name(session_, 0, allocator, &name));
        input_name_ = taken(name, allocator);
        ort::TypeInfo *info = nullptr;
        const ort::TensorInfo *tensor = nullptr;
        int type = 0;
        require(api_.input_type(session_, 0, &info));
        require(api_.cast_to_tensor(info, &tensor));
        if (tensor != nullptr) {
            require(api_.element_type(tensor, &type));
            require(api_.dimension_count(tensor, &axes));
        }
        std::vector<std::int64_t> shape(axes);
        if (tensor != nullptr) {
            require(api_.dimensions(tensor, shape.data(), axes));
        }
        api_.release_type_info(info);
        input_type_ = number_type(type);
        if (!shape.empty() && shape[0] < 1) {
            shape[0] = 1; // a batch axis of open length
        }
        if (input_type_ == nullptr ||
            std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 1; })) {
            throw Refused(Exit::model, path_ + ": its input is no tensor of a fixed size");
        }
        const auto elements =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
        buffer_.resize(static_cast<std::size_t>(elements) * input_type_->bytes);
        ort::MemoryInfo *memory = nullptr;
        require(api_.create_cpu_memory(ort::ARENA, ort::DEFAULT_MEMORY, &memory));
        ort::Status *status = api_.create_tensor(memory, buffer_.data(), buffer_.size(),
                                                 shape.data(), axes, type, &input_);
        api_.release_memory_info(memory);
        require(status);
    }

    // One run on zeros makes the outputs, whose shapes the file may leave open.
    void open_outputs() {
        std::size_t count = 0;
        require(api_.output_count(session_, &count));
        ort::Allocator *allocator = nullptr;
        require(api_.default_allocator(&allocator));
        for (std::size_t i = 0; i < count; i++) {
            char *name = nullptr;
            require(api_.output_name(session_, i, allocator, &name));
            names_.push_back(taken(name, allocator));
        }
        outputs_.assign(count, nullptr);
        require(run());
        for (std::size_t i = 0; i < count; i++) {
            int tensor = 0, type = 0;
            require(api_.is_tensor(outputs_[i], &tensor));
            if (tensor == 0) {
                throw Refused(Exit::model, path_ + ": the output '" + names_[i] + "' is no tensor");
            }
            ort::TensorInfo *info = nullptr;
            std::size_t length = 0;
            void *data = nullptr;
            require(api_.type_and_shape(outputs_[i], &info));
            require(api_.element_type(info, &type));
            require(api_.element_count(info, &length));
            api_.release_tensor_info(info);
            require(api_.tensor_data(outputs_[i], &data));
            const NumberType *known = number_type(type);
            found_.push_back({names_[i], known == nullptr ? em_dtype{} : known->dtype,
                              static_cast<std::uint32_t>(length), data});
        }
    }

    Library library_;
    ort::Api api_;
    std::string path_, version_, input_name_;
    ort::Env *env_ = nullptr;
    ort::Session *session_ = nullptr;
    ort::Value *input_ = nullptr;
    const NumberType *input_type_ = nullptr;
    std::vector<std::uint8_t> buffer_; // the input's memory
    std::vector<std::string> names_;
    std::vector<ort::Value *> outputs_;
    std::vector<Output> found_;
};

} // namespace

std::unique_ptr<Classifier> open_onnx(const std::filesystem::path &path,
                                      const std::vector<std::uint8_t> &content,
                                      const std::string &library, int threads) {
    return std::make_unique<OnnxClassifier>(path, content, library, threads);
}

} // namespace pipeline
