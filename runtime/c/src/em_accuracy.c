/*
 * How accurate is the model now: FORMAT.md, section 15. Its record is validated here, images and
 * labels are counted here, and the estimate is made. Whole numbers only.
 *
 * The mean probability of being right over a window of images, corrected by what a few labels say
 * of these probabilities: prediction-powered inference (Angelopoulos et al. 2023, Science 382).
 */
#include "em_open.h"

#define UNIT UINT64_C(65535)            /* probability 1 */
#define MOST_STEPS 64u                  /* E2 */
#define MOST_LABELS (UINT32_C(1) << 16) /* then older ones count half */
#define LEAST_IMAGES 30u                /* for a variance */
#define LEAST_OF_A_KIND 5u              /* right and wrong labels, for a normal residual */
#define Z_SQUARED UINT64_C(3934)        /* in 1/1024: 1.96^2 */

_Static_assert(sizeof(em_accuracy) == 224, "the memory of an accuracy has no padding");
_Static_assert(sizeof(em_estimate) == 56, "an estimate has no padding");

/* ---- the record ---------------------------------------------------------------------------- */

static const em_accuracy_record *record_of(const em_monitor *m) {
    return (const em_accuracy_record *)(const void *)(m->file + m->accuracy);
}

static const em_number *knots_of(const em_accuracy_record *a) {
    return (const em_number *)(const void *)(a + 1);
}

static const em_u16 *steps_of_table(const em_accuracy_record *a) {
    return (const em_u16 *)(const void *)(knots_of(a) + (a->steps - 1));
}

EM_INTERNAL em_status em_check_accuracy(const em_reader *r) {
    const em_section *s = &r->section[EM_S_ACCURACY];
    if (s->offset == 0) {
        return EM_OK;
    }
    if (s->size < sizeof(em_accuracy_record)) {
        return EM_E_ACCURACY; /* E9 */
    }
    const em_accuracy_record *a = record_of(&r->m);
    if (a->reserved[0] != 0 || a->reserved[1] != 0) {
        return EM_E_RESERVED; /* E6 */
    }
    if (a->monitor >= r->m.n_monitors || a->steps < 2 || a->steps > MOST_STEPS || a->window < 64 ||
        a->window > UINT32_C(1) << 20 || a->least < 8 || a->least > MOST_LABELS || a->rows < 1) {
        return EM_E_ACCURACY; /* E1 to E5 */
    }
    if (s->size != sizeof(em_accuracy_record) + 8 * (a->steps - 1) + 2 * a->steps) {
        return EM_E_ACCURACY; /* E9 */
    }
    const em_u16 *step = steps_of_table(a);
    for (uint32_t i = 1; i < a->steps; i++) {
        if (step[i] > step[i - 1]) {
            return EM_E_ACCURACY; /* E8 */
        }
    }
    return em_check_edges(&r->m, a->monitor, knots_of(a), a->steps - 1, EM_E_ACCURACY); /* E7 */
}

EM_API em_status em_describe_accuracy(const em_monitor *m, em_accuracy_info *out) {
    if (m == NULL || m->file == NULL || out == NULL) {
        return EM_E_NULL;
    }
    if (m->accuracy == 0) {
        return EM_E_COUNT;
    }
    const em_accuracy_record *a = record_of(m);
    out->monitor = a->monitor;
    out->steps = a->steps;
    out->window = a->window;
    out->least = a->least;
    out->rows = a->rows;
    out->variance = a->variance;
    return EM_OK;
}

/* ---- images -------------------------------------------------------------------------------- */

/* EM_E_SCORE for an image without a score. */
static em_status look_up(const em_monitor *m, const em_result *result, uint16_t *probability) {
    const em_accuracy_record *a = record_of(m);
    *probability = 0;
    if (result->verdicts[a->monitor] == EM_FAULT ||
        !em_is_score(m, a->monitor, result->scores[a->monitor])) {
        return EM_E_SCORE;
    }
    const uint32_t step =
        em_bin_of(m, a->monitor, knots_of(a), a->steps - 1, result->scores[a->monitor]);
    *probability = steps_of_table(a)[step];
    return EM_OK;
}

EM_API em_status em_accuracy_probability(const em_monitor *m, const em_result *result,
                                         uint16_t *probability) {
    if (m == NULL || m->file == NULL || result == NULL || probability == NULL) {
        return EM_E_NULL;
    }
    if (m->accuracy == 0 || result->n_monitors != m->n_monitors) {
        return EM_E_COUNT;
    }
    return look_up(m, result, probability);
}

EM_API void em_accuracy_reset(em_accuracy *accuracy) {
    if (accuracy != NULL) {
        memset(accuracy, 0, sizeof *accuracy);
    }
}

