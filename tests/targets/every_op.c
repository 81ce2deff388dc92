/*
 * Test only: runs many small artifacts on a board, one after the other, with a runtime of all ops.
 * Of each come a head, the artifact and its rows; it answers with a line for each row, as
 * harness.c. measure_begin() and measure_end() enclose an evaluation, for plug-ins that watch it.
 */
#include "lines.h"

typedef struct head {
    uint32_t size, rows, row_bytes, reserved;
} head;

_Alignas(8) static uint8_t artifact[ARTIFACT_BYTES], row[ROW_BYTES], workspace[WORKSPACE_BYTES];
static em_monitor monitor;
static em_result result;
static em_tap taps[EM_MAX_TAPS];

__attribute__((noinline)) void measure_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void measure_end(void) { __asm__ volatile("" ::: "memory"); }

int main(void) {
    head h;
    board_print("edgemon harness 1\n");
    while (board_next_row(&h, sizeof h) && board_next_row(artifact, h.size)) {
        print_line("open ", em_open(&monitor, artifact, h.size));
        find_taps(&monitor, row, taps);
        for (uint32_t i = 0; i < h.rows && board_next_row(row, h.row_bytes); i++) {
            measure_begin();
            em_evaluate(&monitor, taps, em_tap_count(&monitor), workspace, sizeof workspace,
                        &result);
            measure_end();
            print_result(&result);
        }
    }
    board_print("end\n");
    board_exit(0);
}
