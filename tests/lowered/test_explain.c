/* test_explain.c - what mdf_explain tells: which way the graph, nodes and bodies ran, why not a faster one, what can be done. */
#include "mdf_c/base/processor.h"
#include "mdf_c/lower/refusal.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14 };

/* After so many evaluations; NULL where the model does not run. */
static const char *explain(const char *model, const mdf_options *options, const char *input, int n)
{
    static char text[TEXT_SIZE];
    struct engine engine;
    size_t length;

    cr_assert(engine_begin(&engine, model, options), "%s: %s", model, engine.error.message);
    for (int i = 0; i < n; i++) {
        if (input != NULL) {
            cr_assert_eq(mdf_set_input_json(engine.state, "x", input, &engine.error), MDF_OK);
        }
        cr_assert_eq(mdf_evaluate(engine.state, i == 0 ? (double)NAN : 0.1, &engine.error), MDF_OK, "%s: %s", model,
                     engine.error.message);
    }
    length = mdf_explain(engine.state, text, sizeof text);
    cr_expect_eq(length, strlen(text));
    engine_end(&engine);
    return text;
}

/* The text is what is expected, `value` standing where it has a "@". */
static void expect(const char *text, const char *format, const char *value)
{
    char expected[TEXT_SIZE];
    const char *at = strchr(format, '@');

    snprintf(expected, sizeof expected, "%.*s%s%s", at != NULL ? (int)(at - format) : (int)strlen(format), format,
             at != NULL ? value : "", at != NULL ? at + 1 : "");
    cr_expect_str_eq(text, expected, "%s", text);
}

/* What is lowered is machine code where the processor is one for it; then the line ends here. */
static const char *way(void)
{
#if defined(__x86_64__) && (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)
    return mdf_has_avx2() ? "lowered, machine code\n" : "lowered, without machine code\n  because this processor has no AVX2\n";
#else
    return "lowered, without machine code\n  because there is none for this kind of processor or system\n";
#endif
}

#define MODEL(nodes) "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {" nodes "}}}}}"
#define NODE(parts) "\"n\": {\"input_ports\": {\"x\": {\"default_value\": 2}}, " parts "}"
#define VALUE(value) MODEL(NODE("\"output_ports\": {\"o\": {\"value\": \"" value "\"}}"))
#define FUNCTION(name, arguments)                                                                                           \
    MODEL(NODE("\"parameters\": {\"p\": {\"function\": \"onnx::" name "\", \"args\": {" arguments "}}}, \"output_ports\": " \
               "{\"o\": {\"value\": \"p\"}}"))

Test(explain, a_graph_as_a_whole)
{
    static const char model[] = VALUE("x * 2 + 1");
    const mdf_options plain = {.plain = true};

    expect(explain(model, NULL, NULL, 0), "it has not been evaluated\n", "");
    expect(explain(model, NULL, NULL, 3), "graph 'g': @  node 'n': with the graph\n", way());
    expect(explain(model, NULL, NULL, 2),
           "graph 'g': node by node\n"
           "  because of types and shapes that are not stable: it is lowered when it runs for the third time\n"
           "  cure: evaluate more often (-n)\n"
           "  node 'n': step by step: operator.mul, operator.add\n"
           "    because of types and shapes that are not stable: it is lowered when it runs for the third time\n"
           "    cure: evaluate more often (-n)\n",
           "");
    expect(explain(model, &plain, NULL, 3),
           "graph 'g': node by node\n  because of --plain (mdf_options.plain)\n  cure: leave it out\n"
           "  node 'n': step by step: operator.mul, operator.add\n    because of --plain (mdf_options.plain)\n    cure: leave it "
           "out\n",
           "");
}

