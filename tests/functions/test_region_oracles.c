/* test_region_oracles.c - operators that read images between elements or by regions, against their definitions: deformable
 * convolution, pools over regions, boxes that stay, images put together. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CASES = 150 };

/* ------------------------------------------------------------------ DeformConv */

/* Sizes along the two axes. */
struct deform {
    struct kernel_call call;
    const struct mdf_value *x, *w, *offset, *bias, *mask;
    int64_t n_groups, n_offset_groups, array[2], kernel[2], stride[2], dilation[2], pads[4], windows[2];
};

static double number_at(const struct mdf_value *array, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return kernel_number(array, kernel_place(4, mdf_value_shape(array), (const int64_t[4]){a, b, c, d}));
}

/* The image between its elements: each counts by its distance along both axes, where that is less than 1. */
static double between(const struct mdf_value *x, int64_t member, int64_t channel, double down, double across)
{
    double sum = 0;

    for (int64_t i = 0; i < mdf_value_shape(x)[2]; i++) {
        for (int64_t j = 0; j < mdf_value_shape(x)[3]; j++) {
            double weight = fmax(1 - fabs(down - (double)i), 0) * fmax(1 - fabs(across - (double)j), 0);

            sum += weight > 0 ? weight * number_at(x, member, channel, i, j) : 0;
        }
    }
    return sum;
}

/* One element of the result. */
static double deformed(const struct deform *d, int64_t member, int64_t output, const int64_t *window)
{
    int64_t n_channels = mdf_value_shape(d->x)[1], group_channels = mdf_value_shape(d->w)[1];
    int64_t group = output / (mdf_value_shape(d->w)[0] / d->n_groups), n_taps = d->kernel[0] * d->kernel[1];
    double sum = d->bias != NULL ? kernel_number(d->bias, (size_t)output) : 0;

    for (int64_t c = 0; c < group_channels; c++) {
        int64_t channel = group * group_channels + c, offset_group = channel / (n_channels / d->n_offset_groups);

        for (int64_t tap = 0; tap < n_taps; tap++) {
            int64_t place[2] = {tap / d->kernel[1], tap % d->kernel[1]}, part = offset_group * n_taps + tap;
            double at[2], mask = d->mask != NULL ? number_at(d->mask, member, part, window[0], window[1]) : 1;

            for (int k = 0; k < 2; k++) {
                at[k] = (double)(window[k] * d->stride[k] - d->pads[k] + place[k] * d->dilation[k]) +
                        number_at(d->offset, member, 2 * part + k, window[0], window[1]);
            }
            sum += number_at(d->w, output, c, place[0], place[1]) * mask * between(d->x, member, channel, at[0], at[1]);
        }
    }
    return sum;
}

