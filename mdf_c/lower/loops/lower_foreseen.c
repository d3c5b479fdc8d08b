/* lower_foreseen.c - what hangs on whether a loop's state begins anew is done in branches, which a processor foresees: nobody
 * waits for the test, and what one side alone needs is not computed for the other. See lowering.h.
 *
 * A state of a loop is next what it has come to, or, by a comparison of that, a constant (a spike and its reset); or it stays as
 * it is while another state, which counts, says so (a rest); or it is the least so far, and others say of what; or the loop ends
 * where it is not one of the two. Choices by the same
 * condition, and truths and numbers made of it, go into the branches of one IF behind all that they read; so do the ops in front
 * of it that only one of the branches reads, and that never bail out. Where nothing else hangs on the condition, the choice stays
 * one.
 *
 * In: loops' bodies whose ops are complete. Out: the same values. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { THEN, OTHERWISE, N_SIDES };

enum { MOST_OPS = 1024 /* of a body: each is looked for among all */ };

struct foreseen {
    struct lowering *lowering;
    struct mdf_lowered_region *region; /* a loop's body */
    mdf_lowered_id condition;
    const size_t *n_reads;         /* by value, before anything is done */
    bool *is_taken;                /* by op: it goes into the branches */
    bool *is_sunk;                 /* by op: so does it, into one of them */
    size_t behind;                 /* the last op that the branches stand behind */
    mdf_lowered_id *left[N_SIDES]; /* by op that is taken: what a side leaves in its place */
    struct mdf_lowered_region sides[N_SIDES];
    size_t *n_outside, *n_used[N_SIDES]; /* by value: reads that stay, and those of each side */
    size_t n_counted;                    /* values that these have room for */
};

static const struct mdf_lowered_value *value_of(const struct foreseen *foreseen, mdf_lowered_id id)
{
    return &foreseen->lowering->lowered->values[id];
}

static bool is_constant(const struct foreseen *foreseen, mdf_lowered_id id)
{
    return value_of(foreseen, id)->place == MDF_LOWERED_CONSTANT;
}

/* ------------------------------------------------------------------ which conditions */

static bool is_comparison(unsigned code)
{
    return code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL;
}

/* Whether a value is made by several ops of the region. */
static bool is_work(const struct foreseen *foreseen, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_op(foreseen->region, id), i;
    const struct mdf_lowered_op *op = maker == SIZE_MAX ? NULL : &foreseen->region->ops[maker];

    for (i = 0; op != NULL && i < op->n_in && mdf_lowered_find_op(foreseen->region, op->in[i]) == SIZE_MAX; i++) {
    }
    return op != NULL && i < op->n_in;
}

/* Whether a loop ends where a truth does not hold, and so jumps by it anyway; `id` is by what it goes on, or a part of that. */
static bool ends_without(const struct foreseen *foreseen, mdf_lowered_id id, mdf_lowered_id truth, size_t n_looks)
{
    size_t maker = id == MDF_LOWERED_NONE || id == truth || n_looks == 0 ? SIZE_MAX : mdf_lowered_find_op(foreseen->region, id),
           i;
    const struct mdf_lowered_op *op = maker == SIZE_MAX ? NULL : &foreseen->region->ops[maker];
    bool ends = id != MDF_LOWERED_NONE && id == truth;

    for (i = 0; op != NULL && op->code == MDF_LOWERED_AND && i < op->n_in; i++) {
        ends = ends || ends_without(foreseen, op->in[i], truth, n_looks - 1);
    }
    return ends;
}

/* Whether a choice by a comparison begins a state anew. */
static bool begins_anew(const struct foreseen *foreseen, const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op,
                        const struct mdf_lowered_op *test)
{
    mdf_lowered_id kept = op->in[is_constant(foreseen, op->in[1]) ? 2 : 1];

    return is_constant(foreseen, op->in[1]) != is_constant(foreseen, op->in[2]) && mdf_lowered_is_next(loop, op->out) &&
           (test->in[0] == kept || test->in[1] == kept);
}

