/* psyneulink_mechanisms.c - what a mechanism does beyond its function. Sources: psyneulink.core.components.mechanisms and
 * psyneulink.library.components.mechanisms, version 0.21. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include <math.h>
#include <string.h>

static bool is_true(const struct mdf_node *node)
{
    return node != NULL && node->kind == MDF_NODE_BOOL && node->as.truth;
}

static struct mdf_node *find_function(const struct mechanism *mechanism, const char *id)
{
    return id != NULL ? rewriting_find(rewriting_find(mechanism->node, "functions"), id) : NULL;
}

static void add_function(const struct mechanism *mechanism, const char *id, const char *expression)
{
    struct mdf_node *functions = rewriting_object(mechanism->rewriting, mechanism->node, "functions");

    if (functions != NULL) {
        rewriting_put(mechanism->rewriting, functions, id, mechanism_expression(mechanism, mechanism->node, expression));
    }
}

/* A parameter that keeps its value over runs. `resets`: it begins anew in each trial. */
static void add_state(const struct mechanism *mechanism, const char *id, const char *expression, struct mdf_node initial,
                      bool resets)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node parameter = mechanism_expression(mechanism, mechanism->node, expression);

    rewriting_put(rewriting, &parameter, "default_initial_value", initial);
    if (resets) {
        rewriting_put(rewriting, &parameter, "reset",
                      rewriting_make_text(rewriting, mechanism->node, "environment_state_update"));
    }
    rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "parameters"), id, parameter);
}

/* ------------------------------------------------------------------ clipping */

/* A pair of numbers: "clip". */
static bool find_clip(const struct mechanism *mechanism, double *least, double *most)
{
    struct mdf_node *clip = rewriting_find_path(mechanism->node, "parameters.clip.value"), items[2];

    clip = clip != NULL ? clip : rewriting_find_path(mechanism->node, "metadata.clip");
    if (clip != NULL) {
        clip->is_spent = true;
    }
    return clip != NULL && mdf_node_length(clip) == 2 && mdf_node_item(clip, 0, &items[0]) && mdf_node_item(clip, 1, &items[1]) &&
           rewriting_number(&items[0], least) && rewriting_number(&items[1], most);
}

static void clip_value(const struct mechanism *mechanism, const char *value)
{
    char least_text[MDF_NUMBER_TEXT_SIZE], most_text[MDF_NUMBER_TEXT_SIZE];
    const char *inner = rewriting_print(mechanism->rewriting, "%s_unclipped", value);
    double least, most;

    if (!find_clip(mechanism, &least, &most)) {
        return;
    }
    mdf_format_float64(least, least_text);
    mdf_format_float64(most, most_text);
    mechanism_wrap(mechanism, value, inner,
                   mechanism_expression(mechanism, mechanism->node,
                                        rewriting_print(mechanism->rewriting, "numpy.minimum(numpy.maximum(%s, %s), %s)", inner,
                                                        least_text, most_text)));
}

/* ------------------------------------------------------------------ noise */

/* A transfer mechanism that does not integrate adds its noise to what its function gets; the exporter has it with the integrator
 * that is not used. One with a parameter of that name says itself what becomes of it. */
static void add_noise(const struct mechanism *mechanism, const char *value)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *mode = rewriting_find_path(mechanism->node, "metadata.integrator_mode"),
                    *noise = rewriting_find_path(mechanism->node, "metadata.integrator_function.args.noise"),
                    *variable = rewriting_find_path(find_function(mechanism, value), "args.variable0"), parameter;
    const char *drawn = rewriting_print(rewriting, "%s_noise", value);

    noise = noise != NULL ? noise : rewriting_find_path(mechanism->node, "metadata.integrator_function.metadata.noise");
    if (mode == NULL || mode->kind != MDF_NODE_BOOL || mode->as.truth || noise == NULL || rewriting_is_number(noise, 0) ||
        rewriting_text(variable) == NULL || rewriting_find_path(mechanism->node, "parameters.noise") != NULL) {
        return;
    }
    if (noise->kind == MDF_NODE_OBJECT) {
        if (!psyneulink_state_formula(mechanism, noise)) {
            rewriting_refuse(rewriting, noise, "the noise of node '%s' is no distribution that is known", mechanism->id);
            return;
        }
        *variable = rewriting_make_text(rewriting, variable, "%s + %s", rewriting_text(variable), drawn);
        rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "functions"), drawn, *noise);
        return;
    }
    parameter = rewriting_make_object(noise);
    rewriting_put(rewriting, &parameter, "value", rewriting_make_reals(rewriting, noise));
    *variable = rewriting_make_text(rewriting, variable, "%s + noise", rewriting_text(variable));
    rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "parameters"), "noise", parameter);
}

