/* lowered_run.h - runs what mdf_lower made. */
#ifndef MDF_LOWERED_LOWERED_RUN_H
#define MDF_LOWERED_LOWERED_RUN_H

#include "mdf_c/lowered/lowered.h"

struct mdf_lowered_nest;

enum mdf_lowered_outcome {
    MDF_LOWERED_DONE,
    MDF_LOWERED_OTHER_FORM, /* an input has another form than when it was lowered */
    MDF_LOWERED_PAYS,       /* a loop runs so often that machine code, which there is none of yet, pays: it is to be made */
    MDF_LOWERED_BAILED_OUT  /* something came up that the lowered form does not cover, memory is refused, or the evaluation is
                         interrupted */
};

/* Runs it: takes the inputs from the frame, computes, and puts the outputs into the frame's slots. Unless DONE nothing has
 * changed that anybody looks at, and the instructions must be run as they stand. */
enum mdf_lowered_outcome mdf_lowered_run(struct mdf_lowered *lowered);
/* Slots that have looked at its memory since it ran get memory of their own, without allocating: the instructions can write there
 * again. */
void mdf_lowered_detach(struct mdf_lowered *lowered);

/* The plain form: runs a region op by op. False: bail out. */
bool mdf_lowered_run_region(struct mdf_lowered *lowered, const struct mdf_lowered_region *region);

/* One element op other than CAST, COPY, FUNCTION and ELEMENTS, on scalars: writes the result's cell. operands[i] is NULL past the
 * last. False: bail out. */
bool mdf_lowered_compute(enum mdf_lowered_code code, mdf_dtype dtype, const uint64_t *const operands[], uint64_t *result);
/* CAST of n elements. False: bail out. */
bool mdf_lowered_cast(mdf_dtype from, mdf_dtype to, const void *source, void *target, size_t n);
/* Whether a CAST of the model has a result for every number: where an operator keeps the elements and changes their type, or
 * makes what its function gives elements of another one. */
bool mdf_lowered_casts_all(const struct mdf_operator *operator);

/* For machine code, which does the rest itself; each returns 0, or 1 to bail out. */
int mdf_lowered_run_call(struct mdf_lowered *lowered, struct mdf_lowered_call *call);
/* --- lowered_draw.c: random numbers; not 0: bail out. */
int mdf_lowered_draw(struct mdf_lowered *lowered, const struct mdf_lowered_draw *draw);
/* A PUT op; not 0: bail out. */
int mdf_lowered_run_put(struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
/* A NEST op, tile by tile. */
int mdf_lowered_run_nest(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest);
/* Of a NEST with an open axis, before anything else: finds its extent, and makes what it stores along it. */
int mdf_lowered_open_nest(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest);
/* Its tiles, with the extents as they are. */
int mdf_lowered_run_tiles(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest);
/* Two loops at the same time, by their machine code. */
int mdf_lowered_run_concurrent(struct mdf_lowered *lowered, struct mdf_lowered_concurrent *concurrent);
/* Before the first run of a loop's body: room for `n_runs` items in its stacks (SIZE_MAX: for some), or for those that they are
 * padded to, and array states get memory of their own with the elements of their initial values. */
int mdf_lowered_begin_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs);
/* The products of the next block of runs, which begins with run number `run`; nothing where that is past the last. */
int mdf_lowered_multiply_ahead(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t run);
/* A product that is an op of the body. */
void mdf_lowered_multiply(struct mdf_lowered *lowered, const struct mdf_lowered_product *product);
/* Those of a loop that are computed behind its last run. */
void mdf_lowered_multiply_behind(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop);
/* Makes room for at least n_items, and some more, in all stacks of a loop whose number of runs is not known before. */
int mdf_lowered_grow_stacks(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_items);
/* After the last run: arrays[stack] are the first n_runs items, or padded. Bails out where there are stacks of none: their type
 * and shape are then what is declared, not what an item would have had. */
int mdf_lowered_end_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs);

/* Lets go of its memory. */
void mdf_lowered_release(struct mdf_lowered *lowered);

#endif
