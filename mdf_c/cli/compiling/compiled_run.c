/* compiled_run.c - see compiled_run.h. The state of the library stands for that of the run, which is given inputs and asked for
 * outputs as ever: before a step its inputs go over, after it outputs come back where somebody looks at them. */
#include "mdf_c/cli/compiling/compiled_run.h"

#include "mdf_c/cli/compiling/library_cache.h"
#include "mdf_c/cli/compiling/make_source.h"
#include "mdf_c/run/state.h"
#include "mdf_c/tensor/rows.h"

#include <dlfcn.h>
#include <string.h>

static bool fits(const struct mdf_compiled *model, const struct mdf_program *program)
{
    size_t n_outputs = 0;

    for (size_t i = 0; i < program->n_nodes; i++) {
        n_outputs += program->nodes[i].n_outputs;
    }
    return strcmp(model->version, MDF_VERSION) == 0 && model->n_inputs == program->n_ports && model->n_outputs == n_outputs;
}

static mdf_status open_library(struct compiled_run *run, const struct mdf_text *source, const mdf_program *program,
                               mdf_error *error)
{
    run->library = load_cached_library(run->memory, source, error);
    run->model = run->library != NULL ? dlsym(run->library, "mdf_compiled") : NULL;
    if (run->library != NULL && (run->model == NULL || !fits(run->model, program))) {
        mdf_error_set(error, MDF_FILE, "what the compiler made of the model is no form of it");
    }
    return error->code;
}

int open_compiled(struct compiled_run *run, struct mdf_memory *memory, const struct run_options *options,
                  const mdf_program *program, struct warning_printer *warnings, mdf_error *error)
{
    const struct mdf_source_options how = {.name = "model"};
    struct mdf_text source;
    int exit_status;

    run->memory = memory;
    mdf_text_init(&source, memory);
    exit_status = make_source(options, program, warnings, &how, false, &source, NULL, error);
    if (exit_status == EXIT_DONE && open_library(run, &source, program, error) != MDF_OK) {
        exit_status = EXIT_MODEL;
    }
    mdf_text_release(&source);
    return exit_status;
}

/* Told of each set (node SIZE_MAX) and of each node that runs. */
static void observe(void *context, size_t node, uint64_t pass, int64_t tick)
{
    struct compiled_run *run = context;
    struct mdf_state *state = run->observed;
    struct mdf_memory *memory = &state->shared->memory;

    run->failed = run->failed || !(node == SIZE_MAX ? mdf_schedule_record_set(&state->schedule, memory, pass, tick)
                                                    : mdf_schedule_record_node(&state->schedule, memory, node));
}

bool begin_compiled(struct compiled_run *run, bool records, uint64_t seed)
{
    enum { LINE_BYTES = 64 }; /* of the cache: the struct's large arrays begin at lines where it does */

    if (run->block == NULL) {
        run->block = mdf_memory_allocate(run->memory, run->model->state_bytes + LINE_BYTES);
    }
    if (run->block == NULL) {
        return false;
    }
    run->state = (char *)run->block + (LINE_BYTES - (uintptr_t)run->block % LINE_BYTES);
    run->model->init(run->state);
    run->model->seed(run->state, seed);
    run->records = records;
    if (records) {
        run->model->observe(run->state, observe, run);
    }
    return true;
}

/* ------------------------------------------------------------------ inputs */

static mdf_status refuse_form(const struct mdf_program_port *port, const struct mdf_value *value,
                              const struct mdf_compiled_port *compiled, mdf_error *error)
{
    char text[128];

    mdf_value_describe(value, text, sizeof text);
    return mdf_error_set(
        error, MDF_SHAPE,
        "input '%s' is %s, but the model was compiled for %zu elements of type %s: types and shapes have to stay the same",
        port->id, text, compiled->n_elements, mdf_dtype_name((mdf_dtype)compiled->dtype));
}

static bool has_shape(const struct mdf_value *there, const struct mdf_compiled_port *compiled)
{
    struct mdf_value form, *value = &form;

    return (there->kind == MDF_KIND_LIST) == (compiled->is_sequence != 0) && mdf_array_form(there, value) &&
           value->rank == compiled->rank &&
           (value->rank == 0 || memcmp(mdf_value_shape(value), compiled->shape, value->rank * sizeof(int64_t)) == 0);
}

/* Gives what has another type. Whole numbers, truths, and reals that become such must be the same in it; reals are rounded to its
 * precision. */
static mdf_status set_converted(struct compiled_run *run, struct mdf_memory *memory, const struct mdf_program_port *port,
                                size_t index, const struct mdf_value *value, mdf_error *error)
{
    const struct mdf_compiled_port *compiled = &run->model->inputs[index];
    mdf_dtype dtype = (mdf_dtype)value->dtype, other = (mdf_dtype)compiled->dtype;
    struct mdf_value converted = {0}, back = {0};
    mdf_status status = MDF_OK;

    if (!mdf_value_convert(memory, &converted, value, other) || !mdf_value_convert(memory, &back, &converted, dtype)) {
        status = mdf_memory_error(memory, error);
    } else if ((mdf_dtype_kind(dtype) != 'f' || mdf_dtype_kind(other) != 'f') &&
               memcmp(back.data, value->data, value->length * mdf_dtype_size(dtype)) != 0) {
        status = refuse_form(port, value, compiled, error);
    } else {
        run->model->set_input(run->state, index, converted.data);
    }
    mdf_value_clear(memory, &converted);
    mdf_value_clear(memory, &back);
    return status;
}