/* Whether it keeps a state, as another one says; else it would be what takes some work. */
static bool keeps(const struct foreseen *foreseen, const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op,
                  const struct mdf_lowered_op *test)
{
    return mdf_lowered_is_state(loop, op->in[1]) != mdf_lowered_is_state(loop, op->in[2]) && mdf_lowered_is_state(loop, test->in[0]) &&
           is_constant(foreseen, test->in[1]) && test->in[0] != op->in[1] && test->in[0] != op->in[2] &&
           is_work(foreseen, op->in[mdf_lowered_is_state(loop, op->in[1]) ? 2 : 1]);
}

/* Whether a truth is a comparison of two values, or holds only where one does. */
static bool compares(const struct foreseen *foreseen, mdf_lowered_id truth, mdf_lowered_id a, mdf_lowered_id b, size_t n_looks)
{
    size_t maker = n_looks == 0 ? SIZE_MAX : mdf_lowered_find_op(foreseen->region, truth);
    const struct mdf_lowered_op *op = maker == SIZE_MAX ? NULL : &foreseen->region->ops[maker];

    if (op == NULL || op->code == MDF_LOWERED_AND) {
        return op != NULL &&
               (compares(foreseen, op->in[0], a, b, n_looks - 1) || compares(foreseen, op->in[1], a, b, n_looks - 1));
    }
    return is_comparison(op->code) && ((op->in[0] == a && op->in[1] == b) || (op->in[0] == b && op->in[1] == a));
}

/* Whether a choice takes what goes beyond a state in place of that: the least so far, of which a long row finds few. */
static bool takes_further(const struct foreseen *foreseen, const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op,
                          size_t n_looks)
{
    size_t i;

    for (i = 0; i < loop->n_states && loop->states[i].next != op->out; i++) {
    }
    return i < loop->n_states && (op->in[1] == loop->states[i].parameter || op->in[2] == loop->states[i].parameter) &&
           compares(foreseen, op->in[0], op->in[1], op->in[2], n_looks);
}

/* How many ops have to go into the branches of what an op, a choice, chooses by, for these to be made; 0: they are not. */
static size_t least_taken(const struct foreseen *foreseen, const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op)
{
    enum { MOST_LOOKS = 4 };
    size_t maker = op->code == MDF_LOWERED_SELECT && value_of(foreseen, op->out)->is_scalar
                       ? mdf_lowered_find_op(foreseen->region, op->in[0])
                       : SIZE_MAX;
    const struct mdf_lowered_op *test = maker == SIZE_MAX ? NULL : &foreseen->region->ops[maker];

    if (test != NULL && ends_without(foreseen, loop->next_condition, op->in[0], MOST_LOOKS)) {
        return 1;
    }
    if (test != NULL && takes_further(foreseen, loop, op, MOST_LOOKS)) {
        return 2;
    }
    if (test == NULL || !is_comparison(test->code)) {
        return 0;
    }
    return begins_anew(foreseen, loop, op, test) ? 2 : keeps(foreseen, loop, op, test) ? 1 : 0;
}

/* ------------------------------------------------------------------ what goes into the branches */

static bool reads_condition(const struct foreseen *foreseen, const struct mdf_lowered_op *op)
{
    size_t i;

    for (i = 0; i < op->n_in && op->in[i] != foreseen->condition; i++) {
    }
    return i < op->n_in;
}

/* A sum of whole numbers with what the condition, made a number, adds, and nobody else reads. */
static bool adds_condition(const struct foreseen *foreseen, const struct mdf_lowered_op *op)
{
    size_t maker = (op->code == MDF_LOWERED_ADD || op->code == MDF_LOWERED_SUBTRACT) && value_of(foreseen, op->out)->is_scalar &&
                           mdf_dtype_kind((mdf_dtype)op->dtype) != 'f'
                       ? mdf_lowered_find_op(foreseen->region, op->in[1])
                       : SIZE_MAX;

    return maker != SIZE_MAX && foreseen->is_taken[maker] && foreseen->region->ops[maker].code == MDF_LOWERED_CAST &&
           foreseen->n_reads[op->in[1]] == 1;
}

