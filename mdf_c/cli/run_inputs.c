/* run_inputs.c - see run_inputs.h. */
#include "mdf_c/cli/run_inputs.h"

#include "mdf_c/base/diagnostics.h"
#include "mdf_c/base/text.h"
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/run/state.h"
#include "mdf_c/model/model.h"
#include "mdf_c/run/check_run.h"
#include "mdf_c/values/values.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ --input NAME=VALUE */

static mdf_status read_npy_file(struct mdf_memory *memory, const char *path, struct mdf_value *value, mdf_error *error)
{
    size_t size_bytes;
    void *bytes;
    mdf_status status = mdf_read_file(memory, path, &bytes, &size_bytes, error);

    if (status == MDF_OK) {
        status = mdf_read_npy(memory, bytes, size_bytes, value, error);
        mdf_error_at(error, path, 0, 0);
    }
    mdf_memory_release(memory, bytes);
    return status;
}

static mdf_status read_document_value(struct mdf_memory *memory, struct mdf_document *document, struct mdf_value *value,
                                      mdf_error *error)
{
    mdf_status status;

    if (document == NULL) {
        return error->code;
    }
    status = mdf_read_value(memory, document, &document->root, value, error);
    mdf_document_free(document);
    return status;
}

/* The format of a file of values: what its suffix says, else JSON. */
static const char *format_of(const char *path)
{
    const char *format = mdf_format_of_path(path);

    return format != NULL ? format : "json";
}

mdf_status read_value_file(struct mdf_memory *memory, const char *path, struct mdf_value *value, mdf_error *error)
{
    return mdf_ends_with(path, ".npy")
               ? read_npy_file(memory, path, value, error)
               : read_document_value(memory, mdf_document_load(memory, path, format_of(path), NULL, error), value, error);
}

static int read_single(struct mdf_memory *memory, const char *argument, mdf_diagnostics *list, struct mdf_value *pair,
                       mdf_error *error)
{
    const char *text = strchr(argument, '=') + 1;
    char place[128];
    mdf_status status;

    if (!mdf_value_make_string(memory, &pair[0], argument, (size_t)(text - 1 - argument))) {
        mdf_memory_error(memory, error);
        return EXIT_MODEL;
    }
    if (text[0] == '@') {
        status = read_value_file(memory, text + 1, &pair[1], error);
        return status == MDF_OK ? EXIT_DONE : EXIT_MODEL;
    }
    snprintf(place, sizeof place, "--input %.*s", (int)(text - 1 - argument), argument);
    status =
        read_document_value(memory, mdf_document_parse(memory, "json", place, text, strlen(text), NULL, error), &pair[1], error);
    if (status == MDF_SYNTAX && strchr("[{\"-0123456789", *text) == NULL) {
        mdf_error_append(error, "; a text stands in quotes within quotes: '%.*s=\"...\"'", (int)(text - 1 - argument), argument);
    }
    if (status != MDF_OK && list != NULL) { /* with the text, in place of a line of a file */
        mdf_diagnostics_look_at(list, &(struct mdf_source){.bytes = text, .size = strlen(text)});
        mdf_diagnostics_note(list, MDF_SEVERITY_ERROR, NULL, error);
        mdf_diagnostics_look_at(list, NULL);
    }
    return status == MDF_OK ? EXIT_DONE : EXIT_USAGE;
}

static int read_singles(struct run_inputs *inputs, const struct run_options *options, mdf_error *error)
{
    struct mdf_value *pairs = mdf_value_make_dict(inputs->memory, &inputs->single, options->inputs.n);
    int exit_status = EXIT_DONE;

    if (pairs == NULL) {
        mdf_memory_error(inputs->memory, error);
        return EXIT_MODEL;
    }
    for (size_t i = 0; i < options->inputs.n && exit_status == EXIT_DONE; i++) {
        exit_status = read_single(inputs->memory, options->inputs.items[i], options->library.diagnostics, &pairs[2 * i], error);
    }
    return exit_status;
}

/* ------------------------------------------------------------------ --inputs FILE */

/* The entries of an object are inputs by name, whatever the names are. */
static mdf_status read_named_values(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                                    struct mdf_value *object, mdf_error *error)
{
    struct mdf_value *pairs;
    mdf_status status = MDF_OK;
    size_t n;

    if (node->kind != MDF_NODE_OBJECT) {
        return mdf_node_error(document, node, error, MDF_TYPE,
                              "inputs must be an object {name: value} or a list of such objects, not %s",
                              mdf_node_describe(node));
    }
    n = node->as.object.n;
    pairs = mdf_value_make_dict(memory, object, n);
    if (pairs == NULL) {
        return mdf_memory_error(memory, error);
    }
    for (size_t i = 0; i < n && status == MDF_OK; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (!mdf_value_make_string(memory, &pairs[2 * i], entry->key, strlen(entry->key))) {
            return mdf_memory_error(memory, error);
        }
        status = mdf_read_value(memory, document, &entry->value, &pairs[2 * i + 1], error);
        mdf_error_in(error, "input '%s'", entry->key);
    }
    return status;
}

