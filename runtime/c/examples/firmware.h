/*
 * What firmware.c needs of the product around it: camera, interpreter, steering, and somebody who
 * takes over. The tests bring a stand-in that yields recorded tensors (firmware_recorded.c).
 */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stddef.h>
#include <stdint.h>

/* The artifact in flash, aligned to 8 bytes: the array that `edgemon compile --c-header` writes, or
 * the file itself, included by the assembler. */
const uint8_t *artifact_in_flash(size_t *size);

/* SHA-256 of the model in flash (32 bytes), as the build computed it of the file that it put there.
 */
const uint8_t *model_sha256(void);

/* Waits for the next image and puts it into the model's input. Returns 0 when the engine stops. */
int next_frame(void);

/* Runs the model on it. Returns 0, or an error of the interpreter, after which nothing is valid.
 * TFLite Micro: interpreter.Invoke() == kTfLiteOk. */
int run_model(void);

/* Where the tensor with this name lies after run_model. At power-on the names are looked up once;
 * an interpreter that overwrites inner tensors has to be told to keep them (the tapped model of the
 * bundle has them as outputs). TFLite Micro: interpreter.output(i)->data.raw, by the manifest's
 * order. */
const void *model_tensor(const char *name);

/* The answer is good: act on it. */
void act_on(int32_t answer);
/* Not to be relied on: go on with the last good one, and slowly. */
void hold_last(void);
/* A person or another system takes over; `why` is for the log. */
void hand_over(const char *why);
/* For the log. */
void say(const char *text);

#endif /* FIRMWARE_H */
