/* program_slots.c - the values of a frame that last from one stretch of instructions to another: which ones generated code has to
 * keep, and as what. */
#include "mdf_c/source/program_writer.h"

#include "mdf_c/run/slot_reads.h"

#include "mdf_c/lower/lower.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/tensor/rows.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ stretches */

size_t mdf_source_node_ranges(const struct mdf_program_node *node, bool is_first, struct mdf_lowering_range ranges[2])
{
    bool is_whole = is_first || node->reset == node->main;

    ranges[0] = (struct mdf_lowering_range){node->first, is_whole ? node->end : node->reset};
    ranges[1] = (struct mdf_lowering_range){node->main, is_whole ? node->main : node->end};
    return is_whole ? 1 : 2;
}

const struct mdf_lowered *mdf_source_find_stretch(const struct mdf_source_program *program,
                                                  const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    const struct mdf_source_stretch *found;

    for (found = program->graph->stretches_from[ranges[0].first]; found != NULL; found = found->next_here) {
        if (found->has_dt == has_dt && found->n_ranges == n && memcmp(found->ranges, ranges, n * sizeof *ranges) == 0) {
            return found->lowered;
        }
    }
    return NULL;
}

static bool is_slot(const struct mdf_source_program *program, const struct mdf_value *value)
{
    return value >= program->graph->values && value < program->graph->values + program->graph->program->code->n_slots;
}

static bool is_same(const struct mdf_value *a, const struct mdf_value *b)
{
    if (a->kind == b->kind && a->kind != MDF_KIND_TENSOR) {
        return a->kind == MDF_KIND_NONE ||
               (a->kind == MDF_KIND_LIST && a->dtype == b->dtype && a->dtype != MDF_DTYPE_NONE && a->length == 0 && b->length == 0);
    }
    return a->kind == MDF_KIND_TENSOR && b->kind == MDF_KIND_TENSOR && a->dtype == b->dtype && a->dtype != MDF_DTYPE_STRING &&
           a->strength == b->strength && a->length == b->length && mdf_value_has_shape_of(a, b) && a->length > 0 &&
           memcmp(a->data, b->data, a->length * mdf_dtype_size((mdf_dtype)a->dtype)) == 0;
}

/* Notes a slot that may be left with another strength than it has now; what reads it is lowered for both. */
static void note_either(struct mdf_source_program *program, const struct mdf_lowered_output *output, uint8_t stronger,
                        size_t slot)
{
    struct mdf_either *either = &program->graph->either[slot];
    struct mdf_either now = {true, stronger, output->weaker};

    if (either->is_there) {
        now.stronger = either->stronger > now.stronger ? either->stronger : now.stronger;
        now.weaker = either->weaker < now.weaker ? either->weaker : now.weaker;
    }
    program->has_new_either =
        program->has_new_either || !either->is_there || either->stronger != now.stronger || either->weaker != now.weaker;
    *either = now;
}

static const struct mdf_either *find_either(void *context, const struct mdf_value *value)
{
    const struct mdf_source_program *program = context;
    const struct mdf_source_graph *graph = mdf_source_graph_of(program, value);

    return graph != NULL ? &graph->either[value - graph->values] : NULL;
}

/* Notes which slots a stretch gives something else than what they hold now, or something that is not known before. */
static bool note_changes(struct mdf_source_program *program, const struct mdf_lowered *lowered)
{
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        const struct mdf_lowered_value *value = &lowered->values[lowered->outputs[i].id];
        size_t slot = (size_t)(lowered->outputs[i].slot - program->graph->values);

        if (is_slot(program, lowered->outputs[i].slot)) {
            program->graph->changes[slot] = program->graph->changes[slot] || value->place != MDF_LOWERED_CONSTANT ||
                                            !is_same(&value->form, lowered->outputs[i].slot);
            if (lowered->outputs[i].is_either) {
                note_either(program, &lowered->outputs[i], value->form.strength, slot);
            }
            if (!mdf_source_note_optional(program, &lowered->outputs[i], &value->form, slot)) {
                return false;
            }
        }
    }
    return true;
}

/* What follows from constants and shapes alone is constant for the nodes that come later, where all run once in each evaluation,
 * one after the other; of a node whose first run is another one, what is the same in both. */
