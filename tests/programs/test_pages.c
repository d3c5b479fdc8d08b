/* test_pages.c - what README.md and the pages of docs/ show is so: their commands, which stand indented behind a "$", run, and
 * print what stands under them; the program in C compiles and prints what the first command computes. docs/control-flow.md and
 * docs/dialects.md have a suite of their own (test_example_pages.c), the table of examples/README.md too (test_examples.c). */
#include "mdf_c/machine/emit.h"
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 17, COMMAND_SIZE = 8192 };

/* A folder of the test's own, in which `build` and `examples` lead here. */
static char folder[] = "/tmp/mdf_test_pages_XXXXXX";

static void set_up(void)
{
    const char *build = getenv("BUILD");
    char command[COMMAND_SIZE], compiler[PATH_MAX];

    cr_assert(mkdtemp(folder) != NULL);
    build = build != NULL ? build : "build";
    snprintf(command, sizeof command,
             "ln -s \"$(realpath %s)\" %s/build && ln -s \"$PWD/examples\" \"$PWD/mdf_c\" \"$PWD/tests\" %s", build, folder,
             folder);
    cr_assert(system(command) == 0);
    compile_keep_libraries();
    cr_assert(realpath(compile_quick, compiler) != NULL && setenv("CC", compiler, 0) == 0); /* what is printed is the same */
}

