/*
 * A plug-in of QEMU's code generator: counts the instructions that a program executes between the
 * entries of two functions, and writes each number on a line.
 *
 *   -plugin count.so,begin=0xADDRESS,end=0xADDRESS,out=FILE
 *
 * Instructions are those that the program names: no time, no cache, so the same number in each run.
 * Where QEMU installs no header for plug-ins (Debian 12), its interface is declared here,
 * version 1.
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
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*cb)(unsigned int, void *),
                                            enum qemu_plugin_cb_flags flags, void *data);
#endif

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t begin_at, end_at; /* addresses */
static uint64_t executed, begun;
static FILE *out;

static void count(unsigned int cpu, void *data) {
    (void)cpu;
    (void)data;
    executed++;
}

static void begin(unsigned int cpu, void *data) {
    count(cpu, data);
    begun = executed;
}

static void end(unsigned int cpu, void *data) {
    fprintf(out, "%" PRIu64 "\n", executed - begun);
    fflush(out);
    count(cpu, data);
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
        }
    }
    if (out == NULL) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
