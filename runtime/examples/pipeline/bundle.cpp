#include "bundle.hpp"

#include "refused.hpp"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

namespace pipeline {
namespace {

constexpr std::uintmax_t MOST_ARTIFACT = std::uintmax_t{1} << 28;         // the format's own limit
constexpr em_limits LIMITS{std::uint64_t{1} << 26, std::size_t{1} << 24}; // as a session's
constexpr std::uintmax_t MOST_MANIFEST = std::uintmax_t{1} << 26;
constexpr std::uintmax_t MOST_MODEL = std::uintmax_t{1} << 31;
constexpr std::array MODELS = {"model.tapped.tflite", "model.tapped.onnx"};

// Of the manifest's object `sha256`; "" if it is not there.
std::string stated_hash(const nlohmann::json &manifest, const std::string &name) {
    const auto hashes = manifest.find("sha256");
    if (hashes == manifest.end() || !hashes->is_object() || !hashes->contains(name)) {
        return "";
    }
    const nlohmann::json &hash = (*hashes)[name];
    return hash.is_string() ? hash.get<std::string>() : "";
}

nlohmann::json read_manifest(const std::filesystem::path &path) {
    const std::vector<std::uint8_t> text = read_file(path, MOST_MANIFEST);
    nlohmann::json found = nlohmann::json::parse(text, nullptr, false);
    if (!found.is_object()) {
        throw Refused(Exit::bundle, path.string() + ": no JSON object; compile the bundle again");
    }
    return found;
}

} // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path &path, std::uintmax_t most) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        throw Refused(Exit::bundle,
                      path.string() + ": missing; give the folder that `edgemon compile` wrote");
    }
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error || size > most) {
        throw Refused(Exit::bundle, path.string() + ": larger than such a file may be");
    }
    std::vector<std::uint8_t> content(static_cast<std::size_t>(size));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char *>(content.data()), static_cast<std::streamsize>(size));
    if (!file || static_cast<std::uintmax_t>(file.gcount()) != size) {
        throw Refused(Exit::bundle, path.string() + ": cannot be read");
    }
    return content;
}

Bundle::Bundle(const std::filesystem::path &folder) : folder_(folder) {
    const nlohmann::json manifest = read_manifest(folder / "manifest.json");
    open_artifact(manifest);
    open_model(manifest);
    std::vector<std::uint64_t> workspace(monitor_.workspace_size() / 8 + 1);
    const em_status tested = monitor_.self_test(workspace.data(), monitor_.workspace_size());
    if (tested != EM_OK) {
        throw Refused(Exit::bundle,
                      (folder / "monitor.emon").string() + ": " + em_status_text(tested));
    }
    metadata_ = Metadata::of(monitor_);
}

void Bundle::open_artifact(const nlohmann::json &manifest) {
    const std::filesystem::path path = folder_ / "monitor.emon";
    artifact_ = read_file(path, MOST_ARTIFACT);
    const em_status status = monitor_.open(artifact_.data(), artifact_.size(), LIMITS);
    if (status != EM_OK) {
        const char *missing = em_missing_op(artifact_.data(), artifact_.size());
        throw Refused(Exit::bundle, path.string() + ": " + em_status_text(status) +
                                        (missing == nullptr ? "" : std::string(": ") + missing));
    }
    if (to_hex(sha256(artifact_.data(), artifact_.size())) !=
        stated_hash(manifest, "monitor.emon")) {
        throw Refused(Exit::bundle, path.string() + ": not the file that compile wrote (its "
                                                    "SHA-256 differs); compile the bundle again");
    }
}

void Bundle::open_model(const nlohmann::json &manifest) {
    std::string stated;
    for (const char *name : MODELS) {
        const std::string hash = stated_hash(manifest, name);
        if (!hash.empty()) {
            model_path_ = folder_ / name;
            stated = hash;
        }
    }
    if (stated.empty()) {
        throw Refused(Exit::bundle, (folder_ / "manifest.json").string() +
                                        ": names no tapped model; compile the bundle again");
    }
    try {
        model_ = read_file(model_path_, MOST_MODEL);
    } catch (const Refused &error) {
        throw Refused(Exit::model, error.what());
    }
    model_sha256_ = sha256(model_.data(), model_.size());
    if (to_hex(model_sha256_) != stated) {
        throw Refused(Exit::model, model_path_.string() +
                                       ": not the file that compile wrote (its SHA-256 differs); "
                                       "copy it again from its bundle");
    }
    if (monitor_.bind_model(model_sha256_) != EM_OK) {
        throw Refused(Exit::model, model_path_.string() + ": " + em_status_text(EM_E_MODEL));
    }
}

} // namespace pipeline
