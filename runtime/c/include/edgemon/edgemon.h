/*
 * edgemon - evaluates runtime monitors of a classifier, beside the classifier, on the device.
 *
 *   em_monitor m;
 *   if (em_open(&m, artifact, artifact_size) != EM_OK) ...          once: validates every byte
 *   if (em_bind_model(&m, sha256_of_model) != EM_OK) ...            once: the right model?
 *   if (em_self_test(&m, workspace, sizeof workspace) != EM_OK) ... at power-on
 *   em_evaluate(&m, taps, n_taps, workspace, sizeof workspace, &result);   for every image
 *   em_drift_update(&m, &drift, &result);   then too: are the images still those of calibration?
 *   em_window_update(&m, &window, &result); and this: counts to send home (em_window_write)
 *
 * No heap, no globals, no recursion, no files, no locks. em_monitor is read-only after em_open:
 * threads may share it when each brings its own workspace. The artifact (FORMAT.md) is used in
 * place and must outlive the monitor.
 *
 * Two numbers, two promises: EM_API_VERSION changes when this header changes for its callers,
 * EM_FORMAT_MAJOR when files of the older format are no longer read.
 */
#ifndef EDGEMON_H
#define EDGEMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EM_VERSION "0.1.0" /* of the release; em_version() is that of the library linked to */
#define EM_API_VERSION 7
#define EM_FORMAT_MAJOR 1

/* Tie a build to one translation unit: define EM_API as `static` before including. */
#ifndef EM_API
#define EM_API
#endif

#define EM_MAX_TAPS 32
#define EM_MAX_MONITORS 32
#define EM_MAX_ALTERNATIVES 16

/* One list makes the enumeration and its sentences, so that they cannot drift apart. */
#define EM_STATUS_LIST(X)                                                                          \
    X(EM_OK, 0, "ok")                                                                              \
    X(EM_E_NULL, -1, "a required pointer is null")                                                 \
    X(EM_E_ALIGN, -2,                                                                              \
      "the artifact or the workspace is not aligned to 8 bytes, or a tap to its elements")         \
    X(EM_E_SIZE, -3, "the file size in the header differs from the size supplied")                 \
    X(EM_E_MAGIC, -4, "not an edgemon artifact, or damaged by a text-mode copy")                   \
    X(EM_E_VERSION, -5, "written for another major version of the format")                         \
    X(EM_E_ENDIAN, -6, "the artifact's byte order is not this machine's")                          \
    X(EM_E_CRC, -7, "checksum mismatch: the artifact is corrupt")                                  \
    X(EM_E_RESERVED, -8, "a reserved field or a padding byte is not zero")                         \
    X(EM_E_SECTION, -9, "a section is missing, duplicate, unsorted, misplaced or of wrong size")   \
    X(EM_E_UNKNOWN, -10, "an unknown critical section: made by a newer compiler")                  \
    X(EM_E_COUNT, -11, "a count is outside its permitted range")                                   \
    X(EM_E_TAP, -12, "a tap record is invalid")                                                    \
    X(EM_E_NODE, -13, "a node record is invalid")                                                  \
    X(EM_E_BITS, -14, "an integer result could overflow, or its bound is stated wrongly")          \
    X(EM_E_TABLE, -15, "a table is misplaced or has the wrong type or size")                       \
    X(EM_E_VALUE, -16, "a table holds a value that is not permitted")                              \
    X(EM_E_BOX, -17, "the boxes of a class are invalid")                                           \
    X(EM_E_TREE, -18, "a tree is invalid")                                                         \
    X(EM_E_MONITOR, -19, "a monitor record is invalid")                                            \
    X(EM_E_STRING, -20, "a name is invalid")                                                       \
    X(EM_E_SELF_TEST, -21, "the self-test section is invalid, or its results differ")              \
    X(EM_E_MODEL, -22, "the artifact was compiled for another model")                              \
    X(EM_E_WORKSPACE, -23, "the workspace is too small")                                           \
    X(EM_E_TAP_COUNT, -24, "the number of taps differs from the artifact's")                       \
    X(EM_E_TAP_TYPE, -25, "a tap has another data type than the artifact's")                       \
    X(EM_E_TAP_LENGTH, -26, "a tap has another length than the artifact's")                        \
    X(EM_E_TAP_VALUE, -27, "a tap holds a NaN or an infinity")                                     \
    X(EM_E_SCORE, -28, "a score, or a number on the way to one, is NaN or infinite")               \
    X(EM_E_DRIFT, -29, "the drift test is invalid")                                                \
    X(EM_E_FLOAT, -30,                                                                             \
      "this build or processor rounds floats otherwise than IEEE 754: compile the runtime with "   \
      "-ffp-contract=off and without -ffast-math, round to nearest, keep denormals")               \
    X(EM_E_LIMIT, -31, "an evaluation needs more work or workspace than the caller permits")       \
    X(EM_E_OP_LEFT_OUT, -32, "this build of the runtime leaves out an op that the artifact needs") \
    X(EM_E_SIGNATURE, -33, "the artifact is not signed by this key")                               \
    X(EM_E_ACCURACY, -34, "the table of accuracy is invalid")                                      \
    X(EM_E_COMPANION, -35,                                                                         \
      "a companion model is missing from the artifact's list, listed wrongly, or another file")

