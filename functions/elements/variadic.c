/* variadic.c - Max Min Sum Mean: one or more arrays folded element by element, from the left.
 *
 * NaN goes through Max and Min, as in numpy. Versions before 8 took arrays of one shape; broadcasting them changes nothing
 * for those. Sources: the ONNX operators of these names. */
#include "functions/elements/element.h"
#include "functions/kernel/operator.h"

enum { SCRATCH_FIRST = 2, SCRATCH_SECOND = 3 };

/* ------------------------------------------------------------------ loops */

#define OPERATION share
#define SETTINGS double
#define UNARY(x) x / (ELEMENT)*given
#include "functions/elements/loops/elementwise_reals.inc"

#include "functions/elements/loops/elementwise_end.inc"

static const struct mdf_operation share = {.loops = {MDF_LOOPS_REALS(share)}, .cost_ns = 1};

/* ------------------------------------------------------------------ kernels */

/* Folds all inputs, two or more, into `target`; what comes before the last step is kept in two scratch values in turn. A target
 * that is one of them must be the one whose turn the last step is: the other holds what that step reads, which may have fewer
 * elements. */
static bool fold(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation)
{
    const struct mdf_value *operands[2] = {mdf_call_tensor(call, 0), NULL};

    if (mdf_elementwise_can_fold(call, operation)) {
        return mdf_elementwise_fold(call, target, operation);
    }
    for (size_t i = 1; operands[0] != NULL && i < call->n_inputs; i++) {
        struct mdf_value *result = &call->scratch[i % 2 == 0 ? SCRATCH_FIRST : SCRATCH_SECOND];

        result = i + 1 == call->n_inputs ? target : result;
        operands[1] = mdf_call_tensor(call, i);
        if (operands[1] == NULL || !mdf_elementwise(call, result, operation, 2, operands, NULL)) {
            return false;
        }
        operands[0] = result;
    }
    return operands[0] != NULL;
}

static bool run_fold(struct mdf_call *call, const struct mdf_operation *operation)
{
    struct mdf_value *target = mdf_call_result(call, 0);

    if (call->n_inputs == 2) {
        return mdf_elementwise_call(call, operation, 2, NULL);
    }
    if (call->n_inputs < 2) {
        return mdf_call_tensor(call, 0) != NULL && mdf_call_output_copy(call, 0, call->inputs[0]);
    }
    return fold(call, target != NULL ? target : &call->scratch[0], operation);
}

static bool run_maximum(struct mdf_call *call)
{
    return run_fold(call, &mdf_element_operations[MDF_ELEMENT_larger]);
}

static bool run_minimum(struct mdf_call *call)
{
    return run_fold(call, &mdf_element_operations[MDF_ELEMENT_smaller]);
}

static bool run_sum(struct mdf_call *call)
{
    return run_fold(call, &mdf_element_operations[MDF_ELEMENT_add]);
}

static bool run_mean(struct mdf_call *call)
{
    struct mdf_value *target = mdf_call_result(call, 0),
                     *total = &call->scratch[call->n_inputs % 2 == 0 ? SCRATCH_SECOND : SCRATCH_FIRST];
    const struct mdf_value *operands[1] = {total};
    double n = (double)call->n_inputs;

    if (call->n_inputs < 2) {
        return run_sum(call);
    }
    return fold(call, total, &mdf_element_operations[MDF_ELEMENT_add]) &&
           mdf_elementwise(call, target != NULL ? target : &call->scratch[0], &share, 1, operands, &n);
}

/* Each that equals the result gets its share. */
#define SHARE "dy * (x == y) / sum([(other == y) * 1.0 for other in xs])"

const struct mdf_operator mdf_operators_variadic[] = {
    {"Max", 1, 99, run_maximum, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(larger),
     .derivatives = MDF_DERIVATIVES({MDF_DERIVATIVE_ANY, SHARE}), .form = MDF_FORM_VARIADIC},
    {"Min", 1, 99, run_minimum, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(smaller),
     .derivatives = MDF_DERIVATIVES({MDF_DERIVATIVE_ANY, SHARE}), .form = MDF_FORM_VARIADIC},
    {"Sum", 1, 99, run_sum, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(add), .form = MDF_FORM_VARIADIC},
    {"Mean", 1, 99, run_mean, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({MDF_DERIVATIVE_ANY, "dy / count"}), .form = MDF_FORM_MEAN, .infer = &mdf_rule_broadcast},
    {NULL}};
