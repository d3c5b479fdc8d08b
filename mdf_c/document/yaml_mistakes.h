/* yaml_mistakes.h - what is wrong with a YAML text, in the words of one who writes a model, where it can be mended. */
#ifndef MDF_DOCUMENT_YAML_MISTAKES_H
#define MDF_DOCUMENT_YAML_MISTAKES_H

#include "mdf_c/document/tree_builder.h"

#include <yaml.h>

/* Sets the error of a parser that has stopped (but for memory and bytes that are no text); always false. */
bool mdf_yaml_fail(struct mdf_tree *tree, const yaml_parser_t *parser, const char *bytes, size_t size_bytes);

/* Where a plain scalar stands in a text. */
enum mdf_yaml_role { MDF_YAML_KEY, MDF_YAML_ENTRY_VALUE, MDF_YAML_ITEM };

/* Warns of a plain scalar that YAML takes for something else than the writer can have meant: a key with a bracket that it does
 * not close, a comma within brackets of an expression, a ':' without a space. `is_flow`: within { } or [ ]. To be called before
 * the scalar is added to the tree. */
void mdf_yaml_look_at(struct mdf_tree *tree, const yaml_event_t *event, enum mdf_yaml_role role, bool is_flow);

#endif
