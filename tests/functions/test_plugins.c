/* test_plugins.c - functions that were registered: what models can do with them, what they may do wrong, and a plugin as it
 * stands in examples/plugin, compiled and loaded. The command line and docs/plugins.md are held to it too. */
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { TEXT_SIZE = 8192, PATH_SIZE = 512 };

/* ------------------------------------------------------------------ functions of the test's own */

static size_t length(const mdf_tensor *array)
{
    size_t n = 1;

    for (size_t i = 0; i < array->rank; i++) {
        n *= (size_t)array->shape[i];
    }
    return n;
}

/* x * factor + shift */
static mdf_status scale(mdf_function_call *call)
{
    double factor = *(const double *)call->inputs[1].data;
    double shift = call->inputs[2].dtype == MDF_DTYPE_NONE ? 0 : *(const double *)call->inputs[2].data;

    if (factor < 0) {
        return call->fail(call, MDF_VALUE, "the factor is below 0");
    }
    for (size_t i = 0; i < length(&call->inputs[0]); i++) {
        ((double *)call->outputs[0])[i] = ((const double *)call->inputs[0].data)[i] * factor + shift;
    }
    return MDF_OK;
}

static mdf_status derive_scale(mdf_function_call *call)
{
    const double *x = call->inputs[0].data, *dy = call->inputs[3].data;
    double factor = *(const double *)call->inputs[1].data;

    *(double *)call->outputs[1] = *(double *)call->outputs[2] = 0;
    for (size_t i = 0; i < length(&call->inputs[0]); i++) {
        ((double *)call->outputs[0])[i] = dy[i] * factor;
        *(double *)call->outputs[1] += dy[i] * x[i];
        *(double *)call->outputs[2] += dy[i];
    }
    return MDF_OK;
}

/* The half, and the double. */
static mdf_status halve(mdf_function_call *call)
{
    for (size_t i = 0; i < length(&call->inputs[0]); i++) {
        ((double *)call->outputs[0])[i] = ((const double *)call->inputs[0].data)[i] / 2;
        ((double *)call->outputs[1])[i] = ((const double *)call->inputs[0].data)[i] * 2;
    }
    return MDF_OK;
}

static mdf_status derive_halves(mdf_function_call *call)
{
    const double *half = call->inputs[1].data, *twice = call->inputs[2].data;

    for (size_t i = 0; i < length(&call->inputs[0]); i++) {
        ((double *)call->outputs[0])[i] = half[i] / 2 + twice[i] * 2;
    }
    return MDF_OK;
}

/* Smallest and largest, and whether there is a NaN. */
static mdf_status range_shapes(mdf_function_call *call)
{
    call->make(call, 0, MDF_DTYPE_FLOAT64, 0, NULL);
    call->make(call, 1, MDF_DTYPE_FLOAT64, 0, NULL);
    call->make(call, 2, MDF_DTYPE_BOOL, 0, NULL);
    return MDF_OK;
}

static mdf_status range(mdf_function_call *call)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    bool has_nan = false;

    for (size_t i = 0; i < length(&call->inputs[0]); i++) {
        double x = ((const double *)call->inputs[0].data)[i];

        least = x < least ? x : least;
        most = x > most ? x : most;
        has_nan = has_nan || isnan(x);
    }
    *(double *)call->outputs[0] = least;
    *(double *)call->outputs[1] = most;
    *(bool *)call->outputs[2] = has_nan;
    return MDF_OK;
}

/* The type number and the rank of its input, as it comes. */
static mdf_status describe(mdf_function_call *call)
{
    int64_t *result = call->make(call, 0, MDF_DTYPE_INT64, 1, &(int64_t){2});

    if (result != NULL) {
        result[0] = call->inputs[0].dtype;
        result[1] = (int64_t)call->inputs[0].rank;
    }
    return MDF_OK;
}

static mdf_status misbehave(mdf_function_call *call)
{
    const char *how = *(const char *const *)call->inputs[0].data;

    if (strcmp(how, "silent") == 0) {
        return MDF_LIMIT;
    }
    if (strcmp(how, "other output") == 0) {
        return call->make(call, 7, MDF_DTYPE_FLOAT64, 0, NULL) == NULL ? MDF_OK : MDF_VALUE;
    }
    if (strcmp(how, "texts") == 0) {
        return call->make(call, 0, MDF_DTYPE_STRING, 0, NULL) == NULL ? MDF_OK : MDF_VALUE;
    }
    if (strcmp(how, "below 0") == 0) {
        return call->make(call, 0, MDF_DTYPE_FLOAT64, 1, &(int64_t){-1}) == NULL ? MDF_OK : MDF_VALUE;
    }
    if (strcmp(how, "huge") == 0) {
        return call->make(call, 0, MDF_DTYPE_FLOAT64, 1, &(int64_t){INT64_MAX / 2}) == NULL ? MDF_OK : MDF_VALUE;
    }
    if (strcmp(how, "other type") == 0) {
        return call->make(call, 0, MDF_DTYPE_INT8, 0, NULL) == NULL ? MDF_OK : MDF_VALUE;
    }
    return MDF_OK; /* without an output */
}

static atomic_int n_inside, most_inside, n_released;

