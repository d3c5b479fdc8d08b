/* source_calls.c - a kernel on whole values as C: what the row of its operator says of it. */
#include "mdf_c/source/source_writer.h"

#include "functions/kernel/move.h"

#include <string.h>

typedef bool (*write_function)(struct mdf_source_writer *writer, const struct mdf_source_call *call);

/* Of operators that say it themselves. */
static const write_function forms[] = {
    [MDF_FORM_MATMUL] = mdf_source_write_matmul,       [MDF_FORM_DOT] = mdf_source_write_matmul,
    [MDF_FORM_GEMM] = mdf_source_write_gemm,           [MDF_FORM_SOFTMAX] = mdf_source_write_softmax,
    [MDF_FORM_LOG_SOFTMAX] = mdf_source_write_softmax, [MDF_FORM_HARDMAX] = mdf_source_write_softmax,
    [MDF_FORM_CLIP] = mdf_source_write_clip,           [MDF_FORM_QUOTIENT] = mdf_source_write_quotient,
    [MDF_FORM_NUMBER] = mdf_source_write_number,       [MDF_FORM_VARIADIC] = mdf_source_write_broadcast,
    [MDF_FORM_MEAN] = mdf_source_write_broadcast};

const struct mdf_value *mdf_source_input(const struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t i)
{
    return i < call->call->n_inputs && call->call->inputs[i] != MDF_LOWERED_NONE
               ? &writer->lowered->values[call->call->inputs[i]].form
               : NULL;
}

const struct mdf_value *mdf_source_output(const struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    return &writer->lowered->values[call->call->outputs[0]].form;
}

static void declare_outputs(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    size_t i;

    for (i = 0; i < call->call->n_outputs; i++) {
        if (mdf_source_is_live(writer, call->call->outputs[i])) {
            mdf_source_declare_result(writer, call->call->outputs[i]);
        }
    }
}

static write_function find(const struct mdf_operator *operator)
{
    write_function of_form = operator->form<sizeof forms / sizeof * forms ? forms[operator->form] : NULL;

    return of_form != NULL                       ? of_form :
           operator->fold != NULL                ? mdf_source_write_fold
           : mdf_source_knows_elements(operator) ? mdf_source_write_broadcast
                                                 : NULL;
}

/* Of a call that would be a nest, if what says where elements go were known before. */
static bool refuse(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_move *move = call->operator->move;
    size_t i = move != NULL ? mdf_move_data(move, call->call->n_inputs) : call->call->n_inputs;

    for (; i < call->call->n_inputs; i++) {
        if (call->call->inputs[i] != MDF_LOWERED_NONE &&
            writer->lowered->values[call->call->inputs[i]].place != MDF_LOWERED_CONSTANT) {
            return mdf_source_refuse(writer, "input %zu of the operator %s is not a constant", i + 1, call->operator->name);
        }
    }
    return mdf_source_refuse(writer, "there is no form in C of the operator %s", call->operator->name);
}

/* Whether some element that it makes is needed. */
static bool is_needed(const struct mdf_source_writer *writer, const struct mdf_lowered_call *call)
{
    size_t i;

    for (i = 0; i < call->n_outputs; i++) {
        if (mdf_source_is_live(writer, call->outputs[i]) && writer->lowered->values[call->outputs[i]].form.length > 0) {
            return true;
        }
    }
    return false;
}

bool mdf_source_write_call(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *lowered = op->of.call;
    struct mdf_source_call call = {op, lowered, lowered->call.operator, lowered->call.settings };
    write_function write = find(call.operator);

    if (is_needed(writer, lowered) && write == NULL) {
        return refuse(writer, &call);
    }
    declare_outputs(writer, &call);
    return !is_needed(writer, lowered) || write(writer, &call);
}