static bool note_constants(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    const struct mdf_lowered *lowered = mdf_source_find_stretch(program, ranges, n, has_dt);

    for (size_t i = 0; lowered != NULL && i < lowered->n_outputs && program->graph->program->schedule == NULL; i++) {
        if (is_slot(program, lowered->outputs[i].slot)) {
            size_t slot = (size_t)(lowered->outputs[i].slot - program->graph->values);

            program->graph->stays[slot] = !program->graph->changes[slot];
        }
    }
    return true;
}

/* Why it is not lowered, and what to do about it, where something can be done. */
static bool refuse_with_cure(struct mdf_source_writer *writer, enum mdf_refusal_reason reason)
{
    const char *cure = mdf_refusal_cure(reason);

    return mdf_source_refuse(writer, "%s%s%s", mdf_refusal_text(reason), cure != NULL ? "; " : "", cure != NULL ? cure : "");
}

struct mdf_lowered *mdf_source_lower(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n,
                                     bool has_dt, struct mdf_refusal *refusal)
{
    struct mdf_execution *execution = &program->graph->state->shared->execution;
    const struct mdf_whole *whole = program->graph->state->shared->outermost->whole;
    struct mdf_lowering_request request = {.frame = program->graph->state->frame,
                                           .ranges = ranges,
                                           .n_ranges = n,
                                           .readers = program->graph->is_read,
                                           .self = MDF_READ_BY_ALL,
                                           .stays = program->graph->stays,
                                           .surprises = whole != NULL ? whole->single.fast.surprises : NULL,
                                           .n_surprises = whole != NULL ? whole->single.fast.n_surprises : 0,
                                           .is_for_source = true,
                                           .find_either = find_either,
                                           .find_optional = mdf_source_may_have_optionals(program) ? mdf_source_find_optional : NULL,
                                           .context = program};
    double kept = execution->dt;
    struct mdf_lowered *lowered;

    execution->dt = has_dt ? 0 : (double)NAN;
    lowered = mdf_lower(&request, refusal);
    execution->dt = kept;
    return lowered;
}

bool mdf_source_add_stretch(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt,
                            struct mdf_lowered *lowered)
{
    struct mdf_arena *arena = &program->writer.arena;
    struct mdf_source_stretch *added = mdf_arena_allocate(arena, sizeof *added);
    struct mdf_lowering_range *copies = mdf_arena_array(arena, n, sizeof *copies);

    if (added == NULL || copies == NULL) {
        mdf_lowered_release(lowered);
        return mdf_source_out_of_memory(&program->writer);
    }
    memcpy(copies, ranges, n * sizeof *copies);
    *added = (struct mdf_source_stretch){.next = program->graph->stretches,
                                         .next_here = program->graph->stretches_from[ranges[0].first],
                                         .ranges = copies,
                                         .n_ranges = n,
                                         .has_dt = has_dt,
                                         .lowered = lowered};
    program->graph->stretches = added;
    program->graph->stretches_from[ranges[0].first] = added;
    return note_changes(program, lowered);
}

static bool lower_stretch(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    struct mdf_refusal refusal = {.reason = MDF_REFUSED_NOT_SAID};
    struct mdf_lowered *lowered;

    if ((n == 1 && ranges[0].first >= ranges[0].end) || mdf_source_find_stretch(program, ranges, n, has_dt) != NULL) {
        return true;
    }
    lowered = mdf_source_lower(program, ranges, n, has_dt, &refusal);
    if (lowered == NULL) {
        program->writer.origin = refusal.origin != NULL ? refusal.origin : program->writer.origin;
        return refusal.reason == MDF_REFUSED_OUT_OF_MEMORY ? mdf_source_out_of_memory(&program->writer)
                                                           : refuse_with_cure(&program->writer, refusal.reason);
    }
    return mdf_source_add_stretch(program, ranges, n, has_dt, lowered);
}

void mdf_source_release_stretches(struct mdf_source_program *program)
{
    const struct mdf_source_stretch *stretch;

    for (size_t i = 0; i < program->n_graphs; i++) {
        for (stretch = program->graphs[i].stretches; stretch != NULL; stretch = stretch->next) {
            mdf_lowered_release(stretch->lowered);
        }
    }
}

bool mdf_source_depends_on_dt(const struct mdf_program *program, const struct mdf_program_node *node)
{
    for (size_t i = node->first; i < node->end; i++) {
        if (program->code->instructions[i].opcode == MDF_OPCODE_JUMP_WITHOUT_DT) {
            return true;
        }
    }
    return false;
}

