/* beside.h - big arrays of a model in a NumPy archive beside its file.
 *
 * In the model stands, in place of the numbers, {"npz": FILE, "array": NAME} (docs/onnx.md, Weights beside the model), with
 * "type" too where NumPy lacks the element type. Reading puts the numbers back, so that nobody else knows of it; they stay in the
 * mapped archive where that is possible. */
#ifndef MDF_WRITE_BESIDE_H
#define MDF_WRITE_BESIDE_H

#include "mdf_c/base/hash.h"
#include "mdf_c/document/document.h"
#include "mdf_c/values/new_file.h"

/* Replaces all references in a document by the arrays that they name; false with the error set. */
bool mdf_read_arrays_beside(struct mdf_document *document, mdf_error *error);

/* Puts arrays of at least `least_bytes` bytes of a tree into a new file at `path`, or at another that follows from it where that
 * is taken (mdf_beside_choose_path); the tree refers to it by the path's last part. *root becomes a tree without them, in
 * `arena`. Where it has no such arrays, no file is made (*is_written); else the file is the caller's to commit or abandon, in
 * case of an error too. */
mdf_status mdf_write_arrays_beside(struct mdf_arena *arena, struct mdf_node *root, size_t least_bytes, const char *path,
                                   struct mdf_new_file *file, bool *is_written, mdf_error *error);

/* --- beside_names.c: a model and its archive are two files, of which none may ever be seen with the other's predecessor. So an
 * archive never takes the place of another one: it is there under a name of its own before the model that names it is, and what
 * the replaced model named is taken away afterwards. */

/* Decides where a complete new file, opened for "X.npz", goes: there, if nothing else is there; else to "X.HASH.npz". */
mdf_status mdf_beside_choose_path(struct mdf_arena *arena, struct mdf_new_file *file, const struct mdf_hash *hash,
                                  mdf_error *error);

struct mdf_beside_old {
    const char *path;
    struct mdf_beside_old *next;
};

/* The archives, written for the model at `path`, that the file there names; in `arena`. */
mdf_status mdf_beside_find_old(struct mdf_arena *arena, const char *path, struct mdf_beside_old **old, mdf_error *error);

#endif
