/* test_mistakes.c - what is said of a mistake in the text of a model: missing colons, quotes and brackets, lines that are
 * indented wrongly, words of other languages. Each row changes a model that runs, and has the first line that mdf-run says of it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 13 };

struct mistake {
    const char *from, *to, *said;
    size_t n_said; /* messages in all; 0: that is not looked at */
};

static const char yaml_model[] = "m:\n"
                                 "  graphs:\n"
                                 "    g:\n"
                                 "      nodes:\n"
                                 "        A:\n"
                                 "          parameters:\n"
                                 "            gain: {value: 2.0}\n"
                                 "          output_ports:\n"
                                 "            out: {value: gain * 3}\n"
                                 "        B:\n"
                                 "          input_ports:\n"
                                 "            x: {shape: \"(1,)\"}\n"
                                 "          output_ports:\n"
                                 "            y: {value: x + 1}\n"
                                 "      edges:\n"
                                 "        e: {sender: A, sender_port: out, receiver: B, receiver_port: x}\n";

static const struct mistake yaml_mistakes[] = {
    {"  graphs:\n", "  graphs\n", "2:9: error: ':' is missing behind 'graphs'"},
    {"        A:\n", "        A\n", "5:10: error: ':' is missing behind 'A'"},
    {"out: {value: gain", "out: {value:gain",
     "9:24: warning: a space is missing behind 'value:': YAML takes all of it for one text"},
    {"out: {value: gain * 3}", "out:\n              value:gain * 3",
     "10:20: warning: a space is missing behind 'value:': YAML takes all of it for one text"},
    {"gain: {value: 2.0}", "gain:{value: 2.0}",
     "7:18: warning: a key with a '{' that it does not close: is ': ' missing before it?"},
    {"            out: {", "            out {",
     "9:17: warning: a key with a '{' that it does not close: is ': ' missing before it?"},
    {"          parameters:", "\tparameters:", "6:1: error: a tab stands here: YAML is indented with spaces, not with tabs"},
    {"        B:\n", "       B:\n",
     "10:8: error: this line does not fit the object that begins at 4:7: its entries are 'key: value', each on a line that is "
     "indented by 6, where this one is by 7"},
    {"gain: {value: 2.0}", "gain: 2.0\n              k: 3",
     "8:16: error: this line is indented by 14, the entry above it by 12, and that has a value already: entries of one object "
     "begin in one column"},
    {"y: {value: x + 1}", "y: {value: \"x + 1}", "14:24: error: this text in quotes is not closed"},
    {"gain * 3", "\"gain * 3", "9:18: error: a text in quotes is not closed on the line on which this '{' opens"},
    {"out: {value: gain * 3}", "out: {value: gain * 3", "9:18: error: this '{' is not closed"},
    {"out: {value: gain * 3}", "out:\n              value: [1, 2", "10:22: error: this '[' is not closed"},
    {"        A:\n", "        - A:\n",
     "10:9: error: an item of the list that begins at 5:9 has no '- ' before it; entries of an object have none at all"},
    {"gain * 3", "a: b",
     "9:27: error: a second ':' in one entry of the object that opens at 9:18: is a ',' missing before it? A text with ': ' is "
     "put into quotes"},
    {"A, sender_port", "A sender_port",
     "16:34: error: a second ':' in one entry of the object that opens at 16:12: is a ',' missing before it? A text with ': ' is "
     "put into quotes"},
    {"gain: {value: 2.0}", "gain: {value: 2.0},",
     "7:31: error: the value before it has ended, and ',' follows: leave it out, or put the whole text into quotes"},
    {"gain: {value: 2.0}", "gain: {value: 2.0} // two", "7:32: error: a comment begins with '#' in YAML"},
    {"gain: {value: 2.0}", "gain: {\"value\" = 2.0}", "7:28: error: an entry is written 'key: value', not with '='"},
    {"gain: {value: 2.0}", "gain: {value = 2.0}", "7:20: warning: an entry is written 'key: value', not with '='"},
    {"gain: {value: 2.0}", "gain: {value: 2,5}",
     "7:29: warning: the ',' before this ends a value: a number is written with '.', as 2.5", 1},
    {"\"(1,)\"", "(1,)",
     "12:27: warning: the ',' before this ends a value of YAML, and the brackets ( ) around it are torn: put the whole text into "
     "quotes"},
    {"gain * 3", "max(gain, 3)",
     "9:36: warning: the ',' before this ends a value of YAML, and the brackets ( ) around it are torn: put the whole text into "
     "quotes",
     2},
    {"gain: {value: 2.0}", "gain 2.0",
     "7:13: error: graph 'g', node 'A': the parameters must be an object {ID: {...}}, or a list of objects with an 'id', not a "
     "string: is a ':' missing in it?"},
    {"{value: gain * 3}", "\n              value: %gain",
     "10:22: error: a value can not begin with '%': put the text into quotes"},
    {"gain * 3", "\"gain\" * 3",
     "9:34: error: '&' and '*' begin names of anchors: put a text that begins so, or the whole expression, into quotes"},
    {"gain * 3", "\"gain \\q 3\"",
     "9:32: error: '\\' begins an escape in double quotes, and this is none: use single quotes, or '\\\\'"},
    {"      nodes:\n        A:", "      A:",
     "9:9: error: this line does not fit the object that begins at 4:7: its entries are 'key: value', each on a line that is "
     "indented by 6, where this one is by 8"},
    {"{value: gain * 3}", "> gain",
     "9:18: error: '|' and '>' begin a text on the lines below: put a text that begins so into quotes"},
    {"gain * 3", "a:,", "9:27: error: within { } and [ ] a text with ':' is put into quotes"},
    {"      nodes:", "%nodes:", "4:1: error: a line can not begin with '%': put the text into quotes"},
    {"gain: {value: 2.0}", "? gain {value: 2.0}", "7:15: error: a key must be a scalar, not an object"},
};