/* ------------------------------------------------------------------ drift diffusion */

/* A uniform number, by the mechanism's own seed. */
static void draw_decision(const struct mechanism *mechanism, const char *id)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *functions = rewriting_object(rewriting, mechanism->node, "functions"), function, arguments;

    function = mechanism_expression(mechanism, mechanism->node, "psyneulink.draw_uniform(generator, seed, 0.0)");
    arguments = rewriting_make_object(mechanism->node);
    if (rewriting_find_path(mechanism->node, "parameters.seed") != NULL) {
        rewriting_put(rewriting, &arguments, "seed", rewriting_make_text(rewriting, mechanism->node, "seed"));
    }
    psyneulink_give_generator(mechanism, &arguments, mechanism->node);
    rewriting_put(rewriting, &function, "args", arguments);
    rewriting_put(rewriting, functions, id, function);
}

/* What its analytical solution gives (mean response time, error rate, moments), and what the mechanism makes of it: first the
 * decision, drawn by the error rate. */
static void yield_decision(const struct mechanism *mechanism, const char *value)
{
    struct rewriting *rewriting = mechanism->rewriting;
    const char *inner = rewriting_print(rewriting, "%s_solution", value);
    const char *draw = rewriting_print(rewriting, "%s_draw", value), *odds = rewriting_print(rewriting, "%s_odds", value);
    struct mdf_node function = mechanism_expression(
        mechanism, mechanism->node,
        rewriting_print(
            rewriting,
            "[threshold if %s >= %s else -threshold, %s[0], 1 - %s[1], %s[1], %s[2], %s[3], %s[4], %s[5], %s[6], %s[7]]", draw,
            odds, inner, inner, inner, inner, inner, inner, inner, inner, inner));
    const struct mdf_node *threshold = rewriting_find_path(find_function(mechanism, value), "args.threshold");
    struct mdf_node arguments = rewriting_make_object(mechanism->node);

    rewriting_put(rewriting, &arguments, "threshold", threshold != NULL ? *threshold : rewriting_make_real(mechanism->node, 1));
    rewriting_put(rewriting, &function, "args", arguments);
    draw_decision(mechanism, draw);
    add_function(mechanism, odds, rewriting_print(rewriting, "%s[1]", inner));
    mechanism_wrap(mechanism, value, inner, function);
}

/* ------------------------------------------------------------------ buffers */

/* Output ports of a buffer give its first item. */
static void yield_oldest(const struct mechanism *mechanism, const char *value)
{
    struct mdf_node *ports = rewriting_find(mechanism->node, "output_ports");
    const char *first = rewriting_print(mechanism->rewriting, "%s[0]", value);

    for (size_t i = 0; i < rewriting_n_entries(ports); i++) {
        struct mdf_node *port = &ports->as.object.entries[i].value;

        if (rewriting_is(rewriting_find(port, "value"), value)) {
            rewriting_put(mechanism->rewriting, port, "value", rewriting_make_text(mechanism->rewriting, port, "%s", first));
        }
    }
}

/* ------------------------------------------------------------------ k winners */

/* The whole number that "k_value" is for `n` values: a part of them where it is below 1 (halves to the even side, as Python
 * rounds). False: it is none, or more than there are. */
static bool find_winners(const struct mechanism *mechanism, size_t n, size_t *k)
{
    struct mdf_node *given = rewriting_find_path(mechanism->node, "parameters.k_value.value");
    double value;

    if (given == NULL || !rewriting_number(given, &value) || !(value >= 0 && value <= (double)n)) {
        return false;
    }
    given->is_spent = true;
    *k = (size_t)(value > 0 && value < 1 ? nearbyint(value * (double)n) : value);
    return true;
}

