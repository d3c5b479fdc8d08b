/* widen_draw.c - kernels that draw random numbers. Each lane has generators of its own, in a context: the kernel is called for one
 * lane after the other, with its context, but not for those that the mask leaves out, which draw nothing. For all lanes that is
 * one call, of a kernel that does this. See widening.h. */
#include "functions/kernel/coerce.h"
#include "mdf_c/lower/lanes/widening.h"

#include <string.h>

/* What that kernel is told; its inputs are those of the call, then the mask, if there is one. */
struct draws {
    struct mdf_call single; /* of one lane */
    size_t n_lanes;
    bool has_mask, weakens;
    struct mdf_context *const *const *contexts;
    const bool *varies;                /* of each input */
    const struct mdf_value **inputs;   /* of the single call: that of all lanes, or one of `taken` */
    struct mdf_value *const *taken;    /* of each input that varies: what one lane has of it */
    struct mdf_value *const *made;     /* of each output */
    const struct mdf_value *forms;     /* of each output: what one lane gets has to be of */
};

/* ------------------------------------------------------------------ running */

/* The elements of a lane lie `n_lanes` apart. */
static void copy_lane(char *target, size_t target_step, const char *source, size_t source_step, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(target + i * target_step * size, source + i * source_step * size, size);
    }
}

static void take_inputs(struct mdf_call *call, const struct draws *draws, size_t lane)
{
    for (size_t i = 0; i < draws->single.n_inputs; i++) {
        const struct mdf_value *wide = call->inputs[i];
        size_t size;

        if (draws->varies[i]) {
            size = mdf_dtype_size((mdf_dtype)wide->dtype);
            copy_lane(draws->taken[i]->data, 1, (const char *)wide->data + lane * size, draws->n_lanes, draws->taken[i]->length, size);
        } else {
            draws->inputs[i] = wide;
        }
    }
}

static bool has_form(const struct mdf_value *value, const struct mdf_value *form)
{
    return value->kind == MDF_KIND_TENSOR && value->dtype == form->dtype && value->strength == form->strength &&
           mdf_value_has_shape_of(value, form);
}

static bool give_results(struct mdf_call *call, const struct draws *draws, size_t lane)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        const struct mdf_value *made = draws->made[i];
        size_t size;

        if (call->outputs[i] == NULL) {
            continue;
        }
        if (!has_form(made, &draws->forms[i])) {
            return false;
        }
        size = mdf_dtype_size((mdf_dtype)made->dtype);
        copy_lane((char *)call->outputs[i]->data + lane * size, draws->n_lanes, made->data, 1, made->length, size);
    }
    return true;
}

/* Results that no lane draws are there too. */
static bool make_results(struct mdf_call *call, const struct draws *draws)
{
    int64_t shape[MDF_INLINE_RANK];

    for (size_t i = 0; i < call->n_outputs; i++) {
        const struct mdf_value *form = &draws->forms[i];
        bool is_new = call->outputs[i] != NULL && call->outputs[i]->kind != MDF_KIND_TENSOR;
        void *elements;

        if (call->outputs[i] == NULL || !mdf_lanes_form(form, draws->n_lanes, shape)) {
            continue;
        }
        elements = mdf_call_output(call, i, (mdf_dtype)form->dtype, form->rank + 1u, shape);
        if (elements == NULL) {
            return false;
        }
        if (is_new) {
            memset(elements, 0, call->outputs[i]->length * mdf_dtype_size((mdf_dtype)form->dtype));
        }
    }
    return true;
}

