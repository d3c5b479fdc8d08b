/* lowered_run.c - the plain form: runs the ops of a region one after the other, as lowered.h says what they are. */
#include "mdf_c/lowered/lowered_parts.h"

#include "functions/kernel/coerce.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ scalars */

static bool run_cast(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_value *form = &lowered->values[op->out].form;

    return mdf_lowered_cast((mdf_dtype)op->dtype, (mdf_dtype)form->dtype, mdf_lowered_elements(lowered, op->in[0]),
                            mdf_lowered_elements(lowered, op->out), form->length);
}

static bool run_function(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    double operands[2] = {0, 0}, result;

    memcpy(&operands[0], &lowered->cells[op->in[0]], sizeof operands[0]);
    if (op->n_in > 1) {
        memcpy(&operands[1], &lowered->cells[op->in[1]], sizeof operands[1]);
    }
    result = op->n_in > 1 ? op->of.function_of_two(operands[0], operands[1]) : op->of.function(operands[0]);
    memcpy(&lowered->cells[op->out], &result, sizeof result);
    return isfinite(result);
}

/* ELEMENTS. */
static bool run_loop_once(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 1, 1};
    const void *operands[MDF_MAX_OPERANDS] = {NULL};

    for (size_t i = 0; i < op->n_in; i++) {
        operands[i] = &lowered->cells[op->in[i]];
    }
    return op->loop(&lowered->cells[op->out], operands, steps, 1, op->loop_settings);
}

static void run_copy(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    size_t n_bytes = mdf_lowered_size(lowered, op->out);

    if (n_bytes > 0 && !lowered->values[op->out].is_in_place) { /* else it lies there */
        memcpy(mdf_lowered_elements(lowered, op->out), mdf_lowered_elements(lowered, op->in[0]), n_bytes);
    }
}

/* Where the elements go; false: past a limit. */
static bool find_place(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op, int64_t *place)
{
    const struct mdf_lowered_put *put = op->of.put;
    const int64_t *indices = mdf_lowered_elements(lowered, op->in[2]);

    *place = 0;
    for (size_t i = 0; i < put->n_indices; i++) {
        int64_t index = indices[i] < 0 ? indices[i] + put->limits[i] : indices[i];

        if (index < 0 || index >= put->limits[i]) {
            return false;
        }
        *place += index * put->steps[i];
    }
    return true;
}

int mdf_lowered_run_put(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    size_t size = mdf_lowered_element_size(lowered, op->out), n_bytes = mdf_lowered_size(lowered, op->in[1]);
    const void *elements = mdf_lowered_elements(lowered, op->in[1]);
    int64_t place;
    char *to;

    if (!find_place(lowered, op, &place)) {
        return 1;
    }
    if (op->of.put->is_in_place) {
        lowered->arrays[op->out].data = lowered->arrays[op->in[0]].data;
    } else {
        memcpy(lowered->arrays[op->out].data, lowered->arrays[op->in[0]].data, mdf_lowered_size(lowered, op->out));
    }
    to = (char *)lowered->arrays[op->out].data + place * (int64_t)size;
    if (n_bytes == 4) {
        memcpy(to, elements, 4);
    } else if (n_bytes == 8) {
        memcpy(to, elements, 8);
    } else {
        memmove(to, elements, n_bytes);
    }
    return 0;
}

/* ------------------------------------------------------------------ CALL */

static bool has_form(const struct mdf_value *value, const struct mdf_lowered_value *expected)
{
    const struct mdf_value *form = &expected->form;
    size_t axis;

    if (memcmp(value, form, sizeof(uint64_t)) != 0) {
        return false;
    }
    if (expected->open_axes == 0) {
        return value->length == form->length &&
               memcmp(mdf_value_shape(value), mdf_value_shape(form), form->rank * sizeof(int64_t)) == 0;
    }
    for (axis = 0; axis < form->rank &&
                   ((expected->open_axes >> axis & 1) != 0 || mdf_value_shape(value)[axis] == mdf_value_shape(form)[axis]);
         axis++) {
    }
    return axis == form->rank;
}

/* A kernel may hand on what it got: a result that shares its memory with another value, or borrows it, gets memory of its own,
 * because NEST and LOOP write into theirs without asking. The next time the kernel finds room there. */
