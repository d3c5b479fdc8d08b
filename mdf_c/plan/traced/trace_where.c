/* trace_where.c - what runs where a condition of a schedule holds, or does not run (trace.h).
 *
 * Comes in: a condition, and what traces the arm. Goes out: the arm behind a jump; what it has written, and what was there before
 * it, are copied to one slot where the two ways meet. */
#include "mdf_c/plan/traced/trace.h"

/* What held the slots of all frames. */
static mdf_operand **copy_frames(struct tracer *tracer)
{
    mdf_operand **copies = mdf_arena_array(&tracer->target.compiler->scratch, tracer->n_frames, sizeof *copies);
    size_t frame = tracer->frame;

    for (size_t i = 0; copies != NULL && i < tracer->n_frames; i++) {
        trace_enter(tracer, i);
        copies[i] = trace_copy_operands(tracer, tracer->now);
        copies = copies[i] != NULL ? copies : NULL;
    }
    trace_enter(tracer, frame);
    if (copies == NULL) {
        compile_out_of_memory(tracer->target.compiler);
    }
    return copies;
}

/* What held a slot that the arm has written or read, where the arm does not run. */
static bool find_before(struct tracer *tracer, size_t slot, mdf_operand *before)
{
    const bool *is_kept = tracer->frames[tracer->frame].is_kept;
    mdf_operand now = tracer->now[slot];

    if (*before == TRACE_NOT_SEEN && tracer->before[slot] == MDF_NO_OPERAND && is_kept != NULL && is_kept[slot]) {
        tracer->now[slot] = TRACE_NOT_SEEN;
        *before = trace_operand(tracer, MDF_OPERAND(MDF_OPERAND_SLOT, slot));
        tracer->now[slot] = now;
        return *before != MDF_NO_OPERAND;
    }
    *before = *before == TRACE_NOT_SEEN ? tracer->before[slot] : *before;
    return true;
}

/* One of the two values that meet in a slot. What is kept becomes a state of the loop around, and has one type. */
static bool meet(struct tracer *tracer, size_t slot, mdf_operand joined, mdf_operand value)
{
    const bool *is_kept = tracer->frames[tracer->frame].is_kept;
    unsigned flags = unit_flags(tracer->target.unit, joined) & (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL);

    return is_kept != NULL && is_kept[slot] && flags == 0
               ? unit_call_into(&tracer->target, mdf_operator_python(PYTHON_TYPED), &value, 1, joined) != MDF_NO_OPERAND
               : unit_emit(&tracer->target, MDF_OPCODE_COPY, joined, value, 0);
}

/* Slots of the frame that is entered. */
static bool join(struct tracer *tracer, mdf_operand *before, mdf_operand *joined)
{
    for (size_t i = 0; i < tracer->n_slots; i++) {
        joined[i] = MDF_NO_OPERAND;
        if (tracer->now[i] == before[i] || !trace_is_clear(tracer->now[i])) {
            continue;
        }
        if (!find_before(tracer, i, &before[i])) {
            return false;
        }
        if (!trace_is_clear(before[i]) || before[i] == tracer->now[i]) {
            continue;
        }
        joined[i] = unit_new_slot(&tracer->target, unit_flags(tracer->from, MDF_OPERAND(MDF_OPERAND_SLOT, i)) &
                                                       (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL));
        if (joined[i] == MDF_NO_OPERAND || !meet(tracer, i, joined[i], tracer->now[i])) {
            return false;
        }
    }
    return true;
}

/* The other arm, where nothing runs. */
static bool keep_before(struct tracer *tracer, const mdf_operand *before, const mdf_operand *joined)
{
    for (size_t i = 0; i < tracer->n_slots; i++) {
        if (joined[i] != MDF_NO_OPERAND && !meet(tracer, i, joined[i], before[i])) {
            return false;
        }
        tracer->now[i] = joined[i] != MDF_NO_OPERAND ? joined[i] : tracer->now[i] == before[i] ? before[i] : TRACE_NOT_CLEAR;
    }
    return true;
}

static bool for_frames(struct tracer *tracer, mdf_operand **before, mdf_operand **joined, bool is_arm)
{
    size_t frame = tracer->frame;
    bool done = true;

    for (size_t i = 0; done && i < tracer->n_frames; i++) {
        trace_enter(tracer, i);
        done = is_arm ? join(tracer, before[i], joined[i]) : keep_before(tracer, before[i], joined[i]);
    }
    trace_enter(tracer, frame);
    return done;
}

bool trace_where(struct tracer *tracer, mdf_operand condition, bool (*trace)(struct tracer *tracer, void *context), void *context)
{
    const struct mdf_value *known = condition != MDF_NO_OPERAND ? unit_constant(tracer->target.unit, condition) : NULL;
    mdf_operand **before, **joined;
    size_t to_else, to_end;

    if (condition == MDF_NO_OPERAND) {
        return false;
    }
    if (known != NULL) {
        return mdf_value_truth(known) != 1 || trace(tracer, context);
    }
    before = copy_frames(tracer);
    joined = copy_frames(tracer);
    to_else = unit_emit_jump(&tracer->target, MDF_OPCODE_JUMP_UNLESS, condition);
    if (before == NULL || joined == NULL || to_else == SIZE_MAX || !trace(tracer, context) ||
        !for_frames(tracer, before, joined, true)) {
        return false;
    }
    to_end = unit_emit_jump(&tracer->target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return false;
    }
    unit_land(tracer->target.unit, to_else);
    if (!for_frames(tracer, before, joined, false)) {
        return false;
    }
    unit_land(tracer->target.unit, to_end);
    return true;
}