static bool may_be_taken(const struct foreseen *foreseen, const struct mdf_lowered_op *op)
{
    unsigned code = op->code;

    if (code == MDF_LOWERED_SELECT) {
        return op->in[0] == foreseen->condition && value_of(foreseen, op->out)->is_scalar;
    }
    if (op->dtype == MDF_DTYPE_BOOL &&
        (code == MDF_LOWERED_CAST || code == MDF_LOWERED_NOT || code == MDF_LOWERED_EXCLUSIVE_OR)) {
        return reads_condition(foreseen, op) && value_of(foreseen, op->out)->is_scalar;
    }
    return adds_condition(foreseen, op);
}

/* Marks what may go there. */
static size_t take(struct foreseen *foreseen)
{
    size_t n = 0;

    for (size_t i = 0; i < foreseen->region->n_ops; i++) {
        foreseen->is_taken[i] = may_be_taken(foreseen, &foreseen->region->ops[i]);
        n += foreseen->is_taken[i];
    }
    return n;
}

static void find_place(struct foreseen *foreseen)
{
    const struct mdf_lowered_region *region = foreseen->region;
    size_t maker;

    foreseen->behind = mdf_lowered_find_op(foreseen->region, foreseen->condition);
    for (size_t i = 0; i < region->n_ops; i++) {
        for (size_t k = 0; foreseen->is_taken[i] && k < region->ops[i].n_in; k++) {
            maker = mdf_lowered_find_op(foreseen->region, region->ops[i].in[k]);
            if (maker != SIZE_MAX && !foreseen->is_taken[maker] && maker > foreseen->behind) {
                foreseen->behind = maker;
            }
        }
    }
}

/* Whether an op that does not go there, but stands in front of the branches, reads a value. */
static bool is_read_before(const struct foreseen *foreseen, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i <= foreseen->behind && (foreseen->is_taken[i] || !mdf_lowered_reads(&foreseen->region->ops[i], id)); i++) {
    }
    return i <= foreseen->behind;
}

