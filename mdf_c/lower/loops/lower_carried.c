/* lower_carried.c - an element that a run of a loop puts into a state, and that the next run loads there, as that before in a
 * recurrence or an inner loop of a table does (bubble sort, edit distances): it is handed on as a state of its own besides, so
 * that the next run does not wait until it is stored and loaded again. See lowering.h.
 *
 * The state's last PUT at the place that the next run's number says, and a NEST of one point that loads what the run found there.
 * Places are made of the loop's number, constants, and perhaps one whole number from outside the loop: in a table, of both axes.
 */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { LONGEST_SUM = 6, LARGEST_CONSTANT = 1 << 20 };

/* An index: `base`, of the outside, times a factor, the loop's number times another one, and a constant. */
struct place {
    bool is_known;
    mdf_lowered_id base; /* NONE: 0 */
    int64_t base_factor, number_factor, constant;
};

struct carrying {
    struct lowering *lowering;
    struct mdf_lowered_loop *loop;
};

/* One element of an array of one axis, or of a larger one that is gone through as such. */
struct element {
    struct place place;
    int64_t stride, limit;
};

static const struct place unknown = {.base = MDF_LOWERED_NONE},
                          minus_one = {.is_known = true, .base = MDF_LOWERED_NONE, .constant = -1};

static const struct mdf_lowered_op *find_op(const struct mdf_lowered_region *region, mdf_lowered_id out)
{
    size_t i;

    for (i = 0; i < region->n_ops && region->ops[i].out != out; i++) {
    }
    return i < region->n_ops && out != MDF_LOWERED_NONE ? &region->ops[i] : NULL;
}

static bool is_from_outside(const struct carrying *carrying, mdf_lowered_id id)
{
    const struct fact *facts = carrying->lowering->facts;

    return facts[id].depth < facts[carrying->loop->number].depth;
}

static bool is_small(int64_t number)
{
    return number > -LARGEST_CONSTANT && number < LARGEST_CONSTANT;
}

static struct place checked(struct place place)
{
    return place.is_known && is_small(place.base_factor) && is_small(place.number_factor) && is_small(place.constant) ? place
                                                                                                                      : unknown;
}

static struct place add_places(struct place a, struct place b)
{
    bool has_base = a.base != MDF_LOWERED_NONE;
    struct place sum = {.is_known = a.is_known && b.is_known && (!has_base || b.base == MDF_LOWERED_NONE || a.base == b.base),
                        .base = has_base ? a.base : b.base,
                        .base_factor = a.base_factor + b.base_factor,
                        .number_factor = a.number_factor + b.number_factor,
                        .constant = a.constant + b.constant};

    return checked(sum);
}

static bool is_constant(const struct place *place)
{
    return place->base == MDF_LOWERED_NONE && place->number_factor == 0;
}

static struct place multiply_places(struct place a, struct place b)
{
    int64_t factor = is_constant(&b) ? b.constant : a.constant;
    struct place product = is_constant(&b) ? a : b;

    product.is_known = a.is_known && b.is_known && (is_constant(&a) || is_constant(&b));
    product.base_factor *= factor;
    product.number_factor *= factor;
    product.constant *= factor;
    return checked(product);
}

static struct place find_place(const struct carrying *carrying, mdf_lowered_id id, size_t depth);

/* That of what an op computes of numbers. */
static struct place place_of(const struct carrying *carrying, const struct mdf_lowered_op *op, size_t depth)
{
    struct place a, b;

    if (op == NULL || op->dtype != MDF_DTYPE_INT64 ||
        (op->code != MDF_LOWERED_COPY && op->code != MDF_LOWERED_ADD && op->code != MDF_LOWERED_SUBTRACT &&
         op->code != MDF_LOWERED_MULTIPLY)) {
        return unknown;
    }
    a = find_place(carrying, op->in[0], depth + 1);
    if (op->code == MDF_LOWERED_COPY) {
        return a;
    }
    b = find_place(carrying, op->in[1], depth + 1);
    return op->code == MDF_LOWERED_MULTIPLY ? multiply_places(a, b)
           : op->code == MDF_LOWERED_ADD    ? add_places(a, b)
                                            : add_places(a, multiply_places(b, minus_one));
}

/* What comes from outside is followed there, and stands for itself where nothing more is known of it. */
static struct place find_outer_place(const struct carrying *carrying, mdf_lowered_id id, size_t depth)
{
    struct place place = place_of(carrying, mdf_lowered_op_of(&carrying->lowering->lowered->region, id), depth);

    return place.is_known ? place : (struct place){.is_known = true, .base = id, .base_factor = 1};
}

static struct place find_place(const struct carrying *carrying, mdf_lowered_id id, size_t depth)
{
    const struct mdf_lowered_value *value = &carrying->lowering->lowered->values[id];
    struct place place = {.is_known = true, .base = MDF_LOWERED_NONE};

