/* slot_uses.h - when the nodes of a graph without conditions run, and by which names and edges the slots of its frame are looked
 * at. */
#ifndef MDF_RUN_SLOT_USES_H
#define MDF_RUN_SLOT_USES_H

#include "mdf_c/plan/program.h"

#define MDF_MANY_NODES SIZE_MAX

struct mdf_slot_uses {
    size_t *turns;    /* by node: when it runs in an evaluation */
    size_t *names;    /* by slot: the node that has it as one of its values, plus 1, or MDF_MANY_NODES; inputs aside */
    size_t *inputs;   /* by slot: the node that has it as an input port, plus 1, or MDF_MANY_NODES */
    bool *is_carried; /* by slot: an edge looks at it in evaluations, perhaps before its node has run */
};

/* False: memory ran out. */
bool mdf_slot_uses_find(const struct mdf_program *program, struct mdf_arena *arena, struct mdf_slot_uses *uses);

/* The last instruction of a node, where that is a call without bodies; NULL: it is none, or values arrive that are not kept. */
const struct mdf_code_call *mdf_node_last_call(const struct mdf_program *program, size_t node);
/* The same of a node that has no other instruction. */
const struct mdf_code_call *mdf_node_only_call(const struct mdf_program *program, size_t node);

static inline bool mdf_is_slot(mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT;
}

#endif
