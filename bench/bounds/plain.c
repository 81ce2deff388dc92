/* What somebody would write by hand for each op: plain loops, which the compiler may vectorise as
 * it likes within C. Every function has the tables of the op as FORMAT.md orders them, and s:
 * length of x, of the result, rows or channels, class. A second tap comes before the tables. Sums
 * of floats go from the first to the last term. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define PLAIN(name)                                                                                \
    void name(const void *restrict input, const void *const *restrict t,                           \
              const int64_t *restrict s, void *restrict output)

#define EVERY_TYPE(make)                                                                           \
    make(int8, int8_t, int32_t) make(int16, int16_t, int32_t) make(float32, float, float)

#define VECTORS(suffix, in, wide)                                                                  \
    PLAIN(max_##suffix) {                                                                          \
        const in *x = input;                                                                       \
        wide best = x[0];                                                                          \
        for (int64_t i = 1; i < s[0]; i++) {                                                       \
            best = x[i] > best ? x[i] : best;                                                      \
        }                                                                                          \
        (void)t;                                                                                   \
        *(wide *)output = best;                                                                    \
    }                                                                                              \
    PLAIN(gather_##suffix) {                                                                       \
        const in *x = input;                                                                       \
        const uint32_t *index = t[0];                                                              \
        for (int64_t i = 0; i < s[1]; i++) {                                                       \
            ((wide *)output)[i] = x[index[i]];                                                     \
        }                                                                                          \
    }                                                                                              \
    PLAIN(clip_##suffix) {                                                                         \
        const in *x = input;                                                                       \
        const wide most = *(const wide *)t[0];                                                     \
        for (int64_t i = 0; i < s[1]; i++) {                                                       \
            ((wide *)output)[i] = x[i] > most ? most : x[i];                                       \
        }                                                                                          \
    }                                                                                              \
    PLAIN(concat_##suffix) {                                                                       \
        const in *x = input;                                                                       \
        (void)t;                                                                                   \
        for (int64_t i = 0; i < s[0]; i++) {                                                       \
            ((wide *)output)[i] = ((wide *)output)[s[0] + i] = x[i];                               \
        }                                                                                          \
    }                                                                                              \
    PLAIN(reduce_##suffix) {                                                                       \
        const in *x = input;                                                                       \
        wide *out = output;                                                                        \
        memset(out, 0, (size_t)s[1] * sizeof *out);                                                \
        (void)t;                                                                                   \
        for (int64_t p = 0; p < s[0] / s[1]; p++) {                                                \
            for (int64_t c = 0; c < s[1]; c++) {                                                   \
                out[c] += x[p * s[1] + c];                                                         \
            }                                                                                      \
        }                                                                                          \
        if (((wide)1) / 2 > 0) { /* floats: the mean */                                            \
            for (int64_t c = 0; c < s[1]; c++) {                                                   \
                out[c] /= (wide)(s[0] / s[1]);                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    PLAIN(deviation_##suffix) {                                                                    \
        const in *x = input;                                                                       \
        wide *out = output;                                                                        \
        const double n = (double)(s[0] / s[1]), unit = ((wide)1) / 2 > 0 ? 1 : 2;                  \
        double sum[256] = {0}, squares[256] = {0};                                                 \
        (void)t;                                                                                   \
        for (int64_t p = 0; p < s[0] / s[1]; p++) {                                                \
            for (int64_t c = 0; c < s[1]; c++) {                                                   \
                const double v = x[p * s[1] + c];                                                  \
                sum[c] += v;                                                                       \
                squares[c] += v * v;                                                               \
            }                                                                                      \
        }                                                                                          \
        for (int64_t c = 0; c < s[1]; c++) {                                                       \
            const double apart = n * squares[c] - sum[c] * sum[c];                                 \
            out[c] = (wide)(unit * sqrt(apart > 0 ? apart : 0) / n);                               \
        }                                                                                          \
    }                                                                                              \
    PLAIN(boxes_##suffix) {                                                                        \
        const in *x = input, *lower = t[0], *upper = t[1];                                         \
        const wide *weight = t[2];                                                                 \
        const uint32_t *first = t[3];                                                              \
        wide nearest = (wide)(1 << 30);                                                            \
        for (uint32_t b = first[s[3]]; b < first[s[3] + 1]; b++) {                                 \
            wide far = -(wide)(1 << 30);                                                           \
            for (int64_t i = 0; i < s[0]; i++) {                                                   \
                const wide below = (wide)lower[b * s[0] + i] - (wide)x[i];                         \
                const wide above = (wide)x[i] - (wide)upper[b * s[0] + i];                         \
                const wide out = (below > above ? below : above) * weight[i];                      \
                far = out > far ? out : far;                                                       \
            }                                                                                      \
            nearest = far < nearest ? far : nearest;                                               \
        }                                                                                          \
        *(wide *)output = nearest;                                                                 \
    }                                                                                              \
    PLAIN(hamming_##suffix) {                                                                      \
        const in *x = input;                                                                       \
        const wide *threshold = t[0];                                                              \
        const uint32_t *patterns = t[2], *first = t[3];                                            \
        uint32_t words[64] = {0};                                                                  \
        for (int64_t i = 0; i < s[0]; i++) {                                                       \
            words[i / 32] |= (uint32_t)(x[i] > threshold[i]) << (i % 32);                          \
        }                                                                                          \
        int32_t nearest = (int32_t)s[0] + 1;                                                       \
        for (uint32_t b = first[s[3]]; b < first[s[3] + 1]; b++) {                                 \
            int32_t apart = 0;                                                                     \
            for (int64_t w = 0; w < s[0] / 32; w++) {                                              \
                apart += __builtin_popcount(words[w] ^ patterns[b * (s[0] / 32) + w]);             \
            }                                                                                      \
            nearest = apart < nearest ? apart : nearest;                                           \
        }                                                                                          \
        *(int32_t *)output = nearest;                                                              \
    }

EVERY_TYPE(VECTORS)

#define SQUARED_ERROR(suffix, in, wide, total)                                                     \
    PLAIN(squared_error_##suffix) {                                                                \
        const in *x = input, *y = t[0];                                                            \
        total sum = 0;                                                                             \
        for (int64_t i = 0; i < s[0]; i++) {                                                       \
            const wide apart = (wide)((wide)x[i] - (wide)y[i]);                                    \
            sum += (total)apart * apart;                                                           \
        }                                                                                          \
        *(total *)output = sum;                                                                    \
    }

SQUARED_ERROR(int8, int8_t, int32_t, int64_t)
SQUARED_ERROR(int16, int16_t, int32_t, int64_t)
SQUARED_ERROR(float32, float, float, float)

#define AFFINE(suffix, in, weight_type, wide)                                                      \
    PLAIN(affine_##suffix) {                                                                       \
        const in *x = input;                                                                       \
        const weight_type *weight = t[0];                                                          \
        const wide *bias = t[1];                                                                   \
        for (int64_t r = 0; r < s[1]; r++) {                                                       \
            wide sum = bias[r];                                                                    \
            for (int64_t i = 0; i < s[0]; i++) {                                                   \
                sum += (wide)x[i] * weight[r * s[0] + i];                                          \
            }                                                                                      \
            ((wide *)output)[r] = sum;                                                             \
        }                                                                                          \
    }

AFFINE(int8, int8_t, int16_t, int32_t)
AFFINE(int16, int16_t, int16_t, int32_t)
AFFINE(float32, float, float, float)

PLAIN(add_float32) {
    const float *x = input;
    (void)t;
    for (int64_t i = 0; i < s[1]; i++) {
        ((float *)output)[i] = x[i] + x[i];
    }
}

PLAIN(mul_float32) {
    const float *x = input;
    (void)t;
    for (int64_t i = 0; i < s[1]; i++) {
        ((float *)output)[i] = x[i] * x[i];
    }
}

PLAIN(sum_float32) {
    const float *x = input;
    float sum = 0;
    (void)t;
    for (int64_t i = 0; i < s[0]; i++) {
        sum += x[i];
    }
    *(float *)output = sum;
}

PLAIN(exp_float32) {
    const float *x = input;
    (void)t;
    for (int64_t i = 0; i < s[1]; i++) {
        ((float *)output)[i] = expf(x[i]);
    }
}

PLAIN(distances_float32) {
    const float *x = input, *centres = t[0];
    for (int64_t r = 0; r < s[1]; r++) {
        float sum = 0;
        for (int64_t i = 0; i < s[0]; i++) {
            const float apart = x[i] - centres[r * s[0] + i];
            sum += apart * apart;
        }
        ((float *)output)[r] = sum;
    }
}

PLAIN(kernels_float32) {
    const float *x = input, scale = *(const float *)t[2], *log_weight = t[3];
    const int8_t *codes = t[1];
    const int64_t classes = ((const uint32_t *)t[0])[0], each = ((const uint32_t *)t[0])[1];
    const int64_t length = s[0] / classes;
    for (int64_t c = 0; c < classes; c++) {
        for (int64_t k = 0; k < each; k++) {
            const int64_t r = c * each + k;
            float sum = 0;
            for (int64_t i = 0; i < length; i++) {
                const float apart = x[c * length + i] - (float)codes[r * length + i] * scale;
                sum += apart * apart;
            }
            ((float *)output)[r] = log_weight[r] - sum * 0.5f;
        }
    }
}

PLAIN(tables_float32) {
    const float *x = input, *origin = t[0], *rate = t[1];
    const int64_t classes = ((const uint32_t *)t[2])[0], bins = ((const uint32_t *)t[2])[1];
    const int16_t *entries = t[3];
    int32_t *out = output;
    memset(out, 0, (size_t)classes * sizeof *out);
    for (int64_t i = 0; i < s[0]; i++) {
        float at = (x[i] - origin[i]) * rate[i];
        at = at > 0 ? at : 0;
        at = at < (float)(bins - 1) ? at : (float)(bins - 1);
        for (int64_t c = 0; c < classes; c++) {
            out[c] += entries[(c * s[0] + i) * bins + (int64_t)at];
        }
    }
}

PLAIN(logsumexp_float32) {
    const float *x = input;
    const int64_t length = s[0] / s[1];
    (void)t;
    for (int64_t g = 0; g < s[1]; g++) {
        float top = x[g * length], sum = 0;
        for (int64_t i = 1; i < length; i++) {
            top = x[g * length + i] > top ? x[g * length + i] : top;
        }
        for (int64_t i = 0; i < length; i++) {
            sum += expf(x[g * length + i] - top);
        }
        ((float *)output)[g] = top + logf(sum);
    }
}

/* Kernels, then the sum of each class: at most 4,096 kernels. */
PLAIN(density_float32) {
    const int64_t classes = ((const uint32_t *)t[0])[0], each = ((const uint32_t *)t[0])[1];
    const int64_t inner[2] = {s[0], classes * each}, outer[2] = {classes * each, classes};
    float one[4096];
    kernels_float32(input, t, inner, one);
    logsumexp_float32(one, t, outer, output);
}

/* ---- times ---------------------------------------------------------------------------------- */

typedef void (*plain)(const void *, const void *const *, const int64_t *, void *);

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Mean ns of a call over `passes` passes through the rows of x. */
double plain_ns(plain op, const char *x, int64_t row_bytes, int64_t rows, const void *const *tables,
                const int64_t *shape, void *out, int64_t passes) {
    const double start = seconds_now();
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t row = 0; row < rows; row++) {
            op(x + row * row_bytes, tables, shape, out);
        }
    }
    return 1e9 * (seconds_now() - start) / (double)(passes * rows);
}

/* Mean ns of reading so many words once, which stay in the cache if they fit. */
double stream_ns(const uint64_t *words, int64_t count, int64_t passes) {
    volatile uint64_t kept = 0;
    const double start = seconds_now();
    for (int64_t pass = 0; pass < passes; pass++) {
        uint64_t all = 0;
        for (int64_t i = 0; i < count; i++) {
            all += words[i];
        }
        kept += all;
    }
    return 1e9 * (seconds_now() - start) / (double)passes;
}
