/* test_engine.c - models through the public interface: what they compute, what they are refused for, what memory they ask for. */
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

/* The model text of one node "n" in one graph. */
#define NODE(parts) "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {" parts "}}}}}}"

/* Runs a model for some steps; `text` gets its results, or the error. */
static mdf_status run(const char *model_text, const mdf_options *options, int steps, double dt, char *text, size_t size)
{
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(model_text, strlen(model_text), "json", "model.json", options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, options, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    for (int i = 0; state != NULL && i < steps && error.code == MDF_OK; i++) {
        mdf_evaluate(state, i == 0 ? (double)NAN : dt, &error);
    }
    if (error.code != MDF_OK) {
        mdf_error_format(&error, text, size);
    } else {
        write_results(program, state, text, size);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    return error.code;
}

struct good_case {
    const char *model;
    int steps;
    double dt;
    const char *results;
};

static const struct good_case good_cases[] = {
    /* Statefulness and order: functions see previous values, parameters the new values of earlier ones, outputs the new ones. */
    {NODE("\"parameters\": {\"k\": {\"value\": \"k + 1\", \"default_initial_value\": 10}}, \"functions\": {\"f\": {\"value\": "
          "\"k * 2\"}}, "
          "\"output_ports\": {\"k\": {\"value\": \"k\"}, \"f\": {\"value\": \"f\"}}"),
     3, NAN, "k 13; f 24"},
    {NODE("\"parameters\": {\"a\": {\"value\": \"a + b\", \"default_initial_value\": 1}, \"b\": {\"value\": \"b + a\", "
          "\"default_initial_value\": 1}}, \"output_ports\": {\"a\": {\"value\": \"a\"}, \"b\": {\"value\": \"b\"}}"),
     3, NAN, "a 13; b 21"},
    {NODE("\"parameters\": {\"c\": {\"value\": \"a + b\"}, \"b\": {\"value\": \"a * 2\"}, \"a\": {\"value\": 3}}, "
          "\"output_ports\": {\"c\": "
          "{\"value\": \"c\"}}"),
     2, NAN, "c 9"},
    {NODE("\"parameters\": {\"before\": {\"value\": \"now\", \"default_initial_value\": 0}, \"now\": {\"value\": \"now + "
          "before\", "
          "\"default_initial_value\": 1}}, \"output_ports\": {\"now\": {\"value\": \"now\"}}"),
     6, NAN, "now 64"},
    /* An attribute that is a type, as a parameter. */
    {NODE("\"parameters\": {\"type\": {\"value\": \"tensor(int64)\"}, \"o\": {\"function\": \"onnx::Optional\", \"args\": {}}}, "
          "\"output_ports\": {\"o\": {\"value\": \"o\"}}"),
     1, NAN, "o null"},
    /* A body that is another graph, as a parameter; the graph that runs is that which has the body, not the body, also of lists.
     */
    {"{\"m\": {\"graphs\": {\"b\": {\"nodes\": {\"B\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"t\": {\"value\": \"s "
     "* 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}}, \"g\": {\"nodes\": {\"n\": "
     "{\"parameters\": {\"body\": {\"value\": \"b\"}, \"o\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": "
     "[1]}}}, \"output_ports\": {\"o\": {\"value\": \"o\"}}}}}}}}",
     1, NAN, "o 8"},
    {"{\"id\": \"m\", \"graphs\": [{\"id\": \"b\", \"nodes\": {\"B\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"t\": "
     "{\"value\": \"s * 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}}, {\"id\": "
     "\"g\", \"nodes\": [{\"id\": \"n\", \"parameters\": [{\"id\": \"body\", \"value\": \"b\"}, {\"id\": \"o\", \"function\": "
     "\"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": [1]}}], \"output_ports\": [{\"id\": \"o\", \"value\": \"o\"}]}]}]}",
     1, NAN, "o 8"},
    /* What args has is the attribute, and a parameter of its name then an expression as any other. */
    {NODE("\"parameters\": {\"a\": {\"value\": 3}, \"kind\": {\"value\": \"edge\"}, \"mode\": {\"value\": \"a + 1\"}}, "
          "\"functions\": {\"f\": {\"function\": \"onnx::Pad\", \"args\": {\"data\": [1.0, 2.0], \"pads\": [1, 1], \"mode\": "
          "\"kind\"}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}, \"mode\": {\"value\": \"mode\"}}"),
     1, NAN, "f [1.0, 1.0, 2.0, 2.0]; mode 4"},
    /* A condition that is a list of one is that one. */
    {NODE("\"parameters\": {\"x\": {\"value\": 1}, \"f\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"[x > 3]\", "
          "\"then_branch\": {\"nodes\": {\"b\": {\"output_ports\": {\"o\": {\"value\": \"x + 1\"}}}}}, \"else_branch\": "
          "{\"nodes\": {\"b\": {\"output_ports\": {\"o\": {\"value\": \"x - 1\"}}}}}}}}, \"output_ports\": {\"f\": {\"value\": "
          "\"f\"}}"),
     1, NAN, "f 0"},
    {NODE("\"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"cond\": \"[3 > 1]\", \"v_initial\": "
          "[1], \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"go\": {\"value\": \"[s < "
          "4]\"}, \"t\": {\"value\": \"s * 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"go\", "
          "\"t\"]}}}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     1, NAN, "f 8"},
    /* Time derivatives: none in the first evaluation; without dt the initial value each time. */
    {NODE("\"parameters\": {\"v\": {\"default_initial_value\": 8, \"time_derivative\": \"-v\"}}, \"output_ports\": {\"v\": "
          "{\"value\": \"v\"}}"),
     4, 0.5, "v 1.0"},
    {NODE("\"parameters\": {\"v\": {\"default_initial_value\": 8, \"time_derivative\": \"-v\"}}, \"output_ports\": {\"v\": "
          "{\"value\": \"v\"}}"),
     4, NAN, "v 8"},
    /* Beside a derivative, a value is the value all the same; a function sees the run before, which was none. */
    {NODE("\"parameters\": {\"v\": {\"value\": 8, \"time_derivative\": \"-v\"}}, \"functions\": {\"f\": {\"value\": \"v + 1\"}}, "
          "\"output_ports\": {\"v\": {\"value\": \"v\"}, \"f\": {\"value\": \"f\"}}"),
     1, NAN, "v 8; f 1.0"},
    {NODE("\"parameters\": {\"v\": {\"value\": [2.0, 3.0], \"time_derivative\": \"-v\"}}, \"output_ports\": {\"v\": "
          "{\"value\": \"v\"}}"),
     3, 0.5, "v [2.0, 3.0]"},
    /* Conditions: each that holds, in order; elementwise. */
    {NODE("\"parameters\": {\"x\": {\"value\": [1, 5, 10]}, \"y\": {\"value\": \"x * 2\", \"conditions\": {\"c\": {\"test\": \"x "
          "> 4\", "
          "\"value\": 0}}}}, \"output_ports\": {\"y\": {\"value\": \"y\"}}"),
     1, NAN, "y [2, 0, 0]"},
    /* A comprehension counts from the start each time. */
    {NODE("\"parameters\": {\"a\": {\"value\": [[1, 0], [2, 3]]}}, \"output_ports\": {\"all\": {\"value\": \"[[x * 2 for x in "
          "row] for "
          "row in a]\"}}"),
     2, NAN, "all [[2, 0], [4, 6]]"},
    /* Standard functions; an argument found in the node. */
    {NODE("\"parameters\": {\"intercept\": {\"value\": 1.75}}, \"functions\": {\"f\": {\"function\": \"linear\", \"args\": "
          "{\"variable0\": 2, "
          "\"slope\": \"0.5 * 2\"}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     1, NAN, "f 3.75"},
    /* A multiple output by index and by position. */
    {NODE("\"parameters\": {\"x\": {\"value\": [3.0, 1.0, 2.0]}, \"t\": {\"function\": \"onnx::TopK\", \"args\": {\"X\": \"x\", "
          "\"K\": 2}}}, "
          "\"output_ports\": {\"values\": {\"value\": \"t[0]\"}, \"where\": {\"value\": \"t[1]\"}}"),
     1, NAN, "values [3.0, 2.0]; where [0, 2]"},
    {NODE("\"parameters\": {\"x\": {\"value\": [3.0, 1.0, 2.0]}, \"t\": {\"function\": \"onnx::TopK\", \"args\": {\"X\": \"x\", "
          "\"K\": 2}}}, "
          "\"output_ports\": {\"values\": {\"value\": \"t\"}, \"where\": {\"value\": \"t\"}}"),
     1, NAN, "values [3.0, 2.0]; where [0, 2]"},
    /* Dropout before opset 12 does not train, also where the call has the later form, with a ratio and training_mode. */
    {"{\"m\": {\"onnx_opset_version\": \"9\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"r\": "
     "{\"default_value\": 0.5}, "
     "\"t\": {\"default_value\": true}}, \"functions\": {\"f\": {\"function\": \"onnx::Dropout\", \"args\": {\"data\": [3.0, "
     "4.0], "
     "\"ratio\": \"r\", \"training_mode\": \"t\"}}}, \"output_ports\": {\"y\": {\"value\": \"f\"}, \"mask\": {\"value\": "
     "\"f\"}}}}}}}}",
     1, NAN, "y [3.0, 4.0]; mask [3.0, 4.0]"},
    /* Arrays that differ in axes of size 1, put together for an operator. */
    {NODE(
         "\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}, \"y\": {\"value\": [[3.0, 4.0]]}, \"both\": {\"value\": \"[x, y]\"}}, "
         "\"functions\": {\"f\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"both\", \"axes\": 0}}}, "
         "\"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     1, NAN, "f [[[4.0, 6.0]]]"},
    /* Two states of a loop change places in each iteration. */
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": [\"1\", \"2\"], \"body\": "
          "{\"b\": "
          "{\"metadata\": {\"inputs\": [\"i\", \"c\", \"p\", \"q\"], \"outputs\": [\"c\", \"q\", \"p\"]}, \"nodes\": {}}}}}}, "
          "\"output_ports\": {\"p\": {\"value\": \"l[0]\"}, \"q\": {\"value\": \"l[1]\"}}"),
     1, NAN, "p 2; q 1"},
    /* No iterations: a scan output has the shape that the body's declarations promise, through operators behind a state; not that
       of a state whose shape nobody declares. */
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 0, \"v_initial\": [\"[7.0]\", \"[8.0]\"], "
          "\"body\": {\"b\": "
          "{\"metadata\": {\"inputs\": [\"i\", \"c\", {\"name\": \"x\", \"type\": \"float64\", \"shape\": [1]}, \"w\"], "
          "\"outputs\": [\"c\", "
          "\"x\", \"w\", \"y\", \"v\"]}, \"nodes\": {\"s\": {\"input_ports\": {\"x\": {}, \"w\": {}}, \"functions\": {\"f\": "
          "{\"function\": "
          "\"onnx::Neg\", \"args\": {\"X\": \"x\"}}, \"g\": {\"function\": \"onnx::Abs\", \"args\": {\"X\": \"f\"}}, \"h\": "
          "{\"function\": "
          "\"onnx::Abs\", \"args\": {\"X\": \"w\"}}}, \"output_ports\": {\"y\": {\"value\": \"g\"}, \"v\": {\"value\": "
          "\"h\"}}}}}}}}}, "
          "\"output_ports\": {\"y\": {\"value\": \"l[2].shape\"}, \"v\": {\"value\": \"l[3].shape\"}}"),
     2, NAN, "y [0, 1]; v [0]"},
    /* The same through branches. */
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 0, \"v_initial\": [\"[7.0, 8.0]\"], "
          "\"body\": {\"b\": "
          "{\"metadata\": {\"inputs\": [\"i\", \"c\", {\"name\": \"x\", \"type\": \"float64\", \"shape\": [2]}], "
          "\"outputs\": [\"c\", \"x\", \"y\"]}, \"nodes\": {\"s\": "
          "{\"input_ports\": {\"x\": {}, \"c\": {}}, \"functions\": {\"f\": {\"function\": \"onnx::If\", \"args\": "
          "{\"cond\": \"c\", \"then_branch\": "
          "{\"t\": {\"metadata\": {\"outputs\": [\"z\"]}, \"nodes\": {\"n\": {\"parameters\": {\"z\": {\"function\": "
          "\"onnx::Abs\", \"args\": {\"X\": \"x\"}}}, \"output_ports\": {\"z\": {\"value\": \"z\"}}}}}}, \"else_branch\": "
          "{\"e\": {\"metadata\": {\"outputs\": [\"z\"]}, \"nodes\": {\"n\": {\"parameters\": {\"z\": {\"function\": "
          "\"onnx::Neg\", \"args\": {\"X\": \"x\"}}}, \"output_ports\": {\"z\": {\"value\": \"z\"}}}}}}}}}, "
          "\"output_ports\": {\"y\": {\"value\": \"f\"}}}}}}}}}, "
          "\"output_ports\": {\"y\": {\"value\": \"l[1].shape\"}}"),
     1, NAN, "y [0, 2]"},
    /* A branch, and a body, that list a value twice. */
    {NODE("\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}, \"f\": {\"function\": \"onnx::If\", \"args\": {\"cond\": true, "
          "\"then_branch\": {\"b\": {\"metadata\": {\"outputs\": [\"s\", \"n.s\", \"s\"]}, \"nodes\": {\"n\": {\"output_ports\": "
          "{\"s\": {\"value\": \"-x\"}}}}}}, \"else_branch\": {\"c\": {\"metadata\": {\"outputs\": [\"x\", \"x\", \"x\"]}, "
          "\"nodes\": {}}}}}}, \"output_ports\": {\"u\": {\"value\": \"f[0]\"}, \"v\": {\"value\": \"f[1]\"}, \"w\": {\"value\": "
          "\"f[2]\"}}"),
     1, NAN, "u [-1.0, -2.0]; v [-1.0, -2.0]; w [-1.0, -2.0]"},
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": [\"1\", \"2\"], \"body\": "
          "{\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"p\", \"q\"], \"outputs\": [\"c\", \"s\", \"s\", \"s\"]}, "
          "\"nodes\": {\"n\": {\"output_ports\": {\"s\": {\"value\": \"p + 10 * q\"}}}}}}}}}, \"output_ports\": {\"p\": "
          "{\"value\": "
          "\"l[0]\"}, \"q\": {\"value\": \"l[1]\"}, \"ss\": {\"value\": \"l[2]\"}}"),
     1, NAN, "p 2541; q 2541; ss [21, 231, 2541]"},
    /* Strings stacked by a loop that a condition ends, with room for more, and with none. */
    {NODE(
         "\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"cond\": true, \"body\": {\"b\": "
         "{\"metadata\": {\"inputs\": [\"i\", \"c\"], \"outputs\": [\"d\", \"s\"]}, \"nodes\": {\"n\": {\"input_ports\": {\"i\": "
         "{}}, \"output_ports\": {\"d\": {\"value\": \"i < 2\"}, \"s\": {\"value\": \"numpy.array(['a', 'bc'])\"}}}}}}}}}, "
         "\"output_ports\": {\"ss\": {\"value\": \"l\"}}"),
     2, NAN, "ss [[\"a\", \"bc\"], [\"a\", \"bc\"], [\"a\", \"bc\"]]"},
    /* No iterations: the state passes through, a scan output is empty along its axis. */
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 0, \"v_initial\": [\"7\"], \"body\": {\"b\": "
          "{\"metadata\": {\"inputs\": [\"i\", \"c\", \"x\"], \"outputs\": [\"c\", \"y\", \"y\"]}, \"nodes\": {\"s\": "
          "{\"input_ports\": "
          "{\"x\": {}}, \"output_ports\": {\"y\": {\"value\": \"x + 1\"}}}}}}}}}, \"output_ports\": {\"x\": {\"value\": "
          "\"l[0]\"}, \"ys\": "
          "{\"value\": \"l[1]\"}}"),
     1, NAN, "x 7; ys []"},
    /* The same of a Scan, of slices of a rank that only they tell: of as many axes as the scan axis needs. */
    {NODE("\"parameters\": {\"xs\": {\"value\": \"numpy.zeros((0, 3))\"}, \"s\": {\"function\": \"onnx::Scan\", "
          "\"args\": {\"initial_state_and_scan_inputs\": \"[xs, xs]\", \"num_scan_inputs\": 2, \"scan_output_axes\": [1, -2], "
          "\"body\": {\"b\": {\"metadata\": {\"inputs\": [\"t\", \"x\"], \"outputs\": [\"u\", \"u\"]}, \"nodes\": {\"s\": "
          "{\"input_ports\": {\"t\": {}, \"x\": {}}, \"output_ports\": {\"u\": {\"value\": \"x * sum([w for w in t])\"}}}}}}}}}, "
          "\"output_ports\": {\"a\": {\"value\": \"list(s[0].shape)\"}, \"b\": {\"value\": \"list(s[1].shape)\"}}"),
     1, NAN, "a [0, 0]; b [0, 0]"},
    /* A scan from the end, its output stacked along the last axis. */
    {NODE("\"parameters\": {\"xs\": {\"value\": [[1, 2], [3, 4], [5, 6]]}, \"s\": {\"function\": \"onnx::Scan\", \"args\": "
          "{\"initial_state_and_scan_inputs\": \"[0, xs]\", \"num_scan_inputs\": 1, \"scan_input_directions\": [1], "
          "\"scan_output_axes\": "
          "[-1], \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"t\", \"x\"], \"outputs\": [\"u\", \"x\"]}, \"nodes\": {\"s\": "
          "{\"input_ports\": {\"t\": {}, \"x\": {}}, \"output_ports\": {\"u\": {\"value\": \"10 * t + x[0]\"}}}}}}}}}, "
          "\"output_ports\": "
          "{\"t\": {\"value\": \"s[0]\"}, \"xs\": {\"value\": \"s[1]\"}}"),
     1, NAN, "t 531; xs [[5, 3, 1], [6, 4, 2]]"},
    /* A target of several names, clauses that leave items out, numpy.newaxis as a value; ports of bodies with values of their
       own. */
    {NODE("\"parameters\": {\"p\": {\"value\": [[1, 2], [3, 4]]}}, \"output_ports\": {\"s\": {\"value\": \"[a + 10 * b for a, b "
          "in p]\"}, \"t\": {\"value\": \"[a for a in [1, 2, 3] if a > 1 if a < 3]\"}, \"u\": {\"value\": \"[numpy.newaxis, "
          "1]\"}, \"v\": {\"value\": \"p[:, numpy.newaxis].shape\"}}"),
     1, NAN, "s [21, 43]; t [2]; u [null, 1]; v [2, 1, 2]"},
    /* A function's arguments have their names in its value, whatever else is called so. */
    {NODE("\"parameters\": {\"b\": {\"value\": [1, 2]}, \"a\": {\"value\": \"f * 2\"}}, \"functions\": {\"f\": "
          "{\"value\": \"a + 1\", \"args\": {\"a\": \"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"a\"}}"),
     2, NAN, "o [4, 6]"},
    /* The names of items are the comprehension's own: no parameter of such a name is read by it, but for what it goes through. */
    {NODE("\"parameters\": {\"b\": {\"value\": [1, 2]}, \"i\": {\"value\": \"a[0] + 1\"}, \"a\": {\"value\": \"[i * 2 "
          "for i in b]\"}, \"c\": {\"value\": \"[b * c for b in b for c in a if c > b]\"}}, \"output_ports\": {\"a\": "
          "{\"value\": \"a\"}, \"i\": {\"value\": \"i\"}, \"c\": {\"value\": \"c\"}}"),
     2, NAN, "a [2, 4]; i 3; c [2, 4, 8]"},
    {NODE("\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": [\"[1, 2]\"], "
          "\"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"x\"], \"outputs\": [\"c\", \"y\"]}, \"nodes\": "
          "{\"s\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"value\": \"[p + 1 for p in x]\"}}, "
          "\"output_ports\": {\"y\": {\"value\": \"p\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}"),
     2, NAN, "o [4, 5]"},
    {NODE("\"parameters\": {\"x\": {\"value\": 1}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": "
          "[\"x\"], \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"i\", {\"name\": \"c\", \"type\": \"bool\", \"shape\": [1]}, "
          "\"y\"], \"outputs\": [\"c\", \"z\"]}, \"nodes\": {\"s\": {\"input_ports\": {\"y\": {}, \"w\": {\"default_value\": "
          "5}}, \"output_ports\": {\"z\": {\"value\": \"y + w\"}}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}"),
     2, NAN, "o 16"},
    {NODE("\"parameters\": {\"x\": {\"value\": 2.5}, \"f\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"x > 2\", "
          "\"then_branch\": {\"b\": {\"nodes\": {\"n\": {\"input_ports\": {\"w\": {\"default_value\": 4}}, \"output_ports\": "
          "{\"s\": {\"value\": \"x * w\"}}}}}}, \"else_branch\": {\"c\": {\"nodes\": {\"n\": {\"output_ports\": {\"s\": "
          "{\"value\": \"x\"}}}}}}}}}, \"output_ports\": {\"u\": {\"value\": \"f\"}}"),
     1, NAN, "u 10.0"},
    /* What a body takes from its node is computed before it: for the first value of what a derivative reads, and of functions. */
    {NODE("\"parameters\": {\"a\": {\"value\": \"r * 2\"}, \"r\": {\"value\": 3}, \"s\": {\"default_initial_value\": 1, "
          "\"time_derivative\": \"d\"}, \"d\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"s > 0\", "
          "\"then_branch\": {\"nodes\": {\"m\": {\"output_ports\": {\"y\": {\"value\": \"a + s\"}}}}}, \"else_branch\": "
          "{\"nodes\": {\"m\": {\"output_ports\": {\"y\": {\"value\": \"s\"}}}}}}}}, \"output_ports\": {\"s\": "
          "{\"value\": \"s\"}}"),
     3, 0.5, "s 9.75"},
    {NODE("\"functions\": {\"f\": {\"function\": \"onnx::If\", \"args\": {\"cond\": true, \"then_branch\": {\"nodes\": "
          "{\"m\": {\"parameters\": {\"own\": {\"value\": 1}}, \"output_ports\": {\"y\": {\"value\": \"g + own\"}}}}}, "
          "\"else_branch\": {\"nodes\": {\"m\": {\"output_ports\": {\"y\": {\"value\": \"g\"}}}}}}}, \"g\": {\"value\": "
          "\"2 + 3\"}, \"own\": {\"value\": \"f * 2\"}}, \"output_ports\": {\"o\": {\"value\": \"own\"}}"),
     1, NAN, "o 12"},
};