typedef bool visitor(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt);

/* Calls `visit` on the stretches of a node: what begins anew, its first and its later runs, with a time increment and without; of
 * several nodes that have one together with the last. */
static bool for_each_of_node(struct mdf_source_program *program, size_t index, visitor *visit)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    const struct mdf_source_together *together = program->graph->together_of[index];
    struct mdf_lowering_range ranges[2] = {{node->reset, node->initial}};
    size_t n;

    if (together != NULL) {
        return together->last != index || visit(program, together->ranges, together->n, false);
    }
    if (!visit(program, ranges, 1, false)) {
        return false;
    }
    for (size_t way = 0; way < 4; way++) {
        struct mdf_lowering_range behind = mdf_source_range_behind(program->graph->program, node);

        n = mdf_source_ranges_before(program->graph->program, node, way % 2 == 0, ranges);
        if ((way < 2 || mdf_source_depends_on_dt(program->graph->program, node)) &&
            !(visit(program, ranges, n, way >= 2) && visit(program, &behind, 1, way >= 2))) {
            return false;
        }
    }
    return true;
}

static bool for_each_of_right_side(struct mdf_source_program *program, visitor *visit)
{
    const struct mdf_program_right_side *side = &program->graph->program->right_side;
    const struct mdf_range parts[] = {side->evaluate, side->condition, side->differentiate};
    size_t n = program->has_tangents ? 3 : 2;

    mdf_source_at(&program->writer, "the right-hand side", NULL);
    for (size_t i = 0; i < n; i++) {
        const struct mdf_lowering_range range = {parts[i].first, parts[i].end};

        if (!visit(program, &range, 1, false)) {
            return false;
        }
    }
    return true;
}

/* Calls `visit` on every stretch: what combines values in ports and weighs them on edges, and those of nodes; and then, for all
 * of one of these, `settle`. */
static bool for_each_stretch(struct mdf_source_program *program, visitor *visit, visitor *settle)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_lowering_range range;

    for (size_t i = 0; i < own->n_ports; i++) {
        mdf_source_at(&program->writer, mdf_source_text(&program->writer, "input port '%s'", own->ports[i].id),
                      &own->ports[i].origin);
        range = (struct mdf_lowering_range){own->ports[i].combine.first, own->ports[i].combine.end};
        if (!visit(program, &range, 1, false) || !settle(program, &range, 1, false)) {
            return false;
        }
    }
    for (size_t i = 0; i < own->n_edges; i++) {
        mdf_source_at(&program->writer,
                      mdf_source_text(&program->writer, "an edge to input port '%s'", own->ports[own->edges[i].port].id),
                      &own->ports[own->edges[i].port].origin);
        range = (struct mdf_lowering_range){own->edges[i].weigh.first, own->edges[i].weigh.end};
        if (program->graph->state->has_run[own->edges[i].sender] &&
            !(visit(program, &range, 1, false) && settle(program, &range, 1, false))) {
            return false;
        }
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        mdf_source_at(&program->writer, mdf_source_text(&program->writer, "node '%s'", own->nodes[i].id), &own->nodes[i].origin);
        if (program->graph->state->has_run[i] && !((visit != lower_stretch || mdf_source_bring_together(program, i)) &&
                                                   for_each_of_node(program, i, visit) && for_each_of_node(program, i, settle))) {
            return false;
        }
    }
    return !program->has_derivatives || for_each_of_right_side(program, visit);
}

static bool visit_reads(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    (void)has_dt;
    mdf_slot_reads_add(program->graph->reads, ranges, n);
    return true;
}

static bool pass_over(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    (void)program;
    (void)ranges;
    (void)n;
    (void)has_dt;
    return true;
}

/* Whether values wait as whole numbers to be combined with real ones: real ones may wait there, too, as those of another edge,
 * and whole ones are made real before they are combined. */
static bool waits_as_whole(const struct mdf_value *arriving, const struct mdf_value *value)
{
    return arriving->kind == MDF_KIND_TENSOR && mdf_value_has_shape_of(arriving, value) &&
           mdf_dtype_kind((mdf_dtype)value->dtype) == 'f' && mdf_dtype_kind((mdf_dtype)arriving->dtype) != 'f' &&
           mdf_source_computes((mdf_dtype)value->dtype) && mdf_source_computes((mdf_dtype)arriving->dtype);
}