/* A model, and a piece of what is told. */
Test(explain, reasons)
{
    static const struct {
        const char *model, *piece;
    } cases[] = {
        {VALUE("sorted([x, x, x, x, x, x, x, x, x, x, x, x, 1.5])"),
         "because of a value that is a list, an object, text or nothing (a list of 13), at sorted"},
        {VALUE("[k + x for k in range(40)]"),
         "because of a list that is made in each evaluation, in node 'n', output port 'o' (line 1)"},
        {VALUE("x + numpy.random.rand()"), "graph 'g': lowered"},
        {VALUE("'a' if x > 5 else 'b'"), "because of a value"},
        {MODEL(NODE(
             "\"parameters\": {\"p\": {\"value\": \"p + (1 if p < 2 else 0 if p < 3 else 0.5)\", \"default_initial_value\": 0}}, "
             "\"output_ports\": {\"o\": {\"value\": \"p\"}}")),
         "cure: let all sides of a condition, or all values of min and max, be of the same type: 0.0, not 0, beside a real "
         "number"},
        {FUNCTION("Expand", "\"input\": \"x\", \"shape\": [2, 1, 1, 1, 1, 1, 1, 1, 2]"),
         "because of an array of more than eight axes (int64[2,1,1,1,1,1,1,1,2])"},
        {FUNCTION("Identity", "\"input\": \"numpy.zeros((70000,)) + x\""),
         "because of arrays of more than 65,536 elements in all: its nodes are lowered one by one"},
        {FUNCTION("CumSum", "\"x\": [1.0, 2.0], \"axis\": \"x * 0\""), "graph 'g': lowered"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = explain(cases[i].model, NULL, NULL, 6);

        cr_expect(strstr(text, cases[i].piece) != NULL, "%s: %s", cases[i].model, text);
    }
}

static void evaluate_with(struct engine *engine, const char *input, int n)
{
    for (int i = 0; i < n; i++) {
        cr_assert_eq(mdf_set_input_json(engine->state, "x", input, &engine->error), MDF_OK);
        cr_assert_eq(mdf_evaluate(engine->state, NAN, &engine->error), MDF_OK, "%s", engine->error.message);
    }
}

/* What is given arrays of other lengths again and again runs step by step, and is lowered anew once they stay as they are; where
 * each length stays for long, it is lowered for every one. The second graph is too large to be lowered as a whole. */
Test(explain, lengths_that_stay)
{
    static const char *const models[] = {VALUE("x * 2 + 1"), VALUE("(x + numpy.zeros((40000, 1)))[0] * x")};
    static const char *const inputs[] = {"[1, 2]", "[1, 2, 3]", "[3]", "[1, 2, 3, 4]", "[4, 2]"};
    enum { N_INPUTS = sizeof inputs / sizeof *inputs };

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[TEXT_SIZE];
        struct engine engine;

        cr_assert(engine_begin(&engine, models[i], NULL), "%s", engine.error.message);
        for (int j = 0; j < 2 * N_INPUTS; j++) {
            evaluate_with(&engine, inputs[j % N_INPUTS], 3);
        }
        mdf_explain(engine.state, text, sizeof text);
        cr_expect_not_null(strstr(text, "keep changing"), "%s", text);
        evaluate_with(&engine, "[5, 6, 7]", 150);
        mdf_explain(engine.state, text, sizeof text);
        cr_expect(strstr(text, "keep changing") == NULL && strstr(text, ": lowered") != NULL, "%s", text);
        for (int j = 0; j < 2 * N_INPUTS; j++) {
            evaluate_with(&engine, inputs[j % N_INPUTS], 80);
            mdf_explain(engine.state, text, sizeof text);
            cr_expect(strstr(text, "keep changing") == NULL && strstr(text, ": lowered") != NULL, "%d: %s", j, text);
        }
        engine_end(&engine);
    }
}

#define LOOP(body, initial)                                                                                                     \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {" NODE(                                          \
        "\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 7, \"v_initial\": \"" initial                 \
        "\", \"body\": \"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}") "}}, \"b\": {\"metadata\": {\"inputs\": "      \
                                                                                 "[\"i\", \"c\", \"s\"], \"outputs\": [\"c\", " \
                                                                                 "\"t\"]}, \"nodes\": {\"b\": "                 \
                                                                                 "{\"input_ports\": {\"i\": {}, \"c\": {}, "    \
                                                                                 "\"s\": "                                      \
                                                                                 "{}}, \"output_ports\": {\"t\": {\"value\": "  \
                                                                                 "\"" body "\"}}}}}}}}"

/* A whole number that becomes real in the first run is lowered; an array that grows is not, and it is said which. */
/* Folds of all kinds stand in nests where there are vectors: among them a sum in pairs with a rest, and extremes of which the
 * first NaN stays. */
Test(explain, folds_are_no_kernels)
{
    static const char *const folds[] = {"numpy.max(x)",      "numpy.min(x)",  "numpy.sum(x)",
                                        "numpy.mean(x * x)", "numpy.prod(x)", "numpy.any(x > 1)",
                                        "numpy.all(x < 9)",  "numpy.any(x)",  "numpy.argmax(x)"};
    size_t i;

    for (i = 0; i < sizeof folds / sizeof *folds; i++) {
        char model[TEXT_SIZE];
        const char *text;

        snprintf(model, sizeof model,
                 MODEL("\"n\": {\"input_ports\": {\"x\": {\"default_value\": [0.5, 1, 2, 3, 4, 5, 6, 7, 8.5]}}, "
                       "\"output_ports\": {\"o\": {\"value\": \"%s\"}}}"),
                 folds[i]);
        text = explain(model, NULL, NULL, 3);
        cr_expect(!mdf_has_avx2() || (strstr(text, "lowered") != NULL && strstr(text, "kernels") == NULL), "%s: %s", folds[i],
                  text);
    }
}

