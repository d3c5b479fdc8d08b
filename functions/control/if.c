/* if.c - onnx::If: the branch that the condition chooses runs, the other does not. Outputs are what the branch yields; the two
 * may differ in shape and rank. Source: https://onnx.ai/onnx/operators/onnx__If.html */
#include "functions/control/stack.h"
#include "functions/kernel/operator.h"

struct if_settings {
    size_t then_branch, else_branch;
};

static const struct mdf_setting if_settings[] = {{"then_branch", MDF_SETTING_GRAPH, offsetof(struct if_settings, then_branch)},
                                                 {"else_branch", MDF_SETTING_GRAPH, offsetof(struct if_settings, else_branch)},
                                                 {NULL, MDF_SETTING_GRAPH, 0}};

static bool run_if(struct mdf_call *call)
{
    const struct mdf_value *condition = mdf_call_input(call, 0);
    struct mdf_body *branch;
    bool holds;

    if (condition == NULL || mdf_is_typed_otherwise(condition, MDF_DTYPE_BOOL)) {
        return mdf_call_error(call, MDF_TYPE, "the condition must be one boolean");
    }
    if (!mdf_read_condition(call, condition, "the condition", &holds)) {
        return false;
    }
    branch = call->bodies[holds ? 0 : 1];
    if (!branch->run(branch)) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (branch->own_outputs[i] != NULL) {
            if (!mdf_body_take(call, call->outputs[i], branch->own_outputs[i])) {
                return false;
            }
        } else if (!mdf_value_copy(call->context->memory, call->outputs[i], branch->outputs[i])) {
            return mdf_call_out_of_memory(call);
        }
    }
    return true;
}

const struct mdf_operator mdf_operators_if[] = {
    {"If", 1, 99, run_if, if_settings, sizeof(struct if_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_IF,
     .infer = &mdf_rule_if},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
