/* source_broadcast.c - functions of elements on arrays whose shapes broadcast: nested loops over the axes of the result. */
#include "mdf_c/source/source_writer.h"

#include "functions/elements/element.h"

#include "functions/python/python_values.h"

#include <string.h>

enum { MAX_FOLDED = 16 }; /* operands of Sum, Max, Min, Mean */

/* Opens loops over the axes of the result, and finds the index of each operand's element; the number of loops. Axes along which
 * all operands go on evenly are one. */
static size_t open_loops(struct mdf_source_writer *writer, const struct mdf_value *form, size_t n_operands,
                         const struct mdf_value *const operands[], const char *indices[], const char **out_index)
{
    const int64_t *shape = mdf_source_shape(form);
    int64_t strides[MAX_FOLDED + 1], ends[MAX_FOLDED + 1], step = (int64_t)form->length, size = 1;
    size_t axis, i, n_open = 0;
    bool is_one = form->length > 0;

    *out_index = "0";
    for (i = 0; i < n_operands; i++) {
        indices[i] = "0";
        is_one = is_one && (operands[i]->length == form->length || operands[i]->length == 1);
        ends[i] = (int64_t)operands[i]->length;
    }
    if (is_one) {
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", form->length);
        for (i = 0; i < n_operands; i++) {
            indices[i] = operands[i]->length == form->length ? "i" : "0";
        }
        *out_index = "i";
        return 1;
    }
    for (axis = 0; axis < form->rank; axis++) {
        const char *index;

        size = shape[axis];
        step /= size;
        for (i = 0; i < n_operands; i++) {
            size_t missing = form->rank - operands[i]->rank;
            int64_t own = axis < missing ? 1 : mdf_source_shape(operands[i])[axis - missing];

            ends[i] /= own;
            strides[i] = own == 1 ? 0 : ends[i];
        }
        if (size == 1) {
            continue;
        }
        index = mdf_source_text(writer, "i%zu", n_open++);
        mdf_source_open(writer, "for (size_t %s = 0; %s < %lld; %s++)", index, index, (long long)size, index);
        for (i = 0; i < n_operands; i++) {
            if (strides[i] != 0) {
                indices[i] = mdf_source_text(writer, "%s%s%s * %lld", strcmp(indices[i], "0") == 0 ? "" : indices[i],
                                             strcmp(indices[i], "0") == 0 ? "" : " + ", index, (long long)strides[i]);
            }
        }
        *out_index = mdf_source_text(writer, "%s%s%s * %lld", strcmp(*out_index, "0") == 0 ? "" : *out_index,
                                     strcmp(*out_index, "0") == 0 ? "" : " + ", index, (long long)step);
    }
    return n_open;
}

/* Whether an operand is the condition of Where, whose type says nothing of the others'. */
static bool is_condition(size_t i, size_t n_operands)
{
    return i == 0 && n_operands == 3;
}

/* The type in which two operands are compared; whole numbers, however short, as int64, which holds them all. NONE: there is none.
 */
static mdf_dtype compared_dtype(const struct mdf_source_writer *writer, const struct mdf_value *a, const struct mdf_value *b)
{
    mdf_dtype dtype = mdf_python_promote(writer->lowered->context, a, b);

    return mdf_dtype_kind(dtype) == 'f' ? dtype : dtype == MDF_DTYPE_UINT64 ? MDF_DTYPE_NONE : MDF_DTYPE_INT64;
}

/* The type in which elements are computed: of a real result its own (math's functions make doubles of all reals), else the
 * operands', or, where they differ, the result's. NONE: there is none that gives the same. */
static mdf_dtype computed_dtype(const struct mdf_source_writer *writer, const struct mdf_value *form, size_t n_operands,
                                const struct mdf_value *const operands[])
{
    mdf_dtype dtype = (mdf_dtype)operands[n_operands - 1]->dtype;
    bool is_real = mdf_dtype_kind((mdf_dtype)form->dtype) == 'f', any_real = false, differ = false;
    size_t i;

    for (i = 0; i < n_operands; i++) {
        differ = differ || (operands[i]->dtype != dtype && !is_condition(i, n_operands));
        any_real = any_real || (mdf_dtype_kind((mdf_dtype)operands[i]->dtype) == 'f' && !is_condition(i, n_operands));
    }
    if (is_real || !differ) {
        return is_real ? (mdf_dtype)form->dtype : dtype;
    }
    if (form->dtype == MDF_DTYPE_BOOL && n_operands == 2) {
        return compared_dtype(writer, operands[0], operands[1]);
    }
    return any_real ? MDF_DTYPE_NONE : (mdf_dtype)form->dtype;
}