/* The items are copied one behind the other. */
static mdf_status set_sequence(struct compiled_run *run, struct mdf_memory *memory, const struct mdf_program_port *port,
                               size_t index, const struct mdf_value *list, mdf_error *error)
{
    const struct mdf_compiled_port *compiled = &run->model->inputs[index];
    void *elements;

    if (list->dtype != compiled->dtype) {
        return refuse_form(port, list, compiled, error);
    }
    elements = mdf_memory_allocate(memory, compiled->n_elements * mdf_dtype_size((mdf_dtype)compiled->dtype) + 1);
    if (elements == NULL) {
        return mdf_memory_error(memory, error);
    }
    mdf_rows_copy(list, elements);
    run->model->set_input(run->state, index, elements);
    mdf_memory_release(memory, elements);
    return MDF_OK;
}

static mdf_status take_input(struct compiled_run *run, struct mdf_state *state, size_t index, mdf_error *error)
{
    const struct mdf_program_port *port = &state->program->ports[index];
    const struct mdf_compiled_port *compiled = &run->model->inputs[index];
    struct mdf_value *slot = mdf_frame_slot(state->frame, port->slot);
    struct mdf_context *context = &state->shared->execution.context;

    state->ports[index].has_input = false;
    if (!mdf_declare_swap(slot, &state->ports[index].input, &port->declaration.type) &&
        !mdf_declare_value(context, slot, &state->ports[index].input, &port->declaration.type, false)) {
        *error = context->error;
        return error->code;
    }
    if (compiled->dtype == MDF_DTYPE_NONE) {
        return run->model->set_input(run->state, index, NULL) == 0
                   ? MDF_OK
                   : mdf_error_set(error, MDF_USAGE, "input %zu is not known", index);
    }
    if (!has_shape(slot, compiled)) {
        return refuse_form(port, slot, compiled, error);
    }
    if (compiled->is_sequence) {
        return set_sequence(run, &state->shared->memory, port, index, slot, error);
    }
    if (slot->dtype != compiled->dtype) {
        return set_converted(run, &state->shared->memory, port, index, slot, error);
    }
    run->model->lend_input(run->state, index, slot->data); /* the slot keeps it until the step is done */
    return MDF_OK;
}

mdf_status evaluate_compiled(struct compiled_run *run, mdf_state *state, double dt, mdf_error *error)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        if (state->ports[i].has_input && take_input(run, state, i, error) != MDF_OK) {
            return error->code;
        }
    }
    run->observed = state;
    mdf_schedule_record_clear(&state->schedule);
    if (run->model->step(run->state, dt) != 0) {
        return mdf_error_set(error, MDF_VALUE, "%s (compiled)", run->model->message(run->state));
    }
    return run->failed ? mdf_memory_error(&state->shared->memory, error) : MDF_OK;
}

mdf_status evaluate_compiled_steps(struct compiled_run *run, uint64_t n, double dt, uint64_t *n_done, mdf_error *error)
{
    return run->model->steps(run->state, n, dt, n_done) == 0
               ? MDF_OK
               : mdf_error_set(error, MDF_VALUE, "%s (compiled)", run->model->message(run->state));
}

/* ------------------------------------------------------------------ outputs */

/* The state of the library keeps the elements until the next step. */
static bool show_output(const struct mdf_compiled_port *port, const void *elements, struct mdf_state *state, mdf_operand operand)
{
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && port->is_sequence) {
        return mdf_rows_borrow(&state->shared->memory, mdf_frame_slot(state->frame, operand), (mdf_dtype)port->dtype, port->rank,
                               port->shape, elements);
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && port->dtype != MDF_DTYPE_NONE) {
        mdf_value_borrow_tensor(&state->shared->memory, mdf_frame_slot(state->frame, operand), (mdf_dtype)port->dtype,
                                MDF_STRENGTH_TYPED, port->rank, port->shape, elements);
    }
    return true;
}

mdf_status show_compiled_values(struct compiled_run *run, mdf_state *state, mdf_error *error)
{
    size_t n = 0;

    for (size_t i = 0; i < state->program->n_nodes; i++) {
        const struct mdf_program_node *node = &state->program->nodes[i];

        for (size_t j = 0; j < node->n_outputs; j++, n++) {
            const void *elements = run->model->output(run->state, n);

            if (elements != NULL) {
                state->has_run[i] = true;
                if (!show_output(&run->model->outputs[n], elements, state, node->outputs[j].operand)) {
                    return mdf_memory_error(&state->shared->memory, error);
                }
            }
        }
    }
    return MDF_OK;
}

void close_compiled(struct compiled_run *run)
{
    if (run->memory != NULL) {
        mdf_memory_release(run->memory, run->block);
    }
    if (run->library != NULL) {
        dlclose(run->library);
    }
}
