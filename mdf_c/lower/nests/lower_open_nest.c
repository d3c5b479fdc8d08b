/* lower_open_nest.c - NESTs with an open axis (nest.h), or views, for calls that read what grows. See trial.h.
 *
 * A nest is made of the call with operands of one size, and once more of another: the axis whose extent is not the same is the
 * open one. Where anything else differs (a divisor, an offset, the order of a sum) the call is left to its kernel. What is left
 * is run beside the kernel for short axes, too, and has to give its bits.
 *
 * What has axes of more than one index in front of its open axis is read, and stored, with that axis first (lower_open_order.c). */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_parts.h"

#include "functions/moves/indexing.h"

#include <string.h>

/* So long that the order of a sum is that of long rows, of which short ones are a case. */
enum { FIRST_SIZE = 520, SECOND_SIZE = 528 };

/* An operand that is open, or what it is a view of, as it was. */
struct kept_operand {
    mdf_lowered_id id;
    struct mdf_value example, form;
    uint8_t open_axes;
};

struct opening {
    struct lowering *lowering;
    struct scope *scope;
    const struct trial *trial;
    struct kept_operand *kept;
    size_t n_kept;
    mdf_lowered_id *turned; /* of each operand, what has its elements with the open axis first, made for the nest; else NONE */
    int64_t least;          /* the open axis is at least so long */
    size_t result_axis;     /* of the result, which lies with that axis first; 0: as it is */
    uint64_t random;
};

/* ------------------------------------------------------------------ operands of a size */

/* One of few numbers, so that extremes come more than once. */
static double next_number(struct opening *opening)
{
    opening->random = opening->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(opening->random >> 40) / 0x1p22 - 2;
}

static void fill(struct opening *opening, struct mdf_value *value)
{
    enum { AT_ONCE = 128 };
    size_t size = mdf_dtype_size((mdf_dtype)value->dtype), first, i, n;
    char kind = mdf_dtype_kind((mdf_dtype)value->dtype);
    double numbers[AT_ONCE];

    for (first = 0; first < value->length; first += n) {
        n = value->length - first < AT_ONCE ? value->length - first : AT_ONCE;
        for (i = 0; i < n; i++) {
            double number = next_number(opening);

            numbers[i] = kind == 'f' ? number : kind == 'b' ? (double)(number > 0) : (double)(int)(4 * number + 8);
        }
        mdf_convert_elements((mdf_dtype)value->dtype, (char *)value->data + first * size, MDF_DTYPE_FLOAT64, numbers, n, false);
    }
}

/* Whether a value, or what it is a view of, may be gone through along its open axis. */
static bool is_covered(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct lowering_view *view = &lowering->facts[id].view;

    return lowering_is_open_first(&lowering->lowered->values[view->is_there ? view->id : id]) &&
           mdf_dtype_kind((mdf_dtype)lowering_example(lowering, id)->dtype) != 's';
}

/* The numbers of what it is a view of, which has that size already, or new ones. */
static void fill_kept(struct opening *opening, const struct kept_operand *kept, struct mdf_value *made)
{
    const struct lowering_view *view = &opening->lowering->facts[kept->id].view;
    size_t size = mdf_dtype_size((mdf_dtype)made->dtype), i;
    const char *base;

    if (!view->is_there) {
        fill(opening, made);
        return;
    }
    base = lowering_example(opening->lowering, view->id)->data;
    for (i = 0; i < made->length; i++) {
        size_t place = (size_t)lowering_place_in_view(view, mdf_value_shape(made), made->rank, i);

        memcpy((char *)made->data + i * size, base + place * size, size);
    }
}

static bool set_size_of(struct opening *opening, const struct kept_operand *kept, int64_t size)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_value made = {0}, form = kept->form;

    for (form.length = 0; (kept->open_axes >> form.length & 1) == 0; form.length++) {
    }
    form.shape.sizes[form.length] = size;
    if (mdf_value_make_tensor(lowering->memory, &made, (mdf_dtype)form.dtype, form.rank, form.shape.sizes) == NULL) {
        return lowering_out_of_memory(lowering);
    }
    made.strength = form.strength;
    form.length = made.length;
    fill_kept(opening, kept, &made);
    mdf_value_swap(&lowering->facts[kept->id].example, &made);
    mdf_value_clear(lowering->memory, &made);
    lowering->lowered->values[kept->id].form = form;
    return true;
}

