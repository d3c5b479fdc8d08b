/* test_compile_lanes.c - mdf-compile --lanes: instances side by side in generated source have the bits of each alone. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile_lanes, .init = compile_set_up, .fini = compile_tear_down);

/* Each lane has the bits of a state by itself: parameters, inputs, seeds, arrays, whole numbers, conditions. */
static const char lanes_model[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"i\": {\"type\": \"float\", \"shape\": [2]}}, \"parameters\": {"
    "\"p\": {\"value\": 0.5}, \"q\": {\"value\": [1.5, 2.5]}, \"w\": {\"value\": [[0.5, -0.25], [1.0, 0.75]]}, "
    "\"x\": {\"default_initial_value\": [0.1, 0.2], \"value\": \"numpy.tanh(numpy.dot(w, x) * p + i)\"}, "
    "\"k\": {\"default_initial_value\": 1, \"value\": \"2 * k + 1 if k < 100 * p else k - 7\"}, "
    "\"y\": {\"default_initial_value\": 0.0, \"value\": \"0.9 * y + p * numpy.random.normal() + x[1] / k + 0.1 * (v if k > 20 else 0)\"}, "
    "\"v\": {\"default_initial_value\": 0.25, \"time_derivative\": \"v - v * v * v / 3 + p\"}}, "
    "\"output_ports\": {\"x\": {\"value\": \"x\"}, \"y\": {\"value\": \"y\"}, \"k\": {\"value\": \"k\"}, \"v\": {\"value\": \"v\"}, "
    "\"c\": {\"value\": \"q\"}}}}}}}}";

static const char lanes_program[] =
    "#include \"m.h\"\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n"
    "static struct m one[m_n_lanes];\nstatic struct m_lanes all;\nstatic int n_wrong, n_same;\n"
    "static void hold(int output, size_t n, size_t size)\n{\n    const char *wide = m_lanes_output(&all, output);\n\n"
    "    for (size_t lane = 0; lane < m_n_lanes; lane++) {\n        const char *alone = m_output(&one[lane], output);\n\n"
    "        for (size_t i = 0; i < n; i++) {\n"
    "            int differs = memcmp(wide + (i * m_n_lanes + lane) * size, alone + i * size, size) != 0;\n\n"
    "            n_wrong += differs;\n            n_same += !differs;\n        }\n    }\n}\n"
    "int main(void)\n{\n    double *p, input[2][m_n_lanes], own[2];\n\n    m_lanes_init(&all);\n"
    "    p = m_lanes_parameter(&all, m_parameter_n_p);\n"
    "    for (size_t lane = 0; lane < m_n_lanes; lane++) {\n        m_init(&one[lane]);\n        m_seed(&one[lane], 100 + lane);\n"
    "        m_lanes_seed(&all, lane, 100 + lane);\n        p[lane] = 0.1 + 0.17 * (double)lane;\n"
    "        *(double *)m_parameter(&one[lane], m_parameter_n_p) = p[lane];\n    }\n"
    "    for (int step = 0; step < 50; step++) {\n        double dt = step == 0 ? NAN : 0.05;\n\n"
    "        for (size_t lane = 0; lane < m_n_lanes; lane++) {\n"
    "            input[0][lane] = own[0] = 0.01 * step + (double)lane;\n            input[1][lane] = own[1] = 0.3 * (double)lane;\n"
    "            if (m_set_input(&one[lane], m_input_n_i, own) != 0 || m_step(&one[lane], dt) != 0) {\n"
    "                return 1;\n            }\n        }\n"
    "        if (m_lanes_set_input(&all, m_input_n_i, input) != 0 || m_lanes_step(&all, dt) != 0) {\n            return 2;\n        }\n"
    "        hold(m_output_n_x, 2, sizeof(double));\n        hold(m_output_n_y, 1, sizeof(double));\n"
    "        hold(m_output_n_k, 1, sizeof(int64_t));\n        hold(m_output_n_v, 1, sizeof(double));\n"
    "        hold(m_output_n_c, 2, sizeof(double));\n    }\n"
    "    printf(\"%d %d %d\", n_wrong, n_same, m_lanes_size() == sizeof all);\n    return 0;\n}\n";

Test(compile_lanes, instances_side_by_side_have_the_bits_of_each_alone)
{
    static const int lanes[] = {2, 8, 16};
    char *output = compile_new_output(), told[64];
    size_t i;

    compile_write_file("m.json", lanes_model);
    compile_write_file("main.c", lanes_program);
    for (i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        cr_expect_eq(compile_run(output,
                                 "$BUILD/mdf-compile %s/m.json --name m --dt 0.05 --tunable n.p --lanes %d -o %s/m.h 2>&1",
                                 compile_folder, lanes[i], compile_folder),
                     0, "%s", output);
        cr_expect_eq(compile_run(output,
                         "cd %s && ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror %s -ffp-contract=off main.c m.c -o main -lm && "
                         "./main 2>&1",
                         compile_folder, lanes[i] == 8 ? "-O2" : "-O0"),
                     0, "%.1000s", output);
        snprintf(told, sizeof told, "0 %d 1", 50 * 7 * lanes[i]);
        cr_expect_str_eq(output, told);
    }
    free(output);
}

/* Nodes with conditions, and graphs within nodes at two depths, whose states differ by lane: which nodes have run does too. */
static const char parting_model[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"spare\": {\"input_ports\": {\"h\": {\"type\": \"float16\"}}}, \"a\": {\"input_ports\": {\"i\": {\"type\": \"float\", \"shape\": []}}, \"parameters\": {"
    "\"p\": {\"value\": 0.5}, \"x\": {\"default_initial_value\": 0.0, \"value\": \"x + i * p\"}}, \"output_ports\": {\"x\": {\"value\": \"x\"}}}, "
    "\"b\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"n\": {\"default_initial_value\": 0, \"value\": \"n + 1\"}}, "
    "\"output_ports\": {\"n\": {\"value\": \"n\"}, \"y\": {\"value\": \"x * 2\"}}}, "
    "\"c\": {\"input_ports\": {\"x\": {}}, \"graph\": {\"inner\": {\"nodes\": {\"d\": {\"input_ports\": {\"x\": {}}, \"parameters\": "
    "{\"s\": {\"default_initial_value\": 1.0, \"value\": \"0.5 * s + x\"}}, \"graph\": {\"innermost\": {\"nodes\": {\"e\": {\"input_ports\": "
    "{\"s\": {}}, \"parameters\": {\"t\": {\"default_initial_value\": [1.0, 2.0], \"value\": \"t * 0.5 + s\"}}, \"output_ports\": "
    "{\"t\": {\"value\": \"t\"}}}}}}, \"output_ports\": {\"t\": {\"value\": \"t\"}}}}}}, \"output_ports\": {\"t\": {\"value\": \"t\"}}}}, "
    "\"edges\": {\"e1\": {\"sender\": \"a\", \"sender_port\": \"x\", \"receiver\": \"b\", \"receiver_port\": \"x\"}, "
    "\"e2\": {\"sender\": \"a\", \"sender_port\": \"x\", \"receiver\": \"c\", \"receiver_port\": \"x\"}}%s}}}}";
static const char parting_conditions[] =
    ", \"conditions\": {\"node_specific\": {\"b\": {\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"a\", \"parameter\": \"x\", "
    "\"threshold\": 1.5, \"comparator\": \">=\"}}}, \"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"kwargs\": "
    "{\"n\": 3}}}}";

Test(compile_lanes, instances_whose_nodes_run_apart_have_the_bits_of_each_alone)
{
    static const char program[] =
        "#include \"model.h\"\n#include <math.h>\n#include <stdio.h>\nstatic struct model_lanes s;\n"
        "int main(void)\n{\n    double i[4] = {0, 2, 8, -1};\n    const double *y;\n\n    model_lanes_init(&s);\n"
        "    ((double *)model_lanes_parameter(&s, model_parameter_a_p))[2] = 0.25;\n"
        "    model_lanes_set_input(&s, model_input_a_i, i);\n    printf(\"%d\", model_lanes_step(&s, NAN));\n"
        "    y = model_lanes_output(&s, model_output_b_y);\n    if (y == NULL) {\n        return 1;\n    }\n"
        "    for (size_t lane = 0; lane < 4; lane++) {\n"
        "        printf(\" %d %g\", model_lanes_has_output(&s, model_output_b_y, lane), y[lane]);\n    }\n    return 0;\n}\n";
    char *output = compile_new_output(), model[4000];
    size_t i;

    for (i = 0; i < 2; i++) {
        snprintf(model, sizeof model, parting_model, i == 0 ? parting_conditions : "");
        compile_write_file("model.json", model);
        cr_expect_eq(
            compile_run(output,
                        "$BUILD/mdf-compile %s/model.json --name model --tunable a.p --lanes 4 -i a.i=1 -o %s/model.h 2>&1",
                        compile_folder, compile_folder),
            0, "%s", output);
        cr_expect_eq(compile_run(output,
                         "${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -ffp-contract=off -I. -I%s "
                         "tests/random/drivers/lanes_driver.c -o %s/driver -lm 2>&1 && %s/driver 12 nan",
                         compile_folder, compile_folder, compile_folder),
                     0, "%s", output);
    }
    snprintf(model, sizeof model, parting_model, parting_conditions);
    compile_write_file("model.json", model);
    compile_write_file("main.c", program);
    cr_expect_eq(compile_run(output,
                     "$BUILD/mdf-compile %s/model.json --name model --tunable a.p --lanes 4 -i a.i=1 -o %s/model.h 2>&1 && cd %s && "
                     "${CC:-cc} -std=c11 -O0 -ffp-contract=off main.c model.c -o main -lm && ./main",
                     compile_folder, compile_folder, compile_folder),
                 0, "%s", output);
    cr_expect_str_eq(output, "0 0 0 0 0 1 4 0 0");
    free(output);
}

/* Outputs that nothing but the caller asks for: a constant, an array without elements, and a number of 4 bits; of a node that runs, and of one that
 * waits for itself. */
Test(compile_lanes, outputs_that_are_constants_or_empty_are_there_in_each)
{
    static const char model[] =
        "{\"model\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"p\": {\"value\": 3.5}, \"q\": {\"value\": \"numpy.zeros(0)\"}, "
        "\"r\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"p\", \"to\": 21}}}, "
        "\"output_ports\": {\"x\": {\"value\": \"p\"}, \"y\": {\"value\": \"q\"}, \"z\": {\"value\": \"r\"}}}}, \"conditions\": {\"node_specific\": {\"n\": %s}, "
        "\"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": 2}}}}}}}}";
    static const char *const conditions[] = {"{\"type\": \"Always\"}",
                                             "{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"n\", \"n\": 1}}"};
    char *output = compile_new_output(), text[1000];

    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, model, conditions[i]);
        compile_write_file("model.json", text);
        cr_expect_eq(compile_run(output,
                         "$BUILD/mdf-compile %s/model.json --name model --lanes 4 -o %s/model.h 2>&1 && "
                         "${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -ffp-contract=off -I. -I%s "
                         "tests/random/drivers/lanes_driver.c -o %s/driver -lm 2>&1 && %s/driver 3 nan",
                         compile_folder, compile_folder, compile_folder, compile_folder, compile_folder),
                     0, "%s", output);
    }
    free(output);
}

