/*
 * Private: what every op brings, and how the rest of the runtime comes to it.
 *
 * An op is a row of em_op_list.h and, in the file of its family, between #if EM_HAS(NAME) and
 * #endif, the functions that its row names. The macros below give them their parameters, of which
 * an op uses what it needs; `y` is `x` where the op has one input.
 */
#ifndef EM_OPS_H
#define EM_OPS_H

#include "em_open.h"

/* A node while it is checked. */
typedef struct em_candidate {
    const em_reader *r;
    const em_node *node;
    em_facts x, y;
    em_facts result;  /* that the op prescribes */
    uint32_t scratch; /* bytes that it needs behind its result */
} em_candidate;

/* Are the inputs what the op takes? Sets the result, apart from what the tables decide. */
#define EM_TYPES(name) EM_INTERNAL int em_types_##name(em_candidate *c)

/* Are the node's tables what the op takes, of inputs that are? There are as many as the row says.
 * Completes the length and bits of the result. */
#define EM_TABLES(name) EM_INTERNAL em_status em_tables_##name(EM_UNUSED em_candidate *c)

/* Element operations of a validated node whose x has n elements: section 7.12. */
#define EM_WORK(name)                                                                              \
    EM_INTERNAL uint64_t em_work_##name(EM_UNUSED const em_monitor *m,                             \
                                        EM_UNUSED const em_node *node, EM_UNUSED uint32_t n)

#define EM_TRANSCENDENTAL UINT64_C(16) /* operations of an exponential or logarithm, and some */

/* Computes a validated node into `out`, its place in the workspace. The time depends on the file
 * alone, never on the values; but of early_trees, where the file bounds it. */
#define EM_RUN(name)                                                                               \
    EM_INTERNAL void em_run_##name(EM_UNUSED const em_monitor *m, EM_UNUSED const em_node *node,   \
                                   EM_UNUSED em_value x, EM_UNUSED em_value y, void *out)

#define EM_DECLARE(number, NAME, name, inputs, tables, type_rule, table_rule, work_rule)           \
    EM_IF(EDGEMON_OP_##NAME, EM_TYPES(type_rule); EM_TABLES(table_rule); EM_WORK(work_rule);       \
          EM_RUN(name);)
EM_OP_LIST(EM_DECLARE)
#undef EM_DECLARE

/* Rules that ops share, in em_ops.c: of floats, and of numbers of all sizes, which give what is as
 * long as x unless the tables say otherwise; no tables; as much work as there are elements. */
EM_UNUSED EM_TYPES(reals);
EM_UNUSED EM_TYPES(numbers);
EM_UNUSED EM_TABLES(none);
EM_UNUSED EM_WORK(elements);

/* ---- by the node's op: made from the list in em_ops.c ---- */

/* N1, N4, N5 of an op and of the tables it takes: 0 inputs where this build lacks the op. */
typedef struct em_arity {
    uint8_t inputs, tables;
} em_arity;

EM_INTERNAL em_arity em_arity_of(uint32_t op);

/* The name of an op that this build lacks. */
#ifdef EDGEMON_SOME_OPS
EM_INTERNAL const char *em_lacking(uint32_t op);
#else
#define em_lacking(op) ((void)(op), (const char *)NULL)
#endif

EM_INTERNAL int em_check_types(em_candidate *c);
EM_INTERNAL em_status em_check_tables(em_candidate *c);
EM_INTERNAL uint64_t em_work_of_node(const em_monitor *m, const em_node *node, uint32_t n);
EM_INTERNAL void em_run_node(const em_monitor *m, const em_node *node, em_value x, em_value y,
                             void *out);

/* ---- what runs nodes ---- */

/* Evaluates the program and judges its scores, behind em_evaluate's checks of taps and workspace.
 * Safe for every bit pattern that the taps hold by now: their memory may change after the check. In
 * em_evaluate.c. */
EM_INTERNAL void em_evaluate_checked(const em_monitor *m, const em_tap *taps, uint8_t *workspace,
                                     em_result *out);

/* EM_OK if the float ops of this build give the known answers here; section 7.11. In
 * em_known_answers.c. */
EM_INTERNAL em_status em_check_arithmetic(void);

#endif /* EM_OPS_H */
