/* test_kept_values.c - what a node has left stays while it does not run: outputs, parameters and functions that are a port's or
 * another node's value, looked at later; and input ports, which a run of their node spends. Each model runs node by node, by the
 * fast ways, and in one go; expected is what modeci_mdf 0.4.15 computes. Models are written with single quotes. */
#include "mdf_c/base/text.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 4096 };

struct kept_case {
    const char *model; /* the parts of its graph */
    const char *input; /* of port 'i', in each step; NULL: none */
    int n_steps;
    const char *values; /* of all output ports, step by step */
};

static void write_outputs(const mdf_program *program, const mdf_state *state, struct mdf_text *out)
{
    for (size_t i = 0; i < mdf_program_n_nodes(program); i++) {
        for (size_t j = 0; j < mdf_program_n_outputs(program, i); j++) {
            mdf_text_printf(out, "%s ", mdf_program_output_id(program, i, j));
            mdf_write_json_value(out, mdf_output_at(state, i, j), false, NULL);
            mdf_text_printf(out, " ");
        }
    }
}

/* Steps one by one, the outputs of each; or all but the last in one go, the outputs of the last. */
static void run(const struct kept_case *row, const mdf_options *options, bool at_once, struct mdf_text *out)
{
    char text[MOST_BYTES], *c;
    struct engine engine;
    uint64_t n_done, n_recorded;

    snprintf(text, sizeof text, "{'m': {'graphs': {'g': {%s}}}}", row->model);
    for (c = text; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    cr_assert(engine_begin(&engine, text, options), "%s: %s", row->model, engine.error.message);
    for (int step = 0; step < row->n_steps; step++) {
        if (row->input != NULL) {
            cr_assert_eq(mdf_set_input_json(engine.state, "i", row->input, &engine.error), MDF_OK);
        }
        if (at_once) {
            mdf_evaluate_steps(engine.state, (uint64_t)row->n_steps, (double)NAN, (double)NAN, 0, NULL, 0, &n_done, &n_recorded,
                               &engine.error);
            step = row->n_steps - 1;
        } else {
            mdf_evaluate(engine.state, (double)NAN, &engine.error);
        }
        cr_assert_eq(engine.error.code, MDF_OK, "%s: %s", row->model, engine.error.message);
        write_outputs(engine.program, engine.state, out);
        mdf_text_printf(out, step + 1 < row->n_steps ? "/ " : "");
    }
    engine_end(&engine);
}

static void expect(const struct kept_case *row)
{
    static const mdf_options ways[] = {{.plain = true}, {.plain = false}};
    const char *last = strrchr(row->values, '/');
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    for (int way = 0; way < 4; way++) {
        const char *expected = way < 2 || last == NULL ? row->values : last + 2;
        struct mdf_text out;

        mdf_text_init(&out, &memory);
        run(row, &ways[way % 2], way >= 2, &out);
        cr_expect_str_eq(out.bytes, expected, "%s, way %d: %s, not %s", row->model, way, out.bytes, expected);
        mdf_text_release(&out);
    }
}

#define EDGE(from, output, to, input) \
    "{'sender': '" from "', 'sender_port': '" output "', 'receiver': '" to "', 'receiver_port': '" input "'}"
#define HALVES \
    "'t': {'parameters': {'p': {'value': 'p / 2', 'default_initial_value': 16}}, 'output_ports': {'o': {'value': 'p'}}}"
#define PASSES(n) "'termination': {'environment_state_update': {'type': 'AfterNPasses', 'kwargs': {'n': " n "}}}"
#define FIRST_ONLY(node) "'node_specific': {'" node "': {'type': 'BeforeEnvironmentStateUpdate', 'kwargs': {'n': 1}}}"

static const struct kept_case outputs[] = {
    /* The greatest so far, by an edge of the node to itself: of the two values an expression chooses among, one is an input. */
    {"'nodes': {" HALVES ", 'a': {'input_ports': {'i': {'default_value': 0.0}, 'j': {}}, 'output_ports': {'m': {'value': "
     "'(j if j >= i else i)'}}}}, 'edges': {'1': " EDGE("t", "o", "a", "j") ", '2': " EDGE("a", "m", "a", "i") "}",
     NULL, 4, "o 8.0 m 8.0 / o 4.0 m 8.0 / o 2.0 m 8.0 / o 1.0 m 8.0 "},
    /* An output that is a port, of a node that runs in the first evaluation only: inputs given later wait. */
    {"'nodes': {'a': {'input_ports': {'i': {'default_value': -0.5}}, 'output_ports': {'o': {'value': 'i'}}}}, 'conditions': "
     "{" FIRST_ONLY("a") ", " PASSES("2") "}",
     "-2.5", 4, "o -0.5 / o -0.5 / o -0.5 / o -0.5 "},
    /* The same through a function, a parameter, an expression that passes it on. */
    {"'nodes': {'a': {'input_ports': {'i': {'default_value': -0.5}}, 'functions': {'f': {'value': 'i'}}, 'parameters': {'p': "
     "{'value': 'f'}}, 'output_ports': {'o': {'value': 'f'}, 'q': {'value': 'p'}, 'r': {'value': 'p if p < 100 else f'}}}}, "
     "'conditions': {" FIRST_ONLY("a") ", " PASSES("2") "}",
     "1.5", 3, "o -0.5 q -0.5 r -0.5 / o -0.5 q -0.5 r -0.5 / o -0.5 q -0.5 r -0.5 "},
    /* A reader that goes before gets the value of the evaluation before, not the input of this one. */
    {"'nodes': {'b': {'input_ports': {'u': {'default_value': 0}}, 'output_ports': {'p': {'value': 'u * 10'}}}, 'a': "
     "{'input_ports': {'i': {}}, 'parameters': {'n': {'value': 'n + i', 'default_initial_value': 0}}, 'output_ports': {'o': "
     "{'value': 'i'}, 's': {'value': 'n'}}}, 'c': {'input_ports': {'w': {}}, 'output_ports': {'x': {'value': 'w'}}}}, 'edges': "
     "{'1': " EDGE("a", "o", "b", "u") ", '2': " EDGE("a", "s", "c", "w") "}",
     "3", 3, "p 0 o 3 s 3 x 3 / p 30 o 3 s 6 x 6 / p 30 o 3 s 9 x 9 "},
    /* The same where the value passed on is another node's: 'b' runs behind 't' and before 'c'. */
    {"'nodes': {" HALVES ", 'b': {'input_ports': {'u': {'default_value': 0}}, 'output_ports': {'p': {'value': 'u'}}}, 'c': "
     "{'input_ports': {'w': {}}, 'output_ports': {'x': {'value': 'w'}}}}, 'edges': {'1': " EDGE(
         "t", "o", "c", "w") ", '2': " EDGE("c", "x", "b", "u") "}",
     NULL, 3, "o 8.0 p 0 x 8.0 / o 4.0 p 8.0 x 4.0 / o 2.0 p 4.0 x 2.0 "},
    /* A text and an object that a choice among them and others leaves as they are. */
    {"'nodes': {'a': {'parameters': {'k': {'default_initial_value': 0, 'value': 'k + 1'}, 'w': {'value': {'a': [1, 2]}}, 's': "
     "{'default_initial_value': 0, 'value': '\\\"text\\\" if k == 2 else s'}, 'd': {'default_initial_value': 0, 'value': "
     "'w if k == 2 else d'}}, 'output_ports': {'s': {'value': 's'}, 'd': {'value': 'd'}}}}",
     NULL, 4, "s 0 d 0 / s \"text\" d {\"a\": [1, 2]} / s \"text\" d {\"a\": [1, 2]} / s \"text\" d {\"a\": [1, 2]} "},
};

Test(kept_values, outputs_stay_while_their_node_does_not_run)
{
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        expect(&outputs[i]);
    }
}

