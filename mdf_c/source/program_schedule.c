/* program_schedule.c - the order in which nodes run, as C: layer by layer, or as conditions over counters say, which is what
 * mdf_c/run/schedule/scheduler.c does. See docs/scheduling.md. */
#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/run/whole/whole_schedule.h"
#include "mdf_c/source/program_writer.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ without conditions */

static bool write_layers(struct mdf_source_program *program)
{
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_begin_function(program, "run_graph");
    mdf_source_line(writer, "const char *message;");
    mdf_source_blank(writer);
    for (size_t i = 0; i < program->graph->program->n_layers; i++) {
        mdf_source_line(writer, "observe(s, SIZE_MAX, 0, 0);");
        for (size_t j = 0; j < program->graph->program->layers[i].n_nodes; j++) {
            if (program->graph->take_functions[program->graph->program->layers[i].nodes[j]] != NULL) {
                mdf_source_checked_call(program, program->graph->take_functions[program->graph->program->layers[i].nodes[j]]);
            }
        }
        for (size_t j = 0; j < program->graph->program->layers[i].n_nodes; j++) {
            size_t node = program->graph->program->layers[i].nodes[j];

            mdf_source_line(writer, "observe(s, %zu, 0, 0);", node);
            mdf_source_checked_call(program, program->graph->node_functions[node]);
        }
    }
    if (program->graph->program->n_layers == 0) {
        mdf_source_line(writer, "(void)message;");
    }
    mdf_source_end_function(program, "run_graph", "Each layer once: a graph without conditions.");
    return true;
}

/* ------------------------------------------------------------------ fields and functions */

/* What conditions look at, so that nothing else need be counted. */
struct looked_at {
    bool counts[MDF_SCOPE_COUNT], have_run[MDF_SCOPE_COUNT], clocks[MDF_CLOCK_COUNT];
    bool last_sets;
    bool complains; /* something of which a condition may not be told */
};

static void note_looked_at(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    struct looked_at *found = context;

    if (what == MDF_READ_RUNS || what == MDF_READ_ALL_RUNS || what == MDF_READ_USABLE) {
        found->counts[scope] = true;
    }
    found->have_run[scope] = found->have_run[scope] || what == MDF_READ_ALL_RUNS;
    found->last_sets = found->last_sets || what == MDF_READ_LAST_SET;
    found->complains = found->complains || what == MDF_READ_LAST_SET || what == MDF_READ_TIME || what == MDF_READ_VALUE;
    if (what == MDF_READ_CLOCK) {
        found->clocks[index] = true;
    }
}

static struct looked_at find_looked_at(const struct mdf_program *program)
{
    const struct mdf_schedule *schedule = program->schedule;
    struct looked_at found = {.clocks = {[MDF_CLOCK_PASSES_IN_UPDATE] = true}};

    for (uint32_t i = 0; i < schedule->n_conditions; i = schedule->conditions[i].end) {
        mdf_conditions_read(schedule, i, note_looked_at, &found);
    }
    for (uint32_t i = 0; i < MDF_CLOCK_COUNT && schedule->steady.known; i++) {
        found.clocks[i] = found.clocks[i] || schedule->steady.clocks[i] >= 0;
    }
    found.counts[MDF_SCOPE_UPDATE] = found.counts[MDF_SCOPE_UPDATE] || schedule->n_usables > 0;
    for (uint32_t i = 0; i < program->n_nodes; i++) { /* which run in an evaluation is a node's first */
        found.counts[MDF_SCOPE_UPDATE] = found.counts[MDF_SCOPE_UPDATE] || program->nodes[i].reset < program->nodes[i].initial;
    }
    return found;
}

