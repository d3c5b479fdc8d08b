/* trial.c - a call run once, on examples: its inputs brought to the types that the operator wants, and what its kernel makes of
 * them. See trial.h. */
#include "mdf_c/lower/trial.h"

#include "functions/kernel/move.h"
#include "functions/kernel/routine.h"

#include <string.h>

bool lowering_begin_trial(struct lowering *lowering, struct trial *trial)
{
    const struct mdf_code_call *source = trial->source;
    struct mdf_arena *arena = &lowering->scratch;

    trial->n = source->n_inputs;
    trial->ids = mdf_arena_array(arena, trial->n, sizeof *trial->ids);
    trial->forms = mdf_arena_array(arena, trial->n, sizeof *trial->forms);
    trial->given = mdf_arena_array(arena, trial->n, sizeof *trial->given);
    trial->effective = mdf_arena_array(arena, trial->n, sizeof *trial->effective);
    trial->others = mdf_arena_array(arena, trial->n, sizeof *trial->others);
    trial->converted = mdf_arena_array(arena, trial->n, sizeof *trial->converted);
    trial->results = mdf_arena_array(arena, source->n_outputs, sizeof *trial->results);
    trial->outputs = mdf_arena_array(arena, source->n_outputs, sizeof *trial->outputs);
    trial->call.scratch = mdf_arena_array(arena, MDF_CALL_SCRATCH, sizeof *trial->call.scratch);
    if (trial->ids == NULL || trial->given == NULL || trial->effective == NULL || trial->converted == NULL ||
        trial->results == NULL || trial->outputs == NULL || trial->call.scratch == NULL || trial->others == NULL ||
        trial->forms == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < trial->n; i++) {
        trial->forms[i] = MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        trial->outputs[i] = source->outputs[i] == MDF_NO_OPERAND ? NULL : &trial->results[i];
    }
    trial->call.kernel = source->operator->kernel;
    trial->call.operator= source->operator;
    trial->call.settings = source->settings;
    trial->call.inputs = trial->effective;
    trial->call.n_inputs = trial->n;
    trial->call.outputs = trial->outputs;
    trial->call.n_outputs = source->n_outputs;
    trial->call.context = &lowering->execution->context;
    return true;
}

static bool read_inputs(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    for (size_t i = 0; i < trial->n; i++) {
        trial->ids[i] = MDF_LOWERED_NONE;
        if (i >= trial->n_items && trial->source->inputs[i] == MDF_NO_OPERAND) {
            continue;
        }
        trial->ids[i] = i < trial->n_items ? trial->items[i] : lowering_operand(lowering, scope, trial->source->inputs[i]);
        if (trial->ids[i] == MDF_LOWERED_NONE) {
            return false;
        }
        trial->given[i] = trial->effective[i] = lowering_example(lowering, trial->ids[i]);
        trial->is_open = trial->is_open || lowering->facts[trial->ids[i]].is_open;
        if (lowering->facts[trial->ids[i]].other.kind != MDF_KIND_NONE) {
            trial->others[i] = &lowering->facts[trial->ids[i]].other;
        }
    }
    return true;
}

void lowering_end_trial(struct lowering *lowering, struct trial *trial)
{
    for (size_t i = 0; trial->call.scratch != NULL && i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(lowering->memory, &trial->call.scratch[i]);
    }
    for (size_t i = 0; trial->converted != NULL && i < trial->n; i++) {
        mdf_value_clear(lowering->memory, &trial->converted[i]);
    }
    for (size_t i = 0; trial->results != NULL && i < trial->source->n_outputs; i++) {
        mdf_value_clear(lowering->memory, &trial->results[i]);
    }
}

mdf_lowered_id lowering_convert(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *example)
{
    struct mdf_lowered_op copy = {.code = MDF_LOWERED_COPY, .dtype = example->dtype, .n_in = 1};

    copy.in[0] = lowering_cast(lowering, id, (mdf_dtype)example->dtype);
    if (copy.in[0] == MDF_LOWERED_NONE || mdf_value_has_shape_of(lowering_example(lowering, copy.in[0]), example)) {
        return copy.in[0];
    }
    return lowering_add_element_op(lowering, copy, example);
}

/* Brings the inputs to the types that the operator wants. What is not constant may only become real: other conversions depend on
 * the elements. */
