/*
 * Threads that share one em_monitor, each with its own workspace: threads ARTIFACT ROWS [signals].
 * ROWS holds rows of all taps, one behind the other. Every thread evaluates all rows, opens the
 * artifact, checks and describes it, and finds what one thread found alone. With "signals" one
 * thread is interrupted in the middle of evaluations by a handler that evaluates too.
 */
#define _POSIX_C_SOURCE 200809L
#include <edgemon/edgemon.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define THREADS 4
#define MOST_ROWS 64
#define WORKSPACE 65536

static em_monitor monitor;
static void *artifact, *rows;
static size_t artifact_size, n_rows, row_size;
static em_result expected[MOST_ROWS];

static size_t size_of(em_dtype dtype) {
    return dtype == EM_F32 || dtype == EM_I32 ? 4 : dtype == EM_I16 ? 2 : 1;
}

static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        exit(2);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    void *content = malloc(*size + 8);
    if (content == NULL || fread(content, 1, *size, file) != *size) {
        exit(2);
    }
    fclose(file);
    return content;
}

/* A row, each tap copied to memory that is aligned for it. */
static em_result evaluated(size_t row, uint64_t *workspace, uint64_t *copies) {
    const uint8_t *at = (const uint8_t *)rows + row * row_size;
    uint8_t *to = (uint8_t *)copies;
    em_tap taps[EM_MAX_TAPS];
    for (size_t i = 0; i < em_tap_count(&monitor); i++) {
        em_tap_info info;
        em_describe_tap(&monitor, i, &info);
        const size_t size = info.length * size_of(info.dtype);
        memcpy(to, at, size);
        taps[i] = (em_tap){to, info.dtype, info.length};
        at += size;
        to += (size + 7) / 8 * 8;
    }
    em_result result;
    em_evaluate(&monitor, taps, em_tap_count(&monitor), workspace, WORKSPACE, &result);
    return result;
}

static int same(const em_result *a, const em_result *b) {
    return a->verdict == b->verdict && a->reason == b->reason &&
           a->predicted_class == b->predicted_class &&
           memcmp(a->verdicts, b->verdicts, a->n_monitors * sizeof a->verdicts[0]) == 0 &&
           memcmp(a->scores, b->scores, a->n_monitors * sizeof a->scores[0]) == 0;
}

/* The number of rows on which it found something else. */
static void *work(void *seed) {
    uint64_t *workspace = malloc(WORKSPACE), *copies = malloc(WORKSPACE);
    em_drift drift;
    em_drift_reset(&drift);
    size_t wrong = 0;
    for (size_t i = 0; i < 50 * n_rows; i++) {
        const size_t row = (i + *(size_t *)seed) % n_rows;
        const em_result result = evaluated(row, workspace, copies);
        wrong += !same(&result, &expected[row]);
        em_drift_update(&monitor, &drift, &result);
    }
    em_monitor own;
    wrong += em_open(&own, artifact, artifact_size) != EM_OK;
    wrong += em_check(&monitor) != EM_OK;
    wrong += em_self_test(&monitor, workspace, WORKSPACE) != EM_OK;
    wrong += drift.images != 50 * n_rows;
    free(workspace);
    free(copies);
    *(size_t *)seed = wrong;
    return NULL;
}

static uint64_t handler_workspace[WORKSPACE / 8], handler_copies[WORKSPACE / 8];
static volatile sig_atomic_t interruptions, wrong_in_handler;

static void interrupt(int number) {
    (void)number;
    const size_t row = (size_t)interruptions % n_rows;
    const em_result result = evaluated(row, handler_workspace, handler_copies);
    wrong_in_handler |= !same(&result, &expected[row]);
    interruptions++;
}

static void interrupt_often(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &every, NULL);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 2;
    }
    size_t rows_size;
    artifact = read_file(argv[1], &artifact_size);
    rows = read_file(argv[2], &rows_size);
    static uint64_t workspace[WORKSPACE / 8], copies[WORKSPACE / 8];
    if (em_open(&monitor, artifact, artifact_size) != EM_OK ||
        em_workspace_size(&monitor) > WORKSPACE) {
        return 2;
    }
    for (size_t i = 0; i < em_tap_count(&monitor); i++) {
        em_tap_info info;
        em_describe_tap(&monitor, i, &info);
        row_size += info.length * size_of(info.dtype);
    }
    n_rows = rows_size / row_size;
    if (n_rows == 0 || n_rows > MOST_ROWS) {
        return 2;
    }
    for (size_t i = 0; i < n_rows; i++) {
        expected[i] = evaluated(i, workspace, copies);
    }
    size_t wrong[THREADS] = {0, 1, 2, 3}, total = 0, started = argc > 3 ? 1 : THREADS;
    pthread_t threads[THREADS];
    if (argc > 3) {
        interrupt_often();
        do {
            wrong[0] = 0;
            work(&wrong[0]);
            total += wrong[0];
        } while (interruptions < 200);
        const struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &never, NULL);
        total += (size_t)wrong_in_handler;
    } else {
        for (size_t i = 0; i < started; i++) {
            if (pthread_create(&threads[i], NULL, work, &wrong[i]) != 0) {
                return 2;
            }
        }
        for (size_t i = 0; i < started; i++) {
            pthread_join(threads[i], NULL);
            total += wrong[i];
        }
    }
    printf("%zu rows, %zu wrong\n", n_rows, total);
    free(artifact);
    free(rows);
    return total == 0 ? 0 : 1;
}
