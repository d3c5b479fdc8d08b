/* program_schedule.c - the order in which nodes run, as C: layer by layer, or as conditions over counters say, which is what
 * mdf_c/run/schedule/scheduler.c does. See docs/scheduling.md. */
#include "mdf_c/source/program_writer.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ without conditions */

static const char *node_call(struct mdf_source_program *program, size_t node)
{
    return mdf_source_text(&program->writer, "%s(s)", program->node_functions[node]);
}

static void write_checked(struct mdf_source_program *program, const char *call)
{
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_line(writer, "message = %s;", call);
    mdf_source_open(writer, "if (message != NULL)");
    mdf_source_line(writer, "return message;");
    mdf_source_close(writer);
}

static bool write_layers(struct mdf_source_program *program)
{
    struct mdf_source_writer *writer = &program->writer;
    size_t i, j;

    mdf_source_begin_function(program, "run_graph");
    mdf_source_line(writer, "const char *message;");
    mdf_source_blank(writer);
    for (i = 0; i < program->program->n_layers; i++) {
        mdf_source_line(writer, "observe(s, SIZE_MAX, 0, 0);");
        for (j = 0; j < program->program->layers[i].n_nodes; j++) {
            size_t node = program->program->layers[i].nodes[j];

            mdf_source_line(writer, "observe(s, %zu, 0, 0);", node);
            write_checked(program, node_call(program, node));
        }
    }
    if (program->program->n_layers == 0) {
        mdf_source_line(writer, "(void)message;");
    }
    mdf_source_end_function(program, "run_graph", "Each layer once: a graph without conditions.");
    return true;
}

/* ------------------------------------------------------------------ conditions */

static const char *const comparisons[] = {
    [MDF_COMPARISON_LESS] = "<",       [MDF_COMPARISON_AT_MOST] = "<=", [MDF_COMPARISON_EQUAL] = "==",
    [MDF_COMPARISON_NOT_EQUAL] = "!=", [MDF_COMPARISON_GREATER] = ">",  [MDF_COMPARISON_AT_LEAST] = ">="};

static const char *number(struct mdf_source_program *program, double value)
{
    return mdf_source_literal(&program->writer, MDF_DTYPE_FLOAT64, &value);
}

/* `left` is a count. Where `right` is a whole number they are compared as such, which is the same and takes less time. */
static const char *compared(struct mdf_source_program *program, const char *left, uint8_t comparison, double right)
{
    if (right >= 0 && right < 0x1p53 && right == floor(right) && (comparison != MDF_COMPARISON_MULTIPLE || right > 0)) {
        return comparison == MDF_COMPARISON_MULTIPLE
                   ? mdf_source_text(&program->writer, "%s %% %llu == 0", left, (unsigned long long)right)
                   : mdf_source_text(&program->writer, "%s %s UINT64_C(%llu)", left, comparisons[comparison],
                                     (unsigned long long)right);
    }
    return comparison == MDF_COMPARISON_MULTIPLE
               ? mdf_source_text(&program->writer, "fmod((double)%s, %s) == 0", left, number(program, right))
               : mdf_source_text(&program->writer, "(double)%s %s %s", left, comparisons[comparison], number(program, right));
}

static const char *quoted_at(struct mdf_source_program *program, const struct mdf_condition *condition, const char *message)
{
    const struct mdf_origin *origin = &program->program->code->origins[condition->origin];

    return mdf_source_quote_message(&program->writer, "%s: %s", origin->path != NULL ? origin->path : "a condition", message);
}

/* What conditions look at, so that nothing else need be counted. */
struct looked_at {
    bool counts[MDF_SCOPE_COUNT], have_run[MDF_SCOPE_COUNT], last_sets;
};

static struct looked_at find_looked_at(const struct mdf_schedule *schedule)
{
    struct looked_at found = {{false, false, false}, {false, false, false}, false};
    size_t i;

