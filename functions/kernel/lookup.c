/* lookup.c - see lookup.h. A hash table with open addressing, at most a quarter of it full. */
#include "functions/kernel/lookup.h"

#include <math.h>
#include <string.h>

bool mdf_keys_of_value(struct mdf_workspace *workspace, const struct mdf_value *value, struct mdf_keys *keys)
{
    static const char *const nothing[] = {""};
    char kind = mdf_dtype_kind((mdf_dtype)value->dtype);
    mdf_dtype wide = kind == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    const void *elements;
    void *converted;
    bool is_wide;

    *keys = (struct mdf_keys){.n = value->length};
    if (kind == 's') {
        keys->strings = value->data != NULL ? value->data : nothing;
        return true;
    }
    is_wide = (mdf_dtype)value->dtype == wide && value->length > 0;
    converted = mdf_workspace_array(workspace, wide, is_wide ? 0 : value->length);
    if (converted == NULL) {
        return false;
    }
    elements = is_wide ? value->data : converted;
    if (kind == 'c' || (!is_wide && value->length > 0 &&
                        !mdf_value_convert_elements(workspace->call->context->memory, wide, converted, (mdf_dtype)value->dtype,
                                                    value->data, value->length, false))) {
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

/* What equal keys have in common: zeros, and NaNs, are equal whatever their bits. Source of hashes: FNV-1a. */
static inline uint64_t bits_of(const struct mdf_keys *keys, size_t i)
{
    uint64_t bits = 0xcbf29ce484222325u;

    if (keys->integers != NULL) {
        return (uint64_t)keys->integers[i];
    }
    if (keys->strings != NULL) {
        for (const char *c = string_at(keys, i); *c != '\0'; c++) {
            bits = (bits ^ (uint8_t)*c) * 0x100000001b3u;
        }
    } else if (keys->reals[i] != 0 && !isnan(keys->reals[i])) {
        memcpy(&bits, &keys->reals[i], sizeof bits);
    } else {
        bits = keys->reals[i] == 0 ? 0 : 0x7ff8000000000000u;
    }
    return bits;
}

/* Where a key is looked for first. Source: the finaliser of MurmurHash3. */
static inline size_t first_slot(const struct mdf_lookup *lookup, uint64_t bits)
{
    bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdu;
    bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53u;
    return (size_t)(bits ^ bits >> 33) & lookup->mask;
}

/* From `slot` on, that of a key that equals the wanted one, or the free one where it would be. */
static inline struct mdf_lookup_slot *find_slot(const struct mdf_lookup *lookup, size_t slot, uint64_t bits,
                                                const struct mdf_keys *wanted, size_t i)
{
    const struct mdf_lookup_slot *at = &lookup->slots[slot];

    while (at->number >= 0 &&
           (at->bits != bits ||
            (wanted->strings != NULL && strcmp(string_at(&lookup->keys, (size_t)at->number), string_at(wanted, i)) != 0))) {
        slot = (slot + 1) & lookup->mask;
        at = &lookup->slots[slot];
    }
    return &lookup->slots[slot];
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

/* What stands before the slots, for the next run. */
struct made {
    const void *attribute; /* NULL: they are not made, or of other keys in each run */
    size_t n, mask;
    bool are_strings, are_integers;
    int64_t lowest;
    uint64_t n_numbers;
};

enum { N_MADE = (sizeof(struct made) + sizeof(int64_t) - 1) / sizeof(int64_t) };

/* Whether the slots of the run before are those of the attribute's keys. */
static bool is_made(const struct mdf_value *value, const struct mdf_keys *keys, const void *attribute, struct made *made)
{
    if (attribute == NULL || value->kind != MDF_KIND_TENSOR || value->dtype != MDF_DTYPE_INT64 || value->length <= N_MADE) {
        return false;
    }
    memcpy(made, value->data, sizeof *made);
    return made->attribute == attribute && made->n == keys->n && made->are_strings == (keys->strings != NULL) &&
           made->are_integers == (keys->integers != NULL);
}

/* Gives each key a slot, or each number its key. False: it has been stopped. */
static bool fill_slots(const struct mdf_context *context, const struct mdf_lookup *lookup)
{
    const struct mdf_keys *keys = &lookup->keys;

    for (uint64_t i = 0; i < lookup->n_numbers; i++) {
        lookup->numbers[i] = -1;
    }
    for (size_t i = 0; lookup->n_numbers == 0 && i <= lookup->mask; i++) {
        lookup->slots[i].number = -1;
    }
    for (size_t i = 0; i < keys->n; i++) {
        uint64_t bits = bits_of(keys, i);

        if (mdf_should_stop_at(context, i, MDF_ITEMS_PER_LOOK)) {
            return false;
        }
        if (lookup->n_numbers > 0) {
            lookup->numbers[bits - (uint64_t)lookup->lowest] = (int64_t)i;
        } else {
            *find_slot(lookup, first_slot(lookup, bits), bits, keys, i) = (struct mdf_lookup_slot){bits, (int64_t)i};
        }
    }
    return true;
}

static void place_slots(struct mdf_lookup *lookup, const struct mdf_keys *keys, const struct made *made, void *words)
{
    int64_t *behind = (int64_t *)words + N_MADE;

    *lookup = (struct mdf_lookup){.keys = *keys,
                                  .mask = made->mask,
                                  .slots = (struct mdf_lookup_slot *)(void *)behind,
                                  .numbers = behind,
                                  .lowest = made->lowest,
                                  .n_numbers = made->n_numbers};
}

bool mdf_lookup_make(struct mdf_workspace *workspace, const struct mdf_keys *keys, const void *attribute,
                     struct mdf_lookup *lookup)
{
    struct mdf_value *kept = mdf_workspace_value(workspace);
    struct made made;
    size_t n_slots = 2;
    int64_t *words, n_words;

    if (kept == NULL) {
        return false;
    }
    if (is_made(kept, keys, attribute, &made)) {
        place_slots(lookup, keys, &made, kept->data);
        return true;
    }
    made = (struct made){.n = keys->n, .are_strings = keys->strings != NULL, .are_integers = keys->integers != NULL};
    made.n_numbers = count_numbers(keys, &made.lowest);
    while (n_slots / 4 <= keys->n) {
        n_slots *= 2;
    }
    made.mask = n_slots - 1;
    n_words = N_MADE + (made.n_numbers > 0 ? (int64_t)made.n_numbers : 2 * (int64_t)n_slots);
    words = mdf_value_make_tensor(workspace->call->context->memory, kept, MDF_DTYPE_INT64, 1, &n_words);
    if (words == NULL) {
        return mdf_call_out_of_memory(workspace->call);
    }
    memcpy(words, &made, sizeof made);
    place_slots(lookup, keys, &made, words);
    if (!fill_slots(workspace->call->context, lookup)) {
        return false;
    }
    made.attribute = attribute;
    memcpy(words, &made, sizeof made);
    return true;
}

int64_t mdf_lookup_find(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t i)
{
    uint64_t bits = bits_of(wanted, i), number = bits - (uint64_t)lookup->lowest;

    if (lookup->n_numbers > 0) {
        return number < lookup->n_numbers ? lookup->numbers[number] : -1;
    }
    return find_slot(lookup, first_slot(lookup, bits), bits, wanted, i)->number;
}

void mdf_lookup_find_all(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t first, size_t n, int64_t *numbers)
{
    enum { AT_ONCE = 16 };
    uint64_t bits[AT_ONCE];
    size_t slots[AT_ONCE];

    for (size_t i = 0; lookup->n_numbers > 0 && i < n; i++) {
        numbers[i] = mdf_lookup_find(lookup, wanted, first + i);
    }
    /* The slots of some keys come from memory at the same time. */
    for (size_t at = 0; lookup->n_numbers == 0 && at < n; at += AT_ONCE) {
        size_t n_now = n - at < AT_ONCE ? n - at : AT_ONCE;

        for (size_t i = 0; i < n_now; i++) {
            bits[i] = bits_of(wanted, first + at + i);
            slots[i] = first_slot(lookup, bits[i]);
            __builtin_prefetch(&lookup->slots[slots[i]]);
        }
        for (size_t i = 0; i < n_now; i++) {
            numbers[at + i] = find_slot(lookup, slots[i], bits[i], wanted, first + at + i)->number;
        }
    }
}
