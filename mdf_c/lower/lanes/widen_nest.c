/* widen_nest.c - nests for lanes: those of the narrow form with one axis more, the outermost, along which elements lie side by
 * side; and those that choose, spread and ask. See widening.h. */
#include "mdf_c/lower/lanes/widening.h"
#include "mdf_c/lower/terms.h"

#include <string.h>

enum { MOST_BUILT = 8 }; /* steps of a nest that is made here */

/* A nest over the lanes, and the elements of a value where it has several. */
static struct mdf_lowered_nest *begin_nest(struct widening *widening, size_t n_elements)
{
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    struct mdf_lowered_nest *nest = mdf_arena_allocate(arena, sizeof *nest);

    if (nest == NULL || (nest->steps = mdf_arena_array(arena, MOST_BUILT, sizeof *nest->steps)) == NULL) {
        lowering_out_of_memory(widening->lowering);
        return NULL;
    }
    if (n_elements == 0) {
        lowering_fail(widening->lowering, MDF_REFUSED_LANES_EMPTY);
        return NULL;
    }
    nest->extents[nest->n_axes++] = widening->n_lanes;
    if (n_elements > 1) {
        nest->extents[nest->n_axes++] = n_elements;
    }
    return nest;
}

static uint8_t add_step(struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    nest->steps[nest->n_steps] = *step;
    return (uint8_t)nest->n_steps++;
}

/* The elements of a value: of each lane or of all, all of them or, of a number, the one. */
static struct mdf_nest_view view_of(const struct widening *widening, const struct mdf_lowered_nest *nest, mdf_lowered_id id,
                                    bool has_lanes, bool is_number)
{
    struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};

    view.strides[0] = has_lanes;
    if (nest->n_axes > 1 && !is_number) {
        view.strides[1] = has_lanes ? (int64_t)widening->n_lanes : 1;
    }
    return view;
}

static uint8_t add_load(const struct widening *widening, struct mdf_lowered_nest *nest, mdf_lowered_id id, bool has_lanes,
                        bool is_number)
{
    const struct mdf_nest_step step = {.kind = MDF_NEST_LOAD,
                                       .level = (uint8_t)nest->n_axes,
                                       .dtype = widening->lowering->lowered->values[id].form.dtype,
                                       .view = view_of(widening, nest, id, has_lanes, is_number)};

    return add_step(nest, &step);
}

static uint8_t add_element(struct mdf_lowered_nest *nest, enum mdf_lowered_code code, mdf_dtype dtype, mdf_dtype result,
                           uint8_t level, size_t n_in, const uint8_t *in)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_ELEMENT,
                                 .level = level,
                                 .dtype = (uint8_t)result,
                                 .n_in = (uint8_t)n_in,
                                 .code = (uint8_t)code,
                                 .operand_dtype = (uint8_t)dtype,
                                 .view.at = MDF_NEST_NONE,
                                 .loop = code == MDF_LOWERED_CAST ? NULL : lowering_loop_of(code, dtype)};

    memcpy(step.in, in, n_in * sizeof *in);
    return add_step(nest, &step);
}

/* Ends a nest with what it stores. */
static bool end_nest(struct widening *widening, struct mdf_lowered_nest *nest, uint8_t in, mdf_lowered_id id)
{
    const struct mdf_nest_step step = {.kind = MDF_NEST_STORE,
                                       .level = nest->steps[in].level,
                                       .dtype = nest->steps[in].dtype,
                                       .n_in = 1,
                                       .in = {in},
                                       .view = view_of(widening, nest, id, nest->steps[in].level > 0, nest->steps[in].level < 2)};
    const struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};

    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    add_step(nest, &step);
    widening->lowering->facts[id].is_nested = true;
    return widening_add_op(widening, &op);
}

/* ------------------------------------------------------------------ choose, spread, ask */

static mdf_lowered_id spread(struct widening *widening, mdf_lowered_id id, mdf_lowered_id result)
{
    size_t n = widening->lowering->lowered->values[id].form.length;
    struct mdf_lowered_nest *nest = begin_nest(widening, n);

    return nest != NULL && result != MDF_LOWERED_NONE &&
                   end_nest(widening, nest, add_load(widening, nest, id, false, n == 1), result)
               ? result
               : MDF_LOWERED_NONE;
}

mdf_lowered_id widening_spread(struct widening *widening, mdf_lowered_id id, mdf_lowered_id narrow)
{
    return spread(widening, id, widening_add_like(widening, narrow, true));
}

mdf_lowered_id widening_spread_number(struct widening *widening, mdf_lowered_id id, mdf_dtype dtype)
{
    return id == MDF_LOWERED_NONE ? id : spread(widening, id, widening_add_number(widening, dtype, true));
}