/* Counts the calls that are in it at once. */
static mdf_status alone(mdf_function_call *call)
{
    int n = atomic_fetch_add(&n_inside, 1) + 1;

    if (n > atomic_load(&most_inside)) {
        atomic_store(&most_inside, n);
    }
    *(double *)call->outputs[0] = *(const double *)call->inputs[0].data + 1;
    atomic_fetch_sub(&n_inside, 1);
    return MDF_OK;
}

static void release(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static const mdf_function functions[] = {
    {.name = "lab::scale",
     .arguments = (const char *const[]){"x: float64", "factor: float64 = 2", "shift: float64 = None", NULL},
     .kernel = scale,
     .derivative = derive_scale},
    {.name = "lab::range",
     .arguments = (const char *const[]){"x: float64", NULL},
     .outputs = (const char *const[]){"least: float64", "most: float64", "has_nan: bool", NULL},
     .kernel = range,
     .shapes = range_shapes},
    {.name = "lab::describe",
     .arguments = (const char *const[]){"x", NULL},
     .kernel = describe,
     .flags = MDF_FUNCTION_MAKES_OUTPUTS},
    {.name = "lab::whole",
     .arguments = (const char *const[]){"x: int8", NULL},
     .kernel = describe,
     .flags = MDF_FUNCTION_MAKES_OUTPUTS},
    {.name = "lab::misbehave",
     .arguments = (const char *const[]){"how", NULL},
     .outputs = (const char *const[]){"out: float64", NULL},
     .kernel = misbehave,
     .flags = MDF_FUNCTION_MAKES_OUTPUTS},
    {.name = "lab::alone",
     .arguments = (const char *const[]){"x: float64", NULL},
     .kernel = alone,
     .flags = MDF_FUNCTION_SERIAL,
     .context = &n_released,
     .release = release},
    {.name = "lab::halves",
     .arguments = (const char *const[]){"x: float64", NULL},
     .outputs = (const char *const[]){"half: float64", "double: float64", NULL},
     .kernel = halve,
     .derivative = derive_halves},
};

static mdf_functions *make_functions(void)
{
    mdf_error error = {0};
    mdf_functions *set = mdf_functions_new(NULL, &error);

    cr_assert_not_null(set);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        cr_assert_eq(mdf_register_function(set, &functions[i], &error), MDF_OK, "%s", error.message);
    }
    return set;
}

/* ------------------------------------------------------------------ models of one node */

/* A model whose node has these functions or parameters and output ports. */
static void write_model(char text[TEXT_SIZE], const char *parts, const char *outputs)
{
    snprintf(
        text, TEXT_SIZE,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"default_value\": [1.0, -2.0, 3.0]}}, %s,\n"
        "\"output_ports\": {%s}}}}}}}",
        parts, outputs);
}

/* The first output as text, or the error. */
static void result_of(const char *model, const mdf_options *options, int n_steps, char text[TEXT_SIZE])
{
    struct engine engine;
    mdf_tensor tensor;
    bool done = engine_begin(&engine, model, options);
    size_t n = 0;

    for (int i = 0; done && i < n_steps; i++) {
        done = mdf_evaluate(engine.state, (double)NAN, &engine.error) == MDF_OK;
    }
    if (!done) {
        mdf_error_format(&engine.error, text, TEXT_SIZE);
    } else if (!mdf_value_tensor(mdf_output_at(engine.state, 0, 0), &tensor)) {
        snprintf(text, TEXT_SIZE, "no array");
    } else {
        text[0] = '\0';
        for (size_t i = 0; i < length(&tensor); i++) {
            n += (size_t)snprintf(text + n, TEXT_SIZE - n, "%s%g", i > 0 ? " " : "",
                                  tensor.dtype == MDF_DTYPE_BOOL    ? ((const bool *)tensor.data)[i]
                                  : tensor.dtype == MDF_DTYPE_INT64 ? (double)((const int64_t *)tensor.data)[i]
                                                                    : ((const double *)tensor.data)[i]);
        }
    }
    engine_end(&engine);
}

