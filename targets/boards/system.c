/* A program of an operating system: rows from rows.bin, lines to standard output. */
#include "board.h"

#include <stdio.h>
#include <stdlib.h>

int board_next_row(void *row, size_t size) {
    static FILE *file;
    if (file == NULL) {
        file = fopen("rows.bin", "rb");
    }
    return file != NULL && fread(row, 1, size, file) == size;
}

void board_print(const char *text) { fputs(text, stdout); }

size_t board_stack_room(void) { return 1 << 14; }

_Noreturn void board_exit(int status) { exit(status); }
