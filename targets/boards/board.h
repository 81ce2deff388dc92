/*
 * What the harness needs of a board. A board of your own brings these four functions, start-up code
 * that calls main(), and a linker script; name them in a profile's [emulator] table, or build them
 * with harness.c, edgemon.c and artifact.S for the real thing (docs/porting.md).
 */
#ifndef EDGEMON_BOARD_H
#define EDGEMON_BOARD_H

#include <stddef.h>
#include <stdint.h>

/* The next recorded row: its taps one behind the other, each padded to a multiple of 8 bytes.
 * Returns 1, or 0 after the last. */
int board_next_row(void *row, size_t size);

/* Writes a text, which ends in NUL, to whoever listens: a debugger, a UART, a terminal. */
void board_print(const char *text);

/* How many bytes below the stack pointer are free, so that they may be painted; 0: unknown. */
size_t board_stack_room(void);

/* Ends the program; status 0 is success. Where nothing ends: stays here for ever. */
_Noreturn void board_exit(int status);

#endif /* EDGEMON_BOARD_H */
