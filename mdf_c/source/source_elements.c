/* source_elements.c - functions of elements as expressions of C: those of functions/elements/elements.def, and rows for others.
 *
 * Each row is what a loop of functions/ computes for one element, written with the same operations in the same order and the same
 * functions of math.h, so that the result has the same bits. In a row $a $b $c stand for the operands, $T for the operands' type,
 * $U for the type to compute whole numbers in without overflow, $f for the suffix of math functions, {name} for an attribute. */
#include "mdf_c/source/source_writer.h"

#include "functions/elements/element.h"

#include <math.h>
#include <string.h>

enum {
    REALS = 1,
    SIGNED = 2,
    UNSIGNED = 4,
    TRUTHS = 8,
    WHOLE = SIGNED | UNSIGNED,
    NUMBERS = REALS | WHOLE,
    ALL = NUMBERS | TRUTHS
};

struct element_row {
    const char *names; /* of the operators, between blanks */
    uint8_t kinds;
    uint8_t n_operands;
    const char *text;
    const char *refused; /* NULL: never */
    const char *why;
};

static const char by_zero[] = "whole number divided by zero";

static const struct element_row rows[] = {
    {" IsNaN numpy.isnan math.isnan ", REALS, 1, "$a != $a", NULL, NULL},
    {" numpy.isnan numpy.isinf ", WHOLE | TRUTHS, 1, "false", NULL, NULL},
    {" numpy.isinf math.isinf ", REALS, 1, "isinf($a) != 0", NULL, NULL},
    {" numpy.isfinite math.isfinite ", REALS, 1, "isfinite($a) != 0", NULL, NULL},
    {" Celu ", REALS, 1, "$a > 0 ? $a : {alpha} * expm1$f($a / {alpha})", NULL, NULL},
    {" Elu ", REALS, 1, "$a >= 0 ? $a : {alpha} * expm1$f($a)", NULL, NULL},
    {" LeakyRelu ", REALS, 1, "$a < 0 ? {alpha} * $a : $a", NULL, NULL},
    {" Selu ", REALS, 1, "{gamma} * ($a > 0 ? $a : {alpha} * expm1$f($a))", NULL, NULL},
    {" ThresholdedRelu ", REALS, 1, "$a > {alpha} ? $a : 0", NULL, NULL},
    {" HardSigmoid ", REALS, 1, "{alpha} * $a + {beta} < 0 ? 0 : {alpha} * $a + {beta} > 1 ? 1 : {alpha} * $a + {beta}", NULL,
     NULL},
    {" HardSwish ", REALS, 1, "$a * ($a / 6 + ($T)0.5 < 0 ? 0 : $a / 6 + ($T)0.5 > 1 ? 1 : $a / 6 + ($T)0.5)", NULL, NULL},
    {" Swish ", REALS, 1, "$a / (1 + exp$f(-{alpha} * $a))", NULL, NULL},
    {" SwiGLU ", REALS, 2, "$a / (1 + exp$f(-{alpha} * $a)) * $b", NULL, NULL},
    {" Mish ", REALS, 1, "$a * tanh$f(($a > 0 ? $a : 0) + log1p$f(exp$f(-fabs$f($a))))", NULL, NULL},
    {" Gelu ", REALS, 1, "$a * ($T)0.5 * erfc$f($a * ($T)-0.70710678118654752440)", NULL, NULL},
    {" Shrink ", REALS, 1, "$a < -{lambd} ? $a + {bias} : $a > {lambd} ? $a - {bias} : 0", NULL, NULL},
    {" Add Sum numpy.add operator.add ", REALS, 2, "$a + $b", NULL, NULL},
    {" Add Sum numpy.add operator.add ", WHOLE, 2, "($T)(($U)$a + ($U)$b)", NULL, NULL},
    {" Sub numpy.subtract operator.sub ", REALS, 2, "$a - $b", NULL, NULL},
    {" Sub numpy.subtract operator.sub ", WHOLE, 2, "($T)(($U)$a - ($U)$b)", NULL, NULL},
    {" Mul numpy.multiply operator.mul numpy.dot numpy.ndarray.dot ", REALS, 2, "$a * $b", NULL, NULL},
    {" Mul numpy.multiply operator.mul numpy.dot numpy.ndarray.dot ", WHOLE, 2, "($T)(($U)$a * ($U)$b)", NULL, NULL},
    {" Div numpy.divide numpy.true_divide operator.truediv ", REALS, 2, "$a / $b", NULL, NULL},
    {" Div ", SIGNED, 2, "$b == -1 ? ($T)(0 - ($U)$a) : ($T)($a / ($b != 0 ? $b : 1))", "$b == 0", by_zero},
    {" Div ", UNSIGNED, 2, "($T)($a / ($b != 0 ? $b : 1))", "$b == 0", by_zero},
    {" numpy.floor_divide operator.floordiv ", REALS, 2, "$b == 0 ? $a / $b : ($T)@floor_quotient_float64@($a, $b)", NULL, NULL},
    {" numpy.floor_divide operator.floordiv ", SIGNED, 2, "($T)@floor_quotient_int64@($a, $b)", NULL, NULL},
    {" numpy.mod numpy.remainder operator.mod ", REALS, 2, "$b == 0 ? ($T)NAN : ($T)@modulo_float64@($a, $b)", NULL, NULL},
    {" numpy.mod numpy.remainder operator.mod ", SIGNED, 2, "($T)@floor_remainder_int64@($a, $b)", NULL, NULL},
    {" numpy.fmod math.fmod ", REALS, 2, "fmod$f($a, $b)", NULL, NULL},
    {" math.pow numpy.float_power ", REALS, 2, "pow$f($a, $b)", NULL, NULL},
    {" numpy.arctan2 numpy.atan2 math.atan2 ", REALS, 2, "atan2$f($a, $b)", NULL, NULL},
    {" numpy.hypot math.hypot ", REALS, 2, "hypot$f($a, $b)", NULL, NULL},
    {" numpy.copysign math.copysign ", REALS, 2, "copysign$f($a, $b)", NULL, NULL},
    {" numpy.heaviside ", REALS, 2, "$a != $a ? $a : $a == 0 ? $b : $a < 0 ? 0 : 1", NULL, NULL},
    {" Max ", REALS, 2, "$a > $b || $a != $a ? $a : $b", NULL, NULL},
    {" Max ", WHOLE, 2, "$a > $b ? $a : $b", NULL, NULL},
    {" Min ", REALS, 2, "$a < $b || $a != $a ? $a : $b", NULL, NULL},
    {" Min ", WHOLE, 2, "$a < $b ? $a : $b", NULL, NULL},
    {" numpy.maximum ", REALS, 2, "$a >= $b || $a != $a ? $a : $b", NULL, NULL},
    {" numpy.maximum numpy.fmax ", WHOLE | TRUTHS, 2, "$a >= $b ? $a : $b", NULL, NULL},
    {" numpy.minimum ", REALS, 2, "$a <= $b || $a != $a ? $a : $b", NULL, NULL},
    {" numpy.minimum numpy.fmin ", WHOLE | TRUTHS, 2, "$a <= $b ? $a : $b", NULL, NULL},
    {" numpy.fmax ", REALS, 2, "$a >= $b || $b != $b ? $a : $b", NULL, NULL},
    {" numpy.fmin ", REALS, 2, "$a <= $b || $b != $b ? $a : $b", NULL, NULL},
    {" PRelu ", REALS, 2, "$a < 0 ? $a * $b : $a", NULL, NULL},
    {" PRelu ", SIGNED, 2, "$a < 0 ? ($T)(($U)$a * ($U)$b) : $a", NULL, NULL},
    {" BitwiseAnd numpy.bitwise_and operator.and_ And numpy.logical_and ", TRUTHS, 2, "$a && $b", NULL, NULL},
    {" BitwiseOr numpy.bitwise_or operator.or_ Or numpy.logical_or ", TRUTHS, 2, "$a || $b", NULL, NULL},
    {" BitwiseXor numpy.bitwise_xor operator.xor Xor numpy.logical_xor ", TRUTHS, 2, "$a != $b", NULL, NULL},
    {" BitwiseAnd numpy.bitwise_and operator.and_ ", WHOLE, 2, "($T)($a & $b)", NULL, NULL},
    {" BitwiseOr numpy.bitwise_or operator.or_ ", WHOLE, 2, "($T)($a | $b)", NULL, NULL},
    {" BitwiseXor numpy.bitwise_xor operator.xor ", WHOLE, 2, "($T)($a ^ $b)", NULL, NULL},
    {" Equal numpy.equal operator.eq ", ALL, 2, "$a == $b", NULL, NULL},
    {" numpy.not_equal operator.ne ", ALL, 2, "$a != $b", NULL, NULL},
    {" Greater numpy.greater operator.gt ", ALL, 2, "$a > $b", NULL, NULL},
    {" GreaterOrEqual numpy.greater_equal operator.ge ", ALL, 2, "$a >= $b", NULL, NULL},
    {" Less numpy.less operator.lt ", ALL, 2, "$a < $b", NULL, NULL},
    {" LessOrEqual numpy.less_equal operator.le ", ALL, 2, "$a <= $b", NULL, NULL},
    {" Where numpy.where ", ALL, 3, "$a ? $b : $c", NULL, NULL},
};

