#include "sample.h"

#include "check.h"

#include <string.h>

static const int8_t LOGIT_CODES[] = {-20, 30, 7, 12};
static const uint8_t PIXEL_CODES[] = {3, 11};
static float GOOD[] = {0.25f, -1.5f, 2.0f};
static float BAD[] = {0.25f, -1.5f, 0.0f};

const em_tap *sample_taps(uint32_t vector) {
    static em_tap taps[N_TAPS] = {
        {LOGIT_CODES, EM_I8, 4}, {NULL, EM_F32, 3}, {PIXEL_CODES, EM_U8, 2}};
    memcpy(&BAD[2], &(uint32_t){0x7FC00000}, 4);
    taps[FEATURES].data = vector == 0 ? GOOD : BAD;
    return taps;
}

static void add_int_nodes(builder *b) {
    const int32_t entries[] = {0, 1, 2, 4}, base[] = {-3};
    const float scale[] = {0.5f};
    const int32_t zero[] = {0};
    add_node(b, ARGMAX, EM_I32, 1, LOGITS, NONE, 2);
    add_node(b, MAX, EM_I32, 1, LOGITS, NONE, 7);
    add_node(b, SUB, EM_I32, 4, LOGITS, VALUE(N_MAX), 8);
    add_table(b, EM_I32, 4, entries);
    add_table(b, EM_I32, 1, base);
    add_node(b, LUT, EM_I32, 4, VALUE(N_SUB), NONE, 2);
    add_node(b, SUM, EM_I64, 1, VALUE(N_LUT), NONE, 4);
    add_table(b, EM_F32, 1, scale);
    add_table(b, EM_I32, 1, zero);
    add_node(b, TO_F32, EM_F32, 1, VALUE(N_SUM), NONE, 0);
}

static void add_float_nodes(builder *b) {
    add_node(b, EXP, EM_F32, 3, FEATURES, NONE, 0);
    add_node(b, LOG, EM_F32, 3, VALUE(N_EXP), NONE, 0);
    add_node(b, SUM, EM_F32, 1, VALUE(N_LOG), NONE, 0);
    add_node(b, ADD, EM_F32, 1, VALUE(N_SUM_F32), VALUE(N_TO_F32), 0);
    add_node(b, MUL, EM_F32, 3, VALUE(N_EXP), VALUE(N_LOG), 0);
    add_node(b, DIV, EM_F32, 3, VALUE(N_MUL), VALUE(N_ADD), 0);
}

static void add_boxes(builder *b) {
    const int8_t lower[] = {-30, 20, 0, 0, -128, -128, -128, -128};
    const int8_t upper[] = {-10, 40, 9, 20, 127, 127, 127, 127};
    const int32_t weight[] = {1, 2, 3, 4};
    const uint32_t first[] = {0, 0, 1, 1, 2};
    add_table(b, EM_I8, 8, lower);
    add_table(b, EM_I8, 8, upper);
    add_table(b, EM_I32, 4, weight);
    add_table(b, EM_U32, 5, first);
    add_node(b, BOXES, EM_I32, 1, LOGITS, VALUE(N_ARGMAX), 30);
}

static void add_trees_f32(builder *b) {
    const uint32_t nodes[] = {0x3F000000, 1u << 16,   0xBF800000, 2 + (3u << 16), 0x7F7FFFFF,
                              2u << 16,   0x7F7FFFFF, 3u << 16,   0x7F7FFFFF,     4u << 16};
    const int32_t values[] = {0, 0, 1, 2, 3};
    const uint32_t roots[] = {0, 2};
    add_table(b, EM_U32, 10, nodes);
    add_table(b, EM_I32, 5, values);
    add_table(b, EM_U32, 2, roots);
    add_node(b, TREES, EM_I32, 1, FEATURES, NONE, 2);
}

static void add_boxes_f32(builder *b) {
    const float lower[] = {0.0f, -2.0f, 0.0f}, upper[] = {1.0f, -1.0f, 1.5f};
    const float weight[] = {1.0f, 1.0f, 4.0f};
    const uint32_t first[] = {0, 0, 1, 1, 1};
    add_table(b, EM_F32, 3, lower);
    add_table(b, EM_F32, 3, upper);
    add_table(b, EM_F32, 3, weight);
    add_table(b, EM_U32, 5, first);
    add_node(b, BOXES, EM_F32, 1, FEATURES, VALUE(N_ARGMAX), 0);
}