    for (i = 0; i < schedule->n_conditions; i++) {
        const struct mdf_condition *condition = &schedule->conditions[i];

        switch ((enum mdf_condition_kind)condition->kind) {
        case MDF_CONDITION_CALLS:
        case MDF_CONDITION_CALLS_SUM:
        case MDF_CONDITION_HAVE_RUN:
            found.counts[condition->scope] = true;
            break;
        case MDF_CONDITION_ALL_HAVE_RUN:
            found.counts[condition->scope] = found.have_run[condition->scope] = true;
            break;
        case MDF_CONDITION_USABLE_CALLS:
        case MDF_CONDITION_FINISHED_ANY:
        case MDF_CONDITION_FINISHED_ALL:
            found.counts[MDF_SCOPE_UPDATE] = true;
            break;
        case MDF_CONDITION_JUST_RAN:
            found.last_sets = true;
            break;
        case MDF_CONDITION_CONSTANT:
        case MDF_CONDITION_ALL:
        case MDF_CONDITION_ANY:
        case MDF_CONDITION_NOT:
        case MDF_CONDITION_N_WHEN:
        case MDF_CONDITION_CLOCK:
        case MDF_CONDITION_TIME:
        case MDF_CONDITION_THRESHOLD:
            break;
        }
    }
    found.counts[MDF_SCOPE_UPDATE] = found.counts[MDF_SCOPE_UPDATE] || schedule->n_usables > 0;
    return found;
}

/* Helpers of conditions, by name. */
static const char *complain(struct mdf_source_program *program)
{
    return mdf_source_helper(
        &program->writer, "complain",
        mdf_source_text(
            &program->writer,
            "/* A condition can not be told. */\nstatic inline double mdf_complain(struct %s *s, const char *message)\n{\n"
            "    s->message = s->message != NULL ? s->message : message;\n    return 0;\n}\n",
            program->name));
}

static const char *spend(struct mdf_source_program *program)
{
    return mdf_source_helper(
        &program->writer, "spend",
        mdf_source_text(&program->writer,
                        "/* NWhen: one of its times is used up. */\nstatic inline bool mdf_spend(struct %s *s, size_t index)\n{\n"
                        "    s->spent[index]++;\n    s->has_changed = true;\n    return true;\n}\n",
                        program->name));
}

static const char *is_close(struct mdf_source_program *program)
{
    return mdf_source_helper(&program->writer, "is_close",
                             "static inline bool mdf_is_close(double value, double limit, double absolute, double relative)\n{\n"
                             "    return value == limit || (isfinite(value) && isfinite(limit) && fabs(value - limit) <= "
                             "absolute + relative * fabs(limit));\n"
                             "}\n");
}

/* The element of a value that the indices lead to; false: there is none. */
static bool find_element(const struct mdf_value *value, const int64_t *indices, size_t n, size_t *element)
{
    size_t axis, step = value->length;

    *element = 0;
    for (axis = 0; axis < n && axis < value->rank; axis++) {
        int64_t size = mdf_value_shape(value)[axis], index = indices[axis] < 0 ? indices[axis] + size : indices[axis];

        if (index < 0 || index >= size) {
            return false;
        }
        step /= (size_t)size;
        *element += (size_t)index * step;
    }
    return value->kind == MDF_KIND_TENSOR && step == 1 && n <= value->rank;
}

/* What a value counts as before its node has run. */
static const char *initial_number(struct mdf_source_program *program, const struct mdf_condition *condition,
                                  const struct mdf_watch *watch)
{
    return watch->has_initial ? number(program, watch->initial)
                              : mdf_source_text(&program->writer, "%s(s, %s)", complain(program),
                                                quoted_at(program, condition,
                                                          "the value that it looks at is not there before its node has run; give "
                                                          "it a default_initial_value"));
}

/* What an input port counts as that holds nothing unread. */
static const char *spent_number(struct mdf_source_program *program, const struct mdf_condition *condition,
                                const struct mdf_watch *watch)
{
    return watch->has_initial && watch->initial == 0 ? "0.0"
                                                     : mdf_source_text(&program->writer, "(s->has_run[%zu] ? 0.0 : %s)",
                                                                       watch->node, initial_number(program, condition, watch));
}

static bool not_one_number(struct mdf_source_program *program, const struct mdf_condition *condition,
                           const struct mdf_watch *watch)
{
    mdf_source_at(&program->writer,
                  mdf_source_text(&program->writer, "the condition on '%s' of node '%s'", watch->name,
                                  program->program->nodes[watch->node].id),
                  &program->program->code->origins[condition->origin]);
    return mdf_source_refuse(&program->writer, "it looks at what is not one number");
}

