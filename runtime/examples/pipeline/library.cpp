#include "library.hpp"

#include "refused.hpp"

#include <dlfcn.h>

namespace pipeline {

Library::Library(const std::string &path, const std::string &variable)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
        throw Refused(Exit::interpreter,
                      path + ": cannot be loaded; name the library in " + variable);
    }
}

// Never unloaded: threads that an interpreter left behind may still run in it.
Library::~Library() = default;

void *Library::address(const char *name) const {
    void *found = dlsym(handle_, name);
    if (found == nullptr) {
        throw Refused(Exit::interpreter, path_ + ": lacks the function " + name);
    }
    return found;
}

} // namespace pipeline
