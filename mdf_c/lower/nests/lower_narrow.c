/* lower_narrow.c - whole numbers of 32 bits in place of wider ones, of which vectors hold half as many, in nests:
 * - a sum of truths that were made numbers is their count: it is found in int32, in any order, and then made what the sum was.
 * All that it goes through are whole numbers that the sum's type has exactly, so that it has the same bits.
 * - a row of int64 that is known before (0, 1, 2, ...) is compared with a number as int32, where its elements are such: the
 * number is brought to just beyond the least or the largest of them where it lies further out, which compares alike.
 * What is known of other whole numbers: lower_narrow_known.c. See lowering.h. */
#include "functions/elements/element.h"
#include "mdf_c/lower/nests/nest_narrow.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* ------------------------------------------------------------------ comparisons */

bool narrow_is_comparison(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT && step->operand_dtype == MDF_DTYPE_INT64 && step->code >= MDF_LOWERED_EQUAL &&
           step->code <= MDF_LOWERED_GREATER_EQUAL;
}

bool narrow_find_bounds(const struct lowering *lowering, const struct mdf_nest_step *load, struct lowering_range *range)
{
    const struct mdf_lowered_value *value = load->kind == MDF_NEST_LOAD ? &lowering->lowered->values[load->view.id] : NULL;
    const int64_t *elements;

    if (value == NULL || value->place != MDF_LOWERED_CONSTANT || value->is_scalar || value->form.length == 0) {
        return false;
    }
    elements = value->form.data;
    *range = (struct lowering_range){elements[0], elements[0]};
    for (size_t i = 1; i < value->form.length; i++) {
        range->low = elements[i] < range->low ? elements[i] : range->low;
        range->high = elements[i] > range->high ? elements[i] : range->high;
    }
    return range->low > INT32_MIN && range->high < INT32_MAX;
}

bool narrow_is_number(const struct lowering *lowering, const struct mdf_lowered_nest *nest, uint8_t step)
{
    const struct mdf_nest_step *load = &nest->steps[step];

    return load->kind == MDF_NEST_LOAD && load->level == 0 && load->view.at == MDF_NEST_NONE &&
           lowering->lowered->values[load->view.id].is_scalar;
}

/* Which operand of a step is such a row, where it is compared with such a number, and reals of 32 bits are computed beside it;
 * SIZE_MAX: none is. */
static size_t find_row(const struct lowering *lowering, const struct mdf_lowered_nest *nest, size_t i,
                       struct lowering_range *range)
{
    enum { MOST_STEPS = 64 }; /* as each is looked for among all */
    const struct mdf_nest_step *step = &nest->steps[i];
    size_t j;

    if (lowering->is_for_source || nest->n_steps > MOST_STEPS || !narrow_is_comparison(step) || step->level == 0) {
        return SIZE_MAX;
    }
    for (j = 0; j < nest->n_steps && !(nest->steps[j].level == step->level && nest->steps[j].kind != MDF_NEST_STORE &&
                                       nest->steps[j].dtype == MDF_DTYPE_FLOAT32);
         j++) {
    }
    for (size_t k = 0; k < 2 && j < nest->n_steps; k++) {
        if (narrow_is_number(lowering, nest, step->in[1 - k]) && narrow_find_bounds(lowering, &nest->steps[step->in[k]], range)) {
            return k;
        }
    }
    return SIZE_MAX;
}

/* ------------------------------------------------------------------ counts */

size_t narrow_points_of(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold)
{
    return mdf_nest_count(nest, fold->level, nest->steps[fold->in[0]].level);
}

/* The register of truths that the elements of a sum are made of by casts alone; NONE: they are something else. */
static uint8_t truths_of(const struct mdf_lowered_nest *nest, uint8_t in)
{
    const struct mdf_nest_step *step = &nest->steps[in];

    while (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->operand_dtype != MDF_DTYPE_BOOL) {
        step = &nest->steps[in = step->in[0]];
    }
    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST ? step->in[0] : MDF_NEST_NONE;
}

