/*
 * Recorded taps in one file, as `edgemon target taps` writes it. Numbers are little-endian.
 *
 *    0  magic 8E 45 4D 54 41 50 0D 0A
 *    8  u32 version, 1
 *   12  u32 rows
 *   16  u32 bytes of a row
 *   20  u32 taps, 1 to EM_MAX_TAPS
 *   24  u32 artifacts whose results are stated
 *   28  u32 bytes of the names, a multiple of 8
 *   32  each tap: u32 em_dtype, u32 elements, u32 em_view, u32 where its name begins in the names
 *       each artifact: u32 CRC-32 of its file, u32 CRC-32 of its results, see results_crc
 *       the names, each with a NUL behind it
 *       the rows: their taps one behind the other, each padded with zeros to a multiple of 8 bytes
 *       u32 CRC-32 of everything before
 */
#ifndef TAPS_FILE_H
#define TAPS_FILE_H

#include <edgemon/edgemon.h>

typedef struct recorded_tap {
    em_dtype dtype;
    uint32_t length; /* in elements */
    uint32_t view;
    const char *name;
    size_t offset; /* in a row, bytes */
    size_t bytes;  /* without the padding */
} recorded_tap;

/* Lies in the bytes that taps_open was given. */
typedef struct taps_file {
    uint32_t rows, n_taps, n_expected;
    size_t row_bytes;
    const uint8_t *first_row, *expected;
    recorded_tap taps[EM_MAX_TAPS];
} taps_file;

/* Checks every byte. NULL, or what is wrong with the file. `bytes` is aligned to 8. */
const char *taps_open(taps_file *file, const uint8_t *bytes, size_t size);

/* The tap that an artifact wants; NULL if the file has none of this name and view. */
const recorded_tap *taps_find(const taps_file *file, const em_tap_info *wanted);

/* 1 and the CRC-32 that the reference's results have for this artifact, or 0 if it is not stated.
 */
int taps_expected(const taps_file *file, uint32_t artifact_crc, uint32_t *results);

/* Of all taps, one after the other: as `edgemon bench --json` states it. */
uint32_t taps_crc(const taps_file *file);

/* CRC-32 as in zlib; `crc` is 0 at first, then what the last call gave. */
uint32_t crc32_of(uint32_t crc, const void *bytes, size_t size);

/* Of one row's result: i32 reason, i32 class, u8 verdict, and of each monitor u8 verdict and u64
 * score, which is the bits of an f32 score, or the number. */
uint32_t results_crc(uint32_t crc, const em_monitor *m, const em_result *result);

#endif /* TAPS_FILE_H */