static const char json_model[] =
    "{\"m\": {\"graphs\": {\"g\": {\n"
    "  \"nodes\": {\n"
    "    \"A\": {\"parameters\": {\"gain\": {\"value\": 2.0}}, \"output_ports\": {\"out\": {\"value\": \"gain * 3\"}}},\n"
    "    \"B\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"s\": {\"value\": \"x + 1\"}}, \"output_ports\": {\"y\": "
    "{\"value\": \"s\"}}}\n"
    "  },\n"
    "  \"edges\": {\"e\": {\"sender\": \"A\", \"sender_port\": \"out\", \"receiver\": \"B\", \"receiver_port\": \"x\"}},\n"
    "  \"conditions\": {\"node_specific\": {\"B\": {\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 1}}}}\n"
    "}}}}\n";

static const struct mistake json_mistakes[] = {
    {"2.0}}, ", "2.0}},, ", "3:50: error: a key in quotes is expected in the object that opens at 3:10, not ','"},
    {"2.0}}, ", "2.0}} ",
     "3:50: error: ',' or '}' is expected in the object that opens at 3:10, not '\"': a ',' is missing before it"},
    {"2.0", ".5",
     "3:44: error: a value is expected in the object that opens at 3:34, not '.': a number has a digit before its point"},
    {"{\"m\"", "{ // a model\n\"m\"",
     "1:3: error: a key in quotes is expected in the object that opens at 1:1, not '/': JSON has no comments (YAML has)"},
    {"\"gain * 3\"", "'gain * 3'",
     "3:85: error: a value (a string takes double quotes) is expected in the object that opens at 3:75, not '''"},
    {"\"parameters\": {\"gain\"", "\"params\": {\"gain\"",
     "3:11: warning: graph 'g', node 'A': unknown field 'params' is ignored; did you mean 'parameters'?"},
    {"\"input_ports\"", "\"inputs\"",
     "4:11: warning: graph 'g', node 'B': unknown field 'inputs' is ignored; did you mean 'input_ports'?"},
    {"\"parameters\": {\"s\"", "\"sender\": {\"s\"",
     "4:37: warning: graph 'g', node 'B': unknown field 'sender' is ignored; it is a field of an edge"},
    {"\"n\": 1", "\"count\": 1",
     "7:104: error: condition of node 'B': EveryNCalls: the condition has no argument 'count'; its arguments are: dependency, n"},
    {"\"sender\": \"A\"", "\"sender\": \"A.out\"",
     "6:29: error: graph 'g', edge 'e': sender 'A.out' is not a node of the graph: the port stands in 'sender_port'"},
    {"x + 1", "exp(x)", "4:68: error: node 'B', parameter 's': function 'exp' is not known; did you mean 'math.exp'?"},
    {"x + 1", "np.exp(x)", "4:68: error: node 'B', parameter 's': function 'np.exp' is not known; did you mean 'numpy.exp'?"},
    {"\"value\": \"x + 1\"", "\"function\": \"torch.relu\"",
     "4:70: error: node 'B', parameter 's': unknown function 'torch.relu'; did you mean 'onnx::Relu'?"},
    {"x + 1", "2x",
     "4:69: error: node 'B', parameter 's': expression '2x': unexpected 'x' directly after a number, without an operator such as "
     "'*' at column 2"},
    {"x + 1", "x = 1",
     "4:70: error: node 'B', parameter 's': expression 'x = 1': an assignment with '=' is not supported in an expression at "
     "column 3; '==' compares"},
    {"x + 1", "x && 1", "4:71: error: node 'B', parameter 's': expression 'x && 1': unexpected '&' at column 4; write 'and'"},
    {"x + 1", "x ? 1 : 0",
     "4:70: error: node 'B', parameter 's': expression 'x ? 1 : 0': unexpected '?' at column 3; write 'A if CONDITION else B'"},
    {"x + 1", "if x > 0: 1",
     "4:68: error: node 'B', parameter 's': expression 'if x > 0: 1': unexpected 'if' at column 1; write 'A if CONDITION else "
     "B'"},
    {"x + 1",
     "x \xe2\x88\x92"
     " 1",
     "4:70: error: node 'B', parameter 's': expression 'x \xe2\x88\x92"
     " 1': unexpected '\xe2\x88\x92"
     "' at column 3; the minus sign is '-'"},
    {"x + 1", "x;",
     "4:69: error: node 'B', parameter 's': expression 'x;': unexpected ';' at column 2; an expression is one value"},
    {"x + 1", "x ^ 2 + 0.5 ^ x",
     "4:70: error: node 'B', parameter 's': operator '^': does not apply to a float and a float; a power is written with '**'"},
    {"x + 1", "A.out + 1",
     "4:68: error: node 'B', parameter 's': name 'A.out' is not known here: the value of another node comes by an edge to an "
     "input port"},
    {"x + 1", "out + 1",
     "4:68: error: node 'B', parameter 's': name 'out' is not known here: the value of another node comes by an edge to an input "
     "port"},
    {"\"node_specific\"", "\"node_specfic\"",
     "7:18: warning: 'node_specfic' is ignored: conditions have 'node_specific' and 'termination'; did you mean "
     "'node_specific'?"},
    {"\"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 1}",
     "\"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": \"TRIALS\"}",
     "7:96: error: condition of node 'B': there is no time scale 'TRIALS'; did you mean 'TimeScale.ENVIRONMENT_STATE_UPDATE'?"},
    {"\"n\": 1", "\"n\": -1",
     "7:100: warning: condition of node 'B': EveryNCalls: 'n' is -1, and it counts whole numbers from 0 on"},
    {"\"x\": {}", "\"x\": {\"type\": \"flaot\"}",
     "4:41: warning: graph 'g', node 'B', input port 'x': unknown type 'flaot' is ignored; did you mean 'float'?"},
    {"\"value\": 2.0", "\"initial_value\": 2.0",
     "3:35: warning: graph 'g', node 'A', parameter 'gain': unknown field 'initial_value' is ignored; did you mean "
     "'default_initial_value'?"},
    {"\"s\": {\"value\": \"x + 1\"}", "\"s\": {\"derivative\": \"x + 1\"}",
     "4:58: warning: graph 'g', node 'B', parameter 's': unknown field 'derivative' is ignored; did you mean 'time_derivative'?"},
    {"\"graphs\"", "\"graph\"", "1:8: warning: unknown field 'graph' is ignored; did you mean 'graphs'?"},
    {"\"value\": \"x + 1\"", "\"function\": \"onnx::Add\", \"args\": {\"A\": \"x\", \"C\": 1.0}",
     "4:57: error: node 'B', parameter 's': onnx::Add needs the input 'B', and has none that is called 'C'"},
    {"\"A\", \"sender_port\": \"out\", \"receiver\": \"B\"", "\"AA\", \"sender_port\": \"out\", \"receiver\": \"BB\"",
     "6:29: error: graph 'g', edge 'e': sender 'AA' is not a node of the graph; did you mean 'A'?"},
    {"{\"s\": {\"value\": \"x + 1\"}}", "[1]",
     "4:51: error: graph 'g', node 'B': the parameters must be an object {ID: {...}}, or a list of objects with an 'id', not "
     "numbers"},
    {"\"value\": \"x + 1\"", "\"function\": \"numpy.smu\"",
     "4:70: error: node 'B', parameter 's': unknown function 'numpy.smu': 'numpy.sum' is a function of expressions, which stands "
     "in 'value': \"numpy.sum(...)\""},
    {"\"value\": \"x + 1\"", "\"function\": \"numpy::sum\"",
     "4:70: error: node 'B', parameter 's': unknown function 'numpy::sum': 'numpy.sum' is a function of expressions, which "
     "stands in 'value': \"numpy.sum(...)\""},
    {"x + 1", "ln(x)", "4:68: error: node 'B', parameter 's': function 'ln' is not known; did you mean 'numpy.log'?"},
    {"x + 1", "pi * x", "4:68: error: node 'B', parameter 's': name 'pi' is not known here; did you mean 'math.pi'?"},
    {"x + 1", "true", "4:68: error: node 'B', parameter 's': name 'true' is not known here; did you mean 'True'?"},
    {"x + 1", "|x|",
     "4:68: error: node 'B', parameter 's': expression '|x|': unexpected '|' at column 1; an absolute value is 'abs(x)'"},
    {"x + 1", "x +", "4:71: error: node 'B', parameter 's': expression 'x +': a value is missing: unexpected end at column 4"},
    {"x + 1", "y + 1",
     "4:68: error: node 'B', parameter 's': name 'y' is not known here: an output port of the node itself is for others to read; "
     "give what it is made of to a parameter, which both can name"},
    {"x + 1", "gain + 1",
     "4:68: error: node 'B', parameter 's': name 'gain' is not known here: the value of another node comes by an edge to an "
     "input port"},
    {"\"sender_port\": \"out\"", "\"sender_port\": \"gain\"",
     "6:49: error: graph 'g', edge 'e': node 'A' has no output port 'gain'; give it one with the value 'gain'"},
    {"\"receiver_port\": \"x\"", "\"receiver_port\": \"y\"",
     "6:90: error: graph 'g', edge 'e': node 'B' has no input port 'y': it is an output port, where edges begin"},
    {"\"receiver_port\": \"x\"", "\"receiver_port\": \"s\"",
     "6:90: error: graph 'g', edge 'e': node 'B' has no input port 's'; it has one: x"},
    {"\"receiver_port\": \"x\"", "\"receiver_port\": \"x\", \"parameters\": {\"wieght\": 2}",
     "6:110: warning: graph 'g', edge 'e': the parameter 'wieght' of an edge is ignored; did you mean 'weight'?"},
    {"\"kwargs\"", "\"kwarg\"",
     "7:74: error: condition of node 'B': EveryNCalls: the condition has no argument 'kwarg'; did you mean 'kwargs'?"},
    {"\"y\": {\"value\": \"s\"}", "\"y\": {}",
     "4:100: warning: node 'B', output port 'y': it has no 'value': nothing comes out of it"},
    {"  \"nodes\": {\n", "  \"parameters\": {\"k\": {\"vlaue\": 4}},\n  \"nodes\": {\n",
     "2:24: warning: graph parameter 'k': 'vlaue' makes an object of this parameter; did you mean 'value'?"},
    {"\"value\": \"x + 1\"", "\"value\": \"x + 1\", \"reset\": \"always\"",
     "4:85: error: graph 'g', node 'B', parameter 's': 'reset' has one meaning, \"environment_state_update\", and this is none"},
    {"  \"nodes\": {\n", "  \"metadata\": {\"inputs\": \"x\"},\n  \"nodes\": {\n",
     "2:26: warning: graph 'g': 'inputs' is a list of names: it is ignored"},
    {"\"value\": \"x + 1\"", "\"function\": \"onnx::If\", \"args\": {\"cond\": true, \"then_brnch\": \"g\"}",
     "4:105: error: node 'B', parameter 's': onnx::If has no input or attribute 'then_brnch'; did you mean 'then_branch'?", 1},
    {"\"s\": {\"value\": \"x + 1\"}", "\"s\": {\"value\": [\"x\", 1]}",
     "4:68: warning: node 'B', parameter 's': in a list 'x' is a text, not the value of that name: write the whole list as one "
     "text, \"[x, ...]\""},
    {"\"value\": \"s\"", "\"value\": [\"s\", \"s\"]",
     "4:111: warning: node 'B', output port 'y': in a list 's' is a text, not the value of that name: write the whole list as "
     "one "
     "text, \"[s, ...]\"",
     1},
    {"x + 1", "logistic",
     "4:68: error: node 'B', parameter 's': name 'logistic' is not known here: a function of that name stands in 'function', "
     "with its arguments in 'args'"},
    {"x + 1", "numpy.sum(x)[0]",
     "4:68: error: node 'B', parameter 's': operator '[]': too many indices for float64 scalar, which is read without an index"},
    {"x + 1", "numpy.array([x, x]) ^ 2",
     "4:88: error: node 'B', parameter 's': operator '^': has no meaning for elements of type float64; a power is written with "
     "'**'"},
};

