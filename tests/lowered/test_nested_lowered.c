/* test_nested_lowered.c - graphs within nodes as a part of the one program that an evaluation is lowered to: the same bits as node
 * by node, whatever is in them. Models are written with single quotes. */
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "mdf_c/run/state.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_STEPS = 40, TEXT_SIZE = 1 << 14 };

#define MODEL(graphs) "{'m': {'graphs': {" graphs "}}}"
#define COUNTS "'parameters': {'p': {'value': 'p + 0.5', 'default_initial_value': 1.0}}, 'output_ports': {'o': {'value': 'p'}}"
#define TAKES(more) "'input_ports': {'x': {" more "}}, "
#define KEEPS "'parameters': {'s': {'value': 's + x * 0.25', 'default_initial_value': 0.5}}, 'output_ports': {'o': {'value': 's'}}"
#define EDGE(name, from, to) "'" name "': {'sender': '" from "', 'sender_port': 'o', 'receiver': '" to "', 'receiver_port': 'x'}"

/* A graph `inner` in the node `n`, between the nodes `a` and `z`. */
#define BETWEEN(inner) \
    MODEL("'g': {'nodes': {'a': {" COUNTS "}, 'n': {" TAKES("'default_value': 1.0") "'graph': " inner ", 'output_ports': {'o': {'value': 'v.o'}}}, " \
          "'z': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("e", "a", "n") ", " EDGE("f", "n", "z") "}}")