#define COUNTER "{'parameters': {'k': {'value': 'k + 1', 'default_initial_value': 0}}, 'output_ports': {'o': {'value': 'k'}}}"
#define THRESHOLD(node, name, comparator, n)                                                                         \
    "{'type': 'Threshold', 'kwargs': {'dependency': '" node "', 'parameter': '" name "', 'comparator': '" comparator \
    "', 'threshold': " n "}}"
#define TWO_NODES(port)                                                                                                       \
    "'nodes': {'a': " COUNTER ", 'b': {'input_ports': {'i': {" port "}}, 'parameters': {'p': {'value': 'i', "                 \
    "'default_initial_value': 0}, 'q': {'value': 'i'}}, 'functions': {'f': {'value': 'i'}}, 'output_ports': {'u': {'value': " \
    "'i'}}}}, 'edges': {'1': " EDGE("a", "o", "b", "i") "}, "

static const struct kept_case inputs[] = {
    /* Read, a port is 0, whatever edges brought, also in the next evaluation. */
    {TWO_NODES("") "'conditions': {'node_specific': {'a': " THRESHOLD("b", "i", "<=", "0") "}}", NULL, 3,
     "o 1 u 1 / o 2 u 2 / o 3 u 3 "},
    /* Before the first run its default_value counts; read, it is 0 and no longer that. */
    {TWO_NODES("'default_value': 5") "'conditions': {'node_specific': {'a': " THRESHOLD("b", "i", "<", "5") "}, " PASSES("4") "}",
     NULL, 2, "o 3 u 3 / o 7 u 7 "},
    /* What was given from outside and not read yet counts. */
    {"'nodes': {'a': " COUNTER ", 'b': {'input_ports': {'i': {}}, 'output_ports': {'u': {'value': 'i'}}}}, 'conditions': "
     "{'node_specific': {'a': " THRESHOLD("b", "i", ">", "2") ", 'b': {'type': 'AtPass', 'kwargs': {'n': 2}}}, " PASSES("4") "}",
     "7", 2, "o 3 u 7 / o 6 u 7 "},
    /* A parameter and a function that are the port keep its value. */
    {TWO_NODES("") "'conditions': {'node_specific': {'a': " THRESHOLD("b", "p", "<", "2") "}, " PASSES("4") "}", NULL, 2,
     "o 2 u 2 / o 2 u 2 "},
    {TWO_NODES("") "'conditions': {'node_specific': {'a': " THRESHOLD("b", "f", "<", "2") "}, " PASSES("4") "}", NULL, 2,
     "o 2 u 2 / o 2 u 2 "},
};

