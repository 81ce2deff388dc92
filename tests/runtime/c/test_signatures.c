/* em_open_signed: what its callback is given, and what comes of its answer. */
#include "check.h"
#include "sample.h"

/* What the callback was given, and how often. */
typedef struct {
    const uint8_t *signature;
    const void *message;
    size_t size;
    int calls, answer;
} checked;

static int check_signature(void *context, const uint8_t *signature, const void *message,
                           size_t size) {
    checked *c = context;
    c->signature = signature;
    c->message = message;
    c->size = size;
    c->calls++;
    return c->answer;
}

void test_signatures(void) {
    static const uint8_t signature[64] = {1};
    static artifact a;
    em_monitor m;
    const em_limits little = {1, 1};
    sample(&a);
    checked c = {.answer = 0};
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, signature, check_signature, &c), EM_OK);
    EXPECT(m.n_monitors, N_MONITORS);
    EXPECT(c.signature == signature && c.message == a.file, 1);
    EXPECT(c.size, a.size);
    c.answer = -1;
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, signature, check_signature, &c),
           EM_E_SIGNATURE);
    EXPECT(m.file == NULL, 1);   /* unusable, as after every error */
    ((uint8_t *)a.file)[0] ^= 1; /* nothing is read before the signature is good */
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, signature, check_signature, &c),
           EM_E_SIGNATURE);
    c.answer = 0;
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, signature, check_signature, &c), EM_E_MAGIC);
    sample(&a);
    EXPECT(em_open_signed(&m, a.file, a.size, &little, signature, check_signature, &c), EM_E_LIMIT);
    EXPECT(c.calls, 5);
    EXPECT(em_open_signed(NULL, a.file, a.size, NULL, signature, check_signature, &c), EM_E_NULL);
    EXPECT(em_open_signed(&m, NULL, a.size, NULL, signature, check_signature, &c), EM_E_NULL);
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, NULL, check_signature, &c), EM_E_NULL);
    EXPECT(em_open_signed(&m, a.file, a.size, NULL, signature, NULL, &c), EM_E_NULL);
    EXPECT(c.calls, 5);
}
