/*
 * Ops on the channels of a feature map, whose positions stand one behind the other: reduce,
 * deviation. Section 7 of FORMAT.md.
 */
#include "em_means.h"
#include "em_ops.h"
#include "em_wide.h"

/* ---- reduce, deviation ------------------------------------------------------------------- */

#if EM_HAS(REDUCE) || EM_HAS(DEVIATION)
#define MAP_LANES 32u  /* channels side by side, */
#define MAP_HALF 16u   /* where there are as many, else these */
#define MAP_STEPS 128u /* as many bytes of either sign add up in 16 bits */
#endif

#if EM_HAS(REDUCE)
/* One group of all positions, or groups of so many: `group` is what one has of all channels. */
EM_TABLES(reduce) {
    const em_table *t = em_table_at(&c->r->m, c->node->first_table);
    if (t->dtype != EM_U32 || t->count < 1 || t->count > 2) {
        return EM_E_TABLE;
    }
    const em_u32 *shape = (const em_u32 *)em_data_of(&c->r->m, c->node, 0);
    const uint32_t channels = shape[0];
    const uint64_t group = t->count == 2 ? (uint64_t)channels * shape[1] : c->x.length;
    if (channels < 1 || group < 1 || group > c->x.length || c->x.length % (uint32_t)group != 0 ||
        (uint32_t)group % channels != 0) {
        return EM_E_TABLE;
    }
    const uint32_t positions = (uint32_t)group / channels;
    c->result.length = c->x.length / positions;
    c->result.bits = c->x.bits + em_width(positions);
    return EM_OK;
}

/* So many channels of 16 bits side by side, over all positions. */
EM_INLINE void reduce_halfwords(uint32_t lanes, const em_i16 *x, uint32_t channels,
                                uint32_t positions, em_i32 *out) {
    int32_t sum[MAP_LANES] = {0};
    for (; positions > 0; positions--, x += channels) {
        for (uint32_t l = 0; l < lanes; l++) {
            sum[l] += x[l];
        }
    }
    for (uint32_t l = 0; l < lanes; l++) {
        out[l] = sum[l];
    }
}

/* So many channels of bytes side by side, over MAP_STEPS positions at most: in 16 bits. */
EM_INLINE void sum_of_bytes(uint32_t lanes, uint32_t dtype, const uint8_t *x, uint32_t channels,
                            uint32_t steps, int16_t *sum) {
    for (uint32_t l = 0; l < lanes; l++) {
        sum[l] = 0;
    }
    for (; steps > 0; steps--, x += channels) {
        for (uint32_t l = 0; l < lanes; l++) {
            sum[l] = (int16_t)(sum[l] + em_int_of(dtype, x, l));
        }
    }
}

/* The same over all positions. */
EM_INLINE void reduce_bytes(uint32_t lanes, uint32_t dtype, const uint8_t *x, uint32_t channels,
                            uint32_t positions, em_i32 *out) {
    int16_t sum[MAP_LANES];
    uint32_t steps = positions < MAP_STEPS ? positions : MAP_STEPS;
    sum_of_bytes(lanes, dtype, x, channels, steps, sum);
    for (uint32_t l = 0; l < lanes; l++) {
        out[l] = sum[l];
    }
    for (uint32_t left = positions - steps; left > 0; left -= steps) {
        x += (size_t)steps * channels;
        steps = left < MAP_STEPS ? left : MAP_STEPS;
        sum_of_bytes(lanes, dtype, x, channels, steps, sum);
        for (uint32_t l = 0; l < lanes; l++) {
            out[l] += sum[l];
        }
    }
}

EM_INLINE void reduce_lanes(uint32_t lanes, uint32_t dtype, const void *x, uint32_t channels,
                            uint32_t positions, em_i32 *out) {
    if (dtype == EM_I16) {
        reduce_halfwords(lanes, (const em_i16 *)x, channels, positions, out);
    } else {
        reduce_bytes(lanes, dtype, (const uint8_t *)x, channels, positions, out);
    }
}

EM_INLINE int32_t sum_along(uint32_t dtype, em_value x, uint32_t at, uint32_t step) {
    int32_t sum = 0;
    for (; at < x.length; at += step) {
        sum += em_int_of(dtype, x.data, at);
    }
    return sum;
}

