/* A plugin of qemu-user (API 1, qemu 7.2): how many instructions a program executes between two marks.
 *
 * A mark is a system call that no kernel has: 5001 begins, 5002 ends and writes the number to standard error.
 * The declarations are those of qemu-plugin.h, which Debian does not ship. Threads are counted without a lock: count
 * what runs on one.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
enum { ADD = 0, BEGIN = 5001, END = 5002 };

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
typedef void translated(plugin_id, struct qemu_plugin_tb *);
typedef void called(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                    uint64_t, uint64_t);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, translated);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id, called);

EXPORT int qemu_plugin_version = 1;
static uint64_t executed;

static void count_block(plugin_id id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &executed, qemu_plugin_tb_n_insns(block));
}

static void mark(plugin_id id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                 uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number == BEGIN)
        executed = 0;
    else if (number == END)
        fprintf(stderr, "%" PRIu64 "\n", executed);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int count, char **words) {
    (void)machine, (void)count, (void)words;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_vcpu_syscall_cb(id, mark);
    return 0;
}
