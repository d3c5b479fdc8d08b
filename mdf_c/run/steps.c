/* steps.c - many evaluations in a row without going back to the caller: the inputs stay, the values of some ports are written
 * down. See mdf_evaluate_steps in mdf.h. */
#include "mdf_c/run/steps.h"

#include <math.h>
#include <string.h>

/* Inputs that were set before the first step are given again in each. */
static void keep_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].repeats = state->ports[i].has_input;
    }
}

static void give_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].has_input = state->ports[i].repeats;
    }
}

/* Finds the ports of the inputs that change, once for all steps. */
static mdf_status find_ports(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port **ports,
                             mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < steps->n_inputs && status == MDF_OK; i++) {
        ports[i] = mdf_program_ports_named(state->program, steps->inputs[i].name);
        if (ports[i] == NULL) {
            status = mdf_port_unknown(state->program, steps->inputs[i].name, error);
        }
    }
    return status;
}

/* What a step has of the inputs that change. */
static mdf_status give_series(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port **ports,
                              uint64_t step, mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < steps->n_inputs && status == MDF_OK; i++) {
        const mdf_tensor *tensor = &steps->inputs[i].value;
        struct mdf_value view = {0};

        mdf_value_borrow_tensor(&state->shared->memory, &view, tensor->dtype, MDF_STRENGTH_TYPED, tensor->rank, tensor->shape,
                                (const char *)tensor->data + (size_t)step * steps->inputs[i].step_bytes);
        status = mdf_state_set_named(state, ports[i], &view, MDF_INPUT_COPIED, error);
        mdf_value_clear(&state->shared->memory, &view);
    }
    return status;
}

static const struct mdf_value *recorded_value(const struct mdf_state *state, const mdf_record *record)
{
    const struct mdf_program *program = state->program;

    return record->node < program->n_nodes && record->output < program->nodes[record->node].n_outputs
               ? mdf_state_output(state, record->node, record->output)
               : NULL;
}

static bool has_form(const struct mdf_value *value, const mdf_record *record)
{
    return value != NULL && value->kind == MDF_KIND_TENSOR && (mdf_dtype)value->dtype == record->dtype &&
           value->dtype != MDF_DTYPE_STRING && value->rank == record->rank &&
           (value->rank == 0 || memcmp(mdf_value_shape(value), record->shape, value->rank * sizeof(int64_t)) == 0);
}

/* False: a value has another form than its record. */
static bool write_down(const struct mdf_state *state, const mdf_record *records, size_t n_records, uint64_t step)
{
    for (size_t i = 0; i < n_records; i++) {
        if (!has_form(recorded_value(state, &records[i]), &records[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < n_records; i++) {
        const struct mdf_value *value = recorded_value(state, &records[i]);

        if (records[i].size_bytes > 0) {
            memcpy((char *)records[i].data + step * records[i].size_bytes, value->data, records[i].size_bytes);
        }
    }
    return true;
}

/* Steps that nobody looks at, up to n_left: many at once, but with a budget no more than take a small part of it. */
static uint64_t skip_steps(struct mdf_state *state, const struct mdf_steps *steps, uint64_t n_left, uint64_t *at_once)
{
    enum { MOST_AT_ONCE = 1 << 16, PARTS = 16 };
    double start_s = steps->budget_s > 0 ? mdf_clock_s() : 0;
    uint64_t n = mdf_state_set_increment(state, steps->dt) ? mdf_whole_skip(state, n_left < *at_once ? n_left : *at_once) : 0;

    if (*at_once < MOST_AT_ONCE && (steps->budget_s <= 0 || mdf_clock_s() - start_s < steps->budget_s / PARTS)) {
        *at_once *= 2;
    }
    return n;
}

/* The same of steps with inputs that change, or values that are written down. */
static uint64_t skip_series(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port **ports,
                            uint64_t first, double end_s)
{
    uint64_t n = 0, n_more;

    if (!mdf_state_set_increment(state, steps->dt)) {
        return 0;
    }
    do {
        n_more = mdf_whole_skip_series(state, steps, ports, first + n);
        n += n_more;
    } while (n_more > 0 && (!isfinite(end_s) || mdf_clock_s() < end_s));
    return n;
}

static mdf_status evaluate_steps(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port **ports,
                                 uint64_t *n_done, uint64_t *n_recorded, mdf_error *error)
{
    double end_s = steps->budget_s > 0 ? mdf_clock_s() + steps->budget_s : INFINITY;
    mdf_status status = MDF_OK;
    uint64_t at_once = 1;
    bool fits = true;

    keep_inputs(state);
    while (status == MDF_OK && fits && *n_done < steps->n_steps) {
        if (*n_done > 0 && !mdf_state_is_looked_into(state)) {
            uint64_t n_skipped = steps->n_records == 0 && steps->n_inputs == 0
                                     ? skip_steps(state, steps, steps->n_steps - *n_done - 1, &at_once)
                                     : skip_series(state, steps, ports, *n_done, end_s);

            *n_done += n_skipped;
            *n_recorded += n_skipped;
        }
        give_inputs(state);
        status = give_series(state, steps, ports, *n_done, error);
        if (status == MDF_OK) {
            status = mdf_state_evaluate_begun(state, *n_done == 0 ? steps->first_dt : steps->dt, error);
        }
        if (status == MDF_OK) {
            fits = write_down(state, steps->records, steps->n_records, *n_done);
            *n_done += 1;
            *n_recorded += fits;
        }
        if (isfinite(end_s) && mdf_clock_s() >= end_s) {
            break;
        }
    }
    return status;
}

mdf_status mdf_state_evaluate_steps(struct mdf_state *state, const struct mdf_steps *steps, uint64_t *n_done,
                                    uint64_t *n_recorded, mdf_error *error)
{
    struct mdf_memory *memory = &state->shared->memory;
    const struct mdf_named_port **ports = mdf_memory_allocate_zeroed(memory, steps->n_inputs + 1, sizeof *ports);
    mdf_status status = ports != NULL ? find_ports(state, steps, ports, error) : mdf_memory_error(memory, error);

    *n_done = *n_recorded = 0;
    if (status == MDF_OK && !mdf_state_begin(state, error)) {
        status = MDF_OUT_OF_MEMORY;
    } else if (status == MDF_OK) {
        status = evaluate_steps(state, steps, ports, n_done, n_recorded, error);
        mdf_state_end(state);
    }
    mdf_memory_release(memory, ports);
    return status;
}
