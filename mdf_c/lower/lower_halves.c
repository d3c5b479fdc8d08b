/* lower_halves.c - calls on float16 and bfloat16, which neither C nor processors have arithmetic for. Of a kernel that computes
 * in float32, or float64, and rounds once it is the call of the same operator on what its inputs are in that type, whose results
 * are rounded: for C source of all that it has no function for, else of one function of elements. For C source the largest of
 * bytes are found in float32 too. Elements that are only moved or chosen stay as they are; folds are nests, which round totals
 * (lower_nest.c). Each is taken where it gives the bits of the kernel on the examples. See trial.h. */
#include "functions/kernel/move.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

static bool is_half_array(const struct mdf_value *value)
{
    return value != NULL && value->kind == MDF_KIND_TENSOR && mdf_dtype_is_half((mdf_dtype)value->dtype);
}

static bool has_half_inputs(const struct trial *trial)
{
    size_t i;

    for (i = 0; i < trial->n && !(trial->ids[i] != MDF_LOWERED_NONE && is_half_array(trial->effective[i])); i++) {
    }
    return i < trial->n;
}

static bool has_half_results(const struct trial *trial)
{
    size_t i;

    for (i = 0; i < trial->source->n_outputs && !(trial->outputs[i] != NULL && is_half_array(&trial->results[i])); i++) {
    }
    return i < trial->source->n_outputs;
}

/* Whether a kernel of one array of bytes computes with them in float32, as a pool that chooses some of them does. */
static bool is_of_bytes(const struct trial *trial)
{
    const struct mdf_value *x = trial->effective[0], *result = &trial->results[0];

    return trial->n == 1 && trial->source->n_outputs == 1 && trial->ids[0] != MDF_LOWERED_NONE && x->kind == MDF_KIND_TENSOR &&
           (x->dtype == MDF_DTYPE_INT8 || x->dtype == MDF_DTYPE_UINT8) && result->kind == MDF_KIND_TENSOR &&
           result->dtype == x->dtype && trial->trace.works_in == MDF_DTYPE_FLOAT32;
}

/* ------------------------------------------------------------------ a call in a wider type */

/* float64 where a kernel computes in that what it rounds to a half. */
static mdf_dtype wide_dtype(const struct trial *trial)
{
    return trial->trace.works_in == MDF_DTYPE_FLOAT64 && has_half_results(trial) ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
}

/* The same call of values in slots from 0 on, whose results are in those behind; NULL: memory was refused. */
static struct mdf_code_call *make_wide_call(struct lowering *lowering, const struct trial *trial)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    size_t n = trial->n, n_outputs = trial->source->n_outputs;
    struct mdf_code_call *wide = mdf_arena_allocate(arena, sizeof *wide);
    mdf_operand *operands = mdf_arena_array(arena, n + n_outputs, sizeof *operands);

    if (wide == NULL || operands == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    *wide = *trial->source;
    wide->signature = NULL; /* inputs have the types that the operator wants */
    wide->inputs = operands;
    wide->outputs = operands + n;
    wide->n_inputs = n;
    for (size_t i = 0; i < n + n_outputs; i++) {
        bool is_there = i < n ? trial->ids[i] != MDF_LOWERED_NONE : trial->outputs[i - n] != NULL;

        operands[i] = is_there ? MDF_OPERAND(MDF_OPERAND_SLOT, (unsigned)i) : MDF_NO_OPERAND;
    }
    return wide;
}

/* The half that the kernel's loop meets an input in which has another type, as a Python number beside a half has; NONE: in none.
 */
static mdf_dtype half_made_of(const struct trial *trial, size_t i)
{
    const struct mdf_value *operand = trial->trace.n_operands == trial->n ? trial->trace.operands[i] : NULL;

    return !is_half_array(trial->effective[i]) && is_half_array(operand) ? (mdf_dtype)operand->dtype : MDF_DTYPE_NONE;
}

static bool bind_wide_inputs(struct lowering *lowering, struct scope *own, const struct mdf_code_call *wide,
                             const struct trial *trial)
{
    for (size_t i = 0; i < trial->n; i++) {
        mdf_lowered_id id = trial->forms[i] != MDF_LOWERED_NONE ? trial->forms[i] : trial->ids[i];

        if (id != MDF_LOWERED_NONE && half_made_of(trial, i) != MDF_DTYPE_NONE) {
            id = lowering_cast(lowering, id, half_made_of(trial, i));
        }
        if (id != MDF_LOWERED_NONE && (is_half_array(lowering_example(lowering, id)) || is_of_bytes(trial))) {
            id = lowering_cast(lowering, id, wide_dtype(trial));
        }
        if (wide->inputs[i] != MDF_NO_OPERAND && (id == MDF_LOWERED_NONE || !lowering_bind(lowering, own, wide->inputs[i], id))) {
            return false;
        }
    }
    return true;
}

