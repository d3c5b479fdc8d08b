/* compose.h - for the files that make nests of several functions of elements for one call. */
#ifndef MDF_LOWER_COMPOSE_H
#define MDF_LOWER_COMPOSE_H

#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/element.h"

/* A nest in the making; most go over the dimensions of one result. */
struct composing {
    struct lowering *lowering;
    const struct trial *trial;
    const struct mdf_value *result;
    struct nest_draft *draft;
    uint8_t axes[MDF_INLINE_RANK]; /* of the result's dimensions */
};

/* A function of registers; the third operand only SELECT has (compose_select). */
uint8_t compose_apply(struct composing *composing, const struct mdf_element *element, uint8_t a, uint8_t b);
uint8_t compose_select(struct composing *composing, uint8_t condition, uint8_t then, uint8_t otherwise);
uint8_t compose_cast(struct composing *composing, uint8_t in, mdf_dtype to);
/* An input, which broadcasts to the result, in a type. */
uint8_t compose_load(struct composing *composing, size_t i, mdf_dtype dtype);
/* A number in a type. */
uint8_t compose_number(struct composing *composing, mdf_dtype dtype, double real);
/* A constant array, whose dimension d goes along axes[d], converted from `from`; a row, along one axis. */
uint8_t compose_array(struct composing *composing, mdf_dtype dtype, mdf_dtype from, const void *elements, size_t rank,
                      const int64_t *shape, const uint8_t *axes);
uint8_t compose_row(struct composing *composing, mdf_dtype dtype, mdf_dtype from, const void *elements, size_t n, uint8_t axis);
/* An axis for each dimension of the result. */
void compose_axes(struct composing *composing);

/* lower_features.c: whether a form is one of those of rows of features or of indices; the result, or NONE: it is not made of a
 * nest. */
bool compose_has_features(enum mdf_form form);
mdf_lowered_id compose_features(struct composing *composing);
/* lower_interpolate.c: the register of the result; the draft has failed where it is not made of a nest. */
uint8_t compose_interpolation(struct composing *composing);
/* lower_norms.c: the same of arrays that are normalised; NONE: it is not made of a nest. */
bool compose_has_norm(enum mdf_form form);
mdf_lowered_id compose_norm(struct composing *composing);
/* lower_pools.c: the same of pools. */
bool compose_has_pool(enum mdf_form form);
mdf_lowered_id compose_pool(struct composing *composing);
/* lower_convolution.c: the same of convolutions. */
mdf_lowered_id compose_convolution(struct composing *composing);

/* Windows over the spatial dimensions, those from 2 on, of input 0. */
struct compose_windows {
    struct composing *composing;
    size_t rank;                           /* spatial dimensions */
    const int64_t *numbers;                /* of these, as plans have them (functions/windows/taps_routine.inc) */
    mdf_lowered_id met;                    /* the array that they go over */
    int64_t sizes[MDF_INLINE_RANK];        /* of its dimensions */
    uint8_t taps[MDF_INLINE_RANK], n_taps; /* axes of a window that have more than one index */
};

/* lower_pools.c: the array that windows go over, with the padding where they reach into it: laid out by nests of its own. False:
 * there is too much of that. Then the element that each tap meets: along[i] is the axis of spatial dimension i of the windows,
 * and from one index to the next of the axes `outer` there are so many planes. */
bool compose_surround(struct compose_windows *windows, double padding);
uint8_t compose_meet(struct compose_windows *windows, size_t n_outer, const uint8_t *outer, const int64_t *planes,
                     const uint8_t *along);

#endif
