/* source_calls.c - a kernel on whole values as C: what the row of its operator says of it. */
#include "mdf_c/source/source_writer.h"

#include "functions/kernel/move.h"

#include <string.h>

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

static bool refuse_types(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    const char *types = a == NULL   ? ""
                        : b == NULL ? mdf_source_text(writer, " on elements of type %s", mdf_dtype_name((mdf_dtype)a->dtype))
                                    : mdf_source_text(writer, " on elements of types %s and %s",
                                                      mdf_dtype_name((mdf_dtype)a->dtype), mdf_dtype_name((mdf_dtype)b->dtype));

    return mdf_source_refuse(writer, "there is no form in C of the operator %s%s", call->operator->name, types);
}

/* Of a call that would be a nest, if what says where elements go were known before. */
static bool refuse(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_move *move = call->operator->move;
    size_t i = move != NULL ? mdf_move_data(move, call->call->n_inputs) : call->operator->fold != NULL ? 1 : call->call->n_inputs;

    for (; i < call->call->n_inputs; i++) {
        if (call->call->inputs[i] != MDF_LOWERED_NONE &&
            writer->lowered->values[call->call->inputs[i]].place != MDF_LOWERED_CONSTANT) {
            return mdf_source_refuse(writer, "input %zu of the operator %s is not a constant", i + 1, call->operator->name);
        }
    }
    return refuse_types(writer, call);
}

/* A quotient of Python's whole numbers, rounded from the exact operands. */
static bool write_quotient(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    bool are_numbers = a != NULL && b != NULL && a->rank == 0 && b->rank == 0 && a->strength == MDF_STRENGTH_PYTHON &&
                       b->strength == MDF_STRENGTH_PYTHON && mdf_dtype_kind((mdf_dtype)a->dtype) != 'f' &&
                       mdf_dtype_kind((mdf_dtype)b->dtype) != 'f';

    if (!are_numbers) {
        return refuse(writer, call);
    }
    mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s == 0", mdf_source_element(writer, call->call->inputs[1], "0")),
                           "division by zero");
    mdf_source_line(
        writer, "%s = (double)((long double)%s / (long double)%s);", mdf_source_element(writer, call->call->outputs[0], "0"),
        mdf_source_element(writer, call->call->inputs[0], "0"), mdf_source_element(writer, call->call->inputs[1], "0"));
    return true;
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

    declare_outputs(writer, &call);
    if (!is_needed(writer, lowered)) {
        return true;
    }
    return call.operator->form == MDF_FORM_QUOTIENT ? write_quotient(writer, &call) : refuse(writer, &call);
}
