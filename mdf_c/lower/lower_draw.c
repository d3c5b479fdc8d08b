/* lower_draw.c - random numbers that are drawn without a kernel. See trial.h. */
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "mdf_c/lower/trial.h"

/* Whether an input can be a number of a draw; *id is what it is then. */
static bool is_number_input(const struct lowering *lowering, const struct trial *trial, size_t input, mdf_lowered_id *id)
{
    *id = input < trial->n ? trial->ids[input] : MDF_LOWERED_NONE;
    return input == SIZE_MAX || (*id != MDF_LOWERED_NONE && lowering->lowered->values[*id].is_scalar &&
                                 (MDF_DTYPE_BIT(trial->effective[input]->dtype) & MDF_LOWERED_DRAW_SETTINGS) != 0);
}

/* Whether a draw finds the same in an input each time. */
static bool stays_as_it_is(const struct lowering *lowering, const struct trial *trial, size_t input)
{
    return lowering_is_constant(lowering, trial->ids[input]) ||
           (mdf_counts_by_form(trial->source->operator, input) && lowering->lowered->values[trial->ids[input]].open_axes == 0);
}

bool lowering_find_draw(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_draw **draw)
{
    struct mdf_call call = trial->call;
    const struct mdf_routine *routine = trial->source->operator->routine;
    struct mdf_lowered_draw found = {
        .n = trial->results[0].length, .n_lanes = 1, .mask = MDF_LOWERED_NONE, .out = MDF_LOWERED_NONE};

    *draw = NULL;
    if (lowering->is_for_source || routine == NULL || routine->drawing == NULL || trial->source->n_outputs != 1 ||
        trial->outputs[0] == NULL || (MDF_DTYPE_BIT(trial->results[0].dtype) & MDF_LOWERED_DRAWN) == 0 ||
        !routine->drawing(&call, &found.drawing) || !is_number_input(lowering, trial, found.drawing.seed, &found.seed)) {
        return true;
    }
    for (size_t i = 0; i < MDF_DRAWING_SETTINGS; i++) {
        if (!is_number_input(lowering, trial, found.drawing.settings[i], &found.settings[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < trial->n; i++) {
        if (i != found.drawing.seed && i != found.drawing.settings[0] && i != found.drawing.settings[1] &&
            trial->ids[i] != MDF_LOWERED_NONE && !stays_as_it_is(lowering, trial, i)) {
            return true;
        }
    }
    *draw = mdf_arena_allocate(&lowering->lowered->arena, sizeof **draw);
    if (*draw == NULL) {
        return lowering_out_of_memory(lowering);
    }
    **draw = found;
    return true;
}
