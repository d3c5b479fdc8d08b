/* print_schedule.c - see print_program.h: the order of nodes, and their conditions as the flat arrays of schedule.h. */
#include "mdf_c/plan/print_program.h"

#include <inttypes.h>

static const char *const scopes[] = {
    [MDF_SCOPE_PASS] = "in the pass", [MDF_SCOPE_UPDATE] = "in the evaluation", [MDF_SCOPE_LIFE] = "ever"};
static const char *const clocks[] = {[MDF_CLOCK_PASSES_IN_UPDATE] = "passes in the evaluation",
                                     [MDF_CLOCK_PASSES_IN_LIFE] = "passes ever",
                                     [MDF_CLOCK_SETS_IN_UPDATE] = "sets in the evaluation",
                                     [MDF_CLOCK_SETS_IN_LIFE] = "sets ever",
                                     [MDF_CLOCK_UPDATES] = "evaluations",
                                     [MDF_CLOCK_SEQUENCES] = "sequences"};

static const char *comparison_name(enum mdf_comparison comparison)
{
    switch (comparison) {
    case MDF_COMPARISON_LESS:
        return "<";
    case MDF_COMPARISON_AT_MOST:
        return "<=";
    case MDF_COMPARISON_EQUAL:
        return "==";
    case MDF_COMPARISON_NOT_EQUAL:
        return "!=";
    case MDF_COMPARISON_GREATER:
        return ">";
    case MDF_COMPARISON_AT_LEAST:
        return ">=";
    case MDF_COMPARISON_MULTIPLE:
        return "is a multiple of";
    }
    return "";
}

static void print_node(struct mdf_text *text, const struct mdf_program *program, size_t node)
{
    mdf_text_append_string(text, "'");
    mdf_text_append_visible(text, program->nodes[node].id);
    mdf_text_append_string(text, "'");
}

static void print_list(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    uint32_t i;

    for (i = 0; i < condition->n_items; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        print_node(text, program, program->schedule->node_lists[condition->index + i]);
    }
}

static void print_comparison(struct mdf_text *text, const struct mdf_condition *condition)
{
    mdf_text_printf(text, " %s %.17g", comparison_name((enum mdf_comparison)condition->comparison), condition->n);
}

static void print_runs(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    mdf_text_append_string(text, "runs of ");
    if (condition->kind == MDF_CONDITION_CALLS) {
        print_node(text, program, condition->index);
    } else {
        print_list(text, program, condition);
    }
    mdf_text_printf(text, " %s", scopes[condition->scope]);
    print_comparison(text, condition);
}

static void print_watches(struct mdf_text *text, const char *which, const struct mdf_condition *condition)
{
    mdf_text_printf(text, "finished: %s of watches %u to %u", which, (unsigned)condition->index,
                    (unsigned)(condition->index + condition->n_items) - (condition->n_items > 0));
}

static void print_condition(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        mdf_text_append_string(text, condition->n != 0 ? "always" : "never");
        break;
    case MDF_CONDITION_ALL:
        mdf_text_printf(text, "all up to %u", (unsigned)condition->end);
        break;
    case MDF_CONDITION_ANY:
        mdf_text_printf(text, "any up to %u", (unsigned)condition->end);
        break;
    case MDF_CONDITION_NOT:
        mdf_text_printf(text, "not, up to %u", (unsigned)condition->end);
        break;
    case MDF_CONDITION_N_WHEN:
        mdf_text_printf(text, "at most %.17g times (spent %u), up to %u", condition->n, (unsigned)condition->index,
                        (unsigned)condition->end);
        break;
    case MDF_CONDITION_CALLS:
    case MDF_CONDITION_CALLS_SUM:
        print_runs(text, program, condition);
        break;
    case MDF_CONDITION_USABLE_CALLS:
        mdf_text_printf(text, "usable runs %u", (unsigned)condition->index);
        print_comparison(text, condition);
        break;
    case MDF_CONDITION_CLOCK:
        mdf_text_append_string(text, clocks[condition->scope]);
        print_comparison(text, condition);
        break;
    case MDF_CONDITION_JUST_RAN:
        mdf_text_append_string(text, "in the last set: ");
        print_node(text, program, condition->index);
        break;
    case MDF_CONDITION_ALL_HAVE_RUN:
        mdf_text_printf(text, "all nodes have run %s", scopes[condition->scope]);
        break;
    case MDF_CONDITION_HAVE_RUN:
        mdf_text_printf(text, "have run %s: ", scopes[condition->scope]);
        print_list(text, program, condition);
        break;
    case MDF_CONDITION_TIME:
        mdf_text_printf(text, "time window %u", (unsigned)condition->index);
        break;
    case MDF_CONDITION_THRESHOLD:
        mdf_text_printf(text, "watch %u", (unsigned)condition->index);
        print_comparison(text, condition);
        break;
    case MDF_CONDITION_FINISHED_ANY:
        print_watches(text, "any", condition);
        break;
    case MDF_CONDITION_FINISHED_ALL:
        print_watches(text, "all", condition);
        break;
    }
}

