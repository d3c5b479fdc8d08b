/* nest_draft.c - see nest_draft.h. */
#include "mdf_c/lower/nests/nest_draft.h"

#include "functions/elements/element.h"
#include "functions/elements/where.h"
#include "functions/moves/indexing.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

/* Room for n steps in all; false: there is none. */
static bool make_room(struct nest_draft *draft, size_t n)
{
    size_t capacity = 2 * n < 16 ? 16 : 2 * n;
    struct draft_step *grown;

    if (n <= draft->capacity || n > MDF_NEST_MOST_STEPS) {
        return n <= MDF_NEST_MOST_STEPS;
    }
    grown = mdf_arena_array(draft->arena, capacity, sizeof *grown);
    if (grown == NULL) { /* the arena knows, and who owns it asks */
        return false;
    }
    if (draft->n_steps > 0) {
        memcpy(grown, draft->steps, draft->n_steps * sizeof *grown);
    }
    draft->steps = grown;
    draft->capacity = capacity;
    return true;
}

struct nest_draft *draft_new(struct lowering *lowering)
{
    struct nest_draft *draft = mdf_arena_allocate(&lowering->scratch, sizeof *draft);

    if (draft != NULL) {
        draft->arena = &lowering->scratch;
    }
    if (draft == NULL || !make_room(draft, 1)) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    return draft;
}

uint8_t draft_axis(struct nest_draft *draft, int64_t extent)
{
    if (extent == 1) {
        return DRAFT_NO_AXIS;
    }
    if (draft->n_axes == MDF_NEST_MOST_AXES) {
        draft->has_failed = true;
        return DRAFT_NO_AXIS;
    }
    draft->extents[draft->n_axes] = (size_t)extent;
    return (uint8_t)draft->n_axes++;
}

static bool same_view(const struct mdf_nest_view *a, const struct mdf_nest_view *b)
{
    return a->id == b->id && a->first == b->first && a->at == b->at && a->at_stride == b->at_stride &&
           a->at_limit == b->at_limit && a->cuts == b->cuts && memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

static void copy_draft(struct nest_draft *draft, const struct nest_draft *from)
{
    draft->n_axes = from->n_axes;
    memcpy(draft->extents, from->extents, sizeof draft->extents);
    draft->is_open = from->is_open;
    draft->open_axis = from->open_axis;
    draft->takes_none = from->takes_none;
    draft->has_failed = from->has_failed || !make_room(draft, from->n_steps + 1);
    draft->n_steps = draft->has_failed ? 0 : from->n_steps;
    memcpy(draft->steps, from->steps, draft->n_steps * sizeof *draft->steps);
}

uint8_t draft_add(struct nest_draft *draft, const struct draft_step *step)
{
    for (size_t i = 0; step->step.kind == MDF_NEST_LOAD && i < draft->n_steps; i++) {
        if (draft->steps[i].step.kind == MDF_NEST_LOAD && draft->steps[i].axes == step->axes &&
            same_view(&draft->steps[i].step.view, &step->step.view)) {
            return (uint8_t)i;
        }
    }
    if (!make_room(draft, draft->n_steps + 1)) {
        draft->has_failed = true;
        return 0;
    }
    draft->steps[draft->n_steps] = *step;
    return (uint8_t)draft->n_steps++;
}

/* Lets a view go along axes, from which the register then depends. */
static void follow_axes(struct draft_step *step, size_t rank, const uint8_t *axes, const int64_t *strides)
{
    for (size_t d = 0; d < rank; d++) {
        if (axes[d] != DRAFT_NO_AXIS) {
            step->step.view.strides[axes[d]] += strides[d];
            step->axes |= (uint8_t)(strides[d] != 0 ? 1u << axes[d] : 0);
        }
    }
}

uint8_t draft_load_elements(struct lowering *lowering, struct nest_draft *draft, const struct mdf_nest_view *view, size_t rank,
                            const uint8_t *axes, const int64_t *strides)
{
    struct draft_step added = {
        .step = {.kind = MDF_NEST_LOAD, .dtype = lowering->lowered->values[view->id].form.dtype, .view = *view}};

    follow_axes(&added, rank, axes, strides);
    if (view->at != MDF_NEST_NONE) {
        added.axes |= draft->steps[view->at].axes;
    }
    return draft_add(draft, &added);
}

uint8_t draft_load(struct lowering *lowering, struct nest_draft *draft, mdf_lowered_id id, const uint8_t *axes)
{
    const struct lowering_view *from = &lowering->facts[id].view;
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};
    int64_t strides[MDF_INLINE_RANK] = {0};

    mdf_strides(form->rank, mdf_value_shape(form), strides);
    if (from->is_there) {
        view.id = from->id;
        view.first = from->first;
        memcpy(strides, from->strides, sizeof strides);
    }
    if (from->is_there && from->at != MDF_LOWERED_NONE) {
        view.at = draft_cast(draft, draft_load(lowering, draft, from->at, NULL), MDF_DTYPE_INT64);
        view.at_stride = from->at_stride;
        view.at_limit = from->at_limit;
    }
    return draft_load_elements(lowering, draft, &view, form->length > 1 ? form->rank : 0, axes, strides);
}

