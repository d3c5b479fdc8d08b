/* read_value.c - what a value says: a single number, truth, whether it equals another, its description, its public view. See
 * value.h. */
#include "mdf_c/tensor/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ single numbers, truth, equality */

bool mdf_value_to_double(const struct mdf_value *value, double *real)
{
    if (value->kind != MDF_KIND_TENSOR || value->length != 1 || value->dtype == MDF_DTYPE_STRING ||
        mdf_dtype_kind(value->dtype) == 'c') {
        return false;
    }
    *real = mdf_element_to_double(value->dtype, value->data);
    return true;
}

bool mdf_value_to_int64(const struct mdf_value *value, int64_t *integer)
{
    double real;

    if (!mdf_value_to_double(value, &real)) {
        return false;
    }
    if (mdf_dtype_kind(value->dtype) == 'f' && (real != floor(real) || fabs(real) > 0x1p63 || isnan(real) || real == 0x1p63)) {
        return false;
    }
    *integer = mdf_element_to_int64(value->dtype, value->data);
    return true;
}

int mdf_value_truth(const struct mdf_value *value)
{
    const char *string;

    if (value->kind == MDF_KIND_NONE) {
        return 0;
    }
    if (value->kind != MDF_KIND_TENSOR) {
        return value->length > 0;
    }
    if (value->length == 0) {
        return 0;
    }
    if (value->length > 1) {
        return -1;
    }
    if (value->dtype == MDF_DTYPE_STRING) {
        string = *(char **)value->data;
        return string != NULL && mdf_string_length(string) > 0;
    }
    if (mdf_dtype_kind(value->dtype) == 'c') {
        return value->dtype == MDF_DTYPE_COMPLEX64
                   ? ((const float *)value->data)[0] != 0 || ((const float *)value->data)[1] != 0
                   : ((const double *)value->data)[0] != 0 || ((const double *)value->data)[1] != 0;
    }
    return mdf_element_to_double(value->dtype, value->data) != 0;
}

const char *mdf_value_to_string(const struct mdf_value *value)
{
    return mdf_value_is_scalar(value) && value->dtype == MDF_DTYPE_STRING ? *(char *const *)value->data : NULL;
}

static bool same_elements(const struct mdf_value *a, const struct mdf_value *b)
{
    size_t size = mdf_dtype_size(a->dtype), i;

    for (i = 0; i < a->length; i++) {
        const char *x = (const char *)a->data + i * size, *y = (const char *)b->data + i * size;
        double u, v;

        if (a->dtype == MDF_DTYPE_STRING) {
            if (mdf_string_compare(((char **)a->data)[i], ((char **)b->data)[i]) != 0) {
                return false;
            }
            continue;
        }
        if (memcmp(x, y, size) == 0) {
            continue;
        }
        if (mdf_dtype_kind(a->dtype) != 'f') {
            return false;
        }
        u = mdf_element_to_double(a->dtype, x);
        v = mdf_element_to_double(a->dtype, y);
        if (u != v && !(isnan(u) && isnan(v))) {
            return false;
        }
    }
    return true;
}

bool mdf_value_equal(const struct mdf_value *a, const struct mdf_value *b)
{
    if (a->kind != b->kind || a->length != b->length) {
        return false;
    }
    if (a->kind == MDF_KIND_TENSOR) {
        return a->dtype == b->dtype && mdf_value_has_shape_of(a, b) && same_elements(a, b);
    }
    for (size_t i = 0; i < mdf_value_n_items(a); i++) {
        if (!mdf_value_equal(&mdf_value_items(a)[i], &mdf_value_items(b)[i])) {
            return false;
        }
    }
    return true;
}

void mdf_value_describe(const struct mdf_value *value, char *text, size_t size)
{
    size_t used;

    switch ((mdf_kind)value->kind) {
    case MDF_KIND_NONE:
        snprintf(text, size, "nothing");
        return;
    case MDF_KIND_LIST:
        snprintf(text, size, "a list of %zu", value->length);
        return;
    case MDF_KIND_DICT:
        snprintf(text, size, "an object of %zu entr%s", value->length, value->length == 1 ? "y" : "ies");
        return;
    case MDF_KIND_TENSOR:
        break;
    }
    snprintf(text, size, "%s", mdf_dtype_name(value->dtype));
    for (size_t i = 0; i < value->rank; i++) {
        used = strlen(text);
        snprintf(text + used, size - used, "%s%lld", i == 0 ? "[" : ",", (long long)mdf_value_shape(value)[i]);
    }
    used = strlen(text);
    snprintf(text + used, size - used, "%s", value->rank > 0 ? "]" : " scalar");
}