Test(explain, numbers_of_float32_are_no_kernels)
{
    static const mdf_options options = {.float32 = true};
    static const char model[] = MODEL(NODE("\"parameters\": {\"p\": {\"default_initial_value\": 0.5, \"value\": "
                                           "\"abs(p) + 0.1 * x if p < 3 else math.exp(-p) / (p + 1)\"}}, "
                                           "\"output_ports\": {\"o\": {\"value\": \"p\"}}"));

    cr_expect(strstr(explain(model, &options, "0.25", 5), "calls kernels") == NULL);
}

Test(explain, loops)
{
    const char *text = explain(LOOP("s * 0.5", "[x]"), NULL, "7", 3);

    expect(text, "graph 'g': @  node 'n': with the graph\n    Loop (node 'n', parameter 'l'): with what is around it\n", way());
    text = explain(LOOP("numpy.expand_dims(s, 0)", "[x]"), NULL, "7", 3);
    cr_expect(strstr(text, "    Loop (node 'n', parameter 'l'): its bodies step by step\n"
                           "      because of a state whose type or shape changes from one run of the body to the next ("
                           "int64[1,1,1], then int64[1,1,1,1]), at Loop, in node 'n', parameter 'l' (line 1)\n") != NULL,
              "%s", text);
    text = explain(LOOP("s * 0.5", "[x]"), NULL, "7", 1);
    cr_expect(strstr(text, "    Loop (node 'n', parameter 'l'): lowered") != NULL, "%s", text);
}

#define GROWING(parameters)                                                                                                     \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {" NODE(                                          \
        "\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 7, \"v_initial\": [[[0.5, 1.5]]], \"body\": " \
        "\"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}") "}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", "     \
                                                                   "\"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": "          \
                                                                   "{\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": "   \
                                                                   "{}}, \"parameters\": {\"w\": {\"value\": [[2.5, 3.5]]}, "   \
                                                                   "" parameters "}, \"output_ports\": {\"t\": {\"value\": "    \
                                                                   "\"k\"}}}}}}}}"
#define CONCAT(operands, axis) "\"k\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": " operands ", \"axis\": " axis "}}"

#define PASS_ON "{\"metadata\": {\"outputs\": [\"s\"]}, \"nodes\": {}}"
#define GO_THROUGH(operator, arguments, inputs, outputs)                                                                    \
    "\"f\": {\"function\": \"onnx::" operator"\", \"args\": {" arguments ", \"body\": {\"metadata\": {\"inputs\": [" inputs \
                                             "], \"outputs\": [" outputs "]}, \"nodes\": {}}}}, "

/* A state that only grows is lowered as a stack, along any axis behind axes of length 1, also where it is looked at, or passed on
 * as it is; not where another loop begins with it or goes through it. */
Test(explain, growing_states)
{
    static const struct {
        const char *model;
        bool is_lowered;
    } cases[] = {{GROWING(CONCAT("[\"s\", \"w\"]", "0")), true},
                 {GROWING(CONCAT("[\"s\", \"w\"]", "-1")), true},
                 {GROWING(CONCAT("[\"w\", \"s\"]", "0")), true},
                 {GROWING("\"v\": {\"value\": \"w + numpy.sum(s)\"}, " CONCAT("[\"s\", \"v\"]", "0")), true},
                 {GROWING("\"f\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"i < 3\", \"then_branch\": " PASS_ON
                          ", \"else_branch\": " PASS_ON "}}, " CONCAT("[\"s\", \"w\"]", "0")),
                  true},
                 {GROWING(GO_THROUGH("Loop", "\"M\": 2, \"v_initial\": [\"s\"]", "\"j\", \"d\", \"p\"", "\"d\", \"p\"")
                              CONCAT("[\"s\", \"w\"]", "0")),
                  false},
                 {GROWING(GO_THROUGH("Scan", "\"initial_state_and_scan_inputs\": [\"s\"], \"num_scan_inputs\": 1", "\"p\"",
                                     "\"p\"") CONCAT("[\"s\", \"w\"]", "0")),
                  false}};
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = explain(cases[i].model, NULL, "7", 3);

        cr_expect_eq(strstr(text, "step by step") == NULL, cases[i].is_lowered, "%s: %s", cases[i].model, text);
        cr_expect_null(strstr(text, "mistake in the engine"), "%s: %s", cases[i].model, text);
    }
}

/* What a state that grows was before a run becomes another state: there is no such value once it is a stack, so the loop is not
 * lowered, whose forms do not change as it never runs. */