/* Room for what a constant is made of; NULL: memory ran out, and the draft has failed. */
static void *constant_room(struct lowering *lowering, struct nest_draft *draft, size_t n, size_t size_bytes)
{
    void *room = mdf_arena_array(&lowering->scratch, n, size_bytes);

    if (room == NULL) {
        lowering_out_of_memory(lowering);
        draft->has_failed = true;
    }
    return room;
}

uint8_t draft_constant(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, mdf_dtype from, const void *elements,
                       size_t rank, const int64_t *shape, const uint8_t *axes)
{
    size_t n = (size_t)mdf_axes_product(shape, 0, rank);
    void *converted = constant_room(lowering, draft, n, mdf_dtype_size(dtype));
    struct mdf_value value = {0};
    mdf_lowered_id id;

    if (converted == NULL) {
        return 0;
    }
    mdf_convert_elements(dtype, converted, from, elements, n, false);
    mdf_value_borrow_tensor(lowering->memory, &value, dtype, MDF_STRENGTH_TYPED, (unsigned)rank, shape, converted);
    id = lowering_add_constant(lowering, &value, false);
    draft->has_failed = draft->has_failed || id == MDF_LOWERED_NONE;
    return id == MDF_LOWERED_NONE ? 0 : draft_load(lowering, draft, id, axes);
}

uint8_t draft_number(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, double real)
{
    return draft_constant(lowering, draft, dtype, MDF_DTYPE_FLOAT64, &real, 0, NULL, NULL);
}

uint8_t draft_count(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, size_t n, uint8_t axis)
{
    int64_t *numbers = constant_room(lowering, draft, n, sizeof *numbers), length = (int64_t)n;

    for (size_t i = 0; numbers != NULL && i < n; i++) {
        numbers[i] = (int64_t)i;
    }
    return numbers == NULL ? 0 : draft_constant(lowering, draft, dtype, MDF_DTYPE_INT64, numbers, 1, &length, &axis);
}

uint8_t draft_element(struct nest_draft *draft, const struct mdf_lowered_op *op, mdf_dtype result, const uint8_t *in, unsigned of)
{
    struct draft_step added = {.step = {.kind = MDF_NEST_ELEMENT,
                                        .dtype = (uint8_t)result,
                                        .n_in = op->n_in,
                                        .code = op->code,
                                        .operand_dtype = op->dtype,
                                        .loop = op->code == MDF_LOWERED_CAST ? NULL : op->loop,
                                        .loop_settings = op->loop_settings,
                                        .operator= op->operator,
                                        .settings = op->settings,
                                        .origin = op->origin},
                               .axes = (uint8_t)of};

    added.step.view.at = MDF_NEST_NONE;
    memcpy(added.step.in, in, op->n_in);
    return draft_add(draft, &added);
}

static uint8_t cast_once(struct nest_draft *draft, uint8_t in, mdf_dtype to, const struct mdf_operator *operator)
{
    const struct mdf_lowered_op op = {
        .code = MDF_LOWERED_CAST, .dtype = draft->steps[in].step.dtype, .n_in = 1, .operator= operator};

    return op.dtype == to ? in : draft_element(draft, &op, to, &in, draft->steps[in].axes);
}

uint8_t draft_cast(struct nest_draft *draft, uint8_t in, mdf_dtype to)
{
    return draft_cast_by(draft, in, to, NULL);
}