/* The offset by which `k` of the values pass the threshold, from the distances to it in their order. */
static const char *offset_of_winners(const struct mechanism *mechanism, size_t k, size_t n)
{
    struct rewriting *rewriting = mechanism->rewriting;

    if (is_true(rewriting_find_path(mechanism->node, "metadata.average_based"))) {
        return rewriting_print(rewriting, "numpy.mean(distances[%zu:]) * ratio + numpy.mean(distances[:%zu]) * (1 - ratio)", k,
                               k);
    }
    if (k == 0 || k == n) {
        return rewriting_print(rewriting, "distances[%zu]", k == 0 ? 0 : k - 1);
    }
    return rewriting_print(rewriting, "distances[%zu] * ratio + distances[%zu] * (1 - ratio)", k, k - 1);
}

/* A KWTAMechanism shifts what its function gets so that k of the values pass the threshold; it adds no noise, and does not
 * integrate. */
static void shift_to_winners(const struct mechanism *mechanism, const char *value)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *variable = rewriting_find_path(find_function(mechanism, value), "args.variable0"),
                    *of_all = rewriting_find_path(mechanism->node, "metadata.variable");
    const char *shifted = rewriting_print(rewriting, "%s_shifted", value),
               *distances = rewriting_print(rewriting, "%s_distances", value);
    const char *offset;
    size_t n = of_all != NULL ? rewriting_n_elements(of_all) : 0, k;

    if (rewriting_text(variable) == NULL || !find_winners(mechanism, n, &k) ||
        is_true(rewriting_find_path(mechanism->node, "metadata.integrator_mode"))) {
        rewriting_refuse(
            rewriting, mechanism->node,
            "node '%s' is a KWTAMechanism whose k_value is no number from 0 to its size, or that integrates: that is "
            "not covered",
            mechanism->id);
        return;
    }
    add_function(mechanism, distances,
                 rewriting_print(rewriting, "numpy.sort(threshold - numpy.ravel(%s))", rewriting_text(variable)));
    offset = rewriting_replace(rewriting, offset_of_winners(mechanism, k, n), "distances", distances);
    if (is_true(rewriting_find_path(mechanism->node, "metadata.inhibition_only"))) {
        offset = rewriting_print(rewriting, "numpy.minimum(%s, 0.0)", offset);
    }
    add_function(mechanism, shifted, rewriting_print(rewriting, "%s + (%s)", rewriting_text(variable), offset));
    variable = rewriting_find_path(find_function(mechanism, value), "args.variable0"); /* functions have moved */
    if (variable != NULL) {
        *variable = rewriting_make_text(rewriting, variable, "%s", shifted);
    }
}

/* ------------------------------------------------------------------ timers */

/* A timer adds up until it comes to the duration of its trajectory, which makes its value of what it has; then it stays. */
static void run_timer(const struct mechanism *mechanism, const char *value)
{
    struct rewriting *rewriting = mechanism->rewriting;
    const char *advanced = rewriting_print(rewriting, "%s_advanced", value), *now = rewriting_print(rewriting, "%s_now", value);
    struct mdf_node *trajectory = rewriting_find_path(mechanism->node, "metadata.trajectory"), function, *arguments, *kept,
                    *duration;
    bool resets = rewriting_find_path(mechanism->node, "parameters.previous_value.reset") != NULL;

    duration = rewriting_find_path(trajectory, "args.duration");
    if (trajectory == NULL || duration == NULL ||
        rewriting_find_path(mechanism->node, "parameters.previous_value.value") == NULL) {
        rewriting_refuse(rewriting, mechanism->node, "node '%s' is a timer without a trajectory, or without previous_value",
                         mechanism->id);
        return;
    }
    function = *trajectory;
    arguments = rewriting_object(rewriting, &function, "args");
    rewriting_put(rewriting, arguments, "variable0", rewriting_make_text(rewriting, trajectory, "%s", now));
    rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "parameters"), "duration_of_trajectory",
                  mechanism_expression(mechanism, mechanism->node, ""));
    rewriting_put(rewriting, rewriting_find_path(mechanism->node, "parameters.duration_of_trajectory"), "value", *duration);
    mechanism_wrap(mechanism, value, advanced, function);
    add_function(mechanism, now, rewriting_print(rewriting, "numpy.where(finished > 0.5, previous_value, %s)", advanced));
    kept = rewriting_find_path(mechanism->node, "parameters.previous_value.value");
    *kept = rewriting_make_text(rewriting, kept, "%s", now);
    add_state(mechanism, "finished",
              rewriting_print(rewriting,
                              "numpy.where(numpy.all(numpy.abs(%s - duration_of_trajectory) <= 1e-8 + 1e-5 * "
                              "numpy.abs(duration_of_trajectory)), 1.0, finished)",
                              now),
              rewriting_make_real(mechanism->node, 0), resets);
}