/* A lane that fails is told. */
Test(compile_lanes, a_lane_that_fails_is_told)
{
    static const char program[] =
        "#include \"r.h\"\n#include <math.h>\n#include <stdio.h>\nstatic struct r_lanes s;\n"
        "int main(void)\n{\n    double a[4] = {2, 3, 0, 0};\n\n    r_lanes_init(&s);\n    r_lanes_set_input(&s, r_input_solver_a, a);\n"
        "    printf(\"%d \", r_lanes_step(&s, NAN));\n    printf(\"%d %s\", (int)s.failed_lane, r_lanes_message(&s));\n    return 0;\n}\n";
    char *output = compile_new_output();

    compile_write_file("main.c", program);
    cr_expect_eq(
        compile_run(output, "$BUILD/mdf-compile examples/newton_sqrt.json --name r --lanes 4 -o %s/r.h 2>&1", compile_folder), 0,
        "%s", output);
    cr_expect_eq(compile_run(output, "cd %s && ${CC:-cc} -std=c11 -O0 -ffp-contract=off main.c r.c -o main -lm && ./main 2>&1",
                             compile_folder),
                 0);
    cr_expect_str_eq(output, "1 2 node 'solver': division by zero");
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile examples/cooling.yaml --lanes 6 -o %s/t.h 2>&1", compile_folder), 2);
    cr_expect(strstr(output, "--lanes must be a power of two") != NULL, "%s", output);
    free(output);
}
