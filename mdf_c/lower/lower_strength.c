/* lower_strength.c - values of either strength: what one side of a condition computes as a Python number and the other as an
 * array. A call of such a value is lowered for each strength. Where the ops are the same, they are made once, and what is known
 * of the strength of their results follows; else an IF chooses at run time, and each side has values of one strength. So are
 * values of either type, `x if c else 0`: a real where x is taken, and that whole number else. See lowering.h. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lower/terms.h"

#include <string.h>

enum { MOST_CHOICES = 3, MOST_WAYS = 1 << MOST_CHOICES, MOST_VALUES = 16 };

/* ------------------------------------------------------------------ where two sides meet */

static bool has_form_but_strength(const struct mdf_value *a, const struct mdf_value *b)
{
    struct mdf_value as_strong = *a;

    as_strong.strength = b->strength;
    return a->kind == MDF_KIND_TENSOR && mdf_value_has_form_of(&as_strong, b);
}

bool lowering_is_plain(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct fact *fact = &lowering->facts[id];

    return lowering_is_constant(lowering, id) ||
           (fact->growth == NULL && fact->items == NULL && !fact->is_sequence && fact->room == NULL && !fact->is_optional &&
            !fact->is_open && fact->other.kind == MDF_KIND_NONE);
}

static uint8_t weakest(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering_is_either(lowering, id) ? lowering->facts[id].weaker : lowering_example(lowering, id)->strength;
}

bool lowering_is_either(const struct lowering *lowering, mdf_lowered_id id)
{
    return !lowering_is_constant(lowering, id) && lowering->facts[id].is_either;
}

void lowering_mark_either(struct lowering *lowering, mdf_lowered_id id, uint8_t stronger, uint8_t weaker,
                          mdf_lowered_id is_strong)
{
    struct fact *fact = &lowering->facts[id];

    lowering->n_either++;
    fact->is_either = true;
    fact->is_strong = is_strong;
    fact->weaker = weaker;
    fact->example.strength = stronger;
    lowering->lowered->values[id].form.strength = stronger;
}

/* Whether a value is the stronger of two, as a truth; NONE: it is not known before. */
static mdf_lowered_id strong_term(struct lowering *lowering, mdf_lowered_id id, uint8_t stronger)
{
    return lowering_is_either(lowering, id) ? lowering->facts[id].is_strong
                                            : mdf_term_truth(lowering, lowering_example(lowering, id)->strength == stronger);
}

static mdf_lowered_id add_merge(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                mdf_lowered_id otherwise)
{
    struct mdf_lowered_merge merge = {lowering_add_merge(lowering, then, otherwise), then, otherwise};

    if (merge.out != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = merge;
    }
    return merge.out;
}

/* Whether what is left by the sides is the stronger. */
static mdf_lowered_id merge_terms(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                  mdf_lowered_id otherwise)
{
    struct mdf_value truth;
    mdf_lowered_id id;

    if (then == MDF_LOWERED_NONE || otherwise == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_term_is(lowering, then, true) && mdf_term_is(lowering, otherwise, false)) {
        return branches->condition;
    }
    if (then == otherwise) {
        return then;
    }
    truth = *lowering_example(lowering, then); /* which may be firmer than the other one: nobody asks */
    truth.buffer = NULL;
    id = lowering_add_joined(lowering, &truth);
    if (id != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){id, then, otherwise};
    }
    return id;
}

/* ------------------------------------------------------------------ where two types meet */

static bool is_of_either_type(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering_is_either(lowering, id) && lowering->facts[id].is_of_either_type;
}

/* A scalar constant as another type has it; NONE: it is none, or loses by that, or memory ran out. */
static mdf_lowered_id constant_as(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *as)
{
    const struct mdf_value *constant = lowering_example(lowering, id);
    struct mdf_value there = {0}, back = {0};
    bool is_same = false;

    if (!lowering_is_constant(lowering, id) || constant->kind != MDF_KIND_TENSOR || constant->length != 1 ||
        !lowering_casts((mdf_dtype)constant->dtype) || !lowering_casts((mdf_dtype)as->dtype)) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_value_convert(lowering->memory, &there, constant, (mdf_dtype)as->dtype) &&
        mdf_value_convert(lowering->memory, &back, &there, (mdf_dtype)constant->dtype)) {
        is_same = memcmp(back.data, constant->data, mdf_dtype_size((mdf_dtype)constant->dtype)) == 0;
        there.strength = as->strength;
        id = is_same ? lowering_add_constant(lowering, &there, false) : MDF_LOWERED_NONE;
    } else {
        lowering_out_of_memory(lowering);
    }
    mdf_value_clear(lowering->memory, &there);
    mdf_value_clear(lowering->memory, &back);
    return is_same ? id : MDF_LOWERED_NONE;
}

