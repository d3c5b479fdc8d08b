/* compile_runs.c - see compile_runs.h. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_SIZE = 2048 };

char compile_folder[] = "/tmp/mdf_test_compile_XXXXXX";

const char compile_quick[] = "tests/random/cc_fast.sh";

void compile_set_up(void)
{
    cr_assert(mkdtemp(compile_folder) != NULL && setenv("XDG_CACHE_HOME", compile_folder, 1) == 0);
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

    setenv("BUILD", "build", 0);
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
