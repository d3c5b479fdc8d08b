/* lower_split.c - nests that are made two: one, and the rest, which loads what the first one has stored. See lowering.h.
 *
 * Vectors of a nest have as many lanes as its widest elements allow. Where much is computed in 32 bits before some of it is
 * summed in float64, or before it is an index of int64 (of the nearest of some centres), the second nest is what hangs on
 * elements of 64 bits. And machine code goes through axes once more for what
 * hangs on a fold over them, and computes there anew what it has computed for that fold: where that are folds over further axes
 * (a Softmax of distances), the second nest begins with it. So it does where these would be written out for each of its totals:
 * there is no machine code for so much. Not for C source, where each loop has the vectors that its compiler
 * finds, and rows of what is needed once more are kept. */
#include "mdf_c/lower/nests/nest_draft.h"

#include <string.h>

enum {
    MOST_SPLIT_STEPS = 64, /* as each is looked for among all */
    MOST_HANDED = 2,
    LARGEST_HANDED = 1 << 13,  /* elements: they stay in the nearest cache */
    FEWEST_LONG = 16,          /* indices of an axis that makes vectors */
    LEAST_WORK = 1024,         /* steps at points, of what then has twice as many lanes */
    LEAST_PER_HANDED = 32,     /* the same, for each element that is stored and loaded again */
    LEAST_FOLDED = 4,          /* elements that are not folded once more, for each of these */
    MOST_WRITTEN_OUT = 1 << 13 /* steps at points: machine code has some 8 of them in a vector */
};

/* What becomes of the registers of a nest. */
struct split {
    const struct mdf_lowered_nest *nest;
    bool is_second[MOST_SPLIT_STEPS]; /* it belongs to the second nest */
    bool is_handed[MOST_SPLIT_STEPS]; /* the first one makes it, and the second reads it */
    size_t n_second, n_handed, n_elements;
    bool hands_numbers; /* single ones, else none */
};

static bool depends_on_second(const struct split *split, const struct mdf_nest_step *step)
{
    size_t k;

    for (k = 0; k < step->n_in && !split->is_second[step->in[k]]; k++) {
    }
    return k < step->n_in || (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && split->is_second[step->view.at]);
}

/* What a step of the second nest reads of the first; loads are done in both. False: it can not be handed on. */
static bool hand(struct split *split, uint8_t number)
{
    const struct mdf_nest_step *step = &split->nest->steps[number];

    if (split->is_second[number] || split->is_handed[number] || (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE)) {
        return true;
    }
    split->is_handed[number] = true;
    split->n_handed++;
    split->n_elements += mdf_nest_count(split->nest, 0, step->level);
    return mdf_dtype_size((mdf_dtype)step->dtype) >= sizeof(float) && (step->level == 0) == split->hands_numbers &&
           split->n_handed <= MOST_HANDED;
}

static bool find_handed(struct split *split)
{
    for (size_t i = 0; i < split->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &split->nest->steps[i];

        for (size_t k = 0; split->is_second[i] && k < step->n_in; k++) {
            if (!hand(split, step->in[k])) {
                return false;
            }
        }
        if (split->is_second[i] && step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && !hand(split, step->view.at)) {
            return false;
        }
    }
    return split->n_handed > 0 && split->n_elements <= LARGEST_HANDED;
}

/* Whether an element of 64 bits has to be where the first nest has vectors. */
static bool stays_wide(const struct lowering *lowering, const struct mdf_nest_step *step)
{
    bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;

    return step->dtype == MDF_DTYPE_INT64 && step->level > 0 && moves &&
           lowering->lowered->values[step->view.id].place != MDF_LOWERED_CONSTANT;
}