typedef enum em_status {
#define EM_STATUS_ENUM(name, value, text) name = value,
    EM_STATUS_LIST(EM_STATUS_ENUM)
#undef EM_STATUS_ENUM
} em_status;

typedef enum em_verdict {
    EM_TRUST = 0,     /* no monitor objects */
    EM_UNCERTAIN = 1, /* a monitor abstains; treat as an alarm where that is safe */
    EM_ALARM = 2,     /* do not rely on the prediction */
    EM_FAULT = 3      /* the inputs were unusable; em_result.reason says why */
} em_verdict;

typedef enum em_dtype {
    EM_I8 = 1,
    EM_U8 = 2,
    EM_I16 = 3,
    EM_I32 = 4,
    EM_I64 = 5,
    EM_F32 = 6,
    EM_U32 = 7
} em_dtype;

/* Which inference gives a tap its values; in which order they are made says em_evaluate.
 * EM_VIEW_MIRROR: the model's, of the same input mirrored left-right (after preprocessing, the
 * width axis reversed). EM_VIEW_ODIN: the model's, of what a companion makes of the input.
 * EM_VIEW_COMPANION: that of a companion, whose output the tap is. A companion is another model,
 * beside the classifier: see em_describe_companion. */
typedef enum em_view {
    EM_VIEW_PLAIN = 0, /* the input as it is */
    EM_VIEW_MIRROR = 1,
    EM_VIEW_ODIN = 2,
    EM_VIEW_COMPANION = 3
} em_view;

/* A tensor of the classifier, as it lies in memory after the invocation. */
typedef struct em_tap {
    const void *data; /* aligned for its dtype */
    em_dtype dtype;
    uint32_t length; /* in elements */
} em_tap;

/* What the artifact says about a tap it wants. */
typedef struct em_tap_info {
    const char *name; /* of the tensor in the model; lies in the artifact */
    em_dtype dtype;
    uint32_t length; /* in elements */
    double scale;    /* real value = scale * (code - zero_point) */
    int32_t zero_point;
    em_view view; /* the same tensor may be wanted from both inferences, as two taps */
} em_tap_info;

/* A model beside the classifier, for the taps of one view (FORMAT.md, section 16). Its first input
 * is the classifier's. EM_VIEW_ODIN: its output is a further input for the classifier.
 * EM_VIEW_COMPANION: a second input, where it has one, is the classifier's output. */
typedef struct em_companion_info {
    em_view view;
    uint32_t size;         /* of its file, bytes */
    const uint8_t *sha256; /* of its file, 32 bytes; lies in the artifact */
} em_companion_info;

