/* verify.c - see verify.h. Goes through all ops in their order, with a mark for each value that has been made and can be seen. */
#include "mdf_c/lowered/verify.h"

#include "functions/moves/indexing.h"

#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_parts.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/lowered/nest_folds.h"
#include "mdf_c/lowered/print_lowered.h"

#include <string.h>

struct verification {
    const struct mdf_lowered *lowered;
    struct mdf_text *why;
    bool *is_there;       /* of each value: it can be read here */
    bool *is_made;        /* anything has made it */
    size_t *n_stored;     /* elements of it that nests have stored so far */
    mdf_lowered_id *made; /* by what the regions around have, in order */
    size_t n_made;
    bool *marks;                           /* of each value, for what is looked at */
    const struct mdf_lowered_loop *around; /* the loop whose body's own region this is; NULL: no loop's */
};

static bool fail(struct verification *verification, const struct mdf_lowered_op *op, const char *what)
{
    mdf_text_printf(verification->why, "%s: ", what);
    if (op != NULL) {
        mdf_lowered_op_print(verification->why, verification->lowered, op);
    }
    return false;
}

/* ------------------------------------------------------------------ values */

/* What is open is read by calls, by nests with an open axis, and as an output (`op` is NULL). */
static bool reads(struct verification *verification, const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    if (id >= verification->lowered->n_values || !verification->is_there[id]) {
        return fail(verification, op, "reads what is not there");
    }
    return op == NULL || op->code == MDF_LOWERED_CALL || verification->lowered->values[id].open_axes == 0 ||
           (op->code == MDF_LOWERED_NEST && op->of.nest->is_open) || fail(verification, op, "reads what has no known shape");
}

static bool reads_any(struct verification *verification, const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    return id == MDF_LOWERED_NONE || reads(verification, op, id);
}

static bool makes(struct verification *verification, const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    if (id >= verification->lowered->n_values || verification->is_made[id]) {
        return fail(verification, op, "makes what is there already");
    }
    verification->is_made[id] = verification->is_there[id] = true;
    verification->made[verification->n_made++] = id;
    return true;
}

static bool makes_any(struct verification *verification, const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    return id == MDF_LOWERED_NONE || makes(verification, op, id);
}

static bool has_type(const struct verification *verification, mdf_lowered_id id, unsigned dtype)
{
    return verification->lowered->values[id].form.dtype == dtype;
}

static bool have_one_form(const struct verification *verification, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_value *x = &verification->lowered->values[a].form, *y = &verification->lowered->values[b].form;

    return x->dtype == y->dtype && x->length == y->length;
}

/* ------------------------------------------------------------------ nests */

/* What indices are. */
static bool is_whole(unsigned dtype)
{
    return dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_INT32;
}

/* The lowest and the highest offset that a view comes to, at one index of the open axis. */
static void find_bounds(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, int64_t *low, int64_t *high)
{
    const struct mdf_nest_view *view = &step->view;

    *low = *high = view->first;
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        bool is_open = nest->is_open && axis == nest->open_axis;
        int64_t end = is_open ? 0 : ((int64_t)nest->extents[axis] - 1) * view->strides[axis];

        *(end < 0 ? low : high) += end;
    }
    if (view->at != MDF_NEST_NONE) {
        int64_t end = (view->at_limit - 1) * view->at_stride;

        *(end < 0 ? low : high) += end;
    }
}

/* How many elements a store writes, at one index of the open axis; 0: some of them more than once. In some order of the axes each
 * one steps over all that those before it go through. */
static size_t count_stored(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    bool used[MDF_NEST_MOST_AXES] = {false};
    size_t axis, next, n = 1, n_axes = step->level;
    int64_t reach = 0;

    if (nest->is_open && nest->open_axis < step->level) {
        used[nest->open_axis] = true;
        n_axes--;
    }
    for (size_t i = 0; i < n_axes; i++) {
        for (axis = 0, next = SIZE_MAX; axis < step->level; axis++) {
            next = !used[axis] && (next == SIZE_MAX || step->view.strides[axis] < step->view.strides[next]) ? axis : next;
        }
        if (step->view.strides[next] <= reach) {
            return 0;
        }
        used[next] = true;
        reach += step->view.strides[next] * ((int64_t)nest->extents[next] - 1);
        n *= nest->extents[next];
    }
    return n;
}

