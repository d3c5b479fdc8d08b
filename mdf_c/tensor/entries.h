/* entries.h - objects that are made entry by entry. */
#ifndef MDF_TENSOR_ENTRIES_H
#define MDF_TENSOR_ENTRIES_H

#include "mdf_c/tensor/value.h"

/* The value of the entry `key` of an object, which gets one that is NONE where it has none (a value that is NONE becomes an
 * object). The pointer is good until the next entry is added. NULL: refused. */
struct mdf_value *mdf_entry(struct mdf_memory *memory, struct mdf_value *object, const char *key);
/* The same, where the entry becomes a text, a whole number, a real. False: refused. */
bool mdf_entry_text(struct mdf_memory *memory, struct mdf_value *object, const char *key, const char *text);
bool mdf_entry_integer(struct mdf_memory *memory, struct mdf_value *object, const char *key, int64_t integer);
bool mdf_entry_real(struct mdf_memory *memory, struct mdf_value *object, const char *key, double real);
/* The same, where the entry becomes what `value` is, which becomes NONE. */
bool mdf_entry_take(struct mdf_memory *memory, struct mdf_value *object, const char *key, struct mdf_value *value);
/* Adds an item to a list (a value that is NONE becomes one); `item` becomes NONE. */
bool mdf_list_take(struct mdf_memory *memory, struct mdf_value *list, struct mdf_value *item);

#endif
