/* given_parameters.c - see given_parameters.h. */
#include "mdf_c/cli/given_parameters.h"

#include "mdf_c/base/error.h"
#include "mdf_c/cli/run_inputs.h"
#include "mdf_c/document/formats.h"
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

static void add_name(struct mdf_text *text, const char *name, size_t length)
{
    mdf_text_append_string(text, text->length > 1 ? ", " : "");
    mdf_write_json_string(text, name, length);
    mdf_text_append_string(text, ": ");
}

/* {NAME: value} of a file. */
static int add_file(struct mdf_memory *memory, const char *path, struct mdf_text *text, mdf_error *error)
{
    const char *format = mdf_format_of_path(path);
    struct mdf_document *document = mdf_document_load(memory, path, format != NULL ? format : "json", NULL, error);
    size_t i;

    if (document != NULL && document->root.kind != MDF_NODE_OBJECT) {
        mdf_node_error(document, &document->root, error, MDF_TYPE, "parameters must be an object {NAME: value}, not %s",
                       mdf_node_describe(&document->root));
    }
    for (i = 0; error->code == MDF_OK && i < document->root.as.object.n; i++) {
        const struct mdf_node_entry *entry = &document->root.as.object.entries[i];

        add_name(text, entry->key, strlen(entry->key));
        mdf_json_write(&entry->value, text, error);
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

static int add_text(struct mdf_memory *memory, const char *place, const char *value, struct mdf_text *text, mdf_error *error)
{
    struct mdf_document *document = mdf_document_parse(memory, "json", place, value, strlen(value), NULL, error);

    if (document != NULL) {
        mdf_json_write(&document->root, text, error);
    }
    mdf_document_free(document);
    return error->code == MDF_OK ? EXIT_DONE : EXIT_USAGE;
}

static int add(struct mdf_memory *memory, const char *setting, struct mdf_text *text, mdf_error *error)
{
    const char *equals = strchr(setting, '=');
    char place[128];

    if (setting[0] == '@') {
        return add_file(memory, setting + 1, text, error);
    }
    add_name(text, setting, (size_t)(equals - setting));
    if (equals[1] == '@') {
        return add_value_of_file(memory, equals + 2, text, error);
    }
    snprintf(place, sizeof place, "--set %.*s", (int)(equals - setting), setting);
    return add_text(memory, place, equals + 1, text, error);
}

int read_given_parameters(struct mdf_memory *memory, struct run_options *options, struct mdf_text *text, mdf_error *error)
{
    int exit_status = EXIT_DONE;
    size_t i;

    if (options->settings.n == 0) {
        return EXIT_DONE;
    }
    mdf_text_append_string(text, "{");
    for (i = 0; i < options->settings.n && exit_status == EXIT_DONE; i++) {
        exit_status = add(memory, options->settings.items[i], text, error);
    }
    mdf_text_append_string(text, "}");
    if (exit_status == EXIT_DONE && text->failed) {
        mdf_memory_error(memory, error);
        exit_status = EXIT_MODEL;
    }
    options->library.parameters = text->bytes;
    return exit_status;
}

int compile_status(const mdf_error *error)
{
    return error->code == MDF_NAME && error->file[0] == '\0' ? EXIT_USAGE : EXIT_MODEL;
}
