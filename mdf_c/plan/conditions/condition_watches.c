/* condition_watches.c - conditions that look at a value of a node: Threshold, and the WhenFinished family. */
#include "mdf_c/plan/conditions/conditions.h"

#include <string.h>

/* ------------------------------------------------------------------ which value */

/* What a name of the node's scope is bound to; MDF_NO_OPERAND for a function of several outputs. */
static mdf_operand find_bound(const struct scope *scope, const char *name)
{
    const struct binding *binding = scope_find_here(scope, name);

    return binding == NULL || binding->outcome.several ? MDF_NO_OPERAND : binding->operand;
}

/* The value of a function, parameter or output port; of one name, these go before an output port. False: there is none. */
static bool find_value(const struct condition_builder *builder, size_t node, const char *name, struct mdf_watch *watch)
{
    const struct mdf_graph_node *source = &builder->graph->graph->nodes[node];
    const struct node_plan *plan = &builder->graph->nodes[node];
    size_t output = mdf_model_find_output_port(source, name);

    watch->node = node;
    watch->has_initial = true;
    if (mdf_model_find_parameter(source, name) != NULL) {
        watch->value = find_bound(plan->scope, name);
        watch->always =
            watch->value != MDF_NO_OPERAND && (MDF_OPERAND_KIND(watch->value) == MDF_OPERAND_CONSTANT ||
                                               (unit_flags(builder->graph->unit, watch->value) & OPERAND_IS_FIXED) != 0);
        watch->has_initial = false;
    } else if (mdf_model_find_function(source, name) != NULL) {
        watch->value = find_bound(plan->scope, name);
    } else if (output < source->n_output_ports) {
        watch->value = plan->outputs[output];
    } else {
        return false;
    }
    return true;
}

/* An input port goes before all else of its name. */
static bool find_input(const struct condition_builder *builder, size_t node, const char *name, struct mdf_watch *watch)
{
    const struct mdf_graph_node *source = &builder->graph->graph->nodes[node];
    size_t port = mdf_model_find_input_port(source, name);

    if (port == source->n_input_ports) {
        return false;
    }
    watch->node = node;
    watch->value = builder->graph->nodes[node].ports[port];
    watch->is_input = watch->has_initial = true;
    watch->port = graph_port_number(builder->graph, watch->value);
    return true;
}

static bool unknown_value(struct condition_builder *builder, const struct condition_call *call, const char *name, size_t node)
{
    const struct mdf_graph_node *source = &builder->graph->graph->nodes[node];
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; i < source->n_input_ports; i++) {
        mdf_nearest_offer(&nearest, source->input_ports[i].id);
    }
    for (size_t i = 0; i < source->n_parameters; i++) {
        mdf_nearest_offer(&nearest, source->parameters[i].definition.id);
    }
    for (size_t i = 0; i < source->n_functions; i++) {
        mdf_nearest_offer(&nearest, source->functions[i].id);
    }
    for (size_t i = 0; i < source->n_output_ports; i++) {
        mdf_nearest_offer(&nearest, source->output_ports[i].id);
    }
    condition_fault(builder, call, condition_argument(call, "parameter"),
                    "node '%.60s' has no port, parameter or function '%.60s'", source->id, name);
    mdf_error_suggest(builder->compiler->error, mdf_nearest_result(&nearest));
    return false;
}

/* ------------------------------------------------------------------ arguments of Threshold */

