/* loop_plan.c - see loop_plan.h. */
#include "mdf_c/lowered/loop_plan.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

/* ------------------------------------------------------------------ in place, within one op */

/* Loops of ops that have a code may write where they read (elementwise.h), others need not. */
static bool may_write_operand(unsigned code)
{
    return code != MDF_LOWERED_ELEMENTS && code != MDF_LOWERED_CAST;
}

/* Steps that a nest goes through for one value, which it loads, and another one, which it stores. */
struct overwriting {
    const struct mdf_lowered_nest *nest;
    size_t store, made; /* the step that stores, and that which makes what is stored */
    struct mdf_nest_set loads;
};

static struct mdf_nest_set operands_of(const struct mdf_nest_step *step)
{
    struct mdf_nest_set operands = {{0}};

    mdf_nest_add_operands(step, &operands);
    return operands;
}

/* Functions that may be called on rows: these are complete before anything uses them, as folds are. */
static bool may_be_called(const struct mdf_nest_step *step)
{
    unsigned code = step->kind == MDF_NEST_ELEMENT ? step->code : MDF_LOWERED_ADD;

    return code == MDF_LOWERED_ELEMENTS || (code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_NEGATE_EXACT) ||
           (code == MDF_LOWERED_CAST && !(mdf_dtype_is_real(step->dtype) && mdf_dtype_is_real(step->operand_dtype)));
}

/* The pass over the axis of a level, of the passes that folds and calls make necessary, in which each step is computed. */
static void find_passes(const struct mdf_lowered_nest *nest, size_t level, uint8_t *passes)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_set operands = operands_of(&nest->steps[i]);

        if (mdf_nest_start(nest, i) != MDF_NEST_NONE) {
            mdf_nest_set_add(&operands, mdf_nest_start(nest, i));
        }
        passes[i] = 0;
        for (size_t k = 0; k < i; k++) {
            const struct mdf_nest_step *operand = &nest->steps[k];
            bool is_barrier = (operand->kind == MDF_NEST_FOLD && operand->level == level) ||
                              (may_be_called(operand) && operand->level >= level);
            uint8_t pass = (uint8_t)(passes[k] + is_barrier);

            passes[i] = mdf_nest_set_has(&operands, k) && pass > passes[i] ? pass : passes[i];
        }
    }
}

/* Whether nothing that is loaded is looked at in a later pass over the axis of a level than that in which it is overwritten, not
 * to compute once more what depends on it either. Results of ELEMENTS and totals of outer levels are kept. */
static bool is_last_pass(const struct overwriting *overwriting, size_t level)
{
    const struct mdf_lowered_nest *nest = overwriting->nest;
    struct mdf_nest_set again = overwriting->loads;
    uint8_t passes[MDF_NEST_MOST_STEPS];

    find_passes(nest, level, passes);
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (!mdf_nest_reads_any(step, &again)) {
            continue;
        }
        if (passes[i] > passes[overwriting->made]) {
            return false;
        }
        if (step->level > level && step->kind != MDF_NEST_STORE && step->code != MDF_LOWERED_ELEMENTS) {
            mdf_nest_set_add(&again, i);
        }
    }
    return true;
}

/* Whether a step loads the element that another one stores; where what is stored are rows of `row` elements, of any row that. */
static bool is_same_view(const struct mdf_nest_step *a, const struct mdf_nest_step *b, int64_t row)
{
    bool is_same_place =
        row == 0 ? a->view.first == b->view.first && a->view.at == MDF_NEST_NONE
                 : (a->view.first - b->view.first) % row == 0 && (a->view.at == MDF_NEST_NONE || a->view.at_stride % row == 0);

    return a->level == b->level && is_same_place && memcmp(a->view.strides, b->view.strides, sizeof a->view.strides) == 0;
}