Test(engine, models_compute_what_they_mean)
{
    char text[600];

    for (size_t i = 0; i < sizeof good_cases / sizeof *good_cases; i++) {
        run(good_cases[i].model, NULL, good_cases[i].steps, good_cases[i].dt, text, sizeof text);
        cr_expect_str_eq(text, good_cases[i].results, "case %zu: %s, not %s", i, text, good_cases[i].results);
    }
}

/* ------------------------------------------------------------------ names of bodies */

/* A Loop of two runs over a state, x, whose body hands on `outputs`; an If in its node B. */
#define IN_LOOP(inputs, outputs, parts)                                                                         \
    "'function': 'onnx::Loop', 'args': {'M': 2, 'v_initial': '[1.0]', 'body': {'metadata': {'inputs': [" inputs \
    ", 'c', 'x'], 'outputs': ['c', " outputs "]}, " parts "}}"
#define B_WITH(ports, parts) "'nodes': {'B': {'input_ports': {" ports "}, " parts "}}"
#define ANY_BRANCH "{'nodes': {'C': {'output_ports': {'r': {'value': 'w * 10'}}}}}"
#define AN_IF \
    "'f': {'function': 'onnx::If', 'args': {'cond': true, 'then_branch': " ANY_BRANCH ", 'else_branch': " ANY_BRANCH "}}"