Test(plugins, models)
{
    static const struct {
        const char *parts, *outputs, *result;
    } cases[] = {
        /* as functions: arguments, defaults, names of the node, lists, several outputs */
        {"\"functions\": {\"f\": {\"function\": \"lab::scale\", \"args\": {\"x\": \"x\"}}}", "\"y\": {\"value\": \"f\"}",
         "2 -4 6"},
        {"\"functions\": {\"f\": {\"function\": \"lab::scale\"}}", "\"y\": {\"value\": \"f\"}", "2 -4 6"},
        {"\"functions\": {\"f\": {\"function\": \"lab::scale\", \"args\": {\"factor\": 0.5, \"shift\": \"x[0]\"}}}",
         "\"y\": {\"value\": \"f\"}", "1.5 0 2.5"},
        {"\"functions\": {\"f\": {\"function\": \"lab::scale\", \"args\": {\"x\": [1, 2]}}}", "\"y\": {\"value\": \"f\"}", "2 4"},
        {"\"functions\": {\"f\": {\"function\": \"lab::range\"}}", "\"y\": {\"value\": \"f[1]\"}", "3"},
        {"\"functions\": {\"f\": {\"function\": \"lab::range\"}}", "\"y\": {\"value\": \"1.5 if f[2] else f[0]\"}", "-2"},
        {"\"functions\": {\"f\": {\"function\": \"lab::range\"}}",
         "\"y\": {\"value\": \"f\"}, \"z\": {\"value\": \"f\"}, \"w\": {\"value\": \"f\"}", "-2"},
        {"\"parameters\": {\"p\": {\"function\": \"lab::scale\", \"args\": {\"x\": \"x\", \"factor\": 3}}}",
         "\"y\": {\"value\": \"p\"}", "3 -6 9"},
        {"\"parameters\": {\"factor\": {\"value\": 4.0}}, \"functions\": {\"f\": {\"function\": \"lab::scale\"}}",
         "\"y\": {\"value\": \"f\"}", "4 -8 12"},
        /* in expressions */
        {"\"parameters\": {}", "\"y\": {\"value\": \"lab.scale(x, factor=10) + 1\"}", "11 -19 31"},
        {"\"parameters\": {}", "\"y\": {\"value\": \"lab.scale(lab.range(x)[0], 2, shift=1)\"}", "-3"},
        {"\"parameters\": {}", "\"y\": {\"value\": \"lab.scale([1, 2], 2) if x[0] > 0 else x\"}", "2 4"},
        /* with a state of the model's */
        {"\"parameters\": {\"s\": {\"value\": \"lab.scale(s, 2)\", \"default_initial_value\": 1.0}}", "\"y\": {\"value\": \"s\"}",
         "16"},
        /* types: as declared, as they come */
        {"\"functions\": {\"f\": {\"function\": \"lab::describe\", \"args\": {\"x\": {\"type\": \"int32\", \"data\": [[1, "
         "2]]}}}}",
         "\"y\": {\"value\": \"f\"}", "5 2"},
        {"\"functions\": {\"f\": {\"function\": \"lab::whole\", \"args\": {\"x\": 7.0}}}", "\"y\": {\"value\": \"f\"}", "3 0"},
    };
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    char model[TEXT_SIZE], text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int plain = 0; plain <= 1; plain++) {
            options.plain = plain;
            write_model(model, cases[i].parts, cases[i].outputs);
            result_of(model, &options, 4, text);
            cr_expect_str_eq(text, cases[i].result, "%s, %s: %s", cases[i].parts, cases[i].outputs, text);
        }
    }
    mdf_functions_free(set);
}

Test(plugins, faults)
{
    static const struct {
        const char *parts, *error;
    } cases[] = {
        {"\"functions\": {\"f\":\n{\"function\": \"lab::scale\", \"args\": {\"factor\": -1}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::scale: the factor is below 0"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::scale\", \"args\": {\"x\": \"'text'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::scale: argument 'x' is string scalar, not float64"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::whole\", \"args\": {\"x\": 2.5}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::whole: argument 'x' is float64 scalar, not int8, and has a number "
         "that "
         "this type does not hold"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::whole\", \"args\": {\"x\": 300}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::whole: argument 'x' is int64 scalar, not int8, and has a number "
         "that this "
         "type does not hold"},
        /* nothing, for an argument that has to be something, and for one that may be nothing */
        {"\"functions\": {\"f\":\n{\"function\": \"lab::scale\", \"args\": {\"factor\": \"None\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::scale: argument 'factor' has no value (None), which only an argument "
         "can have that is registered with the default None"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::describe\", \"args\": {\"x\": \"None\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::describe: argument 'x' has no value (None), which only an argument "
         "can have that is registered with the default None"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::scale\", \"args\": {\"shift\": \"None\"}}}", NULL},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::describe\"}}", NULL}, /* x is a name of the node */
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'silent'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: it failed without saying why"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'nothing'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: its kernel did not make the output 'out'"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'other output'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: its kernel makes an output that it does not have"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'texts'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: its kernel makes an output of no type of numbers"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'other type'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: its kernel makes an output of another type than it was "
         "registered with"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'below 0'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: the result's axis 0 would have size -1"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::misbehave\", \"args\": {\"how\": \"'huge'\"}}}",
         "model.json:2:1: error: node 'n', function 'f': lab::misbehave: the result would have more elements than any memory"},
        {"\"functions\": {\"f\":\n{\"function\": \"lab::scal\"}}",
         "model.json:2:14: error: node 'n', function 'f': unknown function 'lab::scal'; did you mean 'lab::scale'?"},
        {"\"functions\": {\"f\":\n{\"function\": \"nobodys::function\"}}",
         "model.json:2:14: error: node 'n', function 'f': unknown function 'nobodys::function': functions of other domains come "
         "from "
         "a plugin (--plugin FILE) or are registered (docs/plugins.md)"},
        {"\"functions\": {\"f\": {\"value\":\n\"lab.scale(x, factr=2)\"}}",
         "model.json:2:15: error: node 'n', function 'f': lab::scale has no argument 'factr'; its arguments are: x factor= "
         "shift=; did you mean 'factor'?"},
        {"\"functions\": {\"f\": {\"value\":\n\"lab.scale()\"}}",
         "model.json:2:2: error: node 'n', function 'f': lab::scale needs the argument 'x'"},
        {"\"functions\": {\"f\": {\"value\":\n\"lab.scale\"}}",
         "model.json:2:2: error: node 'n', function 'f': the function 'lab.scale' is not a value: call it"},
    };
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    char model[TEXT_SIZE], text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_model(model, cases[i].parts, "\"y\": {\"value\": \"f\"}");
        result_of(model, &options, 1, text);
        cr_expect(cases[i].error == NULL ? strstr(text, "error") == NULL : strcmp(text, cases[i].error) == 0, "%s", text);
    }
    mdf_functions_free(set);
}

