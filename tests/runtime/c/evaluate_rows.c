/*
 * Test only: evaluate_rows ARTIFACT TAPS evaluates rows of taps as if each had changed to what it
 * is after em_evaluate's check. TAPS holds rows, each tap behind the other, without padding. Writes
 * of each row the reason (i32), the predicted class (i32) and the workspace, with every result.
 */
#include "em_ops.h"

#include <stdio.h>
#include <stdlib.h>

/* A block of exactly the file's size, so that a sanitizer sees every byte beyond. */
static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        exit(2);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *content = malloc(*size);
    if (content == NULL || fread(content, 1, *size, file) != *size) {
        exit(2);
    }
    fclose(file);
    return content;
}

/* Takes the next row of each tap into a block of its own. Returns what is left of the rows. */
static const uint8_t *next_row(const em_monitor *m, em_tap *taps, const uint8_t *rows) {
    for (size_t i = 0; i < em_tap_count(m); i++) {
        em_tap_info info;
        em_describe_tap(m, i, &info);
        const size_t size = (size_t)info.length * em_size_of(info.dtype);
        void *own = malloc(size);
        if (own == NULL) {
            exit(2);
        }
        memcpy(own, rows, size);
        taps[i] = (em_tap){own, info.dtype, info.length};
        rows += size;
    }
    return rows;
}

int main(int argc, char **argv) {
    size_t size, rows_size;
    em_monitor m;
    if (argc != 3) {
        return 2;
    }
    uint8_t *file = read_file(argv[1], &size), *rows = read_file(argv[2], &rows_size);
    if (em_open(&m, file, size) != EM_OK) {
        return 1;
    }
    uint8_t *workspace = malloc(em_workspace_size(&m));
    for (const uint8_t *at = rows; at < rows + rows_size;) {
        em_tap taps[EM_MAX_TAPS];
        em_result result;
        at = next_row(&m, taps, at);
        memset(workspace, 0, em_workspace_size(&m)); /* what lies between results */
        em_evaluate_checked(&m, taps, workspace, &result);
        const int32_t head[] = {result.reason, result.predicted_class};
        fwrite(head, sizeof head, 1, stdout);
        fwrite(workspace, 1, em_workspace_size(&m), stdout);
        for (size_t i = 0; i < em_tap_count(&m); i++) {
            free((void *)(uintptr_t)taps[i].data);
        }
    }
    free(workspace);
    free(rows);
    free(file);
    return 0;
}
