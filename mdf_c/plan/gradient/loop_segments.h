/* loop_segments.h - long Loops and Scans as loops of loops, where memory is bounded: what derives them keeps the states of the
 * outer ones, and those of one inner one at a time. With r levels n iterations are r loops of n^(1/r), which keep about r n^(1/r)
 * states and are run r - 1 times more: as binomial schedules (Griewank and Walther, Revolve, 2000) but for a factor that hangs on
 * r alone. */
#ifndef MDF_PLAN_GRADIENT_LOOP_SEGMENTS_H
#define MDF_PLAN_GRADIENT_LOOP_SEGMENTS_H

#include "mdf_c/plan/compiler.h"

/* The fewest levels, of 2 and more, by which n iterations, of which each leaves so many bytes to the next, keep no more than a
 * part of the bound. */
unsigned segments_levels(uint64_t n, double bytes, size_t bound_bytes);
/* Iterations of a segment of the outermost loop. */
uint64_t segments_size(uint64_t n, unsigned levels);
/* About how many bytes an operand's value takes; one number, where its shape is not known. */
double segments_bytes(const struct compiler *compiler, struct unit *unit, mdf_operand operand);

/* What a call is traced from. */
struct traced_call {
    struct unit *unit;
    const mdf_operand *inputs;
    const struct mdf_static_type *types; /* of the inputs */
    size_t bound_bytes;                  /* of the memory */
};

/* Emits a call; in segments, where it is a Loop of many iterations, or a Scan along first axes, which may be as long. A Loop of
 * which only a run tells how many they are is taken for one of very many, and may stack nothing. */
bool segments_emit_call(struct target *target, const struct mdf_code_call *call, const struct traced_call *traced);

#endif