/* A body is computed behind what it takes from around it, which a parameter 'w' may be, and is not kept from being what 'w' is
 * made of by names that it has itself. */
static const struct {
    const char *call, *w, *results;
} names_of_bodies[] = {
    /* taken: by a port that nothing feeds, beside what another node calls so, by a branch in a body */
    {IN_LOOP("'i'", "'y'", B_WITH("'x': {}, 'w': {}", "'output_ports': {'y': {'value': 'x + w'}}")), "b * 2", "L 13.0; w 6"},
    {IN_LOOP("'i'", "'y'",
             "'nodes': {'A': {'parameters': {'w': {'value': 7}}, 'output_ports': {'z': {'value': 'w'}}}, 'B': {'input_ports': "
             "{'x': {}}, 'output_ports': {'y': {'value': 'x + w'}}}}"),
     "b * 2", "L 13.0; w 6"},
    {IN_LOOP("'i'", "'y'",
             "'nodes': {'A': {'parameters': {'w': {'value': 7}}, 'output_ports': {'z': {'value': 'w'}}}, 'B': {'input_ports': "
             "{'x': {}}, 'parameters': {" AN_IF "}, 'output_ports': {'y': {'value': 'x + f'}}}}"),
     "b * 2", "L 121.0; w 6"},
    {IN_LOOP("'i'", "'w'", B_WITH("'x': {}", "'output_ports': {'w': {'value': 'x + w'}}")), "b * 2", "L 13.0; w 6"},
    {"'function': 'onnx::If', 'args': {'cond': true, 'then_branch': {" B_WITH(
         "'w': {}", "'output_ports': {'y': {'value': 'w + 1'}}") "}, 'else_branch': {" B_WITH("", "'output_ports': {'y': "
                                                                                                  "{'value': 1}}") "}}",
     "b * 2", "L 7; w 6"},
    /* its own: inputs, outputs, what they are called in the body, graph parameters, other nodes' ports that a branch reads */
    {IN_LOOP("'w'", "'y'", B_WITH("'x': {}", "'output_ports': {'y': {'value': 'x + w'}}")), "L * 2", "L 2.0; w 4.0"},
    {IN_LOOP("'i'", "'w'", B_WITH("'x': {}", "'output_ports': {'w': {'value': 'x + 1'}}")), "L * 2", "L 3.0; w 6.0"},
    {IN_LOOP("'i'", "{'name': 'w', 'port': 'B.y'}", B_WITH("'x': {}", "'output_ports': {'y': {'value': 'x + 1'}}")), "L * 2",
     "L 3.0; w 6.0"},
    {IN_LOOP("'i'", "'w.y'", "'nodes': {'w': {'input_ports': {'x': {}}, 'output_ports': {'y': {'value': 'x + 1'}}}}"), "L * 2",
     "L 3.0; w 6.0"},
    {IN_LOOP("'i'", "'y'",
             "'parameters': {'w': {'value': 2.5}}, " B_WITH("'x': {}", "'output_ports': {'y': {'value': 'x + w'}}")),
     "L * 2", "L 6.0; w 12.0"},
    {IN_LOOP("'i'", "'y'",
             "'nodes': {'A': {'input_ports': {'x': {}}, 'output_ports': {'w': {'value': 'x + 1'}}}, 'B': {'parameters': {" AN_IF
             "}, 'output_ports': {'y': {'value': 'f'}}}}"),
     "L * 2", "L 210.0; w 420.0"},
    /* a body that a parameter is; one whose id is that of a parameter too */
    {"'function': 'onnx::Loop', 'args': {'M': 2, 'v_initial': '[1.0]', 'body': 'kept'}}, 'kept': {'value': {'metadata': "
     "{'inputs': ['i', 'c', 'x'], 'outputs': ['c', 'y']}, 'nodes': {'B': {'input_ports': {'x': {}}, 'output_ports': {'y': "
     "{'value': 'x + w'}}}}}",
     "b * 2", "L 13.0; w 6"},
    {"'function': 'onnx::Loop', 'args': {'M': 2, 'v_initial': '[1.0]', 'body': 'w'}", "L * 2", "L 3.0; w 6.0"},
};

