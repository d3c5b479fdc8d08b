/* case_runner.c - see case_runner.h. */
#include "tests/case_runner.h"

#include "mdf_c/tensor/dtype.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
    double rtol, atol;
    char place[600]; /* "step 0, node 'n', port 'p'", then indices */
    char *message;
};

static bool differs(const struct comparison *comparison, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

static bool differs(const struct comparison *comparison, const char *format, ...)
{
    int used = snprintf(comparison->message, CASE_MESSAGE_SIZE, "%s: ", comparison->place);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(comparison->message + used, (size_t)(CASE_MESSAGE_SIZE - used), format, arguments);
    va_end(arguments);
    return false;
}

/* ------------------------------------------------------------------ cases as text */

static void write_value(FILE *out, const json_t *value);

static void write_members(FILE *out, const json_t *object)
{
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    const char *separator = "";

    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        json_t *key = json_string(json_object_iter_key(at));

        fputs(separator, out);
        json_dumpf(key, out, JSON_ENCODE_ANY);
        json_decref(key);
        fputs(": ", out);
        write_value(out, json_object_iter_value(at));
        separator = ", ";
    }
}

static void write_value(FILE *out, const json_t *value)
{
    if (json_is_object(value)) {
        fputc('{', out);
        write_members(out, value);
        fputc('}', out);
    } else if (json_is_array(value)) {
        fputc('[', out);
        for (size_t i = 0; i < json_array_size(value); i++) {
            fputs(i > 0 ? ", " : "", out);
            write_value(out, json_array_get(value, i));
        }
        fputc(']', out);
    } else if (json_is_string(value) && json_string_value(value)[0] == '=') {
        fputs(json_string_value(value) + 1, out);
    } else {
        json_dumpf(value, out, JSON_ENCODE_ANY);
    }
}

char *case_text(const json_t *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    write_value(out, value);
    fclose(out);
    return text;
}

json_t *case_load(const char *file_name, char *message)
{
    char path[300];
    json_error_t error;
    json_t *root;

    snprintf(path, sizeof path, "tests/data/%s", file_name);
    root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        snprintf(message, CASE_MESSAGE_SIZE, "%s:%d: %s", path, error.line, error.text);
    }
    return root;
}

/* ------------------------------------------------------------------ comparing numbers */

static bool agrees(const struct comparison *comparison, double a, double b)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
        return (isnan(a) && isnan(b)) || a == b;
    }
    return fabs(a - b) <= comparison->atol + comparison->rtol * fabs(b);
}

static int64_t int_element(mdf_dtype dtype, const void *element)
{
    switch (mdf_dtype_size(dtype)) {
    case 1:
        return mdf_dtype_kind(dtype) == 'u' ? (int64_t)*(const uint8_t *)element : (int64_t)*(const int8_t *)element;
    case 2:
        return mdf_dtype_kind(dtype) == 'u' ? (int64_t)*(const uint16_t *)element : (int64_t)*(const int16_t *)element;
    case 4:
        return mdf_dtype_kind(dtype) == 'u' ? (int64_t)*(const uint32_t *)element : (int64_t)*(const int32_t *)element;
    default:
        return *(const int64_t *)element;
    }
}

static double real_of(const json_t *expected)
{
    return json_is_string(expected) ? strtod(json_string_value(expected) + 1, NULL) : json_number_value(expected);
}

static bool is_token(const json_t *expected)
{
    return json_is_string(expected) && json_string_value(expected)[0] == '=';
}

static bool compare_integer(const struct comparison *comparison, mdf_dtype dtype, const void *element, const json_t *expected)
{
    int64_t have = int_element(dtype, element);
    double want_real;

    if (is_token(expected)) {
        if (dtype == MDF_DTYPE_UINT64 && (uint64_t)have == strtoull(json_string_value(expected) + 1, NULL, 10)) {
            return true;
        }
        return differs(comparison, "%lld, not %s", (long long)have, json_string_value(expected) + 1);
    }
    if (json_is_integer(expected)) {
        return have == json_integer_value(expected) ||
               differs(comparison, "%lld, not %lld", (long long)have, (long long)json_integer_value(expected));
    }
    want_real = json_real_value(expected);
    return (double)have == want_real || differs(comparison, "the whole number %lld, not %.17g", (long long)have, want_real);
}