/* What is given beside the model: values and names on the command line, and in the file given.yaml. */
static const struct {
    const char *arguments, *given, *said;
} given_mistakes[] = {
    {"--set @given.yaml", "A.gain: 1\nA.gian: 2\n",
     "given.yaml:2:1: error: no parameter is called 'A.gian'; did you mean 'A.gain'?\n    2 | A.gian: 2\n      | ^~~~~~\n"},
    {"--set @given.yaml", "gain: gian * 2\n",
     "given.yaml:1:7: error: node 'A', parameter 'gain': name 'gian' is not known here\n"
     "    1 | gain: gian * 2\n      |       ^~~~\n"},
    {"--set @given.yaml", "- 1\n",
     "given.yaml:1:1: error: parameters must be an object {NAME: value}, not a list\n    1 | - 1\n      | ^\n"},
    {"--set @given.npz", "",
     "given.npz: error: parameters by name stand in a file of JSON or YAML; one array is given as NAME=@FILE.npy\n"},
    {"--set A=1", "", "mdf-run: error: 'A' is a node: its parameters are called A.PARAMETER\n"},
    {"--set x=1", "", "mdf-run: error: 'x' is an input port, no parameter: give it as an input\n"},
    {"--input x=abc", "",
     "--input x:1:1: error: a value is expected, not 'abc'; a text stands in quotes within quotes: 'x=\"...\"'\n"
     "    1 | abc\n      | ^~~\n"},
    {"--inputs given.yaml", "{x: [1, {a: 2}, }\n",
     "given.yaml:1:17: error: a value is expected here, not '}'\n    1 | {x: [1, {a: 2}, }\n      |                 ^\n"},
    {"--inputs given.yaml", "x: 1\nB.xx: 2\n",
     "given.yaml:1:1: warning: input port 'x' is fed by an edge, and takes no value from outside; the value is ignored\n"
     "    1 | x: 1\n      | ^\n"
     "given.yaml:2:1: warning: no input port is called 'B.xx'; the value is ignored\n"
     "    2 | B.xx: 2\n      | ^~~~\n"},
    {"--input B.x=1", "", "mdf-run: error: input port 'B.x' is fed by an edge, and takes no value from outside\n"},
    {"--set A.out=1", "", "mdf-run: error: 'A.out' is an output port, no parameter: its value follows from those\n"},
    {"--graph h", "", "mdf-run: error: the model has no graph 'h'; there are: g\n"},
    {"--record gain", "",
     "mdf-run: error: --record: 'gain' is no output port: give node 'A' one with the value 'gain', which is told then\n"},
    {"--gradient yy --of gain", "", "mdf-run: error: the graph has no result or output port 'yy' to derive; did you mean 'y'?\n"},
    {"--gradient y --of x", "", "mdf-run: error: 'x' is an input port, no parameter: give it as an input\n"},
};

