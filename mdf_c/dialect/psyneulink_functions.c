/* psyneulink_functions.c - PsyNeuLink's functions whose formulas MDF does not have under the name that the exporter writes, and
 * those that it writes otherwise than it computes them. Sources: psyneulink.core.components.functions, version 0.21. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include <stdio.h>
#include <string.h>

/* A class whose value is an expression of its arguments. */
struct formula {
    const char *class;
    const char *expression;
    const char *arguments; /* "NAME VALUE ...": what they are where the file does not say */
    /* Those that MDF's own function of that name does not have, in the same form: it does where they are as here. NULL: there is
     * none. */
    const char *beyond;
};

static const struct formula formulas[] = {
    {"Linear", "scale * (variable0 * slope + intercept) + offset", "slope 1 intercept 0 scale 1 offset 0", "scale 1 offset 0"},
    {"Logistic", "scale * (1.0 / (1.0 + numpy.exp(-gain * (variable0 + bias - x_0)))) + offset",
     "gain 1 bias 0 x_0 0 scale 1 offset 0", "scale 1 offset 0 x_0 0"},
    {"Tanh", "scale * numpy.tanh(gain * (variable0 + bias - x_0) + offset)", "gain 1 bias 0 x_0 0 scale 1 offset 0",
     "scale 1 offset 0 x_0 0 gain 1 bias 0"},
    {"Buffer", /* the items of its history, the oldest first */
     "numpy.concatenate((previous_value * rate + noise, numpy.reshape(variable0, (1, -1))))[-history:]",
     "rate 1 noise 0 history 1000000", NULL},
    /* what is drawn: functions/psyneulink/draws.c */
    {"NormalDist", "mean + scale * psyneulink.draw_normal(generator, seed, like)", "mean 0 scale 1", NULL},
    {"UniformDist", "low + (high - low) * psyneulink.draw_uniform(generator, seed, like)", "low 0 high 1", NULL},
    {"ExponentialDist", "beta * psyneulink.draw_exponential(generator, seed, like)", "beta 1", NULL},
    {"GammaDist", "scale * psyneulink.draw_gamma(generator, seed, like, dist_shape)", "scale 1 dist_shape 1", NULL},
    {"WaldDist", "psyneulink.draw_wald(generator, seed, like, mean, scale)", "mean 1 scale 1", NULL},
    {"UniformToNormalDist", "psyneulink.draw_inverted(generator, seed, like) * standard_deviation + mean",
     "mean 0 standard_deviation 1", NULL},
    {"GaussianDistort", "scale * (variable0 + bias + variance * psyneulink.draw_normal(generator, seed, variable0)) + offset",
     "bias 0 variance 1 scale 1 offset 0", NULL},
    {"BinomialDistort", /* one for the item, whose elements share it */
     "variable0 * psyneulink.draw_binomial(generator, seed, like, 1 - p)", "p 0.05", NULL},
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
    if (rewriting_mentions(rewriting, formula->expression, "generator")) {
        psyneulink_give_generator(mechanism, arguments, function);
    }
    rewriting_remove(function, "function");
    rewriting_put(rewriting, function, "value", rewriting_make_text(rewriting, function, "%s", formula->expression));
}

bool psyneulink_state_formula(const struct mechanism *mechanism, struct mdf_node *function)
{
    const struct mdf_node *class = rewriting_find_path(function, "metadata.type");

    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (rewriting_is(class, formulas[i].class) && rewriting_text(rewriting_find(function, "function")) != NULL) {
            state_formula(mechanism, &formulas[i], function);
            return true;
        }
    }
    return false;
}

/* The functions that keep a walk within its threshold have the default one in the file, and Python's max and min, which are
 * numpy's here: of arrays that is what they mean. */
