/* compare_models.h - two models by what they mean: docs/man/mdf-diff.1.
 *
 * Comes in: two documents of models, in any formats. Goes out: a line for each place where they differ. What does not count: the
 * format, the order of keys, how a number or an array is written, entries that are null, empty, or what they are where they are
 * left out, and "format" and "generating_application", which say who wrote it. */
#ifndef MDF_WRITE_COMPARE_MODELS_H
#define MDF_WRITE_COMPARE_MODELS_H

#include "mdf_c/model/model.h"

/* Appends the differences to `text`, and counts them. False: memory ran out. */
bool mdf_compare_models(const struct mdf_model *a, const struct mdf_model *b, struct mdf_text *text, size_t *n_differences);

#endif
