/* lower_least.c - Python's min and max of numbers: each yields one of its values as it is. Of one type and strength that is a
 * choice between them, else a condition on them whose sides leave the one or the other, as `b if b < a else a` is. See
 * lower_strength.c. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_run.h"

static bool is_number(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = id == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, id);

    return value != NULL && value->kind == MDF_KIND_TENSOR && value->rank == 0 && lowering_is_plain(lowering, id) &&
           (value->dtype == MDF_DTYPE_FLOAT64 || value->dtype == MDF_DTYPE_INT64);
}

/* A number as a real, for a comparison; NONE: it is a whole number that is not known before, or none that a real can be. */
static mdf_lowered_id as_real(struct lowering *lowering, mdf_lowered_id id)
{
    const int64_t largest = (int64_t)1 << 53;
    const struct mdf_value *value = lowering_example(lowering, id);
    int64_t whole;

    if (value->dtype == MDF_DTYPE_FLOAT64) {
        return id;
    }
    return lowering_is_constant(lowering, id) && mdf_value_to_int64(value, &whole) && whole >= -largest && whole <= largest
               ? mdf_term_real(lowering, (double)whole)
               : MDF_LOWERED_NONE;
}

/* Whether the first number is less, as Python has it. */
static mdf_lowered_id compare(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    bool are_whole =
        lowering_example(lowering, a)->dtype == MDF_DTYPE_INT64 && lowering_example(lowering, b)->dtype == MDF_DTYPE_INT64;

    if (!are_whole) {
        a = as_real(lowering, a);
        b = as_real(lowering, b);
    }
    return mdf_term_compute(lowering, MDF_LOWERED_LESS, !are_whole, a, b);
}

/* Of two numbers of one form, the better one. */
static mdf_lowered_id choose_better(struct lowering *lowering, mdf_lowered_id condition, mdf_lowered_id best, mdf_lowered_id next,
                                    bool is_least)
{
    const struct mdf_value *a = lowering_example(lowering, best), *b = lowering_example(lowering, next);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = a->dtype, .n_in = 3, .in = {condition, next, best}};
    const uint64_t *cells[] = {(is_least ? b : a)->data, (is_least ? a : b)->data};
    uint64_t is_next = 0;

    mdf_lowered_compute(MDF_LOWERED_LESS, (mdf_dtype)a->dtype, cells, &is_next);
    return lowering_add_element_op(lowering, op, is_next != 0 ? b : a);
}

/* `next` where it is better than `best`. NONE: they can not be merged, or it failed. */
static mdf_lowered_id take_better(struct lowering *lowering, mdf_lowered_id best, mdf_lowered_id next, bool is_least)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE};
    struct mdf_lowered_if *branches;
    mdf_lowered_id condition = compare(lowering, is_least ? next : best, is_least ? best : next), id;

    if (condition == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_value_has_form_of(lowering_example(lowering, best), lowering_example(lowering, next)) &&
        !lowering_is_either(lowering, best) && !lowering_is_either(lowering, next)) {
        return choose_better(lowering, condition, best, next, is_least);
    }
    branches = mdf_arena_allocate(arena, sizeof *branches);
    if (branches == NULL || (branches->merges = mdf_arena_array(arena, LOWERING_MERGES, sizeof *branches->merges)) == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    branches->condition = condition;
    op.of.branches = branches;
    id = lowering_merge(lowering, branches, next, best);
    return id != MDF_LOWERED_NONE && lowering_add_op(lowering, lowering->region, &op) ? id : MDF_LOWERED_NONE;
}

bool lowering_choose_number(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    enum mdf_form form = trial->source->operator->form;
    mdf_lowered_id best = trial->n > 0 ? trial->ids[0] : MDF_LOWERED_NONE;
    struct lowering_attempt attempt;

    *taken = false;
    for (size_t i = 0; i < trial->n; i++) {
        if (!is_number(lowering, trial->ids[i])) {
            return true;
        }
    }
    if (trial->n < 2 || (form != MDF_FORM_LEAST && form != MDF_FORM_GREATEST)) {
        return true;
    }
    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    for (size_t i = 1; i < trial->n && best != MDF_LOWERED_NONE; i++) {
        best = take_better(lowering, best, trial->ids[i], form == MDF_FORM_LEAST);
    }
    *taken = best != MDF_LOWERED_NONE;
    return *taken ? lowering_bind(lowering, scope, trial->source->outputs[0], best) : lowering_take_back(lowering, &attempt);
}
