/* evaluation.c - see evaluation.h.
 *
 * Comes in: the code of a graph's nodes, whose slots are written again in each evaluation. Goes out: code in which each operand
 * is written once (trace.h): the first evaluation, then a Loop whose body is a later one, and whose states are the slots that an
 * evaluation reads as an earlier one has left them. */
#include "mdf_c/plan/gradient/evaluation.h"

#include "mdf_c/plan/made_loop.h"
#include "mdf_c/plan/trace.h"

/* A later evaluation, as the body of a Loop. */
struct step {
    struct tracer tracer;
    struct list states, formals; /* size_t: slots that it finds as an earlier run has left them; mdf_operand */
};

static mdf_operand state_slot(const struct step *step, size_t i)
{
    return MDF_OPERAND(MDF_OPERAND_SLOT, ((const size_t *)step->states.items)[i]);
}

/* A slot that is read before the body writes it. */
static mdf_operand add_state(struct tracer *tracer, size_t slot)
{
    struct step *step = tracer->context;
    mdf_operand formal = unit_new_slot(&tracer->target, unit_flags(tracer->from, MDF_OPERAND(MDF_OPERAND_SLOT, slot)) &
                                                            (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL));

    return formal != MDF_NO_OPERAND && list_add(tracer->target.compiler, &step->states, &slot, sizeof slot) &&
                   list_add(tracer->target.compiler, &step->formals, &formal, sizeof formal)
               ? formal
               : MDF_NO_OPERAND;
}

/* What the result is in the body: a state, whether or not an evaluation looks at it. */
static bool add_result(struct step *step, size_t slot)
{
    for (size_t i = 0; i < step->states.n; i++) {
        if (((const size_t *)step->states.items)[i] == slot) {
            return true;
        }
    }
    return add_state(&step->tracer, slot) != MDF_NO_OPERAND;
}

/* It yields what the states are now. */
static struct mdf_code *finish_body(struct step *step)
{
    struct compiler *compiler = step->tracer.target.compiler;
    struct list yields = {0};

    for (size_t i = 0; i < step->states.n; i++) {
        mdf_operand yield = trace_operand(&step->tracer, state_slot(step, i));

        if (yield == MDF_NO_OPERAND || !list_add(compiler, &yields, &yield, sizeof yield)) {
            return NULL;
        }
    }
    return made_loop_body(&step->tracer.target, &step->formals, &yields, MDF_NO_OPERAND, "step");
}

/* Emits the Loop; what its states end as stands for the slots from now on. */
static bool emit_loop(struct tracer *first, const struct step *step, struct mdf_code *code, uint64_t n)
{
    struct compiler *compiler = first->target.compiler;
    size_t n_states = step->states.n;
    mdf_operand *operands = trace_new_operands(compiler, 2 * n_states, MDF_NO_OPERAND);

    for (size_t i = 0; operands != NULL && i < n_states; i++) {
        operands[i] = trace_operand(first, state_slot(step, i));
        operands[n_states + i] = operands[i] != MDF_NO_OPERAND ? trace_new_value(first, state_slot(step, i)) : MDF_NO_OPERAND;
        if (operands[n_states + i] == MDF_NO_OPERAND) {
            operands = NULL;
        }
    }
    if (operands == NULL) {
        mdf_code_clear(compiler->memory, code);
        return false;
    }
    return made_loop_emit(&first->target, code, n, MDF_NO_OPERAND, operands, operands + n_states, n_states);
}

static bool trace_later(struct tracer *first, const struct mdf_gradient_request *request, size_t result)
{
    struct unit unit = {.outer = first->from};
    struct step step = {.tracer = *first};
    struct mdf_code *code = NULL;

    step.tracer.target.unit = &unit;
    step.tracer.is_later = true;
    step.tracer.has_dt = request->has_dt;
    step.tracer.read_before = add_state;
    step.tracer.context = &step;
    if (trace_begin(&step.tracer) && trace_nodes(&step.tracer, false) && add_result(&step, result)) {
        code = finish_body(&step);
    }
    unit_clear(first->target.compiler, &unit);
    return code != NULL && emit_loop(first, &step, code, request->n_steps - 1);
}

bool compile_evaluations(struct graph_builder *builder, const struct mdf_gradient_request *request, mdf_operand operand,
                         mdf_operand *result)
{
    struct tracer first = {.target = {builder->compiler, builder->unit, &builder->scope},
                           .from = builder->unit,
                           .n_slots = builder->unit->slot_facts.n,
                           .purpose = "there are no derivatives over the steps"};
    bool *is_written;

    if (builder->is_scheduled) {
        return trace_refuse(&first, "conditions");
    }
    if (builder->compiler->program->solver.takes_own_steps) {
        return trace_refuse(&first, "a method that chooses its steps (take one of fixed steps: docs/time.md)");
    }
    is_written = trace_writes(&first, 0, unit_position(builder->unit));
    first.is_written = is_written;
    if (is_written == NULL || !trace_begin(&first)) {
        return false;
    }
    trace_mark_fed(builder->compiler->program, is_written);
    if (!trace_nodes(&first, true) ||
        (request->n_steps > 1 && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && is_written[MDF_OPERAND_INDEX(operand)] &&
         !trace_later(&first, request, MDF_OPERAND_INDEX(operand)))) {
        return false;
    }
    *result = trace_operand(&first, operand);
    return *result != MDF_NO_OPERAND;
}