/* Whether truths come of comparisons of numbers of 32 bits, as far as of any. */
static bool is_narrow(const struct lowering *lowering, const struct mdf_lowered_nest *nest, uint8_t truths)
{
    const struct mdf_nest_step *step = &nest->steps[truths];
    struct lowering_range bounds;
    size_t k;

    if (step->kind != MDF_NEST_ELEMENT || step->operand_dtype != MDF_DTYPE_BOOL) {
        return step->kind != MDF_NEST_ELEMENT || mdf_dtype_size((mdf_dtype)step->operand_dtype) <= sizeof(int32_t) ||
               find_row(lowering, nest, truths, &bounds) != SIZE_MAX;
    }
    for (k = 0; k < step->n_in && is_narrow(lowering, nest, step->in[k]); k++) {
    }
    return k == step->n_in;
}

/* Whether a sum is a count that int32 and its own type have exactly. Machine code adds
 * whole numbers as they are, and truths as wide as they are. */
static bool is_count(const struct lowering *lowering, const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *fold = &nest->steps[i];
    size_t most = fold->dtype == MDF_DTYPE_FLOAT32 ? 1 << 24 : INT32_MAX;
    bool is_real = mdf_dtype_is_real(fold->dtype);
    uint8_t truths;

    if (fold->kind != MDF_NEST_FOLD || fold->fold != MDF_NEST_SUM || fold->has_start || fold->is_fused ||
        !(is_real || (fold->dtype == MDF_DTYPE_INT64 && lowering->is_for_source))) {
        return false;
    }
    truths = truths_of(nest, fold->in[0]);
    return truths != MDF_NEST_NONE && narrow_points_of(nest, fold) <= most &&
           (lowering->is_for_source || is_narrow(lowering, nest, truths));
}

/* The count in place of the sum, of registers of the new nest. The truths as numbers go along the axes that the sum's elements
 * do: a truth that is the same along one of them counts many times. */
static uint8_t add_count(struct nest_draft *draft, const struct draft_step *sum, uint8_t truths)
{
    const struct mdf_lowered_op cast = {.code = MDF_LOWERED_CAST, .dtype = MDF_DTYPE_BOOL, .n_in = 1};
    struct draft_step fold = *sum;
    uint8_t in = draft_element(draft, &cast, MDF_DTYPE_INT32, &truths, draft->steps[sum->step.in[0]].axes);

    fold.step.in[0] = in;
    fold.step.dtype = fold.step.operand_dtype = MDF_DTYPE_INT32;
    fold.step.lanes = 1;
    fold.step.order = MDF_NEST_IN_LANES;
    return draft_cast(draft, draft_add(draft, &fold), (mdf_dtype)sum->step.dtype);
}

/* ------------------------------------------------------------------ numbers */

static mdf_lowered_id make_row(struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value wide = lowering->lowered->values[id].form;
    int32_t *elements = mdf_arena_array(&lowering->scratch, wide.length, sizeof *elements);
    struct mdf_value narrow = {0};

    if (elements == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < wide.length; i++) {
        elements[i] = (int32_t)((const int64_t *)wide.data)[i];
    }
    mdf_value_borrow_tensor(lowering->memory, &narrow, MDF_DTYPE_INT32, MDF_STRENGTH_TYPED, wide.rank, mdf_value_shape(&wide),
                            elements);
    return lowering_add_constant(lowering, &narrow, false);
}

/* A row as int32, or what was made of it before. */
mdf_lowered_id narrow_row(struct narrow_front *front, mdf_lowered_id wide)
{
    size_t i;

    for (i = 0; i < front->n_rows && front->rows[i].wide != wide; i++) {
    }
    if (i == MOST_NARROW) {
        return MDF_LOWERED_NONE;
    }
    if (i == front->n_rows) {
        front->rows[front->n_rows++] = (struct narrow_row){wide, make_row(front->lowering, wide)};
    }
    return front->rows[i].id;
}

static mdf_lowered_id add_scalar(const struct narrow_front *front, mdf_dtype dtype)
{
    return lowering_add_scalar(front->lowering, MDF_LOWERED_RESULT, dtype, front->depth);
}

