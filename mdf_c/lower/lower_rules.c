/* lower_rules.c - the codes and C functions that stand for kernels: the tables by name. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include "functions/elements/element.h"
#include "functions/python/python_numbers.h"

#include <math.h>
#include <string.h>

enum { REALS = 1, WHOLE = 2, BOOLS = 4, TRACED = 8, NUMBERS = 16 };

/* TRACED: where the kernel ran a loop over elements; NUMBERS: where it computed Python's numbers. */
struct rule {
    const char *name;
    unsigned when;
    enum mdf_lowered_code code;
};

static const struct rule rules[] = {
    {"Add", REALS | WHOLE | TRACED, MDF_LOWERED_ADD},
    {"Sum", REALS | WHOLE | TRACED, MDF_LOWERED_ADD},
    {"Sub", REALS | WHOLE | TRACED, MDF_LOWERED_SUBTRACT},
    {"Mul", REALS | WHOLE | TRACED, MDF_LOWERED_MULTIPLY},
    {"Div", REALS | TRACED, MDF_LOWERED_DIVIDE},
    {"Div", WHOLE | TRACED, MDF_LOWERED_QUOTIENT},
    {"Neg", REALS | WHOLE | TRACED, MDF_LOWERED_NEGATE},
    {"Abs", REALS | WHOLE | TRACED, MDF_LOWERED_ABSOLUTE},
    {"Sqrt", REALS | TRACED, MDF_LOWERED_SQUARE_ROOT},
    {"Floor", REALS | TRACED, MDF_LOWERED_FLOOR},
    {"Ceil", REALS | TRACED, MDF_LOWERED_CEILING},
    {"Equal", REALS | WHOLE | BOOLS | TRACED, MDF_LOWERED_EQUAL},
    {"Less", REALS | WHOLE | TRACED, MDF_LOWERED_LESS},
    {"LessOrEqual", REALS | WHOLE | TRACED, MDF_LOWERED_LESS_EQUAL},
    {"Greater", REALS | WHOLE | TRACED, MDF_LOWERED_GREATER},
    {"GreaterOrEqual", REALS | WHOLE | TRACED, MDF_LOWERED_GREATER_EQUAL},
    {"And", BOOLS | TRACED, MDF_LOWERED_AND},
    {"Or", BOOLS | TRACED, MDF_LOWERED_OR},
    {"Xor", BOOLS | TRACED, MDF_LOWERED_EXCLUSIVE_OR},
    {"Not", BOOLS | TRACED, MDF_LOWERED_NOT},
    {"Where", REALS | WHOLE | BOOLS | TRACED, MDF_LOWERED_SELECT},

    {"operator.add", REALS | WHOLE | TRACED, MDF_LOWERED_ADD},
    {"operator.sub", REALS | WHOLE | TRACED, MDF_LOWERED_SUBTRACT},
    {"operator.mul", REALS | WHOLE | TRACED, MDF_LOWERED_MULTIPLY},
    {"operator.truediv", REALS | TRACED, MDF_LOWERED_DIVIDE},
    {"operator.neg", REALS | WHOLE | TRACED, MDF_LOWERED_NEGATE},
    {"operator.eq", REALS | WHOLE | BOOLS | TRACED | NUMBERS, MDF_LOWERED_EQUAL},
    {"operator.ne", REALS | WHOLE | BOOLS | TRACED | NUMBERS, MDF_LOWERED_NOT_EQUAL},
    {"operator.lt", REALS | WHOLE | TRACED | NUMBERS, MDF_LOWERED_LESS},
    {"operator.le", REALS | WHOLE | TRACED | NUMBERS, MDF_LOWERED_LESS_EQUAL},
    {"operator.gt", REALS | WHOLE | TRACED | NUMBERS, MDF_LOWERED_GREATER},
    {"operator.ge", REALS | WHOLE | TRACED | NUMBERS, MDF_LOWERED_GREATER_EQUAL},
    {"operator.not_", BOOLS | NUMBERS, MDF_LOWERED_NOT},
    {"operator.add", REALS | NUMBERS, MDF_LOWERED_ADD},
    {"operator.sub", REALS | NUMBERS, MDF_LOWERED_SUBTRACT},
    {"operator.mul", REALS | NUMBERS, MDF_LOWERED_MULTIPLY},
    {"operator.truediv", REALS | NUMBERS, MDF_LOWERED_DIVIDE_NONZERO},
    {"operator.neg", REALS | NUMBERS, MDF_LOWERED_NEGATE},
    {"operator.add", WHOLE | NUMBERS, MDF_LOWERED_ADD_EXACT},
    {"operator.sub", WHOLE | NUMBERS, MDF_LOWERED_SUBTRACT_EXACT},
    {"operator.mul", WHOLE | NUMBERS, MDF_LOWERED_MULTIPLY_EXACT},
    {"operator.neg", WHOLE | NUMBERS, MDF_LOWERED_NEGATE_EXACT},
    {"operator.floordiv", WHOLE | NUMBERS, MDF_LOWERED_FLOOR_QUOTIENT},
    {"operator.mod", WHOLE | NUMBERS, MDF_LOWERED_FLOOR_REMAINDER},
    {"abs", REALS | NUMBERS, MDF_LOWERED_ABSOLUTE},

    {"numpy.add", REALS | WHOLE | TRACED, MDF_LOWERED_ADD},
    {"numpy.subtract", REALS | WHOLE | TRACED, MDF_LOWERED_SUBTRACT},
    {"numpy.multiply", REALS | WHOLE | TRACED, MDF_LOWERED_MULTIPLY},
    {"numpy.divide", REALS | TRACED, MDF_LOWERED_DIVIDE},
    {"numpy.true_divide", REALS | TRACED, MDF_LOWERED_DIVIDE},
    {"numpy.negative", REALS | WHOLE | TRACED, MDF_LOWERED_NEGATE},
    {"numpy.abs", REALS | WHOLE | TRACED, MDF_LOWERED_ABSOLUTE},
    {"numpy.absolute", REALS | WHOLE | TRACED, MDF_LOWERED_ABSOLUTE},
    {"numpy.fabs", REALS | TRACED, MDF_LOWERED_ABSOLUTE},
    {"numpy.sqrt", REALS | TRACED, MDF_LOWERED_SQUARE_ROOT},
    {"numpy.floor", REALS | TRACED, MDF_LOWERED_FLOOR},
    {"numpy.ceil", REALS | TRACED, MDF_LOWERED_CEILING},
    {"numpy.equal", REALS | WHOLE | BOOLS | TRACED, MDF_LOWERED_EQUAL},
    {"numpy.not_equal", REALS | WHOLE | BOOLS | TRACED, MDF_LOWERED_NOT_EQUAL},
    {"numpy.less", REALS | WHOLE | TRACED, MDF_LOWERED_LESS},
    {"numpy.less_equal", REALS | WHOLE | TRACED, MDF_LOWERED_LESS_EQUAL},
    {"numpy.greater", REALS | WHOLE | TRACED, MDF_LOWERED_GREATER},
    {"numpy.greater_equal", REALS | WHOLE | TRACED, MDF_LOWERED_GREATER_EQUAL},
    {"numpy.logical_and", BOOLS | TRACED, MDF_LOWERED_AND},
    {"numpy.logical_or", BOOLS | TRACED, MDF_LOWERED_OR},
    {"numpy.logical_xor", BOOLS | TRACED, MDF_LOWERED_EXCLUSIVE_OR},
    {"numpy.logical_not", BOOLS | TRACED, MDF_LOWERED_NOT},
    {"numpy.where", REALS | WHOLE | BOOLS | TRACED, MDF_LOWERED_SELECT},
};