static void correct_threshold(const struct mechanism *mechanism, struct mdf_node *functions, const struct mdf_node *threshold)
{
    for (size_t i = 0; i < rewriting_n_entries(functions); i++) {
        struct mdf_node_entry *entry = &functions->as.object.entries[i];
        struct mdf_node *arguments = rewriting_find(&entry->value, "args");

        if ((mdf_ends_with(entry->key, "_lower_clipped") || mdf_ends_with(entry->key, "_value_result")) &&
            rewriting_find(arguments, "threshold") != NULL) {
            struct mdf_node *value = rewriting_find(&entry->value, "value");

            rewriting_put(mechanism->rewriting, arguments, "threshold", *threshold);
            if (rewriting_text(value) != NULL) {
                *value = rewriting_make_text(
                    mechanism->rewriting, value, "%s",
                    rewriting_replace(mechanism->rewriting,
                                      rewriting_replace(mechanism->rewriting, value->as.string.bytes, "max", "numpy.maximum"),
                                      "min", "numpy.minimum"));
            }
        }
    }
}

/* A deviate is drawn for each element of the variable; the exporter has one for all. Numbers that are drawn to be multiplied by 0
 * are not drawn. */
static void correct_draws(const struct mechanism *mechanism, struct mdf_node *functions, struct mdf_node *walk)
{
    bool is_still = rewriting_is_number(rewriting_find_path(walk, "args.noise"), 0);
    const struct mdf_node *variable = rewriting_find_path(walk, "metadata.variable");

    for (size_t i = 0; i < rewriting_n_entries(functions); i++) {
        struct mdf_node_entry *entry = &functions->as.object.entries[i];

        if (mdf_ends_with(entry->key, "_random_draw")) {
            entry->value = is_still ? mechanism_expression(mechanism, &entry->value, "0.0")
                                    : psyneulink_draw_normal(
                                          mechanism, walk, variable != NULL ? *variable : rewriting_make_real(&entry->value, 0));
        }
    }
}

/* "WALK[0]" and "WALK[1]", as ports, parameters and functions that read it have them, by names of their own. */
static void name_parts(const struct mechanism *mechanism, const char *collection, const char *walk, const char *const names[2])
{
    struct mdf_node *own = rewriting_find(mechanism->node, collection);

    for (size_t i = 0; i < rewriting_n_entries(own); i++) {
        for (size_t k = 0; k < 2; k++) {
            struct mdf_node *value = rewriting_find(&own->as.object.entries[i].value, "value");
            const char *part = rewriting_print(mechanism->rewriting, "%s[%zu]", walk, k), *at;

            for (at = NULL; rewriting_text(value) != NULL && (at = strstr(rewriting_text(value), part)) != NULL;) {
                const char *text = rewriting_text(value);

                *value = rewriting_make_text(mechanism->rewriting, value, "%.*s%s%s", (int)(at - text), text, names[k],
                                             at + strlen(part));
            }
        }
    }
}

/* A walk begins in the shape that it goes on in, that of its variable, of which the exporter leaves axes out. */
static void begin_like(const struct mechanism *mechanism, const struct mdf_node *variable)
{
    struct mdf_node *initial = rewriting_find_path(mechanism->node, "parameters.previous_value.default_initial_value");

    if (initial == NULL || variable == NULL || initial->kind != MDF_NODE_NUMBERS || variable->kind != MDF_NODE_NUMBERS) {
        return;
    }
    if (rewriting_n_elements(initial) == rewriting_n_elements(variable)) {
        initial->as.numbers.rank = variable->as.numbers.rank;
        initial->as.numbers.shape = variable->as.numbers.shape;
    }
}

