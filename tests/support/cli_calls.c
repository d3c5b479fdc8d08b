/* cli_calls.c - see cli_calls.h. */
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void cli_read_file(const char *path, char text[CLI_TEXT_SIZE])
{
    FILE *stream = fopen(path, "rb");
    size_t n = stream != NULL ? fread(text, 1, CLI_TEXT_SIZE - 1, stream) : 0;

    text[n] = '\0';
    if (stream != NULL) {
        fclose(stream);
    }
}

void cli_write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "wb");

    cr_assert(stream != NULL);
    fputs(text, stream);
    fclose(stream);
}

char cli_folder[] = "/tmp/mdf_test_cli_XXXXXX";

void cli_set_up(void)
{
    cr_assert(mkdtemp(cli_folder) != NULL);
}

void cli_tear_down(void)
{
    char command[CLI_PATH_SIZE];

    snprintf(command, sizeof command, "rm -r %s", cli_folder);
    cr_assert(system(command) == 0);
}

const char *cli_in_folder(const char *name)
{
    static char path[CLI_PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", cli_folder, name);
    return path;
}

struct cli_outcome *cli_call(const char *arguments, ...)
{
    static struct cli_outcome outcome;
    const char *build = getenv("BUILD");
    char command[4 * CLI_PATH_SIZE], text[2 * CLI_PATH_SIZE];
    va_list values;
    int status;

    va_start(values, arguments);
    vsnprintf(text, sizeof text, arguments, values);
    va_end(values);
    snprintf(command, sizeof command, "%s/%s >%s/out 2>%s/err", build != NULL ? build : "build", text, cli_folder, cli_folder);
    status = system(command);
    cr_assert(WIFEXITED(status), "%s", command);
    outcome.exit_status = WEXITSTATUS(status);
    cli_read_file(cli_in_folder("out"), outcome.output);
    cli_read_file(cli_in_folder("err"), outcome.errors);
    return &outcome;
}

void expect_same_ways(const char *model, bool is_compiled)
{
    static const char *const ways[] = {"", "--compile"};
    static char expected[CLI_TEXT_SIZE];
    const struct cli_outcome *outcome = cli_call("mdf-run %s -n 3 --typed --trace --plain", model);
    size_t i;

    cr_assert(outcome->exit_status == 0, "%s", outcome->errors);
    strcpy(expected, outcome->output);
    for (i = 0; i < 1u + is_compiled; i++) {
        outcome = cli_call("mdf-run %s -n 3 --typed --trace %s", model, ways[i]);
        cr_expect_str_eq(outcome->output, expected, "%s %s: %s", model, ways[i], outcome->errors);
    }
}

size_t count_in(const char *arguments, const char *words)
{
    const char *at = cli_call("mdf-run %s", arguments)->output;
    size_t n = 0;

    for (; (at = strstr(at, words)) != NULL; at++) {
        n++;
    }
    return n;
}

const char *dump_whole(const char *arguments)
{
    static char text[CLI_TEXT_SIZE];
    char *end;

    strcpy(text, cli_call("mdf-run %s --dump lowered", arguments)->output);
    end = strstr(text, "\na loop, node");
    if (end != NULL) {
        *end = '\0';
    }
    return text;
}
