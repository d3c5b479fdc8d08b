/* write_dot.c - a graph as DOT: nodes, edges, and a cluster for each graph inside it. See write_dot.h.
 *
 * What holds afterwards: the text is well-formed DOT whatever the model holds. Nodes are named n0, n1, ... in the order of the
 * model, so that no name of the model can clash with another or with the language; names stand in labels and tooltips only.
 *
 * A body that is written where it is used is a cluster inside that of the node around it. A body that is a graph of the model of
 * its own may serve many nodes: it is drawn once, at the end. A dashed edge leads from the node to its body. */
#include "mdf_c/pictures/write_dot.h"

#include "mdf_c/pictures/dot_label.h"
#include "mdf_c/pictures/drawn_text.h"
#include "schemas/onnx_schema.h"

#include <math.h>
#include <string.h>

enum { LARGE_GRAPH = 100 }; /* nodes: more, and only names are drawn unless more is asked for */

/* A graph that is drawn, or is to be. */
struct cluster {
    size_t number;     /* 0: the graph that is asked for, which is no cluster */
    size_t first_node; /* number of its first node, or of an invisible one where it has none */
};

/* A dashed edge to a graph of the model, written once that is drawn. */
struct reference {
    size_t node, graph;
    const char *attribute;
};

struct drawing {
    struct mdf_dot_label label;
    struct mdf_text *dot;
    struct mdf_arena arena;
    const struct mdf_model *model;
    size_t n_nodes, n_clusters, depth;
    struct cluster *clusters; /* of each graph of the model */
    struct reference *references;
    size_t n_references, references_capacity;
    mdf_error *error;
};

static mdf_status out_of_memory(struct drawing *drawing)
{
    return mdf_memory_error(drawing->dot->memory, drawing->error);
}

static void begin_line(struct drawing *drawing)
{
    mdf_text_printf(drawing->dot, "%*s", (int)(4 * (drawing->depth + 1)), "");
}

/* A text in quotes, in which Graphviz reads entities, and backslashes more than once. */
static void add_quoted(struct mdf_text *dot, const char *text)
{
    size_t length;

    mdf_text_append(dot, "\"", 1);
    while (text[0] != '\0') {
        length = strcspn(text, "\\");
        mdf_dot_escape(dot, text, length);
        text += length;
        if (text[0] == '\\') {
            mdf_text_append_string(dot, "\\\\\\\\"); /* Graphviz halves them twice */
            text++;
        }
    }
    mdf_text_append(dot, "\"", 1);
}

/* ------------------------------------------------------------------ nodes */

/* The next of three numbers in a text; -1 where it is none from 0 to 1. */
static double read_part(const char **text)
{
    size_t length = strcspn(*text, " "), n_blanks = strspn(*text + length, " ");
    char word[MDF_NUMBER_TEXT_SIZE] = "";
    int64_t integer;
    bool is_integer;
    double part;

    if (length > 0 && length < sizeof word) {
        memcpy(word, *text, length);
    }
    *text += length + n_blanks;
    return mdf_parse_python_number(word, &part, &integer, &is_integer) && part >= 0 && part <= 1 ? part : -1;
}

/* The color that metadata give a node, as "R G B" from 0 to 1. */
static bool add_own_color(struct mdf_text *dot, const struct mdf_graph_node *node)
{
    const struct mdf_node *metadata = mdf_node_get(node->source, "metadata");
    const struct mdf_node *color = metadata != NULL ? mdf_node_get(metadata, "color") : NULL;
    const char *text;
    double parts[3];

    if (color == NULL || color->kind != MDF_NODE_STRING) {
        return false;
    }
    text = color->as.string.bytes + strspn(color->as.string.bytes, " ");
    for (size_t i = 0; i < 3; i++) {
        parts[i] = read_part(&text);
        if (parts[i] < 0) {
            return false;
        }
    }
    if (text[0] != '\0') {
        return false;
    }
    mdf_text_printf(dot, ", color=\"#%02x%02x%02x\", penwidth=2", (unsigned)(parts[0] * 255), (unsigned)(parts[1] * 255),
                    (unsigned)(parts[2] * 255));
    return true;
}

