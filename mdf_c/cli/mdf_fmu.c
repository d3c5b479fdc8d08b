/* mdf_fmu.c - the program mdf-fmu: a model as a Functional Mock-up Unit, for simulators that know nothing of MDF. See
 * docs/man/mdf-fmu.1. */
#include "mdf_c/base/hash.h"
#include "mdf_c/cli/completion.h"
#include "mdf_c/cli/compiling/compile_library.h"
#include "mdf_c/cli/fmu/fmu.h"
#include "mdf_c/cli/load_model.h"
#include "mdf_c/cli/compiling/make_source.h"
#include "mdf_c/cli/programs.h"
#include "mdf_c/cli/compiling/source_request.h"
#include "mdf_c/values/values.h"
#include "mdf_c/values/zip_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: mdf-fmu [options] MODEL -o OUT.fmu      MODEL: .json .yaml .yml .bson .onnx, or - with --from FORMAT\n"
    "Writes a model as a Functional Mock-up Unit (docs/fmu.md): C source, and a library for this kind of machine,\n"
    "compiled by $CC or cc. The model is evaluated a few times first, as types and shapes have to be known.\n"
    "  -o, --output OUT.fmu      see above\n"
    "      --fmi 2|3             the version of the standard: 2.0 (default) or 3.0\n"
    "      --kind both|co-simulation|model-exchange   default: both where the model has a right-hand side, else the first\n"
    "      --source-only         no library\n"
    "      --name NAME           the model identifier; default: the model's id\n"
    "      --tunable NODE.PARAMETER,...|all|none   parameters of the FMU; default: all that can be, of up to 64"
    " elements\n" SOURCE_HELP MESSAGE_HELP
    "  -h, --help, --version, --completion SHELL   the last: what bash, zsh or fish needs to complete the options\n";

/* Of --kind. */
enum { KIND_BOTH, KIND_CO_SIMULATION, KIND_MODEL_EXCHANGE };
static const char *const kind_words[] = {"both", "co-simulation", "model-exchange", NULL};
static const char *const version_words[] = {"2", "3", NULL};

/* Parameters with more elements are constants, unless they are asked for: FMI 2 has a variable for each element. */
enum { MOST_TUNABLE_ELEMENTS = 64 };

struct job {
    struct source_request request;
    const char *output;
    int version, kind;
    bool source_only;
    const mdf_program *program;
    struct fmu fmu;
    struct mdf_text source, description;
};

/* ------------------------------------------------------------------ the command line */

static const char *output_fault(const char *path)
{
    return mdf_ends_with(path, ".fmu") ? NULL : "must be a file .fmu";
}

#define FIELD(name) offsetof(struct job, name)

static const struct option_row rows[] = {
    {"output", 'o', ARGUMENT_TEXT, .offset = FIELD(output), .fault = output_fault},
    {"fmi", '\0', ARGUMENT_WORD, .offset = FIELD(version), .least = 2, .words = version_words},
    {"kind", '\0', ARGUMENT_WORD, .offset = FIELD(kind), .least = KIND_BOTH, .words = kind_words},
    {"source-only", '\0', ARGUMENT_FLAG, .offset = FIELD(source_only)},
    SOURCE_ROWS(struct job, request),
    COMMON_ROWS,
};

static const struct command_line line = {"mdf-fmu", help, rows, sizeof rows / sizeof *rows};

static int parse(int argc, char **argv, struct job *job, bool *ends)
{
    int exit_status;
    size_t n_names;
    char **names = read_command_line(&line, argc, argv, job, &n_names, &exit_status);

    *ends = names == NULL;
    return *ends ? exit_status : take_model_path(&job->request, &line, names, n_names, job->output);
}

/* ------------------------------------------------------------------ texts */

