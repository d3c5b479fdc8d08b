/* export_schedule.c - nodes, in the order in which they run, and what edges bring them. In a graph with conditions it is written out,
 * pass by pass, where it is the same in each evaluation: where conditions count runs, passes and sets of the evaluation only, but look
 * at no value, time, or earlier evaluation. */
#include "mdf_c/export/exporter.h"

#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/run/state.h"

#include <string.h>

/* ------------------------------------------------------------------ what edges bring */

static bool arrive(struct exporter *exporter, size_t index, const struct symbol *value, bool *has_value)
{
    const struct mdf_program_port *port = &exporter->program->ports[index];
    struct environment *environment = exporter->environment;
    struct symbol declared;

    exporter->at = &port->origin;
    if (!export_declare(exporter, environment->graph, value, &port->declaration.type, &declared)) {
        return false;
    }
    if (*has_value && port->reduce != MDF_REDUCE_OVERWRITE) {
        environment->slots[MDF_OPERAND_INDEX(port->arriving)] = declared;
        return export_instructions(exporter, environment, port->combine.first, port->combine.end);
    }
    *has_value = true;
    environment->slots[MDF_OPERAND_INDEX(port->slot)] = declared;
    return true;
}

/* What an edge carries, of what its sender has now in `environment`. */
static bool carry(struct exporter *exporter, struct environment *environment, const struct mdf_program_edge *edge,
                  struct symbol *value)
{
    struct symbol constant;
    const struct symbol *found;

    exporter->at = &exporter->program->ports[edge->port].origin;
    if (!export_instructions(exporter, environment, edge->weigh.first, edge->weigh.end)) {
        return false;
    }
    found = export_operand(exporter, environment, edge->value, &constant);
    if (found != NULL) {
        *value = *found;
    }
    return found != NULL;
}

bool export_bring_late(struct exporter *exporter, const struct mdf_program_edge *edge)
{
    struct symbol value;
    bool has_value = false;

    return carry(exporter, exporter->environment, edge, &value) && arrive(exporter, edge->port, &value, &has_value);
}

/* A port that nothing has come to: its default value, or zeros. */
static bool find_default(struct exporter *exporter, const struct mdf_program_port *port, struct symbol *value)
{
    const struct mdf_declaration *declaration = &port->declaration;
    struct symbol constant, like = {.kind = SYMBOL_TENSOR,
                                    .dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype : exporter->program->real,
                                    .strength = declaration->type.exact ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL,
                                    .has_shape = true,
                                    .rank = declaration->rank,
                                    .shape = declaration->shape};
    const struct symbol *found;

    if (port->default_value == MDF_NO_OPERAND) {
        return symbol_has_full_shape(&like) ? symbol_of_zeros(exporter, &like, value)
                                            : export_refuse(exporter, "a port that nothing has come to yet, of open shape");
    }
    found = export_operand(exporter, exporter->environment, port->default_value, &constant);
    return found != NULL && export_declare(exporter, exporter->main, found, &declaration->type, value);
}

/* What the sender's port holds before the sender has run. */
static bool find_initial(struct exporter *exporter, const struct mdf_program_edge *edge, struct symbol *value)
{
    const struct mdf_program_node *sender = &exporter->program->nodes[edge->sender];
    struct symbol constant;
    const struct symbol *found = NULL;
    bool done;

    for (size_t i = 0; i < sender->n_outputs && found == NULL; i++) {
        if (sender->outputs[i].operand == edge->source && sender->outputs[i].initial != MDF_NO_OPERAND) {
            found = export_operand(exporter, exporter->environment, sender->outputs[i].initial, &constant);
        }
    }
    if (found == NULL || MDF_OPERAND_KIND(edge->source) != MDF_OPERAND_SLOT) {
        return export_refuse(exporter, "an edge brings what node '%s' has before it runs", sender->id);
    }
    exporter->first->slots[MDF_OPERAND_INDEX(edge->source)] = *found;
    exporter->is_first_run = true;
    done = carry(exporter, exporter->first, edge, value);
    exporter->is_first_run = false;
    return done;
}

