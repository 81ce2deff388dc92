#include "bad_files.h"
#include "check.h"

#include <string.h>

static int is_zeroed(const em_monitor *m) {
    static const em_monitor zero;
    return memcmp(m, &zero, sizeof zero) == 0;
}

void expect_refused(const bad_file *files, size_t n, void (*make)(artifact *a)) {
    static artifact a;
    for (size_t i = 0; i < n; i++) {
        const bad_file *bad = &files[i];
        em_monitor m;
        make(&a);
        bad->damage(&a);
        if (bad->status != EM_E_CRC) {
            fix_crc(&a);
        }
        memset(&m, 0x5A, sizeof m);
        expect_int(bad->name, 0, "em_open", open_exactly(a.file, a.size, &m), bad->status);
        expect_int(bad->name, 0, "zeroed", is_zeroed(&m), 1);
    }
}
