/* look_over_units.c - units of measurement that do not go together: what is added, compared, or put where another unit is
 * declared. A part of look_over.c.
 *
 * Units are what the metadata of parameters, functions and ports say ("unit" or "units"); they change no result. Nothing is told
 * but where the units of both sides are given and known: a number in an expression may have any unit, and so has a product with
 * it. */
#include "mdf_c/plan/compiler.h"

#include "functions/elements/element.h"
#include "functions/kernel/fold.h"
#include "mdf_c/base/physical_unit.h"
#include "mdf_c/expression/expression.h"

#include <string.h>

/* The unit of an expression; text NULL: not known. */
struct measure {
    struct mdf_physical_unit unit;
    const char *text; /* for messages */
};

struct looking {
    struct compiler *compiler;
    const struct mdf_graph *graph;
    const struct mdf_graph_node *node;
};

static const struct measure unknown = {.text = NULL};

/* ------------------------------------------------------------------ declared units */

static struct measure declared(const struct mdf_node *source)
{
    const char *text = mdf_node_unit(source);
    struct measure measure = {.text = text};

    return text != NULL && mdf_read_physical_unit(text, &measure.unit) ? measure : unknown;
}

/* Of a name in the node: a parameter hides a function, which hides a port, which hides a parameter of the graph. */
static struct measure of_name(const struct looking *looking, const char *name)
{
    const struct mdf_graph_node *node = looking->node;
    const struct mdf_parameter *parameter = mdf_model_find_parameter(node, name);
    const struct mdf_definition *function = mdf_model_find_function(node, name);
    size_t i = mdf_model_find_input_port(node, name);

    if (parameter != NULL || function != NULL) {
        return declared(parameter != NULL ? parameter->definition.source : function->source);
    }
    if (i < node->n_input_ports) {
        return declared(node->input_ports[i].source);
    }
    return looking->graph->parameters != NULL ? declared(mdf_node_get(looking->graph->parameters, name)) : unknown;
}

/* ------------------------------------------------------------------ expressions */

static struct measure measure_of(const struct looking *looking, const struct mdf_expression *tree);

static void tell(const struct looking *looking, size_t offset, const char *what, const struct measure *a, const struct measure *b)
{
    looking->compiler->offset = offset;
    compile_finding(looking->compiler, "units", "%s %s %s", a->text, what, b->text);
}

/* Tells where both are known and not the same; the one that is known. */
static struct measure join(const struct looking *looking, const struct mdf_expression *at, const char *words, struct measure a,
                           struct measure b)
{
    if (a.text != NULL && b.text != NULL && !mdf_same_physical_unit(&a.unit, &b.unit, true)) {
        tell(looking, at->offset, words, &a, &b);
        return unknown;
    }
    return a.text != NULL ? a : b;
}

static const char *in_parentheses(const struct looking *looking, const char *text)
{
    return strpbrk(text, "/*. ") != NULL ? mdf_arena_printf(&looking->compiler->scratch, "(%s)", text) : text;
}

static struct measure product(const struct looking *looking, struct measure a, struct measure b, int power)
{
    const char *left, *right;

    if (a.text == NULL || b.text == NULL) {
        return unknown;
    }
    left = in_parentheses(looking, a.text);
    right = in_parentheses(looking, b.text);
    mdf_multiply_physical_unit(&a.unit, &b.unit, power);
    a.text = left != NULL && right != NULL
                 ? mdf_arena_printf(&looking->compiler->scratch, "%s%s%s", left, power > 0 ? "." : "/", right)
                 : NULL;
    return a;
}

static struct measure to_power(const struct looking *looking, struct measure a, const struct mdf_expression *exponent)
{
    struct mdf_physical_unit unit = {.factor = 1};
    const char *base = a.text != NULL ? in_parentheses(looking, a.text) : NULL;

