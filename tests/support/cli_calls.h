/* cli_calls.h - programs as a user calls them, for suites that look at what they say, and a folder of the suite's own. */
#ifndef MDF_TESTS_CLI_CALLS_H
#define MDF_TESTS_CLI_CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_TEXT_SIZE = 1 << 14, CLI_PATH_SIZE = 256 };

/* What one call did. */
struct cli_outcome {
    int exit_status;
    char output[CLI_TEXT_SIZE], errors[CLI_TEXT_SIZE];
};

/* A folder of the test's own, removed by its last call. */
extern char cli_folder[];
void cli_set_up(void);
void cli_tear_down(void);

/* A path in the folder, until the next one is asked for. */
const char *cli_in_folder(const char *name);
void cli_read_file(const char *path, char text[CLI_TEXT_SIZE]);
void cli_write_file(const char *path, const char *text);

/* Calls a program: its name and arguments, quoted for the shell, as printf takes them. */
__attribute__((format(printf, 1, 2))) struct cli_outcome *cli_call(const char *arguments, ...);

/* What the ways of running trace of a model, in three evaluations, is what the plain one does; as C, too, where it has such. */
void expect_same_ways(const char *model, bool is_compiled);
/* How often a text stands in what a run writes. */
size_t count_in(const char *arguments, const char *words);
/* The lowered form of a model's evaluation, without those of its loops by themselves behind it, until the next one is asked for.
 */
const char *dump_whole(const char *arguments);

#endif
