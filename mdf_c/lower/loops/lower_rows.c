/* lower_rows.c - an item that a Loop's body takes by the number of its run, from an array that has as many as there are runs, is
 * a row of the loop, as a Scan has them: nothing is looked up, and loops that run equally often can become one. See lowering.h.
 */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

/* Items of an array by the number of a loop's runs, from the first on or from the last. */
struct counted_items {
    mdf_lowered_id from, number;
    struct mdf_lowered_loop *loop;
    bool is_reversed;
};

/* Whether an index is the number of a loop's run, or of the run counted from the end. */
static bool counts_runs(const struct lowering *lowering, mdf_lowered_id index, struct counted_items *items)
{
    const struct mdf_lowered_op *op = lowering->facts[index].loop == NULL ? lowering_maker(lowering, index) : NULL;
    const struct mdf_value *last;

    items->number = op != NULL && op->code == MDF_LOWERED_SUBTRACT && op->dtype == MDF_DTYPE_INT64 ? op->in[1] : index;
    items->is_reversed = items->number != index;
    items->loop = lowering->facts[items->number].loop;
    if (items->loop == NULL || items->loop->n_runs == SIZE_MAX || items->loop->n_runs < 2) {
        return false;
    }
    last = items->is_reversed ? lowering_example(lowering, op->in[0]) : NULL;
    return last == NULL || (lowering_is_constant(lowering, op->in[0]) && last->dtype == MDF_DTYPE_INT64 &&
                            *(const int64_t *)last->data == (int64_t)items->loop->n_runs - 1);
}

/* Whether the array is there before the loop, and has as many items as there are runs, each of that form. */
static bool has_items(const struct lowering *lowering, const struct counted_items *items, const struct mdf_value *item)
{
    const struct fact *fact = &lowering->facts[items->from];
    const struct mdf_value *from = lowering_example(lowering, items->from);
    size_t i;

    if (fact->depth >= lowering->facts[items->number].depth || fact->is_open || fact->is_either ||
        from->kind != MDF_KIND_TENSOR || item->kind != MDF_KIND_TENSOR || lowering->lowered->values[items->from].is_scalar ||
        from->rank != item->rank + 1 || from->dtype != item->dtype || mdf_value_shape(from)[0] != (int64_t)items->loop->n_runs) {
        return false;
    }
    for (i = 0; i < item->rank && mdf_value_shape(from)[i + 1] == mdf_value_shape(item)[i]; i++) {
    }
    return i == item->rank;
}

/* The parameter of the row, which the loop has, or gets. NONE: memory ran out. */
static mdf_lowered_id find_row(struct lowering *lowering, const struct counted_items *items, uint8_t strength)
{
    const struct mdf_value *from = lowering_example(lowering, items->from);
    struct mdf_lowered_loop *loop = items->loop;
    struct mdf_value item = {0};
    struct mdf_lowered_rows *rows;
    mdf_lowered_id parameter;

    for (size_t i = 0; i < loop->n_rows; i++) {
        if (loop->rows[i].source == items->from && loop->rows[i].is_reversed == items->is_reversed &&
            lowering_example(lowering, loop->rows[i].parameter)->strength == strength) {
            return loop->rows[i].parameter;
        }
    }
    mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)from->dtype, (enum mdf_strength)strength, from->rank - 1,
                            mdf_value_shape(from) + 1, from->data);
    rows = mdf_arena_array(&lowering->lowered->arena, loop->n_rows + 1, sizeof *rows);
    parameter = rows == NULL ? MDF_LOWERED_NONE : lowering_add_value(lowering, MDF_LOWERED_PARAMETER, &item);
    if (parameter == MDF_LOWERED_NONE) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    lowering->facts[parameter].depth = lowering->facts[items->number].depth;
    if (loop->n_rows > 0) {
        memcpy(rows, loop->rows, loop->n_rows * sizeof *rows);
    }
    rows[loop->n_rows++] = (struct mdf_lowered_rows){items->from, parameter, items->is_reversed};
    loop->rows = rows;
    return parameter;
}

bool lowering_take_row(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    struct counted_items items;
    mdf_lowered_id row;

    *taken = false;
    if (trial->source->operator->form != MDF_FORM_GATHER || trial->n != 2 || trial->is_open || trial->is_weak ||
            trial->ids[0] == MDF_LOWERED_NONE || trial->ids[1] == MDF_LOWERED_NONE ||
            trial->effective[0]->kind != MDF_KIND_TENSOR ||
            lowering_axis(trial->source, trial->effective[0]->rank, 0) != 0) {
        return true;
    }
    items.from = trial->ids[0];
    if (!counts_runs(lowering, trial->ids[1], &items) || !has_items(lowering, &items, &trial->results[0])) {
        return true;
    }
    row = find_row(lowering, &items, trial->results[0].strength);
    *taken = row != MDF_LOWERED_NONE;
    return *taken && lowering_bind(lowering, scope, trial->source->outputs[0], row);
}
