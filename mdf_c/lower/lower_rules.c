/* lower_rules.c - the codes and C functions that stand for kernels: the tables by name. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"

#include <math.h>

/* The codes for functions of elements, where the kernel ran a loop, and where it computed Python's numbers. */
static const struct rule {
    enum mdf_element_id id;
    unsigned kinds;
    enum mdf_lowered_code code;
} traced[] =
    {
#define CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#include "functions/elements/elements.def"
},
  numbers[] = {
#define NUMBER_CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#include "functions/elements/elements.def"
};

/* Only types whose elements have bytes of their own have codes. */
static unsigned kind_of(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_BOOL || mdf_dtype_bits(dtype) >= 8 ? mdf_element_kind(dtype) : 0;
}

size_t lowering_axis(const struct mdf_code_call *source, size_t rank, size_t otherwise)
{
    const int64_t *axis = mdf_code_setting(source, "axis");

    return axis == NULL || *axis == MDF_NOT_GIVEN ? otherwise : (size_t)(*axis < 0 ? *axis + (int64_t)rank : *axis);
}

size_t lowering_line_axis(const struct mdf_code_call *source, size_t rank, bool *is_flat)
{
    *is_flat = source->operator->since<13;
    return lowering_axis(source, rank, *is_flat ? 1 : rank - 1);
}

static const struct rule *find_rule(const struct rule *rules, size_t n, enum mdf_element_id id, unsigned kind)
{
    for (size_t i = 0; i < n; i++) {
        if (rules[i].id == id && (rules[i].kinds & kind) != 0) {
            return &rules[i];
        }
    }
    return NULL;
}

enum mdf_lowered_code lowering_rule(const struct mdf_operator *operator, const void * settings, mdf_dtype dtype, bool is_traced)
{
    const struct mdf_element *element = mdf_element_of(operator, settings);
    const struct rule *rule = NULL;

    for (; rule == NULL && element != NULL; element = element->base) {
        rule = is_traced ? find_rule(traced, sizeof traced / sizeof *traced, element->id, kind_of(dtype))
                         : find_rule(numbers, sizeof numbers / sizeof *numbers, element->id, kind_of(dtype));
    }
    return rule != NULL ? rule->code : MDF_LOWERED_ELEMENTS;
}

/* ------------------------------------------------------------------ C functions */

static const struct {
    enum mdf_element_id id;
    double (*function)(double);
} functions[] = {
#define SCALAR(id, function) {MDF_ELEMENT_##id, function},
#include "functions/elements/elements.def"
};

static const struct {
    enum mdf_element_id id;
    double (*function)(double, double);
} functions_of_two[] = {
#define SCALAR_2(id, function) {MDF_ELEMENT_##id, function},
#include "functions/elements/elements.def"
};

bool lowering_function_rule(const struct mdf_operator *operator, struct mdf_lowered_op * op)
{
    for (size_t i = 0; op->n_in == 1 && operator->element != NULL && i<sizeof functions / sizeof * functions; i++) {
        if (operator->element->id == functions[i].id) {
            op->of.function = functions[i].function;
            return true;
        }
    }
    for (size_t i = 0; op->n_in == 2 && operator->element != NULL && i<sizeof functions_of_two / sizeof * functions_of_two; i++) {
        if (operator->element->id == functions_of_two[i].id) {
            op->of.function_of_two = functions_of_two[i].function;
            return true;
        }
    }
    return false;
}

mdf_loop lowering_loop_of_function(const struct mdf_lowered_op *op)
{
    for (size_t i = 0; op->n_in == 1 && i < sizeof functions / sizeof *functions; i++) {
        if (op->of.function == functions[i].function) {
            return mdf_element_operations[functions[i].id].loops[MDF_DTYPE_FLOAT64];
        }
    }
    for (size_t i = 0; op->n_in == 2 && i < sizeof functions_of_two / sizeof *functions_of_two; i++) {
        if (op->of.function_of_two == functions_of_two[i].function) {
            return mdf_element_operations[functions_of_two[i].id].loops[MDF_DTYPE_FLOAT64];
        }
    }
    return NULL;
}