/* The number that a watch sees, as an expression. */
static bool watched_number(struct mdf_source_program *program, const struct mdf_condition *condition,
                           const struct mdf_watch *watch, const char **text)
{
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, watch->value);
    const struct mdf_value *value = mdf_frame_value(program->state->frame, watch->value);
    size_t element = 0;
    bool is_number = slot != NULL && find_element(value, watch->indices, watch->n_indices, &element);

    if (is_number) {
        *text = mdf_source_text(&program->writer, "(double)%s", mdf_source_operand_element(program, slot, element));
    }
    if (watch->is_input && (watch->port == SIZE_MAX || (slot == NULL && value->kind == MDF_KIND_NONE))) {
        *text = spent_number(program, condition, watch); /* nothing ever waits there to be read */
        return true;
    }
    if (watch->is_input) {
        *text = is_number ? mdf_source_text(&program->writer, "(s->has_value[%zu] ? %s : %s)", watch->port, *text,
                                            spent_number(program, condition, watch))
                          : NULL;
    } else if (!is_number && !watch->always && !program->state->has_run[watch->node] && watch->has_initial) {
        *text = number(program, watch->initial);
        return true;
    } else if (is_number && !watch->always) {
        *text = mdf_source_text(&program->writer, "(s->has_run[%zu] ? %s : %s)", watch->node, *text,
                                initial_number(program, condition, watch));
    }
    return is_number || not_one_number(program, condition, watch);
}

static bool express_threshold(struct mdf_source_program *program, const struct mdf_condition *condition, const char **text)
{
    struct mdf_source_writer *writer = &program->writer;
    const struct mdf_watch *watch = &program->program->schedule->watches[condition->index];
    const char *value;

    if (!watched_number(program, condition, watch, &value)) {
        return false;
    }
    if (condition->comparison != MDF_COMPARISON_EQUAL && condition->comparison != MDF_COMPARISON_NOT_EQUAL) {
        *text =
            condition->comparison == MDF_COMPARISON_MULTIPLE
                ? mdf_source_text(writer, "fmod(%s, %s) == 0", value, number(program, condition->n))
                : mdf_source_text(writer, "%s %s %s", value, comparisons[condition->comparison], number(program, condition->n));
        return true;
    }
    *text = mdf_source_text(writer, "%s(%s, %s, %s, %s) == %s", is_close(program), value, number(program, condition->n),
                            number(program, watch->absolute_tolerance), number(program, watch->relative_tolerance),
                            condition->comparison == MDF_COMPARISON_EQUAL ? "true" : "false");
    return true;
}

static bool express_finished(struct mdf_source_program *program, const struct mdf_condition *condition, const char **text)
{
    struct mdf_source_writer *writer = &program->writer;
    bool all = condition->kind == MDF_CONDITION_FINISHED_ALL;
    uint32_t i;

    *text = "";
    for (i = 0; i < condition->n_items; i++) {
        const struct mdf_watch *watch = &program->program->schedule->watches[condition->index + i];
        struct mdf_watch seen = *watch;
        const char *one, *value;

        seen.always = true; /* asked only once the node has run */
        if (watch->value == MDF_NO_OPERAND) {
            one = mdf_source_text(writer, "s->counts[%d][%zu] > 0", (int)MDF_SCOPE_UPDATE, watch->node);
        } else if (!program->state->has_run[watch->node]) {
            one = "false";
        } else {
            if (!watched_number(program, condition, &seen, &value)) {
                return false;
            }
            one = mdf_source_text(writer, "(s->has_run[%zu] && %s != 0)", watch->node, value);
        }
        *text = i == 0 ? one : mdf_source_text(writer, "%s %s %s", *text, all ? "&&" : "||", one);
    }
    *text = condition->n_items == 0 ? (all ? "true" : "false") : mdf_source_text(writer, "(%s)", *text);
    return true;
}

