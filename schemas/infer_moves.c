/* infer_moves.c - shapes of elements that change place, are repeated, padded or chosen, as far as attributes and constant inputs
 * say them; and of what has the shape of one input and the type of another. See infer_shapes.c.
 *
 * Source: the texts of the operators (https://onnx.ai/onnx/operators/). */
#include "mdf_c/base/sizes.h"
#include "schemas/infer_parts.h"

#include <math.h>

/* The one number that a constant input holds. */
static bool real_of(const struct mdf_inference *inference, size_t i, double *real)
{
    const struct mdf_value *value = input(inference, i)->value;

    return value != NULL && value->kind == MDF_KIND_TENSOR && value->length == 1 && mdf_value_to_double(value, real);
}

/* A size that an operator with numbers of its own gives; -1: it is not one. */
static int64_t to_size(double real)
{
    return real >= 0 && real < 0x1p53 ? (int64_t)real : -1;
}

/* ------------------------------------------------------------------ of the shape of an input */

static bool infer_same_of_all(struct mdf_inference *inference)
{
    for (size_t i = 0; i < inference->n_outputs; i++) {
        give_shape(inference, i, input(inference, 0));
    }
    return true;
}

static bool infer_cast_like(struct mdf_inference *inference)
{
    if (inference->n_outputs > 0) {
        inference->outputs[0].dtype = input(inference, 1)->dtype;
    }
    give_shape(inference, 0, input(inference, 0));
    return true;
}

static bool infer_bit_cast(struct mdf_inference *inference)
{
    mdf_dtype from = input(inference, 0)->dtype, to = inference->attribute_dtype(inference, "to");

    if (inference->n_outputs > 0) {
        inference->outputs[0].dtype = to;
    }
    if (from != MDF_DTYPE_NONE && to != MDF_DTYPE_NONE && mdf_dtype_size(from) == mdf_dtype_size(to)) {
        give_shape(inference, 0, input(inference, 0));
    }
    return true;
}

static bool infer_gather_elements(struct mdf_inference *inference)
{
    give_shape(inference, 0, input(inference, 1));
    return true;
}

/* The first output is like the input, all others are numbers without axes. */
static bool infer_with_scalars(struct mdf_inference *inference)
{
    give_shape(inference, 0, input(inference, 0));
    for (size_t i = 1; i < inference->n_outputs && done(inference); i++) {
        open_shape(inference, i, 0);
    }
    return done(inference);
}

/* What is left over of a mean along all axes from one on is of size 1 there. */
static bool infer_layer_norm(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    size_t place;

    give_shape(inference, 0, source);
    if (source->has_shape && place_of(integer(inference, "axis", -1), source->rank, &place)) {
        for (size_t i = 1; i < inference->n_outputs && done(inference); i++) {
            int64_t *shape = open_as(inference, i, source);

            for (size_t j = place; shape != NULL && j < source->rank; j++) {
                shape[j] = 1;
            }
        }
    }
    return done(inference);
}

/* Running means and variances have the shape of what they were. */
static bool infer_batch_norm(struct mdf_inference *inference)
{
    give_shape(inference, 0, input(inference, 0));
    for (size_t i = 1; i < inference->n_outputs; i++) {
        give_shape(inference, i, input(inference, 3));
    }
    return true;
}

/* ------------------------------------------------------------------ repeated, padded, laid out anew */

static bool infer_expand(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0), *sizes = input(inference, 1);
    const int64_t *target = NULL, *shape_sizes = sizes->has_shape && sizes->rank == 1 ? sizes->shape : NULL;
    size_t n, rank;
    int64_t *shape;

    if (!numbers(inference, "", 1, &target, &n)) {
        if (shape_sizes == NULL || shape_sizes[0] < 0 || shape_sizes[0] > MDF_INLINE_RANK) {
            return true;
        }
        n = (size_t)shape_sizes[0];
    }
    if (!source->has_shape) {
        return true;
    }
    rank = n > source->rank ? n : source->rank;
    shape = open_shape(inference, 0, rank);
    for (size_t i = 0; shape != NULL && i < rank; i++) {
        int64_t from = i + source->rank < rank ? 1 : source->shape[i + source->rank - rank];
        int64_t to = i + n < rank ? 1 : target == NULL ? -1 : target[i + n - rank];

        shape[i] = from > 1 && to < 0 ? from : broadcast_size(from, to);
    }
    return done(inference);
}

static bool infer_tile(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *repeats;
    int64_t *shape = source->has_shape ? open_shape(inference, 0, source->rank) : NULL;
    size_t n;

    if (shape != NULL && numbers(inference, "", 1, &repeats, &n) && n == source->rank) {
        for (size_t i = 0; i < n; i++) {
            shape[i] = size_times(source->shape[i], repeats[i]);
        }
    }
    return done(inference);
}

/* Axis `i` of an array becomes longer at both ends; -1: nobody knows. */
static int64_t padded(int64_t size, int64_t before, int64_t behind)
{
    int64_t sum;

    return size < 0 || __builtin_add_overflow(size, before, &sum) || __builtin_add_overflow(sum, behind, &sum) || sum < 0 ? -1
                                                                                                                          : sum;
}