    if (!value->is_scalar || value->form.dtype != MDF_DTYPE_INT64 || depth == LONGEST_SUM) {
        return unknown;
    }
    if (id == carrying->loop->number) {
        place.number_factor = 1;
        return place;
    }
    if (value->place == MDF_LOWERED_CONSTANT) {
        memcpy(&place.constant, value->form.data, sizeof place.constant);
        return checked(place);
    }
    return is_from_outside(carrying, id) ? find_outer_place(carrying, id, depth)
                                         : place_of(carrying, find_op(&carrying->loop->body, id), depth);
}

/* ------------------------------------------------------------------ what is loaded, what is put */

/* Whether a nest only loads an element of an array, by an index, as a number. */
static bool loads_element(const struct carrying *carrying, const struct mdf_lowered_nest *nest, mdf_lowered_id array,
                          struct element *element)
{
    const struct mdf_nest_step *load = &nest->steps[1], *index = &nest->steps[0], *store = &nest->steps[2];

    if (nest->n_axes != 0 || nest->n_steps != 3 || index->kind != MDF_NEST_LOAD || index->view.at != MDF_NEST_NONE ||
        load->kind != MDF_NEST_LOAD || load->view.id != array || load->view.at != 0 || load->view.first != 0 || load->view.cuts ||
        store->kind != MDF_NEST_STORE || store->in[0] != 1 || !carrying->lowering->lowered->values[store->view.id].is_scalar) {
        return false;
    }
    *element = (struct element){find_place(carrying, index->view.id, 0), load->view.at_stride, load->view.at_limit};
    return element->place.is_known && element->place.number_factor != 0;
}

static bool puts_element(const struct carrying *carrying, const struct mdf_lowered_op *op, struct element *element)
{
    const struct mdf_lowered_value *values = carrying->lowering->lowered->values;

    if (op == NULL || op->code != MDF_LOWERED_PUT || op->of.put->n_indices != 1 || !values[op->in[1]].is_scalar) {
        return false;
    }
    *element = (struct element){find_place(carrying, op->in[2], 0), op->of.put->steps[0], op->of.put->limits[0]};
    return element->place.is_known && element->place.number_factor != 0;
}

/* Whether an element is `ahead` places behind another one, among the same. */
static bool is_ahead(const struct element *element, const struct element *of, int64_t ahead)
{
    return element->stride == of->stride && element->limit == of->limit && element->place.base == of->place.base &&
           element->place.base_factor == of->place.base_factor && element->place.number_factor == of->place.number_factor &&
           element->place.constant - of->place.constant == ahead;
}

