/* whole_series.c - see whole.h. Evaluations in a row of which each has inputs of its own, or leaves values that are written down:
 * one loop of a fixed number of them, which goes through arrays of inputs item by item, and stacks the values. Where a form of
 * that is not possible, or too few evaluations are asked for to pay for making it, they run one by one. */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/run/steps.h"
#include "mdf_c/run/whole/whole_schedule.h"

#include <string.h>

enum { STEPS_AT_ONCE = 256, FEWEST_AT_ONCE = 16 };
/* Elements of what goes in and out of one run of the loop. */
enum { LARGEST_SERIES = 1 << 16 };

/* Which ports have which rows, which values are written down. */
struct mdf_whole_series {
    struct mdf_whole_program program;
    size_t n_at_once;
    struct mdf_value *rows; /* of each input: those of the next steps */
    const struct mdf_named_port **ports;
    mdf_lowered_id *items;
    size_t n_inputs;
    mdf_operand *values; /* of each record */
    mdf_lowered_id *ids, *stacks;
    mdf_record *records; /* as they were when it was lowered: forms, nodes, outputs */
    size_t n_records;
    size_t capacity; /* of all these */
    bool *leaves;    /* of each slot: conditions look at it, or it is written down */
};

/* ------------------------------------------------------------------ making it */

static bool make_room(struct mdf_whole_series *series, struct mdf_arena *arena, const struct mdf_state *state, size_t n)
{
    series->leaves = series->leaves != NULL ? series->leaves : mdf_arena_array(arena, state->whole->n_slots, sizeof *series->leaves);
    if (n > series->capacity) {
        series->capacity = 2 * n;
        series->rows = mdf_arena_array(arena, series->capacity, sizeof *series->rows);
        series->ports = mdf_arena_array(arena, series->capacity, sizeof *series->ports);
        series->items = mdf_arena_array(arena, series->capacity, sizeof *series->items);
        series->values = mdf_arena_array(arena, series->capacity, sizeof *series->values);
        series->ids = mdf_arena_array(arena, series->capacity, sizeof *series->ids);
        series->stacks = mdf_arena_array(arena, series->capacity, sizeof *series->stacks);
        series->records = mdf_arena_array(arena, series->capacity, sizeof *series->records);
    }
    if (series->leaves == NULL || series->rows == NULL || series->ports == NULL || series->items == NULL ||
        series->values == NULL || series->ids == NULL || series->stacks == NULL || series->records == NULL) {
        series->capacity = 0;
    }
    return series->capacity > 0;
}

/* A loop of how many steps: fewer where they have large arrays. */
static size_t count_at_once(const struct mdf_steps *steps)
{
    size_t n_elements = 1, n;

    for (size_t i = 0; i < steps->n_inputs; i++) {
        n_elements += steps->inputs[i].step_bytes / sizeof(double);
    }
    for (size_t i = 0; i < steps->n_records; i++) {
        n_elements += steps->records[i].size_bytes / sizeof(double);
    }
    n = LARGEST_SERIES / n_elements;
    return n < STEPS_AT_ONCE ? n + 1 : STEPS_AT_ONCE;
}

/* The arrays of inputs, from a step on. */
static bool look_at_rows(struct mdf_state *state, struct mdf_whole_series *series, const struct mdf_steps *steps, uint64_t first)
{
    for (size_t i = 0; i < steps->n_inputs; i++) {
        const mdf_tensor *tensor = &steps->inputs[i].value;
        int64_t shape[MDF_INLINE_RANK];

        if (tensor->rank + 1 > MDF_INLINE_RANK || tensor->dtype == MDF_DTYPE_STRING) {
            return false;
        }
        shape[0] = (int64_t)series->n_at_once;
        if (tensor->rank > 0) {
            memcpy(shape + 1, tensor->shape, tensor->rank * sizeof *shape);
        }
        mdf_value_borrow_tensor(&state->shared->memory, &series->rows[i], tensor->dtype,
                                steps->strengths == NULL ? MDF_STRENGTH_TYPED : (enum mdf_strength)steps->strengths[i],
                                tensor->rank + 1, shape, (const char *)tensor->data + (size_t)first * steps->inputs[i].step_bytes);
        if (series->rows[i].length * mdf_dtype_size(tensor->dtype) != series->n_at_once * steps->inputs[i].step_bytes) {
            return false;
        }
    }
    return true;
}

/* Whether an input is in its port as it is given: nothing is converted, no edge brings something, it holds for the evaluation; and
 * a graph within the node takes it, as it did the evaluation before. */