/* The first line that mdf-run says of a text, without the name of the file. Returns how many messages there are. */
static size_t first_line(const char *text, const char *suffix, char said[TEXT_SIZE])
{
    size_t n_messages = 0;
    const char *build = getenv("BUILD");
    char path[] = "/tmp/mdf_test_mistakes_XXXXXX", command[256], *end;
    FILE *stream;
    size_t n;

    cr_assert(mkdtemp(path) != NULL);
    snprintf(command, sizeof command, "%s/model%s", path, suffix);
    stream = fopen(command, "wb");
    cr_assert(stream != NULL && fwrite(text, 1, strlen(text), stream) == strlen(text) && fclose(stream) == 0);
    snprintf(command, sizeof command, "%s/mdf-run %s/model%s 2>&1 >/dev/null; rm -r %s", build != NULL ? build : "build", path,
             suffix, path);
    stream = popen(command, "r");
    cr_assert(stream != NULL);
    n = fread(said, 1, TEXT_SIZE - 1, stream);
    said[n] = '\0';
    pclose(stream);
    for (end = said; (end = strstr(end, path)) != NULL; end++) {
        n_messages++;
    }
    end = strchr(said, '\n');
    if (end != NULL) {
        n = strlen(path) + strlen("/model") + strlen(suffix) + strlen(":");
        *end = '\0';
        cr_assert(strncmp(said, path, strlen(path)) == 0, "%s", said);
        memmove(said, said + n, strlen(said + n) + 1);
    }
    return n_messages;
}

