/* zip_reader.h - where the entries of a zip archive lie, so that those that are stored as they are can be used in place.
 *
 * Comes in: an archive in a store. Goes out: its entries. What holds afterwards: every place lies inside the archive. */
#ifndef MDF_VALUES_ZIP_READER_H
#define MDF_VALUES_ZIP_READER_H

#include "mdf_c/base/arena.h"
#include "mdf_c/base/error.h"
#include "mdf_c/base/store.h"

struct mdf_zip_entry {
    const char *name; /* in the archive, not terminated */
    size_t name_length;
    const unsigned char *bytes; /* as packed */
    size_t n_packed, size;      /* packed and unpacked */
    bool is_stored;             /* not packed at all */
};

struct mdf_zip {
    struct mdf_store *store;       /* borrowed */
    struct mdf_zip_entry *entries; /* sorted by name */
    size_t n_entries;
};

/* Reads the directory of an archive; entries lie in `arena`. */
mdf_status mdf_zip_open(struct mdf_arena *arena, struct mdf_store *store, struct mdf_zip *zip, mdf_error *error);
/* The entry of a name with something behind it (".npy"); NULL: none. */
const struct mdf_zip_entry *mdf_zip_find(const struct mdf_zip *zip, const char *name, const char *suffix);
/* Writes the bytes of an entry, packed or not, to `target`, which has room for entry->size. */
mdf_status mdf_zip_unpack(const struct mdf_zip *zip, const struct mdf_zip_entry *entry, void *target, mdf_error *error);

#endif