static const char *const models[] = {
    /* states within, nothing from outside */
    MODEL("'g': {'nodes': {'n': {'graph': {'nodes': {'a': {" COUNTS "}}}, 'output_ports': {'o': {'value': 'a.o'}}}}}"),
    /* edges in, out, and within; of a node to itself */
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("i", "u", "v") "}}"),
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'reduce': 'add'") KEEPS "}}, 'edges': {" EDGE("i", "u", "v") ", "
            EDGE("j", "v", "v") "}}"),
    /* conditions within: of calls, of a value, of passes */
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("i", "u", "v")
            "}, 'conditions': {'node_specific': {'v': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'u', 'n': 3}}}}}"),
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("i", "u", "v")
            "}, 'conditions': {'node_specific': {'u': {'type': 'AtPass', 'kwargs': {'n': 1}}, 'v': {'type': 'AfterPass', 'kwargs': {'n': 1}}}, 'termination': {'environment_state_update': "
            "{'type': 'AfterNCalls', 'kwargs': {'dependency': 'v', 'n': 4}}}}}"),
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("i", "u", "v")
            "}, 'conditions': {'node_specific': {'u': {'type': 'AfterNEnvironmentStateUpdates', 'kwargs': {'n': 5}}, 'v': {'type': 'Always', 'kwargs': {}}}, 'termination': "
            "{'environment_state_update': {'type': 'AfterPass', 'kwargs': {'n': 2}}}}}"),
    /* conditions around, and both; the graph runs in some of the evaluations */
    MODEL("'g': {'nodes': {'a': {" COUNTS "}, 'n': {" TAKES("'default_value': 1.0") "'graph': 'inner', 'output_ports': {'o': {'value': 'v.o'}}}}, 'edges': {"
          EDGE("e", "a", "n") "}, 'conditions': {'node_specific': {'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'a', 'n': 2}}}}}, "
          "'inner': {'nodes': {'v': {" TAKES("'default_value': 1.0") KEEPS "}}}"),
    MODEL("'g': {'nodes': {'a': {" COUNTS "}, 'n': {" TAKES("'default_value': 1.0") "'graph': 'inner', 'output_ports': {'o': {'value': 'v.o'}}}}, 'edges': {"
          EDGE("e", "a", "n") "}, 'conditions': {'node_specific': {'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'a', 'n': 2}}}}}, "
          "'inner': {'nodes': {'u': {" COUNTS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'conditions': {'node_specific': {'v': {'type': "
          "'EveryNCalls', 'kwargs': {'dependency': 'u', 'n': 3}}}}}"),
    /* the same graph in two nodes, with states of their own; and one within another */
    MODEL("'g': {'nodes': {'a': {" COUNTS "}, 'n': {" TAKES("'default_value': 1.0") "'graph': 'inner', 'output_ports': {'o': {'value': 'v.o'}}}, 'z': {"
          TAKES("'default_value': 1.0") "'graph': 'inner', 'output_ports': {'o': {'value': 'v.o * 2'}}}}, 'edges': {" EDGE("e", "a", "n") ", "
          EDGE("f", "n", "z") "}}, 'inner': {'nodes': {'v': {" TAKES("'default_value': 1.0") KEEPS "}}}"),
    BETWEEN("{'nodes': {'u': {" TAKES("'default_value': 1.0") "'graph': {'nodes': {'w': {" TAKES("'default_value': 1.0") KEEPS "}, 'y': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {"
            EDGE("k", "w", "y") "}, 'conditions': {'node_specific': {'y': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'w', 'n': 2}}}}}, "
            "'output_ports': {'o': {'value': 'y.o + w.o'}}}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {" EDGE("i", "u", "v") "}}"),
    /* values of the node around, which are wired */
    MODEL("'g': {'nodes': {'n': {'parameters': {'x': {'value': 'x * 0.5 + 1', 'default_initial_value': 3.0}}, 'graph': {'nodes': {'v': {"
          TAKES("'default_value': 1.0") KEEPS "}}}, 'output_ports': {'o': {'value': 'v.o + x'}}}}}"),
};

/* The state's text of a result has to be the same in both. */
static void expect_same(const struct engine *a, const struct engine *b, const char *model, int step)
{
    for (size_t i = 0; i < mdf_program_n_results(a->program); i++) {
        cr_assert(mdf_value_equal(mdf_result_at(a->state, i), mdf_result_at(b->state, i)), "%s: step %d", model, step);
    }
}

static const char *with_quotes(const char *text)
{
    static char changed[TEXT_SIZE];
    size_t i;

    for (i = 0; text[i] != '\0' && i + 1 < sizeof changed; i++) {
        changed[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    changed[i] = '\0';
    return changed;
}

static void evaluate(struct engine *engine, int step)
{
    cr_assert_eq(mdf_evaluate(engine->state, step == 0 ? (double)NAN : 0.1, &engine->error), MDF_OK, "%s", engine->error.message);
}

static bool is_lowered(const struct engine *engine)
{
    char text[TEXT_SIZE];

    mdf_explain(engine->state, text, sizeof text);
    return strncmp(text, "graph 'g': lowered", 18) == 0 && strstr(text, "with the graph around\n") != NULL &&
           strstr(text, "node by node") == NULL;
}

Test(nested_lowered, same_bits_as_node_by_node)
{
    const mdf_options plain = {.plain = true};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct engine one, other;

        cr_assert(engine_begin(&one, with_quotes(models[i]), NULL), "%s: %s", models[i], one.error.message);
        cr_assert(engine_begin(&other, with_quotes(models[i]), &plain));
        for (int step = 0; step < N_STEPS; step++) {
            evaluate(&one, step);
            evaluate(&other, step);
            expect_same(&one, &other, models[i], step);
        }
        cr_expect(is_lowered(&one), "%s", models[i]);
        engine_end(&one);
        engine_end(&other);
    }
}

/* Many in a row, of which the counts within are needed by what follows node by node. */
Test(nested_lowered, counts_go_back_to_the_schedulers)
{
    const mdf_options plain = {.plain = true};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct engine one, other;
        uint64_t n_done, n_recorded;

        cr_assert(engine_begin(&one, with_quotes(models[i]), NULL));
        cr_assert(engine_begin(&other, with_quotes(models[i]), &plain));
        for (int round = 0; round < 3; round++) {
            cr_assert_eq(mdf_evaluate_steps(one.state, 17, round == 0 ? (double)NAN : 0.1, 0.1, 0, NULL, 0, &n_done, &n_recorded, &one.error), MDF_OK);
            for (int step = 0; step < 17; step++) {
                evaluate(&other, round + step);
            }
            expect_same(&one, &other, models[i], 17 * round);
            one.state->shared->is_short = round == 0; /* the next ones node by node */
        }
        engine_end(&one);
        engine_end(&other);
    }
}

Test(nested_lowered, a_copied_and_a_reset_state_go_on)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct engine one, other;

        cr_assert(engine_begin(&one, with_quotes(models[i]), NULL));
        other = one;
        other.state = mdf_state_new(one.program, &one.error);
        cr_assert_not_null(other.state);
        for (int step = 0; step < 11; step++) {
            evaluate(&one, step);
        }
        cr_assert_eq(mdf_state_copy(other.state, one.state, &other.error), MDF_OK);
        for (int step = 11; step < 20; step++) {
            evaluate(&one, step);
            evaluate(&other, step);
            expect_same(&one, &other, models[i], step);
        }
        cr_assert_eq(mdf_state_reset(one.state, 0, &one.error), MDF_OK);
        cr_assert_eq(mdf_state_reset(other.state, 0, &other.error), MDF_OK);
        for (int step = 0; step < 9; step++) {
            evaluate(&one, step);
            evaluate(&other, step);
            expect_same(&one, &other, models[i], step);
        }
        mdf_state_free(other.state);
        engine_end(&one);
    }
}