/* A raw score: .f where the monitor's dtype is EM_F32, else .i */
typedef union em_number {
    int64_t i;
    float f;
} em_number;

typedef struct em_monitor_info {
    const char *name; /* lies in the artifact */
    em_dtype dtype;   /* of the raw score: EM_I32, EM_I64 or EM_F32 */
    em_number alarm_above;
    em_number uncertain_above;
} em_monitor_info;

/* Read-only after em_open. The fields are private; their size is public so that it can live on
 * the stack or in .bss. */
typedef struct em_monitor {
    const uint8_t *file;
    uint32_t size;
    uint32_t taps, nodes, tables, monitors, strings, self_test, meta, drift,
        accuracy; /* offsets; 0: absent */
    uint32_t self_test_size, meta_size;
    uint32_t n_taps, n_nodes, n_monitors;
    uint32_t predicted;      /* value id */
    uint32_t n_classes;      /* that it chooses from */
    uint32_t workspace_size; /* bytes */
    uint64_t work;           /* of an evaluation, in element operations */
} em_monitor;

/* What an artifact may cost at most. Both are known before the first evaluation, and are the same
 * for each: see em_work and em_workspace_size. */
typedef struct em_limits {
    uint64_t work;    /* element operations of an evaluation */
    size_t workspace; /* bytes */
} em_limits;

typedef struct em_result {
    em_verdict verdict;                   /* the worst of the monitors */
    em_status reason;                     /* EM_OK, or why the verdict is a fault */
    int32_t predicted_class;              /* -1 after a fault of the inputs */
    uint32_t monitor;                     /* the first monitor that has this verdict */
    uint32_t n_monitors;                  /* entries used below */
    em_verdict verdicts[EM_MAX_MONITORS]; /* of each monitor */
    em_number scores[EM_MAX_MONITORS];    /* raw; 0 for a monitor in fault */
} em_result;

/* What the artifact says about its drift test (FORMAT.md, section 13). */
typedef struct em_drift_info {
    uint32_t monitor;      /* index: whose scores are watched */
    uint32_t bins;         /* of the scores, 2 to 32 */
    uint32_t alternatives; /* sums in use, 1 to EM_MAX_ALTERNATIVES */
    int32_t limit;         /* of a sum, in 1/65536 nat; the flag rises when a sum reaches it */
    uint32_t run_length;   /* promised mean of images until a false flag */
} em_drift_info;

/* The drift test's memory, owned by the caller: one for each stream of images (a camera), to be
 * used by one thread at a time. Zeros are a fresh start. Image numbers count from 1. */
typedef struct em_drift {
    uint32_t images;      /* seen, faults included; stays at UINT32_MAX, where image numbers end */
    uint32_t faults;      /* of them without a score: they are counted, and change no sum */
    uint32_t flagged_at;  /* image at which the flag rose first, 0: it has not; stays until reset */
    uint32_t since;       /* image at which the sum that reached its limit began to grow */
    uint32_t alternative; /* index of that sum; of several the first */
    int32_t sums[EM_MAX_ALTERNATIVES];    /* in 1/65536 nat, 0 to the limit; they go on after it */
    uint32_t starts[EM_MAX_ALTERNATIVES]; /* image at which each sum last left 0 */
} em_drift;

/* What the artifact says about its table of accuracy (FORMAT.md, section 15). Probabilities are in
 * 1/65535 here and below. */
typedef struct em_accuracy_info {
    uint32_t monitor;  /* index: whose scores are looked up */
    uint32_t steps;    /* of the table, 2 to 64 */
    uint32_t window;   /* images */
    uint32_t least;    /* labels, from which on they count */
    uint32_t rows;     /* of calibration */
    uint32_t variance; /* of the residual there, in 1/65535^2 */
} em_accuracy_info;

#define EM_ACCURACY_BLOCKS 8

