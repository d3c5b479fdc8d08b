/* lower_settled.c - inputs that say what shape a result has, where they are not known before: for C source, whose shapes are
 * those of the examples, they stay what they are there. Where they become others it bails out. What has no elements is a
 * constant. See lowering.h. */
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
    bool is_list = value != NULL && value->kind == MDF_KIND_TENSOR && value->rank <= 1 && value->length > 0 &&
                   value->length <= LONGEST_SHAPE && (value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_INT32);
    bool is_moved = move != NULL && (i < mdf_move_data(move, trial->n) || (move->fills > 0 && i == move->fills));
    bool moves_by_shape = move != NULL && !is_moved && !mdf_counts_by_form(operator, i) && (move->in_order || move->shapes);
    bool is_axis = i > 0 && (operator->fold != NULL ||(operator->routine != NULL && operator->routine->by_axis));

    return is_list &&
           (operator->form == MDF_FORM_FILL ||(operator->form == MDF_FORM_ONE_HOT && i == 1) || moves_by_shape || is_axis);
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

bool lowering_settle_shapes(struct lowering *lowering, struct trial *trial)
{
    size_t i;

    for (i = 0; lowering->is_for_source && i < trial->n; i++) {
        mdf_lowered_id same;

        if (trial->ids[i] == MDF_LOWERED_NONE || lowering_is_constant(lowering, trial->ids[i]) ||
            (!is_empty(lowering, trial, i) && !says_shape(trial, i))) {
            continue;
        }
        same = lowering_keep_constant(lowering, trial->effective[i]);
        if (same == MDF_LOWERED_NONE || (!is_empty(lowering, trial, i) &&
                                         !bail_out_unless_same(lowering, trial->ids[i], same, trial->effective[i]->length))) {
            return !lowering_has_failed(lowering);
        }
        trial->ids[i] = same;
    }
    return true;
}
