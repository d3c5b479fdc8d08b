/* test_sweep_file.c - mdf-run --sweep: what a sweep file may say, what is written for it, and what is said of mistakes in it. */
#include "mdf_c/machine/emit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 13, PATH_SIZE = 256 };

/* y = a * x + b[0] + b[1], v counts by a from its initial value; t draws. */
static const char model[] = "m:\n"
                            "  graphs:\n"
                            "    g:\n"
                            "      nodes:\n"
                            "        n:\n"
                            "          input_ports:\n"
                            "            x: {default_value: 1}\n"
                            "          parameters:\n"
                            "            a: {value: 2}\n"
                            "            b: {value: [0.25, 0.5]}\n"
                            "            v: {default_initial_value: 0, value: v + a}\n"
                            "          output_ports:\n"
                            "            y: {value: \"a * x + b[0] + b[1]\"}\n"
                            "            v: {value: v}\n"
                            "            pair: {value: \"[v, 1.5]\"}\n";

static char folder[] = "/tmp/mdf_test_sweep_XXXXXX";
static char output[TEXT_SIZE], errors[TEXT_SIZE];

static void write_file(const char *name, const char *text)
{
    char path[PATH_SIZE];
    FILE *stream;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    stream = fopen(path, "wb");
    cr_assert(stream != NULL);
    fputs(text, stream);
    fclose(stream);
}

static void read_file(const char *name, char text[TEXT_SIZE])
{
    char path[PATH_SIZE];
    FILE *stream;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    stream = fopen(path, "rb");
    n = stream != NULL ? fread(text, 1, TEXT_SIZE - 1, stream) : 0;
    text[n] = '\0';
    if (stream != NULL) {
        fclose(stream);
    }
}

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    write_file("model.yaml", model);
}