/* ------------------------------------------------------------------ rows as text */

static uint8_t kind_of(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        return REALS;
    case 'i':
        return SIGNED;
    case 'u':
        return UNSIGNED;
    case 'b':
        return TRUTHS;
    default: /* no row is for it */
        return 0;
    }
}

static bool names_contain(const char *names, const char *name)
{
    size_t length = strlen(name);
    const char *found = names;

    while ((found = strstr(found, name)) != NULL) {
        if (found[-1] == ' ' && found[length] == ' ') {
            return true;
        }
        found += length;
    }
    return false;
}

static const struct element_row *find_row(const char *name, uint8_t kind, size_t n_operands)
{
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((rows[i].kinds & kind) != 0 && rows[i].n_operands == n_operands && names_contain(rows[i].names, name)) {
            return &rows[i];
        }
    }
    return NULL;
}

bool mdf_source_knows_elements(const struct mdf_operator *operator)
{
    const char *name = operator->name;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (names_contain(rows[i].names, name)) {
            return true;
        }
    }
    return operator->element != NULL || strcmp(name, "Pow") == 0 || strcmp(name, "Mod") == 0 || strcmp(name, "IsInf") == 0 ||
           strcmp(name, "operator.pow") == 0 || strcmp(name, "numpy.power") == 0 || strcmp(name, "numpy.pow") == 0;
}