/* As many arguments as there may be: all their names are looked through for one that was meant. */
Test(plugins, unknown_among_most_arguments)
{
    static char names[32][8];
    const char *arguments[33] = {NULL};
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    mdf_function function = {.name = "lab::many", .kernel = scale, .arguments = arguments};
    mdf_error error = {0};
    char model[TEXT_SIZE], text[TEXT_SIZE];

    for (int i = 0; i < 32; i++) {
        snprintf(names[i], sizeof names[i], "x%d=1", i);
        arguments[i] = names[i];
    }
    cr_assert_eq(mdf_register_function(set, &function, &error), MDF_OK, "%s", error.message);
    write_model(model, "\"functions\": {\"f\": {\"value\": \"lab.many(xx31=1)\"}}", "\"y\": {\"value\": \"f\"}");
    result_of(model, &options, 1, text);
    cr_expect(strstr(text, "has no argument 'xx31'") != NULL && strstr(text, "did you mean 'x31'?") != NULL, "%s", text);
    mdf_functions_free(set);
}

/* Nothing of a set is seen without it. */
Test(plugins, set_of_options)
{
    char model[TEXT_SIZE], text[TEXT_SIZE];

    mdf_functions_free(make_functions());
    write_model(model, "\"parameters\": {}", "\"y\": {\"value\": \"lab.scale(x)\"}");
    result_of(model, NULL, 1, text);
    cr_expect_str_eq(text, "model.json:2:34: error: node 'n', output port 'y': function 'lab.scale' is not known");
}

/* ------------------------------------------------------------------ registration */

Test(plugins, registration)
{
    const struct {
        mdf_function function;
        const char *message;
    } cases[] = {
        {{.name = "lab::scale", .kernel = scale, .arguments = (const char *const[]){"x", NULL}},
         "there is a function 'lab::scale' already"},
        {{.name = "scale", .kernel = scale}, "'scale' is no name for a function: it is DOMAIN::NAME, two identifiers"},
        {{.name = "lab::a b", .kernel = scale}, "'lab::a b' is no name for a function: it is DOMAIN::NAME, two identifiers"},
        {{.name = "onnx::Add", .kernel = scale},
         "a function 'onnx::Add' can not be registered: the engine has functions of that domain"},
        {{.name = "numpy::sum", .kernel = scale},
         "a function 'numpy::sum' can not be registered: the engine has functions of that domain"},
        {{.name = "np::sum", .kernel = scale},
         "a function 'np::sum' can not be registered: the engine has functions of that domain"},
        {{.name = "lab::f"}, "mdf_register_function: a function has a name and a kernel: one of them is NULL"},
        {{.name = "lab::f", .kernel = scale, .flags = 1u << 20},
         "mdf_register_function: 'lab::f' has flags that this library does not know"},
        {{.name = "lab::f", .kernel = scale},
         "lab::f: nothing says what its outputs are like: it has no argument to be like, no function for shapes, and its kernel "
         "does "
         "not make them"},
        {{.name = "lab::f", .kernel = scale, .arguments = (const char *const[]){"x: floot", NULL}},
         "lab::f: 'x: floot' is no argument: it is NAME, NAME: TYPE, NAME = DEFAULT or NAME: TYPE = DEFAULT"},
        {{.name = "lab::f", .kernel = scale, .arguments = (const char *const[]){"x", "x", NULL}},
         "lab::f: there are two arguments 'x'"},
        {{.name = "lab::f", .kernel = scale, .arguments = (const char *const[]){"x = 1", "y", NULL}},
         "lab::f: the argument 'y', which has no default, follows one that has"},
        {{.name = "lab::f",
          .kernel = scale,
          .arguments = (const char *const[]){"x", NULL},
          .outputs = (const char *const[]){NULL}},
         "lab::f: it has no outputs"},
        {{.name = "lab::f",
          .kernel = scale,
          .arguments = (const char *const[]){"x", NULL},
          .outputs = (const char *const[]){"y = 1", NULL}},
         "lab::f: 'y = 1' is no output: it is NAME, NAME: TYPE"},
    };
    mdf_functions *set = make_functions();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mdf_error error = {0};

        cr_expect_neq(mdf_register_function(set, &cases[i].function, &error), MDF_OK);
        cr_expect_str_eq(error.message, cases[i].message);
    }
    cr_expect_eq(mdf_register_function(NULL, &functions[0], NULL), MDF_USAGE);
    cr_expect_eq(mdf_register_function(set, NULL, NULL), MDF_USAGE);
    cr_expect_eq(mdf_load_plugin(set, NULL, NULL), MDF_USAGE);
    mdf_functions_free(NULL);
    mdf_functions_free(set);
}

