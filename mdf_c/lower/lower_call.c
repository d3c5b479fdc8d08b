/* lower_call.c - calls of kernels: element ops where a kernel runs one loop over elements, or computes Python's numbers; else
 * CALL.
 *
 * The kernel is run once, on examples, so that nothing need be known about it but what it did: the type and shape of its outputs,
 * and what loop it ran on which operands (functions/elements/elementwise.h, mdf_elementwise_trace). What is taken for an element
 * op has to give the same elements as the kernel did. */
#include "functions/custom/custom.h"
#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "functions/kernel/routine.h"
#include "functions/sampling/random_marks.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lower/trial.h"

#include <math.h>
#include <string.h>

enum { FEW_SOFTMAX_ELEMENTS = 32, MOST_SOFTMAX_ELEMENTS = 1024, MOST_HARDMAX_ELEMENTS = 256, LONGEST_LINE = 32 };

/* ------------------------------------------------------------------ element ops */

/* Whether the elements of a value lie as those of a result of n elements: one for all, or one for each. */
static bool is_even(const struct mdf_value *value, const struct mdf_value *result)
{
    return value->length == 1 || value->length == result->length;
}

/* Whether a conversion loses nothing but the precision of reals, whatever the number: then it may be made before the call. */
static bool is_safe_cast(mdf_dtype from, mdf_dtype to)
{
    bool to_more = mdf_dtype_kind(from) == 'b' || (mdf_dtype_kind(from) != 'f' && mdf_dtype_size(to) > mdf_dtype_size(from));

    return lowering_casts(from) && lowering_casts(to) && (mdf_dtype_kind(to) == 'f' || (mdf_dtype_kind(to) == 'i' && to_more));
}

/* The same of what an operand of a loop was made from, which may be a truth, or a real, of any number. */
static bool is_safe_operand(const struct mdf_value *given, const struct mdf_value *operand)
{
    return operand->dtype == MDF_DTYPE_BOOL || mdf_dtype_kind((mdf_dtype)operand->dtype) == 'f' ||
           is_safe_cast((mdf_dtype)given->dtype, (mdf_dtype)operand->dtype);
}

/* The value that operand number `k` of the loop was made from: an input, or its conversion, also to other axes. */
static mdf_lowered_id operand_id(struct lowering *lowering, const struct trial *trial, size_t k)
{
    const struct mdf_value *operand = trial->trace.operands[k];
    struct mdf_value converted = {0};
    bool same;

    for (size_t i = 0; i < trial->n; i++) {
        if (operand == trial->effective[i]) {
            return trial->ids[i];
        }
    }
    if (trial->trace.n_operands != trial->n || trial->ids[k] == MDF_LOWERED_NONE ||
        trial->effective[k]->kind != MDF_KIND_TENSOR || trial->effective[k]->length != operand->length ||
        mdf_dtype_kind((mdf_dtype)trial->effective[k]->dtype) == 's') {
        return MDF_LOWERED_NONE;
    }
    if (!mdf_value_convert(lowering->memory, &converted, trial->effective[k], (mdf_dtype)operand->dtype)) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    same = memcmp(converted.data, operand->data, operand->length * mdf_dtype_size((mdf_dtype)operand->dtype)) == 0;
    mdf_value_clear(lowering->memory, &converted);
    return same && lowering_can_cast(lowering, trial->ids[k], (mdf_dtype)operand->dtype) &&
                   (lowering_is_constant(lowering, trial->ids[k]) || is_safe_operand(trial->effective[k], operand))
               ? lowering_convert(lowering, trial->ids[k], operand)
               : MDF_LOWERED_NONE;
}

/* Whether the loop that was traced makes all of the result, as it is now. */
static bool makes_result(struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_elementwise_trace *trace = &trial->trace;
    const struct mdf_value *result = &trial->results[0];
    const void *pointers[MDF_MAX_OPERANDS] = {NULL};
    size_t steps[MDF_MAX_OPERANDS] = {0}, n_bytes = result->length * mdf_dtype_size((mdf_dtype)result->dtype), i;
    struct mdf_value again = {0};
    bool same;

    for (i = 0; i < trace->n_operands; i++) {
        pointers[i] = trace->operands[i]->data;
        steps[i] = trace->operands[i]->length != 1 || result->length == 1;
    }
    if (mdf_value_make_tensor(lowering->memory, &again, (mdf_dtype)result->dtype, result->rank, mdf_value_shape(result)) ==
        NULL) {
        return lowering_out_of_memory(lowering);
    }
    same = trace->loop(again.data, pointers, steps, result->length, trace->settings) &&
           memcmp(again.data, result->data, n_bytes) == 0;
    mdf_value_clear(lowering->memory, &again);
    return same;
}

