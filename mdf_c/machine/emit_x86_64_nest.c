/* emit_x86_64_nest.c - see emit_x86_64_nest.h. Chooses the shape of a nest, and enters it. */
#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ what is covered */

static bool is_near(int64_t number)
{
    return number > INT32_MIN / 64 && number < INT32_MAX / 64;
}

/* Whether distances fit the four bytes that instructions have for them. */
static bool covers_view(const struct mdf_lowered_nest *nest, const struct mdf_nest_view *view)
{
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        if (!is_near(view->strides[axis])) {
            return false;
        }
    }
    return view->at == MDF_NEST_NONE || (view->at_limit < INT32_MAX && is_near(view->at_stride));
}

/* The constant that the second operand of a step is, in all lanes; NULL: it is none. */
static const struct mdf_value *second_constant(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                                               const struct mdf_nest_step *step)
{
    const struct mdf_nest_step *second = step->n_in == 2 ? &nest->steps[step->in[1]] : NULL;
    const struct mdf_lowered_value *value =
        second != NULL && second->kind == MDF_NEST_LOAD ? &lowered->values[second->view.id] : NULL;

    return value != NULL && value->is_scalar && value->place == MDF_LOWERED_CONSTANT ? &value->form : NULL;
}

/* Whether a step is a quotient or remainder that needs no function, as the divisor is a constant. */
static bool divides_by_constant(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                                const struct mdf_nest_step *step)
{
    const struct mdf_value *divisor = step->code <= MDF_LOWERED_FLOOR_REMAINDER && machine_is_whole(step->operand_dtype)
                                          ? second_constant(lowered, nest, step)
                                          : NULL;
    uint64_t bits = 0;

    if (step->kind != MDF_NEST_ELEMENT || divisor == NULL) {
        return false;
    }
    memcpy(&bits, divisor->data, mdf_dtype_size((mdf_dtype)step->operand_dtype));
    return packed_covers_division((enum mdf_lowered_code)step->code, step->operand_dtype, bits);
}

/* Whether the function of an element step is called. */
static bool is_called(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT &&
           !packed_covers((enum mdf_lowered_code)step->code, step->operand_dtype, step->dtype) &&
           !divides_by_constant(lowered, nest, step);
}

static bool covers(struct nest_code *code)
{
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &code->nest->steps[i];

        code->steps[i].call.is_called = is_called(code->emission->lowered, code->nest, step);
        if (code->nest->is_open && code->steps[i].call.is_called && step->level > code->nest->open_axis) {
            return false; /* rows have a length that is known */
        }
        if (code->steps[i].call.is_called ? step->code != MDF_LOWERED_CAST && step->loop == NULL
                                          : !covers_view(code->nest, &step->view)) {
            return false;
        }
    }
    return true;
}

bool emission_has_vectors(unsigned dtype)
{
    return mdf_dtype_is_real(dtype) || dtype == MDF_DTYPE_BOOL || machine_is_whole(dtype) || mdf_dtype_is_half((mdf_dtype)dtype);
}

/* ------------------------------------------------------------------ shapes */

/* Whether a step is a shift by bits that each element has of its own, which lanes of 1 and 2 bytes have no instructions for. */
static bool shifts_by_lanes(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                            const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT && (step->code == MDF_LOWERED_SHIFT_LEFT || step->code == MDF_LOWERED_SHIFT_RIGHT) &&
           second_constant(lowered, nest, step) == NULL;
}

/* Of what lies in registers: where all numbers have 1 or 2 bytes, lanes have as many; those that are divided 2 at least. */
static unsigned widest_type(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest)
{
    unsigned widest = 1;
    bool has_short = false, by_lanes = nest->is_open;

    for (size_t i = 0; i < nest->n_steps; i++) {
        unsigned size = (unsigned)mdf_dtype_size((mdf_dtype)nest->steps[i].dtype);

        if (!nest_only_places(lowered, nest, i)) {
            widest = size > widest ? size : widest;
            has_short = has_short || machine_is_short(nest->steps[i].dtype);
            by_lanes = by_lanes || shifts_by_lanes(lowered, nest, &nest->steps[i]);
            widest = widest == 1 && divides_by_constant(lowered, nest, &nest->steps[i]) ? 2 : widest;
        }
    }
    return widest == 8 ? 8 : !has_short || by_lanes ? 4 : widest;
}

/* Whether a fold along an axis takes what is behind its lanes one by one, and has lanes. */
static bool takes_rest_in_turn(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t axis)
{
    return fold->order == MDF_NEST_WITH_REST && fold->level == axis && nest->steps[fold->in[0]].level == axis + 1 &&
           nest->extents[axis] >= fold->lanes && !(nest->is_open && nest->open_axis == axis);
}

