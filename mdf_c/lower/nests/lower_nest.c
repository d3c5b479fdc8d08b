/* lower_nest.c - NEST ops for single calls: operands that repeat along axes, folds. See lowering.h.
 *
 * A nest is made from what is known of the operator, and run on the examples: it stands for the call if it gives the kernel's own
 * result, bit by bit. lower_group.c makes larger nests of these. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/element.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/fold.h"
#include "functions/moves/indexing.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/nest_folds.h"
#include "mdf_c/machine/emit.h"

#include <math.h>
#include <string.h>

enum {
    MOST_POINTS = 1 << 18,   /* of the index space: kernels go through more on several threads */
    MOST_COMPARED = 1 << 22, /* points of nests that are made to see what they give: of more that takes too long */
    LONGEST_FOLD = 4096,     /* elements */
    LONGEST_PARTS = 1024,    /* of a fold that goes on by halves, each part of which is written out */
    LONGEST_REST = 128,
    LONGEST_SEARCH = 32,      /* for the place of an extreme: the kernel goes through a longer row in less */
    LONGEST_OF_SEVERAL = 128, /* and in a loop, where it is called each time */
    LONGEST_IN_ORDER = 10     /* of one row there */
};

/* ------------------------------------------------------------------ the op */

static size_t count_points(const struct nest_draft *draft)
{
    size_t n = 1;

    for (size_t axis = 0; axis < draft->n_axes; axis++) {
        if (!mdf_size_multiply(n, draft->extents[axis], &n)) {
            return SIZE_MAX;
        }
    }
    return n;
}

/* The nest with its values numbered from 0 on, each an example; false: memory ran out. */
static bool stage(struct lowering *lowering, struct mdf_lowered_nest *nest, struct mdf_lowered *stand_in, mdf_lowered_id result)
{
    struct mdf_arena *arena = &lowering->scratch;
    size_t n = nest->n_steps;

    stand_in->context = lowering->lowered->context;
    stand_in->values = mdf_arena_array(arena, n, sizeof *stand_in->values);
    stand_in->arrays = mdf_arena_array(arena, n, sizeof *stand_in->arrays);
    stand_in->cells = mdf_arena_array(arena, n, sizeof *stand_in->cells);
    mdf_arena_init(&stand_in->arena, lowering->memory);
    if (stand_in->values == NULL || stand_in->arrays == NULL || stand_in->cells == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < n; i++) {
        struct mdf_nest_step *step = &nest->steps[i];
        const struct mdf_value *example;

        if (step->kind != MDF_NEST_LOAD && step->kind != MDF_NEST_STORE) {
            continue;
        }
        example = lowering_example(lowering, step->view.id);
        stand_in->values[i] = lowering->lowered->values[step->view.id];
        stand_in->arrays[i] = *example;
        if (step->view.id == result &&
            (stand_in->arrays[i].data =
                 mdf_arena_array(&stand_in->arena, example->length, mdf_dtype_size((mdf_dtype)example->dtype))) == NULL) {
            return lowering_out_of_memory(lowering);
        }
        if (stand_in->values[i].is_scalar && step->view.id != result) {
            memcpy(&stand_in->cells[i], example->data, mdf_dtype_size((mdf_dtype)example->dtype));
        }
        step->view.id = (mdf_lowered_id)i;
    }
    return true;
}

/* Whether the nest gives the example of what it stores in its last step; `makes_it`: that becomes the example. */
static bool agrees(struct lowering *lowering, const struct mdf_lowered_nest *nest, bool makes_it)
{
    struct mdf_lowered_nest copy = *nest;
    struct mdf_lowered stand_in = {0};
    mdf_lowered_id id = nest->steps[nest->n_steps - 1].view.id;
    const struct mdf_value *result = lowering_example(lowering, id);
    bool same;

    copy.steps = mdf_arena_array(&lowering->scratch, nest->n_steps, sizeof *copy.steps);
    if (copy.steps == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(copy.steps, nest->steps, nest->n_steps * sizeof *copy.steps);
    same = stage(lowering, &copy, &stand_in, id) && mdf_lowered_run_nest(&stand_in, &copy) == 0;
    if (same) {
        const void *elements = stand_in.values[nest->n_steps - 1].is_scalar ? (const void *)&stand_in.cells[nest->n_steps - 1]
                                                                            : stand_in.arrays[nest->n_steps - 1].data;

        if (makes_it) {
            memcpy(lowering->facts[id].example.data, elements, result->length * mdf_dtype_size((mdf_dtype)result->dtype));
        }
        same = mdf_elements_same((mdf_dtype)result->dtype, elements, result->data, result->length);
    }
    if (stand_in.arena.has_refused) {
        lowering_out_of_memory(lowering);
    }
    mdf_arena_release(&stand_in.arena);
    return same;
}

/* The deepest region that a value loaded comes from. */
static size_t depth_of(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    size_t depth = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_LOAD && lowering->facts[nest->steps[i].view.id].depth > depth) {
            depth = lowering->facts[nest->steps[i].view.id].depth;
        }
    }
    return depth;
}

