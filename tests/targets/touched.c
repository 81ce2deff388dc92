/*
 * Test only: a plug-in of QEMU's code generator that watches memory. Between the entries of two
 * functions it counts instructions, and sees which bytes of some ranges of addresses a load or a
 * store touches; it writes the count and, of each range, a 1 or a 0 for each byte on a line.
 *
 *   -plugin touched.so,begin=0xADDRESS,end=0xADDRESS,out=FILE,range=0xADDRESS:BYTES,range=...
 *
 * Its interface is declared here where QEMU installs no header, as in boards/count.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include) && __has_include(<qemu-plugin.h>)
#include <qemu-plugin.h>
#else
#include <stdbool.h>
#include <stddef.h>
#define QEMU_PLUGIN_VERSION 1
#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*cb)(unsigned int, void *),
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*cb)(unsigned int, qemu_plugin_meminfo_t, uint64_t,
                                                 void *),
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *data);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
#endif

enum { MOST_RANGES = 4 };

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

typedef struct range {
    uint64_t at, size;
    char *seen; /* as many characters, and a zero */
} range;

static uint64_t begin_at, end_at, executed;
static range ranges[MOST_RANGES];
static size_t range_count;
static int inside;
static FILE *out;

static void count(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    executed++;
}

static void begin(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    executed = 0;
    inside = 1;
    for (size_t i = 0; i < range_count; i++) {
        memset(ranges[i].seen, '0', ranges[i].size);
    }
}

static void end(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    inside = 0;
    fprintf(out, "%" PRIu64, executed);
    for (size_t i = 0; i < range_count; i++) {
        fprintf(out, " %s", ranges[i].seen);
    }
    fprintf(out, "\n");
    fflush(out);
}

static void touch(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t at, void *data) {
    (void)cpu;
    (void)data;
    if (!inside) {
        return;
    }
    const uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    for (size_t i = 0; i < range_count; i++) {
        for (uint64_t b = at; b < at + bytes; b++) {
            if (b >= ranges[i].at && b - ranges[i].at < ranges[i].size) {
                ranges[i].seen[b - ranges[i].at] = '1';
            }
        }
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t at = qemu_plugin_insn_vaddr(insn);
        qemu_plugin_register_vcpu_insn_exec_cb(insn,
                                               at == begin_at ? begin
                                               : at == end_at ? end
                                                              : count,
                                               QEMU_PLUGIN_CB_NO_REGS, NULL);
        qemu_plugin_register_vcpu_mem_cb(insn, touch, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         NULL);
    }
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "begin=", 6) == 0) {
            begin_at = strtoull(argv[i] + 6, NULL, 16);
        } else if (strncmp(argv[i], "end=", 4) == 0) {
            end_at = strtoull(argv[i] + 4, NULL, 16);
        } else if (strncmp(argv[i], "out=", 4) == 0) {
            out = fopen(argv[i] + 4, "w");
        } else if (strncmp(argv[i], "range=", 6) == 0 && range_count < MOST_RANGES) {
            char *rest;
            range *own = &ranges[range_count++];
            own->at = strtoull(argv[i] + 6, &rest, 16);
            own->size = strtoull(rest + 1, NULL, 10);
            own->seen = calloc(own->size + 1, 1);
            if (own->seen == NULL) {
                return 1;
            }
        }
    }
    if (out == NULL) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
