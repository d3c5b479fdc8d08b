/* gradients.h - what the files with functions for derivatives share. */
#ifndef MDF_FUNCTIONS_PYTHON_GRADIENTS_H
#define MDF_FUNCTIONS_PYTHON_GRADIENTS_H

#include "functions/python/python_values.h"

/* Of each element of `a`, which is reduced along the axes in input number `input`, the number of its result, from 1 on, and in *n
 * how many of them there are; input `input` + 1: no axes are all. NULL: the error is set. */
const int64_t *gradient_numbers_of_results(struct mdf_call *call, const struct mdf_value *a, size_t input, size_t *n);

/* gradient_marks.c: the settings of gradient.mark_draws. */
struct mdf_gradient_mark {
    size_t n_streams; /* that functions draw from, at most */
};

#endif