static void begin_deform(struct deform *d, mdf_dtype dtype, bool is_wild, bool is_large)
{
    int64_t group_channels = kernel_pick(1, 3), n_members = kernel_pick(1, 2), n_outputs, n_channels, n_taps;

    d->n_groups = kernel_pick(1, 2);
    n_channels = d->n_groups * group_channels;
    n_outputs = d->n_groups * kernel_pick(1, 3);
    d->n_offset_groups = kernel_pick(0, 1) == 0 ? 1 : n_channels;
    for (int k = 0; k < 2; k++) {
        d->kernel[k] = kernel_pick(1, 3);
        d->stride[k] = kernel_pick(1, 2);
        d->dilation[k] = kernel_pick(1, 2);
        d->pads[k] = kernel_pick(0, 2);
        d->pads[k + 2] = kernel_pick(0, 2);
        d->array[k] = d->dilation[k] * (d->kernel[k] - 1) + kernel_pick(1, is_large ? 30 : 6);
        d->windows[k] = (d->array[k] + d->pads[k] + d->pads[k + 2] - d->dilation[k] * (d->kernel[k] - 1) - 1) / d->stride[k] + 1;
    }
    n_taps = d->kernel[0] * d->kernel[1];
    kernel_begin(&d->call, "DeformConv", 22);
    kernel_set_int(&d->call, "group", d->n_groups);
    kernel_set_int(&d->call, "offset_group", d->n_offset_groups);
    kernel_set_ints(&d->call, "strides", d->stride, 2);
    kernel_set_ints(&d->call, "dilations", d->dilation, 2);
    kernel_set_ints(&d->call, "pads", d->pads, 4);
    d->x = kernel_add(&d->call, dtype, 4, (int64_t[]){n_members, n_channels, d->array[0], d->array[1]},
                      is_wild ? NUMBERS_WILD : NUMBERS_SHORT, false);
    d->w = kernel_add(&d->call, dtype, 4, (int64_t[]){n_outputs, group_channels, d->kernel[0], d->kernel[1]}, NUMBERS_SHORT,
                      kernel_pick(0, 1) == 1);
    d->offset =
        kernel_add(&d->call, dtype, 4, (int64_t[]){n_members, d->n_offset_groups * n_taps * 2, d->windows[0], d->windows[1]},
                   NUMBERS_SHORT, false);
    d->bias = d->mask = NULL;
    if (kernel_pick(0, 1) == 0) {
        d->bias = kernel_add(&d->call, dtype, 1, &n_outputs, NUMBERS_SHORT, false);
    } else {
        kernel_omit(&d->call);
    }
    if (kernel_pick(0, 1) == 0) {
        d->mask =
            kernel_add(&d->call, dtype, 4, (int64_t[]){n_members, d->n_offset_groups * n_taps, d->windows[0], d->windows[1]},
                       NUMBERS_SHORT, false);
    }
}

static void check_deform(mdf_dtype dtype, double tolerance, bool is_wild, bool is_large)
{
    struct deform d;
    int64_t index[4];

    begin_deform(&d, dtype, is_wild, is_large);
    for (size_t i = 0; dtype == MDF_DTYPE_FLOAT32 && i < d.offset->length; i++) { /* up to 4 elements away */
        ((float *)d.offset->data)[i] *= (float)kernel_pick(1, 4);
    }
    kernel_run(&d.call);
    kernel_check_shape(&d.call, 0, 4, (int64_t[]){mdf_value_shape(d.x)[0], mdf_value_shape(d.w)[0], d.windows[0], d.windows[1]});
    for (size_t i = 0; i < d.call.outputs[0].length; i += is_large ? 7 : 1) {
        kernel_index(4, mdf_value_shape(&d.call.outputs[0]), i, index);
        kernel_check(&d.call, 0, i, deformed(&d, index[0], index[1], index + 2), tolerance);
    }
    kernel_end(&d.call);
}

/* In float32 weights, elements between others, and sums of up to 27 products of numbers up to 1 are rounded. */
Test(region_oracles, deformable_convolution)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_deform(MDF_DTYPE_FLOAT32, 1e-5, false, i % 20 == 0);
        check_deform(MDF_DTYPE_FLOAT64, 1e-13, false, false);
        check_deform(MDF_DTYPE_FLOAT32, 1e-5, true, false);
    }
}

/* ------------------------------------------------------------------ RoiAlign */

struct align {
    struct kernel_call call;
    const struct mdf_value *x, *rois;
    double scale, ratio;
    bool use_max, half_pixel;
    int64_t shape[4], cells[2];
    int64_t batches[6];
};

/* The sum, or the largest, of the parts of the four elements around a point. */
static double point_of(const struct align *align, int64_t batch, int64_t channel, const double *point)
{
    double result = 0, at[2];

    for (int k = 0; k < 2; k++) {
        if (!(point[k] >= -1 && point[k] <= (double)align->shape[2 + k])) {
            return 0;
        }
        at[k] = fmin(fmax(point[k], 0), (double)align->shape[2 + k] - 1);
    }
    for (int corner = 0; corner < 4; corner++) {
        double part = 1;
        int64_t place[2];

        for (int k = 0; k < 2; k++) {
            double low = floor(at[k]);
            bool is_high = (corner >> k & 1) == 1;

            part *= is_high ? at[k] - low : 1 - (at[k] - low);
            place[k] = (int64_t)fmin(low + is_high, (double)align->shape[2 + k] - 1);
        }
        part *= number_at(align->x, batch, channel, place[0], place[1]);
        result = !align->use_max ? result + part : corner == 0 || part > result ? part : result;
    }
    return result;
}