static const char *express_list(struct mdf_source_program *program, const struct mdf_condition *condition)
{
    struct mdf_source_writer *writer = &program->writer;
    const uint32_t *nodes = program->program->schedule->node_lists;
    bool sums = condition->kind == MDF_CONDITION_CALLS_SUM;
    const char *text = "";
    uint32_t i;

    for (i = 0; i < condition->n_items; i++) {
        text = mdf_source_text(writer, "%s%ss->counts[%u][%u]%s", text,
                               i == 0 ? ""
                               : sums ? " + "
                                      : " && ",
                               (unsigned)condition->scope, (unsigned)nodes[condition->index + i], sums ? "" : " > 0");
    }
    if (sums) {
        return compared(program, mdf_source_text(writer, "(%s)", text[0] != '\0' ? text : "0"), MDF_COMPARISON_AT_LEAST,
                        condition->n);
    }
    return mdf_source_text(writer, "(%s)", text[0] != '\0' ? text : "true");
}

static const char *express_time(struct mdf_source_program *program, const struct mdf_time_window *window)
{
    struct mdf_source_writer *writer = &program->writer;
    const char *text =
        mdf_source_text(writer, "s->tick >= %s && s->tick <= %s", mdf_source_literal(writer, MDF_DTYPE_INT64, &window->first),
                        mdf_source_literal(writer, MDF_DTYPE_INT64, &window->last));

    if (window->repeat != 0) {
        text = mdf_source_text(writer, "%s && (s->tick - %s) %% %s == 0", text,
                               mdf_source_literal(writer, MDF_DTYPE_INT64, &window->offset),
                               mdf_source_literal(writer, MDF_DTYPE_INT64, &window->repeat));
    }
    return mdf_source_text(writer, "(%s)", text);
}

static bool express_condition(struct mdf_source_program *program, uint32_t index, const char **text);

/* All, Any, Not, NWhen. */
static bool express_composite(struct mdf_source_program *program, uint32_t index, const char **text)
{
    const struct mdf_condition *conditions = program->program->schedule->conditions, *condition = &conditions[index];
    struct mdf_source_writer *writer = &program->writer;
    const char *parts = "", *part;
    uint32_t i;

    for (i = index + 1; i < condition->end; i = conditions[i].end) {
        if (!express_condition(program, i, &part)) {
            return false;
        }
        parts = mdf_source_text(writer, "%s%s%s", parts,
                                i == index + 1                         ? ""
                                : condition->kind == MDF_CONDITION_ALL ? " && "
                                                                       : " || ",
                                part);
    }
    if (parts[0] == '\0') {
        parts = condition->kind == MDF_CONDITION_ALL ? "true" : "false";
    }
    if (condition->kind == MDF_CONDITION_NOT) {
        *text = mdf_source_text(writer, "!(%s)", parts);
    } else if (condition->kind == MDF_CONDITION_N_WHEN) {
        *text = mdf_source_text(writer, "(%s && (%s) && %s(s, %u))",
                                compared(program, mdf_source_text(writer, "s->spent[%u]", (unsigned)condition->index),
                                         MDF_COMPARISON_LESS, condition->n),
                                parts, spend(program), (unsigned)condition->index);
    } else {
        *text = mdf_source_text(writer, "(%s)", parts);
    }
    return true;
}

static bool express_condition(struct mdf_source_program *program, uint32_t index, const char **text)
{
    const struct mdf_schedule *schedule = program->program->schedule;
    const struct mdf_condition *condition = &schedule->conditions[index];
    struct mdf_source_writer *writer = &program->writer;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        *text = condition->n != 0 ? "true" : "false";
        return true;
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_N_WHEN:
        return express_composite(program, index, text);
    case MDF_CONDITION_CALLS:
        *text = compared(program,
                         mdf_source_text(writer, "s->counts[%u][%u]", (unsigned)condition->scope, (unsigned)condition->index),
                         condition->comparison, condition->n);
        return true;
    case MDF_CONDITION_CALLS_SUM:
    case MDF_CONDITION_HAVE_RUN:
        *text = express_list(program, condition);
        return true;
    case MDF_CONDITION_USABLE_CALLS:
        *text = compared(program,
                         mdf_source_text(writer, "(s->counts[%d][%u] - s->marks[%u])", (int)MDF_SCOPE_UPDATE,
                                         (unsigned)schedule->usables[condition->index].dependency, (unsigned)condition->index),
                         MDF_COMPARISON_AT_LEAST, condition->n);
        return true;
    case MDF_CONDITION_CLOCK:
        *text = compared(program, mdf_source_text(writer, "s->clocks[%u]", (unsigned)condition->scope), condition->comparison,
                         condition->n);
        return true;
    case MDF_CONDITION_JUST_RAN:
        *text = mdf_source_text(
            writer, "(s->n_sets == 0 ? %s(s, %s) != 0 : s->last_sets[%u] == s->n_sets)", complain(program),
            quoted_at(program, condition,
                      "JustRan looks at the last execution set before there is any; let another condition go before it, as "
                      "All(AfterNPasses(1), JustRan(...))"),
            (unsigned)condition->index);
        return true;
    case MDF_CONDITION_ALL_HAVE_RUN:
        *text = mdf_source_text(writer, "s->n_have_run[%u] == %zu", (unsigned)condition->scope, program->program->n_nodes);
        return true;
    case MDF_CONDITION_TIME:
        *text = express_time(program, &schedule->times[condition->index]);
        return true;
    case MDF_CONDITION_THRESHOLD:
        return express_threshold(program, condition, text);
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        break;
    }
    return express_finished(program, condition, text);
}