static bool read_indices(struct condition_builder *builder, const struct condition_call *call, struct mdf_watch *watch)
{
    const struct mdf_node *node = condition_argument(call, "indices");
    bool is_list = node != NULL && (node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_NUMBERS);
    size_t n = is_list ? mdf_node_length(node) : node != NULL, i;
    int64_t *indices = mdf_arena_array(builder->compiler->arena, n, sizeof *indices);
    enum time_scale scale;
    struct mdf_node item;

    if (indices == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (i = 0; i < n; i++) {
        if (!is_list || !mdf_node_item(node, i, &item)) {
            item = *node;
        }
        if (item.kind == MDF_NODE_STRING && parse_time_scale(builder->compiler, item.as.string.bytes, false, &scale)) {
            indices[i] = scale; /* the number of the scale: values that are counted by scale */
        } else if (item.kind == MDF_NODE_INT) {
            indices[i] = item.as.integer;
        } else {
            return condition_fault(builder, call, node, "'indices' must be whole numbers, not %s", mdf_node_describe(&item));
        }
    }
    watch->indices = indices;
    watch->n_indices = n;
    return true;
}

static bool read_comparator(struct condition_builder *builder, const struct condition_call *call, uint8_t *comparison)
{
    static const char *const texts[] = {"<", "<=", "==", "!=", ">", ">="}; /* in the order of enum mdf_comparison */
    const struct mdf_node *node = condition_argument(call, "comparator");
    size_t i = node->kind == MDF_NODE_STRING ? MDF_FIND_WORD(node->as.string.bytes, texts) : SIZE_MAX;

    *comparison = (uint8_t)i;
    return i != SIZE_MAX || condition_fault(builder, call, node, "'comparator' must be one of <, <=, ==, !=, >, >=");
}

static bool read_tolerances(struct condition_builder *builder, const struct condition_call *call, uint8_t comparison,
                            struct mdf_watch *watch)
{
    if (!condition_number(builder, call, "atol", &watch->absolute_tolerance) ||
        !condition_number(builder, call, "rtol", &watch->relative_tolerance)) {
        return false;
    }
    if ((watch->absolute_tolerance != 0 || watch->relative_tolerance != 0) && comparison != MDF_COMPARISON_EQUAL &&
        comparison != MDF_COMPARISON_NOT_EQUAL) {
        compile_warning(builder->compiler, "tolerances are ignored by the comparators <, <=, > and >=");
    }
    return true;
}

/* What a value is before its node's first run: a parameter's default_initial_value, where that is a constant; the default_value
 * of a port that does not add up what arrives. NULL: none. */
static const struct mdf_node *find_initial(const struct condition_builder *builder, const char *name,
                                           const struct mdf_watch *watch)
{
    const struct mdf_graph_node *node = &builder->graph->graph->nodes[watch->node];
    const struct mdf_parameter *parameter = mdf_model_find_parameter(node, name);
    size_t port = watch->is_input ? mdf_model_find_input_port(node, name) : node->n_input_ports;

    if (port < node->n_input_ports) {
        struct mdf_input_port seen = node->input_ports[port];

        graph_take_link(&builder->graph->nodes[watch->node].links[port], &seen);
        return seen.reduce == MDF_REDUCE_OVERWRITE ? seen.default_value : NULL;
    }
    return parameter == NULL || watch->always || parameter->default_initial_value == NULL ||
                   parameter->default_initial_value->kind == MDF_NODE_STRING
               ? NULL
               : parameter->default_initial_value;
}

static bool read_initial(struct condition_builder *builder, const struct mdf_node *source, struct mdf_watch *watch)
{
    struct target target = {builder->compiler, builder->graph->unit, &builder->graph->scope};
    struct mdf_value initial = {0};

    if (source == NULL) {
        return true;
    }
    watch->initial_value = changeable_operand(&target, source);
    if (!compile_constant(&target, source, &initial)) {
        return false;
    }
    watch->has_initial = mdf_value_number_at(&initial, watch->indices, watch->n_indices, &watch->initial);
    mdf_value_clear(builder->compiler->memory, &initial);
    return true;
}

static char *keep_name(struct condition_builder *builder, const char *name)
{
    char *kept = mdf_arena_text(builder->compiler->arena, name, strlen(name));

    if (kept == NULL) {
        compile_out_of_memory(builder->compiler);
    }
    return kept;
}

bool build_threshold(struct condition_builder *builder, const struct condition_call *call)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_THRESHOLD);
    const struct mdf_node *name = condition_argument(call, "parameter");
    struct mdf_watch watch = {.initial_value = MDF_NO_OPERAND};
    uint32_t node;

    if (condition_argument(call, "custom_parameter_getter") != NULL ||
        condition_argument(call, "custom_parameter_validator") != NULL) {
        return condition_fault(builder, call, NULL,
                               "custom_parameter_getter and custom_parameter_validator are functions of Python, "
                               "which a model file can not hold");
    }
    if (condition == NULL || !condition_node(builder, call, condition_argument(call, "dependency"), &node)) {
        return false;
    }
    if (name->kind != MDF_NODE_STRING) {
        return condition_fault(builder, call, name, "'parameter' must be the name of a port, parameter or function");
    }
    if (!find_input(builder, node, name->as.string.bytes, &watch) && !find_value(builder, node, name->as.string.bytes, &watch)) {
        return unknown_value(builder, call, name->as.string.bytes, node);
    }
    if (watch.value == MDF_NO_OPERAND) {
        return condition_fault(builder, call, name, "'%.60s' has several values; name an output port that holds one",
                               name->as.string.bytes);
    }
    watch.name = keep_name(builder, name->as.string.bytes);
    condition->index = (uint32_t)builder->watches.n;
    return watch.name != NULL && read_indices(builder, call, &watch) && read_comparator(builder, call, &condition->comparison) &&
           read_tolerances(builder, call, condition->comparison, &watch) &&
           condition_number(builder, call, "threshold", &condition->n) &&
           read_initial(builder, find_initial(builder, name->as.string.bytes, &watch), &watch) &&
           list_add(builder->compiler, &builder->watches, &watch, sizeof watch);
}

/* ------------------------------------------------------------------ finished */

/* A node that has a value of this name says with it whether it is finished; another is, once it has run. */
#define FINISHED "is_finished"

static bool add_finished(struct condition_builder *builder, size_t node)
{
    struct mdf_watch watch = {.name = FINISHED, .node = node, .value = MDF_NO_OPERAND, .initial_value = MDF_NO_OPERAND};

    if (find_value(builder, node, FINISHED, &watch)) {
        watch.always = watch.has_initial = false;
    }
    return list_add(builder->compiler, &builder->watches, &watch, sizeof watch);
}

/* The watches of all nodes, made once. */
static bool watch_all(struct condition_builder *builder, uint32_t *first)
{
    if (!builder->watches_all) {
        builder->watches_all = true;
        builder->first_of_all = (uint32_t)builder->watches.n;
        for (size_t i = 0; i < builder->graph->graph->n_nodes; i++) {
            if (!add_finished(builder, i)) {
                return false;
            }
        }
    }
    *first = builder->first_of_all;
    return true;
}

bool build_finished(struct condition_builder *builder, const struct condition_call *call)
{
    struct mdf_condition *condition = condition_add(builder, (enum mdf_condition_kind)call->row->detail);
    bool is_single = strcmp(call->row->formals[0].name, "dependency") == 0;
    uint32_t first, n;

    if (condition == NULL || !condition_nodes(builder, call, call->row->formals[0].name, &first, &n)) {
        return false;
    }
    if (is_single && n != 1) {
        return condition_fault(builder, call, condition_argument(call, "dependency"), "'dependency' must be one node");
    }
    condition->n_items = n > 0 ? n : (uint32_t)builder->graph->graph->n_nodes;
    if (n == 0) {
        return watch_all(builder, &condition->index);
    }
    condition->index = (uint32_t)builder->watches.n;
    for (uint32_t i = 0; i < n; i++) {
        if (!add_finished(builder, ((const uint32_t *)builder->node_lists.items)[first + i])) {
            return false;
        }
    }
    return true;
}
