// What the pipeline needs of ONNX Runtime's C API, declared here: wheels that bring the library
// bring no headers. The API is a table of functions whose first version of 102 entries is frozen:
// later versions only add behind it, and the library itself is built to keep that (its sources
// assert that ReleaseCustomOpDomain is entry 101). So version 1 is asked for, and functions are
// taken by their place in it. With <onnxruntime_c_api.h> at hand, include that instead.
#ifndef PIPELINE_ONNXRUNTIME_C_HPP
#define PIPELINE_ONNXRUNTIME_C_HPP

#include <cstddef>
#include <cstdint>

namespace pipeline::ort {

struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct RunOptions;
struct Value;
struct MemoryInfo;
struct Allocator;
struct TypeInfo;
struct TensorInfo; // OrtTensorTypeAndShapeInfo

using Entry = void (*)();

struct ApiBase {
    const Entry *(*get_api)(std::uint32_t version);
    const char *(*version)();
};

// ONNXTensorElementDataType
enum Type {
    FLOAT32 = 1,
    UINT8 = 2,
    INT8 = 3,
    INT16 = 5,
    INT32 = 6,
    INT64 = 7,
    FLOAT64 = 11,
    UINT32 = 12
};
constexpr int LOG_FATAL = 4;
constexpr int ARENA = 1, DEFAULT_MEMORY = 0; // of OrtAllocatorType and OrtMemType

struct Api {
    explicit Api(const Entry *table) {
        take(error_message, table[2]);
        take(create_env, table[3]);
        take(create_session, table[8]);
        take(run, table[9]);
        take(create_options, table[10]);
        take(set_log_level, table[22]);
        take(set_intra_threads, table[24]);
        take(set_inter_threads, table[25]);
        take(input_count, table[30]);
        take(output_count, table[31]);
        take(input_type, table[33]);
        take(input_name, table[36]);
        take(output_name, table[37]);
        take(create_tensor, table[49]);
        take(is_tensor, table[50]);
        take(tensor_data, table[51]);
        take(cast_to_tensor, table[55]);
        take(element_type, table[60]);
        take(dimension_count, table[61]);
        take(dimensions, table[62]);
        take(element_count, table[64]);
        take(type_and_shape, table[65]);
        take(create_cpu_memory, table[69]);
        take(free_memory, table[76]);
        take(default_allocator, table[78]);
        take(release_env, table[92]);
        take(release_status, table[93]);
        take(release_memory_info, table[94]);
        take(release_session, table[95]);
        take(release_value, table[96]);
        take(release_type_info, table[98]);
        take(release_tensor_info, table[99]);
        take(release_options, table[100]);
    }

    const char *(*error_message)(const Status *);
    Status *(*create_env)(int log_level, const char *name, Env **out);
    Status *(*create_session)(const Env *, const void *model, std::size_t size,
                              const SessionOptions *, Session **out); // CreateSessionFromArray
    Status *(*run)(Session *, const RunOptions *, const char *const *input_names,
                   const Value *const *inputs, std::size_t n_inputs,
                   const char *const *output_names, std::size_t n_outputs, Value **outputs);
    Status *(*create_options)(SessionOptions **out);
    Status *(*set_log_level)(SessionOptions *, int level);
    Status *(*set_intra_threads)(SessionOptions *, int threads);
    Status *(*set_inter_threads)(SessionOptions *, int threads);
    Status *(*input_count)(const Session *, std::size_t *out);
    Status *(*output_count)(const Session *, std::size_t *out);
    Status *(*input_type)(const Session *, std::size_t index, TypeInfo **out);
    Status *(*input_name)(const Session *, std::size_t index, Allocator *, char **out);
    Status *(*output_name)(const Session *, std::size_t index, Allocator *, char **out);
    Status *(*create_tensor)(const MemoryInfo *, void *data, std::size_t bytes,
                             const std::int64_t *shape, std::size_t axes, int type, Value **out);
    Status *(*is_tensor)(const Value *, int *out);
    Status *(*tensor_data)(Value *, void **out);
    Status *(*cast_to_tensor)(const TypeInfo *, const TensorInfo **out);
    Status *(*element_type)(const TensorInfo *, int *out);
    Status *(*dimension_count)(const TensorInfo *, std::size_t *out);
    Status *(*dimensions)(const TensorInfo *, std::int64_t *out, std::size_t count);
    Status *(*element_count)(const TensorInfo *, std::size_t *out);
    Status *(*type_and_shape)(const Value *, TensorInfo **out);
    Status *(*create_cpu_memory)(int allocator_type, int memory_type, MemoryInfo **out);
    Status *(*free_memory)(Allocator *, void *memory);
    Status *(*default_allocator)(Allocator **out);
    void (*release_env)(Env *);
    void (*release_status)(Status *);
    void (*release_memory_info)(MemoryInfo *);
    void (*release_session)(Session *);
    void (*release_value)(Value *);
    void (*release_type_info)(TypeInfo *);
    void (*release_tensor_info)(TensorInfo *);
    void (*release_options)(SessionOptions *);

  private:
    template <typename Function> static void take(Function *&function, Entry entry) {
        function = reinterpret_cast<Function *>(entry);
    }
};

} // namespace pipeline::ort

#endif // PIPELINE_ONNXRUNTIME_C_HPP
