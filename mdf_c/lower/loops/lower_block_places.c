/* lower_block_places.c - where the runs of a loop load and put elements of tables, and what has to hold of that where several are
 * done at once. See blocks.h. */
#include "mdf_c/lower/loops/blocks.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* ------------------------------------------------------------------ places */

static bool is_small(int64_t number)
{
    return number > -BLOCKS_LARGEST_FACTOR && number < BLOCKS_LARGEST_FACTOR;
}

struct place block_constant_place(int64_t constant)
{
    return (struct place){.is_known = is_small(constant), .constant = constant, .most = constant < 0 ? -1 : constant};
}

struct place block_add_places(struct place a, const struct place *b, int64_t factor)
{
    size_t k;

    a.is_known = a.is_known && b->is_known && is_small(factor);
    if (!a.is_known) {
        return a;
    }
    a.most = a.most >= 0 && b->most >= 0 && b->most < BLOCKS_LARGEST_FACTOR && factor >= 0 ? a.most + b->most * factor : -1;
    a.constant += b->constant * factor;
    a.factor += b->factor * factor;
    a.is_known = is_small(a.constant) && is_small(a.factor);
    for (size_t i = 0; i < b->n && a.is_known; i++) {
        for (k = 0; k < a.n && a.bases[k].id != b->bases[i].id; k++) {
        }
        if (k == MOST_BASES) {
            a.is_known = false;
            break;
        }
        if (k == a.n) {
            a.bases[a.n].factor = 0;
            a.bases[a.n++].id = b->bases[i].id;
        }
        a.bases[k].factor += b->bases[i].factor * factor;
        a.is_known = is_small(a.bases[k].factor);
        if (a.bases[k].factor == 0) {
            a.bases[k] = a.bases[--a.n];
        }
    }
    return a;
}

static bool is_constant(const struct place *place)
{
    return place->factor == 0 && place->n == 0;
}

static struct place combine_places(enum mdf_lowered_code code, const struct place *a, const struct place *b)
{
    const struct place none = block_constant_place(0);

    if (code == MDF_LOWERED_ADD || code == MDF_LOWERED_SUBTRACT) {
        return block_add_places(*a, b, code == MDF_LOWERED_ADD ? 1 : -1);
    }
    if (code == MDF_LOWERED_MULTIPLY && is_constant(b)) {
        return block_add_places(none, a, b->is_known ? b->constant : BLOCKS_LARGEST_FACTOR);
    }
    if (code == MDF_LOWERED_MULTIPLY && is_constant(a)) {
        return block_add_places(none, b, a->is_known ? a->constant : BLOCKS_LARGEST_FACTOR);
    }
    return (struct place){.is_known = false};
}

const struct mdf_lowered_rows *block_find_row(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_rows && loop->rows[i].parameter != id; i++) {
    }
    return i < loop->n_rows ? &loop->rows[i] : NULL;
}

bool block_is_from_outside(const struct blocks *blocks, mdf_lowered_id id)
{
    const struct mdf_lowered_loop *loop = blocks->loop;

    if (mdf_lowered_is_state(loop, id) || id == loop->number || id == loop->is_going_on || block_find_row(loop, id) != NULL) {
        return false;
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        if (op->out == id || (op->code == MDF_LOWERED_NEST && mdf_nest_stores(op->of.nest, id))) {
            return false;
        }
    }
    return true;
}

struct place block_place_of(const struct blocks *blocks, mdf_lowered_id id, unsigned n_left)
{
    const struct mdf_lowered *lowered = blocks->lowering->lowered;
    const struct mdf_lowered_value *value = &lowered->values[id];
    bool is_outer = block_is_from_outside(blocks, id);
    struct place place = {.is_known = true, .most = -1}, a, b;
    const struct mdf_lowered_op *op;

    if (!value->is_scalar || value->form.dtype != MDF_DTYPE_INT64 || n_left == 0) {
        return (struct place){.is_known = false};
    }
    if (id == blocks->loop->number) {
        place.factor = 1;
        return place;
    }
    if (value->place == MDF_LOWERED_CONSTANT) {
        memcpy(&place.constant, value->form.data, sizeof place.constant);
        return block_constant_place(place.constant);
    }
    place.is_known = false;
    op = mdf_lowered_op_of(is_outer ? &lowered->region : &blocks->loop->body, id);
    if (op != NULL && op->dtype == MDF_DTYPE_INT64 && op->code == MDF_LOWERED_COPY) {
        place = block_place_of(blocks, op->in[0], n_left - 1);
    } else if (op != NULL && op->dtype == MDF_DTYPE_INT64 && op->code <= MDF_LOWERED_MULTIPLY) {
        a = block_place_of(blocks, op->in[0], n_left - 1);
        b = block_place_of(blocks, op->in[1], n_left - 1);
        place = combine_places((enum mdf_lowered_code)op->code, &a, &b);
    }
    if (!place.is_known && is_outer) { /* it stands for itself */
        place = (struct place){.is_known = true, .most = -1, .n = 1, .bases = {{id, 1}}};
    }
    return place;
}

