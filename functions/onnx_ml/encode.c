/* encode.c - elements replaced by what a table says: LabelEncoder, CategoryMapper, OneHotEncoder.
 *
 * Comes in: an array of strings or numbers; keys and values as attributes. Goes out: for each element the value of the key that
 * it equals, or the default; of OneHotEncoder a row of zeros with a one at the category. Source: ONNX ai.onnx.ml, all versions.
 */
#include "functions/kernel/lookup.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "functions/products/lines.h"

#include <string.h>

struct encode_settings {
    struct mdf_floats keys_floats, values_floats;
    struct mdf_ints keys_int64s, values_int64s;
    struct mdf_strings keys_strings, values_strings, classes_strings;
    const struct mdf_value *keys_tensor, *values_tensor, *default_tensor;
    int64_t default_int64, zeros;
    double default_float;
    const char *default_string;
};

#define SETTING(name, type, field)                                        \
    {                                                                     \
        name, MDF_SETTING_##type, offsetof(struct encode_settings, field) \
    }
static const struct mdf_setting label_table[] = {
    SETTING("keys_floats", FLOATS, keys_floats),          SETTING("keys_int64s", INTS, keys_int64s),
    SETTING("keys_strings", STRINGS, keys_strings),       SETTING("keys_tensor", VALUE, keys_tensor),
    SETTING("values_floats", FLOATS, values_floats),      SETTING("values_int64s", INTS, values_int64s),
    SETTING("values_strings", STRINGS, values_strings),   SETTING("values_tensor", VALUE, values_tensor),
    SETTING("classes_strings", STRINGS, classes_strings), SETTING("default_float", FLOAT, default_float),
    SETTING("default_int64", INT, default_int64),         SETTING("default_string", STRING, default_string),
    SETTING("default_tensor", VALUE, default_tensor),     {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting category_table[] = {SETTING("cats_int64s", INTS, values_int64s),
                                                    SETTING("cats_strings", STRINGS, values_strings),
                                                    SETTING("default_int64", INT, default_int64),
                                                    SETTING("default_string", STRING, default_string),
                                                    {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting hot_table[] = {SETTING("cats_int64s", INTS, keys_int64s),
                                               SETTING("cats_strings", STRINGS, keys_strings),
                                               SETTING("zeros", INT, zeros),
                                               {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { N_SLOTS = 7, N_AT_ONCE = 256 };

/* What a key stands for: elements of a type, and the one for all else. */
struct meanings {
    mdf_dtype dtype;
    size_t n;
    const int64_t *integers; /* one of these, or a value */
    const double *reals;
    const char *const *strings;
    const struct mdf_value *value;
    int64_t default_integer;
    double default_real;
    const char *default_string;
    const struct mdf_value *default_value; /* of the value; NULL: the scalars */
};

/* ------------------------------------------------------------------ tables */

/* Whether keys are of the kind that the elements have. */
static bool check_kinds(struct mdf_call *call, const struct mdf_keys *keys, const struct mdf_keys *elements)
{
    if ((keys->strings != NULL) == (elements->strings != NULL) && (keys->integers != NULL) == (elements->integers != NULL)) {
        return true;
    }
    return mdf_call_error(call, MDF_TYPE, "the keys are %s, but the input holds %s",
                          keys->strings != NULL    ? "strings"
                          : keys->integers != NULL ? "integers"
                                                   : "reals",
                          mdf_dtype_name((mdf_dtype)call->inputs[0]->dtype));
}

static bool read_keys(struct mdf_workspace *workspace, struct mdf_keys *keys)
{
    const struct encode_settings *settings = workspace->call->settings;

    if (settings->keys_tensor != NULL && mdf_value_is_tensor(settings->keys_tensor)) {
        return mdf_keys_of_value(workspace, settings->keys_tensor, keys);
    }
    if (settings->keys_floats.items != NULL) {
        return mdf_keys_of_floats(workspace, &settings->keys_floats, keys);
    }
    if (settings->keys_int64s.items != NULL) {
        *keys = (struct mdf_keys){.integers = settings->keys_int64s.items, .n = settings->keys_int64s.n};
        return true;
    }
    *keys = (struct mdf_keys){.strings = settings->keys_strings.items, .n = settings->keys_strings.n};
    return settings->keys_strings.items != NULL ||
           mdf_call_error(workspace->call, MDF_VALUE, "none of the attributes keys_* is given");
}

static bool read_meanings(struct mdf_call *call, struct meanings *meanings)
{
    const struct encode_settings *settings = call->settings;
    const struct mdf_value *value = settings->values_tensor, *other = settings->default_tensor;

    *meanings =
        (struct meanings){.default_integer = settings->default_int64,
                          .default_real = settings->default_float,
                          .default_string = settings->default_string != NULL ? settings->default_string : ""};
    if (value != NULL && mdf_value_is_tensor(value)) {
        meanings->dtype = (mdf_dtype)value->dtype;
        meanings->value = value;
        meanings->n = value->length;
        meanings->default_value = other;
        return other == NULL || (other->dtype == value->dtype && other->length == 1) ||
               mdf_call_error(call, MDF_TYPE, "default_tensor is not one element of the type of values_tensor");
    }
    if (settings->values_floats.items != NULL) {
        meanings->dtype = MDF_DTYPE_FLOAT32;
        meanings->reals = settings->values_floats.items;
        meanings->n = settings->values_floats.n;
    } else if (settings->values_int64s.items != NULL) {
        meanings->dtype = MDF_DTYPE_INT64;
        meanings->integers = settings->values_int64s.items;
        meanings->n = settings->values_int64s.n;
    } else if (settings->values_strings.items != NULL) {
        meanings->dtype = MDF_DTYPE_STRING;
        meanings->strings = settings->values_strings.items;
        meanings->n = settings->values_strings.n;
    } else {
        return mdf_call_error(call, MDF_VALUE, "none of the attributes values_* is given");
    }
    return true;
}

static bool write_string(struct mdf_call *call, char **place, const char *text)
{
    *place = mdf_string_new(call->context->memory, text, strlen(text));
    return *place != NULL || mdf_call_out_of_memory(call);
}

/* What key number `key` means, or the default where it is -1. */
static bool write_meaning(struct mdf_call *call, const struct meanings *meanings, int64_t key, void *place)
{
    double real = key >= 0 && meanings->reals != NULL ? meanings->reals[key] : meanings->default_real;
    int64_t integer = key >= 0 && meanings->integers != NULL ? meanings->integers[key] : meanings->default_integer;

    if (meanings->value != NULL && (key >= 0 || meanings->default_value != NULL)) {
        const struct mdf_value *from = key >= 0 ? meanings->value : meanings->default_value;

        mdf_elements_copy(call, meanings->dtype, place, mdf_element_at(meanings->dtype, from->data, key >= 0 ? (size_t)key : 0),
                          1);
        return true;
    }
    if (meanings->dtype == MDF_DTYPE_STRING) {
        return write_string(call, place, key >= 0 ? meanings->strings[key] : meanings->default_string);
    }
    if (mdf_dtype_kind(meanings->dtype) == 'f') {
        return mdf_convert_elements(meanings->dtype, place, MDF_DTYPE_FLOAT64, &real, 1, false);
    }
    return mdf_convert_elements(meanings->dtype, place, MDF_DTYPE_INT64, &integer, 1, false);
}

/* What each key means, and behind these the default if it is wanted; made in the first run, as attributes are always the same. NULL
 * with the error set. */
static const char *make_table(struct mdf_workspace *workspace, const struct meanings *meanings, bool wants_default)
{
    size_t n = meanings->n + wants_default, size = mdf_dtype_size(meanings->dtype), n_bytes;
    struct mdf_value *kept = mdf_workspace_value(workspace);
    struct mdf_lines_source source;
    char *table = NULL;
    bool is_there;

    if (kept == NULL || !mdf_lines_count(n, 1, size, &n_bytes)) {
        return NULL;
    }
    memset(&source, 0, sizeof source);
    source.elements = workspace->call->settings;
    source.n = n;
    source.dtype = meanings->dtype;
    table = mdf_lines_keep(workspace->call, kept, true, n_bytes, &source, &is_there);
    for (size_t i = 0; table != NULL && !is_there && i < n; i++) {
        if (!write_meaning(workspace->call, meanings, i < meanings->n ? (int64_t)i : -1,
                           mdf_element_to_write(meanings->dtype, table, i))) {
            mdf_value_clear(workspace->call->context->memory, kept);
            return NULL;
        }
    }
    return table;
}

/* The same by a table of what keys mean, none of which means a string. */
static bool encode_by_table(struct mdf_workspace *workspace, const struct mdf_lookup *lookup, const struct mdf_keys *elements,
                            const struct meanings *meanings, void *target)
{
    size_t *places = mdf_workspace_array(workspace, MDF_WORKSPACE_SIZES, elements->n);
    int64_t numbers[N_AT_ONCE];
    bool wants_default = false;
    const char *table;

    for (size_t first = 0, n; places != NULL && first < elements->n; first += n) {
        n = elements->n - first < N_AT_ONCE ? elements->n - first : N_AT_ONCE;
        mdf_lookup_find_all(lookup, elements, first, n, numbers);
        for (size_t i = 0; i < n; i++) {
            places[first + i] = numbers[i] >= 0 ? (size_t)numbers[i] : meanings->n;
            wants_default = wants_default || numbers[i] < 0;
        }
        if (mdf_should_stop(workspace->call->context)) {
            return false;
        }
    }
    table = places == NULL ? NULL : make_table(workspace, meanings, wants_default);
    if (table != NULL) {
        mdf_blocks_gather(workspace->call, meanings->dtype, target, table, places, elements->n, 1);
    }
    return table != NULL;
}

/* Output 0: what the elements of input 0 mean. */
static bool encode(struct mdf_workspace *workspace, const struct mdf_keys *keys, const struct mdf_keys *elements,
                   const struct meanings *meanings)
{
    struct mdf_call *call = workspace->call;
    const struct mdf_value *x = call->inputs[0];
    struct mdf_lookup lookup;
    void *target;

    if (meanings->n != keys->n) {
        return mdf_call_error(call, MDF_VALUE, "there are %zu keys but %zu values", keys->n, meanings->n);
    }
    if (!check_kinds(call, keys, elements) || !mdf_lookup_make(workspace, keys, call->settings, &lookup)) {
        return false;
    }
    target = mdf_call_output(call, 0, meanings->dtype, x->rank, mdf_value_shape(x));
    if (target != NULL && meanings->dtype != MDF_DTYPE_STRING) {
        return encode_by_table(workspace, &lookup, elements, meanings, target);
    }
    for (size_t i = 0; target != NULL && i < elements->n; i++) {
        if (mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK) ||
            !write_meaning(call, meanings, mdf_lookup_find(&lookup, elements, i),
                           mdf_element_to_write(meanings->dtype, target, i))) {
            return false;
        }
    }
    return target != NULL;
}

/* ------------------------------------------------------------------ LabelEncoder, CategoryMapper */

static bool begin(struct mdf_workspace *workspace, struct mdf_call *call, struct mdf_keys *elements)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);

    return x != NULL && mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS) &&
           mdf_keys_of_value(workspace, x, elements);
}

static bool label_encoder(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct mdf_keys keys, elements;
    struct meanings meanings;

    return begin(&workspace, call, &elements) && read_keys(&workspace, &keys) && read_meanings(call, &meanings) &&
           encode(&workspace, &keys, &elements, &meanings);
}

/* Strings become integers by a list of both, or integers strings. */
static bool exchange(struct mdf_workspace *workspace, const struct mdf_keys *elements, const struct mdf_strings *strings,
                     const int64_t *integers, size_t n_integers)
{
    const struct encode_settings *settings = workspace->call->settings;
    bool from_strings = elements->strings != NULL;
    struct mdf_keys keys = {.strings = from_strings ? strings->items : NULL,
                            .integers = from_strings ? NULL : integers,
                            .n = from_strings ? strings->n : n_integers};
    struct meanings meanings = {.dtype = from_strings ? MDF_DTYPE_INT64 : MDF_DTYPE_STRING,
                                .n = from_strings ? n_integers : strings->n,
                                .integers = from_strings ? integers : NULL,
                                .strings = from_strings ? NULL : strings->items,
                                .default_integer = settings->default_int64,
                                .default_string = settings->default_string};

    if (strings->items == NULL || integers == NULL) {
        return mdf_call_error(workspace->call, MDF_VALUE, "the attributes that hold the categories are not given");
    }
    return encode(workspace, &keys, elements, &meanings);
}

/* The integer of a string is its place in the list. */
static bool label_encoder_1(struct mdf_call *call)
{
    const struct encode_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_keys elements;
    int64_t *places;

    if (!begin(&workspace, call, &elements)) {
        return false;
    }
    places = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, settings->classes_strings.n);
    for (size_t i = 0; places != NULL && i < settings->classes_strings.n; i++) {
        places[i] = (int64_t)i;
    }
    return places != NULL && exchange(&workspace, &elements, &settings->classes_strings, places, settings->classes_strings.n);
}

static bool category_mapper(struct mdf_call *call)
{
    const struct encode_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_keys elements;

    return begin(&workspace, call, &elements) &&
           exchange(&workspace, &elements, &settings->values_strings, settings->values_int64s.items, settings->values_int64s.n);
}

/* ------------------------------------------------------------------ OneHotEncoder */

/* Numbers of any type are looked up as integers; those that are not whole are cut off. No string is of a category that is a
 * number, nor the other way round: then there are no elements. */
static bool read_categories(struct mdf_workspace *workspace, struct mdf_keys *keys, struct mdf_keys *elements)
{
    const struct encode_settings *settings = workspace->call->settings;
    const struct mdf_value *x = workspace->call->inputs[0];
    int64_t *integers;

    if (elements->reals != NULL) {
        integers = mdf_workspace_array(workspace, MDF_DTYPE_INT64, x->length);
        if (integers == NULL) {
            return false;
        }
        if (!mdf_value_convert_elements(workspace->call->context->memory, MDF_DTYPE_INT64, integers, MDF_DTYPE_FLOAT64,
                                        elements->reals, x->length, false)) {
            return false;
        }
        *elements = (struct mdf_keys){.integers = integers, .n = x->length};
    }
    *keys = settings->keys_strings.items != NULL
                ? (struct mdf_keys){.strings = settings->keys_strings.items, .n = settings->keys_strings.n}
                : (struct mdf_keys){.integers = settings->keys_int64s.items, .n = settings->keys_int64s.n};
    if (keys->strings == NULL && keys->integers == NULL) {
        return mdf_call_error(workspace->call, MDF_VALUE, "neither cats_strings nor cats_int64s is given");
    }
    if ((keys->strings == NULL) != (elements->strings == NULL)) {
        *elements = (struct mdf_keys){0};
    }
    return true;
}

static bool one_hot_encoder(struct mdf_call *call)
{
    const struct encode_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct mdf_keys keys, elements;
    struct mdf_lookup lookup;
    int64_t *shape;
    float *target;

    if (!begin(&workspace, call, &elements) || !read_categories(&workspace, &keys, &elements) ||
        !mdf_lookup_make(&workspace, &keys, call->settings, &lookup)) {
        return false;
    }
    shape = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, (size_t)call->inputs[0]->rank + 1);
    if (shape == NULL) {
        return false;
    }
    memcpy(shape, mdf_value_shape(call->inputs[0]), call->inputs[0]->rank * sizeof *shape);
    shape[call->inputs[0]->rank] = (int64_t)keys.n;
    target = mdf_call_output(call, 0, MDF_DTYPE_FLOAT32, (size_t)call->inputs[0]->rank + 1, shape);
    for (size_t i = 0; target != NULL && i < call->inputs[0]->length && !mdf_should_stop(call->context); i++) {
        int64_t category = i < elements.n ? mdf_lookup_find(&lookup, &elements, i) : -1;

        if (category < 0 && settings->zeros == 0) {
            return mdf_call_error(call, MDF_VALUE, "element %zu is of no category, and 'zeros' is 0", i);
        }
        memset(target + i * keys.n, 0, keys.n * sizeof *target);
        if (category >= 0) {
            target[i * keys.n + (size_t)category] = 1;
        }
    }
    return target != NULL;
}

