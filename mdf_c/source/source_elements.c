/* source_elements.c - functions of elements as expressions of C: those of functions/elements/elements.def, and ops.
 *
 * Each row there is what a loop of functions/ computes for one element, written with the same operations in the same order and
 * the same functions of math.h, so that the result has the same bits. In a text $a $b $c stand for the operands, $T for the
 * operands' type, $U for the type to compute whole numbers in without overflow, $f for the suffix of math functions, {name} for
 * an attribute. */
#include "mdf_c/source/source_writer.h"

#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"
#include "functions/kernel/move.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"

#include <math.h>
#include <string.h>

static const char by_zero[] = "whole number divided by zero";

/* ------------------------------------------------------------------ rows as text */

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
        const char *near = writer->is_near ? mdf_source_use(writer, mdf_source_text(writer, "near_%s", name)) : "";

        mdf_text_append_string(result, *near != '\0' ? near : mdf_source_use(writer, name));
        mdf_text_append_string(result, *near != '\0' ? "(&far, " : "");
        return text + length + 2 + (*near != '\0');
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

/* The operand that an expression comes to whatever its condition says, as it chooses between two that are the same value (the
 * maximum of x and x), of which compilers warn; NULL: it is no such choice. The text is a row's, with $a $b $c. */
static const char *chosen_either_way(const char *text, const char *const operands[])
{
    const char *choice = strchr(text, '?');

    if (choice == NULL || strlen(choice) != strlen("? $a : $b") || choice[2] != '$' || choice[7] != '$' ||
        memcmp(choice + 4, " : ", 3) != 0 || strcmp(operands[choice[3] - 'a'], operands[choice[8] - 'a']) != 0) {
        return NULL;
    }
    return operands[choice[3] - 'a'];
}

/* Functions that choose the larger or the smaller one, and the helpers (element_helpers.h) that do so of reals in two steps. */
static const struct {
    enum mdf_element_id id;
    enum mdf_source_extreme extreme;
    const char *helper;
} extremes[] = {{MDF_ELEMENT_larger, MDF_SOURCE_LARGER, "larger"},
                {MDF_ELEMENT_smaller, MDF_SOURCE_SMALLER, "smaller"},
                {MDF_ELEMENT_maximum, MDF_SOURCE_LARGER, "maximum"},
                {MDF_ELEMENT_minimum, MDF_SOURCE_SMALLER, "minimum"}};

/* Which of them a function of elements is; their number: another one. */
static size_t find_extreme(const struct mdf_element *element)
{
    size_t i;

    for (i = 0; i < sizeof extremes / sizeof *extremes && element != &mdf_elements[extremes[i].id]; i++) {
    }
    return i;
}

enum mdf_source_extreme mdf_source_extreme(const struct mdf_operator *operator, const void * settings)
{
    size_t i = operator!= NULL ? find_extreme(mdf_element_of(operator, settings)) : sizeof extremes / sizeof * extremes;

    return i < sizeof extremes / sizeof *extremes ? extremes[i].extreme : MDF_SOURCE_NO_EXTREME;
}

/* The helper of an extreme of numbers that go through no loop over elements: NaN, of which there are few, is left to a jump, and
 * nobody waits until it is looked for. */
static const char *extreme_alone(struct mdf_source_writer *writer, size_t i, mdf_dtype dtype)
{
    const char *type = mdf_source_type(dtype), *sign = extremes[i].extreme == MDF_SOURCE_LARGER ? ">" : "<";
    const char *name = mdf_source_text(writer, "%s_alone_%s", extremes[i].helper, mdf_dtype_name(dtype));
    bool keeps_second = extremes[i].id == MDF_ELEMENT_larger || extremes[i].id == MDF_ELEMENT_smaller;

    mdf_source_use(writer, "item"); /* MDF_LIKELY */
    mdf_source_use(writer, "jump");
    return mdf_source_helper(
        writer, name,
        mdf_source_text(
            writer,
            "static inline %s mdf_%s(%s x, %s t)\n{\n    const %s either = %s;\n\n    if (MDF_LIKELY(%s)) {\n        return "
            "either;\n    }\n    MDF_JUMP;\n    return %s;\n}\n",
            type, name, type, type, type,
            keeps_second ? mdf_source_text(writer, "x %s t ? x : t", sign) : mdf_source_text(writer, "t %s x ? t : x", sign),
            keeps_second ? "x == x" : "t == t", keeps_second ? "x" : "x == x ? t : x"));
}

