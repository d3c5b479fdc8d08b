/* node_items.c - functions and parameters of a node: what each depends on, and names of parameters bound to what they hold. See
 * node_builder.h. */
#include "mdf_c/plan/node_builder.h"

#include <string.h>

/* ------------------------------------------------------------------ what depends on what */

static bool is_number_text(const char *text)
{
    int64_t integer;
    double real;
    bool is_integer;

    return mdf_parse_python_number(text, &real, &integer, &is_integer);
}

bool node_add_names(struct compiler *compiler, const struct mdf_node *node, struct list *names)
{
    return node == NULL || collect_names(compiler, node, names);
}

/* The parameter that an attribute's text stands in: that of its name, or, of what stands in args, the one named there, unless
 * that is the id of a graph. NULL: none. */
static const char *text_parameter(const struct node_builder *builder, const struct mdf_definition *definition,
                                  const struct mdf_schema_attribute *attribute)
{
    const struct mdf_node *given = definition->args != NULL ? mdf_node_get(definition->args, attribute->name) : NULL;
    const char *named = given == NULL ? attribute->name : given->kind == MDF_NODE_STRING ? given->as.string.bytes : NULL;
    bool is_id = given != NULL && named != NULL && attribute->type == MDF_ATTRIBUTE_GRAPH &&
                 mdf_model_find_graph(builder->compiler->model, named) != NULL;

    return named != NULL && !is_id && mdf_model_find_parameter(builder->node, named) != NULL ? named : NULL;
}

/* Notes the parameters that are attributes of a definition's operator and texts, or ids of graphs: such a one is its text, not an
 * expression. */
