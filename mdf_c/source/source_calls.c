/* source_calls.c - a kernel on whole values as C: what the row of its operator says of it. */
#include "mdf_c/source/source_writer.h"

#include "functions/custom/custom.h"
#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "functions/kernel/routine.h"

#include <string.h>

const struct mdf_value *mdf_source_input(const struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t i)
{
    return i < call->call->n_inputs && call->call->inputs[i] != MDF_LOWERED_NONE
               ? &writer->lowered->values[call->call->inputs[i]].form
               : NULL;
}

static void declare_outputs(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    for (size_t i = 0; i < call->call->n_outputs; i++) {
        if (mdf_source_is_live(writer, call->call->outputs[i])) {
            mdf_source_declare_result(writer, call->call->outputs[i]);
        }
    }
}

static bool refuse_types(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    const char *types = a == NULL   ? ""
                        : b == NULL ? mdf_source_text(writer, " on elements of type %s", mdf_dtype_name((mdf_dtype)a->dtype))
                                    : mdf_source_text(writer, " on elements of types %s and %s",
                                                      mdf_dtype_name((mdf_dtype)a->dtype), mdf_dtype_name((mdf_dtype)b->dtype));

    if (call->operator->form == MDF_FORM_LEAST || call->operator->form == MDF_FORM_GREATEST) {
        return mdf_source_refuse(writer,
                                 "%s yields one of its values as it is, and these are of several kinds (arrays, their elements, "
                                 "numbers without a type): numpy.%simum has a form in C",
                                 call->operator->name, call->operator->name);
    }
    return mdf_source_refuse(writer, "there is no form in C of the operator %s%s", call->operator->name, types);
}

/* Of a call that would be a nest, if what says where elements go were known before. */
static bool refuse(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_move *move = call->operator->move;
    size_t i = move != NULL ? mdf_move_data(move, call->call->n_inputs) : call->operator->fold != NULL ? 1 : call->call->n_inputs;

    for (; i < call->call->n_inputs; i++) {
        if (call->call->inputs[i] != MDF_LOWERED_NONE &&
            writer->lowered->values[call->call->inputs[i]].place != MDF_LOWERED_CONSTANT) {
            return mdf_source_refuse(writer, "input %zu of the operator %s is not a constant", i + 1, call->operator->name);
        }
    }
    return refuse_types(writer, call);
}

/* A quotient of Python's whole numbers, rounded from the exact operands. */
static bool write_quotient(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    bool are_numbers = a != NULL && b != NULL && a->rank == 0 && b->rank == 0 && a->strength == MDF_STRENGTH_PYTHON &&
                       b->strength == MDF_STRENGTH_PYTHON && mdf_dtype_kind((mdf_dtype)a->dtype) != 'f' &&
                       mdf_dtype_kind((mdf_dtype)b->dtype) != 'f';

    if (!are_numbers) {
        return refuse(writer, call);
    }
    mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s == 0", mdf_source_element(writer, call->call->inputs[1], "0")),
                           "division by zero");
    mdf_source_line(writer, "%s = %s(%s, %s);", mdf_source_element(writer, call->call->outputs[0], "0"),
                    mdf_source_use(writer, "true_quotient"), mdf_source_element(writer, call->call->inputs[0], "0"),
                    mdf_source_element(writer, call->call->inputs[1], "0"));
    return true;
}

/* An item of an array that grows, by its number. */
static bool write_item(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    mdf_lowered_id array = call->call->inputs[0], out = call->call->outputs[0];
    const struct mdf_lowered_value *item = &writer->lowered->values[out];
    const char *name;

    if (writer->values[array].count == NULL) {
        return refuse(writer, call);
    }
    mdf_source_open(writer, "%s", "");
    mdf_source_line(writer, "uint64_t beyond = 0;");
    name = mdf_source_name(writer, &writer->locals, "item");
    mdf_source_line(writer, "const size_t %s = %s(%s, (int64_t)(%s), &beyond);", name, mdf_source_use(writer, "item"),
                    mdf_source_element(writer, call->call->inputs[1], "0"), writer->values[array].count);
    mdf_source_bail_out_if(writer, "beyond != 0", "an index is out of range");
    if (item->is_scalar) {
        mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, out, "0"), mdf_source_element(writer, array, name));
    } else {
        mdf_source_line(writer, "memcpy(%s, %s + %s * %zu, %zu * sizeof *%s);", writer->values[out].name,
                        mdf_source_address(writer, array), name, item->form.length, item->form.length, writer->values[out].name);
    }
    mdf_source_close(writer);
    return true;
}

