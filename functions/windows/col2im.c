/* col2im.c - blocks of columns put back into images, added where they overlap: Col2Im.
 *
 * Comes in: [batch, channels * taps of a block, blocks], the sizes of the image and of a block. Goes out: [batch, channels,
 * image...]. Integers are added in 64 bits, of which the type keeps the low ones. Source: ONNX Col2Im 18. */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <string.h>

struct col2im_settings {
    struct mdf_ints strides, pads, dilations;
};

static const struct mdf_setting col2im_table[] = {{"strides", MDF_SETTING_INTS, offsetof(struct col2im_settings, strides)},
                                                  {"pads", MDF_SETTING_INTS, offsetof(struct col2im_settings, pads)},
                                                  {"dilations", MDF_SETTING_INTS, offsetof(struct col2im_settings, dilations)},
                                                  {NULL, MDF_SETTING_INT, 0}};

struct image_axis {
    int64_t image, block, windows, stride, dilation, pad_begin;
};

struct columns {
    const void *x;
    void *y;
    size_t rank, n_taps, n_windows, n_image;
    const struct image_axis *axes;
    const struct image_axis *down, *across; /* the last two */
    const struct mdf_vector_rows *vectors;  /* of float32 and float64; NULL: of another type */
};

/* What a line has before its only axis. */
static const struct image_axis one_row = {1, 1, 1, 1, 1, 0};

/* A step or padding beyond this can not be meant, and sums of several still fit. */
static const int64_t largest_size = (int64_t)1 << 40;

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 1;

/* Windows [first, last) of an axis of which one tap falls into the image, that of window 0 on place `at`. */
struct run {
    int64_t at, first, last;
};

static struct run find_run(const struct image_axis *axis, size_t tap)
{
    struct run run = {(int64_t)tap * axis->dilation - axis->pad_begin, 0, 0};

    run.first = run.at < 0 ? (-run.at + axis->stride - 1) / axis->stride : 0;
    run.last = run.at < axis->image ? (axis->image - 1 - run.at) / axis->stride + 1 : 0;
    run.last = run.last < axis->windows ? run.last : axis->windows;
    return run;
}

/* Where on the first `n_axes` axes windows number `outer` of tap `tap` (both of those axes) fall; false: in the padding. */
static bool find_place(const struct columns *job, size_t n_axes, size_t tap, size_t outer, int64_t *place)
{
    int64_t stride = 1;

    *place = 0;
    for (size_t i = n_axes; i-- > 0;) {
        const struct image_axis *axis = &job->axes[i];
        int64_t at = (int64_t)(outer % (size_t)axis->windows) * axis->stride +
                     (int64_t)(tap % (size_t)axis->block) * axis->dilation - axis->pad_begin;

        if (at < 0 || at >= axis->image) {
            return false;
        }
        *place += at * stride;
        stride *= axis->image;
        outer /= (size_t)axis->windows;
        tap /= (size_t)axis->block;
    }
    return true;
}

#define TEMPLATE "functions/windows/col2im_add.inc"
#include "functions/kernel/of_reals.inc"
#define ELEMENT uint64_t
#define NAME(x) x##_integer
#include "functions/windows/col2im_add.inc"
#define ELEMENT float _Complex
#define NAME(x) x##_complex64
#include "functions/windows/col2im_add.inc"
#define ELEMENT double _Complex
#define NAME(x) x##_complex128
#include "functions/windows/col2im_add.inc"

/* The type that elements are added in, and what adds them. */
static void (*choose_sum(mdf_dtype dtype, mdf_dtype *carrier))(void *job, size_t first, size_t last)
{
    char kind = mdf_dtype_kind(dtype);

    *carrier = kind == 'c' ? dtype : kind == 'f' ? mdf_workspace_dtype(dtype) : MDF_DTYPE_UINT64;
    return *carrier == MDF_DTYPE_COMPLEX64    ? add_planes_complex64
           : *carrier == MDF_DTYPE_COMPLEX128 ? add_planes_complex128
           : *carrier == MDF_DTYPE_FLOAT32    ? add_planes_float32
           : *carrier == MDF_DTYPE_FLOAT64    ? add_planes_float64
                                              : add_planes_integer;
}

