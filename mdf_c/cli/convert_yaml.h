/* convert_yaml.h - YAML to YAML: the text stays as it is, comments and layout too. */
#ifndef MDF_CLI_CONVERT_YAML_H
#define MDF_CLI_CONVERT_YAML_H

#include "mdf_c/model/model.h"

/* Writes the text of `source`, with onnx_opset_version where it is left out, to `target`. *is_kept: false where that can not be put
 * into the text, and nothing has been written. */
mdf_status convert_yaml_text(const struct mdf_model *model, const char *source, const char *target, bool *is_kept, mdf_error *error);
/* Line and column of the first comment of a file, counted from 1. False: it has none, or can not be read. What looks like one within a
 * text of several lines counts. */
bool find_yaml_comment(const char *path, int *line, int *column);

#endif
