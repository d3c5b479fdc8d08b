/* lower_short_arrays.c - the elements of arrays of at most four, which nests of a loop's body make, pick and add up one by one
 * (the three variables of a system of equations, a filter of two states), are numbers of their own, and a state that is such an
 * array is as many states: they stay in registers, where a row of stores that a wider load follows would be waited for. See
 * lowering.h.
 *
 * In: a loop whose nests are complete. Out: nests of a few points that have to do with such arrays are ops on numbers
 * (lower_short_nests.c), in the same order, so that results have the same bits. What else reads such an array finds it stored. */
#include "mdf_c/lower/loops/short_arrays.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { MOST_OPS = 4096 };

/* How often the nests that can be written out make and read a value, and what else does. */
struct uses {
    size_t n_made, n_read, n_other_made, n_other_read;
};

struct finding {
    struct short_arrays *arrays;
    struct uses *uses;
    bool *is_written; /* by op of the body: it is a nest that can be written out */
    bool pays;
};

/* ------------------------------------------------------------------ ops */

struct short_array *short_array_of(const struct short_arrays *arrays, mdf_lowered_id id)
{
    return id < arrays->n_values && arrays->array[id].is_apart ? &arrays->array[id] : NULL;
}

mdf_lowered_id short_number(const struct short_arrays *arrays, enum mdf_lowered_place place, mdf_dtype dtype)
{
    return lowering_add_scalar(arrays->lowering, place, dtype, arrays->depth);
}

bool short_add_op(struct short_arrays *arrays, const struct mdf_lowered_op *op)
{
    size_t i = arrays->n_ops;

    if (i == arrays->capacity) {
        struct mdf_lowered_op *ops = mdf_arena_array(&arrays->lowering->lowered->arena, 2 * i + 64, sizeof *ops);

        if (ops == NULL) {
            return lowering_out_of_memory(arrays->lowering);
        }
        if (i > 0) {
            memcpy(ops, arrays->ops, i * sizeof *ops);
        }
        arrays->ops = ops;
        arrays->capacity = 2 * i + 64;
    }
    arrays->ops[arrays->n_ops++] = *op;
    return true;
}

struct mdf_lowered_nest *short_move(struct lowering *lowering, const struct mdf_nest_view *from, const struct mdf_nest_view *to,
                                    mdf_lowered_id index)
{
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_nest_view source = *from;

    if (draft == NULL) {
        return NULL;
    }
    source.at = index != MDF_LOWERED_NONE ? draft_load(lowering, draft, index, NULL) : MDF_NEST_NONE;
    draft_store_elements(lowering, draft, draft_load_elements(lowering, draft, &source, 0, NULL, NULL), to, 0, NULL, NULL);
    return draft_finish(lowering, draft);
}

/* ------------------------------------------------------------------ which arrays */

static void count_other_read(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct finding *finding = context;

    (void)is_aliased;
    if (id < finding->arrays->n_values) {
        finding->uses[id].n_other_read++;
    }
}

static void count_other_result(void *context, mdf_lowered_id id)
{
    struct finding *finding = context;

    if (id < finding->arrays->n_values) {
        finding->uses[id].n_other_made++;
    }
}

static void count_nest(struct finding *finding, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
            finding->uses[step->view.id].n_other_read++;
        } else if (step->kind == MDF_NEST_LOAD) {
            finding->uses[step->view.id].n_read++;
        } else if (step->kind == MDF_NEST_STORE) {
            finding->uses[step->view.id].n_made++;
        }
    }
}

static void count_uses(struct finding *finding)
{
    const struct mdf_lowered_loop *loop = finding->arrays->loop;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        finding->is_written[i] =
            op->code == MDF_LOWERED_NEST && short_nest_may_be_written(finding->arrays->lowering, op->of.nest);
        if (finding->is_written[i]) {
            count_nest(finding, op->of.nest);
        } else {
            mdf_lowered_visit_reads(op, count_other_read, finding);
            mdf_lowered_visit_results(op, count_other_result, finding);
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        count_other_read(finding, loop->stacks[i].item, false);
    }
}

/* Whether a value is an array of a few numbers of which nobody else knows. */
static bool is_short(const struct finding *finding, mdf_lowered_id id)
{
    const struct lowering *lowering = finding->arrays->lowering;
    const struct mdf_lowered_value *value = &lowering->lowered->values[id];

    return !value->is_scalar && value->open_axes == 0 && value->form.kind == MDF_KIND_TENSOR && value->form.length >= 2 &&
           value->form.length <= SHORT_ARRAY_MOST && !lowering->facts[id].is_watched;
}

