/* Start-up of a Cortex-M: vectors, memory, floating point; a fault ends the program and says so. */
#include "board.h"

extern uint32_t data_start[], data_end[], data_in_flash[], bss_start[], bss_end[], stack_top[];

int main(void);

/* Loops and not memcpy: the library's may need what is not ready yet. */
static void prepare_memory(void) {
    const volatile uint32_t *from = data_in_flash;
    for (volatile uint32_t *to = data_start; to < data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = bss_start; to < bss_end; to++) {
        *to = 0;
    }
}

_Noreturn void board_start(void) {
#if defined(__ARM_FP)
    volatile uint32_t *const access_control = (volatile uint32_t *)0xE000ED88; /* CPACR */
    *access_control |= UINT32_C(0xF) << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
#endif
    prepare_memory();
    main();
    board_exit(0);
}

_Noreturn void board_fault(void) {
    board_print("fault\n");
    board_exit(1);
}

size_t board_stack_room(void) {
    uintptr_t here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    return here - (uintptr_t)bss_end;
}

/* The first words of memory: where the stack begins, where to start, and fifteen exceptions. */
typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler handlers[15];
} vectors = {stack_top,
             {board_start, board_fault, board_fault, board_fault, board_fault, board_fault,
              board_fault, board_fault, board_fault, board_fault, board_fault, board_fault,
              board_fault, board_fault, board_fault}};