/* A result as the call has it: rounded, if it is a half. NONE: it is another one, or it failed. */
static mdf_lowered_id rounded_result(struct lowering *lowering, const struct trial *trial, size_t output, mdf_lowered_id id)
{
    const struct mdf_value *result = &trial->results[output];

    if (id != MDF_LOWERED_NONE && is_of_bytes(trial)) {
        id = lowering_cast_by(lowering, id, MDF_DTYPE_INT32, trial->source->operator);
        id = lowering_cast(lowering, id, (mdf_dtype)result->dtype);
    }
    if (id != MDF_LOWERED_NONE && is_half_array(result) && lowering_example(lowering, id)->dtype == wide_dtype(trial)) {
        id = lowering_cast(lowering, id, (mdf_dtype)result->dtype);
    }
    return id != MDF_LOWERED_NONE && mdf_value_has_form_of(lowering_example(lowering, id), result) &&
                   memcmp(lowering_example(lowering, id)->data, result->data,
                          result->length * mdf_dtype_size((mdf_dtype)result->dtype)) == 0
               ? id
               : MDF_LOWERED_NONE;
}

/* Binds the results of the wide call, where all are those of the call. */
static bool bind_results(struct lowering *lowering, struct scope *scope, const struct trial *trial, struct scope *own,
                         const struct mdf_code_call *wide, bool *taken)
{
    size_t n = trial->source->n_outputs;
    mdf_lowered_id *ids = mdf_arena_array(&lowering->scratch, n, sizeof *ids);

    if (ids == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *taken = true;
    for (size_t i = 0; i < n && *taken; i++) {
        if (trial->outputs[i] != NULL) {
            ids[i] = rounded_result(lowering, trial, i, lowering_value_of(lowering, own, wide->outputs[i]));
            *taken = ids[i] != MDF_LOWERED_NONE;
        }
    }
    for (size_t i = 0; i < n && *taken; i++) {
        if (trial->outputs[i] != NULL && !lowering_bind(lowering, scope, trial->source->outputs[i], ids[i])) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}

static bool lower_widely(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    const struct mdf_code_call *wide = make_wide_call(lowering, trial);
    struct trial again = {.source = wide};
    struct scope own = {0};
    bool done = wide != NULL && bind_wide_inputs(lowering, &own, wide, trial);

    done = done && lowering_begin_trial(lowering, &again) && lowering_try(lowering, &own, &again) &&
           lowering_add_tried(lowering, &own, &again) && bind_results(lowering, scope, trial, &own, wide, taken);
    lowering_end_trial(lowering, &again);
    return done;
}

/* ------------------------------------------------------------------ all */

/* Whether the call gives its input's elements in another type. */
static bool is_cast(const struct trial *trial)
{
    const struct mdf_move *move = trial->source->operator->move;

    return move != NULL && move->in_order && trial->n > 0 && trial->ids[0] != MDF_LOWERED_NONE && trial->outputs[0] != NULL &&
           trial->effective[0]->dtype != trial->results[0].dtype;
}

/* Whether it is one that no ops of the form do, but a function for C source: of types of fewer than 8 bits or floats of 8, for
 * example. */
static bool is_unwritten_cast(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *to = &trial->results[0];
    bool has_routine = trial->source->operator->routine != NULL;

    return is_cast(trial) && has_routine && trial->effective[0]->kind == MDF_KIND_TENSOR && to->kind == MDF_KIND_TENSOR &&
           !lowering_is_constant(lowering, trial->ids[0]) &&
           !lowering_has_cast((mdf_dtype)trial->effective[0]->dtype, (mdf_dtype)to->dtype);
}

static bool lower_cast(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    mdf_lowered_id id = lowering_cast_by(lowering, trial->ids[0], (mdf_dtype)trial->results[0].dtype, trial->source->operator);

    *taken = lowering_is_result(lowering, trial, id);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id));
}

/* Whether it runs one loop, in whose operands halves have become something wider, or truths. */
static bool meets_wider(const struct trial *trial)
{
    size_t i;

    for (i = 0; i < trial->trace.n_operands && !is_half_array(trial->trace.operands[i]); i++) {
    }
    return trial->trace.n_calls == 1 && trial->trace.loop != NULL && i == trial->trace.n_operands;
}

/* Whether the kernel makes of the same numbers in a wider type the same. */
static bool works_in_wider(const struct trial *trial)
{
    return mdf_dtype_is_real(trial->trace.works_in) || (meets_wider(trial) && !has_half_results(trial));
}

/* Whether a nest does it: kernels of anything else are as fast. */
static bool computes_elements(const struct trial *trial)
{
    return trial->trace.n_calls == 1 || is_cast(trial);
}

bool lowering_meets_halves(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_operator *operator= trial->source->operator;
    bool is_choice = trial->trace.n_calls == 1 && trial->trace.operation->selects;
    bool is_elsewhere = is_choice || operator->fold != NULL ||(operator->move != NULL && !is_cast(trial));

    if (!lowering->is_for_source) {
        return !is_elsewhere && computes_elements(trial) && (has_half_inputs(trial) || has_half_results(trial));
    }
    return is_unwritten_cast(lowering, trial) ||
           (!is_elsewhere && (has_half_inputs(trial) || has_half_results(trial) || is_of_bytes(trial)));
}

bool lowering_lower_halves(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    *taken = false;
    if (is_unwritten_cast(lowering, trial)) {
        return true;
    }
    if (is_cast(trial)) {
        return lower_cast(lowering, scope, trial, taken);
    }
    return !works_in_wider(trial) || !(has_half_inputs(trial) || is_of_bytes(trial)) ||
           lower_widely(lowering, scope, trial, taken);
}