/* An edge whose sender has not run yet in this evaluation brings what it had in the one before: the port is a state, which begins
 * with what it holds where nothing has come. */
static bool take_late(struct exporter *exporter, const struct mdf_program_edge *edge)
{
    const struct mdf_program *program = exporter->program;
    const struct mdf_program_port *port = &program->ports[edge->port];
    size_t slot = MDF_OPERAND_INDEX(port->slot), n_edges = 0, i;
    struct symbol initial, declared;

    exporter->at = &port->origin;
    for (i = 0; i < program->n_edges; i++) {
        n_edges += program->edges[i].port == edge->port;
    }
    if (n_edges > 1) {
        return export_refuse(exporter, "several edges lead to port '%s', one of them from node '%s', which runs later", port->id,
                             program->nodes[edge->sender].id);
    }
    if (!(edge->has_initial ? find_initial(exporter, edge, &initial) : find_default(exporter, port, &initial)) ||
        !export_declare(exporter, exporter->main, &initial, &port->declaration.type, &declared)) {
        return false;
    }
    if (!exporter->runs[edge->sender]) {
        exporter->environment->slots[slot] = declared;
        return true;
    }
    exporter->first->slots[slot] = declared;
    if (export_state(exporter, slot) == NULL) {
        return false;
    }
    exporter->states[exporter->n_states - 1].late = edge;
    return true;
}

/* In a second run in one evaluation an input that the first has taken is not there any more. */
static bool spend_inputs(struct exporter *exporter, const struct mdf_program_node *node)
{
    const struct mdf_program *program = exporter->program;

    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        exporter->at = &port->origin;
        if (!port->is_fed && !port->holds &&
            !find_default(exporter, port, &exporter->environment->slots[MDF_OPERAND_INDEX(port->slot)])) {
            return false;
        }
    }
    return true;
}