/* An identifier of C like a text: what is no letter or digit is _, once. */
static const char *make_identifier(struct mdf_arena *arena, const char *text)
{
    char *identifier = mdf_arena_printf(arena, "m_%s", text), *out = identifier;
    const char *at;

    if (identifier == NULL) {
        return NULL;
    }
    for (at = mdf_is_digit(text[0]) ? identifier : text; *at != '\0'; at++) {
        if (mdf_is_letter(*at) || mdf_is_digit(*at)) {
            *out++ = *at;
        } else if (out > identifier && out[-1] != '_') {
            *out++ = '_';
        }
    }
    while (out > identifier && out[-1] == '_') {
        out--;
    }
    *out = '\0';
    return out > identifier ? identifier : "model";
}

/* A name for C that nothing else has, of 44 characters at most: mdf_c/source takes such a one as it is. */
static const char *make_model_name(struct mdf_arena *arena, const char *identifier)
{
    char *name = mdf_arena_printf(arena, "fmu_%.40s", identifier);
    size_t length = name != NULL ? strlen(name) : 0;

    while (length > 0 && name[length - 1] == '_') {
        name[--length] = '\0';
    }
    return name;
}

static bool name_fmu(struct job *job, mdf_error *error)
{
    const char *id = job->program->model_id != NULL && job->program->model_id[0] != '\0' ? job->program->model_id : "model";
    struct fmu *fmu = &job->fmu;

    fmu->version = job->version;
    fmu->dt = isnan(job->request.options.dt) ? 1 : job->request.options.dt;
    fmu->identifier = make_identifier(&fmu->arena, job->request.name != NULL ? job->request.name : id);
    fmu->title = mdf_arena_text(&fmu->arena, id, strlen(id));
    fmu->model_name = fmu->identifier != NULL ? make_model_name(&fmu->arena, fmu->identifier) : NULL;
    return (fmu->title != NULL && fmu->model_name != NULL) || mdf_memory_error(fmu->arena.memory, error) == MDF_OK;
}

/* The model's own source, with its right-hand side where that is asked for. */
static bool write_model(struct job *job, struct mdf_state *state, bool has_derivatives, mdf_error *error)
{
    struct mdf_source_options how = {.name = job->fmu.model_name,
                                     .draws = &job->fmu.draws,
                                     .has_derivatives = has_derivatives,
                                     .has_indicators = true,
                                     .has_tangents = &job->fmu.has_tangents};

    job->fmu.has_derivatives = has_derivatives;
    job->source.length = 0;
    return mdf_source_write(state, &how, &job->source, NULL, error);
}

/* A model without a right-hand side is for co-simulation, unless the other is asked for. */
static bool write_model_as_can_be(struct job *job, struct mdf_state *state, mdf_error *error)
{
    mdf_error why = {0};

    job->fmu.has_co_simulation = job->kind != KIND_MODEL_EXCHANGE;
    if (job->kind != KIND_BOTH || state->program->right_side.states == NULL) {
        return write_model(job, state, job->kind == KIND_MODEL_EXCHANGE, error);
    }
    if (write_model(job, state, true, &why)) {
        return true;
    }
    return why.code == MDF_UNSUPPORTED ? write_model(job, state, false, error) : (*error = why, false);
}

/* A token that is another one for another model: a hash of all that is written. */
static void make_token(struct job *job)
{
    struct mdf_hash hash = mdf_hash_begin();

    mdf_hash_add_text(&hash, MDF_VERSION);
    mdf_hash_add(&hash, job->source.bytes, job->source.length);
    snprintf(job->fmu.token, sizeof job->fmu.token, "{%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "}",
             hash.a >> 32, hash.a >> 16 & 0xffff, hash.a & 0xffff, hash.b >> 48, hash.b & 0xffffffffffff);
}

