/* test_cli.c - the programs as a user calls them: exit status, standard output, standard error, files. */
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(cli, .init = cli_set_up, .fini = cli_tear_down);

/* ------------------------------------------------------------------ what is computed */

Test(cli, output)
{
    static const struct {
        const char *arguments, *output;
    } cases[] = {
        {"tests/data/two_nodes.json",
         "{\"model\": \"two_nodes\", \"graph\": \"chain\", \"steps\": 1,\n \"results\": {\"y\": 3.0, \"total\": 3.0},\n"
         " \"outputs\": {\"A\": {\"y\": 3.0}, \"B\": {\"y\": 3.0, \"total\": 3.0}}}\n"},
        {"--graph other tests/data/two_nodes.json",
         "{\"model\": \"two_nodes\", \"graph\": \"other\", \"steps\": 1,\n \"results\": {\"three\": 3},\n"
         " \"outputs\": {\"C\": {\"three\": 3}}}\n"},
        {"tests/data/two_nodes.json -i 'x=[1, 2.5]' --record A.y --trace -n 2",
         "{\"model\": \"two_nodes\", \"graph\": \"chain\", \"steps\": 2,\n \"results\": {\"y\": [2.0, 5.0], \"total\": [4.0, "
         "10.0]},\n"
         " \"outputs\": {\"A\": {\"y\": [2.0, 5.0]}},\n \"trace\": [\n"
         "  {\"time\": null, \"outputs\": {\"A\": {\"y\": [2.0, 5.0]}}, \"schedule\": [[\"A\"], [\"B\"]]},\n"
         "  {\"time\": null, \"outputs\": {\"A\": {\"y\": [2.0, 5.0]}}, \"schedule\": [[\"A\"], [\"B\"]]}]}\n"},
        {"tests/data/decay.yaml --steps 3 --dt 0.5 --trace",
         "{\"model\": \"decay\", \"graph\": \"g\", \"steps\": 3,\n \"results\": {\"v\": 2.0},\n \"outputs\": {\"N\": {\"v\": "
         "2.0}},\n"
         " \"trace\": [\n"
         "  {\"time\": 0.0, \"outputs\": {\"N\": {\"v\": 8.0}}, \"schedule\": [[\"N\"]]},\n"
         "  {\"time\": 0.5, \"outputs\": {\"N\": {\"v\": 4.0}}, \"schedule\": [[\"N\"]]},\n"
         "  {\"time\": 1.0, \"outputs\": {\"N\": {\"v\": 2.0}}, \"schedule\": [[\"N\"]]}]}\n"},
        {"tests/data/two_nodes.json --typed --float32 --record total --input A.x=0.5",
         "{\"model\": \"two_nodes\", \"graph\": \"chain\", \"steps\": 1,\n"
         " \"results\": {\"y\": {\"type\": \"float32\", \"shape\": [], \"data\": [1.0]}, "
         "\"total\": {\"type\": \"float32\", \"shape\": [], \"data\": [1.0]}},\n"
         " \"outputs\": {\"B\": {\"total\": {\"type\": \"float32\", \"shape\": [], \"data\": [1.0]}}}}\n"},
        {"- --from json < tests/data/two_nodes.json --record A.y",
         "{\"model\": \"two_nodes\", \"graph\": \"chain\", \"steps\": 1,\n \"results\": {\"y\": 3.0, \"total\": 3.0},\n"
         " \"outputs\": {\"A\": {\"y\": 3.0}}}\n"},
        {"tests/data/two_nodes.json --check", ""},
        {"tests/data/two_nodes.json --schedule --steps 2", "step 1\n  pass 1   A | B\nstep 2\n  pass 1   A | B\n"},
        {"examples/slow_and_fast.yaml --schedule",
         "step 1\n  pass 1   fast, slow | fuse\n  pass 2   fast\n  pass 3   fast\n  pass 4   fast, slow | fuse\n  pass 5   fast\n"
         "  pass 6   fast\n  pass 7   fast, slow | fuse\n"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run %s", cases[i].arguments);

        cr_expect(outcome->exit_status == 0, "%s: exit status %d", cases[i].arguments, outcome->exit_status);
        cr_expect_str_eq(outcome->output, cases[i].output, "%s gives %s", cases[i].arguments, outcome->output);
        cr_expect_str_eq(outcome->errors, "", "%s says %s", cases[i].arguments, outcome->errors);
    }
}

Test(cli, inputs_from_files)
{
    static const char expected[] = "A.y\n2\n10\n3.0\n";
    const struct cli_outcome *outcome;
    char text[CLI_TEXT_SIZE];

    cli_write_file(cli_in_folder("list.json"), "[{\"x\": 1}, {\"A.x\": {\"type\": \"int64\", \"shape\": [], \"data\": [5]}}]");
    outcome = cli_call("mdf-run tests/data/two_nodes.json --inputs %s/list.json -n 3 --trace --record A.y -o %s/r.csv",
                       cli_folder, cli_folder);
    cr_expect(outcome->exit_status == 0, "%s", outcome->errors);
    cr_expect_str_eq(outcome->output, "");
    cli_read_file(cli_in_folder("r.csv"), text);
    cr_expect_str_eq(text, expected, "%s", text);

    /* Of --schedule and --output, the one goes to standard output, the other to its file. */
    outcome = cli_call("mdf-run tests/data/two_nodes.json --schedule -o %s/s.json", cli_folder);
    cr_expect_str_eq(outcome->output, "step 1\n  pass 1   A | B\n");
    cli_read_file(cli_in_folder("s.json"), text);
    cr_expect(strncmp(text, "{\"model\": ", 10) == 0, "%s", text);

    /* An archive that one run wrote is the inputs of another, where nothing is called N.v: a warning. */
    cr_expect(cli_call("mdf-run tests/data/decay.yaml -o %s/v.npz", cli_folder)->exit_status == 0);
    outcome = cli_call("mdf-run tests/data/two_nodes.json --inputs %s/v.npz --record A.y", cli_folder);
    cr_expect(outcome->exit_status == 0 && strstr(outcome->errors, "v.npz: warning: ") != NULL, "%s", outcome->errors);

    cli_write_file(cli_in_folder("x.json"), "[4, 4]");
    outcome = cli_call("mdf-run tests/data/two_nodes.json -i x=@%s/x.json --record A.y", cli_folder);
    cr_expect(strstr(outcome->output, "\"outputs\": {\"A\": {\"y\": [8, 8]}}") != NULL, "%s", outcome->output);
}

Test(cli, repeats_start_afresh)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/two_nodes.json -n 2 --repeat 3 --time");

    cr_expect(strstr(outcome->output, "\"total\": 6.0") != NULL, "%s", outcome->output);
    cr_expect(strncmp(outcome->errors, "{\"load_s\": ", 11) == 0 && strstr(outcome->errors, "\"peak_bytes\": ") != NULL, "%s",
              outcome->errors);
}

