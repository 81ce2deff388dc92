/*
 * Test only: programs of all ops on all data types, as somebody chooses. Each is valid: its bounds
 * are reckoned here, from the tables of FORMAT.md, and em_open must come to the same.
 */
#ifndef GENERATE_H
#define GENERATE_H

#include "builder.h"
#include "choices.h"

enum { MOST_TAPS = 4, MOST_VALUES = 40, LONGEST = 8320 };

/* What is known of a value. */
typedef struct value {
    em_dtype dtype;
    uint32_t length, bits;
    uint32_t classes; /* of a class node, else 0 */
    uint32_t is_argmax;
} value;

typedef struct program {
    builder b;
    value values[MOST_VALUES];
    uint32_t n_values;
    uint32_t reached[OPS][8]; /* nodes of each op on each data type, over all programs */
} program;

/* Begins a program anew, adds what is chosen, and finishes the file. */
void generate(program *p, choices *c, artifact *a);

/* ---- between generate.c, generate_nodes.c and generate_rules.c ---- */

/* Kinds of data types, to be combined */
enum { NARROW = 1, WORD = 2, LONG = 4, REAL = 8, INT = NARROW | WORD };

/* A value of one of these kinds, and of this length unless it is 0; NONE if there is none. */
uint32_t pick(const program *p, choices *c, uint32_t kinds, uint32_t length);

/* A class node; over `classes` classes unless that is 0. */
uint32_t pick_class(const program *p, choices *c, uint32_t classes);

/* Is there room for tables of so many bytes? */
int has_room(const program *p, uint32_t size);

/* Adds a node on the tables since the last one. */
void add(program *p, uint32_t op, em_dtype dtype, uint32_t length, uint32_t x, uint32_t y,
         uint32_t bits);

/* The data type of an op's result that widens integers. */
em_dtype wide(const value *x);

/* The smallest w with n <= 2^w. */
uint32_t width(uint32_t n);

/* A number that divides n. */
uint32_t choose_divisor(choices *c, uint32_t n);

/* Tables of chosen content. The integers return the largest magnitude among them. */
void add_numbers(program *p, choices *c, uint32_t count, int positive);
uint32_t add_ints(program *p, choices *c, uint32_t count, uint32_t bits);
uint32_t add_shorts(program *p, choices *c, uint32_t count, uint32_t bits);
void add_words(program *p, const uint32_t *words, uint32_t count);
/* A table of as many numbers of x's kind: i32 or f32. Returns the magnitude of integers. */
uint32_t add_like(program *p, choices *c, const value *x, uint32_t count, uint32_t bits);
/* Shares out `count` things among classes, in a table with one entry more than classes. */
void add_first(program *p, choices *c, uint32_t classes, uint32_t count);

/* Of every op: the kinds of its first input, and what adds a node of it, unless nothing fits. */
typedef void adder(program *p, choices *c, uint32_t op);
typedef struct generator {
    uint32_t kinds;
    adder *add;
} generator;
extern const generator GENERATORS[OPS]; /* in generate_nodes.c */

/* In generate_rules.c */
adder add_affine, add_density_tables, add_kernels, add_distances, add_logsumexp;
adder add_boxes, add_trees, add_perfect_trees, add_hamming;

#endif /* GENERATE_H */
