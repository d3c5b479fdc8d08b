/* lower_assembled.c - arrays that are put together of pieces of others, as what is turned along an axis, shifted by some places
 * or set in a border, need not be made for nests that read several of them: the index space is cut into boxes in which all of
 * their elements lie evenly in what they were taken from, most of it one box, and a nest for each box reads them there. What
 * nothing reads is then dropped (lower_unread.c). See lowering.h.
 *
 * Which element lies where is found element by element. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

enum {
    LONGEST_ASSEMBLED = 1 << 14, /* elements */
    MOST_PLACES = 1 << 17,       /* of all that a nest reads */
    MOST_BOXES = 27,
    FEWEST_OF_BOX = 8,    /* points, on average */
    COPIES_PER_POINT = 2, /* elements that are assembled for a nest's point, at least, if it has rows whose ends are cut off */
    PLACE_BITS = 40,
    LARGEST_ID = 1 << 20,
    FARTHEST_MOVED = 256 /* ops */
};

/* A region whose ops are gone through. */
struct assembling {
    struct lowering *lowering;
    struct mdf_lowered_region *region;
    const size_t *n_reads; /* of each value */
    int64_t **places;      /* of each value that is assembled in the region: where its elements lie; else NULL */
    size_t *n_placed;
    bool *is_needed;
};

/* What such a nest reads, in a box of its index space. */
struct box {
    size_t from[MDF_NEST_MOST_AXES], n[MDF_NEST_MOST_AXES];
};

struct cutting {
    const struct mdf_lowered_nest *nest;
    size_t steps[MDF_NEST_MOST_AXES]; /* of its axes, in points */
    size_t n_points, n_loads;
    uint8_t loads[MDF_NEST_MOST_STEPS]; /* steps that load what is assembled */
    int64_t *places;                    /* of each of them, of each point */
    struct box boxes[MOST_BOXES];
    size_t n_boxes;
};

/* ------------------------------------------------------------------ what is assembled */

/* The store of a nest that does nothing but store elements as it loads them; NULL: it is another op. */
static const struct mdf_nest_step *stored_copy(const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_nest *nest = op->code == MDF_LOWERED_NEST ? op->of.nest : NULL;

    return nest != NULL && !nest->is_open && nest->n_steps == 2 && nest->steps[0].kind == MDF_NEST_LOAD &&
                   nest->steps[0].view.at == MDF_NEST_NONE && nest->steps[1].kind == MDF_NEST_STORE
               ? &nest->steps[1]
               : NULL;
}

/* Which element of the view's value is that of a point, whose number counts the last axis fastest. */
static int64_t element_at(const struct mdf_lowered_nest *nest, const struct mdf_nest_view *view, size_t point)
{
    int64_t element = view->first;

    for (size_t axis = nest->n_axes; axis-- > 0; point /= nest->extents[axis]) {
        element += (int64_t)(point % nest->extents[axis]) * view->strides[axis];
    }
    return element;
}

static bool is_assembled(const struct assembling *assembling, mdf_lowered_id id)
{
    return assembling->places[id] != NULL && assembling->n_placed[id] == assembling->lowering->lowered->values[id].form.length;
}

static bool may_be_assembled(const struct assembling *assembling, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &assembling->lowering->lowered->values[id];

    return value->place == MDF_LOWERED_RESULT && !value->is_scalar && value->open_axes == 0 &&
           value->form.kind == MDF_KIND_TENSOR && value->form.length <= LONGEST_ASSEMBLED && id < LARGEST_ID;
}

/* Notes where the elements lie that a nest copies. */
static bool note_copy(const struct assembling *assembling, const struct mdf_lowered_nest *nest)
{
    const struct mdf_nest_view *from = &nest->steps[0].view, *to = &nest->steps[1].view;
    size_t n = mdf_nest_count(nest, 0, nest->n_axes), i;
    const int64_t *before = is_assembled(assembling, from->id) ? assembling->places[from->id] : NULL;

    if (!may_be_assembled(assembling, to->id) || from->id >= LARGEST_ID) {
        return true;
    }
    if (assembling->places[to->id] == NULL) {
        assembling->places[to->id] = mdf_arena_array(&assembling->lowering->scratch,
                                                     assembling->lowering->lowered->values[to->id].form.length, sizeof(int64_t));
        if (assembling->places[to->id] == NULL) {
            return lowering_out_of_memory(assembling->lowering);
        }
    }
    for (i = 0; i < n; i++) {
        int64_t element = element_at(nest, from, i);

        assembling->places[to->id][element_at(nest, to, i)] =
            before != NULL ? before[element] : ((int64_t)from->id << PLACE_BITS) + element;
    }
    assembling->n_placed[to->id] += n;
    return true;
}

