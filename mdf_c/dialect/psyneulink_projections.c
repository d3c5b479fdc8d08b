/* psyneulink_projections.c - projections that are more than an edge. PsyNeuLink's matrices act on what an edge brings: they
 * become functions of the receiver, called as the input port was whose value they make, so that whatever reads the port reads
 * them. */
#include "mdf_c/dialect/psyneulink_rules.h"

#include <string.h>

/* The edges that have this end ("sender" or "receiver"); `*edge` is the place of the last. */
static size_t count_edges(struct mdf_node *edges, const char *end, const char *node, const char *port_key, const char *port,
                          size_t *edge)
{
    size_t n = 0;

    for (size_t i = 0; i < rewriting_n_entries(edges); i++) {
        struct mdf_node *own = &edges->as.object.entries[i].value;

        if (rewriting_is(rewriting_find(own, end), node) && (port == NULL || rewriting_is(rewriting_find(own, port_key), port))) {
            *edge = i;
            n++;
        }
    }
    return n;
}

/* ------------------------------------------------------------------ ports of a circle */

/* Whether edges lead from a node back to it, by way of others. */
static bool is_in_circle(struct rewriting *rewriting, struct mdf_node *graph, const char *id)
{
    struct mdf_node *edges = rewriting_find(graph, "edges");
    size_t n_edges = rewriting_n_entries(edges), n = 0, i, j, k;
    const char **reached = mdf_arena_array(rewriting->arena, n_edges + 1, sizeof *reached), *receiver;

    if (reached == NULL) {
        return false;
    }
    reached[n++] = id;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n_edges; j++) {
            struct mdf_node *edge = &edges->as.object.entries[j].value;

            receiver = rewriting_text(rewriting_find(edge, "receiver"));
            if (receiver == NULL || !rewriting_is(rewriting_find(edge, "sender"), reached[i])) {
                continue;
            }
            if (strcmp(receiver, id) == 0 && i > 0) {
                return true;
            }
            for (k = 0; k < n && strcmp(reached[k], receiver) != 0; k++) {
            }
            if (k == n) {
                reached[n++] = receiver;
            }
        }
    }
    return false;
}

/* Other words for a name in all values of a collection, and in the arguments of its functions. */
static void replace_in(struct rewriting *rewriting, struct mdf_node *collection, const char *name, const char *words)
{
    for (size_t i = 0; i < rewriting_n_entries(collection); i++) {
        struct mdf_node *item = &collection->as.object.entries[i].value, *value = rewriting_find(item, "value"),
                        *arguments = rewriting_find(item, "args");

        if (rewriting_text(value) != NULL) {
            *value =
                rewriting_make_text(rewriting, value, "%s", rewriting_replace(rewriting, value->as.string.bytes, name, words));
        }
        for (size_t j = 0; j < rewriting_n_entries(arguments); j++) {
            struct mdf_node *argument = &arguments->as.object.entries[j].value;

            if (rewriting_text(argument) != NULL) {
                *argument = rewriting_make_text(rewriting, argument, "%s",
                                                rewriting_replace(rewriting, argument->as.string.bytes, name, words));
            }
        }
    }
}

/* A node of a circle may have input from outside at a port that a projection leads to: both are added. The function called like
 * the port makes what the projection brings. */
static void add_outside(struct rewriting *rewriting, struct mdf_node *graph, const char *id, const char *port)
{
    struct mdf_node *node = rewriting_find(rewriting_find(graph, "nodes"), id), *functions = rewriting_find(node, "functions");
    struct mdf_node outside = rewriting_make_object(node), sum = rewriting_make_object(node);
    const char *projected = rewriting_print(rewriting, "%s_projected", port),
               *total = rewriting_print(rewriting, "%s_total", port);

    if (strstr(port, "_input_port_from_") != NULL || !is_in_circle(rewriting, graph, id)) {
        return;
    }
    replace_in(rewriting, functions, port, total);
    replace_in(rewriting, rewriting_find(node, "parameters"), port, total);
    replace_in(rewriting, rewriting_find(node, "output_ports"), port, total);
    rewriting_rename(functions, port, projected);
    rewriting_put(rewriting, &sum, "value", rewriting_make_text(rewriting, node, "%s + %s", port, projected));
    rewriting_put(rewriting, functions, total, sum);
    rewriting_put(rewriting, &outside, "default_value", rewriting_make_real(node, 0));
    rewriting_put(rewriting, rewriting_find(node, "input_ports"), port, outside);
}