static void check(const char *model, const char *suffix, const struct mistake *mistakes, size_t n)
{
    static char text[TEXT_SIZE], said[TEXT_SIZE];

    first_line(model, suffix, said);
    cr_assert_str_eq(said, "", "%s", said);
    for (size_t i = 0; i < n; i++) {
        const char *at = strstr(model, mistakes[i].from);
        size_t n_messages;

        cr_assert(at != NULL, "%s", mistakes[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - model), model, mistakes[i].to, at + strlen(mistakes[i].from));
        n_messages = first_line(text, suffix, said);
        cr_expect(mistakes[i].n_said == 0 || mistakes[i].n_said == n_messages, "'%s': %zu messages", mistakes[i].to, n_messages);
        cr_expect_str_eq(said, mistakes[i].said, "'%s' in place of '%s'\nsays\n%s\nnot\n%s", mistakes[i].to, mistakes[i].from,
                         said, mistakes[i].said);
    }
}

Test(mistakes, in_yaml)
{
    check(yaml_model, ".yaml", yaml_mistakes, sizeof yaml_mistakes / sizeof *yaml_mistakes);
}

Test(mistakes, in_json)
{
    check(json_model, ".json", json_mistakes, sizeof json_mistakes / sizeof *json_mistakes);
}

Test(mistakes, in_what_is_given)
{
    static char said[TEXT_SIZE];
    char path[] = "/tmp/mdf_test_mistakes_XXXXXX", command[1 << 13];
    const char *build = getenv("BUILD");
    char *program = realpath(build != NULL ? build : "build", NULL);
    size_t i;

    cr_assert(mkdtemp(path) != NULL && program != NULL);
    for (i = 0; i < sizeof given_mistakes / sizeof *given_mistakes; i++) {
        const char *texts[] = {yaml_model, given_mistakes[i].given}, *names[] = {"model.yaml", "given.yaml"};
        FILE *stream;

        for (size_t k = 0; k < 2; k++) {
            snprintf(command, sizeof command, "%s/%s", path, names[k]);
            stream = fopen(command, "wb");
            cr_assert(stream != NULL && fputs(texts[k], stream) >= 0 && fclose(stream) == 0);
        }
        snprintf(command, sizeof command, "cd %s && touch given.npz && %s/mdf-run model.yaml %s 2>&1 >/dev/null", path, program,
                 given_mistakes[i].arguments);
        stream = popen(command, "r");
        cr_assert(stream != NULL);
        said[fread(said, 1, TEXT_SIZE - 1, stream)] = '\0';
        pclose(stream);
        cr_expect_str_eq(said, given_mistakes[i].said, "%s\nsays\n%s", given_mistakes[i].arguments, said);
    }
    snprintf(command, sizeof command, "rm -r %s", path);
    cr_assert(system(command) == 0);
    free(program);
}