bool lowering_compute_first(enum mdf_lowered_code code, mdf_dtype dtype, size_t n_operands,
                            const struct mdf_value *const operands[], uint64_t *computed)
{
    uint64_t cells[MDF_MAX_OPERANDS] = {0};
    const uint64_t *pointers[MDF_MAX_OPERANDS] = {&cells[0], &cells[1], &cells[2]};

    for (size_t i = 0; i < n_operands; i++) {
        memcpy(&cells[i], operands[i]->data, mdf_dtype_size((mdf_dtype)operands[i]->dtype));
    }
    return mdf_lowered_compute(code, dtype, pointers, computed);
}

/* Whether the code gives the first element of the result from those of the operands. */
static bool agrees(const struct trial *trial, enum mdf_lowered_code code, mdf_dtype dtype, size_t n_operands,
                   const struct mdf_value *const operands[])
{
    const struct mdf_value *result = &trial->results[0];
    uint64_t computed = 0;

    return lowering_compute_first(code, dtype, n_operands, operands, &computed) &&
           memcmp(&computed, result->data, mdf_dtype_size((mdf_dtype)result->dtype)) == 0;
}

/* Whether all operands of the loop lie as the result does. */
static bool are_even(const struct trial *trial)
{
    size_t i;

    for (i = 0; i < trial->trace.n_operands && is_even(trial->trace.operands[i], &trial->results[0]); i++) {
    }
    return i == trial->trace.n_operands;
}

/* Whether a kernel ran the loop of another function than its row's, of fewer operands, for a value that may be another next time:
 * numpy's power of 2 is a square. */
static bool has_chosen_by_value(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_element *element = mdf_element_of(trial->source->operator, trial->source->settings);
    size_t n_given = 0;

    for (size_t i = 0; i < trial->n; i++) {
        n_given += trial->given[i] != NULL && trial->given[i]->kind != MDF_KIND_NONE;
    }
    return element != NULL && trial->trace.operation != &mdf_element_operations[element->id] &&
           trial->trace.n_operands < n_given && !lowering_has_constants(lowering, trial, 1);
}

/* The op for a kernel that ran one loop; false without a refusal where it is no such op. It is one of a region where its operands
 * lie as the result does, else of a nest. */
