/* lower_wide_truths.c - for C source: truths that nests load beside numbers of 4 or 8 bytes, along short rows or such with a rest
 * (a mask of 30 columns), are made int32 in front of the nest, and compared there. Compilers make as many lanes as the smallest
 * elements of a loop allow, 64 of bytes: along shorter rows none, or those of vectors of 8 bytes. See lowering.h. */
#include "functions/elements/element.h"
#include "mdf_c/lower/nests/nest_draft.h"

#include <string.h>

enum {
    LONGEST_WIDE = 4096,     /* elements */
    FEWEST_POINTS = 16,      /* of a nest */
    LONGEST_WITH_REST = 256, /* indices of its innermost axis; of more the rest does not count */
    MOST_WIDENED = 16
};

/* Whether loads of truths are all that would make the vectors of the innermost axis those of bytes. */
static bool has_short_rows(const struct mdf_lowered_nest *nest)
{
    size_t n = nest->n_axes > 0 ? nest->extents[nest->n_axes - 1] : 0;
    bool has_wide = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        size_t size = mdf_dtype_size((mdf_dtype)step->dtype);

        if (step->kind == MDF_NEST_FOLD ||
            (step->level == nest->n_axes && size < 4 && (step->dtype != MDF_DTYPE_BOOL || step->kind == MDF_NEST_STORE))) {
            return false;
        }
        has_wide = has_wide || (step->kind == MDF_NEST_ELEMENT && step->level == nest->n_axes && size >= 4);
    }
    return has_wide && !nest->is_open && mdf_nest_first_store(nest) != NULL && n % 64 != 0 && n < LONGEST_WITH_REST &&
           mdf_nest_count(nest, 0, nest->n_axes) >= FEWEST_POINTS;
}

static bool loads_truths(const struct lowering *lowering, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    const struct mdf_lowered_value *value = &lowering->lowered->values[step->view.id];

    return step->kind == MDF_NEST_LOAD && step->dtype == MDF_DTYPE_BOOL && step->level == nest->n_axes &&
           step->view.at == MDF_NEST_NONE && step->view.strides[nest->n_axes - 1] != 0 && !value->is_scalar &&
           value->open_axes == 0 && value->form.length <= LONGEST_WIDE;
}

/* Whether nests of a region load so much of an array of truths that all of it may be made int32. */
static bool are_loaded(const struct lowering *lowering, const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;

        for (size_t k = 0; nest != NULL && has_short_rows(nest) && k < nest->n_steps; k++) {
            n += nest->steps[k].view.id == id && loads_truths(lowering, nest, &nest->steps[k])
                     ? mdf_nest_count(nest, 0, nest->n_axes)
                     : 0;
        }
    }
    return lowering->lowered->values[id].form.length <= 2 * n;
}

/* Arrays of truths of a region, the latest ones. */
struct widened {
    mdf_lowered_id ids[MOST_WIDENED], wides[MOST_WIDENED];
    size_t n;
};

/* The same truths as int32, constant where they are, else made by a nest that goes to *maker. NONE: memory ran out. */
static mdf_lowered_id widen(struct lowering *lowering, const struct mdf_lowered_nest *nest, mdf_lowered_id id,
                            struct mdf_lowered_nest **maker)
{
    struct mdf_value form = {0};
    int64_t n = (int64_t)lowering->lowered->values[id].form.length;
    mdf_lowered_id wide = MDF_LOWERED_NONE;
    const struct mdf_nest_view truths = {.id = id, .at = MDF_NEST_NONE};
    struct mdf_nest_view wides = {.at = MDF_NEST_NONE};
    const int64_t stride = 1;
    const struct mdf_nest_step *other = mdf_nest_first_store(nest);
    struct nest_draft *draft;
    uint8_t axis, truth;

