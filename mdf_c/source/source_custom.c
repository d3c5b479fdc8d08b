/* source_custom.c - calls of registered functions (functions/custom/custom.h) in generated code.
 *
 * The kernel is called as the engine calls it: the source gets its text, or its declaration, and the few types of mdf.h that it
 * sees. Outputs have the types and shapes that they had when the source was written. What call->fail is told is the message of the
 * step, kept in the state's `failure`. */
#include "functions/custom/custom.h"
#include "mdf_c/source/source_writer.h"

#include <string.h>

enum { FAILURE_BYTES = 256 };

/* The types of mdf.h, unless that is included: enumerations from their lists, structs from its text. */
static const char interface[] = "#ifndef MDF_H\n"
                                "typedef enum mdf_status {\n"
#define STATUS_NAME(name, text) "    MDF_" #name ",\n"
    MDF_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
        "} mdf_status;\n\n"
        "typedef enum mdf_dtype {\n"
#define DTYPE_NAME(name, text, size, kind, onnx) "    MDF_DTYPE_" #name ",\n"
    MDF_DTYPE_LIST(DTYPE_NAME)
#undef DTYPE_NAME
        "    MDF_DTYPE_COUNT,\n    MDF_DTYPE_NONE = MDF_DTYPE_COUNT\n} mdf_dtype;\n\n"
#include "build/generated/plugin_texts.inc"
        "#endif\n";

static const char fail_text[] =
    "/* What a plugin's function says where it fails, kept in `failure` of the state. */\n"
    "static mdf_status mdf_fail_call(mdf_function_call *call, mdf_status status, const char *message)\n"
    "{\n"
    "    char *failure = call->engine;\n"
    "    size_t n;\n"
    "\n"
    "    message = message != NULL ? message : \"failed\";\n"
    "    n = strlen(message);\n"
    "    n = n < %d ? n : %d;\n"
    "    memcpy(failure, message, n);\n"
    "    failure[n] = '\\0';\n"
    "    return status == MDF_OK ? MDF_VALUE : status;\n"
    "}\n";

static const char make_text[] =
    "/* An output that a plugin's function makes itself: where it is, if type and shape are as they were. */\n"
    "static void *mdf_make_output(mdf_function_call *call, size_t output, mdf_dtype dtype, size_t rank, const int64_t *shape)\n"
    "{\n"
    "    bool is_same = output < call->n_outputs && dtype == call->forms[output].dtype && rank == call->forms[output].rank &&\n"
    "                   (rank == 0 || memcmp(shape, call->forms[output].shape, rank * sizeof *shape) == 0);\n"
    "\n"
    "    if (!is_same) {\n"
    "        mdf_fail_call(call, MDF_SHAPE, \"its result has another type or shape than when the source was written\");\n"
    "    }\n"
    "    return is_same ? call->outputs[output] : NULL;\n"
    "}\n";

static const char tell_text[] = "/* The message of a step in which a plugin's function failed, with the place in front. */\n"
                                "static const char *mdf_tell_failure(char *failure, const char *place)\n"
                                "{\n"
                                "    size_t n = strlen(place), room = %d - 1, rest;\n"
                                "\n"
                                "    if (failure[0] == '\\0') {\n"
                                "        memcpy(failure, \"it failed without saying why\", 29);\n"
                                "    }\n"
                                "    rest = strlen(failure);\n"
                                "    n = n < room ? n : room;\n"
                                "    rest = rest < room - n ? rest : room - n;\n"
                                "    memmove(failure + n, failure, rest);\n"
                                "    memcpy(failure, place, n);\n"
                                "    failure[n + rest] = '\\0';\n"
                                "    return failure;\n"
                                "}\n";

void mdf_source_append_failure(const struct mdf_source_writer *writer, struct mdf_text *text)
{
    if (writer->calls_plugins) {
        mdf_text_printf(text, "    char failure[%d]; /* what a plugin's function said when it failed */\n", FAILURE_BYTES);
    }
}