/* How many lanes, of `most`, an axis can have; 1: it makes no vectors, as the order of a fold would not be kept. */
static unsigned most_lanes(const struct mdf_lowered_nest *nest, size_t axis, unsigned most)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind != MDF_NEST_FOLD || axis < step->level || axis >= nest->steps[step->in[0]].level || nest_is_free(step)) {
            continue;
        }
        if (nest_finds_index(step) || step->lanes < 4 ||
            (nest_has_parts(step) && nest->extents[axis] % step->lanes != 0 && !takes_rest_in_turn(nest, step, axis))) {
            return 1;
        }
        most = step->lanes < most ? step->lanes : most;
    }
    return most;
}

/* The lanes of the widest fold along an axis that makes no vectors: loops over it are unrolled that often, or a multiple. */
static size_t fold_lanes(const struct mdf_lowered_nest *nest, size_t axis)
{
    size_t most = 1;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_FOLD && step->level == axis && nest_lanes(step) > most) {
            most = nest_lanes(step);
        }
    }
    return most;
}

/* Whether totals along an axis may be joined in pairs once it is written out: nothing else does without a place for each of them.
 */
static bool joins_in_pairs(const struct mdf_lowered_nest *nest, size_t axis)
{
    return nest->extents[axis] <= MDF_NEST_LONGEST_IN_PAIRS && fold_lanes(nest, axis) > 8;
}

/* Short loops within others are written out: about so many nodes in all. */
static void choose_unroll(const struct mdf_lowered_nest *nest, struct nest_shape *shape, size_t budget)
{
    size_t work = nest->n_steps * shape->group, axis = nest->n_axes;
    bool is_inner = true;

    while (axis-- > 0) {
        size_t n = nest->extents[axis], lanes = fold_lanes(nest, axis);

        shape->unroll[axis] = 1;
        if (axis == shape->vector_axis) {
            size_t at_once = shape->lanes * shape->group;

            shape->unroll[axis] = !nest->is_open && lanes > at_once ? lanes / at_once : 1;
            n = (n + shape->lanes - 1) / shape->lanes;
            is_inner = is_inner && n < 2 * shape->group;
            work *= is_inner ? (n + shape->group - 1) / shape->group : 1;
            continue;
        }
        if (is_inner && work * n <= (joins_in_pairs(nest, axis) ? 8 : 1) * budget &&
            !(nest->is_open && axis == nest->open_axis)) {
            shape->unroll[axis] = n;
            work *= n;
            continue;
        }
        while (is_inner && work * 2 <= budget && shape->unroll[axis] < 4) {
            shape->unroll[axis] *= 2;
            work *= 2;
        }
        shape->unroll[axis] = shape->unroll[axis] < lanes ? lanes : shape->unroll[axis];
        is_inner = false;
    }
}

/* Whether the totals of folds over the vector axis are whole vectors, and loops over it take them all in turn, in one round or
 * in several that are written out. */
static bool fits_lanes(const struct mdf_lowered_nest *nest, const struct nest_shape *shape)
{
    size_t axis = shape->vector_axis, at_once = shape->lanes * shape->group, lanes;

    if (axis >= nest->n_axes) {
        return true;
    }
    lanes = fold_lanes(nest, axis);
    return nest->extents[axis] / at_once < 2 || at_once % lanes == 0 || (!nest->is_open && lanes % at_once == 0);
}

/* ------------------------------------------------------------------ vectors of 64 bytes */

/* Whether a step has the same value in all lanes. */
static bool is_same_in_lanes(const struct mdf_nest_step *step, size_t axis)
{
    return step->level <= axis ||
           (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE && step->view.strides[axis] == 0);
}

static bool has_widest_element(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                               const struct mdf_nest_step *step)
{
    enum mdf_lowered_code code = (enum mdf_lowered_code)step->code;
    bool is_of_reals = mdf_dtype_is_real(step->operand_dtype), is_of_truths = step->operand_dtype == MDF_DTYPE_BOOL;

    if (machine_is_whole(step->operand_dtype)) {
        return !is_called(lowered, nest, step) && !(code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_FLOOR_REMAINDER);
    }
    if (code == MDF_LOWERED_AND || code == MDF_LOWERED_OR || code == MDF_LOWERED_EXCLUSIVE_OR || code == MDF_LOWERED_NOT) {
        return is_of_truths;
    }
    if (code == MDF_LOWERED_CAST) {
        return (is_of_reals || is_of_truths) && !is_called(lowered, nest, step);
    }
    return is_of_reals && (mdf_dtype_is_real(step->dtype) || emission_is_comparison(code));
}