/* "VALUE, previous_time": the exporter lets no time pass. The two are functions of their own instead of the pair. */
static void let_time_pass(const struct mechanism *mechanism, const char *walk, const char *value)
{
    static const char *const arguments[2] = {"threshold", "time_step_size"};
    struct rewriting *rewriting = mechanism->rewriting;
    const char *const names[2] = {rewriting_print(rewriting, "%s_place", walk), rewriting_print(rewriting, "%s_time", walk)};
    const char *const values[2] = {rewriting_print(rewriting, "%.*s", (int)(strlen(value) - strlen(", previous_time")), value),
                                   "previous_time + time_step_size"};
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions"), pair = *rewriting_find(functions, walk);

    for (size_t i = 0; i < 2; i++) {
        struct mdf_node function = mechanism_expression(mechanism, &pair, values[i]), own = rewriting_make_object(&pair);
        struct mdf_node *argument = rewriting_find(rewriting_find(&pair, "args"), arguments[i]);

        if (argument != NULL) {
            rewriting_put(rewriting, &own, arguments[i], *argument);
        }
        rewriting_put(rewriting, &function, "args", own);
        rewriting_put(rewriting, functions, names[i], function);
    }
    begin_like(mechanism, rewriting_find_path(&pair, "metadata.variable"));
    name_parts(mechanism, "output_ports", walk, names);
    name_parts(mechanism, "parameters", walk, names);
    rewriting_remove(functions, walk);
    name_parts(mechanism, "functions", walk, names);
}

/* What the exporter makes of an integrator of drift and diffusion. */
static void correct_walk(const struct mechanism *mechanism, const char *walk)
{
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions"), *function = rewriting_find(functions, walk);
    const struct mdf_node *threshold = rewriting_find_path(function, "args.threshold");
    const char *value = rewriting_text(rewriting_find(function, "value"));

    if (threshold != NULL) {
        correct_threshold(mechanism, functions, threshold);
    }
    correct_draws(mechanism, functions, function);
    if (value != NULL && rewriting_find_path(function, "args.time_step_size") != NULL &&
        mdf_ends_with(value, ", previous_time")) {
        let_time_pass(mechanism, walk, value);
    }
}

/* ------------------------------------------------------------------ sums of projections */

