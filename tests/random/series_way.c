/* series_way.c - see ways.h. Many evaluations in a row, each with inputs of its own, whose outputs are written down
 * (mdf_evaluate_series): as a loop, against the same one by one and plainly. And many whose inputs are given step by step, as mdf-run
 * gives them. */
#include "tests/random/ways.h"

#include "mdf_c/base/stop.h"
#include "mdf_c/run/given_rows.h"
#include "mdf_c/run/restart.h"
#include "mdf_c/run/state.h"

#include <math.h>
#include <string.h>

enum { N_STEPS = 600, FEWEST_STEPS = 300, MOST_SERIES = 16, TRACED_STEPS = 13, FIRST_STEPS = 3 };

/* What takes longer in its first steps is left out. */
static const double most_s = 0.002;
static const double most_plain_s = 5.0; /* of the whole series: where a jump holds a parameter, steps become short later */

struct series {
    struct mdf_arena arena; /* has the numbers */
    mdf_series inputs[MOST_SERIES];
    size_t n_inputs;
    mdf_record records[MOST_SERIES];
    size_t n_records;
};

static const struct mdf_value *given(mdf_state *state, const struct random_input *input)
{
    const struct mdf_named_port *named = mdf_program_ports_named(state->program, input->name);
    mdf_error error = {0};

    return named != NULL && mdf_set_input_json(state, input->name, input->json, &error) == MDF_OK
               ? &state->ports[named->port].input
               : NULL;
}

static const struct random_input *find(const struct random_phase *phase, const char *name)
{
    size_t i;

    for (i = 0; i < phase->n_inputs; i++) {
        if (strcmp(phase->inputs[i].name, name) == 0) {
            return &phase->inputs[i];
        }
    }
    return NULL;
}

/* An input in all steps: what the phases give, in turn; nothing where it is no array of numbers. */
static void make_input(const struct ways *ways, mdf_state *state, const struct random_input *input, struct series *all)
{
    const struct random_phase *phases = ways->what->phases;
    mdf_tensor first, tensor;
    int64_t *shape;
    char *rows;
    size_t size, i;

    if (!mdf_value_tensor(given(state, input), &first) || first.dtype == MDF_DTYPE_STRING) {
        return;
    }
    size = mdf_dtype_size(first.dtype);
    for (i = 0; i < first.rank; i++) {
        size *= (size_t)first.shape[i];
    }
    shape = mdf_arena_allocate(&all->arena, (first.rank + 1) * sizeof *shape);
    rows = mdf_arena_allocate(&all->arena, N_STEPS * size + 1);
    memcpy(shape, first.shape, first.rank * sizeof *shape);
    all->inputs[all->n_inputs++] = (mdf_series){input->name, {first.dtype, first.rank, shape, rows}, size};
    memcpy(rows, first.data, size);
    for (i = 1; i < N_STEPS; i++) {
        const struct random_input *other = find(&phases[i % ways->what->n_phases], input->name);
        bool is_like = other != NULL && mdf_value_tensor(given(state, other), &tensor) && tensor.dtype == first.dtype &&
                       tensor.rank == first.rank && memcmp(tensor.shape, shape, tensor.rank * sizeof *shape) == 0;

        memcpy(rows + i * size, is_like ? tensor.data : rows, size);
    }
}

static void make_records(const mdf_program *program, const mdf_state *state, struct series *series)
{
    size_t i, j;

    for (i = 0; i < mdf_program_n_nodes(program); i++) {
        for (j = 0; j < mdf_program_n_outputs(program, i) && series->n_records < MOST_SERIES; j++) {
            const struct mdf_value *value = mdf_output_at(state, i, j);
            mdf_tensor tensor;

            if (mdf_value_tensor(value, &tensor) && tensor.dtype != MDF_DTYPE_STRING) {
                size_t size = value->length * mdf_dtype_size(tensor.dtype);
                int64_t *shape = mdf_arena_allocate(&series->arena, (tensor.rank + 1) * sizeof *shape);

                memcpy(shape, tensor.shape, tensor.rank * sizeof *shape);
                series->records[series->n_records++] = (mdf_record){
                    i, j, tensor.dtype, tensor.rank, shape, size, mdf_arena_allocate(&series->arena, N_STEPS * size + 1)};
            }
        }
    }
}

