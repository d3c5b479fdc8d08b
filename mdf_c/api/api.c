/* api.c - versions, models and programs: the public interface of mdf.h over the layers below. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/export/export_onnx.h"
#include "mdf_c/pictures/write_dot.h"
#include "mdf_c/plan/program.h"
#include "mdf_c/run/check_run.h"
#include "mdf_c/run/spare_states.h"
#include "mdf_c/values/values.h"
#include "mdf_c/write/beside.h"
#include "mdf_c/write/save_model.h"

#include <math.h>
#include <string.h>

const char *mdf_version(void)
{
    return MDF_VERSION;
}

int mdf_version_number(void)
{
    return MDF_VERSION_NUMBER;
}

/* ------------------------------------------------------------------ models */

/* A model that is being read, within a time limit: its memory gives nothing past it. */
struct loading {
    struct mdf_model *model;
    struct mdf_stop stop;
    mdf_options options;
    size_t n_errors; /* in the list before */
    mdf_error error; /* where the caller has none */
};

/* Where errors go: the list takes them from there. */
static mdf_error *error_of(struct loading *loading, mdf_error *error)
{
    memset(loading, 0, sizeof *loading);
    error = mdf_unset_error(error);
    return error != NULL ? error : &loading->error;
}

static bool begin_loading(struct loading *loading, const mdf_options *options, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_model *model;
    mdf_options known;

    if (!mdf_read_options(options, &known, error)) {
        return false;
    }
    mdf_memory_init(&memory, known.allocator, 0);
    model = mdf_memory_allocate_zeroed(&memory, 1, sizeof *model);
    if (model == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return false;
    }
    mdf_memory_init(&model->memory, known.allocator, mdf_memory_bound(known.max_memory_bytes));
    mdf_arena_init(&model->arena, &model->memory);
    model->warnings = (struct mdf_warnings){known.warning, known.warning_context, known.diagnostics};
    loading->options = known;
    loading->n_errors = mdf_diagnostics_n_errors(known.diagnostics);
    loading->model = model;
    mdf_stop_init(&loading->stop);
    if (!mdf_stop_begin(&loading->stop, &model->memory,
                        known.time_limit_s > 0 ? mdf_clock_s() + known.time_limit_s : (double)INFINITY, error)) {
        mdf_model_free(model);
        return false;
    }
    return true;
}

/* After errors in the model: what else is wrong with it, which shows when it is compiled. */
static void find_more_errors(struct loading *loading)
{
    mdf_options options = loading->options;
    mdf_error error = {0};

    options.warning = NULL; /* they may follow from the errors */
    options.parameters = NULL;
    mdf_program_release(mdf_program_compile(loading->model, NULL, 0, &options, &error));
}

static mdf_model *finish_loading(struct loading *loading, mdf_error *error)
{
    struct mdf_model *model = loading->model;
    bool done =
        model->document != NULL && mdf_read_arrays_beside(model->document, error) && mdf_model_read(model, error) == MDF_OK;

    if (mdf_stop_is_untold(&loading->stop)) {
        done = mdf_stop_tell(&loading->stop, error);
    }
    mdf_stop_release(&loading->stop, &model->memory);
    if (!done && model->is_partial) {
        find_more_errors(loading);
    }
    mdf_diagnostics_settle(loading->options.diagnostics, loading->n_errors, done ? NULL : error);
    if (!done) {
        mdf_model_free(model);
        return NULL;
    }
    model->warnings = (struct mdf_warnings){0}; /* the handler need not outlive the call */
    return model;
}

mdf_model *mdf_model_load_file_as(const char *path, const char *format, const mdf_options *options, mdf_error *error)
{
    struct loading loading;

    error = error_of(&loading, error);
    if (!MDF_GIVEN(path, error) || !begin_loading(&loading, options, error)) {
        return NULL;
    }
    loading.model->document = mdf_document_load(&loading.model->memory, path, format, &loading.model->warnings, error);
    return finish_loading(&loading, error);
}

mdf_model *mdf_model_load_file(const char *path, mdf_error *error)
{
    return mdf_model_load_file_as(path, NULL, NULL, error);
}

mdf_model *mdf_model_load_bytes(const void *bytes, size_t size_bytes, const char *format, const char *name,
                                const mdf_options *options, mdf_error *error)
{
    struct loading loading;

    error = error_of(&loading, error);
    if ((size_bytes > 0 && !MDF_GIVEN(bytes, error)) || !MDF_GIVEN(format, error) || !begin_loading(&loading, options, error)) {
        return NULL;
    }
    loading.model->document = mdf_document_parse(&loading.model->memory, format, name, bytes != NULL ? bytes : "", size_bytes,
                                                 &loading.model->warnings, error);
    return finish_loading(&loading, error);
}

mdf_status mdf_model_save_file(const mdf_model *model, const char *path, mdf_error *error)
{
    return mdf_model_save_file_parted(model, path, 0, error);
}

