/* state_api.c - states: inputs, evaluations, and what is read of them. See mdf.h. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/run/copy_state.h"
#include "mdf_c/run/body_trace.h"
#include "mdf_c/run/explain.h"
#include "mdf_c/run/profile.h"
#include "mdf_c/run/restart.h"
#include "mdf_c/run/spare_states.h"
#include "mdf_c/run/steps.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <string.h>

static bool is_evaluated(mdf_error *error)
{
    mdf_error_set(error, MDF_USAGE, "the state is being evaluated");
    return false;
}

/* The state is the caller's until end: an evaluation that a signal handler, a function of the caller or another thread begins
 * meanwhile is refused. */
static bool begin(mdf_state *state, mdf_error *error)
{
    return MDF_GIVEN(state, error) && (!atomic_exchange(&state->shared->is_evaluated, true) || is_evaluated(error));
}

static void end(mdf_state *state)
{
    atomic_store_explicit(&state->shared->is_evaluated, false, memory_order_release);
}

/* Whether a value can be set: nothing is NULL, and no evaluation runs. */
#define CAN_SET(state, name, value, error) \
    (MDF_GIVEN(state, error) && MDF_GIVEN(name, error) && MDF_GIVEN(value, error) && is_free(state, error))

static bool is_free(const mdf_state *state, mdf_error *error)
{
    return mdf_state_is_free(state) || is_evaluated(error);
}

mdf_state *mdf_state_new(const mdf_program *program, mdf_error *error)
{
    mdf_state *state;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(program, error)) {
        return NULL;
    }
    state = mdf_spare_state_take(program);
    return state != NULL ? state : mdf_state_create(program, error);
}

void mdf_state_free(mdf_state *state)
{
    if (!mdf_state_is_free(state)) {
        return;
    }
    mdf_ctrl_c_forget(state);
    if (!mdf_spare_state_put(state)) {
        mdf_state_release(state);
    }
}

bool mdf_copy_texts(struct mdf_memory *memory, struct mdf_value *target, const mdf_tensor *source)
{
    char **strings = mdf_value_make_tensor(memory, target, MDF_DTYPE_STRING, source->rank, source->shape);
    const char *const *texts = source->data;

    for (size_t i = 0; strings != NULL && i < target->length; i++) {
        strings[i] = mdf_string_new(memory, texts[i], strlen(texts[i]));
        if (strings[i] == NULL) {
            return false;
        }
    }
    return strings != NULL;
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
    const char *fault = mdf_tensor_fault(value);
    struct mdf_value view = {0};
    mdf_status status;

    if (fault != NULL) {
        return mdf_error_set(error, MDF_USAGE, "input '%s': the tensor %s", name, fault);
    }
    if (value->dtype == MDF_DTYPE_STRING) {
        if (!mdf_copy_texts(&state->shared->memory, &view, value)) {
            mdf_value_clear(&state->shared->memory, &view);
            return mdf_memory_error(&state->shared->memory, error);
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
    error = mdf_unset_error(error);
    return CAN_SET(state, name, value, error) ? set_tensor(state, name, value, MDF_INPUT_COPIED, error) : MDF_USAGE;
}

static bool are_given(const char *const *names, const mdf_tensor *values, size_t n, mdf_error *error)
{
    return mdf_arguments_given((const void *const *)names, n, "names", error) && (n == 0 || MDF_GIVEN(values, error));
}

static mdf_status set_tensors(mdf_state *state, const char *const *names, const mdf_tensor *values, size_t n, mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; status == MDF_OK && i < n; i++) {
        status = set_tensor(state, names[i], &values[i], MDF_INPUT_COPIED, error);
    }
    return status;
}

mdf_status mdf_set_inputs(mdf_state *state, const char *const *names, const mdf_tensor *values, size_t n, mdf_error *error)
{
    error = mdf_unset_error(error);
    return MDF_GIVEN(state, error) && are_given(names, values, n, error) && is_free(state, error)
               ? set_tensors(state, names, values, n, error)
               : MDF_USAGE;
}

mdf_status mdf_lend_input(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error)
{
    error = mdf_unset_error(error);
    return CAN_SET(state, name, value, error) ? set_tensor(state, name, value, MDF_INPUT_LENT, error) : MDF_USAGE;
}

mdf_status mdf_set_input_value(mdf_state *state, const char *name, const mdf_value *value, mdf_error *error)
{
    error = mdf_unset_error(error);
    if (!CAN_SET(state, name, value, error)) {
        return MDF_USAGE;
    }
    return mdf_state_set_input(state, name, value, MDF_INPUT_COPIED, error);
}

mdf_status mdf_set_input_json(mdf_state *state, const char *name, const char *json, mdf_error *error)
{
    struct mdf_value value = {0};
    mdf_status status;

    error = mdf_unset_error(error);
    if (!CAN_SET(state, name, json, error)) {
        return MDF_USAGE;
    }
    status = read_json_value(&state->shared->memory, name, json, &value, error);
    if (status == MDF_OK) {
        status = mdf_state_set_input(state, name, &value, MDF_INPUT_COPIED, error);
    }
    mdf_value_clear(&state->shared->memory, &value);
    return status;
}

mdf_status mdf_set_parameter(mdf_state *state, const char *name, const mdf_tensor *value, mdf_error *error)
{
    struct mdf_value view = {0};
    const char *fault;

    error = mdf_unset_error(error);
    if (!CAN_SET(state, name, value, error)) {
        return MDF_USAGE;
    }
    fault = value->dtype == MDF_DTYPE_STRING ? "is of strings: only numbers can be set" : mdf_tensor_fault(value);
    if (fault != NULL) {
        return mdf_error_set(error, MDF_USAGE, "parameter '%s': the tensor %s", name, fault);
    }
    mdf_parameter_value(&state->shared->memory, &view, value);
    return mdf_state_set_parameter(state, name, &view, error);
}

mdf_status mdf_state_reset(mdf_state *state, uint64_t seed, mdf_error *error)
{
    mdf_status status = MDF_USAGE;

    error = mdf_unset_error(error);
    if (begin(state, error)) {
        status = mdf_state_restart(state, seed, error);
        end(state);
    }
    return status;
}

mdf_status mdf_state_copy(mdf_state *target, mdf_state *source, mdf_error *error)
{
    mdf_status status = MDF_USAGE;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(target, error) || !MDF_GIVEN(source, error)) {
        return MDF_USAGE;
    }
    if (target->program != source->program) {
        return mdf_error_set(error, MDF_USAGE, "a state goes on from another one of the same program only");
    }
    if (!begin(target, error)) {
        return MDF_USAGE;
    }
    if (target == source) {
        status = MDF_OK;
    } else if (begin(source, error)) {
        status = mdf_state_take_over(target, source, error);
        end(source);
    }
    end(target);
    return status;
}

