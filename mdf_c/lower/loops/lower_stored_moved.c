/* lower_stored_moved.c - what a nest stores only for a call to move it, as distances to many points that are transposed, is
 * stored where the call would have moved it, and the call is dropped. See lowering.h.
 *
 * That is done where vectors of the nest lie along what it stores then (lower_turned.c).
 *
 * Short rows that a nest stores element by element, along the axis in front of them, for nothing but other nests (forces between
 * particles), are stored as columns, and read so: vectors lie along these. Not for C source, whose compilers do better with rows.
 */
#include "functions/moves/indexing.h"
#include "mdf_c/lower/loops/turning.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* How an array that is moved lies in what it becomes: its dimensions of more than one element, from the outermost on, each with
 * how far apart its elements are in the array, and there. */
struct moved {
    size_t rank;
    int64_t extents[MDF_INLINE_RANK], from[MDF_INLINE_RANK], to[MDF_INLINE_RANK];
};

/* Puts a dimension where it belongs: that with the largest steps first. */
static void add_dimension(struct moved *moved, int64_t extent, int64_t from, int64_t to)
{
    size_t i = moved->rank++;

    for (; i > 0 && moved->from[i - 1] < from; i--) {
        moved->extents[i] = moved->extents[i - 1];
        moved->from[i] = moved->from[i - 1];
        moved->to[i] = moved->to[i - 1];
    }
    moved->extents[i] = extent;
    moved->from[i] = from;
    moved->to[i] = to;
}

/* Whether a value has each element of what it is a view of once, with its axes in another order. */
static bool find_order(const struct lowering *lowering, mdf_lowered_id id, struct moved *moved)
{
    const struct lowering_view *view = &lowering->facts[id].view;
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    int64_t strides[MDF_INLINE_RANK], n = 1;

    *moved = (struct moved){0};
    mdf_strides(form->rank, mdf_value_shape(form), strides);
    for (size_t i = 0; i < form->rank; i++) {
        if (mdf_value_shape(form)[i] > 1) {
            add_dimension(moved, mdf_value_shape(form)[i], view->strides[i], strides[i]);
        }
    }
    for (size_t i = moved->rank; i-- > 0; n *= moved->extents[i]) {
        if (moved->from[i] != n) {
            return false;
        }
    }
    return view->first == 0 && form->length == lowering->lowered->values[view->id].form.length;
}

/* The indices of an element of the array, or of a step along it. False: they are not within it. */
static bool find_indices(const struct moved *moved, int64_t place, int64_t indices[MDF_INLINE_RANK])
{
    for (size_t i = 0; place >= 0 && i < moved->rank; i++) {
        indices[i] = place / moved->from[i];
        place %= moved->from[i];
        if (indices[i] >= moved->extents[i]) {
            return false;
        }
    }
    return place == 0;
}

static int64_t place_there(const struct moved *moved, const int64_t indices[MDF_INLINE_RANK])
{
    int64_t place = 0;

    for (size_t i = 0; i < moved->rank; i++) {
        place += indices[i] * moved->to[i];
    }
    return place;
}

/* What a nest stores in the array, where that has been moved. False: an axis of it goes from one row to the next. */
static bool move_view(const struct moved *moved, const struct mdf_lowered_nest *nest, struct mdf_nest_view *view)
{
    int64_t last[MDF_INLINE_RANK] = {0}, by[MDF_INLINE_RANK] = {0};
    size_t i;

    if (!find_indices(moved, view->first, last)) {
        return false;
    }
    view->first = place_there(moved, last);
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        if (!find_indices(moved, view->strides[axis], by)) {
            return false;
        }
        view->strides[axis] = place_there(moved, by);
        for (i = 0; i < moved->rank; i++) {
            last[i] += by[i] * ((int64_t)nest->extents[axis] - 1);
        }
    }
    for (i = 0; i < moved->rank && last[i] < moved->extents[i]; i++) {
    }
    return i == moved->rank;
}

/* The call behind op number `at` that moves a value; SIZE_MAX: there is none. */
static size_t find_move(const struct lowering *lowering, const struct mdf_lowered_region *region, size_t at, mdf_lowered_id id)
{
    for (size_t i = at + 1; i < region->n_ops; i++) {
        const struct mdf_lowered_call *call = region->ops[i].code == MDF_LOWERED_CALL ? region->ops[i].of.call : NULL;

        if (call != NULL && call->n_outputs == 1 && call->outputs[0] != MDF_LOWERED_NONE &&
            mdf_lowered_reads(&region->ops[i], id)) {
            const struct lowering_view *view = &lowering->facts[call->outputs[0]].view;

            return view->is_there && view->id == id && view->at == MDF_LOWERED_NONE ? i : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* The only store of a value in a nest, which stores all of it; NULL: there are others. */
static struct mdf_nest_step *find_store(const struct lowering *lowering, struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    struct mdf_nest_step *found = NULL;

    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE && nest->steps[i].view.id == id) {
            if (found != NULL) {
                return NULL;
            }
            found = &nest->steps[i];
        }
    }
    return mdf_nest_count(nest, 0, found->level) == lowering->lowered->values[id].form.length ? found : NULL;
}

/* What a nest, op number `at`, stores in a value is stored where call number `call` would move it, if that pays. */
static void store_moved(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, size_t call, mdf_lowered_id id)
{
    struct mdf_lowered_nest *nest = region->ops[at].of.nest;
    struct mdf_nest_step *store = find_store(lowering, nest, id);
    mdf_lowered_id out = region->ops[call].of.call->outputs[0];
    struct turning *turning = store != NULL ? turning_of(lowering, &region->ops[at]) : NULL;
    struct mdf_nest_view kept;
    struct moved moved;

    if (turning == NULL || !find_order(lowering, out, &moved)) {
        return;
    }
    kept = store->view;
    if (!move_view(&moved, nest, &store->view) || !turning_is_worth_it(turning, nest)) {
        store->view = kept;
        return;
    }
    store->view.id = out;
    lowering->facts[id].is_nested = false;
    lowering->facts[out].is_nested = true;
    memmove(region->ops + call, region->ops + call + 1, (region->n_ops - call - 1) * sizeof *region->ops);
    region->n_ops--;
}

bool lowering_store_moved(struct lowering *lowering)
{
    struct mdf_lowered_region *region = &lowering->lowered->region;
    const size_t *n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);

    for (size_t i = 0; n_reads != NULL && i < region->n_ops; i++) {
        const struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;

        for (size_t k = 0; nest != NULL && !nest->is_open && k < nest->n_steps; k++) {
            mdf_lowered_id id = nest->steps[k].kind == MDF_NEST_STORE ? nest->steps[k].view.id : MDF_LOWERED_NONE;
            size_t call = id != MDF_LOWERED_NONE && n_reads[id] == 1 && !lowering->facts[id].is_watched
                              ? find_move(lowering, region, i, id)
                              : SIZE_MAX;

            if (call != SIZE_MAX) {
                store_moved(lowering, region, i, call, id);
            }
        }
    }
    return n_reads != NULL ? !lowering_has_failed(lowering) : lowering_out_of_memory(lowering);
}