/* What the row of a call needs. */
struct expansion {
    const struct mdf_operator *operator;
    const void *settings;
    mdf_dtype dtype;
    const char *const *operands;
};

/* Appends the value of "{name}" or the name of "@helper@"; where the text goes on, NULL: there is no such attribute. */
static const char *expand_named(struct mdf_source_writer *writer, struct mdf_text *result, const char *text,
                                const struct expansion *expansion)
{
    char name[64] = "";
    char end = text[0] == '{' ? '}' : '@';
    size_t length = (size_t)(strchr(text + 1, end) - text) - 1;
    union {
        float single;
        double real;
    } element;
    double real;

    memcpy(name, text + 1, length < sizeof name ? length : sizeof name - 1);
    if (end == '@') {
        mdf_text_append_string(result, mdf_source_use(writer, name));
        return text + length + 2;
    }
    if (!mdf_source_real_setting(expansion->operator, expansion->settings, name, &real)) {
        return NULL;
    }
    element.real = real;
    if (expansion->dtype == MDF_DTYPE_FLOAT32) {
        element.single = (float)real;
    }
    mdf_text_append_string(result, mdf_source_literal(writer, expansion->dtype, &element));
    return text + length + 2;
}

/* NULL: an attribute is not given. */
static const char *expand(struct mdf_source_writer *writer, const char *text, const struct expansion *expansion)
{
    struct mdf_text result;
    const char *copy = NULL;

    mdf_text_init(&result, writer->memory);
    mdf_text_append_string(&result, "");
    while (text != NULL && *text != '\0') {
        if (text[0] == '$' && text[1] >= 'a' && text[1] <= 'c') {
            mdf_text_append_string(&result, expansion->operands[text[1] - 'a']);
            text += 2;
        } else if (text[0] == '{' || text[0] == '@') {
            text = expand_named(writer, &result, text, expansion);
        } else {
            mdf_text_append(&result, text, 1);
            text++;
        }
    }
    mdf_source_check(writer, &result);
    if (text != NULL) {
        copy = result.failed ? "" : mdf_source_of_type(writer, result.bytes, expansion->dtype);
    }
    mdf_text_release(&result);
    return copy;
}

/* ------------------------------------------------------------------ operators whose attributes decide */

