/* nested_list.c - nested lists of numbers (or of texts) as arrays, as numpy.array reads them. See value.h. */
#include "mdf_c/tensor/value.h"

enum { DEEPEST_ARRAY = 64 };

/* The shape and type that the array of a nested list has. */
struct survey {
    int64_t shape[DEEPEST_ARRAY];
    bool is_known[DEEPEST_ARRAY + 1]; /* each of these sizes: by a list, or by an array in it */
    size_t rank;                      /* SIZE_MAX: no leaf seen yet */
    mdf_dtype dtype;
    enum mdf_strength strength;
    bool typed;
};

static bool survey_size(struct survey *survey, size_t axis, int64_t size)
{
    bool fits = !survey->is_known[axis] || survey->shape[axis] == size;

    survey->is_known[axis] = true;
    survey->shape[axis] = size;
    return fits;
}

static bool survey_leaf(struct survey *survey, const struct mdf_value *leaf, size_t depth)
{
    const int64_t *shape = mdf_value_shape(leaf);
    size_t rank = depth + leaf->rank;

    if (rank > DEEPEST_ARRAY || (survey->rank != SIZE_MAX && survey->rank != rank) || survey->is_known[rank]) {
        return false; /* too deep, or not as deep as others, of which an empty list may be one */
    }
    for (size_t i = 0; i < leaf->rank; i++) {
        if (!survey_size(survey, depth + i, shape[i])) {
            return false;
        }
    }
    if (survey->rank == SIZE_MAX) {
        survey->dtype = leaf->dtype;
        survey->strength = leaf->strength;
    } else {
        survey->dtype = mdf_promote(survey->dtype, survey->strength, leaf->dtype, leaf->strength, MDF_DTYPE_FLOAT64);
        survey->strength = leaf->strength > survey->strength ? leaf->strength : survey->strength;
    }
    survey->rank = rank;
    return survey->dtype != MDF_DTYPE_NONE;
}

static bool survey_list(struct survey *survey, const struct mdf_value *value, size_t depth)
{
    if (value->kind == MDF_KIND_TENSOR) {
        return survey_leaf(survey, value, depth);
    }
    if (value->kind != MDF_KIND_LIST || depth >= DEEPEST_ARRAY || (survey->rank != SIZE_MAX && depth >= survey->rank)) {
        return false;
    }
    if (!survey_size(survey, depth, (int64_t)value->length)) {
        return false;
    }
    for (size_t i = 0; i < value->length; i++) {
        if (!survey_list(survey, &mdf_value_items(value)[i], depth + 1)) {
            return false;
        }
    }
    return true;
}

static char *fill_array(char *elements, mdf_dtype dtype, const struct mdf_value *value)
{
    if (value->kind == MDF_KIND_LIST) {
        for (size_t i = 0; i < value->length; i++) {
            elements = fill_array(elements, dtype, &mdf_value_items(value)[i]);
        }
        return elements;
    }
    if (dtype == MDF_DTYPE_STRING) {
        for (size_t i = 0; i < value->length; i++) {
            ((char **)(void *)elements)[i] = mdf_string_share(((char **)value->data)[i]);
        }
    } else {
        mdf_convert_elements(dtype, elements, value->dtype, value->data, value->length, false);
    }
    return elements + value->length * mdf_dtype_size(dtype);
}

int mdf_value_from_nested_list(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list)
{
    struct survey survey = {.rank = SIZE_MAX, .dtype = MDF_DTYPE_FLOAT64};
    struct mdf_value array = {0};
    void *elements;

    if (list->kind == MDF_KIND_TENSOR) {
        return mdf_value_share(memory, target, list) ? 1 : -1;
    }
    if (!survey_list(&survey, list, 0)) {
        return 0;
    }
    if (survey.rank == SIZE_MAX) { /* no leaf: empty lists */
        for (survey.rank = 0; survey.is_known[survey.rank]; survey.rank++) {
        }
    }
    elements = mdf_value_make_tensor(memory, &array, survey.dtype, survey.rank, survey.shape);
    if (elements == NULL) {
        mdf_value_clear(memory, &array);
        return -1;
    }
    fill_array(elements, survey.dtype, list);
    array.strength = (uint8_t)(survey.strength == MDF_STRENGTH_TYPED ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL);
    mdf_value_swap(target, &array);
    mdf_value_clear(memory, &array);
    return 1;
}

/* ------------------------------------------------------------------ arrays that differ in axes of size 1 */

/* Whether two shapes are the same but for axes of size 1. */
static bool is_similar(const struct mdf_value *a, const struct mdf_value *b)
{
    const int64_t *a_shape = mdf_value_shape(a), *b_shape = mdf_value_shape(b);
    size_t i = 0, j = 0;

    while (i < a->rank || j < b->rank) {
        if (i < a->rank && a_shape[i] == 1) {
            i++;
        } else if (j < b->rank && b_shape[j] == 1) {
            j++;
        } else if (i >= a->rank || j >= b->rank || a_shape[i++] != b_shape[j++]) {
            return false;
        }
    }
    return true;
}

int mdf_value_from_similar_arrays(struct mdf_memory *memory, struct mdf_value *target, const struct mdf_value *list)
{
    const struct mdf_value *items = mdf_value_items(list), *largest = NULL;
    struct mdf_value same = {0}, *views;
    int made;

    for (size_t i = 0; list->kind == MDF_KIND_LIST && i < list->length; i++) {
        if (items[i].kind != MDF_KIND_TENSOR || (largest != NULL && !is_similar(largest, &items[i]))) {
            return 0;
        }
        largest = largest == NULL || items[i].rank > largest->rank ? &items[i] : largest;
    }
    if (largest == NULL) {
        return 0;
    }
    views = mdf_value_make_list(memory, &same, list->length);
    for (size_t i = 0; views != NULL && i < list->length; i++) {
        if (!mdf_value_reshape(memory, &views[i], &items[i], largest->rank, mdf_value_shape(largest))) {
            views = NULL;
        }
    }
    made = views == NULL ? -1 : mdf_value_from_nested_list(memory, target, &same);
    mdf_value_clear(memory, &same);
    return made;
}