mdf_status mdf_evaluate(mdf_state *state, double dt, mdf_error *error)
{
    mdf_status status = MDF_USAGE;

    error = mdf_unset_error(error);
    if (begin(state, error)) {
        status = mdf_state_evaluate(state, dt, error);
        end(state);
    }
    return status;
}

mdf_status mdf_evaluate_anew(mdf_state *state, uint64_t seed, const char *const *names, const mdf_tensor *values, size_t n,
                             mdf_error *error)
{
    mdf_status status = MDF_USAGE;

    error = mdf_unset_error(error);
    if (are_given(names, values, n, error) && begin(state, error)) {
        status = mdf_state_restart_to_evaluate(state, seed, error);
        status = status == MDF_OK ? set_tensors(state, names, values, n, error) : status;
        status = status == MDF_OK ? mdf_state_evaluate(state, NAN, error) : status;
        if (status != MDF_OK) {
            mdf_state_restart(state, seed, NULL);
        }
        end(state);
    }
    return status;
}

/* Whether all records are of ports that there are, and can be written down. */
static bool check_records(const mdf_state *state, const mdf_record *records, size_t n_records, uint64_t n_steps, mdf_error *error)
{
    if (n_records > 0 && !MDF_GIVEN(records, error)) {
        return false;
    }
    for (size_t i = 0; i < n_records; i++) {
        const char *fault = mdf_record_fault(&records[i], n_steps);

        if (fault == NULL && records[i].output >= mdf_program_n_outputs(state->program, records[i].node)) {
            fault = "is of an output port that the program does not have";
        }
        if (fault != NULL) {
            mdf_error_set(error, MDF_USAGE, "mdf_evaluate_steps: record %zu %s", i, fault);
            return false;
        }
    }
    return true;
}