static bool is_made_here(const struct finding *finding, mdf_lowered_id id)
{
    const struct uses *uses = &finding->uses[id];

    return is_short(finding, id) && finding->arrays->lowering->lowered->values[id].place == MDF_LOWERED_RESULT &&
           uses->n_made > 0 && uses->n_other_made == 0;
}

/* Whether a state can be as many states as it has elements. */
static bool is_short_state(const struct finding *finding, const struct mdf_lowered_state *state)
{
    return is_short(finding, state->parameter) && is_made_here(finding, state->next) &&
           finding->uses[state->parameter].n_other_read == 0;
}

static void choose_arrays(struct finding *finding)
{
    struct short_arrays *arrays = finding->arrays;

    for (mdf_lowered_id id = 0; id < arrays->n_values; id++) {
        arrays->array[id] = (struct short_array){.is_apart = is_made_here(finding, id) && finding->uses[id].n_read > 0,
                                                 .is_stored = finding->uses[id].n_other_read > 0};
    }
    for (size_t i = 0; i < arrays->loop->n_states; i++) {
        const struct mdf_lowered_state *state = &arrays->loop->states[i];
        bool is_apart = is_short_state(finding, state);

        arrays->array[state->parameter].is_apart = is_apart;
        arrays->array[state->next].is_apart = arrays->array[state->next].is_apart || is_apart;
        arrays->array[state->next].is_stored =
            arrays->array[state->next].is_apart && (!is_apart || finding->uses[state->next].n_other_read > 0);
    }
}

/* A nest of several points that folds, or one point of an array: there is something to wait for in memory. */
static bool waits(const struct finding *finding, const struct mdf_lowered_nest *nest)
{
    bool has_apart = false, folds = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        has_apart = has_apart || ((step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) &&
                                  short_array_of(finding->arrays, step->view.id) != NULL);
        folds = folds || step->kind == MDF_NEST_FOLD;
    }
    return has_apart && (folds || nest->n_axes == 0);
}

/* Whether the body puts single numbers into an array. */
static bool is_put_into(const struct finding *finding, mdf_lowered_id id)
{
    const struct mdf_lowered_region *body = &finding->arrays->loop->body;
    size_t i;

    for (i = 0; i < body->n_ops && (body->ops[i].code != MDF_LOWERED_PUT || body->ops[i].in[0] != id ||
                                    finding->arrays->lowering->lowered->values[body->ops[i].in[1]].form.length != 1);
         i++) {
    }
    return i < body->n_ops;
}

/* Whether a nest folds a few elements that it finds at an index, in an array into which a run before may just have put one of
 * them: a load of all at once would wait until that is in memory. */
static bool folds_what_is_put(const struct finding *finding, const struct mdf_lowered_nest *nest)
{
    bool loads = false, folds = false, stores = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        loads = loads || (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && is_put_into(finding, step->view.id));
        folds = folds || step->kind == MDF_NEST_FOLD;
        stores = stores || (step->kind == MDF_NEST_STORE && step->level > 0);
    }
    return loads && folds && !stores && mdf_nest_count(nest, 0, nest->n_axes) <= SHORT_ARRAY_MOST &&
           !finding->arrays->lowering->is_for_source;
}

/* Nests that have nothing to do with such arrays stay. */
static void choose_nests(struct finding *finding)
{
    const struct mdf_lowered_region *body = &finding->arrays->loop->body;

    for (size_t i = 0; i < body->n_ops; i++) {
        const struct mdf_lowered_nest *nest = finding->is_written[i] ? body->ops[i].of.nest : NULL;
        bool any = nest != NULL && folds_what_is_put(finding, nest);

        finding->pays = finding->pays || any;
        for (size_t k = 0; nest != NULL && k < nest->n_steps; k++) {
            const struct mdf_nest_step *step = &nest->steps[k];

            any = any || ((step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) &&
                          short_array_of(finding->arrays, step->view.id) != NULL);
        }
        finding->is_written[i] = any;
        finding->pays = finding->pays || (any && waits(finding, nest));
    }
}

/* ------------------------------------------------------------------ states */