static mdf_status make_steps(struct run_inputs *inputs, size_t n_steps, mdf_error *error)
{
    inputs->steps = mdf_memory_allocate_zeroed(inputs->memory, n_steps, sizeof *inputs->steps);
    if (inputs->steps == NULL) {
        return mdf_memory_error(inputs->memory, error);
    }
    inputs->n_steps = n_steps;
    return MDF_OK;
}

static mdf_status read_steps(struct run_inputs *inputs, const struct mdf_document *document, mdf_error *error)
{
    const struct mdf_node *root = &document->root;
    bool is_list = root->kind == MDF_NODE_LIST || root->kind == MDF_NODE_NUMBERS;
    size_t n = is_list ? mdf_node_length(root) : 1, i;
    mdf_status status = make_steps(inputs, n, error);
    struct mdf_node item = *root;

    inputs->same_each_step = !is_list;
    for (i = 0; i < n && status == MDF_OK; i++) {
        if (is_list) {
            mdf_node_item(root, i, &item);
        }
        status = read_named_values(inputs->memory, document, &item, &inputs->steps[i], error);
    }
    return status;
}

static mdf_status read_inputs_file(struct run_inputs *inputs, const char *path, mdf_error *error)
{
    struct mdf_document *document;
    mdf_status status;

    if (mdf_ends_with(path, ".npz")) {
        inputs->same_each_step = true;
        status = make_steps(inputs, 1, error);
        return status == MDF_OK ? mdf_read_npz_file(inputs->memory, path, &inputs->steps[0], error) : status;
    }
    document = mdf_document_load(inputs->memory, path, format_of(path), NULL, error);
    if (document == NULL) {
        return error->code;
    }
    status = read_steps(inputs, document, error);
    if (document->source.bytes != NULL) {
        inputs->document = document;
    } else {
        mdf_document_free(document);
    }
    return status;
}

/* ------------------------------------------------------------------ all of them */

int load_run_inputs(struct run_inputs *inputs, struct mdf_memory *memory, const struct run_options *options,
                    struct warning_printer *warnings, mdf_error *error)
{
    int exit_status;

    memset(inputs, 0, sizeof *inputs);
    inputs->memory = memory;
    inputs->path = options->inputs_path;
    inputs->warnings = warnings;
    exit_status = read_singles(inputs, options, error);
    if (exit_status == EXIT_DONE && options->inputs_path != NULL) {
        exit_status = read_inputs_file(inputs, options->inputs_path, error) == MDF_OK ? EXIT_DONE : EXIT_MODEL;
    }
    if (exit_status != EXIT_DONE) {
        release_run_inputs(inputs);
    }
    return exit_status;
}

/* Says where in the file of --inputs a name stands, of the step of that number. */
static void tell_place(const struct run_inputs *inputs, size_t index, const char *name, mdf_error *error)
{
    struct mdf_node step;

    if (inputs->document != NULL) {
        step = inputs->document->root;
        if (step.kind == MDF_NODE_LIST) {
            mdf_node_item(&inputs->document->root, index, &step);
        }
        for (size_t i = 0; step.kind == MDF_NODE_OBJECT && i < step.as.object.n; i++) {
            const struct mdf_node_entry *entry = &step.as.object.entries[i];

            if (strcmp(entry->key, name) == 0) {
                mdf_error_at(error, inputs->path, mdf_position(entry->line), mdf_position(entry->column));
            }
        }
    }
    mdf_error_at(error, inputs->path, 0, 0);
}

/* Tells once that the graph has no such input; `why` says so. */
static mdf_status leave_out(struct run_inputs *inputs, size_t index, const char *name, const struct mdf_value *key,
                            mdf_error *why, mdf_error *error)
{
    for (size_t i = 0; i < inputs->unknown.length; i++) {
        if (mdf_value_equal(mdf_value_item(&inputs->unknown, i), key)) {
            return MDF_OK;
        }
    }
    tell_place(inputs, index, name, why);
    if (inputs->warnings->strict) {
        *error = *why;
        return why->code;
    }
    mdf_error_append(why, why->message[strlen(why->message) - 1] == '?' ? " The value is ignored" : "; the value is ignored");
    print_warning(inputs->warnings, why);
    if (inputs->unknown.kind != MDF_KIND_LIST && mdf_value_make_list(inputs->memory, &inputs->unknown, 0) == NULL) {
        return mdf_memory_error(inputs->memory, error);
    }
    return mdf_value_append(inputs->memory, &inputs->unknown, key) ? MDF_OK : mdf_memory_error(inputs->memory, error);
}

/* A file of inputs may serve several models: a name in it that no port has is a warning. Its key is taken away, so that later
 * steps pass over it. */
