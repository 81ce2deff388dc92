/* What was measured, as JSON with the keys of `edgemon bench --json`, and as a table. */
#include "measured.h"

#include "em_layout.h" /* EM_SMALL */

#include <stdio.h>

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__i386__)
#define MACHINE "i686"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#elif defined(__thumb__) && !defined(__ARM_ARCH_ISA_ARM)
#define MACHINE "arm, Thumb alone"
#elif defined(__arm__)
#define MACHINE "arm"
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE "riscv64"
#elif defined(__riscv)
#define MACHINE "riscv32"
#else
#define MACHINE "unknown"
#endif

#if defined(__AVX512F__)
#define VECTORS "AVX-512"
#elif defined(__AVX2__)
#define VECTORS "AVX2"
#elif defined(__SSE4_1__)
#define VECTORS "SSE4.1"
#elif defined(__SSE2__)
#define VECTORS "SSE2"
#elif defined(__ARM_FEATURE_DOTPROD)
#define VECTORS "NEON, dot products"
#elif defined(__ARM_NEON)
#define VECTORS "NEON"
#elif defined(__ARM_FEATURE_DSP)
#define VECTORS "DSP"
#elif defined(__riscv_vector)
#define VECTORS "RVV"
#else
#define VECTORS "none"
#endif

#ifdef __VERSION__
#define COMPILER __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *const FORM = EM_SMALL ? "small" : "fast";
static const double QUANTILES[] = {0, .5, .9, .99, 1};
static const char *const QUANTILE_NAMES[] = {"min", "p50", "p90", "p99", "max"};
enum { N_QUANTILES = sizeof QUANTILES / sizeof *QUANTILES };

const char *dtype_name(em_dtype dtype) {
    static const char *const names[] = {"?", "i8", "u8", "i16", "i32", "i64", "f32", "u32"};
    return names[dtype <= EM_U32 ? dtype : 0];
}

/* As numpy.percentile: linear between the two nearest. */
static double quantile(const measured *a, size_t rounds, double q) {
    const double at = q * (double)(rounds - 1);
    const size_t below = (size_t)at, above = below + 1 < rounds ? below + 1 : below;
    const double low = a->samples[below];
    return low + (at - (double)below) * (a->samples[above] - low);
}

enum { UNKNOWN, SAME, OTHER };

/* Are the results the reference's? */
static int agreement(const measured *a) {
    return !a->stated ? UNKNOWN : a->results_crc == a->expected_crc ? SAME : OTHER;
}

static const char *base_name(const char *path) {
    const char *name = path;
    for (; *path != '\0'; path++) {
        if (*path == '/' || *path == '\\') {
            name = path + 1;
        }
    }
    return name;
}

static void print_text(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20) {
            printf("\\u%04x", (unsigned)*text);
        } else {
            if (*text == '"' || *text == '\\') {
                putchar('\\');
            }
            putchar(*text);
        }
    }
    putchar('"');
}

/* What happened once cannot be told from nothing by a coarse clock. */
static int too_short(double ns) { return ns < 5 * clock_step(); }

static void print_once(const char *key, double ns) {
    if (too_short(ns)) {
        printf("\"%s\": null, ", key);
    } else {
        printf("\"%s\": %.0f, ", key, ns);
    }
}