/* Whether machine code has vectors of all types: else the kernel is as fast. */
static bool has_vectors(const struct nest_draft *draft)
{
    size_t i;

    for (i = 0; i < draft->n_steps && mdf_machine_has_vectors((mdf_dtype)draft->steps[i].step.dtype); i++) {
    }
    return i == draft->n_steps;
}

static mdf_lowered_id add_nest(struct lowering *lowering, struct nest_draft *draft, uint8_t in, const struct mdf_value *result,
                               bool makes_it, size_t rank, const uint8_t *axes, const int64_t *strides)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
    struct mdf_nest_view view = {.at = MDF_NEST_NONE};
    size_t n_points = count_points(draft);
    struct region *region;
    mdf_lowered_id id;

    if (draft->has_failed || (!lowering->is_for_source && (n_points > MOST_POINTS || !has_vectors(draft)))) {
        return MDF_LOWERED_NONE;
    }
    id = lowering_add_value(lowering, MDF_LOWERED_RESULT, result);
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    view.id = id;
    draft_store_elements(lowering, draft, in, &view, rank, axes, strides);
    op.of.nest = draft_finish(lowering, draft);
    if (op.of.nest == NULL || ((makes_it || n_points <= MOST_COMPARED) && !agrees(lowering, op.of.nest, makes_it))) {
        return MDF_LOWERED_NONE;
    }
    region = lowering_place(lowering, depth_of(lowering, op.of.nest));
    if (!lowering_add_op(lowering, region, &op)) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[id].depth = region->depth;
    lowering->facts[id].region = region;
    lowering->facts[id].is_nested = true;
    return id;
}

mdf_lowered_id lowering_add_nest_of(struct lowering *lowering, struct nest_draft *draft, uint8_t in,
                                    const struct mdf_value *result, size_t rank, const uint8_t *axes, const int64_t *strides)
{
    return add_nest(lowering, draft, in, result, false, rank, axes, strides);
}

