/* lower_values.c - values, ops and regions of a lowered form under construction. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include <string.h>

bool lowering_has_failed(const struct lowering *lowering)
{
    return lowering->refusal.reason != MDF_REFUSED_NOT;
}

bool lowering_fail(struct lowering *lowering, enum mdf_refusal_reason reason)
{
    if (!lowering_has_failed(lowering)) {
        /* A kernel or conversion that was refused memory may fail for that reason. */
        if (lowering->execution->context.error.code == MDF_OUT_OF_MEMORY) {
            reason = MDF_REFUSED_OUT_OF_MEMORY;
        }
        lowering->refusal = (struct mdf_refusal){reason, lowering->operator, lowering->origin, ""};
    }
    return false;
}

bool lowering_fail_about(struct lowering *lowering, enum mdf_refusal_reason reason, const struct mdf_value *value,
                         const struct mdf_value *becomes)
{
    bool is_first = !lowering_has_failed(lowering);
    char *detail = lowering->refusal.detail;
    size_t length;

    lowering_fail(lowering, reason);
    if (is_first) {
        mdf_value_describe(value, detail, MDF_REFUSAL_DETAIL / 2);
    }
    if (is_first && becomes != NULL) {
        length = strlen(detail);
        memcpy(detail + length, ", then ", sizeof ", then ");
        length += sizeof ", then " - 1;
        mdf_value_describe(becomes, detail + length, MDF_REFUSAL_DETAIL - length);
    }
    return false;
}

bool lowering_out_of_memory(struct lowering *lowering)
{
    return lowering_fail(lowering, MDF_REFUSED_OUT_OF_MEMORY);
}

/* ------------------------------------------------------------------ values */

static bool grow_values(struct lowering *lowering)
{
    struct mdf_lowered *lowered = lowering->lowered;
    size_t capacity = lowering->capacity < 16 ? 32 : 2 * lowering->capacity;
    struct mdf_lowered_value *values = mdf_arena_array(&lowered->arena, capacity, sizeof *values);
    struct fact *facts = mdf_arena_array(&lowering->scratch, capacity, sizeof *facts);

    if (values == NULL || facts == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (lowered->n_values > 0) {
        memcpy(values, lowered->values, lowered->n_values * sizeof *values);
        memcpy(facts, lowering->facts, lowered->n_values * sizeof *facts);
    }
    lowered->values = values;
    lowering->facts = facts;
    lowering->capacity = capacity;
    return true;
}

static mdf_lowered_id new_value(struct lowering *lowering, enum mdf_lowered_place place)
{
    struct mdf_lowered *lowered = lowering->lowered;
    mdf_lowered_id id = (mdf_lowered_id)lowered->n_values;

    if ((lowered->n_values == lowering->capacity && !grow_values(lowering)) || lowered->n_values >= MDF_LOWERED_NONE - 1) {
        return MDF_LOWERED_NONE;
    }
    lowered->values[id].place = (uint8_t)place;
    lowered->values[id].name = lowering->name;
    lowered->n_values++;
    return id;
}

/* A scalar has to fit its cell. */
static bool is_too_wide(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->length == 1 && mdf_dtype_size((mdf_dtype)value->dtype) > sizeof(uint64_t);
}

mdf_lowered_id lowering_add_value(struct lowering *lowering, enum mdf_lowered_place place, const struct mdf_value *example)
{
    struct mdf_value *form;
    mdf_lowered_id id;

    if (example->kind != MDF_KIND_TENSOR || example->dtype == MDF_DTYPE_STRING || example->rank > MDF_INLINE_RANK) {
        bool is_numbers = example->kind == MDF_KIND_TENSOR && example->dtype != MDF_DTYPE_STRING;

        lowering_fail_about(lowering, is_numbers ? MDF_REFUSED_MANY_AXES : MDF_REFUSED_NO_NUMBERS, example, NULL);
        return MDF_LOWERED_NONE;
    }
    if (is_too_wide(example)) {
        lowering_fail_about(lowering, MDF_REFUSED_WIDE_NUMBER, example, NULL);
        return MDF_LOWERED_NONE;
    }
    id = new_value(lowering, place);
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    if (place != MDF_LOWERED_RESULT) { /* what it is an example of stays as it is */
        lowering->facts[id].example = *example;
        lowering->facts[id].example.buffer = NULL;
    } else if (!mdf_value_copy(lowering->memory, &lowering->facts[id].example, example)) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    form = &lowering->lowered->values[id].form;
    *form = *example;
    form->data = NULL;
    form->buffer = NULL;
    lowering->lowered->values[id].is_scalar = example->length == 1;
    return id;
}

mdf_lowered_id lowering_add_scalar(struct lowering *lowering, enum mdf_lowered_place place, mdf_dtype dtype, size_t depth)
{
    const uint64_t element = 0;
    struct mdf_value example = {0};
    mdf_lowered_id id;

    mdf_value_borrow_tensor(lowering->memory, &example, dtype, MDF_STRENGTH_TYPED, 0, NULL, &element);
    id = lowering_add_value(lowering, place, &example);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = depth;
    }
    return id;
}