static bool is_taken_as_given(const struct mdf_state *state, size_t index, const struct mdf_value *rows)
{
    const struct mdf_program_port *port = &state->program->ports[index];
    const struct mdf_value *slot = mdf_frame_slot(state->frame, port->slot);

    if (port->node != SIZE_MAX && state->program->nodes[port->node].has_graph && state->ports[index].has_default) {
        return false;
    }
    return !state->ports[index].is_fed && (state->program->schedule == NULL || port->holds) && slot->kind == MDF_KIND_TENSOR &&
           slot->dtype == rows->dtype && slot->strength == rows->strength && slot->rank + 1u == rows->rank &&
           memcmp(mdf_value_shape(slot), mdf_value_shape(rows) + 1, slot->rank * sizeof(int64_t)) == 0;
}

static bool are_taken_as_given(const struct mdf_state *state, const struct mdf_whole_series *series)
{
    const struct mdf_named_port *named;

    for (size_t i = 0; i < series->n_inputs; i++) {
        for (named = series->ports[i]; named != NULL; named = mdf_program_next_named(state->program, named)) {
            if (!is_taken_as_given(state, named->port, &series->rows[i])) {
                return false;
            }
        }
    }
    return true;
}

/* The slots that are written down. */
static bool note_records(const struct mdf_state *state, struct mdf_whole_series *series, const struct mdf_steps *steps)
{
    const struct mdf_program *program = state->program;

    memcpy(series->leaves, state->whole->is_left, state->whole->n_slots * sizeof *series->leaves);
    for (size_t i = 0; i < steps->n_records; i++) {
        const mdf_record *record = &steps->records[i];

        if (record->node >= program->n_nodes || record->output >= program->nodes[record->node].n_outputs ||
            record->size_bytes == 0) {
            return false;
        }
        series->records[i] = *record;
        series->values[i] = program->nodes[record->node].outputs[record->output].operand;
        if (series->values[i] == MDF_NO_OPERAND || MDF_OPERAND_KIND(series->values[i]) != MDF_OPERAND_SLOT) {
            return false;
        }
        series->leaves[MDF_OPERAND_INDEX(series->values[i])] = true;
    }
    series->n_records = steps->n_records;
    return true;
}

/* ------------------------------------------------------------------ lowering it */

static bool bind_rows(struct lowering *lowering, struct repetition *repetition, const struct mdf_state *state,
                      const struct mdf_whole_series *series)
{
    const struct mdf_named_port *named;

    if (!lowering_rows_repeated(lowering, repetition, series->rows, series->n_inputs, series->items)) {
        return false;
    }
    for (size_t i = 0; i < series->n_inputs; i++) {
        for (named = series->ports[i]; named != NULL; named = mdf_program_next_named(state->program, named)) {
            if (!lowering_bind(lowering, &repetition->body, state->program->ports[named->port].slot, series->items[i])) {
                return false;
            }
        }
    }
    return true;
}

static bool has_form(const struct mdf_value *value, const mdf_record *record)
{
    return value->kind == MDF_KIND_TENSOR && value->dtype == record->dtype && value->rank == record->rank &&
           value->length * mdf_dtype_size((mdf_dtype)value->dtype) == record->size_bytes;
}

static bool stack_records(struct lowering *lowering, struct repetition *repetition, const struct mdf_state *state,
                          const struct mdf_whole_series *series)
{
    for (size_t i = 0; i < series->n_records; i++) {
        size_t slot = MDF_OPERAND_INDEX(series->values[i]);

        series->ids[i] = lowering_value_of(lowering, &repetition->body,
                                           state->whole->has_alias[slot] ? state->whole->aliases[slot] : series->values[i]);
        if (series->ids[i] == MDF_LOWERED_NONE) {
            return false;
        }
        if (!has_form(lowering_example(lowering, series->ids[i]), &series->records[i])) {
            return lowering_fail(lowering, MDF_REFUSED_OTHER_FORMS);
        }
    }
    return lowering_stack_runs(lowering, repetition, series->ids, series->n_records, series->stacks);
}

static bool lower_series(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;
    struct mdf_whole_series *series = state->whole->series;
    struct repetition steps = mdf_whole_repetition(state);

    mdf_whole_begin_many(state->whole);
    if (!lowering_begin_repetition(lowering, scope, &steps)) {
        return false;
    }
    steps.loop->n_runs = series->n_at_once;
    return bind_rows(lowering, &steps, state, series) &&
           mdf_whole_lower_evaluation(lowering, &steps.body, state, series->leaves, NULL) &&
           stack_records(lowering, &steps, state, series) &&
           lowering_end_repetition(lowering, &steps, state->whole->may_be_idle ? state->whole->is_observed : NULL) &&
           mdf_whole_set_aliases(lowering, scope, state);
}