static const struct element_row power_rows[] = {
    {"", REALS, 2, "$b == 2 ? $a * $a : pow$f($a, $b)", NULL, NULL},
    {"", SIGNED, 2, "($T)@whole_power@((uint64_t)$a, (uint64_t)$b)", "$b < 0", "a whole number to a negative power"},
    {"", UNSIGNED, 2, "($T)@whole_power@($a, $b)", NULL, NULL},
};
static const struct element_row remainder_rows[] = {
    {"", REALS, 2, "fmod$f($a, $b)", NULL, NULL},
    {"", SIGNED, 2, "($T)@remainder_int64@($a, $b)", "$b == 0", by_zero},
    {"", UNSIGNED, 2, "($T)($a % ($b != 0 ? $b : 1))", "$b == 0", by_zero},
};
static const struct element_row modulo_rows[] = {
    {"", REALS, 2, "@modulo_$n@($a, $b)", NULL, NULL},
    {"", SIGNED, 2, "($T)@floor_remainder_int64@($a, $b)", "$b == 0", by_zero},
    {"", UNSIGNED, 2, "($T)($a % ($b != 0 ? $b : 1))", "$b == 0", by_zero},
};
static const struct element_row gelu_tanh_row = {
    "", REALS, 1, "$a * ($T)0.5 * (1 + tanh$f(($T)0.79788456080286535588 * ($a + ($T)0.044715 * $a * $a * $a)))", NULL, NULL};
/* Of float32, as functions/elements/vector_math.inc computes them. */
static const struct element_row single_rows[] = {
    {" Gelu ", REALS, 1, "@gelu_float32@($a)", NULL, NULL},
    {" Celu ", REALS, 1, "$a > 0 ? $a : {alpha} * @expm1_float32@($a / {alpha})", NULL, NULL},
    {" Elu ", REALS, 1, "$a >= 0 ? $a : {alpha} * @expm1_float32@($a)", NULL, NULL},
    {" Selu ", REALS, 1, "{gamma} * ($a >= 0 ? $a : {alpha} * @expm1_float32@($a))", NULL, NULL},
    {" Mish ", REALS, 1, "@mish_float32@($a)", NULL, NULL},
    {" Swish ", REALS, 1, "$a / (1 + @exp_float32@(-{alpha} * $a))", NULL, NULL},
    {" SwiGLU ", REALS, 2, "$a / (1 + @exp_float32@(-{alpha} * $a)) * $b", NULL, NULL},
};
static const struct element_row single_gelu_tanh_row = {
    "", REALS, 1, "$a * 0.5f * (1 + @tanh_float32@(0.79788456080286535588f * ($a + 0.044715f * $a * $a * $a)))", NULL, NULL};
/* By detect_negative + 2 detect_positive. */
static const struct element_row infinity_rows[] = {
    {"", REALS, 1, "false", NULL, NULL},
    {"", REALS, 1, "$a == -INFINITY", NULL, NULL},
    {"", REALS, 1, "$a == INFINITY", NULL, NULL},
    {"", REALS, 1, "isinf($a) != 0", NULL, NULL},
};
static const struct element_row plain_power_row = {"", REALS, 2, "pow$f($a, $b)", NULL, NULL};

static const struct element_row *row_of_kind(const struct element_row *of_three, uint8_t kind)
{
    return kind == REALS ? &of_three[0] : kind == SIGNED ? &of_three[1] : kind == UNSIGNED ? &of_three[2] : NULL;
}

static const struct element_row *infinity_row(const struct mdf_operator *operator, const void * settings)
{
    int64_t negative = 1, positive = 1;

    mdf_source_int_setting(operator, settings, "detect_negative", &negative);
    mdf_source_int_setting(operator, settings, "detect_positive", &positive);
    return &infinity_rows[(negative != 0) + 2 * (positive != 0)];
}

