/* name_table.h - names and a number for each, found by hash: for scopes and nodes with many. */
#ifndef MDF_BASE_NAME_TABLE_H
#define MDF_BASE_NAME_TABLE_H

#include "mdf_c/base/arena.h"

struct name_entry;

/* All zero: empty. What it needs lies in an arena; names are borrowed. */
struct name_table {
    struct name_entry *entries;
    size_t n, capacity; /* a power of two, at most half full */
};

/* The place of a name's number, NULL where the name is not there. */
size_t *name_table_find(const struct name_table *table, const char *name);
/* The same, and the name is added with 0 where it is not there; NULL when out of memory. */
size_t *name_table_add(struct name_table *table, struct mdf_arena *arena, const char *name);

#endif
