/* traced_loop.c - see traced_loop.h.
 *
 * Comes in: a tracer, and what traces the body. Goes out: a Loop whose states are the slots that the body reads as an earlier run
 * of it has left them. */
#include "mdf_c/plan/gradient/traced_loop.h"

#include "mdf_c/plan/gradient/loop_segments.h"
#include "mdf_c/plan/traced/made_loop.h"

/* A later evaluation, or several, as the body of a Loop. */
struct step {
    struct tracer tracer;
    struct list states, formals; /* struct state_place: slots that it finds as an earlier run has left them; mdf_operand */
};

struct state_place {
    size_t frame, slot;
};

/* The slot of a state; `tracer` goes on where it is one. */
static mdf_operand state_slot(struct tracer *tracer, const struct step *step, size_t i)
{
    const struct state_place *place = (const struct state_place *)step->states.items + i;

    trace_enter(tracer, place->frame);
    return MDF_OPERAND(MDF_OPERAND_SLOT, place->slot);
}

/* What holds its value. */
static mdf_operand state_operand(struct tracer *tracer, const struct step *step, size_t i)
{
    size_t frame = tracer->frame;
    mdf_operand operand = trace_operand(tracer, state_slot(tracer, step, i));

    trace_enter(tracer, frame);
    return operand;
}

static unsigned state_flags(const struct tracer *tracer, const struct step *step, size_t i)
{
    const struct state_place *place = (const struct state_place *)step->states.items + i;

    return unit_flags(tracer->frames[place->frame].from, MDF_OPERAND(MDF_OPERAND_SLOT, place->slot));
}

/* A slot that is read before the body writes it. */
static mdf_operand add_state(struct tracer *tracer, size_t slot)
{
    struct step *step = tracer->context;
    const struct state_place place = {tracer->frame, slot};
    mdf_operand formal = unit_new_slot(&tracer->target, unit_flags(tracer->from, MDF_OPERAND(MDF_OPERAND_SLOT, slot)) &
                                                            (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL));

    return formal != MDF_NO_OPERAND && list_add(tracer->target.compiler, &step->states, &place, sizeof place) &&
                   list_add(tracer->target.compiler, &step->formals, &formal, sizeof formal)
               ? formal
               : MDF_NO_OPERAND;
}

/* What a state begins as, is in the body, and ends as. A list whose items are known one by one has one of each for every item. */
struct parts {
    struct list initials, formals, yields; /* mdf_operand */
    struct list sizes;                     /* size_t: items of each state; 0: it is no such list */
    struct list made;                      /* struct mdf_instruction: make the lists in the body, before all else */
};

/* In the body the list is made of `n` new formals, before all else. */
static bool make_list(struct step *step, struct parts *parts, mdf_operand list, const struct mdf_operator *row, size_t n)
{
    struct target *target = &step->tracer.target;
    struct mdf_instruction *last;
    mdf_operand *items = trace_new_operands(target->compiler, n, MDF_NO_OPERAND);

    for (size_t i = 0; items != NULL && i < n; i++) {
        items[i] = unit_new_slot(target, 0);
    }
    if (items == NULL || !list_add_operands(target->compiler, &parts->formals, items, n) ||
        unit_call_into(target, row, items, n, list) == MDF_NO_OPERAND) {
        return false;
    }
    last = unit_instruction(target->unit, unit_position(target->unit) - 1);
    if (!list_add(target->compiler, &parts->made, last, sizeof *last)) {
        return false;
    }
    target->unit->instructions.n--;
    return true;
}

static bool add_parts(struct tracer *around, struct step *step, size_t state, struct parts *parts)
{
    struct compiler *compiler = step->tracer.target.compiler;
    struct unit *outer = around->target.unit, *unit = step->tracer.target.unit;
    mdf_operand initial = state_operand(around, step, state), yield = state_operand(&step->tracer, step, state),
                formal = ((const mdf_operand *)step->formals.items)[state];
    const struct mdf_code_call *first =
                                   initial != MDF_NO_OPERAND ? unit_find_list(outer, 0, unit_position(outer), initial) : NULL,
                               *next = yield != MDF_NO_OPERAND ? unit_find_list(unit, 0, unit_position(unit), yield) : NULL;
    size_t n = first != NULL && next != NULL && first->n_inputs == next->n_inputs ? first->n_inputs : 0;

    if (initial == MDF_NO_OPERAND || yield == MDF_NO_OPERAND || !list_add(compiler, &parts->sizes, &n, sizeof n)) {
        return false;
    }
    if (n == 0) {
        return list_add_operand(compiler, &parts->initials, initial) && list_add_operand(compiler, &parts->formals, formal) &&
               list_add_operand(compiler, &parts->yields, yield);
    }
    return list_add_operands(compiler, &parts->initials, first->inputs, n) &&
           list_add_operands(compiler, &parts->yields, next->inputs, n) && make_list(step, parts, formal, first->operator, n);
}

/* `goes_on`: the condition that it yields; MDF_NO_OPERAND: it always does. */
static struct mdf_code *finish_body(struct tracer *around, struct step *step, struct parts *parts, mdf_operand goes_on,
                                    const char *id)
{
    struct target *target = &step->tracer.target;

    for (size_t i = 0; i < step->states.n; i++) {
        if (!add_parts(around, step, i, parts)) {
            return NULL;
        }
    }
    return unit_put_first(target->compiler, target->unit, &parts->made)
               ? made_loop_body(target, &parts->formals, &parts->yields, goes_on, id)
               : NULL;
}