static const struct kept_case late[] = {
    /* A node that runs for the first time between evaluations in a row brings what it has from then on. */
    {"'nodes': {'a': {'input_ports': {'i': {'default_value': 1}}, 'parameters': {'k': {'value': 'k + i', "
     "'default_initial_value': 0}}, "
     "'output_ports': {'o': {'value': 'k'}}}, 'b': {'output_ports': {'p': {'value': '5'}}}}, 'edges': {'1': " EDGE(
         "b", "p", "a", "i") "}, 'conditions': {'node_specific': {'b': {'type': 'AtEnvironmentStateUpdate', 'kwargs': {'n': "
                             "4}}}, " PASSES("1") "}",
     NULL, 9, "o 1 p null / o 2 p null / o 3 p null / o 4 p null / o 5 p 5 / o 10 p 5 / o 15 p 5 / o 20 p 5 / o 25 p 5 "},
};

Test(kept_values, edges_bring_something_once_their_sender_has_run)
{
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        expect(&late[i]);
    }
}

static const struct kept_case idle[] = {
    /* A node without a condition runs in all evaluations but in those that are over before: the last ones. */
    {"'nodes': {'a': " COUNTER
     "}, 'conditions': {'termination': {'environment_state_update': {'type': 'Any', 'kwargs': {'dependencies': "
     "[{'type': 'AfterNPasses', 'kwargs': {'n': 3}}, {'type': 'AtEnvironmentSequenceStart'}, " THRESHOLD("a", "k",
                                                                                                         ">=", "7") "]}}}}",
     NULL, 5, "o null / o 3 / o 6 / o 7 / o 7 "},
    /* It is over where no node has run in the pass: so it is when a pass has begun, though it was not before. The pass is over
       then. */
    {"'nodes': {'a': " COUNTER
     "}, 'conditions': {'termination': {'environment_state_update': {'type': 'Any', 'kwargs': {'dependencies': "
     "[{'type': 'AfterNPasses', 'kwargs': {'n': 4}}, {'type': 'All', 'kwargs': {'dependencies': [{'type': 'EveryNPasses', "
     "'kwargs': "
     "{'n': 3, 'time_scale': 'TimeScale.LIFE'}}, {'type': 'AtNCalls', 'kwargs': {'dependency': 'a', 'n': 0, 'time_scale': "
     "'TimeScale.PASS'}}, " THRESHOLD("a", "k", ">", "0") "]}}]}}}}",
     NULL, 4, "o 3 / o 6 / o 9 / o 9 "},
};

Test(kept_values, what_runs_where_an_evaluation_or_a_pass_is_over_at_once)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        expect(&idle[i]);
    }
}

Test(kept_values, an_input_port_is_spent_by_a_run)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        expect(&inputs[i]);
    }
}

static const struct kept_case previous[] = {
    /* So do a function, and a parameter before it, that are nothing but its value. */
    {"'nodes': {'n': {'input_ports': {'i': {}}, 'parameters': {'r': {'value': 'p'}, 'p': {'value': 'i', 'default_initial_value': "
     "1.5}, 's': {'value': 's + p', 'default_initial_value': 0}}, 'functions': {'f': {'value': 'p'}}, 'output_ports': {'o': "
     "{'value': 'f'}, 'q': {'value': 'r'}, 't': {'value': 's'}}}, 'm': " COUNTER
     "}, 'edges': {'1': " EDGE("m", "o", "n", "i") "}",
     NULL, 4, "o 1.5 q 1.5 t 1 o 1 / o 1 q 1 t 3 o 2 / o 2 q 2 t 6 o 3 / o 3 q 3 t 10 o 4 "},
    /* A condition of a parameter sees, under the parameter's own name, what it was before. */
    {"'nodes': {'n': {'parameters': {'k': {'value': '3', 'conditions': [{'id': 'c', 'test': 'k > 2', 'value': '7'}]}, 'j': "
     "{'value': 'j + 1', 'default_initial_value': 0, 'conditions': [{'id': 'c', 'test': 'j > 1', 'value': 'j - 10'}]}, 'v': "
     "{'default_initial_value': 4, 'time_derivative': '1.0', 'conditions': [{'id': 'c', 'test': 'v > 1', 'value': 'v / 2'}]}}, "
     "'output_ports': {'o': {'value': 'k'}, 'p': {'value': 'j'}, 'q': {'value': 'v'}}}}",
     NULL, 3, "o 7 p 1 q 2.0 / o 7 p 2 q 1.0 / o 7 p -8 q 4.0 "},
};

Test(kept_values, a_parameter_before_its_turn_is_what_it_was)
{
    for (size_t i = 0; i < sizeof previous / sizeof *previous; i++) {
        expect(&previous[i]);
    }
}
