/* api.c - the public interface of mdf.h over the layers below. */
#include "mdf_c/mdf.h"

#include "mdf_c/run/restart.h"
#include "mdf_c/run/steps.h"
#include "mdf_c/write/beside.h"
#include "mdf_c/write/save_model.h"
#include "mdf_c/write/write.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ models */

static struct mdf_model *new_model(const mdf_options *options, mdf_error *error)
{
    const mdf_allocator *allocator = options != NULL ? options->allocator : NULL;
    struct mdf_memory memory;
    struct mdf_model *model;

    mdf_memory_init(&memory, allocator, 0);
    model = mdf_memory_allocate_zeroed(&memory, 1, sizeof *model);
    if (model == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    mdf_memory_init(&model->memory, allocator, 0);
    mdf_arena_init(&model->arena, &model->memory);
    if (options != NULL) {
        model->warnings = (struct mdf_warnings){options->warning, options->warning_context};
    }
    return model;
}

static mdf_model *finish_model(struct mdf_model *model, mdf_error *error)
{
    if (model->document == NULL || !mdf_read_arrays_beside(model->document, error) || mdf_model_read(model, error) != MDF_OK) {
        mdf_model_free(model);
        return NULL;
    }
    model->warnings = (struct mdf_warnings){0}; /* the handler need not outlive the call */
    return model;
}

mdf_model *mdf_model_load_file_as(const char *path, const char *format, const mdf_options *options, mdf_error *error)
{
    struct mdf_model *model = new_model(options, error);

    if (model == NULL) {
        return NULL;
    }
    model->document = mdf_document_load(&model->memory, path, format, &model->warnings, error);
    return finish_model(model, error);
}

mdf_model *mdf_model_load_file(const char *path, mdf_error *error)
{
    return mdf_model_load_file_as(path, NULL, NULL, error);
}

mdf_model *mdf_model_load_bytes(const void *bytes, size_t size_bytes, const char *format, const char *name,
                                const mdf_options *options, mdf_error *error)
{
    struct mdf_model *model = new_model(options, error);

    if (model == NULL) {
        return NULL;
    }
    model->document = mdf_document_parse(&model->memory, format, name, bytes, size_bytes, &model->warnings, error);
    return finish_model(model, error);
}

mdf_status mdf_model_save_file(const mdf_model *model, const char *path, mdf_error *error)
{
    return mdf_model_save_file_parted(model, path, 0, error);
}

mdf_status mdf_model_save_file_parted(const mdf_model *model, const char *path, size_t beside_bytes, mdf_error *error)
{
    const char *format = mdf_format_of_path(path);

    if (format == NULL) {
        return mdf_error_set(error, MDF_USAGE, "'%s' has no suffix of a format that can be written: .json, .yaml, .yml, .bson",
                             path);
    }
    return mdf_model_write(model, path, format, beside_bytes, error);
}

const char *mdf_model_id(const mdf_model *model)
{
    return model->id;
}

size_t mdf_model_n_graphs(const mdf_model *model)
{
    return model->n_graphs;
}

const char *mdf_model_graph_id(const mdf_model *model, size_t index)
{
    return index < model->n_graphs ? model->graphs[index].id : NULL;
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
    return mdf_program_compile(model, NULL, 0, options, error);
}

mdf_program *mdf_compile_changeable(const mdf_model *model, const char *const *parameters, size_t n_parameters,
                                    const mdf_options *options, mdf_error *error)
{
    return mdf_program_compile(model, parameters, n_parameters, options, error);
}

void mdf_program_free(mdf_program *program)
{
    mdf_program_release(program);
}

const char *mdf_program_model_id(const mdf_program *program)
{
    return program->model_id;
}

const char *mdf_program_graph_id(const mdf_program *program)
{
    return program->graph_id;
}

size_t mdf_program_n_nodes(const mdf_program *program)
{
    return program->n_nodes;
}

const char *mdf_program_node_id(const mdf_program *program, size_t node)
{
    return node < program->n_nodes ? program->nodes[node].id : NULL;
}

size_t mdf_program_n_outputs(const mdf_program *program, size_t node)
{
    return node < program->n_nodes ? program->nodes[node].n_outputs : 0;
}

const char *mdf_program_output_id(const mdf_program *program, size_t node, size_t output)
{
    return output < mdf_program_n_outputs(program, node) ? program->nodes[node].outputs[output].id : NULL;
}

bool mdf_program_is_scheduled(const mdf_program *program)
{
    return program->schedule != NULL;
}

size_t mdf_program_n_graph_inputs(const mdf_program *program)
{
    return program->n_inputs;
}

const char *mdf_program_graph_input_name(const mdf_program *program, size_t index)
{
    return index < program->n_inputs ? program->input_names[index] : NULL;
}

size_t mdf_program_n_results(const mdf_program *program)
{
    return program->n_results;
}

const char *mdf_program_result_name(const mdf_program *program, size_t index)
{
    return index < program->n_results ? program->results[index].name : NULL;
}

/* ------------------------------------------------------------------ evaluation */

mdf_state *mdf_state_new(const mdf_program *program, mdf_error *error)
{
    return mdf_state_create(program, error);
}

void mdf_state_free(mdf_state *state)
{
    mdf_state_release(state);
}

/* The public form of a string array has plain texts; values have strings of their own. */
static mdf_status copy_strings(struct mdf_memory *memory, struct mdf_value *target, const mdf_tensor *source, mdf_error *error)
{
    char **strings = mdf_value_make_tensor(memory, target, MDF_DTYPE_STRING, source->rank, source->shape);
    const char *const *texts = source->data;
    size_t i;

    for (i = 0; strings != NULL && i < target->length; i++) {
        strings[i] = mdf_string_new(memory, texts[i], strlen(texts[i]));
        if (strings[i] == NULL) {
            strings = NULL;
        }
    }
    return strings != NULL ? MDF_OK : mdf_memory_error(memory, error);
}

static mdf_status read_json_value(struct mdf_memory *memory, const char *name, const char *json, struct mdf_value *value,
                                  mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", name, json, strlen(json), NULL, error);
    mdf_status status;

    if (document == NULL) {
        return error != NULL ? error->code : MDF_SYNTAX;
    }
    status = mdf_read_value(memory, document, &document->root, value, error);
    mdf_document_free(document);
    return status;
}

static mdf_status set_tensor(mdf_state *state, const char *name, const mdf_tensor *value, enum mdf_input_way way,
                             mdf_error *error)
{
    struct mdf_value view = {0};
    mdf_status status;

    if ((unsigned)value->dtype >= MDF_DTYPE_COUNT) {
        return mdf_error_set(error, MDF_USAGE, "input '%s': the tensor has no element type", name);
    }
    if (value->dtype == MDF_DTYPE_STRING) {
        status = copy_strings(&state->shared->memory, &view, value, error);
        if (status != MDF_OK) {
            return status;
        }
    } else {
        mdf_value_borrow_tensor(&state->shared->memory, &view, value->dtype, MDF_STRENGTH_TYPED, value->rank, value->shape,
                                value->data);
    }
    status = mdf_state_set_input(state, name, &view, way, error);
    mdf_value_clear(&state->shared->memory, &view);
    return status;
}

mdf_status mdf_set_input(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error)
{
    return set_tensor(state, name, value, MDF_INPUT_COPIED, error);
}

mdf_status mdf_lend_input(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error)
{
    return set_tensor(state, name, value, MDF_INPUT_LENT, error);
}

mdf_status mdf_set_input_value(mdf_state *state, const char *name, const mdf_value *value, mdf_error *error)
{
    return mdf_state_set_input(state, name, value, MDF_INPUT_COPIED, error);
}

mdf_status mdf_set_input_json(mdf_state *state, const char *name, const char *json, mdf_error *error)
{
    struct mdf_value value = {0};
    mdf_status status = read_json_value(&state->shared->memory, name, json, &value, error);

    if (status == MDF_OK) {
        status = mdf_state_set_input(state, name, &value, MDF_INPUT_COPIED, error);
    }
    mdf_value_clear(&state->shared->memory, &value);
    return status;
}

mdf_status mdf_set_parameter(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error)
{
    struct mdf_value view = {0};

    if ((unsigned)value->dtype >= MDF_DTYPE_COUNT || value->dtype == MDF_DTYPE_STRING) {
        return mdf_error_set(error, MDF_USAGE, "parameter '%s': only numbers can be set", name);
    }
    mdf_parameter_value(&state->shared->memory, &view, value);
    return mdf_state_set_parameter(state, name, &view, error);
}

mdf_status mdf_state_reset(mdf_state *state, uint64_t seed, mdf_error *error)
{
    return mdf_state_restart(state, seed, error);
}

mdf_status mdf_evaluate(mdf_state *state, double dt, mdf_error *error)
{
    return mdf_state_evaluate(state, dt, error);
}

mdf_status mdf_evaluate_steps(mdf_state *state, uint64_t n_steps, double first_dt, double dt, double budget_s,
                              const mdf_record *records, size_t n_records, uint64_t *n_done, uint64_t *n_recorded,
                              mdf_error *error)
{
    const struct mdf_steps steps = {n_steps, first_dt, dt, budget_s, records, n_records};

    return mdf_state_evaluate_steps(state, &steps, n_done, n_recorded, error);
}

const mdf_value *mdf_output_at(const mdf_state *state, size_t node, size_t output)
{
    return output < mdf_program_n_outputs(state->program, node) ? mdf_state_output(state, node, output) : NULL;
}

const mdf_value *mdf_output(const mdf_state *state, const char *node, const char *port)
{
    const struct mdf_program *program = state->program;
    size_t i, j;

    for (i = 0; i < program->n_nodes; i++) {
        for (j = 0; strcmp(program->nodes[i].id, node) == 0 && j < program->nodes[i].n_outputs; j++) {
            if (strcmp(program->nodes[i].outputs[j].id, port) == 0) {
                return mdf_state_output(state, i, j);
            }
        }
    }
    return NULL;
}

const mdf_value *mdf_result_at(const mdf_state *state, size_t index)
{
    return index < state->program->n_results ? mdf_state_result(state, index) : NULL;
}

size_t mdf_schedule_n_sets(const mdf_state *state)
{
    return state->schedule.n_sets;
}

size_t mdf_schedule_set_size(const mdf_state *state, size_t set)
{
    return set < state->schedule.n_sets ? mdf_schedule_record_size(&state->schedule, set) : 0;
}

size_t mdf_schedule_node(const mdf_state *state, size_t set, size_t entry)
{
    return entry < mdf_schedule_set_size(state, set) ? state->schedule.nodes[state->schedule.sets[set].first_node + entry]
                                                     : SIZE_MAX;
}

size_t mdf_schedule_read(const mdf_state *state, size_t *words, size_t n_words)
{
    size_t n_sets = state->schedule.n_sets, n = 0, set, i;

    if (n < n_words) {
        words[n] = n_sets;
    }
    n++;
    for (set = 0; set < n_sets; set++) {
        size_t size = mdf_schedule_record_size(&state->schedule, set);
        const uint32_t *nodes = state->schedule.nodes + state->schedule.sets[set].first_node;

        for (i = 0; i <= size; i++, n++) {
            if (n < n_words) {
                words[n] = i == 0 ? size : nodes[i - 1];
            }
        }
    }
    return n;
}

uint64_t mdf_schedule_pass(const mdf_state *state, size_t set)
{
    return set < state->schedule.n_sets ? state->schedule.sets[set].pass : 0;
}

double mdf_schedule_time_ms(const mdf_state *state, size_t set)
{
    const struct mdf_schedule *schedule = state->program->schedule;

    if (set >= state->schedule.n_sets || schedule == NULL || !schedule->is_absolute) {
        return NAN;
    }
    return (double)state->schedule.sets[set].ticks * schedule->tick_ms;
}

size_t mdf_state_peak_bytes(const mdf_state *state)
{
    return atomic_load(&state->shared->memory.peak_bytes);
}

void mdf_state_interrupt(mdf_state *state)
{
    atomic_store(&state->shared->interrupted, true);
}

void mdf_state_forget_interrupt(mdf_state *state)
{
    atomic_store(&state->shared->interrupted, false);
}