static bool draw(struct mdf_call *call)
{
    const struct draws *draws = call->settings;
    const uint8_t *mask = draws->has_mask ? call->inputs[call->n_inputs - 1]->data : NULL;
    struct mdf_call single = draws->single;

    if (!make_results(call, draws)) {
        return false;
    }
    single.scratch = call->scratch;
    for (size_t lane = 0; lane < draws->n_lanes; lane++) {
        if (mask != NULL && mask[lane] == 0) {
            continue;
        }
        single.context = (*draws->contexts)[lane];
        take_inputs(call, draws, lane);
        if (!single.kernel(&single)) {
            return false;
        }
        if (draws->weakens) {
            mdf_weaken_outputs(&single);
        }
        if (!give_results(call, draws, lane)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ making */

/* A value that the form keeps. */
static struct mdf_value *keep_value(struct widening *widening)
{
    struct mdf_lowered *lowered = widening->lowering->lowered;
    struct mdf_lowered_kept *kept = mdf_arena_allocate(&lowered->arena, sizeof *kept);

    if (kept == NULL) {
        lowering_out_of_memory(widening->lowering);
        return NULL;
    }
    *kept = (struct mdf_lowered_kept){.next = lowered->kept};
    lowered->kept = kept;
    return &kept->value;
}

static bool prepare_inputs(struct widening *widening, struct draws *draws, const struct mdf_lowered_call *call)
{
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    const struct mdf_value **inputs = mdf_arena_array(arena, call->n_inputs + 1, sizeof *inputs);
    struct mdf_value **taken = mdf_arena_array(arena, call->n_inputs + 1, sizeof *taken);
    bool *varies = mdf_arena_array(arena, call->n_inputs + 1, sizeof *varies);

    if (inputs == NULL || taken == NULL || varies == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_value *form;

        varies[i] = widening_varies(widening, call->inputs[i]);
        if (!varies[i]) {
            continue;
        }
        form = &widening->narrow->values[call->inputs[i]].form;
        taken[i] = keep_value(widening);
        if (taken[i] == NULL || mdf_value_make_tensor(widening->lowering->memory, taken[i], (mdf_dtype)form->dtype, form->rank,
                                                      mdf_value_shape(form)) == NULL) {
            return lowering_out_of_memory(widening->lowering);
        }
        taken[i]->strength = form->strength;
        inputs[i] = taken[i];
    }
    draws->inputs = inputs;
    draws->single.inputs = inputs;
    draws->taken = taken;
    draws->varies = varies;
    return true;
}

static bool prepare_outputs(struct widening *widening, struct draws *draws, const struct mdf_lowered_call *call)
{
    struct mdf_arena *arena = &widening->lowering->lowered->arena;
    struct mdf_value **made = mdf_arena_array(arena, call->n_outputs + 1, sizeof *made);
    struct mdf_value *forms = mdf_arena_array(arena, call->n_outputs + 1, sizeof *forms);

    if (made == NULL || forms == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] == MDF_LOWERED_NONE) {
            continue;
        }
        forms[i] = widening->narrow->values[call->outputs[i]].form;
        if ((made[i] = keep_value(widening)) == NULL) {
            return false;
        }
    }
    draws->made = made;
    draws->single.outputs = made;
    draws->forms = forms;
    return true;
}

static struct draws *make_draws(struct widening *widening, const struct mdf_lowered_call *call, bool has_mask)
{
    struct draws *draws = mdf_arena_allocate(&widening->lowering->lowered->arena, sizeof *draws);

    if (draws == NULL) {
        lowering_out_of_memory(widening->lowering);
        return NULL;
    }
    *draws = (struct draws){.single = call->call,
                            .n_lanes = widening->n_lanes,
                            .has_mask = has_mask,
                            .weakens = call->weakens,
                            .contexts = widening->request->contexts};
    draws->single.n_inputs = call->n_inputs;
    draws->single.n_outputs = call->n_outputs;
    draws->single.constants = NULL;
    return prepare_inputs(widening, draws, call) && prepare_outputs(widening, draws, call) ? draws : NULL;
}

/* The mask, an array. */
static bool find_mask(struct widening *widening, mdf_lowered_id *mask)
{
    *mask = widening->mask;
    if (*mask != MDF_LOWERED_NONE && !widening_has_lanes(widening, *mask)) {
        *mask = widening_spread_number(widening, *mask, MDF_DTYPE_BOOL);
        return *mask != MDF_LOWERED_NONE;
    }
    return true;
}

/* Numbers that are drawn without a kernel: of each lane. */
static bool widen_numbers(struct widening *widening, const struct mdf_lowered_draw *narrow, mdf_lowered_id mask,
                          struct mdf_lowered_call *call)
{
    struct mdf_lowered_draw *draw = mdf_arena_allocate(&widening->lowering->lowered->arena, sizeof *draw);

    if (draw == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    *draw = *narrow;
    draw->seed = widening_value(widening, narrow->seed);
    for (size_t i = 0; i < MDF_DRAWING_SETTINGS; i++) {
        draw->settings[i] = widening_value(widening, narrow->settings[i]);
    }
    draw->mask = mask;
    draw->out = call->outputs[0];
    draw->n_lanes = widening->n_lanes;
    draw->contexts = widening->request->contexts;
    widening->lowering->facts[draw->out].is_product = true;
    call->draw = draw;
    return true;
}

bool widening_draw(struct widening *widening, const struct mdf_lowered_op *source)
{
    static const char no_settings = 0;
    const struct mdf_lowered_call *call = source->of.call;
    mdf_lowered_id mask, *inputs = mdf_arena_array(&widening->lowering->scratch, call->n_inputs + 1, sizeof *inputs);
    struct mdf_lowered_op op = *source;
    struct mdf_call form = call->call;
    size_t i;

    if (inputs == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    if (widening->request->contexts == NULL || !find_mask(widening, &mask)) {
        return lowering_fail(widening->lowering, MDF_REFUSED_RANDOM);
    }
    for (i = 0; i < call->n_inputs; i++) {
        inputs[i] = widening_value(widening, call->inputs[i]);
        if (inputs[i] == MDF_LOWERED_NONE && call->inputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    inputs[i] = mask;
    form.n_inputs = call->n_inputs + (mask != MDF_LOWERED_NONE);
    form.n_outputs = call->n_outputs;
    form.kernel = draw;
    form.settings = call->draw != NULL ? (const void *)&no_settings : make_draws(widening, call, mask != MDF_LOWERED_NONE);
    op.of.call = form.settings == NULL ? NULL : lowering_make_call(widening->lowering, &form, inputs);
    if (op.of.call == NULL) {
        return false;
    }
    for (i = 0; i < call->n_outputs; i++) {
        op.of.call->outputs[i] = call->outputs[i] == MDF_LOWERED_NONE ? MDF_LOWERED_NONE
                                                                      : widening_add(widening, MDF_LOWERED_RESULT, call->outputs[i]);
        if (op.of.call->outputs[i] == MDF_LOWERED_NONE && call->outputs[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    return (call->draw == NULL || widen_numbers(widening, call->draw, mask, op.of.call)) && widening_add_op(widening, &op);
}