Test(explain, growing_state_that_another_takes)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"y\": {\"value\": "
        "[3]}, "
        "\"x\": {\"value\": [[1, 2], [3, 4]], \"metadata\": {\"type\": \"float64\"}}, \"r\": {\"function\": "
        "\"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": [\"y\", \"y\"], \"num_scan_inputs\": 1, \"body\": "
        "\"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"r\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"p\", \"q\"], "
        "\"outputs\": [\"t\"]}, \"nodes\": {\"k\": {\"input_ports\": {\"p\": {}, \"q\": {}}, \"parameters\": {\"l\": "
        "{\"function\": \"onnx::Loop\", \"args\": {\"M\": \"p - 3\", \"cond\": true, \"v_initial\": [\"x\", \"x\"], \"body\": "
        "\"c\"}}, "
        "\"z\": {\"value\": \"numpy.size(l[1]) * p\"}}, \"output_ports\": {\"t\": {\"value\": \"z\"}}}}}, \"c\": {\"metadata\": "
        "{\"inputs\": [\"i\", \"d\", \"s\", \"u\"], \"outputs\": [\"d\", \"u\", \"w\"]}, \"nodes\": {\"k\": {\"input_ports\": "
        "{\"i\": {}, \"d\": {}, \"s\": {}, \"u\": {}}, \"parameters\": {\"e\": {\"value\": [[5, 6]], \"metadata\": {\"type\": "
        "\"float64\"}}, \"v\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": [\"u\", \"e\"], \"axis\": 0}}}, "
        "\"output_ports\": {\"w\": {\"value\": \"v\"}}}}}}}}";
    const char *text = explain(model, NULL, NULL, 3);

    cr_expect_null(strstr(text, "mistake in the engine"), "%s", text);
    cr_expect(strstr(text, "because of a state whose type or shape changes") != NULL, "%s", text);
}

/* What an inner loop stacks, of a number of runs that is not known, becomes a state of another size: it is copied step by step.
 */
Test(explain, state_that_becomes_what_an_inner_loop_stacks)
{
    static const char model[] =
        "{\"g\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"metadata\": {\"outputs\": [{\"name\": \"y\", "
        "\"type\": \"int64\"}]}, \"parameters\": {\"c\": {\"value\": true, \"metadata\": {\"type\": \"bool\", \"shape\": []}}, "
        "\"k\": {\"value\": [2], \"metadata\": {\"type\": \"int64\", \"shape\": [1]}}}, \"nodes\": {\"Loop_1\": "
        "{\"input_ports\": {\"x\": {\"default_value\": [4, 1, 1], \"type\": \"int64\", \"shape\": [3]}}, \"parameters\": "
        "{\"Loop\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"k\", \"cond\": \"c\", \"v_initial\": [\"x\"], \"body\": "
        "{\"id\": \"b\", \"metadata\": {\"inputs\": [{\"name\": \"i\", \"type\": \"int64\", \"shape\": []}, {\"name\": \"d\", "
        "\"type\": \"bool\", \"shape\": []}, {\"name\": \"s\", \"type\": \"int64\"}], \"outputs\": [{\"name\": \"u\", "
        "\"type\": \"bool\", \"shape\": []}, {\"name\": \"t\", \"type\": \"int64\", \"shape\": [0]}, {\"name\": \"n\", "
        "\"type\": \"int64\", \"shape\": [1]}]}, \"parameters\": {\"n\": {\"value\": [0], \"metadata\": {\"type\": \"int64\", "
        "\"shape\": [1]}}, \"w\": {\"value\": true, \"metadata\": {\"type\": \"bool\", \"shape\": []}}, \"v\": {\"value\": 2, "
        "\"metadata\": {\"type\": \"int64\", \"shape\": []}}}, \"nodes\": {\"Loop_2\": {\"input_ports\": {\"i\": {}}, "
        "\"parameters\": {\"Loop\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"n\", \"cond\": \"w\", \"v_initial\": "
        "[], \"body\": {\"id\": \"a\", \"metadata\": {\"inputs\": [{\"name\": \"j\", \"type\": \"int64\", \"shape\": []}, "
        "{\"name\": \"e\", \"type\": \"bool\", \"shape\": []}], \"outputs\": [{\"name\": \"f\", \"type\": \"bool\", \"shape\": "
        "[]}, {\"name\": \"i\", \"type\": \"int64\", \"shape\": []}]}, \"parameters\": {\"o\": {\"value\": 2, \"metadata\": "
        "{\"type\": \"int64\", \"shape\": []}}}, \"nodes\": {\"Less_1\": {\"input_ports\": {\"j\": {}}, \"parameters\": "
        "{\"Less\": {\"function\": \"onnx::Less\", \"args\": {\"A\": \"j\", \"B\": \"o\"}}}, \"output_ports\": {\"f\": "
        "{\"value\": \"Less\"}}}}}}}}, \"output_ports\": {\"t\": {\"value\": \"Loop\"}}}, \"Less_2\": {\"input_ports\": "
        "{\"i\": {}}, \"parameters\": {\"Less\": {\"function\": \"onnx::Less\", \"args\": {\"A\": \"i\", \"B\": \"v\"}}}, "
        "\"output_ports\": {\"u\": {\"value\": \"Less\"}}}}}}}}, \"output_ports\": {\"y\": {\"value\": \"Loop[0]\"}, \"z\": "
        "{\"value\": \"Loop[1]\"}}}}}}}}";
    const char *text = explain(model, NULL, NULL, 3);

    cr_expect_null(strstr(text, "mistake in the engine"), "%s", text);
    cr_expect(strstr(text, "because of a state whose type or shape changes") != NULL, "%s", text);
}

/* A sequence that a loop makes longer is lowered as the array of its items, and given out as a sequence too. */
Test(explain, growing_sequences)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"q\": "
        "{\"function\": \"onnx::SequenceEmpty\", \"args\": {\"dtype\": 1}}, \"l\": {\"function\": \"onnx::Loop\", \"args\": "
        "{\"M\": 7, \"v_initial\": \"[q]\", \"body\": \"b\"}}, \"a\": {\"function\": \"onnx::ConcatFromSequence\", \"args\": "
        "{\"input_sequence\": \"l\", \"axis\": 0, \"new_axis\": 1}}}, \"output_ports\": {\"l\": {\"value\": \"l\"}, \"a\": "
        "{\"value\": \"a\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, "
        "\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"parameters\": {\"w\": {\"function\": "
        "\"onnx::ConstantOfShape\", \"args\": {\"input\": [2]}}, \"k\": {\"function\": \"onnx::SequenceInsert\", \"args\": "
        "{\"input_sequence\": \"s\", \"tensor\": \"w\"}}}, \"output_ports\": {\"t\": {\"value\": \"k\"}}}}}}}}";
    const char *text = explain(model, NULL, NULL, 3);

    cr_expect_null(strstr(text, "step by step"), "%s", text);
}