Test(cli, output_file_replaces_the_old_one_or_leaves_it)
{
    char text[CLI_TEXT_SIZE];

    cli_write_file(cli_in_folder("r.json"), "old");
    cr_expect(cli_call("mdf-run tests/data/unknown_name.json -o %s/r.json", cli_folder)->exit_status == 1);
    cli_read_file(cli_in_folder("r.json"), text);
    cr_expect_str_eq(text, "old");
    cr_expect(cli_call("mdf-run tests/data/two_nodes.json -o %s/r.json", cli_folder)->exit_status == 0);
    cli_read_file(cli_in_folder("r.json"), text);
    cr_expect(strncmp(text, "{\"model\": \"two_nodes\"", 21) == 0, "%s", text);
    cr_expect(cli_call("mdf-run tests/data/two_nodes.json -o %s/nowhere/r.json", cli_folder)->exit_status == 1);
}

/* ------------------------------------------------------------------ --set */

Test(cli, sets_parameters_for_one_run)
{
    static const char cooled[] = "\"temperature\": 44.3,";

    cli_write_file(cli_in_folder("values.yaml"), "{cup.time_constant: 10, temperature: {type: float64, data: 50}}");
    cr_expect(
        strstr(cli_call("mdf-run examples/cooling.yaml -n 3 --dt 1 --set time_constant=10 --set cup.temperature=50.0")->output,
               cooled) != NULL);
    cr_expect(strstr(cli_call("mdf-run examples/cooling.yaml -n 3 --dt 1 --set @%s/values.yaml", cli_folder)->output, cooled) !=
              NULL);
    cr_expect(
        strstr(cli_call("mdf-run examples/cooling.yaml -n 3 --dt 1 --plain --set 'time_constant=\"5 + 5\"' --set temperature=50")
                   ->output,
               cooled) != NULL,
        "an expression, as the file may have one");
    cr_expect(strstr(cli_call("mdf-run examples/cooling.yaml -n 3 --dt 1 --compile --set @%s/values.yaml", cli_folder)->output,
                     cooled) != NULL);
}

/* ------------------------------------------------------------------ mdf-compile --tunable */

/* What the struct's fields are set to counts as if the model had it: two steps by the model's values, then others. */
static const char tuning[] = "#include <math.h>\n#include <stdio.h>\n#include \"cooling.h\"\n"
                             "int main(void)\n{\n"
                             "    static struct cooling s;\n"
                             "    cooling_init(&s);\n"
                             "    printf(\"%g %g %g\", s.cup_room, s.cup_time_constant, s.cup_temperature);\n"
                             "    s.cup_temperature = 50;\n"
                             "    cooling_step(&s, NAN);\n"
                             "    s.cup_time_constant = 10;\n"
                             "    cooling_step(&s, 1);\n"
                             "    cooling_step(&s, 1);\n"
                             "    printf(\" %.17g\", *(const double *)cooling_output(&s, cooling_output_cup_temperature));\n"
                             "    return 0;\n}\n";