/* An eighth of the window. */
typedef struct em_accuracy_block {
    uint64_t sum;     /* of the images' probabilities of being right */
    uint64_t squares; /* of them */
    uint32_t images;  /* with a probability */
    uint32_t faults;  /* without */
} em_accuracy_block;

/* The memory of an estimate of accuracy, 224 bytes, owned by the caller: one for each stream of
 * images, to be used by one thread at a time. Zeros are a fresh start. */
typedef struct em_accuracy {
    em_accuracy_block blocks[EM_ACCURACY_BLOCKS];
    uint64_t label_sum;     /* of residuals plus 1: of a right answer 2 - p, of a wrong one 1 - p */
    uint64_t label_squares; /* of them */
    uint32_t labels;
    uint32_t rights;     /* labels that say: the answer was right */
    uint32_t flagged_at; /* of the drift test whose images these are; 0: of no flag */
    uint32_t block;      /* in use */
} em_accuracy;

/* What is counted of one predicted class, for who wants it: in either half of the window. */
typedef struct em_accuracy_class {
    uint64_t sums[2]; /* of probabilities */
    uint32_t images[2];
} em_accuracy_class;

/* em_estimate.basis */
#define EM_BASIS_CALIBRATION 1  /* the images are like those of calibration: no flag says no */
#define EM_BASIS_LABELS 2       /* the labels: whatever the images are */
#define EM_BASIS_LABELS_ALONE 3 /* the interval is of the labels alone: few are wrong, or right */

/* The accuracy of a window, and what it was made of. */
typedef struct em_estimate {
    uint64_t sum, squares;             /* over the window */
    uint64_t label_sum, label_squares; /* as in em_accuracy */
    uint32_t images, faults;           /* of the window: with and without a probability */
    uint32_t labels, rights;
    uint16_t estimate;  /* of the share of right answers */
    uint16_t low, high; /* 95 % interval; 0 to 65535 where it is not valid */
    uint8_t valid;      /* 0: do not rely on it, see em_accuracy_estimate */
    uint8_t basis;
} em_estimate;

/* What a window counts of one monitor. The sum of its scores is sum_high * 2^32 + sum_low, exactly;
 * of f32 scores in steps of 2^-24, each rounded toward zero and held to 2^38 at most. */
typedef struct em_window_monitor {
    int64_t sum_high;
    uint32_t sum_low;
    uint32_t scored; /* images with a score */
    uint32_t alarms;
    uint32_t uncertains;
} em_window_monitor;

/* What a window counts of one predicted class. */
typedef struct em_window_class {
    uint32_t images;
    uint32_t alarms; /* of them with verdict alarm or uncertain */
} em_window_class;

#define EM_WINDOW_VERSION 1

/* em_window_report.flags */
#define EM_WINDOW_FULL 1u     /* UINT32_MAX images: it counts no more, so that rates stay right */
#define EM_WINDOW_CLIPPED 2u  /* a score was beyond 2^38, and counts as that */
#define EM_WINDOW_ACCURACY 8u /* behind the head lies an em_estimate: version 2 */
#define EM_WINDOW_DRIFT 4u    /* the artifact has a drift test, and the report its state */

/* The head of a report, as it is sent: docs/fleet.md says it byte by byte. Yours to set: device,
 * sequence, started, ended. */