static void print_artifact(const measured *a, size_t rounds) {
    static const char *const agrees[] = {"null", "true", "false"};
    printf("    {\"name\": ");
    print_text(a->name);
    printf(", \"artifact\": ");
    print_text(base_name(a->path));
    printf(",\n     \"c_ns\": %.3f, \"c_ns_p50\": %.3f, \"c_ns_distribution\": {", a->samples[0],
           quantile(a, rounds, .5));
    for (int i = 0; i < N_QUANTILES; i++) {
        printf("%s\"%s\": %.3f", i > 0 ? ", " : "", QUANTILE_NAMES[i],
               quantile(a, rounds, QUANTILES[i]));
    }
    printf("},\n     ");
    print_once("first_ns", a->first_ns);
    print_once("open_ns", a->open_ns);
    print_once("self_test_ns", a->self_test_ns);
    printf("\"passes\": %lu, \"faults\": %lu,\n", (unsigned long)a->passes,
           (unsigned long)a->faults);
    printf("     \"artifact_bytes\": %lu, \"workspace_bytes\": %lu, \"structs_bytes\": %lu, "
           "\"work\": %.0f,\n",
           (unsigned long)a->artifact_bytes, (unsigned long)a->workspace_bytes,
           (unsigned long)(sizeof(em_monitor) + sizeof(em_result)), (double)em_work(&a->monitor));
    printf("     \"crc32\": {\"artifact\": \"%08lx\", \"outputs\": \"%08lx\"}, "
           "\"as_reference\": %s}",
           (unsigned long)a->artifact_crc, (unsigned long)a->results_crc, agrees[agreement(a)]);
}

void print_json(const measured *all, size_t count, const taps_file *file, size_t rounds) {
    printf("{\n  \"bundle\": ");
    print_text(base_name(all[0].path));
    printf(",\n  \"rounds\": %lu,\n  \"rows\": %lu,\n  \"monitors\": [\n", (unsigned long)rounds,
           (unsigned long)file->rows);
    for (size_t i = 0; i < count; i++) {
        print_artifact(&all[i], rounds);
        printf(i + 1 < count ? ",\n" : "\n");
    }
    printf("  ],\n  \"environment\": {\"machine\": \"%s\", \"vectors\": \"%s\", \"pointer_bits\": "
           "%u, \"compiler\": ",
           MACHINE, VECTORS, (unsigned)(8 * sizeof(void *)));
    print_text(COMPILER);
    printf(",\n    \"api_version\": %d, \"format_major\": %d, \"kernels\": \"%s\", "
           "\"clock_step_ns\": %.3f},\n",
           EM_API_VERSION, EM_FORMAT_MAJOR, FORM, clock_step());
    printf("  \"crc32\": {\"taps\": \"%08lx\", \"outputs\": \"%08lx\"}\n}\n",
           (unsigned long)taps_crc(file), (unsigned long)all[0].results_crc);
}

static void rule(void) {
    for (int i = 0; i < 98; i++) {
        putchar('-');
    }
    putchar('\n');
}

void print_table(const measured *all, size_t count, const taps_file *file, size_t rounds) {
    static const char *const agrees[] = {"the reference's is not known", "as the reference",
                                         "NOT AS THE REFERENCE"};
    printf("%s, vectors %s, compiler %s, API %d, %s kernels, clock steps of %.0f ns\n", MACHINE,
           VECTORS, COMPILER, EM_API_VERSION, FORM, clock_step());
    printf("%lu rows, %lu interleaved rounds; CRC-32 of the taps %08lx\n",
           (unsigned long)file->rows, (unsigned long)rounds, (unsigned long)taps_crc(file));
    rule();
    printf("%-24s %9s %9s %9s %9s %9s %9s %9s\n", "Monitor in C, ns", "min", "p50", "p90", "p99",
           "max", "first", "bytes");
    rule();
    for (size_t i = 0; i < count; i++) {
        printf("%-24.60s", all[i].name);
        for (int k = 0; k < N_QUANTILES; k++) {
            printf(" %9.0f", quantile(&all[i], rounds, QUANTILES[k]));
        }
        if (too_short(all[i].first_ns)) {
            printf(" %9s", "n/a");
        } else {
            printf(" %9.0f", all[i].first_ns);
        }
        printf(" %9lu\n", (unsigned long)all[i].artifact_bytes);
    }
    rule();
    for (size_t i = 0; i < count; i++) {
        printf("%s: CRC-32 of the results %08lx, %s; workspace %lu bytes", all[i].name,
               (unsigned long)all[i].results_crc, agrees[agreement(&all[i])],
               (unsigned long)all[i].workspace_bytes);
        if (all[i].faults > 0) {
            printf("; %lu rows with a fault, which is quicker", (unsigned long)all[i].faults);
        }
        printf("\n");
    }
}
