/* export_python.c - functions of expressions as nodes of ONNX. What a function is, an element function, a fold, a move, is said by
 * its row; an operator of ONNX that is the same stands for it. Its type is what its kernel makes of a sample. */
#include "mdf_c/export/export_writing.h"

#include "functions/python/python.h"

#include <string.h>

enum { OPSET_OF_FORMS = 13 };

/* ------------------------------------------------------------------ the kernel on samples */

bool writing_sample(struct writing *writing, bool with_shapes, struct sampled_call *sampled)
{
    struct exporter *exporter = writing->exporter;
    size_t n = writing->n_inputs;
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, n, sizeof *given);
    bool done = true;

    *sampled = (struct sampled_call){.samples = mdf_arena_array(&exporter->arena, n + MDF_CALL_SCRATCH, sizeof *sampled->samples)};
    sampled->output = &sampled->result;
    if (sampled->samples == NULL || given == NULL) {
        return export_out_of_memory(exporter);
    }
    sampled->n_samples = n + MDF_CALL_SCRATCH;
    sampled->call = (struct mdf_call){.kernel = writing->call->operator->kernel, .operator= writing->call->operator,
                                      .settings = writing->call->settings, .inputs = given, .n_inputs = n,
                                      .outputs = &sampled->output, .n_outputs = 1, .context = &exporter->context};
    for (size_t i = 0; done && i < n; i++) {
        struct symbol input = writing->inputs[i];

        if (!with_shapes && input.constant == NULL) {
            input.has_shape = false;
            input.rank = 0;
        }
        done = symbol_sample(exporter, &input, &sampled->samples[i]);
        given[i] = writing->inputs[i].kind == SYMBOL_NOTHING && writing->inputs[i].constant == NULL ? NULL : &sampled->samples[i];
    }
    sampled->call.scratch = sampled->samples + n;
    exporter->context.error.code = MDF_OK;
    return done;
}

void writing_release(struct writing *writing, struct sampled_call *sampled)
{
    for (size_t i = 0; i < sampled->n_samples; i++) {
        mdf_value_clear(writing->exporter->memory, &sampled->samples[i]);
    }
    mdf_value_clear(writing->exporter->memory, &sampled->result);
}

bool writing_refuse_as_kernel(struct writing *writing)
{
    return export_refuse(writing->exporter, "%s", writing->exporter->context.error.message);
}

/* False: the kernel can not run, or memory ran out. */
static bool run_kernel(struct writing *writing, bool with_shapes, struct mdf_value *result)
{
    struct sampled_call sampled;
    bool done = writing_sample(writing, with_shapes, &sampled) && sampled.call.kernel(&sampled.call);

    *result = sampled.result;
    sampled.result = (struct mdf_value){0};
    writing_release(writing, &sampled);
    return done;
}

bool writing_have_full_shapes(const struct symbol *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (inputs[i].kind == SYMBOL_LIST ? !writing_have_full_shapes(inputs[i].items, inputs[i].n_items)
                                          : inputs[i].kind == SYMBOL_TENSOR && !symbol_has_full_shape(&inputs[i])) {
            return false;
        }
    }
    return true;
}

bool writing_are_constants(const struct symbol *inputs, size_t n)
{
    size_t i;

    for (i = 0; i < n && (inputs[i].constant != NULL || inputs[i].kind == SYMBOL_NOTHING ||
                          (inputs[i].kind == SYMBOL_LIST && writing_are_constants(inputs[i].items, inputs[i].n_items)));
         i++) {
    }
    return i == n;
}

/* The result's type, and its shape where those of the inputs are known. */
static bool find_type(struct writing *writing)
{
    struct exporter *exporter = writing->exporter;
    const struct mdf_operator *operator= writing->call->operator;
    struct mdf_value sample = {0};
    bool with_shapes = writing_have_full_shapes(writing->inputs, writing->n_inputs), done;

    done = run_kernel(writing, true, &sample);
    if (!done && !with_shapes) {
        mdf_value_clear(exporter->memory, &sample);
        done = run_kernel(writing, false, &sample);
    }
    if (!done) {
        export_refuse(exporter, "%s",
                      exporter->context.error.code != MDF_OK ? exporter->context.error.message : "its type is not known");
    } else if (sample.kind != MDF_KIND_TENSOR) {
        char title[MDF_OPERATOR_TITLE_SIZE];

        mdf_operator_title(operator, title);
        done = export_refuse(exporter, "%s gives no array", title);
    } else {
        *writing->result = (struct symbol){.kind = SYMBOL_TENSOR};
        symbol_set_form(exporter, writing->result, &sample, with_shapes);
    }
    mdf_value_clear(exporter->memory, &sample);
    return done;
}

