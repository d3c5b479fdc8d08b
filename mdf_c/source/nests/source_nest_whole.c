/* source_nest_whole.c - what is known of a nest as a whole when it is written as C: how long its open axis is, and whether it may
 * be done twice. See nest_text.h. */
#include "mdf_c/source/nests/nest_text.h"

#include "mdf_c/lowered/nest.h"

#include <string.h>

/* The open axis is as long as what is loaded along it; plans go by the most that it can be. */
bool nest_text_open_extent(struct nest_text *text, struct mdf_lowered_nest *nest)
{
    struct mdf_source_writer *writer = text->writer;
    size_t most = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        const struct mdf_source_value *value = &writer->values[step->view.id];

        if (step->kind != MDF_NEST_LOAD || writer->lowered->values[step->view.id].open_axes == 0) {
            continue;
        }
        if (value->count == NULL) {
            return mdf_source_refuse(writer, "an array whose length is known only when its Loop has ended");
        }
        if (text->count == NULL) {
            text->count = value->count;
            most = value->n_items;
        } else if (strcmp(text->count, value->count) != 0) {
            mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s != %s", text->count, value->count),
                                   "arrays that grow are not of one length");
        }
    }
    if (mdf_nest_is_folded(nest, nest->open_axis) && !nest->takes_none) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s == 0", text->count), "an array that grows has no element yet");
    }
    nest->extents[nest->open_axis] = most > 2 ? most : 2;
    for (size_t i = 0; i < nest->n_steps; i++) {
        mdf_lowered_id id = nest->steps[i].view.id;

        if (nest->steps[i].kind == MDF_NEST_STORE && writer->lowered->values[id].open_axes != 0) {
            writer->values[id].count = text->count;
            writer->values[id].n_items = most;
        }
    }
    return true;
}

/* Where what a step stores takes the place of what may be loaded; NULL: it does not. */
static const char *overwritten_place(const struct nest_text *text, size_t step)
{
    const struct mdf_source_value *own = &text->writer->values[step_of(text, step)->view.id];

    if (step_of(text, step)->kind != MDF_NEST_STORE) {
        return NULL;
    }
    for (size_t i = 0; i < step; i++) { /* the same array in parts */
        if (step_of(text, i)->kind == MDF_NEST_STORE && step_of(text, i)->view.id == step_of(text, step)->view.id) {
            return NULL;
        }
    }
    return own->takes_input || text->writer->lowered->values[step_of(text, step)->view.id].is_in_place ? own->name : own->copy;
}

static size_t stored_bytes(const struct nest_text *text, size_t step)
{
    const struct mdf_value *form = &text->writer->lowered->values[step_of(text, step)->view.id].form;

    return form->length * mdf_dtype_size((mdf_dtype)form->dtype);
}

bool nest_text_may_repeat(const struct nest_text *text)
{
    enum { MOST_KEPT_BYTES = 1 << 14 };

    for (size_t i = 0; i < text->nest->n_steps; i++) {
        if (step_of(text, i)->kind == MDF_NEST_STORE &&
            (text->writer->values[step_of(text, i)->view.id].is_made_there ||
             mdf_nest_reads(text->nest, step_of(text, i)->view.id) ||
             (overwritten_place(text, i) != NULL && stored_bytes(text, i) > MOST_KEPT_BYTES))) {
            return false;
        }
    }
    return text->count == NULL || text->first != NULL;
}

/* Whether the nest loads from what has this name. */
static bool loads_from(const struct nest_text *text, const char *name)
{
    bool found = false;

    for (size_t i = 0; !found && name != NULL && i < text->nest->n_steps; i++) {
        const char *from = text->writer->values[step_of(text, i)->view.id].name;

        found = step_of(text, i)->kind == MDF_NEST_LOAD && from != NULL && strcmp(from, name) == 0;
    }
    return found;
}

bool nest_text_may_go_twice(const struct nest_text *text)
{
    for (size_t i = 0; i < text->nest->n_steps; i++) {
        const struct mdf_source_value *own = &text->writer->values[step_of(text, i)->view.id];

        if (step_of(text, i)->kind == MDF_NEST_STORE &&
            (overwritten_place(text, i) != NULL || loads_from(text, own->name) || loads_from(text, own->copy))) {
            return false;
        }
    }
    return nest_text_may_repeat(text);
}

void nest_text_keep_old(const struct nest_text *text, const char **old)
{
    struct mdf_source_writer *writer = text->writer;

    for (size_t i = 0; i < text->nest->n_steps; i++) {
        const char *place = overwritten_place(text, i);
        const struct mdf_value *form = place != NULL ? &writer->lowered->values[step_of(text, i)->view.id].form : NULL;

        old[i] = place != NULL ? mdf_source_buffer(writer, (mdf_dtype)form->dtype, form->length, "old") : NULL;
        if (place != NULL) {
            mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", old[i], place, old[i]);
        }
    }
}

void nest_text_restore_old(const struct nest_text *text, const char *const *old)
{
    for (size_t i = 0; i < text->nest->n_steps; i++) {
        if (old[i] != NULL) {
            mdf_source_line(text->writer, "memcpy(%s, %s, sizeof %s);", overwritten_place(text, i), old[i], old[i]);
        }
    }
}