static void append_fields(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;
    struct mdf_text *fields = &program->fields;
    size_t n = program->graph->program->n_nodes > 0 ? program->graph->program->n_nodes : 1;

    mdf_text_printf(fields,
                    "\n    /* The scheduler: runs of each node in the pass, in the evaluation and in all; clocks; and what lasts "
                    "between. */\n"
                    "    uint64_t counts[%d][%zu], n_have_run[%d], marks[%zu], spent[%zu], last_sets[%zu];\n"
                    "    uint64_t n_sets, clocks[%d], n_idle;\n"
                    "    int64_t tick;\n"
                    "    bool in_set[%zu], has_changed;\n",
                    (int)MDF_SCOPE_COUNT, n, (int)MDF_SCOPE_COUNT, schedule->n_usables + 1, schedule->n_spent + 1, n,
                    (int)MDF_CLOCK_COUNT, n);
}

/* What puts a node into a set. */
static void append_helpers(struct mdf_source_program *program)
{
    struct looked_at looked_at = find_looked_at(program->graph->program);
    struct mdf_text *functions = &program->functions;

    mdf_text_printf(functions, "/* A node is put into the set. */\n%s void count_run(struct %s *s, size_t node)\n{\n",
                    mdf_source_linkage(program), program->name);
    for (int scope = 0; scope < MDF_SCOPE_COUNT; scope++) {
        if (looked_at.have_run[scope]) {
            mdf_text_printf(functions, "    s->n_have_run[%d] += s->counts[%d][node] == 0;\n", scope, scope);
        }
        if (looked_at.counts[scope]) {
            mdf_text_printf(functions, "    s->counts[%d][node]++;\n", scope);
        }
    }
    mdf_text_printf(functions, "    s->in_set[node] = true;\n}\n\n");
}

static bool write_predicate(struct mdf_source_program *program, const char *function, uint32_t condition)
{
    const char *text = mdf_source_condition(program, condition);

    if (text == NULL) {
        return false;
    }
    mdf_text_printf(&program->functions, "%s bool %s(struct %s *s)\n{\n    (void)s;\n    return %s;\n}\n\n",
                    mdf_source_linkage(program), function, program->name, text);
    return true;
}

/* What else has to hold where a condition is asked. */
static const char *unless_it_complains(struct mdf_source_program *program)
{
    return find_looked_at(program->graph->program).complains ? " && s->message == NULL" : "";
}

/* Puts nodes of a layer whose conditions hold into the set; where they decide on each other, in rounds, until one adds none. */
static bool write_make_set(struct mdf_source_program *program, size_t layer, const char *name)
{
    const struct mdf_program_layer *own = &program->graph->program->layers[layer];
    const struct mdf_schedule *schedule = program->graph->program->schedule;
    struct mdf_source_writer *writer = &program->writer;
    bool mutual = mdf_whole_is_mutual(schedule, own), complains = find_looked_at(program->graph->program).complains;

    mdf_source_begin_function(program, name);
    mdf_source_line(writer, mutual ? "size_t n_in_set = 0, n_before;" : "size_t n_in_set = 0;");
    mdf_source_blank(writer);
    if (mutual) {
        mdf_source_line(writer, "do {");
        writer->depth++;
        mdf_source_line(writer, "n_before = n_in_set;");
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        size_t node = own->nodes[i];
        const struct mdf_schedule_node *conditions = &schedule->nodes[node];
        const char *text = mdf_source_condition(program, conditions->condition);

        if (text == NULL) {
            return false;
        }
        mdf_source_open(writer, "if (%s%s%s)", mutual ? mdf_source_text(writer, "!s->in_set[%zu] && ", node) : "", text,
                        unless_it_complains(program));
        mdf_source_line(writer, "count_run(s, %zu); /* %s */", node,
                        mdf_source_comment(writer, program->graph->program->nodes[node].id));
        for (uint32_t k = conditions->first_usable; k < conditions->first_usable + conditions->n_usables; k++) {
            mdf_source_line(writer, "s->marks[%u] = s->counts[%d][%u]%s;", (unsigned)k, (int)MDF_SCOPE_UPDATE,
                            (unsigned)schedule->usables[k].dependency, schedule->usables[k].own ? " - 1" : "");
        }
        mdf_source_line(writer, "n_in_set++;");
        mdf_source_close(writer);
        if (complains) {
            mdf_source_open(writer, "if (s->message != NULL)");
            mdf_source_line(writer, "return s->message;");
            mdf_source_close(writer);
        }
    }
    if (mutual) {
        writer->depth--;
        mdf_source_line(writer, "} while (n_in_set != n_before && n_in_set < %zu);", own->n_nodes);
    }
    mdf_source_line(writer, "*n = n_in_set;");
    return true;
}