/* ------------------------------------------------------------------ until it is finished */

/* How often it may run in one run of its node; 1 where it does not run until it is finished. */
static int64_t most_runs(const struct mechanism *mechanism)
{
    const struct mdf_node *until = rewriting_find_path(mechanism->node, "metadata.execute_until_finished"),
                          *most = rewriting_find_path(mechanism->node, "metadata.max_executions_before_finished");

    if (until != NULL && until->kind == MDF_NODE_BOOL && !until->as.truth) {
        return 1;
    }
    return most != NULL && most->kind == MDF_NODE_INT && most->as.integer > 0 ? most->as.integer : 1000;
}

/* Runs of the mechanism until "is_finished" holds are one of its node, where it does not run step by step. */
static void run_until_finished(const struct mechanism *mechanism)
{
    const struct mdf_node *until = rewriting_find_path(mechanism->node, "metadata.execute_until_finished");
    int64_t n = most_runs(mechanism);

    if (strcmp(mechanism_class(mechanism), "DDM") == 0) {
        n = INT64_MAX; /* which it sets itself: the exporter writes that of other mechanisms */
    }
    if (until == NULL || until->kind != MDF_NODE_BOOL || until->as.truth) {
        rewriting_put(mechanism->rewriting, mechanism->node, "repeat_until_finished", rewriting_make_int(mechanism->node, n));
    }
}

/* A walk that has come to its threshold. It begins anew in each trial, unless the metadata say that it never does. */
static void finish_walk(const struct mechanism *mechanism, const char *value)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *threshold = rewriting_find_path(find_function(mechanism, value), "args.threshold"), *parameters, reset;
    bool goes_on = rewriting_is(rewriting_find_path(mechanism->node, "metadata.reset_stateful_function_when"), "Never");

    reset = rewriting_make_text(rewriting, mechanism->node, "environment_state_update");
    parameters = rewriting_find(mechanism->node, "parameters");
    for (size_t i = 0; i < rewriting_n_entries(parameters) && !goes_on; i++) {
        struct mdf_node *parameter = &parameters->as.object.entries[i].value;

        if (rewriting_find(parameter, "default_initial_value") != NULL) {
            rewriting_put(rewriting, parameter, "reset", reset);
        }
    }
    if (rewriting_text(threshold) != NULL) { /* what modulates it */
        add_function(mechanism, "finishing_threshold", rewriting_text(threshold));
    } else if (!rewriting_number(threshold, &(double){0})) {
        return;
    } else {
        rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "parameters"), "finishing_threshold",
                      mechanism_expression(mechanism, mechanism->node, ""));
        rewriting_put(rewriting, rewriting_find_path(mechanism->node, "parameters.finishing_threshold"), "value", *threshold);
    }
    add_function(mechanism, "is_finished", rewriting_print(rewriting, "numpy.max(numpy.abs(%s)) >= finishing_threshold", value));
    run_until_finished(mechanism);
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

/* Whether a text is base64 of bytes that have the word in them: a function that the exporter has no name for is written so, as
 * Python's pickle of it. */
