/* given_parameters.c - see given_parameters.h. */
#include "mdf_c/cli/given_parameters.h"

#include "mdf_c/base/error.h"
#include "mdf_c/cli/run_inputs.h"
#include "mdf_c/document/formats.h"
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/values/values.h"

#include <stdio.h>
#include <string.h>

const char *setting_fault(const char *text)
{
    if (text[0] == '@') {
        return text[1] != '\0' ? NULL : "must be NODE.PARAMETER=VALUE or @FILE";
    }
    return input_fault(text);
}

/* The name of the next value, which follows on a line of its own. */
static bool add_name(struct mdf_memory *memory, struct given_parameters *given, const char *name, size_t length,
                     const struct given_place *place)
{
    struct given_place *grown = mdf_memory_grow(memory, given->places, &given->capacity, given->n_places + 1, sizeof *grown);

    if (grown == NULL) {
        given->text.failed = true;
        return false;
    }
    given->places = grown;
    given->places[given->n_places++] = *place;
    mdf_text_append_string(&given->text, given->text.length > 1 ? "," : "");
    mdf_write_json_string(&given->text, name, length);
    mdf_text_append_string(&given->text, ":\n");
    return true;
}

/* A value that was written from byte `from` on becomes one line. In texts of JSON no line ends. */
static void make_one_line(struct mdf_text *text, size_t from)
{
    for (size_t i = from; i < text->length; i++) {
        text->bytes[i] = text->bytes[i] == '\n' ? ' ' : text->bytes[i];
    }
}