/* Whether the elements that a step uses are those that are overwritten, as they were: it does so before, and at that element. */
static bool is_used_before(const struct overwriting *overwriting, size_t i)
{
    const struct mdf_nest_step *step = &overwriting->nest->steps[i];
    bool is_inner = step->kind != MDF_NEST_FOLD && step->level > overwriting->nest->steps[overwriting->store].level;

    return i < overwriting->made ? !is_inner : i == overwriting->made && may_write_operand(step->code);
}

static bool depends(const struct mdf_lowered_nest *nest, size_t step, size_t on)
{
    struct mdf_nest_set dependent = {{0}};

    mdf_nest_set_add(&dependent, on);
    for (size_t i = on + 1; i <= step; i++) {
        if (mdf_nest_reads_any(&nest->steps[i], &dependent)) {
            mdf_nest_set_add(&dependent, i);
        }
    }
    return mdf_nest_set_has(&dependent, step);
}

static bool nest_may_overwrite(const struct mdf_lowered_nest *nest, mdf_lowered_id id, mdf_lowered_id made, int64_t row)
{
    struct overwriting overwriting = {.nest = nest};

    while (nest->steps[overwriting.store].kind != MDF_NEST_STORE || nest->steps[overwriting.store].view.id != made) {
        overwriting.store++;
    }
    overwriting.made = nest->steps[overwriting.store].in[0];
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind != MDF_NEST_LOAD || nest->steps[i].view.id != id) {
            continue;
        }
        if (!is_same_view(&nest->steps[i], &nest->steps[overwriting.store], row) || !depends(nest, overwriting.made, i)) {
            return false;
        }
        mdf_nest_set_add(&overwriting.loads, i);
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (mdf_nest_reads_any(&nest->steps[i], &overwriting.loads) && !is_used_before(&overwriting, i)) {
            return false;
        }
    }
    for (size_t level = 0; !mdf_nest_set_is_empty(&overwriting.loads) && level <= nest->steps[overwriting.store].level; level++) {
        if (!is_last_pass(&overwriting, level)) {
            return false;
        }
    }
    return true;
}

bool mdf_lowered_nest_may_overwrite_row(const struct mdf_lowered_nest *nest, mdf_lowered_id id, mdf_lowered_id made,
                                        size_t length)
{
    return nest_may_overwrite(nest, id, made, (int64_t)length);
}

static bool op_may_overwrite(const struct mdf_lowered_op *op, mdf_lowered_id id, mdf_lowered_id made)
{
    if (op->code == MDF_LOWERED_PUT) {
        return op->in[0] == id && op->in[1] != id && op->in[2] != id;
    }
    return op->code == MDF_LOWERED_NEST ? nest_may_overwrite(op->of.nest, id, made, 0) : !mdf_lowered_reads(op, id);
}

/* ------------------------------------------------------------------ in place, within a region */

struct aliasing {
    mdf_lowered_id id;
    bool is_aliased;
};

static void note_alias(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct aliasing *aliasing = context;

    aliasing->is_aliased = aliasing->is_aliased || (id == aliasing->id && is_aliased);
}

bool mdf_lowered_may_overwrite(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region, mdf_lowered_id id,
                               mdf_lowered_id made)
{
    const struct mdf_value *old = &lowered->values[id].form, *new = &lowered->values[made].form;
    size_t maker = mdf_lowered_find_maker(region, made), i;
    struct aliasing aliasing = {.id = id};

    for (i = 0; maker != SIZE_MAX && i < region->n_ops; i++) {
        if (mdf_lowered_has_result(&region->ops[i], id)) {
            continue; /* which is done with it */
        }
        mdf_lowered_visit_reads(&region->ops[i], note_alias, &aliasing);
        if (aliasing.is_aliased || (i > maker && mdf_lowered_reads(&region->ops[i], id))) {
            return false;
        }
    }
    return maker != SIZE_MAX &&
           (!mdf_lowered_reads(&region->ops[maker], id) ||
            (old->dtype == new->dtype && old->length == new->length &&op_may_overwrite(&region->ops[maker], id, made)));
}

/* ------------------------------------------------------------------ loops */