/* ------------------------------------------------------------------ nodes that stand for projections */

static void move_entries(struct rewriting *rewriting, struct mdf_node *from, struct mdf_node *to, const char *key)
{
    struct mdf_node *source = rewriting_find(from, key), *target = source != NULL ? rewriting_object(rewriting, to, key) : NULL;

    for (size_t i = 0; target != NULL && i < rewriting_n_entries(source); i++) {
        rewriting_put(rewriting, target, source->as.object.entries[i].key, source->as.object.entries[i].value);
    }
}

/* The node takes the place of the receiver's port: its own port in that place, and its functions, of which one is called like
 * that port. */
static void fold_into(struct rewriting *rewriting, struct mdf_node *node, struct mdf_node *receiver, const char *port)
{
    struct mdf_node_entry *input = &rewriting_find(node, "input_ports")->as.object.entries[0];
    struct mdf_node *value = rewriting_find(&rewriting_find(node, "output_ports")->as.object.entries[0].value, "value");
    struct mdf_node *ports = rewriting_find(receiver, "input_ports"),
                    function = rewriting_make_object(input->value.line > 0 ? &input->value : node);

    rewriting_rename(ports, port, input->key);
    rewriting_put(rewriting, ports, input->key, input->value);
    move_entries(rewriting, node, receiver, "parameters");
    move_entries(rewriting, node, receiver, "functions");
    rewriting_put(rewriting, &function, "value", *value);
    rewriting_put(rewriting, rewriting_object(rewriting, receiver, "functions"), port, function);
}

/* A node with one port in and one out, one edge into it, and one from it to a port that no other edge leads to. */
static bool is_projection(struct mdf_node *graph, const struct mechanism *mechanism, size_t *before, size_t *behind)
{
    struct mdf_node *edges = rewriting_find(graph, "edges"), *outputs = rewriting_find(mechanism->node, "output_ports");
    const char *class = mechanism_class(mechanism);
    struct mdf_node *edge, *receiver;
    const char *port;
    size_t any;

    if (!mdf_ends_with(class, "Projection") || rewriting_n_entries(rewriting_find(mechanism->node, "input_ports")) != 1 ||
        rewriting_n_entries(outputs) != 1 ||
        rewriting_text(rewriting_find(&outputs->as.object.entries[0].value, "value")) == NULL ||
        count_edges(edges, "receiver", mechanism->id, NULL, NULL, before) != 1 ||
        count_edges(edges, "sender", mechanism->id, NULL, NULL, behind) != 1) {
        return false;
    }
    edge = &edges->as.object.entries[*behind].value;
    port = rewriting_text(rewriting_find(edge, "receiver_port"));
    receiver = rewriting_text(rewriting_find(edge, "receiver")) != NULL
                   ? rewriting_find(rewriting_find(graph, "nodes"), rewriting_text(rewriting_find(edge, "receiver")))
                   : NULL;
    return port != NULL && receiver != mechanism->node && rewriting_find(rewriting_find(receiver, "input_ports"), port) != NULL &&
           rewriting_find(receiver, "nodes") == NULL &&
           count_edges(edges, "receiver", rewriting_text(rewriting_find(edge, "receiver")), "receiver_port", port, &any) == 1;
}