static bool infer_pad(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *pads, *axes = NULL;
    int64_t *shape = source->has_shape ? open_shape(inference, 0, source->rank) : NULL;
    size_t n, n_axes = source->rank, place;
    bool some = input(inference, 3)->kind != MDF_STATIC_OMITTED && inference->n_inputs > 3;

    if (shape == NULL || !numbers(inference, "pads", 1, &pads, &n) || (some && !numbers(inference, "axes", 3, &axes, &n_axes)) ||
        n != 2 * n_axes) {
        return done(inference);
    }
    memcpy(shape, source->shape, source->rank * sizeof *shape);
    for (size_t i = 0; i < n_axes; i++) {
        if (place_of(axes != NULL ? axes[i] : (int64_t)i, source->rank, &place)) {
            shape[place] = padded(source->shape[place], pads[i], pads[i + n_axes]);
        }
    }
    return true;
}

static bool infer_center_crop_pad(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *sizes, *axes = NULL;
    int64_t *shape = source->has_shape ? open_shape(inference, 0, source->rank) : NULL;
    size_t n, n_axes, place;
    bool some = inference->attribute(inference, "axes", &axes, &n_axes);

    n_axes = some ? n_axes : source->rank;
    if (shape == NULL || !numbers(inference, "", 1, &sizes, &n) || n != n_axes) {
        return done(inference);
    }
    memcpy(shape, source->shape, source->rank * sizeof *shape);
    for (size_t i = 0; i < n_axes; i++) {
        if (place_of(some ? axes[i] : (int64_t)i, source->rank, &place)) {
            shape[place] = sizes[i];
        }
    }
    return true;
}

static bool infer_flatten(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t axis = integer(inference, "axis", 1), *shape = open_shape(inference, 0, 2);
    size_t place;

    if (shape != NULL && source->has_shape && place_of(axis, source->rank + (axis >= 0), &place)) {
        shape[0] = size_of_axes(source, 0, place);
        shape[1] = size_of_axes(source, place, source->rank);
    }
    return done(inference);
}

/* Blocks of b by b: `out` is 1 where channels become such blocks, else blocks become channels. */
static bool infer_blocks(struct mdf_inference *inference, bool out)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t b = integer(inference, "blocksize", 0), *shape;

    if (!source->has_shape || source->rank != 4 || b < 1 || b > INT32_MAX) {
        return true;
    }
    shape = open_as(inference, 0, source);
    for (size_t i = 1; shape != NULL && i < 4; i++) {
        bool grows = (i == 1) != out;
        int64_t factor = i == 1 ? b * b : b;

        shape[i] = grows ? size_times(shape[i], factor) : shape[i] < 0 || shape[i] % factor != 0 ? -1 : shape[i] / factor;
    }
    return done(inference);
}

static bool infer_depth_to_space(struct mdf_inference *inference)
{
    return infer_blocks(inference, true);
}

static bool infer_space_to_depth(struct mdf_inference *inference)
{
    return infer_blocks(inference, false);
}

/* ------------------------------------------------------------------ chosen, or made of indices */

static bool infer_gather_nd(struct mdf_inference *inference)
{
    const struct mdf_static_type *data = input(inference, 0), *indices = input(inference, 1);
    int64_t n_batch = integer(inference, "batch_dims", 0), n_index, *shape;
    size_t used, lead;

    if (!data->has_shape || !indices->has_shape || indices->rank == 0 || n_batch < 0 || indices->shape[indices->rank - 1] < 0) {
        return true;
    }
    n_index = indices->shape[indices->rank - 1];
    if (n_batch > (int64_t)data->rank || n_index > (int64_t)data->rank - n_batch) {
        return true;
    }
    used = (size_t)(n_batch + n_index);
    lead = indices->rank - 1;
    shape = open_shape(inference, 0, lead + data->rank - used);
    if (shape != NULL) {
        memcpy(shape, indices->shape, lead * sizeof *shape);
        memcpy(shape + lead, data->shape + used, (data->rank - used) * sizeof *shape);
    }
    return done(inference);
}

/* How many along one axis; both outputs. */
static bool infer_top(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    const int64_t *k;
    size_t n, place;
    bool known = numbers(inference, "k", 1, &k, &n) && n == 1 && *k >= 0;

    if (!source->has_shape || !place_of(integer(inference, "axis", -1), source->rank, &place)) {
        return true;
    }
    for (size_t i = 0; i < inference->n_outputs && done(inference); i++) {
        int64_t *shape = open_as(inference, i, source);

        if (shape != NULL) {
            shape[place] = known ? *k : -1;
        }
    }
    return done(inference);
}

static bool infer_one_hot(struct mdf_inference *inference)
{
    const struct mdf_static_type *indices = input(inference, 0);
    size_t place;
    double depth;
    int64_t *shape;

    if (!indices->has_shape || !place_of(integer(inference, "axis", -1), indices->rank + 1, &place)) {
        return true;
    }
    shape = open_shape(inference, 0, indices->rank + 1);
    if (shape != NULL) {
        memcpy(shape, indices->shape, place * sizeof *shape);
        memcpy(shape + place + 1, indices->shape + place, (indices->rank - place) * sizeof *shape);
        shape[place] = real_of(inference, 1, &depth) ? to_size(depth) : -1;
    }
    return done(inference);
}

