/* source_put.c - PUT as C: an element, or a row, at an index of an array. What a nest in front of it makes of the rows of a
 * state, it writes where it goes, in place of an array that is copied there. See source_writer.h. */
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/source/source_writer.h"

/* ------------------------------------------------------------------ what is made where it goes */

/* The number of elements of an array that a nest stores; 0: it stores it by parts, or not. */
static size_t count_stored(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    size_t n = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE && nest->steps[i].view.id == id) {
            n = n > 0 ? SIZE_MAX : mdf_nest_count(nest, 0, nest->steps[i].level);
        }
    }
    return n;
}

/* Whether nothing but an index that is past the end keeps a nest from being done. */
static bool always_computes(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_ELEMENT && mdf_source_step_may_bail_out(&nest->steps[i])) {
            return false;
        }
    }
    return !nest->is_open;
}

/* Whether what is put are rows that either are the same or have nothing in common. */
static bool puts_rows(const struct mdf_lowered_put *put, size_t length)
{
    for (size_t i = 0; i < put->n_indices; i++) {
        if (put->steps[i] % (int64_t)length != 0) {
            return false;
        }
    }
    return put->n_indices > 0;
}

/* Whether nest number `i` of a region looks only at whole rows of the array that a PUT behind it puts a row into, at each element
 * before it writes what replaces it; so of what that array was before other PUTs, in front of the nest. */
static bool may_overwrite_row(const struct mdf_lowered_region *region, size_t i, const struct mdf_lowered_op *put, size_t length)
{
    mdf_lowered_id id = put->in[0];
    size_t maker;

    while (mdf_lowered_nest_may_overwrite_row(region->ops[i].of.nest, id, put->in[1], length)) {
        maker = mdf_lowered_find_maker(region, id);
        if (maker == SIZE_MAX || region->ops[maker].code != MDF_LOWERED_PUT) {
            return true;
        }
        if (maker > i) { /* two rows of the nest, which may be one */
            return false;
        }
        id = region->ops[maker].in[0];
    }
    return false;
}

/* Whether nest number `i` may write what a PUT behind it puts where it goes: nobody else reads it. */
static bool may_be_made_there(const struct mdf_source_writer *writer, const struct mdf_lowered_region *region, size_t i,
                              const struct mdf_lowered_op *put)
{
    mdf_lowered_id item = put->in[1];
    const struct mdf_lowered_value *value = &writer->lowered->values[item];
    const struct mdf_source_value *own = &writer->values[item];
    const struct mdf_lowered_nest *nest = region->ops[i].of.nest;
    size_t length = value->form.length;

    return put->of.put->is_in_place && mdf_source_is_live(writer, put->out) && !value->is_scalar && value->open_axes == 0 &&
           length > 1 && (own->name == NULL || own->is_made_there) && own->copy == NULL && !own->is_buffered &&
           writer->n_reads[item] == 1 && value->form.dtype == put->dtype && count_stored(nest, item) == length &&
           !mdf_nest_stores(nest, put->in[2]) &&
           (put->of.put->is_made_there || (puts_rows(put->of.put, length) && may_overwrite_row(region, i, put, length)));
}

/* Whether an op may be done in front of a nest that it stands behind. */
static bool may_go_before(const struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest,
                          const struct mdf_lowered_op *op)
{
    if (op->code != MDF_LOWERED_COPY || !writer->lowered->values[op->out].is_scalar) {
        return false;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        if (mdf_nest_stores(nest, op->in[i])) {
            return false;
        }
    }
    return true;
}

size_t mdf_source_last_put_made_there(struct mdf_source_writer *writer, const struct mdf_lowered_region *region, size_t i)
{
    const struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;
    size_t last = i;

    for (size_t k = i + 1; nest != NULL && always_computes(nest) && k < region->n_ops; k++) {
        const struct mdf_lowered_op *op = &region->ops[k];

        if (op->code == MDF_LOWERED_PUT && may_be_made_there(writer, region, i, op)) {
            writer->values[op->in[1]].is_made_there = true;
            last = k;
        } else if (!may_go_before(writer, nest, op)) {
            break;
        }
    }
    return last;
}

/* ------------------------------------------------------------------ text */

/* The place of what is put, in elements. */
static const char *place_text(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_put *put = op->of.put;
    const char *place = "";

    for (size_t i = 0; i < put->n_indices; i++) {
        const char *index = mdf_source_element(writer, op->in[2], mdf_source_text(writer, "%zu", i));

        place = mdf_source_text(writer, "%s%s%s(%s, %lld, &beyond)", place, i > 0 ? " + " : "", mdf_source_use(writer, "item"),
                                index, (long long)put->limits[i]);
        place = put->steps[i] == 1 ? place : mdf_source_text(writer, "%s * %lld", place, (long long)put->steps[i]);
    }
    return place;
}

/* What is put at a place, or, before it is made, where that will be. */
static void write_item(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, const char *to, const char *place)
{
    size_t n = writer->lowered->values[op->in[1]].form.length;

    if (writer->values[op->in[1]].is_made_there) {
        mdf_source_line(writer, "%s = %s + %s;", writer->values[op->in[1]].name, to, place);
    } else if (n == 1) {
        mdf_source_line(writer, "%s[%s] = %s;", to, place, mdf_source_element(writer, op->in[1], "0"));
    } else {
        mdf_source_line(writer, "memcpy(%s + %s, %s, %zu * sizeof *%s);", to, place, mdf_source_address(writer, op->in[1]), n,
                        to);
    }
}

static void declare_item(struct mdf_source_writer *writer, mdf_lowered_id id)
{
    writer->values[id].name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, id));
    mdf_source_line(writer, "%s *%s;", mdf_source_type((mdf_dtype)writer->lowered->values[id].form.dtype),
                    writer->values[id].name);
}

/* Where nobody reads what is put, it is still asked whether the place is there. */
void mdf_source_write_put(struct mdf_source_writer *writer, const struct mdf_lowered_op *op)
{
    bool is_live = writer->values[op->out].is_live;
    const char *place = "", *to = "";

    if (is_live) {
        if (op->of.put->is_in_place && writer->values[op->out].name == NULL) {
            writer->values[op->out].name = mdf_source_address(writer, op->in[0]);
        }
        mdf_source_write_array_copy(writer, op);
        to = writer->values[op->out].name;
        place = mdf_source_name(writer, &writer->locals, "place");
    }
    if (writer->values[op->in[1]].is_made_there) {
        declare_item(writer, op->in[1]);
    }
    mdf_source_open(writer, "%s", "");
    mdf_source_line(writer, "uint64_t beyond = 0;");
    mdf_source_line(writer, is_live ? "const size_t %s = %s;" : "%s(void)(%s);", place, place_text(writer, op));
    mdf_source_bail_out_if(writer, "beyond != 0", "an index is out of range");
    if (is_live) {
        write_item(writer, op, to, place);
    }
    mdf_source_close(writer);
}
