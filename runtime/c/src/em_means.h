/*
 * Private: means of floats over the positions of each channel of a feature map, of the values or of
 * the squares about the means, in the order of FORMAT.md, section 7.1.
 */
#ifndef EM_MEANS_H
#define EM_MEANS_H

#include "em_sums.h"

#if EM_HAS(REDUCE) || EM_HAS(DEVIATION)

/* What the float sums over the positions of a channel are made of: its values, or with `about`, the
 * means of all, the squares of what is above that. */
EM_INLINE em_term map_term_of(const em_f32 *about) {
    return about == NULL ? EM_STRIDED : EM_STRIDED_SQUARE;
}

EM_INLINE em_terms map_terms(const em_f32 *x, const em_f32 *about, uint32_t channels, uint32_t c) {
    const em_terms terms = {.a = x + c, .stride = channels, .scale = about ? about[c] : 0.0f};
    return terms;
}

#if !EM_SMALL
#define MEAN_LANES 16u
#define MEAN_LEVELS 18u /* up to 2^20 positions in eights, and a leaf that is not yet added */

EM_INLINE float map_term(const em_f32 *x, const em_f32 *about, size_t l) {
    if (about == NULL) {
        return x[l];
    }
    const float above = x[l] - about[l];
    return above * above;
}

/* The halving sum of eight positions, `apart` numbers from one to the next; of those behind the
 * fourth, which stand `left` numbers from x on or farther, nothing is there. */
EM_INLINE void sum_of_eight(uint32_t lanes, const em_f32 *x, const em_f32 *about, size_t apart,
                            size_t left, float *sum) {
    static const em_f32 zeros[MEAN_LANES] = {0};
    const em_f32 *none = about == NULL ? zeros : about;
    const em_f32 *upper[4];
    for (size_t r = 0; r < 4; r++) {
        const size_t at = (4 + r) * apart;
        upper[r] = at < left ? x + at : none;
    }
    for (uint32_t l = 0; l < lanes; l++) {
        const float a = map_term(x, about, l), b = map_term(x + apart, about, l);
        const float c = map_term(x + 2 * apart, about, l), d = map_term(x + 3 * apart, about, l);
        const float a_upper = a + map_term(upper[0], about, l);
        const float b_upper = b + map_term(upper[1], about, l);
        const float c_upper = c + map_term(upper[2], about, l);
        const float d_upper = d + map_term(upper[3], about, l);
        const float even = a_upper + c_upper, odd = b_upper + d_upper;
        sum[l] = even + odd;
    }
}

EM_INLINE const em_f32 *from(const em_f32 *about, uint32_t c) {
    return about == NULL ? NULL : about + c;
}

/* Of `lanes` channels side by side the halving sums over five positions or more, times `share`;
 * `lanes`, and whether there is `about`, are constants at each call. */
EM_INLINE void mean_side_by_side(uint32_t lanes, const em_f32 *x, const em_f32 *about,
                                 uint32_t positions, uint32_t channels, float share, em_f32 *out) {
    float pending[MEAN_LEVELS * MEAN_LANES];
    uint32_t waiting = 0, leaves = 1, reversed = 0; /* leaf p: position p and those `leaves` on */
    while (8 * leaves < positions) {
        leaves *= 2;
    }
    uint32_t j = 0;
    do {
        const size_t first = (size_t)reversed * channels, end = (size_t)positions * channels;
        sum_of_eight(lanes, x + first, about, (size_t)leaves * channels, end - first,
                     pending + (size_t)waiting * lanes);
        waiting = em_add_complete(pending, lanes, waiting + 1, j);
        reversed = em_next_reversed(reversed, leaves);
    } while (++j < leaves);
    for (uint32_t l = 0; l < lanes; l++) {
        out[l] = pending[l] * share;
    }
}

/* The same of all channels over up to four positions. */
EM_INLINE void mean_of_few(const em_f32 *x, const em_f32 *about, uint32_t positions,
                           uint32_t channels, float share, em_f32 *out) {
    for (uint32_t c = 0; c < channels; c++) {
        const em_terms terms = map_terms(x, about, channels, c);
        out[c] = em_shortest_sum(map_term_of(about), &terms, positions) * share;
    }
}
#endif

/* Of each channel the mean over its positions, of its values or of the squares about `about`. */
EM_INLINE void means_f32(em_value x, const em_f32 *about, uint32_t channels, em_f32 *out) {
    const em_f32 *v = (const em_f32 *)x.data;
    const uint32_t positions = x.length / channels;
    const float share = 1.0f / (float)positions;
    uint32_t c = 0;
#if !EM_SMALL
    switch (positions) { /* a constant at each call */
    case 1:
        mean_of_few(v, about, 1, channels, share, out);
        return;
    case 2:
        mean_of_few(v, about, 2, channels, share, out);
        return;
    case 3:
        mean_of_few(v, about, 3, channels, share, out);
        return;
    case 4:
        mean_of_few(v, about, 4, channels, share, out);
        return;
    default:
        break;
    }
    for (; c + MEAN_LANES <= channels; c += MEAN_LANES) {
        mean_side_by_side(MEAN_LANES, v + c, from(about, c), positions, channels, share, out + c);
    }
    for (; c + 8 <= channels; c += 8) {
        mean_side_by_side(8, v + c, from(about, c), positions, channels, share, out + c);
    }
    for (; c + 4 <= channels; c += 4) {
        mean_side_by_side(4, v + c, from(about, c), positions, channels, share, out + c);
    }
#endif
    for (; c < channels; c++) {
        const em_terms terms = map_terms(v, about, channels, c);
        const float sum = em_halving_sum(map_term_of(about), &terms, positions);
        out[c] = sum * share;
    }
}
EM_ONCE void channel_means(em_value x, uint32_t channels, em_f32 *out) {
    if (!EM_SMALL && channels == 1) { /* the positions lie side by side */
        const em_terms terms = {.a = (const em_f32 *)x.data};
        *out = em_halving_sum(EM_PLAIN, &terms, x.length) * (1.0f / (float)x.length);
    } else {
        means_f32(x, NULL, channels, out);
    }
}

#endif

#endif /* EM_MEANS_H */