/* Leaves out an op that is read in front of the branches, or reads what is not there any more; false: there is none. */
static bool leave_out(struct foreseen *foreseen, size_t *n_taken)
{
    const struct mdf_lowered_region *region = foreseen->region;

    for (size_t i = 0; i < region->n_ops; i++) {
        if (foreseen->is_taken[i] && (is_read_before(foreseen, region->ops[i].out) || !may_be_taken(foreseen, &region->ops[i]))) {
            foreseen->is_taken[i] = false;
            --*n_taken;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ the branches */

static void count_use(struct foreseen *foreseen, size_t side, mdf_lowered_id id)
{
    foreseen->n_used[side][id]++;
}

/* 0 or 1, or a truth, of a value's form. */
static mdf_lowered_id add_number(struct foreseen *foreseen, mdf_lowered_id like, bool is_one)
{
    const struct mdf_value *form = &value_of(foreseen, like)->form;
    struct mdf_memory *memory = foreseen->lowering->memory;
    struct mdf_value truth = {0}, value = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    mdf_value_borrow_tensor(memory, &truth, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, form->rank, mdf_value_shape(form), &is_one);
    if (mdf_value_convert(memory, &value, &truth, (mdf_dtype)form->dtype)) {
        value.strength = form->strength;
        id = lowering_add_constant(foreseen->lowering, &value, false);
    } else {
        lowering_out_of_memory(foreseen->lowering);
    }
    mdf_value_clear(memory, &value);
    return id;
}

/* Adds an op to a side; its new value, of the form of `like`. */
static mdf_lowered_id add_op(struct foreseen *foreseen, size_t side, struct mdf_lowered_op op, mdf_lowered_id like)
{
    struct mdf_lowered_region *region = &foreseen->sides[side];
    const struct mdf_value example = *lowering_example(foreseen->lowering, like);

    op.out = lowering_add_value(foreseen->lowering, MDF_LOWERED_RESULT, &example);
    if (op.out == MDF_LOWERED_NONE) {
        return op.out;
    }
    foreseen->lowering->facts[op.out].is_copied = op.code == MDF_LOWERED_COPY;
    for (size_t i = 0; i < op.n_in; i++) {
        count_use(foreseen, side, op.in[i]);
    }
    region->ops[region->n_ops++] = op;
    return op.out;
}

/* What a side has in the place of a value. */
static mdf_lowered_id on_side(const struct foreseen *foreseen, size_t side, mdf_lowered_id id)
{
    size_t maker = mdf_lowered_find_op(foreseen->region, id);

    return maker != SIZE_MAX && foreseen->is_taken[maker] ? foreseen->left[side][maker] : id;
}

/* The same value in the form of another one. */
static mdf_lowered_id in_form_of(struct foreseen *foreseen, size_t side, mdf_lowered_id id, mdf_lowered_id like)
{
    const struct mdf_value *form = &value_of(foreseen, like)->form, *own = &value_of(foreseen, id)->form;
    struct mdf_value value = {0};

    if (mdf_value_has_form_of(own, form)) {
        return id;
    }
    if (is_constant(foreseen, id)) {
        mdf_value_borrow_tensor(foreseen->lowering->memory, &value, (mdf_dtype)form->dtype, (enum mdf_strength)form->strength,
                                form->rank, mdf_value_shape(form), own->data);
        return lowering_add_constant(foreseen->lowering, &value, false);
    }
    return add_op(foreseen, side,
                  (struct mdf_lowered_op){.code = MDF_LOWERED_COPY, .dtype = (uint8_t)form->dtype, .n_in = 1, .in = {id}}, like);
}

/* What a side makes of an op that is taken; NONE: memory ran out. */
static mdf_lowered_id make(struct foreseen *foreseen, size_t side, const struct mdf_lowered_op *op)
{
    bool holds = side == THEN;
    struct mdf_lowered_op own = *op;
    mdf_lowered_id other;

    if (op->code == MDF_LOWERED_SELECT) {
        return on_side(foreseen, side, op->in[holds ? 1 : 2]);
    }
    if (op->code == MDF_LOWERED_CAST || op->code == MDF_LOWERED_NOT) {
        return add_number(foreseen, op->out, holds == (op->code == MDF_LOWERED_CAST));
    }
    other = on_side(foreseen, side, op->in[op->in[0] == foreseen->condition]);
    if (op->code != MDF_LOWERED_EXCLUSIVE_OR) { /* a sum */
        other = on_side(foreseen, side, op->in[0]);
        own.in[0] = other;
        own.in[1] = add_number(foreseen, op->in[1], true);
        return !holds ? other : own.in[1] == MDF_LOWERED_NONE ? own.in[1] : add_op(foreseen, side, own, op->out);
    }
    own =
        (struct mdf_lowered_op){.code = MDF_LOWERED_NOT, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {other}, .origin = op->origin};
    return holds ? add_op(foreseen, side, own, op->out) : other;
}

/* Whether anything but what goes into the branches reads a value. */
static bool is_left(const struct foreseen *foreseen, mdf_lowered_id id)
{
    const struct mdf_lowered_region *region = foreseen->region;
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        for (size_t k = 0; foreseen->is_taken[i] && k < region->ops[i].n_in; k++) {
            n += region->ops[i].in[k] == id;
        }
    }
    return foreseen->n_reads[id] > n;
}

static bool fill_branches(struct foreseen *foreseen, struct mdf_lowered_if *branches)
{
    const struct mdf_lowered_region *region = foreseen->region;
    mdf_lowered_id sides[N_SIDES];

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (!foreseen->is_taken[i]) {
            continue;
        }
        for (size_t k = 0; k < N_SIDES; k++) {
            sides[k] = make(foreseen, k, op);
            if (sides[k] == MDF_LOWERED_NONE) {
                return false;
            }
            foreseen->left[k][i] = sides[k];
        }
        if (!is_left(foreseen, op->out)) {
            continue;
        }
        for (size_t k = 0; k < N_SIDES; k++) {
            sides[k] = in_form_of(foreseen, k, sides[k], op->out);
            if (sides[k] == MDF_LOWERED_NONE) {
                return false;
            }
            count_use(foreseen, k, sides[k]);
        }
        branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){op->out, sides[THEN], sides[OTHERWISE]};
        foreseen->lowering->facts[op->out].is_merged = true;
    }
    return true;
}