/* A text that MDF_FUNCTION_SOURCE made lies on one line: statements get lines of their own. Others stay as they are. */
static const char *in_lines(struct mdf_source_writer *writer, const char *text)
{
    struct mdf_text lines;
    const char *result = text;
    int depth = 0, n_open = 0;
    char quote = '\0';

    if (strchr(text, '\n') != NULL) {
        return text;
    }
    mdf_text_init(&lines, writer->memory);
    for (const char *at = text; *at != '\0'; at++) {
        bool is_escaped = quote != '\0' && at[0] == '\\' && at[1] != '\0';

        quote = quote == '\0' ? (*at == '"' || *at == '\'' ? *at : '\0') : *at == quote ? '\0' : quote;
        n_open += quote != '\0' ? 0 : (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        depth += quote != '\0' || n_open > 0 ? 0 : (*at == '{') - (*at == '}');
        mdf_text_append(&lines, at, is_escaped ? 2 : 1);
        at += is_escaped;
        if (quote == '\0' && n_open == 0 && strchr(";{}", *at) != NULL && at[1] == ' ') {
            at++;
            mdf_text_printf(&lines, "\n%*s", depth > 0 ? 4 * (at[1] == '}' ? depth - 1 : depth) : 0, "");
        }
    }
    mdf_source_check(writer, &lines);
    if (!lines.failed) {
        result = mdf_source_text(writer, "%s", lines.bytes);
    }
    mdf_text_release(&lines);
    return result;
}

/* Has written what the call needs, each once. */
static void use_kernel(struct mdf_source_writer *writer, const struct mdf_custom *custom)
{
    const char *text = custom->c_source;

    mdf_source_helper(writer, "interface_of_plugins", interface);
    mdf_source_helper(writer, "fail_call", mdf_source_text(writer, fail_text, FAILURE_BYTES, FAILURE_BYTES - 1));
    mdf_source_helper(writer, "make_output", make_text);
    mdf_source_helper(writer, "tell_failure", mdf_source_text(writer, tell_text, FAILURE_BYTES));
    if (text == NULL) {
        text = mdf_source_text(writer, "mdf_status %s(mdf_function_call *call);\n", custom->c_name);
    } else {
        text = mdf_source_text(writer, "/* Of a plugin. */\n%s\n", in_lines(writer, text));
    }
    for (const struct mdf_source_helper *helper = writer->helpers; helper != NULL; helper = helper->next) {
        if (strcmp(helper->definition, text) == 0) {
            return; /* functions that share a text */
        }
    }
    mdf_source_helper(writer, mdf_source_text(writer, "text_of_%s", custom->c_name), text);
}

/* "{MDF_DTYPE_FLOAT64, 1, shape, x}": a mdf_tensor. */
static const char *describe(struct mdf_source_writer *writer, mdf_lowered_id id, const char *address)
{
#define DTYPE_NAME(name, text, size, kind, onnx) #name,
    static const char *const names[] = {MDF_DTYPE_LIST(DTYPE_NAME)};
#undef DTYPE_NAME
    const struct mdf_value *form = id != MDF_LOWERED_NONE ? &writer->lowered->values[id].form : NULL;
    const char *shape = "NULL";

    if (form == NULL || form->kind != MDF_KIND_TENSOR) {
        return "{MDF_DTYPE_NONE, 0, NULL, NULL}";
    }
    if (form->rank > 0) {
        shape = mdf_source_constant_array(writer, MDF_DTYPE_INT64, mdf_source_shape(form), form->rank, "shape");
    }
    return mdf_source_text(writer, "{MDF_DTYPE_%s, %u, %s, %s}", names[form->dtype], (unsigned)form->rank, shape, address);
}

/* An array with an item for each of `ids`: descriptions, or (`as_addresses`) where the elements are. */
static const char *list(struct mdf_source_writer *writer, const char *type, const char *hint, const mdf_lowered_id *ids, size_t n,
                        bool as_addresses, bool has_data)
{
    const char *name = mdf_source_name(writer, &writer->locals, hint), *items = "";

    for (size_t i = 0; i < n; i++) {
        bool is_there = ids[i] != MDF_LOWERED_NONE && writer->lowered->values[ids[i]].form.kind == MDF_KIND_TENSOR;
        const char *address = is_there && has_data ? mdf_source_address(writer, ids[i]) : "NULL";

        items = mdf_source_text(writer, "%s%s%s", items, i > 0 ? ", " : "",
                                as_addresses ? address : describe(writer, ids[i], address));
    }
    mdf_source_line(writer, "%s %s[%zu] = {%s};", type, name, n > 0 ? n : 1,
                    n > 0 ? items : as_addresses ? "NULL" : "{MDF_DTYPE_NONE, 0, NULL, NULL}");
    return name;
}

/* Whether inputs have the types that the function declares: what loses something in a conversion is not converted. */
static bool has_declared_types(struct mdf_source_writer *writer, const struct mdf_source_call *call,
                               const struct mdf_custom *custom)
{
    for (size_t i = 0; i < call->call->n_inputs; i++) {
        const struct mdf_value *value = mdf_source_input(writer, call, i);
        mdf_dtype wanted = custom->arguments[i].dtype;

        if (value == NULL || value->kind == MDF_KIND_NONE) {
            continue;
        }
        if (value->kind != MDF_KIND_TENSOR || !mdf_source_computes((mdf_dtype)value->dtype)) {
            return mdf_source_refuse(writer, "argument '%s' of %s has no form in C", custom->arguments[i].name, custom->row.name);
        }
        if (wanted != MDF_DTYPE_NONE && wanted != (mdf_dtype)value->dtype) {
            return mdf_source_refuse(writer, "argument '%s' of %s is %s, and declared %s: numbers may be lost", custom->arguments[i].name,
                                     custom->row.name, mdf_dtype_name((mdf_dtype)value->dtype), mdf_dtype_name(wanted));
        }
    }
    return true;
}

bool mdf_source_write_custom(struct mdf_source_writer *writer, const struct mdf_source_call *call, const struct mdf_custom *custom)
{
    const struct mdf_lowered_call *lowered = call->call;
    const char *in, *out, *forms, *name;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        if (lowered->outputs[i] == MDF_LOWERED_NONE ||
            !mdf_source_computes((mdf_dtype)writer->lowered->values[lowered->outputs[i]].form.dtype)) {
            return mdf_source_refuse(writer, "output '%s' of %s has no form in C", custom->outputs[i].name, custom->row.name);
        }
    }
    if (!has_declared_types(writer, call, custom)) {
        return false;
    }
    use_kernel(writer, custom);
    writer->calls_plugins = true;
    mdf_source_line(writer, "{");
    writer->depth++;
    in = list(writer, "const mdf_tensor", "in", lowered->inputs, lowered->n_inputs, false, true);
    forms = list(writer, "const mdf_tensor", "forms", lowered->outputs, lowered->n_outputs, false, false);
    out = list(writer, "void *const", "out", lowered->outputs, lowered->n_outputs, true, true);
    name = mdf_source_name(writer, &writer->locals, "call");
    mdf_source_line(writer, "mdf_function_call %s = {sizeof %s, NULL, %zu, %zu, %s, %s, %s, mdf_make_output, mdf_fail_call, s->failure};",
                    name, name, lowered->n_inputs, lowered->n_outputs, in, out, forms);
    mdf_source_open(writer, "if (%s(&%s) != MDF_OK || s->failure[0] != '\\0')", custom->c_name, name);
    mdf_source_line(writer, "return mdf_tell_failure(s->failure, %s);",
                    mdf_source_quote_message(writer, "%s: %s: ", writer->place, custom->row.name));
    mdf_source_close(writer);
    mdf_source_close(writer);
    return writer->error->code == MDF_OK;
}

/* ------------------------------------------------------------------ names */

static void take_identifier(void *context, const char *name, size_t length)
{
    struct mdf_source_writer *writer = context;

    mdf_source_take_name(writer, &writer->globals, mdf_source_text(writer, "%.*s", (int)length, name));
}

void mdf_source_take_custom_names(struct mdf_source_writer *writer, const struct mdf_functions *functions)
{
    mdf_custom_identifiers(functions, take_identifier, writer);
}