bool block_is_same_place(const struct place *a, const struct place *b)
{
    struct place difference = block_add_places(*a, b, -1);

    return difference.is_known && is_constant(&difference) && difference.constant == 0 && difference.factor == 0;
}

void block_add_test(struct blocks *blocks, struct place *place, int64_t limit)
{
    if (place->most >= 0 && place->most < limit) {
        return;
    }
    place->most = limit - 1;
    for (size_t i = 0; i < blocks->n_tests; i++) {
        if (block_is_same_place(&blocks->tests[i].place, place)) {
            blocks->tests[i].limit = limit < blocks->tests[i].limit ? limit : blocks->tests[i].limit;
            return;
        }
    }
    if (blocks->n_tests < MOST_TESTS) {
        blocks->tests[blocks->n_tests++] = (struct test){*place, limit};
    }
}

struct place block_place_of_register(struct blocks *blocks, const struct mdf_lowered_nest *nest, uint8_t number)
{
    const struct mdf_nest_step *step = &nest->steps[number];
    struct place a = {.is_known = false}, b;

    if (step->dtype != MDF_DTYPE_INT64) {
        return a;
    }
    if (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE) {
        return block_place_of(blocks, step->view.id, MOST_SUMMED);
    }
    if (step->kind == MDF_NEST_LOAD && mdf_nest_loads_its_index(blocks->lowering->lowered, step)) {
        a = block_place_of_register(blocks, nest, step->view.at);
        block_add_test(blocks, &a, step->view.at_limit);
        return a;
    }
    if (step->kind != MDF_NEST_ELEMENT || step->code > MDF_LOWERED_MULTIPLY) {
        return a;
    }
    a = block_place_of_register(blocks, nest, step->in[0]);
    b = block_place_of_register(blocks, nest, step->in[1]);
    return combine_places((enum mdf_lowered_code)step->code, &a, &b);
}

bool block_find_element(struct blocks *blocks, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                         struct element *element)
{
    const struct mdf_lowered_value *value = &blocks->lowering->lowered->values[step->view.id];
    struct place index;

    if (value->is_scalar || value->open_axes != 0 || step->view.cuts || step->view.at == MDF_NEST_NONE) {
        return false;
    }
    index = block_place_of_register(blocks, nest, step->view.at);
    *element =
        (struct element){block_add_places(block_constant_place(step->view.first), &index, step->view.at_stride), step->view.id};
    if (element->place.is_known) {
        block_add_test(blocks, &index, step->view.at_limit);
    }
    return element->place.is_known;
}

/* Of one of the indices that lie in an array: what a nest of one point of a region puts there. */
static struct place place_in_array(struct blocks *blocks, const struct mdf_lowered_region *region, mdf_lowered_id array, size_t number)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_COPY && op->out == array) {
            return place_in_array(blocks, region, op->in[0], number);
        }
        for (size_t k = 0; op->code == MDF_LOWERED_NEST && op->of.nest->n_axes == 0 && k < op->of.nest->n_steps; k++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[k];

            if (step->kind == MDF_NEST_STORE && step->view.id == array && step->view.first == (int64_t)number) {
                return block_place_of_register(blocks, op->of.nest, step->in[0]);
            }
        }
    }
    return (struct place){.is_known = false};
}

/* Of one of the indices of a put: a number, or an element of an array. */
static struct place place_of_index(struct blocks *blocks, const struct mdf_lowered_op *put, size_t number)
{
    struct place place;

    if (blocks->lowering->lowered->values[put->in[2]].is_scalar) {
        return block_place_of(blocks, put->in[2], MOST_SUMMED);
    }
    place = place_in_array(blocks, &blocks->loop->body, put->in[2], number);
    return place.is_known ? place : place_in_array(blocks, blocks->region, put->in[2], number);
}

