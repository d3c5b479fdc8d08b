/* program_aliases.c - slots that need no memory of their own: what a node passes on as it is (Identity, Reshape,
 * ConcatFromSequence of a stack) lies where it was made, as long as both are written once in each evaluation, one after the
 * other. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/source/program_writer.h"

/* What happens to a slot in an evaluation. Places are numbers of nodes in the order in which they run. */
struct life {
    size_t written;                 /* the place of the only node that gives it its value; NOWHERE: there is none */
    bool is_written_elsewhere;      /* so do others, or what is no node */
    size_t read;                    /* the first place where it is read; NOWHERE: at none */
    const struct mdf_value *passed; /* the slot that all that write it pass on; NULL: there is none */
    bool is_given;                  /* what a port takes, or a parameter: it has a value before a node runs */
};

static const size_t NOWHERE = SIZE_MAX;

/* The place of the node that each instruction is of. NULL: out of memory. */
static size_t *find_places(const struct mdf_program *program, struct mdf_arena *arena)
{
    size_t *places = mdf_arena_array(arena, program->code->n_instructions + 1, sizeof *places), place = 0, layer, i, at;

    for (at = 0; places != NULL && at <= program->code->n_instructions; at++) {
        places[at] = NOWHERE;
    }
    for (layer = 0; places != NULL && layer < program->n_layers; layer++) {
        for (i = 0; i < program->layers[layer].n_nodes; i++, place++) {
            const struct mdf_program_node *node = &program->nodes[program->layers[layer].nodes[i]];

            for (at = node->first; at < node->end; at++) {
                places[at] = place;
            }
        }
    }
    return places;
}

/* The slot that an output passes on as it is; NULL: none. */
static const struct mdf_value *passed_on(const struct mdf_source_program *program, const struct mdf_lowered *lowered,
                                         const struct mdf_lowered_output *output)
{
    const struct mdf_value *source;
    mdf_lowered_id id = output->id;
    size_t maker = mdf_lowered_find_maker(&lowered->region, id);

    if (output->is_list || output->n_items > 0 || output->is_either || output->is_optional) {
        return NULL;
    }
    while (maker != SIZE_MAX && lowered->region.ops[maker].code == MDF_LOWERED_COPY) {
        id = lowered->region.ops[maker].in[0];
        maker = mdf_lowered_find_maker(&lowered->region, id);
    }
    source = maker == SIZE_MAX ? lowered->values[id].source : NULL;
    return source != NULL && mdf_source_graph_of(program, source) == program->graph ? source : NULL;
}

/* The slot of the graph at hand that a value is; SIZE_MAX: it is none. */
static size_t number_of(const struct mdf_source_program *program, const struct mdf_value *value)
{
    return mdf_source_graph_of(program, value) == program->graph ? (size_t)(value - program->graph->values) : SIZE_MAX;
}

static void note_written(struct life *life, size_t place, const struct mdf_value *passed)
{
    bool is_first = life->written == NOWHERE && !life->is_written_elsewhere;

    life->passed = is_first || life->passed == passed ? passed : NULL;
    life->is_written_elsewhere = life->is_written_elsewhere || place == NOWHERE || (!is_first && life->written != place);
    life->written = place;
}

static void note_stretch(const struct mdf_source_program *program, const struct mdf_source_stretch *stretch, size_t place,
                         struct life *lives)
{
    const struct mdf_lowered *lowered = stretch->lowered;
    size_t slot;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        slot = number_of(program, lowered->outputs[i].slot);
        if (slot != SIZE_MAX) {
            note_written(&lives[slot], place, passed_on(program, lowered, &lowered->outputs[i]));
        }
    }
    for (size_t i = 0; i < lowered->n_inputs; i++) {
        slot = number_of(program, lowered->values[lowered->inputs[i]].source);
        if (slot != SIZE_MAX && (place == NOWHERE || place < lives[slot].read)) {
            lives[slot].read = place == NOWHERE ? 0 : place;
        }
    }
}

static void note_given(mdf_operand operand, struct life *lives)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        lives[MDF_OPERAND_INDEX(operand)].is_given = true;
    }
}

static void follow_slots(const struct mdf_source_program *program, struct life *lives, const size_t *places)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_source_stretch *stretch;

    for (size_t i = 0; i < own->code->n_slots; i++) {
        lives[i] = (struct life){.written = NOWHERE, .read = NOWHERE};
    }
    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        note_stretch(program, stretch, places[stretch->ranges[stretch->n_ranges - 1].first], lives);
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        note_given(own->ports[i].slot, lives);
    }
    for (size_t i = 0; i < own->n_parameters; i++) {
        note_given(own->parameters[i].slot, lives);
    }
}

/* The slot that a slot is the same as whenever it is read; SIZE_MAX: none. */
static size_t find_alias(const struct mdf_source_program *program, const struct life *lives, const struct life *life)
{
    size_t source = life->passed != NULL ? number_of(program, life->passed) : SIZE_MAX;
    const struct life *made = source != SIZE_MAX ? &lives[source] : NULL;

    return made != NULL && !life->is_written_elsewhere && !made->is_written_elsewhere && made->written != NOWHERE &&
                   made->written < life->written && program->graph->is_read[source] != MDF_READ_BY_NOBODY && !life->is_given &&
                   !made->is_given && life->read > life->written
               ? source
               : SIZE_MAX;
}

bool mdf_source_find_aliases(struct mdf_source_program *program)
{
    struct mdf_source_graph *graph = program->graph;
    struct mdf_arena *arena = &program->writer.arena;
    size_t n = graph->program->code->n_slots;
    bool is_simple =
        program->n_graphs == 1 && program->n_lanes == 0 && !program->has_derivatives && graph->program->schedule == NULL;
    struct life *lives = mdf_arena_array(arena, n + 1, sizeof *lives);
    size_t *places = find_places(graph->program, arena);

    graph->aliases = mdf_arena_array(arena, n + 1, sizeof *graph->aliases);
    if (lives == NULL || places == NULL || graph->aliases == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    if (is_simple) {
        follow_slots(program, lives, places);
    }
    for (size_t i = 0; i < n; i++) {
        graph->aliases[i] = is_simple ? find_alias(program, lives, &lives[i]) : SIZE_MAX;
    }
    return true;
}