/* Whether ONNX's Pow is computed in the type of its base: else, of a base that is shorter than the exponent, it is not written.
 */
static bool is_power_of_its_base(const struct mdf_source_writer *writer, const struct mdf_source_call *call,
                                 const struct mdf_value *base, const struct mdf_value *exponent)
{
    const void *element = mdf_source_constant_element(writer, call->call->inputs[1]);
    double real = element != NULL ? mdf_element_to_double((mdf_dtype)exponent->dtype, element) : 0;

    return base->dtype == exponent->dtype || base->dtype == MDF_DTYPE_FLOAT64 ||
           (base->dtype == MDF_DTYPE_FLOAT32 && element != NULL && (double)(float)real == real);
}

/* The text of an operand's element in the type of the computation. */
static const char *operand_text(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t i, const char *index,
                                mdf_dtype dtype, bool as_it_is)
{
    mdf_lowered_id id = call->call->inputs[i];
    const char *element = mdf_source_element(writer, id, index);

    return as_it_is || writer->lowered->values[id].form.dtype == dtype
               ? element
               : mdf_source_text(writer, "(%s)%s", mdf_source_type(dtype), element);
}

/* Of two operands and more: folded from the left. */
static bool express_folded(struct mdf_source_writer *writer, const struct mdf_source_call *call, mdf_dtype dtype,
                           size_t n_operands, const char *const operands[], struct mdf_source_expression *expression)
{
    bool is_mean = call->operator->form == MDF_FORM_MEAN;
    struct mdf_operator adding = *call->operator;
    const char *left = operands[0];
    size_t i;

    if (is_mean) {
        adding.element = MDF_ELEMENT(add);
    }
    memset(expression, 0, sizeof *expression);
    expression->text = left;
    for (i = 1; i < n_operands; i++) {
        const char *const pair[2] = {left, operands[i]};

        if (!mdf_source_express_operator(writer, &adding, call->settings, dtype, 2, pair, expression)) {
            return false;
        }
        if (i + 1 < n_operands || is_mean) {
            left = mdf_source_name(writer, &writer->locals, "t");
            mdf_source_line(writer, "const %s %s = %s;", mdf_source_type(dtype), left, expression->text);
        }
    }
    if (is_mean && n_operands > 1) {
        expression->text = mdf_source_text(writer, "%s / %zu", left, n_operands);
    }
    return true;
}

bool mdf_source_write_broadcast(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *form = mdf_source_output(writer, call), *operands[MAX_FOLDED];
    const char *indices[MAX_FOLDED], *texts[MAX_FOLDED], *out_index, *guard = NULL;
    size_t n = call->call->n_inputs, n_open, i;
    struct mdf_source_expression expression;
    mdf_dtype dtype;

    if (n > MAX_FOLDED) {
        return mdf_source_refuse(writer, "the operator %s has %zu operands", call->operator->name, n);
    }
    for (i = 0; i < n; i++) {
        operands[i] = mdf_source_input(writer, call, i);
    }
    if (form->length == 0) {
        return true;
    }
    dtype = computed_dtype(writer, form, n, operands);
    if (dtype == MDF_DTYPE_NONE ||
        (call->operator->element == MDF_ELEMENT(onnx_power) && !is_power_of_its_base(writer, call, operands[0], operands[1]))) {
        return mdf_source_refuse(writer, "the operator %s on elements of types %s and %s", call->operator->name,
                                 mdf_dtype_name((mdf_dtype)operands[0]->dtype), mdf_dtype_name((mdf_dtype)operands[1]->dtype));
    }
    n_open = open_loops(writer, form, n, operands, indices, &out_index);
    for (i = 0; i < n; i++) {
        texts[i] = operand_text(writer, call, i, indices[i], dtype, is_condition(i, n));
    }
    if (call->operator->form == MDF_FORM_VARIADIC || call->operator->form == MDF_FORM_MEAN
            ? !express_folded(writer, call, dtype, n, texts, &expression)
            : !mdf_source_express_operator(writer, call->operator, call->settings, dtype, n, texts, &expression)) {
        return false;
    }
    guard = expression.refused;
    if (guard != NULL) {
        mdf_source_bail_out_if(writer, guard, expression.why);
    }
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, call->call->outputs[0], out_index), expression.text);
    for (i = 0; i < n_open; i++) {
        mdf_source_close(writer);
    }
    return true;
}