EM_INLINE void reduce_int(uint32_t dtype, em_value x, uint32_t channels, em_i32 *out) {
    uint32_t c = 0;
    if (!EM_SMALL && dtype != EM_I32) {
        const uint32_t positions = x.length / channels;
        const uint8_t *data = (const uint8_t *)x.data;
        for (; c + MAP_LANES <= channels; c += MAP_LANES) {
            reduce_lanes(MAP_LANES, dtype, data + (size_t)c * em_size_of(dtype), channels,
                         positions, out + c);
        }
        if (c + MAP_HALF <= channels) {
            reduce_lanes(MAP_HALF, dtype, data + (size_t)c * em_size_of(dtype), channels, positions,
                         out + c);
            c += MAP_HALF;
        }
    }
    if (!EM_SMALL && channels == 1) { /* the positions lie side by side */
        *out = sum_along(dtype, x, 0, 1);
        return;
    }
    for (; c < channels; c++) {
        out[c] = sum_along(dtype, x, c, channels);
    }
}

/* Of each channel over the positions of one group; of floats the mean. */
EM_INLINE void reduce_group(em_value x, uint32_t channels, em_i32 *out) {
    if (em_is_f32(x.dtype)) {
        channel_means(x, channels, (em_f32 *)(void *)out);
    } else {
        EM_OF_EACH_INT(x.dtype, dtype, reduce_int(dtype, x, channels, out));
    }
}

EM_TWICE(reduce_groups, 256) {
    const em_table *t = em_table_at(m, node->first_table);
    const uint32_t channels =
        t->count == 2 ? *(const em_u32 *)em_data_of(m, node, 0) : node->length;
    const uint32_t length = x.length / (node->length / channels);
    const uint8_t *data = (const uint8_t *)x.data;
    for (uint32_t first = 0; first < node->length; first += channels) {
        const em_value group = {data, x.dtype, length};
        reduce_group(group, channels, (em_i32 *)out + first);
        data += (size_t)length * em_size_of(x.dtype);
    }
}

EM_RUN(reduce) { reduce_groups(m, node, x, y, out); }
#endif

#if EM_HAS(DEVIATION)
#define MOST_BITS 62u

EM_TABLES(deviation) {
    c->result.length = em_divisor_of(c->r, c->node, c->x);
    if (c->result.length == 0) {
        return EM_E_TABLE;
    }
    if (!em_is_f32(c->x.dtype)) {
        c->result.bits = c->x.bits + 1;
        const uint32_t sums = c->x.bits + em_width(c->x.length / c->result.length) + 1;
        return 2 * sums <= MOST_BITS ? EM_OK : EM_E_BITS;
    }
    return EM_OK;
}

/* Four times the variance times the square of so many positions, from their sum and the sum of
 * their squares. */
EM_INLINE uint64_t scaled_variance(int64_t sum, uint64_t squares, uint64_t positions) {
    const uint64_t of_sum = (uint64_t)(sum < 0 ? -sum : sum);
    return 4 * (positions * squares - of_sum * of_sum);
}

/* The largest root <= 2^bits with root^2 * square <= v, one bit after the other: what bit k adds is
 * (2 * root + 2^k) * 2^k * square, and `twice` is 2 * root * 2^k * square. */
EM_INLINE uint32_t root_of(uint64_t v, uint64_t square, uint32_t bits) {
    uint64_t root = 0, twice = 0;
    for (uint32_t k = bits + 1; k-- > 0;) {
        const uint64_t own = square << (2 * k), more = twice + own;
        const uint64_t taken = more <= v ? UINT64_MAX : 0;
        v -= more & taken;
        twice = (twice >> 1) + (own & taken);
        root |= (UINT64_C(1) << k) & taken;
    }
    return (uint32_t)root;
}

#if !EM_SMALL
/* One bit of roots side by side. Loops over all lanes, which no other loop holds, become vectors.
 */
EM_INLINE void add_bit(const uint16_t *v, uint32_t k, uint16_t *root) {
    for (uint32_t l = 0; l < MAP_LANES; l++) {
        const uint16_t more = (uint16_t)(root[l] | (1u << k));
        root[l] = (uint16_t)(more * more) <= v[l] ? more : root[l];
    }
}

