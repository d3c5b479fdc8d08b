/* dialect.h - what a document means where it does not mean what the reference engine of MDF makes of it. See docs/dialects.md.
 *
 * Comes in: the tree of a document. Goes out: another tree, which says in MDF's own words what the first one means. */
#ifndef MDF_DIALECT_DIALECT_H
#define MDF_DIALECT_DIALECT_H

#include "mdf_c/document/document.h"

/* The dialect of a document, which is known from what wrote it, unless the caller says which. */
mdf_dialect mdf_dialect_of(const struct mdf_document *document, mdf_dialect said);

/* The tree of a document of PsyNeuLink, rewritten; what is new lies in `arena`. */
mdf_status mdf_psyneulink_rewrite(struct mdf_arena *arena, const struct mdf_document *document, struct mdf_node *root,
                                  mdf_error *error);

#endif
