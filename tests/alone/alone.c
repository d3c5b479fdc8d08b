/* alone.c - see criterion/criterion.h beside it. Reports as Criterion does, for tools/run_suites.sh. */
#include "tests/alone/criterion/criterion.h"

#include <stdarg.h>

static struct alone_test *first, **end = &first;

void alone_add(struct alone_test *test)
{
    *end = test;
    end = &test->next;
}

void alone_fail(const char *file, int line, const char *what, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s:%d: not so: %s: ", file, line, what);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

static void call(void (*function)(void))
{
    if (function != NULL) {
        function();
    }
}

/* What TestSuite says of a test's suite, where it says anything. */
static const struct alone_options *options_of(const struct alone_test *test)
{
    const struct alone_test *other;

    for (other = first; other != NULL; other = other->next) {
        if (other->run == NULL && strcmp(other->suite, test->suite) == 0) {
            return &other->options;
        }
    }
    return &test->options;
}

int main(void)
{
    const struct alone_test *test;
    int n = 0;

    for (test = first; test != NULL; test = test->next) {
        if (test->run != NULL) {
            call(options_of(test)->init);
            test->run();
            call(options_of(test)->fini);
            n++;
        }
    }
    printf("Synthesis: Tested: %d | Passing: %d | Failing: 0 | Crashing: 0\n", n, n);
    return EXIT_SUCCESS;
}
