/* lower_chosen_puts.c - conditions on what is put into a state.
 *
 * An If in a loop's body of which a side puts elements into a state that the other one hands on as it is, at places that hang on
 * neither side: what is put, or what lies there, is what the If leaves, and it is put behind it, so that lanes which differ in
 * what the condition says put elements at one place. Where(condition, ScatterElements(state, ...), state) is the same. See
 * lowering.h. Other branches put where the state lies (loop_plan.h). */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit.h"

#include <string.h>

/* The puts of a side that lead from `base` to what it yields, the last one first. */
struct put_chain {
    struct mdf_lowered_region *region;
    const struct mdf_lowered_op *puts[LOWERING_MOST_CHOSEN_PUTS];
    size_t n;
    mdf_lowered_id base;
};

static const struct mdf_lowered_op *find_put(const struct mdf_lowered_op *ops, size_t n_ops, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < n_ops && (ops[i].code != MDF_LOWERED_PUT || ops[i].out != id); i++) {
    }
    return i < n_ops ? &ops[i] : NULL;
}

static size_t count_readers(const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        n += mdf_lowered_reads(&region->ops[i], id);
    }
    return n;
}

static size_t count_equal(const mdf_lowered_id *ids, size_t n, mdf_lowered_id id)
{
    size_t n_equal = 0;

    for (size_t i = 0; i < n; i++) {
        n_equal += ids[i] == id;
    }
    return n_equal;
}

/* Whether a nest can say what lies where an element is put. */
static bool is_readable(const struct lowering *lowering, const struct mdf_lowered_op *put)
{
    return lowering->is_for_source ||
           (mdf_machine_has_vectors((mdf_dtype)put->dtype) && mdf_machine_has_vectors(MDF_DTYPE_INT64));
}

/* From `start` on, if they lead there. False: somebody else reads what is put in between, or last, which `n_readers` ops of the
 * region do, and else is one of what it yields; or a row is put. */
static bool find_chain_within(const struct lowering *lowering, struct mdf_lowered_region *region, const mdf_lowered_id *yields,
                              size_t n_yields, mdf_lowered_id id, mdf_lowered_id start, size_t n_readers, struct put_chain *chain)
{
    const struct mdf_lowered_op *put;

    *chain = (struct put_chain){.region = region, .base = id};
    for (; chain->base != start && (put = find_put(region->ops, region->n_ops, chain->base)) != NULL; chain->base = put->in[0]) {
        if (chain->n == LOWERING_MOST_CHOSEN_PUTS || put->of.put->n_indices != 1 ||
            lowering->lowered->values[put->in[1]].form.length != 1 || !lowering_casts((mdf_dtype)put->dtype) ||
            !is_readable(lowering, put) || count_readers(region, put->out) != (chain->n > 0 ? 1 : n_readers) ||
            count_equal(yields, n_yields, put->out) != (chain->n > 0 ? 0 : 1 - n_readers)) {
            return false;
        }
        chain->puts[chain->n++] = put;
    }
    return true;
}

/* Whether a value is a state of the loop around, or what has been put into it in this run. */
static bool leads_to_state(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct region *region;

    for (region = lowering->region; region != NULL; region = region->outer) {
        const struct mdf_lowered_op *put;

        while ((put = find_put(region->ops, region->n_ops, id)) != NULL) {
            id = put->in[0];
        }
        if (region->kind == REGION_BODY) {
            return lowering->lowered->values[id].place == MDF_LOWERED_PARAMETER && lowering->facts[id].depth == region->depth &&
                   !lowering->lowered->values[id].is_scalar && !lowering->facts[id].is_open && lowering->facts[id].growth == NULL;
        }
    }
    return false;
}

/* Put number `i` of a side, in order. */
static const struct mdf_lowered_op *put_at(const struct put_chain *chain, size_t i)
{
    return chain->puts[chain->n - 1 - i];
}