static bool compare_complex(const struct comparison *comparison, mdf_dtype dtype, const void *element, const json_t *expected)
{
    double parts[2];

    if (dtype == MDF_DTYPE_COMPLEX64) {
        parts[0] = (double)((const float *)element)[0];
        parts[1] = (double)((const float *)element)[1];
    } else {
        memcpy(parts, element, sizeof parts);
    }
    if (json_array_size(expected) == 2 && agrees(comparison, parts[0], real_of(json_array_get(expected, 0))) &&
        agrees(comparison, parts[1], real_of(json_array_get(expected, 1)))) {
        return true;
    }
    return differs(comparison, "another complex number: %.17g + %.17g i", parts[0], parts[1]);
}

static bool compare_element(const struct comparison *comparison, mdf_dtype dtype, const void *element, const json_t *expected)
{
    char kind = mdf_dtype_kind(dtype);

    if (kind == 'c') {
        return compare_complex(comparison, dtype, element, expected);
    }
    if (kind == 's') {
        const char *have = *(const char *const *)element;

        if (!json_is_string(expected)) {
            return differs(comparison, "the string '%s', where none is expected", have);
        }
        return strcmp(have, json_string_value(expected)) == 0 ||
               differs(comparison, "'%s', not '%s'", have, json_string_value(expected));
    }
    if (json_is_boolean(expected) || kind == 'b') {
        if (!json_is_boolean(expected) || kind != 'b') {
            return differs(comparison, "%s, where %s is expected", mdf_dtype_name(dtype), kind == 'b' ? "no boolean" : "a boolean");
        }
        return *(const bool *)element == json_is_true(expected) ||
               differs(comparison, "%s, not %s", *(const bool *)element ? "true" : "false", json_is_true(expected) ? "true" : "false");
    }
    if (!json_is_number(expected) && !is_token(expected)) {
        return differs(comparison, "a number, where none is expected");
    }
    if (kind == 'i' || kind == 'u') {
        return compare_integer(comparison, dtype, element, expected);
    }
    return agrees(comparison, mdf_element_to_double(dtype, element), real_of(expected)) ||
           differs(comparison, "%.17g, not %.17g (rtol %g, atol %g)", mdf_element_to_double(dtype, element), real_of(expected),
                   comparison->rtol, comparison->atol);
}

/* ------------------------------------------------------------------ comparing values */

static bool compare_value(struct comparison *comparison, const mdf_value *value, const json_t *expected);

static void enter(struct comparison *comparison, size_t index)
{
    size_t used = strlen(comparison->place);

    snprintf(comparison->place + used, sizeof comparison->place - used, "[%zu]", index);
}

static void leave(struct comparison *comparison)
{
    char *bracket = strrchr(comparison->place, '[');

    if (bracket != NULL) {
        *bracket = '\0';
    }
}

/* {"type", "shape", "data"} */
static bool compare_typed(struct comparison *comparison, const mdf_value *value, const json_t *expected)
{
    const char *type = json_string_value(json_object_get(expected, "type"));
    const json_t *shape = json_object_get(expected, "shape"), *data = json_object_get(expected, "data");
    size_t n = 1, i;
    mdf_tensor tensor;

    if (!mdf_value_tensor(value, &tensor)) {
        return differs(comparison, "not an array");
    }
    if (strcmp(mdf_dtype_name(tensor.dtype), type) != 0) {
        return differs(comparison, "of type %s, not %s", mdf_dtype_name(tensor.dtype), type);
    }
    if (tensor.rank != json_array_size(shape)) {
        return differs(comparison, "of rank %zu, not %zu", tensor.rank, json_array_size(shape));
    }
    for (i = 0; i < tensor.rank; i++) {
        if (tensor.shape[i] != json_integer_value(json_array_get(shape, i))) {
            return differs(comparison, "axis %zu has size %lld, not %lld", i, (long long)tensor.shape[i],
                           (long long)json_integer_value(json_array_get(shape, i)));
        }
        n *= (size_t)tensor.shape[i];
    }
    if (data == NULL) {
        return true;
    }
    if (json_array_size(data) != n) {
        return differs(comparison, "the case has %zu elements for %zu", json_array_size(data), n);
    }
    for (i = 0; i < n; i++) {
        enter(comparison, i);
        if (!compare_element(comparison, tensor.dtype, (const char *)tensor.data + i * mdf_dtype_size(tensor.dtype),
                             json_array_get(data, i))) {
            return false;
        }
        leave(comparison);
    }
    return true;
}

