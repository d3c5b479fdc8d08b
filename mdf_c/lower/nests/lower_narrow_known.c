/* lower_narrow_known.c - whole numbers of nests whose ends are known before (counts of truths, indices of extremes, constant
 * rows, and what is made of these by addition, choice and comparison) as int32: vectors have as many of them as of float32. A
 * number from outside may be among them: where it lies further out than all that it is compared with, and than what lies at an
 * index, any other number out there does as well. See lowering.h. */
#include "mdf_c/base/sizes.h"
#include "mdf_c/lower/nests/nest_narrow.h"

#include <string.h>

/* ------------------------------------------------------------------ what is known of registers */

enum { FURTHEST = 1 << 30, MOST_KNOWN_STEPS = 64 }; /* as each is looked for among all */

/* What a register of int64 is as int32. */
struct known {
    bool is_narrow, is_leaf;     /* it can be int32; and is loaded, or a number from outside */
    struct lowering_range range; /* between which it lies */
    /* Numbers of this magnitude and below are what they are, others lie beyond it, with their sign: of sums with a number from
     * outside. INT64_MAX: all are. */
    int64_t faithful;
};

static bool is_exact(const struct known *known)
{
    return known->faithful == INT64_MAX;
}

static int64_t reach_of(const struct known *known)
{
    return mdf_larger(-known->range.low, known->range.high);
}

static struct known exactly(int64_t low, int64_t high)
{
    return (struct known){.is_narrow = low >= -FURTHEST && high <= FURTHEST, .range = {low, high}, .faithful = INT64_MAX};
}

static struct known know_sum(const struct known *a, const struct known *b, bool subtracts)
{
    const struct known *other = is_exact(a) ? a : b, *unfaithful = is_exact(a) ? b : a;
    struct known sum = exactly(a->range.low + (subtracts ? -b->range.high : b->range.low),
                               a->range.high + (subtracts ? -b->range.low : b->range.high));

    if (!is_exact(unfaithful)) {
        sum.faithful = unfaithful->faithful - reach_of(other);
        sum.is_narrow = is_exact(other) && sum.faithful > 0 && reach_of(&sum) <= INT32_MAX;
    }
    return sum;
}

static struct known know_product(const struct known *a, const struct known *b)
{
    int64_t ends[] = {a->range.low * b->range.low, a->range.low * b->range.high, a->range.high * b->range.low,
                      a->range.high * b->range.high};
    struct known product = exactly(mdf_smaller(mdf_smaller(ends[0], ends[1]), mdf_smaller(ends[2], ends[3])),
                                   mdf_larger(mdf_larger(ends[0], ends[1]), mdf_larger(ends[2], ends[3])));

    product.is_narrow = product.is_narrow && is_exact(a) && is_exact(b);
    return product;
}

/* Of a choice: whichever it is. */
static struct known know_either(const struct known *a, const struct known *b)
{
    return (struct known){.is_narrow = true,
                          .range = {mdf_smaller(a->range.low, b->range.low), mdf_larger(a->range.high, b->range.high)},
                          .faithful = mdf_smaller(a->faithful, b->faithful)};
}

/* Whether all operands of an element function are of int64, and can be int32. */
static bool has_narrow_operands(const struct mdf_nest_step *step, const struct known *known)
{
    size_t k = step->code == MDF_LOWERED_SELECT; /* its first operand is a truth */

    while (k < step->n_in && step->operand_dtype == MDF_DTYPE_INT64 && known[step->in[k]].is_narrow) {
        k++;
    }
    return k == step->n_in;
}

static struct known know_element(const struct mdf_nest_step *step, const struct known *known)
{
    static const struct known zero = {.is_narrow = true, .faithful = INT64_MAX}, nothing = {.is_narrow = false};

    if (step->code == MDF_LOWERED_CAST && step->operand_dtype == MDF_DTYPE_BOOL) {
        return exactly(0, 1);
    }
    if (!has_narrow_operands(step, known)) {
        return nothing;
    }
    if (step->code == MDF_LOWERED_ADD || step->code == MDF_LOWERED_SUBTRACT) {
        return know_sum(&known[step->in[0]], &known[step->in[1]], step->code == MDF_LOWERED_SUBTRACT);
    }
    if (step->code == MDF_LOWERED_NEGATE) {
        return know_sum(&zero, &known[step->in[0]], true);
    }
    if (step->code == MDF_LOWERED_MULTIPLY) {
        return know_product(&known[step->in[0]], &known[step->in[1]]);
    }
    return step->code == MDF_LOWERED_SELECT ? know_either(&known[step->in[1]], &known[step->in[2]]) : nothing;
}

static struct known know_fold(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, const struct known *known)
{
    static const struct known nothing = {.is_narrow = false};
    size_t n = narrow_points_of(nest, step);

