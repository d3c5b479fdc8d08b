/* lower_open.c - values whose shapes change from one run of a loop to the next: what comes of a state that grows. Calls of
 * kernels read them as they are in each run; which axes are open is what differs between two examples, of two runs. See
 * lowering.h. */
#include "mdf_c/lower/trial.h"

#include "functions/kernel/coerce.h"

#include <string.h>

/* The axes whose sizes differ, as bits; all, where it is not one form otherwise. */
static uint8_t find_open_axes(const struct mdf_value *a, const struct mdf_value *b)
{
    uint8_t bits = 0;

    if (a->kind != MDF_KIND_TENSOR || b->kind != MDF_KIND_TENSOR || a->dtype != b->dtype || a->strength != b->strength ||
        a->rank != b->rank || a->rank > MDF_INLINE_RANK) {
        return UINT8_MAX;
    }
    for (size_t axis = 0; axis < a->rank; axis++) {
        bits |= (uint8_t)((mdf_value_shape(a)[axis] != mdf_value_shape(b)[axis]) << axis);
    }
    return bits;
}

static void open_axes(struct lowering *lowering, mdf_lowered_id id, uint8_t bits)
{
    struct mdf_lowered_value *value = &lowering->lowered->values[id];

    for (size_t axis = 0; axis < value->form.rank; axis++) {
        value->form.shape.sizes[axis] = (bits >> axis & 1) != 0 ? 0 : value->form.shape.sizes[axis];
    }
    value->open_axes = bits;
    if (bits != 0) {
        value->form.length = 0;
        value->is_scalar = false;
        lowering->facts[id].is_open = true;
    }
}

bool lowering_open(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *other)
{
    const struct mdf_value *example = lowering_example(lowering, id);
    struct mdf_value as_strong = *other;
    uint8_t bits;

    as_strong.strength = example->strength;
    bits = find_open_axes(example, &as_strong);
    if (bits >> example->rank != 0) {
        return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_STATE, example, other);
    }
    open_axes(lowering, id, bits);
    return mdf_value_copy(lowering->memory, &lowering->facts[id].other, &as_strong) || lowering_out_of_memory(lowering);
}

/* ------------------------------------------------------------------ states that grow */

/* One array behind another, along an axis behind axes of length 1. */
static bool join(struct lowering *lowering, const struct mdf_value *first, const struct mdf_value *second, size_t axis,
                 struct mdf_value *whole)
{
    size_t size = mdf_dtype_size((mdf_dtype)first->dtype);
    int64_t shape[MDF_INLINE_RANK];
    char *elements;

    memcpy(shape, mdf_value_shape(first), first->rank * sizeof *shape);
    shape[axis] += mdf_value_shape(second)[axis];
    elements = mdf_value_make_tensor(lowering->memory, whole, (mdf_dtype)first->dtype, first->rank, shape);
    if (elements == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (first->length > 0) {
        memcpy(elements, first->data, first->length * size);
    }
    memcpy(elements + first->length * size, second->data, second->length * size);
    whole->strength = first->strength;
    return true;
}

/* A call in the body's own region that looks at the stack of the state, with its results' two examples. */
static mdf_lowered_id add_look(struct lowering *lowering, const struct growth *growth, const mdf_lowered_id *inputs, size_t n,
                               const struct mdf_value *example, const struct mdf_value *other)
{
    struct seen_state *seen = growth->seen;
    const struct mdf_call form = {.n_inputs = n, .n_outputs = 1, .context = &lowering->execution->context};
    struct mdf_lowered_call *call = lowering_make_call(lowering, &form, inputs);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CALL, .out = MDF_LOWERED_NONE, .of.call = call};
    mdf_lowered_id id;
    size_t axis;

    if (call == NULL) {
        return MDF_LOWERED_NONE;
    }
    id = call->outputs[0] = lowering_add_value(lowering, MDF_LOWERED_RESULT, example);
    if (id == MDF_LOWERED_NONE || !lowering_add_op(lowering, seen->region, &op)) {
        return MDF_LOWERED_NONE;
    }
    seen->calls[n == 0 ? 0 : 1] = call;
    lowering->facts[id].depth = seen->region->depth;
    lowering->facts[id].region = seen->region;
    lowering->facts[id].is_view = true;
    lowering->facts[id].is_bounded = true;
    if (!lowering_open(lowering, id, other)) {
        return MDF_LOWERED_NONE;
    }
    axis = lowering_open_axis(&lowering->lowered->values[id]);
    if (!lowering->facts[growth->initial].is_open && axis < MDF_INLINE_RANK) { /* the example is that of the first run */
        lowering->facts[id].least = mdf_value_shape(lowering_example(lowering, id))[axis];
    }
    return id;
}

