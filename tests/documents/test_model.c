/* test_model.c - documents to models: every class and field in its forms, and what is refused or warned of, with its place. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRAPH(text) "{\"m\": {\"graphs\": {\"g\": {" text "}}}}"
#define NODES(text) GRAPH("\"nodes\": {" text "}")
#define EDGE(text)                                                                                                              \
    NODES("\"a\": {\"output_ports\": {\"o\": {\"value\": \"1\"}}}, \"b\": {\"input_ports\": {\"i\": {}}}}, \"edges\": {\"e\": " \
          "{" text "}")

struct case_text {
    const char *model, *message; /* the message holds this */
};

static void keep_warning(void *context, const mdf_error *warning)
{
    char *text = context;

    snprintf(text + strlen(text), 2000 - strlen(text), "%d:%d %s: %s\n", warning->line, warning->column, warning->path,
             warning->message);
}

/* The error of loading and compiling, "" where there is none; warnings go to `warnings` (2000 bytes). */
static void load(const char *text, char *message, size_t size, char *warnings)
{
    mdf_options options = {.warning = keep_warning, .warning_context = warnings};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m.json", &options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;

    message[0] = '\0';
    if (error.code != MDF_OK) {
        mdf_error_format(&error, message, size);
    }
    mdf_program_free(program);
    mdf_model_free(model);
}

static const struct case_text refused[] = {
    {"3", "m.json:1:1: error: an MDF model is an object"},
    {"{\"a\": {}, \"b\": {}}", "this is not an MDF model: it has no 'graphs'"},
    {"{\"m\": {\"graphs\": {}}}", "the model has no graphs"},
    {"{\"m\": {\"graphs\": \"g\"}}", "the graphs must be an object {ID: {...}}, or a list of objects with an 'id', not a string"},
    {"{\"m\": {\"graphs\": {\"g\": 1}}}", "graph 'g': must be an object"},
    {"{\"m\": {\"onnx_opset_version\": \"new\", \"graphs\": {\"g\": {}}}}", "onnx_opset_version must be a whole number"},
    {GRAPH("\"nodes\": [1, 2]"), "the nodes must be"},
    {GRAPH("\"nodes\": [{\"x\": 1, \"y\": 2}]"), "a node in a list must be an object with an 'id'"},
    {GRAPH("\"parameters\": 3"), "graph 'g': 'parameters' must be an object"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"shape\": [-1]}}}"),
     "m.json:1:72: error: graph 'g', node 'n', input port 'i': a shape has a negative size"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"shape\": \"(a,)\"}}}"), "a shape given as text must read like"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"shape\": 3}}}"), "a shape is a list of whole numbers"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"shape\": [1.5]}}}"), "a shape is a list of whole numbers"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"type\": 3}}}"), "a type is a string"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"reduce\": 3}}}"), "reduce is a string"},
    {NODES("\"n\": {\"functions\": {\"f\": {\"function\": [1]}}}"), "a function is a name, or an object {name: arguments}"},
    {NODES("\"n\": {\"functions\": {\"f\": {\"function\": {\"tanh\": {}}, \"args\": {}}}}"), "can not have 'args' as well"},
    {NODES("\"n\": {\"functions\": {\"f\": {\"function\": {\"tanh\": 3}}}}"), "the arguments of a function are an object"},
    {NODES("\"n\": {\"parameters\": {\"p\": {\"value\": 1, \"conditions\": {\"c\": {\"test\": 1}}}}}"),
     "condition 'c': 'value' is missing"},
    {EDGE("\"receiver\": \"b\", \"sender_port\": \"o\", \"receiver_port\": \"i\""), "edge 'e': 'sender' is missing"},
    {EDGE("\"sender\": \"A\", \"receiver\": \"b\", \"sender_port\": \"o\", \"receiver_port\": \"i\""),
     "sender 'A' is not a node of the graph; did you mean 'a'?"},
    {EDGE("\"sender\": \"a\", \"receiver\": \"c\", \"sender_port\": \"o\", \"receiver_port\": \"i\""),
     "receiver 'c' is not a node"},
    {EDGE("\"sender\": \"a\", \"receiver\": \"b\", \"sender_port\": \"oo\", \"receiver_port\": \"i\""),
     "node 'a' has no output port 'oo'; did you mean 'o'?"},
    {EDGE("\"sender\": \"a\", \"receiver\": \"b\", \"sender_port\": \"o\", \"receiver_port\": \"x\""),
     "node 'b' has no input port 'x'"},
    {EDGE("\"sender\": \"a\", \"receiver\": \"b\", \"sender_port\": \"o\", \"receiver_port\": \"i\", \"parameters\": 1"),
     "the parameters of an edge are an object"},
    {GRAPH("\"nodes\": {\"n\": {}}, \"metadata\": {\"inputs\": [{\"x\": 1}]}"), "an item of an interface is a name"},
    {GRAPH("\"nodes\": {\"n\": {}}, \"metadata\": {\"outputs\": [\"y\"]}"), "declares an output 'y'"},
    {GRAPH("\"nodes\": {\"n\": {}}, \"conditions\": []"), "'conditions' must be an object"},
};