static bool holds_in_base64(const char *text, const char *word)
{
    size_t length = strlen(word), matched = 0;
    unsigned bits = 0, n_bits = 0;

    for (; *text != '\0' && *text != '='; text++) {
        if (digit_of(*text) < 0) {
            if (*text == '\n') {
                continue;
            }
            return false;
        }
        bits = (bits << 6 | (unsigned)digit_of(*text)) & 0xffffff;
        n_bits += 6;
        if (n_bits >= 8) {
            char byte = (char)(bits >> (n_bits -= 8) & 0xff);

            matched = byte == word[matched] ? matched + 1 : byte == word[0];
            if (matched == length) {
                return true;
            }
        }
    }
    return false;
}

/* A measure of a mechanism's value, as an expression of it. */
struct measure {
    const char *metric, *expression;
};

/* How often it has run in this pass, of which it runs in one set: it begins to count anew where it was finished. */
static const char *measure_runs_in_pass(const struct mechanism *mechanism)
{
    struct rewriting *rewriting = mechanism->rewriting;

    add_function(mechanism, "runs_in_pass", "numpy.where(was_finished > 0.5, 1, num_executions + 1)");
    add_state(mechanism, "num_executions", "runs_in_pass", rewriting_make_int(mechanism->node, 0), false);
    add_state(
        mechanism, "was_finished",
        rewriting_print(rewriting,
                        "numpy.where(numpy.logical_or(numpy.any(runs_in_pass >= termination_threshold), runs_in_pass >= %lld), "
                        "1.0, 0.0)",
                        (long long)most_runs(mechanism)),
        rewriting_make_real(mechanism->node, 1), false);
    return "runs_in_pass";
}

/* How often it has run, by a time scale; NULL: there is no count of that one. */
static const char *measure_runs(const struct mechanism *mechanism, const char *scale)
{
    static const char *const of_pass[] = {"PASS", "CONSIDERATION_SET_EXECUTION", "TIME_STEP"};
    bool resets = strcmp(scale, "ENVIRONMENT_STATE_UPDATE") == 0 || strcmp(scale, "TRIAL") == 0;

    for (size_t i = 0; i < sizeof of_pass / sizeof *of_pass; i++) {
        if (strcmp(scale, of_pass[i]) == 0) {
            return measure_runs_in_pass(mechanism);
        }
    }
    if (!resets && strcmp(scale, "LIFE") != 0 && strcmp(scale, "ENVIRONMENT_SEQUENCE") != 0 && strcmp(scale, "RUN") != 0) {
        return NULL;
    }
    add_state(mechanism, "num_executions", "num_executions + 1", rewriting_make_int(mechanism->node, 0), resets);
    return "num_executions + 1";
}

/* A function of the value, by its name, or as a pickle of it; NULL: it is not known. */
static const char *measure_value(const struct mechanism *mechanism, const char *name, const char *value)
{
    static const struct measure of_pickles[] = {
        {"max_vs_next", "numpy.sort(numpy.ravel(value))[-1] - numpy.sort(numpy.ravel(value))[-2]"},
        {"max_vs_avg", "numpy.sort(numpy.ravel(value))[-1] - numpy.mean(numpy.sort(numpy.ravel(value))[:-1])"}};
    static const char *const of_one[] = {"max", "min", "sum", "mean", "median", "amax", "amin"};

    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++) {
        if (strcmp(name, of_one[i]) == 0) {
            return rewriting_print(mechanism->rewriting, "numpy.%s(%s)", name, value);
        }
    }
    for (size_t i = 0; i < sizeof of_pickles / sizeof *of_pickles; i++) {
        if (holds_in_base64(name, of_pickles[i].metric)) {
            return rewriting_replace(mechanism->rewriting, of_pickles[i].expression, "value", value);
        }
    }
    return NULL;
}