bool mdf_lowered_makes_of_any_size(const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_maker(region, id);

    return maker != SIZE_MAX && (region->ops[maker].code == MDF_LOWERED_NEST ||
                                 (region->ops[maker].code == MDF_LOWERED_CALL && region->ops[maker].of.call->stack == NULL));
}

/* Whether an op of the body itself makes an array, and is told where: a NEST or PUT. */
static bool is_told(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t maker = lowered->values[id].is_scalar ? SIZE_MAX : mdf_lowered_find_maker(&loop->body, id);

    return maker != SIZE_MAX && (loop->body.ops[maker].code == MDF_LOWERED_NEST || loop->body.ops[maker].code == MDF_LOWERED_PUT);
}

/* The first stack that has a value as its items. */
static size_t stack_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_stacks && (loop->stacks[i].item != id || loop->stacks[i].is_behind); i++) {
    }
    return i;
}

/* Whether its stacks may be made longer while it runs: else there is room for all items from the start. */
static bool may_grow(const struct mdf_lowered_loop *loop)
{
    return (loop->n_runs == SIZE_MAX && loop->trip_count == MDF_LOWERED_NONE) || loop->condition != MDF_LOWERED_NONE;
}

/* The stack of a loop in the body that is a value; NULL: none, or one whose size is not known before, for which there is no place
 * that it could be told. */
static struct mdf_lowered_stack *inner_stack(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_maker(&loop->body, id);
    const struct mdf_lowered_loop *inner;

    if (maker == SIZE_MAX || loop->body.ops[maker].code != MDF_LOWERED_LOOP) {
        return NULL;
    }
    inner = loop->body.ops[maker].of.loop;
    if ((inner->n_runs == SIZE_MAX && inner->n_padded == 0) || inner->condition != MDF_LOWERED_NONE) {
        return NULL;
    }
    for (maker = 0; inner->stacks[maker].stack != id; maker++) {
    }
    return &inner->stacks[maker];
}

/* A stack that grows is moved, which a state that lies in it would not know of. */
static bool may_be_direct(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t stack)
{
    mdf_lowered_id item = loop->stacks[stack].item;

    return (is_told(lowered, loop, item) || inner_stack(loop, item) != NULL) && stack_of(loop, item) == stack &&
           !(may_grow(loop) && mdf_lowered_is_next(loop, item));
}

const struct mdf_lowered_state *mdf_lowered_held_state(const struct mdf_lowered_loop *loop, const struct mdf_lowered_stack *stack)
{
    return stack->is_direct ? mdf_lowered_state_of(loop, stack->item) : NULL;
}

const struct mdf_lowered_stack *mdf_lowered_holding_stack(const struct mdf_lowered_loop *loop,
                                                          const struct mdf_lowered_stack *stack)
{
    size_t state;

    for (state = 0; state < loop->n_states && loop->states[state].next != stack->item; state++) {
    }
    for (size_t i = 0; stack->is_direct && state < loop->n_states && i < loop->n_stacks; i++) {
        if (mdf_lowered_held_state(loop, &loop->stacks[i]) == &loop->states[state]) {
            return &loop->stacks[i];
        }
    }
    return NULL;
}

static bool is_output(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < lowered->n_outputs && lowered->outputs[i].id != id; i++) {
    }
    return i < lowered->n_outputs;
}

/* Whether a stack has memory of its own, of which nobody else disposes, for items from the first to the last run. */
static bool is_own_row(const struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack)
{
    return !stack->is_reversed && !stack->is_placed && !stack->appends && !stack->is_put && !stack->is_behind &&
           !is_output(lowered, stack->stack);
}

