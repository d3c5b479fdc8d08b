/* lower_routine.c - calls in loops that a function of plain C does (functions/kernel/routine.h), where that takes less than to
 * call their kernels: these look at types, shapes and attributes each time, and make room for what they give.
 *
 * Comes in: regions that are complete. Goes out: the same calls with a routine. What refuses a call, or has no function for it,
 * leaves it as it is. See lowering.h. */
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* A value as a plan may look at it: only constants have elements. False: its type or shape may be another one in the next run. */
static bool take_form(const struct lowering *lowering, mdf_lowered_id id, struct mdf_value *form)
{
    const struct mdf_lowered_value *value = &lowering->lowered->values[id];

    *form = value->form;
    if (!lowering_is_constant(lowering, id)) {
        form->data = NULL;
    }
    return value->open_axes == 0 && !value->is_list && value->form.kind == MDF_KIND_TENSOR;
}

/* The call's inputs and outputs as forms, in `values`. */
static bool take_forms(const struct lowering *lowering, const struct mdf_lowered_call *call, struct mdf_value *values,
                       const struct mdf_value **inputs, struct mdf_value **outputs)
{
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        inputs[i] = call->inputs[i] == MDF_LOWERED_NONE ? NULL : &values[i];
        if (inputs[i] != NULL && !take_form(lowering, call->inputs[i], &values[i])) {
            return false;
        }
    }
    for (values += call->n_inputs, i = 0; i < call->n_outputs; i++) {
        outputs[i] = call->outputs[i] == MDF_LOWERED_NONE ? NULL : &values[i];
        if (outputs[i] != NULL && !take_form(lowering, call->outputs[i], &values[i])) {
            return false;
        }
    }
    return true;
}

/* Memory to work in, behind what the function finds in it. */
static bool prepare(struct lowering *lowering, const struct mdf_routine *routine, const struct mdf_call *form,
                    const struct mdf_routine_plan *plan, struct mdf_lowered_routine *found)
{
    size_t n_bytes = plan->kept_bytes + plan->work_bytes;

    found->whole = plan->whole;
    found->real = plan->real;
    found->work = n_bytes > 0 ? mdf_arena_allocate(&lowering->lowered->arena, n_bytes) : NULL;
    if (n_bytes > 0 && found->work == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (routine->prepare != NULL) {
        routine->prepare(form, plan, found->work);
    }
    return true;
}

static bool is_planned(const struct mdf_routine *routine, struct mdf_call *form, struct mdf_routine_plan *plan)
{
    struct mdf_error kept = form->context->error;
    bool done;

    form->context->error = (struct mdf_error){0};
    done = routine->plan(form, plan);
    form->context->error = kept;
    return done && (plan->n_functions == 0 || routine->prepare != NULL) && plan->n_streams == 0;
}

/* The function of a call, and what it gets; none: there is none. Errors of the call are its kernel's to tell. */
static bool plan_function(struct lowering *lowering, const struct mdf_lowered_call *call, const struct mdf_routine *routine,
                          struct mdf_lowered_routine *found)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_routine_plan plan = {.arena = arena};
    struct mdf_value values[2 * MDF_LOWERED_ROUTINE_VALUES], *outputs[MDF_LOWERED_ROUTINE_VALUES];
    const struct mdf_value *inputs[MDF_LOWERED_ROUTINE_VALUES];
    struct mdf_call form = call->call;
    bool constants[MDF_LOWERED_ROUTINE_VALUES];

    if (!take_forms(lowering, call, values, inputs, outputs)) {
        return true;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        constants[i] = call->inputs[i] != MDF_LOWERED_NONE && lowering_is_constant(lowering, call->inputs[i]);
    }
    form.inputs = inputs;
    form.constants = constants;
    form.outputs = outputs;
    form.n_inputs = call->n_inputs;
    form.n_outputs = call->n_outputs;
    found->function = is_planned(routine, &form, &plan) ? routine->function(&plan) : NULL;
    if (found->function == NULL) {
        return !arena->has_refused || lowering_out_of_memory(lowering);
    }
    return prepare(lowering, routine, &form, &plan, found);
}

struct search {
    struct lowering *lowering;
    const size_t *n_reads; /* of each value */
};

static mdf_lowered_id number_of(const mdf_lowered_id *ids, size_t n, size_t i)
{
    return i < n ? ids[i] : MDF_LOWERED_NONE;
}

/* What it reads and writes, each in memory of its own. Of several results those that nothing reads are left out; the one of a
 * routine that may fail is written, read or not. */
static void connect(const struct search *search, struct mdf_lowered_call *call, struct mdf_lowered_routine *routine)
{
    struct fact *facts = search->lowering->facts;

    for (size_t i = 0; i < MDF_LOWERED_ROUTINE_VALUES; i++) {
        routine->inputs[i] = number_of(call->inputs, call->n_inputs, i);
        routine->outputs[i] = number_of(call->outputs, call->n_outputs, i);
        if (routine->outputs[i] == MDF_LOWERED_NONE) {
            continue;
        }
        facts[routine->outputs[i]].is_product = true;
        if (call->n_outputs > 1 && search->n_reads[routine->outputs[i]] == 0 && !facts[routine->outputs[i]].is_watched) {
            routine->outputs[i] = call->outputs[i] = MDF_LOWERED_NONE;
        }
    }
    call->routine = routine;
}

static bool find_routine(const struct search *search, const struct mdf_lowered_op *op)
{
    struct lowering *lowering = search->lowering;
    struct mdf_lowered_call *call = op->of.call;
    const struct mdf_routine *routine = op->operator!= NULL ? op->operator->routine : NULL;
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_routine *found;

    if (routine == NULL || routine->function == NULL || call->product != NULL || call->draw != NULL || call->stack != NULL ||
        call->n_inputs > MDF_LOWERED_ROUTINE_VALUES || call->n_outputs > MDF_LOWERED_ROUTINE_VALUES ||
        call->call.operator!= op->operator) {
        return true;
    }
    found = mdf_arena_allocate(arena, sizeof *found);
    if (found == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (!plan_function(lowering, call, routine, found)) {
        return false;
    }
    if (found->function != NULL) {
        connect(search, call, found);
    }
    return true;
}

static bool find_in(const struct search *search, const struct mdf_lowered_region *region, bool is_repeated)
{
    const struct mdf_lowered_region *inner;
    bool done = true;

    for (size_t i = 0; done && i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        done = !is_repeated || op->code != MDF_LOWERED_CALL || find_routine(search, op);
        for (size_t j = 0; done && (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            done = find_in(search, inner, is_repeated || op->code == MDF_LOWERED_LOOP);
        }
    }
    return done;
}

bool lowering_find_routines(struct lowering *lowering)
{
    struct search search = {.lowering = lowering};

    if (lowering->is_for_source) {
        return true;
    }
    search.n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);
    return search.n_reads != NULL ? find_in(&search, &lowering->lowered->region, false) : lowering_out_of_memory(lowering);
}
