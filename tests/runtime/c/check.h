/* Test only: `expression => expected`, counted. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>

/* Integers, statuses, verdicts. */
#define EXPECT(expression, expected)                                                               \
    expect_int(__FILE__, __LINE__, #expression, (int64_t)(expression), (int64_t)(expected))

/* The same float, bit for bit (every NaN is the same). */
#define EXPECT_F32(expression, expected)                                                           \
    expect_f32(__FILE__, __LINE__, #expression, (expression), (expected))

void expect_int(const char *file, int line, const char *what, int64_t got, int64_t want);
void expect_f32(const char *file, int line, const char *what, float got, float want);

void test_accuracy(void);
void test_companions(void);
void test_damage(void);
void test_dense(void);
void test_drift(void);
void test_dtypes(void);
void test_generated(void);
void test_limits(void);
void test_ops(void);
void test_rule_ops(void);
void test_rules(void);
void test_signatures(void);
void test_tree_rules(void);
void test_values(void);
void test_window(void);

#endif /* CHECK_H */