static mdf_status set_from_file(struct run_inputs *inputs, size_t index, mdf_state *state, mdf_error *error)
{
    struct mdf_value *object = &inputs->steps[index], *pairs = object->data;
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < object->length && status == MDF_OK; i++) {
        const char *name = mdf_value_key(object, i);
        mdf_error why = {0};

        if (name == NULL) {
            continue;
        }
        status = mdf_state_set_input(state, name, &pairs[2 * i + 1], MDF_INPUT_LENT, &why);
        if (status == MDF_NAME) {
            status = leave_out(inputs, index, name, &pairs[2 * i], &why, error);
            mdf_value_clear(inputs->memory, &pairs[2 * i]);
        } else if (status != MDF_OK) {
            *error = why;
            tell_place(inputs, index, name, error);
        }
    }
    return status;
}

static mdf_status set_singles(const struct mdf_value *object, mdf_state *state, mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < object->length && status == MDF_OK; i++) {
        status = mdf_state_set_input(state, mdf_value_key(object, i), mdf_value_item(object, i), MDF_INPUT_LENT, error);
    }
    return status;
}

int set_run_inputs(struct run_inputs *inputs, mdf_state *state, uint64_t step, mdf_error *error)
{
    uint64_t index = inputs->same_each_step ? 0 : step;
    mdf_status status;

    if (index < inputs->n_steps && set_from_file(inputs, (size_t)index, state, error) != MDF_OK) {
        return EXIT_MODEL;
    }
    status = set_singles(&inputs->single, state, error);
    return status == MDF_OK ? EXIT_DONE : status == MDF_NAME ? EXIT_USAGE : EXIT_MODEL;
}

static size_t add_names(const struct mdf_value *object, const char **names, size_t n)
{
    for (size_t i = 0; i < object->length; i++) {
        names[n++] = mdf_value_key(object, i);
    }
    return n;
}

/* Its warnings are shown with their lines of the file. */
static void check_run(struct warning_printer *printer, const mdf_program *program, const struct mdf_run_check *check)
{
    const struct mdf_warnings warnings = {print_warning, printer, printer->list};

    if (printer->list != NULL && printer->model != NULL) {
        mdf_diagnostics_look_at(printer->list, &printer->model->document->source);
    }
    mdf_run_check(program, check, &warnings);
    mdf_diagnostics_look_at(printer->list, NULL);
}

bool check_run_inputs(const struct run_inputs *inputs, const mdf_program *program, const mdf_sweep_values *given, size_t n_given,
                      uint64_t n_steps, double dt)
{
    size_t most = inputs->single.length + n_given, n = 0;
    const char **names;

    for (size_t i = 0; i < inputs->n_steps; i++) {
        most += inputs->steps[i].length;
    }
    names = mdf_memory_allocate_zeroed(inputs->memory, most + 1, sizeof *names);
    if (names == NULL) {
        return false;
    }
    n = add_names(&inputs->single, names, n);
    for (size_t i = 0; i < inputs->n_steps; i++) {
        n = add_names(&inputs->steps[i], names, n);
    }
    for (size_t i = 0; i < n_given; i++) {
        names[n++] = given[i].name;
    }
    check_run(inputs->warnings, program, &(struct mdf_run_check){names, n, n_steps, dt});
    mdf_memory_release(inputs->memory, names);
    return true;
}

void advise_of_arrays(const struct run_inputs *inputs, mdf_error *error)
{
    for (size_t i = 0; inputs->single.kind == MDF_KIND_DICT && i < inputs->single.length; i++) {
        const struct mdf_value *value = mdf_value_item(&inputs->single, i), *array = value;
        struct mdf_value made = {0};
        char shape[40];

        if (value->kind == MDF_KIND_LIST && mdf_value_from_nested_list(inputs->memory, &made, value) == 1) {
            array = &made;
        }
        snprintf(shape, sizeof shape, "[%zu]", array->length);
        if (array->kind == MDF_KIND_TENSOR && array->rank == 1 && array->length > 1 && strstr(error->message, shape) != NULL) {
            mdf_error_append(error,
                             "; input '%.60s' is given as an array of %zu values in each step: to give one of them in each step, "
                             "write a list of objects {NAME: VALUE}, one a step, into a file for --inputs",
                             mdf_value_key(&inputs->single, i), array->length);
            i = inputs->single.length;
        }
        mdf_value_clear(inputs->memory, &made);
    }
}

void release_run_inputs(struct run_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_steps; i++) {
        mdf_value_clear(inputs->memory, &inputs->steps[i]);
    }
    mdf_memory_release(inputs->memory, inputs->steps);
    mdf_document_free(inputs->document);
    inputs->document = NULL;
    mdf_value_clear(inputs->memory, &inputs->single);
    mdf_value_clear(inputs->memory, &inputs->unknown);
    inputs->steps = NULL;
    inputs->n_steps = 0;
}
