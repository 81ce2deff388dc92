/*
 * Opens a .emon file, prints what it says about itself and runs its self-test.
 *
 *   evaluate monitor.emon        exit code 0: ready for use, 1: not
 *
 * On a device the artifact is an array in flash and the workspace a static array. Taps "of the
 * mirrored image" and "of the companion's image" come from further inferences of the model for each
 * image, which go first:
 *
 *   run the companion on the image, and the model on the companion's output;
 *   copy the tensors that those taps name, for the next inference overwrites them;
 *   run the model on the image with its width axis reversed; copy those tensors;
 *   run the model on the image; then, for taps "of the companion itself", that companion;
 *   em_evaluate with the copies and with the models' own tensors.
 */
#include <edgemon/edgemon.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const DTYPES[] = {"?", "i8", "u8", "i16", "i32", "i64", "f32", "u32"};

static const char *const VIEWS[] = {"", ", of the mirrored image", ", of the companion's image",
                                    ", of the companion itself"};

/* The whole file in memory from malloc, which is aligned for it; NULL if it cannot be read. */
static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    long end = -1;
    if (fseek(file, 0, SEEK_END) == 0) {
        end = ftell(file);
    }
    void *bytes = end > 0 ? malloc((size_t)end) : NULL;
    if (bytes != NULL) {
        rewind(file);
        *size = fread(bytes, 1, (size_t)end, file);
    }
    fclose(file);
    return bytes;
}

static void print_number(const char *label, em_dtype dtype, em_number n) {
    if (dtype == EM_F32) {
        printf("%s %.9g", label, (double)n.f);
    } else {
        printf("%s %lld", label, (long long)n.i);
    }
}

static void print_contents(const em_monitor *m) {
    for (size_t i = 0; i < em_tap_count(m); i++) {
        em_tap_info tap;
        em_describe_tap(m, i, &tap);
        printf("tap %zu: %s, %s[%u], scale %g, zero point %d%s\n", i, tap.name, DTYPES[tap.dtype],
               (unsigned)tap.length, tap.scale, (int)tap.zero_point, VIEWS[tap.view]);
    }
    for (size_t i = 0; i < em_companion_count(m); i++) {
        em_companion_info companion;
        em_describe_companion(m, i, &companion);
        printf("companion for the taps%s: %u bytes\n", VIEWS[companion.view],
               (unsigned)companion.size);
    }
    for (size_t i = 0; i < em_monitor_count(m); i++) {
        em_monitor_info monitor;
        em_describe_monitor(m, i, &monitor);
        printf("monitor %zu: %s, %s", i, monitor.name, DTYPES[monitor.dtype]);
        print_number(", alarm above", monitor.dtype, monitor.alarm_above);
        print_number(", uncertain above", monitor.dtype, monitor.uncertain_above);
        printf(" (raw)\n");
    }
    printf("workspace: %zu bytes\n", em_workspace_size(m));
    printf("work: %llu element operations\n", (unsigned long long)em_work(m));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: evaluate monitor.emon\n");
        return 1;
    }
    size_t size = 0;
    void *artifact = read_file(argv[1], &size);
    if (artifact == NULL) {
        fprintf(stderr, "%s: cannot be read\n", argv[1]);
        return 1;
    }
    em_monitor m;
    em_status status = em_open(&m, artifact, size);
    if (status == EM_OK) {
        print_contents(&m);
        void *workspace = malloc(em_workspace_size(&m));
        status = em_self_test(&m, workspace, em_workspace_size(&m));
        free(workspace);
    }
    printf("%s: %s", argv[1], em_status_text(status));
    if (status == EM_E_OP_LEFT_OUT) {
        printf(": %s", em_missing_op(artifact, size));
    }
    printf("\n");
    free(artifact);
    return status == EM_OK ? 0 : 1;
}