static bool write_texts(void *context, struct mdf_state *state, mdf_error *error)
{
    struct job *job = context;

    if (!name_fmu(job, error) || !write_model_as_can_be(job, state, error) ||
        !fmu_collect(&job->fmu, job->request.model, state, error)) {
        return false;
    }
    if (job->fmu.left_out != NULL) {
        mdf_error warning = {0};

        mdf_error_set(&warning, MDF_UNSUPPORTED,
                      "parameter '%s' is no variable of the FMU: an Integer of FMI 2 has 32 bits; --fmi 3 has more",
                      job->fmu.left_out);
        print_warning(&job->request.warnings, &warning);
    }
    make_token(job);
    fmu_append_source(&job->fmu, &job->source);
    fmu_append_description(&job->fmu, &job->description);
    return (!job->source.failed && !job->description.failed) || mdf_memory_error(&job->request.memory, error) == MDF_OK;
}

static bool prepare_state(void *context, struct mdf_state *state, mdf_error *error)
{
    (void)context;
    return fmu_prepare(state, error);
}

/* ------------------------------------------------------------------ the archive */

/* Where FMI looks for a library for this kind of machine; NULL: it has no name for it. */
static const char *platform(int version)
{
#if defined __linux__ && defined __x86_64__
    return version == 2 ? "linux64" : "x86_64-linux";
#elif defined __linux__ && defined __aarch64__
    return version == 2 ? NULL : "aarch64-linux";
#else
    (void)version;
    return NULL;
#endif
}

/* What the compiler, or the lack of one, has said, with the cure. */
static mdf_status tell_compiler(mdf_error *error)
{
    mdf_error said = *error;

    *error = (mdf_error){0};
    return mdf_error_set(error, said.code, "%s: %s (--source-only writes the FMU without a library)", said.file, said.message);
}

/* The library's bytes, compiled beside the FMU. */
static mdf_status make_library(struct job *job, void **bytes, size_t *size_bytes)
{
    struct mdf_memory *memory = &job->request.memory;
    char *path = mdf_arena_printf(&job->fmu.arena, "%s.%ld.so", job->output, (long)getpid());
    mdf_status status = path != NULL ? compile_library(memory, &job->source, path, LIBRARY_PORTABLE, &job->request.error)
                                     : mdf_memory_error(memory, &job->request.error);

    if (status != MDF_OK) {
        return status == MDF_OUT_OF_MEMORY ? status : tell_compiler(&job->request.error);
    }
    status = mdf_read_file(memory, path, bytes, size_bytes, &job->request.error);
    unlink(path);
    return status;
}

static mdf_status add_text(struct job *job, struct mdf_zip_writer *zip, const char *name, const struct mdf_text *text)
{
    return text->failed ? mdf_memory_error(&job->request.memory, &job->request.error)
                        : mdf_zip_add(zip, name, NULL, 0, text->bytes, text->length, &job->request.error);
}

/* What FMI 3 and CMake need to build it. */
static mdf_status add_build_files(struct job *job, struct mdf_zip_writer *zip)
{
    struct mdf_text text;
    mdf_status status;

    mdf_text_init(&text, &job->request.memory);
    fmu_append_cmake(&job->fmu, &text);
    status = add_text(job, zip, "sources/CMakeLists.txt", &text);
    if (status == MDF_OK && job->version == 3) {
        text.length = 0;
        fmu_append_build_description(&job->fmu, &text);
        status = add_text(job, zip, "sources/buildDescription.xml", &text);
    }
    mdf_text_release(&text);
    return status;
}

static mdf_status add_library(struct job *job, struct mdf_zip_writer *zip)
{
    void *bytes = NULL;
    size_t size_bytes = 0;
    const char *name;
    mdf_status status;

    if (job->source_only || platform(job->version) == NULL) {
        return MDF_OK;
    }
    name = mdf_arena_printf(&job->fmu.arena, "binaries/%s/%s.so", platform(job->version), job->fmu.identifier);
    status = name != NULL ? make_library(job, &bytes, &size_bytes) : mdf_memory_error(&job->request.memory, &job->request.error);
    if (status == MDF_OK) {
        status = mdf_zip_add(zip, name, NULL, 0, bytes, size_bytes, &job->request.error);
    }
    mdf_memory_release(&job->request.memory, bytes);
    return status;
}

