/* condition_arguments.c - the arguments of a condition: where a model writes them, and what each kind of argument may be. See
 * conditions.h. */
#include "mdf_c/dialect/dialect.h"
#include "mdf_c/plan/conditions/conditions.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ messages */

bool condition_fault(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *at,
                     const char *format, ...)
{
    struct place place = place_at(builder->compiler, at != NULL ? at : call->source);
    char message[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    compile_error(builder->compiler, MDF_MODEL, "%s: %s", call->row->name, message);
    place_leave(builder->compiler, place);
    return false;
}

/* "NAME is no ...; did you mean 'GUESS'?" */
bool condition_unknown(struct condition_builder *builder, const struct mdf_node *at, const char *text, const char *guess)
{
    struct place place = place_at(builder->compiler, at);

    compile_error(builder->compiler, MDF_NAME, "%s", text);
    mdf_error_suggest(builder->compiler->error, guess);
    place_leave(builder->compiler, place);
    return false;
}

/* ------------------------------------------------------------------ what is given */

static bool add_given(struct condition_builder *builder, struct list *given, const char *name, const struct mdf_node *value)
{
    const struct given_argument argument = {name, value};

    return value->kind == MDF_NODE_NULL || list_add(builder->compiler, given, &argument, sizeof argument);
}

static bool add_entries(struct condition_builder *builder, struct list *given, const struct mdf_node *object)
{
    for (size_t i = 0; i < object->as.object.n; i++) {
        if (!add_given(builder, given, object->as.object.entries[i].key, &object->as.object.entries[i].value)) {
            return false;
        }
    }
    return true;
}

/* Arguments without names: of All and Any their parts; else in the order of the formals, where a list of nodes takes all. */
static bool add_positional(struct condition_builder *builder, const struct condition_row *row, struct list *given,
                           const struct mdf_node *list)
{
    const struct formal *formals = row->formals;

    if (formals == NULL || strcmp(formals[0].name, "dependencies") == 0 || strcmp(formals[0].name, "nodes") == 0) {
        return add_given(builder, given, formals != NULL ? formals[0].name : "args", list);
    }
    for (size_t i = 0; i < mdf_node_length(list); i++) {
        struct mdf_node *item = mdf_arena_allocate(&builder->compiler->scratch, sizeof *item);

        if (item == NULL) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
        mdf_node_item(list, i, item);
        if (!add_given(builder, given, formals->name != NULL ? formals->name : "", item)) {
            return false;
        }
        formals += formals->name != NULL;
    }
    return true;
}

static bool is_field(const char *key)
{
    static const char *const fields[] = {"type", "kwargs", "args", "id", "metadata", "notes"};

    return MDF_FIND_WORD(key, fields) != SIZE_MAX;
}

/* The arguments of a condition: in "kwargs", in "args" (as PsyNeuLink and early versions of MDF write them), or beside "type". */
bool condition_collect(struct condition_builder *builder, const struct condition_row *row, const struct mdf_node *source,
                       struct list *given)
{
    const struct mdf_node *kwargs = mdf_node_get(source, "kwargs"), *args = mdf_node_get(source, "args");

    if (kwargs != NULL && kwargs->kind != MDF_NODE_NULL) {
        if (kwargs->kind != MDF_NODE_OBJECT) {
            return condition_unknown(builder, kwargs, "the 'kwargs' of a condition are an object {name: value}", NULL);
        }
        if (!add_entries(builder, given, kwargs)) {
            return false;
        }
    }
    if (args != NULL && args->kind != MDF_NODE_NULL) {
        if (args->kind != MDF_NODE_OBJECT && args->kind != MDF_NODE_LIST && args->kind != MDF_NODE_NUMBERS) {
            return condition_unknown(builder, args, "the 'args' of a condition are an object {name: value}, or a list", NULL);
        }
        if (!(args->kind == MDF_NODE_OBJECT ? add_entries(builder, given, args) : add_positional(builder, row, given, args))) {
            return false;
        }
    }
    for (size_t i = 0; i < source->as.object.n; i++) {
        const struct mdf_node_entry *entry = &source->as.object.entries[i];

        if (!is_field(entry->key) && !add_given(builder, given, entry->key, &entry->value)) {
            return false;
        }
    }
    return true;
}

/* The formal that a name stands for; SIZE_MAX: none. "dependency" and "dependencies" mean the same, as do "node" and "nodes". */
static size_t find_formal(const struct formal *formals, const char *name)
{
    static const char *const pairs[][2] = {{"dependency", "dependencies"}, {"node", "nodes"}};

    for (size_t i = 0; formals[i].name != NULL; i++) {
        if (strcmp(formals[i].name, name) == 0) {
            return i;
        }
        for (size_t j = 0; j < 2; j++) {
            if ((strcmp(formals[i].name, pairs[j][0]) == 0 && strcmp(name, pairs[j][1]) == 0) ||
                (strcmp(formals[i].name, pairs[j][1]) == 0 && strcmp(name, pairs[j][0]) == 0)) {
                return i;
            }
        }
    }
    return SIZE_MAX;
}

static bool unknown_argument(struct condition_builder *builder, const struct condition_call *call,
                             const struct given_argument *given)
{
    const struct formal *formals = call->row->formals;
    struct mdf_nearest nearest;
    char message[300];
    size_t n;

    if (given->name[0] == '\0') {
        return condition_fault(builder, call, given->value, "more arguments than the condition has");
    }
    mdf_nearest_begin(&nearest, given->name);
    for (size_t i = 0; formals[i].name != NULL; i++) {
        mdf_nearest_offer(&nearest, formals[i].name);
    }
    if (mdf_nearest_result(&nearest) == NULL && given->value->kind == MDF_NODE_OBJECT) { /* "kwarg": {...} */
        mdf_nearest_offer(&nearest, "kwargs");
        mdf_nearest_offer(&nearest, "args");
    }
    n = (size_t)snprintf(message, sizeof message, "%s: the condition has no argument '%.80s'", call->row->name, given->name);
    for (size_t i = 0; mdf_nearest_result(&nearest) == NULL && formals[i].name != NULL && n < sizeof message; i++) {
        n += (size_t)snprintf(message + n, sizeof message - n, "%s%s", i == 0 ? "; its arguments are: " : ", ", formals[i].name);
    }
    return condition_unknown(builder, given->value, message, mdf_nearest_result(&nearest));
}

/* Brings what is given to the formals. Of "dependency" and "dependencies", should both be there, the second is taken. */
bool condition_match(struct condition_builder *builder, struct condition_call *call, const struct list *given)
{
    const struct formal *formals = call->row->formals;
    size_t formal;

    for (size_t i = 0; i < given->n; i++) {
        const struct given_argument *argument = (const struct given_argument *)given->items + i;

        formal = find_formal(formals, argument->name);
        if (formal == SIZE_MAX) {
            return unknown_argument(builder, call, argument);
        }
        if (call->arguments[formal] == NULL || strcmp(argument->name, "dependencies") == 0) {
            call->arguments[formal] = argument->value;
        } else if (strcmp(argument->name, "dependency") != 0) {
            return condition_fault(builder, call, argument->value, "the argument '%s' is given twice", argument->name);
        }
    }
    for (size_t i = 0; formals[i].name != NULL; i++) {
        if (formals[i].required && call->arguments[i] == NULL) {
            return condition_fault(builder, call, NULL, "the argument '%s' is missing", formals[i].name);
        }
    }
    return true;
}

const struct mdf_node *condition_argument(const struct condition_call *call, const char *formal)
{
    for (size_t i = 0; call->row->formals[i].name != NULL; i++) {
        if (strcmp(call->row->formals[i].name, formal) == 0) {
            return call->arguments[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ arguments by kind */

/* A count that can not be one is told: no number of runs is below 0, or in part. */
static void look_at_count(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *node, double n)
{
    struct place place = place_at(builder->compiler, node);

    if (n < 0 || n != floor(n)) {
        compile_warning(builder->compiler, "%s: 'n' is %g, and it counts whole numbers from 0 on", call->row->name, n);
    }
    place_leave(builder->compiler, place);
}

bool condition_number(struct condition_builder *builder, const struct condition_call *call, const char *formal, double *result)
{
    const struct mdf_node *node = condition_argument(call, formal);

    if (node == NULL) {
        return true;
    }
    if (node->kind == MDF_NODE_INT) {
        *result = (double)node->as.integer;
    } else if (node->kind == MDF_NODE_REAL) {
        *result = node->as.real;
    } else {
        return condition_fault(builder, call, node, "'%s' must be a number, not %s", formal, mdf_node_describe(node));
    }
    if (strcmp(formal, "n") == 0) {
        look_at_count(builder, call, node, *result);
    }
    return true;
}

bool condition_flag(struct condition_builder *builder, const struct condition_call *call, const char *formal, bool *result)
{
    const struct mdf_node *node = condition_argument(call, formal);

    if (node == NULL) {
        return true;
    }
    if (node->kind != MDF_NODE_BOOL) {
        return condition_fault(builder, call, node, "'%s' must be true or false, not %s", formal, mdf_node_describe(node));
    }
    *result = node->as.truth;
    return true;
}

/* The number of a node; the nearest name goes into *guess where there is none of that id. */
size_t condition_find_node(const struct mdf_graph *graph, const char *id, const char **guess)
{
    size_t found = mdf_model_find_node(graph, id), i;
    struct mdf_nearest nearest;

    if (found < graph->n_nodes) {
        return found;
    }
    mdf_nearest_begin(&nearest, id);
    for (i = 0; i < graph->n_nodes; i++) {
        mdf_nearest_offer(&nearest, graph->nodes[i].id);
    }
    *guess = mdf_nearest_result(&nearest);
    return SIZE_MAX;
}

bool condition_node(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *node,
                    uint32_t *index)
{
    const struct mdf_node *id = node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, "id") : node;
    char number[32], message[300];
    const char *text, *guess = NULL;
    size_t found;

    if (id != NULL && id->kind == MDF_NODE_STRING) {
        text = id->as.string.bytes;
    } else if (id != NULL && id->kind == MDF_NODE_INT) {
        snprintf(number, sizeof number, "%lld", (long long)id->as.integer);
        text = number;
    } else {
        return condition_fault(builder, call, node, "a node is named by its id, not by %s", mdf_node_describe(node));
    }
    found = condition_find_node(builder->graph->graph, text, &guess);
    if (found == SIZE_MAX) {
        snprintf(message, sizeof message, "%s: the graph has no node '%.80s'", call->row->name, text);
        return condition_unknown(builder, node, message, guess);
    }
    *index = (uint32_t)found;
    return true;
}

bool condition_nodes(struct condition_builder *builder, const struct condition_call *call, const char *formal, uint32_t *first,
                     uint32_t *n)
{
    const struct mdf_node *nodes = condition_argument(call, formal);
    bool is_list = nodes != NULL && (nodes->kind == MDF_NODE_LIST || nodes->kind == MDF_NODE_NUMBERS);
    size_t n_items = is_list ? mdf_node_length(nodes) : nodes != NULL, i;
    struct mdf_node item;
    uint32_t node;

    *first = (uint32_t)builder->node_lists.n;
    *n = (uint32_t)n_items;
    for (i = 0; i < n_items; i++) {
        if (is_list) {
            mdf_node_item(nodes, i, &item);
        }
        if (!condition_node(builder, call, is_list ? &item : nodes, &node) ||
            !list_add(builder->compiler, &builder->node_lists, &node, sizeof node)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ time scales */

static const struct {
    const char *name, *psyneulink; /* what PsyNeuLink calls it; NULL: the same */
} scale_names[] = {{"CONSIDERATION_SET_EXECUTION", "TIME_STEP"},
                   {"PASS", NULL},
                   {"ENVIRONMENT_STATE_UPDATE", "TRIAL"},
                   {"ENVIRONMENT_SEQUENCE", "RUN"},
                   {"LIFE", NULL}};

enum { N_SCALES = sizeof scale_names / sizeof *scale_names };

static bool equals_ignoring_case(const char *a, const char *b)
{
    for (; *a != '\0' && toupper((unsigned char)*a) == toupper((unsigned char)*b); a++, b++) {
    }
    return *a == '\0' && *b == '\0';
}

/* PsyNeuLink has names of its own for three scales; they count in the files that it writes. */
static bool is_of_psyneulink(const struct compiler *compiler)
{
    return mdf_dialect_of(compiler->model->document, MDF_DIALECT_UNSAID) == MDF_DIALECT_PSYNEULINK;
}

bool parse_time_scale(const struct compiler *compiler, const char *text, bool any_spelling, enum time_scale *scale)
{
    const char *point = strchr(text, '.'), *name = point != NULL ? point + 1 : text;
    bool is_qualified = point == text || strncmp(text, "TimeScale.", 10) == 0;

    if (!is_qualified && (point != NULL || !any_spelling)) {
        return false;
    }
    for (int i = 0; i < N_SCALES; i++) {
        const char *alias = is_of_psyneulink(compiler) ? scale_names[i].psyneulink : NULL;

        if (is_qualified
                ? strcmp(name, scale_names[i].name) == 0 || (alias != NULL && strcmp(name, alias) == 0)
                : equals_ignoring_case(name, scale_names[i].name) || (alias != NULL && equals_ignoring_case(name, alias))) {
            *scale = (enum time_scale)i;
            return true;
        }
    }
    return false;
}

/* "there is no time scale 'TEXT'", with what PsyNeuLink means by it, or the nearest name. */
bool condition_unknown_scale(struct condition_builder *builder, const struct mdf_node *at, const char *text)
{
    const char *point = strchr(text, '.'), *best, *guess = "ENVIRONMENT_STATE_UPDATE";
    struct mdf_nearest nearest;
    char message[200];

    mdf_nearest_begin(&nearest, point != NULL ? point + 1 : text);
    for (int i = 0; i < N_SCALES; i++) {
        mdf_nearest_offer(&nearest, scale_names[i].name);
        mdf_nearest_offer(&nearest, scale_names[i].psyneulink != NULL ? scale_names[i].psyneulink : scale_names[i].name);
    }
    best = mdf_nearest_result(&nearest);
    for (int i = 0; i < N_SCALES; i++) {
        guess = best != NULL && (best == scale_names[i].name || best == scale_names[i].psyneulink) ? scale_names[i].name : guess;
    }
    snprintf(message, sizeof message, "there is no time scale '%.80s'", text);
    return condition_unknown(builder, at, message, mdf_arena_printf(&builder->compiler->scratch, "TimeScale.%s", guess));
}

bool condition_scale(struct condition_builder *builder, const struct condition_call *call, enum time_scale *scale)
{
    const struct mdf_node *node = condition_argument(call, "time_scale");

    if (node == NULL) {
        return true;
    }
    if (node->kind != MDF_NODE_STRING) {
        return condition_fault(builder, call, node, "'time_scale' must be a string like \"TimeScale.LIFE\", not %s",
                               mdf_node_describe(node));
    }
    return parse_time_scale(builder->compiler, node->as.string.bytes, false, scale) ||
           condition_unknown_scale(builder, node, node->as.string.bytes);
}
