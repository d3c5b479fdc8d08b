/* convert_yaml.c - see convert_yaml.h. What is written is read again, and must mean what the model does. */
#include "mdf_c/cli/convert_yaml.h"

#include "mdf_c/values/values.h"
#include "mdf_c/write/compare_models.h"

#include <string.h>

/* The place in the text where a line, counted from 1, begins. */
static size_t find_line(const char *text, size_t length, uint32_t line)
{
    size_t at = 0;

    for (; line > 1 && at < length; line--) {
        const char *end = memchr(text + at, '\n', length - at);

        at = end != NULL ? (size_t)(end - text) + 1 : length;
    }
    return at;
}

/* The text with a line for the version before the model's first key, which must begin its line. */
static bool add_opset(const struct mdf_model *model, const char *text, size_t length, struct mdf_text *made)
{
    const struct mdf_node_entry *first = model->source->as.object.n > 0 ? model->source->as.object.entries : NULL;
    size_t at = first != NULL && first->line > 0 ? find_line(text, length, first->line) : 0, indent = 0;

    if (first == NULL || first->line == 0) {
        return false;
    }
    while (at + indent < length && text[at + indent] == ' ') {
        indent++;
    }
    if (indent + 1 != first->column || at + indent >= length || text[at + indent] == '{') {
        return false;
    }
    mdf_text_append(made, text, at + indent);
    mdf_text_printf(made, "onnx_opset_version: \"%d\"\n%*s", model->opset, (int)indent, "");
    mdf_text_append(made, text + at + indent, length - at - indent);
    return true;
}

/* Whether a text reads back to the same model, and says its version. */
static bool reads_back(const struct mdf_model *model, const struct mdf_text *text)
{
    mdf_model *again = mdf_model_load_bytes(text->bytes, text->length, "yaml", NULL, NULL, NULL);
    struct mdf_text differences;
    size_t n = 1;

    mdf_text_init(&differences, text->memory);
    if (again != NULL && !mdf_compare_models(model, again, &differences, &n)) {
        n = 1;
    }
    mdf_text_release(&differences);
    n += again == NULL || !again->declares_opset;
    mdf_model_free(again);
    return n == 0;
}

/* The column of the '#' that begins a comment in a line, whose texts in quotes end in it; 0: there is none. */
static int comment_column(const char *line, size_t length)
{
    char quote = '\0';

    for (size_t i = 0; i < length; i++) {
        bool is_apart = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';

        if (quote == '\0' && line[i] == '#' && is_apart) {
            return (int)i + 1;
        }
        if (quote != '\0' ? line[i] == quote : (line[i] == '"' || line[i] == '\'') && (is_apart || strchr("[{,:", line[i - 1]) != NULL)) {
            quote = quote != '\0' ? '\0' : line[i];
        }
    }
    return 0;
}

bool find_yaml_comment(const char *path, int *line, int *column)
{
    struct mdf_memory memory;
    void *bytes = NULL;
    size_t size_bytes = 0, at = 0;

    *line = *column = 0;
    mdf_memory_init(&memory, NULL, 0);
    if (mdf_read_file(&memory, path, &bytes, &size_bytes, NULL) == MDF_OK) {
        while (*column == 0 && at < size_bytes) {
            const char *text = (const char *)bytes + at, *end = memchr(text, '\n', size_bytes - at);
            size_t length = end != NULL ? (size_t)(end - text) : size_bytes - at;

            ++*line;
            *column = comment_column(text, length);
            at += length + 1;
        }
        mdf_memory_release(&memory, bytes);
    }
    return *column > 0;
}

mdf_status convert_yaml_text(const struct mdf_model *model, const char *source, const char *target, bool *is_kept,
                             mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_text text;
    void *bytes = NULL;
    size_t size_bytes = 0;
    mdf_status status;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    *is_kept = false;
    status = mdf_read_file(&memory, source, &bytes, &size_bytes, error);
    if (status == MDF_OK && model->declares_opset) {
        mdf_text_append(&text, bytes, size_bytes);
        *is_kept = true;
    } else if (status == MDF_OK) {
        *is_kept = add_opset(model, bytes, size_bytes, &text);
    }
    if (*is_kept && text.failed) {
        status = mdf_memory_error(&memory, error);
    }
    *is_kept = *is_kept && status == MDF_OK && reads_back(model, &text);
    if (*is_kept) {
        status = mdf_save_file(&memory, target, text.bytes, text.length, error);
    }
    mdf_memory_release(&memory, bytes);
    mdf_text_release(&text);
    return status;
}
