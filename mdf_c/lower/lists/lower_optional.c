/* lower_optional.c - ONNX's optionals: what may not be there. One that is known to be there is what it holds, and one that is
 * known not to be is a constant of no kind, or such an input, so that what asks for it folds. One that is not known is no value
 * of the lowered form, but two: a truth, and an array of one form, which nobody reads where the truth does not hold (zeros, or
 * what was there before). Where somebody looks at it, it is an output with a truth (struct mdf_lowered_output). See lowering.h.
 */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lower/terms.h"

#include "functions/elements/element.h"

#include <string.h>

/* ------------------------------------------------------------------ what may not be there */

bool lowering_is_nothing(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering_example(lowering, id)->kind == MDF_KIND_NONE;
}

static mdf_lowered_id add_nothing(struct lowering *lowering)
{
    static const struct mdf_value nothing = {0};

    return lowering_keep_constant(lowering, &nothing);
}

/* Whether a value may be what an optional holds: an array of numbers, as long as it is here. */
static bool may_be_held(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, id);

    return value->kind == MDF_KIND_TENSOR && value->dtype != MDF_DTYPE_STRING && lowering->facts[id].growth == NULL &&
           !lowering->facts[id].is_open && !lowering_is_either(lowering, id);
}

mdf_lowered_id lowering_add_optional(struct lowering *lowering, mdf_lowered_id is_there, mdf_lowered_id content)
{
    struct mdf_value *example = lowering_keep_value(lowering);
    mdf_lowered_id id;
    struct fact *fact;

    if (is_there == MDF_LOWERED_NONE || content == MDF_LOWERED_NONE || example == NULL) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_term_is(lowering, is_there, true)) {
        return content;
    }
    if (mdf_term_is(lowering, is_there, false)) {
        return add_nothing(lowering);
    }
    if (mdf_value_make_list(lowering->memory, example, 0) == NULL) { /* neither an array nor nothing, to who does not ask */
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    id = lowering_add_placeholder(lowering, example);
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    fact = &lowering->facts[id];
    fact->is_optional = true;
    fact->is_there = is_there;
    fact->content = content;
    fact->depth = lowering->facts[is_there].depth;
    if (lowering->facts[content].depth > fact->depth) {
        fact->depth = lowering->facts[content].depth;
    }
    return id;
}

static mdf_lowered_id meet_part(struct lowering *lowering, const struct mdf_value *example, const struct mdf_value *source)
{
    mdf_lowered_id id = lowering_add_value(lowering, MDF_LOWERED_INPUT, example);

    if (id != MDF_LOWERED_NONE) {
        lowering->lowered->values[id].source = source;
    }
    return id;
}

mdf_lowered_id lowering_meet_optional(struct lowering *lowering, const struct mdf_value *value)
{
    const struct mdf_lowering_request *request = lowering->request;
    const struct mdf_optional *optional =
        request != NULL && request->find_optional != NULL ? request->find_optional(request->context, value) : NULL;
    mdf_lowered_id id;

    if (optional != NULL && optional->is_one) {
        id = meet_part(lowering, &optional->truth, &optional->truth);
        return lowering_add_optional(lowering, id, meet_part(lowering, &optional->content, value));
    }
    if (value->kind != MDF_KIND_NONE || lowering->is_for_source) { /* which has no form of it to compare */
        return MDF_LOWERED_NONE;
    }
    id = lowering_add_placeholder(lowering, value);
    if (id != MDF_LOWERED_NONE) {
        lowering->lowered->values[id].place = MDF_LOWERED_INPUT;
        lowering->lowered->values[id].form = *value;
        lowering->lowered->values[id].form.buffer = NULL; /* which nothing may have kept */
        lowering->lowered->values[id].form.data = NULL;
        lowering->lowered->values[id].source = value;
    }
    return id;
}

mdf_lowered_id lowering_is_there(struct lowering *lowering, mdf_lowered_id id)
{
    return lowering->facts[id].is_optional ? lowering->facts[id].is_there
                                           : mdf_term_truth(lowering, !lowering_is_nothing(lowering, id));
}

mdf_lowered_id lowering_content(const struct lowering *lowering, mdf_lowered_id id, mdf_lowered_id otherwise)
{
    return lowering_is_nothing(lowering, id) ? otherwise : lowering->facts[id].is_optional ? lowering->facts[id].content : id;
}