/* Whether numbers of the first type become such of the second where both are computed with. */
static bool is_wider(mdf_dtype wide, mdf_dtype narrow)
{
    char from = mdf_dtype_kind(narrow), to = mdf_dtype_kind(wide);

    return (to == 'f' && (from == 'i' || from == 'b')) || (to == 'i' && from == 'b');
}

static bool is_scalar(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->length == 1 && value->rank == 0 && lowering_casts((mdf_dtype)value->dtype);
}

/* Whether two sides leave scalars of two types, one of them a constant; or such a value of either type and what it can be. */
static bool may_be_of_either_type(const struct lowering *lowering, mdf_lowered_id then, mdf_lowered_id otherwise)
{
    const struct mdf_value *a = lowering_example(lowering, then), *b = lowering_example(lowering, otherwise);

    return is_scalar(a) && is_scalar(b) && lowering_is_plain(lowering, then) && lowering_is_plain(lowering, otherwise) &&
           (is_of_either_type(lowering, then) || is_of_either_type(lowering, otherwise) ||
            is_wider((mdf_dtype)a->dtype, (mdf_dtype)b->dtype) || is_wider((mdf_dtype)b->dtype, (mdf_dtype)a->dtype));
}

/* What the side is where it is of the narrower type; NONE: it never is. */
static mdf_lowered_id narrow_of(const struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *wide)
{
    if (is_of_either_type(lowering, id)) {
        return lowering->facts[id].narrow;
    }
    return lowering_is_constant(lowering, id) &&
                   is_wider((mdf_dtype)wide->dtype, (mdf_dtype)lowering_example(lowering, id)->dtype)
               ? id
               : MDF_LOWERED_NONE;
}

static bool is_same_number(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_value *left = lowering_example(lowering, a), *right = lowering_example(lowering, b);

    return lowering_is_constant(lowering, a) && lowering_is_constant(lowering, b) && mdf_value_has_form_of(left, right) &&
           memcmp(left->data, right->data, mdf_dtype_size((mdf_dtype)left->dtype)) == 0;
}

/* A number of the form of another, that nobody reads. */
static mdf_lowered_id any_of_form(struct lowering *lowering, const struct mdf_value *form)
{
    static const uint64_t zero = 0;
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, (mdf_dtype)form->dtype, (enum mdf_strength)form->strength, 0, NULL, &zero);
    return lowering_add_constant(lowering, &value, false);
}

/* What the sides are of the narrower type: one constant, by which all can be told of it, or what the side that is taken has.
 * NONE: they have two such types. */
static mdf_lowered_id merge_narrow(struct lowering *lowering, struct mdf_lowered_if *branches, const mdf_lowered_id narrow[2])
{
    mdf_lowered_id either = narrow[0] != MDF_LOWERED_NONE ? narrow[0] : narrow[1], sides[2], id;
    struct mdf_value example;

    if (either == MDF_LOWERED_NONE ||
        (narrow[0] != MDF_LOWERED_NONE && narrow[1] != MDF_LOWERED_NONE ? is_same_number(lowering, narrow[0], narrow[1])
                                                                        : lowering_is_constant(lowering, either))) {
        return either;
    }
    for (size_t i = 0; i < 2; i++) {
        sides[i] = narrow[i] != MDF_LOWERED_NONE ? narrow[i] : any_of_form(lowering, lowering_example(lowering, either));
        if (sides[i] == MDF_LOWERED_NONE ||
            !mdf_value_has_form_of(lowering_example(lowering, sides[i]), lowering_example(lowering, either))) {
            return MDF_LOWERED_NONE;
        }
    }
    example = *lowering_example(lowering, either);
    example.buffer = NULL;
    id = lowering_add_joined(lowering, &example);
    if (id != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){id, sides[0], sides[1]};
    }
    return id;
}

