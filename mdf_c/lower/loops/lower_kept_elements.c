/* lower_kept_elements.c - an element of a table that all runs of a loop go on with at one place, as a sum that is kept in a table: a
 * number is the state of the loop, and is put into the table behind it. See lowering.h.
 *
 * In: a loop of which a state is next what one number has been put into at a place that no run changes, where nothing looks at the
 * state elsewhere. Out: the same values; where the place would be counted from the end, or past it, it bails out. In C source that
 * can not be: the place is known not to be negative, then. */
#include "mdf_c/lower/loops/blocks.h"
#include "mdf_c/lowered/lowered_reads.h"

struct keeping {
    struct blocks blocks;
    struct mdf_lowered_state *state;
    struct mdf_lowered_op *put;
    struct place place;
    mdf_lowered_id number; /* the new state's parameter */
};

/* ------------------------------------------------------------------ whether there is one */

/* The step of a nest of one point that loads the element; NULL: it reads something else of the state. */
static struct mdf_nest_step *find_load(struct keeping *keeping, const struct mdf_lowered_op *op, size_t *n_others)
{
    const struct mdf_lowered_nest *nest = op->code == MDF_LOWERED_NEST ? op->of.nest : NULL;
    struct mdf_nest_step *found = NULL;
    struct element element;

    for (size_t i = 0; nest != NULL && i < nest->n_steps; i++) {
        struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind != MDF_NEST_LOAD || step->view.id != keeping->state->parameter) {
            *n_others += step->kind == MDF_NEST_STORE;
            continue;
        }
        if (found != NULL || nest->n_axes != 0 || nest->is_open || !block_find_element(&keeping->blocks, nest, step, &element) ||
            !block_is_same_place(&element.place, &keeping->place)) {
            return NULL;
        }
        found = step;
    }
    return found;
}

/* Whether nothing but loads of that element and the put looks at the state, or at what it is next. */
static bool is_kept(struct keeping *keeping)
{
    const struct mdf_lowered_loop *loop = keeping->blocks.loop;
    const struct mdf_lowered_state *state = keeping->state;
    size_t n_loads = 0, n_others = 0;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        if (mdf_lowered_reads(op, state->next)) {
            return false;
        }
        if (op == keeping->put || !mdf_lowered_reads(op, state->parameter)) {
            continue;
        }
        if (find_load(keeping, op, &n_others) == NULL) {
            return false;
        }
        n_loads++;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].item == state->parameter || loop->stacks[i].item == state->next) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        if (&loop->states[i] != state && (loop->states[i].next == state->next || loop->states[i].next == state->parameter)) {
            return false;
        }
    }
    return n_loads > 0 && keeping->blocks.n_tests < MOST_TESTS;
}

static bool find_put(struct keeping *keeping)
{
    const struct mdf_lowered_value *values = keeping->blocks.lowering->lowered->values;
    const struct mdf_lowered_loop *loop = keeping->blocks.loop;
    size_t maker = mdf_lowered_find_op(&loop->body, keeping->state->next);
    struct mdf_lowered_op *put = maker == SIZE_MAX ? NULL : &loop->body.ops[maker];

    keeping->put = put;
    return put != NULL && put->code == MDF_LOWERED_PUT && put->in[0] == keeping->state->parameter && values[put->in[1]].is_scalar &&
           values[put->out].open_axes == 0 && block_find_put_place(&keeping->blocks, put, &keeping->place) &&
           keeping->place.factor == 0;
}

/* ------------------------------------------------------------------ the number */

/* The one op behind the loop that copies the table, and is all that looks at it; NULL: there is none. */
static struct mdf_lowered_op *find_copy(const struct keeping *keeping, const struct mdf_lowered_op *of_loop)
{
    struct lowering *lowering = keeping->blocks.lowering;
    mdf_lowered_id id = keeping->state->parameter;
    size_t *n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch), i;
    struct mdf_lowered_region *region = keeping->blocks.region;
    size_t n_within = 0;

    for (i = 0; i < of_loop->of.loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &of_loop->of.loop->body.ops[i];

        n_within += op->code == MDF_LOWERED_PUT && op->in[0] == id;
        for (size_t k = 0; op->code == MDF_LOWERED_NEST && k < op->of.nest->n_steps; k++) {
            n_within += op->of.nest->steps[k].kind == MDF_NEST_LOAD && op->of.nest->steps[k].view.id == id;
        }
    }
    for (i = *keeping->blocks.at + 1; n_reads != NULL && n_reads[id] == n_within + 1 && i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_COPY && op->in[0] == id) {
            return mdf_value_has_form_of(&lowering->lowered->values[op->out].form, &lowering->lowered->values[id].form) ? op : NULL;
        }
    }
    return NULL;
}

