/* emit_x86_64_fused.c - see emit_x86_64.h. Ops of elements over arrays. */
#include "mdf_c/lower/emit_x86_64.h"
#include "mdf_c/lower/lowered_run.h"

#include <string.h>

void emission_fused(struct emission *emission, const struct mdf_lowered_op *op)
{
    int (*run)(struct mdf_lowered *, struct mdf_lowered_fused *) = mdf_lowered_run_fused;
    const struct mdf_lowered_fused *fused = op->of.fused;
    const void *address;
    size_t i, j;

    for (i = 0; i < fused->body.n_ops; i++) {
        for (j = 0; j < fused->body.ops[i].n_in; j++) {
            if (emission->lowered->values[fused->body.ops[i].in[j]].is_scalar) {
                emission_publish(emission, fused->body.ops[i].in[j]);
            }
        }
    }
    memcpy(&address, &run, sizeof address);
    assemble_move_number(emission->assembler, RDI, (uint64_t)(uintptr_t)emission->lowered);
    assemble_move_number(emission->assembler, RSI, (uint64_t)(uintptr_t)fused);
    emission_call_or_leave(emission, address);
    emission_restore(emission);
}
