/*
 * Test only: arithmetic ARTIFACT [MODE] prints the status of em_open and a hash
 * of every result on rows of its taps, which are computed even where em_open
 * refuses. MODE: how the processor is set.
 */
#define EM_API static
#include "edgemon.c"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 600u

#if defined(__x86_64__)
static void set_control(uint32_t bits) {
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    mxcsr |= bits;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}
#define FLUSH set_control(0x8000)
#define DENORMALS_ARE_ZERO set_control(0x0040)
#elif defined(__aarch64__)
#define FLUSH __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)1 << 24))
#define DENORMALS_ARE_ZERO FLUSH
#elif defined(__arm__)
#define FLUSH __asm__ volatile("vmsr fpscr, %0" : : "r"((uint32_t)1 << 24))
#define DENORMALS_ARE_ZERO FLUSH
#else
#define FLUSH exit(3)
#define DENORMALS_ARE_ZERO exit(3)
#endif

static void set_mode(const char *mode) {
    if (strcmp(mode, "up") == 0) {
        fesetround(FE_UPWARD);
    } else if (strcmp(mode, "down") == 0) {
        fesetround(FE_DOWNWARD);
    } else if (strcmp(mode, "toward_zero") == 0) {
        fesetround(FE_TOWARDZERO);
    } else if (strcmp(mode, "flush") == 0) {
        FLUSH;
    } else if (strcmp(mode, "denormals_are_zero") == 0) {
        DENORMALS_ARE_ZERO;
    } else {
        exit(2);
    }
}

/* Some rows near 1, some small enough for products to be denormal, some
 * denormal, one of -0. */
static uint32_t next_word(uint32_t row, uint32_t *state) {
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    const uint32_t sign = *state & UINT32_C(0x80000000), bits = (*state >> 7) & UINT32_C(0x7FFFFF);
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    const uint32_t around = row % 4 == 1 ? 62 : row % 4 == 2 ? 0 : 126;
    return row == 3 ? UINT32_C(0x80000000) : sign | (around + (*state >> 30)) << 23 | bits;
}

int main(int argc, char **argv) {
    static uint64_t file[1u << 14], workspace[1u << 12];
    static uint32_t tap[1u << 9];
    FILE *from = argc >= 2 ? fopen(argv[1], "rb") : NULL;
    if (from == NULL) {
        return 2;
    }
    em_reader r;
    em_monitor m;
    memset(&r, 0, sizeof r);
    r.m.size = (uint32_t)fread(file, 1, sizeof file, from);
    r.m.file = (const uint8_t *)file;
    fclose(from);
    if (argc == 3) {
        set_mode(argv[2]);
    }
    const em_status status = em_open(&m, file, r.m.size);
    if (check_file(&r) != EM_OK || r.m.n_taps != 1 || r.m.workspace_size > sizeof workspace ||
        em_tap_at(&r.m, 0)->length > sizeof tap / sizeof *tap) {
        return 2;
    }
    const em_tap taps[] = {{tap, EM_F32, em_tap_at(&r.m, 0)->length}};
    uint64_t hash = UINT64_C(14695981039346656037);
    uint32_t state = 1;
    for (uint32_t row = 0; row < ROWS; row++) {
        for (uint32_t i = 0; i < taps[0].length; i++) {
            tap[i] = next_word(row, &state);
        }
        em_result result;
        em_evaluate_checked(&r.m, taps, (uint8_t *)workspace, &result);
        for (uint32_t i = 0; i < r.m.workspace_size / 8; i++) {
            hash = (hash ^ workspace[i]) * UINT64_C(1099511628211);
        }
    }
    printf("%d %016llx\n", status, (unsigned long long)hash);
    return 0;
}
