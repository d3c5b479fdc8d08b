/* node_events.c - events in a node's metadata, as parameters: see node_builder.h and docs/time.md, Events.
 *
 * An event ID is that the value of an expression crosses zero. ID counts it, ID_time is when it came last. Where a solver locates
 * what conditions do, both are states without a slope that a condition changes. Where a step is all that there is, the expression
 * is looked at behind each, as it is before conditions act, and as it was behind the step before, when they had; the time is that
 * of the straight line between. */
#include "mdf_c/plan/node_builder.h"

#include <string.h>

static const struct mdf_node *events_of(const struct mdf_graph_node *node)
{
    const struct mdf_node *metadata = mdf_node_get(node->source, "metadata"),
                          *events = metadata != NULL ? mdf_node_get(metadata, "events") : NULL;

    return events != NULL && events->kind == MDF_NODE_OBJECT && events->as.object.n > 0 ? events : NULL;
}

/* ------------------------------------------------------------------ parameters */

/* The node, to which parameters are added. */
struct adding {
    struct compiler *compiler;
    struct mdf_graph_node *node;
    const struct mdf_node *at; /* the event in the file */
    const char *id;
    const char *level; /* the expression, so that it rises */
    const char *clock;
    bool failed;
};

static const struct mdf_node *text(struct adding *adding, const char *bytes)
{
    struct mdf_node *node = mdf_arena_allocate(&adding->compiler->scratch, sizeof *node);

    if (node == NULL || bytes == NULL) {
        adding->failed = true;
        return NULL;
    }
    *node = (struct mdf_node){.kind = MDF_NODE_STRING, .is_given = adding->at->is_given, .line = adding->at->line, .column = adding->at->column};
    node->as.string.bytes = bytes;
    node->as.string.length = strlen(bytes);
    return node;
}

/* An expression in which $ID stands for the event, $LEVEL for its expression, $CLOCK for the clock. */
static const struct mdf_node *fill_in(struct adding *adding, const char *pattern)
{
    static const char *const names[] = {"$ID", "$LEVEL", "$CLOCK"};
    const char *const values[] = {adding->id, adding->level, adding->clock};
    const char *result = "";

    while (*pattern != '\0' && result != NULL) {
        size_t n = strcspn(pattern, "$"), which = 0;

        result = mdf_arena_printf(&adding->compiler->scratch, "%s%.*s", result, (int)n, pattern);
        pattern += n;
        if (*pattern == '\0' || result == NULL) {
            break;
        }
        while (strncmp(pattern, names[which], strlen(names[which])) != 0) {
            which++;
        }
        result = mdf_arena_printf(&adding->compiler->scratch, "%s%s", result, values[which]);
        pattern += strlen(names[which]);
    }
    return text(adding, result);
}

static const char *name_of(struct adding *adding, const char *suffix)
{
    const char *name = mdf_arena_printf(&adding->compiler->scratch, "%s%s", adding->id, suffix);

    adding->failed = adding->failed || name == NULL;
    return name;
}

/* A parameter of that name; its fields are set by the caller. NULL: the node has one, or memory ran out. */
static struct mdf_parameter *add(struct adding *adding, const char *name)
{
    const struct mdf_graph_node *node = adding->node;
    struct mdf_parameter *parameter = &adding->node->parameters[node->n_parameters];

    if (name == NULL || adding->failed) {
        adding->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (strcmp(node->parameters[i].definition.id, name) == 0) {
            compile_error(adding->compiler, MDF_MODEL, "the event '%s' makes a parameter '%s', but the node has one of that name",
                          adding->id, name);
            return NULL;
        }
    }
    *parameter =
        (struct mdf_parameter){.definition = {.id = name, .source = adding->at}, .declaration.type.dtype = MDF_DTYPE_NONE};
    adding->node->n_parameters++;
    return parameter;
}

static bool add_integral(struct adding *adding, const char *name, const char *initial, const char *slope)
{
    struct mdf_parameter *parameter = add(adding, name);

    if (parameter == NULL) {
        return false;
    }
    parameter->default_initial_value = fill_in(adding, initial);
    parameter->time_derivative = fill_in(adding, slope);
    return !adding->failed;
}

static bool add_kept(struct adding *adding, const char *name, const char *initial, const char *value)
{
    struct mdf_parameter *parameter = add(adding, name);

    if (parameter == NULL) {
        return false;
    }
    parameter->default_initial_value = fill_in(adding, initial);
    parameter->definition.value = fill_in(adding, value);
    return !adding->failed;
}

