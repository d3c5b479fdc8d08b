/* trace_choice.c - what a jump chooses from, once more (trace.h).
 *
 * Comes in: the two arms of a conditional jump. Goes out: the same in the new code; where the ways behind the jump meet, what one
 * of them wrote is copied to one slot. */
#include "mdf_c/code/operands.h"
#include "mdf_c/plan/traced/trace.h"

/* A slot that one of the arms of a choice writes, or both. */
struct written {
    size_t slot;
    bool by_first, by_second;
    mdf_operand before, joined; /* what it was; where the two meet */
};

struct choice {
    struct tracer *tracer;
    struct list written; /* struct written */
    bool is_second;
};

static bool note_arm(void *context, mdf_operand operand)
{
    struct choice *choice = context;
    size_t slot = MDF_OPERAND_INDEX(operand), *mark = &choice->tracer->marks[slot];
    struct written *written;

    if (*mark == 0) {
        const struct written fresh = {.slot = slot, .before = MDF_NO_OPERAND, .joined = MDF_NO_OPERAND};

        if (!list_add(choice->tracer->target.compiler, &choice->written, &fresh, sizeof fresh)) {
            return true;
        }
        *mark = choice->written.n;
    }
    written = (struct written *)choice->written.items + *mark - 1;
    written->by_first = written->by_first || !choice->is_second;
    written->by_second = written->by_second || choice->is_second;
    return false;
}

static struct written *written_at(const struct choice *choice, size_t i)
{
    return (struct written *)choice->written.items + i;
}

/* The slots that the arms write: a model has many choices, and each of few slots. */
static bool find_written(struct choice *choice, size_t at, size_t first_end, size_t second, size_t end)
{
    struct tracer *tracer = choice->tracer;

    for (size_t i = at + 1; i < first_end; i++) {
        mdf_any_written(unit_instruction(tracer->from, i), tracer->from->calls.items, note_arm, choice);
    }
    choice->is_second = true;
    for (size_t i = second; i < end; i++) {
        mdf_any_written(unit_instruction(tracer->from, i), tracer->from->calls.items, note_arm, choice);
    }
    for (size_t i = 0; i < choice->written.n; i++) {
        tracer->marks[written_at(choice, i)->slot] = 0;
    }
    return tracer->target.compiler->error->code == MDF_OK;
}

/* What each slot is before the choice. What holds the value of an earlier evaluation, and is kept by one arm, is that. */
static bool find_befores(const struct choice *choice)
{
    struct tracer *tracer = choice->tracer;

    for (size_t i = 0; i < choice->written.n; i++) {
        struct written *written = written_at(choice, i);
        mdf_operand slot = MDF_OPERAND(MDF_OPERAND_SLOT, written->slot);
        bool is_kept = written->by_first != written->by_second && tracer->now[written->slot] == TRACE_NOT_SEEN &&
                       tracer->read_before != NULL &&
                       (unit_flags(tracer->from, slot) & (OPERAND_MUTABLE | OPERAND_IS_VIEW)) == OPERAND_MUTABLE;

        if (is_kept && trace_operand(tracer, slot) == MDF_NO_OPERAND) {
            return false;
        }
        written->before = tracer->now[written->slot];
    }
    return true;
}

static bool make_joined(const struct choice *choice)
{
    struct tracer *tracer = choice->tracer;

    for (size_t i = 0; i < choice->written.n; i++) {
        struct written *written = written_at(choice, i);

        if (trace_is_clear(tracer->now[written->slot]) && (written->by_second || trace_is_clear(written->before))) {
            written->joined =
                unit_new_slot(&tracer->target, unit_flags(tracer->from, MDF_OPERAND(MDF_OPERAND_SLOT, written->slot)) &
                                                   (OPERAND_MAY_BE_LIST | OPERAND_IS_BOOL));
            if (written->joined == MDF_NO_OPERAND) {
                return false;
            }
        }
    }
    return true;
}

/* Behind one arm: what it wrote goes into the slots where the two meet. */
static bool join(const struct choice *choice)
{
    struct tracer *tracer = choice->tracer;

    for (size_t i = 0; i < choice->written.n; i++) {
        const struct written *written = written_at(choice, i);

        if (written->joined != MDF_NO_OPERAND &&
            !unit_emit(&tracer->target, MDF_OPCODE_COPY, written->joined, tracer->now[written->slot], 0)) {
            return false;
        }
    }
    return true;
}

/* Two arms, each with what the operands were before. */
bool trace_choice(struct tracer *tracer, size_t at, size_t first_end, size_t second, size_t end)
{
    struct mdf_instruction jump = *unit_instruction(tracer->from, at);
    struct choice choice = {.tracer = tracer};
    mdf_operand condition = trace_operand(tracer, jump.a);
    size_t to_second, to_end;

    if (condition == MDF_NO_OPERAND || !find_written(&choice, at, first_end, second, end) || !find_befores(&choice)) {
        return false;
    }
    to_second = unit_emit_jump(&tracer->target, (enum mdf_opcode)jump.opcode, condition);
    if (to_second == SIZE_MAX || !trace_range(tracer, at + 1, first_end) || !make_joined(&choice) || !join(&choice)) {
        return false;
    }
    to_end = unit_emit_jump(&tracer->target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return false;
    }
    unit_land(tracer->target.unit, to_second);
    for (size_t i = 0; i < choice.written.n; i++) {
        tracer->now[written_at(&choice, i)->slot] = written_at(&choice, i)->before;
    }
    if (!trace_range(tracer, second, end) || !join(&choice)) {
        return false;
    }
    unit_land(tracer->target.unit, to_end);
    for (size_t i = 0; i < choice.written.n; i++) {
        mdf_operand joined = written_at(&choice, i)->joined;

        tracer->now[written_at(&choice, i)->slot] = joined != MDF_NO_OPERAND ? joined : TRACE_NOT_CLEAR;
    }
    return true;
}
