#include "classifier.hpp"

#include <cstring>

namespace pipeline {

std::unique_ptr<Classifier> open_classifier(const std::filesystem::path &path,
                                            const std::vector<std::uint8_t> &content,
                                            const Libraries &libraries, int threads) {
    // A TFLite file has its identifier at byte 4; ONNX has none.
    const bool tflite = content.size() >= 8 && std::memcmp(content.data() + 4, "TFL3", 4) == 0;
    return tflite ? open_tflite(path, content, libraries.tflite, threads)
                  : open_onnx(path, content, libraries.onnxruntime, threads);
}

} // namespace pipeline
