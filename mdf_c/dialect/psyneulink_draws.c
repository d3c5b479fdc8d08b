/* psyneulink_draws.c - random numbers: each function that draws has a generator of its own, seeded by its argument `seed`;
 * without one (the exporter writes -1) it is that of numpy.random, of the seed of the evaluation. `random_state` in its metadata
 * says how far the generator has come before the model begins: {"seed": SEED, "drawn": words of 32 bits, "normal": a deviate that
 * is left}. Sources: psyneulink.core.components.functions, version 0.21. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include <math.h>
#include <string.h>

static double number_of(const struct mdf_node *node, double otherwise)
{
    double number;

    return rewriting_number(node, &number) ? number : otherwise;
}

/* The row of numbers by which functions/psyneulink/draws.c knows a generator. */
static struct mdf_node make_generator(const struct mechanism *mechanism, struct mdf_node *drawing)
{
    struct mdf_node *state = rewriting_find_path(drawing, "metadata.random_state"), row;
    double *elements;

    row = rewriting_make_matrix(mechanism->rewriting, drawing, 0, 4, &elements);
    if (elements != NULL) {
        elements[0] = (double)mechanism->rewriting->n_streams++;
        elements[1] = number_of(rewriting_find(state, "seed"), -1);
        elements[2] = number_of(rewriting_find(state, "drawn"), 0);
        elements[3] = number_of(rewriting_find(state, "normal"), NAN);
    }
    return row;
}

void psyneulink_give_generator(const struct mechanism *mechanism, struct mdf_node *arguments, struct mdf_node *drawing)
{
    struct rewriting *rewriting = mechanism->rewriting;
    const struct mdf_node *seed = rewriting_find(arguments, "seed"),
                          *variable = rewriting_find_path(drawing, "metadata.variable");
    double *element;

    if (seed == NULL) {
        rewriting_put(rewriting, arguments, "seed", rewriting_make_int(drawing, -1));
    }
    /* as the function of a mechanism it draws one number, as noise one for each element */
    if (rewriting_find(arguments, "variable0") == NULL && variable != NULL) {
        rewriting_put(rewriting, arguments, "like", *variable);
    } else if (rewriting_find(arguments, "like") == NULL) {
        rewriting_put(rewriting, arguments, "like", rewriting_make_matrix(rewriting, drawing, 0, 1, &element));
    }
    rewriting_put(rewriting, arguments, "generator", make_generator(mechanism, drawing));
}

struct mdf_node psyneulink_draw_normal(const struct mechanism *mechanism, struct mdf_node *drawing, struct mdf_node like)
{
    struct mdf_node function = mechanism_expression(mechanism, drawing, "psyneulink.draw_normal(generator, seed, like)");
    struct mdf_node arguments = rewriting_make_object(drawing), *seed = rewriting_find_path(drawing, "args.seed");

    rewriting_put(mechanism->rewriting, &arguments, "seed", seed != NULL ? *seed : rewriting_make_int(drawing, -1));
    rewriting_put(mechanism->rewriting, &arguments, "like", like);
    rewriting_put(mechanism->rewriting, &arguments, "generator", make_generator(mechanism, drawing));
    rewriting_put(mechanism->rewriting, &function, "args", arguments);
    return function;
}

/* What has a deviate for each of its elements: the variable; the tangent plane, of an axis less than the sphere; one number. */
static struct mdf_node like_deviates(struct rewriting *rewriting, struct mdf_node *function)
{
    const char *name = rewriting_text(rewriting_find(function, "function"));
    const struct mdf_node *variable = rewriting_find_path(function, "args.variable0");
    double *elements, n_axes = number_of(rewriting_find_path(function, "args.dimension"), 3);

    if (strcmp(name, "driftonasphereintegrator") == 0 && n_axes >= 2 && n_axes < 1e6) {
        return rewriting_make_matrix(rewriting, function, 0, (size_t)n_axes - 1, &elements);
    }
    return strcmp(name, "driftdiffusionintegrator") == 0 && variable != NULL ? *variable : rewriting_make_real(function, 0);
}

