/* The runtime without a symbol of its own: one file that includes the amalgamation. */
#define EM_API static
#include "edgemon.c"

#include <stdio.h>

int main(int argc, char **argv) {
    static uint64_t artifact[4096], workspace[64];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        return 2;
    }
    const size_t size = fread(artifact, 1, sizeof artifact, file);
    fclose(file);
    em_monitor m;
    return em_open(&m, artifact, size) == EM_OK &&
                   em_self_test(&m, workspace, sizeof workspace) == EM_OK
               ? 0
               : 1;
}
