/* compile_runs.c - see compile_runs.h. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_SIZE = 2048 };

char compile_folder[] = "/tmp/mdf_test_compile_XXXXXX";

const char compile_quick[] = "tests/random/cc_fast.sh";

static const char *build_folder(void)
{
    const char *build = getenv("BUILD");

    return build != NULL ? build : "build";
}

void compile_keep_libraries(void)
{
    char *here = realpath(build_folder(), NULL), path[PATH_MAX + 16];

    cr_assert(here != NULL);
    snprintf(path, sizeof path, "%s/compiled", here);
    cr_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
    cr_assert(setenv("XDG_CACHE_HOME", path, 1) == 0);
    free(here);
}

void compile_set_up(void)
{
    cr_assert(mkdtemp(compile_folder) != NULL);
    compile_keep_libraries();
}

void compile_begin_without_libraries(void)
{
    cr_assert(setenv("XDG_CACHE_HOME", compile_folder, 1) == 0);
}

void compile_tear_down(void)
{
    char command[COMMAND_SIZE];

    snprintf(command, sizeof command, "rm -r %s", compile_folder);
    cr_assert(system(command) == 0);
}

int compile_run(char *output, const char *format, ...)
{
    char command[COMMAND_SIZE];
    va_list values;
    FILE *stream;
    size_t n;
    int status;

    setenv("BUILD", build_folder(), 0);
    va_start(values, format);
    vsnprintf(command, sizeof command, format, values);
    va_end(values);
    stream = popen(command, "r");
    cr_assert(stream != NULL);
    n = fread(output, 1, COMPILE_OUTPUT_SIZE - 1, stream);
    output[n] = '\0';
    status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void compile_write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", compile_folder, name);
    file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

char *compile_new_output(void)
{
    char *output = malloc(COMPILE_OUTPUT_SIZE);

    cr_assert(output != NULL);
    return output;
}

char *compile_source_of(const char *model)
{
    char *output = compile_new_output();

    cr_expect_eq(
        compile_run(output, "$BUILD/mdf-compile %s -o %s/source.c && cat %s/source.c", model, compile_folder, compile_folder), 0);
    return output;
}