/* What combines values needs two: where none have met yet, or real ones meet whole ones, the second is like the first. */
static bool fill_arriving(struct mdf_source_program *program, const struct mdf_program_port *port)
{
    struct mdf_value *arriving = mdf_frame_slot(program->graph->state->frame, port->arriving),
                     *value = mdf_frame_slot(program->graph->state->frame, port->slot);

    return (arriving->kind != MDF_KIND_NONE && !waits_as_whole(arriving, value)) ||
           mdf_value_copy(&program->graph->state->shared->memory, arriving, value) || mdf_source_out_of_memory(&program->writer);
}

static bool fill_all(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = 0; i < own->n_ports; i++) {
        if (own->ports[i].combine.first < own->ports[i].combine.end && !fill_arriving(program, &own->ports[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ slots */

/* The graph that a value is a constant of; NULL: none. */
static struct mdf_source_graph *graph_of_constant(const struct mdf_source_program *program, const struct mdf_value *value)
{
    for (size_t i = 0; i < program->n_graphs; i++) {
        const struct mdf_code *code = program->graphs[i].program->code;

        if (value >= code->constants && value < code->constants + code->n_constants) {
            return &program->graphs[i];
        }
    }
    return NULL;
}

/* The slot that an operand of the graph at hand stands for may be one of a graph around. */
static void read_operand(struct mdf_source_program *program, mdf_operand operand)
{
    const struct mdf_value *value = operand != MDF_NO_OPERAND ? mdf_frame_value(program->graph->state->frame, operand) : NULL;
    struct mdf_source_graph *graph = value != NULL ? mdf_source_graph_of(program, value) : NULL;

    if (graph != NULL) {
        graph->is_read[value - graph->values] = MDF_READ_BY_ALL;
    }
}

bool mdf_source_is_hidden(const struct mdf_source_program *program, mdf_operand operand)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_value *value = operand != MDF_NO_OPERAND ? mdf_frame_value(program->graph->state->frame, operand) : NULL;
    struct mdf_value form;

    if (value == NULL || value->kind != MDF_KIND_LIST || value->dtype == MDF_DTYPE_NONE || !own->declares_results ||
        mdf_array_form(value, &form)) {
        return false;
    }
    for (size_t i = 0; i < own->n_results; i++) {
        if (own->results[i].output != SIZE_MAX &&
            own->nodes[own->results[i].node].outputs[own->results[i].output].operand == operand) {
            return false;
        }
    }
    return true;
}

static void hint_operand(struct mdf_source_program *program, mdf_operand operand, const char *node, const char *id)
{
    const char **hint;

    if (operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT) {
        return;
    }
    hint = &program->graph->hints[MDF_OPERAND_INDEX(operand)];
    if (*hint == NULL) {
        *hint = node != NULL ? mdf_source_text(&program->writer, "%s_%s", node, id) : id;
    }
}

/* What a graph within a node yields, and what it takes from around. */
static void read_around(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = 0; program->graph != program->graphs && i < own->code->n_yields; i++) {
        read_operand(program, own->code->yields[i]);
    }
    for (size_t i = 0; program->graph != program->graphs && i < own->code->n_captures; i++) {
        read_operand(program, MDF_OPERAND(MDF_OPERAND_CAPTURE, i));
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        if (own->ports[i].outer_port != SIZE_MAX) {
            read_operand(program, own->ports[i].source);
        }
    }
}

/* What the functions of a right-hand side give back of a state. */
static void read_state(struct mdf_source_program *program, const struct mdf_program_state *state)
{
    static const char *const names[] = {[MDF_STATE_SLOPE] = "slope",
                                        [MDF_STATE_CONDITIONED] = "conditioned",
                                        [MDF_STATE_HOLDS] = "holds",
                                        [MDF_STATE_TANGENT] = "tangent"};
    const struct mdf_range condition = program->graph->program->right_side.condition;

    hint_operand(program, state->y, NULL, "looked_at");
    hint_operand(program, state->direction, NULL, "direction");
    for (int k = 0; k < MDF_STATE_N_RESULTS; k++) {
        bool is_there = k == MDF_STATE_SLOPE || (k == MDF_STATE_TANGENT && program->has_tangents) ||
                        ((k == MDF_STATE_CONDITIONED || k == MDF_STATE_HOLDS) && condition.first < condition.end);

        if (is_there) {
            hint_operand(program, state->results[k], NULL, names[k]);
            read_operand(program, state->results[k]);
        }
    }
}

static void read_tangents(struct mdf_source_program *program, const struct mdf_program_node *node, size_t first)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        hint_operand(program, program->graph->program->right_side.of_output[first + i], node->id,
                     mdf_source_text(&program->writer, "%s_tangent", node->outputs[i].id));
        read_operand(program, program->graph->program->right_side.of_output[first + i]);
    }
}

