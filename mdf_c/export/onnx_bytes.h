/* onnx_bytes.h - fields of protobuf messages, as they follow each other in an .onnx file; field numbers are those of
 * mdf_c/document/onnx.proto. What a message holds is built in a text of its own, and then put into the one around it. */
#ifndef MDF_EXPORT_ONNX_BYTES_H
#define MDF_EXPORT_ONNX_BYTES_H

#include "mdf_c/base/text.h"
#include "mdf_c/tensor/value.h"

void onnx_put_integer(struct mdf_text *message, unsigned field, int64_t integer);
void onnx_put_float(struct mdf_text *message, unsigned field, float real);
void onnx_put_string(struct mdf_text *message, unsigned field, const char *string);
/* The message that `inner` holds, which becomes empty. */
void onnx_put_message(struct mdf_text *message, unsigned field, struct mdf_text *inner);
/* The fields of a TensorProto; `name` NULL: none. */
void onnx_put_tensor(struct mdf_text *message, const char *name, const struct mdf_value *array);

#endif