/* Sequences of arrays of one form are rows of one array: taken apart, queued, mapped, joined, and looked at. */
Test(explain, sequences)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\"parameters\": {\"x\": {\"value\": [[0.5, 1], [2, 3], [4, 7]], "
        "\"metadata\": "
        "{\"type\": \"float32\"}}, \"s\": {\"function\": \"onnx::SplitToSequence\", \"args\": {\"input\": \"x\", \"axis\": 1, "
        "\"keepdims\": "
        "0}}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"v_initial\": \"[s]\", \"body\": \"b\"}}, \"m\": "
        "{\"function\": "
        "\"onnx::SequenceMap\", \"args\": {\"input_sequence\": \"l\", \"additional_inputs\": [], \"body\": \"c\"}}, \"a\": "
        "{\"function\": "
        "\"onnx::ConcatFromSequence\", \"args\": {\"input_sequence\": \"m\", \"axis\": 1, \"new_axis\": 1}}, \"n\": "
        "{\"function\": "
        "\"onnx::SequenceLength\", \"args\": {\"input_sequence\": \"l\"}}}, \"output_ports\": {\"l\": {\"value\": \"l\"}, \"a\": "
        "{\"value\": "
        "\"a\"}, \"n\": {\"value\": \"n\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", "
        "\"t\"]}, "
        "\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"parameters\": {\"first\": {\"function\": "
        "\"onnx::SequenceAt\", \"args\": {\"input_sequence\": \"s\", \"position\": 0}}, \"at\": {\"function\": "
        "\"onnx::SequenceAt\", "
        "\"args\": {\"input_sequence\": \"s\", \"position\": \"i % 2\"}}, \"rest\": {\"function\": \"onnx::SequenceErase\", "
        "\"args\": "
        "{\"input_sequence\": \"s\", \"position\": 0}}, \"sum\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"first\", "
        "\"B\": \"at\"}}, "
        "\"k\": {\"function\": \"onnx::SequenceInsert\", \"args\": {\"input_sequence\": \"rest\", \"tensor\": \"sum\"}}}, "
        "\"output_ports\": {\"t\": {\"value\": \"k\"}}}}}, \"c\": {\"metadata\": {\"inputs\": [\"x\"], \"outputs\": [\"y\"]}, "
        "\"nodes\": {\"c\": "
        "{\"input_ports\": {\"x\": {}}, \"parameters\": {\"t\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"x\"}}}, "
        "\"output_ports\": {\"y\": {\"value\": \"t\"}}}}}}}}";
    const char *text = explain(model, NULL, NULL, 3);

    cr_expect_null(strstr(text, "step by step"), "%s", text);
}

