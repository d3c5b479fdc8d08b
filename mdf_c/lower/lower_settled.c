/* lower_settled.c - inputs that say what shape a result has, where they are not known before, and others that a call has no form
 * without: for C source, whose shapes are those of the examples, they stay what they are there. Where they become others it bails
 * out. What has no elements is a constant. See lowering.h. */
#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "functions/kernel/routine.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"

enum { LONGEST_SHAPE = 64 };

/* Whether input `i` says what shape the result has, or along which axes it is made. */
static bool says_shape(const struct trial *trial, size_t i)
{
    const struct mdf_operator *operator= trial->source->operator;
    const struct mdf_move *move = operator->move;
    const struct mdf_value *value = trial->effective[i];
    bool is_short = value != NULL && value->kind == MDF_KIND_TENSOR && value->rank <= 1 && value->length > 0 &&
                    value->length <= LONGEST_SHAPE && lowering_casts((mdf_dtype)value->dtype) && value->dtype != MDF_DTYPE_BOOL;
    bool is_list = is_short && mdf_dtype_kind((mdf_dtype)value->dtype) == 'i';
    bool is_moved = move != NULL && (i < mdf_move_data(move, trial->n) || (move->fills > 0 && i == move->fills));
    bool moves_by_shape = move != NULL && !is_moved && !mdf_counts_by_form(operator, i) && (move->in_order || move->shapes);
    bool is_axis = i > 0 && (operator->fold != NULL ||(operator->routine != NULL && operator->routine->by_axis));

    return (is_list && (operator->form == MDF_FORM_FILL || moves_by_shape || is_axis)) ||
           (is_short && (operator->form == MDF_FORM_OF_NUMBERS ||(operator->form == MDF_FORM_ONE_HOT && i == 1)));
}

/* Whether an input has no elements, and never will. */
static bool is_empty(const struct lowering *lowering, const struct trial *trial, size_t i)
{
    return trial->effective[i]->kind == MDF_KIND_TENSOR && trial->effective[i]->length == 0 &&
           !lowering->facts[trial->ids[i]].is_open;
}

/* Bails out where a value is not `same`, a constant. */
static bool bail_out_unless_same(struct lowering *lowering, mdf_lowered_id id, mdf_lowered_id same, size_t n)
{
    struct nest_draft *draft = draft_new(lowering);
    uint8_t axis, differs;
    mdf_lowered_id any;

    if (draft == NULL) {
        return false;
    }
    axis = draft_axis(draft, (int64_t)n);
    differs = draft_apply(lowering, draft, MDF_ELEMENT(not_equal),
                          (const uint8_t[]){draft_load(lowering, draft, id, &axis), draft_load(lowering, draft, same, &axis)});
    differs = draft_cast(draft, differs, MDF_DTYPE_INT64);
    differs = axis != DRAFT_NO_AXIS ? draft_fold(draft, MDF_NEST_MAXIMUM, differs, 1, &axis, 1) : differs;
    any = lowering_add_computed_nest(lowering, draft, differs, 1, 0, NULL, NULL);
    return any != MDF_LOWERED_NONE && lowering_bail_out_if(lowering, lowering_truth(lowering, any));
}

/* From here on, input `i` is what it is. False: it failed. */
static bool settle(struct lowering *lowering, struct trial *trial, size_t i)
{
    mdf_lowered_id same = lowering_keep_constant(lowering, trial->effective[i]);

    if (same == MDF_LOWERED_NONE ||
        (!is_empty(lowering, trial, i) && !bail_out_unless_same(lowering, trial->ids[i], same, trial->effective[i]->length))) {
        return false;
    }
    trial->ids[i] = same;
    return true;
}

static bool is_varying(const struct lowering *lowering, const struct trial *trial, size_t i)
{
    return trial->ids[i] != MDF_LOWERED_NONE && !lowering_is_constant(lowering, trial->ids[i]);
}

