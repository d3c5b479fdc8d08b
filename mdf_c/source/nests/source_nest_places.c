/* source_nest_places.c - where elements of a nest lie: the text of the index of what a step loads or stores, or keeps in an
 * array, and places that are found once in front of the loops that look at them. */
#include "mdf_c/source/nests/nest_text.h"

#include <string.h>

/* Appends a term of an index: stride times a count. */
static const char *add_term(struct nest_text *text, const char *sum, const char *count, int64_t stride)
{
    struct mdf_source_writer *writer = text->writer;
    unsigned long long factor = stride < 0 ? 0 - (unsigned long long)stride : (unsigned long long)stride;
    const char *sign = stride < 0 ? " - " : " + ";

    if (stride == 0) {
        return sum;
    }
    if (sum[0] == '\0') {
        sum = stride < 0 ? "0" : sum;
        sign = stride < 0 ? " - " : "";
    }
    return factor == 1 ? mdf_source_text(writer, "%s%s%s", sum, sign, count)
                       : mdf_source_text(writer, "%s%s%s * %llu", sum, sign, count, factor);
}

/* The index of an axis: of the vector axis, where the tile begins and that within it; behind what is left out in front. */
static const char *whole_index(struct nest_text *text, size_t axis)
{
    const char *index = axis == text->plan->vector && text->nest->extents[axis] > text->plan->tile
                            ? mdf_source_text(text->writer, "(%s + %s)", text->axes[axis].block, text->axes[axis].index)
                            : text->axes[axis].index;

    return text->first != NULL && is_open_axis(text, axis) ? mdf_source_text(text->writer, "(%s + %s)", text->first, index)
                                                           : index;
}

/* Whether a register is loaded from the same place all along the vector axis. */
static bool is_fixed(const struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *load = step_of(text, step);

    return load->kind == MDF_NEST_LOAD && load->view.at == MDF_NEST_NONE && nest_plan_is_vector(text->plan, step) &&
           load->view.strides[text->plan->vector] == 0;
}

/* The number of the item that a view looks at, by a register. */
static const char *item_of(struct nest_text *text, const struct mdf_nest_view *view)
{
    return mdf_source_text(
        text->writer, "%s(%s, %lld, &beyond)",
        mdf_source_use(text->writer, step_of(text, view->at)->level > 0 && !is_fixed(text, view->at) ? "item_of_row" : "item"),
        nest_text_operand(text, view->at), (long long)view->at_limit);
}

/* The element that a step loads, or stores. */
const char *nest_text_viewed(struct nest_text *text, size_t step)
{
    const struct mdf_nest_view *view = &step_of(text, step)->view;
    struct mdf_source_writer *writer = text->writer;
    const char *index = view->first != 0 ? mdf_source_text(writer, "%lld", (long long)view->first) : "",
               *place = text->registers[step].place;

    if (place == NULL && view->at != MDF_NEST_NONE) {
        place = item_of(text, view);
    }
    if (mdf_nest_loads_its_index(writer->lowered, step_of(text, step))) {
        return mdf_source_text(writer, "(int64_t)%s", place);
    }
    for (size_t axis = 0; axis < step_of(text, step)->level; axis++) {
        index = add_term(text, index, whole_index(text, axis), view->strides[axis]);
    }
    if (place != NULL) {
        index = add_term(text, index, place, view->at_stride);
    }
    return mdf_source_element(writer, view->id, index[0] != '\0' ? index : "0");
}

/* The axes that the array of a register has. */
bool nest_text_is_axis_kept(const struct nest_text *text, size_t step, size_t axis)
{
    size_t base = text->plan->kept[step];

    return axis < step_of(text, step)->level &&
           (axis == text->plan->vector || (axis < text->plan->vector ? axis : axis - 1) >= base);
}

size_t nest_text_kept_extent(const struct nest_text *text, size_t axis)
{
    return axis == text->plan->vector ? tile_length(text) : text->nest->extents[axis];
}

