/* lowered_reads.h - which values an op reads, and makes: one walk for all who ask; and what its code says of it. */
#ifndef MDF_LOWERED_LOWERED_READS_H
#define MDF_LOWERED_LOWERED_READS_H

#include "mdf_c/lowered/lowered.h"

/* `is_aliased`: the result may lie where `id` does, so that its memory is looked at later, too. */
typedef void (*mdf_lowered_read)(void *context, mdf_lowered_id id, bool is_aliased);

/* Calls `read` for each value that an op, or one inside it, reads; several times where it is read several times. */
void mdf_lowered_visit_reads(const struct mdf_lowered_op *op, mdf_lowered_read visitor, void *context);
bool mdf_lowered_reads(const struct mdf_lowered_op *op, mdf_lowered_id id);
/* How often each value is read, by ops and as an output; NULL: no memory. */
size_t *mdf_lowered_count_reads(const struct mdf_lowered *lowered, struct mdf_arena *arena);
/* How often an op reads a value that is marked. */
size_t mdf_lowered_count_marked(const struct mdf_lowered_op *op, const bool *marks);
/* An op, and what is inside it, reads `to` wherever it read `from`. */
void mdf_lowered_replace_reads(struct mdf_lowered_op *op, mdf_lowered_id from, mdf_lowered_id to);

/* Calls `result` for each value that can be seen behind an op because of it: of a LOOP also what its states are then. */
typedef void (*mdf_lowered_result)(void *context, mdf_lowered_id id);
void mdf_lowered_visit_results(const struct mdf_lowered_op *op, mdf_lowered_result visitor, void *context);
bool mdf_lowered_has_result(const struct mdf_lowered_op *op, mdf_lowered_id id);

/* Marks what an op makes; what op number `first` of a region makes, and all that depends on it in front of op number `end`. */
void mdf_lowered_mark_results(const struct mdf_lowered_op *op, bool *marks);
void mdf_lowered_mark_following(const struct mdf_lowered_region *region, size_t first, size_t end, bool *marks);

/* Whether an op of a code may bail out (lowered.h). */
bool mdf_lowered_may_bail_out(unsigned code);
/* Of a code whose result is exact or bails out, the one that wraps; any other code itself. */
enum mdf_lowered_code mdf_lowered_wrapping(unsigned code);

/* Numbers that one call of a function makes at most: ops that stand one behind the other (lower_beside.c) are one call in machine
 * code and C. Whether an op makes a real number by a function of one number, and whether two do so by the same one. */
enum { MDF_LOWERED_MOST_BESIDE = 8, MDF_LOWERED_FEWEST_BESIDE_BYTES = 32 /* in C, of their operands */ };
bool mdf_lowered_is_real_function(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
bool mdf_lowered_is_same_function(const struct mdf_lowered_op *a, const struct mdf_lowered_op *b);
/* How many of `n` ops, from the first on, make numbers by one function, each of what is there in front of the first. */
size_t mdf_lowered_count_beside(const struct mdf_lowered *lowered, const struct mdf_lowered_op *ops, size_t n);

/* The number of the op of a region itself that makes a value; SIZE_MAX: none does. */
size_t mdf_lowered_find_maker(const struct mdf_lowered_region *region, mdf_lowered_id id);
/* The same, states that loops leave and what branches merge into among the values. */
size_t mdf_lowered_find_op(const struct mdf_lowered_region *region, mdf_lowered_id id);
/* Whether a state of the loop is next that value. */
bool mdf_lowered_is_next(const struct mdf_lowered_loop *loop, mdf_lowered_id id);
/* The state that has a parameter; NULL: there is none. Whether there is one. */
const struct mdf_lowered_state *mdf_lowered_state_of(const struct mdf_lowered_loop *loop, mdf_lowered_id parameter);
bool mdf_lowered_is_state(const struct mdf_lowered_loop *loop, mdf_lowered_id id);
/* The op whose result is a value, in a region or in those within it; NULL: none has that result alone. */
const struct mdf_lowered_op *mdf_lowered_op_of(const struct mdf_lowered_region *region, mdf_lowered_id out);

/* Region number `i` inside an op, of an IF first the one that runs where the condition holds; NULL past the last. */
const struct mdf_lowered_region *mdf_lowered_inner(const struct mdf_lowered_op *op, size_t i);

#endif
