/* evaluation.c - see evaluation.h.
 *
 * Comes in: the code of a graph's nodes, whose slots are written again in each evaluation. Goes out: code in which each operand
 * is written once (trace.h): the first two evaluations, then a Loop whose body is a later one, and whose states are the slots
 * that an evaluation reads as an earlier one has left them (where memory is bounded, Loops in a Loop: what derives them keeps the
 * states of the outer one, and those of one inner one at a time), then the last evaluation, which alone computes what only the
 * result needs. */
#include "mdf_c/plan/gradient/evaluation.h"

#include "mdf_c/plan/gradient/run_ahead.h"
#include "mdf_c/plan/made_loop.h"
#include "mdf_c/plan/trace.h"

enum { FEW_STEPS = 16 };

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

static bool add_operand(struct compiler *compiler, struct list *list, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && list_add(compiler, list, &operand, sizeof operand);
}

static bool add_operands(struct compiler *compiler, struct list *list, const mdf_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!add_operand(compiler, list, operands[i])) {
            return false;
        }
    }
    return true;
}

/* In the body the list is made of `n` new formals, before all else. */
static bool make_list(struct step *step, struct parts *parts, mdf_operand list, const struct mdf_operator *row, size_t n)
{
    struct target *target = &step->tracer.target;
    struct mdf_instruction *last;
    mdf_operand *items = trace_new_operands(target->compiler, n, MDF_NO_OPERAND);

    for (size_t i = 0; items != NULL && i < n; i++) {
        items[i] = unit_new_slot(target, 0);
    }
    if (items == NULL || !add_operands(target->compiler, &parts->formals, items, n) ||
        unit_call_row(target, row, NULL, items, n, list) == MDF_NO_OPERAND) {
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
        return add_operand(compiler, &parts->initials, initial) && add_operand(compiler, &parts->formals, formal) &&
               add_operand(compiler, &parts->yields, yield);
    }
    return add_operands(compiler, &parts->initials, first->inputs, n) &&
           add_operands(compiler, &parts->yields, next->inputs, n) && make_list(step, parts, formal, first->operator, n);
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
            now = unit_call_python(&first->target, PYTHON_OUTPUTS, outputs, n, MDF_NO_OPERAND);
        }
        if (now == MDF_NO_OPERAND) {
            return false;
        }
        first->frames[place->frame].now[place->slot] = now;
        outputs += n > 0 ? n : 1;
    }
    return true;
}

