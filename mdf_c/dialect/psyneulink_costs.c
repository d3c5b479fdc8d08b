/* psyneulink_costs.c - TransferWithCosts, the function of control signals: what its transfer function makes of its variable, the
 * intensity, and what that costs.
 *
 * Comes in: the function, with the functions within it in its metadata. Goes out: those as functions of the node, named after it;
 * where costs are enabled, output ports that give them. Source:
 * psyneulink.core.components.functions.nonstateful.transferfunctions, 0.21. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include <ctype.h>
#include <string.h>

/* A cost is a function of the intensity, or of how much it changes. */
static const struct cost {
    const char *name, *function, *option;
    bool is_of_change;
} costs[] = {
    {"intensity_cost", "intensity_cost_fct", "INTENSITY", false},
    {"adjustment_cost", "adjustment_cost_fct", "ADJUSTMENT", true},
    {"duration_cost", "duration_cost_fct", "DURATION", false},
};

enum { N_COSTS = sizeof costs / sizeof *costs };

/* Whether enabled_cost_functions, "CostFunctions.INTENSITY|ADJUSTMENT" or so, has the option. */
static bool is_enabled(const char *enabled, const char *option)
{
    return enabled != NULL && (strstr(enabled, option) != NULL || strstr(enabled, "ALL") != NULL);
}

/* The function of the metadata called `key`, of `variable`, as one of the node. One that keeps its value is told by its class:
 * its expression in the file names a parameter that the node does not have. */
static void add_function(const struct mechanism *mechanism, struct mdf_node *metadata, const char *key, const char *id,
                         struct mdf_node variable)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *inner = rewriting_find(metadata, key), function;
    const char *class = rewriting_text(rewriting_find_path(inner, "metadata.type"));
    char name[64] = "";

    if (class == NULL) {
        rewriting_refuse(rewriting, metadata, "'%s' is no function of PsyNeuLink: it can not be told", key);
        return;
    }
    function = rewriting_copy(rewriting, inner);
    if (rewriting_find(&function, "function") == NULL) {
        for (size_t i = 0; i < sizeof name - 1 && class[i] != '\0'; i++) {
            name[i] = (char)tolower((unsigned char)class[i]);
        }
        rewriting_remove(&function, "value");
        rewriting_put(rewriting, &function, "function", rewriting_make_text(rewriting, inner, "%s", name));
    }
    rewriting_object(rewriting, &function, "args");
    rewriting_put(rewriting, rewriting_find(&function, "args"), "variable0", variable);
    rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "functions"), id, function);
}

static void add_port(const struct mechanism *mechanism, const struct mdf_node *place, const char *id)
{
    struct mdf_node port = rewriting_make_object(place);

    rewriting_put(mechanism->rewriting, &port, "value", rewriting_make_text(mechanism->rewriting, place, "numpy.ravel(%s)", id));
    rewriting_put(mechanism->rewriting, rewriting_object(mechanism->rewriting, mechanism->node, "output_ports"), id, port);
}

/* The intensity of the run before: at first that of the variable that the function was made with, on which the package tries it.
 */
static void keep_intensity(const struct mechanism *mechanism, struct mdf_node *metadata, const char *id, struct mdf_node variable)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *parameters = rewriting_object(rewriting, mechanism->node, "parameters");
    struct mdf_node before = rewriting_make_object(metadata), count = rewriting_make_object(metadata);
    struct mdf_node initial = rewriting_copy(rewriting, &variable); /* not looked at: it has the shape */

    add_function(mechanism, metadata, "transfer_fct", rewriting_print(rewriting, "%s_at_first", id), variable);
    rewriting_put(rewriting, &before, "value", rewriting_make_text(rewriting, metadata, "%s", id));
    rewriting_put(rewriting, &before, "default_initial_value", initial);
    rewriting_put(rewriting, parameters, rewriting_print(rewriting, "%s_before", id), before);
    rewriting_put(rewriting, &count, "value", rewriting_make_text(rewriting, metadata, "%s_runs + 1", id));
    rewriting_put(rewriting, &count, "default_initial_value", rewriting_make_int(metadata, 0));
    rewriting_put(rewriting, parameters, rewriting_print(rewriting, "%s_runs", id), count);
}

bool psyneulink_tell_costs(const struct mechanism *mechanism, const char *id)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *function = rewriting_find(rewriting_find(mechanism->node, "functions"), id), own = *function;
    struct mdf_node *metadata = rewriting_find(&own, "metadata");
    const char *enabled = rewriting_text(rewriting_find(metadata, "enabled_cost_functions"));
    const char *all = "";
    const struct mdf_node *variable = rewriting_find_path(&own, "args.variable0"),
                          *made_with = rewriting_find_path(&own, "args.variable");

    if (metadata == NULL || variable == NULL || rewriting_text(rewriting_find(&own, "function")) == NULL) {
        return false;
    }
    rewriting_remove(rewriting_find(mechanism->node, "functions"), id);
    add_function(mechanism, metadata, "transfer_fct", id, *variable);
    for (size_t i = 0; i < N_COSTS; i++) {
        const char *name = rewriting_print(rewriting, "%s_%s", id, costs[i].name);
        struct mdf_node of = rewriting_make_text(rewriting, metadata, "%s", id);

        if (!is_enabled(enabled, costs[i].option)) {
            continue;
        }
        if (costs[i].is_of_change) {
            keep_intensity(mechanism, metadata, id, made_with != NULL ? *made_with : rewriting_make_real(metadata, 0));
            of = rewriting_make_text(rewriting, metadata, "numpy.abs(%s - numpy.where(%s_runs > 0, %s_before, %s_at_first))", id,
                                     id, id, id);
        }
        add_function(mechanism, metadata, costs[i].function, name, of);
        add_port(mechanism, metadata, name);
        all = rewriting_print(rewriting, "%s%snumpy.ravel(%s)", all, *all != '\0' ? ", " : "", name);
    }
    if (*all != '\0') {
        const char *name = rewriting_print(rewriting, "%s_combined_costs", id);

        add_function(mechanism, metadata, "combine_costs_fct", name,
                     rewriting_make_text(rewriting, metadata, "numpy.array([%s])", all));
        add_port(mechanism, metadata, name);
    }
    return true;
}
