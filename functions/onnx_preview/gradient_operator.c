/* gradient_operator.c - the row of Gradient, which has no kernel of its own: the compiler makes code for the derivatives
 * (mdf_c/plan/gradient/gradient.c) from the rules in functions/kernel/derivatives.h. Source: ONNX ai.onnx.preview.training,
 * version 1. */
#include "functions/onnx_preview/gradient_operator.h"

static const struct mdf_setting gradient_table[] = {{"xs", MDF_SETTING_STRINGS, offsetof(struct mdf_gradient_settings, xs)},
                                                    {"zs", MDF_SETTING_STRINGS, offsetof(struct mdf_gradient_settings, zs)},
                                                    {"y", MDF_SETTING_STRING, offsetof(struct mdf_gradient_settings, y)},
                                                    {NULL, MDF_SETTING_INT, 0}};

static bool refuse(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_UNSUPPORTED, "is defined on a graph: it can not be called with values alone");
}

const struct mdf_operator mdf_operators_preview_gradient[] = {
    {"Gradient", 1, 99, refuse, gradient_table, sizeof(struct mdf_gradient_settings), MDF_OPERATOR_DERIVES, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