/* Number `i` of an attribute of `n` numbers; `otherwise` where it is not given. False where it is out of range. */
static bool read_number(struct mdf_call *call, const struct mdf_ints *attribute, size_t i, size_t n, int64_t least,
                        int64_t otherwise, int64_t *number)
{
    *number = attribute->items == NULL ? otherwise : i < attribute->n ? attribute->items[i] : -1;
    if ((attribute->items != NULL && attribute->n != n) || *number < least || *number > largest_size) {
        return mdf_call_error(call, MDF_VALUE,
                              "an attribute has %zu numbers, one of them %lld; there must be %zu, none less than %lld",
                              attribute->n, (long long)*number, n, (long long)least);
    }
    return true;
}

static bool read_axis(struct mdf_call *call, size_t i, size_t rank, int64_t image, int64_t block, struct image_axis *axis)
{
    const struct col2im_settings *settings = call->settings;
    int64_t pad_end, room;

    if (!read_number(call, &settings->strides, i, rank, 1, 1, &axis->stride) ||
        !read_number(call, &settings->dilations, i, rank, 1, 1, &axis->dilation) ||
        !read_number(call, &settings->pads, i, 2 * rank, 0, 0, &axis->pad_begin) ||
        !read_number(call, &settings->pads, rank + i, 2 * rank, 0, 0, &pad_end)) {
        return false;
    }
    axis->image = image;
    axis->block = block;
    if (image < 1 || block < 1 || image > largest_size || block > largest_size / axis->dilation) {
        return mdf_call_error(call, MDF_VALUE, "axis %zu of the image has size %lld, and blocks %lld", i, (long long)image,
                              (long long)block);
    }
    room = image + axis->pad_begin + pad_end - axis->dilation * (block - 1) - 1;
    axis->windows = room < 0 ? 0 : room / axis->stride + 1;
    return true;
}

/* Sizes of the axes, and the shape of the result. */
static bool lay_out(struct mdf_workspace *workspace, const struct mdf_value *x, struct columns *job, int64_t **shape)
{
    struct mdf_call *call = workspace->call;
    size_t n_blocks;
    const int64_t *image = mdf_call_integers(call, 1, 1, &job->rank), *block;
    struct image_axis *axes;
    bool fits = true;

    block = image == NULL ? NULL : mdf_call_integers(call, 2, 2, &n_blocks);
    if (block == NULL) {
        return false;
    }
    if (x->rank != 3 || job->rank == 0 || n_blocks != job->rank) {
        return mdf_call_error(call, MDF_SHAPE, "the input has rank %u, image_shape %zu and block_shape %zu numbers", x->rank,
                              job->rank, n_blocks);
    }
    axes = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, job->rank, sizeof *axes / sizeof(int64_t));
    *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, job->rank + 2);
    if (axes == NULL || *shape == NULL) {
        return false;
    }
    job->axes = axes;
    job->down = job->rank > 1 ? &axes[job->rank - 2] : &one_row;
    job->across = &axes[job->rank - 1];
    job->n_taps = job->n_windows = 1;
    for (size_t i = 0; i < job->rank; i++) {
        if (!read_axis(call, i, job->rank, image[i], block[i], &axes[i])) {
            return false;
        }
        (*shape)[i + 2] = image[i];
        fits = fits && mdf_size_multiply(job->n_taps, (size_t)block[i], &job->n_taps) &&
               mdf_size_multiply(job->n_windows, (size_t)axes[i].windows, &job->n_windows);
    }
    if (!fits || mdf_value_shape(x)[1] % (int64_t)job->n_taps != 0 || mdf_value_shape(x)[2] != (int64_t)job->n_windows) {
        return mdf_call_error(call, MDF_SHAPE,
                              "the input has %lld columns of %lld elements; %zu windows, and blocks of %zu are needed",
                              (long long)mdf_value_shape(x)[2], (long long)mdf_value_shape(x)[1], job->n_windows, job->n_taps);
    }
    (*shape)[0] = mdf_value_shape(x)[0];
    (*shape)[1] = mdf_value_shape(x)[1] / (int64_t)job->n_taps;
    return mdf_workspace_product(call, *shape, 2, job->rank + 2, &job->n_image);
}