void psyneulink_fold_projections(struct rewriting *rewriting, struct mdf_node *graph)
{
    struct mdf_node *nodes = rewriting_find(graph, "nodes"), *edges = rewriting_find(graph, "edges");
    size_t n_folded = 0, i = 0, before = 0, behind = 0;
    const char **folded = mdf_arena_array(rewriting->arena, 2 * rewriting_n_entries(nodes), sizeof *folded);

    while (folded != NULL && i < rewriting_n_entries(nodes)) {
        struct mechanism mechanism = {rewriting, nodes->as.object.entries[i].key, &nodes->as.object.entries[i].value};
        struct mdf_node *first, *second, receiver;

        if (!is_projection(graph, &mechanism, &before, &behind)) {
            i++;
            continue;
        }
        first = &edges->as.object.entries[before].value;
        second = &edges->as.object.entries[behind].value;
        receiver = *rewriting_find(second, "receiver");
        folded[n_folded++] = receiver.as.string.bytes;
        folded[n_folded++] = rewriting_text(rewriting_find(second, "receiver_port"));
        rewriting_put(rewriting, first, "receiver", receiver);
        fold_into(rewriting, mechanism.node, rewriting_find(nodes, receiver.as.string.bytes), folded[n_folded - 1]);
        rewriting_remove(edges, edges->as.object.entries[behind].key);
        rewriting_remove(nodes, mechanism.id);
    }
    for (i = 0; i < n_folded; i += 2) { /* circles are what is left */
        add_outside(rewriting, graph, folded[i], folded[i + 1]);
    }
}

/* ------------------------------------------------------------------ matrices */

/* The elements of a matrix of numbers, which a packed node holds; false: it is none. */
static bool find_matrix(const struct mdf_node *node, size_t *n_rows, size_t *n_columns)
{
    if (node == NULL || node->kind != MDF_NODE_NUMBERS || node->as.numbers.rank != 2) {
        return false;
    }
    *n_rows = (size_t)node->as.numbers.shape[0];
    *n_columns = (size_t)node->as.numbers.shape[1];
    return true;
}

/* Element number `index` of packed numbers, or the number itself. */
static double number_at(const struct mdf_node *node, size_t index)
{
    double number;

    if (node->kind == MDF_NODE_NUMBERS) {
        size_t size = mdf_dtype_size((mdf_dtype)node->packed_dtype);

        return mdf_element_to_double((mdf_dtype)node->packed_dtype, (const char *)node->as.numbers.elements + index * size);
    }
    return rewriting_number(node, &number) ? number : 0;
}

static bool is_identity(const struct mdf_node *matrix)
{
    size_t n_rows, n_columns;

    if (!find_matrix(matrix, &n_rows, &n_columns) || n_rows != n_columns) {
        return false;
    }
    for (size_t i = 0; i < n_rows * n_columns; i++) {
        if (number_at(matrix, i) != (i % (n_columns + 1) == 0 ? 1 : 0)) {
            return false;
        }
    }
    return true;
}

/* The matrix in an edge's metadata; NULL: none, or one that changes nothing. */
static const struct mdf_node *find_projection_matrix(struct rewriting *rewriting, struct mdf_node *edge)
{
    struct mdf_node *functions = rewriting_find_path(edge, "metadata.functions"), *function, *matrix;

    function = rewriting_n_entries(functions) == 1 ? &functions->as.object.entries[0].value : NULL;
    if (function == NULL || !rewriting_is(rewriting_find(function, "function"), "onnx::MatMul")) {
        return NULL;
    }
    matrix = rewriting_find_path(function, "args.B");
    if (matrix == NULL) {
        return NULL;
    }
    *matrix = rewriting_make_reals(rewriting, matrix);
    return is_identity(matrix) ? NULL : matrix;
}

