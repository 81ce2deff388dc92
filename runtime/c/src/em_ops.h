/* Private: the arithmetic of the ops, section 7 of FORMAT.md. */
#ifndef EM_OPS_H
#define EM_OPS_H

#include "em_layout.h"

/* Computes one node into `out`, its place in the workspace. The file has been validated; `y` is
 * unused where the op has one input. The work depends on the file alone, never on the values. */
EM_INTERNAL void em_run_node(const em_monitor *m, const em_node *node, em_value x, em_value y,
                             void *out);

/* The same for the ops of em_ops_dense.c and of em_ops_rules.c. */
EM_INTERNAL void em_run_dense(const em_monitor *m, const em_node *node, em_value x, void *out);
EM_INTERNAL void em_run_rules(const em_monitor *m, const em_node *node, em_value x, em_value y,
                              void *out);

/* Evaluates the program and judges its scores, behind em_evaluate's checks of taps and workspace.
 * Safe for every bit pattern that the taps hold by now: their memory may change after the check. In
 * em_evaluate.c. */
EM_INTERNAL void em_evaluate_checked(const em_monitor *m, const em_tap *taps, uint8_t *workspace,
                                     em_result *out);

#endif /* EM_OPS_H */