/* Emits the Loop; `condition`: whether it begins. */
static bool emit_loop(struct tracer *first, const struct step *step, const struct parts *parts, struct mdf_code *code, uint64_t n,
                      mdf_operand condition)
{
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
    return made_loop_emit(&first->target, code, n, condition, parts->initials.items, outputs, n_states) &&
           take_states(first, step, parts, outputs);
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

static bool trace_sequence(struct tracer *tracer, const struct ahead_sequence *sequence);

/* All nodes; or a block of sets of them. */
static bool trace_block(const struct tracer *around, struct step *step, const struct ahead_sequence *block)
{
    return block == NULL ? trace_nodes(&step->tracer, false) : trace_sequence(&step->tracer, block) && keep_outputs(around, step);
}

/* The Loop of n evaluations, or blocks; none, where they leave nothing to each other. */
static bool trace_steps(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n)
{
    struct unit unit;
    struct step step;
    struct parts parts = {0};
    struct mdf_code *code = NULL;
    bool done = begin_step(&step, around, &unit, has_dt) && trace_block(around, &step, block), has_states = step.states.n > 0;

    if (done && has_states) {
        code = finish_body(around, &step, &parts, MDF_NO_OPERAND, "step");
    }
    unit_clear(around->target.compiler, &unit);
    return done && (!has_states || (code != NULL && emit_loop(around, &step, &parts, code, n, MDF_NO_OPERAND)));
}

/* The Loop of n Loops of `size` evaluations each. */
static bool trace_segments(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n, uint64_t size)
{
    struct unit unit;
    struct step segment;
    struct parts parts = {0};
    struct mdf_code *code = NULL;

    if (begin_step(&segment, around, &unit, has_dt) && trace_steps(&segment.tracer, has_dt, block, size) &&
        (block == NULL || keep_outputs(around, &segment))) {
        code = finish_body(around, &segment, &parts, MDF_NO_OPERAND, "steps");
    }
    unit_clear(around->target.compiler, &unit);
    return code != NULL && emit_loop(around, &segment, &parts, code, n, MDF_NO_OPERAND);
}

/* So many evaluations, or blocks. */
static bool trace_many(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n)
{
    uint64_t size = 1;

    if (!around->keeps_less || n < FEW_STEPS) {
        return trace_steps(around, has_dt, block, n);
    }
    while (size * size < n) {
        size++;
    }
    return trace_segments(around, has_dt, block, n / size, size) &&
           (n % size == 0 || trace_steps(around, has_dt, block, n % size));
}

/* ------------------------------------------------------------------ nodes that run until they are finished */

/* What a node says is one number: it is 0. */
static mdf_operand is_unfinished(struct tracer *tracer, const struct mdf_program_node *node)
{
    mdf_operand finished = trace_operand(tracer, node->finished), zero = unit_add_int(&tracer->target, 0);
    mdf_operand sum =
        finished != MDF_NO_OPERAND ? unit_call_python(&tracer->target, PYTHON_SUM, &finished, 1, MDF_NO_OPERAND) : finished;

    return sum == MDF_NO_OPERAND || zero == MDF_NO_OPERAND
               ? MDF_NO_OPERAND
               : unit_call_two(&tracer->target, "operator.eq", sum, zero, MDF_NO_OPERAND);
}

/* What edges bring to the node once it has run. */
static const bool *brings_again(struct tracer *tracer, const struct mdf_program_node *node)
{
    const struct mdf_program *program = tracer->frames[tracer->frame].program;
    bool *brings = mdf_arena_array(&tracer->target.compiler->scratch, node->n_edges + 1, sizeof *brings);

    if (brings == NULL) {
        compile_out_of_memory(tracer->target.compiler);
    }
    for (size_t i = 0; brings != NULL && i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[node->edges[i]];

        brings[i] =
            tracer->brings != NULL ? tracer->brings[i] || &program->nodes[edge->sender] == node : trace_brings(tracer, edge);
    }
    return brings;
}

static bool trace_again(const struct tracer *around, struct step *step, const struct mdf_program_node *node)
{
    struct tracer *tracer = &step->tracer;

    tracer->is_first = false;
    return trace_ports(tracer, node) && trace_range(tracer, node->first, node->reset) &&
           trace_range(tracer, node->main, node->end) && keep_outputs(around, step);
}

/* The Loop of a node's runs but the first, as long as it is not finished. */
static bool repeat(struct tracer *around, const struct mdf_program_node *node)
{
    struct unit unit = {0};
    struct step step;
    struct parts parts = {0};
    struct mdf_code *code = NULL;
    mdf_operand begins = node->most_repeats > 1 ? is_unfinished(around, node) : MDF_NO_OPERAND, goes_on = MDF_NO_OPERAND;
    const bool *brings = begins != MDF_NO_OPERAND ? brings_again(around, node) : NULL;

    if (brings == NULL) {
        return node->most_repeats <= 1;
    }
    if (begin_step(&step, around, &unit, around->has_dt)) {
        step.tracer.brings = brings;
        goes_on = trace_again(around, &step, node) ? is_unfinished(&step.tracer, node) : MDF_NO_OPERAND;
    }
    if (goes_on != MDF_NO_OPERAND && step.states.n > 0) {
        code = finish_body(around, &step, &parts, goes_on, "repeats");
    }
    unit_clear(around->target.compiler, &unit);
    return goes_on != MDF_NO_OPERAND &&
           (step.states.n == 0 || (code != NULL && emit_loop(around, &step, &parts, code, node->most_repeats - 1, begins)));
}

/* ------------------------------------------------------------------ sets of nodes */

static bool trace_run(struct tracer *tracer, const struct ahead_set *set, const struct ahead_run *run)
{
    const struct mdf_program_node *node = &tracer->frames[tracer->frame].program->nodes[run->node];

    tracer->has_dt = set->has_dt;
    tracer->brings = run->brings;
    tracer->inner = run->inner;
    return (set->takes_first || trace_ports(tracer, node)) && (!run->resets || trace_range(tracer, node->reset, node->initial)) &&
           trace_range(tracer, node->first, node->reset) && (!run->is_first || trace_range(tracer, node->initial, node->main)) &&
           trace_range(tracer, node->main, node->end) && (node->finished == MDF_NO_OPERAND || repeat(tracer, node));
}

static bool trace_set(struct tracer *tracer, const struct ahead_set *set)
{
    const struct mdf_program *program = tracer->frames[tracer->frame].program;

    for (size_t i = 0; set->takes_first && i < set->n_runs; i++) {
        tracer->has_dt = set->has_dt;
        tracer->brings = set->runs[i].brings;
        if (!trace_ports(tracer, &program->nodes[set->runs[i].node])) {
            return false;
        }
    }
    for (size_t i = 0; i < set->n_runs; i++) {
        if (!trace_run(tracer, set, &set->runs[i])) {
            return false;
        }
    }
    return true;
}

static bool trace_sequence(struct tracer *tracer, const struct ahead_sequence *sequence)
{
    for (size_t i = 0; i < sequence->n; i++) {
        const struct ahead_item *item = sequence->items[i];

        if (!(item->set != NULL  ? trace_set(tracer, item->set)
              : item->times == 1 ? trace_sequence(tracer, item->block)
                                 : trace_many(tracer, tracer->has_dt, item->block, item->times))) {
            return false;
        }
    }
    return true;
}

/* What runs of the graph within the node that runs. */
static bool trace_inner(struct tracer *tracer)
{
    const struct tracer around = *tracer;
    bool done = around.inner == NULL || trace_sequence(tracer, around.inner);

    tracer->has_dt = around.has_dt;
    tracer->brings = around.brings;
    return done;
}

/* ------------------------------------------------------------------ all */

/* All evaluations but the first. The second one stands in front of the loop: what it leaves has the types of all later ones,
 * where what the first one leaves may be the number in the file. */
static bool trace_rest(struct tracer *tracer, const struct mdf_gradient_request *request)
{
    tracer->has_dt = request->has_dt;
    tracer->is_later = true;
    return (request->n_steps < 3 || trace_nodes(tracer, false)) &&
           (request->n_steps < 4 || trace_many(tracer, request->has_dt, NULL, request->n_steps - 3)) &&
           (request->n_steps < 2 || trace_nodes(tracer, false));
}

/* What output ports hold before their nodes have run. */
static bool set_initials(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct mdf_program *program = tracer->frames[i].program;

        trace_enter(tracer, i);
        for (size_t k = 0; k < program->n_nodes; k++) {
            for (size_t j = 0; j < program->nodes[k].n_outputs; j++) {
                const struct mdf_program_output *output = &program->nodes[k].outputs[j];

                if (output->initial != MDF_NO_OPERAND && MDF_OPERAND_KIND(output->operand) == MDF_OPERAND_SLOT) {
                    tracer->now[MDF_OPERAND_INDEX(output->operand)] = trace_operand(tracer, output->initial);
                }
            }
        }
    }
    trace_enter(tracer, 0);
    return tracer->target.compiler->error->code == MDF_OK;
}

