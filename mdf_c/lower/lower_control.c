/* lower_control.c - operators with bodies: If as a structured op; Loop and Scan have files of their own. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"

#include "functions/control/stack.h"

/* The instructions of a body; afterwards the lowering stands at the call that has it again. */
bool lowering_run_inside(struct lowering *lowering, struct scope *inner)
{
    const struct mdf_origin *origin = lowering->origin;
    const char *operator= lowering->operator;

    lowering->operator= NULL;
    if (!lowering_run(lowering, inner, 0, inner->code->n_instructions)) {
        return false;
    }
    lowering->origin = origin;
    lowering->operator= operator;
    return true;
}

static bool run_branch(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t branch,
                       mdf_lowered_id condition, mdf_lowered_id *yields, struct mdf_lowered_region *result)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[branch]];
    struct scope inner = {.code = body, .outer = scope};
    struct region region;

    if (body->program != NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    lowering_begin_region(lowering, &region, REGION_BRANCH);
    *(branch == 0 ? &region.holds : &region.fails) = condition;
    if (!lowering_run_inside(lowering, &inner)) {
        return false;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        yields[i] = lowering_either_value_of(lowering, &inner, body->yields[i]);
        if (yields[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return lowering_end_region(lowering, result);
}

/* The branch of a condition that never changes, as if the body stood in the code around. */
static bool take_branch(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t branch)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[branch]];
    struct scope inner = {.code = body, .outer = scope};

    if (body->program != NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    if (!lowering_run_inside(lowering, &inner)) {
        return false;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND &&
            !lowering_bind(lowering, scope, source->outputs[i], lowering_either_value_of(lowering, &inner, body->yields[i]))) {
            return false;
        }
    }
    return true;
}

/* A value that the branches leave: one of two that they yield, or what they put into a state, which is noted for later. */
static bool leave_value(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                        struct mdf_lowered_if *branches, mdf_lowered_id *const yields[2], size_t i, struct chosen_puts *chosen)
{
    mdf_lowered_id out;

    if (!lowering_choose_puts(lowering, branches, yields, source->n_outputs, i, chosen)) {
        return false;
    }
    if (chosen->n > 0) {
        return true;
    }
    out = lowering_merge_growths(lowering, branches, yields[0][i], yields[1][i]);
    if (out == MDF_LOWERED_NONE && !lowering_has_failed(lowering)) {
        out = lowering_merge(lowering, branches, yields[0][i], yields[1][i]);
    }
    return out != MDF_LOWERED_NONE ? lowering_bind(lowering, scope, source->outputs[i], out)
                                   : lowering_fail(lowering, MDF_REFUSED_DIFFERENT_BRANCHES);
}

/* What the branches put into states. */
static bool put_chosen(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                       const struct chosen_puts *chosen)
{
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (chosen[i].n > 0) {
            mdf_lowered_id out = lowering_put_chosen(lowering, &chosen[i]);

            if (out == MDF_LOWERED_NONE || !lowering_bind(lowering, scope, source->outputs[i], out)) {
                return false;
            }
        }
    }
    return true;
}

/* Both branches, and the values that they leave. */
static bool lower_branches(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                           struct mdf_lowered_if *branches)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};
    struct chosen_puts *chosen = mdf_arena_array(&lowering->scratch, source->n_outputs, sizeof *chosen);
    mdf_lowered_id *yields[2];

    for (size_t i = 0; i < 2; i++) {
        yields[i] = mdf_arena_array(&lowering->scratch, source->n_outputs, sizeof *yields[i]);
        if (yields[i] == NULL) {
            return lowering_out_of_memory(lowering);
        }
    }
    branches->merges =
        mdf_arena_array(&lowering->lowered->arena, (LOWERING_MERGES + 2 * LOWERING_MOST_CHOSEN_PUTS) * source->n_outputs,
                        sizeof *branches->merges);
    if (branches->merges == NULL || chosen == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (!run_branch(lowering, scope, source, 0, branches->condition, yields[0], &branches->then) ||
        !run_branch(lowering, scope, source, 1, branches->condition, yields[1], &branches->otherwise)) {
        return false;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND && !leave_value(lowering, scope, source, branches, yields, i, &chosen[i])) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op) && put_chosen(lowering, scope, source, chosen);
}

/* The branch that is taken now: where the condition is another one, it bails out. */
static bool lower_taken(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                        mdf_lowered_id condition)
{
    bool taken = *(const bool *)lowering_example(lowering, condition)->data;
    mdf_lowered_id other = taken ? mdf_term_not(lowering, condition) : condition;

    return lowering_bail_out_if(lowering, other) && take_branch(lowering, scope, source, taken ? 0 : 1);
}

/* Branches that leave values of different types or shapes, or of which one has no lowered form: outside of loops a condition is
 * often the same for long, and the branch that it takes stands for both; in C source, where it is sure to be taken on the same
 * inputs. */
static bool lower_either(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                         struct mdf_lowered_if *branches)
{
    struct lowering_attempt attempt;
    struct mdf_refusal why;

    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    if (lower_branches(lowering, scope, source, branches)) {
        return true;
    }
    if (attempt.region->depth > 0) {
        return false;
    }
    why = lowering->refusal;
    if (!lowering_take_back(lowering, &attempt)) {
        return false;
    }
    if ((lowering->is_for_source && !lowering_is_example_true(lowering, branches->condition)) ||
        !lower_taken(lowering, scope, source, branches->condition)) {
        lowering->refusal = lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY ? lowering->refusal : why;
        return false;
    }
    return true;
}

static bool lower_if(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    struct mdf_lowered_if *branches = mdf_arena_allocate(&lowering->lowered->arena, sizeof *branches);
    mdf_lowered_id condition = lowering_either_value_of(lowering, scope, source->inputs[0]);

    if (branches == NULL || condition == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(lowering);
    }
    if (mdf_is_typed_otherwise(lowering_example(lowering, condition), MDF_DTYPE_BOOL)) {
        return lowering_fail(lowering, MDF_REFUSED_OTHER_CONDITION);
    }
    branches->condition = lowering_truth(lowering, condition);
    if (branches->condition == MDF_LOWERED_NONE) {
        return false;
    }
    if (lowering_is_constant(lowering, branches->condition)) {
        return take_branch(lowering, scope, source, lowering_is_true(lowering, branches->condition) ? 0 : 1);
    }
    return lower_either(lowering, scope, source, branches);
}

bool lowering_control(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    bool (*const lower)(struct lowering * lowering, struct scope * scope, const struct mdf_code_call *source) =
        source->operator->form == MDF_FORM_LOOP           ? lowering_loop
        : source->operator->form == MDF_FORM_SCAN         ? lowering_scan
        : source->operator->form == MDF_FORM_SEQUENCE_MAP ? lowering_map
        : source->operator->form == MDF_FORM_IF           ? lower_if
                                                          : NULL;

    return (lower != NULL && lower(lowering, scope, source)) || lowering_fail(lowering, MDF_REFUSED_BODIES);
}