static bool trace_op(struct lowering *lowering, struct trial *trial, struct mdf_lowered_op *op, bool *all_even)
{
    const struct mdf_elementwise_trace *trace = &trial->trace;
    const struct mdf_value *result = &trial->results[0];
    enum mdf_lowered_code code;

    if (trace->n_calls != 1 || trace->loop == NULL || trace->target != result ||
        (lowering->is_for_source &&
         trial->source->operator->form == MDF_FORM_BOUNDS) || /* of one bound, whose loop has no text */
        (trace->settings != NULL && trace->settings != trial->call.settings && !trace->operation->settings_last) ||
        result->length == 0 || has_chosen_by_value(lowering, trial)) {
        return false;
    }
    *all_even = are_even(trial);
    if (*all_even && !makes_result(lowering, trial)) {
        return false;
    }
    op->dtype = trace->operands[trace->n_operands - 1]->dtype;
    op->n_in = (uint8_t)trace->n_operands;
    op->loop = trace->loop;
    op->loop_settings = trace->settings;
    for (size_t i = 0; i < trace->n_operands; i++) {
        op->in[i] = operand_id(lowering, trial, i);
        if (op->in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    code = lowering_rule(trial->source->operator, trial->source->settings, (mdf_dtype)op->dtype, true);
    op->code = (uint8_t)(code != MDF_LOWERED_ELEMENTS && agrees(trial, code, (mdf_dtype)op->dtype, op->n_in, trace->operands)
                             ? code
                             : MDF_LOWERED_ELEMENTS);
    return true;
}

/* Kernels that give their first input's elements, in order, under another shape or type, where there are as many. What folds or
 * averages its operands does where there is but one. */
static bool keeps_elements(const struct trial *trial)
{
    const struct mdf_operator *operator= trial->source->operator;
    bool has_one = (operator->form == MDF_FORM_VARIADIC || operator->form == MDF_FORM_MEAN) && trial->n == 1;

    return operator->element == MDF_ELEMENT(kept) ||
           has_one || operator->form == MDF_FORM_NUMBER ||(operator->move != NULL && operator->move->in_order) ||
           lowering_fits(trial);
}

/* Reals become narrow whole numbers by way of wider ones, which wrap: what does not fit these either bails out. */
static bool cast_to_wider(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_op *op)
{
    mdf_dtype to = (mdf_dtype)trial->results[0].dtype;
    mdf_dtype wider = to == MDF_DTYPE_UINT32 ? MDF_DTYPE_INT64 : MDF_DTYPE_INT32;

    if (!lowering_cuts_to(to) && mdf_dtype_kind((mdf_dtype)op->dtype) == 'f') {
        op->in[0] = lowering_cast_by(lowering, op->in[0], wider, trial->source->operator);
        op->dtype = (uint8_t)wider;
    }
    return op->in[0] != MDF_LOWERED_NONE;
}

/* Python's int keeps a number past 64 bits as a real: it is that number's own, and not the next one's. */
static bool is_past_whole(const struct trial *trial)
{
    double real = 0;

    return trial->source->operator->form == MDF_FORM_NUMBER && mdf_dtype_kind((mdf_dtype)trial->results[0].dtype) == 'f' &&
           (!mdf_value_to_double(&trial->results[0], &real) || !(fabs(real) < 0x1p63));
}

/* CAST or COPY for such a kernel. The shape may not depend on anything that changes. */
static bool view_op(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_op *op)
{
    const struct mdf_value *result = &trial->results[0];
    struct mdf_value converted = {0};
    bool same;

    if (!keeps_elements(trial) || trial->n == 0 || trial->ids[0] == MDF_LOWERED_NONE || result->kind != MDF_KIND_TENSOR ||
        trial->effective[0]->kind != MDF_KIND_TENSOR || result->length == 0 || result->length != trial->effective[0]->length ||
        !lowering_casts_elements((mdf_dtype)trial->effective[0]->dtype, (mdf_dtype)result->dtype) || is_past_whole(trial)) {
        return false;
    }
    for (size_t i = 1; i < trial->n; i++) {
        if (trial->ids[i] != MDF_LOWERED_NONE && !lowering_is_constant(lowering, trial->ids[i])) {
            return false;
        }
    }
    if (!mdf_value_convert(lowering->memory, &converted, trial->effective[0], (mdf_dtype)result->dtype)) {
        return lowering_out_of_memory(lowering);
    }
    same = memcmp(converted.data, result->data, result->length * mdf_dtype_size((mdf_dtype)result->dtype)) == 0;
    mdf_value_clear(lowering->memory, &converted);
    op->code = (uint8_t)(result->dtype == trial->effective[0]->dtype ? MDF_LOWERED_COPY : MDF_LOWERED_CAST);
    op->dtype = trial->effective[0]->dtype;
    op->n_in = 1;
    op->in[0] = trial->ids[0];
    op->loop = NULL;
    return same && (op->code == MDF_LOWERED_COPY || cast_to_wider(lowering, trial, op));
}

static bool add_element_op(struct lowering *lowering, struct scope *scope, const struct trial *trial, struct mdf_lowered_op *op)
{
    op->operator= trial->source->operator;
    op->settings = trial->source->settings;
    return lowering_bind(lowering, scope, trial->source->outputs[0], lowering_add_element_op(lowering, *op, &trial->results[0]));
}

/* A NEST for an op whose operands repeat along axes; *taken: there is one. */
static bool add_broadcast(struct lowering *lowering, struct scope *scope, const struct trial *trial, struct mdf_lowered_op *op,
                          bool *taken)
{
    mdf_lowered_id id;

    op->operator= trial->source->operator;
    op->settings = trial->source->settings;
    id = lowering_composed_nest(lowering, trial, op);
    if (id == MDF_LOWERED_NONE && !lowering_has_failed(lowering)) {
        id = lowering_broadcast(lowering, op, &trial->results[0]);
    }
    *taken = id != MDF_LOWERED_NONE;
    return *taken ? lowering_bind(lowering, scope, trial->source->outputs[0], id) : !lowering_has_failed(lowering);
}

/* ------------------------------------------------------------------ calls */

struct region *lowering_place_of(struct lowering *lowering, const struct trial *trial)
{
    size_t depth = 0;

    for (size_t i = 0; i < trial->n; i++) {
        if (trial->ids[i] != MDF_LOWERED_NONE && lowering->facts[trial->ids[i]].depth > depth) {
            depth = lowering->facts[trial->ids[i]].depth;
        }
    }
    return lowering_place(lowering, depth);
}

struct mdf_lowered_call *lowering_make_call(struct lowering *lowering, const struct mdf_call *form, const mdf_lowered_id *inputs)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_call *call = mdf_arena_allocate(arena, sizeof *call);

    if (call != NULL) {
        call->inputs = mdf_arena_array(arena, form->n_inputs, sizeof *call->inputs);
        call->outputs = mdf_arena_array(arena, form->n_outputs, sizeof *call->outputs);
        call->call = *form;
        call->call.scratch = mdf_arena_array(arena, MDF_CALL_SCRATCH, sizeof *call->call.scratch);
    }
    if (call == NULL || call->inputs == NULL || call->outputs == NULL || call->call.scratch == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    call->n_inputs = form->n_inputs;
    call->n_outputs = form->n_outputs;
    if (form->n_inputs > 0) {
        memcpy(call->inputs, inputs, form->n_inputs * sizeof *call->inputs);
    }
    return call;
}

static bool is_draw(const struct mdf_code_call *source)
{
    return (source->operator->flags & MDF_OPERATOR_RANDOM) != 0;
}

bool lowering_add_call(struct lowering *lowering, struct scope *scope, const struct trial *trial)
{
    struct region *region;
    struct mdf_lowered_call *call;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CALL, .out = MDF_LOWERED_NONE};

    for (size_t i = 0; i < trial->n; i++) { /* a kernel reads all of them */
        trial->ids[i] = trial->forms[i] != MDF_LOWERED_NONE ? trial->forms[i] : trial->ids[i];
    }
    region = is_draw(trial->source) ? lowering->region : lowering_place_of(lowering, trial);
    op.of.call = call = lowering_make_call(lowering, &trial->call, trial->ids);
    if (call == NULL) {
        return false;
    }
    if (is_draw(trial->source) && !lowering_find_draw(lowering, trial, &call->draw)) {
        return false;
    }
    call->source = scope->code != NULL ? trial->source : NULL; /* others do not last */
    call->weakens = trial->source->signature != NULL && trial->is_weak;
    op.operator= trial->source->operator;
    op.settings = trial->source->settings;
    for (size_t i = 0; i < call->n_outputs; i++) {
        call->outputs[i] = MDF_LOWERED_NONE;
        if (trial->outputs[i] == NULL) {
            continue;
        }
        call->outputs[i] = lowering_add_value(lowering, MDF_LOWERED_RESULT, &trial->results[i]);
        if (!lowering_bind(lowering, scope, trial->source->outputs[i], call->outputs[i])) {
            return false;
        }
        lowering->facts[call->outputs[i]].depth = region->depth;
        lowering->facts[call->outputs[i]].region = region;
        lowering->facts[call->outputs[i]].is_product = call->draw != NULL;
    }
    if (call->draw != NULL) {
        call->draw->out = call->outputs[0];
    }
    return lowering_add_op(lowering, region, &op);
}

/* ------------------------------------------------------------------ all */

bool lowering_has_constants(const struct lowering *lowering, const struct trial *trial, size_t first)
{
    for (size_t i = first; i < trial->n; i++) {
        if (trial->ids[i] != MDF_LOWERED_NONE && !lowering_is_constant(lowering, trial->ids[i])) {
            return false;
        }
    }
    return true;
}

/* A constant takes the place of each input of which only type and shape count, which are the same in all runs. */
static bool settle_forms(struct lowering *lowering, struct trial *trial)
{
    mdf_lowered_id any = MDF_LOWERED_NONE;

    for (size_t i = 0; i < trial->n; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || !mdf_counts_by_form(trial->source->operator, i) ||
            lowering_is_constant(lowering, trial->ids[i]) || trial->effective[i]->kind != MDF_KIND_TENSOR ||
            lowering->facts[trial->ids[i]].is_open) {
            continue;
        }
        any = any != MDF_LOWERED_NONE ? any : lowering_any_constant(lowering);
        trial->forms[i] = trial->ids[i];
        trial->ids[i] = any;
        if (any == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* What constants give is constant, also a list. */
static bool fold(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] != NULL &&
            !lowering_bind(lowering, scope, trial->source->outputs[i], lowering_keep_constant(lowering, &trial->results[i]))) {
            return false;
        }
    }
    return true;
}

