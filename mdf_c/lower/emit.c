/* emit.c - see emit.h. No emitter is here for any platform yet: code stays NULL. */
#include "mdf_c/lower/emit.h"

void mdf_lowered_emit(struct mdf_lowered *lowered)
{
    lowered->code = NULL;
}

void mdf_lowered_unmap(struct mdf_lowered *lowered)
{
    lowered->code_memory = NULL;
}