/* Gives an edge a port of its own, of which the function called `product` makes what the edge brings. */
static void give_own_port(struct rewriting *rewriting, struct mdf_node *node, struct mdf_node *edge, const char *port,
                          const char *product)
{
    struct mdf_node function = rewriting_make_object(edge), arguments = function;

    rewriting_put(rewriting, rewriting_object(rewriting, node, "input_ports"), port, rewriting_make_object(edge));
    rewriting_put(rewriting, &arguments, "A", rewriting_make_text(rewriting, edge, "%s", port));
    rewriting_put(rewriting, &arguments, "B", *find_projection_matrix(rewriting, edge));
    rewriting_put(rewriting, &function, "function", rewriting_make_text(rewriting, edge, "onnx::MatMul"));
    rewriting_put(rewriting, &function, "args", arguments);
    rewriting_put(rewriting, rewriting_object(rewriting, node, "functions"), product, function);
    rewriting_put(rewriting, edge, "receiver_port", rewriting_make_text(rewriting, edge, "%s", port));
}

/* Several edges into one port are summed; where one of them has a matrix, each gets a port of its own. */
static void sum_edges(struct rewriting *rewriting, struct mdf_node *node, struct mdf_node *edges, const char *id,
                      const char *port)
{
    const char *sum = "";
    struct mdf_node function;

    for (size_t i = 0; i < rewriting_n_entries(edges); i++) {
        struct mdf_node *edge = &edges->as.object.entries[i].value;
        const char *own = rewriting_print(rewriting, "%s_from_%s", port, edges->as.object.entries[i].key), *term = own;

        if (!rewriting_is(rewriting_find(edge, "receiver"), id) || !rewriting_is(rewriting_find(edge, "receiver_port"), port)) {
            continue;
        }
        if (find_projection_matrix(rewriting, edge) != NULL) {
            term = rewriting_print(rewriting, "%s_projected", own);
            give_own_port(rewriting, node, edge, own, term);
        } else {
            rewriting_put(rewriting, rewriting_object(rewriting, node, "input_ports"), own, rewriting_make_object(edge));
            rewriting_put(rewriting, edge, "receiver_port", rewriting_make_text(rewriting, edge, "%s", own));
        }
        sum = rewriting_print(rewriting, "%s%s%s", sum, *sum != '\0' ? " + " : "", term);
    }
    function = rewriting_make_object(node);
    rewriting_put(rewriting, &function, "value", rewriting_make_text(rewriting, node, "%s", sum));
    rewriting_put(rewriting, rewriting_object(rewriting, node, "functions"), port, function);
    rewriting_remove(rewriting_find(node, "input_ports"), port);
}

void psyneulink_apply_matrices(struct rewriting *rewriting, struct mdf_node *graph)
{
    struct mdf_node *edges = rewriting_find(graph, "edges"), *nodes = rewriting_find(graph, "nodes");
    size_t any;

    for (size_t i = 0; i < rewriting_n_entries(edges); i++) {
        struct mdf_node *edge = &edges->as.object.entries[i].value, *ports;
        const char *id = rewriting_text(rewriting_find(edge, "receiver")),
                   *port = rewriting_text(rewriting_find(edge, "receiver_port"));
        struct mdf_node *node = id != NULL ? rewriting_find(nodes, id) : NULL;

        ports = rewriting_find(node, "input_ports");
        if (port == NULL || rewriting_find(ports, port) == NULL) {
            continue;
        }
        if (find_projection_matrix(rewriting, edge) == NULL) {
            if (rewriting_find(rewriting_find(ports, port), "reduce") == NULL &&
                (count_edges(edges, "receiver", id, "receiver_port", port, &any) > 1 || is_in_circle(rewriting, graph, id))) {
                rewriting_put(rewriting, rewriting_find(ports, port), "reduce", rewriting_make_text(rewriting, edge, "add"));
            }
            continue;
        }
        if (count_edges(edges, "receiver", id, "receiver_port", port, &any) == 1) {
            rewriting_remove(ports, port);
            give_own_port(rewriting, node, edge, rewriting_print(rewriting, "%s_from_%s", port, edges->as.object.entries[i].key),
                          port);
        } else {
            sum_edges(rewriting, node, edges, id, port);
        }
    }
}

