/* convert_yaml.h - YAML to YAML: the text stays as it is, comments and layout too. */
#ifndef MDF_CLI_CONVERT_YAML_H
#define MDF_CLI_CONVERT_YAML_H

#include "mdf_c/model/model.h"

/* Writes the text of `source`, with onnx_opset_version where it is left out, to `target`. *is_kept: false where that can not be put
 * into the text, and nothing has been written; *has_comments: whether there may be some then. */
mdf_status convert_yaml_text(const struct mdf_model *model, const char *source, const char *target, bool *is_kept,
                             bool *has_comments, mdf_error *error);

#endif