/* A value of either type: the wider side's where it is taken, else the other one's. NONE where it is none of these. */
static mdf_lowered_id merge_types(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                  mdf_lowered_id otherwise)
{
    mdf_lowered_id sides[2] = {then, otherwise}, narrow[2], terms[2], either, id;
    const struct mdf_value *a = lowering_example(lowering, then), *b = lowering_example(lowering, otherwise);
    struct mdf_value wide = is_wider((mdf_dtype)b->dtype, (mdf_dtype)a->dtype) ? *b : *a;

    wide.buffer = NULL;
    for (size_t i = 0; i < 2; i++) {
        bool is_narrow;

        narrow[i] = narrow_of(lowering, sides[i], &wide);
        is_narrow = sides[i] == narrow[i];
        terms[i] =
            is_of_either_type(lowering, sides[i]) ? lowering->facts[sides[i]].is_strong : mdf_term_truth(lowering, !is_narrow);
        sides[i] = is_narrow ? constant_as(lowering, sides[i], &wide) : sides[i];
        if (sides[i] == MDF_LOWERED_NONE || !mdf_value_has_form_of(lowering_example(lowering, sides[i]), &wide) ||
            (!is_of_either_type(lowering, sides[i]) && lowering_is_either(lowering, sides[i]))) {
            return MDF_LOWERED_NONE;
        }
    }
    either = lowering_has_failed(lowering) ? MDF_LOWERED_NONE : merge_narrow(lowering, branches, narrow);
    id = either == MDF_LOWERED_NONE ? MDF_LOWERED_NONE : lowering_add_joined(lowering, &wide);
    if (id != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){id, sides[0], sides[1]};
        lowering_mark_either(lowering, id, wide.strength, lowering_example(lowering, either)->strength,
                             merge_terms(lowering, branches, terms[0], terms[1]));
        lowering->facts[id].is_of_either_type = true;
        lowering->facts[id].narrow = either;
    }
    return lowering_has_failed(lowering) ? MDF_LOWERED_NONE : id;
}

/* Whether a value is nothing but what it is in the examples; a truth is, as no length comes of it. */
static bool is_plain_or_truth(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &lowering->lowered->values[id];

    return lowering_is_plain(lowering, id) || (value->is_scalar && value->form.dtype == MDF_DTYPE_BOOL);
}

mdf_lowered_id lowering_merge(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                              mdf_lowered_id otherwise)
{
    const struct mdf_value *a = lowering_example(lowering, then), *b = lowering_example(lowering, otherwise);
    uint8_t stronger = a->strength > b->strength ? a->strength : b->strength;
    uint8_t weaker =
        weakest(lowering, then) < weakest(lowering, otherwise) ? weakest(lowering, then) : weakest(lowering, otherwise);
    mdf_lowered_id sides[2] = {then, otherwise}, terms[2], id;
    struct mdf_value as_strong;

    if (then == otherwise) {
        return then;
    }
    if (a->kind != MDF_KIND_TENSOR || b->kind != MDF_KIND_TENSOR) {
        id = lowering_merge_rooms(lowering, branches, then, otherwise);
        return id != MDF_LOWERED_NONE || lowering_has_failed(lowering)
                   ? id
                   : lowering_merge_optionals(lowering, branches, then, otherwise);
    }
    if (lowering->facts[then].growth != NULL || lowering->facts[otherwise].growth != NULL) {
        return MDF_LOWERED_NONE; /* a state that grows is nothing that an op makes */
    }
    if (may_be_of_either_type(lowering, then, otherwise)) {
        return merge_types(lowering, branches, then, otherwise);
    }
    if (stronger == weaker) {
        return add_merge(lowering, branches, then, otherwise);
    }
    for (size_t i = 0; i < 2; i++) {
        uint8_t own = lowering_example(lowering, sides[i])->strength, least = weakest(lowering, sides[i]);

        if (!is_plain_or_truth(lowering, sides[i]) || is_of_either_type(lowering, sides[i]) || !has_form_but_strength(a, b) ||
            (own != stronger && own != weaker) || (least != stronger && least != weaker)) {
            return MDF_LOWERED_NONE;
        }
        terms[i] = strong_term(lowering, sides[i], stronger);
    }
    as_strong = *a;
    as_strong.buffer = NULL;
    id = lowering_has_failed(lowering) ? MDF_LOWERED_NONE : lowering_add_joined(lowering, &as_strong);
    if (id != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){id, then, otherwise};
        lowering_mark_either(lowering, id, stronger, weaker, merge_terms(lowering, branches, terms[0], terms[1]));
    }
    return lowering_has_failed(lowering) ? MDF_LOWERED_NONE : id;
}

