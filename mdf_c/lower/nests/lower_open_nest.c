/* lower_open_nest.c - NESTs with an open axis (nest.h), for calls that read what grows. See trial.h.
 *
 * A nest is made of the call with operands of one size, and once more of another: the axis whose extent is not the same is the
 * open one. Where anything else differs (a divisor, an offset, the order of a sum) the call is left to its kernel. What is left
 * is run beside the kernel for short axes, too, and has to give its bits. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_parts.h"

#include <string.h>

/* So long that the order of a sum is that of long rows, of which short ones are a case. */
enum { FIRST_SIZE = 520, SECOND_SIZE = 528 };

/* An operand that is open, as it was. */
struct kept_operand {
    struct mdf_value example, form;
    uint8_t open_axes;
};

struct opening {
    struct lowering *lowering;
    struct scope *scope;
    const struct trial *trial;
    struct kept_operand *kept; /* of each operand */
    uint64_t random;
};

/* ------------------------------------------------------------------ operands of a size */

/* One of few numbers, so that extremes come more than once. */
static double next_number(struct opening *opening)
{
    opening->random = opening->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(opening->random >> 40) / 0x1p22 - 2;
}

static bool fill(struct opening *opening, struct mdf_value *value)
{
    size_t size = mdf_dtype_size((mdf_dtype)value->dtype), i;
    char kind = mdf_dtype_kind((mdf_dtype)value->dtype);

    for (i = 0; i < value->length; i++) {
        double number = next_number(opening);

        number = kind == 'f' ? number : kind == 'b' ? (double)(number > 0) : (double)(int)(4 * number + 8);
        mdf_convert_elements((mdf_dtype)value->dtype, (char *)value->data + i * size, MDF_DTYPE_FLOAT64, &number, 1, false);
    }
    return true;
}

/* Whether such a value may be gone through along its open axis. */
static bool is_covered(const struct mdf_lowered_value *value, const struct mdf_value *example)
{
    size_t axis = mdf_lowered_open_axis(value), d;

    if (value->open_axes != 1u << axis || example->rank > MDF_INLINE_RANK || mdf_lowered_open_stride(value) == 0 ||
        mdf_dtype_kind((mdf_dtype)example->dtype) == 's') {
        return false;
    }
    for (d = 0; d < axis && value->form.shape.sizes[d] == 1; d++) {
    }
    return d == axis;
}

/* Operands that are open become examples of the size, of which nothing says that they are open. */
static bool set_size(struct opening *opening, int64_t size)
{
    struct lowering *lowering = opening->lowering;
    size_t i;

    for (i = 0; i < opening->trial->n; i++) {
        mdf_lowered_id id = opening->trial->ids[i];
        struct mdf_value made = {0}, form;

        if (id == MDF_LOWERED_NONE || opening->kept[i].open_axes == 0) {
            continue;
        }
        form = opening->kept[i].form;
        for (form.length = 0; (opening->kept[i].open_axes >> form.length & 1) == 0; form.length++) {
        }
        form.shape.sizes[form.length] = size;
        if (mdf_value_make_tensor(lowering->memory, &made, (mdf_dtype)form.dtype, form.rank, form.shape.sizes) == NULL) {
            return lowering_out_of_memory(lowering);
        }
        made.strength = form.strength;
        form.length = made.length;
        fill(opening, &made);
        mdf_value_swap(&lowering->facts[id].example, &made);
        mdf_value_clear(lowering->memory, &made);
        lowering->lowered->values[id].form = form;
    }
    return true;
}

static bool begin(struct opening *opening)
{
    struct lowering *lowering = opening->lowering;
    size_t i;

    opening->kept = mdf_arena_array(&lowering->scratch, opening->trial->n + 1, sizeof *opening->kept);
    if (opening->kept == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < opening->trial->n; i++) {
        mdf_lowered_id id = opening->trial->ids[i];

        if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open) {
            opening->kept[i].open_axes = lowering->lowered->values[id].open_axes;
            opening->kept[i].form = lowering->lowered->values[id].form;
            lowering->facts[id].is_open = false; /* a second operand may be the same value: it is kept once */
            lowering->lowered->values[id].open_axes = 0;
            mdf_value_swap(&opening->kept[i].example, &lowering->facts[id].example);
        }
    }
    return true;
}

static void end(struct opening *opening)
{
    struct lowering *lowering = opening->lowering;
    size_t i;

    for (i = 0; opening->kept != NULL && i < opening->trial->n; i++) {
        mdf_lowered_id id = opening->trial->ids[i];

        if (opening->kept[i].open_axes != 0) {
            lowering->facts[id].is_open = true;
            lowering->lowered->values[id].open_axes = opening->kept[i].open_axes;
            lowering->lowered->values[id].form = opening->kept[i].form;
            mdf_value_swap(&opening->kept[i].example, &lowering->facts[id].example);
            mdf_value_clear(lowering->memory, &opening->kept[i].example);
        }
    }
}

/* ------------------------------------------------------------------ the nest of a size */

