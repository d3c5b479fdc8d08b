/* infer_control_flow.c - what can be known of Scan, Loop and If before they run: the types that their bodies are handed, the
 * types that they give, and every fault that does not depend on values. The checks are those of ONNX's own inference functions of
 * each version; shapes of If's branches must agree in version 1 and are united from 11 on. */
#include "schemas/inference.h"

#include <string.h>

enum { FIRST_SCAN_WITHOUT_BATCH = 9, FIRST_IF_WITH_SHAPE_UNION = 11 };

/* ------------------------------------------------------------------ types by version */

static bool allows(const struct mdf_formal *formal, const struct mdf_static_type *type)
{
    mdf_dtype_set set = type->kind == MDF_STATIC_SEQUENCE ? formal->sequence_types
                        : type->kind == MDF_STATIC_TENSOR
                            ? formal->tensor_types
                            : formal->tensor_types | formal->sequence_types | formal->optional_types;

    return (type->kind == MDF_STATIC_UNKNOWN || type->kind == MDF_STATIC_OMITTED || set != 0) &&
           (type->dtype == MDF_DTYPE_NONE || (set & MDF_DTYPE_BIT(type->dtype)) != 0);
}

/* The first version after this one that allows what this one does not; 0: none does. */
static int first_version_with(const struct mdf_inference *inference, bool output, size_t i, const struct mdf_static_type *type)
{
    const struct mdf_schema *schema = inference->schema, *later;

    for (int opset = schema->since + 1; opset <= mdf_schema_newest_opset(); opset++) {
        later = mdf_schema_find(schema->domain, schema->name, opset);
        if (later->since > schema->since &&
            allows(output ? mdf_schema_actual_output(later, i) : mdf_schema_actual_input(later, i), type)) {
            return later->since;
        }
    }
    return 0;
}

static bool check_allowed(struct mdf_inference *inference, bool output, size_t i, const char *what, size_t number,
                          const struct mdf_static_type *type)
{
    const struct mdf_schema *schema = inference->schema;
    const struct mdf_formal *formal = output ? mdf_schema_actual_output(schema, i) : mdf_schema_actual_input(schema, i);
    char text[120];
    int version;

    if (formal == NULL || allows(formal, type)) {
        return true;
    }
    mdf_static_describe(type, text, sizeof text);
    version = first_version_with(inference, output, i, type);
    return version > 0
               ? mdf_infer_error(inference, MDF_TYPE, "%s %zu of version %d can not be %s: version %d is the first to allow it",
                                 what, number, schema->since, text, version)
               : mdf_infer_error(inference, MDF_TYPE, "%s %zu can not be %s", what, number, text);
}

static bool has_one_element(const struct mdf_static_type *type)
{
    for (size_t i = 0; type->has_shape && i < type->rank; i++) {
        if (type->shape[i] >= 0 && type->shape[i] != 1) {
            return false;
        }
    }
    return true;
}

/* A trip count or a condition: one element of one type. */
static bool check_scalar(struct mdf_inference *inference, const struct mdf_static_type *type, mdf_dtype dtype, const char *what)
{
    char text[120];

    if (type->kind != MDF_STATIC_SEQUENCE && (type->dtype == MDF_DTYPE_NONE || type->dtype == dtype) && has_one_element(type)) {
        return true;
    }
    mdf_static_describe(type, text, sizeof text);
    return mdf_infer_error(inference, MDF_TYPE, "%s must be one %s, not %s", what,
                           dtype == MDF_DTYPE_BOOL ? "boolean" : "whole number (int64)", text);
}

/* Whether a state variable comes out of the body as it went in. */
static bool check_state(struct mdf_inference *inference, size_t number, const struct mdf_static_type *before,
                        const struct mdf_static_type *after, bool keeps_shape)
{
    bool types = mdf_static_types_differ(before, after);
    char texts[2][120];

    if (!types && (!keeps_shape || !mdf_static_shapes_differ(before, after))) {
        return true;
    }
    mdf_static_describe(before, texts[0], sizeof texts[0]);
    mdf_static_describe(after, texts[1], sizeof texts[1]);
    return mdf_infer_error(inference, types ? MDF_TYPE : MDF_SHAPE,
                           "state variable %zu enters the body as %s and leaves it as %s", number, texts[0], texts[1]);
}