static const struct element_row *choose_row(const struct mdf_operator *operator, const void * settings, mdf_dtype dtype,
                                            size_t n_operands)
{
    uint8_t kind = kind_of(dtype);
    int64_t integer = 0;
    const char *string;
    size_t i;

    if (n_operands == 2 && strcmp(operator->name, "Pow") == 0) {
        return row_of_kind(power_rows, kind);
    }
    if (n_operands == 2 && strcmp(operator->name, "Mod") == 0) {
        mdf_source_int_setting(operator, settings, "fmod", &integer);
        return row_of_kind(integer == 1 ? remainder_rows : modulo_rows, kind);
    }
    if (strcmp(operator->name, "IsInf") == 0) {
        return kind == REALS ? infinity_row(operator, settings) : NULL;
    }
    if (strcmp(operator->name, "Gelu") == 0) {
        string = mdf_source_string_setting(operator, settings, "approximate");
        if (string != NULL && strcmp(string, "tanh") == 0 && kind == REALS) {
            return dtype == MDF_DTYPE_FLOAT32 ? &single_gelu_tanh_row : &gelu_tanh_row;
        }
    }
    for (i = 0; dtype == MDF_DTYPE_FLOAT32 && i < sizeof single_rows / sizeof *single_rows; i++) {
        if (single_rows[i].n_operands == n_operands && names_contain(single_rows[i].names, operator->name)) {
            return &single_rows[i];
        }
    }
    if (n_operands == 2 && (strcmp(operator->name, "operator.pow") == 0 || strcmp(operator->name, "numpy.power") == 0 ||
                            strcmp(operator->name, "numpy.pow") == 0)) {
        return kind == REALS ? &plain_power_row : row_of_kind(power_rows, kind);
    }
    return find_row(operator->name, kind, n_operands);
}

/* The row that elements.def has for an operator's element; false: none. */
static bool element_row(struct mdf_source_writer *writer, const struct mdf_operator *operator, mdf_dtype dtype, size_t n_operands,
                        struct element_row *row)
{
    const struct mdf_element *element = operator->element;
    const struct mdf_element_form *form =
        element != NULL && element->n_operands == n_operands ? mdf_element_form(element, dtype) : NULL;

    if (form == NULL) {
        return false;
    }
    row->text = mdf_source_of_type(writer, mdf_source_element_text(writer, form->text), dtype);
    row->refused = form->refused != NULL ? mdf_source_element_text(writer, form->refused) : NULL;
    row->why = form->why;
    return true;
}

bool mdf_source_express_operator(struct mdf_source_writer *writer, const struct mdf_operator *operator, const void * settings,
                                 mdf_dtype dtype, size_t n_operands, const char *const operands[],
                                 struct mdf_source_expression *expression)
{
    struct expansion expansion = {operator, settings, dtype, operands};
    const struct element_row *row = NULL;
    struct element_row of_element = {0};

    memset(expression, 0, sizeof *expression);
    if (mdf_source_type(dtype) != NULL) {
        row = element_row(writer, operator, dtype, n_operands, &of_element) ? &of_element
                                                                            : choose_row(operator, settings, dtype, n_operands);
    }
    if (row == NULL) {
        return mdf_source_refuse(writer, "there is no form in C of the operator %s on elements of type %s", operator->name,
                                 mdf_dtype_name(dtype));
    }
    if (row == &modulo_rows[0]) {
        expression->text =
            expand(writer, dtype == MDF_DTYPE_FLOAT32 ? "@modulo_float32@($a, $b)" : "@modulo_float64@($a, $b)", &expansion);
    } else {
        expression->text = expand(writer, row->text, &expansion);
    }
    if (expression->text == NULL) {
        return mdf_source_refuse(writer, "an attribute of the operator %s is not given", operator->name);
    }
    expression->refused = row->refused != NULL ? expand(writer, row->refused, &expansion) : NULL;
    expression->why = row->why;
    return true;
}

/* ------------------------------------------------------------------ ops */

/* The codes that are an expression: in the order of enum mdf_lowered_code up to SELECT; NULL: see express_code. */
struct code_row {
    const char *reals, *whole;
    const char *refused, *why;
};