/* {NAME: value} of a file. */
static int add_file(struct mdf_memory *memory, const char *path, struct given_parameters *given, mdf_error *error)
{
    const char *format = mdf_format_of_path(path);
    bool is_archive = mdf_ends_with(path, ".npz") || mdf_ends_with(path, ".npy");
    struct mdf_document *document = mdf_document_load(memory, path, format != NULL ? format : "json", NULL, error);
    size_t from;

    if (document == NULL && is_archive) {
        *error = (mdf_error){0};
        mdf_error_set(error, MDF_FILE,
                      "parameters by name stand in a file of JSON or YAML; one array is given as NAME=@FILE.npy");
        mdf_error_at(error, path, 0, 0);
    }
    if (document != NULL && document->root.kind != MDF_NODE_OBJECT) {
        mdf_node_error(document, &document->root, error, MDF_TYPE, "parameters must be an object {NAME: value}, not %s",
                       mdf_node_describe(&document->root));
    }
    for (size_t i = 0; error->code == MDF_OK && i < document->root.as.object.n; i++) {
        const struct mdf_node_entry *entry = &document->root.as.object.entries[i];
        const struct given_place place = {.file = path,
                                          .line = mdf_position(entry->value.line),
                                          .column = mdf_position(entry->value.column),
                                          .key = mdf_arena_text(&given->names, entry->key, strlen(entry->key)),
                                          .key_line = mdf_position(entry->line),
                                          .key_column = mdf_position(entry->column)};

        if (!add_name(memory, given, entry->key, strlen(entry->key), &place)) {
            break;
        }
        from = given->text.length;
        mdf_json_write(&entry->value, &given->text, error);
        make_one_line(&given->text, from);
    }
    mdf_document_free(document);
    return error->code == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* NAME=@FILE: numbers of NumPy's own types as if they stood in the model, others with their type. */
static int add_value_of_file(struct mdf_memory *memory, const char *path, struct mdf_text *text, mdf_error *error)
{
    struct mdf_value value = {0};

    if (read_value_file(memory, path, &value, error) == MDF_OK) {
        bool is_plain = value.kind != MDF_KIND_TENSOR || value.dtype == MDF_DTYPE_FLOAT64 || value.dtype == MDF_DTYPE_INT64 ||
                        value.dtype == MDF_DTYPE_BOOL;

        mdf_write_json_value(text, &value, !is_plain, error);
    }
    mdf_value_clear(memory, &value);
    return error->code == MDF_OK ? EXIT_DONE : EXIT_MODEL;
}

/* A value as it was given, once it is known to be one: a place in it is one in the argument. */
static int add_text(struct mdf_memory *memory, const char *value, struct given_parameters *given, mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", MDF_GIVEN_FILE, value, strlen(value), NULL, error);
    size_t from = given->text.length;

    if (document == NULL) {
        if (error->code == MDF_SYNTAX && strchr("[{\"-0123456789", *value) == NULL) {
            mdf_error_append(error, "; a text or an expression stands in quotes within quotes: 'NAME=\"x + 1\"'");
        }
        error->line = error->line > 0 ? (int)given->n_places + 1 : 0;
        return EXIT_USAGE;
    }
    mdf_text_append_string(&given->text, value);
    make_one_line(&given->text, from);
    mdf_document_free(document);
    return EXIT_DONE;
}

static int add(struct mdf_memory *memory, const char *setting, struct given_parameters *given, mdf_error *error)
{
    const char *equals = strchr(setting, '=');
    struct given_place place = {.line = 1};

    if (setting[0] == '@') {
        return add_file(memory, setting + 1, given, error);
    }
    if (equals[1] == '@') {
        place = (struct given_place){.file = equals + 2};
    } else {
        place.text = equals + 1;
        snprintf(place.name, sizeof place.name, "--set %.*s", (int)(equals - setting), setting);
    }
    if (!add_name(memory, given, setting, (size_t)(equals - setting), &place)) {
        return EXIT_MODEL;
    }
    return equals[1] == '@' ? add_value_of_file(memory, equals + 2, &given->text, error)
                            : add_text(memory, equals + 1, given, error);
}

int read_given_parameters(struct mdf_memory *memory, struct run_options *options, struct given_parameters *given,
                          mdf_error *error)
{
    int exit_status = EXIT_DONE;

    mdf_text_init(&given->text, memory);
    mdf_arena_init(&given->names, memory);
    if (options->settings.n == 0) {
        return EXIT_DONE;
    }
    mdf_text_append_string(&given->text, "{");
    for (size_t i = 0; i < options->settings.n && exit_status == EXIT_DONE; i++) {
        exit_status = add(memory, options->settings.items[i], given, error);
    }
    mdf_text_append_string(&given->text, "}");
    if (given->text.failed && error->code == MDF_OK) {
        mdf_memory_error(memory, error);
        exit_status = EXIT_MODEL;
    }
    options->library.parameters = given->text.bytes;
    return exit_status;
}

void release_given_parameters(struct mdf_memory *memory, struct given_parameters *given)
{
    mdf_text_release(&given->text);
    mdf_arena_release(&given->names);
    mdf_memory_release(memory, given->places);
}

/* A name that no parameter of the model has, where a file of --set has it. */
static void place_name(const struct given_parameters *given, mdf_diagnostic *diagnostic)
{
    const char *quoted = strchr(diagnostic->message, '\''); /* it comes first */

    for (size_t i = 0; i < given->n_places; i++) {
        const struct given_place *place = &given->places[i];
        size_t length = place->key != NULL ? strlen(place->key) : 0;

        if (length > 0 && quoted != NULL && strncmp(quoted + 1, place->key, length) == 0 && quoted[1 + length] == '\'') {
            diagnostic->file = place->file;
            diagnostic->line = place->key_line;
            diagnostic->column = place->key_column;
            return;
        }
    }
}

void place_given_parameter(const struct given_parameters *given, mdf_diagnostic *diagnostic)
{
    size_t index = diagnostic->line > 1 ? (size_t)diagnostic->line - 2 : SIZE_MAX;
    const struct given_place *place;

    if (given != NULL && diagnostic->line == 0 && diagnostic->code != NULL && strcmp(diagnostic->code, "name") == 0) {
        place_name(given, diagnostic);
        return;
    }
    if (given == NULL || index >= given->n_places || strcmp(diagnostic->file, MDF_GIVEN_FILE) != 0) {
        return;
    }
    place = &given->places[index];
    diagnostic->source = place->text;
    diagnostic->file = place->text != NULL ? place->name : place->file;
    diagnostic->line = place->line;
    if (place->text == NULL) {
        diagnostic->column = place->column;
        diagnostic->end_column = 0;
    } else {
        diagnostic->source_column = diagnostic->column;
    }
}

int compile_status(const mdf_error *error)
{
    bool is_given = error->file[0] == '\0' ? error->code == MDF_NAME : strcmp(error->file, MDF_GIVEN_FILE) == 0;

    return is_given ? EXIT_USAGE : EXIT_MODEL;
}