static const struct mdf_node *condition_of(const struct mdf_graph *graph, const char *node)
{
    const struct mdf_node *conditions = graph->conditions != NULL ? mdf_node_get(graph->conditions, "node_specific") : NULL;

    return conditions != NULL ? mdf_node_get(conditions, node) : NULL;
}

static void draw_node(struct drawing *drawing, const struct mdf_graph *graph, const struct mdf_graph_node *node, size_t number)
{
    begin_line(drawing);
    mdf_text_printf(drawing->dot, "n%zu [tooltip=", number);
    add_quoted(drawing->dot, node->id);
    add_own_color(drawing->dot, node);
    mdf_text_append_string(drawing->dot, ", label=<");
    mdf_dot_node_table(&drawing->label, node, condition_of(graph, node->id));
    mdf_text_append_string(drawing->dot, ">];\n");
}

static void draw_edge(struct drawing *drawing, const struct mdf_edge *edge, size_t first_node)
{
    struct mdf_dot_label *label = &drawing->label;

    begin_line(drawing);
    mdf_text_printf(drawing->dot, "n%zu -> n%zu", first_node + edge->sender_node, first_node + edge->receiver_node);
    if (label->detail != MDF_DETAIL_NAMES) {
        mdf_text_append_string(drawing->dot, " [label=<&nbsp;");
        mdf_dot_name(label, NULL, edge->id);
        mdf_text_append_string(drawing->dot, " (");
        mdf_dot_name(label, MDF_DOT_COLOR_OUTPUT, edge->sender_port);
        mdf_text_append_string(drawing->dot, " -&gt; ");
        mdf_dot_name(label, MDF_DOT_COLOR_INPUT, edge->receiver_port);
        mdf_text_append_string(drawing->dot, ")");
        mdf_dot_edge_lines(label, edge);
        mdf_text_append_string(drawing->dot, ">]");
    }
    mdf_text_append_string(drawing->dot, ";\n");
}

/* ------------------------------------------------------------------ bodies */

static mdf_status draw_graph(struct drawing *drawing, const struct mdf_graph *graph, size_t *first_node);

static void begin_cluster(struct drawing *drawing, size_t number)
{
    begin_line(drawing);
    mdf_text_printf(drawing->dot, "subgraph cluster_%zu {\n", number);
    drawing->depth++;
    begin_line(drawing);
    mdf_text_printf(drawing->dot, "graph [style=\"rounded,filled\", color=\"#bbbbbb\", fillcolor=\"%s\", label=<",
                    drawing->depth % 2 == 1 ? "#f4f4f4" : "#fafafa");
}

static void add_interface(struct drawing *drawing, const char *what, const char *color, const struct mdf_interface_item *items,
                          size_t n)
{
    size_t i;

    if (n > 0) {
        mdf_text_printf(drawing->dot, "<br/><font point-size=\"11\">%s: ", what);
        for (i = 0; i < n && i < 12; i++) {
            mdf_text_append_string(drawing->dot, i > 0 ? ", " : "");
            mdf_dot_name(&drawing->label, color, items[i].name);
        }
        mdf_text_append_string(drawing->dot, i < n ? ", " MDF_DRAWN_ELLIPSIS "</font>" : "</font>");
    }
}

static mdf_status draw_cluster(struct drawing *drawing, const struct mdf_graph *graph, struct cluster *cluster)
{
    mdf_status status;

    cluster->number = ++drawing->n_clusters;
    begin_cluster(drawing, cluster->number);
    mdf_text_append_string(drawing->dot, "<b>");
    mdf_dot_name(&drawing->label, NULL, graph->id);
    mdf_text_append_string(drawing->dot, "</b>");
    if (drawing->label.detail != MDF_DETAIL_NAMES) {
        add_interface(drawing, "inputs", MDF_DOT_COLOR_INPUT, graph->inputs, graph->n_inputs);
        add_interface(drawing, "outputs", MDF_DOT_COLOR_OUTPUT, graph->outputs, graph->n_outputs);
    }
    mdf_text_append_string(drawing->dot, ">];\n");
    status = draw_graph(drawing, graph, &cluster->first_node);
    drawing->depth--;
    begin_line(drawing);
    mdf_text_append_string(drawing->dot, "}\n");
    return status;
}

