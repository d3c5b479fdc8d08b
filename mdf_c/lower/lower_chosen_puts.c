/* lower_chosen_puts.c - an If in a loop's body of which a side puts elements into a state that the other one hands on as it is,
 * or puts others into: what is put, and where, is what the If leaves, and it is put behind it. So the state is no array of either
 * side, which would be copied in each run, but is written where it lies. See lowering.h.
 *
 * Of a side with fewer puts the last one is done again, which changes nothing; where it has none, the first element is put where
 * it lies. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

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
    size_t n = 0, i;

    for (i = 0; i < region->n_ops; i++) {
        n += mdf_lowered_reads(&region->ops[i], id);
    }
    return n;
}

static size_t count_equal(const mdf_lowered_id *ids, size_t n, mdf_lowered_id id)
{
    size_t n_equal = 0, i;

    for (i = 0; i < n; i++) {
        n_equal += ids[i] == id;
    }
    return n_equal;
}

/* False: somebody else reads what is put in between, or a row is put. */
static bool find_chain(const struct lowering *lowering, struct mdf_lowered_region *region, const mdf_lowered_id *yields,
                       size_t n_yields, mdf_lowered_id id, struct put_chain *chain)
{
    const struct mdf_lowered_op *put;

    *chain = (struct put_chain){.region = region, .base = id};
    for (; (put = find_put(region->ops, region->n_ops, chain->base)) != NULL; chain->base = put->in[0]) {
        if (chain->n == LOWERING_MOST_CHOSEN_PUTS || put->of.put->n_indices != 1 ||
            lowering->lowered->values[put->in[1]].form.length != 1 || !lowering_casts((mdf_dtype)put->dtype) ||
            count_readers(region, put->out) != (chain->n > 0) || count_equal(yields, n_yields, put->out) != (chain->n == 0)) {
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
    return chain->n == 0 ? NULL : chain->puts[i < chain->n ? chain->n - 1 - i : 0];
}

/* Put number `i` of both sides together. */
static const struct mdf_lowered_op *any_put(const struct put_chain sides[2], size_t i)
{
    return i < sides[0].n ? sides[0].puts[i] : sides[1].puts[i - sides[0].n];
}

/* The form that operand number `k` of all puts has, but for constants, which can be had in any. NULL: there is none. */
static const struct mdf_value *find_form(const struct lowering *lowering, const struct put_chain sides[2], size_t k)
{
    const struct mdf_value *form = NULL;
    bool is_fixed = false;
    size_t i;

    for (i = 0; i < sides[0].n + sides[1].n; i++) {
        mdf_lowered_id id = any_put(sides, i)->in[k];
        const struct mdf_value *own = lowering_example(lowering, id);

        if (lowering_is_constant(lowering, id)) {
            form = form == NULL ? own : form;
        } else if (is_fixed && !lowering_has_same_form(form, own)) {
            return NULL;
        } else {
            form = own;
            is_fixed = true;
        }
    }
    return form;
}

/* Whether all puts differ in nothing but what they put, and where. */
static bool are_alike(const struct lowering *lowering, const struct put_chain sides[2])
{
    const struct mdf_lowered_op *like = any_put(sides, 0);
    size_t i;

    for (i = 1; i < sides[0].n + sides[1].n; i++) {
        const struct mdf_lowered_op *put = any_put(sides, i);

        if (put->dtype != like->dtype || put->of.put->steps[0] != like->of.put->steps[0] ||
            put->of.put->limits[0] != like->of.put->limits[0]) {
            return false;
        }
    }
    return find_form(lowering, sides, 1) != NULL && find_form(lowering, sides, 2) != NULL;
}

/* A constant of that form, with the element at `data`. */
static mdf_lowered_id add_constant(struct lowering *lowering, const struct mdf_value *form, const void *data)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, (mdf_dtype)form->dtype, (enum mdf_strength)form->strength, form->rank,
                            mdf_value_shape(form), data);
    return lowering_add_constant(lowering, &value, false);
}