mdf_status mdf_model_save_file_parted(const mdf_model *model, const char *path, size_t beside_bytes, mdf_error *error)
{
    const char *format;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(model, error) || !MDF_GIVEN(path, error)) {
        return MDF_USAGE;
    }
    format = mdf_format_of_path(path);
    if (format == NULL) {
        return mdf_error_set(error, MDF_USAGE,
                             "'%s' has no suffix of a format that can be written: .json, .yaml, .yml, .bson, .onnx", path);
    }
    if (strcmp(format, "onnx") == 0) {
        return mdf_model_save_onnx(model, path, NULL, error);
    }
    return mdf_model_write(model, path, format, beside_bytes, error);
}

mdf_status mdf_model_save_onnx(const mdf_model *model, const char *path, const mdf_options *options, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_text bytes;
    mdf_program *program;
    mdf_status status;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(model, error) || !MDF_GIVEN(path, error)) {
        return MDF_USAGE;
    }
    program = mdf_compile(model, options, error);
    if (program == NULL) {
        return error != NULL ? error->code : MDF_MODEL;
    }
    mdf_memory_init(&memory, &program->memory.allocator, program->memory.limit_bytes);
    mdf_text_init(&bytes, &memory);
    status = mdf_export_onnx(model, program, &bytes, error);
    if (status == MDF_OK) {
        status = mdf_save_file(&memory, path, bytes.bytes, bytes.length, error);
    }
    mdf_text_release(&bytes);
    mdf_program_free(program);
    return status;
}

const char *mdf_model_id(const mdf_model *model)
{
    return model != NULL ? model->id : NULL;
}

size_t mdf_model_n_graphs(const mdf_model *model)
{
    return model != NULL ? model->n_graphs : 0;
}

const char *mdf_model_graph_id(const mdf_model *model, size_t index)
{
    return index < mdf_model_n_graphs(model) ? model->graphs[index].id : NULL;
}

size_t mdf_model_dot(const mdf_model *model, const char *graph, int detail, char *text, size_t size)
{
    const struct mdf_graph *drawn = NULL;
    struct mdf_memory memory;
    struct mdf_text dot;
    size_t length = 0;

    if (model != NULL && detail >= MDF_DETAIL_AUTOMATIC && detail <= MDF_DETAIL_ALL) {
        drawn = graph != NULL ? mdf_model_find_graph(model, graph) : mdf_model_main_graph(model);
        mdf_memory_init(&memory, &model->memory.allocator, 0);
    }
    if (drawn == NULL) {
        return mdf_give_text(NULL, text, size);
    }
    mdf_text_init(&dot, &memory);
    length = mdf_give_text(mdf_write_dot(&dot, model, drawn, (enum mdf_detail)detail, NULL) == MDF_OK ? &dot : NULL, text, size);
    mdf_text_release(&dot);
    return length;
}

void mdf_model_free(mdf_model *model)
{
    struct mdf_memory memory;

    if (model == NULL) {
        return;
    }
    mdf_document_free(model->document);
    mdf_arena_release(&model->arena);
    mdf_memory_init(&memory, &model->memory.allocator, 0);
    mdf_memory_release(&memory, model);
}

/* ------------------------------------------------------------------ programs */

mdf_program *mdf_compile(const mdf_model *model, const mdf_options *options, mdf_error *error)
{
    return mdf_compile_changeable(model, NULL, 0, options, error);
}

mdf_program *mdf_compile_changeable(const mdf_model *model, const char *const *parameters, size_t n_parameters,
                                    const mdf_options *options, mdf_error *error)
{
    mdf_options known;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(model, error) ||
        !mdf_arguments_given((const void *const *)parameters, n_parameters, "names of parameters", error) ||
        !mdf_read_options(options, &known, error)) {
        return NULL;
    }
    return mdf_program_compile(model, parameters, n_parameters, &known, error);
}

static mdf_program *compile_derivative(const mdf_model *model, struct mdf_gradient_request *request, const mdf_options *options,
                                       mdf_error *error)
{
    mdf_options known;

    if (!MDF_GIVEN(model, error) || !MDF_GIVEN(request->of, error) ||
        !mdf_arguments_given((const void *const *)request->by, request->n_by, "names of parameters", error) ||
        !mdf_read_options(options, &known, error)) {
        return NULL;
    }
    if (request->n_steps == 0) {
        mdf_error_set(error, MDF_USAGE, "there is no value after 0 steps");
        return NULL;
    }
    request->bound_bytes = known.max_memory_bytes < SIZE_MAX ? known.max_memory_bytes : 0;
    return mdf_program_compile_gradient(model, request, &known, error);
}

mdf_program *mdf_compile_gradient(const mdf_model *model, const char *of, const char *const *parameters, size_t n_parameters,
                                  uint64_t n_steps, double dt, const mdf_options *options, mdf_error *error)
{
    struct mdf_gradient_request request = {MDF_REQUEST_GRADIENT, of, parameters, n_parameters, n_steps, !isnan(dt), 0};

    return compile_derivative(model, &request, options, mdf_unset_error(error));
}