/* ------------------------------------------------------------------ short rows between nests */

/* An array whose rows are short, with its columns as rows. False: it has none. */
static bool turn_rows(const struct mdf_value *form, struct moved *moved)
{
    enum { LONGEST_ROW = 4, FEWEST_ROWS = 8 };
    int64_t strides[MDF_INLINE_RANK];
    size_t i;

    *moved = (struct moved){0};
    mdf_strides(form->rank, mdf_value_shape(form), strides);
    for (i = 0; i < form->rank; i++) {
        if (mdf_value_shape(form)[i] > 1) {
            add_dimension(moved, mdf_value_shape(form)[i], strides[i], strides[i]);
        }
    }
    i = moved->rank;
    if (i < 2 || moved->extents[i - 1] > LONGEST_ROW || moved->extents[i - 2] < FEWEST_ROWS) {
        return false;
    }
    moved->to[i - 2] = 1;
    moved->to[i - 1] = moved->extents[i - 2];
    return true;
}

/* Whether a nest stores all of an array, with an axis for its rows and one for their elements. */
static bool stores_rows(const struct lowering *lowering, struct mdf_lowered_nest *nest, mdf_lowered_id id,
                        const struct moved *moved)
{
    const struct mdf_nest_step *store = find_store(lowering, nest, id);
    size_t n_found = 0;

    for (size_t axis = 0; store != NULL && !nest->is_open && axis < nest->n_axes; axis++) {
        n_found += store->view.strides[axis] == moved->from[moved->rank - 1] ||
                   (store->view.strides[axis] == moved->from[moved->rank - 2] &&
                    nest->extents[axis] == (size_t)moved->extents[moved->rank - 2]);
    }
    return n_found == 2;
}

/* Goes through what nests of a region store and load of an array, which `is_done` moves. How often it is read; SIZE_MAX:
 * something of it can not be moved. */
static size_t move_rows(struct mdf_lowered_region *region, mdf_lowered_id id, const struct moved *moved, bool is_done)
{
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;

        for (size_t k = 0; nest != NULL && k < nest->n_steps; k++) {
            struct mdf_nest_step *step = &nest->steps[k];
            struct mdf_nest_view view = step->view;
            bool is_load = step->kind == MDF_NEST_LOAD;

            if ((!is_load && step->kind != MDF_NEST_STORE) || view.id != id) {
                continue;
            }
            if (nest->is_open || (is_load && view.at != MDF_NEST_NONE) || !move_view(moved, nest, &view)) {
                return SIZE_MAX;
            }
            step->view = is_done ? view : step->view;
            n += is_load;
        }
    }
    return n;
}

static void turn_stored(struct lowering *lowering, struct mdf_lowered_region *region, const size_t *n_reads)
{
    struct moved moved;

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_nest *nest = region->ops[i].code == MDF_LOWERED_NEST ? region->ops[i].of.nest : NULL;

        for (size_t k = 0; nest != NULL && k < nest->n_steps; k++) {
            mdf_lowered_id id = nest->steps[k].view.id;

            if (nest->steps[k].kind == MDF_NEST_STORE && !lowering->facts[id].is_watched &&
                turn_rows(&lowering->lowered->values[id].form, &moved) && stores_rows(lowering, nest, id, &moved) &&
                n_reads[id] > 0 && move_rows(region, id, &moved, false) == n_reads[id]) {
                move_rows(region, id, &moved, true);
            }
        }
        if (region->ops[i].code == MDF_LOWERED_LOOP) {
            turn_stored(lowering, &region->ops[i].of.loop->body, n_reads);
        } else if (region->ops[i].code == MDF_LOWERED_IF) {
            turn_stored(lowering, &region->ops[i].of.branches->then, n_reads);
            turn_stored(lowering, &region->ops[i].of.branches->otherwise, n_reads);
        }
    }
}

bool lowering_store_columns(struct lowering *lowering)
{
    const size_t *n_reads;

    if (lowering->is_for_source) { /* compilers make vectors along the rows */
        return true;
    }
    n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);
    if (n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    turn_stored(lowering, &lowering->lowered->region, n_reads);
    return true;
}