/* A state variable's last value: its initial one where the body never runs. */
static bool state_output(struct mdf_inference *inference, const struct mdf_static_type *before,
                         const struct mdf_static_type *after, bool keeps_shape, struct mdf_static_type *output)
{
    if (!mdf_static_merge(inference->arena, before, after, output)) {
        return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
    }
    output->dtype = before->dtype;
    output->kind = before->kind;
    output->has_shape = output->has_shape && keeps_shape && before->has_shape;
    return true;
}

/* ------------------------------------------------------------------ attributes of Scan */

static bool integers(const struct mdf_inference *inference, const char *name, const int64_t **items, size_t *n)
{
    *items = NULL;
    *n = 0;
    return inference->attribute(inference, name, items, n);
}

/* A list with an entry for each scan input or output, if it is given. */
static bool check_list(struct mdf_inference *inference, const char *name, size_t n_wanted, const char *what,
                       const int64_t **items)
{
    size_t n;

    return !integers(inference, name, items, &n) || n == n_wanted ||
           mdf_infer_error(inference, MDF_VALUE, "%s has %zu entries, but there are %zu scan %s", name, n, n_wanted, what);
}

static bool check_directions(struct mdf_inference *inference, const char *name, size_t n, const char *what)
{
    const int64_t *items;

    if (!check_list(inference, name, n, what, &items)) {
        return false;
    }
    for (size_t i = 0; items != NULL && i < n; i++) {
        if (items[i] != 0 && items[i] != 1) {
            return mdf_infer_error(inference, MDF_VALUE, "%s must be 0 (forward) or 1 (reverse), not %lld", name,
                                   (long long)items[i]);
        }
    }
    return true;
}

static bool check_axis(struct mdf_inference *inference, const char *name, int64_t axis, size_t rank, size_t *result)
{
    *result = 0;
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return mdf_infer_error(inference, MDF_VALUE, "%s: axis %lld is out of range for an array of %zu axes", name,
                               (long long)axis, rank);
    }
    *result = (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return true;
}

/* ------------------------------------------------------------------ Scan: inputs */

/* How the inputs of one version lie. */
struct scan {
    bool batched; /* version 8: sequence_lens comes first, the first axis is the batch */
    size_t first, n_states, n_scan_inputs;
    int64_t batch, length; /* -1: unknown */
};

static bool find_scan(struct mdf_inference *inference, struct scan *scan)
{
    const int64_t *items;
    size_t n;

    memset(scan, 0, sizeof *scan);
    scan->batched = inference->schema->since < FIRST_SCAN_WITHOUT_BATCH;
    scan->first = scan->batched ? 1 : 0;
    scan->batch = scan->length = -1;
    if (!integers(inference, "num_scan_inputs", &items, &n) || n != 1 || items[0] < 1 || inference->n_inputs < scan->first ||
        (uint64_t)items[0] > inference->n_inputs - scan->first) {
        return mdf_infer_error(inference, MDF_VALUE, "num_scan_inputs must be between 1 and the number of inputs given");
    }
    scan->n_scan_inputs = (size_t)items[0];
    scan->n_states = inference->n_inputs - scan->first - scan->n_scan_inputs;
    return true;
}

/* Two sizes that must be one. */
static bool agree(struct mdf_inference *inference, const char *what, int64_t *known, int64_t size)
{
    if (*known >= 0 && size >= 0 && *known != size) {
        return mdf_infer_error(inference, MDF_SHAPE, "%s differs between the inputs: %lld and %lld", what, (long long)*known,
                               (long long)size);
    }
    *known = size >= 0 ? size : *known;
    return true;
}