/* Operands that are open become examples of the size, of which nothing says that they are open; views behind what they look at. */
static bool set_size(struct opening *opening, int64_t size)
{
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < opening->n_kept; i++) {
            if (opening->lowering->facts[opening->kept[i].id].view.is_there == (pass == 1) &&
                !set_size_of(opening, &opening->kept[i], size)) {
                return false;
            }
        }
    }
    return true;
}

/* Once, where several operands are the same value. */
static void keep(struct opening *opening, mdf_lowered_id id)
{
    struct lowering *lowering = opening->lowering;
    struct kept_operand *kept = &opening->kept[opening->n_kept];

    if (lowering->facts[id].is_open) {
        kept->id = id;
        kept->open_axes = lowering->lowered->values[id].open_axes;
        opening->least = lowering->facts[id].least > opening->least ? lowering->facts[id].least : opening->least;
        kept->form = lowering->lowered->values[id].form;
        lowering->facts[id].is_open = false;
        lowering->lowered->values[id].open_axes = 0;
        mdf_value_swap(&kept->example, &lowering->facts[id].example);
        opening->n_kept++;
    }
}

static bool begin(struct opening *opening)
{
    struct lowering *lowering = opening->lowering;

    opening->kept = mdf_arena_array(&lowering->scratch, 2 * opening->trial->n + 1, sizeof *opening->kept);
    if (opening->kept == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < opening->trial->n; i++) {
        mdf_lowered_id id = opening->trial->ids[i];

        if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open) {
            keep(opening, id);
            if (lowering->facts[id].view.is_there) {
                keep(opening, lowering->facts[id].view.id);
            }
        }
    }
    return true;
}

static void end(struct opening *opening)
{
    struct lowering *lowering = opening->lowering;

    for (size_t i = 0; i < opening->n_kept; i++) {
        struct kept_operand *kept = &opening->kept[i];

        lowering->facts[kept->id].is_open = true;
        lowering->lowered->values[kept->id].open_axes = kept->open_axes;
        lowering->lowered->values[kept->id].form = kept->form;
        mdf_value_swap(&kept->example, &lowering->facts[kept->id].example);
        mdf_value_clear(lowering->memory, &kept->example);
    }
}

/* Operands that no nest can go through are laid out with their open axis first; their views lead there until the nest is made. */
static bool turn_operands(struct opening *opening)
{
    struct lowering *lowering = opening->lowering;
    const struct trial *trial = opening->trial;

    opening->turned = mdf_arena_array(&lowering->scratch, trial->n + 1, sizeof *opening->turned);
    if (opening->turned == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < trial->n; i++) {
        mdf_lowered_id id = trial->ids[i];
        struct lowering_view view = {.is_there = true, .at = MDF_LOWERED_NONE};

        opening->turned[i] = MDF_LOWERED_NONE;
        if (id == MDF_LOWERED_NONE || !lowering->facts[id].is_open || is_covered(lowering, id)) {
            continue;
        }
        view.id = lowering_move_axis(lowering, id, lowering_open_axis(&lowering->lowered->values[id]), 0);
        if (view.id == MDF_LOWERED_NONE) {
            return false;
        }
        lowering_strides_of_turned(&lowering->lowered->values[id].form, lowering_open_axis(&lowering->lowered->values[id]),
                                   view.strides);
        lowering->facts[id].view = view;
        opening->turned[i] = view.id;
    }
    return true;
}

/* They are not there before: what made them is no move of that. */
static void forget_turned(struct opening *opening)
{
    for (size_t i = 0; opening->turned != NULL && i < opening->trial->n; i++) {
        mdf_lowered_id id = opening->trial->ids[i];

        if (id != MDF_LOWERED_NONE && opening->turned[i] != MDF_LOWERED_NONE) {
            opening->lowering->facts[id].view = (struct lowering_view){.at = MDF_LOWERED_NONE};
        }
    }
}