/* The number that a run leaves at the place that the next one loads; NONE: it is not known which. */
static mdf_lowered_id find_carried(const struct carrying *carrying, const struct mdf_lowered_state *state,
                                   const struct element *loaded)
{
    mdf_lowered_id whole = state->next;
    struct element element;

    while (whole != state->parameter) {
        const struct mdf_lowered_op *op = find_op(&carrying->loop->body, whole);
        int64_t ahead;

        if (!puts_element(carrying, op, &element)) {
            return MDF_LOWERED_NONE;
        }
        if (is_ahead(&element, loaded, loaded->place.number_factor)) {
            return op->in[1];
        }
        ahead = element.place.constant - loaded->place.constant;
        ahead -= loaded->place.number_factor; /* of what the next run loads */
        if (!is_ahead(&element, loaded, ahead + loaded->place.number_factor) || ahead >= loaded->limit ||
            ahead <= -loaded->limit) {
            return MDF_LOWERED_NONE; /* it may be the same one, counted from the end */
        }
        whole = op->in[0];
    }
    return MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ the state */

/* An op in front of the loop, which is number *at of the region, on a whole number and a constant. */
static mdf_lowered_id compute_before(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at,
                                     enum mdf_lowered_code code, mdf_lowered_id id, int64_t number, size_t depth)
{
    struct mdf_lowered_op *op = lowering_insert_ops(lowering, region, *at, 1);
    mdf_lowered_id constant = lowering_add_wholes(lowering, &number, 1, 0);

    if (op == NULL || constant == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    *op = (struct mdf_lowered_op){.code = (uint8_t)code, .dtype = MDF_DTYPE_INT64, .n_in = 2, .in = {id, constant}};
    op->out = lowering_add_like(lowering, MDF_LOWERED_RESULT, id, depth);
    ++*at;
    return op->out;
}

/* The index of what the first run loads. */
static mdf_lowered_id first_index(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at,
                                  const struct place *place, size_t depth)
{
    mdf_lowered_id id = place->base_factor == 1
                            ? place->base
                            : compute_before(lowering, region, at, MDF_LOWERED_MULTIPLY, place->base, place->base_factor, depth);

    return id == MDF_LOWERED_NONE ? id : compute_before(lowering, region, at, MDF_LOWERED_ADD, id, place->constant, depth);
}

/* What the first run loads, by a nest in front of the loop. */
static mdf_lowered_id load_first(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at, mdf_lowered_id array,
                                 const struct element *element, mdf_lowered_id like, size_t depth)
{
    struct mdf_nest_view from = {.id = array, .at = MDF_NEST_NONE};
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_lowered_op *op;
    int64_t first = element->place.constant + (element->place.constant < 0 ? element->limit : 0);
    uint8_t loaded;

    if (draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    if (element->place.base == MDF_LOWERED_NONE) {
        from.first = first * element->stride;
    } else {
        mdf_lowered_id index = first_index(lowering, region, at, &element->place, depth);

        if (index == MDF_LOWERED_NONE) {
            return index;
        }
        from.at = draft_load(lowering, draft, index, NULL);
        from.at_stride = element->stride;
        from.at_limit = element->limit;
    }
    op = lowering_insert_ops(lowering, region, *at, 1);
    loaded = draft_load_elements(lowering, draft, &from, 0, NULL, NULL);
    from = (struct mdf_nest_view){.id = lowering_add_like(lowering, MDF_LOWERED_RESULT, like, depth), .at = MDF_NEST_NONE};
    if (op == NULL || from.id == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    draft_store_elements(lowering, draft, loaded, &from, 0, NULL, NULL);
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
    op->of.nest = draft_finish(lowering, draft);
    ++*at;
    return op->of.nest != NULL ? from.id : MDF_LOWERED_NONE;
}

static bool add_state(struct lowering *lowering, struct mdf_lowered_loop *loop, mdf_lowered_id initial, mdf_lowered_id item,
                      mdf_lowered_id *parameter)
{
    size_t depth = lowering->facts[loop->number].depth;
    struct mdf_lowered_state *states = mdf_arena_array(&lowering->lowered->arena, loop->n_states + 1, sizeof *states);
    struct mdf_lowered_op *op = lowering_insert_ops(lowering, &loop->body, loop->body.n_ops, 1);
    mdf_lowered_id next = lowering_add_like(lowering, MDF_LOWERED_RESULT, item, depth);

    *parameter = lowering_add_like(lowering, MDF_LOWERED_PARAMETER, item, depth);
    if (states == NULL || op == NULL || next == MDF_LOWERED_NONE || *parameter == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(states, loop->states, loop->n_states * sizeof *states);
    states[loop->n_states++] = (struct mdf_lowered_state){.initial = initial, .parameter = *parameter, .next = next};
    loop->states = states;
    *op = (struct mdf_lowered_op){
        .code = MDF_LOWERED_COPY, .dtype = lowering->lowered->values[item].form.dtype, .out = next, .n_in = 1, .in = {item}};
    return true;
}

/* ------------------------------------------------------------------ loops */

/* The first run's element is there, whatever the loop's number of runs, or an index says where it is. */
static bool has_first(const struct lowering *lowering, const struct mdf_lowered_state *state, const struct element *element)
{
    const struct mdf_lowered_value *initial = &lowering->lowered->values[state->initial];
    int64_t first = element->place.constant;

    return !initial->is_scalar && initial->open_axes == 0 &&
           (element->place.base != MDF_LOWERED_NONE || (first >= -element->limit && first < element->limit));
}

/* Looks whether op number `i` of the body loads what the run before has put into the state, and takes it from there. */
static bool carry_element(const struct carrying *carrying, struct mdf_lowered_region *region, size_t *at, size_t i,
                          const struct mdf_lowered_state *state)
{
    struct lowering *lowering = carrying->lowering;
    struct mdf_lowered_loop *loop = carrying->loop;
    const struct mdf_lowered_nest *nest = loop->body.ops[i].of.nest;
    mdf_lowered_id item, initial, parameter, out;
    struct element element;

    if (!loads_element(carrying, nest, state->parameter, &element) || !has_first(lowering, state, &element)) {
        return true;
    }
    item = find_carried(carrying, state, &element);
    out = nest->steps[2].view.id;
    if (item == MDF_LOWERED_NONE || lowering->lowered->values[item].form.dtype != lowering->lowered->values[out].form.dtype) {
        return true;
    }
    initial = load_first(lowering, region, at, state->initial, &element, item, lowering->facts[loop->number].depth - 1);
    if (initial == MDF_LOWERED_NONE || !add_state(lowering, loop, initial, item, &parameter)) {
        return !lowering_has_failed(lowering);
    }
    loop->body.ops[i] = (struct mdf_lowered_op){.code = MDF_LOWERED_COPY,
                                                .dtype = lowering->lowered->values[out].form.dtype,
                                                .out = out,
                                                .n_in = 1,
                                                .in = {parameter},
                                                .origin = loop->body.ops[i].origin};
    return true;
}

/* The loop is op number *at of the region, and afterwards. */
static bool carry_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    const struct carrying carrying = {lowering, region->ops[*at].of.loop};
    size_t n_states = carrying.loop->n_states, n_ops = carrying.loop->body.n_ops;

    if (carrying.loop->number == MDF_LOWERED_NONE || carrying.loop->n_lanes > 0) {
        return true;
    }
    for (size_t k = 0; k < n_states; k++) {
        struct mdf_lowered_state state = carrying.loop->states[k];

        for (size_t i = 0; i < n_ops && !lowering->lowered->values[state.parameter].is_scalar; i++) {
            if (carrying.loop->body.ops[i].code == MDF_LOWERED_NEST && !carry_element(&carrying, region, at, i, &state)) {
                return false;
            }
        }
    }
    return true;
}

bool lowering_carry_elements(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, carry_loop);
}