/* As the run finds the state. */
static mdf_lowered_id look_before(struct lowering *lowering, const struct growth *growth, const struct mdf_value *before)
{
    struct seen_state *seen = growth->seen;
    struct mdf_value example = {0}, other = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (!growth->is_turned) {
        return add_look(lowering, growth, NULL, 0, before, seen->next);
    }
    if (lowering_move_first(lowering, before, growth->axis, &example) &&
        lowering_move_first(lowering, seen->next, growth->axis, &other)) {
        id = add_look(lowering, growth, NULL, 0, &example, &other);
        seen->moved_back[0] = lowering_move_back(lowering, seen->region, id, growth->axis);
    }
    mdf_value_clear(lowering->memory, &example);
    mdf_value_clear(lowering->memory, &other);
    return id;
}

mdf_lowered_id lowering_item_behind(struct lowering *lowering, const struct growth *growth)
{
    struct region *inner = lowering->region;

    if (!growth->is_turned) {
        return growth->item;
    }
    if (growth->seen->turned_from != growth->item) {
        growth->seen->turned_from = growth->item;
        lowering->region = growth->seen->region;
        growth->seen->turned_item = lowering_move_axis(lowering, growth->item, growth->axis, 0);
        lowering->region = inner;
    }
    return growth->seen->turned_item;
}

/* With its item, which lies behind it along that axis. */
static mdf_lowered_id look_behind(struct lowering *lowering, const struct growth *growth)
{
    struct seen_state *seen = growth->seen;
    const mdf_lowered_id inputs[] = {seen->before, lowering_item_behind(lowering, growth)};
    const struct mdf_value *item = inputs[1] == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, inputs[1]);
    size_t axis = growth->is_turned ? 0 : growth->axis;
    struct mdf_value example = {0}, other = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (item != NULL && join(lowering, lowering_example(lowering, seen->before), item, axis, &example) &&
        join(lowering, &lowering->facts[seen->before].other, item, axis, &other)) {
        id = add_look(lowering, growth, inputs, 2, &example, &other);
        seen->moved_back[1] = growth->is_turned ? lowering_move_back(lowering, seen->region, id, growth->axis) : id;
    }
    mdf_value_clear(lowering->memory, &example);
    mdf_value_clear(lowering->memory, &other);
    return id;
}

/* Whether an item is there in the body's own region. */
static bool is_item_there(const struct lowering *lowering, const struct growth *growth)
{
    const struct fact *item = &lowering->facts[growth->item];

    return item->depth < growth->seen->region->depth ||
           (item->depth == growth->seen->region->depth && (item->region == NULL || item->region == growth->seen->region));
}

static bool has_call(const struct region *region, const struct mdf_lowered_call *call)
{
    for (size_t i = region->n_ops; i-- > 0;) {
        if (region->ops[i].code == MDF_LOWERED_CALL && region->ops[i].of.call == call) {
            return true;
        }
    }
    return false;
}

void lowering_forget_looks(struct seen_state *seen)
{
    if (seen->before != MDF_LOWERED_NONE && !has_call(seen->region, seen->calls[0])) {
        seen->before = MDF_LOWERED_NONE;
    }
    if (seen->after != MDF_LOWERED_NONE && (seen->before == MDF_LOWERED_NONE || !has_call(seen->region, seen->calls[1]))) {
        seen->after = seen->turned_from = MDF_LOWERED_NONE;
    }
}