/* A program keeps the functions that were there when it was compiled, and their set. */
Test(plugins, lifetime)
{
    const mdf_function other = {.name = "lab::scale",
                                .arguments = (const char *const[]){"x", NULL},
                                .kernel = describe,
                                .flags = MDF_FUNCTION_MAKES_OUTPUTS | MDF_FUNCTION_REPLACES};
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    struct engine engine, later;
    char model[TEXT_SIZE];
    mdf_tensor tensor;

    n_released = 0;
    write_model(model, "\"parameters\": {}", "\"y\": {\"value\": \"lab.scale(x)\"}");
    cr_assert(engine_begin(&engine, model, &options), "%s", engine.error.message);
    cr_assert_eq(mdf_register_function(set, &other, NULL), MDF_OK);
    cr_assert(engine_begin(&later, model, &options), "%s", later.error.message);
    mdf_functions_free(set);
    cr_expect_eq(n_released, 0);
    cr_assert_eq(mdf_evaluate(engine.state, (double)NAN, &engine.error), MDF_OK, "%s", engine.error.message);
    cr_assert(mdf_value_tensor(mdf_output_at(engine.state, 0, 0), &tensor) && tensor.dtype == MDF_DTYPE_FLOAT64);
    cr_assert_eq(mdf_evaluate(later.state, (double)NAN, &later.error), MDF_OK, "%s", later.error.message);
    cr_assert(mdf_value_tensor(mdf_output_at(later.state, 0, 0), &tensor) && tensor.dtype == MDF_DTYPE_INT64);
    engine_end(&engine);
    cr_expect_eq(n_released, 0);
    engine_end(&later);
    cr_expect_eq(n_released, 1);
}

/* Whichever allocation of a set, a registration, a model or its run fails: the error says so, and nothing is lost. */
Test(plugins, memory_that_is_refused)
{
    char model[TEXT_SIZE];
    bool is_whole = false;

    write_model(model, "\"functions\": {\"f\": {\"function\": \"lab::range\"}}", "\"y\": {\"value\": \"lab.scale(f[0], 3)\"}");
    for (size_t n = 1; !is_whole; n++) {
        struct counter counter = {.fail_at = n};
        mdf_allocator allocator = failing_allocator(&counter);
        mdf_error error = {0};
        mdf_functions *set = mdf_functions_new(&allocator, &error);
        mdf_options options = {.functions = set, .allocator = &allocator};
        struct engine engine = {0};
        bool done = set != NULL;

        for (size_t i = 0; i < sizeof functions / sizeof *functions && done; i++) {
            done = mdf_register_function(set, &functions[i], &error) == MDF_OK;
        }
        if (done && engine_begin(&engine, model, &options)) {
            is_whole = mdf_evaluate(engine.state, (double)NAN, &engine.error) == MDF_OK;
        }
        error = error.code != MDF_OK ? error : engine.error;
        cr_expect(is_whole || error.code == MDF_OUT_OF_MEMORY, "%zu: %s", n, error.message);
        engine_end(&engine);
        mdf_functions_free(set);
        cr_assert_eq(counter.n_blocks, 0, "%zu", n);
    }
}

/* ------------------------------------------------------------------ where models call them */

/* A Loop whose body calls one, a Loop without iterations whose state is known beforehand, a graph within a node. */
Test(plugins, bodies)
{
    static const struct {
        const char *model, *result;
    } cases[] = {
        {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": "
         "{\"M\": 5,"
         "\"v_initial\": [\"1.0\"], \"body\": \"b\"}}}, \"output_ports\": {\"y\": {\"value\": \"l\"}}}}},"
         "\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"v\"], \"outputs\": [\"d\", \"w\"]}, \"nodes\": {\"k\": "
         "{\"input_ports\": "
         "{\"i\": {}, \"c\": {}, \"v\": {}}, \"output_ports\": {\"d\": {\"value\": \"c\"}, \"w\": {\"value\": \"lab.scale(v) + "
         "1\"}}}}}}}}",
         "63"},
        {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}}, \"graph\": "
         "{\"id\": \"h\", "
         "\"nodes\": {\"k\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"w\": {\"value\": \"lab.scale(x, 3)\"}}}}}, "
         "\"output_ports\": {\"y\": {\"value\": \"w\"}}}}}}}}",
         "3 6"},
    };
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    char text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int plain = 0; plain <= 1; plain++) {
            options.plain = plain;
            result_of(cases[i].model, &options, 5, text);
            cr_expect_str_eq(text, cases[i].result);
        }
    }
    mdf_functions_free(set);
}

/* Of the sum of z * z, z = k x + s = [3, 5]: 2 z k by x; by k the sum of 2 z x, by s that of 2 z. One by something without a
 * derivative is refused. */
