/* widen.c - see lanes.h. Goes through the ops of a narrow form once, in their order, and adds those that do the same for all
 * lanes. */
#include "mdf_c/lower/lanes/widening.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* ------------------------------------------------------------------ values */

bool mdf_lanes_form(const struct mdf_value *narrow, size_t n_lanes, int64_t *shape)
{
    if (narrow->rank >= MDF_INLINE_RANK) {
        return false;
    }
    memcpy(shape, mdf_value_shape(narrow), narrow->rank * sizeof *shape);
    shape[narrow->rank] = (int64_t)n_lanes;
    return true;
}

bool widening_has_lanes(const struct widening *widening, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && !widening->lowering->lowered->values[id].is_scalar;
}

mdf_lowered_id widening_value(struct widening *widening, mdf_lowered_id narrow)
{
    const struct mdf_lowered_value *value;

    if (narrow == MDF_LOWERED_NONE) {
        return narrow;
    }
    value = &widening->narrow->values[narrow];
    if (widening->ids[narrow] == MDF_LOWERED_NONE && value->place == MDF_LOWERED_CONSTANT) {
        widening->ids[narrow] = lowering_add_constant(widening->lowering, &value->form, true);
    }
    if (widening->ids[narrow] == MDF_LOWERED_NONE) {
        lowering_fail(widening->lowering, MDF_REFUSED_NOT_ALWAYS_THERE);
    }
    return widening->ids[narrow];
}

mdf_lowered_id widening_add_shape(struct widening *widening, enum mdf_lowered_place place, const struct mdf_value *form,
                                  size_t rank, const int64_t *shape)
{
    struct lowering *lowering = widening->lowering;
    struct mdf_value example = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (mdf_value_make_tensor(lowering->memory, &example, (mdf_dtype)form->dtype, rank, shape) == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    if (example.length > 0) {
        memset(example.data, 0, example.length * mdf_dtype_size((mdf_dtype)example.dtype));
    }
    example.strength = rank == form->rank ? form->strength : (uint8_t)MDF_STRENGTH_TYPED;
    id = lowering_add_value(lowering, place, &example);
    if (id != MDF_LOWERED_NONE && place != MDF_LOWERED_RESULT) {
        lowering->facts[id].example.data = NULL; /* of which nobody has a look at the elements */
    }
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = lowering->region->depth;
        lowering->facts[id].region = lowering->region;
    }
    mdf_value_clear(lowering->memory, &example);
    return id;
}

/* A value of a form, all zeros as an example. */
static mdf_lowered_id add_of_form(struct widening *widening, enum mdf_lowered_place place, const struct mdf_value *form,
                                  bool varies)
{
    int64_t shape[MDF_INLINE_RANK + 1];

    if (!mdf_lanes_form(form, widening->n_lanes, shape)) {
        lowering_fail(widening->lowering, MDF_REFUSED_MANY_AXES);
        return MDF_LOWERED_NONE;
    }
    return widening_add_shape(widening, place, form, form->rank + (varies ? 1u : 0u), shape);
}

