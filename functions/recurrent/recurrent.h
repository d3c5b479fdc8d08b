/* recurrent.h - what the kernel of recurrent networks (recurrent.c) and their function in loops (recurrent_function.c) share. */
#ifndef MDF_RECURRENT_H
#define MDF_RECURRENT_H

#include "functions/elements/element.h"
#include "functions/kernel/call.h"
#include "functions/kernel/routine.h"

struct activation {
    const struct mdf_element *element;
    const struct mdf_operation *operation;
    struct mdf_element_settings settings;
    size_t n_parameters; /* alpha; alpha and beta */
};

/* The activation of each of n elements, in place. */
static inline void mdf_activate_row(const struct activation *activation, mdf_dtype dtype, size_t n, void *x)
{
    activation->operation->loops[dtype](x, (const void *[]){x}, (const size_t[]){1}, n, &activation->settings);
}

/* The function of a small network in a loop; NULL: its kernel is as fast. What it keeps, activations and the weights that are
 * transposed once, takes so many bytes. */
mdf_routine_function mdf_recurrent_function(const struct mdf_routine_plan *plan);
size_t mdf_recurrent_kept_bytes(const struct mdf_call *call);
void mdf_recurrent_prepare(const struct mdf_call *call, const struct mdf_routine_plan *plan, void *memory);

#endif