/* ------------------------------------------------------------------ routines */

/* The call with values that have types and shapes. NULL: memory ran out, or there is no such thing in C. */
static struct mdf_call *form_of_call(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_lowered_call *lowered = call->call;
    const struct mdf_value **inputs = mdf_arena_array(&writer->arena, lowered->n_inputs, sizeof *inputs);
    struct mdf_value **outputs = mdf_arena_array(&writer->arena, lowered->n_outputs, sizeof *outputs);
    struct mdf_call *form = mdf_arena_allocate(&writer->arena, sizeof *form);

    if (inputs == NULL || outputs == NULL || form == NULL) {
        mdf_source_out_of_memory(writer);
        return NULL;
    }
    for (size_t i = 0; i < lowered->n_inputs; i++) {
        inputs[i] = mdf_source_input(writer, call, i);
    }
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        outputs[i] = lowered->outputs[i] != MDF_LOWERED_NONE ? &writer->lowered->values[lowered->outputs[i]].form : NULL;
    }
    *form = lowered->call;
    form->inputs = inputs;
    form->outputs = outputs;
    form->n_inputs = lowered->n_inputs;
    form->n_outputs = lowered->n_outputs;
    form->scratch = mdf_arena_array(&writer->arena, MDF_CALL_SCRATCH, sizeof *form->scratch);
    if (form->scratch == NULL) {
        mdf_source_out_of_memory(writer);
        return NULL;
    }
    return form;
}

/* An array of addresses; of what is omitted, also behind the last one, NULL. */
static const char *list_addresses(struct mdf_source_writer *writer, const char *type, const char *hint, const mdf_lowered_id *ids,
                                  size_t n)
{
    enum { MOST_FORMALS = 9 }; /* that a routine asks for */
    const char *name = mdf_source_name(writer, &writer->locals, hint);
    struct mdf_text text;

    mdf_text_init(&text, writer->memory);
    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *form = ids[i] != MDF_LOWERED_NONE ? &writer->lowered->values[ids[i]].form : NULL;
        bool is_there = form != NULL && form->kind == MDF_KIND_TENSOR && form->dtype != MDF_DTYPE_STRING;

        mdf_text_printf(&text, "%s%s", i > 0 ? ", " : "", is_there ? mdf_source_address(writer, ids[i]) : "NULL");
    }
    mdf_source_check(writer, &text);
    mdf_source_line(writer, "%s %s[%zu] = {%s};", type, name, n > MOST_FORMALS ? n : MOST_FORMALS,
                    n > 0 && !text.failed ? text.bytes : "NULL");
    mdf_text_release(&text);
    return name;
}

/* A function of one element by itself, for a routine to call. */
static const char *write_function(struct mdf_source_writer *writer, const struct mdf_routine_plan *plan, size_t i)
{
    const struct mdf_operator of_element = {
        .name = plan->function, .element = plan->functions[i], .settings = mdf_element_setting_rows};
    const char *const operands[] = {"x"}, *name;
    struct mdf_source_expression expression;

    if (!mdf_source_express_operator(writer, &of_element, plan->function_settings[i], plan->dtype, 1, operands, &expression)) {
        return "";
    }
    name = mdf_source_name(writer, &writer->globals, "row_function");
    name = mdf_source_helper(writer, name,
                             mdf_source_of_type(writer,
                                                mdf_source_text(writer, "static inline $T mdf_%s($T x)\n{\n    return %s;\n}\n",
                                                                name, expression.text),
                                                plan->dtype));
    return name;
}

