/* Test only: replay FILE ... runs a fuzz target on each file, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
    static uint8_t content[1 << 16];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 2;
        }
        const size_t size = fread(content, 1, sizeof content, file);
        fclose(file);
        LLVMFuzzerTestOneInput(content, size);
    }
    return 0;
}