/* A type without one of its axes. */
static bool without_axis(struct mdf_inference *inference, const struct mdf_static_type *type, size_t axis,
                         struct mdf_static_type *result)
{
    struct mdf_static_type whole = *type;
    int64_t *shape;

    *result = whole;
    result->value = NULL;
    shape = mdf_infer_shape(inference, result, whole.rank - 1);
    for (size_t i = 0; shape != NULL && i + 1 < whole.rank; i++) {
        shape[i] = whole.shape[i < axis ? i : i + 1];
    }
    return shape != NULL;
}

static bool take_batch(struct mdf_inference *inference, struct scan *scan, size_t i, struct mdf_static_type *formal)
{
    if (!scan->batched || !formal->has_shape) {
        return true;
    }
    if (formal->rank == 0) {
        return mdf_infer_error(inference, MDF_SHAPE, "input %zu is a scalar: it has no batch axis", i);
    }
    return agree(inference, "the batch size", &scan->batch, formal->shape[0]) && without_axis(inference, formal, 0, formal);
}

static bool take_slice(struct mdf_inference *inference, struct scan *scan, int64_t axis, size_t i, struct mdf_static_type *formal)
{
    size_t place;

    if (!formal->has_shape) {
        return true;
    }
    if (formal->rank == 0) {
        return mdf_infer_error(inference, MDF_SHAPE, "scan input %zu is a scalar: it has no axis to scan", i);
    }
    return check_axis(inference, "scan_input_axes", axis, formal->rank, &place) &&
           agree(inference, "the length of the sequence", &scan->length, formal->shape[place]) &&
           without_axis(inference, formal, place, formal);
}

static bool scan_formals(struct mdf_inference *inference, struct scan *scan, struct mdf_static_type *formals)
{
    const int64_t *axes = NULL;

    if (!scan->batched && !check_list(inference, "scan_input_axes", scan->n_scan_inputs, "inputs", &axes)) {
        return false;
    }
    for (size_t i = 0; i < scan->n_states + scan->n_scan_inputs; i++) {
        size_t at = scan->first + i;

        if (inference->inputs[at].kind == MDF_STATIC_OMITTED) {
            return mdf_infer_error(inference, MDF_MODEL, "input %zu is left out: a body needs all its states and scan inputs",
                                   at);
        }
        formals[i] = inference->inputs[at];
        formals[i].value = NULL;
        if (!check_allowed(inference, false, at, "input", at, &formals[i]) || !take_batch(inference, scan, at, &formals[i])) {
            return false;
        }
        if (i >= scan->n_states &&
            !take_slice(inference, scan, axes != NULL ? axes[i - scan->n_states] : 0, i - scan->n_states, &formals[i])) {
            return false;
        }
    }
    return true;
}

static bool infer_scan_formals(struct mdf_inference *inference, struct scan *scan, struct mdf_static_type *formals)
{
    const struct mdf_static_type *lengths = inference->inputs;

    if (!find_scan(inference, scan)) {
        return false;
    }
    if (scan->batched && lengths->has_shape && lengths->rank != 1) {
        return mdf_infer_error(inference, MDF_SHAPE, "sequence_lens must be a list: one length for each sequence of the batch");
    }
    if (scan->batched && lengths->has_shape && !agree(inference, "the batch size", &scan->batch, lengths->shape[0])) {
        return false;
    }
    return check_directions(inference, scan->batched ? "directions" : "scan_input_directions", scan->n_scan_inputs, "inputs") &&
           scan_formals(inference, scan, formals);
}

/* ------------------------------------------------------------------ Scan: outputs */

/* A yield in every iteration, of every batch: with the axes that stacking adds. */
static bool stacked(struct mdf_inference *inference, const struct scan *scan, const struct mdf_static_type *slice, int64_t axis,
                    struct mdf_static_type *output)
{
    size_t rank = slice->rank + 1, n_leading = scan->batched ? 1 : 0, place;
    int64_t *shape;