bool lowering_add_nest_of_call(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    struct mdf_lowered_op op = {.out = MDF_LOWERED_NONE};
    bool all_even = true;

    *taken = false;
    if (trace_op(lowering, trial, &op, &all_even)) {
        return (op.code >= MDF_LOWERED_FUNCTION && !(lowering->is_for_source && op.code == MDF_LOWERED_ELEMENTS)) ||
               add_broadcast(lowering, scope, trial, &op, taken);
    }
    if (lowering_has_failed(lowering)) {
        return false;
    }
    if (trial->source->operator->move != NULL) {
        return lowering_move(lowering, scope, trial, taken);
    }
    return lowering_try_nest(lowering, scope, trial, taken) &&
           (*taken || !lowering->is_for_source || lowering_compose(lowering, scope, trial, taken));
}

/* Whether calling the kernel takes longer than what it does. */
static bool is_small(const struct trial *trial)
{
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] != NULL && trial->results[i].length > LOWERING_FEW_ELEMENTS) {
            return false;
        }
    }
    return true;
}

/* The elements of a line of Softmax and its kin, as they are by version. */
static size_t line_length(const struct trial *trial)
{
    const struct mdf_value *x = trial->effective[0];
    bool is_flat;
    size_t axis = lowering_line_axis(trial->source, x->rank, &is_flat), n = 1, d;

    for (d = axis; d < x->rank && (is_flat || d == axis); d++) {
        n *= (size_t)mdf_value_shape(x)[d];
    }
    return n;
}

