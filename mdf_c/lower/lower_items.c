/* lower_items.c - items of arrays along their first axis, taken out and put together by kernels: for the runs of a loop that
 * stand before it; another axis made the first, for what is scanned. See lowering.h. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

enum { VERSION = 13, MOST_INPUTS = 5 };

/* Settings of an operator that has none but `axis`, which is the first, or `perm`. */
static const void *make_settings(struct lowering *lowering, const struct mdf_operator *operator,
                                 const struct mdf_ints * permutation)
{
    char *settings = mdf_arena_allocate(&lowering->lowered->arena, operator->settings_size);
    const struct mdf_setting *setting = operator->settings;
    int64_t axis = 0;

    for (; settings != NULL && setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, "axis") == 0) {
            memcpy(settings + setting->offset, &axis, sizeof axis);
        } else if (strcmp(setting->name, "perm") == 0) {
            memcpy(settings + setting->offset, permutation, sizeof *permutation);
        }
    }
    if (settings == NULL) {
        lowering_out_of_memory(lowering);
    }
    return settings;
}

/* The kernel's result on the examples, which the caller clears. */
static bool run_kernel(struct lowering *lowering, const struct mdf_call *call, struct mdf_value *result)
{
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}}, *outputs[1] = {result};
    struct mdf_call trial = *call;
    bool done;
    size_t i;

    trial.outputs = outputs;
    trial.scratch = scratch;
    done = trial.kernel(&trial) && !mdf_stop_is_untold(call->context->stop);
    for (i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(lowering->memory, &scratch[i]);
    }
    return done || lowering_fail(lowering, MDF_REFUSED_FAILING_CALL);
}

/* A call of an operator of ONNX with one output as `op`, and what it gives on the examples, which the caller clears. */
static bool run_operator(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n,
                         const struct mdf_ints *permutation, struct mdf_lowered_op *op, struct mdf_value *result)
{
    const struct mdf_operator *operator= mdf_operator_onnx(name, VERSION);
    struct mdf_call call = {.operator= operator, .n_inputs = n, .n_outputs = 1, .context = &lowering->execution->context};
    const struct mdf_value *examples[MOST_INPUTS];
    size_t i;

    for (i = 0; i < n; i++) {
        if (inputs[i] == MDF_LOWERED_NONE) {
            return false;
        }
        examples[i] = lowering_example(lowering, inputs[i]);
    }
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_CALL, .out = MDF_LOWERED_NONE, .operator= operator};
    if (operator== NULL ||(call.settings = op->settings = make_settings(lowering, operator, permutation)) == NULL) {
        return false;
    }
    call.kernel = operator->kernel;
    call.inputs = examples;
    op->of.call = lowering_make_call(lowering, &call, inputs);
    return op->of.call != NULL && run_kernel(lowering, &call, result);
}

/* The call as an op; its elements are as strong as those of its first input. */
static mdf_lowered_id add_call(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n,
                               const struct mdf_ints *permutation)
{
    struct mdf_value result = {0};
    mdf_lowered_id out = MDF_LOWERED_NONE;
    struct mdf_lowered_op op;
    uint8_t strength;

    if (run_operator(lowering, name, inputs, n, permutation, &op, &result)) {
        out = op.of.call->outputs[0] = lowering_add_value(lowering, MDF_LOWERED_RESULT, &result);
    }
    mdf_value_clear(lowering->memory, &result);
    if (out == MDF_LOWERED_NONE || !lowering_add_op(lowering, lowering->region, &op)) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[out].depth = lowering->region->depth;
    lowering->facts[out].region = lowering->region;
    strength = lowering_example(lowering, inputs[0])->strength;
    return strength == lowering_example(lowering, out)->strength ? out : lowering_copy(lowering, out, strength);
}

mdf_lowered_id lowering_add_wholes(struct lowering *lowering, const int64_t *numbers, size_t n, size_t rank)
{
    const int64_t length = (int64_t)n;
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, rank, &length, numbers);
    return lowering_add_constant(lowering, &value, false);
}

static mdf_lowered_id add_whole(struct lowering *lowering, size_t whole, size_t rank)
{
    const int64_t number = (int64_t)whole;

    return lowering_add_wholes(lowering, &number, 1, rank);
}

mdf_lowered_id lowering_item(struct lowering *lowering, mdf_lowered_id array, size_t index)
{
    const mdf_lowered_id inputs[] = {array, add_whole(lowering, index, 0)};

    return add_call(lowering, "Gather", inputs, 2, NULL);
}

mdf_lowered_id lowering_items(struct lowering *lowering, mdf_lowered_id array, size_t first, size_t end)
{
    const mdf_lowered_id inputs[] = {array, add_whole(lowering, first, 1), add_whole(lowering, end, 1),
                                     add_whole(lowering, 0, 1)};

    return add_call(lowering, "Slice", inputs, 4, NULL);
}

static size_t count_elements(const struct lowering *lowering, const mdf_lowered_id *arrays, size_t n)
{
    size_t n_elements = 0, i;

    for (i = 0; i < n; i++) {
        n_elements += arrays[i] != MDF_LOWERED_NONE ? lowering_example(lowering, arrays[i])->length : 0;
    }
    return n_elements;
}