uint8_t draft_cast_by(struct nest_draft *draft, uint8_t in, mdf_dtype to, const struct mdf_operator *operator)
{
    mdf_dtype from = (mdf_dtype)draft->steps[in].step.dtype, between = lowering_real_between(from, to);

    if (from == to || mdf_dtype_kind(from) == mdf_dtype_kind(to) || between == MDF_DTYPE_NONE) {
        draft->has_failed = draft->has_failed || (mdf_dtype_is_half(to) && mdf_dtype_kind(from) != 'f'); /* rounded twice */
        return cast_once(draft, in, to, operator);
    }
    return cast_once(draft, cast_once(draft, in, between, operator), to, operator);
}

/* An operator that is nothing but the function, for those who write it out. */
static const struct mdf_operator *operator_of(struct lowering *lowering, const struct mdf_element *element)
{
    struct mdf_operator *operator= mdf_arena_allocate(&lowering->lowered->arena, sizeof *operator);

    if (operator!= NULL) {
        operator->name = "of elements";
        operator->element = element;
    } else {
        lowering_out_of_memory(lowering);
    }
    return operator;
}

uint8_t draft_apply(struct lowering *lowering, struct nest_draft *draft, const struct mdf_element *element, const uint8_t *in)
{
    const struct mdf_operation *operation = &mdf_where;
    uint8_t dtype = draft->steps[in[element->n_operands - 1]].step.dtype;
    struct mdf_lowered_op op = {.dtype = dtype, .n_in = (uint8_t)element->n_operands};
    const struct mdf_element *looped = element;
    unsigned axes = 0;

    if (element->id != MDF_ELEMENT_select) {
        for (; looped->base != NULL && mdf_element_operations[looped->id].loops[dtype] == NULL; looped = looped->base) {
        }
        operation = &mdf_element_operations[looped->id];
    }
    op.loop = operation->loops[dtype];
    op.operator= operator_of(lowering, element);
    draft->has_failed = draft->has_failed || op.loop == NULL || op.operator== NULL;
    if (draft->has_failed) {
        return 0;
    }
    op.code = (uint8_t)lowering_rule(op.operator, NULL, (mdf_dtype)dtype, true);
    for (size_t i = 0; i < op.n_in; i++) {
        axes |= draft->steps[in[i]].axes;
    }
    return draft_element(draft, &op, operation->result == MDF_RESULT_BOOL ? MDF_DTYPE_BOOL : (mdf_dtype)dtype, in, axes);
}

bool draft_calls(const struct mdf_nest_step *step)
{
    const struct mdf_element *element =
        step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS && step->operator!= NULL
            ? mdf_element_of(step->operator, step->settings)
            : NULL;

    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS &&
           (element == NULL || (element->id != MDF_ELEMENT_larger && element->id != MDF_ELEMENT_smaller));
}

struct mdf_lowered_op draft_op_of(const struct mdf_nest_step *step)
{
    return (struct mdf_lowered_op){.code = step->code,
                                   .dtype = step->operand_dtype,
                                   .n_in = step->n_in,
                                   .loop = step->loop,
                                   .loop_settings = step->loop_settings,
                                   .operator= step->operator,
                                   .settings = step->settings,
                                   .origin = step->origin};
}

bool draft_align(const struct mdf_value *operand, const struct mdf_value *result, const uint8_t *axes, uint8_t *aligned)
{
    size_t shift = (size_t)(result->rank - operand->rank), i;

    if (operand->rank > result->rank) {
        return false;
    }
    for (i = 0; i < operand->rank; i++) {
        aligned[i] = mdf_value_shape(operand)[i] == 1 ? DRAFT_NO_AXIS : axes[i + shift];
        if (mdf_value_shape(operand)[i] != 1 && mdf_value_shape(operand)[i] != mdf_value_shape(result)[i + shift]) {
            return false;
        }
    }
    return true;
}

