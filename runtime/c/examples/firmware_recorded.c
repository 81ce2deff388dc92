/*
 * A stand-in for the product around firmware.c: the "interpreter" yields recorded tensors, row by
 * row, and reactions are lines of text. Rows and lines go through the four functions of board.h
 * (targets/boards). recorded.h, which the tests write, says what the tensors are called, where they
 * lie in a row, and the model's SHA-256.
 *
 * Built with DAMAGE_AT=n a byte of the artifact changes before image n (one that no evaluation
 * reads: what others do before em_check finds them, nobody promises); with FAIL_AT=n the
 * interpreter fails on it.
 */
#include "firmware.h"

#include "board.h"
#include "recorded.h"

#include <string.h>

#ifndef DAMAGE_AT
#define DAMAGE_AT 0
#endif
#ifndef FAIL_AT
#define FAIL_AT 0
#endif

extern const uint8_t artifact[], artifact_end[]; /* of artifact.S */

static const struct {
    const char *name;
    uint32_t offset;
} TENSORS[] = {RECORDED_TENSORS};
static const uint8_t SHA256[32] = {RECORDED_SHA256};

_Alignas(8) static uint8_t row[ROW_BYTES];
static uint32_t image;

const uint8_t *artifact_in_flash(size_t *size) {
    *size = (size_t)(artifact_end - artifact);
    return artifact;
}

const uint8_t *model_sha256(void) { return SHA256; }

int next_frame(void) {
    if (++image == DAMAGE_AT) {
        ((volatile uint8_t *)(uintptr_t)artifact)[40] ^= 1; /* RAM, on an emulated board */
    }
    return board_next_row(row, sizeof row);
}

int run_model(void) { return image == FAIL_AT; }

const void *model_tensor(const char *name) {
    for (size_t i = 0; i < sizeof TENSORS / sizeof *TENSORS; i++) {
        if (strcmp(TENSORS[i].name, name) == 0) {
            return row + TENSORS[i].offset;
        }
    }
    return NULL;
}

void say(const char *text) {
    board_print(text);
    board_print("\n");
}

void act_on(int32_t answer) {
    char text[] = "act on 00";
    text[7] = (char)('0' + answer / 10 % 10);
    text[8] = (char)('0' + answer % 10);
    say(text);
}

void hold_last(void) { say("hold"); }

void hand_over(const char *why) {
    board_print("hand over: ");
    say(why);
}