typedef struct em_window_report {
    uint8_t magic[4];      /* "EMWR" */
    uint16_t version;      /* EM_WINDOW_VERSION */
    uint16_t head_size;    /* of this struct, 112: a later version appends to it, */
    uint16_t monitor_size; /* to em_window_monitor, 24, */
    uint16_t class_size;   /* and to em_window_class, 8 */
    uint32_t size;         /* of the whole report, its checksum included */
    uint32_t n_monitors;   /* records behind the head, and */
    uint32_t n_classes;    /* records behind those */
    uint32_t artifact;     /* its checksum: which artifact was it? */
    uint32_t flags;
    uint64_t device;       /* who sends it */
    uint64_t started;      /* s since 1970, 0: no clock */
    uint64_t ended;        /* s since 1970, 0: no clock */
    uint32_t float_scores; /* bit k: the scores of monitor k are f32 */
    uint32_t sequence;     /* number of the window; em_window_next adds 1 */
    uint32_t images;       /* seen, faults included */
    uint32_t uncertains;   /* verdicts */
    uint32_t alarms;       /* verdicts */
    uint32_t value_faults; /* a NaN or an infinity in a tap */
    uint32_t score_faults; /* a NaN or an infinity on the way to a score */
    uint32_t other_faults; /* taps or workspace were not as the artifact wants them */
    uint32_t other_images; /* with a class that has no record */
    uint32_t drift_images; /* the first fields of em_drift, when the report was written */
    uint32_t drift_faults;
    uint32_t drift_flagged_at;
    uint32_t drift_since;
    uint32_t drift_alternative;
} em_window_report;

/* A window of images, owned by the caller: one for each stream, to be used by one thread at a time.
 * The records are arrays of the caller's; the fields are to be read at any time. */
typedef struct em_window {
    em_window_report report;
    em_window_monitor *monitors;
    em_window_class *classes;
} em_window;

/* Bytes of a report with so many records: for the memory that em_window_write writes to.
 * em_window_write_estimate writes EM_WINDOW_ESTIMATE_BYTES more. */
#define EM_WINDOW_ESTIMATE_BYTES sizeof(em_estimate)
#define EM_WINDOW_BYTES(n_monitors, n_classes)                                                     \
    (sizeof(em_window_report) + sizeof(em_window_monitor) * (size_t)(n_monitors) +                 \
     sizeof(em_window_class) * (size_t)(n_classes) + 4u)

/* Validates the whole artifact and prepares *m. On an error *m is zeroed and unusable. EM_E_FLOAT,
 * whatever the artifact: in this build and thread float results would differ in bits. */
EM_API em_status em_open(em_monitor *m, const void *artifact, size_t size);

/* The same; EM_E_LIMIT if an evaluation would need more than *limits. A file of 4 kB may ask for 16
 * MiB and seconds of an evaluation: where artifacts come from elsewhere, set limits. NULL: none. */
EM_API em_status em_open_limited(em_monitor *m, const void *artifact, size_t size,
                                 const em_limits *limits);

/* Your check of a signature of `size` bytes at `message`: 0 if it is good, as
 * crypto_sign_verify_detached of libsodium and crypto_ed25519_check of Monocypher say it. */
typedef int (*em_verify)(void *context, const uint8_t signature[64], const void *message,
                         size_t size);

/* The same, but only if `verify` finds `signature` good (the file monitor.emon.sig that `edgemon
 * sign` writes; Ed25519), before anything of the artifact is read. Else EM_E_SIGNATURE. Inline: who
 * calls it has a callback on its stack, and nobody else. */
static inline em_status em_open_signed(em_monitor *m, const void *artifact, size_t size,
                                       const em_limits *limits, const uint8_t signature[64],
                                       em_verify verify, void *context) {
    (void)em_open_limited(m, NULL, 0, NULL); /* zeroes *m */
    if (m == NULL || artifact == NULL || signature == NULL || verify == NULL) {
        return EM_E_NULL;
    }
    if (verify(context, signature, artifact, size) != 0) {
        return EM_E_SIGNATURE;
    }
    return em_open_limited(m, artifact, size, limits);
}

/* After EM_E_OP_LEFT_OUT: the name of the first op that the artifact needs and this build lacks, as
 * in FORMAT.md, section 7, or "floats". NULL where em_open says anything else. */
EM_API const char *em_missing_op(const void *artifact, size_t size);

/* Element operations of an evaluation (FORMAT.md, section 7.12): numbers read, compared, looked up,
 * multiplied and added, some 1 to 4 ns each on a workstation. At most: it does not depend on the
 * image but for the boxes and patterns of the predicted class. */