/* ------------------------------------------------------------------ fields and functions */

static void append_fields(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->program->schedule;
    struct mdf_text *fields = &program->fields;
    size_t n = program->program->n_nodes > 0 ? program->program->n_nodes : 1;

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
    struct looked_at looked_at = find_looked_at(program->program->schedule);
    struct mdf_text *functions = &program->functions;
    int scope;

    mdf_text_printf(functions, "/* A node is put into the set. */\nstatic inline void count_run(struct %s *s, size_t node)\n{\n",
                    program->name);
    for (scope = 0; scope < MDF_SCOPE_COUNT; scope++) {
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
    const char *text;

    if (!express_condition(program, condition, &text)) {
        return false;
    }
    mdf_text_printf(&program->functions, "static inline bool %s(struct %s *s)\n{\n    (void)s;\n    return %s;\n}\n\n", function,
                    program->name, text);
    return true;
}

/* Puts nodes of a layer whose conditions hold into the set, in rounds, until a round adds none. */
static bool write_make_set(struct mdf_source_program *program, size_t layer, const char *name)
{
    const struct mdf_program_layer *own = &program->program->layers[layer];
    const struct mdf_schedule *schedule = program->program->schedule;
    struct mdf_source_writer *writer = &program->writer;
    size_t i;
    uint32_t k;

    mdf_source_begin_function(program, name);
    mdf_source_line(writer, "size_t n_in_set = 0, n_before;");
    mdf_source_blank(writer);
    mdf_source_line(writer, "do {");
    writer->depth++;
    mdf_source_line(writer, "n_before = n_in_set;");
    for (i = 0; i < own->n_nodes; i++) {
        size_t node = own->nodes[i];
        const struct mdf_schedule_node *conditions = &schedule->nodes[node];
        const char *text;

        if (!express_condition(program, conditions->condition, &text)) {
            return false;
        }
        mdf_source_open(writer, "if (!s->in_set[%zu] && %s && s->message == NULL)", node, text);
        mdf_source_line(writer, "count_run(s, %zu); /* %s */", node,
                        mdf_source_comment(writer, program->program->nodes[node].id));
        for (k = conditions->first_usable; k < conditions->first_usable + conditions->n_usables; k++) {
            mdf_source_line(writer, "s->marks[%u] = s->counts[%d][%u]%s;", (unsigned)k, (int)MDF_SCOPE_UPDATE,
                            (unsigned)schedule->usables[k].dependency, schedule->usables[k].own ? " - 1" : "");
        }
        mdf_source_line(writer, "n_in_set++;");
        mdf_source_close(writer);
        mdf_source_open(writer, "if (s->message != NULL)");
        mdf_source_line(writer, "return s->message;");
        mdf_source_close(writer);
    }
    writer->depth--;
    mdf_source_line(writer, "} while (n_in_set != n_before && n_in_set < %zu);", own->n_nodes);
    mdf_source_line(writer, "*n = n_in_set;");
    return true;
}

/* The nodes of the set, in the order of the file. */
static void write_run_set(struct mdf_source_program *program, size_t layer)
{
    const struct mdf_program_layer *own = &program->program->layers[layer];
    struct mdf_source_writer *writer = &program->writer;
    size_t i;

    mdf_source_line(writer, "open_set(s);");
    for (i = 0; i < own->n_nodes; i++) {
        size_t node = own->nodes[i];

        mdf_source_open(writer, "if (s->in_set[%zu])", node);
        mdf_source_line(writer, "s->in_set[%zu] = false;", node);
        if (find_looked_at(program->program->schedule).last_sets) {
            mdf_source_line(writer, "s->last_sets[%zu] = s->n_sets;", node);
        }
        mdf_source_line(writer, "observe(s, %zu, s->clocks[%d], s->tick);", node, (int)MDF_CLOCK_PASSES_IN_UPDATE);
        write_checked(program, node_call(program, node));
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
    mdf_source_open(writer, program->program->schedule->is_absolute ? "if (true)" : "if (n_in_set > 0)");
    write_run_set(program, layer);
    mdf_source_close(writer);
    mdf_text_printf(functions, "/* Layer %zu: a set of those whose conditions hold, and their run; *n is how many they are. */\n",
                    layer);
    mdf_text_printf(functions,
                    "static inline const char *%s(struct %s *s, size_t *n)\n{\n    const char *message;\n\n    (void)message;\n",
                    name, program->name);
    mdf_text_append(functions, writer->body.bytes, writer->body.length);
    mdf_text_append_string(functions, "    return NULL;\n}\n\n");
    functions->failed = functions->failed || writer->body.failed;
    return true;
}

static void append_sets(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->program->schedule;

    mdf_text_printf(
        &program->functions,
        "static inline void open_set(struct %s *s)\n{\n    s->n_sets++;\n    observe(s, SIZE_MAX, s->clocks[%d], s->tick);\n}\n\n"
        "/* A set is over: clocks go on. */\nstatic inline void end_set(struct %s *s)\n{\n    s->clocks[%d]++;\n    "
        "s->clocks[%d]++;\n",
        program->name, (int)MDF_CLOCK_PASSES_IN_UPDATE, program->name, (int)MDF_CLOCK_SETS_IN_UPDATE,
        (int)MDF_CLOCK_SETS_IN_LIFE);
    if (schedule->is_absolute) {
        mdf_text_printf(&program->functions, "    s->tick += %s;\n",
                        mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &schedule->interval));
    }
    mdf_text_append_string(&program->functions, "}\n\n");
}

static void append_pass(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->program->schedule;
    struct mdf_text *functions = &program->functions;
    size_t i;

    mdf_text_printf(
        functions,
        "static inline const char *run_pass(struct %s *s)\n{\n    size_t n_in_pass = 0, n = 0;\n    const char *message;\n\n",
        program->name);
    if (find_looked_at(schedule).counts[MDF_SCOPE_PASS]) {
        mdf_text_printf(functions, "    memset(s->counts[%d], 0, sizeof s->counts[%d]);\n    s->n_have_run[%d] = 0;\n",
                        (int)MDF_SCOPE_PASS, (int)MDF_SCOPE_PASS, (int)MDF_SCOPE_PASS);
    }
    for (i = 0; i < program->program->n_layers; i++) {
        mdf_text_printf(functions,
                        "    if (is_over(s) || s->message != NULL) {\n        goto end;\n    }\n"
                        "    message = run_layer_%zu(s, &n);\n    if (message != NULL) {\n        return message;\n    }\n    "
                        "n_in_pass += n;\n",
                        i);
    }
    mdf_text_append_string(functions,
                           program->program->n_layers > 0 ? "end:\n    (void)message;\n" : "    (void)message;\n    (void)n;\n");
    mdf_text_append_string(functions, "    if (s->message != NULL) {\n        return s->message;\n    }\n");
    if (!schedule->is_absolute) {
        mdf_text_append_string(functions, "    if (n_in_pass == 0) {\n        open_set(s);\n        end_set(s);\n    }\n");
    }
    mdf_text_append_string(functions, "    s->has_changed = s->has_changed || n_in_pass > 0;\n    return NULL;\n}\n\n");
}

/* Clocks are past all that the conditions compare them with: from then on what does not change never will. */
static void append_settled(struct mdf_source_program *program)
{
    const struct mdf_settlement *settlement = &program->program->schedule->settlement;
    struct mdf_text *functions = &program->functions;
    size_t i;

    mdf_text_printf(functions, "static inline bool is_settled(const struct %s *s)\n{\n    (void)s;\n    return ", program->name);
    if (!settlement->known) {
        mdf_text_append_string(functions, "false;\n}\n\n");
        return;
    }
    for (i = 0; i < MDF_CLOCK_COUNT; i++) {
        if (settlement->clocks[i] < 0) {
            continue;
        }
        mdf_text_printf(functions, "!((double)s->clocks[%zu] <= %s) && ", i, number(program, settlement->clocks[i]));
    }
    mdf_text_printf(functions, "s->tick > %s;\n}\n\n", mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &settlement->time));
}