/* A Distance of the value to the one before, which is kept for it. */
static const char *measure_distance(const struct mechanism *mechanism, struct mdf_node *measure, const char *value)
{
    static const struct measure distances[] = {
        {"max_abs_diff", "numpy.max(numpy.abs(value - value_before))"},
        {"difference", "numpy.sum(numpy.abs(value - value_before))"},
        {"euclidean", "numpy.sqrt(numpy.sum((value - value_before) * (value - value_before)))"}};
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *outputs = rewriting_find(mechanism->node, "output_ports"), function = *measure, arguments, *initial;

    initial = rewriting_find_path(&outputs->as.object.entries[0].value, "metadata.variable");
    add_state(mechanism, "value_before", value, initial != NULL ? *initial : rewriting_make_real(mechanism->node, 0), false);
    for (size_t i = 0; i < sizeof distances / sizeof *distances && !is_true(rewriting_find_path(measure, "metadata.normalize"));
         i++) {
        if (rewriting_is(rewriting_find_path(measure, "metadata.metric"), distances[i].metric)) {
            return rewriting_replace(rewriting, distances[i].expression, "value", value);
        }
    }
    arguments = rewriting_make_object(measure);
    rewriting_put(rewriting, &arguments, "variable0",
                  rewriting_make_text(rewriting, measure, "numpy.array([numpy.ravel(%s), numpy.ravel(value_before)])", value));
    rewriting_put(rewriting, &function, "args", arguments);
    rewriting_put(rewriting, rewriting_object(rewriting, mechanism->node, "functions"), "termination_measure", function);
    return "termination_measure";
}

/* What is compared with the threshold, as an expression; NULL: it is not known. A number of runs is compared by >=, whatever the
 * exporter writes. */
static const char *measure_of(const struct mechanism *mechanism, const char *value, const char **comparison)
{
    static const char scale[] = "TimeScale.";
    struct mdf_node *measure = rewriting_find_path(mechanism->node, "metadata.termination_measure");
    const char *name = rewriting_text(measure);

    if (name != NULL && strncmp(name, scale, sizeof scale - 1) == 0) {
        *comparison = ">=";
        return measure_runs(mechanism, name + sizeof scale - 1);
    }
    if (name != NULL) {
        return measure_value(mechanism, name, value);
    }
    return rewriting_is(rewriting_find(measure, "function"), "distance") ? measure_distance(mechanism, measure, value) : NULL;
}

/* A transfer mechanism that integrates until a measure of its value compares with a threshold. */
static void finish_transfer(const struct mechanism *mechanism, const char *value)
{
    struct mdf_node *threshold = rewriting_find_path(mechanism->node, "parameters.termination_threshold.value");
    const char *comparison = rewriting_text(rewriting_find_path(mechanism->node, "metadata.termination_comparison_op")), *measure;

    if (threshold == NULL || comparison == NULL || !is_true(rewriting_find_path(mechanism->node, "metadata.integrator_mode"))) {
        return;
    }
    measure = measure_of(mechanism, value, &comparison);
    if (measure == NULL) {
        rewriting_refuse(
            mechanism->rewriting, mechanism->node,
            "the termination measure of node '%s' is not known; use a Distance, max, min, sum, mean, or a time scale",
            mechanism->id);
        return;
    }
    add_function(mechanism, "is_finished",
                 rewriting_print(mechanism->rewriting, "numpy.any((%s) %s termination_threshold)", measure, comparison));
    run_until_finished(mechanism);
}

void psyneulink_complete_mechanism(const struct mechanism *mechanism)
{
    const char *value = mechanism_value(mechanism);
    const struct mdf_node *class;

    if (value == NULL) {
        return;
    }
    class = rewriting_find_path(find_function(mechanism, value), "metadata.type");
    if (strcmp(mechanism_class(mechanism), "DDM") == 0 && rewriting_is(class, "DriftDiffusionAnalytical")) {
        yield_decision(mechanism, value);
    } else if (strcmp(mechanism_class(mechanism), "DDM") == 0) {
        finish_walk(mechanism, value);
    } else if (rewriting_is(class, "Buffer")) {
        yield_oldest(mechanism, value);
    } else if (strcmp(mechanism_class(mechanism), "KWTAMechanism") == 0) {
        shift_to_winners(mechanism, value);
        clip_value(mechanism, value);
    } else if (strcmp(mechanism_class(mechanism), "TimerMechanism") == 0) {
        run_timer(mechanism, value);
    } else {
        add_noise(mechanism, value);
        clip_value(mechanism, value);
        finish_transfer(mechanism, value);
    }
}

/* ------------------------------------------------------------------ parameters */

