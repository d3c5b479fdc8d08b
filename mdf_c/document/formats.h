/* formats.h - the reader and the writer of each format, as document.c calls them. */
#ifndef MDF_DOCUMENT_FORMATS_H
#define MDF_DOCUMENT_FORMATS_H

#include "mdf_c/document/tree_builder.h"

/* Readers feed a whole file to the builder; false on error, which is then set. */
bool mdf_json_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes);
bool mdf_yaml_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes);
bool mdf_bson_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes);
bool mdf_onnx_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes);

/* Lets go of document->messages. */
void mdf_onnx_release(struct mdf_document *document);

/* One element of packed numbers as JSON writes it: "true", "-3", "0.1" (of float types narrower than float64 the fewest digits
 * that read back to the same float32). Returns the length. */
size_t mdf_format_element(mdf_dtype dtype, const void *element, char text[MDF_NUMBER_TEXT_SIZE]);

/* Writers append a tree that is known to be sound (depth, UTF-8) to `text`; false on error, which is then set. */
bool mdf_json_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error);
/* Appends JSON text that has no white space outside strings, with lines and indentation. */
void mdf_json_lay_out(const char *compact, struct mdf_text *text);
bool mdf_yaml_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error);
bool mdf_bson_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error);

#endif