static const struct code_row code_rows[] = {
    [MDF_LOWERED_ADD] = {"$a + $b", "($T)(($U)$a + ($U)$b)", NULL, NULL},
    [MDF_LOWERED_SUBTRACT] = {"$a - $b", "($T)(($U)$a - ($U)$b)", NULL, NULL},
    [MDF_LOWERED_MULTIPLY] = {"$a * $b", "($T)(($U)$a * ($U)$b)", NULL, NULL},
    [MDF_LOWERED_NEGATE] = {"-$a", "($T)(0 - ($U)$a)", NULL, NULL},
    [MDF_LOWERED_ABSOLUTE] = {"fabs$f($a)", "$a < 0 ? ($T)(0 - ($U)$a) : $a", NULL, NULL},
    [MDF_LOWERED_DIVIDE] = {"$a / $b", NULL, NULL, NULL},
    [MDF_LOWERED_DIVIDE_NONZERO] = {"$a / $b", NULL, "$b == 0", "division by zero"},
    [MDF_LOWERED_SQUARE_ROOT] = {"sqrt$f($a)", NULL, NULL, NULL},
    [MDF_LOWERED_FLOOR] = {"floor$f($a)", NULL, NULL, NULL},
    [MDF_LOWERED_CEILING] = {"ceil$f($a)", NULL, NULL, NULL},
    [MDF_LOWERED_QUOTIENT] = {NULL, "@quotient_$n@($a, $b)", "$b == 0", by_zero},
    [MDF_LOWERED_REMAINDER] = {NULL, "@remainder_$n@($a, $b)", "$b == 0", by_zero},
    [MDF_LOWERED_FLOOR_QUOTIENT] = {NULL, "@floor_quotient_$n@($a, $b)", "$b == 0", by_zero},
    [MDF_LOWERED_FLOOR_REMAINDER] = {NULL, "@floor_remainder_$n@($a, $b)", "$b == 0", by_zero},
    [MDF_LOWERED_EQUAL] = {"$a == $b", "$a == $b", NULL, NULL},
    [MDF_LOWERED_NOT_EQUAL] = {"$a != $b", "$a != $b", NULL, NULL},
    [MDF_LOWERED_LESS] = {"$a < $b", "$a < $b", NULL, NULL},
    [MDF_LOWERED_LESS_EQUAL] = {"$a <= $b", "$a <= $b", NULL, NULL},
    [MDF_LOWERED_GREATER] = {"$a > $b", "$a > $b", NULL, NULL},
    [MDF_LOWERED_GREATER_EQUAL] = {"$a >= $b", "$a >= $b", NULL, NULL},
    [MDF_LOWERED_AND] = {NULL, "$a && $b", NULL, NULL},
    [MDF_LOWERED_OR] = {NULL, "$a || $b", NULL, NULL},
    [MDF_LOWERED_EXCLUSIVE_OR] = {NULL, "$a != $b", NULL, NULL},
    [MDF_LOWERED_NOT] = {NULL, "!$a", NULL, NULL},
    [MDF_LOWERED_SELECT] = {"$a ? $b : $c", "$a ? $b : $c", NULL, NULL},
};

/* The value of a whole constant operand; false: it is none. */
static bool constant_whole(const struct mdf_source_writer *writer, const struct mdf_lowered_op *op, size_t i, int64_t *whole)
{
    const void *element = mdf_source_constant_element(writer, op->in[i]);

    if (element == NULL || kind_of((mdf_dtype)op->dtype) == REALS) {
        return false;
    }
    *whole = mdf_element_to_int64((mdf_dtype)op->dtype, element);
    return true;
}

/* A divisor that is a constant other than 0 and -1 needs neither question nor helper. */
static bool express_constant_divisor(struct mdf_source_writer *writer, const struct mdf_lowered_op *op,
                                     const char *const operands[], struct mdf_source_expression *expression)
{
    int64_t divisor;

    if (op->code < MDF_LOWERED_QUOTIENT || op->code > MDF_LOWERED_FLOOR_REMAINDER || !constant_whole(writer, op, 1, &divisor) ||
        divisor == 0 || divisor == -1) {
        return false;
    }
    if (op->code == MDF_LOWERED_QUOTIENT) {
        expression->text = mdf_source_text(writer, "%s / %s", operands[0], operands[1]);
    } else if (op->code == MDF_LOWERED_REMAINDER) {
        expression->text = mdf_source_text(writer, "%s %% %s", operands[0], operands[1]);
    } else {
        expression->text = mdf_source_text(
            writer, "%s(%s, %s)",
            mdf_source_use(writer,
                           mdf_source_of_type(writer,
                                              op->code == MDF_LOWERED_FLOOR_QUOTIENT ? "floor_quotient_$n" : "floor_remainder_$n",
                                              (mdf_dtype)op->dtype)),
            operands[0], operands[1]);
    }
    return true;
}