Test(cli, tunable_parameters_are_fields)
{
    static const char *const tunable[] = {"all", "temperature,cup.room,time_constant"};
    char command[4 * CLI_PATH_SIZE], text[CLI_TEXT_SIZE];
    size_t i;

    cli_write_file(cli_in_folder("main.c"), tuning);
    for (i = 0; i < 2; i++) {
        cr_assert_eq(cli_call("mdf-compile examples/cooling.yaml --dt 1 --tunable %s -o %s/cooling.h", tunable[i], cli_folder)
                         ->exit_status,
                     0);
        snprintf(command, sizeof command,
                 "${CC:-cc} -std=c11 -Wall -Werror -ffp-contract=off -o %s/tune %s/main.c %s/cooling.c -lm && %s/tune >%s/tuned",
                 cli_folder, cli_folder, cli_folder, cli_folder, cli_folder);
        cr_assert_eq(system(command), 0);
        cli_read_file(cli_in_folder("tuned"), text);
        cr_expect_str_eq(text, "20 300 90 44.299999999999997");
    }
    cr_expect(strstr(cli_call("mdf-compile examples/cooling.yaml --tunable rom -o %s/c.h", cli_folder)->errors,
                     "no parameter is called 'rom'; did you mean 'room'?") != NULL);
    cr_expect(strstr(cli_call("mdf-compile examples/traffic_light.yaml --tunable nosuch -o %s/c.h", cli_folder)->errors,
                     "no parameter is called 'nosuch'") != NULL);
}

/* `all` is all constants, of graphs and of nodes within nodes too. */
Test(cli, tunable_all_goes_to_any_depth)
{
    char text[CLI_TEXT_SIZE];

    cli_write_file(
        cli_in_folder("nested.json"),
        "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\"shared\": {\"value\": 3.0}}, \"nodes\": {\"outer\": {\"graph\": "
        "{\"nodes\": {\"inner\": {\"parameters\": {\"gain\": {\"value\": 4.0}, \"y\": {\"value\": \"gain + shared\"}}, "
        "\"output_ports\": {\"out\": {\"value\": \"y\"}}}}}}}}}}}\n");
    cr_assert_eq(cli_call("mdf-compile %s/nested.json --tunable all -o %s/nested.h", cli_folder, cli_folder)->exit_status, 0);
    cli_read_file(cli_in_folder("nested.h"), text);
    cr_expect(strstr(text, "double shared; /*") != NULL && strstr(text, "double inner_gain; /*") != NULL, "%s", text);
    cr_expect(strstr(cli_call("mdf-compile %s/nested.json --tunable outer.inner.gain -o %s/c.h", cli_folder, cli_folder)->errors,
                     "no parameter is called 'outer.inner.gain'; did you mean 'inner.gain'?") != NULL);
}

/* ------------------------------------------------------------------ what is refused */

