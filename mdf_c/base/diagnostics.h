/* diagnostics.h - a list of errors and warnings, each with its line of the file: mdf_diagnostics of mdf.h.
 *
 * Whoever goes on after an error takes it off its mdf_error into the list. Nothing here fails: what there is no memory for is
 * left out, but the first MDF_MOST_ERRORS errors have theirs from the start. */
#ifndef MDF_BASE_DIAGNOSTICS_H
#define MDF_BASE_DIAGNOSTICS_H

#include "mdf_c/base/source_text.h"
#include "mdf_c/mdf.h"

/* The file that is spoken of from now on, borrowed; NULL: none. */
void mdf_diagnostics_look_at(struct mdf_diagnostics *list, const struct mdf_source *source);
/* The file that is spoken of. */
struct mdf_source mdf_diagnostics_source(const struct mdf_diagnostics *list);
/* Adds one; what is there already is not added again, of errors no more than there is room for. `code` NULL: the status. */
void mdf_diagnostics_note(struct mdf_diagnostics *list, mdf_severity severity, const char *code, const mdf_error *diagnostic);
/* Moves an error into the list, so that the work can go on: it is unset then. False: the work ends with it; there is no list,
 * there have been enough, or it is one that says nothing of a model. */
bool mdf_diagnostics_take(struct mdf_diagnostics *list, mdf_error *error);
/* Ends a piece of work that began when there were `n_before` errors: sorts its errors, and gives `error` the first of them. */
void mdf_diagnostics_settle(struct mdf_diagnostics *list, size_t n_before, mdf_error *error);

#endif