/* The whole of a model in a file is one form, which calls no kernel. */
static void expect_one_form(const char *path)
{
    static char text[TEXT_SIZE];
    struct engine engine = {0};

    engine.model = mdf_model_load_file(path, &engine.error);
    cr_assert(engine_begin_model(&engine, NULL), "%s", engine.error.message);
    cr_assert_eq(engine_evaluate(&engine, 4), MDF_OK, "%s", engine.error.message);
    mdf_explain(engine.state, text, sizeof text);
    cr_expect((strncmp(text, "graph 'g': lowered", sizeof "graph 'g': lowered" - 1) == 0 &&
               strstr(text, "step by step") == NULL && strstr(text, "calls kernels") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), /* without vectors kernels are as fast as nests */
              "%s", text);
    engine_end(&engine);
}

/* Sequences that change at positions which are computed are rows that move; what is no position is the kernel's error. */
Test(explain, positions_in_sequences)
{
    expect_one_form("tests/data/compile/sequence_positions.yaml");
}

/* What an array is cut by is what is in the way, not its parts. */
Test(explain, cuts_that_are_not_known)
{
    const char *text =
        explain("{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"k\": {\"type\": \"int64\", "
                "\"shape\": [], \"default_value\": 2}}, \"parameters\": {\"s\": {\"function\": "
                "\"onnx::SplitToSequence\", \"args\": {\"input\": \"numpy.array([1.0, k, 2.0, 3.0])\", \"split\": \"k\"}}}, "
                "\"output_ports\": {\"s\": {\"value\": \"s\"}}}}}}}}",
                NULL, NULL, 3);

    cr_expect(strstr(text, "at a place that is not known before") != NULL, "%s", text);
}

/* What may not be there: made by branches, a state of a loop, given from node to node and shown; elements and rows of tables at
 * several indices that are not known before. */
Test(explain, optionals_and_subscripts)
{
    expect_one_form("tests/data/compile/optionals.yaml");
    expect_one_form("tests/data/compile/subscripts.yaml");
}

/* Arrays that are as long as the loop's number says, or as data say once a run has shown that. */
Test(explain, lengths_that_are_not_known)
{
    static const char *const parts[] = {"\"e\": {\"function\": \"onnx::Reshape\", \"args\": {\"data\": \"i + 1\", \"shape\": "
                                        "[1]}}, \"p\": {\"function\": \"onnx::Slice\", "
                                        "\"args\": {\"data\": \"s\", \"starts\": [0], \"ends\": \"e\"}}",
                                        "\"m\": {\"function\": \"onnx::Greater\", \"args\": {\"A\": \"s\", \"B\": 0.5}}, \"p\": "
                                        "{\"function\": \"onnx::Compress\", \"args\": "
                                        "{\"input\": \"s\", \"condition\": \"m\", \"axis\": 0}}"};
    char model[2048];
    size_t i;

    for (i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *text;

        snprintf(model, sizeof model,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\"parameters\": {\"x\": {\"value\": [0.5, 1, 2, 3, 4]}, "
                 "\"l\": {\"function\": "
                 "\"onnx::Loop\", \"args\": {\"M\": 5, \"v_initial\": \"[x]\", \"body\": \"b\"}}}, \"output_ports\": {\"l\": "
                 "{\"value\": \"l\"}}}}}, "
                 "\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"b\": "
                 "{\"input_ports\": {\"i\": "
                 "{}, \"c\": {}, \"s\": {}}, \"parameters\": {%s, \"r\": {\"function\": \"onnx::ReduceSum\", \"args\": "
                 "{\"data\": \"p\", \"keepdims\": "
                 "0}}, \"t\": {\"function\": \"onnx::Sub\", \"args\": {\"A\": \"s\", \"B\": \"r * 0.1\"}}}, \"output_ports\": "
                 "{\"t\": {\"value\": "
                 "\"t\"}}}}}}}}",
                 parts[i]);
        text = explain(model, NULL, NULL, 12);
        cr_expect_null(strstr(text, "step by step"), "%s", text);
    }
}

/* A state that gets longer, by an item behind it or altogether, beside a part of an array that is as long as the number of the
 * run says: in the next run both are longer. It begins with more than one element: one would go with any length. */