static void draw_body_edge(struct drawing *drawing, size_t node, const struct cluster *cluster, const char *attribute)
{
    begin_line(drawing);
    mdf_text_printf(drawing->dot, "n%zu -> n%zu [style=dashed, color=\"#888888\"", node, cluster->first_node);
    if (cluster->number > 0) {
        mdf_text_printf(drawing->dot, ", lhead=cluster_%zu", cluster->number);
    }
    mdf_text_append_string(drawing->dot, ", label=<&nbsp;<i>");
    mdf_dot_name(&drawing->label, NULL, attribute);
    mdf_text_append_string(drawing->dot, "</i>>];\n");
}

static mdf_status draw_inner_graph(struct drawing *drawing, size_t node, const char *attribute, const struct mdf_graph *graph)
{
    struct cluster cluster = {0};
    mdf_status status = draw_cluster(drawing, graph, &cluster);

    if (status == MDF_OK) {
        draw_body_edge(drawing, node, &cluster, attribute);
    }
    return status;
}

/* A body that is written where it is used. */
static mdf_status draw_written_body(struct drawing *drawing, size_t node, const char *attribute, const char *id,
                                    const struct mdf_node *source)
{
    static const struct mdf_warnings no_warnings = {NULL, NULL}; /* the compiler gives them */
    struct mdf_graph *graph = mdf_arena_allocate(&drawing->arena, sizeof *graph);
    mdf_status status;

    if (graph == NULL) {
        return out_of_memory(drawing);
    }
    status = mdf_model_read_graph(&drawing->arena, drawing->model->document, &no_warnings, id, source, graph, drawing->error);
    return status == MDF_OK ? draw_inner_graph(drawing, node, attribute, graph) : status;
}

/* Notes that a node uses a graph of the model. */
static mdf_status refer(struct drawing *drawing, size_t node, const char *attribute, const struct mdf_graph *graph)
{
    struct reference *references = drawing->references;

    if (drawing->n_references == drawing->references_capacity) {
        references = mdf_memory_grow(drawing->dot->memory, references, &drawing->references_capacity, drawing->n_references + 1,
                                     sizeof *references);
        if (references == NULL) {
            return out_of_memory(drawing);
        }
        drawing->references = references;
    }
    references[drawing->n_references++] = (struct reference){node, (size_t)(graph - drawing->model->graphs), attribute};
    return MDF_OK;
}

static mdf_status draw_body(struct drawing *drawing, size_t node, const char *attribute, const struct mdf_node *value)
{
    const struct mdf_graph *graph;
    const char *id = attribute;

    if (value->kind == MDF_NODE_STRING) {
        graph = mdf_model_find_graph(drawing->model, value->as.string.bytes);
        return graph != NULL ? refer(drawing, node, attribute, graph) : MDF_OK; /* the compiler says so, at the place */
    }
    value = mdf_node_find_graph(value, &id);
    return value != NULL ? draw_written_body(drawing, node, attribute, id, value) : MDF_OK;
}

/* The value of the node's parameter of that name; NULL where there is none. */
static const struct mdf_node *parameter_value(const struct mdf_graph_node *node, const char *id)
{
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (strcmp(node->parameters[i].definition.id, id) == 0) {
            return node->parameters[i].definition.value;
        }
    }
    return NULL;
}

/* An attribute stands in args, or is a parameter of its name, or one that args name. */
static const struct mdf_node *attribute_value(const struct mdf_graph_node *node, const struct mdf_definition *definition,
                                              const char *name)
{
    const struct mdf_node *value = definition->args != NULL ? mdf_node_get(definition->args, name) : NULL, *named;

    if (value == NULL) {
        return strcmp(name, definition->id) != 0 ? parameter_value(node, name) : NULL;
    }
    named = value->kind == MDF_NODE_STRING ? parameter_value(node, value->as.string.bytes) : NULL;
    return named != NULL ? named : value;
}

