/* source_nest_neighbours.c - elements that a row looks up by places in memory (x[at[i]]). Often they lie side by side, as those
 * of a butterfly, of a shift, of a neighbour in a grid do: where some places in succession are found to be so, these elements are
 * loaded as they lie, in vectors; else some more are looked up one by one, in loops that get longer the longer that goes on. */
#include "mdf_c/source/nests/nest_text.h"

#include <string.h>

enum { N_SIDE_BY_SIDE = 8, FEWEST_LOOKED_UP = 32, MOST_LOOKED_UP = 128, MOST_PLACES = 4, MOST_EVENTS = 48 };

/* The places that elements are looked up at, by the step that loads them, among how many items, and the name of the first. */
struct looked_up {
    uint8_t at;
    int64_t limit;
    const char *item;
};

/* Whether a step looks up an element of an array at a place that lies in memory behind that of the index before. */
static bool is_looked_up(const struct nest_text *text, size_t axis, size_t step)
{
    const struct mdf_nest_step *load = step_of(text, step), *place;

    if (load->kind != MDF_NEST_LOAD || load->view.at == MDF_NEST_NONE || load->view.at_stride != 1 || load->level != axis + 1 ||
        load->view.strides[axis] != 0 || load->view.at_limit < N_SIDE_BY_SIDE || text->registers[step].place != NULL) {
        return false;
    }
    place = step_of(text, load->view.at);
    return place->kind == MDF_NEST_LOAD && place->level == axis + 1 && place->view.at == MDF_NEST_NONE &&
           place->view.strides[axis] == 1 && place->dtype == MDF_DTYPE_INT64;
}

/* The different places of a loop; 0: there are none, or too many. */
static size_t find_places(const struct nest_text *text, const struct nest_event *opens, struct looked_up places[MOST_PLACES])
{
    size_t n = 0, k;

    for (const struct nest_event *event = opens + 1; event->kind != NEST_CLOSE; event++) {
        const struct mdf_nest_view *view = &step_of(text, event->index)->view;

        if (event->kind != NEST_COMPUTE || !is_looked_up(text, opens->index, event->index)) {
            continue;
        }
        for (k = 0; k < n && (places[k].at != view->at || places[k].limit != view->at_limit); k++) {
        }
        if (k == MOST_PLACES) {
            return 0;
        }
        if (k == n) {
            places[n++] = (struct looked_up){view->at, view->at_limit, NULL};
        }
    }
    return n;
}

const struct nest_event *nest_text_end_of_neighbours(const struct nest_text *text, const struct nest_event *opens)
{
    struct looked_up places[MOST_PLACES];
    const struct nest_event *event = opens + 1;

    if (text->plan->vector < text->nest->n_axes || text->plan->looks_up_by_truth || is_open_axis(text, opens->index) ||
        text->first != NULL || text->nest->extents[opens->index] < FEWEST_LOOKED_UP || !nest_text_is_independent(text, opens)) {
        return NULL;
    }
    for (; event->kind != NEST_CLOSE; event++) {
        if (event->kind != NEST_COMPUTE && event->kind != NEST_KEEP) {
            return NULL;
        }
    }
    return event - opens <= MOST_EVENTS && find_places(text, opens, places) > 0 ? event : NULL;
}

