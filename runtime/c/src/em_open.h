/* Private: what the two files of the validation share. */
#ifndef EM_OPEN_H
#define EM_OPEN_H

#include "em_layout.h"

/* The sections in the order of their kinds. */
enum {
    EM_S_PROGRAM,
    EM_S_TAPS,
    EM_S_NODES,
    EM_S_TABLES,
    EM_S_MONITORS,
    EM_S_STRINGS,
    EM_S_DATA,
    EM_S_SELF_TEST,
    EM_S_META,
    EM_S_SECTIONS
};

/* The file while it is being validated: `m` is filled as far as the checks have come. */
typedef struct em_reader {
    em_monitor m;
    em_section section[EM_S_SECTIONS]; /* offset 0: absent */
    uint32_t n_tables;
    uint32_t tables_taken; /* by the nodes so far */
    uint32_t used;         /* bytes of workspace so far, a multiple of 8 */
} em_reader;

/* What is known of a value, or what an op prescribes for its result. */
typedef struct em_facts {
    uint32_t dtype, length, bits;
} em_facts;

EM_INTERNAL em_facts em_facts_of(const em_monitor *m, uint32_t id);

/* Every node in turn: N1 to N10, sections 7.4 and 7.5, A5, P5, P6. In em_open_nodes.c. */
EM_INTERNAL em_status em_check_nodes(em_reader *r);

#endif /* EM_OPEN_H */
