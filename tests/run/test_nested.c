/* test_nested.c - graphs within nodes, parameters of graphs, and units in metadata: what they mean, and the messages where
 * something is wrong. Models are written with single quotes. */
#include "mdf_c/mdf.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ running a model given as text */

static void count_warning(void *context, const mdf_error *warning)
{
    (void)warning;
    ++*(size_t *)context;
}

/* Runs a model for some steps; `text` gets its results, or the error. *n_late is how often the last two steps asked for memory.
 */
static mdf_status run(const char *quoted, int steps, double dt, struct counter *counter, char *text, size_t size, size_t *n_late,
                      size_t *n_warnings)
{
    mdf_allocator allocator = failing_allocator(counter);
    mdf_options options = {.allocator = &allocator, .warning = count_warning, .warning_context = n_warnings};
    char *source = strdup(quoted), *c;
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;

    for (c = source; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    model = mdf_model_load_bytes(source, strlen(source), "json", "model.json", &options, &error);
    program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
    state = program != NULL ? mdf_state_new(program, &error) : NULL;
    for (int i = 0; state != NULL && i < steps && error.code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : dt, &error);
        *n_late = i + 3 <= steps ? counter->n_calls : *n_late;
    }
    *n_late = counter->n_calls - *n_late;
    if (error.code != MDF_OK) {
        mdf_error_format(&error, text, size);
    } else {
        write_results(program, state, text, size);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    free(source);
    return error.code;
}

static void expect(const char *model, int steps, double dt, const char *results)
{
    struct counter counter = {0};
    size_t n_late = 0, n_warnings = 0;
    char text[600];

    run(model, steps, dt, &counter, text, sizeof text, &n_late, &n_warnings);
    cr_expect_str_eq(text, results, "%s: %s, not %s", model, text, results);
    cr_expect_eq(counter.n_blocks, (size_t)0, "%s leaks", model);
    cr_expect_eq(n_warnings, (size_t)0, "%s warns", model);
}

static void expect_error(const char *model, const char *message)
{
    struct counter counter = {0};
    size_t n_late = 0, n_warnings = 0;
    char text[1200];

    cr_expect_neq(run(model, 1, (double)NAN, &counter, text, sizeof text, &n_late, &n_warnings), MDF_OK, "%s is not refused",
                  model);
    cr_expect_not_null(strstr(text, message), "'%s', not '%s'", text, message);
    cr_expect_eq(counter.n_blocks, (size_t)0, "%s leaks", model);
}

#define MODEL(graphs) "{'m': {'graphs': {" graphs "}}}"
#define GRAPH(parts) MODEL("'g': {" parts "}")
/* Counts its runs, from 1 on. */
#define COUNTER "'parameters': {'k': {'value': 'k + 1', 'default_initial_value': 0}}, 'output_ports': {'k': {'value': 'k'}}"
#define EDGE(from, output, to, input) \
    "{'sender': '" from "', 'sender_port': '" output "', 'receiver': '" to "', 'receiver_port': '" input "'}"
/* Adds its input to what it has. */
#define SUM(input, output)                                                         \
    "{'input_ports': {'" input "': {}}, 'parameters': {'s': {'value': 's + " input \
    "', 'default_initial_value': 0}}, 'output_ports': {'" output "': {'value': 's'}}}"

/* ------------------------------------------------------------------ graphs within nodes */

/* The form that PsyNeuLink writes: the node has nodes and edges itself. Edges lead to free ports of the inner nodes and come from
 * those that no inner edge reads. */
static const char ports_model[] = GRAPH("'nodes': {'a': {" COUNTER "}, 'in': {'nodes': {'e': " SUM(
    "x", "y") ", 'f': {'input_ports': {'u': {}, 'w': {'default_value': "
              "0.5}}, 'output_ports': {'v': {'value': 'u + w'}}}}, 'edges': {'i': " EDGE(
                  "e", "y", "f", "u") "}}, 'z': {'input_ports': {'p': "
                                      "{}}, 'output_ports': {'o': {'value': '10 * p'}}}}, 'edges': {'1': " EDGE(
                                          "a", "k", "in", "x") ", '2': " EDGE("in", "v", "z", "p") "}");

Test(nested, ports_of_inner_nodes_are_those_of_the_node)
{
    expect(ports_model, 1, NAN, "o 15.0");
    expect(ports_model, 3, NAN, "o 65.0");
}

/* As one at the top of a model may be. */
Test(nested, a_graph_may_hold_nothing)
{
    expect(
        GRAPH("'nodes': {'a': {'graph': {}}, 'b': {'graph': {'x': {}}}, 'd': {'graph': {'parameters': {'p': {}}}}, 'c': {" COUNTER
              "}}"),
        2, NAN, "k 2");
}

/* What the node calls as the inner port is called feeds it: a port, a parameter with its new value, a function; NODE.PORT one
 * only. */
Test(nested, names_of_the_node_feed_inner_ports)
{
    expect(GRAPH("'nodes': {'n': {'parameters': {'x': {'value': 'x + 1', 'default_initial_value': 0}, 'f.y': {'value': 7}}, "
                 "'functions': "
                 "{'w': {'value': '2 * 3'}}, 'nodes': {'e': {'input_ports': {'x': {}, 'y': {'default_value': 1}, 'w': {}}, "
                 "'output_ports': "
                 "{'o': {'value': '[x, y, w]'}}}, 'f': {'input_ports': {'x': {}, 'y': {}}, 'output_ports': {'p': {'value': '[x, "
                 "y]'}}}}}}"),
           2, NAN, "o [2, 1, 6]; p [2, 7]");
}

/* The node's own output ports may use those of the graph, by name or NODE.PORT, in expressions; the others are added behind them.
 */
Test(nested, outputs_of_the_node_use_those_of_the_graph)
{
    expect(GRAPH("'nodes': {'n': {'nodes': {'e': {'output_ports': {'o': {'value': 1}}}, 'f': {'output_ports': {'o': {'value': "
                 "2}, 'q': "
                 "{'value': 3}}}}, 'output_ports': {'a': {'value': 'e.o + 10 * f.o'}, 'b': {'value': 'q'}, 'q': {'value': 'f.q + "
                 "1'}}}}"),
           1, NAN, "a 21; b 3; q 4; o 1; f.o 2; f.q 3");
}

/* Expressions within see the parameters of the node and of the graph around it; their own names come first. */
/* The node runs when `a` has run twice: before that its ports hold what those within it hold at first. */
Test(nested, ports_of_the_node_hold_what_inner_ports_hold_at_first)
{
    static const char *const model = GRAPH(
        "'nodes': {'a': {'output_ports': {'k': {'value': 1}}}, 'n': {'nodes': {'e': {'output_ports': {'o': {'value': 7, "
        "'default_initial_value': 3}}}}}}, 'conditions': {'node_specific': {'n': {'type': 'AfterNCalls', 'kwargs': "
        "{'dependency': 'a', 'n': 2, 'time_scale': 'TimeScale.LIFE'}}}, 'termination': {'environment_state_update': {'type': "
        "'AfterPass', 'kwargs': {'n': 0}}}}");

    expect(model, 1, NAN, "k 1; o 3");
    expect(model, 2, NAN, "k 1; o 7");
}

Test(nested, names_are_looked_up_outward)
{
    expect(GRAPH("'parameters': {'gain': 5, 'k': 100}, 'nodes': {'n': {'parameters': {'p': 7}, 'nodes': {'e': {'parameters': "
                 "{'k': {'value': "
                 "2}}, 'output_ports': {'o': {'value': 'gain * p + k'}}}}}}"),
           1, NAN, "o 37");
}

/* Under 'graph', as it is, with its id, or by the id of a graph of the model; each use has a state of its own. */
Test(nested, a_graph_may_be_given_by_name)
{
    expect(GRAPH("'nodes': {'n': {'graph': {'nodes': {'e': {" COUNTER "}}}}}"), 3, NAN, "k 3");
    expect(GRAPH("'nodes': {'n': {'graph': {'inner': {'nodes': {'e': {" COUNTER "}}}}}}"), 3, NAN, "k 3");
    expect(MODEL("'inner': {'nodes': {'e': " SUM("x",
                                                 "y") "}}, 'g': {'nodes': {'a': {'parameters': {'x': 1}, 'graph': 'inner'}, 'b': "
                                                      "{'parameters': {'x': 10}, 'graph': 'inner'}}}"),
           3, NAN, "y 3; b.y 30");
    expect("{'m': {'graphs': [{'id': 'inner', 'nodes': [{'id': 'e', " COUNTER
           "}]}, {'id': 'g', 'nodes': [{'id': 'n', 'graph': 'inner'}]}]}}",
           2, NAN, "k 2");
}

Test(nested, graphs_nest_deeper)
{
    expect(GRAPH("'nodes': {'n': {'parameters': {'tau': 2}, 'nodes': {'n': {'nodes': {'n': {'nodes': {'e': {'input_ports': {'x': "
                 "{'shape': [2]}}, "
                 "'parameters': {'v': {'default_initial_value': 8, 'time_derivative': '(x - v) / tau'}}, 'output_ports': {'o': "
                 "{'value': "
                 "'v'}}}}}}}}}}"),
           3, 1.0, "o [2.0, 2.0]");
}

/* A declared interface is taken at its word: other ports keep what they have. */
Test(nested, an_interface_names_inputs_and_outputs)
{
    expect(GRAPH("'nodes': {'a': {'output_ports': {'o': {'value': 3}}}, 'n': {'graph': {'metadata': {'inputs': [{'name': "
                 "'first', 'port': "
                 "'e.x'}, 'through'], 'outputs': [{'name': 'result', 'port': 'f.y'}, 'through']}, 'nodes': {'e': {'input_ports': "
                 "{'x': {}, 'q': "
                 "{'default_value': 4}}, 'output_ports': {'y': {'value': 'x + q'}}}, 'f': {'input_ports': {'x': {}}, "
                 "'output_ports': {'y': "
                 "{'value': 'x + 1'}}}}}}}, 'edges': {'1': " EDGE("a", "o", "n", "first") ", '2': " EDGE("a", "o", "n",
                                                                                                         "through") "}"),
           1, NAN, "result 1.0; through 3");
}

/* Conditions inside count runs of the inner nodes, in each run of the node anew; of a node that never ran there is no value. */
Test(nested, conditions_inside_schedule_the_inner_nodes)
{
    expect(GRAPH("'nodes': {'n': {'nodes': {'a': {" COUNTER
                 "}, 'b': {'input_ports': {'i': {}}, 'output_ports': {'o': {'value': 'i'}}}, 'c': "
                 "{'output_ports': {'never': {'value': 5}}}}, 'edges': {'1': " EDGE(
                     "a", "k", "b",
                     "i") "}, 'conditions': {'node_specific': "
                          "{'b': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'a', 'n': 3}}, 'c': {'type': 'Never', "
                          "'kwargs': {}}}, 'termination': "
                          "{'environment_state_update': {'type': 'AfterNCalls', 'kwargs': {'dependency': 'b', 'n': 1}}}}}}"),
           2, NAN, "o 6; never null");
}

/* Conditions outside schedule the node as a whole. */
Test(nested, conditions_outside_schedule_the_node)
{
    expect(GRAPH("'nodes': {'a': {" COUNTER "}, 'n': {'nodes': {'e': " SUM("x", "y") "}}}, 'edges': {'1': " EDGE(
               "a", "k", "n",
               "x") "}, "
                    "'conditions': {'node_specific': {'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'a', 'n': 2}}}}"),
           2, NAN, "y 6");
}

Test(nested, faults)
{
    expect_error(GRAPH("'nodes': {'n': {'graph': 5}}"), "node 'n': 'graph' must be a graph, an object {ID: graph}, or the id");
    expect_error(GRAPH("'nodes': {'n': {'graph': 'gg'}}"), "node 'n': the model has no graph 'gg'; did you mean 'g'?");
    expect_error(GRAPH("'nodes': {'n': {'graph': 'g'}}"), "nested too deep (does a graph use itself?)");
    expect_error(GRAPH("'nodes': {'n': {'graph': {'nodes': {}}, 'nodes': {}}}"), "a node has one graph");
    expect_error(GRAPH("'nodes': {'n': {'nodes': {'e': {'output_ports': {'o': {'value': 'q + 1'}}}}}}"),
                 "node 'n', node 'e', output port 'o': name 'q' is not known here");
    expect_error(GRAPH("'nodes': {'n': {'nodes': {'e': {'output_ports': {'o': {'value': '1 / 0'}}}}}}"),
                 "node 'n', node 'e', output port 'o': ");
    expect_error(GRAPH("'nodes': {'n': {'nodes': {'e': {}}}, 'a': {'output_ports': {'o': {'value': 1}}}}, 'edges': {'1': " EDGE(
                     "a", "o", "n", "x") "}"),
                 "node 'n' has no input port 'x'");
    expect_error(
        GRAPH("'nodes': {'n': {'parameters': {'l': {'function': 'onnx::Loop', 'args': {'M': 1, 'v_initial': ['1'], 'body': {'b': "
              "{'metadata': {'inputs': ['i', 'c', 'x'], 'outputs': ['c', 'y']}, 'nodes': {'s': {'nodes': {'e': {'output_ports': "
              "{'y': "
              "{'value': 1}}}}}}}}}}}, 'output_ports': {'o': {'value': 'l'}}}}"),
        "a node with a graph of its own can not stand in the body of Scan, Loop or If");
}

/* What arrives is reduced once for all of them: in a graph by itself each would reduce as it says. */
Test(nested, inner_ports_of_one_name_that_reduce_otherwise_are_refused)
{
#define PORT(reduce) "{'input_ports': {'x': {" reduce "}}, 'output_ports': {'o': {'value': 'x'}}}"
#define PAIR(ports) GRAPH("'nodes': {'n': {" ports "'nodes': {'a': " PORT("'reduce': 'add'") ", 'b': " PORT("") "}}}")
    expect_error(PAIR(""), "input ports 'x' of the graph within the node are fed as one, but do not say the same 'reduce'");
    expect(PAIR("'input_ports': {'x': {'reduce': 'add', 'default_value': 2.0}}, "), 1, NAN, "o 2.0; b.o 2.0");
#undef PAIR
#undef PORT
}

/* The default value that a node's port says counts in all graphs within it, and for conditions that look at their ports. */
Test(nested, default_values_of_the_node_reach_all_depths)
{
    expect(
        GRAPH("'nodes': {'n': {'input_ports': {'x': {'default_value': 7}}, 'nodes': {'m': {'nodes': {'e': {'input_ports': {'x': "
              "{'default_value': 1}}, 'output_ports': {'o': {'value': 'x'}}}}}}}}"),
        2, NAN, "o 7");
    expect(GRAPH("'nodes': {'n': {'input_ports': {'x': {'default_value': 7}}, 'nodes': {'m': {'input_ports': {'x': {}}, 'nodes': "
                 "{'e': "
                 "{'input_ports': {'x': {'default_value': 1}}, 'output_ports': {'o': {'value': 'x'}}}}}}}}"),
           2, NAN, "o 7");
    expect(GRAPH("'nodes': {'n': {'input_ports': {'x': {'default_value': 7}}, 'nodes': {'e': {'input_ports': {'x': "
                 "{'default_value': 1}}, "
                 "'output_ports': {'o': {'value': 'x'}}}}, 'conditions': {'node_specific': {'e': {'type': 'Threshold', 'kwargs': "
                 "{'dependency': 'e', 'parameter': 'x', 'threshold': 3, 'comparator': '>'}}}, 'termination': "
                 "{'environment_state_update': {'type': 'AfterNPasses', 'kwargs': {'n': 1}}}}}}"),
           1, NAN, "o 7");
}

/* What waits for an inner node is reduced as the port of the node around says. */
Test(nested, what_waits_is_reduced_as_the_node_says)
{
    static const char model[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"reduce\": "
                                "\"multiply\"}}, \"nodes\": {\"e\": "
                                "{\"input_ports\": {\"x\": {}}, \"output_ports\": {\"o\": {\"value\": \"x\"}}}}, \"conditions\": "
                                "{\"node_specific\": {\"e\": "
                                "{\"type\": \"AtEnvironmentStateUpdate\", \"kwargs\": {\"n\": 1}}}, \"termination\": "
                                "{\"environment_state_update\": {\"type\": "
                                "\"AfterNPasses\", \"kwargs\": {\"n\": 1}}}}}}}}}}";
    mdf_error error = {0};
    mdf_model *loaded = mdf_model_load_bytes(model, strlen(model), "json", "model.json", NULL, &error);
    mdf_program *program = loaded != NULL ? mdf_compile(loaded, NULL, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    mdf_tensor tensor = {0};

    cr_assert_not_null(state, "%s", error.message);
    mdf_set_input_json(state, "x", "3", &error);
    mdf_evaluate(state, NAN, &error);
    mdf_set_input_json(state, "x", "5", &error);
    cr_assert_eq(mdf_evaluate(state, NAN, &error), MDF_OK, "%s", error.message);
    cr_assert(mdf_value_tensor(mdf_output(state, "n", "o"), &tensor));
    cr_assert_eq(tensor.dtype, MDF_DTYPE_INT64);
    cr_expect_eq(*(const int64_t *)tensor.data, 15);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(loaded);
}

/* Each of the values that arrive at a port fits its type, not the first one alone. */
Test(nested, each_value_that_arrives_fits_the_type)
{
#define TWO(port)                                                                                                         \
    "'nodes': {'a': {'output_ports': {'o': {'value': '2 - 1'}}}, 'b': {'output_ports': {'o': {'value': '1 / 2'}}}, 'n': " \
    "{'input_ports': {'x': {" port "}}, 'output_ports': {'o': {'value': 'x'}}}}, 'edges': {'1': " EDGE(                   \
        "a", "o", "n", "x") ", '2': " EDGE("b", "o", "n", "x") "}"
    static const char message[] = "does not fit the declared type int64";

    expect_error(GRAPH(TWO("'type': 'int64', 'reduce': 'add'")), message);
    expect_error(GRAPH(TWO("'type': 'int64', 'reduce': 'multiply'")), message);
    expect_error(GRAPH(TWO("'type': 'int64', 'reduce': 'overwrite'")), message);
    expect(GRAPH(TWO("'type': 'float32', 'reduce': 'add'")), 3, NAN, "o 1.5");
#undef TWO
}

/* Graphs that name others many times over stand for more nodes than any memory has. */
Test(nested, too_many_nodes_are_refused)
{
    char model[8000] = "{'m': {'graphs': {'g0': {'nodes': {'e': {}}}";
    size_t used;

    for (int i = 1; i < 12; i++) {
        used = strlen(model);
        snprintf(model + used, sizeof model - used, ", 'g%d': {'nodes': {", i);
        for (int j = 0; j < 8; j++) {
            used = strlen(model);
            snprintf(model + used, sizeof model - used, "%s'n%d': {'graph': 'g%d'}", j > 0 ? ", " : "", j, i - 1);
        }
        strcat(model, "}}");
    }
    strcat(model, "}}}");
    expect_error(model, "stand for too many nodes");
}

static const char deep_model[] = GRAPH("'nodes': {'a': {" COUNTER "}, 'n': {'nodes': {'e': " SUM(
    "x", "y") ", 'm': {'nodes': {'d': {'input_ports': {'y': {}}, "
              "'output_ports': {'o': {'value': 'y * 0.5'}}}}}}, 'edges': {'1': " EDGE(
                  "e", "y", "m", "y") "}, 'conditions': {'node_specific': {'m': "
                                      "{'type': 'EveryNCalls', 'kwargs': {'dependency': 'e', 'n': 2}}}}}}, 'edges': {'1': " EDGE(
                                          "a", "k", "n", "x") "}");

Test(nested, steady_evaluations_allocate_nothing)
{
    struct counter counter = {0};
    size_t n_late = 0, n_warnings = 0;
    char text[600];

    run(deep_model, 10, 0.1, &counter, text, sizeof text, &n_late, &n_warnings);
    cr_expect_str_eq(text, "o 55.0");
    cr_expect_eq(n_late, (size_t)0, "%zu allocations", n_late);
}

Test(nested, a_failing_allocation_is_an_error_like_any_other)
{
    mdf_status status = MDF_OUT_OF_MEMORY;
    char text[600];

    for (size_t n = 1; status != MDF_OK && n < 5000; n++) {
        struct counter counter = {.fail_at = n};
        size_t n_late = 0, n_warnings = 0;

        status = run(deep_model, 3, 0.1, &counter, text, sizeof text, &n_late, &n_warnings);
        cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "allocation %zu: %s", n, text);
        cr_assert_eq(counter.n_blocks, (size_t)0, "allocation %zu leaks", n);
    }
    cr_expect_eq(status, MDF_OK);
}

/* ------------------------------------------------------------------ parameters of graphs */

/* Constants by name in every node, in weights of edges and in each other; a value may be bare, or an object with metadata. */
Test(graph_parameters, are_seen_everywhere_in_the_graph)
{
    expect(GRAPH("'parameters': {'gain': 5, 'twice': 'gain * 2', 'w': {'value': [1, 2], 'metadata': {'unit': 'mV'}}, 'half': "
                 "{'value': 0.5, "
                 "'metadata': {'type': 'float32', 'shape': []}}}, 'nodes': {'a': {'parameters': {'p': {'value': 2}}, "
                 "'functions': {'f': "
                 "{'function': 'linear', 'args': {'variable0': 'p', 'slope': 'gain', 'intercept': 'twice'}}}, 'output_ports': "
                 "{'o': {'value': "
                 "'f'}}}, 'b': {'input_ports': {'i': {}}, 'output_ports': {'q': {'value': 'i * w'}, 'h': {'value': 'half'}}}}, "
                 "'edges': {'1': "
                 "{'sender': 'a', 'sender_port': 'o', 'receiver': 'b', 'receiver_port': 'i', 'parameters': {'weight': 'gain'}}}"),
           1, NAN, "q [100, 200]; h 0.5");
}

Test(graph_parameters, give_way_to_names_of_the_node)
{
    expect(GRAPH("'parameters': {'gain': 5}, 'nodes': {'a': {'parameters': {'gain': {'value': 1}}, 'output_ports': {'o': "
                 "{'value': 'gain'}}}}"),
           1, NAN, "o 1");
}

Test(graph_parameters, faults)
{
    expect_error(GRAPH("'parameters': {'gain': 'gian * 2'}, 'nodes': {'a': {}}"),
                 "graph parameter 'gain': name 'gian' is not known here");
}

/* ------------------------------------------------------------------ units in metadata */

/* Metadata is for people and for other programs: units of any spelling, anywhere, change nothing and cause no warning. */
Test(metadata, units_change_nothing)
{
    expect(
        "{'m': {'metadata': {'unit': 'mV'}, 'graphs': {'g': {'metadata': {'units': {'v': 'mV', 't': 'ms'}}, 'parameters': {'c': "
        "{'value': 2, "
        "'metadata': {'unit': 'pF'}}}, 'nodes': {'n': {'metadata': {'units': 'mV'}, 'input_ports': {'i': {'metadata': {'unit': "
        "'pA'}}}, "
        "'functions': {'f': {'value': 'p * c', 'metadata': {'unit': null}}}, 'parameters': {'p': {'value': 4, 'metadata': "
        "{'unit': 'mV', "
        "'units': ['m', 'V']}}}, 'output_ports': {'o': {'value': 'f', 'metadata': {'unit': 'mV', 'scale': 0.001}}}}, 'q': "
        "{'input_ports': "
        "{'i': {}}, 'output_ports': {'r': {'value': 'i'}}}}, 'edges': {'1': {'sender': 'n', 'sender_port': 'o', 'receiver': 'q', "
        "'receiver_port': 'i', 'metadata': {'unit': 'mV'}}}}}}}",
        1, NAN, "r 8");
}

/* ------------------------------------------------------------------ memory that runs out */

/* Whichever piece of memory is refused, the result is the same or the error says so. */
Test(nested, any_piece_of_memory_may_be_refused)
{
    static const char *const models[] = {
        ports_model,
        deep_model,
        GRAPH("'nodes': {'n': {'parameters': {'x': {'value': 'x + 1', 'default_initial_value': 0}, 'f.y': {'value': 7}}, "
              "'functions': "
              "{'w': {'value': '2 * 3'}}, 'nodes': {'e': {'input_ports': {'x': {}, 'y': {'default_value': 1}, 'w': {}}, "
              "'output_ports': "
              "{'o': {'value': '[x, y, w]'}}}, 'f': {'input_ports': {'x': {}, 'y': {}}, 'output_ports': {'p': {'value': '[x, "
              "y]'}}}}, "
              "'output_ports': {'a': {'value': 'e.o[0] + 10'}, 'p': {'value': 'f.p'}}}}"),
        GRAPH("'nodes': {'a': {'output_ports': {'o': {'value': 3}}}, 'n': {'graph': {'metadata': {'inputs': [{'name': 'first', "
              "'port': "
              "'e.x'}, 'through'], 'outputs': [{'name': 'result', 'port': 'f.y'}, 'through']}, 'nodes': {'e': {'input_ports': "
              "{'x': {}, "
              "'q': {'default_value': 4}}, 'output_ports': {'y': {'value': 'x + q'}}}, 'f': {'input_ports': {'x': {}}, "
              "'output_ports': "
              "{'y': {'value': 'x + 1'}}}}}}}, 'edges': {'1': " EDGE("a", "o", "n", "first") ", '2': " EDGE("a", "o", "n",
                                                                                                            "through") "}"),
        GRAPH("'parameters': {'gain': 5, 'w': {'value': [1, 2], 'metadata': {'type': 'float32'}}, 'half': 'gain / 2'}, 'nodes': "
              "{'a': {" COUNTER "}, 'n': {'nodes': {'e': " SUM(
                  "x", "y") ", 'm': {'nodes': {'d': {'input_ports': {'y': {}}, 'output_ports': {'o': "
                            "{'value': 'y * half'}}}}}}, 'edges': {'1': " EDGE(
                                "e", "y", "m", "y") "}, 'conditions': {'node_specific': {'m': {'type': "
                                                    "'EveryNCalls', 'kwargs': {'dependency': 'e', 'n': 2}}}}}}, 'edges': {'1': "
                                                    "{'sender': 'a', 'sender_port': 'k', 'receiver': "
                                                    "'n', 'receiver_port': 'x', 'parameters': {'weight': 'gain'}}}, "
                                                    "'conditions': {'node_specific': {'n': {'type': "
                                                    "'Threshold', 'kwargs': {'dependency': 'a', 'parameter': 'k', 'threshold': "
                                                    "1, 'comparator': '>'}}}}"),
        MODEL(
            "'inner': {'nodes': {'e': " SUM("x", "y") "}}, 'g': {'nodes': {'a': {'parameters': {'x': 1}, 'graph': 'inner'}, 'b': "
                                                      "{'parameters': {'x': 10}, 'graph': 'inner'}}}"),
    };

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *source = strdup(models[i]);

        for (char *c = source; *c != '\0'; c++) {
            *c = *c == '\'' ? '"' : *c;
        }
        expect_pieces_refused(source, &(struct piece_run){.format = "json", .steps = 3, .dt = 0.1, .first = 1 + i, .stride = 2});
        free(source);
    }
}