/* ------------------------------------------------------------------ the nest of a size */

/* The call on the examples as they are now. */
static bool run_kernel(const struct opening *opening, struct trial *run)
{
    struct lowering *lowering = opening->lowering;
    const struct trial *trial = opening->trial;

    if (!lowering_begin_trial(lowering, run)) {
        return false;
    }
    for (size_t i = 0; i < trial->n; i++) {
        run->ids[i] = trial->ids[i];
        run->given[i] = run->effective[i] = trial->ids[i] == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, trial->ids[i]);
    }
    return lowering_run_trial(lowering, run);
}

/* The only op that has been added, a NEST; NULL: it is not so. */
static struct mdf_lowered_nest *find_added(const struct lowering *lowering, const size_t *counts)
{
    struct mdf_lowered_nest *nest = NULL;
    const struct region *region;
    size_t n = 0, i = 0;

    for (region = lowering->region; region != NULL; region = region->outer, i++) {
        n += region->n_ops - counts[i];
        if (region->n_ops > counts[i] && region->ops[region->n_ops - 1].code == MDF_LOWERED_NEST) {
            nest = region->ops[region->n_ops - 1].of.nest;
        }
    }
    return n == 1 ? nest : NULL;
}

/* The only store is the last step. */
static struct mdf_nest_view *view_of_result(const struct mdf_lowered_nest *nest)
{
    return &nest->steps[nest->n_steps - 1].view;
}

/* How many elements lie in front of the result's open axis, and behind each index of it. */
static void count_around(const struct mdf_value *result, size_t axis, int64_t *n_front, int64_t *row)
{
    *n_front = (int64_t)mdf_axes_product(mdf_value_shape(result), 0, axis);
    *row = (int64_t)mdf_axes_product(mdf_value_shape(result), axis + 1, result->rank);
}

/* The result, whose open axis is as long, is stored with that axis first. False: some axis of the nest goes along several. */
static bool turn_store(const struct opening *opening, struct mdf_lowered_nest *nest, int64_t size)
{
    struct mdf_nest_view *view = view_of_result(nest);
    int64_t n_front, row;

    count_around(&opening->trial->results[0], opening->result_axis, &n_front, &row);
    for (size_t axis = 0; axis < nest->steps[nest->n_steps - 1].level; axis++) {
        int64_t stride = view->strides[axis];

        if (stride > 0 && stride % (size * row) == 0) {
            view->strides[axis] = stride / size;
        } else if (stride == row && (int64_t)nest->extents[axis] == size) {
            view->strides[axis] = n_front * row;
        } else if (stride <= 0 || stride * (int64_t)nest->extents[axis] > row) {
            return false;
        }
    }
    return view->first == 0;
}

/* How far the elements lie from each other in what an operand is a view of that lie `stride` apart in the operand itself, n of them;
 * adds to `last` the last index that they reach of each dimension. -1: that is not the same for all. */
static int64_t stride_behind(const struct lowering_view *from, const struct mdf_value *form, int64_t stride, size_t n, int64_t *last)
{
    const int64_t *shape = mdf_value_shape(form);
    int64_t reached[MDF_INLINE_RANK] = {0}, by;
    size_t d, rest;

    if (stride < 0 || (uint64_t)stride * (n - 1) >= form->length) {
        return -1;
    }
    by = lowering_place_in_view(from, shape, form->rank, (size_t)stride) - from->first;
    for (size_t k = 0; k < n; k++) {
        if (lowering_place_in_view(from, shape, form->rank, k * (size_t)stride) != from->first + by * (int64_t)k) {
            return -1;
        }
        for (d = form->rank, rest = k * (size_t)stride; d-- > 0; rest /= (size_t)shape[d]) {
            int64_t index = (int64_t)(rest % (size_t)shape[d]);

            reached[d] = index > reached[d] ? index : reached[d];
        }
    }
    for (d = 0; d < form->rank; d++) {
        last[d] += reached[d];
    }
    return by;
}

