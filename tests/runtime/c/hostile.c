#include "em_ops.h"

#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition) require(__LINE__, #condition, (condition))

static void require(int line, const char *what, int holds) {
    if (!holds) {
        fprintf(stderr, "hostile.c:%d: %s does not hold\n", line, what);
        abort();
    }
}

/* ---- taps ----------------------------------------------------------------------------------- */

/* The chosen bytes seldom suffice for long taps: then a generator goes on, from a chosen seed. */
static uint32_t seed;

static uint32_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void fill_integers(uint8_t *codes, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t r = next_random();
        /* a lowest code, a highest code, or any */
        codes[i] = (uint8_t)((r & 7) == 0 ? 0x80 : (r & 7) == 1 ? 0x7F : r >> 8);
    }
}

static void fill_floats(em_f32 *x, uint32_t n, int numbers) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t kind = next_random() >> 8, bits = next_random();
        x[i] = numbers ? number_of(kind, bits) : any_float_of(kind, bits);
    }
}

static void fill(const program *p, em_tap *taps, int numbers) {
    for (uint32_t i = 0; i < p->b.n_taps; i++) {
        void *data = (void *)(uintptr_t)taps[i].data;
        if (taps[i].dtype == EM_F32) {
            fill_floats((em_f32 *)data, taps[i].length, numbers);
        } else {
            fill_integers((uint8_t *)data, taps[i].length * size_of(taps[i].dtype));
        }
    }
}

static int are_numbers(const program *p, const em_tap *taps) {
    int numbers = 1;
    for (uint32_t i = 0; i < p->b.n_taps; i++) {
        numbers &=
            taps[i].dtype != EM_F32 || em_all_finite((const em_u32 *)taps[i].data, taps[i].length);
    }
    return numbers;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static int is_within(const void *data, em_dtype dtype, uint32_t i, uint32_t bits) {
    const int64_t v = dtype == EM_I64 ? ((const em_i64 *)data)[i] : ((const em_i32 *)data)[i];
    const int64_t bound = (int64_t)1 << bits;
    return v >= -bound && v <= bound;
}

static const void *data_of(const program *p, const em_monitor *m, const em_tap *taps,
                           const uint8_t *workspace, uint32_t id) {
    return id < p->b.n_taps ? taps[id].data : workspace + em_node_at(m, id - p->b.n_taps)->offset;
}

/* A tree as one would walk it by hand: until the leaf, and not for a number of steps. */
static uint32_t walk(const em_tree_node *nodes, uint32_t at, const void *x, em_dtype dtype) {
    while (nodes[at].child >> 16 != at) {
        const uint32_t feature = nodes[at].child & 0xFFFF;
        const int right = dtype == EM_F32
                              ? ((const em_f32 *)x)[feature] > em_float_of(nodes[at].threshold)
                              : em_int_at(dtype, x, feature) > (int32_t)nodes[at].threshold;
        at = (nodes[at].child >> 16) + (uint32_t)right;
    }
    return at;
}

/* An index that left a tree may still lie in the file: no sanitizer would see it. */
static void check_trees(const program *p, const em_monitor *m, const em_tap *taps,
                        const uint8_t *workspace) {
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const em_node *node = em_node_at(m, i);
        if (node->op != TREES && node->op != EARLY_TREES) {
            continue;
        }
        const void *x = data_of(p, m, taps, workspace, node->x);
        const em_tree_node *nodes = (const em_tree_node *)em_data_of(m, node, 0);
        const em_i32 *values = (const em_i32 *)em_data_of(m, node, 1);
        const em_tree_root *roots = (const em_tree_root *)em_data_of(m, node, 2);
        int32_t sum = 0;
        for (uint32_t t = 0; t < em_table_at(m, node->first_table + 2)->count / 2; t++) {
            sum += values[walk(nodes, roots[t].node, x, p->values[node->x].dtype)];
        }
        REQUIRE(*(const em_i32 *)(const void *)(workspace + node->offset) == sum);
    }
}

