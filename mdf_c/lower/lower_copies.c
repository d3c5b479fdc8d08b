/* lower_copies.c - copies that only have another shape are not read: nests, rows that are put into arrays or stacks, and
 * products by matrices that are laid out, find the same elements in the same order in what was copied. So do ops on numbers, of
 * which nothing but the type counts; and nests find the elements of a row that is copied where they lie, also where the array has
 * that for a piece, as a small matrix that is put together of numbers. Copies that nothing else reads are then dropped
 * (lower_unread.c). What nests store for nothing but to be copied into a larger array, as the middle of a field whose borders are
 * put around it, they store there. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

/* So many elements of a value, from one on: they are those of another value, from one on. */
struct piece {
    int64_t at, n, first;
    mdf_lowered_id id;
    const struct piece *next;
};

struct copies {
    struct lowering *lowering;
    const struct mdf_lowered *lowered;
    mdf_lowered_id *originals;   /* of each value: what it is a copy of; NONE: it is none */
    const struct piece **pieces; /* the same: what is copied there row by row */
    bool has_moved;              /* a nest reads a row where it lies */
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

/* Whether what a nest loads is stored as it is, and lies side by side in both arrays, or is a single element. */
static bool copies_row(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *load,
                       const struct mdf_nest_step *store)
{
    const struct mdf_lowered_value *from = &lowered->values[load->view.id];

    return load->kind == MDF_NEST_LOAD && load->view.at == MDF_NEST_NONE && !nest->is_open &&
           is_closed_array(&lowered->values[store->view.id]) && (from->is_scalar || is_closed_array(from)) &&
           (mdf_nest_count(nest, 0, store->level) == 1 ||
            (store->level == 1 && load->level == 1 && store->view.strides[0] == 1 && load->view.strides[0] == 1));
}

static void note_rows(const struct copies *copies, const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *store = &nest->steps[i];
        const struct mdf_nest_step *load = store->kind == MDF_NEST_STORE ? &nest->steps[store->in[0]] : NULL;
        struct piece *piece;

        if (load == NULL || !copies_row(copies->lowered, nest, load, store)) {
            continue;
        }
        piece = mdf_arena_allocate(&copies->lowering->scratch, sizeof *piece);
        if (piece == NULL) {
            lowering_out_of_memory(copies->lowering);
            return;
        }
        *piece = (struct piece){store->view.first, (int64_t)mdf_nest_count(nest, 0, store->level), load->view.first,
                                load->view.id, copies->pieces[store->view.id]};
        copies->pieces[store->view.id] = piece;
    }
}

/* The piece that has all which a load reads; of what an index leads to it is not known where that lies. NULL: there is none. */
static const struct piece *find_piece(const struct copies *copies, const struct mdf_lowered_nest *nest,
                                      const struct mdf_nest_step *load)
{
    const struct piece *piece = copies->pieces[load->view.id];
    int64_t low = load->view.first, high = low;

    for (size_t axis = 0; axis < load->level; axis++) {
        int64_t reach = load->view.strides[axis] * ((int64_t)nest->extents[axis] - 1);

        *(reach < 0 ? &low : &high) += reach;
    }
    if (load->view.at != MDF_NEST_NONE || nest->is_open) {
        low = 0;
        high = (int64_t)copies->lowered->values[load->view.id].form.length - 1;
    }
    for (; piece != NULL && !(low >= piece->at && high < piece->at + piece->n); piece = piece->next) {
    }
    return piece;
}

static void read_in_place(struct copies *copies, const struct mdf_lowered_nest *nest, struct mdf_nest_step *load)
{
    const struct piece *piece;

    load->view.id = original_of(copies, load->view.id);
    while ((piece = find_piece(copies, nest, load)) != NULL) {
        load->view.id = piece->id;
        load->view.first += piece->first - piece->at;
        if (copies->lowered->values[piece->id].is_scalar) {
            load->view = (struct mdf_nest_view){.id = piece->id, .at = MDF_NEST_NONE};
        }
        copies->has_moved = true;
    }
}