/* The elements of what a state begins with, by nests in front of the loop, which is op number *at of the region. */
static bool load_initial(struct short_arrays *arrays, struct mdf_lowered_region *region, size_t *at, mdf_lowered_id initial,
                         size_t k, mdf_lowered_id *element)
{
    struct lowering *lowering = arrays->lowering;
    struct mdf_nest_view from = {.id = initial, .first = (int64_t)k, .at = MDF_NEST_NONE}, to = {.at = MDF_NEST_NONE};
    struct mdf_lowered_op *op = lowering_insert_ops(lowering, region, *at, 1);

    *element = to.id = lowering_add_scalar(lowering, MDF_LOWERED_RESULT, (mdf_dtype)lowering->lowered->values[initial].form.dtype,
                                           arrays->depth - 1);
    if (op == NULL || to.id == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(lowering);
    }
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
    op->of.nest = short_move(lowering, &from, &to, MDF_LOWERED_NONE);
    ++*at;
    return op->of.nest != NULL || lowering_out_of_memory(lowering);
}

/* What the elements are when the loop has ended is stored as the array, behind it. */
static bool store_last(struct short_arrays *arrays, struct mdf_lowered_region *region, size_t at, mdf_lowered_id array,
                       const struct mdf_lowered_state *states, size_t n)
{
    struct mdf_lowered_op *ops = lowering_insert_ops(arrays->lowering, region, at + 1, n);

    for (size_t k = 0; ops != NULL && k < n; k++) {
        struct mdf_nest_view from = {.id = states[k].parameter, .at = MDF_NEST_NONE},
                             to = {.id = array, .first = (int64_t)k, .at = MDF_NEST_NONE};

        ops[k] = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
        ops[k].of.nest = short_move(arrays->lowering, &from, &to, MDF_LOWERED_NONE);
        if (ops[k].of.nest == NULL) {
            return lowering_out_of_memory(arrays->lowering);
        }
    }
    return ops != NULL;
}

/* The states that stand for one, with what they begin with; what they are next comes once the body is there. */
static bool split_state(struct short_arrays *arrays, struct mdf_lowered_region *region, size_t *at,
                        const struct mdf_lowered_state *state, struct mdf_lowered_state *split)
{
    mdf_dtype dtype = (mdf_dtype)arrays->lowering->lowered->values[state->parameter].form.dtype;
    size_t n = arrays->lowering->lowered->values[state->parameter].form.length;

    for (size_t k = 0; k < n; k++) {
        split[k].parameter = short_number(arrays, MDF_LOWERED_PARAMETER, dtype);
        split[k].next = short_number(arrays, MDF_LOWERED_RESULT, dtype);
        if (split[k].parameter == MDF_LOWERED_NONE || split[k].next == MDF_LOWERED_NONE ||
            !load_initial(arrays, region, at, state->initial, k, &split[k].initial)) {
            return lowering_out_of_memory(arrays->lowering);
        }
        arrays->array[state->parameter].elements[k] = split[k].parameter;
    }
    return true;
}

/* ------------------------------------------------------------------ loops */

static bool write_body(const struct finding *finding)
{
    const struct mdf_lowered_region *body = &finding->arrays->loop->body;

    for (size_t i = 0; i < body->n_ops; i++) {
        if (finding->is_written[i] ? !short_nest_write(finding->arrays, body->ops[i].of.nest)
                                   : !short_add_op(finding->arrays, &body->ops[i])) {
            return false;
        }
    }
    return true;
}

/* The last ops of the new body: what the states that stand for `state` are next. */
static bool write_next(struct short_arrays *arrays, const struct mdf_lowered_state *state, const struct mdf_lowered_state *split)
{
    size_t n = arrays->lowering->lowered->values[state->parameter].form.length;

    for (size_t k = 0; k < n; k++) {
        struct mdf_lowered_op op = {.code = MDF_LOWERED_COPY,
                                    .dtype = arrays->lowering->lowered->values[state->parameter].form.dtype,
                                    .n_in = 1,
                                    .in = {arrays->array[state->next].elements[k]},
                                    .out = split[k].next};

        if (!short_add_op(arrays, &op)) {
            return false;
        }
    }
    return true;
}

