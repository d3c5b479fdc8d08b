/* right_side.c - see right_side.h.
 *
 * Comes in: the code of a graph's nodes. It is traced once, as a later evaluation goes through it, with the states held; what is
 * read before it is written gets a slot that stands for it. Then the pieces of that code are put in an order in which each is
 * behind what it reads: where there is none, a value needs its own from the evaluation before. */
#include "mdf_c/plan/solve/right_side.h"

#include "mdf_c/code/operands.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/solve/method.h"
#include "mdf_c/plan/traced/trace.h"

#include <string.h>

/* ------------------------------------------------------------------ messages */

static bool out_of_memory(struct compiler *compiler)
{
    compile_out_of_memory(compiler);
    return false;
}

/* Refuses the model for what stands at an origin. */
static bool refuse(const struct right_side *side, const struct mdf_origin *origin, const char *what)
{
    struct compiler *compiler = side->builder->compiler;
    const char *name = mdf_method_names[compiler->program->solver.method];

    if (compiler->program->solver.method == MDF_METHOD_EULER || side->looked.values != NULL) {
        mdf_error_set(
            compiler->error, MDF_UNSUPPORTED,
            "the model has no right-hand side, whose values are those of inputs, parameters and what has a time_derivative: %s",
            what);
    } else {
        mdf_error_set(compiler->error, MDF_UNSUPPORTED, "it can not be solved by %s: %s (docs/time.md); take the method euler",
                      name, what);
    }
    mdf_error_at(compiler->error, origin->file, origin->line, origin->column);
    mdf_error_in(compiler->error, "%s", origin->path != NULL ? origin->path : "");
    return false;
}

/* Where there are no states, what is looked at stands in the graph. */
static const struct mdf_origin *origin_of_values(const struct right_side *side)
{
    const struct compiler *compiler = side->builder->compiler;

    return side->n_states > 0 ? &side->states[0].origin : &compiler->origins[compiler->origin];
}

static const struct mdf_origin *origin_at(const struct right_side *side, size_t at)
{
    return &side->builder->compiler->origins[unit_instruction(side->builder->unit, at)->origin];
}

/* ------------------------------------------------------------------ tracing */

/* While the nodes are gone through. */
struct tracing {
    struct tracer tracer;
    struct right_side *side;
    struct list stands; /* size_t: slots that were read before, and struct stand_in for them */
};

struct stand_in {
    size_t slot;
    mdf_operand operand;
    const char *opaque;
};

static mdf_operand stand_in_for(struct tracing *tracing, size_t slot, const char *opaque)
{
    struct tracer *tracer = &tracing->tracer;
    struct stand_in stand = {slot,
                             unit_new_slot(&tracer->target, unit_flags(tracer->from, MDF_OPERAND(MDF_OPERAND_SLOT, slot)) &
                                                                (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL)),
                             opaque};

    return stand.operand != MDF_NO_OPERAND && list_add(tracer->target.compiler, &tracing->stands, &stand, sizeof stand)
               ? stand.operand
               : MDF_NO_OPERAND;
}

static mdf_operand read_before(struct tracer *tracer, size_t slot)
{
    return stand_in_for(tracer->context, slot, NULL);
}

/* States keep the values that they are looked at with. */
static void hold_states(struct tracing *tracing)
{
    for (size_t i = 0; i < tracing->side->n_states; i++) {
        mdf_operand slot = tracing->side->states[i].slot;

        tracing->tracer.now[MDF_OPERAND_INDEX(slot)] = slot;
        tracing->tracer.now[MDF_OPERAND_INDEX(tracing->side->states[i].next)] = slot;
    }
}

static bool add_piece(struct tracing *tracing, size_t first)
{
    struct right_side_piece piece = {.first = first, .end = unit_position(tracing->tracer.target.unit)};

    return piece.first == piece.end || list_add(tracing->tracer.target.compiler, &tracing->side->pieces, &piece, sizeof piece);
}

