/* Evaluates programs of one op on a board: all artifacts and their rows are in it (data.h, data.S,
 * written by on_target.py), and what is between measure_begin() and measure_end() is counted by
 * count.c, first nothing. Prints the result of each row, so that builds can be compared. */
#include "lines.h"

typedef struct {
    const uint8_t *artifact, *end, *rows;
    uint32_t row_bytes;
} entry;

#include "data.h" /* static const entry entries[]; N_ENTRIES, ROWS, WORKSPACE_BYTES */

static em_monitor monitor;
static em_result result;
static em_tap taps[EM_MAX_TAPS];
_Alignas(8) static uint8_t workspace[WORKSPACE_BYTES];

__attribute__((noinline)) void measure_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void measure_end(void) { __asm__ volatile("" ::: "memory"); }

int main(void) {
    board_print("edgemon harness 1\n");
    measure_begin();
    measure_end();
    for (uint32_t i = 0; i < N_ENTRIES; i++) {
        const entry *of = &entries[i];
        print_line("open ", em_open(&monitor, of->artifact, (size_t)(of->end - of->artifact)));
        const size_t n = em_tap_count(&monitor);
        for (uint32_t row = 0; row < ROWS; row++) {
            find_taps(&monitor, of->rows + row * of->row_bytes, taps);
            measure_begin();
            em_evaluate(&monitor, taps, n, workspace, sizeof workspace, &result);
            measure_end();
            print_result(&result);
        }
    }
    board_print("end\n");
    board_exit(0);
}
