#include "choices.h"

#include <string.h>

static uint32_t next_byte(choices *c) {
    if (c->left == 0) {
        return 0;
    }
    c->left--;
    return *c->at++;
}

uint32_t choose_bits(choices *c) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        v = v << 8 | next_byte(c);
    }
    return v;
}

uint32_t choose(choices *c, uint32_t n) { return (n > 256 ? choose_bits(c) : next_byte(c)) % n; }

int32_t choose_int(choices *c, uint32_t bits) {
    const int32_t end = (int32_t)(1u << bits);
    switch (choose(c, 8)) {
    case 0:
        return end;
    case 1:
        return -end;
    case 2:
        return end - 1;
    case 3:
        return 0;
    default: {
        const int32_t v = (int32_t)choose(c, (uint32_t)end + 1);
        return choose(c, 2) ? -v : v;
    }
    }
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Zeros, denormals, the smallest and largest normal numbers, and usual ones. */
static const uint32_t NUMBERS[] = {0,          0x80000000, 1,          0x80000001, 0x007FFFFF,
                                   0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
                                   0xBF800000, 0x42AC0000, 0xC2AC0000, 0x3F000000};
static const uint32_t NO_NUMBERS[] = {0x7FC00000, 0x7F800001, 0xFFC00000,
                                      0xFFFFFFFF, 0x7F800000, 0xFF800000};

float number_of(uint32_t kind, uint32_t bits) {
    const uint32_t exponent = UINT32_C(0x7F800000);
    switch (kind % 4) {
    case 0:
        return float_of(NUMBERS[bits % (sizeof NUMBERS / sizeof *NUMBERS)]);
    case 1:
        return float_of((bits & exponent) == exponent ? bits ^ UINT32_C(0x00800000) : bits);
    default:
        return (float)((int32_t)(bits % 256) - 128) / 16.0f;
    }
}

float any_float_of(uint32_t kind, uint32_t bits) {
    switch (kind % 8) {
    case 0:
    case 1:
        return float_of(NO_NUMBERS[bits % (sizeof NO_NUMBERS / sizeof *NO_NUMBERS)]);
    case 2:
        return float_of(bits);
    default:
        return number_of(kind >> 3, bits);
    }
}

float choose_number(choices *c) {
    const uint32_t kind = next_byte(c);
    return number_of(kind, kind % 4 == 1 ? choose_bits(c) : next_byte(c));
}

float choose_positive(choices *c) {
    float v = choose_number(c);
    v = v < 0.0f ? -v : v;
    return v > 0.0f ? v : 1.0f;
}