/* Whether the first nest has so much to compute that it pays. */
static bool is_worth_it(const struct lowering *lowering, const struct split *split)
{
    const struct mdf_lowered_nest *nest = split->nest;
    size_t work = 0, longest = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool computes = step->kind == MDF_NEST_FOLD || (step->kind == MDF_NEST_ELEMENT && step->code != MDF_LOWERED_ELEMENTS);

        if (split->is_second[i]) {
            continue;
        }
        if (stays_wide(lowering, step)) {
            return false;
        }
        work += computes ? mdf_nest_count(nest, 0, mdf_nest_deepest(nest, step)) : 0;
        for (size_t axis = 0; axis < mdf_nest_deepest(nest, step); axis++) {
            longest = nest->extents[axis] > longest ? nest->extents[axis] : longest;
        }
    }
    return longest >= FEWEST_LONG && work >= LEAST_WORK && work >= LEAST_PER_HANDED * split->n_elements;
}

static bool finds_extreme(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_FOLD && step->fold >= MDF_NEST_FIRST_MAXIMUM && step->level > 0;
}

/* Whether an element has 64 bits where it could not have fewer: int64 is made of an index of int32. */
static bool becomes_wide(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    bool is_made_wide = step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->dtype == MDF_DTYPE_INT64 &&
                        finds_extreme(&nest->steps[step->in[0]]);

    return step->level > 0 && (step->dtype == MDF_DTYPE_FLOAT64 || is_made_wide);
}

static bool may_be_handed(const struct mdf_nest_step *step)
{
    return step->dtype == MDF_DTYPE_FLOAT32 || (step->dtype == MDF_DTYPE_INT32 && finds_extreme(step));
}

/* What is computed in 64 bits. */
static bool find_wide(const struct lowering *lowering, struct split *split)
{
    size_t i;

    for (i = 0; i < split->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &split->nest->steps[i];

        split->is_second[i] = becomes_wide(split->nest, step) || depends_on_second(split, step);
        split->n_second += split->is_second[i];
    }
    if (split->n_second == 0 || !find_handed(split)) {
        return false;
    }
    for (i = 0; i < split->nest->n_steps && (!split->is_handed[i] || may_be_handed(&split->nest->steps[i])); i++) {
    }
    return i == split->nest->n_steps && is_worth_it(lowering, split);
}

/* How many elements are folded anew where a register is computed once more: those of the folds that it is made of, for each of
 * its own indices along an axis. */
static size_t count_folded(const struct split *split, size_t number, size_t axis)
{
    bool is_needed[MOST_SPLIT_STEPS] = {false};
    size_t n = 0;

    is_needed[number] = true;
    for (size_t i = number + 1; i-- > 0;) {
        const struct mdf_nest_step *step = &split->nest->steps[i];

        for (size_t k = 0; is_needed[i] && k < step->n_in; k++) {
            is_needed[step->in[k]] = true;
        }
        n += is_needed[i] && step->kind == MDF_NEST_FOLD && step->level > axis
                 ? mdf_nest_count(split->nest, 0, mdf_nest_deepest(split->nest, step))
                 : 0;
    }
    return n;
}

/* Whether a step of the second nest, behind the fold, reads what the first one has for each index of an axis that is folded. */
static bool is_read_behind(const struct split *split, size_t fold, size_t number)
{
    for (size_t i = fold + 1; i < split->nest->n_steps; i++) {
        if (split->is_second[i] && memchr(split->nest->steps[i].in, (int)number, split->nest->steps[i].n_in) != NULL) {
            return true;
        }
    }
    return false;
}

/* How many steps at points machine code would have to write out for the totals of a fold, each of which is made of the totals of
 * folds along further axes. */
static size_t count_written_out(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold)
{
    size_t n = nest->n_steps * fold->lanes;

    for (size_t axis = fold->level + 1u; axis < nest->n_axes; axis++) {
        size_t most = 1;

        for (size_t i = 0; i < nest->n_steps; i++) {
            const struct mdf_nest_step *step = &nest->steps[i];

            most = step->kind == MDF_NEST_FOLD && step->level == axis && step->lanes > most ? step->lanes : most;
        }
        n *= most < nest->extents[axis] ? most : nest->extents[axis];
    }
    return n;
}