static void add_trees(builder *b) {
    const uint32_t nodes[] = {10,         1 + (1u << 16), 0x7FFFFFFF, 1u << 16,
                              0x7FFFFFFF, 2u << 16,       0x7FFFFFFF, 3u << 16};
    const int32_t values[] = {0, 5, -7, 1};
    const uint32_t roots[] = {0, 1, 3, 0};
    add_table(b, EM_U32, 8, nodes);
    add_table(b, EM_I32, 4, values);
    add_table(b, EM_U32, 4, roots);
    add_node(b, TREES, EM_I32, 1, PIXELS, NONE, 4);
}

void start_sample(builder *b) {
    start(b);
    add_tap(b, EM_I8, 4);
    add_tap(b, EM_F32, 3);
    add_tap(b, EM_U8, 2);
    add_int_nodes(b);
    add_float_nodes(b);
    add_boxes(b);
    add_trees_f32(b);
    add_boxes_f32(b);
    add_trees(b);
    add_node(b, MAX, EM_F32, 1, VALUE(N_DIV), NONE, 0);
    add_monitor(b, VALUE(N_BOXES), (em_number){.i = 0}, (em_number){.i = -5});
    em_number high = {0}, low = {0};
    high.f = 6.0f;
    low.f = 4.0f;
    add_monitor(b, VALUE(N_MAX_F32), high, low);
    add_monitor(b, VALUE(N_SUM), (em_number){.i = 12}, (em_number){.i = 12});
}

static void add_word(bytes *part, uint32_t v) {
    uint8_t raw[4];
    set32(raw, v);
    append(part, raw, 4);
}

/* The expected results are the runtime's own: test_ops.c holds it to values made by hand. */
static void add_vector(builder *b, const em_monitor *m, uint32_t vector) {
    static uint64_t workspace[64];
    const em_tap *taps = sample_taps(vector);
    em_result r;
    em_evaluate(m, taps, N_TAPS, workspace, sizeof workspace, &r);
    for (uint32_t i = 0; i < N_TAPS; i++) {
        append(&b->self_test, taps[i].data, taps[i].length * size_of(taps[i].dtype));
        pad(&b->self_test);
    }
    add_word(&b->self_test, (uint32_t)r.verdict);
    add_word(&b->self_test, (uint32_t)r.predicted_class);
    add_word(&b->self_test, (uint32_t)r.reason);
    add_word(&b->self_test, 0);
    append(&b->self_test, r.scores, 8 * N_MONITORS);
    for (uint32_t i = 0; i < N_MONITORS; i++) {
        add_word(&b->self_test, (uint32_t)r.verdicts[i]);
    }
    pad(&b->self_test);
}

const int32_t DRIFT_INCREMENTS[] = {-40000, -20000, 30000, 100000, 60000, -10000, -10000, -10000};

void add_drift(builder *b, uint32_t monitor, const em_number *edges) {
    add_word(&b->drift, monitor);
    add_word(&b->drift, DRIFT_BINS);
    add_word(&b->drift, DRIFT_ALTERNATIVES);
    add_word(&b->drift, DRIFT_LIMIT);
    add_word(&b->drift, 500); /* run length */
    for (int i = 0; i < 3; i++) {
        add_word(&b->drift, 0);
    }
    append(&b->drift, edges, 8 * (DRIFT_BINS - 1));
    append(&b->drift, DRIFT_INCREMENTS, sizeof DRIFT_INCREMENTS);
}

void add_accuracy(builder *b, uint32_t monitor, const em_number *edges) {
    static const uint32_t head[] = {ACCURACY_STEPS, 64, 30, 1000, 429483622, 0, 0};
    static const uint16_t probabilities[ACCURACY_STEPS] = {65535, 30000, 0};
    add_word(&b->accuracy, monitor);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        add_word(&b->accuracy, head[i]);
    }
    append(&b->accuracy, edges, 8 * (ACCURACY_STEPS - 1));
    append(&b->accuracy, probabilities, sizeof probabilities);
}

void sample(artifact *a) {
    static builder b;
    em_monitor m;
    start_sample(&b);
    finish(&b, VALUE(N_ARGMAX), a);
    EXPECT(em_open(&m, a->file, a->size), EM_OK);

    start_sample(&b);
    add_word(&b.self_test, N_VECTORS);
    add_word(&b.self_test, 3 * 16 + 64);
    add_word(&b.self_test, 0);
    add_word(&b.self_test, 0);
    for (uint32_t i = 0; i < N_VECTORS; i++) {
        add_vector(&b, &m, i);
    }
    append(&b.meta, "{\"edgemon\": 1}", 14);
    em_number edges[DRIFT_BINS - 1] = {{0}, {0}, {0}};
    edges[0].f = 1.0f;
    edges[1].f = 4.0f;
    edges[2].f = 6.0f;
    add_drift(&b, M_ENTROPY, edges);
    add_accuracy(&b, M_ENTROPY, edges);
    finish(&b, VALUE(N_ARGMAX), a);
}