    if (base == NULL || exponent->kind != MDF_EXPRESSION_INT || exponent->as.integer < 1 || exponent->as.integer > 9) {
        return unknown;
    }
    mdf_multiply_physical_unit(&unit, &a.unit, (int)exponent->as.integer);
    return (struct measure){unit, mdf_arena_printf(&looking->compiler->scratch, "%s%d", base, (int)exponent->as.integer)};
}

static struct measure of_binary(const struct looking *looking, const struct mdf_expression *tree)
{
    struct measure left = measure_of(looking, tree->as.list.items[0]), right = measure_of(looking, tree->as.list.items[1]);

    if (strcmp(tree->name, "add") == 0) {
        return join(looking, tree, "is added to", left, right);
    }
    if (strcmp(tree->name, "sub") == 0) {
        return join(looking, tree, "is reduced by", left, right);
    }
    if (strcmp(tree->name, "mul") == 0 || strcmp(tree->name, "truediv") == 0) {
        return product(looking, left, right, tree->name[0] == 'm' ? 1 : -1);
    }
    return strcmp(tree->name, "pow") == 0 ? to_power(looking, left, tree->as.list.items[1]) : unknown;
}

static struct measure of_compare(const struct looking *looking, const struct mdf_expression *tree)
{
    struct measure before = measure_of(looking, tree->as.list.items[0]);

    for (size_t i = 1; i < tree->as.list.n; i++) {
        struct measure next = measure_of(looking, tree->as.list.items[i]);

        join(looking, tree, "is compared with", before, next);
        before = next;
    }
    return unknown;
}

/* The row of what is called; `method`: its first argument, where it is a method of that. NULL: it is no function that is known. */
static const struct mdf_operator *row_of(const struct looking *looking, const struct mdf_expression *callee,
                                         const struct mdf_expression **method)
{
    const struct mdf_expression *before = callee->kind == MDF_EXPRESSION_ATTRIBUTE ? callee->as.list.items[0] : NULL;
    const struct mdf_operator *row = NULL;
    const char *dotted;

    *method = NULL;
    if (callee->kind == MDF_EXPRESSION_NAME) {
        return mdf_operator_python(callee->as.text.bytes);
    }
    if (before != NULL && before->kind == MDF_EXPRESSION_NAME) {
        dotted = mdf_arena_printf(&looking->compiler->scratch, "%s.%s", before->as.text.bytes, callee->name);
        row = dotted != NULL ? mdf_operator_python(dotted) : NULL;
    }
    if (row == NULL && before != NULL) {
        *method = before;
        row = mdf_operator_method(callee->name);
    }
    return row;
}

/* The first argument whose unit is that of the result, and of all behind it; of a fold, which takes one, *is_one. SIZE_MAX: none. */
static size_t find_alike(const struct mdf_operator *row, bool *is_one)
{
    const struct mdf_fold *fold = row != NULL ? row->fold : NULL;

    *is_one = fold != NULL;
    if (fold != NULL) {
        return fold->result == MDF_FOLD_TOTAL && fold->way->term->id == MDF_ELEMENT_kept &&
                       (fold->after == NULL || fold->after->id == MDF_ELEMENT_kept)
                   ? mdf_element_alike(fold->way->combine)
                   : SIZE_MAX;
    }
    return row == NULL                                  ? SIZE_MAX
           : (row->flags & MDF_OPERATOR_ALIKE) != 0 ? 0
                                                        : mdf_element_alike(row->element);
}

/* Results of functions that say so have the unit of their arguments; all else has any. */
static struct measure of_call(const struct looking *looking, const struct mdf_expression *tree)
{
    const struct mdf_expression *method;
    const struct mdf_operator *row = row_of(looking, tree->as.list.items[0], &method);
    bool is_one;
    size_t first = find_alike(row, &is_one), n = method != NULL, i;
    struct measure result = method != NULL && first == 0 ? measure_of(looking, method) : unknown;