Test(plugins, gradient)
{
    static const char *const form =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {"
        "\"f\": {\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}, \"k\": {\"value\": 2.0}, \"s\": {\"value\": 1.0}}, "
        "\"output_ports\": {\"xo\": {\"value\": \"x\"}, \"ko\": {\"value\": \"k\"}, \"so\": {\"value\": \"s\"}}},"
        "\"n\": {\"input_ports\": {\"x\": {}, \"k\": {}, \"s\": {}}, \"output_ports\": {\"q\": {\"value\": \"%s ** 2\"}}},"
        "\"d\": {\"input_ports\": {\"x\": {}, \"k\": {}, \"s\": {}}, \"parameters\": {\"g\": {\"function\": "
        "\"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [\"x\", \"k\", \"s\"], \"xs\": [\"xo\", \"ko\", \"so\"], "
        "\"y\": \"q\"}}}, \"output_ports\": {\"o\": {\"value\": \"numpy.array([g[0][0], g[0][1], g[1], g[2]])\"}}}},"
        "\"edges\": {\"a\": {\"sender\": \"f\", \"sender_port\": \"xo\", \"receiver\": \"n\", \"receiver_port\": \"x\"},"
        "\"b\": {\"sender\": \"f\", \"sender_port\": \"ko\", \"receiver\": \"n\", \"receiver_port\": \"k\"},"
        "\"c\": {\"sender\": \"f\", \"sender_port\": \"so\", \"receiver\": \"n\", \"receiver_port\": \"s\"},"
        "\"d\": {\"sender\": \"f\", \"sender_port\": \"xo\", \"receiver\": \"d\", \"receiver_port\": \"x\"},"
        "\"e\": {\"sender\": \"f\", \"sender_port\": \"ko\", \"receiver\": \"d\", \"receiver_port\": \"k\"},"
        "\"f\": {\"sender\": \"f\", \"sender_port\": \"so\", \"receiver\": \"d\", \"receiver_port\": \"s\"}}}}}}";
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    struct engine engine;
    char model[TEXT_SIZE];
    mdf_tensor tensor;

    snprintf(model, sizeof model, form, "lab.scale(x, k, s)");
    cr_assert(engine_begin(&engine, model, &options), "%s", engine.error.message);
    cr_assert_eq(mdf_evaluate(engine.state, (double)NAN, &engine.error), MDF_OK, "%s", engine.error.message);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "d", "o"), &tensor) && length(&tensor) == 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(((const double *)tensor.data)[i], ((const double[]){12, 20, 26, 16})[i]);
    }
    engine_end(&engine);
    /* Of two outputs, nothing depends on the second: 2 z / 2 by x, z = x / 2. */
    snprintf(model, sizeof model, form, "lab.halves(x)[0]");
    cr_assert(engine_begin(&engine, model, &options), "%s", engine.error.message);
    cr_assert_eq(mdf_evaluate(engine.state, (double)NAN, &engine.error), MDF_OK, "%s", engine.error.message);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "d", "o"), &tensor) && length(&tensor) == 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(((const double *)tensor.data)[i], ((const double[]){0.5, 1, 0, 0})[i]);
    }
    engine_end(&engine);
    snprintf(model, sizeof model, form, "lab.alone(x)");
    cr_expect_not(engine_begin(&engine, model, &options));
    cr_expect_not_null(strstr(engine.error.message, "there is no derivative of lab::alone by its input 1"), "%s",
                       engine.error.message);
    engine_end(&engine);
    mdf_functions_free(set);
}

/* The same bits whatever the number of threads; and one call at a time where that was asked for. */
Test(plugins, sweep)
{
    static const double starts[64] = {1, 2, 3, 4};
    static const int64_t n = 64;
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    const mdf_sweep_values parameter = {"n.s", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, &n, starts}};
    const mdf_record record = {.dtype = MDF_DTYPE_NONE};
    double results[64];
    void *arrays[] = {results};
    struct engine engine;
    char model[TEXT_SIZE];

    write_model(model, "\"parameters\": {\"s\": {\"value\": \"lab.alone(s)\", \"default_initial_value\": 0.0}}",
                "\"y\": {\"value\": \"s\"}");
    cr_assert(engine_begin(&engine, model, &options), "%s", engine.error.message);
    mdf_state_free(engine.state);
    mdf_program_free(engine.program);
    engine.state = NULL;
    engine.program = mdf_compile_changeable(engine.model, &(const char *){"n.s"}, 1, &options, &engine.error);
    cr_assert_not_null(engine.program, "%s", engine.error.message);
    for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
        const mdf_sweep_options how = {.n_instances = 64,
                                       .parameters = &parameter,
                                       .n_parameters = 1,
                                       .records = &record,
                                       .n_records = 1,
                                       .n_steps = 50,
                                       .dt = (double)NAN,
                                       .n_threads = n_threads};
        mdf_sweep *sweep = mdf_sweep_new(engine.program, &how, &engine.error);

        cr_assert_not_null(sweep, "%s", engine.error.message);
        cr_assert_eq(mdf_sweep_run(sweep, arrays, &engine.error), MDF_OK, "%s", engine.error.message);
        for (int i = 0; i < 64; i++) {
            cr_expect_eq(results[i], starts[i] + 50);
        }
        mdf_sweep_free(sweep);
    }
    cr_expect_eq(most_inside, 1);
    engine_end(&engine);
    mdf_functions_free(set);
}

Test(plugins, explain)
{
    mdf_functions *set = make_functions();
    mdf_options options = {.functions = set};
    struct engine engine;
    char model[TEXT_SIZE], text[TEXT_SIZE];

    write_model(model, "\"parameters\": {}", "\"y\": {\"value\": \"lab.scale(x) + 1\"}");
    cr_assert(engine_begin(&engine, model, &options));
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(mdf_evaluate(engine.state, (double)NAN, &engine.error), MDF_OK);
    }
    mdf_explain(engine.state, text, sizeof text);
    cr_expect_not_null(strstr(text, "because of a custom function, which is called as it is, at lab::scale, in node 'n'"), "%s",
                       text);
    engine_end(&engine);
    mdf_functions_free(set);
}

/* ------------------------------------------------------------------ the example */

static char folder[] = "/tmp/mdf_test_plugins_XXXXXX";

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL);
}