    if (step->fold >= MDF_NEST_FIRST_MAXIMUM && n <= FURTHEST) {
        return exactly(0, (int64_t)n - 1);
    }
    if (step->operand_dtype != MDF_DTYPE_INT64 || !known[step->in[0]].is_narrow || n > FURTHEST || step->has_start) {
        return nothing;
    }
    if (step->fold == MDF_NEST_SUM && is_exact(&known[step->in[0]])) {
        const struct lowering_range *range = &known[step->in[0]].range;

        return exactly(range->low * (int64_t)n, range->high * (int64_t)n);
    }
    return step->fold >= MDF_NEST_MAXIMUM && step->fold <= MDF_NEST_SMALLEST ? known[step->in[0]] : nothing;
}

/* Of a constant row, or a number from outside. */
static struct known know_leaf(const struct lowering *lowering, const struct mdf_lowered_nest *nest, uint8_t i)
{
    struct known leaf = {.is_narrow = false};
    const struct mdf_nest_step *step = &nest->steps[i];
    struct lowering_range range;

    if (step->kind == MDF_NEST_LOAD && narrow_find_bounds(lowering, step, &range)) {
        leaf = exactly(range.low, range.high);
    } else if (narrow_is_number(lowering, nest, i)) {
        leaf = lowering_find_range(lowering, step->view.id, &range)
                   ? exactly(range.low, range.high)
                   : (struct known){.is_narrow = true, .range = {-FURTHEST - 1, FURTHEST + 1}, .faithful = FURTHEST};
    }
    leaf.is_leaf = true;
    return leaf;
}

/* Whether a step reads the registers of int64 that it has as int32. */
static bool takes_narrow(const struct mdf_lowered_nest *nest, const struct known *known, size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    const struct known *a = &known[step->in[0]], *b = &known[step->in[1]];

    if (step->kind == MDF_NEST_FOLD) {
        return known[i].is_narrow && a->is_narrow && (step->fold < MDF_NEST_FIRST_MAXIMUM || is_exact(a));
    }
    if (step->kind != MDF_NEST_ELEMENT || known[i].is_leaf || !has_narrow_operands(step, known)) {
        return false;
    }
    if (narrow_is_comparison(step)) {
        return (is_exact(a) || is_exact(b)) && reach_of(is_exact(a) ? a : b) <= a->faithful &&
               reach_of(is_exact(a) ? a : b) <= b->faithful;
    }
    if (step->code == MDF_LOWERED_CAST) {
        return is_exact(a) && step->dtype != MDF_DTYPE_INT64;
    }
    return known[i].is_narrow;
}

/* Whether it is an index of int32 that a load goes by: not what is found in front of the nest. */
static bool is_narrow_index(const struct mdf_lowered_nest *nest, const struct known *known, const struct mdf_nest_view *view)
{
    const struct known *at = &known[view->at];

    return at->is_narrow && at->faithful >= view->at_limit && !(at->is_leaf && nest->steps[view->at].level == 0);
}

/* Whether a register is read as int64, or as int32. */
static bool is_read_as(const struct mdf_lowered_nest *nest, const struct known *known, size_t i, bool is_narrow)
{
    bool is_read = false;

    for (size_t j = i + 1; j < nest->n_steps && !is_read; j++) {
        const struct mdf_nest_step *user = &nest->steps[j];

        if (user->kind == MDF_NEST_LOAD) {
            is_read = user->view.at == i && is_narrow_index(nest, known, &user->view) == is_narrow;
        } else if (memchr(user->in, (int)i, user->n_in) != NULL) { /* what a number from outside is made of is in front */
            is_read = known[j].is_narrow && known[j].is_leaf ? !is_narrow && is_read_as(nest, known, j, false)
                                                             : takes_narrow(nest, known, j) == is_narrow;
        }
    }
    return is_read;
}

/* Takes back what would have to be int64 again, but is not what it was. */
static void keep_faithful(const struct mdf_lowered_nest *nest, struct known *known)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < nest->n_steps; i++) {
            const struct mdf_nest_step *step = &nest->steps[i];
            bool lacks = step->operand_dtype == MDF_DTYPE_INT64 && !takes_narrow(nest, known, i);

            if (known[i].is_narrow && !known[i].is_leaf &&
                (lacks || (!is_exact(&known[i]) && is_read_as(nest, known, i, false)))) {
                known[i].is_narrow = false;
                has_changed = true;
            }
        }
    }
}

/* What is known of the registers of a nest; false: there is nothing to be won by int32, as elements of 64 bits are where it would
 * be, too. */
static bool find_known(const struct lowering *lowering, const struct mdf_lowered_nest *nest, struct known *known)
{
    size_t narrow = 0, wide = 0;

    if (lowering->is_for_source || nest->is_open || nest->n_steps > MOST_KNOWN_STEPS) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->dtype == MDF_DTYPE_INT64 && step->kind != MDF_NEST_STORE) {
            known[i] = know_leaf(lowering, nest, (uint8_t)i);
            if (!known[i].is_narrow && step->kind != MDF_NEST_LOAD) {
                known[i] = step->kind == MDF_NEST_FOLD ? know_fold(nest, step, known) : know_element(step, known);
            }
        }
    }
    keep_faithful(nest, known);
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_wide = mdf_dtype_size((mdf_dtype)step->dtype) == 8 && (!known[i].is_narrow || is_read_as(nest, known, i, false));

        narrow = known[i].is_narrow && !known[i].is_leaf && mdf_nest_deepest(nest, step) > narrow ? mdf_nest_deepest(nest, step)
                                                                                                  : narrow;
        wide = is_wide && step->level > wide ? step->level : wide;
    }
    return narrow > 0 && wide == 0;
}

