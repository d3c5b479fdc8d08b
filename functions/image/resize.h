/* resize.h - what Resize and Upsample, of all versions, are to do: which places of its array each place of the result comes from.
 */
#ifndef MDF_FUNCTIONS_IMAGE_RESIZE_H
#define MDF_FUNCTIONS_IMAGE_RESIZE_H

#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

struct mdf_resize_settings {
    const char *mode, *nearest_mode, *coordinates, *keep_aspect;
    double cubic_coefficient, extrapolation_value, height_scale, width_scale;
    int64_t antialias, exclude_outside;
    struct mdf_ints axes;
    struct mdf_floats scales;
};

extern const struct mdf_setting mdf_resize_settings[], mdf_upsample_settings[];

enum mode { MODE_NEAREST, MODE_LINEAR, MODE_CUBIC };
enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_FOR_NEAREST
};
enum rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL, ROUND_SIMPLE /* up where it shrinks */ };

/* One axis: how it is scaled, and where each place of the output comes from. */
struct mdf_resized_axis {
    size_t n_in, n_out;
    double scale, roi_start, roi_end;
    bool is_same;     /* nothing happens to it */
    bool is_doubled;  /* of nearest: each place is taken twice */
    size_t n_taps;    /* of each place, not nearest */
    int64_t *sources; /* [n_out, n_taps]: the places in the input, those outside moved to its ends; of nearest [n_out] */
    double *weights;  /* [n_out, n_taps] */
    uint8_t *outside; /* of CROP_AND_RESIZE: places that get the extrapolation value; NULL: none */
};

struct mdf_resize {
    struct mdf_call *call;
    enum mode mode;
    enum coordinates coordinates;
    enum rounding rounding;
    double cubic_coefficient, extrapolation_value;
    bool antialias, exclude_outside;
    bool has_wide_region; /* of CROP_AND_RESIZE: in float64 */
    size_t rank;
    struct mdf_resized_axis *axes;
};

/* Reads what a call says, by version, and plans its axes: one of its old size, at a scale of 1 and without a region of its own,
 * is left alone. False with the error set. */
typedef bool mdf_resize_reader(struct mdf_call *call, struct mdf_workspace *workspace, struct mdf_resize *job);
mdf_resize_reader mdf_resize_read, mdf_resize_read_10, mdf_upsample_read_1;

/* The function of a plan (resize_axes_routine.inc) of so few elements that the kernel would take longer to plan its axes; NULL:
 * of more, or of other types. */
mdf_routine_function mdf_resize_function(const struct mdf_routine_plan *plan);

#endif
