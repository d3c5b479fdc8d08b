/* values_api.c - values that the caller makes. See mdf.h. Each has memory of its own, so that it depends on no state. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/document/document.h"
#include "mdf_c/tensor/value.h"

#include <string.h>

/* The value comes first: the caller's pointer to it is a pointer to the whole. */
struct made_value {
    struct mdf_value value;
    struct mdf_memory memory;
};

static struct made_value *new_value(mdf_error *error)
{
    struct mdf_memory memory;
    struct made_value *made;

    mdf_memory_init(&memory, NULL, 0);
    made = mdf_memory_allocate_zeroed(&memory, 1, sizeof *made);
    if (made == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    mdf_memory_init(&made->memory, NULL, 0);
    return made;
}

void mdf_value_free(mdf_value *value)
{
    struct made_value *made = (struct made_value *)(void *)value;
    struct mdf_memory memory;

    if (made == NULL) {
        return;
    }
    mdf_value_clear(&made->memory, &made->value);
    mdf_memory_init(&memory, NULL, 0);
    mdf_memory_release(&memory, made);
}

/* The value, or NULL where it could not be filled. */
static mdf_value *finish(struct made_value *made, bool done, mdf_error *error)
{
    if (done) {
        return &made->value;
    }
    if (made != NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        mdf_value_free(&made->value);
    }
    return NULL;
}

static bool copy_numbers(struct made_value *made, const mdf_tensor *tensor)
{
    void *elements = mdf_value_make_tensor(&made->memory, &made->value, tensor->dtype, tensor->rank, tensor->shape);

    if (elements != NULL && made->value.length > 0) {
        memcpy(elements, tensor->data, made->value.length * mdf_dtype_size(tensor->dtype));
    }
    return elements != NULL;
}

mdf_value *mdf_value_new_none(mdf_error *error)
{
    struct made_value *made = new_value(error);

    return finish(made, made != NULL, error);
}

mdf_value *mdf_value_new_tensor(const mdf_tensor *tensor, mdf_error *error)
{
    const char *fault = tensor != NULL ? mdf_tensor_fault(tensor) : "is NULL";
    struct made_value *made;

    if (fault != NULL) {
        mdf_error_set(error, MDF_USAGE, "the tensor %s", fault);
        return NULL;
    }
    made = new_value(error);
    return finish(made,
                  made != NULL && (tensor->dtype == MDF_DTYPE_STRING ? mdf_copy_texts(&made->memory, &made->value, tensor)
                                                                     : copy_numbers(made, tensor)),
                  error);
}

mdf_value *mdf_value_new_literal(const mdf_tensor *tensor, mdf_error *error)
{
    mdf_value *value = mdf_value_new_tensor(tensor, error);

    if (value != NULL) {
        value->strength = MDF_STRENGTH_LITERAL;
    }
    return value;
}

mdf_value *mdf_value_new_real(double real, mdf_error *error)
{
    struct made_value *made = new_value(error);

    return finish(made, made != NULL && mdf_value_make_double(&made->memory, &made->value, real), error);
}

mdf_value *mdf_value_new_integer(int64_t integer, mdf_error *error)
{
    struct made_value *made = new_value(error);

    return finish(made, made != NULL && mdf_value_make_int(&made->memory, &made->value, integer), error);
}

mdf_value *mdf_value_new_truth(bool truth, mdf_error *error)
{
    struct made_value *made = new_value(error);

    return finish(made, made != NULL && mdf_value_make_bool(&made->memory, &made->value, truth), error);
}

mdf_value *mdf_value_new_text(const char *text, mdf_error *error)
{
    struct made_value *made = MDF_GIVEN(text, error) ? new_value(error) : NULL;

    return finish(made, made != NULL && mdf_value_make_string(&made->memory, &made->value, text, strlen(text)), error);
}

mdf_value *mdf_value_new_list(const mdf_value *const *items, size_t n, mdf_error *error)
{
    bool given = mdf_arguments_given((const void *const *)items, n, "items", error);
    struct made_value *made = given ? new_value(error) : NULL;
    struct mdf_value *copies = made != NULL ? mdf_value_make_list(&made->memory, &made->value, n) : NULL;
    bool done = copies != NULL;

    for (size_t i = 0; done && i < n; i++) {
        done = mdf_value_copy_apart(&made->memory, &copies[i], items[i]);
    }
    return finish(made, done, error);
}

mdf_value *mdf_value_new_dict(const char *const *keys, const mdf_value *const *items, size_t n, mdf_error *error)
{
    bool given = mdf_arguments_given((const void *const *)keys, n, "keys", error) &&
                 mdf_arguments_given((const void *const *)items, n, "items", error);
    struct made_value *made = given ? new_value(error) : NULL;
    struct mdf_value *copies = made != NULL ? mdf_value_make_dict(&made->memory, &made->value, n) : NULL;
    bool done = copies != NULL;

    for (size_t i = 0; done && i < n; i++) {
        done = mdf_value_make_string(&made->memory, &copies[2 * i], keys[i], strlen(keys[i])) &&
               mdf_value_copy_apart(&made->memory, &copies[2 * i + 1], items[i]);
    }
    return finish(made, done, error);
}

mdf_value *mdf_value_keep(const mdf_value *value, mdf_error *error)
{
    struct made_value *made = MDF_GIVEN(value, error) ? new_value(error) : NULL;

    return finish(made, made != NULL && mdf_value_share(&made->memory, &made->value, value), error);
}

mdf_value *mdf_value_read_file(const char *path, const char *format, const mdf_options *options, mdf_error *error)
{
    struct mdf_document *document = NULL;
    struct mdf_warnings warnings;
    struct mdf_memory memory;
    struct made_value *made;
    mdf_options known;
    bool done;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(path, error) || !mdf_read_options(options, &known, error)) {
        return NULL;
    }
    format = format != NULL ? format : mdf_format_of_path(path);
    if (format != NULL && strcmp(format, "onnx") == 0) {
        mdf_error_set(error, MDF_USAGE, "an ONNX file is a model: only files of JSON, YAML and BSON are read so");
        return NULL;
    }
    mdf_memory_init(&memory, known.allocator, mdf_memory_bound(known.max_memory_bytes));
    warnings = (struct mdf_warnings){known.warning, known.warning_context, known.diagnostics};
    made = new_value(error);
    if (made != NULL) {
        document = mdf_document_load(&memory, path, format, &warnings, error);
    }
    done = document != NULL && mdf_node_to_placed(&made->memory, &made->value, &document->root, error);
    mdf_document_free(document);
    return finish(made, done, error);
}