/* Whether a stack may hold a state. */
static bool may_hold_state(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t number)
{
    const struct mdf_lowered_stack *stack = &loop->stacks[number];
    const struct mdf_lowered_state *state = mdf_lowered_state_of(loop, stack->item);
    const struct mdf_lowered_value *parameter = &lowered->values[stack->item];
    size_t maker = state == NULL ? SIZE_MAX : mdf_lowered_find_maker(&loop->body, state->next), other;

    if (maker == SIZE_MAX || loop->body.ops[maker].code != MDF_LOWERED_NEST || parameter->is_scalar ||
        parameter->open_axes != 0 || loop->n_padded > 0 || may_grow(loop) || stack_of(loop, stack->item) != number ||
        !is_own_row(lowered, stack) || stack->item_bytes == 0 || stack->item_bytes > INT32_MAX) {
        return false;
    }
    other = stack_of(loop, state->next);
    return other == loop->n_stacks || is_own_row(lowered, &loop->stacks[other]);
}

/* Whether the items of a stack may be written where it has them. */
static bool may_lie_there(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t stack)
{
    return may_be_direct(lowered, loop, stack) || may_hold_state(lowered, loop, stack);
}

/* Whether a value lies in a stack. */
static bool is_in_stack(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t stack = stack_of(loop, id);

    return stack < loop->n_stacks && loop->stacks[stack].is_direct;
}

static const struct mdf_lowered_op *put_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_maker(&loop->body, id);

    return maker != SIZE_MAX && loop->body.ops[maker].code == MDF_LOWERED_PUT ? &loop->body.ops[maker] : NULL;
}

/* ------------------------------------------------------------------ states that the body goes on with where they lie */

static enum mdf_lowered_storage storage_of(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                           const struct mdf_lowered_state *state);

struct looking {
    mdf_lowered_id id;
    size_t n, n_aliased;
};

static void count_look(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct looking *looking = context;

    looking->n += id == looking->id;
    looking->n_aliased += id == looking->id && is_aliased;
}

static struct looking look(const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    struct looking looking = {.id = id};

    mdf_lowered_visit_reads(op, count_look, &looking);
    return looking;
}

/* Whether no op of a region in front of number `at`, but that which makes a value, takes its memory for its own, and none behind
 * it looks at it. */
static bool is_left_by_others(const struct mdf_lowered_region *region, mdf_lowered_id id, size_t at)
{
    bool is_left = true;

    for (size_t i = 0; is_left && i < region->n_ops; i++) {
        struct looking looking = look(&region->ops[i], id);

        is_left = i == at || mdf_lowered_has_result(&region->ops[i], id) || (i < at ? looking.n_aliased == 0 : looking.n == 0);
    }
    return is_left;
}

/* Whether, besides, op number `at` looks at it once. */
static bool is_left_to(const struct mdf_lowered_region *region, mdf_lowered_id id, size_t at)
{
    return is_left_by_others(region, id, at) && look(&region->ops[at], id).n == 1;
}

/* The state of a loop that is left as a value, and that may lie where it begins; NULL: it is a stack, or may not. */
static struct mdf_lowered_state *find_left(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region, size_t at,
                                           mdf_lowered_id id)
{
    const struct mdf_lowered_loop *inner = region->ops[at].of.loop;
    const struct mdf_lowered_state *state = mdf_lowered_state_of(inner, id);

    return state != NULL && inner->n_lanes == 0 && inner->n_padded == 0 && inner->concurrent == NULL &&
                   is_left_to(region, state->initial, at) && storage_of(lowered, inner, state) == MDF_LOWERED_IN_PLACE
               ? &inner->states[state - inner->states]
               : NULL;
}

static mdf_lowered_id side_of(const struct mdf_lowered_merge *merge, bool is_then)
{
    return is_then ? merge->then : merge->otherwise;
}

static mdf_lowered_id find_ground(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                  const struct mdf_lowered_region *region, mdf_lowered_id id);

/* Where what a branch leaves for a merge lies, of values from outside of it, if it may lie there and what it leaves for other
 * merges does not; NONE. */
