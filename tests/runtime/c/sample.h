/* Test only: one small artifact that uses every op, and names for its parts. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "builder.h"

/* Taps */
enum { LOGITS, FEATURES, PIXELS, N_TAPS };

/* Nodes */
enum {
    N_ARGMAX,
    N_MAX,
    N_SUB,
    N_LUT,
    N_SUM,
    N_TO_F32,
    N_EXP,
    N_LOG,
    N_SUM_F32,
    N_ADD,
    N_MUL,
    N_DIV,
    N_BOXES,
    N_TREES_F32,
    N_BOXES_F32,
    N_TREES,
    N_MAX_F32,
    N_NODES
};

/* Tables */
enum {
    T_ENTRIES,
    T_BASE,
    T_SCALE,
    T_ZERO,
    T_LOWER,
    T_UPPER,
    T_WEIGHT,
    T_FIRST,
    T_NODES_F32,
    T_VALUES_F32,
    T_ROOTS_F32,
    T_LOWER_F32,
    T_UPPER_F32,
    T_WEIGHT_F32,
    T_FIRST_F32,
    T_NODES,
    T_VALUES,
    T_ROOTS,
    N_TABLES
};

/* Monitors, by their scores: i32, f32, i64 */
enum { M_BOX, M_ENTROPY, M_VOTES, N_MONITORS };

/* The value that a node defines. */
#define VALUE(node) (N_TAPS + (uint32_t)(node))

#define N_VECTORS 2u

/* The drift test watches M_ENTROPY: edges 1, 4 and 6, and two alternatives. */
enum { DRIFT_BINS = 4, DRIFT_ALTERNATIVES = 2, DRIFT_LIMIT = 200000 };
extern const int32_t DRIFT_INCREMENTS[DRIFT_ALTERNATIVES * DRIFT_BINS];
void add_drift(builder *b, uint32_t monitor, const em_number *edges);

/* The table of accuracy looks up M_ENTROPY: edges 1 and 4, and 1, 30000/65535 and 0. */
enum { ACCURACY_STEPS = 3 };
void add_accuracy(builder *b, uint32_t monitor, const em_number *edges);

/* Without self-test; add your own sections, then finish(b, VALUE(N_ARGMAX), a). */
void start_sample(builder *b);
/* With self-test (vector 0 is good, vector 1 has a NaN), metadata, drift test and table of
 * accuracy. */
void sample(artifact *a);
/* The taps of a self-test vector. */
const em_tap *sample_taps(uint32_t vector);

#endif /* SAMPLE_H */