static void tear_down(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

/* What a command of the shell prints, with $BUILD and $FOLDER; its exit status. */
static int run(char text[TEXT_SIZE], const char *command)
{
    const char *build = getenv("BUILD");
    FILE *stream;
    size_t n;

    setenv("BUILD", build != NULL ? build : "build", 1);
    setenv("FOLDER", folder, 1);
    stream = popen(command, "r");
    cr_assert(stream != NULL);
    n = fread(text, 1, TEXT_SIZE - 1, stream);
    text[n] = '\0';
    return WEXITSTATUS(pclose(stream));
}

static void build_plugin(const char *flags)
{
    char command[PATH_SIZE], text[TEXT_SIZE];

    snprintf(command, sizeof command,
             "${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -Imdf_c %s -o $FOLDER/mylab.so "
             "examples/plugin/mylab.c -lm "
             "2>&1",
             flags);
    cr_assert_eq(run(text, command), 0, "%s", text);
}

Test(plugin_file, example, .init = set_up, .fini = tear_down)
{
    static const char *const results =
        "{\"model\": \"saturate\", \"graph\": \"root\", \"steps\": 1,\n \"results\": {\"out\": [0.6666666666666666, "
        "-1.3333333333333333, 1.0], \"radius\": 1.4907119849998598, \"angle\": -1.1071487177940904, \"above\": "
        "[0.16666666666666663, 0.5]},\n";
    char text[TEXT_SIZE];

    build_plugin("");
    cr_expect_eq(run(text, "$BUILD/mdf-run --plugin $FOLDER/mylab.so examples/plugin/saturate.json -i drive=[1,-4,2] 2>&1"), 0,
                 "%s", text);
    cr_expect(strncmp(text, results, strlen(results)) == 0, "%s", text);
    cr_expect_eq(run(text, "cd $FOLDER && $OLDPWD/$BUILD/mdf-run --plugin mylab.so $OLDPWD/examples/plugin/saturate.json "
                           "-i drive=[1,-4,2] 2>&1"),
                 0, "%s", text);
    cr_expect_eq(run(text, "$BUILD/mdf-run examples/plugin/saturate.json -i drive=[1,-4,2] 2>&1"), 1);
    cr_expect_not_null(strstr(text, "unknown function 'mylab::saturate': functions of other domains come from a plugin"), "%s",
                       text);
}

/* The kernels as C source: the same as by the library, step by step; what they refuse, in their words. */
Test(plugin_file, in_c, .init = set_up, .fini = tear_down)
{
    static const struct {
        const char *command;
        int status;
        const char *message;
    } cases[] = {
        /* three ways, of which two are compared with the first */
        {"for way in '' --plain --compile; do $BUILD/mdf-run --plugin $FOLDER/mylab.so examples/plugin/saturate.json --inputs "
         "$FOLDER/steps.json -n 4 --trace --quiet $way >$FOLDER/\"way$way\" || exit 1; done; cmp $FOLDER/way $FOLDER/way--plain && cmp "
         "$FOLDER/way $FOLDER/way--compile && wc -l <$FOLDER/way 2>&1",
         0, ""},
        {"$BUILD/mdf-compile --plugin $FOLDER/mylab.so examples/plugin/saturate.json -i drive=[1,-4,2] -o $FOLDER/s.h && ${CC:-cc} "
         "-std=c11 -Wall -Wextra -Wpedantic -Werror -c -o $FOLDER/s.o $FOLDER/s.c && ${CC:-cc} -std=c11 -Werror -Imdf_c -include mdf.h "
         "-c -o $FOLDER/s.o $FOLDER/s.c 2>&1",
         0, ""},
        {"$BUILD/mdf-run --compile --plugin $FOLDER/mylab.so examples/plugin/saturate.json --set squash.limit=-1 -i drive=[1,-4,2] 2>&1", 2,
         "no parameter is called 'squash.limit'"},
        {"sed 's/2[.]0/\"drive[0]\"/' examples/plugin/squash.json >$FOLDER/m.json && $BUILD/mdf-run --compile --plugin $FOLDER/mylab.so "
         "$FOLDER/m.json --inputs $FOLDER/below.json -n 3 2>&1",
         1, "node 'squash': mylab::saturate: the limit has to be above 0"},
        {"$BUILD/mdf-run --compile --plugin $FOLDER/mylab.so examples/plugin/saturate.json --inputs $FOLDER/fewer.json -n 3 2>&1", 1,
         "node 'squash': mylab::positive: its result has another type or shape than when the source was written"},
        {"$BUILD/mdf-compile --lanes 4 --plugin $FOLDER/mylab.so examples/plugin/saturate.json -i drive=[1,-4,2] -o $FOLDER/l.h 2>&1",
         1, "a function of a plugin is called"},
        {"sed 's/.c_name = \"mylab_saturate\",//; /.c_source/d' examples/plugin/mylab.c >$FOLDER/p.c && ${CC:-cc} -shared -fPIC "
         "-Imdf_c -o $FOLDER/p.so $FOLDER/p.c -lm && $BUILD/mdf-compile --plugin $FOLDER/p.so examples/plugin/saturate.json -i "
         "drive=[1,-4,2] -o $FOLDER/x.c 2>&1",
         1,
         "function 'squashed': it can not be written as C: a custom function, which is called as it is; write it with functions of the "
         "engine, or name its kernel in C: c_name of mdf_function"},
        /* linked with the plugin's own object, not written into the source */
        {"sed '/.c_source/d; s/static mdf_status mylab/mdf_status mylab/' examples/plugin/mylab.c >$FOLDER/p.c && ${CC:-cc} -shared "
         "-fPIC -Imdf_c -o $FOLDER/p.so $FOLDER/p.c -lm && $BUILD/mdf-compile --plugin $FOLDER/p.so examples/plugin/saturate.json -i "
         "drive=[1,-4,2] -o $FOLDER/x.h && printf '#include \"x.h\"\n#include <stdio.h>\nint main(void) { static struct saturate s; const "
         "double *out; int64_t drive[3] = {1, -4, 2}; saturate_init(&s); saturate_set_input(&s, 0, drive); if (saturate_step(&s, "
         "0.0 / 0.0)) return 1; out = saturate_output(&s, 0); return printf(\"%%.17g %%.17g\", out[0], out[1]) < 0; }' "
         ">$FOLDER/main.c && ${CC:-cc} -Imdf_c -o $FOLDER/main $FOLDER/main.c $FOLDER/x.c $FOLDER/p.c -lm && $FOLDER/main 2>&1",
         0, "0.66666666666666663 -1.3333333333333333"},
        /* under the sanitizers of addresses and undefined behaviour, where the compiler has them: steps, and one of another shape */
        {"$BUILD/mdf-compile --plugin $FOLDER/mylab.so examples/plugin/saturate.json -i drive=[1.5,-4,2] -o $FOLDER/a.h && printf "
         "'#include \"a.h\"\n#include <stdio.h>\nint main(void) { static struct saturate s; double drive[3] = {1.5, -4, 2}; int i; "
         "saturate_init(&s); for (i = 0; i < 100; i++) { drive[0] += i; saturate_set_input(&s, 0, drive); if (saturate_step(&s, 0.1)) "
         "return 1; } drive[1] = 4; saturate_set_input(&s, 0, drive); return puts(saturate_step(&s, 0.1) ? saturate_message(&s) : "
         "\"done\") < 0; }' >$FOLDER/main.c && flags='-fsanitize=address,undefined -fno-sanitize-recover=all'; echo 'int main(void) { "
         "return 0; }' >$FOLDER/e.c; ${CC:-cc} $flags -o $FOLDER/e $FOLDER/e.c 2>/dev/null && $FOLDER/e || flags=; ${CC:-cc} $flags -o "
         "$FOLDER/main $FOLDER/main.c $FOLDER/a.c -lm && $FOLDER/main 2>&1",
         0, "node 'squash': mylab::positive: its result has another type or shape than when the source was written"},
    };
    char text[TEXT_SIZE];

    build_plugin("");
    cr_assert_eq(run(text, "echo '[{\"drive\": [1.5, -4, 2]}, {\"drive\": [3, -0.25, 7]}, {\"drive\": [1e9, 0, 3]}, {\"drive\": [2.5, -1, 5]}]' "
                           ">$FOLDER/steps.json; echo '[{\"drive\": [1.5, -4, 2]}, {\"drive\": [1.5, -4, 2]}, {\"drive\": [-1.5, 4, 2]}]' "
                           ">$FOLDER/below.json; echo '[{\"drive\": [1.5, -4, 2]}, {\"drive\": [1.5, -4, 2]}, {\"drive\": [-1.5, -4, 2]}]' "
                           ">$FOLDER/fewer.json"),
                 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(run(text, cases[i].command), cases[i].status, "%s\n%s", cases[i].command, text);
        cr_expect_not_null(strstr(text, cases[i].message), "%s\n%s", cases[i].command, text);
    }
}

Test(plugin_file, faults, .init = set_up, .fini = tear_down)
{
    static const struct {
        const char *command, *message;
    } cases[] = {
        {"$BUILD/mdf-run --plugin $FOLDER/none.so examples/newton_sqrt.json 2>&1", "can not be loaded: "},
        {"$BUILD/mdf-run --plugin $FOLDER/mylab.so --plugin $FOLDER/mylab.so examples/newton_sqrt.json 2>&1",
         "there is a function 'mylab::saturate' already"},
        {"echo 'int x;' > $FOLDER/p.c && ${CC:-cc} -shared -fPIC -o $FOLDER/p.so $FOLDER/p.c && $BUILD/mdf-run --plugin "
         "$FOLDER/p.so "
         "examples/newton_sqrt.json 2>&1",
         "is no plugin of mdf_c: it does not export mdf_plugin_interface and mdf_plugin_register"},
        {"echo 'const int mdf_plugin_interface = 99; int mdf_plugin_register(void *h) { return h == 0; }' > $FOLDER/p.c && "
         "${CC:-cc} "
         "-shared -fPIC -o $FOLDER/p.so $FOLDER/p.c && $BUILD/mdf-run --plugin $FOLDER/p.so examples/newton_sqrt.json 2>&1",
         "was made for interface 99, and this library has interface 1"},
        {"echo 'const int mdf_plugin_interface = 1; int mdf_plugin_register(void *h) { return 7; }' > $FOLDER/p.c && ${CC:-cc} "
         "-shared -fPIC -o $FOLDER/p.so $FOLDER/p.c && $BUILD/mdf-run --plugin $FOLDER/p.so examples/newton_sqrt.json 2>&1",
         "it failed without saying why"},
    };
    char text[TEXT_SIZE];

    build_plugin("");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(run(text, cases[i].command), 2, "%s", text);
        cr_expect_not_null(strstr(text, cases[i].message), "%s", text);
    }
}
