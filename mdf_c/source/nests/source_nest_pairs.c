/* source_nest_pairs.c - sums of rows in many lanes, for each index of the vector axis: the row is written out, in such an order
 * that two totals are joined as soon as both are there. Few of them are kept then, in variables, not arrays of all lanes. */
#include "mdf_c/source/nests/nest_text.h"

/* The sum that a loop's row goes to; the number of steps: it is none that is written so. */
static size_t find_sum(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event = opens + 1;

    for (; event->kind == NEST_COMPUTE; event++) {
    }
    return event->kind == NEST_TAKE && event[1].kind == NEST_CLOSE && nest_plan_is_in_pairs(text->plan, event->index)
               ? event->index
               : text->nest->n_steps;
}

const struct nest_event *nest_text_end_of_pairs(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event = opens + 1;

    if (find_sum(text, opens) == text->nest->n_steps) {
        return NULL;
    }
    for (; event->kind != NEST_CLOSE; event++) {
    }
    return event;
}

/* The steps of the row at an index; NULL: they can not be written. Else what they come to. */
static const char *write_element(struct nest_text *text, const struct nest_event *opens, size_t at)
{
    const struct nest_event *event;
    const char *index = text->axes[opens->index].index, *element;
    bool done = true;

    text->axes[opens->index].index = mdf_source_text(text->writer, "%zu", at);
    for (event = opens + 1; done && event->kind == NEST_COMPUTE; event++) {
        done = nest_text_compute(text, event->index);
    }
    element = done ? nest_text_operand(text, step_of(text, find_sum(text, opens))->in[0]) : NULL;
    text->axes[opens->index].index = index;
    return element;
}

/* A variable for what a total and an element become. */
static const char *write_joined(struct nest_text *text, size_t sum, const char *total, const char *element)
{
    const char *text_of_both = nest_text_joined(text, sum, total, element);
    const char *name = mdf_source_name(text->writer, &text->writer->locals, "joined");

    mdf_source_line(text->writer, "const %s %s = %s;", type_of(text, sum), name, text_of_both);
    return name;
}

/* The elements of one total, and the totals that wait for it. False: they can not be written. */
static bool write_total(struct nest_text *text, const struct nest_event *opens, const char **totals, size_t which,
                        size_t n_totals, size_t n)
{
    size_t sum = find_sum(text, opens), half = n_totals / 2, at;

    totals[which] = which == 0 ? "0" : NULL;
    for (at = which; at < n; at += n_totals) {
        const char *element = write_element(text, opens, at);

        if (element == NULL) {
            return false;
        }
        totals[which] = totals[which] == NULL ? element : write_joined(text, sum, totals[which], element);
    }
    for (; half > 0 && which >= half; half /= 2) {
        which -= half;
        totals[which] = write_joined(text, sum, totals[which], totals[which + half]);
    }
    return true;
}

bool nest_text_write_pairs(struct nest_text *text, const struct nest_event *opens)
{
    size_t sum = find_sum(text, opens), n = text->nest->extents[opens->index], n_totals = step_of(text, sum)->lanes, n_in_lanes,
           k;
    const char *totals[MDF_NEST_LONGEST_IN_PAIRS];
    bool done = true;

    n_in_lanes = mdf_nest_count_in_lanes(step_of(text, sum), n);
    while (n_totals >= n_in_lanes) { /* halves without an element, or with one each */
        n_totals /= 2;
    }
    nest_text_enter(text, sum);
    text->is_several = true;
    for (k = 0; done && k < n_totals; k++) {
        done = write_total(text, opens, totals, mdf_nest_total_in_pairs(k, n_totals), n_totals, n_in_lanes);
    }
    for (k = n_in_lanes; done && k < n; k++) {
        const char *element = write_element(text, opens, k);

        done = element != NULL;
        totals[0] = done ? write_joined(text, sum, totals[0], element) : NULL;
    }
    if (done) {
        mdf_source_line(text->writer, "%s[%s] = %s;", text->registers[sum].total, text->axes[text->plan->vector].index,
                        totals[0]);
    }
    text->is_several = false;
    nest_text_leave(text, opens);
    return done;
}
