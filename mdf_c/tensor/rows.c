/* rows.c - see rows.h. */
#include "mdf_c/tensor/rows.h"

#include <string.h>

static bool has_form_of(const struct mdf_value *item, const struct mdf_value *first)
{
    return item->kind == MDF_KIND_TENSOR && item->dtype == first->dtype && item->strength == MDF_STRENGTH_TYPED &&
           item->length == first->length && mdf_value_has_shape_of(item, first);
}

bool mdf_rows_form(const struct mdf_value *list, struct mdf_value *form)
{
    const struct mdf_value *items = list->kind == MDF_KIND_LIST && list->length > 0 ? mdf_value_items(list) : NULL;

    if (list->kind != MDF_KIND_LIST || list->dtype == MDF_DTYPE_STRING) {
        return false;
    }
    *form = (struct mdf_value){.kind = MDF_KIND_TENSOR, .dtype = list->dtype, .strength = MDF_STRENGTH_TYPED, .rank = 1};
    if (items == NULL) {
        return list->dtype != MDF_DTYPE_NONE;
    }
    for (size_t i = 0; i < list->length; i++) {
        if (!has_form_of(&items[i], &items[0]) || items[0].rank >= MDF_INLINE_RANK) {
            return false;
        }
    }
    form->dtype = items[0].dtype;
    form->rank = items[0].rank + 1;
    form->length = list->length * items[0].length;
    form->shape.sizes[0] = (int64_t)list->length;
    if (items[0].rank > 0) {
        memcpy(form->shape.sizes + 1, mdf_value_shape(&items[0]), items[0].rank * sizeof(int64_t));
    }
    return form->dtype != MDF_DTYPE_STRING;
}

bool mdf_array_form(const struct mdf_value *value, struct mdf_value *form)
{
    if (value->kind == MDF_KIND_TENSOR) {
        *form = *value;
        return true;
    }
    return value->kind == MDF_KIND_LIST && value->dtype != MDF_DTYPE_NONE && mdf_rows_form(value, form);
}

void mdf_rows_copy(const struct mdf_value *list, void *elements)
{
    const struct mdf_value *items = list->length > 0 ? mdf_value_items(list) : NULL;
    size_t n_bytes = items == NULL ? 0 : items[0].length * mdf_dtype_size((mdf_dtype)items[0].dtype), i;

    for (i = 0; n_bytes > 0 && i < list->length; i++) {
        memcpy((char *)elements + i * n_bytes, items[i].data, n_bytes);
    }
}

bool mdf_rows_borrow(struct mdf_memory *memory, struct mdf_value *list, mdf_dtype dtype, size_t rank, const int64_t *shape,
                     const void *elements)
{
    size_t n = (size_t)shape[0], n_bytes = mdf_dtype_size(dtype), i;
    struct mdf_value *items = mdf_value_make_list(memory, list, n);

    if (items == NULL) {
        return false;
    }
    for (i = 1; i < rank; i++) {
        n_bytes *= (size_t)shape[i];
    }
    for (i = 0; i < n; i++) {
        mdf_value_borrow_tensor(memory, &items[i], dtype, MDF_STRENGTH_TYPED, rank - 1, shape + 1,
                                (const char *)elements + i * n_bytes);
    }
    list->dtype = (uint8_t)dtype;
    return true;
}
