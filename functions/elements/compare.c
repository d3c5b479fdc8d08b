/* compare.c - comparisons and logic of two arrays: Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor: functions of
 * elements.def.
 *
 * The result is bool. Comparisons with NaN are false. Sources: the ONNX operators of these names. */
#include "functions/elements/element.h"
#include "functions/elements/limited_broadcast.h"

/* Before version 7 operators have an attribute for broadcasting. */
static bool run_limited(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &mdf_element_operations[call->operator->element->id]);
}

#define LIMITED_ROW(name, id)                                                                                                   \
    {                                                                                                                           \
        name, 1, 6, run_limited, mdf_limited_broadcast_settings, sizeof(struct mdf_limited_broadcast), MDF_OPERATOR_PURE, NULL, \
            MDF_ELEMENT(id)                                                                                                     \
    }
#define ROW(name, since, id)                                                                 \
    {                                                                                        \
        name, since, 99, mdf_element_call, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(id) \
    }

const struct mdf_operator mdf_operators_compare[] = {LIMITED_ROW("Equal", equal),
                                                     ROW("Equal", 7, equal),
                                                     LIMITED_ROW("Greater", greater),
                                                     ROW("Greater", 7, greater),
                                                     LIMITED_ROW("Less", less),
                                                     ROW("Less", 7, less),
                                                     LIMITED_ROW("And", logical_and),
                                                     ROW("And", 7, logical_and),
                                                     LIMITED_ROW("Or", logical_or),
                                                     ROW("Or", 7, logical_or),
                                                     LIMITED_ROW("Xor", logical_xor),
                                                     ROW("Xor", 7, logical_xor),
                                                     ROW("GreaterOrEqual", 12, greater_or_equal),
                                                     ROW("LessOrEqual", 12, less_or_equal),
                                                     {NULL}};
