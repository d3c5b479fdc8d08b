/* source_nest_lanes.c - loops along an axis whose folds are in lanes: over blocks of so many indices, and one over the lanes
 * within each, whose length compilers see. What is left behind the last whole block has a loop of its own. */
#include "mdf_c/source/nests/nest_text.h"

unsigned nest_text_lanes_of(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event = opens;
    unsigned lanes = 1;

    while (event > text->plan->events && event[-1].kind == NEST_BEGIN) {
        const struct mdf_nest_step *fold = step_of(text, (--event)->index);

        lanes = has_lanes(text, event->index) && fold->lanes > lanes ? fold->lanes : lanes;
    }
    return text->nest->extents[opens->index] > lanes ? lanes : 1;
}

/* Whether a loop has no other one in it. */
static bool is_innermost(const struct nest_event *opens)
{
    const struct nest_event *event = opens + 1;

    while (event->kind != NEST_CLOSE && event->kind != NEST_OPEN && event->kind != NEST_TILE) {
        event++;
    }
    return event->kind == NEST_CLOSE;
}

/* The indices behind the last whole block that have a loop of their own. */
static size_t count_rest(const struct nest_text *text, const struct nest_event *opens)
{
    return is_open_axis(text, opens->index) || !is_innermost(opens)
               ? 0
               : text->nest->extents[opens->index] % text->lanes[opens->index];
}

/* Opens the loop over lanes, of which there are `count` (`n` at most), from an index on. */
static void open_block_of_lanes(struct nest_text *text, const struct nest_event *opens, size_t n, const char *count,
                                const char *first)
{
    const char *lane = text->axes[opens->index].lane;

    nest_text_open_innermost(text, nest_text_is_independent(text, opens), n,
                             mdf_source_text(text->writer, "for (size_t %s = 0; %s < %s; %s++)", lane, lane, count, lane));
    text->axes[opens->index].index = mdf_source_text(text->writer, "(%s + %s)", first, lane);
}

void nest_text_open_lanes(struct nest_text *text, const struct nest_event *opens)
{
    struct mdf_source_writer *writer = text->writer;
    size_t axis = opens->index, n = text->nest->extents[axis], rest = count_rest(text, opens);
    const char *block = text->axes[axis].block, *end = text->axes[axis].end;
    unsigned lanes = text->lanes[axis];
    const char *count = mdf_source_text(writer, "%u", lanes);

    if (text->is_rest) {
        open_block_of_lanes(text, opens, rest, mdf_source_text(writer, "%zu", rest), mdf_source_text(writer, "%zu", n - rest));
        return;
    }
    if (rest > 0) {
        nest_text_open_block(
            text, mdf_source_text(writer, "for (size_t %s = 0; %s < %zu; %s += %u)", block, block, n - rest, block, lanes));
    } else {
        nest_text_open_pieces(text, axis, lanes, mdf_source_text(writer, "%s + %u", block, lanes), nest_text_extent(text, axis));
        count = is_even(text, axis, lanes) ? count : mdf_source_text(writer, "%s - %s", end, block);
    }
    open_block_of_lanes(text, opens, lanes, count, block);
}

const struct nest_event *nest_text_rest_of_lanes(struct nest_text *text)
{
    const struct nest_event *opens = text->n_loops > 0 ? text->opens[text->n_loops - 1] : NULL;
    bool was_rest = text->is_rest;

    text->is_rest = !was_rest && opens != NULL && text->lanes[opens->index] > 1 && count_rest(text, opens) > 0;
    return text->is_rest ? opens : NULL;
}