Test(engine, names_of_bodies_are_theirs_or_from_around_them)
{
    for (size_t i = 0; i < sizeof names_of_bodies / sizeof *names_of_bodies; i++) {
        char model[1700], text[600];

        snprintf(model, sizeof model,
                 "{'m': {'onnx_opset_version': '16', 'graphs': {'g': {'nodes': {'n': {'parameters': {'L': {%s}, 'w': {'value': "
                 "'%s'}, 'b': {'value': '3 + 0'}}, 'output_ports': {'L': {'value': 'L'}, 'w': {'value': 'w'}}}}}, 'w': "
                 "{'metadata': {'inputs': ['i', 'c', 'x'], 'outputs': "
                 "['c', 'y']}, 'nodes': {'B': {'input_ports': {'x': {}}, 'output_ports': {'y': {'value': 'x + 1'}}}}}}}}",
                 names_of_bodies[i].call, names_of_bodies[i].w);
        for (char *quote = strchr(model, '\''); quote != NULL; quote = strchr(quote, '\'')) {
            *quote = '"';
        }
        run(model, NULL, 2, NAN, text, sizeof text);
        cr_expect_str_eq(text, names_of_bodies[i].results, "case %zu: %s, not %s", i, text, names_of_bodies[i].results);
    }
}

/* ------------------------------------------------------------------ what is refused */

