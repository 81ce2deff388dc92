// A bundle, as `edgemon compile` writes it: the monitor, the model it was compiled for, and what
// the artifact's metadata says about both.
#ifndef PIPELINE_BUNDLE_HPP
#define PIPELINE_BUNDLE_HPP

#include "explanation.hpp"
#include "preprocess.hpp"
#include "sha256.hpp"

#include <edgemon/edgemon.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace pipeline {

constexpr int INPUT = -1; // in place of an output's position: the input tensor itself

// The artifact's metadata (FORMAT.md, section 14), held to what the artifact itself says.
struct Metadata {
    Preprocess preprocess;
    InputSpec input;
    std::vector<std::string> labels;              // of each class
    std::map<std::string, std::string> rules;     // what a monitor says when it alarms
    std::map<std::string, Explanation> explained; // the monitors that are fusions
    std::vector<int> outputs;                     // of each tap its position among the outputs
    std::string kernels;                          // that the bundle was calibrated on

    static Metadata of(const edgemon::Monitor &monitor);
};

class Bundle {
  public:
    // Reads the files, checks the model's hash against manifest and artifact, and runs the
    // self-test. Throws Refused.
    explicit Bundle(const std::filesystem::path &folder);
    Bundle(const Bundle &) = delete; // the monitor points into the artifact
    Bundle &operator=(const Bundle &) = delete;

    const edgemon::Monitor &monitor() const noexcept { return monitor_; }
    const Metadata &metadata() const noexcept { return metadata_; }
    const std::filesystem::path &model_path() const noexcept { return model_path_; }
    const std::vector<std::uint8_t> &model() const noexcept { return model_; }
    const Digest &model_sha256() const noexcept { return model_sha256_; }

  private:
    void open_artifact(const nlohmann::json &manifest);
    void open_model(const nlohmann::json &manifest);

    std::filesystem::path folder_;
    std::vector<std::uint8_t> artifact_; // from the heap, which aligns it
    edgemon::Monitor monitor_;
    std::filesystem::path model_path_;
    std::vector<std::uint8_t> model_; // what was hashed is what runs
    Digest model_sha256_{};
    Metadata metadata_;
};

// A regular file of at most so many bytes. Throws Refused.
std::vector<std::uint8_t> read_file(const std::filesystem::path &path, std::uintmax_t most);

} // namespace pipeline

#endif // PIPELINE_BUNDLE_HPP
