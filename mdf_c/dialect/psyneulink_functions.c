/* psyneulink_functions.c - PsyNeuLink's functions whose formulas MDF does not have under the name that the exporter writes, and those
 * that it writes otherwise than it computes them. Sources: psyneulink.core.components.functions, version 0.21. */
#include "mdf_c/dialect/psyneulink.h"

#include <stdio.h>
#include <string.h>

/* A class whose value is an expression of its arguments. */
struct formula {
    const char *class;
    const char *expression;
    const char *arguments; /* "NAME VALUE ...": what they are where the file does not say */
    /* Those that MDF's own function of that name does not have, in the same form: it does where they are as here. NULL: there is none. */
    const char *beyond;
};

static const struct formula formulas[] = {
    {"Linear", "scale * (variable0 * slope + intercept) + offset", "slope 1 intercept 0 scale 1 offset 0", "scale 1 offset 0"},
    {"Logistic", "scale * (1.0 / (1.0 + numpy.exp(-gain * (variable0 + bias - x_0)))) + offset", "gain 1 bias 0 x_0 0 scale 1 offset 0",
     "scale 1 offset 0 x_0 0"},
    {"Tanh", "scale * numpy.tanh(gain * (variable0 + bias - x_0) + offset)", "gain 1 bias 0 x_0 0 scale 1 offset 0",
     "scale 1 offset 0 x_0 0 gain 1 bias 0"},
    {"Buffer", /* the items of its history, the oldest first */
     "numpy.concatenate((previous_value * rate + noise, numpy.reshape(variable0, (1, -1))))[-history:]",
     "rate 1 noise 0 history 1000000", NULL},
    {"TransferWithCosts", "variable0", "", NULL},
};

/* Goes through "NAME VALUE ...". */
static bool next_pair(const char **pairs, char name[32], double *value)
{
    int length = 0;

    if (sscanf(*pairs, "%31s %lf%n", name, value, &length) != 2) {
        return false;
    }
    *pairs += length;
    return true;
}

static bool is_as_in(struct mdf_node *arguments, const char *pairs)
{
    char name[32];
    double value;

    while (next_pair(&pairs, name, &value)) {
        const struct mdf_node *argument = rewriting_find(arguments, name);

        if (argument != NULL && !rewriting_is_number(argument, value)) {
            return false;
        }
    }
    return true;
}

static void state_formula(const struct mechanism *mechanism, const struct formula *formula, struct mdf_node *function)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *arguments = rewriting_object(rewriting, function, "args");
    const char *pairs = formula->arguments;
    char name[32];
    double value;

    if (arguments == NULL || (formula->beyond != NULL && is_as_in(arguments, formula->beyond))) {
        return;
    }
    while (next_pair(&pairs, name, &value)) {
        if (rewriting_find(arguments, name) == NULL) {
            rewriting_put(rewriting, arguments, rewriting_print(rewriting, "%s", name), rewriting_make_real(function, value));
        }
    }
    rewriting_remove(function, "function");
    rewriting_put(rewriting, function, "value", rewriting_make_text(rewriting, function, "%s", formula->expression));
}

/* The exporter puts the default threshold where the walk is kept within its own, and time never advances. */
static void correct_walk(const struct mechanism *mechanism, struct mdf_node *functions, const char *walk)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *function = rewriting_find(functions, walk), *threshold = rewriting_find_path(function, "args.threshold");
    const char *value = rewriting_text(rewriting_find(function, "value"));
    size_t i;

    for (i = 0; threshold != NULL && value != NULL && i < rewriting_n_entries(functions); i++) {
        struct mdf_node_entry *entry = &functions->as.object.entries[i];
        struct mdf_node *arguments = rewriting_find(&entry->value, "args");

        if ((mdf_ends_with(entry->key, "_lower_clipped") || mdf_ends_with(entry->key, "_value_result")) &&
            rewriting_find(arguments, "threshold") != NULL) {
            rewriting_put(rewriting, arguments, "threshold", *threshold);
        }
    }
    if (value != NULL && rewriting_find_path(function, "args.time_step_size") != NULL && mdf_ends_with(value, ", previous_time")) {
        rewriting_put(rewriting, function, "value", rewriting_make_text(rewriting, function, "%s + time_step_size", value));
    }
}

void psyneulink_state_formulas(const struct mechanism *mechanism)
{
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions");
    size_t i, j;

    for (i = 0; i < rewriting_n_entries(functions); i++) {
        struct mdf_node *function = &functions->as.object.entries[i].value;
        const struct mdf_node *class = rewriting_find_path(function, "metadata.type");

        for (j = 0; j < sizeof formulas / sizeof *formulas; j++) {
            if (rewriting_is(class, formulas[j].class) && rewriting_text(rewriting_find(function, "function")) != NULL) {
                state_formula(mechanism, &formulas[j], function);
            }
        }
        if (rewriting_is(class, "DriftDiffusionIntegrator")) {
            correct_walk(mechanism, functions, functions->as.object.entries[i].key);
        }
    }
}