/* An extreme by its helper; NULL: it is none of reals, or one in succession. */
static const char *extreme_of(struct mdf_source_writer *writer, const struct mdf_element *element, mdf_dtype dtype,
                              const char *const operands[])
{
    size_t i = find_extreme(element);
    const char *name;

    if (i == sizeof extremes / sizeof *extremes || writer->is_in_succession || !mdf_dtype_is_real(dtype) ||
        strcmp(operands[0], operands[1]) == 0) {
        return NULL;
    }
    name = writer->is_alone && writer->loop != NULL
               ? extreme_alone(writer, i, dtype)
               : mdf_source_use(writer, mdf_source_text(writer, "%s_%s", extremes[i].helper, mdf_dtype_name(dtype)));
    return mdf_source_text(writer, "%s(%s, %s)", name, operands[0], operands[1]);
}

/* An expression of a row of functions/elements/elements.def on these operands. */
static const char *express_form(struct mdf_source_writer *writer, const struct mdf_element_form *form,
                                const struct expansion *expansion)
{
    const char *text = mdf_source_element_text(writer, form->text);
    const char *chosen = chosen_either_way(text, expansion->operands);

    return chosen != NULL ? chosen : expand(writer, text, expansion);
}

bool mdf_source_express_operator(struct mdf_source_writer *writer, const struct mdf_operator *operator, const void * settings,
                                 mdf_dtype dtype, size_t n_operands, const char *const operands[],
                                 struct mdf_source_expression *expression)
{
    struct expansion expansion = {operator, settings, dtype, operands};
    const struct mdf_element *element = mdf_element_of(operator, settings);
    const struct mdf_element_form *form = NULL;
    bool only_chooses = element == MDF_ELEMENT(select) && mdf_source_type(dtype) != NULL;

    memset(expression, 0, sizeof *expression);
    if (element != NULL && element->n_operands == n_operands && (mdf_source_computes(dtype) || only_chooses)) {
        form = mdf_element_form(element, only_chooses ? MDF_DTYPE_UINT16 : dtype);
    }
    if (form == NULL) {
        return mdf_source_refuse(writer, "there is no form in C of the operator %s on elements of type %s", operator->name,
                                 mdf_dtype_name(dtype));
    }
    expression->text = n_operands == 2 ? extreme_of(writer, element, dtype, operands) : NULL;
    expression->text = expression->text != NULL ? expression->text : express_form(writer, form, &expansion);
    if (expression->text == NULL) {
        return mdf_source_refuse(writer, "an attribute of the operator %s is not given", operator->name);
    }
    if (form->refused != NULL) {
        expression->refused = expand(writer, mdf_source_element_text(writer, form->refused), &expansion);
        expression->why = form->why;
    }
    return true;
}

/* ------------------------------------------------------------------ ops */

static bool is_real(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f';
}

/* The functions of elements that codes stand for. */
static const struct {
    enum mdf_element_id id;
    unsigned kinds;
    enum mdf_lowered_code code;
} code_rows[] = {
#define CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#define NUMBER_CODE(id, kinds, code) {MDF_ELEMENT_##id, MDF_ELEMENTS_##kinds, code},
#include "functions/elements/elements.def"
};

static const struct mdf_element_form *form_of_code(enum mdf_lowered_code code, mdf_dtype dtype)
{
    for (size_t i = 0; i < sizeof code_rows / sizeof *code_rows; i++) {
        if (code_rows[i].code == code && (code_rows[i].kinds & mdf_element_kind(dtype)) != 0) {
            return mdf_element_form(&mdf_elements[code_rows[i].id], dtype);
        }
    }
    return NULL;
}

/* The value of a whole constant second operand; false: it is none. */
static bool constant_divisor(const struct mdf_source_writer *writer, const struct mdf_lowered_op *op, int64_t *whole)
{
    const void *element = mdf_source_constant_element(writer, op->in[1]);

    if (element == NULL || is_real((mdf_dtype)op->dtype)) {
        return false;
    }
    *whole = mdf_element_to_int64((mdf_dtype)op->dtype, element);
    return true;
}

/* Whether the divisor is a constant other than 0 and -1, so that nothing has to be asked. */
static bool divides_by_constant(const struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    int64_t divisor;

    return op->code >= MDF_LOWERED_QUOTIENT && op->code <= MDF_LOWERED_FLOOR_REMAINDER &&
           constant_divisor(writer, op, &divisor) && divisor != 0 && divisor != -1;
}

