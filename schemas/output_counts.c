/* output_counts.c - how many outputs a call of an operator with a variadic output has, where its inputs or attributes say so.
 *
 * Source: the texts of Split (https://onnx.ai/onnx/operators/onnx__Split.html) and of the operators of
 * ai.onnx.preview.training. */
#include "schemas/inference.h"

#include <string.h>

/* One output for each number of `split`, which is an attribute or the second input; else num_outputs of them. */
static size_t count_split(const struct mdf_inference *inference)
{
    const struct mdf_static_type *split = inference->n_inputs > 1 ? &inference->inputs[1] : NULL;
    const int64_t *items;
    size_t n;

    if (split != NULL && split->kind != MDF_STATIC_OMITTED) {
        bool is_known = split->has_shape && split->rank == 1 && split->shape[0] >= 0;

        return is_known ? (size_t)split->shape[0] : MDF_SOME_OUTPUTS;
    }
    if (mdf_schema_attribute(inference->schema, "split") != NULL && inference->attribute(inference, "split", &items, &n)) {
        return n;
    }
    if (mdf_schema_attribute(inference->schema, "num_outputs") != NULL &&
        inference->attribute(inference, "num_outputs", &items, &n) && n == 1 && items[0] > 0) {
        return (size_t)items[0];
    }
    return 0;
}

/* An optimiser takes R, T and some arrays for each tensor that it moves, and yields all of them but the gradients. */
static size_t count_moved(const struct mdf_inference *inference, size_t n_arrays)
{
    enum { N_BEFORE = 2 };

    return inference->n_inputs > N_BEFORE ? (inference->n_inputs - N_BEFORE) / n_arrays * (n_arrays - 1) : 0;
}

static size_t count_adam(const struct mdf_inference *inference)
{
    return count_moved(inference, 4); /* X, G, V, H */
}

static size_t count_others(const struct mdf_inference *inference)
{
    return count_moved(inference, 3); /* X, G and what is kept of gradients before */
}

size_t mdf_infer_output_count(const struct mdf_inference *inference)
{
    static const struct {
        const char *name;
        size_t (*count)(const struct mdf_inference *inference);
    } counts[] = {{"Split", count_split}, {"Adagrad", count_others}, {"Adam", count_adam}, {"Momentum", count_others}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (strcmp(counts[i].name, inference->schema->name) == 0) {
            return counts[i].count(inference);
        }
    }
    return 0;
}