/* ------------------------------------------------------------------ ways through a call */

/* What an instruction reads that is of either strength: each is as strong as one of the choices says. */
struct choices {
    mdf_lowered_id ids[MOST_VALUES];
    uint8_t choice_of[MOST_VALUES], stronger[MOST_VALUES];
    size_t n_ids, n;
    mdf_lowered_id terms[MOST_CHOICES]; /* NONE: it is not known before */
    bool are_known;
};

/* The result of an instruction on each way: bit `i` of the way's number says whether choice `i` is the stronger. */
struct ways {
    const struct mdf_lowered_op *ops;
    size_t n_ops;
    mdf_lowered_id *outputs; /* n_outputs for each */
    size_t n_outputs;
};

static bool add_choice(struct lowering *lowering, struct choices *choices, mdf_lowered_id id)
{
    mdf_lowered_id term = lowering->facts[id].is_strong;
    size_t choice = 0;

    for (size_t i = 0; i < choices->n_ids; i++) {
        if (choices->ids[i] == id) {
            return true;
        }
    }
    while (choice < choices->n && (term == MDF_LOWERED_NONE || choices->terms[choice] != term)) {
        choice++;
    }
    if (choices->n_ids == MOST_VALUES || choice == MOST_CHOICES) {
        return lowering_fail(lowering, MDF_REFUSED_NOT_ONE_STRENGTH);
    }
    choices->terms[choice] = term;
    choices->are_known = choices->are_known && term != MDF_LOWERED_NONE;
    choices->n = choice == choices->n ? choice + 1 : choices->n;
    choices->ids[choices->n_ids] = id;
    choices->choice_of[choices->n_ids] = (uint8_t)choice;
    choices->stronger[choices->n_ids++] = lowering_example(lowering, id)->strength;
    return true;
}

/* What an operand is, where that can be said. */
static mdf_lowered_id look_at(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    struct mdf_refusal before = lowering->refusal;
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) != MDF_OPERAND_CONSTANT) {
        id = lowering_either_value_of(lowering, scope, operand);
    }
    if (id == MDF_LOWERED_NONE && lowering->refusal.reason != MDF_REFUSED_OUT_OF_MEMORY) {
        lowering->refusal = before; /* the instruction will say it */
    }
    return id;
}

static bool find_choices(struct lowering *lowering, struct scope *scope, const struct lowering_step *step,
                         struct choices *choices)
{
    choices->are_known = true;
    for (size_t i = 0; i < step->n_inputs; i++) {
        mdf_lowered_id id = look_at(lowering, scope, step->inputs[i]);

        if (id != MDF_LOWERED_NONE && lowering_is_either(lowering, id) && !add_choice(lowering, choices, id)) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}

/* As if all values that the instruction reads were of the strength that they have on a way; what is of another type then,
 * take_others puts in their place. */
static void take_way(struct lowering *lowering, const struct choices *choices, size_t way)
{
    for (size_t i = 0; i < choices->n_ids; i++) {
        struct fact *fact = &lowering->facts[choices->ids[i]];

        fact->is_either = false;
        fact->example.strength = (way >> choices->choice_of[i] & 1) != 0 ? choices->stronger[i] : fact->weaker;
    }
}

static void leave_way(struct lowering *lowering, const struct choices *choices)
{
    for (size_t i = 0; i < choices->n_ids; i++) {
        lowering->facts[choices->ids[i]].is_either = true;
        lowering->facts[choices->ids[i]].example.strength = choices->stronger[i];
    }
}

/* ------------------------------------------------------------------ whether ways are the same */

static bool is_same_constant(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_value *left = lowering_example(lowering, a), *right = lowering_example(lowering, b);

    return lowering_is_constant(lowering, a) && lowering_is_constant(lowering, b) && has_form_but_strength(left, right) &&
           left->dtype != MDF_DTYPE_STRING &&
           memcmp(left->data, right->data, left->length * mdf_dtype_size((mdf_dtype)left->dtype)) == 0;
}

/* Whether a constant is what a value of either type is where it is the weaker one, as its own type has it. */
static bool is_weaker_of(const struct lowering *lowering, mdf_lowered_id constant, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, constant), *other;
    struct mdf_value as_wide = {0};
    bool is_same;