/* A value for the node's port in some of the evaluations: what the graph within has then, and else its default. */
Test(nested_lowered, inputs_that_come_and_go)
{
    static const char *const given[] = {
        MODEL("'g': {'nodes': {'n': {" TAKES("'default_value': 2.0") "'graph': {'nodes': {'v': {" TAKES("'default_value': 7.0") KEEPS
              "}}}, 'output_ports': {'o': {'value': 'v.o + x'}}}}}"),
        MODEL("'g': {'nodes': {'n': {" TAKES("'default_value': 1.0") "'graph': {'nodes': {'u': {" COUNTS "}, 'v': {" TAKES("'default_value': 7.0") KEEPS
              "}}, 'conditions': {'node_specific': {'v': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'u', 'n': 2}}}}}, "
              "'output_ports': {'o': {'value': 'v.o'}}}}}")};
    const mdf_options plain = {.plain = true};

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        for (unsigned pattern = 0; pattern < 64; pattern++) {
            struct engine one, other;

            cr_assert(engine_begin(&one, with_quotes(given[i]), NULL), "%s", one.error.message);
            cr_assert(engine_begin(&other, with_quotes(given[i]), &plain));
            for (int step = 0; step < N_STEPS; step++) {
                if ((pattern >> (step / 4 % 6) & 1) != 0) {
                    cr_assert_eq(mdf_set_input_json(one.state, "n.x", "0.75", &one.error), MDF_OK);
                    cr_assert_eq(mdf_set_input_json(other.state, "n.x", "0.75", &other.error), MDF_OK);
                }
                evaluate(&one, step);
                evaluate(&other, step);
                expect_same(&one, &other, given[i], step);
            }
            engine_end(&one);
            engine_end(&other);
        }
    }
}

/* The same for evaluations in a row, of which the first has another input than those before. */
Test(nested_lowered, inputs_that_come_before_many_in_a_row)
{
    static const char *const given[] = {
        MODEL("'g': {'nodes': {'n': {" TAKES("'default_value': 2.0") "'graph': {'nodes': {'v': {" TAKES("'default_value': 7.0") KEEPS
              "}}}, 'output_ports': {'o': {'value': 'v.o + x'}}}}}"),
        MODEL("'g': {'nodes': {'n': {" TAKES("'default_value': 1.0") "'graph': {'nodes': {'u': {" COUNTS "}, 'v': {"
              TAKES("'default_value': 7.0") KEEPS "}}, 'conditions': {'node_specific': {'v': {'type': 'Always', 'kwargs': {}}}, "
              "'termination': {'environment_state_update': {'type': 'AfterNPasses', 'kwargs': {'n': 2}}}}}, 'output_ports': {'o': {'value': 'v.o'}}}}}")};
    const mdf_options plain = {.plain = true};

    for (size_t i = 0; i < 2 * (sizeof given / sizeof *given); i++) {
        const char *model = given[i / 2];
        struct engine engines[2];

        for (int side = 0; side < 2; side++) {
            struct engine *engine = &engines[side];
            uint64_t n_done, n_recorded;

            cr_assert(engine_begin(engine, with_quotes(model), side == 0 ? NULL : &plain));
            for (int step = 0; step < 6; step++) {
                if (i % 2 == 1) {
                    cr_assert_eq(mdf_set_input_json(engine->state, "n.x", "0.75", &engine->error), MDF_OK);
                }
                evaluate(engine, step);
            }
            if (i % 2 == 0) {
                cr_assert_eq(mdf_set_input_json(engine->state, "n.x", "0.25", &engine->error), MDF_OK);
            }
            cr_assert_eq(mdf_evaluate_steps(engine->state, 50, 0.1, 0.1, 0, NULL, 0, &n_done, &n_recorded, &engine->error), MDF_OK);
        }
        expect_same(&engines[0], &engines[1], model, (int)i);
        engine_end(&engines[0]);
        engine_end(&engines[1]);
    }
}