/* Operands for which a code has no result, whatever its function does with them. */
static void express_refusal(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                            struct mdf_source_expression *expression)
{
    mdf_dtype dtype = (mdf_dtype)op->dtype;
    const void *divisor = op->n_in == 2 ? mdf_source_constant_element(writer, op->in[1]) : NULL;
    const char *is_zero = op->n_in == 2 ? mdf_source_text(writer, "%s == 0", operands[1]) : NULL;

    if (op->code == MDF_LOWERED_DIVIDE_NONZERO) {
        expression->refused = divisor != NULL && mdf_element_to_double(dtype, divisor) != 0 ? NULL : is_zero;
        expression->why = divisor != NULL && mdf_source_constant_element(writer, op->in[0]) != NULL
                              ? "types, shapes, or numbers that a call depends on, other than those that the model was compiled "
                                "for" /* lowering_bail_out */
                              : "division by zero";
    } else if (op->code >= MDF_LOWERED_QUOTIENT && op->code <= MDF_LOWERED_FLOOR_REMAINDER) {
        expression->refused = is_zero;
        expression->why = by_zero;
        if (op->code == MDF_LOWERED_FLOOR_QUOTIENT) {
            expression->refused = mdf_source_text(writer, "%s || (%s == -1 && %s == %s)", is_zero, operands[1], operands[0],
                                                  dtype == MDF_DTYPE_INT32 ? "INT32_MIN" : "INT64_MIN");
        }
    }
}

/* What a comparison of a value with itself comes to, of which compilers warn: the same for 0 as for what is most different from
 * it, true or NaN; NULL: it is none. */
static const char *compared_with_itself(const struct mdf_lowered_op *op, const char *const operands[])
{
    bool compares = op->dtype == MDF_DTYPE_BOOL || (op->code >= MDF_LOWERED_EQUAL && op->code <= MDF_LOWERED_GREATER_EQUAL);
    union {
        double real;
        float single;
        bool truth;
        uint64_t cell;
    } zero = {.cell = 0}, other = {.cell = 0};
    const uint64_t *zeros[MDF_MAX_OPERANDS] = {&zero.cell, &zero.cell}, *others[MDF_MAX_OPERANDS] = {&other.cell, &other.cell};
    uint64_t of_zero = 0, of_other = 0;

    if (!compares || op->n_in != 2 || strcmp(operands[0], operands[1]) != 0) {
        return NULL;
    }
    if (op->dtype == MDF_DTYPE_BOOL) {
        other.truth = true;
    } else if (op->dtype == MDF_DTYPE_FLOAT32) {
        other.single = NAN;
    } else if (op->dtype == MDF_DTYPE_FLOAT64) {
        other.real = NAN;
    }
    return mdf_lowered_compute((enum mdf_lowered_code)op->code, (mdf_dtype)op->dtype, zeros, &of_zero) &&
                   mdf_lowered_compute((enum mdf_lowered_code)op->code, (mdf_dtype)op->dtype, others, &of_other) &&
                   of_zero == of_other
               ? (of_zero != 0 ? "true" : "false")
               : NULL;
}

static bool express_code(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                         struct mdf_source_expression *expression)
{
    mdf_dtype dtype = (mdf_dtype)op->dtype;
    struct expansion expansion = {op->operator, op->settings, dtype, operands};
    const struct mdf_element_form *form = form_of_code((enum mdf_lowered_code)op->code, dtype);
    bool is_plain = divides_by_constant(writer, op);

    if (is_plain && (op->code == MDF_LOWERED_QUOTIENT || op->code == MDF_LOWERED_REMAINDER)) {
        expression->text =
            mdf_source_text(writer, op->code == MDF_LOWERED_QUOTIENT ? "%s / %s" : "%s %% %s", operands[0], operands[1]);
        return true;
    }
    if (form == NULL || !(mdf_source_computes(dtype) || mdf_dtype_is_half(dtype))) {
        return mdf_source_refuse(writer, "operation %d on elements of type %s is not known", (int)op->code,
                                 mdf_dtype_name(dtype));
    }
    writer->adds = writer->adds || (op->code == MDF_LOWERED_ADD && is_real(dtype));
    writer->subtracts = writer->subtracts || (op->code == MDF_LOWERED_SUBTRACT && is_real(dtype));
    writer->multiplies = writer->multiplies || (op->code == MDF_LOWERED_MULTIPLY && is_real(dtype));
    expression->text = compared_with_itself(op, operands);
    if (expression->text == NULL) {
        expression->text = express_form(writer, form, &expansion);
    }
    if (!is_plain) {
        express_refusal(writer, op, operands, expression);
    }
    return true;
}