static const struct solver_state *state_that_skips(const struct right_side *side, size_t at)
{
    for (size_t i = 0; i < side->n_states; i++) {
        if (side->states[i].skip == at) {
            return &side->states[i];
        }
    }
    return NULL;
}

/* Behind the code of derivatives, and of conditions, these are there. */
static bool take_values(struct tracing *tracing, size_t at)
{
    struct right_side *side = tracing->side;

    for (size_t i = 0; i < side->n_states; i++) {
        const struct solver_state *state = &side->states[i];

        if (state->over == at) {
            side->slopes.values[i] = trace_operand(&tracing->tracer, state->derivative);
            if (side->slopes.values[i] == MDF_NO_OPERAND) {
                return false;
            }
        }
        if (state->conditioned != MDF_NO_OPERAND && state->located == at) {
            side->has_events = true;
            side->conditions.values[i] = trace_operand(&tracing->tracer, state->conditioned);
            side->conditions.values[side->n_states + i] = trace_operand(&tracing->tracer, state->holds);
            if (side->conditions.values[i] == MDF_NO_OPERAND || side->conditions.values[side->n_states + i] == MDF_NO_OPERAND) {
                return false;
            }
        }
    }
    return true;
}

static bool trace_nested(struct tracing *tracing, const struct mdf_instruction *instruction)
{
    size_t slot = MDF_OPERAND_INDEX(instruction->a);

    if (instruction->opcode == MDF_OPCODE_YIELD) {
        tracing->tracer.now[slot] = stand_in_for(
            tracing, slot,
            tracing->side->looked.values != NULL ? "a node has a graph of its own"
                                                 : "a derivative depends on a graph within a node, which has a run of its own");
        return tracing->tracer.now[slot] != MDF_NO_OPERAND;
    }
    return true;
}

static bool trace_code(struct tracing *tracing, size_t first, size_t end)
{
    struct tracer *tracer = &tracing->tracer;
    size_t next;

    for (size_t at = first; at < end; at = next) {
        const struct mdf_instruction instruction = *unit_instruction(tracer->from, at);
        size_t position = unit_position(tracer->target.unit);

        next = at + 1;
        if (!take_values(tracing, at)) {
            return false;
        }
        if (state_that_skips(tracing->side, at) != NULL) {
            continue;
        }
        if (instruction.opcode == MDF_OPCODE_GRAPH || instruction.opcode == MDF_OPCODE_YIELD) {
            if (!trace_nested(tracing, &instruction)) {
                return false;
            }
            continue;
        }
        if (!trace_one(tracer, at, &next) || !add_piece(tracing, position)) {
            return false;
        }
        hold_states(tracing);
    }
    return true;
}

static bool trace_node(struct tracing *tracing, const struct mdf_program_node *node)
{
    const struct mdf_program *program = tracing->side->builder->compiler->program;

    for (size_t i = 0; i < node->n_ports; i++) {
        size_t position = unit_position(tracing->tracer.target.unit);

        if (!trace_port(&tracing->tracer, program, node, node->first_port + i) || !add_piece(tracing, position)) {
            return false;
        }
    }
    return trace_code(tracing, node->first, node->initial) && trace_code(tracing, node->main, node->end);
}

static bool trace_all(struct tracing *tracing)
{
    const struct mdf_program *program = tracing->side->builder->compiler->program;

    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t k = 0; k < program->layers[i].n_nodes; k++) {
            if (!trace_node(tracing, &program->nodes[program->layers[i].nodes[k]])) {
                return false;
            }
        }
    }
    return true;
}

