/* infer_parts.h - what rules of inference share: inputs, attributes, axes and sizes of a call, and shapes to be filled in. */
#ifndef MDF_SCHEMAS_INFER_PARTS_H
#define MDF_SCHEMAS_INFER_PARTS_H

#include "schemas/inference.h"

#include <string.h>

static inline const struct mdf_static_type *input(const struct mdf_inference *inference, size_t i)
{
    return i < inference->n_inputs ? &inference->inputs[i] : &mdf_static_unknown;
}

/* Shape `source` for output `i`. */
static inline void give_shape(struct mdf_inference *inference, size_t i, const struct mdf_static_type *source)
{
    if (i < inference->n_outputs && source->has_shape) {
        inference->outputs[i].has_shape = true;
        inference->outputs[i].rank = source->rank;
        inference->outputs[i].shape = source->shape;
    }
}

/* Axes of output `i` to be filled in; NULL: nobody reads it, or out of memory. */
static inline int64_t *open_shape(struct mdf_inference *inference, size_t i, size_t rank)
{
    return i < inference->n_outputs ? mdf_infer_shape(inference, &inference->outputs[i], rank) : NULL;
}

static inline bool done(const struct mdf_inference *inference)
{
    return inference->status == MDF_OK;
}

/* The one number that an attribute holds, or `otherwise`. */
static inline int64_t integer(const struct mdf_inference *inference, const char *name, int64_t otherwise)
{
    const int64_t *items;
    size_t n;

    return inference->attribute(inference, name, &items, &n) && n == 1 ? items[0] : otherwise;
}

static inline bool place_of(int64_t axis, size_t rank, size_t *place)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return false;
    }
    *place = (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return true;
}

/* Whole numbers that an attribute holds in old versions, and a constant input in newer ones. */
static inline bool numbers(const struct mdf_inference *inference, const char *name, size_t i, const int64_t **items, size_t *n)
{
    const struct mdf_value *value = input(inference, i)->value;

    if (mdf_schema_attribute(inference->schema, name) != NULL) {
        return inference->attribute(inference, name, items, n);
    }
    if (value == NULL || value->kind != MDF_KIND_TENSOR || value->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    *items = value->data;
    *n = value->length;
    return true;
}

/* Whether the numbers are given at all, known or not. */
static inline bool has_numbers(const struct mdf_inference *inference, const char *name, size_t i)
{
    const int64_t *items;
    size_t n;

    if (mdf_schema_attribute(inference->schema, name) != NULL) {
        return inference->attribute(inference, name, &items, &n);
    }
    return i < inference->n_inputs && inference->inputs[i].kind != MDF_STATIC_OMITTED;
}

/* The size that two broadcast sizes give; an unknown one may be 1, or the other's. */
static inline int64_t broadcast_size(int64_t a, int64_t b)
{
    if (a == 1 || b == 1) {
        return a == 1 ? b : a;
    }
    if (a < 0 || b < 0) {
        return a < 0 ? b : a;
    }
    return a == b ? a : -1;
}

/* A product of sizes; -1: one of them is not known, or it is too large. */
static inline int64_t size_times(int64_t a, int64_t b)
{
    int64_t product;

    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

/* The size of axes [first, end) as one. */
static inline int64_t size_of_axes(const struct mdf_static_type *type, size_t first, size_t end)
{
    int64_t size = 1;

    for (size_t i = first; i < end; i++) {
        size = size_times(size, type->shape[i]);
    }
    return size;
}

/* The axes of output `i`, as those of `source` at first; NULL: these are not known, nobody reads it, or out of memory. */
static inline int64_t *open_as(struct mdf_inference *inference, size_t i, const struct mdf_static_type *source)
{
    int64_t *shape = source->has_shape ? open_shape(inference, i, source->rank) : NULL;

    if (shape != NULL && source->rank > 0) {
        memcpy(shape, source->shape, source->rank * sizeof *shape);
    }
    return shape;
}

#endif