static void read_loads(struct copies *copies, struct mdf_lowered_op *op)
{
    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            read_in_place(copies, op->of.nest, &op->of.nest->steps[i]);
        }
    }
    if (op->code == MDF_LOWERED_NEST) {
        note_rows(copies, op->of.nest);
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
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_COPY) {
            note_copy(copies, op);
        } else if (op->code == MDF_LOWERED_IF) {
            read_in_region(copies, &op->of.branches->then);
            read_in_region(copies, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_LOOP) {
            read_in_region(copies, &op->of.loop->body);
            for (size_t j = 0; j < op->of.loop->n_products; j++) { /* those that stand in front of the body, too */
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
    size_t n = lowering->lowered->n_values;

    *copies = (struct copies){.lowering = lowering, .lowered = lowering->lowered};
    copies->originals = mdf_arena_array(&lowering->scratch, n, sizeof *copies->originals);
    copies->pieces = mdf_arena_array(&lowering->scratch, n, sizeof *copies->pieces);
    for (size_t i = 0; copies->originals != NULL && copies->pieces != NULL && i < n; i++) {
        copies->originals[i] = MDF_LOWERED_NONE;
        copies->pieces[i] = NULL;
    }
    return (copies->originals != NULL && copies->pieces != NULL) || lowering_out_of_memory(lowering);
}

bool lowering_read_originals(struct lowering *lowering)
{
    struct copies copies;

    if (!begin(lowering, &copies)) {
        return false;
    }
    read_in_region(&copies, &lowering->lowered->region);
    return !lowering_has_failed(lowering) && (!copies.has_moved || lowering_drop_unread(lowering));
}

/* ------------------------------------------------------------------ numbers */

static void read_numbers_in_region(struct copies *copies, const struct mdf_lowered_region *region);

/* What a state is next may be what an op of the body itself has made, of the same form: an array for one state alone. */
static void read_next(const struct copies *copies, struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_value *values = copies->lowered->values;

    for (size_t i = 0; i < loop->n_states; i++) {
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

    for (size_t i = 0; i < op->n_in && op->code <= MDF_LOWERED_PUT; i++) {
        op->in[i] = original_of(copies, op->in[i]);
    }
    read_loads(copies, op);
    for (size_t i = 0; (inner = mdf_lowered_inner(op, i)) != NULL; i++) {
        read_numbers_in_region(copies, inner);
    }
    if (op->code == MDF_LOWERED_LOOP) {
        read_next(copies, op->of.loop);
    }
}

static void read_numbers_in_region(struct copies *copies, const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_value *values = copies->lowered->values;

    for (size_t i = 0; i < region->n_ops; i++) {
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
    return !lowering_has_failed(lowering) && lowering_drop_unread(lowering);
}

/* ------------------------------------------------------------------ stores */

/* Whether nests of the region alone make both arrays, none of them something of both, and all of `from` in front of op number
 * `at`. */
static bool are_made_by_nests(const struct mdf_lowered_region *region, mdf_lowered_id from, mdf_lowered_id to, size_t at)
{
    bool is_made = false; /* else it was in front of the region */

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        bool makes_from = mdf_lowered_has_result(op, from), makes_to = mdf_lowered_has_result(op, to);

        if ((makes_from && (makes_to || i > at)) ||
            ((makes_from || makes_to) && (op->code != MDF_LOWERED_NEST || op->of.nest->is_open))) {
            return false;
        }
        is_made = is_made || makes_from;
    }
    return is_made;
}

/* Whether op number `at` copies all of an array that nothing else reads into another one, both of which nests make. */
static bool is_last_copy(const struct lowering *lowering, const struct mdf_lowered_region *region, size_t at,
                         const size_t *n_reads)
{
    const struct mdf_lowered_nest *nest = region->ops[at].code == MDF_LOWERED_NEST ? region->ops[at].of.nest : NULL;
    const struct mdf_lowered_value *values = lowering->lowered->values;
    mdf_lowered_id from, to;

    if (nest == NULL || nest->n_steps != 2 || nest->steps[1].kind != MDF_NEST_STORE ||
        !copies_row(lowering->lowered, nest, &nest->steps[0], &nest->steps[1])) {
        return false;
    }
    from = nest->steps[0].view.id;
    to = nest->steps[1].view.id;
    return !values[from].is_scalar && n_reads[from] == 1 && values[from].place == MDF_LOWERED_RESULT &&
           values[to].place == MDF_LOWERED_RESULT && !lowering->facts[from].is_watched &&
           values[from].form.dtype == values[to].form.dtype && nest->steps[0].view.first == 0 &&
           mdf_nest_count(nest, 0, nest->n_axes) == values[from].form.length && are_made_by_nests(region, from, to, at);
}

static void store_there(const struct mdf_lowered_region *region, const struct mdf_lowered_nest *copy)
{
    const struct mdf_nest_view *from = &copy->steps[0].view, *to = &copy->steps[1].view;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;

        for (size_t k = 0; nest != NULL && nest != copy && k < nest->n_steps; k++) {
            struct mdf_nest_view *view = &nest->steps[k].view;

            if (nest->steps[k].kind == MDF_NEST_STORE && view->id == from->id) {
                view->id = to->id;
                view->first += to->first;
            }
        }
    }
}

static void store_in_region(const struct lowering *lowering, struct mdf_lowered_region *region, const size_t *n_reads)
{
    for (size_t at = region->n_ops; at-- > 0;) {
        struct mdf_lowered_op *op = &region->ops[at];

        if (op->code == MDF_LOWERED_IF) {
            store_in_region(lowering, &op->of.branches->then, n_reads);
            store_in_region(lowering, &op->of.branches->otherwise, n_reads);
        } else if (op->code == MDF_LOWERED_LOOP) {
            store_in_region(lowering, &op->of.loop->body, n_reads);
        } else if (is_last_copy(lowering, region, at, n_reads)) {
            store_there(region, op->of.nest);
            memmove(op, op + 1, (--region->n_ops - at) * sizeof *op);
        }
    }
}

bool lowering_store_copied(struct lowering *lowering)
{
    const size_t *n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);

    if (n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    store_in_region(lowering, &lowering->lowered->region, n_reads);
    return true;
}
