/* print_schedule.c - see print_program.h: the order of nodes, and their conditions as the flat arrays of schedule.h. */
#include "mdf_c/plan/print_program.h"

#include <inttypes.h>
#include <string.h>

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

/* ------------------------------------------------------------------ conditions */

/* How a condition is told, a row each kind; {NAME} is where a word of the table below goes. */
static const char *const phrases[] = {
    [MDF_CONDITION_CONSTANT] = "{truth}",
    [MDF_CONDITION_ALL] = "all up to {end}",
    [MDF_CONDITION_ANY] = "any up to {end}",
    [MDF_CONDITION_NOT] = "not, up to {end}",
    [MDF_CONDITION_N_WHEN] = "at most {n} times (spent {index}), up to {end}",
    [MDF_CONDITION_CALLS] = "runs of {node} {scope} {compared}",
    [MDF_CONDITION_CALLS_SUM] = "runs of {nodes} {scope} {compared}",
    [MDF_CONDITION_USABLE_CALLS] = "usable runs {index} {compared}",
    [MDF_CONDITION_CLOCK] = "{clock} {compared}",
    [MDF_CONDITION_JUST_RAN] = "in the last set: {node}",
    [MDF_CONDITION_ALL_HAVE_RUN] = "all nodes have run {scope}",
    [MDF_CONDITION_HAVE_RUN] = "have run {scope}: {nodes}",
    [MDF_CONDITION_TIME] = "time window {index}",
    [MDF_CONDITION_THRESHOLD] = "watch {index} {compared}",
    [MDF_CONDITION_FINISHED_ANY] = "finished: any of watches {index} to {last}",
    [MDF_CONDITION_FINISHED_ALL] = "finished: all of watches {index} to {last}",
};

static void print_truth(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_append_string(text, condition->n != 0 ? "always" : "never");
}

static void print_end(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_printf(text, "%u", (unsigned)condition->end);
}

static void print_index(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_printf(text, "%u", (unsigned)condition->index);
}

static void print_last(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_printf(text, "%u", (unsigned)(condition->index + condition->n_items) - (condition->n_items > 0));
}

static void print_n(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_printf(text, "%.17g", condition->n);
}

static void print_compared(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    mdf_text_printf(text, "%s ", comparison_name((enum mdf_comparison)condition->comparison));
    print_n(text, program, condition);
}

static void print_scope(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_append_string(text, scopes[condition->scope]);
}

static void print_clock(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    (void)program;
    mdf_text_append_string(text, clocks[condition->scope]);
}

static void print_one_node(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    print_node(text, program, condition->index);
}

static void print_nodes(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    for (uint32_t i = 0; i < condition->n_items; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        print_node(text, program, program->schedule->node_lists[condition->index + i]);
    }
}

static const struct word {
    const char *name;
    void (*print)(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition);
} words[] = {
    {"{truth}", print_truth},   {"{end}", print_end},     {"{index}", print_index},       {"{last}", print_last},
    {"{n}", print_n},           {"{scope}", print_scope}, {"{compared}", print_compared}, {"{clock}", print_clock},
    {"{node}", print_one_node}, {"{nodes}", print_nodes},
};

static void print_condition(struct mdf_text *text, const struct mdf_program *program, const struct mdf_condition *condition)
{
    const char *rest = phrases[condition->kind];

    while (rest[0] != '\0') {
        size_t length = strcspn(rest, "{");

        mdf_text_append(text, rest, length);
        rest += length;
        length = rest[0] == '{' ? strcspn(rest, "}") + 1 : 0;
        for (size_t i = 0; length > 0 && i < sizeof words / sizeof *words; i++) {
            if (strlen(words[i].name) == length && memcmp(words[i].name, rest, length) == 0) {
                words[i].print(text, program, condition);
            }
        }
        rest += length;
    }
}

/* ------------------------------------------------------------------ the rest of a schedule */

static void print_layers(struct mdf_text *text, const struct mdf_program *program)
{
    for (size_t i = 0; i < program->n_layers; i++) {
        mdf_text_printf(text, "layer %zu:", i);
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            mdf_text_append_string(text, j > 0 ? ", " : " ");
            print_node(text, program, program->layers[i].nodes[j]);
        }
        mdf_text_append_string(text, "\n");
    }
}

static void print_times(struct mdf_text *text, const struct mdf_schedule *schedule, size_t n_times)
{
    if (schedule->is_absolute) {
        mdf_text_printf(text, "a tick is %.17g ms; a set takes %" PRId64 " ticks, from tick %" PRId64 " on\n", schedule->tick_ms,
                        schedule->interval, schedule->start);
    }
    for (size_t i = 0; i < n_times; i++) {
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

    mdf_text_printf(text, "watch %zu: ", index);
    print_node(text, program, watch->node);
    if (watch->name != NULL) {
        mdf_text_append_string(text, " '");
        mdf_text_append_visible(text, watch->name);
        mdf_text_append_string(text, "'");
    }
    for (size_t i = 0; i < watch->n_indices; i++) {
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
    for (size_t i = 0; i < program->n_nodes; i++) {
        const struct mdf_schedule_node *node = &program->schedule->nodes[i];

        mdf_text_append_string(text, "node ");
        print_node(text, program, i);
        mdf_text_printf(text, ": condition %u\n", (unsigned)node->condition);
    }
    for (size_t i = 0; i < program->schedule->n_usables; i++) {
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
    for (size_t i = 0; i < code->n_bodies; i++) {
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
    size_t n_times = 0;

    mdf_text_append_string(text, "graph '");
    mdf_text_append_visible(text, program->graph_id);
    mdf_text_append_string(text, schedule == NULL ? "', without conditions\n" : "'\n");
    print_layers(text, program);
    if (schedule != NULL) {
        for (size_t i = 0; i < schedule->n_conditions; i++) {
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
        for (size_t i = 0; i < schedule->n_watches; i++) {
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
