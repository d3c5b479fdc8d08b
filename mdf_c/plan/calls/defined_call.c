/* defined_call.c - a call of a function that is defined by expressions (functions/kernel/defined_function.h): arguments bound,
 * then steps.
 *
 * An argument is given in args, under its name or an older one; or it is a name of the node; or, as PsyNeuLink writes all that is
 * no number, it stands in the function's metadata; or it has its default. What the function keeps from call to call is a
 * parameter of the node: expand_states makes one where the node has none, which starts at the first value and becomes the state's
 * next one. */
#include "functions/kernel/defined_function.h"
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* An argument as the function's table describes it; NULL: it has none of that. */
struct argument {
    const char *name, *alias, *fallback, *choices;
};

/* ------------------------------------------------------------------ words of the tables */

/* The next of the words in `*text` that `separator` divides, and advances; NULL at the end, or when out of memory. */
static const char *next_word(struct compiler *compiler, const char **text, char separator)
{
    const char *end = strchr(*text, separator), *word;
    size_t length = end != NULL ? (size_t)(end - *text) : strlen(*text);

    if (length == 0) {
        return NULL;
    }
    word = mdf_arena_text(&compiler->scratch, *text, length);
    if (word == NULL) {
        compile_out_of_memory(compiler);
    }
    *text += length + (end != NULL ? 1 : 0);
    return word;
}

/* Cuts `*text` at the first `separator`; what is behind it, NULL where there is none. */
static const char *cut(char *text, char separator)
{
    char *at = strchr(text, separator);

    if (at == NULL) {
        return NULL;
    }
    *at = '\0';
    return at + 1;
}

/* The next argument of a table's text; false at the end, or when out of memory. */
static bool next_argument(struct compiler *compiler, const char **text, struct argument *argument)
{
    const char *word = next_word(compiler, text, ' ');
    char *name = word != NULL ? mdf_arena_text(&compiler->scratch, word, strlen(word)) : NULL;

    if (name == NULL) {
        return false;
    }
    argument->fallback = cut(name, '=');
    argument->choices = argument->fallback == NULL ? cut(name, ':') : NULL;
    argument->alias = cut(name, '|');
    argument->name = name;
    return true;
}

/* ------------------------------------------------------------------ what is given */

/* PsyNeuLink writes numbers to args and all else to the metadata of the function, with the name of its class. Functions within it
 * are there too, whose parameters have a path. */