/* A load of an operand becomes one of what that is a view of. False: there is no such one. */
static bool look_through(const struct lowering *lowering, const struct mdf_lowered_nest *nest, struct mdf_nest_step *step)
{
    const struct lowering_view *from = &lowering->facts[step->view.id].view;
    const struct mdf_value *form = &lowering->lowered->values[step->view.id].form;
    int64_t last[MDF_INLINE_RANK] = {0};
    size_t d;

    if (step->view.at != MDF_NEST_NONE || step->view.first != 0) {
        return false;
    }
    for (size_t axis = 0; axis < step->level; axis++) {
        step->view.strides[axis] = stride_behind(from, form, step->view.strides[axis], nest->extents[axis], last);
        if (step->view.strides[axis] < 0) {
            return false;
        }
    }
    step->view.first = from->first;
    step->view.id = from->id;
    for (d = 0; d < form->rank && last[d] < mdf_value_shape(form)[d]; d++) {
    }
    return d == form->rank;
}

/* Loads of operands that are views lead to what these look at; the result is stored as it will lie. */
static bool turn_nest(struct opening *opening, struct mdf_lowered_nest *nest, int64_t size)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_step *step = &nest->steps[i];

        for (size_t k = 0; step->kind == MDF_NEST_LOAD && k < opening->n_kept; k++) {
            if (opening->kept[k].id == step->view.id && opening->lowering->facts[step->view.id].view.is_there &&
                !look_through(opening->lowering, nest, step)) {
                return false;
            }
        }
    }
    return opening->result_axis == 0 || turn_store(opening, nest, size);
}

/* The nest that the call becomes with open operands of the size, as if that were known; NULL without a refusal: there is none. */
static struct mdf_lowered_nest *make_nest(struct opening *opening, int64_t size)
{
    struct lowering *lowering = opening->lowering;
    struct trial run = {.source = opening->trial->source};
    struct mdf_lowered_nest *nest = NULL;
    size_t *counts = lowering_count_ops(lowering);
    bool taken = false;

    if (counts == NULL || !set_size(opening, size)) {
        return NULL;
    }
    if (run_kernel(opening, &run) && lowering_add_nest_of_call(lowering, opening->scope, &run, &taken) && taken) {
        nest = find_added(lowering, counts);
    }
    lowering_restore_ops(lowering, counts);
    lowering_end_trial(lowering, &run);
    nest = nest == NULL || turn_nest(opening, nest, size) ? nest : NULL;
    return lowering_has_failed(lowering) ? NULL : nest;
}

/* Whether two views lead to the same elements; constants that nests make for themselves are other values each time. */
static bool is_same_view(const struct lowering *lowering, const struct mdf_nest_step *a, const struct mdf_nest_step *b)
{
    const struct mdf_nest_view *x = &a->view, *y = &b->view;
    bool is_same = x->id == y->id || a->kind == MDF_NEST_STORE;

    if (a->kind != MDF_NEST_LOAD && a->kind != MDF_NEST_STORE) {
        return true;
    }
    if (!is_same && lowering_is_constant(lowering, x->id) && lowering_is_constant(lowering, y->id)) {
        const struct mdf_value *p = lowering_example(lowering, x->id), *q = lowering_example(lowering, y->id);

        is_same = p->dtype == q->dtype && p->length == 1 && q->length == 1 &&
                  memcmp(p->data, q->data, mdf_dtype_size((mdf_dtype)p->dtype)) == 0;
    }
    return is_same && x->first == y->first && x->at == y->at &&
           (x->at == MDF_NEST_NONE || (x->at_stride == y->at_stride && x->at_limit == y->at_limit && x->cuts == y->cuts)) &&
           memcmp(x->strides, y->strides, sizeof x->strides) == 0;
}

bool lowering_is_same_step(const struct lowering *lowering, const struct mdf_nest_step *a, const struct mdf_nest_step *b)
{
    return a->kind == b->kind && a->level == b->level && a->dtype == b->dtype && a->n_in == b->n_in &&
           memcmp(a->in, b->in, a->n_in) == 0 && a->code == b->code && a->operand_dtype == b->operand_dtype &&
           a->loop == b->loop && a->loop_settings == b->loop_settings && a->fold == b->fold && a->lanes == b->lanes &&
           a->order == b->order && a->has_start == b->has_start && a->is_fused == b->is_fused && is_same_view(lowering, a, b);
}