/* Each run of the loop looks for an element by a number that is 0 where `may` holds, else 1, among one. */
static bool check_runs(struct keeping *keeping)
{
    struct blocks *blocks = &keeping->blocks;
    struct lowering *lowering = blocks->lowering;
    const struct mdf_lowered_op cast = {.code = MDF_LOWERED_CAST, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {blocks->may}};
    const int64_t zero = 0;
    struct mdf_nest_view view = {.id = lowering_add_wholes(lowering, &zero, 1, 1), .at_stride = 1, .at_limit = 1};
    mdf_lowered_id holds = block_add_op(blocks, blocks->region, blocks->at, blocks->depth, cast, MDF_DTYPE_INT64),
                   index = block_before(blocks, MDF_LOWERED_SUBTRACT, block_number(blocks, 1), holds),
                   found = lowering_add_scalar(lowering, MDF_LOWERED_RESULT, MDF_DTYPE_INT64, blocks->depth + 1);
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_lowered_op *op;
    uint8_t loaded;

    if (draft == NULL || view.id == MDF_LOWERED_NONE || index == MDF_LOWERED_NONE || found == MDF_LOWERED_NONE) {
        return false;
    }
    view.at = draft_load(lowering, draft, index, NULL);
    loaded = draft_load_elements(lowering, draft, &view, 0, NULL, NULL);
    view = (struct mdf_nest_view){.id = found, .at = MDF_NEST_NONE};
    draft_store_elements(lowering, draft, loaded, &view, 0, NULL, NULL);
    op = draft->has_failed ? NULL : lowering_insert_ops(lowering, &blocks->loop->body, 0, 1);
    if (op == NULL) {
        return false;
    }
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = draft_finish(lowering, draft)};
    return op->of.nest != NULL;
}

/* The place, in front of the loop; where it is counted from the end or past it, one that bails out. In C source it is past the
 * end at most; any other one then, and the runs of the loop, if there are any, refuse. */
static mdf_lowered_id place_in_front(struct keeping *keeping, int64_t length)
{
    struct blocks *blocks = &keeping->blocks;
    bool is_for_source = blocks->lowering->is_for_source;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = MDF_DTYPE_INT64, .n_in = 3};

    op.in[1] = block_first_place(blocks, &keeping->place, 0);
    if (blocks->may == MDF_LOWERED_NONE) {
        return op.in[1];
    }
    op.in[0] = blocks->may;
    op.in[2] = block_number(blocks, is_for_source ? 0 : length);
    return is_for_source && !check_runs(keeping)
               ? MDF_LOWERED_NONE
               : block_add_op(blocks, blocks->region, blocks->at, blocks->depth, op, MDF_DTYPE_INT64);
}

/* The element that the loop begins with. */
static mdf_lowered_id load_first(struct keeping *keeping, mdf_lowered_id place, int64_t length)
{
    struct blocks *blocks = &keeping->blocks;
    struct lowering *lowering = blocks->lowering;
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_nest_view view = {.id = keeping->state->initial, .at_stride = 1, .at_limit = length};
    mdf_dtype dtype = (mdf_dtype)lowering->lowered->values[keeping->state->parameter].form.dtype;
    mdf_lowered_id id = lowering_add_scalar(lowering, MDF_LOWERED_RESULT, dtype, blocks->depth);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = keeping->put->origin}, *room;
    uint8_t loaded;

    if (draft == NULL || id == MDF_LOWERED_NONE || place == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    view.at = draft_load(lowering, draft, place, NULL);
    loaded = draft_load_elements(lowering, draft, &view, 0, NULL, NULL);
    view = (struct mdf_nest_view){.id = id, .at = MDF_NEST_NONE};
    draft_store_elements(lowering, draft, loaded, &view, 0, NULL, NULL);
    op.of.nest = draft->has_failed ? NULL : draft_finish(lowering, draft);
    room = op.of.nest == NULL ? NULL : lowering_insert_ops(lowering, blocks->region, *blocks->at, 1);
    if (room == NULL) {
        return MDF_LOWERED_NONE;
    }
    *room = op;
    ++*blocks->at;
    return id;
}

/* What loaded the element is the number, and what was put is what it is next. */
static void go_on_with_number(struct keeping *keeping)
{
    struct mdf_lowered *lowered = keeping->blocks.lowering->lowered;
    struct mdf_lowered_loop *loop = keeping->blocks.loop;
    mdf_dtype dtype = (mdf_dtype)lowered->values[keeping->number].form.dtype;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        struct mdf_lowered_op *op = &loop->body.ops[i];
        size_t n_others = 0;
        struct mdf_nest_step *load = op->code == MDF_LOWERED_NEST && mdf_nest_reads(op->of.nest, keeping->state->parameter)
                                         ? find_load(keeping, op, &n_others)
                                         : NULL;
        const struct mdf_nest_step *last = load != NULL ? &op->of.nest->steps[op->of.nest->n_steps - 1] : NULL;

        if (load == NULL) {
            continue;
        }
        load->view = (struct mdf_nest_view){.id = keeping->number, .at = MDF_NEST_NONE};
        if (n_others == 1 && &op->of.nest->steps[last->in[0]] == load && lowered->values[last->view.id].is_scalar) {
            *op = (struct mdf_lowered_op){.code = MDF_LOWERED_COPY,
                                          .dtype = (uint8_t)dtype,
                                          .n_in = 1,
                                          .in = {keeping->number},
                                          .out = last->view.id,
                                          .origin = op->origin};
        }
    }
}

