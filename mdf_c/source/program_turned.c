/* program_turned.c - large arrays that nodes of one stretch only turn (a stack of columns, which a Transpose makes rows): where
 * nobody else reads the one, the other one alone is stored, and what made the one can be a nest with all that is made of it. Who
 * asks for it by name gets it made of the other one then, which has the same elements. */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/run/readers.h"
#include "mdf_c/source/program_writer.h"

#include <string.h>

enum { LEAST_BYTES = 32768 };

/* ------------------------------------------------------------------ what is turned */

/* Whether a view goes once through all elements of an array, as many as a nest has points. */
static bool is_whole(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, size_t length)
{
    int64_t next = 1;
    size_t axis;

    if (step->view.first != 0 || step->view.at != MDF_NEST_NONE || step->level != nest->n_axes) {
        return false;
    }
    for (size_t n = 0; n < nest->n_axes; n++) { /* the axis of each stride, from that of neighbours on */
        for (axis = 0; axis < nest->n_axes && step->view.strides[axis] != next; axis++) {
        }
        if (axis == nest->n_axes || nest->extents[axis] < 2) {
            return false;
        }
        next *= (int64_t)nest->extents[axis];
    }
    return next == (int64_t)length;
}

/* The output that a value is; NULL: none, or no plain array. */
static const struct mdf_lowered_output *output_of(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_lowered_output *output = &lowered->outputs[i];

        if (output->id == id) {
            return output->is_list || output->n_items > 0 || output->is_either || output->is_optional ? NULL : output;
        }
    }
    return NULL;
}

static bool is_large(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    const struct mdf_value *form = &lowered->values[id].form;

    return form->length * mdf_dtype_size((mdf_dtype)form->dtype) >= LEAST_BYTES;
}

/* Of a nest, a load of an output all of which goes as it is to another output. */
static bool find_in_nest(const struct mdf_source_program *program, const struct mdf_lowered *lowered,
                         const struct mdf_lowered_nest *nest, struct mdf_source_turned *turned)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *store = &nest->steps[i], *load = &nest->steps[store->in[0]];
        const struct mdf_lowered_output *from, *to;

        if (store->kind != MDF_NEST_STORE || load->kind != MDF_NEST_LOAD || !is_large(lowered, load->view.id) ||
            lowered->values[load->view.id].form.dtype != lowered->values[store->view.id].form.dtype ||
            !is_whole(nest, load, lowered->values[load->view.id].form.length) ||
            !is_whole(nest, store, lowered->values[store->view.id].form.length)) {
            continue;
        }
        to = output_of(lowered, load->view.id);
        from = output_of(lowered, store->view.id);
        if (to == NULL || from == NULL) {
            continue;
        }
        turned->slot = (size_t)(to->slot - program->graph->values);
        turned->from = (size_t)(from->slot - program->graph->values);
        turned->rank = nest->n_axes;
        memcpy(turned->extents, nest->extents, sizeof turned->extents);
        memcpy(turned->strides, load->view.strides, sizeof turned->strides);
        memcpy(turned->from_strides, store->view.strides, sizeof turned->from_strides);
        return true;
    }
    return false;
}

static bool find_turned(const struct mdf_source_program *program, const struct mdf_lowered *lowered,
                        struct mdf_source_turned *turned)
{
    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        if (lowered->region.ops[i].code == MDF_LOWERED_NEST &&
            find_in_nest(program, lowered, lowered->region.ops[i].of.nest, turned)) {
            return true;
        }
    }
    return false;
}

/* Whether instructions of one node, of those that are together, are all that reads a slot, but for who looks at it by name. */
static bool is_read_within(struct mdf_source_program *program, const struct mdf_source_together *together, size_t slot)
{
    const struct mdf_program *own = program->graph->program;
    const uint32_t *readers = mdf_program_inner_readers(own, &program->writer.arena);

    if (readers == NULL || readers[slot] == MDF_READ_BY_ALL || readers[slot] == MDF_READ_BY_NOBODY) {
        return false;
    }
    for (size_t i = 0; i < together->n; i++) {
        if (own->nodes[readers[slot] - 1].first == together->ranges[i].first) {
            return true;
        }
    }
    return false;
}

