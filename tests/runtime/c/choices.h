/* Test only: numbers that somebody else chooses, a fuzzer or a random number generator. */
#ifndef CHOICES_H
#define CHOICES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes one after another, zeros behind the last. */
typedef struct choices {
    const uint8_t *at;
    size_t left;
} choices;

uint32_t choose_bits(choices *c);

/* 0 to n - 1. */
uint32_t choose(choices *c, uint32_t n);

/* From -2^bits to 2^bits, the ends often; `bits` at most 30. */
int32_t choose_int(choices *c, uint32_t bits);

/* A number, the extreme ones often. */
float choose_number(choices *c);
float choose_positive(choices *c);

/* The same of random bits: a number, or anything, NaN and infinities often. */
float number_of(uint32_t kind, uint32_t bits);
float any_float_of(uint32_t kind, uint32_t bits);

#endif /* CHOICES_H */
