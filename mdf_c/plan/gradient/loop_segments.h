/* loop_segments.h - long Loops and Scans of a model as loops of loops, where memory is bounded: what derives them keeps the states of the outer
 * one, and those of one inner one at a time. */
#ifndef MDF_PLAN_GRADIENT_LOOP_SEGMENTS_H
#define MDF_PLAN_GRADIENT_LOOP_SEGMENTS_H

#include "mdf_c/plan/compiler.h"

/* Emits a call; in segments, where it is a Loop of many iterations whose number is known and that does not end before, or
 * a Scan, along first axes, of as many. `types`: what is known of its inputs. */
bool segments_emit_call(struct target *target, const struct mdf_code_call *call, const struct mdf_static_type *types);

#endif