uint8_t draft_fold(struct nest_draft *draft, enum mdf_nest_fold fold, uint8_t in, size_t n_axes, const uint8_t *axes,
                   unsigned lanes)
{
    uint8_t dtype = draft->steps[in].step.dtype;
    struct draft_step added = {.step = {.kind = MDF_NEST_FOLD,
                                        .dtype = fold >= MDF_NEST_FIRST_MAXIMUM ? MDF_DTYPE_INT64 : dtype,
                                        .n_in = 1,
                                        .in = {in},
                                        .operand_dtype = dtype,
                                        .fold = (uint8_t)fold,
                                        .lanes = (uint8_t)lanes},
                               .axes = draft->steps[in].axes,
                               .n_folded = (uint8_t)n_axes};

    added.step.view.at = MDF_NEST_NONE;
    for (size_t i = 0; i < n_axes; i++) {
        added.folded[i] = axes[i];
        added.axes &= (uint8_t) ~(1u << axes[i]);
        draft->steps[in].axes |= (uint8_t)(1u << axes[i]); /* of what is loaded from one place all along an axis, too */
    }
    return draft_add(draft, &added);
}

void draft_store_elements(struct lowering *lowering, struct nest_draft *draft, uint8_t in, const struct mdf_nest_view *view,
                          size_t rank, const uint8_t *axes, const int64_t *strides)
{
    struct draft_step added = {.step = {.kind = MDF_NEST_STORE,
                                        .dtype = lowering->lowered->values[view->id].form.dtype,
                                        .n_in = 1,
                                        .in = {in},
                                        .view = *view},
                               .axes = draft->steps[in].axes};

    follow_axes(&added, rank, axes, strides);
    if (draft->steps[in].step.kind != MDF_NEST_FOLD) {
        draft->steps[in].axes = added.axes; /* one element for many */
    }
    draft_add(draft, &added);
}

void draft_store(struct lowering *lowering, struct nest_draft *draft, uint8_t in, mdf_lowered_id id, const uint8_t *axes)
{
    const struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    int64_t strides[MDF_INLINE_RANK] = {0};

    mdf_strides(form->rank, mdf_value_shape(form), strides);
    draft_store_elements(lowering, draft, in, &view, form->rank, axes, strides);
}

/* ------------------------------------------------------------------ order of the axes */

static unsigned count_bits(unsigned bits)
{
    unsigned n = 0;

    for (; bits != 0; bits &= bits - 1) {
        n++;
    }
    return n;
}

/* The sets of axes that registers have, by how many these are: one each, with all axes of those before it. Loads may be given
 * more axes than they have, but not what is folded. */
static bool find_sets(const struct nest_draft *draft, unsigned sets[MDF_NEST_MOST_AXES + 1])
{
    bool is_folded[MDF_NEST_MOST_STEPS] = {false};
    unsigned last = 0;

    for (size_t i = draft->n_steps; i-- > 0;) { /* a fold stands behind what it folds */
        const struct mdf_nest_step *step = &draft->steps[i].step;
        unsigned axes = draft->steps[i].axes, n = count_bits(axes);

        if (step->kind == MDF_NEST_FOLD) {
            is_folded[step->in[0]] = true;
        }
        if (step->kind == MDF_NEST_LOAD && !is_folded[i]) {
            continue;
        }
        if (sets[n] != 0 && sets[n] != axes) {
            return false;
        }
        sets[n] = axes;
    }
    for (size_t n = 1; n <= MDF_NEST_MOST_AXES; n++) {
        if (sets[n] != 0 && (sets[n] & last) != last) {
            return false;
        }
        last |= sets[n];
    }
    return true;
}

/* Whether of any two registers one has all axes of the other; order[i] is then the axis that comes i-th, such that each register
 * has the outermost ones: those of smaller sets first, else as they are. */
static bool order_axes(const struct nest_draft *draft, uint8_t *order)
{
    unsigned sets[MDF_NEST_MOST_AXES + 1] = {0};
    size_t smallest[MDF_NEST_MOST_AXES], i;

    if (!find_sets(draft, sets)) {
        return false;
    }
    for (size_t axis = 0; axis < draft->n_axes; axis++) {
        for (smallest[axis] = 1; smallest[axis] <= MDF_NEST_MOST_AXES && (sets[smallest[axis]] >> axis & 1) == 0;) {
            smallest[axis]++;
        }
        for (i = axis; i > 0 && smallest[order[i - 1]] > smallest[axis]; i--) {
            order[i] = order[i - 1];
        }
        order[i] = (uint8_t)axis;
    }
    return true;
}

