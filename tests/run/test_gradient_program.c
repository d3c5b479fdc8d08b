/* test_gradient_program.c - mdf_compile_gradient: derivatives through Scan, Loop, If and over steps, against differences of the
 * value; the value against that of the steps themselves; and the same bits lowered and plain. */
#include "mdf_c/machine/emit.h"
#include "mdf_c/mdf.h"
#include "mdf_c/run/dump.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/gradient_models.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ELEMENTS = 64, TEXT_SIZE = 6000 };

struct array {
    size_t n;
    mdf_dtype dtype;
    size_t rank;
    int64_t shape[4];
    double items[MOST_ELEMENTS];
};

static void write_model(const struct model *model, char text[TEXT_SIZE])
{
    snprintf(text, TEXT_SIZE, "{'m': {'onnx_opset_version': '21', 'graphs': {'g': {'nodes': {%s}, 'edges': {%s}%s%s%s}%s%s}}}",
             model->nodes, model->edges, model->conditions != NULL ? ", 'conditions': {'node_specific': {" : "",
             model->conditions != NULL ? model->conditions : "", model->conditions != NULL ? "}}" : "",
             model->bodies[0] != '\0' ? ", " : "", model->bodies);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
}

static size_t count(const struct model *model)
{
    size_t n = 0;

    while (n < MOST_PARAMETERS && model->parameters[n] != NULL) {
        n++;
    }
    return n;
}

static double increment(const struct model *model)
{
    return model->dt > 0 ? model->dt : (double)NAN;
}

static bool read_array(const mdf_value *value, struct array *array)
{
    mdf_tensor tensor;

    memset(array, 0, sizeof *array);
    if (!mdf_value_tensor(value, &tensor) || (tensor.dtype != MDF_DTYPE_FLOAT64 && tensor.dtype != MDF_DTYPE_INT64)) {
        return false;
    }
    array->n = 1;
    array->dtype = tensor.dtype;
    array->rank = tensor.rank;
    for (size_t i = 0; i < tensor.rank; i++) {
        array->shape[i] = tensor.shape[i];
        array->n *= (size_t)tensor.shape[i];
    }
    for (size_t i = 0; i < array->n; i++) {
        array->items[i] =
            tensor.dtype == MDF_DTYPE_INT64 ? (double)((const int64_t *)tensor.data)[i] : ((const double *)tensor.data)[i];
    }
    return true;
}

static mdf_program *compile(const mdf_model *loaded, const struct model *model, bool is_plain, mdf_error *error)
{
    mdf_options options = {.plain = is_plain};

    return mdf_compile_gradient(loaded, model->of, model->parameters, count(model), model->n_steps, increment(model), &options,
                                error);
}

/* Evaluates with a parameter changed (NULL: none); the sum of the value's elements. */
static double evaluate(mdf_state *state, const struct model *model, const char *parameter, const struct array *array,
                       mdf_error *error)
{
    struct array value;
    double sum = 0;

    if (parameter != NULL) {
        const mdf_tensor tensor = {MDF_DTYPE_FLOAT64, array->rank, array->shape, array->items};

        cr_assert_eq(mdf_state_reset(state, 0, error), MDF_OK);
        cr_assert_eq(mdf_set_parameter(state, parameter, &tensor, error), MDF_OK, "%s", error->message);
    }
    cr_assert_eq(mdf_evaluate(state, increment(model), error), MDF_OK, "%s: %s", model->name, error->message);
    cr_assert(read_array(mdf_output(state, "gradient", "value"), &value), "%s", model->name);
    for (size_t i = 0; i < value.n; i++) {
        sum += value.items[i];
    }
    return sum;
}

