/* Files that are damaged as it happens: cut short, with wrong bits, with wrong bytes (SEC1). */
#include "check.h"
#include "sample.h"

static void truncation(void) {
    static artifact a;
    em_monitor m;
    sample(&a);
    uint32_t opened = 0;
    for (uint32_t size = 0; size < a.size; size++) {
        opened += open_exactly(a.file, size, &m) == EM_OK;
    }
    EXPECT(opened, 0);
    for (uint32_t size = 64; size < a.size; size += 16) { /* even where the header agrees */
        sample(&a);
        const uint32_t whole = a.size;
        set32(a.file + 16, size);
        a.size = size;
        fix_crc(&a);
        opened += open_exactly(a.file, size, &m) == EM_OK;
        a.size = whole;
    }
    EXPECT(opened, 0);
}

static void every_bit_flip(void) {
    static artifact a;
    em_monitor m;
    sample(&a);
    uint32_t opened = 0;
    for (uint32_t bit = 0; bit < 8 * a.size; bit++) {
        const uint32_t byte = bit / 8;
        a.file[byte] = (uint8_t)(a.file[byte] ^ (1u << bit % 8));
        opened += em_open(&m, a.file, a.size) == EM_OK;
        a.file[byte] = (uint8_t)(a.file[byte] ^ (1u << bit % 8));
    }
    EXPECT(opened, 0);
}

/* Under a corrected checksum every byte takes several values: never a crash, and whatever opens
 * can be evaluated. The fuzzer goes further. */
static void every_byte(void) {
    static artifact a;
    static uint64_t workspace[1024];
    static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
    sample(&a);
    uint32_t evaluated = 0;
    for (uint32_t i = 0; i < a.size; i++) {
        const uint8_t before = a.file[i];
        for (size_t v = 0; v < sizeof values; v++) {
            em_monitor m;
            em_result r;
            a.file[i] = values[v];
            fix_crc(&a);
            if (em_open(&m, a.file, a.size) == EM_OK && m.n_taps == N_TAPS) {
                em_evaluate(&m, sample_taps(0), N_TAPS, workspace, sizeof workspace, &r);
                em_self_test(&m, workspace, sizeof workspace);
                em_drift drift = {0};
                em_drift_update(&m, &drift, &r);
                em_accuracy accuracy = {0};
                em_estimate estimate;
                em_accuracy_update(&m, &accuracy, &drift, &r);
                em_accuracy_estimate(&m, &accuracy, &drift, &estimate);
                evaluated++;
            }
        }
        a.file[i] = before;
    }
    EXPECT(evaluated > 0, 1);
}

void test_damage(void) {
    truncation();
    every_bit_flip();
    every_byte();
}