static void tear_down(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(sweep_file, .init = set_up, .fini = tear_down);

/* Runs a sweep file, a YAML text, in the folder, of a model; the exit status. */
static int sweep_of(const char *swept, const char *file, const char *arguments)
{
    const char *build = getenv("BUILD");
    char command[4 * PATH_SIZE], *programs = realpath(build != NULL ? build : "build", NULL);
    int status;

    write_file("s.yaml", file);
    snprintf(command, sizeof command, "cd %s && %s/mdf-run --sweep s.yaml %s %s >out 2>err", folder, programs, swept, arguments);
    free(programs);
    status = system(command);
    read_file("out", output);
    read_file("err", errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int sweep(const char *file, const char *arguments)
{
    return sweep_of("model.yaml", file, arguments);
}

/* A file, arguments, and a piece of the CSV that comes out. */
static const struct {
    const char *file, *arguments, *csv;
} written[] = {
    {"parameters: {n.a: [1, 2.5]}\nrecord: [y]", "",
     "instance,n.a,seed,step,time,n.y\n0,1.0,16294208416658607535,1,,1.75\n1,2.5,"},
    {"parameters: {n.a: [1, 2]}\nrecord: y", "", ",1,,1.75\n1,2,"},
    {"parameters: {a: {linspace: [0, 1, 5]}}\nrecord: [y]", "", "1,0.25,7960286522194355700,1,,1.0\n"},
    {"parameters: {a: {geomspace: [1, 100, 3]}}\nrecord: [y]", "", "1,10.0,7960286522194355700,1,,10.75\n"},
    {"parameters: {a: {range: [1, 4, 1]}}\nrecord: [y]\nseeds: [7, 8, 9]", "", "0,1,7,1,,1.75\n1,2,8,1,,2.75\n2,3,9,1,,3.75\n"},
    {"parameters: {b: [[0, 1], [2, 3]]}\nrecord: [y]\nseeds: [7, 8]", "",
     "instance,b[0],b[1],seed,step,time,n.y\n0,0,1,7,1,,3\n1,2,3,8,1,,7\n"},
    {"parameters: {x: [1, 10]}\nrecord: [y]\nseeds: [7, 8]", "",
     "instance,x,seed,step,time,n.y\n0,1,7,1,,2.75\n1,10,8,1,,20.75\n"},
    {"parameters: {a: [1, 2], x: [1, 10]}\nrecord: [y]\nseeds: [1, 2, 3, 4]", "",
     "0,1,1,1,1,,1.75\n1,1,10,2,1,,10.75\n2,2,1,3,1,,2.75\n3,2,10,4,1,,20.75\n"},
    {"parameters: {a: [1, 2], x: [1, 10]}\ncombine: zip\nrecord: [y]\nseeds: [1, 2]", "", "0,1,1,1,1,,1.75\n1,2,10,2,1,,20.75\n"},
    {"parameters: {a: [1, 2]}\nsteps: 4\ndt: 0.5\nevery: 2\nrecord: [v]\nseeds: [1, 2]", "",
     "0,1,1,1,0.0,1\n0,1,1,3,1.0,3\n1,2,2,1,0.0,2\n1,2,2,3,1.0,6\n"},
    {"parameters: {n.v: [1, 20]}\nrecord: [v]\nseeds: [1, 2]", "",
     "instance,swept.n.v,seed,step,time,n.v\n0,1,1,1,,3\n1,20,2,1,,22\n"},
    {"parameters: {a: [1, 2]}\ninputs: {x: 100}\nrecord: [y]\nseeds: [1, 2]", "", "0,1,1,1,,100.75\n1,2,2,1,,200.75\n"},
    {"parameters: {a: [1, 2]}\ninputs: [{x: 100}, {x: 5}]\nsteps: 2\nevery: 1\nrecord: [y]\nseeds: [1, 2]", "",
     "0,1,1,1,,100.75\n0,1,1,2,,5.75\n1,2,2,1,,200.75\n1,2,2,2,,10.75\n"},
    {"parameters: {a: [1, 2]}\nrecord: [y]\nseeds: [1, 2]", "--input x=100 --steps 3 --dt 0.1 --record v",
     "0,1,1,3,0.2,3\n1,2,2,3,0.2,6\n"},
    {"parameters: {a: [1]}\nrecord: [pair]\nseeds: [1]", "", "n.pair[0],n.pair[1]\n0,1,1,1,,1.0,1.5\n"},
    {"parameters: {a: [1]}\nseeds: [1]", "", ",n.y,n.v,n.pair[0],n.pair[1]\n"},
};

Test(sweep_file, files_and_the_tables_they_give)
{
    size_t i;

    for (i = 0; i < sizeof written / sizeof *written; i++) {
        char arguments[PATH_SIZE], csv[TEXT_SIZE];

        snprintf(arguments, sizeof arguments, "-o out.csv %s", written[i].arguments);
        cr_assert_eq(sweep(written[i].file, arguments), 0, "%s\n%s", written[i].file, errors);
        read_file("out.csv", csv);
        cr_assert_not_null(strstr(csv, written[i].csv), "%s\n%s", written[i].file, csv);
    }
}

Test(sweep_file, json_has_the_axes_of_the_grid)
{
    cr_assert_eq(sweep("parameters: {a: [1, 2], x: [1, 10, 100]}\nrecord: [y]\nsteps: 2\ndt: 0.5\nevery: 1\nseeds: 3", ""), 0,
                 "%s", errors);
    cr_assert_not_null(strstr(output,
                              "\"combine\": \"grid\", \"steps\": [1, 2], \"times\": [0.0, 0.5], \"parameters\": {\"a\": [1, 2], "
                              "\"x\": [1, 10, 100]}, \"seeds\": [["),
                       "%s", output);
    cr_assert_not_null(
        strstr(output, "\"outputs\": {\"n.y\": [[[1.75, 1.75], [10.75, 10.75], [100.75, 100.75]], [[2.75, 2.75], "), "%s",
        output);
}

static bool has_piece(const char *bytes, size_t n, const char *piece)
{
    size_t length = strlen(piece), i;

    for (i = 0; i + length <= n; i++) {
        if (memcmp(bytes + i, piece, length) == 0) {
            return true;
        }
    }
    return false;
}

Test(sweep_file, npz_is_an_archive_of_arrays)
{
    char bytes[TEXT_SIZE];
    size_t n;
    FILE *stream;
    char path[PATH_SIZE];

    cr_assert_eq(sweep("parameters: {a: [1, 2], x: [1, 10, 100]}\nrecord: [y]", "-o out.npz"), 0, "%s", errors);
    snprintf(path, sizeof path, "%s/out.npz", folder);
    stream = fopen(path, "rb");
    cr_assert_not_null(stream);
    n = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    cr_assert(n > 4 && memcmp(bytes, "PK\3\4", 4) == 0);
    cr_assert(has_piece(bytes, n, "n.y.npy"));
    cr_assert(has_piece(bytes, n, "'shape': (2, 3)"));
}

/* Of Zarr 3: elements are bytes, with a word for their order. */
Test(sweep_file, zarr_tells_the_order_of_its_bytes)
{
    char told[TEXT_SIZE], bytes[TEXT_SIZE];

    cr_assert_eq(sweep("parameters: {a: [1.5]}\nrecord: [y]", "-o out.zarr --zarr-format 3"), 0, "%s", errors); /* 2.25 */
    read_file("out.zarr/n.y/zarr.json", told);
    read_file("out.zarr/n.y/0", bytes);
    cr_expect(strstr(told, bytes[0] == 0x40 ? "\"endian\": \"big\"" : "\"endian\": \"little\"") != NULL, "%s", told);
    cr_expect(bytes[0] + bytes[7] == 0x40);
}

/* A list of ports is recorded side by side, but not of instances that may stop. */
Test(sweep_file, explain_tells_why_instances_go_one_by_one)
{
    static const char *const more[] = {"", "\nstop_when: v > 9", "\nreduce: {mean: [v]}"};
    static const char *const told[] = {"sweep: 2 instances side by side\n", "one by one\n  because of a value that is a list",
                                       "sweep: 2 instances side by side\n"};
    char file[200];
    size_t i;

    for (i = 0; i < sizeof more / sizeof *more; i++) {
        snprintf(file, sizeof file, "parameters: {a: [1, 2, 3]}\nsteps: 9%s", more[i]);
        cr_assert_eq(sweep(file, "--lanes 2 --explain"), 0, "%s", errors);
        cr_assert(strstr(output, told[i]) != NULL, "%s", output);
    }
}

#define OF_ONE_NODE(more, port)                                       \
    "mod:\n"                                                          \
    "  graphs:\n"                                                     \
    "    g:\n"                                                        \
    "      nodes:\n"                                                  \
    "        n:\n"                                                    \
    "          input_ports: {x: {}}\n"                                \
    "          parameters: {s: {default_initial_value: 0" more "}}\n" \
    "          output_ports: {q: {value: \"" port "\"}}\n"

/* The first evaluations leave out what may be of either type, where later ones have a number; what the first run of a node
 * writes, and no other, is no constant. */
Test(sweep_file, rows_are_each_instances_own_in_all_lanes)
{
    static const char *const models[] = {
        OF_ONE_NODE(", metadata: {type: float64}", "numpy.copysign(1.0, 0 if -1.0 >= x else s)"),
        OF_ONE_NODE("", "1.0 * s") "      conditions: {termination: {environment_state_update: "
                                   "{type: AfterNPasses, kwargs: {n: 3}}}}\n",
        OF_ONE_NODE("", "s") "      conditions: {node_specific: {n: {type: AfterPass, kwargs: {n: "
                             "0}}}, termination: {environment_state_update: {type: AfterNPasses, "
                             "kwargs: {n: 2}}}}\n"};
    static const char *const told[] = {"[1.0, 1.0, 1.0, 1.0]", "[7.0, 7.0, 7.0, 7.0]", "[7, 7, 7, 7]"};
    static char alone[TEXT_SIZE];

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const char *swept = "parameters: {s: {range: [0, 20, 1]}}\nrecord: [q]\nsteps: 4\nevery: 1\nseeds: 1";

        write_file("early.yaml", models[i]);
        cr_assert_eq(sweep_of("early.yaml", swept, "--lanes 1"), 0, "%s", errors);
        memcpy(alone, output, sizeof alone);
        cr_expect(strstr(alone, told[i]) != NULL && strstr(alone, "NaN") == NULL, "%s", alone);
        cr_assert_eq(sweep_of("early.yaml", swept, "--lanes 8"), 0, "%s", errors);
        cr_expect_str_eq(output, alone);
    }
}

Test(sweep_file, check_evaluates_nothing_and_writes_nothing)
{
    cr_assert_eq(sweep("parameters: {a: [1, 2]}", "--check"), 0, "%s", errors);
    cr_assert_str_eq(output, "");
    cr_assert_eq(sweep("parameters: {aa: [1, 2]}", "--check"), 1);
}

/* A file, arguments, the exit status, and a piece of the message. */
static const struct {
    const char *file, *arguments;
    int exit_status;
    const char *message;
} mistakes[] = {
    {"steps: 2", "", 1, "s.yaml:1:1: error: a sweep is an object with at least \"parameters\""},
    {"[1, 2]", "", 1, "a sweep is an object"},
    {"parameters: {a: [1]}\nstepps: 2", "", 1,
     "s.yaml:2:1: error: a sweep has no key 'stepps'; there are parameters, inputs, combine, "},
    {"paramters: {a: [1]}", "", 1,
     "seeds, trials, stop_when, samples, sampling, sample_seed and reduce; did you mean 'parameters'?\n    1 | paramters: {a: "
     "[1]}\n      | ^~~~~~~~~"},
    {"parameters: {}", "", 1, "'parameters' must be an object {NAME: values}"},
    {"parameters: {a: 1}", "", 1, "s.yaml:1:17: error: the values of 'a': they must be a list of numbers"},
    {"parameters: {a: []}", "", 1, "the values of 'a': they must be a list of numbers"},
    {"parameters: {a: [x, y]}", "", 1, "the values of 'a': they must be a list of numbers"},
    {"parameters: {a: [[1], [1, 2]]}", "", 1, "the values of 'a'"},
    {"parameters:\n  a: {linspce: [0, 1, 2]}", "", 1, "s.yaml:2:6: error: the values of 'a': an object must be one of {linspace"},
    {"parameters: {a: {linspce: [0, 1, 2]}}", "", 1, "did you mean 'linspace'?"},
    {"parameters: {a: {linspace: [0, 1]}}", "", 1, "a range is a list of three numbers"},
    {"parameters: {a: {linspace: [0, 1, 2.5]}}", "", 1, "so it must be a whole one, at least 1"},
    {"parameters: {a: {linspace: [0, 1, 1000000000000]}}", "", 1, "more than a hundred million"},
    {"parameters: {a: {geomspace: [0, 1, 3]}}", "", 1, "two ends of the same sign"},
    {"parameters: {a: {range: [0, 1, -1]}}", "", 1, "the range is empty"},
    {"parameters: {a: {range: [0, 1, 0]}}", "", 1, "more than a hundred million"},
    {"parameters: {a: {range: [0, 0, 0]}}", "", 1, "the range is empty"},
    {"parameters: {a: [1, 2], x: [1]}\ncombine: zip", "", 1,
     "s.yaml:1:25: error: to be combined one by one (zip), names need equally many values: 'a' has 2 and 'x' has 1"},
    {"parameters: {a: [1]}\ncombine: product", "", 1,
     "s.yaml:2:10: error: 'combine' must be grid (each value with each) or zip (one by one), not 'product'"},
    {"parameters: {a: [1]}\ncombine: zipp", "", 1, "not 'zipp'; did you mean 'zip'?"},
    {"parameters: {a: [1]}\nsampling: soblo", "", 1,
     "'sampling' must be random, sobol or latin_hypercube, not 'soblo'; did you mean 'sobol'?"},
    {"parameters: {a: [1]}\ntrials: 2\nreduce: {over: [tiral], mean: true}", "", 1,
     "s.yaml:3:17: error: 'reduce' goes over 'tiral', which is no axis of this sweep; its axes are: a, trial; did you mean "
     "'trial'?"},
    {"parameters: {a: [1]}\nreduce: {meann: true}", "", 1,
     "s.yaml:2:10: error: 'reduce' has no key 'meann'; there are over, count, mean, var, quantiles and histogram; did you mean "
     "'mean'?"},
    {"parameters: {a: [1]}\nreduce: {mean: [n.zz]}", "", 1, "s.yaml:2:17: error: 'reduce': 'n.zz' is no port that is recorded"},
    {"parameters: {a: [1]}\nstop_when: y > 1 and n.zz < 2", "", 1,
     "s.yaml:2:22: error: key 'stop_when': name 'n.zz' is not known here"},
    {"parameters: {a: [1]}\nstop_when: 'n.yy > 1'", "", 1,
     "s.yaml:2:13: error: key 'stop_when': 'n.yy' is no output port, NODE.PORT, or PORT where there is one of that name; did you "
     "mean "
     "'n.y'?"},
    {"parameters: {a: [1]}\nstop_when: 'y > '", "", 1,
     "s.yaml:2:17: error: key 'stop_when': expression 'y > ': a value is missing: unexpected end at column 5"},
    {"parameters: {a: [1]}\nstop_when: '1 > 2'", "", 1, "s.yaml:2:13: error: key 'stop_when': it looks at no output port"},
    {"parameters: {a: [1]}\nsteps: 0", "", 1, "'steps' must be a whole number, at least 1"},
    {"parameters: {a: [1]}\nevery: 2", "", 1, "s.yaml:2:8: error: 'every' is more than the number of steps"},
    {"parameters: {a: [1]}\nevery: -1", "", 1, "'every' must be a whole number"},
    {"parameters: {a: [1]}\ndt: fast", "", 1, "'dt' must be a number"},
    {"parameters: {a: [1]}\nrecord: []", "", 1, "'record' must be a list of output ports"},
    {"parameters: {a: [1]}\nrecord: [z]", "", 2, "s.yaml:2:9: error: record: no output port is named 'z'"},
    {"parameters: {a: [1]}\nseeds: [1, 2]", "", 1, "s.yaml:2:8: error: 'seeds' has 2 numbers for 1 instances"},
    {"parameters: {a: [1]}\nseeds: 1.5", "", 1, "'seeds' must be a whole number"},
    {"parameters: {a: [1]}\ninputs: [{x: 1}, {y: 1}]\nsteps: 2", "", 1, "those of step 2 are others than those of step 1"},
    {"parameters: {a: [1]}\ninputs: [{x: 1}, {x: [1, 2]}]\nsteps: 2", "", 1, "must have one shape in all steps"},
    {"parameters: {a: [1]}\ninputs: [{x: 1}]\nsteps: 2", "", 1, "s.yaml:2:9: error: 'inputs' has 1 entries for 2 steps"},
    {"parameters: {a: [1]}\ninputs: {x: text}", "", 1, "input 'x' of a sweep must be a number or an array of numbers"},
    {"parameters: {a: [1]}\ninputs: {z: 1}", "", 1, "s.yaml:2:10: error: no input port is called 'z'"},
    {"parameters: {a: [1]}\ninputs: {x: 1}", "--input x=2", 1, "--input x: the sweep file gives this input too"},
    {"parameters: {n.aa: [1]}", "", 1, "s.yaml:1:14: error: no parameter is called 'n.aa'; did you mean 'n.a'?"},
    {"parameters:\n  a: {uniform: [0, 1]}", "", 1, "s.yaml:2:3: error: values are drawn: 'samples' must say how many"},
    {"parameters: {a: [1]}", "--plot p.svg", 2, "--sweep does not go with"},
    {"parameters: {a: [1]}\na: [", "", 1, "s.yaml:"},
    {"parameters: {a: [1]}\nsteps: 1\nsteps: 2", "--strict", 1, "s.yaml:3:1: error: "},
};

Test(sweep_file, mistakes_are_told_with_their_place)
{
    size_t i;

    for (i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cr_expect_eq(sweep(mistakes[i].file, mistakes[i].arguments), mistakes[i].exit_status, "%s\n%s", mistakes[i].file, errors);
        cr_expect_not_null(strstr(errors, mistakes[i].message), "%s\n%s", mistakes[i].file, errors);
        cr_expect_str_eq(output, "", "%s", mistakes[i].file);
    }
}

/* A parameter of another graph of the model has no effect. */
Test(sweep_file, parameters_of_other_graphs_are_refused)
{
    write_file("graphs.yaml", "m: {format: ModECI MDF v0.4, graphs: {g: {nodes: {n: {parameters: {a: {value: 1}}}}},\n"
                              "  other: {nodes: {o: {parameters: {k: {value: 1}}}}}}}\n");
    cr_expect_eq(sweep_of("graphs.yaml", "parameters: {o.k: [1]}", ""), 1);
    cr_expect_not_null(strstr(errors, "s.yaml:1:14: error: the graph of parameter 'o.k' is not evaluated\n"), "%s", errors);
}

/* What a condition puts at places that are the same for all instances is put for several of them at once, with the bits of each.
 */
Test(sweep_file, puts_of_conditions)
{
    static const char file[] = "parameters: {k: {linspace: [0.1, 3.0, 400]}}\nsteps: 20\n";
    static char together[TEXT_SIZE], alone[TEXT_SIZE];
    char *swept = realpath("tests/data/compile/chosen_puts_sweep.yaml", NULL);

    cr_assert_not_null(swept);
    cr_assert_eq(sweep_of(swept, file, "--explain -o together.csv"), 0, "%s", errors);
    cr_expect(strstr(output, "instances side by side") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", output);
    cr_assert_eq(sweep_of(swept, file, "--plain -o alone.csv"), 0, "%s", errors);
    read_file("together.csv", together);
    read_file("alone.csv", alone);
    cr_expect(alone[0] != '\0' && strcmp(together, alone) == 0, "%s", together);
    free(swept);
}