    for (i = 1; i < tree->as.list.n; i++) {
        struct measure argument = measure_of(looking, tree->as.list.items[i]);

        if (tree->names != NULL && tree->names[i - 1] != NULL) {
            continue; /* axis, key, ... */
        }
        if (n >= first && !(is_one && n > 0)) {
            result = join(looking, tree, "stands beside", result, argument);
        }
        n++;
    }
    return result;
}

/* Each part is looked at, whatever is known of the whole. */
static struct measure of_items(const struct looking *looking, const struct mdf_expression *tree)
{
    struct measure first = unknown;

    for (size_t i = 0; i < mdf_expression_n_items(tree); i++) {
        if (tree->as.list.items[i] != NULL) {
            struct measure item = measure_of(looking, tree->as.list.items[i]);

            first = i == 0 ? item : first;
        }
    }
    return first;
}

static struct measure measure_of(const struct looking *looking, const struct mdf_expression *tree)
{
    switch (tree->kind) {
    case MDF_EXPRESSION_NAME:
        return of_name(looking, tree->as.text.bytes);
    case MDF_EXPRESSION_BINARY:
        return of_binary(looking, tree);
    case MDF_EXPRESSION_COMPARE:
        return of_compare(looking, tree);
    case MDF_EXPRESSION_CALL:
        return of_call(looking, tree);
    case MDF_EXPRESSION_UNARY:
    case MDF_EXPRESSION_SUBSCRIPT: {
        struct measure first = of_items(looking, tree);

        return tree->kind == MDF_EXPRESSION_SUBSCRIPT || strcmp(tree->name, "neg") == 0 || strcmp(tree->name, "pos") == 0
                   ? first
                   : unknown;
    }
    case MDF_EXPRESSION_CONDITIONAL: {
        struct measure if_true = measure_of(looking, tree->as.list.items[1]);

        measure_of(looking, tree->as.list.items[0]);
        return join(looking, tree, "stands beside", if_true, measure_of(looking, tree->as.list.items[2]));
    }
    case MDF_EXPRESSION_COMPREHENSION: /* has names of its own */
    case MDF_EXPRESSION_INT:
    case MDF_EXPRESSION_REAL:
    case MDF_EXPRESSION_STRING:
    case MDF_EXPRESSION_TRUE:
    case MDF_EXPRESSION_FALSE:
    case MDF_EXPRESSION_NONE:
    case MDF_EXPRESSION_ELLIPSIS:
        return unknown;
    case MDF_EXPRESSION_LIST:
    case MDF_EXPRESSION_TUPLE:
    case MDF_EXPRESSION_DICT:
    case MDF_EXPRESSION_AND:
    case MDF_EXPRESSION_OR:
    case MDF_EXPRESSION_ATTRIBUTE:
    case MDF_EXPRESSION_SLICE:
        of_items(looking, tree);
        return unknown;
    }
    return unknown;
}

/* ------------------------------------------------------------------ parts of a node */

/* What a value is for: the same unit, or that per time, whatever unit of time the model has. */
enum purpose { VALUE, DERIVATIVE, TEST };

static void check(const struct looking *looking, const struct measure *value, const struct measure *wanted, enum purpose purpose)
{
    static const struct mdf_physical_unit second = {.factor = 1, .powers = {[MDF_UNIT_S] = 1}};
    struct mdf_physical_unit unit = wanted->unit;

    if (value->text == NULL || wanted->text == NULL || purpose == TEST) {
        return;
    }
    if (purpose == DERIVATIVE) {
        mdf_multiply_physical_unit(&unit, &second, -1);
    }
    if (!mdf_same_physical_unit(&value->unit, &unit, purpose == VALUE)) {
        looking->compiler->offset = 0;
        compile_finding(looking->compiler, "units", "its value is in %s, where %s%s is declared", value->text, wanted->text,
                        purpose == DERIVATIVE ? " (per time)" : "");
    }
}

