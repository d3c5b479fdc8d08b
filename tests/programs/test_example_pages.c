/* test_example_pages.c - the examples of docs/control-flow.md, docs/dialects.md and docs/parameters.md, run as they stand on the
 * page.
 *
 * The convention, which the page states too: a block ```yaml NAME or ```json NAME is a file of that name in a folder of the
 * test's own; a block ```console holds commands ("$ mdf-run ...", "$ mdf-convert ..."), each with what it prints under it: lines
 * of standard error as they are, then a JSON object whose fields are among those of the object on standard output, with equal
 * values. The exit status is 1 where an error is shown, 2 where it is one of the command line ("mdf-run: error: ..."), else 0. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 17, NAME_SIZE = 64, PATH_SIZE = 512, REPORT_SIZE = 4096 };

static const char *page_path; /* of the page that is looked at */
static char folder[] = "/tmp/mdf_test_page_XXXXXX";

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL);
}

static void tear_down(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(example_pages, .init = set_up, .fini = tear_down);

static const char *in_folder(const char *name)
{
    static char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void read_file(const char *path, char text[TEXT_SIZE])
{
    FILE *stream = fopen(path, "rb");
    size_t n;

    cr_assert(stream != NULL, "%s", path);
    n = fread(text, 1, TEXT_SIZE - 1, stream);
    cr_assert(n < TEXT_SIZE - 1, "%s is longer than this test reads", path);
    text[n] = '\0';
    fclose(stream);
}

/* ------------------------------------------------------------------ running a command */

/* What a command printed. */
struct outcome {
    int exit_status;
    char output[TEXT_SIZE], errors[TEXT_SIZE];
};

/* "mdf-run ..." or "mdf-convert ...", in the test's folder. */
static struct outcome *run(const char *command)
{
    static struct outcome outcome;
    const char *build = getenv("BUILD");
    char programs[PATH_MAX], line[PATH_MAX + REPORT_SIZE];
    int status;

    cr_assert(strncmp(command, "mdf-", 4) == 0, "%s: neither mdf-run nor mdf-convert", command);
    cr_assert(realpath(build != NULL ? build : "build", programs) != NULL);
    snprintf(line, sizeof line, "cd %s && %s/%s >.out 2>.err </dev/null", folder, programs, command);
    status = system(line);
    cr_assert(WIFEXITED(status), "%s", command);
    outcome.exit_status = WEXITSTATUS(status);
    read_file(in_folder(".out"), outcome.output);
    read_file(in_folder(".err"), outcome.errors);
    return &outcome;
}

/* Whether every field that the page shows is in the output, with the same value and type. */
static bool shows(const char *output, const char *shown)
{
    json_t *got = json_loads(output, 0, NULL), *want = json_loads(shown, 0, NULL), *value;
    bool same = json_is_object(got) && json_is_object(want);
    const char *key;

    json_object_foreach(want, key, value)
    {
        same = same && json_equal(json_object_get(got, key), value);
    }
    json_decref(got);
    json_decref(want);
    return same;
}

/* Runs a command and compares; `expected` is what the page shows under it. False with a report of both. */
static bool check_command(const char *command, const char *expected, char report[REPORT_SIZE])
{
    const struct outcome *outcome = run(command);
    const char *object = expected;
    size_t n_errors;
    int status = 0;

    while (*object != '\0' && *object != '{') { /* the object begins the first line that does so with a brace */
        const char *end = strchr(object, '\n');

        object = end != NULL ? end + 1 : object + strlen(object);
    }
    n_errors = (size_t)(object - expected);
    if (n_errors > 0 && strstr(expected, ": error: ") != NULL) {
        status = strncmp(expected, "mdf-", 4) == 0 || strncmp(expected, "--", 2) == 0 ? 2 : 1; /* of the command line */
    }
    if (outcome->exit_status == status && strlen(outcome->errors) == n_errors &&
        memcmp(outcome->errors, expected, n_errors) == 0 &&
        (*object != '\0' ? shows(outcome->output, object) : outcome->output[0] == '\0')) {
        return true;
    }
    snprintf(report, REPORT_SIZE, "$ %s\nthe page shows\n%.1500s\nthe program prints (exit status %d)\n%.1000s%.1000s", command,
             expected, outcome->exit_status, outcome->errors, outcome->output);
    return false;
}

/* ------------------------------------------------------------------ reading the page */

/* A fenced block: its info string, its text, and the line of the page that it begins in. */
struct block {
    char language[NAME_SIZE], name[NAME_SIZE];
    char *text;
    int line;
};

/* Counts the line breaks between two places. */
static int count_lines(const char *from, const char *to)
{
    int n = 0;

    while (from < to) {
        n += *from++ == '\n';
    }
    return n;
}

/* The next block from *at on, which it ends in the page's text; *at moves behind it. False at the end of the page. */
static bool next_block(char **at, struct block *block, int *line)
{
    char *open = strstr(*at, "```"), *close;

    memset(block, 0, sizeof *block);
    if (open == NULL) {
        return false;
    }
    block->line = *line + count_lines(*at, open);
    sscanf(open + 3, "%63[a-z]%*[ ]%63[A-Za-z0-9_.]", block->language, block->name);
    block->text = strchr(open, '\n') + 1;
    close = strstr(block->text, "```");
    cr_assert(close != NULL, "%s:%d: the block has no end", page_path, block->line);
    *line = block->line + count_lines(open, close);
    *close = '\0';
    *at = close + 3;
    return true;
}

static void write_model(const struct block *block)
{
    FILE *stream;

    cr_assert(block->name[0] != '\0', "%s:%d: the model has no name", page_path, block->line);
    cr_assert(access(in_folder(block->name), F_OK) != 0, "%s:%d: a second %s", page_path, block->line, block->name);
    stream = fopen(in_folder(block->name), "wb");
    cr_assert(stream != NULL);
    fputs(block->text, stream);
    fclose(stream);
}

/* Runs the commands of a block; how many there are. */
static int run_commands(const struct block *block)
{
    char *command = block->text + 2, report[REPORT_SIZE];
    int n_commands = 0;

    cr_assert(strncmp(block->text, "$ ", 2) == 0, "%s:%d: the block does not begin with a command", page_path, block->line);
    while (command != NULL) {
        char *expected = strchr(command, '\n'), *next = strstr(command, "\n$ ");

        *expected++ = '\0';
        if (next != NULL) {
            next[1] = '\0';
        }
        cr_expect(check_command(command, expected, report), "%s:%d: %s", page_path, block->line, report);
        n_commands++;
        command = next != NULL ? next + 3 : NULL;
    }
    return n_commands;
}

/* ------------------------------------------------------------------ tests */

static void check_page(const char *path, int least_commands)
{
    static char page[TEXT_SIZE];
    char *at = page;
    struct block block;
    int line = 1, n_commands = 0;

    page_path = path;
    read_file(path, page);
    while (next_block(&at, &block, &line)) {
        if (strcmp(block.language, "console") == 0) {
            n_commands += run_commands(&block);
        } else {
            write_model(&block);
        }
    }
    cr_expect(n_commands >= least_commands, "only %d commands were found", n_commands);
}

Test(example_pages, control_flow_does_what_the_page_says)
{
    check_page("docs/control-flow.md", 40);
}

Test(example_pages, dialects_do_what_the_page_says)
{
    check_page("docs/dialects.md", 16);
}

Test(example_pages, parameters_do_what_the_page_says)
{
    check_page("docs/parameters.md", 6);
}

/* That what differs is noticed, and that both are shown. */
Test(example_pages, what_differs_is_reported)
{
    static char model[] = "m: {graphs: {g: {nodes: {a: {parameters: {x: {value: 1}}, output_ports: {y: {value: x + 1}}}}}}}\n";
    static const struct block block = {"yaml", "m.yaml", model, 1};
    static const char *const wrong[] = {"",
                                        "{\"results\": {\"y\": 3}}",
                                        "{\"results\": {\"y\": 2.0}}",
                                        "{\"nosuch\": null}",
                                        "m.yaml: error: no\n",
                                        "m.yaml: warning: no\n{\"results\": {\"y\": 2}}"};
    char report[REPORT_SIZE];
    size_t i;

    write_model(&block);
    cr_expect(check_command("mdf-run m.yaml", "{\"results\": {\"y\": 2}}", report), "%s", report);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect(!check_command("mdf-run m.yaml", wrong[i], report), "%s passes", wrong[i]);
        cr_expect(strstr(report, wrong[i]) != NULL && strstr(report, "{\"y\": 2}") != NULL, "%s", report);
    }
    cr_expect(!check_command("mdf-run nosuch.yaml", "", report));
    cr_expect(strstr(report, "nosuch.yaml: error: ") != NULL, "%s", report);
}