static bool express_code(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                         struct mdf_source_expression *expression)
{
    static const struct code_row none = {NULL, NULL, NULL, NULL};
    const struct code_row *row = op->code < sizeof code_rows / sizeof *code_rows ? &code_rows[op->code] : &none;
    mdf_dtype dtype = (mdf_dtype)op->dtype;
    struct expansion expansion = {op->operator, op->settings, dtype, operands};
    const char *text = kind_of(dtype) == REALS ? row->reals : row->whole;
    double divisor;

    if (express_constant_divisor(writer, op, operands, expression)) {
        return true;
    }
    if (text == NULL || mdf_source_type(dtype) == NULL) {
        return mdf_source_refuse(writer, "operation %d on elements of type %s is not known", (int)op->code,
                                 mdf_dtype_name(dtype));
    }
    expression->text = expand(writer, mdf_source_of_type(writer, text, dtype), &expansion);
    expression->refused = row->refused != NULL ? expand(writer, row->refused, &expansion) : NULL;
    expression->why = row->why;
    if (op->code == MDF_LOWERED_DIVIDE_NONZERO && mdf_source_constant_element(writer, op->in[1]) != NULL) {
        divisor = mdf_element_to_double(dtype, mdf_source_constant_element(writer, op->in[1]));
        expression->refused = divisor != 0 ? NULL : expression->refused;
    }
    if (op->code == MDF_LOWERED_FLOOR_QUOTIENT) {
        expression->refused = mdf_source_text(writer, "%s == 0 || (%s == -1 && %s == %s)", operands[1], operands[1], operands[0],
                                              dtype == MDF_DTYPE_INT32 ? "INT32_MIN" : "INT64_MIN");
    }
    return true;
}

static bool express_exact(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                          struct mdf_source_expression *expression)
{
    bool negates = op->code == MDF_LOWERED_NEGATE_EXACT;
    const char *helper = mdf_source_use(writer, op->code == MDF_LOWERED_ADD_EXACT        ? "add_exact"
                                                : op->code == MDF_LOWERED_MULTIPLY_EXACT ? "multiply_exact"
                                                                                         : "subtract_exact");

    expression->checked =
        mdf_source_text(writer, "%s(%s, %s, $r)", helper, negates ? "0" : operands[0], negates ? operands[0] : operands[1]);
    expression->why = "a whole number past 64 bits";
    return true;
}

static bool express_cast(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                         struct mdf_source_expression *expression)
{
    mdf_dtype from = (mdf_dtype)op->dtype, to = (mdf_dtype)writer->lowered->values[op->out].form.dtype;
    const char *type = mdf_source_type(to);

    if (to == MDF_DTYPE_BOOL) {
        expression->text = mdf_source_text(writer, "%s != 0", operands[0]);
    } else if (kind_of(from) == REALS && kind_of(to) == SIGNED) {
        expression->checked = mdf_source_text(
            writer, "%s(%s, $r)",
            mdf_source_use(writer, mdf_source_text(writer, "%s_to_%s", mdf_dtype_name(from), mdf_dtype_name(to))), operands[0]);
        expression->why = "a real number does not fit a whole one";
    } else {
        expression->text = from == to ? operands[0] : mdf_source_text(writer, "(%s)%s", type, operands[0]);
    }
    return true;
}

/* Which C function a pointer of a FUNCTION is; NULL: none of math.h that is known here. */
static const char *math_name(const struct mdf_lowered_op *op)
{
    static const struct {
        double (*function)(double);
        const char *name;
    } of_one[] = {{acos, "acos"},   {acosh, "acosh"}, {asin, "asin"},   {asinh, "asinh"}, {atan, "atan"},   {atanh, "atanh"},
                  {cbrt, "cbrt"},   {cos, "cos"},     {cosh, "cosh"},   {erf, "erf"},     {erfc, "erfc"},   {exp, "exp"},
                  {exp2, "exp2"},   {expm1, "expm1"}, {fabs, "fabs"},   {log, "log"},     {log10, "log10"}, {log1p, "log1p"},
                  {log2, "log2"},   {sin, "sin"},     {sinh, "sinh"},   {sqrt, "sqrt"},   {tan, "tan"},     {tanh, "tanh"},
                  {floor, "floor"}, {ceil, "ceil"},   {trunc, "trunc"}, {rint, "rint"}};
    static const struct {
        double (*function)(double, double);
        const char *name;
    } of_two[] = {{pow, "pow"},           {fmod, "fmod"},           {atan2, "atan2"},        {hypot, "hypot"},
                  {copysign, "copysign"}, {remainder, "remainder"}, {nextafter, "nextafter"}};
    size_t i;

    for (i = 0; op->n_in == 1 && i < sizeof of_one / sizeof *of_one; i++) {
        if (of_one[i].function == op->of.function) {
            return of_one[i].name;
        }
    }
    for (i = 0; op->n_in == 2 && i < sizeof of_two / sizeof *of_two; i++) {
        if (of_two[i].function == op->of.function_of_two) {
            return of_two[i].name;
        }
    }
    return NULL;
}