/* The call on the examples as they are now. */
static bool run_kernel(const struct opening *opening, struct trial *run)
{
    struct lowering *lowering = opening->lowering;
    const struct trial *trial = opening->trial;
    size_t i;

    if (!lowering_begin_trial(lowering, run)) {
        return false;
    }
    for (i = 0; i < trial->n; i++) {
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

static bool is_same_step(const struct lowering *lowering, const struct mdf_nest_step *a, const struct mdf_nest_step *b)
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
    for (i = 0; i < a->n_steps && is_same_step(lowering, &a->steps[i], &b->steps[i]); i++) {
    }
    return a->is_open && i == a->n_steps;
}

/* ------------------------------------------------------------------ whether it is covered */

/* The only store is the last step. */
static const struct mdf_nest_view *view_of_result(const struct mdf_lowered_nest *nest)
{
    return &nest->steps[nest->n_steps - 1].view;
}

/* Views go along the open axis of what has one, and only of that; functions that are called are left to kernels, where there
 * are some, which find rows as long as they are. */
static bool covers(const struct opening *opening, const struct mdf_lowered_nest *nest, uint8_t open_axes,
                   const struct mdf_value *result)
{
    int64_t stride = 1;
    size_t i, k;

    if (nest->steps[nest->n_steps - 1].dtype != result->dtype) {
        return false;
    }
    for (i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_open = false, is_along = nest->open_axis < step->level && step->view.strides[nest->open_axis] != 0;

        if (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS && !opening->lowering->is_for_source) {
            return false;
        }
        for (k = 0; step->kind == MDF_NEST_LOAD && k < opening->trial->n; k++) {
            is_open = is_open || (opening->trial->ids[k] == step->view.id && opening->kept[k].open_axes != 0);
        }
        if ((step->kind == MDF_NEST_LOAD && is_open != is_along) || (is_open && step->view.at != MDF_NEST_NONE)) {
            return false;
        }
    }
    if (open_axes == 0) {
        return nest->steps[nest->n_steps - 1].level <= nest->open_axis;
    }
    for (i = 0; i < result->rank && (open_axes >> i & 1) == 0; i++) {
        if (mdf_value_shape(result)[i] != 1) {
            return false;
        }
    }
    for (i++; i < result->rank; i++) {
        stride *= mdf_value_shape(result)[i];
    }
    return open_axes >> (i - 1) <= 1 && view_of_result(nest)->strides[nest->open_axis] == stride;
}

/* ------------------------------------------------------------------ whether it gives the kernel's bits */

/* The values of a nest, numbered as its steps, with elements of their own. */
static bool stage(struct lowering *lowering, struct mdf_lowered_nest *nest, struct mdf_lowered *stand_in,
                  const struct mdf_value *result)
{
    struct mdf_arena *arena = &stand_in->arena;
    size_t n = nest->n_steps, i;

    stand_in->context = lowering->lowered->context;
    mdf_arena_init(arena, lowering->memory);
    stand_in->values = mdf_arena_array(arena, n, sizeof *stand_in->values);
    stand_in->arrays = mdf_arena_array(arena, n, sizeof *stand_in->arrays);
    stand_in->cells = mdf_arena_array(arena, n, sizeof *stand_in->cells);
    for (i = 0; stand_in->cells != NULL && stand_in->values != NULL && stand_in->arrays != NULL && i < n; i++) {
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
        same = memcmp(stand_in.arrays[nest->n_steps - 1].data, run.results[0].data,
                      run.results[0].length * mdf_dtype_size((mdf_dtype)run.results[0].dtype)) == 0;
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
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!agrees(opening, nest, sizes[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the op */

static bool is_worth_it(const struct opening *opening, const struct other_results *others)
{
    const struct trial *trial = opening->trial;
    bool is_any = false;
    size_t i;

    for (i = 0; i < trial->n; i++) {
        const struct mdf_lowered_value *value =
            trial->ids[i] == MDF_LOWERED_NONE ? NULL : &opening->lowering->lowered->values[trial->ids[i]];

        if (value != NULL && opening->lowering->facts[trial->ids[i]].is_open) {
            is_any = true;
            if (trial->effective[i] != trial->given[i] || !is_covered(value, trial->given[i])) {
                return false;
            }
        }
    }
    return is_any && others->is_there && trial->source->n_outputs == 1 &&
           trial->outputs[0] != NULL && trial->results[0].kind == MDF_KIND_TENSOR && trial->results[0].rank <= MDF_INLINE_RANK;
}

static bool add_nest(const struct opening *opening, struct mdf_lowered_nest *nest)
{
    struct lowering *lowering = opening->lowering;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};
    struct region *region = lowering_place_of(lowering, opening->trial);
    mdf_lowered_id id = lowering_add_value(lowering, MDF_LOWERED_RESULT, &opening->trial->results[0]);

    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    nest->steps[nest->n_steps - 1].view.id = id;
    lowering->facts[id].depth = region->depth;
    lowering->facts[id].region = region;
    lowering->facts[id].is_nested = true;
    lowering->facts[id].is_bounded = true; /* as long as what it reads, of which all is when it is written out */
    return lowering_add_op(lowering, region, &op) &&
           lowering_bind(lowering, opening->scope, opening->trial->source->outputs[0], id);
}

bool lowering_open_nest(struct lowering *lowering, struct scope *scope, const struct trial *trial,
                        const struct other_results *others, bool *taken)
{
    struct opening opening = {.lowering = lowering, .scope = scope, .trial = trial, .random = 1};
    struct mdf_lowered_nest *first = NULL, *second;
    mdf_error kept = lowering->execution->context.error;

    *taken = false;
    if (!is_worth_it(&opening, others)) {
        return true;
    }
    if (begin(&opening)) {
        first = make_nest(&opening, FIRST_SIZE);
        second = first == NULL ? NULL : make_nest(&opening, SECOND_SIZE);
        *taken = second != NULL && find_open_axis(lowering, first, second) &&
                 covers(&opening, first, others->open_axes[0], &trial->results[0]) && agrees_for_all(&opening, first);
        if (*taken) {
            first->takes_none = true;
            first->takes_none = agrees(&opening, first, 0);
        }
    }
    end(&opening);
    lowering->execution->context.error = kept; /* what a kernel says of an example is none of the model's */
    return !lowering_has_failed(lowering) && (!*taken || add_nest(&opening, first));
}
