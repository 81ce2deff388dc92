/* Programs of all ops on all data types, from random choices, under hostile inputs. */
#include "check.h"
#include "hostile.h"

#include <stdlib.h>

enum { PROGRAMS = 6000, MOST_BYTES = 1024 };

static program p;

static void every_op_on_every_data_type(void) {
    static const em_dtype narrow[] = {EM_I8, EM_U8, EM_I16};
    for (uint32_t op = 1; op < OPS; op++) {
        const uint32_t *reached = p.reached[op], kinds = GENERATORS[op].kinds;
        const uint32_t without_generator = kinds > 0 ? 0 : op;
        EXPECT(without_generator, 0);
        for (uint32_t k = 0; k < 3 && kinds & NARROW; k++) {
            EXPECT(reached[narrow[k]] > 0, 1);
        }
        EXPECT(reached[EM_I32] > 0, (kinds & WORD) != 0);
        EXPECT(reached[EM_I64] > 0, (kinds & LONG) != 0);
        EXPECT(reached[EM_F32] > 0, (kinds & REAL) != 0);
    }
}

void test_generated(void) {
    static uint8_t random[MOST_BYTES];
    uint32_t state = 1;
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        for (uint32_t k = 0; k < MOST_BYTES; k++) {
            state = state * 1664525u + 1013904223u;
            random[k] = (uint8_t)(state >> 24);
        }
        choices c = {random, 64u << (i % 5)};
        run_hostile(&p, &c);
    }
    every_op_on_every_data_type();
}
