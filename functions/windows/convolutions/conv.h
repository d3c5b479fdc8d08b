/* conv.h - convolution of arrays of the workspace's type, for the operators that convolve. */
#ifndef MDF_FUNCTIONS_CONV_H
#define MDF_FUNCTIONS_CONV_H

#include "functions/windows/sliding.h"

struct mdf_conv_settings {
    struct mdf_window_settings window;
    int64_t group;
};

extern const struct mdf_setting mdf_conv_setting_table[];

/* What of a convolution is known from the shapes. */
struct mdf_conv_plan {
    struct mdf_windows windows;
    size_t n_batches, n_channels, n_groups, n_outputs;
    /* mdf_conv_read says that neither holds: */
    bool weights_are_constant; /* the same in each run of the call */
    bool is_output;            /* the result is output 0 of the call: an epilogue may be done with it */
};

/* Arrays of the workspace that the two functions below use. */
enum { MDF_CONV_ARRAYS = 9 };

/* Its meaning (struct mdf_meaning), whose result is the step "sum": products of weights and what the windows meet. */
#define MDF_CONV_STEPS(x, weights, bias, places)                                                                         \
    {"met", "gradient.take(" x ", " places ")", NULL},                                                                   \
        {"rows", "numpy.reshape(met, [met.shape[0], group, met.shape[1] // group * met.shape[2], met.shape[3]])", NULL}, \
        {"factors", "numpy.reshape(" weights ", [group, " weights ".shape[0] // group, rows.shape[2]])", NULL},          \
        {"products", "numpy.matmul(factors, rows)", NULL},                                                               \
    {                                                                                                                    \
        "sum",                                                                                                           \
            "numpy.reshape(products if " bias " is None else products + numpy.reshape(" bias                             \
            ", [group, factors.shape[1], 1]), y.shape)",                                                                 \
            NULL                                                                                                         \
    }

/* Reads shapes and attributes; windows.shape holds the shape of the result, of windows.rank + 2 axes. False with the error
 * set. `bias` may be NULL. */
bool mdf_conv_read(struct mdf_workspace *workspace, const struct mdf_conv_settings *settings, const struct mdf_value *x,
                   const struct mdf_value *weights, const struct mdf_value *bias, struct mdf_conv_plan *plan);
/* Whether each window is one element, and the windows are the array. */
bool mdf_conv_is_pointwise(const struct mdf_windows *windows);
/* Convolves; `bias` may be NULL. */
bool mdf_conv_run(struct mdf_workspace *workspace, const struct mdf_conv_plan *plan, const void *x, const void *weights,
                  const void *bias, void *y);

#endif