/* Whether two nests, of the two sizes, are one but for an axis, which becomes that of `a` that is open. */
static bool find_open_axis(const struct lowering *lowering, struct mdf_lowered_nest *a, const struct mdf_lowered_nest *b)
{
    size_t i;

    if (a->n_axes != b->n_axes || a->n_steps != b->n_steps) {
        return false;
    }
    for (i = 0; i < a->n_axes; i++) {
        if (a->extents[i] != b->extents[i]) {
            if (a->is_open || a->extents[i] != FIRST_SIZE || b->extents[i] != SECOND_SIZE) {
                return false;
            }
            a->is_open = true;
            a->open_axis = (uint8_t)i;
        }
    }
    for (i = 0; i < a->n_steps && lowering_is_same_step(lowering, &a->steps[i], &b->steps[i]); i++) {
    }
    return a->is_open && i == a->n_steps;
}

/* ------------------------------------------------------------------ whether it is covered */

/* Views go along the open axis of what has one, and only of that, at least one of which says how long it is; functions that are
 * called are left to kernels, where there are some, which find rows as long as they are. */
static bool covers(const struct opening *opening, const struct mdf_lowered_nest *nest, uint8_t open_axes,
                   const struct mdf_value *result)
{
    bool is_any = false;
    int64_t n_front, row;
    size_t i;

    if (nest->steps[nest->n_steps - 1].dtype != result->dtype) {
        return false;
    }
    for (i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_open = false, is_along = nest->open_axis < step->level && step->view.strides[nest->open_axis] != 0;

        if (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS && !opening->lowering->is_for_source) {
            return false;
        }
        for (size_t k = 0; step->kind == MDF_NEST_LOAD && k < opening->n_kept; k++) {
            is_open = is_open || opening->kept[k].id == step->view.id;
        }
        if ((step->kind == MDF_NEST_LOAD && is_open != is_along) || (is_open && step->view.at != MDF_NEST_NONE)) {
            return false;
        }
        is_any = is_any || is_open;
    }
    if (open_axes == 0 || !is_any) {
        return is_any && nest->steps[nest->n_steps - 1].level <= nest->open_axis;
    }
    for (i = 0; (open_axes >> i & 1) == 0; i++) {
    }
    count_around(result, i, &n_front, &row);
    return open_axes >> i == 1 && (n_front == 1 || i == opening->result_axis) &&
           view_of_result(nest)->strides[nest->open_axis] == n_front * row;
}

/* ------------------------------------------------------------------ whether it gives the kernel's bits */

/* The values of a nest, numbered as its steps, with elements of their own. */
static bool stage(struct lowering *lowering, struct mdf_lowered_nest *nest, struct mdf_lowered *stand_in,
                  const struct mdf_value *result)
{
    struct mdf_arena *arena = &stand_in->arena;
    size_t n = nest->n_steps;

    stand_in->context = lowering->lowered->context;
    mdf_arena_init(arena, lowering->memory);
    stand_in->values = mdf_arena_array(arena, n, sizeof *stand_in->values);
    stand_in->arrays = mdf_arena_array(arena, n, sizeof *stand_in->arrays);
    stand_in->cells = mdf_arena_array(arena, n, sizeof *stand_in->cells);
    for (size_t i = 0; stand_in->cells != NULL && stand_in->values != NULL && stand_in->arrays != NULL && i < n; i++) {
        struct mdf_nest_step *step = &nest->steps[i];
        const struct mdf_value *example;

        if (step->kind != MDF_NEST_LOAD && step->kind != MDF_NEST_STORE) {
            continue;
        }
        example = step->kind == MDF_NEST_STORE ? result : lowering_example(lowering, step->view.id);
        stand_in->values[i].form = *example;
        stand_in->arrays[i] = *example;
        if (step->kind == MDF_NEST_STORE) {
            stand_in->arrays[i].data = mdf_arena_array(arena, example->length, mdf_dtype_size((mdf_dtype)example->dtype));
        }
        step->view.id = (mdf_lowered_id)i;
    }
    return !arena->has_refused || lowering_out_of_memory(lowering);
}

