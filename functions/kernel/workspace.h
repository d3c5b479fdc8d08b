/* workspace.h - a call seen in one element type: inputs converted to it, outputs converted back, arrays for work.
 *
 * A kernel that computes in float32 or float64 serves all other types through this. Arrays are kept between runs of the
 * call: they are found again by the order in which the kernel asks for them, which must not depend on the inputs' values.
 * They live in scratch value 3 of the call. */
#ifndef MDF_FUNCTIONS_KERNEL_WORKSPACE_H
#define MDF_FUNCTIONS_KERNEL_WORKSPACE_H

#include "functions/kernel/operator.h"

enum { MDF_SCRATCH_WORKSPACE = 3, MDF_WORKSPACE_OUTPUTS = 5 };

struct mdf_workspace {
    struct mdf_call *call;
    mdf_dtype dtype; /* of the computation */
    struct mdf_value *slots;
    size_t n_slots, n_used;
    struct {
        size_t output;
        const void *elements; /* in `dtype`, to be converted to the output's type */
    } pending[MDF_WORKSPACE_OUTPUTS];
    size_t n_pending;
};

/* float64 for float64, else float32: the type in which reals (and integers of up to 16 bits) are computed with. */
mdf_dtype mdf_workspace_dtype(mdf_dtype dtype);

/* Starts a run of a kernel that will ask for up to `n_slots` arrays, inputs and outputs. False with the error set. */
bool mdf_workspace_begin(struct mdf_workspace *workspace, struct mdf_call *call, mdf_dtype dtype, size_t n_slots);
/* Elements of input `i` in the workspace's type; NULL with the error set. */
const void *mdf_workspace_input(struct mdf_workspace *workspace, size_t i);
/* Elements of output `i`, of type `dtype` to its readers, to be written in the workspace's type. NULL with the error set. */
void *mdf_workspace_output(struct mdf_workspace *workspace, size_t i, mdf_dtype dtype, size_t rank, const int64_t *shape);
/* The element type that is as large as a size_t or a pointer, for arrays of these. */
#define MDF_WORKSPACE_SIZES (sizeof(size_t) == sizeof(uint64_t) ? MDF_DTYPE_UINT64 : MDF_DTYPE_UINT32)
/* `n` elements to work with, not initialised; NULL with the error set. */
void *mdf_workspace_array(struct mdf_workspace *workspace, mdf_dtype dtype, size_t n);
/* The same as `rows` times `columns` elements. */
void *mdf_workspace_matrix(struct mdf_workspace *workspace, mdf_dtype dtype, size_t rows, size_t columns);
/* A value for a function that keeps its own array in it. NULL, with the error set, where there are none left. */
struct mdf_value *mdf_workspace_value(struct mdf_workspace *workspace);
/* Converts the outputs to their types; returns true, so that a kernel can end in it. */
bool mdf_workspace_end(struct mdf_workspace *workspace);

/* Product of the sizes of axes [first, last); false with the error set where it overflows. Negative sizes do not occur. */
bool mdf_workspace_product(struct mdf_call *call, const int64_t *shape, size_t first, size_t last, size_t *product);

/* An input that has to have a certain shape; `what` names it in the message ("B"). False with the error set. */
bool mdf_workspace_check_shape(struct mdf_call *call, const char *what, const struct mdf_value *value, size_t rank,
                               const int64_t *shape);

#endif