static double cell_of(const struct align *align, const int64_t *index)
{
    double begin[2], cell[2], n[2], result = 0, point[2];

    for (int k = 0; k < 2; k++) { /* regions give x before y */
        double low = kernel_number(align->rois, (size_t)(4 * index[0] + 1 - k)) * align->scale;
        double high = kernel_number(align->rois, (size_t)(4 * index[0] + 3 - k)) * align->scale;

        begin[k] = low - (align->half_pixel ? 0.5 : 0);
        cell[k] = (align->half_pixel ? high - low : fmax(high - low, 1)) / (double)align->cells[k];
        n[k] = align->ratio > 0 ? align->ratio : fmax(ceil(cell[k]), 0);
    }
    for (double i = 0; i < n[0]; i++) {
        for (double j = 0; j < n[1]; j++) {
            double value;

            point[0] = begin[0] + (double)index[2] * cell[0] + (i + 0.5) * cell[0] / n[0];
            point[1] = begin[1] + (double)index[3] * cell[1] + (j + 0.5) * cell[1] / n[1];
            value = point_of(align, align->batches[index[0]], index[1], point);
            result = !align->use_max ? result + value : (i < 1 && j < 1) || value > result ? value : result;
        }
    }
    return align->use_max ? result : result / fmax(n[0] * n[1], 1);
}

static void check_align(mdf_dtype dtype, double tolerance, bool is_large)
{
    int64_t n_rois = is_large ? 6 : kernel_pick(0, 4), index[4];
    struct mdf_value *rois;
    struct align align = {.scale = kernel_pick(0, 1) == 0 ? 1 : 0.5, .ratio = (double)kernel_pick(0, 3)};

    align.use_max = kernel_pick(0, 1) == 1;
    align.half_pixel = kernel_pick(0, 1) == 1;
    memcpy(align.shape, (int64_t[]){kernel_pick(1, 2), is_large ? 40 : kernel_pick(1, 3), kernel_pick(1, 9), kernel_pick(1, 9)},
           sizeof align.shape);
    align.cells[0] = kernel_pick(1, is_large ? 7 : 3);
    align.cells[1] = kernel_pick(1, is_large ? 7 : 3);
    kernel_begin(&align.call, "RoiAlign", 16);
    kernel_set_int(&align.call, "output_height", align.cells[0]);
    kernel_set_int(&align.call, "output_width", align.cells[1]);
    kernel_set_int(&align.call, "sampling_ratio", (int64_t)align.ratio);
    *(double *)kernel_field(&align.call, "spatial_scale") = align.scale;
    kernel_set_text(&align.call, "mode", align.use_max ? "max" : "avg");
    kernel_set_text(&align.call, "coordinate_transformation_mode", align.half_pixel ? "half_pixel" : "output_half_pixel");
    align.x = kernel_add(&align.call, dtype, 4, align.shape, NUMBERS_SHORT, false);
    align.rois = rois = kernel_add(&align.call, dtype, 2, (int64_t[]){n_rois, 4}, NUMBERS_SHORT, false);
    for (size_t i = 0; i < rois->length; i++) {
        double corner = (double)kernel_pick(-16, 160) / 8;

        mdf_convert_elements(dtype, (char *)rois->data + i * mdf_dtype_size(dtype), MDF_DTYPE_FLOAT64, &corner, 1, false);
    }
    for (int64_t i = 0; i < n_rois; i++) {
        align.batches[i] = kernel_pick(0, align.shape[0] - 1);
    }
    kernel_add_integers(&align.call, align.batches, (size_t)n_rois);
    kernel_run(&align.call);
    kernel_check_shape(&align.call, 0, 4, (int64_t[]){n_rois, align.shape[1], align.cells[0], align.cells[1]});
    for (size_t i = 0; i < align.call.outputs[0].length; i++) {
        kernel_index(4, mdf_value_shape(&align.call.outputs[0]), i, index);
        kernel_check(&align.call, 0, i, cell_of(&align, index), tolerance);
    }
    kernel_end(&align.call);
}

