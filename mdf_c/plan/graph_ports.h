/* graph_ports.h - what compile.c asks of the ports, edges and interface of a graph. Functions that return bool or a pointer return
 * false or NULL with the error set. Ports are struct mdf_program_port, edges struct mdf_program_edge, results struct
 * mdf_program_result. */
#ifndef MDF_PLAN_GRAPH_PORTS_H
#define MDF_PLAN_GRAPH_PORTS_H

#include "mdf_c/plan/compiler.h"

/* Input ports of the nodes that nothing but a run fills; then, where the graph has inputs of its own, those. */
bool graph_add_ports(struct graph_builder *builder, struct list *ports);
bool graph_add_free_inputs(struct graph_builder *builder, struct list *ports);
/* Edges into such ports. */
bool graph_add_edges(struct graph_builder *builder, const struct list *ports, struct list *edges);
/* Gives each node of the program the edges that lead to it. */
bool graph_distribute_edges(struct compiler *compiler);
/* What the graph yields, and the names by which its inputs are set: declared, or what no edge leads to or from. */
bool graph_add_results(const struct graph_builder *builder, const struct list *ports, struct list *results);
bool graph_add_input_names(struct compiler *compiler, const struct mdf_graph *graph, const struct list *ports,
                           struct list *names);
/* A copy of a text that lives as long as the program. */
char *compile_keep_text(struct compiler *compiler, const char *text);
/* Whether the model speaks that dialect. */
bool compile_is_psyneulink(const struct compiler *compiler);

#endif