mdf_lowered_id lowering_add_computed_nest(struct lowering *lowering, struct nest_draft *draft, uint8_t in, size_t length,
                                          size_t rank, const uint8_t *axes, const int64_t *strides)
{
    mdf_dtype dtype = draft->has_failed ? MDF_DTYPE_NONE : (mdf_dtype)draft->steps[in].step.dtype;
    int64_t n = (int64_t)length;
    struct mdf_value result = {0};
    mdf_lowered_id id;
    void *elements;

    if (draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    elements = mdf_value_make_tensor(lowering->memory, &result, dtype, 1, &n);
    if (elements == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    memset(elements, 0, length * mdf_dtype_size(dtype));
    id = add_nest(lowering, draft, in, &result, true, rank, axes, strides);
    mdf_value_clear(lowering->memory, &result);
    return id;
}

mdf_lowered_id lowering_add_nest(struct lowering *lowering, struct nest_draft *draft, uint8_t in, const struct mdf_value *result,
                                 const uint8_t *axes)
{
    int64_t strides[MDF_INLINE_RANK] = {0};

    mdf_strides(result->rank, mdf_value_shape(result), strides);
    return lowering_add_nest_of(lowering, draft, in, result, result->rank, axes, strides);
}

/* ------------------------------------------------------------------ broadcasting */

mdf_lowered_id lowering_broadcast(struct lowering *lowering, const struct mdf_lowered_op *op, const struct mdf_value *result)
{
    struct nest_draft *draft = draft_new(lowering);
    uint8_t axes[MDF_INLINE_RANK], aligned[MDF_INLINE_RANK], in[MDF_MAX_OPERANDS];

    if (draft == NULL || op->loop == NULL || op->code > MDF_LOWERED_ELEMENTS || result->rank > MDF_INLINE_RANK ||
        result->length <= 1) {
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < result->rank; i++) {
        axes[i] = draft_axis(draft, mdf_value_shape(result)[i]);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        if (!draft_align(lowering_example(lowering, op->in[i]), result, axes, aligned)) {
            return MDF_LOWERED_NONE;
        }
        in[i] = draft_load(lowering, draft, op->in[i], aligned);
    }
    in[0] = draft_element(draft, op, (mdf_dtype)result->dtype, in, (1u << draft->n_axes) - 1);
    return lowering_add_nest(lowering, draft, in[0], result, axes);
}

/* ------------------------------------------------------------------ folds */

/* What a reduction is, in terms of nests. */
struct fold_rule {
    enum mdf_nest_fold fold;
    const struct mdf_fold *of;
};

static bool is_extreme(const struct fold_rule *rule)
{
    return rule->fold >= MDF_NEST_MAXIMUM;
}

/* The fold that combines totals by a function; N_MDF_NEST_FOLDS: there is none. */
static enum mdf_nest_fold find_way(const struct mdf_fold_way *way)
{
    static const struct {
        enum mdf_element_id combine;
        enum mdf_nest_fold fold;
    } ways[] = {{MDF_ELEMENT_add, MDF_NEST_SUM},
                {MDF_ELEMENT_multiply, MDF_NEST_PRODUCT},
                {MDF_ELEMENT_larger, MDF_NEST_MAXIMUM},
                {MDF_ELEMENT_smaller, MDF_NEST_MINIMUM},
                {MDF_ELEMENT_maximum, MDF_NEST_LARGEST},
                {MDF_ELEMENT_minimum, MDF_NEST_SMALLEST},
                {MDF_ELEMENT_logical_or, MDF_NEST_MAXIMUM},
                {MDF_ELEMENT_logical_and, MDF_NEST_MINIMUM}};
    size_t i = 0;

    while (i < sizeof ways / sizeof *ways && way->combine->id != ways[i].combine) {
        i++;
    }
    return i < sizeof ways / sizeof *ways ? ways[i].fold : N_MDF_NEST_FOLDS;
}

bool lowering_fits(const struct trial *trial)
{
    const struct mdf_fold *fold = trial->source->operator->fold;
    const struct mdf_value *like = fold != NULL && fold->fits && trial->n > 1 ? trial->effective[1] : NULL,
                           *result = &trial->results[0];

    return like != NULL && like->kind == MDF_KIND_TENSOR && trial->effective[0]->kind == MDF_KIND_TENSOR &&
           (mdf_dtype_kind((mdf_dtype)like->dtype) == 'f' || like->strength != MDF_STRENGTH_TYPED) &&
           (result->length == trial->effective[0]->length || result->dtype == trial->effective[0]->dtype);
}

/* False: nests do not fold so. */
static bool find_fold(const struct lowering *lowering, const struct trial *trial, struct fold_rule *rule)
{
    *rule = (struct fold_rule){.of = trial->source->operator->fold, .fold = N_MDF_NEST_FOLDS};
    if (rule->of == NULL || (rule->of->fits && !lowering_fits(trial))) {
        return false;
    }
    if (rule->of->result != MDF_FOLD_TOTAL) {
        rule->fold = rule->of->result == MDF_FOLD_PLACE_OF_LARGEST ? MDF_NEST_FIRST_MAXIMUM : MDF_NEST_FIRST_MINIMUM;
        return true;
    }
    rule->fold = find_way(rule->of->way);
    return rule->fold < N_MDF_NEST_FOLDS &&
           (lowering->is_for_source || !rule->of->shifts || lowering->region->kind == REGION_BODY);
}

/* Which dimensions are folded, as a set; false: it is not known before. */
static bool folded_dimensions(struct lowering *lowering, struct trial *trial, size_t rank, unsigned *set)
{
    const struct mdf_fold *fold = trial->source->operator->fold;
    bool reduced[MDF_INLINE_RANK] = {false}, keeps;

    if (rank > MDF_INLINE_RANK || !lowering_has_constants(lowering, trial, 1)) {
        return false;
    }
    if (!fold->axes(&trial->call, rank, reduced, &keeps)) {
        return lowering->execution->context.error.code == MDF_OUT_OF_MEMORY && lowering_out_of_memory(lowering);
    }
    *set = 0;
    for (size_t i = 0; i < rank; i++) {
        *set |= reduced[i] ? 1u << i : 0;
    }
    return true;
}

/* A draft of a fold. The dimensions at the end that are folded are one axis, as they are for the kernel. */
struct folding {
    struct lowering *lowering;
    struct nest_draft *draft;
    uint8_t axes[MDF_INLINE_RANK]; /* of the operand's dimensions; of those that are one, the last one's */
    uint8_t row;                   /* the axis at the end that is folded; DRAFT_NO_AXIS: none */
    bool is_joined;                /* it is that of several dimensions */
    uint8_t outer[MDF_INLINE_RANK];
    size_t n_outer; /* other axes folded */
    size_t n;       /* elements of one total */
    bool widens;    /* elements of float16 or bfloat16, which are made float32 when they are loaded */
};

/* Whether dimensions that are one axis are folded here: a nest that makes what is folded has them as several, and does not become
 * one with this one; and what has one element. In loops a kernel would look at types and shapes each time; elsewhere it is as
 * good. */
static bool may_be_folded(const struct folding *folding)
{
    return (!folding->is_joined && folding->n > 1) || folding->lowering->region->kind == REGION_BODY;
}

static bool plan_fold(struct folding *folding, const struct mdf_value *operand, unsigned set)
{
    const int64_t *shape = mdf_value_shape(operand);
    size_t first_of_row = operand->rank, n_joined = 0;
    int64_t n_row = 1;

    folding->row = DRAFT_NO_AXIS;
    folding->n = 1;
    while (first_of_row > 0 && (shape[first_of_row - 1] == 1 || (set >> (first_of_row - 1) & 1) != 0)) {
        first_of_row--;
        n_joined += shape[first_of_row] != 1;
        n_row *= shape[first_of_row];
    }
    folding->is_joined = n_joined > 1;
    for (size_t d = 0; d < operand->rank; d++) {
        bool is_folded = (set >> d & 1) != 0 && shape[d] != 1, is_last = d + 1 == operand->rank;

        folding->n *= is_folded ? (size_t)shape[d] : 1;
        folding->axes[d] = d >= first_of_row && folding->is_joined ? (is_last ? draft_axis(folding->draft, n_row) : DRAFT_NO_AXIS)
                                                                   : draft_axis(folding->draft, shape[d]);
        if (d >= first_of_row && folding->axes[d] != DRAFT_NO_AXIS) {
            folding->row = folding->axes[d];
        } else if (is_folded && d < first_of_row) {
            folding->outer[folding->n_outer++] = folding->axes[d];
        }
    }
    return folding->lowering->is_for_source || (folding->n <= LONGEST_FOLD && may_be_folded(folding));
}

static uint8_t load_operand(struct folding *folding, mdf_lowered_id id)
{
    const struct mdf_value *form = &folding->lowering->lowered->values[id].form;
    struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};
    int64_t strides[MDF_INLINE_RANK] = {0};

    if (!folding->is_joined) {
        return draft_load(folding->lowering, folding->draft, id, folding->axes);
    }
    mdf_strides(form->rank, mdf_value_shape(form), strides);
    strides[form->rank - 1] = 1;
    return draft_load_elements(folding->lowering, folding->draft, &view, form->rank, folding->axes, strides);
}

static uint8_t apply(struct folding *folding, const struct mdf_element *element, uint8_t a, uint8_t b)
{
    return draft_apply(folding->lowering, folding->draft, element, (const uint8_t[]){a, b});
}

static uint8_t add_constant(struct folding *folding, mdf_dtype dtype, double real)
{
    return draft_number(folding->lowering, folding->draft, dtype, real);
}

/* How a row is folded. */
struct row_order {
    unsigned lanes;
    enum mdf_nest_order order;
    bool goes_on; /* from one row to the next, as if all were one */
};

static enum mdf_nest_order order_of_blocks(size_t n)
{
    return n <= MDF_FOLD_BLOCK ? MDF_NEST_IN_LANES : MDF_NEST_IN_BLOCKS;
}

/* Of a row of n reals; whole numbers are folded in any order. */
static struct row_order find_order(const struct fold_rule *rule, mdf_dtype dtype, mdf_dtype total, size_t n)
{
    bool is_sum = rule->fold == MDF_NEST_SUM && rule->of->way->term == MDF_ELEMENT(kept);

    if (mdf_dtype_kind(total) != 'f' || rule->of->order == MDF_FOLD_IN_ORDER) {
        return (struct row_order){1, MDF_NEST_IN_LANES, mdf_dtype_kind(total) == 'f'};
    }
    if (rule->of->order == MDF_FOLD_PAIRWISE) {
        return n < MDF_FOLD_N_LANES ? (struct row_order){1, MDF_NEST_IN_LANES, false}
                                    : (struct row_order){MDF_FOLD_N_LANES, MDF_NEST_PAIRWISE, false};
    }
    return is_sum && dtype == MDF_DTYPE_FLOAT32 ? (struct row_order){MDF_SUM_PARTS, MDF_NEST_IN_LANES, false}
                                                : (struct row_order){MDF_FOLD_N_LANES, order_of_blocks(n), false};
}

/* Whether machine code folds such a row as fast as the kernel: a rest keeps it from vectors along the row. */
static bool is_fast(struct row_order order, size_t n)
{
    return order.order == MDF_NEST_IN_LANES || n <= LONGEST_REST || (n % order.lanes == 0 && n <= LONGEST_PARTS);
}

/* The folds themselves: along the row, then along the other axes one by one. */
static uint8_t fold_axes(struct folding *folding, enum mdf_nest_fold fold, uint8_t in, struct row_order order)
{
    bool is_real = mdf_dtype_kind((mdf_dtype)folding->draft->steps[in].step.dtype) == 'f';
    bool is_mixed = is_real && folding->n_outer > 0 && (fold == MDF_NEST_MAXIMUM || fold == MDF_NEST_MINIMUM);

    if (folding->n == 1) { /* 0 is added all the same, which makes 0 of -0 */
        return fold == MDF_NEST_SUM && is_real ? apply(folding, MDF_ELEMENT(add), in,
                                                       add_constant(folding, (mdf_dtype)folding->draft->steps[in].step.dtype, 0))
                                               : in;
    }
    if (folding->row != DRAFT_NO_AXIS && order.goes_on) {
        folding->outer[folding->n_outer] = folding->row;
        return draft_fold(folding->draft, fold, in, folding->n_outer + 1, folding->outer, 1);
    }
    if (folding->row != DRAFT_NO_AXIS) {
        folding->draft->has_failed = folding->draft->has_failed || (!folding->lowering->is_for_source &&
                                                                    !is_fast(order, folding->draft->extents[folding->row]));
        in = draft_fold(folding->draft, fold, in, 1, &folding->row, order.lanes);
        folding->draft->steps[in].step.order = (uint8_t)order.order;
        fold = !is_mixed ? fold : fold == MDF_NEST_MAXIMUM ? MDF_NEST_LARGEST : MDF_NEST_SMALLEST;
    }
    return folding->n_outer == 0 ? in : draft_fold(folding->draft, fold, in, folding->n_outer, folding->outer, 1);
}

/* The type of totals: float64 and int64, whose low bits are those of uint64, or that of the result. */
static mdf_dtype total_dtype(const struct fold_rule *rule, mdf_dtype dtype, mdf_dtype result)
{
    bool is_own = is_extreme(rule) && mdf_nest_has_fold(rule->fold, dtype);

    return rule->of->truths                                                             ? MDF_DTYPE_INT32
           : is_own                                                                     ? dtype
           : is_extreme(rule)                                                           ? MDF_DTYPE_INT64
           : rule->of->totals != MDF_FOLD_WIDE && mdf_nest_has_fold(rule->fold, result) ? result
           : mdf_dtype_kind(dtype) == 'f'                                               ? MDF_DTYPE_FLOAT64
                                                                                        : MDF_DTYPE_INT64;
}

/* The largest element, or 0 where that is not finite. Which one of several that are equal does not show: it
 * is found in as many lanes as the sum has, so that both make vectors along the same axes. */
static uint8_t find_shift(struct folding *folding, uint8_t x)
{
    uint8_t in[MDF_MAX_OPERANDS];

    in[1] = fold_axes(folding, MDF_NEST_MAXIMUM, x,
                      folding->row != DRAFT_NO_AXIS ? (struct row_order){MDF_FOLD_N_LANES, MDF_NEST_IN_LANES, false}
                                                    : (struct row_order){1, MDF_NEST_IN_LANES, true});
    in[0] = apply(folding, MDF_ELEMENT(is_finite), in[1], 0);
    in[2] = add_constant(folding, (mdf_dtype)folding->draft->steps[x].step.dtype, 0);
    return draft_apply(folding->lowering, folding->draft, MDF_ELEMENT(select), in);
}

/* What is NaN becomes what changes no extreme; *any: whether some element is a number. */
static uint8_t skip_nan(struct folding *folding, enum mdf_nest_fold fold, uint8_t x, uint8_t *any)
{
    mdf_dtype dtype = (mdf_dtype)folding->draft->steps[x].step.dtype;
    uint8_t in[MDF_MAX_OPERANDS] = {apply(folding, MDF_ELEMENT(equal), x, x), x};

    *any = fold_axes(folding, MDF_NEST_MAXIMUM, draft_cast(folding->draft, in[0], MDF_DTYPE_INT32),
                     (struct row_order){1, MDF_NEST_IN_LANES, true});
    in[2] = add_constant(folding, dtype, fold == MDF_NEST_LARGEST || fold == MDF_NEST_MAXIMUM ? -INFINITY : INFINITY);
    return draft_apply(folding->lowering, folding->draft, MDF_ELEMENT(select), in);
}

/* NaN where no element is a number. */
static uint8_t nan_unless(struct folding *folding, uint8_t any, uint8_t x)
{
    uint8_t in[MDF_MAX_OPERANDS] = {draft_cast(folding->draft, any, MDF_DTYPE_BOOL), x};

    in[2] = add_constant(folding, (mdf_dtype)folding->draft->steps[x].step.dtype, (double)NAN);
    return draft_apply(folding->lowering, folding->draft, MDF_ELEMENT(select), in);
}

static uint8_t finish_total(struct folding *folding, const struct fold_rule *rule, uint8_t total, uint8_t shift)
{
    mdf_dtype dtype = (mdf_dtype)folding->draft->steps[total].step.dtype;

    if (rule->of->divides) {
        total = apply(folding, mdf_dtype_kind(dtype) == 'f' ? MDF_ELEMENT(divide) : MDF_ELEMENT(quotient), total,
                      add_constant(folding, dtype, (double)folding->n));
    }
    if (rule->of->after != MDF_ELEMENT(kept)) {
        total = apply(folding, rule->of->after, draft_cast(folding->draft, total, MDF_DTYPE_FLOAT64), 0);
    }
    return rule->of->shifts ? apply(folding, MDF_ELEMENT(add), total, draft_cast(folding->draft, shift, MDF_DTYPE_FLOAT64))
                            : total;
}

static uint8_t fold_numbers(struct folding *folding, const struct fold_rule *rule, mdf_dtype result, uint8_t in)
{
    struct nest_draft *draft = folding->draft;
    mdf_dtype dtype = (mdf_dtype)draft->steps[in].step.dtype, total = total_dtype(rule, dtype, result);
    const struct mdf_element *term = rule->of->way->term;
    struct row_order order = {1, MDF_NEST_IN_LANES, true};
    bool is_shifted = dtype == MDF_DTYPE_UINT64 && is_extreme(rule) && !rule->of->truths;
    bool skips_nan = rule->of->skips_nan && mdf_dtype_kind(dtype) == 'f';
    uint8_t shift = 0, any = 0;

    if (!mdf_nest_has_fold(rule->fold, total)) {
        draft->has_failed = true;
        return in;
    }
    if (folding->row != DRAFT_NO_AXIS && is_extreme(rule)) { /* in any order, but for which NaN stays */
        order.goes_on = rule->of->order != MDF_FOLD_LANES && mdf_dtype_kind(dtype) == 'f';
        order.lanes = rule->of->order == MDF_FOLD_LANES && mdf_dtype_kind(dtype) == 'f' ? MDF_EXTREME_PARTS : 1;
        order.order = folding->widens ? order_of_blocks(draft->extents[folding->row]) : MDF_NEST_IN_LANES;
    } else if (folding->row != DRAFT_NO_AXIS) {
        order = find_order(rule, folding->widens ? MDF_DTYPE_NONE : dtype, total, draft->extents[folding->row]);
    }
    if (!rule->of->shifts || dtype != MDF_DTYPE_FLOAT32) { /* the exponentials of float32 are of float32 */
        in = draft_cast(draft, rule->of->truths ? draft_cast(draft, in, MDF_DTYPE_BOOL) : in, total);
    }
    if (is_shifted) { /* so that the order of int64 is that of uint64 */
        in = apply(folding, MDF_ELEMENT(add), in, add_constant(folding, total, -0x1p63));
    }
    if (rule->of->shifts) {
        shift = find_shift(folding, in);
        in = apply(folding, MDF_ELEMENT(subtract), in, shift);
    }
    if (term == MDF_ELEMENT(square)) {
        in = apply(folding, MDF_ELEMENT(multiply), in, in);
    } else if (term != MDF_ELEMENT(kept)) {
        in = apply(folding, term, in, 0);
    }
    in = rule->of->shifts ? draft_cast(draft, in, total) : in;
    in = skips_nan ? skip_nan(folding, rule->fold, in, &any) : in;
    in = finish_total(folding, rule, fold_axes(folding, rule->fold, in, order), shift);
    in = skips_nan ? nan_unless(folding, any, in) : in;
    in = is_shifted ? apply(folding, MDF_ELEMENT(add), in, add_constant(folding, total, -0x1p63)) : in;
    if (mdf_dtype_kind(dtype) != 'f' && mdf_dtype_kind((mdf_dtype)draft->steps[in].step.dtype) == 'f' &&
        mdf_dtype_kind(result) != 'f') {
        in = draft_cast(draft, in, MDF_DTYPE_INT64); /* of which all shorter types, and uint64, are low bits */
    }
    return draft_cast(draft, in, result);
}

/* Where the largest or smallest element of a row stands first, or last: the extreme, then which elements it is. NaN is one where
 * any element is. */
static uint8_t find_in_two_passes(struct folding *folding, bool is_largest, bool is_last, uint8_t x)
{
    mdf_dtype dtype = folding->draft->has_failed ? MDF_DTYPE_NONE : (mdf_dtype)folding->draft->steps[x].step.dtype;
    bool is_real = mdf_dtype_kind(dtype) == 'f';
    struct row_order order = {is_real ? MDF_EXTREME_PARTS : 1, MDF_NEST_IN_LANES, false}, any = {1, MDF_NEST_IN_LANES, false};
    uint8_t in[MDF_MAX_OPERANDS], extreme;

    if (folding->draft->has_failed || !mdf_nest_has_fold(is_largest ? MDF_NEST_MAXIMUM : MDF_NEST_MINIMUM, dtype)) {
        folding->draft->has_failed = true;
        return x;
    }
    extreme = fold_axes(folding, is_largest ? MDF_NEST_MAXIMUM : MDF_NEST_MINIMUM, x, order);
    in[0] = apply(folding, MDF_ELEMENT(equal), x, extreme);
    if (is_real) {
        in[0] = apply(folding, MDF_ELEMENT(logical_or), in[0], apply(folding, MDF_ELEMENT(not_equal), x, x));
    }
    in[1] = draft_count(folding->lowering, folding->draft, MDF_DTYPE_INT32, folding->draft->extents[folding->row], folding->row);
    in[2] = add_constant(folding, MDF_DTYPE_INT32, is_last ? -1 : INT32_MAX);
    x = draft_apply(folding->lowering, folding->draft, MDF_ELEMENT(select), in);
    x = fold_axes(folding, is_last ? MDF_NEST_MAXIMUM : MDF_NEST_MINIMUM, x, any);
    return folding->draft->has_failed ? 0 : draft_cast(folding->draft, x, MDF_DTYPE_INT64);
}

/* Whether vectors of a row, gone through twice, take less than its elements one by one, and than the kernel. Rows side by side
 * make vectors across them. */
static bool is_row_of_two_passes(const struct folding *folding)
{
    size_t n = folding->row != DRAFT_NO_AXIS ? folding->draft->extents[folding->row] : 0;

    return !folding->lowering->is_for_source && folding->lowering->region->kind == REGION_BODY && folding->draft->n_axes == 1 &&
           n > LONGEST_IN_ORDER && n <= LONGEST_OF_SEVERAL;
}

/* Where an extreme stands. */
static uint8_t find_place(struct folding *folding, const struct trial *trial, const struct fold_rule *rule, uint8_t in)
{
    size_t longest =
        folding->draft->n_axes > 1 && folding->lowering->region->kind == REGION_BODY ? LONGEST_OF_SEVERAL : LONGEST_SEARCH;
    const int64_t *given = mdf_code_setting(trial->source, "select_last_index");
    bool last = given != NULL && mdf_is_set(*given);
    enum mdf_nest_fold fold = rule->fold;

    if (folding->n_outer == 0 && folding->row == DRAFT_NO_AXIS) { /* of one element */
        return add_constant(folding, MDF_DTYPE_INT64, 0);
    }
    if (is_row_of_two_passes(folding)) {
        return find_in_two_passes(folding, fold == MDF_NEST_FIRST_MAXIMUM, last, in);
    }
    if (last) {
        fold = fold == MDF_NEST_FIRST_MAXIMUM ? MDF_NEST_LAST_MAXIMUM : MDF_NEST_LAST_MINIMUM;
    }
    folding->draft->has_failed = folding->draft->has_failed || folding->n_outer + (folding->row != DRAFT_NO_AXIS) > 1 ||
                                 !mdf_nest_has_fold(fold, (mdf_dtype)folding->draft->steps[in].step.dtype) ||
                                 (folding->row != DRAFT_NO_AXIS && folding->draft->extents[folding->row] > longest &&
                                  !folding->lowering->is_for_source); /* its kernel looks at vectors */
    return fold_axes(folding, fold, in, (struct row_order){1, MDF_NEST_IN_LANES, true});
}

/* Nests that run here fold what there is machine code for. */
static bool may_fold(const struct lowering *lowering, mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    return mdf_dtype_is_real(dtype) || mdf_dtype_is_half(dtype) || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64 ||
           dtype == MDF_DTYPE_BOOL || (lowering->is_for_source && (kind == 'i' || kind == 'u') && mdf_dtype_bits(dtype) >= 8);
}

/* Neither C nor processors have arithmetic of halves. */
static uint8_t widen_halves(struct folding *folding, uint8_t in)
{
    folding->widens = mdf_dtype_is_half((mdf_dtype)folding->draft->steps[in].step.dtype);
    return folding->widens ? draft_cast(folding->draft, in, MDF_DTYPE_FLOAT32) : in;
}

/* Whole numbers whose places are looked for in a wider type, which has all of them in the same order. */
static uint8_t widen_whole(struct folding *folding, uint8_t in)
{
    mdf_dtype dtype = (mdf_dtype)folding->draft->steps[in].step.dtype;

    return mdf_dtype_kind(dtype) != 'i' && mdf_dtype_kind(dtype) != 'u' ? in
           : mdf_dtype_bits(dtype) < 32                                 ? draft_cast(folding->draft, in, MDF_DTYPE_INT32)
           : dtype == MDF_DTYPE_UINT32                                  ? draft_cast(folding->draft, in, MDF_DTYPE_INT64)
                                                                        : in;
}

static mdf_lowered_id add_fold(struct lowering *lowering, struct trial *trial, const struct fold_rule *rule)
{
    const struct mdf_value *operand = trial->effective[0], *result = &trial->results[0];
    struct folding folding = {.lowering = lowering, .draft = draft_new(lowering)};
    unsigned set = 0;
    uint8_t axes[MDF_INLINE_RANK], register_number;
    size_t n = 0;

    if (folding.draft == NULL || operand->length == 0 || !folded_dimensions(lowering, trial, operand->rank, &set) ||
        !may_fold(lowering, (mdf_dtype)operand->dtype) || !plan_fold(&folding, operand, set)) {
        return MDF_LOWERED_NONE;
    }
    register_number = load_operand(&folding, trial->ids[0]);
    register_number = widen_halves(&folding, register_number);
    register_number = rule->of->result != MDF_FOLD_TOTAL
                          ? find_place(&folding, trial, rule, widen_whole(&folding, register_number))
                          : fold_numbers(&folding, rule, (mdf_dtype)result->dtype, register_number);
    for (size_t d = 0; d < operand->rank; d++) { /* dimensions that are left; those of the result are the same, or of size 1 */
        bool is_left = (set >> d & 1) == 0;

        if (is_left || result->rank == operand->rank) {
            axes[n++] = is_left && mdf_value_shape(operand)[d] != 1 ? folding.axes[d] : DRAFT_NO_AXIS;
        }
    }
    return n != result->rank || result->dtype != folding.draft->steps[register_number].step.dtype
               ? MDF_LOWERED_NONE
               : lowering_add_nest(lowering, folding.draft, register_number, result, axes);
}

/* The total of one element, as an op on scalars; NONE: it is not made. (C source has nests for them, too.) */
static mdf_lowered_id fold_one(struct lowering *lowering, struct trial *trial, const struct fold_rule *rule)
{
    static const double zero = 0;
    const struct mdf_value *operand = trial->effective[0], *result = &trial->results[0];
    const struct mdf_fold *fold = rule->of;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_COPY, .dtype = operand->dtype, .n_in = 1, .in = {trial->ids[0]}};
    struct mdf_value nothing = {0};

    if (lowering->is_for_source || operand->length != 1 || result->length != 1 || result->dtype != operand->dtype ||
        fold->result != MDF_FOLD_TOTAL || fold->way->term != MDF_ELEMENT(kept) || fold->after != MDF_ELEMENT(kept) ||
        fold->shifts || !lowering->lowered->values[trial->ids[0]].is_scalar || !lowering_has_constants(lowering, trial, 1)) {
        return MDF_LOWERED_NONE;
    }
    if (rule->fold == MDF_NEST_SUM && operand->dtype == MDF_DTYPE_FLOAT64) { /* which makes 0 of -0 */
        mdf_value_borrow_tensor(lowering->memory, &nothing, MDF_DTYPE_FLOAT64, (enum mdf_strength)result->strength, 0, NULL,
                                &zero);
        op.code = MDF_LOWERED_ADD;
        op.n_in = 2;
        op.in[1] = lowering_add_constant(lowering, &nothing, false);
        return lowering_add_element_op(lowering, op, result);
    }
    return is_extreme(rule) && operand->dtype == MDF_DTYPE_FLOAT64 ? lowering_add_element_op(lowering, op, result)
                                                                   : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ calls */

bool lowering_try_nest(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    struct fold_rule rule;
    mdf_lowered_id id = MDF_LOWERED_NONE;

    *taken = false;
    if (trial->n == 0 || trial->ids[0] == MDF_LOWERED_NONE || trial->source->n_outputs != 1 || trial->outputs[0] == NULL ||
        trial->results[0].kind != MDF_KIND_TENSOR || trial->effective[0]->kind != MDF_KIND_TENSOR) {
        return true;
    }
    if (find_fold(lowering, trial, &rule)) {
        id = fold_one(lowering, trial, &rule);
        id = id == MDF_LOWERED_NONE && !lowering_has_failed(lowering) ? add_fold(lowering, trial, &rule) : id;
    } else {
        id = lowering_multiply(lowering, trial);
        id = id == MDF_LOWERED_NONE && !lowering_has_failed(lowering) ? lowering_einsum(lowering, trial) : id;
    }
    *taken = id != MDF_LOWERED_NONE;
    return *taken ? lowering_bind(lowering, scope, trial->source->outputs[0], id) : !lowering_has_failed(lowering);
}