static void tear_down(void)
{
    char command[COMMAND_SIZE];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(pages, .init = set_up, .fini = tear_down);

static void read_file(const char *path, char text[TEXT_SIZE])
{
    FILE *stream = fopen(path, "rb");
    size_t n;

    cr_assert(stream != NULL, "%s", path);
    n = fread(text, 1, TEXT_SIZE - 1, stream);
    text[n] = '\0';
    fclose(stream);
}

/* Runs a line of shell in the folder; its exit status, and all that it prints. */
static int run(const char *line, char output[TEXT_SIZE])
{
    char command[COMMAND_SIZE];
    FILE *stream;
    size_t n;
    int status;

    cr_assert((size_t)snprintf(command, sizeof command, "cd %s && { %s\n} 2>&1", folder, line) < sizeof command);
    stream = popen(command, "r");
    cr_assert(stream != NULL);
    n = fread(output, 1, TEXT_SIZE - 1, stream);
    output[n] = '\0';
    status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The rest of an indented line, which ends at *next; NULL: the line is not indented. */
static char *indented(char *line, char **next)
{
    char *end = strchr(line, '\n');

    *next = end != NULL ? end + 1 : line + strlen(line);
    if (strncmp(line, "    ", 4) != 0) {
        return NULL;
    }
    if (end != NULL) {
        *end = '\0';
    }
    return line + 4;
}

/* A block that begins with "# NAME.yaml" or "// NAME.c" is a file of that name. */
static void keep_file(const char *first_line, char *next)
{
    char path[PATH_MAX];
    bool is_c = strncmp(first_line, "// ", 3) == 0;
    const char *name = first_line + strlen(is_c ? "// " : "# ");
    FILE *stream;

    if ((!is_c && strncmp(first_line, "# ", 2) != 0) || strchr(name, '/') != NULL ||
        strstr(name, is_c ? ".c" : ".yaml") == NULL || strchr(name, ' ') != NULL) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    stream = fopen(path, "wb");
    cr_assert(stream != NULL, "%s", path);
    while (strncmp(next, "    ", 4) == 0 || (strncmp(next, "\n    ", 5) == 0 && next[5] != '$')) {
        size_t length = strcspn(next, "\n"), n_blanks = length > 0 ? 4 : 0;

        fprintf(stream, "%.*s\n", (int)(length - n_blanks), next + n_blanks);
        next += length + (next[length] != '\0');
    }
    fclose(stream);
}

/* Runs the commands of a page; how many there are. A comment behind a command is one for the shell too. */
static int check_page(const char *path)
{
    static char page[TEXT_SIZE], output[TEXT_SIZE], shown[TEXT_SIZE];
    char *at = page, *next, *line, *more;
    int n_commands = 0, status;

    read_file(path, page);
    for (; *at != '\0'; at = next) {
        line = indented(at, &next);
        if (line != NULL) {
            keep_file(line, next);
        }
        if (line == NULL || (strncmp(line, "$ build/", 8) != 0 && strncmp(line, "$ cc ", 5) != 0)) {
            continue;
        }
        n_commands++;
        shown[0] = '\0';
        while (*next != '\0' && strncmp(next, "    $", 5) != 0 && (more = indented(next, &next)) != NULL) {
            strcat(strcat(shown, more), "\n");
        }
        status = run(line + 2, output);
        if (status != 0 && (strstr(output, "need SUNDIALS") != NULL || strstr(output, "without SUNDIALS") != NULL)) {
            continue; /* where there is none: test_solve says whether there should be */
        }
        cr_expect(status == 0, "%s: %s: %s", path, line, output);
        cr_expect(shown[0] == '\0' || strcmp(shown, output) == 0, "%s: %s: %s", path, line, output);
    }
    return n_commands;
}

static bool is_installed(const char *program)
{
    char command[64], output[TEXT_SIZE];

    snprintf(command, sizeof command, "command -v %s", program);
    return run(command, output) == 0;
}

/* The number that stands in bench/results.md in the first row that begins with `row`, in the column of the table's heading
 * `column`. */
static void find_cell(const char *results, const char *row, const char *column, char cell[COMMAND_SIZE])
{
    const char *line = strstr(results, row), *heading, *at, *next;
    int n_column = 0;

    cr_assert(line != NULL, "%s", row);
    for (heading = line; heading > results && strncmp(heading, "\n\n", 2) != 0; heading--) {
    }
    heading += 2;
    for (at = heading; *at != '\n'; at = next) { /* "| a | b |" */
        next = strchr(at + 1, '|');
        cr_assert(next != NULL && next < strchr(heading, '\n'), "%s has no column %s", row, column);
        if (strncmp(at + 2, column, strlen(column)) == 0 && strncmp(at + 2 + strlen(column), " |", 2) == 0) {
            break;
        }
        n_column++;
    }
    for (at = line + 1; n_column > 0; n_column--) {
        at = strchr(at + 1, '|');
    }
    snprintf(cell, COMMAND_SIZE, "%.*s", (int)strcspn(at + 2, " "), at + 2);
}

/* The numbers of README.md are those of bench/results.md, and each row has the command that shows it. */
Test(pages, numbers_are_those_of_bench)
{
    static const struct {
        const char *row, *column, *shown, *command;
    } numbers[] = {
        {"\n| logistic float64 |", "onnxruntime", "| %s times faster than ONNX Runtime |", "--only logistic"},
        {"\n| fitzhugh nagumo |", "modeci_mdf", "| %s times faster than modeci_mdf's Python engine |", "--only nagumo"},
        {"\n| mdf-run Simple.json |", "ms", "| %s ms, where modeci_mdf's Python engine takes", "--parts start"},
        {"\n| python -m modeci_mdf.execution_engine Simple.json |", "ms", "engine takes %s ms |", "--parts start"},
    };
    static char page[TEXT_SIZE], results[TEXT_SIZE];
    char cell[COMMAND_SIZE], shown[COMMAND_SIZE];

    read_file("README.md", page);
    read_file("bench/results.md", results);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        find_cell(results, numbers[i].row, numbers[i].column, cell);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(shown, sizeof shown, numbers[i].shown, cell);
#pragma GCC diagnostic pop
        cr_expect(strstr(page, shown) != NULL, "%s", shown);
        cr_expect(strstr(page, numbers[i].command) != NULL, "%s", numbers[i].command);
    }
}

/* The words of a picture, one a line, but for where they stand. */
static void words_of(const char *path, char words[TEXT_SIZE])
{
    char command[COMMAND_SIZE];

    snprintf(command, sizeof command, "grep -o '<text[^>]*>[^<]*' '%s' | sed 's/<[^>]*>//' | sort", path);
    cr_assert(run(command, words) == 0, "%s", words);
}

/* The picture of README.md is what the engine draws; where its words stand is Graphviz's. */
Test(pages, the_picture_is_the_engines)
{
    static char drawn[TEXT_SIZE], kept[TEXT_SIZE], output[TEXT_SIZE];
    char here[PATH_MAX], path[PATH_MAX + 64];

    if (!is_installed("dot")) {
        cr_skip();
    }
    cr_assert(getcwd(here, sizeof here) != NULL);
    snprintf(path, sizeof path, "%s/docs/images/newton_sqrt.svg", here);
    cr_assert(run("build/mdf-run examples/newton_sqrt.json --check --graph-image drawn.svg", output) == 0, "%s", output);
    words_of("drawn.svg", drawn);
    words_of(path, kept);
    cr_expect_str_eq(drawn, kept);
}

Test(pages, commands_do_what_the_pages_show)
{
    static const struct {
        const char *path;
        int n_commands;
    } pages[] = {{"README.md", 7},       {"docs/compile.md", 4}, {"docs/controllers.md", 5}, {"docs/diagnostics.md", 1},
                 {"docs/explain.md", 4}, {"docs/fmu.md", 2},     {"docs/gradients.md", 1},   {"docs/inside.md", 8},
                 {"docs/lowered.md", 1}, {"docs/plugins.md", 4}, {"docs/sweeps.md", 6},      {"docs/time.md", 4}};
    size_t i;

    if (!is_installed("dot") || !is_installed("gnuplot")) { /* README.md draws with them */
        cr_skip();
    }
    for (i = 0; i < sizeof pages / sizeof *pages; i++) {
        int n;

        if (strcmp(pages[i].path, "docs/lowered.md") == 0 && !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
            continue; /* other nests are made for such a machine */
        }
        n = check_page(pages[i].path);
        cr_expect(n == pages[i].n_commands, "%s has %d commands", pages[i].path, n);
    }
}

/* The block that begins with the #include, with its indentation. */
Test(pages, the_program_in_c_compiles_and_runs)
{
    static char page[TEXT_SIZE], output[TEXT_SIZE];
    char path[PATH_MAX], *begin, *end;
    FILE *stream;

    snprintf(path, sizeof path, "%s/build/libmdf.so", folder);
    if (access(path, R_OK) != 0) { /* builds with a sanitizer have none */
        cr_skip();
    }
    read_file("README.md", page);
    begin = strstr(page, "    #include <mdf.h>");
    cr_assert(begin != NULL);
    end = strstr(begin, "\n\nAfter `make install`");
    cr_assert(end != NULL);
    snprintf(path, sizeof path, "%s/example.c", folder);
    stream = fopen(path, "wb");
    cr_assert(stream != NULL && fwrite(begin, 1, (size_t)(end - begin), stream) == (size_t)(end - begin) && fclose(stream) == 0);
    cr_assert(run("cc -Wall -Wextra -Werror -Imdf_c example.c -o example -Lbuild -lmdf -Wl,-rpath,\"$PWD/build\"", output) == 0,
              "%s", output);
    cr_expect(run("./example", output) == 0 && strcmp(output, "3.16227766016838\n") == 0, "%s", output);
    if (is_installed("c++")) {
        cr_assert(run("c++ -x c++ -Wall -Wextra -Werror -Imdf_c example.c -o example_cpp -Lbuild -lmdf -Wl,-rpath,\"$PWD/build\"",
                      output) == 0,
                  "%s", output);
        cr_expect(run("./example_cpp", output) == 0 && strcmp(output, "3.16227766016838\n") == 0, "%s", output);
    }
    /* With a port that there is not. */
    cr_assert(run("sed 's/\"x\"/\"y\"/' example.c > misspelt.c && cc -Imdf_c misspelt.c -o misspelt -Lbuild -lmdf "
                  "-Wl,-rpath,\"$PWD/build\"",
                  output) == 0,
              "%s", output);
    cr_expect(run("./misspelt", output) == 1 && strcmp(output, "node 'solver' has no output port 'x'\n") == 0, "%s", output);
}
