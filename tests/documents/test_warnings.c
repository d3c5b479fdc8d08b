/* test_warnings.c - what a file may do, but not silently: each warning with its place, once. A mistake that is an error is a row
 * of test_faults.c. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define GRAPH(content) "{m: {graphs: {g:\n {" content "}}}}"
#define NODE(content) GRAPH("nodes: {n:\n  {" content "}}")
#define FUNCTION(name, args)                                                                                                  \
    NODE("input_ports: {x: {default_value: 1.5}}, functions: {f: {function: '" name "',\n args: {" args "}}}, output_ports: " \
         "{o: {value: f}}")
#define TWO_EDGES(port)                                                                                                       \
    GRAPH("nodes: {a: {output_ports: {o: {value: 1}}}, b: {output_ports: {o: {value: 2}}},\n"                                 \
          " c: {input_ports: {i: {" port "}}, output_ports: {o: {value: i}}}},\n"                                             \
          " edges: {e: {sender: a, receiver: c, sender_port: o, receiver_port: i}, d: {sender: b, receiver: c, sender_port: " \
          "o, receiver_port: i}}")

static const struct {
    const char *model, *warned; /* of each warning a line; "": none */
} cases[] = {
    /* arguments that a function does not have */
    {FUNCTION("linear", "variable0: x, slope: 2, intercept: 1"), ""},
    {FUNCTION("linear", "variable0: x, slope: 2, intercept: 1, intercpt: 7"),
     "m.yaml:4:57 node 'n', function 'f', argument 'intercpt': function 'linear' has no such argument: it is ignored; did you "
     "mean 'intercept'?\n"},
    {FUNCTION("logistic", "variable0: x, gain: 1, bias: 0, offset: 0, no_such: 7"),
     "m.yaml:4:61 node 'n', function 'f', argument 'no_such': function 'logistic' has no such argument: it is ignored (it has "
     "variable0, gain, bias, offset)\n"},
    /* one that another reads is a step on the way */
    {FUNCTION("linear", "half: 'x / 2', variable0: half, slope: 2, intercept: 1"), ""},
    /* PsyNeuLink's exporter writes all parameters of a class: what changes nothing is no mistake, what would is one */
    {FUNCTION("logistic", "variable0: x, gain: 1, bias: 0, offset: 0, x_0: 0, scale: 1.0"), ""},
    {FUNCTION("logistic", "variable0: x, gain: 1, bias: 0, offset: 0, x_0: 0, scale: 3.0"),
     "m.yaml:4:67 node 'n', function 'f', argument 'scale': function 'logistic' has no such argument: it is ignored (it has "
     "variable0, gain, bias, offset)\n"},
    {FUNCTION("linear", "variable0: x, slope: 2, intercept: 1, scale: [[1.0, 1.0]], offset: [0]"), ""},
    {FUNCTION("tanh", "variable0: x, scale: 1, gain: 2"),
     "m.yaml:4:39 node 'n', function 'f', argument 'gain': function 'tanh' has no such argument: it is ignored (it has "
     "variable0, scale)\n"},
    {FUNCTION("relu", "variable0: x, gain: 1, laek: 0.5"),
     "m.yaml:4:38 node 'n', function 'f', argument 'laek': function 'relu' has no such argument: it is ignored; did you mean "
     "'leak'?\n"},
    {FUNCTION("simpleintegrator", "variable0: x, initializer: 1, rate: 2"), ""},
    {FUNCTION("leakycompetingintegrator", "variable0: x, leak: 1, nois: 2"),
     "m.yaml:4:38 node 'n', function 'f', argument 'nois': function 'leakycompetingintegrator' has no such argument: it is "
     "ignored; did you mean 'noise'?\n"},
    {FUNCTION("drift_diffusion_integrator",
              "starting_point: 0, non_decision_time: 0, drift_rate: 1, threshold: 0.1, noise: 0, dtt: 1"),
     "m.yaml:4:96 node 'n', function 'f', argument 'dtt': function 'drift_diffusion_integrator' has no such argument: it is "
     "ignored; did you mean 'dt'?\n"},
    {FUNCTION("chunk_to_string", "chunk: {name: a}, chnk: 3"),
     "m.yaml:4:33 node 'n', function 'f', argument 'chnk': function 'chunk_to_string' has no such argument: it is ignored; did "
     "you mean 'chunk'?\n"},
    {FUNCTION("onnx::LeakyRelu", "X: '[x]', alpa: 0.5"),
     "m.yaml:4:19 node 'n', function 'f': onnx::LeakyRelu has no input or attribute 'alpa'; it is ignored; did you mean "
     "'alpha'?\n"},
    {FUNCTION("onnx::Concat", "x0: '[x]', x1: '[x]', axis: 0"), ""},
    /* an optional input is what the call says, not what happens to have its name */
    {NODE("input_ports: {x: {default_value: [[1.5]]}, C: {default_value: 2.0}},\n"
          " functions: {f: {function: 'onnx::Gemm', args: {A: x, B: x}}}, output_ports: {o: {value: f}}"),
     "m.yaml:4:17 node 'n', function 'f': the optional input 'C' of onnx::Gemm is left out, though the node has something of "
     "that "
     "name: write it in 'args', or null there\n"},
    {NODE("input_ports: {x: {default_value: [[1.5]]}, C: {default_value: 2.0}},\n"
          " functions: {f: {function: 'onnx::Gemm', args: {A: x, B: x, C: null}}}, output_ports: {o: {value: f}}"),
     ""},
    {NODE("input_ports: {A: {default_value: [[1.5]]}, B: {default_value: [[2.0]]}, C: {default_value: 2.0}},\n"
          " functions: {f: {function: 'onnx::Gemm'}}, output_ports: {o: {value: f}}"),
     ""},
    {FUNCTION("onnx::Concat", "inputs: '[[x], [x]]', axis: 0, axs: '[x]'"),
     "m.yaml:4:40 node 'n', function 'f': onnx::Concat has no input or attribute 'axs'; it is taken as one more input; did you "
     "mean 'axis'?\n"},
    /* what has an initial value is compiled twice, and told once */
    {NODE("parameters: {p: {value: 'q'}, q: {function: linear, args: {variable0: 1, slope: 2, intercept: 1, slop: 3}}},\n"
          "output_ports: {o: {value: p}}"),
     "m.yaml:3:107 node 'n', parameter 'q', argument 'slop': function 'linear' has no such argument: it is "
     "ignored; did you mean 'slope'?\n"},
    /* several edges into a port */
    {TWO_EDGES(""),
     "m.yaml:3:23 node 'c', input port 'i': 2 edges ('e', 'd') lead into it, and it does not say how they are reduced: the last "
     "one that brings a value counts; give it a \"reduce\": \"overwrite\", \"add\" or \"multiply\"\n"},
    {TWO_EDGES("reduce: overwrite"), ""},
    {TWO_EDGES("reduce: add"), ""},
    /* a condition that never holds */
    {NODE("parameters: {p: {value: 1, conditions: {c: {value: 2}}}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:47 node 'n', parameter 'p', condition 'c': it has no 'test': it never holds\n"},
    {NODE("parameters: {p: {value: 1, conditions: [{id: c, test: null}]}}, output_ports: {o: {value: p}}"),
     "m.yaml:3:44 node 'n', parameter 'p', condition 'c': it has no 'test': it never holds\n"},
};

static void write_down(void *context, const mdf_error *warning)
{
    char *text = context;

    snprintf(text + strlen(text), 2000 - strlen(text), "%s:%d:%d %s: %s\n", warning->file, warning->line, warning->column,
             warning->path, warning->message);
}

Test(warnings, have_a_place_and_a_cure)
{
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char warned[2000] = "";
        mdf_options options = {.warning = write_down, .warning_context = warned};
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_bytes(cases[i].model, strlen(cases[i].model), "yaml", "m.yaml", &options, &error);
        mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
        mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

        cr_expect(state != NULL && mdf_evaluate(state, 0, &error) == MDF_OK, "%s\n%s", cases[i].model, error.message);
        cr_expect_str_eq(warned, cases[i].warned, "%s\nwarns %s\nnot   %s", cases[i].model, warned, cases[i].warned);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(model);
    }
}