/* Whether a fold goes through its axes in the order in which it wants them: whole numbers may be summed in any. */
static bool keeps_order(const struct draft_step *step, const uint8_t *place)
{
    char kind = mdf_dtype_kind((mdf_dtype)step->step.operand_dtype);

    for (size_t i = 1; i < step->n_folded; i++) {
        if (place[step->folded[i]] < place[step->folded[i - 1]] && (kind == 'f' || step->step.fold >= MDF_NEST_FIRST_MAXIMUM)) {
            return false;
        }
    }
    return true;
}

static void finish_step(const struct draft_step *from, const uint8_t *order, struct mdf_lowered_nest *nest, size_t at)
{
    struct mdf_nest_step *to = &nest->steps[at];

    *to = from->step;
    to->level = 0;
    for (size_t i = 0; i < nest->n_axes; i++) {
        to->view.strides[i] = from->step.view.strides[order[i]];
        to->level = (uint8_t)((from->axes >> order[i] & 1) != 0 ? i + 1 : to->level);
    }
    if (to->view.at != MDF_NEST_NONE && nest->steps[to->view.at].level > to->level) {
        to->level = nest->steps[to->view.at].level;
    }
}

struct mdf_lowered_nest *draft_finish(struct lowering *lowering, const struct nest_draft *draft)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    uint8_t order[MDF_NEST_MOST_AXES] = {0}, place[MDF_NEST_MOST_AXES] = {0};
    struct mdf_lowered_nest *nest;

    if (draft->has_failed || !order_axes(draft, order)) {
        return NULL;
    }
    for (size_t i = 0; i < draft->n_axes; i++) {
        place[order[i]] = (uint8_t)i;
    }
    for (size_t i = 0; i < draft->n_steps; i++) {
        if (draft->steps[i].step.kind == MDF_NEST_FOLD && !keeps_order(&draft->steps[i], place)) {
            return NULL;
        }
    }
    nest = mdf_arena_allocate(arena, sizeof *nest);
    if (nest == NULL || (nest->steps = mdf_arena_array(arena, draft->n_steps, sizeof *nest->steps)) == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    nest->n_axes = draft->n_axes;
    nest->n_steps = draft->n_steps;
    nest->is_open = draft->is_open;
    nest->open_axis = draft->is_open ? place[draft->open_axis] : 0;
    nest->takes_none = draft->takes_none;
    for (size_t i = 0; i < draft->n_axes; i++) {
        nest->extents[i] = draft->extents[order[i]];
    }
    for (size_t i = 0; i < draft->n_steps; i++) {
        finish_step(&draft->steps[i], order, nest, i);
    }
    return nest;
}

/* A fold that a complete nest has goes along one more axis; what it folds has the axis too, be it a load that repeats there. */
static void fold_along(struct nest_draft *draft, struct draft_step *fold, uint8_t axis)
{
    fold->folded[fold->n_folded++] = axis;
    draft->steps[fold->step.in[0]].axes |= (uint8_t)(1u << axis);
}

void draft_read(struct nest_draft *draft, const struct mdf_lowered_nest *nest)
{
    draft->n_axes = nest->n_axes;
    memcpy(draft->extents, nest->extents, sizeof draft->extents);
    draft->is_open = nest->is_open;
    draft->open_axis = nest->open_axis;
    draft->takes_none = nest->takes_none;
    draft->has_failed = !make_room(draft, nest->n_steps);
    draft->n_steps = draft->has_failed ? 0 : nest->n_steps;
    for (size_t i = 0; i < draft->n_steps; i++) {
        struct draft_step *step = &draft->steps[i];

        *step = (struct draft_step){.step = nest->steps[i]};
        for (size_t axis = 0; axis < step->step.level; axis++) {
            bool has_axis = step->step.kind != MDF_NEST_LOAD || step->step.view.strides[axis] != 0;

            step->axes |= (uint8_t)(has_axis ? 1u << axis : 0);
        }
        if (step->step.kind == MDF_NEST_LOAD && step->step.view.at != MDF_NEST_NONE) {
            step->axes |= draft->steps[step->step.view.at].axes;
        }
        if (step->step.kind == MDF_NEST_STORE) {
            draft->steps[step->step.in[0]].axes = step->axes; /* of a load too that is stored where it repeats */
        }
        for (size_t axis = step->step.level; step->step.kind == MDF_NEST_FOLD && axis < nest->steps[step->step.in[0]].level;
             axis++) {
            fold_along(draft, step, (uint8_t)axis);
        }
    }
}

