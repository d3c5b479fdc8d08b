/* maps.c - objects made arrays, and arrays objects: CastMap, DictVectorizer, ZipMap.
 *
 * ONNX's maps are MDF's objects; keys that are whole numbers are their digits. Comes in: an object whose values are numbers or
 * strings, or rows of scores. Goes out: an array of the values, in the order of their keys or of a vocabulary; or a list of
 * objects. Source: ONNX ai.onnx.ml, version 1 of each. */
#include "functions/folds/ordering.h"
#include "functions/kernel/lookup.h"

#include "mdf_c/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct map_settings {
    struct mdf_ints integers;
    struct mdf_strings strings;
    const char *cast_to, *map_form;
    int64_t max_map;
};

#define SETTING(name, type, field)                                     \
    {                                                                  \
        name, MDF_SETTING_##type, offsetof(struct map_settings, field) \
    }
static const struct mdf_setting vectorizer_table[] = {
    SETTING("int64_vocabulary", INTS, integers), SETTING("string_vocabulary", STRINGS, strings), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting zip_table[] = {
    SETTING("classlabels_int64s", INTS, integers), SETTING("classlabels_strings", STRINGS, strings), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting cast_table[] = {SETTING("cast_to", STRING, cast_to),
                                                SETTING("map_form", STRING, map_form),
                                                SETTING("max_map", INT, max_map),
                                                {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { N_SLOTS = 5, DIGITS_SIZE = 32 };

/* Scratch values of ZipMap, besides its workspace. */
enum { SCRATCH_KEYS = 1, SCRATCH_NUMBERS = 2 };

/* Keys and values of input 0, which has to be an object; NULL with the error set. */
static const struct mdf_value *read_object(struct mdf_call *call, size_t *n)
{
    const struct mdf_value *object = mdf_call_input(call, 0);

    if (object == NULL || object->kind != MDF_KIND_DICT) {
        mdf_call_error(call, MDF_TYPE, "the input must be an object: keys and values");
        return NULL;
    }
    *n = object->length;
    for (size_t i = 0; i < *n; i++) {
        const struct mdf_value *value = &((const struct mdf_value *)object->data)[2 * i + 1];

        if (value->kind != MDF_KIND_TENSOR || value->length != 1) {
            mdf_call_error(call, MDF_TYPE, "the value of the key '%.100s' is not one number or string", mdf_value_key(object, i));
            return NULL;
        }
    }
    return object->data;
}

/* The keys of an object as whole numbers. */
static bool read_integer_keys(struct mdf_call *call, const struct mdf_value *entries, size_t n, int64_t *keys)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = mdf_value_to_string(&entries[2 * i]);
        bool is_integer = false;
        double real;

        if (text == NULL || !mdf_parse_python_number(text, &real, &keys[i], &is_integer) || !is_integer) {
            return mdf_call_error(call, MDF_VALUE, "the key '%.100s' is not a whole number", text != NULL ? text : "");
        }
    }
    return true;
}

/* ------------------------------------------------------------------ DictVectorizer */

/* The one type of all values: where they differ, of numbers the wider. */
static bool find_type(struct mdf_call *call, const struct mdf_value *entries, size_t n, mdf_dtype *dtype)
{
    *dtype = n == 0 ? MDF_DTYPE_FLOAT32 : (mdf_dtype)entries[1].dtype;
    for (size_t i = 1; i < n; i++) {
        mdf_dtype other = (mdf_dtype)entries[2 * i + 1].dtype;

        if (other != *dtype) {
            *dtype = mdf_promote(*dtype, MDF_STRENGTH_TYPED, other, MDF_STRENGTH_TYPED, MDF_DTYPE_FLOAT64);
        }
        if (*dtype == MDF_DTYPE_NONE) {
            return mdf_call_error(call, MDF_TYPE, "the values are of types that do not go together");
        }
    }
    return true;
}

/* One value as element of an array of a type. */
static bool write_value(struct mdf_call *call, mdf_dtype dtype, void *place, const struct mdf_value *value)
{
    if (dtype == MDF_DTYPE_STRING) {
        const char *text = mdf_value_to_string(value);

        mdf_string_release(call->context->memory, *(char **)place);
        *(char **)place = mdf_string_new(call->context->memory, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
        return *(char **)place != NULL || mdf_call_out_of_memory(call);
    }
    return mdf_convert_elements(dtype, place, (mdf_dtype)value->dtype, value->data, 1, false);
}

static bool read_vocabulary(struct mdf_workspace *workspace, const struct mdf_value *entries, size_t n,
                            struct mdf_keys *vocabulary, struct mdf_keys *keys)
{
    const struct map_settings *settings = workspace->call->settings;
    bool is_text = settings->strings.items != NULL;
    const char **texts = mdf_workspace_array(workspace, MDF_WORKSPACE_SIZES, is_text ? n : 0);
    int64_t *integers = mdf_workspace_array(workspace, MDF_DTYPE_INT64, is_text ? 0 : n);

    if (texts == NULL || integers == NULL) {
        return false;
    }
    if (is_text == (settings->integers.items != NULL)) {
        return mdf_call_error(workspace->call, MDF_VALUE, "one of string_vocabulary and int64_vocabulary has to be given");
    }
    for (size_t i = 0; is_text && i < n; i++) {
        texts[i] = mdf_value_to_string(&entries[2 * i]);
    }
    *vocabulary = is_text ? (struct mdf_keys){.strings = settings->strings.items, .n = settings->strings.n}
                          : (struct mdf_keys){.integers = settings->integers.items, .n = settings->integers.n};
    *keys = is_text ? (struct mdf_keys){.strings = texts, .n = n} : (struct mdf_keys){.integers = integers, .n = n};
    return is_text || read_integer_keys(workspace->call, entries, n, integers);
}

static bool dict_vectorizer(struct mdf_call *call)
{
    struct mdf_keys vocabulary, keys;
    struct mdf_workspace workspace;
    struct mdf_lookup lookup;
    const struct mdf_value *entries;
    mdf_dtype dtype;
    int64_t shape[2] = {1, 0};
    size_t n = 0;
    char *target;

    entries = read_object(call, &n);
    if (entries == NULL && call->context->error.code != MDF_OK) {
        return false;
    }
    if (!find_type(call, entries, n, &dtype) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS) ||
        !read_vocabulary(&workspace, entries, n, &vocabulary, &keys) ||
        !mdf_lookup_make(&workspace, &vocabulary, NULL, &lookup)) {
        return false;
    }
    shape[1] = (int64_t)vocabulary.n;
    target = mdf_call_output(call, 0, dtype, 2, shape);
    if (target == NULL) {
        return false;
    }
    memset(target, 0, vocabulary.n * mdf_dtype_size(dtype));
    for (size_t i = 0; i < n; i++) {
        int64_t place = mdf_lookup_find(&lookup, &keys, i);

        if (place < 0) {
            return mdf_call_error(call, MDF_VALUE, "the key '%.100s' is not in the vocabulary",
                                  mdf_value_key(call->inputs[0], i));
        }
        if (!write_value(call, dtype, target + (size_t)place * mdf_dtype_size(dtype), &entries[2 * i + 1])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ CastMap */

/* A value as text: numbers with the fewest digits that read back. */
static bool cast_to_text(struct mdf_call *call, const struct mdf_value *value, char **place)
{
    char digits[MDF_NUMBER_TEXT_SIZE];
    const char *text = mdf_value_to_string(value);
    double real = 0;

    if (text == NULL) {
        mdf_value_to_double(value, &real);
        if (mdf_dtype_kind((mdf_dtype)value->dtype) == 'f') {
            mdf_format_float32((float)real, digits);
        } else {
            snprintf(digits, sizeof digits, "%lld", (long long)mdf_element_to_int64((mdf_dtype)value->dtype, value->data));
        }
        text = digits;
    }
    *place = mdf_string_new(call->context->memory, text, strlen(text));
    return *place != NULL || mdf_call_out_of_memory(call);
}

static bool cast_to_number(struct mdf_call *call, const struct mdf_value *value, double *real)
{
    const char *text = mdf_value_to_string(value);
    bool is_integer;
    int64_t integer;

    if (text == NULL ? mdf_value_to_double(value, real) : mdf_parse_python_number(text, real, &integer, &is_integer)) {
        return true;
    }
    return mdf_call_error(call, MDF_VALUE, "'%.100s' is not a number", text != NULL ? text : "");
}

/* Writes a value, NULL: nothing, as element of the result. */
static bool cast_value(struct mdf_call *call, mdf_dtype dtype, void *target, size_t i, const struct mdf_value *value)
{
    double real = 0;

    if (dtype == MDF_DTYPE_STRING) {
        return value == NULL || cast_to_text(call, value, (char **)target + i);
    }
    if (value != NULL && !cast_to_number(call, value, &real)) {
        return false;
    }
    return mdf_convert_elements(dtype, (char *)target + i * mdf_dtype_size(dtype), MDF_DTYPE_FLOAT64, &real, 1, false);
}

static int compare_keys(const void *context, int64_t a, int64_t b)
{
    const int64_t *keys = context;

    return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

/* Numbers of the entries in ascending order of their keys; false with the error set where two are the same. */
static bool sort_entries(struct mdf_workspace *workspace, const int64_t *keys, size_t n, int64_t *order)
{
    int64_t *spare = mdf_workspace_array(workspace, MDF_DTYPE_INT64, n);

    if (spare == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (int64_t)i;
    }
    if (!mdf_merge_sort(workspace->call->context->stop, order, spare, n, compare_keys, keys)) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (keys[order[i]] == keys[order[i - 1]]) {
            return mdf_call_error(workspace->call, MDF_VALUE, "the key %lld stands twice", (long long)keys[order[i]]);
        }
    }
    return true;
}

static bool read_cast(struct mdf_call *call, mdf_dtype *dtype, bool *sparse)
{
    static const struct {
        const char *name;
        mdf_dtype dtype;
    } casts[] = {{"TO_FLOAT", MDF_DTYPE_FLOAT32}, {"TO_STRING", MDF_DTYPE_STRING}, {"TO_INT64", MDF_DTYPE_INT64}};
    const struct map_settings *settings = call->settings;

    *sparse = strcmp(settings->map_form, "SPARSE") == 0;
    if (!*sparse && strcmp(settings->map_form, "DENSE") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no map_form '%.100s'", settings->map_form);
    }
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (strcmp(casts[i].name, settings->cast_to) == 0) {
            *dtype = casts[i].dtype;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no cast_to '%.100s'", settings->cast_to);
}

/* Dense: one element an entry. Sparse: max_map elements, each entry at the place that its key says. */
static bool cast_map(struct mdf_call *call)
{
    const struct map_settings *settings = call->settings;
    const struct mdf_value *entries;
    struct mdf_workspace workspace;
    int64_t *keys, *order, shape[2] = {1, 0};
    mdf_dtype dtype = MDF_DTYPE_NONE;
    size_t n = 0, next = 0;
    void *target;
    bool sparse;

    entries = read_object(call, &n);
    if (call->context->error.code != MDF_OK || !read_cast(call, &dtype, &sparse) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    keys = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, n);
    order = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, n);
    if (keys == NULL || order == NULL || !read_integer_keys(call, entries, n, keys) ||
        !sort_entries(&workspace, keys, n, order)) {
        return false;
    }
    shape[1] = sparse ? settings->max_map : (int64_t)n;
    if (sparse && n > 0 && (keys[order[0]] < 0 || keys[order[n - 1]] >= settings->max_map)) {
        return mdf_call_error(call, MDF_VALUE, "a key is not between 0 and max_map, %lld", (long long)settings->max_map);
    }
    target = mdf_call_output(call, 0, dtype, 2, shape);
    for (int64_t i = 0; target != NULL && i < shape[1]; i++) {
        bool there = next < n && (!sparse || keys[order[next]] == i);

        if (!cast_value(call, dtype, target, (size_t)i, there ? &entries[2 * order[next] + 1] : NULL)) {
            return false;
        }
        next += there;
    }
    return target != NULL;
}

/* ------------------------------------------------------------------ ZipMap */

/* The labels, one after the other. They stay from run to run. */
static const struct mdf_value *make_keys(struct mdf_call *call, size_t n)
{
    const struct map_settings *settings = call->settings;
    struct mdf_value *keys = &call->scratch[SCRATCH_KEYS];
    const int64_t size = (int64_t)n;
    char digits[DIGITS_SIZE], **strings;

    if (keys->kind == MDF_KIND_TENSOR) {
        return keys;
    }
    strings = mdf_value_make_tensor(call->context->memory, keys, MDF_DTYPE_STRING, 1, &size);
    for (size_t i = 0; strings != NULL && i < n; i++) {
        const char *text = digits;

        if (settings->strings.items != NULL) {
            text = settings->strings.items[i];
        } else {
            snprintf(digits, sizeof digits, "%lld", (long long)settings->integers.items[i]);
        }
        strings[i] = mdf_string_new(call->context->memory, text, strlen(text));
        strings = strings[i] != NULL ? strings : NULL;
    }
    if (strings == NULL) {
        mdf_value_clear(call->context->memory, keys);
        mdf_call_out_of_memory(call);
    }
    return strings != NULL ? keys : NULL;
}

static bool has_owners(const struct mdf_value *value, size_t n)
{
    return value->buffer != NULL && value->buffer->store == NULL &&
           atomic_load_explicit(&value->buffer->n_owners, memory_order_acquire) == n;
}

/* Whether the list of the last run is there still, and nobody else has it, one of its objects or one of their numbers: then
 * nothing but the numbers has to change. */
static bool can_stay(const struct mdf_value *list, const struct mdf_value *numbers, size_t n_rows, size_t n)
{
    const struct mdf_value *rows = mdf_value_items(list);

    if (list->kind != MDF_KIND_LIST || list->length != n_rows || numbers->kind != MDF_KIND_TENSOR ||
        numbers->length != n_rows * n || !has_owners(list, 1) || !has_owners(numbers, n_rows * n + 1)) {
        return false;
    }
    for (size_t row = 0; row < n_rows; row++) {
        if (rows[row].kind != MDF_KIND_DICT || rows[row].length != n || !has_owners(&rows[row], 1) ||
            mdf_value_items(&rows[row])[1].data != (float *)numbers->data + row * n) {
            return false;
        }
    }
    return n_rows > 0;
}

/* A list with an object for each row; the objects share their keys, and one array of numbers. */
static bool make_objects(struct mdf_call *call, const float *scores, size_t n_rows, size_t n)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *result = mdf_call_result(call, 0), *numbers = &call->scratch[SCRATCH_NUMBERS];
    struct mdf_value *list = result != NULL ? result : &call->scratch[0], *rows;
    const struct mdf_value *keys;
    float *elements;

    if (can_stay(list, numbers, n_rows, n)) {
        memcpy(numbers->data, scores, n_rows * n * sizeof *scores);
        return true;
    }
    rows = mdf_value_make_list(memory, list, n_rows);
    keys = make_keys(call, n);
    elements = mdf_value_make_tensor(memory, numbers, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n});
    if (rows == NULL || keys == NULL || elements == NULL) {
        return mdf_call_out_of_memory(call);
    }
    memcpy(elements, scores, n_rows * n * sizeof *scores);
    for (size_t row = 0; row < n_rows; row++) {
        struct mdf_value *entries = mdf_value_make_dict(memory, &rows[row], n);

        if (entries == NULL) {
            return mdf_call_out_of_memory(call);
        }
        for (size_t i = 0; i < n; i++) {
            mdf_value_share_element(&entries[2 * i], keys, i);
            mdf_value_share_element(&entries[2 * i + 1], numbers, row * n + i);
        }
    }
    return true;
}

static bool zip_map(struct mdf_call *call)
{
    const struct map_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    size_t n = settings->strings.items != NULL ? settings->strings.n : settings->integers.n, n_rows;
    struct mdf_workspace workspace;
    const float *scores;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 1)) {
        return false;
    }
    if ((settings->strings.items != NULL) == (settings->integers.items != NULL)) {
        return mdf_call_error(call, MDF_VALUE, "one of classlabels_strings and classlabels_int64s has to be given");
    }
    if ((x->rank != 1 && x->rank != 2) || mdf_value_shape(x)[x->rank - 1] != (int64_t)n || n == 0) {
        return mdf_call_error(call, MDF_SHAPE, "X is not rows of %zu scores, one a label", n);
    }
    n_rows = x->rank == 2 ? (size_t)mdf_value_shape(x)[0] : 1;
    scores = mdf_workspace_input(&workspace, 0);
    return scores != NULL && make_objects(call, scores, n_rows, n);
}

#define SETTINGS(table) table, sizeof(struct map_settings)

const struct mdf_operator mdf_operators_ml_maps[] = {
    {"CastMap", 1, 99, cast_map, SETTINGS(cast_table), MDF_OPERATOR_KEEPS_INPUTS, NULL},
    {"DictVectorizer", 1, 99, dict_vectorizer, SETTINGS(vectorizer_table), MDF_OPERATOR_KEEPS_INPUTS, NULL},
    {"ZipMap", 1, 99, zip_map, SETTINGS(zip_table), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
