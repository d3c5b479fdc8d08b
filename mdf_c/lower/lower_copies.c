/* lower_copies.c - copies that only have another shape are not read: nests, rows that are put into arrays or stacks, and
 * products by matrices that are laid out, find the same elements in the same order in what was copied. So do ops on numbers, of
 * which nothing but the type counts; and nests find the elements of a row that is copied where they lie. Copies that nothing else
 * reads are then dropped (lower_unread.c). See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

struct copies {
    const struct mdf_lowered *lowered;
    mdf_lowered_id *originals; /* of each value: what it is a copy of; NONE: it is none */
    struct place {
        mdf_lowered_id id;
        size_t first;
    } * places;     /* the same: what it is one row of, and where that begins */
    bool has_moved; /* a nest reads a row where it lies */
};

static mdf_lowered_id original_of(const struct copies *copies, mdf_lowered_id id)
{
    return id == MDF_LOWERED_NONE || copies->originals[id] == MDF_LOWERED_NONE ? id : copies->originals[id];
}

static bool is_closed_array(const struct mdf_lowered_value *value)
{
    return !value->is_scalar && value->open_axes == 0 && value->form.kind == MDF_KIND_TENSOR;
}

static void note_copy(const struct copies *copies, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *copy = &copies->lowered->values[op->out], *from = &copies->lowered->values[op->in[0]];

    if (is_closed_array(copy) && is_closed_array(from) && copy->form.dtype == from->form.dtype &&
        copy->form.length == from->form.length) {
        copies->originals[op->out] = original_of(copies, op->in[0]);
    }
}

static bool goes_along(const struct mdf_nest_view *view)
{
    return view->at == MDF_NEST_NONE && view->strides[0] == 1;
}

/* A nest that does nothing but copy elements which lie side by side. */
static void note_row(const struct copies *copies, const struct mdf_lowered_nest *nest)
{
    const struct mdf_nest_step *load = &nest->steps[0], *store = &nest->steps[1];
    const struct mdf_lowered_value *values = copies->lowered->values;

    if (nest->n_steps == 2 && nest->n_axes == 1 && load->kind == MDF_NEST_LOAD && store->kind == MDF_NEST_STORE &&
        goes_along(&load->view) && goes_along(&store->view) && store->view.first == 0 && load->view.first >= 0 &&
        is_closed_array(&values[load->view.id]) && is_closed_array(&values[store->view.id]) &&
        nest->extents[0] == values[store->view.id].form.length) {
        copies->places[store->view.id] = (struct place){load->view.id, (size_t)load->view.first};
    }
}

static void read_in_place(struct copies *copies, struct mdf_nest_view *view)
{
    const struct place *place;

    view->id = original_of(copies, view->id);
    place = &copies->places[view->id];
    if (place->id != MDF_LOWERED_NONE) {
        view->id = place->id;
        view->first += (int64_t)place->first;
        copies->has_moved = true;
    }
}

static void read_loads(struct copies *copies, struct mdf_lowered_op *op)
{
    size_t i;

    for (i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            read_in_place(copies, &op->of.nest->steps[i].view);
        }
    }
    if (op->code == MDF_LOWERED_NEST) {
        note_row(copies, op->of.nest);
    }
}

static void read_originals(struct copies *copies, struct mdf_lowered_op *op)
{
    struct mdf_lowered_call *call = op->code == MDF_LOWERED_CALL ? op->of.call : NULL;

    read_loads(copies, op);
    if (op->code == MDF_LOWERED_PUT && !copies->lowered->values[op->in[1]].is_scalar) {
        op->in[1] = original_of(copies, op->in[1]);
    }
    if (call != NULL && call->stack != NULL && call->n_inputs > 1 && !copies->lowered->values[call->inputs[1]].is_scalar) {
        call->inputs[1] = original_of(copies, call->inputs[1]);
    }
    if (call != NULL && call->product != NULL) {
        call->product->a = original_of(copies, call->product->a);
        call->inputs[0] = call->product->a;
    }
}

