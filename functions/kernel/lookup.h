/* lookup.h - keys of attributes, found by value: a hash table that kernels make from attributes; of whole numbers that lie close
 * together a table of all that there may be.
 *
 * Keys are whole numbers, reals or strings. Equal reals are one key, NaN equals NaN; of keys that stand twice the last counts. */
#ifndef MDF_FUNCTIONS_KERNEL_LOOKUP_H
#define MDF_FUNCTIONS_KERNEL_LOOKUP_H

#include "functions/kernel/workspace.h"

/* One of the three lists. Strings that are NULL are empty. */
struct mdf_keys {
    const char *const *strings;
    const int64_t *integers;
    const double *reals;
    size_t n;
};

struct mdf_lookup {
    struct mdf_keys keys;
    size_t mask;
    int64_t *slots;     /* number of a key, or -1; mask + 1 of them, */
    int64_t lowest;     /* or, of whole numbers from this one on, */
    uint64_t n_numbers; /* of so many */
};

/* Elements of an array as keys: integers as int64, reals as float64. False with the error set. Uses one array of the workspace.
 */
bool mdf_keys_of_value(struct mdf_workspace *workspace, const struct mdf_value *value, struct mdf_keys *keys);
/* The same of an attribute of reals, which are float32 in ONNX, whatever digits a model writes. */
bool mdf_keys_of_floats(struct mdf_workspace *workspace, const struct mdf_floats *floats, struct mdf_keys *keys);

/* Makes the keys findable. False with the error set. Uses one array of the workspace. */
bool mdf_lookup_make(struct mdf_workspace *workspace, const struct mdf_keys *keys, struct mdf_lookup *lookup);
/* Number of the key that equals key number `i` of `wanted`, which is of the same kind; -1: none. */
int64_t mdf_lookup_find(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t i);

#endif
