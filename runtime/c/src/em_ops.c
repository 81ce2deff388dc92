/* The list of ops made into code: one case for each op that this build has. */
#include "em_ops.h"

EM_TYPES(reals) {
    c->result = (em_facts){EM_F32, c->x.length, 0};
    return em_is_f32(c->x.dtype);
}

EM_TYPES(numbers) {
    c->result = (em_facts){em_word_of(c->x), c->x.length, c->x.bits};
    return em_is_number(c->x);
}

EM_TABLES(none) { return EM_OK; }

EM_WORK(elements) { return em_larger(n, node->length); }

EM_INTERNAL em_arity em_arity_of(uint32_t op) {
    static const em_arity arity[EM_OP_COUNT] = {
#define EM_ARITY(number, NAME, name, inputs, tables, ...)                                          \
    EM_IF(EDGEMON_OP_##NAME, [EM_OP_##NAME] = {inputs, tables}, )
        EM_OP_LIST(EM_ARITY)
#undef EM_ARITY
    };
    return arity[op];
}

#ifdef EDGEMON_SOME_OPS
EM_INTERNAL const char *em_lacking(uint32_t op) {
    static const struct {
        uint8_t op;
        char name[15]; /* in place: a pointer would have to be relocated */
    } lacking[] = {
#define EM_NAME(number, NAME, name, ...) EM_UNLESS(EDGEMON_OP_##NAME, {EM_OP_##NAME, #name}, )
        EM_OP_LIST(EM_NAME)
#undef EM_NAME
            {0, "floats"}}; /* the last row: EM_OP_COUNT, and no op, for ops say N1 */
    uint32_t i = 0;
    while (lacking[i].op != 0 && lacking[i].op != op) {
        i++;
    }
    return lacking[i].name;
}
#endif

#define EM_CASE(number, NAME, name, inputs, tables, rule, ...)                                     \
    EM_IF(EDGEMON_OP_##NAME, case EM_OP_##NAME : return em_types_##rule(c);)

EM_INTERNAL int em_check_types(em_candidate *c) {
    switch (c->node->op) { EM_OP_LIST(EM_CASE) }
    return 0;
}

#undef EM_CASE
#define EM_CASE(number, NAME, name, inputs, tables, type_rule, rule, ...)                          \
    EM_IF(EDGEMON_OP_##NAME, case EM_OP_##NAME : return em_tables_##rule(c);)

EM_INTERNAL em_status em_check_tables(em_candidate *c) {
    switch (c->node->op) { EM_OP_LIST(EM_CASE) }
    return EM_E_NODE;
}

#undef EM_CASE
#define EM_CASE(number, NAME, name, inputs, tables, type_rule, table_rule, rule)                   \
    EM_IF(EDGEMON_OP_##NAME, case EM_OP_##NAME : return em_work_##rule(m, node, n);)

EM_INTERNAL uint64_t em_work_of_node(const em_monitor *m, const em_node *node, uint32_t n) {
    switch (node->op) { EM_OP_LIST(EM_CASE) }
    return 0;
}

#undef EM_CASE
#define EM_CASE(number, NAME, name, ...)                                                           \
    EM_IF(EDGEMON_OP_##NAME, case EM_OP_##NAME : em_run_##name(m, node, x, y, out); break;)

EM_INTERNAL void em_run_node(const em_monitor *m, const em_node *node, em_value x, em_value y,
                             void *out) {
    switch (node->op) { EM_OP_LIST(EM_CASE) } /* em_open admits no other: N1 */
}
