/* lower_beside.c - numbers that one function makes (exp of the six rates of a neuron's gates), none of which hangs on another one
 * of them, are made one behind the other, so that machine code and C call the function once for all: what their operands are made
 * of goes in front of the first. See lowering.h.
 *
 * In: regions whose ops are complete. Out: the same ops in another order. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { MOST_BEHIND = 192 }; /* ops behind the first of the numbers among which the others are looked for */

struct beside {
    struct lowering *lowering;
    struct mdf_lowered_region *region;
    bool *depends;                   /* by value: it hangs on one of the numbers */
    size_t first, end;               /* the ops that make them */
    bool is_needed[MOST_BEHIND + 1]; /* by op behind them: what is looked at hangs on it */
};

static bool is_scalar(const struct beside *beside, mdf_lowered_id id)
{
    return beside->lowering->lowered->values[id].is_scalar;
}

/* An op on numbers, which finds the same wherever it stands behind what makes these. */
static bool is_of_numbers(const struct beside *beside, const struct mdf_lowered_op *op)
{
    size_t i;

    for (i = 0; op->code < MDF_LOWERED_PUT && i < op->n_in && is_scalar(beside, op->in[i]); i++) {
    }
    return op->code < MDF_LOWERED_PUT && i == op->n_in && is_scalar(beside, op->out);
}

/* The op behind the numbers, in front of op `at`, behind which a value can be seen first, what branches and loops leave among
 * them; SIZE_MAX: it is there before. */
static size_t find_maker(const struct beside *beside, mdf_lowered_id id, size_t at)
{
    size_t maker;

    for (maker = beside->end; maker < at && !mdf_lowered_has_result(&beside->region->ops[maker], id); maker++) {
    }
    return maker < at ? maker : SIZE_MAX;
}

/* Notes the ops behind the numbers on which a value hangs, up to op `at`; false: one of them can not be moved. */
static bool find_needed(struct beside *beside, mdf_lowered_id id, size_t at)
{
    size_t maker = find_maker(beside, id, at), i;
    const struct mdf_lowered_op *op;

    if (maker == SIZE_MAX || beside->is_needed[maker - beside->end]) {
        return true;
    }
    op = &beside->region->ops[maker];
    if (!is_of_numbers(beside, op)) {
        return false;
    }
    beside->is_needed[maker - beside->end] = true;
    for (i = 0; i < op->n_in && find_needed(beside, op->in[i], maker); i++) {
    }
    return i == op->n_in;
}

static void move_op(struct beside *beside, size_t from, size_t to)
{
    struct mdf_lowered_op op = beside->region->ops[from];

    memmove(&beside->region->ops[to + 1], &beside->region->ops[to], (from - to) * sizeof op);
    beside->region->ops[to] = op;
}

/* Op number `at` goes behind the numbers, and what it hangs on in front of them, if it can. */
static bool bring(struct beside *beside, size_t at)
{
    size_t end = beside->end;

    memset(beside->is_needed, 0, sizeof beside->is_needed);
    if (!find_needed(beside, beside->region->ops[at].in[0], at)) {
        return false;
    }
    for (size_t i = end; i < at; i++) {
        if (beside->is_needed[i - end]) {
            move_op(beside, i, beside->first++);
            beside->end++;
        }
    }
    move_op(beside, at, beside->end++);
    return true;
}

static void unmark(void *context, mdf_lowered_id id)
{
    ((bool *)context)[id] = false;
}

/* Whether op number `at` can go behind the numbers; with `moves` it does. */
static bool joins(struct beside *beside, size_t at, bool moves)
{
    if (moves) {
        return bring(beside, at);
    }
    memset(beside->is_needed, 0, sizeof beside->is_needed);
    return find_needed(beside, beside->region->ops[at].in[0], at);
}

/* Looks for numbers that the function of op `first` makes too: how many there are, with it. With `moves` they are moved, and end
 * in front of op number `end`. */
static size_t find_others(struct beside *beside, size_t first, bool moves)
{
    const struct mdf_lowered_region *region = beside->region;
    size_t most = region->n_ops - first > MOST_BEHIND ? first + MOST_BEHIND : region->n_ops, n = 1, at;

    beside->first = first;
    beside->end = first + 1;
    mdf_lowered_mark_results(&region->ops[first], beside->depends);
    for (at = first + 1; at < most && n < MDF_LOWERED_MOST_BESIDE; at++) {
        const struct mdf_lowered_op *op = &region->ops[at];
        mdf_lowered_id out = op->out;

        if (mdf_lowered_count_marked(op, beside->depends) > 0) {
            mdf_lowered_mark_results(op, beside->depends);
        } else if (mdf_lowered_is_real_function(beside->lowering->lowered, op) &&
                   mdf_lowered_is_same_function(op, &region->ops[beside->first]) && joins(beside, at, moves)) {
            beside->depends[out] = true;
            n++;
        }
    }
    while (at-- > first) {
        mdf_lowered_visit_results(&region->ops[at], unmark, beside->depends);
    }
    return n;
}

/* Whether numbers are worth a call of their function for all: in C, where they are computed without one, if they fill a vector.
 */
static bool is_worth_a_call(const struct beside *beside, const struct mdf_lowered_op *op, size_t n)
{
    return n > 1 &&
           (!beside->lowering->is_for_source || n * mdf_dtype_size((mdf_dtype)op->dtype) >= MDF_LOWERED_FEWEST_BESIDE_BYTES);
}

static void order_region(struct beside *beside, struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_LOOP) {
            order_region(beside, &op->of.loop->body);
        } else if (op->code == MDF_LOWERED_IF) {
            order_region(beside, &op->of.branches->then);
            order_region(beside, &op->of.branches->otherwise);
        }
    }
    beside->region = region;
    for (size_t i = 0; i < region->n_ops; i++) {
        if (mdf_lowered_is_real_function(beside->lowering->lowered, &region->ops[i]) &&
            is_worth_a_call(beside, &region->ops[i], find_others(beside, i, false))) {
            find_others(beside, i, true);
            i = beside->end - 1;
        }
    }
}

bool lowering_order_functions(struct lowering *lowering)
{
    struct beside beside = {.lowering = lowering};

    beside.depends = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *beside.depends);
    if (beside.depends == NULL) {
        return lowering_out_of_memory(lowering);
    }
    order_region(&beside, &lowering->lowered->region);
    return true;
}