/* The form of what all puts of a side put, but for constants, which can be had in any. NULL: there is none. */
static const struct mdf_value *find_form(const struct lowering *lowering, const struct put_chain *side)
{
    const struct mdf_value *form = NULL;
    bool is_fixed = false;

    for (size_t i = 0; i < side->n; i++) {
        mdf_lowered_id id = side->puts[i]->in[1];
        const struct mdf_value *own = lowering_example(lowering, id);

        if (lowering_is_constant(lowering, id)) {
            form = form == NULL ? own : form;
        } else if (is_fixed && !mdf_value_has_form_of(form, own)) {
            return NULL;
        } else {
            form = own;
            is_fixed = true;
        }
    }
    return form;
}

/* A constant of that form, with the element at `data`. */
static mdf_lowered_id add_constant(struct lowering *lowering, const struct mdf_value *form, const void *data)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, (mdf_dtype)form->dtype, (enum mdf_strength)form->strength, form->rank,
                            mdf_value_shape(form), data);
    return lowering_add_constant(lowering, &value, false);
}

static bool is_of_chain(const struct put_chain *chain, const struct mdf_lowered_op *op)
{
    size_t i;

    for (i = 0; i < chain->n && chain->puts[i] != op; i++) {
    }
    return i < chain->n;
}

static void remove_puts(const struct put_chain *chain)
{
    size_t n = 0;

    for (size_t i = 0; i < chain->region->n_ops; i++) {
        if (!is_of_chain(chain, &chain->region->ops[i])) {
            chain->region->ops[n++] = chain->region->ops[i];
        }
    }
    chain->region->n_ops = n;
}

/* An operand of that form: that of the one side or the other. */
static mdf_lowered_id choose(struct lowering *lowering, struct mdf_lowered_if *branches, const struct mdf_value *form,
                             mdf_lowered_id then, mdf_lowered_id otherwise)
{
    struct mdf_lowered_merge merge = {.then = then, .otherwise = otherwise};
    mdf_lowered_id *sides[] = {&merge.then, &merge.otherwise};

    if (then == otherwise) {
        return then;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct mdf_value *own = lowering_example(lowering, *sides[i]);

        *sides[i] = mdf_value_has_form_of(own, form) ? *sides[i] : add_constant(lowering, form, own->data);
    }
    merge.out = lowering_add_merge(lowering, merge.then, merge.otherwise);
    if (merge.out != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = merge;
    }
    return merge.out;
}

static const uint8_t no_axes[MDF_INLINE_RANK] = {DRAFT_NO_AXIS, DRAFT_NO_AXIS, DRAFT_NO_AXIS, DRAFT_NO_AXIS,
                                                 DRAFT_NO_AXIS, DRAFT_NO_AXIS, DRAFT_NO_AXIS, DRAFT_NO_AXIS};

/* Whether an op does nothing but load the element of `array` that a put puts. */
static bool loads_element(const struct mdf_lowered_op *op, mdf_lowered_id array, const struct mdf_lowered_op *put)
{
    const struct mdf_nest_step *steps = op->code == MDF_LOWERED_NEST ? op->of.nest->steps : NULL;

    return steps != NULL && op->of.nest->n_axes == 0 && op->of.nest->n_steps == 3 && steps[0].kind == MDF_NEST_LOAD &&
           steps[0].view.id == put->in[2] && steps[0].view.first == 0 && steps[0].view.at == MDF_NEST_NONE &&
           steps[1].kind == MDF_NEST_LOAD && steps[1].view.id == array && steps[1].view.first == 0 && steps[1].view.at == 0 &&
           steps[1].view.cuts == 0 && steps[1].view.at_stride == put->of.put->steps[0] &&
           steps[1].view.at_limit == put->of.put->limits[0] && steps[2].kind == MDF_NEST_STORE && steps[2].in[0] == 1;
}