mdf_lowered_id lowering_look_at_state(struct lowering *lowering, mdf_lowered_id state)
{
    const struct growth *growth = lowering->facts[state].growth;
    struct seen_state *seen = growth->seen;
    const struct mdf_value *before = lowering_example(lowering, state);

    if (seen != NULL) {
        lowering_forget_looks(seen);
    }
    if (seen != NULL && seen->before == MDF_LOWERED_NONE) {
        seen->before = look_before(lowering, growth, before);
    }
    if (seen != NULL && seen->before != MDF_LOWERED_NONE && growth->item == MDF_LOWERED_NONE) {
        return growth->is_turned ? seen->moved_back[0] : seen->before;
    }
    if (seen != NULL && seen->before != MDF_LOWERED_NONE && seen->after == MDF_LOWERED_NONE && is_item_there(lowering, growth)) {
        seen->after = look_behind(lowering, growth);
        seen->item = growth->item;
    }
    if (seen == NULL || seen->after == MDF_LOWERED_NONE || seen->item != growth->item) {
        lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
        return MDF_LOWERED_NONE;
    }
    return seen->moved_back[1];
}

mdf_lowered_id lowering_operand(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = lowering_any_value_of(lowering, scope, operand);

    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_optional) {
        lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, lowering_example(lowering, id), NULL);
        return MDF_LOWERED_NONE;
    }
    if (id != MDF_LOWERED_NONE && lowering->facts[id].growth != NULL) {
        id = lowering_look_at_state(lowering, id);
    }
    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open && lowering->is_for_source && !lowering->facts[id].is_bounded) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    return id;
}

/* ------------------------------------------------------------------ what comes of them */

static bool has_others(const struct trial *trial)
{
    for (size_t i = 0; i < trial->n; i++) {
        if (trial->others[i] != NULL) {
            return true;
        }
    }
    return false;
}

static bool run_kernel(struct lowering *lowering, const struct trial *trial, struct trial *other)
{
    for (size_t i = 0; i < trial->n; i++) {
        other->given[i] = other->effective[i] = trial->others[i] != NULL ? trial->others[i] : trial->given[i];
    }
    if (trial->source->signature != NULL &&
        !mdf_coerce_inputs(&other->call, trial->source->signature, other->given, other->effective, other->converted)) {
        return false;
    }
    if (!lowering_run_trial(lowering, other)) {
        return false;
    }
    if (trial->source->signature != NULL && trial->is_weak) {
        mdf_weaken_outputs(&other->call);
    }
    return true;
}

/* Whether the results are of one form, but for some axes. */
static bool compare(const struct trial *trial, const struct trial *other, struct other_results *others)
{
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] == NULL) {
            continue;
        }
        others->open_axes[i] = find_open_axes(&trial->results[i], &other->results[i]);
        if (others->open_axes[i] >> trial->results[i].rank != 0) {
            return false;
        }
        others->is_open = others->is_open || others->open_axes[i] != 0;
    }
    return true;
}

static bool begin_others(struct lowering *lowering, const struct trial *trial, struct other_results *others)
{
    size_t n = trial->source->n_outputs;

    others->examples = mdf_arena_array(&lowering->scratch, n, sizeof *others->examples);
    others->open_axes = mdf_arena_array(&lowering->scratch, n, sizeof *others->open_axes);
    return (others->examples != NULL && others->open_axes != NULL) || lowering_out_of_memory(lowering);
}

/* Another example of each result: as it is. */
static bool copy_results(struct lowering *lowering, const struct trial *trial, struct other_results *others)
{
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] != NULL && !mdf_value_copy(lowering->memory, &others->examples[i], &trial->results[i])) {
            return lowering_out_of_memory(lowering);
        }
    }
    others->is_there = true;
    return true;
}

/* A result that has had another shape is open along the axes in which that differs; the other example has its sizes there. */
static bool open_result(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_surprise *surprise,
                        struct other_results *others)
{
    const struct mdf_value *result = &trial->results[surprise->output];
    struct mdf_value *other = &others->examples[surprise->output], opened = {0};
    uint8_t *open = &others->open_axes[surprise->output];
    int64_t shape[MDF_INLINE_RANK];
    void *elements;