/* An array against nested lists: one axis after the other. */
static bool compare_array(struct comparison *comparison, const mdf_tensor *tensor, const json_t *expected)
{
    mdf_tensor part = *tensor;
    size_t step = mdf_dtype_size(tensor->dtype);

    if (tensor->rank == 0) {
        return json_is_array(expected) ? differs(comparison, "a scalar, not a list of %zu", json_array_size(expected))
                                       : compare_element(comparison, tensor->dtype, tensor->data, expected);
    }
    if (!json_is_array(expected) || json_array_size(expected) != (size_t)tensor->shape[0]) {
        return differs(comparison, "an array of length %lld, not %s of %zu", (long long)tensor->shape[0],
                       json_is_array(expected) ? "a list" : "a scalar", json_array_size(expected));
    }
    part.rank--;
    part.shape++;
    for (size_t i = 0; i < part.rank; i++) {
        step *= (size_t)part.shape[i];
    }
    for (size_t i = 0; i < json_array_size(expected); i++) {
        part.data = (const char *)tensor->data + i * step;
        enter(comparison, i);
        if (!compare_array(comparison, &part, json_array_get(expected, i))) {
            return false;
        }
        leave(comparison);
    }
    return true;
}

static bool compare_list(struct comparison *comparison, const mdf_value *value, const json_t *expected)
{
    if (mdf_value_kind(value) != MDF_KIND_LIST) {
        return differs(comparison, "not a list");
    }
    if (!json_is_array(expected) || mdf_value_length(value) != json_array_size(expected)) {
        return differs(comparison, "a list of %zu, not of %zu", mdf_value_length(value), json_array_size(expected));
    }
    for (size_t i = 0; i < mdf_value_length(value); i++) {
        enter(comparison, i);
        if (!compare_value(comparison, mdf_value_item(value, i), json_array_get(expected, i))) {
            return false;
        }
        leave(comparison);
    }
    return true;
}

static bool compare_dict(struct comparison *comparison, const mdf_value *value, const json_t *expected)
{
    if (mdf_value_kind(value) != MDF_KIND_DICT || mdf_value_length(value) != json_object_size(expected)) {
        return differs(comparison, "not an object with %zu entries", json_object_size(expected));
    }
    for (size_t i = 0; i < mdf_value_length(value); i++) {
        const json_t *item = json_object_get(expected, mdf_value_key(value, i));

        if (item == NULL) {
            return differs(comparison, "the key '%s' is not expected", mdf_value_key(value, i));
        }
        if (!compare_value(comparison, mdf_value_item(value, i), item)) {
            return false;
        }
    }
    return true;
}

static bool compare_value(struct comparison *comparison, const mdf_value *value, const json_t *expected)
{
    mdf_tensor tensor;

    if (value == NULL) {
        return differs(comparison, "there is no such port");
    }
    if (json_is_null(expected)) {
        return mdf_value_kind(value) == MDF_KIND_NONE || differs(comparison, "a value, where nothing is expected");
    }
    if (json_is_object(expected) && json_object_get(expected, "type") != NULL) {
        return compare_typed(comparison, value, expected);
    }
    if (json_is_object(expected) && json_object_get(expected, "sequence") != NULL) {
        return compare_list(comparison, value, json_object_get(expected, "sequence"));
    }
    if (json_is_object(expected)) {
        return compare_dict(comparison, value, expected);
    }
    if (mdf_value_tensor(value, &tensor)) {
        return compare_array(comparison, &tensor, expected);
    }
    return mdf_value_kind(value) == MDF_KIND_NONE ? differs(comparison, "nothing, where a value is expected")
                                                  : compare_list(comparison, value, expected);
}

