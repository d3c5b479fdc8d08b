/* lower_part.c - calls that only take some elements of an array, in rows, as Split and Slice do: which they take is found by
 * numbering the elements. See trial.h. */
#include "mdf_c/lower/trial.h"

#include "functions/kernel/move.h"

/* The part of `whole` that a call gave as `result` when the elements of `whole` were numbered from 0; false: it is none. */
static bool find_part(const struct mdf_value *whole, const struct mdf_value *result, struct mdf_lowered_part *part)
{
    const int64_t *numbers = result->data;
    size_t n = 1, row, i;

    if (result->kind != MDF_KIND_TENSOR || result->dtype != MDF_DTYPE_INT64 || result->length < 2) {
        return false;
    }
    while (n < result->length && numbers[n] == numbers[n - 1] + 1) {
        n++;
    }
    *part = (struct mdf_lowered_part){.first = (size_t)numbers[0], .n_rows = result->length / n, .n = n};
    if (result->length % n != 0 || (part->n_rows > 1 && numbers[n] <= numbers[0])) {
        return false;
    }
    part->step = part->n_rows > 1 ? (size_t)(numbers[n] - numbers[0]) : 0;
    for (row = 0; row < part->n_rows; row++) {
        for (i = 0; i < n; i++) {
            if (numbers[row * n + i] != (int64_t)(part->first + row * part->step + i)) {
                return false;
            }
        }
    }
    return part->first + (part->n_rows - 1) * part->step + n <= whole->length;
}

/* Runs the kernel with the elements of its first input numbered, in `numbered`, which the caller clears; the results are those
 * of that run. */
static bool run_numbered(struct lowering *lowering, struct trial *trial, struct mdf_value *numbered)
{
    const struct mdf_value *whole = trial->effective[0];
    int64_t *numbers = mdf_value_make_tensor(lowering->memory, numbered, MDF_DTYPE_INT64, whole->rank, mdf_value_shape(whole));
    bool done;
    size_t i;

    if (numbers == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < whole->length; i++) {
        numbers[i] = (int64_t)i;
    }
    trial->effective[0] = numbered;
    done = lowering_run_trial(lowering, trial);
    trial->effective[0] = whole;
    return done;
}

static bool may_have_parts(const struct lowering *lowering, const struct trial *trial)
{
    enum { LONGEST_WHOLE = 1 << 16 }; /* elements; numbering more takes memory that the kernel does not need */
    const struct mdf_move *move = trial->source->operator->move;

    return !lowering->is_for_source && move != NULL && move->cuts && trial->n > 0 && trial->ids[0] != MDF_LOWERED_NONE &&
           trial->effective[0]->kind == MDF_KIND_TENSOR && trial->effective[0]->length >= 2 &&
           trial->effective[0]->length <= LONGEST_WHOLE && lowering_has_constants(lowering, trial, 1);
}

/* Into `parts`, the part that each result is; *are_parts: all are. The examples of the results are those of before. */
static bool find_parts(struct lowering *lowering, struct trial *trial, struct mdf_lowered_part *parts, bool *are_parts)
{
    size_t n = trial->source->n_outputs, i;
    struct mdf_value *examples = mdf_arena_array(&lowering->scratch, n, sizeof *examples), numbered = {0};

    if (parts == NULL || examples == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < n; i++) {
        mdf_value_swap(&examples[i], &trial->results[i]);
    }
    *are_parts = run_numbered(lowering, trial, &numbered);
    for (i = 0; i < n && *are_parts; i++) {
        *are_parts = trial->outputs[i] == NULL || find_part(&numbered, &trial->results[i], &parts[i]);
    }
    for (i = 0; i < n; i++) {
        mdf_value_swap(&examples[i], &trial->results[i]);
        mdf_value_clear(lowering->memory, &examples[i]);
    }
    mdf_value_clear(lowering->memory, &numbered);
    return !lowering_has_failed(lowering);
}

bool lowering_take_parts(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    size_t n = trial->source->n_outputs, i;
    struct mdf_lowered_part *parts;

    if (!may_have_parts(lowering, trial)) {
        return true;
    }
    parts = mdf_arena_array(&lowering->lowered->arena, n, sizeof *parts);
    if (!find_parts(lowering, trial, parts, taken)) {
        return false;
    }
    for (i = 0; i < n && *taken; i++) {
        struct mdf_lowered_op op = {.code = MDF_LOWERED_PART, .n_in = 1, .in = {trial->ids[0]}, .of.part = &parts[i]};

        op.dtype = trial->effective[0]->dtype;
        if (trial->outputs[i] != NULL && !lowering_bind(lowering, scope, trial->source->outputs[i],
                                                        lowering_add_element_op(lowering, op, &trial->results[i]))) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}