mdf_lowered_id lowering_add_like(struct lowering *lowering, enum mdf_lowered_place place, mdf_lowered_id like, size_t depth)
{
    struct mdf_value example = *lowering_example(lowering, like);
    mdf_lowered_id id;

    example.buffer = NULL;
    id = lowering_add_value(lowering, place, &example);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = depth;
    }
    return id;
}

mdf_lowered_id lowering_add_row(struct lowering *lowering, mdf_dtype dtype, int64_t n)
{
    struct mdf_value example = {0};
    void *elements = mdf_value_make_tensor(lowering->memory, &example, dtype, 1, &n);
    mdf_lowered_id id;

    if (elements == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    memset(elements, 0, (size_t)n * mdf_dtype_size(dtype));
    id = lowering_add_value(lowering, MDF_LOWERED_RESULT, &example);
    mdf_value_clear(lowering->memory, &example);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].is_nested = true;
    }
    return id;
}

mdf_lowered_id lowering_add_placeholder(struct lowering *lowering, const struct mdf_value *example)
{
    mdf_lowered_id id = new_value(lowering, MDF_LOWERED_PARAMETER);

    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].example = *example;
        lowering->facts[id].example.buffer = NULL;
        lowering->lowered->values[id].form = (struct mdf_value){.kind = example->kind, .dtype = example->dtype};
    }
    return id;
}

mdf_lowered_id lowering_add_constant(struct lowering *lowering, const struct mdf_value *value, bool keeps)
{
    mdf_lowered_id id = is_too_wide(value) ? MDF_LOWERED_NONE : new_value(lowering, MDF_LOWERED_CONSTANT);
    struct mdf_lowered_value *constant;
    void *elements;

    if (id == MDF_LOWERED_NONE) {
        lowering_fail(lowering, MDF_REFUSED_WIDE_NUMBER); /* unless memory was refused */
        return id;
    }
    constant = &lowering->lowered->values[id];
    constant->form = *value;
    constant->form.buffer = NULL;
    constant->is_scalar = value->kind == MDF_KIND_TENSOR && value->length == 1 && value->dtype != MDF_DTYPE_STRING;
    if (!keeps) {
        elements = mdf_arena_allocate(&lowering->lowered->arena, value->length * mdf_dtype_size((mdf_dtype)value->dtype));
        if (elements == NULL) {
            lowering_out_of_memory(lowering);
            return MDF_LOWERED_NONE;
        }
        memcpy(elements, value->data, value->length * mdf_dtype_size((mdf_dtype)value->dtype));
        constant->form.data = elements;
    }
    return id;
}

struct mdf_value *lowering_keep_value(struct lowering *lowering)
{
    struct mdf_lowered_kept *kept = mdf_arena_allocate(&lowering->lowered->arena, sizeof *kept);