static mdf_lowered_id find_ground_of_branch(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                            const struct mdf_lowered_if *branches, size_t number, bool is_then)
{
    const struct mdf_lowered_region *region = is_then ? &branches->then : &branches->otherwise;
    mdf_lowered_id id = side_of(&branches->merges[number], is_then);
    bool is_free = is_left_by_others(region, id, region->n_ops);

    while (is_free) {
        for (size_t i = 0; i < branches->n_merges; i++) {
            is_free &= i == number || side_of(&branches->merges[i], is_then) != id;
        }
        if (!is_free || mdf_lowered_find_op(region, id) == SIZE_MAX) {
            break;
        }
        id = find_ground(lowered, loop, region, id);
        is_free = id != MDF_LOWERED_NONE;
    }
    return is_free ? id : MDF_LOWERED_NONE;
}

static mdf_lowered_id find_ground_of_merge(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                           const struct mdf_lowered_region *region, size_t at, mdf_lowered_id id)
{
    const struct mdf_lowered_if *branches = region->ops[at].of.branches;
    mdf_lowered_id ground;
    size_t i;

    for (i = 0; branches->merges[i].out != id; i++) {
    }
    ground = find_ground_of_branch(lowered, loop, branches, i, true);
    return ground != MDF_LOWERED_NONE && find_ground_of_branch(lowered, loop, branches, i, false) == ground &&
                   is_left_by_others(region, ground, at)
               ? ground
               : MDF_LOWERED_NONE;
}

/* The value whose elements a value of a region, made by its ops, may take the place of, so that both lie in one memory: what it
 * is put into, what a loop's state begins as, what each of two branches goes on with. NONE: there is none. */
static mdf_lowered_id find_ground(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                  const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t at = mdf_lowered_find_op(region, id);
    const struct mdf_lowered_op *op = at == SIZE_MAX ? NULL : &region->ops[at];
    const struct mdf_lowered_state *left;
    mdf_lowered_id ground = MDF_LOWERED_NONE;

    if (op != NULL && op->code == MDF_LOWERED_PUT) {
        ground = mdf_lowered_may_overwrite(lowered, region, op->in[0], id) ? op->in[0] : MDF_LOWERED_NONE;
    } else if (op != NULL && op->code == MDF_LOWERED_LOOP) {
        left = find_left(lowered, region, at, id);
        ground = left != NULL ? left->initial : MDF_LOWERED_NONE;
    } else if (op != NULL && op->code == MDF_LOWERED_IF) {
        ground = find_ground_of_merge(lowered, loop, region, at, id);
    }
    return ground != MDF_LOWERED_NONE && stack_of(loop, ground) == loop->n_stacks && !mdf_lowered_is_next(loop, ground)
               ? ground
               : MDF_LOWERED_NONE;
}

/* The value that a state's next is a copy of, where it is for this state alone and lies in no stack, or itself. */
static mdf_lowered_id copied_next(const struct mdf_lowered_loop *loop, const struct mdf_lowered_state *state)
{
    size_t maker = mdf_lowered_find_maker(&loop->body, state->next);

    return maker != SIZE_MAX && loop->body.ops[maker].code == MDF_LOWERED_COPY &&
                   is_left_to(&loop->body, loop->body.ops[maker].in[0], maker) &&
                   !mdf_lowered_is_next(loop, loop->body.ops[maker].in[0]) && !is_in_stack(loop, loop->body.ops[maker].in[0])
               ? loop->body.ops[maker].in[0]
               : state->next;
}

/* Whether a nest of the body makes a value. */
static bool is_made_by_nest(const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_maker(region, id);

    return maker != SIZE_MAX && region->ops[maker].code == MDF_LOWERED_NEST;
}

/* What lies where a state does and everything that it is next lies in: the state, or what a nest makes of it there, before
 * something is put into that. NONE: there is no such thing. */