/* The nodes of the set, in the order of the file. */
static void write_run_set(struct mdf_source_program *program, size_t layer)
{
    const struct mdf_program_layer *own = &program->graph->program->layers[layer];
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_line(writer, "open_set(s);");
    for (size_t i = 0; i < own->n_nodes; i++) { /* all take before one of them runs, where it matters */
        if (program->graph->take_functions[own->nodes[i]] != NULL) {
            mdf_source_open(writer, "if (s->in_set[%zu])", own->nodes[i]);
            mdf_source_checked_call(program, program->graph->take_functions[own->nodes[i]]);
            mdf_source_close(writer);
        }
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        size_t node = own->nodes[i];

        mdf_source_open(writer, "if (s->in_set[%zu])", node);
        mdf_source_line(writer, "s->in_set[%zu] = false;", node);
        if (find_looked_at(program->graph->program).last_sets) {
            mdf_source_line(writer, "s->last_sets[%zu] = s->n_sets;", node);
        }
        mdf_source_line(writer, "observe(s, %zu, s->clocks[%d], s->tick);", node, (int)MDF_CLOCK_PASSES_IN_UPDATE);
        mdf_source_checked_call(program, program->graph->node_functions[node]);
        mdf_source_close(writer);
    }
    mdf_source_line(writer, "end_set(s);");
}

static bool write_layer(struct mdf_source_program *program, size_t layer)
{
    struct mdf_source_writer *writer = &program->writer;
    const char *name = mdf_source_text(writer, "run_layer_%zu", layer);
    struct mdf_text *functions = &program->functions;

    if (!write_make_set(program, layer, name)) {
        return false;
    }
    mdf_source_open(writer, program->graph->program->schedule->is_absolute ? "if (true)" : "if (n_in_set > 0)");
    write_run_set(program, layer);
    mdf_source_close(writer);
    mdf_text_printf(functions, "/* Layer %zu: a set of those whose conditions hold, and their run; *n is how many they are. */\n",
                    layer);
    mdf_text_printf(functions, "%s const char *%s(struct %s *s, size_t *n)\n{\n    const char *message;\n\n    (void)message;\n",
                    mdf_source_linkage(program), name, program->name);
    mdf_text_append(functions, writer->body.bytes, writer->body.length);
    mdf_text_append_string(functions, "    return NULL;\n}\n\n");
    functions->failed = functions->failed || writer->body.failed;
    return true;
}

/* A clock goes on, where something looks at it. */
static void append_tick(struct mdf_source_program *program, enum mdf_clock clock, const char *indent)
{
    if (find_looked_at(program->graph->program).clocks[clock]) {
        mdf_text_printf(&program->functions, "%ss->clocks[%d]++;\n", indent, (int)clock);
    }
}

static void append_sets(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;

    mdf_text_printf(&program->functions,
                    "%s void open_set(struct %s *s)\n{\n%s    observe(s, SIZE_MAX, s->clocks[%d], s->tick);\n}\n\n"
                    "/* A set is over: clocks go on. */\n%s void end_set(struct %s *s)\n{\n    (void)s;\n",
                    mdf_source_linkage(program), program->name,
                    find_looked_at(program->graph->program).last_sets ? "    s->n_sets++;\n" : "",
                    (int)MDF_CLOCK_PASSES_IN_UPDATE, mdf_source_linkage(program), program->name);
    append_tick(program, MDF_CLOCK_SETS_IN_UPDATE, "    ");
    append_tick(program, MDF_CLOCK_SETS_IN_LIFE, "    ");
    if (schedule->is_absolute) {
        mdf_text_printf(&program->functions, "    s->tick += %s;\n",
                        mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &schedule->interval));
    }
    mdf_text_append_string(&program->functions, "}\n\n");
}

