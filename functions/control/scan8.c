/* scan8.c - onnx::Scan of version 8: a Scan for each entry of a batch.
 *
 * In: sequence_lens (length of each entry's sequence; may be left out), initial states [batch, ...], scan inputs [batch, length,
 * ...]. Out: last states [batch, ...], scan outputs [batch, length, ...], zeros past the end of a shorter sequence.
 * Source: https://github.com/onnx/onnx/blob/main/docs/Changelog.md#Scan-8 */
#include "functions/control/stack.h"
#include "functions/kernel/operator.h"

#include <string.h>

enum { FIRST_OPERAND = 1 };

struct scan8_settings {
    size_t body;
    int64_t num_scan_inputs;
    struct mdf_ints directions;
};

static const struct mdf_setting scan8_settings[] = {
    {"body", MDF_SETTING_GRAPH, offsetof(struct scan8_settings, body)},
    {"num_scan_inputs", MDF_SETTING_INT, offsetof(struct scan8_settings, num_scan_inputs)},
    {"directions", MDF_SETTING_INTS, offsetof(struct scan8_settings, directions)},
    {NULL, MDF_SETTING_INT, 0},
};

struct scan8 {
    struct mdf_call *call;
    const struct scan8_settings *settings;
    struct mdf_body *body;
    size_t n_states, n_scan_inputs, n_scan_outputs;
    size_t n_batches, length; /* length: of the longest sequence there is room for */
    const int64_t *lengths;   /* of each entry; NULL: all have `length` */
    struct mdf_stack *states, *scans;
};

/* ------------------------------------------------------------------ inputs */

static bool check_input(struct scan8 *scan, size_t i)
{
    const struct mdf_value *input = mdf_call_tensor(scan->call, FIRST_OPERAND + i);
    bool is_scan = i >= scan->n_states;
    size_t length;

    if (input == NULL) {
        return false;
    }
    if (input->rank < (is_scan ? 2 : 1)) {
        return mdf_call_error(scan->call, MDF_SHAPE, "input %zu has rank %u: it needs a batch axis%s", i, input->rank,
                              is_scan ? " and a sequence axis" : "");
    }
    if (i > 0 && (size_t)mdf_value_shape(input)[0] != scan->n_batches) {
        return mdf_call_error(scan->call, MDF_SHAPE, "input %zu has %lld entries in its batch, input 0 has %zu", i,
                              (long long)mdf_value_shape(input)[0], scan->n_batches);
    }
    scan->n_batches = (size_t)mdf_value_shape(input)[0];
    length = is_scan ? (size_t)mdf_value_shape(input)[1] : 0;
    if (i > scan->n_states && length != scan->length) {
        return mdf_call_error(scan->call, MDF_SHAPE, "scan inputs have different lengths, %zu and %zu", scan->length, length);
    }
    scan->length = length;
    return true;
}

static bool check_lengths(struct scan8 *scan)
{
    size_t n = 0;

    if (mdf_call_input(scan->call, 0) == NULL || scan->call->inputs[0]->kind == MDF_KIND_NONE) {
        return true;
    }
    scan->lengths = mdf_call_integers(scan->call, 0, 0, &n);
    if (scan->lengths == NULL) {
        return false;
    }
    if (n != scan->n_batches) {
        return mdf_call_error(scan->call, MDF_SHAPE, "sequence_lens has %zu entries for a batch of %zu", n, scan->n_batches);
    }
    for (size_t i = 0; i < n; i++) {
        if (scan->lengths[i] < 0 || (size_t)scan->lengths[i] > scan->length) {
            return mdf_call_error(scan->call, MDF_VALUE, "sequence_lens[%zu] is %lld, not between 0 and %zu", i,
                                  (long long)scan->lengths[i], scan->length);
        }
    }
    return true;
}

