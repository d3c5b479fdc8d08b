/* lower_items.c - operators of ONNX that lowering itself puts in: items of arrays along their first axis, taken out and put
 * together, for the runs of a loop that stand before it and for sequences; arrays in another shape. They are lowered as calls of
 * a model are. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "schemas/onnx_names.h"

#include <string.h>

enum { VERSION = 13 };

/* Settings of an operator that has none but `axis`, `perm`, or those of Shape, for the size of that axis alone. */
static const void *make_settings(struct lowering *lowering, const struct mdf_operator *operator, int64_t axis,
                                 const struct mdf_ints *permutation)
{
    char *settings = mdf_arena_allocate(&lowering->lowered->arena, operator->settings_size);
    const struct mdf_setting *setting = operator->settings;
    int64_t end = axis + 1;

    for (; settings != NULL && setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, "axis") == 0 || strcmp(setting->name, "start") == 0) {
            memcpy(settings + setting->offset, &axis, sizeof axis);
        } else if (strcmp(setting->name, "end") == 0) {
            memcpy(settings + setting->offset, &end, sizeof end);
        } else if (permutation != NULL && strcmp(setting->name, "perm") == 0) {
            memcpy(settings + setting->offset, permutation, sizeof *permutation);
        }
    }
    if (settings == NULL) {
        lowering_out_of_memory(lowering);
    }
    return settings;
}

mdf_lowered_id lowering_call_row(struct lowering *lowering, const struct mdf_operator *row, const void *settings,
                                 const mdf_lowered_id *inputs, size_t n)
{
    const mdf_operand result = MDF_OPERAND(MDF_OPERAND_SLOT, n);
    mdf_operand *operands = mdf_arena_array(&lowering->scratch, n, sizeof *operands), output = result;
    struct mdf_code_call source = {
        .operator= row, .settings = settings, .inputs = operands, .n_inputs = n, .outputs = &output, .n_outputs = 1};
    struct scope scope = {0}; /* of its own: for the operands */

    if (operands == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        operands[i] = MDF_OPERAND(MDF_OPERAND_SLOT, i);
        if (inputs[i] == MDF_LOWERED_NONE || !lowering_bind(lowering, &scope, operands[i], inputs[i])) {
            return MDF_LOWERED_NONE;
        }
    }
    return lowering_call(lowering, &scope, &source) ? lowering_any_value_of(lowering, &scope, result) : MDF_LOWERED_NONE;
}

mdf_lowered_id lowering_call_python(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n)
{
    return lowering_call_row(lowering, mdf_operator_python(name), NULL, inputs, n);
}

/* What an operator gives; as strong as its first input. */
static mdf_lowered_id call_along(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n, size_t axis,
                                 const struct mdf_ints *permutation)
{
    const struct mdf_operator *row = mdf_operator_onnx(name, VERSION);
    const void *settings = make_settings(lowering, row, (int64_t)axis, permutation);
    mdf_lowered_id id = settings == NULL ? MDF_LOWERED_NONE : lowering_call_row(lowering, row, settings, inputs, n);

    return id == MDF_LOWERED_NONE ? id : lowering_as_strong(lowering, id, lowering_example(lowering, inputs[0])->strength);
}

/* The same along the first axis. */
static mdf_lowered_id call(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n,
                           const struct mdf_ints *permutation)
{
    return call_along(lowering, name, inputs, n, 0, permutation);
}

mdf_lowered_id lowering_add_wholes(struct lowering *lowering, const int64_t *numbers, size_t n, size_t rank)
{
    const int64_t length = (int64_t)n;
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, rank, &length, numbers);
    return lowering_add_constant(lowering, &value, false);
}

mdf_lowered_id lowering_item_along(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id index, size_t axis)
{
    const mdf_lowered_id inputs[] = {array, index};

    return call_along(lowering, ONNX_GATHER, inputs, 2, axis, NULL);
}

mdf_lowered_id lowering_item_at(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id index)
{
    return lowering_item_along(lowering, array, index, 0);
}

mdf_lowered_id lowering_item(struct lowering *lowering, mdf_lowered_id array, size_t index)
{
    const int64_t number = (int64_t)index;

    return lowering_item_at(lowering, array, lowering_add_wholes(lowering, &number, 1, 0));
}

static mdf_lowered_id cut_items(struct lowering *lowering, mdf_lowered_id array, int64_t first, mdf_lowered_id end)
{
    const mdf_lowered_id inputs[] = {array, lowering_add_wholes(lowering, &first, 1, 1), end};

    return call(lowering, "Slice", inputs, 3, NULL);
}

mdf_lowered_id lowering_items(struct lowering *lowering, mdf_lowered_id array, size_t first, size_t end)
{
    const int64_t bound = (int64_t)end;

    return cut_items(lowering, array, (int64_t)first, lowering_add_wholes(lowering, &bound, 1, 1));
}

mdf_lowered_id lowering_items_to(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id end)
{
    return cut_items(lowering, array, 0, end);
}

mdf_lowered_id lowering_count_items(struct lowering *lowering, mdf_lowered_id array)
{
    return lowering_item(lowering, call(lowering, "Shape", &array, 1, NULL), 0);
}

mdf_lowered_id lowering_join(struct lowering *lowering, const mdf_lowered_id *arrays, size_t n)
{
    return n == 1 ? arrays[0] : call(lowering, ONNX_CONCAT, arrays, n, NULL);
}

mdf_lowered_id lowering_limit(struct lowering *lowering, mdf_lowered_id limit, mdf_lowered_id array, bool is_least)
{
    const mdf_lowered_id inputs[] = {limit, array};

    return call(lowering, is_least ? "Max" : "Min", inputs, 2, NULL);
}

mdf_lowered_id lowering_reshape(struct lowering *lowering, mdf_lowered_id array, const int64_t *shape, size_t rank)
{
    const mdf_lowered_id inputs[] = {array, lowering_add_wholes(lowering, shape, rank, 1)};

    return call(lowering, ONNX_RESHAPE, inputs, 2, NULL);
}

mdf_lowered_id lowering_move_axis(struct lowering *lowering, mdf_lowered_id array, size_t from, size_t to)
{
    size_t rank = lowering_example(lowering, array)->rank, d, next = 0;
    int64_t *order = mdf_arena_array(&lowering->lowered->arena, rank, sizeof *order);
    const struct mdf_ints permutation = {order, rank};

    if (order == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    if (from == to || (lowering_example(lowering, array)->length == 1 && !lowering->facts[array].is_open)) {
        return array;
    }
    for (d = 0; d < rank; d++) {
        next += next == from; /* the others stay in their order */
        order[d] = (int64_t)(d == to ? from : next++);
    }
    return call(lowering, "Transpose", &array, 1, &permutation);
}