/* Whether a nest takes less time than a call of the kernel: of few elements, in loops of more of them in short lines. */
static bool is_short_softmax(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *result = &trial->results[0];
    enum mdf_form form = trial->source->operator->form;
    size_t most = form == MDF_FORM_HARDMAX ? MOST_HARDMAX_ELEMENTS : MOST_SOFTMAX_ELEMENTS;

    if ((form != MDF_FORM_SOFTMAX && form != MDF_FORM_HARDMAX) ||
        (form == MDF_FORM_SOFTMAX && !mdf_dtype_is_real(result->dtype))) {
        return false;
    }
    return (form == MDF_FORM_SOFTMAX && result->length <= FEW_SOFTMAX_ELEMENTS) ||
           (lowering->region->kind == REGION_BODY && result->length <= most && line_length(trial) <= LONGEST_LINE);
}

/* A mean of several arrays, or a function between bounds, for which a kernel goes through the result once for each; a number that
 * becomes a whole one. */
static bool is_composed(const struct lowering *lowering, const struct trial *trial)
{
    enum mdf_form form = trial->source->operator->form;
    bool rounds = form == MDF_FORM_FLOOR || form == MDF_FORM_CEILING || form == MDF_FORM_NEAREST;

    return (rounds && trial->effective[0]->rank == 0) ||
           ((form == MDF_FORM_MEAN || form == MDF_FORM_CLIP || form == MDF_FORM_BOUNDS || form == MDF_FORM_DECIMALS) &&
            (lowering->region->kind == REGION_BODY || is_small(trial)));
}

/* Whether a way that was tried ends the call: it was taken, or did not hold. Then *taken is whether the call is lowered. */
static bool ends(const struct lowering *lowering, bool holds, bool *taken)
{
    bool is_end = *taken || !holds;

    *taken = *taken && holds && !lowering_has_failed(lowering);
    return is_end;
}

/* The call `source`, which has two inputs, of these: its result. */
static mdf_lowered_id call_two(struct lowering *lowering, const struct mdf_code_call *source, mdf_lowered_id a, mdf_lowered_id b)
{
    const mdf_lowered_id items[] = {a, b};
    struct trial trial = {.source = source, .items = items, .n_items = 2};
    struct scope scope = {0}; /* of its own: for the one result */
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (lowering_begin_trial(lowering, &trial) && lowering_try(lowering, &scope, &trial) &&
        lowering_add_tried(lowering, &scope, &trial)) {
        id = lowering_value_of(lowering, &scope, source->outputs[0]);
    }
    lowering_end_trial(lowering, &trial);
    return id;
}

/* A function of more than two arrays is that of two, one after the other; *taken: the call is such a one. */
static bool fold_operands(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    struct mdf_code_call *two;
    mdf_operand *operands;
    mdf_lowered_id total = trial->ids[0];

    *taken = false;
    for (size_t i = 0; i < trial->n; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || trial->effective[i]->kind != MDF_KIND_TENSOR) {
            return true;
        }
    }
    two = mdf_arena_allocate(&lowering->lowered->arena, sizeof *two);
    operands = mdf_arena_array(&lowering->lowered->arena, 3, sizeof *operands);
    if (two == NULL || operands == NULL) {
        return lowering_out_of_memory(lowering);
    }
    operands[2] = MDF_OPERAND(MDF_OPERAND_SLOT, 0);
    *two = *trial->source;
    two->signature = NULL; /* inputs have the types that the operator wants */
    two->inputs = operands;
    two->outputs = operands + 2;
    two->n_inputs = 2;
    for (size_t i = 1; i < trial->n && total != MDF_LOWERED_NONE; i++) {
        total = call_two(lowering, two, total, trial->ids[i]);
    }
    *taken = lowering_is_result(lowering, trial, total);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], total));
}