#define OUT(value) "\"output_ports\": {\"o\": {\"value\": \"" value "\"}}"
#define LOOP(args) \
    "\"parameters\": {\"x\": {\"value\": 1}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {" args "}}}, " OUT("l")

static const struct {
    const char *model, *error; /* the error holds this */
} bad_cases[] = {
    {"{\"m\": {}}", "model.json:1:7: error: 'graphs' is missing"},
    {"[1]", "an MDF model is an object"},
    {NODE(OUT("p + 1")), "node 'n', output port 'o': name 'p' is not known here"},
    {NODE("\"parameters\": {\"a\": {\"value\": \"b + 1\"}, \"b\": {\"value\": \"a + 1\"}}, " OUT("a")),
     "give it a default_initial_value"},
    {NODE("\"functions\": {\"f\": {\"value\": \"h + 1\"}, \"h\": {\"value\": \"f + 1\"}}, " OUT("f")), "needs its own value"},
    {NODE("\"functions\": {\"f\": {\"function\": \"logistc\", \"args\": {}}}, " OUT("f")),
     "unknown function 'logistc'; did you mean 'logistic'?"},
    {NODE("\"functions\": {\"f\": {\"function\": \"onnx::Ad\", \"args\": {}}}, " OUT("f")), "did you mean 'onnx::Add'?"},
    {NODE("\"functions\": {\"f\": {\"function\": \"Add\", \"args\": {}}}, " OUT("f")), "did you mean 'onnx::Add'?"},
    {NODE("\"functions\": {\"f\": {\"function\": \"com.microsoft::Gelu\", \"args\": {}}}, " OUT("f")), "mean 'onnx::Gelu'?"},
    {NODE("\"functions\": {\"f\": {\"function\": \"onnx::Scaler\", \"args\": {}}}, " OUT("f")), "mean 'ai.onnx.ml::Scaler'?"},
    {NODE("\"functions\": {\"f\": {\"function\": \"onnx::Nothing\", \"args\": {}}}, " OUT("f")), "mdf-run --ops lists"},
    {NODE("\"functions\": {\"f\": {\"function\": \"linear\", \"args\": {\"variable0\": 1, \"slope\": 2}}}, " OUT("f")),
     "function 'linear' needs the argument 'intercept'"},
    {NODE("\"parameters\": {\"a\": {\"value\": [[1, 2], [3]]}}, " OUT("a")), "different lengths"},
    {NODE(OUT("__import__('os')")), "function '__import__' is not known"},
    {NODE(OUT("1 / 0")), "division by zero"},
    {NODE("\"input_ports\": {\"i\": {\"shape\": [1000000, 1000000, 1000]}}, " OUT("i")), "can not be filled with zeros"},
    {NODE(LOOP("\"v_initial\": [\"x\"], \"body\": \"nowhere\"")), "the model has no graph 'nowhere'"},
    {NODE("\"parameters\": {\"body\": {\"value\": \"nowhere\"}, \"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 1, "
          "\"v_initial\": [1]}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     "the model has no graph 'nowhere'"},
    {NODE("\"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"cond\": \"'yes'\", \"v_initial\": [1], "
          "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"go\": {\"value\": \"s < 4\"}, "
          "\"t\": {\"value\": \"s * 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"go\", "
          "\"t\"]}}}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     "the condition must be one boolean"},
    {NODE("\"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"cond\": \"3 > 1\", \"v_initial\": [1], "
          "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"go\": {\"value\": \"'yes'\"}, "
          "\"t\": {\"value\": \"s * 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"go\", "
          "\"t\"]}}}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     "the condition that the body yields must be one boolean"},
    {NODE("\"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"cond\": \"3 > 1\", \"v_initial\": [1], "
          "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"go\": {\"value\": "
          "\"numpy.zeros(0)\"}, \"t\": {\"value\": \"s * 2\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": "
          "[\"go\", \"t\"]}}}}}, \"output_ports\": {\"f\": {\"value\": \"f\"}}"),
     "the condition that the body yields must be one boolean"},
    {NODE(LOOP("\"M\": 1, \"body\": \"g\"")), "uses itself as a body"},
    {NODE(LOOP("\"v_initial\": [\"x\"]")), "needs the attribute 'body'"},
    {NODE(LOOP("\"v_initial\": [\"x\"], \"body\": {\"nodes\": {\"s\": {\"input_ports\": {\"y\": {}}, \"output_ports\": {\"z\": "
               "{\"value\": "
               "\"y\"}}}}}")),
     "declare metadata"},
    {NODE(LOOP("\"v_initial\": [\"x\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"y\"], \"outputs\": [\"c\", "
               "\"y\"]}, \"nodes\": "
               "{}}")),
     "never ends"},
    {NODE(LOOP("\"M\": 3, \"v_initial\": [\"x\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"y\"], \"outputs\": "
               "[\"c\", \"z\"]}, "
               "\"nodes\": {\"s\": {\"parameters\": {\"k\": {\"value\": \"k + 1\"}}, \"output_ports\": {\"z\": {\"value\": "
               "\"k\"}}}}}")),
     "carry it as a state variable"},
    {NODE(LOOP("\"M\": 9, \"v_initial\": [\"x\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"y\"], \"outputs\": "
               "[\"c\", \"z\"]}, "
               "\"nodes\": {\"s\": {\"output_ports\": {\"z\": {\"value\": \"1 // (3 - int(i))\"}}}}}")),
     "(iteration 3 of onnx::Loop)"},
    /* As modeci_mdf's importer writes it: the state is consumed inside the body, so that one output seems to be left. */
    {NODE("\"parameters\": {\"xs\": {\"value\": [1, 2]}, \"zero\": {\"value\": 0}, \"s\": {\"function\": \"onnx::Scan\", "
          "\"args\": "
          "{\"initial_state_and_scan_inputs\": \"[zero, xs]\", \"num_scan_inputs\": 1, \"body\": {\"nodes\": "
          "{\"a\": {\"input_ports\": {\"t\": {}, \"x\": {}}, \"output_ports\": {\"u\": {\"value\": \"t + x\"}}}, "
          "\"b\": {\"input_ports\": {\"u\": {}}, \"output_ports\": {\"y\": {\"value\": \"u\"}}}}, "
          "\"edges\": {\"e\": {\"sender\": \"a\", \"sender_port\": \"u\", \"receiver\": \"b\", \"receiver_port\": \"u\"}}}}}}, "
          "\"output_ports\": {\"last\": {\"value\": \"s\"}, \"all\": {\"value\": \"s\"}}"),
     "2 output ports take the outputs of onnx::Scan, whose body seems to yield 1"},
};

Test(engine, faulty_models_are_refused_with_a_reason)
{
    char text[2600];

    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        cr_expect_neq(run(bad_cases[i].model, NULL, 1, NAN, text, sizeof text), MDF_OK, "case %zu gave %s", i, text);
        cr_expect(strstr(text, bad_cases[i].error) != NULL, "case %zu: %s", i, text);
        cr_expect(strncmp(text, "model.json", strlen("model.json")) == 0, "case %zu: %s", i, text);
    }
}

Test(engine, a_bound_on_iterations_ends_a_loop)
{
    const char *endless =
        NODE(LOOP("\"v_initial\": [\"x\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"y\"], \"outputs\": [\"c\", "
                  "\"y\"]}, \"nodes\": {}}"));
    mdf_options options = {.max_iterations = 1000};
    char text[1200];

    cr_expect_eq(run(endless, &options, 1, NAN, text, sizeof text), MDF_LIMIT);
    cr_expect(strstr(text, "1000 iterations") != NULL, "%s", text);
}

/* A stack has room for items that a body never came to. */
Test(engine, what_a_failed_run_stacked_is_not_shown)
{
    const char *model = NODE(
        "\"parameters\": {\"xs\": {\"value\": [4.0, 1.0, -1.0, 5.0, 6.0, 7.0]}, \"s\": {\"function\": \"onnx::Scan\", \"args\": "
        "{\"initial_state_and_scan_inputs\": \"[xs]\", \"num_scan_inputs\": 1, \"body\": {\"metadata\": {\"inputs\": [\"x\"], "
        "\"outputs\": [\"y\"]}, \"nodes\": {\"s\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"y\": {\"value\": "
        "\"math.sqrt(x)\"}}}}}}}}, "
        "\"output_ports\": {\"y\": {\"value\": \"s\"}}");
    struct engine engine;
    const mdf_value *stacked;

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    cr_expect_neq(mdf_evaluate(engine.state, NAN, &engine.error), MDF_OK);
    cr_expect(strstr(engine.error.message, "iteration 2") != NULL, "%s", engine.error.message);
    stacked = mdf_part_at(engine.state, 0, MDF_PART_PARAMETER, 1, 0);
    cr_expect(stacked == NULL || mdf_value_kind(stacked) == MDF_KIND_NONE);
    engine_end(&engine);
}

Test(engine, a_bound_on_memory_is_kept)
{
    const char *large = NODE(OUT("numpy.zeros(10000000).sum()"));
    mdf_options options = {.max_memory_bytes = 1000000};
    char text[1200];

    cr_expect_eq(run(large, &options, 1, NAN, text, sizeof text), MDF_LIMIT, "%s", text);
}

/* ------------------------------------------------------------------ memory */

static const char *const steady_models[] = {
    NODE(LOOP("\"M\": 1000, \"v_initial\": [\"x\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"y\"], \"outputs\": "
              "[\"c\", \"z\"]}, "
              "\"nodes\": {\"s\": {\"input_ports\": {\"y\": {}}, \"parameters\": {\"a\": {\"function\": \"onnx::Mul\", \"args\": "
              "{\"A\": \"y\", "
              "\"B\": 0.5}}}, \"output_ports\": {\"z\": {\"value\": \"a + 1.0\"}}}}}")),
    NODE(
        "\"parameters\": {\"xs\": {\"value\": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}, \"h\": {\"value\": [0.0, 0.0]}, \"s\": "
        "{\"function\": "
        "\"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": \"[h, xs]\", \"num_scan_inputs\": 1, \"body\": {\"b\": "
        "{\"metadata\": "
        "{\"inputs\": [\"t\", \"x\"], \"outputs\": [\"u\", \"y\"]}, \"nodes\": {\"s\": {\"input_ports\": {\"t\": {}, \"x\": {}}, "
        "\"output_ports\": {\"u\": {\"value\": \"0.5 * t + x\"}, \"y\": {\"value\": \"numpy.tanh(t)\"}}}}}}}}}, "
        "\"output_ports\": {\"u\": "
        "{\"value\": \"s[0]\"}, \"y\": {\"value\": \"s[1]\"}}"),
    NODE("\"parameters\": {\"v\": {\"default_initial_value\": 0.1, \"time_derivative\": \"v - v ** 3 / 3 - w + 0.8\"}, \"w\": "
         "{\"default_initial_value\": 0.0, \"time_derivative\": \"0.08 * (v + 0.7 - 0.8 * w)\"}}, \"output_ports\": {\"v\": "
         "{\"value\": \"v\"}}"),
};

/* Once shapes are stable, an evaluation asks for no memory: a Loop, a Scan, FitzHugh-Nagumo. */
Test(engine, steady_evaluations_allocate_nothing)
{
    for (size_t i = 0; i < sizeof steady_models / sizeof *steady_models; i++) {
        struct counter counter = {0};
        mdf_allocator allocator = failing_allocator(&counter);
        mdf_options options = {.allocator = &allocator};
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_bytes(steady_models[i], strlen(steady_models[i]), "json", "m", &options, &error);
        mdf_program *program = mdf_compile(model, &options, &error);
        mdf_state *state = mdf_state_new(program, &error);
        size_t before;

        for (int step = 0; step < 5; step++) {
            cr_assert_eq(mdf_evaluate(state, 0.01, &error), MDF_OK, "%s", error.message);
        }
        before = counter.n_calls;
        for (int step = 0; step < 20; step++) {
            mdf_evaluate(state, 0.01, &error);
        }
        cr_expect_eq(counter.n_calls, before, "model %zu: %zu allocations", i, counter.n_calls - before);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(model);
        cr_expect_eq(counter.n_blocks, (size_t)0, "model %zu leaks", i);
    }
}

/* Whichever allocation fails, the error says so and all memory is given back. */
Test(engine, a_failing_allocation_is_an_error_like_any_other)
{
    for (size_t i = 0; i < sizeof steady_models / sizeof *steady_models; i++) {
        mdf_status status = MDF_OUT_OF_MEMORY;
        char text[2600];

        for (size_t n = 1; status != MDF_OK && n < 5000; n++) {
            struct counter counter = {.fail_at = n};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_options options = {.allocator = &allocator};

            status = run(steady_models[i], &options, 3, 0.01, text, sizeof text);
            cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "model %zu, allocation %zu: %s", i, n, text);
            cr_assert_eq(counter.n_blocks, (size_t)0, "model %zu, allocation %zu leaks", i, n);
        }
        cr_expect_eq(status, MDF_OK);
    }
}

/* The same of each piece that is cut from a chunk of memory: of each case some, of all cases together any. */
Test(engine, any_piece_of_memory_may_be_refused)
{
    for (size_t i = 0; i < sizeof good_cases / sizeof *good_cases; i++) {
        expect_pieces_refused(
            good_cases[i].model,
            &(struct piece_run){.format = "json", .steps = 3, .dt = good_cases[i].dt, .first = 1 + i % 9, .stride = 9});
    }
    for (size_t i = 0; i < sizeof steady_models / sizeof *steady_models; i++) {
        expect_pieces_refused(steady_models[i], &(struct piece_run){.format = "json", .steps = 3, .dt = 0.01});
    }
}
