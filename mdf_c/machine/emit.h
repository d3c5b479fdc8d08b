/* emit.h - machine code for a lowered region. */
#ifndef MDF_MACHINE_EMIT_H
#define MDF_MACHINE_EMIT_H

#include "mdf_c/lowered/lowered_run.h"

/* Sets lowered->code where the processor and the system are known and every op is covered; else leaves it NULL and says why not.
 * The memory of the code is never writable and executable at once. */
void mdf_lowered_emit(struct mdf_lowered *lowered);

/* mdf_lowered_run. Emits before it once all runs, with the one that comes, would have been cheaper with the code than it is to make,
 * or within it, once a loop has run so often; then it runs from the start. So whoever runs something once, and little of it, does
 * not wait for code. */
enum mdf_lowered_outcome mdf_lowered_run_in_time(struct mdf_lowered *lowered);
/* Emits what is not emitted yet, for those who look at it, whether it pays or not. */
void mdf_lowered_settle_code(struct mdf_lowered *lowered);

/* Whether machine code computes with several elements of a type at a time: nests of others are no faster than kernels. */
bool mdf_machine_has_vectors(mdf_dtype dtype);

/* What is in machine code, for those who look at it. */
struct mdf_machine_place {
    size_t offset;                   /* where it begins */
    const char *name;                /* of what is no op: "end if", ...; NULL: none */
    const struct mdf_lowered_op *op; /* NULL: none */
};

struct mdf_machine_listing {
    struct mdf_memory *memory;
    struct mdf_machine_place *places; /* in order */
    size_t n_places, capacity;
    uint8_t *bytes;
    size_t n_bytes;
    size_t *addresses; /* where the 8 bytes of each address of this process begin, in order */
    size_t n_addresses;
    size_t end; /* of the instructions: where the constants begin */
};

/* Emits the code once more, which nobody runs. False: there is no code for it, or memory ran out. Release it in either case. */
bool mdf_lowered_list_code(struct mdf_lowered *lowered, struct mdf_machine_listing *listing);
void mdf_machine_listing_release(struct mdf_machine_listing *listing);

#endif
