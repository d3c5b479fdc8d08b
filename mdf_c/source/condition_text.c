/* condition_text.c - scheduling conditions as texts in C: the terms of mdf_c/plan/conditions/condition_terms.h. */
#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/source/program_writer.h"

#include <math.h>
#include <string.h>

static const char *const comparisons[] = {
    [MDF_COMPARISON_LESS] = "<",       [MDF_COMPARISON_AT_MOST] = "<=", [MDF_COMPARISON_EQUAL] = "==",
    [MDF_COMPARISON_NOT_EQUAL] = "!=", [MDF_COMPARISON_GREATER] = ">",  [MDF_COMPARISON_AT_LEAST] = ">="};

static const char *number(struct mdf_source_program *program, double value)
{
    return mdf_source_literal(&program->writer, MDF_DTYPE_FLOAT64, &value);
}

/* `left` is a count. Where `right` is a whole number they are compared as such, which is the same and takes less time; none is
 * below zero. */
static const char *compared(struct mdf_source_program *program, const char *left, uint8_t comparison, double right)
{
    if (right == 0 && (comparison == MDF_COMPARISON_LESS || comparison == MDF_COMPARISON_AT_LEAST)) {
        return comparison == MDF_COMPARISON_LESS ? "false" : "true";
    }
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
    const struct mdf_origin *origin = &program->graph->program->code->origins[condition->origin];

    return mdf_source_quote_message(&program->writer, "%s: %s", origin->path != NULL ? origin->path : "a condition", message);
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

/* What it changes is of a graph, which has its names in the call alone. */
static const char *spend(struct mdf_source_program *program)
{
    return mdf_source_helper(&program->writer, "spend",
                             "/* NWhen: one of its times is used up. */\nstatic inline bool mdf_spend(uint64_t *spent,"
                             " bool *has_changed)\n{\n    ++*spent;\n    *has_changed = true;\n    return true;\n}\n");
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
    size_t step = value->length;

    *element = 0;
    for (size_t axis = 0; axis < n && axis < value->rank; axis++) {
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
                                  program->graph->program->nodes[watch->node].id),
                  &program->graph->program->code->origins[condition->origin]);
    return mdf_source_refuse(&program->writer, "it looks at what is not one number");
}

