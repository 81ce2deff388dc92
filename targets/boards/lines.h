/* Lines of numbers, without a library, and a row's taps: of programs that run on a board. */
#ifndef EDGEMON_LINES_H
#define EDGEMON_LINES_H

#include "board.h"
#include "edgemon.h"

static void print_digits(uint64_t value, uint32_t base) {
    char text[24], *at = text + sizeof text - 1;
    *at = '\0';
    do {
        const uint32_t digit = base == 16 ? (uint32_t)value & 15 : (uint32_t)value % 10;
        *--at = "0123456789abcdef"[digit];
        value = base == 16 ? value >> 4 : (uint32_t)value / 10;
    } while (value != 0);
    board_print(at);
}

static void print_number(const char *before, int32_t value) {
    board_print(before);
    if (value < 0) {
        board_print("-");
    }
    print_digits(value < 0 ? 0u - (uint32_t)value : (uint32_t)value, 10);
}

static void print_line(const char *what, int32_t value) {
    print_number(what, value);
    board_print("\n");
}

/* row REASON CLASS VERDICT VERDICT:SCORE ... */
static void print_result(const em_result *result) {
    print_number("row ", result->reason);
    print_number(" ", result->predicted_class);
    print_number(" ", (int32_t)result->verdict);
    for (uint32_t i = 0; i < result->n_monitors; i++) {
        print_number(" ", (int32_t)result->verdicts[i]);
        board_print(":");
        print_digits((uint64_t)result->scores[i].i, 16);
    }
    board_print("\n");
}

/* The taps of a row, which lie one behind the other, each padded to a multiple of 8 bytes. */
static void find_taps(const em_monitor *m, const uint8_t *row, em_tap *taps) {
    static const uint8_t element[] = {0, 1, 1, 2, 4, 8, 4, 4}; /* bytes, by em_dtype */
    for (size_t i = 0; i < em_tap_count(m); i++) {
        em_tap_info info;
        em_describe_tap(m, i, &info);
        taps[i] = (em_tap){row, info.dtype, info.length};
        row += ((size_t)info.length * element[info.dtype] + 7) / 8 * 8;
    }
}

#endif /* EDGEMON_LINES_H */