static bool note_text_attributes(struct node_builder *builder, const struct mdf_definition *definition)
{
    const struct mdf_schema *schema = definition->function != NULL ? find_called_schema(builder->compiler, definition) : NULL;

    for (size_t i = 0; schema != NULL && i < schema->n_attributes; i++) {
        const struct mdf_schema_attribute *attribute = &schema->attributes[i];
        bool is_text = attribute->type == MDF_ATTRIBUTE_STRING || attribute->type == MDF_ATTRIBUTE_STRINGS ||
                       attribute->type == MDF_ATTRIBUTE_TYPE || attribute->type == MDF_ATTRIBUTE_GRAPH;
        const char *name = is_text ? text_parameter(builder, definition, attribute) : NULL;

        if (name != NULL && name_table_add(&builder->text_attributes, &builder->compiler->scratch, name) == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
    }
    return true;
}

static bool describe_parameter(struct node_builder *builder, const struct mdf_parameter *parameter, struct item *item)
{
    const struct mdf_definition *definition = &parameter->definition;
    struct compiler *compiler = builder->compiler;
    bool computed = definition->value != NULL || definition->function != NULL || parameter->time_derivative != NULL;

    item->definition = definition;
    item->parameter = parameter;
    item->is_void = !computed && parameter->default_initial_value == NULL && parameter->n_conditions == 0;
    item->is_text = definition->value != NULL && definition->value->kind == MDF_NODE_STRING &&
                    name_table_find(&builder->text_attributes, definition->id) != NULL;
    item->is_literal =
        definition->value != NULL && parameter->n_conditions == 0 && parameter->default_initial_value == NULL &&
        parameter->time_derivative == NULL &&
        (definition->value->kind != MDF_NODE_STRING || item->is_text || is_number_text(definition->value->as.string.bytes));
    if (!collect_definition_names(compiler, definition, &item->names)) {
        return false;
    }
    item->n_initial_names = item->names.n; /* conditions come into force with the first run: they may look at what was before */
    item->is_stateful = parameter->time_derivative != NULL || parameter->default_initial_value != NULL ||
                        (!item->is_literal && definition->value != NULL && names_contain(&item->names, definition->id)) ||
                        (definition->function != NULL && names_contain(&item->names, definition->id)) ||
                        (!computed && !item->is_void);
    if (!node_add_names(compiler, parameter->time_derivative, &item->names)) {
        return false;
    }
    for (size_t i = 0; i < parameter->n_conditions; i++) {
        if (!node_add_names(compiler, parameter->conditions[i].test, &item->names) ||
            !node_add_names(compiler, parameter->conditions[i].value, &item->names)) {
            return false;
        }
    }
    return true;
}

/* The place of the item that a table has a name for; SIZE_MAX: none. */
size_t node_item_number(const struct name_table *numbers, const char *name)
{
    const size_t *number = name_table_find(numbers, name);

    return number != NULL ? *number - 1 : SIZE_MAX;
}

/* Notes which parameters are read before this run has set them: by functions, and by parameters up to themselves. */
static void find_previous_reads(struct node_builder *builder)
{
    for (size_t i = 0; i < builder->node->n_functions + builder->node->n_parameters; i++) {
        bool is_function = i < builder->node->n_functions;
        size_t first = is_function ? 0 : i - builder->node->n_functions;
        const struct list *names = is_function ? &builder->functions[i].names : &builder->parameters[first].names;

        for (size_t j = 0; j < names->n; j++) {
            size_t read = node_item_number(&builder->parameter_numbers, ((const char *const *)names->items)[j]);

            if (read != SIZE_MAX && read >= first) {
                builder->parameters[read].is_read_before = true;
            }
        }
    }
}

struct place node_enter_item(struct node_builder *builder, const struct item *item)
{
    return place_enter(builder->compiler, item->parameter != NULL ? "parameter" : "function", item->definition->id,
                       item->definition->source);
}

static bool describe_changeable(struct node_builder *builder, const struct item *item)
{
    struct place place = node_enter_item(builder, item);
    bool done = keep_changeable(&builder->target, builder->node, item->parameter, item->is_literal, item->is_text);

    place_leave(builder->compiler, place);
    return done;
}

/* Finds functions and parameters, and texts among these, by their names. */
static bool index_items(struct node_builder *builder)
{
    const struct mdf_graph_node *node = builder->node;
    size_t n = node->n_functions + node->n_parameters;

    for (size_t i = 0; i < n; i++) {
        bool is_function = i < node->n_functions;
        size_t number = is_function ? i : i - node->n_functions;
        const struct mdf_definition *definition = is_function ? &node->functions[i] : &node->parameters[number].definition;
        size_t *noted = name_table_add(is_function ? &builder->function_numbers : &builder->parameter_numbers,
                                       &builder->compiler->scratch, definition->id);

        if (noted == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
        *noted = number + 1;
        if (!definition->is_broken && !note_text_attributes(builder, definition)) {
            return false;
        }
    }
    return true;
}

bool node_describe_items(struct node_builder *builder)
{
    const struct mdf_graph_node *node = builder->node;
    struct compiler *compiler = builder->compiler;

    builder->functions = mdf_arena_array(&compiler->scratch, node->n_functions, sizeof *builder->functions);
    builder->parameters = mdf_arena_array(&compiler->scratch, node->n_parameters, sizeof *builder->parameters);
    if (builder->functions == NULL || builder->parameters == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!index_items(builder)) {
        return false;
    }
    for (size_t i = 0; i < node->n_functions; i++) {
        builder->functions[i].definition = &node->functions[i];
        if (node->functions[i].is_broken) {
            continue;
        }
        if (!collect_definition_names(compiler, &node->functions[i], &builder->functions[i].names) ||
            !find_usage(compiler, node, node->functions[i].id, &builder->functions[i].usage)) {
            return false;
        }
        builder->functions[i].n_initial_names = builder->functions[i].names.n;
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (node->parameters[i].definition.is_broken) {
            builder->parameters[i].definition = &node->parameters[i].definition;
            builder->parameters[i].parameter = &node->parameters[i];
            builder->parameters[i].is_literal = true;
            continue;
        }
        if (!describe_parameter(builder, &node->parameters[i], &builder->parameters[i]) ||
            !find_usage(compiler, node, node->parameters[i].definition.id, &builder->parameters[i].usage) ||
            !describe_changeable(builder, &builder->parameters[i])) {
            return false;
        }
    }
    find_previous_reads(builder);
    for (size_t i = 0; i < node->n_parameters; i++) {
        struct item *item = &builder->parameters[i];

        item->needs_initial = item->is_stateful || (!item->is_literal && !item->is_void && item->is_read_before);
    }
    return true;
}

/* Objects are constants that a body or an attribute may read; they are values only where something names them. */
/* What is known to be there, but not what it is. */
bool node_bind_unknown(struct node_builder *builder, struct target *target, const struct item *item)
{
    mdf_operand operand = unit_unknown(target);

    return operand != MDF_NO_OPERAND && scope_bind(builder->compiler, target->scope, item->definition->id, operand);
}

static bool bind_literal(struct node_builder *builder, const struct item *item)
{
    const struct mdf_node *value = item->definition->value;
    struct place place = node_enter_item(builder, item);
    struct mdf_value constant = {0};
    mdf_operand operand;
    unsigned flags;

    if (is_changeable(builder->compiler, value)) {
        operand = changeable_operand(&builder->target, value);
        place_leave(builder->compiler, place);
        return operand != MDF_NO_OPERAND && scope_bind(builder->compiler, &builder->scope, item->definition->id, operand);
    }
    if (item->is_text) {
        if (!mdf_value_make_string(builder->compiler->memory, &constant, value->as.string.bytes, value->as.string.length)) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
    } else if (value->kind != MDF_NODE_OBJECT || item->usage.elsewhere || item->usage.as_list || item->usage.n_ports > 0) {
        if (!compile_declared_constant(&builder->target, value, &item->parameter->declaration, &constant)) {
            return false;
        }
    }
    flags = constant.kind == MDF_KIND_LIST ? OPERAND_MAY_BE_LIST : 0;
    operand = unit_add_constant(&builder->target, &constant, flags);
    place_leave(builder->compiler, place);
    return operand != MDF_NO_OPERAND && scope_bind(builder->compiler, &builder->scope, item->definition->id, operand);
}

/* A name that is there, but may not be read. */
static bool bind_void(struct node_builder *builder, const struct item *item)
{
    struct mdf_value nothing = {0};
    mdf_operand operand = unit_add_constant(&builder->target, &nothing, OPERAND_IS_VOID);

    return operand != MDF_NO_OPERAND && scope_bind(builder->compiler, &builder->scope, item->definition->id, operand);
}

/* A derivative is that of something: its integral starts somewhere. */
static bool starts_somewhere(struct node_builder *builder, const struct item *item)
{
    const struct mdf_parameter *parameter = item->parameter;
    const char *definition = parameter->definition.value != NULL      ? "value"
                             : parameter->definition.function != NULL ? "function"
                                                                      : NULL;
    struct place place = node_enter_item(builder, item);
    bool starts = parameter->time_derivative == NULL || parameter->default_initial_value != NULL || definition != NULL;

    if (!starts) {
        compile_error(builder->compiler, MDF_MODEL,
                      "it has a time_derivative, but nothing to start at: give it a default_initial_value");
    } else if (parameter->time_derivative != NULL && definition != NULL) {
        compile_warning(builder->compiler, "its time_derivative has no effect, as it has a %s too: leave one of them out",
                        definition);
    }
    place_leave(builder->compiler, place);
    return starts;
}

static bool bind_parameter(struct node_builder *builder, struct item *item)
{
    if (item->definition->is_broken) {
        return node_bind_unknown(builder, &builder->target, item);
    }
    if (!starts_somewhere(builder, item) || (item->is_literal && !bind_literal(builder, item)) ||
        (item->is_void && !bind_void(builder, item))) {
        return false;
    }
    if (item->needs_initial) {
        item->slot = unit_new_slot(&builder->target, OPERAND_MUTABLE | OPERAND_MAY_BE_LIST);
        if (item->slot == MDF_NO_OPERAND || !scope_bind(builder->compiler, &builder->scope, item->definition->id, item->slot)) {
            return false;
        }
    }
    if (item->is_stateful && builder->graph->is_body) {
        struct place place = node_enter_item(builder, item);

        compile_error(builder->compiler, MDF_MODEL,
                      "a parameter that keeps its value over runs can not stand in a body: carry it as a state variable of the "
                      "operator");
        place_leave(builder->compiler, place);
        return false;
    }
    return true;
}

/* Literals and previous values are in scope from the start; of one name, a parameter hides a port. */
bool node_bind_parameters(struct node_builder *builder)
{
    struct place place = place_here(builder->compiler);

    for (size_t i = 0; i < builder->node->n_parameters; i++) {
        struct item *item = &builder->parameters[i];

        if (!bind_parameter(builder, item) &&
            !(compile_recover(builder->compiler, place) && node_bind_unknown(builder, &builder->target, item))) {
            return false;
        }
    }
    return true;
}