/* "[a, b]" of names as "function(a)separatorfunction(b)"; NULL: it is something else. */
static const char *join_list(struct rewriting *rewriting, const char *list, const char *separator, const char *function)
{
    const char *joined = "";
    size_t length;

    if (list == NULL || *list != '[') {
        return NULL;
    }
    for (list++; *list != ']'; list += length) {
        list += strspn(list, ", ");
        length = strcspn(list, ",] ");
        if (length == 0 || length != strspn(list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")) {
            return NULL;
        }
        joined =
            rewriting_print(rewriting, "%s%s%s(%.*s)", joined, *joined != '\0' ? separator : "", function, (int)length, list);
    }
    return list[1] == '\0' && *joined != '\0' ? joined : NULL;
}

/* "[a, b]" of names as "(a) + (b)". */
static const char *sum_of_list(struct rewriting *rewriting, const char *list)
{
    return join_list(rewriting, list, " + ", "");
}

/* What several projections bring to one port: the exporter makes a list of them, sums that along its first axis, and takes the
 * one item. */
static void sum_projections(const struct mechanism *mechanism, struct mdf_node *functions, struct mdf_node *function)
{
    struct rewriting *rewriting = mechanism->rewriting;
    const char *sum = rewriting_text(rewriting_find_path(function, "args.variable0")), *data, *expression;
    struct mdf_node *reduction = sum != NULL ? rewriting_find(functions, sum) : NULL, *parameters;

    if (!rewriting_is(rewriting_find(function, "value"), "variable0[0]") ||
        !rewriting_is(rewriting_find(reduction, "function"), "onnx::ReduceSum") ||
        !rewriting_is_number(rewriting_find_path(reduction, "args.axes"), 0)) {
        return;
    }
    data = rewriting_text(rewriting_find_path(reduction, "args.data"));
    parameters = rewriting_find(mechanism->node, "parameters");
    expression =
        data != NULL ? sum_of_list(rewriting, rewriting_text(rewriting_find(rewriting_find(parameters, data), "value"))) : NULL;
    if (expression == NULL) {
        return;
    }
    *function = mechanism_expression(mechanism, function, expression);
    rewriting_remove(parameters, data);
    rewriting_remove(functions, sum);
}

/* A recurrent mechanism with a port of its own for what it projects to itself adds that to what comes from outside; the exporter
 * has "numpy.array([a, b])" in the place of the sum. */
static void combine_recurrence(const struct mechanism *mechanism, struct mdf_node *function)
{
    static const char before[] = "numpy.array(";
    struct mdf_node *argument = rewriting_find_path(function, "args.variable0"),
                    *own = rewriting_find(mechanism->node, "metadata");
    const struct mdf_node *has_port = rewriting_find(own, "has_recurrent_input_port");
    const char *text = rewriting_text(argument), *sum;

    if (has_port == NULL || has_port->kind != MDF_NODE_BOOL || !has_port->as.truth || text == NULL ||
        strncmp(text, before, sizeof before - 1) != 0 ||
        !rewriting_is(rewriting_find_path(own, "combination_function.metadata.operation"), "sum")) {
        return;
    }
    text += sizeof before - 1;
    sum = sum_of_list(mechanism->rewriting, rewriting_print(mechanism->rewriting, "%.*s", (int)strlen(text) - 1, text));
    if (sum != NULL) {
        *argument = rewriting_make_text(mechanism->rewriting, argument, "%s", sum);
    }
}

/* Items whose means are combined may differ in length, of which there is no array: there is one of their means. */
static void average_items(const struct mechanism *mechanism, struct mdf_node *function)
{
    static const char before[] = "numpy.array(";
    struct mdf_node *argument = rewriting_find_path(function, "args.variable0");
    const char *text = rewriting_text(argument), *means;

    if (text == NULL || !rewriting_is(rewriting_find(function, "function"), "combinemeans") ||
        strncmp(text, before, sizeof before - 1) != 0) {
        return;
    }
    text += sizeof before - 1;
    means = join_list(mechanism->rewriting, rewriting_print(mechanism->rewriting, "%.*s", (int)strlen(text) - 1, text), ", ",
                      "numpy.mean");
    if (means != NULL) {
        *argument = rewriting_make_text(mechanism->rewriting, argument, "numpy.array([%s])", means);
    }
}

static void sum_all_projections(const struct mechanism *mechanism)
{
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions");
    size_t i = 0, n;

    while (i < rewriting_n_entries(functions)) {
        n = rewriting_n_entries(functions);
        sum_projections(mechanism, functions, &functions->as.object.entries[i].value);
        i = rewriting_n_entries(functions) < n ? 0 : i + 1;
    }
}

/* ------------------------------------------------------------------ what the exporter's expressions leave out */

/* Names of an expression that are arrays, which the exporter has in the metadata, become arguments. */
static void take_arrays(const struct mechanism *mechanism, struct mdf_node *function)
{
    struct rewriting *rewriting = mechanism->rewriting;
    const char *value = rewriting_text(rewriting_find(function, "value"));
    struct mdf_node *metadata = rewriting_find(function, "metadata"), *parameters = rewriting_find(mechanism->node, "parameters"),
                    *arguments = value != NULL && metadata != NULL ? rewriting_object(rewriting, function, "args") : NULL;

    for (size_t i = 0; arguments != NULL && i < rewriting_n_entries(metadata); i++) {
        const struct mdf_node_entry *entry = &metadata->as.object.entries[i];

        if (entry->value.kind == MDF_NODE_NUMBERS && rewriting_find(arguments, entry->key) == NULL &&
            rewriting_find(parameters, entry->key) == NULL && rewriting_mentions(rewriting, value, entry->key)) {
            rewriting_put(rewriting, arguments, entry->key, entry->value);
        }
    }
}

/* The expression of a leaky, competing integrator has no offset, which is an argument beside it. */
static void add_offset(const struct mechanism *mechanism, struct mdf_node *function)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *value = rewriting_find(function, "value");
    const struct mdf_node *offset = rewriting_find_path(function, "args.offset");
    const struct mdf_node *array = rewriting_find_path(function, "metadata.offset");

    if (rewriting_text(value) != NULL && (offset != NULL || array != NULL) && !rewriting_is_number(offset, 0) &&
        !rewriting_mentions(rewriting, rewriting_text(value), "offset")) {
        *value = rewriting_make_text(rewriting, value, "%s + offset", rewriting_text(value));
    }
}