/* Computed in float64, here in another order; the result is in the elements' type. */
Test(region_oracles, aligned_regions)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_align(MDF_DTYPE_FLOAT32, 1e-7, i % 15 == 0);
        check_align(MDF_DTYPE_FLOAT64, 1e-14, false);
    }
}

/* ------------------------------------------------------------------ NonMaxSuppression */

/* The sides of a box: top, left, bottom, right. */
static void sides_of(const struct mdf_value *boxes, size_t at, bool by_centre, double *sides)
{
    double b[4];

    for (size_t i = 0; i < 4; i++) {
        b[i] = kernel_number(boxes, 4 * at + i);
    }
    for (size_t i = 0; i < 2; i++) {
        sides[i] = by_centre ? b[1 - i] - b[3 - i] / 2 : fmin(b[i], b[i + 2]);
        sides[i + 2] = by_centre ? b[1 - i] + b[3 - i] / 2 : fmax(b[i], b[i + 2]);
    }
}

static bool overlaps(const struct mdf_value *boxes, size_t a, size_t b, bool by_centre, double bound)
{
    double x[4], y[4], height, width, x_area, y_area;

    sides_of(boxes, a, by_centre, x);
    sides_of(boxes, b, by_centre, y);
    height = fmin(x[2], y[2]) - fmax(x[0], y[0]);
    width = fmin(x[3], y[3]) - fmax(x[1], y[1]);
    x_area = (x[2] - x[0]) * (x[3] - x[1]);
    y_area = (y[2] - y[0]) * (y[3] - y[1]);
    return height > 0 && width > 0 && x_area > 0 && y_area > 0 && height * width / (x_area + y_area - height * width) > bound;
}

/* Box by box: the best of those that are left, if it overlaps none that was taken. */
static size_t suppress(const struct mdf_value *boxes, const struct mdf_value *scores, size_t batch, size_t class, bool by_centre,
                       const double *bounds, int64_t *taken)
{
    size_t n = (size_t)mdf_value_shape(boxes)[1], n_taken = 0;
    size_t first = (batch * (size_t)mdf_value_shape(scores)[1] + class) * n;
    bool *is_gone = calloc(n, sizeof *is_gone);

    while (n_taken < (size_t)bounds[0]) {
        size_t best = n;

        for (size_t i = 0; i < n; i++) {
            double score = kernel_number(scores, first + i);

            if (!is_gone[i] && score > bounds[2] && (best == n || score > kernel_number(scores, first + best))) {
                best = i;
            }
        }
        if (best == n) {
            break;
        }
        is_gone[best] = true;
        for (size_t i = 0; i < n_taken && best < n; i++) {
            best = overlaps(boxes, batch * n + (size_t)taken[i], batch * n + best, by_centre, bounds[1]) ? n : best;
        }
        if (best < n) {
            taken[n_taken++] = (int64_t)best;
        }
    }
    free(is_gone);
    return n_taken;
}

