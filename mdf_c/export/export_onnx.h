/* export_onnx.h - a program as an ONNX model: docs/onnx.md, Writing ONNX.
 *
 * Comes in: a compiled program. Goes out: the bytes of an .onnx file that computes what one evaluation does. Instructions are gone
 * through once, with a symbol for the value of each slot: an ONNX value, a constant, a list of symbols. What has no form in ONNX
 * is refused, with its place. */
#ifndef MDF_EXPORT_EXPORT_ONNX_H
#define MDF_EXPORT_EXPORT_ONNX_H

#include "mdf_c/base/text.h"
#include "mdf_c/model/model.h"
#include "mdf_c/plan/program.h"

mdf_status mdf_export_onnx(const struct mdf_model *model, const struct mdf_program *program, struct mdf_text *bytes,
                           mdf_error *error);

#endif