static bool find_assembled(const struct assembling *assembling)
{
    for (size_t i = 0; i < assembling->region->n_ops; i++) {
        if (stored_copy(&assembling->region->ops[i]) != NULL && !note_copy(assembling, assembling->region->ops[i].of.nest)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ boxes */

static bool is_evenly_on(const struct cutting *cutting, size_t load, size_t point, size_t step, int64_t distance)
{
    const int64_t *places = cutting->places + load * cutting->n_points;

    return places[point + step] - places[point] == distance && places[point] >> PLACE_BITS == places[point + step] >> PLACE_BITS;
}

/* Whether the slices `i` and `i + 1` of the box along an axis, which has no length along those behind it yet, are apart as those
 * from `first` on are, and so all of their points. */
static bool goes_on(const struct cutting *cutting, const struct box *box, size_t axis, size_t first, size_t i)
{
    size_t step = cutting->steps[axis], start = 0;

    for (size_t a = 0; a < axis; a++) {
        start += box->from[a] * cutting->steps[a];
    }
    for (size_t load = 0; load < cutting->n_loads; load++) {
        const int64_t *places = cutting->places + load * cutting->n_points + start;

        for (size_t k = 0; k < step; k++) {
            if (!is_evenly_on(cutting, load, start + i * step + k, step,
                              places[(first + 1) * step + k] - places[first * step + k])) {
                return false;
            }
        }
    }
    return true;
}

/* How many slices from number `first` on go on evenly. Two that do so, while the third goes on in another way, are kept apart:
 * the second one belongs to what follows. */
static size_t count_slices(const struct cutting *cutting, const struct box *box, size_t axis, size_t first)
{
    size_t extent = cutting->nest->extents[axis], n = 1;

    while (first + n < extent && goes_on(cutting, box, axis, first, first + n - 1)) {
        n++;
    }
    return n == 2 && first + n < extent ? 1 : n;
}

/* False: there are too many. */
static bool cut(struct cutting *cutting, struct box box, size_t axis)
{
    if (axis == cutting->nest->n_axes) {
        if (cutting->n_boxes == MOST_BOXES) {
            return false;
        }
        cutting->boxes[cutting->n_boxes++] = box;
        return true;
    }
    for (size_t i = 0; i < cutting->nest->extents[axis]; i += box.n[axis]) {
        box.from[axis] = i;
        box.n[axis] = count_slices(cutting, &box, axis, i);
        if (!cut(cutting, box, axis + 1)) {
            return false;
        }
    }
    return true;
}

/* Whether the elements of a box lie evenly: slices that do so by themselves may differ from each other. */
static bool is_even(const struct cutting *cutting, const struct box *box)
{
    const struct mdf_lowered_nest *nest = cutting->nest;
    struct mdf_lowered_nest own = {.n_axes = nest->n_axes};
    struct mdf_nest_view points = {0}, view = {0};
    size_t n;

    memcpy(own.extents, box->n, sizeof own.extents);
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        points.first += (int64_t)(box->from[axis] * cutting->steps[axis]);
        points.strides[axis] = (int64_t)cutting->steps[axis];
    }
    n = mdf_nest_count(&own, 0, own.n_axes);
    for (size_t load = 0; load < cutting->n_loads; load++) {
        const int64_t *places = cutting->places + load * cutting->n_points;

        view.first = places[points.first];
        for (size_t axis = 0; axis < nest->n_axes; axis++) {
            view.strides[axis] = box->n[axis] > 1 ? places[points.first + points.strides[axis]] - view.first : 0;
        }
        for (size_t i = 0; i < n; i++) {
            if (places[element_at(&own, &points, i)] != element_at(&own, &view, i)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether nothing is folded along an axis that is cut, and all that is stored goes along it. */
static bool may_cut(const struct cutting *cutting)
{
    const struct mdf_lowered_nest *nest = cutting->nest;
    bool is_cut[MDF_NEST_MOST_AXES] = {false};

    for (size_t i = 0; i < cutting->n_boxes; i++) {
        for (size_t axis = 0; axis < nest->n_axes; axis++) {
            is_cut[axis] = is_cut[axis] || cutting->boxes[i].n[axis] < nest->extents[axis];
        }
        if (!is_even(cutting, &cutting->boxes[i])) {
            return false;
        }
    }
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        for (size_t i = 0; is_cut[axis] && i < nest->n_steps; i++) {
            if (mdf_nest_folds_axis(nest, i, axis) || (nest->steps[i].kind == MDF_NEST_STORE && nest->steps[i].level <= axis)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nests */

/* A copy of a nest whose steps are its own; NULL: memory ran out. */
static struct mdf_lowered_nest *copy_nest(struct lowering *lowering, const struct mdf_lowered_nest *from)
{
    struct mdf_lowered_nest *nest = mdf_arena_allocate(&lowering->lowered->arena, sizeof *nest);
    struct mdf_nest_step *steps = mdf_arena_allocate(&lowering->lowered->arena, from->n_steps * sizeof *steps);

    if (nest == NULL || steps == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    memcpy(steps, from->steps, from->n_steps * sizeof *steps);
    *nest = *from;
    nest->steps = steps;
    return nest;
}

/* Makes one axis two, the second one of `inner` indices. */
static void split_axis(struct mdf_lowered_nest *nest, size_t axis, size_t inner)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_view *view = &nest->steps[i].view;

        for (size_t a = nest->n_axes; a > axis; a--) {
            view->strides[a] = view->strides[a - 1];
        }
        view->strides[axis] *= (int64_t)inner;
        nest->steps[i].level = (uint8_t)(nest->steps[i].level > axis ? nest->steps[i].level + 1 : nest->steps[i].level);
    }
    for (size_t a = nest->n_axes++; a > axis; a--) {
        nest->extents[a] = nest->extents[a - 1];
    }
    nest->extents[axis] /= inner;
    nest->extents[axis + 1] = inner;
}

/* Gives the nest the axes of an array that it goes through as if it had one. */
static void take_axes(struct mdf_lowered_nest *nest, const struct mdf_nest_view *view, const struct mdf_value *form)
{
    int64_t stride = 1;
    size_t axis;

    for (size_t d = form->rank; d-- > 1; stride *= mdf_value_shape(form)[d]) {
        size_t n = (size_t)mdf_value_shape(form)[d];

        for (axis = 0; axis < nest->n_axes && view->strides[axis] != stride; axis++) {
        }
        if (n > 1 && axis < nest->n_axes && nest->n_axes < MDF_NEST_MOST_AXES && nest->extents[axis] > n &&
            nest->extents[axis] % n == 0 && !mdf_nest_is_folded(nest, axis)) {
            split_axis(nest, axis, n);
        }
    }
}

/* Removes an axis of one index. */
static void remove_axis(struct mdf_lowered_nest *nest, size_t axis)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_view *view = &nest->steps[i].view;

        for (size_t a = axis; a + 1 < MDF_NEST_MOST_AXES; a++) {
            view->strides[a] = view->strides[a + 1];
        }
        view->strides[MDF_NEST_MOST_AXES - 1] = 0;
        nest->steps[i].level = (uint8_t)(nest->steps[i].level > axis ? nest->steps[i].level - 1 : nest->steps[i].level);
    }
    for (size_t a = axis; a + 1 < nest->n_axes; a++) {
        nest->extents[a] = nest->extents[a + 1];
    }
    nest->n_axes--;
}

/* The nest in a box. */
static struct mdf_lowered_nest *nest_of_box(const struct assembling *assembling, const struct cutting *cutting,
                                            const struct box *box)
{
    struct mdf_lowered_nest *nest = copy_nest(assembling->lowering, cutting->nest);
    size_t start = 0;

    for (size_t axis = 0; nest != NULL && axis < nest->n_axes; axis++) {
        start += box->from[axis] * cutting->steps[axis];
        nest->extents[axis] = box->n[axis];
        for (size_t i = 0; i < nest->n_steps; i++) {
            nest->steps[i].view.first += (int64_t)box->from[axis] * nest->steps[i].view.strides[axis];
        }
    }
    for (size_t i = 0; nest != NULL && i < cutting->n_loads; i++) {
        struct mdf_nest_view *view = &nest->steps[cutting->loads[i]].view;
        const int64_t *places = cutting->places + i * cutting->n_points + start;

        view->id = (mdf_lowered_id)(places[0] >> PLACE_BITS);
        view->first = places[0] & ((INT64_C(1) << PLACE_BITS) - 1);
        for (size_t axis = 0; axis < nest->n_axes; axis++) {
            view->strides[axis] = box->n[axis] > 1 ? places[cutting->steps[axis]] - places[0] : 0;
        }
    }
    for (size_t axis = nest != NULL ? nest->n_axes : 0; axis-- > 0;) {
        if (nest->extents[axis] == 1) {
            remove_axis(nest, axis);
        }
    }
    return nest;
}

/* Notes the loads of what is assembled, all or what need not be made; the elements of these arrays. */
static size_t find_loads(const struct assembling *assembling, struct cutting *cutting, bool all)
{
    const struct mdf_lowered_nest *nest = cutting->nest;
    size_t n = 0, k;

    cutting->n_loads = 0;
    for (size_t i = 0; i < nest->n_steps; i++) {
        mdf_lowered_id id = nest->steps[i].view.id;

        if (nest->steps[i].kind != MDF_NEST_LOAD || !is_assembled(assembling, id) || (!all && assembling->is_needed[id])) {
            continue;
        }
        for (k = 0; k < cutting->n_loads && nest->steps[cutting->loads[k]].view.id != id; k++) {
        }
        n += k == cutting->n_loads ? assembling->lowering->lowered->values[id].form.length : 0;
        cutting->loads[cutting->n_loads++] = (uint8_t)i;
    }
    return n;
}

/* Whether a nest calls functions: for the few points of a box at an edge they would be called as for a whole vector. */
static bool calls_functions(const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && !draft_calls(&nest->steps[i]); i++) {
    }
    return i < nest->n_steps;
}

/* Cuts a nest; its boxes are none where that can not be, or is not worth it. `all`: as if nothing else read what it does. */
static bool cut_nest(const struct assembling *assembling, const struct mdf_lowered_op *op, bool all, struct cutting *cutting)
{
    struct lowering *lowering = assembling->lowering;
    struct mdf_lowered_nest *nest;
    size_t n_assembled, rank = 1;

    *cutting = (struct cutting){.nest = op->of.nest, .n_points = mdf_nest_count(op->of.nest, 0, op->of.nest->n_axes)};
    n_assembled = find_loads(assembling, cutting, all);
    for (size_t load = 0; load < cutting->n_loads; load++) {
        const struct mdf_value *form = &lowering->lowered->values[op->of.nest->steps[cutting->loads[load]].view.id].form;

        rank = form->rank > rank ? form->rank : rank;
    }
    if (op->of.nest->is_open || n_assembled == 0 || calls_functions(op->of.nest) ||
        n_assembled / (rank > 1 ? COPIES_PER_POINT : 1) < cutting->n_points ||
        cutting->n_loads * cutting->n_points > MOST_PLACES) {
        return true;
    }
    nest = copy_nest(lowering, op->of.nest);
    cutting->places = mdf_arena_array(&lowering->scratch, cutting->n_loads * cutting->n_points, sizeof(int64_t));
    if (nest == NULL || cutting->places == NULL) {
        return lowering_out_of_memory(lowering);
    }
    cutting->nest = nest;
    for (size_t load = 0; load < cutting->n_loads; load++) {
        const struct mdf_nest_view *view = &nest->steps[cutting->loads[load]].view;

        if (view->at != MDF_NEST_NONE) {
            return true;
        }
        take_axes(nest, view, &lowering->lowered->values[view->id].form);
    }
    for (size_t i = nest->n_axes; i-- > 0;) {
        cutting->steps[i] = i + 1 < nest->n_axes ? cutting->steps[i + 1] * nest->extents[i + 1] : 1;
    }
    for (size_t load = 0; load < cutting->n_loads; load++) {
        const struct mdf_nest_view *view = &nest->steps[cutting->loads[load]].view;

        for (size_t i = 0; i < cutting->n_points; i++) {
            cutting->places[load * cutting->n_points + i] = assembling->places[view->id][element_at(nest, view, i)];
        }
    }
    if (!cut(cutting, (struct box){{0}, {0}}, 0) || cutting->n_boxes * FEWEST_OF_BOX > cutting->n_points || !may_cut(cutting)) {
        cutting->n_boxes = 0;
    }
    return true;
}

/* ------------------------------------------------------------------ regions */

/* Whether something that is no nest, and so may write where an array lies that it reads, stands between what copies pieces of the
 * array and a nest that is to read it instead. */
static bool is_changed_before(const struct assembling *assembling, const struct cutting *cutting, size_t at)
{
    const struct mdf_lowered_op *ops = assembling->region->ops;

    for (size_t load = 0; load < cutting->n_loads; load++) {
        const int64_t *places = cutting->places + load * cutting->n_points;
        mdf_lowered_id before = MDF_LOWERED_NONE;

        for (size_t i = 0; i < cutting->n_points; i++) {
            mdf_lowered_id id = (mdf_lowered_id)(places[i] >> PLACE_BITS);

            for (size_t k = 0; id != before && k < at; k++) {
                if (ops[k].code != MDF_LOWERED_NEST && mdf_lowered_reads(&ops[k], id)) {
                    return true;
                }
            }
            before = id;
        }
    }
    return false;
}

static void need(void *context, mdf_lowered_id id, bool is_aliased)
{
    const struct assembling *assembling = context;

    (void)is_aliased;
    assembling->is_needed[id] = true;
}

/* Marks what is read by others than nests that can be cut and copies of what nothing needs. */
static bool find_needed(struct assembling *assembling, const bool *is_cut)
{
    const struct mdf_lowered *lowered = assembling->lowering->lowered;
    size_t *n_own = mdf_arena_array(&assembling->lowering->scratch, lowered->n_values, sizeof *n_own), i, k;

    if (n_own == NULL) {
        return lowering_out_of_memory(assembling->lowering);
    }
    for (i = 0; i < assembling->region->n_ops; i++) {
        const struct mdf_lowered_op *op = &assembling->region->ops[i];

        for (k = 0; (is_cut[i] || stored_copy(op) != NULL) && k < op->of.nest->n_steps; k++) {
            n_own[op->of.nest->steps[k].view.id] += op->of.nest->steps[k].kind == MDF_NEST_LOAD;
        }
    }
    for (i = 0; i < lowered->n_values; i++) {
        assembling->is_needed[i] = assembling->n_reads[i] > n_own[i] || assembling->lowering->facts[i].is_watched;
    }
    for (i = assembling->region->n_ops; i-- > 0;) {
        const struct mdf_lowered_op *op = &assembling->region->ops[i];
        const struct mdf_nest_step *copy = stored_copy(op);

        if (!is_cut[i] && (copy == NULL || !is_assembled(assembling, copy->view.id) || assembling->is_needed[copy->view.id])) {
            mdf_lowered_visit_reads(op, need, assembling);
        }
    }
    return true;
}

/* Puts the nests of the boxes in the place of op number *at, which then is the last of them. */
static bool replace(const struct assembling *assembling, size_t *at, const struct cutting *cutting)
{
    const struct mdf_lowered_op op = assembling->region->ops[*at];
    struct mdf_lowered_op *ops;

    ops = lowering_insert_ops(assembling->lowering, assembling->region, *at, cutting->n_boxes - 1);
    for (size_t i = 0; ops != NULL && i < cutting->n_boxes; i++) {
        ops[i] = op;
        ops[i].of.nest = nest_of_box(assembling, cutting, &cutting->boxes[i]);
        if (ops[i].of.nest == NULL) {
            return false;
        }
    }
    *at += cutting->n_boxes - 1;
    return ops != NULL;
}

static bool cut_nests(struct assembling *assembling)
{
    struct mdf_arena *scratch = &assembling->lowering->scratch;
    bool *is_cut = mdf_arena_array(scratch, assembling->region->n_ops, sizeof *is_cut);
    struct cutting *cutting = mdf_arena_allocate(scratch, sizeof *cutting);
    size_t number = 0;

    if (is_cut == NULL || cutting == NULL) {
        return lowering_out_of_memory(assembling->lowering);
    }
    for (size_t i = 0; i < assembling->region->n_ops; i++) {
        const struct mdf_lowered_op *op = &assembling->region->ops[i];

        if (op->code == MDF_LOWERED_NEST && stored_copy(op) == NULL) {
            if (!cut_nest(assembling, op, true, cutting)) {
                return false;
            }
            is_cut[i] = cutting->n_boxes > 0 && !is_changed_before(assembling, cutting, i);
        }
    }
    if (!find_needed(assembling, is_cut)) {
        return false;
    }
    for (size_t i = 0; i < assembling->region->n_ops; i++, number++) {
        if (is_cut[number] && !cut_nest(assembling, &assembling->region->ops[i], false, cutting)) {
            return false;
        }
        if (is_cut[number] && cutting->n_boxes > 0 && !replace(assembling, &i, cutting)) {
            return false;
        }
    }
    return true;
}

static bool go_through(struct assembling *assembling, struct mdf_lowered_region *region)
{
    size_t n_values = assembling->lowering->lowered->n_values, n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_LOOP) {
            if (!go_through(assembling, &op->of.loop->body)) {
                return false;
            }
        } else if (op->code == MDF_LOWERED_IF &&
                   !(go_through(assembling, &op->of.branches->then) && go_through(assembling, &op->of.branches->otherwise))) {
            return false;
        }
        n += stored_copy(op) != NULL;
    }
    if (n < 2) {
        return true;
    }
    memset(assembling->places, 0, n_values * sizeof *assembling->places);
    memset(assembling->n_placed, 0, n_values * sizeof *assembling->n_placed);
    assembling->region = region;
    return find_assembled(assembling) && cut_nests(assembling);
}

bool lowering_read_assembled(struct lowering *lowering)
{
    size_t n = lowering->lowered->n_values;
    struct assembling assembling = {.lowering = lowering};

    assembling.n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);
    assembling.places = mdf_arena_array(&lowering->scratch, n, sizeof *assembling.places);
    assembling.n_placed = mdf_arena_array(&lowering->scratch, n, sizeof *assembling.n_placed);
    assembling.is_needed = mdf_arena_array(&lowering->scratch, n, sizeof *assembling.is_needed);
    if (assembling.n_reads == NULL || assembling.places == NULL || assembling.n_placed == NULL || assembling.is_needed == NULL) {
        return lowering_out_of_memory(lowering);
    }
    return go_through(&assembling, &lowering->lowered->region);
}

/* ------------------------------------------------------------------ pieces first */

/* The store of a nest that only copies a piece of an array; NULL: it is another op. */
static const struct mdf_nest_step *stored_piece(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_nest_step *copy = stored_copy(op);

    return copy != NULL && mdf_nest_count(op->of.nest, 0, copy->level) < lowering->lowered->values[copy->view.id].form.length
               ? copy
               : NULL;
}

/* Whether an op only copies a piece of an array, as all do that store some of it. */
static bool copies_piece(const struct lowering *lowering, const struct region *region, size_t at)
{
    const struct mdf_nest_step *copy = stored_piece(lowering, &region->ops[at]);

    if (copy == NULL) {
        return false;
    }
    for (size_t i = at > FARTHEST_MOVED ? at - FARTHEST_MOVED : 0; i < region->n_ops && i < at + FARTHEST_MOVED; i++) {
        if (stored_copy(&region->ops[i]) == NULL && mdf_lowered_has_result(&region->ops[i], copy->view.id)) {
            return false;
        }
    }
    return true;
}

/* What a copy of a piece, or a copy that is a part, is taken from; NONE: it is another op. */
static mdf_lowered_id taken_from(const struct lowering *lowering, const struct region *region, size_t at)
{
    const struct mdf_lowered_op *op = &region->ops[at];
    const struct mdf_nest_step *copy = stored_copy(op);
    const struct mdf_nest_view *view = copy != NULL ? &op->of.nest->steps[0].view : NULL;

    return copies_piece(lowering, region, at) ||
                   (copy != NULL && stored_piece(lowering, op) == NULL &&
                    lowering->lowered->values[view->id].form.length > lowering->lowered->values[copy->view.id].form.length)
               ? view->id
               : MDF_LOWERED_NONE;
}

/* Copies of whole arrays stay where they are: most of them are dropped. Copies of slices go as
 * far as pieces, so that ops on what they are taken from and ops on them stand side by side. */
void lowering_copy_first(struct lowering *lowering, struct region *region)
{
    size_t at;

    for (size_t i = 1; i < region->n_ops; i++) {
        const struct mdf_lowered_op op = region->ops[i];
        mdf_lowered_id from = taken_from(lowering, region, i);

        if (from == MDF_LOWERED_NONE) {
            continue;
        }
        for (at = i; at > 0 && i - at < FARTHEST_MOVED && stored_piece(lowering, &region->ops[at - 1]) == NULL &&
                     !mdf_lowered_has_result(&region->ops[at - 1], from);
             at--) {
        }
        memmove(region->ops + at + 1, region->ops + at, (i - at) * sizeof op);
        region->ops[at] = op;
    }
}