/* Whether an operand lies in rows of another array that are no one row: a nest of as many axes reads it there, where an op on
 * arrays of one length would need a copy. */
static bool lies_in_rows(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    enum { SHORTEST_ROW = 8 };

    for (size_t i = 0; i < op->n_in; i++) {
        const struct lowering_view *view = &lowering->facts[op->in[i]].view;
        const struct mdf_value *example = lowering_example(lowering, op->in[i]);
        int64_t step = 1;

        if (!view->is_there || example->rank < 2 || view->strides[example->rank - 1] != 1 ||
            mdf_value_shape(example)[example->rank - 1] < SHORTEST_ROW) {
            continue;
        }
        for (size_t d = example->rank; d-- > 0; step *= mdf_value_shape(example)[d]) {
            if (mdf_value_shape(example)[d] != 1 && view->strides[d] != step) {
                return true;
            }
        }
    }
    return false;
}

/* Brings the inputs of a registered function to the types that it declares, as its kernel does; others have no form in C. */
static bool cast_arguments(struct lowering *lowering, struct trial *trial)
{
    const struct mdf_custom *custom = mdf_custom_of(trial->source->operator, trial->source->settings);

    for (size_t i = 0; custom != NULL && i < trial->n; i++) {
        mdf_dtype wanted = custom->arguments[i].dtype, given;

        if (trial->ids[i] == MDF_LOWERED_NONE || trial->effective[i]->kind != MDF_KIND_TENSOR || wanted == MDF_DTYPE_NONE) {
            continue;
        }
        given = (mdf_dtype)trial->effective[i]->dtype;
        if (given != wanted && is_safe_cast(given, wanted)) {
            trial->ids[i] = lowering_cast(lowering, trial->ids[i], wanted);
        }
    }
    return !lowering_has_failed(lowering);
}

/* Whether a call is OneHot of a few numbers in a loop, whose nest becomes one with what reads it. */
static bool is_short_one_hot(const struct lowering *lowering, const struct trial *trial)
{
    enum { MOST_ELEMENTS = 1 << 12 };

    return trial->source->operator->form == MDF_FORM_ONE_HOT && lowering->region->kind == REGION_BODY && trial->results[0]
        .length <= MOST_ELEMENTS;
}

/* Whether a call normalises or pools a few elements in a loop, whose kernel looks at types, shapes and attributes each time. */
static bool is_short_norm_or_pool(const struct lowering *lowering, const struct trial *trial)
{
    enum {
        MOST_ELEMENTS = 1 << 12,
        MOST_OF_CHANNELS = 1 << 11
    }; /* of many short channels, or long planes, kernels are as fast */
    enum mdf_form form = trial->source->operator->form;
    bool has_channels = form == MDF_FORM_BATCH_NORM || form == MDF_FORM_POOL_PLANES;

    return form >= MDF_FORM_LAYER_NORM && form <= MDF_FORM_POOL_PLANES && lowering->region->kind == REGION_BODY && trial->n > 0 &&
           trial->ids[0] != MDF_LOWERED_NONE &&
           trial->effective[0]->length <= (size_t)(has_channels ? MOST_OF_CHANNELS : MOST_ELEMENTS);
}

/* Whether a call is a convolution of few products in a loop, whose kernel lays out planes and windows each time. */
static bool is_short_convolution(const struct lowering *lowering, const struct trial *trial)
{
    enum { MOST_PRODUCTS = 1 << 15 };
    size_t n_outputs;

    if (trial->source->operator->form != MDF_FORM_CONVOLUTION || lowering->region->kind != REGION_BODY || trial->n < 2 ||
        trial->ids[1] == MDF_LOWERED_NONE || trial->effective[1]->kind != MDF_KIND_TENSOR || trial->effective[1]->rank < 3 ||
        trial->effective[1]->length == 0) {
        return false;
    }
    n_outputs = (size_t)mdf_value_shape(trial->effective[1])[0];
    return trial->results[0].length * (trial->effective[1]->length / n_outputs) <= MOST_PRODUCTS;
}

/* Whether the result is the same, whatever the elements are. */
static bool has_constant_result(const struct trial *trial)
{
    return trial->n == 1 && trial->effective[0]->kind == MDF_KIND_TENSOR &&
           mdf_element_is_constant(mdf_element_of(trial->source->operator, trial->source->settings),
                                   (mdf_dtype)trial->effective[0]->dtype);
}