static bool convert_inputs(struct lowering *lowering, struct trial *trial)
{
    trial->is_weak = true;
    if (!mdf_coerce_inputs(&trial->call, trial->source->signature, trial->given, trial->effective, trial->converted)) {
        return lowering_fail(lowering, MDF_REFUSED_WRONG_INPUTS);
    }
    for (size_t i = 0; i < trial->n; i++) {
        const struct mdf_value *effective = trial->effective[i];
        char kind;

        trial->is_weak = trial->is_weak && (trial->given[i] == NULL || trial->given[i]->strength != MDF_STRENGTH_TYPED);
        if (effective == NULL) {
            trial->ids[i] = MDF_LOWERED_NONE;
        }
        if (effective == trial->given[i] || effective == NULL) {
            continue;
        }
        kind = effective->kind == MDF_KIND_TENSOR ? mdf_dtype_kind((mdf_dtype)effective->dtype) : 's';
        if (lowering->facts[trial->ids[i]].items != NULL && kind != 's') {
            trial->ids[i] = lowering_list_as_array(lowering, trial->ids[i], effective);
            if (trial->ids[i] == MDF_LOWERED_NONE) {
                return false;
            }
            continue;
        }
        if (lowering->facts[trial->ids[i]].is_sequence && kind != 's') { /* where one is not taken its items become an array */
            trial->ids[i] = lowering->facts[trial->ids[i]].rows;
            if (mdf_value_has_shape_of(lowering_example(lowering, trial->ids[i]), effective) &&
                lowering_example(lowering, trial->ids[i])->dtype == effective->dtype) {
                continue;
            }
            return lowering_fail_about(lowering, MDF_REFUSED_CONVERTED_INPUT, trial->given[i], effective);
        }
        if (lowering_is_constant(lowering, trial->ids[i]) && kind != 's') {
            trial->ids[i] = lowering_add_constant(lowering, effective, false);
        } else if (!lowering->facts[trial->ids[i]].is_open &&
                   (kind == 'f' || (kind != 's' && effective->dtype == trial->given[i]->dtype)) &&
                   effective->length == trial->given[i]->length) {
            trial->ids[i] = lowering_convert(lowering, trial->ids[i], effective);
        } else {
            return lowering_fail_about(lowering, MDF_REFUSED_CONVERTED_INPUT, trial->given[i], effective);
        }
        if (trial->ids[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* Ones in place of all inputs that are not constant: for kernels that refuse the elements that happen to be there, as in a branch
 * that is not taken. */
static bool substitute_ones(struct lowering *lowering, struct trial *trial)
{
    static const double one = 1;
    struct mdf_value source = {0};

    mdf_value_borrow_tensor(lowering->memory, &source, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &one);
    for (size_t i = 0; i < trial->n; i++) {
        const struct mdf_value *value = trial->effective[i];
        struct mdf_value element = {0}, *ones;
        char *elements;
        size_t size;

        if (value == NULL || value->kind != MDF_KIND_TENSOR || trial->ids[i] == MDF_LOWERED_NONE ||
            lowering_is_constant(lowering, trial->ids[i])) {
            continue;
        }
        ones = &trial->converted[i];
        if (!mdf_value_convert(lowering->memory, &element, &source, (mdf_dtype)value->dtype) ||
            !mdf_value_copy(lowering->memory, ones, value)) {
            return lowering_out_of_memory(lowering);
        }
        elements = mdf_value_writable(lowering->memory, ones);
        size = mdf_dtype_size((mdf_dtype)value->dtype);
        for (size_t j = 0; elements != NULL && j < ones->length; j++) {
            memcpy(elements + j * size, element.data, size);
        }
        mdf_value_clear(lowering->memory, &element);
        if (elements == NULL) {
            return lowering_out_of_memory(lowering);
        }
        trial->effective[i] = ones;
    }
    return true;
}

bool lowering_run_trial(struct lowering *lowering, struct trial *trial)
{
    struct mdf_context *context = &lowering->execution->context;
    bool done;

    memset(&trial->trace, 0, sizeof trial->trace);
    context->error.code = MDF_OK; /* the first error would hide that of this run */
    context->trace = &trial->trace;
    done = trial->call.kernel(&trial->call) && !mdf_stop_is_untold(context->stop);
    context->trace = NULL;
    if (!done && context->error.code == MDF_OUT_OF_MEMORY) {
        lowering_out_of_memory(lowering); /* no reason to lower the call in another way */
    }
    return done;
}

/* Whether nothing but the form of input `i` counts, be it given as a list, or a routine takes it as an array. */
static bool takes_form(const struct mdf_operator *operator, size_t i)
{
    unsigned set = operator->by_form | (operator->routine != NULL ? operator->routine->lists : 0);

    return i < 8 * sizeof set && (set >> i & 1) != 0;
}

/* Whether input `i` meets an array in a function of Python that takes lists as arrays then: of elements, or a product. */
static bool meets_array(const struct trial *trial, size_t i)
{
    const struct mdf_operator *operator= trial->source->operator;

    if (operator->formals == NULL ||(operator->element == NULL && operator->form != MDF_FORM_MATMUL)) {
        return false;
    }
    for (size_t k = 0; k < trial->n; k++) {
        if (k != i && trial->ids[k] != MDF_LOWERED_NONE && trial->effective[k]->kind == MDF_KIND_TENSOR &&
            trial->effective[k]->rank > 0 && trial->effective[k]->dtype != MDF_DTYPE_STRING) {
            return true;
        }
    }
    return false;
}

/* Whether input `i` is an array to the operator also where it is given a list; items of a list are none of an array. */
static bool takes_array(const struct trial *trial, size_t i)
{
    const struct mdf_operator *operator= trial->source->operator;

    if (operator->form == MDF_FORM_LIST_ITEM) {
        return false;
    }
    return takes_form(operator, i) || meets_array(trial, i) ||
           (operator->move != NULL ? i < mdf_move_data(operator->move, trial->n) : i == 0 && operator->fold != NULL);
}

/* Whether a list, and lists in it, have numbers of one type and strength, as an array of them has. */
static bool is_of_one_type(const struct mdf_value *list, const struct mdf_value **first)
{
    size_t n = mdf_value_n_items(list), i;

    for (i = 0; i < n; i++) {
        const struct mdf_value *item = &mdf_value_items(list)[i];

        *first = *first == NULL && item->kind == MDF_KIND_TENSOR ? item : *first;
        if (item->kind == MDF_KIND_LIST
                ? !is_of_one_type(item, first)
                : item->kind != MDF_KIND_TENSOR || item->dtype != (*first)->dtype || item->strength != (*first)->strength) {
            return false;
        }
    }
    return n > 0;
}

/* Runs the kernel, and compares what is read of its results with those of before. */
static bool gives_the_same(struct lowering *lowering, struct trial *trial, const struct mdf_value *before)
{
    if (!lowering_run_trial(lowering, trial)) {
        return false;
    }
    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        const struct mdf_value *result = &trial->results[i];

        if (trial->outputs[i] != NULL &&
            (result->kind != MDF_KIND_TENSOR || result->dtype == MDF_DTYPE_STRING || !mdf_value_has_form_of(result, &before[i]) ||
             memcmp(result->data, before[i].data, result->length * mdf_dtype_size((mdf_dtype)result->dtype)) != 0)) {
            return false;
        }
    }
    return true;
}

/* Whether a call gives with arrays what it gives with the lists: functions of numpy do, in whose place these are then. Operators
 * of Python, which join and repeat lists, give something else. */
static bool take_as_arrays(struct lowering *lowering, struct trial *trial)
{
    size_t n = trial->source->n_outputs;
    struct mdf_value *before = mdf_arena_array(&lowering->scratch, n, sizeof *before);
    bool same = before != NULL && (trial->source->operator->flags & MDF_OPERATOR_AS_WRITTEN) == 0 &&
                trial->source->operator->form != MDF_FORM_LIST_ITEM && lowering_run_trial(lowering, trial);

    for (size_t i = 0; same && i < n; i++) {
        same = mdf_value_copy(lowering->memory, &before[i], &trial->results[i]) || lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; same && i < trial->n; i++) {
        const struct mdf_value *list = trial->ids[i] == MDF_LOWERED_NONE ? NULL : trial->effective[i], *first = NULL;

        if (list != NULL && list->kind == MDF_KIND_LIST) {
            trial->ids[i] = is_of_one_type(list, &first) ? lowering_make_array(lowering, trial->ids[i], true) : MDF_LOWERED_NONE;
            same = trial->ids[i] != MDF_LOWERED_NONE;
            trial->given[i] = trial->effective[i] = same ? lowering_example(lowering, trial->ids[i]) : list;
        }
    }
    same = same && gives_the_same(lowering, trial, before);
    for (size_t i = 0; before != NULL && i < n; i++) {
        mdf_value_clear(lowering->memory, &before[i]);
    }
    return same;
}

/* Lists whose items are known one by one are no values that a kernel could be given: arrays are made of them, if anything. So are
 * they of constant ones of which the form counts, or that a routine is given, or that meet an array. */
static bool make_arrays(struct lowering *lowering, struct trial *trial)
{
    const struct mdf_value *list = NULL;

    for (size_t i = 0; i < trial->n; i++) {
        bool is_row = trial->ids[i] != MDF_LOWERED_NONE && lowering->facts[trial->ids[i]].items != NULL;
        bool is_form = trial->ids[i] != MDF_LOWERED_NONE && trial->effective[i]->kind == MDF_KIND_LIST &&
                       (takes_form(trial->source->operator, i) || meets_array(trial, i));
        mdf_lowered_id array =
            is_form || (is_row && takes_array(trial, i)) ? lowering_make_array(lowering, trial->ids[i], true) : MDF_LOWERED_NONE;

        if (lowering_has_failed(lowering)) {
            return false;
        }
        if (array != MDF_LOWERED_NONE) {
            trial->ids[i] = array;
            trial->given[i] = trial->effective[i] = lowering_example(lowering, array);
        } else if (is_row) {
            list = trial->given[i];
        }
    }
    return list == NULL || take_as_arrays(lowering, trial) || lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, list, NULL);
}

static bool run(struct lowering *lowering, struct trial *trial)
{
    if ((trial->source->signature != NULL && !convert_inputs(lowering, trial)) || !make_arrays(lowering, trial)) {
        return false;
    }
    if (!lowering_run_trial(lowering, trial) &&
        (lowering_has_failed(lowering) || !substitute_ones(lowering, trial) || !lowering_run_trial(lowering, trial))) {
        return lowering_fail(lowering, MDF_REFUSED_FAILING_CALL);
    }
    if (trial->source->signature != NULL && trial->is_weak) {
        mdf_weaken_outputs(&trial->call);
    }
    return true;
}

bool lowering_try(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    return read_inputs(lowering, scope, trial) && run(lowering, trial);
}