static const char *list_functions(struct mdf_source_writer *writer, const struct mdf_routine_plan *plan)
{
    const char *name = mdf_source_name(writer, &writer->locals, "functions"), *names = "";

    for (size_t i = 0; i < plan->n_functions; i++) {
        names = mdf_source_text(writer, "%s%s%s", names, i > 0 ? ", " : "", write_function(writer, plan, i));
    }
    mdf_source_line(writer, "static %s (*const %s[%zu])(%s) = {%s};", mdf_source_type(plan->dtype), name, plan->n_functions,
                    mdf_source_type(plan->dtype), names);
    return name;
}

/* A constant array of numbers; NULL where there are none. */
static const char *list_numbers(struct mdf_source_writer *writer, mdf_dtype dtype, const void *numbers, size_t n)
{
    return n > 0 ? mdf_source_constant_array(writer, dtype, numbers, n, "numbers") : "NULL";
}

static void write_routine_call(struct mdf_source_writer *writer, const struct mdf_source_call *call,
                               const struct mdf_routine_plan *plan)
{
    const char *function = plan->dtype == MDF_DTYPE_NONE
                               ? plan->function
                               : mdf_source_text(writer, "%s_%s", plan->function, mdf_dtype_name(plan->dtype));
    const char *work, *in, *out, *text;

    work = plan->work_bytes == 0
               ? "NULL"
               : mdf_source_buffer(writer, MDF_DTYPE_FLOAT64, (plan->work_bytes + sizeof(double) - 1) / sizeof(double), "room");
    mdf_source_line(writer, "{");
    writer->depth++;
    in = list_addresses(writer, "const void *const", "in", call->call->inputs, call->call->n_inputs);
    out = list_addresses(writer, "void *const", "out", call->call->outputs, call->call->n_outputs);
    text = mdf_source_text(writer, "mdf_%s(%s, %s, %s, %s, %s", function, out, in,
                           list_numbers(writer, MDF_DTYPE_INT64, plan->whole, plan->n_whole),
                           list_numbers(writer, MDF_DTYPE_FLOAT64, plan->real, plan->n_real), work);
    text = mdf_source_text(writer, plan->n_functions > 0 ? "%s, %s)" : "%s)", text,
                           plan->n_functions > 0 ? list_functions(writer, plan) : "");
    if (call->operator->routine->draws) {
        text = mdf_source_text(writer, "%.*s, &s->random, %s)", (int)(strlen(text) - 1), text,
                               plan->n_streams > 0 ? "s->streams" : "NULL");
        writer->draws = true;
        writer->n_streams = plan->n_streams > writer->n_streams ? plan->n_streams : writer->n_streams;
    }
    mdf_source_use(writer, function);
    if (call->operator->routine->why != NULL) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "!%s", text), call->operator->routine->why);
    } else {
        mdf_source_line(writer, "%s;", text);
    }
    mdf_source_close(writer);
}

/* A list, a text or nothing, of which all is said by the plan: the function does not get it. */
static bool is_of_plan(const struct mdf_value *value)
{
    bool is_text = value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_STRING;

    return value->kind == MDF_KIND_NONE || ((value->kind == MDF_KIND_LIST || is_text) && value->data != NULL);
}

/* Whether C computes with elements of the value's type, or only moves them or looks at their bits, if no more is done. */
static bool has_type(const struct mdf_call *call, const struct mdf_value *value)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;

    return value->kind == MDF_KIND_TENSOR &&
           (call->operator->move != NULL || call->operator->routine->takes_bits
                ? mdf_source_type(dtype) != NULL
                : mdf_source_computes(dtype) || (call->operator->routine->takes_halves && mdf_dtype_is_half(dtype)));
}

/* Whether all elements have types of C. */
static bool has_types(const struct mdf_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != NULL && !is_of_plan(call->inputs[i]) && !has_type(call, call->inputs[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != NULL && !has_type(call, call->outputs[i])) {
            return false;
        }
    }
    return true;
}