static bool mentions_part(const struct mechanism *mechanism, const char *expression)
{
    static const char *const parts[] = {"input_ports", "functions", "parameters"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct mdf_node *own = rewriting_find(mechanism->node, parts[i]);

        for (size_t j = 0; j < rewriting_n_entries(own); j++) {
            if (rewriting_mentions(mechanism->rewriting, expression, own->as.object.entries[j].key)) {
                return true;
            }
        }
    }
    return false;
}

/* Computed in each run, from other values of the node, and not from its own of the run before. */
static bool is_computed(const struct mechanism *mechanism, const struct mdf_node_entry *entry)
{
    struct mdf_node value = entry->value;
    const char *expression = rewriting_text(value.kind == MDF_NODE_OBJECT ? rewriting_find(&value, "value") : &value);

    if (rewriting_find(&value, "default_initial_value") != NULL || rewriting_find(&value, "time_derivative") != NULL ||
        rewriting_find(&value, "conditions") != NULL) {
        return false;
    }
    return rewriting_find(&value, "function") != NULL ||
           (expression != NULL && !rewriting_mentions(mechanism->rewriting, expression, entry->key) &&
            mentions_part(mechanism, expression));
}

void psyneulink_order_parameters(const struct mechanism *mechanism)
{
    struct mdf_node *parameters = rewriting_find(mechanism->node, "parameters");
    size_t i = 0;

    while (i < rewriting_n_entries(parameters)) {
        struct mdf_node_entry entry = parameters->as.object.entries[i];

        if (!is_computed(mechanism, &entry)) {
            i++;
            continue;
        }
        rewriting_remove(parameters, entry.key);
        rewriting_put(mechanism->rewriting, rewriting_object(mechanism->rewriting, mechanism->node, "functions"), entry.key,
                      entry.value.kind == MDF_NODE_OBJECT
                          ? entry.value
                          : mechanism_expression(mechanism, &entry.value, rewriting_text(&entry.value)));
        parameters = rewriting_find(mechanism->node, "parameters");
    }
}

/* ------------------------------------------------------------------ output ports */

/* The value of a port has the shape that the port has. */
static void shape_value(const struct mechanism *mechanism, struct mdf_node *port)
{
    const struct mdf_node *shape = rewriting_find(port, "shape");
    const char *value = rewriting_text(rewriting_find(port, "value")), *sizes = "";
    struct mdf_node item;
    size_t i;

    for (i = 0; shape != NULL && mdf_node_item(shape, i, &item); i++) {
        if (item.kind != MDF_NODE_INT) {
            return;
        }
        sizes = rewriting_print(mechanism->rewriting, "%s%s%lld", sizes, i > 0 ? ", " : "", (long long)item.as.integer);
    }
    if (value != NULL && i > 0) {
        rewriting_put(mechanism->rewriting, port, "value",
                      rewriting_make_text(mechanism->rewriting, port, "numpy.reshape(%s, [%s])", value, sizes));
    }
}

/* What integrators begin with is a real number: the exporter writes 0 for 0.0. */
static void make_states_real(const struct mechanism *mechanism)
{
    struct mdf_node *parameters = rewriting_find(mechanism->node, "parameters");

    for (size_t i = 0; *mechanism_class(mechanism) != '\0' && i < rewriting_n_entries(parameters); i++) {
        struct mdf_node *initial = rewriting_find(&parameters->as.object.entries[i].value, "default_initial_value");

        if (initial != NULL) {
            *initial = rewriting_make_reals(mechanism->rewriting, initial);
        }
    }
}

void psyneulink_give_defaults(const struct mechanism *mechanism)
{
    struct mdf_node *ports = rewriting_find(mechanism->node, "output_ports");

    make_states_real(mechanism);
    for (size_t i = 0; i < rewriting_n_entries(ports); i++) {
        struct mdf_node *port = &ports->as.object.entries[i].value, *value = rewriting_find_path(port, "metadata.default");

        value = value != NULL ? value : rewriting_find_path(port, "metadata.variable");
        shape_value(mechanism, port);
        if (value != NULL && (value->kind >= MDF_NODE_LIST || value->kind == MDF_NODE_INT || value->kind == MDF_NODE_REAL)) {
            rewriting_put(mechanism->rewriting, port, "default_initial_value", rewriting_make_reals(mechanism->rewriting, value));
        }
    }
}