/* The number that a watch sees, as an expression. */
static bool watched_number(struct mdf_source_program *program, const struct mdf_condition *condition,
                           const struct mdf_watch *watch, const char **text)
{
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, watch->value);
    const struct mdf_value *value = mdf_frame_value(program->graph->state->frame, watch->value);
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
    } else if (!is_number && !watch->always && !program->graph->state->has_run[watch->node] && watch->has_initial) {
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
    const struct mdf_watch *watch = &program->graph->program->schedule->watches[condition->index];
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

/* What a node says of itself, where it has run. */
static bool express_finished(struct mdf_source_program *program, const struct mdf_condition *condition,
                             const struct mdf_watch *watch, const char **text)
{
    struct mdf_watch seen = *watch;

    seen.always = true; /* asked only once the node has run */
    if (!program->graph->state->has_run[watch->node]) {
        *text = "false";
        return true;
    }
    if (!watched_number(program, condition, &seen, text)) {
        return false;
    }
    *text = mdf_source_text(&program->writer, "(s->has_run[%zu] && %s != 0)", watch->node, *text);
    return true;
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

/* ------------------------------------------------------------------ terms: texts, NULL where something is refused */

static union mdf_term term(const char *text)
{
    return (union mdf_term){.text = text};
}

static struct mdf_source_writer *writer_in(void *context)
{
    return &((struct mdf_source_program *)context)->writer;
}

static union mdf_term term_truth(void *context, bool truth)
{
    (void)context;
    return term(truth ? "true" : "false");
}

/* A chain begins with its neutral element, which is left out. */
static union mdf_term chain(void *context, union mdf_term a, const char *neutral, const char *joint, union mdf_term b)
{
    if (a.text == NULL || b.text == NULL) {
        return term(NULL);
    }
    return strcmp(a.text, neutral) == 0 ? b : term(mdf_source_text(writer_in(context), "%s %s %s", a.text, joint, b.text));
}

static union mdf_term term_both(void *context, union mdf_term a, union mdf_term b)
{
    return chain(context, a, "true", "&&", b);
}

static union mdf_term term_either(void *context, union mdf_term a, union mdf_term b)
{
    return chain(context, a, "false", "||", b);
}

static union mdf_term term_negate(void *context, union mdf_term a)
{
    return a.text == NULL ? a : term(mdf_source_text(writer_in(context), "!(%s)", a.text));
}

static union mdf_term term_enclose(void *context, union mdf_term a)
{
    return a.text == NULL ? a : term(mdf_source_text(writer_in(context), "(%s)", a.text));
}

static union mdf_term term_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    struct mdf_source_writer *writer = writer_in(context);
    const char *text = n == 0 ? "UINT64_C(0)" : "";

    for (size_t i = 0; i < n; i++) {
        text = mdf_source_text(writer, "%s%ss->counts[%d][%u]", text, i > 0 ? " + " : "", (int)scope, (unsigned)nodes[i]);
    }
    return term(n > 1 ? mdf_source_text(writer, "(%s)", text) : text);
}

static union mdf_term term_usable(void *context, uint32_t index)
{
    struct mdf_source_program *program = context;

    return term(mdf_source_text(&program->writer, "(s->counts[%d][%u] - s->marks[%u])", (int)MDF_SCOPE_UPDATE,
                                (unsigned)program->graph->program->schedule->usables[index].dependency, (unsigned)index));
}

static union mdf_term term_clock(void *context, enum mdf_clock clock)
{
    return term(mdf_source_text(writer_in(context), "s->clocks[%d]", (int)clock));
}

static union mdf_term term_spent(void *context, uint32_t index)
{
    return term(mdf_source_text(writer_in(context), "s->spent[%u]", (unsigned)index));
}

static union mdf_term term_compare(void *context, union mdf_term number_of, enum mdf_comparison comparison, double n)
{
    return term(compared(context, number_of.text, (uint8_t)comparison, n));
}

static union mdf_term term_all_have_run(void *context, enum mdf_count_scope scope)
{
    struct mdf_source_program *program = context;

    return term(mdf_source_text(&program->writer, "s->n_have_run[%d] == %zu", (int)scope, program->graph->program->n_nodes));
}

static union mdf_term term_just_ran(void *context, const struct mdf_condition *condition)
{
    struct mdf_source_program *program = context;
    const char *message =
        quoted_at(program, condition,
                  "JustRan looks at the last execution set before there is any; let another condition go before "
                  "it, as All(AfterNPasses(1), JustRan(...))");

    return term(mdf_source_text(&program->writer, "(s->n_sets == 0 ? %s(s, %s) != 0 : s->last_sets[%u] == s->n_sets)",
                                complain(program), message, (unsigned)condition->index));
}

static union mdf_term term_in_window(void *context, const struct mdf_time_window *window)
{
    return term(express_time(context, window));
}

static union mdf_term term_threshold(void *context, const struct mdf_condition *condition)
{
    const char *text;

    return term(express_threshold(context, condition, &text) ? text : NULL);
}

static union mdf_term term_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    const char *text;

    return term(express_finished(context, condition, watch, &text) ? text : NULL);
}

static union mdf_term term_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term truth)
{
    (void)reached;
    return truth.text == NULL ? truth
                              : term(mdf_source_text(writer_in(context), "%s && %s(&s->spent[%u], &s->has_changed)", truth.text,
                                                     spend(context), (unsigned)index));
}

const char *mdf_source_condition(struct mdf_source_program *program, uint32_t index)
{
    static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(term_), .enclose = term_enclose, .stops_early = true};

    return mdf_condition_express(&terms, program, program->graph->program->schedule, index, term("true")).text;
}