/* The element of a register in its array. */
const char *nest_text_kept(struct nest_text *text, size_t step)
{
    const char *index = "";
    int64_t stride = 1;
    size_t vector = text->plan->vector;

    if (nest_plan_is_vector(text->plan, step)) {
        index = add_term(text, index, text->axes[vector].index, stride);
        stride *= (int64_t)nest_text_kept_extent(text, vector);
    }
    for (size_t axis = step_of(text, step)->level; axis-- > 0;) {
        if (axis != vector && nest_text_is_axis_kept(text, step, axis)) {
            index = add_term(text, index, text->axes[axis].index, stride);
            stride *= (int64_t)nest_text_kept_extent(text, axis);
        }
    }
    return mdf_source_text(text->writer, "%s[%s]", text->registers[step].array, index[0] != '\0' ? index : "0");
}

/* Whether a step stands behind an event, before the loop ends that this is in. */
static bool is_computed_behind(const struct nest_text *text, const struct nest_event *event, size_t step)
{
    const struct nest_event *end = text->plan->events + text->plan->n_events;
    size_t n_open = 1;

    for (event++; event < end && n_open > 0; event++) {
        if (event->kind == NEST_COMPUTE && event->index == step) {
            return true;
        }
        n_open += event->kind == NEST_OPEN || event->kind == NEST_TILE;
        n_open -= event->kind == NEST_CLOSE;
    }
    return false;
}

/* Loads in loops within by the index that a register has: the items are found once, in front of these. */
void nest_text_name_places(struct nest_text *text, const struct nest_event *event)
{
    size_t step = event->index;

    for (size_t i = step + 1; i < text->nest->n_steps && !nest_plan_is_vector(text->plan, step); i++) {
        const struct mdf_nest_step *load = step_of(text, i);
        struct nest_register *own = &text->registers[i];

        if (load->kind != MDF_NEST_LOAD || load->view.at != step || load->level <= step_of(text, step)->level ||
            !is_computed_behind(text, event, i)) {
            continue;
        }
        own->place = NULL;
        for (size_t k = step + 1; k < i && own->place == NULL; k++) {
            const struct mdf_nest_view *other = &step_of(text, k)->view;

            if (text->registers[k].place != NULL && other->at == step && other->at_limit == load->view.at_limit) {
                own->place = text->registers[k].place;
            }
        }
        if (own->place == NULL) {
            nest_text_enter(text, step);
            own->place = mdf_source_name(text->writer, &text->writer->locals, "item");
            mdf_source_line(text->writer, "const size_t %s = %s;", own->place, item_of(text, &load->view));
        }
        own->place_block = text->n_blocks;
    }
}

/* Whether a load is written by the event that is there, or behind it in the same loop: where it is used, if that is so. */
static bool is_written_from_here(const struct nest_text *text, size_t load)
{
    for (size_t i = load; i < text->nest->n_steps; i++) {
        bool writes = nest_text_is_inlined(text, load) ? memchr(step_of(text, i)->in, (int)load, step_of(text, i)->n_in) != NULL
                                                       : i == load;

        if (writes && text->event->kind == NEST_COMPUTE &&
            (text->event->index == i || is_computed_behind(text, text->event, i))) {
            return true;
        }
    }
    return false;
}

/* In front of a loop over the vector axis, which begins with a step: the items that loads in it find by an index that is the same
 * all along it. */
void nest_text_name_fixed_places(struct nest_text *text, size_t step)
{
    for (size_t i = 0; i < text->nest->n_steps && text->event != NULL; i++) {
        const struct mdf_nest_view *view = &step_of(text, i)->view;
        if (step_of(text, i)->kind == MDF_NEST_LOAD && mdf_nest_set_has(&text->plan->steps, i) && view->at != MDF_NEST_NONE &&
            text->registers[i].place == NULL && is_written_from_here(text, i) &&
            nest_plan_depth(text->plan, i) == nest_plan_depth(text->plan, step) && is_fixed(text, view->at) &&
            nest_text_is_inlined(text, view->at)) {
            text->registers[i].place = mdf_source_name(text->writer, &text->writer->locals, "item");
            text->registers[i].place_block = text->n_blocks;
            mdf_source_line(text->writer, "const size_t %s = %s;", text->registers[i].place, item_of(text, view));
        }
    }
}