/* ------------------------------------------------------------------ sweeps */

#define SWEPT "'parameters': {'k': {'value': 0.5}, 'p': {'value': 'p + k', 'default_initial_value': 1.0}}, 'output_ports': {'o': {'value': 'p'}}"
#define SWEEP(inner, conditions)                                                                                                  \
    MODEL("'g': {'nodes': {'a': {" SWEPT "}, 'n': {" TAKES("'default_value': 1.0") "'graph': " inner ", 'output_ports': {'o': " \
          "{'value': 'v.o'}}}}, 'edges': {" EDGE("e", "a", "n") "}" conditions "}")

enum { N_INSTANCES = 37, N_SWEPT_STEPS = 60 };

/* The last value of the node with the graph, of each instance. */
static void sweep(const char *model, size_t n_lanes, double *results, char *text)
{
    static const char *const names[] = {"a.k"};
    static const int64_t shape[] = {N_INSTANCES};
    double values[N_INSTANCES];
    const mdf_sweep_values swept = {"a.k", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, shape, values}};
    const mdf_record record = {.node = 1, .output = 0, .dtype = MDF_DTYPE_NONE};
    mdf_sweep_options options = {.n_instances = N_INSTANCES, .parameters = &swept, .n_parameters = 1, .records = &record, .n_records = 1,
                                 .n_steps = N_SWEPT_STEPS, .dt = 0.1, .n_threads = 1, .n_lanes = n_lanes};
    void *arrays[] = {results};
    const char *json = with_quotes(model);
    mdf_error error = {0};
    mdf_model *read = mdf_model_load_bytes(json, strlen(json), "json", "model.json", NULL, &error);
    mdf_program *program = read != NULL ? mdf_compile_changeable(read, names, 1, NULL, &error) : NULL;
    mdf_sweep *made;

    for (int i = 0; i < N_INSTANCES; i++) {
        values[i] = 0.125 * i + 0.25;
    }
    made = program != NULL ? mdf_sweep_new(program, &options, &error) : NULL;
    cr_assert(made != NULL && mdf_sweep_run(made, arrays, &error) == MDF_OK, "%s: %s", model, error.message);
    mdf_explain_sweep(made, text, TEXT_SIZE);
    mdf_sweep_free(made);
    mdf_program_free(program);
    mdf_model_free(read);
}

Test(nested_lowered, instances_side_by_side)
{
    static const char *const swept[] = {
        SWEEP("{'nodes': {'v': {" TAKES("'default_value': 1.0") KEEPS "}}}", ""),
        SWEEP("{'nodes': {'u': {" COUNTS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS
              "}}, 'conditions': {'node_specific': {'v': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'u', 'n': 3}}}}}", ""),
        SWEEP("{'nodes': {'u': {" TAKES("'default_value': 1.0") KEEPS "}, 'v': {" TAKES("'default_value': 1.0") KEEPS "}}, 'edges': {"
              EDGE("i", "u", "v") "}, 'conditions': {'node_specific': {'v': {'type': 'Threshold', 'kwargs': {'dependency': 'u', 'parameter': "
              "'s', 'threshold': 1.0, 'comparator': '>='}}}}}",
              ", 'conditions': {'node_specific': {'n': {'type': 'EveryNCalls', 'kwargs': {'dependency': 'a', 'n': 2}}}}")};

    for (size_t i = 0; i < sizeof swept / sizeof *swept; i++) {
        double together[N_INSTANCES], alone[N_INSTANCES];
        char text[TEXT_SIZE];

        sweep(swept[i], 1, alone, text);
        sweep(swept[i], 8, together, text);
        cr_expect(strstr(text, "8 instances side by side") != NULL, "%s: %s", swept[i], text);
        cr_expect_eq(memcmp(together, alone, sizeof alone), 0, "%s", swept[i]);
    }
}
