/* source_loop_copies.c - short arrays from outside that the nests of a LOOP read in each run, in places of the function's own.
 *
 * Compilers can not tell that what a run stores in the state lies elsewhere, and would load such arrays anew in each. Of their
 * own places they can, keep them in registers as far as these go, and have them begin with a line of the cache. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/source/source_writer.h"

/* Fewer elements are single numbers, which take no vectors; a loop of fewer runs may end before a copy has paid. */
enum { LEAST_ELEMENTS = 17, MOST_BYTES = 1024, MOST_BYTES_IN_ALL = 4096, LEAST_RUNS = 16 };

static size_t bytes_of(const struct mdf_lowered_value *value)
{
    return value->form.length * mdf_dtype_size((mdf_dtype)value->form.dtype);
}

static bool may_copy(const struct mdf_source_writer *writer, const struct mdf_source_copies *copies, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &writer->lowered->values[id];
    size_t n_bytes = bytes_of(value), i;

    for (i = 0; i < copies->n; i++) {
        if (copies->ids[i] == id) {
            return false;
        }
    }
    return value->place == MDF_LOWERED_INPUT && !value->is_scalar && value->open_axes == 0 &&
           value->form.length >= LEAST_ELEMENTS && n_bytes <= MOST_BYTES && copies->n_bytes + n_bytes <= MOST_BYTES_IN_ALL &&
           mdf_source_has_room(writer, n_bytes) && copies->n < MDF_SOURCE_MOST_COPIES;
}

static void copy_array(struct mdf_source_writer *writer, struct mdf_source_copies *copies, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &writer->lowered->values[id];
    const struct mdf_source_slot *slot = writer->find_slot(writer->slot_context, value->source);
    const char *name = mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, value->form.length, slot->hint);

    mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", name, mdf_source_address(writer, id), name);
    copies->ids[copies->n] = id;
    copies->names[copies->n++] = writer->values[id].name;
    copies->n_bytes += bytes_of(value);
    writer->values[id].name = name;
}

static void copy_inputs(struct mdf_source_writer *writer, struct mdf_source_copies *copies,
                        const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        for (size_t j = 0; op->code == MDF_LOWERED_NEST && j < op->of.nest->n_steps; j++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[j];

            if (step->kind == MDF_NEST_LOAD && may_copy(writer, copies, step->view.id)) {
                copy_array(writer, copies, step->view.id);
            }
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            copy_inputs(writer, copies, inner);
        }
    }
}

void mdf_source_copy_inputs(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                            struct mdf_source_copies *copies)
{
    *copies = (struct mdf_source_copies){0};
    if (writer->n_loops == 0 && loop->n_runs >= LEAST_RUNS) {
        copy_inputs(writer, copies, &loop->body);
    }
    writer->n_loops++;
}

void mdf_source_end_copies(struct mdf_source_writer *writer, const struct mdf_source_copies *copies)
{
    for (size_t i = 0; i < copies->n; i++) {
        writer->values[copies->ids[i]].name = copies->names[i];
    }
    writer->n_loops--;
}
