/* activation.c - Gelu, whose attribute chooses the function, and SwiGLU, whose operands have one shape. Other activations are
 * rows of elements.def. */
#include "functions/elements/element.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/workspace.h"

#include <string.h>

static const struct mdf_element *gelu_of(const void *settings)
{
    const struct mdf_element_settings *given = settings;

    return given->approximate == NULL || strcmp(given->approximate, "none") == 0 ? MDF_ELEMENT(gelu)
           : strcmp(given->approximate, "tanh") == 0                             ? MDF_ELEMENT(gelu_tanh)
                                                                                 : NULL;
}

static bool run_gelu(struct mdf_call *call)
{
    const struct mdf_element_settings *given = call->settings;

    return gelu_of(given) != NULL ? mdf_element_call(call)
                                  : mdf_call_error(call, MDF_VALUE, "attribute 'approximate' is \"%s\", not \"none\" or \"tanh\"",
                                                   given->approximate);
}

static bool run_swiglu(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = a != NULL ? mdf_call_tensor(call, 1) : NULL;

    return b != NULL && mdf_workspace_check_shape(call, "B", b, a->rank, mdf_value_shape(a)) && mdf_element_call(call);
}

#define SETTINGS_TABLE mdf_element_setting_rows, sizeof(struct mdf_element_settings)

const struct mdf_operator mdf_operators_activation[] = {
    {"Gelu", 20, 99, run_gelu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL, .element_of = gelu_of},
    {"SwiGLU", 28, 99, run_swiglu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL, .element = MDF_ELEMENT(swiglu)},
    {NULL}};