static void append_passes(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->program->schedule;
    struct mdf_text *functions = &program->functions;
    int update = MDF_SCOPE_UPDATE, pass = MDF_SCOPE_PASS;

    mdf_text_printf(functions,
                    "/* Passes until the evaluation is over. */\nstatic inline const char *run_graph(struct %s *s)\n{\n    const "
                    "char *message;\n\n"
                    "    memset(s->counts[%d], 0, sizeof s->counts[%d]);\n    memset(s->counts[%d], 0, sizeof s->counts[%d]);\n"
                    "    memset(s->in_set, 0, sizeof s->in_set);\n"
                    "    s->n_have_run[%d] = s->n_have_run[%d] = 0;\n    memset(s->marks, 0, sizeof s->marks);\n"
                    "    s->clocks[%d] = s->clocks[%d] = 0;\n    s->n_idle = 0;\n",
                    program->name, pass, pass, update, update, pass, update, (int)MDF_CLOCK_PASSES_IN_UPDATE,
                    (int)MDF_CLOCK_SETS_IN_UPDATE);
    if (schedule->is_absolute) {
        const char *start = mdf_source_literal(&program->writer, MDF_DTYPE_INT64, &schedule->start);

        mdf_text_printf(functions, "    s->tick = s->tick < %s ? %s : s->tick;\n", start, start);
    }
    mdf_text_printf(
        functions,
        "    while ((s->has_changed = false, !is_over(s)) && s->message == NULL) {\n        bool was_settled = is_settled(s);\n\n"
        "        message = run_pass(s);\n        if (message != NULL) {\n            return message;\n        }\n"
        "        s->clocks[%d]++;\n        s->clocks[%d]++;\n"
        "        s->n_idle = s->has_changed || !was_settled ? 0 : s->n_idle + 1;\n"
        "        if (s->n_idle > UINT64_C(%llu)) {\n"
        "            return \"the evaluation can never end: no node can run any more, and the termination does not hold\";\n     "
        "   }\n"
        "        if (s->clocks[%d] >= UINT64_C(%llu)) {\n"
        "            return \"the evaluation has not ended after %llu passes\";\n        }\n    }\n",
        (int)MDF_CLOCK_PASSES_IN_UPDATE, (int)MDF_CLOCK_PASSES_IN_LIFE, (unsigned long long)schedule->settlement.period,
        (int)MDF_CLOCK_PASSES_IN_UPDATE, (unsigned long long)program->program->max_passes,
        (unsigned long long)program->program->max_passes);
    mdf_text_printf(functions,
                    "    if (s->message == NULL) {\n        s->clocks[%d]++;\n        ends_sequence(s); /* looked at once more, "
                    "as it counts for an NWhen in "
                    "it */\n    }\n    return s->message;\n}\n\n",
                    (int)MDF_CLOCK_UPDATES);
}

static bool write_scheduler(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->program->schedule;
    size_t i;

    append_fields(program);
    append_helpers(program);
    append_sets(program);
    if (!write_predicate(program, "ends_update", schedule->end_of_update) ||
        !write_predicate(program, "ends_sequence", schedule->end_of_sequence)) {
        return false;
    }
    mdf_text_printf(&program->functions,
                    "static inline bool is_over(struct %s *s)\n{\n    return ends_update(s) || ends_sequence(s);\n}\n\n",
                    program->name);
    for (i = 0; i < program->program->n_layers; i++) {
        if (!write_layer(program, i)) {
            return false;
        }
    }
    append_pass(program);
    append_settled(program);
    append_passes(program);
    return true;
}

bool mdf_source_write_order(struct mdf_source_program *program)
{
    return program->program->schedule != NULL ? write_scheduler(program) : write_layers(program);
}
