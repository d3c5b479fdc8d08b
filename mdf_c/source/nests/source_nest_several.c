/* source_nest_several.c - several indices of a loop at a time.
 *
 * Totals of the vector axis are arrays. Where a loop around does nothing but add to them, a run of it takes several of its
 * indices: a total is then loaded and stored once for all of these, which go into it one after the other, as they would one at a
 * time; of few indices all, in one loop with what begins the totals and what is made of them. Where it does nothing but store few
 * elements of one array, or two, side by side, those of the next index of the vector axis behind them, it takes all of them:
 * compilers store whole vectors then. */
#include "mdf_c/source/nests/nest_text.h"

enum { SEVERAL = 4, SEVERAL_OF_MANY = 2, MANY_TOTALS = 5, FEW_ELEMENTS = 64, SHORT_ROW = 16, MOST_EVENTS_OF_SEVERAL = 32 };

/* Whether a step can stand in the loop over the vector axis, again for each index of a loop around. */
static bool can_repeat(const struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *own = step_of(text, step);

    if (own->kind == MDF_NEST_LOAD || own->kind == MDF_NEST_STORE) {
        return own->view.at == MDF_NEST_NONE;
    }
    return own->kind == MDF_NEST_ELEMENT && !mdf_source_step_may_bail_out(own) &&
           (own->code != MDF_LOWERED_ELEMENTS || nest_plan_is_vector(text->plan, step));
}

/* How many indices at a time. Factors of products that are the same along the vector axis stay in registers, one for each total
 * and index; many totals of few elements stay there themselves, one index at a time. */
static size_t count_several(const struct nest_text *text, const struct nest_event *opens)
{
    size_t n_totals = 0;

    for (const struct nest_event *event = opens + 1; event->kind != NEST_CLOSE; event++) {
        n_totals += event->kind == NEST_TAKE;
    }
    return n_totals < MANY_TOTALS ? SEVERAL : tile_length(text) <= FEW_ELEMENTS ? 1 : SEVERAL_OF_MANY;
}

/* Whether a loop stores elements of one index of the vector axis behind those of another one, with none left out. */
static bool is_stored_between(const struct nest_text *text, const struct nest_event *opens, size_t step)
{
    const struct mdf_nest_step *own = step_of(text, step);
    size_t n = text->nest->extents[opens->index];

    return own->kind == MDF_NEST_STORE && n <= SEVERAL && nest_plan_is_vector(text->plan, step) &&
           !is_open_axis(text, opens->index) && own->view.strides[opens->index] == 1 &&
           own->view.strides[text->plan->vector] == (int64_t)n;
}

const struct nest_event *nest_text_end_of_several(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event = opens + 1;
    size_t n_totals = 0, n_stores = 0;

    if (text->nest->extents[opens->index] < 2) {
        return NULL;
    }
    for (; event->kind != NEST_CLOSE; event++) {
        bool is_total = event->kind == NEST_TAKE && nest_plan_is_total(text->plan, event->index);

        if (!is_total && (event->kind != NEST_COMPUTE || !can_repeat(text, event->index))) {
            return NULL;
        }
        if (is_total && has_depths(text, event->index) && !is_even(text, opens->index, SEVERAL)) {
            return NULL;
        }
        if (!is_total && step_of(text, event->index)->kind == MDF_NEST_STORE) {
            if (!is_stored_between(text, opens, event->index)) {
                return NULL;
            }
            n_stores++;
        }
        n_totals += is_total;
    }
    return (n_stores == 0 ? n_totals > 0 : n_totals == 0 && n_stores <= 2) && event - opens <= MOST_EVENTS_OF_SEVERAL &&
                   count_several(text, opens) > 1
               ? event
               : NULL;
}

/* Loads, or stores, the totals that a loop adds to. */
static void move_totals(struct nest_text *text, const struct nest_event *opens, bool loads)
{
    const struct nest_event *event;

    for (event = opens + 1; event->kind != NEST_CLOSE; event++) {
        struct nest_register *own = &text->registers[event->index];

        if (event->kind != NEST_TAKE) {
            continue;
        }
        if (loads) {
            const char *total = nest_text_total(text, event->index);

            own->running = mdf_source_name(text->writer, &text->writer->locals, "total");
            mdf_source_line(text->writer, "%s %s = %s;", type_of(text, event->index), own->running, total);
        } else {
            const char *running = own->running;

            own->running = NULL;
            mdf_source_line(text->writer, "%s = %s;", nest_text_total(text, event->index), running);
        }
    }
}

/* `n` indices: those from that of the loop on, or from `first` on. */
static bool write_indices(struct nest_text *text, const struct nest_event *opens, bool is_loop, size_t first, size_t n)
{
    const char *index = text->axes[opens->index].index;
    const struct nest_event *event;
    bool done = true;

    for (event = opens + 1; event->kind != NEST_TAKE && step_of(text, event->index)->kind != MDF_NEST_STORE; event++) {
    }
    nest_text_enter(text, event->index);
    text->is_several = true;
    move_totals(text, opens, true);
    for (size_t i = 0; i < n; i++) {
        text->axes[opens->index].index = !is_loop ? mdf_source_text(text->writer, "%zu", first + i)
                                         : i == 0 ? index
                                                  : mdf_source_text(text->writer, "(%s + %zu)", index, i);
        for (event = opens + 1; done && event->kind != NEST_CLOSE; event++) {
            if (event->kind == NEST_TAKE) {
                nest_text_take(text, event->index);
            } else {
                done = nest_text_compute(text, event->index);
            }
        }
    }
    text->axes[opens->index].index = index;
    move_totals(text, opens, false);
    text->is_several = false;
    nest_text_leave(text, opens);
    return done;
}

/* The same of an axis whose length is known only when it runs: the rest is a loop too. */
static bool write_open(struct nest_text *text, const struct nest_event *opens, size_t several)
{
    bool done;

    nest_text_open(text, opens, several);
    done = write_indices(text, opens, true, 0, several);
    nest_text_close(text);
    text->rest_of = several;
    nest_text_open(text, opens, 1);
    text->rest_of = 0;
    done = done && write_indices(text, opens, true, 0, 1);
    nest_text_close(text);
    return done;
}

/* Whether all indices of a loop are written one behind the other. The totals of a short row then never leave the registers. */
static bool is_written_out(const struct nest_text *text, size_t n, size_t several)
{
    return tile_length(text) <= SHORT_ROW ? n <= 3 * several : n < 2 * several;
}

bool nest_text_write_several(struct nest_text *text, const struct nest_event *opens)
{
    size_t several = count_several(text, opens), n = text->nest->extents[opens->index],
           whole = is_written_out(text, n, several) ? 0 : n - n % several;
    bool done = true;
    uint8_t depths[MDF_NEST_MOST_STEPS + 1];

    if (is_open_axis(text, opens->index)) {
        return write_open(text, opens, several);
    }
    nest_text_find_depths(text, opens, depths);
    whole = depths[0] != MDF_NEST_NONE ? n : whole;
    if (whole > 0) {
        nest_text_open(text, opens, several);
        done = write_indices(text, opens, true, 0, several);
        nest_text_close(text);
    }
    if (done && whole < n) {
        nest_text_leave(text, opens);
        done = write_indices(text, opens, false, whole, n - whole);
    }
    return done;
}