/* The elements of a value; of one that is open, those of an index of its open axis. */
static size_t count_elements(const struct mdf_lowered_value *value)
{
    return value->open_axes == 0 ? value->form.length : mdf_lowered_open_stride(value);
}

/* A value is made by one store, or by several nests of which each stores a part; it is there when all parts are. */
static bool stores(struct verification *verification, const struct mdf_lowered_op *op, const struct mdf_nest_step *step)
{
    mdf_lowered_id id = step->view.id;
    size_t length = count_elements(&verification->lowered->values[id]), n = count_stored(op->of.nest, step);

    if (n == 0 || n > length - verification->n_stored[id] || verification->lowered->values[id].place != MDF_LOWERED_RESULT) {
        return fail(verification, op, "a store of elements that are there already");
    }
    if (verification->n_stored[id] == 0 && !makes(verification, op, id)) {
        return false;
    }
    verification->n_stored[id] += n;
    verification->is_there[id] = verification->n_stored[id] == length;
    return true;
}

/* What has an open axis goes along it with the nest's, and nothing else goes along that. */
static bool verify_open_view(const struct verification *verification, const struct mdf_lowered_nest *nest,
                             const struct mdf_nest_step *step)
{
    const struct mdf_lowered_value *value = &verification->lowered->values[step->view.id];
    bool is_along = nest->is_open && nest->open_axis < step->level;
    size_t d;

    if (value->open_axes == 0) {
        return !is_along || (step->kind == MDF_NEST_LOAD && step->view.strides[nest->open_axis] == 0);
    }
    for (d = 0; (value->open_axes >> d & 1) == 0 && value->form.shape.sizes[d] == 1; d++) {
    }
    return value->open_axes == 1u << d && is_along && step->view.at == MDF_NEST_NONE &&
           step->view.strides[nest->open_axis] == (int64_t)mdf_lowered_open_stride(value);
}

static bool verify_view(struct verification *verification, const struct mdf_lowered_op *op, size_t i)
{
    const struct mdf_lowered_nest *nest = op->of.nest;
    const struct mdf_nest_step *step = &nest->steps[i];
    const struct mdf_lowered_value *value = &verification->lowered->values[step->view.id];
    int64_t low, high;

    for (size_t axis = step->level; axis < nest->n_axes; axis++) {
        if (step->view.strides[axis] != 0) {
            return fail(verification, op, "a stride past the level");
        }
    }
    if (step->view.at != MDF_NEST_NONE &&
        (step->kind == MDF_NEST_STORE || step->view.at >= i || nest->steps[step->view.at].kind == MDF_NEST_STORE ||
         nest->steps[step->view.at].level > step->level || !is_whole(nest->steps[step->view.at].dtype) ||
         step->view.at_limit < 1)) {
        return fail(verification, op, "an index that is none");
    }
    if (!verify_open_view(verification, nest, step)) {
        return fail(verification, op, "a view that does not go along the open axis");
    }
    find_bounds(nest, step, &low, &high);
    if (low < 0 || (uint64_t)high >= count_elements(value) || value->form.dtype != step->dtype) {
        return fail(verification, op, "a view beyond its value");
    }
    return true;
}

static bool verify_operands(struct verification *verification, const struct mdf_lowered_op *op, size_t i)
{
    const struct mdf_nest_step *step = &op->of.nest->steps[i];

    for (size_t k = 0; k < step->n_in; k++) {
        const struct mdf_nest_step *operand = &op->of.nest->steps[step->in[k]];
        bool is_folded = step->kind == MDF_NEST_FOLD && k == 0;
        bool is_truth = step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_SELECT && k == 0;

        if (step->in[k] >= i || operand->kind == MDF_NEST_STORE ||
            (is_folded ? operand->level <= step->level : operand->level > step->level)) {
            return fail(verification, op, "an operand of no such level");
        }
        if (step->code != MDF_LOWERED_ELEMENTS && operand->dtype != (is_truth ? MDF_DTYPE_BOOL : step->operand_dtype)) {
            return fail(verification, op, "an operand of another type");
        }
    }
    return true;
}

