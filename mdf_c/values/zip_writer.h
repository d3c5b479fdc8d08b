/* zip_writer.h - a zip archive of entries that are stored as they are, each at a multiple of 64 bytes, so that readers can map
 * them. */
#ifndef MDF_VALUES_ZIP_WRITER_H
#define MDF_VALUES_ZIP_WRITER_H

#include "mdf_c/base/hash.h"
#include "mdf_c/values/new_file.h"

struct mdf_zip_written;

struct mdf_zip_writer {
    struct mdf_new_file *file; /* borrowed; the archive is all that is in it */
    struct mdf_memory *memory;
    struct mdf_zip_written *entries;
    size_t n_entries, capacity;
    uint64_t offset;      /* bytes written */
    struct mdf_hash hash; /* of the entries so far */
};

void mdf_zip_writer_init(struct mdf_zip_writer *writer, struct mdf_new_file *file, struct mdf_memory *memory);
void mdf_zip_writer_release(struct mdf_zip_writer *writer);
/* Appends an entry, whose bytes are a head and a body. `name` must stay until the archive is finished. */
mdf_status mdf_zip_add(struct mdf_zip_writer *writer, const char *name, const void *head, size_t n_head, const void *body,
                       size_t n_body, mdf_error *error);
/* Appends the directory. */
mdf_status mdf_zip_finish(struct mdf_zip_writer *writer, mdf_error *error);

#endif