static mdf_lowered_id add_number(const struct narrow_front *front, int64_t number)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(front->lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &number);
    return lowering_add_constant(front->lowering, &value, false);
}

/* An op of numbers; NONE: memory ran out, or an operand is NONE. */
static mdf_lowered_id add_op(struct narrow_front *front, enum mdf_lowered_code code, size_t n_in, const mdf_lowered_id *in,
                             mdf_dtype result)
{
    struct mdf_lowered_op op = {.code = (uint8_t)code, .dtype = MDF_DTYPE_INT64, .n_in = (uint8_t)n_in};

    op.out = add_scalar(front, result);
    for (size_t i = 0; i < n_in; i++) {
        op.in[i] = in[i];
        if (in[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    front->ops[front->n_ops++] = op;
    return op.out;
}

/* A number of the nest between just below and just beyond the bounds, as int32. What `is_added_to` bails out where a sum could wrap. */
static mdf_lowered_id make_narrow(struct narrow_front *front, const struct mdf_lowered_nest *nest, uint8_t step,
                                  struct lowering_range bounds, bool is_added_to)
{
    mdf_lowered_id number = nest->steps[step].view.id, low, high, is_beyond;
    struct lowering_range range;

    if (!lowering_find_range(front->lowering, number, &range) || range.low < INT32_MIN || range.high > INT32_MAX) {
        if (is_added_to) { /* twice it is an int64: it has a distance from the ends of these */
            add_op(front, MDF_LOWERED_ADD_EXACT, 2, (const mdf_lowered_id[]){number, number}, MDF_DTYPE_INT64);
        }
        low = add_number(front, bounds.low - 1);
        high = add_number(front, bounds.high + 1);
        is_beyond = add_op(front, MDF_LOWERED_LESS, 2, (const mdf_lowered_id[]){number, low}, MDF_DTYPE_BOOL);
        number = add_op(front, MDF_LOWERED_SELECT, 3, (const mdf_lowered_id[]){is_beyond, low, number}, MDF_DTYPE_INT64);
        is_beyond = add_op(front, MDF_LOWERED_LESS, 2, (const mdf_lowered_id[]){high, number}, MDF_DTYPE_BOOL);
        number = add_op(front, MDF_LOWERED_SELECT, 3, (const mdf_lowered_id[]){is_beyond, high, number}, MDF_DTYPE_INT64);
    }
    return add_op(front, MDF_LOWERED_CAST, 1, &number, MDF_DTYPE_INT32);
}

mdf_lowered_id narrow_number(struct narrow_front *front, const struct mdf_lowered_nest *nest, uint8_t step,
                             struct lowering_range bounds, bool is_added_to)
{
    for (size_t i = 0; i < front->n_numbers; i++) {
        const struct narrow *number = &front->numbers[i];

        if (number->step == step && number->is_added_to == is_added_to && number->bounds.low == bounds.low &&
            number->bounds.high == bounds.high) {
            return number->id;
        }
    }
    if (front->n_numbers == MOST_NARROW) {
        return MDF_LOWERED_NONE;
    }
    front->numbers[front->n_numbers] =
        (struct narrow){step, is_added_to, bounds, make_narrow(front, nest, step, bounds, is_added_to)};
    return front->numbers[front->n_numbers++].id;
}

const struct mdf_element *narrow_element(unsigned code)
{
    static const struct {
        unsigned code;
        const struct mdf_element *element;
    } elements[] = {{MDF_LOWERED_ADD, MDF_ELEMENT(add)},
                    {MDF_LOWERED_SUBTRACT, MDF_ELEMENT(subtract)},
                    {MDF_LOWERED_MULTIPLY, MDF_ELEMENT(multiply)},
                    {MDF_LOWERED_NEGATE, MDF_ELEMENT(negative)},
                    {MDF_LOWERED_SELECT, MDF_ELEMENT(select)},
                    {MDF_LOWERED_EQUAL, MDF_ELEMENT(equal)},
                    {MDF_LOWERED_NOT_EQUAL, MDF_ELEMENT(not_equal)},
                    {MDF_LOWERED_LESS, MDF_ELEMENT(less)},
                    {MDF_LOWERED_LESS_EQUAL, MDF_ELEMENT(less_or_equal)},
                    {MDF_LOWERED_GREATER, MDF_ELEMENT(greater)},
                    {MDF_LOWERED_GREATER_EQUAL, MDF_ELEMENT(greater_or_equal)}};
    size_t i;

    for (i = 0; i < sizeof elements / sizeof *elements && elements[i].code != code; i++) {
    }
    return i < sizeof elements / sizeof *elements ? elements[i].element : NULL;
}

/* The comparison of registers in[0] and in[1] of the draft, of which in[row] loads the row, in int32. */
static uint8_t add_comparison(struct narrow_front *front, struct nest_draft *draft, const struct draft_step *comparison,
                              size_t row, mdf_lowered_id number)
{
    const struct mdf_element *element = narrow_element(comparison->step.code);
    struct lowering *lowering = front->lowering;
    struct draft_step load = draft->steps[comparison->step.in[row]];
    uint8_t in[2], made;

    load.step.dtype = MDF_DTYPE_INT32;
    load.step.view.id = narrow_row(front, load.step.view.id);
    if (load.step.view.id == MDF_LOWERED_NONE || number == MDF_LOWERED_NONE) {
        draft->has_failed = true;
        return 0;
    }
    in[row] = draft_add(draft, &load);
    in[1 - row] = draft_load(lowering, draft, number, NULL);
    made = draft->has_failed ? 0 : draft_apply(lowering, draft, element, in);
    if (!draft->has_failed) {
        draft->steps[made].step.origin = comparison->step.origin;
    }
    return made;
}

/* ------------------------------------------------------------------ nests */

/* Whether a number is there for nothing but comparisons that get it narrow: what is in front of the nest has made it, and has
 * looked whether indices are such. */
static bool is_only_narrow(const struct lowering *lowering, const struct mdf_lowered_nest *nest, uint8_t number)
{
    struct lowering_range bounds;
    bool is_used = false;

    for (size_t i = (size_t)number + 1; i < nest->n_steps && narrow_is_number(lowering, nest, number); i++) {
        const struct mdf_nest_step *user = &nest->steps[i];
        bool is_index = user->view.at == number, reads = is_index || memchr(user->in, number, user->n_in) != NULL;
        size_t row = reads && !is_index ? find_row(lowering, nest, i, &bounds) : SIZE_MAX;

        if (reads && row == SIZE_MAX && !is_only_narrow(lowering, nest, (uint8_t)i)) {
            return false;
        }
        for (size_t k = 0; row != SIZE_MAX && k < user->n_in; k++) {
            if (user->in[k] == number && k == row) {
                return false;
            }
        }
        is_used = is_used || reads;
    }
    return is_used;
}

/* Step i as registers of another nest, whose numbers are narrow. */
static void write_narrow(struct narrow_front *front, const struct mdf_lowered_nest *nest, struct nest_draft *draft, size_t i,
                         struct draft_step *step, void *context)
{
    struct lowering *lowering = front->lowering;
    uint8_t *registers = context;
    struct lowering_range bounds;
    size_t row = find_row(lowering, nest, i, &bounds);

    mdf_nest_renumber(&step->step, registers);
    if (is_only_narrow(lowering, nest, (uint8_t)i)) {
        registers[i] = MDF_NEST_NONE;
    } else if (row != SIZE_MAX) {
        registers[i] =
            add_comparison(front, draft, step, row, narrow_number(front, nest, nest->steps[i].in[1 - row], bounds, false));
    } else {
        registers[i] = is_count(lowering, nest, i) ? add_count(draft, step, registers[truths_of(nest, nest->steps[i].in[0])])
                                                   : draft_add(draft, step);
    }
}

static bool has_wide(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    struct lowering_range range;
    size_t i;

    for (i = 0; i < nest->n_steps &&
                (nest->is_open || (!is_count(lowering, nest, i) && find_row(lowering, nest, i, &range) == SIZE_MAX));
         i++) {
    }
    return i < nest->n_steps;
}

/* What was made of a step has its axes, be they more than those of its operands (one element for many). It has failed where what
 * is stored was there before, and has fewer. */
static void keep_axes(struct nest_draft *draft, size_t n_before, const struct draft_step *from)
{
    for (size_t i = n_before; i < draft->n_steps; i++) {
        const struct mdf_nest_step *made = &draft->steps[i].step;

        if (made->kind == MDF_NEST_ELEMENT && from->step.kind == MDF_NEST_ELEMENT) {
            draft->steps[i].axes |= from->axes;
        } else if (made->kind == MDF_NEST_STORE && (from->axes & ~draft->steps[made->in[0]].axes) != 0) {
            draft->has_failed = true;
        }
    }
}

struct mdf_lowered_nest *narrow_rewritten(struct narrow_front *front, const struct mdf_lowered_nest *nest, narrow_writer *write,
                                          void *context)
{
    struct nest_draft *from = draft_new(front->lowering), *draft = draft_new(front->lowering);

    if (from == NULL || draft == NULL) {
        lowering_out_of_memory(front->lowering);
        return NULL;
    }
    draft_read(from, nest);
    draft->n_axes = from->n_axes;
    memcpy(draft->extents, from->extents, draft->n_axes * sizeof *from->extents);
    for (size_t i = 0; i < nest->n_steps && !from->has_failed && !draft->has_failed; i++) {
        struct draft_step step = from->steps[i];
        size_t n_before = draft->n_steps;

        write(front, nest, draft, i, &step, context);
        keep_axes(draft, n_before, &from->steps[i]);
    }
    return from->has_failed || draft->has_failed ? NULL : draft_finish(front->lowering, draft);
}

/* The nest with narrow numbers; NULL: it has none, there is no room, or it would be too large. */
static struct mdf_lowered_nest *narrowed(struct narrow_front *front, const struct mdf_lowered_nest *nest)
{
    uint8_t registers[MDF_NEST_MOST_STEPS];

    return has_wide(front->lowering, nest) ? narrow_rewritten(front, nest, write_narrow, registers) : NULL;
}

static size_t depth_of(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && nest->steps[i].kind != MDF_NEST_STORE; i++) {
    }
    return i < nest->n_steps ? lowering->facts[nest->steps[i].view.id].depth : 0;
}

/* Makes op number *at narrow, a nest; *at is where it is then, behind what it needs. */
static bool narrow_op(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at, narrow_function *narrow)
{
    const struct mdf_lowered_nest *nest = region->ops[*at].of.nest;
    struct narrow_front front = {.lowering = lowering, .depth = depth_of(lowering, nest)};
    struct mdf_lowered_nest *made = narrow(&front, nest);
    struct mdf_lowered_op *ops;

    if (made == NULL) {
        return !lowering_has_failed(lowering);
    }
    ops = lowering_insert_ops(lowering, region, *at, front.n_ops);
    if (ops == NULL) {
        return false;
    }
    memcpy(ops, front.ops, front.n_ops * sizeof *ops);
    ops[front.n_ops].of.nest = made;
    *at += front.n_ops;
    return true;
}

bool narrow_region(struct lowering *lowering, struct mdf_lowered_region *region, narrow_function *narrow)
{
    bool done = true;

    for (size_t i = 0; done && i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_NEST) {
            done = narrow_op(lowering, region, &i, narrow);
        } else if (op->code == MDF_LOWERED_LOOP) {
            done = narrow_region(lowering, &op->of.loop->body, narrow);
        } else if (op->code == MDF_LOWERED_IF) {
            done = narrow_region(lowering, &op->of.branches->then, narrow) &&
                   narrow_region(lowering, &op->of.branches->otherwise, narrow);
        }
    }
    return done && !lowering_has_failed(lowering);
}

bool lowering_narrow_wholes(struct lowering *lowering)
{
    return narrow_region(lowering, &lowering->lowered->region, narrowed);
}
