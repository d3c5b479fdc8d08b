/* test_command_line.c - the programs called wrongly, and in a bad environment: one clear sentence, the right exit status, nothing
 * on standard output, no file left half written. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 12 };

/* A folder of the test's own, removed by its last call. */
static char folder[] = "/tmp/mdf_test_command_line_XXXXXX";
static char errors_path[] = "/tmp/mdf_test_command_line_XXXXXX";

static void set_up(void)
{
    const char *build = getenv("BUILD");
    char text[TEXT_SIZE];
    int file;

    cr_assert(mkdtemp(folder) != NULL);
    file = mkstemp(errors_path);
    cr_assert(file >= 0);
    close(file);
    build = build != NULL ? build : "build";
    snprintf(text, sizeof text, "%s/mdf-run", build);
    setenv("RUN", text, 1);
    snprintf(text, sizeof text, "%s/mdf-convert", build);
    setenv("CONVERT", text, 1);
    snprintf(text, sizeof text, "%s/mdf-compile", build);
    setenv("COMPILE", text, 1);
    snprintf(text, sizeof text, "%s/mdf-merge", build);
    setenv("MERGE", text, 1);
    snprintf(text, sizeof text, "%s/mdf-diff", build);
    setenv("DIFF", text, 1);
    snprintf(text, sizeof text, "%s/mdf-fmu", build);
    setenv("FMU", text, 1);
    setenv("OUT", folder, 1);
    setenv("M", "tests/data/two_nodes.json", 1);
}

static void tear_down(void)
{
    unlink(errors_path);
    cr_assert(system("rm -r \"$OUT\"") == 0);
}

static size_t count_files(void)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    cr_assert(directory != NULL);
    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n - 2; /* . and .. */
}

/* Runs a line of shell; its exit status, and what it says on standard error. */
static int call(const char *command, char errors[TEXT_SIZE])
{
    char text[TEXT_SIZE];
    FILE *stream;
    int status;

    snprintf(text, sizeof text, "{ %s ; } 2>%s", command, errors_path);
    status = system(text);
    stream = fopen(errors_path, "rb");
    cr_assert(stream != NULL && WIFEXITED(status), "%s", command);
    errors[fread(errors, 1, TEXT_SIZE - 1, stream)] = '\0';
    fclose(stream);
    return WEXITSTATUS(status);
}

TestSuite(command_line, .init = set_up, .fini = tear_down);

#define FROM_1 "must be a whole number from 1 to 18446744073709551615, not "