/* Slots that something outside of the instructions reads. */
static void read_from_outside(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    size_t j;

    if (program->graph == program->graphs) {
        program->graph->hints[0] = "dt";
    }
    if (own->solver.takes_own_steps) {
        read_operand(program, own->solver.behind);
    }
    for (size_t i = 0; i < own->n_parameters; i++) {
        hint_operand(program, own->parameters[i].slot, own->parameters[i].node, own->parameters[i].id);
        read_operand(program, own->parameters[i].slot);
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (j = 0; j < own->nodes[i].n_outputs; j++) {
            hint_operand(program, own->nodes[i].outputs[j].operand, own->nodes[i].id, own->nodes[i].outputs[j].id);
            if (program->graph->state->has_run[i] && !mdf_source_is_hidden(program, own->nodes[i].outputs[j].operand)) {
                read_operand(program, own->nodes[i].outputs[j].operand);
            }
        }
        read_operand(program, own->nodes[i].finished);
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        hint_operand(program, own->ports[i].slot, own->ports[i].node == SIZE_MAX ? NULL : own->nodes[own->ports[i].node].id,
                     own->ports[i].id);
    }
    for (size_t i = 0; program->has_derivatives && i < own->n_integrals; i++) {
        read_operand(program, own->integrals[i].slot);
    }
    for (size_t i = 0; program->has_derivatives && i < own->right_side.n_states; i++) {
        read_state(program, &own->right_side.states[i]);
    }
    for (size_t i = j = 0; program->has_tangents && i < own->n_nodes; j += own->nodes[i++].n_outputs) {
        read_tangents(program, &own->nodes[i], j);
    }
    for (size_t i = 0; program->has_indicators && i < own->n_events; i++) {
        hint_operand(program, own->events[i].test, own->nodes[own->events[i].node].id,
                     mdf_source_text(&program->writer, "%s_%s", own->events[i].parameter, own->events[i].id));
        read_operand(program, own->events[i].test);
    }
    for (size_t i = 0; i < own->n_results; i++) {
        if (own->results[i].output == SIZE_MAX) {
            read_operand(program, own->ports[own->results[i].node].slot);
        }
    }
    for (size_t i = 0; i < own->n_edges; i++) {
        if (program->graph->state->has_run[own->edges[i].sender]) {
            read_operand(program, own->edges[i].source);
            read_operand(program, own->edges[i].value);
        }
    }
    read_around(program);
}

/* Slots that conditions look at. */
static void read_by_conditions(struct mdf_source_program *program)
{
    const struct mdf_schedule *schedule = program->graph->program->schedule;

    for (size_t i = 0; schedule != NULL && i < schedule->n_conditions; i++) {
        const struct mdf_condition *condition = &schedule->conditions[i];
        uint32_t k, n = condition->kind == MDF_CONDITION_THRESHOLD      ? 1
                        : condition->kind >= MDF_CONDITION_FINISHED_ANY ? condition->n_items
                                                                        : 0;

        for (k = 0; k < n; k++) {
            read_operand(program, schedule->watches[condition->index + k].value);
        }
    }
}

/* Names for slots that have none yet, from what the lowered forms call their values. */
static void take_hints(struct mdf_source_program *program)
{
    const struct mdf_source_stretch *stretch;

    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        for (size_t i = 0; i < stretch->lowered->n_outputs; i++) {
            const struct mdf_lowered_output *output = &stretch->lowered->outputs[i];

            if (is_slot(program, output->slot) && program->graph->hints[output->slot - program->graph->values] == NULL) {
                program->graph->hints[output->slot - program->graph->values] = stretch->lowered->values[output->id].name;
            }
        }
    }
}