static bool express_exact(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                          struct mdf_source_expression *expression)
{
    bool negates = op->code == MDF_LOWERED_NEGATE_EXACT;
    const char *helper = mdf_source_use(writer, op->code == MDF_LOWERED_ADD_EXACT           ? "add_exact"
                                                : op->code == MDF_LOWERED_MULTIPLY_EXACT    ? "multiply_exact"
                                                : op->code == MDF_LOWERED_SHIFT_LEFT_EXACT  ? "shift_left_exact"
                                                : op->code == MDF_LOWERED_SHIFT_RIGHT_EXACT ? "shift_right_exact"
                                                                                            : "subtract_exact");

    expression->checked =
        mdf_source_text(writer, "%s(%s, %s, $r)", helper, negates ? "0" : operands[0], negates ? operands[0] : operands[1]);
    expression->why = op->code == MDF_LOWERED_SHIFT_RIGHT_EXACT  ? "a shift by a negative count"
                      : op->code == MDF_LOWERED_SHIFT_LEFT_EXACT ? "a shift by a negative count, or a whole number past 64 bits"
                                                                 : "a whole number past 64 bits";
    return true;
}

/* Of a code on elements of a type, whose result is of another. */
static bool may_bail_out(enum mdf_lowered_code code, const struct mdf_operator *operator, const void * settings, mdf_dtype from,
                         mdf_dtype to)
{
    const struct mdf_element *element = code == MDF_LOWERED_ELEMENTS && operator!= NULL ? mdf_element_of(operator, settings) : NULL;
    const struct mdf_element_form *form = element != NULL ? mdf_element_form(element, from) : NULL;

    if (code == MDF_LOWERED_CAST) {
        return is_real(from) && !is_real(to) && to != MDF_DTYPE_BOOL && !mdf_lowered_casts_all(operator);
    }
    return code == MDF_LOWERED_ELEMENTS ? form != NULL && form->refused != NULL : mdf_lowered_may_bail_out(code);
}

bool mdf_source_op_may_bail_out(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    return op->out != MDF_LOWERED_NONE && may_bail_out((enum mdf_lowered_code)op->code, op->operator, op->settings,
                                                       (mdf_dtype)op->dtype, (mdf_dtype)lowered->values[op->out].form.dtype);
}

bool mdf_source_step_may_bail_out(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT ? may_bail_out((enum mdf_lowered_code)step->code, step->operator, step->settings,
                                                         (mdf_dtype)step->operand_dtype, (mdf_dtype)step->dtype)
                                          : step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE;
}

static void express_cast_to_whole(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, mdf_dtype to,
                                  const char *operand, struct mdf_source_expression *expression)
{
    const char *from = mdf_dtype_name((mdf_dtype)op->dtype), *whole = mdf_dtype_name(to);
    const char *how = writer->is_alone && mdf_dtype_kind(to) == 'i' ? "_alone" : "";

    if (mdf_lowered_casts_all(op->operator)) {
        expression->text = mdf_source_text(
            writer, "%s(%s)", mdf_source_use(writer, mdf_source_text(writer, "%s_as_%s%s", from, whole, how)), operand);
    } else {
        expression->checked = mdf_source_text(writer, "%s(%s, $r)",
                                              mdf_source_use(writer, mdf_source_text(writer, "%s_to_%s", from, whole)), operand);
        expression->why = "a real number does not fit a whole one";
    }
}