/* ------------------------------------------------------------------ what only one of them reads */

static bool may_sink(const struct foreseen *foreseen, const struct mdf_lowered_op *op)
{
    return op->code < MDF_LOWERED_COPY && !mdf_lowered_may_bail_out(op->code) && value_of(foreseen, op->out)->is_scalar &&
           foreseen->n_outside[op->out] == 0 && !foreseen->lowering->facts[op->out].is_watched;
}

static void sink(struct foreseen *foreseen)
{
    const struct mdf_lowered_region *region = foreseen->region;
    size_t side;

    for (size_t i = 0; i < region->n_ops; i++) {
        for (size_t k = 0; foreseen->is_taken[i] && k < region->ops[i].n_in; k++) {
            foreseen->n_outside[region->ops[i].in[k]]--;
        }
    }
    foreseen->n_outside[foreseen->condition]++;
    for (size_t i = foreseen->behind + 1; i-- > 0;) {
        const struct mdf_lowered_op *op = &region->ops[i];
        struct mdf_lowered_region *into;

        if (foreseen->is_taken[i] || !may_sink(foreseen, op) ||
            (foreseen->n_used[THEN][op->out] > 0) == (foreseen->n_used[OTHERWISE][op->out] > 0)) {
            continue;
        }
        side = foreseen->n_used[THEN][op->out] > 0 ? THEN : OTHERWISE;
        into = &foreseen->sides[side];
        memmove(into->ops + 1, into->ops, into->n_ops++ * sizeof *into->ops);
        into->ops[0] = *op;
        foreseen->is_sunk[i] = true;
        for (size_t k = 0; k < op->n_in; k++) {
            foreseen->n_outside[op->in[k]]--;
            count_use(foreseen, side, op->in[k]);
        }
    }
}

/* ------------------------------------------------------------------ all of it */

static bool allocate(struct foreseen *foreseen)
{
    struct mdf_arena *scratch = &foreseen->lowering->scratch, *arena = &foreseen->lowering->lowered->arena;
    size_t n_ops = foreseen->region->n_ops;

    foreseen->n_counted = foreseen->lowering->lowered->n_values + 8 * n_ops;
    foreseen->is_taken = mdf_arena_array(scratch, n_ops, sizeof *foreseen->is_taken);
    foreseen->is_sunk = mdf_arena_array(scratch, n_ops, sizeof *foreseen->is_sunk);
    foreseen->n_outside = mdf_arena_array(scratch, foreseen->n_counted, sizeof *foreseen->n_outside);
    foreseen->n_reads = mdf_lowered_count_reads(foreseen->lowering->lowered, scratch);
    for (size_t k = 0; k < N_SIDES; k++) {
        foreseen->left[k] = mdf_arena_array(scratch, n_ops, sizeof *foreseen->left[k]);
        foreseen->n_used[k] = mdf_arena_array(scratch, foreseen->n_counted, sizeof *foreseen->n_used[k]);
        foreseen->sides[k] = (struct mdf_lowered_region){mdf_arena_array(arena, 3 * n_ops, sizeof *foreseen->sides[k].ops), 0};
        if (foreseen->left[k] == NULL || foreseen->n_used[k] == NULL || foreseen->sides[k].ops == NULL) {
            return lowering_out_of_memory(foreseen->lowering);
        }
    }
    if (foreseen->is_taken == NULL || foreseen->is_sunk == NULL || foreseen->n_outside == NULL || foreseen->n_reads == NULL) {
        return lowering_out_of_memory(foreseen->lowering);
    }
    memcpy(foreseen->n_outside, foreseen->n_reads, foreseen->lowering->lowered->n_values * sizeof *foreseen->n_outside);
    return true;
}