/* What the lowered forms of the graph at hand read, in it or around it. */
static void read_by_forms(struct mdf_source_program *program)
{
    const struct mdf_source_stretch *stretch;

    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        for (size_t i = 0; i < stretch->lowered->n_inputs; i++) {
            const struct mdf_value *source = stretch->lowered->values[stretch->lowered->inputs[i]].source;
            struct mdf_source_graph *graph = mdf_source_graph_of(program, source);

            if (graph != NULL) {
                graph->is_read[source - graph->values] = MDF_READ_BY_ALL;
            }
        }
    }
}

/* From so many bytes on an input may be lent: copies of less cost nothing. */
enum { LEAST_LENT_BYTES = 4096 };

static bool is_slot_number(mdf_operand operand, size_t index)
{
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && MDF_OPERAND_INDEX(operand) == index;
}

/* Whether something in the program gives a slot its value, or shows it. */
static bool is_written_or_shown(const struct mdf_source_program *program, size_t index)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_source_stretch *stretch;

    for (size_t i = 0; i < own->n_edges; i++) {
        if (is_slot_number(own->ports[own->edges[i].port].slot, index) || is_slot_number(own->edges[i].value, index) ||
            is_slot_number(own->edges[i].source, index)) {
            return true;
        }
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++) {
            if (is_slot_number(own->nodes[i].outputs[j].operand, index)) {
                return true;
            }
        }
    }
    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        for (size_t i = 0; i < stretch->lowered->n_outputs; i++) {
            if (stretch->lowered->outputs[i].slot == &program->graph->values[index]) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a slot only ever has what the graph is given from outside, which may then stay where it is. */
static bool can_be_lent(const struct mdf_source_program *program, size_t index)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_value *value = &program->graph->values[index];

    if (program->graph != program->graphs || program->n_lanes > 0 || value->length < 2 ||
        value->length * mdf_dtype_size((mdf_dtype)value->dtype) < LEAST_LENT_BYTES) {
        return false;
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        if (is_slot_number(own->ports[i].slot, index)) {
            return own->ports[i].is_required && own->ports[i].reduce == MDF_REDUCE_OVERWRITE &&
                   !is_written_or_shown(program, index);
        }
    }
    return false;
}

/* What stands behind the field of a changeable parameter; "" for another slot. */
static const char *parameter_comment(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = 0; i < own->n_parameters; i++) {
        const struct mdf_program_parameter *parameter = &own->parameters[i];
        const char *node = parameter->node;

        if (is_slot_number(parameter->slot, index)) {
            return mdf_source_text(&program->writer, " /* parameter '%s'%s%s%s: may be set between steps */",
                                   mdf_source_comment(&program->writer, parameter->id), node != NULL ? " of node '" : "",
                                   node != NULL ? mdf_source_comment(&program->writer, node) : "", node != NULL ? "'" : "");
        }
    }
    return "";
}

/* The same memory as that of a slot which has been made, where both have the same form. */
static bool is_shared(struct mdf_source_slot *slot, const struct mdf_source_slot *with)
{
    if (with->name == NULL || with->is_scalar || with->is_lent || slot->is_scalar || with->dtype != slot->dtype ||
        with->length != slot->length) {
        return false;
    }
    slot->name = with->name;
    return true;
}