    if (lowering_is_constant(lowering, id)) {
        if (mdf_value_convert(lowering->memory, &form, &lowering->lowered->values[id].form, MDF_DTYPE_INT32)) {
            wide = lowering_add_constant(lowering, &form, false);
        }
        mdf_value_clear(lowering->memory, &form);
        return wide;
    }
    wide = wides.id = lowering_add_row(lowering, MDF_DTYPE_INT32, n);
    draft = wide == MDF_LOWERED_NONE ? NULL : draft_new(lowering);
    if (draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    axis = draft_axis(draft, n);
    truth = draft_load_elements(lowering, draft, &truths, 1, &axis, &stride);
    draft_store_elements(lowering, draft, draft_cast(draft, truth, MDF_DTYPE_INT32), &wides, 1, &axis, &stride);
    *maker = draft->has_failed ? NULL : draft_finish(lowering, draft);
    if (*maker == NULL) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[wide].depth = lowering->facts[other->view.id].depth;
    lowering->facts[wide].region = lowering->facts[other->view.id].region;
    return wide;
}

/* The nest, which loads `wide` and compares it with 0 where it loaded `id`; NULL: it can not be. */
static struct mdf_lowered_nest *compare(struct lowering *lowering, const struct mdf_lowered_nest *nest, mdf_lowered_id id,
                                        mdf_lowered_id wide)
{
    struct nest_draft *from = draft_new(lowering), *draft = draft_new(lowering);
    uint8_t numbers[MDF_NEST_MOST_STEPS];

    if (from == NULL || draft == NULL) {
        return NULL;
    }
    draft_read(from, nest);
    draft->n_axes = from->n_axes;
    draft->takes_none = from->takes_none;
    memcpy(draft->extents, from->extents, from->n_axes * sizeof *from->extents);
    for (size_t i = 0; i < nest->n_steps && !from->has_failed && !draft->has_failed; i++) {
        bool is_wide = nest->steps[i].view.id == id && loads_truths(lowering, nest, &nest->steps[i]);
        struct draft_step step = from->steps[i];
        uint8_t in[2];

        mdf_nest_renumber(&step.step, numbers);
        if (is_wide) {
            step.step.dtype = MDF_DTYPE_INT32;
            step.step.view.id = wide;
        }
        numbers[i] = draft_add(draft, &step);
        if (is_wide) {
            in[0] = numbers[i];
            in[1] = draft_number(lowering, draft, MDF_DTYPE_INT32, 0);
            numbers[i] = draft_apply(lowering, draft, MDF_ELEMENT(not_equal), in);
        }
    }
    return from->has_failed || draft->has_failed ? NULL : draft_finish(lowering, draft);
}

/* The same truths as int32, as they are there already, or of a nest that is put in front of op number *at, which keeps it. NONE:
 * memory ran out. */
static mdf_lowered_id find_wide(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at, mdf_lowered_id id,
                                struct widened *widened)
{
    struct mdf_lowered_nest *maker = NULL;
    struct mdf_lowered_op *ops;
    mdf_lowered_id wide;

    for (size_t i = 0; i < widened->n && i < MOST_WIDENED; i++) {
        if (widened->ids[i] == id) {
            return widened->wides[i];
        }
    }
    wide = widen(lowering, region->ops[*at].of.nest, id, &maker);
    if (wide != MDF_LOWERED_NONE && maker != NULL) {
        ops = lowering_insert_ops(lowering, region, *at, 1);
        if (ops == NULL) {
            return MDF_LOWERED_NONE;
        }
        ops[0] = ops[1];
        ops[0].of.nest = maker;
        ++*at;
    }
    widened->ids[widened->n % MOST_WIDENED] = id;
    widened->wides[widened->n++ % MOST_WIDENED] = wide;
    return wide;
}

/* Widens what nest number *at of a region loads, an array at a time; *at stays its number. */
static bool widen_nest(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at, struct widened *widened)
{
    for (size_t i = 0; i < region->ops[*at].of.nest->n_steps && has_short_rows(region->ops[*at].of.nest); i++) {
        const struct mdf_lowered_nest *nest = region->ops[*at].of.nest;
        mdf_lowered_id id = nest->steps[i].view.id, wide;
        struct mdf_lowered_nest *compared;

        if (!loads_truths(lowering, nest, &nest->steps[i]) || !are_loaded(lowering, region, id)) {
            continue;
        }
        wide = find_wide(lowering, region, at, id, widened);
        compared = wide == MDF_LOWERED_NONE ? NULL : compare(lowering, nest, id, wide);
        if (compared == NULL) {
            return !lowering_has_failed(lowering);
        }
        region->ops[*at].of.nest = compared;
        i = SIZE_MAX; /* its steps have other numbers */
    }
    return true;
}

static bool widen_region(struct lowering *lowering, struct mdf_lowered_region *region)
{
    struct widened widened = {.n = 0};

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        bool done = true;

        if (op->code == MDF_LOWERED_LOOP) {
            done = widen_region(lowering, &op->of.loop->body);
        } else if (op->code == MDF_LOWERED_IF) {
            done = widen_region(lowering, &op->of.branches->then) && widen_region(lowering, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_NEST) {
            done = widen_nest(lowering, region, &i, &widened);
        }
        if (!done) {
            return false;
        }
    }
    return true;
}

bool lowering_widen_truths(struct lowering *lowering)
{
    return !lowering->is_for_source || widen_region(lowering, &lowering->lowered->region);
}