static unsigned kind_of(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
    case MDF_DTYPE_FLOAT64:
        return REALS;
    case MDF_DTYPE_INT32:
    case MDF_DTYPE_INT64:
        return WHOLE;
    case MDF_DTYPE_BOOL:
        return BOOLS;
    default:
        return 0;
    }
}

const void *lowering_setting(const struct mdf_operator *operator, const void * settings, const char *name)
{
    const struct mdf_setting *setting = operator->settings;

    for (; setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, name) == 0) {
            return (const char *)settings + setting->offset;
        }
    }
    return NULL;
}

enum mdf_lowered_code lowering_rule(const struct mdf_operator *operator, const void * settings, mdf_dtype dtype, bool is_traced)
{
    unsigned kind = kind_of(dtype), way = is_traced ? TRACED : NUMBERS;
    const int64_t *fmod = lowering_setting(operator, settings, "fmod");
    size_t i;

    if (strcmp(operator->name, "Mod") == 0 && kind == WHOLE && fmod != NULL) {
        return *fmod == 1 ? MDF_LOWERED_REMAINDER : MDF_LOWERED_FLOOR_REMAINDER;
    }
    for (i = 0; i < sizeof rules / sizeof *rules; i++) {
        if ((rules[i].when & kind) != 0 && (rules[i].when & way) != 0 && strcmp(operator->name, rules[i].name) == 0) {
            return rules[i].code;
        }
    }
    return MDF_LOWERED_ELEMENTS;
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
    const char *name;
    double (*function)(double, double);
} functions_of_two[] = {
    {"operator.pow", pow},
    {"math.pow", pow},
    {"pow", pow},
    {"math.atan2", atan2},
    {"math.hypot", hypot},
    {"operator.mod", mdf_floor_remainder},
    {"operator.floordiv", mdf_floor_quotient},
};

bool lowering_function_rule(const struct mdf_operator *operator, struct mdf_lowered_op * op)
{
    size_t i;

    for (i = 0; op->n_in == 1 && operator->element != NULL && i<sizeof functions / sizeof * functions; i++) {
        if (operator->element->id == functions[i].id) {
            op->of.function = functions[i].function;
            return true;
        }
    }
    for (i = 0; op->n_in == 2 && i < sizeof functions_of_two / sizeof *functions_of_two; i++) {
        if (strcmp(operator->name, functions_of_two[i].name) == 0) {
            op->of.function_of_two = functions_of_two[i].function;
            return true;
        }
    }
    return false;
}