/* The region anew, with the branches behind what they read. */
static void put_branches(struct foreseen *foreseen, struct mdf_lowered_if *branches, const struct mdf_origin *origin)
{
    struct mdf_lowered_region *region = foreseen->region;
    struct mdf_lowered_op *ops = branches->then.ops; /* room for more */
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        if (!foreseen->is_taken[i] && !foreseen->is_sunk[i]) {
            ops[n++] = region->ops[i];
        }
        if (i == foreseen->behind) {
            ops[n++] = (struct mdf_lowered_op){
                .code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .origin = origin, .of.branches = branches};
        }
    }
    memcpy(region->ops, ops, n * sizeof *ops);
    region->n_ops = n;
    branches->then = foreseen->sides[THEN];
}

/* Op number `at` and what hangs on its condition, if they are so many; *done: they are in branches. */
static bool branch(struct foreseen *foreseen, size_t at, size_t n_least, bool *done)
{
    struct mdf_lowered_if *branches;
    struct mdf_arena *arena = &foreseen->lowering->lowered->arena;
    size_t n_taken, n_ops = foreseen->region->n_ops;

    *done = false;
    foreseen->condition = foreseen->region->ops[at].in[0];
    if (!allocate(foreseen)) {
        return false;
    }
    n_taken = take(foreseen);
    do {
        find_place(foreseen);
    } while (leave_out(foreseen, &n_taken));
    if (n_taken < n_least || !foreseen->is_taken[at]) {
        return true;
    }
    branches = mdf_arena_allocate(arena, sizeof *branches);
    if (branches == NULL) {
        return lowering_out_of_memory(foreseen->lowering);
    }
    *branches = (struct mdf_lowered_if){
        .condition = foreseen->condition,
        .merges = mdf_arena_array(arena, n_taken, sizeof *branches->merges),
        .then = {mdf_arena_array(&foreseen->lowering->scratch, n_ops + 1, sizeof *branches->then.ops), 0}};
    if (branches->merges == NULL || branches->then.ops == NULL) {
        return lowering_out_of_memory(foreseen->lowering);
    }
    if (!fill_branches(foreseen, branches)) {
        return false;
    }
    sink(foreseen);
    branches->otherwise = foreseen->sides[OTHERWISE];
    put_branches(foreseen, branches, foreseen->region->ops[at].origin);
    *done = true;
    return true;
}

static bool look_at_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    const struct mdf_lowered_loop *loop = region->ops[*at].of.loop;
    struct foreseen foreseen = {.lowering = lowering, .region = &region->ops[*at].of.loop->body};
    bool done;
    size_t n_least;

    for (size_t i = 0; foreseen.region->n_ops <= MOST_OPS && i < foreseen.region->n_ops; i++) {
        n_least = least_taken(&foreseen, loop, &foreseen.region->ops[i]);
        if (n_least == 0) {
            continue;
        }
        if (!branch(&foreseen, i, n_least, &done)) {
            return false;
        }
        i = done ? SIZE_MAX : i; /* from the start */
    }
    return true;
}

bool lowering_branch_foreseen(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, look_at_loop);
}