/* What is said begins so; none of the commands leaves a file in $OUT. */
static const struct {
    const char *command;
    int exit_status;
    const char *errors;
} refused[] = {
    /* options that are not there, or not so */
    {"$RUN $M --stesp 3", 2, "mdf-run: error: unknown option '--stesp'; did you mean '--steps'?\nTry 'mdf-run --help'.\n"},
    {"$RUN $M --stesp=3", 2, "mdf-run: error: unknown option '--stesp'; did you mean '--steps'?\n"},
    {"$RUN $M --sche=3", 2, "mdf-run: error: the option '--sche' can mean --schedule, --scheduling-mode, --schema\n"},
    {"$RUN $M --typ=3", 2, "mdf-run: error: the option '--typed' takes no argument\n"},
    {"$RUN $M --max", 2, "mdf-run: error: the option '--max' can mean --max-step, --max-iterations, --max-passes, --max-memory\n"},
    {"$RUN $M -xn3", 2, "mdf-run: error: unknown option '-x'\n"},
    {"$RUN $M --steps", 2, "mdf-run: error: there is no argument after the option '--steps'\n"},
    {"$COMPILE $M --nmae a", 2, "mdf-compile: error: unknown option '--nmae'; did you mean '--name'?\n"},
    {"$COMPILE $M -o", 2, "mdf-compile: error: there is no argument after the option '-o'\n"},
    {"$COMPILE tests/data/waits_for_input.yaml --time-limit 0.1 -o $OUT/a.c", 1,
     "tests/data/waits_for_input.yaml:10:15: error: node 'A', function 'reached': the evaluations that show types and shapes have "
     "not ended in 0.1 s: give inputs with which they end (--input NAME=VALUE, --inputs FILE), or more time (--time-limit SECONDS)\n"},
    {"$CONVERT -x", 2, "mdf-convert: error: unknown option '-x'\nTry 'mdf-convert --help'.\n"},
    {"$CONVERT --weights $M $OUT/a.json", 2,
     "mdf-convert: error: the option '--weights' can mean --weights-beside, --weights-inside\n"},
    {"$RUN $M --gradient y", 2, "mdf-run: error: --gradient RESULT and --of NODE.PARAMETER go together\n"},
    {"$RUN $M --gradient y --of A.x -o $OUT/a.csv", 2, "mdf-run: error: --gradient does not go with --sweep"},
    {"$RUN examples/cooling.yaml --gradient temprature --of cup.temperature", 2,
     "mdf-run: error: the graph has no result or output port 'temprature' to derive; did you mean 'temperature'?\n"},
    {"$RUN examples/slow_and_fast.yaml --gradient n --of slow.n", 2, "mdf-run: error: no parameter is called 'slow.n'"},
    /* numbers */
    {"$RUN $M --steps 1e9", 2, "mdf-run: error: --steps " FROM_1 "'1e9'\n"},
    {"$RUN $M --steps -1", 2, "mdf-run: error: --steps " FROM_1 "'-1'\n"},
    {"$RUN $M --steps ''", 2, "mdf-run: error: --steps " FROM_1 "''\n"},
    {"$RUN $M --steps 18446744073709551616", 2, "mdf-run: error: --steps " FROM_1 "'18446744073709551616'\n"},
    {"$RUN $M --repeat 0", 2, "mdf-run: error: --repeat must be a whole number from 1 to "},
    {"$RUN $M --threads 65537", 2, "mdf-run: error: --threads must be a whole number from 1 to 65536, not '65537'\n"},
    {"$RUN $M --graph-detail 4", 2, "mdf-run: error: --graph-detail must be a whole number from 1 to 3, not '4'\n"},
    {"$RUN $M --dt nan", 2, "mdf-run: error: --dt must be a finite number, not 'nan'\n"},
    {"$RUN $M --dt 1e400", 2, "mdf-run: error: --dt must be a finite number, not '1e400'\n"},
    {"$RUN $M --max-memory 99999999999G", 2,
     "mdf-run: error: --max-memory must be a number of bytes, as 1000000 or 512M, or none, not '99999999999G'\n"},
    {"$COMPILE $M -o $OUT/a.c --dt 0x10", 2, "mdf-compile: error: --dt must be a finite number, not '0x10'\n"},
    {"$COMPILE $M -o $OUT/a.c --max-passes 99999999999999999999", 2, "mdf-compile: error: --max-passes must be a whole number"},
    {"$CONVERT $M $OUT/a.json --weights-beside 0K", 2,
     "mdf-convert: error: --weights-beside must be at least 1 byte, not '0K'\n"},
    {"$CONVERT $M $OUT/a.json --weights-beside 3 --weights-inside", 2,
     "mdf-convert: error: --weights-inside does not go with --weights-beside\n"},
    /* inputs */
    {"$RUN $M -i =3", 2, "mdf-run: error: --input must have the form NAME=VALUE, not '=3'\n"},
    {"$RUN $M -i x=", 2, "mdf-run: error: --input must have the form NAME=VALUE, with a VALUE in JSON or @FILE, not 'x='\n"},
    {"$RUN $M -i x=@", 2, "mdf-run: error: --input must have the form NAME=VALUE, with a VALUE in JSON or @FILE, not 'x=@'\n"},
    {"$RUN $M -i x=@$OUT/nosuch.npy", 1, "/tmp/"},
    {"$RUN $M -o -", 2, "mdf-run: error: --output must be a file: without it JSON goes to standard output, not '-'"},
    {"$RUN $M -i x=Q", 2, "--input x:1:1: error: a value is expected, not 'Q'; a text stands in quotes within quotes: 'x=\"...\"'\n"},
    {"$COMPILE $M -i nosuch=1 -o $OUT/a.c", 2, "mdf-compile: error: no input port is called 'nosuch'; inputs are: x\n"},
    /* an input of the graph that goes to its outputs, and to no node */
    {"echo '{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"inputs\": [\"x\"], \"outputs\": [\"x\"]}}}}}' | "
     "$RUN - --from json -i nosuch.port=1",
     2, "mdf-run: error: no input port is called 'nosuch.port'; inputs are: x\n"},
    /* ports of one name at two nodes */
    {"echo '{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"default_value\": 1}, \"z\": "
     "{\"default_value\": 1}}}, \"B\": {\"input_ports\": {\"x\": {\"default_value\": 1}}}}}}}}' | $RUN - --from json -i nosuch=1",
     2, "mdf-run: error: no input port is called 'nosuch'; inputs are: A.x, z, B.x\n"},
    {"$COMPILE $M -g chian -o $OUT/a.c", 2, "mdf-compile: error: the model has no graph 'chian'; did you mean 'chain'?\n"},
    {"echo '[1, 2]' | $RUN $M --inputs /dev/stdin", 1,
     "/dev/stdin:1:1: error: inputs must be an object {name: value} or a list of such objects, not a number\n"},
    {"echo '{\"x\": [\"a\", 1]}' | $RUN $M --inputs /dev/stdin", 1,
     "tests/data/two_nodes.json:13:96: error: node 'B', parameter 'total': operator '+': does not apply to a float and a list\n"},
    {"echo '{\"parameters\": {\"total\": [1, 2]}}' | $RUN $M --sweep /dev/stdin -i 'x=\"a\"'", 1,
     "tests/data/two_nodes.json: error: --input x: an input of a sweep must be a number or an array of numbers\n"},
    {"echo 'm: {graphs: {g: {nodes: {n: {parameters: {c: {default_initial_value: 2, value: c - 1}, p: {value: 1 / c}}, "
     "output_ports: {o: {value: p}}}}}}}' | $RUN - --from yaml -n 4",
     1, "standard input:1:101: error: node 'n', parameter 'p': operator '/': division by zero (step 2)\n"},
    {"HOME= XDG_CACHE_HOME= $RUN $M --compile", 1,
     "--compile: error: there is no folder for compiled models: set HOME or XDG_CACHE_HOME\n"},
    /* models */
    {"$RUN /tmp --from json", 1, "/tmp: error: this is a directory, not a file\n"},
    {"$RUN /dev/zero --from json", 1, "/dev/zero: error: this is a device, not a file\n"}, /* it has no end */
    {"$RUN $M --sweep /dev/full", 1, "/dev/full: error: this is a device, not a file\n"},
    {"$RUN - --from json </dev/zero", 1, "-: error: it is a device, not a file\n"},
    {"$RUN $M --inputs /dev/zero", 1, "/dev/zero: error: this is a device, not a file\n"},
    {"$RUN $M --from xml", 2,
     "tests/data/two_nodes.json: error: 'xml' is no format of documents; json, yaml, bson and onnx are\n"},
    {"$COMPILE - -o $OUT/a.c", 2, "mdf-compile: error: --from is needed where the model comes from standard input\n"},
    {"$COMPILE $M $M -o $OUT/a.c", 2, "mdf-compile: error: more than one model was given\n"},
    {"$COMPILE -o $OUT/a.c", 2, "mdf-compile: error: no model was given\n"},
    {"$COMPILE $M", 2, "mdf-compile: error: --output is needed\n"},
    {"$FMU $M", 2, "mdf-fmu: error: --output is needed\n"},
    {"$FMU -o $OUT/a.fmu", 2, "mdf-fmu: error: no model was given\n"},
    {"$FMU $M -o $OUT/a.zip", 2, "mdf-fmu: error: --output must be a file .fmu, not '/tmp/"},
    {"$FMU $M -o $OUT/a.fmu --fmi 1", 2, "mdf-fmu: error: --fmi must be 2 or 3, not '1'\n"},
    {"$FMU $M -o $OUT/a.fmu --kind mdx", 2, "mdf-fmu: error: --kind must be both or co-simulation or model-exchange, not 'mdx'\n"},
    {"$FMU $M -o $OUT/none/a.fmu --source-only", 1, "/tmp/mdf_test_command_line_"},
    {"$CONVERT $M", 2, "mdf-convert: error: two file names are needed\n"},
    {"$CONVERT --format", 2, "mdf-convert: error: no model was given\n"},
    {"$CONVERT --format $M $OUT/a.onnx", 2, "mdf-convert: error: --format is for a model that is written as text\n"},
    {"$CONVERT a b c", 2, "mdf-convert: error: one file name too many: c\n"},
    /* output */
    {"$RUN $M -o $OUT/a.png", 2,
     "mdf-run: error: --output must be a file .json, .csv or .npz, or of a sweep a folder .zarr, not '/tmp/"},
    {"$RUN $M -o ''", 2, "mdf-run: error: --output must be a file .json, .csv or .npz, or of a sweep a folder .zarr, not ''\n"},
    {"$RUN $M -o $OUT/a.zarr", 2, "mdf-run: error: a folder .zarr is for --sweep: one run goes to .json, .csv or .npz\n"},
    {"$RUN $M --sweep s.yaml --resume", 2,
     "mdf-run: error: --resume, --part, --chunk, --compress and --zarr-format are for --sweep with -o FOLDER.zarr\n"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.npz --part 1/2", 2,
     "mdf-run: error: --resume, --part, --chunk, --compress and --zarr-format are for --sweep with"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --part 3/2", 2,
     "mdf-run: error: --part must be I/N, part I of N, I from 1 to N, not '3/2'\n"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --part 0/2", 2,
     "mdf-run: error: --part must be I/N, part I of N, I from 1 to N, not"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --part 1/2x", 2,
     "mdf-run: error: --part must be I/N, part I of N, I from 1 to N, not"},
    {"$RUN $M --lanes 4", 2, "mdf-run: error: --lanes is for --sweep\n"},
    {"$RUN $M --sweep s.yaml --lanes 65", 2, "mdf-run: error: --lanes must be a whole number from 1 to 64"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.npz --compress zstd", 2, "mdf-run: error: --resume, --part, --chunk, --compress"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --compress lz4", 2, "mdf-run: error: --compress must be gzip or zstd, not 'lz4'\n"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --zarr-format 4", 2, "mdf-run: error: --zarr-format must be 2 or 3, not '4'\n"},
    {"$RUN $M --sweep s.yaml -o $OUT/a.zarr --chunk 0", 2, "mdf-run: error: --chunk must be a whole number from 1 to 100000000"},
    {"$MERGE $OUT/a.zarr", 2, "mdf-merge: error: a folder to make and the parts are needed\n"},
    {"$MERGE $OUT/a.zarr /nosuch.zarr", 1, "/nosuch.zarr/.zattrs: error: "},
    {"$RUN $M -o /nosuch/a.json", 1, "/nosuch/a.json: error: the file can not be written: there is no such file or directory\n"},
    {"$RUN $M -o /tmp", 1, "/tmp: error: the file can not be written: it is a directory\n"},
    {"$RUN $M -o /dev/full", 1, "/dev/full: error: the file can not be written: the device is full\n"},
    {"$RUN $M >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$RUN $M --schedule >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$RUN $M >&-", 1, "standard output: error: it can not be written: Bad file descriptor\n"},
    {"$RUN --help >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$RUN --ops >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$CONVERT --version >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$COMPILE --help >/dev/full", 1, "standard output: error: it can not be written: No space left on device\n"},
    {"$CONVERT $M /nosuch/a.yaml", 1, "/nosuch/a.yaml: error: the file can not be written: there is no such file or directory\n"},
    {"$CONVERT $M /nosuch/a.onnx", 1, "/nosuch/a.onnx: error: the file can not be written: there is no such file or directory\n"},
    {"$CONVERT $M $OUT/a.txt", 2, "/tmp/"},
    {"$CONVERT examples/drift_diffusion.yaml $OUT/a.onnx", 1, "examples/drift_diffusion.yaml:"},
    {"$DIFF $M", 2, "mdf-diff: error: two file names are needed\n"},
    {"$DIFF $M /nosuch.json", 2, "/nosuch.json: error: "},
    {"$RUN $M --profile=a.png", 2, "mdf-run: error: --profile must be a file .json, .folded"},
    {"$RUN $M --profile a.png", 2, "mdf-run: error: --profile must be a file .json, .folded"},
    {"$RUN $M --profile --sweep s.yaml", 2, "mdf-run: error: --trace-bodies, --profile and --watch do not go with --sweep"},
    {"$RUN $M --stats=xml", 2, "mdf-run: error: --stats must be text or json, not 'xml'\n"},
    {"$RUN $M --watch nope", 2, "mdf-run: error: --watch: no output port is named 'nope'; there are: A.y, B.y, B.total\n"},
    {"$RUN examples/newton_sqrt.json --record better", 2, "mdf-run: error: --record: 'better' is inside the body 'improve', whose"},
    {"$RUN $M --completion tcsh", 2, "mdf-run: error: --completion must be bash, zsh or fish, not 'tcsh'\n"},
    {"$COMPILE $M -o $OUT/a.x", 2, "mdf-compile: error: --output must be a file .c, .h or .so, not '/tmp/"},
    {"$COMPILE $M -o /nosuch/a.so", 1, "/nosuch/a.so: error: the file can not be written: there is no such file or directory\n"},
    {"CC=nosuchcc $COMPILE $M -o $OUT/a.so", 1, "nosuchcc: error: the program can not be started: No such file or directory\n"},
    {"CC=false $COMPILE $M -o $OUT/a.so", 1, "false: error: the program failed\n"},
    /* signals: the results of a run that is ended are not there */
    {"timeout -s TERM 0.3 $RUN tests/data/decay.yaml --dt 1e-9 -n 1000000000000 -o $OUT/a.json", 124, ""},
    {"timeout -s INT 0.3 $RUN tests/data/decay.yaml --dt 1e-9 -n 1000000000000 -o $OUT/a.npz", 124, ""},
};

Test(command_line, refused)
{
    char errors[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        int status = call(refused[i].command, errors);
        const char *expected = refused[i].errors, *newline = strchr(errors, '\n');
        bool has_hint = newline != NULL && strncmp(newline + 1, "Try '", 5) == 0;

        cr_expect(status == refused[i].exit_status, "%s: exit status %d, %s", refused[i].command, status, errors);
        cr_expect(strncmp(errors, expected, strlen(expected)) == 0, "%s says %s", refused[i].command, errors);
        while (newline != NULL && strlen(newline) > 7 && newline[7] == '|') { /* the line of the file, and the mark under it */
            newline = strchr(newline + 1, '\n');
        }
        cr_expect(newline == NULL || newline[1] == '\0' || has_hint, "%s says more than a line: %s", refused[i].command, errors);
        cr_expect(count_files() == 0, "%s leaves a file", refused[i].command);
    }
}

/* Each prints nothing on standard error; what is compared is up to the command. */
static const char *const taken[] = {
    "$RUN --version | grep -q '^mdf-run '",
    "$CONVERT $M --help | grep -q '^usage: mdf-convert '",
    "$MERGE -h | grep -q '^usage: mdf-merge '",
    "$DIFF -h | grep -q '^usage: mdf-diff '",
    "$RUN --completion bash | bash -n && $DIFF --completion bash | grep -q -e '--quiet'",
    "bash -c 'source <($RUN --completion bash); COMP_WORDS=(mdf-run --dump l); COMP_CWORD=2; _mdf_run; test ${COMPREPLY[0]} = lowered'",
    "bash -c 'source <($RUN --completion bash); COMP_WORDS=(mdf-run --trace-b); COMP_CWORD=1; _mdf_run; test ${COMPREPLY[0]} = --trace-bodies'",
    "$RUN --completion zsh | grep -q -e '--dump:dump:(code lowered'",
    "$RUN --completion fish | grep -q -e '-l output -s o -r'",
    "$RUN $M --stats | grep -q '^nodes       2$'",
    "$RUN $M --stats=json | grep -q '\"nodes\": 2'",
    "$RUN $M --stats json | grep -q '\"nodes\": 2'",
    "$DIFF $M $M && $CONVERT $M $OUT/d.yaml && $DIFF $M $OUT/d.yaml && $CONVERT $M $OUT/d.bson && $DIFF $OUT/d.yaml $OUT/d.bson",
    "$RUN $M --profile $OUT/p.json -n 5 >$OUT/o && grep -q '\"evaluations\": 5' $OUT/p.json",
    "$RUN $M --profile=$OUT/p.folded >$OUT/o && grep -q '^chain;A' $OUT/p.folded",
    "$RUN $M --profile=$OUT/p.speedscope.json >$OUT/o && grep -q speedscope.app $OUT/p.speedscope.json",
    "printf '# kept\\nm:\\n  graphs: # here too\\n    g: {nodes: {}}\\n' >$OUT/c.yaml && $CONVERT $OUT/c.yaml $OUT/d.yaml && grep -q '# here too' $OUT/d.yaml "
    "&& grep -q '^  onnx_opset_version: \"15\"$' $OUT/d.yaml",
    "printf 'm:\n    graphs: {g: {nodes: {n: {output_ports: {o: {value: 3}}}}}}\n' >$OUT/c.yaml && $CONVERT --format $OUT/c.yaml "
    "&& grep -q '^    graphs:' $OUT/c.yaml && cp $OUT/c.yaml $OUT/e.yaml && $CONVERT --format $OUT/c.yaml && cmp $OUT/c.yaml $OUT/e.yaml "
    "&& $RUN $OUT/c.yaml | grep -q '\"o\": 3' && rm $OUT/c.yaml $OUT/e.yaml",
    "printf 'm: # kept\n    graphs: {g: {nodes: {}}}\n' >$OUT/c.yaml && cp $OUT/c.yaml $OUT/e.yaml && ! $CONVERT --format $OUT/c.yaml 2>$OUT/w "
    "&& grep -q 'c.yaml:1:4: error: a text that is laid out anew has no comments' $OUT/w && cmp $OUT/c.yaml $OUT/e.yaml "
    "&& $CONVERT --format $OUT/c.yaml $OUT/e.yaml 2>$OUT/w && grep -q 'warning: comments are not kept' $OUT/w && ! grep -q kept $OUT/e.yaml "
    "&& rm $OUT/c.yaml $OUT/e.yaml $OUT/w",
    "printf 'm: # lost\n  graphs: {g: {nodes: {}}}\n' >$OUT/c.yaml && $CONVERT $OUT/c.yaml $OUT/c.json 2>$OUT/w && grep -q 'c.yaml:1:4: warning: comments are not kept' $OUT/w "
    "&& printf 'm:\n  notes: \"no # comment\"\n  graphs: {g: {nodes: {}}}\n' >$OUT/c.yaml && $CONVERT $OUT/c.yaml $OUT/c.json && rm $OUT/c.json $OUT/w",
    "$COMPILE -h $M | grep -q '^usage: mdf-compile '",
    "$FMU -h | grep -q '^usage: mdf-fmu '",
    "$FMU --version | grep -q '^mdf-fmu '",
    "$MERGE --version | grep -q '^mdf-merge '",
    "$DIFF --version | grep -q '^mdf-diff '",
    "$DIFF --json-errors $M /nowhere.json 2>&1 | grep -q '^{\"severity\": \"error\", \"code\": \"file\", '",
    "bash -c 'source <($RUN --completion bash); COMP_WORDS=(mdf-run --color al); COMP_CWORD=2; _mdf_run; test ${COMPREPLY[0]} = always'",
    /* one executable: the name that it is called by says which program it is; what has none of the names is mdf-run */
    "cp $RUN $OUT/mdf-diff-0.1 && cd $OUT && ./mdf-diff-0.1 --version | grep -q '^mdf-diff ' && mv mdf-diff-0.1 engine && ./engine --version | grep -q '^mdf-run ' && rm engine",
    "$FMU --completion bash | grep -q source-only",
    "$COMPILE --version --nope | grep -q '^mdf-compile '",
    "$RUN --ops | head -n 1 | grep -q '^# Operators$'",
    "$RUN $M -o /dev/stdout | grep -q '\"model\": \"two_nodes\"'",
    "$RUN $M -o $OUT/result && grep -q '\"model\": \"two_nodes\"' $OUT/result", /* a name without a suffix: JSON */
    "$RUN $M --rec A.y -n1 | grep -q '\"outputs\": {\"A\": {\"y\": 3.0}}'",
    "$CONVERT -- $M $OUT/a.yaml && $RUN - --from yaml < $OUT/a.yaml | grep -q '\"total\": 3.0'",
    "$COMPILE - --from json -o $OUT/a.c < $M && grep -q two_nodes_init $OUT/a.c",
    "$COMPILE $M --name 'a b' -o $OUT/a.h && grep -q a_b_init $OUT/a.h",
    "$RUN $M -n 2000 --trace | head -c 5 >$OUT/begin", /* a reader that leaves early */
    "$RUN $M --time 2>/dev/full >$OUT/o && grep -q '\"total\": 3.0' $OUT/o",
};

Test(command_line, taken)
{
    char errors[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof taken / sizeof *taken; i++) {
        int status = call(taken[i], errors);

        cr_expect(status == 0 && errors[0] == '\0', "%s: exit status %d, %s", taken[i], status, errors);
    }
}

Test(command_line, unreadable_files)
{
    char errors[TEXT_SIZE];

    if (geteuid() == 0) { /* who may read everything */
        cr_skip();
    }
    cr_expect(call("cp $M $OUT/a.json && chmod 000 $OUT/a.json && $RUN $OUT/a.json", errors) == 1);
    cr_expect(strstr(errors, "a.json: error: ") != NULL && strstr(errors, "permission denied") != NULL, "%s", errors);
}
