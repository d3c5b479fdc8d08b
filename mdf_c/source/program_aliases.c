/* program_aliases.c - slots that need no memory of their own: what a node passes on as it is (Identity, Reshape,
 * ConcatFromSequence of a stack) lies where it was made, as long as both are written once in each evaluation, one after the
 * other. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/source/program_writer.h"

/* Which node a stretch is of, counted in the order in which nodes run; SIZE_MAX: of none. */
static size_t place_of(const struct mdf_source_program *program, const struct mdf_source_stretch *stretch)
{
    const struct mdf_program *own = program->graph->program;
    size_t place = 0, first = stretch->ranges[0].first, layer, i;

    for (layer = 0; layer < own->n_layers; layer++) {
        for (i = 0; i < own->layers[layer].n_nodes; i++, place++) {
            const struct mdf_program_node *node = &own->nodes[own->layers[layer].nodes[i]];

            if (first >= node->first && first < node->end) {
                return place;
            }
        }
    }
    return SIZE_MAX;
}

/* The place of the only node that gives a slot its value; SIZE_MAX: there are more, or none. */
static size_t place_written(const struct mdf_source_program *program, const struct mdf_value *slot)
{
    const struct mdf_source_stretch *stretch;
    size_t found = SIZE_MAX, i;

    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        for (i = 0; i < stretch->lowered->n_outputs; i++) {
            size_t place = place_of(program, stretch);

            if (stretch->lowered->outputs[i].slot != slot) {
                continue;
            }
            if (place == SIZE_MAX || (found != SIZE_MAX && found != place)) {
                return SIZE_MAX;
            }
            found = place;
        }
    }
    return found;
}

/* The slot that an output passes on as it is; NULL: none. */
static const struct mdf_value *passed_on(const struct mdf_source_program *program, const struct mdf_lowered *lowered,
                                         const struct mdf_lowered_output *output)
{
    const struct mdf_value *source;
    mdf_lowered_id id = output->id;
    size_t maker = mdf_lowered_find_maker(&lowered->region, id);

    if (output->is_list || output->n_items > 0 || output->is_either) {
        return NULL;
    }
    while (maker != SIZE_MAX && lowered->region.ops[maker].code == MDF_LOWERED_COPY) {
        id = lowered->region.ops[maker].in[0];
        maker = mdf_lowered_find_maker(&lowered->region, id);
    }
    source = maker == SIZE_MAX ? lowered->values[id].source : NULL;
    return source != NULL && mdf_source_graph_of(program, source) == program->graph ? source : NULL;
}

/* The slot that all runs of a node pass on as another one; NULL: there is none. */
static const struct mdf_value *always_passed_on(const struct mdf_source_program *program, const struct mdf_value *slot)
{
    const struct mdf_source_stretch *stretch;
    const struct mdf_value *found = NULL;
    size_t i;

    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        for (i = 0; i < stretch->lowered->n_outputs; i++) {
            const struct mdf_lowered_output *output = &stretch->lowered->outputs[i];
            const struct mdf_value *source = output->slot == slot ? passed_on(program, stretch->lowered, output) : found;

            if (output->slot == slot && (source == NULL || (found != NULL && source != found))) {
                return NULL;
            }
            found = source;
        }
    }
    return found;
}

/* Whether nobody reads a slot before the node at a place has run. */
static bool is_read_behind(const struct mdf_source_program *program, const struct mdf_value *slot, size_t place)
{
    const struct mdf_source_stretch *stretch;
    size_t i;

    for (stretch = program->graph->stretches; stretch != NULL; stretch = stretch->next) {
        size_t own = place_of(program, stretch);

        for (i = 0; i < stretch->lowered->n_inputs; i++) {
            if (stretch->lowered->values[stretch->lowered->inputs[i]].source == slot && (own == SIZE_MAX || own <= place)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a slot is what a port takes, or a parameter, which have values before a node runs. */
static bool is_given(const struct mdf_source_program *program, size_t index)
{
    const struct mdf_program *own = program->graph->program;
    mdf_operand operand = MDF_OPERAND(MDF_OPERAND_SLOT, index);
    size_t i;

    for (i = 0; i < own->n_ports; i++) {
        if (own->ports[i].slot == operand) {
            return true;
        }
    }
    for (i = 0; i < own->n_parameters; i++) {
        if (own->parameters[i].slot == operand) {
            return true;
        }
    }
    return false;
}

size_t mdf_source_find_alias(const struct mdf_source_program *program, size_t index)
{
    const struct mdf_source_graph *graph = program->graph;
    const struct mdf_value *slot = &graph->values[index], *source;
    size_t place, made, number;

    if (program->n_graphs > 1 || program->n_lanes > 0 || program->has_derivatives || graph->program->schedule != NULL) {
        return SIZE_MAX;
    }
    source = always_passed_on(program, slot);
    if (source == NULL) {
        return SIZE_MAX;
    }
    number = (size_t)(source - graph->values);
    place = place_written(program, slot);
    made = place_written(program, source);
    return place != SIZE_MAX && made != SIZE_MAX && made < place && graph->is_read[number] != MDF_READ_BY_NOBODY &&
                   !is_given(program, index) && !is_given(program, number) && is_read_behind(program, slot, place)
               ? number
               : SIZE_MAX;
}