static bool is_single(const struct trial *trial)
{
    return trial->source->n_outputs == 1 && trial->outputs[0] != NULL;
}

/* Calls that come to calls of others, or to single elements; *taken: it was such a call, as below. */
static bool lower_as_others(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    bool has_elements = is_single(trial) && trial->results[0].length > 0;
    bool is_folded = trial->source->operator->form == MDF_FORM_VARIADIC && trial->n> 2;

    if (!has_elements || (is_folded && ends(lowering, fold_operands(lowering, scope, trial, taken), taken)) ||
        ends(lowering, lowering_limit_elements(lowering, scope, trial, taken), taken)) {
        return !has_elements || *taken;
    }
    return lowering_take_item(lowering, scope, trial, taken);
}

/* A kernel's one loop over elements, and calls that leave elements as they lie. */
static bool lower_as_elements(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    struct mdf_lowered_op op = {.out = MDF_LOWERED_NONE};
    mdf_operand out = trial->source->outputs[0];
    bool all_even = true;
    mdf_lowered_id id;

    if (trace_op(lowering, trial, &op, &all_even)) {
        if ((!all_even || (lowering->region->kind == REGION_BODY && lies_in_rows(lowering, &op))) &&
            ends(lowering, add_broadcast(lowering, scope, trial, &op, taken), taken)) {
            return *taken;
        }
        if (!all_even) {
            return true;
        }
        *taken = true;
        id = lowering_composed(lowering, trial, &op);
        return id != MDF_LOWERED_NONE ? lowering_bind(lowering, scope, out, id)
                                      : !lowering_has_failed(lowering) && add_element_op(lowering, scope, trial, &op);
    }
    if (!view_op(lowering, trial, &op)) {
        return true;
    }
    *taken = true;
    return op.code == MDF_LOWERED_COPY && mdf_value_has_form_of(lowering_example(lowering, op.in[0]), &trial->results[0])
               ? lowering_bind(lowering, scope, out, op.in[0])
               : add_element_op(lowering, scope, trial, &op);
}

/* Rows of loops, elements that are moved or put elsewhere, and loop nests. */
static bool lower_as_nests(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    bool may_move = lowering->is_for_source || lowering->region->kind == REGION_BODY || is_small(trial);

    if (is_single(trial) && ends(lowering, lowering_take_row(lowering, scope, trial, taken), taken)) {
        return *taken;
    }
    if (may_move && trial->source->operator->move != NULL &&
                    ends(lowering, lowering_move(lowering, scope, trial, taken), taken)) {
        return *taken;
    }
    if (ends(lowering, lowering_try_nest(lowering, scope, trial, taken), taken)) {
        return *taken;
    }
    return lowering_put(lowering, scope, trial, taken);
}

/* Python's numbers, and what is made of several nests. */
static bool lower_as_numbers(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    bool may_compose = lowering->is_for_source || is_short_softmax(lowering, trial) || is_short_one_hot(lowering, trial) ||
                       is_short_norm_or_pool(lowering, trial) || is_short_convolution(lowering, trial) ||
                       is_composed(lowering, trial);

    if (lowering_has_failed(lowering)) {
        return true;
    }
    if (is_single(trial) && ends(lowering, lowering_add_number(lowering, scope, trial, taken), taken)) {
        return *taken;
    }
    if (is_single(trial) && !lowering_has_failed(lowering) &&
        ends(lowering, lowering_choose_number(lowering, scope, trial, taken), taken)) {
        return *taken;
    }
    return !may_compose || lowering_has_failed(lowering) || lowering_compose(lowering, scope, trial, taken);
}

/* For C source, the types that the text of a call wants its inputs in. */
static bool cast_for_text(struct lowering *lowering, struct trial *trial)
{
    const struct mdf_routine *routine = trial->source->operator->routine;

    if (!lowering->is_for_source) {
        return true;
    }
    if (!cast_arguments(lowering, trial)) {
        return false;
    }
    if (routine != NULL && routine->takes_result_type && trial->ids[0] != MDF_LOWERED_NONE &&
        lowering_casts((mdf_dtype)trial->effective[0]->dtype) && lowering_casts((mdf_dtype)trial->results[0].dtype)) {
        trial->ids[0] = lowering_cast(lowering, trial->ids[0], (mdf_dtype)trial->results[0].dtype);
    }
    return !lowering_has_failed(lowering);
}