Test(cli, errors)
{
    static const struct {
        const char *arguments;
        int exit_status;
        const char *message;
    } cases[] = {
        {"tests/data/unknown_name.json", 1, "tests/data/unknown_name.json:2:44: error: node 'A', output port 'y': "},
        {"tests/data/nosuch.json", 1, "tests/data/nosuch.json: error: there is no such file"},
        {"tests/data/two_nodes.json --dump loops", 2, "--dump must be "},
        {"tests/data/two_nodes.json --explain --compile", 2, "--explain and --dump do not go with --compile"},
        {"tests/data/two_nodes.json --dump code --sweep s.json", 2, "of --dump lowered, nests and machine go with --sweep"},
        {"tests/data/two_nodes.json --dump lowered --sweep s.json -o s.zarr", 2, "--dump does not go with -o FOLDER.zarr"},
        {"tests/data/two_nodes.json --check --explain", 2,
         "--check evaluates nothing, without which there is nothing to explain"},
        {"tests/data/two_nodes.json --check --dump machine", 2, "nothing to dump but code and schedule"},
        {"tests/data/misspelt.json --strict", 1, "tests/data/misspelt.json:3:11: error: "},
        {"tests/data/two_nodes.json --max-memory 10", 1, "error: more than the 10 bytes"},
        {"tests/data/two_nodes.json --time-limit 0", 2,
         "mdf-run: error: --time-limit must be a number of seconds above 0, not '0'"},
        {"tests/data/two_nodes.json --time-limit 1e-9", 1, "this takes longer than --time-limit (time_limit_s) allows"},
        {"tests/data/decay.yaml -n 10000000000 --dt 1e-9 --time-limit 0.3", 1, "this takes longer than --time-limit"},
        {"tests/data/two_nodes.json --inputs tests/data/overlap.npz", 1, "the archive is damaged: its arrays share bytes"},
        {"tests/data/two_nodes.json -i x=@tests/data/huge_shape.npy", 1, "it has fewer bytes than its shape asks for"},
        {"tests/data/two_nodes.json --inputs tests/data/nosuch.npz", 1, "tests/data/nosuch.npz: error: "},
        {"tests/data/two_nodes.json --inputs README.md", 1, "README.md:1:1: error: "},
        {"", 2, "mdf-run: error: no model was given"},
        {"a.json b.json", 2, "mdf-run: error: more than one model was given"},
        {"--nope a.json", 2, "mdf-run: error: unknown option '--nope'"},
        {"a.json -n", 2, "mdf-run: error: there is no argument after the option '-n'"},
        {"a.json -n 0", 2, "mdf-run: error: --steps must be a whole number from 1 to 18446744073709551615, not '0'"},
        {"a.json -n -3", 2, "mdf-run: error: --steps must be a whole number from 1 to 18446744073709551615, not '-3'"},
        {"a.json --dt soon", 2, "mdf-run: error: --dt must be a finite number, not 'soon'"},
        {"a.json --max-memory 1X", 2, "mdf-run: error: --max-memory must be a number of bytes"},
        {"a.json --threads 0", 2, "mdf-run: error: --threads must be a whole number from 1 to 65536, not '0'"},
        {"a.json -i x", 2, "mdf-run: error: --input must have the form NAME=VALUE"},
        {"-", 2, "mdf-run: error: --from is needed"},
        {"Makefile", 2, "Makefile: error: the name's suffix is none of"},
        {"tests/data/two_nodes.json -g chian", 2, "mdf-run: error: the model has no graph 'chian'; did you mean 'chain'?"},
        {"tests/data/two_nodes.json -i 'x=[1,'", 2, "--input x:1:4: error: "},
        {"tests/data/two_nodes.json -i nosuch=1", 2, "mdf-run: error: no input port is called 'nosuch'"},
        {"examples/cooling.yaml -i room=1", 2,
         "mdf-run: error: 'room' is a parameter, no input port: another value of it is set before (--set, parameters=...)"},
        {"examples/cooling.yaml --set rom=1", 2, "mdf-run: error: no parameter is called 'rom'; did you mean 'room'?"},
        {"examples/cooling.yaml --set tea.room=1", 2,
         "mdf-run: error: no parameter is called 'tea.room'; did you mean 'cup.room'?"},
        {"examples/cooling.yaml -i rom=1", 2,
         "mdf-run: error: no input port is called 'rom'; there is a parameter 'room', another value of which is set before"},
        {"tests/data/two_nodes.json --set x=1", 2, "mdf-run: error: 'x' is an input port, no parameter: give it as an input"},
        {"examples/cooling.yaml --set room", 2, "mdf-run: error: --set must have the form NAME=VALUE"},
        {"examples/cooling.yaml --set @", 2, "mdf-run: error: --set must be NODE.PARAMETER=VALUE or @FILE"},
        {"examples/cooling.yaml --set 'room=[1,'", 2, "--set room:1:4: error: "},
        {"examples/cooling.yaml --set @tests/data/nosuch.json", 1, "tests/data/nosuch.json: error: there is no such file"},
        {"examples/cooling.yaml --set @tests/data/huge_shape.npy", 1, "tests/data/huge_shape.npy"},
        {"examples/cooling.yaml --set time_constant=1 --set 'cup.room=\"1 + rom\"'", 2,
         "--set cup.room:1:6: error: node 'cup', parameter 'room': name 'rom' is not known here\n    1 | \"1 + rom\"\n      |    "
         "  ^~~\n"},
        {"examples/cooling.yaml --set @tests/data/set_expression.json", 2,
         "tests/data/set_expression.json:3:15: error: node 'cup', parameter 'room': name 'rom' is not known here\n"},
        {"examples/cooling.yaml --set 'cup.room=rom'", 2,
         "--set cup.room:1:1: error: a value is expected, not 'rom'; a text or an expression stands in quotes within quotes: "
         "'NAME=\"x + 1\"'\n    1 | rom\n      | ^\n"},
        {"examples/slow_and_fast.yaml --max-passes 5", 1,
         "termination 'environment_state_update': the evaluation has not ended after 5 passes"},
        {"tests/data/two_nodes.json --record nosuch", 2,
         "mdf-run: error: --record: no output port is named 'nosuch'; there are: A.y, B.y"},
        {"tests/data/two_nodes.json --record totl", 2,
         "mdf-run: error: --record: no output port is named 'totl'; did you mean 'total'?"},
        {"tests/data/two_nodes.json --record y", 2, "mdf-run: error: --record: 2 output ports are named 'y'"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run %s", cases[i].arguments);

        cr_expect(outcome->exit_status == cases[i].exit_status, "%s: exit status %d", cases[i].arguments, outcome->exit_status);
        cr_expect_str_eq(outcome->output, "", "%s prints %s", cases[i].arguments, outcome->output);
        cr_expect(strstr(outcome->errors, cases[i].message) != NULL, "%s says %s", cases[i].arguments, outcome->errors);
    }
}

Test(cli, warnings)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/misspelt.json");

    cr_expect(outcome->exit_status == 0);
    cr_expect(strncmp(outcome->errors, "tests/data/misspelt.json:3:11: warning: ", 40) == 0, "%s", outcome->errors);

    /* A name in a file of inputs that no port has is told once, or refused. */
    cli_write_file(cli_in_folder("in.json"), "{\"nosuch\": 1, \"x\": 2}");
    outcome = cli_call("mdf-run tests/data/two_nodes.json --inputs %s/in.json -n 3 --repeat 2 --record A.y", cli_folder);
    cr_expect(outcome->exit_status == 0 && strstr(outcome->output, "\"outputs\": {\"A\": {\"y\": 4}}") != NULL, "%s",
              outcome->output);
    cr_expect(strstr(outcome->errors, "warning: no input port is called 'nosuch'") != NULL, "%s", outcome->errors);
    cr_expect(strstr(strstr(outcome->errors, "warning") + 1, "warning") == NULL, "%s", outcome->errors);
    outcome = cli_call("mdf-run tests/data/two_nodes.json --inputs %s/in.json --strict", cli_folder);
    cr_expect(outcome->exit_status == 1 && outcome->output[0] == '\0');
}