/* What a value of the frame is in generated code. */
static bool make_slot(struct mdf_source_program *program, size_t index)
{
    enum { FEWEST_BYTES_IN_LINES = 512 }; /* from so many on an array begins where a line of the cache does */

    struct mdf_source_writer *writer = &program->writer;
    const struct mdf_value *there = mdf_source_slot_value(program, &program->graph->values[index]);
    struct mdf_source_slot *slot = &program->graph->slots[index];
    const char *type, *member;
    struct mdf_value form, *value = &form;
    size_t alias = program->graph->aliases[index];

    if (slot->name != NULL) { /* as another one is the same */
        return true;
    }
    if (alias != SIZE_MAX && !make_slot(program, alias)) {
        return false;
    }

    slot->hint = program->graph->hints[index] != NULL ? program->graph->hints[index] : "kept";
    mdf_source_at(writer, mdf_source_text(writer, "the value '%s'", slot->hint), NULL);
    if (!mdf_array_form(there, value)) {
        return there->kind == MDF_KIND_NONE ||
               mdf_source_refuse(writer, there->kind == MDF_KIND_LIST
                                             ? "it is a list, not an array, nor a sequence of arrays of one form"
                                             : "it is an object, not an array");
    }
    type = mdf_source_type((mdf_dtype)value->dtype);
    if (type == NULL) {
        return mdf_source_refuse(writer, "its elements have type %s", mdf_dtype_name((mdf_dtype)value->dtype));
    }
    slot->dtype = (mdf_dtype)value->dtype;
    slot->length = value->length;
    slot->is_scalar = value->length == 1;
    if (alias != SIZE_MAX && is_shared(slot, &program->graph->slots[alias])) {
        return true;
    }
    if (program->graph->optionals[index].of.is_one) {
        mdf_source_make_truth(program, index);
    }
    member = index == 0 && program->graph == program->graphs ? "dt" : mdf_source_name(writer, &program->members, slot->hint);
    slot->name = mdf_source_text(writer, "s->%s", member);
    slot->is_lent = can_be_lent(program, index);
    if (slot->is_lent) {
        mdf_text_printf(&program->fields, "    const %s *%s;\n", type, member);
        mdf_text_printf(&program->copies, "        %s %s[%zu];\n", type, member, value->length);
    } else if (slot->is_scalar) {
        mdf_text_printf(&program->fields, "    %s %s;%s\n", type, member, parameter_comment(program, index));
    } else if (value->length * mdf_dtype_size(slot->dtype) >= FEWEST_BYTES_IN_LINES) {
        mdf_source_append_lines(writer, &program->arrays, &program->members,
                                &(struct mdf_source_lines){"    ", type, member, value->length,
                                                           value->length * mdf_dtype_size(slot->dtype),
                                                           parameter_comment(program, index)});
    } else {
        mdf_text_printf(&program->fields, "    %s %s[%zu];%s\n", type, member, value->length > 0 ? value->length : 1,
                        parameter_comment(program, index));
    }
    if (strcmp(member, "dt") != 0) { /* which is the same for all lanes */
        mdf_source_add_member(program, type, member,
                              slot->is_scalar     ? 0
                              : value->length > 0 ? value->length
                                                  : 1,
                              parameter_comment(program, index));
    }
    return true;
}

/* A constant of a graph's unit that is taken as it is. */
static const struct mdf_source_slot *constant_slot(struct mdf_source_program *program, const struct mdf_source_graph *graph,
                                                   const struct mdf_value *value)
{
    struct mdf_source_writer *writer = &program->writer;
    struct mdf_source_slot *slot = &graph->constants[value - graph->program->code->constants];

    if (slot->name == NULL && value->kind == MDF_KIND_TENSOR && mdf_source_type((mdf_dtype)value->dtype) != NULL) {
        slot->hint = "constant";
        slot->dtype = (mdf_dtype)value->dtype;
        slot->length = value->length;
        slot->is_scalar = false;
        slot->name = mdf_source_constant_array(writer, slot->dtype, value->data, value->length, NULL);
    }
    return slot->name != NULL ? slot : NULL;
}

static const struct mdf_source_slot *find_slot(void *context, const struct mdf_value *value)
{
    struct mdf_source_program *program = context;
    struct mdf_source_graph *graph = mdf_source_graph_of(program, value);

    if (graph != NULL) {
        const struct mdf_source_slot *slot = &graph->slots[value - graph->values];

        return slot->name != NULL ? slot : NULL;
    }
    graph = graph_of_constant(program, value);
    return graph != NULL ? constant_slot(program, graph, value) : mdf_source_find_truth(program, value);
}

const struct mdf_source_slot *mdf_source_find_operand(struct mdf_source_program *program, mdf_operand operand)
{
    return operand == MDF_NO_OPERAND ? NULL : find_slot(program, mdf_frame_value(program->graph->state->frame, operand));
}

const char *mdf_source_operand_element(struct mdf_source_program *program, const struct mdf_source_slot *slot, size_t index)
{
    return slot->is_scalar ? slot->name : mdf_source_text(&program->writer, "%s[%zu]", slot->name, index);
}

static bool for_each_graph(struct mdf_source_program *program, bool (*visit)(struct mdf_source_program *program))
{
    bool done = true;

    for (size_t i = 0; done && i < program->n_graphs; i++) {
        program->graph = &program->graphs[i];
        done = visit(program);
    }
    program->graph = program->graphs;
    return done;
}

