/* save_model.h - a model as a file again. */
#ifndef MDF_WRITE_SAVE_MODEL_H
#define MDF_WRITE_SAVE_MODEL_H

#include "mdf_c/model/model.h"

/* Arrays of at least so many bytes go beside the file, where the caller says nothing else: those of a model that came from ONNX,
 * or that had arrays beside it. */
enum { MDF_DEFAULT_BESIDE_BYTES = 1 << 20 };

/* Writes the model's document in a format ("json", "yaml", "bson"), all that it held included, with onnx_opset_version filled in
 * where it was left out. Arrays of at least `beside_bytes` bytes (0: by the rule above; SIZE_MAX: none) go into PATH.npz, which
 * the document refers to (beside.h). The files appear whole or not at all. */
mdf_status mdf_model_write(const struct mdf_model *model, const char *path, const char *format, size_t beside_bytes,
                           mdf_error *error);

#endif
