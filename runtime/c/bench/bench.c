/*
 * edgemon-bench: how long an evaluation takes on this device, and whether it gives the reference's
 * results. What it reads, `edgemon target taps` writes.
 *
 *   edgemon-bench monitor.emon [FURTHER.emon ...] taps.bin [--rounds N] [--json]
 *
 * The first artifact is called "all", further ones by their monitor: each holds one of its monitors
 * alone. A round takes all of them in turn, each with all rows, so that a while in which the device
 * is busy meets all of them. A sample is the mean of one evaluation over the rows of a round; where
 * the clock is coarse, over several passes. Exit codes:
 *
 *   0  measured                          4  results are not the reference's
 *   1  out of memory or output           5  an artifact is refused
 *   2  wrong arguments                   6  the file of taps is damaged
 *   3  a file cannot be read             7  the taps are not those that an artifact wants
 */
#define _POSIX_C_SOURCE 199309L

#include "measured.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One clear sentence, and the end. */
__attribute__((format(printf, 2, 3))) static _Noreturn void fail(int code, const char *format,
                                                                 ...) {
    va_list values;
    va_start(values, format);
    fputs("edgemon-bench: ", stderr);
    vfprintf(stderr, format, values);
    fputs("\n", stderr);
    va_end(values);
    exit(code);
}

void *need_memory(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) {
        fail(1, "out of memory: %lu bytes are not free", (unsigned long)size);
    }
    return memory;
}

/* The whole file, in memory that is aligned for it. */
static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long end = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        end = ftell(file);
    }
    if (file == NULL || end < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fail(3, "%s: cannot be read", path);
    }
    uint8_t *bytes = need_memory((size_t)end);
    *size = fread(bytes, 1, (size_t)end, file);
    if (*size != (size_t)end) {
        fail(3, "%s: cannot be read to its end", path);
    }
    fclose(file);
    return bytes;
}

static void open_artifact(measured *a, const char *path) {
    a->path = path;
    const uint8_t *bytes = read_file(path, &a->artifact_bytes);
    const double start = clock_now();
    const em_status status = em_open(&a->monitor, bytes, a->artifact_bytes);
    a->open_ns = clock_now() - start;
    if (status != EM_OK) {
        const char *op = em_missing_op(bytes, a->artifact_bytes);
        fail(5, "%s: %s%s%s", path, em_status_text(status), op == NULL ? "" : ": ",
             op == NULL ? "" : op);
    }
    a->artifact_crc = crc32_of(0, bytes, a->artifact_bytes);
    a->workspace_bytes = em_workspace_size(&a->monitor);
    a->workspace = need_memory(a->workspace_bytes);
}

/* Where the taps of the first row lie; they must be as em_describe_tap says. */
static void wire(measured *a, const taps_file *file) {
    for (size_t i = 0; i < em_tap_count(&a->monitor); i++) {
        em_tap_info wanted;
        em_describe_tap(&a->monitor, i, &wanted);
        const recorded_tap *found = taps_find(file, &wanted);
        if (found == NULL) {
            fail(7, "%s: its tap %lu, %s, was not recorded; write the taps of this bundle again",
                 a->path, (unsigned long)i, wanted.name);
        }
        if (found->dtype != wanted.dtype || found->length != wanted.length) {
            fail(7, "%s: its tap %lu, %s, was recorded as %lu %s, and it wants %lu %s", a->path,
                 (unsigned long)i, wanted.name, (unsigned long)found->length,
                 dtype_name(found->dtype), (unsigned long)wanted.length, dtype_name(wanted.dtype));
        }
        a->taps[i] = (em_tap){file->first_row + found->offset, wanted.dtype, wanted.length};
    }
    em_monitor_info only;
    em_describe_monitor(&a->monitor, 0, &only);
    a->name = em_monitor_count(&a->monitor) == 1 ? only.name : a->path;
}

/* The first evaluation, the self-test, and the results of all rows. */
static void try_out(measured *a, const taps_file *file) {
    em_result result;
    double start = clock_now();
    evaluate_row(a, file, 0, &result);
    a->first_ns = clock_now() - start;
    start = clock_now();
    const em_status status = em_self_test(&a->monitor, a->workspace, a->workspace_bytes);
    a->self_test_ns = clock_now() - start;
    if (status != EM_OK) {
        fail(5, "%s: %s", a->path, em_status_text(status));
    }
    for (uint32_t row = 0; row < file->rows; row++) {
        a->faults += evaluate_row(a, file, row, &result) != EM_OK;
        a->results_crc = results_crc(a->results_crc, &a->monitor, &result);
    }
    a->stated = taps_expected(file, a->artifact_crc, &a->expected_crc);
}

/* 1 to 1,000,000; 0 if it is none. */
static long rounds_of(const char *text) {
    char *end;
    const long rounds = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && rounds > 0 && rounds <= 1000000 ? rounds : 0;
}

int main(int argc, char **argv) {
    static const char USAGE[] =
        "usage: edgemon-bench monitor.emon [FURTHER.emon ...] taps.bin [--rounds N] [--json]";
    long rounds = 200;
    int as_json = 0, files = 0;
    const char **paths = need_memory(sizeof *paths * (size_t)(argc + 1));
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            as_json = 1;
        } else if (strcmp(argv[i], "--help") == 0) {
            puts(USAGE);
            return 0;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            rounds = i + 1 < argc ? rounds_of(argv[++i]) : 0;
            if (rounds == 0) {
                fail(2, "--rounds: give a number from 1 to 1000000");
            }
        } else if (strncmp(argv[i], "--", 2) == 0) {
            fail(2, "%s: unknown; %s", argv[i], USAGE);
        } else {
            paths[files++] = argv[i];
        }
    }
    if (files < 2) {
        fail(2, "%s", USAGE);
    }
    taps_file file;
    size_t size;
    const char *taps_path = paths[--files];
    const uint8_t *bytes = read_file(taps_path, &size);
    const char *wrong = taps_open(&file, bytes, size);
    if (wrong != NULL) {
        fail(6, "%s: %s", taps_path, wrong);
    }
    measured *all = need_memory(sizeof *all * (size_t)files);
    memset(all, 0, sizeof *all * (size_t)files);
    for (int i = 0; i < files; i++) {
        open_artifact(&all[i], paths[i]);
        wire(&all[i], &file);
        try_out(&all[i], &file);
    }
    all[0].name = "all";
    measure(all, (size_t)files, &file, (size_t)rounds);
    (as_json ? print_json : print_table)(all, (size_t)files, &file, (size_t)rounds);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fail(1, "the output cannot be written");
    }
    for (int i = 0; i < files; i++) {
        if (all[i].stated && all[i].results_crc != all[i].expected_crc) {
            fail(4,
                 "%s: this build gives other results than the reference (CRC-32 %08lx, not "
                 "%08lx): do not use it",
                 all[i].path, (unsigned long)all[i].results_crc,
                 (unsigned long)all[i].expected_crc);
        }
    }
    return 0;
}