    if (kept == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    kept->next = lowering->lowered->kept; /* of a list that is made in part, that part too is released with them */
    lowering->lowered->kept = kept;
    return &kept->value;
}

mdf_lowered_id lowering_any_constant(struct lowering *lowering)
{
    static const bool no = false;
    struct mdf_value value = {0};

    if (!lowering->has_any) {
        mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &no);
        lowering->any = lowering_add_constant(lowering, &value, false);
        lowering->has_any = lowering->any != MDF_LOWERED_NONE;
    }
    return lowering->any;
}

mdf_lowered_id lowering_keep_constant(struct lowering *lowering, const struct mdf_value *value)
{
    struct mdf_value *kept = lowering_keep_value(lowering);

    if (kept == NULL) {
        return MDF_LOWERED_NONE;
    }
    if (!mdf_value_copy_apart(lowering->memory, kept, value)) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    return lowering_add_constant(lowering, kept, true);
}

const struct mdf_value *lowering_example(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering_is_constant(lowering, id) ? &lowering->lowered->values[id].form : &lowering->facts[id].example;
}

bool lowering_is_constant(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering->lowered->values[id].place == MDF_LOWERED_CONSTANT;
}

bool lowering_is_true(const struct lowering *lowering, mdf_lowered_id id)
{
    return *(const bool *)lowering_example(lowering, id)->data;
}

mdf_lowered_id lowering_begin(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *later)
{
    struct mdf_value typed;

    if (!lowering->begins_typed || id == MDF_LOWERED_NONE || !lowering_is_constant(lowering, id)) {
        return id;
    }
    typed = *lowering_example(lowering, id);
    if (typed.dtype != MDF_DTYPE_FLOAT64 || typed.strength != MDF_STRENGTH_LITERAL || later->strength != MDF_STRENGTH_TYPED) {
        return id;
    }
    typed.strength = MDF_STRENGTH_TYPED;
    return mdf_value_has_form_of(&typed, later) ? lowering_add_constant(lowering, &typed, true) : id;
}

/* ------------------------------------------------------------------ ops */

struct region *lowering_place(struct lowering *lowering, size_t depth)
{
    struct region *region = lowering->region;

    while (region->kind == REGION_BODY && region->depth > depth) {
        region = region->outer;
    }
    return region;
}

bool lowering_add_op(struct lowering *lowering, struct region *region, const struct mdf_lowered_op *op)
{
    if (region->n_ops == region->capacity) {
        size_t capacity = region->capacity < 8 ? 16 : 2 * region->capacity;
        struct mdf_lowered_op *ops = mdf_arena_array(&lowering->lowered->arena, capacity, sizeof *ops);

        if (ops == NULL) {
            return lowering_out_of_memory(lowering);
        }
        if (region->n_ops > 0) {
            memcpy(ops, region->ops, region->n_ops * sizeof *ops);
        }
        region->ops = ops;
        region->capacity = capacity;
    }
    region->ops[region->n_ops] = *op;
    region->ops[region->n_ops++].origin = lowering->origin;
    return true;
}

struct mdf_lowered_op *lowering_insert_ops(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, size_t n)
{
    struct mdf_lowered_op *ops = mdf_arena_array(&lowering->lowered->arena, region->n_ops + n, sizeof *ops);

    if (ops == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    if (region->n_ops > 0) {
        memcpy(ops, region->ops, at * sizeof *ops);
        memcpy(ops + at + n, region->ops + at, (region->n_ops - at) * sizeof *ops);
    }
    region->ops = ops;
    region->n_ops += n;
    return ops + at;
}

bool lowering_for_loops(struct lowering *lowering, struct mdf_lowered_region *region, lowering_visit_loop visit)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_IF && !(lowering_for_loops(lowering, &op->of.branches->then, visit) &&
                                            lowering_for_loops(lowering, &op->of.branches->otherwise, visit))) {
            return false;
        }
        if (op->code == MDF_LOWERED_LOOP &&
            !(lowering_for_loops(lowering, &op->of.loop->body, visit) && visit(lowering, region, &i))) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}