/* A state that changes to a value when the event comes. */
static bool add_located(struct adding *adding, const char *name, const char *initial, const char *value)
{
    struct mdf_parameter_condition *condition = mdf_arena_allocate(&adding->compiler->scratch, sizeof *condition);

    if (condition == NULL || !add_integral(adding, name, initial, "0.0")) {
        adding->failed = adding->failed || condition == NULL;
        return false;
    }
    *condition = (struct mdf_parameter_condition){
        .id = adding->id, .source = adding->at, .test = fill_in(adding, "$LEVEL >= 0.0"), .value = fill_in(adding, value)};
    adding->node->parameters[adding->node->n_parameters - 1].conditions = condition;
    adding->node->parameters[adding->node->n_parameters - 1].n_conditions = 1;
    return !adding->failed;
}

static bool add_level(struct adding *adding)
{
    struct mdf_parameter *parameter = add(adding, name_of(adding, "_level"));

    if (parameter == NULL) {
        return false;
    }
    parameter->definition.source = parameter->definition.value = text(adding, adding->level); /* see node_is_level */
    return !adding->failed;
}

#define ZEROS "numpy.where($LEVEL >= 0.0, 0.0, 0.0)"
#define NEVER "numpy.where($LEVEL >= 0.0, -1.0, -1.0)"
/* In the step; or as conditions acted behind it. */
#define IF_CROSSED(in_step, behind, otherwise)                                             \
    "numpy.where($ID_level < 0.0, numpy.where($LEVEL >= 0.0, " behind ", " otherwise "), " \
    "numpy.where($ID_before < 0.0, " in_step ", " otherwise "))"

static bool add_event(struct adding *adding, bool is_located)
{
    const char *time = name_of(adding, "_time");

    return is_located
               ? add_located(adding, adding->id, ZEROS, "$ID + 1.0") && add_located(adding, time, NEVER, "$CLOCK")
               : add_level(adding) &&
                     add_kept(adding, time, NEVER,
                              IF_CROSSED("$CLOCK_before + ($CLOCK - $CLOCK_before) * ($ID_before / numpy.where($ID_before == "
                                         "$ID_level, 1.0, $ID_before - $ID_level))",
                                         "$CLOCK", "$ID_time")) &&
                     add_kept(adding, adding->id, ZEROS, "$ID + " IF_CROSSED("1.0", "1.0", "0.0")) &&
                     add_kept(adding, name_of(adding, "_before"), "$LEVEL", "$LEVEL");
}

static bool add_events(struct adding *adding, const struct mdf_node *events)
{
    bool is_located = node_leaves_conditions_to_solver(adding->compiler), done = true;

    adding->at = events;
    adding->id = events->as.object.entries[0].key;
    adding->clock = name_of(adding, "_clock");
    done = add_integral(adding, adding->clock, "0.0", "1.0");
    for (size_t i = 0; done && i < events->as.object.n; i++) {
        const struct mdf_node *event = &events->as.object.entries[i].value, *direction = mdf_node_get(event, "direction");
        bool falls = direction != NULL && strcmp(direction->as.string.bytes, "falling") == 0;

        adding->at = mdf_node_get(event, "crosses");
        adding->id = events->as.object.entries[i].key;
        adding->level = mdf_arena_printf(&adding->compiler->scratch, falls ? "(-(%s))" : "(%s)", adding->at->as.string.bytes);
        done = adding->level != NULL && add_event(adding, is_located);
    }
    return done && (is_located || add_kept(adding, mdf_arena_printf(&adding->compiler->scratch, "%s_before", adding->clock),
                                           "0.0", adding->clock));
}

const struct mdf_graph_node *node_expand_events(struct compiler *compiler, const struct mdf_graph_node *source)
{
    const struct mdf_node *events = events_of(source);
    struct mdf_graph_node *node = events != NULL ? copy_node(compiler, source, 2 + 4 * events->as.object.n) : NULL;
    struct adding adding = {.compiler = compiler, .node = node};

    if (events == NULL) {
        return source;
    }
    if (node == NULL || !add_events(&adding, events)) {
        if (adding.failed) {
            compile_out_of_memory(compiler);
        }
        return NULL;
    }
    return copy_is_named(compiler, node) ? node : NULL;
}

bool node_item_is_added(const struct node_builder *builder, const struct item *item)
{
    size_t n_own = builder->graph->graph->nodes[builder->index].n_parameters;

    return item->parameter != NULL && (size_t)(item->parameter - builder->node->parameters) >= n_own;
}

bool node_is_level(const struct node_builder *builder, const struct item *item)
{
    return node_item_is_added(builder, item) && item->definition->source == item->definition->value;
}
