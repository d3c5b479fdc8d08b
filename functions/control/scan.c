/* scan.c - onnx::Scan from version 9: a body that runs once for each slice of its scan inputs.
 *
 * In: initial values of N state variables, then M scan inputs of equal length along their axes. The body takes the state
 * variables and one slice of each scan input; it yields the next state variables and one slice of each scan output. Out: the last
 * state variables, and the scan outputs. Source: https://onnx.ai/onnx/operators/onnx__Scan.html */
#include "functions/control/stack.h"
#include "functions/kernel/operator.h"

#include <string.h>

struct scan_settings {
    size_t body;
    int64_t num_scan_inputs;
    struct mdf_ints input_axes, input_directions, output_axes, output_directions;
};

static const struct mdf_setting scan_settings[] = {
    {"body", MDF_SETTING_GRAPH, offsetof(struct scan_settings, body)},
    {"num_scan_inputs", MDF_SETTING_INT, offsetof(struct scan_settings, num_scan_inputs)},
    {"scan_input_axes", MDF_SETTING_INTS, offsetof(struct scan_settings, input_axes)},
    {"scan_input_directions", MDF_SETTING_INTS, offsetof(struct scan_settings, input_directions)},
    {"scan_output_axes", MDF_SETTING_INTS, offsetof(struct scan_settings, output_axes)},
    {"scan_output_directions", MDF_SETTING_INTS, offsetof(struct scan_settings, output_directions)},
    {NULL, MDF_SETTING_INT, 0},
};

struct scan {
    struct mdf_call *call;
    const struct scan_settings *settings;
    struct mdf_body *body;
    size_t n_states, n_scan_inputs, n_scan_outputs;
    size_t length; /* iterations */
    struct mdf_stack *outputs;
};

/* ------------------------------------------------------------------ attributes against inputs */

static bool check_count(struct scan *scan, const char *name, const struct mdf_ints *list, size_t n)
{
    return list->items == NULL || list->n == n ||
           mdf_call_error(scan->call, MDF_VALUE, "%s has %zu entries, but there are %zu scan %s", name, list->n, n,
                          n == scan->n_scan_inputs ? "inputs" : "outputs");
}

static bool check_directions(struct scan *scan, const char *name, const struct mdf_ints *list)
{
    for (size_t i = 0; list->items != NULL && i < list->n; i++) {
        if (list->items[i] != 0 && list->items[i] != 1) {
            return mdf_call_error(scan->call, MDF_VALUE, "%s must be 0 (forward) or 1 (reverse), not %lld", name,
                                  (long long)list->items[i]);
        }
    }
    return true;
}

static bool input_axis(struct scan *scan, size_t i, size_t *axis)
{
    const struct mdf_ints *axes = &scan->settings->input_axes;
    const struct mdf_value *input = mdf_call_tensor(scan->call, scan->n_states + i);

    if (input == NULL) {
        return false;
    }
    if (input->rank == 0) {
        return mdf_call_error(scan->call, MDF_SHAPE, "scan input %zu is a scalar: it has no axis to scan", i);
    }
    return mdf_call_axis(scan->call, axes->items != NULL ? axes->items[i] : 0, input->rank, axis);
}

static bool read_lengths(struct scan *scan)
{
    size_t axis;

    for (size_t i = 0; i < scan->n_scan_inputs; i++) {
        size_t length;

        if (!input_axis(scan, i, &axis)) {
            return false;
        }
        length = (size_t)mdf_value_shape(scan->call->inputs[scan->n_states + i])[axis];
        if (i > 0 && length != scan->length) {
            return mdf_call_error(scan->call, MDF_SHAPE, "scan input %zu has length %zu, but scan input 0 has length %zu", i,
                                  length, scan->length);
        }
        scan->length = length;
    }
    return true;
}

static bool check(struct scan *scan)
{
    const struct scan_settings *settings = scan->settings;

    return check_count(scan, "scan_input_axes", &settings->input_axes, scan->n_scan_inputs) &&
           check_count(scan, "scan_input_directions", &settings->input_directions, scan->n_scan_inputs) &&
           check_count(scan, "scan_output_axes", &settings->output_axes, scan->n_scan_outputs) &&
           check_count(scan, "scan_output_directions", &settings->output_directions, scan->n_scan_outputs) &&
           check_directions(scan, "scan_input_directions", &settings->input_directions) &&
           check_directions(scan, "scan_output_directions", &settings->output_directions) && read_lengths(scan);
}

static size_t place(const struct scan *scan, const struct mdf_ints *directions, size_t i, size_t iteration)
{
    return directions->items != NULL && directions->items[i] == 1 ? scan->length - 1 - iteration : iteration;
}

/* ------------------------------------------------------------------ iterations */

static bool set_slices(struct scan *scan, size_t iteration)
{
    size_t axis;

    for (size_t i = 0; i < scan->n_scan_inputs; i++) {
        const struct mdf_value *whole = scan->call->inputs[scan->n_states + i];

        if (!input_axis(scan, i, &axis)) {
            return false;
        }
        if (!mdf_stack_take(scan->call->context->memory, scan->body->inputs[scan->n_states + i], whole, axis,
                            place(scan, &scan->settings->input_directions, i, iteration))) {
            return mdf_call_out_of_memory(scan->call);
        }
    }
    return true;
}