mdf_lowered_id widening_choose(struct widening *widening, mdf_lowered_id mask, mdf_lowered_id then, mdf_lowered_id otherwise,
                               mdf_lowered_id like)
{
    const struct mdf_value *form = &widening->narrow->values[like].form;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = form->dtype, .n_in = 3};
    struct mdf_lowered_nest *nest;
    mdf_lowered_id result;
    uint8_t in[3];

    op.in[0] = mask;
    op.in[1] = widening_value(widening, then);
    op.in[2] = widening_value(widening, otherwise);
    if (op.in[1] == MDF_LOWERED_NONE || op.in[2] == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    if (form->length == 1) {
        return widening_compute(widening, &op, (mdf_dtype)form->dtype);
    }
    if (lowering_loop_of(MDF_LOWERED_SELECT, (mdf_dtype)form->dtype) == NULL) {
        lowering_fail(widening->lowering, MDF_REFUSED_NOT_SAID);
        return MDF_LOWERED_NONE;
    }
    nest = begin_nest(widening, form->length);
    result = nest == NULL ? MDF_LOWERED_NONE : widening_add_like(widening, like, true);
    if (result == MDF_LOWERED_NONE) {
        return result;
    }
    in[0] = add_load(widening, nest, op.in[0], true, true);
    in[1] = add_load(widening, nest, op.in[1], widening_varies(widening, then), false);
    in[2] = add_load(widening, nest, op.in[2], widening_varies(widening, otherwise), false);
    in[0] = add_element(nest, MDF_LOWERED_SELECT, (mdf_dtype)form->dtype, (mdf_dtype)form->dtype, (uint8_t)nest->n_axes, 3, in);
    return end_nest(widening, nest, in[0], result) ? result : MDF_LOWERED_NONE;
}

mdf_lowered_id widening_any(struct widening *widening, mdf_lowered_id reals, mdf_dtype dtype)
{
    struct mdf_lowered_nest *nest = begin_nest(widening, 1);
    mdf_lowered_id zero = widening_constant(widening, dtype, 0), result;
    struct mdf_nest_step fold = {.kind = MDF_NEST_FOLD,
                                 .dtype = (uint8_t)dtype,
                                 .n_in = 1,
                                 .operand_dtype = (uint8_t)dtype,
                                 .fold = MDF_NEST_SUM, /* of ones and zeros, which is exact */
                                 .lanes = (uint8_t)widening->n_lanes,
                                 .view.at = MDF_NEST_NONE};
    uint8_t in[2];

    result = nest == NULL || zero == MDF_LOWERED_NONE || reals == MDF_LOWERED_NONE
                 ? MDF_LOWERED_NONE
                 : widening_add_number(widening, MDF_DTYPE_BOOL, false);
    if (result == MDF_LOWERED_NONE) {
        return result;
    }
    fold.in[0] = add_load(widening, nest, reals, true, true);
    in[0] = add_step(nest, &fold);
    in[1] = add_load(widening, nest, zero, false, true);
    nest->steps[in[1]].level = 0;
    in[0] = add_element(nest, MDF_LOWERED_NOT_EQUAL, dtype, MDF_DTYPE_BOOL, 0, 2, in);
    return end_nest(widening, nest, in[0], result) ? result : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ one lane */

bool widening_move(struct widening *widening, const struct mdf_nest_view *from, const struct mdf_nest_view *to, size_t n_axes,
                   const size_t *extents)
{
    struct mdf_lowered_nest *nest = begin_nest(widening, 1);
    unsigned dtype = widening->lowering->lowered->values[from->id].form.dtype;
    struct mdf_nest_step load = {.kind = MDF_NEST_LOAD, .dtype = (uint8_t)dtype, .view = *from}, store = load;
    const struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};

    if (nest == NULL) {
        return false;
    }
    store.kind = MDF_NEST_STORE;
    store.view = *to;
    for (size_t axis = nest->n_axes = 0; axis < n_axes; axis++) { /* one of one index is none */
        if (extents[axis] > 1) {
            load.view.strides[nest->n_axes] = from->strides[axis];
            store.view.strides[nest->n_axes] = to->strides[axis];
            nest->extents[nest->n_axes++] = extents[axis];
        }
    }
    for (size_t axis = nest->n_axes; axis < MDF_NEST_MOST_AXES; axis++) {
        load.view.strides[axis] = store.view.strides[axis] = 0;
    }
    load.level = store.level = (uint8_t)nest->n_axes;
    store.n_in = 1;
    add_step(nest, &load);
    add_step(nest, &store);
    widening->lowering->facts[to->id].is_nested = true;
    return widening_add_op(widening, &op);
}