/* Whether there is a function for the call, and what it is called with; errors of the call itself are not told. */
static bool plan_routine(struct mdf_source_writer *writer, struct mdf_call *form, struct mdf_routine_plan *plan)
{
    mdf_error kept = form->context->error;
    bool is_planned, is_short;

    form->context->error = (mdf_error){0};
    is_planned = has_types(form) && form->operator->routine->plan(form, plan);
    is_short = writer->arena.has_refused || form->context->error.code == MDF_OUT_OF_MEMORY;
    form->context->error = kept;
    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(writer->memory, &form->scratch[i]);
    }
    return is_short ? mdf_source_out_of_memory(writer) : is_planned;
}

static bool write_routine(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    struct mdf_routine_plan plan = {.arena = &writer->arena};
    struct mdf_call *form = form_of_call(writer, call);

    if (form == NULL) {
        return false;
    }
    if (!plan_routine(writer, form, &plan)) {
        return writer->error->code == MDF_OK && refuse_types(writer, call);
    }
    write_routine_call(writer, call, &plan);
    return writer->error->code == MDF_OK;
}

/* ------------------------------------------------------------------ calls */

/* Whether some element that it makes is needed. */
static bool is_needed(const struct mdf_source_writer *writer, const struct mdf_lowered_call *call)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (mdf_source_is_live(writer, call->outputs[i]) && writer->lowered->values[call->outputs[i]].form.length > 0) {
            return true;
        }
    }
    return false;
}

/* Whether the shapes of results may hang on the elements of input `i`: on sizes, places, truths, or, by an operator that has no
 * form in C, on any. */
static bool may_say_shape(const struct mdf_source_writer *writer, const struct mdf_lowered_call *call, size_t i)
{
    const struct mdf_lowered_value *value =
        call->inputs[i] != MDF_LOWERED_NONE ? &writer->lowered->values[call->inputs[i]] : NULL;
    const struct mdf_operator *operator= call->call.operator;
    const struct mdf_move *move = operator->move;

    if (value == NULL || value->place == MDF_LOWERED_CONSTANT || value->form.length == 0 ||
        mdf_counts_by_form(operator, i) || operator->element != NULL || operator->element_of != NULL || operator->fold != NULL) {
        return false;
    }
    if (move != NULL) {
        return i >= mdf_move_data(move, call->n_inputs) && !move->chooses;
    }
    return (operator->form == MDF_FORM_NONE && operator->routine == NULL) || mdf_dtype_kind((mdf_dtype)value->form.dtype) != 'f';
}

/* Nobody needs elements of the call: it is left out. What looks at its results has taken their shapes for what they are in the
 * example; where other elements give others, that can not be told. */
static bool leave_out(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    for (size_t i = 0; i < call->call->n_inputs; i++) {
        if (may_say_shape(writer, call->call, i)) {
            return refuse(writer, call);
        }
    }
    return true;
}

bool mdf_source_write_call(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *lowered = op->of.call;
    struct mdf_source_call call = {op, lowered, lowered->call.operator, lowered->call.settings };
    const struct mdf_custom *custom;

    if (lowered->stack != NULL) {
        return mdf_source_write_look(writer, lowered);
    }
    custom = mdf_custom_of(call.operator, call.settings);
    declare_outputs(writer, &call);
    if (custom != NULL) {
        return mdf_source_write_custom(writer, &call, custom);
    }
    if (call.operator->routine !=
        NULL &&(is_needed(writer, lowered) || call.operator->routine->why != NULL || call.operator->routine->draws)) {
        return write_routine(writer, &call);
    }
    if (mdf_source_takes_grown_item(writer, lowered)) {
        return write_item(writer, &call);
    }
    if (!is_needed(writer, lowered)) {
        return leave_out(writer, &call);
    }
    return call.operator->form == MDF_FORM_QUOTIENT ? write_quotient(writer, &call) : refuse(writer, &call);
}
