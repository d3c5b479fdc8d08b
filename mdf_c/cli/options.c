/* options.c - see options.h. An option is one row of the table: how it is written, what it sets. */
#include "mdf_c/cli/options.h"

#include "mdf_c/base/text.h"
#include "mdf_c/cli/pictures.h"
#include "mdf_c/write/operators_page.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mdf-run [options] MODEL      MODEL: .json .yaml .yml .bson .onnx, or - with --from FORMAT\n"
    "  -g, --graph ID            the graph to run; default: the first that no other uses as a body\n"
    "  -i, --input NAME=VALUE    VALUE is JSON or @FILE (.json .npy); NAME is PORT or NODE.PORT\n"
    "      --inputs FILE         JSON object {name: value}, a list of them (one a step), or .npz\n"
    "  -n, --steps N             evaluations of the graph, default 1\n"
    "      --dt T                time increment of every evaluation but the first\n"
    "  -o, --output FILE         .json .csv .npz; default: JSON on standard output\n"
    "      --trace               tell every step, not just the last\n"
    "      --schedule            tell who ran when, as text in place of JSON (which -o still writes)\n"
    "      --record NAME,...     only these ports (NODE.PORT or a unique PORT)\n"
    "      --sweep FILE          evaluate for many values of parameters, as the file says (docs/sweeps.md)\n"
    "      --typed, --float32    values as {\"type\", \"shape\", \"data\"}; reals without a declared type are float32\n"
    "      --seed N              for random functions\n"
    "      --threads N, --plain, --compile   default: all cores; no fast ways; as C, by the system's compiler (mdf-compile)\n"
    "      --max-iterations N, --max-passes N   bounds on one Loop, and on one evaluation by conditions\n"
    "      --max-memory BYTES    bound on what one evaluation may hold (K, M, G may follow)\n"
    "      --time, --repeat N    a line of JSON on standard error; evaluate N times, each from a fresh state\n"
    "      --check, --strict, --progress, --quiet   load and compile only; warnings are errors; show a bar, or never\n"
    "      --graph-image FILE    draw the graph, .svg .png .pdf (needs Graphviz) or .dot; with --check without running it\n"
    "      --graph-detail N      1: names of nodes, 2: ports, parameters and functions too, 3: all; default 2, large graphs 1\n"
    "      --plot FILE           draw every step of the recorded ports, .svg .png .pdf (needs gnuplot) or .gp\n"
    "      --from FORMAT         json, yaml, bson or onnx, whatever the suffix\n"
    "  -h, --help, --version, --ops   the last lists the operators, their versions and types\n";

/* What an option's text is, and so how its field is set. */
enum argument { FLAG, TEXT, COUNT, BYTES, REAL, THREADS, INPUT, IMAGE, DETAIL, PLOT, PROGRESS, QUIET, HELP, VERSION, OPERATORS };

struct option_row {
    const char *name;
    char letter; /* '\0': none */
    enum argument argument;
    size_t offset; /* of the field in struct run_options */
};

#define FIELD(name) offsetof(struct run_options, name)