EM_API uint64_t em_work(const em_monitor *m);

/* Evaluations that em_self_test makes, 0 to 64. */
EM_API size_t em_self_test_count(const em_monitor *m);

/* Scratch memory an evaluation needs, in bytes; constant for an artifact. */
EM_API size_t em_workspace_size(const em_monitor *m);

/* EM_OK if the artifact was compiled for the model file with this SHA-256. */
EM_API em_status em_bind_model(const em_monitor *m, const uint8_t sha256[32]);

/* How many companions the artifact needs, 0 to 2. */
EM_API size_t em_companion_count(const em_monitor *m);

/* EM_E_COUNT beyond the last. */
EM_API em_status em_describe_companion(const em_monitor *m, size_t index, em_companion_info *out);

/* EM_OK if the companion of this view is the file with this SHA-256, EM_E_COMPANION if it is
 * another, EM_E_COUNT if the artifact needs none for this view. Once, as em_bind_model. */
EM_API em_status em_bind_companion(const em_monitor *m, em_view view, const uint8_t sha256[32]);

/* Checks this thread's float arithmetic as em_open does, then evaluates the artifact's own vectors
 * and compares exactly. EM_OK if all agree, and if there are none. */
EM_API em_status em_self_test(const em_monitor *m, void *workspace, size_t workspace_size);

/* Recomputes the checksum: has memory changed since em_open? */
EM_API em_status em_check(const em_monitor *m);

/* One image. Returns out->reason; *out is always completely written, with verdict EM_FAULT on any
 * error. `workspace` is aligned to 8 bytes.
 *
 * Where there are taps of other views than EM_VIEW_PLAIN (em_tap_info.view), in this order:
 *   1. EM_VIEW_ODIN: its companion on the image; the model on the companion's output; copy what
 *      those taps name, for the next inference overwrites the model's memory.
 *   2. EM_VIEW_MIRROR: the model on the mirrored image; copy what those taps name.
 *   3. the model on the image as it is, last: its outputs in memory are its answer to the image.
 *   4. EM_VIEW_COMPANION: its companion on the image, and on the model's output if it takes two
 *      inputs; it has a memory of its own, so that nothing is copied.
 *   5. em_evaluate. */
EM_API em_status em_evaluate(const em_monitor *m, const em_tap *taps, size_t n_taps,
                             void *workspace, size_t workspace_size, em_result *out);

/* Forgets all images: at the start, and when the cause of a flag is mended. NULL does nothing. */
EM_API void em_drift_reset(em_drift *drift);

/* Counts one image, after em_evaluate; drift->flagged_at tells. A fault is no evidence of drift. An
 * artifact without a drift test never flags: see em_describe_drift. EM_E_NULL, or EM_E_COUNT if the
 * result has not this artifact's number of monitors: then *drift is as before. */
EM_API em_status em_drift_update(const em_monitor *m, em_drift *drift, const em_result *result);

/* EM_E_COUNT if the artifact has no drift test. */
EM_API em_status em_describe_drift(const em_monitor *m, em_drift_info *out);

/* EM_E_COUNT if the artifact has no table of accuracy. */
EM_API em_status em_describe_accuracy(const em_monitor *m, em_accuracy_info *out);

/* Forgets all images and labels. NULL does nothing. */
EM_API void em_accuracy_reset(em_accuracy *accuracy);

/* Counts one image, after em_evaluate and em_drift_update. `drift`: the stream's own, or NULL. When
 * its flag rises or is reset, images and labels are forgotten: they were of other images. The
 * window is a ring of eight blocks: it holds the last 7/8 `window` to `window` images. Without a
 * table nothing is counted. EM_E_NULL, or EM_E_COUNT if the result has not this artifact's number
 * of monitors: then nothing has changed. */
EM_API em_status em_accuracy_update(const em_monitor *m, em_accuracy *accuracy,
                                    const em_drift *drift, const em_result *result);