/* ------------------------------------------------------------------ two in one */

struct merging {
    const struct mdf_lowered_nest *a, *b;
    struct lowering *lowering;
    struct nest_draft *first, *draft; /* `a`; the result that is tried */
    uint8_t map[MDF_NEST_MOST_AXES];  /* of each axis of b: the axis of the result */
    size_t n_axes;                    /* of the result so far */
    size_t extents[MDF_NEST_MOST_AXES];
};

/* The step of `a` that stores a value; NULL: none. */
static const struct mdf_nest_step *find_store(const struct mdf_lowered_nest *a, mdf_lowered_id id)
{
    for (size_t i = 0; i < a->n_steps; i++) {
        if (a->steps[i].kind == MDF_NEST_STORE && a->steps[i].view.id == id) {
            return &a->steps[i];
        }
    }
    return NULL;
}

static bool is_taken(const struct merging *merging, size_t axis)
{
    for (size_t i = 0; i < merging->b->n_axes; i++) {
        if (merging->map[i] == axis) {
            return true;
        }
    }
    return false;
}

/* Lets what `b` loads be what `a` stores, at the same indices; false: it is not. */
static bool map_load(struct merging *merging, const struct mdf_nest_step *load, const struct mdf_nest_step *store)
{
    size_t n = 0, axis;

    if (load->view.first != store->view.first || load->view.at != MDF_NEST_NONE) {
        return false;
    }
    for (size_t i = 0; i < merging->b->n_axes; i++) {
        if (load->view.strides[i] == 0) {
            continue;
        }
        for (axis = 0; axis < store->level && (store->view.strides[axis] != load->view.strides[i] ||
                                               merging->a->extents[axis] != merging->b->extents[i]);
             axis++) {
        }
        if (axis == store->level || (merging->map[i] != axis && (merging->map[i] != DRAFT_NO_AXIS || is_taken(merging, axis)))) {
            return false;
        }
        merging->map[i] = (uint8_t)axis;
        n++;
    }
    return n == store->level;
}

static bool map_loads(struct merging *merging, bool has_to_read)
{
    bool shares = !has_to_read;

    memset(merging->map, DRAFT_NO_AXIS, sizeof merging->map);
    for (size_t i = 0; i < merging->b->n_steps; i++) {
        const struct mdf_nest_step *load = &merging->b->steps[i], *store;

        store = load->kind == MDF_NEST_LOAD ? find_store(merging->a, load->view.id) : NULL;
        if (store != NULL && !map_load(merging, load, store)) {
            return false;
        }
        shares = shares || store != NULL;
    }
    return shares;
}

static bool has_axis(const struct draft_step *step, size_t axis)
{
    return (step->axes >> axis & 1) != 0;
}

static uint8_t map_axes(const struct merging *merging, const struct mdf_nest_step *step)
{
    uint8_t axes = 0;

    for (size_t i = 0; i < step->level; i++) {
        axes |= (uint8_t)(step->kind != MDF_NEST_LOAD || step->view.strides[i] != 0 ? 1u << merging->map[i] : 0);
    }
    return axes;
}

/* Whether the open axis of `b`, if it has one, is that of `a`, and no other axis is. */
static bool fits_open_axis(const struct merging *merging)
{
    const struct mdf_lowered_nest *a = merging->a, *b = merging->b;

    for (size_t i = 0; i < b->n_axes; i++) {
        if ((a->is_open && merging->map[i] == a->open_axis) != (b->is_open && i == b->open_axis)) {
            return false;
        }
    }
    return true;
}

/* Whether a round over the open axis, which is not written out at length, has a lane for each total of the folds over it: not
 * where wide elements are computed in it, and totals of narrow ones. */
static bool has_room_for_totals(const struct mdf_lowered_nest *nest)
{
    enum { WIDEST_ROUND = 256 }; /* bytes: 8 vectors of 32 */
    size_t widest = 4, most = 1;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        size_t size = mdf_dtype_size((mdf_dtype)step->dtype);

        widest = size > widest ? size : widest;
        most = mdf_nest_folds_axis(nest, i, nest->open_axis) && step->lanes > most ? step->lanes : most;
    }
    return most == 1 || most * widest <= WIDEST_ROUND;
}