static bool express_function(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                             struct mdf_source_expression *expression)
{
    const char *name = math_name(op);

    if (name != NULL) {
        expression->text = op->n_in == 1 ? mdf_source_text(writer, "%s(%s)", name, operands[0])
                                         : mdf_source_text(writer, "%s(%s, %s)", name, operands[0], operands[1]);
    } else if (op->operator== NULL) {
        return mdf_source_refuse(writer, "a function of math.h is not known");
    } else if (!mdf_source_express_operator(writer, op->operator, op->settings, (mdf_dtype)op->dtype, op->n_in, operands,
                                            expression)) {
        return false;
    }
    expression->unwanted = "!isfinite($r)";
    expression->why = mdf_source_text(writer, "%s has no finite result", name != NULL ? name : op->operator->name);
    return true;
}

/* Which of the ways that numpy has for powers a loop goes: found by trying it, as the loop does not tell. NULL: pow. */
static const char *power_way(const struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    enum { N_TRIALS = 4096 };
    const void *exponent = op->n_in == 2 ? mdf_source_constant_element(writer, op->in[1]) : NULL;
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 0, 0};
    bool is_square = true, is_root = true, is_reciprocal = true;
    size_t i;

    if ((op->n_in == 2 && exponent == NULL) || op->loop == NULL || op->dtype != MDF_DTYPE_FLOAT64) {
        return NULL;
    }
    for (i = 1; i <= N_TRIALS; i++) {
        double x = (double)i * 0.7310585786300049 / 13, power;
        const void *operands[MDF_MAX_OPERANDS] = {&x, exponent, NULL};

        if (!op->loop(&power, operands, steps, 1, op->loop_settings)) {
            return NULL;
        }
        is_square = is_square && power == x * x;
        is_root = is_root && power == sqrt(x);
        is_reciprocal = is_reciprocal && power == 1 / x;
    }
    return is_square ? "%s * %s" : is_root ? "sqrt(%s)" : is_reciprocal ? "1 / %s" : NULL;
}

static bool express_elements(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                             struct mdf_source_expression *expression)
{
    const char *way;

    if (op->operator== NULL) {
        return mdf_source_refuse(writer, "a function of elements has no name");
    }
    way = strstr(op->operator->name, "pow") != NULL ? power_way(writer, op) : NULL;
    if (way != NULL) {
        bool twice = way[0] == '%';

        expression->text = twice           ? mdf_source_text(writer, "%s * %s", operands[0], operands[0])
                           : way[0] == 's' ? mdf_source_text(writer, "sqrt(%s)", operands[0])
                                           : mdf_source_text(writer, "1 / %s", operands[0]);
        return true;
    }
    return mdf_source_express_operator(writer, op->operator, op->settings, (mdf_dtype)op->dtype, op->n_in, operands, expression);
}

bool mdf_source_express(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                        struct mdf_source_expression *expression)
{
    memset(expression, 0, sizeof *expression);
    writer->origin = op->origin != NULL ? op->origin : writer->origin;
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_ADD_EXACT:
    case MDF_LOWERED_SUBTRACT_EXACT:
    case MDF_LOWERED_MULTIPLY_EXACT:
    case MDF_LOWERED_NEGATE_EXACT:
        return express_exact(writer, op, operands, expression);
    case MDF_LOWERED_CAST:
        return express_cast(writer, op, operands, expression);
    case MDF_LOWERED_COPY:
        expression->text = operands[0];
        return true;
    case MDF_LOWERED_FUNCTION:
        return express_function(writer, op, operands, expression);
    case MDF_LOWERED_ELEMENTS:
        return express_elements(writer, op, operands, expression);
    default: /* what has no row is refused */
        return express_code(writer, op, operands, expression);
    }
}