    if (lowering_is_constant(lowering, id) || !lowering->facts[id].is_of_either_type ||
        !lowering_is_constant(lowering, constant) || !has_form_but_strength(value, lowering_example(lowering, id))) {
        return false;
    }
    other = lowering_example(lowering, lowering->facts[id].narrow);
    is_same = lowering_is_constant(lowering, lowering->facts[id].narrow) &&
              mdf_value_convert(lowering->memory, &as_wide, other, (mdf_dtype)value->dtype) &&
              memcmp(as_wide.data, value->data, mdf_dtype_size((mdf_dtype)value->dtype)) == 0;
    mdf_value_clear(lowering->memory, &as_wide);
    return is_same;
}

/* Whether operands are the same value, or what the same op of the n before has made. `left` is of the weakest way. */
static bool is_same_value(const struct lowering *lowering, const struct mdf_lowered_op *a, const struct mdf_lowered_op *b,
                          size_t n, mdf_lowered_id left, mdf_lowered_id right)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].out == left || b[i].out == right) {
            return a[i].out == left && b[i].out == right;
        }
    }
    return left == right || (left != MDF_LOWERED_NONE && right != MDF_LOWERED_NONE &&
                             (is_same_constant(lowering, left, right) || is_weaker_of(lowering, left, right)));
}

/* What a code of elements does needs no loop to say it. */
static bool is_same_op(const struct mdf_lowered_op *a, const struct mdf_lowered_op *b)
{
    bool is_of_elements = a->code < MDF_LOWERED_PUT;

    return is_of_elements && a->code == b->code && a->dtype == b->dtype && a->n_in == b->n_in &&
           a->operator== b->operator&& a->settings ==
           b->settings &&(a->code != MDF_LOWERED_ELEMENTS || (a->loop == b->loop && a->loop_settings == b->loop_settings)) &&
           (a->code != MDF_LOWERED_FUNCTION ||
            (a->n_in == 1 ? a->of.function == b->of.function : a->of.function_of_two == b->of.function_of_two));
}