/* ------------------------------------------------------------------ running it */

void mdf_whole_forget_series(struct mdf_whole *whole)
{
    if (whole->series != NULL) {
        mdf_fast_release(&whole->series->program.fast);
        memset(&whole->series->program.fast, 0, sizeof whole->series->program.fast);
        whole->series->n_at_once = 0;
    }
}

struct mdf_fast *mdf_whole_series_form(const struct mdf_whole *whole)
{
    return whole->series != NULL ? &whole->series->program.fast : NULL;
}

static bool is_same(const struct mdf_whole_series *series, const struct mdf_steps *steps,
                    const struct mdf_named_port *const *ports)
{
    if (series->n_at_once == 0 || series->n_inputs != steps->n_inputs || series->n_records != steps->n_records) {
        return false;
    }
    for (size_t i = 0; i < steps->n_inputs; i++) {
        if (series->ports[i] != ports[i]) {
            return false;
        }
    }
    for (size_t i = 0; i < steps->n_records; i++) {
        const mdf_record *a = &series->records[i], *b = &steps->records[i];

        if (a->node != b->node || a->output != b->output || a->dtype != b->dtype || a->rank != b->rank ||
            a->size_bytes != b->size_bytes) {
            return false;
        }
    }
    return true;
}

static bool begin(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port *const *ports)
{
    struct mdf_arena *arena = &state->shared->execution.arena;
    struct mdf_whole *whole = state->whole;
    struct mdf_whole_series *series;

    whole->series = whole->series != NULL ? whole->series : mdf_arena_allocate(arena, sizeof *whole->series);
    series = whole->series;
    if (series == NULL || !make_room(series, arena, state, steps->n_inputs + steps->n_records)) {
        return false;
    }
    mdf_whole_forget_series(whole);
    mdf_fast_begin_again(&whole->many.fast); /* aliases are those of one form */
    series->program.request = whole->many.request;
    series->program.request.go_through = lower_series;
    series->program.request.self = MDF_READ_BY_NOBODY;
    series->n_at_once = count_at_once(steps);
    series->n_inputs = steps->n_inputs;
    if (steps->n_inputs > 0) {
        memcpy(series->ports, ports, steps->n_inputs * sizeof *ports);
    }
    if (series->n_at_once < FEWEST_AT_ONCE || !note_records(state, series, steps)) {
        series->program.fast.is_given_up = true;
    }
    return true;
}

static void write_down(const struct mdf_whole_series *series, const struct mdf_steps *steps, uint64_t first)
{
    for (size_t i = 0; i < series->n_records; i++) {
        const mdf_record *record = &steps->records[i];

        memcpy((char *)record->data + first * record->size_bytes, series->program.fast.lowered->arrays[series->stacks[i]].data,
               series->n_at_once * record->size_bytes);
    }
}

bool mdf_whole_series_pays(const struct mdf_state *state, uint64_t n_steps)
{
    const struct mdf_whole_series *series = state->whole->series;

    if (state->program->stop.n_ports > 0 || state->shared->look != NULL) {
        return false;
    }
    return series != NULL && series->n_at_once > 0 ? n_steps > series->n_at_once && !series->program.fast.is_given_up
                                                   : n_steps > state->whole->fewest_in_series;
}

uint64_t mdf_whole_skip_series(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port *const *ports,
                               uint64_t first)
{
    uint64_t n_left = steps->n_steps - first - 1; /* one must follow */
    struct mdf_whole_series *series;

    if (n_left < FEWEST_AT_ONCE || state->program->stop.n_ports > 0 || state->shared->look != NULL ||
        !mdf_whole_may_skip(state)) {
        return 0;
    }
    series = state->whole->series;
    if ((series == NULL || !is_same(series, steps, ports)) &&
        (n_left < state->whole->fewest_in_series || !begin(state, steps, ports))) {
        return 0;
    }
    series = state->whole->series;
    if (series->program.fast.is_given_up || n_left < series->n_at_once || !look_at_rows(state, series, steps, first) ||
        !are_taken_as_given(state, series) || !mdf_fast_run(&series->program.fast, &series->program.request)) {
        return 0;
    }
    write_down(series, steps, first);
    state->whole->is_away = mdf_whole_counts(state);
    return series->n_at_once;
}