static bool infer_range(struct mdf_inference *inference)
{
    int64_t *shape = open_shape(inference, 0, 1);
    double start, limit, delta;

    if (shape != NULL && real_of(inference, 0, &start) && real_of(inference, 1, &limit) && real_of(inference, 2, &delta) &&
        delta != 0 && fabs(start) < 0x1p52 && fabs(limit) < 0x1p52 && input(inference, 0)->dtype != MDF_DTYPE_FLOAT32) {
        shape[0] = to_size(fmax(ceil((limit - start) / delta), 0));
    }
    return done(inference);
}

/* As many as a constant says. */
static bool infer_counted(struct mdf_inference *inference)
{
    int64_t *shape = open_shape(inference, 0, 1);
    double n;

    if (shape != NULL && real_of(inference, 0, &n)) {
        shape[0] = to_size(n);
    }
    return done(inference);
}

/* Some along an axis, or of all. */
static bool infer_compress(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t axis = integer(inference, "axis", INT64_MAX), *shape;
    size_t place;

    if (axis == INT64_MAX) {
        open_shape(inference, 0, 1);
    } else if (source->has_shape && place_of(axis, source->rank, &place)) {
        shape = open_as(inference, 0, source);
        if (shape != NULL) {
            shape[place] = -1;
        }
    }
    return done(inference);
}

static bool infer_unique(struct mdf_inference *inference)
{
    for (size_t i = 1; i < inference->n_outputs && done(inference); i++) {
        open_shape(inference, i, 1);
    }
    return infer_compress(inference);
}

static bool infer_non_zero(struct mdf_inference *inference)
{
    int64_t *shape = open_shape(inference, 0, 2);

    if (shape != NULL && input(inference, 0)->has_shape) {
        shape[0] = (int64_t)mdf_larger(1, (int64_t)input(inference, 0)->rank);
    }
    return done(inference);
}

/* Parts of each text, as many as the one with most has; and how many each has. */
static bool infer_text_parts(struct mdf_inference *inference)
{
    const struct mdf_static_type *source = input(inference, 0);
    int64_t *shape = source->has_shape ? open_shape(inference, 0, source->rank + 1) : NULL;

    if (shape != NULL && source->rank > 0) {
        memcpy(shape, source->shape, source->rank * sizeof *shape);
    }
    give_shape(inference, 1, source);
    return done(inference);
}

/* Boxes that stay: three numbers for each. */
static bool infer_suppression(struct mdf_inference *inference)
{
    int64_t *shape = open_shape(inference, 0, 2);

    if (shape != NULL) {
        shape[1] = 3;
    }
    return done(inference);
}

const struct mdf_rule mdf_rule_batch_norm = {.outputs = infer_batch_norm};
const struct mdf_rule mdf_rule_bit_cast = {.outputs = infer_bit_cast};
const struct mdf_rule mdf_rule_cast_like = {.outputs = infer_cast_like};
const struct mdf_rule mdf_rule_center_crop_pad = {.outputs = infer_center_crop_pad};
const struct mdf_rule mdf_rule_compress = {.outputs = infer_compress};
const struct mdf_rule mdf_rule_counted = {.outputs = infer_counted};
const struct mdf_rule mdf_rule_depth_to_space = {.outputs = infer_depth_to_space};
const struct mdf_rule mdf_rule_expand = {.outputs = infer_expand};
const struct mdf_rule mdf_rule_flatten = {.outputs = infer_flatten};
const struct mdf_rule mdf_rule_gather_elements = {.outputs = infer_gather_elements};
const struct mdf_rule mdf_rule_gather_nd = {.outputs = infer_gather_nd};
const struct mdf_rule mdf_rule_layer_norm = {.outputs = infer_layer_norm};
const struct mdf_rule mdf_rule_non_zero = {.outputs = infer_non_zero};
const struct mdf_rule mdf_rule_one_hot = {.outputs = infer_one_hot};
const struct mdf_rule mdf_rule_pad = {.outputs = infer_pad};
const struct mdf_rule mdf_rule_range = {.outputs = infer_range};
const struct mdf_rule mdf_rule_same_of_all = {.outputs = infer_same_of_all};
const struct mdf_rule mdf_rule_space_to_depth = {.outputs = infer_space_to_depth};
const struct mdf_rule mdf_rule_suppression = {.outputs = infer_suppression};
const struct mdf_rule mdf_rule_text_parts = {.outputs = infer_text_parts};
const struct mdf_rule mdf_rule_tile = {.outputs = infer_tile};
const struct mdf_rule mdf_rule_top = {.outputs = infer_top};
const struct mdf_rule mdf_rule_unique = {.outputs = infer_unique};
const struct mdf_rule mdf_rule_with_scalars = {.outputs = infer_with_scalars};