/* What steps of the graph itself give. */
static void expect_same_value(const mdf_model *loaded, const struct model *model, const mdf_state *gradient)
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile(loaded, NULL, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    const char *dot = strchr(model->of, '.');
    struct array value, expected;

    cr_assert_not_null(state, "%s: %s", model->name, error.message);
    for (uint64_t i = 0; i < model->n_steps; i++) {
        cr_assert_eq(mdf_evaluate(state, i == 0 ? (double)NAN : increment(model), &error), MDF_OK, "%s", error.message);
    }
    cr_assert(read_array(mdf_output(state, dot != NULL ? "m" : "n", dot != NULL ? dot + 1 : model->of), &expected));
    cr_assert(read_array(mdf_output(gradient, "gradient", "value"), &value));
    cr_expect(value.n == expected.n && memcmp(value.items, expected.items, value.n * sizeof *value.items) == 0,
              "%s: %.17g, not %.17g", model->name, value.items[0], expected.items[0]);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* Central differences with h = 1e-5 have errors of h^2 and of 1e-16 / h, times derivatives below 1000. */
static void expect_derivative(mdf_state *state, const struct model *model, const char *parameter, const struct array *at)
{
    const double h = 1e-5;
    struct array moved = *at, got, *gradient = &got;
    mdf_error error = {0};

    evaluate(state, model, parameter, at, &error);
    cr_assert(read_array(mdf_output(state, "gradient", parameter), gradient), "%s", model->name);
    cr_expect_eq(gradient->n, at->n, "%s by %s", model->name, parameter);
    for (size_t i = 0; i < at->n; i++) {
        double above, below;

        moved.items[i] = at->items[i] + h;
        above = evaluate(state, model, parameter, &moved, &error);
        moved.items[i] = at->items[i] - h;
        below = evaluate(state, model, parameter, &moved, &error);
        moved.items[i] = at->items[i];
        cr_expect_lt(fabs(gradient->items[i] - (above - below) / (2 * h)), 1e-6 * (1 + fabs(gradient->items[i])),
                     "%s by %s, element %zu: %.9g, not %.9g", model->name, parameter, i, gradient->items[i],
                     (above - below) / (2 * h));
    }
}

/* A parameter's value in the model: that of a program of the graph that has not been evaluated. */
static void find_parameter(const mdf_model *loaded, const char *name, struct array *array)
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile_changeable(loaded, &name, 1, NULL, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    const char *dot = strchr(name, '.');

    cr_assert_not_null(state, "%s", error.message);
    cr_assert_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "%s", error.message);
    for (size_t i = 0; i < mdf_program_n_nodes(program); i++) {
        const char *node = mdf_program_node_id(program, i);

        for (size_t k = 0; k < mdf_program_n_parts(program, i, MDF_PART_PARAMETER); k++) {
            if (strlen(node) == (size_t)(dot - name) && memcmp(node, name, strlen(node)) == 0 &&
                strcmp(mdf_program_part_id(program, i, MDF_PART_PARAMETER, k), dot + 1) == 0) {
                cr_assert(read_array(mdf_part_at(state, i, MDF_PART_PARAMETER, k, 0), array), "%s", name);
            }
        }
    }
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(gradient_program, equals_differences)
{
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        const struct model *model = &models[k];
        struct array gradients[2][MOST_PARAMETERS], at;
        mdf_error error = {0};
        mdf_model *loaded;
        char text[TEXT_SIZE];

        write_model(model, text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        cr_assert_not_null(loaded, "%s: %s", model->name, error.message);
        for (size_t plain = 0; plain < 2; plain++) {
            mdf_program *program = compile(loaded, model, plain == 1, &error);
            mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

            cr_assert_not_null(state, "%s: %s", model->name, error.message);
            for (size_t run = 0; run < 4; run++) { /* lowered from the third on */
                evaluate(state, model, NULL, NULL, &error);
            }
            expect_same_value(loaded, model, state);
            for (size_t i = 0; i < count(model); i++) {
                cr_assert(read_array(mdf_output(state, "gradient", model->parameters[i]), &gradients[plain][i]), "%s",
                          model->name);
            }
            for (size_t i = 0; plain == 0 && i < count(model); i++) {
                find_parameter(loaded, model->parameters[i], &at);
                if (model->n_steps > 1 && at.dtype == MDF_DTYPE_INT64) {
                    continue;
                }
                expect_derivative(state, model, model->parameters[i], &at);
            }
            mdf_state_free(state);
            mdf_program_free(program);
        }
        for (size_t i = 0; i < count(model); i++) {
            cr_expect(memcmp(gradients[0][i].items, gradients[1][i].items, gradients[0][i].n * sizeof(double)) == 0,
                      "%s by %s: lowered %.17g, plain %.17g", model->name, model->parameters[i], gradients[0][i].items[0],
                      gradients[1][i].items[0]);
        }
        mdf_model_free(loaded);
    }
}

/* The values of four evaluations of a program of derivatives by `n` parameters. */
static void draw_values(const mdf_model *loaded, const struct model *model, size_t n, bool is_plain, double values[4])
{
    const mdf_options options = {.plain = is_plain};
    mdf_error error = {0};
    mdf_program *program =
        mdf_compile_gradient(loaded, model->of, model->parameters, n, model->n_steps, increment(model), &options, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    cr_assert_not_null(state, "%s: %s", model->name, error.message);
    for (size_t i = 0; i < 4; i++) {
        values[i] = evaluate(state, model, NULL, NULL, &error);
        if (i == 0) {
            expect_same_value(loaded, model, state);
        }
    }
    mdf_state_free(state);
    mdf_program_free(program);
}

/* What is drawn again is what was drawn; behind the derivatives numbers go on from where the value left them. */
Test(gradient_program, draws_again_what_was_drawn)
{
    for (size_t k = 0; k < sizeof drawing_models / sizeof *drawing_models; k++) {
        const struct model *model = &drawing_models[k];
        double alone[4], derived[2][4];
        struct array at;
        mdf_error error = {0};
        mdf_model *loaded;
        mdf_program *program;
        mdf_state *state;
        char text[TEXT_SIZE];

        write_model(model, text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        cr_assert_not_null(loaded, "%s: %s", model->name, error.message);
        draw_values(loaded, model, 0, false, alone);
        for (size_t plain = 0; plain < 2; plain++) {
            draw_values(loaded, model, count(model), plain == 1, derived[plain]);
            cr_expect(memcmp(alone, derived[plain], sizeof alone) == 0, "%s: %.17g, %.17g", model->name, alone[1],
                      derived[plain][1]);
        }
        program = compile(loaded, model, false, &error);
        state = mdf_state_new(program, &error);
        for (size_t i = 0; i < count(model); i++) {
            find_parameter(loaded, model->parameters[i], &at);
            expect_derivative(state, model, model->parameters[i], &at);
        }
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(loaded);
    }
}

/* What gradients are brought back by is lowered, and those of matrices that a loop multiplies by are no states of the loop that
 * goes backward: their sums are products behind it. */
Test(gradient_program, loops_are_lowered_without_sums_of_matrices)
{
    const struct model *model = &models[0];
    struct mdf_memory memory;
    mdf_error error = {0};
    struct mdf_text dump;
    mdf_program *program;
    mdf_model *loaded;
    mdf_state *state;
    char text[TEXT_SIZE];

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        cr_skip(); /* what becomes a nest is another there */
    }
    while (strcmp(model->name, "matrices that a loop multiplies by, before and behind") != 0) {
        model++;
    }
    write_model(model, text);
    loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
    program = compile(loaded, model, false, &error);
    state = mdf_state_new(program, &error);
    for (size_t run = 0; run < 4; run++) {
        evaluate(state, model, NULL, NULL, &error);
    }
    mdf_memory_init(&memory, NULL, SIZE_MAX);
    mdf_text_init(&dump, &memory);
    cr_assert(mdf_state_dump(&dump, state, MDF_DUMP_LOWERED));
    cr_expect_not_null(strstr(dump.bytes, "loop 3 runs"), "%s", dump.bytes);
    for (const char *line = dump.bytes; line != NULL; line = strchr(line + 1, '\n')) {
        const char *state_at = strstr(line, " state v");

        cr_expect(state_at == NULL || strstr(state_at, "float64[3,5] =") == NULL, "%s", dump.bytes);
    }
    cr_expect_null(strstr(dump.bytes, "call gradient."), "%s", dump.bytes);
    mdf_text_release(&dump);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(loaded);
}

/* The gradient of a state, all parameters' in a row; how many elements. */
static size_t read_all(const mdf_state *state, const struct model *model, double *elements)
{
    size_t n = 0;

    for (size_t i = 0; i < count(model); i++) {
        struct array array;

        cr_assert(read_array(mdf_output(state, "gradient", model->parameters[i]), &array), "%s", model->name);
        memcpy(elements + n, array.items, array.n * sizeof *elements);
        n += array.n;
    }
    return n;
}

/* Sets all parameters to what they are in the model and h in the direction (1, -1/2, 1/3, -1/4, ...); as a direction itself where
 * `prefix` is "direction.". */
static void set_along(mdf_state *state, const mdf_model *loaded, const struct model *model, const char *prefix, double h)
{
    double element = 0;
    mdf_error error = {0};

    for (size_t i = 0; i < count(model); i++) {
        struct array at;
        char name[64];
        mdf_tensor tensor;

        find_parameter(loaded, model->parameters[i], &at);
        for (size_t k = 0; k < at.n; k++, element++) {
            double step = ((int)element % 2 == 0 ? 1 : -1) / (element + 1);

            at.items[k] = prefix[0] != '\0' ? step : at.items[k] + h * step;
        }
        snprintf(name, sizeof name, "%s%s", prefix, model->parameters[i]);
        tensor = (mdf_tensor){MDF_DTYPE_FLOAT64, at.rank, at.shape, at.items};
        cr_assert_eq(mdf_set_parameter(state, name, &tensor, &error), MDF_OK, "%s: %s", model->name, error.message);
    }
}

static void move_along(mdf_state *state, const mdf_model *loaded, const struct model *model, const char *prefix, double h)
{
    mdf_error error = {0};

    cr_assert_eq(mdf_state_reset(state, 0, &error), MDF_OK);
    set_along(state, loaded, model, prefix, h);
}

static mdf_state *new_product(const mdf_model *loaded, const struct model *model, mdf_vector_product what, bool is_plain,
                              mdf_program **program, mdf_error *error)
{
    mdf_options options = {.plain = is_plain};

    *program = mdf_compile_vector_product(loaded, what, model->of, model->parameters, count(model), model->n_steps,
                                          increment(model), &options, error);
    return *program != NULL ? mdf_state_new(*program, error) : NULL;
}

/* What goes forward, lowered and plain, against the gradient times the direction; false: it is refused. */
static bool expect_forward(const mdf_model *loaded, const struct model *model, double along)
{
    struct array tangents[2];
    mdf_error error = {0};

    for (size_t plain = 0; plain < 2; plain++) {
        mdf_program *program;
        mdf_state *state = new_product(loaded, model, MDF_JACOBIAN_VECTOR, plain == 1, &program, &error);
        double sum = 0;

        if (state == NULL) {
            cr_expect_eq(error.code, MDF_UNSUPPORTED, "%s: %s", model->name, error.message);
            return false;
        }
        for (size_t run = 0; run < 4; run++) {
            move_along(state, loaded, model, "direction.", 0);
            evaluate(state, model, NULL, NULL, &error);
        }
        cr_assert(read_array(mdf_output(state, "gradient", "tangent"), &tangents[plain]), "%s", model->name);
        for (size_t i = 0; i < tangents[plain].n; i++) {
            sum += tangents[plain].items[i];
        }
        cr_expect_lt(fabs(sum - along), 1e-10 * (1 + fabs(along)), "%s: forward %.15g, backward %.15g", model->name, sum, along);
        mdf_state_free(state);
        mdf_program_free(program);
    }
    cr_expect(memcmp(tangents[0].items, tangents[1].items, tangents[0].n * sizeof(double)) == 0, "%s", model->name);
    return true;
}

/* The Hessian times the direction against differences of the gradient; false: it is refused. */
static bool expect_second(const mdf_model *loaded, const struct model *model, mdf_state *gradient)
{
    const double h = 1e-5;
    double above[2 * MOST_ELEMENTS], below[2 * MOST_ELEMENTS], got[2 * MOST_ELEMENTS];
    mdf_error error = {0};
    mdf_program *program;
    mdf_state *state = new_product(loaded, model, MDF_HESSIAN_VECTOR, false, &program, &error);
    size_t n;

    if (state == NULL) {
        cr_expect_eq(error.code, MDF_UNSUPPORTED, "%s: %s", model->name, error.message);
        return false;
    }
    for (size_t run = 0; run < 4; run++) {
        move_along(state, loaded, model, "direction.", 0);
        set_along(state, loaded, model, "", 0); /* where the differences are taken */
        evaluate(state, model, NULL, NULL, &error);
    }
    n = read_all(state, model, got);
    move_along(gradient, loaded, model, "", h);
    evaluate(gradient, model, NULL, NULL, &error);
    read_all(gradient, model, above);
    move_along(gradient, loaded, model, "", -h);
    evaluate(gradient, model, NULL, NULL, &error);
    read_all(gradient, model, below);
    for (size_t i = 0; i < n; i++) {
        double expected = (above[i] - below[i]) / (2 * h);

        cr_expect_lt(fabs(got[i] - expected), 1e-5 * (1 + fabs(expected)), "%s, element %zu: %.9g, not %.9g", model->name, i,
                     got[i], expected);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    return true;
}

/* A loop of which nothing but forms is needed, the one that goes backward, is not there: values go through one, tangents through
 * another. */
Test(gradient_program, what_goes_forward_does_not_go_backward)
{
    static const char text[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"w\": {\"value\": [[0.3, "
                               "-0.2], [0.6, 0.5]]}, \"s\": "
                               "{\"value\": [1.5, 0.5]}, \"p\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 9, "
                               "\"v_initial\": \"[s]\", \"body\": \"b\"}}}, "
                               "\"output_ports\": {\"y\": {\"value\": \"numpy.sum(p * p)\"}}}}}, \"b\": {\"metadata\": "
                               "{\"inputs\": [\"i\", \"c\", \"r\"], "
                               "\"outputs\": [\"c2\", \"r2\"]}, \"nodes\": {\"m\": {\"input_ports\": {\"c\": {}, \"r\": {}}, "
                               "\"output_ports\": {\"c2\": {\"value\": "
                               "\"c\"}, \"r2\": {\"value\": \"numpy.tanh(numpy.matmul(r, w))\"}}}}}}}}";
    const char *const by[] = {"n.w", "n.s"};
    size_t n_loops = 0;
    struct mdf_memory memory;
    mdf_error error = {0};
    mdf_model *loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
    mdf_program *program = mdf_compile_vector_product(loaded, MDF_JACOBIAN_VECTOR, "y", by, 2, 1, (double)NAN, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);
    struct mdf_text dump;

    for (size_t run = 0; run < 4; run++) {
        cr_assert_eq(mdf_state_reset(state, 0, &error), MDF_OK);
        cr_assert_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "%s", error.message);
    }
    mdf_memory_init(&memory, NULL, SIZE_MAX);
    mdf_text_init(&dump, &memory);
    cr_assert(mdf_state_dump(&dump, state, MDF_DUMP_LOWERED));
    cr_assert(strncmp(dump.bytes, "an evaluation of graph g", 24) == 0, "%s", dump.bytes);
    *strstr(dump.bytes, "\n\n") = '\0'; /* other forms */
    for (const char *at = strstr(dump.bytes, "\nloop "); at != NULL; at = strstr(at + 1, "\nloop ")) {
        n_loops++;
    }
    /* without vectors products are no nests, and calls go where they did */
    cr_expect(n_loops == 2 || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", dump.bytes);
    mdf_text_release(&dump);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(loaded);
}

Test(gradient_program, goes_forward_and_to_the_second_order)
{
    size_t n_refused = 0, n_without_hessian = 0;

    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        double gradient[2 * MOST_ELEMENTS], along = 0;
        mdf_error error = {0};
        mdf_program *program;
        mdf_model *loaded;
        mdf_state *state;
        char text[TEXT_SIZE];
        size_t n;

        write_model(&models[k], text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        program = compile(loaded, &models[k], false, &error);
        state = mdf_state_new(program, &error);
        evaluate(state, &models[k], NULL, NULL, &error);
        n = read_all(state, &models[k], gradient);
        for (size_t i = 0; i < n; i++) {
            along += gradient[i] * (i % 2 == 0 ? 1 : -1) / ((double)i + 1);
        }
        n_refused += !expect_forward(loaded, &models[k], along);
        n_without_hessian += !expect_second(loaded, &models[k], state);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(loaded);
    }
    cr_expect_eq(n_without_hessian, 0, "%zu of %zu have no Hessian", n_without_hessian, sizeof models / sizeof *models);
    cr_expect_eq(n_refused, 0, "%zu of %zu do not go forward", n_refused, sizeof models / sizeof *models);
}

static const struct model long_models[] = {
    {"steps of an array",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'default_initial_value': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'value': "
     "'numpy.sin(s) * k + numpy.cos(s * k)'}}, 'output_ports': {'y': {'value': 's'}}}",
     "",
     "",
     "y",
     {"n.k", "n.s"},
     20000,
     0},
    {"a Loop that reads the number of its iterations",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5]}, 'p': {'function': "
     "'onnx::Loop', "
     "'args': {'M': 20000, 'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'v'], 'outputs': ['d', 'w']}, 'nodes': {'m': {'input_ports': {'i': {}, 'c': {}, "
     "'v': "
     "{}}, 'output_ports': {'d': {'value': 'c'}, 'w': {'value': 'numpy.sin(v) * k + numpy.cos(v * k) + 0.0001 * i'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
    {"a Loop that ends by its condition",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5]}, 'p': {'function': "
     "'onnx::Loop', 'args': {'cond': true, 'v_initial': '[s, 0.0]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'p[0] * "
     "p[1]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'v', 't'], 'outputs': ['d', 'w', 'u']}, 'nodes': {'m': {'input_ports': {'i': {}, "
     "'c': {}, 'v': {}, 't': {}}, 'output_ports': {'w': {'value': 'numpy.sin(v) * k + numpy.cos(v * k) + 0.0001 * i'}, 'u': "
     "{'value': 't + numpy.cos(v[0]) * numpy.cos(v[0]) * 0.1'}, 'd': {'value': 't < 1500'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
    {"a Loop that draws, as many times as a value says",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5]}, 'm': {'value': 60000}, 'p': "
     "{'function': 'onnx::Loop', 'args': {'M': 'm + numpy.sum(s > 100)', 'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': "
     "{'y': "
     "{'value': 'p * numpy.random.normal(1.0, 0.1)'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'v'], 'outputs': ['c', 'w']}, 'nodes': {'m': {'input_ports': {'i': {}, 'c': {}, "
     "'v': {}}, 'output_ports': {'w': {'value': 'numpy.sin(v) * k + v * k + numpy.random.normal(0.0, 0.01, 10) + 0.0001 * "
     "i'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
};

/* Steps, and iterations of long loops, are computed again in bounded memory: the same value and derivatives, by less memory. */
Test(gradient_program, bounded_memory_is_bought_with_time)
{
    mdf_options options = {.max_memory_bytes = 64 << 20};

    for (size_t k = 0; k < sizeof long_models / sizeof *long_models; k++) {
        const struct model *model = &long_models[k];
        size_t peaks[2];
        struct array gradients[2][3];
        mdf_error error = {0};
        mdf_model *loaded;
        char text[TEXT_SIZE];

        write_model(model, text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        for (size_t bounded = 0; bounded < 2; bounded++) {
            mdf_program *program = mdf_compile_gradient(loaded, model->of, model->parameters, 2, model->n_steps, (double)NAN,
                                                        bounded == 1 ? &options : NULL, &error);
            mdf_state *state = mdf_state_new(program, &error);

            evaluate(state, model, NULL, NULL, &error);
            cr_assert(read_array(mdf_output(state, "gradient", "value"), &gradients[bounded][0]));
            cr_assert(read_array(mdf_output(state, "gradient", "n.k"), &gradients[bounded][1]));
            cr_assert(read_array(mdf_output(state, "gradient", "n.s"), &gradients[bounded][2]));
            peaks[bounded] = mdf_state_peak_bytes(state);
            mdf_state_free(state);
            mdf_program_free(program);
        }
        for (size_t i = 0; i < 3; i++) {
            cr_expect(memcmp(gradients[0][i].items, gradients[1][i].items, gradients[0][i].n * sizeof(double)) == 0,
                      "%s, %zu: %.17g, %.17g", model->name, i, gradients[0][i].items[0], gradients[1][i].items[0]);
        }
        cr_expect_lt(peaks[1] * 4, peaks[0], "%s: %zu bytes of %zu", model->name, peaks[1], peaks[0]);
        mdf_model_free(loaded);
    }
}

/* Numbers of iterations that are no squares, and a square; what is stacked. */
static const struct model stacking_models[] = {
    {"a Loop that stacks",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2.5, 0.5]}, 'p': {'function': 'onnx::Loop', 'args': {'M': "
     "103, "
     "'cond': true, 'v_initial': '[s]', 'body': 'b'}}}, 'output_ports': {'y': {'value': 'numpy.sum(p[1] * numpy.cos(p[0])) + "
     "p[1][50, "
     "1] * p[1].shape[0] + p[1][102, 2]'}}}",
     "",
     "'b': {'metadata': {'inputs': ['i', 'c', 'v'], 'outputs': ['d', 'w', 'o']}, 'nodes': {'m': {'input_ports': {'i': {}, 'c': "
     "{}, "
     "'v': {}}, 'output_ports': {'d': {'value': 'c'}, 'w': {'value': 'numpy.sin(v) * k + numpy.cos(v * k) + s[i % 3]'}, 'o': "
     "{'value': "
     "'v * v * i'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
    {"a Scan of two arrays",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2.5, 0.5]}, 't': {'value': [0.0, 0.1, 0.199, 0.296, 0.389, "
     "0.479, 0.565, 0.644, 0.717, 0.783, 0.841, 0.891, 0.932, 0.964, 0.985, 0.997, 1.0, 0.992, 0.974, 0.946, 0.909, 0.863, "
     "0.808, 0.746, 0.675, 0.598, 0.516, 0.427, 0.335, 0.239, 0.141, 0.042, -0.058, -0.158, -0.256, -0.351, -0.443, -0.53, "
     "-0.612, -0.688, -0.757]}, 'u': {'value': [[1.0, 0.54, -0.42], [-0.99, -0.65, 0.28], [0.96, 0.75, -0.15], [-0.91, -0.84, "
     "0.0], [0.84, 0.91, 0.14], [-0.76, -0.96, -0.28], [0.66, 0.99, 0.41], [-0.55, -1.0, -0.53], [0.42, 0.99, 0.65], [-0.29, "
     "-0.96, -0.75], [0.15, 0.91, 0.83], [-0.01, -0.85, -0.9], [-0.13, 0.77, 0.96], [0.27, -0.67, -0.99], [-0.4, 0.56, 1.0], "
     "[0.53, -0.43, -0.99], [-0.64, 0.3, 0.96], [0.74, -0.16, -0.92], [-0.83, 0.02, 0.85], [0.9, 0.12, -0.77], [-0.95, -0.26, "
     "0.67], [0.99, 0.39, -0.56], [-1.0, -0.52, 0.44], [0.99, 0.63, -0.31], [-0.97, -0.74, 0.17], [0.92, 0.82, -0.03], [-0.86, "
     "-0.9, -0.11], [0.78, 0.95, 0.25], [-0.68, -0.98, -0.38], [0.57, 1.0, 0.51], [-0.45, -0.99, -0.63], [0.32, 0.97, 0.73], "
     "[-0.18, -0.93, -0.82], [0.04, 0.86, 0.89], [0.1, -0.78, -0.95], [-0.24, 0.69, 0.98], [0.38, -0.58, -1.0], [-0.5, 0.46, "
     "1.0], [0.62, -0.33, -0.97], [-0.72, 0.19, 0.93], [0.81, -0.05, -0.87]]}, 'p': {'function': 'onnx::Scan', 'args': "
     "{'num_scan_inputs': 2, 'initial_state_and_scan_inputs': '[s, t, u]', 'body': 'b'}}}, 'output_ports': {'y': {'value': "
     "'numpy.sum(p[1] * numpy.cos(p[0])) + p[1][40, 1] * p[1].shape[0] + numpy.sum(p[2] * t)'}}}",
     "",
     "'b': {'metadata': {'inputs': ['v', 'a', 'b'], 'outputs': ['w', 'o', 'q']}, 'nodes': {'m': {'input_ports': {'v': {}, 'a': "
     "{}, "
     "'b': {}}, 'output_ports': {'w': {'value': 'numpy.sin(v) * k + a * b'}, 'o': {'value': 'v * v * k'}, 'q': {'value': 'a * "
     "numpy.sum(v)'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
    {"a Scan of a square of items, without states",
     "'n': {'parameters': {'k': {'value': 0.3}, 's': {'value': [1, 2.5, 0.5]}, 't': {'value': [0.0, 0.841, 0.909, 0.141, -0.757, "
     "-0.959, -0.279, 0.657, 0.989, 0.412, -0.544, -1.0, -0.537, 0.42, 0.991, 0.65, -0.288, -0.961, -0.751, 0.15, 0.913, 0.837, "
     "-0.009, -0.846, -0.906, -0.132, 0.763, 0.956, 0.271, -0.664, -0.988, -0.404, 0.551, 1.0, 0.529, -0.428]}, 'p': "
     "{'function': 'onnx::Scan', 'args': {'num_scan_inputs': 1, 'initial_state_and_scan_inputs': '[t]', 'body': 'b'}}}, "
     "'output_ports': {'y': {'value': 'numpy.sum(p * numpy.expand_dims(t, 1))'}}}",
     "",
     "'b': {'metadata': {'inputs': ['a'], 'outputs': ['o']}, 'nodes': {'m': {'input_ports': {'a': {}}, 'output_ports': {'o': "
     "{'value': "
     "'numpy.sin(a * k) * s'}}}}}",
     "y",
     {"n.k", "n.s"},
     1,
     0},
};

static void read_gradients(const mdf_model *loaded, const struct model *model, const mdf_options *options, struct array arrays[3])
{
    mdf_error error = {0};
    mdf_program *program = mdf_compile_gradient(loaded, model->of, model->parameters, 2, 1, (double)NAN, options, &error);
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    cr_assert_not_null(state, "%s: %s", model->name, error.message);
    evaluate(state, model, NULL, NULL, &error);
    cr_assert(read_array(mdf_output(state, "gradient", "value"), &arrays[0]));
    cr_assert(read_array(mdf_output(state, "gradient", "n.k"), &arrays[1]));
    cr_assert(read_array(mdf_output(state, "gradient", "n.s"), &arrays[2]));
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(gradient_program, loops_in_segments_stack_the_same)
{
    for (size_t k = 0; k < sizeof stacking_models / sizeof *stacking_models; k++) {
        const struct model *model = &stacking_models[k];
        struct array gradients[4][3];
        mdf_error error = {0};
        mdf_model *loaded;
        char text[TEXT_SIZE];

        write_model(model, text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        for (size_t way = 0; way < 4; way++) {
            const mdf_options options = {.max_memory_bytes = way % 2 == 1 ? 64 << 20 : 0, .plain = way > 1};

            read_gradients(loaded, model, &options, gradients[way]);
            for (size_t i = 0; i < 3; i++) {
                cr_expect(memcmp(gradients[0][i].items, gradients[way][i].items, gradients[0][i].n * sizeof(double)) == 0,
                          "%s, %zu, %zu: %.17g, %.17g", model->name, way, i, gradients[0][i].items[0],
                          gradients[way][i].items[0]);
            }
        }
        mdf_model_free(loaded);
    }
}

/* What has no derivative is refused, and says why. */
static const struct refused {
    struct model model;
    const char *message;
} refused[] = {
    {{"no such result",
      "'n': {'parameters': {'a': {'value': 2.0}}, 'output_ports': {'y': {'value': 'a'}}}",
      "",
      "",
      "z",
      {"n.a"},
      1,
      0},
     "no result or output port 'z'"},
    {{"no such parameter",
      "'n': {'parameters': {'a': {'value': 2.0}}, 'output_ports': {'y': {'value': 'a'}}}",
      "",
      "",
      "y",
      {"n.b"},
      1,
      0},
     "no parameter is called 'n.b'"},
    {{"an operator without a derivative",
      "'n': {'parameters': {'a': {'value': [[2.0]]}, 'p': {'function': 'onnx::BitCast', 'args': {'input': 'a', 'to': 7}}}, "
      "'output_ports': {'y': "
      "{'value': "
      "'p'}}}",
      "",
      "",
      "y",
      {"n.a"},
      3,
      0},
     "there is no derivative of onnx::BitCast"},
    {{"a node that does not run",
      "'A': {'parameters': {'u': {'value': 2.0}}, 'output_ports': {'o': {'value': 'u'}}}, 'n': {'parameters': {'a': {'value': "
      "1.5}}, "
      "'output_ports': {'y': {'value': 'a'}}}",
      "",
      "",
      "y",
      {"n.a"},
      3,
      0,
      "'n': {'type': 'AfterNCalls', 'kwargs': {'dependency': 'A', 'n': 7}}}, 'termination': {'environment_state_update': "
      "{'type': "
      "'AfterPass', 'kwargs': {'n': 1}}"},
     "the node of 'y' does not run in 3 steps"},
};

Test(gradient_program, refuses)
{
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        mdf_error error = {0};
        mdf_model *loaded;
        char text[TEXT_SIZE];

        write_model(&refused[k].model, text);
        loaded = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &error);
        cr_assert_not_null(loaded, "%s: %s", refused[k].model.name, error.message);
        cr_expect_null(compile(loaded, &refused[k].model, false, &error), "%s", refused[k].model.name);
        cr_expect(strstr(error.message, refused[k].message) != NULL, "%s: %s", refused[k].model.name, error.message);
        mdf_model_free(loaded);
    }
}

Test(gradient_program, misuse_is_told)
{
    static const char text[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"output_ports\": {\"y\": {\"value\": 1.0}}}}}}}}";
    const char *const none[1] = {NULL};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m.json", NULL, &error);

    cr_expect_null(mdf_compile_gradient(NULL, "y", NULL, 0, 1, (double)NAN, NULL, &error));
    cr_expect_eq(error.code, MDF_USAGE);
    error = (mdf_error){0};
    cr_expect_null(mdf_compile_gradient(model, NULL, NULL, 0, 1, (double)NAN, NULL, &error));
    cr_expect_eq(error.code, MDF_USAGE);
    error = (mdf_error){0};
    cr_expect_null(mdf_compile_gradient(model, "y", none, 1, 1, (double)NAN, NULL, &error));
    cr_expect_eq(error.code, MDF_USAGE);
    error = (mdf_error){0};
    cr_expect_null(mdf_compile_gradient(model, "y", NULL, 0, 0, (double)NAN, NULL, &error));
    cr_expect_eq(error.code, MDF_USAGE);
    mdf_model_free(model);
}

/* Wherever memory runs out, there is an error and nothing is lost. */
Test(gradient_program, any_allocation_may_fail)
{
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        mdf_status status = MDF_OUT_OF_MEMORY;
        char text[TEXT_SIZE];

        write_model(&models[k], text);
        for (size_t n = 1; status == MDF_OUT_OF_MEMORY && n <= 20000; n += 1 + n / 8) {
            struct counter counter = {.fails_once = true};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_options options = {.allocator = &allocator};
            mdf_error error = {0};
            mdf_model *loaded = mdf_model_load_bytes(text, strlen(text), "json", "model", &options, &error);
            mdf_program *program;
            mdf_state *state;

            cr_assert_not_null(loaded, "%s", error.message);
            counter.fail_at = counter.n_calls + n;
            program = mdf_compile_gradient(loaded, models[k].of, models[k].parameters, count(&models[k]), models[k].n_steps,
                                           increment(&models[k]), &options, &error);
            state = program != NULL ? mdf_state_new(program, &error) : NULL;
            if (state != NULL) {
                mdf_evaluate(state, increment(&models[k]), &error);
            }
            status = error.code;
            mdf_state_free(state);
            mdf_program_free(program);
            mdf_model_free(loaded);
            cr_assert_eq(counter.n_blocks, 0, "%s lost %zu blocks where allocation %zu fails", models[k].name, counter.n_blocks,
                         n);
        }
        cr_expect_neq(status, MDF_OUT_OF_MEMORY, "%s never had enough", models[k].name);
    }
}