/* Its deviates are an argument: as a function of the node. */
static void draw_diffusion(const struct mechanism *mechanism, const char *id)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions"), *function = rewriting_find(functions, id);
    const char *draw = rewriting_print(rewriting, "%s_random_draw", id);
    struct mdf_node *arguments = rewriting_object(rewriting, function, "args"), drawn;

    if (arguments != NULL && rewriting_find(arguments, "random_draw") == NULL) {
        drawn = psyneulink_draw_normal(mechanism, function, like_deviates(rewriting, function));
        rewriting_put(rewriting, arguments, "random_draw", rewriting_make_text(rewriting, function, "%s", draw));
        rewriting_put(rewriting, functions, draw, drawn);
    }
}

/* The element that is drawn by probabilities, or 1 in its place, and 0 elsewhere; where all are 0, the values themselves. */
static void choose_element(const struct mechanism *mechanism, struct mdf_node *function, const struct mdf_node *mode,
                           const char *values, const char *probabilities)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *arguments = rewriting_object(rewriting, function, "args");
    const char *chosen = rewriting_print(rewriting, "psyneulink.draw_choice(generator, seed, %s)", probabilities);

    if (arguments == NULL) {
        return;
    }
    psyneulink_give_generator(mechanism, arguments, function);
    rewriting_remove(function, "function");
    rewriting_put(rewriting, function, "value",
                  rewriting_is(mode, "PROB") ? rewriting_make_text(rewriting, function, "%s * %s", values, chosen)
                                             : rewriting_make_text(rewriting, function, "numpy.where(numpy.any(%s), %s, %s)",
                                                                   probabilities, chosen, values));
}

static bool draws_element(const struct mdf_node *mode)
{
    return rewriting_is(mode, "PROB") || rewriting_is(mode, "PROB_INDICATOR");
}

/* One element of the variable, by the probabilities that softmax gives. */
static void choose_by_softmax(const struct mechanism *mechanism, const char *id)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node *functions = rewriting_find(mechanism->node, "functions"), *soft = rewriting_find(functions, id), chosen;
    const struct mdf_node *variable = rewriting_find_path(soft, "metadata.variable"),
                          *value = rewriting_find_path(soft, "args.variable0");
    const char *inner = rewriting_print(rewriting, "%s_probabilities", id);
    struct mdf_node mode = *rewriting_find_path(soft, "metadata.output"), own;

    if (variable != NULL && variable->kind == MDF_NODE_NUMBERS && variable->as.numbers.rank > 1 &&
        variable->as.numbers.shape[0] > 1) {
        rewriting_refuse(rewriting, soft, "an element of each of several items is drawn in node '%s': give each a node",
                         mechanism->id);
        return;
    }
    chosen = rewriting_make_object(soft);
    own = rewriting_make_object(soft);
    if (value != NULL) {
        rewriting_put(rewriting, &own, "variable0", *value);
    }
    if (rewriting_find_path(soft, "args.seed") != NULL) {
        rewriting_put(rewriting, &own, "seed", *rewriting_find_path(soft, "args.seed"));
        rewriting_remove(rewriting_find(soft, "args"), "seed");
    }
    rewriting_put(rewriting, &chosen, "args", own);
    rewriting_put(rewriting, &chosen, "metadata", *rewriting_find(soft, "metadata"));
    choose_element(mechanism, &chosen, &mode, "variable0", inner);
    rewriting_remove(rewriting_find(soft, "metadata"), "output");
    mechanism_wrap(mechanism, id, inner, chosen);
}

void psyneulink_state_draws(const struct mechanism *mechanism)
{
    for (size_t i = 0; i < rewriting_n_entries(rewriting_find(mechanism->node, "functions")); i++) {
        struct mdf_node_entry *entry = &rewriting_find(mechanism->node, "functions")->as.object.entries[i];
        const struct mdf_node *mode = rewriting_find_path(&entry->value, "metadata.mode");
        const char *name = rewriting_text(rewriting_find(&entry->value, "function"));

        if (name == NULL) {
            continue;
        }
        if (strcmp(name, "ornsteinuhlenbeckintegrator") == 0 || strcmp(name, "driftdiffusionintegrator") == 0 ||
            strcmp(name, "driftonasphereintegrator") == 0) {
            draw_diffusion(mechanism, entry->key);
        } else if (strcmp(name, "onehot") == 0 && draws_element(mode)) {
            choose_element(mechanism, &entry->value, mode, "variable0[0]", "variable0[1]");
        } else if (strcmp(name, "softmax") == 0 && draws_element(rewriting_find_path(&entry->value, "metadata.output"))) {
            choose_by_softmax(mechanism, entry->key);
        }
    }
}