/* Whether there are instructions for what a step does. */
static bool has_widest_form(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                            const struct mdf_nest_step *step, size_t axis, size_t lanes)
{
    size_t size = mdf_dtype_size((mdf_dtype)step->dtype);

    switch ((enum mdf_nest_kind)step->kind) {
    case MDF_NEST_LOAD:
    case MDF_NEST_STORE:
        if (step->view.at != MDF_NEST_NONE && !is_same_in_lanes(&nest->steps[step->view.at], axis)) {
            return false;
        }
        if (step->level <= axis || step->view.strides[axis] == 0) {
            return step->dtype != MDF_DTYPE_BOOL || step->kind == MDF_NEST_LOAD;
        }
        if (size < 4) {
            return step->dtype != MDF_DTYPE_BOOL && step->view.strides[axis] == 1 && nest->extents[axis] % lanes == 0;
        }
        return lanes * size < 64 || step->view.strides[axis] == 1;
    case MDF_NEST_ELEMENT:
        return has_widest_element(lowered, nest, step);
    case MDF_NEST_FOLD:
        return mdf_dtype_is_real(step->dtype) == mdf_dtype_is_real(step->operand_dtype) && !nest_finds_index(step) &&
               step->order != MDF_NEST_PAIRWISE && (mdf_dtype_is_real(step->dtype) || step->fold <= MDF_NEST_PRODUCT);
    }
    return false;
}

/* Whether a nest rather moves elements than computes with them: of rows that end within a line of the cache, the next ones begin
 * there, and each vector of 64 bytes lies in two lines. */
static bool moves_most(const struct mdf_lowered_nest *nest, size_t axis)
{
    size_t n_moves = 0, n_computed = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;

        n_moves += moves && step->level > axis && step->view.strides[axis] != 0;
        n_computed += !moves && step->level > axis;
    }
    return n_moves > n_computed && !mdf_nest_is_folded(nest, axis);
}

/* Whether folds along an axis leave nothing that would go to some of the lanes. */
static bool takes_whole_vectors(const struct mdf_lowered_nest *nest, size_t axis, unsigned rest)
{
    for (size_t i = 0; i < nest->n_steps && rest != 0; i++) {
        if (mdf_nest_folds_axis(nest, i, axis) && !takes_rest_in_turn(nest, &nest->steps[i], axis)) {
            return false;
        }
    }
    return true;
}

/* How many lanes vectors of 64 bytes along an axis have; 0: there are none, or no instructions for them. What is left of the axis
 * is moved by one instruction. */
static unsigned widest_lanes(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, size_t axis, unsigned width)
{
    unsigned lanes = 64 / width, rest = (unsigned)(nest->extents[axis] % lanes);
    bool is_open = nest->is_open && axis == nest->open_axis;
    size_t i;

    if (!mdf_has_avx512() || width < 4 || nest->extents[axis] < lanes || (rest & (rest - 1)) != 0 ||
        (rest != 0 && moves_most(nest, axis)) ||
        (mdf_nest_is_folded(nest, axis) &&
         (is_open || !takes_whole_vectors(nest, axis, rest) || most_lanes(nest, axis, lanes) < lanes))) {
        return 0;
    }
    for (i = 0; i < nest->n_steps && has_widest_form(lowered, nest, &nest->steps[i], axis, lanes); i++) {
    }
    return i < nest->n_steps ? 0 : lanes;
}

/* ------------------------------------------------------------------ the best one */

static void release(struct nest_code *code)
{
    if (code != NULL) {
        nest_code_release(code);
        mdf_memory_release(code->memory, code);
    }
}

static struct nest_code *begin(struct emission *emission, const struct mdf_lowered_nest *nest)
{
    struct nest_code *code = mdf_memory_allocate_zeroed(emission->memory, 1, sizeof *code + nest->n_steps * sizeof *code->steps);

    if (code != NULL) {
        code->emission = emission;
        code->memory = emission->memory;
        code->nest = nest;
    }
    return code;
}

enum trial { TRIAL_FAILED, TRIAL_SPILLS, TRIAL_FITS };

/* Keeps whichever costs less. Afterwards shape->turns says whether there are loads that are turned. */
static enum trial try_shape(struct emission *emission, const struct mdf_lowered_nest *nest, struct nest_shape *shape,
                            struct nest_code **best)
{
    struct nest_code *code = begin(emission, nest);
    enum trial result = TRIAL_FAILED;