bool mdf_source_write_broadcast_as(struct mdf_source_writer *writer, const struct mdf_source_call *call,
                                   const struct mdf_element *element)
{
    struct mdf_operator operator= {.name = call->operator->name, .element = element};
    struct mdf_source_call other = *call;

    other.operator= & operator;
    return mdf_source_write_broadcast(writer, &other);
}

/* Python's int and float of a number. */
bool mdf_source_write_number(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *form = mdf_source_output(writer, call), *given = mdf_source_input(writer, call, 0);
    const char *x = call->call->n_inputs == 1 ? mdf_source_element(writer, call->call->inputs[0], "0") : "";
    const char *to = mdf_source_element(writer, call->call->outputs[0], "0");
    char kind = call->call->n_inputs == 1 ? mdf_dtype_kind((mdf_dtype)given->dtype) : 's';

    if (form->length != 1 || kind == 's' || kind == 'c' || given->length != 1) {
        return mdf_source_refuse(writer, "the function %s of what is not one number", call->operator->name);
    }
    if (kind == 'f' && form->dtype == MDF_DTYPE_INT64) {
        mdf_source_bail_out_if(writer,
                               mdf_source_text(writer, "!%s((double)%s, &%s)", mdf_source_use(writer, "float64_to_int64"), x, to),
                               "a real number does not fit a whole one");
    } else {
        mdf_source_line(writer, "%s = (%s)%s;", to, mdf_source_type((mdf_dtype)form->dtype), x);
    }
    return true;
}

/* A quotient of Python's whole numbers, rounded from the exact operands. */
bool mdf_source_write_quotient(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    bool are_numbers = a != NULL && b != NULL && a->rank == 0 && b->rank == 0 && a->strength == MDF_STRENGTH_PYTHON &&
                       b->strength == MDF_STRENGTH_PYTHON && mdf_dtype_kind((mdf_dtype)a->dtype) != 'f' &&
                       mdf_dtype_kind((mdf_dtype)b->dtype) != 'f';

    if (!are_numbers) {
        return mdf_source_write_broadcast(writer, call);
    }
    mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s == 0", mdf_source_element(writer, call->call->inputs[1], "0")),
                           "division by zero");
    mdf_source_line(
        writer, "%s = (double)((long double)%s / (long double)%s);", mdf_source_element(writer, call->call->outputs[0], "0"),
        mdf_source_element(writer, call->call->inputs[0], "0"), mdf_source_element(writer, call->call->inputs[1], "0"));
    return true;
}

/* Bounds are inputs 1 and 2, or attributes. */
bool mdf_source_write_clip(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    static const char *const names[2] = {"min", "max"};
    const struct mdf_value *form = mdf_source_output(writer, call);
    const char *bounds[2] = {NULL, NULL}, *x;
    mdf_dtype dtype = (mdf_dtype)form->dtype;
    size_t i;

    for (i = 0; i < 2; i++) {
        double real;

        if (mdf_source_input(writer, call, i + 1) != NULL) {
            bounds[i] = mdf_source_element(writer, call->call->inputs[i + 1], "0");
        } else if (mdf_source_real_setting(call->operator, call->settings, names[i], &real)) {
            uint64_t element = 0;

            mdf_convert_elements(dtype, &element, MDF_DTYPE_FLOAT64, &real, 1, false);
            bounds[i] = mdf_source_literal(writer, dtype, &element);
        }
    }
    if (form->length == 0) {
        return true;
    }
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", form->length);
    x = mdf_source_element(writer, call->call->inputs[0], "i");
    if (bounds[0] != NULL) {
        const char *name = mdf_source_name(writer, &writer->locals, "t");

        mdf_source_line(writer, "const %s %s = %s < %s || %s != %s ? %s : %s;", mdf_source_type(dtype), name, x, bounds[0],
                        bounds[0], bounds[0], bounds[0], x);
        x = name;
    }
    if (bounds[1] != NULL) {
        x = mdf_source_text(writer, "%s > %s || %s != %s ? %s : %s", x, bounds[1], bounds[1], bounds[1], bounds[1], x);
    }
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, call->call->outputs[0], "i"), x);
    mdf_source_close(writer);
    return true;
}