    memcpy(shape, mdf_value_shape(other), result->rank * sizeof *shape);
    for (size_t d = 0; d < result->rank; d++) {
        if (surprise->shape[d] != mdf_value_shape(result)[d] && (*open >> d & 1) == 0) {
            shape[d] = surprise->shape[d];
            *open |= (uint8_t)(1u << d);
        }
    }
    others->is_open = others->is_open || *open != 0;
    elements = mdf_value_make_tensor(lowering->memory, &opened, (mdf_dtype)result->dtype, result->rank, shape);
    if (elements == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(elements, 0, opened.length * mdf_dtype_size((mdf_dtype)result->dtype));
    opened.strength = result->strength;
    mdf_value_swap(other, &opened);
    mdf_value_clear(lowering->memory, &opened);
    return true;
}

/* What earlier runs were surprised by, of this call. */
static bool open_results(struct lowering *lowering, const struct trial *trial, struct other_results *others)
{
    for (size_t i = 0; i < lowering->n_surprises; i++) {
        const struct mdf_lowered_surprise *surprise = &lowering->surprises[i];
        const struct mdf_value *result = surprise->source != trial->source ? NULL : &trial->results[surprise->output];

        if (result == NULL || trial->outputs[surprise->output] == NULL || result->kind != MDF_KIND_TENSOR ||
            result->dtype == MDF_DTYPE_STRING || result->rank != surprise->rank) {
            continue;
        }
        if (others->examples == NULL && !begin_others(lowering, trial, others)) {
            return false;
        }
        if ((!others->is_there && !copy_results(lowering, trial, others)) || !open_result(lowering, trial, surprise, others)) {
            return false;
        }
    }
    return true;
}

static bool is_in_body(const struct lowering *lowering)
{
    const struct region *region = lowering->region;

    while (region != NULL && region->kind != REGION_BODY) {
        region = region->outer;
    }
    return region != NULL;
}

/* C source has no open axes: a loop in which results of a call have several shapes is refused as one, and may be written out. */
static bool refuse_surprises(struct lowering *lowering, const struct trial *trial)
{
    for (size_t i = 0; i < lowering->n_surprises; i++) {
        if (lowering->surprises[i].source == trial->source && is_in_body(lowering)) {
            return lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        }
    }
    return true;
}

static bool run_others(struct lowering *lowering, const struct trial *trial, struct other_results *others)
{
    struct trial other = {.source = trial->source};
    size_t n = trial->source->n_outputs;

    *others = (struct other_results){.is_open = trial->is_open};
    if (!has_others(trial)) {
        return true;
    }
    if (!begin_others(lowering, trial, others)) {
        return false;
    }
    others->is_there =
        lowering_begin_trial(lowering, &other) && run_kernel(lowering, trial, &other) && compare(trial, &other, others);
    for (size_t i = 0; others->is_there && i < n; i++) {
        mdf_value_swap(&others->examples[i], &other.results[i]);
    }
    lowering_end_trial(lowering, &other);
    others->is_open = others->is_there ? others->is_open : trial->is_open;
    return others->is_there || (!lowering_has_failed(lowering) && !trial->is_open) ||
           lowering_fail(lowering, MDF_REFUSED_FAILING_CALL);
}

bool lowering_run_others(struct lowering *lowering, const struct trial *trial, struct other_results *others)
{
    if (run_others(lowering, trial, others) &&
        (lowering->is_for_source ? refuse_surprises(lowering, trial) : open_results(lowering, trial, others))) {
        return true;
    }
    for (size_t i = 0; others->examples != NULL && i < trial->source->n_outputs; i++) {
        mdf_value_clear(lowering->memory, &others->examples[i]);
    }
    return false;
}

bool lowering_note_others(struct lowering *lowering, struct scope *scope, const struct trial *trial, struct other_results *others)
{
    for (size_t i = 0; others->is_there && i < trial->source->n_outputs; i++) {
        mdf_lowered_id id = trial->outputs[i] == NULL || lowering_has_failed(lowering)
                                ? MDF_LOWERED_NONE
                                : lowering_any_value_of(lowering, scope, trial->source->outputs[i]);

        if (id != MDF_LOWERED_NONE && !lowering_is_constant(lowering, id) && lowering->facts[id].other.kind == MDF_KIND_NONE) {
            open_axes(lowering, id, others->open_axes[i]);
            mdf_value_swap(&lowering->facts[id].other, &others->examples[i]);
        }
        mdf_value_clear(lowering->memory, &others->examples[i]);
    }
    return !lowering_has_failed(lowering);
}