static bool has_order(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    if (step->order == MDF_NEST_IN_DEPTHS) {
        return step->fold == MDF_NEST_SUM && step->lanes == 1 && nest->extents[step->level] > MDF_NEST_DEPTH && !nest->is_open;
    }
    if (step->order == MDF_NEST_IN_BLOCKS && (step->fold == MDF_NEST_MAXIMUM || step->fold == MDF_NEST_MINIMUM)) {
        return mdf_dtype_kind((mdf_dtype)step->operand_dtype) == 'f';
    }
    return step->order == MDF_NEST_IN_LANES || (step->order < N_MDF_NEST_ORDERS && step->fold <= MDF_NEST_PRODUCT &&
                                                step->lanes == (step->order == MDF_NEST_WITH_REST ? 32 : 8));
}

static bool is_read_once(const struct mdf_lowered_nest *nest, size_t register_number)
{
    size_t n = 0;

    for (size_t i = register_number + 1; i < nest->n_steps; i++) {
        for (size_t k = 0; k < nest->steps[i].n_in; k++) {
            n += nest->steps[i].in[k] == register_number;
        }
        n += nest->steps[i].kind == MDF_NEST_LOAD && nest->steps[i].view.at == register_number;
    }
    return n == 1;
}

/* A sum that begins with something, or is fused. */
static bool verify_terms(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    const struct mdf_nest_step *term = &nest->steps[step->in[0]];

    if (!step->has_start && !step->is_fused) {
        return true;
    }
    return step->fold == MDF_NEST_SUM && step->lanes == 1 && term->kind == MDF_NEST_ELEMENT &&
           (!step->has_start || step->in[1] < step->in[0]) && is_read_once(nest, step->in[0]) &&
           (!step->is_fused || (term->code == MDF_LOWERED_MULTIPLY && mdf_dtype_kind((mdf_dtype)term->dtype) == 'f'));
}

static bool verify_fold(struct verification *verification, const struct mdf_lowered_op *op, const struct mdf_nest_step *step)
{
    bool is_place = step->fold >= MDF_NEST_FIRST_MAXIMUM;
    size_t n_axes = op->of.nest->steps[step->in[0]].level - (size_t)step->level;

    return (mdf_nest_has_fold((enum mdf_nest_fold)step->fold, (mdf_dtype)step->operand_dtype) &&
            (is_place ? is_whole(step->dtype) : step->dtype == step->operand_dtype) && step->lanes > 0 &&
            (step->lanes & (step->lanes - 1)) == 0 && has_order(op->of.nest, step) && verify_terms(op->of.nest, step) &&
            (n_axes == 1 || (step->lanes == 1 && step->order == MDF_NEST_IN_LANES && !is_place))) ||
           fail(verification, op, "a fold that there is not");
}

static bool verify_element(struct verification *verification, const struct mdf_lowered_op *op, const struct mdf_nest_step *step)
{
    bool is_known =
        (step->code <= MDF_LOWERED_SELECT && (step->code < MDF_LOWERED_ADD_EXACT || step->code > MDF_LOWERED_NEGATE_EXACT)) ||
        step->code == MDF_LOWERED_CAST || step->code == MDF_LOWERED_ELEMENTS;

    return (is_known && step->n_in > 0 && step->n_in <= MDF_MAX_OPERANDS &&
            (step->loop != NULL) == (step->code != MDF_LOWERED_CAST)) ||
           fail(verification, op, "an element function that there is not");
}