/* A fold, and what hangs on it, where what is folded is made of other folds, and needed once more, or too much to be written out
 * as often as there are totals. */
static bool find_repeated(struct split *split, size_t fold)
{
    const struct mdf_lowered_nest *nest = split->nest;
    size_t axis = nest->steps[fold].level, n_folded = 0;

    if (nest->steps[fold].kind != MDF_NEST_FOLD || count_folded(split, nest->steps[fold].in[0], axis) == 0) {
        return false;
    }
    for (size_t i = fold; i < nest->n_steps; i++) {
        split->is_second[i] = i == fold || depends_on_second(split, &nest->steps[i]);
        split->n_second += split->is_second[i];
    }
    if (!find_handed(split)) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        n_folded += split->is_handed[i] && nest->steps[i].level > axis && is_read_behind(split, fold, i)
                        ? count_folded(split, i, axis)
                        : 0;
    }
    return n_folded >= LEAST_FOLDED * split->n_elements || count_written_out(nest, &nest->steps[fold]) > MOST_WRITTEN_OUT;
}

/* Whether a step is made of what lies along the first axis only. */
static bool is_of_head(const struct split *split, const struct mdf_nest_step *step)
{
    return mdf_nest_deepest(split->nest, step) <= 1 && !depends_on_second(split, step) &&
           (step->kind != MDF_NEST_LOAD || step->view.at == MDF_NEST_NONE);
}

/* The first nest: folds along the first axis, what they need, what is made of them as a single number, and stores of all that. */
static bool find_head_steps(struct split *split)
{
    const struct mdf_lowered_nest *nest = split->nest;
    bool is_wanted[MOST_SPLIT_STEPS] = {false}, has_folds = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        split->is_second[i] = !is_of_head(split, &nest->steps[i]);
    }
    for (size_t i = nest->n_steps; i-- > 0;) {
        const struct mdf_nest_step *step = &nest->steps[i];

        is_wanted[i] = !split->is_second[i] && (is_wanted[i] || (step->level == 0 && step->n_in > 0));
        for (size_t k = 0; is_wanted[i] && k < step->n_in; k++) {
            is_wanted[step->in[k]] = true;
        }
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        split->is_second[i] = !is_wanted[i] && (split->is_second[i] || step->kind != MDF_NEST_STORE || !is_wanted[step->in[0]]);
        split->n_second += split->is_second[i];
        has_folds = has_folds || (!split->is_second[i] && step->kind == MDF_NEST_FOLD);
    }
    return has_folds && split->n_second > 0;
}

/* Single numbers that are folded along the first axis, of what lies along that axis only, and read where there are more: a place
 * that is looked for (the row of the least of all costs), a norm. Nothing else is made in that pass; and in one nest all loops
 * along the axis would be unrolled as often as the fold has lanes. */
static bool find_head(struct split *split)
{
    const struct mdf_lowered_nest *nest = split->nest;
    size_t i;

    split->hands_numbers = true;
    if (nest->n_axes < 2 || !find_head_steps(split) || !find_handed(split)) {
        return false;
    }
    for (i = 0; i < nest->n_steps && !(split->is_second[i] && nest->steps[i].level > 1); i++) {
    }
    return i < nest->n_steps;
}

/* An empty nest of an index space, with room for all steps; NULL: memory ran out. */
static struct mdf_lowered_nest *begin(struct lowering *lowering, const struct mdf_lowered_nest *from)
{
    struct mdf_lowered_nest *nest = mdf_arena_allocate(&lowering->lowered->arena, sizeof *nest);
    struct mdf_nest_step *steps = mdf_arena_array(&lowering->lowered->arena, 2 * from->n_steps, sizeof *steps);