bool lowering_settle_shapes(struct lowering *lowering, struct trial *trial)
{
    for (size_t i = 0; lowering->is_for_source && i < trial->n; i++) {
        if (is_varying(lowering, trial, i) && (is_empty(lowering, trial, i) || says_shape(trial, i)) &&
            !settle(lowering, trial, i)) {
            return !lowering_has_failed(lowering);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what has no form otherwise */

/* Whether an input is a few numbers, of which no example shows that they change from run to run. */
static bool may_stay(const struct lowering *lowering, const struct trial *trial, size_t i)
{
    const struct mdf_value *value = trial->effective[i], *other = trial->others[i];

    return is_varying(lowering, trial, i) && value->kind == MDF_KIND_TENSOR && value->rank <= 1 && value->length > 0 &&
           value->length <= LONGEST_SHAPE && lowering_casts((mdf_dtype)value->dtype) && value->dtype != MDF_DTYPE_BOOL &&
           !lowering->facts[trial->ids[i]].is_open &&
           (other == NULL || (mdf_value_has_form_of(value, other) &&
                              mdf_elements_same((mdf_dtype)value->dtype, value->data, other->data, value->length)));
}

/* Whether the function of a call can be told where only constants, and what stays, have elements. */
static bool is_planned(struct lowering *lowering, const struct trial *trial, const bool *stays)
{
    struct mdf_routine_plan plan = {.arena = &lowering->scratch};
    struct mdf_arena *arena = &lowering->scratch;
    struct mdf_value *values = mdf_arena_array(arena, trial->n + trial->source->n_outputs, sizeof *values);
    const struct mdf_value **inputs = mdf_arena_array(arena, trial->n, sizeof *inputs);
    bool *constants = mdf_arena_array(arena, trial->n, sizeof *constants);
    struct mdf_call form = trial->call;
    struct mdf_error kept = form.context->error;
    bool done;

    if (values == NULL || inputs == NULL || constants == NULL) {
        lowering_out_of_memory(lowering);
        return false;
    }
    for (size_t i = 0; i < trial->n; i++) {
        values[i] = trial->effective[i] != NULL ? *trial->effective[i] : values[i];
        constants[i] = !is_varying(lowering, trial, i) || stays[i];
        values[i].data = constants[i] ? values[i].data : NULL;
        inputs[i] = trial->ids[i] != MDF_LOWERED_NONE ? &values[i] : NULL;
    }
    form.inputs = inputs;
    form.constants = constants;
    form.context->error = (struct mdf_error){0};
    done = trial->source->operator->routine->plan(&form, &plan);
    form.context->error = kept;
    return arena->has_refused ? lowering_out_of_memory(lowering) : done;
}

/* The numbers that the function of a call has to know, as few as there are. */
static bool settle_numbers(struct lowering *lowering, struct trial *trial)
{
    bool *stays = mdf_arena_array(&lowering->scratch, trial->n, sizeof *stays);

    for (size_t i = 1; stays != NULL && i < trial->n && !is_planned(lowering, trial, stays); i++) {
        stays[i] = may_stay(lowering, trial, i);
    }
    if (stays == NULL || !is_planned(lowering, trial, stays)) {
        return stays != NULL || lowering_out_of_memory(lowering);
    }
    for (size_t i = 1; i < trial->n; i++) {
        if (stays[i] && !settle(lowering, trial, i)) {
            return false;
        }
    }
    return true;
}

/* The numbers that say where a move takes elements from; *any: there are such. */
static bool settle_places(struct lowering *lowering, struct trial *trial, bool *any)
{
    const struct mdf_move *move = trial->source->operator->move;

    *any = false;
    for (size_t i = mdf_move_data(move, trial->n); i < trial->n; i++) {
        if ((move->fills == 0 || i != move->fills) && may_stay(lowering, trial, i)) {
            *any = true;
            if (!settle(lowering, trial, i)) {
                return false;
            }
        }
    }
    return true;
}

bool lowering_settle_rest(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    const struct mdf_operator *operator= trial->source->operator;
    bool any;

    if (!lowering->is_for_source || trial->n < 2) {
        return true;
    }
    if (operator->move != NULL &&(operator->form == MDF_FORM_NONE || operator->form == MDF_FORM_SLICE)) {
        return settle_places(lowering, trial, &any) && (!any || lowering_move(lowering, scope, trial, taken));
    }
    return operator->routine == NULL || operator->routine->plan == NULL || operator->routine->draws ||
        settle_numbers(lowering, trial);
}
