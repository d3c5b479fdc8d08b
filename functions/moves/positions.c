/* positions.c - where a kernel that moves elements takes them from, found by running it on positions. See move.h. */
#include "functions/kernel/move.h"

#include "functions/kernel/operator.h"

/* Positions are counted from here on, so that what an operator fills with (0, or another small number) is none. */
static const int64_t first_position = INT64_C(1) << 40;

/* Arrays of positions in the place of the inputs that are moved; none in that of what is filled with. */
static bool number_inputs(struct mdf_call *call, const struct mdf_move *move, struct mdf_value *positions,
                          const struct mdf_value **inputs, int64_t *n)
{
    size_t n_data = mdf_move_data(move, call->n_inputs);
    int64_t next = first_position;

    *n = 0;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_value *input = call->inputs[i];
        int64_t *elements;

        inputs[i] = move->fills > 0 && i == move->fills ? NULL : input;
        if (input == NULL || i >= n_data) {
            continue;
        }
        if (input->kind != MDF_KIND_TENSOR) {
            return false;
        }
        elements =
            mdf_value_make_tensor(call->context->memory, &positions[i], MDF_DTYPE_INT64, input->rank, mdf_value_shape(input));
        if (elements == NULL) {
            return mdf_call_out_of_memory(call);
        }
        for (size_t k = 0; k < input->length; k++) {
            elements[k] = next++;
        }
        inputs[i] = &positions[i];
    }
    *n = next - first_position;
    return true;
}

/* Counts positions from 0, of which there are `n`. False: an element is none of those that are given (it may be a sum of them),
 * nor what the operator fills with. */
static bool count_from_zero(const struct mdf_move *move, int64_t n, struct mdf_value *result)
{
    int64_t *map = result->data;

    if (result->kind != MDF_KIND_TENSOR || result->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    for (size_t i = 0; i < result->length; i++) {
        if ((map[i] != 0 && map[i] < first_position && move->fills == 0) || map[i] - first_position >= n) {
            return false;
        }
        map[i] = map[i] < first_position ? MDF_POSITION_NONE : map[i] - first_position;
    }
    return true;
}

static void clear(struct mdf_memory *memory, struct mdf_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mdf_value_clear(memory, &values[i]);
    }
}

/* Runs the kernel on `inputs`. */
static bool run_on(const struct mdf_call *call, const struct mdf_value *const inputs[], struct mdf_value *const outputs[])
{
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}};
    struct mdf_call trial = *call;
    bool done;

    trial.inputs = inputs;
    trial.outputs = outputs;
    trial.scratch = scratch;
    trial.constants = NULL;
    trial.epilogue = NULL;
    done = trial.kernel(&trial);
    clear(call->context->memory, scratch, MDF_CALL_SCRATCH);
    return done;
}

bool mdf_move_positions(struct mdf_call *call, const struct mdf_move *move, struct mdf_value *results)
{
    struct mdf_memory *memory = call->context->memory;
    size_t n = call->n_inputs, n_outputs = call->n_outputs;
    struct mdf_value *positions = mdf_memory_allocate_zeroed(memory, n + 1, sizeof *positions);
    const struct mdf_value **inputs = mdf_memory_allocate_zeroed(memory, n + 1, sizeof *inputs);
    struct mdf_value **outputs = mdf_memory_allocate_zeroed(memory, n_outputs + 1, sizeof *outputs);
    bool done = positions != NULL && inputs != NULL && outputs != NULL;
    int64_t n_positions = 0;

    for (size_t i = 0; done && i < n_outputs; i++) {
        outputs[i] = call->outputs[i] != NULL ? &results[i] : NULL;
    }
    done = done ? number_inputs(call, move, positions, inputs, &n_positions) && run_on(call, inputs, outputs)
                : mdf_call_out_of_memory(call);
    for (size_t i = 0; done && i < n_outputs; i++) {
        if (outputs[i] != NULL && !count_from_zero(move, n_positions, outputs[i])) {
            done = mdf_call_error(call, MDF_UNSUPPORTED, "makes other elements than those it is given");
        }
    }
    if (positions != NULL) {
        clear(memory, positions, n);
    }
    mdf_memory_release(memory, positions);
    mdf_memory_release(memory, inputs);
    mdf_memory_release(memory, outputs);
    return done;
}