    if (code == NULL) {
        return TRIAL_FAILED;
    }
    code->shape = *shape;
    if (covers(code) && nest_write_out(code)) {
        shape->turns = nest_combine(code);
        result = nest_find_places(code) ? TRIAL_FITS : TRIAL_FAILED;
    }
    if (result != TRIAL_FAILED) {
        result = code->spills ? TRIAL_SPILLS : TRIAL_FITS;
    }
    if (result == TRIAL_FAILED || (*best != NULL && (*best)->cost <= code->cost)) {
        release(code);
        return result;
    }
    release(*best);
    *best = code;
    return result;
}

/* As much written out as there is room for. */
static enum trial try_group(struct emission *emission, const struct mdf_lowered_nest *nest, struct nest_shape *shape,
                            struct nest_code **best)
{
    static const size_t budgets[] = {400, 100, 0};
    enum trial result = TRIAL_FAILED;

    for (size_t i = 0; i < sizeof budgets / sizeof *budgets && result == TRIAL_FAILED; i++) {
        choose_unroll(nest, shape, budgets[i]);
        shape->turns = true;
        result = try_shape(emission, nest, shape, best);
        if (result == TRIAL_SPILLS &&
            shape->turns) { /* these take more registers: it may be better without, or with fewer vectors */
            shape->turns = false;
            try_shape(emission, nest, shape, best);
        }
    }
    return result;
}

static bool has_folds(const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && nest->steps[i].kind != MDF_NEST_FOLD; i++) {
    }
    return i < nest->n_steps;
}

/* Four vectors side by side; more, where totals wait for each other, if there are registers for them; else fewer, also where half
 * of them would have no elements. */
static void try_axis(struct emission *emission, const struct mdf_lowered_nest *nest, size_t axis, unsigned lanes,
                     struct nest_code **best)
{
    static const unsigned groups[] = {4, MOST_COPIES, 2, 1};
    struct nest_shape shape = {
        .vector_axis = (uint8_t)axis, .width = widest_type(emission->lowered, nest), .lanes = lanes, .group = 1};
    enum trial result = TRIAL_FAILED, last;
    size_t n_vectors;

    if (axis == nest->n_axes) {
        try_group(emission, nest, &shape, best);
        return;
    }
    n_vectors = (nest->extents[axis] + shape.lanes - 1) / shape.lanes;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        bool is_needless = groups[i] == MOST_COPIES
                               ? result == TRIAL_SPILLS || (result == TRIAL_FITS && (n_vectors <= 4 || !has_folds(nest)))
                               : result == TRIAL_FITS;

        shape.group = groups[i];
        if (!is_needless && groups[i] < 2 * n_vectors && fits_lanes(nest, &shape)) {
            last = try_group(emission, nest, &shape, best);
            result = last > result ? last : result;
        }
    }
}

/* Whether elements that lie side by side are loaded for lanes along another axis: they are turned. */
static bool has_rows(const struct mdf_nest_step *step, size_t lanes_axis)
{
    for (size_t axis = lanes_axis + 1; axis < step->level; axis++) {
        if (step->view.strides[axis] == 1 || step->view.strides[axis] == -1) {
            return step->kind == MDF_NEST_LOAD && mdf_dtype_size((mdf_dtype)step->dtype) >= 4;
        }
    }
    return false;
}

/* About what vectors along an axis cost: of n elements, where they lie side by side, or are one, a part of n. */
static double axis_cost(const struct mdf_lowered_nest *nest, size_t axis, double lanes)
{
    double sum = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        size_t level = mdf_nest_deepest(nest, step);
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;
        bool is_apart = moves && axis < level && step->view.strides[axis] != 0 && step->view.strides[axis] != 1;
        double n = (double)mdf_nest_count(nest, 0, level);

        sum += axis >= level ? n : is_apart ? (has_rows(step, axis) ? 0.5 : 2) * n : n / lanes;
        if (step->kind == MDF_NEST_FOLD && axis >= step->level && axis < level) {
            sum += 6 * (double)mdf_nest_count(nest, 0, step->level);
        }
    }
    return sum;
}

/* Vectors along an axis, of 64 bytes where there are at least two, else of whichever size costs less. */
static void try_lanes(struct emission *emission, const struct mdf_lowered_nest *nest, size_t axis, struct nest_code **best)
{
    unsigned width = widest_type(emission->lowered, nest), widest = widest_lanes(emission->lowered, nest, axis, width);

    if (widest != 0) {
        try_axis(emission, nest, axis, widest, best);
    }
    if (widest == 0 || nest->extents[axis] < 2 * (size_t)widest || *best == NULL) {
        try_axis(emission, nest, axis, most_lanes(nest, axis, 32 / width), best);
    }
}