    if (nest == NULL || steps == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    *nest = (struct mdf_lowered_nest){.n_axes = from->n_axes, .steps = steps};
    memcpy(nest->extents, from->extents, sizeof nest->extents);
    return nest;
}

static uint8_t add(struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, const uint8_t *registers)
{
    nest->steps[nest->n_steps] = *step;
    mdf_nest_renumber(&nest->steps[nest->n_steps], registers);
    return (uint8_t)nest->n_steps++;
}

/* The nest with indices of extremes found as int32, and made int64 then; NULL: there are none, or memory ran out. */
static struct mdf_lowered_nest *with_short_indices(struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    uint8_t registers[MOST_SPLIT_STEPS];
    struct mdf_lowered_nest *made;
    size_t n = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        n += finds_extreme(&nest->steps[i]) && nest->steps[i].dtype == MDF_DTYPE_INT64;
    }
    made = n > 0 && nest->n_steps + n <= MOST_SPLIT_STEPS && mdf_nest_count(nest, 0, nest->n_axes) <= INT32_MAX
               ? begin(lowering, nest)
               : NULL;
    for (size_t i = 0; made != NULL && i < nest->n_steps; i++) {
        struct mdf_nest_step step = nest->steps[i], cast = {.kind = MDF_NEST_ELEMENT,
                                                            .level = step.level,
                                                            .dtype = MDF_DTYPE_INT64,
                                                            .n_in = 1,
                                                            .in = {(uint8_t)i},
                                                            .code = MDF_LOWERED_CAST,
                                                            .operand_dtype = MDF_DTYPE_INT32,
                                                            .origin = step.origin,
                                                            .view = {.at = MDF_NEST_NONE}};
        bool is_long = finds_extreme(&step) && step.dtype == MDF_DTYPE_INT64;

        step.dtype = is_long ? MDF_DTYPE_INT32 : step.dtype;
        registers[i] = add(made, &step, registers);
        registers[i] = is_long ? add(made, &cast, registers) : registers[i];
    }
    return made;
}

static bool find_split(struct lowering *lowering, const struct mdf_lowered_nest *nest, struct split *split)
{
    const struct mdf_lowered_nest *with_short;

    if (nest->is_open || nest->n_steps > MOST_SPLIT_STEPS || mdf_nest_first_store(nest) == NULL) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        *split = (struct split){.nest = nest};
        if (find_repeated(split, i)) {
            return true;
        }
    }
    *split = (struct split){.nest = nest};
    if (find_head(split)) {
        return true;
    }
    with_short = with_short_indices(lowering, nest);
    *split = (struct split){.nest = with_short != NULL ? with_short : nest};
    return find_wide(lowering, split);
}

/* ------------------------------------------------------------------ the two nests */

/* Where the first nest stores all of a register; NULL: it does not. */
static const struct mdf_nest_view *find_stored(const struct lowering *lowering, const struct split *split, size_t number)
{
    const struct mdf_lowered_nest *nest = split->nest;

    for (size_t i = number + 1; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_STORE && step->in[0] == number &&
            mdf_nest_count(nest, 0, step->level) == lowering->lowered->values[step->view.id].form.length) {
            return &step->view;
        }
    }
    return NULL;
}

/* A value for a register, which lies as its axes do. False: memory ran out. */
static bool add_array(struct lowering *lowering, const struct mdf_lowered_nest *nest, size_t number, struct mdf_nest_view *view)
{
    const struct mdf_nest_step *step = &nest->steps[number], *other = mdf_nest_first_store(nest);
    int64_t n = (int64_t)mdf_nest_count(nest, 0, step->level);
    size_t axis;

    *view = (struct mdf_nest_view){.id = lowering_add_row(lowering, (mdf_dtype)step->dtype, n), .at = MDF_NEST_NONE};
    if (view->id == MDF_LOWERED_NONE) {
        return false;
    }
    for (axis = step->level, n = 1; axis-- > 0; n *= (int64_t)nest->extents[axis]) {
        view->strides[axis] = n;
    }
    lowering->facts[view->id].depth = lowering->facts[other->view.id].depth;
    lowering->facts[view->id].region = lowering->facts[other->view.id].region;
    return true;
}

