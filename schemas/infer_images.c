/* infer_images.c - shapes of images that are sampled or resized, of windows that are put back, and of spectra. See
 * infer_shapes.c.
 *
 * Source: the texts of the operators (https://onnx.ai/onnx/operators/). */
#include "schemas/infer_parts.h"

#include <math.h>

static const char *text(const struct mdf_inference *inference, const char *name, const char *otherwise)
{
    const char *const *items;
    size_t n;

    return inference->attribute_texts(inference, name, &items, &n) && n == 1 ? items[0] : otherwise;
}

/* ------------------------------------------------------------------ sampled */

/* Batch and channels of the image, and all axes of the grid but the last one, which says where to look. */
static bool infer_grid_sample(struct mdf_inference *inference)
{
    const struct mdf_static_type *x = input(inference, 0), *grid = input(inference, 1);
    int64_t *shape = x->has_shape && x->rank >= 2 ? open_shape(inference, 0, x->rank) : NULL;

    if (shape != NULL) {
        shape[0] = x->shape[0];
        shape[1] = x->shape[1];
        if (grid->has_shape && grid->rank == x->rank) {
            memcpy(shape + 2, grid->shape + 1, (x->rank - 2) * sizeof *shape);
        }
    }
    return done(inference);
}

/* A place in the image for each of the result, whose shape a constant says: [batch, channels, axes]. */
static bool infer_affine_grid(struct mdf_inference *inference)
{
    const int64_t *sizes;
    int64_t *shape;
    size_t n;

    if (!numbers(inference, "", 1, &sizes, &n) || n < 3) {
        return true;
    }
    shape = open_shape(inference, 0, n);
    if (shape != NULL) {
        shape[0] = sizes[0];
        memcpy(shape + 1, sizes + 2, (n - 2) * sizeof *shape);
        shape[n - 1] = (int64_t)n - 2;
    }
    return done(inference);
}

/* ------------------------------------------------------------------ resized */

enum { FIRST_RESIZE_BY_SIZES = 11 };

/* What says how: sizes, or scales, of the axes that are named, or of all. */
struct resized {
    const int64_t *axes, *sizes;
    size_t n;
    const struct mdf_value *scales; /* NULL: sizes are given */
    const double *old_scales;       /* ... by an attribute */
};

static bool read_resized(const struct mdf_inference *inference, size_t rank, struct resized *resized)
{
    bool by_sizes = inference->schema->since >= FIRST_RESIZE_BY_SIZES && mdf_schema_attribute(inference->schema, "mode") != NULL;
    size_t n_axes, n;

    *resized = (struct resized){.n = rank};
    if (inference->attribute(inference, "axes", &resized->axes, &n_axes)) {
        resized->n = n_axes;
    }
    if (mdf_schema_attribute(inference->schema, "scales") != NULL) {
        return inference->attribute_reals(inference, "scales", &resized->old_scales, &n) && n == rank;
    }
    if (by_sizes && numbers(inference, "", 3, &resized->sizes, &n)) {
        return n == resized->n;
    }
    resized->scales = input(inference, by_sizes ? 2 : 1)->value;
    return resized->scales != NULL && resized->scales->kind == MDF_KIND_TENSOR && resized->scales->length == resized->n &&
           strcmp(text(inference, "coordinate_transformation_mode", ""), "tf_crop_and_resize") != 0;
}

/* The size that a scale gives, as the kernel rounds it. */
static int64_t scaled(int64_t size, double scale)
{
    double product = (double)size * scale;

    return size < 0 || !(scale > 0) || !(product < 0x1p53) ? -1
                                                           : (int64_t)floor(product < 0x1p24 ? (double)(float)product : product);
}

/* The one scale of all axes that sizes ask for, the smallest or the largest; NAN: it is not known. */
static double common_scale(const struct resized *resized, const int64_t *sizes, const size_t *places, bool smallest)
{
    double common = NAN;

    for (size_t i = 0; i < resized->n; i++) {
        double scale = (double)resized->sizes[i] / (double)sizes[places[i]];

        if (sizes[places[i]] <= 0) {
            return NAN;
        }
        common = isnan(common) || (smallest ? scale < common : scale > common) ? scale : common;
    }
    return common;
}

static int64_t resized_size(const struct resized *resized, size_t i, int64_t size, double common)
{
    double kept = floor(common * (double)size + 0.5);

    if (resized->sizes != NULL) {
        return common < 0 ? resized->sizes[i] : kept >= 0 && kept < 0x1p53 ? (int64_t)kept : -1;
    }
    return scaled(size, resized->old_scales != NULL
                            ? resized->old_scales[i]
                            : mdf_element_to_double((mdf_dtype)resized->scales->dtype,
                                                    (const char *)resized->scales->data +
                                                        i * mdf_dtype_size((mdf_dtype)resized->scales->dtype)));
}

static bool infer_resize(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const char *policy = text(inference, "keep_aspect_ratio_policy", "stretch");
    int64_t *shape = source->has_shape ? open_shape(inference, 0, source->rank) : NULL;
    size_t *places = mdf_arena_array(inference->arena, source->rank, sizeof *places), i;
    struct resized resized;
    double common = -1;

    if (shape == NULL || places == NULL || !read_resized(inference, source->rank, &resized) || resized.n > source->rank) {
        return done(inference);
    }
    for (i = 0; i < resized.n; i++) {
        places[i] = i;
        if (resized.axes != NULL && !place_of(resized.axes[i], source->rank, &places[i])) {
            return true;
        }
    }
    if (resized.sizes != NULL && strcmp(policy, "stretch") != 0) {
        common = common_scale(&resized, source->shape, places, strcmp(policy, "not_larger") == 0);
    }
    memcpy(shape, source->shape, source->rank * sizeof *shape);
    for (i = 0; i < resized.n; i++) {
        shape[places[i]] = resized_size(&resized, i, source->shape[places[i]], common);
    }
    return true;
}