/* The axes that promise most. */
static struct nest_code *find_best(struct emission *emission, const struct mdf_lowered_nest *nest)
{
    double costs[MDF_NEST_MOST_AXES + 1], least;
    unsigned width = widest_type(emission->lowered, nest);
    struct nest_code *best = NULL;

    least = costs[nest->n_axes] = axis_cost(nest, nest->n_axes, 1);
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        unsigned lanes = most_lanes(nest, axis, 32 / width);
        double filled = nest->extents[axis] < lanes ? (double)nest->extents[axis] : (double)lanes;

        costs[axis] = lanes > 1 ? axis_cost(nest, axis, filled) : INFINITY;
        least = costs[axis] < least ? costs[axis] : least;
    }
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        if (costs[axis] < 1.3 * least) {
            try_lanes(emission, nest, axis, &best);
        }
    }
    if (costs[nest->n_axes] < 1.3 * least || best == NULL) {
        try_axis(emission, nest, nest->n_axes, 1, &best);
    }
    return best;
}

/* Whether there is code for all folds. */
static bool has_covered_folds(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_FOLD && step->order == MDF_NEST_IN_DEPTHS) {
            return false;
        }
    }
    return true;
}

enum { MOST_POINTS = 1 << 26 }; /* a tenth of a second, about: whoever runs more of them has to ask whether to stop */

static void emit_best(struct emission *emission, struct nest_code *best)
{
    char *memory = mdf_arena_allocate(&emission->lowered->arena, nest_memory_bytes(best) + NEST_SLOT);

    if (memory == NULL) {
        emission->assembler->failed = true;
    } else {
        nest_emit(best, memory + (NEST_SLOT - (uintptr_t)memory % NEST_SLOT) % NEST_SLOT);
    }
}

static void call_for_nest(struct emission *emission, struct mdf_lowered_nest *nest,
                          int (*function)(struct mdf_lowered *, struct mdf_lowered_nest *))
{
    const void *address;

    memcpy(&address, &function, sizeof address);
    emission_call_of_form(emission, address, nest);
}

/* The longest open axis that the code is for: a longer row would be folded in parts. */
static size_t longest_axis(const struct mdf_lowered_nest *nest)
{
    size_t most = MOST_POINTS / (mdf_nest_count(nest, 0, nest->n_axes) / OPEN_EXTENT), i;

    for (i = 0; i < nest->n_steps; i++) {
        if (mdf_nest_folds_axis(nest, i, nest->open_axis) && nest_has_parts(&nest->steps[i])) {
            most = LONGEST_BLOCK;
        }
    }
    return most;
}

/* Code for an axis as long as the call that opens it finds; where that is too long, the interpreter runs the nest. */
static bool emit_open_nest(struct emission *emission, struct mdf_lowered_nest *nest)
{
    struct mdf_lowered_nest supposed = *nest;
    struct assembler *assembler = emission->assembler;
    struct nest_code *best;
    machine_label too_long, done;

    supposed.extents[nest->open_axis] = OPEN_EXTENT;
    best = mdf_nest_count(&supposed, 0, nest->n_axes) <= MOST_POINTS && has_covered_folds(nest) ? find_best(emission, &supposed)
                                                                                                : NULL;
    if (best == NULL) {
        return false;
    }
    best->open_extent = &nest->extents[nest->open_axis];
    too_long = new_label(assembler);
    done = new_label(assembler);
    call_for_nest(emission, nest, mdf_lowered_open_nest);
    nest_load_extent(best, RAX, 0);
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), (int32_t)longest_axis(&supposed));
    assemble_jump_if(assembler, IF_ABOVE, too_long);
    emit_best(emission, best);
    assemble_jump(assembler, done);
    bind_label(assembler, too_long);
    call_for_nest(emission, nest, mdf_lowered_run_tiles);
    bind_label(assembler, done);
    release(best);
    return true;
}

bool emission_nest(struct emission *emission, struct mdf_lowered_nest *nest)
{
    size_t n = mdf_nest_count(nest, 0, nest->n_axes);
    bool fits = n > 0 && n <= MOST_POINTS && has_covered_folds(nest);
    struct nest_code *best;

    if (nest->is_open) {
        return emit_open_nest(emission, nest);
    }
    best = fits ? find_best(emission, nest) : NULL;
    if (best == NULL) {
        return n == 0;
    }
    emit_best(emission, best);
    release(best);
    return true;
}