static bool check(struct scan8 *scan)
{
    const struct mdf_ints *directions = &scan->settings->directions;

    for (size_t i = 0; i < scan->n_states + scan->n_scan_inputs; i++) {
        if (!check_input(scan, i)) {
            return false;
        }
    }
    if (directions->items != NULL && directions->n != scan->n_scan_inputs) {
        return mdf_call_error(scan->call, MDF_VALUE, "directions has %zu entries for %zu scan inputs", directions->n,
                              scan->n_scan_inputs);
    }
    for (size_t i = 0; directions->items != NULL && i < directions->n; i++) {
        if (directions->items[i] != 0 && directions->items[i] != 1) {
            return mdf_call_error(scan->call, MDF_VALUE, "directions must be 0 (forward) or 1 (reverse), not %lld",
                                  (long long)directions->items[i]);
        }
    }
    return check_lengths(scan);
}

/* ------------------------------------------------------------------ iterations */

/* Slice `t` of entry `batch` of each scan input: two steps, the first through scratch. */
static bool set_slices(struct scan8 *scan, size_t batch, size_t t, size_t length)
{
    struct mdf_memory *memory = scan->call->context->memory;
    const struct mdf_ints *directions = &scan->settings->directions;
    struct mdf_value *entry = &scan->call->scratch[2];

    for (size_t i = 0; i < scan->n_scan_inputs; i++) {
        bool reverse = directions->items != NULL && directions->items[i] == 1;

        if (!mdf_stack_take(memory, entry, scan->call->inputs[FIRST_OPERAND + scan->n_states + i], 0, batch) ||
            !mdf_stack_take(memory, scan->body->inputs[scan->n_states + i], entry, 0, reverse ? length - 1 - t : t)) {
            return mdf_call_out_of_memory(scan->call);
        }
    }
    return true;
}

static void fill_with_zeros(struct mdf_value *whole)
{
    if (whole->length > 0) {
        memset(whole->data, 0, whole->length * mdf_dtype_size((mdf_dtype)whole->dtype));
    }
}

static bool put_slices(struct scan8 *scan, size_t batch, size_t t)
{
    for (size_t i = 0; i < scan->n_scan_outputs; i++) {
        struct mdf_stack *stack = &scan->scans[i];
        bool first = stack->length == 0;
        const struct mdf_value *slice = scan->body->outputs[scan->n_states + i];

        if (!mdf_stack_put(scan->call, stack, slice, batch * scan->length + t)) {
            return false;
        }
        if (first && slice->dtype != MDF_DTYPE_STRING) { /* what stays unwritten is padding; this slice is written again */
            fill_with_zeros(stack->whole);
            stack->length--;
            if (!mdf_stack_put(scan->call, stack, slice, batch * scan->length + t)) {
                return false;
            }
        }
    }
    return true;
}