static void check_suppression(bool is_large)
{
    int64_t n_batches = kernel_pick(1, 2), n_classes = kernel_pick(1, 3), n = kernel_pick(1, is_large ? 300 : 20), most;
    double bounds[3] = {(double)kernel_pick(0, is_large ? 60 : 12), (double)kernel_pick(0, 8) / 8,
                        (double)kernel_pick(-8, 8) / 16};
    int64_t *taken = malloc((size_t)n * sizeof *taken);
    bool by_centre = kernel_pick(0, 1) == 1;
    struct mdf_value *boxes, *scores, *bound;
    struct kernel_call call;
    size_t row = 0;

    kernel_begin(&call, "NonMaxSuppression", 11);
    kernel_set_int(&call, "center_point_box", by_centre);
    boxes = kernel_add(&call, MDF_DTYPE_FLOAT32, 3, (int64_t[]){n_batches, n, 4}, NUMBERS_SHORT, false);
    scores = kernel_add(&call, MDF_DTYPE_FLOAT32, 3, (int64_t[]){n_batches, n_classes, n}, NUMBERS_WILD, false);
    most = (int64_t)bounds[0];
    kernel_add_integers(&call, &most, 1);
    for (int i = 1; i < 3; i++) {
        bound = kernel_add(&call, MDF_DTYPE_FLOAT32, 1, (int64_t[]){1}, NUMBERS_SHORT, false);
        *(float *)bound->data = (float)bounds[i];
    }
    kernel_run(&call);
    for (size_t batch = 0; batch < (size_t)n_batches; batch++) {
        for (size_t class = 0; class < (size_t)n_classes; class ++) {
            size_t n_taken = suppress(boxes, scores, batch, class, by_centre, bounds, taken);

            for (size_t i = 0; i < n_taken; i++, row++) {
                cr_assert(row < call.outputs[0].length / 3);
                kernel_check(&call, 0, 3 * row, (double)batch, 0);
                kernel_check(&call, 0, 3 * row + 1, (double)class, 0);
                kernel_check(&call, 0, 3 * row + 2, (double)taken[i], 0);
            }
        }
    }
    kernel_check_shape(&call, 0, 2, (int64_t[]){(int64_t)row, 3});
    kernel_end(&call);
    free(taken);
}

/* Scores among which are equal ones, both zeros, infinities and NaN, which is no score. */
Test(region_oracles, boxes_that_stay)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_suppression(i % 10 == 0);
    }
}

/* ------------------------------------------------------------------ Col2Im */

enum { MAX_AXES = 3 };

struct blocks {
    int64_t image[MAX_AXES], block[MAX_AXES], stride[MAX_AXES], dilation[MAX_AXES], pads[2 * MAX_AXES], windows[MAX_AXES];
    size_t rank;
};

static void pick_blocks(struct blocks *b)
{
    bool is_wide = kernel_pick(0, 9) == 0;

    b->rank = (size_t)kernel_pick(1, MAX_AXES);
    for (size_t i = 0; i < b->rank; i++) {
        b->block[i] = kernel_pick(1, 3);
        b->stride[i] = kernel_pick(1, 3);
        b->dilation[i] = kernel_pick(1, 2);
        b->pads[i] = kernel_pick(0, 3);
        b->pads[b->rank + i] = kernel_pick(0, 3);
        b->image[i] = b->dilation[i] * (b->block[i] - 1) + 1 + kernel_pick(0, is_wide && i + 1 == b->rank ? 60 : 4);
        b->windows[i] =
            (b->image[i] + b->pads[i] + b->pads[b->rank + i] - b->dilation[i] * (b->block[i] - 1) - 1) / b->stride[i] + 1;
    }
}

/* Element by element: where each goes, if not into the padding. */
static void add_blocks(const struct blocks *b, const struct mdf_value *x, size_t n_planes, double *image)
{
    size_t n_taps = kernel_n_elements(b->rank, b->block), n_windows = kernel_n_elements(b->rank, b->windows);
    size_t n_image = kernel_n_elements(b->rank, b->image);
    int64_t tap[MAX_AXES], window[MAX_AXES], place[MAX_AXES];

    for (size_t i = 0; i < n_planes * n_taps * n_windows; i++) {
        bool is_inside = true;

        kernel_index(b->rank, b->block, i / n_windows % n_taps, tap);
        kernel_index(b->rank, b->windows, i % n_windows, window);
        for (size_t k = 0; k < b->rank; k++) {
            place[k] = window[k] * b->stride[k] + tap[k] * b->dilation[k] - b->pads[k];
            is_inside = is_inside && place[k] >= 0 && place[k] < b->image[k];
        }
        if (is_inside) {
            image[i / n_windows / n_taps * n_image + kernel_place(b->rank, b->image, place)] += kernel_number(x, i);
        }
    }
}

