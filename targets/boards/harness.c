/*
 * Runs one artifact on a board: em_open, em_self_test, every recorded row, em_check. Prints a line
 * for each, in numbers alone, so that a workstation can compare them bit for bit:
 *
 *   edgemon harness 1
 *   open 0                         an em_status; the program ends here unless it is 0
 *   self-test 0
 *   row REASON CLASS VERDICT VERDICT:SCORE ...       the score's 64 bits, in hexadecimal
 *   drift IMAGES FAULTS FLAGGED_AT                    if the artifact has a drift test
 *   accuracy ESTIMATE LOW HIGH VALID IMAGES          if it has a table of accuracy
 *   check 0
 *   stack FUNCTION BYTES           the deepest that was seen
 *   end
 *
 * ROW_BYTES and WORKSPACE_BYTES are the artifact's, which artifact.S includes. What is between
 * measure_begin() and measure_end() is counted by count.c; the first pair has nothing between. With
 * a table of accuracy there are two more at the end: of an image that is counted, and of an
 * estimate.
 */
#include "lines.h"

enum { PAINTED = 4096, PAINT = 0xA5 };

extern const uint8_t artifact[], artifact_end[];

static em_monitor monitor;
static em_drift drift;
static em_accuracy accuracy;
static em_result result;
static em_tap taps[EM_MAX_TAPS];
_Alignas(8) static uint8_t workspace[WORKSPACE_BYTES], row[ROW_BYTES];

__attribute__((noinline)) void measure_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void measure_end(void) { __asm__ volatile("" ::: "memory"); }

/* ---- the stack, seen --------------------------------------------------------------------------
 */

typedef volatile uint8_t *stack_place;

/* The stack pointer of whoever calls: a macro, since a function has a frame. */
#if defined(__aarch64__) || defined(__arm__)
#define STACK_POINTER(v) __asm__ volatile("mov %0, sp" : "=r"(v))
#elif defined(__riscv)
#define STACK_POINTER(v) __asm__ volatile("mv %0, sp" : "=r"(v))
#elif defined(__x86_64__)
#define STACK_POINTER(v) __asm__ volatile("movq %%rsp, %0" : "=r"(v))
#else
#define STACK_POINTER(v) ((v) = (stack_place)__builtin_frame_address(0))
#endif

static size_t painted;

/* Below the frames that painting itself needs. */
__attribute__((noinline)) static void paint(stack_place top) {
    stack_place own;
    const size_t room = board_stack_room();
    painted = room < PAINTED ? room : PAINTED;
    STACK_POINTER(own);
    for (stack_place at = top - painted; at < own - 16; at++) {
        *at = PAINT;
    }
}

/* Bytes between `top` and the lowest that is no longer painted. */
__attribute__((noinline)) static size_t depth(stack_place top) {
    stack_place at = top - painted;
    while (at < top && *at == PAINT) {
        at++;
    }
    return (size_t)(top - at);
}

enum { OPEN, SELF_TEST, EVALUATE, FUNCTIONS };
static size_t deepest[FUNCTIONS];

#define SEEN(function, call)                                                                       \
    do {                                                                                           \
        stack_place top;                                                                           \
        STACK_POINTER(top);                                                                        \
        paint(top);                                                                                \
        measure_begin();                                                                           \
        call;                                                                                      \
        measure_end();                                                                             \
        const size_t bytes = depth(top);                                                           \
        deepest[function] = bytes > deepest[function] ? bytes : deepest[function];                 \
    } while (0)

/* ---- the program ------------------------------------------------------------------------------
 */

static em_status run_rows(void) {
    find_taps(&monitor, row, taps);
    const size_t n_taps = em_tap_count(&monitor);
    em_status drifting = EM_OK;
    while (board_next_row(row, sizeof row)) {
        SEEN(EVALUATE, em_evaluate(&monitor, taps, n_taps, workspace, sizeof workspace, &result));
        print_result(&result);
        drifting = em_drift_update(&monitor, &drift, &result);
        em_accuracy_update(&monitor, &accuracy, &drift, &result);
    }
    return drifting;
}

static void estimate(void) {
    em_estimate found;
    if (em_accuracy_estimate(&monitor, &accuracy, &drift, &found) != EM_OK) {
        return;
    }
    print_number("accuracy ", found.estimate);
    print_number(" ", found.low);
    print_number(" ", found.high);
    print_number(" ", found.valid);
    print_line(" ", (int32_t)found.images);
    measure_begin();
    em_accuracy_update(&monitor, &accuracy, &drift, &result);
    measure_end();
    measure_begin();
    em_accuracy_estimate(&monitor, &accuracy, &drift, &found);
    measure_end();
}

int main(void) {
    em_status status;
    board_print("edgemon harness 1\n");
    measure_begin();
    measure_end();
    SEEN(OPEN, status = em_open(&monitor, artifact, (size_t)(artifact_end - artifact)));
    print_line("open ", status);
    if (status == EM_OK) {
        SEEN(SELF_TEST, status = em_self_test(&monitor, workspace, sizeof workspace));
        print_line("self-test ", status);
        em_drift_info info;
        if (run_rows() == EM_OK && em_describe_drift(&monitor, &info) == EM_OK) {
            print_number("drift ", (int32_t)drift.images);
            print_number(" ", (int32_t)drift.faults);
            print_line(" ", (int32_t)drift.flagged_at);
        }
        estimate();
        print_line("check ", em_check(&monitor));
    }
    if (painted > 0) {
        print_line("stack em_open ", (int32_t)deepest[OPEN]);
        print_line("stack em_self_test ", (int32_t)deepest[SELF_TEST]);
        print_line("stack em_evaluate ", (int32_t)deepest[EVALUATE]);
    }
    board_print("end\n");
    board_exit(0);
}