Test(explain, states_and_numbers_that_grow)
{
    static const char *const next[] = {"\"t\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": \"[s, r]\", \"axis\": 0}}",
                                       "\"a\": {\"function\": \"onnx::Pad\", \"args\": {\"data\": \"s\", \"pads\": [0, 1]}}, "
                                       "\"b\": {\"function\": \"onnx::Pad\", "
                                       "\"args\": {\"data\": \"s\", \"pads\": [1, 0]}}, \"t\": {\"function\": \"onnx::Add\", "
                                       "\"args\": {\"A\": \"a\", \"B\": \"b * "
                                       "r\"}}"};
    char model[2048];
    size_t i;

    for (i = 0; i < sizeof next / sizeof *next; i++) {
        const char *text;

        snprintf(
            model, sizeof model,
            "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"N\": {\"parameters\": {\"x\": "
            "{\"value\": "
            "[0.5, 1]}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 9, \"v_initial\": \"[x]\", \"body\": \"b\"}}}, "
            "\"output_ports\": {\"l\": {\"value\": \"l\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], "
            "\"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, "
            "\"parameters\": "
            "{\"w\": {\"value\": \"numpy.cos(numpy.arange(20.0))\"}, \"e\": {\"function\": \"onnx::Reshape\", \"args\": "
            "{\"data\": "
            "\"i + 2\", \"shape\": [1]}}, \"p\": {\"function\": \"onnx::Slice\", \"args\": {\"data\": \"w\", \"starts\": [0], "
            "\"ends\": \"e\"}}, \"r\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"s * p\", \"keepdims\": 1}}, "
            "%s}, "
            "\"output_ports\": {\"t\": {\"value\": \"t\"}}}}}}}}",
            next[i]);
        text = explain(model, NULL, NULL, 4);
        cr_expect_null(strstr(text, "step by step"), "%s", text);
    }
}

/* Lists whose items are known one by one are no reason to run step by step: taken apart, made an array, or looked at. */
Test(explain, lists_of_values)
{
    static const char *const models[] = {VALUE("[x, x * 2]"),
                                         VALUE("[x, x * 2][-1]"),
                                         VALUE("numpy.array([x, x * 2])[1] + 1"),
                                         VALUE("(x, 1.5, x + 1, x, x, x)"),
                                         VALUE("numpy.sum([x, 1])"),
                                         VALUE("numpy.concatenate(([x, x], [1.5], [x * 2]))"),
                                         VALUE("numpy.append([x, x], 3 * x)"),
                                         VALUE("numpy.array([[x, -1.5], [x * 2, 1]])"),
                                         VALUE("numpy.sum([[[x], [2]], ((x,), [x + 1])])"),
                                         FUNCTION("ReduceSum", "\"data\": \"[x, 3 * x]\""),
                                         FUNCTION("Add", "\"A\": \"[x, x, x, x, x, x, x]\", \"B\": 1")};
    size_t i;

    for (i = 0; i < sizeof models / sizeof *models; i++) {
        const char *text = explain(models[i], NULL, NULL, 3);

        cr_expect(!mdf_has_avx2() || (strstr(text, "lowered") != NULL && strstr(text, "step by step") == NULL), "%s: %s",
                  models[i], text);
    }
}

/* Graphs within nodes are explained below their node, and are plain where all is. */
Test(explain, graphs_within_nodes)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"graph\": \"inner\"}}}, \"inner\": {\"nodes\": {\"a\": "
        "{\"parameters\": {\"p\": {\"value\": \"p + 0.5\", \"default_initial_value\": 1.0}}, \"output_ports\": {\"o\": "
        "{\"value\": \"p\"}}}}}}}}";
    const mdf_options plain = {.plain = true};
    const char *text = explain(model, NULL, NULL, 5);

    cr_expect(strstr(text, "    graph 'inner': with the graph around\n      node 'a': with the graph\n") != NULL, "%s", text);
    text = explain(model, NULL, NULL, 2);
    cr_expect(strstr(text, "    graph 'inner': node by node\n      because of its place within a node") != NULL, "%s", text);
    text = explain(model, &plain, NULL, 5);
    cr_expect(strstr(text, "      node 'a': step by step: operator.add\n        because of --plain (mdf_options.plain)\n") !=
                  NULL,
              "%s", text);
    cr_expect_null(strstr(text, "lowered"), "%s", text);
}

Test(explain, nodes_with_conditions)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"parameters\": {\"p\": {\"value\": \"p + 1\", "
        "\"default_initial_value\": 0}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}}, \"b\": {\"output_ports\": {\"o\": "
        "{\"value\": \"1.5\"}}}}, \"conditions\": {\"node_specific\": {\"b\": {\"type\": \"Never\", \"kwargs\": {}}}, "
        "\"termination\": {\"environment_state_update\": {\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"a\", "
        "\"parameter\": \"p\", \"threshold\": 5, \"comparator\": \">=\"}}}}}}}}";
    const char *text = explain(model, NULL, NULL, 4);

    cr_expect(strstr(text, "  because of an evaluation in which nothing runs\n") != NULL, "%s", text);
    cr_expect(strstr(text, "  node 'b': has not run\n") != NULL, "%s", text);
}