static bool add_ops(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    bool taken = false;

    if (lowering_has_constants(lowering, trial, 0) || has_constant_result(trial)) {
        return fold(lowering, scope, trial);
    }
    if (ends(lowering, lower_as_others(lowering, scope, trial, &taken), &taken)) {
        return taken;
    }
    if (lowering_meets_halves(lowering, trial)) {
        return lowering_lower_halves(lowering, scope, trial, &taken) && (taken || lowering_add_call(lowering, scope, trial));
    }
    if ((is_single(trial) && ends(lowering, lower_as_elements(lowering, scope, trial, &taken), &taken)) ||
        ends(lowering, lower_as_nests(lowering, scope, trial, &taken), &taken) ||
        ends(lowering, lower_as_numbers(lowering, scope, trial, &taken), &taken) ||
        ends(lowering, lowering_settle_rest(lowering, scope, trial, &taken), &taken)) {
        return taken;
    }
    return cast_for_text(lowering, trial) && !lowering_has_failed(lowering) && lowering_add_call(lowering, scope, trial);
}

bool lowering_add_tried(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    return settle_forms(lowering, trial) && lowering_settle_shapes(lowering, trial) && add_ops(lowering, scope, trial);
}

/* Runs the kernel on the examples; what it draws for them is not drawn for the model. */
static bool run_on_examples(struct lowering *lowering, struct scope *scope, struct trial *trial, struct other_results *others)
{
    struct mdf_random_marks marks = {.n_streams = 0};
    bool draws = is_draw(trial->source), done;

    if (draws && !mdf_random_mark(&marks, &lowering->execution->context)) {
        return lowering_out_of_memory(lowering);
    }
    done = lowering_try(lowering, scope, trial) && lowering_run_others(lowering, trial, others);
    if (draws) {
        mdf_random_return(&marks, &lowering->execution->context);
        mdf_random_marks_release(&marks, lowering->memory);
    }
    return done;
}

/* Whether the call takes an item of an array that grows, which C source finds by its number. */
static bool takes_item(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *index = trial->n == 2 ? trial->effective[1] : NULL;
    const struct fact *array = trial->n == 2 ? &lowering->facts[trial->ids[0]] : NULL;

    return trial->source->operator->form == MDF_FORM_GATHER && index != NULL && index->kind == MDF_KIND_TENSOR &&
           index->rank == 0 && array->is_open && !array->view.is_there && !lowering->facts[trial->ids[1]]
               .is_open && lowering->lowered->values[trial->ids[0]]
               .open_axes == 1 && lowering_axis(trial->source, trial->effective[0]->rank, 0) == 0;
}

/* A call of what is open, which no nest is made of. */
static bool add_open_call(struct lowering *lowering, struct scope *scope, const struct trial *trial)
{
    return !lowering->is_for_source || takes_item(lowering, trial) ? lowering_add_call(lowering, scope, trial)
                                                                   : lowering_fail(lowering, MDF_REFUSED_GROWN);
}

/* A call whose results are known for the examples. */
static bool add_looked_at(struct lowering *lowering, struct scope *scope, struct trial *trial, struct other_results *others)
{
    bool taken;

    if (is_draw(trial->source)) { /* it is called where the model says it, and as often */
        lowering->draws = true;
        return lowering_settle_shapes(lowering, trial) && lowering_add_call(lowering, scope, trial);
    }
    if (others->is_open) {
        return lowering_open_nest(lowering, scope, trial, others, &taken) && (taken || add_open_call(lowering, scope, trial));
    }
    return lowering_add_tried(lowering, scope, trial) && lowering_note_views(lowering, scope, trial);
}

bool lowering_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    struct trial trial = {.source = source};
    struct other_results others;
    bool done, taken = false;

    if ((source->operator->flags & MDF_OPERATOR_CUSTOM) != 0) {
        return lowering_fail(lowering, MDF_REFUSED_CUSTOM);
    }
    if (ends(lowering, lowering_optional_call(lowering, scope, source, &taken), &taken) ||
        ends(lowering, lowering_sequence_call(lowering, scope, source, &taken), &taken) ||
        ends(lowering, lowering_append(lowering, scope, source, &taken), &taken) ||
        ends(lowering, lowering_list_call(lowering, scope, source, &taken), &taken)) {
        return taken;
    }
    if (!lowering_spread_list(lowering, scope, &trial)) {
        return false;
    }
    if (lowering_begin_trial(lowering, &trial) && run_on_examples(lowering, scope, &trial, &others)) {
        done = add_looked_at(lowering, scope, &trial, &others);
        done = lowering_note_others(lowering, scope, &trial, &others) && done;
    } else {
        done = false;
    }
    lowering_end_trial(lowering, &trial);
    return done;
}
