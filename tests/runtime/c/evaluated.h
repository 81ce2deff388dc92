/* Test only: a program in the making, evaluated once, and the results of its nodes. */
#ifndef EVALUATED_H
#define EVALUATED_H

#include "builder.h"

#define NOT_A_NUMBER f32_of(0x7FC00000)
#define INFINITE f32_of(0x7F800000)
#define LARGEST f32_of(0x7F7FFFFF)

float f32_of(uint32_t bits);

/* Finishes the program with an argmax of its first tap, and evaluates it. */
em_status run(builder *b, const em_tap *taps);

/* Evaluates a finished file; `b` of the functions below is what it was made of. */
em_status run_file(const artifact *a, const em_tap *taps, uint32_t n_taps);

/* As run, as if the taps had changed to this after em_evaluate had checked them. */
em_status run_changed(builder *b, const em_tap *taps);

extern em_result result; /* of the last run */

/* Element i of the node's result in the last run; nodes are counted from 0. */
int32_t i32(const builder *b, uint32_t node, uint32_t i);
int64_t i64(const builder *b, uint32_t node, uint32_t i);
float f32(const builder *b, uint32_t node, uint32_t i);

#endif /* EVALUATED_H */