/* What a run would quietly take is told before it, and refused where warnings are errors. */
Test(cli, runs_that_lack_something)
{
    static const char decay[] = "tests/data/decay.yaml:8:16: warning: node 'N', parameter 'v': without a time increment its "
                                "time_derivative has no effect, and it stands still: give one (mdf-run --dt)\n";
    static const char *const fed[] = {"-i x=1", "-i n.x=1", "-i x=1 --check"};
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/decay.yaml --steps 3");
    size_t i;

    cr_expect(outcome->exit_status == 0, "%s", outcome->errors);
    cr_expect(strncmp(outcome->errors, decay, sizeof decay - 1) == 0, "%s", outcome->errors);
    cr_expect_eq(cli_call("mdf-run tests/data/decay.yaml --steps 3 --strict")->exit_status, 1);
    cr_expect_eq(cli_call("mdf-run tests/data/decay.yaml --steps 3 --check --strict")->exit_status, 1);
    cr_expect_eq(cli_call("mdf-run tests/data/decay.yaml --strict")->exit_status, 0);
    cr_expect_eq(cli_call("mdf-run tests/data/decay.yaml --steps 3 --dt 0.1 --strict")->exit_status, 0);
    cli_write_file(cli_in_folder("open.yaml"),
                   "m: {graphs: {g: {nodes: {n: {input_ports: {x: {}}, output_ports: {o: {value: x}}}}}}}");
    cli_write_file(cli_in_folder("later.json"), "[{}, {\"x\": 1}]");
    outcome = cli_call("mdf-run %s/open.yaml", cli_folder);
    cr_expect(outcome->exit_status == 0 &&
                  strstr(outcome->errors, "open.yaml:1:47: warning: node 'n', input port 'x': nothing feeds it, so that it is 0: "
                                          "give it a value (mdf-run --input n.x=VALUE), an edge, or a default_value\n") != NULL,
              "%s", outcome->errors);
    outcome = cli_call("mdf-run %s/open.yaml --check --strict", cli_folder);
    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, "error: node 'n', input port 'x'") != NULL);
    for (i = 0; i < sizeof fed / sizeof *fed; i++) {
        outcome = cli_call("mdf-run %s/open.yaml --strict %s", cli_folder, fed[i]);
        cr_expect(outcome->exit_status == 0 && outcome->errors[0] == '\0', "%s: %s", fed[i], outcome->errors);
    }
    outcome = cli_call("mdf-run %s/open.yaml --strict --inputs %s/later.json --steps 2", cli_folder, cli_folder);
    cr_expect(outcome->exit_status == 0 && outcome->errors[0] == '\0', "%s", outcome->errors);
}

/* Also once the model runs in its lowered form, which is made for one shape. */
Test(cli, inputs_have_the_declared_shape)
{
    static const char said[] =
        "shaped.yaml:1:47: error: node 'n', input port 'x': the port has another shape than its value: declared "
        "(3,), given (2,)";
    const struct cli_outcome *outcome;

    cli_write_file(cli_in_folder("shaped.yaml"),
                   "m: {graphs: {g: {nodes: {n: {input_ports: {x: {shape: [3]}}, output_ports: {o: {value: x * 2}}}}}}}");
    cli_write_file(cli_in_folder("shapes.json"),
                   "[{\"x\": [1, 2, 3]}, {\"x\": [1, 2, 3]}, {\"x\": [1, 2, 3]}, {\"x\": [1, 2, 3]}, {\"x\": [1, 2]}]");
    cr_expect_eq(cli_call("mdf-run %s/shaped.yaml -i x=[1,2,3]", cli_folder)->exit_status, 0);
    cr_expect_eq(cli_call("mdf-run %s/shaped.yaml -i x=4", cli_folder)->exit_status, 0);
    outcome = cli_call("mdf-run %s/shaped.yaml -i x=[1,2]", cli_folder);
    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, said) != NULL, "%s", outcome->errors);
    outcome = cli_call("mdf-run %s/shaped.yaml --inputs %s/shapes.json --steps 5", cli_folder, cli_folder);
    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, said) != NULL, "%s", outcome->errors);
    outcome = cli_call("mdf-run %s/shaped.yaml --inputs %s/shapes.json --steps 5 --plain", cli_folder, cli_folder);
    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, said) != NULL, "%s", outcome->errors);
}

