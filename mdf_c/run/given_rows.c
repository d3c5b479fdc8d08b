/* given_rows.c - see given_rows.h. Each input is declared for its port, as if it were put there, and has to have the form that the
 * port's slot has now; else steps are run one by one. */
#include "mdf_c/run/given_rows.h"

#include "mdf_c/run/steps.h"

#include <string.h>

enum { MOST_ROWS = 256, MOST_FAILURES = 3 };
/* Elements of an input: larger ones are read where they lie. */
enum { LARGEST_INPUT = 1 << 8 };

/* An input, its rows, and the form of what was given last and could be put there as it is. */
struct row_input {
    struct mdf_named_port port;
    int64_t shape[MDF_INLINE_RANK]; /* of a row */
    char *rows;
    uint8_t dtype, strength;
    bool has_form;
};

struct mdf_given_rows {
    struct row_input *inputs;
    const struct mdf_named_port **ports; /* of each input */
    mdf_series *series;
    uint8_t *strengths;
    size_t n_inputs, n_failures;
};

/* ------------------------------------------------------------------ inputs */

static void forget_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].has_input = false;
    }
}

static struct mdf_given_rows *make_rows(struct mdf_state *state)
{
    struct mdf_arena *arena = &state->shared->execution.arena;
    size_t n = state->program->n_ports;
    struct mdf_given_rows *rows = mdf_arena_allocate(arena, sizeof *rows);

    if (rows == NULL) {
        return NULL;
    }
    rows->inputs = mdf_arena_array(arena, n, sizeof *rows->inputs);
    rows->ports = mdf_arena_array(arena, n, sizeof *rows->ports);
    rows->series = mdf_arena_array(arena, n, sizeof *rows->series);
    rows->strengths = mdf_arena_array(arena, n, sizeof *rows->strengths);
    return rows->inputs != NULL && rows->ports != NULL && rows->series != NULL && rows->strengths != NULL ? rows : NULL;
}

/* An input for each port that has been given something, with room for its rows. */
static bool find_inputs(struct mdf_state *state, struct mdf_given_rows *rows)
{
    struct mdf_arena *arena = &state->shared->execution.arena;

    rows->n_inputs = 0;
    if (state->program->is_given != NULL) {
        return false; /* whether something is given is asked */
    }
    for (size_t i = 0; i < state->program->n_ports; i++) {
        const struct mdf_value *slot = mdf_frame_slot(state->frame, state->program->ports[i].slot);
        struct row_input *input = &rows->inputs[rows->n_inputs];
        size_t n_bytes;

        if (!state->ports[i].has_input) {
            continue;
        }
        if (slot->kind != MDF_KIND_TENSOR || slot->dtype == MDF_DTYPE_STRING || slot->rank >= MDF_INLINE_RANK || slot->length == 0 ||
            slot->length > LARGEST_INPUT) {
            return false;
        }
        n_bytes = slot->length * mdf_dtype_size((mdf_dtype)slot->dtype);
        *input = (struct row_input){.port = {.port = i}, .rows = mdf_arena_array(arena, MOST_ROWS, n_bytes)};
        if (input->rows == NULL) {
            return false;
        }
        memcpy(input->shape, mdf_value_shape(slot), slot->rank * sizeof *input->shape);
        rows->ports[rows->n_inputs] = &input->port;
        rows->strengths[rows->n_inputs] = slot->strength;
        rows->series[rows->n_inputs] =
            (mdf_series){.value = {.dtype = (mdf_dtype)slot->dtype, .rank = slot->rank, .shape = input->shape, .data = input->rows},
                         .step_bytes = n_bytes};
        rows->n_inputs++;
    }
    return rows->n_inputs > 0;
}

/* ------------------------------------------------------------------ rows */

static bool has_shape(const mdf_series *series, const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->rank == series->value.rank &&
           memcmp(mdf_value_shape(value), series->value.shape, value->rank * sizeof(int64_t)) == 0;
}

/* Whether all other ports hold what they do where nothing is given: the evaluation before may have had more. */
static bool have_others_defaults(const struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        if (!state->ports[i].has_input && !state->ports[i].is_fed && !state->ports[i].has_default) {
            return false;
        }
    }
    return true;
}

