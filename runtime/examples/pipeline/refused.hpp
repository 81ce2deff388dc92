// What ends the pipeline before or after its frames, each with an exit code of its own.
#ifndef PIPELINE_REFUSED_HPP
#define PIPELINE_REFUSED_HPP

#include <stdexcept>
#include <string>

namespace pipeline {

enum class Exit {
    done = 0,
    other = 1,
    usage = 2,
    bundle = 3,         // manifest, artifact or metadata: missing, corrupt, or contradicting itself
    model = 4,          // not the file that the monitor was compiled for, or it does not run
    interpreter = 5,    // the shared library is missing, or lacks a function
    no_frames = 6,      // the folder has no frame
    memory_changed = 7, // the artifact's checksum no longer holds: handed over for good
};

// One sentence: what, where, and what to do.
class Refused : public std::runtime_error {
  public:
    Refused(Exit code, const std::string &sentence) : std::runtime_error(sentence), code_(code) {}
    Exit code() const noexcept { return code_; }

  private:
    Exit code_;
};

// A frame that cannot be used: an answer without a verdict, and no reason to stop.
class BadFrame : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace pipeline

#endif // PIPELINE_REFUSED_HPP