/* What was the state's parameter is an array behind the loop, where somebody reads it. */
static bool leave_array(struct short_arrays *arrays, struct mdf_lowered_region *region, size_t at,
                        const struct mdf_lowered_state *state, const struct mdf_lowered_state *split)
{
    struct lowering *lowering = arrays->lowering;
    size_t *n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);

    if (n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    lowering->lowered->values[state->parameter].place = MDF_LOWERED_RESULT;
    lowering->facts[state->parameter].is_nested = n_reads[state->parameter] > 0;
    lowering->facts[state->next].is_nested = arrays->array[state->next].is_stored;
    return n_reads[state->parameter] == 0 ||
           store_last(arrays, region, at, state->parameter, split, lowering->lowered->values[state->parameter].form.length);
}

/* How many states stand for one. */
static size_t count_split(const struct short_arrays *arrays, const struct mdf_lowered_state *state)
{
    return short_array_of(arrays, state->parameter) != NULL ? arrays->lowering->lowered->values[state->parameter].form.length : 1;
}

/* The new states; those that stay as they are among them. */
static bool split_states(struct short_arrays *arrays, struct mdf_lowered_region *region, size_t *at,
                         struct mdf_lowered_state *states)
{
    const struct mdf_lowered_loop *loop = arrays->loop;

    for (size_t i = 0; i < loop->n_states; states += count_split(arrays, &loop->states[i]), i++) {
        *states = loop->states[i];
        if (short_array_of(arrays, loop->states[i].parameter) != NULL &&
            !split_state(arrays, region, at, &loop->states[i], states)) {
            return false;
        }
    }
    return true;
}

static bool write_all_next(struct short_arrays *arrays, const struct mdf_lowered_state *states)
{
    const struct mdf_lowered_loop *loop = arrays->loop;

    for (size_t i = 0; i < loop->n_states; states += count_split(arrays, &loop->states[i]), i++) {
        if (short_array_of(arrays, loop->states[i].parameter) != NULL && !write_next(arrays, &loop->states[i], states)) {
            return false;
        }
    }
    return true;
}

/* The loop, op number *at of the region, also afterwards, with its arrays taken apart. */
static bool take_apart(struct finding *finding, struct mdf_lowered_region *region, size_t *at)
{
    struct short_arrays *arrays = finding->arrays;
    struct mdf_lowered_loop *loop = arrays->loop;
    const struct mdf_lowered_state *old = loop->states;
    size_t n_old = loop->n_states, n = 0;
    struct mdf_lowered_state *states =
        mdf_arena_array(&arrays->lowering->lowered->arena, n_old * SHORT_ARRAY_MOST + 1, sizeof *states);

    if (states == NULL || !split_states(arrays, region, at, states) || !write_body(finding) || !write_all_next(arrays, states)) {
        return lowering_out_of_memory(arrays->lowering);
    }
    for (size_t i = 0; i < n_old; i++) {
        n += count_split(arrays, &old[i]);
    }
    loop->states = states;
    loop->n_states = n;
    loop->body = (struct mdf_lowered_region){arrays->ops, arrays->n_ops};
    for (size_t i = 0; i < n_old; states += count_split(arrays, &old[i]), i++) {
        if (short_array_of(arrays, old[i].parameter) != NULL && !leave_array(arrays, region, *at, &old[i], states)) {
            return false;
        }
    }
    return true;
}

/* The arrays of a loop, which is op number *at of the region, also afterwards. */
static bool look_at_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_loop *loop = region->ops[*at].of.loop;
    struct short_arrays arrays = {.lowering = lowering, .loop = loop, .n_values = lowering->lowered->n_values};
    struct finding finding = {.arrays = &arrays};

    if (loop->n_lanes > 0 || loop->body.n_ops > MOST_OPS) {
        return true;
    }
    arrays.array = mdf_arena_array(&lowering->scratch, arrays.n_values, sizeof *arrays.array);
    finding.uses = mdf_arena_array(&lowering->scratch, arrays.n_values, sizeof *finding.uses);
    finding.is_written = mdf_arena_array(&lowering->scratch, loop->body.n_ops + 1, sizeof *finding.is_written);
    if (arrays.array == NULL || finding.uses == NULL || finding.is_written == NULL) {
        return lowering_out_of_memory(lowering);
    }
    arrays.depth = loop->number != MDF_LOWERED_NONE ? lowering->facts[loop->number].depth : 1;
    count_uses(&finding);
    choose_arrays(&finding);
    choose_nests(&finding);
    return !finding.pays || take_apart(&finding, region, at);
}

bool lowering_take_apart(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, look_at_loop);
}
