/* onnx_names.h - the names of ONNX's operators that several parts write calls of: the importer, the exporter and the lowering.
 * Source: onnx/docs/Operators.md. */
#ifndef MDF_ONNX_NAMES_H
#define MDF_ONNX_NAMES_H

#define ONNX_CAST "Cast"
#define ONNX_CONCAT "Concat"
#define ONNX_CONSTANT "Constant"
#define ONNX_GATHER "Gather"
#define ONNX_IDENTITY "Identity"
#define ONNX_RESHAPE "Reshape"

#endif