static mdf_lowered_id find_first(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                 const struct mdf_lowered_state *state)
{
    mdf_lowered_id id = copied_next(loop, state);

    while (id != MDF_LOWERED_NONE && id != state->parameter) {
        if (is_made_by_nest(&loop->body, id)) {
            bool is_free = id == state->next || (stack_of(loop, id) == loop->n_stacks && !mdf_lowered_is_next(loop, id));

            return is_free && mdf_lowered_may_overwrite(lowered, &loop->body, state->parameter, id) ? id : MDF_LOWERED_NONE;
        }
        id = find_ground(lowered, loop, &loop->body, id);
    }
    return id;
}

/* Whether what the body makes of a state lies where the state does. */
static bool may_lie_in_state(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                             const struct mdf_lowered_state *state)
{
    return copied_next(loop, state) != state->parameter && find_first(lowered, loop, state) != MDF_LOWERED_NONE;
}

/* What leads from a value of a region to what it lies in is done where that is: `id` is a value that find_ground has found one
 * for. */
static void lie_in_ground(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                          const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t at, i;

    for (; (at = mdf_lowered_find_op(region, id)) != SIZE_MAX && region->ops[at].code != MDF_LOWERED_NEST;
         id = find_ground(lowered, loop, region, id)) {
        const struct mdf_lowered_op *op = &region->ops[at];

        if (op->code == MDF_LOWERED_PUT) {
            op->of.put->is_in_place = lowered->values[id].is_in_place = true;
        } else if (op->code == MDF_LOWERED_LOOP) {
            find_left(lowered, region, at, id)->lies_in_initial = true;
        } else {
            for (i = 0; op->of.branches->merges[i].out != id; i++) {
            }
            lowered->values[id].is_in_place = true;
            lie_in_ground(lowered, loop, &op->of.branches->then, op->of.branches->merges[i].then);
            lie_in_ground(lowered, loop, &op->of.branches->otherwise, op->of.branches->merges[i].otherwise);
        }
    }
}

static enum mdf_lowered_storage storage_of(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                           const struct mdf_lowered_state *state)
{
    if (lowered->values[state->parameter].is_scalar || lowered->values[state->parameter].open_axes != 0) {
        return MDF_LOWERED_TWO_BUFFERS;
    }
    if (is_in_stack(loop, state->next) || is_in_stack(loop, state->parameter)) {
        return MDF_LOWERED_IN_STACK;
    }
    return stack_of(loop, state->parameter) == loop->n_stacks && may_lie_in_state(lowered, loop, state) ? MDF_LOWERED_IN_PLACE
                                                                                                        : MDF_LOWERED_TWO_BUFFERS;
}

static void plan_stacks(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        struct mdf_lowered_stack *inner = inner_stack(loop, loop->stacks[i].item);

        loop->stacks[i].is_direct = may_lie_there(lowered, loop, i);
        if (inner != NULL && loop->stacks[i].is_direct) {
            inner->is_placed = true;
        }
    }
}

/* What a nest makes where a state lies, for something to be put into it. */
static void begin_made(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, struct mdf_lowered_state *state)
{
    state->made = find_first(lowered, loop, state);
    state->begins_made = state->made != state->parameter && state->made != state->next;
    if (state->begins_made) {
        lowered->values[state->made].is_in_place = true;
    }
}

/* Of a state that is not written in place, what nests of the body make in a buffer of its own, before something is put into that,
 * there: `next` lies where it does, and its buffer is exchanged for that of the state. NONE: there is no such thing. */
static mdf_lowered_id find_made_beside(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                                       const struct mdf_lowered_state *state)
{
    const struct mdf_value *old = &lowered->values[state->parameter].form, *form;
    mdf_lowered_id id = state->next;

    if (put_of(loop, id) == NULL || stack_of(loop, id) != loop->n_stacks) {
        return MDF_LOWERED_NONE;
    }
    while (id != MDF_LOWERED_NONE && put_of(loop, id) != NULL) {
        id = find_ground(lowered, loop, &loop->body, id);
    }
    if (id == MDF_LOWERED_NONE || !is_made_by_nest(&loop->body, id) || lowered->values[id].open_axes != 0) {
        return MDF_LOWERED_NONE;
    }
    form = &lowered->values[id].form;
    return form->dtype == old->dtype && form->rank <= MDF_INLINE_RANK && mdf_value_has_shape_of(form, old) ? id
                                                                                                           : MDF_LOWERED_NONE;
}