static void check_col2im(mdf_dtype dtype)
{
    int64_t n_batches = kernel_pick(1, 2), n_channels = kernel_pick(1, 3), shape[MAX_AXES + 2] = {n_batches, n_channels};
    size_t n_planes = (size_t)(n_batches * n_channels), n_image;
    const struct mdf_value *x;
    struct kernel_call call;
    struct blocks b;
    double *image;

    pick_blocks(&b);
    n_image = kernel_n_elements(b.rank, b.image);
    memcpy(shape + 2, b.image, b.rank * sizeof *shape);
    kernel_begin(&call, "Col2Im", 18);
    x = kernel_add(&call, dtype, 3,
                   (int64_t[]){n_batches, n_channels * (int64_t)kernel_n_elements(b.rank, b.block),
                               (int64_t)kernel_n_elements(b.rank, b.windows)},
                   NUMBERS_SHORT, false);
    kernel_add_integers(&call, b.image, b.rank);
    kernel_add_integers(&call, b.block, b.rank);
    kernel_set_ints(&call, "strides", b.stride, b.rank);
    kernel_set_ints(&call, "dilations", b.dilation, b.rank);
    kernel_set_ints(&call, "pads", b.pads, 2 * b.rank);
    kernel_run(&call);
    kernel_check_shape(&call, 0, b.rank + 2, shape);
    image = calloc(n_planes * n_image, sizeof *image);
    add_blocks(&b, x, n_planes, image);
    for (size_t i = 0; i < n_planes * n_image; i++) {
        kernel_check(&call, 0, i, image[i], 0);
    }
    free(image);
    kernel_end(&call);
}

Test(region_oracles, columns_to_images)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_COMPLEX64};

    for (size_t i = 0; i < 4 * N_CASES; i++) {
        check_col2im(dtypes[i % 4]);
    }
}

/* ------------------------------------------------------------------ MaxUnpool */

/* Positions count in the shape that a pool with these windows was given, the result may be larger. */
static void check_unpool(mdf_dtype dtype)
{
    int64_t shape[4] = {kernel_pick(1, 2), kernel_pick(1, 3), kernel_pick(1, 4), kernel_pick(1, 4)};
    int64_t window[2] = {kernel_pick(1, 3), kernel_pick(1, 3)}, inner[4], outer[4], index[4];
    bool is_larger = kernel_pick(0, 1) == 1;
    const struct mdf_value *x;
    struct mdf_value *positions;
    struct kernel_call call;
    size_t n_inner;
    double *wanted;

    memcpy(inner, (int64_t[]){shape[0], shape[1], shape[2] * window[0], shape[3] * window[1]}, sizeof inner);
    memcpy(outer, inner, sizeof outer);
    outer[2] += is_larger ? kernel_pick(0, 3) : 0;
    outer[3] += is_larger ? kernel_pick(0, 3) : 0;
    n_inner = kernel_n_elements(4, inner);
    kernel_begin(&call, "MaxUnpool", 11);
    kernel_set_ints(&call, "kernel_shape", window, 2);
    kernel_set_ints(&call, "strides", window, 2);
    x = kernel_add(&call, dtype, 4, shape, NUMBERS_WILD, false);
    positions = kernel_add(&call, MDF_DTYPE_INT64, 4, shape, NUMBERS_SHORT, false);
    wanted = calloc(kernel_n_elements(4, outer), sizeof *wanted);
    for (size_t i = 0; i < x->length; i++) { /* the later one stays, where two meet */
        int64_t position = kernel_pick(0, (int64_t)n_inner - 1);

        ((int64_t *)positions->data)[i] = position;
        kernel_index(4, inner, (size_t)position, index);
        wanted[kernel_place(4, outer, index)] = kernel_number(x, i);
    }
    if (is_larger) {
        kernel_add_integers(&call, outer, 4);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, 4, outer);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_check(&call, 0, i, wanted[i], 0);
    }
    free(wanted);
    kernel_end(&call);
}