/* Then, for who wants them, counts of each predicted class, 24 bytes each, zeros at the start. The
 * mean probability of class c, (sums[0] + sums[1]) / (images[0] + images[1]), is over the last half
 * of a window to a window, and corrected by no label. Classes beyond n_classes are left out. */
EM_API em_status em_accuracy_update_class(const em_monitor *m, const em_accuracy *accuracy,
                                          const em_result *result, em_accuracy_class *classes,
                                          size_t n_classes);

/* The probability that this answer is right, to be kept beside an image that is sent home for a
 * label. EM_E_SCORE after a fault, EM_E_COUNT without a table or for another artifact's result. */
EM_API em_status em_accuracy_probability(const em_monitor *m, const em_result *result,
                                         uint16_t *probability);

/* Counts a label that came back: the image's probability, and was the answer right? The images must
 * have been drawn at random, whatever their verdicts; since the flag, if there is one. */
EM_API em_status em_accuracy_label(em_accuracy *accuracy, uint16_t probability, int right);

/* The estimate: mean probability of the window plus mean residual (right - probability) of the
 * labels; the residual is that of calibration, 0, while fewer than `least` labels are there. Not
 * valid with fewer than 30 images in the window, and under a drift flag with fewer than `least`
 * labels since. `drift` as in em_accuracy_update. EM_E_COUNT without a table. */
EM_API em_status em_accuracy_estimate(const em_monitor *m, const em_accuracy *accuracy,
                                      const em_drift *drift, em_estimate *out);

/* A new window with all counts 0. Arrays may be longer than the artifact needs, and shorter: then
 * only the first monitors and classes have records, and images of other classes are counted
 * together. A class costs 8 bytes, for who wants them: either array may be NULL. */
EM_API em_status em_window_start(const em_monitor *m, em_window *window,
                                 em_window_monitor *monitors, size_t n_monitors,
                                 em_window_class *classes, size_t n_classes);

/* Counts one image, after em_evaluate. EM_E_NULL, or EM_E_COUNT if the result or the window is not
 * of this artifact, or the window not started: then *window is as before. */
EM_API em_status em_window_update(const em_monitor *m, em_window *window, const em_result *result);

/* The next window: counts are 0, sequence is one more, `started` is what `ended` was. */
EM_API void em_window_next(em_window *window);

/* Writes the report to `out`: head, records, and a CRC-32 of all that. `drift`: the stream's own,
 * or NULL. Returns its bytes; 0, and nothing is written, if `size` is less than these. */
EM_API size_t em_window_write(const em_window *window, const em_drift *drift, void *out,
                              size_t size);

/* The same with an estimate of accuracy, as em_accuracy_estimate made it; NULL: as em_window_write.
 */
EM_API size_t em_window_write_estimate(const em_window *window, const em_drift *drift,
                                       const em_estimate *estimate, void *out, size_t size);

/* Number of classes: em_result.predicted_class is below it. */
EM_API size_t em_class_count(const em_monitor *m);

/* Descriptions. An index out of range gives EM_E_COUNT. */
EM_API size_t em_tap_count(const em_monitor *m);
EM_API em_status em_describe_tap(const em_monitor *m, size_t index, em_tap_info *out);
EM_API size_t em_monitor_count(const em_monitor *m);
EM_API em_status em_describe_monitor(const em_monitor *m, size_t index, em_monitor_info *out);

/* The metadata (JSON, not NUL-terminated); NULL and size 0 where there is none. */
EM_API const char *em_metadata(const em_monitor *m, size_t *size);

/* A raw score of monitor `index` in the unit that is shown to people; 0 for a bad index. The only
 * computation in double; a build without floats has no em_display. */
EM_API double em_display(const em_monitor *m, size_t index, em_number raw);

/* The release of the runtime that is linked: EM_VERSION as it was compiled with. */
EM_API const char *em_version(void);

EM_API const char *em_status_text(em_status status);
EM_API const char *em_verdict_text(em_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif /* EDGEMON_H */