static bool stores_once(const struct mdf_lowered_nest *nest, size_t at)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (i != at && (nest->steps[i].kind == MDF_NEST_LOAD || nest->steps[i].kind == MDF_NEST_STORE) &&
            nest->steps[i].view.id == nest->steps[at].view.id) {
            return false;
        }
    }
    return true;
}

static bool verify_step(struct verification *verification, const struct mdf_lowered_op *op, size_t i)
{
    const struct mdf_nest_step *step = &op->of.nest->steps[i];

    if (step->level > op->of.nest->n_axes) {
        return fail(verification, op, "a level of no axis");
    }
    switch ((enum mdf_nest_kind)step->kind) {
    case MDF_NEST_LOAD:
        return reads(verification, op, step->view.id) && verify_view(verification, op, i);
    case MDF_NEST_ELEMENT:
        return verify_element(verification, op, step) && verify_operands(verification, op, i);
    case MDF_NEST_FOLD:
        return (step->n_in == (step->has_start ? 2 : 1) && step->in[0] < i)
                   ? verify_operands(verification, op, i) && verify_fold(verification, op, step)
                   : fail(verification, op, "a fold that there is not");
    case MDF_NEST_STORE:
        return step->in[0] < i && op->of.nest->steps[step->in[0]].kind != MDF_NEST_STORE &&
                       op->of.nest->steps[step->in[0]].level == step->level &&
                       op->of.nest->steps[step->in[0]].dtype == step->dtype && stores_once(op->of.nest, i)
                   ? verify_view(verification, op, i) && stores(verification, op, step)
                   : fail(verification, op, "a store of no register");
    }
    return fail(verification, op, "a step of no kind");
}

/* Whether there is such an axis, and a load that says how long it is. */
static bool has_open_axis(const struct verification *verification, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_LOAD && nest->steps[i].view.id < verification->lowered->n_values &&
            verification->lowered->values[nest->steps[i].view.id].open_axes != 0) {
            return nest->open_axis < nest->n_axes;
        }
    }
    return false;
}