static bool express_cast(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, mdf_dtype to,
                         const char *const operands[], struct mdf_source_expression *expression)
{
    mdf_dtype from = (mdf_dtype)op->dtype;

    if (from != to && (!mdf_source_computes(from) || !mdf_source_computes(to))) {
        const char *name = mdf_source_text(writer, "%s_to_%s", mdf_dtype_name(from), mdf_dtype_name(to));

        expression->text = mdf_source_text(writer, "%s(%s)", mdf_source_use(writer, name), operands[0]);
        writer->makes_reals = writer->makes_reals || mdf_dtype_kind(from) != 'f';
    } else if (to == MDF_DTYPE_BOOL) {
        expression->text = mdf_source_text(writer, "%s != 0", operands[0]);
    } else if (is_real(from) && !is_real(to)) {
        express_cast_to_whole(writer, op, to, operands[0], expression);
    } else if (from == MDF_DTYPE_BOOL) { /* of which compilers make vectors, as they do not of a conversion */
        expression->text = mdf_source_text(writer,
                                           to == MDF_DTYPE_FLOAT32   ? "%s ? 1.0f : 0.0f"
                                           : to == MDF_DTYPE_FLOAT64 ? "%s ? 1.0 : 0.0"
                                                                     : "%s ? 1 : 0",
                                           operands[0]);
    } else {
        expression->text = mdf_source_text(writer, "%s%s", mdf_source_cast(writer, from, to), operands[0]);
    }
    return true;
}

/* Which C function a pointer of a FUNCTION is; NULL: none of math.h that is known here. */
static const char *math_name(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    static const struct {
        double (*function)(double);
        const char *name;
    } of_one[] = {
#define SCALAR(id, function) {function, #function},
#include "functions/elements/elements.def"
    };
    static const struct {
        double (*function)(double, double);
        const char *name;
    } of_two[] = {
#define SCALAR_2(id, function) {function, #function},
#include "functions/elements/elements.def"
    };

    for (size_t i = 0; op->n_in == 1 && i < sizeof of_one / sizeof *of_one; i++) {
        if (of_one[i].function == op->of.function) {
            return strncmp(of_one[i].name, "mdf_", 4) == 0 ? mdf_source_use(writer, of_one[i].name + 4) : of_one[i].name;
        }
    }
    for (size_t i = 0; op->n_in == 2 && i < sizeof of_two / sizeof *of_two; i++) {
        if (of_two[i].function == op->of.function_of_two) {
            return strncmp(of_two[i].name, "mdf_", 4) == 0 ? mdf_source_use(writer, of_two[i].name + 4) : of_two[i].name;
        }
    }
    return NULL;
}

/* What Python refuses: NaN of numbers that are none, and infinities of finite ones. */
static const char *refused_result(struct mdf_source_writer *writer, size_t n, const char *const operands[])
{
    return n == 1 ? mdf_source_text(writer, "isnan($r) ? !isnan(%s) : isinf($r) && isfinite(%s)", operands[0], operands[0])
                  : mdf_source_text(writer, "isnan($r) ? !isnan(%s) && !isnan(%s) : isinf($r) && isfinite(%s) && isfinite(%s)",
                                    operands[0], operands[1], operands[0], operands[1]);
}

static bool express_function(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                             struct mdf_source_expression *expression)
{
    const char *name = math_name(writer, op);

    if (name != NULL) {
        expression->text = op->n_in == 1 ? mdf_source_text(writer, "%s(%s)", name, operands[0])
                                         : mdf_source_text(writer, "%s(%s, %s)", name, operands[0], operands[1]);
    } else if (op->operator== NULL) {
        return mdf_source_refuse(writer, "a function of math.h is not known");
    } else if (!mdf_source_express_operator(writer, op->operator, op->settings, (mdf_dtype)op->dtype, op->n_in, operands,
                                            expression)) {
        return false;
    }
    expression->unwanted = refused_result(writer, op->n_in, operands);
    expression->why = mdf_source_text(writer, "%s has no finite result", name != NULL ? name : op->operator->name);
    return true;
}

/* The function that an op's loop is: the operator's, or what its kernel chose, or its loop comes to, for a constant operand:
 * numpy's power of 2 is a square. */
static const struct mdf_element *element_of(const struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const struct mdf_element *element = mdf_element_of(op->operator, op->settings), *simpler = NULL;
    const void *constant = op->n_in == 2 ? mdf_source_constant_element(writer, op->in[1]) : NULL;

    if (element != NULL && op->n_in < element->n_operands) {
        simpler = mdf_element_of_loop(op->loop, (mdf_dtype)op->dtype);
    } else if (constant != NULL && mdf_dtype_is_real((mdf_dtype)op->dtype)) {
        simpler = mdf_element_with_constant(element, mdf_element_to_double((mdf_dtype)op->dtype, constant));
    }
    return simpler != NULL ? simpler : element;
}