static bool are_same_ops(const struct lowering *lowering, const struct ways *a, const struct ways *b)
{
    for (size_t i = 0; i < a->n_ops && a->n_ops == b->n_ops; i++) {
        if (!is_same_op(&a->ops[i], &b->ops[i]) ||
            !has_form_but_strength(lowering_example(lowering, a->ops[i].out), lowering_example(lowering, b->ops[i].out))) {
            return false;
        }
        for (size_t j = 0; j < a->ops[i].n_in; j++) {
            if (!is_same_value(lowering, a->ops, b->ops, i, a->ops[i].in[j], b->ops[i].in[j])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < a->n_outputs && a->n_ops == b->n_ops; i++) {
        mdf_lowered_id left = a->outputs[i], right = b->outputs[i];

        if (left == MDF_LOWERED_NONE && right == MDF_LOWERED_NONE) {
            continue;
        }
        if (left == MDF_LOWERED_NONE || right == MDF_LOWERED_NONE || !lowering_is_plain(lowering, left) ||
            !lowering_is_plain(lowering, right) || lowering_is_either(lowering, left) || lowering_is_either(lowering, right) ||
            !has_form_but_strength(lowering_example(lowering, left), lowering_example(lowering, right)) ||
            (left != right && lowering_is_constant(lowering, left)) ||
            !is_same_value(lowering, a->ops, b->ops, a->n_ops, left, right)) {
            return false;
        }
    }
    return a->n_ops == b->n_ops;
}

static mdf_lowered_id left_in(const struct scope *scope, mdf_operand output)
{
    const struct binding *binding = output == MDF_NO_OPERAND ? NULL : lowering_find_bound(scope, output);

    return binding == NULL ? MDF_LOWERED_NONE : binding->id;
}

/* In a side in which values are as weak as a way says, those of either type are their constants. */
static bool take_others(struct lowering *lowering, const struct choices *choices, size_t way, struct scope *side,
                        const struct lowering_step *step)
{
    for (size_t i = 0; i < step->n_inputs; i++) {
        const struct binding *binding = step->inputs[i] == MDF_NO_OPERAND ? NULL : lowering_find_bound(side, step->inputs[i]);
        mdf_lowered_id id = binding == NULL ? MDF_LOWERED_NONE : binding->id;

        for (size_t k = 0; k < choices->n_ids && id != MDF_LOWERED_NONE; k++) {
            if (id == choices->ids[k] && lowering->facts[id].is_of_either_type && (way >> choices->choice_of[k] & 1) == 0) {
                if (!lowering_read_as(lowering, side, step->inputs[i], lowering->facts[id].narrow)) {
                    return false;
                }
                break;
            }
        }
    }
    return true;
}

/* Goes one way, of which nothing but what is in `result` is left. False: it can not be gone, or memory ran out. */
static bool try_way(struct lowering *lowering, const struct scope *scope, const struct lowering_step *step,
                    const struct choices *choices, size_t way, struct ways *result)
{
    struct lowering_attempt attempt;
    struct scope side;
    struct region region;
    bool done;

    result->outputs = mdf_arena_array(&lowering->scratch, step->n_outputs + 1, sizeof *result->outputs);
    result->n_outputs = step->n_outputs;
    if (result->outputs == NULL || !lowering_begin_attempt(lowering, &attempt)) {
        return lowering_out_of_memory(lowering);
    }
    lowering_begin_side(lowering, scope, &side, &region);
    done = take_others(lowering, choices, way, &side, step) && step->run(lowering, &side, step);
    result->ops = region.ops;
    result->n_ops = region.n_ops;
    for (size_t i = 0; done && i < step->n_outputs; i++) {
        result->outputs[i] = left_in(&side, step->outputs[i]);
    }
    return lowering_take_back(lowering, &attempt) && done;
}

/* *same: all ways can be gone, by the same ops. False: memory ran out. */
static bool try_ways(struct lowering *lowering, const struct scope *scope, const struct lowering_step *step,
                     const struct choices *choices, struct ways ways[MOST_WAYS], bool *same)
{
    *same = true;
    for (size_t way = 0; way < (size_t)1 << choices->n && *same; way++) {
        take_way(lowering, choices, way);
        *same = try_way(lowering, scope, step, choices, way, &ways[way]);
        leave_way(lowering, choices);
        *same = *same && are_same_ops(lowering, &ways[0], &ways[way]);
    }
    return !lowering_has_failed(lowering);
}

/* ------------------------------------------------------------------ one way for all */

/* Whether a result is the stronger, by the choices from number `n` - 1 down that are not made yet; NONE with *is_known false
 * where that hangs on what is not known before. */
static mdf_lowered_id result_term(struct lowering *lowering, const struct choices *choices, const bool *is_strong, size_t n,
                                  size_t way, bool *is_known)
{
    mdf_lowered_id yes, no, term;
    bool differs = false;

    for (size_t i = 0; i < (size_t)1 << n; i++) {
        differs = differs || is_strong[way + i] != is_strong[way];
    }
    if (!differs) {
        return mdf_term_truth(lowering, is_strong[way]);
    }
    term = choices->terms[n - 1];
    yes = result_term(lowering, choices, is_strong, n - 1, way + ((size_t)1 << (n - 1)), is_known);
    no = result_term(lowering, choices, is_strong, n - 1, way, is_known);
    if (term == MDF_LOWERED_NONE || !*is_known) {
        *is_known = false;
        return MDF_LOWERED_NONE;
    }
    return mdf_term_or(lowering, mdf_term_and(lowering, term, yes), mdf_term_and(lowering, mdf_term_not(lowering, term), no));
}

/* What is known of the strength of a result. */
static bool mark_result(struct lowering *lowering, const struct choices *choices, const struct ways *ways, size_t output,
                        mdf_lowered_id id)
{
    size_t n = (size_t)1 << choices->n, way;
    uint8_t low = UINT8_MAX, high = 0;
    bool is_strong[MOST_WAYS], is_known = true;
    mdf_lowered_id term;

    for (way = 0; way < n; way++) {
        uint8_t strength = lowering_example(lowering, ways[way].outputs[output])->strength;

        low = strength < low ? strength : low;
        high = strength > high ? strength : high;
    }
    if (low == high) {
        return true;
    }
    for (way = 0; way < n; way++) {
        uint8_t strength = lowering_example(lowering, ways[way].outputs[output])->strength;

        is_strong[way] = strength == high;
        if (strength != low && strength != high) {
            return lowering_fail(lowering, MDF_REFUSED_NOT_ONE_STRENGTH);
        }
    }
    term = result_term(lowering, choices, is_strong, choices->n, 0, &is_known);
    if (!lowering_has_failed(lowering) && !lowering_is_constant(lowering, id)) {
        lowering_mark_either(lowering, id, high, low, term);
    }
    return !lowering_has_failed(lowering);
}

/* A result is marked, which has to be a value of its own: what it was read from keeps its own strength. */
static bool take_one_way(struct lowering *lowering, struct scope *scope, const struct lowering_step *step,
                         const struct choices *choices, const struct ways *ways)
{
    bool done;

    take_way(lowering, choices, ((size_t)1 << choices->n) - 1);
    done = step->run(lowering, scope, step);
    leave_way(lowering, choices);
    for (size_t i = 0; done && i < step->n_outputs; i++) {
        mdf_lowered_id id = ways[0].outputs[i] == MDF_LOWERED_NONE ? MDF_LOWERED_NONE : left_in(scope, step->outputs[i]);
        bool is_new = id != MDF_LOWERED_NONE;

        for (size_t k = 0; k < choices->n_ids; k++) {
            is_new = is_new && choices->ids[k] != id;
        }
        done = !is_new || mark_result(lowering, choices, ways, i, id);
    }
    return done;
}

/* ------------------------------------------------------------------ a way for each strength */

/* In a side, what the first choice is about is of one strength. */
static bool settle(struct lowering *lowering, struct scope *side, const struct lowering_step *step, const struct choices *choices,
                   bool is_strong)
{
    for (size_t i = 0; i < step->n_inputs; i++) {
        mdf_lowered_id id = look_at(lowering, side, step->inputs[i]), copy;

        if (id == MDF_LOWERED_NONE || !lowering_is_either(lowering, id) || lowering->facts[id].is_strong != choices->terms[0]) {
            continue;
        }
        copy =
            !is_strong && lowering->facts[id].is_of_either_type
                ? lowering->facts[id].narrow
                : lowering_copy(lowering, id, is_strong ? lowering_example(lowering, id)->strength : lowering->facts[id].weaker);
        if (copy == MDF_LOWERED_NONE || !lowering_read_as(lowering, side, step->inputs[i], copy)) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}

static bool run_side(struct lowering *lowering, struct scope *scope, struct scope *side, const struct lowering_step *step,
                     const struct choices *choices, bool is_strong, struct mdf_lowered_region *result)
{
    struct region region;

    lowering_begin_side(lowering, scope, side, &region);
    return settle(lowering, side, step, choices, is_strong) && lowering_by_strength(lowering, side, step) &&
           lowering_end_region(lowering, result);
}

static bool take_each_way(struct lowering *lowering, struct scope *scope, const struct lowering_step *step,
                          const struct choices *choices)
{
    struct mdf_lowered_if *branches = mdf_arena_allocate(&lowering->lowered->arena, sizeof *branches);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};
    struct scope then, otherwise;

    if (branches == NULL) {
        return lowering_out_of_memory(lowering);
    }
    branches->condition = choices->terms[0];
    return run_side(lowering, scope, &then, step, choices, true, &branches->then) &&
           run_side(lowering, scope, &otherwise, step, choices, false, &branches->otherwise) &&
           lowering_merge_sides(lowering, scope, &then, &otherwise, branches) && lowering_add_op(lowering, lowering->region, &op);
}

bool lowering_by_strength(struct lowering *lowering, struct scope *scope, const struct lowering_step *step)
{
    struct choices choices = {0};
    struct ways ways[MOST_WAYS] = {{0}};
    bool same, may_meet = lowering->request != NULL && lowering->request->find_either != NULL;

    if (lowering->n_either == 0 && !may_meet) {
        return step->run(lowering, scope, step);
    }
    if (!find_choices(lowering, scope, step, &choices)) {
        return false;
    }
    if (choices.n == 0) {
        return step->run(lowering, scope, step);
    }
    if (!try_ways(lowering, scope, step, &choices, ways, &same)) {
        return false;
    }
    if (same) {
        return take_one_way(lowering, scope, step, &choices, ways);
    }
    return choices.are_known ? take_each_way(lowering, scope, step, &choices)
                             : lowering_fail(lowering, MDF_REFUSED_NOT_ONE_STRENGTH);
}