static bool verify_nest(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_nest *nest = op->of.nest;

    if (nest->n_axes > MDF_NEST_MOST_AXES || nest->n_steps > MDF_NEST_MOST_STEPS) {
        return fail(verification, op, "a nest of no such size");
    }
    if (nest->is_open && !has_open_axis(verification, nest)) {
        return fail(verification, op, "an open axis of no value");
    }
    for (size_t i = 0; i < nest->n_axes; i++) {
        if (!(nest->is_open && i == nest->open_axis) && nest->extents[i] < 2 && (nest->extents[i] == 1 || nest->n_axes > 1)) {
            return fail(verification, op, "an axis of one index");
        }
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (!verify_step(verification, op, i)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ regions */

static bool verify_region(struct verification *verification, const struct mdf_lowered_region *region);

/* What is made inside can not be seen from outside. */
static void hide(struct verification *verification, size_t n_made)
{
    while (verification->n_made > n_made) {
        verification->is_there[verification->made[--verification->n_made]] = false;
    }
}

static bool verify_branches(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_if *branches = op->of.branches;
    const struct mdf_lowered_loop *around = verification->around;
    size_t n_made = verification->n_made;

    if (!reads(verification, op, branches->condition) || !has_type(verification, branches->condition, MDF_DTYPE_BOOL)) {
        return fail(verification, op, "no condition");
    }
    verification->around = NULL;
    for (size_t side = 0; side < 2; side++) {
        if (!verify_region(verification, side == 0 ? &branches->then : &branches->otherwise)) {
            return false;
        }
        for (size_t i = 0; i < branches->n_merges; i++) {
            mdf_lowered_id id = side == 0 ? branches->merges[i].then : branches->merges[i].otherwise;

            if (!reads(verification, op, id) || !have_one_form(verification, id, branches->merges[i].out)) {
                return fail(verification, op, "a result of another form");
            }
        }
        hide(verification, n_made);
    }
    verification->around = around;
    for (size_t i = 0; i < branches->n_merges; i++) {
        if (!makes(verification, op, branches->merges[i].out)) {
            return false;
        }
    }
    return true;
}

/* Whether a state may begin with a value: of its form, but for open axes. */
static bool may_begin(const struct verification *verification, mdf_lowered_id initial, mdf_lowered_id parameter)
{
    const struct mdf_lowered_value *values = verification->lowered->values;

    return values[parameter].open_axes == 0
               ? have_one_form(verification, initial, parameter)
               : has_type(verification, parameter, values[initial].form.dtype) && !values[parameter].is_scalar &&
                     values[initial].form.rank == values[parameter].form.rank;
}

/* What an open state is next: what a kernel or a nest makes, of the same open axes. */
static bool may_be_next(const struct verification *verification, const struct mdf_lowered_loop *loop,
                        const struct mdf_lowered_state *state)
{
    const struct mdf_lowered_value *next = &verification->lowered->values[state->next];
    const struct mdf_lowered_value *parameter = &verification->lowered->values[state->parameter];

    return next->open_axes == parameter->open_axes && next->form.dtype == parameter->form.dtype &&
           mdf_value_has_shape_of(&next->form, &parameter->form) && state->storage == MDF_LOWERED_TWO_BUFFERS &&
           mdf_lowered_makes_of_any_size(&loop->body, state->next);
}

static bool begin_loop(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_loop *loop = op->of.loop;

    for (size_t i = 0; i < loop->n_states; i++) {
        if (!reads(verification, op, loop->states[i].initial) || !makes(verification, op, loop->states[i].parameter) ||
            !may_begin(verification, loop->states[i].initial, loop->states[i].parameter)) {
            return fail(verification, op, "a state of another form");
        }
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (!reads(verification, op, loop->rows[i].source) || !makes(verification, op, loop->rows[i].parameter)) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].appends && !reads(verification, op, loop->stacks[i].initial)) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_products; i++) {
        if (loop->products[i]->rows != NULL && !makes(verification, op, loop->products[i]->out)) {
            return false;
        }
    }
    return makes_any(verification, op, loop->number) && makes_any(verification, op, loop->is_going_on) &&
           reads_any(verification, op, loop->trip_count) && reads_any(verification, op, loop->condition);
}

/* Items lie one behind the other, and behind what the stack begins with: all of them are some of what an index of the axis has.
 */
static bool appends(const struct verification *verification, const struct mdf_lowered_stack *stack)
{
    const struct mdf_lowered_value *values = verification->lowered->values;
    const struct mdf_value *whole = &values[stack->stack].form, *item = &values[stack->item].form;
    const struct mdf_value *initial = &values[stack->initial].form;
    size_t n = mdf_axes_product(mdf_value_shape(whole), stack->axis + 1u, whole->rank), d;

    for (d = 0; d < stack->axis && d < whole->rank && mdf_value_shape(whole)[d] == 1; d++) {
    }
    return d == stack->axis && d < whole->rank && !stack->is_reversed && n > 0 && item->length > 0 && item->length % n == 0 &&
           initial->length % n == 0 && whole->dtype == item->dtype && whole->dtype == initial->dtype;
}

/* Whether one call of the loop's own region puts the items. */
static bool is_put_once(const struct mdf_lowered_stack *stack, const struct mdf_lowered_region *body)
{
    size_t n = 0;

    for (size_t i = 0; i < body->n_ops; i++) {
        const struct mdf_lowered_op *op = &body->ops[i];

        n += op->code == MDF_LOWERED_CALL && op->of.call->stack == stack && op->of.call->n_inputs > 0;
    }
    return n == 1 && !stack->is_reversed;
}

/* A stack lies in one of the loop around where that says so, and only there; stacks are padded where nothing but a trip count
 * bounds the loop. */
static bool verify_stacks(const struct verification *verification, const struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_loop *around = verification->around;

    for (size_t i = 0; i < loop->n_stacks; i++) {
        bool is_item = false;

        for (size_t k = 0; around != NULL && k < around->n_stacks; k++) {
            is_item = is_item || (around->stacks[k].is_direct && around->stacks[k].item == loop->stacks[i].stack);
        }
        if (loop->stacks[i].is_put != is_put_once(&loop->stacks[i], &loop->body) || loop->stacks[i].is_placed != is_item ||
            (loop->stacks[i].appends && !appends(verification, &loop->stacks[i]))) {
            return false;
        }
    }
    return loop->n_padded == 0 || (loop->n_runs == SIZE_MAX && loop->trip_count != MDF_LOWERED_NONE &&
                                   loop->condition == MDF_LOWERED_NONE && loop->limit == 0);
}

static bool verify_body(struct verification *verification, const struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_loop *around = verification->around;
    bool holds;

    verification->around = loop;
    holds = verify_region(verification, &loop->body);
    verification->around = around;
    return holds;
}

static bool verify_loop(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_loop *loop = op->of.loop;
    size_t n_made = verification->n_made;

    if (!begin_loop(verification, op) || !verify_body(verification, loop) || !reads_any(verification, op, loop->next_condition)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];

        if (verification->lowered->values[state->parameter].open_axes != 0
                ? !reads(verification, NULL, state->next) || !may_be_next(verification, loop, state)
                : !reads(verification, op, state->next) || !have_one_form(verification, state->next, state->parameter)) {
            return fail(verification, op, "a state of another form");
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (!reads(verification, op, loop->stacks[i].item)) {
            return false;
        }
    }
    if (!mdf_lowered_plan_holds(verification->lowered, loop) || !verify_stacks(verification, loop)) {
        return fail(verification, op, "a state or stack where it can not be");
    }
    hide(verification, n_made);
    for (size_t i = 0; i < loop->n_states; i++) { /* they are what the last run left */
        verification->is_there[loop->states[i].parameter] = true;
        verification->made[verification->n_made++] = loop->states[i].parameter;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (!makes(verification, op, loop->stacks[i].stack)) {
            return false;
        }
    }
    return true;
}

/* No place that the limits allow is outside. */
static bool verify_put(const struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *values = verification->lowered->values;
    const struct mdf_lowered_put *put = op->of.put;
    int64_t end = (int64_t)values[op->in[1]].form.length;

    for (size_t i = 0; i < put->n_indices; i++) {
        if (put->limits[i] < 1 || put->steps[i] < 1) {
            return false;
        }
        end += (put->limits[i] - 1) * put->steps[i];
    }
    return put->n_indices <= MDF_INLINE_RANK && end <= (int64_t)values[op->out].form.length && !values[op->out].is_scalar &&
           values[op->in[2]].form.dtype == MDF_DTYPE_INT64 && values[op->in[2]].form.length == put->n_indices &&
           values[op->in[1]].form.dtype == values[op->out].form.dtype && put->is_in_place == values[op->out].is_in_place;
}

static bool verify_element_op(struct verification *verification, const struct mdf_lowered_op *op)
{
    for (size_t i = 0; i < op->n_in; i++) {
        if (!reads(verification, op, op->in[i])) {
            return false;
        }
    }
    if (op->code == MDF_LOWERED_PUT && (!have_one_form(verification, op->in[0], op->out) || !verify_put(verification, op))) {
        return fail(verification, op, "something put where it can not be");
    }
    return makes(verification, op, op->out);
}

/* The columns of a stack are arrays of its type, of one open axis, with a place in an array that nothing else makes. */
static bool verify_columns(const struct verification *verification, const struct mdf_lowered_call *call)
{
    const struct mdf_lowered_value *values = verification->lowered->values;
    const struct mdf_value *whole = &values[call->stack->stack].form;
    size_t n = mdf_axes_product(mdf_value_shape(whole), call->stack->axis + 1u, whole->rank), i;

    if (!call->stack->has_columns) {
        return call->n_outputs == 1;
    }
    for (i = 1; i < call->n_outputs; i++) {
        const struct mdf_lowered_value *column = call->outputs[i] == MDF_LOWERED_NONE ? NULL : &values[call->outputs[i]];

        if (column != NULL && (column->open_axes != 1 || column->form.rank != 1 || column->form.dtype != whole->dtype)) {
            return false;
        }
    }
    return call->stack->appends && call->n_outputs == n + 1 && values[call->stack->columns].open_axes == 1 &&
           values[call->stack->columns].form.dtype == whole->dtype;
}

/* A look at a stack of the loop in whose own region it is; what is put there is an item. */
static bool verify_look(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *values = verification->lowered->values;
    const struct mdf_lowered_call *call = op->of.call;
    const struct mdf_lowered_loop *loop = verification->around;
    size_t i;

    for (i = 0; loop != NULL && i < loop->n_stacks && &loop->stacks[i] != call->stack; i++) {
    }
    return (loop != NULL && i < loop->n_stacks && loop->stacks[i].is_put && call->n_outputs > 0 &&
            verify_columns(verification, call) && call->outputs[0] != MDF_LOWERED_NONE &&
            values[call->outputs[0]].open_axes == 1u << call->stack->axis &&
            values[call->outputs[0]].form.dtype == values[call->stack->stack].form.dtype &&
            values[call->outputs[0]].form.rank == values[call->stack->stack].form.rank &&
            (call->n_inputs == 0 ||
             (call->n_inputs == 2 && call->inputs[0] != MDF_LOWERED_NONE && call->inputs[1] != MDF_LOWERED_NONE &&
              have_one_form(verification, call->inputs[1], call->stack->item)))) ||
           fail(verification, op, "a look at no stack");
}

/* A number of each lane, or of all, that is an input of the call; `dtypes`: what it may be. */
static bool is_drawn_by(const struct verification *verification, const struct mdf_lowered_call *call, mdf_lowered_id id,
                        mdf_dtype_set dtypes)
{
    const struct mdf_lowered_value *value = id == MDF_LOWERED_NONE ? NULL : &verification->lowered->values[id];
    size_t i;

    for (i = 0; value != NULL && i < call->n_inputs && call->inputs[i] != id; i++) {
    }
    return value == NULL || (i < call->n_inputs && (MDF_DTYPE_BIT(value->form.dtype) & dtypes) != 0 &&
                             (value->is_scalar || value->form.length == call->draw->n_lanes));
}

static bool verify_draw(struct verification *verification, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *call = op->of.call;
    const struct mdf_lowered_draw *draw = call->draw;
    const struct mdf_lowered_value *out;
    bool holds = (draw->drawing.number != NULL || (draw->drawing.plain != NULL && draw->drawing.uniform_bits <= 53)) &&
                 call->n_outputs == 1 && call->outputs[0] == draw->out && draw->out != MDF_LOWERED_NONE;

    out = holds ? &verification->lowered->values[draw->out] : NULL;
    holds = holds && (MDF_DTYPE_BIT(out->form.dtype) & MDF_LOWERED_DRAWN) != 0 && out->open_axes == 0 &&
            out->form.length == draw->n * draw->n_lanes && (draw->n_lanes == 1 || draw->contexts != NULL) &&
            is_drawn_by(verification, call, draw->seed, MDF_LOWERED_DRAW_SETTINGS) &&
            is_drawn_by(verification, call, draw->mask, MDF_DTYPE_BIT(MDF_DTYPE_BOOL)) &&
            (draw->mask == MDF_LOWERED_NONE || !verification->lowered->values[draw->mask].is_scalar);
    for (size_t i = 0; holds && i < MDF_DRAWING_SETTINGS; i++) {
        holds = is_drawn_by(verification, call, draw->settings[i], MDF_LOWERED_DRAW_SETTINGS);
    }
    return holds || fail(verification, op, "a draw of other numbers than it makes");
}

static bool verify_call(struct verification *verification, const struct mdf_lowered_op *op)
{
    if (op->of.call->draw != NULL && !verify_draw(verification, op)) {
        return false;
    }
    if (op->of.call->stack != NULL ? !verify_look(verification, op)
                                   : op->of.call->call.kernel == NULL && op->of.call->draw == NULL) {
        return fail(verification, op, "a call of nothing");
    }

    for (size_t i = 0; i < op->of.call->n_inputs; i++) {
        if (!reads_any(verification, op, op->of.call->inputs[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < op->of.call->n_outputs; i++) {
        if (!makes_any(verification, op, op->of.call->outputs[i])) {
            return false;
        }
    }
    return true;
}

static bool verify_op(struct verification *verification, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    MDF_LOWERED_CASES_OF_ELEMENTS:
        return verify_element_op(verification, op);
    case MDF_LOWERED_CALL:
        return verify_call(verification, op);
    case MDF_LOWERED_NEST:
        return verify_nest(verification, op);
    case MDF_LOWERED_IF:
        return verify_branches(verification, op);
    case MDF_LOWERED_LOOP:
        return verify_loop(verification, op);
    }
    return fail(verification, NULL, "an op of no code");
}

static bool verify_region(struct verification *verification, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        if (!verify_op(verification, &region->ops[i])) {
            return false;
        }
    }
    return true;
}

/* Of two loops that may run at the same time, the second needs nothing of the first, or only its items, row by row. */
static bool verify_concurrent(struct verification *verification, const struct mdf_lowered_region *region, size_t at)
{
    const struct mdf_lowered_op *first = &region->ops[at], *second = first + 1;
    const struct mdf_lowered_concurrent *concurrent = first->code == MDF_LOWERED_LOOP ? first->of.loop->concurrent : NULL;
    bool *marks = verification->marks;
    size_t n_items = 0;

    if (concurrent == NULL || concurrent->loops[0] != first->of.loop) {
        return true;
    }
    if (at + 1 == region->n_ops || second->code != MDF_LOWERED_LOOP || second->of.loop != concurrent->loops[1] ||
        second->of.loop->concurrent != concurrent) {
        return fail(verification, first, "the other loop does not follow");
    }
    memset(marks, 0, verification->lowered->n_values * sizeof *marks);
    mdf_lowered_mark_results(first, marks);
    for (size_t i = 0; i < second->of.loop->n_rows && concurrent->waits; i++) {
        n_items += marks[second->of.loop->rows[i].source];
    }
    return mdf_lowered_count_marked(second, marks) == n_items ||
           fail(verification, second, "needs more of the other loop than its items");
}

bool mdf_lowered_verify(const struct mdf_lowered *lowered, struct mdf_text *why)
{
    struct mdf_arena arena;
    struct verification verification = {.lowered = lowered, .why = why};
    bool holds;

    mdf_arena_init(&arena, lowered->context->memory);
    verification.is_there = mdf_arena_array(&arena, lowered->n_values + 1, sizeof *verification.is_there);
    verification.is_made = mdf_arena_array(&arena, lowered->n_values + 1, sizeof *verification.is_made);
    verification.made = mdf_arena_array(&arena, 2 * lowered->n_values + 1, sizeof *verification.made);
    verification.n_stored = mdf_arena_array(&arena, lowered->n_values + 1, sizeof *verification.n_stored);
    verification.marks = mdf_arena_array(&arena, lowered->n_values + 1, sizeof *verification.marks);
    holds = verification.is_there != NULL && verification.is_made != NULL && verification.made != NULL &&
            verification.n_stored != NULL && verification.marks != NULL;
    for (size_t i = 0; holds && i < lowered->n_values; i++) {
        verification.is_there[i] = verification.is_made[i] =
            lowered->values[i].place == MDF_LOWERED_INPUT || lowered->values[i].place == MDF_LOWERED_CONSTANT;
    }
    holds = holds && verify_region(&verification, &lowered->region);
    for (size_t i = 0; holds && i < lowered->region.n_ops; i++) {
        holds = verify_concurrent(&verification, &lowered->region, i);
    }
    for (size_t i = 0; holds && i < lowered->n_outputs; i++) {
        holds = reads(&verification, NULL, lowered->outputs[i].id);
    }
    mdf_arena_release(&arena);
    return holds;
}