Test(region_oracles, unpooled_elements)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_unpool(i % 3 == 0 ? MDF_DTYPE_FLOAT16 : i % 3 == 1 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
    }
}

/* ------------------------------------------------------------------ MaxRoiPool */

/* Elements of a cell along one axis: from `low` on, up to before `high`. */
static void cell_bounds(double begin, double end, int64_t cell, int64_t n_cells, int64_t size, int64_t *low, int64_t *high)
{
    double length = fmax(end - begin + 1, 1) / (double)n_cells;

    *low = (int64_t)fmin(fmax(begin + floor((double)cell * length), 0), (double)size);
    *high = (int64_t)fmin(fmax(begin + ceil((double)(cell + 1) * length), 0), (double)size);
}

static double largest_of_cell(const struct mdf_value *x, const struct mdf_value *rois, double scale, const int64_t *cells,
                              const int64_t *index)
{
    int64_t low[2], high[2], batch = (int64_t)kernel_number(rois, (size_t)(5 * index[0]));
    double largest = 0, number;
    bool is_first = true;

    for (int k = 0; k < 2; k++) { /* regions give x before y */
        cell_bounds(round(kernel_number(rois, (size_t)(5 * index[0] + 2 - k)) * scale),
                    round(kernel_number(rois, (size_t)(5 * index[0] + 4 - k)) * scale), index[2 + k], cells[k],
                    mdf_value_shape(x)[2 + k], &low[k], &high[k]);
    }
    for (int64_t i = low[0]; i < high[0]; i++) {
        for (int64_t j = low[1]; j < high[1]; j++) {
            number = number_at(x, batch, index[1], i, j);
            largest = is_first || number > largest ? number : largest;
            is_first = false;
        }
    }
    return largest;
}

static void check_max_pool(bool is_large)
{
    int64_t shape[4] = {kernel_pick(1, 2), is_large ? 60 : kernel_pick(1, 3), kernel_pick(1, 12), kernel_pick(1, 12)};
    int64_t n_rois = is_large ? 20 : kernel_pick(0, 4), cells[2] = {kernel_pick(1, 4), kernel_pick(1, 4)}, index[4];
    double scale = kernel_pick(0, 1) == 0 ? 1 : 0.5;
    const struct mdf_value *x;
    struct kernel_call call;
    struct mdf_value *rois;

    kernel_begin(&call, "MaxRoiPool", 1);
    kernel_set_ints(&call, "pooled_shape", cells, 2);
    *(double *)kernel_field(&call, "spatial_scale") = scale;
    x = kernel_add(&call, MDF_DTYPE_FLOAT32, 4, shape, NUMBERS_SHORT, false);
    rois = kernel_add(&call, MDF_DTYPE_FLOAT32, 2, (int64_t[]){n_rois, 5}, NUMBERS_SHORT, false);
    for (size_t i = 0; i < rois->length; i++) {
        ((float *)rois->data)[i] = i % 5 == 0 ? (float)kernel_pick(0, shape[0] - 1) : (float)kernel_pick(-8, 60) / 4;
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, 4, (int64_t[]){n_rois, shape[1], cells[0], cells[1]});
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(4, mdf_value_shape(&call.outputs[0]), i, index);
        kernel_check(&call, 0, i, largest_of_cell(x, rois, scale, cells, index), 0);
    }
    kernel_end(&call);
}

Test(region_oracles, largest_in_regions)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_max_pool(i % 15 == 0);
    }
}