/* ------------------------------------------------------------------ running */

static bool fails(const mdf_error *error, char *message)
{
    mdf_error_format(error, message, CASE_MESSAGE_SIZE);
    return false;
}

static bool set_inputs(mdf_state *state, const json_t *inputs, char *message)
{
    void *at = json_object_iter((json_t *)(uintptr_t)inputs);
    mdf_error error = {0};

    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)inputs, at)) {
        char *text = case_text(json_object_iter_value(at));
        mdf_status status = mdf_set_input_json(state, json_object_iter_key(at), text, &error);

        free(text);
        if (status != MDF_OK) {
            return fails(&error, message);
        }
    }
    return true;
}

static bool compare_step(mdf_state *state, const json_t *item, size_t step, char *message)
{
    struct comparison comparison = {.rtol = json_number_value(json_object_get(item, "rtol")),
                                    .atol = json_number_value(json_object_get(item, "atol")),
                                    .message = message};
    json_t *nodes = json_array_get(json_object_get(item, "trace"), step), *ports, *expected;
    const char *node, *port;

    json_object_foreach(nodes, node, ports)
    {
        json_object_foreach(ports, port, expected)
        {
            snprintf(comparison.place, sizeof comparison.place, "step %zu, node '%.100s', port '%.100s'", step, node, port);
            if (!compare_value(&comparison, mdf_output(state, node, port), expected)) {
                return false;
            }
        }
    }
    return true;
}

static bool run_steps(mdf_state *state, const json_t *item, char *message)
{
    const json_t *dt = json_object_get(item, "dt"), *steps = json_object_get(item, "steps"), *inputs;
    size_t n = steps != NULL ? (size_t)json_integer_value(steps) : 1;
    mdf_error error = {0};

    for (size_t i = 0; i < n; i++) {
        inputs = json_object_get(item, "inputs_seq");
        inputs = inputs != NULL ? json_array_get(inputs, i) : json_object_get(item, "inputs");
        if (inputs != NULL && !set_inputs(state, inputs, message)) {
            return false;
        }
        if (mdf_evaluate(state, i == 0 || dt == NULL ? (double)NAN : json_number_value(dt), &error) != MDF_OK) {
            return fails(&error, message);
        }
        if (!compare_step(state, item, i, message)) {
            return false;
        }
    }
    return true;
}

bool case_passes(const json_t *item, char *message)
{
    mdf_options options = {.graph = json_string_value(json_object_get(item, "graph")),
                           .float32 = json_is_true(json_object_get(item, "float32"))};
    char *text = case_text(json_object_get(item, "model"));
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "case", &options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    bool passed = state != NULL ? run_steps(state, item, message) : fails(&error, message);

    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    free(text);
    return passed;
}

/* ------------------------------------------------------------------ families */

size_t case_run_family(const char *file_name, const char *key, const char *text)
{
    char message[CASE_MESSAGE_SIZE];
    json_t *cases = case_load(file_name, message);
    size_t n_run = 0;

    cr_assert_not_null(cases, "%s", message);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);

        if (strcmp(json_string_value(json_object_get(item, key)), text) == 0) {
            n_run++;
            cr_expect(case_passes(item, message), "%s: %s", json_string_value(json_object_get(item, "name")), message);
        }
    }
    json_decref(cases);
    return n_run;
}

char *case_families(const char *file_name, const char *key, size_t *n)
{
    char message[CASE_MESSAGE_SIZE];
    json_t *cases = case_load(file_name, message);
    char *families = cr_malloc((json_array_size(cases) + 1) * CASE_NAME_SIZE);

    *n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *text = json_string_value(json_object_get(json_array_get(cases, i), key));

        if (*n == 0 || strcmp(families + (*n - 1) * CASE_NAME_SIZE, text) != 0) {
            snprintf(families + *n * CASE_NAME_SIZE, CASE_NAME_SIZE, "%s", text);
            (*n)++;
        }
    }
    json_decref(cases);
    return families;
}
