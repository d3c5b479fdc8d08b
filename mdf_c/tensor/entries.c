/* entries.c - see entries.h. */
#include "mdf_c/tensor/entries.h"

#include <string.h>

/* Keys and values of an object lie in turn. */
static struct mdf_value *find(const struct mdf_value *object, const char *key)
{
    struct mdf_value *items = object->data;

    for (size_t i = 0; object->kind == MDF_KIND_DICT && i < object->length; i++) {
        if (strcmp(mdf_value_to_string(&items[2 * i]), key) == 0) {
            return &items[2 * i + 1];
        }
    }
    return NULL;
}

struct mdf_value *mdf_entry(struct mdf_memory *memory, struct mdf_value *object, const char *key)
{
    struct mdf_value *found = find(object, key), *items, *old = object->data, longer = {0};
    size_t n = object->kind == MDF_KIND_DICT ? object->length : 0;

    if (found != NULL) {
        return found;
    }
    items = mdf_value_make_dict(memory, &longer, n + 1);
    if (items == NULL || !mdf_value_make_string(memory, &items[2 * n], key, strlen(key))) {
        mdf_value_clear(memory, &longer);
        return NULL;
    }
    for (size_t i = 0; i < 2 * n; i++) {
        mdf_value_swap(&items[i], &old[i]);
    }
    mdf_value_swap(object, &longer);
    mdf_value_clear(memory, &longer);
    return &items[2 * n + 1];
}

bool mdf_entry_text(struct mdf_memory *memory, struct mdf_value *object, const char *key, const char *text)
{
    struct mdf_value *entry = mdf_entry(memory, object, key);

    return entry != NULL && mdf_value_make_string(memory, entry, text, strlen(text));
}

bool mdf_entry_integer(struct mdf_memory *memory, struct mdf_value *object, const char *key, int64_t integer)
{
    struct mdf_value *entry = mdf_entry(memory, object, key);

    return entry != NULL && mdf_value_make_int(memory, entry, integer);
}

bool mdf_entry_real(struct mdf_memory *memory, struct mdf_value *object, const char *key, double real)
{
    struct mdf_value *entry = mdf_entry(memory, object, key);

    return entry != NULL && mdf_value_make_double(memory, entry, real);
}

bool mdf_entry_take(struct mdf_memory *memory, struct mdf_value *object, const char *key, struct mdf_value *value)
{
    struct mdf_value *entry = mdf_entry(memory, object, key);

    if (entry != NULL) {
        mdf_value_swap(entry, value);
    }
    mdf_value_clear(memory, value);
    return entry != NULL;
}

bool mdf_list_take(struct mdf_memory *memory, struct mdf_value *list, struct mdf_value *item)
{
    static const struct mdf_value nothing;
    bool done = list->kind == MDF_KIND_LIST || mdf_value_make_list(memory, list, 0) != NULL;

    if (done && mdf_value_append(memory, list, &nothing)) {
        mdf_value_swap(&((struct mdf_value *)list->data)[list->length - 1], item);
    } else {
        done = false;
    }
    mdf_value_clear(memory, item);
    return done;
}
