/* test_compile_inputs.c - what generated C makes of inputs, default values and what arrives at ports: it is of the declared type
 * and keeps its value, or is refused. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile_inputs, .init = compile_set_up, .fini = compile_tear_down);

/* What holds a fraction at first can not be a whole number later. */
Test(compile_inputs, a_first_value_that_would_lose_its_fraction_is_refused)
{
    char *output = compile_new_output();

    compile_write_file(
        "first.json", "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"i\": {}}, \"output_ports\": {\"o\": "
                      "{\"value\": 2, \"default_initial_value\": 2.5}, \"p\": {\"value\": \"i\"}}}}, \"edges\": {\"e\": "
                      "{\"sender\": \"n\", \"sender_port\": \"o\", \"receiver\": \"n\", \"receiver_port\": \"i\"}}}}, "
                      "\"generating_application\": \"PsyNeuLink\"}}");
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/first.json -o %s/first.c 2>&1", compile_folder, compile_folder), 1,
                 "%s", output);
    cr_expect(strstr(output, "output port 'o' is real at first and int64 later; give it real numbers") != NULL, "%s", output);
    free(output);
}

/* A variable of C has one type: that of the input that is given can not hold the default value, which counts where none is. */
Test(compile_inputs, a_default_value_that_would_lose_its_fraction_is_refused)
{
    char *output = compile_new_output();

    compile_write_file("lossy.json",
                       "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"default_value\": 1.5}}, "
                       "\"output_ports\": {\"o\": {\"value\": \"x\"}}}}}}}}");
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile %s/lossy.json -i x=2 2>&1", compile_folder), 1);
    cr_expect(strstr(output, "input port 'x' is given int64, which can not hold its default value; give it real numbers") != NULL,
              "%s", output);
    cr_expect_eq(
        compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/lossy.json -i x=2.0 2>&1", compile_folder), 0,
        "%s", output);
    free(output);
}

/* An input that must be given, and is not, need not be known to find types and shapes by, where these are declared; a run has to
 * have it. */
Test(compile_inputs, zeros_stand_in_for_inputs_of_declared_shape)
{
    char *output = compile_new_output();

    compile_write_file("open.json",
                       "{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"inputs\": [\"x\", \"n\"]}, \"nodes\": {\"A\": "
                       "{\"input_ports\": {\"x\": {\"type\": "
                       "\"float32\", \"shape\": [2]}, \"n\": {}}, \"output_ports\": {\"o\": {\"value\": \"x * 2 + n\"}}}}}}}}");
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/open.json -o %s/open.c 2>&1", compile_folder, compile_folder), 1);
    cr_expect(strstr(output, "the graph's input 'n' has no value") != NULL, "%s", output);
    cr_expect_eq(
        compile_run(output, "$BUILD/mdf-compile %s/open.json -i n=[1,2] -o %s/open.c 2>&1", compile_folder, compile_folder), 0,
        "%s", output);
    cr_expect(strstr(output, "warning: the input 'x' has no value: zeros of its declared type and shape stand in") != NULL &&
                  strstr(output, "input 'n'") == NULL,
              "%s", output);
    cr_expect_eq(compile_run(output, "grep -F 'float32[2]' %s/open.c", compile_folder), 0, "%s", output);
    cr_expect_eq(
        compile_run(output, "CC=%s $BUILD/mdf-run --compile %s/open.json -i n=[1,2] 2>&1", compile_quick, compile_folder), 1);
    cr_expect(strstr(output, "the graph's input 'x' has no value") != NULL, "%s", output);
    free(output);
}

/* What a port of few bits does not hold is an error there too, whether or not something reads the port. */
Test(compile_inputs, a_number_that_a_narrow_port_does_not_hold_is_an_error)
{
    static const struct {
        const char *value, *first;
    } cases[] = {{"x", "\"y\": -80"}, {"\"7\"", "\"y\": 7"}};
    char *output = compile_new_output(), model[512];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(
            model, sizeof model,
            "m: {graphs: {g: {nodes: {A: {parameters: {k: {default_initial_value: 0, value: k * -3 + 1}}, output_ports: {o: "
            "{value: k * 40}}}, B: {input_ports: {x: {type: int8}}, output_ports: {y: {value: %s}}}}, edges: {e: {sender: A, "
            "sender_port: o, receiver: B, receiver_port: x}}, conditions: {node_specific: {B: {type: EveryNCalls, kwargs: "
            "{dependency: A, n: 2}}}}}}}",
            cases[i].value);
        compile_write_file("narrow.yaml", model);
        cr_expect_eq(
            compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/narrow.yaml 2>&1", compile_folder), 0);
        cr_expect(strstr(output, cases[i].first) != NULL, "%s", output);
        cr_expect_eq(
            compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/narrow.yaml -n 2 2>&1", compile_folder),
            1);
        cr_expect(strstr(output, "a value does not fit the declared type of an input port (compiled) (step 2)") != NULL, "%s",
                  output);
    }
    free(output);
}

/* Nor can it hold a fraction that is given where the other steps have whole numbers. */
Test(compile_inputs, an_input_that_would_lose_its_fraction_is_refused)
{
    char *output = compile_new_output();

    compile_write_file("whole.json",
                       "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"default_value\": 3}}, "
                       "\"output_ports\": {\"o\": {\"value\": \"x / 1\"}}}}}}}}");
    compile_write_file("inputs.json", "[{\"x\": 0.5}, {}, {}, {}]");
    cr_expect_eq(
        compile_run(output,
                    "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/whole.json --inputs %s/inputs.json --steps 4 2>&1",
                    compile_folder, compile_folder),
        1);
    cr_expect(strstr(output, "input 'x' is float64 scalar, but the model was compiled for 1 elements of type int64") != NULL,
              "%s", output);
    compile_write_file("inputs.json", "[{\"x\": 5.0}, {}, {}, {}]");
    cr_expect_eq(
        compile_run(output,
                    "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/whole.json --inputs %s/inputs.json --steps 4 2>&1",
                    compile_folder, compile_folder),
        0, "%s", output);
    free(output);
}
