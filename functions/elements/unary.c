/* unary.c - Identity. Other functions of one number are rows of elements.def. */
#include "functions/kernel/move.h"
#include "functions/elements/element.h"
#include "functions/kernel/operator.h"

/* Any kind of value: arrays, sequences, an optional that holds nothing. */
static bool run_identity(struct mdf_call *call)
{
    return mdf_call_output_copy(call, 0, mdf_call_input(call, 0));
}

const struct mdf_operator mdf_operators_unary[] = {{"Identity", 1, 99, run_identity, NULL, 0, MDF_OPERATOR_PURE, NULL,
                                                    MDF_ELEMENT(kept), .move = MDF_MOVE(1, .in_order = true),
                                                    .infer = &mdf_rule_same},
                                                   {NULL}};