static bool express_elements(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[],
                             struct mdf_source_expression *expression)
{
    const struct mdf_element *element = op->operator!= NULL ? element_of(writer, op) : NULL;
    struct mdf_operator own;

    if (op->operator== NULL) {
        return mdf_source_refuse(writer, "a function of elements has no name");
    }
    if (element == mdf_element_of(op->operator, op->settings)) {
        return mdf_source_express_operator(writer, op->operator, op->settings, (mdf_dtype)op->dtype, op->n_in, operands,
                                           expression);
    }
    own = (struct mdf_operator){.name = op->operator->name, .element = element};
    return mdf_source_express_operator(writer, &own, NULL, (mdf_dtype)op->dtype, element->n_operands, operands, expression);
}

/* The remainder by a constant power of two, with the divisor's sign: the last bits, in one operation where that of the quotient
 * that C has takes several and a choice; NULL: it is no such remainder. */
static const char *last_bits(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *const operands[])
{
    mdf_dtype dtype = (mdf_dtype)op->dtype;
    const struct mdf_element *element = op->code == MDF_LOWERED_ELEMENTS && op->operator!= NULL
                                            ? mdf_element_of(op->operator, op->settings)
                                        : op->code == MDF_LOWERED_FLOOR_REMAINDER ? MDF_ELEMENT(floor_remainder)
                                                                                  : NULL;
    int64_t divisor;

    if ((element != MDF_ELEMENT(floor_remainder) && element != MDF_ELEMENT(modulo)) || mdf_dtype_kind(dtype) != 'i' ||
        !mdf_source_computes(dtype) || !constant_divisor(writer, op, &divisor) || divisor <= 0 ||
        (divisor & (divisor - 1)) != 0) {
        return NULL;
    }
    return mdf_source_of_type(writer, mdf_source_text(writer, "($T)(($U)%s & %lld)", operands[0], (long long)(divisor - 1)),
                              dtype);
}

bool mdf_source_express(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, mdf_dtype result,
                        const char *const operands[], struct mdf_source_expression *expression)
{
    memset(expression, 0, sizeof *expression);
    writer->origin = op->origin != NULL ? op->origin : writer->origin;
    expression->text = last_bits(writer, op, operands);
    if (expression->text != NULL) {
        return true;
    }
    if (op->code == MDF_LOWERED_CAST) {
        return express_cast(writer, op, result, operands, expression);
    }
    if (op->code == MDF_LOWERED_COPY) {
        expression->text = operands[0];
        return true;
    }
    return (mdf_lowered_wrapping(op->code) != op->code ? express_exact
            : op->code == MDF_LOWERED_FUNCTION         ? express_function
            : op->code == MDF_LOWERED_ELEMENTS         ? express_elements
                                                       : express_code)(writer, op, operands, expression);
}

/* ------------------------------------------------------------------ as statements */

/* A text of an expression with "$r" replaced. */
static const char *with_result(struct mdf_source_writer *writer, const char *text, const char *result)
{
    const char *found = strstr(text, "$r");

    return found == NULL
               ? text
               : mdf_source_text(writer, "%.*s%s%s", (int)(found - text), text, result, with_result(writer, found + 2, result));
}

static void bail_out(struct mdf_source_writer *writer, const char *condition, const char *why, bool is_in_loop)
{
    if (is_in_loop) {
        mdf_source_line(writer, "refused |= %s;", condition);
    } else {
        mdf_source_bail_out_if(writer, condition, why);
    }
}

void mdf_source_define(struct mdf_source_writer *writer, mdf_dtype dtype, const char *name,
                       const struct mdf_source_expression *expression, bool is_in_loop)
{
    const char *type = mdf_source_type(dtype);

    if (expression->refused != NULL) {
        bail_out(writer, expression->refused, expression->why, is_in_loop);
    }
    if (expression->checked != NULL) {
        const char *call = with_result(writer, expression->checked, mdf_source_text(writer, "&%s", name));

        mdf_source_line(writer, "%s %s;", type, name);
        bail_out(writer, mdf_source_text(writer, "!%s", call), expression->why, is_in_loop);
    } else {
        mdf_source_line(writer, "const %s %s = %s;", type, name, expression->text);
    }
    if (expression->unwanted != NULL) {
        bail_out(writer, with_result(writer, expression->unwanted, name), expression->why, is_in_loop);
    }
}