static const struct mdf_node *find_in_metadata(const struct mdf_definition *definition, const char *path)
{
    const struct mdf_node *value = mdf_node_get(definition->source, "metadata");
    const struct mdf_node *type = value != NULL ? mdf_node_get(value, "type") : NULL;
    char key[64];
    int length;

    if (type == NULL || type->kind != MDF_NODE_STRING || strcasecmp(type->as.string.bytes, definition->function) != 0) {
        return NULL;
    }
    while (value != NULL && sscanf(path, "%63[^.]%n", key, &length) == 1) {
        value = value->kind == MDF_NODE_OBJECT ? mdf_node_get(value, key) : NULL;
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return value != NULL && value->kind != MDF_NODE_NULL ? value : NULL;
}

static const struct mdf_node *find_given(const struct mdf_definition *definition, const char *name)
{
    const struct mdf_node *given = find_argument(definition, name);

    return given != NULL ? given : find_in_metadata(definition, name);
}

static const struct mdf_node *find_given_argument(const struct mdf_definition *definition, const struct argument *argument)
{
    const struct mdf_node *given = find_argument(definition, argument->name);

    if (given == NULL && argument->alias != NULL) {
        given = find_argument(definition, argument->alias);
    }
    if (given == NULL) {
        given = find_in_metadata(definition, argument->name);
    }
    return given == NULL && argument->alias != NULL ? find_in_metadata(definition, argument->alias) : given;
}

/* The expression that a text stands for; NULL: it is no keyword of the function. */
static const char *find_keyword(const struct mdf_defined_function *function, const struct mdf_node *node)
{
    const struct mdf_function_step *keyword;

    for (keyword = function->keywords; keyword != NULL && keyword->name != NULL; keyword++) {
        if (node->kind == MDF_NODE_STRING && strcmp(keyword->name, node->as.string.bytes) == 0) {
            return keyword->expression;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ arguments */

static bool is_choice(struct compiler *compiler, const char *choices, const char *text)
{
    const char *choice;

    while ((choice = next_word(compiler, &choices, ',')) != NULL) {
        if (strcmp(choice, text) == 0) {
            return true;
        }
    }
    return false;
}

/* A text that selects what is computed; the first choice where none is given. */
static mdf_operand compile_choice(struct target *inner, const struct argument *argument, const struct mdf_node *given)
{
    struct compiler *compiler = inner->compiler;
    const char *choices = argument->choices;
    const char *text = given == NULL                    ? next_word(compiler, &choices, ',')
                       : given->kind == MDF_NODE_STRING ? given->as.string.bytes
                                                        : NULL;
    struct place place;

    if (text != NULL && (given == NULL || is_choice(compiler, argument->choices, text))) {
        return unit_add_string(inner, text);
    }
    if (given != NULL) {
        place = place_enter(compiler, "argument", argument->name, given);
        compile_error(compiler, MDF_VALUE, "must be one of the texts %s", argument->choices);
        place_leave(compiler, place);
    }
    return MDF_NO_OPERAND;
}

/* What the function's metadata says: a number, a truth, an array, a keyword. */
static mdf_operand compile_metadata(struct target *inner, const struct mdf_defined_function *function,
                                    const struct argument *argument, const struct mdf_node *given)
{
    const char *keyword = find_keyword(function, given);

    if (keyword != NULL) {
        return compile_text(inner, keyword);
    }
    if (given->kind == MDF_NODE_STRING || given->kind == MDF_NODE_OBJECT) {
        struct place place = place_enter(inner->compiler, "argument", argument->name, given);

        compile_error(inner->compiler, MDF_MODEL,
                      "the metadata of the function gives %s for it: write it as a function of the node, and name that in args",
                      mdf_node_describe(given));
        place_leave(inner->compiler, place);
        return MDF_NO_OPERAND;
    }
    return compile_value(inner, given);
}

static mdf_operand compile_argument(struct target *inner, const struct mdf_definition *definition,
                                    const struct mdf_defined_function *function, const struct argument *argument)
{
    const struct mdf_node *given = find_given_argument(definition, argument);
    struct outcome outcome;

    if (argument->choices != NULL) {
        return compile_choice(inner, argument, given);
    }
    if (given != NULL && find_argument(definition, argument->name) != given &&
        (argument->alias == NULL || find_argument(definition, argument->alias) != given)) {
        return compile_metadata(inner, function, argument, given);
    }
    if (given != NULL) {
        const char *keyword = find_keyword(function, given);
        struct place place = place_enter(inner->compiler, "argument", argument->name, given);
        mdf_operand operand = keyword != NULL ? compile_text(inner, keyword) : compile_value(inner, given);

        place_leave(inner->compiler, place);
        return operand;
    }
    if (argument->fallback != NULL) {
        return compile_text(inner, argument->fallback);
    }
    if (scope_find_in_node(inner, argument->name, &outcome)) {
        return scope_as_operand(inner, &outcome);
    }
    return lacks_argument(inner->compiler, definition, function->name, argument->name);
}

/* Whether args has something under that name that is bound otherwise: a choice or a keyword. */
static bool is_special(struct compiler *compiler, const struct mdf_defined_function *function, const struct mdf_node_entry *entry)
{
    const char *text = function->arguments;
    struct argument argument;

    while (next_argument(compiler, &text, &argument)) {
        if (argument.choices != NULL && strcmp(argument.name, entry->key) == 0) {
            return true;
        }
    }
    return find_keyword(function, &entry->value) != NULL;
}

/* All that args has, in its order, a later one seeing the earlier ones; then the arguments of the function. */
static bool bind_arguments(struct target *inner, const struct mdf_definition *definition,
                           const struct mdf_defined_function *function)
{
    struct compiler *compiler = inner->compiler;
    const char *text = function->arguments;
    struct argument argument;
    mdf_operand operand;

    for (size_t i = 0; definition->args != NULL && i < definition->args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];
        struct place place = place_enter(compiler, "argument", entry->key, &entry->value);

        if (entry->value.kind != MDF_NODE_NULL && !is_special(compiler, function, entry)) {
            operand = compile_value(inner, &entry->value);
            if (operand == MDF_NO_OPERAND || !scope_bind(compiler, inner->scope, entry->key, operand)) {
                return false;
            }
        }
        place_leave(compiler, place);
    }
    while (next_argument(compiler, &text, &argument)) {
        operand = compile_argument(inner, definition, function, &argument);
        if (operand == MDF_NO_OPERAND || !scope_bind(compiler, inner->scope, argument.name, operand)) {
            return false;
        }
    }
    return compiler->error->code == MDF_OK;
}

/* ------------------------------------------------------------------ the call */

/* The name by which a state's parameter finds what the state becomes. No model can have it: ids of functions and states are
 * joined by a blank. */
static const char *name_of_next(struct compiler *compiler, const char *id, const char *state)
{
    const char *name = mdf_arena_printf(&compiler->scratch, "%s next %s", id, state);

    if (name == NULL) {
        compile_out_of_memory(compiler);
    }
    return name;
}

static bool bind_next(struct target *target, struct target *inner, const struct mdf_definition *definition,
                      const struct mdf_defined_function *function)
{
    const struct mdf_function_state *state;
    struct outcome outcome;

    for (state = function->states; state != NULL && state->name != NULL; state++) {
        const char *name = name_of_next(target->compiler, definition->id, state->name);

        if (name == NULL || !scope_find(inner, state->next, &outcome) ||
            !scope_bind_outcome(target->compiler, target->scope, name, &outcome)) {
            return false;
        }
    }
    return true;
}

static bool collect_outputs(struct target *inner, const struct mdf_defined_function *function, struct outcome *outcome)
{
    struct compiler *compiler = inner->compiler;
    const char *text = function->outputs, *name;
    struct list outputs = {0};
    struct outcome output;

    while ((name = next_word(compiler, &text, ' ')) != NULL) {
        if (!scope_find(inner, name, &output) || !list_add(compiler, &outputs, &output.outputs[0], sizeof output.outputs[0])) {
            return false;
        }
    }
    *outcome = (struct outcome){outputs.items, outputs.n, outputs.n > 1};
    return compiler->error->code == MDF_OK;
}

/* Arguments by all names that they have, and those that give the states' first values. */
static bool find_known(struct compiler *compiler, const struct mdf_defined_function *function, struct list *known)
{
    const char *text = function->arguments, *name;
    const struct mdf_function_state *state;
    struct argument argument;

    while (next_argument(compiler, &text, &argument)) {
        if (!list_add(compiler, known, &argument.name, sizeof argument.name) ||
            (argument.alias != NULL && !list_add(compiler, known, &argument.alias, sizeof argument.alias))) {
            return false;
        }
    }
    for (state = function->states; state != NULL && state->name != NULL; state++) {
        const char *initials = state->initials;

        if (!list_add(compiler, known, &state->name, sizeof state->name)) {
            return false;
        }
        while ((name = next_word(compiler, &initials, ' ')) != NULL) {
            if (!list_add(compiler, known, &name, sizeof name)) {
                return false;
            }
        }
    }
    return compiler->error->code == MDF_OK;
}

bool compile_defined_call(struct target *target, const struct mdf_definition *definition,
                          const struct mdf_defined_function *function, struct outcome *outcome)
{
    struct scope scope = {.outer = target->scope, .unit = target->unit};
    struct target inner = {target->compiler, target->unit, &scope};
    const struct mdf_function_step *step;
    struct list known = {0};
    mdf_operand operand;

    if (!bind_arguments(&inner, definition, function) || !find_known(target->compiler, function, &known)) {
        return false;
    }
    warn_unknown_arguments(target->compiler, definition, &known);
    for (step = function->steps; step != NULL && step->name != NULL; step++) {
        operand = compile_text(&inner, step->expression);
        if (operand == MDF_NO_OPERAND || !scope_bind(target->compiler, &scope, step->name, operand)) {
            return false;
        }
    }
    return bind_next(target, &inner, definition, function) && collect_outputs(&inner, function, outcome);
}

/* Adds the names of the node that a call finds without being given them. */
bool collect_defined_names(struct compiler *compiler, const struct mdf_definition *definition,
                           const struct mdf_defined_function *function, struct list *names)
{
    const char *text = function->arguments;
    const struct mdf_function_state *state;
    struct argument argument;

    while (next_argument(compiler, &text, &argument)) {
        if (argument.fallback == NULL && argument.choices == NULL && find_given_argument(definition, &argument) == NULL &&
            !names_contain(names, argument.name) && !list_add(compiler, names, &argument.name, sizeof argument.name)) {
            return false;
        }
    }
    for (state = function->states; state != NULL && state->name != NULL; state++) {
        if (find_argument(definition, state->name) == NULL && !names_contain(names, state->name) &&
            !list_add(compiler, names, &state->name, sizeof state->name)) {
            return false;
        }
    }
    return compiler->error->code == MDF_OK;
}

/* ------------------------------------------------------------------ states as parameters */

static const struct mdf_defined_function *find_function(const struct mdf_definition *definition)
{
    return definition->function != NULL && definition->value == NULL ? mdf_defined_function(definition->function) : NULL;
}

/* Whether a text names a port, function or parameter of the node: what it stands for changes from run to run. */
static bool names_of_node(struct compiler *compiler, const struct mdf_graph_node *node, const struct mdf_node *text)
{
    struct list names = {0};
    bool found = false;

    if (text->kind != MDF_NODE_STRING || !collect_names(compiler, text, &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n && !found; i++) {
        const char *name = ((const char *const *)names.items)[i];

        found = mdf_model_find_input_port(node, name) < node->n_input_ports || mdf_model_find_function(node, name) != NULL ||
                mdf_model_find_parameter(node, name) != NULL;
    }
    return found;
}

/* The node's own parameter that is called as the state is; NULL: it has none. */
static struct mdf_parameter *find_own_parameter(const struct mdf_graph_node *source, struct mdf_graph_node *node,
                                                const char *state)
{
    const struct mdf_parameter *parameter = mdf_model_find_parameter(source, state);

    return parameter != NULL ? &node->parameters[parameter - source->parameters] : NULL;
}

/* A text as a document node at the place of another. */
static struct mdf_node *make_text(struct compiler *compiler, const struct mdf_node *at, const char *text)
{
    struct mdf_node *node = mdf_arena_allocate(&compiler->scratch, sizeof *node);

    if (node == NULL || text == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    node->kind = MDF_NODE_STRING;
    node->is_given = at->is_given;
    node->line = at->line;
    node->column = at->column;
    node->as.string.bytes = text;
    node->as.string.length = strlen(text);
    return node;
}

/* The node that gives a state's first value. */
static const struct mdf_node *find_initial(struct compiler *compiler, const struct mdf_definition *definition,
                                           const struct mdf_function_state *state)
{
    const char *names = state->initials, *name;
    const struct mdf_node *given;

    while ((name = next_word(compiler, &names, ' ')) != NULL) {
        given = find_given(definition, name);
        if (given != NULL) {
            return given;
        }
    }
    return make_text(compiler, definition->source, state->fallback);
}

/* The same arguments, `name` standing for the parameter. */
static bool redirect_argument(struct compiler *compiler, struct mdf_definition *definition, const char *name,
                              const char *parameter)
{
    const struct mdf_node *text = make_text(compiler, definition->source, parameter);
    size_t n = definition->args != NULL ? definition->args->as.object.n : 0, count = 0;
    struct mdf_node *args = mdf_arena_allocate(&compiler->scratch, sizeof *args);
    struct mdf_node_entry *entries = mdf_arena_array(&compiler->scratch, n + 1, sizeof *entries);

    if (text == NULL || args == NULL || entries == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(definition->args->as.object.entries[i].key, name) != 0) {
            entries[count++] = definition->args->as.object.entries[i];
        }
    }
    entries[count++] = (struct mdf_node_entry){name, text->line, text->column, *text};
    *args = *text;
    args->kind = MDF_NODE_OBJECT;
    args->as.object.entries = entries;
    args->as.object.n = count;
    args->as.object.order = NULL;
    definition->args = args;
    return true;
}

static bool add_state(struct compiler *compiler, struct mdf_graph_node *node, struct mdf_definition *definition,
                      const struct mdf_function_state *state)
{
    struct mdf_parameter *parameter = &node->parameters[node->n_parameters];
    const char *next = name_of_next(compiler, definition->id, state->name);

    memset(parameter, 0, sizeof *parameter);
    parameter->definition.id = mdf_arena_printf(&compiler->scratch, "%s %s", definition->id, state->name);
    parameter->definition.source = definition->source;
    parameter->definition.value = next != NULL ? make_text(compiler, definition->source, next) : NULL;
    parameter->default_initial_value = find_initial(compiler, definition, state);
    parameter->declaration.type.dtype = MDF_DTYPE_NONE;
    if (parameter->definition.id == NULL || parameter->definition.value == NULL || parameter->default_initial_value == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    node->n_parameters++;
    return redirect_argument(compiler, definition, state->name, parameter->definition.id);
}

/* A parameter that is called as the state is, and that has the function as its value, becomes the state's next value: of a
 * function with several outputs that is not all of them. */
static bool lead_parameter(struct compiler *compiler, struct mdf_parameter *parameter, const struct mdf_definition *definition,
                           const char *state)
{
    const struct mdf_node *value = parameter->definition.value;
    const char *next;

    if (value == NULL || value->kind != MDF_NODE_STRING || strcmp(value->as.string.bytes, definition->id) != 0) {
        return true;
    }
    next = name_of_next(compiler, definition->id, state);
    parameter->definition.value = next != NULL ? make_text(compiler, value, next) : NULL;
    return parameter->definition.value != NULL;
}

/* The model carries a state itself where args name what was before, or the node has a parameter called as the state is. */
static bool add_states(struct compiler *compiler, const struct mdf_graph_node *source, struct mdf_graph_node *node,
                       struct mdf_definition *definition)
{
    const struct mdf_defined_function *function = find_function(definition);
    const struct mdf_function_state *state;

    for (state = function != NULL ? function->states : NULL; state != NULL && state->name != NULL; state++) {
        const struct mdf_node *given = find_argument(definition, state->name);
        struct mdf_parameter *own = given == NULL ? find_own_parameter(source, node, state->name) : NULL;
        bool is_carried = own != NULL || (given != NULL && names_of_node(compiler, source, given));

        if (own != NULL && !lead_parameter(compiler, own, definition, state->name)) {
            return false;
        }
        if (!is_carried && !add_state(compiler, node, definition, state)) {
            return false;
        }
    }
    return true;
}

static size_t count_states(const struct mdf_definition *definition)
{
    const struct mdf_defined_function *function = find_function(definition);
    size_t n = 0;

    while (function != NULL && function->states != NULL && function->states[n].name != NULL) {
        n++;
    }
    return n;
}

struct mdf_graph_node *copy_node(struct compiler *compiler, const struct mdf_graph_node *source, size_t n_more)
{
    struct mdf_graph_node *node = mdf_arena_allocate(&compiler->scratch, sizeof *node);
    struct mdf_parameter *parameters = mdf_arena_array(&compiler->scratch, source->n_parameters + n_more, sizeof *parameters);

    if (node == NULL || parameters == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    *node = *source;
    node->parameter_names = (struct name_table){0};
    node->parameters = parameters;
    if (source->n_parameters > 0) {
        memcpy(parameters, source->parameters, source->n_parameters * sizeof *parameters);
    }
    return node;
}

bool copy_is_named(struct compiler *compiler, struct mdf_graph_node *node)
{
    return mdf_model_index(&node->parameter_names, &compiler->scratch, node->parameters, node->n_parameters,
                           sizeof *node->parameters) ||
           compile_out_of_memory(compiler) != MDF_NO_OPERAND;
}

const struct mdf_graph_node *expand_states(struct compiler *compiler, const struct mdf_graph_node *source)
{
    struct mdf_graph_node *node;
    size_t n_states = 0;

    for (size_t i = 0; i < source->n_functions; i++) {
        n_states += count_states(&source->functions[i]);
    }
    for (size_t i = 0; i < source->n_parameters; i++) {
        n_states += count_states(&source->parameters[i].definition);
    }
    if (n_states == 0) {
        return source;
    }
    node = copy_node(compiler, source, n_states);
    if (node == NULL) {
        return NULL;
    }
    node->functions = mdf_arena_array(&compiler->scratch, source->n_functions, sizeof *node->functions);
    if (node->functions == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    for (size_t i = 0; i < source->n_functions; i++) {
        node->functions[i] = source->functions[i];
        if (!add_states(compiler, source, node, &node->functions[i])) {
            return NULL;
        }
    }
    for (size_t i = 0; i < source->n_parameters; i++) {
        if (!add_states(compiler, source, node, &node->parameters[i].definition)) {
            return NULL;
        }
    }
    return copy_is_named(compiler, node) ? node : NULL;
}