static bool make_tables(struct mdf_source_program *program)
{
    struct mdf_source_graph *graph = program->graph;
    const struct mdf_code *code = graph->program->code;
    struct mdf_arena *arena = &program->writer.arena;

    graph->values = mdf_frame_slot(graph->state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, 0));
    graph->slots = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->slots);
    graph->is_read = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->is_read);
    graph->stays = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->stays);
    graph->changes = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->changes);
    graph->either = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->either);
    graph->optionals = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->optionals);
    graph->hints = mdf_arena_array(arena, code->n_slots + 1, sizeof *graph->hints);
    graph->constants = mdf_arena_array(arena, code->n_constants + 1, sizeof *graph->constants);
    graph->stretches_from = mdf_arena_array(arena, code->n_instructions + 1, sizeof *graph->stretches_from);
    graph->together_of = mdf_arena_array(arena, graph->program->n_nodes + 1, sizeof *graph->together_of);
    return (graph->slots != NULL && graph->is_read != NULL && graph->stays != NULL && graph->changes != NULL &&
            graph->either != NULL && graph->optionals != NULL && graph->hints != NULL && graph->constants != NULL && graph->stretches_from != NULL &&
            graph->together_of != NULL) ||
           mdf_source_out_of_memory(&program->writer);
}

static bool read_all(struct mdf_source_program *program)
{
    struct mdf_source_graph *graph = program->graph;

    read_from_outside(program);
    read_by_conditions(program);
    graph->reads = mdf_slot_reads_begin(graph->program->code, &program->writer.arena, graph->is_read);
    if (graph->reads == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    if (!fill_all(program) || !for_each_stretch(program, visit_reads, pass_over)) {
        return false;
    }
    for (size_t i = 0; i < graph->program->code->n_slots;
         i++) { /* other stretches get none: one that reads it is refused its slot */
        if (mdf_source_is_hidden(program, MDF_OPERAND(MDF_OPERAND_SLOT, i))) {
            graph->is_read[i] = MDF_READ_BY_NOBODY;
        }
    }
    return true;
}

static bool lower_all(struct mdf_source_program *program)
{
    return for_each_stretch(program, lower_stretch, note_constants);
}

static bool forget_forms(struct mdf_source_program *program)
{
    struct mdf_source_graph *graph = program->graph;
    size_t n = graph->program->code->n_slots;

    memset(graph->stays, 0, n * sizeof *graph->stays);
    memset(graph->changes, 0, n * sizeof *graph->changes);
    memset(graph->stretches_from, 0, graph->program->code->n_instructions * sizeof(struct mdf_source_stretch *));
    memset(graph->together_of, 0, graph->program->n_nodes * sizeof *graph->together_of);
    graph->turned = NULL;
    graph->stretches = NULL;
    return true;
}

/* Until what reads slots of either strength knows of all of them: each time there are more, which come to an end. */
static bool lower_graphs(struct mdf_source_program *program)
{
    bool done;

    do {
        program->has_new_either = false;
        done = for_each_graph(program, lower_all);
        if (done && program->has_new_either) {
            mdf_source_release_stretches(program);
            done = for_each_graph(program, forget_forms);
        }
    } while (done && program->has_new_either);
    return done;
}

static bool forget_reads(struct mdf_source_program *program)
{
    memset(program->graph->is_read, 0, program->graph->program->code->n_slots * sizeof *program->graph->is_read);
    return true;
}

/* Of the slots that may be read, those that some lowered form does read, or that are seen from outside. */
static bool find_needed(struct mdf_source_program *program)
{
    read_from_outside(program);
    read_by_conditions(program);
    read_by_forms(program);
    return true;
}

static bool make_slots(struct mdf_source_program *program)
{
    take_hints(program);
    if (!mdf_source_find_aliases(program)) {
        return false;
    }
    for (size_t i = 0; i < program->graph->program->code->n_slots; i++) {
        if (program->graph->is_read[i] != MDF_READ_BY_NOBODY && !make_slot(program, i)) {
            return false;
        }
    }
    return true;
}

bool mdf_source_collect(struct mdf_source_program *program)
{
    program->writer.find_slot = find_slot;
    program->writer.slot_context = program;
    if (!for_each_graph(program, make_tables) || !for_each_graph(program, read_all) || !lower_graphs(program) ||
        !for_each_graph(program, forget_reads) || !for_each_graph(program, find_needed)) {
        return false;
    }
    program->graph->is_read[0] = MDF_READ_BY_ALL;
    return for_each_graph(program, make_slots);
}