static mdf_status write_archive(struct job *job)
{
    struct mdf_zip_writer zip;
    struct mdf_new_file file;
    mdf_status status = mdf_new_file_open(&file, &job->request.memory, job->output, &job->request.error);

    if (status != MDF_OK) {
        return status;
    }
    mdf_zip_writer_init(&zip, &file, &job->request.memory);
    status = add_text(job, &zip, "modelDescription.xml", &job->description);
    status = status == MDF_OK ? add_text(job, &zip, "sources/fmu.c", &job->source) : status;
    status = status == MDF_OK ? add_build_files(job, &zip) : status;
    status = status == MDF_OK ? add_library(job, &zip) : status;
    status = status == MDF_OK ? mdf_zip_finish(&zip, &job->request.error) : status;
    status = status == MDF_OK ? mdf_new_file_commit(&file, &job->request.error) : status;
    mdf_new_file_abandon(&file);
    mdf_zip_writer_release(&zip);
    return status;
}

/* ------------------------------------------------------------------ all */

/* With the right-hand side where that is asked for, or there is one: where there is none, nothing is said. Warnings are told once. */
static mdf_program *compile_as_can_be(struct job *job)
{
    struct source_request *request = &job->request;
    const mdf_options said = request->options.library;
    mdf_program *program = NULL;

    if (job->kind == KIND_BOTH) {
        request->options.library.diagnostics = NULL;
        program = compile_tunable(request, true);
        request->options.library = said;
        if (program != NULL || request->error.code == MDF_OUT_OF_MEMORY) {
            return program;
        }
        memset(&request->error, 0, sizeof request->error);
        request->options.library.warning = NULL;
    }
    program = compile_tunable(request, job->kind == KIND_MODEL_EXCHANGE);
    request->options.library = said;
    return program;
}

static int make_fmu(struct job *job)
{
    struct source_request *request = &job->request;
    const struct warm_state_user user = {true, prepare_state, write_texts, job};
    mdf_program *program = NULL;
    int status = load_source_model(request);

    if (request->tunable == NULL) {
        request->tunable = TUNABLE_ALL;
        request->most_tunable = MOST_TUNABLE_ELEMENTS;
    }
    if (status == EXIT_DONE) {
        program = compile_as_can_be(job);
        status = program != NULL ? EXIT_DONE : compile_status(&request->error);
    }
    if (status == EXIT_DONE && program->has_derivative && !(request->options.dt > 0)) {
        mdf_error_set(&request->error, MDF_USAGE,
                      "the model has time derivatives: --dt says how large its own steps are, in seconds");
        status = EXIT_USAGE;
    }
    job->program = program;
    if (status == EXIT_DONE) {
        status = with_warm_state(&request->options, program, &request->warnings, &user, &request->error);
    }
    if (status == EXIT_DONE && write_archive(job) != MDF_OK) {
        status = EXIT_MODEL;
    }
    mdf_program_free(program);
    return status;
}

int fmu_program(int argc, char **argv)
{
    struct job job = {.request = {.options = {.dt = (double)NAN}}, .version = 2};
    bool ends;
    int status = parse(argc, argv, &job, &ends);

    begin_source_request(&job.request);
    mdf_arena_init(&job.fmu.arena, &job.request.memory);
    mdf_text_init(&job.source, &job.request.memory);
    mdf_text_init(&job.description, &job.request.memory);
    if (status == EXIT_DONE && !ends) {
        status = make_fmu(&job);
    }
    mdf_text_release(&job.source);
    mdf_text_release(&job.description);
    mdf_arena_release(&job.fmu.arena);
    return end_source_request(&job.request, "mdf-fmu", status);
}
