/* Companions: what is told of them, to which files they bind, and every rule of section 16. */
#include "check.h"
#include "sample.h"

#include <string.h>

static artifact a;
static em_monitor m;

static void add_record(builder *b, uint32_t view, uint32_t size, uint8_t first_of_hash) {
    uint8_t record[48] = {0};
    set32(record, view);
    set32(record + 4, size);
    record[16] = first_of_hash;
    append(&b->companions, record, sizeof record);
}

/* Three taps of the given views, and one record for each of the views in `listed`. */
static em_status opened(const uint32_t *views, const char *listed) {
    static builder b;
    start(&b);
    for (uint32_t i = 0; i < 3; i++) {
        add_tap(&b, EM_I8, 4);
        set16(b.taps.at + 32 * i + 6, views[i]);
    }
    const uint32_t top = add_node(&b, MAX, EM_I32, 1, 0, NONE, 7);
    const uint32_t class = add_node(&b, ARGMAX, EM_I32, 1, 0, NONE, 2);
    add_monitor(&b, top, (em_number){.i = 5}, (em_number){.i = 5});
    for (; *listed; listed++) {
        add_record(&b, (uint32_t)(*listed - '0'), 1000u + (uint32_t)*listed, (uint8_t)*listed);
    }
    finish(&b, class, &a);
    return open_exactly(a.file, a.size, &m);
}

static em_status damaged(uint32_t record, uint32_t offset, uint32_t value) {
    EXPECT(opened((const uint32_t[]){0, 2, 3}, "23"), EM_OK);
    set32(a.file + get32(section(&a, COMPANIONS) + 4) + 48 * record + offset, value);
    fix_crc(&a);
    return open_exactly(a.file, a.size, &m);
}

static void rules(void) {
    static const uint32_t plain[] = {0, 1, 0}, both[] = {2, 0, 3}, odin[] = {0, 2, 2},
                          other[] = {3, 0, 1};
    EXPECT(opened(plain, ""), EM_OK);
    EXPECT(opened(both, "23"), EM_OK);
    EXPECT(opened(odin, "2"), EM_OK);
    EXPECT(opened(other, "3"), EM_OK);
    EXPECT(opened(both, "2"), EM_E_COMPANION);                  /* T8 */
    EXPECT(opened(both, "3"), EM_E_COMPANION);                  /* T8 */
    EXPECT(opened(odin, ""), EM_E_COMPANION);                   /* T8 */
    EXPECT(opened(other, ""), EM_E_COMPANION);                  /* T8 */
    EXPECT(opened(odin, "3"), EM_E_COMPANION);                  /* T8 before K3 */
    EXPECT(opened(plain, "2"), EM_E_COMPANION);                 /* K3 */
    EXPECT(opened(odin, "23"), EM_E_COMPANION);                 /* K3 */
    EXPECT(opened(both, "32"), EM_E_COMPANION);                 /* K2: descending */
    EXPECT(opened(odin, "22"), EM_E_COMPANION);                 /* K2: twice */
    EXPECT(opened(plain, "1"), EM_E_COMPANION);                 /* K2: mirror needs none */
    EXPECT(opened(other, "34"), EM_E_COMPANION);                /* K2: no such view */
    EXPECT(damaged(1, 0, 0xFFFFFFFF), EM_E_COMPANION);          /* K2 */
    EXPECT(damaged(0, 4, 0), EM_E_COMPANION);                   /* K4 */
    EXPECT(damaged(0, 8, 1), EM_E_RESERVED);                    /* K5 */
    EXPECT(damaged(1, 12, 1u << 31), EM_E_RESERVED);            /* K5 */
    EXPECT(opened((const uint32_t[]){0, 2, 4}, "2"), EM_E_TAP); /* T3 */
}

static void sizes(void) { /* K1: of the section */
    static const uint32_t wrong[] = {0, 47, 1};
    for (uint32_t i = 0; i < 3; i++) {
        EXPECT(opened((const uint32_t[]){0, 2, 0}, "2"), EM_OK);
        uint8_t *record = section(&a, COMPANIONS);
        memset(a.file + get32(record + 4), 0, 48);
        set32(record + 8, wrong[i]);
        if (wrong[i] <= 1) { /* S3: the file ends where its last section does */
            a.size = get32(record + 4) + 16 * wrong[i];
            set32(a.file + 16, a.size);
        }
        fix_crc(&a);
        EXPECT(open_exactly(a.file, a.size, &m), EM_E_COMPANION);
    }
}

static void told(void) {
    em_companion_info info;
    const uint8_t first[32] = {'2'}, second[32] = {'3'};
    EXPECT(opened((const uint32_t[]){2, 0, 3}, "23"), EM_OK);
    EXPECT(em_open(&m, a.file, a.size), EM_OK); /* which stays where it is */
    EXPECT(em_companion_count(&m), 2);
    EXPECT(em_describe_companion(&m, 1, &info), EM_OK);
    EXPECT(info.view, EM_VIEW_COMPANION);
    EXPECT(info.size, 1000 + '3');
    EXPECT(memcmp(info.sha256, second, 32), 0);
    EXPECT(em_describe_companion(&m, 2, &info), EM_E_COUNT);
    EXPECT(em_describe_companion(&m, 0, NULL), EM_E_NULL);
    EXPECT(em_describe_companion(NULL, 0, &info), EM_E_NULL);
    EXPECT(em_bind_companion(&m, EM_VIEW_ODIN, first), EM_OK);
    EXPECT(em_bind_companion(&m, EM_VIEW_ODIN, second), EM_E_COMPANION);
    EXPECT(em_bind_companion(&m, EM_VIEW_COMPANION, second), EM_OK);
    EXPECT(em_bind_companion(&m, EM_VIEW_MIRROR, second), EM_E_COUNT);
    EXPECT(em_bind_companion(&m, EM_VIEW_ODIN, NULL), EM_E_NULL);
    EXPECT(em_bind_companion(NULL, EM_VIEW_ODIN, first), EM_E_NULL);
    sample(&a);
    EXPECT(em_open(&m, a.file, a.size), EM_OK);
    EXPECT(em_companion_count(&m), 0);
    EXPECT(em_companion_count(NULL), 0);
    EXPECT(em_describe_companion(&m, 0, &info), EM_E_COUNT);
    EXPECT(em_bind_companion(&m, EM_VIEW_ODIN, first), EM_E_COUNT);
}

void test_companions(void) {
    rules();
    sizes();
    told();
}
