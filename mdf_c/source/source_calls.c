/* source_calls.c - a kernel on whole values as C: what the row of its operator says of it. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

typedef bool (*write_function)(struct mdf_source_writer *writer, const struct mdf_source_call *call);

/* Of operators that say it themselves. */
static const write_function forms[] = {
    [MDF_FORM_MATMUL] = mdf_source_write_matmul,       [MDF_FORM_DOT] = mdf_source_write_matmul,
    [MDF_FORM_GEMM] = mdf_source_write_gemm,           [MDF_FORM_SOFTMAX] = mdf_source_write_softmax,
    [MDF_FORM_LOG_SOFTMAX] = mdf_source_write_softmax, [MDF_FORM_HARDMAX] = mdf_source_write_softmax,
    [MDF_FORM_GATHER] = mdf_source_write_gather,       [MDF_FORM_CLIP] = mdf_source_write_clip,
    [MDF_FORM_QUOTIENT] = mdf_source_write_quotient,   [MDF_FORM_NUMBER] = mdf_source_write_number,
    [MDF_FORM_VARIADIC] = mdf_source_write_broadcast,  [MDF_FORM_MEAN] = mdf_source_write_broadcast};

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

/* Runs the kernel of a call on other inputs. False: it does not work; the error is set only where memory was refused. */
static bool try_kernel(struct mdf_source_writer *writer, const struct mdf_source_call *call,
                       const struct mdf_value *const inputs[], struct mdf_value *const outputs[])
{
    struct mdf_context *context = writer->lowered->context;
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}};
    struct mdf_call trial = call->call->call;
    mdf_error kept = context->error;
    bool done;
    size_t i;

    trial.inputs = inputs;
    trial.outputs = outputs;
    trial.scratch = scratch;
    context->error = (mdf_error){0};
    done = trial.kernel(&trial);
    if (!done && context->error.code == MDF_OUT_OF_MEMORY) {
        mdf_source_out_of_memory(writer);
    }
    context->error = kept;
    for (i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(context->memory, &scratch[i]);
    }
    return done;
}

/* The sizes of an array are known. True: they are what the call asks for, or memory was refused (then the error is set). */
static bool write_shape(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *inputs[2] = {mdf_source_input(writer, call, 0), NULL};
    struct mdf_value zeros = {0}, result = {0}, *outputs[1] = {&result};
    struct mdf_memory *memory = writer->lowered->context->memory;
    mdf_lowered_id id = call->call->outputs[0];
    bool is_written;

    if (call->operator->form != MDF_FORM_OF_SHAPE || call->call->n_inputs != 1) {
        return false;
    }
    if (mdf_value_make_tensor(memory, &zeros, (mdf_dtype)inputs[0]->dtype, inputs[0]->rank, mdf_source_shape(inputs[0])) ==
        NULL) {
        return !mdf_source_out_of_memory(writer);
    }
    inputs[0] = &zeros;
    is_written = try_kernel(writer, call, inputs, outputs) && result.kind == MDF_KIND_TENSOR;
    if (is_written) {
        size_t n_bytes = result.length * mdf_dtype_size((mdf_dtype)result.dtype);
        char *copy = mdf_arena_allocate(&writer->arena, n_bytes + 1);

        if (copy == NULL) {
            mdf_source_out_of_memory(writer);
        } else {
            memcpy(copy, result.data, n_bytes);
            writer->values[id].name = writer->lowered->values[id].is_scalar
                                          ? mdf_source_literal(writer, (mdf_dtype)result.dtype, copy)
                                          : mdf_source_constant_array(writer, (mdf_dtype)result.dtype, copy, result.length,
                                                                      mdf_source_hint(writer, id));
        }
    }
    mdf_value_clear(memory, &zeros);
    mdf_value_clear(memory, &result);
    return is_written;
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

    return of_form != NULL        ? of_form :
           operator->fold != NULL ? mdf_source_write_fold
           :
           operator->move != NULL                ? mdf_source_write_move
           : mdf_source_knows_elements(operator) ? mdf_source_write_broadcast
                                                 : NULL;
}

bool mdf_source_write_call(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *lowered = op->of.call;
    struct mdf_source_call call = {op, lowered, lowered->call.operator, lowered->call.settings };
    write_function write = find(call.operator);
    bool any = false;
    size_t i;

    for (i = 0; i < lowered->n_outputs; i++) {
        any = any || mdf_source_is_live(writer, lowered->outputs[i]);
    }
    if (!any || write_shape(writer, &call)) {
        return true;
    }
    if (write == NULL) {
        return mdf_source_refuse(writer, "there is no form in C of the operator %s", call.operator->name);
    }
    declare_outputs(writer, &call);
    return write(writer, &call);
}