static bool col2im(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    mdf_dtype dtype = x != NULL ? (mdf_dtype)x->dtype : MDF_DTYPE_NONE;
    void (*add)(void *job, size_t first, size_t last);
    struct mdf_workspace workspace;
    struct columns job = {0};
    int64_t *shape = NULL;
    mdf_dtype carrier;

    if (x == NULL) {
        return false;
    }
    if (dtype == MDF_DTYPE_STRING) {
        return mdf_call_error(call, MDF_TYPE, "strings can not be added");
    }
    add = choose_sum(dtype, &carrier);
    if (!mdf_workspace_begin(&workspace, call, carrier, 4) || !lay_out(&workspace, x, &job, &shape)) {
        return false;
    }
    job.vectors = mdf_dtype_is_real(carrier) ? mdf_vector_rows(carrier) : NULL;
    job.x = mdf_workspace_input(&workspace, 0);
    job.y = job.x == NULL ? NULL : mdf_workspace_output(&workspace, 0, dtype, job.rank + 2, shape);
    if (job.y == NULL) {
        return false;
    }
    if (x->length == 0) {
        size_t n_bytes = job.n_image * (size_t)shape[0] * (size_t)shape[1] * mdf_dtype_size(workspace.dtype);

        memset(job.y, 0, n_bytes);
        return mdf_workspace_end(&workspace);
    }
    mdf_parallel_for(call->context, (size_t)shape[0] * (size_t)shape[1], element_ns * (double)job.n_taps * (double)job.n_windows,
                     add, &job);
    return mdf_workspace_end(&workspace);
}

/* As plain C: col2im_routine.inc. */
static bool plan_routine(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    enum { HEAD = 5, PER_AXIS = 6 };
    const struct mdf_value *x = call->inputs[0];
    char kind = mdf_dtype_kind(plan->dtype = (mdf_dtype)x->dtype);
    struct mdf_workspace workspace;
    struct columns job = {0};
    int64_t *shape;

    plan->function = "col2im";
    if (!mdf_call_is_constant(call, 1) || !mdf_call_is_constant(call, 2) || x->length == 0 ||
        (!mdf_dtype_is_real(plan->dtype) && kind != 'i' && kind != 'u') ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 4) || !lay_out(&workspace, x, &job, &shape) ||
        !mdf_routine_room(plan, HEAD + PER_AXIS * job.rank, 0)) {
        return false;
    }
    memcpy(plan->whole,
           (const int64_t[HEAD]){shape[0] * shape[1], (int64_t)job.n_image, (int64_t)job.n_taps, (int64_t)job.n_windows,
                                 (int64_t)job.rank},
           HEAD * sizeof *plan->whole);
    for (size_t i = 0; i < job.rank; i++) {
        const struct image_axis *axis = &job.axes[i];

        memcpy(plan->whole + HEAD + PER_AXIS * i,
               (const int64_t[PER_AXIS]){axis->image, axis->block, axis->windows, axis->stride, axis->dilation, axis->pad_begin},
               PER_AXIS * sizeof *plan->whole);
    }
    return true;
}

/* ------------------------------------------------------------------ what derivatives are made of */

/* Numbers of the elements of images that columns are added to, [batch, channels * taps, blocks]; 0: none. */
static bool find_places(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    struct columns job = {0};
    int64_t *shape = NULL, *places;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 4) || !lay_out(&workspace, x, &job, &shape)) {
        return false;
    }
    places = mdf_call_output(call, 0, MDF_DTYPE_INT64, 3, mdf_value_shape(x));
    for (size_t i = 0; places != NULL && i < x->length; i++) {
        size_t plane = i / job.n_windows / job.n_taps;
        int64_t place;

        places[i] = find_place(&job, job.rank, i / job.n_windows % job.n_taps, i % job.n_windows, &place)
                        ? (int64_t)(plane * job.n_image) + place + 1
                        : 0;
    }
    return places != NULL;
}

static const struct mdf_operator places = {
    "Col2Im.places", 0, 0, find_places, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat,
    .by_form = 1};

const struct mdf_operator mdf_operators_col2im[] = {
    {"Col2Im", 18, 99, col2im, col2im_table, sizeof(struct col2im_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("image", &places, {"image", "gradient.send_back(x0, places(x0, x1, x2), y)", NULL}),
     .routine = MDF_ROUTINE(plan_routine, NULL), .infer = &mdf_rule_col2im},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