/* Blocks of columns, as an image of the size that a constant says. */
static bool infer_col2im(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *image, *block;
    int64_t *shape, n_block = 1;
    size_t n, n_axes;

    if (!source->has_shape || source->rank != 3 || !numbers(inference, "", 1, &image, &n)) {
        return true;
    }
    if (!numbers(inference, "", 2, &block, &n_axes)) {
        n_block = n_axes = 0;
    }
    for (size_t i = 0; i < n_axes; i++) {
        n_block = size_times(n_block, block[i]);
    }
    shape = open_shape(inference, 0, 2 + n);
    if (shape != NULL) {
        shape[0] = source->shape[0];
        shape[1] = n_block > 0 && source->shape[1] >= 0 ? source->shape[1] / n_block : -1;
        memcpy(shape + 2, image, n * sizeof *shape);
    }
    return done(inference);
}

/* ------------------------------------------------------------------ spectra */

/* The one whole number that a constant input holds. */
static bool whole_of(const struct mdf_inference *inference, size_t i, int64_t *whole)
{
    const struct mdf_value *value = input(inference, i)->value;

    return value != NULL && value->kind == MDF_KIND_TENSOR && value->length == 1 && mdf_value_to_int64(value, whole);
}

static bool is_given(const struct mdf_inference *inference, size_t i)
{
    return i < inference->n_inputs && inference->inputs[i].kind != MDF_STATIC_OMITTED;
}

/* The number that an input holds, `otherwise` where it is left out; -1: it is not known. */
static int64_t number_or(const struct mdf_inference *inference, size_t i, int64_t otherwise)
{
    int64_t number;

    return !is_given(inference, i) ? otherwise : whole_of(inference, i, &number) ? number : -1;
}

static int64_t frequencies(int64_t length, bool onesided)
{
    return length < 0 ? -1 : onesided ? length / 2 + 1 : length;
}

/* Real and imaginary part along the last axis; of a onesided transform half of the frequencies, its inverse is real. */
static bool infer_dft(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    bool onesided = integer(inference, "onesided", 0) != 0, inverse = integer(inference, "inverse", 0) != 0;
    bool by_input = mdf_schema_attribute(inference->schema, "axis") == NULL;
    int64_t axis = by_input ? -2 : integer(inference, "axis", 1), length, *shape;
    size_t place;

    shape = source->has_shape && source->rank > 1 ? open_shape(inference, 0, source->rank) : NULL;
    if (shape == NULL || (by_input && is_given(inference, 2) && !whole_of(inference, 2, &axis)) ||
        !place_of(axis, source->rank, &place)) {
        return done(inference);
    }
    length = source->shape[place] < 1 ? -1 : onesided && inverse ? 2 * (source->shape[place] - 1) : source->shape[place];
    memcpy(shape, source->shape, source->rank * sizeof *shape);
    shape[place] = frequencies(number_or(inference, 1, length), onesided && !inverse);
    shape[source->rank - 1] = onesided && inverse ? 1 : 2;
    return true;
}

/* A spectrum for each frame of the signal. */
static bool infer_stft(struct mdf_inference *inference)
{
    const struct mdf_static_type *signal = input(inference, 0), *window = input(inference, 2);
    int64_t *shape = open_shape(inference, 0, 4), step = number_or(inference, 1, -1), length;

    if (shape == NULL) {
        return done(inference);
    }
    length = number_or(inference, 3, window->has_shape && window->rank == 1 ? window->shape[0] : -1);
    shape[2] = frequencies(length, integer(inference, "onesided", 1) != 0);
    shape[3] = 2;
    if (signal->has_shape && signal->rank > 1) {
        shape[0] = signal->shape[0];
        shape[1] = length > 0 && step > 0 && signal->shape[1] >= length ? (signal->shape[1] - length) / step + 1 : -1;
    }
    return true;
}

/* Half of the frequencies by bins. */
static bool infer_mel_weights(struct mdf_inference *inference)
{
    int64_t *shape = open_shape(inference, 0, 2), number;

    if (shape != NULL && whole_of(inference, 1, &number) && number >= 0) {
        shape[0] = number / 2 + 1;
    }
    if (shape != NULL && whole_of(inference, 0, &number) && number >= 0) {
        shape[1] = number;
    }
    return done(inference);
}

const struct mdf_rule mdf_rule_affine_grid = {.outputs = infer_affine_grid};
const struct mdf_rule mdf_rule_col2im = {.outputs = infer_col2im};
const struct mdf_rule mdf_rule_dft = {.outputs = infer_dft};
const struct mdf_rule mdf_rule_grid_sample = {.outputs = infer_grid_sample};
const struct mdf_rule mdf_rule_mel_weights = {.outputs = infer_mel_weights};
const struct mdf_rule mdf_rule_resize = {.outputs = infer_resize};
const struct mdf_rule mdf_rule_stft = {.outputs = infer_stft};