bool block_find_put_place(struct blocks *blocks, const struct mdf_lowered_op *op, struct place *place)
{
    const struct mdf_lowered_put *put = op->of.put;

    *place = block_constant_place(0);
    for (size_t i = 0; i < put->n_indices; i++) {
        struct place index = place_of_index(blocks, op, i);

        *place = block_add_places(*place, &index, put->steps[i]);
        if (!place->is_known) {
            return false;
        }
        block_add_test(blocks, &index, put->limits[i]);
    }
    return true;
}

bool block_find_range(const struct blocks *blocks, const struct place *place, struct lowering_range *range)
{
    size_t n = blocks->loop->n_runs;

    if (place->factor != 0 && n > (size_t)BLOCKS_LARGEST_FACTOR) {
        return false;
    }
    *range = (struct lowering_range){place->constant, place->constant};
    if (place->factor != 0) {
        int64_t last = place->factor * ((int64_t)n - 1);

        *(last < 0 ? &range->low : &range->high) += last;
    }
    for (size_t i = 0; i < place->n; i++) {
        const struct fact *fact = &blocks->lowering->facts[place->bases[i].id];
        int64_t factor = place->bases[i].factor;

        if (!fact->is_number) {
            return false;
        }
        /* Nobody lives to see a run past the largest number. */
        if (factor < 0) {
            range->low += fact->most < BLOCKS_LARGEST_FACTOR ? factor * fact->most : -(INT64_C(1) << 40) * (INT64_C(1) << 20);
        } else {
            range->high += fact->most < BLOCKS_LARGEST_FACTOR ? factor * fact->most : (INT64_C(1) << 40) * (INT64_C(1) << 20);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ ops on whole numbers */

/* What one of the last ops of a region in front of number `at` has made of the same numbers; NONE: none has. */
static mdf_lowered_id find_same(const struct blocks *blocks, const struct mdf_lowered_region *region, size_t at,
                                const struct mdf_lowered_op *op)
{
    enum { MOST_BACK = 64 };
    size_t k;

    for (size_t i = at; i-- > 0 && at - i <= MOST_BACK;) {
        const struct mdf_lowered_op *other = &region->ops[i];

        if (other->code != op->code || other->dtype != op->dtype || other->n_in != op->n_in || op->code > MDF_LOWERED_CAST) {
            continue;
        }
        for (k = 0; k < op->n_in && lowering_is_same_value(blocks->lowering, other->in[k], op->in[k]); k++) {
        }
        if (k == op->n_in && blocks->lowering->lowered->values[other->out].form.rank == 0) {
            return other->out;
        }
    }
    return MDF_LOWERED_NONE;
}

mdf_lowered_id block_add_op(struct blocks *blocks, struct mdf_lowered_region *region, size_t *at, size_t depth,
                            struct mdf_lowered_op op, mdf_dtype result)
{
    struct mdf_lowered_op *room;
    mdf_lowered_id same;

    if (op.in[0] == MDF_LOWERED_NONE || (op.n_in > 1 && op.in[1] == MDF_LOWERED_NONE)) {
        return MDF_LOWERED_NONE;
    }
    same = find_same(blocks, region, at != NULL ? *at : region->n_ops, &op);
    if (same != MDF_LOWERED_NONE) {
        return same;
    }
    op.out = lowering_add_scalar(blocks->lowering, MDF_LOWERED_RESULT, result, depth);
    room = lowering_insert_ops(blocks->lowering, region, at != NULL ? *at : region->n_ops, 1);
    if (op.out == MDF_LOWERED_NONE || room == NULL) {
        return MDF_LOWERED_NONE;
    }
    *room = op;
    if (at != NULL) {
        ++*at;
    }
    return op.out;
}

mdf_lowered_id block_number(const struct blocks *blocks, int64_t constant)
{
    return lowering_add_wholes(blocks->lowering, &constant, 1, 0);
}

mdf_lowered_id block_before(struct blocks *blocks, enum mdf_lowered_code code, mdf_lowered_id a, mdf_lowered_id b)
{
    bool is_compared = code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL;
    bool is_truth = code == MDF_LOWERED_AND || code == MDF_LOWERED_OR;
    mdf_dtype operand = is_truth ? MDF_DTYPE_BOOL : MDF_DTYPE_INT64;
    const struct mdf_lowered_op op = {.code = (uint8_t)code, .dtype = (uint8_t)operand, .n_in = 2, .in = {a, b}};

    return block_add_op(blocks, blocks->region, blocks->at, blocks->depth, op, is_compared ? MDF_DTYPE_BOOL : operand);
}

mdf_lowered_id block_first_place(struct blocks *blocks, const struct place *place, int64_t more)
{
    mdf_lowered_id sum = MDF_LOWERED_NONE;

    for (size_t i = 0; i < place->n; i++) {
        mdf_lowered_id id = place->bases[i].id;

        if (place->bases[i].factor != 1) {
            id = block_before(blocks, MDF_LOWERED_MULTIPLY, id, block_number(blocks, place->bases[i].factor));
        }
        sum = i == 0 ? id : block_before(blocks, MDF_LOWERED_ADD, sum, id);
    }
    if (place->n == 0) {
        return block_number(blocks, place->constant + more);
    }
    return place->constant + more == 0 ? sum
                                       : block_before(blocks, MDF_LOWERED_ADD, sum, block_number(blocks, place->constant + more));
}

void block_require(struct blocks *blocks, mdf_lowered_id truth)
{
    blocks->may = blocks->may == MDF_LOWERED_NONE ? truth : block_before(blocks, MDF_LOWERED_AND, blocks->may, truth);
}

/* What a place is in the last run, of which `first` says what it is in the first one. */
static mdf_lowered_id last_place(struct blocks *blocks, const struct place *place, mdf_lowered_id first)
{
    mdf_lowered_id runs;

    if (place->factor == 0) {
        return first;
    }
    runs = block_before(blocks, MDF_LOWERED_SUBTRACT, blocks->n_runs, block_number(blocks, 1));
    if (place->factor != 1 && place->factor != -1) {
        runs = block_before(blocks, MDF_LOWERED_MULTIPLY, runs, block_number(blocks, place->factor));
    }
    return block_before(blocks, place->factor == -1 ? MDF_LOWERED_SUBTRACT : MDF_LOWERED_ADD, first, runs);
}

bool block_is_from_front(const struct blocks *blocks, size_t i)
{
    struct lowering_range range;

    return block_find_range(blocks, &blocks->tests[i].place, &range) && range.low >= 0;
}

bool block_require_within(struct blocks *blocks, size_t i)
{
    const struct test *test = &blocks->tests[i];
    struct lowering_range range;
    bool is_known = block_find_range(blocks, &test->place, &range);
    mdf_lowered_id first, last;

    if (is_known && range.low >= 0 && range.high < test->limit) {
        return true;
    }
    if (is_known && (range.high < 0 || range.low >= test->limit)) {
        return false;
    }
    first = block_first_place(blocks, &test->place, 0);
    last = last_place(blocks, &test->place, first);
    if (!is_known || range.low < 0) {
        block_require(blocks, block_before(blocks, MDF_LOWERED_GREATER_EQUAL, test->place.factor < 0 ? last : first,
                                           block_number(blocks, 0)));
    }
    if (!is_known || range.high >= test->limit) {
        block_require(blocks, block_before(blocks, MDF_LOWERED_LESS, test->place.factor < 0 ? first : last,
                                           block_number(blocks, test->limit)));
    }
    return true;
}

/* In front of the loop: no run of a block loads what one in front of it puts; nor, where what it puts is made there, what one
 * behind it does. */
static void require_apart(struct blocks *blocks, mdf_lowered_id ahead)
{
    mdf_lowered_id behind = block_before(blocks, MDF_LOWERED_LESS_EQUAL, ahead, block_number(blocks, -blocks->size)),
                   zero = block_number(blocks, 0), before;

    if (!blocks->is_apart) {
        before = block_before(blocks, MDF_LOWERED_GREATER_EQUAL, ahead, zero);
    } else {
        before = block_before(blocks, MDF_LOWERED_OR, block_before(blocks, MDF_LOWERED_EQUAL, ahead, zero),
                              block_before(blocks, MDF_LOWERED_GREATER_EQUAL, ahead, block_number(blocks, blocks->size)));
    }
    block_require(blocks, block_before(blocks, MDF_LOWERED_OR, before, behind));
}

bool block_require_apart(struct blocks *blocks, const struct place *load, const struct place *put)
{
    struct place ahead = put->factor > 0 ? block_add_places(*load, put, -1) : block_add_places(*put, load, -1);
    struct lowering_range range;

    if (!ahead.is_known || load->factor != put->factor) {
        return false;
    }
    if (block_find_range(blocks, &ahead, &range) && (range.low >= 0 || range.high <= -blocks->size)) {
        blocks->is_apart = blocks->is_apart && (range.high == 0 || range.low >= blocks->size || range.high <= -blocks->size);
        return true;
    }
    if (is_constant(&ahead)) {
        return false;
    }
    require_apart(blocks, block_first_place(blocks, &ahead, 0));
    return true;
}
