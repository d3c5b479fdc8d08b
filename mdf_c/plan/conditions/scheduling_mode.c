/* scheduling_mode.c - graph-scheduler's SchedulingMode. STANDARD: the layers of the consideration queue, one after the other.
 * EXACT_TIME: all nodes are in one layer, and a set takes the largest time that divides all that conditions name, so that what
 * is to happen at a time happens at it. See docs/scheduling.md, Exact time. */
#include "mdf_c/plan/conditions/conditions.h"

#include <string.h>
#include <strings.h>

/* The names of graph-scheduler, in the order of mdf_scheduling_mode. */
static const char *const names[] = {[MDF_SCHEDULING_MODE_STANDARD] = "STANDARD", [MDF_SCHEDULING_MODE_EXACT_TIME] = "EXACT_TIME"};

static bool read_mode(struct compiler *compiler, const struct mdf_node *node, mdf_scheduling_mode *mode)
{
    static const char prefix[] = "SchedulingMode.";
    const char *text = node->kind == MDF_NODE_STRING ? node->as.string.bytes : NULL;

    text = text != NULL && strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : text;
    for (size_t i = MDF_SCHEDULING_MODE_STANDARD; text != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(text, names[i]) == 0) {
            *mode = (mdf_scheduling_mode)i;
            return true;
        }
    }
    place_at(compiler, node);
    compile_error(compiler, MDF_MODEL, "'scheduling_mode' must be \"STANDARD\" or \"EXACT_TIME\", not %.80s",
                  text != NULL ? node->as.string.bytes : mdf_node_describe(node));
    return false;
}

bool graph_find_scheduling_mode(struct graph_builder *builder)
{
    const struct mdf_node *metadata = mdf_node_get(builder->graph->conditions, "metadata"),
                          *said = mdf_node_get(metadata, "scheduling_mode");
    mdf_scheduling_mode mode = builder->is_nested ? MDF_SCHEDULING_MODE_UNSAID : builder->compiler->scheduling_mode;

    if (mode == MDF_SCHEDULING_MODE_UNSAID && said != NULL && said->kind != MDF_NODE_NULL &&
        !read_mode(builder->compiler, said, &mode)) {
        return false;
    }
    builder->is_exact = mode == MDF_SCHEDULING_MODE_EXACT_TIME;
    return true;
}

bool condition_join_layers(struct condition_builder *builder)
{
    struct mdf_program *program = builder->compiler->program;
    struct mdf_program_layer all = {mdf_arena_array(builder->compiler->arena, program->n_nodes, sizeof *all.nodes), 0, false};

    if (!builder->graph->is_exact || program->n_layers < 2) {
        return true;
    }
    if (all.nodes == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    if (builder->structures.n > 0) {
        compile_warning(builder->compiler,
                        "with exact time graph structure conditions do not say which node runs after which: all are looked at "
                        "at the same time");
    }
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            all.nodes[all.n_nodes++] = program->layers[i].nodes[j];
        }
    }
    program->layers[0] = all;
    program->n_layers = 1;
    return true;
}