static const char *counts_of(struct mdf_source_program *program, int scope)
{
    return mdf_source_text(&program->writer, "counts[%d]", scope);
}

/* Elements of a member become 0, one by one where there are few. */
static void append_zeros(struct mdf_text *functions, const char *member, size_t n)
{
    if (n > MDF_SOURCE_FEW_NODES) {
        mdf_text_printf(functions, "    memset(s->%s, 0, sizeof s->%s);\n", member, member);
    }
    for (size_t i = 0; n <= MDF_SOURCE_FEW_NODES && i < n; i++) {
        mdf_text_printf(functions, "    s->%s[%zu] = 0;\n", member, i);
    }
}

static void append_pass(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;
    bool complains = find_looked_at(program->graph->program).complains;
    struct mdf_text *functions = &program->functions;

    mdf_text_printf(functions,
                    "%s const char *run_pass(struct %s *s)\n{\n    size_t n_in_pass = 0, n = 0;\n    const char *message;\n\n",
                    mdf_source_linkage(program), program->name);
    if (find_looked_at(program->graph->program).counts[MDF_SCOPE_PASS]) {
        append_zeros(functions, counts_of(program, MDF_SCOPE_PASS), program->graph->program->n_nodes);
        mdf_text_printf(functions, "    s->n_have_run[%d] = 0;\n", (int)MDF_SCOPE_PASS);
    }
    for (size_t i = 0; i < program->graph->program->n_layers; i++) {
        mdf_text_printf(functions,
                        "    if (is_over(s)%s) {\n        goto end;\n    }\n"
                        "    message = run_layer_%zu(s, &n);\n    if (message != NULL) {\n        return message;\n    }\n    "
                        "n_in_pass += n;\n",
                        complains ? " || s->message != NULL" : "", i);
    }
    mdf_text_append_string(functions, program->graph->program->n_layers > 0 ? "end:\n    (void)message;\n"
                                                                            : "    (void)message;\n    (void)n;\n");
    if (complains) {
        mdf_text_append_string(functions, "    if (s->message != NULL) {\n        return s->message;\n    }\n");
    }
    if (!schedule->is_absolute) {
        mdf_text_append_string(functions, "    if (n_in_pass == 0) {\n        open_set(s);\n        end_set(s);\n    }\n");
    }
    mdf_text_append_string(functions, "    s->has_changed = s->has_changed || n_in_pass > 0;\n    return NULL;\n}\n\n");
}

/* Clocks are past all that the conditions compare them with: from then on what does not change never will. */
static void append_is_steady(struct mdf_source_program *program)
{
    const struct mdf_steady_state *steady = &program->graph->program->schedule->steady;
    struct mdf_text *functions = &program->functions;

    mdf_text_printf(functions, "%s bool is_steady(const struct %s *s)\n{\n    (void)s;\n    return ", mdf_source_linkage(program),
                    program->name);
    if (!steady->known) {
        mdf_text_append_string(functions, "false;\n}\n\n");
        return;
    }
    for (size_t i = 0; i < MDF_CLOCK_COUNT; i++) {
        if (steady->clocks[i] < 0) {
            continue;
        }
        mdf_text_printf(functions, "!((double)s->clocks[%zu] <= %s) && ", i,
                        mdf_source_literal(&program->writer, MDF_DTYPE_FLOAT64, &steady->clocks[i]));
    }
    if (steady->time == INT64_MIN) { /* no condition asks for the time */
        mdf_text_append_string(functions, "true;\n}\n\n");
        return;
    }
    mdf_text_printf(functions, "s->tick > %s;\n}\n\n", mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &steady->time));
}