/* What is looked at beside slopes, as all nodes have left it. */
static bool take_looked(struct tracing *tracing)
{
    struct right_side *side = tracing->side;
    const struct mdf_program *program = side->builder->compiler->program;
    const struct list *events = &side->builder->compiler->events;
    size_t at = side->n_states, output = 0;

    memcpy(side->looked.values, side->slopes.values, side->n_states * sizeof *side->looked.values);
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++, output++) {
            bool is_looked_at = side->is_looked_at == NULL || side->is_looked_at[output];

            side->looked.values[at++] =
                trace_operand(&tracing->tracer, is_looked_at ? program->nodes[i].outputs[k].operand : side->states[0].slot);
        }
    }
    for (size_t i = 0; i < events->n; i++) {
        side->looked.values[at++] = trace_operand(&tracing->tracer, ((const struct mdf_program_event *)events->items)[i].test);
    }
    for (size_t i = 0; i < at; i++) {
        if (side->looked.values[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what pieces read and write */

typedef bool visitor(struct right_side *side, mdf_operand operand, size_t piece);

struct visit {
    struct right_side *side;
    size_t piece;
    visitor *reads;
};

static bool stops_at(void *context, mdf_operand operand)
{
    const struct visit *visit = context;

    return !visit->reads(visit->side, operand, visit->piece);
}

/* Calls `reads` with each operand that the instructions of a piece read. */
static bool visit_reads(struct right_side *side, size_t number, visitor *reads)
{
    const struct right_side_piece piece = ((const struct right_side_piece *)side->pieces.items)[number];
    struct unit *unit = side->builder->unit;
    struct visit visit = {side, number, reads};

    for (size_t at = piece.first; at < piece.end; at++) {
        if (mdf_any_read(unit_instruction(unit, at), unit->calls.items, unit->bodies.items, stops_at, &visit)) {
            return false;
        }
    }
    return true;
}

static bool add_writer(struct right_side *side, mdf_operand slot, size_t number)
{
    struct list *writers = &side->writers[MDF_OPERAND_INDEX(slot)];

    side->is_made[MDF_OPERAND_INDEX(slot)] = true;
    return (writers->n > 0 && ((const size_t *)writers->items)[writers->n - 1] == number) ||
           list_add(side->builder->compiler, writers, &number, sizeof number);
}

static bool note_written(struct right_side *side, const struct tracer *tracer)
{
    const struct right_side_piece *pieces = side->pieces.items;
    struct tracer all = *tracer;

    all.n_slots = side->n_slots;
    for (size_t i = 0; i < side->pieces.n; i++) {
        const bool *is_written = trace_writes(&all, pieces[i].first, pieces[i].end);

        for (size_t k = 0; is_written != NULL && k < side->n_slots; k++) {
            if (is_written[k] && !add_writer(side, MDF_OPERAND(MDF_OPERAND_SLOT, k), i)) {
                return false;
            }
        }
        if (is_written == NULL) {
            return false;
        }
    }
    return true;
}

/* What a slot stands for at last: something that a piece writes, or that nothing traced does. */
static mdf_operand follow(const struct right_side *side, mdf_operand operand)
{
    for (size_t n = 0; n <= side->n_slots && operand != MDF_NO_OPERAND; n++) {
        mdf_operand behind = MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && MDF_OPERAND_INDEX(operand) < side->n_slots
                                 ? side->behind[MDF_OPERAND_INDEX(operand)]
                                 : MDF_NO_OPERAND;

        if (behind == MDF_NO_OPERAND) {
            return operand;
        }
        operand = behind;
    }
    return MDF_NO_OPERAND; /* around in a circle */
}

/* ------------------------------------------------------------------ the order */

static bool need(struct right_side *side, mdf_operand operand, size_t piece);

static const char keeps_value[] =
    "a derivative depends on a value that is kept from one evaluation to the next (it reads its own, and counts evaluations)";
static const char output_keeps_value[] = "it keeps a value from one evaluation to the next, which it reads";

static const char *why_kept(const struct right_side *side)
{
    return side->looked.values != NULL ? output_keeps_value : keeps_value;
}

static bool need(struct right_side *side, mdf_operand operand, size_t piece)
{
    struct right_side_piece *pieces = side->pieces.items;
    mdf_operand read = follow(side, operand);
    const struct list *writers;

    if (operand == MDF_NO_OPERAND) {
        return true;
    }
    if (read == MDF_NO_OPERAND) {
        return refuse(side, piece < side->pieces.n ? origin_at(side, pieces[piece].first) : origin_of_values(side),
                      why_kept(side));
    }
    if (MDF_OPERAND_KIND(read) != MDF_OPERAND_SLOT) {
        return true;
    }
    if (side->opaque[MDF_OPERAND_INDEX(read)] != NULL) {
        return refuse(side, piece < side->pieces.n ? origin_at(side, pieces[piece].first) : origin_of_values(side),
                      side->opaque[MDF_OPERAND_INDEX(read)]);
    }
    writers = &side->writers[MDF_OPERAND_INDEX(read)];
    for (size_t i = 0; i < writers->n; i++) {
        pieces[((const size_t *)writers->items)[i]].is_needed = true;
    }
    for (size_t i = 0; i < side->builder->compiler->program->n_ports; i++) {
        side->reads_port[i] = side->reads_port[i] || side->builder->compiler->program->ports[i].slot == read;
    }
    return true;
}

/* Marks all pieces that a part depends on. */
static bool find_needed(struct right_side *side, const struct right_side_part *part)
{
    struct right_side_piece *pieces = side->pieces.items;
    bool *is_seen = mdf_arena_array(&side->builder->compiler->scratch, side->pieces.n, sizeof *is_seen), changes = true;

    if (is_seen == NULL) {
        return out_of_memory(side->builder->compiler);
    }
    for (size_t i = 0; i < side->pieces.n; i++) {
        pieces[i].is_needed = pieces[i].is_emitted = false;
    }
    for (size_t i = 0; i < part->n_values; i++) {
        if (!need(side, part->values[i], side->pieces.n)) {
            return false;
        }
    }
    while (changes) {
        changes = false;
        for (size_t i = side->pieces.n; i-- > 0;) {
            if (pieces[i].is_needed && !is_seen[i]) {
                is_seen[i] = changes = true;
                if (!visit_reads(side, i, need)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Whether all that writes an operand is emitted, before `piece`, which may write it too. */
static bool is_there(struct right_side *side, mdf_operand operand, size_t piece)
{
    const struct right_side_piece *pieces = side->pieces.items;
    mdf_operand read = follow(side, operand);
    const struct list *writers;

    if (read == MDF_NO_OPERAND || MDF_OPERAND_KIND(read) != MDF_OPERAND_SLOT) {
        return true;
    }
    writers = &side->writers[MDF_OPERAND_INDEX(read)];
    for (size_t i = 0; i < writers->n; i++) {
        size_t writer = ((const size_t *)writers->items)[i];

        if (writer == piece && read == operand) { /* its own: those behind it wait for it */
            return true;
        }
        if (!pieces[writer].is_emitted) {
            return false;
        }
    }
    return true;
}

static bool put_in_order(struct right_side *side, struct right_side_part *part)
{
    struct right_side_piece *pieces = side->pieces.items;
    size_t waiting = 0, first_waiting = 0;
    bool changes = true;

    while (changes) {
        changes = false;
        waiting = 0;
        for (size_t i = 0; i < side->pieces.n; i++) {
            if (!pieces[i].is_needed || pieces[i].is_emitted) {
                continue;
            }
            if (visit_reads(side, i, is_there)) {
                pieces[i].is_emitted = changes = true;
                if (!list_add(side->builder->compiler, &part->order, &i, sizeof i)) {
                    return false;
                }
            } else {
                first_waiting = waiting++ == 0 ? i : first_waiting;
            }
        }
    }
    return waiting == 0 || refuse(side, origin_at(side, pieces[first_waiting].first), why_kept(side));
}

/* ------------------------------------------------------------------ what may not be repeated */

static bool draws(const struct right_side *side, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call;

    if (instruction->opcode != MDF_OPCODE_CALL) {
        return false;
    }
    call = (const struct mdf_code_call *)side->builder->unit->calls.items + instruction->target;
    if ((call->operator->flags & MDF_OPERATOR_RANDOM) != 0) {
        return true;
    }
    for (size_t i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i] != UINT32_MAX &&
            mdf_code_find_draw(((struct mdf_code *const *)side->builder->unit->bodies.items)[call->bodies[i]]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool draws_nothing(const struct right_side *side, const struct right_side_part *part)
{
    const struct right_side_piece *pieces = side->pieces.items;

    for (size_t i = 0; i < part->order.n; i++) {
        const struct right_side_piece *piece = &pieces[((const size_t *)part->order.items)[i]];

        for (size_t at = piece->first; at < piece->end; at++) {
            if (draws(side, unit_instruction(side->builder->unit, at))) {
                return refuse(side, origin_at(side, at),
                              side->looked.values != NULL ? "it draws random numbers" : "a derivative draws random numbers");
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the whole */

/* Arrays with an entry for each slot, the traced ones included. */
static bool make_room(struct right_side *side)
{
    struct mdf_arena *scratch = &side->builder->compiler->scratch;

    side->n_slots = side->builder->unit->slot_facts.n;
    side->writers = mdf_arena_array(scratch, side->n_slots, sizeof *side->writers);
    side->is_made = mdf_arena_array(scratch, side->n_slots, sizeof *side->is_made);
    side->behind = trace_new_operands(side->builder->compiler, side->n_slots, MDF_NO_OPERAND);
    side->opaque = mdf_arena_array(scratch, side->n_slots, sizeof *side->opaque);
    side->reads_port = mdf_arena_array(scratch, side->builder->compiler->program->n_ports + 1, sizeof *side->reads_port);
    return (side->reads_port != NULL && side->writers != NULL && side->is_made != NULL && side->behind != NULL &&
            side->opaque != NULL) ||
           out_of_memory(side->builder->compiler);
}

/* What was read before it was written is what is written later; or, where nothing writes it, what it is. */
static void settle(struct tracing *tracing)
{
    struct right_side *side = tracing->side;

    for (size_t i = 0; i < tracing->stands.n; i++) {
        const struct stand_in *stand = (const struct stand_in *)tracing->stands.items + i;
        mdf_operand now = tracing->tracer.now[stand->slot];

        side->is_made[MDF_OPERAND_INDEX(stand->operand)] = true;
        side->opaque[MDF_OPERAND_INDEX(stand->operand)] = stand->opaque;
        if (stand->opaque == NULL) {
            side->behind[MDF_OPERAND_INDEX(stand->operand)] =
                now == stand->operand ? MDF_OPERAND(MDF_OPERAND_SLOT, stand->slot) : now;
        }
    }
    for (size_t i = 0; i < side->n_states; i++) {
        side->is_made[MDF_OPERAND_INDEX(side->states[i].slot)] = true;
    }
}

static bool order_part(struct right_side *side, struct right_side_part *part)
{
    return find_needed(side, part) && put_in_order(side, part) && draws_nothing(side, part);
}

/* Which ports it reads says nothing of derivatives. */
static bool order_looked(struct right_side *side)
{
    bool done = order_part(side, &side->looked);

    memset(side->reads_port, 0, side->builder->compiler->program->n_ports * sizeof *side->reads_port);
    return done;
}

/* As of states without conditions. */
static bool begin_parts(struct right_side *side)
{
    struct compiler *compiler = side->builder->compiler;
    struct target target = {compiler, side->builder->unit, &side->builder->scope};
    mdf_operand never = unit_add_bool(&target, false);

    side->slopes.n_values = side->n_states;
    side->slopes.values = trace_new_operands(compiler, side->n_states + 1, MDF_NO_OPERAND);
    side->conditions.n_values = 2 * side->n_states;
    side->conditions.values = trace_new_operands(compiler, 2 * side->n_states + 1, never);
    for (size_t i = 0; side->conditions.values != NULL && i < side->n_states; i++) {
        side->conditions.values[i] = side->states[i].slot;
    }
    if (compiler->has_right_side) {
        side->looked.n_values = side->n_states + compiler->events.n;
        for (size_t i = 0; i < compiler->program->n_nodes; i++) {
            side->looked.n_values += compiler->program->nodes[i].n_outputs;
        }
        side->looked.values = trace_new_operands(compiler, side->looked.n_values + 1, MDF_NO_OPERAND);
        if (side->looked.values == NULL) {
            return false;
        }
    }
    if (compiler->has_right_side && compiler->gradient != NULL && side->n_states > 0) { /* a library is to derive */
        side->is_looked_at = compile_derived_outputs(compiler);
        if (side->is_looked_at == NULL) {
            return false;
        }
    }
    return never != MDF_NO_OPERAND && side->slopes.values != NULL && side->conditions.values != NULL;
}

bool right_side_make(struct right_side *side, struct graph_builder *builder)
{
    struct compiler *compiler = builder->compiler;
    struct tracing tracing = {.side = side,
                              .tracer = {.target = {compiler, builder->unit, &builder->scope},
                                         .from = builder->unit,
                                         .n_slots = builder->unit->slot_facts.n,
                                         .has_dt = true,
                                         .is_later = true,
                                         .read_before = read_before,
                                         .context = &tracing,
                                         .purpose = "only the method euler solves the equations"}};
    uint32_t origin = compiler->origin;
    bool *is_written, done;

    *side = (struct right_side){.builder = builder, .states = compiler->states.items, .n_states = compiler->states.n};
    if (!begin_parts(side)) {
        return false;
    }
    is_written = trace_writes(&tracing.tracer, 0, unit_position(builder->unit));
    tracing.tracer.is_written = is_written;
    if (is_written == NULL || !trace_begin(&tracing.tracer)) {
        return false;
    }
    trace_mark_fed(compiler->program, is_written);
    for (size_t i = 0; i < side->n_states; i++) {
        is_written[MDF_OPERAND_INDEX(side->states[i].next)] = true;
    }
    hold_states(&tracing);
    done = trace_all(&tracing) && (side->looked.values == NULL || take_looked(&tracing)) && make_room(side) &&
           note_written(side, &tracing.tracer);
    if (done) {
        settle(&tracing);
    }
    done = done && (side->looked.values == NULL || order_looked(side)) && order_part(side, &side->slopes) &&
           (!side->has_events || order_part(side, &side->conditions));
    compiler->origin = origin;
    return done;
}

static mdf_operand read_behind(struct tracer *tracer, size_t slot)
{
    const struct right_side *side = tracer->context;
    mdf_operand behind = follow(side, MDF_OPERAND(MDF_OPERAND_SLOT, slot));

    return behind != MDF_OPERAND(MDF_OPERAND_SLOT, slot) ? trace_operand(tracer, behind) : MDF_NO_OPERAND;
}

bool right_side_emit(struct right_side *side, const struct right_side_part *part, struct target *target, const mdf_operand *y,
                     mdf_operand *results)
{
    const struct right_side_piece *pieces = side->pieces.items;
    uint32_t origin = target->compiler->origin;
    struct tracer tracer = {.target = *target,
                            .from = side->builder->unit,
                            .is_written = side->is_made,
                            .n_slots = side->n_slots,
                            .has_dt = true,
                            .is_later = true,
                            .read_before = read_behind,
                            .context = side};

    if (!trace_begin(&tracer)) {
        return false;
    }
    for (size_t i = 0; i < side->n_states; i++) {
        tracer.now[MDF_OPERAND_INDEX(side->states[i].slot)] = y[i];
    }
    for (size_t i = 0; i < part->order.n; i++) {
        const struct right_side_piece *piece = &pieces[((const size_t *)part->order.items)[i]];

        if (!trace_range(&tracer, piece->first, piece->end)) {
            return false;
        }
    }
    for (size_t i = 0; i < part->n_values; i++) {
        results[i] = trace_operand(&tracer, part->values[i]);
        if (results[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    target->compiler->origin = origin;
    return true;
}