/* Where nests make it beside the state. */
static void begin_beside(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, struct mdf_lowered_state *state)
{
    mdf_lowered_id made = find_made_beside(lowered, loop, state);

    if (made != MDF_LOWERED_NONE) {
        state->made = made;
        state->begins_made = lowered->values[state->next].is_in_place = true;
        lie_in_ground(lowered, loop, &loop->body, state->next);
    }
}

mdf_lowered_id mdf_lowered_exchanged(const struct mdf_lowered_state *state)
{
    return state->takes_over                                                 ? state->other
           : state->begins_made && state->storage == MDF_LOWERED_TWO_BUFFERS ? state->made
                                                                             : state->next;
}

/* ------------------------------------------------------------------ states that take over others */

/* The array that a state is a copy of in the next run, of which nobody but the state reads the copy; NONE. */
static mdf_lowered_id find_taken(const struct mdf_lowered_loop *loop, const struct mdf_lowered_state *state)
{
    size_t maker = mdf_lowered_find_maker(&loop->body, state->next);

    return maker != SIZE_MAX && loop->body.ops[maker].code == MDF_LOWERED_COPY && stack_of(loop, state->next) == loop->n_stacks &&
                   is_left_by_others(&loop->body, state->next, maker)
               ? loop->body.ops[maker].in[0]
               : MDF_LOWERED_NONE;
}

bool mdf_lowered_is_taken_over(const struct mdf_lowered_loop *loop, mdf_lowered_id parameter)
{
    size_t i;

    for (i = 0; i < loop->n_states && !(loop->states[i].takes_over && loop->states[i].other == parameter); i++) {
    }
    return i < loop->n_states;
}

/* Whether a state takes over another one, and what that takes over does not lead back to it. */
static bool may_take_over(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                          const struct mdf_lowered_state *state, const struct mdf_lowered_state *other)
{
    const struct mdf_value *form = &lowered->values[state->parameter].form, *taken;

    if (other == NULL || lowered->values[state->parameter].is_scalar || state->storage != MDF_LOWERED_TWO_BUFFERS ||
        lowered->values[state->parameter].open_axes != 0 || other->storage == MDF_LOWERED_IN_PLACE ||
        mdf_lowered_is_taken_over(loop, other->parameter)) {
        return false;
    }
    taken = &lowered->values[other->parameter].form;
    if (lowered->values[other->parameter].open_axes != 0 || taken->dtype != form->dtype || taken->rank > MDF_INLINE_RANK ||
        !mdf_value_has_shape_of(taken, form)) {
        return false;
    }
    while (other != NULL && other != state) {
        other = other->takes_over ? mdf_lowered_state_of(loop, other->other) : NULL;
    }
    return other == NULL;
}

/* Puts each state that takes over another one in front of that. */
static void order_states(struct mdf_lowered_loop *loop)
{
    size_t i, k, n;

    for (n = 0, i = 0; i < loop->n_states && n <= loop->n_states * loop->n_states; i++) {
        const struct mdf_lowered_state state = loop->states[i];

        for (k = 0; k < i && !(state.takes_over && loop->states[k].parameter == state.other); k++) {
        }
        if (k < i) {
            memmove(&loop->states[k + 1], &loop->states[k], (i - k) * sizeof state);
            loop->states[k] = state;
            i = k;
            n++;
        }
    }
}

static void take_over(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        struct mdf_lowered_state *state = &loop->states[i];
        mdf_lowered_id id = find_taken(loop, state);
        const struct mdf_lowered_state *other = id == MDF_LOWERED_NONE ? NULL : mdf_lowered_state_of(loop, id);

        if (may_take_over(lowered, loop, state, other)) {
            state->takes_over = lowered->values[state->next].is_in_place = true;
            state->other = id;
        }
    }
    order_states(loop);
    for (size_t i = loop->n_states; i-- > 0;) { /* the last of a row is there first */
        struct mdf_lowered_state *state = &loop->states[i];

        state->storage = state->takes_over ? mdf_lowered_state_of(loop, state->other)->storage : state->storage;
    }
}