    output->kind = MDF_STATIC_TENSOR;
    output->dtype = slice->dtype;
    if (!slice->has_shape) {
        return true;
    }
    if (!check_axis(inference, "scan_output_axes", axis, rank, &place)) {
        return false;
    }
    shape = mdf_infer_shape(inference, output, rank + n_leading);
    if (shape == NULL) {
        return false;
    }
    shape[0] = scan->batch; /* written over where there is none */
    shape += n_leading;
    for (size_t i = 0; i < rank; i++) {
        shape[i] = i == place ? scan->length : slice->shape[i < place ? i : i - 1];
    }
    return true;
}

static bool infer_scan(struct mdf_inference *inference)
{
    const struct mdf_static_body *body = &inference->bodies[0];
    struct mdf_static_type *formals = mdf_arena_array(inference->arena, inference->n_inputs, sizeof *formals);
    const int64_t *axes = NULL;
    struct scan scan;
    size_t n_scan_outputs;

    if (formals == NULL) {
        return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
    }
    if (!infer_scan_formals(inference, &scan, formals)) {
        return false;
    }
    n_scan_outputs = body->n_yields - scan.n_states;
    if (!scan.batched && (!check_list(inference, "scan_output_axes", n_scan_outputs, "outputs", &axes) ||
                          !check_directions(inference, "scan_output_directions", n_scan_outputs, "outputs"))) {
        return false;
    }
    for (size_t i = 0; i < body->n_yields && i < inference->n_outputs; i++) {
        struct mdf_static_type *output = &inference->outputs[i];
        bool is_state = i < scan.n_states;

        if (!check_allowed(inference, true, i, "output", i, &body->yields[i]) ||
            (is_state && !check_state(inference, i, &formals[i], &body->yields[i], true))) {
            return false;
        }
        *output = mdf_static_unknown;
        if (is_state
                ? !state_output(inference, &inference->inputs[scan.first + i], &inference->inputs[scan.first + i], true, output)
                : !stacked(inference, &scan, &body->yields[i], axes != NULL ? axes[i - scan.n_states] : 0, output)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ Loop */

enum { LOOP_FIRST_STATE = 2, LOOP_FIRST_YIELD = 1 };

/* Shapes of states may change from iteration to iteration: only kinds and element types go in. */
static bool infer_loop_formals(struct mdf_inference *inference, struct mdf_static_type *formals)
{
    if ((inference->n_inputs > 0 && !check_scalar(inference, &inference->inputs[0], MDF_DTYPE_INT64, "the trip count M")) ||
        (inference->n_inputs > 1 && !check_scalar(inference, &inference->inputs[1], MDF_DTYPE_BOOL, "the condition cond"))) {
        return false;
    }
    formals[0] = formals[1] = mdf_static_unknown;
    formals[0].kind = formals[1].kind = MDF_STATIC_TENSOR;
    formals[0].dtype = MDF_DTYPE_INT64;
    formals[1].dtype = MDF_DTYPE_BOOL;
    for (size_t i = LOOP_FIRST_STATE; i < inference->n_inputs; i++) {
        if (inference->inputs[i].kind == MDF_STATIC_OMITTED) {
            return mdf_infer_error(inference, MDF_MODEL, "state variable %zu is left out: it needs an initial value",
                                   i - LOOP_FIRST_STATE);
        }
        if (!check_allowed(inference, false, i, "state variable", i - LOOP_FIRST_STATE, &inference->inputs[i])) {
            return false;
        }
        formals[i] = mdf_static_unknown;
        formals[i].kind = inference->inputs[i].kind;
        formals[i].dtype = inference->inputs[i].dtype;
    }
    return true;
}

static bool infer_loop_output(struct mdf_inference *inference, size_t i, size_t n_states, const struct mdf_static_type *yield)
{
    static const struct scan unbatched = {.batch = -1, .length = -1};
    const struct mdf_static_type *initial = &inference->inputs[LOOP_FIRST_STATE + i];

    if (!check_allowed(inference, true, i, "output", i, yield)) {
        return false;
    }
    inference->outputs[i] = mdf_static_unknown;
    if (i < n_states) {
        return check_state(inference, i, initial, yield, false) &&
               state_output(inference, initial, initial, false, &inference->outputs[i]);
    }
    if (yield->kind == MDF_STATIC_SEQUENCE) {
        return mdf_infer_error(inference, MDF_TYPE, "scan output %zu must be an array, not a sequence", i - n_states);
    }
    return stacked(inference, &unbatched, yield, 0, &inference->outputs[i]);
}

static bool infer_loop(struct mdf_inference *inference)
{
    const struct mdf_static_body *body = &inference->bodies[0];
    size_t n_states = inference->n_inputs > LOOP_FIRST_STATE ? inference->n_inputs - LOOP_FIRST_STATE : 0;

    if (!check_scalar(inference, &body->yields[0], MDF_DTYPE_BOOL, "the condition that the body yields")) {
        return false;
    }
    for (size_t i = 0; i + LOOP_FIRST_YIELD < body->n_yields && i < inference->n_outputs; i++) {
        if (!infer_loop_output(inference, i, n_states, &body->yields[LOOP_FIRST_YIELD + i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ If */

static bool infer_if_output(struct mdf_inference *inference, size_t i)
{
    const struct mdf_static_type *a = &inference->bodies[0].yields[i], *b = &inference->bodies[1].yields[i];
    bool types = mdf_static_types_differ(a, b);
    char texts[2][120];

    if (!check_allowed(inference, true, i, "output", i, a) || !check_allowed(inference, true, i, "output", i, b)) {
        return false;
    }
    if (types || (inference->schema->since < FIRST_IF_WITH_SHAPE_UNION && mdf_static_shapes_differ(a, b))) {
        mdf_static_describe(a, texts[0], sizeof texts[0]);
        mdf_static_describe(b, texts[1], sizeof texts[1]);
        return mdf_infer_error(inference, types ? MDF_TYPE : MDF_SHAPE,
                               "the branches disagree about output %zu: then_branch gives %s, else_branch %s%s", i, texts[0],
                               texts[1], types ? "" : " (shapes may differ from version 11 on)");
    }
    return mdf_static_union(inference->arena, a, b, &inference->outputs[i]) ||
           mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
}

static bool infer_if(struct mdf_inference *inference)
{
    if (!check_scalar(inference, &inference->inputs[0], MDF_DTYPE_BOOL, "the condition")) {
        return false;
    }
    for (size_t i = 0; i < inference->n_outputs && inference->n_bodies == 2 && i < inference->bodies[0].n_yields; i++) {
        if (!infer_if_output(inference, i)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ SequenceMap */

/* Each output is a sequence of what the body yields. */
static bool infer_sequence_map(struct mdf_inference *inference)
{
    const struct mdf_static_body *body = &inference->bodies[0];

    for (size_t i = 0; i < inference->n_outputs; i++) {
        bool known = inference->n_bodies == 1 && i < body->n_yields && body->yields[i].kind == MDF_STATIC_TENSOR;

        inference->outputs[i] = mdf_static_unknown;
        inference->outputs[i].kind = MDF_STATIC_SEQUENCE;
        inference->outputs[i].dtype = known ? body->yields[i].dtype : MDF_DTYPE_NONE;
    }
    return true;
}

/* ------------------------------------------------------------------ table */

static bool scan_body(struct mdf_inference *inference)
{
    struct scan scan;

    return infer_scan_formals(inference, &scan, inference->bodies[0].formals);
}

static bool loop_body(struct mdf_inference *inference)
{
    return infer_loop_formals(inference, inference->bodies[0].formals);
}

const struct mdf_rule mdf_rule_scan = {.outputs = infer_scan, .formals = scan_body};
const struct mdf_rule mdf_rule_loop = {.outputs = infer_loop, .formals = loop_body};
const struct mdf_rule mdf_rule_if = {.outputs = infer_if};
const struct mdf_rule mdf_rule_sequence_map = {.outputs = infer_sequence_map};