static mdf_status draw_bodies_of(struct drawing *drawing, const struct mdf_graph_node *node, size_t number,
                                 const struct mdf_definition *definition)
{
    const char *function = definition->function != NULL ? definition->function : "";
    const struct mdf_schema *schema =
        strncmp(function, "onnx::", 6) == 0 ? mdf_schema_find("", function + 6, drawing->model->opset) : NULL;
    mdf_status status = MDF_OK;

    for (size_t i = 0; schema != NULL && i < schema->n_attributes && status == MDF_OK; i++) {
        const struct mdf_schema_attribute *attribute = &schema->attributes[i];
        const struct mdf_node *value =
            attribute->type == MDF_ATTRIBUTE_GRAPH ? attribute_value(node, definition, attribute->name) : NULL;

        if (value != NULL) {
            status = draw_body(drawing, number, attribute->name, value);
        }
    }
    return status;
}

/* The graph that runs when a node does: its own, or one of the model, of which it has a copy. */
static mdf_status draw_nested(struct drawing *drawing, const struct mdf_graph_node *node, size_t number)
{
    for (size_t i = 0; i < drawing->model->n_graphs; i++) {
        if (drawing->model->graphs[i].source == node->graph->source) {
            return refer(drawing, number, "graph", &drawing->model->graphs[i]);
        }
    }
    return draw_inner_graph(drawing, number, "graph", node->graph);
}

/* All graphs inside a node: the bodies of its functions, and that of the node itself. */
static mdf_status draw_graphs_of(struct drawing *drawing, const struct mdf_graph_node *node, size_t number)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < node->n_functions && status == MDF_OK; i++) {
        status = draw_bodies_of(drawing, node, number, &node->functions[i]);
    }
    for (size_t i = 0; i < node->n_parameters && status == MDF_OK; i++) {
        status = draw_bodies_of(drawing, node, number, &node->parameters[i].definition);
    }
    if (status == MDF_OK && node->graph != NULL) {
        status = draw_nested(drawing, node, number);
    }
    return status;
}

/* ------------------------------------------------------------------ graphs */

/* Nodes that nothing leads to: what concerns the whole graph stands above them. */
static bool *find_receivers(struct drawing *drawing, const struct mdf_graph *graph)
{
    bool *receives = mdf_arena_array(&drawing->arena, graph->n_nodes, sizeof *receives);

    for (size_t i = 0; receives != NULL && i < graph->n_edges; i++) {
        receives[graph->edges[i].receiver_node] = true;
    }
    return receives;
}

/* A box about the graph as a whole. */
static mdf_status draw_box(struct drawing *drawing, const struct mdf_graph *graph, size_t first_node, const char *name,
                           const char *color)
{
    bool *receives = find_receivers(drawing, graph);

    if (receives == NULL) {
        return out_of_memory(drawing);
    }
    mdf_text_printf(drawing->dot, ">, color=\"%s\", penwidth=2, tooltip=\"%s\"];\n", color, name);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (!receives[i]) {
            begin_line(drawing);
            mdf_text_printf(drawing->dot, "n%zu -> n%zu [style=invis];\n", drawing->n_nodes, first_node + i);
        }
    }
    drawing->n_nodes++;
    return MDF_OK;
}

static mdf_status draw_boxes(struct drawing *drawing, const struct mdf_graph *graph, size_t first_node)
{
    const struct mdf_node *terminations = graph->conditions != NULL ? mdf_node_get(graph->conditions, "termination") : NULL;
    mdf_status status = MDF_OK;

    if (terminations != NULL && terminations->kind == MDF_NODE_OBJECT && terminations->as.object.n > 0) {
        begin_line(drawing);
        mdf_text_printf(drawing->dot, "n%zu [label=<", drawing->n_nodes);
        mdf_dot_termination_table(&drawing->label, terminations);
        status = draw_box(drawing, graph, first_node, "terminations", MDF_DOT_COLOR_CONDITION);
    }
    if (status == MDF_OK && drawing->label.detail != MDF_DETAIL_NAMES && graph->parameters != NULL &&
        graph->parameters->as.object.n > 0) {
        begin_line(drawing);
        mdf_text_printf(drawing->dot, "n%zu [label=<", drawing->n_nodes);
        mdf_dot_parameters_table(&drawing->label, graph);
        status = draw_box(drawing, graph, first_node, "parameters of the graph", MDF_DOT_COLOR_PARAMETER);
    }
    return status;
}