/* Counts and clocks of an evaluation begin. */
static void append_beginning(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;
    struct mdf_text *functions = &program->functions;
    int update = MDF_SCOPE_UPDATE, pass = MDF_SCOPE_PASS;

    append_zeros(functions, counts_of(program, pass), program->graph->program->n_nodes);
    append_zeros(functions, counts_of(program, update), program->graph->program->n_nodes);
    append_zeros(functions, "in_set", program->graph->program->n_nodes);
    append_zeros(functions, "marks", schedule->n_usables);
    mdf_text_printf(
        functions, "    s->n_have_run[%d] = s->n_have_run[%d] = 0;\n    s->clocks[%d] = s->clocks[%d] = 0;\n    s->n_idle = 0;\n",
        pass, update, (int)MDF_CLOCK_PASSES_IN_UPDATE, (int)MDF_CLOCK_SETS_IN_UPDATE);
    if (schedule->is_absolute) {
        const char *start = mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &schedule->start);

        mdf_text_printf(functions, "    s->tick = s->tick < %s ? %s : s->tick;\n", start, start);
    }
}

static void append_passes(struct mdf_source_program *program, bool is_known)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;
    struct mdf_text *functions = &program->functions;
    unsigned long long most = program->graph->program->max_passes;
    bool complains = find_looked_at(program->graph->program).complains;

    mdf_text_printf(functions,
                    "/* Passes until the evaluation is over. */\n%s const char *run_graph(struct %s *s)\n{\n    const "
                    "char *message;\n\n",
                    mdf_source_linkage(program), program->name);
    if (is_known) {
        mdf_text_append_string(functions, "    if (s->observer == NULL) {\n        return run_known_order(s);\n    }\n");
    }
    append_beginning(program);
    mdf_text_printf(functions,
                    "    while ((s->has_changed = false, !is_over(s))%s) {\n        bool was_steady = is_steady(s);\n\n"
                    "        message = run_pass(s);\n        if (message != NULL) {\n            return message;\n        }\n",
                    unless_it_complains(program));
    append_tick(program, MDF_CLOCK_PASSES_IN_UPDATE, "        ");
    append_tick(program, MDF_CLOCK_PASSES_IN_LIFE, "        ");
    mdf_text_printf(
        functions,
        "        if (s->has_changed || !was_steady) {\n            s->n_idle = 0;\n"
        "        } else if (++s->n_idle > UINT64_C(%llu)) {\n"
        "            return \"the evaluation can never end: no node can run any more, and the termination does not hold\";\n     "
        "   }\n"
        "        if (s->clocks[%d] >= UINT64_C(%llu)) {\n"
        "            return \"the evaluation has not ended after %llu passes\";\n        }\n    }\n%s",
        (unsigned long long)schedule->steady.period, (int)MDF_CLOCK_PASSES_IN_UPDATE, most, most,
        complains ? "    if (s->message != NULL) {\n        return s->message;\n    }\n" : "");
    append_tick(program, MDF_CLOCK_UPDATES, "    ");
    mdf_text_append_string(functions, "    ends_sequence(s); /* looked at once more, as it counts for an NWhen in it */\n");
    mdf_text_printf(functions, "    return %s;\n}\n\n", complains ? "s->message" : "NULL");
}

static bool write_scheduler(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;

    append_fields(program);
    append_helpers(program);
    append_sets(program);
    if (!write_predicate(program, "ends_update", schedule->end_of_update) ||
        !write_predicate(program, "ends_sequence", schedule->end_of_sequence)) {
        return false;
    }
    mdf_text_printf(&program->functions,
                    "%s bool is_over(struct %s *s)\n{\n    return ends_update(s) || ends_sequence(s);\n}\n\n",
                    mdf_source_linkage(program), program->name);
    for (size_t i = 0; i < program->graph->program->n_layers; i++) {
        if (!write_layer(program, i)) {
            return false;
        }
    }
    append_pass(program);
    append_is_steady(program);
    append_passes(program, mdf_source_write_known_order(program));
    return true;
}

bool mdf_source_write_order(struct mdf_source_program *program)
{
    return program->graph->program->schedule != NULL ? write_scheduler(program) : write_layers(program);
}
