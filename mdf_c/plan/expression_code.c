/* expression_code.c - an expression's tree to instructions. Every operator, function and method is a row of the operator
 * table; what is not there does not exist for a model. Operands are slots; and, or, if-else and comprehensions are jumps. */
#include "functions/custom/custom.h"
#include "functions/kernel/defined_function.h"
#include "functions/python/python.h"
#include "functions/standard/standard.h"
#include "mdf_c/expression/foreign_names.h"
#include "mdf_c/plan/call_arguments.h"

#include <stdio.h>
#include <string.h>

static mdf_operand compile_items(struct target *target, const struct mdf_expression *tree, const char *row)
{
    size_t n = tree->as.list.n;
    mdf_operand *operands = mdf_arena_array(&target->compiler->scratch, n, sizeof *operands);

    if (operands == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    for (size_t i = 0; i < n; i++) {
        operands[i] = compile_tree(target, tree->as.list.items[i]);
        if (operands[i] == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
    }
    return unit_call_python(target, row, operands, n);
}

mdf_operand compile_move(struct target *target, mdf_operand operand, mdf_operand slot)
{
    return operand != MDF_NO_OPERAND && slot != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_BORROW, slot, operand, 0)
               ? slot
               : MDF_NO_OPERAND;
}

static mdf_operand add_value(struct target *target, bool made, struct mdf_value *value)
{
    return made ? unit_add_constant(target, value, 0) : compile_out_of_memory(target->compiler);
}

static mdf_operand compile_leaf(struct target *target, const struct mdf_expression *tree)
{
    struct mdf_memory *memory = target->compiler->memory;
    struct mdf_value value = {0};

    switch (tree->kind) {
    case MDF_EXPRESSION_INT:
        return add_value(target, mdf_value_make_int(memory, &value, tree->as.integer), &value);
    case MDF_EXPRESSION_REAL:
        return add_value(target, mdf_value_make_double(memory, &value, tree->as.real), &value);
    case MDF_EXPRESSION_STRING:
        return add_value(target, mdf_value_make_string(memory, &value, tree->as.text.bytes, tree->as.text.length), &value);
    case MDF_EXPRESSION_TRUE:
    case MDF_EXPRESSION_FALSE:
        return add_value(target, mdf_value_make_bool(memory, &value, tree->kind == MDF_EXPRESSION_TRUE), &value);
    case MDF_EXPRESSION_NONE:
        return add_value(target, true, &value);
    default:
        return compile_error(target->compiler, MDF_EXPRESSION, "an expression of kind %d is no value", (int)tree->kind);
    }
}

/* A number with its sign is a number: no call for each of many thousand. */
static bool is_negative_number(const struct mdf_expression *tree)
{
    enum mdf_expression_kind kind = tree->as.list.items[0]->kind;

    return strcmp(tree->name, "neg") == 0 && (kind == MDF_EXPRESSION_INT || kind == MDF_EXPRESSION_REAL);
}

static mdf_operand compile_negative_number(struct target *target, const struct mdf_expression *tree)
{
    struct mdf_expression negative = *tree->as.list.items[0];

    if (negative.kind == MDF_EXPRESSION_INT) {
        negative.as.integer = -negative.as.integer;
    } else {
        negative.as.real = -negative.as.real;
    }
    return compile_leaf(target, &negative);
}

/* ------------------------------------------------------------------ names */

mdf_operand compile_suggest(struct target *target, const struct mdf_nearest *nearest)
{
    mdf_error_suggest(target->compiler->error, mdf_nearest_result(nearest));
    return MDF_NO_OPERAND;
}

/* Whether a node has an output port or a parameter of this name, or is what stands before its point. */
static bool is_of_other_node(const struct compiler *compiler, const char *name)
{
    const char *point = strchr(name, '.');
    size_t length = point != NULL ? (size_t)(point - name) : 0, k;

    for (size_t i = 0; i < compiler->model->n_graphs; i++) {
        const struct mdf_graph *graph = &compiler->model->graphs[i];

        for (size_t j = 0; j < graph->n_nodes; j++) {
            const struct mdf_graph_node *node = &graph->nodes[j];
            bool is_node = length > 0 && strncmp(node->id, name, length) == 0 && node->id[length] == '\0';

            for (k = 0; !is_node && k < node->n_parameters; k++) {
                is_node = strcmp(node->parameters[k].definition.id, name) == 0;
            }
            if (is_node || mdf_model_find_output_port(node, name) < node->n_output_ports) {
                return true;
            }
        }
    }
    return false;
}

static mdf_operand unknown_name(struct target *target, const char *name)
{
    struct mdf_nearest nearest;

    if (target->compiler->error->code != MDF_OK) {
        return MDF_NO_OPERAND; /* it is known, but has no value */
    }
    mdf_nearest_begin(&nearest, name);
    scope_offer(target->scope, &nearest);
    if (scope_has_output(target, name)) {
        return compile_error(
            target->compiler, MDF_NAME,
            "name '%s' is not known here: an output port of the node itself is for others to read; give what it is "
            "made of to a parameter, which both can name",
            name);
    }
    if (mdf_nearest_result(&nearest) == NULL && is_of_other_node(target->compiler, name)) {
        return compile_error(target->compiler, MDF_NAME,
                             "name '%s' is not known here: the value of another node comes by an edge to an input port", name);
    }
    if (mdf_nearest_result(&nearest) == NULL && (mdf_standard_function(name) != NULL || mdf_defined_function(name) != NULL)) {
        return compile_error(
            target->compiler, MDF_NAME,
            "name '%s' is not known here: a function of that name stands in 'function', with its arguments in 'args'", name);
    }
    compile_error(target->compiler, MDF_NAME, "name '%s' is not known here", name);
    if (mdf_nearest_result(&nearest) == NULL && mdf_foreign_constant(name) != NULL) {
        mdf_error_suggest(target->compiler->error, mdf_foreign_constant(name));
        return MDF_NO_OPERAND;
    }
    mdf_operator_offer_python(&nearest);
    return compile_suggest(target, &nearest);
}

/* "float", "numpy.int64" as a value: the name of an element type. Bare ones are functions of Python. */
static const char *type_by_name(const char *name)
{
    bool is_numpy = strncmp(name, "numpy.", 6) == 0;
    struct mdf_declared_type type;

    return (is_numpy || mdf_operator_python(name) != NULL) && mdf_parse_type(is_numpy ? name + 6 : name, &type) &&
                   (type.exact || !is_numpy) && !type.sequence && !type.optional && type.dtype != MDF_DTYPE_NONE
               ? mdf_dtype_name(type.dtype)
               : NULL;
}

const char *whole_name(struct compiler *compiler, const struct mdf_expression *tree)
{
    const char *prefix, *name;

    if (tree->kind == MDF_EXPRESSION_NAME) {
        return tree->as.text.bytes;
    }
    if (tree->kind != MDF_EXPRESSION_ATTRIBUTE) {
        return NULL;
    }
    prefix = whole_name(compiler, tree->as.list.items[0]);
    name = prefix == NULL ? NULL : mdf_arena_printf(&compiler->scratch, "%s.%s", prefix, tree->name);
    if (prefix != NULL && name == NULL) {
        compile_out_of_memory(compiler);
    }
    return name;
}

/* "math.pi", "numpy.float32": names with points whose first part is not bound. NULL: not such a name. */
static const char *dotted_name(struct target *target, const struct mdf_expression *tree)
{
    const struct mdf_expression *first = tree;
    struct outcome outcome;

    while (first->kind == MDF_EXPRESSION_ATTRIBUTE) {
        first = first->as.list.items[0];
    }
    return first->kind == MDF_EXPRESSION_NAME && !scope_find(target, first->as.text.bytes, &outcome)
               ? whole_name(target->compiler, tree)
               : NULL;
}

/* A name that no scope binds: a constant or a type of the closed list. */
static mdf_operand compile_known_name(struct target *target, const char *name)
{
    struct mdf_value value = {0};
    const char *type = type_by_name(name);
    double real;

    if (strcmp(name, "numpy.newaxis") == 0) {
        return add_value(target, true, &value);
    }
    if (mdf_python_constant(name, &real)) {
        return add_value(target, mdf_value_make_double(target->compiler->memory, &value, real), &value);
    }
    if (type != NULL) {
        return unit_add_string(target, type);
    }
    if (mdf_operator_python(name) != NULL || mdf_custom_find_dotted(target->compiler->functions, name) != NULL) {
        return compile_error(target->compiler, MDF_TYPE, "the function '%s' is not a value: call it", name);
    }
    return unknown_name(target, name);
}

static mdf_operand compile_name(struct target *target, const struct mdf_expression *tree)
{
    struct outcome outcome;

    if (scope_find(target, tree->as.text.bytes, &outcome)) {
        return scope_as_operand(target, &outcome);
    }
    return compile_known_name(target, tree->as.text.bytes);
}

static mdf_operand compile_attribute(struct target *target, const struct mdf_expression *tree)
{
    const char *name = dotted_name(target, tree);
    const struct mdf_operator *row = mdf_operator_attribute(tree->name);
    struct mdf_nearest nearest;
    struct outcome outcome;
    mdf_operand object;

    if (name != NULL && scope_find(target, name, &outcome)) { /* "NODE.PORT" of a graph within the node */
        return scope_as_operand(target, &outcome);
    }
    if (name != NULL) {
        return compile_known_name(target, name);
    }
    if (row == NULL && mdf_operator_method(tree->name) != NULL) {
        target->compiler->offset = tree->word;
        return compile_error(target->compiler, MDF_NAME, "'%s' is a method of arrays: call it", tree->name);
    }
    if (row == NULL) {
        target->compiler->offset = tree->word;
        mdf_nearest_begin(&nearest, tree->name);
        mdf_operator_offer_attributes(&nearest);
        compile_error(target->compiler, MDF_NAME, "'%s' is not an attribute of an array", tree->name);
        return compile_suggest(target, &nearest);
    }
    object = compile_tree(target, tree->as.list.items[0]);
    return object != MDF_NO_OPERAND ? unit_call_row(target, row, NULL, &object, 1) : MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ calls */

static mdf_operand unknown_function(struct target *target, const char *name)
{
    struct mdf_nearest nearest;

    compile_error(target->compiler, MDF_NAME, "function '%s' is not known", name);
    if (mdf_operator_called(name) != NULL) {
        mdf_error_suggest(target->compiler->error, mdf_operator_called(name)->name);
        return MDF_NO_OPERAND;
    }
    mdf_nearest_begin(&nearest, name);
    mdf_operator_offer_python(&nearest);
    mdf_custom_offer(target->compiler->functions, true, &nearest);
    return compile_suggest(target, &nearest);
}

static mdf_operand unknown_method(struct target *target, const char *name)
{
    struct mdf_nearest nearest;

    if (mdf_operator_attribute(name) != NULL) {
        return compile_error(target->compiler, MDF_NAME, "'%s' is an attribute of arrays, not a method: leave out the ()", name);
    }
    mdf_nearest_begin(&nearest, name);
    mdf_operator_offer_methods(&nearest);
    compile_error(target->compiler, MDF_NAME, "'%s' is not a method of an array", name);
    return compile_suggest(target, &nearest);
}

/* In a rule for a derivative: "self", the operator that it is of, with the output that is meant ("self1": output 1), or its
 * helper. NULL: another function. */
static const struct mdf_operator *find_derived(const struct target *target, const char *name, size_t *output)
{
    const struct mdf_operator *row = target->compiler->derived != NULL ? target->compiler->derived->operator: NULL;

    *output = 0;
    if (row != NULL && strncmp(name, "self", 4) == 0 && (name[4] == '\0' || (name[4] == '1' && name[5] == '\0'))) {
        *output = name[4] == '1';
        return row;
    }
    return row != NULL && row->meaning != NULL && strcmp(name, "places") == 0 ? row->meaning->helper : NULL;
}

/* A call of these: with the attributes of the derived one. None: no such input. */
static mdf_operand compile_derived(struct target *target, const struct mdf_operator *row, size_t output,
                                   const struct mdf_expression *tree)
{
    const struct mdf_code_call *derived = target->compiler->derived;
    size_t n = tree->as.list.n - 1, n_outputs = output < derived->n_outputs ? derived->n_outputs : output + 1;
    mdf_operand *inputs = mdf_arena_array(&target->compiler->scratch, n, sizeof *inputs),
                *outputs = mdf_arena_array(&target->compiler->scratch, n_outputs, sizeof *outputs);
    struct mdf_code_call call = {.operator= row,
                                 .settings = derived->settings,
                                 .signature = row == derived->operator? derived->signature : NULL,
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .outputs = outputs,
                                 .n_outputs = row == derived->operator? n_outputs : 1 };

    if (inputs == NULL || outputs == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    for (size_t i = 0; i < n; i++) {
        const struct mdf_expression *given = tree->as.list.items[i + 1];
        bool is_left_out = false;

        inputs[i] = known_none(target, given, &is_left_out) && is_left_out ? MDF_NO_OPERAND : compile_tree(target, given);
        if (inputs[i] == MDF_NO_OPERAND && !is_left_out) {
            return MDF_NO_OPERAND;
        }
    }
    for (size_t i = 0; i < call.n_outputs; i++) {
        outputs[i] = i == output ? unit_new_slot(target, 0) : MDF_NO_OPERAND;
    }
    return outputs[output] != MDF_NO_OPERAND && unit_emit_call(target, &call) ? outputs[output] : MDF_NO_OPERAND;
}

/* Whether the arguments that are lists of a function which is written out, one or two, stand there as such. */
static bool has_lists(const struct mdf_operator *row, const struct mdf_expression *tree)
{
    size_t n = row->written_out == MDF_WRITTEN_OUT_CHOICES ? 2 : 1, i;

    for (i = 1; i <= n && i < tree->as.list.n && tree->as.list.items[i]->kind == MDF_EXPRESSION_LIST &&
                (tree->names == NULL || tree->names[i - 1] == NULL);
         i++) {
    }
    return i > n;
}

/* A call; behind it one of the function that takes in what is given beside it, in the type of the result or as it is. */
static mdf_operand call_row(struct target *target, const struct call_arguments *arguments)
{
    mdf_operand result = arguments->row->kernel == NULL
                             ? compile_meaning(target, arguments)
                             : unit_call_row(target, arguments->row, arguments->settings, arguments->operands, arguments->n),
                taken_in[2] = {result, arguments->taken_in};

    if (arguments->taken_in_by == NULL || result == MDF_NO_OPERAND) {
        return result;
    }
    if (arguments->taken_in_by->element != NULL) {
        taken_in[0] = unit_call_row(target, mdf_python_full_like(), NULL, taken_in, 2);
        taken_in[1] = result;
    }
    return taken_in[0] == MDF_NO_OPERAND ? MDF_NO_OPERAND : unit_call_row(target, arguments->taken_in_by, NULL, taken_in, 2);
}

static mdf_operand compile_call(struct target *target, const struct mdf_expression *tree)
{
    const struct mdf_expression *callee = tree->as.list.items[0];
    const char *name = dotted_name(target, callee);
    const struct mdf_custom *custom = name != NULL ? mdf_custom_find_dotted(target->compiler->functions, name) : NULL;
    const struct mdf_operator *row = NULL;
    mdf_operand self = MDF_NO_OPERAND;
    struct call_arguments *arguments;
    mdf_operand result = MDF_NO_OPERAND;
    size_t output;

    if (custom != NULL) {
        row = &custom->row;
    } else if (name != NULL) {
        row = find_derived(target, name, &output);
        if (row != NULL) {
            return compile_derived(target, row, output, tree);
        }
        row = mdf_operator_python(name);
        if (row == NULL ||
            ((strncmp(name, "operator.", 9) == 0 || strncmp(name, "gradient.", 9) == 0) && !target->compiler->derives)) {
            return unknown_function(target, name);
        }
    } else if (callee->kind == MDF_EXPRESSION_ATTRIBUTE) {
        row = mdf_operator_method(callee->name);
        if (row == NULL) {
            target->compiler->offset = callee->word;
            return unknown_method(target, callee->name);
        }
        self = compile_tree(target, callee->as.list.items[0]);
        if (self == MDF_NO_OPERAND) {
            return self;
        }
    } else {
        return callee->kind == MDF_EXPRESSION_NAME
                   ? compile_error(target->compiler, MDF_TYPE, "'%s' is a value, which can not be called", callee->as.text.bytes)
                   : compile_error(target->compiler, MDF_TYPE, "a value can not be called");
    }
    arguments = mdf_memory_allocate(target->compiler->memory, sizeof *arguments);
    if (arguments == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    if (call_arguments_collect(target, row, tree, self, arguments)) {
        result = custom != NULL ? compile_custom_expression(target, custom, arguments->operands, arguments->n)
                 : arguments->row->kernel != NULL &&
                         compile_written_out(target, row, arguments->operands, arguments->n, has_lists(row, tree), &result)
                     ? result
                     : call_row(target, arguments);
    }
    mdf_memory_release(target->compiler->memory, arguments);
    return result;
}

/* ------------------------------------------------------------------ subscripts */

/* f[1] where f is a function of several outputs: that output itself. */
static bool is_output(struct target *target, const struct mdf_expression *tree, mdf_operand *operand)
{
    const struct mdf_expression *object = tree->as.list.items[0], *index = tree->as.list.items[1];
    struct outcome outcome;
    int64_t i;

    if (object->kind != MDF_EXPRESSION_NAME || index->kind != MDF_EXPRESSION_INT ||
        !scope_find(target, object->as.text.bytes, &outcome) || !outcome.several) {
        return false;
    }
    i = index->as.integer < 0 ? index->as.integer + (int64_t)outcome.n_outputs : index->as.integer;
    if (i < 0 || i >= (int64_t)outcome.n_outputs) {
        *operand = compile_error(target->compiler, MDF_VALUE, "'%s' has %zu outputs: there is no output %lld",
                                 object->as.text.bytes, outcome.n_outputs, (long long)index->as.integer);
    } else {
        *operand = outcome.outputs[i];
    }
    return true;
}

static bool add_operand_of(struct target *target, struct list *operands, const struct mdf_expression *tree)
{
    return list_add_operand(target->compiler, operands, compile_tree(target, tree));
}

/* Describes one component of an index, and compiles its operands in order. */
static bool compile_component(struct target *target, const struct mdf_expression *tree, struct mdf_subscript_part *component,
                              struct list *operands)
{
    if (tree->kind == MDF_EXPRESSION_ELLIPSIS) {
        component->kind = MDF_SUBSCRIPT_ELLIPSIS;
        return true;
    }
    if (tree->kind == MDF_EXPRESSION_NONE) {
        component->kind = MDF_SUBSCRIPT_NEWAXIS;
        return true;
    }
    if (tree->kind != MDF_EXPRESSION_SLICE) {
        component->kind = MDF_SUBSCRIPT_INDEX;
        return add_operand_of(target, operands, tree);
    }
    component->kind = MDF_SUBSCRIPT_SLICE;
    component->has_start = tree->as.list.items[0] != NULL;
    component->has_stop = tree->as.list.items[1] != NULL;
    component->has_step = tree->as.list.items[2] != NULL;
    for (size_t i = 0; i < 3; i++) {
        if (tree->as.list.items[i] != NULL && !add_operand_of(target, operands, tree->as.list.items[i])) {
            return false;
        }
    }
    return true;
}

/* The settings of a subscript with `n` parts, to be filled. */
static struct mdf_subscript *new_subscript(struct compiler *compiler, size_t n, struct mdf_subscript_part **parts)
{
    struct mdf_subscript *subscript = mdf_arena_allocate(compiler->arena, sizeof *subscript);

    *parts = mdf_arena_array(compiler->arena, n, sizeof **parts);
    if (subscript == NULL || *parts == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    subscript->parts = *parts;
    subscript->n_parts = n;
    return subscript;
}

static mdf_operand compile_subscript(struct target *target, const struct mdf_expression *tree)
{
    const struct mdf_expression *index = tree->as.list.items[1];
    const struct mdf_expression *const *items = (const struct mdf_expression *const *)&index;
    struct mdf_subscript_part *parts;
    struct mdf_subscript *subscript;
    struct list operands = {0};
    mdf_operand output;
    size_t n = 1;

    if (is_output(target, tree, &output)) {
        return output;
    }
    if (index->kind == MDF_EXPRESSION_TUPLE) {
        n = index->as.list.n;
        items = (const struct mdf_expression *const *)index->as.list.items;
    }
    subscript = new_subscript(target->compiler, n, &parts);
    if (subscript == NULL || !add_operand_of(target, &operands, tree->as.list.items[0])) {
        return MDF_NO_OPERAND;
    }
    subscript->is_tuple = index->kind == MDF_EXPRESSION_TUPLE;
    for (size_t i = 0; i < n; i++) {
        if (!compile_component(target, items[i], &parts[i], &operands)) {
            return MDF_NO_OPERAND;
        }
    }
    return unit_call_row(target, mdf_operator_python(PYTHON_ITEM), subscript, operands.items, operands.n);
}

/* ------------------------------------------------------------------ what jumps */

/* a and b, a or b: the value of the operand that decides. */
static mdf_operand compile_and_or(struct target *target, const struct mdf_expression *tree)
{
    enum mdf_opcode opcode = tree->kind == MDF_EXPRESSION_AND ? MDF_OPCODE_JUMP_UNLESS : MDF_OPCODE_JUMP_IF;
    size_t n = tree->as.list.n;
    size_t *jumps = mdf_arena_array(&target->compiler->scratch, n, sizeof *jumps);
    mdf_operand result = unit_new_slot(target, OPERAND_MAY_BE_LIST);

    if (jumps == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    for (size_t i = 0; i < n && result != MDF_NO_OPERAND; i++) {
        mdf_operand item = compile_tree(target, tree->as.list.items[i]);

        if (compile_move(target, item, result) == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
        jumps[i] = i + 1 < n ? unit_emit_jump(target, opcode, result) : 0;
        if (jumps[i] == SIZE_MAX) {
            return MDF_NO_OPERAND;
        }
    }
    for (size_t i = 0; result != MDF_NO_OPERAND && i + 1 < n; i++) {
        unit_land(target->unit, jumps[i]);
    }
    return result;
}

/* a < b < c: each operand once; the first comparison that is false is the result. */
static mdf_operand compile_compare(struct target *target, const struct mdf_expression *tree)
{
    size_t n = tree->as.list.n - 1;
    size_t *jumps = mdf_arena_array(&target->compiler->scratch, n, sizeof *jumps);
    mdf_operand pair[2], held, result;
    char row[64];

    if (jumps == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    pair[0] = compile_tree(target, tree->as.list.items[0]);
    result = n > 1 ? unit_new_slot(target, 0) : MDF_NO_OPERAND;
    for (size_t i = 0; i < n; i++) {
        pair[1] = pair[0] == MDF_NO_OPERAND ? MDF_NO_OPERAND : compile_tree(target, tree->as.list.items[i + 1]);
        if (pair[1] == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
        snprintf(row, sizeof row, "operator.%s", tree->names[i]);
        held = n > 1 ? unit_call_into(target, mdf_operator_python(row), pair, 2, result) : unit_call_python(target, row, pair, 2);
        if (n == 1 || held == MDF_NO_OPERAND) {
            return held;
        }
        jumps[i] = i + 1 < n ? unit_emit_jump(target, MDF_OPCODE_JUMP_UNLESS, result) : 0;
        if (jumps[i] == SIZE_MAX) {
            return MDF_NO_OPERAND;
        }
        pair[0] = pair[1];
    }
    for (size_t i = 0; i + 1 < n; i++) {
        unit_land(target->unit, jumps[i]);
    }
    return result;
}

static mdf_operand compile_conditional(struct target *target, const struct mdf_expression *tree)
{
    mdf_operand test, value, result;
    size_t to_else, to_end;
    bool truth = false;

    if (target->compiler->derives && known_truth(target, tree->as.list.items[0], &truth)) {
        return compile_tree(target, tree->as.list.items[truth ? 1 : 2]);
    }
    test = compile_tree(target, tree->as.list.items[0]);
    result = unit_new_slot(target, OPERAND_MAY_BE_LIST);
    if (test == MDF_NO_OPERAND || result == MDF_NO_OPERAND) {
        return MDF_NO_OPERAND;
    }
    target->compiler->offset = tree->as.list.items[0]->offset; /* where the test is no truth */
    to_else = unit_emit_jump(target, MDF_OPCODE_JUMP_UNLESS, test);
    target->compiler->offset = tree->offset;
    value = compile_tree(target, tree->as.list.items[1]);
    if (to_else == SIZE_MAX || compile_move(target, value, result) == MDF_NO_OPERAND) {
        return MDF_NO_OPERAND;
    }
    to_end = unit_emit_jump(target, MDF_OPCODE_JUMP, 0);
    unit_land(target->unit, to_else);
    value = compile_tree(target, tree->as.list.items[2]);
    if (to_end == SIZE_MAX || compile_move(target, value, result) == MDF_NO_OPERAND) {
        return MDF_NO_OPERAND;
    }
    unit_land(target->unit, to_end);
    return result;
}

mdf_operand compile_item(struct target *target, mdf_operand all, int64_t index)
{
    struct mdf_subscript_part *part;
    struct mdf_subscript *subscript = new_subscript(target->compiler, 1, &part);
    mdf_operand inputs[2] = {all, unit_add_int(target, index)};

    if (subscript == NULL || inputs[1] == MDF_NO_OPERAND) {
        return MDF_NO_OPERAND;
    }
    part->kind = MDF_SUBSCRIPT_INDEX;
    return unit_call_row(target, mdf_operator_python(PYTHON_ITEM), subscript, inputs, 2);
}

bool compile_bind_item(struct target *target, const struct mdf_expression *names, mdf_operand item)
{
    if (names->kind == MDF_EXPRESSION_NAME) {
        return scope_bind(target->compiler, target->scope, names->as.text.bytes, item);
    }
    for (size_t i = 0; i < names->as.list.n; i++) {
        mdf_operand part = target->compiler->gradient != NULL ? compile_listed_item(target, item, (int64_t)i) : MDF_NO_OPERAND;

        part = part != MDF_NO_OPERAND ? part : compile_item(target, item, (int64_t)i);
        if (part == MDF_NO_OPERAND || !compile_bind_item(target, names->as.list.items[i], part)) {
            return false;
        }
    }
    return true;
}

/* Clause number `clause` and all within it; a test that fails goes on with the nearest loop. */
static bool compile_clauses(struct target *target, const struct mdf_expression *tree, size_t clause, size_t item,
                            mdf_operand list)
{
    struct mdf_expression *const *items = tree->as.list.items;
    mdf_operand operand, element, counter;
    size_t loop, jump;

    if (tree->clauses[clause] == '\0') {
        element = compile_tree(target, items[0]);
        return element != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_APPEND, list, element, 0);
    }
    operand = compile_tree(target, items[tree->clauses[clause] == 'f' ? item + 1 : item]);
    if (operand == MDF_NO_OPERAND) {
        return false;
    }
    if (tree->clauses[clause] == 'i') {
        jump = unit_emit_jump(target, MDF_OPCODE_JUMP_UNLESS, operand);
        if (jump == SIZE_MAX || !compile_clauses(target, tree, clause + 1, item + 1, list)) {
            return false;
        }
        unit_land(target->unit, jump);
        return true;
    }
    counter = unit_new_slot(target, 0);
    element = unit_new_slot(target, OPERAND_MAY_BE_LIST);
    if (counter == MDF_NO_OPERAND || element == MDF_NO_OPERAND ||
        !unit_emit(target, MDF_OPCODE_COPY, counter, unit_add_int(target, 0), 0)) {
        return false;
    }
    loop = unit_position(target->unit);
    if (!unit_emit(target, MDF_OPCODE_NEXT, element, operand, counter) || !compile_bind_item(target, items[item], element) ||
        !compile_clauses(target, tree, clause + 1, item + 2, list)) {
        return false;
    }
    jump = unit_emit_jump(target, MDF_OPCODE_JUMP, 0);
    if (jump == SIZE_MAX) {
        return false;
    }
    unit_instruction(target->unit, jump)->target = (uint32_t)loop;
    unit_land(target->unit, loop);
    return true;
}

static mdf_operand compile_comprehension(struct target *target, const struct mdf_expression *tree)
{
    struct scope scope = {.outer = target->scope, .unit = target->unit};
    struct target inner = {target->compiler, target->unit, &scope};
    mdf_operand list;

    if (target->compiler->gradient != NULL && compile_unrolled(target, tree, &list)) {
        return list;
    }
    list = unit_new_slot(target, OPERAND_MAY_BE_LIST);
    return list != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_LIST, list, 0, 0) && compile_clauses(&inner, tree, 0, 1, list)
               ? list
               : MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ any tree */

/* Left operands that are operations themselves, as in a long sum, are compiled one after the other, not one within the other. */
static mdf_operand compile_binary(struct target *target, const struct mdf_expression *tree)
{
    const struct mdf_expression *node;
    struct list chain = {0};
    mdf_operand pair[2];
    char row[64];

    for (node = tree; node->kind == MDF_EXPRESSION_BINARY; node = node->as.list.items[0]) {
        if (!list_add(target->compiler, &chain, &node, sizeof node)) {
            return MDF_NO_OPERAND;
        }
    }
    pair[0] = compile_tree(target, node);
    for (size_t i = chain.n; i-- > 0 && pair[0] != MDF_NO_OPERAND;) {
        node = ((const struct mdf_expression **)chain.items)[i];
        pair[1] = compile_tree(target, node->as.list.items[1]);
        if (pair[1] == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
        target->compiler->offset = node->offset;
        snprintf(row, sizeof row, "operator.%s", node->name);
        pair[0] = unit_call_python(target, row, pair, 2);
    }
    return pair[0];
}

static mdf_operand compile_kind(struct target *target, const struct mdf_expression *tree)
{
    char row[64];

    switch (tree->kind) {
    case MDF_EXPRESSION_INT:
    case MDF_EXPRESSION_REAL:
    case MDF_EXPRESSION_STRING:
    case MDF_EXPRESSION_TRUE:
    case MDF_EXPRESSION_FALSE:
    case MDF_EXPRESSION_NONE:
        return compile_leaf(target, tree);
    case MDF_EXPRESSION_NAME:
        return compile_name(target, tree);
    case MDF_EXPRESSION_LIST:
        return compile_items(target, tree, PYTHON_LIST);
    case MDF_EXPRESSION_TUPLE:
        return compile_items(target, tree, "build_tuple");
    case MDF_EXPRESSION_DICT:
        return compile_items(target, tree, "build_dict");
    case MDF_EXPRESSION_UNARY:
        if (is_negative_number(tree)) {
            return compile_negative_number(target, tree);
        }
        snprintf(row, sizeof row, "operator.%s", tree->name);
        return compile_items(target, tree, row);
    case MDF_EXPRESSION_BINARY:
        return compile_binary(target, tree);
    case MDF_EXPRESSION_COMPARE:
        return compile_compare(target, tree);
    case MDF_EXPRESSION_AND:
    case MDF_EXPRESSION_OR:
        return compile_and_or(target, tree);
    case MDF_EXPRESSION_CONDITIONAL:
        return compile_conditional(target, tree);
    case MDF_EXPRESSION_CALL:
        return compile_call(target, tree);
    case MDF_EXPRESSION_ATTRIBUTE:
        return compile_attribute(target, tree);
    case MDF_EXPRESSION_SUBSCRIPT:
        return compile_subscript(target, tree);
    case MDF_EXPRESSION_COMPREHENSION:
        return compile_comprehension(target, tree);
    case MDF_EXPRESSION_SLICE:
    case MDF_EXPRESSION_ELLIPSIS:
        break;
    }
    return compile_error(target->compiler, MDF_EXPRESSION, "a slice or '...' stands outside a subscript");
}

mdf_operand compile_tree(struct target *target, const struct mdf_expression *tree)
{
    size_t outer = target->compiler->offset;
    mdf_operand operand;

    target->compiler->offset = tree->offset; /* of errors */
    operand = compile_kind(target, tree);
    target->compiler->offset = outer;
    return operand;
}
