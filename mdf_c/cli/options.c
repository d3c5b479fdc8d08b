/* options.c - see options.h. An option is one row of the table: how it is written, what it sets. */
#include "mdf_c/cli/options.h"

#include "mdf_c/base/machine_memory.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/given_parameters.h"
#include "mdf_c/cli/reports/pictures.h"
#include "mdf_c/cli/plugins.h"
#include "mdf_c/cli/reports/profile_file.h"
#include "mdf_c/plan/solve/method.h"
#include "mdf_c/run/sweep/sweep_lanes.h"
#include "mdf_c/write/model_schema.h"
#include "mdf_c/write/operators_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: mdf-run [options] MODEL      MODEL: .json .yaml .yml .bson .onnx, or - with --from FORMAT\n"
    "  -g, --graph ID            the graph to run; default: the first that no other uses as a body\n"
    "  -i, --input NAME=VALUE, --set NODE.PARAMETER=VALUE   NAME: PORT or NODE.PORT; VALUE: JSON or @FILE (.json .npy)\n"
    "      --inputs FILE         JSON object {name: value}, a list of them (one a step), or .npz\n"
    "  -n, --steps N, --dt T     evaluations, default 1 (3 with --explain and --dump); time increment of all but the first\n"
    "      --method NAME, --rtol R, --atol A, --max-step H, --step-limit N   time derivatives (docs/time.md)\n"
    "  -o, --output FILE         .json .csv .npz; default: JSON on standard output\n"
    "      --trace, --trace-bodies, --schedule   tell every step; bodies by iteration too; who ran when, as text in place of "
    "JSON\n"
    "      --explain, --dump FORM   which way all ran, why not faster; code, lowered, nests, schedule, machine, c\n"
    "      --record NAME,..., --watch NAME,..., --gradient RESULT --of NODE.PARAMETER   ports; as they change; derivatives\n"
    "      --sweep FILE, --lanes N   evaluate for many values, as the file says (docs/sweeps.md); N instances side by side\n"
    "      --resume, --part I/N, --chunk N, --compress gzip|zstd, --zarr-format 2|3   of a sweep to -o FOLDER.zarr\n"
    "      --typed, --float32    values as {\"type\", \"shape\", \"data\"}; reals without a declared type are float32\n"
    "      --dialect reference|psyneulink, --scheduling-mode standard|exact_time   default: as the file says\n"
    "      --seed N, --threads N, --plain, --compile   default: all cores; no fast ways; as C (mdf-compile)\n"
    "      --max-iterations N, --max-passes N   bounds on one Loop, and on one evaluation by conditions\n"
    "      --loop-condition standard|obey   of a Loop without a condition input: ignore what its body yields, or obey it\n"
    "      --max-memory BYTES, --time-limit SECONDS   bounds (K, M, G may follow; none); default: the machine's memory\n"
    "      --time, --repeat N, --profile[=FILE], --progress, --quiet   times as JSON; N times anew; where the time goes; a bar\n"
    "      --check, --stats[=json], --strict, --json-errors, --color auto|always|never   run nothing; count; warnings are "
    "errors\n"
    "      --graph-image FILE, --graph-detail 1|2|3   draw the graph, .svg .png .pdf (needs Graphviz) or .dot; names, ports, "
    "all\n"
    "      --plot FILE           draw every step of the recorded ports, .svg .png .pdf (needs gnuplot) or .gp\n"
    "      --from FORMAT, --plugin FILE   json, yaml, bson or onnx, whatever the suffix; functions for models (docs/plugins.md)\n"
    "  -h, --help, --version, --ops, --schema, --completion SHELL   operators; the JSON Schema of models; for bash, zsh, fish\n";

#define FIELD(name) offsetof(struct run_options, name)

/* From the third evaluation on types and shapes are stable, and what can be lowered is. */
enum { STEPS_TO_WARM_UP = 3 };

static const char *output_fault(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path, *suffix = strrchr(base, '.');
    bool is_known = suffix == NULL || strcmp(suffix, ".json") == 0 || strcmp(suffix, ".csv") == 0 ||
                    strcmp(suffix, ".npz") == 0 || strcmp(suffix, ".zarr") == 0;

    if (strcmp(path, "-") == 0) {
        return "must be a file: without it JSON goes to standard output";
    }
    return is_known && path[0] != '\0' ? NULL : "must be a file .json, .csv or .npz, or of a sweep a folder .zarr";
}