/* What the states end as stands for the slots from now on. */
static bool take_states(struct tracer *first, const struct step *step, const struct parts *parts, const mdf_operand *outputs)
{
    for (size_t i = 0; i < step->states.n; i++) {
        size_t n = ((const size_t *)parts->sizes.items)[i];
        const struct state_place *place = (const struct state_place *)step->states.items + i;
        mdf_operand now = *outputs;

        if (n > 0) {
            now = unit_call_python(&first->target, PYTHON_OUTPUTS, outputs, n);
        }
        if (now == MDF_NO_OPERAND) {
            return false;
        }
        first->frames[place->frame].now[place->slot] = now;
        outputs += n > 0 ? n : 1;
    }
    return true;
}

static bool emit_call(struct tracer *first, const struct traced_loop *loop, const struct mdf_code_call *call)
{
    struct mdf_static_type *types = mdf_arena_array(&first->target.compiler->scratch, call->n_inputs, sizeof *types);
    const struct traced_call traced = {first->target.unit, call->inputs, types, first->bound_bytes};

    if (!loop->in_segments || first->bound_bytes == 0) {
        return unit_emit_call(&first->target, call);
    }
    for (size_t i = 0; types != NULL && i < call->n_inputs; i++) {
        types[i] = mdf_static_unknown;
    }
    return types != NULL ? segments_emit_call(&first->target, call, &traced)
                         : compile_out_of_memory(first->target.compiler) != MDF_NO_OPERAND;
}

/* Emits the Loop. */
static bool emit_loop(struct tracer *first, const struct step *step, const struct parts *parts, struct mdf_code *code,
                      const struct traced_loop *loop)
{
    struct mdf_code_call call;
    struct compiler *compiler = first->target.compiler;
    size_t n_states = parts->initials.n;
    mdf_operand *outputs = trace_new_operands(compiler, n_states, MDF_NO_OPERAND);

    for (size_t i = 0, at = 0; outputs != NULL && i < step->states.n; i++) {
        size_t n_items = ((const size_t *)parts->sizes.items)[i];

        for (size_t k = 0; outputs != NULL && k < (n_items > 0 ? n_items : 1); k++, at++) {
            outputs[at] =
                unit_new_slot(&first->target, state_flags(first, step, i) &
                                                  (n_items > 0 ? 0u : (unsigned)(OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL)));
            outputs = outputs[at] != MDF_NO_OPERAND ? outputs : NULL;
        }
    }
    if (outputs == NULL) {
        mdf_code_clear(compiler->memory, code);
        return false;
    }
    return made_loop_call(&first->target, code, loop->most, loop->begins, parts->initials.items, outputs, n_states, &call) &&
           emit_call(first, loop, &call) && take_states(first, step, parts, outputs);
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
    if (!trace_begin(&step->tracer)) {
        return false;
    }
    trace_enter(&step->tracer, around->frame);
    return true;
}

/* What output ports hold behind the Loop is looked at, whether the next run reads it or not. */
static bool keep_outputs(const struct tracer *around, struct step *step)
{
    struct tracer *tracer = &step->tracer;
    size_t frame = tracer->frame;

    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct mdf_program *program = tracer->frames[i].program;

        trace_enter(tracer, i);
        for (size_t k = 0; k < program->n_nodes; k++) {
            for (size_t j = 0; j < program->nodes[k].n_outputs; j++) {
                mdf_operand operand = program->nodes[k].outputs[j].operand;
                size_t slot = MDF_OPERAND_INDEX(operand);

                if (MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT || !trace_has_value(tracer, slot) ||
                    tracer->before[slot] != MDF_NO_OPERAND ||
                    (around->read_before == NULL && around->frames[i].now[slot] == MDF_NO_OPERAND)) {
                    continue;
                }
                tracer->before[slot] = add_state(tracer, slot);
                if (tracer->before[slot] == MDF_NO_OPERAND) {
                    return false;
                }
            }
        }
    }
    trace_enter(tracer, frame);
    return true;
}

static struct mdf_code *make_body(struct tracer *around, const struct traced_loop *loop, struct step *step, struct parts *parts)
{
    struct unit unit;
    struct mdf_code *code = NULL;
    mdf_operand goes_on = MDF_NO_OPERAND;

    if (begin_step(step, around, &unit, loop->has_dt) && loop->trace(&step->tracer, loop->context, &goes_on) &&
        (!loop->keeps_outputs || keep_outputs(around, step)) && step->states.n > 0) {
        code = finish_body(around, step, parts, goes_on, loop->id);
    }
    unit_clear(around->target.compiler, &unit);
    return code;
}

bool traced_loop_emit(struct tracer *around, const struct traced_loop *loop)
{
    struct step step;
    struct parts parts = {0};
    struct mdf_code *code = make_body(around, loop, &step, &parts);

    if (code == NULL) {
        return around->target.compiler->error->code == MDF_OK; /* runs leave nothing to each other */
    }
    return emit_loop(around, &step, &parts, code, loop);
}

bool traced_loop_measure(struct tracer *around, const struct traced_loop *loop, double *bytes)
{
    struct unit unit;
    struct step step;
    mdf_operand goes_on = MDF_NO_OPERAND;
    bool done = begin_step(&step, around, &unit, loop->has_dt) && loop->trace(&step.tracer, loop->context, &goes_on);

    *bytes = 0;
    for (size_t i = 0; done && i < step.states.n; i++) {
        const struct state_place *place = (const struct state_place *)step.states.items + i;

        *bytes += segments_bytes(around->target.compiler, around->frames[place->frame].from,
                                 MDF_OPERAND(MDF_OPERAND_SLOT, place->slot));
    }
    unit_clear(around->target.compiler, &unit);
    return done;
}