static mdf_lowered_id add_op_in(struct lowering *lowering, struct region *region, struct mdf_lowered_op op,
                                const struct mdf_value *example)
{
    op.out = lowering_add_value(lowering, MDF_LOWERED_RESULT, example);
    if (op.out == MDF_LOWERED_NONE || !lowering_add_op(lowering, region, &op)) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[op.out].depth = region->depth;
    lowering->facts[op.out].region = region;
    lowering->facts[op.out].is_copied = op.code == MDF_LOWERED_COPY || op.code == MDF_LOWERED_PUT;
    return op.out;
}

/* Chooses by a truth itself, and the other way round, where the condition is what `not` makes of it: one operation less, and a
 * comparison that nobody else reads is made where it is needed. */
static void choose_by_truth(const struct lowering *lowering, struct mdf_lowered_op *select)
{
    const struct region *region = lowering->facts[select->in[0]].region;
    size_t i = region != NULL ? region->n_ops : 0;
    mdf_lowered_id other = select->in[1];

    while (i > 0 && region->ops[i - 1].out != select->in[0]) {
        i--;
    }
    if (i > 0 && region->ops[i - 1].code == MDF_LOWERED_NOT && region->ops[i - 1].dtype == MDF_DTYPE_BOOL) {
        select->in[0] = region->ops[i - 1].in[0];
        select->in[1] = select->in[2];
        select->in[2] = other;
    }
}