bool read_part(const char *text, uint64_t *part, uint64_t *n_parts)
{
    int length = 0;

    return strspn(text, "0123456789/") == strlen(text) && strlen(text) < 20 &&
           sscanf(text, "%" SCNu64 "/%" SCNu64 "%n", part, n_parts, &length) == 2 && text[length] == '\0' && *part >= 1 &&
           *part <= *n_parts;
}

static const char *stats_fault(const char *text)
{
    return strcmp(text, "json") == 0 || strcmp(text, "text") == 0 ? NULL : "must be text or json";
}

static const char *part_fault(const char *text)
{
    uint64_t part, n_parts;

    return read_part(text, &part, &n_parts) ? NULL : "must be I/N, part I of N, I from 1 to N";
}

const char *const loop_condition_words[] = {"standard", "obey", NULL};
const char *const dialect_words[] = {"reference", "psyneulink", NULL};
const char *const scheduling_mode_words[] = {"standard", "exact_time", NULL};
extern const char *const store_codec_words[];
static const char *const zarr_format_words[] = {"2", "3", NULL};
static const char *const dump_words[] = {"code", "lowered", "nests", "schedule", "machine", "c", NULL};

static const struct option_row rows[] = {
    {"graph", 'g', ARGUMENT_TEXT, .offset = FIELD(library.graph)},
    {"input", 'i', ARGUMENT_TEXTS, .offset = FIELD(inputs), .fault = input_fault},
    {"set", '\0', ARGUMENT_TEXTS, .offset = FIELD(settings), .fault = setting_fault},
    {"inputs", '\0', ARGUMENT_TEXT, .offset = FIELD(inputs_path)},
    {"steps", 'n', ARGUMENT_COUNT, .offset = FIELD(n_steps), .least = 1},
    {"dt", '\0', ARGUMENT_REAL, .offset = FIELD(dt)},
    {"method", '\0', ARGUMENT_WORD, .offset = FIELD(library.method), .words = mdf_method_names},
    {"rtol", '\0', ARGUMENT_POSITIVE, .offset = FIELD(library.rtol)},
    {"atol", '\0', ARGUMENT_POSITIVE, .offset = FIELD(library.atol)},
    {"max-step", '\0', ARGUMENT_POSITIVE, .offset = FIELD(library.max_step)},
    {"step-limit", '\0', ARGUMENT_COUNT, .offset = FIELD(library.step_limit)},
    {"output", 'o', ARGUMENT_TEXT, .offset = FIELD(output_path), .fault = output_fault},
    {"gradient", '\0', ARGUMENT_TEXT, .offset = FIELD(gradient)},
    {"of", '\0', ARGUMENT_TEXT, .offset = FIELD(gradient_of)},
    {"trace", '\0', ARGUMENT_FLAG, .offset = FIELD(trace)},
    {"schedule", '\0', ARGUMENT_FLAG, .offset = FIELD(schedule)},
    {"explain", '\0', ARGUMENT_FLAG, .offset = FIELD(explain)},
    {"dump", '\0', ARGUMENT_WORD, .offset = FIELD(dump), .least = DUMP_CODE, .words = dump_words},
    {"record", '\0', ARGUMENT_TEXT, .offset = FIELD(record)},
    {"plugin", '\0', ARGUMENT_TEXTS, .offset = FIELD(plugins)},
    {"trace-bodies", '\0', ARGUMENT_FLAG, .offset = FIELD(trace_bodies)},
    {"watch", '\0', ARGUMENT_TEXT, .offset = FIELD(watch)},
    {"profile", '\0', ARGUMENT_OPTIONAL, .offset = FIELD(profile), .fault = profile_fault},
    {"stats", '\0', ARGUMENT_OPTIONAL, .offset = FIELD(stats), .fault = stats_fault},
    {"sweep", '\0', ARGUMENT_TEXT, .offset = FIELD(sweep_path)},
    {"resume", '\0', ARGUMENT_FLAG, .offset = FIELD(resume)},
    {"part", '\0', ARGUMENT_TEXT, .offset = FIELD(part), .fault = part_fault},
    {"lanes", '\0', ARGUMENT_COUNT, .offset = FIELD(n_lanes), .least = 1, .most = MDF_SWEEP_MOST_LANES},
    {"chunk", '\0', ARGUMENT_COUNT, .offset = FIELD(n_chunk), .least = 1, .most = 100000000},
    {"compress", '\0', ARGUMENT_WORD, .offset = FIELD(compress), .least = 1, .words = store_codec_words},
    {"zarr-format", '\0', ARGUMENT_WORD, .offset = FIELD(zarr_format), .least = 2, .words = zarr_format_words},
    {"typed", '\0', ARGUMENT_FLAG, .offset = FIELD(typed)},
    {"float32", '\0', ARGUMENT_FLAG, .offset = FIELD(library.float32)},
    {"seed", '\0', ARGUMENT_COUNT, .offset = FIELD(library.seed)},
    {"plain", '\0', ARGUMENT_FLAG, .offset = FIELD(library.plain)},
    {"threads", '\0', ARGUMENT_INTEGER, .offset = FIELD(library.n_threads), .least = 1, .most = 65536},
    {"max-iterations", '\0', ARGUMENT_COUNT, .offset = FIELD(library.max_iterations)},
    {"max-passes", '\0', ARGUMENT_COUNT, .offset = FIELD(library.max_passes)},
    {"loop-condition", '\0', ARGUMENT_WORD, .offset = FIELD(library.loop_condition), .least = MDF_LOOP_CONDITION_STANDARD,
     .words = loop_condition_words},
    {"dialect", '\0', ARGUMENT_WORD, .offset = FIELD(library.dialect), .least = MDF_DIALECT_REFERENCE, .words = dialect_words},
    {"scheduling-mode", '\0', ARGUMENT_WORD, .offset = FIELD(library.scheduling_mode), .least = MDF_SCHEDULING_MODE_STANDARD,
     .words = scheduling_mode_words},
    {"max-memory", '\0', ARGUMENT_BYTES, .offset = FIELD(library.max_memory_bytes)},
    {"time-limit", '\0', ARGUMENT_SECONDS, .offset = FIELD(library.time_limit_s)},
    {"check", '\0', ARGUMENT_FLAG, .offset = FIELD(check)},
    {"strict", '\0', ARGUMENT_FLAG, .offset = FIELD(strict)},
    {"time", '\0', ARGUMENT_FLAG, .offset = FIELD(time)},
    {"compile", '\0', ARGUMENT_FLAG, .offset = FIELD(compile)},
    {"repeat", '\0', ARGUMENT_COUNT, .offset = FIELD(n_repeats), .least = 1, .most = SIZE_MAX / sizeof(double)},
    {"progress", '\0', ARGUMENT_CHOICE, .offset = FIELD(progress), .least = PROGRESS_ON},
    {"quiet", '\0', ARGUMENT_CHOICE, .offset = FIELD(progress), .least = PROGRESS_OFF},
    {"graph-image", '\0', ARGUMENT_TEXT, .offset = FIELD(graph_image_path), .fault = graph_image_fault},
    {"graph-detail", '\0', ARGUMENT_INTEGER, .offset = FIELD(graph_detail), .least = MDF_DETAIL_NAMES, .most = MDF_DETAIL_ALL},
    {"plot", '\0', ARGUMENT_TEXT, .offset = FIELD(plot_path), .fault = plot_fault},
    {"from", '\0', ARGUMENT_TEXT, .offset = FIELD(format)},
    {"ops", '\0', ARGUMENT_PAGE, .page = mdf_write_operators_page},
    {"schema", '\0', ARGUMENT_PAGE, .page = mdf_write_model_schema},
    COMMON_ROWS,
};