static mdf_status draw_graph(struct drawing *drawing, const struct mdf_graph *graph, size_t *first_node)
{
    size_t first = drawing->n_nodes;
    mdf_status status;

    *first_node = first;
    drawing->n_nodes += graph->n_nodes > 0 ? graph->n_nodes : 1;
    if (graph->n_nodes == 0) {
        begin_line(drawing);
        mdf_text_printf(drawing->dot, "n%zu [shape=point, style=invis];\n", first);
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        draw_node(drawing, graph, &graph->nodes[i], first + i);
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        draw_edge(drawing, &graph->edges[i], first);
    }
    status = draw_boxes(drawing, graph, first);
    for (size_t i = 0; i < graph->n_nodes && status == MDF_OK; i++) {
        status = drawing->dot->failed ? out_of_memory(drawing) : draw_graphs_of(drawing, &graph->nodes[i], first + i);
    }
    return status;
}

/* Graphs of the model that nodes refer to; each may refer to further ones. */
static mdf_status draw_wanted(struct drawing *drawing, size_t main_graph)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < drawing->n_references && status == MDF_OK; i++) {
        size_t graph = drawing->references[i].graph;

        if (graph != main_graph && drawing->clusters[graph].number == 0) {
            status = draw_cluster(drawing, &drawing->model->graphs[graph], &drawing->clusters[graph]);
        }
    }
    for (size_t i = 0; i < drawing->n_references; i++) {
        draw_body_edge(drawing, drawing->references[i].node, &drawing->clusters[drawing->references[i].graph],
                       drawing->references[i].attribute);
    }
    return status;
}

static mdf_status draw(struct drawing *drawing, const struct mdf_graph *graph)
{
    size_t main_graph = (size_t)(graph - drawing->model->graphs);
    mdf_status status;

    mdf_text_append_string(drawing->dot, "digraph ");
    add_quoted(drawing->dot, graph->id);
    mdf_text_append_string(drawing->dot,
                           " {\n    graph [compound=true, fontname=\"Helvetica\", fontcolor=\"" MDF_DOT_COLOR_MAIN "\"];\n"
                           "    node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", color=\"" MDF_DOT_COLOR_MAIN
                           "\", fontcolor=\"" MDF_DOT_COLOR_MAIN "\", fontname=\"Helvetica\"];\n"
                           "    edge [arrowhead=empty, color=\"" MDF_DOT_COLOR_MAIN "\", fontcolor=\"" MDF_DOT_COLOR_MAIN
                           "\", fontname=\"Helvetica\", fontsize=11];\n");
    status = draw_graph(drawing, graph, &drawing->clusters[main_graph].first_node);
    if (status == MDF_OK) {
        status = draw_wanted(drawing, main_graph);
    }
    mdf_text_append_string(drawing->dot, "}\n");
    return status == MDF_OK && drawing->dot->failed ? out_of_memory(drawing) : status;
}

mdf_status mdf_write_dot(struct mdf_text *dot, const struct mdf_model *model, const struct mdf_graph *graph,
                         enum mdf_detail detail, mdf_error *error)
{
    struct drawing drawing = {.dot = dot, .model = model, .error = error};
    mdf_status status;

    if (detail == MDF_DETAIL_AUTOMATIC) {
        detail = graph->n_nodes > LARGE_GRAPH ? MDF_DETAIL_NAMES : MDF_DETAIL_CONTENTS;
    }
    drawing.label = (struct mdf_dot_label){.dot = dot, .detail = detail, .opset = model->opset};
    mdf_text_init(&drawing.label.words, dot->memory);
    mdf_arena_init(&drawing.arena, dot->memory);
    drawing.clusters = mdf_arena_array(&drawing.arena, model->n_graphs, sizeof *drawing.clusters);
    status = drawing.clusters != NULL ? draw(&drawing, graph) : out_of_memory(&drawing);
    mdf_memory_release(dot->memory, drawing.references);
    mdf_text_release(&drawing.label.words);
    mdf_arena_release(&drawing.arena);
    return status;
}