/* Axes that no step has are no axes. */
static struct mdf_lowered_nest *finish(struct mdf_lowered_nest *nest)
{
    nest->n_axes = 0;
    for (size_t i = 0; i < nest->n_steps; i++) {
        size_t deepest = mdf_nest_deepest(nest, &nest->steps[i]);

        nest->n_axes = deepest > nest->n_axes ? deepest : nest->n_axes;
    }
    draft_join_axes(nest);
    return nest;
}

/* Whether a step of the second nest, or of the first, reads a register. */
static bool is_read(const struct split *split, size_t number, bool is_second)
{
    for (size_t i = number + 1; i < split->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &split->nest->steps[i];

        if (split->is_second[i] == is_second &&
            (memchr(step->in, (int)number, step->n_in) != NULL || (step->kind == MDF_NEST_LOAD && step->view.at == number))) {
            return true;
        }
    }
    return false;
}

/* A register that the first nest makes, stored there, and loaded by the second. False: memory ran out. */
static bool hand_on(struct lowering *lowering, const struct split *split, size_t number, struct mdf_lowered_nest *nests[2],
                    uint8_t registers[2][MOST_SPLIT_STEPS])
{
    const struct mdf_nest_step *step = &split->nest->steps[number];
    const struct mdf_nest_view *stored = find_stored(lowering, split, number);
    struct mdf_nest_step moves = {.kind = MDF_NEST_STORE, .level = step->level, .dtype = step->dtype, .n_in = 1};

    if (stored == NULL && !add_array(lowering, split->nest, number, &moves.view)) {
        return false;
    }
    if (stored == NULL) {
        moves.in[0] = (uint8_t)number;
        add(nests[0], &moves, registers[0]);
    } else {
        moves.view = *stored;
    }
    moves.kind = MDF_NEST_LOAD;
    moves.n_in = 0;
    registers[1][number] = add(nests[1], &moves, registers[1]);
    return true;
}

static bool split_op(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, const struct split *split)
{
    struct mdf_lowered_nest *nests[2] = {begin(lowering, split->nest), begin(lowering, split->nest)};
    uint8_t registers[2][MOST_SPLIT_STEPS] = {{0}, {0}};
    struct mdf_lowered_op *ops;
    size_t i;

    for (i = 0; nests[0] != NULL && nests[1] != NULL && i < split->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &split->nest->steps[i];
        bool is_plain_load = step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE;

        if (is_plain_load ? is_read(split, i, false) : !split->is_second[i]) {
            registers[0][i] = add(nests[0], step, registers[0]);
        }
        if (is_plain_load ? is_read(split, i, true) : split->is_second[i]) {
            registers[1][i] = add(nests[1], step, registers[1]);
        }
        if (split->is_handed[i] && !hand_on(lowering, split, i, nests, registers)) {
            return false;
        }
    }
    ops = i == split->nest->n_steps ? lowering_insert_ops(lowering, region, at, 1) : NULL;
    if (ops == NULL) {
        return false;
    }
    ops[0] = ops[1];
    ops[0].of.nest = finish(nests[0]);
    ops[1].of.nest = finish(nests[1]);
    return true;
}

static bool split_region(struct lowering *lowering, struct mdf_lowered_region *region)
{
    struct split split;

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        bool done = true;

        if (op->code == MDF_LOWERED_LOOP) {
            done = split_region(lowering, &op->of.loop->body);
        } else if (op->code == MDF_LOWERED_IF) {
            done = split_region(lowering, &op->of.branches->then) && split_region(lowering, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_NEST && find_split(lowering, op->of.nest, &split)) {
            done = split_op(lowering, region, i++, &split);
        }
        if (!done) {
            return false;
        }
    }
    return true;
}

bool lowering_split(struct lowering *lowering)
{
    return lowering->is_for_source || split_region(lowering, &lowering->lowered->region);
}