/* Adds the steps of `b`, with its axes as they are mapped. */
static struct mdf_lowered_nest *try_merge(struct merging *merging)
{
    struct nest_draft *draft = merging->draft;
    uint8_t registers[MDF_NEST_MOST_STEPS];
    struct mdf_lowered_nest *nest;

    if (!fits_open_axis(merging)) {
        return NULL;
    }
    copy_draft(draft, merging->first);
    draft->takes_none = merging->a->takes_none && (merging->b->takes_none || !merging->b->is_open);
    draft->n_axes = merging->n_axes;
    memcpy(draft->extents, merging->extents, sizeof draft->extents);
    for (size_t i = 0; i < merging->b->n_steps; i++) {
        const struct mdf_nest_step *from = &merging->b->steps[i], *store;
        struct draft_step step = {.step = *from, .axes = map_axes(merging, from)};

        store = from->kind == MDF_NEST_LOAD ? find_store(merging->a, from->view.id) : NULL;
        if (store != NULL) {
            registers[i] = store->in[0];
            continue;
        }
        for (size_t k = 0; k < from->n_in; k++) {
            step.step.in[k] = registers[from->in[k]];
        }
        if (from->kind == MDF_NEST_STORE && draft->steps[step.step.in[0]].axes != step.axes) {
            return NULL; /* one element that is stored many times */
        }
        memset(step.step.view.strides, 0, sizeof step.step.view.strides);
        for (size_t axis = 0; axis < from->level; axis++) {
            step.step.view.strides[merging->map[axis]] = from->view.strides[axis];
        }
        if (from->view.at != MDF_NEST_NONE) {
            step.step.view.at = registers[from->view.at];
            step.axes |= draft->steps[step.step.view.at].axes;
        }
        for (size_t axis = from->level; from->kind == MDF_NEST_FOLD && axis < merging->b->steps[from->in[0]].level; axis++) {
            if (step.step.in[0] < merging->first->n_steps && !has_axis(&draft->steps[step.step.in[0]], merging->map[axis])) {
                return NULL; /* what `a` stores once has no such axis */
            }
            fold_along(draft, &step, merging->map[axis]);
        }
        registers[i] = draft_add(draft, &step);
    }
    nest = draft_finish(merging->lowering, draft);
    return nest != NULL && nest->is_open && !has_room_for_totals(nest) ? NULL : nest;
}

/* How far apart what a nest stores lies along an axis. */
static int64_t stored_apart(const struct mdf_lowered_nest *nest, size_t axis)
{
    size_t i;

    for (i = 0; i < nest->n_steps && nest->steps[i].kind != MDF_NEST_STORE; i++) {
    }
    return i < nest->n_steps ? nest->steps[i].view.strides[axis] : 0;
}

/* Maps the axes of `b` from number `i` on that are not mapped, to axes of `a` of the same size where that works: best where what
 * both store lies alike, as vectors go along one axis. */
static struct mdf_lowered_nest *map_rest(struct merging *merging, size_t i)
{
    struct mdf_lowered_nest *nest = NULL;
    size_t n_axes = merging->n_axes, n_rounds = 2 * merging->a->n_axes, axis;

    while (i < merging->b->n_axes && merging->map[i] != DRAFT_NO_AXIS) {
        i++;
    }
    if (i == merging->b->n_axes) {
        return try_merge(merging);
    }
    for (size_t n = 0; n < n_rounds && nest == NULL; n++) {
        bool is_alike = n < merging->a->n_axes;

        axis = merging->a->n_axes - 1 - n % merging->a->n_axes;
        if (merging->a->extents[axis] == merging->b->extents[i] && !is_taken(merging, axis) &&
            is_alike == (stored_apart(merging->a, axis) == stored_apart(merging->b, i))) {
            merging->map[i] = (uint8_t)axis;
            nest = map_rest(merging, i + 1);
        }
    }
    if (nest == NULL && n_axes < MDF_NEST_MOST_AXES) {
        merging->map[i] = (uint8_t)n_axes;
        merging->extents[n_axes] = merging->b->extents[i];
        merging->n_axes = n_axes + 1;
        nest = map_rest(merging, i + 1);
        merging->n_axes = n_axes;
    }
    merging->map[i] = DRAFT_NO_AXIS;
    return nest;
}