/* The value as the port takes it. */
static bool declare_row(struct mdf_state *state, const struct row_input *input, const mdf_series *series, uint8_t strength,
                        const struct mdf_value *given, void *row)
{
    struct mdf_context *context = &state->shared->execution.context;
    mdf_error before = context->error;
    struct mdf_value declared = {0};
    bool done = mdf_declare_value(context, &declared, given, &state->program->ports[input->port.port].declaration.type, false) &&
                has_shape(series, &declared) && (mdf_dtype)declared.dtype == series->value.dtype && declared.strength == strength;

    if (done) {
        memcpy(row, declared.data, series->step_bytes);
    }
    context->error = before;
    mdf_value_clear(&state->shared->memory, &declared);
    return done;
}

static bool take_row(struct mdf_state *state, struct mdf_given_rows *rows, size_t index, size_t row)
{
    struct row_input *input = &rows->inputs[index];
    const mdf_series *series = &rows->series[index];
    const struct mdf_value *given = &state->ports[input->port.port].input;
    char *place = input->rows + row * series->step_bytes;

    if (!state->ports[input->port.port].has_input || !has_shape(series, given)) {
        return false;
    }
    if (input->has_form && given->dtype == input->dtype && given->strength == input->strength) {
        memcpy(place, given->data, series->step_bytes);
        return true;
    }
    if (!declare_row(state, input, series, rows->strengths[index], given, place)) {
        return false;
    }
    input->has_form = (mdf_dtype)given->dtype == series->value.dtype;
    input->dtype = given->dtype;
    input->strength = given->strength;
    return true;
}

static bool take_rows(struct mdf_state *state, struct mdf_given_rows *rows, size_t row)
{
    size_t n_given = 0;

    for (size_t i = 0; i < state->program->n_ports; i++) {
        n_given += state->ports[i].has_input;
    }
    for (size_t i = 0; i < rows->n_inputs; i++) {
        if (!take_row(state, rows, i, row)) {
            return false;
        }
    }
    return n_given == rows->n_inputs;
}

/* Rows for the steps from `first` on: how many. */
static size_t gather(struct mdf_state *state, struct mdf_given_rows *rows, const struct mdf_given_steps *steps, uint64_t first)
{
    size_t n = 0;

    while (n < MOST_ROWS && first + n + 1 < steps->n_steps) {
        forget_inputs(state);
        if (!steps->give(steps->context, state, first + n) || (rows->n_inputs == 0 && !find_inputs(state, rows)) ||
            (n == 0 && !have_others_defaults(state)) || !take_rows(state, rows, n)) {
            break;
        }
        n++;
    }
    forget_inputs(state);
    return n;
}

/* ------------------------------------------------------------------ running them */

/* Whether so many steps may be worth it. */
static bool steps_pay(const struct mdf_state *state, uint64_t n)
{
    return mdf_whole_may_skip(state) && mdf_whole_series_pays(state, n) && !mdf_state_is_looked_into(state) &&
           (state->given_rows == NULL || state->given_rows->n_failures < MOST_FAILURES);
}

static uint64_t skip(struct mdf_state *state, const struct mdf_given_steps *given)
{
    struct mdf_given_rows *rows = state->given_rows;
    struct mdf_steps steps = {.dt = given->dt, .inputs = rows->series, .strengths = rows->strengths};
    uint64_t n_done = 0, n;

    do {
        uint64_t n_left = given->n_steps - given->first - n_done;
        size_t n_rows = gather(state, rows, given, given->first + n_done);

        steps.n_inputs = rows->n_inputs;
        steps.n_steps = n_rows == MOST_ROWS ? n_left : n_rows + 1;
        n = n_rows > 0 ? mdf_whole_skip_series(state, &steps, rows->ports, 0) : 0;
        n_done += n;
    } while (n > 0 && given->first + n_done + 1 < given->n_steps);
    return n_done;
}

uint64_t mdf_state_skip_given(struct mdf_state *state, const struct mdf_given_steps *steps)
{
    uint64_t n_done;

    if (!steps_pay(state, steps->n_steps - steps->first)) {
        return 0;
    }
    state->given_rows = state->given_rows != NULL ? state->given_rows : make_rows(state);
    if (state->given_rows == NULL || !mdf_state_begin(state, NULL)) {
        return 0;
    }
    n_done = mdf_state_set_increment(state, steps->dt) ? skip(state, steps) : 0;
    mdf_state_end(state);
    state->given_rows->n_failures += n_done == 0;
    state->given_rows->n_inputs = n_done == 0 ? 0 : state->given_rows->n_inputs;
    return n_done;
}