mdf_lowered_id lowering_add_element_op(struct lowering *lowering, struct mdf_lowered_op op, const struct mdf_value *example)
{
    size_t depth = 0;

    for (size_t i = 0; i < op.n_in; i++) {
        if (op.in[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
        depth = lowering->facts[op.in[i]].depth > depth ? lowering->facts[op.in[i]].depth : depth;
    }
    if (op.code == MDF_LOWERED_SELECT) {
        choose_by_truth(lowering, &op);
    }
    return add_op_in(lowering, lowering_place(lowering, depth), op, example);
}

bool lowering_casts(mdf_dtype dtype)
{
    return mdf_dtype_is_real(dtype) || dtype == MDF_DTYPE_BOOL ||
           ((mdf_dtype_kind(dtype) == 'i' || mdf_dtype_kind(dtype) == 'u') && mdf_dtype_bits(dtype) >= 8);
}

bool lowering_casts_elements(mdf_dtype from, mdf_dtype to)
{
    return from == to || (lowering_casts(from) && lowering_casts(to));
}

bool lowering_cuts_to(mdf_dtype dtype)
{
    return mdf_dtype_is_real(dtype) || dtype == MDF_DTYPE_BOOL || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64 ||
           dtype == MDF_DTYPE_UINT64;
}

bool lowering_has_cast(mdf_dtype from, mdf_dtype to)
{
    return lowering_casts_elements(from, to) || (mdf_dtype_is_half(from) && (mdf_dtype_is_half(to) || lowering_cuts_to(to))) ||
           (mdf_dtype_is_half(to) && lowering_casts(from) && (mdf_dtype_is_real(from) || mdf_dtype_size(from) < 8));
}

mdf_dtype lowering_real_between(mdf_dtype from, mdf_dtype to)
{
    return mdf_dtype_is_half(from)                                                              ? MDF_DTYPE_FLOAT32
           : mdf_dtype_is_half(to) && (mdf_dtype_kind(from) == 'b' || mdf_dtype_size(from) < 8) ? MDF_DTYPE_FLOAT64
                                                                                                : MDF_DTYPE_NONE;
}

/* Whether one CAST does it. Of halves those to float32 do, and those from wider reals. */
static bool casts_directly(mdf_dtype from, mdf_dtype to)
{
    return (lowering_casts(from) && lowering_casts(to) && (!mdf_dtype_is_real(from) || lowering_cuts_to(to))) ||
           (mdf_dtype_is_half(from) && to == MDF_DTYPE_FLOAT32) || (mdf_dtype_is_half(to) && mdf_dtype_is_real(from));
}

/* Whether it is a constant of real numbers, which is converted here and now. */
static bool converts_constant(const struct lowering *lowering, mdf_lowered_id id, mdf_dtype to)
{
    return lowering_is_constant(lowering, id) && mdf_dtype_has_order((mdf_dtype)lowering_example(lowering, id)->dtype) &&
           mdf_dtype_has_order(to);
}

bool lowering_can_cast(const struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype)
{
    mdf_dtype from = (mdf_dtype)lowering_example(lowering, id)->dtype;

    return from == dtype || converts_constant(lowering, id, dtype) || casts_directly(from, dtype) ||
           lowering_real_between(from, dtype) != MDF_DTYPE_NONE;
}

mdf_lowered_id lowering_cast(struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype)
{
    return lowering_cast_by(lowering, id, dtype, NULL);
}

mdf_lowered_id lowering_cast_by(struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype,
                                const struct mdf_operator *operator)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CAST, .n_in = 1, .in = {id}, .operator= operator};
    mdf_lowered_id result = MDF_LOWERED_NONE;
    struct mdf_value converted = {0};
    const struct mdf_value *example;

    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    example = lowering_example(lowering, id);
    if (example->dtype == dtype) {
        return id;
    }
    op.dtype = example->dtype;
    if (!converts_constant(lowering, id, dtype) && !casts_directly((mdf_dtype)example->dtype, dtype)) {
        mdf_dtype between = lowering_real_between((mdf_dtype)example->dtype, dtype);

        if (between != MDF_DTYPE_NONE) {
            return lowering_cast_by(lowering, lowering_cast(lowering, id, between), dtype, operator);
        }
        lowering_fail(lowering, MDF_REFUSED_CONVERSION);
        return MDF_LOWERED_NONE;
    }
    if (!mdf_value_convert(lowering->memory, &converted, example, dtype)) {
        lowering_out_of_memory(lowering);
    } else {
        converted.strength = example->strength;
        result = lowering_is_constant(lowering, id) || converted.length == 0 ? lowering_add_constant(lowering, &converted, false)
                                                                             : lowering_add_element_op(lowering, op, &converted);
    }
    mdf_value_clear(lowering->memory, &converted);
    return result;
}

mdf_lowered_id lowering_copy(struct lowering *lowering, mdf_lowered_id id, uint8_t strength)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_COPY, .n_in = 1, .in = {id}};
    struct mdf_value example;

    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    example = *lowering_example(lowering, id);
    example.buffer = NULL;
    example.strength = strength;
    op.dtype = example.dtype;
    return add_op_in(lowering, lowering->region, op, &example);
}

mdf_lowered_id lowering_as_strong(struct lowering *lowering, mdf_lowered_id id, uint8_t strength)
{
    return id == MDF_LOWERED_NONE || lowering_example(lowering, id)->strength == strength ? id
                                                                                          : lowering_copy(lowering, id, strength);
}

mdf_lowered_id lowering_copy_with_axis(struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *example = lowering_example(lowering, id);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_COPY, .dtype = example->dtype, .n_in = 1, .in = {id}};
    int64_t shape[MDF_INLINE_RANK];
    struct mdf_value with_axis = {0};

    if (example->rank >= MDF_INLINE_RANK) {
        lowering_fail(lowering, MDF_REFUSED_MANY_AXES);
        return MDF_LOWERED_NONE;
    }
    shape[0] = 1;
    memcpy(shape + 1, mdf_value_shape(example), example->rank * sizeof *shape);
    mdf_value_borrow_tensor(lowering->memory, &with_axis, (mdf_dtype)example->dtype, (enum mdf_strength)example->strength,
                            (size_t)example->rank + 1, shape, example->data);
    return add_op_in(lowering, lowering->region, op, &with_axis);
}

