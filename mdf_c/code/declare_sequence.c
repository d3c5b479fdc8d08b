/* declare_sequence.c - a value as the sequence of arrays of one type that a port declares ("seq(tensor(float))"), or as the map
 * ("map(string,tensor(float))").
 *
 * Comes in: a list, whose numbers a JSON file gives without a type, or an array without a type, which is how a list of rows of
 * equal length is read. Goes out: a list of arrays of the type. See code.h. */
#include "mdf_c/code/code.h"

#include <string.h>

static bool is_number(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->dtype != MDF_DTYPE_STRING;
}

/* An untyped array of rows. */
static bool is_row_list(const struct mdf_value *source)
{
    return is_number(source) && source->rank > 0 && source->strength != MDF_STRENGTH_TYPED;
}

bool mdf_is_other_sequence(const struct mdf_value *source, const struct mdf_declared_type *type)
{
    const struct mdf_value *items = mdf_value_items(source);

    if (!type->sequence || !type->exact || mdf_dtype_kind(type->dtype) == 's') {
        return false;
    }
    for (size_t i = 0; source->kind == MDF_KIND_LIST && i < source->length; i++) {
        if (is_number(&items[i]) && items[i].dtype != type->dtype) {
            return true;
        }
    }
    return is_row_list(source);
}

/* A row of an array, as a view. */
static void view_row(struct mdf_context *context, const struct mdf_value *source, size_t index, struct mdf_value *row)
{
    size_t n_rows = (size_t)mdf_value_shape(source)[0], n_each = n_rows > 0 ? source->length / n_rows : 0;

    mdf_value_borrow_tensor(context->memory, row, source->dtype, (enum mdf_strength)source->strength, source->rank - 1,
                            mdf_value_shape(source) + 1,
                            (const char *)source->data + index * n_each * mdf_dtype_size((mdf_dtype)source->dtype));
}

bool mdf_declare_sequence(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                          const struct mdf_declared_type *type)
{
    const struct mdf_declared_type item_type = {.dtype = type->dtype, .exact = true};
    bool is_list = source->kind == MDF_KIND_LIST;
    size_t n = is_list ? source->length : (size_t)mdf_value_shape(source)[0], i;
    struct mdf_value made = {0}, *items = mdf_value_make_list(context->memory, &made, n);
    bool done = items != NULL;

    if (!done) {
        mdf_memory_error(context->memory, &context->error);
    }
    for (i = 0; done && i < n; i++) {
        struct mdf_value row = {0};

        if (!is_list) {
            view_row(context, source, i, &row);
        }
        done = mdf_declare_value(context, &items[i], is_list ? &mdf_value_items(source)[i] : &row, &item_type, false);
    }
    if (done) {
        made.dtype = (uint8_t)type->dtype;
        mdf_value_swap(target, &made);
    }
    mdf_value_clear(context->memory, &made);
    return done;
}

bool mdf_declare_map(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                     const struct mdf_declared_type *type)
{
    const struct mdf_declared_type value_type = {.dtype = type->values, .exact = true};
    const struct mdf_value *given = mdf_value_items(source);
    struct mdf_value made = {0}, *entries = mdf_value_make_dict(context->memory, &made, source->length);
    bool done = entries != NULL;

    for (size_t i = 0; done && i < source->length; i++) {
        done = mdf_value_copy(context->memory, &entries[2 * i], &given[2 * i]);
        if (done && !mdf_declare_value(context, &entries[2 * i + 1], &given[2 * i + 1], &value_type, false)) {
            mdf_value_clear(context->memory, &made);
            return false;
        }
    }
    if (done) {
        mdf_value_swap(target, &made);
    } else {
        mdf_memory_error(context->memory, &context->error);
    }
    mdf_value_clear(context->memory, &made);
    return done;
}