/* What edges bring to a node. */
static bool take(struct exporter *exporter, size_t index)
{
    const struct mdf_program *program = exporter->program;
    const struct mdf_program_node *node = &program->nodes[index];
    bool *has_value = mdf_arena_array(&exporter->arena, node->n_ports, sizeof *has_value);
    struct symbol value;

    if (has_value == NULL) {
        return export_out_of_memory(exporter);
    }
    if (exporter->has_run[index] && !spend_inputs(exporter, node)) {
        return false;
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[node->edges[i]];

        if (!(exporter->has_run[edge->sender] ? carry(exporter, exporter->environment, edge, &value) &&
                                                    arrive(exporter, edge->port, &value, &has_value[edge->port - node->first_port])
                                              : take_late(exporter, edge))) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static bool find_initial_values(struct exporter *exporter, const struct mdf_program_node *node)
{
    bool done;

    exporter->is_first_run = true;
    done = export_instructions(exporter, exporter->first, node->initial, node->main);
    exporter->is_first_run = false;
    return done;
}

/* A run of a node that has taken what edges bring. */
static bool run_taken(struct exporter *exporter, size_t index)
{
    const struct mdf_program_node *node = &exporter->program->nodes[index];
    struct environment *environment = exporter->environment;
    bool is_first = !exporter->has_run[index];

    exporter->has_run[index] = true;
    if (node->finished != MDF_NO_OPERAND) {
        exporter->at = NULL;
        export_is_about(exporter, node->id, NULL);
        return export_refuse(exporter, "the node runs until it is finished, which ONNX has not: write what it computes as an onnx::Loop");
    }
    return (!is_first || export_instructions(exporter, environment, node->reset, node->initial)) &&
           export_instructions(exporter, environment, node->first, node->reset) &&
           (!is_first || find_initial_values(exporter, node)) &&
           export_instructions(exporter, environment, node->main, node->end);
}

/* Nodes that run in one set; all take what edges bring before one of them runs, or each when its turn comes. */
static bool run_set(struct exporter *exporter, const size_t *nodes, size_t n, bool takes_first)
{
    for (size_t i = 0; i < n && takes_first; i++) {
        if (!take(exporter, nodes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if ((!takes_first && !take(exporter, nodes[i])) || !run_taken(exporter, nodes[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ conditions */

/* What is the same in each evaluation: what happens in it, but neither values, nor time, nor evaluations before. (JustRan looks at a
 * set of this evaluation: in the first there is no other.) */
static void note_lasting(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    bool *is_lasting = context;

    *is_lasting = *is_lasting || what == MDF_READ_SPENT || what == MDF_READ_TIME || what == MDF_READ_VALUE ||
                  ((what == MDF_READ_RUNS || what == MDF_READ_ALL_RUNS) && scope == MDF_SCOPE_LIFE) ||
                  (what == MDF_READ_CLOCK && index != MDF_CLOCK_PASSES_IN_UPDATE && index != MDF_CLOCK_SETS_IN_UPDATE &&
                   index != MDF_CLOCK_SEQUENCES);
}

static bool is_repeated(const struct mdf_schedule *schedule, size_t condition)
{
    bool is_lasting = false;

    mdf_conditions_read(schedule, (uint32_t)condition, note_lasting, &is_lasting);
    return !is_lasting;
}

static bool check_conditions(struct exporter *exporter)
{
    const struct mdf_schedule *schedule = exporter->program->schedule;

    for (size_t i = 0; i < schedule->n_conditions; i++) {
        if (is_repeated(schedule, i)) {
            continue;
        }
        for (size_t part = i + 1; part < schedule->conditions[i].end; part++) { /* the innermost that is not */
            i = is_repeated(schedule, part) ? i : part;
        }
        exporter->at = &exporter->program->code->origins[schedule->conditions[i].origin];
        return export_refuse(exporter, "a condition that looks at values, at time, or at earlier evaluations");
    }
    exporter->at = NULL;
    export_is_about(exporter, NULL, NULL);
    return exporter->state != NULL ||
           export_refuse(exporter, "who runs when is not known: an evaluation of the graph with its conditions ends in an error");
}

static bool takes_first(const struct mdf_program *program, size_t node)
{
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            if (program->layers[i].nodes[j] == node) {
                return program->layers[i].takes_first;
            }
        }
    }
    return false;
}

/* Who ran in which set of the evaluation that has been. */
static bool run_recorded(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;
    const struct mdf_schedule_record *record = &exporter->state->schedule;
    size_t *nodes = mdf_arena_array(&exporter->arena, program->n_nodes, sizeof *nodes), n, i, j;

    if (nodes == NULL) {
        return export_out_of_memory(exporter);
    }
    for (i = 0; i < record->n_nodes; i++) {
        exporter->runs[record->nodes[i]] = true;
    }
    for (i = 0; i < record->n_sets; i++) {
        n = mdf_schedule_record_size(record, i);
        for (j = 0; j < n; j++) {
            nodes[j] = record->nodes[record->sets[i].first_node + j];
        }
        if (n > 0 && !run_set(exporter, nodes, n, takes_first(program, nodes[0]))) {
            return false;
        }
    }
    return true;
}

bool export_nodes(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;

    exporter->has_run = mdf_arena_array(&exporter->arena, program->n_nodes, sizeof *exporter->has_run);
    exporter->runs = mdf_arena_array(&exporter->arena, program->n_nodes, sizeof *exporter->runs);
    if (exporter->has_run == NULL || exporter->runs == NULL) {
        return export_out_of_memory(exporter);
    }
    if (program->schedule != NULL) {
        return check_conditions(exporter) && run_recorded(exporter);
    }
    memset(exporter->runs, true, program->n_nodes * sizeof *exporter->runs);
    for (size_t i = 0; i < program->n_layers; i++) {
        if (!run_set(exporter, program->layers[i].nodes, program->layers[i].n_nodes, program->layers[i].takes_first)) {
            return false;
        }
    }
    return true;
}