mdf_lowered_id widening_add(struct widening *widening, enum mdf_lowered_place place, mdf_lowered_id narrow)
{
    const struct mdf_lowered_value *value = &widening->narrow->values[narrow];
    bool varies = widening->request->varies[narrow];
    mdf_lowered_id id;

    if (value->open_axes != 0 && varies) {
        lowering_fail(widening->lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    widening->lowering->name = value->name;
    id = add_of_form(widening, place, &value->form, varies);
    widening->lowering->name = NULL;
    if (id != MDF_LOWERED_NONE) {
        widening->lowering->lowered->values[id].open_axes = value->open_axes;
        widening->lowering->lowered->values[id].form.length =
            varies ? widening->lowering->lowered->values[id].form.length : value->form.length;
        widening->lowering->lowered->values[id].is_scalar = !varies && value->is_scalar;
    }
    widening->ids[narrow] = id;
    return id;
}

mdf_lowered_id widening_add_like(struct widening *widening, mdf_lowered_id narrow, bool varies)
{
    return add_of_form(widening, MDF_LOWERED_RESULT, &widening->narrow->values[narrow].form, varies);
}

bool widening_add_op(struct widening *widening, const struct mdf_lowered_op *op)
{
    struct lowering *lowering = widening->lowering;

    if (op->out != MDF_LOWERED_NONE) {
        lowering->facts[op->out].is_copied = op->code == MDF_LOWERED_COPY || op->code == MDF_LOWERED_PUT;
    }
    lowering->origin = op->origin;
    return lowering_add_op(lowering, lowering->region, op);
}

mdf_lowered_id widening_copy(struct widening *widening, mdf_lowered_id id)
{
    const struct mdf_value form = widening->lowering->lowered->values[id].form;
    const struct mdf_lowered_op op = {
        .code = MDF_LOWERED_COPY,
        .dtype = form.dtype,
        .n_in = 1,
        .in = {id},
        .out = widening_add_shape(widening, MDF_LOWERED_RESULT, &form, form.rank, mdf_value_shape(&form))};

    return op.out != MDF_LOWERED_NONE && widening_add_op(widening, &op) ? op.out : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ numbers */

static mdf_lowered_id add_number(struct widening *widening, enum mdf_lowered_place place, mdf_dtype dtype, bool has_lanes)
{
    const struct mdf_value form = {.kind = MDF_KIND_TENSOR, .dtype = (uint8_t)dtype, .strength = MDF_STRENGTH_TYPED, .length = 1};

    return add_of_form(widening, place, &form, has_lanes);
}

mdf_lowered_id widening_add_number(struct widening *widening, mdf_dtype dtype, bool has_lanes)
{
    return add_number(widening, MDF_LOWERED_RESULT, dtype, has_lanes);
}

mdf_lowered_id widening_add_parameter(struct widening *widening, mdf_dtype dtype)
{
    return add_number(widening, MDF_LOWERED_PARAMETER, dtype, true);
}

mdf_lowered_id widening_add_loop_number(struct widening *widening)
{
    return add_number(widening, MDF_LOWERED_PARAMETER, MDF_DTYPE_INT64, false);
}

mdf_lowered_id widening_compute(struct widening *widening, const struct mdf_lowered_op *source, mdf_dtype result)
{
    struct mdf_lowered_op op = *source;
    bool has_lanes = false;
    mdf_lowered_id narrow;

    for (size_t i = 0; i < op.n_in; i++) {
        if (op.in[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
        has_lanes = has_lanes || widening_has_lanes(widening, op.in[i]);
    }
    narrow = has_lanes ? widening_in_float32(widening, &op, result) : MDF_LOWERED_NONE;
    if (narrow != MDF_LOWERED_NONE) {
        return narrow;
    }
    if (op.loop == NULL && op.code != MDF_LOWERED_CAST && op.code != MDF_LOWERED_FUNCTION) {
        op.loop = lowering_loop_of((enum mdf_lowered_code)op.code, (mdf_dtype)op.dtype);
        op.loop_settings = NULL;
        if (op.loop == NULL && has_lanes) {
            lowering_fail(widening->lowering, MDF_REFUSED_NOT_SAID);
            return MDF_LOWERED_NONE;
        }
    }
    op.out = widening_add_number(widening, result, has_lanes);
    return op.out != MDF_LOWERED_NONE && widening_add_op(widening, &op) ? op.out : MDF_LOWERED_NONE;
}

mdf_lowered_id widening_compute_two(struct widening *widening, enum mdf_lowered_code code, mdf_dtype dtype, mdf_lowered_id a,
                                    mdf_lowered_id b)
{
    const struct mdf_lowered_op op = {.code = (uint8_t)code, .dtype = (uint8_t)dtype, .n_in = 2, .in = {a, b}};

    return widening_compute(widening, &op,
                            code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL ? MDF_DTYPE_BOOL : dtype);
}

mdf_lowered_id widening_and(struct widening *widening, mdf_lowered_id a, mdf_lowered_id b)
{
    return a == MDF_LOWERED_NONE   ? b
           : b == MDF_LOWERED_NONE ? a
                                   : widening_compute_two(widening, MDF_LOWERED_AND, MDF_DTYPE_BOOL, a, b);
}

mdf_lowered_id widening_not(struct widening *widening, mdf_lowered_id a)
{
    const struct mdf_lowered_op op = {.code = MDF_LOWERED_NOT, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {a}};

    return widening_compute(widening, &op, MDF_DTYPE_BOOL);
}

/* ------------------------------------------------------------------ ops */

/* What an op reads, as it is in the wide form. */
static bool widen_inputs(struct widening *widening, struct mdf_lowered_op *op)
{
    for (size_t i = 0; i < op->n_in; i++) {
        op->in[i] = widening_value(widening, op->in[i]);
        if (op->in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* The same op on other values. */
static bool copy_element_op(struct widening *widening, const struct mdf_lowered_op *source)
{
    struct mdf_lowered_op op = *source;

    if (!widen_inputs(widening, &op)) {
        return false;
    }
    op.out = widening_add(widening, MDF_LOWERED_RESULT, source->out);
    return op.out != MDF_LOWERED_NONE && widening_add_op(widening, &op);
}

static bool widen_number(struct widening *widening, const struct mdf_lowered_op *source)
{
    mdf_dtype result = (mdf_dtype)widening->narrow->values[source->out].form.dtype;
    struct mdf_lowered_op op = *source;

    if (!widen_inputs(widening, &op)) {
        return false;
    }
    if (op.code == MDF_LOWERED_COPY) { /* as one of the functions of elements, which become one nest */
        op.code = MDF_LOWERED_CAST;
        op.dtype = (uint8_t)result;
    }
    widening->ids[source->out] = mdf_lanes_may_bail_out(widening->narrow, source)
                                     ? widening_compute_trapped(widening, &op, result)
                                     : widening_compute(widening, &op, result);
    return widening->ids[source->out] != MDF_LOWERED_NONE;
}

mdf_lowered_id widening_with_lanes(struct widening *widening, mdf_lowered_id narrow)
{
    mdf_lowered_id id = widening_value(widening, narrow);

    return id == MDF_LOWERED_NONE || widening_varies(widening, narrow) ? id : widening_spread(widening, id, narrow);
}

/* At one place for all of them. */
static bool widen_put(struct widening *widening, const struct mdf_lowered_op *source)
{
    struct mdf_lowered_put *put = mdf_arena_allocate(&widening->lowering->lowered->arena, sizeof *put);
    bool varies = widening_varies(widening, source->out);
    struct mdf_lowered_op op = *source;

    if (put == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    if (widening_varies(widening, source->in[2])) {
        return lowering_fail(widening->lowering, MDF_REFUSED_LANES_PLACE);
    }
    *put = *source->of.put;
    put->is_in_place = false;
    for (size_t i = 0; varies && i < put->n_indices; i++) {
        put->steps[i] *= (int64_t)widening->n_lanes;
    }
    op.of.put = put;
    for (size_t i = 0; i < 2; i++) {
        op.in[i] = varies ? widening_with_lanes(widening, source->in[i]) : widening_value(widening, source->in[i]);
    }
    op.in[2] = widening_value(widening, source->in[2]);
    op.out = widening_add(widening, MDF_LOWERED_RESULT, source->out);
    return op.in[0] != MDF_LOWERED_NONE && op.in[1] != MDF_LOWERED_NONE && op.in[2] != MDF_LOWERED_NONE &&
           op.out != MDF_LOWERED_NONE && widening_add_op(widening, &op);
}

/* ------------------------------------------------------------------ IF */

/* Both sides, one behind the other. */
static bool choose_branches(struct widening *widening, const struct mdf_lowered_if *branches)
{
    mdf_lowered_id around = widening->mask, condition = widening_value(widening, branches->condition);

    if (condition == MDF_LOWERED_NONE) {
        return false;
    }
    if (branches->then.n_ops > 0) {
        widening->mask = widening_and(widening, around, condition);
        if (widening->mask == MDF_LOWERED_NONE || !widening_region(widening, &branches->then)) {
            return false;
        }
    }
    if (branches->otherwise.n_ops > 0) {
        widening->mask = widening_and(widening, around, widening_not(widening, condition));
        if (widening->mask == MDF_LOWERED_NONE || !widening_region(widening, &branches->otherwise)) {
            return false;
        }
    }
    widening->mask = around;
    for (size_t i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];

        if (!widening_needs(widening, merge->out)) {
            continue;
        }
        widening->ids[merge->out] = widening_choose(widening, condition, merge->then, merge->otherwise, merge->out);
        if (widening->ids[merge->out] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* One side of a condition that is the same for all; `results`: what it leaves for each merge, then the lanes that have bailed
 * out. */
static bool widen_side(struct widening *widening, const struct mdf_lowered_if *source, bool is_then, bool has_traps,
                       struct mdf_lowered_region *side, mdf_lowered_id *results)
{
    mdf_lowered_id before = widening->traps;
    struct region region;
    size_t i;

    lowering_begin_region(widening->lowering, &region, REGION_BRANCH);
    if (!widening_region(widening, is_then ? &source->then : &source->otherwise)) {
        return false;
    }
    for (i = 0; i < source->n_merges; i++) {
        mdf_lowered_id id = is_then ? source->merges[i].then : source->merges[i].otherwise;

        if (!widening_needs(widening, source->merges[i].out)) {
            continue;
        }
        results[i] =
            widening_varies(widening, source->merges[i].out) ? widening_with_lanes(widening, id) : widening_value(widening, id);
        if (results[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    results[i] = has_traps ? widening->traps : MDF_LOWERED_NONE;
    widening->traps = before;
    return lowering_end_region(widening->lowering, side);
}

static bool keep_branches(struct widening *widening, const struct mdf_lowered_op *source)
{
    const struct mdf_lowered_if *from = source->of.branches;
    struct lowering *lowering = widening->lowering;
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_if *branches = mdf_arena_allocate(arena, sizeof *branches);
    mdf_lowered_id *results = mdf_arena_array(&lowering->scratch, 2 * (from->n_merges + 1), sizeof *results);
    bool has_traps = widening_may_trap(widening, &from->then, widening->mask != MDF_LOWERED_NONE) ||
                     widening_may_trap(widening, &from->otherwise, widening->mask != MDF_LOWERED_NONE);
    struct mdf_lowered_op op = *source;
    size_t n = from->n_merges;

    if (branches == NULL || results == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *branches = (struct mdf_lowered_if){.condition = widening_value(widening, from->condition)};
    branches->merges = mdf_arena_array(arena, n + 1, sizeof *branches->merges);
    if (branches->merges == NULL || branches->condition == MDF_LOWERED_NONE) {
        return branches->merges != NULL || lowering_out_of_memory(lowering);
    }
    if (has_traps && !widening_begin_traps(widening)) {
        return false;
    }
    if (!widen_side(widening, from, true, has_traps, &branches->then, results) ||
        !widen_side(widening, from, false, has_traps, &branches->otherwise, results + n + 1)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct mdf_lowered_merge *merge = &branches->merges[branches->n_merges];

        if (!widening_needs(widening, from->merges[i].out)) {
            continue;
        }
        *merge = (struct mdf_lowered_merge){widening_add(widening, MDF_LOWERED_RESULT, from->merges[i].out), results[i],
                                            results[n + 1 + i]};
        if (merge->out == MDF_LOWERED_NONE) {
            return false;
        }
        lowering->facts[merge->out].is_merged = true;
        branches->n_merges++;
    }
    if (has_traps) {
        branches->merges[branches->n_merges] =
            (struct mdf_lowered_merge){widening_add_number(widening, MDF_DTYPE_BOOL, true), results[n], results[2 * n + 1]};
        widening->traps = branches->merges[branches->n_merges].out;
        if (widening->traps == MDF_LOWERED_NONE) {
            return false;
        }
        lowering->facts[widening->traps].is_merged = true;
        branches->n_merges++;
    }
    op.of.branches = branches;
    return widening_add_op(widening, &op);
}

/* ------------------------------------------------------------------ regions */

bool widening_may_trap(const struct widening *widening, const struct mdf_lowered_region *region, bool is_masked)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;
        bool varies = op->code == MDF_LOWERED_IF     ? widening_varies(widening, op->of.branches->condition)
                      : op->code == MDF_LOWERED_LOOP ? mdf_lanes_has_own_bounds(op->of.loop, widening->request->varies)
                                                     : op->out != MDF_LOWERED_NONE && widening_varies(widening, op->out);

        if (op->out != MDF_LOWERED_NONE && mdf_lanes_may_bail_out(widening->narrow, op) && (varies || is_masked)) {
            return true;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (widening_may_trap(widening, inner, is_masked || varies)) {
                return true;
            }
        }
    }
    return false;
}

static bool widen_op(struct widening *widening, const struct mdf_lowered_op *op)
{
    bool is_number;

    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        return widening_call(widening, op);
    case MDF_LOWERED_NEST:
        return !mdf_lanes_needs_nest(op->of.nest, widening->request->needed) || widening_nest(widening, op);
    case MDF_LOWERED_IF:
        return widening_varies(widening, op->of.branches->condition) ? choose_branches(widening, op->of.branches)
                                                                     : keep_branches(widening, op);
    case MDF_LOWERED_LOOP:
        return widening_loop(widening, op);
    case MDF_LOWERED_PUT:
        return widen_put(widening, op);
    default: /* of elements */
        if (!widening_needs(widening, op->out)) {
            return true;
        }
        is_number = widening->narrow->values[op->out].is_scalar;
        if (!widening_varies(widening, op->out)) {
            return widening->mask != MDF_LOWERED_NONE && is_number && mdf_lanes_may_bail_out(widening->narrow, op)
                       ? widen_number(widening, op)
                       : copy_element_op(widening, op);
        }
        return is_number ? widen_number(widening, op) : copy_element_op(widening, op);
    }
}

bool widening_region(struct widening *widening, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        if (!widen_op(widening, &region->ops[i])) {
            return lowering_fail(widening->lowering, MDF_REFUSED_NOT_SAID);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the whole */

static bool add_inputs(struct widening *widening)
{
    const struct mdf_lowered *narrow = widening->narrow;

    for (size_t i = 0; i < narrow->n_inputs; i++) {
        mdf_lowered_id id;

        if (!widening_needs(widening, narrow->inputs[i])) {
            continue;
        }
        if (narrow->values[narrow->inputs[i]].is_list) {
            return lowering_fail(widening->lowering, MDF_REFUSED_NO_NUMBERS);
        }
        id = widening_add(widening, MDF_LOWERED_INPUT, narrow->inputs[i]);
        if (id == MDF_LOWERED_NONE) {
            return false;
        }
        widening->lowering->facts[id].depth = 0;
        widening->lowering->facts[id].region = NULL;
        widening->lowering->lowered->values[id].source = widening->request->inputs[i];
    }
    return true;
}

static void add_output(struct widening *widening, struct mdf_value *slot, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = widening->lowering->lowered;

    lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = slot, .id = id};
    widening->lowering->facts[id].n_outputs++;
}

static bool add_outputs(struct widening *widening)
{
    const struct mdf_lowered *narrow = widening->narrow;
    struct mdf_lowered *lowered = widening->lowering->lowered;

    lowered->outputs = mdf_arena_array(&lowered->arena, narrow->n_outputs + 1, sizeof *lowered->outputs);
    if (lowered->outputs == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < narrow->n_outputs; i++) {
        mdf_lowered_id id;

        if (widening->request->outputs[i] == NULL) {
            continue;
        }
        if (narrow->outputs[i].is_list) {
            return lowering_fail(widening->lowering, MDF_REFUSED_NO_NUMBERS);
        }
        id = widening_value(widening, narrow->outputs[i].id);
        if (id == MDF_LOWERED_NONE) {
            return false;
        }
        add_output(widening, widening->request->outputs[i], id);
    }
    if (widening->traps != MDF_LOWERED_NONE) {
        if (!widening_begin_traps(widening)) {
            return false;
        }
        add_output(widening, widening->request->traps, widening->traps);
    }
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        uint8_t place = lowered->values[lowered->outputs[i].id].place;

        lowered->outputs[i].gives = (place == MDF_LOWERED_RESULT || place == MDF_LOWERED_PARAMETER) &&
                                    widening->lowering->facts[lowered->outputs[i].id].n_outputs == 1;
    }
    return true;
}

static bool widen(struct lowering *lowering, const void *opaque)
{
    const struct mdf_lanes_request *request = opaque;
    struct widening widening = {.lowering = lowering,
                                .request = request,
                                .narrow = request->narrow,
                                .n_lanes = request->n_lanes,
                                .mask = MDF_LOWERED_NONE,
                                .traps = MDF_LOWERED_NONE};
    struct region whole = {0};
    bool done;

    widening.ids = mdf_arena_array(&lowering->scratch, request->narrow->n_values + 1, sizeof *widening.ids);
    if (widening.ids == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(widening.ids, 0xff, (request->narrow->n_values + 1) * sizeof *widening.ids);
    lowering->region = &whole;
    done = add_inputs(&widening) && widening_region(&widening, &request->narrow->region) && add_outputs(&widening);
    lowering->region = NULL;
    if (!done || !lowering_group(lowering, &whole)) {
        return false;
    }
    lowering->lowered->region = (struct mdf_lowered_region){whole.ops, whole.n_ops};
    return lowering_finish(lowering);
}

struct mdf_lowered *mdf_lower_lanes(const struct mdf_lanes_request *request, struct mdf_refusal *refusal)
{
    struct lowering lowering = {.execution = request->execution, .memory = request->execution->context.memory};

    return lowering_make(&lowering, widen, request, refusal);
}