static void print_layers(struct mdf_text *text, const struct mdf_program *program)
{
    size_t i, j;

    for (i = 0; i < program->n_layers; i++) {
        mdf_text_printf(text, "layer %zu:", i);
        for (j = 0; j < program->layers[i].n_nodes; j++) {
            mdf_text_append_string(text, j > 0 ? ", " : " ");
            print_node(text, program, program->layers[i].nodes[j]);
        }
        mdf_text_append_string(text, "\n");
    }
}

static void print_times(struct mdf_text *text, const struct mdf_schedule *schedule, size_t n_times)
{
    size_t i;

    if (schedule->is_absolute) {
        mdf_text_printf(text, "a tick is %.17g ms; a set takes %" PRId64 " ticks, from tick %" PRId64 " on\n", schedule->tick_ms,
                        schedule->interval, schedule->start);
    }
    for (i = 0; i < n_times; i++) {
        const struct mdf_time_window *window = &schedule->times[i];

        mdf_text_printf(text, "time window %zu: ticks", i);
        if (window->first > INT64_MIN) {
            mdf_text_printf(text, " from %" PRId64, window->first);
        }
        if (window->last < INT64_MAX) {
            mdf_text_printf(text, " to %" PRId64, window->last);
        }
        if (window->repeat > 0) {
            mdf_text_printf(text, ", every %" PRId64 " beginning with %" PRId64, window->repeat, window->offset);
        }
        mdf_text_append_string(text, "\n");
    }
}

static void print_watch(struct mdf_text *text, const struct mdf_program *program, size_t index)
{
    const struct mdf_watch *watch = &program->schedule->watches[index];
    size_t i;

    mdf_text_printf(text, "watch %zu: ", index);
    print_node(text, program, watch->node);
    if (watch->name != NULL) {
        mdf_text_append_string(text, " '");
        mdf_text_append_visible(text, watch->name);
        mdf_text_append_string(text, "'");
    }
    for (i = 0; i < watch->n_indices; i++) {
        mdf_text_printf(text, "[%" PRId64 "]", watch->indices[i]);
    }
    if (watch->absolute_tolerance != 0 || watch->relative_tolerance != 0) {
        mdf_text_printf(text, ", within %.17g and %.17g of it", watch->absolute_tolerance, watch->relative_tolerance);
    }
    if (watch->has_initial) {
        mdf_text_printf(text, ", at first %.17g", watch->initial);
    }
    mdf_text_append_string(text, "\n");
}

static void print_owners(struct mdf_text *text, const struct mdf_program *program)
{
    size_t i;

    for (i = 0; i < program->n_nodes; i++) {
        const struct mdf_schedule_node *node = &program->schedule->nodes[i];

        mdf_text_append_string(text, "node ");
        print_node(text, program, i);
        mdf_text_printf(text, ": condition %u\n", (unsigned)node->condition);
    }
    for (i = 0; i < program->schedule->n_usables; i++) {
        const struct mdf_usable *usable = &program->schedule->usables[i];

        mdf_text_printf(text, "usable runs %zu: of ", i);
        print_node(text, program, usable->dependency);
        mdf_text_append_string(text, usable->own ? ", the last one counted\n" : "\n");
    }
}

static void print_graph(struct mdf_text *text, const struct mdf_program *program);

/* Those of graphs within nodes. */
static void print_bodies(struct mdf_text *text, const struct mdf_code *code)
{
    size_t i;

    for (i = 0; i < code->n_bodies; i++) {
        if (code->bodies[i]->program != NULL) {
            print_graph(text, code->bodies[i]->program);
        } else {
            print_bodies(text, code->bodies[i]);
        }
    }
}

static void print_graph(struct mdf_text *text, const struct mdf_program *program)
{
    const struct mdf_schedule *schedule = program->schedule;
    size_t n_times = 0, i;

    mdf_text_append_string(text, "graph '");
    mdf_text_append_visible(text, program->graph_id);
    mdf_text_append_string(text, schedule == NULL ? "', without conditions\n" : "'\n");
    print_layers(text, program);
    if (schedule != NULL) {
        for (i = 0; i < schedule->n_conditions; i++) {
            const struct mdf_condition *condition = &schedule->conditions[i];

            mdf_text_printf(text, "condition %zu: ", i);
            print_condition(text, program, condition);
            mdf_text_append_string(text, "\n");
            if (condition->kind == MDF_CONDITION_TIME && condition->index >= n_times) {
                n_times = condition->index + 1;
            }
        }
        print_owners(text, program);
        mdf_text_printf(text, "the evaluation ends: condition %u; the sequence: condition %u\n",
                        (unsigned)schedule->end_of_update, (unsigned)schedule->end_of_sequence);
        print_times(text, schedule, n_times);
        for (i = 0; i < schedule->n_watches; i++) {
            print_watch(text, program, i);
        }
    }
    print_bodies(text, program->code);
}

bool mdf_program_print_schedule(struct mdf_text *text, const struct mdf_program *program)
{
    print_graph(text, program);
    return !text->failed;
}