static bool plan_one_hot(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct encode_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0];
    size_t n = settings->keys_int64s.n;

    if (settings->keys_strings.items != NULL || !mdf_routine_room(plan, 4 + n, 0)) {
        return false;
    }
    plan->function = "one_hot";
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = (int64_t)x->length;
    plan->whole[1] = mdf_dtype_kind(plan->dtype) == 'f';
    plan->whole[2] = settings->zeros != 0;
    plan->whole[3] = (int64_t)n;
    memcpy(plan->whole + 4, settings->keys_int64s.items, n * sizeof *plan->whole);
    return true;
}

/* The kind of numbers there; -1: none. */
static int64_t kind_of_keys(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT64     ? 0
           : dtype == MDF_DTYPE_INT32   ? 1
           : dtype == MDF_DTYPE_FLOAT32 ? 2
           : dtype == MDF_DTYPE_FLOAT64 ? 3
                                        : -1;
}

/* What key `key` stands for, n the default: as the kernel writes it, then read as a number. */
static bool write_number(struct mdf_call *call, const struct meanings *meanings, int64_t key, int64_t *whole, double *real)
{
    double element; /* of any type */

    if (!write_meaning(call, meanings, key, &element)) {
        return false;
    }
    if (mdf_dtype_kind(meanings->dtype) == 'f') {
        *real = mdf_element_to_double(meanings->dtype, &element);
    } else {
        *whole = mdf_element_to_int64(meanings->dtype, &element);
    }
    return true;
}

