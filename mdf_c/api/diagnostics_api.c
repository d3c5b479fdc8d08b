/* diagnostics_api.c - the public interface to lists of errors and warnings, and their forms as text. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/base/diagnostics.h"
#include "mdf_c/model/model.h"
#include "mdf_c/values/values.h"

#include <stdio.h>
#include <string.h>

mdf_status mdf_diagnostics_add(mdf_diagnostics *list, const mdf_model *model, mdf_severity severity, const mdf_error *diagnostic,
                               mdf_error *error)
{
    struct mdf_source source;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(list, error) || !MDF_GIVEN(diagnostic, error)) {
        return MDF_USAGE;
    }
    if ((unsigned)severity > MDF_SEVERITY_WARNING) {
        return mdf_error_set(error, MDF_USAGE, "severity is %d, which is no mdf_severity", (int)severity);
    }
    source = mdf_diagnostics_source(list);
    mdf_diagnostics_look_at(list, model != NULL && strcmp(model->document->file, diagnostic->file) == 0 ? &model->document->source
                                                                                                          : NULL);
    mdf_diagnostics_note(list, severity, NULL, diagnostic);
    mdf_diagnostics_look_at(list, &source);
    return MDF_OK;
}

/* ------------------------------------------------------------------ as people read it */

enum style { STYLE_NONE, STYLE_BOLD, STYLE_SEVERITY, STYLE_FRAME };

static const char *style_code(enum style style, mdf_severity severity)
{
    static const char *const codes[] = {"", "\x1b[1m", "\x1b[1;31m", "\x1b[1;34m"};

    return style == STYLE_SEVERITY && severity == MDF_SEVERITY_WARNING ? "\x1b[1;35m" : codes[style];
}

static void append_styled(struct mdf_text *text, const mdf_diagnostic *diagnostic, unsigned flags, enum style style,
                          const char *string)
{
    if ((flags & MDF_FORMAT_COLOR) != 0) {
        mdf_text_append_string(text, style_code(style, diagnostic->severity));
    }
    mdf_text_append_string(text, string);
    if ((flags & MDF_FORMAT_COLOR) != 0) {
        mdf_text_append_string(text, "\x1b[0m");
    }
}

static const char *severity_word(mdf_severity severity)
{
    return severity == MDF_SEVERITY_WARNING ? "warning" : "error";
}

static const char *shown(const char *text)
{
    return text != NULL ? text : "";
}

/* "file:line:column: error: path: message" */
static void append_line(struct mdf_text *text, const mdf_diagnostic *diagnostic, unsigned flags)
{
    char position[400] = "", severity[16];

    if (*shown(diagnostic->file) != '\0' && diagnostic->line > 0) {
        snprintf(position, sizeof position, "%s:%d:%d:", diagnostic->file, diagnostic->line, diagnostic->column);
    } else if (*shown(diagnostic->file) != '\0') {
        snprintf(position, sizeof position, "%s:", diagnostic->file);
    }
    if (position[0] != '\0') {
        append_styled(text, diagnostic, flags, STYLE_BOLD, position);
        mdf_text_append(text, " ", 1);
    }
    snprintf(severity, sizeof severity, "%s:", severity_word(diagnostic->severity));
    append_styled(text, diagnostic, flags, STYLE_SEVERITY, severity);
    mdf_text_printf(text, " %s%s%s", shown(diagnostic->path), *shown(diagnostic->path) != '\0' ? ": " : "",
                    shown(diagnostic->message));
}

/* The line of the file, and under it a caret with tildes under the rest of the word. */
static void append_source(struct mdf_text *text, const mdf_diagnostic *diagnostic, unsigned flags)
{
    int width = diagnostic->end_column - diagnostic->column, shown_columns;
    struct mdf_text mark;
    char number[32];

    snprintf(number, sizeof number, "%5d | ", diagnostic->line);
    mdf_text_append(text, "\n", 1);
    append_styled(text, diagnostic, flags, STYLE_FRAME, number);
    mdf_text_printf(text, "%s\n", diagnostic->source);
    append_styled(text, diagnostic, flags, STYLE_FRAME, "      | ");
    mdf_text_printf(text, "%*s", diagnostic->source_column - 1, "");
    mdf_text_init(&mark, text->memory);
    mdf_text_append(&mark, "^", 1);
    shown_columns = mdf_source_count(diagnostic->source, strlen(diagnostic->source)) - diagnostic->source_column;
    for (int i = 1; i < width && i <= shown_columns; i++) {
        mdf_text_append(&mark, "~", 1);
    }
    append_styled(text, diagnostic, flags, STYLE_SEVERITY, shown(mark.bytes));
    text->failed = text->failed || mark.failed;
    mdf_text_release(&mark);
}

/* ------------------------------------------------------------------ as programs read it */

static void append_text_field(struct mdf_text *text, const char *name, const char *value)
{
    mdf_text_printf(text, ", \"%s\": ", name);
    if (*shown(value) == '\0') {
        mdf_text_append_string(text, "null");
    } else {
        mdf_write_json_string(text, value, strlen(value));
    }
}

static void append_number_field(struct mdf_text *text, const char *name, int value)
{
    if (value > 0) {
        mdf_text_printf(text, ", \"%s\": %d", name, value);
    } else {
        mdf_text_printf(text, ", \"%s\": null", name);
    }
}

static void append_json(struct mdf_text *text, const mdf_diagnostic *diagnostic)
{
    mdf_text_printf(text, "{\"severity\": \"%s\"", severity_word(diagnostic->severity));
    append_text_field(text, "code", diagnostic->code);
    append_text_field(text, "file", diagnostic->file);
    append_number_field(text, "line", diagnostic->line);
    append_number_field(text, "column", diagnostic->column);
    append_number_field(text, "end_column", diagnostic->end_column);
    append_text_field(text, "path", diagnostic->path);
    append_text_field(text, "message", diagnostic->message);
    append_text_field(text, "suggestion", diagnostic->suggestion);
    mdf_text_append(text, "}", 1);
}

size_t mdf_diagnostic_format(const mdf_diagnostic *diagnostic, unsigned flags, char *text, size_t size)
{
    struct mdf_memory memory;
    struct mdf_text whole;
    size_t length;

    if (diagnostic == NULL) {
        return mdf_give_text(NULL, text, size);
    }
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&whole, &memory);
    if ((flags & MDF_FORMAT_JSON) != 0) {
        append_json(&whole, diagnostic);
    } else {
        append_line(&whole, diagnostic, flags);
        if ((flags & MDF_FORMAT_SOURCE) != 0 && diagnostic->source != NULL) {
            append_source(&whole, diagnostic, flags);
        }
    }
    length = mdf_give_text(&whole, text, size);
    mdf_text_release(&whole);
    return length;
}