Test(cli, help_fits_a_screen)
{
    const struct cli_outcome *outcome = cli_call("mdf-run --help");
    const char *line;
    int n_lines = 0;

    cr_expect(outcome->exit_status == 0 && outcome->errors[0] == '\0');
    for (line = strchr(outcome->output, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        n_lines++;
    }
    cr_expect(n_lines <= 24, "%d lines", n_lines);
    cr_expect(strncmp(cli_call("mdf-run --version")->output, "mdf-run ", 8) == 0);
    cr_expect(strncmp(cli_call("mdf-convert --version")->output, "mdf-convert ", 12) == 0);
}

/* ------------------------------------------------------------------ ONNX files */

#define ONNX "tests/data/onnx/"

Test(cli, onnx_files)
{
    static const struct {
        const char *arguments, *results;
    } cases[] = {
        {ONNX "sequence_input.onnx --typed -i 's={\"sequence\": [[1, 2], {\"type\": \"float32\", \"shape\": [1], \"data\": "
              "[3]}]}' -i i=1",
         "{\"y\": {\"type\": \"float32\", \"shape\": [1], \"data\": [3.0]}}"},
        {ONNX "sequence_input.onnx -i 's={\"sequence\": [[1, 2], [3]]}' -i i=-2", "{\"y\": [1.0, 2.0]}"},
        {ONNX "sequence_input.onnx -i 's=[[1, 2], [3, 4]]' -i i=-2 --typed",
         "{\"y\": {\"type\": \"float32\", \"shape\": [2], \"data\": [1.0, 2.0]}}"},
        {ONNX "sequence_length.onnx -i s=[]", "{\"y\": 0}"},
        {ONNX "sequence_length.onnx -i s=[1,2,3]", "{\"y\": 3}"},
        {ONNX "sequence_output.onnx --typed -i x=[1,2]",
         "{\"s\": {\"sequence\": [{\"type\": \"float32\", \"shape\": [], \"data\": [1.0]}, "
         "{\"type\": \"float32\", \"shape\": [], \"data\": [2.0]}]}}"},
        {ONNX "sequence_output.onnx -i x=[1,2]", "{\"s\": [1.0, 2.0]}"},
        {ONNX "optional_input.onnx --typed -i s=null", "{\"y\": {\"type\": \"bool\", \"shape\": [], \"data\": [false]}}"},
        {ONNX "optional_input.onnx", "{\"y\": false}"},
        {ONNX "optional_input.onnx -i s=[1]", "{\"y\": true}"},
        {ONNX "optional_output.onnx --typed -i x=[1] -i c=false", "{\"s\": null}"},
        {ONNX "optional_output.onnx --typed -i x=[1] -i c=true",
         "{\"s\": {\"type\": \"float32\", \"shape\": [1], \"data\": [1.0]}}"},
        {ONNX "strings.onnx --typed",
         "{\"y\": {\"type\": \"string\", \"shape\": [2, 2], \"data\": [\"a\", \"b\\n\", \"\", \"\xc3\xa4 [x]\"]}}"},
        {ONNX "loop_grows.onnx -i m=2 -i c=true -i x=[1] --max-iterations 2 --max-memory 1M", "{\"y\": [1.0, 1.0, 1.0, 1.0]}"},
        {"- --from onnx < " ONNX "default_input.onnx -i x=[1,2,3]", "{\"y\": [1.0, 12.0, 23.0]}"},
    };
    char expected[600];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run %s", cases[i].arguments);

        snprintf(expected, sizeof expected, "\"results\": %s,\n", cases[i].results);
        cr_expect(outcome->exit_status == 0 && outcome->errors[0] == '\0', "%s says %s", cases[i].arguments, outcome->errors);
        cr_expect(strstr(outcome->output, expected) != NULL, "%s gives %s", cases[i].arguments, outcome->output);
    }
}

Test(cli, onnx_files_at_fault)
{
    static const struct {
        const char *arguments;
        int exit_status;
        const char *message;
    } cases[] = {
        {ONNX "loop_grows.onnx -i m=9 -i c=true -i x=[1] --max-iterations 8", 1, "the loop goes on after 8 iterations"},
        {ONNX "loop_grows.onnx -i m=60 -i c=true -i x=[1] --max-memory 1M", 1, "more than the 1048576 bytes"},
        {ONNX "loop_endless.onnx -i x=[1]", 1, "never ends"},
        {ONNX "loop_endless.onnx -i x=[1] --max-iterations 5", 1, "the loop goes on after 5 iterations"},
        {ONNX "sequence_input.onnx -i i=1", 1, "the graph's input 's' has no value"},
        {ONNX "sequence_input.onnx -i 's={\"sequence\": [[1]]}' -i i=1", 1, "node 'SequenceAt_1'"},
        {ONNX "default_input.onnx -i y=1", 2, "no input port is called 'y'"},
        {ONNX "file_text.onnx", 1, ONNX "file_text.onnx: error: this is not an ONNX model"},
        {"- --from json < " ONNX "default_input.onnx", 1, "standard input:1:1: error: "},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run %s", cases[i].arguments);

        cr_expect(outcome->exit_status == cases[i].exit_status, "%s: exit status %d", cases[i].arguments, outcome->exit_status);
        cr_expect_str_eq(outcome->output, "", "%s prints %s", cases[i].arguments, outcome->output);
        cr_expect(strstr(outcome->errors, cases[i].message) != NULL, "%s says %s", cases[i].arguments, outcome->errors);
    }
}