/* The value of a call whose inputs are known, or of which nothing but shapes counts. */
static bool fold_constant(struct writing *writing)
{
    struct mdf_value *value = export_make(writing->exporter);

    if (value == NULL) {
        return false;
    }
    return (run_kernel(writing, true, value) || writing_refuse_as_kernel(writing)) &&
           symbol_of_value(writing->exporter, value, writing->result);
}

bool writing_cast(struct writing *writing, const struct symbol *symbol, mdf_dtype dtype, struct symbol *result)
{
    struct symbol array;

    return export_as_array(writing->exporter, writing->graph, symbol, &array) &&
           export_cast(writing->exporter, writing->graph, &array, dtype, result);
}

bool writing_refuse(struct writing *writing)
{
    char title[MDF_OPERATOR_TITLE_SIZE];

    mdf_operator_title(writing->call->operator, title);
    return export_refuse(writing->exporter, "%s has no form in ONNX", title);
}

/* ------------------------------------------------------------------ what a row says */

/* numpy's product is that of numbers where one operand is a number, and not that of matrices past two axes. */
static bool write_dot(struct writing *writing)
{
    const struct symbol *a = &writing->inputs[0], *b = &writing->inputs[1];

    if ((a->has_shape && a->rank == 0) || (b->has_shape && b->rank == 0)) {
        return writing_element(writing, writing->call->operator->element);
    }
    return a->has_shape && b->has_shape && a->rank <= 2 && b->rank <= 2
               ? writing_nodes(writing, writing->call->operator->nodes)
               : writing_refuse(writing);
}

/* An item of a list. */
static bool take_list_item(struct writing *writing)
{
    const struct mdf_subscript *subscript = writing->call->settings;
    const struct symbol *list = &writing->inputs[0];
    int64_t index = 0;

    if (subscript->n_parts != 1 || subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX || writing->n_inputs != 2 ||
        writing->inputs[1].constant == NULL || !mdf_value_to_int64(writing->inputs[1].constant, &index)) {
        return export_refuse(writing->exporter, "which items of a list are meant is not known before it runs");
    }
    index += index < 0 ? (int64_t)list->n_items : 0;
    if (index < 0 || (size_t)index >= list->n_items) {
        return export_refuse(writing->exporter, "the index is outside of the list");
    }
    *writing->result = list->items[index];
    return true;
}

static bool make_list(struct writing *writing)
{
    *writing->result = (struct symbol){.kind = SYMBOL_LIST, .items = writing->inputs, .n_items = writing->n_inputs};
    return true;
}

static bool has_list(const struct writing *writing)
{
    size_t i;

    for (i = 0; i < writing->n_inputs && writing->inputs[i].kind != SYMBOL_LIST && !writing->inputs[i].stands_for_list; i++) {
    }
    return i < writing->n_inputs;
}

/* Python takes an array of one element for its number where it asks for one. */
static bool takes_one_element(const struct writing *writing)
{
    size_t i;

    if (!writing->result->has_shape || writing->result->rank > 0) {
        return false;
    }
    for (i = 0; i < writing->n_inputs && !(writing->inputs[i].has_shape && writing->inputs[i].rank > 0); i++) {
    }
    return i < writing->n_inputs;
}

static bool write_elements(struct writing *writing, const struct mdf_element *element)
{
    bool is_one = takes_one_element(writing);
    bool done = element != NULL ? writing_element(writing, element)
                                : writing_cast(writing, &writing->inputs[0], writing->result->dtype, writing->result);
    struct symbol made = *writing->result, number = made;

    number.has_shape = true;
    number.rank = 0;
    return done && (!is_one || export_reshape(writing->exporter, writing->graph, &made, NULL, 0, &number, writing->result));
}

static bool write_by_row(struct writing *writing)
{
    const struct mdf_operator *operator= writing->call->operator;
    const struct mdf_element *element = mdf_element_of(operator, writing->call->settings);

    if (!find_type(writing)) {
        return false;
    }
    if (operator->form == MDF_FORM_DOT) {
        return write_dot(writing);
    }
    if (operator->form == MDF_FORM_NUMBER || operator->form == MDF_FORM_LIST_ARRAY) {
        return write_elements(writing, NULL);
    }
    return operator->nodes != NULL  ? writing_nodes(writing, operator->nodes)
           : element != NULL        ? write_elements(writing, element)
           : operator->fold != NULL ? writing_fold(writing, operator->fold)
           : operator->move != NULL ? writing_move(writing, operator->move)
                                    : writing_refuse(writing);
}