/* SoftMax.adapt_gain: a gain that is "adaptive" follows from the entropy of what comes in. */
static void adapt_gain(const struct mechanism *mechanism, struct mdf_node *function)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *arguments = rewriting_find(function, "args");
    const struct mdf_node *variable = rewriting_find_path(function, "metadata.variable");
    const char *input = rewriting_text(rewriting_find(arguments, "variable0"));
    size_t n_items = variable != NULL && variable->kind == MDF_NODE_NUMBERS && variable->as.numbers.rank > 0
                         ? (size_t)variable->as.numbers.shape[0]
                         : 1;

    if (!rewriting_is(rewriting_find_path(function, "metadata.gain"), "adaptive") || input == NULL) {
        return;
    }
    rewriting_remove(rewriting_find(function, "metadata"), "gain");
    rewriting_put(rewriting, arguments, "gain",
                  rewriting_make_text(rewriting, function,
                                      "adapt_scale * (adapt_base + math.log(%zu) * adapt_entropy_weighting * "
                                      "numpy.log(numpy.sum(numpy.log(1 + numpy.exp(-%s)) / (1 + numpy.exp(-%s)))))",
                                      n_items, input, input));
}

/* "numpy.array([PORT, PORT])" has an axis of one element for each port that an integrator's initial values do not have: it gets
 * its variable in the shape that it was made with. */
static void put_together(const struct mechanism *mechanism, struct mdf_node *function)
{
    static const char begins[] = "numpy.array([";
    struct mdf_node *variable = rewriting_find_path(function, "args.variable0");
    const struct mdf_node *made_with = rewriting_find_path(function, "metadata.variable");
    const char *text = rewriting_text(variable);

    if (text == NULL || strncmp(text, begins, sizeof begins - 1) != 0 ||
        rewriting_find_path(function, "metadata.initializer") == NULL || made_with == NULL ||
        made_with->kind != MDF_NODE_NUMBERS || made_with->as.numbers.rank != 2) {
        return;
    }
    *variable = rewriting_make_text(mechanism->rewriting, variable, "numpy.reshape(%s, (%lld, %lld))", text,
                                    (long long)made_with->as.numbers.shape[0], (long long)made_with->as.numbers.shape[1]);
}

void psyneulink_state_formulas(const struct mechanism *mechanism)
{
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions");

    sum_all_projections(mechanism);
    for (size_t i = 0; i < rewriting_n_entries(functions); i++) {
        struct mdf_node *function = &functions->as.object.entries[i].value;
        const struct mdf_node *class = rewriting_find_path(function, "metadata.type");

        combine_recurrence(mechanism, function);
        put_together(mechanism, function);
        average_items(mechanism, function);
        if (rewriting_is(class, "LeakyCompetingIntegrator")) {
            add_offset(mechanism, function);
        } else if (rewriting_is(class, "SoftMax")) {
            adapt_gain(mechanism, function);
        }
        take_arrays(mechanism, function);
        psyneulink_state_formula(mechanism, function);
        if (rewriting_is(class, "TransferWithCosts")) {
            i -= psyneulink_tell_costs(mechanism, functions->as.object.entries[i].key) ? 1 : 0; /* another one stands there now */
            functions = rewriting_find(mechanism->node, "functions");
            continue;
        }
        if (rewriting_is(class, "DriftDiffusionIntegrator")) {
            correct_walk(mechanism, functions->as.object.entries[i].key);
            functions = rewriting_find(mechanism->node, "functions");
        }
    }
    psyneulink_state_draws(mechanism);
}
