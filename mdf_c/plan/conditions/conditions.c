/* conditions.c - the conditions of a graph as the model writes them, read into flat arrays. See conditions.h, docs/scheduling.md.
 */
#include "mdf_c/plan/conditions/conditions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ emission */

struct mdf_condition *condition_add(struct condition_builder *builder, enum mdf_condition_kind kind)
{
    struct mdf_condition condition = {.kind = (uint8_t)kind, .origin = builder->compiler->origin};

    if (builder->conditions.n >= UINT32_MAX) {
        compile_error(builder->compiler, MDF_LIMIT, "the graph has too many conditions");
        return NULL;
    }
    condition.end = (uint32_t)builder->conditions.n + 1;
    if (!list_add(builder->compiler, &builder->conditions, &condition, sizeof condition)) {
        return NULL;
    }
    return (struct mdf_condition *)builder->conditions.items + builder->conditions.n - 1;
}

/* ------------------------------------------------------------------ conditions */

bool node_is_condition(const struct mdf_node *node)
{
    const struct mdf_node *type = mdf_node_get(node, "type");

    return type != NULL && type->kind == MDF_NODE_STRING;
}

/* The parts of All and Any: the list in "args" first, then those under any other names. */
static bool read_parts(struct condition_builder *builder, const struct condition_call *call, const struct list *given)
{
    for (size_t turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < given->n; i++) {
            const struct given_argument *argument = (const struct given_argument *)given->items + i;
            const struct mdf_node *value = argument->value;

            if ((strcmp(argument->name, "args") == 0) != (turn == 0)) {
                continue;
            }
            if (node_is_condition(value)) {
                if (!condition_read(builder, value)) {
                    return false;
                }
                continue;
            }
            if (value->kind != MDF_NODE_LIST && (value->kind != MDF_NODE_NUMBERS || mdf_node_length(value) > 0)) {
                return condition_fault(builder, call, value, "'%s' must be a list of conditions, not %s", argument->name,
                                       value->kind == MDF_NODE_NUMBERS ? "a list of numbers" : mdf_node_describe(value));
            }
            for (size_t j = 0; j < mdf_node_length(value); j++) {
                if (!condition_read(builder, &value->as.list.items[j])) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Adds a condition of kind row->detail with its parts. */
static bool read_composite(struct condition_builder *builder, const struct condition_call *call, const struct list *given)
{
    size_t at = builder->conditions.n;

    if (condition_add(builder, (enum mdf_condition_kind)call->row->detail) == NULL || !read_parts(builder, call, given)) {
        return false;
    }
    ((struct mdf_condition *)builder->conditions.items)[at].end = (uint32_t)builder->conditions.n;
    return true;
}

static bool read_call(struct condition_builder *builder, struct condition_call *call)
{
    struct list given = {0};

    if (condition_is_function(call->row)) {
        return call->row->build(builder, call); /* whatever its arguments are */
    }
    if (!condition_collect(builder, call->row, call->source, &given)) {
        return false;
    }
    if (call->row->formals == NULL) {
        return read_composite(builder, call, &given);
    }
    return condition_match(builder, call, &given) && call->row->build(builder, call);
}

bool condition_read(struct condition_builder *builder, const struct mdf_node *source)
{
    struct place place = place_at(builder->compiler, source);
    const struct mdf_node *type = mdf_node_get(source, "type");
    struct condition_call call = {.source = source};
    const char *guess = NULL;
    char message[200];
    bool done;

    if (type == NULL || type->kind != MDF_NODE_STRING) {
        compile_error(builder->compiler, MDF_MODEL, "a condition is an object with a 'type' and its 'kwargs', not %s",
                      source->kind == MDF_NODE_OBJECT ? "an object without a 'type'" : mdf_node_describe(source));
        return false;
    }
    if (builder->depth >= MDF_MAX_CONDITION_DEPTH) {
        compile_error(builder->compiler, MDF_LIMIT, "conditions are nested more than %d deep", MDF_MAX_CONDITION_DEPTH);
        return false;
    }
    call.row = condition_find_row(type->as.string.bytes, &guess);
    if (call.row == NULL) {
        snprintf(message, sizeof message, "unknown condition '%.80s'", type->as.string.bytes);
        return condition_unknown(builder, type, message, guess);
    }
    builder->depth++;
    done = read_call(builder, &call);
    builder->depth--;
    place_leave(builder->compiler, place);
    return done;
}

/* ------------------------------------------------------------------ conditions of nodes */

/* One condition of a node. A graph structure condition adds nothing to the array; a basic one replaces an earlier one. */
static bool read_own_condition(struct condition_builder *builder, const struct mdf_node *source)
{
    uint32_t first = (uint32_t)builder->conditions.n;

    if (!condition_read(builder, source)) {
        return false;
    }
    if (builder->conditions.n == first) {
        return true;
    }
    if (builder->has_condition[builder->owner]) {
        compile_warning(builder->compiler, "the node has two conditions; the last one is taken");
    }
    builder->has_condition[builder->owner] = true;
    builder->nodes[builder->owner].condition = first;
    return true;
}

static bool read_owner(struct condition_builder *builder, const struct mdf_node_entry *entry)
{
    struct place place = place_enter(builder->compiler, "condition of node", entry->key, &entry->value);
    const char *guess = NULL;
    char message[200];

    builder->owner = condition_find_node(builder->graph->graph, entry->key, &guess);
    if (builder->owner == SIZE_MAX) {
        snprintf(message, sizeof message, "the graph has no node '%.80s'", entry->key);
        return condition_unknown(builder, &entry->value, message, guess);
    }
    builder->nodes[builder->owner].first_usable = (uint32_t)builder->usables.n;
    if (entry->value.kind == MDF_NODE_LIST) {
        for (size_t i = 0; i < entry->value.as.list.n; i++) {
            if (!read_own_condition(builder, &entry->value.as.list.items[i])) {
                return false;
            }
        }
    } else if (entry->value.kind != MDF_NODE_NULL && !read_own_condition(builder, &entry->value)) {
        return false;
    }
    builder->nodes[builder->owner].n_usables = (uint32_t)builder->usables.n - builder->nodes[builder->owner].first_usable;
    place_leave(builder->compiler, place);
    return true;
}

/* ------------------------------------------------------------------ terminations */

static bool read_termination(struct condition_builder *builder, const struct mdf_node_entry *entry)
{
    struct place place = place_enter(builder->compiler, "termination", entry->key, &entry->value);
    uint32_t first = (uint32_t)builder->conditions.n;
    enum time_scale scale;

    if (!parse_time_scale(builder->compiler, entry->key, true, &scale)) {
        return condition_unknown_scale(builder, &entry->value, entry->key);
    }
    builder->owner = SIZE_MAX;
    if (entry->value.kind == MDF_NODE_NULL) {
        place_leave(builder->compiler, place);
        return true;
    }
    if (!condition_read(builder, &entry->value) || !list_add(builder->compiler, &builder->terminations, &first, sizeof first)) {
        return false;
    }
    if (scale == SCALE_UPDATE) {
        builder->end_of_update = first;
        builder->has_end_of_update = true;
    } else if (scale == SCALE_SEQUENCE) {
        builder->end_of_sequence = first;
        builder->has_end_of_sequence = true;
    } else {
        compile_warning(
            builder->compiler,
            "no evaluation ends by this: only terminations of ENVIRONMENT_STATE_UPDATE and ENVIRONMENT_SEQUENCE are looked at");
    }
    place_leave(builder->compiler, place);
    return true;
}

/* The terminations that hold where the model gives none: all nodes have run; never. */
static bool add_default_terminations(struct condition_builder *builder)
{
    struct mdf_condition *condition;

    if (!builder->has_end_of_update) {
        condition = condition_add(builder, MDF_CONDITION_ALL_HAVE_RUN);
        if (condition == NULL) {
            return false;
        }
        condition->scope = MDF_SCOPE_UPDATE;
        builder->end_of_update = condition->end - 1;
    }
    if (!builder->has_end_of_sequence) {
        condition = condition_add(builder, MDF_CONDITION_CONSTANT);
        if (condition == NULL) {
            return false;
        }
        builder->end_of_sequence = condition->end - 1;
    }
    return true;
}

/* ------------------------------------------------------------------ default conditions */

/* The senders of a node, each once; their number. */
static size_t list_senders(const struct node_plan *plan, size_t *senders)
{
    size_t n = 0;

    if (plan->senders.n == 0) {
        return 0;
    }
    memcpy(senders, plan->senders.items, plan->senders.n * sizeof *senders);
    qsort(senders, plan->senders.n, sizeof *senders, compare_numbers);
    for (size_t i = 0; i < plan->senders.n; i++) {
        if (n == 0 || senders[n - 1] != senders[i]) {
            senders[n++] = senders[i];
        }
    }
    return n;
}

/* A node without a condition runs once after each run of each of its senders. */
static bool add_default_condition(struct condition_builder *builder, size_t node)
{
    const struct node_plan *plan = &builder->graph->nodes[node];
    size_t *senders = mdf_arena_array(&builder->compiler->scratch, plan->senders.n, sizeof *senders);
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_ALL);
    uint32_t first = (uint32_t)builder->conditions.n - 1;
    size_t n;

    if (senders == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    if (condition == NULL) {
        return false;
    }
    n = list_senders(plan, senders);
    builder->nodes[node] = (struct mdf_schedule_node){first, (uint32_t)builder->usables.n, (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        const struct mdf_usable usable = {(uint32_t)senders[i], false};

        condition = condition_add(builder, MDF_CONDITION_USABLE_CALLS);
        if (condition == NULL || !list_add(builder->compiler, &builder->usables, &usable, sizeof usable)) {
            return false;
        }
        condition->comparison = MDF_COMPARISON_AT_LEAST;
        condition->index = (uint32_t)builder->usables.n - 1;
        condition->n = 1;
    }
    ((struct mdf_condition *)builder->conditions.items)[first].end = (uint32_t)builder->conditions.n;
    return true;
}

static bool add_default_conditions(struct condition_builder *builder)
{
    for (size_t i = 0; i < builder->graph->graph->n_nodes; i++) {
        struct place place =
            place_enter(builder->compiler, "node", builder->graph->graph->nodes[i].id, builder->graph->graph->nodes[i].source);

        if (!builder->has_condition[i] && !add_default_condition(builder, i)) {
            return false;
        }
        place_leave(builder->compiler, place);
    }
    return add_default_terminations(builder);
}

/* ------------------------------------------------------------------ the whole */

static bool read_collection(struct condition_builder *builder, const char *name,
                            bool (*read)(struct condition_builder *, const struct mdf_node_entry *))
{
    const struct mdf_node *collection = mdf_node_get(builder->graph->graph->conditions, name);
    struct place place = place_here(builder->compiler);

    if (collection == NULL || collection->kind == MDF_NODE_NULL) {
        return true;
    }
    if (collection->kind != MDF_NODE_OBJECT && (collection->kind < MDF_NODE_LIST || mdf_node_length(collection) > 0)) {
        place_at(builder->compiler, collection);
        compile_error(builder->compiler, MDF_MODEL, "'%s' must be an object, not %s", name, mdf_node_describe(collection));
        return false;
    }
    for (size_t i = 0; collection->kind == MDF_NODE_OBJECT && i < collection->as.object.n; i++) {
        if (!read(builder, &collection->as.object.entries[i]) && !compile_recover(builder->compiler, place)) {
            return false;
        }
        builder->depth = 0;
    }
    return true;
}

/* Whether conditions have a field of this name; else the nearest that they have is offered. */
static bool is_known_field(const char *key, struct mdf_nearest *nearest)
{
    static const char *const known[] = {"node_specific", "termination", "id", "metadata", "notes"};
    size_t i;

    mdf_nearest_begin(nearest, key);
    for (i = 0; i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0; i++) {
        mdf_nearest_offer(nearest, known[i]);
    }
    return i < sizeof known / sizeof *known;
}

static void warn_unknown_fields(struct condition_builder *builder)
{
    const struct mdf_node *conditions = builder->graph->graph->conditions;
    struct mdf_nearest nearest;

    for (size_t i = 0; conditions != NULL && i < conditions->as.object.n; i++) {
        const struct mdf_node_entry *entry = &conditions->as.object.entries[i];

        if (!is_known_field(entry->key, &nearest)) {
            struct place place = place_at_key(builder->compiler, entry);
            const char *guess = mdf_nearest_result(&nearest);

            compile_warning(builder->compiler, "'%s' is ignored: conditions have 'node_specific' and 'termination'%s%s%s", entry->key,
                            guess != NULL ? "; did you mean '" : "", guess != NULL ? guess : "", guess != NULL ? "'?" : "");
            place_leave(builder->compiler, place);
        }
    }
}

static void *keep(struct compiler *compiler, const struct list *list, size_t item_size)
{
    void *kept = mdf_arena_array(compiler->arena, list->n, item_size);

    if (kept == NULL) {
        compile_out_of_memory(compiler);
    } else if (list->n > 0) {
        memcpy(kept, list->items, list->n * item_size);
    }
    return kept;
}

static bool keep_lists(struct condition_builder *builder, struct mdf_schedule *schedule)
{
    struct compiler *compiler = builder->compiler;
    struct list nodes = {builder->nodes, builder->graph->graph->n_nodes, 0};

    schedule->conditions = keep(compiler, &builder->conditions, sizeof *schedule->conditions);
    schedule->nodes = keep(compiler, &nodes, sizeof *schedule->nodes);
    schedule->node_lists = keep(compiler, &builder->node_lists, sizeof *schedule->node_lists);
    schedule->usables = keep(compiler, &builder->usables, sizeof *schedule->usables);
    schedule->watches = keep(compiler, &builder->watches, sizeof *schedule->watches);
    schedule->n_conditions = builder->conditions.n;
    schedule->n_usables = builder->usables.n;
    schedule->n_watches = builder->watches.n;
    schedule->n_spent = builder->n_spent;
    schedule->end_of_update = builder->end_of_update;
    schedule->end_of_sequence = builder->end_of_sequence;
    return schedule->conditions != NULL && schedule->nodes != NULL && schedule->node_lists != NULL && schedule->usables != NULL &&
           schedule->watches != NULL;
}

static bool has_entries(const struct mdf_node *conditions, const char *name)
{
    const struct mdf_node *collection = conditions != NULL ? mdf_node_get(conditions, name) : NULL;

    return collection != NULL && collection->kind != MDF_NODE_NULL &&
           (collection->kind < MDF_NODE_LIST || mdf_node_length(collection) > 0);
}

bool graph_has_conditions(const struct mdf_graph *graph)
{
    struct mdf_nearest nearest;

    for (size_t i = 0; graph->conditions != NULL && i < mdf_node_length(graph->conditions); i++) {
        if (graph->conditions->kind == MDF_NODE_OBJECT && !is_known_field(graph->conditions->as.object.entries[i].key, &nearest)) {
            return true; /* which is told */
        }
    }
    return has_entries(graph->conditions, "node_specific") || has_entries(graph->conditions, "termination");
}

/* The consideration queue. */
static bool make_layers(struct condition_builder *builder)
{
    struct mdf_program *program = builder->compiler->program;

    if (graph_layers(builder->graph, &program->layers, &program->n_layers)) {
        return true;
    }
    if (builder->structures.n > 0 && builder->compiler->error->code == MDF_MODEL) {
        mdf_error_append(builder->compiler->error,
                         " (or take back the condition that closes it: BeforeNode, WithNode, AfterNode, AddEdgeTo)");
    }
    return false;
}

/* Whether each node runs once in each evaluation, after those that it waits for, as without conditions. */
static bool says_nothing(const struct condition_builder *builder, const struct mdf_schedule *schedule)
{
    const struct mdf_condition *update = &schedule->conditions[schedule->end_of_update],
                               *sequence = &schedule->conditions[schedule->end_of_sequence];

    for (size_t i = 0; i < builder->graph->graph->n_nodes; i++) {
        if (builder->has_condition[i]) {
            return false;
        }
    }
    return !builder->graph->is_exact && !schedule->is_absolute && builder->structures.n == 0 &&
           update->kind == MDF_CONDITION_ALL_HAVE_RUN && update->scope == MDF_SCOPE_UPDATE &&
           sequence->kind == MDF_CONDITION_CONSTANT && sequence->n == 0;
}

bool compile_schedule(struct graph_builder *graph)
{
    struct compiler *compiler = graph->compiler;
    struct mdf_program *program = compiler->program;
    struct condition_builder builder = {.compiler = compiler, .graph = graph};
    struct mdf_schedule *schedule = mdf_arena_allocate(compiler->arena, sizeof *schedule);
    struct place place;

    builder.nodes = mdf_arena_array(&compiler->scratch, graph->graph->n_nodes, sizeof *builder.nodes);
    builder.has_condition = mdf_arena_array(&compiler->scratch, graph->graph->n_nodes, sizeof *builder.has_condition);
    if (schedule == NULL || builder.nodes == NULL || builder.has_condition == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    place = place_at(compiler, graph->graph->conditions != NULL ? graph->graph->conditions : graph->graph->source);
    warn_unknown_fields(&builder);
    if (!read_collection(&builder, "node_specific", read_owner) || !read_collection(&builder, "termination", read_termination) ||
        compiler->n_taken > 0 || !condition_apply_structures(&builder) || !make_layers(&builder) || !condition_join_layers(&builder) ||
        !add_default_conditions(&builder) || !keep_lists(&builder, schedule) ||
        !condition_finish_times(&builder, schedule, program) || !condition_check_reach(&builder, schedule)) {
        return false;
    }
    place_leave(compiler, place);
    program->schedule = says_nothing(&builder, schedule) ? NULL : schedule;
    return true;
}
