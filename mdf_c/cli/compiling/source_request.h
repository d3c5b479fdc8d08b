/* source_request.h - what programs have in common that write a model as C source: their options, and the way from a model's file
 * to a program whose tunable parameters are changeable. */
#ifndef MDF_CLI_SOURCE_REQUEST_H
#define MDF_CLI_SOURCE_REQUEST_H

#include "mdf_c/base/memory.h"
#include "mdf_c/base/text.h"
#include "mdf_c/cli/given_parameters.h"
#include "mdf_c/cli/reports/messages.h"
#include "mdf_c/cli/options.h"
#include "mdf_c/plan/solve/method.h"

#include <stddef.h>

#define TUNABLE_ALL "all" /* of the parameters, each that can be */

struct source_request {
    struct run_options options;
    const char *name;            /* of the model in C; NULL: its id */
    const char *tunable;         /* NAME,NAME,... or TUNABLE_ALL; NULL: none */
    size_t most_tunable;         /* of all, those of at most so many elements; 0: any */
    struct mdf_memory memory;
    struct warning_printer warnings;
    mdf_model *model; /* has the text that messages show */
    struct given_parameters parameters;
    mdf_error error;
};

/* The options of a structure that has a request as a member, and what is said of them. */
#define SOURCE_FIELD(structure, member, name) offsetof(structure, member.name)
#define SOURCE_ROWS(structure, member) \
    {"name", '\0', ARGUMENT_TEXT, .offset = SOURCE_FIELD(structure, member, name)}, \
    {"tunable", '\0', ARGUMENT_TEXT, .offset = SOURCE_FIELD(structure, member, tunable)}, \
    {"graph", 'g', ARGUMENT_TEXT, .offset = SOURCE_FIELD(structure, member, options.library.graph)}, \
    {"input", 'i', ARGUMENT_TEXTS, .offset = SOURCE_FIELD(structure, member, options.inputs), .fault = input_fault}, \
    {"set", '\0', ARGUMENT_TEXTS, .offset = SOURCE_FIELD(structure, member, options.settings), .fault = setting_fault}, \
    {"inputs", '\0', ARGUMENT_TEXT, .offset = SOURCE_FIELD(structure, member, options.inputs_path)}, \
    {"dt", '\0', ARGUMENT_REAL, .offset = SOURCE_FIELD(structure, member, options.dt)}, \
    {"method", '\0', ARGUMENT_WORD, .offset = SOURCE_FIELD(structure, member, options.library.method), .words = mdf_method_names}, \
    {"rtol", '\0', ARGUMENT_POSITIVE, .offset = SOURCE_FIELD(structure, member, options.library.rtol)}, \
    {"atol", '\0', ARGUMENT_POSITIVE, .offset = SOURCE_FIELD(structure, member, options.library.atol)}, \
    {"max-step", '\0', ARGUMENT_POSITIVE, .offset = SOURCE_FIELD(structure, member, options.library.max_step)}, \
    {"step-limit", '\0', ARGUMENT_COUNT, .offset = SOURCE_FIELD(structure, member, options.library.step_limit)}, \
    {"float32", '\0', ARGUMENT_FLAG, .offset = SOURCE_FIELD(structure, member, options.library.float32)}, \
    {"max-iterations", '\0', ARGUMENT_COUNT, .offset = SOURCE_FIELD(structure, member, options.library.max_iterations)}, \
    {"max-passes", '\0', ARGUMENT_COUNT, .offset = SOURCE_FIELD(structure, member, options.library.max_passes)}, \
    {"loop-condition", '\0', ARGUMENT_WORD, .offset = SOURCE_FIELD(structure, member, options.library.loop_condition), .least = MDF_LOOP_CONDITION_STANDARD, \
     .words = loop_condition_words}, \
    {"dialect", '\0', ARGUMENT_WORD, .offset = SOURCE_FIELD(structure, member, options.library.dialect), .least = MDF_DIALECT_REFERENCE, \
     .words = dialect_words}, \
    {"scheduling-mode", '\0', ARGUMENT_WORD, .offset = SOURCE_FIELD(structure, member, options.library.scheduling_mode), \
     .least = MDF_SCHEDULING_MODE_STANDARD, .words = scheduling_mode_words}, \
    {"max-memory", '\0', ARGUMENT_BYTES, .offset = SOURCE_FIELD(structure, member, options.library.max_memory_bytes)}, \
    {"time-limit", '\0', ARGUMENT_SECONDS, .offset = SOURCE_FIELD(structure, member, options.library.time_limit_s)}, \
    {"from", '\0', ARGUMENT_TEXT, .offset = SOURCE_FIELD(structure, member, options.format)}, \
    {"plugin", '\0', ARGUMENT_TEXTS, .offset = SOURCE_FIELD(structure, member, options.plugins)}
#define SOURCE_HELP \
    "  -g, --graph ID            the graph; default: the first that no other uses as a body\n" \
    "  -i, --input NAME=VALUE    an input for these evaluations, as in mdf-run; its shape counts\n" \
    "      --set NODE.PARAMETER=VALUE   another value of a parameter, as in mdf-run\n" \
    "      --inputs FILE         the same from a file\n" \
    "      --dt T                their time increment\n" \
    "      --method NAME, --rtol R, --atol A, --max-step H, --step-limit N   time derivatives (docs/time.md)\n" \
    "      --float32             reals without a declared type are float32, not float64\n" \
    "      --max-iterations N, --max-passes N   bounds on one Loop, and on one evaluation by conditions\n" \
    "      --loop-condition standard|obey   of a Loop without a condition input: ignore what its body yields, or obey it\n" \
    "      --dialect reference|psyneulink   what the file means (docs/dialects.md); default: by who wrote it\n" \
    "      --scheduling-mode standard|exact_time   of a graph with conditions (docs/scheduling.md); default: as it says\n" \
    "      --max-memory BYTES    bound on memory (K, M, G may follow; none); default: what the machine has\n" \
    "      --time-limit SECONDS  end with an error what takes longer to compile, or in these evaluations\n" \
    "      --from FORMAT         json, yaml, bson or onnx, whatever the suffix\n" \
    "      --plugin FILE         functions of a shared library, as in mdf-run, which say how they are in C (docs/plugins.md)\n"

void begin_source_request(struct source_request *request);
/* Takes the model's path from what stands on the command line beside options; EXIT_DONE, or it was said what is wrong. */
int take_model_path(struct source_request *request, const struct command_line *line, char **names, size_t n_names,
                    const char *output);
/* Loads plugins, the model and what --set says. EXIT_DONE, or the exit status with the error set. */
int load_source_model(struct source_request *request);
/* The program, in which the parameters that are to be tunable are changeable, and the right-hand side where that is asked for.
 * NULL: the error is set. */
mdf_program *compile_tunable(struct source_request *request, bool has_right_side);
/* The program of a value after n_steps evaluations and its derivatives by parameters, NAME,NAME,..., which are changeable. NULL: the error
 * is set. */
mdf_program *compile_request_gradient(struct source_request *request, const char *of, const char *by, uint64_t n_steps);
/* Says what is wrong, if something is, and releases all. `program`: its name. Returns the exit status. */
int end_source_request(struct source_request *request, const char *program, int status);

#endif