/* Whether both store parts of one value. */
static bool store_one_value(const struct mdf_lowered_nest *a, const struct mdf_lowered_nest *b)
{
    for (size_t i = 0; i < b->n_steps; i++) {
        if (b->steps[i].kind == MDF_NEST_STORE && mdf_nest_stores(a, b->steps[i].view.id)) {
            return true;
        }
    }
    return false;
}

/* How long the open axis is in the two examples, by what is loaded along it; false: nothing tells. */
static bool find_open_sizes(const struct lowering *lowering, const struct mdf_lowered_nest *nest, int64_t sizes[2])
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        mdf_lowered_id id =
            step->kind == MDF_NEST_LOAD && step->view.strides[nest->open_axis] != 0 ? step->view.id : MDF_LOWERED_NONE;
        size_t axis = id == MDF_LOWERED_NONE ? MDF_INLINE_RANK : lowering_open_axis(&lowering->lowered->values[id]);
        const struct mdf_value *example, *other;

        if (axis >= MDF_INLINE_RANK) {
            continue;
        }
        example = lowering_example(lowering, id);
        other = lowering->facts[id].other.kind == MDF_KIND_TENSOR ? &lowering->facts[id].other : example;
        sizes[0] = mdf_value_shape(example)[axis];
        sizes[1] = mdf_value_shape(other)[axis];
        return true;
    }
    return false;
}

/* Whether both go along an open axis, but not of one length. */
static bool differ_in_open_size(const struct lowering *lowering, const struct mdf_lowered_nest *a,
                                const struct mdf_lowered_nest *b)
{
    int64_t sizes[2][2];

    return a->is_open && b->is_open && find_open_sizes(lowering, a, sizes[0]) && find_open_sizes(lowering, b, sizes[1]) &&
           memcmp(sizes[0], sizes[1], sizeof sizes[0]) != 0;
}

struct mdf_lowered_nest *draft_merge(struct lowering *lowering, const struct mdf_lowered_nest *a,
                                     const struct mdf_lowered_nest *b, bool has_to_read)
{
    struct merging merging = {.a = a, .b = b, .lowering = lowering, .n_axes = a->n_axes};

    if (store_one_value(a, b) || differ_in_open_size(lowering, a, b) || !map_loads(&merging, has_to_read)) {
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) { /* most are tried in vain: they share memory */
        if (lowering->drafts[i] == NULL && (lowering->drafts[i] = draft_new(lowering)) == NULL) {
            return NULL;
        }
    }
    merging.first = lowering->drafts[0];
    merging.draft = lowering->drafts[1];
    draft_read(merging.first, a);
    memcpy(merging.extents, a->extents, sizeof merging.extents);
    return map_rest(&merging, 0);
}

/* ------------------------------------------------------------------ axes that are one */

static bool may_join(const struct mdf_lowered_nest *nest, size_t axis)
{
    if (nest->is_open && (nest->open_axis == axis || nest->open_axis == axis + 1)) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->level == axis + 1 ||
            ((step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) && step->level > axis &&
             step->view.strides[axis] != step->view.strides[axis + 1] * (int64_t)nest->extents[axis + 1])) {
            return false;
        }
    }
    return true;
}

void draft_join_axes(struct mdf_lowered_nest *nest)
{
    for (size_t axis = nest->n_axes; axis-- > 1;) {
        if (!may_join(nest, axis - 1)) {
            continue;
        }
        nest->extents[axis - 1] *= nest->extents[axis];
        for (size_t i = axis; i + 1 < nest->n_axes; i++) {
            nest->extents[i] = nest->extents[i + 1];
        }
        nest->n_axes--;
        nest->open_axis = (uint8_t)(nest->open_axis > axis ? nest->open_axis - 1 : nest->open_axis);
        for (size_t i = 0; i < nest->n_steps; i++) {
            struct mdf_nest_step *step = &nest->steps[i];

            step->view.strides[axis - 1] = step->view.strides[axis];
            for (size_t j = axis; j + 1 < MDF_NEST_MOST_AXES; j++) {
                step->view.strides[j] = step->view.strides[j + 1];
            }
            step->view.strides[MDF_NEST_MOST_AXES - 1] = 0;
            step->level = (uint8_t)(step->level > axis ? step->level - 1 : step->level);
        }
    }
}