/* ------------------------------------------------------------------ mdf-convert */

Test(cli, convert_with_weights_beside)
{
    char direct[CLI_TEXT_SIZE];

    cr_expect(cli_call("mdf-convert " ONNX "default_input.onnx %s/a.json", cli_folder)->exit_status == 0);
    cr_expect(access(cli_in_folder("a.json.npz"), F_OK) != 0); /* what is small stays */
    cr_expect(cli_call("mdf-convert --weights-beside 12 " ONNX "default_input.onnx %s/a.json", cli_folder)->exit_status == 0);
    cr_expect(access(cli_in_folder("a.json.npz"), F_OK) == 0);
    cli_read_file(cli_in_folder("a.json"), direct);
    cr_expect(strstr(direct, "\"data\": {\"npz\": \"a.json.npz\", \"array\": \"w\"}") != NULL, "%s", direct);
    strcpy(direct, cli_call("mdf-run " ONNX "default_input.onnx -i x=[1,2,3] --typed")->output);
    cr_expect_str_eq(cli_call("mdf-run %s/a.json -i x=[1,2,3] --typed", cli_folder)->output, direct);
    cr_expect(cli_call("mdf-convert %s/a.json %s/b.yaml --weights-inside", cli_folder, cli_folder)->exit_status == 0);
    cr_expect(access(cli_in_folder("b.yaml.npz"), F_OK) != 0);
    cr_expect_str_eq(cli_call("mdf-run %s/b.yaml -i x=[1,2,3] --typed", cli_folder)->output, direct);
    unlink(cli_in_folder("a.json.npz"));
    cr_expect(strstr(cli_call("mdf-run %s/a.json", cli_folder)->errors,
                     "the file 'a.json.npz', which holds arrays, can not be read") != NULL);
    cr_expect(cli_call("mdf-convert --weights-beside a b")->exit_status == 2);
    cr_expect(cli_call("mdf-convert --weights-beside 0 a b")->exit_status == 2);
    cr_expect(cli_call("mdf-convert --nope a b")->exit_status == 2);
    cr_expect(cli_call("mdf-convert a b c")->exit_status == 2);
}

Test(cli, convert_through_all_formats)
{
    const struct cli_outcome *outcome;
    char direct[CLI_TEXT_SIZE];

    cr_expect(cli_call("mdf-convert tests/data/two_nodes.json %s/a.yaml", cli_folder)->exit_status == 0);
    cr_expect(cli_call("mdf-convert %s/a.yaml %s/b.bson", cli_folder, cli_folder)->exit_status == 0);
    cr_expect(cli_call("mdf-convert %s/b.bson %s/c.json", cli_folder, cli_folder)->exit_status == 0);
    strcpy(direct, cli_call("mdf-run tests/data/two_nodes.json")->output);
    outcome = cli_call("mdf-run %s/c.json", cli_folder);
    cr_expect_str_eq(outcome->output, direct, "%s", outcome->output);
    cli_read_file(cli_in_folder("c.json"), direct);
    cr_expect(strstr(direct, "\"onnx_opset_version\": \"15\"") != NULL, "%s", direct);
}

Test(cli, convert_errors)
{
    cr_expect(cli_call("mdf-convert")->exit_status == 2);
    cr_expect(cli_call("mdf-convert tests/data/two_nodes.json %s/a.txt", cli_folder)->exit_status == 2);
    cr_expect(cli_call("mdf-convert tests/data/nosuch.json %s/a.json", cli_folder)->exit_status == 1);
    cr_expect(access(cli_in_folder("a.json"), F_OK) != 0);
}

/* ------------------------------------------------------------------ trust */

/* Whether nothing in a text can steer a terminal: no control character but the ends of lines, no C1, no bidirectional override.
 */
static bool is_harmless(const char *text)
{
    const unsigned char *c;

    for (c = (const unsigned char *)text; *c != '\0'; c++) {
        if ((*c < 0x20 && *c != '\n') || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0) ||
            (c[0] == 0xe2 &&
             ((c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) || (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)))) {
            return false;
        }
    }
    return true;
}

/* Those that show the line of a file are not counted. */
static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (text = strchr(text, '\n'); text != NULL; text = strchr(text + 1, '\n')) {
        n += strlen(text) < 8 || text[7] != '|';
    }
    return n;
}

/* The text with each '@' replaced. */
static void fill_in(char filled[CLI_TEXT_SIZE], const char *text, const char *filling)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        n += (size_t)snprintf(filled + n, CLI_TEXT_SIZE - n, "%.*s", *text == '@' ? (int)strlen(filling) : 1,
                              *text == '@' ? filling : text);
    }
}