/* The same as nests, for C source, which has no kernels, and for few elements. NONE: there are none. */
static mdf_lowered_id join_by_nests(struct lowering *lowering, const mdf_lowered_id *arrays, size_t n)
{
    mdf_operand inputs[MOST_INPUTS] = {0}, output = MDF_OPERAND(MDF_OPERAND_SLOT, 0);
    struct mdf_code_call source = {.operator= mdf_operator_onnx("Concat", VERSION), .inputs = inputs, .outputs = &output};
    struct trial trial = {.source = &source};
    struct scope scope = {0}; /* of its own: for the one result */
    mdf_lowered_id id = MDF_LOWERED_NONE;
    bool taken = false;
    size_t i;

    source.settings = make_settings(lowering, source.operator, NULL);
    source.n_inputs = n;
    source.n_outputs = 1;
    if (source.settings == NULL || !lowering_begin_trial(lowering, &trial)) {
        return id;
    }
    for (i = 0; i < n; i++) {
        trial.ids[i] = arrays[i];
        trial.given[i] = trial.effective[i] = lowering_example(lowering, arrays[i]);
    }
    if (lowering_run_trial(lowering, &trial) && lowering_move(lowering, &scope, &trial, &taken) && taken) {
        id = lowering_value_of(lowering, &scope, output);
    }
    lowering_end_trial(lowering, &trial);
    return id;
}

mdf_lowered_id lowering_join(struct lowering *lowering, const mdf_lowered_id *arrays, size_t n)
{
    bool by_nests = n > 1 && (lowering->is_for_source || count_elements(lowering, arrays, n) <= LOWERING_FEW_ELEMENTS);
    mdf_lowered_id id = by_nests ? join_by_nests(lowering, arrays, n) : MDF_LOWERED_NONE;

    if (id != MDF_LOWERED_NONE || lowering_has_failed(lowering)) {
        return id;
    }
    return n == 1 ? arrays[0] : add_call(lowering, "Concat", arrays, n, NULL);
}

mdf_lowered_id lowering_call_onnx(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n)
{
    const mdf_operand result = MDF_OPERAND(MDF_OPERAND_SLOT, MOST_INPUTS);
    mdf_operand operands[MOST_INPUTS], output = result;
    struct mdf_code_call source = {.operator= mdf_operator_onnx(name, VERSION),
                                   .inputs = operands,
                                   .n_inputs = n,
                                   .outputs = &output,
                                   .n_outputs = 1};
    struct scope scope = {0}; /* of its own: for the operands */
    size_t i;

    source.settings = make_settings(lowering, source.operator, NULL);
    if (source.settings == NULL) {
        return MDF_LOWERED_NONE;
    }
    for (i = 0; i < n; i++) {
        operands[i] = MDF_OPERAND(MDF_OPERAND_SLOT, i);
        if (!lowering_bind(lowering, &scope, operands[i], inputs[i])) {
            return MDF_LOWERED_NONE;
        }
    }
    return lowering_call(lowering, &scope, &source) ? lowering_any_value_of(lowering, &scope, result) : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ axes */

/* As a nest, where there are no kernels; of no elements as a constant. */
static mdf_lowered_id add_permuted(struct lowering *lowering, mdf_lowered_id array, const struct mdf_ints *permutation)
{
    uint8_t axes[MDF_INLINE_RANK], loaded[MDF_INLINE_RANK];
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_value result = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;
    struct mdf_lowered_op op;
    size_t d;

    if (draft != NULL && permutation->n <= MDF_INLINE_RANK &&
        run_operator(lowering, "Transpose", &array, 1, permutation, &op, &result)) {
        for (d = 0; d < permutation->n && result.length > 0; d++) {
            axes[d] = loaded[permutation->items[d]] = draft_axis(draft, mdf_value_shape(&result)[d]);
        }
        result.strength = lowering_example(lowering, array)->strength;
        id = result.length == 0 ? lowering_add_constant(lowering, &result, false)
                                : lowering_add_nest(lowering, draft, draft_load(lowering, draft, array, loaded), &result, axes);
    }
    mdf_value_clear(lowering->memory, &result);
    return id;
}

mdf_lowered_id lowering_move_axis(struct lowering *lowering, mdf_lowered_id array, size_t from, size_t to)
{
    size_t rank = lowering_example(lowering, array)->rank, length = lowering_example(lowering, array)->length, d, next = 0;
    int64_t *order = mdf_arena_array(&lowering->lowered->arena, rank, sizeof *order);
    const struct mdf_ints permutation = {order, rank};

    if (order == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    if (from == to || length == 1) {
        return array;
    }
    for (d = 0; d < rank; d++) {
        next += next == from; /* the others stay in their order */
        order[d] = (int64_t)(d == to ? from : next++);
    }
    return lowering->is_for_source || length == 0 ? add_permuted(lowering, array, &permutation)
                                                  : add_call(lowering, "Transpose", &array, 1, &permutation);
}