/* A register of the draft that is a leaf, as int32. */
static uint8_t write_leaf(struct narrow_front *front, const struct mdf_lowered_nest *nest, struct nest_draft *draft, size_t i,
                          const struct draft_step *step, const struct known *known)
{
    static const struct lowering_range furthest = {-FURTHEST, FURTHEST};
    struct draft_step load = *step;
    struct lowering_range range;
    mdf_lowered_id id;

    if (is_exact(known) && known->range.low == known->range.high) {
        return draft_constant(front->lowering, draft, MDF_DTYPE_INT32, MDF_DTYPE_INT64, &known->range.low, 0, NULL, NULL);
    }
    if (step->step.kind == MDF_NEST_LOAD && narrow_find_bounds(front->lowering, &nest->steps[i], &range)) {
        load.step.dtype = MDF_DTYPE_INT32;
        load.step.view.id = id = narrow_row(front, load.step.view.id);
    } else {
        id = narrow_number(front, nest, (uint8_t)i, is_exact(known) ? known->range : furthest, !is_exact(known));
    }
    if (id == MDF_LOWERED_NONE) {
        draft->has_failed = true;
        return 0;
    }
    return load.step.dtype == MDF_DTYPE_INT32 ? draft_add(draft, &load) : draft_load(front->lowering, draft, id, NULL);
}

/* A register of the draft that is made of others, of which in[] are int32 where the step takes them so. */
static uint8_t write_made(struct narrow_front *front, struct nest_draft *draft, const struct draft_step *step, bool is_narrow)
{
    struct draft_step fold = *step;
    uint8_t made;

    if (step->step.kind == MDF_NEST_FOLD) {
        fold.step.dtype = is_narrow ? MDF_DTYPE_INT32 : step->step.dtype;
        fold.step.operand_dtype = draft->steps[step->step.in[0]].step.dtype;
        return draft_add(draft, &fold);
    }
    if (step->step.code == MDF_LOWERED_CAST) {
        return draft_cast(draft, step->step.in[0], is_narrow ? MDF_DTYPE_INT32 : (mdf_dtype)step->step.dtype);
    }
    made = draft_apply(front->lowering, draft, narrow_element(step->step.code), step->step.in);
    if (!draft->has_failed) {
        draft->steps[made].step.origin = step->step.origin;
    }
    return made;
}

/* Registers of the nest that is made: as they were, and as int32, where it is `known` that they can be. */
struct both {
    struct known known[MOST_KNOWN_STEPS];
    uint8_t wide[MOST_KNOWN_STEPS], narrow[MOST_KNOWN_STEPS];
};

/* Step i as registers of another nest. */
static void write_known(struct narrow_front *front, const struct mdf_lowered_nest *nest, struct nest_draft *draft, size_t i,
                        struct draft_step *step, void *context)
{
    struct both *both = context;
    const struct known *known = both->known;
    bool is_narrow = known[i].is_narrow, takes = takes_narrow(nest, known, i), is_wide = is_read_as(nest, known, i, false);

    if (is_narrow && known[i].is_leaf && is_read_as(nest, known, i, true)) {
        both->narrow[i] = write_leaf(front, nest, draft, i, step, &known[i]);
    }
    if (is_narrow && known[i].is_leaf && !is_wide) {
        return;
    }
    for (size_t k = 0; k < step->step.n_in; k++) {
        uint8_t in = step->step.in[k];

        step->step.in[k] = takes && known[in].is_narrow ? both->narrow[in] : both->wide[in];
    }
    if (step->step.view.at != MDF_NEST_NONE) {
        uint8_t at = step->step.view.at;

        step->step.view.at = is_narrow_index(nest, known, &step->step.view) ? both->narrow[at] : both->wide[at];
    }
    if ((is_narrow || takes) && !known[i].is_leaf) {
        both->wide[i] = both->narrow[i] = write_made(front, draft, step, is_narrow);
        if (is_narrow && is_wide && !draft->has_failed) {
            both->wide[i] = draft_cast(draft, both->narrow[i], MDF_DTYPE_INT64);
        }
    } else {
        both->wide[i] = draft_add(draft, step);
    }
}

/* The nest with what is known as int32; NULL: nothing is, there is no room, or it would be too large. */
static struct mdf_lowered_nest *narrowed(struct narrow_front *front, const struct mdf_lowered_nest *nest)
{
    struct both both = {.wide = {0}};

    return find_known(front->lowering, nest, both.known) ? narrow_rewritten(front, nest, write_known, &both) : NULL;
}

bool lowering_narrow_known(struct lowering *lowering)
{
    return narrow_region(lowering, &lowering->lowered->region, narrowed);
}
