/*
 * libFuzzer: no valid program on any input may lead the runtime to undefined behaviour, to a result
 * that is no number, or to a verdict without one. The bytes choose a program of any ops on any data
 * types; its taps hold what an adversary would put there, also after em_evaluate has checked them.
 */
#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static program p;
    choices c = {data, size};
    run_hostile(&p, &c);
    return 0;
}
