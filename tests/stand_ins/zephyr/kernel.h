/* Stands in for Zephyr's kernel, so that an application can be checked for its syntax. */
#ifndef STAND_IN_ZEPHYR_KERNEL_H
#define STAND_IN_ZEPHYR_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef long atomic_t;
typedef long atomic_val_t;
atomic_val_t atomic_get(const atomic_t *target);
atomic_val_t atomic_set(atomic_t *target, atomic_val_t value);

typedef struct {
    int64_t ticks;
} k_timeout_t;
#define K_MSEC(ms) ((k_timeout_t){(ms)})

struct k_work {
    int unused;
};
typedef void (*k_work_handler_t)(struct k_work *work);
struct k_work_delayable {
    struct k_work work;
    k_work_handler_t handler;
};
#define K_WORK_DELAYABLE_DEFINE(name, of) struct k_work_delayable name = {.handler = (of)}
int k_work_reschedule(struct k_work_delayable *work, k_timeout_t delay);
int32_t k_msleep(int32_t ms);

#define ARG_UNUSED(x) ((void)(x))

#endif /* STAND_IN_ZEPHYR_KERNEL_H */