/* ------------------------------------------------------------------ the public view of a value */

mdf_kind mdf_value_kind(const mdf_value *value)
{
    return value != NULL ? (mdf_kind)value->kind : MDF_KIND_NONE;
}

bool mdf_value_tensor(const mdf_value *value, mdf_tensor *tensor)
{
    if (mdf_value_kind(value) != MDF_KIND_TENSOR) {
        return false;
    }
    if (tensor != NULL) {
        *tensor = (mdf_tensor){(mdf_dtype)value->dtype, value->rank, mdf_value_shape(value), value->data};
    }
    return true;
}

size_t mdf_value_length(const mdf_value *value)
{
    mdf_kind kind = mdf_value_kind(value);

    return kind == MDF_KIND_LIST || kind == MDF_KIND_DICT ? value->length : 0;
}

const mdf_value *mdf_value_item(const mdf_value *value, size_t index)
{
    if (index >= mdf_value_length(value)) {
        return NULL;
    }
    return &mdf_value_items(value)[value->kind == MDF_KIND_DICT ? 2 * index + 1 : index];
}

const char *mdf_value_key(const mdf_value *value, size_t index)
{
    if (mdf_value_kind(value) != MDF_KIND_DICT || index >= value->length) {
        return NULL;
    }
    return mdf_value_to_string(&mdf_value_items(value)[2 * index]);
}

bool mdf_value_has_keys(const mdf_value *value, const char *const *keys, size_t n)
{
    bool is_list = mdf_value_kind(value) == MDF_KIND_LIST, has_all = true;
    const struct mdf_value *objects = is_list ? mdf_value_items(value) : value;
    size_t n_objects = is_list ? value->length : value != NULL ? 1 : 0;

    for (size_t k = 0; k < n_objects && has_all; k++) {
        has_all = mdf_value_kind(&objects[k]) == MDF_KIND_DICT && objects[k].length == n && (keys != NULL || n == 0);
        for (size_t i = 0; has_all && i < n; i++) {
            has_all = keys[i] != NULL && strcmp(mdf_value_key(&objects[k], i), keys[i]) == 0;
        }
    }
    return n_objects > 0 && has_all;
}

/* Whether an object's keys are those of `first`, in their order, and its entries numbers of that type without axes. */
static bool is_row(const struct mdf_value *object, const struct mdf_value *first, unsigned dtype)
{
    if (object->kind != MDF_KIND_DICT || object->length != first->length) {
        return false;
    }
    for (size_t i = 0; i < object->length; i++) {
        const struct mdf_value *number = &mdf_value_items(object)[2 * i + 1];

        if (!mdf_value_is_scalar(number) || number->dtype != dtype ||
            (mdf_value_items(object)[2 * i].data != mdf_value_items(first)[2 * i].data &&
             strcmp(mdf_value_key(object, i), mdf_value_key(first, i)) != 0)) {
            return false;
        }
    }
    return true;
}

bool mdf_value_table(const mdf_value *list, mdf_dtype *dtype, void *numbers, size_t size_bytes)
{
    const struct mdf_value *rows = mdf_value_item(list, 0), *number = mdf_value_item(rows, 0);
    size_t n = mdf_value_length(rows), element;
    char *to = numbers;

    if (dtype == NULL || mdf_value_kind(list) != MDF_KIND_LIST || mdf_value_kind(rows) != MDF_KIND_DICT || number == NULL ||
        number->kind != MDF_KIND_TENSOR || number->dtype == MDF_DTYPE_STRING) {
        return false;
    }
    element = mdf_dtype_size((mdf_dtype)number->dtype);
    for (size_t row = 0; row < list->length; row++) {
        if (!is_row(&rows[row], rows, number->dtype)) {
            return false;
        }
    }
    if (numbers != NULL && size_bytes / element / n < list->length) {
        return false;
    }
    for (size_t i = 0; numbers != NULL && i < list->length * n; i++) {
        memcpy(to + i * element, mdf_value_items(&rows[i / n])[2 * (i % n) + 1].data, element);
    }
    *dtype = (mdf_dtype)number->dtype;
    return true;
}
