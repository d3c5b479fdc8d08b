/* beside.h - big arrays of a model in a NumPy archive beside its file.
 *
 * In the model stands, in place of the numbers, {"npz": FILE, "array": NAME} (docs/onnx.md, Weights beside the model), with
 * "type" too where NumPy lacks the element type. Reading puts the numbers back, so that nobody else knows of it; they stay in the
 * mapped archive where that is possible. */
#ifndef MDF_WRITE_BESIDE_H
#define MDF_WRITE_BESIDE_H

#include "mdf_c/document/document.h"
#include "mdf_c/write/new_file.h"

/* Replaces all references in a document by the arrays that they name; false with the error set. */
bool mdf_read_arrays_beside(struct mdf_document *document, mdf_error *error);

/* Puts arrays of at least `least_bytes` bytes of a tree into a new file at `path`, to which the tree refers by the path's last
 * part. *root becomes a tree without them, in `arena`. Where it has no such arrays, no file is made (*is_written); else the file
 * is the caller's to commit or abandon, in case of an error too. */
mdf_status mdf_write_arrays_beside(struct mdf_arena *arena, struct mdf_node *root, size_t least_bytes, const char *path,
                                   struct mdf_new_file *file, bool *is_written, mdf_error *error);

#endif
