/* source_values.c - how values of a lowered region are called in C. See source_writer.h. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

static const struct mdf_lowered_value *value_of(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    return &writer->lowered->values[id];
}

const char *mdf_source_hint(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = value_of(writer, id);

    return value->name != NULL && value->name[0] != '\0' ? value->name : value->is_scalar ? "t" : "array";
}

size_t mdf_source_open_axis(const struct mdf_value *form)
{
    size_t axis = 0;

    while (axis + 1 < form->rank && mdf_source_shape(form)[axis] != 0) {
        axis++;
    }
    return axis;
}

size_t mdf_source_length(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_value *form = &value_of(writer, id)->form;
    size_t n = writer->values[id].n_items;

    for (size_t axis = 0; n > 0 && axis < form->rank; axis++) {
        n *= axis == mdf_source_open_axis(form) ? 1 : (size_t)mdf_source_shape(form)[axis];
    }
    return n > 0 ? n : form->length;
}

const void *mdf_source_constant_element(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = id != MDF_LOWERED_NONE ? value_of(writer, id) : NULL;

    return value != NULL && value->place == MDF_LOWERED_CONSTANT && value->form.length == 1 ? value->form.data : NULL;
}

/* A value's name; of a constant that has none yet it is made. NULL: it is no array of numbers, the error is set. */
static const char *name_of(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = value_of(writer, id);
    struct mdf_source_value *own = &writer->values[id];
    mdf_dtype dtype = (mdf_dtype)value->form.dtype;

    if (own->name == NULL && value->place == MDF_LOWERED_CONSTANT && value->form.kind == MDF_KIND_TENSOR &&
        mdf_source_type(dtype) != NULL) {
        own->name = value->is_scalar
                        ? mdf_source_literal(writer, dtype, value->form.data)
                        : mdf_source_constant_array(writer, dtype, value->form.data, value->form.length, value->name);
    }
    if (own->name == NULL) {
        mdf_source_refuse(writer, "a value is no array of numbers");
    }
    return own->name;
}

const char *mdf_source_element(struct mdf_source_writer *writer, mdf_lowered_id id, const char *index)
{
    const struct mdf_source_value *value = &writer->values[id];

    if (name_of(writer, id) == NULL) {
        return "";
    }
    return value_of(writer, id)->is_scalar ? value->name : mdf_source_text(writer, "%s[%s]", value->name, index);
}

const char *mdf_source_address(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = value_of(writer, id);

    if (name_of(writer, id) == NULL) {
        return "";
    }
    if (!value->is_scalar) {
        return writer->values[id].name;
    }
    if (value->place == MDF_LOWERED_CONSTANT) {
        return mdf_source_constant_array(writer, (mdf_dtype)value->form.dtype, value->form.data, 1, value->name);
    }
    return mdf_source_text(writer, "&%s", writer->values[id].name);
}

void mdf_source_declare_result(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = value_of(writer, id);
    struct mdf_source_value *own = &writer->values[id];
    const char *type = mdf_source_type((mdf_dtype)value->form.dtype);

    if (own->is_buffered || own->name != NULL) {
        return; /* that was done for another part of it */
    }
    if (value->is_scalar) {
        own->name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, id));
        mdf_source_line(writer, "%s %s;", type, own->name);
    } else {
        own->name =
            mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, mdf_source_length(writer, id), mdf_source_hint(writer, id));
    }
}

/* ------------------------------------------------------------------ inputs */

/* Whether an output of the region other than `id` goes to the same place. */
static bool is_overwritten(struct mdf_source_writer *writer, mdf_lowered_id id, const struct mdf_source_slot *slot)
{
    const struct mdf_lowered *lowered = writer->lowered;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (lowered->outputs[i].id != id && writer->find_slot(writer->slot_context, lowered->outputs[i].slot) == slot) {
            return true;
        }
    }
    return false;
}

static bool is_output(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (lowered->outputs[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Scalars are read into variables at once; arrays are read where they lie, but for one that is still needed after its place
 * has been given to another value. */
static bool name_input(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = value_of(writer, id);
    const struct mdf_source_slot *slot = writer->find_slot(writer->slot_context, value->source);
    struct mdf_source_value *own = &writer->values[id];
    mdf_dtype dtype = (mdf_dtype)value->form.dtype;
    const char *type = mdf_source_type(dtype);

    if (slot == NULL) {
        return mdf_source_refuse(writer, "a value comes from where C code can not look");
    }
    if (slot->length != value->form.length || (slot->dtype != dtype && !value->is_scalar)) {
        return mdf_source_refuse(writer, "the shape or type of '%s' is not the same in every evaluation",
                                 mdf_source_hint(writer, id));
    }
    if (value->is_scalar) {
        own->name = mdf_source_name(writer, &writer->locals, slot->hint);
        mdf_source_line(writer, "const %s %s = %s%s;", type, own->name, mdf_source_cast(writer, slot->dtype, dtype),
                        slot->is_scalar ? slot->name : mdf_source_text(writer, "%s[0]", slot->name));
        return true;
    }
    own->name = slot->is_scalar ? mdf_source_text(writer, "(&%s)", slot->name) : slot->name;
    if (slot->is_lent) {
        own->name = mdf_source_name(writer, &writer->locals, slot->hint);
        mdf_source_line(writer, "const %s *restrict %s = %s;", type, own->name, slot->name);
    }
    if (is_output(writer->lowered, id) && is_overwritten(writer, id, slot)) {
        const char *copy = mdf_source_buffer(writer, dtype, value->form.length, slot->hint);

        mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", copy, own->name, copy);
        own->name = copy;
    }
    return true;
}

bool mdf_source_name_values(struct mdf_source_writer *writer)
{
    const struct mdf_lowered *lowered = writer->lowered;

    for (mdf_lowered_id id = 0; id < lowered->n_values; id++) {
        uint8_t place = lowered->values[id].place;

        if (writer->values[id].is_live && place == MDF_LOWERED_INPUT && !name_input(writer, id)) {
            return false;
        }
    }
    return true;
}