static void read_in_region(struct copies *copies, struct mdf_lowered_region *region)
{
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_COPY) {
            note_copy(copies, op);
        } else if (op->code == MDF_LOWERED_IF) {
            read_in_region(copies, &op->of.branches->then);
            read_in_region(copies, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_LOOP) {
            read_in_region(copies, &op->of.loop->body);
            for (j = 0; j < op->of.loop->n_products; j++) { /* those that stand in front of the body, too */
                if (!op->of.loop->products[j]->is_behind) {
                    op->of.loop->products[j]->a = original_of(copies, op->of.loop->products[j]->a);
                }
            }
        } else {
            read_originals(copies, op);
        }
    }
}

static bool begin(struct lowering *lowering, struct copies *copies)
{
    size_t n = lowering->lowered->n_values, i;

    *copies = (struct copies){.lowered = lowering->lowered};
    copies->originals = mdf_arena_array(&lowering->scratch, n, sizeof *copies->originals);
    copies->places = mdf_arena_array(&lowering->scratch, n, sizeof *copies->places);
    for (i = 0; copies->originals != NULL && copies->places != NULL && i < n; i++) {
        copies->originals[i] = copies->places[i].id = MDF_LOWERED_NONE;
    }
    return (copies->originals != NULL && copies->places != NULL) || lowering_out_of_memory(lowering);
}

bool lowering_read_originals(struct lowering *lowering)
{
    struct copies copies;

    if (!begin(lowering, &copies)) {
        return false;
    }
    read_in_region(&copies, &lowering->lowered->region);
    return !copies.has_moved || lowering_drop_unread(lowering);
}

/* ------------------------------------------------------------------ numbers */

static void read_numbers_in_region(struct copies *copies, const struct mdf_lowered_region *region);

/* What a state is next may be what an op of the body itself has made, of the same form: an array for one state alone. */
static void read_next(const struct copies *copies, struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_value *values = copies->lowered->values;
    size_t i;

    for (i = 0; i < loop->n_states; i++) {
        mdf_lowered_id next = loop->states[i].next, from = original_of(copies, next);
        size_t maker = from != next ? mdf_lowered_find_maker(&loop->body, from) : SIZE_MAX;

        if (maker != SIZE_MAX && loop->body.ops[maker].code < MDF_LOWERED_CALL &&
            (values[from].is_scalar || !mdf_lowered_is_next(loop, from)) &&
            mdf_value_has_form_of(&values[next].form, &values[from].form)) {
            loop->states[i].next = from;
        }
    }
}

static void read_numbers(struct copies *copies, struct mdf_lowered_op *op)
{
    const struct mdf_lowered_region *inner;
    size_t i;

    for (i = 0; i < op->n_in && op->code <= MDF_LOWERED_PUT; i++) {
        op->in[i] = original_of(copies, op->in[i]);
    }
    read_loads(copies, op);
    for (i = 0; (inner = mdf_lowered_inner(op, i)) != NULL; i++) {
        read_numbers_in_region(copies, inner);
    }
    if (op->code == MDF_LOWERED_LOOP) {
        read_next(copies, op->of.loop);
    }
}

static void read_numbers_in_region(struct copies *copies, const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_value *values = copies->lowered->values;
    size_t i;

    for (i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        read_numbers(copies, op);
        if (op->code == MDF_LOWERED_COPY && values[op->out].is_scalar && values[op->in[0]].is_scalar &&
            values[op->out].form.dtype == values[op->in[0]].form.dtype) {
            copies->originals[op->out] = op->in[0];
        }
    }
}

bool lowering_read_numbers(struct lowering *lowering)
{
    struct copies copies;

    if (!begin(lowering, &copies)) {
        return false;
    }
    read_numbers_in_region(&copies, &lowering->lowered->region);
    return lowering_drop_unread(lowering);
}