/* Whether all inputs are arrays of numbers. */
static bool check_series(const mdf_series *inputs, size_t n_inputs, mdf_error *error)
{
    if (n_inputs > 0 && !MDF_GIVEN(inputs, error)) {
        return false;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        const char *fault = inputs[i].name == NULL ? "has no name" : mdf_tensor_fault(&inputs[i].value);

        if (fault == NULL && inputs[i].value.dtype == MDF_DTYPE_STRING) {
            fault = "is of texts: give these step by step";
        }
        if (fault != NULL) {
            mdf_error_set(error, MDF_USAGE, "mdf_evaluate_series: input %zu %s", i, fault);
            return false;
        }
    }
    return true;
}

static mdf_status evaluate_steps(mdf_state *state, const struct mdf_steps *steps, uint64_t *n_done, uint64_t *n_recorded,
                                 mdf_error *error)
{
    uint64_t done = 0, recorded = 0;
    mdf_status status = MDF_USAGE;

    error = mdf_unset_error(error);
    if (begin(state, error)) {
        if (check_records(state, steps->records, steps->n_records, steps->n_steps, error) &&
            check_series(steps->inputs, steps->n_inputs, error)) {
            status = mdf_state_evaluate_steps(state, steps, &done, &recorded, error);
        }
        end(state);
    }
    if (n_done != NULL) {
        *n_done = done;
    }
    if (n_recorded != NULL) {
        *n_recorded = recorded;
    }
    return status;
}

mdf_status mdf_evaluate_steps(mdf_state *state, uint64_t n_steps, double first_dt, double dt, double budget_s,
                              const mdf_record *records, size_t n_records, uint64_t *n_done, uint64_t *n_recorded,
                              mdf_error *error)
{
    const struct mdf_steps steps = {n_steps, first_dt, dt, budget_s, records, n_records, NULL, 0};

    return evaluate_steps(state, &steps, n_done, n_recorded, error);
}

mdf_status mdf_evaluate_series(mdf_state *state, const mdf_series *inputs, size_t n_inputs, uint64_t n_steps, double first_dt,
                               double dt, double budget_s, const mdf_record *records, size_t n_records, uint64_t *n_done,
                               uint64_t *n_recorded, mdf_error *error)
{
    const struct mdf_steps steps = {n_steps, first_dt, dt, budget_s, records, n_records, inputs, n_inputs};

    return evaluate_steps(state, &steps, n_done, n_recorded, error);
}

const mdf_value *mdf_output_at(const mdf_state *state, size_t node, size_t output)
{
    return mdf_state_is_free(state) && output < mdf_program_n_outputs(state->program, node)
               ? mdf_state_output(state, node, output)
               : NULL;
}

const mdf_value *mdf_output(const mdf_state *state, const char *node, const char *port)
{
    const struct mdf_program *program = mdf_state_is_free(state) ? state->program : NULL;

    if (node == NULL || port == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < mdf_program_n_nodes(program); i++) {
        for (size_t j = 0; strcmp(program->nodes[i].id, node) == 0 && j < program->nodes[i].n_outputs; j++) {
            if (strcmp(program->nodes[i].outputs[j].id, port) == 0) {
                return mdf_state_output(state, i, j);
            }
        }
    }
    return NULL;
}

const mdf_value *mdf_result_at(const mdf_state *state, size_t index)
{
    return mdf_state_is_free(state) && index < state->program->n_results ? mdf_state_result(state, index) : NULL;
}

static bool locate(const mdf_value *value, mdf_tensor *array)
{
    mdf_tensor found;
    bool is_alike;

    if (array->rank == SIZE_MAX) {
        array->data = value;
        return true;
    }
    is_alike =
        mdf_value_tensor(value, &found) && found.dtype == array->dtype && found.rank == array->rank &&
        (found.rank == 0 || (array->shape != NULL && memcmp(found.shape, array->shape, found.rank * sizeof *found.shape) == 0));

    if (is_alike) {
        array->data = found.data;
    }
    return is_alike;
}

bool mdf_results_locate(const mdf_state *state, mdf_tensor *arrays, size_t n)
{
    size_t i = 0;

    if (!mdf_state_is_free(state) || arrays == NULL || n != state->program->n_results) {
        return false;
    }
    while (i < n && locate(mdf_state_result(state, i), &arrays[i])) {
        i++;
    }
    return i == n;
}

size_t mdf_schedule_n_sets(const mdf_state *state)
{
    return mdf_state_is_free(state) ? state->schedule.n_sets : 0;
}

