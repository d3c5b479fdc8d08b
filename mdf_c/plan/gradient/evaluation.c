/* evaluation.c - see evaluation.h.
 *
 * Comes in: the code of a graph's nodes, whose slots are written again in each evaluation. Goes out: code in which each operand
 * is written once (trace.h): the first evaluation, then a Loop whose body is a later one, and whose states are the slots that an
 * evaluation reads as an earlier one has left them (where memory is bounded, Loops in a Loop: what derives them keeps the states
 * of the outer one, and those of one inner one at a time), then the last evaluation, which alone computes what only the result
 * needs. */
#include "mdf_c/plan/gradient/evaluation.h"

#include "mdf_c/plan/made_loop.h"
#include "mdf_c/plan/trace.h"

enum { FEW_STEPS = 16 };

/* A later evaluation, or several, as the body of a Loop. */
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

/* It yields what the states are now. */
static struct mdf_code *finish_body(struct step *step, const char *id)
{
    struct compiler *compiler = step->tracer.target.compiler;
    struct list yields = {0};

    for (size_t i = 0; i < step->states.n; i++) {
        mdf_operand yield = trace_operand(&step->tracer, state_slot(step, i));

        if (yield == MDF_NO_OPERAND || !list_add(compiler, &yields, &yield, sizeof yield)) {
            return NULL;
        }
    }
    return made_loop_body(&step->tracer.target, &step->formals, &yields, MDF_NO_OPERAND, id);
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

/* A body that stands in the unit of `around`, with its code in `unit`. */
static bool begin_step(struct step *step, const struct tracer *around, struct unit *unit, bool has_dt)
{
    *unit = (struct unit){.outer = around->target.unit};
    *step = (struct step){.tracer = *around};
    step->tracer.target.unit = unit;
    step->tracer.is_later = true;
    step->tracer.has_dt = has_dt;
    step->tracer.read_before = add_state;
    step->tracer.context = step;
    return trace_begin(&step->tracer);
}

/* The Loop of n evaluations; none, where they leave nothing to each other. */
static bool trace_steps(struct tracer *around, bool has_dt, uint64_t n)
{
    struct unit unit;
    struct step step;
    struct mdf_code *code = NULL;
    bool done = begin_step(&step, around, &unit, has_dt) && trace_nodes(&step.tracer, false), has_states = step.states.n > 0;

    if (done && has_states) {
        code = finish_body(&step, "step");
    }
    unit_clear(around->target.compiler, &unit);
    return done && (!has_states || (code != NULL && emit_loop(around, &step, code, n)));
}

/* The Loop of n Loops of `size` evaluations each. */
static bool trace_segments(struct tracer *around, bool has_dt, uint64_t n, uint64_t size)
{
    struct unit unit;
    struct step segment;
    struct mdf_code *code = NULL;

    if (begin_step(&segment, around, &unit, has_dt) && trace_steps(&segment.tracer, has_dt, size)) {
        code = finish_body(&segment, "steps");
    }
    unit_clear(around->target.compiler, &unit);
    return code != NULL && emit_loop(around, &segment, code, n);
}

/* All evaluations but the first and the last. */
static bool trace_later(struct tracer *first, const struct mdf_gradient_request *request)
{
    uint64_t n = request->n_steps - 2, size = 1;

    if (!request->is_bounded || n < FEW_STEPS) {
        return trace_steps(first, request->has_dt, n);
    }
    while (size * size < n) {
        size++;
    }
    return trace_segments(first, request->has_dt, n / size, size) &&
           (n % size == 0 || trace_steps(first, request->has_dt, n % size));
}

/* All evaluations but the first. */
static bool trace_rest(struct tracer *tracer, const struct mdf_gradient_request *request)
{
    if (request->n_steps > 2 && !trace_later(tracer, request)) {
        return false;
    }
    tracer->has_dt = request->has_dt;
    tracer->is_later = true;
    return request->n_steps == 1 || trace_nodes(tracer, false);
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
    if (!trace_nodes(&first, true) || (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && is_written[MDF_OPERAND_INDEX(operand)] &&
                                       !trace_rest(&first, request))) {
        return false;
    }
    *result = trace_operand(&first, operand);
    return *result != MDF_NO_OPERAND;
}