Test(model, faults_are_refused_with_their_place)
{
    char message[2600], warnings[2000];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        warnings[0] = '\0';
        load(refused[i].model, message, sizeof message, warnings);
        cr_expect(strstr(message, refused[i].message) != NULL, "case %zu: %s", i, message);
    }
}

static const struct case_text warned[] = {
    {NODES("\"n\": {\"parametrs\": {}}"),
     "1:41 graph 'g', node 'n': unknown field 'parametrs' is ignored; did you mean 'parameters'?"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"reduce\": \"max\"}}}"), "unknown reduce 'max'"},
    {NODES("\"n\": {\"input_ports\": {\"i\": {\"type\": \"flot\"}}}"), "unknown type 'flot' is ignored"},
    {GRAPH("\"nodes\": [{\"id\": \"n\"}, {\"id\": \"n\"}]"), "the node 'n' is there twice; the last one is taken"},
    {NODES("\"n\": {}, \"n\": {}"), "n"},
    {NODES("\"n\": {\"parameters\": {\"p\": {\"function\": \"onnx::Abs\", \"args\": {\"X\": 1, \"bogus\": 2}}}}"),
     "onnx::Abs has no input or attribute 'bogus'"},
    {"{\"m\": {\"onnx_opset_version\": 999, \"graphs\": {\"g\": {}}}}", "onnx_opset_version 999 is newer than all that is known"},
};

Test(model, the_type_None_of_modeci_mdf_says_nothing)
{
    char message[2600], warnings[2000] = "";

    load(NODES("\"n\": {\"input_ports\": {\"i\": {\"type\": \"None\"}}}"), message, sizeof message, warnings);
    cr_expect_str_empty(message);
    cr_expect_str_empty(warnings);
}

Test(model, mistakes_that_change_nothing_are_warned_of)
{
    char message[2600], warnings[2000];

    for (size_t i = 0; i < sizeof warned / sizeof *warned; i++) {
        warnings[0] = '\0';
        load(warned[i].model, message, sizeof message, warnings);
        cr_expect_str_empty(message, "case %zu: %s", i, message);
        cr_expect(strstr(warnings, warned[i].message) != NULL, "case %zu: %s", i, warnings);
    }
}

/* Lists or objects, string shapes, bare values, {name: args}: one and the same model. */
static const char *const forms[] = {
    NODES("\"n\": {\"input_ports\": {\"x\": {\"shape\": [1], \"default_value\": [3]}}, \"parameters\": {\"k\": {\"value\": 2}}, "
          "\"functions\": {\"f\": "
          "{\"function\": \"linear\", \"args\": {\"variable0\": \"x\", \"slope\": \"k\", \"intercept\": 1}}}, \"output_ports\": "
          "{\"o\": {\"value\": \"f\"}}}"),
    NODES("\"n\": {\"input_ports\": [{\"id\": \"x\", \"shape\": \"(1,)\", \"default_value\": [3]}], \"parameters\": {\"k\": 2}, "
          "\"functions\": [{\"f\": "
          "{\"function\": {\"linear\": {\"variable0\": \"x\", \"slope\": \"k\", \"intercept\": 1}}}}], \"output_ports\": {\"o\": "
          "\"f\"}}"),
};

Test(model, the_forms_of_a_model_mean_the_same)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_bytes(forms[i], strlen(forms[i]), "json", "m.json", NULL, &error);
        mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
        mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
        mdf_tensor output;

        cr_assert_not_null(state, "form %zu: %s", i, error.message);
        cr_expect_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "form %zu: %s", i, error.message);
        cr_assert(mdf_value_tensor(mdf_output(state, "n", "o"), &output), "form %zu", i);
        cr_expect(output.dtype == MDF_DTYPE_INT64 && output.rank == 1 && *(const int64_t *)output.data == 7, "form %zu", i);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(model);
    }
    cr_expect_str_eq(mdf_status_text(MDF_MODEL), "the model is invalid");
}
