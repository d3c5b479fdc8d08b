/* lookup.c - see lookup.h. A hash table with open addressing, less than half full. */
#include "functions/kernel/lookup.h"

#include <math.h>
#include <string.h>

bool mdf_keys_of_value(struct mdf_workspace *workspace, const struct mdf_value *value, struct mdf_keys *keys)
{
    static const char *const nothing[] = {""};
    char kind = mdf_dtype_kind((mdf_dtype)value->dtype);
    mdf_dtype wide = kind == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    void *elements;

    *keys = (struct mdf_keys){.n = value->length};
    if (kind == 's') {
        keys->strings = value->data != NULL ? value->data : nothing;
        return true;
    }
    elements = mdf_workspace_array(workspace, wide, value->length);
    if (elements == NULL) {
        return false;
    }
    if (kind == 'c' ||
        (value->length > 0 && !mdf_value_convert_elements(workspace->call->context->memory, wide, elements,
                                                          (mdf_dtype)value->dtype, value->data, value->length, false))) {
        return mdf_call_error(workspace->call, MDF_TYPE, "%s can not be keys", mdf_dtype_name((mdf_dtype)value->dtype));
    }
    keys->reals = kind == 'f' ? elements : NULL;
    keys->integers = kind == 'f' ? NULL : elements;
    return true;
}

bool mdf_keys_of_floats(struct mdf_workspace *workspace, const struct mdf_floats *floats, struct mdf_keys *keys)
{
    double *reals = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, floats->n);

    for (size_t i = 0; reals != NULL && i < floats->n; i++) {
        reals[i] = (double)(float)floats->items[i];
    }
    *keys = (struct mdf_keys){.reals = reals, .n = floats->n};
    return reals != NULL;
}

static const char *string_at(const struct mdf_keys *keys, size_t i)
{
    return keys->strings[i] != NULL ? keys->strings[i] : "";
}

/* Source: FNV-1a, and the finaliser of MurmurHash3. */
static uint64_t hash_of(const struct mdf_keys *keys, size_t i)
{
    uint64_t hash = 0xcbf29ce484222325u;

    if (keys->strings != NULL) {
        for (const char *c = string_at(keys, i); *c != '\0'; c++) {
            hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
        }
        return hash;
    }
    if (keys->integers != NULL) {
        hash = (uint64_t)keys->integers[i];
    } else if (keys->reals[i] != 0 && !isnan(keys->reals[i])) { /* zeros, and NaNs, are equal whatever their bits */
        memcpy(&hash, &keys->reals[i], sizeof hash);
    }
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

static bool are_equal(const struct mdf_keys *a, size_t i, const struct mdf_keys *b, size_t j)
{
    if (a->strings != NULL) {
        return strcmp(string_at(a, i), string_at(b, j)) == 0;
    }
    if (a->integers != NULL) {
        return a->integers[i] == b->integers[j];
    }
    return a->reals[i] == b->reals[j] || (isnan(a->reals[i]) && isnan(b->reals[j]));
}

/* The slot of a key that equals the wanted one, or the free one where it would be. */
static size_t find_slot(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t i)
{
    size_t slot = (size_t)hash_of(wanted, i) & lookup->mask;

    while (lookup->slots[slot] >= 0 && !are_equal(&lookup->keys, (size_t)lookup->slots[slot], wanted, i)) {
        slot = (slot + 1) & lookup->mask;
    }
    return slot;
}

/* How many whole numbers there are from the lowest key to the highest; 0: too many for a table, or the keys are none. */
static uint64_t count_numbers(const struct mdf_keys *keys, int64_t *lowest)
{
    enum { MOST_FOR_ONE = 8 };
    int64_t highest;

    if (keys->integers == NULL || keys->n == 0) {
        return 0;
    }
    *lowest = highest = keys->integers[0];
    for (size_t i = 1; i < keys->n; i++) {
        *lowest = keys->integers[i] < *lowest ? keys->integers[i] : *lowest;
        highest = keys->integers[i] > highest ? keys->integers[i] : highest;
    }
    return (uint64_t)highest - (uint64_t)*lowest < MOST_FOR_ONE * (uint64_t)keys->n ? (uint64_t)highest - (uint64_t)*lowest + 1
                                                                                    : 0;
}

bool mdf_lookup_make(struct mdf_workspace *workspace, const struct mdf_keys *keys, struct mdf_lookup *lookup)
{
    int64_t lowest = 0;
    uint64_t n_numbers = count_numbers(keys, &lowest);
    size_t n_slots = n_numbers > 0 ? (size_t)n_numbers : 2;

    while (n_numbers == 0 && n_slots / 2 <= keys->n) {
        n_slots *= 2;
    }
    *lookup =
        (struct mdf_lookup){*keys, n_slots - 1, mdf_workspace_array(workspace, MDF_DTYPE_INT64, n_slots), lowest, n_numbers};
    if (lookup->slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_slots; i++) {
        lookup->slots[i] = -1;
    }
    for (size_t i = 0; i < keys->n; i++) {
        if (mdf_should_stop_at(workspace->call->context, i, MDF_ITEMS_PER_LOOK)) {
            return false;
        }
        lookup->slots[n_numbers > 0 ? (uint64_t)keys->integers[i] - (uint64_t)lowest : find_slot(lookup, keys, i)] = (int64_t)i;
    }
    return true;
}

int64_t mdf_lookup_find(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t i)
{
    if (lookup->n_numbers > 0) {
        uint64_t number = (uint64_t)wanted->integers[i] - (uint64_t)lookup->lowest;

        return number < lookup->n_numbers ? lookup->slots[number] : -1;
    }
    return lookup->slots[find_slot(lookup, wanted, i)];
}