/* What a file says is shown, wherever it comes to: errors, warnings, the schedule, results; and forges no line. */
Test(cli, control_characters_of_a_file_are_shown)
{
    static const char hostile[] =
        "\\u001b[2J\\u001b]0;owned\\u0007\\u007f\\u009b1m\\u202e\\u2066\\u2028a\\nx:1:1: error: forged\\r";
    static const struct {
        const char *model, *options; /* @: the hostile text */
        int exit_status;
        size_t n_lines; /* of standard error */
        bool is_shown;  /* there; else it is left out, or made of spaces */
    } cases[] = {
        {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"@\": {\"output_ports\": {\"o\": {\"value\": \"nosuch\"}}}}}}}}", "", 1, 1,
         true},
        {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"output_ports\": {\"o\": {\"value\": \"@\"}}}}}}}}", "", 1, 1,
         false},
        {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"@\": 1, \"output_ports\": {\"o\": {\"value\": 1}}}}}}}}", "", 0, 1,
         true},
        {"{\"m\": {\"graphs\": {\"@\": {\"nodes\": {\"@\": {\"output_ports\": {\"@\": {\"value\": 1}}}}}}}}", "--schedule", 0, 0,
         false},
        {"{\"@\": {\"graphs\": {\"@\": {\"nodes\": {\"@\": {\"output_ports\": {\"@\": {\"value\": 1}}}}}}}}", "", 0, 0, false},
        {"{\"@\": 1", "", 1, 1, false},
    };
    char model[CLI_TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome;

        fill_in(model, cases[i].model, hostile);
        cli_write_file(cli_in_folder("m.json"), model);
        outcome = cli_call("mdf-run %s/m.json %s", cli_folder, cases[i].options);
        cr_expect_eq(outcome->exit_status, cases[i].exit_status, "%s: %s", model, outcome->errors);
        cr_expect(is_harmless(outcome->errors) && is_harmless(outcome->output), "%s: %s%s", model, outcome->errors,
                  outcome->output);
        cr_expect_eq(count_lines(outcome->errors), cases[i].n_lines, "%s: %s", model, outcome->errors);
        cr_expect(!cases[i].is_shown || strstr(outcome->errors, "\\x1b[2J") != NULL, "%s: %s", model, outcome->errors);
    }
    cr_expect(strstr(cli_call("mdf-run '%s/\033[2J'", cli_folder)->errors, "\\x1b[2J: error: ") != NULL);
    cr_expect(strstr(cli_call("mdf-run --nope=$(printf '\\377')")->errors, "error: ") != NULL);
}

/* Holds a file of the build to what SECURITY.md says of it, by what readelf tells. */
static void expect_hardened(const char *name, bool is_program)
{
    const char *build = getenv("BUILD") != NULL ? getenv("BUILD") : "build";
    char command[2 * CLI_PATH_SIZE], text[CLI_TEXT_SIZE];

    snprintf(command, sizeof command, "head -c 2 %s/%s | grep -q '#!'", build, name);
    if (system(command) == 0) { /* a call of an emulator (tools/check_target.sh) */
        return;
    }
    snprintf(command, sizeof command,
             "readelf -lWd --dyn-syms %s/%s | grep -E 'GNU_RELRO|GNU_STACK|NOW|PIE|RWE|TEXTREL|_chk' >%s/elf", build, name,
             cli_folder);
    cr_assert(system(command) == 0, "%s", command);
    cli_read_file(cli_in_folder("elf"), text);
    cr_expect(strstr(text, "GNU_RELRO") != NULL && strstr(text, "BIND_NOW") != NULL, "%s: %s", name, text);
    cr_expect(strstr(text, "GNU_STACK") != NULL && strstr(text, "RWE") == NULL && strstr(text, "TEXTREL") == NULL, "%s: %s", name,
              text);
    cr_expect(!is_program || strstr(text, "PIE") != NULL, "%s: %s", name, text);
#ifdef __SSP_STRONG__
    cr_expect(strstr(text, "__stack_chk_fail") != NULL, "%s: %s", name, text);
#endif
#if defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE > 0
    cr_expect(strstr(text, "printf_chk") != NULL, "%s: %s", name, text);
#endif
}

Test(cli, what_is_built_is_hardened)
{
    const char *build = getenv("BUILD");
    char path[CLI_PATH_SIZE];

    expect_hardened("mdf-run", true);
    expect_hardened("mdf-convert", true);
    expect_hardened("mdf-compile", true);
    snprintf(path, sizeof path, "%s/libmdf.so", build != NULL ? build : "build");
    if (access(path, F_OK) == 0) { /* there is none with a sanitizer */
        expect_hardened("libmdf.so", false);
    }
}

/* The objects show all their symbols, which suites link with; the shared library those of mdf.h. */
Test(cli, shared_library_exports_what_mdf_h_declares)
{
    static const char command[] =
        "lib=${BUILD:-build}/libmdf.so; test ! -e $lib || { nm -D --defined-only $lib | sed 's/.* //' | sort >%s/has; "
        "grep -o '^MDF_API [^(]*(' mdf_c/mdf.h | sed 's/.*[ *]\\(.*\\)(/\\1/' | sort | diff - %s/has >&2; }";
    char text[2 * CLI_PATH_SIZE + sizeof command];

    snprintf(text, sizeof text, command, cli_folder, cli_folder);
    cr_expect_eq(system(text), 0, "%s", text);
}
