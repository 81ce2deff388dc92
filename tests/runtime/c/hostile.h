/* Test only: a generated program under inputs that were chosen to break it. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "generate.h"

/* Generates a program, opens it, and evaluates it on chosen taps: on numbers, on anything, and on
 * taps that change to anything after their check. Aborts where em_open does not accept it, or where
 * a result is not what FORMAT.md admits: a float that is no number, an integer beyond its bound. */
void run_hostile(program *p, choices *c);

#endif /* HOSTILE_H */
