/* positions.c - where a kernel that moves elements takes them from, found by running it on positions. See move.h. */
#include "functions/kernel/move.h"

#include "functions/kernel/operator.h"

/* Positions are counted from here on, so that what an operator fills with (0, or another small number) is none. */
static const int64_t first_position = INT64_C(1) << 40;

/* Arrays of positions in the place of the inputs that are moved. */
static bool number_inputs(struct mdf_call *call, size_t n_data, struct mdf_value *positions, const struct mdf_value **inputs)
{
    int64_t next = first_position;

    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_value *input = call->inputs[i];
        int64_t *elements;

        inputs[i] = input;
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
    return true;
}

/* Counts positions from 0. False: an element is none of those that are given, nor 0. */
static bool count_from_zero(struct mdf_value *result)
{
    int64_t *map = result->data;

    if (result->kind != MDF_KIND_TENSOR || result->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    for (size_t i = 0; i < result->length; i++) {
        if (map[i] != 0 && map[i] < first_position) {
            return false;
        }
        map[i] = map[i] == 0 ? MDF_POSITION_NONE : map[i] - first_position;
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
    size_t n = call->n_inputs, n_outputs = call->n_outputs, i;
    struct mdf_value *positions = mdf_memory_allocate_zeroed(memory, n + 1, sizeof *positions);
    const struct mdf_value **inputs = mdf_memory_allocate_zeroed(memory, n + 1, sizeof *inputs);
    struct mdf_value **outputs = mdf_memory_allocate_zeroed(memory, n_outputs + 1, sizeof *outputs);
    bool done = positions != NULL && inputs != NULL && outputs != NULL;

    for (i = 0; done && i < n_outputs; i++) {
        outputs[i] = call->outputs[i] != NULL ? &results[i] : NULL;
    }
    done = done ? number_inputs(call, mdf_move_data(move, n), positions, inputs) && run_on(call, inputs, outputs)
                : mdf_call_out_of_memory(call);
    for (i = 0; done && i < n_outputs; i++) {
        if (outputs[i] != NULL && !count_from_zero(outputs[i])) {
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

/* How many positions from the first on go on as the first `n_block` did, each block `stride` from the one before. */
static size_t count_even(const int64_t *positions, size_t n, size_t n_block, int64_t stride)
{
    size_t i = n_block;

    while (i < n && positions[i] == positions[i - n_block] + stride && positions[i] != MDF_POSITION_NONE) {
        i++;
    }
    return i;
}

bool mdf_view_of(const int64_t *positions, size_t n, struct mdf_view *view)
{
    int64_t sizes[MDF_VIEW_AXES], strides[MDF_VIEW_AXES];
    size_t n_axes = 0, n_block = 1;

    while (n_block < n) {
        int64_t stride = positions[n_block] - positions[0];
        size_t n_times = count_even(positions, n, n_block, stride) / n_block;

        if (n_times < 2 || n % (n_block * n_times) != 0 || positions[0] == MDF_POSITION_NONE) {
            return false;
        }
        sizes[n_axes] = (int64_t)n_times;
        strides[n_axes++] = stride;
        n_block *= n_times;
    }
    view->offset = positions[0];
    view->n_axes = n_axes;
    for (size_t i = 0; i < n_axes; i++) {
        view->sizes[i] = sizes[n_axes - 1 - i];
        view->strides[i] = strides[n_axes - 1 - i];
    }
    return positions[0] != MDF_POSITION_NONE;
}