/* Whether there is such an array that need not be stored. */
static bool has_unread(struct mdf_source_program *program, const struct mdf_source_together *together,
                       struct mdf_source_turned *turned)
{
    return find_turned(program, together->lowered, turned) && is_read_within(program, together, turned->slot);
}

bool mdf_source_turns_unread(struct mdf_source_program *program, const struct mdf_source_together *together)
{
    struct mdf_source_turned turned;

    return has_unread(program, together, &turned);
}

static size_t count_nests(const struct mdf_lowered *lowered)
{
    size_t n = 0;

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        n += lowered->region.ops[i].code == MDF_LOWERED_NEST;
    }
    return n;
}

struct mdf_lowered *mdf_source_leave_turned(struct mdf_source_program *program, const struct mdf_source_together *together,
                                            struct mdf_lowered *(*lower)(struct mdf_source_program *program,
                                                                         const struct mdf_source_together *together))
{
    struct mdf_source_graph *graph = program->graph;
    struct mdf_source_turned *turned = mdf_arena_allocate(&program->writer.arena, sizeof *turned);
    struct mdf_lowered *without;

    if (turned == NULL || !has_unread(program, together, turned)) {
        return together->lowered;
    }
    graph->is_read[turned->slot] = MDF_READ_BY_NOBODY;
    without = lower(program, together);
    graph->is_read[turned->slot] = MDF_READ_BY_ALL;
    if (without == NULL || count_nests(without) >= count_nests(together->lowered)) {
        mdf_lowered_release(without);
        return together->lowered;
    }
    turned->next = graph->turned;
    graph->turned = turned;
    mdf_lowered_release(together->lowered);
    return without;
}

/* ------------------------------------------------------------------ its text */

static const char index_names[] = "ijklmnop"; /* of axes */

static const char *index_text(struct mdf_source_program *program, const struct mdf_source_turned *turned, const int64_t *strides)
{
    const char *text = "";

    for (size_t axis = 0; axis < turned->rank; axis++) {
        text = mdf_source_text(&program->writer, strides[axis] == 1 ? "%s%s%c" : "%s%s%c * %lld", text, axis > 0 ? " + " : "",
                               index_names[axis], (long long)strides[axis]);
    }
    return text;
}

/* What a member of the state is called by itself. */
static const char *member_name(const char *name)
{
    const char *arrow = strrchr(name, '>');

    return arrow != NULL ? arrow + 1 : name;
}

const char *mdf_source_turned_function(struct mdf_source_program *program, size_t slot)
{
    struct mdf_source_writer *writer = &program->writer;
    const struct mdf_source_turned *turned = program->graph->turned;
    const struct mdf_source_slot *slots = program->graph->slots;
    const char *name;

    while (turned != NULL && turned->slot != slot) {
        turned = turned->next;
    }
    if (turned == NULL) {
        return NULL;
    }
    name = mdf_source_name(writer, &writer->globals, mdf_source_text(writer, "make_%s", member_name(slots[slot].name)));
    mdf_source_begin_function(program, name);
    for (size_t axis = 0; axis < turned->rank; axis++) {
        const char index = index_names[axis];

        mdf_source_open(writer, "for (size_t %c = 0; %c < %zu; %c++)", index, index, turned->extents[axis], index);
    }
    mdf_source_line(writer, "%s[%s] = %s[%s];", slots[slot].name, index_text(program, turned, turned->strides),
                    slots[turned->from].name, index_text(program, turned, turned->from_strides));
    for (size_t axis = 0; axis < turned->rank; axis++) {
        mdf_source_close(writer);
    }
    mdf_source_end_function(program, name, "An array that a step does not store, as another one has its elements.");
    return name;
}
