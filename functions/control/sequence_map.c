/* sequence_map.c - onnx::SequenceMap: a body that is run for each item of a sequence.
 *
 * Comes in: a sequence, and further ones of its length, or arrays that every run sees. Goes out: sequences of what the body
 * yields. Source: ONNX SequenceMap 17. */
#include "functions/control/stack.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"

struct map_settings {
    size_t body;
};

static const struct mdf_setting map_table[] = {{"body", MDF_SETTING_GRAPH, offsetof(struct map_settings, body)},
                                               {NULL, MDF_SETTING_INT, 0}};

/* The length of the sequences; false with the error set. */
static bool find_length(struct mdf_call *call, size_t *length)
{
    const struct mdf_value *first = mdf_call_input(call, 0);

    if (first == NULL || first->kind != MDF_KIND_LIST) {
        return mdf_call_error(call, MDF_TYPE, "the first input must be a sequence");
    }
    *length = first->length;
    for (size_t i = 1; i < call->n_inputs; i++) {
        const struct mdf_value *input = call->inputs[i];

        if (input == NULL || (input->kind == MDF_KIND_LIST && input->length != *length)) {
            return mdf_call_error(call, MDF_SHAPE, "input %zu is not of the length of the first sequence, %zu", i + 1, *length);
        }
    }
    return true;
}

/* Hands the items of a run to the body. */
static bool set_inputs(struct mdf_call *call, struct mdf_body *body, size_t run)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_value *input = call->inputs[i];
        const struct mdf_value *item = input->kind == MDF_KIND_LIST ? &mdf_value_items(input)[run] : input;

        if (body->inputs[i] != NULL && !mdf_value_copy(call->context->memory, body->inputs[i], item)) {
            return mdf_call_out_of_memory(call);
        }
    }
    return true;
}

/* Takes what a run yielded. */
static bool take_outputs(struct mdf_call *call, struct mdf_body *body, size_t run)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        struct mdf_value *list = mdf_call_result(call, i), *item;

        if (list == NULL) {
            continue;
        }
        item = &((struct mdf_value *)list->data)[run];
        if (body->own_outputs[i] != NULL) {
            if (!mdf_body_take(call, item, body->own_outputs[i])) {
                return false;
            }
        } else if (!mdf_value_copy(call->context->memory, item, body->outputs[i])) {
            return mdf_call_out_of_memory(call);
        }
        if (item->kind != MDF_KIND_TENSOR) {
            return mdf_call_error(call, MDF_TYPE, "the body yields something else than an array as output %zu", i + 1);
        }
        list->dtype = item->dtype;
    }
    return true;
}

static bool sequence_map(struct mdf_call *call)
{
    struct mdf_body *body = call->bodies[0];
    size_t length = 0;

    if (!find_length(call, &length)) {
        return false;
    }
    if (body->n_inputs != call->n_inputs || body->n_outputs < call->n_outputs) {
        return mdf_call_error(call, MDF_MODEL, "the body takes %zu inputs and yields %zu outputs, the call %zu and %zu",
                              body->n_inputs, body->n_outputs, call->n_inputs, call->n_outputs);
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        struct mdf_value *list = mdf_call_result(call, i);

        if (list != NULL && mdf_value_make_list(call->context->memory, list, length) == NULL) {
            return mdf_call_out_of_memory(call);
        }
        if (list != NULL) {
            list->dtype = (uint8_t)body->output_types[i].dtype;
        }
    }
    for (size_t run = 0; run < length; run++) {
        if (!set_inputs(call, body, run) || !body->run(body) || !take_outputs(call, body, run)) {
            return false;
        }
    }
    return true;
}

const struct mdf_operator mdf_operators_sequence_map[] = {{"SequenceMap", 17, 99, sequence_map, map_table,
                                                           sizeof(struct map_settings), MDF_OPERATOR_MAPS, NULL,
                                                           .form = MDF_FORM_SEQUENCE_MAP, .infer = &mdf_rule_sequence_map},
                                                          {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