static const struct command_line line = {"mdf-run", help, rows, sizeof rows / sizeof *rows};

/* Of `--profile x MODEL`, x is the text of the option: one model is run. *n_names are the names that are left. */
static void take_next(struct optional_text *option, char **names, size_t *n_names)
{
    for (size_t i = 0; option->is_given && option->text == NULL && *n_names == 2 && i < 2; i++) {
        if (names[i] == option->next) {
            option->text = names[i];
            names[0] = names[1 - i];
            *n_names = 1;
        }
    }
}

static int check_looking(const struct run_options *options)
{
    bool looks = options->trace_bodies || options->profile.is_given || options->watch != NULL;

    if (looks && (options->sweep_path != NULL || options->compile || options->check || options->stats.is_given)) {
        return usage_error(&line, "--trace-bodies, --profile and --watch do not go with --sweep, --compile, --check or --stats");
    }
    if (options->profile.text != NULL && profile_fault(options->profile.text) != NULL) {
        return usage_error(&line, "--profile %s, not '%s'", profile_fault(options->profile.text), options->profile.text);
    }
    if (options->stats.text != NULL && stats_fault(options->stats.text) != NULL) {
        return usage_error(&line, "--stats %s, not '%s'", stats_fault(options->stats.text), options->stats.text);
    }
    return EXIT_DONE;
}