/* Whether an output port that is the operand holds something at the end. */
static bool is_held(const struct mdf_program *program, const bool *has_run, mdf_operand operand)
{
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[k];

            if (output->operand == operand && (has_run[i] || output->initial != MDF_NO_OPERAND)) {
                return true;
            }
        }
    }
    return false;
}

/* All evaluations of nodes that run under conditions. */
static bool trace_ahead(struct tracer *tracer, const struct mdf_gradient_request *request, mdf_operand operand)
{
    const bool *has_run;
    const struct ahead_sequence *sequence = ahead_find(tracer, request, &has_run);

    if (sequence != NULL && request->of != NULL && !is_held(tracer->frames[0].program, has_run, operand)) {
        compile_error(tracer->target.compiler, MDF_VALUE,
                      "there is nothing to derive: the node of '%s' does not run in %llu step%s", request->of,
                      (unsigned long long)request->n_steps, request->n_steps == 1 ? "" : "s");
        return false;
    }
    tracer->trace_inner = trace_inner;
    tracer->is_later = true; /* what has a value is told run by run */
    return sequence != NULL && trace_sequence(tracer, sequence);
}

/* Those of nodes that run one after the other. */
static bool trace_all(struct tracer *tracer, const struct mdf_gradient_request *request, mdf_operand operand)
{
    bool changes = MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && tracer->is_written[MDF_OPERAND_INDEX(operand)];

    return trace_nodes(tracer, true) && (!changes || trace_rest(tracer, request));
}

bool compile_evaluations(struct graph_builder *builder, const struct mdf_gradient_request *request, mdf_operand operand,
                         mdf_operand *result)
{
    struct tracer first = {.target = {builder->compiler, builder->unit, &builder->scope},
                           .from = builder->unit,
                           .n_slots = builder->unit->slot_facts.n,
                           .repeat = repeat,
                           .keeps_less = request->is_bounded,
                           .purpose = "there are no derivatives over the steps"};
    bool *is_written;

    if (builder->compiler->program->solver.takes_own_steps && request->n_steps > 1) {
        return trace_refuse(&first, "a method that chooses its steps (take one of fixed steps: docs/time.md)");
    }
    is_written = trace_writes(&first, 0, unit_position(builder->unit));
    first.is_written = is_written;
    if (is_written == NULL) {
        return false;
    }
    trace_mark_fed(builder->compiler->program, is_written);
    if (!trace_find_frames(&first) || !trace_begin(&first) || !set_initials(&first)) {
        return false;
    }
    if (!(ahead_is_needed(&first) ? trace_ahead(&first, request, operand) : trace_all(&first, request, operand))) {
        return false;
    }
    *result = trace_operand(&first, operand);
    return *result != MDF_NO_OPERAND;
}
