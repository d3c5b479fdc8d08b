/* save_model.h - a model as a file again. */
#ifndef MDF_WRITE_SAVE_MODEL_H
#define MDF_WRITE_SAVE_MODEL_H

#include "mdf_c/model/model.h"

/* Writes the model's document in a format ("json", "yaml", "bson"), all that it held included, with onnx_opset_version filled in
 * where it was left out. The file appears whole or not at all. */
mdf_status mdf_model_write(const struct mdf_model *model, const char *path, const char *format, mdf_error *error);

#endif
