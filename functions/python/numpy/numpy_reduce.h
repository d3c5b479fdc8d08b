/* numpy_reduce.h - reducing an array along axes, for the reductions of numpy and what builds on them. */
#ifndef MDF_FUNCTIONS_NUMPY_REDUCE_H
#define MDF_FUNCTIONS_NUMPY_REDUCE_H

#include "functions/python/python_values.h"

/* What a reducer knows of the items it reduces, besides their type. */
struct mdf_reducing {
    size_t n;       /* items */
    size_t segment; /* items that are added pairwise; the sums of segments are added in order, as numpy does */
    void *room;     /* `n` items, for a reduction that needs it */
};

/* Reduces items of a carrier type to one result. */
typedef void (*mdf_reducer)(const struct mdf_reducing *reducing, const void *items, void *result);

/* In which type an array is reduced. Float16 and the like are carried as float32, whole numbers as 64-bit ones. */
enum mdf_reduction_types {
    MDF_REDUCED_SAME, /* its own */
    MDF_REDUCED_SUM,  /* whole numbers as int64 or uint64 */
    MDF_REDUCED_REAL  /* whole numbers as context->real */
};

struct mdf_reduction {
    enum mdf_reduction_types types;
    mdf_dtype result; /* MDF_DTYPE_NONE: the type in which it is reduced */
    mdf_reducer of_float32, of_float64, of_int64, of_uint64;
    bool needs_items; /* nothing can not be reduced */
    bool needs_room;
};

/* The type that carries elements of a type through a reduction; NONE for text and complex numbers. */
mdf_dtype mdf_numpy_carrier(mdf_dtype dtype);
/* The array as its carrier, brought to a type first. NULL: the error is set. Uses operand slot 0. */
const struct mdf_value *mdf_numpy_carried(struct mdf_call *call, const struct mdf_value *array, mdf_dtype dtype);

/* numpy lets a scalar have one axis, where it reduces. */
static inline bool mdf_numpy_is_only_axis(int64_t axis)
{
    return axis == 0 || axis == -1;
}

/* An array laid out as rows of the items to be reduced; see mdf_numpy_lay_out. */
struct mdf_rows {
    const void *items;
    size_t n_rows, n_items; /* of a row */
    size_t segment;
    size_t rank;
    const int64_t *shape; /* of the result, with axes kept as asked */
};

/* Lays an array out as rows: the items along `axis` (NULL: all axes) of each place of the other axes are adjacent. */
bool mdf_numpy_lay_out(struct mdf_call *call, const struct mdf_value *array, const struct mdf_value *axis, bool keeps_axes,
                       struct mdf_rows *rows);

#endif
