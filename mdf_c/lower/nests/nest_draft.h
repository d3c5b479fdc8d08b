/* nest_draft.h - nests (mdf_c/lowered/nest.h) under construction: each register has a set of axes in place of a level, so that
 * two nests can be made one before the order of the axes is fixed. */
#ifndef MDF_LOWER_NEST_DRAFT_H
#define MDF_LOWER_NEST_DRAFT_H

#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/nest.h"

struct draft_step {
    struct mdf_nest_step step;                    /* its level is not used */
    uint8_t axes;                                 /* a bit for each axis of the register; of LOAD: that it has at least */
    uint8_t n_folded, folded[MDF_NEST_MOST_AXES]; /* of FOLD: axes, in the order of the sum */
};

struct nest_draft {
    size_t n_axes;
    size_t extents[MDF_NEST_MOST_AXES];
    bool is_open, takes_none; /* as in nest.h */
    uint8_t open_axis;
    struct draft_step *steps;
    size_t n_steps, capacity;
    struct mdf_arena *arena;
    bool has_failed; /* there was no room */
};

enum { DRAFT_NO_AXIS = UINT8_MAX };

struct nest_draft *draft_new(struct lowering *lowering);
/* The number of an axis of so many indices; DRAFT_NO_AXIS where that is 1. */
uint8_t draft_axis(struct nest_draft *draft, int64_t extent);
/* Any step: its register; of a load that is there already, that one. */
uint8_t draft_add(struct nest_draft *draft, const struct draft_step *step);
/* Registers. A value is loaded from where it was moved from, if it is a view (lowering_note_view); axes[d] is the axis of its
 * dimension d. */
uint8_t draft_load(struct lowering *lowering, struct nest_draft *draft, mdf_lowered_id id, const uint8_t *axes);
/* The same of an element of view->id itself: from view->first on, with strides[d] along axes[d] for each d < rank, and
 * by the register view->at. */
uint8_t draft_load_elements(struct lowering *lowering, struct nest_draft *draft, const struct mdf_nest_view *view, size_t rank,
                            const uint8_t *axes, const int64_t *strides);
/* A constant array, whose dimension d goes along axes[d], converted from `from`; of one element; and 0, 1, ..., n - 1 along an
 * axis. */
uint8_t draft_constant(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, mdf_dtype from, const void *elements,
                       size_t rank, const int64_t *shape, const uint8_t *axes);
uint8_t draft_number(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, double real);
uint8_t draft_count(struct lowering *lowering, struct nest_draft *draft, mdf_dtype dtype, size_t n, uint8_t axis);
/* Of `op`, whose operands are given as registers, over the axes `of`. */
uint8_t draft_element(struct nest_draft *draft, const struct mdf_lowered_op *op, mdf_dtype result, const uint8_t *in,
                      unsigned of);
uint8_t draft_cast(struct nest_draft *draft, uint8_t in, mdf_dtype to);
/* What an operator makes of its result: mdf_lowered_casts_all. */
uint8_t draft_cast_by(struct nest_draft *draft, uint8_t in, mdf_dtype to, const struct mdf_operator *operator);
/* Of a function of elements.def, over the axes of its operands. */
struct mdf_element;
uint8_t draft_apply(struct lowering *lowering, struct nest_draft *draft, const struct mdf_element *element, const uint8_t *in);
uint8_t draft_fold(struct nest_draft *draft, enum mdf_nest_fold fold, uint8_t in, size_t n_axes, const uint8_t *axes,
                   unsigned lanes);
/* axes[d]: of dimension d of the value. */
void draft_store(struct lowering *lowering, struct nest_draft *draft, uint8_t in, mdf_lowered_id id, const uint8_t *axes);
/* The same of a part of view->id. */
void draft_store_elements(struct lowering *lowering, struct nest_draft *draft, uint8_t in, const struct mdf_nest_view *view,
                          size_t rank, const uint8_t *axes, const int64_t *strides);

/* Whether a step calls a function, or has a text that compilers may make no vectors of: one of two numbers that is chosen is none
 * such. */
bool draft_calls(const struct mdf_nest_step *step);
/* An element step as an op, with operands that are still to be said. */
struct mdf_lowered_op draft_op_of(const struct mdf_nest_step *step);
/* The axes of an operand's dimensions, which are aligned with the result's at the right; false: they do not broadcast. */
bool draft_align(const struct mdf_value *operand, const struct mdf_value *result, const uint8_t *axes, uint8_t *aligned);

/* lower_nest.c: the draft with its register `in` as a new value, axes[d] being that of dimension d of it, if on the examples that
 * gives `result`, bit by bit. NONE without a refusal: it does not. */
mdf_lowered_id lowering_add_nest(struct lowering *lowering, struct nest_draft *draft, uint8_t in, const struct mdf_value *result,
                                 const uint8_t *axes);

/* The same where the value lies as strides[d] along axes[d] say, d < rank. */
mdf_lowered_id lowering_add_nest_of(struct lowering *lowering, struct nest_draft *draft, uint8_t in,
                                    const struct mdf_value *result, size_t rank, const uint8_t *axes, const int64_t *strides);

/* The same of a row of `length` elements that no kernel makes: its example is what the nest gives. */
mdf_lowered_id lowering_add_computed_nest(struct lowering *lowering, struct nest_draft *draft, uint8_t in, size_t length,
                                          size_t rank, const uint8_t *axes, const int64_t *strides);

/* lower_gather_nd.c: the place among the first `depth` axes of a call's first input that its second says; the indices of one
 * element lie along `axes`. All but the first axis have from 2 to DRAFT_LONGEST_AXIS elements, or the draft fails. */
enum { DRAFT_LONGEST_AXIS = 1 << 16 };
struct trial;
uint8_t lowering_find_place(struct lowering *lowering, struct nest_draft *draft, const struct trial *trial, size_t depth,
                            const uint8_t *axes);

/* In some order of the axes. NULL: they have none in which each register has the outermost ones, it is too large, or memory ran
 * out. */
struct mdf_lowered_nest *draft_finish(struct lowering *lowering, const struct nest_draft *draft);
void draft_read(struct nest_draft *draft, const struct mdf_lowered_nest *nest);
/* Both in one, which runs where `a` stood; NULL: they do not share an index space, or `b` reads nothing that `a` makes where it
 * has to. */
struct mdf_lowered_nest *draft_merge(struct lowering *lowering, const struct mdf_lowered_nest *a,
                                     const struct mdf_lowered_nest *b, bool has_to_read);
/* Neighbouring axes that all views go through as one are made one. */
void draft_join_axes(struct mdf_lowered_nest *nest);

#endif