/* The element that a put puts, as it is before. */
static mdf_lowered_id find_old(struct lowering *lowering, mdf_lowered_id array, const struct mdf_lowered_op *put)
{
    struct mdf_nest_view view = {.id = array, .at_stride = put->of.put->steps[0], .at_limit = put->of.put->limits[0]};
    struct nest_draft *draft;

    for (size_t i = lowering->region->n_ops; i-- > 0;) {
        const struct mdf_lowered_op *op = &lowering->region->ops[i];

        if (loads_element(op, array, put) && lowering->lowered->values[op->of.nest->steps[2].view.id].is_scalar) {
            return op->of.nest->steps[2].view.id;
        }
    }
    draft = draft_new(lowering);
    if (draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    view.at = draft_load(lowering, draft, put->in[2], no_axes);
    return lowering_add_computed_nest(lowering, draft, draft_load_elements(lowering, draft, &view, 0, NULL, NULL), 1, 0, NULL,
                                      NULL);
}

/* Whether a put's place is the same whatever side is taken, and in the array. */
static bool has_fixed_place(const struct lowering *lowering, const struct put_chain *chain, const struct mdf_lowered_op *put)
{
    struct lowering_range range;

    for (size_t i = 0; i < chain->region->n_ops; i++) {
        if (chain->region->ops[i].out == put->in[2]) {
            return false; /* the side makes it */
        }
    }
    return lowering_find_range(lowering, put->in[2], &range) && range.low >= 0 && range.high < put->of.put->limits[0];
}

/* Whether all puts of a side are of such places, and of one form. */
static bool has_fixed_places(const struct lowering *lowering, const struct put_chain *side)
{
    size_t i;

    for (i = 0; i < side->n && has_fixed_place(lowering, side, side->puts[i]); i++) {
    }
    return i == side->n && find_form(lowering, side) != NULL;
}

/* The puts of a side; what the other side puts lies there. */
static bool choose_elements(struct lowering *lowering, struct mdf_lowered_if *branches, const struct put_chain *side,
                            bool is_then, struct chosen_puts *chosen)
{
    const struct mdf_value *form = find_form(lowering, side);

    for (size_t i = 0; i < side->n; i++) {
        const struct mdf_lowered_op *put = put_at(side, i);
        mdf_lowered_id old = find_old(lowering, side->base, put);

        old = old == MDF_LOWERED_NONE ? old : lowering_convert(lowering, old, form);
        chosen->puts[i] = *put;
        chosen->puts[i].in[1] = old == MDF_LOWERED_NONE
                                    ? old
                                    : choose(lowering, branches, form, is_then ? put->in[1] : old, is_then ? old : put->in[1]);
        if (chosen->puts[i].in[1] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    chosen->n = side->n;
    return true;
}

bool lowering_choose_puts(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id *const yields[2],
                          size_t n_yields, size_t yield, struct chosen_puts *chosen)
{
    struct mdf_lowered_region *regions[] = {&branches->then, &branches->otherwise};
    struct put_chain sides[2], *side;

    *chosen = (struct chosen_puts){.n = 0};
    for (size_t i = 0; i < 2; i++) {
        if (!find_chain_within(lowering, regions[i], yields[i], n_yields, yields[i][yield], MDF_LOWERED_NONE, 0, &sides[i])) {
            return true;
        }
    }
    side = &sides[sides[0].n == 0];
    if ((sides[0].n == 0) == (sides[1].n == 0) || sides[0].base != sides[1].base || !leads_to_state(lowering, side->base) ||
        !mdf_value_has_form_of(lowering_example(lowering, yields[0][yield]), lowering_example(lowering, yields[1][yield])) ||
        !has_fixed_places(lowering, side)) {
        return true;
    }
    chosen->base = side->base;
    chosen->example = lowering_example(lowering, yields[0][yield]);
    if (!choose_elements(lowering, branches, side, side == sides, chosen)) {
        return false;
    }
    remove_puts(side);
    return true;
}

mdf_lowered_id lowering_put_chosen(struct lowering *lowering, const struct chosen_puts *chosen)
{
    mdf_lowered_id result = chosen->base;

    for (size_t i = 0; i < chosen->n && result != MDF_LOWERED_NONE; i++) {
        struct mdf_lowered_op put = chosen->puts[i];

        put.of.put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *put.of.put);
        if (put.of.put == NULL) {
            lowering_out_of_memory(lowering);
            return MDF_LOWERED_NONE;
        }
        *put.of.put = *chosen->puts[i].of.put;
        put.in[0] = result;
        result = lowering_add_element_op(lowering, put, chosen->example);
    }
    return result;
}

/* ------------------------------------------------------------------ Where */

/* The other one of what a choice of a whole array chooses from: `puts` lead to it, or it is a state; false: it is no such choice.
 */
static bool find_choice(const struct lowering *lowering, const struct region *region, const struct mdf_lowered_op *op,
                        const mdf_lowered_id *yields, size_t n_yields, struct put_chain *chain)
{
    struct mdf_lowered_region ops = {region->ops, region->n_ops};

    if (op->code != MDF_LOWERED_SELECT || lowering->lowered->values[op->out].is_scalar ||
        !lowering->lowered->values[op->in[0]].is_scalar) {
        return false;
    }
    for (size_t i = 1; i < 3; i++) {
        if (find_put(ops.ops, ops.n_ops, op->in[i]) != NULL &&
            find_chain_within(lowering, &ops, yields, n_yields, op->in[i], op->in[3 - i], 1, chain) && chain->n > 0 &&
            chain->base == op->in[3 - i] && leads_to_state(lowering, chain->base)) {
            return true;
        }
    }
    return false;
}

/* The number of the first choice in the region; that of its ops: there is none. */
static size_t find_first_choice(const struct lowering *lowering, const struct region *region, const mdf_lowered_id *yields,
                                size_t n_yields, struct put_chain *chain)
{
    size_t at;

    for (at = 0; at < region->n_ops && !find_choice(lowering, region, &region->ops[at], yields, n_yields, chain); at++) {
    }
    return at;
}

/* What a put puts where the condition holds (`is_then`, or where it does not), else what lies there. */
static mdf_lowered_id choose_element(struct lowering *lowering, const struct mdf_lowered_op *put, mdf_lowered_id array,
                                     mdf_lowered_id condition, bool is_then)
{
    mdf_lowered_id old = find_old(lowering, array, put), next = put->in[1];
    struct mdf_lowered_op select = {.code = MDF_LOWERED_SELECT,
                                    .dtype = put->dtype,
                                    .n_in = 3,
                                    .in = {condition, is_then ? next : old, is_then ? old : next}};

    return old == MDF_LOWERED_NONE ? old : lowering_add_element_op(lowering, select, lowering_example(lowering, next));
}

/* The puts of a choice, and in its place the last one of them. Where nothing is put, all of them put what lay there before. */
static bool put_choice(struct lowering *lowering, const struct mdf_lowered_op *choice, const struct put_chain *chain)
{
    mdf_lowered_id array = chain->base, elements[LOWERING_MOST_CHOSEN_PUTS];

    for (size_t i = 0; i < chain->n; i++) {
        elements[i] = choose_element(lowering, put_at(chain, i), array, choice->in[0], choice->in[1] != chain->base);
        if (elements[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    for (size_t i = 0; i < chain->n; i++) {
        struct mdf_lowered_op put = *put_at(chain, i);

        put.in[0] = array;
        put.in[1] = elements[i];
        put.out = i + 1 == chain->n ? choice->out : put.out;
        array = put.out;
        if (!lowering_add_op(lowering, lowering->region, &put)) {
            return false;
        }
    }
    lowering->facts[array].is_copied = true; /* where it does not lie in the state */
    return true;
}

/* Whether a value is the constant 0, 1, 2, ... */
static bool is_count(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, id);
    int64_t i = 0;

    if (!lowering_is_constant(lowering, id) || value->dtype != MDF_DTYPE_INT64 || value->rank != 1) {
        return false;
    }
    while (i < (int64_t)value->length && ((const int64_t *)value->data)[i] == i) {
        i++;
    }
    return i == (int64_t)value->length;
}

/* The number that an array of truths says the place of, one of its own; NONE: it is another array. */
static mdf_lowered_id find_place(const struct lowering *lowering, const struct region *region, mdf_lowered_id truths)
{
    const int64_t length = (int64_t)lowering_example(lowering, truths)->length;
    struct lowering_range range;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        for (size_t k = 0; op->code == MDF_LOWERED_EQUAL && op->out == truths && k < 2; k++) {
            if (is_count(lowering, op->in[k]) && lowering->lowered->values[op->in[1 - k]].is_scalar &&
                op->dtype == MDF_DTYPE_INT64 && lowering_find_range(lowering, op->in[1 - k], &range) && range.low >= 0 &&
                range.high < length) {
                return op->in[1 - k];
            }
        }
    }
    return MDF_LOWERED_NONE;
}

/* Where(count == number, element, state) puts the element at the number. */
static bool put_at_place(struct lowering *lowering, const struct region *region, struct mdf_lowered_op *op)
{
    const struct mdf_value *state = op->code == MDF_LOWERED_SELECT ? lowering_example(lowering, op->in[2]) : NULL;
    struct mdf_lowered_put *put;
    mdf_lowered_id place;

    if (state == NULL || lowering->lowered->values[op->in[0]].is_scalar || state->rank != 1 ||
        !lowering->lowered->values[op->in[1]].is_scalar || !leads_to_state(lowering, op->in[2])) {
        return true;
    }
    place = find_place(lowering, region, op->in[0]);
    if (place == MDF_LOWERED_NONE) {
        return true;
    }
    put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *put);
    if (put == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *put = (struct mdf_lowered_put){.n_indices = 1, .steps = {1}, .limits = {(int64_t)state->length}};
    op->code = MDF_LOWERED_PUT;
    op->loop = NULL;
    op->loop_settings = NULL;
    op->of.put = put;
    op->in[0] = op->in[2];
    op->in[2] = place;
    lowering->facts[op->out].is_copied = true;
    return true;
}

/* Writes the region anew, with puts in the place of the choice that is op number `at`. */
static bool replace_choice(struct lowering *lowering, size_t at, struct put_chain *chain)
{
    struct region *region = lowering->region;
    size_t n_ops = region->n_ops;
    struct mdf_lowered_op *ops = mdf_arena_array(&lowering->scratch, n_ops, sizeof *ops);

    if (ops == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(ops, region->ops, n_ops * sizeof *ops);
    for (size_t i = 0; i < chain->n; i++) {
        chain->puts[i] = &ops[chain->puts[i] - region->ops];
    }
    region->n_ops = 0;
    for (size_t i = 0; i < n_ops; i++) {
        if (i == at ? !put_choice(lowering, &ops[i], chain)
                    : !is_of_chain(chain, &ops[i]) && !lowering_add_op(lowering, region, &ops[i])) {
            return false;
        }
    }
    return true;
}

bool lowering_put_choices(struct lowering *lowering, const mdf_lowered_id *yields, size_t n_yields)
{
    struct region *region = lowering->region;
    struct put_chain chain;
    size_t at;

    for (at = 0; at < region->n_ops; at++) {
        if (!put_at_place(lowering, region, &region->ops[at])) {
            return false;
        }
    }
    while ((at = find_first_choice(lowering, region, yields, n_yields, &chain)) < region->n_ops) {
        if (!replace_choice(lowering, at, &chain)) {
            return false;
        }
    }
    return true;
}
