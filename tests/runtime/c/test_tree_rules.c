/* One bad file a rule of FORMAT.md about trees: their tables, their order, leaves and depths. */
#include "bad_files.h"
#include "check.h"
#include "sample.h"

/* T_NODES_F32: 0 -> 1, 2; 1 -> 3, 4; T_NODES: 0 -> 1, 2 and the single leaf 3. */
#define TREE_CASES(X)                                                                              \
    X(TREES_NODES_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_NODES, 0), EM_I32))                     \
    X(TREES_VALUES_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_VALUES, 0), EM_U32))                   \
    X(TREES_ROOTS_DTYPE, EM_E_TABLE, set16(FIELD(TABLES, T_ROOTS, 0), EM_I32))                     \
    X(TREES_NODES_COUNT, EM_E_TABLE, set32(FIELD(TABLES, T_NODES_F32, 8), 11))                     \
    X(TREES_HALF_A_ROOT, EM_E_TABLE, set32(FIELD(TABLES, T_ROOTS_F32, 8), 3))                      \
    X(R1_NOT_BREADTH_FIRST, EM_E_TREE, set32(CONTENT(T_NODES_F32, 4), 3u << 16))                   \
    X(R1_CYCLE, EM_E_TREE, set32(CONTENT(T_NODES_F32, 12), 2 + (0u << 16)))                        \
    X(R1_SHARED_CHILD, EM_E_TREE, set32(CONTENT(T_NODES_F32, 12), 2 + (2u << 16)))                 \
    X(R1_CHILD_BEYOND, EM_E_TREE, set32(CONTENT(T_NODES_F32, 12), 2 + (4u << 16)))                 \
    X(R1_CHILD_OF_LAST, EM_E_TREE, set32(CONTENT(T_NODES, 28), 4u << 16),                          \
      set32(CONTENT(T_VALUES, 12), 0))                                                             \
    X(R1_ORPHAN, EM_E_TREE, set32(CONTENT(T_NODES_F32, 8), 0x7F7FFFFF),                            \
      set32(CONTENT(T_NODES_F32, 12), 1u << 16), set32(CONTENT(T_ROOTS_F32, 4), 1))                \
    X(R1_FIRST_ROOT_NOT_0, EM_E_TREE, set32(CONTENT(T_ROOTS, 0), 1))                               \
    X(R1_SECOND_ROOT_INSIDE_FIRST, EM_E_TREE, set32(CONTENT(T_ROOTS, 8), 2))                       \
    X(R1_ROOT_BEYOND, EM_E_TREE, set32(CONTENT(T_ROOTS, 8), 0xFFFFFFFF))                           \
    X(R2_LEAF_FEATURE, EM_E_TREE, set32(CONTENT(T_NODES, 12), 1 + (1u << 16)))                     \
    X(R2_LEAF_THRESHOLD, EM_E_TREE, set32(CONTENT(T_NODES, 8), 0x7FFFFFFE))                        \
    X(R2_LEAF_THRESHOLD_F32, EM_E_TREE, set32(CONTENT(T_NODES_F32, 16), F32_ONE))                  \
    X(R3_FEATURE_BEYOND, EM_E_TREE, set32(CONTENT(T_NODES, 4), 2 + (1u << 16)))                    \
    X(R3_THRESHOLD_NAN, EM_E_TREE, set32(CONTENT(T_NODES_F32, 0), F32_NAN))                        \
    X(R3_THRESHOLD_INFINITE, EM_E_TREE, set32(CONTENT(T_NODES_F32, 0), F32_INF))                   \
    X(R3_INNER_VALUE, EM_E_TREE, set32(CONTENT(T_VALUES, 0), 1))                                   \
    X(R4_DEPTH_TOO_SMALL, EM_E_TREE, set32(CONTENT(T_ROOTS_F32, 4), 1))                            \
    X(R4_DEPTH_TOO_LARGE, EM_E_TREE, set32(CONTENT(T_ROOTS_F32, 4), 3))                            \
    X(R4_DEPTH_HUGE, EM_E_TREE, set32(CONTENT(T_ROOTS, 4), 0xFFFFFFFF))

TREE_CASES(DEFINE_CASE)

static const bad_file BAD_FILES[] = {TREE_CASES(LIST_CASE)};

void test_tree_rules(void) {
    expect_refused(BAD_FILES, sizeof BAD_FILES / sizeof *BAD_FILES, sample);
}
