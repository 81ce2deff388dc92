// A shared library and its functions, by name.
#ifndef PIPELINE_LIBRARY_HPP
#define PIPELINE_LIBRARY_HPP

#include <string>

namespace pipeline {

class Library {
  public:
    // `variable` is the environment variable that may name it, for the message. Throws Refused.
    Library(const std::string &path, const std::string &variable);
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;
    ~Library();

    // Throws Refused if the library lacks it.
    template <typename Function> void find(Function *&function, const char *name) const {
        function = reinterpret_cast<Function *>(address(name));
    }

  private:
    void *address(const char *name) const;

    std::string path_;
    void *handle_;
};

} // namespace pipeline

#endif // PIPELINE_LIBRARY_HPP