static bool run_entry(struct scan8 *scan, size_t batch)
{
    struct mdf_memory *memory = scan->call->context->memory;
    size_t length = scan->lengths != NULL ? (size_t)scan->lengths[batch] : scan->length, i, t;

    for (i = 0; i < scan->n_states; i++) {
        if (!mdf_stack_take(memory, scan->body->inputs[i], scan->call->inputs[FIRST_OPERAND + i], 0, batch)) {
            return mdf_call_out_of_memory(scan->call);
        }
    }
    for (t = 0; t < length; t++) {
        if (!set_slices(scan, batch, t, length) || !scan->body->run(scan->body) || !put_slices(scan, batch, t) ||
            !mdf_body_carry(scan->call, scan->body, 0, 0, scan->n_states)) {
            mdf_error_append(&scan->call->context->error, " (iteration %zu of entry %zu of onnx::Scan)", t, batch);
            return false;
        }
        if (mdf_should_stop(scan->call->context)) {
            return false;
        }
    }
    for (i = 0; i < scan->n_states; i++) {
        if (!mdf_stack_put(scan->call, &scan->states[i], scan->body->inputs[i], batch)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ outputs */

/* [batch * length, ...] to [batch, length, ...]. */
static bool split_first_axis(struct scan8 *scan, struct mdf_value *whole)
{
    struct mdf_memory *memory = scan->call->context->memory;
    struct mdf_value *other = &scan->call->scratch[2];
    size_t rank = whole->rank + 1;
    int64_t *shape = mdf_memory_allocate_zeroed(memory, rank, sizeof *shape);
    bool made;

    if (shape == NULL) {
        return mdf_call_out_of_memory(scan->call);
    }
    shape[0] = (int64_t)scan->n_batches;
    shape[1] = (int64_t)scan->length;
    memcpy(shape + 2, mdf_value_shape(whole) + 1, (rank - 2) * sizeof *shape);
    made = mdf_value_reshape(memory, other, whole, rank, shape);
    mdf_memory_release(memory, shape);
    mdf_value_swap(other, whole);
    return made || mdf_call_out_of_memory(scan->call);
}

/* Padding: zeros are there where items have been put, but not where no sequence has one; empty strings are not there yet. */
static bool pad(struct scan8 *scan, struct mdf_value *whole, bool is_padding)
{
    char **strings = whole->data;

    if (whole->dtype != MDF_DTYPE_STRING) {
        if (is_padding) {
            fill_with_zeros(whole);
        }
        return true;
    }
    for (size_t i = 0; i < whole->length; i++) {
        if (strings[i] == NULL && (strings[i] = mdf_string_new(scan->call->context->memory, "", 0)) == NULL) {
            return mdf_call_out_of_memory(scan->call);
        }
    }
    return true;
}

static bool end(struct scan8 *scan)
{
    const struct mdf_static_type *types = scan->body->output_types;

    for (size_t i = 0; i < scan->n_states; i++) {
        /* The stacks wrote to scratch places beside the outputs that carrying uses. */
        mdf_value_swap(scan->call->outputs[i], scan->states[i].whole);
        scan->states[i].whole = scan->call->outputs[i];
        if (!mdf_stack_end(scan->call, &scan->states[i], &types[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < scan->n_scan_outputs; i++) {
        struct mdf_value *output = scan->call->outputs[scan->n_states + i];
        struct mdf_stack *stack = &scan->scans[i];
        bool is_padding = stack->length == 0; /* all of it */

        if (is_padding && !mdf_stack_end(scan->call, stack, &types[scan->n_states + i])) {
            return false;
        }
        if (!split_first_axis(scan, output) || !pad(scan, output, is_padding)) {
            return false;
        }
    }
    return true;
}

/* Places for the stacks, and for the stacked states. */
static bool begin(struct scan8 *scan)
{
    struct mdf_memory *memory = scan->call->context->memory;
    int64_t bytes = (int64_t)((scan->n_states + scan->n_scan_outputs) * sizeof *scan->scans);
    struct mdf_value *places;

    scan->states = mdf_value_make_tensor(memory, &scan->call->scratch[1], MDF_DTYPE_UINT8, 1, &bytes);
    places = mdf_value_make_list(memory, &scan->call->scratch[3], scan->n_states);
    if (scan->states == NULL || places == NULL) {
        return mdf_call_out_of_memory(scan->call);
    }
    scan->scans = scan->states + scan->n_states;
    for (size_t i = 0; i < scan->n_states; i++) {
        mdf_stack_begin(&scan->states[i], &places[i], 0, scan->n_batches);
    }
    for (size_t i = 0; i < scan->n_scan_outputs; i++) {
        mdf_stack_begin(&scan->scans[i], scan->call->outputs[scan->n_states + i], 0, scan->n_batches * scan->length);
    }
    return true;
}

static bool run_entries(struct scan8 *scan)
{
    for (size_t batch = 0; batch < scan->n_batches; batch++) {
        if (!run_entry(scan, batch)) {
            return false;
        }
    }
    return true;
}

static bool run_scan8(struct mdf_call *call)
{
    struct scan8 scan = {.call = call, .settings = call->settings, .body = call->bodies[0]};

    scan.n_scan_inputs = (size_t)scan.settings->num_scan_inputs;
    scan.n_states = call->n_inputs - FIRST_OPERAND - scan.n_scan_inputs;
    scan.n_scan_outputs = scan.body->n_outputs - scan.n_states;
    return (check(&scan) && begin(&scan) && run_entries(&scan) && end(&scan)) || mdf_stack_drop(call, 0);
}

const struct mdf_operator mdf_operators_scan8[] = {
    {"Scan", 8, 8, run_scan8, scan8_settings, sizeof(struct scan8_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL,
     .form = MDF_FORM_SCAN, .infer = &mdf_rule_scan},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
