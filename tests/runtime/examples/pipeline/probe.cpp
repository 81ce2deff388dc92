// Parts of the pipeline, one at a time, for tests that compare them with Python.
//
//   probe input    reads lines "DECLARATION.json IMAGE OUT": writes the input tensor to OUT, and
//                  with a fourth word "mirror" the mirrored one
//   probe sha256   reads lines of file names
//
// It answers each line with one of its own: "ok", the result, or why not.
#include "image.hpp"
#include "mirror.hpp"
#include "preprocess.hpp"
#include "refused.hpp"
#include "sha256.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

std::string content_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string input(std::istringstream &line) {
    using namespace pipeline;
    std::string declaration, image, out, view;
    line >> declaration >> image >> out >> view;
    const nlohmann::json found = nlohmann::json::parse(content_of(declaration));
    const Preprocess preprocess = Preprocess::of(found.at("preprocess"));
    const InputSpec spec = InputSpec::of(found.at("input"));
    std::vector<std::uint8_t> x = to_input(decode(content_of(image), "image"), preprocess, spec);
    if (view == "mirror") {
        x = mirrored(x, spec, lines_of(spec, preprocess));
    }
    std::ofstream(out, std::ios::binary)
        .write(reinterpret_cast<const char *>(x.data()), static_cast<std::streamsize>(x.size()));
    return "ok";
}

std::string hash(std::istringstream &line) {
    std::string path;
    line >> path;
    const std::string content = content_of(path);
    return pipeline::to_hex(pipeline::sha256(content.data(), content.size()));
}

} // namespace

int main(int argc, char **argv) {
    const std::string what = argc == 2 ? argv[1] : "";
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        try {
            std::cout << (what == "input" ? input(words) : hash(words)) << std::endl;
        } catch (const std::exception &error) {
            std::cout << error.what() << std::endl;
        }
    }
    return 0;
}