/* What is made without lists must be what the call makes of lists, which `+` joins, `*` repeats, and comparisons look at as a whole. */
static bool is_the_same_of_lists(struct writing *writing, const struct symbol *of_lists)
{
    const struct symbol *made = writing->result;
    const struct mdf_operator *operator= writing->call->operator;
    bool is_of_whole = operator->of_items == NULL && mdf_element_of(operator, writing->call->settings) != NULL &&
                       of_lists->has_shape && of_lists->rank == 0; /* `not` */
    char title[MDF_OPERATOR_TITLE_SIZE];

    if (!is_of_whole && made->kind == SYMBOL_TENSOR && made->dtype == of_lists->dtype && symbol_has_shape_of(made, of_lists)) {
        return true;
    }
    mdf_operator_title(operator, title);
    return export_refuse(writing->exporter, "%s of a list is not that of an array", title);
}

/* The same with lists as arrays, or with the items of the list as inputs. */
static bool write_without_lists_as(struct writing *writing)
{
    struct symbol *arrays = mdf_arena_array(&writing->exporter->arena, writing->n_inputs, sizeof *arrays);
    struct mdf_code_call call = *writing->call;

    if (arrays == NULL) {
        return export_out_of_memory(writing->exporter);
    }
    if (call.operator->of_items != NULL && writing->inputs[0].kind == SYMBOL_LIST && writing->inputs[0].constant == NULL) {
        const struct mdf_move *move = call.operator->of_items->move;
        size_t n_items = writing->inputs[0].n_items, n_behind = move != NULL ? move->n_behind : 0, n;
        struct symbol *items;

        n_behind = writing->n_inputs - 1 > n_behind ? writing->n_inputs - 1 : n_behind; /* what is left out is there as nothing */
        n = n_items + n_behind;
        items = mdf_arena_array(&writing->exporter->arena, n, sizeof *items);

        if (items == NULL) {
            return export_out_of_memory(writing->exporter);
        }
        memcpy(items, writing->inputs[0].items, n_items * sizeof *items);
        for (size_t i = 0; i < n_behind; i++) {
            items[n_items + i] = i + 1 < writing->n_inputs ? writing->inputs[i + 1] : (struct symbol){.kind = SYMBOL_NOTHING};
        }
        call.operator= call.operator->of_items;
        writing->call = &call;
        writing->inputs = items;
        writing->n_inputs = n;
        return write_by_row(writing);
    }
    for (size_t i = 0; i < writing->n_inputs; i++) {
        if (writing->inputs[i].constant != NULL) {
            arrays[i] = writing->inputs[i]; /* axes, shapes */
        } else if (!export_as_array(writing->exporter, writing->graph, &writing->inputs[i], &arrays[i])) {
            return false;
        }
    }
    writing->inputs = arrays;
    return write_by_row(writing);
}

static bool write_without_lists(struct writing *writing)
{
    const struct mdf_code_call *call = writing->call;
    struct symbol of_lists;

    if (!find_type(writing)) {
        return false;
    }
    of_lists = *writing->result;
    if (!write_without_lists_as(writing)) {
        return false;
    }
    writing->call = call; /* which may have been written as another one */
    return is_the_same_of_lists(writing, &of_lists);
}

bool export_python_call(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_code_call *call,
                        const struct symbol *inputs, struct symbol *outputs)
{
    struct writing writing = {exporter, graph, call, inputs, call->n_inputs, &outputs[0]};
    const struct mdf_operator *operator= call->operator;

    if (exporter->opset < OPSET_OF_FORMS && !writing_are_constants(inputs, call->n_inputs)) {
        return export_ask_opset(exporter, OPSET_OF_FORMS, "expressions");
    }
    if ((operator->flags & MDF_OPERATOR_RANDOM) != 0) {
        return export_refuse(exporter, "'%s' draws random numbers", operator->name);
    }
    if (call->n_outputs != 1) {
        return writing_refuse(&writing);
    }
    if (writing_are_constants(inputs, call->n_inputs)) {
        return fold_constant(&writing);
    }
    if (operator->form == MDF_FORM_LIST || operator->form == MDF_FORM_OUTPUTS) {
        return make_list(&writing);
    }
    if (operator->form == MDF_FORM_LIST_ITEM && inputs[0].kind == SYMBOL_LIST) {
        return take_list_item(&writing);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (inputs[i].kind == SYMBOL_UNKNOWN || inputs[i].kind == SYMBOL_SEQUENCE) {
            return inputs[i].kind == SYMBOL_UNKNOWN ? export_refuse(exporter, "a value is used before it is computed")
                                                    : writing_refuse(&writing);
        }
        if (inputs[i].kind == SYMBOL_TENSOR && inputs[i].dtype == MDF_DTYPE_NONE) {
            return export_refuse(exporter, "the type of an operand is not known before it runs: declare it");
        }
        if (inputs[i].is_optional) {
            return export_refuse(exporter, "an expression of what may not be there");
        }
    }
    if (operator->form == MDF_FORM_OF_SHAPE && writing_have_full_shapes(inputs, call->n_inputs)) {
        return fold_constant(&writing);
    }
    return has_list(&writing) && operator->nodes == NULL ? write_without_lists(&writing) : write_by_row(&writing);
}
