/* operators_api.c - what ONNX operators there are, and their forms, as text. See mdf.h. */
#include "schemas/onnx_schema.h"

#include <stdio.h>
#include <string.h>

/* The last version of an operator of the default domain. */
static bool is_last_version(const struct mdf_schema *schema, const struct mdf_schema *next)
{
    return schema->domain[0] == '\0' && (next == NULL || next->domain[0] != '\0' || strcmp(schema->name, next->name) != 0);
}

const char *mdf_onnx_operator_name(size_t index)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        if (is_last_version(schema, mdf_schema_at(i + 1)) && index-- == 0) {
            return schema->name;
        }
    }
    return NULL;
}

/* A text that may not fit. */
struct form {
    char *text;
    size_t size, length;
};

static void add(struct form *form, const char *name, const char *mark)
{
    size_t room = form->length < form->size ? form->size - form->length : 0;
    int n = snprintf(room > 0 ? form->text + form->length : NULL, room, "%s%s ", name, mark);

    form->length += n > 0 ? (size_t)n : 0;
}

static void add_formals(struct form *form, const struct mdf_formal *formals, size_t n)
{
    static const char *const marks[] = {[MDF_FORMAL_SINGLE] = "", [MDF_FORMAL_OPTIONAL] = "?", [MDF_FORMAL_VARIADIC] = "*"};

    for (size_t i = 0; i < n; i++) {
        add(form, formals[i].name, marks[formals[i].option]);
    }
}

size_t mdf_onnx_operator_form(const char *name, int opset, char *text, size_t size)
{
    const struct mdf_schema *schema = name != NULL ? mdf_schema_find("", name, opset) : NULL;
    struct form form = {text, text != NULL ? size : 0, 0};

    if (form.size > 0) {
        text[0] = '\0';
    }
    if (schema == NULL) {
        return 0;
    }
    add_formals(&form, schema->inputs, schema->n_inputs);
    add(&form, "|", "");
    add_formals(&form, schema->outputs, schema->n_outputs);
    add(&form, "|", "");
    for (size_t i = 0; i < schema->n_attributes; i++) {
        add(&form, schema->attributes[i].name, "");
    }
    return form.length;
}