/* Roots of 16 bits side by side. */
EM_INLINE void roots_of(uint32_t lanes, const uint16_t *v, em_i32 *out) {
    uint16_t root[MAP_LANES] = {0};
    add_bit(v, 7, root);
    add_bit(v, 6, root);
    add_bit(v, 5, root);
    add_bit(v, 4, root);
    add_bit(v, 3, root);
    add_bit(v, 2, root);
    add_bit(v, 1, root);
    add_bit(v, 0, root);
    for (uint32_t l = 0; l < lanes; l++) {
        out[l] = root[l];
    }
}

/* Adds so many positions, fewer than FEW_POSITIONS, to the sums of bytes and of their squares.
 * `flip` makes unsigned ones what is 128 below them: their variance is the same. */
EM_INLINE void add_squares(uint32_t lanes, uint32_t flip, const uint8_t *x, uint32_t channels,
                           uint32_t steps, int16_t *sum, uint32_t *squares) {
    for (; steps >= 3; steps -= 3, x += (size_t)3 * channels) {
        const uint8_t *p = x, *q = p + channels, *r = q + channels;
        for (uint32_t l = 0; l < lanes; l++) { /* three squares fit in 16 bits */
            const int16_t a = (int8_t)(p[l] ^ flip), b = (int8_t)(q[l] ^ flip);
            const int16_t c = (int8_t)(r[l] ^ flip);
            const uint16_t ab = (uint16_t)((uint16_t)(a * a) + (uint16_t)(b * b));
            sum[l] = (int16_t)(sum[l] + (int16_t)(a + b + c));
            squares[l] += (uint16_t)(ab + (uint16_t)(c * c));
        }
    }
    for (; steps > 0; steps--, x += channels) {
        for (uint32_t l = 0; l < lanes; l++) {
            const int16_t a = (int8_t)(x[l] ^ flip);
            sum[l] = (int16_t)(sum[l] + a);
            squares[l] += (uint16_t)(a * a);
        }
    }
}

#define FEW_POSITIONS 256u /* fewer have sums of 16 bits, and 32 suffice for the variance */

/* Of bytes four times the variance, rounded down: below 2^16, and its root is the deviation. */
EM_INLINE void variances_of_few(uint32_t lanes, uint32_t flip, const uint8_t *x, uint32_t channels,
                                uint32_t positions, uint16_t *out) {
    int16_t sum[MAP_LANES] = {0};
    uint32_t squares[MAP_LANES] = {0};
    add_squares(lanes, flip, x, channels, positions, sum, squares);
    for (uint32_t l = 0; l < MAP_LANES; l++) {
        const uint32_t of_sum = (uint32_t)((int32_t)sum[l] * sum[l]);
        squares[l] = 4 * (positions * squares[l] - of_sum);
    }
    const uint32_t shift = 2 * em_width(positions), square = positions * positions;
    const int is_power = (positions & (positions - 1)) == 0;
    for (uint32_t l = 0; l < MAP_LANES; l++) {
        out[l] = (uint16_t)(is_power ? squares[l] >> shift : squares[l] / square);
    }
}

/* There are 2^16 positions at most: as many squares add up in 32 bits. */
EM_INLINE void variances_of_many(uint32_t lanes, uint32_t flip, const uint8_t *x, uint32_t channels,
                                 uint32_t positions, uint16_t *out) {
    int32_t sum[MAP_LANES] = {0};
    uint32_t squares[MAP_LANES] = {0};
    for (uint32_t left = positions; left > 0;) {
        const uint32_t steps = left < MAP_STEPS ? left : MAP_STEPS;
        int16_t part[MAP_LANES] = {0};
        add_squares(lanes, flip, x, channels, steps, part, squares);
        for (uint32_t l = 0; l < lanes; l++) {
            sum[l] += part[l];
        }
        x += (size_t)steps * channels;
        left -= steps;
    }
    const uint64_t square = (uint64_t)positions * positions;
    for (uint32_t l = 0; l < MAP_LANES; l++) {
        out[l] = (uint16_t)(scaled_variance(sum[l], squares[l], positions) / square);
    }
}

