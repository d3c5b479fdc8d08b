/* source_beside.c - numbers that one function makes, one behind the other (mdf_c/lower/lower_beside.c), as one call: they go
 * through a short array, in a loop of which compilers make vectors. See source_writer.h. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* Whether a helper does more than a few instructions: it calls others. */
static bool calls_others(const char *definition, const char *name)
{
    size_t length;

    while ((definition = mdf_source_find_called(definition, &length)) != NULL && strncmp(definition, name, strlen(name)) == 0) {
    }
    return definition != NULL;
}

/* Whether compilers make vectors of an expression, which is worth a call: a helper in it does some work, and for none C's library
 * has to be asked now and then (of which there is another one for vectors, with "near" in its name). */
static bool is_for_vectors(struct mdf_source_writer *writer, const char *text)
{
    bool works = false;
    size_t length;

    while ((text = mdf_source_find_called(text, &length)) != NULL) {
        const char *name = mdf_source_text(writer, "%.*s", (int)length, text), *definition = mdf_source_definition(writer, name);

        if (definition == NULL || mdf_source_has_helper(writer, mdf_source_text(writer, "near_%s", name))) {
            return false;
        }
        works = works || calls_others(definition, name);
    }
    return works;
}

/* The name of a helper that computes the function of an op for `n` elements of an array, in place; NULL: there is none, or an
 * error. */
static const char *use_function(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, size_t n)
{
    const char *operands[MDF_MAX_OPERANDS] = {"numbers[i]", "", ""}, *definition, *called, *name, *used;
    struct mdf_source_expression expression = {NULL, NULL, NULL, NULL, NULL};
    size_t length = 0;

    if (!mdf_source_express(writer, op, (mdf_dtype)op->dtype, operands, &expression) || expression.text == NULL ||
        expression.refused != NULL || expression.unwanted != NULL || !is_for_vectors(writer, expression.text)) {
        return NULL;
    }
    mdf_source_use(writer, "short");
    mdf_source_use(writer, "apart");
    called = mdf_source_find_called(expression.text, &length);
    name = mdf_source_text(writer, "%.*s_of_%zu", (int)length, called, n);
    definition = mdf_source_text(writer,
                                 "static MDF_APART void mdf_%s(%s *numbers)\n{\n"
                                 "    MDF_SHORT for (size_t i = 0; i < %zu; i++) {\n"
                                 "        numbers[i] = %s;\n    }\n}\n",
                                 name, mdf_source_type((mdf_dtype)op->dtype), n, expression.text);
    used = mdf_source_helper(writer, name, definition);
    /* Another one may have the name, of an expression that begins with the same function. */
    return used[0] != '\0' && strcmp(mdf_source_definition(writer, name), definition) == 0 ? used : NULL;
}

/* The elements of the array, the last ones for nothing: a vector takes less than single ones behind vectors. */
static size_t padded(size_t n, mdf_dtype dtype)
{
    size_t together = MDF_LOWERED_FEWEST_BESIDE_BYTES / 2 / mdf_dtype_size(dtype);

    return (n + together - 1) / together * together;
}

/* Whether compilers may make vectors of what is written as it stands: of instances side by side, and of runs of a loop that does
 * nothing but compute numbers, none of which hangs on the run before. */
static bool goes_side_by_side(const struct mdf_source_writer *writer)
{
    const struct mdf_lowered_loop *loop = writer->loop;
    size_t i;

    if (writer->has_lanes || loop == NULL || loop->next_condition != MDF_LOWERED_NONE) {
        return writer->has_lanes;
    }
    for (i = 0; i < loop->n_states; i++) {
        if (mdf_dtype_kind((mdf_dtype)writer->lowered->values[loop->states[i].parameter].form.dtype) == 'f') {
            return false;
        }
    }
    for (i = 0; i < loop->body.n_ops && loop->body.ops[i].code < MDF_LOWERED_PUT; i++) {
    }
    return i == loop->body.n_ops;
}

size_t mdf_source_write_beside(struct mdf_source_writer *writer, const struct mdf_lowered_op *ops, size_t n)
{
    mdf_dtype dtype = (mdf_dtype)ops[0].dtype;
    const char *function, *array, *numbers = "";
    size_t i;

    n = mdf_lowered_count_beside(writer->lowered, ops, n);
    for (i = 0; i < n && writer->values[ops[i].out].is_live; i++) {
    }
    if (i < n || n * mdf_dtype_size(dtype) < MDF_LOWERED_FEWEST_BESIDE_BYTES) {
        return 0;
    }
    function = goes_side_by_side(writer) ? NULL : use_function(writer, &ops[0], padded(n, dtype));
    if (function == NULL) {
        return 0;
    }
    for (i = 0; i < padded(n, dtype); i++) {
        numbers = mdf_source_text(writer, "%s%s%s", numbers, i > 0 ? ", " : "",
                                  mdf_source_element(writer, ops[i < n ? i : n - 1].in[0], "i"));
    }
    array = mdf_source_name(writer, &writer->locals, "numbers");
    mdf_source_line(writer, "%s %s[%zu] = {%s};", mdf_source_type(dtype), array, padded(n, dtype), numbers);
    mdf_source_line(writer, "%s(%s);", function, array);
    for (i = 0; i < n; i++) {
        struct mdf_source_value *own = &writer->values[ops[i].out];

        own->name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, ops[i].out));
        mdf_source_line(writer, "const %s %s = %s[%zu];", mdf_source_type(dtype), own->name, array, i);
    }
    return n;
}