static int check_together(const struct run_options *options, size_t n_names)
{
    bool goes_to_store = options->output_path != NULL && mdf_ends_with(options->output_path, ".zarr");

    if (n_names != 1) {
        return usage_error(&line, n_names == 0 ? "no model was given" : "more than one model was given");
    }
    if (strcmp(options->model_path, "-") == 0 && options->format == NULL) {
        return usage_error(&line, "--from is needed where the model comes from standard input");
    }
    if (options->sweep_path != NULL && (options->inputs_path != NULL || options->plot_path != NULL || options->schedule ||
                                        options->typed || options->compile || options->time || options->n_repeats > 1)) {
        return usage_error(&line,
                           "--sweep does not go with --inputs, --plot, --schedule, --typed, --compile, --time or --repeat");
    }
    if ((options->resume || options->part != NULL || options->n_chunk > 0 || options->compress > 0 || options->zarr_format > 0) &&
        (options->sweep_path == NULL || !goes_to_store)) {
        return usage_error(&line, "--resume, --part, --chunk, --compress and --zarr-format are for --sweep with -o FOLDER.zarr");
    }
    if (options->n_lanes > 0 && options->sweep_path == NULL) {
        return usage_error(&line, "--lanes is for --sweep");
    }
    if (goes_to_store && options->sweep_path == NULL) {
        return usage_error(&line, "a folder .zarr is for --sweep: one run goes to .json, .csv or .npz");
    }
    if (options->compile && (options->explain || options->dump != DUMP_NOTHING)) {
        return usage_error(&line, "--explain and --dump do not go with --compile");
    }
    if (options->sweep_path != NULL &&
        (options->dump == DUMP_CODE || options->dump == DUMP_SCHEDULE || options->dump == DUMP_C)) {
        return usage_error(&line, "of --dump lowered, nests and machine go with --sweep: of what is evaluated side by side");
    }
    if (options->sweep_path != NULL && goes_to_store && options->dump != DUMP_NOTHING) {
        return usage_error(&line, "--dump does not go with -o FOLDER.zarr");
    }
    if ((options->gradient != NULL) != (options->gradient_of != NULL)) {
        return usage_error(&line, "--gradient RESULT and --of NODE.PARAMETER go together");
    }
    if (options->gradient != NULL &&
        (options->sweep_path != NULL || options->compile || options->check || options->schedule || options->explain ||
         options->dump != DUMP_NOTHING || (options->output_path != NULL && mdf_ends_with(options->output_path, ".csv")))) {
        return usage_error(
            &line, "--gradient does not go with --sweep, --compile, --check, --schedule, --explain, --dump or -o FILE.csv");
    }
    if (options->check && (options->explain || options->dump == DUMP_LOWERED || options->dump == DUMP_NESTS ||
                           options->dump == DUMP_MACHINE || options->dump == DUMP_C)) {
        return usage_error(&line, "--check evaluates nothing, without which there is nothing to %s",
                           options->explain ? "explain" : "dump but code and schedule");
    }
    return EXIT_DONE;
}

/* What the machine has is a bound as any other, which gradients over many steps keep to. */
static void find_memory_bound(mdf_options *library)
{
    size_t bound = library->max_memory_bytes == 0 ? mdf_machine_memory() : library->max_memory_bytes;

    library->max_memory_bytes = bound == 0 ? SIZE_MAX : bound;
}

bool parse_run_options(int argc, char **argv, struct run_options *options, int *exit_status)
{
    size_t n_names;
    char **names;

    memset(options, 0, sizeof *options);
    options->n_repeats = 1;
    options->dt = NAN;
    names = read_command_line(&line, argc, argv, options, &n_names, exit_status);
    if (names == NULL) {
        return false;
    }
    take_next(&options->profile, names, &n_names);
    take_next(&options->stats, names, &n_names);
    options->model_path = names[0];
    options->trace |= options->trace_bodies;
    if (options->n_steps == 0) { /* not given */
        options->n_steps =
            (options->explain && options->sweep_path == NULL) || options->dump != DUMP_NOTHING ? STEPS_TO_WARM_UP : 1;
    }
    *exit_status = check_together(options, n_names);
    *exit_status = *exit_status == EXIT_DONE ? check_looking(options) : *exit_status;
    find_memory_bound(&options->library);
    return *exit_status == EXIT_DONE;
}

void release_run_options(struct run_options *options)
{
    release_option_texts(&options->inputs);
    release_option_texts(&options->settings);
    release_plugins(options);
}