mdf_lowered_id lowering_add_joined(struct lowering *lowering, const struct mdf_value *example)
{
    mdf_lowered_id id = lowering_add_value(lowering, MDF_LOWERED_RESULT, example);

    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = lowering->region->depth;
        lowering->facts[id].region = lowering->region;
        lowering->facts[id].is_merged = true;
    }
    return id;
}

mdf_lowered_id lowering_add_merge(struct lowering *lowering, mdf_lowered_id then, mdf_lowered_id otherwise)
{
    const struct mdf_value *example;

    if (then == MDF_LOWERED_NONE || otherwise == MDF_LOWERED_NONE || lowering->lowered->values[then].open_axes != 0 ||
        lowering->lowered->values[otherwise].open_axes != 0) { /* as long as each run makes them, and so not of one form */
        return MDF_LOWERED_NONE;
    }
    example = lowering_example(lowering, then);
    if (!mdf_value_has_form_of(example, lowering_example(lowering, otherwise))) {
        return MDF_LOWERED_NONE;
    }
    return lowering_add_joined(lowering, example);
}

mdf_lowered_id lowering_truth(struct lowering *lowering, mdf_lowered_id id)
{
    if (id != MDF_LOWERED_NONE && !lowering->lowered->values[id].is_scalar) {
        lowering_fail(lowering, MDF_REFUSED_CONDITION_OF_SEVERAL);
        return MDF_LOWERED_NONE;
    }
    return lowering_cast(lowering, id, MDF_DTYPE_BOOL);
}

/* 1 / 0 as Python has it. */
bool lowering_bail_out(struct lowering *lowering)
{
    static const double one = 1, zero = 0;
    const double *const elements[2] = {&one, &zero};
    struct mdf_lowered_op op = {.code = MDF_LOWERED_DIVIDE_NONZERO, .dtype = MDF_DTYPE_FLOAT64, .n_in = 2};
    struct mdf_value value = {0};

    for (int i = 0; i < 2; i++) {
        mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, elements[i]);
        op.in[i] = lowering_add_constant(lowering, &value, false);
        if (op.in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return add_op_in(lowering, lowering->region, op, &value) != MDF_LOWERED_NONE;
}

bool lowering_bail_out_if(struct lowering *lowering, mdf_lowered_id truth)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE};
    struct mdf_lowered_if *branches;
    struct region region;

    if (truth == MDF_LOWERED_NONE) {
        return false;
    }
    if (lowering_is_constant(lowering, truth) && !lowering_is_true(lowering, truth)) {
        return true;
    }
    branches = mdf_arena_allocate(&lowering->lowered->arena, sizeof *branches);
    if (branches == NULL) {
        return lowering_out_of_memory(lowering);
    }
    branches->condition = truth;
    op.of.branches = branches;
    lowering_begin_region(lowering, &region, REGION_BRANCH);
    return lowering_bail_out(lowering) && lowering_end_region(lowering, &branches->then) &&
           lowering_add_op(lowering, lowering->region, &op);
}

/* ------------------------------------------------------------------ regions */

void lowering_begin_region(struct lowering *lowering, struct region *region, enum region_kind kind)
{
    *region = (struct region){.outer = lowering->region,
                              .kind = kind,
                              .depth = lowering->region->depth + 1,
                              .holds = MDF_LOWERED_NONE,
                              .fails = MDF_LOWERED_NONE};
    lowering->region = region;
}

bool lowering_end_region(struct lowering *lowering, struct mdf_lowered_region *result)
{
    struct region *region = lowering->region;

    lowering->region = region->outer;
    if (!lowering_complete_region(lowering, region)) {
        return false;
    }
    *result = (struct mdf_lowered_region){region->ops, region->n_ops};
    return true;
}