static void trace_records(struct trace *trace, const struct series *series, uint64_t n_steps)
{
    char name[40];
    size_t step, i;

    for (step = 0; step < n_steps; step += TRACED_STEPS) {
        for (i = 0; i < series->n_records; i++) {
            const mdf_record *record = &series->records[i];
            mdf_tensor tensor = {record->dtype, record->rank, record->shape, (char *)record->data + step * record->size_bytes};

            snprintf(name, sizeof name, "record %zu.%zu", record->node, record->output);
            trace_tensor(trace, name, &tensor, 0, step, i);
        }
    }
}

/* The first steps, of which forms are known afterwards; false where one fails, or takes long. */
static bool begin(const struct ways *ways, mdf_state *state)
{
    double start_s = mdf_clock_s();
    mdf_error error = {0};
    int step;

    for (step = 0; step < FIRST_STEPS; step++) {
        if (random_set_inputs(&ways->what->phases[0], state, &error) != MDF_OK ||
            mdf_evaluate(state, step == 0 ? (double)NAN : ways->what->dt, &error) != MDF_OK) {
            return false;
        }
    }
    return mdf_clock_s() - start_s < most_s;
}

static bool give(void *context, mdf_state *state, uint64_t step)
{
    const struct ways *ways = context;
    mdf_error error = {0};

    return random_set_inputs(&ways->what->phases[step / TRACED_STEPS % 8 == 0 ? step % ways->what->n_phases : 0], state, &error) == MDF_OK;
}

static void run_given(struct ways *ways, const mdf_program *program, mdf_state *state, struct trace *trace)
{
    mdf_error error = {0};
    uint64_t step;

    for (step = 0; step < N_STEPS; step++) {
        step += step > 0 ? mdf_state_skip_given(state, &(struct mdf_given_steps){ways->what->dt, step, N_STEPS, give, ways}) : 0;
        if (!give(ways, state, step) || mdf_evaluate(state, ways->what->dt, &error) != MDF_OK) {
            trace_error(trace, &error, 2, step);
            return;
        }
    }
    trace_state(trace, program, state, 2, N_STEPS);
}

static void run(struct ways *ways, const mdf_program *program, mdf_state *state, struct trace *trace)
{
    const struct random_phase *first = &ways->what->phases[0];
    struct series series = {.n_inputs = 0};
    uint64_t n_done = 0, n_recorded = 0;
    mdf_error error = {0};
    size_t i;

    mdf_arena_init(&series.arena, ways->memory);
    make_records(program, state, &series);
    for (i = 0; i < first->n_inputs && series.n_inputs < MOST_SERIES; i++) {
        make_input(ways, state, &first->inputs[i], &series);
    }
    mdf_state_forget_inputs(state);
    if (state->whole != NULL) {
        state->whole->fewest_in_series = FEWEST_STEPS;
    }
    if (mdf_evaluate_series(state, series.inputs, series.n_inputs, N_STEPS, ways->what->dt, ways->what->dt, 0, series.records,
                            series.n_records, &n_done, &n_recorded, &error) != MDF_OK) {
        trace_error(trace, &error, 1, n_done);
    } else {
        trace_records(trace, &series, n_recorded);
        trace_state(trace, program, state, 1, n_done);
        if (!program->solver.takes_own_steps) {
            run_given(ways, program, state, trace);
        }
    }
    random_check_sound(state, trace);
    mdf_arena_release(&series.arena);
}

bool random_run_series(struct ways *ways, struct trace *trace)
{
    mdf_options options = random_options(ways->what);
    struct trace *traces[] = {ways->own_reference, trace};
    mdf_state *states[2] = {NULL, NULL};
    mdf_program *plain;
    mdf_error error = {0};
    bool has_begun;

    if (ways->program == NULL || ways->what->n_phases == 0) {
        return false;
    }
    options.plain = true;
    plain = mdf_compile(ways->model, &options, &error);
    states[0] = plain != NULL ? mdf_state_new(plain, &error) : NULL;
    states[1] = mdf_state_new(ways->program, &error);
    has_begun = states[0] != NULL && states[1] != NULL && begin(ways, states[0]) && begin(ways, states[1]);
    if (has_begun) {
        double start_s = mdf_clock_s();

        mdf_state_limit_time(states[0], most_plain_s);
        run(ways, plain, states[0], traces[0]);
        has_begun = mdf_clock_s() - start_s < most_plain_s;
    }
    if (has_begun) {
        run(ways, ways->program, states[1], traces[1]);
    }
    mdf_state_free(states[0]);
    mdf_state_free(states[1]);
    mdf_program_free(plain);
    return has_begun;
}