/* The first element of an array, and where it is, as operands of a put. */
static bool find_first(struct lowering *lowering, mdf_lowered_id array, const struct mdf_value *const forms[],
                       mdf_lowered_id operands[])
{
    static const int64_t zero = 0;
    const struct mdf_nest_view view = {.id = array, .at = MDF_NEST_NONE};
    struct nest_draft *draft = draft_new(lowering);
    mdf_lowered_id first;

    if (draft == NULL) {
        return false;
    }
    first =
        lowering_add_computed_nest(lowering, draft, draft_load_elements(lowering, draft, &view, 0, NULL, NULL), 1, 0, NULL, NULL);
    operands[1] = first == MDF_LOWERED_NONE ? first : lowering_convert(lowering, first, forms[1]);
    operands[2] = add_constant(lowering, forms[2], &zero);
    return operands[1] != MDF_LOWERED_NONE && operands[2] != MDF_LOWERED_NONE;
}

static void remove_puts(const struct put_chain *chain)
{
    size_t n = 0, i;

    for (i = 0; i < chain->region->n_ops; i++) {
        const struct mdf_lowered_op *op = &chain->region->ops[i];
        size_t k;

        for (k = 0; k < chain->n && chain->puts[k] != op; k++) {
        }
        if (k == chain->n) {
            chain->region->ops[n++] = *op;
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
    size_t i;

    if (then == otherwise) {
        return then;
    }
    for (i = 0; i < 2; i++) {
        const struct mdf_value *own = lowering_example(lowering, *sides[i]);

        *sides[i] = lowering_has_same_form(own, form) ? *sides[i] : add_constant(lowering, form, own->data);
    }
    merge.out = lowering_add_merge(lowering, merge.then, merge.otherwise);
    if (merge.out != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = merge;
    }
    return merge.out;
}

static bool choose_operands(struct lowering *lowering, struct mdf_lowered_if *branches, const struct put_chain sides[2],
                            struct chosen_puts *chosen)
{
    const struct mdf_value *forms[3] = {NULL, find_form(lowering, sides, 1), find_form(lowering, sides, 2)};
    mdf_lowered_id first[3] = {0};
    size_t i, k;

    if ((sides[0].n == 0 || sides[1].n == 0) && !find_first(lowering, sides[0].base, forms, first)) {
        return false;
    }
    for (i = 0; i < sides[0].n || i < sides[1].n; i++) {
        const struct mdf_lowered_op *then = put_at(&sides[0], i), *otherwise = put_at(&sides[1], i);

        chosen->puts[i] = *any_put(sides, 0);
        for (k = 1; k < 3; k++) {
            chosen->puts[i].in[k] = choose(lowering, branches, forms[k], then == NULL ? first[k] : then->in[k],
                                           otherwise == NULL ? first[k] : otherwise->in[k]);
            if (chosen->puts[i].in[k] == MDF_LOWERED_NONE) {
                return false;
            }
        }
    }
    chosen->n = i;
    return true;
}

bool lowering_choose_puts(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id *const yields[2],
                          size_t n_yields, size_t yield, struct chosen_puts *chosen)
{
    struct mdf_lowered_region *regions[] = {&branches->then, &branches->otherwise};
    struct put_chain sides[2];
    size_t i;

    *chosen = (struct chosen_puts){.n = 0};
    for (i = 0; i < 2; i++) {
        if (!find_chain(lowering, regions[i], yields[i], n_yields, yields[i][yield], &sides[i])) {
            return true;
        }
    }
    if (sides[0].n + sides[1].n == 0 || sides[0].base != sides[1].base || !leads_to_state(lowering, sides[0].base) ||
        !lowering_has_same_form(lowering_example(lowering, yields[0][yield]), lowering_example(lowering, yields[1][yield])) ||
        !are_alike(lowering, sides)) {
        return true;
    }
    chosen->base = sides[0].base;
    chosen->example = lowering_example(lowering, yields[0][yield]);
    if (!choose_operands(lowering, branches, sides, chosen)) {
        return false;
    }
    remove_puts(&sides[0]);
    remove_puts(&sides[1]);
    return true;
}

mdf_lowered_id lowering_put_chosen(struct lowering *lowering, const struct chosen_puts *chosen)
{
    mdf_lowered_id result = chosen->base;
    size_t i;

    for (i = 0; i < chosen->n && result != MDF_LOWERED_NONE; i++) {
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
