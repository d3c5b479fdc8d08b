/* alone.c - see criterion/criterion.h beside it. Reports as Criterion does, for tools/run_suites.sh. */
#include "tests/alone/criterion/criterion.h"

#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* What a test's process ends with. */
enum { EXIT_SKIPPED = 77 };

void alone_skip(void)
{
    exit(EXIT_SKIPPED);
}

static void run(const struct alone_test *test)
{
    call(options_of(test)->init);
    test->run();
    call(options_of(test)->fini);
}

#if defined(__SANITIZE_THREAD__)
#define IN_ONE_PROCESS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IN_ONE_PROCESS 1
#endif
#endif

/* The status of waitpid. A test that fails has no `fini`: what it left is there to be looked at. */
static int status_of(const struct alone_test *test)
{
#ifdef IN_ONE_PROCESS
    run(test);
    return 0;
#else
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        run(test);
        exit(EXIT_SUCCESS);
    }
    return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
#endif
}

int main(void)
{
    int n_passed = 0, n_failed = 0, n_crashed = 0;

    for (const struct alone_test *test = first; test != NULL; test = test->next) {
        int status = test->run != NULL ? status_of(test) : 0;

        if (test->run == NULL || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)) {
            continue;
        }
        if (status == 0) {
            n_passed++;
            continue;
        }
        n_failed++;
        n_crashed += !WIFEXITED(status);
        fprintf(stderr, "[FAIL] %s::%s: status %d\n", test->suite, test->name, status);
    }
    printf("Synthesis: Tested: %d | Passing: %d | Failing: %d | Crashing: %d\n", n_passed + n_failed, n_passed, n_failed,
           n_crashed);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
