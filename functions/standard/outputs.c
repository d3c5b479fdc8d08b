/* outputs.c - the outputs of a function that has several, as the list that its bare id stands for. */
#include "functions/kernel/operator.h"

/* Outputs at the end that the operator did not produce (the running mean of a BatchNormalization that only infers) are left out.
 */
static bool list_outputs(struct mdf_call *call)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *items;
    size_t n = call->n_inputs;

    while (n > 0 && call->inputs[n - 1]->kind == MDF_KIND_NONE) {
        n--;
    }
    items = mdf_value_make_list(memory, call->outputs[0], n);
    for (size_t i = 0; items != NULL && i < n; i++) {
        if (!mdf_value_share(memory, &items[i], call->inputs[i])) {
            items = NULL;
        }
    }
    return items != NULL || mdf_call_out_of_memory(call);
}

const struct mdf_operator mdf_operators_python_outputs[] = {
    MDF_FUNCTION("build_outputs", list_outputs, 0, "*outputs", .form = MDF_FORM_OUTPUTS),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