static uint64_t seen_in(const em_accuracy_block *b) { return (uint64_t)b->images + b->faults; }

EM_API em_status em_accuracy_update(const em_monitor *m, em_accuracy *accuracy,
                                    const em_drift *drift, const em_result *result) {
    if (m == NULL || m->file == NULL || accuracy == NULL || result == NULL) {
        return EM_E_NULL;
    }
    if (result->n_monitors != m->n_monitors) {
        return EM_E_COUNT;
    }
    if (m->accuracy == 0) {
        return EM_OK;
    }
    if (drift != NULL && drift->flagged_at != accuracy->flagged_at) {
        memset(accuracy, 0, sizeof *accuracy); /* what was before is of other images */
        accuracy->flagged_at = drift->flagged_at;
    }
    accuracy->block %= EM_ACCURACY_BLOCKS;
    em_accuracy_block *own = &accuracy->blocks[accuracy->block];
    if (seen_in(own) >= (record_of(m)->window + EM_ACCURACY_BLOCKS - 1) / EM_ACCURACY_BLOCKS) {
        accuracy->block = (accuracy->block + 1) % EM_ACCURACY_BLOCKS;
        own = &accuracy->blocks[accuracy->block];
        memset(own, 0, sizeof *own);
    }
    uint16_t probability;
    if (look_up(m, result, &probability) == EM_OK) {
        own->images++;
        own->sum += probability;
        own->squares += (uint32_t)probability * (uint32_t)probability;
    } else {
        own->faults++;
    }
    return EM_OK;
}

EM_API em_status em_accuracy_update_class(const em_monitor *m, const em_accuracy *accuracy,
                                          const em_result *result, em_accuracy_class *classes,
                                          size_t n_classes) {
    if (m == NULL || m->file == NULL || accuracy == NULL || result == NULL || classes == NULL) {
        return EM_E_NULL;
    }
    if (result->n_monitors != m->n_monitors) {
        return EM_E_COUNT;
    }
    if (m->accuracy == 0) {
        return EM_OK;
    }
    uint64_t seen = 0;
    for (uint32_t i = 0; i < EM_ACCURACY_BLOCKS; i++) {
        seen += seen_in(&accuracy->blocks[i]);
    }
    const uint32_t block = accuracy->block % EM_ACCURACY_BLOCKS;
    const uint32_t half = 2 * block / EM_ACCURACY_BLOCKS;
    const int begins = block % (EM_ACCURACY_BLOCKS / 2) == 0 &&
                       seen_in(&accuracy->blocks[block]) == 1; /* this half, with this image */
    for (size_t i = 0; begins && i < n_classes; i++) {
        if (seen == 1) {
            memset(&classes[i], 0, sizeof classes[i]);
        }
        classes[i].images[half] = 0;
        classes[i].sums[half] = 0;
    }
    uint16_t probability;
    const uint32_t chosen = (uint32_t)result->predicted_class;
    if (chosen < n_classes && look_up(m, result, &probability) == EM_OK) {
        classes[chosen].images[half]++;
        classes[chosen].sums[half] += probability;
    }
    return EM_OK;
}

/* ---- labels -------------------------------------------------------------------------------- */

static uint64_t at_most(uint64_t n, uint64_t most) { return n < most ? n : most; }

/* Residuals are kept plus 1, so that none is negative: of a right answer 2 - p, of a wrong 1 - p.
 * Whatever the memory holds becomes what labels can have left. */
static void tidy_labels(uint32_t *labels, uint32_t *rights, uint64_t *sum, uint64_t *squares) {
    *labels = (uint32_t)at_most(*labels, MOST_LABELS);
    *rights = (uint32_t)at_most(*rights, *labels);
    *sum = at_most(*sum, 2 * UNIT * *labels);
    *squares = at_most(*squares, 4 * UNIT * UNIT * *labels);
}

EM_API em_status em_accuracy_label(em_accuracy *accuracy, uint16_t probability, int right) {
    if (accuracy == NULL) {
        return EM_E_NULL;
    }
    tidy_labels(&accuracy->labels, &accuracy->rights, &accuracy->label_sum,
                &accuracy->label_squares);
    if (accuracy->labels == MOST_LABELS) {
        accuracy->labels /= 2;
        accuracy->rights /= 2;
        accuracy->label_sum /= 2;
        accuracy->label_squares /= 2;
    }
    const uint64_t residual = (right != 0 ? 2 * UNIT : UNIT) - probability;
    accuracy->labels++;
    accuracy->rights += right != 0;
    accuracy->label_sum += residual;
    accuracy->label_squares += residual * residual;
    return EM_OK;
}

/* ---- the estimate --------------------------------------------------------------------------- */