static bool take_result(struct mdf_lowered *lowered, mdf_lowered_id id)
{
    struct mdf_value *result = &lowered->arrays[id];

    if (!has_form(result, &lowered->values[id]) ||
        (mdf_value_own_elements(result) == NULL && mdf_value_writable(lowered->context->memory, result) == NULL)) {
        return false;
    }
    if (lowered->values[id].is_scalar) {
        memcpy(&lowered->cells[id], result->data, mdf_lowered_element_size(lowered, id));
    }
    return true;
}

/* Another shape, of as many axes, is worth remembering: it may be open. */
static void note_surprise(struct mdf_lowered *lowered, const struct mdf_lowered_call *call, size_t output)
{
    const struct mdf_value *result = &lowered->arrays[call->outputs[output]];
    const struct mdf_value *form = &lowered->values[call->outputs[output]].form;

    if (call->source != NULL && result->kind == MDF_KIND_TENSOR && result->dtype == form->dtype && result->rank == form->rank &&
        result->rank <= MDF_INLINE_RANK) {
        lowered->surprise = (struct mdf_lowered_surprise){.source = call->source, .output = output, .rank = result->rank};
        memcpy(lowered->surprise.shape, mdf_value_shape(result), result->rank * sizeof(int64_t));
    }
}

static int run_routine(struct mdf_lowered *lowered, struct mdf_lowered_routine *routine)
{
    for (size_t i = 0; i < MDF_LOWERED_ROUTINE_VALUES; i++) {
        if (routine->inputs[i] != MDF_LOWERED_NONE) {
            routine->in[i] = mdf_lowered_elements(lowered, routine->inputs[i]);
        }
        if (routine->outputs[i] != MDF_LOWERED_NONE) {
            routine->out[i] = mdf_lowered_elements(lowered, routine->outputs[i]);
        }
    }
    return routine->function(routine->out, routine->in, routine->whole, routine->real, routine->work) ? 0 : 1;
}

int mdf_lowered_run_call(struct mdf_lowered *lowered, struct mdf_lowered_call *call)
{
    if (call->stack != NULL) {
        mdf_lowered_look_at_stack(lowered, call);
        return 0;
    }
    if (call->product != NULL) {
        mdf_lowered_multiply(lowered, call->product);
        return mdf_stop_is_untold(lowered->context->stop) ? 1 : 0;
    }
    if (call->draw != NULL) {
        return mdf_lowered_draw(lowered, call->draw);
    }
    if (call->routine != NULL) {
        return run_routine(lowered, call->routine);
    }
    if (!call->call.kernel(&call->call) || mdf_stop_is_untold(lowered->context->stop)) {
        return 1;
    }
    if (call->weakens) {
        mdf_weaken_outputs(&call->call);
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_LOWERED_NONE && !take_result(lowered, call->outputs[i])) {
            note_surprise(lowered, call, i);
            return 1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ regions */

static bool run_branches(struct mdf_lowered *lowered, const struct mdf_lowered_if *branches)
{
    bool taken = mdf_lowered_truth(lowered, branches->condition);

    if (!mdf_lowered_run_region(lowered, taken ? &branches->then : &branches->otherwise)) {
        return false;
    }
    for (size_t i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];
        mdf_lowered_id source = taken ? merge->then : merge->otherwise;

        if (lowered->values[merge->out].is_scalar) {
            lowered->cells[merge->out] = lowered->cells[source];
        } else {
            lowered->arrays[merge->out].data = lowered->arrays[source].data;
        }
    }
    return true;
}

static bool run_op(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CAST:
        return run_cast(lowered, op);
    case MDF_LOWERED_FUNCTION:
        return run_function(lowered, op);
    case MDF_LOWERED_ELEMENTS:
        return run_loop_once(lowered, op);
    case MDF_LOWERED_COPY:
        run_copy(lowered, op);
        return true;
    case MDF_LOWERED_PUT:
        return mdf_lowered_run_put(lowered, op) == 0;
    case MDF_LOWERED_CALL:
        return mdf_lowered_run_call(lowered, op->of.call) == 0;
    case MDF_LOWERED_NEST:
        return mdf_lowered_run_nest(lowered, op->of.nest) == 0;
    case MDF_LOWERED_IF:
        return run_branches(lowered, op->of.branches);
    case MDF_LOWERED_LOOP:
        return mdf_lowered_run_loop(lowered, op->of.loop);
    default:
        return false;
    }
}

bool mdf_lowered_run_region(struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    uint64_t *cells = lowered->cells;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code <= MDF_LOWERED_SELECT ? !mdf_lowered_run_scalar(cells, op) : !run_op(lowered, op)) {
            return false;
        }
    }
    return true;
}
