/* stop_when.c - an expression over output ports that says, after each evaluation, whether it was the last one: its code is the
 * program's own, behind that of the nodes. See mdf_options.stop_when in mdf.h. */
#include "mdf_c/plan/compiler.h"

#include "mdf_c/base/source_text.h"

#include <stdio.h>
#include <string.h>

static bool find_port(const struct graph_builder *builder, const char *name, size_t *node, size_t *output)
{
    const struct mdf_graph *graph = builder->graph;

    if (graph_find_output(builder, name, node, output)) {
        return true;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        size_t length = strlen(graph->nodes[i].id);

        if (strncmp(name, graph->nodes[i].id, length) == 0 && name[length] == '.') {
            *node = i;
            *output = mdf_model_find_output_port(&graph->nodes[i], name + length + 1);
            if (*output < graph->nodes[i].n_output_ports) {
                return true;
            }
        }
    }
    return false;
}

/* Binds a port to its name, and notes it. */
static bool take_port(struct graph_builder *builder, struct scope *scope, const char *name, struct list *ports)
{
    struct mdf_program_watched watched;
    mdf_operand operand;

    if (scope_find_here(scope, name) != NULL || !find_port(builder, name, &watched.node, &watched.output)) {
        return true;
    }
    operand = builder->nodes[watched.node].outputs[watched.output];
    return list_add(builder->compiler, ports, &watched, sizeof watched) && scope_bind(builder->compiler, scope, name, operand);
}

/* Binds the ports that the tree names. Dotted names are looked for before parts of them: "node.port" is a port, though a port may
 * be called "node". */
static bool take_ports(struct graph_builder *builder, struct scope *scope, const struct mdf_expression *tree, struct list *ports)
{
    const char *name = whole_name(builder->compiler, tree);

    if (builder->compiler->error->code != MDF_OK || (name != NULL && !take_port(builder, scope, name, ports))) {
        return false;
    }
    for (size_t i = 0; i < mdf_expression_n_items(tree); i++) {
        if (tree->as.list.items[i] != NULL && !take_ports(builder, scope, tree->as.list.items[i], ports)) {
            return false;
        }
    }
    return true;
}

/* The first name in the tree; NULL: there is none. */
static const char *first_name(struct compiler *compiler, const struct mdf_expression *tree)
{
    const char *name = whole_name(compiler, tree);

    compiler->offset = name != NULL ? tree->offset : compiler->offset;
    for (size_t i = 0; name == NULL && i < mdf_expression_n_items(tree); i++) {
        name = tree->as.list.items[i] != NULL ? first_name(compiler, tree->as.list.items[i]) : NULL;
    }
    return name;
}

/* No name of the expression is a port's. */
static void refuse_names(struct graph_builder *builder, const struct mdf_expression *tree)
{
    struct compiler *compiler = builder->compiler;
    const char *name = first_name(compiler, tree);
    struct mdf_nearest nearest;

    if (name == NULL) {
        compile_error(compiler, MDF_NAME,
                      "it looks at no output port: name one, as NODE.PORT, or PORT where there is one of that name");
        return;
    }
    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &builder->graph->nodes[i];

        for (size_t j = 0; j < node->n_output_ports; j++) {
            const char *id = node->output_ports[j].id, *whole = mdf_arena_printf(&compiler->scratch, "%s.%s", node->id, id);

            mdf_nearest_offer(&nearest, id);
            mdf_nearest_offer(&nearest, whole != NULL ? whole : id);
        }
    }
    compile_error(compiler, MDF_NAME, "'%s' is no output port, NODE.PORT, or PORT where there is one of that name", name);
    mdf_error_suggest(compiler->error, mdf_nearest_result(&nearest));
}

/* *offset: of what is wrong. */
static bool compile_text_of(struct graph_builder *builder, const char *text, struct mdf_program_stop *stop, size_t *offset)
{
    struct compiler *compiler = builder->compiler;
    struct scope scope = {.unit = builder->unit};
    struct target target = {compiler, builder->unit, &scope};
    struct mdf_expression *tree;
    struct list ports = {0};

    tree = mdf_expression_parse(&compiler->scratch, text, offset, compiler->error);
    if (tree == NULL) {
        compile_error(compiler, MDF_EXPRESSION, "the expression can not be read");
        return false;
    }
    compiler->offset = 0;
    if (!take_ports(builder, &scope, tree, &ports)) {
        return false;
    }
    if (ports.n == 0) {
        refuse_names(builder, tree);
        *offset = compiler->offset;
        return false;
    }
    stop->first = unit_position(builder->unit);
    stop->value = compile_move(&target, compile_tree(&target, tree), unit_new_slot(&target, 0));
    stop->end = unit_position(builder->unit);
    *offset = compiler->failed_offset;
    return stop->value != MDF_NO_OPERAND && unit_keep_list(compiler, &ports, sizeof *stop->ports, &stop->ports, &stop->n_ports);
}

bool compile_stop_when(struct graph_builder *builder, const char *text)
{
    struct compiler *compiler = builder->compiler;
    struct place place = place_enter(compiler, "option", "stop_when", compiler->model->source);
    size_t offset = 0;
    bool done = compile_text_of(builder, text, &compiler->program->stop, &offset);

    if (!done && compiler->error->code != MDF_OUT_OF_MEMORY) { /* of the option's text, which is in no file of the model */
        snprintf(compiler->error->file, sizeof compiler->error->file, "stop_when");
        compiler->error->line = 1;
        compiler->error->column = mdf_source_count(text, offset) + 1;
    }
    place_leave(compiler, place);
    return done;
}
