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

/* A key's bits, which equal keys have in common: of a string its hash. */
struct mdf_lookup_slot {
    uint64_t bits;
    int64_t number; /* of a key, or -1 */
};

struct mdf_lookup {
    struct mdf_keys keys;
    size_t mask;
    struct mdf_lookup_slot *slots; /* mask + 1 of them, */
    int64_t *numbers;              /* or, of whole numbers, the number of the key that each is, or -1, */
    int64_t lowest;                /* from this one on, */
    uint64_t n_numbers;            /* of so many */
};

/* Elements of an array as keys: integers as int64, reals as float64. False with the error set. Uses one array of the workspace.
 */
bool mdf_keys_of_value(struct mdf_workspace *workspace, const struct mdf_value *value, struct mdf_keys *keys);
/* The same of an attribute of reals, which are float32 in ONNX, whatever digits a model writes. */
bool mdf_keys_of_floats(struct mdf_workspace *workspace, const struct mdf_floats *floats, struct mdf_keys *keys);

/* Makes the keys findable. `attribute`: what these are the items of, which have been found in the run before where it is the
 * same; NULL: other keys in each run. False with the error set. Uses one array of the workspace. */
bool mdf_lookup_make(struct mdf_workspace *workspace, const struct mdf_keys *keys, const void *attribute,
                     struct mdf_lookup *lookup);
/* Number of the key that equals key number `i` of `wanted`, which is of the same kind; -1: none. */
int64_t mdf_lookup_find(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t i);
/* The same of `n` keys from number `first` on. */
void mdf_lookup_find_all(const struct mdf_lookup *lookup, const struct mdf_keys *wanted, size_t first, size_t n,
                         int64_t *numbers);

#endif