/* Whether the nest stored what the kernel gives, in its order. */
static bool has_stored(const struct opening *opening, const void *stored, const struct mdf_value *result)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_value moved = {0};
    bool same;

    if (opening->result_axis == 0) {
        return memcmp(stored, result->data, result->length * mdf_dtype_size((mdf_dtype)result->dtype)) == 0;
    }
    same = lowering_move_first(lowering, result, opening->result_axis, &moved) &&
           memcmp(stored, moved.data, moved.length * mdf_dtype_size((mdf_dtype)moved.dtype)) == 0;
    mdf_value_clear(lowering->memory, &moved);
    return same;
}

/* Whether the nest gives what the kernel does with an axis of that size. */
static bool agrees(struct opening *opening, const struct mdf_lowered_nest *nest, int64_t size)
{
    struct lowering *lowering = opening->lowering;
    struct trial run = {.source = opening->trial->source};
    struct mdf_lowered_nest copy = *nest;
    struct mdf_lowered stand_in = {0};
    bool same = false;

    copy.tiles = NULL;
    copy.extents[copy.open_axis] = (size_t)size;
    copy.steps = mdf_arena_array(&lowering->scratch, nest->n_steps, sizeof *copy.steps);
    if (copy.steps == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(copy.steps, nest->steps, nest->n_steps * sizeof *copy.steps);
    if (set_size(opening, size) && run_kernel(opening, &run) && stage(lowering, &copy, &stand_in, &run.results[0]) &&
        mdf_lowered_run_tiles(&stand_in, &copy) == 0) {
        same = has_stored(opening, stand_in.arrays[nest->n_steps - 1].data, &run.results[0]);
    }
    if (stand_in.arena.has_refused) {
        lowering_out_of_memory(lowering);
    }
    mdf_arena_release(&stand_in.arena);
    lowering_end_trial(lowering, &run);
    return same;
}

static bool agrees_for_all(struct opening *opening, const struct mdf_lowered_nest *nest)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 41, 130, 600};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] >= opening->least && !agrees(opening, nest, sizes[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the op */

/* Some operand is a view: what has other axes in front of its open axis lies with that axis first. */
static bool may_turn(const struct opening *opening)
{
    const struct trial *trial = opening->trial;
    bool has_view = opening->lowering->is_for_source;

    for (size_t i = 0; i < trial->n; i++) {
        has_view = has_view || (trial->ids[i] != MDF_LOWERED_NONE && opening->lowering->facts[trial->ids[i]].is_open &&
                                opening->lowering->facts[trial->ids[i]].view.is_there);
    }
    return has_view && trial->source->operator->move == NULL && trial->results[0].strength == MDF_STRENGTH_TYPED;
}

static bool is_worth_it(const struct opening *opening, const struct other_results *others)
{
    struct lowering *lowering = opening->lowering;
    const struct trial *trial = opening->trial;
    bool is_any = false;

    for (size_t i = 0; i < trial->n; i++) {
        mdf_lowered_id id = trial->ids[i];

        if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open) {
            is_any = true;
            if (trial->effective[i] != trial->given[i] ||
                (!is_covered(lowering, id) && (lowering_open_axis(&lowering->lowered->values[id]) == MDF_INLINE_RANK ||
                                               lowering->facts[id].view.is_there || !may_turn(opening)))) {
                return false;
            }
        }
    }
    return is_any && others->is_there && trial->source->n_outputs == 1 && trial->outputs[0] != NULL &&
           trial->results[0].kind == MDF_KIND_TENSOR && trial->results[0].rank <= MDF_INLINE_RANK &&
           !lowering_may_cut_beyond(lowering, trial, SECOND_SIZE);
}

/* The result's open axis, if others of more than one index stand in front of it; else 0. */
static size_t find_result_axis(const struct opening *opening, uint8_t open_axes)
{
    int64_t n_front = 1, row;
    size_t axis = 0;

    while (open_axes != 0 && (open_axes >> axis & 1) == 0) {
        axis++;
    }
    count_around(&opening->trial->results[0], axis, &n_front, &row);
    return n_front != 1 && open_axes == 1u << axis && may_turn(opening) ? axis : 0;
}

/* The value that the nest stores. */
static mdf_lowered_id add_result(const struct opening *opening, const struct mdf_value *example, struct region *region,
                                 struct mdf_lowered_nest *nest)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};
    mdf_lowered_id id = lowering_add_value(lowering, MDF_LOWERED_RESULT, example);

    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    view_of_result(nest)->id = id;
    lowering->facts[id].depth = region->depth;
    lowering->facts[id].region = region;
    lowering->facts[id].is_nested = true;
    lowering->facts[id].least = opening->least;
    lowering->facts[id].is_bounded = true; /* as long as what it reads, of which all is when it is written out */
    return lowering_add_op(lowering, region, &op) ? id : MDF_LOWERED_NONE;
}