/* ------------------------------------------------------------------ recurrent projections */

/* What PsyNeuLink calls its matrices by name, as the elements on the diagonal and off it. */
static const struct named_matrix {
    const char *name;
    double diagonal, elsewhere;
} named_matrices[] = {{"HollowMatrix", 0, 1}, {"InverseHollowMatrix", 0, -1},   {"IdentityMatrix", 1, 0},
                      {"ZerosMatrix", 0, 0},  {"FullConnectivityMatrix", 1, 1}, {"AutoAssignMatrix", 1, 0}};

static const struct named_matrix *find_named_matrix(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof named_matrices / sizeof *named_matrices; i++) {
        if (strcmp(named_matrices[i].name, name) == 0) {
            return &named_matrices[i];
        }
    }
    return NULL;
}

/* A number or an array of real numbers; NULL: there is none. */
static struct mdf_node *find_reals(struct rewriting *rewriting, struct mdf_node *object, const char *path)
{
    struct mdf_node *found = rewriting_find_path(object, path);

    if (found == NULL) {
        return NULL;
    }
    if (found->kind != MDF_NODE_INT) { /* which says more than its number */
        *found = rewriting_make_reals(rewriting, found);
    }
    return found->kind == MDF_NODE_INT || found->kind == MDF_NODE_REAL || found->kind == MDF_NODE_NUMBERS ? found : NULL;
}

/* "auto" or "hetero", where it is given: the exporter writes a whole number, 1 or 0, where it is not. */
static const struct mdf_node *find_part(const struct mechanism *mechanism, const char *path, int64_t absent)
{
    struct mdf_node *part = find_reals(mechanism->rewriting, mechanism->node, path);

    if (part != NULL) {
        part->is_spent = true;
    }
    return part != NULL && part->kind == MDF_NODE_INT && part->as.integer == absent ? NULL : part;
}

/* The element at [row, column] of a number, a row (of the diagonal) or a matrix. */
static double part_at(const struct mdf_node *part, size_t row, size_t column, size_t n)
{
    size_t length = rewriting_n_elements(part);

    return number_at(part, length == 1 ? 0 : length == n ? row : row * n + column);
}

static bool fits_matrix(const struct mdf_node *part, size_t n)
{
    size_t length = rewriting_n_elements(part);

    return part == NULL || length == 1 || length == n || length == n * n;
}

/* The matrix of `n` values: that of its name or its elements, over which "auto" and "hetero" go. False: it is not known. */
static bool make_recurrent_matrix(const struct mechanism *mechanism, size_t n, struct mdf_node *matrix)
{
    struct mdf_node *given = rewriting_find_path(mechanism->node, "parameters.matrix.value");
    const struct mdf_node *diagonal, *elsewhere;
    const struct named_matrix *named;
    double *elements;
    size_t n_rows = 0, n_columns = 0;
    bool gives_both; /* where it has no matrix that somebody gave it: 5 and 0 if nothing else */

    given = given != NULL ? given : rewriting_find_path(mechanism->node, "metadata.matrix");
    if (given != NULL) {
        *given = rewriting_make_reals(mechanism->rewriting, given);
        given->is_spent = true;
    }
    named = find_named_matrix(rewriting_text(given));
    gives_both = named != NULL && strcmp(mechanism_class(mechanism), "KWTAMechanism") == 0;
    diagonal = find_part(mechanism, "parameters.auto.value", gives_both ? INT64_MIN : 1);
    elsewhere = find_part(mechanism, "parameters.hetero.value", gives_both ? INT64_MIN : 0);
    if (n == 0 || !fits_matrix(diagonal, n) || !fits_matrix(elsewhere, n)) {
        return false;
    }
    if (named == NULL && (!find_matrix(given, &n_rows, &n_columns) || n_rows != n || n_columns != n)) {
        return false;
    }
    *matrix = rewriting_make_matrix(mechanism->rewriting, mechanism->node, n, n, &elements);
    for (size_t i = 0; i < n && !mechanism->rewriting->failed; i++) {
        for (size_t j = 0; j < n; j++) {
            const struct mdf_node *part = i == j ? diagonal : elsewhere;

            elements[i * n + j] = part != NULL    ? part_at(part, i, j, n)
                                  : named == NULL ? number_at(given, i * n + j)
                                  : i == j        ? named->diagonal
                                                  : named->elsewhere;
        }
    }
    return true;
}