static bool keep(struct keeping *keeping)
{
    struct blocks *blocks = &keeping->blocks;
    struct lowering *lowering = blocks->lowering;
    struct mdf_lowered_state *state = keeping->state, was = *state;
    struct mdf_lowered_op put = *keeping->put, *behind, *maker;
    int64_t length = (int64_t)lowering->lowered->values[state->parameter].form.length;
    mdf_dtype dtype = (mdf_dtype)lowering->lowered->values[state->parameter].form.dtype;
    mdf_lowered_id place = place_in_front(keeping, length), first = load_first(keeping, place, length), next;

    keeping->number = lowering_add_scalar(lowering, MDF_LOWERED_PARAMETER, dtype, blocks->depth + 1);
    next = lowering_add_scalar(lowering, MDF_LOWERED_RESULT, dtype, blocks->depth + 1);
    put.of.put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *put.of.put);
    if (first == MDF_LOWERED_NONE || keeping->number == MDF_LOWERED_NONE || next == MDF_LOWERED_NONE || put.of.put == NULL) {
        return lowering_out_of_memory(lowering);
    }
    behind = find_copy(keeping, &blocks->region->ops[*blocks->at]);
    go_on_with_number(keeping);
    maker = &blocks->loop->body.ops[mdf_lowered_find_op(&blocks->loop->body, was.next)]; /* the check may have moved it */
    *maker = (struct mdf_lowered_op){
        .code = MDF_LOWERED_COPY, .dtype = (uint8_t)dtype, .n_in = 1, .in = {put.in[1]}, .out = next, .origin = put.origin};
    *state = (struct mdf_lowered_state){.initial = first, .parameter = keeping->number, .next = next};
    put.out = behind != NULL ? behind->out : was.parameter;
    put.in[0] = was.initial;
    put.in[1] = keeping->number;
    put.in[2] = place;
    *put.of.put = (struct mdf_lowered_put){.n_indices = 1, .steps = {1}, .limits = {length}};
    if (behind == NULL) {
        behind = lowering_insert_ops(lowering, blocks->region, *blocks->at + 1, 1);
        if (behind == NULL) {
            return false;
        }
        lowering->lowered->values[put.out].place = MDF_LOWERED_RESULT;
        lowering->facts[put.out].depth = blocks->depth;
    }
    lowering->facts[put.out].is_copied = true;
    *behind = put;
    return true;
}

/* ------------------------------------------------------------------ loops */

static bool keep_of_state(struct keeping *keeping)
{
    struct blocks *blocks = &keeping->blocks;
    const struct mdf_lowered_region as_it_was = *blocks->region;
    const size_t stood_at = *blocks->at;

    if (blocks->lowering->lowered->values[keeping->state->parameter].is_scalar || !find_put(keeping) || !is_kept(keeping)) {
        return true;
    }
    for (size_t i = 0; i < blocks->n_tests; i++) {
        if ((blocks->lowering->is_for_source && !block_is_from_front(blocks, i)) || !block_require_within(blocks, i)) {
            *blocks->region = as_it_was;
            *blocks->at = stood_at;
            return !lowering_has_failed(blocks->lowering);
        }
    }
    return keep(keeping);
}

static bool keep_elements(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_loop *loop = region->ops[*at].of.loop;

    for (size_t i = 0; i < loop->n_states && loop->number != MDF_LOWERED_NONE && loop->n_lanes == 0; i++) {
        struct keeping keeping = {.blocks = {.lowering = lowering,
                                             .loop = loop,
                                             .depth = lowering->facts[loop->number].depth - 1,
                                             .region = region,
                                             .at = at,
                                             .may = MDF_LOWERED_NONE},
                                  .state = &loop->states[i]};

        if (!keep_of_state(&keeping)) {
            return false;
        }
    }
    return true;
}

/* Not where instances of a sweep go side by side: a place may differ between them. */
bool lowering_keep_elements(struct lowering *lowering)
{
    bool is_for_lanes = lowering->request != NULL && lowering->request->keeps_calls;

    return is_for_lanes || lowering_for_loops(lowering, &lowering->lowered->region, keep_elements);
}
