/* criterion.h - stands in for Criterion where that can not be used: for another processor (tools/check_target.sh), for which it may
 * not be there, and with the thread sanitizer, whose arenas lie where Criterion's want to be. Tests of a suite run one after the other,
 * each in a process of its own, but with the thread sanitizer all in one. The first assertion that fails ends a test. */
#ifndef MDF_TESTS_ALONE_CRITERION_H
#define MDF_TESTS_ALONE_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alone_options {
    void (*init)(void);
    void (*fini)(void);
    double timeout; /* not heeded: sanitizers and emulators are slow */
    int unused;     /* so that there is always something to initialise */
};

struct alone_test {
    const char *suite, *name;
    void (*run)(void); /* NULL: the options of a suite */
    struct alone_options options;
    struct alone_test *next;
};

/* Called before main. */
void alone_add(struct alone_test *test);
/* Tells where a test failed and why (format: may be empty), and ends the process. */
__attribute__((format(printf, 4, 5))) _Noreturn void alone_fail(const char *file, int line, const char *what, const char *format, ...);

/* Ends a test that does not apply here. */
_Noreturn void alone_skip(void);

#define ALONE_ADD(of_suite, of_name, function, ...)                                                                        \
    __attribute__((constructor)) static void alone_add_##of_suite##_##of_name(void)                                        \
    {                                                                                                                      \
        static struct alone_test test = {.suite = #of_suite, .name = #of_name, .run = function, .options = {.unused = 0, ##__VA_ARGS__}}; \
                                                                                                                           \
        alone_add(&test);                                                                                                  \
    }
/* The declaration at the end takes the semicolon behind it. */
#define TestSuite(of_suite, ...)                  \
    ALONE_ADD(of_suite, all, NULL, ##__VA_ARGS__) \
    void alone_add(struct alone_test *test)
#define Test(of_suite, of_name, ...)                                          \
    static void alone_##of_suite##_##of_name(void);                           \
    ALONE_ADD(of_suite, of_name, alone_##of_suite##_##of_name, ##__VA_ARGS__) \
    static void alone_##of_suite##_##of_name(void)

#define cr_assert(truth, ...) ((truth) ? (void)0 : alone_fail(__FILE__, __LINE__, #truth, "" __VA_ARGS__))
#define cr_assert_fail(...) alone_fail(__FILE__, __LINE__, "reached", "" __VA_ARGS__)
#define cr_assert_not(truth, ...) cr_assert(!(truth), ##__VA_ARGS__)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), ##__VA_ARGS__)
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b), ##__VA_ARGS__)
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b), ##__VA_ARGS__)
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b), ##__VA_ARGS__)
#define cr_assert_gt(a, b, ...) cr_assert((a) > (b), ##__VA_ARGS__)
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b), ##__VA_ARGS__)
#define cr_assert_null(a, ...) cr_assert((a) == NULL, ##__VA_ARGS__)
#define cr_assert_not_null(a, ...) cr_assert((a) != NULL, ##__VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) cr_assert(strcmp(a, b) == 0, ##__VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) cr_assert(strcmp(a, b) != 0, ##__VA_ARGS__)
#define cr_assert_str_empty(a, ...) cr_assert((a)[0] == '\0', ##__VA_ARGS__)
#define cr_assert_float_eq(a, b, tolerance, ...) cr_assert(fabs((double)(a) - (double)(b)) <= (double)(tolerance), ##__VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) cr_assert(memcmp(a, b, size) == 0, ##__VA_ARGS__)
#define cr_skip(...) alone_skip()
#define cr_skip_test(...) alone_skip()
#define cr_expect cr_assert
#define cr_expect_str_neq cr_assert_str_neq
#define cr_expect_str_empty cr_assert_str_empty
#define cr_expect_float_eq cr_assert_float_eq
#define cr_expect_arr_eq cr_assert_arr_eq
#define cr_expect_not cr_assert_not
#define cr_expect_eq cr_assert_eq
#define cr_expect_neq cr_assert_neq
#define cr_expect_lt cr_assert_lt
#define cr_expect_leq cr_assert_leq
#define cr_expect_gt cr_assert_gt
#define cr_expect_geq cr_assert_geq
#define cr_expect_null cr_assert_null
#define cr_expect_not_null cr_assert_not_null
#define cr_expect_str_eq cr_assert_str_eq

#endif