/* The input port that waits for the projection; NULL: none. */
static const char *find_recurrent_port(const struct mechanism *mechanism, struct mdf_node *edges)
{
    struct mdf_node *ports = rewriting_find(mechanism->node, "input_ports");
    const char *own = rewriting_print(mechanism->rewriting, "%s_RECURRENT", mechanism->id);
    size_t any;

    for (size_t i = 0; i < rewriting_n_entries(ports); i++) {
        const char *port = ports->as.object.entries[i].key;

        if ((mdf_ends_with(port, "_recurrent_projection") || strcmp(port, own) == 0) &&
            count_edges(edges, "receiver", mechanism->id, "receiver_port", port, &any) == 0) {
            return port;
        }
    }
    return NULL;
}

/* {KEY: VALUE} */
static struct mdf_node make_entry(const struct mechanism *mechanism, const char *key, struct mdf_node value)
{
    struct mdf_node object = rewriting_make_object(mechanism->node);

    rewriting_put(mechanism->rewriting, &object, key, value);
    return object;
}

/* An edge from the node's first output port to the input port, with the matrix in its metadata, as the exporter writes others. */
static struct mdf_node make_recurrent_edge(const struct mechanism *mechanism, const char *output, const char *input,
                                           struct mdf_node matrix)
{
    struct rewriting *rewriting = mechanism->rewriting;
    struct mdf_node function = make_entry(mechanism, "args", make_entry(mechanism, "B", matrix)), edge;
    const struct {
        const char *key, *text;
    } ends[] = {{"sender", mechanism->id}, {"sender_port", output}, {"receiver", mechanism->id}, {"receiver_port", input}};

    rewriting_put(rewriting, &function, "function", rewriting_make_text(rewriting, mechanism->node, "onnx::MatMul"));
    edge = make_entry(mechanism, "metadata", make_entry(mechanism, "functions", make_entry(mechanism, "matrix", function)));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        rewriting_put(rewriting, &edge, ends[i].key, rewriting_make_text(rewriting, mechanism->node, "%s", ends[i].text));
    }
    return edge;
}

void psyneulink_close_recurrence(const struct mechanism *mechanism, struct mdf_node *edges)
{
    struct mdf_node *outputs = rewriting_find(mechanism->node, "output_ports"), matrix;
    const char *port = find_recurrent_port(mechanism, edges);
    const struct mdf_node_entry *output;

    if (port == NULL || rewriting_n_entries(outputs) == 0) {
        return;
    }
    output = &outputs->as.object.entries[0];
    if (!make_recurrent_matrix(
            mechanism,
            rewriting_n_elements(find_reals(mechanism->rewriting, &outputs->as.object.entries[0].value, "metadata.variable")),
            &matrix)) {
        rewriting_refuse(mechanism->rewriting, mechanism->node,
                         "the matrix of the recurrent projection of node '%s' is not known: give its parameter 'matrix' the "
                         "elements, or let mdf_c.psyneulink export the model",
                         mechanism->id);
        return;
    }
    rewriting_put(mechanism->rewriting, edges, rewriting_print(mechanism->rewriting, "%s_recurrent_projection", mechanism->id),
                  make_recurrent_edge(mechanism, output->key, port, matrix));
}