static bool plan_labels(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0];
    int64_t kind = kind_of_keys((mdf_dtype)x->dtype);
    struct mdf_workspace workspace;
    struct meanings meanings;
    struct mdf_keys keys;
    bool is_real;

    if (kind < 0 || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS) || !read_keys(&workspace, &keys) ||
        !read_meanings(call, &meanings) || kind_of_keys(meanings.dtype) < 0 ||
        (kind < 2 ? (const void *)keys.integers : keys.reals) == NULL ||
        !mdf_routine_room(plan, 4 + 2 * keys.n + 1, 2 * keys.n + 1)) {
        return false;
    }
    is_real = mdf_dtype_kind(meanings.dtype) == 'f';
    plan->function = "encode";
    plan->dtype = meanings.dtype;
    plan->whole[0] = (int64_t)x->length;
    plan->whole[1] = kind;
    plan->whole[2] = (int64_t)keys.n;
    plan->whole[3] = is_real;
    for (size_t i = 0; i <= keys.n; i++) {
        size_t after = i + (kind < 2 ? keys.n : 0);

        if (i < keys.n && kind < 2) {
            plan->whole[4 + i] = keys.integers[i];
        } else if (i < keys.n) {
            plan->real[i] = keys.reals[i];
        }
        if (!write_number(call, &meanings, i < keys.n ? (int64_t)i : -1, &plan->whole[4 + after],
                          &plan->real[is_real && kind >= 2 ? keys.n + i : i])) {
            return false;
        }
    }
    return true;
}

#define SETTINGS(table) table, sizeof(struct encode_settings), MDF_OPERATOR_PURE, NULL

const struct mdf_operator mdf_operators_ml_encode[] = {{"LabelEncoder", 1, 1, label_encoder_1, SETTINGS(label_table),
                                                        .routine = MDF_ROUTINE(plan_labels, NULL), .infer = &mdf_rule_same},
                                                       {"LabelEncoder", 2, 99, label_encoder, SETTINGS(label_table),
                                                        .routine = MDF_ROUTINE(plan_labels, NULL), .infer = &mdf_rule_same},
                                                       {"CategoryMapper", 1, 99, category_mapper, SETTINGS(category_table)},
                                                       {"OneHotEncoder", 1, 99, one_hot_encoder, SETTINGS(hot_table),
                                                        .routine = MDF_ROUTINE(plan_one_hot, "an element is of no category")},
                                                       {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