static void plan_states(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        struct mdf_lowered_state *state = &loop->states[i];

        state->storage = (uint8_t)storage_of(lowered, loop, state);
        lowered->values[state->parameter].is_in_place = lowered->values[state->next].is_in_place =
            state->storage == MDF_LOWERED_IN_PLACE;
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];

        if (state->storage == MDF_LOWERED_IN_PLACE &&
            (put_of(loop, state->next) != NULL || copied_next(loop, state) != state->next)) {
            begin_made(lowered, loop, &loop->states[i]);
            lie_in_ground(lowered, loop, &loop->body, copied_next(loop, state));
        } else if (state->storage == MDF_LOWERED_TWO_BUFFERS && !lowered->values[state->parameter].is_scalar &&
                   lowered->values[state->parameter].open_axes == 0) {
            begin_beside(lowered, loop, &loop->states[i]);
        }
    }
    take_over(lowered, loop);
}

/* Of each loop, those around others first. */
static void plan_region(struct mdf_lowered *lowered, const struct mdf_lowered_region *region,
                        void (*plan)(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop))
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        if (region->ops[i].code == MDF_LOWERED_LOOP) {
            plan(lowered, region->ops[i].of.loop);
        }
        for (size_t k = 0; (inner = mdf_lowered_inner(&region->ops[i], k)) != NULL; k++) {
            plan_region(lowered, inner, plan);
        }
    }
}

/* No state lies in another one, and nothing is put in place, before that is planned. */
static void part_states(struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_PUT) {
            op->of.put->is_in_place = lowered->values[op->out].is_in_place = false;
        }
        for (size_t k = 0; op->code == MDF_LOWERED_LOOP && k < op->of.loop->n_states; k++) {
            if (op->of.loop->states[k].begins_made) {
                lowered->values[op->of.loop->states[k].made].is_in_place = false;
            }
            if (op->of.loop->states[k].takes_over) {
                lowered->values[op->of.loop->states[k].next].is_in_place = false;
            }
            op->of.loop->states[k].lies_in_initial = op->of.loop->states[k].begins_made = op->of.loop->states[k].takes_over =
                false;
        }
        for (size_t k = 0; op->code == MDF_LOWERED_IF && k < op->of.branches->n_merges; k++) {
            lowered->values[op->of.branches->merges[k].out].is_in_place = false;
        }
        for (size_t k = 0; (inner = mdf_lowered_inner(op, k)) != NULL; k++) {
            part_states(lowered, inner);
        }
    }
}

void mdf_lowered_plan_loops(struct mdf_lowered *lowered)
{
    part_states(lowered, &lowered->region);
    plan_region(lowered, &lowered->region, plan_stacks); /* of all: where a state lies hangs on stacks of the loops in the body */
    plan_region(lowered, &lowered->region, plan_states);
}

bool mdf_lowered_plan_holds(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].is_direct && !may_lie_there(lowered, loop, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        bool is_in_place = state->storage == MDF_LOWERED_IN_PLACE;
        bool is_beside = state->storage == MDF_LOWERED_TWO_BUFFERS && state->begins_made;
        bool is_as_planned =
            state->takes_over ? find_taken(loop, state) == state->other
            : is_beside       ? find_made_beside(lowered, loop, state) == state->made
                              : state->storage == MDF_LOWERED_TWO_BUFFERS || storage_of(lowered, loop, state) == state->storage;

        if (lowered->values[state->next].is_in_place != (is_in_place || is_beside || state->takes_over) ||
            lowered->values[state->parameter].is_in_place != is_in_place || !is_as_planned) {
            return false;
        }
    }
    return true;
}