mdf_lowered_id lowering_zeros_of_either(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    mdf_lowered_id first = lowering_content(lowering, a, b), second = lowering_content(lowering, b, first), id;
    const struct mdf_value *form;
    struct mdf_value zeros = {0};

    first = lowering_content(lowering, first, second);
    if ((first == a && second == b) || lowering_is_nothing(lowering, first) || !may_be_held(lowering, first) ||
        !may_be_held(lowering, second) ||
        !mdf_value_has_form_of(lowering_example(lowering, first), lowering_example(lowering, second))) {
        return MDF_LOWERED_NONE;
    }
    form = lowering_example(lowering, first);
    if (mdf_value_make_tensor(lowering->memory, &zeros, (mdf_dtype)form->dtype, form->rank, mdf_value_shape(form)) == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    memset(mdf_value_writable(lowering->memory, &zeros), 0, zeros.length * mdf_dtype_size((mdf_dtype)zeros.dtype));
    zeros.strength = form->strength;
    id = lowering_add_constant(lowering, &zeros, false);
    mdf_value_clear(lowering->memory, &zeros);
    return id;
}

/* One of two truths, by the condition of the branches. */
static mdf_lowered_id merge_truths(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                   mdf_lowered_id otherwise)
{
    struct mdf_lowered_merge merge;

    if (then == otherwise || then == MDF_LOWERED_NONE || otherwise == MDF_LOWERED_NONE) {
        return otherwise == MDF_LOWERED_NONE ? otherwise : then;
    }
    if (lowering_is_constant(lowering, then) && lowering_is_constant(lowering, otherwise)) {
        return lowering_is_true(lowering, then) == lowering_is_true(lowering, otherwise) ? then
               : lowering_is_true(lowering, then)                                        ? branches->condition
                                                  : mdf_term_not(lowering, branches->condition);
    }
    merge = (struct mdf_lowered_merge){lowering_add_merge(lowering, then, otherwise), then, otherwise};
    if (merge.out != MDF_LOWERED_NONE) {
        branches->merges[branches->n_merges++] = merge;
    }
    return merge.out;
}

mdf_lowered_id lowering_merge_optionals(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                        mdf_lowered_id otherwise)
{
    mdf_lowered_id zeros, is_there, content;

    if (lowering_is_nothing(lowering, then) && lowering_is_nothing(lowering, otherwise)) {
        return add_nothing(lowering);
    }
    if (lowering->is_for_source && lowering->region->depth == 0 && lowering->request->find_optional == NULL) {
        return MDF_LOWERED_NONE; /* the side that is taken stands for both: nodes have no place for such a value */
    }
    zeros = lowering_zeros_of_either(lowering, then, otherwise);
    if (zeros == MDF_LOWERED_NONE) {
        return zeros;
    }
    content =
        lowering_merge(lowering, branches, lowering_content(lowering, then, zeros), lowering_content(lowering, otherwise, zeros));
    if (content == MDF_LOWERED_NONE) {
        return content;
    }
    then = lowering_is_there(lowering, then);
    otherwise = lowering_is_there(lowering, otherwise);
    is_there = merge_truths(lowering, branches, then, otherwise);
    return lowering_add_optional(lowering, is_there, content);
}

/* ------------------------------------------------------------------ calls */

/* Whether a truth is known to hold where the lowering stands: a branch that is taken by it. */
static bool is_known(const struct lowering *lowering, mdf_lowered_id truth)
{
    const struct mdf_lowered_op *maker = lowering_maker(lowering, truth);
    mdf_lowered_id opposite = maker != NULL && maker->code == MDF_LOWERED_NOT ? maker->in[0] : MDF_LOWERED_NONE;
    const struct region *region;

    for (region = lowering->region; region != NULL; region = region->outer) {
        if (region->kind == REGION_BRANCH &&
            (region->holds == truth || (opposite != MDF_LOWERED_NONE && region->fails == opposite))) {
            return true;
        }
        maker =
            region->kind == REGION_BRANCH && region->fails != MDF_LOWERED_NONE ? lowering_maker(lowering, region->fails) : NULL;
        if (maker != NULL && maker->code == MDF_LOWERED_NOT && maker->in[0] == truth) {
            return true;
        }
    }
    return false;
}

/* What is there; where nothing is it bails out. */
static mdf_lowered_id get(struct lowering *lowering, mdf_lowered_id id)
{
    mdf_lowered_id is_there = lowering->facts[id].is_there, content = lowering->facts[id].content;

    return is_known(lowering, is_there) || lowering_bail_out_if(lowering, mdf_term_not(lowering, is_there)) ? content
                                                                                                            : MDF_LOWERED_NONE;
}

bool lowering_optional_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    enum mdf_form form = source->operator->form;
    bool makes = form == MDF_FORM_OPTIONAL || source->operator->element == MDF_ELEMENT(kept);
    mdf_lowered_id id;

    *taken = false;
    if ((form < MDF_FORM_OPTIONAL && !makes) || source->n_inputs != 1 || source->inputs[0] == MDF_NO_OPERAND) {
        return true;
    }
    id = lowering_any_value_of(lowering, scope, source->inputs[0]);
    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    if (form == MDF_FORM_OPTIONAL_HAS) {
        id = lowering_is_there(lowering, id);
    } else if (!lowering->facts[id].is_optional && !(makes && lowering_is_nothing(lowering, id))) {
        return true; /* a call like any other */
    } else if (form == MDF_FORM_OPTIONAL_GET) {
        id = get(lowering, id);
    }
    *taken = id != MDF_LOWERED_NONE;
    return *taken && lowering_bind(lowering, scope, source->outputs[0], id);
}