/* Whether a step in the loop needs a register but to look up what it is a place of. */
static bool is_needed(const struct nest_text *text, const struct nest_event *opens, size_t step)
{
    for (const struct nest_event *event = opens + 1; event->kind != NEST_CLOSE; event++) {
        const struct mdf_nest_step *user = step_of(text, event->index);

        if (user->kind == MDF_NEST_LOAD ? user->view.at == step && !is_looked_up(text, opens->index, event->index)
                                        : memchr(user->in, (int)step, user->n_in) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_place(const struct looked_up *places, size_t n, size_t step)
{
    size_t k;

    for (k = 0; k < n && places[k].at != step; k++) {
    }
    return k < n;
}

/* A loop over some indices from that of the block on. `places`: n of them, where elements lie side by side. */
static bool write_loop(struct nest_text *text, const struct nest_event *opens, bool is_short, const char *end,
                       const struct looked_up *places, size_t n)
{
    const char *index = text->axes[opens->index].index, *block = text->axes[opens->index].block;
    bool needed[MDF_NEST_MOST_STEPS], done = true;
    const struct nest_event *event;

    for (event = opens + 1; event->kind != NEST_CLOSE; event++) {
        needed[event->index] = !is_place(places, n, event->index) || is_needed(text, opens, event->index);
    }
    nest_text_open_innermost(
        text, true, is_short ? N_SIDE_BY_SIDE : text->nest->extents[opens->index],
        mdf_source_text(text->writer, "for (size_t %s = %s; %s < %s; %s++)", index, block, index, end, index));
    for (event = opens + 1; event->kind != NEST_CLOSE; event++) {
        const struct mdf_nest_view *view = &step_of(text, event->index)->view;

        for (size_t k = 0; k < n && event->kind == NEST_COMPUTE && is_looked_up(text, opens->index, event->index); k++) {
            if (places[k].at == view->at && places[k].limit == view->at_limit) {
                text->registers[event->index].place =
                    mdf_source_text(text->writer, "(%s + (%s - %s))", places[k].item, index, block);
                text->registers[event->index].place_block = text->n_blocks;
            }
        }
    }
    for (event = opens + 1; done && event->kind != NEST_CLOSE; event++) {
        if (needed[event->index] || event->kind != NEST_COMPUTE) {
            text->event = event;
            done = nest_text_write_event(text, event);
        }
    }
    nest_text_close_block(text);
    return done;
}

/* Whether the next elements lie side by side, and where the first ones are. */
static const char *write_question(struct nest_text *text, size_t axis, struct looked_up *places, size_t n)
{
    const char *index = text->axes[axis].index, *question;

    text->axes[axis].index = text->axes[axis].block;
    question = mdf_source_text(text->writer, "%s <= %zu", text->axes[axis].block, text->nest->extents[axis] - N_SIDE_BY_SIDE);
    for (size_t k = 0; k < n; k++) {
        places[k].item = nest_text_viewed(text, places[k].at);
        question = mdf_source_text(text->writer, "%s && %s(&%s, %lld)", question, mdf_source_use(text->writer, "side_by_side"),
                                   places[k].item, (long long)places[k].limit);
    }
    text->axes[axis].index = index;
    return question;
}

bool nest_text_write_neighbours(struct nest_text *text, const struct nest_event *opens)
{
    struct mdf_source_writer *writer = text->writer;
    size_t axis = opens->index, n_indices = text->nest->extents[axis];
    const char *block = text->axes[axis].block, *end = text->axes[axis].end, *question,
               *step = mdf_source_name(writer, &writer->locals, "step");
    struct looked_up places[MOST_PLACES];
    size_t n = find_places(text, opens, places);
    bool done;

    nest_text_open_block(text, mdf_source_text(writer, "for (size_t %s = 0, %s = %d; %s < %zu;)", block, step,
                                               (int)N_SIDE_BY_SIDE, block, n_indices));
    mdf_source_use(writer, "short"); /* for that of the question, too */
    question = write_question(text, axis, places, n);
    nest_text_open_block(text, mdf_source_text(writer, "if (%s)", question));
    for (size_t k = 0; k < n; k++) {
        const char *first = places[k].item;

        places[k].item = mdf_source_name(writer, &writer->locals, "item");
        mdf_source_line(writer, "const size_t %s = (size_t)%s;", places[k].item, first);
    }
    mdf_source_blank(writer);
    done = write_loop(text, opens, true, mdf_source_text(writer, "%s + %d", block, (int)N_SIDE_BY_SIDE), places, n);
    mdf_source_line(writer, "%s += %d;", block, (int)N_SIDE_BY_SIDE);
    mdf_source_line(writer, "%s = %d;", step, (int)N_SIDE_BY_SIDE);
    nest_text_close_block(text);
    nest_text_open_block(text, "else");
    mdf_source_line(writer, "const size_t %s = %zu - %s < %s ? %zu : %s + %s;", end, n_indices, block, step, n_indices, block,
                    step);
    mdf_source_blank(writer);
    done = done && write_loop(text, opens, false, end, places, 0);
    mdf_source_line(writer, "%s = %s;", block, end);
    mdf_source_line(writer, "%s = %s < %d ? 2 * %s : %s;", step, step, (int)MOST_LOOKED_UP, step, step);
    nest_text_close_block(text);
    nest_text_close_block(text);
    return done;
}