/* So many channels of bytes side by side. */
EM_INLINE void deviation_bytes(uint32_t lanes, uint32_t flip, const uint8_t *x, uint32_t channels,
                               uint32_t positions, em_i32 *out) {
    uint16_t variances[MAP_LANES];
    if (positions < FEW_POSITIONS) {
        variances_of_few(lanes, flip, x, channels, positions, variances);
    } else {
        variances_of_many(lanes, flip, x, channels, positions, variances);
    }
    roots_of(lanes, variances, out);
}

_Static_assert(EM_MAX_LENGTH / MAP_HALF <= 0x10000, "positions of so many channels");

/* Of channels of bytes, but for the last ones that do not fill the lanes; `flip` is a constant. */
EM_INLINE void deviation_blocks(uint32_t flip, em_value x, uint32_t channels, em_i32 *out) {
    const uint8_t *data = (const uint8_t *)x.data;
    const uint32_t positions = x.length / channels;
    uint32_t c = 0;
    for (; c + MAP_LANES <= channels; c += MAP_LANES) {
        deviation_bytes(MAP_LANES, flip, data + c, channels, positions, out + c);
    }
    if (c + MAP_HALF <= channels) {
        deviation_bytes(MAP_HALF, flip, data + c, channels, positions, out + c);
    }
}

EM_TWICE(deviation_lanes, 256) {
    if (x.dtype == EM_I8) {
        deviation_blocks(0, x, node->length, (em_i32 *)out);
    } else {
        deviation_blocks(0x80, x, node->length, (em_i32 *)out);
    }
}
#endif

#define SHORT_POSITIONS 0x10000u /* as many squares of bytes add up in 32 bits */

/* Of the channels from `c` on. */
EM_INLINE void deviation_int(uint32_t dtype, em_value x, uint32_t channels, uint32_t c,
                             uint32_t bits, em_i32 *out) {
    const uint64_t positions = x.length / channels;
    for (; c < channels; c++) {
        int64_t sum = 0;
        uint64_t squares = 0;
        if ((dtype == EM_I8 || dtype == EM_U8) && positions <= SHORT_POSITIONS) {
            /* Signed bytes as what is 128 above them: their variance is the same. */
            const uint32_t flip = dtype == EM_I8 ? 0x80 : 0;
            uint32_t short_sum = 0, short_squares = 0, left = (uint32_t)positions;
            for (const uint8_t *p = (const uint8_t *)x.data + c; left > 0; left--, p += channels) {
                const uint32_t value = *p ^ flip;
                short_sum += value;
                short_squares += value * value;
            }
            sum = (int64_t)short_sum;
            squares = short_squares;
        } else {
            for (uint32_t at = c; at < x.length; at += channels) {
                const int64_t value = em_int_of(dtype, x.data, at);
                sum += value;
                squares += (uint64_t)(value * value);
            }
        }
        const uint64_t scaled = scaled_variance(sum, squares, positions);
        out[c] = (em_i32)root_of(scaled, positions * positions, bits);
    }
}

#if EM_FLOATS
/* The means give way to the variances about them. */
EM_ONCE void channel_variances(em_value x, uint32_t channels, em_f32 *out) {
    means_f32(x, out, channels, out);
}

static void deviation_f32(em_value x, uint32_t channels, em_f32 *out) {
    channel_means(x, channels, out);
    channel_variances(x, channels, out);
    for (uint32_t c = 0; c < channels; c++) {
        const float half = 0.5f * em_log(out[c]);
        out[c] = em_exp(half);
    }
}
#endif

/* The standard deviation of each channel over its positions; of integers in half codes. */
EM_RUN(deviation) {
    if (em_is_f32(x.dtype)) {
#if EM_FLOATS
        deviation_f32(x, node->length, (em_f32 *)out);
#endif
    } else {
        uint32_t done = 0;
#if !EM_SMALL
        if (x.dtype == EM_I8 || x.dtype == EM_U8) {
            deviation_lanes(m, node, x, y, out);
            done = node->length - node->length % MAP_HALF;
        }
#endif
        EM_OF_INTS(x.dtype, dtype,
                   deviation_int(dtype, x, node->length, done, node->bits, (em_i32 *)out));
    }
}
#endif