/* An axis may be negative, and counts the scan axis; it is known once the first slice is. */
static bool open_output(struct scan *scan, size_t i, size_t slice_rank)
{
    const struct mdf_ints *axes = &scan->settings->output_axes;
    size_t axis;

    if (!mdf_call_axis(scan->call, axes->items != NULL ? axes->items[i] : 0, slice_rank + 1, &axis)) {
        return false;
    }
    mdf_stack_begin(&scan->outputs[i], scan->call->outputs[scan->n_states + i], axis, scan->length);
    return true;
}

static bool put_slices(struct scan *scan, size_t iteration)
{
    for (size_t i = 0; i < scan->n_scan_outputs; i++) {
        const struct mdf_value *slice = scan->body->outputs[scan->n_states + i];

        if ((iteration == 0 && !open_output(scan, i, slice->rank)) ||
            !mdf_stack_put(scan->call, &scan->outputs[i], slice, place(scan, &scan->settings->output_directions, i, iteration))) {
            return false;
        }
    }
    return true;
}

/* The states of a Scan keep their shapes. */
static bool check_states(struct scan *scan)
{
    char before[80], after[80];

    for (size_t i = 0; i < scan->n_states; i++) {
        const struct mdf_value *state = scan->body->inputs[i], *next = scan->body->outputs[i];

        if (state->kind == next->kind && mdf_value_has_shape_of(state, next)) {
            continue;
        }
        mdf_value_describe(state, before, sizeof before);
        mdf_value_describe(next, after, sizeof after);
        return mdf_call_error(scan->call, MDF_SHAPE, "state variable %zu changes its shape from %s to %s", i, before, after);
    }
    return true;
}

static bool run_iteration(struct scan *scan, size_t iteration)
{
    if (!set_slices(scan, iteration) || !scan->body->run(scan->body) || !put_slices(scan, iteration)) {
        return false;
    }
    if (mdf_should_stop(scan->call->context)) {
        return false;
    }
    return check_states(scan) && mdf_body_carry(scan->call, scan->body, 0, 0, scan->n_states);
}

static bool begin(struct scan *scan)
{
    struct mdf_memory *memory = scan->call->context->memory;
    int64_t bytes = (int64_t)(scan->n_scan_outputs * sizeof *scan->outputs);

    scan->outputs = mdf_value_make_tensor(memory, &scan->call->scratch[1], MDF_DTYPE_UINT8, 1, &bytes);
    if (scan->outputs == NULL) {
        return mdf_call_out_of_memory(scan->call);
    }
    for (size_t i = 0; i < scan->n_states; i++) {
        if (!mdf_value_copy(memory, scan->body->inputs[i], scan->call->inputs[i])) {
            return mdf_call_out_of_memory(scan->call);
        }
    }
    return true;
}

/* What an output is of that no iteration made: of a slice without a declared rank so many axes as its scan axis needs. */
static struct mdf_static_type type_of_none(const struct scan *scan, size_t i)
{
    static const int64_t sizes[MDF_INLINE_RANK] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const struct mdf_ints *axes = &scan->settings->output_axes;
    struct mdf_static_type type = scan->body->output_types[scan->n_states + i];
    int64_t axis = axes->items != NULL ? axes->items[i] : 0, rank = axis < 0 ? -1 - axis : axis;

    if (!type.has_shape && rank <= MDF_INLINE_RANK) {
        type.has_shape = true;
        type.rank = (size_t)rank;
        type.shape = sizes;
    }
    return type;
}

static bool end(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_states; i++) {
        mdf_value_swap(scan->call->outputs[i], scan->body->inputs[i]);
    }
    for (size_t i = 0; i < scan->n_scan_outputs; i++) {
        struct mdf_static_type type = type_of_none(scan, i);

        if ((scan->length == 0 && !open_output(scan, i, type.has_shape ? type.rank : 0)) ||
            !mdf_stack_end(scan->call, &scan->outputs[i], &type)) {
            return false;
        }
    }
    return true;
}

static bool run_iterations(struct scan *scan)
{
    for (size_t iteration = 0; iteration < scan->length; iteration++) {
        if (!run_iteration(scan, iteration)) {
            mdf_error_append(&scan->call->context->error, " (iteration %zu of onnx::Scan)", iteration);
            return false;
        }
    }
    return true;
}

static bool run_scan(struct mdf_call *call)
{
    struct scan scan = {.call = call, .settings = call->settings, .body = call->bodies[0]};

    scan.n_scan_inputs = (size_t)scan.settings->num_scan_inputs;
    scan.n_states = call->n_inputs - scan.n_scan_inputs;
    scan.n_scan_outputs = scan.body->n_outputs - scan.n_states;
    return (check(&scan) && begin(&scan) && run_iterations(&scan) && end(&scan)) || mdf_stack_drop(call, scan.n_states);
}

const struct mdf_operator mdf_operators_scan[] = {
    {"Scan", 9, 99, run_scan, scan_settings, sizeof(struct scan_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_SCAN,
     .infer = &mdf_rule_scan},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