/* The same with its open axis first, and what the model sees of it. */
static mdf_lowered_id add_turned_result(const struct opening *opening, const struct mdf_value *other, struct region *region,
                                        struct mdf_lowered_nest *nest)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_value example = {0}, next = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (lowering_move_first(lowering, &opening->trial->results[0], opening->result_axis, &example) &&
        lowering_move_first(lowering, other, opening->result_axis, &next)) {
        id = add_result(opening, &example, region, nest);
        id = id != MDF_LOWERED_NONE && lowering_open(lowering, id, &next)
                 ? lowering_move_back(lowering, region, id, opening->result_axis)
                 : MDF_LOWERED_NONE;
    }
    mdf_value_clear(lowering->memory, &example);
    mdf_value_clear(lowering->memory, &next);
    return id;
}

static bool add_nest(const struct opening *opening, const struct other_results *others, struct mdf_lowered_nest *nest)
{
    struct region *region = lowering_place_of(opening->lowering, opening->trial);
    mdf_lowered_id id = opening->result_axis == 0 ? add_result(opening, &opening->trial->results[0], region, nest)
                                                  : add_turned_result(opening, &others->examples[0], region, nest);

    return id != MDF_LOWERED_NONE &&
           lowering_bind(opening->lowering, opening->scope, opening->trial->source->outputs[0], id);
}

/* The nest, with whose making nothing else has changed; NULL: there is none. */
static struct mdf_lowered_nest *find_nest(struct opening *opening, uint8_t open_axes)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_lowered_nest *first = NULL, *second;
    bool is_covered_by_it = false;

    if (begin(opening)) {
        first = make_nest(opening, FIRST_SIZE);
        second = first == NULL ? NULL : make_nest(opening, SECOND_SIZE);
        is_covered_by_it = second != NULL && find_open_axis(lowering, first, second) &&
                           covers(opening, first, open_axes, &opening->trial->results[0]) && agrees_for_all(opening, first);
        if (is_covered_by_it) {
            first->takes_none = true;
            first->takes_none = agrees(opening, first, 0);
        }
    }
    end(opening);
    return is_covered_by_it && !lowering_has_failed(lowering) ? first : NULL;
}

bool lowering_open_nest(struct lowering *lowering, struct scope *scope, const struct trial *trial,
                        const struct other_results *others, bool *taken)
{
    struct opening opening = {.lowering = lowering, .scope = scope, .trial = trial, .random = 1};
    mdf_error kept = lowering->execution->context.error;
    size_t *counts = lowering_count_ops(lowering);
    struct mdf_lowered_nest *nest;

    *taken = false;
    if (counts == NULL || !lowering_open_view(lowering, scope, trial, taken)) {
        return false;
    }
    if (*taken || !is_worth_it(&opening, others)) {
        return true;
    }
    opening.result_axis = find_result_axis(&opening, others->open_axes[0]);
    nest = turn_operands(&opening) ? find_nest(&opening, others->open_axes[0]) : NULL;
    forget_turned(&opening);
    lowering->execution->context.error = kept; /* what a kernel says of an example is none of the model's */
    *taken = nest != NULL;
    if (nest == NULL) {
        lowering_restore_ops(lowering, counts);
        return !lowering_has_failed(lowering);
    }
    return add_nest(&opening, others, nest);
}