static void check_values(const program *p, const em_monitor *m, const em_tap *taps,
                         const uint8_t *workspace) {
    for (uint32_t i = p->b.n_taps; i < p->n_values; i++) {
        const value *v = &p->values[i];
        const void *data = data_of(p, m, taps, workspace, i);
        if (v->dtype == EM_F32) {
            REQUIRE(em_all_finite((const em_u32 *)data, v->length));
            continue;
        }
        for (uint32_t k = 0; k < v->length; k++) {
            REQUIRE(is_within(data, v->dtype, k, v->bits));
        }
        if (v->classes > 0) {
            REQUIRE(*(const em_i32 *)data >= 0 && (uint32_t) * (const em_i32 *)data < v->classes);
        }
    }
    check_trees(p, m, taps, workspace);
}

static void check_result(const em_monitor *m, const em_result *r, int changed) {
    REQUIRE(r->n_monitors == em_monitor_count(m));
    if (r->reason == EM_OK) {
        REQUIRE(r->verdict <= EM_ALARM);
    } else {
        REQUIRE(r->reason == EM_E_SCORE || (r->reason == EM_E_TAP_VALUE && !changed));
        REQUIRE(r->verdict == EM_FAULT);
    }
    const int known = r->reason != EM_E_TAP_VALUE;
    REQUIRE(known ? r->predicted_class >= 0 && (size_t)r->predicted_class < em_class_count(m)
                  : r->predicted_class == -1);
    for (uint32_t i = 0; i < r->n_monitors; i++) {
        REQUIRE((r->verdicts[i] == EM_FAULT) == (r->reason != EM_OK));
        REQUIRE(r->reason == EM_OK || r->scores[i].i == 0);
        em_display(m, i, r->scores[i]);
    }
}

/* ---- evaluations ---------------------------------------------------------------------------- */

/* Blocks of exactly each tap's size, so that a sanitizer sees every byte beyond. */
static void allocate(const program *p, em_tap *taps) {
    for (uint32_t i = 0; i < p->b.n_taps; i++) {
        const value *v = &p->values[i];
        taps[i] = (em_tap){malloc((size_t)v->length * size_of(v->dtype)), v->dtype, v->length};
        REQUIRE(taps[i].data != NULL);
    }
}

static void evaluate_all(const program *p, const em_monitor *m, em_tap *taps, uint8_t *workspace) {
    em_result r;
    for (int round = 0; round < 2; round++) {
        const int numbers = round == 0;
        fill(p, taps, numbers);
        em_evaluate(m, taps, p->b.n_taps, workspace, em_workspace_size(m), &r);
        check_result(m, &r, 0);
        REQUIRE((r.reason == EM_E_TAP_VALUE) == !are_numbers(p, taps));
        if (r.reason != EM_E_TAP_VALUE) {
            check_values(p, m, taps, workspace);
        }
    }
    em_evaluate_checked(m, taps, workspace, &r); /* on what em_evaluate did not let in */
    check_result(m, &r, 1);
    check_values(p, m, taps, workspace);
}

void run_hostile(program *p, choices *c) {
    static artifact a;
    em_monitor m;
    em_tap taps[MOST_TAPS];
    seed = choose_bits(c) | 1;
    generate(p, c, &a);
    uint8_t *file = malloc(a.size);
    REQUIRE(file != NULL);
    memcpy(file, a.file, a.size);
    REQUIRE(em_open(&m, file, a.size) == EM_OK);
    uint8_t *workspace = malloc(em_workspace_size(&m));
    REQUIRE(workspace != NULL);
    allocate(p, taps);
    evaluate_all(p, &m, taps, workspace);
    for (uint32_t i = 0; i < p->b.n_taps; i++) {
        free((void *)(uintptr_t)taps[i].data);
    }
    free(workspace);
    free(file);
}
