/* terms.h - numbers and truths as scalars of a lowered form under construction: what conditions and bounds of loops are made of.
 * What is known beforehand is a constant. Each returns the value; NONE on failure, also where an operand is NONE. */
#ifndef MDF_LOWER_TERMS_H
#define MDF_LOWER_TERMS_H

#include "mdf_c/lower/lowering.h"

mdf_lowered_id mdf_term_truth(struct lowering *lowering, bool truth);
mdf_lowered_id mdf_term_whole(struct lowering *lowering, int64_t whole);
mdf_lowered_id mdf_term_real(struct lowering *lowering, double real);
/* Whether it is the constant `truth`. */
bool mdf_term_is(const struct lowering *lowering, mdf_lowered_id id, bool truth);

mdf_lowered_id mdf_term_and(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b);
mdf_lowered_id mdf_term_or(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b);
mdf_lowered_id mdf_term_not(struct lowering *lowering, mdf_lowered_id a);
/* Of int64, or of float64 where `is_real`: an op of two operands; comparisons are truths. */
mdf_lowered_id mdf_term_compute(struct lowering *lowering, enum mdf_lowered_code code, bool is_real, mdf_lowered_id a,
                                mdf_lowered_id b);
/* `truth` as 0 or 1. */
mdf_lowered_id mdf_term_number(struct lowering *lowering, mdf_lowered_id truth);
/* truth ? a : b, which are of one type. */
mdf_lowered_id mdf_term_choose(struct lowering *lowering, mdf_lowered_id truth, mdf_lowered_id a, mdf_lowered_id b);

#endif