mdf_program *mdf_compile_vector_product(const mdf_model *model, mdf_vector_product what, const char *of,
                                        const char *const *parameters, size_t n_parameters, uint64_t n_steps, double dt,
                                        const mdf_options *options, mdf_error *error)
{
    static const enum mdf_request_kind kinds[] = {
        [MDF_VECTOR_JACOBIAN] = MDF_REQUEST_VJP, [MDF_JACOBIAN_VECTOR] = MDF_REQUEST_JVP, [MDF_HESSIAN_VECTOR] = MDF_REQUEST_HVP};
    struct mdf_gradient_request request = {MDF_REQUEST_GRADIENT, of, parameters, n_parameters, n_steps, !isnan(dt), 0};

    error = mdf_unset_error(error);
    if ((unsigned)what >= sizeof kinds / sizeof *kinds) {
        mdf_error_set(error, MDF_USAGE, "there is no product of derivatives number %u", (unsigned)what);
        return NULL;
    }
    request.kind = kinds[what];
    return compile_derivative(model, &request, options, error);
}

void mdf_program_free(mdf_program *program)
{
    if (program != NULL) {
        mdf_spare_states_release(program);
    }
    mdf_program_release(program);
}

const char *mdf_program_model_id(const mdf_program *program)
{
    return program != NULL ? program->model_id : NULL;
}

const char *mdf_program_graph_id(const mdf_program *program)
{
    return program != NULL ? program->graph_id : NULL;
}

size_t mdf_program_n_nodes(const mdf_program *program)
{
    return program != NULL ? program->n_nodes : 0;
}

const char *mdf_program_node_id(const mdf_program *program, size_t node)
{
    return node < mdf_program_n_nodes(program) ? program->nodes[node].id : NULL;
}

size_t mdf_program_n_outputs(const mdf_program *program, size_t node)
{
    return node < mdf_program_n_nodes(program) ? program->nodes[node].n_outputs : 0;
}

const char *mdf_program_output_id(const mdf_program *program, size_t node, size_t output)
{
    return output < mdf_program_n_outputs(program, node) ? program->nodes[node].outputs[output].id : NULL;
}

bool mdf_program_is_scheduled(const mdf_program *program)
{
    return program != NULL && program->schedule != NULL;
}

size_t mdf_program_n_layers(const mdf_program *program)
{
    return program != NULL ? program->n_layers : 0;
}

size_t mdf_program_layer_size(const mdf_program *program, size_t layer)
{
    return layer < mdf_program_n_layers(program) ? program->layers[layer].n_nodes : 0;
}

size_t mdf_program_layer_node(const mdf_program *program, size_t layer, size_t entry)
{
    return entry < mdf_program_layer_size(program, layer) ? program->layers[layer].nodes[entry] : SIZE_MAX;
}

size_t mdf_program_n_graph_inputs(const mdf_program *program)
{
    return program != NULL ? program->n_inputs : 0;
}

const char *mdf_program_graph_input_name(const mdf_program *program, size_t index)
{
    return index < mdf_program_n_graph_inputs(program) ? program->input_names[index] : NULL;
}

size_t mdf_program_n_results(const mdf_program *program)
{
    return program != NULL ? program->n_results : 0;
}

const char *mdf_program_result_name(const mdf_program *program, size_t index)
{
    return index < mdf_program_n_results(program) ? program->results[index].name : NULL;
}

mdf_status mdf_check(const mdf_model *model, const char *const *given, size_t n_given, uint64_t n_steps, double dt,
                     const mdf_options *options, mdf_error *error)
{
    const struct mdf_run_check check = {given, n_given, n_steps, dt};
    struct mdf_warnings warnings;
    mdf_program *program;
    mdf_error own = {0};
    mdf_options known;

    error = mdf_unset_error(error);
    error = error != NULL ? error : &own;
    if (!MDF_GIVEN(model, error) || !mdf_arguments_given((const void *const *)given, n_given, "names of inputs", error) ||
        !mdf_read_options(options, &known, error)) {
        return error->code;
    }
    program = mdf_program_look_over(model, &known, error);
    if (program == NULL) {
        return error->code;
    }
    warnings = (struct mdf_warnings){known.warning, known.warning_context, known.diagnostics};
    mdf_diagnostics_look_at(known.diagnostics, &model->document->source);
    mdf_run_check(program, &check, &warnings);
    mdf_diagnostics_look_at(known.diagnostics, NULL);
    mdf_program_free(program);
    return MDF_OK;
}

size_t mdf_check_run(const mdf_program *program, const char *const *given, size_t n_given, uint64_t n_steps, double dt,
                     mdf_warning_handler warning, void *context)
{
    const struct mdf_warnings warnings = {warning, context};
    const struct mdf_run_check check = {given, n_given, n_steps, dt};

    return program != NULL && mdf_arguments_given((const void *const *)given, n_given, "names", NULL)
               ? mdf_run_check(program, &check, &warnings)
               : 0;
}