/* Looks at an expression that gives something of a declared unit. False: out of memory. */
static bool look_at(struct looking *looking, const struct mdf_node *text, struct measure wanted, enum purpose purpose)
{
    struct compiler *compiler = looking->compiler;
    struct mdf_expression *tree;
    struct measure measure;
    struct place place;

    if (text == NULL || text->kind != MDF_NODE_STRING) {
        return true;
    }
    if (!try_parse(compiler, text->as.string.bytes, &tree)) {
        return false;
    }
    if (tree == NULL) {
        return true;
    }
    place = place_at(compiler, text);
    compiler->text = text->as.string.bytes;
    measure = measure_of(looking, tree);
    check(looking, &measure, &wanted, purpose);
    place_leave(compiler, place);
    return true;
}

static bool look_at_parameter(struct looking *looking, const struct mdf_parameter *parameter)
{
    struct measure own = declared(parameter->definition.source);
    bool done = look_at(looking, parameter->definition.value, own, VALUE) &&
                look_at(looking, parameter->default_initial_value, own, VALUE) &&
                look_at(looking, parameter->time_derivative, own, DERIVATIVE);

    for (size_t i = 0; done && i < parameter->n_conditions; i++) {
        done = look_at(looking, parameter->conditions[i].test, unknown, TEST) &&
               look_at(looking, parameter->conditions[i].value, own, VALUE);
    }
    return done;
}

static bool look_at_node(struct looking *looking, const struct mdf_graph_node *node)
{
    struct compiler *compiler = looking->compiler;
    struct place place = place_enter(compiler, "node", node->id, node->source), inner;
    bool done = true;

    looking->node = node;
    for (size_t i = 0; done && i < node->n_functions; i++) {
        inner = place_enter(compiler, "function", node->functions[i].id, node->functions[i].source);
        done = look_at(looking, node->functions[i].value, declared(node->functions[i].source), VALUE);
        place_leave(compiler, inner);
    }
    for (size_t i = 0; done && i < node->n_parameters; i++) {
        inner = place_enter(compiler, "parameter", node->parameters[i].definition.id, node->parameters[i].definition.source);
        done = look_at_parameter(looking, &node->parameters[i]);
        place_leave(compiler, inner);
    }
    for (size_t i = 0; done && i < node->n_output_ports; i++) {
        inner = place_enter(compiler, "output port", node->output_ports[i].id, node->output_ports[i].source);
        done = look_at(looking, node->output_ports[i].value, declared(node->output_ports[i].source), VALUE);
        place_leave(compiler, inner);
    }
    place_leave(compiler, place);
    return done;
}

/* What an edge brings as it is has the unit of the port that it comes to. */
static void look_at_edge(struct compiler *compiler, const struct mdf_graph *graph, const struct mdf_edge *edge)
{
    struct measure from = declared(graph->nodes[edge->sender_node].output_ports[edge->sender_index].source),
                   to = declared(graph->nodes[edge->receiver_node].input_ports[edge->receiver_index].source);
    struct place place;

    if (edge->weight != NULL || from.text == NULL || to.text == NULL || mdf_same_physical_unit(&from.unit, &to.unit, true)) {
        return;
    }
    place = place_enter(compiler, "edge", edge->id, edge->source);
    compile_finding(compiler, "units", "it brings %s to input port '%s' of node '%s', where %s is declared", from.text,
                    edge->receiver_port, edge->receiver, to.text);
    place_leave(compiler, place);
}

bool look_over_units(const struct graph_builder *builder)
{
    struct looking looking = {.compiler = builder->compiler, .graph = builder->graph};

    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        if (!look_at_node(&looking, &builder->graph->nodes[i])) {
            compile_out_of_memory(builder->compiler);
            return false;
        }
    }
    for (size_t i = 0; i < builder->graph->n_edges; i++) {
        look_at_edge(builder->compiler, builder->graph, &builder->graph->edges[i]);
    }
    return true;
}
