/* fmu_timed.c - which conditions come to hold, or cease to, at times that can be known before: those that depend on nothing but numbers
 * of the model and clocks, parameters with a number as their time derivative. See fmu.h. */
#include "mdf_c/cli/fmu/fmu.h"

#include "functions/kernel/operator.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/expression/expression.h"

#include <string.h>

static bool is_clock(const struct mdf_parameter *parameter)
{
    return mdf_value_is_constant(parameter->time_derivative);
}

static bool is_number(const struct mdf_parameter *parameter)
{
    return parameter->time_derivative == NULL && parameter->n_conditions == 0 && parameter->definition.function == NULL &&
           mdf_value_is_constant(parameter->definition.value);
}

/* Whether a name of an expression is such a parameter's; what is called, or has an attribute, may be a module's. */
static bool is_of_time(const struct mdf_graph_node *node, const struct mdf_expression *name, bool may_be_module, bool *has_clock)
{
    const struct mdf_parameter *parameter = mdf_model_find_parameter(node, name->as.text.bytes);

    if (parameter == NULL) {
        return may_be_module && mdf_model_find_input_port(node, name->as.text.bytes) == node->n_input_ports &&
               mdf_model_find_function(node, name->as.text.bytes) == NULL;
    }
    *has_clock = *has_clock || is_clock(parameter);
    return is_clock(parameter) || is_number(parameter);
}

/* Whether a call gives the same for the same: one of the engine's own functions that draws no random numbers. */
static bool is_steady(struct mdf_arena *arena, const struct mdf_expression *call)
{
    const char *name = mdf_expression_dotted(arena, call->as.list.items[0]);
    const struct mdf_operator *row = name != NULL ? mdf_operator_python(name) : NULL;

    return row != NULL && (row->flags & MDF_OPERATOR_RANDOM) == 0;
}

/* Whether all names are. An expression that binds names of its own is none of time alone. */
static bool depends_on_time(struct mdf_arena *arena, const struct mdf_graph_node *node, const struct mdf_expression *tree,
                            bool may_be_module, bool *has_clock)
{
    size_t n = mdf_expression_n_items(tree), i;

    if (tree == NULL) {
        return true;
    }
    if (tree->kind == MDF_EXPRESSION_NAME) {
        return is_of_time(node, tree, may_be_module, has_clock);
    }
    if (tree->kind == MDF_EXPRESSION_COMPREHENSION || (tree->kind == MDF_EXPRESSION_CALL && !is_steady(arena, tree))) {
        return false;
    }
    for (i = 0; i < n; i++) {
        bool is_head = i == 0 && (tree->kind == MDF_EXPRESSION_CALL || tree->kind == MDF_EXPRESSION_ATTRIBUTE);

        if (!depends_on_time(arena, node, tree->as.list.items[i], is_head, has_clock)) {
            return false;
        }
    }
    return true;
}

bool fmu_is_timed(struct mdf_arena *arena, const struct mdf_graph_node *node, const char *parameter, const char *condition)
{
    const struct mdf_parameter *of = mdf_model_find_parameter(node, parameter);
    const struct mdf_node *test = NULL;
    const struct mdf_expression *tree;
    bool has_clock = false;
    size_t offset;

    for (size_t i = 0; of != NULL && i < of->n_conditions; i++) {
        test = strcmp(of->conditions[i].id, condition) == 0 ? of->conditions[i].test : test;
    }
    tree = test != NULL && test->kind == MDF_NODE_STRING ? mdf_expression_parse(arena, test->as.string.bytes, &offset, NULL) : NULL;
    return tree != NULL && depends_on_time(arena, node, tree, false, &has_clock) && has_clock;
}

bool fmu_is_clock(const struct mdf_graph_node *node, const char *parameter)
{
    const struct mdf_parameter *of = mdf_model_find_parameter(node, parameter);

    return of != NULL && is_clock(of);
}
