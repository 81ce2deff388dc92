// What the pipeline needs of TensorFlow Lite's C API, declared here: wheels that bring the library
// bring no headers. With headers at hand, include <tensorflow/lite/c/c_api.h> and link instead.
#ifndef PIPELINE_TFLITE_C_HPP
#define PIPELINE_TFLITE_C_HPP

#include "library.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace pipeline::tflite {

struct Model;
struct Options;
struct Interpreter;
struct Tensor;

using Status = int; // 0: ok
using Reporter = void (*)(void *user_data, const char *format, std::va_list arguments);

// TfLiteType
enum Type { FLOAT32 = 1, INT32 = 2, UINT8 = 3, INT64 = 4, INT16 = 7, INT8 = 9, FLOAT64 = 11 };

struct Api {
    explicit Api(const Library &library) {
        library.find(version, "TfLiteVersion");
        library.find(model_create, "TfLiteModelCreateWithErrorReporter");
        library.find(model_delete, "TfLiteModelDelete");
        library.find(options_create, "TfLiteInterpreterOptionsCreate");
        library.find(options_delete, "TfLiteInterpreterOptionsDelete");
        library.find(options_set_threads, "TfLiteInterpreterOptionsSetNumThreads");
        library.find(options_set_reporter, "TfLiteInterpreterOptionsSetErrorReporter");
        library.find(interpreter_create, "TfLiteInterpreterCreate");
        library.find(interpreter_delete, "TfLiteInterpreterDelete");
        library.find(allocate, "TfLiteInterpreterAllocateTensors");
        library.find(reset_variables, "TfLiteInterpreterResetVariableTensors");
        library.find(invoke, "TfLiteInterpreterInvoke");
        library.find(input_count, "TfLiteInterpreterGetInputTensorCount");
        library.find(input, "TfLiteInterpreterGetInputTensor");
        library.find(output_count, "TfLiteInterpreterGetOutputTensorCount");
        library.find(output, "TfLiteInterpreterGetOutputTensor");
        library.find(type, "TfLiteTensorType");
        library.find(byte_size, "TfLiteTensorByteSize");
        library.find(data, "TfLiteTensorData");
        library.find(name, "TfLiteTensorName");
        library.find(copy_from, "TfLiteTensorCopyFromBuffer");
    }

    const char *(*version)();
    Model *(*model_create)(const void *data, std::size_t size, Reporter reporter, void *user_data);
    void (*model_delete)(Model *);
    Options *(*options_create)();
    void (*options_delete)(Options *);
    void (*options_set_threads)(Options *, std::int32_t threads);
    void (*options_set_reporter)(Options *, Reporter reporter, void *user_data);
    Interpreter *(*interpreter_create)(const Model *, const Options *);
    void (*interpreter_delete)(Interpreter *);
    Status (*allocate)(Interpreter *);
    Status (*reset_variables)(Interpreter *);
    Status (*invoke)(Interpreter *);
    std::int32_t (*input_count)(const Interpreter *);
    Tensor *(*input)(const Interpreter *, std::int32_t index);
    std::int32_t (*output_count)(const Interpreter *);
    const Tensor *(*output)(const Interpreter *, std::int32_t index);
    int (*type)(const Tensor *);
    std::size_t (*byte_size)(const Tensor *);
    void *(*data)(const Tensor *);
    const char *(*name)(const Tensor *);
    Status (*copy_from)(Tensor *, const void *data, std::size_t size);
};

} // namespace pipeline::tflite

#endif // PIPELINE_TFLITE_C_HPP
