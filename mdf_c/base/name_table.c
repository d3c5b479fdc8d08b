/* name_table.c - see name_table.h: open addressing, a hash by multiplications. */
#include "mdf_c/base/name_table.h"

#include <stdint.h>
#include <string.h>

struct name_entry {
    const char *name; /* NULL: free */
    uint64_t hash;
    size_t number;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* Eight letters at a time: names that exporters write are hundreds long. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037), word;
    size_t left = strlen(name);

    for (; left >= sizeof word; left -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        hash = mix(hash, word);
    }
    for (word = 0; left > 0; left--, name++) {
        word = word << 8 | (unsigned char)*name;
    }
    return mix(hash, word);
}

/* The entry of a name, or the free one where it would stand. */
static struct name_entry *find_entry(struct name_entry *entries, size_t capacity, const char *name, uint64_t hash)
{
    size_t i = (size_t)hash & (capacity - 1);

    while (entries[i].name != NULL && (entries[i].hash != hash || strcmp(entries[i].name, name) != 0)) {
        i = (i + 1) & (capacity - 1);
    }
    return &entries[i];
}

size_t *name_table_find(const struct name_table *table, const char *name)
{
    struct name_entry *entry = table->n > 0 ? find_entry(table->entries, table->capacity, name, hash_of(name)) : NULL;

    return entry != NULL && entry->name != NULL ? &entry->number : NULL;
}

static bool grow(struct name_table *table, struct mdf_arena *arena)
{
    size_t capacity = table->capacity == 0 ? 8 : table->capacity * 2;
    struct name_entry *entries = mdf_arena_array(arena, capacity, sizeof *entries);

    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->entries[i].name != NULL) {
            *find_entry(entries, capacity, table->entries[i].name, table->entries[i].hash) = table->entries[i];
        }
    }
    table->entries = entries;
    table->capacity = capacity;
    return true;
}

size_t *name_table_add(struct name_table *table, struct mdf_arena *arena, const char *name)
{
    uint64_t hash = hash_of(name);
    struct name_entry *entry;

    if (table->n * 2 >= table->capacity && !grow(table, arena)) {
        return NULL;
    }
    entry = find_entry(table->entries, table->capacity, name, hash);
    if (entry->name == NULL) {
        *entry = (struct name_entry){name, hash, 0};
        table->n++;
    }
    return &entry->number;
}