static const struct option_row rows[] = {
    {"graph", 'g', TEXT, FIELD(library.graph)},
    {"input", 'i', INPUT, 0},
    {"inputs", '\0', TEXT, FIELD(inputs_path)},
    {"steps", 'n', COUNT, FIELD(n_steps)},
    {"dt", '\0', REAL, FIELD(dt)},
    {"output", 'o', TEXT, FIELD(output_path)},
    {"trace", '\0', FLAG, FIELD(trace)},
    {"schedule", '\0', FLAG, FIELD(schedule)},
    {"record", '\0', TEXT, FIELD(record)},
    {"sweep", '\0', TEXT, FIELD(sweep_path)},
    {"typed", '\0', FLAG, FIELD(typed)},
    {"float32", '\0', FLAG, FIELD(library.float32)},
    {"seed", '\0', COUNT, FIELD(library.seed)},
    {"plain", '\0', FLAG, FIELD(library.plain)},
    {"threads", '\0', THREADS, FIELD(library.n_threads)},
    {"max-iterations", '\0', COUNT, FIELD(library.max_iterations)},
    {"max-passes", '\0', COUNT, FIELD(library.max_passes)},
    {"max-memory", '\0', BYTES, FIELD(library.max_memory_bytes)},
    {"check", '\0', FLAG, FIELD(check)},
    {"strict", '\0', FLAG, FIELD(strict)},
    {"time", '\0', FLAG, FIELD(time)},
    {"compile", '\0', FLAG, FIELD(compile)},
    {"repeat", '\0', COUNT, FIELD(n_repeats)},
    {"progress", '\0', PROGRESS, 0},
    {"quiet", '\0', QUIET, 0},
    {"graph-image", '\0', IMAGE, FIELD(graph_image_path)},
    {"graph-detail", '\0', DETAIL, FIELD(graph_detail)},
    {"plot", '\0', PLOT, FIELD(plot_path)},
    {"from", '\0', TEXT, FIELD(format)},
    {"ops", '\0', OPERATORS, 0},
    {"help", 'h', HELP, 0},
    {"version", '\0', VERSION, 0},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool takes_argument(const struct option_row *row)
{
    return row->argument == TEXT || row->argument == COUNT || row->argument == BYTES || row->argument == REAL ||
           row->argument == THREADS || row->argument == INPUT || row->argument == IMAGE || row->argument == DETAIL ||
           row->argument == PLOT;
}

static bool parse_count(const char *text, uint64_t *count)
{
    char *end;

    errno = 0;
    *count = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

bool parse_bytes(const char *text, size_t *n_bytes)
{
    static const char factors[] = "KMG";
    size_t length = strlen(text), n_factors = 0;
    const char *factor = length > 0 ? strchr(factors, text[length - 1]) : NULL;
    char digits[32];
    uint64_t count;

    if (length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length + 1);
    if (factor != NULL && *factor != '\0') {
        digits[length - 1] = '\0';
        n_factors = (size_t)(factor - factors) + 1;
    }
    if (!parse_count(digits, &count)) {
        return false;
    }
    *n_bytes = (size_t)count;
    for (; n_factors > 0; n_factors--) {
        if (!mdf_size_multiply(*n_bytes, 1024, n_bytes)) {
            return false;
        }
    }
    return true;
}

static bool parse_threads(const char *text, int *n_threads)
{
    uint64_t count;

    if (!parse_count(text, &count) || count == 0 || count > 65536) {
        return false;
    }
    *n_threads = (int)count;
    return true;
}

static bool parse_detail(const char *text, enum mdf_detail *detail)
{
    uint64_t count;

    if (!parse_count(text, &count) || count < MDF_DETAIL_NAMES || count > MDF_DETAIL_ALL) {
        return false;
    }
    *detail = (enum mdf_detail)count;
    return true;
}

static bool parse_increment(const char *text, double *real)
{
    int64_t integer;
    bool is_integer;

    return mdf_parse_python_number(text, real, &integer, &is_integer) && isfinite(*real);
}

/* What is wrong with an option's text; NULL: nothing. */
static const char *set_option(struct run_options *options, const struct option_row *row, const char *text)
{
    void *field = (char *)options + row->offset;

    switch (row->argument) {
    case FLAG:
        *(bool *)field = true;
        return NULL;
    case TEXT:
        *(const char **)field = text;
        return NULL;
    case COUNT:
        return parse_count(text, field) ? NULL : "must be a whole number";
    case BYTES:
        return parse_bytes(text, field) ? NULL : "must be a number of bytes, as 1000000 or 512M";
    case REAL:
        return parse_increment(text, field) ? NULL : "must be a number";
    case THREADS:
        return parse_threads(text, field) ? NULL : "must be a number of threads, at least 1";
    case INPUT:
        options->inputs[options->n_inputs++] = text;
        return strchr(text, '=') != NULL && text[0] != '=' ? NULL : "must have the form NAME=VALUE";
    case IMAGE:
        *(const char **)field = text;
        return graph_image_fault(text);
    case DETAIL:
        return parse_detail(text, field) ? NULL : "must be 1, 2 or 3";
    case PLOT:
        *(const char **)field = text;
        return plot_fault(text);
    case PROGRESS:
        options->progress = PROGRESS_ON;
        return NULL;
    case QUIET:
        options->progress = PROGRESS_OFF;
        return NULL;
    case HELP:
    case VERSION:
    case OPERATORS:
        break;
    }
    return NULL;
}

static bool usage_error(int *exit_status, const char *option, const char *why)
{
    fprintf(stderr, "mdf-run: error: %s%s%s%s\n", option != NULL ? "--" : "", option != NULL ? option : "",
            option != NULL ? " " : "", why);
    fprintf(stderr, "Try 'mdf-run --help'.\n");
    *exit_status = EXIT_USAGE;
    return false;
}

/* An option that getopt did not take: `code` is its ':' or '?'. */
static bool unknown_option(int *exit_status, int code, const char *argument)
{
    fprintf(stderr, "mdf-run: error: %s '%s'\nTry 'mdf-run --help'.\n",
            code == ':' ? "there is no argument after the option" : "unknown, ambiguous or wrongly used option", argument);
    *exit_status = EXIT_USAGE;
    return false;
}

static void fill_getopt_table(struct option table[N_ROWS + 1], char letters[2 * N_ROWS + 2])
{
    size_t i, n = 0;

    memset(table, 0, (N_ROWS + 1) * sizeof *table);
    letters[n++] = ':'; /* a missing argument is told from an unknown option */
    for (i = 0; i < N_ROWS; i++) {
        table[i].name = rows[i].name;
        table[i].has_arg = takes_argument(&rows[i]) ? required_argument : no_argument;
        table[i].val = rows[i].letter != '\0' ? rows[i].letter : 256 + (int)i;
        if (rows[i].letter != '\0') {
            letters[n++] = rows[i].letter;
            if (takes_argument(&rows[i])) {
                letters[n++] = ':';
            }
        }
    }
    letters[n] = '\0';
}

static const struct option_row *find_row(int code)
{
    size_t i;

    for (i = 0; i < N_ROWS; i++) {
        if (code == (rows[i].letter != '\0' ? rows[i].letter : 256 + (int)i)) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool check_together(struct run_options *options, int argc, char **argv, int *exit_status)
{
    if (optind == argc) {
        return usage_error(exit_status, NULL, "no model was given");
    }
    if (optind + 1 < argc) {
        return usage_error(exit_status, NULL, "more than one model was given");
    }
    options->model_path = argv[optind];
    if (strcmp(options->model_path, "-") == 0 && options->format == NULL) {
        return usage_error(exit_status, "from", "is needed where the model comes from standard input");
    }
    if (options->n_steps == 0) {
        return usage_error(exit_status, "steps", "must be at least 1");
    }
    if (options->n_repeats == 0) {
        return usage_error(exit_status, "repeat", "must be at least 1");
    }
    if (options->sweep_path != NULL && (options->inputs_path != NULL || options->plot_path != NULL || options->schedule ||
                                        options->typed || options->compile || options->time || options->n_repeats > 1)) {
        return usage_error(exit_status, "sweep",
                           "does not go with --inputs, --plot, --schedule, --typed, --compile, --time or --repeat");
    }
    return true;
}

/* What is asked for in place of a run. */
static int tell(enum argument argument)
{
    struct mdf_memory memory;
    struct mdf_text text;
    bool failed;

    if (argument != OPERATORS) {
        fputs(argument == HELP ? help : "mdf-run " MDF_VERSION "\n", stdout);
        return EXIT_DONE;
    }
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_operators_page(&text);
    failed = text.failed;
    fputs(failed ? "" : text.bytes, stdout);
    mdf_text_release(&text);
    return failed ? EXIT_MODEL : EXIT_DONE;
}

bool parse_run_options(int argc, char **argv, struct run_options *options, int *exit_status)
{
    struct option table[N_ROWS + 1];
    char letters[2 * N_ROWS + 2];
    const struct option_row *row;
    const char *wrong;
    int code;

    memset(options, 0, sizeof *options);
    options->n_steps = options->n_repeats = 1;
    options->dt = NAN;
    options->inputs = calloc((size_t)argc, sizeof *options->inputs);
    if (options->inputs == NULL) {
        fprintf(stderr, "mdf-run: error: out of memory\n");
        *exit_status = EXIT_MODEL;
        return false;
    }
    fill_getopt_table(table, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        row = find_row(code);
        if (row == NULL) {
            return unknown_option(exit_status, code, argv[optind - 1]);
        }
        if (row->argument == HELP || row->argument == VERSION || row->argument == OPERATORS) {
            *exit_status = tell(row->argument);
            return false;
        }
        wrong = set_option(options, row, optarg);
        if (wrong != NULL) {
            return usage_error(exit_status, row->name, wrong);
        }
    }
    return check_together(options, argc, argv, exit_status);
}

void release_run_options(struct run_options *options)
{
    free((void *)options->inputs);
    options->inputs = NULL;
}