/* All elements of one value, so far apart, from one place on, to those of another. */
static bool move_elements(struct widening *widening, const struct mdf_nest_view *from, const struct mdf_nest_view *to, size_t n)
{
    return n == 0 ? lowering_fail(widening->lowering, MDF_REFUSED_LANES_EMPTY) : widening_move(widening, from, to, 1, &n);
}

static struct mdf_nest_view lane_of(const struct widening *widening, mdf_lowered_id wide, size_t lane, size_t n)
{
    return (struct mdf_nest_view){
        .id = wide, .first = (int64_t)lane, .strides = {n > 1 ? (int64_t)widening->n_lanes : 0}, .at = MDF_NEST_NONE};
}

mdf_lowered_id widening_take_lane(struct widening *widening, mdf_lowered_id wide, mdf_lowered_id narrow, size_t lane)
{
    size_t n = widening->narrow->values[narrow].form.length;
    struct mdf_nest_view from = lane_of(widening, wide, lane, n), to = {.strides = {n > 1}, .at = MDF_NEST_NONE};

    to.id = wide == MDF_LOWERED_NONE ? wide : widening_add_like(widening, narrow, false);
    return to.id != MDF_LOWERED_NONE && move_elements(widening, &from, &to, n) ? to.id : MDF_LOWERED_NONE;
}

bool widening_put_lane(struct widening *widening, mdf_lowered_id single, mdf_lowered_id wide, size_t lane)
{
    size_t n = widening->lowering->lowered->values[single].form.length;
    struct mdf_nest_view from = {.id = single, .strides = {n > 1}, .at = MDF_NEST_NONE}, to = lane_of(widening, wide, lane, n);

    return move_elements(widening, &from, &to, n);
}

/* ------------------------------------------------------------------ nests of the narrow form */

static bool varies(const struct widening *widening, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if ((nest->steps[i].kind == MDF_NEST_LOAD || nest->steps[i].kind == MDF_NEST_STORE) &&
            widening_varies(widening, nest->steps[i].view.id)) {
            return true;
        }
    }
    return false;
}

/* What a view says of a value with lanes, or of one without, along the axes behind that of the lanes. */
static void widen_view(const struct widening *widening, struct mdf_nest_view *view, bool has_lanes)
{
    int64_t n = has_lanes ? (int64_t)widening->n_lanes : 1;

    for (size_t axis = MDF_NEST_MOST_AXES - 1; axis > 0; axis--) {
        view->strides[axis] = view->strides[axis - 1] * n;
    }
    view->strides[0] = has_lanes;
    view->first *= n;
    view->at_stride *= n;
}

/* The value that a view looks at; a result is made by the first nest that stores of it. */
static bool find_viewed(struct widening *widening, struct mdf_nest_step *step)
{
    mdf_lowered_id narrow = step->view.id;
    bool is_new = step->kind == MDF_NEST_STORE && widening->ids[narrow] == MDF_LOWERED_NONE;

    step->view.id = is_new ? widening_add(widening, MDF_LOWERED_RESULT, narrow) : widening_value(widening, narrow);
    if (is_new && step->view.id != MDF_LOWERED_NONE) {
        widening->lowering->facts[step->view.id].is_nested = true;
    }
    return step->view.id != MDF_LOWERED_NONE;
}

bool widening_nest(struct widening *widening, const struct mdf_lowered_op *source)
{
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    const struct mdf_lowered_nest *narrow = source->of.nest;
    struct mdf_lowered_nest *nest = mdf_arena_allocate(arena, sizeof *nest);
    bool is_wide = varies(widening, narrow);
    struct mdf_lowered_op op = *source;

    if (nest == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    *nest = *narrow;
    nest->tiles = NULL;
    nest->steps = mdf_arena_array(arena, narrow->n_steps, sizeof *nest->steps);
    if (nest->steps == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    memcpy(nest->steps, narrow->steps, narrow->n_steps * sizeof *nest->steps);
    if (is_wide && (narrow->is_open || narrow->n_axes == MDF_NEST_MOST_AXES)) {
        return lowering_fail(widening->lowering, narrow->is_open ? MDF_REFUSED_OPEN_LENGTH : MDF_REFUSED_MANY_AXES);
    }
    if (is_wide) {
        memmove(&nest->extents[1], &nest->extents[0], narrow->n_axes * sizeof *nest->extents);
        nest->extents[0] = widening->n_lanes;
        nest->n_axes++;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_step *step = &nest->steps[i];
        bool has_view = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;

        if (is_wide) {
            step->level++;
        }
        if (is_wide && has_view) {
            widen_view(widening, &step->view, widening_varies(widening, step->view.id));
        }
        if (has_view && !find_viewed(widening, step)) {
            return false;
        }
    }
    op.of.nest = nest;
    return widening_add_op(widening, &op);
}