/* As much as there is room for, always terminated; the whole length in any case. */
Test(explain, text_is_cut)
{
    struct engine engine;
    char text[8] = "unseen!";
    size_t length;

    cr_assert(engine_begin(&engine, VALUE("x"), NULL));
    cr_assert_eq(mdf_evaluate(engine.state, NAN, NULL), MDF_OK);
    length = mdf_explain(engine.state, NULL, 0);
    cr_expect_gt(length, sizeof text);
    cr_expect_eq(mdf_explain(engine.state, text, sizeof text), length);
    cr_expect_str_eq(text, "graph '");
    cr_expect_eq(mdf_explain(engine.state, text, 1), length);
    cr_expect_str_eq(text, "");
    cr_expect_eq(mdf_explain(NULL, text, sizeof text), 0);
    engine_end(&engine);
}

/* Every reason reads as one: no full stop, and a cure that is something to do. */
Test(explain, every_reason_has_words)
{
    cr_expect_null(mdf_refusal_text(MDF_REFUSED_NOT));
    for (int reason = MDF_REFUSED_NOT + 1; reason <= MDF_REFUSED_INTERRUPTED; reason++) {
        const char *text = mdf_refusal_text((enum mdf_refusal_reason)reason);

        cr_assert_not_null(text);
        cr_expect(strlen(text) > 8 && text[strlen(text) - 1] != '.', "%s", text);
    }
}

/* After so many steps no form has been refused that the engine itself made. */
static void expect_no_mistake(const char *model, uint64_t n_steps)
{
    static char text[TEXT_SIZE];
    uint64_t n_done, n_recorded;
    struct engine engine;

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    cr_assert_eq(mdf_evaluate_steps(engine.state, n_steps, 1, 1, 1, NULL, 0, &n_done, &n_recorded, &engine.error), MDF_OK, "%s",
                 engine.error.message);
    mdf_explain(engine.state, text, sizeof text);
    cr_expect_null(strstr(text, "a mistake in the engine"), "%s", text);
    engine_end(&engine);
}

/* An index as int32 that fills an array, as one element of many: in the nest that is made of both, what is stored has all axes.
 */
Test(explain, an_index_that_fills_an_array_is_no_mistake)
{
    static const char model[] =
        MODEL("\"n\": {\"parameters\": {\"all\": {\"value\": \"numpy.prod(kept, axis=-1)\"}, \"below\": {\"value\": \"s <= 0\"}, "
              "\"chosen\": {\"value\": \"numpy.where(below, 0, 0)\"}, \"first\": {\"value\": \"numpy.argmin(chosen, axis=0)\"}, "
              "\"s\": {\"default_initial_value\": \"0\", \"value\": \"numpy.broadcast_to(first, 2).astype(numpy.float32)\"}, "
              "\"kept\": {\"value\": \"below\"}}}");

    expect_no_mistake(model, 600);
}

/* Both numbers of a sum of two are one: what is added in float32 is then none of a number's own for each. */
Test(explain, a_number_that_is_added_to_itself_is_no_mistake)
{
    static const char model[] =
        MODEL("\"n\": {\"parameters\": {\"x\": {\"value\": \"numpy.sin(numpy.arange(8.0)).astype(numpy.float32) + s\"}, "
              "\"s\": {\"default_initial_value\": 0.0, \"value\": \"s + 1\"}, "
              "\"both\": {\"function\": \"onnx::Expand\", \"args\": {\"input\": \"x\", \"shape\": \"[2, 8]\"}}, "
              "\"sum\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"both\", \"axes\": \"[0]\"}}}, "
              "\"output_ports\": {\"y\": {\"value\": \"sum\"}}}");

    expect_no_mistake(model, 6);
}

/* What a side of a choice borrows, and the other does not meet, is not looked for where an earlier run has left it: that may be
 * gone (the address sanitizer tells). */
Test(explain, what_a_side_of_a_choice_borrowed_before_is_not_read)
{
    static const char model[] = MODEL(
        "\"n\": {\"parameters\": {\"s\": {\"default_initial_value\": 0.5, \"value\": \"1 if s < s and s < 9 else 1.0 and s\"}, "
        "\"both\": {\"value\": \"s, s\"}}, \"output_ports\": {\"y\": {\"value\": \"both[1]\"}}}");

    expect_no_mistake(model, 6);
}