/* In 1/256 of UNIT, as all sums below; n is not 0. */
static uint64_t mean_of(uint64_t sum, uint32_t n) { return (sum << 8) / n; }

/* The variance of a mean of n numbers, in 1/65536 of UNIT^2: their squares around the mean, over
 * n (n - 3), which makes a normal quantile one of Student's t to the second order. */
static uint64_t variance_of_mean(uint64_t sum, uint64_t squares, uint32_t n) {
    const uint64_t mean = sum / n, rest = sum % n;
    const uint64_t less = mean * (sum + rest) + rest * rest / n;
    return squares > less ? (((squares - less) / (n - 3)) << 16) / n : 0;
}

/* The next whole number above the square root. */
static uint64_t root_above(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= x) {
            root += bit;
        }
    }
    return root + 1;
}

static uint64_t clipped(int64_t probability) {
    return probability < 0 ? 0 : at_most((uint64_t)probability, UNIT << 8);
}

static void set_interval(em_estimate *out, uint64_t centre, uint64_t variance) {
    const int64_t half = (int64_t)root_above((variance * Z_SQUARED) >> 10);
    out->low = (uint16_t)(clipped((int64_t)centre - half) >> 8);
    out->high = (uint16_t)((clipped((int64_t)centre + half) + 255) >> 8);
}

/* Agresti and Coull (1998), of the labels alone: where few are right, or few are wrong, residuals
 * are far from normal, and their variance is not known. */
static void set_interval_of_labels(em_estimate *out) {
    const uint64_t n = out->labels + 4;
    const uint64_t share = (((uint64_t)out->rights + 2) * UNIT << 8) / n;
    set_interval(out, share, share * ((UNIT << 8) - share) / n);
}

static void sum_up(const em_accuracy_record *a, const em_accuracy *accuracy, em_estimate *out) {
    const uint32_t size = (a->window + EM_ACCURACY_BLOCKS - 1) / EM_ACCURACY_BLOCKS;
    for (uint32_t i = 0; i < EM_ACCURACY_BLOCKS; i++) {
        const em_accuracy_block *own = &accuracy->blocks[i];
        const uint32_t images = (uint32_t)at_most(own->images, size);
        out->images += images;
        out->faults += (uint32_t)at_most(own->faults, size);
        out->sum += at_most(own->sum, UNIT * images);
        out->squares += at_most(own->squares, UNIT * UNIT * images);
    }
    out->labels = accuracy->labels;
    out->rights = accuracy->rights;
    out->label_sum = accuracy->label_sum;
    out->label_squares = accuracy->label_squares;
    tidy_labels(&out->labels, &out->rights, &out->label_sum, &out->label_squares);
}

static void make_estimate(const em_accuracy_record *a, int flag, em_estimate *out) {
    const int labelled = out->labels >= a->least;
    uint64_t centre = mean_of(out->sum, out->images);
    out->basis = (uint8_t)(labelled ? EM_BASIS_LABELS : EM_BASIS_CALIBRATION);
    out->high = (uint16_t)UNIT;
    if (labelled) {
        /* Residuals are kept plus 1. */
        centre = clipped((int64_t)(centre + mean_of(out->label_sum, out->labels)) -
                         (int64_t)(UNIT << 8));
    }
    out->valid = out->images >= LEAST_IMAGES && (labelled || !flag);
    if (out->valid) {
        const uint64_t own = variance_of_mean(out->sum, out->squares, out->images);
        if (!labelled) {
            set_interval(out, centre, own + ((uint64_t)a->variance << 16) / a->rows);
        } else if (at_most(out->rights, out->labels - out->rights) < LEAST_OF_A_KIND) {
            out->basis = EM_BASIS_LABELS_ALONE;
            set_interval_of_labels(out);
        } else {
            set_interval(out, centre,
                         own + variance_of_mean(out->label_sum, out->label_squares, out->labels));
        }
    }
    const uint64_t nearest = at_most((centre + 128) >> 8, out->high);
    out->estimate = (uint16_t)(nearest < out->low ? out->low : nearest);
}

EM_API em_status em_accuracy_estimate(const em_monitor *m, const em_accuracy *accuracy,
                                      const em_drift *drift, em_estimate *out) {
    if (m == NULL || m->file == NULL || accuracy == NULL || out == NULL) {
        return EM_E_NULL;
    }
    memset(out, 0, sizeof *out);
    out->high = (uint16_t)UNIT;
    if (m->accuracy == 0) {
        return EM_E_COUNT;
    }
    if (drift != NULL && drift->flagged_at != accuracy->flagged_at) {
        return EM_OK; /* no image since then was counted */
    }
    sum_up(record_of(m), accuracy, out);
    if (out->images > 0) {
        make_estimate(record_of(m), accuracy->flagged_at != 0, out);
    }
    return EM_OK;
}