size_t mdf_schedule_set_size(const mdf_state *state, size_t set)
{
    return set < mdf_schedule_n_sets(state) ? mdf_schedule_record_size(&state->schedule, set) : 0;
}

size_t mdf_schedule_node(const mdf_state *state, size_t set, size_t entry)
{
    return entry < mdf_schedule_set_size(state, set) ? state->schedule.nodes[state->schedule.sets[set].first_node + entry]
                                                     : SIZE_MAX;
}

size_t mdf_schedule_read(const mdf_state *state, size_t *words, size_t n_words)
{
    size_t n_sets = mdf_schedule_n_sets(state), n = 0, set, i;

    if (state == NULL) {
        return 0;
    }
    n_words = words != NULL ? n_words : 0;
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
    return set < mdf_schedule_n_sets(state) ? state->schedule.sets[set].pass : 0;
}

double mdf_schedule_time_ms(const mdf_state *state, size_t set)
{
    const struct mdf_schedule *schedule = state != NULL ? state->program->schedule : NULL;

    if (set >= mdf_schedule_n_sets(state) || schedule == NULL || !schedule->is_absolute) {
        return NAN;
    }
    return (double)state->schedule.sets[set].ticks * schedule->tick_ms;
}

size_t mdf_explain(const mdf_state *state, char *text, size_t size)
{
    struct mdf_text explanation;
    size_t length;

    if (!mdf_state_is_free(state)) {
        return mdf_give_text(NULL, text, size);
    }
    mdf_text_init(&explanation, &state->shared->memory);
    length = mdf_give_text(mdf_state_explain(&explanation, state) ? &explanation : NULL, text, size);
    mdf_text_release(&explanation);
    return length;
}

mdf_status mdf_state_inspect(mdf_state *state, unsigned what, mdf_error *error)
{
    error = mdf_unset_error(error);
    if (!MDF_GIVEN(state, error) || !is_free(state, error)) {
        return MDF_USAGE;
    }
    if ((what & ~(unsigned)(MDF_INSPECT_BODIES | MDF_INSPECT_PROFILE)) != 0) {
        return mdf_error_set(error, MDF_USAGE, "mdf_state_inspect: what is to be kept is unknown (%u)", what);
    }
    if (what != 0 && state->shared->has_begun) {
        return mdf_error_set(error, MDF_USAGE, "what a state is to keep must be said before its first evaluation");
    }
    if (((what & MDF_INSPECT_BODIES) != 0 && state->shared->body_trace == NULL && !mdf_body_trace_start(state)) ||
        ((what & MDF_INSPECT_PROFILE) != 0 && state->shared->profile == NULL && !mdf_profile_start(state))) {
        return mdf_memory_error(&state->shared->memory, error);
    }
    return MDF_OK;
}

const mdf_value *mdf_state_bodies(const mdf_state *state)
{
    return mdf_state_is_free(state) ? mdf_body_trace_value(state) : NULL;
}

const mdf_value *mdf_state_profile(mdf_state *state)
{
    struct mdf_profile *profile = mdf_state_is_free(state) ? state->shared->profile : NULL;

    return profile != NULL && mdf_profile_value(profile, &profile->told) ? &profile->told : NULL;
}

size_t mdf_state_profile_stacks(const mdf_state *state, char *text, size_t size)
{
    const struct mdf_profile *profile = mdf_state_is_free(state) ? state->shared->profile : NULL;
    struct mdf_text stacks;
    size_t length;

    if (profile == NULL) {
        return mdf_give_text(NULL, text, size);
    }
    mdf_text_init(&stacks, &state->shared->memory);
    length = mdf_give_text(mdf_profile_folded(profile, &stacks) ? &stacks : NULL, text, size);
    mdf_text_release(&stacks);
    return length;
}

size_t mdf_state_peak_bytes(const mdf_state *state)
{
    return state != NULL ? atomic_load(&state->shared->memory.peak_bytes) : 0;
}

void mdf_state_interrupt(mdf_state *state)
{
    if (state != NULL) {
        mdf_stop_ask(&state->shared->stop);
    }
}

void mdf_state_forget_interrupt(mdf_state *state)
{
    if (state != NULL) {
        mdf_stop_forget(&state->shared->stop);
    }
}

void mdf_state_limit_time(mdf_state *state, double seconds)
{
    if (mdf_state_is_free(state)) {
        state->shared->end_s = seconds > 0 ? mdf_clock_s() + seconds : INFINITY;
    }
}
